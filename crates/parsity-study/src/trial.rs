//! A trial: one training run of a cell, as a value.
//!
//! Whatever can change its numbers is inside it, and its id is a hash of that, so a
//! record can be found again by the trial that made it, from whatever study it comes.
//!
//! The canonical text is a first line with the version of the format and then lines of
//! `key = value`: the workload, the cell, the pruning of a sparse cell, the seed and the
//! metaparameters. Words stand bare, the data set is a JSON string, and numbers are
//! printed with the fewest digits that read back as the same number.

use crate::record::Cell;
use crate::start;
use crate::units::{Sparsity, Steps};
use crate::workload::{Pruning, Workload};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;

/// One point of the search. What a workload does not use is absent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Metaparameters {
    /// The (initial) learning rate.
    pub learning_rate: f64,
    /// The coefficient of the accumulated gradient.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub momentum: Option<f64>,
    /// Steps until the learning rate has decayed to its end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub decay_steps: Option<Steps>,
    /// The end learning rate as a share of the initial one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub end_factor: Option<f64>,
}

/// One training run of a cell: point `index` of the search, seed `index`.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Its index in the cell.
    pub index: u32,
    /// The cell it belongs to.
    pub cell: Cell,
    /// What it shares with all trials of its study.
    pub workload: Arc<Workload>,
    /// How its network is pruned, if its cell is sparse.
    pub pruning: Pruning,
    /// The point of the search it is trained with.
    pub metaparameters: Metaparameters,
}

impl Trial {
    /// The seed of its initial weights, and of random pruning: its index, so that trial
    /// `i` starts from the same weights in every cell.
    pub fn seed(&self) -> u64 {
        u64::from(self.index)
    }

    /// All that can change its numbers, as text.
    pub fn canonical(&self) -> String {
        let Cell { batch_size, sparsity } = self.cell;
        let check_every = self.workload.check_every.at(batch_size);
        let mut text = format!("parsity trial 1\n{}", self.workload.canonical(&check_every));
        text += &format!("batch_size = {batch_size}\nsparsity = {}\n", sparsity.share());
        // A dense trial is the same whatever the pruning would be.
        if sparsity != Sparsity::DENSE {
            text += &self.pruning.canonical();
        }
        let Metaparameters { learning_rate, momentum, decay_steps, end_factor } =
            self.metaparameters;
        text += &format!("seed = {}\nlearning_rate = {learning_rate}\n", self.seed());
        let line = |key, value: Option<String>| {
            value.map_or(String::new(), |value| format!("{key} = {value}\n"))
        };
        text += &line("momentum", momentum.map(|value| value.to_string()));
        text += &line("decay_steps", decay_steps.map(|value| value.to_string()));
        text + &line("end_factor", end_factor.map(|value| value.to_string()))
    }

    /// A hash of all that its saliencies follow from, if `fingerprint` is that of the data
    /// set: the same in every cell, and under every optimizer.
    pub fn start(&self, fingerprint: &str) -> String {
        let lines = format!(
            "{}validation_share = {}\n{}",
            self.workload.canonical_model(),
            self.workload.validation_share,
            self.pruning.canonical(),
        );
        start::id(fingerprint, &lines, self.seed())
    }

    /// Its id: the same trial has the same id in every study and on every machine.
    pub fn id(&self) -> TrialId {
        let hash = Sha256::digest(self.canonical());
        TrialId(std::array::from_fn(|byte| hash[byte]))
    }
}

/// The identity of a trial: the first 16 bytes of the SHA-256 of its canonical text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrialId(pub [u8; 16]);

/// As 32 hexadecimal digits.
impl fmt::Display for TrialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Serialize for TrialId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
