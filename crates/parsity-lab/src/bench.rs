//! A bench: a network and a data set that fit each other, with the splits drawn.

use crate::error::LabError;
use crate::lower::{lower_model, lower_pruning};
use crate::studies::Question;
use parsity_data::{Cache, Dataset, catalog};
use parsity_engine::{Examples, Material, Network, Survey, Team, saliencies};
use parsity_study::{ErrorRate, ModelFile, Pruning, PruningMethod};
use std::path::Path;
use std::sync::Arc;

/// The seed of every validation split: one per data set, the same for all studies.
const SPLIT_SEED: u64 = 0;

/// What is kept from training to validate with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Validation {
    /// This share of the training examples.
    Share(f64),
    /// Nothing: all examples train.
    None,
}

/// A network and examples for it.
#[derive(Debug)]
pub struct Bench {
    /// The network.
    pub network: Arc<Network>,
    /// The official training set, normalised by its own statistics.
    pub material: Arc<Material>,
    /// Indices of the training split.
    pub train: Arc<[u32]>,
    /// Indices of the validation split.
    pub validation: Vec<u32>,
    /// The least error on the validation split of whoever says the same of every image.
    pub(crate) constant_error: ErrorRate,
    /// What tells this data set from any other.
    pub fingerprint: String,
}

impl Bench {
    /// The bench for a study.
    pub fn for_study(question: &Question, cache: &Cache) -> Result<Self, LabError> {
        let workload = question.study.workload();
        let dataset = load_dataset(&workload.dataset, &question.folder, cache)?;
        Bench::new(&workload.model, dataset, Validation::Share(workload.validation_share))
    }

    /// The bench for a model and a data set.
    pub fn new(
        model: &ModelFile,
        dataset: Dataset,
        validation: Validation,
    ) -> Result<Self, LabError> {
        let network = lower_model(model)?;
        let (name, found) = (dataset.name.clone(), dataset.train.shape());
        if found != network.input() {
            let (model, expected) = (model.name.clone(), network.input());
            return Err(LabError::WrongImages { model, expected, dataset: name, found });
        }
        let (units, classes) = (network.classes(), dataset.classes());
        if classes > units {
            let model = model.name.clone();
            return Err(LabError::TooManyClasses { model, units, dataset: name, classes });
        }
        let (train, held_out) = match validation {
            Validation::Share(share) => {
                let split = dataset.split(share, SPLIT_SEED);
                if split.train.is_empty() || split.validation.is_empty() {
                    return Err(LabError::EmptySplit {
                        share,
                        train: split.train.len(),
                        validation: split.validation.len(),
                        dataset: name,
                    });
                }
                (split.train, split.validation)
            }
            Validation::None => ((0..dataset.train.len() as u32).collect(), Vec::new()),
        };
        let constant_error = constant_error(&dataset.train, &held_out);
        let (fingerprint, normalization) = (dataset.fingerprint(), dataset.normalization());
        Ok(Bench {
            network: Arc::new(network),
            material: Arc::new(Material::new(dataset.train, normalization)),
            train: train.into(),
            validation: held_out,
            constant_error,
            fingerprint,
        })
    }
}

impl Bench {
    /// The saliencies of the weights `parameters`, which `seed` made; `None` if `go_on` said
    /// no on the way.
    pub fn saliencies(
        &self,
        pruning: Pruning,
        seed: u64,
        parameters: &[f32],
        team: &mut Team,
        go_on: &dyn Fn() -> bool,
    ) -> Option<Vec<f32>> {
        let Bench { network, material, train, .. } = self;
        let mut survey = Survey { material, split: train, team, go_on };
        saliencies(lower_pruning(pruning, seed), network, parameters, &mut survey)
    }

    /// Images that saliencies take: the training split if gradients are needed.
    pub(crate) fn images_pruned_by(&self, pruning: Pruning) -> u64 {
        match pruning.method {
            PruningMethod::Snip => self.train.len() as u64,
            PruningMethod::Magnitude | PruningMethod::Random => 0,
        }
    }
}

fn constant_error(examples: &Examples, validation: &[u32]) -> ErrorRate {
    let mut counts = [0; 256];
    for &index in validation {
        counts[usize::from(examples.label(index as usize))] += 1;
    }
    let right: usize = counts.into_iter().max().unwrap_or(0);
    ErrorRate((validation.len() - right) as f64 / validation.len().max(1) as f64)
}

/// A data set by name, or by a path relative to `folder`.
pub fn load_dataset(name_or_path: &str, folder: &Path, cache: &Cache) -> Result<Dataset, LabError> {
    let path = folder.join(name_or_path);
    if catalog::find(name_or_path).is_none() && path.exists() {
        return Ok(Dataset::load(&path.display().to_string(), cache)?);
    }
    Ok(Dataset::load(name_or_path, cache)?)
}
