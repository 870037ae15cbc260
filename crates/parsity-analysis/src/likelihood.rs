//! How likely a centre and a scatter make a set of spans.
//!
//! Each span is where a value was found to lie: between two goal checks, or beyond the
//! budget. Values are taken to scatter normally about `centre + offset`, on the
//! logarithmic scale, all alike: steps-to-result are a minimum over a search, whose luck
//! is a factor on the steps that has no reason to depend on how many they are. Where
//! spans are narrow against the scatter this is least squares in log space. Where they are
//! wide it is better than least squares on their middles: if the floor of a curve lies
//! between the same two checks at five batch sizes, the middle would be counted as five
//! agreeing measurements, but all that is known is the two checks.

use crate::measured::Span;
use crate::student::{between, density};

/// No search repeats its minimum better than this: a scatter of less is held against a
/// fit. It matters only where all spans can be met exactly, and the scatter would be 0.
const LEAST_SCATTER: f64 = 0.01;

/// The most likely centre and scatter of spans with given offsets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Location {
    pub(crate) centre: f64,
    pub(crate) scatter: f64,
    pub(crate) log_likelihood: f64,
    /// The variance of the centre, from the curvature of the likelihood.
    pub(crate) variance: f64,
}

/// A place in the parameters in which the likelihood has a single hill (its logarithm is
/// concave): the centre in units of the scatter, and one over the scatter.
#[derive(Clone, Copy)]
struct Place {
    centre: f64,
    precision: f64,
}

/// The logarithm of the likelihood at a place, with its slopes and curvatures.
#[derive(Clone, Copy, Default)]
struct Hill {
    height: f64,
    slope: [f64; 2],
    /// By centre twice, by both, by precision twice.
    curvature: [f64; 3],
}

/// The most likely location; `None` if fewer than two spans are bounded, or one is
/// empty.
pub(crate) fn locate(spans: &[Span], offsets: &[f64]) -> Option<Location> {
    let (middle, scatter) = start(spans, offsets)?;
    // About the middle, so that the centre is near 0 and rounding does not matter.
    let shifted = |i: usize| Span {
        low: spans[i].low - offsets[i] - middle,
        high: spans[i].high - offsets[i] - middle,
    };
    let hill = |place| climb(place, (0..spans.len()).map(shifted));
    let mut place = Place { centre: 0.0, precision: 1.0 / scatter };
    let mut here = hill(place);
    // A span very far from the middle has a probability of 0 in floating point.
    for _ in 0..100 {
        if here.height.is_finite() {
            break;
        }
        place.precision *= 0.5;
        here = hill(place);
    }
    // An empty span has no probability at all.
    if !here.height.is_finite() {
        return None;
    }
    for _ in 0..50 {
        let Some(step) = here.newton() else { break };
        let gain = here.slope[0] * step[0] + here.slope[1] * step[1];
        let Some((next, there)) = advance(place, here.height, step, &hill) else { break };
        (place, here) = (next, there);
        // What is left to gain after a step is of the order of its square.
        if gain < 1e-5 {
            break;
        }
    }
    let scatter = 1.0 / place.precision;
    Some(Location {
        centre: middle + place.centre * scatter,
        scatter,
        log_likelihood: here.height,
        variance: here.variance(place),
    })
}

/// Least squares on the middles of the bounded spans.
fn start(spans: &[Span], offsets: &[f64]) -> Option<(f64, f64)> {
    let values = || {
        let pairs = spans.iter().zip(offsets).filter(|(span, _)| span.is_bounded());
        pairs.map(|(span, offset)| (span.middle() - offset, span.high - span.low))
    };
    let n = values().count();
    if n < 2 {
        return None;
    }
    let mean = values().map(|(value, _)| value).sum::<f64>() / n as f64;
    let squares = values().map(|(value, width)| (value - mean).powi(2) + width * width / 12.0);
    Some((mean, (squares.sum::<f64>() / n as f64).sqrt().max(LEAST_SCATTER)))
}

/// The first place along `step` that is not lower, halving it until there is one.
fn advance(
    from: Place,
    height: f64,
    step: [f64; 2],
    hill: &impl Fn(Place) -> Hill,
) -> Option<(Place, Hill)> {
    let mut share = 1.0;
    for _ in 0..40 {
        let place = Place {
            centre: from.centre + share * step[0],
            precision: from.precision + share * step[1],
        };
        if place.precision > 0.0 {
            let there = hill(place);
            if there.height >= height {
                return Some((place, there));
            }
        }
        share *= 0.5;
    }
    None
}

fn climb(place: Place, spans: impl Iterator<Item = Span>) -> Hill {
    let Place { centre, precision } = place;
    let penalty = LEAST_SCATTER * LEAST_SCATTER;
    let mut hill = Hill {
        height: -0.5 * penalty * precision * precision,
        slope: [0.0, -penalty * precision],
        curvature: [0.0, 0.0, -penalty],
    };
    for Span { low, high } in spans {
        let (from, to) = (precision * low - centre, precision * high - centre);
        let probability = between(from, to);
        hill.height += probability.ln();
        let (at_low, at_high) = (edge(low, from), edge(high, to));
        let part = |k: usize| (at_high[k] - at_low[k]) / probability;
        let (by_centre, by_precision) = (-part(0), part(1));
        hill.slope[0] += by_centre;
        hill.slope[1] += by_precision;
        hill.curvature[0] += -part(2) - by_centre * by_centre;
        hill.curvature[1] += part(3) - by_centre * by_precision;
        hill.curvature[2] += -part(4) - by_precision * by_precision;
    }
    hill
}

/// What an edge of a span contributes to the derivatives: φ, xφ, zφ, xzφ, x²zφ. An edge at
/// infinity contributes nothing.
fn edge(x: f64, z: f64) -> [f64; 5] {
    if z.is_infinite() {
        return [0.0; 5];
    }
    let phi = density(z);
    [phi, x * phi, z * phi, x * z * phi, x * x * z * phi]
}

impl Hill {
    /// The step to the top of the paraboloid that touches the hill here.
    fn newton(&self) -> Option<[f64; 2]> {
        let [a, b, c] = self.curvature.map(|curvature| -curvature);
        let determinant = a * c - b * b;
        (a > 0.0 && determinant > 0.0).then(|| {
            let [x, y] = self.slope;
            [(c * x - b * y) / determinant, (a * y - b * x) / determinant]
        })
    }

    /// The variance of centre/precision, the centre in its own unit.
    fn variance(&self, place: Place) -> f64 {
        let [a, b, c] = self.curvature.map(|curvature| -curvature);
        let determinant = a * c - b * b;
        let gradient = [1.0 / place.precision, -place.centre / (place.precision * place.precision)];
        let [x, y] = gradient;
        (c * x * x - 2.0 * b * x * y + a * y * y) / determinant
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(low: f64, high: f64) -> Span {
        Span { low, high }
    }

    #[test]
    fn narrow_spans_give_the_mean_and_the_deviation_of_least_squares() {
        let values: [f64; 5] = [0.2, -0.4, 0.9, 0.1, -0.3];
        let offsets = [1.0, 2.0, 3.0, 4.0, 5.0];
        let spans: Vec<Span> = values
            .iter()
            .zip(offsets)
            .map(|(value, offset)| span(value + offset - 1e-5, value + offset + 1e-5))
            .collect();
        let found = locate(&spans, &offsets).unwrap();
        let variance = values.iter().map(|value| (value - 0.1).powi(2)).sum::<f64>() / 5.0;
        assert!((found.centre - 0.1).abs() < 1e-4);
        // The least scatter counts as one more, small residual.
        assert!((found.scatter - (variance + 1e-4 / 5.0).sqrt()).abs() < 1e-4);
        assert!((found.variance / (variance / 5.0) - 1.0).abs() < 1e-2);
    }

    #[test]
    fn equal_wide_spans_tell_no_more_than_one_of_them() {
        let one_check = [span(0.0, 0.2); 6];
        let found = locate(&one_check, &[0.0; 6]).unwrap();
        assert!((found.centre - 0.1).abs() < 1e-6);
        // Their middles agree exactly, and still the centre is not known well.
        assert!(found.variance.sqrt() > 0.005, "{found:?}");
        assert!(found.scatter > 0.01);
    }

    #[test]
    fn an_open_span_pulls_only_if_it_is_not_met() {
        let closed = [span(-0.1, 0.0), span(0.0, 0.1), span(-0.2, -0.1), span(0.1, 0.2)];
        let with = |low: f64| {
            let spans = [&closed[..], &[span(low, f64::INFINITY)]].concat();
            locate(&spans, &[0.0; 5]).unwrap()
        };
        let without = locate(&closed, &[0.0; 4]).unwrap();
        assert!((with(-5.0).centre - without.centre).abs() < 1e-6);
        assert!(with(1.0).centre > without.centre + 0.1);
        // Even one that is impossibly far away is weighed, and not dropped.
        assert!(with(1e4).centre > with(1.0).centre);
    }

    #[test]
    fn slopes_and_curvatures_are_those_of_the_height() {
        let spans = [span(-0.3, 0.1), span(0.2, 0.4), span(-1.0, f64::INFINITY), span(-0.2, -0.1)];
        let at = |centre, precision| climb(Place { centre, precision }, spans.into_iter());
        let (centre, precision, h) = (0.3, 2.5, 1e-5);
        let hill = at(centre, precision);
        let by_centre = |f: &dyn Fn(Hill) -> f64| {
            (f(at(centre + h, precision)) - f(at(centre - h, precision))) / (2.0 * h)
        };
        let by_precision = |f: &dyn Fn(Hill) -> f64| {
            (f(at(centre, precision + h)) - f(at(centre, precision - h))) / (2.0 * h)
        };
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} is not {b}");
        close(hill.slope[0], by_centre(&|hill| hill.height));
        close(hill.slope[1], by_precision(&|hill| hill.height));
        close(hill.curvature[0], by_centre(&|hill| hill.slope[0]));
        close(hill.curvature[1], by_precision(&|hill| hill.slope[0]));
        close(hill.curvature[2], by_precision(&|hill| hill.slope[1]));
    }
}
