//! Where trials start: initial weights and their saliencies, computed once per seed.
//!
//! Trial `i` starts from the same weights in every cell, so its saliencies serve every
//! batch size and sparsity; kept in the store, they also serve other optimizers and later
//! runs.

use crate::bench::Bench;
use crate::error::LabError;
use crate::lower::{lower_optimizer, lower_schedule};
use crate::store::Store;
use parsity_engine::{Batches, Order, Pattern, Program, Session, Team, initialize};
use parsity_study::{Sparsity, Trial};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The saliencies of one seed, once they are known.
type Slot = Arc<Mutex<Option<Arc<[f32]>>>>;

/// The starts of a study's trials, shared by all who train them.
pub(crate) struct Starts<'a> {
    bench: &'a Bench,
    store: &'a Mutex<&'a mut Store>,
    saliencies: Mutex<HashMap<u64, Slot>>,
    images: AtomicU64,
}

impl<'a> Starts<'a> {
    /// Of trials on `bench` whose saliencies `store` keeps.
    pub(crate) fn new(bench: &'a Bench, store: &'a Mutex<&'a mut Store>) -> Self {
        Starts { bench, store, saliencies: Mutex::default(), images: AtomicU64::new(0) }
    }

    /// Images that saliencies took so far.
    pub(crate) fn images(&self) -> u64 {
        self.images.load(Ordering::Relaxed)
    }

    /// The session of `trial`, at step 0; `None` if `go_on` said no on the way.
    pub(crate) fn session(
        &self,
        trial: &Trial,
        team: &mut Team,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<Session>, LabError> {
        if trial.cell.sparsity == Sparsity::DENSE {
            return Ok(Some(begin(self.bench, trial, None)));
        }
        let scores = self.saliencies(trial, || score(self.bench, trial, team, go_on))?;
        Ok(scores.map(|scores| begin(self.bench, trial, Some(&scores))))
    }

    /// The saliencies of a trial: those of the store, or else computed and kept there; `None`
    /// if `compute` was stopped on the way.
    pub(crate) fn saliencies(
        &self,
        trial: &Trial,
        compute: impl FnOnce() -> Option<Vec<f32>>,
    ) -> Result<Option<Arc<[f32]>>, LabError> {
        let slot = {
            let mut all = self.saliencies.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(all.entry(trial.seed()).or_default())
        };
        // Whoever comes first computes; others that need the same wait for it.
        let mut known = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_none() {
            *known = self.find(trial, compute)?.map(Arc::from);
        }
        Ok(known.clone())
    }

    fn find(
        &self,
        trial: &Trial,
        compute: impl FnOnce() -> Option<Vec<f32>>,
    ) -> Result<Option<Vec<f32>>, LabError> {
        let start = trial.start(&self.bench.fingerprint);
        let store = || self.store.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = store().saliencies(&start)?
            && kept.len() == self.bench.network.parameters()
        {
            return Ok(Some(kept));
        }
        let computed = compute();
        if let Some(scores) = &computed {
            let images = self.bench.images_pruned_by(trial.pruning);
            self.images.fetch_add(images, Ordering::Relaxed);
            store().keep_saliencies(&start, scores)?;
        }
        Ok(computed)
    }
}

/// The saliencies of a trial's initial weights; `None` if `go_on` said no on the way.
pub(crate) fn score(
    bench: &Bench,
    trial: &Trial,
    team: &mut Team,
    go_on: &dyn Fn() -> bool,
) -> Option<Vec<f32>> {
    let parameters = initialize(&bench.network, trial.seed());
    bench.saliencies(trial.pruning, trial.seed(), &parameters, team, go_on)
}

/// The session of `trial`, at step 0, pruned by its saliencies.
pub(crate) fn begin(bench: &Bench, trial: &Trial, saliencies: Option<&[f32]>) -> Session {
    let network = &bench.network;
    let parameters = initialize(network, trial.seed());
    let survivors = trial.cell.sparsity.survivors(parameters.len());
    let pattern = match saliencies {
        None => Pattern::dense(parameters.len()),
        Some(saliencies) => Pattern::of_highest(saliencies, survivors),
    };
    let point = &trial.metaparameters;
    Session::new(
        Arc::new(Program::new(Arc::clone(network), Arc::new(pattern))),
        Arc::clone(&bench.material),
        &parameters,
        lower_optimizer(trial.workload.optimizer, point),
        lower_schedule(trial.workload.schedule, point),
        Batches::new(
            Arc::clone(&bench.train),
            trial.cell.batch_size.0 as usize,
            Order::Shuffled { seed: trial.workload.data_seed },
        ),
    )
}
