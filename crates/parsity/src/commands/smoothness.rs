//! `parsity smoothness`: how fast the gradient changes along a training, by sparsity.

use super::{print, print_json, table, threads};
use crate::arguments::Smoothness;
use crate::failure::{End, WrongRequest};
use crate::interrupt;
use crate::words::{duration, grouped, significant, things};
use anstream::eprintln;
use parsity_analysis::{
    NoiseScale, SmoothnessSummary, Statement, Verdict, examine_smoothness, local_noise_scale,
    summarize_smoothness,
};
use parsity_data::Cache;
use parsity_engine::Team;
use parsity_lab::{
    Bench, Lock, Store, Validation, find_model, load_dataset, smoothness_steps, watch_smoothness,
    watched_smoothness,
};
use parsity_study::{
    CheckEvery, Pruning, Schedule, SmoothnessPoint, SmoothnessRun, Sparsity, Trial, Watching,
    Workload,
};
use std::path::Path;
use std::time::Instant;

/// The share held out for the validation error, as in every built-in study.
const VALIDATION_SHARE: f64 = 0.1;

pub(crate) fn smoothness(arguments: &Smoothness) -> anyhow::Result<End> {
    let watching = watching(arguments)?;
    let folder = Path::new(".");
    let workload = Workload {
        dataset: arguments.dataset.clone(),
        model: find_model(&arguments.model, folder)?,
        optimizer: arguments.optimizer,
        schedule: Schedule::Constant,
        goal_errors: Vec::new(),
        step_budget: watching.steps,
        check_every: CheckEvery::always(watching.every),
        data_seed: 0,
        validation_share: VALIDATION_SHARE,
    };
    let mut sparsities = arguments.sparsities.clone();
    sparsities.sort_unstable();
    sparsities.dedup();
    let trial = |&sparsity: &Sparsity| watching.trial(&workload, Pruning::default(), sparsity);
    let trials: Vec<Trial> = sparsities.iter().map(trial).collect();
    let dataset = load_dataset(&workload.dataset, folder, &Cache::of_user()?)?;
    let bench = Bench::new(&workload.model, dataset, Validation::Share(VALIDATION_SHARE))?;
    let path = &arguments.store.store;
    let _lock = Lock::take(path)?;
    let mut store = Store::open(path)?;
    let mut team = Team::new(threads(arguments.threads));
    let Some(runs) = watch_all(&trials, &bench, &mut store, &mut team)? else {
        eprintln!("stopped; trainings that were watched to their end are kept");
        return Ok(End::Interrupted);
    };
    let summaries = summarize_smoothness(&runs);
    let statement = examine_smoothness(&summaries);
    if arguments.json {
        print_json(&serde_json::json!({
            "runs": runs, "summaries": summaries, "statement": statement,
        }))?;
        return Ok(End::Done);
    }
    for (run, trial) in runs.iter().zip(&trials) {
        print(format!("{}\n{}", title(run, &bench), points(run)))?;
        if let Some(why) = ended_early(run, trial) {
            print(why)?;
        }
        print("")?;
    }
    print(averages(&summaries))?;
    print(conclusion(&summaries, &statement))?;
    print(format!("\nKept in {}", path.display()))?;
    Ok(End::Done)
}

/// Checks what no parser of single arguments can see.
fn watching(arguments: &Smoothness) -> anyhow::Result<Watching> {
    if arguments.momentum.is_some() && !arguments.optimizer.has_momentum() {
        return Err(WrongRequest("sgd has no momentum; leave `--momentum` out".to_owned()).into());
    }
    let usual = Watching::default();
    Ok(Watching {
        learning_rate: arguments.learning_rate,
        momentum: arguments.momentum,
        batch_size: arguments.batch_size.unwrap_or(usual.batch_size),
        steps: arguments.steps.map_or(usual.steps, parsity_study::Steps),
        every: arguments.every.map_or(usual.every, parsity_study::Steps),
        seed: arguments.seed,
    })
}

/// Watches those of `trials` that are not in the store yet, and tells what is seen on the
/// way; `None` if it was interrupted.
pub(crate) fn watch_all(
    trials: &[Trial],
    bench: &Bench,
    store: &mut Store,
    team: &mut Team,
) -> anyhow::Result<Option<Vec<SmoothnessRun>>> {
    let stop = interrupt::flag();
    let mut runs = Vec::with_capacity(trials.len());
    for trial in trials {
        let sparsity = trial.cell.sparsity;
        if let Some(run) = watched_smoothness(trial, bench, store)? {
            eprintln!("smoothness at {sparsity}: measured before");
            runs.push(run);
            continue;
        }
        let begin = Instant::now();
        let mut seen = |point: &SmoothnessPoint| {
            eprintln!(
                "smoothness at {sparsity}: step {} of {}, {}",
                grouped(point.step.0),
                grouped(trial.workload.step_budget.0),
                duration(begin.elapsed().as_secs_f64()),
            );
        };
        match watch_smoothness(trial, bench, store, team, stop, &mut seen)? {
            Some(run) => runs.push(run),
            None => return Ok(None),
        }
    }
    Ok(Some(runs))
}

fn title(run: &SmoothnessRun, bench: &Bench) -> String {
    let parameters = bench.network.parameters();
    let momentum = run.metaparameters.momentum;
    format!(
        "{} on {}, {} sparse ({} of {} parameters), {}, learning rate {}{}, batch size {}",
        run.model,
        run.dataset,
        run.sparsity,
        grouped(run.sparsity.survivors(parameters) as u64),
        grouped(parameters as u64),
        run.optimizer,
        significant(run.metaparameters.learning_rate),
        momentum.map_or(String::new(), |m| format!(", momentum {}", significant(m))),
        run.batch_size,
    )
}

fn points(run: &SmoothnessRun) -> String {
    let row = |point: &SmoothnessPoint| {
        [
            grouped(point.step.0),
            significant(point.lipschitz),
            significant(point.loss),
            significant(point.error.0),
            local_noise_scale(&point.norms).map_or("—".to_owned(), examples),
        ]
    };
    let headings = ["step", "Lipschitz constant", "loss", "error", "noise scale"];
    table(headings, 0, run.points.iter().map(row).collect())
}

fn ended_early(run: &SmoothnessRun, trial: &Trial) -> Option<String> {
    let next = smoothness_steps(trial).nth(run.points.len())?;
    let step = grouped(next.0);
    Some(format!("It diverged: at step {step} something is not finite any more."))
}

fn averages(summaries: &[SmoothnessSummary]) -> String {
    let none = || "—".to_owned();
    let interval = |noise: NoiseScale| {
        let scale = noise.scale;
        format!("{} to {}", examples(scale.low), examples(scale.high))
    };
    let row = |it: &SmoothnessSummary| {
        [
            it.sparsity.to_string(),
            it.lipschitz.map_or_else(none, significant),
            it.ratio.map_or_else(none, |ratio| format!("{ratio:.2}")),
            it.noise_scale.map_or_else(none, |noise| examples(noise.scale.value)),
            it.noise_scale.map_or_else(none, interval),
            it.points.to_string(),
        ]
    };
    let headings =
        ["sparsity", "mean Lipschitz", "× dense", "noise scale", "90 % interval", "points"];
    table(headings, 0, summaries.iter().map(row).collect())
}

/// A noise scale: a number of examples.
fn examples(scale: f64) -> String {
    if scale.is_finite() { grouped(scale.round() as u64) } else { "∞".to_owned() }
}

/// What follows from the averages, and what does not.
fn conclusion(summaries: &[SmoothnessSummary], statement: &Statement) -> String {
    let trainings = things(summaries.len() as u64, "training");
    let verdict = match statement.verdict {
        Verdict::Holds => format!("yes, in the order of {trainings}"),
        Verdict::DoesNotHold => format!("no: it falls over {trainings}"),
        Verdict::NotEnoughData => {
            format!("{trainings} cannot tell; four in perfect order would be beyond chance")
        }
    };
    let mut text = format!("\nDoes the Lipschitz constant grow with sparsity? {verdict}.");
    let sparse = summaries.iter().filter(|it| it.sparsity != Sparsity::DENSE);
    let ratios: Vec<String> = sparse
        .filter_map(|it| it.ratio.map(|ratio| format!("{ratio:.2} at {}", it.sparsity)))
        .collect();
    if !ratios.is_empty() {
        text += &format!(
            "\nPredicted ratio of steps to dense, at small batches: {}.\n\
             In the convergence bound these steps are proportional to L. The prediction says what\n\
             follows if sparsity changed nothing but L; it comes from one training per sparsity and\n\
             has no interval. Only a study (`parsity run`) measures steps.",
            ratios.join(", ")
        );
    }
    text
}
