//! How trainings are watched: the `[smoothness]` table of a study file.
//!
//! Apart from what is seen ([`SmoothnessRun`](crate::SmoothnessRun)). It is no part of a
//! study's question: no steps-to-result depends on it.

use crate::checks::CheckEvery;
use crate::record::Cell;
use crate::trial::{Metaparameters, Trial};
use crate::units::{BatchSize, Sparsity, Steps};
use crate::workload::{Optimizer, Pruning, Schedule, Workload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Which trainings are watched, one per sparsity, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table with keys such as `steps` and `every`")]
pub struct Watching {
    /// The learning rate, which stays as it is. Default: 0.1 for sgd, 0.01 for the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub learning_rate: Option<f64>,
    /// The momentum of momentum and nesterov. Default: 0.9.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub momentum: Option<f64>,
    /// The batch size. Default: 128.
    #[schemars(with = "u32", range(min = 1))]
    pub batch_size: BatchSize,
    /// How many steps are trained. Default: 10,000.
    #[schemars(with = "u64", range(min = 1))]
    pub steps: Steps,
    /// The steps between two measurements, of which the first is at step 0. Default: 1,000.
    #[schemars(with = "u64", range(min = 1))]
    pub every: Steps,
    /// The seed of the initial weights. Default: 0.
    pub seed: u32,
}

impl Default for Watching {
    fn default() -> Self {
        Watching {
            learning_rate: None,
            momentum: None,
            batch_size: BatchSize(128),
            steps: Steps(10_000),
            every: Steps(1_000),
            seed: 0,
        }
    }
}

impl Watching {
    /// The learning rate and the momentum, for `optimizer`.
    pub fn metaparameters(&self, optimizer: Optimizer) -> Metaparameters {
        let usual = if optimizer.has_momentum() { 0.01 } else { 0.1 };
        Metaparameters {
            learning_rate: self.learning_rate.unwrap_or(usual),
            momentum: optimizer.has_momentum().then(|| self.momentum.unwrap_or(0.9)),
            decay_steps: None,
            end_factor: None,
        }
    }

    /// The trial that is watched at `sparsity`: that of a workload without goals, whose
    /// budget is `steps` and which is checked `every` so many.
    pub fn trial(&self, workload: &Workload, pruning: Pruning, sparsity: Sparsity) -> Trial {
        let workload = Workload {
            schedule: Schedule::Constant,
            goal_errors: Vec::new(),
            step_budget: self.steps,
            check_every: CheckEvery::always(self.every),
            ..workload.clone()
        };
        Trial {
            index: self.seed,
            cell: Cell { batch_size: self.batch_size, sparsity },
            metaparameters: self.metaparameters(workload.optimizer),
            workload: Arc::new(workload),
            pruning,
        }
    }
}
