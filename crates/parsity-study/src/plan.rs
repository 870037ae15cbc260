//! A plan: how much work a study is, at most.
//!
//! Pure numbers, before anything runs: every trial uses up its budget. How long that
//! takes is for the laboratory to estimate.

use crate::record::Cell;
use crate::study::Study;
use serde::Serialize;

/// The work of some trials if every one of them uses up its budget. Sums that would not
/// fit stay at the largest number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Work {
    /// Trials.
    pub trials: u64,
    /// Training steps, at most.
    pub steps: u64,
    /// Images trained on, at most.
    pub images: u64,
    /// Goal checks, at most.
    pub checks: u64,
}

/// The work of one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CellWork {
    /// The cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// Its work.
    #[serde(flatten)]
    pub work: Work,
}

/// The work of a study, cell by cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The name of the study.
    pub study: String,
    /// Trials per cell.
    pub trials_per_cell: u32,
    /// The work of each cell, by batch size and then by sparsity.
    pub cells: Vec<CellWork>,
    /// The work of all cells.
    pub total: Work,
}

impl Plan {
    /// The plan of a study.
    pub fn new(study: &Study) -> Self {
        let workload = study.workload();
        let trials = u64::from(study.trials());
        let steps = trials.saturating_mul(workload.step_budget.0);
        let cells: Vec<CellWork> = study
            .cells()
            .map(|cell| {
                let checks = trials.saturating_mul(workload.checks_at_most(cell.batch_size));
                let images = steps.saturating_mul(u64::from(cell.batch_size.0));
                CellWork { cell, work: Work { trials, steps, images, checks } }
            })
            .collect();
        let total = cells.iter().fold(Work::default(), |total, cell| total.plus(cell.work));
        Plan { study: study.name().to_owned(), trials_per_cell: study.trials(), cells, total }
    }
}

impl Work {
    fn plus(self, other: Work) -> Work {
        Work {
            trials: self.trials.saturating_add(other.trials),
            steps: self.steps.saturating_add(other.steps),
            images: self.images.saturating_add(other.images),
            checks: self.checks.saturating_add(other.checks),
        }
    }
}
