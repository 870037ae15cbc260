//! How often the goal is checked: every so many steps, by batch size.
//!
//! At large batches a result is a few hundred steps away, so a coarse interval would
//! blur it; at small ones a fine interval would cost more than it tells.

use crate::units::{BatchSize, Steps};
use serde::{Deserialize, Serialize};
use std::fmt;

/// From one batch size on, the steps between goal checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckRange {
    /// The smallest batch size of the range.
    pub from_batch_size: BatchSize,
    /// The training steps between goal checks.
    pub steps: Steps,
}

/// The steps between goal checks at every batch size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CheckEvery(Vec<CheckRange>);

impl CheckEvery {
    /// The same at every batch size.
    pub fn always(steps: Steps) -> Self {
        CheckEvery(vec![CheckRange { from_batch_size: BatchSize(1), steps }])
    }

    /// What the ranges say; each ends where the next begins, and the first one serves
    /// everything below it, too.
    pub fn by_batch_size(mut ranges: Vec<CheckRange>) -> Option<Self> {
        ranges.sort_by_key(|range| range.from_batch_size);
        (!ranges.is_empty()).then_some(CheckEvery(ranges))
    }

    /// Its ranges, in ascending order; at least one.
    pub fn ranges(&self) -> &[CheckRange] {
        &self.0
    }

    /// The steps between goal checks at `batch_size`.
    pub fn at(&self, batch_size: BatchSize) -> Steps {
        let behind = self.0.partition_point(|range| range.from_batch_size <= batch_size);
        self.0[behind.saturating_sub(1)].steps
    }
}

/// In canonical texts: `16`, or `16, from 1024: 4`.
impl fmt::Display for CheckEvery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0[0].steps)?;
        let more = &self.0[1..];
        more.iter()
            .try_for_each(|range| write!(f, ", from {}: {}", range.from_batch_size, range.steps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_range_ends_where_the_next_begins() {
        let range =
            |from, steps| CheckRange { from_batch_size: BatchSize(from), steps: Steps(steps) };
        let every =
            CheckEvery::by_batch_size(vec![range(1024, 4), range(8, 16), range(4096, 1)]).unwrap();
        let at = |size| every.at(BatchSize(size)).0;
        assert_eq!([2, 8, 1023, 1024, 4095, 4096].map(at), [16, 16, 16, 4, 4, 1]);
        assert_eq!(every.to_string(), "16, from 1024: 4, from 4096: 1");
        assert_eq!(CheckEvery::always(Steps(32)).to_string(), "32");
        assert_eq!(CheckEvery::by_batch_size(vec![]), None);
    }
}
