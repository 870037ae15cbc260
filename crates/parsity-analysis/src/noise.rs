//! The gradient noise scale, tr Σ/|G|²: how large a batch has to be for its gradient to be
//! more signal than noise.
//!
//! A second way to a critical batch size, from gradients alone. The squared length of a
//! batch gradient is |G|² + tr Σ/B on average, so two batch sizes tell both terms without
//! bias. Their quotient is taken once, of the means: quotients of single measurements
//! would be biased, and wild where |G|² is near 0. Its interval is Fieller's, which is
//! exact for a quotient of two normal means and says so when the lower one may be 0: the
//! upper end is then infinite.

use crate::measured::{CONFIDENCE, Estimate};
use crate::student::reach;
use crate::verdict::{Evidence, Statement, Verdict};
use serde::Serialize;

/// The squared lengths of two gradients at the same weights, from independent batches.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SquaredNorms {
    /// That of the small batch.
    pub small: f64,
    /// That of the big batch.
    pub big: f64,
}

impl SquaredNorms {
    /// tr Σ and |G|², without bias; `None` if the big batch is not the bigger one.
    pub(crate) fn terms(&self, small_batch: f64, big_batch: f64) -> Option<(f64, f64)> {
        let noise = (self.small - self.big) / (1.0 / small_batch - 1.0 / big_batch);
        let signal = (big_batch * self.big - small_batch * self.small) / (big_batch - small_batch);
        (small_batch > 0.0 && big_batch > small_batch).then_some((noise, signal))
    }
}

/// A measured gradient noise scale.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct NoiseScale {
    /// tr Σ/|G|², in examples.
    pub scale: Estimate,
    /// |G|², the squared length of the full gradient.
    pub signal: f64,
    /// tr Σ, the variance of the gradient of one example.
    pub noise: f64,
    /// How many pairs of batches were measured.
    pub measurements: usize,
}

/// The noise scale from repeated measurements at two batch sizes; `None` with fewer than
/// three measurements, or if the big batch is not the bigger one.
///
/// Measurements along a training have different gradients; the scale is then that of
/// their mean squares, and the interval tells how it would vary with other steps.
pub fn noise_scale(
    small_batch: f64,
    big_batch: f64,
    measurements: &[SquaredNorms],
) -> Option<NoiseScale> {
    let terms = measurements.iter().map(|it| it.terms(small_batch, big_batch));
    let pairs: Vec<(f64, f64)> = terms.collect::<Option<_>>()?;
    if pairs.len() < 3 {
        return None;
    }
    let moments = Moments::of(&pairs);
    let value = if moments.y > 0.0 { (moments.x / moments.y).max(0.0) } else { f64::INFINITY };
    let (low, high) = moments.fieller(reach(CONFIDENCE, pairs.len() - 1));
    Some(NoiseScale {
        scale: Estimate { value, low: low.min(value), high: high.max(value) },
        signal: moments.y,
        noise: moments.x,
        measurements: pairs.len(),
    })
}

/// Whether a noise scale and a critical batch size agree: they do not if their intervals
/// have nothing in common. If they overlap, but one has no end, that is not enough.
///
/// Theory ties the two together only up to a factor near 1, so a small gap between the
/// intervals is not yet a contradiction of it.
pub fn agree(noise: &NoiseScale, critical: &Estimate) -> Statement {
    let scale = noise.scale;
    let verdict = if scale.high < critical.low || critical.high < scale.low {
        Verdict::DoesNotHold
    } else if scale.is_bounded() && critical.is_bounded() {
        Verdict::Holds
    } else {
        Verdict::NotEnoughData
    };
    let evidence = [
        ("gradient noise scale", scale),
        ("critical batch size", *critical),
        ("noise scale/critical batch size", scale.over(critical)),
    ];
    Statement {
        says: "the gradient noise scale agrees with the critical batch size".to_owned(),
        verdict,
        evidence: evidence.map(|(name, estimate)| Evidence { name, estimate }).to_vec(),
    }
}

/// Means of x and y, with the variances and covariance of these means.
struct Moments {
    x: f64,
    y: f64,
    xx: f64,
    yy: f64,
    xy: f64,
}

impl Moments {
    fn of(pairs: &[(f64, f64)]) -> Moments {
        let n = pairs.len() as f64;
        let x = pairs.iter().map(|pair| pair.0).sum::<f64>() / n;
        let y = pairs.iter().map(|pair| pair.1).sum::<f64>() / n;
        let spread = |f: &dyn Fn(f64, f64) -> f64| {
            pairs.iter().map(|pair| f(pair.0 - x, pair.1 - y)).sum::<f64>() / (n * (n - 1.0))
        };
        Moments {
            x,
            y,
            xx: spread(&|a, _| a * a),
            yy: spread(&|_, b| b * b),
            xy: spread(&|a, b| a * b),
        }
    }

    /// The positive quotients x/y that are within `reach` standard errors: the solutions
    /// of (x − qy)² ≤ reach²·var(x − qy).
    fn fieller(&self, reach: f64) -> (f64, f64) {
        let square = reach * reach;
        let a = self.y * self.y - square * self.yy;
        let b = self.x * self.y - square * self.xy;
        let c = self.x * self.x - square * self.xx;
        let discriminant = b * b - a * c;
        if a > 0.0 {
            let root = discriminant.max(0.0).sqrt();
            // A variance is not negative, and neither is the quotient.
            return (((b - root) / a).max(0.0), ((b + root) / a).max(0.0));
        }
        // y may be 0, so there is no upper end; and if x may be 0, too, no lower one. Else
        // one root is negative, and the positive one bounds the quotients from below.
        let low = if c > 0.0 { (b - discriminant.max(0.0).sqrt()) / a } else { 0.0 };
        (low.max(0.0), f64::INFINITY)
    }
}
