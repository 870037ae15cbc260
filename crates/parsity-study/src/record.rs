//! What a trial leaves behind: observations, an outcome, a record.
//!
//! The meeting point of the laboratory, which writes records, and the analysis, which
//! reads them. Nothing here is derived: whatever can be computed from records is.

use crate::trial::Metaparameters;
use crate::units::{BatchSize, ErrorRate, Sparsity, Steps};
use serde::{Deserialize, Serialize};

/// One (batch size, sparsity) of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cell {
    /// The batch size of all its trials.
    pub batch_size: BatchSize,
    /// The sparsity of all its trials.
    pub sparsity: Sparsity,
}

/// What was seen at one goal check.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// Steps trained so far.
    pub step: Steps,
    /// Mean training loss over the steps since the last goal check.
    pub loss: f64,
    /// Error on the entire validation split.
    pub error: ErrorRate,
}

/// How a trial ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The goal was reached at its last step.
    Complete,
    /// The step budget was used up.
    Incomplete,
    /// The training loss was not finite any more.
    Infeasible,
    /// It could no longer be the best of its cell.
    Outpaced,
    /// The program failed, not the training: the message says how.
    Failed,
}

impl Outcome {
    /// All outcomes, in the order of tables and legends.
    pub const ALL: [Outcome; 5] = [
        Outcome::Complete,
        Outcome::Incomplete,
        Outcome::Infeasible,
        Outcome::Outpaced,
        Outcome::Failed,
    ];

    /// The word for it, in tables, files and the store.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Complete => "complete",
            Outcome::Incomplete => "incomplete",
            Outcome::Infeasible => "infeasible",
            Outcome::Outpaced => "outpaced",
            Outcome::Failed => "failed",
        }
    }

    /// The outcome of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Outcome::ALL.into_iter().find(|outcome| outcome.name() == name)
    }
}

/// A finished trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The cell it belongs to.
    pub cell: Cell,
    /// Its index: point `trial` of the search, seed `trial`.
    pub trial: u32,
    /// The point of the search it was trained with.
    pub metaparameters: Metaparameters,
    /// How it ended.
    pub outcome: Outcome,
    /// Steps trained when it ended; for a complete trial, its steps to the goal.
    pub steps: Steps,
    /// Seconds of computing.
    pub seconds: f64,
    /// Every goal check, in order.
    pub observations: Vec<Observation>,
}
