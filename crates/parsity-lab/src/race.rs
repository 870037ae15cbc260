//! The race of a cell: its trials advance together, one check interval at a time.
//!
//! A cell asks for the fewest steps in which any of its trials reaches the goal. So
//! nobody runs ahead: a trial starts its next interval only when all have finished the
//! last one, and as soon as one has reached the goal at step k, whoever has got to k
//! without it is outpaced. The answer is that of training every trial to its end, ties
//! included, and so is every record that is complete; only the work is less. What each
//! trial's outcome is does not depend on who was computed first, or where.

use parsity_engine::Session;
use parsity_study::{Cell, Observation, Outcome, Record, Steps, Trial};

/// A trial in the race.
#[derive(Debug)]
pub(crate) struct Runner {
    pub(crate) trial: Trial,
    /// Made when it first runs.
    pub(crate) session: Option<Session>,
    pub(crate) steps: Steps,
    pub(crate) seconds: f64,
    pub(crate) observations: Vec<Observation>,
}

impl Runner {
    pub(crate) fn new(trial: Trial) -> Self {
        let (steps, seconds) = (Steps(0), 0.0);
        Runner { trial, session: None, steps, seconds, observations: Vec::new() }
    }

    pub(crate) fn into_record(self, outcome: Outcome) -> Record {
        Record {
            cell: self.trial.cell,
            trial: self.trial.index,
            metaparameters: self.trial.metaparameters,
            outcome,
            steps: self.steps,
            seconds: self.seconds,
            observations: self.observations,
        }
    }
}

/// How an interval ended for a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interval {
    /// It goes on.
    Open,
    /// It is over.
    Ended(Outcome),
}

/// The race of one cell.
#[derive(Debug)]
pub(crate) struct Race {
    pub(crate) cell: Cell,
    /// Trials that wait for their next interval.
    waiting: Vec<Runner>,
    /// Steps of the trials that are running now.
    running: Vec<Steps>,
    /// The fewest steps in which the goal was reached so far.
    best: Option<Steps>,
}

impl Race {
    /// A race between the trials of `cell` that have no record yet; `best` is the best
    /// of those that have.
    pub(crate) fn new(cell: Cell, trials: Vec<Trial>, best: Option<Steps>) -> Self {
        let waiting = trials.into_iter().map(Runner::new).collect();
        Race { cell, waiting, running: Vec::new(), best }
    }

    /// Whether all trials are over.
    pub(crate) fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    /// The best so far.
    pub(crate) fn best(&self) -> Option<Steps> {
        self.best
    }

    /// A trial that may run its next interval: one of those that are last.
    pub(crate) fn take(&mut self) -> Option<Runner> {
        let last =
            self.waiting.iter().map(|runner| runner.steps).chain(self.running.iter().copied());
        let last = last.min()?;
        let is_last = |runner: &Runner| runner.steps == last;
        let index = self.waiting.iter().position(is_last)?;
        let runner = self.waiting.remove(index);
        self.running.push(runner.steps);
        Some(runner)
    }

    /// Takes back a trial that was at `before` when it was taken; returns those that are
    /// over now, each with its outcome.
    pub(crate) fn put(
        &mut self,
        before: Steps,
        runner: Runner,
        interval: Interval,
    ) -> Vec<(Runner, Outcome)> {
        if let Some(index) = self.running.iter().position(|&steps| steps == before) {
            self.running.swap_remove(index);
        }
        let mut over = Vec::new();
        match interval {
            Interval::Open => {
                let place =
                    self.waiting.partition_point(|other| other.trial.index < runner.trial.index);
                self.waiting.insert(place, runner);
            }
            Interval::Ended(outcome) => {
                if outcome == Outcome::Complete {
                    self.best = Some(self.best.map_or(runner.steps, |best| best.min(runner.steps)));
                }
                over.push((runner, outcome));
            }
        }
        if let Some(best) = self.best {
            let outpaced = self.waiting.extract_if(.., |runner| runner.steps >= best);
            over.extend(outpaced.map(|runner| (runner, Outcome::Outpaced)));
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parsity_study::{BatchSize, Sparsity, builtin};
    use std::collections::BTreeMap;

    /// Runs a race whose trial `i` reaches the goal at `goals[i]` intervals (0 = never) and
    /// whose takers finish in an order drawn from `order`; at most four run at a time.
    fn race(goals: &[u64], order: u64) -> (Option<Steps>, BTreeMap<u32, (Outcome, u64)>) {
        let study = builtin::study("quickstart").unwrap();
        let cell = Cell { batch_size: BatchSize(8), sparsity: Sparsity::DENSE };
        let trials = (0..goals.len() as u32).map(|index| study.trial(cell, index)).collect();
        let mut race = Race::new(cell, trials, None);
        let (mut running, mut ended) = (Vec::new(), BTreeMap::new());
        let mut draw = order;
        while !race.is_over() {
            while running.len() < 4
                && let Some(runner) = race.take()
            {
                running.push((runner.steps, runner));
            }
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let index = (draw >> 33) as usize % running.len();
            let (before, mut runner) = running.swap_remove(index);
            runner.steps = Steps(runner.steps.0 + 1);
            let goal = goals[runner.trial.index as usize];
            let interval = match runner.steps.0 {
                steps if steps == goal => Interval::Ended(Outcome::Complete),
                50 => Interval::Ended(Outcome::Incomplete),
                _ => Interval::Open,
            };
            for (runner, outcome) in race.put(before, runner, interval) {
                ended.insert(runner.trial.index, (outcome, runner.steps.0));
            }
        }
        (race.best(), ended)
    }

    #[test]
    fn the_best_is_the_minimum_and_nobody_runs_past_it() {
        for order in 0..50 {
            let (best, ended) = race(&[0, 9, 4, 30, 4, 5], order);
            assert_eq!(best, Some(Steps(4)));
            assert_eq!(ended[&2], (Outcome::Complete, 4));
            assert_eq!(ended[&4], (Outcome::Complete, 4));
            for other in [0, 1, 3, 5] {
                assert_eq!(ended[&other], (Outcome::Outpaced, 4), "order {order}");
            }
        }
    }

    #[test]
    fn without_a_winner_all_use_up_their_budget() {
        let (best, ended) = race(&[0, 0, 0], 1);
        assert_eq!(best, None);
        assert!(ended.values().all(|&end| end == (Outcome::Incomplete, 50)));
    }

    #[test]
    fn a_known_best_bounds_those_who_come_later() {
        let study = builtin::study("quickstart").unwrap();
        let cell = Cell { batch_size: BatchSize(8), sparsity: Sparsity::DENSE };
        let mut race = Race::new(cell, vec![study.trial(cell, 3)], Some(Steps(2)));
        for steps in 1..=2 {
            let mut runner = race.take().unwrap();
            runner.steps = Steps(steps);
            let over = race.put(Steps(steps - 1), runner, Interval::Open);
            assert_eq!(over.len(), usize::from(steps == 2));
        }
        assert!(race.is_over());
    }
}
