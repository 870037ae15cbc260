//! The steps-to-result table: as CSV for programs, as text for terminals.
//!
//! Nothing is printed here. Whether text is coloured is the caller's decision, because only
//! the caller knows where it goes.

use crate::data::{Data, field};
use crate::numerals::{grouped, significant};
use comfy_table::{Attribute, Cell, CellAlignment, Color, LineStyle, Table, TableStyle};
use parsity_analysis::{CellSummary, Standing, by_goal, tightest};
use parsity_study::{BatchSize, Outcome, Sparsity};
use std::collections::BTreeSet;

/// All summaries as CSV, one row per goal and cell. What is not known, or not used, is empty;
/// a cell without steps-to-result whose counts add up to its trials did not reach the goal.
pub fn steps_csv(summaries: &[CellSummary]) -> String {
    let mut columns = vec!["batch_size", "sparsity", "goal_error"];
    columns.extend(["steps_to_result", "above", "best_so_far", "best_trial"]);
    columns.extend(METAPARAMETERS);
    columns.extend(Outcome::ALL.map(Outcome::name));
    columns.extend(["trials", "exhaustive"]);
    let mut data = Data::new(&columns);
    for summary in summaries {
        let mut row = vec![summary.batch_size.to_string(), summary.sparsity.share().to_string()];
        row.push(summary.goal_error.to_string());
        row.push(field(summary.steps_to_result));
        row.push(field(summary.above));
        row.push(field(summary.best_so_far));
        row.push(field(summary.best_trial));
        row.extend(metaparameters(summary).map(field));
        row.extend(Outcome::ALL.map(|outcome| summary.count(outcome).to_string()));
        row.push(summary.trials.to_string());
        row.push(summary.exhaustive.to_string());
        data.rows.push(row);
    }
    data.csv()
}

/// Steps-to-result as a matrix: a row per batch size, a column per sparsity. Several goals
/// have a matrix each.
pub fn steps_matrix(summaries: &[CellSummary], colour: bool) -> String {
    const CAPTION: &str = " Steps-to-result by batch size and sparsity";
    let matrices: Vec<String> = if has_several_goals(summaries) {
        let goals = by_goal(summaries);
        let captioned = goals.map(|(goal, cells)| {
            format!("{CAPTION}, goal error {goal}\n{}", matrix(cells, colour).trim_fmt())
        });
        captioned.collect()
    } else {
        vec![format!("{CAPTION}\n{}", matrix(summaries, colour).trim_fmt())]
    };
    with_lines(matrices.join("\n\n"), &meanings(summaries))
}

fn has_several_goals(summaries: &[CellSummary]) -> bool {
    by_goal(summaries).count() > 1
}

/// The matrix of one goal.
fn matrix(summaries: &[CellSummary], colour: bool) -> Table {
    let sizes: BTreeSet<BatchSize> = summaries.iter().map(|it| it.batch_size).collect();
    let sparsities: BTreeSet<Sparsity> = summaries.iter().map(|it| it.sparsity).collect();
    let headings = sparsities.iter().map(Sparsity::to_string);
    let headings = std::iter::once("batch size".to_owned()).chain(headings);
    let mut table = ruled_table(headings, 0, colour);
    for &size in &sizes {
        let mut row = vec![Cell::new(grouped(u64::from(size.0)))];
        row.extend(sparsities.iter().map(|&sparsity| {
            let mut cells = summaries.iter();
            let cell = cells.find(|it| (it.batch_size, it.sparsity) == (size, sparsity));
            cell.map_or_else(|| Cell::new(""), |cell| standing_cell(cell.standing()))
        }));
        table.add_row(row);
    }
    table
}

/// Every cell with the outcomes of its trials and the metaparameters of its best trial.
/// Metaparameters and outcomes that never occur have no column, and neither has a single goal.
pub fn steps_list(summaries: &[CellSummary], colour: bool) -> String {
    let used: Vec<usize> = (0..METAPARAMETERS.len())
        .filter(|&index| summaries.iter().any(|it| metaparameters(it)[index].is_some()))
        .collect();
    let outcomes: Vec<Outcome> = Outcome::ALL
        .into_iter()
        .filter(|&outcome| summaries.iter().any(|it| it.count(outcome) > 0))
        .collect();
    let several = has_several_goals(summaries);
    let headings = several.then_some("goal error").into_iter();
    let headings =
        headings.chain(["batch size", "sparsity", "steps-to-result", "interval", "best trial"]);
    let headings = headings.chain(used.iter().map(|&index| METAPARAMETERS[index])).chain(["done"]);
    let headings = headings.chain(outcomes.iter().map(|outcome| outcome.name()));
    let mut table = ruled_table(headings.map(|heading| heading.replace('_', " ")), 0, colour);
    for summary in summaries {
        let mut row = Vec::from_iter(several.then(|| Cell::new(summary.goal_error)));
        row.extend([
            Cell::new(grouped(u64::from(summary.batch_size.0))),
            Cell::new(summary.sparsity),
            standing_cell(summary.standing()),
            Cell::new(field(interval(summary))),
            Cell::new(field(summary.best_trial)),
        ]);
        let values = metaparameters(summary);
        row.extend(used.iter().map(|&index| Cell::new(field(values[index].map(significant)))));
        row.push(Cell::new(format!("{}/{}", summary.done(), summary.trials)));
        row.extend(outcomes.iter().map(|&outcome| outcome_cell(outcome, summary.count(outcome))));
        table.add_row(row);
    }
    let lines = meanings(summaries).into_iter().chain(protocol(summaries));
    with_lines(table.trim_fmt(), &lines.collect::<Vec<_>>())
}

/// The names of the metaparameters, in the order of the search.
pub(crate) const METAPARAMETERS: [&str; 4] =
    ["learning_rate", "momentum", "decay_steps", "end_factor"];

/// Their values in the best trial.
pub(crate) fn metaparameters(summary: &CellSummary) -> [Option<f64>; 4] {
    let best = summary.metaparameters;
    [
        best.map(|best| best.learning_rate),
        best.and_then(|best| best.momentum),
        best.and_then(|best| best.decay_steps).map(|steps| steps.0 as f64),
        best.and_then(|best| best.end_factor),
    ]
}

/// The steps among which the goal was reached: `(768, 784]`.
pub(crate) fn interval(summary: &CellSummary) -> Option<String> {
    let (above, steps) = (summary.above?, summary.steps_to_result?);
    Some(format!("({}, {}]", grouped(above.0), grouped(steps.0)))
}

fn standing_cell(standing: Standing) -> Cell {
    match standing {
        Standing::Reached(steps) => Cell::new(grouped(steps.0)).add_attribute(Attribute::Bold),
        Standing::Open(Some(steps)) => {
            Cell::new(format!("≤ {}", grouped(steps.0))).fg(Color::DarkYellow)
        }
        Standing::Open(None) => Cell::new("…").add_attribute(Attribute::Dim),
        Standing::NotReached => Cell::new("–").add_attribute(Attribute::Dim),
    }
}

fn outcome_cell(outcome: Outcome, count: u32) -> Cell {
    let cell = Cell::new(grouped(u64::from(count)));
    match (outcome, count) {
        (_, 0) => cell.add_attribute(Attribute::Dim),
        (Outcome::Failed, _) => cell.fg(Color::Red),
        _ => cell,
    }
}

/// What the signs mean that occur, a line each.
fn meanings(summaries: &[CellSummary]) -> Vec<String> {
    let any = |sign: fn(Standing) -> bool| summaries.iter().any(|it| sign(it.standing()));
    let mut lines = Vec::new();
    if any(|standing| matches!(standing, Standing::Open(Some(_)))) {
        lines.push("≤ best so far: trials are missing".to_owned());
    }
    if any(|standing| standing == Standing::Open(None)) {
        lines.push("… open: no trial has reached the goal yet".to_owned());
    }
    if any(|standing| standing == Standing::NotReached) {
        lines.push("– no trial reached the goal within the step budget".to_owned());
    }
    let failed: u32 = tightest(summaries).iter().map(|it| it.failed).sum();
    if failed > 0 {
        let trials = if failed == 1 { "trial" } else { "trials" };
        lines.push(format!(
            "! {} {trials} failed: their cells are judged without them",
            grouped(failed.into())
        ));
    }
    lines
}

/// How far the trials were trained, if any is done: what their outcomes mean depends on it.
pub(crate) fn protocol(summaries: &[CellSummary]) -> Option<String> {
    let sum = |part: fn(&CellSummary) -> u32| -> u64 {
        tightest(summaries).iter().map(|it| u64::from(part(it))).sum()
    };
    let (exhaustive, done) = (sum(|it| it.exhaustive), sum(CellSummary::done));
    match exhaustive {
        _ if done == 0 => None,
        0 => Some("raced: trials stop when they can no longer be the best".to_owned()),
        all if all == done => Some("exhaustive: trials are trained to their own end".to_owned()),
        some => Some(format!(
            "raced, but {} of {} trials were trained to their own end",
            grouped(some),
            grouped(done)
        )),
    }
}

/// No lines but one under the header.
const RULED: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// An empty table with a ruled header; all columns but the first `words` hold numbers, which
/// stand to the right. The one look of all tables in a terminal.
pub fn ruled_table(headings: impl Iterator<Item = String>, words: usize, colour: bool) -> Table {
    let mut table = Table::new();
    table.load_style(RULED).force_no_tty();
    if colour {
        table.enforce_styling();
    }
    let heading = |text| Cell::new(text).add_attribute(Attribute::Bold);
    table.set_header(headings.map(heading).collect::<Vec<_>>());
    for (index, column) in table.column_iter_mut().enumerate() {
        if index >= words {
            column.set_cell_alignment(CellAlignment::Right);
        }
        column.set_padding((1, 0));
    }
    table
}

/// A text with lines of remarks under it.
fn with_lines(text: String, lines: &[String]) -> String {
    let lines = lines.iter().map(|line| format!(" {line}\n"));
    format!("{text}\n{}", lines.collect::<String>())
}
