//! Running a study: what is asked for, what happens on the way, how it ended.

use crate::bench::Bench;
use crate::checkpoint::{Checkpoint, Checkpoints};
use crate::error::LabError;
use crate::floor::{Board, Floor};
use crate::hands::{Own, Teams};
use crate::heartbeat::Heart;
use crate::ranks::Post;
use crate::runner::{Means, Shelf};
use crate::starts::Starts;
use crate::store::Store;
use parsity_engine::{Session, Team};
use parsity_study::{Cell, Protocol, Record, Steps, Study, Trial, TrialId};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// What happens during a run.
#[derive(Debug)]
pub enum Event<'a> {
    /// A trial has trained one more interval.
    Interval(Progress),
    /// A trial has ended; its record is in the store.
    Trial {
        /// What it left.
        record: &'a Record,
        /// Why it failed, if it did.
        message: Option<&'a str>,
    },
    /// All trials of a cell have ended.
    Cell {
        /// The cell.
        cell: Cell,
        /// Its steps-to-result for each goal, from the loosest; `None` where no trial
        /// reached it.
        steps_to_result: &'a [Option<Steps>],
    },
}

/// An interval of a trial.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// The trial's cell.
    pub cell: Cell,
    /// Its index in the cell.
    pub trial: u32,
    /// Seconds of computing that it took so far.
    pub seconds: f64,
    /// Its steps so far.
    pub steps: Steps,
    /// Steps trained in this interval.
    pub trained: u64,
    /// The best of its cell so far, for the tightest goal.
    pub best: Option<Steps>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Trials that ended in this run.
    pub trials: u64,
    /// Trials that failed in this run.
    pub failed: u64,
    /// Images trained on.
    pub trained: u64,
    /// Images looked at in goal checks.
    pub evaluated: u64,
    /// Images whose gradients went into saliencies.
    pub pruned: u64,
    /// Whether it was stopped before all was done.
    pub stopped: bool,
}

/// What makes a study less work, and changes no steps-to-result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measures {
    /// Trials advance together and stop when they can no longer be the best.
    pub racing: bool,
    /// Goal checks look at hard images first and end when their verdict is certain.
    pub bounded_checks: bool,
    /// Trials end when it is proved that they will never reach the goal.
    pub proofs: bool,
}

impl From<Protocol> for Measures {
    fn from(protocol: Protocol) -> Self {
        let least = protocol == Protocol::Racing;
        Measures { racing: least, bounded_checks: least, proofs: least }
    }
}

/// How a run is to be done. None of it changes a steps-to-result.
#[derive(Debug, Clone)]
pub struct Options {
    /// Trials that are trained at the same time.
    pub threads: usize,
    /// What is done to save work.
    pub measures: Measures,
    /// Bytes that waiting trials may take; the others wait on disk.
    pub memory: usize,
    /// How often the state of a trial is saved.
    pub save_every: Duration,
    /// The cells in the order in which they are begun; those left out are not run.
    pub cells: Vec<Cell>,
}

impl Options {
    /// The usual ones for `study`.
    pub fn new(study: &Study, threads: usize) -> Self {
        Options {
            threads,
            measures: study.protocol().into(),
            memory: 2 << 30,
            save_every: Duration::from_secs(60),
            cells: study.cells().collect(),
        }
    }
}

/// Trains all trials of `study` that have no record yet. `watch` is called as things
/// happen, from any thread; raising `stop` ends the run soon, and loses nothing.
pub fn run(
    study: &Study,
    bench: &Bench,
    store: &mut Store,
    options: &Options,
    stop: &AtomicBool,
    watch: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Summary, LabError> {
    let staff = Staff { groups: 1, lanes: options.threads, post: None };
    let asked = Asked { study, bench, options, stop, watch };
    asked.carry_out(store, staff, |floor, _| {
        std::thread::scope(|scope| {
            for _ in 0..options.threads {
                let mut hand = Own { means: &floor.means, teams: Teams::new() };
                scope.spawn(move || floor.work(0, &mut hand));
            }
        });
    })
}

/// Who trains: groups of ranks, each with so many lanes, and the way to them.
pub(crate) struct Staff<'a> {
    pub(crate) groups: usize,
    pub(crate) lanes: usize,
    pub(crate) post: Option<&'a Post>,
}

/// What a run was asked for.
pub(crate) struct Asked<'a> {
    pub(crate) study: &'a Study,
    pub(crate) bench: &'a Bench,
    pub(crate) options: &'a Options,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) watch: &'a (dyn Fn(Event<'_>) + Sync),
}

impl Asked<'_> {
    /// Lets `work` be done on a floor, and says how it ended.
    pub(crate) fn carry_out(
        &self,
        store: &mut Store,
        staff: Staff<'_>,
        work: impl FnOnce(&Floor<'_>, &Starts<'_>),
    ) -> Result<Summary, LabError> {
        let Asked { study, bench, options, stop, watch } = *self;
        let stored = store.enter(study, &bench.fingerprint)?;
        let mut known: HashMap<Cell, Vec<Record>> = HashMap::new();
        for record in store.records(&stored, false)? {
            known.entry(record.cell).or_default().push(record);
        }
        let path = store.path().to_owned();
        let checkpoints = Checkpoints::beside(&path);
        let heart = Heart::new();
        let store = Mutex::new(store);
        let starts = Starts::new(bench, &store);
        let go_on = || !stop.load(Ordering::Relaxed);
        let means = Means {
            shelf: &Files { starts: &starts, checkpoints: &checkpoints },
            bench,
            save_every: options.save_every,
            measures: options.measures,
            go_on: &go_on,
        };
        let floor = Floor {
            study,
            stored,
            known,
            store: &store,
            means,
            checkpoints: &checkpoints,
            measures: options.measures,
            groups: staff.groups,
            lanes: staff.lanes,
            threads: options.threads,
            post: staff.post,
            memory: options.memory,
            board: Mutex::new(Board::new(&options.cells, staff.groups)),
            change: Condvar::new(),
            watch,
            heart: &heart,
        };
        heart.beat_while(&path, &floor.stored, staff.groups * staff.lanes, || {
            work(&floor, &starts);
        });
        let saved = floor.close();
        let board = floor.board.into_inner().unwrap_or_else(PoisonError::into_inner);
        match (board.error, saved) {
            (Some(error), _) | (None, Err(error)) => Err(error),
            (None, Ok(())) => {
                let stopped = stop.load(Ordering::Relaxed);
                Ok(Summary { stopped, pruned: starts.images(), ..board.summary })
            }
        }
    }
}

/// Starts and checkpoints where the store is.
struct Files<'a> {
    starts: &'a Starts<'a>,
    checkpoints: &'a Checkpoints,
}

impl Shelf for Files<'_> {
    fn session(
        &self,
        trial: &Trial,
        team: &mut Team,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<Session>, LabError> {
        self.starts.session(trial, team, go_on)
    }

    fn load(&self, trial: TrialId) -> Option<Checkpoint> {
        self.checkpoints.load(trial)
    }

    fn save(&self, trial: TrialId, checkpoint: &Checkpoint) -> Result<(), LabError> {
        self.checkpoints.save(trial, checkpoint)
    }
}
