//! The race of a cell: its trials advance together, one check interval at a time.
//!
//! A cell asks for the fewest steps in which any of its trials reaches the goal. So
//! nobody runs ahead: a trial starts its next interval only when all have finished the
//! last one, and as soon as one has reached the goal at step k, whoever has got to k
//! without it is outpaced. With several goals, a trial goes on as long as it could be the
//! best in one of them. The answer is that of training every trial to its end, ties
//! included, and so is every record that is complete; only the work is less. What each
//! trial's outcome is does not depend on who was computed first, or where.

use crate::runner::{Interval, Runner};
use parsity_study::{Cell, Outcome, Steps, Trial};

/// The race of one cell.
#[derive(Debug)]
pub(crate) struct Race {
    pub(crate) cell: Cell,
    /// Trials that wait for their next interval, by index.
    waiting: Vec<Runner>,
    /// Steps of the trials that are running now.
    running: Vec<Steps>,
    /// The fewest steps in which each goal was reached so far.
    best: Vec<Option<Steps>>,
    /// Whether trials are stopped when they can no longer be the best. If not, each is
    /// trained to its own end before the next one starts.
    racing: bool,
}

impl Race {
    /// A race between the trials of `cell` that have no record yet; `best` is, for each
    /// goal, the best of those that have.
    pub(crate) fn new(
        cell: Cell,
        trials: Vec<Trial>,
        best: Vec<Option<Steps>>,
        racing: bool,
    ) -> Self {
        let waiting = trials.into_iter().map(Runner::new).collect();
        Race { cell, waiting, running: Vec::new(), best, racing }
    }

    /// Whether all trials are over.
    pub(crate) fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    /// The fewest steps to each goal so far.
    pub(crate) fn best(&self) -> &[Option<Steps>] {
        &self.best
    }

    /// Which of those that wait may run its next interval on the ranks `group`: one of the
    /// last, that is not awake elsewhere.
    fn ready(&self, group: usize) -> Option<usize> {
        let steps = self.waiting.iter().map(Runner::steps).chain(self.running.iter().copied());
        let last = steps.min()?;
        let is_here = |runner: &Runner| runner.home.is_none_or(|home| home == group);
        let may_run = |runner: &Runner| !self.racing || runner.steps() == last;
        self.waiting.iter().position(|runner| is_here(runner) && may_run(runner))
    }

    /// Whether a trial may run its next interval there.
    pub(crate) fn is_ready(&self, group: usize) -> bool {
        self.ready(group).is_some()
    }

    /// A trial that may run its next interval there.
    pub(crate) fn take(&mut self, group: usize) -> Option<Runner> {
        let runner = self.waiting.remove(self.ready(group)?);
        self.running.push(runner.steps());
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
        for (best, &steps) in self.best.iter_mut().zip(&runner.progress.reached) {
            *best = Some(best.map_or(steps, |best| best.min(steps)));
        }
        let mut over = Vec::new();
        match interval {
            Interval::Open => {
                let place =
                    self.waiting.partition_point(|other| other.trial.index < runner.trial.index);
                self.waiting.insert(place, runner);
            }
            Interval::Ended(outcome) => over.push((runner, outcome)),
        }
        if self.racing {
            let best = &self.best;
            // It has got where the best did, without any goal that it could still be best in.
            let is_outpaced = |runner: &mut Runner| {
                let open = &best[runner.progress.reached.len()..];
                open.iter().all(|best| best.is_some_and(|best| runner.steps() >= best))
            };
            let outpaced = self.waiting.extract_if(.., is_outpaced);
            over.extend(outpaced.map(|runner| (runner, Outcome::Outpaced)));
        }
        over
    }

    /// The trials that wait, when all is stopped.
    pub(crate) fn into_waiting(self) -> Vec<Runner> {
        self.waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parsity_study::{BatchSize, Sparsity, builtin};
    use std::collections::BTreeMap;

    /// Of each trial its outcome, its steps and those to the goals that it reached.
    type Ends = BTreeMap<u32, (Outcome, u64, Vec<u64>)>;

    /// Runs a race whose trial `i` reaches the goals at `goals[i]` intervals (0 = never) and
    /// whose takers finish in an order drawn from `order`; at most four run at a time.
    fn race(goals: &[[u64; 2]], order: u64, racing: bool) -> (Vec<Option<Steps>>, Ends) {
        let study = builtin::study("quickstart").unwrap();
        let cell = Cell { batch_size: BatchSize(8), sparsity: Sparsity::DENSE };
        let trials = (0..goals.len() as u32).map(|index| study.trial(cell, index)).collect();
        let mut race = Race::new(cell, trials, vec![None; 2], racing);
        let (mut running, mut ended) = (Vec::new(), BTreeMap::new());
        let mut draw = order;
        while !race.is_over() {
            while running.len() < 4
                && let Some(runner) = race.take(0)
            {
                running.push((runner.steps(), runner));
            }
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let index = (draw >> 33) as usize % running.len();
            let (before, mut runner) = running.swap_remove(index);
            let progress = &mut runner.progress;
            progress.steps = Steps(progress.steps.0 + 1);
            let [loose, tight] = goals[runner.trial.index as usize];
            progress.reached.extend(
                [loose, tight]
                    .iter()
                    .filter_map(|&goal| (goal == progress.steps.0).then_some(progress.steps)),
            );
            let interval = match progress.steps.0 {
                steps if steps == tight => Interval::Ended(Outcome::Complete),
                50 => Interval::Ended(Outcome::Incomplete),
                _ => Interval::Open,
            };
            for (runner, outcome) in race.put(before, runner, interval) {
                let reached = runner.progress.reached.iter().map(|steps| steps.0).collect();
                ended.insert(runner.trial.index, (outcome, runner.steps().0, reached));
            }
        }
        (race.best().to_vec(), ended)
    }

    #[test]
    fn the_best_is_the_minimum_and_nobody_runs_past_it() {
        for order in 0..50 {
            let goals = [0, 9, 4, 30, 4, 5].map(|goal| [goal, goal]);
            let (best, ended) = race(&goals, order, true);
            assert_eq!(best, [Some(Steps(4)); 2]);
            assert_eq!(ended[&2], (Outcome::Complete, 4, vec![4, 4]));
            assert_eq!(ended[&4], (Outcome::Complete, 4, vec![4, 4]));
            for other in [0, 1, 3, 5] {
                assert_eq!(ended[&other], (Outcome::Outpaced, 4, vec![]), "order {order}");
            }
        }
    }

    #[test]
    fn a_trial_goes_on_as_long_as_it_could_be_the_best_in_one_of_the_goals() {
        for order in 0..50 {
            let (best, ended) = race(&[[3, 20], [5, 9], [0, 0], [4, 9], [7, 12]], order, true);
            assert_eq!(best, [Some(Steps(3)), Some(Steps(9))]);
            assert_eq!(ended[&0], (Outcome::Outpaced, 9, vec![3]), "order {order}");
            assert_eq!(ended[&1], (Outcome::Complete, 9, vec![5, 9]));
            assert_eq!(ended[&2], (Outcome::Outpaced, 9, vec![]));
            assert_eq!(ended[&3], (Outcome::Complete, 9, vec![4, 9]));
            assert_eq!(ended[&4], (Outcome::Outpaced, 9, vec![7]));
        }
    }

    #[test]
    fn without_a_race_each_comes_to_its_own_end_and_the_best_is_the_same() {
        let goals = [[3, 20], [5, 9], [0, 0], [4, 9]];
        let (best, ended) = race(&goals, 3, false);
        assert_eq!(best, [Some(Steps(3)), Some(Steps(9))]);
        let ends: Vec<u64> = ended.values().map(|(_, steps, _)| *steps).collect();
        assert_eq!(ends, [20, 9, 50, 9]);
    }

    #[test]
    fn without_a_winner_all_use_up_their_budget() {
        let (best, ended) = race(&[[0, 0]; 3], 1, true);
        assert_eq!(best, [None; 2]);
        assert!(ended.values().all(|end| *end == (Outcome::Incomplete, 50, vec![])));
    }

    #[test]
    fn a_known_best_bounds_those_who_come_later() {
        let study = builtin::study("quickstart").unwrap();
        let cell = Cell { batch_size: BatchSize(8), sparsity: Sparsity::DENSE };
        let mut race = Race::new(cell, vec![study.trial(cell, 3)], vec![Some(Steps(2))], true);
        for steps in 1..=2 {
            let mut runner = race.take(0).unwrap();
            runner.progress.steps = Steps(steps);
            let over = race.put(Steps(steps - 1), runner, Interval::Open);
            assert_eq!(over.len(), usize::from(steps == 2));
        }
        assert!(race.is_over());
    }
}
