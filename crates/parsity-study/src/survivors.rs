//! What survives pruning, layer by layer.
//!
//! Apart from records: it follows from saliencies, before anything is trained, and is the
//! same for every batch size.

use crate::units::Sparsity;
use serde::Serialize;

/// The survivors of a study's networks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Survivors {
    /// The name of the study.
    pub study: String,
    /// How many trials were counted; each starts from weights of its own.
    pub trials: u32,
    /// Layer by layer, from the input on.
    pub layers: Vec<LayerSurvivors>,
}

/// The survivors of one layer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LayerSurvivors {
    /// Its name.
    pub layer: String,
    /// How many parameters it has, biases included.
    pub parameters: u64,
    /// How many of them survive, by rising sparsity.
    pub survivors: Vec<SurvivorCount>,
}

/// How many parameters of a layer survive at one sparsity of the whole network.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SurvivorCount {
    /// The sparsity of the whole network.
    pub sparsity: Sparsity,
    /// The mean over trials.
    pub mean: f64,
    /// The least of any trial.
    pub least: u64,
    /// The most of any trial.
    pub most: u64,
}
