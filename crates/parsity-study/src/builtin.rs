//! The built-in studies: the workloads of the published study, those on generated
//! glyphs, and a small one to begin with.
//!
//! One table and one template: a built-in study is a study file like any other, ready to
//! be saved and changed.

use crate::file::StudyFile;
use crate::model::{self, ModelFile};
use crate::record::Protocol;
use crate::search::{RangeKeys, SearchKeys, Space};
use crate::study::Study;
use crate::workload::Optimizer::{Momentum, Nesterov, Sgd};
use crate::workload::Schedule::{Constant, LinearDecay};
use crate::workload::{Optimizer, Schedule};

/// A built-in study.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    /// Its name.
    pub name: &'static str,
    family: &'static Family,
    optimizer: Optimizer,
    schedule: Schedule,
}

/// What a family of built-in studies shares.
#[derive(Debug)]
struct Family {
    title: &'static str,
    dataset: &'static str,
    model: &'static str,
    /// From the loosest to the tightest.
    goal_errors: &'static [f64],
    step_budget: u32,
    check_every: u32,
    /// Powers of two: the exponents of the smallest and the largest batch size.
    batch_exponents: [u32; 2],
    trials: u32,
    /// The ranges that are not the published ones.
    search: SearchKeys,
}

const MNIST: Family = Family {
    title: "MNIST",
    dataset: "mnist",
    model: "simple-cnn",
    goal_errors: &[0.02],
    step_budget: 40_000,
    check_every: 16,
    batch_exponents: [1, 14],
    trials: 100,
    search: SearchKeys { learning_rate: None, momentum: None, decay_steps: None, end_factor: None },
};

/// Two published figures from one set of trainings.
const FASHION_MNIST: Family = Family {
    title: "Fashion-MNIST",
    dataset: "fashion-mnist",
    goal_errors: &[0.14, 0.12],
    ..MNIST
};

const CIFAR10: Family = Family {
    title: "CIFAR-10",
    dataset: "cifar10",
    model: "resnet-8",
    goal_errors: &[0.4],
    step_budget: 100_000,
    check_every: 32,
    ..MNIST
};

const GLYPHS: Family = Family { title: "generated glyphs", dataset: "glyphs", ..MNIST };

/// The study to begin with: minutes instead of days.
const QUICKSTART: Family = Family {
    title: "a small set of generated glyphs",
    dataset: "glyphs-small",
    model: "mini-cnn",
    goal_errors: &[0.1],
    step_budget: 2_000,
    check_every: 4,
    batch_exponents: [3, 10],
    trials: 16,
    // Narrower than the published ranges, so that few trials cover them.
    search: SearchKeys {
        learning_rate: Some(RangeKeys { from: 1e-3, to: 1.0, scale: None }),
        momentum: Some(RangeKeys { from: 0.5, to: 0.99, scale: None }),
        decay_steps: None,
        end_factor: None,
    },
};

const SPARSITIES: [f64; 4] = [0.0, 0.5, 0.7, 0.9];

const ALL: &[BuiltIn] = &[
    row("quickstart", &QUICKSTART, Momentum, Constant),
    row("mnist-sgd", &MNIST, Sgd, Constant),
    row("mnist-momentum", &MNIST, Momentum, Constant),
    row("mnist-nesterov", &MNIST, Nesterov, Constant),
    row("fashion-mnist-sgd", &FASHION_MNIST, Sgd, Constant),
    row("fashion-mnist-momentum", &FASHION_MNIST, Momentum, Constant),
    row("fashion-mnist-nesterov", &FASHION_MNIST, Nesterov, Constant),
    row("cifar10-sgd-linear", &CIFAR10, Sgd, LinearDecay),
    row("cifar10-momentum-linear", &CIFAR10, Momentum, LinearDecay),
    row("cifar10-nesterov-linear", &CIFAR10, Nesterov, LinearDecay),
    row("cifar10-sgd-constant", &CIFAR10, Sgd, Constant),
    row("cifar10-momentum-constant", &CIFAR10, Momentum, Constant),
    row("glyphs-sgd", &GLYPHS, Sgd, Constant),
    row("glyphs-momentum", &GLYPHS, Momentum, Constant),
    row("glyphs-nesterov", &GLYPHS, Nesterov, Constant),
];

const fn row(
    name: &'static str,
    family: &'static Family,
    optimizer: Optimizer,
    schedule: Schedule,
) -> BuiltIn {
    BuiltIn { name, family, optimizer, schedule }
}

/// All built-in studies: first the one to begin with, then those of the published study,
/// then those that need no download.
pub fn all() -> &'static [BuiltIn] {
    ALL
}

/// The study file of a built-in study.
pub fn text(name: &str) -> Option<String> {
    ALL.iter().find(|study| study.name == name).map(BuiltIn::text)
}

/// A built-in study, read.
pub fn study(name: &str) -> Option<Study> {
    let built_in = ALL.iter().find(|study| study.name == name)?;
    let file = StudyFile::parse(name, &built_in.text()).expect("built-in studies are correct");
    let model = model::builtin(built_in.family.model).expect("built-in studies name such a model");
    let model =
        ModelFile::parse(built_in.family.model, model).expect("built-in models are correct");
    Some(Study::new(file, model).expect("built-in studies are correct"))
}

impl BuiltIn {
    /// What it is, in one line.
    pub fn summary(&self) -> String {
        let Family { title, model, goal_errors, .. } = self.family;
        let schedule = match self.schedule {
            Constant => "",
            LinearDecay => " and linear decay",
        };
        let goals: Vec<String> = goal_errors.iter().map(f64::to_string).collect();
        let goals = goals.join(" and ");
        format!("{title}: {model} with {}{schedule}, to an error of {goals}", self.optimizer)
    }

    /// Its study file, with comments.
    pub fn text(&self) -> String {
        let BuiltIn { name, optimizer, schedule, family } = self;
        let Family { dataset, model, step_budget, check_every, trials, .. } = family;
        let goals = family.goals();
        let [smallest, largest] = family.batch_exponents;
        let batch_sizes: Vec<u32> = (smallest..=largest).map(|exponent| 1 << exponent).collect();
        let ranges: String = Space::new(*optimizer, *schedule, &family.search)
            .dimensions()
            .map(|(key, range)| format!("{key} = {range}\n"))
            .collect();
        format!(
            r#"# {summary}.
#
# How many training steps does the network need to reach the goal error, as a function of
# batch size and sparsity, when all metaparameters are tuned anew for each pair?

name = "{name}"
# A name, or the path of a file.
dataset = "{dataset}"
# simple-cnn, resnet-8, mini-cnn, or the path of a model file.
model = "{model}"
# sgd, momentum or nesterov.
optimizer = "{optimizer}"
# constant or linear-decay.
schedule = "{schedule}"

{goals}
# ... and incomplete after this many training steps.
step_budget = {step_budget}
# Training steps between goal checks. By batch size, each range up to the next one:
# [{{ from_batch_size = 2, steps = 16 }}, {{ from_batch_size = 1024, steps = 4 }}]
check_every = {check_every}

# Each batch size with each sparsity (share of parameters pruned before training) is a
# cell; each cell has as many trials, each with another point of the search.
batch_sizes = {batch_sizes:?}
sparsities = {SPARSITIES:?}
trials = {trials}
# racing: a trial stops when it can no longer be the best of its cell, and a goal check when
# its verdict is certain. exhaustive: neither stops early. The steps-to-result are the same.
protocol = "{protocol}"

# The validation split and the order of examples, the same in all trials.
data_seed = 0
validation_share = 0.1

[pruning]
# snip, magnitude or random.
method = "snip"
# Whether biases compete with weights and may be pruned.
biases = true

# The ranges of the search. Scales: log, reverse-log, linear; integer for decay_steps.
[search]
{ranges}"#,
            summary = self.summary(),
            protocol = Protocol::default(),
        )
    }
}

impl Family {
    /// Its goals as a study file says them, and how the file would say it otherwise.
    fn goals(&self) -> String {
        match self.goal_errors {
            [goal] => format!(
                "# A trial is complete at the first goal check with at most this validation error\n\
                 # (for several goals from the same trainings: goal_errors = [...]) ...\n\
                 goal_error = {goal}"
            ),
            goals => format!(
                "# Each goal is reached at the first goal check with at most that validation error; a\n\
                 # trial is complete at the tightest (for a single goal: goal_error = ...) ...\n\
                 goal_errors = {goals:?}"
            ),
        }
    }
}
