//! What survives pruning, from what the store keeps.

#![allow(clippy::unwrap_used)] // Tests may.

use parsity_lab::{Store, count_survivors, lower_model};
use parsity_study::{Sparsity, Study, builtin};

fn study() -> Study {
    builtin::study("quickstart").unwrap()
}

/// Saliencies that favour the parameters after the first `low` ones.
fn saliencies(parameters: usize, low: usize) -> Vec<f32> {
    (0..parameters).map(|index| if index < low { 0.0 } else { index as f32 }).collect()
}

#[test]
fn survivors_follow_from_the_saliencies_of_all_trials() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("s.sqlite")).unwrap();
    let study = study();
    let entered = store.enter(&study, "data").unwrap();
    let network = lower_model(&study.workload().model).unwrap();
    let parameters = network.parameters();
    let first = network.tensors().iter().filter(|it| it.name.starts_with("conv1."));
    let first: usize = first.map(|tensor| tensor.range.len()).sum();
    // In trial 0 the first layer goes first; in trial 2 all of it stays; trial 1 is unknown.
    let cell = study.cells().last().unwrap();
    let reversed: Vec<f32> = saliencies(parameters, 0).into_iter().rev().collect();
    for (trial, scores) in [(0, saliencies(parameters, first)), (2, reversed)] {
        store.keep_saliencies(&study.trial(cell, trial).start("data"), &scores).unwrap();
    }
    let survivors = count_survivors(&store, &entered).unwrap().unwrap();
    assert_eq!((survivors.study.as_str(), survivors.trials), (study.name(), 2));
    let conv1 = &survivors.layers[0];
    assert_eq!((conv1.layer.as_str(), conv1.parameters), ("conv1", first as u64));
    let sparse: Vec<Sparsity> = conv1.survivors.iter().map(|it| it.sparsity).collect();
    assert_eq!(sparse, study.sparsities()[1..]);
    for (index, sparsity) in sparse.iter().enumerate() {
        let it = conv1.survivors[index];
        let all = first.min(sparsity.survivors(parameters));
        assert_eq!((it.least, it.most, it.mean), (0, all as u64, all as f64 / 2.0));
        let total: f64 = survivors.layers.iter().map(|layer| layer.survivors[index].mean).sum();
        assert!((total - sparsity.survivors(parameters) as f64).abs() < 1e-6);
    }
}

#[test]
fn without_saliencies_nothing_is_told_about_survivors() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("s.sqlite")).unwrap();
    let study = study();
    let entered = store.enter(&study, "data").unwrap();
    assert_eq!(count_survivors(&store, &entered).unwrap(), None);
    // Saliencies of other data, or of another number of parameters, are not those of the study.
    let start = |data| study.trial(study.cells().last().unwrap(), 0).start(data);
    let parameters = lower_model(&study.workload().model).unwrap().parameters();
    store.keep_saliencies(&start("other"), &saliencies(parameters, 0)).unwrap();
    store.keep_saliencies(&start("data"), &saliencies(parameters - 1, 0)).unwrap();
    assert_eq!(count_survivors(&store, &entered).unwrap(), None);
}
