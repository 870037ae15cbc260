//! Tested statements: holds, does not hold, or not enough data.
//!
//! Apart so that every statement is tested in the same way: by the 90 % interval of a
//! number, against what the statement says about that number. What the interval leaves
//! open stays open.

use crate::measured::Estimate;
use serde::Serialize;
use std::fmt;

/// What the data say about a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The whole interval agrees with it.
    Holds,
    /// The whole interval contradicts it.
    DoesNotHold,
    /// The interval allows for both, or there is none.
    NotEnoughData,
}

/// A number that a verdict rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evidence {
    /// What the number is.
    pub name: &'static str,
    /// The number.
    pub estimate: Estimate,
}

/// A statement that was tested.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Statement {
    /// What it says.
    pub says: String,
    /// What the data say about it.
    pub verdict: Verdict,
    /// The numbers that it was tested with.
    pub evidence: Vec<Evidence>,
}

impl Verdict {
    /// Whether a number is above `threshold`. It is not if it is at most `negligible`
    /// times that: two numbers are never found to be equal, only close.
    pub fn above(number: Estimate, threshold: f64, negligible: f64) -> Verdict {
        if number.low > threshold {
            Verdict::Holds
        } else if number.high < threshold * negligible {
            Verdict::DoesNotHold
        } else {
            Verdict::NotEnoughData
        }
    }

    /// Whether a number is below `threshold`; it is not if it is at least that, divided by
    /// `negligible`.
    pub fn below(number: Estimate, threshold: f64, negligible: f64) -> Verdict {
        if number.high < threshold {
            Verdict::Holds
        } else if number.low > threshold / negligible {
            Verdict::DoesNotHold
        } else {
            Verdict::NotEnoughData
        }
    }

    /// Whether a number lies from `from` to `to`.
    pub fn inside(number: Estimate, from: f64, to: f64) -> Verdict {
        if number.low >= from && number.high <= to {
            Verdict::Holds
        } else if number.high < from || number.low > to {
            Verdict::DoesNotHold
        } else {
            Verdict::NotEnoughData
        }
    }

    /// Whether all of them hold. One that does not is enough for that they do not; of none
    /// at all there is nothing to say.
    pub fn all(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
        let mut all = None;
        for verdict in verdicts {
            all = match (all, verdict) {
                (Some(Verdict::DoesNotHold), _) | (_, Verdict::DoesNotHold) => {
                    Some(Verdict::DoesNotHold)
                }
                (Some(Verdict::NotEnoughData), _) | (_, Verdict::NotEnoughData) => {
                    Some(Verdict::NotEnoughData)
                }
                _ => Some(Verdict::Holds),
            };
        }
        all.unwrap_or(Verdict::NotEnoughData)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Holds => "holds",
            Verdict::DoesNotHold => "does not hold",
            Verdict::NotEnoughData => "not enough data",
        })
    }
}

impl Statement {
    /// A statement about one number, or about none if it could not be estimated.
    pub(crate) fn about(
        says: String,
        name: &'static str,
        number: Option<Estimate>,
        test: impl Fn(Estimate) -> Verdict,
    ) -> Statement {
        Statement {
            says,
            verdict: number.map_or(Verdict::NotEnoughData, test),
            evidence: number.map(|estimate| Evidence { name, estimate }).into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{DoesNotHold, Holds, NotEnoughData};

    fn between(low: f64, high: f64) -> Estimate {
        Estimate { value: 0.5 * (low + high), low, high }
    }

    #[test]
    fn a_verdict_needs_the_whole_interval() {
        assert_eq!(Verdict::above(between(1.1, 2.0), 1.0, 1.25), Holds);
        assert_eq!(Verdict::above(between(0.9, 2.0), 1.0, 1.25), NotEnoughData);
        assert_eq!(Verdict::above(between(0.9, 1.2), 1.0, 1.25), DoesNotHold);
        assert_eq!(Verdict::above(between(1.01, 1.2), 1.0, 1.25), Holds);
        assert_eq!(Verdict::below(between(0.5, 0.9), 1.0, 1.25), Holds);
        assert_eq!(Verdict::below(between(0.9, 1.1), 1.0, 1.25), DoesNotHold);
        assert_eq!(Verdict::below(between(0.7, 1.1), 1.0, 1.25), NotEnoughData);
        assert_eq!(Verdict::inside(between(1.5, 4.5), 1.5, 4.5), Holds);
        assert_eq!(Verdict::inside(between(4.6, 9.0), 1.5, 4.5), DoesNotHold);
        assert_eq!(Verdict::inside(between(4.0, f64::INFINITY), 1.5, 4.5), NotEnoughData);
    }

    #[test]
    fn all_hold_only_if_each_does_and_one_refutes_them_all() {
        assert_eq!(Verdict::all([Holds, Holds]), Holds);
        assert_eq!(Verdict::all([Holds, NotEnoughData]), NotEnoughData);
        assert_eq!(Verdict::all([NotEnoughData, DoesNotHold, Holds]), DoesNotHold);
        assert_eq!(Verdict::all([]), NotEnoughData);
    }
}
