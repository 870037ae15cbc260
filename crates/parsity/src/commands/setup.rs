//! What `train` and `prune` share: data, network, initial weights, pattern.

use crate::arguments::Setup;
use parsity_data::{Cache, Dataset};
use parsity_engine::{Pattern, Team, initialize};
use parsity_lab::{Bench, find_model, load_weights};
use parsity_study::{Pruning, Sparsity};
use std::path::Path;

/// A pruned network, ready to be trained or shown.
pub(crate) struct Ready {
    pub(crate) bench: Bench,
    pub(crate) parameters: Vec<f32>,
    pub(crate) pattern: Pattern,
    pub(crate) team: Team,
}

/// Ready for `team`; `None` if `go_on` said no on the way.
pub(crate) fn set_up(
    setup: &Setup,
    mut team: Team,
    go_on: &dyn Fn() -> bool,
) -> anyhow::Result<Option<Ready>> {
    let model = find_model(&setup.model, Path::new("."))?;
    let dataset = Dataset::load(&setup.dataset, &Cache::of_user()?)?;
    let bench = Bench::new(&model, dataset, setup.validation)?;
    let parameters = match &setup.init {
        Some(path) => load_weights(&bench.network, path)?,
        None => initialize(&bench.network, setup.seed),
    };
    let pruning = Pruning { method: setup.method, biases: !setup.keep_biases };
    let pattern = if setup.sparsity == Sparsity::DENSE {
        Some(Pattern::dense(parameters.len()))
    } else {
        let scores = bench.saliencies(pruning, setup.seed, &parameters, &mut team, go_on);
        let survivors = setup.sparsity.survivors(parameters.len());
        scores.map(|scores| Pattern::of_highest(&scores, survivors))
    };
    Ok(pattern.map(|pattern| Ready { bench, parameters, pattern, team }))
}
