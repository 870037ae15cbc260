//! Many listeners that do not read, and many requests that are none: the window stays open, its
//! memory stays bounded, and whoever writes to the store does not notice.

#![allow(clippy::unwrap_used)] // Tests may.

mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use support::{connect, fill, get, open, record, send, study};

/// Streams that a window has room for.
const STREAMS: usize = 256;
/// Connections that a window has room for.
const CONNECTIONS: usize = 512;

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }
}

/// A request that is more or less broken.
fn malformed(dice: &mut Dice, address: SocketAddr) -> Vec<u8> {
    let method = dice.pick(&["GET", "GET", "GET", "HEAD", "POST", "G\0T", "", "get", "CONNECT"]);
    let path = dice.pick(&[
        "/",
        "/api/studies",
        "/api/studies/quickstart/page.json",
        "/api/studies/quickstart/cells/8/0",
        "/api/studies/quickstart/cells/8/0/search.svg?goal=%",
        "/api/studies/%F0%9F/..;/x",
        "/api/studies/{names}/{file}",
        "/assets/%2e%2e/%2e%2e",
        "*",
        "http://[::1",
        "/?token=",
        "",
    ]);
    let version = dice.pick(&["HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/9.9", "", "\r"]);
    let host = [format!("Host: {address}"), "Host:".to_owned(), "Host: \u{7f}".to_owned()];
    let host = &host[dice.roll(3)];
    let more = dice.pick(&[
        "",
        "Content-Length: 99999999999999999999\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Cookie: parsity-token=\r\n",
        ": nothing\r\n",
        " folded\r\n",
        "Expect: 100-continue\r\nContent-Length: 4\r\n",
        "Upgrade: websocket\r\nConnection: Upgrade\r\n",
    ]);
    let end = dice.pick(&["\r\n\r\n", "\r\n\r\n", "\r\n", "\n\n", ""]);
    let mut bytes = format!("{method} {path} {version}\r\n{host}\r\n{more}{end}").into_bytes();
    for _ in 0..dice.roll(4) {
        let (at, byte) = (dice.roll(bytes.len()), dice.roll(256) as u8);
        match dice.roll(3) {
            0 => bytes[at] = byte,
            1 => bytes.insert(at, byte),
            _ => bytes.truncate(at + 1),
        }
    }
    if dice.roll(20) == 0 {
        bytes.extend(vec![b'x'; dice.roll(100_000)]);
    }
    bytes
}

/// Sends `bytes` and waits for a word, but not for long; the status, if there is one.
fn throw(address: SocketAddr, bytes: &[u8]) -> Option<u16> {
    let mut stream = connect(address);
    // The server may close before it has read all.
    let _ = stream.write_all(bytes);
    stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut begin = [0; 12];
    stream.read_exact(&mut begin).ok()?;
    std::str::from_utf8(&begin[9..]).ok()?.parse().ok()
}

/// A stream of events that was opened, and its status; it is never read any more.
fn listen(address: SocketAddr) -> (TcpStream, u16) {
    let mut stream = connect(address);
    let request = format!("GET /api/events HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut begin = [0; 12];
    stream.read_exact(&mut begin).unwrap();
    let status = std::str::from_utf8(&begin[9..]).unwrap().parse().unwrap();
    (stream, status)
}

/// Memory of this process, in bytes; 0 where the system does not tell.
fn memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    kilobytes.unwrap_or(0) << 10
}

#[test]
fn listeners_that_do_not_read_and_requests_that_are_none_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.sqlite");
    let mut store = fill(&path, 8);
    let window = open(&path, "127.0.0.1");
    let address = window.address();
    assert_eq!(get(address, "/api/studies/quickstart/page.json").status, 200);
    let before = memory();

    let listeners: Vec<(TcpStream, u16)> = (0..STREAMS).map(|_| listen(address)).collect();
    assert!(listeners.iter().all(|(_, status)| *status == 200));
    assert_eq!(listen(address).1, 503);

    // A study goes on meanwhile, and so do bad requests, from several sides.
    let study = study();
    let entered = store.study("quickstart").unwrap();
    let slowest = std::thread::scope(|scope| {
        for side in 1..=4u64 {
            scope.spawn(move || {
                let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ side);
                for _ in 0..250 {
                    let bytes = malformed(&mut dice, address);
                    assert_ne!(
                        throw(address, &bytes),
                        Some(500),
                        "{:?}",
                        String::from_utf8_lossy(&bytes)
                    );
                }
            });
        }
        let mut slowest = Duration::ZERO;
        for cell in study.cells().skip(8) {
            let ended: Vec<_> = (0..16).map(|trial| record(&study, cell, trial, 64)).collect();
            let begin = Instant::now();
            store.append(&entered, &ended).unwrap();
            slowest = slowest.max(begin.elapsed());
            std::thread::sleep(Duration::from_millis(100));
        }
        slowest
    });
    assert!(slowest < Duration::from_secs(5), "a record took {slowest:?}");

    // Connections that say nothing are closed when there are too many, not kept.
    let silent: Vec<TcpStream> = (0..CONNECTIONS).map(|_| connect(address)).collect();
    let grown = memory().saturating_sub(before);
    assert!(grown < 128 << 20, "memory grew by {grown} bytes");
    drop((silent, listeners));
    let begin = Instant::now();
    let reply = loop {
        match send(address, format!("GET /api HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes()) {
            Some(reply) => break reply,
            None if begin.elapsed() < Duration::from_secs(30) => {}
            None => panic!("the window is closed"),
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(reply.status, 200);
    // Who has gone leaves room for others.
    while listen(address).1 != 200 {
        assert!(begin.elapsed() < Duration::from_secs(30), "no stream became free");
        std::thread::sleep(Duration::from_millis(50));
    }
    let told = get(address, "/api/studies/quickstart").json();
    assert_eq!(told["studies"][0]["work"].as_array().unwrap().len(), 32);
    window.close();
}
