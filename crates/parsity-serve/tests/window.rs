//! What the window shows: the same as the report, fresh, and only read.

#![allow(clippy::unwrap_used)] // Tests may.

mod support;

use parsity_analysis::Answer;
use parsity_lab::{Store, gather};
use parsity_serve::{Options, ServeError, Window};
use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};
use support::{connect, fill, get, open, record, study};

const STUDY: &str = "/api/studies/quickstart";

/// The answer as the report has it.
fn answer(path: &Path) -> Answer {
    let store = Store::read(path).unwrap();
    let stored = store.study("quickstart").unwrap();
    let evidence = gather(&store, &[stored]).unwrap();
    Answer::of(&evidence.studies, &evidence.smoothness)
}

#[test]
fn the_api_gives_what_the_report_gives() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.sqlite");
    drop(fill(&path, 20));
    let window = open(&path, "127.0.0.1");
    let address = window.address();
    for (file, bytes) in parsity_report::tables_of(&answer(&path)) {
        let reply = get(address, &format!("{STUDY}/{file}"));
        assert_eq!((reply.status, &reply.body), (200, &bytes), "{file}");
    }
    let whole = get(address, STUDY);
    assert_eq!(whole.body, get(address, &format!("{STUDY}/answer.json")).body);
    for (file, kind, begin) in [
        ("scaling.svg", "image/svg+xml", &b"<svg"[..]),
        ("scaling.png", "image/png", b"\x89PNG"),
        ("scaling.csv", "text/csv", b"batch_size,"),
        ("search.svg", "image/svg+xml", b"<svg"),
        ("cells/8/0/search.svg", "image/svg+xml", b"<svg"),
    ] {
        let reply = get(address, &format!("{STUDY}/{file}"));
        assert_eq!(reply.status, 200, "{file}");
        assert!(reply.head.contains(&format!("content-type: {kind}")), "{}", reply.head);
        assert!(reply.body.starts_with(begin), "{file}");
    }
    let figure = get(address, &format!("{STUDY}/scaling.json")).json();
    let series = figure["panels"][0]["series"].as_array().unwrap();
    assert!(
        series.iter().any(|it| it["colour"] == "#0072b2" && it["marks"][0]["note"].is_string())
    );
    window.close();
}

#[test]
fn the_trials_of_a_cell_come_with_their_goal_checks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.sqlite");
    drop(fill(&path, 1));
    let window = open(&path, "127.0.0.1");
    let told = get(window.address(), &format!("{STUDY}/cells/8/0")).json();
    let trials = told["trials"].as_array().unwrap();
    assert_eq!((trials.len(), &told["goal_errors"]), (16, &serde_json::json!([0.1])));
    let checks = &trials[0]["checks"];
    let steps: Vec<u64> =
        checks["step"].as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).collect();
    assert!(steps.len() <= 201 && steps[0] == 4, "{steps:?}");
    assert_eq!(steps.last(), Some(&trials[0]["steps"].as_u64().unwrap()));
    assert_eq!(checks["error"].as_array().unwrap().len(), steps.len());
    window.close();
}

#[test]
fn what_runs_right_now_is_told_until_the_run_falls_silent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.sqlite");
    // All cells of batch size 8, of which each took 8 s.
    drop(fill(&path, 4));
    let beat = |ago: f64| {
        let at = parsity_lab::seconds_since_1970() - ago;
        let state = serde_json::json!({
            "pid": 1, "since": at - 60.0, "at": at, "ended": false, "threads": 2, "trained": 10,
            "evaluated": 20, "images_per_second": 1234.5, "trials": [{
                "batch_size": 16, "sparsity": 0.0, "trial": 3, "steps": 40, "seconds": 3.0,
                "step": [36, 40], "loss": [0.5, 0.25], "error": [0.5, 0.125],
            }],
        });
        let store = rusqlite::Connection::open(&path).unwrap();
        let sql = "INSERT OR REPLACE INTO heartbeat SELECT id, ?, ? FROM study";
        store.execute(sql, rusqlite::params![at, state.to_string()]).unwrap();
    };
    beat(0.0);
    let window = open(&path, "127.0.0.1");
    let live = get(window.address(), &format!("{STUDY}/live.json")).json();
    assert_eq!(
        (&live["running"], &live["heartbeat"]["trials"][0]["trial"]),
        (&true.into(), &3.into())
    );
    assert_eq!(live["heartbeat"]["trials"][0]["error"], serde_json::json!([0.5, 0.125]));
    let cells = live["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 28);
    let first = &cells[0];
    assert_eq!((&first["batch_size"], &first["running"]), (&16.into(), &1.into()), "{first}");
    // As long as at half the batch size, times the root of two, without what it has had, on two
    // threads.
    let left = first["seconds_left"].as_f64().unwrap();
    assert!((left - (8.0 * 2f64.sqrt() - 3.0) / 2.0).abs() < 1e-9, "{left}");
    let state = get(window.address(), "/api/studies").json();
    let study = &state["studies"][0];
    assert_eq!((&study["running"], &study["images_per_second"]), (&true.into(), &1234.5.into()));
    assert!(study["seconds_left"].as_f64().unwrap() > left, "{study}");
    beat(16.0);
    let live = get(window.address(), &format!("{STUDY}/live.json")).json();
    assert_eq!(live["running"], false);
    window.close();
}

/// Reads a stream until it holds `text`.
fn wait_for(stream: &mut impl Read, text: &str) -> String {
    let (mut all, mut piece) = (String::new(), [0; 4096]);
    let begin = Instant::now();
    while !all.contains(text) {
        assert!(begin.elapsed() < Duration::from_secs(60), "{text} did not come: {all}");
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "the stream ended: {all}");
        all += &String::from_utf8_lossy(&piece[..count]);
    }
    all
}

#[test]
fn a_listener_hears_of_new_records_and_of_a_store_that_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.sqlite");
    // The run may come later than the window.
    let window = open(&path, "127.0.0.1");
    let mut stream = connect(window.address());
    let request = format!("GET /api/events HTTP/1.1\r\nHost: {}\r\n\r\n", window.address());
    stream.write_all(request.as_bytes()).unwrap();
    let first = wait_for(&mut stream, "there is no store");
    assert!(first.to_lowercase().contains("content-type: text/event-stream"), "{first}");
    let mut store = fill(&path, 1);
    wait_for(&mut stream, "\"decided\":1,");
    let study = study();
    let entered = store.study("quickstart").unwrap();
    let cell = study.cells().nth(1).unwrap();
    let ended: Vec<_> = (0..16).map(|trial| record(&study, cell, trial, 64)).collect();
    store.append(&entered, &ended).unwrap();
    wait_for(&mut stream, "\"decided\":2,");
    drop(store);
    for ending in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{ending}", path.display()));
    }
    wait_for(&mut stream, "there is no store");
    drop(fill(&path, 3));
    wait_for(&mut stream, "\"decided\":3,");
    window.close();
}

#[test]
fn looking_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.sqlite");
    drop(fill(&path, 4));
    let before = std::fs::read(&path).unwrap();
    let window = open(&path, "127.0.0.1");
    for file in ["", "/page.json", "/live.json", "/scaling.png", "/cells/8/0"] {
        assert_eq!(get(window.address(), &format!("{STUDY}{file}")).status, 200, "{file}");
    }
    window.close();
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_port_in_use_is_told_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let window = open(&folder.path().join("s.sqlite"), "127.0.0.1");
    let options = Options {
        store: folder.path().join("s.sqlite"),
        bind: "127.0.0.1".parse().unwrap(),
        port: window.address().port(),
        hosts: Vec::new(),
    };
    let refused = Window::open(&options).unwrap_err();
    assert!(matches!(refused, ServeError::PortInUse { .. }), "{refused}");
    assert!(refused.to_string().contains("`--port`"), "{refused}");
    window.close();
}
