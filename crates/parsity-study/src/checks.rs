//! How often the goal is checked: every so many steps, by batch size.
//!
//! At large batches a result is a few hundred steps away, so a coarse interval would
//! blur it; at small ones a fine interval would cost more than it tells. The same words
//! serve study files and JSON: a number, or a list of ranges.

use crate::check::check_intervals;
use crate::error::Problem;
use crate::units::{BatchSize, Steps};
use schemars::JsonSchema;
use serde::de::{Error, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// From one batch size on, the steps between goal checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a range like { from_batch_size = 2, steps = 16 }")]
pub struct CheckRange {
    /// The smallest batch size of the range.
    #[schemars(with = "u32", range(min = 1))]
    pub from_batch_size: BatchSize,
    /// The training steps between goal checks.
    #[schemars(with = "u64", range(min = 1))]
    pub steps: Steps,
}

/// The steps between goal checks as they are written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum CheckKeys {
    /// The same at every batch size.
    Always(#[schemars(with = "u64", range(min = 1))] Steps),
    /// By batch size: each range ends where the next begins, and the first one serves
    /// everything below it, too.
    ByBatchSize(#[schemars(length(min = 1))] Vec<CheckRange>),
}

/// By hand, because an error in a range has to keep its place in the file.
impl<'de> Deserialize<'de> for CheckKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KeysVisitor)
    }
}

struct KeysVisitor;

impl<'de> Visitor<'de> for KeysVisitor {
    type Value = CheckKeys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of steps or a list of ranges")
    }

    fn visit_u64<E: Error>(self, steps: u64) -> Result<CheckKeys, E> {
        Ok(CheckKeys::Always(Steps(steps)))
    }

    fn visit_i64<E: Error>(self, steps: i64) -> Result<CheckKeys, E> {
        match u64::try_from(steps) {
            Ok(steps) => self.visit_u64(steps),
            Err(_) => Err(E::invalid_value(Unexpected::Signed(steps), &self)),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<CheckKeys, A::Error> {
        let mut ranges = Vec::new();
        while let Some(range) = elements.next_element()? {
            ranges.push(range);
        }
        Ok(CheckKeys::ByBatchSize(ranges))
    }
}

impl CheckKeys {
    /// Its ranges, in the order in which they are written.
    pub fn ranges(&self) -> Vec<CheckRange> {
        match self {
            CheckKeys::Always(steps) => {
                vec![CheckRange { from_batch_size: CheckEvery::FIRST, steps: *steps }]
            }
            CheckKeys::ByBatchSize(ranges) => ranges.clone(),
        }
    }
}

/// The steps between goal checks at every batch size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "CheckKeys", into = "CheckKeys")]
pub struct CheckEvery(Vec<CheckRange>);

impl CheckEvery {
    /// Where the first range begins.
    const FIRST: BatchSize = BatchSize(1);

    /// The same at every batch size.
    pub fn always(steps: Steps) -> Self {
        CheckEvery(vec![CheckRange { from_batch_size: CheckEvery::FIRST, steps }])
    }

    /// What the ranges say; each ends where the next begins, and the first one serves
    /// everything below it, too.
    pub fn by_batch_size(ranges: Vec<CheckRange>) -> Result<Self, Problem> {
        CheckKeys::ByBatchSize(ranges).try_into()
    }

    /// Its ranges, in ascending order; at least one, and no two neighbours are alike.
    pub fn ranges(&self) -> &[CheckRange] {
        &self.0
    }

    /// The steps between goal checks at `batch_size`.
    pub fn at(&self, batch_size: BatchSize) -> Steps {
        let behind = self.0.partition_point(|range| range.from_batch_size <= batch_size);
        self.0[behind.saturating_sub(1)].steps
    }
}

/// What means the same becomes the same value, so that it is the same question: the first
/// range begins with the first batch size, and a range like the one before it is part of it.
impl TryFrom<CheckKeys> for CheckEvery {
    type Error = Problem;

    fn try_from(keys: CheckKeys) -> Result<Self, Problem> {
        check_intervals(&keys)?;
        let mut ranges = keys.ranges();
        ranges.sort_by_key(|range| range.from_batch_size);
        ranges.dedup_by_key(|range| range.steps);
        ranges[0].from_batch_size = CheckEvery::FIRST;
        Ok(CheckEvery(ranges))
    }
}

impl From<CheckEvery> for CheckKeys {
    fn from(CheckEvery(ranges): CheckEvery) -> Self {
        match ranges[..] {
            [only] => CheckKeys::Always(only.steps),
            _ => CheckKeys::ByBatchSize(ranges),
        }
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

    fn every<const N: usize>(ranges: [(u32, u64); N]) -> Result<CheckEvery, Problem> {
        let range =
            |(from, steps)| CheckRange { from_batch_size: BatchSize(from), steps: Steps(steps) };
        CheckEvery::by_batch_size(ranges.map(range).to_vec())
    }

    #[test]
    fn each_range_ends_where_the_next_begins() {
        let every = every([(1024, 4), (8, 16), (4096, 1)]).unwrap();
        let at = |size| every.at(BatchSize(size)).0;
        assert_eq!([1, 8, 1023, 1024, 4095, 4096].map(at), [16, 16, 16, 4, 4, 1]);
        assert_eq!(every.to_string(), "16, from 1024: 4, from 4096: 1");
        assert_eq!(CheckEvery::always(Steps(32)).to_string(), "32");
    }

    #[test]
    fn ranges_that_mean_the_same_are_the_same() {
        assert_eq!(every([(8, 16)]).unwrap(), CheckEvery::always(Steps(16)));
        assert_eq!(every([(2, 16), (64, 16), (1024, 16)]), every([(4, 16)]));
        assert_eq!(every([(2, 16), (64, 16), (1024, 4)]), every([(8, 16), (1024, 4)]));
        assert_ne!(every([(2, 16), (1024, 4)]), every([(2, 16), (512, 4)]));
    }

    #[test]
    fn json_is_a_number_where_it_can_be_and_a_list_of_ranges_elsewhere() {
        let ranges = serde_json::json!([
            { "from_batch_size": 1, "steps": 16 }, { "from_batch_size": 1024, "steps": 4 },
        ]);
        let number = serde_json::json!(16);
        for (check_every, json) in
            [(every([(2, 16), (1024, 4)]).unwrap(), ranges), (every([(2, 16)]).unwrap(), number)]
        {
            assert_eq!(serde_json::to_value(&check_every).unwrap(), json);
            assert_eq!(serde_json::from_value::<CheckEvery>(json).unwrap(), check_every);
        }
    }

    #[test]
    fn what_is_no_interval_cannot_be_read() {
        let twice = r#"[{"from_batch_size": 2, "steps": 4}, {"from_batch_size": 2, "steps": 8}]"#;
        for (json, message) in [
            ("0", "`check_every` is 0: expected 1 to 1000000000"),
            ("[]", "`check_every` is empty: expected at least one range"),
            (twice, "`check_every` holds from_batch_size 2 twice: expected each value once"),
        ] {
            let error = serde_json::from_str::<CheckEvery>(json).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
