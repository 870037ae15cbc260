//! The floor where a study is carried out: workers take trials out of races and bring them
//! back one check interval later, until every cell has its answer.
//!
//! Each worker trains one trial at a time; when there are fewer trials than workers, those
//! that are left get the threads of the others. Neither changes a number.

use crate::checkpoint::Checkpoints;
use crate::error::LabError;
use crate::hands::Hand;
use crate::heartbeat::Heart;
use crate::race::Race;
use crate::ranks::Post;
use crate::run::{Event, Measures, Progress, Summary};
use crate::runner::{Interval, Means, Runner};
use crate::store::{Ended, Store, StoredStudy};
use parsity_study::{Cell, Outcome, Protocol, Record, Steps, Study};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What the workers share.
pub(crate) struct Floor<'a> {
    pub(crate) study: &'a Study,
    pub(crate) stored: StoredStudy,
    pub(crate) known: HashMap<Cell, Vec<Record>>,
    pub(crate) store: &'a Mutex<&'a mut Store>,
    pub(crate) means: Means<'a>,
    pub(crate) checkpoints: &'a Checkpoints,
    pub(crate) measures: Measures,
    /// Groups of ranks that trials are trained on; this process alone is one.
    pub(crate) groups: usize,
    /// Trials that each of them trains at the same time.
    pub(crate) lanes: usize,
    /// Threads that each of them has.
    pub(crate) threads: usize,
    /// The way to them, if they are not just this process.
    pub(crate) post: Option<&'a Post>,
    /// Bytes that waiting trials may take.
    pub(crate) memory: usize,
    pub(crate) board: Mutex<Board>,
    pub(crate) change: Condvar,
    pub(crate) watch: &'a (dyn Fn(Event<'_>) + Sync),
    pub(crate) heart: &'a Heart,
}

/// The state of the run.
#[derive(Default)]
pub(crate) struct Board {
    races: Vec<Race>,
    cells: VecDeque<Cell>,
    /// Threads at work in each group.
    busy: Vec<usize>,
    /// Bytes that waiting trials take.
    resident: usize,
    pub(crate) summary: Summary,
    pub(crate) error: Option<LabError>,
}

impl Board {
    /// Nothing is begun yet.
    pub(crate) fn new(cells: &[Cell], groups: usize) -> Self {
        let cells = cells.iter().copied().collect();
        Board { cells, busy: vec![0; groups], ..Board::default() }
    }

    /// A trial is not at work any more; its work is added up.
    fn leave(&mut self, group: usize, threads: usize, runner: &Runner) {
        self.busy[group] -= threads;
        self.summary.trained += runner.work.steps * u64::from(runner.trial.cell.batch_size.0);
        self.summary.evaluated += runner.work.evaluated;
    }
}

impl Floor<'_> {
    /// The day of a worker of `group`.
    pub(crate) fn work(&self, group: usize, hand: &mut dyn Hand) {
        while let Some((mut runner, threads)) = self.take(group) {
            let before = runner.steps();
            match hand.advance(&mut runner, threads) {
                Ok(Some((interval, message))) => {
                    self.lock().leave(group, threads, &runner);
                    self.put(before, runner, interval, message);
                }
                // Stopped in the middle of an interval.
                Ok(None) => self.lock().leave(group, threads, &runner),
                Err(error) => self.give_up(error),
            }
        }
        // The flag that stops a run rings no bell: those who wait learn of it from those who go.
        self.change.notify_all();
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing more is to be begun.
    pub(crate) fn is_ending(&self) -> bool {
        !(self.means.go_on)() || self.lock().error.is_some()
    }

    /// Ends the run, for a reason.
    pub(crate) fn give_up(&self, error: LabError) {
        self.lock().error.get_or_insert(error);
        self.change.notify_all();
    }

    /// Waits for a trial that may run, and says with how many threads; `None` when there is
    /// nothing more to do.
    fn take(&self, group: usize) -> Option<(Runner, usize)> {
        let mut board = self.lock();
        loop {
            if !(self.means.go_on)() || board.error.is_some() {
                return None;
            }
            if let Some(runner) = board.races.iter_mut().find_map(|race| race.take(group)) {
                board.resident -= runner.bytes();
                let ready = board.races.iter().any(|race| race.is_ready(group));
                let more = self.lanes > 1 && (ready || self.may_open(&board));
                let spare = self.threads.saturating_sub(board.busy[group]).max(1);
                let threads = if more { 1 } else { spare };
                board.busy[group] += threads;
                return Some((runner, threads));
            }
            if self.may_open(&board)
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

    /// Whether another cell may be raced at the same time.
    fn may_open(&self, board: &Board) -> bool {
        board.races.len() < self.groups * self.lanes && !board.cells.is_empty()
    }

    /// The race of the trials of `cell` that have no record. One that failed runs again, and
    /// so does one that was stopped early, if each is to be trained to its own end.
    fn race(&self, cell: Cell) -> Race {
        let goals = self.study.workload().goal_errors.len();
        let known = self.known.get(&cell).map_or(&[][..], Vec::as_slice);
        let is_done = |record: &&Record| match record.outcome {
            Outcome::Failed => false,
            Outcome::Outpaced => self.measures.racing,
            Outcome::Collapsed => self.measures.proofs,
            _ => true,
        };
        let done: HashSet<u32> = known.iter().filter(is_done).map(|record| record.trial).collect();
        let ours = known.iter().filter(|record| record.trial < self.study.trials());
        let best = |goal| ours.clone().filter_map(|it| it.reached.get(goal).copied()).min();
        let mut missing = Vec::new();
        for trial in (0..self.study.trials()).map(|index| self.study.trial(cell, index)) {
            match done.contains(&trial.index) {
                // The program may have been killed between the record and this.
                true => self.checkpoints.forget(trial.id()),
                false => missing.push(trial),
            }
        }
        Race::new(cell, missing, (0..goals).map(best).collect(), self.measures.racing)
    }

    /// Brings a trial back to its race and records whoever is over.
    fn put(&self, before: Steps, mut runner: Runner, interval: Interval, message: Option<String>) {
        self.heart.note(&runner);
        if interval == Interval::Open
            && let Err(error) = self.lay_down(&mut runner)
        {
            return self.give_up(error);
        }
        let cell = runner.trial.cell;
        let (steps, trained) = (runner.steps(), runner.work.steps);
        let (trial, seconds) = (runner.trial.index, runner.progress.seconds);
        let mut board = self.lock();
        let Some(index) = board.races.iter().position(|race| race.cell == cell) else { return };
        board.resident += runner.bytes();
        let over = board.races[index].put(before, runner, interval);
        board.resident -= over.iter().map(|(runner, _)| runner.bytes()).sum::<usize>();
        let best = board.races[index].best().last().copied().flatten();
        let ended = board.races[index].is_over().then(|| board.races.remove(index));
        drop(board);
        self.change.notify_all();
        (self.watch)(Event::Interval(Progress { cell, trial, seconds, steps, trained, best }));
        if let Err(error) = self.record(over, message) {
            return self.give_up(error);
        }
        if let Some(race) = ended {
            self.announce(&race);
        }
    }

    /// Lets a trial wait: on disk if there is no room, and saved from time to time.
    fn lay_down(&self, runner: &mut Runner) -> Result<(), LabError> {
        if self.lock().resident + runner.bytes() > self.memory {
            return runner.park(self.means.shelf);
        }
        runner.save_if_due(&self.means)
    }

    fn record(
        &self,
        mut over: Vec<(Runner, Outcome)>,
        message: Option<String>,
    ) -> Result<(), LabError> {
        if over.is_empty() {
            return Ok(());
        }
        if let Some(post) = self.post {
            post.release(&mut over);
        }
        let protocol = match self.measures {
            Measures { racing: false, bounded_checks: false, proofs: false } => {
                Protocol::Exhaustive
            }
            _ => Protocol::Racing,
        };
        let ended: Vec<Ended> = over
            .into_iter()
            .map(|(runner, outcome)| Ended {
                id: runner.trial.id(),
                record: runner.into_record(protocol, outcome),
                message: message.clone().filter(|_| outcome == Outcome::Failed),
            })
            .collect();
        self.store.lock().unwrap_or_else(PoisonError::into_inner).append(&self.stored, &ended)?;
        for Ended { id, record, message } in &ended {
            self.checkpoints.forget(*id);
            self.heart.forget(record.cell, record.trial);
            (self.watch)(Event::Trial { record, message: message.as_deref() });
        }
        let summary = &mut self.lock().summary;
        let failed = ended.iter().filter(|it| it.record.outcome == Outcome::Failed).count();
        (summary.trials, summary.failed) =
            (summary.trials + ended.len() as u64, summary.failed + failed as u64);
        Ok(())
    }

    fn announce(&self, race: &Race) {
        (self.watch)(Event::Cell { cell: race.cell, steps_to_result: race.best() });
    }

    /// Saves all trials that wait; after the last worker has gone.
    pub(crate) fn close(&self) -> Result<(), LabError> {
        let races = std::mem::take(&mut self.lock().races);
        for mut runner in races.into_iter().flat_map(Race::into_waiting) {
            runner.save(self.means.shelf)?;
        }
        self.checkpoints.tidy();
        Ok(())
    }
}
