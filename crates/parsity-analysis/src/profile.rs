//! The search for one parameter, and its interval, by the profile of the likelihood.
//!
//! A law here is a shape with one parameter, times a factor: on the logarithmic scale an
//! offset per measured value, plus a centre. For each value of the parameter the best
//! centre and scatter are found at once, so that one search along a line is enough.
//!
//! The interval holds the parameters that are not much less likely than the best one.
//! How much is set by Student's distribution and not by the large-sample limit: for a
//! straight line through exact values the interval is then the exact one, however few
//! they are. A percentile bootstrap of the residuals, tried on 200 planted curves with a
//! scatter of 10 %, held the truth in 79 % of them at 8 batch sizes, 80 % at 11 and 86 % at
//! 14, and with residuals blown up by √(n/(n−2)) in 82, 86 and 88 %; this interval did in
//! 92, 89 and 91 %.

use crate::likelihood::{Location, locate};
use crate::measured::{CONFIDENCE, Estimate, Span};
use crate::student::reach;

/// A value of the parameter, or one of its limits, with the best location there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stop {
    pub(crate) at: f64,
    pub(crate) location: Location,
}

/// The likelihood along the line of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Profile {
    /// The best stop.
    pub(crate) best: Stop,
    /// The interval of the parameter.
    pub(crate) interval: Estimate,
    /// How many spans are bounded; the others tell a side, but add no degree of freedom.
    pub(crate) bounded: usize,
    /// Stops whose parameter lies in the interval, its ends included.
    inside: Vec<Stop>,
    /// The lowest log-likelihood that is still inside.
    cut: f64,
}

/// The profile of the spans over an ascending `grid` of parameters and the limits on both
/// sides of it, where `offsets(p)` are the offsets for parameter `p`; at a limit, `p` is
/// infinite. `None` if fewer than three spans are bounded: two parameters go through any
/// two values.
pub(crate) fn profile(
    spans: &[Span],
    grid: &[f64],
    offsets: impl Fn(f64, &mut [f64]),
) -> Option<Profile> {
    let bounded = spans.iter().filter(|span| span.is_bounded()).count();
    if bounded < 3 {
        return None;
    }
    let stop = |at: f64| -> Option<Stop> {
        let mut room = vec![0.0; spans.len()];
        offsets(at, &mut room);
        Some(Stop { at, location: locate(spans, &room)? })
    };
    let places = [&[f64::NEG_INFINITY], grid, &[f64::INFINITY]];
    let mut stops: Vec<Stop> =
        places.into_iter().flatten().map(|&at| stop(at)).collect::<Option<_>>()?;
    let top = highest(&stops);
    let best = summit(&stops, top, &stop)?;
    if best != stops[top] {
        let behind = stops.partition_point(|stop| stop.at < best.at);
        stops.insert(behind, best);
    }
    let degrees = bounded - 2;
    let allowed = reach(CONFIDENCE, degrees).powi(2) / degrees as f64;
    let cut = best.location.log_likelihood - 0.5 * bounded as f64 * allowed.ln_1p();
    let inside = interior(&stops, best, cut, &stop)?;
    let (low, high) = (inside[0].at, inside[inside.len() - 1].at);
    let interval = Estimate { value: best.at, low, high };
    Some(Profile { best, interval, bounded, inside, cut })
}

fn highest(stops: &[Stop]) -> usize {
    let height = |i: &usize| stops[*i].location.log_likelihood;
    // Of equally likely stops the first: the smaller parameter claims less.
    (0..stops.len()).rev().max_by(|a, b| height(a).total_cmp(&height(b))).unwrap_or(0)
}

/// The best stop about the highest one of the grid, by golden section.
fn summit(stops: &[Stop], top: usize, stop: &impl Fn(f64) -> Option<Stop>) -> Option<Stop> {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let finite = |i: usize| stops.get(i).map_or(f64::NAN, |stop| stop.at);
    let (mut low, mut high) = (finite(top.wrapping_sub(1)), finite(top + 1));
    let mut best = stops[top];
    if !low.is_finite() || !high.is_finite() || !best.at.is_finite() {
        return Some(best);
    }
    let mut pair = [stop(high - GOLDEN * (high - low))?, stop(low + GOLDEN * (high - low))?];
    while high - low > 1e-3 {
        let [left, right] = pair;
        if left.location.log_likelihood > right.location.log_likelihood {
            high = right.at;
            pair = [stop(high - GOLDEN * (high - low))?, left];
        } else {
            low = left.at;
            pair = [right, stop(low + GOLDEN * (high - low))?];
        }
    }
    for candidate in pair {
        if candidate.location.log_likelihood > best.location.log_likelihood {
            best = candidate;
        }
    }
    Some(best)
}

/// Stops from end to end of the interval: where the likelihood crosses `cut` outermost,
/// the best one, and some between them.
fn interior(
    stops: &[Stop],
    best: Stop,
    cut: f64,
    stop: &impl Fn(f64) -> Option<Stop>,
) -> Option<Vec<Stop>> {
    const BETWEEN: usize = 5;
    let is_inside = |stop: &Stop| stop.location.log_likelihood >= cut;
    let first = stops.iter().position(is_inside)?;
    let last = stops.iter().rposition(is_inside)?;
    let crossing = |outside: Option<&Stop>, inside: &Stop| -> Option<Stop> {
        let mut within = *inside;
        let mut out = outside.map_or(f64::NAN, |stop| stop.at);
        // Between a limit and the end of the grid there is nothing to tell apart.
        while out.is_finite() && within.at.is_finite() && (out - within.at).abs() > 2e-3 {
            let middle = stop(0.5 * (out + within.at))?;
            if is_inside(&middle) { within = middle } else { out = middle.at }
        }
        Some(within)
    };
    let low = crossing(first.checked_sub(1).map(|i| &stops[i]), &stops[first])?;
    let high = crossing(stops.get(last + 1), &stops[last])?;
    let mut inside = vec![low];
    for end in [low, high] {
        // Towards a limit, the stops of the grid are what there is between.
        for i in 1..=BETWEEN {
            let at = end.at + (best.at - end.at) * i as f64 / (BETWEEN + 1) as f64;
            if at.is_finite() {
                inside.push(stop(at)?);
            }
        }
    }
    inside.extend(stops[first..=last].iter().copied());
    inside.push(high);
    inside.retain(|stop| is_inside(stop));
    Some(inside)
}

impl Profile {
    /// The interval of `centre + shift(parameter)`.
    ///
    /// At each parameter, the centres that are likely enough lie about the best one there,
    /// within a distance that follows from the curvature; the interval holds all of them.
    pub(crate) fn centre(&self, shift: impl Fn(f64) -> f64) -> Estimate {
        let n = self.bounded as f64;
        let mut ends = (f64::INFINITY, f64::NEG_INFINITY);
        for Stop { at, location } in &self.inside {
            let slack = (location.log_likelihood - self.cut).max(0.0);
            let room = (n * location.variance * (2.0 * slack / n).exp_m1()).sqrt();
            let centre = location.centre + shift(*at);
            ends = (ends.0.min(centre - room), ends.1.max(centre + room));
        }
        let value = self.best.location.centre + shift(self.best.at);
        Estimate { value, low: ends.0, high: ends.1 }
    }

    /// The scatter of the values about the best curve, with the parameter and the centre
    /// paid for.
    pub(crate) fn scatter(&self) -> f64 {
        let n = self.bounded as f64;
        self.best.location.scatter * (n / (n - 2.0)).sqrt()
    }
}
