//! The ratio of steps between two curves, by batch size: its size and its trend.
//!
//! Apart from the laws because it needs none: the same batch sizes are compared in pairs,
//! so whatever luck or difficulty a batch size has in common drops out. The logarithm of
//! the ratio is fitted as a straight line over that of the batch size. That a
//! sparse/dense ratio falls with batch size, and that the sparse critical batch size is
//! larger, are the same statement, tested in two ways.

use crate::law::Law;
use crate::measured::{Estimate, Reading, Span};
use crate::profile::{Profile, profile};
use crate::verdict::{Statement, Verdict};
use serde::Serialize;
use std::f64::consts::LN_2;

/// The ratio of steps at one batch size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RatioPoint {
    /// The batch size.
    pub batch_size: f64,
    /// The ratio of the checks at which the goal was seen to be reached, if it was in both.
    pub ratio: Option<f64>,
    /// The ratio is above this; 0 if nothing is known.
    pub above: f64,
    /// The ratio is at most this; infinite if nothing is known.
    pub at_most: f64,
}

/// The ratios of steps between two curves, with a straight line through them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ratios {
    /// The ratio at every batch size that both curves have, in ascending order.
    pub points: Vec<RatioPoint>,
    /// The line, if at least three batch sizes have a ratio.
    pub line: Option<RatioLine>,
}

/// A straight line through the ratios, on logarithmic scales.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RatioLine {
    /// The ratio in the middle of the batch sizes: its geometric mean.
    pub mean: Estimate,
    /// The factor on the ratio when the batch size doubles: below 1 it falls.
    pub per_doubling: Estimate,
    /// The factor on the ratio from the smallest batch size to the largest.
    pub over_all: Estimate,
    /// The ratio at the smallest batch size.
    pub at_smallest: Estimate,
    /// The ratio at the largest batch size.
    pub at_largest: Estimate,
    /// The typical deviation of a ratio from the line, as a share of it.
    pub scatter: f64,
}

/// A change of the ratio over all batch sizes by less than this is none.
pub const NEGLIGIBLE_TREND: f64 = 1.1;
/// Critical batch sizes that differ by less than this, a third of a doubling, are equal.
pub const NEGLIGIBLE_CRITICAL: f64 = 1.25;

impl Ratios {
    /// The steps of `over` divided by those of `under`, at the batch sizes of both.
    pub fn of(over: &[Reading], under: &[Reading]) -> Ratios {
        let mut pairs: Vec<(f64, Reading, Reading)> = over
            .iter()
            .filter_map(|a| {
                let b = under.iter().find(|b| b.batch_size == a.batch_size)?;
                Some((a.batch_size, *a, *b))
            })
            .collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let points: Vec<RatioPoint> = pairs.iter().map(|(_, a, b)| point(a, b)).collect();
        let line = RatioLine::through(&points);
        Ratios { points, line }
    }

    /// Whether the ratio falls with batch size.
    pub fn falls(&self, says: String) -> Statement {
        let change = self.line.map(|line| line.over_all);
        Statement::about(says, "change of the ratio over all batch sizes", change, |change| {
            Verdict::below(change, 1.0, NEGLIGIBLE_TREND)
        })
    }
}

/// Whether the critical batch size of `sparse` is larger than that of `dense`.
pub fn larger_critical_batch_size(says: String, sparse: &Law, dense: &Law) -> Statement {
    let ratio = sparse.critical_batch_size_over(dense);
    Statement::about(says, "sparse/dense critical batch size", Some(ratio), |ratio| {
        Verdict::above(ratio, 1.0, NEGLIGIBLE_CRITICAL)
    })
}

fn point(over: &Reading, under: &Reading) -> RatioPoint {
    let (a, b) = (over.steps.span(), under.steps.span());
    let bounded = a.high.is_finite() && b.high.is_finite();
    RatioPoint {
        batch_size: over.batch_size,
        ratio: bounded.then(|| over.steps.shown() / under.steps.shown()),
        above: (a.low - b.high).exp(),
        at_most: (a.high - b.low).exp(),
    }
}

impl RatioLine {
    fn through(points: &[RatioPoint]) -> Option<RatioLine> {
        let spans: Vec<Span> = points
            .iter()
            .map(|point| Span { low: point.above.ln(), high: point.at_most.ln() })
            .collect();
        let places: Vec<f64> = points.iter().map(|point| point.batch_size.ln()).collect();
        let middle = places.iter().sum::<f64>() / places.len() as f64;
        // Both curves fall between flat and linear, so no true slope is beyond ±1.
        let slopes: Vec<f64> = (-20..=20).map(|tenths| f64::from(tenths) / 10.0).collect();
        let found: Profile = profile(&spans, &slopes, |slope, offsets| {
            for (offset, place) in offsets.iter_mut().zip(&places) {
                // The limit of an endless slope stands for slopes that are beyond belief.
                *offset = slope.clamp(-10.0, 10.0) * (place - middle);
            }
        })?;
        let (first, last) = (places.first()?, places.last()?);
        let at = |place: f64| found.centre(|slope| slope.clamp(-10.0, 10.0) * (place - middle));
        Some(RatioLine {
            mean: at(middle).map(f64::exp),
            per_doubling: found.interval.map(|slope| (slope * LN_2).exp()),
            over_all: found.interval.map(|slope| (slope * (last - first)).exp()),
            at_smallest: at(*first).map(f64::exp),
            at_largest: at(*last).map(f64::exp),
            scatter: found.scatter(),
        })
    }
}
