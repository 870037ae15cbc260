//! Why a window cannot be opened, and what to do about it.

use std::io;
use std::net::SocketAddr;
use thiserror::Error;

/// Why a window cannot be opened.
#[allow(missing_docs)] // The messages say what the fields are.
#[derive(Debug, Error)]
pub enum ServeError {
    /// Somebody else listens there.
    #[error("port {} of {} is in use; choose another one with `--port`, such as {}",
        address.port(), address.ip(), address.port().saturating_add(1))]
    PortInUse { address: SocketAddr },
    /// Not an address of this machine, or not allowed.
    #[error(
        "cannot listen on {address}: {source}; `--bind` takes an address of this machine, such as 127.0.0.1"
    )]
    CannotBind { address: SocketAddr, source: io::Error },
    /// No secret to protect it with.
    #[error(
        "the system gives no random numbers for a token: {source}; bind to 127.0.0.1, which needs none"
    )]
    NoToken { source: getrandom::Error },
    /// No thread for it.
    #[error("cannot start the server's threads: {source}; stop other programs and try again")]
    CannotStart { source: io::Error },
}
