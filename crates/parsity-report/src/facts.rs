//! What a reader must know of a study to read its figures: the protocol, always printed.

use crate::numerals::grouped;
use parsity_study::{ErrorRate, Steps};

/// The facts of a study that figures and tables state.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyFacts {
    /// The name of the study.
    pub name: String,
    /// The data set, as people call it.
    pub data_set: String,
    /// The model.
    pub model: String,
    /// The optimizer.
    pub optimizer: String,
    /// The learning-rate schedule.
    pub schedule: String,
    /// The error at which the goal is reached.
    pub goal_error: ErrorRate,
    /// Steps after which a trial is given up.
    pub step_budget: Steps,
    /// Steps between two goal checks.
    pub check_every: Steps,
    /// Trials per cell.
    pub trials: u32,
}

impl StudyFacts {
    /// What is trained, in short phrases.
    pub fn workload(&self) -> Vec<String> {
        vec![
            self.name.clone(),
            self.data_set.clone(),
            self.model.clone(),
            self.optimizer.clone(),
            format!("{} learning rate", self.schedule),
        ]
    }

    /// How it is measured, in short phrases.
    pub fn protocol(&self) -> Vec<String> {
        let interval = match self.check_every.0 {
            1 => "step".to_owned(),
            more => format!("{} steps", grouped(more)),
        };
        let trials = if self.trials == 1 { "trial" } else { "trials" };
        vec![
            format!("goal error {}", self.goal_error),
            format!("{} {trials} per cell", grouped(u64::from(self.trials))),
            format!("goal check every {interval}"),
            format!("step budget {}", grouped(self.step_budget.0)),
        ]
    }
}
