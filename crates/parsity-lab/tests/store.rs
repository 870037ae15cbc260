//! The store: what goes in comes out, and what must not happen does not.

#![allow(clippy::unwrap_used)] // Tests may.

use parsity_lab::{Ended, Lock, Store, StoreError};
use parsity_study::{
    BatchSize, Cell, ErrorRate, GradientNorms, Metaparameters, Observation, Optimizer, Outcome,
    Protocol, Record, SmoothnessPoint, SmoothnessRun, Sparsity, Steps, Study, builtin,
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
        exact: step == 16,
    };
    Record {
        cell,
        trial,
        metaparameters: study.trial(cell, trial).metaparameters,
        protocol: Protocol::Racing,
        outcome,
        steps: Steps(16),
        reached: if outcome == Outcome::Complete { vec![Steps(16)] } else { vec![] },
        evaluated: 1_234,
        seconds: 0.25,
        weights: (outcome != Outcome::Failed).then(|| "0123abcd".to_owned()),
        observations: [8, 16].map(seen).to_vec(),
    }
}

fn ended(study: &Study, record: &Record, message: Option<&str>) -> Ended {
    let id = study.trial(record.cell, record.trial).id();
    Ended { id, record: record.clone(), message: message.map(str::to_owned) }
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
    let ended: Vec<Ended> = records.iter().map(|it| ended(&study, it, None)).collect();
    store.append(&entered, &ended).unwrap();
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
    store.append(&entered, &[ended(&study, &failed, Some("why"))]).unwrap();
    store.append(&entered, &[ended(&study, &complete, None)]).unwrap();
    assert_eq!(store.records(&entered, true).unwrap(), std::slice::from_ref(&complete));
    // All or nothing: what stands beside a refused one is not written either.
    let another = record(&study, 4, Outcome::Complete);
    let both = [ended(&study, &another, None), ended(&study, &complete, None)];
    let refused = store.append(&entered, &both).unwrap_err();
    assert!(matches!(refused, StoreError::Sqlite { .. }), "{refused}");
    assert_eq!(store.records(&entered, true).unwrap(), [complete]);
}

#[test]
fn an_outpaced_trial_is_replaced_only_by_one_that_was_trained_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let study = study();
    let mut store = Store::open(&folder.path().join("s.sqlite")).unwrap();
    let entered = store.enter(&study, "data").unwrap();
    let outpaced = record(&study, 3, Outcome::Outpaced);
    let raced = record(&study, 3, Outcome::Incomplete);
    let exhaustive = Record { protocol: Protocol::Exhaustive, ..raced.clone() };
    store.append(&entered, &[ended(&study, &outpaced, None)]).unwrap();
    assert!(store.append(&entered, &[ended(&study, &raced, None)]).is_err());
    store.append(&entered, &[ended(&study, &exhaustive, None)]).unwrap();
    assert_eq!(store.records(&entered, true).unwrap(), [exhaustive]);
}

#[test]
fn saliencies_are_kept_bit_by_bit() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("s.sqlite")).unwrap();
    assert_eq!(store.saliencies("a start").unwrap(), None);
    store.keep_saliencies("a start", &[0.1, 0.0, f32::INFINITY]).unwrap();
    assert_eq!(store.saliencies("a start").unwrap(), Some(vec![0.1, 0.0, f32::INFINITY]));
    assert_eq!(store.saliencies("another").unwrap(), None);
}

fn watched(share: f64, points: u64) -> SmoothnessRun {
    let point = |step: u64| SmoothnessPoint {
        step: Steps(1000 * step),
        lipschitz: 1.0 / 3.0 + step as f64,
        loss: 2.3,
        error: ErrorRate(0.125),
        norms: GradientNorms { small_batch: 64.0, small: 0.7, big_batch: 54_000.0, big: 1e-5 },
    };
    SmoothnessRun {
        dataset: "mnist".to_owned(),
        model: "simple-cnn".to_owned(),
        optimizer: Optimizer::Momentum,
        metaparameters: Metaparameters {
            learning_rate: 0.1,
            momentum: Some(0.9),
            decay_steps: None,
            end_factor: None,
        },
        batch_size: BatchSize(128),
        sparsity: Sparsity::new(share).unwrap(),
        seed: 3,
        points: (0..points).map(point).collect(),
    }
}

#[test]
fn watched_trainings_come_out_as_they_went_in_and_replace_their_like() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("s.sqlite")).unwrap();
    let runs = [watched(0.0, 4), watched(0.9, 2)];
    let elsewhere = SmoothnessRun { model: "resnet-8".to_owned(), ..watched(0.9, 1) };
    let kept = [("a", &watched(0.9, 3)), ("b", &runs[1]), ("c", &elsewhere), ("d", &runs[0])];
    for (origin, run) in kept {
        store.keep_smoothness(origin, run).unwrap();
    }
    // Whatever follows from something else is not taken for it.
    assert_eq!(store.smoothness_from("b").unwrap().as_ref(), Some(&runs[1]));
    assert_eq!(store.smoothness_from("a").unwrap(), None);
    assert_eq!(store.smoothness("mnist", "simple-cnn").unwrap(), runs);
    assert_eq!(store.smoothness("mnist", "resnet-8").unwrap(), [elsewhere]);
    assert_eq!(store.smoothness("cifar10", "simple-cnn").unwrap(), []);
}

#[test]
fn a_store_of_the_first_version_is_brought_up_to_date_and_a_newer_one_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.sqlite");
    let old = rusqlite::Connection::open(&path).unwrap();
    old.execute_batch(include_str!("fixtures/store-1.sql")).unwrap();
    drop(old);
    // Who only looks at it leaves it as it is.
    let refused = Store::look_at(&path).unwrap_err();
    assert!(matches!(refused, StoreError::Older { found: 1, .. }), "{refused}");
    // Whoever else comes first brings it up to date, be it a reader.
    let store = Store::read(&path).unwrap();
    let study = store.study("old").unwrap();
    assert_eq!(study.facts.goal_errors, [ErrorRate(0.02)]);
    assert_eq!(study.facts.check_every.at(BatchSize(64)), Steps(16));
    let records = store.records(&study, true).unwrap();
    assert_eq!(records[0].toward(0), (Outcome::Complete, Steps(784)));
    assert_eq!(records[1].toward(0), (Outcome::Outpaced, Steps(784)));
    assert!(records.iter().all(|record| record.observations[0].exact));
    assert_eq!(store.smoothness("mnist", "simple-cnn").unwrap(), []);
    assert_eq!(store.heartbeat(&study).unwrap(), None);
    drop(store);
    let newer = rusqlite::Connection::open(&path).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    let refused = Store::read(&path).unwrap_err();
    assert!(refused.to_string().contains("was written by a newer Parsity"), "{refused}");
    assert!(matches!(Store::open(&path), Err(StoreError::Newer { found: 99, .. })));
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
fn a_store_of_the_second_version_gets_what_it_lacks_and_keeps_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.sqlite");
    let (study, complete) = (study(), record(&study(), 3, Outcome::Complete));
    let mut store = Store::open(&path).unwrap();
    let entered = store.enter(&study, "data").unwrap();
    store.append(&entered, &[ended(&study, &complete, None)]).unwrap();
    drop(store);
    let old = rusqlite::Connection::open(&path).unwrap();
    old.execute_batch("DROP TABLE heartbeat; PRAGMA user_version = 2").unwrap();
    drop(old);
    let store = Store::read(&path).unwrap();
    assert_eq!(store.heartbeat(&entered).unwrap(), None);
    assert_eq!(store.records(&entered, true).unwrap(), [complete]);
}

#[test]
fn an_edition_stands_for_the_records_and_the_extent() {
    let folder = tempfile::tempdir().unwrap();
    let study = study();
    let mut store = Store::open(&folder.path().join("s.sqlite")).unwrap();
    let entered = store.enter(&study, "data").unwrap();
    let mut editions = vec![store.edition(&entered).unwrap()];
    let [failed, complete] =
        [Outcome::Failed, Outcome::Complete].map(|outcome| record(&study, 3, outcome));
    store.append(&entered, &[ended(&study, &failed, Some("why"))]).unwrap();
    editions.push(store.edition(&entered).unwrap());
    assert_eq!(store.edition(&entered).unwrap(), editions[1]);
    // It takes the place of the other, id and all.
    let longer = Record { steps: Steps(17), ..complete };
    store.append(&entered, &[ended(&study, &longer, None)]).unwrap();
    editions.push(store.edition(&entered).unwrap());
    store
        .keep_smoothness(
            "a",
            &SmoothnessRun {
                dataset: "glyphs-small".to_owned(),
                model: "mini-cnn".to_owned(),
                ..watched(0.9, 3)
            },
        )
        .unwrap();
    editions.push(store.edition(&entered).unwrap());
    let fewer = store.enter(&study.with_trials(3).unwrap(), "data").unwrap();
    editions.push(store.edition(&fewer).unwrap());
    for (index, edition) in editions.iter().enumerate() {
        assert!(!editions[..index].contains(edition), "{index}");
    }
}

#[test]
fn the_records_of_a_cell_are_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let study = study();
    let mut store = Store::open(&folder.path().join("s.sqlite")).unwrap();
    let entered = store.enter(&study, "data").unwrap();
    let here = record(&study, 0, Outcome::Complete);
    let cell = Cell { batch_size: BatchSize(8), ..here.cell };
    let elsewhere = Record { cell, ..here.clone() };
    let both = [&here, &elsewhere].map(|it| ended(&study, it, None));
    store.append(&entered, &both).unwrap();
    assert_eq!(store.cell_records(&entered, here.cell).unwrap(), [here]);
    assert_eq!(store.cell_records(&entered, cell).unwrap(), [elsewhere]);
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
