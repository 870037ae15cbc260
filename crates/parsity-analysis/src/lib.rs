//! The answer: records become steps-to-result and scaling curves. Pure values throughout.

pub mod scaling;
pub mod steps;

#[cfg(test)]
mod specimen;

pub use scaling::{Curve, PerfectScaling, Point, Scaling};
pub use steps::{CellSummary, Standing, by_goal, summarize, tightest};
