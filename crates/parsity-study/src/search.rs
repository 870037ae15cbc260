//! The search space: which metaparameters are searched, over which ranges.
//!
//! Point `i` is a pure function of the space and `i`. Powers come from `libm`, whose
//! results are the same on every machine: a metaparameter is part of a trial's identity.

use crate::sobol;
use crate::trial::Metaparameters;
use crate::units::Steps;
use crate::words::words;
use crate::workload::{Optimizer, Schedule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

words! {
    /// How a range is covered.
    pub enum Scale {
        /// The logarithm is uniform: each decade gets the same number of trials.
        Log = "log",
        /// The logarithm of one minus the value is uniform, counted from the end of the
        /// range: for values just below 1.
        ReverseLog = "reverse-log",
        /// The value itself is uniform.
        Linear = "linear",
        /// As linear, rounded to the nearest whole number, halves up.
        Integer = "integer",
    }
}

/// The values that a metaparameter may take, and how they are covered.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// The lowest value.
    pub from: f64,
    /// The highest value.
    pub to: f64,
    /// How the values between are covered.
    pub scale: Scale,
}

impl Range {
    /// The learning rates of the published study.
    pub const LEARNING_RATE: Range = Range { from: 1e-4, to: 1.0, scale: Scale::Log };
    /// The momenta of the published study.
    pub const MOMENTUM: Range = Range { from: 0.9, to: 0.9999, scale: Scale::ReverseLog };
    /// The decay steps of the published study.
    pub const DECAY_STEPS: Range = Range { from: 30_000.0, to: 60_000.0, scale: Scale::Integer };
    /// The end factors of the published study.
    pub const END_FACTOR: Range = Range { from: 1e-4, to: 0.1, scale: Scale::Log };

    /// The value at `u` in [0, 1]. All scales go from `from` at 0 to `to` at 1, except
    /// reverse-log, which goes from `to` at 0 to `from` at 1.
    pub fn at(self, u: f64) -> f64 {
        let Range { from, to, scale } = self;
        let value = match scale {
            Scale::Log => from * libm::pow(to / from, u),
            Scale::ReverseLog => 1.0 - (1.0 - to) * libm::pow((1.0 - from) / (1.0 - to), u),
            Scale::Linear => from + u * (to - from),
            Scale::Integer => libm::floor(from + u * (to - from) + 0.5),
        };
        // Rounding may step over an end by one unit in the last place.
        value.clamp(from, to)
    }
}

/// As in a study file: `{ from = 0.0001, to = 1, scale = "log" }`.
impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { from, to, scale } = self;
        write!(f, "{{ from = {from}, to = {to}, scale = \"{scale}\" }}")
    }
}

/// A range as a study file gives it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a range like { from = 0.1, to = 0.9 }")]
pub struct RangeKeys {
    /// The lowest value.
    pub from: f64,
    /// The highest value, above `from`.
    pub to: f64,
    /// How the values between are covered; if absent, as in the published study.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scale: Option<Scale>,
}

/// The ranges that a study file gives; those that are absent are the published study's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table of ranges")]
pub struct SearchKeys {
    /// The (initial) learning rate. Default: 0.0001 to 1, log.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub learning_rate: Option<RangeKeys>,
    /// The momentum, for the optimizers that have one. Default: 0.9 to 0.9999, reverse-log.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub momentum: Option<RangeKeys>,
    /// The steps of a linear decay. Default: 30000 to 60000, integer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub decay_steps: Option<RangeKeys>,
    /// The end learning rate of a linear decay, as a share of the initial one.
    /// Default: 0.0001 to 0.1, log.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub end_factor: Option<RangeKeys>,
}

/// The ranges of the metaparameters that a workload uses.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Space {
    /// The range of the (initial) learning rate.
    pub learning_rate: Range,
    /// The range of the momentum, if the optimizer has one.
    pub momentum: Option<Range>,
    /// The range of the decay steps, if the learning rate decays.
    pub decay_steps: Option<Range>,
    /// The range of the end factor, if the learning rate decays.
    pub end_factor: Option<Range>,
}

impl Space {
    /// The space of a workload, from the keys of its study file.
    pub fn new(optimizer: Optimizer, schedule: Schedule, keys: &SearchKeys) -> Self {
        let resolve = |keys: Option<RangeKeys>, default: Range| match keys {
            Some(RangeKeys { from, to, scale }) => {
                Range { from, to, scale: scale.unwrap_or(default.scale) }
            }
            None => default,
        };
        let decays = schedule == Schedule::LinearDecay;
        Space {
            learning_rate: resolve(keys.learning_rate, Range::LEARNING_RATE),
            momentum: optimizer.has_momentum().then(|| resolve(keys.momentum, Range::MOMENTUM)),
            decay_steps: decays.then(|| resolve(keys.decay_steps, Range::DECAY_STEPS)),
            end_factor: decays.then(|| resolve(keys.end_factor, Range::END_FACTOR)),
        }
    }

    /// The searched metaparameters by key, in the order of the Sobol dimensions.
    pub fn dimensions(&self) -> impl Iterator<Item = (&'static str, Range)> {
        [
            ("learning_rate", Some(self.learning_rate)),
            ("momentum", self.momentum),
            ("decay_steps", self.decay_steps),
            ("end_factor", self.end_factor),
        ]
        .into_iter()
        .filter_map(|(key, range)| Some((key, range?)))
    }

    /// Point `index` of the search: Sobol point `index + 1`, since the origin is skipped.
    pub fn point(&self, index: u32) -> Metaparameters {
        let coordinates = sobol::point(u64::from(index) + 1, self.dimensions().count());
        let mut coordinates = coordinates.into_iter();
        let mut value =
            |range: Range| range.at(coordinates.next().expect("each dimension has a coordinate"));
        Metaparameters {
            learning_rate: value(self.learning_rate),
            momentum: self.momentum.map(&mut value),
            decay_steps: self.decay_steps.map(|range| Steps(value(range) as u64)),
            end_factor: self.end_factor.map(&mut value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(optimizer: Optimizer, schedule: Schedule) -> Space {
        Space::new(optimizer, schedule, &SearchKeys::default())
    }

    fn assert_close(found: f64, published: f64, tolerance: f64) {
        assert!((found / published - 1.0).abs() < tolerance, "{found} is not {published}");
    }

    #[test]
    fn learning_rates_are_the_published_ones() {
        let space = space(Optimizer::Sgd, Schedule::Constant);
        let published = [0.01, 0.1, 0.001, 0.0031623, 0.3162278, 0.0316228, 0.00031623, 0.00056234];
        for (rate, index) in published.into_iter().zip(0..) {
            assert_close(space.point(index).learning_rate, rate, 1e-5);
        }
        assert_eq!(space.point(0).learning_rate, 0.01);
    }

    #[test]
    fn momenta_are_the_published_ones() {
        let space = space(Optimizer::Momentum, Schedule::Constant);
        for (momentum, index) in [0.996838, 0.999438, 0.982217, 0.998666].into_iter().zip(0..) {
            assert_close(space.point(index).momentum.unwrap(), momentum, 1e-6);
        }
    }

    #[test]
    fn only_what_the_workload_uses_takes_a_dimension() {
        let keys = |space: Space| space.dimensions().map(|(key, _)| key).collect::<Vec<_>>();
        let (constant, decay) = (Schedule::Constant, Schedule::LinearDecay);
        assert_eq!(keys(space(Optimizer::Sgd, constant)), ["learning_rate"]);
        assert_eq!(keys(space(Optimizer::Nesterov, constant)), ["learning_rate", "momentum"]);
        let sgd = space(Optimizer::Sgd, decay);
        assert_eq!(keys(sgd), ["learning_rate", "decay_steps", "end_factor"]);
        // Without a momentum, decay steps move up to the second dimension.
        let u = sobol::point(2, 3);
        let point = sgd.point(1);
        assert_eq!(point.decay_steps, Some(Steps(37_500)));
        assert_eq!(point.decay_steps, Some(Steps(Range::DECAY_STEPS.at(u[1]) as u64)));
        assert_eq!(point.end_factor, Some(Range::END_FACTOR.at(u[2])));
        assert_eq!(point.momentum, None);
    }

    #[test]
    fn every_scale_reaches_both_ends_of_its_range() {
        let ends = |range: Range| [range.at(0.0), range.at(1.0)];
        assert_eq!(ends(Range::LEARNING_RATE), [1e-4, 1.0]);
        assert_eq!(ends(Range::MOMENTUM), [0.9999, 0.9]);
        assert_eq!(ends(Range::DECAY_STEPS), [30_000.0, 60_000.0]);
        assert_eq!(ends(Range { from: 2.0, to: 6.0, scale: Scale::Linear }), [2.0, 6.0]);
    }

    #[test]
    fn integers_are_rounded_to_the_nearest_halves_up() {
        let range = Range { from: 1.0, to: 5.0, scale: Scale::Integer };
        let values = [0.0, 0.124, 0.125, 0.5, 0.874, 0.875, 1.0].map(|u| range.at(u));
        assert_eq!(values, [1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 5.0]);
    }

    #[test]
    fn every_point_lies_inside_its_ranges() {
        let space = space(Optimizer::Momentum, Schedule::LinearDecay);
        for index in (0..1_000).chain([u32::MAX]) {
            let point = space.point(index);
            assert!((1e-4..=1.0).contains(&point.learning_rate));
            assert!((0.9..=0.9999).contains(&point.momentum.unwrap()));
            assert!((30_000..=60_000).contains(&point.decay_steps.unwrap().0));
            assert!((1e-4..=0.1).contains(&point.end_factor.unwrap()));
        }
    }

    #[test]
    fn an_absent_scale_is_that_of_the_published_study() {
        let momentum = Some(RangeKeys { from: 0.5, to: 0.99, scale: None });
        let keys = SearchKeys { momentum, ..SearchKeys::default() };
        let space = Space::new(Optimizer::Momentum, Schedule::Constant, &keys);
        assert_eq!(space.momentum, Some(Range { from: 0.5, to: 0.99, scale: Scale::ReverseLog }));
    }
}
