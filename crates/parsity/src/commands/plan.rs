//! `parsity plan`: the work of a study, before anything runs.

use super::{colour, print, print_json, table};
use crate::arguments::{Extent, Plan as Arguments};
use crate::failure::End;
use crate::words::{count, duration, grouped, kilobytes, significant, things};
use parsity_data::{Cache, catalog};
use parsity_engine::Network;
use parsity_lab::{Pace, Question, find_study, load_dataset, lower_model, measure_pace, memory_of};
use parsity_report::facts::{check_interval, goals};
use parsity_study::{CellWork, Memory, Metaparameters, Optimizer, Plan, Protocol, Sparsity, Study};
use std::sync::Arc;

/// Search points that are shown.
const SHOWN: u32 = 8;

pub(crate) fn plan(arguments: &Arguments) -> anyhow::Result<End> {
    let question = restricted(&arguments.extent)?;
    let study = &question.study;
    let plan = Plan::new(study);
    let network = Arc::new(lower_model(&study.workload().model)?);
    let validation = validation_examples(&question)?;
    let paces: Vec<(Sparsity, Pace)> = study
        .sparsities()
        .iter()
        .map(|&sparsity| (sparsity, measure_pace(&network, sparsity)))
        .collect();
    let estimate = Estimate { paces, validation, cores: super::threads(None) };
    if arguments.json {
        print_json(&to_json(study, &plan, &estimate, &network))?;
    } else {
        print(to_text(study, &plan, &estimate, &network))?;
    }
    Ok(End::Done)
}

/// The study that is named, and the part of it that is wanted.
pub(crate) fn restricted(extent: &Extent) -> anyhow::Result<Question> {
    let mut question = find_study(&extent.study)?;
    if let Some(trials) = extent.trials {
        question.study = question.study.with_trials(trials)?;
    }
    if let Some(batch_sizes) = &extent.batch_sizes {
        question.study = question.study.with_batch_sizes(batch_sizes)?;
    }
    if let Some(sparsities) = &extent.sparsities {
        question.study = question.study.with_sparsities(sparsities)?;
    }
    Ok(question)
}

/// How many examples each goal check looks at; known without loading for known data sets.
fn validation_examples(question: &Question) -> anyhow::Result<f64> {
    let workload = question.study.workload();
    let examples = match catalog::find(&workload.dataset) {
        Some(entry) => entry.train,
        None => load_dataset(&workload.dataset, &question.folder, &Cache::of_user()?)?.train.len(),
    };
    Ok((examples as f64 * workload.validation_share).round())
}

/// What turns images into time.
struct Estimate {
    paces: Vec<(Sparsity, Pace)>,
    validation: f64,
    cores: usize,
}

impl Estimate {
    /// Seconds that a cell takes on all cores, at most.
    fn seconds(&self, cell: &CellWork) -> f64 {
        let found = self.paces.iter().find(|(sparsity, _)| *sparsity == cell.cell.sparsity);
        let Some((_, pace)) = found else { return 0.0 };
        let train = cell.work.images as f64 / pace.train;
        let evaluate = cell.work.checks as f64 * self.validation / pace.evaluate;
        (train + evaluate) / self.cores as f64
    }
}

fn to_json(
    study: &Study,
    plan: &Plan,
    estimate: &Estimate,
    network: &Network,
) -> serde_json::Value {
    let Memory { trial_bytes, thread_bytes } = memory(study, network);
    let points: Vec<Metaparameters> =
        (0..study.trials()).map(|index| study.space().point(index)).collect();
    let cells: Vec<serde_json::Value> = plan
        .cells
        .iter()
        .map(|cell| {
            let mut value = serde_json::json!(cell);
            value["seconds_at_most"] = estimate.seconds(cell).into();
            value
        })
        .collect();
    let seconds: f64 = plan.cells.iter().map(|cell| estimate.seconds(cell)).sum();
    let workload = study.workload();
    serde_json::json!({
        "study": plan.study,
        "goal_errors": workload.goal_errors,
        "step_budget": workload.step_budget,
        "check_every": workload.check_every,
        "protocol": study.protocol(),
        "trials_per_cell": plan.trials_per_cell,
        "cells": cells,
        "total_at_most": plan.total,
        "seconds_at_most": seconds,
        "search_points": points,
        "trial_bytes": trial_bytes,
        "thread_bytes": thread_bytes,
    })
}

fn memory(study: &Study, network: &Network) -> Memory {
    let has_velocity = study.workload().optimizer != Optimizer::Sgd;
    memory_of(network, has_velocity, study.batch_sizes(), study.sparsities())
}

fn memory_text(memory: &Memory) -> String {
    let trials = memory.trial_bytes.iter();
    let trials = trials.map(|it| format!("{} at {}", kilobytes(it.bytes as usize), it.sparsity));
    format!(
        " a trial (weights, gradient, velocity, pattern)  {}\n a thread (a block of images)                    {}",
        trials.collect::<Vec<_>>().join(", "),
        kilobytes(memory.thread_bytes as usize)
    )
}

fn to_text(study: &Study, plan: &Plan, estimate: &Estimate, network: &Network) -> String {
    let workload = study.workload();
    let cells = plan.cells.len() as u64;
    let mut text = format!(
        "{}: {} on {}, {} with {} learning rate\n\
         {} · step budget {} · {}, on {} images · {}\n\n\
         {} parameters, {} multiply-adds per image\n\
         {} = {} × {}; {} each: {}\n\n",
        study.name(),
        workload.model.name,
        workload.dataset,
        workload.optimizer,
        workload.schedule,
        goals(&workload.goal_errors),
        grouped(workload.step_budget.0),
        check_interval(&workload.check_every),
        grouped(estimate.validation as u64),
        study.protocol(),
        grouped(network.parameters() as u64),
        count(network.multiply_adds() as f64),
        things(cells, "cell"),
        things(study.batch_sizes().len() as u64, "batch size"),
        things(study.sparsities().len() as u64, "sparsity"),
        things(u64::from(study.trials()), "trial"),
        things(plan.total.trials, "trial"),
    );
    text += &format!("Search\n{}\n\n", search_table(study));
    text += &format!(
        "Work at most, if every trial used up its budget; on {} of this machine\n{}\n\n",
        things(estimate.cores as u64, "core"),
        work_table(plan, estimate)
    );
    text += &format!("Memory\n{}\n\n", memory_text(&memory(study, network)));
    text + usual_work(study.protocol()) + " `parsity run` stops and continues at any time."
}

/// How much of the work at most is to be expected.
fn usual_work(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Racing => {
            "A cell's race ends when every goal has been reached by its best trial, so the work is\n\
             usually a small fraction of this."
        }
        Protocol::Exhaustive => {
            "Every trial is trained to its own end: the tightest goal, the step budget, or a loss that\n\
             is not finite."
        }
    }
}

fn search_table(study: &Study) -> String {
    let headings = study.space().dimensions().map(|(key, _)| key.replace('_', " "));
    let headings = std::iter::once("trial".to_owned()).chain(headings);
    let mut table = parsity_report::ruled_table(headings, 0, colour());
    let shown = study.trials().min(SHOWN);
    for index in 0..shown {
        let point = study.space().point(index);
        let mut row = vec![index.to_string(), significant(point.learning_rate)];
        row.extend(point.momentum.map(|momentum| format!("{momentum:.6}")));
        row.extend(point.decay_steps.map(|steps| grouped(steps.0)));
        row.extend(point.end_factor.map(significant));
        table.add_row(row);
    }
    match study.trials() - shown {
        0 => table.trim_fmt(),
        more => format!("{}\n … and {more} more points of the Sobol sequence", table.trim_fmt()),
    }
}

fn work_table(plan: &Plan, estimate: &Estimate) -> String {
    let row = |heading: String, cells: &[CellWork]| {
        let sum = |part: fn(&CellWork) -> u64| cells.iter().map(|cell| part(cell) as f64).sum();
        let seconds = cells.iter().map(|cell| estimate.seconds(cell)).sum();
        let (steps, images) = (sum(|cell| cell.work.steps), sum(|cell| cell.work.images));
        [heading, count(steps), count(images), duration(seconds)]
    };
    let sizes = plan.cells.chunk_by(|a, b| a.cell.batch_size == b.cell.batch_size);
    let rows = sizes.map(|cells| row(grouped(u64::from(cells[0].cell.batch_size.0)), cells));
    let total = row("all".to_owned(), &plan.cells);
    table(["batch size", "steps", "images", "time"], 0, rows.chain([total]).collect())
}
