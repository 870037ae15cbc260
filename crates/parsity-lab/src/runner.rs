//! A trial on its way: started or taken up again, trained from goal check to goal check,
//! laid down when there is no room for it.

use crate::bench::Bench;
use crate::checkpoint::{Checkpoint, Progress, digest_of};
use crate::error::LabError;
use crate::goal_check::GoalCheck;
use crate::run::Measures;
use parsity_engine::{Session, Team};
use parsity_study::{Observation, Outcome, Protocol, Record, Steps, Trial, TrialId};
use std::time::{Duration, Instant};

/// A trial in a race.
#[derive(Debug)]
pub(crate) struct Runner {
    pub(crate) trial: Trial,
    pub(crate) progress: Progress,
    /// What was done when it was advanced last.
    pub(crate) work: Work,
    /// `None` before it starts, and while it waits on disk.
    awake: Option<Awake>,
    /// The group of ranks that it is awake on, if not here.
    pub(crate) home: Option<usize>,
    /// SHA-256 of its weights when it was laid down.
    pub(crate) digest: Option<String>,
    /// Whether a checkpoint may tell more about it than it knows.
    pub(crate) unread: bool,
    /// The steps at which its checkpoint stands.
    saved: Steps,
    /// When it was saved, or began.
    since: Instant,
}

/// What was done in an interval.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Work {
    /// Training steps.
    pub(crate) steps: u64,
    /// Images looked at in the goal check, and for a proof.
    pub(crate) evaluated: u64,
}

/// The part of a trial that takes memory.
#[derive(Debug)]
struct Awake {
    session: Session,
    check: GoalCheck,
}

/// How an interval ended for a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interval {
    /// It goes on.
    Open,
    /// It is over.
    Ended(Outcome),
}

/// Where a trial's start comes from, and where its checkpoints are: files beside the store, or
/// rank 0, which has them.
pub(crate) trait Shelf: Sync {
    /// The session of `trial`, at step 0; `None` if `go_on` said no on the way.
    fn session(
        &self,
        trial: &Trial,
        team: &mut Team,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<Session>, LabError>;

    /// The checkpoint of a trial, if there is one that is whole.
    fn load(&self, trial: TrialId) -> Option<Checkpoint>;

    /// Keeps the checkpoint of a trial, instead of an older one.
    fn save(&self, trial: TrialId, checkpoint: &Checkpoint) -> Result<(), LabError>;
}

/// What a trial needs to be trained.
pub(crate) struct Means<'a> {
    pub(crate) shelf: &'a dyn Shelf,
    pub(crate) bench: &'a Bench,
    /// How often a trial is saved.
    pub(crate) save_every: Duration,
    pub(crate) measures: Measures,
    pub(crate) go_on: &'a (dyn Fn() -> bool + Sync),
}

impl Runner {
    /// A trial that has not run yet; a checkpoint of it may be there.
    pub(crate) fn new(trial: Trial) -> Self {
        Runner {
            trial,
            progress: Progress::default(),
            work: Work::default(),
            awake: None,
            home: None,
            digest: None,
            unread: true,
            saved: Steps(0),
            since: Instant::now(),
        }
    }

    /// Its steps so far.
    pub(crate) fn steps(&self) -> Steps {
        self.progress.steps
    }

    /// Bytes that it holds besides its observations.
    pub(crate) fn bytes(&self) -> usize {
        self.awake.as_ref().map_or(0, |awake| {
            awake.session.bytes() + awake.check.images.capacity() * size_of::<u32>()
        })
    }

    /// Trains it to its next goal check, and checks; `None` if it was stopped on the way. One
    /// that was just taken up again is not trained yet, so that its race sees where it is.
    pub(crate) fn advance(
        &mut self,
        means: &Means<'_>,
        team: &mut Team,
    ) -> Result<Option<Interval>, LabError> {
        let begin = Instant::now();
        self.work = Work::default();
        if self.awake.is_none() {
            if !self.wake(means, team)? {
                return Ok(None);
            }
            if std::mem::take(&mut self.unread) && self.steps() > Steps(0) {
                return Ok(Some(Interval::Open));
            }
        }
        let trained = self.train(means, team)?;
        let interval = trained.map(|finite| match finite {
            true => match self.check(means, team) {
                Interval::Open if self.has_collapsed(means, team) => {
                    Interval::Ended(Outcome::Collapsed)
                }
                interval => interval,
            },
            false => Interval::Ended(Outcome::Infeasible),
        });
        self.progress.seconds += begin.elapsed().as_secs_f64();
        if interval.is_none() {
            self.save(means.shelf)?;
        }
        Ok(interval)
    }

    /// Starts it, or takes it up where its checkpoint stands; false if stopped on the way.
    fn wake(&mut self, means: &Means<'_>, team: &mut Team) -> Result<bool, LabError> {
        let Some(session) = means.shelf.session(&self.trial, team, means.go_on)? else {
            return Ok(false);
        };
        let awake =
            self.awake.insert(Awake { session, check: GoalCheck::new(&means.bench.validation) });
        let Some(kept) = means.shelf.load(self.trial.id()) else {
            // Whatever it had been, it begins again.
            (self.progress, self.saved) = (Progress::default(), Steps(0));
            return Ok(true);
        };
        let fits = kept.check.images.len() == awake.check.images.len();
        if fits && awake.session.resume(kept.progress.steps.0, &kept.weights, &kept.velocity) {
            awake.check = kept.check;
            self.saved = kept.progress.steps;
            self.progress = kept.progress;
        }
        Ok(true)
    }

    /// Trains to the next goal check. Whether the loss is still finite; `None` if stopped.
    fn train(&mut self, means: &Means<'_>, team: &mut Team) -> Result<Option<bool>, LabError> {
        let every = self.interval();
        loop {
            if !(means.go_on)() {
                return Ok(None);
            }
            let Some(awake) = &mut self.awake else { return Ok(None) };
            let loss = awake.session.step(team);
            self.progress.steps = Steps(awake.session.steps());
            self.work.steps += 1;
            if !loss.is_finite() {
                return Ok(Some(false));
            }
            self.progress.losses += loss;
            if self.progress.steps.0.is_multiple_of(every) {
                return Ok(Some(true));
            }
            self.save_if_due(means)?;
        }
    }

    fn interval(&self) -> u64 {
        self.trial.workload.check_every.at(self.trial.cell.batch_size).0
    }

    fn check(&mut self, means: &Means<'_>, team: &mut Team) -> Interval {
        let (every, workload) = (self.interval(), &self.trial.workload);
        let goals = &workload.goal_errors;
        let open = goals.get(self.progress.reached.len()).copied();
        let Some(awake) = &mut self.awake else { return Interval::Open };
        let bound = open.filter(|_| means.measures.bounded_checks);
        let verdict = awake.check.check(&mut awake.session, bound, team);
        let Progress { steps, losses, reached, evaluated, observations, .. } = &mut self.progress;
        *evaluated += verdict.seen as u64;
        self.work.evaluated = verdict.seen as u64;
        let loss = std::mem::take(losses) / every as f64;
        let (error, exact) = (verdict.error, verdict.exact);
        observations.push(Observation { step: *steps, loss, error, exact });
        let more = goals[reached.len()..].iter().take_while(|&&goal| exact && error <= goal);
        reached.extend(more.map(|_| *steps));
        if reached.len() == goals.len() {
            Interval::Ended(Outcome::Complete)
        } else if steps.0 + every > workload.step_budget.0 {
            Interval::Ended(Outcome::Incomplete)
        } else {
            Interval::Open
        }
    }

    /// Whether it is proved that it will never reach its next goal: the network is dead, and
    /// says the same of every image. The proof is sought four times per epoch, at steps that
    /// depend on nothing but the trial; mostly the first images show that it lives.
    fn has_collapsed(&mut self, means: &Means<'_>, team: &mut Team) -> bool {
        let (every, steps) = (self.interval(), self.progress.steps.0);
        let images = |steps: u64| steps * u64::from(self.trial.cell.batch_size.0);
        let quarters = |steps: u64| images(steps) * 4 / means.bench.train.len() as u64;
        let is_due = quarters(steps) > quarters(steps - every);
        let goals = &self.trial.workload.goal_errors;
        let next = goals.get(self.progress.reached.len());
        let out_of_reach = next.is_some_and(|goal| *goal < means.bench.constant_error);
        let Some(awake) = &mut self.awake else { return false };
        if !(means.measures.proofs && is_due && out_of_reach) {
            return false;
        }
        let (collapsed, seen) = awake.session.has_collapsed(&means.bench.validation, team);
        self.progress.evaluated += seen as u64;
        self.work.evaluated += seen as u64;
        collapsed
    }

    /// Saves it, if that was long ago.
    pub(crate) fn save_if_due(&mut self, means: &Means<'_>) -> Result<(), LabError> {
        if self.since.elapsed() < means.save_every {
            return Ok(());
        }
        self.save(means.shelf)
    }

    /// Saves it, unless its checkpoint tells all.
    pub(crate) fn save(&mut self, shelf: &dyn Shelf) -> Result<(), LabError> {
        self.since = Instant::now();
        let Some(Awake { session, check }) = &self.awake else { return Ok(()) };
        if self.saved == self.progress.steps {
            return Ok(());
        }
        self.saved = self.progress.steps;
        let (weights, velocity) = (session.weights().to_vec(), session.velocity().to_vec());
        let (progress, check) = (self.progress.clone(), check.clone());
        shelf.save(self.trial.id(), &Checkpoint { progress, weights, velocity, check })
    }

    /// Saves it and gives its memory back.
    pub(crate) fn park(&mut self, shelf: &dyn Shelf) -> Result<(), LabError> {
        self.save(shelf)?;
        self.digest = self.digest();
        self.awake = None;
        Ok(())
    }

    /// SHA-256 of its weights, if it ever started.
    pub(crate) fn digest(&self) -> Option<String> {
        let awake = self.awake.as_ref();
        awake.map(|awake| digest_of(awake.session.weights())).or_else(|| self.digest.clone())
    }

    pub(crate) fn into_record(self, protocol: Protocol, outcome: Outcome) -> Record {
        let weights = self.digest();
        let Progress { steps, reached, evaluated, seconds, observations, .. } = self.progress;
        Record {
            cell: self.trial.cell,
            trial: self.trial.index,
            metaparameters: self.trial.metaparameters,
            protocol,
            outcome,
            steps,
            reached,
            evaluated,
            seconds,
            weights,
            observations,
        }
    }
}
