//! Watching the smoothness of a training: a trial is trained as in a study, and looked at
//! every so many steps.
//!
//! Apart from running a study: nothing is raced, there is no goal, and a measurement costs
//! more than the steps between two of them.

use crate::bench::Bench;
use crate::error::LabError;
use crate::starts::Starts;
use crate::store::Store;
use parsity_engine::{Session, Team};
use parsity_study::{ErrorRate, GradientNorms, SmoothnessPoint, SmoothnessRun, Steps, Trial};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// The description of the run that watches `trial`, with no points yet.
fn describe(trial: &Trial) -> SmoothnessRun {
    SmoothnessRun {
        dataset: trial.workload.dataset.clone(),
        model: trial.workload.model.name.clone(),
        optimizer: trial.workload.optimizer,
        metaparameters: trial.metaparameters,
        batch_size: trial.cell.batch_size,
        sparsity: trial.cell.sparsity,
        seed: trial.seed(),
        points: Vec::new(),
    }
}

/// The steps at which the run that watches `trial` has its points: 0 and every
/// `check_every` up to the step budget. A run that diverges has fewer.
pub fn smoothness_steps(trial: &Trial) -> impl Iterator<Item = Steps> + use<> {
    let every = trial.workload.check_every.at(trial.cell.batch_size).0;
    (0..=trial.workload.step_budget.0).step_by(every as usize).map(Steps)
}

/// All that the run that watches `trial` follows from: the trial and the data set.
fn origin(trial: &Trial, bench: &Bench) -> String {
    format!("{} {}", trial.id(), bench.fingerprint)
}

/// The run that watches `trial`, if it is in the store.
pub fn watched_smoothness(
    trial: &Trial,
    bench: &Bench,
    store: &Store,
) -> Result<Option<SmoothnessRun>, LabError> {
    Ok(store.smoothness_from(&origin(trial, bench))?)
}

/// Trains `trial` to its step budget, looks at its smoothness at step 0 and at every goal
/// check, and keeps what was seen in `store`. `seen` is called at each point; raising `stop`
/// ends it soon, with `None`, and nothing is kept. Goals are not looked at. The run ends
/// early where something is not finite any more.
pub fn watch_smoothness(
    trial: &Trial,
    bench: &Bench,
    store: &mut Store,
    team: &mut Team,
    stop: &AtomicBool,
    seen: &mut dyn FnMut(&SmoothnessPoint),
) -> Result<Option<SmoothnessRun>, LabError> {
    let go_on = || !stop.load(Ordering::Relaxed);
    let session = {
        let store = Mutex::new(&mut *store);
        Starts::new(bench, &store).session(trial, team, &go_on)?
    };
    let Some(mut session) = session else { return Ok(None) };
    let mut run = describe(trial);
    for step in smoothness_steps(trial) {
        let mut finite = true;
        while finite && session.steps() < step.0 {
            if !go_on() {
                return Ok(None);
            }
            finite = session.step(team).is_finite();
        }
        if !finite {
            break;
        }
        let Some(point) = look(&mut session, trial.seed(), bench, team, &go_on) else {
            return Ok(None);
        };
        if !is_finite(&point) {
            break;
        }
        seen(&point);
        run.points.push(point);
    }
    store.keep_smoothness(&origin(trial, bench), &run)?;
    Ok(Some(run))
}

/// What is to be seen where `session` stands; `None` if stopped.
fn look(
    session: &mut Session,
    seed: u64,
    bench: &Bench,
    team: &mut Team,
    go_on: &dyn Fn() -> bool,
) -> Option<SmoothnessPoint> {
    let seen = session.smoothness(seed, team, go_on)?;
    let mut validation = bench.validation.clone();
    let errors = session.count_errors(&mut validation, team);
    Some(SmoothnessPoint {
        step: Steps(session.steps()),
        lipschitz: seen.lipschitz,
        loss: seen.loss,
        error: ErrorRate(errors as f64 / validation.len() as f64),
        norms: GradientNorms {
            small_batch: seen.norms.small_batch as f64,
            small: seen.norms.small,
            big_batch: seen.norms.big_batch as f64,
            big: seen.norms.big,
        },
    })
}

fn is_finite(point: &SmoothnessPoint) -> bool {
    let SmoothnessPoint { lipschitz, loss, norms, .. } = point;
    [*lipschitz, *loss, norms.small, norms.big].iter().all(|number| number.is_finite())
}
