//! Whatever saves work, shares it or interrupts it changes no result.

#![allow(clippy::unwrap_used)] // Tests may.

mod small;

use parsity_lab::{Event, Measures, Options, Store, Summary, run};
use parsity_study::{Cell, Outcome, Protocol, Record, Steps, Study};
use small::{bench, question, stopping, timeless};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Carries out the study in a store of its own; `stop_after` raises the flag after so many
/// intervals, and the run is taken up again, until all is done.
fn carry_out(change: impl Fn(&mut Options), stop_after: Option<u64>) -> (Summary, Vec<Record>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let study = question().study;
    let mut options = Options::new(&study, 2);
    change(&mut options);
    let mut total = Summary::default();
    loop {
        let mut store = Store::open(&path).unwrap();
        let stop = AtomicBool::new(false);
        let watch = stopping(&stop, stop_after);
        let summary = run(&study, bench(), &mut store, &options, &stop, &watch).unwrap();
        total.trained += summary.trained;
        total.evaluated += summary.evaluated;
        total.pruned += summary.pruned;
        if !summary.stopped {
            let stored = store.study("small").unwrap();
            let left = folder.path().join("store.sqlite.checkpoints");
            assert!(!left.exists(), "checkpoints of ended trials stay behind");
            return (total, timeless(store.records(&stored, true).unwrap()));
        }
    }
}

/// Steps, trial and weights of the best trial of each cell, for each goal.
type Table = BTreeMap<(usize, Cell), (Steps, u32, String)>;

fn table(records: &[Record]) -> Table {
    let mut table = Table::new();
    for goal in 0..2 {
        for record in records.iter().rev() {
            if let (Outcome::Complete, steps) = record.toward(goal) {
                let best = table.get(&(goal, record.cell));
                if best.is_none_or(|best| steps <= best.0) {
                    // Weights are those of the end, which is that of the tightest goal.
                    let end = (goal == 1).then(|| record.weights.clone().unwrap());
                    let best = (steps, record.trial, end.unwrap_or_default());
                    table.insert((goal, record.cell), best);
                }
            }
        }
    }
    table
}

#[test]
fn each_measure_gives_the_exhaustive_table_for_less_work() {
    let with = |measures| carry_out(|options| options.measures = measures, None);
    let none = Measures { racing: false, bounded_checks: false, proofs: false };
    let (most, exhaustive) = with(none);
    assert!(exhaustive.iter().all(|record| record.protocol == Protocol::Exhaustive));
    let early = |record: &Record| [Outcome::Outpaced, Outcome::Collapsed].contains(&record.outcome);
    assert!(!exhaustive.iter().any(early));
    let whole = |record: &Record| record.observations.iter().all(|seen| seen.exact);
    assert!(exhaustive.iter().all(whole));
    let expected = table(&exhaustive);
    assert_eq!(expected.len(), 8, "every cell is to reach both goals, or little is shown");
    println!("                     images trained   images evaluated");
    let tell = |name: &str, work: Summary| {
        println!("{name:20} {:>14} {:>18}", work.trained, work.evaluated);
    };
    tell("exhaustive", most);
    for (name, measures) in [
        ("bounded checks only", Measures { bounded_checks: true, ..none }),
        ("proofs only", Measures { proofs: true, ..none }),
        ("racing only", Measures { racing: true, ..none }),
        ("all", Protocol::Racing.into()),
    ] {
        let (work, records) = with(measures);
        tell(name, work);
        assert_eq!(table(&records), expected, "{name}");
        assert!(work.trained <= most.trained);
        // A proof looks at images, too.
        let fewer_checks = measures.racing || measures.bounded_checks;
        assert!(work.evaluated < most.evaluated || !fewer_checks);
        assert_eq!(work.trained < most.trained, measures.racing || measures.proofs);
        let collapsed = records.iter().filter(|record| record.outcome == Outcome::Collapsed);
        // In a race they are outpaced before their weights rest.
        assert_eq!(collapsed.count() > 0, measures.proofs && !measures.racing, "{name}");
        // A lower bound is one, and reached goals are exact.
        for (fast, full) in records.iter().zip(&exhaustive) {
            for (fast, full) in fast.observations.iter().zip(&full.observations) {
                assert_eq!((fast.step, fast.loss), (full.step, full.loss));
                assert!(fast.error <= full.error && (!fast.exact || fast.error == full.error));
            }
        }
    }
}

#[test]
fn neither_threads_nor_order_nor_memory_nor_interruptions_change_a_record() {
    let (work, calm) = carry_out(|_| {}, None);
    let same = |name: &str, (other, records): (Summary, Vec<Record>)| {
        assert_eq!(records, calm, "{name}");
        assert_eq!((other.trained, other.evaluated), (work.trained, work.evaluated), "{name}");
    };
    for threads in [1, 3, 4, 8] {
        same(&format!("{threads} threads"), carry_out(|it| it.threads = threads, None));
    }
    let shuffled = |order: [usize; 4]| {
        carry_out(|it| it.cells = order.map(|place| it.cells[place]).to_vec(), None)
    };
    same("backwards", shuffled([3, 2, 1, 0]));
    same("shuffled", shuffled([2, 0, 3, 1]));
    same("all trials wait on disk", carry_out(|it| it.memory = 0, None));
    same("a third waits on disk", carry_out(|it| it.memory = 150_000, None));
    same("always saved", carry_out(|it| it.save_every = Duration::ZERO, None));
    for stop_after in [1, 20] {
        let interrupted = carry_out(|it| it.threads = 3, Some(stop_after));
        same(&format!("stopped every {stop_after} intervals"), interrupted);
    }
}

#[test]
fn outpaced_trials_are_finished_when_the_exhaustive_protocol_is_asked_for_later() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("store.sqlite")).unwrap();
    let study = question().study;
    let (stop, watch) = (AtomicBool::new(false), |_: Event<'_>| {});
    let mut go = |study: &Study| {
        let options = Options::new(study, 2);
        let summary = run(study, bench(), &mut store, &options, &stop, &watch).unwrap();
        let stored = store.study("small").unwrap();
        (summary, timeless(store.records(&stored, true).unwrap()))
    };
    let (_, raced) = go(&study);
    let outpaced = raced.iter().filter(|it| it.outcome == Outcome::Outpaced).count() as u64;
    assert!(outpaced > 0);
    let (again, ended) = go(&study.clone().with_protocol(Protocol::Exhaustive));
    assert_eq!(again.trials, outpaced, "finished trials are not repeated");
    assert_eq!(again.pruned, 0, "saliencies come from the store");
    assert!(ended.iter().all(|it| it.outcome != Outcome::Outpaced));
    assert_eq!(table(&ended), table(&raced));
}
