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
