//! What survived pruning in the trials of a study, from the saliencies that the store keeps.
//!
//! Nothing is trained and no data set is read: patterns follow from saliencies as they did
//! when the trials started.

use crate::error::LabError;
use crate::lower::lower_model;
use crate::store::{Store, StoredStudy};
use parsity_engine::{Network, Pattern};
use parsity_study::{LayerSurvivors, Sparsity, Start, SurvivorCount, Survivors};
use std::ops::Range;

/// The survivors of `study`, layer by layer; `None` if the store keeps no saliencies of it,
/// such as for a study of dense networks.
pub fn count_survivors(store: &Store, study: &StoredStudy) -> Result<Option<Survivors>, LabError> {
    let (question, fingerprint) = store.question(study)?;
    let Some(start) = Start::recall(&question) else { return Ok(None) };
    let network = lower_model(start.model())?;
    let sparse = study.sparsities.iter().copied().filter(|it| *it != Sparsity::DENSE);
    let sparsities: Vec<Sparsity> = sparse.collect();
    // The patterns of each trial, by sparsity.
    let mut trials: Vec<Vec<Pattern>> = Vec::new();
    for seed in 0..study.facts.trials {
        let saliencies = store.saliencies(&start.id(&fingerprint, seed.into()))?;
        if let Some(saliencies) = saliencies.filter(|it| it.len() == network.parameters()) {
            let pattern = |sparsity: &Sparsity| {
                Pattern::of_highest(&saliencies, sparsity.survivors(saliencies.len()))
            };
            trials.push(sparsities.iter().map(pattern).collect());
        }
    }
    if trials.is_empty() || sparsities.is_empty() {
        return Ok(None);
    }
    let layers = layers(&network).into_iter().map(|(layer, range)| {
        let count = |(index, &sparsity): (usize, &Sparsity)| {
            let counts = trials.iter().map(|patterns| patterns[index].places(&range).len() as u64);
            SurvivorCount {
                sparsity,
                mean: counts.clone().sum::<u64>() as f64 / trials.len() as f64,
                least: counts.clone().min().unwrap_or(0),
                most: counts.max().unwrap_or(0),
            }
        };
        let survivors = sparsities.iter().enumerate().map(count).collect();
        LayerSurvivors { layer, parameters: range.len() as u64, survivors }
    });
    let (study, layers) = (study.facts.name.clone(), layers.collect());
    Ok(Some(Survivors { study, trials: trials.len() as u32, layers }))
}

/// The layers of a network with their parameters: `conv1` has those of `conv1.weight` and
/// `conv1.bias`, which stand side by side.
fn layers(network: &Network) -> Vec<(String, Range<usize>)> {
    let mut layers: Vec<(String, Range<usize>)> = Vec::new();
    for tensor in network.tensors() {
        let layer = tensor.name.rsplit_once('.').map_or(tensor.name.as_str(), |(layer, _)| layer);
        match layers.last_mut().filter(|(last, _)| last == layer) {
            Some((_, range)) => range.end = tensor.range.end,
            None => layers.push((layer.to_owned(), tensor.range.clone())),
        }
    }
    layers
}
