//! The answer: records become steps-to-result and scaling curves, laws, tested claims and
//! findings. Pure values throughout.
//!
//! From the measured to the told: [`Measured`] steps make [`Reading`]s, a curve of
//! readings has a [`Law`] with its [`Regions`], two curves have [`Ratios`]; all numbers are
//! [`Estimate`]s, from which statements get their [`Verdict`].

mod edges;
mod likelihood;
mod order;
mod profile;
mod student;

pub mod answer;
pub mod claims;
pub mod curves;
pub mod findings;
pub mod forecast;
pub mod law;
pub mod measured;
pub mod minimum;
pub mod noise;
pub mod random;
pub mod ratio;
pub mod regions;
pub mod remaining;
pub mod scaling;
pub mod smoothness;
pub mod steps;
pub mod verdict;

#[cfg(test)]
mod specimen;

pub use answer::{Answer, CellAnswer, CellEffort, GoalAnswer, Group, StudyAnswer};
pub use claims::{Claim, LipschitzAverage, LipschitzAverages};
pub use curves::{FittedCurve, StudyCurves};
pub use edges::Edge;
pub use findings::{Finding, examine_cell, examine_curve, examine_noise};
pub use forecast::{Forecast, Measurements, Wires};
pub use law::{Better, Fit, Form, Law};
pub use measured::{CONFIDENCE, Estimate, Measured, Reading};
pub use minimum::{another_minimum, trial_steps};
pub use noise::{NoiseScale, SquaredNorms, noise_scale};
pub use parsity_study::StudyRecords;
pub use ratio::{RatioLine, RatioPoint, Ratios};
pub use regions::{Region, Regions};
pub use remaining::{CellTime, cell_times, seconds_left};
pub use scaling::{Curve, PerfectScaling, Point, Scaling};
pub use smoothness::{
    SmoothnessSummary, alike, examine_smoothness, local_noise_scale, summarize_smoothness,
};
pub use steps::{CellSummary, Standing, by_goal, summarize, tightest};
pub use verdict::{Evidence, Statement, Verdict};
