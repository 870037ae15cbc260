//! What is shown, as JSON: pure functions from answers and heartbeats.
//!
//! No number is worked out here that analysis or report could give; so the page, the report and
//! `--json` never differ.

use crate::cache::Told;
use crate::machine::Machine;
use axum::body::Bytes;
use parsity_analysis::{GoalAnswer, Standing, cell_times, seconds_left};
use parsity_lab::Heartbeat;
use parsity_report::facts::{protocol, workload};
use parsity_report::page::{dark_colours, parts};
use parsity_report::palette::sparsity_colour;
use parsity_report::{svg, tables_of};
use parsity_study::{BatchSize, Cell, ErrorRate, Observation, Record, Sparsity, Steps};
use serde::Serialize;
use serde_json::{Value, json};

/// Goal checks that are told of a trial.
const CHECKS: usize = 200;

/// A value as JSON.
pub(crate) fn to_json(value: &impl Serialize) -> Bytes {
    Bytes::from(serde_json::to_vec(value).expect("plain values are JSON"))
}

/// The state of one study, in an overview.
#[derive(Serialize)]
pub(crate) struct StudyState {
    pub(crate) study: String,
    /// What is trained, in short phrases.
    pub(crate) workload: Vec<String>,
    /// How it is measured, in short phrases.
    pub(crate) protocol: Vec<String>,
    /// Which records the answer rests on; absent until it was worked out.
    pub(crate) edition: Option<String>,
    pub(crate) cells: usize,
    pub(crate) decided: Option<usize>,
    pub(crate) trials: u64,
    pub(crate) done: Option<u64>,
    pub(crate) findings: Option<usize>,
    /// Whether a run is at work on it.
    pub(crate) running: bool,
    /// When its run showed itself last, in seconds since 1970.
    pub(crate) beat: Option<f64>,
    pub(crate) images_per_second: Option<f64>,
    pub(crate) seconds_left: Option<f64>,
}

/// The state of everything.
#[derive(Serialize)]
pub(crate) struct State {
    /// Seconds since 1970.
    pub(crate) at: f64,
    /// The store's file.
    pub(crate) store: String,
    /// Why the store cannot be read now, if so.
    pub(crate) trouble: Option<String>,
    pub(crate) version: &'static str,
    pub(crate) machine: Machine,
    pub(crate) studies: Vec<StudyState>,
}

/// The state of the study that was `told`, whose run left `heartbeat`.
pub(crate) fn study_state(
    stored: &parsity_lab::StoredStudy,
    told: Option<&Told>,
    heartbeat: Option<&Heartbeat>,
    now: f64,
) -> StudyState {
    let study = told.and_then(|told| told.answer.studies.first());
    let tightest = study.and_then(|study| study.goals.last());
    let cells = stored.batch_sizes.len() * stored.sparsities.len();
    let running = heartbeat.is_some_and(|it| it.is_alive(now));
    let left = told.and_then(|told| time_left(told, heartbeat)).map(|left| left.total);
    StudyState {
        study: stored.facts.name.clone(),
        workload: workload(&stored.facts),
        protocol: protocol(&stored.facts),
        edition: told.map(|told| told.edition.clone()),
        cells,
        decided: tightest
            .map(|goal| goal.cells.iter().filter(|it| it.summary.is_decided()).count()),
        trials: cells as u64 * u64::from(stored.facts.trials),
        done: tightest.map(|goal| goal.cells.iter().map(|it| u64::from(it.summary.done())).sum()),
        findings: study.map(|study| study.goals.iter().map(|goal| goal.findings.len()).sum()),
        running,
        beat: heartbeat.map(|it| it.at),
        images_per_second: heartbeat.filter(|_| running).map(|it| it.images_per_second),
        seconds_left: left.flatten().filter(|_| running),
    }
}

/// How long a study still takes, by the clock.
struct TimeLeft {
    /// Of each cell that is not decided.
    open: Vec<(Cell, Option<f64>)>,
    /// `None` as long as that of a cell is not known.
    total: Option<f64>,
}

fn time_left(told: &Told, heartbeat: Option<&Heartbeat>) -> Option<TimeLeft> {
    let threads = heartbeat?.threads.max(1) as f64;
    let study = told.evidence.studies.first()?;
    let mut times = cell_times(&study.facts, &study.cells, &study.records);
    for trial in heartbeat.iter().flat_map(|it| &it.trials) {
        if let Some(time) = times.iter_mut().find(|it| it.cell == trial.cell) {
            time.seconds += trial.seconds;
        }
    }
    let left: Vec<Option<f64>> =
        seconds_left(&times).into_iter().map(|it| it.map(|seconds| seconds / threads)).collect();
    let total = left.iter().copied().sum::<Option<f64>>();
    let open = times.iter().zip(left).filter(|(time, _)| !time.decided);
    Some(TimeLeft { open: open.map(|(time, left)| (time.cell, left)).collect(), total })
}

/// A cell of the heat map.
#[derive(Serialize)]
struct CellView {
    batch_size: BatchSize,
    sparsity: Sparsity,
    /// `reached`, `not-reached` or `open`.
    state: &'static str,
    steps_to_result: Option<Steps>,
    best_so_far: Option<Steps>,
    best_trial: Option<u32>,
    done: u32,
    trials: u32,
    failed: u32,
}

fn cell_views(goal: &GoalAnswer) -> Vec<CellView> {
    let view = |cell: &parsity_analysis::CellAnswer| {
        let it = &cell.summary;
        CellView {
            batch_size: it.batch_size,
            sparsity: it.sparsity,
            state: match it.standing() {
                Standing::Reached(_) => "reached",
                Standing::NotReached => "not-reached",
                Standing::Open(_) => "open",
            },
            steps_to_result: it.steps_to_result,
            best_so_far: it.best_so_far,
            best_trial: it.best_trial,
            done: it.done(),
            trials: it.trials,
            failed: it.failed,
        }
    };
    goal.cells.iter().map(view).collect()
}

fn goal_view(goal: &GoalAnswer) -> Value {
    let findings = goal.findings.iter().map(
        |it| json!({ "says": it.to_string(), "next_action": it.next_action(), "cell": it.cell() }),
    );
    json!({
        "goal_error": goal.goal_error,
        "cells": cell_views(goal),
        "findings": findings.collect::<Vec<_>>(),
    })
}

/// What the page of studies shows, as JSON.
pub(crate) fn page(told: &Told) -> Bytes {
    let studies = told.answer.studies.iter().zip(&told.stored).map(|(study, stored)| {
        let sparsity = |&it: &Sparsity| {
            json!({ "sparsity": it, "label": it.to_string(), "colour": sparsity_colour(it) })
        };
        json!({
            "study": study.facts.name,
            "workload": workload(&study.facts),
            "protocol": protocol(&study.facts),
            "step_budget": study.facts.step_budget,
            "batch_sizes": stored.batch_sizes,
            "sparsities": stored.sparsities.iter().map(sparsity).collect::<Vec<_>>(),
            "goals": study.goals.iter().map(goal_view).collect::<Vec<_>>(),
        })
    });
    let exhibits = told.exhibits();
    let drawn: Vec<String> = exhibits.iter().map(|it| svg::svg(&it.figure)).collect();
    let figures = exhibits.iter().map(|it| {
        json!({
            "name": it.name, "heading": it.heading, "title": it.figure.title,
            "description": it.figure.description,
        })
    });
    let mut files: Vec<String> = exhibits.iter().map(|it| format!("{}.csv", it.name)).collect();
    files.extend(tables_of(&told.answer).into_iter().map(|(name, _)| name));
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    to_json(&json!({
        "edition": told.edition,
        "studies": studies.collect::<Vec<_>>(),
        "parts": parts(&told.answer, &files),
        "figures": figures.collect::<Vec<_>>(),
        "dark": dark_colours(&told.answer, &drawn),
    }))
}

/// What the run of a study does right now.
#[derive(Serialize)]
struct Live<'a> {
    at: f64,
    running: bool,
    heartbeat: Option<&'a Heartbeat>,
    cells: Vec<OpenCell>,
    seconds_left: Option<f64>,
}

/// A cell that is not decided.
#[derive(Serialize)]
struct OpenCell {
    #[serde(flatten)]
    cell: Cell,
    /// By the clock.
    seconds_left: Option<f64>,
    /// Trials under way.
    running: usize,
    /// The most steps of a trial under way.
    steps: Option<Steps>,
}

/// What the run of a study does right now, as JSON.
pub(crate) fn live(told: &Told, heartbeat: Option<&Heartbeat>, now: f64) -> Bytes {
    let left = time_left(told, heartbeat);
    let open = |&(cell, seconds_left): &(Cell, Option<f64>)| {
        let ours = heartbeat.iter().flat_map(|it| &it.trials).filter(|it| it.cell == cell);
        let steps: Vec<Steps> = ours.map(|it| it.steps).collect();
        OpenCell { cell, seconds_left, running: steps.len(), steps: steps.into_iter().max() }
    };
    to_json(&Live {
        at: now,
        running: heartbeat.is_some_and(|it| it.is_alive(now)),
        heartbeat,
        cells: left.iter().flat_map(|left| &left.open).map(open).collect(),
        seconds_left: left.as_ref().and_then(|left| left.total),
    })
}

/// The trials of a cell, with at most so many goal checks each, evenly spread, in columns.
pub(crate) fn cell(goals: &[ErrorRate], records: &[Record]) -> Bytes {
    let trials = records.iter().map(|it| {
        let every = it.observations.len().div_ceil(CHECKS).max(1);
        let last = it.observations.len().saturating_sub(1);
        let kept = it.observations.iter().enumerate();
        let kept: Vec<&Observation> = kept
            .filter(|(index, _)| index.is_multiple_of(every) || *index == last)
            .map(|(_, seen)| seen)
            .collect();
        json!({
            "trial": it.trial, "metaparameters": it.metaparameters, "protocol": it.protocol,
            "outcome": it.outcome, "steps": it.steps, "reached": it.reached,
            "evaluated": it.evaluated, "seconds": it.seconds, "weights": it.weights,
            "checks": {
                "step": kept.iter().map(|it| it.step).collect::<Vec<_>>(),
                "loss": kept.iter().map(|it| it.loss).collect::<Vec<_>>(),
                "error": kept.iter().map(|it| it.error).collect::<Vec<_>>(),
                "exact": kept.iter().map(|it| it.exact).collect::<Vec<_>>(),
            },
        })
    });
    to_json(&json!({ "goal_errors": goals, "trials": trials.collect::<Vec<_>>() }))
}
