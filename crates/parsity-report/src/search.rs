//! The search figure: every trial at its metaparameters, a panel per cell.
//!
//! Without momentum, learning rate against steps. With momentum, learning rate against
//! 1 − momentum, with lines of equal effective learning rate lr/(1 − m): where the good trials
//! lie along such a line, it is that quotient that counts.

use crate::axes::{decades, octaves};
use crate::data::{Data, field};
use crate::facts::{protocol, workload};
use crate::figure::{
    Above, AboveMark, Axis, Figure, LegendEntry, LegendGroup, Mark, Panel, Series, Shape, Stroke,
};
use crate::numerals::{grouped, significant};
use crate::palette::{Colour, outcome_colour};
use parsity_study::{Cell, Outcome, Record, Sparsity, Steps, StudyFacts};
use std::collections::{BTreeMap, BTreeSet};

/// Batch sizes side by side where a study has one sparsity only.
const COLUMNS: usize = 4;

/// From the back to the front: the best trials must not be hidden by the others.
const DRAWN: [Outcome; 5] = [
    Outcome::Outpaced,
    Outcome::Failed,
    Outcome::Infeasible,
    Outcome::Incomplete,
    Outcome::Complete,
];

/// The search of a study towards goal `goal` (0 is the loosest); `None` if no trial is done.
pub fn draw_search(
    facts: &StudyFacts,
    goal: usize,
    cells: &[Cell],
    records: &[Record],
) -> Option<Figure> {
    let trials: Vec<&Record> = records.iter().filter(|it| it.trial < facts.trials).collect();
    let goal_error = *facts.goal_errors.get(goal)?;
    if trials.is_empty() {
        return None;
    }
    let mut by_cell: BTreeMap<Cell, Vec<&Record>> = BTreeMap::new();
    for &record in &trials {
        by_cell.entry(record.cell).or_default().push(record);
    }
    let axes = Axes::of(goal, &trials);
    let sparsities: BTreeSet<Sparsity> = cells.iter().map(|cell| cell.sparsity).collect();
    let mut cells = cells.to_vec();
    // Cells are ordered by batch size and then sparsity: a row per batch size.
    cells.sort_unstable();
    let panels = cells.iter().map(|cell| {
        let trials = by_cell.get(cell).map_or(&[][..], |it| &it[..]);
        axes.panel(*cell, trials, goal)
    });
    let momentum = axes.momentum;
    let title = if momentum { "learning rate and momentum" } else { "learning rate" };
    Some(Figure {
        title: format!("The search for {title}, to an error of {goal_error}"),
        facts: vec![workload(facts), protocol(facts)],
        description: describe(&cells, &by_cell, goal, momentum),
        panels: panels.collect(),
        columns: if sparsities.len() > 1 { sparsities.len() } else { COLUMNS.min(cells.len()) },
        legend: legend(goal, &trials, &axes),
        data: data(goal, &trials),
    })
}

/// The axes that all cells share.
struct Axes {
    x: Axis,
    y: Axis,
    momentum: bool,
    /// Whether there is a trial that diverged, and no place for it in the range.
    diverged: bool,
}

/// One minus the momentum, if there is one.
fn inertia(record: &Record) -> Option<f64> {
    record.metaparameters.momentum.map(|momentum| 1.0 - momentum)
}

/// The best of `trials`: that of the fewest steps, and of several the first.
fn best_of<'a>(trials: &[&'a Record], goal: usize) -> Option<&'a Record> {
    let complete = trials.iter().filter(|it| it.toward(goal).0 == Outcome::Complete);
    complete.min_by_key(|it| (it.toward(goal).1, it.trial)).copied()
}

impl Axes {
    fn of(goal: usize, trials: &[&Record]) -> Self {
        let x = decades("Learning rate →", trials.iter().map(|it| it.metaparameters.learning_rate));
        let momentum = trials.iter().all(|it| inertia(it).is_some());
        let y = if momentum {
            decades("↑ 1 − momentum", trials.iter().filter_map(|it| inertia(it)))
        } else {
            let steps = trials.iter().map(|it| it.toward(goal));
            let steps = steps.filter(|(outcome, _)| *outcome != Outcome::Infeasible);
            octaves("↑ Steps", steps.map(|(_, steps)| steps.0.max(1) as f64))
        };
        let diverged = trials.iter().any(|it| it.toward(goal).0 == Outcome::Infeasible);
        Axes { x, y, momentum, diverged: diverged && !momentum }
    }

    fn place(&self, record: &Record, goal: usize) -> (f64, f64) {
        let steps = record.toward(goal).1.0.max(1) as f64;
        let y = if self.momentum { inertia(record).unwrap_or(steps) } else { steps };
        (record.metaparameters.learning_rate, y)
    }

    fn panel(&self, cell: Cell, trials: &[&Record], goal: usize) -> Panel {
        let best = best_of(trials, goal);
        let mut series = self.equals();
        let diverged = trials.iter().filter(|it| it.toward(goal).0 == Outcome::Infeasible);
        let above = self.diverged.then(|| Above {
            label: "diverged".to_owned(),
            marks: diverged.map(|it| above_mark(it, goal)).collect(),
        });
        for outcome in DRAWN {
            // When a trial diverged says nothing about how good it would have been.
            if outcome == Outcome::Infeasible && above.is_some() {
                continue;
            }
            let of = trials.iter().filter(|it| it.toward(goal).0 == outcome);
            let of = of.filter(|it| best.is_none_or(|best| best.trial != it.trial));
            let (shape, open) = outcome_mark(outcome);
            let mark =
                |it: &&Record| Mark { at: self.place(it, goal), shape, open, note: note(it, goal) };
            series.push(marks(outcome_colour(outcome), of.map(mark).collect()));
        }
        let star = best.map(|it| {
            let note = format!("best: {}", note(it, goal));
            Mark { at: self.place(it, goal), shape: Shape::Star, open: false, note }
        });
        series.push(marks(BEST, star.into_iter().collect()));
        series.retain(|it| !it.lines.is_empty() || !it.marks.is_empty());
        let (x, y) = (self.x.clone(), self.y.clone());
        let title = format!("B = {}, {}", grouped(cell.batch_size.0.into()), cell.sparsity);
        let remark = trials.is_empty().then(|| "no trial is done".to_owned());
        Panel { title: Some(title), x, y, series, above, spans: Vec::new(), remark }
    }

    /// Lines of equal effective learning rate, a power of ten apart.
    fn equals(&self) -> Vec<Series> {
        if !self.momentum {
            return Vec::new();
        }
        let lines = self.effective().filter_map(|rate| {
            // 1 − m = lr/rate, from edge to edge.
            let from = self.x.range.0.max(rate * self.y.range.0);
            let to = self.x.range.1.min(rate * self.y.range.1);
            (from < to).then(|| vec![(from, from / rate), (to, to / rate)])
        });
        let lines: Vec<Vec<(f64, f64)>> = lines.collect();
        vec![Series { colour: EQUAL, stroke: Stroke::Thin, lines, marks: Vec::new() }]
    }

    /// The effective learning rates of the lines.
    fn effective(&self) -> impl Iterator<Item = f64> {
        let least = self.x.range.0 / self.y.range.1;
        let most = self.x.range.1 / self.y.range.0;
        let powers = (least.log10().ceil() as i32)..=(most.log10().floor() as i32);
        powers.map(|power| 10f64.powi(power))
    }
}

/// The best trial.
const BEST: Colour = Colour(0xf2, 0xb7, 0x05);
/// Lines of equal effective learning rate: a little darker than the grid.
const EQUAL: Colour = Colour(0xc3, 0xca, 0xd3);

fn marks(colour: Colour, marks: Vec<Mark>) -> Series {
    Series { colour, stroke: Stroke::Solid, lines: Vec::new(), marks }
}

/// The mark of an outcome, and whether it is open.
fn outcome_mark(outcome: Outcome) -> (Shape, bool) {
    match outcome {
        Outcome::Complete => (Shape::Circle, false),
        Outcome::Incomplete => (Shape::Triangle, false),
        Outcome::Infeasible => (Shape::Cross, false),
        Outcome::Outpaced => (Shape::Circle, true),
        Outcome::Collapsed => (Shape::Triangle, true),
        Outcome::Failed => (Shape::Square, true),
    }
}

fn above_mark(record: &Record, goal: usize) -> AboveMark {
    AboveMark {
        x: record.metaparameters.learning_rate,
        colour: outcome_colour(Outcome::Infeasible),
        shape: outcome_mark(Outcome::Infeasible).0,
        note: note(record, goal),
    }
}

fn note(record: &Record, goal: usize) -> String {
    let (outcome, Steps(steps)) = record.toward(goal);
    let momentum =
        record.metaparameters.momentum.map(|it| format!(", momentum {}", significant(it)));
    format!(
        "trial {}, learning rate {}{}: {}, {} steps",
        record.trial,
        significant(record.metaparameters.learning_rate),
        momentum.unwrap_or_default(),
        outcome.name(),
        grouped(steps)
    )
}

/// The outcomes that occur, in the order of tables, after the best.
fn legend(goal: usize, trials: &[&Record], axes: &Axes) -> Vec<LegendGroup> {
    let entry = |colour, stroke, mark, label: &str| LegendEntry {
        colour,
        stroke,
        mark,
        label: label.to_owned(),
    };
    let occurs = |outcome| trials.iter().any(|it| it.toward(goal).0 == outcome);
    let mut entries = Vec::new();
    if occurs(Outcome::Complete) {
        entries.push(entry(BEST, None, Some((Shape::Star, false)), "best"));
    }
    let outcomes = Outcome::ALL.into_iter().filter(|&it| occurs(it));
    entries.extend(
        outcomes.map(|it| entry(outcome_colour(it), None, Some(outcome_mark(it)), it.name())),
    );
    let mut groups = vec![LegendGroup { title: None, entries }];
    let rates: Vec<f64> = axes.effective().collect();
    if let (true, [first, .., last]) = (axes.momentum, &rates[..]) {
        let label = format!(
            "equal effective learning rate lr/(1 − m): {} at the top left, ten times more with each \
             line, up to {}",
            significant(*first),
            grouped(*last as u64)
        );
        groups.push(LegendGroup {
            title: None,
            entries: vec![entry(EQUAL, Some(Stroke::Thin), None, &label)],
        });
    }
    groups
}

fn describe(
    cells: &[Cell],
    by_cell: &BTreeMap<Cell, Vec<&Record>>,
    goal: usize,
    momentum: bool,
) -> String {
    let axes = if momentum { "one minus the momentum" } else { "the steps it was trained" };
    let mut sentences = vec![format!(
        "A panel per batch size and sparsity; each trial is a mark at its learning rate and {axes}."
    )];
    for cell in cells {
        let best = by_cell.get(cell).and_then(|trials| best_of(trials, goal));
        let place = format!("Batch size {}, sparsity {}", cell.batch_size, cell.sparsity);
        sentences.push(match best {
            Some(best) => format!("{place}: the best is {}.", note(best, goal)),
            None => format!("{place}: no trial has reached the goal."),
        });
    }
    sentences.join(" ")
}

fn data(goal: usize, trials: &[&Record]) -> Data {
    let mut data = Data::new(&[
        "batch_size",
        "sparsity",
        "trial",
        "learning_rate",
        "momentum",
        "decay_steps",
        "end_factor",
        "outcome",
        "steps",
    ]);
    for record in trials {
        let (outcome, steps) = record.toward(goal);
        let at = &record.metaparameters;
        data.push([
            record.cell.batch_size.to_string(),
            record.cell.sparsity.share().to_string(),
            record.trial.to_string(),
            at.learning_rate.to_string(),
            field(at.momentum),
            field(at.decay_steps),
            field(at.end_factor),
            outcome.name().to_owned(),
            steps.to_string(),
        ]);
    }
    data
}
