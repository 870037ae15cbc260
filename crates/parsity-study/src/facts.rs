//! The facts of a study that figures, tables and the store state.
//!
//! What a reader must know to read a number: words and numbers only, no model, no search
//! space. Apart from the study, because records outlive the file that asked for them.

use crate::checks::CheckEvery;
use crate::search::Space;
use crate::study::Study;
use crate::units::{ErrorRate, Steps};
use serde::Serialize;

/// The facts of a study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StudyFacts {
    /// Its name.
    #[serde(rename = "study")]
    pub name: String,
    /// The data set's name.
    pub dataset: String,
    /// The model's name.
    pub model: String,
    /// The optimizer's name.
    pub optimizer: String,
    /// The name of the learning-rate schedule.
    pub schedule: String,
    /// The errors at which a goal is reached, from the loosest to the tightest.
    pub goal_errors: Vec<ErrorRate>,
    /// Steps after which a trial is given up.
    pub step_budget: Steps,
    /// Steps between two goal checks, by batch size.
    pub check_every: CheckEvery,
    /// Trials per cell.
    pub trials: u32,
    /// The ranges of the search, where they are known.
    pub search: Option<Space>,
}

impl StudyFacts {
    /// The facts of `study`.
    pub fn of(study: &Study) -> Self {
        let workload = study.workload();
        StudyFacts {
            name: study.name().to_owned(),
            dataset: workload.dataset.clone(),
            model: workload.model.name.clone(),
            optimizer: workload.optimizer.name().to_owned(),
            schedule: workload.schedule.name().to_owned(),
            goal_errors: workload.goal_errors.clone(),
            step_budget: workload.step_budget,
            check_every: workload.check_every.clone(),
            trials: study.trials(),
            search: Some(*study.space()),
        }
    }
}
