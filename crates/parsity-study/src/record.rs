//! What a trial leaves behind: observations, an outcome, a record.
//!
//! The meeting point of the laboratory, which writes records, and the analysis, which
//! reads them. Nothing here is derived: whatever can be computed from records is.

use crate::trial::Metaparameters;
use crate::units::{BatchSize, ErrorRate, Sparsity, Steps};
use crate::words::words;
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
    /// Error on the entire validation split, or less than that.
    pub error: ErrorRate,
    /// Whether the entire split was looked at. If not, there were already more errors than
    /// any open goal allows, and the true error is at least `error`.
    pub exact: bool,
}

words! {
    /// How far the trials of a cell are trained. The steps-to-result are the same.
    #[derive(Default)]
    pub enum Protocol {
        /// Together, until the best one is known; goal checks end when their verdict is certain.
        #[default]
        Racing = "racing",
        /// Each to its own end, with the entire validation split at every goal check.
        Exhaustive = "exhaustive",
    }
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
    /// It was proved that it would never reach the goal: the network is dead.
    Collapsed,
    /// The program failed, not the training: the message says how.
    Failed,
}

impl Outcome {
    /// All outcomes, in the order of tables and legends.
    pub const ALL: [Outcome; 6] = [
        Outcome::Complete,
        Outcome::Incomplete,
        Outcome::Infeasible,
        Outcome::Outpaced,
        Outcome::Collapsed,
        Outcome::Failed,
    ];

    /// The word for it, in tables, files and the store.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Complete => "complete",
            Outcome::Incomplete => "incomplete",
            Outcome::Infeasible => "infeasible",
            Outcome::Outpaced => "outpaced",
            Outcome::Collapsed => "collapsed",
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
    /// How far it would have been trained.
    pub protocol: Protocol,
    /// How it ended; complete if it reached the tightest goal.
    pub outcome: Outcome,
    /// Steps trained when it ended; for a complete trial, its steps to the tightest goal.
    pub steps: Steps,
    /// The steps to each goal that it reached, from the loosest on.
    pub reached: Vec<Steps>,
    /// Images looked at in goal checks, and for proofs.
    pub evaluated: u64,
    /// Seconds of computing.
    pub seconds: f64,
    /// SHA-256 of the weights it ended with, if it ever started: the same on every machine.
    pub weights: Option<String>,
    /// Every goal check, in order.
    pub observations: Vec<Observation>,
}

impl Record {
    /// How it ended, and after how many steps, if only goal `goal` counts (0 is the loosest).
    pub fn toward(&self, goal: usize) -> (Outcome, Steps) {
        match self.reached.get(goal) {
            Some(&steps) => (Outcome::Complete, steps),
            None => (self.outcome, self.steps),
        }
    }
}
