//! Numbers with their meaning: batch size, sparsity, steps, error rate.
//!
//! Apart so that a step is never added to a batch size, and so that each is printed in
//! one way everywhere. Sparsity is held in millionths: it can be compared and hashed,
//! and 0.9 is exactly nine tenths.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How many examples make one gradient: the amount of data parallelism.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BatchSize(pub u32);

/// Training steps.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Steps(pub u64);

/// The share of examples that are classified wrongly.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ErrorRate(pub f64);

/// The share of parameters that pruning removes, in millionths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sparsity(u32);

impl Sparsity {
    /// Nothing is pruned.
    pub const DENSE: Sparsity = Sparsity(0);

    /// The sparsity of `share`, if it lies in [0, 1).
    pub fn new(share: f64) -> Option<Self> {
        let millionths = (share * 1e6).round();
        (0.0..1e6).contains(&millionths).then_some(Sparsity(millionths as u32))
    }

    /// The share of parameters that are removed.
    pub fn share(self) -> f64 {
        f64::from(self.0) / 1e6
    }

    /// How many of `parameters` survive: round(n·(1 − s)), halves up.
    pub fn survivors(self, parameters: usize) -> usize {
        let kept = parameters as u64 * u64::from(1_000_000 - self.0);
        ((kept + 500_000) / 1_000_000) as usize
    }
}

impl fmt::Display for BatchSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for ErrorRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// As people say it: `90 %`.
impl fmt::Display for Sparsity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} %", f64::from(self.0) / 1e4))
    }
}

impl Serialize for Sparsity {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.share())
    }
}

impl<'de> Deserialize<'de> for Sparsity {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let share = f64::deserialize(deserializer)?;
        Sparsity::new(share).ok_or_else(|| {
            serde::de::Error::custom(format!("sparsity {share} is not at least 0 and below 1"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survivors_are_those_of_the_published_networks() {
        let survivors = |share, n| Sparsity::new(share).unwrap().survivors(n);
        assert_eq!([0.5, 0.7, 0.9].map(|s| survivors(s, 62_346)), [31_173, 18_704, 6_235]);
        assert_eq!([0.5, 0.7, 0.9].map(|s| survivors(s, 75_050)), [37_525, 22_515, 7_505]);
        assert_eq!(survivors(0.0, 62_346), 62_346);
    }

    #[test]
    fn sparsity_lies_in_zero_to_below_one() {
        assert!(Sparsity::new(-0.1).is_none());
        assert!(Sparsity::new(1.0).is_none());
        assert!(Sparsity::new(f64::NAN).is_none());
        assert_eq!(Sparsity::new(0.9).unwrap().to_string(), "90 %");
        assert_eq!(Sparsity::new(0.995).unwrap().to_string(), "99.5 %");
    }
}
