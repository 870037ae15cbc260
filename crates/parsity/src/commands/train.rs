//! `parsity train`: one training run, on one process or on several.

use super::setup::{Ready, set_up};
use super::{print, print_json, threads};
use crate::arguments::{OrderArgument, ReductionArgument, Train};
use crate::failure::{End, WrongRequest};
use crate::interrupt;
use crate::processes::{Processes, check_agreement};
use crate::words::{duration, grouped, kilobytes, things};
use anyhow::Context;
use parsity_engine::{Batches, Order, Program, Reduction, Session, Team, block_bytes};
use parsity_lab::{
    Bench, Validation, lower_optimizer, lower_schedule, resume_training, save_training,
    save_weights,
};
use parsity_study::{Metaparameters, Schedule, Steps, TrialId};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// What was seen at a goal check.
#[derive(Debug, Clone, Copy, Serialize)]
struct Line {
    step: u64,
    /// Mean training loss since the last line.
    loss: f64,
    /// Validation error; null without a validation split.
    error: Option<f64>,
    seconds: f64,
}

/// How the run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Outcome {
    Complete,
    Incomplete,
    Infeasible,
    Interrupted,
    /// No goal was set.
    Trained,
}

pub(crate) fn train(arguments: &Train) -> anyhow::Result<End> {
    let point = metaparameters(arguments)?;
    let mut processes = Processes::join(1)?;
    let reduction = match arguments.reduction {
        ReductionArgument::Exact => Reduction::Exact,
        ReductionArgument::Fast => Reduction::Fast,
    };
    let team = processes.team(threads(arguments.setup.threads), reduction);
    // Several processes must stop at the same step: a Ctrl-C is their launcher's business.
    let alone = processes.size == 1;
    let go_on = || !alone || !interrupt::flag().load(Ordering::Relaxed);
    let log = arguments.log.as_deref().filter(|_| processes.speaks());
    let log = log.map(Log::open).transpose()?;
    let Some(ready) = set_up(&arguments.setup, team, &go_on)? else {
        return Ok(End::Interrupted);
    };
    let mut run = Run::new(arguments, &point, ready, log, processes)?;
    run.introduce()?;
    let outcome = run.train(&go_on)?;
    run.conclude(outcome)
}

/// A training run on its way.
struct Run<'a> {
    arguments: &'a Train,
    processes: Processes,
    bench: Bench,
    team: Team,
    session: Session,
    id: TrialId,
    validation: Vec<u32>,
    log: Option<Log>,
    begin: Instant,
    saved: Instant,
    /// The step it was taken up at.
    from: u64,
    /// Bytes that had been sent by then, for pruning and agreement.
    sent: u64,
    /// The sum of losses since the last goal check.
    losses: f64,
    last: Option<Line>,
}

impl<'a> Run<'a> {
    fn new(
        arguments: &'a Train,
        point: &Metaparameters,
        ready: Ready,
        mut log: Option<Log>,
        processes: Processes,
    ) -> anyhow::Result<Self> {
        let Ready { bench, parameters, pattern, mut team } = ready;
        let order = match arguments.order {
            OrderArgument::Shuffled => Order::Shuffled { seed: arguments.data_seed },
            OrderArgument::Sequential => Order::Sequential,
        };
        let decays = arguments.decay_steps.is_some();
        let schedule = if decays { Schedule::LinearDecay } else { Schedule::Constant };
        let mut session = Session::new(
            Arc::new(Program::new(Arc::clone(&bench.network), Arc::new(pattern))),
            Arc::clone(&bench.material),
            &parameters,
            lower_optimizer(arguments.optimizer, point),
            lower_schedule(schedule, point),
            Batches::new(Arc::clone(&bench.train), arguments.batch_size.0 as usize, order),
        );
        let description = describe(arguments, &bench);
        let extent = (arguments.steps, arguments.check_every, arguments.goal_error);
        check_agreement(team.comm(), &digest(&format!("{description}{extent:?}")), "training")?;
        // What the network starts from, with all that survived pruning.
        let start =
            Sha256::digest(format!("{:?}{:?}", session.weights(), session.program().pattern()));
        check_agreement(team.comm(), &start, "survivors of pruning")?;
        let id = digest(&description);
        let id = TrialId(std::array::from_fn(|byte| id[byte]));
        let resumed = match &arguments.checkpoint {
            Some(path) => resume_training(path, id, &mut session)?,
            None => None,
        };
        let state = Sha256::digest(format!("{}{:?}", session.steps(), session.weights()));
        check_agreement(team.comm(), &state, "checkpoint")?;
        if let (Some(log), Some(_)) = (&mut log, resumed) {
            log.keep(session.steps())?;
        }
        let now = Instant::now();
        Ok(Run {
            arguments,
            processes,
            id,
            validation: bench.validation.clone(),
            from: session.steps(),
            sent: team.comm().map_or(0, |comm| comm.bytes_sent()),
            losses: resumed.unwrap_or(0.0),
            bench,
            team,
            session,
            log,
            begin: now,
            saved: now,
            last: None,
        })
    }

    /// Says what is going to happen.
    fn introduce(&self) -> anyhow::Result<()> {
        if self.arguments.setup.json || !self.processes.speaks() {
            return Ok(());
        }
        let pattern = self.session.program().pattern();
        let workers = match self.processes.size {
            1 => things(self.team.size() as u64, "thread"),
            more => {
                format!("{more} processes with {} each", things(self.team.size() as u64, "thread"))
            }
        };
        print(format!(
            "{} of {} parameters, {} training and {} validation examples, {workers}",
            grouped(pattern.len() as u64),
            grouped(pattern.parameters() as u64),
            grouped(self.bench.train.len() as u64),
            grouped(self.bench.validation.len() as u64),
        ))?;
        let numbers = |count: usize| kilobytes(count * size_of::<f32>());
        let block = block_bytes(&self.bench.network, self.arguments.batch_size.0 as usize);
        print(format!(
            "memory per process: weights {}, gradient {}, velocity {}, pattern {}, activations {}",
            numbers(pattern.len()),
            numbers(pattern.len()),
            numbers(self.session.velocity().len()),
            numbers(pattern.len()),
            kilobytes(block * self.team.size()),
        ))?;
        match self.from {
            0 => Ok(()),
            step => print(format!("goes on at step {}", grouped(step))),
        }
    }

    fn train(&mut self, go_on: &dyn Fn() -> bool) -> anyhow::Result<Outcome> {
        let Train { steps, check_every, goal_error, .. } = *self.arguments;
        while self.session.steps() < steps {
            let loss = self.session.step(&mut self.team);
            self.losses += loss;
            let step = self.session.steps();
            let over = step == steps;
            if loss.is_finite() && !step.is_multiple_of(check_every) && !over {
                if !go_on() {
                    return Ok(Outcome::Interrupted);
                }
                self.save_if_due()?;
                continue;
            }
            let error = self.check(loss)?;
            let reached = goal_error.is_some_and(|goal| error.is_some_and(|error| error <= goal));
            if !loss.is_finite() {
                return Ok(Outcome::Infeasible);
            } else if reached {
                return Ok(Outcome::Complete);
            } else if !over && !go_on() {
                return Ok(Outcome::Interrupted);
            }
            self.save_if_due()?;
        }
        Ok(if goal_error.is_some() { Outcome::Incomplete } else { Outcome::Trained })
    }

    /// A goal check, told and logged; `loss` is that of the last step.
    fn check(&mut self, loss: f64) -> anyhow::Result<Option<f64>> {
        let images = self.validation.len();
        let error = (loss.is_finite() && images > 0).then(|| {
            self.session.count_errors(&mut self.validation, &mut self.team) as f64 / images as f64
        });
        let step = self.session.steps();
        let since = match step % self.arguments.check_every {
            0 => self.arguments.check_every,
            some => some,
        };
        let line = Line {
            step,
            loss: std::mem::take(&mut self.losses) / since as f64,
            error,
            seconds: self.begin.elapsed().as_secs_f64(),
        };
        self.last = Some(line);
        if let Some(log) = &mut self.log {
            log.write(&serde_json::to_string(&line)?)?;
        }
        if self.processes.speaks() && !self.arguments.setup.json {
            let error = error.map_or(String::new(), |error| format!("  error {error:.4}"));
            let (step, loss, seconds) = (grouped(line.step), line.loss, duration(line.seconds));
            print(format!("step {step:>9}  loss {loss:<10.5}{error}  {seconds}"))?;
        }
        Ok(error)
    }

    fn save_if_due(&mut self) -> anyhow::Result<()> {
        let every = Duration::from_secs_f64(self.arguments.save_every);
        match self.saved.elapsed() < every {
            true => Ok(()),
            false => self.save(),
        }
    }

    fn save(&mut self) -> anyhow::Result<()> {
        self.saved = Instant::now();
        if let (Some(path), true) = (&self.arguments.checkpoint, self.processes.speaks()) {
            save_training(path, self.id, &self.session, self.losses)?;
        }
        Ok(())
    }

    /// Writes what was asked for, and says how it ended.
    fn conclude(mut self, outcome: Outcome) -> anyhow::Result<End> {
        if matches!(outcome, Outcome::Interrupted | Outcome::Trained | Outcome::Incomplete) {
            self.save()?;
        }
        let end = match outcome {
            Outcome::Interrupted => End::Interrupted,
            _ => End::Done,
        };
        if !self.processes.speaks() {
            return Ok(end);
        }
        let setup = &self.arguments.setup;
        if let Some(path) = &setup.save {
            let pattern = self.session.program().pattern();
            save_weights(&self.bench.network, pattern, self.session.weights(), path)?;
        }
        let (steps, seconds) = (self.session.steps(), self.begin.elapsed().as_secs_f64());
        let trained = steps - self.from;
        let rate = trained as f64 * f64::from(self.arguments.batch_size.0) / seconds;
        let bytes = self.team.comm().map(|comm| comm.bytes_sent());
        let bytes = bytes.map(|bytes| (bytes - self.sent) as f64 / trained.max(1) as f64);
        if setup.json {
            print_json(&serde_json::json!({
                "outcome": outcome, "steps": steps, "seconds": seconds, "images_per_second": rate,
                "loss": self.last.map(|line| line.loss),
                "error": self.last.and_then(|line| line.error),
                "processes": self.processes.size, "threads": self.team.size(),
                "bytes_sent_per_step": bytes,
            }))?;
            return Ok(end);
        }
        let words = match outcome {
            Outcome::Complete => "complete: the goal was reached",
            Outcome::Incomplete => "incomplete: the goal was not reached",
            Outcome::Infeasible => "infeasible: the loss is not finite any more",
            Outcome::Interrupted => "interrupted",
            Outcome::Trained => "done",
        };
        print(format!(
            "{words} after {} steps and {} ({} images/s)",
            grouped(steps),
            duration(seconds),
            grouped(rate as u64)
        ))?;
        if let Some(bytes) = bytes {
            print(format!("sent by the first process: {} per step", kilobytes(bytes as usize)))?;
        }
        if let Some(path) = &setup.save {
            print(format!("Written: {}", path.display()))?;
        }
        Ok(end)
    }
}

/// A line of JSON per goal check.
struct Log {
    path: PathBuf,
    file: File,
    /// What an earlier part of the training had written.
    earlier: String,
}

impl Log {
    fn open(path: &Path) -> anyhow::Result<Self> {
        let earlier = std::fs::read_to_string(path).unwrap_or_default();
        let file = File::create(path).with_context(|| format!("writing {}", path.display()))?;
        Ok(Log { path: path.to_owned(), file, earlier })
    }

    /// Keeps what was written up to `step`, where the training goes on.
    fn keep(&mut self, step: u64) -> anyhow::Result<()> {
        let of =
            |line: &str| serde_json::from_str::<serde_json::Value>(line).ok()?["step"].as_u64();
        for line in std::mem::take(&mut self.earlier).lines() {
            if of(line).is_some_and(|other| other <= step) {
                self.write(line)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, line: &str) -> anyhow::Result<()> {
        writeln!(self.file, "{line}").with_context(|| format!("writing {}", self.path.display()))
    }
}

/// All that can change a number of the training, but how long it goes on.
fn describe(arguments: &Train, bench: &Bench) -> String {
    let setup = &arguments.setup;
    let tensors = bench.network.tensors().iter().map(|tensor| (&tensor.name, &tensor.dims));
    format!(
        "parsity {} training\n{} {:?}\n{:?} {:?}\n{:?} {:?} {:?} {:?} {:?}\n{:?} {:?} {:?}\n{:?} {:?} {:?} {:?} {:?}\n",
        env!("CARGO_PKG_VERSION"),
        bench.fingerprint,
        setup.validation,
        setup.model,
        tensors.collect::<Vec<_>>(),
        arguments.optimizer,
        arguments.learning_rate,
        arguments.momentum,
        arguments.decay_steps,
        arguments.end_factor,
        arguments.batch_size,
        arguments.order,
        arguments.data_seed,
        setup.sparsity,
        setup.method,
        setup.keep_biases,
        setup.seed,
        setup.init,
    )
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

/// Checks what no parser of single arguments can see.
fn metaparameters(arguments: &Train) -> anyhow::Result<Metaparameters> {
    let wrong = |text: &str| Err(WrongRequest(text.to_owned()).into());
    match (arguments.optimizer.has_momentum(), arguments.momentum) {
        (true, None) => return wrong("this optimizer needs a momentum; add `--momentum 0.9`"),
        (false, Some(_)) => return wrong("sgd has no momentum; leave `--momentum` out"),
        _ => {}
    }
    if arguments.goal_error.is_some() && arguments.setup.validation == Validation::None {
        return wrong(
            "a goal error needs a validation split; leave out `--validation none` or `--goal-error`",
        );
    }
    Ok(Metaparameters {
        learning_rate: arguments.learning_rate,
        momentum: arguments.momentum,
        decay_steps: arguments.decay_steps.map(Steps),
        end_factor: arguments.end_factor,
    })
}
