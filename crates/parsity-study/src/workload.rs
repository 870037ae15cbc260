//! A workload: data set, model, optimizer and schedule, with goal, budget and checks.
//!
//! What all trials of a study share. Apart from the study, because a trial carries its
//! workload with it: whatever can change its numbers is inside it.

use crate::checks::CheckEvery;
use crate::model::ModelFile;
use crate::units::{BatchSize, ErrorRate, Steps};
use crate::words::words;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

words! {
    /// The rule that turns gradients into updates.
    pub enum Optimizer {
        /// `w -= lr·g`.
        Sgd = "sgd",
        /// `a = m·a + g; w -= lr·a`.
        Momentum = "momentum",
        /// `a = m·a + g; w -= lr·(g + m·a)`.
        Nesterov = "nesterov",
    }
}

impl Optimizer {
    /// Whether it accumulates gradients, so that there is a momentum to search.
    pub fn has_momentum(self) -> bool {
        self != Optimizer::Sgd
    }
}

words! {
    /// How the learning rate changes over a training.
    #[derive(Default)]
    pub enum Schedule {
        /// It does not.
        #[default]
        Constant = "constant",
        /// It falls in a straight line to its end factor, then stays.
        LinearDecay = "linear-decay",
    }
}

words! {
    /// How the parameters that survive pruning are chosen.
    #[derive(Default)]
    pub enum PruningMethod {
        /// By the effect of their removal on the loss, before training.
        #[default]
        Snip = "snip",
        /// By their absolute value.
        Magnitude = "magnitude",
        /// By chance.
        Random = "random",
    }
}

/// How a network is pruned before training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with `method` and `biases`")]
pub struct Pruning {
    /// How the survivors are chosen. Default: snip.
    #[serde(default)]
    pub method: PruningMethod,
    /// Whether biases compete with weights and may be pruned. Default: true, as in the
    /// published study; as biases start at 0, SNIP then prunes them first.
    #[serde(default = "yes")]
    pub biases: bool,
}

fn yes() -> bool {
    true
}

impl Default for Pruning {
    fn default() -> Self {
        Pruning { method: PruningMethod::default(), biases: true }
    }
}

/// What all trials of a study share.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// The data set: a name, or the path of a file.
    pub dataset: String,
    /// The network.
    pub model: ModelFile,
    /// The optimizer.
    pub optimizer: Optimizer,
    /// The learning-rate schedule.
    pub schedule: Schedule,
    /// Validation errors at or below which a goal is reached, from the loosest to the
    /// tightest; at the tightest, a trial is complete.
    pub goal_errors: Vec<ErrorRate>,
    /// The steps after which a trial is incomplete.
    pub step_budget: Steps,
    /// The steps between goal checks, by batch size.
    pub check_every: CheckEvery,
    /// The seed of the validation split and of the order of examples.
    pub data_seed: u64,
    /// The share of the training examples that is held out for goal checks.
    pub validation_share: f64,
}

impl Workload {
    /// How many goal checks a trial at `batch_size` has at most.
    pub fn checks_at_most(&self, batch_size: BatchSize) -> u64 {
        self.step_budget.0 / self.check_every.at(batch_size).0.max(1)
    }

    /// Its part of a canonical text; `check_every` in the words of whoever it is for. Names
    /// of the network and its layers are not in it: they change no number.
    pub(crate) fn canonical(&self, check_every: &dyn std::fmt::Display) -> String {
        let [channels, height, width] = self.model.input;
        let mut text = format!(
            "dataset = {}\nmodel.input = {channels}x{height}x{width}\n",
            serde_json::Value::from(self.dataset.as_str()),
        );
        for (layer, number) in self.model.layers.iter().zip(1..) {
            text += &format!("model.layer{number} = {layer}\n");
        }
        let goals: Vec<String> = self.goal_errors.iter().map(ErrorRate::to_string).collect();
        let goals = goals.join(", ");
        let Workload { optimizer, schedule, step_budget, .. } = self;
        let Workload { data_seed, validation_share, .. } = self;
        text + &format!(
            "optimizer = {optimizer}\nschedule = {schedule}\ngoal_error = {goals}\n\
             step_budget = {step_budget}\ncheck_every = {check_every}\n\
             data_seed = {data_seed}\nvalidation_share = {validation_share}\n"
        )
    }
}

impl Pruning {
    /// Its part of a canonical text.
    pub(crate) fn canonical(self) -> String {
        format!("pruning.method = {}\npruning.biases = {}\n", self.method, self.biases)
    }
}
