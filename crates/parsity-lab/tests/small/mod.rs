//! A small study that all ways of running one are compared on.

use parsity_data::Cache;
use parsity_lab::{Bench, Event, Question};
use parsity_study::{ModelFile, Record, Study, StudyFile};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const STUDY: &str = r#"
name = "small"
dataset = "glyphs-small"
model = "tiny"
optimizer = "momentum"
goal_errors = [0.55, 0.42]
step_budget = 400
check_every = [{ from_batch_size = 2, steps = 8 }, { from_batch_size = 100, steps = 4 }]
batch_sizes = [32, 128]
sparsities = [0.0, 0.8]
trials = 8
validation_share = 0.05
[search]
learning_rate = { from = 1e-3, to = 10.0 }
momentum = { from = 0.5, to = 0.9 }
"#;

const MODEL: &str = include_str!("../tiny.toml");

pub(crate) fn question() -> Question {
    let model = ModelFile::parse("tiny.toml", MODEL).unwrap();
    let study = Study::new(StudyFile::parse("small.toml", STUDY).unwrap(), model).unwrap();
    Question { study, folder: PathBuf::new() }
}

pub(crate) fn bench() -> &'static Bench {
    static BENCH: OnceLock<Bench> = OnceLock::new();
    BENCH.get_or_init(|| {
        // Generated, so that nothing of this machine's user is read or written.
        let nowhere = Cache::at(PathBuf::from("no such folder"));
        Bench::for_study(&question(), &nowhere).unwrap()
    })
}

/// A record without what differs from run to run.
pub(crate) fn timeless(records: Vec<Record>) -> Vec<Record> {
    records.into_iter().map(|record| Record { seconds: 0.0, ..record }).collect()
}

/// A watch that raises the flag after so many intervals.
pub(crate) fn stopping(stop: &AtomicBool, after: Option<u64>) -> impl Fn(Event<'_>) + Sync {
    let intervals = AtomicU64::new(0);
    move |event| {
        // Taking a trial up again is no progress yet.
        if let Event::Interval(progress) = event
            && progress.trained > 0
            && Some(intervals.fetch_add(1, Ordering::Relaxed) + 1) == after
        {
            stop.store(true, Ordering::Relaxed);
        }
    }
}
