//! All that was measured, for an answer.

use crate::facts::StudyFacts;
use crate::memory::Memory;
use crate::record::{Cell, Record};
use crate::smoothness::SmoothnessRun;
use crate::survivors::Survivors;

/// A study with its records.
#[derive(Debug, Clone)]
pub struct StudyRecords {
    /// What its figures and tables state.
    pub facts: StudyFacts,
    /// The cells of its grid.
    pub cells: Vec<Cell>,
    /// What its trials left, with or without observations.
    pub records: Vec<Record>,
    /// What its trainings hold in memory, if that is known.
    pub memory: Option<Memory>,
}

/// What is known of studies that are told together.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// Study by study.
    pub studies: Vec<StudyRecords>,
    /// Watched trainings of their models on their data sets, each once.
    pub smoothness: Vec<SmoothnessRun>,
    /// What survived pruning, of the studies that prune.
    pub survivors: Vec<Survivors>,
}
