//! The three regions of a scaling curve, and the rule that tells them apart.
//!
//! A smooth curve has no corners, so the borders are a convention. Parsity's: as long as a
//! batch size needs at most 25 % more steps than c1/B, scaling is linear; as soon as it
//! needs at most 25 % more than c2, data parallelism is maximal; in between, returns
//! diminish. For K = c1/B + c2 that is a quarter of the critical batch size, and four times
//! it. Where a hard knee describes the data clearly better, both borders are the knee.

use crate::law::{Better, Form, Law};
use crate::measured::Estimate;
use serde::Serialize;

/// How much more than a straight line of the curve still counts as that line.
pub const TOLERANCE: f64 = 0.25;

/// The rule, for figures and tables.
pub const RULE: &str = "linear scaling: at most 25 % more steps than c1/B; maximal data \
                        parallelism: at most 25 % more than c2; between them, diminishing returns";

/// A region of a scaling curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Region {
    /// Twice the batch size, half the steps.
    LinearScaling,
    /// Twice the batch size, fewer steps, but more than half.
    DiminishingReturns,
    /// Twice the batch size, the same steps.
    MaximalDataParallelism,
}

/// The borders between the regions of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Regions {
    /// The largest batch size of linear scaling.
    pub linear_up_to: Estimate,
    /// The smallest batch size of maximal data parallelism.
    pub maximal_from: Estimate,
}

impl Regions {
    /// The regions of a law.
    pub fn of(law: &Law) -> Regions {
        let critical = law.critical_batch_size();
        let tolerance = match law.better() {
            Better::Clearly(Form::Knee) => 1.0,
            Better::Clearly(Form::Smooth) | Better::Undecided => TOLERANCE,
        };
        Regions {
            linear_up_to: critical.map(|size| size * tolerance),
            maximal_from: critical.map(|size| size / tolerance),
        }
    }

    /// The region that `batch_size` lies in, by the most likely borders.
    pub fn region(&self, batch_size: f64) -> Region {
        if batch_size <= self.linear_up_to.value {
            Region::LinearScaling
        } else if batch_size < self.maximal_from.value {
            Region::DiminishingReturns
        } else {
            Region::MaximalDataParallelism
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::{Measured, Reading};

    fn regions(steps: impl Fn(f64) -> f64) -> Regions {
        let reading = |i| {
            let batch_size = 2f64.powi(i);
            Reading { batch_size, steps: Measured::at_check(steps(batch_size).ceil(), 1.0) }
        };
        let readings: Vec<Reading> = (1..=14).map(reading).collect();
        Regions::of(&Law::of(&readings).unwrap())
    }

    #[test]
    fn at_the_borders_of_a_smooth_curve_steps_are_a_quarter_above_the_lines() {
        let steps = |b: f64| 400_000.0 / b + 1_000.0;
        let it = regions(steps);
        let [linear, maximal] = [it.linear_up_to.value, it.maximal_from.value];
        assert!((steps(linear) / (400_000.0 / linear) - 1.25).abs() < 0.01);
        assert!((steps(maximal) / 1_000.0 - 1.25).abs() < 0.01);
        let of = [2.0, 64.0, 128.0, 1_024.0, 2_048.0, 16_384.0].map(|b| it.region(b));
        use Region::{DiminishingReturns as D, LinearScaling as L, MaximalDataParallelism as M};
        assert_eq!(of, [L, L, D, D, M, M]);
    }

    #[test]
    fn a_hard_knee_leaves_no_room_for_diminishing_returns() {
        let it = regions(|b| (400_000.0 / b).max(1_000.0));
        assert_eq!(it.linear_up_to, it.maximal_from);
        assert_eq!(it.region(256.0), Region::LinearScaling);
        assert_eq!(it.region(512.0), Region::MaximalDataParallelism);
    }
}
