//! A study: a workload and a grid of cells, with a search space and a number of trials.
//!
//! A study file with all defaults resolved and its model read. The question (what changes
//! the numbers of a trial) is apart from the extent (grid, trials and protocol): a part of
//! a study shares its trials with the whole.

use crate::check::{check, check_batch_sizes, check_sparsities, check_trials};
use crate::checks::CheckEvery;
use crate::error::StudyError;
use crate::file::StudyFile;
use crate::model::ModelFile;
use crate::record::{Cell, Protocol};
use crate::search::Space;
use crate::trial::Trial;
use crate::units::{BatchSize, Sparsity};
use crate::watching::Watching;
use crate::workload::{Pruning, Workload};
use serde::Serialize;
use std::sync::Arc;

/// A workload and a grid of cells, with a search space and a number of trials.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    name: String,
    workload: Arc<Workload>,
    pruning: Pruning,
    space: Space,
    batch_sizes: Vec<BatchSize>,
    sparsities: Vec<Sparsity>,
    trials: u32,
    protocol: Protocol,
    smoothness: Option<Watching>,
}

/// A line in which two canonical texts differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The key of the line.
    pub key: String,
    /// Its value in the first text, if it is there.
    pub ours: Option<String>,
    /// Its value in the second text, if it is there.
    pub theirs: Option<String>,
}

impl Study {
    /// The study of a file and of the model that it names.
    pub fn new(file: StudyFile, model: ModelFile) -> Result<Self, StudyError> {
        let mut file = file;
        file.sort();
        check(&file)?;
        let goal = file.goal_error.into_iter();
        let workload = Workload {
            dataset: file.dataset,
            model,
            optimizer: file.optimizer,
            schedule: file.schedule,
            goal_errors: goal.chain(file.goal_errors.into_iter().flatten()).collect(),
            step_budget: file.step_budget,
            check_every: CheckEvery::try_from(file.check_every)?,
            data_seed: file.data_seed,
            validation_share: file.validation_share,
        };
        Ok(Study {
            name: file.name,
            workload: Arc::new(workload),
            pruning: file.pruning,
            space: Space::new(file.optimizer, file.schedule, &file.search),
            batch_sizes: file.batch_sizes,
            sparsities: file.sparsities,
            trials: file.trials,
            protocol: file.protocol,
            smoothness: file.smoothness,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What all its trials share.
    pub fn workload(&self) -> &Arc<Workload> {
        &self.workload
    }

    /// How its networks are pruned.
    pub fn pruning(&self) -> Pruning {
        self.pruning
    }

    /// Its search space.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The batch sizes of its grid, ascending.
    pub fn batch_sizes(&self) -> &[BatchSize] {
        &self.batch_sizes
    }

    /// The sparsities of its grid, ascending.
    pub fn sparsities(&self) -> &[Sparsity] {
        &self.sparsities
    }

    /// How many trials each cell has.
    pub fn trials(&self) -> u32 {
        self.trials
    }

    /// How far its trials are trained.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// The trainings whose smoothness is to be measured, one per sparsity.
    pub fn watched(&self) -> Vec<Trial> {
        let watch = |watching: &Watching| {
            let trial = |&sparsity| watching.trial(&self.workload, self.pruning, sparsity);
            self.sparsities.iter().map(trial).collect()
        };
        self.smoothness.as_ref().map_or(Vec::new(), watch)
    }

    /// The same question, answered under another protocol.
    pub fn with_protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// The same question with another number of trials per cell.
    pub fn with_trials(mut self, trials: u32) -> Result<Self, StudyError> {
        check_trials(trials)?;
        self.trials = trials;
        Ok(self)
    }

    /// The same question over other batch sizes.
    pub fn with_batch_sizes(mut self, batch_sizes: &[BatchSize]) -> Result<Self, StudyError> {
        self.batch_sizes = batch_sizes.to_vec();
        self.batch_sizes.sort_unstable();
        check_batch_sizes(&self.batch_sizes)?;
        Ok(self)
    }

    /// The same question over other sparsities.
    pub fn with_sparsities(mut self, sparsities: &[Sparsity]) -> Result<Self, StudyError> {
        self.sparsities = sparsities.to_vec();
        self.sparsities.sort_unstable();
        check_sparsities(&self.sparsities)?;
        Ok(self)
    }

    /// Its cells, by batch size and then by sparsity.
    pub fn cells(&self) -> impl Iterator<Item = Cell> {
        self.batch_sizes.iter().flat_map(|&batch_size| {
            self.sparsities.iter().map(move |&sparsity| Cell { batch_size, sparsity })
        })
    }

    /// Trial `index` of a cell. Its id depends neither on the grid nor on the number of
    /// trials.
    pub fn trial(&self, cell: Cell, index: u32) -> Trial {
        Trial {
            index,
            cell,
            workload: Arc::clone(&self.workload),
            pruning: self.pruning,
            metaparameters: self.space.point(index),
        }
    }

    /// The question as text: all that changes the numbers of a trial, so neither its name
    /// nor its extent. In the format of a trial's canonical text.
    pub fn canonical(&self) -> String {
        let mut text =
            format!("parsity study 1\n{}", self.workload.canonical(&self.workload.check_every));
        text += &self.pruning.canonical();
        for (key, range) in self.space.dimensions() {
            text += &format!("search.{key} = {range}\n");
        }
        text
    }

    /// The lines in which its canonical text differs from `theirs`.
    pub fn differences(&self, theirs: &str) -> Vec<Difference> {
        let ours = self.canonical();
        let value = |text: &str, key: &str| {
            lines(text).find(|(other, _)| *other == key).map(|(_, value)| value.to_owned())
        };
        let ours_first = lines(&ours).map(|(key, _)| key);
        let only_theirs =
            lines(theirs).map(|(key, _)| key).filter(|key| value(&ours, key).is_none());
        ours_first
            .chain(only_theirs)
            .map(|key| Difference {
                key: key.to_owned(),
                ours: value(&ours, key),
                theirs: value(theirs, key),
            })
            .filter(|difference| difference.ours != difference.theirs)
            .collect()
    }
}

/// Keys and values of a canonical text; its first line, with the version of the format,
/// counts as a key without a value.
fn lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().map(|line| line.split_once(" = ").unwrap_or((line, "")))
}
