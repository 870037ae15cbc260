//! What `train` and `prune` share: data, network, initial weights, pattern.

use crate::arguments::Setup;
use crate::interrupt;
use parsity_data::{Cache, Dataset};
use parsity_engine::{Pattern, Team, initialize};
use parsity_lab::{Bench, Starts, find_model, load_weights};
use parsity_study::Pruning;
use std::path::Path;
use std::sync::atomic::Ordering;

/// A pruned network, ready to be trained or shown.
pub(crate) struct Ready {
    pub(crate) bench: Bench,
    pub(crate) parameters: Vec<f32>,
    pub(crate) pattern: Pattern,
    pub(crate) team: Team,
}

/// `None` if it was interrupted.
pub(crate) fn set_up(setup: &Setup) -> anyhow::Result<Option<Ready>> {
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
    let go_on = || !interrupt::flag().load(Ordering::Relaxed);
    let pattern = starts.pattern(setup.seed, setup.sparsity, &parameters, &mut team, &go_on);
    Ok(pattern.map(|pattern| Ready { bench, parameters, pattern, team }))
}
