//! The scaling figure: steps-to-result against batch size, a curve per sparsity.

use crate::facts::{protocol, workload};
use crate::figure::{
    Above, AboveMark, Axis, Figure, LegendEntry, LegendGroup, Mark, Panel, Scale, Series, Shape,
    Stroke, Tick,
};
use crate::numerals::grouped;
use crate::palette::{GREY, rank_shape, sparsity_colour};
use parsity_analysis::{Curve, PerfectScaling, Scaling, Standing};
use parsity_study::{BatchSize, ErrorRate, Steps, StudyFacts};

/// The scaling figure of a study, for the goal that `scaling` is about.
pub fn draw_scaling(facts: &StudyFacts, goal: ErrorRate, scaling: &Scaling) -> Figure {
    let above = above(facts, scaling);
    let x = batch_axis(scaling);
    let y = steps_axis(facts, scaling, above.is_some());
    let reference = scaling.perfect.and_then(|perfect| perfect_series(perfect, &x, &y));
    let curves = scaling.curves.iter().enumerate();
    let curves = curves.map(|(rank, curve)| curve_series(curve, rank_shape(rank)));
    let series: Vec<Series> = reference.into_iter().chain(curves).collect();
    let nothing = above.is_none() && series.iter().all(|series| series.marks.is_empty());
    let legend = legend(scaling, &series, above.is_some());
    let remark = nothing.then(|| "No trial has reached the goal yet".to_owned());
    Figure {
        title: format!("Training steps to reach an error of {goal}"),
        facts: vec![workload(facts), protocol(facts)],
        description: describe(facts, scaling),
        panel: Panel { x, y, series, above, remark },
        legend,
    }
}

/// The batch sizes of the study are the ticks; half an octave is left free on both sides.
fn batch_axis(scaling: &Scaling) -> Axis {
    let points = scaling.curves.iter().flat_map(|curve| &curve.points);
    let mut sizes: Vec<BatchSize> = points.map(|point| point.batch_size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let tick =
        |size: &BatchSize| Tick { value: f64::from(size.0), label: grouped(u64::from(size.0)) };
    let range = match (sizes.first(), sizes.last()) {
        (Some(first), Some(last)) => {
            (f64::from(first.0) / 2f64.sqrt(), f64::from(last.0) * 2f64.sqrt())
        }
        _ => (1.0, 2.0),
    };
    let ticks = sizes.iter().map(tick).collect();
    Axis { label: "Batch size →".to_owned(), scale: Scale::Log2, range, ticks }
}

/// From a power of two to a power of two around all steps, and at least two octaves; but
/// under a band of cells beyond the step budget, the axis ends with the budget.
fn steps_axis(facts: &StudyFacts, scaling: &Scaling, above: bool) -> Axis {
    let points = scaling.curves.iter().flat_map(|curve| &curve.points);
    let steps = points.filter_map(|point| match point.standing {
        Standing::Reached(steps) | Standing::Open(Some(steps)) => Some(steps.0.max(1)),
        Standing::NotReached | Standing::Open(None) => None,
    });
    let (least, most) = match (steps.clone().min(), steps.max()) {
        (Some(least), Some(most)) => (least, most),
        _ => (finest_interval(facts).0.max(1), facts.step_budget.0.max(1)),
    };
    // A little air keeps marks off the edges.
    const AIR: f64 = 0.2;
    let mut low = ((least as f64).log2() - AIR).floor() as i32;
    let mut high = ((most as f64).log2() + AIR).ceil() as i32;
    while high - low < 2 {
        (low, high) = (low - 1, high + 1);
    }
    let (low, high) = (low.max(0), high.max(2));
    let top = if above { facts.step_budget.0 as f64 } else { f64::INFINITY };
    let range = (2f64.powi(low), 2f64.powi(high).min(top).max(2f64.powi(low + 1)));
    let octaves = (low..=high.min(63)).map(|octave| 1u64 << octave);
    let ticks = octaves.map(|steps| Tick { value: steps as f64, label: grouped(steps) });
    Axis {
        label: "↑ Steps-to-result".to_owned(),
        scale: Scale::Log2,
        range,
        ticks: ticks.filter(|tick| tick.value <= range.1).collect(),
    }
}

/// The fewest steps that any cell could need.
fn finest_interval(facts: &StudyFacts) -> Steps {
    facts.check_every.ranges().iter().map(|range| range.steps).min().unwrap_or_default()
}

/// The part of the perfect-scaling line that lies in the panel, if there is a part.
fn perfect_series(perfect: PerfectScaling, x: &Axis, y: &Axis) -> Option<Series> {
    let start = f64::from(perfect.batch_size.0);
    // Where the line leaves through the floor: K(B₀)·B₀/B is symmetric in B and K.
    let end = x.range.1.min(perfect.steps_at(y.range.0));
    let line = [start, end].map(|batch_size| (batch_size, perfect.steps_at(batch_size)));
    let last_tick = x.ticks.last()?.value;
    (start < last_tick).then(|| Series {
        colour: GREY,
        stroke: Stroke::Dashed,
        lines: vec![line.to_vec()],
        marks: Vec::new(),
    })
}

/// Lines between neighbouring cells that are decided; open marks for the best so far.
fn curve_series(curve: &Curve, shape: Shape) -> Series {
    let mut lines = vec![Vec::new()];
    let mut marks = Vec::new();
    for point in &curve.points {
        let x = f64::from(point.batch_size.0);
        let (steps, open) = match point.standing {
            Standing::Reached(steps) => (Some(steps), false),
            Standing::Open(best_so_far) => (best_so_far, true),
            Standing::NotReached => (None, false),
        };
        match (steps, open, lines.last_mut()) {
            (Some(steps), false, Some(line)) => line.push((x, steps.0 as f64)),
            _ => lines.push(Vec::new()),
        }
        if let Some(steps) = steps {
            let more = if open { ", best so far" } else { "" };
            let note = format!("{}: {} steps{more}", cell_note(curve, x), grouped(steps.0));
            marks.push(Mark { at: (x, steps.0 as f64), shape, open, note });
        }
    }
    lines.retain(|line| line.len() > 1);
    Series { colour: sparsity_colour(curve.sparsity), stroke: Stroke::Solid, lines, marks }
}

/// The cells that did not reach the goal within the step budget.
fn above(facts: &StudyFacts, scaling: &Scaling) -> Option<Above> {
    let cells = scaling.curves.iter().flat_map(|curve| {
        let points = curve.points.iter();
        let points = points.filter(|point| point.standing == Standing::NotReached);
        points.map(move |point| (curve, f64::from(point.batch_size.0)))
    });
    let marks: Vec<AboveMark> = cells
        .map(|(curve, x)| AboveMark {
            x,
            colour: sparsity_colour(curve.sparsity),
            note: format!("{}: goal not reached", cell_note(curve, x)),
        })
        .collect();
    let label = format!("> {}", grouped(facts.step_budget.0));
    (!marks.is_empty()).then_some(Above { label, marks })
}

fn cell_note(curve: &Curve, batch_size: f64) -> String {
    format!("batch size {}, sparsity {}", grouped(batch_size as u64), curve.sparsity)
}

/// Sparsities in the order of the curves from top to bottom, then whatever else occurs.
fn legend(scaling: &Scaling, series: &[Series], above: bool) -> Vec<LegendGroup> {
    let entry = |colour, stroke, mark, label: &str| LegendEntry {
        colour,
        stroke,
        mark,
        label: label.to_owned(),
    };
    let curves = scaling.curves.iter().enumerate().rev().map(|(rank, curve)| {
        let mark = Some((rank_shape(rank), false));
        let label = curve.sparsity.to_string();
        entry(sparsity_colour(curve.sparsity), Some(Stroke::Solid), mark, &label)
    });
    let sparsities = LegendGroup { title: Some("Sparsity".to_owned()), entries: curves.collect() };
    let mut others = Vec::new();
    if series.iter().any(|series| series.stroke == Stroke::Dashed) {
        others.push(entry(GREY, Some(Stroke::Dashed), None, "perfect scaling"));
    }
    if series.iter().flat_map(|series| &series.marks).any(|mark| mark.open) {
        others.push(entry(GREY, None, Some((Shape::Circle, true)), "best so far"));
    }
    if above {
        others.push(entry(GREY, None, Some((Shape::Arrow, true)), "goal not reached"));
    }
    let groups = [sparsities, LegendGroup { title: None, entries: others }];
    groups.into_iter().filter(|group| !group.entries.is_empty()).collect()
}

/// The figure in words: the protocol, and each curve from its first to its last steps.
fn describe(facts: &StudyFacts, scaling: &Scaling) -> String {
    let facts = [workload(facts), protocol(facts)].concat();
    let mut sentences = vec![format!("{}.", facts.join(", "))];
    for curve in &scaling.curves {
        let cells = curve.points.iter().map(|point| {
            let steps = match point.standing {
                Standing::Reached(steps) => grouped(steps.0),
                Standing::Open(Some(steps)) => format!("{} so far", grouped(steps.0)),
                Standing::Open(None) => "open".to_owned(),
                Standing::NotReached => "not reached".to_owned(),
            };
            format!("{}: {steps}", grouped(u64::from(point.batch_size.0)))
        });
        let cells: Vec<String> = cells.collect();
        sentences.push(format!(
            "Steps-to-result by batch size at sparsity {}: {}.",
            curve.sparsity,
            cells.join("; ")
        ));
    }
    sentences.join(" ")
}
