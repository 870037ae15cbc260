//! The floor where a study is carried out: workers take trials out of races and bring them
//! back one check interval later, until every cell has its answer.
//!
//! Each worker trains one trial at a time; when there are fewer trials than workers, those
//! that are left get the threads of the others. Neither changes a number.

use crate::error::LabError;
use crate::heartbeat::Heart;
use crate::race::Race;
use crate::run::{Event, Measures, Progress, Summary};
use crate::runner::{Interval, Means, Runner};
use crate::store::{Ended, Store, StoredStudy};
use parsity_engine::Team;
use parsity_study::{Cell, Outcome, Protocol, Record, Steps, Study};
use std::collections::{HashMap, HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What the workers share.
pub(crate) struct Floor<'a> {
    pub(crate) study: &'a Study,
    pub(crate) stored: StoredStudy,
    pub(crate) known: HashMap<Cell, Vec<Record>>,
    pub(crate) store: &'a Mutex<&'a mut Store>,
    pub(crate) means: Means<'a>,
    pub(crate) measures: Measures,
    pub(crate) threads: usize,
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
    /// Threads at work.
    busy: usize,
    /// Bytes that waiting trials take.
    resident: usize,
    pub(crate) summary: Summary,
    pub(crate) error: Option<LabError>,
}

impl Board {
    /// Nothing is begun yet.
    pub(crate) fn new(cells: &[Cell]) -> Self {
        Board { cells: cells.iter().copied().collect(), ..Board::default() }
    }

    /// A trial is not at work any more; its work is added up.
    fn leave(&mut self, threads: usize, runner: &Runner) {
        self.busy -= threads;
        self.summary.trained += runner.work.steps * u64::from(runner.trial.cell.batch_size.0);
        self.summary.evaluated += runner.work.evaluated;
    }
}

/// The threads of a worker: its own, and a team for when others have nothing to do.
struct Hands {
    own: Team,
    more: Option<Team>,
}

impl Hands {
    fn new() -> Self {
        Hands { own: Team::new(1), more: None }
    }

    fn team(&mut self, threads: usize) -> &mut Team {
        if threads == 1 {
            return &mut self.own;
        }
        if self.more.as_ref().is_none_or(|team| team.size() != threads) {
            self.more = None;
        }
        self.more.get_or_insert_with(|| Team::new(threads))
    }
}

impl Floor<'_> {
    /// A worker's day.
    pub(crate) fn work(&self) {
        let mut hands = Hands::new();
        while let Some((mut runner, threads)) = self.take() {
            let before = runner.steps();
            let advanced = catch_unwind(AssertUnwindSafe(|| {
                let interval = runner.advance(&self.means, hands.team(threads));
                interval.map(|interval| interval.map(|interval| (interval, None)))
            }));
            let advanced = advanced.unwrap_or_else(|panic| {
                // Whatever the panic left half done is thrown away.
                hands = Hands::new();
                Ok(Some((Interval::Ended(Outcome::Failed), Some(describe(&*panic)))))
            });
            match advanced {
                Ok(Some((interval, message))) => {
                    self.put(before, threads, runner, interval, message);
                }
                // Stopped in the middle of an interval: wake those that wait for it.
                Ok(None) => {
                    self.lock().leave(threads, &runner);
                    self.change.notify_all();
                }
                Err(error) => self.give_up(error),
            }
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give_up(&self, error: LabError) {
        self.lock().error.get_or_insert(error);
        self.change.notify_all();
    }

    /// Waits for a trial that may run, and says with how many threads; `None` when there is
    /// nothing more to do.
    fn take(&self) -> Option<(Runner, usize)> {
        let mut board = self.lock();
        loop {
            if !(self.means.go_on)() || board.error.is_some() {
                return None;
            }
            if let Some(runner) = board.races.iter_mut().find_map(Race::take) {
                board.resident -= runner.bytes();
                let more = board.races.iter().any(Race::is_ready) || self.may_open(&board);
                let spare = self.threads.saturating_sub(board.busy).max(1);
                let threads = if more { 1 } else { spare };
                board.busy += threads;
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
        board.races.len() < self.threads && !board.cells.is_empty()
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
                true => self.means.checkpoints.forget(trial.id()),
                false => missing.push(trial),
            }
        }
        Race::new(cell, missing, (0..goals).map(best).collect(), self.measures.racing)
    }

    /// Brings a trial back to its race and records whoever is over.
    fn put(
        &self,
        before: Steps,
        threads: usize,
        mut runner: Runner,
        interval: Interval,
        message: Option<String>,
    ) {
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
        board.leave(threads, &runner);
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
            return runner.park(self.means.checkpoints);
        }
        runner.save_if_due(&self.means)
    }

    fn record(
        &self,
        over: Vec<(Runner, Outcome)>,
        message: Option<String>,
    ) -> Result<(), LabError> {
        if over.is_empty() {
            return Ok(());
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
            self.means.checkpoints.forget(*id);
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
            runner.save(self.means.checkpoints)?;
        }
        self.means.checkpoints.tidy();
        Ok(())
    }
}

/// The words of a panic.
fn describe(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".to_owned())
}
