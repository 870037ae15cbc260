//! The ratio figure: the steps of each pruned network over those of the dense one.

use crate::axes::{batch_axis, beside};
use crate::data::{Data, field};
use crate::facts::{protocol, workload};
use crate::figure::{
    Axis, Figure, LegendEntry, LegendGroup, Mark, Panel, Scale, Series, Stroke, Tick,
};
use crate::numerals::{about, estimated_in, grouped, significant};
use crate::palette::{GREY, rank_shape, sparsity_colour};
use parsity_analysis::answer::SparsityRatios;
use parsity_analysis::{GoalAnswer, RatioPoint};
use parsity_study::{BatchSize, StudyFacts};

/// The ratios of a study towards a goal; `None` if no batch size has one.
pub fn draw_ratios(facts: &StudyFacts, goal: &GoalAnswer) -> Option<Figure> {
    let points = || goal.ratios.iter().flat_map(|it| &it.ratios.points);
    let known: Vec<f64> = points().filter_map(|point| point.ratio).collect();
    if known.is_empty() {
        return None;
    }
    let x = batch_axis(points().map(|point| BatchSize(point.batch_size as u32)));
    let y = ratio_axis(&known);
    let ends = x.ticks.first().zip(x.ticks.last()).map(|(a, b)| (a.value, b.value))?;
    let dense = Series {
        colour: GREY,
        stroke: Stroke::Dashed,
        lines: vec![vec![(x.range.0, 1.0), (x.range.1, 1.0)]],
        marks: Vec::new(),
    };
    let rank = |it: &SparsityRatios| {
        goal.scaling.curves.iter().position(|curve| curve.sparsity == it.sparsity).unwrap_or(1)
    };
    let mut series = vec![dense];
    for (index, it) in goal.ratios.iter().enumerate() {
        let place = |size: f64| beside(size, index, goal.ratios.len());
        series.extend(of_sparsity(it, rank(it), &place, &y, ends));
    }
    let legend = legend(goal, &rank);
    Some(Figure {
        title: format!(
            "Steps of sparse networks over dense ones, to an error of {}",
            goal.goal_error
        ),
        facts: vec![workload(facts), protocol(facts)],
        description: describe(goal),
        panels: vec![Panel::new(x, y, series)],
        columns: 1,
        legend,
        data: data(goal),
    })
}

/// A logarithmic axis around all ratios and 1, which belongs to the picture even if all
/// ratios are far above it.
fn ratio_axis(ratios: &[f64]) -> Axis {
    const AIR: f64 = 1.2;
    let low = ratios.iter().copied().fold(1.0, f64::min) / AIR;
    let high = ratios.iter().copied().fold(2.0, f64::max) * AIR;
    let octaves = (low.log2().floor() as i32)..=(high.log2().ceil() as i32);
    let values = octaves.flat_map(|octave| [1.0, 1.5].map(|factor| factor * 2f64.powi(octave)));
    let tick = |value| Tick { value, label: significant(value) };
    let ticks = values.filter(|value| (low..=high).contains(value)).map(tick).collect();
    let label = "↑ Steps-to-result over those of the dense network".to_owned();
    Axis { label, scale: Scale::Log2, range: (low, high), ticks }
}

/// Spans between checks, the straight line through them, and the ratios themselves.
fn of_sparsity(
    of: &SparsityRatios,
    rank: usize,
    place: &dyn Fn(f64) -> f64,
    y: &Axis,
    ends: (f64, f64),
) -> Vec<Series> {
    let colour = sparsity_colour(of.sparsity);
    let (low, high) = y.range;
    let points = || of.ratios.points.iter().filter(|it| it.ratio.is_some());
    let span = |point: &RatioPoint| {
        let x = place(point.batch_size);
        [point.above, point.at_most].map(|end| (x, end.clamp(low, high))).to_vec()
    };
    let line = of.ratios.line.map(|line| {
        let first = of.ratios.points.first().map_or(ends.0, |it| it.batch_size);
        let last = of.ratios.points.last().map_or(ends.1, |it| it.batch_size);
        vec![
            (first, line.at_smallest.value.clamp(low, high)),
            (last, line.at_largest.value.clamp(low, high)),
        ]
    });
    let mark = |point: &RatioPoint| {
        let ratio = point.ratio.unwrap_or(f64::NAN);
        let size = grouped(point.batch_size as u64);
        let note = format!("batch size {size}, sparsity {}: {} times", of.sparsity, about(ratio));
        let at = (place(point.batch_size), ratio);
        Mark { at, shape: rank_shape(rank), open: false, note }
    };
    let series = |stroke, lines, marks| Series { colour, stroke, lines, marks };
    vec![
        series(Stroke::Thin, points().map(span).collect(), Vec::new()),
        series(Stroke::Dotted, line.into_iter().collect(), Vec::new()),
        series(Stroke::Solid, Vec::new(), points().map(mark).collect()),
    ]
}

fn legend(goal: &GoalAnswer, rank: &dyn Fn(&SparsityRatios) -> usize) -> Vec<LegendGroup> {
    let sparsities = goal.ratios.iter().rev().map(|it| LegendEntry {
        colour: sparsity_colour(it.sparsity),
        stroke: None,
        mark: Some((rank_shape(rank(it)), false)),
        label: it.sparsity.to_string(),
    });
    let other = |stroke, label: &str| LegendEntry {
        colour: GREY,
        stroke: Some(stroke),
        mark: None,
        label: label.to_owned(),
    };
    let others = vec![
        other(Stroke::Dashed, "dense"),
        other(Stroke::Dotted, "straight line"),
        other(Stroke::Thin, "between checks"),
    ];
    vec![
        LegendGroup { title: Some("Sparsity".to_owned()), entries: sparsities.collect() },
        LegendGroup { title: None, entries: others },
    ]
}

fn describe(goal: &GoalAnswer) -> String {
    let of = |it: &SparsityRatios| {
        let points = it.ratios.points.iter().filter_map(|point| {
            Some(format!("{}: {}", grouped(point.batch_size as u64), about(point.ratio?)))
        });
        let mean = it
            .ratios
            .line
            .map(|line| format!(" On average {}.", estimated_in(&line.mean, " times")));
        format!(
            "Steps over those of the dense network by batch size at sparsity {}: {}.{}",
            it.sparsity,
            points.collect::<Vec<_>>().join("; "),
            mean.unwrap_or_default()
        )
    };
    goal.ratios.iter().map(of).collect::<Vec<_>>().join(" ")
}

/// The columns of the ratios.
pub(crate) const RATIO_COLUMNS: [&str; 5] =
    ["batch_size", "sparsity", "ratio", "ratio_above", "ratio_at_most"];

/// Batch size by batch size; what the goal checks leave open is empty.
pub(crate) fn data(goal: &GoalAnswer) -> Data {
    let mut data = Data::new(&RATIO_COLUMNS);
    for of in &goal.ratios {
        for point in &of.ratios.points {
            let bound = |it: f64| field((it > 0.0 && it.is_finite()).then(|| significant(it)));
            data.push([
                point.batch_size.to_string(),
                of.sparsity.share().to_string(),
                field(point.ratio.map(significant)),
                bound(point.above),
                bound(point.at_most),
            ]);
        }
    }
    data
}
