//! The scaling figure: steps-to-result against batch size, a curve per sparsity, with the
//! law that was fitted to it and its critical batch size.

use crate::axes::{batch_axis, octaves};
use crate::data::{Data, field};
use crate::facts::{protocol, workload};
use crate::figure::{
    Above, AboveMark, Axis, Figure, LegendEntry, LegendGroup, Mark, Panel, Series, Shape, Span,
    Stroke,
};
use crate::numerals::{estimated, grouped, significant};
use crate::palette::{Colour, GREY, rank_shape, sparsity_colour};
use parsity_analysis::{Curve, FittedCurve, PerfectScaling, Scaling, Standing};
use parsity_study::{ErrorRate, Steps, StudyFacts};

/// The scaling figure of a study, for the goal that `scaling` is about, with the laws of
/// `fitted`.
pub fn draw_scaling(
    facts: &StudyFacts,
    goal: ErrorRate,
    scaling: &Scaling,
    fitted: &[FittedCurve],
) -> Figure {
    let above = above(facts, scaling);
    let points = scaling.curves.iter().flat_map(|curve| &curve.points);
    let x = batch_axis(points.map(|point| point.batch_size));
    let y = steps_axis(facts, scaling, above.is_some());
    let reference = scaling.perfect.and_then(|perfect| perfect_series(perfect, &x, &y));
    let curves = scaling.curves.iter().enumerate();
    let curves = curves.map(|(rank, curve)| {
        curve_series(curve, rank_shape(rank), sparsity_colour(curve.sparsity))
    });
    let laws = fitted.iter().filter_map(|curve| fit_series(curve, &x, &y));
    let series: Vec<Series> = reference.into_iter().chain(laws).chain(curves).collect();
    let nothing = above.is_none() && series.iter().all(|series| series.marks.is_empty());
    let rank = |curve: &FittedCurve| {
        scaling.curves.iter().position(|it| it.sparsity == curve.sparsity).unwrap_or_default()
    };
    let spans: Vec<Span> = fitted
        .iter()
        .filter_map(|it| critical_span(it, rank_shape(rank(it)), sparsity_colour(it.sparsity)))
        .collect();
    let legend = legend(scaling, &series, above.is_some(), !spans.is_empty());
    let remark = nothing.then(|| "No trial has reached the goal yet".to_owned());
    Figure {
        title: format!("Training steps to reach an error of {goal}"),
        facts: vec![workload(facts), protocol(facts)],
        description: describe(facts, scaling, &spans),
        panels: vec![Panel { title: None, x, y, series, above, spans, remark }],
        columns: 1,
        legend,
        data: data(scaling, fitted),
    }
}

/// The law that was fitted to a curve, as far as it lies in the panel.
pub(crate) fn fit_series(curve: &FittedCurve, x: &Axis, y: &Axis) -> Option<Series> {
    const PER_OCTAVE: f64 = 8.0;
    let fit = curve.law.as_ref()?.fit();
    let (from, to) = (x.ticks.first()?.value.log2(), x.ticks.last()?.value.log2());
    let count = ((to - from) * PER_OCTAVE).ceil() as u32;
    let sizes = (0..=count).map(|i| (from + (to - from) * f64::from(i) / f64::from(count)).exp2());
    let line = sizes.map(|size| (size, fit.steps_at(size)));
    let line: Vec<(f64, f64)> = line.filter(|&(_, steps)| y.shows(steps)).collect();
    (line.len() > 1).then(|| Series {
        colour: sparsity_colour(curve.sparsity),
        stroke: Stroke::Dotted,
        lines: vec![line],
        marks: Vec::new(),
    })
}

/// The critical batch size of a curve.
pub(crate) fn critical_span(curve: &FittedCurve, shape: Shape, colour: Colour) -> Option<Span> {
    let critical = curve.law.as_ref()?.critical_batch_size();
    let note = format!("sparsity {}: critical batch size {}", curve.sparsity, estimated(&critical));
    let (value, low, high) = (critical.value, critical.low, critical.high);
    Some(Span { colour, shape, value, low, high, note })
}

/// As many octaves as the steps take; but under a band of cells beyond the step budget, the
/// axis ends with the budget.
pub(crate) fn steps_axis(facts: &StudyFacts, scaling: &Scaling, above: bool) -> Axis {
    let points = scaling.curves.iter().flat_map(|curve| &curve.points);
    let steps = points.filter_map(|point| match point.standing {
        Standing::Reached(steps) | Standing::Open(Some(steps)) => Some(steps.0.max(1) as f64),
        Standing::NotReached | Standing::Open(None) => None,
    });
    let mut values: Vec<f64> = steps.collect();
    if values.is_empty() {
        values = [finest_interval(facts), facts.step_budget].map(|it| it.0.max(1) as f64).into();
    }
    let mut axis = octaves("↑ Steps-to-result", values);
    // There is no fewer steps than one.
    axis.range = (axis.range.0.max(1.0), axis.range.1.max(4.0));
    if above {
        axis.range.1 = axis.range.1.min(facts.step_budget.0 as f64).max(2.0 * axis.range.0);
    }
    let range = axis.range;
    axis.ticks.retain(|tick| (range.0..=range.1).contains(&tick.value));
    axis
}

/// The fewest steps that any cell could need.
fn finest_interval(facts: &StudyFacts) -> Steps {
    facts.check_every.ranges().iter().map(|range| range.steps).min().unwrap_or_default()
}

/// The part of the perfect-scaling line that lies in the panel, if there is a part.
pub(crate) fn perfect_series(perfect: PerfectScaling, x: &Axis, y: &Axis) -> Option<Series> {
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
pub(crate) fn curve_series(curve: &Curve, shape: Shape, colour: Colour) -> Series {
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
    Series { colour, stroke: Stroke::Solid, lines, marks }
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
            shape: Shape::Arrow,
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
fn legend(scaling: &Scaling, series: &[Series], above: bool, critical: bool) -> Vec<LegendGroup> {
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
    if series.iter().any(|series| series.stroke == Stroke::Dotted) {
        others.push(entry(GREY, Some(Stroke::Dotted), None, "fitted law"));
    }
    if series.iter().flat_map(|series| &series.marks).any(|mark| mark.open) {
        others.push(entry(GREY, None, Some((Shape::Circle, true)), "best so far"));
    }
    if above {
        others.push(entry(GREY, None, Some((Shape::Arrow, true)), "goal not reached"));
    }
    if critical {
        let mark = Some((Shape::Circle, false));
        others.push(entry(GREY, Some(Stroke::Solid), mark, "90 % interval"));
    }
    let groups = [sparsities, LegendGroup { title: None, entries: others }];
    groups.into_iter().filter(|group| !group.entries.is_empty()).collect()
}

/// The figure in words: the protocol, and each curve from its first to its last steps.
fn describe(facts: &StudyFacts, scaling: &Scaling, spans: &[Span]) -> String {
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
    sentences.extend(spans.iter().map(|span| format!("At {}.", span.note)));
    sentences.join(" ")
}

/// Cell by cell, what the figure shows.
fn data(scaling: &Scaling, fitted: &[FittedCurve]) -> Data {
    let columns = ["batch_size", "sparsity", "steps_to_result", "best_so_far", "reached", "fitted"];
    let mut data = Data::new(&columns);
    for curve in &scaling.curves {
        let law = fitted.iter().find(|it| it.sparsity == curve.sparsity);
        let fit = law.and_then(|it| it.law.as_ref()).map(|law| law.fit());
        for point in &curve.points {
            let (steps, so_far, reached) = match point.standing {
                Standing::Reached(steps) => (Some(steps), Some(steps), "yes"),
                Standing::Open(best) => (None, best, "open"),
                Standing::NotReached => (None, None, "no"),
            };
            let fitted = fit.map(|fit| significant(fit.steps_at(f64::from(point.batch_size.0))));
            data.push([
                point.batch_size.to_string(),
                curve.sparsity.share().to_string(),
                field(steps),
                field(so_far),
                reached.to_owned(),
                field(fitted),
            ]);
        }
    }
    data
}
