//! What is seen when the smoothness of a training is watched.
//!
//! Apart from goal checks: it takes gradients over the whole training split, so it is
//! asked for on its own, and it changes nothing of the run that it watches.

use crate::trial::Metaparameters;
use crate::units::{BatchSize, ErrorRate, Sparsity, Steps};
use crate::workload::Optimizer;
use serde::{Deserialize, Serialize};

/// A training whose smoothness was watched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SmoothnessRun {
    /// The data set.
    pub dataset: String,
    /// The model.
    pub model: String,
    /// The optimizer.
    pub optimizer: Optimizer,
    /// Its metaparameters.
    pub metaparameters: Metaparameters,
    /// The batch size.
    pub batch_size: BatchSize,
    /// The share of parameters that were pruned.
    pub sparsity: Sparsity,
    /// The seed of the initial weights.
    pub seed: u64,
    /// What was seen, in the order of steps.
    pub points: Vec<SmoothnessPoint>,
}

/// What was seen at one step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SmoothnessPoint {
    /// Steps trained so far.
    pub step: Steps,
    /// The local Lipschitz constant of the gradient.
    pub lipschitz: f64,
    /// The loss over the whole training split.
    pub loss: f64,
    /// The validation error.
    pub error: ErrorRate,
    /// Squared norms of gradients, from which the noise scale is estimated.
    pub norms: GradientNorms,
}

/// Squared norms of the mean gradients of a small batch and of a big one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GradientNorms {
    /// Examples of the small batch.
    pub small_batch: f64,
    /// The mean squared norm of the gradients of small batches.
    pub small: f64,
    /// Examples of the big batch.
    pub big_batch: f64,
    /// The squared norm of the gradient of the big batch.
    pub big: f64,
}
