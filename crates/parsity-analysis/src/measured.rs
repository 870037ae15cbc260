//! What was measured, and what was concluded: spans of steps, and estimates with intervals.
//!
//! Apart because every analysis starts from the one and ends at the other. The goal is
//! only checked now and then, so steps-to-result are never known as a number: they lie
//! above the last check without the goal, and at most at the first check with it. A cell
//! without a complete trial is not missing: its steps are more than the budget.

use serde::Serialize;

/// The confidence of every interval here: in nine of ten studies it holds the truth.
pub const CONFIDENCE: f64 = 0.9;

/// Steps-to-result, as far as the goal checks tell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measured {
    /// The goal was reached between two checks.
    Interval {
        /// The last check without the goal, or 0; below `at_most`.
        above: f64,
        /// The first check with the goal.
        at_most: f64,
    },
    /// No trial reached the goal.
    Censored {
        /// The steps that were trained in vain.
        more_than: f64,
    },
}

/// The steps-to-result of one batch size of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Reading {
    /// The batch size.
    pub batch_size: f64,
    /// The steps-to-result.
    pub steps: Measured,
}

/// A number with its interval of 90 % confidence. Most are positive, and an end that the
/// data do not bound is 0 or infinity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The most likely value.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

/// A measured value on the logarithmic scale: it lies above `low` and at most at `high`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Span {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Measured {
    /// Reached at the check at `steps`, with a check every `check_every` steps.
    pub fn at_check(steps: f64, check_every: f64) -> Self {
        Measured::Interval { above: (steps - check_every).max(0.0), at_most: steps }
    }

    /// The steps for a figure: where the goal was seen to be reached, or the last step
    /// at which it was known not to be.
    pub fn shown(self) -> f64 {
        match self {
            Measured::Interval { at_most, .. } => at_most,
            Measured::Censored { more_than } => more_than,
        }
    }

    /// The logarithm of the steps.
    pub(crate) fn span(self) -> Span {
        match self {
            Measured::Interval { above, at_most } => Span { low: above.ln(), high: at_most.ln() },
            Measured::Censored { more_than } => Span { low: more_than.ln(), high: f64::INFINITY },
        }
    }
}

impl Estimate {
    /// Whether both ends are bounded by the data.
    pub fn is_bounded(&self) -> bool {
        self.low > 0.0 && self.high.is_finite()
    }

    /// The narrowest interval that holds both, about the value of this one.
    pub(crate) fn hull(&self, other: &Estimate) -> Estimate {
        let (low, high) = (self.low.min(other.low), self.high.max(other.high));
        Estimate { value: self.value, low, high }
    }

    /// Whether the interval holds `value`.
    pub fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// The quotient of two positive numbers that were estimated independently.
    ///
    /// Its interval is made from the distances to the ends of both, squared, added and
    /// rooted, on the logarithmic scale, each side with the ends that move it there. So
    /// lopsided and unbounded intervals keep their shape, which a standard error would
    /// lose. If the two share part of their noise, the interval is too wide rather than
    /// too narrow.
    pub fn over(&self, other: &Estimate) -> Estimate {
        let (value, by) = (self.value.ln(), other.value.ln());
        let at = value - by;
        if !at.is_finite() {
            // Without a distance to the ends, their quotients are the widest it can be.
            let (low, high) = (self.low / other.high, self.high / other.low);
            return Estimate { value: self.value / other.value, low, high };
        }
        let down = (value - self.low.ln()).hypot(other.high.ln() - by);
        let up = (self.high.ln() - value).hypot(by - other.low.ln());
        Estimate { value: at.exp(), low: (at - down).exp(), high: (at + up).exp() }
    }

    /// The same on another scale: `map` must grow with its argument.
    pub(crate) fn map(self, map: impl Fn(f64) -> f64) -> Estimate {
        Estimate { value: map(self.value), low: map(self.low), high: map(self.high) }
    }
}

impl Span {
    /// Bounded on both sides.
    pub(crate) fn is_bounded(self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }

    pub(crate) fn middle(self) -> f64 {
        0.5 * (self.low + self.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value, low, high }
    }

    #[test]
    fn a_quotient_is_less_certain_than_its_parts_but_not_as_the_worst_case() {
        let quotient = estimate(8.0, 4.0, 16.0).over(&estimate(2.0, 1.0, 4.0));
        let reach = (2f64.sqrt() * 2f64.ln()).exp();
        assert!((quotient.value - 4.0).abs() < 1e-12);
        assert!((quotient.low - 4.0 / reach).abs() < 1e-12);
        assert!((quotient.high - 4.0 * reach).abs() < 1e-12);
    }

    #[test]
    fn an_end_that_is_open_stays_open_on_its_side_of_a_quotient() {
        let open = estimate(8.0, 4.0, f64::INFINITY);
        let over = open.over(&estimate(2.0, 2.0, 2.0));
        assert!((over.low - 2.0).abs() < 1e-12);
        assert_eq!(over.high, f64::INFINITY);
        let under = estimate(2.0, 2.0, 2.0).over(&open);
        assert_eq!(under.low, 0.0);
        assert!((under.high - 0.5).abs() < 1e-12);
        let limit = estimate(f64::INFINITY, 400.0, f64::INFINITY).over(&estimate(50.0, 40.0, 80.0));
        assert_eq!((limit.value, limit.low, limit.high), (f64::INFINITY, 5.0, f64::INFINITY));
    }

    #[test]
    fn steps_lie_between_two_checks() {
        let at = |steps| Measured::at_check(steps, 16.0);
        assert_eq!(at(320.0), Measured::Interval { above: 304.0, at_most: 320.0 });
        assert_eq!(at(16.0).span().low, f64::NEG_INFINITY);
        assert!(!Measured::Censored { more_than: 40_000.0 }.span().is_bounded());
    }
}
