//! The store: what goes in comes out, and what must not happen does not.

#![allow(clippy::unwrap_used)] // Tests may.

use parsity_lab::{Lock, Store, StoreError};
use parsity_study::{
    BatchSize, Cell, ErrorRate, Observation, Outcome, Record, Sparsity, Steps, Study, builtin,
};

fn study() -> Study {
    builtin::study("quickstart").unwrap()
}

fn record(study: &Study, trial: u32, outcome: Outcome) -> Record {
    let cell = Cell { batch_size: BatchSize(64), sparsity: Sparsity::new(0.9).unwrap() };
    let seen = |step| Observation {
        step: Steps(step),
        loss: 1.0 / step as f64,
        error: ErrorRate(0.5 / step as f64),
    };
    Record {
        cell,
        trial,
        metaparameters: study.trial(cell, trial).metaparameters,
        outcome,
        steps: Steps(16),
        seconds: 0.25,
        observations: [8, 16].map(seen).to_vec(),
    }
}

#[test]
fn records_come_out_as_they_went_in() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.sqlite");
    let study = study();
    let mut store = Store::open(&path).unwrap();
    let entered = store.enter(&study, "data").unwrap();
    let outcomes = Outcome::ALL.iter().zip(0..);
    let records: Vec<Record> =
        outcomes.map(|(&outcome, trial)| record(&study, trial, outcome)).collect();
    for record in &records {
        let id = study.trial(record.cell, record.trial).id();
        store.append(&entered, id, record, None).unwrap();
    }
    // A reader sees them while the writer is open.
    let reader = Store::read(&path).unwrap();
    let found = reader.study("quickstart").unwrap();
    assert_eq!(found, entered);
    assert_eq!(found.cells(), study.cells().collect::<Vec<_>>());
    assert_eq!(reader.records(&found, true).unwrap(), records);
}

#[test]
fn a_failed_trial_may_be_replaced_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let study = study();
    let mut store = Store::open(&folder.path().join("s.sqlite")).unwrap();
    let entered = store.enter(&study, "data").unwrap();
    let [failed, complete] =
        [Outcome::Failed, Outcome::Complete].map(|outcome| record(&study, 3, outcome));
    let id = study.trial(failed.cell, 3).id();
    store.append(&entered, id, &failed, Some("why")).unwrap();
    store.append(&entered, id, &complete, None).unwrap();
    assert_eq!(store.records(&entered, true).unwrap(), std::slice::from_ref(&complete));
    let refused = store.append(&entered, id, &complete, None).unwrap_err();
    assert!(matches!(refused, StoreError::Sqlite { .. }), "{refused}");
    assert_eq!(store.records(&entered, true).unwrap(), [complete]);
}

#[test]
fn other_data_under_the_same_name_is_refused_and_another_extent_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("s.sqlite")).unwrap();
    store.enter(&study(), "data").unwrap();
    let refused = store.enter(&study(), "other data").unwrap_err();
    assert!(matches!(refused, StoreError::OtherData { .. }), "{refused}");
    let part = study().with_trials(3).unwrap().with_batch_sizes(&[BatchSize(8)]).unwrap();
    let entered = store.enter(&part, "data").unwrap();
    assert_eq!((entered.facts.trials, entered.batch_sizes), (3, vec![BatchSize(8)]));
}

#[test]
fn only_one_holds_the_lock() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.sqlite");
    let first = Lock::take(&path).unwrap();
    assert!(matches!(Lock::take(&path), Err(StoreError::InUse { .. })));
    drop(first);
    Lock::take(&path).unwrap();
}

#[test]
fn foreign_files_are_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "many words that are not a database at all, and never were").unwrap();
    assert!(matches!(Store::open(&text), Err(StoreError::NotAStore { .. })));
    let other = folder.path().join("other.sqlite");
    let connection = rusqlite::Connection::open(&other).unwrap();
    connection.execute_batch("CREATE TABLE mine (x)").unwrap();
    assert!(matches!(Store::open(&other), Err(StoreError::NotAStore { .. })));
    let tables: i64 =
        connection.query_one("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
    assert_eq!(tables, 1);
    assert!(matches!(Store::read(&folder.path().join("none")), Err(StoreError::Missing { .. })));
}
