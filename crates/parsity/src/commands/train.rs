//! `parsity train`: one training run.

use super::setup::{Ready, set_up};
use super::{print, print_json};
use crate::arguments::{OrderArgument, Train};
use crate::failure::{End, WrongRequest};
use crate::interrupt;
use crate::words::{duration, grouped, things};
use anyhow::Context;
use parsity_engine::{Batches, Order, Program, Session};
use parsity_lab::{Validation, lower_optimizer, lower_schedule, save_weights};
use parsity_study::{Metaparameters, Schedule, Steps};
use serde::Serialize;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

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
    let mut log = arguments.log.as_ref().map(|path| open_log(path)).transpose()?;
    let Some(ready) = set_up(&arguments.setup)? else { return Ok(End::Interrupted) };
    let Ready { bench, parameters, pattern, mut team } = ready;
    let program = Arc::new(Program::new(Arc::clone(&bench.network), Arc::new(pattern)));
    let order = match arguments.order {
        OrderArgument::Shuffled => Order::Shuffled { seed: arguments.data_seed },
        OrderArgument::Sequential => Order::Sequential,
    };
    let schedule =
        if arguments.decay_steps.is_some() { Schedule::LinearDecay } else { Schedule::Constant };
    let mut session = Session::new(
        Arc::clone(&program),
        Arc::clone(&bench.material),
        &parameters,
        lower_optimizer(arguments.optimizer, &point),
        lower_schedule(schedule, &point),
        Batches::new(Arc::clone(&bench.train), arguments.batch_size.0 as usize, order),
    );
    if !arguments.setup.json {
        print(format!(
            "{} of {} parameters, {} training and {} validation examples, {}",
            grouped(program.pattern().len() as u64),
            grouped(program.pattern().parameters() as u64),
            grouped(bench.train.len() as u64),
            grouped(bench.validation.len() as u64),
            things(team.size() as u64, "thread"),
        ))?;
    }
    let mut validation = bench.validation.clone();
    let begin = Instant::now();
    let stop = interrupt::flag();
    let (mut losses, mut since, mut last) = (0.0, 0u64, None);
    let outcome = loop {
        let loss = session.step(&mut team);
        (losses, since) = (losses + loss, since + 1);
        let step = session.steps();
        let over = step == arguments.steps;
        if loss.is_finite() && !step.is_multiple_of(arguments.check_every) && !over {
            if stop.load(Ordering::Relaxed) {
                break Outcome::Interrupted;
            }
            continue;
        }
        let error = (loss.is_finite() && !validation.is_empty()).then(|| {
            session.count_errors(&mut validation, &mut team) as f64 / validation.len() as f64
        });
        let line = Line {
            step,
            loss: losses / since as f64,
            error,
            seconds: begin.elapsed().as_secs_f64(),
        };
        (losses, since, last) = (0.0, 0, Some(line));
        tell(&line, log.as_mut(), arguments)?;
        let reached =
            arguments.goal_error.is_some_and(|goal| error.is_some_and(|error| error <= goal));
        if !loss.is_finite() {
            break Outcome::Infeasible;
        } else if reached {
            break Outcome::Complete;
        } else if over {
            break if arguments.goal_error.is_some() {
                Outcome::Incomplete
            } else {
                Outcome::Trained
            };
        } else if stop.load(Ordering::Relaxed) {
            break Outcome::Interrupted;
        }
    };
    if let (Some(log), Some(path)) = (&mut log, &arguments.log) {
        log.flush().with_context(|| format!("writing {}", path.display()))?;
    }
    if let Some(path) = &arguments.setup.save {
        save_weights(&bench.network, program.pattern(), session.weights(), path)?;
    }
    conclude(arguments, outcome, session.steps(), begin.elapsed().as_secs_f64(), last)
}

fn open_log(path: &std::path::Path) -> anyhow::Result<BufWriter<File>> {
    let file = File::create(path).with_context(|| format!("writing {}", path.display()))?;
    Ok(BufWriter::new(file))
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

fn tell(line: &Line, log: Option<&mut BufWriter<File>>, arguments: &Train) -> anyhow::Result<()> {
    if let Some(log) = log {
        let written = serde_json::to_writer(&mut *log, line).map_err(std::io::Error::from);
        written.and_then(|()| writeln!(log)).context("writing the log")?;
    }
    if !arguments.setup.json {
        let error = line.error.map_or(String::new(), |error| format!("  error {error:.4}"));
        let (step, loss, seconds) = (grouped(line.step), line.loss, duration(line.seconds));
        print(format!("step {step:>9}  loss {loss:<10.5}{error}  {seconds}"))?;
    }
    Ok(())
}

fn conclude(
    arguments: &Train,
    outcome: Outcome,
    steps: u64,
    seconds: f64,
    last: Option<Line>,
) -> anyhow::Result<End> {
    let rate = steps as f64 * f64::from(arguments.batch_size.0) / seconds;
    if arguments.setup.json {
        print_json(&serde_json::json!({
            "outcome": outcome, "steps": steps, "seconds": seconds, "images_per_second": rate,
            "loss": last.map(|line| line.loss), "error": last.and_then(|line| line.error),
        }))?;
    } else {
        let end = match outcome {
            Outcome::Complete => "complete: the goal was reached",
            Outcome::Incomplete => "incomplete: the goal was not reached",
            Outcome::Infeasible => "infeasible: the loss is not finite any more",
            Outcome::Interrupted => "interrupted",
            Outcome::Trained => "done",
        };
        let (steps, seconds) = (grouped(steps), duration(seconds));
        print(format!(
            "{end} after {steps} steps and {seconds} ({} images/s)",
            grouped(rate as u64)
        ))?;
        if let Some(path) = &arguments.setup.save {
            print(format!("Written: {}", path.display()))?;
        }
    }
    Ok(if outcome == Outcome::Interrupted { End::Interrupted } else { End::Done })
}
