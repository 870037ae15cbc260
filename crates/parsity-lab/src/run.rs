//! Running a study: workers take trials out of races and bring them back one check
//! interval later, until every cell has its answer.
//!
//! Each worker trains one trial at a time on its own thread. Records are written as
//! trials end; a stop loses nothing but the intervals that are under way.

use crate::bench::Bench;
use crate::error::LabError;
use crate::race::{Interval, Race, Runner};
use crate::starts::Starts;
use crate::store::{Store, StoredStudy};
use parsity_engine::Team;
use parsity_study::{Cell, ErrorRate, Observation, Outcome, Record, Steps, Study};
use std::collections::{HashMap, HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

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
        /// Its steps-to-result, if any trial reached the goal.
        steps_to_result: Option<Steps>,
    },
}

/// An interval of a trial.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// The trial's cell.
    pub cell: Cell,
    /// Its steps so far.
    pub steps: Steps,
    /// Steps trained in this interval.
    pub trained: u64,
    /// The best of its cell so far.
    pub best: Option<Steps>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Trials that ended in this run.
    pub trials: u64,
    /// Trials that failed in this run.
    pub failed: u64,
    /// Whether it was stopped before all was done.
    pub stopped: bool,
}

/// Trains all trials of `study` that have no record yet, `threads` at a time. `watch` is
/// called as things happen, from any thread; raising `stop` ends the run soon.
pub fn run(
    study: &Study,
    bench: &Bench,
    store: &mut Store,
    threads: usize,
    stop: &AtomicBool,
    watch: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Summary, LabError> {
    let stored = store.enter(study, &bench.fingerprint)?;
    let mut known: HashMap<Cell, Vec<Record>> = HashMap::new();
    for record in store.records(&stored, false)? {
        known.entry(record.cell).or_default().push(record);
    }
    let starts = Starts::new(bench, study.pruning());
    let board = Board {
        races: Vec::new(),
        cells: study.cells().collect(),
        summary: Summary::default(),
        error: None,
    };
    let floor = Floor {
        study,
        bench,
        starts: &starts,
        stored,
        known,
        store: Mutex::new(store),
        board: Mutex::new(board),
        change: Condvar::new(),
        most_races: threads,
        stop,
        watch,
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| floor.work());
        }
    });
    let board = floor.board.into_inner().unwrap_or_else(PoisonError::into_inner);
    match board.error {
        Some(error) => Err(error),
        None => Ok(Summary { stopped: stop.load(Ordering::Relaxed), ..board.summary }),
    }
}

/// What the workers share.
struct Floor<'a> {
    study: &'a Study,
    bench: &'a Bench,
    starts: &'a Starts<'a>,
    stored: StoredStudy,
    known: HashMap<Cell, Vec<Record>>,
    store: Mutex<&'a mut Store>,
    board: Mutex<Board>,
    change: Condvar,
    /// Cells that are raced at the same time, at most.
    most_races: usize,
    stop: &'a AtomicBool,
    watch: &'a (dyn Fn(Event<'_>) + Sync),
}

/// The state of the run.
struct Board {
    races: Vec<Race>,
    cells: VecDeque<Cell>,
    summary: Summary,
    error: Option<LabError>,
}

impl Floor<'_> {
    /// A worker's day.
    fn work(&self) {
        let mut team = Team::new(1);
        let mut validation = self.bench.validation.clone();
        while let Some(mut runner) = self.take() {
            let before = runner.steps;
            let begin = Instant::now();
            let advanced = catch_unwind(AssertUnwindSafe(|| {
                self.advance(&mut runner, &mut team, &mut validation)
            }));
            runner.seconds += begin.elapsed().as_secs_f64();
            match advanced {
                Ok(Some(interval)) => self.put(before, runner, interval, None),
                // Stopped in the middle of an interval: wake those that wait for it.
                Ok(None) => self.change.notify_all(),
                Err(panic) => {
                    // Whatever the panic left half done is thrown away.
                    (team, validation) = (Team::new(1), self.bench.validation.clone());
                    let interval = Interval::Ended(Outcome::Failed);
                    self.put(before, runner, interval, Some(&describe(&*panic)));
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a trial that may run; `None` when there is nothing more to do.
    fn take(&self) -> Option<Runner> {
        let mut board = self.lock();
        loop {
            if self.stop.load(Ordering::Relaxed) || board.error.is_some() {
                return None;
            }
            if let Some(runner) = board.races.iter_mut().find_map(Race::take) {
                return Some(runner);
            }
            if board.races.len() < self.most_races
                && let Some(cell) = board.cells.pop_front()
            {
                let race = self.race(cell);
                match race.is_over() {
                    true => self.announce(&race),
                    false => board.races.push(race),
                }
                continue;
            }
            if board.races.is_empty() {
                return None;
            }
            board = self.change.wait(board).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The race of the trials of `cell` that have no record. One that failed runs again.
    fn race(&self, cell: Cell) -> Race {
        let known = self.known.get(&cell).map_or(&[][..], Vec::as_slice);
        let done = known.iter().filter(|record| record.outcome != Outcome::Failed);
        let done: HashSet<u32> = done.map(|record| record.trial).collect();
        let complete = known.iter().filter(|record| {
            record.outcome == Outcome::Complete && record.trial < self.study.trials()
        });
        let best = complete.map(|record| record.steps).min();
        let missing = (0..self.study.trials()).filter(|index| !done.contains(index));
        Race::new(cell, missing.map(|index| self.study.trial(cell, index)).collect(), best)
    }

    /// Trains a trial for one interval and checks the goal; `None` if stopped on the way.
    fn advance(
        &self,
        runner: &mut Runner,
        team: &mut Team,
        validation: &mut Vec<u32>,
    ) -> Option<Interval> {
        let workload = &runner.trial.workload;
        let go_on = || !self.stop.load(Ordering::Relaxed);
        if runner.session.is_none() {
            runner.session = Some(self.starts.session(&runner.trial, team, &go_on)?);
        }
        let session = runner.session.as_mut()?;
        let mut losses = 0.0;
        for _ in 0..workload.check_every.0 {
            if !go_on() {
                return None;
            }
            let loss = session.step(team);
            runner.steps = Steps(session.steps());
            if !loss.is_finite() {
                return Some(Interval::Ended(Outcome::Infeasible));
            }
            losses += loss;
        }
        let errors = session.count_errors(validation, team);
        let error = ErrorRate(errors as f64 / validation.len() as f64);
        let loss = losses / workload.check_every.0 as f64;
        runner.observations.push(Observation { step: runner.steps, loss, error });
        Some(if error <= workload.goal_error {
            Interval::Ended(Outcome::Complete)
        } else if runner.steps.0 + workload.check_every.0 > workload.step_budget.0 {
            Interval::Ended(Outcome::Incomplete)
        } else {
            Interval::Open
        })
    }

    /// Brings a trial back to its race and records whoever is over.
    fn put(&self, before: Steps, runner: Runner, interval: Interval, message: Option<&str>) {
        let mut board = self.lock();
        let cell = runner.trial.cell;
        let (steps, trained) = (runner.steps, runner.steps.0 - before.0);
        let Some(index) = board.races.iter().position(|race| race.cell == cell) else { return };
        let over = board.races[index].put(before, runner, interval);
        let best = board.races[index].best();
        (self.watch)(Event::Interval(Progress { cell, steps, trained, best }));
        for (runner, outcome) in over {
            let message = if outcome == Outcome::Failed { message } else { None };
            if let Err(error) = self.record(runner, outcome, message) {
                board.error.get_or_insert(error);
            }
            board.summary.trials += 1;
            board.summary.failed += u64::from(outcome == Outcome::Failed);
        }
        if board.races[index].is_over() {
            let race = board.races.remove(index);
            self.announce(&race);
        }
        self.change.notify_all();
    }

    fn record(
        &self,
        runner: Runner,
        outcome: Outcome,
        message: Option<&str>,
    ) -> Result<(), LabError> {
        let id = runner.trial.id();
        let record = runner.into_record(outcome);
        let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        store.append(&self.stored, id, &record, message)?;
        (self.watch)(Event::Trial { record: &record, message });
        Ok(())
    }

    fn announce(&self, race: &Race) {
        (self.watch)(Event::Cell { cell: race.cell, steps_to_result: race.best() });
    }
}

/// The words of a panic.
fn describe(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".to_owned())
}
