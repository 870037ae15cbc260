//! The server: listens, bounds what anybody may take of it, and ends in good order.

use crate::error::ServeError;
use crate::guard::Guard;
use crate::reader::Reader;
use crate::routes::router;
use crate::token::Token;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};

/// Connections at the same time; further ones are closed at once.
const CONNECTIONS: usize = 512;
/// How long a client may take for the head of a request, and do nothing between two.
const HEAD: Duration = Duration::from_secs(20);
/// The longest head of a request, in bytes.
const LONGEST_HEAD: usize = 16 << 10;
/// The most headers of a request.
const MOST_HEADERS: usize = 64;
/// How long open requests have when all ends.
const GRACE: Duration = Duration::from_millis(500);
/// How far the server gives way to those that train.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// What a window shows, and where.
#[derive(Debug, Clone)]
pub struct Options {
    /// The store, which may not be there yet.
    pub store: PathBuf,
    /// The address to listen at. Only a loopback address needs no token.
    pub bind: IpAddr,
    /// The port to listen at; 0 for any that is free.
    pub port: u16,
    /// Names under which browsers may reach this machine, besides `localhost`.
    pub hosts: Vec<String>,
}

/// An open window: it shows the store until it is closed or dropped.
#[derive(Debug)]
pub struct Window {
    url: String,
    address: SocketAddr,
    stop: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
}

impl Window {
    /// Opens a window; it is there when this returns.
    pub fn open(options: &Options) -> Result<Self, ServeError> {
        let asked = SocketAddr::new(options.bind, options.port);
        let bound = TcpListener::bind(asked).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok((listener.local_addr()?, listener))
        });
        let (address, listener) = bound.map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => ServeError::PortInUse { address: asked },
            _ => ServeError::CannotBind { address: asked, source },
        })?;
        let token = if options.bind.is_loopback() { None } else { Some(Token::new()?) };
        let guard = Arc::new(Guard::new(options.bind, &options.hosts, token));
        let cannot_start = |source| ServeError::CannotStart { source };
        let (stop, stopped) = watch::channel(false);
        let (reader, reading) =
            Reader::start(options.store.clone(), give_way).map_err(cannot_start)?;
        let url = url(address, guard.token());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(cannot_start)?;
        let serve = move || {
            give_way();
            let router = router(guard, reader);
            runtime.block_on(accept(listener, router, stopped));
            runtime.shutdown_timeout(GRACE);
        };
        let serving = std::thread::Builder::new().name("window".to_owned()).spawn(serve);
        let threads = vec![serving.map_err(cannot_start)?, reading];
        Ok(Window { url, address, stop, threads })
    }

    /// The address to open in a browser; it holds the token, if there is one.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes it, and waits until all is closed.
    pub fn close(mut self) {
        self.stop.send_replace(true);
        for thread in self.threads.drain(..) {
            // A thread that panicked has nothing more to close.
            let _ = thread.join();
        }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

/// Lets the calling thread come after those that train.
fn give_way() {
    // Where the system refuses, the server is merely as important as the others.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(NICE);
}

/// The address to open in a browser.
fn url(address: SocketAddr, token: Option<&Token>) -> String {
    let host = match address.ip() {
        ip if ip.is_unspecified() => outward(ip).unwrap_or(ip),
        ip => ip,
    };
    let address = SocketAddr::new(host, address.port());
    match token {
        None => format!("http://{address}/"),
        Some(token) => format!("http://{address}/?token={}", token.reveal()),
    }
}

/// The address under which others reach this machine. Nothing is sent to find it.
fn outward(unspecified: IpAddr) -> Option<IpAddr> {
    let socket = UdpSocket::bind((unspecified, 0)).ok()?;
    // Addresses that are kept free for documents: the route to them is that to anywhere.
    let anywhere = if unspecified.is_ipv4() { "192.0.2.1:9" } else { "[2001:db8::1]:9" };
    socket.connect(anywhere).ok()?;
    socket.local_addr().ok().map(|address| address.ip())
}

async fn accept(listener: TcpListener, router: Router, mut stopped: watch::Receiver<bool>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopped.wait_for(|stopped| *stopped) => return,
        };
        let Ok((stream, _)) = accepted else {
            // No room for another connection in the system: some will close.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let Ok(permit) = Arc::clone(&room).try_acquire_owned() else { continue };
        let (router, stopped) = (router.clone(), stopped.clone());
        tokio::spawn(async move {
            serve(stream, router, stopped).await;
            drop(permit);
        });
    }
}

/// Serves one connection until it is closed, or all is.
async fn serve(stream: TcpStream, router: Router, mut stopped: watch::Receiver<bool>) {
    // Events are small and must not wait for each other.
    let _ = stream.set_nodelay(true);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(LONGEST_HEAD)
        .max_headers(MOST_HEADERS)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    // How a connection ends is the client's affair.
    tokio::select! {
        _ = connection => {}
        _ = stopped.wait_for(|stopped| *stopped) => {}
    }
}
