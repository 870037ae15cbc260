//! The heartbeat of a run: what it trains right now, and how fast, for whoever watches.
//!
//! Records are written when trials end, which may take hours. In between a run leaves a
//! heartbeat in the store, at most once a second, from a thread of its own. Workers only take
//! note of an interval they have trained; whether anything was written, or anybody reads it,
//! does not concern them.

use crate::runner::Runner;
use crate::store::{Pulse, StoredStudy};
use parsity_study::{Cell, Observation, Steps};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The shortest time between two heartbeats.
const SHORTEST: Duration = Duration::from_secs(1);
/// The longest: even if nothing happened, the run lives.
const LONGEST: Duration = Duration::from_secs(5);
/// After this long without a heartbeat, nobody expects another one.
const SILENCE: f64 = 15.0;
/// Trials whose goal checks are told: those nearest to the goal.
const LEADERS: usize = 16;
/// Goal checks that are told of each, evenly spread over its training.
const CHECKS: usize = 100;
/// Trials that are told at all.
const TOLD: usize = 400;
/// How far back the pace is looked at.
const PACE_OVER: Duration = Duration::from_secs(30);

/// What a run does right now, or did when it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Heartbeat {
    /// The process of the run.
    pub pid: u32,
    /// When the run began, in seconds since 1970.
    pub since: f64,
    /// When this was written, in seconds since 1970.
    pub at: f64,
    /// Whether the run has ended.
    pub ended: bool,
    /// Trials that it trains at the same time.
    pub threads: usize,
    /// Images it has trained on.
    pub trained: u64,
    /// Images it has looked at in goal checks.
    pub evaluated: u64,
    /// Images that it trains on per second, of late.
    pub images_per_second: f64,
    /// Trials under way, those nearest to the goal first.
    pub trials: Vec<RunningTrial>,
}

/// A trial under way. Its goal checks are told in columns of equal length; if it is not one of
/// the nearest to the goal, only the last one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunningTrial {
    /// Its cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// Its index in the cell.
    pub trial: u32,
    /// Its steps so far.
    pub steps: Steps,
    /// Seconds of computing so far.
    pub seconds: f64,
    /// The steps at its goal checks.
    pub step: Vec<u64>,
    /// The mean training loss before each.
    pub loss: Vec<f32>,
    /// The validation error at each, or a lower bound of it.
    pub error: Vec<f32>,
}

impl Heartbeat {
    /// Whether the run is alive at `now`, in seconds since 1970.
    pub fn is_alive(&self, now: f64) -> bool {
        !self.ended && now - self.at < SILENCE
    }
}

/// Seconds since 1970.
pub fn seconds_since_1970() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |it| it.as_secs_f64())
}

/// Takes note of what a run does, and beats.
#[derive(Debug, Default)]
pub(crate) struct Heart {
    state: Mutex<State>,
    change: Condvar,
}

#[derive(Debug, Default)]
struct State {
    trained: u64,
    evaluated: u64,
    /// Images trained on so far, and when.
    pace: VecDeque<(Instant, u64)>,
    trials: BTreeMap<(Cell, u32), Trace>,
    changed: bool,
    over: bool,
}

/// What is kept of a trial under way.
#[derive(Debug)]
struct Trace {
    steps: Steps,
    seconds: f64,
    /// Goal checks so far.
    checks: usize,
    /// Of so many goal checks one is kept.
    stride: usize,
    kept: Vec<Observation>,
    last: Option<Observation>,
}

impl Default for Trace {
    fn default() -> Self {
        let (steps, seconds) = (Steps(0), 0.0);
        Trace { steps, seconds, checks: 0, stride: 1, kept: Vec::new(), last: None }
    }
}

impl Trace {
    /// Takes over the goal checks that were made since the last time.
    fn extend(&mut self, observations: &[Observation]) {
        if observations.len() < self.checks {
            // It was begun again.
            *self = Trace::default();
        }
        for &seen in &observations[self.checks..] {
            if self.checks.is_multiple_of(self.stride) {
                self.kept.push(seen);
            }
            if self.kept.len() == CHECKS {
                let mut keep = false;
                self.kept.retain(|_| {
                    keep = !keep;
                    keep
                });
                self.stride *= 2;
            }
            self.checks += 1;
            self.last = Some(seen);
        }
    }

    /// How near to a goal it is; infinitely far before the first goal check.
    fn error(&self) -> f64 {
        self.last.map_or(f64::INFINITY, |seen| seen.error.0)
    }

    /// As it is told: with all that was kept, or with the last goal check only.
    fn tell(&self, (cell, trial): (Cell, u32), whole: bool) -> RunningTrial {
        let kept = if whole { &self.kept[..] } else { &[] };
        let last = self.last.filter(|last| kept.last().is_none_or(|it| it.step != last.step));
        let told: Vec<Observation> = kept.iter().copied().chain(last).collect();
        RunningTrial {
            cell,
            trial,
            steps: self.steps,
            seconds: self.seconds,
            step: told.iter().map(|it| it.step.0).collect(),
            loss: told.iter().map(|it| it.loss as f32).collect(),
            error: told.iter().map(|it| it.error.0 as f32).collect(),
        }
    }
}

impl State {
    /// Images trained on per second, of late. Long intervals bring many at once, so at least
    /// the last one of them counts.
    fn images_per_second(&mut self, now: Instant) -> f64 {
        while self.pace.len() > 2 && now - self.pace[1].0 > PACE_OVER {
            self.pace.pop_front();
        }
        let (Some(first), Some(last)) = (self.pace.front(), self.pace.back()) else { return 0.0 };
        let seconds = (last.0 - first.0).as_secs_f64();
        if seconds > 0.0 { (last.1 - first.1) as f64 / seconds } else { 0.0 }
    }

    /// Trials under way, those nearest to the goal first.
    fn tell_trials(&self) -> Vec<RunningTrial> {
        let mut all: Vec<_> = self.trials.iter().collect();
        all.sort_by(|a, b| a.1.error().total_cmp(&b.1.error()));
        let told = all.iter().take(TOLD).enumerate();
        told.map(|(rank, (key, trace))| trace.tell(**key, rank < LEADERS)).collect()
    }
}

impl Heart {
    /// A run begins.
    pub(crate) fn new() -> Self {
        let heart = Heart::default();
        heart.lock().pace.push_back((Instant::now(), 0));
        heart
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A trial has trained one more interval.
    pub(crate) fn note(&self, runner: &Runner) {
        let mut state = self.lock();
        let cell = runner.trial.cell;
        state.trained += runner.work.steps * u64::from(cell.batch_size.0);
        state.evaluated += runner.work.evaluated;
        let so_far = (Instant::now(), state.trained);
        // Short intervals would fill it: a few points per second tell as much.
        let is_close = |it: &(Instant, u64)| so_far.0 - it.0 < SHORTEST / 4;
        let close = state.pace.len() > 2 && state.pace.iter().nth_back(1).is_some_and(is_close);
        if close {
            state.pace.pop_back();
        }
        state.pace.push_back(so_far);
        let trace = state.trials.entry((cell, runner.trial.index)).or_default();
        trace.extend(&runner.progress.observations);
        (trace.steps, trace.seconds) = (runner.steps(), runner.progress.seconds);
        state.changed = true;
    }

    /// A trial is over.
    pub(crate) fn forget(&self, cell: Cell, trial: u32) {
        let mut state = self.lock();
        state.trials.remove(&(cell, trial));
        state.changed = true;
    }

    /// Beats into the store at `path` while `work` is done on so many threads, and once more
    /// when it is over.
    pub(crate) fn beat_while(
        &self,
        path: &Path,
        study: &StoredStudy,
        threads: usize,
        work: impl FnOnce(),
    ) {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                if let Some(pulse) = Pulse::of(path, study) {
                    self.beat(&pulse, threads);
                }
            });
            work();
            self.lock().over = true;
            self.change.notify_all();
        });
    }

    fn beat(&self, pulse: &Pulse, threads: usize) {
        let since = seconds_since_1970();
        let mut last = Instant::now();
        loop {
            let heartbeat = {
                let mut state = self.lock();
                state.changed = false;
                Heartbeat {
                    pid: std::process::id(),
                    since,
                    at: seconds_since_1970(),
                    ended: state.over,
                    threads,
                    trained: state.trained,
                    evaluated: state.evaluated,
                    images_per_second: state.images_per_second(last),
                    trials: state.tell_trials(),
                }
            };
            pulse.write(&heartbeat);
            if heartbeat.ended {
                return;
            }
            self.wait(&mut last);
        }
    }

    /// Waits until the next heartbeat is due.
    fn wait(&self, last: &mut Instant) {
        let mut state = self.lock();
        while !state.over {
            let since = last.elapsed();
            if since >= LONGEST || (since >= SHORTEST && state.changed) {
                break;
            }
            let rest = if since < SHORTEST { SHORTEST - since } else { SHORTEST };
            state = match self.change.wait_timeout(state, rest) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
        *last = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parsity_study::{BatchSize, ErrorRate, Sparsity};

    fn observations(count: u64) -> Vec<Observation> {
        let seen = |i: u64| Observation {
            step: Steps(16 * (i + 1)),
            loss: 1.0 / (i + 1) as f64,
            error: ErrorRate(0.5),
            exact: true,
        };
        (0..count).map(seen).collect()
    }

    fn told(trace: &Trace, whole: bool) -> RunningTrial {
        let cell = Cell { batch_size: BatchSize(8), sparsity: Sparsity::DENSE };
        trace.tell((cell, 3), whole)
    }

    #[test]
    fn a_long_training_is_told_from_its_first_to_its_last_goal_check_in_few_points() {
        let all = observations(5_003);
        let mut trace = Trace::default();
        for count in [1, 2, 99, 100, 101, 4_000, 5_003] {
            trace.extend(&all[..count]);
            let told = told(&trace, true);
            assert!(told.step.len() <= CHECKS, "{}", told.step.len());
            assert_eq!((told.step[0], *told.step.last().unwrap()), (16, 16 * count as u64));
            let gaps: Vec<u64> = told.step.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let even = gaps.iter().rev().skip(1).all(|gap| *gap == gaps[0]);
            assert!(even && told.loss.len() == told.step.len(), "{gaps:?}");
        }
        assert_eq!(told(&trace, false).step, [16 * 5_003]);
    }

    #[test]
    fn a_trial_that_is_begun_again_is_told_anew() {
        let mut trace = Trace::default();
        trace.extend(&observations(40));
        trace.extend(&observations(2));
        assert_eq!(told(&trace, true).step, [16, 32]);
    }

    #[test]
    fn a_run_is_alive_until_it_ended_or_was_silent_for_long() {
        let mut heartbeat = Heartbeat {
            pid: 1,
            since: 0.0,
            at: 100.0,
            ended: false,
            threads: 1,
            trained: 0,
            evaluated: 0,
            images_per_second: 0.0,
            trials: Vec::new(),
        };
        assert!(heartbeat.is_alive(110.0) && !heartbeat.is_alive(116.0));
        heartbeat.ended = true;
        assert!(!heartbeat.is_alive(101.0));
    }
}
