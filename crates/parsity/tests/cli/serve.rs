//! The dashboard as a person starts it.

use crate::Desk;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

/// What `/api/studies` at `url` says.
fn state(url: &str) -> serde_json::Value {
    let address = url.trim().strip_prefix("http://").unwrap().trim_end_matches('/');
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET /api/studies HTTP/1.0\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap()
}

fn interrupt(child: &Child) {
    let kill = std::process::Command::new("kill").arg("-INT").arg(child.id().to_string()).status();
    assert!(kill.unwrap().success());
}

#[test]
fn serve_prints_an_address_shows_the_store_and_ends_with_an_interrupt() {
    let desk = Desk::new();
    desk.ok("run study.toml --trials 2 --batch-sizes 32");
    let mut command = desk.command("serve --port 0");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let told = state(&url);
    let study = &told["studies"][0];
    assert_eq!((&study["study"], &study["decided"]), (&"small".into(), &2.into()), "{told}");
    // The run has said that it ended.
    assert_eq!((&study["running"], study["beat"].is_f64()), (&false.into(), true), "{told}");
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_run_shows_itself_while_it_runs() {
    let desk = Desk::new();
    let mut command = desk.command("run study.toml --trials 2000 --serve --port 0");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let line = lines.find(|line| line.contains("watch it in a browser: ")).unwrap();
    let url = line.split_once("browser: ").unwrap().1.to_owned();
    let begin = std::time::Instant::now();
    loop {
        let told = state(&url);
        if told["studies"][0]["running"] == true {
            break;
        }
        assert!(begin.elapsed().as_secs() < 60, "{told}");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    interrupt(&child);
    lines.for_each(drop);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_store_that_is_not_there_and_an_address_of_somebody_else_are_told() {
    let desk = Desk::new();
    let told = desk.fails("serve --port 0", 2);
    assert!(told.contains("there is no store at parsity.sqlite"), "{told}");
    let told = desk.fails("run study.toml --serve --port 0 --bind 192.0.2.1", 2);
    assert!(told.contains("cannot listen on 192.0.2.1:0"), "{told}");
    assert!(told.contains("help: `--bind` takes an address of this machine"), "{told}");
    let told = desk.fails("run study.toml --port 9000", 2);
    assert!(told.contains("help: add --serve"), "{told}");
    assert!(!desk.path("parsity.sqlite").exists());
}
