//! Scaling: steps-to-result as a function of batch size, a curve per sparsity.
//!
//! The data of the study's main figure, before anything is drawn. Cells that never reached
//! the goal, or are not decided yet, stay in their curve and say so.

use crate::steps::{CellSummary, Standing};
use parsity_study::{BatchSize, Sparsity, Steps};
use std::collections::BTreeMap;

/// The scaling curves of a study, for one of its goals.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// A curve per sparsity, from the lowest to the highest.
    pub curves: Vec<Curve>,
    /// What perfect scaling would be, once a cell of the lowest sparsity has its steps.
    pub perfect: Option<PerfectScaling>,
}

/// All cells of one sparsity.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Their sparsity.
    pub sparsity: Sparsity,
    /// One point per batch size, from the smallest to the largest.
    pub points: Vec<Point>,
}

/// A cell of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// Its batch size.
    pub batch_size: BatchSize,
    /// Its steps-to-result, or why there is none.
    pub standing: Standing,
}

/// Twice the batch size, half the steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerfectScaling {
    /// The smallest batch size with steps-to-result in the curve of the lowest sparsity.
    pub batch_size: BatchSize,
    /// Its steps-to-result.
    pub steps: Steps,
}

impl Scaling {
    /// The curves of the cells in `summaries`, which are those of one goal, in whatever order.
    pub fn of(summaries: &[CellSummary]) -> Self {
        let mut curves: BTreeMap<Sparsity, BTreeMap<BatchSize, Standing>> = BTreeMap::new();
        for summary in summaries {
            let points = curves.entry(summary.sparsity).or_default();
            points.insert(summary.batch_size, summary.standing());
        }
        let point = |(batch_size, standing)| Point { batch_size, standing };
        let curve = |(sparsity, points): (_, BTreeMap<_, _>)| Curve {
            sparsity,
            points: points.into_iter().map(point).collect(),
        };
        let curves: Vec<Curve> = curves.into_iter().map(curve).collect();
        let perfect = curves.first().and_then(Curve::perfect);
        Scaling { curves, perfect }
    }
}

impl Curve {
    fn perfect(&self) -> Option<PerfectScaling> {
        self.points.iter().find_map(|point| match point.standing {
            Standing::Reached(steps) => {
                Some(PerfectScaling { batch_size: point.batch_size, steps })
            }
            Standing::NotReached | Standing::Open(_) => None,
        })
    }
}

impl PerfectScaling {
    /// The steps at `batch_size` if scaling were perfect: K(B₀)·B₀/B.
    pub fn steps_at(&self, batch_size: f64) -> f64 {
        self.steps.0 as f64 * f64::from(self.batch_size.0) / batch_size
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specimen::{cell, facts, record};
    use crate::steps::summarize;
    use parsity_study::{Cell, Outcome, Record};

    /// Summaries of cells with one planned trial each; `None` for a trial not done yet.
    fn summaries(cells: &[(u32, f64, Option<Outcome>, u64)]) -> Vec<CellSummary> {
        let records = cells.iter().filter_map(|&(batch_size, share, outcome, steps)| {
            Some(record(cell(batch_size, share), 0, outcome?, steps))
        });
        let records: Vec<Record> = records.collect();
        let plan: Vec<Cell> = cells.iter().map(|&(b, share, ..)| cell(b, share)).collect();
        summarize(&facts(&[0.02], 1), &plan, &records)
    }

    #[test]
    fn curves_and_points_are_in_order_and_no_cell_is_dropped() {
        let scaling = Scaling::of(&summaries(&[
            (8, 0.9, Some(Outcome::Incomplete), 999),
            (16, 0.0, Some(Outcome::Complete), 32),
            (16, 0.9, None, 0),
            (8, 0.0, Some(Outcome::Complete), 64),
        ]));
        let shares: Vec<f64> = scaling.curves.iter().map(|c| c.sparsity.share()).collect();
        assert_eq!(shares, [0.0, 0.9]);
        let standings = |curve: &Curve| -> Vec<(u32, Standing)> {
            curve.points.iter().map(|point| (point.batch_size.0, point.standing)).collect()
        };
        let (dense, sparse) = (&scaling.curves[0], &scaling.curves[1]);
        let reached = |steps| Standing::Reached(Steps(steps));
        assert_eq!(standings(dense), [(8, reached(64)), (16, reached(32))]);
        assert_eq!(standings(sparse), [(8, Standing::NotReached), (16, Standing::Open(None))]);
    }

    #[test]
    fn perfect_scaling_starts_at_the_smallest_decided_batch_size_of_the_lowest_sparsity() {
        let scaling = Scaling::of(&summaries(&[
            (2, 0.5, Some(Outcome::Incomplete), 999),
            (4, 0.5, Some(Outcome::Complete), 800),
            (8, 0.5, Some(Outcome::Complete), 500),
            (2, 0.9, Some(Outcome::Complete), 5000),
        ]));
        let perfect = scaling.perfect.unwrap();
        assert_eq!((perfect.batch_size, perfect.steps), (BatchSize(4), Steps(800)));
        assert_eq!(perfect.steps_at(8.0), 400.0);
        assert_eq!(perfect.steps_at(1024.0), 3.125);
    }

    #[test]
    fn without_a_decided_cell_there_is_no_perfect_scaling() {
        assert_eq!(Scaling::of(&[]).perfect, None);
        assert_eq!(Scaling::of(&summaries(&[(8, 0.0, None, 0)])).perfect, None);
    }
}
