//! The number of ranks changes no record: threads play them, channels are their wires.

#![allow(clippy::unwrap_used)] // Tests may.

mod small;

use parsity_engine::comm::Link;
use parsity_lab::{Event, Group, Options, Ranks, Store, Summary, run, run_over, serve};
use parsity_study::{Record, Study};
use small::{bench, question, stopping, timeless};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

/// The wires of `count` ranks, of which `per_trial` train a trial together.
fn ranks(count: usize, per_trial: usize) -> Vec<Ranks> {
    let wires = || (0..count / per_trial).flat_map(|_| Link::between(per_trial));
    let mut groups: Vec<Option<Group>> = match per_trial {
        1 => (0..count).map(|_| None).collect(),
        _ => {
            let pairs = wires().zip(wires());
            let group = |(team, halt)| Group { team: Box::new(team), halt: Box::new(halt) };
            pairs.map(|pair| Some(group(pair))).collect()
        }
    };
    let world = Link::between(count).into_iter().zip(&mut groups);
    world.map(|(link, group)| Ranks { world: Box::new(link), group: group.take() }).collect()
}

/// Runs what is missing in the store at `path`; stops after so many intervals.
fn go_on(path: &Path, ranks: Vec<Ranks>, options: &Options, stop_after: Option<u64>) -> Summary {
    let stop = AtomicBool::new(false);
    let watch = stopping(&stop, stop_after);
    carry_out(path, &question().study, ranks, options, &stop, &watch)
}

/// Runs what is missing in the store at `path`; without ranks, in the usual way.
fn carry_out(
    path: &Path,
    study: &Study,
    ranks: Vec<Ranks>,
    options: &Options,
    stop: &AtomicBool,
    watch: &(dyn Fn(Event<'_>) + Sync),
) -> Summary {
    let mut store = Store::open(path).unwrap();
    let mut ranks = ranks.into_iter();
    let Some(first) = ranks.next() else {
        return run(study, bench(), &mut store, options, stop, watch).unwrap();
    };
    std::thread::scope(|scope| {
        for other in ranks {
            scope.spawn(move || serve(other, study, bench(), options));
        }
        run_over(first, study, bench(), &mut store, options, stop, watch).unwrap()
    })
}

/// The records of a store, without what differs from run to run.
fn records(path: &Path) -> Vec<Record> {
    let left = format!("{}.checkpoints", path.display());
    assert!(!Path::new(&left).exists(), "checkpoints of ended trials stay behind");
    let store = Store::read(path).unwrap();
    timeless(store.records(&store.study("small").unwrap(), true).unwrap())
}

#[test]
fn the_number_of_ranks_changes_no_record() {
    let folder = tempfile::tempdir().unwrap();
    let calm = folder.path().join("calm.sqlite");
    let options = Options::new(&question().study, 2);
    let expected = go_on(&calm, Vec::new(), &options, None);
    let of = |count, per_trial, options: &Options| {
        let path = folder.path().join("ranks.sqlite");
        let work = go_on(&path, ranks(count, per_trial), options, None);
        let name = format!("{count} ranks, {per_trial} per trial, {options:?}");
        assert!(records(&path) == records(&calm), "{name}");
        assert_eq!(
            (work.trained, work.evaluated),
            (expected.trained, expected.evaluated),
            "{name}"
        );
        assert_eq!(work.pruned, expected.pruned, "{name}");
        std::fs::remove_file(path).unwrap();
    };
    let with = |threads| Options { threads, ..options.clone() };
    for (count, per_trial) in [(1, 1), (2, 1), (3, 1), (4, 1), (2, 2), (4, 2)] {
        of(count, per_trial, &with(1));
    }
    of(2, 1, &with(2));
    of(4, 2, &with(2));
    of(3, 1, &Options { memory: 0, ..with(1) });
    of(4, 2, &Options { memory: 0, save_every: Duration::ZERO, ..with(1) });
}

#[test]
fn a_run_goes_on_with_any_other_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let [calm, broken] = ["calm", "broken"].map(|name| folder.path().join(name));
    let options = Options::new(&question().study, 1);
    let expected = go_on(&calm, Vec::new(), &options, None);
    let (mut trained, mut turns) = (0, 0);
    for (count, per_trial) in [(3, 1), (4, 2), (0, 1), (2, 1), (2, 2)].into_iter().cycle() {
        let links = if count == 0 { Vec::new() } else { ranks(count, per_trial) };
        let summary = go_on(&broken, links, &options, Some(30));
        trained += summary.trained;
        turns += 1;
        if !summary.stopped {
            break;
        }
    }
    assert!(turns > 5, "it was to be interrupted in all ways");
    assert!(records(&broken) == records(&calm));
    assert_eq!(trained, expected.trained, "something was trained twice");
}

#[test]
fn a_run_that_is_stopped_between_two_intervals_ends() {
    let (done, ended) = channel();
    std::thread::spawn(move || {
        let folder = tempfile::tempdir().unwrap();
        let study = question().study.with_trials(1).unwrap();
        let options = Options { cells: study.cells().take(1).collect(), ..Options::new(&study, 1) };
        let stop = AtomicBool::new(false);
        let watch = |event: Event<'_>| {
            if let Event::Interval(_) = event {
                // The only trial is awake on one rank: the lane of the other one waits by now.
                std::thread::sleep(Duration::from_millis(100));
                stop.store(true, Ordering::Relaxed);
            }
        };
        let path = folder.path().join("store.sqlite");
        let summary = carry_out(&path, &study, ranks(2, 1), &options, &stop, &watch);
        done.send(summary.stopped).unwrap();
    });
    let ended = ended.recv_timeout(Duration::from_secs(60));
    assert_eq!(ended, Ok(true), "those who wait are to be told that the run is over");
}
