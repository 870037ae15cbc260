//! Whether the best trial of a cell lies at the edge of what was searched.
//!
//! If it does, better ones may lie beyond, and the steps-to-result are those of the range
//! rather than those of the cell.

use crate::findings::Finding;
use parsity_study::{Cell, Metaparameters, Range, Record, Scale, Space};
use serde::Serialize;
use std::fmt;

/// An end of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Edge {
    /// Its lowest value.
    Lower,
    /// Its highest value.
    Upper,
}

impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Edge::Lower => "lower",
            Edge::Upper => "upper",
        })
    }
}

/// How much of a range, on its scale, counts as its edge.
const EDGE: f64 = 0.05;
/// By how much of its length, on its scale, a range is to be widened: for the learning
/// rates of the published study, one decade.
const WIDEN: f64 = 0.25;

/// A finding for each metaparameter of which the best trial has an extreme value: within a
/// twentieth of the range from its end, or the outermost of all that were tried.
pub(crate) fn best_at_edges(
    cell: Cell,
    best: &Record,
    records: &[&Record],
    space: &Space,
) -> Vec<Finding> {
    let finding = |(key, range): (&'static str, Range)| {
        let value = |it: &Metaparameters| match key {
            "learning_rate" => Some(it.learning_rate),
            "momentum" => it.momentum,
            "decay_steps" => it.decay_steps.map(|steps| steps.0 as f64),
            "end_factor" => it.end_factor,
            _ => None,
        };
        let best = value(&best.metaparameters)?;
        let others = || records.iter().filter_map(|record| value(&record.metaparameters));
        let place = position(range, best);
        let edge = if place < EDGE || others().all(|other| best <= other) {
            Edge::Lower
        } else if place > 1.0 - EDGE || others().all(|other| best >= other) {
            Edge::Upper
        } else {
            return None;
        };
        let widen_to = widen(key, range, edge)?;
        Some(Finding::BestAtEdge { cell, metaparameter: key, best, edge, range, widen_to })
    };
    space.dimensions().filter_map(finding).collect()
}

/// Where in its range a value lies, on the scale of the range: 0 at `from`, 1 at `to`.
fn position(range: Range, value: f64) -> f64 {
    let Range { from, to, scale } = range;
    match scale {
        Scale::Log => (value / from).ln() / (to / from).ln(),
        Scale::ReverseLog => ((1.0 - from) / (1.0 - value)).ln() / ((1.0 - from) / (1.0 - to)).ln(),
        Scale::Linear | Scale::Integer => (value - from) / (to - from),
    }
}

/// Where an edge should be; `None` if there is nothing beyond it.
fn widen(key: &str, range: Range, edge: Edge) -> Option<f64> {
    let Range { from, to, scale } = range;
    let factor = |low: f64, high: f64| (high / low).powf(WIDEN);
    let further = match (scale, edge) {
        (Scale::Log, Edge::Lower) => from / factor(from, to),
        (Scale::Log, Edge::Upper) => to * factor(from, to),
        (Scale::ReverseLog, Edge::Lower) => 1.0 - (1.0 - from) * factor(1.0 - to, 1.0 - from),
        (Scale::ReverseLog, Edge::Upper) => 1.0 - (1.0 - to) / factor(1.0 - to, 1.0 - from),
        (Scale::Linear | Scale::Integer, Edge::Lower) => from - WIDEN * (to - from),
        (Scale::Linear | Scale::Integer, Edge::Upper) => to + WIDEN * (to - from),
    };
    let further = match scale {
        Scale::Integer => further.round().max(1.0),
        Scale::Log | Scale::ReverseLog | Scale::Linear => further.max(0.0),
    };
    // An end factor above 1 would let the learning rate grow.
    let further = if key == "end_factor" { further.min(1.0) } else { further };
    let moves = match edge {
        Edge::Lower => further < from,
        Edge::Upper => further > to,
    };
    moves.then_some(further)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{found} {expected}");
    }

    #[test]
    fn positions_are_the_inverse_of_every_scale() {
        for range in [
            Range::LEARNING_RATE,
            Range::DECAY_STEPS,
            Range { from: 2.0, to: 6.0, scale: Scale::Linear },
        ] {
            for u in [0.0, 0.25, 0.5, 1.0] {
                close(position(range, range.at(u)), u);
            }
        }
        // Reverse-log goes the other way.
        close(position(Range::MOMENTUM, Range::MOMENTUM.at(0.25)), 0.75);
    }

    #[test]
    fn a_range_widens_by_a_quarter_of_its_length_on_its_scale() {
        let to = |key, range, edge| widen(key, range, edge).unwrap();
        close(to("learning_rate", Range::LEARNING_RATE, Edge::Upper), 10.0);
        close(to("learning_rate", Range::LEARNING_RATE, Edge::Lower), 1e-5);
        close(1.0 - to("momentum", Range::MOMENTUM, Edge::Upper), 1e-4 / 1000f64.powf(0.25));
        close(to("momentum", Range::MOMENTUM, Edge::Lower), 1.0 - 0.1 * 1000f64.powf(0.25));
        close(to("decay_steps", Range::DECAY_STEPS, Edge::Lower), 22_500.0);
    }

    #[test]
    fn nothing_is_beyond_an_end_factor_of_one_or_a_single_decay_step() {
        let full = Range { from: 0.01, to: 1.0, scale: Scale::Log };
        assert_eq!(widen("end_factor", full, Edge::Upper), None);
        let steps = Range { from: 1.0, to: 101.0, scale: Scale::Integer };
        assert_eq!(widen("decay_steps", steps, Edge::Lower), None);
    }
}
