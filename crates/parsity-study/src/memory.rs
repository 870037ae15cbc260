//! The bytes that trainings of a study take: known before anything runs.

use crate::units::Sparsity;
use serde::Serialize;

/// What a study's trainings hold in memory. A process holds its trials, and each of its
/// threads a block of images.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Weights, gradient, velocity and pattern of a trial, by sparsity.
    pub trial_bytes: Vec<TrialBytes>,
    /// Activations and their gradients of a block, at most: what a thread works in.
    pub thread_bytes: u64,
}

/// The bytes of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TrialBytes {
    /// The sparsity of its network.
    pub sparsity: Sparsity,
    /// What it holds.
    pub bytes: u64,
}
