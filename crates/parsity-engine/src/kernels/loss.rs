//! Softmax cross-entropy of a block, its gradient, and the count of errors.
//!
//! Exponentials and logarithms come from `libm`, whose results are the same everywhere.

use super::{LANES, Lanes};

/// Adds up the loss of the first `labels.len()` images; the gradient of `scale` × that
/// loss by the scores goes to `gradient`. Images beyond the labels get none.
pub(crate) fn cross_entropy(
    scores: &[Lanes],
    labels: &[u8],
    scale: f32,
    gradient: &mut [Lanes],
) -> f64 {
    let mut loss = 0.0;
    gradient.fill(Lanes::ZERO);
    for (lane, &label) in labels.iter().enumerate().take(LANES) {
        let score = |class: usize| scores[class].0[lane];
        let highest = (0..scores.len()).map(score).fold(f32::NEG_INFINITY, f32::max);
        let mut sum = 0.0;
        for (class, gradient) in gradient.iter_mut().enumerate() {
            let power = libm::expf(score(class) - highest);
            gradient.0[lane] = power;
            sum += power;
        }
        for (class, gradient) in gradient.iter_mut().enumerate() {
            let target = f32::from(u8::from(class == usize::from(label)));
            gradient.0[lane] = (gradient.0[lane] / sum - target) * scale;
        }
        loss += f64::from(libm::logf(sum) + highest - score(usize::from(label)));
    }
    loss
}

/// Whether image `lane` is classified wrongly: its label is not the (first) highest score.
pub(crate) fn is_wrong(scores: &[Lanes], lane: usize, label: u8) -> bool {
    let label = usize::from(label);
    let own = scores[label].0[lane];
    // Written so that a NaN anywhere counts as wrong.
    let (before, after) = (&scores[..label], &scores[label + 1..]);
    let best = before.iter().all(|score| own > score.0[lane])
        && after.iter().all(|score| own >= score.0[lane])
        && !own.is_nan();
    !best
}
