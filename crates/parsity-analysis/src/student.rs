//! Student's distribution and the normal one: how far chance alone may go.
//!
//! Apart because every interval needs it. Degrees of freedom are whole numbers here, for
//! which Student's distribution is a finite sum, so there is nothing to approximate.

/// How far from its centre, on both sides, a Student variable stays with probability
/// `confidence`; without a degree of freedom there is no limit.
pub(crate) fn reach(confidence: f64, degrees: usize) -> f64 {
    if degrees == 0 {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (0.0, 1.0);
    while within(high, degrees) < confidence {
        low = high;
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if within(middle, degrees) < confidence {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// The probability that a Student variable is within `distance` of its centre.
pub(crate) fn within(distance: f64, degrees: usize) -> f64 {
    let angle = (distance / (degrees as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let odd = degrees % 2 == 1;
    // The terms follow from one another: cos², then ·2/3·cos² … or ·1/2·cos² ….
    let mut term = if odd { cosine } else { 1.0 };
    let mut sum = if odd && degrees == 1 { 0.0 } else { term };
    let mut k = if odd { 2.0 } else { 1.0 };
    while k + 1.0 < degrees as f64 {
        term *= cosine * cosine * k / (k + 1.0);
        sum += term;
        k += 2.0;
    }
    if odd { std::f64::consts::FRAC_2_PI * (angle + sine * sum) } else { sine * sum }
}

/// The density of the standard normal distribution.
pub(crate) fn density(z: f64) -> f64 {
    const AT_ZERO: f64 = 0.398_942_280_401_432_7;
    AT_ZERO * (-0.5 * z * z).exp()
}

/// The probability that a standard normal variable lies between `low` and `high`. Both
/// are taken on the side where the tail is thin, so that a small difference stays exact.
pub(crate) fn between(low: f64, high: f64) -> f64 {
    let (low, high) = if low > 0.0 { (-high, -low) } else { (low, high) };
    let below = |z: f64| 0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2);
    below(high) - below(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reaches_are_those_of_the_printed_tables() {
        let table = [(1, 6.3138), (2, 2.9200), (3, 2.3534), (6, 1.9432), (9, 1.8331), (30, 1.6973)];
        for (degrees, printed) in table {
            assert!((reach(0.9, degrees) - printed).abs() < 5e-5, "{degrees} degrees");
        }
        assert!((reach(0.95, 12) - 2.1788).abs() < 5e-5);
        assert!((reach(0.99, 5) - 4.0321).abs() < 5e-5);
        assert_eq!(reach(0.9, 0), f64::INFINITY);
    }

    #[test]
    fn normal_probabilities_stay_exact_in_the_tails() {
        assert!((between(-1.0, 1.0) - 0.682_689_492_137_085_9).abs() < 1e-15);
        assert!((between(f64::NEG_INFINITY, 0.0) - 0.5).abs() < 1e-15);
        let tail = between(8.0, f64::INFINITY);
        assert!((tail / 6.220_960_574_271_785e-16 - 1.0).abs() < 1e-12);
        assert_eq!(between(8.0, 9.0), between(-9.0, -8.0));
    }
}
