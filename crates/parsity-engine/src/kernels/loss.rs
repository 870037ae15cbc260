//! Softmax cross-entropy of a block, its gradient, and the count of errors.
//!
//! Exponentials and logarithms come from `libm`, whose results are the same everywhere.

/// Adds up the loss of the first `labels.len()` of a block's `1 << lanes` images; the
/// gradient of `scale` × that loss by the scores goes to `gradient`. Images beyond the
/// labels get none.
pub(crate) fn cross_entropy(
    lanes: u32,
    scores: &[f32],
    labels: &[u8],
    scale: f32,
    gradient: &mut [f32],
) -> f64 {
    let mut loss = 0.0;
    let classes = scores.len() >> lanes;
    gradient.fill(0.0);
    for (image, &label) in labels.iter().enumerate() {
        let place = |class: usize| (class << lanes) + image;
        let score = |class: usize| scores[place(class)];
        let highest = (0..classes).map(score).fold(f32::NEG_INFINITY, f32::max);
        let mut sum = 0.0;
        for class in 0..classes {
            let power = libm::expf(score(class) - highest);
            gradient[place(class)] = power;
            sum += power;
        }
        for class in 0..classes {
            let target = f32::from(u8::from(class == usize::from(label)));
            let gradient = &mut gradient[place(class)];
            *gradient = (*gradient / sum - target) * scale;
        }
        loss += f64::from(libm::logf(sum) + highest - score(usize::from(label)));
    }
    loss
}

/// Whether image `image` is classified wrongly: its label is not the (first) highest score.
pub(crate) fn is_wrong(lanes: u32, scores: &[f32], image: usize, label: u8) -> bool {
    let label = usize::from(label);
    let score = |class: usize| scores[(class << lanes) + image];
    let own = score(label);
    // Written so that a NaN anywhere counts as wrong.
    let best = (0..label).all(|class| own > score(class))
        && (label + 1..scores.len() >> lanes).all(|class| own >= score(class))
        && !own.is_nan();
    !best
}
