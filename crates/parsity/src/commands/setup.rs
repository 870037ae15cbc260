//! What `train` and `prune` share: data, network, initial weights, pattern.

use crate::arguments::Setup;
use parsity_data::{Cache, Dataset};
use parsity_engine::{Pattern, Team, initialize};
use parsity_lab::{Bench, Starts, find_model, load_weights};
use parsity_study::Pruning;
use std::path::Path;

/// A pruned network, ready to be trained or shown.
pub(crate) struct Ready {
    pub(crate) bench: Bench,
    pub(crate) parameters: Vec<f32>,
    pub(crate) pattern: Pattern,
    pub(crate) team: Team,
}

pub(crate) fn set_up(setup: &Setup) -> anyhow::Result<Ready> {
    let model = find_model(&setup.model, Path::new("."))?;
    let dataset = Dataset::load(&setup.dataset, &Cache::of_user()?)?;
    let bench = Bench::new(&model, dataset, setup.validation)?;
    let mut team = Team::new(super::threads(setup.threads));
    let parameters = match &setup.init {
        Some(path) => load_weights(&bench.network, path)?,
        None => initialize(&bench.network, setup.seed),
    };
    let pruning = Pruning { method: setup.method, biases: !setup.keep_biases };
    let starts = Starts::new(&bench, pruning);
    let pattern = starts.pattern(setup.seed, setup.sparsity, &parameters, &mut team);
    Ok(Ready { bench, parameters, pattern, team })
}
