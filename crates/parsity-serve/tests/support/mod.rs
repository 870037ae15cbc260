//! A store with a study in it, and a client that sends whatever bytes a test wants.

#![allow(dead_code)] // Not every test needs all of it.

use parsity_lab::{Ended, Store};
use parsity_serve::{Options, Window};
use parsity_study::{
    Cell, ErrorRate, Observation, Outcome, Protocol, Record, Steps, Study, builtin,
};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

/// The study that all tests show.
pub(crate) fn study() -> Study {
    builtin::study("quickstart").unwrap()
}

/// A trial of `cell` that reached the goal after `steps`.
pub(crate) fn record(study: &Study, cell: Cell, trial: u32, steps: u64) -> Ended {
    let seen = |step| Observation {
        step: Steps(step),
        loss: 1.0 / step as f64,
        error: ErrorRate(0.9 / step as f64),
        exact: true,
    };
    let it = study.trial(cell, trial);
    let record = Record {
        cell,
        trial,
        metaparameters: it.metaparameters,
        protocol: Protocol::Racing,
        outcome: Outcome::Complete,
        steps: Steps(steps),
        reached: vec![Steps(steps)],
        evaluated: 1_000,
        seconds: 0.5,
        weights: None,
        observations: (1..=steps / 4).map(|check| seen(4 * check)).collect(),
    };
    Ended { id: it.id(), record, message: None }
}

/// Fills the store at `path` with the first `cells` cells of the study, all trials done.
pub(crate) fn fill(path: &Path, cells: usize) -> Store {
    let study = study();
    let mut store = Store::open(path).unwrap();
    let entered = store.enter(&study, "data").unwrap();
    for cell in study.cells().take(cells) {
        let steps = |trial: u32| {
            u64::from(4 * (8192 / cell.batch_size.0 + 16)) / 4 * 4 + 4 * u64::from(trial)
        };
        let ended: Vec<Ended> =
            (0..study.trials()).map(|trial| record(&study, cell, trial, steps(trial))).collect();
        store.append(&entered, &ended).unwrap();
    }
    store
}

/// A window at `bind` onto the store at `path`.
pub(crate) fn open(path: &Path, bind: &str) -> Window {
    let bind = bind.parse().unwrap();
    let store = path.to_owned();
    Window::open(&Options { store, bind, port: 0, hosts: vec!["lab.example".to_owned()] }).unwrap()
}

/// What came back.
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// In lower case.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }
}

/// Connects to a window.
pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

/// Sends `bytes` and reads until the server closes; `None` if it says nothing.
pub(crate) fn send(address: SocketAddr, bytes: &[u8]) -> Option<Reply> {
    let mut stream = connect(address);
    // The server may close before it has read all.
    let _ = stream.write_all(bytes);
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    let end = all.windows(4).position(|it| it == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&all[..end]).to_lowercase();
    let status = head.split_whitespace().nth(1)?.parse().ok()?;
    Some(Reply { status, head, body: all[end + 4..].to_vec() })
}

/// Reads `path` as a browser would, with further header lines.
pub(crate) fn get_with(address: SocketAddr, path: &str, headers: &str) -> Reply {
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{headers}Connection: close\r\n\r\n");
    send(address, request.as_bytes()).unwrap()
}

/// Reads `path`.
pub(crate) fn get(address: SocketAddr, path: &str) -> Reply {
    get_with(address, path, "")
}
