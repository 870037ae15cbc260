//! A study file: the question as a person writes it, in TOML.
//!
//! The keys and their documentation, from which the JSON schema for editors is made.
//! Apart from [`Study`](crate::Study), in which defaults are resolved and the model is
//! read.

use crate::check::check;
use crate::checks::CheckKeys;
use crate::error::StudyError;
use crate::record::Protocol;
use crate::search::SearchKeys;
use crate::source::Source;
use crate::units::{BatchSize, ErrorRate, Sparsity, Steps};
use crate::watching::Watching;
use crate::workload::{Optimizer, Pruning, Schedule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A study of Parsity: how many training steps does a network need to reach a goal error,
/// as a function of batch size and sparsity, with all metaparameters tuned for each pair?
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Parsity study")]
#[schemars(extend("oneOf" = [{ "required": ["goal_error"] }, { "required": ["goal_errors"] }]))]
pub struct StudyFile {
    /// The name of the study: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// The data set: a name (mnist, fashion-mnist, cifar10, glyphs) or the path of a file.
    pub dataset: String,
    /// The network: a built-in name (simple-cnn, resnet-8, mini-cnn) or the path of a model file.
    pub model: String,
    /// The rule that turns gradients into updates.
    pub optimizer: Optimizer,
    /// How the learning rate changes over a training. Default: constant.
    #[serde(default)]
    pub schedule: Schedule,
    /// The share of wrongly classified validation examples at or below which a trial is
    /// complete; above 0, below 1. For several goals, give `goal_errors` instead.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "f64")]
    pub goal_error: Option<ErrorRate>,
    /// Several goals that the same trials are trained for; at the tightest, a trial is
    /// complete. For a single goal, `goal_error` does.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Vec<f64>", length(min = 1))]
    pub goal_errors: Option<Vec<ErrorRate>>,
    /// The training steps after which a trial without the goal is incomplete.
    #[schemars(with = "u64", range(min = 1))]
    pub step_budget: Steps,
    /// The training steps between goal checks: a number, or a list of ranges by batch size.
    pub check_every: CheckKeys,
    /// The batch sizes of the grid.
    #[schemars(with = "Vec<u32>")]
    pub batch_sizes: Vec<BatchSize>,
    /// The sparsities of the grid: shares of parameters pruned before training, from 0 to
    /// below 1.
    #[schemars(with = "Vec<f64>")]
    pub sparsities: Vec<Sparsity>,
    /// How many trials each cell has.
    #[schemars(range(min = 1))]
    pub trials: u32,
    /// How far the trials of a cell are trained. Default: racing.
    #[serde(default)]
    pub protocol: Protocol,
    /// The seed of the validation split and of the order of examples. Default: 0.
    #[serde(default)]
    pub data_seed: u64,
    /// The share of the training examples that is held out for goal checks; above 0,
    /// below 1. Default: 0.1.
    #[serde(default = "tenth")]
    pub validation_share: f64,
    /// How the network is pruned before training.
    #[serde(default)]
    pub pruning: Pruning,
    /// The ranges of the metaparameters. Default: those of the published study.
    #[serde(default)]
    pub search: SearchKeys,
    /// Trainings whose smoothness is measured at the end of a run, one per sparsity.
    /// Default: none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Watching")]
    pub smoothness: Option<Watching>,
}

fn tenth() -> f64 {
    0.1
}

impl StudyFile {
    /// The study file `text`, checked, with its lists in order; `file` is its name in
    /// messages.
    pub fn parse(file: &str, text: &str) -> Result<Self, StudyError> {
        let source = Source { file, text };
        let root = source.table()?;
        let mut study: StudyFile = source.read(&root)?;
        study.sort();
        check(&study).map_err(|problem| source.error_within(&root, problem))?;
        Ok(study)
    }

    /// Puts the grid in ascending order, and goals from the loosest to the tightest.
    pub(crate) fn sort(&mut self) {
        self.batch_sizes.sort_unstable();
        self.sparsities.sort_unstable();
        if let Some(goals) = &mut self.goal_errors {
            goals.sort_by(|a, b| b.0.total_cmp(&a.0));
        }
    }
}

/// The JSON schema of study files, for editors.
pub fn schema() -> String {
    let schema = schemars::schema_for!(StudyFile);
    serde_json::to_string_pretty(&schema).expect("a schema is plain JSON") + "\n"
}
