//! Nothing acknowledged is ever lost: a study that is killed again and again, at random
//! moments, comes to the same records as one that nobody disturbed.
//!
//! `PARSITY_KILLS` says how often it is killed (`scripts/kill-test` does, a thousand times).

use crate::Desk;
use parsity_lab::Store;
use parsity_study::Record;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

const KILLS: u32 = 100;

/// Records without what differs from run to run.
fn records(store: &Path) -> Vec<Record> {
    let store = Store::read(store).unwrap();
    let study = store.study("small").unwrap();
    let records = store.records(&study, true).unwrap();
    records.into_iter().map(|record| Record { seconds: 0.0, ..record }).collect()
}

#[test]
fn a_study_that_is_killed_a_hundred_times_comes_to_the_same_records() {
    let kills: u32 = match std::env::var("PARSITY_KILLS") {
        Ok(text) => text.parse().expect("PARSITY_KILLS is a number"),
        Err(_) => KILLS,
    };
    let desk = Desk::new();
    // Long enough to be killed many times, so with a goal that takes its time.
    desk.write("study.toml", &crate::STUDY.replace("goal_error = 0.6", "goal_error = 0.3"));
    let begin = Instant::now();
    desk.ok("run study.toml --store calm.sqlite");
    // Any moment of a calm run, however fast or busy this machine is.
    let longest = begin.elapsed();
    let calm = records(&desk.path("calm.sqlite"));
    let (mut killed, mut inside, mut finished) = (0, 0, 0);
    let mut draw = 1u64;
    while killed < kills {
        let name = format!("killed-{finished}.sqlite");
        let store = desk.path(&name);
        let threads = 1 + killed % 3;
        let line = format!("run study.toml --store {name} --threads {threads} --save-every 0.02");
        let mut command = desk.command(&line);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(longest.mul_f64((draw >> 11) as f64 / (1u64 << 53) as f64));
        let ended = child.try_wait().unwrap();
        // SIGKILL: no handler, no farewell.
        let _ = child.kill();
        child.wait().unwrap();
        match ended {
            Some(status) => {
                assert!(status.success(), "{status}");
                assert_eq!(records(&store), calm, "after {killed} kills");
                finished += 1;
            }
            None => {
                killed += 1;
                if store.exists() {
                    // It opens, and whatever is there is right.
                    let found = Store::read(&store).unwrap();
                    let known = found.studies().unwrap();
                    for record in known.iter().flat_map(|it| found.records(it, true).unwrap()) {
                        assert!(calm.contains(&Record { seconds: 0.0, ..record }));
                    }
                    let saved = desk.path(&format!("{name}.checkpoints"));
                    let saved = std::fs::read_dir(saved).map_or(0, Iterator::count);
                    inside += u32::from(saved > 0);
                }
            }
        }
    }
    let name = format!("killed-{finished}.sqlite");
    desk.ok(&format!("run study.toml --store {name}"));
    assert_eq!(records(&desk.path(&name)), calm);
    println!("{killed} kills, {inside} of them inside trials; {} studies", finished + 1);
    assert!(inside > kills / 10, "{inside} of {killed} kills hit a trial");
}

#[test]
fn readers_never_fail_while_a_run_writes() {
    let desk = Desk::new();
    let mut command = desk.command("run study.toml --trials 4000 --batch-sizes 32");
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // On a busy machine the store is there a moment before its study is.
    while !desk.run("status small").status.success() && run.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut done = 0;
    for turn in 0..30 {
        let status = desk.json("status small --json");
        let cells = status["cells"].as_array().unwrap();
        let now: u64 = cells.iter().map(|cell| cell["outpaced"].as_u64().unwrap()).sum();
        assert!(now >= done, "records went away");
        done = now;
        if turn % 10 == 0 {
            desk.ok("report small --out figures");
        }
    }
    let still_running = run.try_wait().unwrap().is_none();
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(still_running, "the run ended before the readers did");
}
