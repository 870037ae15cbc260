//! Steps-to-result: a matrix of each study and goal, and every cell with its best trial.

use super::{swatch, table};
use crate::exhibits::file_name;
use crate::html::Html;
use crate::numerals::{grouped, significant};
use crate::table::{METAPARAMETERS, interval, metaparameters};
use crate::telling::about_goal;
use parsity_analysis::{Answer, CellAnswer, CellSummary, GoalAnswer, Standing, StudyAnswer};
use parsity_study::{BatchSize, Outcome, Sparsity};
use std::collections::BTreeSet;

pub(super) fn write(html: &mut Html, answer: &Answer) {
    for study in &answer.studies {
        for goal in &study.goals {
            html.leaf("h3", &[], &about_goal(&study.facts, goal));
            write_matrix(html, goal);
            html.element("details", &[], |html| {
                html.leaf("summary", &[], "Every cell: interval, best metaparameters, outcomes");
                write_list(html, goal);
            });
        }
        let file = format!("{}.csv", file_name("steps-to-result", answer, study, None));
        html.element("p", &[("class", "files")], |html| html.leaf("a", &[("href", &file)], "CSV"));
    }
    html.leaf(
        "p",
        &[("class", "small")],
        "≤: best so far, trials are missing. …: no trial has reached the goal yet. –: no trial reached \
         the goal within the step budget.",
    );
}

fn write_matrix(html: &mut Html, goal: &GoalAnswer) {
    let sizes: BTreeSet<BatchSize> = goal.cells.iter().map(|it| it.summary.batch_size).collect();
    let sparsities: BTreeSet<Sparsity> = goal.cells.iter().map(|it| it.summary.sparsity).collect();
    let label =
        format!("Steps-to-result by batch size and sparsity, goal error {}", goal.goal_error);
    table(
        html,
        &label,
        0,
        |html| {
            html.leaf("th", &[("scope", "col")], "batch size");
            for &sparsity in &sparsities {
                html.element("th", &[("scope", "col")], |html| {
                    swatch(html, sparsity);
                    html.text(&sparsity.to_string());
                });
            }
        },
        |html| {
            for &size in &sizes {
                html.element("tr", &[], |html| {
                    html.leaf("th", &[("scope", "row")], &grouped(size.0.into()));
                    for &sparsity in &sparsities {
                        let cell = goal.cells.iter().map(|it| &it.summary);
                        let cell = cell
                            .into_iter()
                            .find(|it| it.batch_size == size && it.sparsity == sparsity);
                        html.leaf("td", &[], &cell.map(standing).unwrap_or_default());
                    }
                });
            }
        },
    );
}

fn standing(summary: &CellSummary) -> String {
    match summary.standing() {
        Standing::Reached(steps) => grouped(steps.0),
        Standing::Open(Some(steps)) => format!("≤ {}", grouped(steps.0)),
        Standing::Open(None) => "…".to_owned(),
        Standing::NotReached => "–".to_owned(),
    }
}

fn write_list(html: &mut Html, goal: &GoalAnswer) {
    let summaries = || goal.cells.iter().map(|it| &it.summary);
    let used: Vec<usize> = (0..METAPARAMETERS.len())
        .filter(|&index| summaries().any(|it| metaparameters(it)[index].is_some()))
        .collect();
    let outcomes: Vec<Outcome> =
        Outcome::ALL.into_iter().filter(|&it| summaries().any(|cell| cell.count(it) > 0)).collect();
    let mut columns: Vec<String> =
        ["batch size", "sparsity", "steps-to-result", "between checks", "another set of trials"]
            .map(str::to_owned)
            .into();
    columns.extend(used.iter().map(|&it| METAPARAMETERS[it].replace('_', " ")));
    columns.extend(outcomes.iter().map(|it| it.name().to_owned()));
    let label = format!("Every cell, goal error {}", goal.goal_error);
    table(
        html,
        &label,
        0,
        |html| columns.iter().for_each(|name| html.leaf("th", &[("scope", "col")], name)),
        |html| {
            for cell in &goal.cells {
                let row = row(cell, &used, &outcomes);
                html.element("tr", &[], |html| {
                    row.iter().for_each(|field| html.leaf("td", &[], field));
                });
            }
        },
    );
    html.leaf(
        "p",
        &[("class", "small")],
        "Between checks: the goal was reached after more steps than the first number, and after the \
         second at the latest. Another set of trials: where their steps-to-result would lie, in nine \
         of ten sets.",
    );
}

fn row(cell: &CellAnswer, used: &[usize], outcomes: &[Outcome]) -> Vec<String> {
    let summary = &cell.summary;
    let another = cell.another_set.map(|it| {
        let high = if it.high.is_finite() { grouped(it.high as u64) } else { "∞".to_owned() };
        format!("{} to {high}", grouped(it.low as u64))
    });
    let mut row = vec![
        grouped(summary.batch_size.0.into()),
        summary.sparsity.to_string(),
        standing(summary),
        interval(summary).unwrap_or_default(),
        another.unwrap_or_default(),
    ];
    let values = metaparameters(summary);
    row.extend(used.iter().map(|&it| values[it].map(significant).unwrap_or_default()));
    row.extend(outcomes.iter().map(|&it| grouped(summary.count(it).into())));
    row
}

/// The number of cells of a study that are decided.
pub(super) fn decided(study: &StudyAnswer) -> (u64, u64) {
    let cells = study.goals.last().map_or(&[][..], |goal| &goal.cells[..]);
    let done = cells.iter().filter(|cell| cell.summary.is_decided()).count();
    (done as u64, cells.len() as u64)
}
