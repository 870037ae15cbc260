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
type Slot = Arc<Mutex<Option<Vec<f32>>>>;

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
        let network = &self.bench.network;
        let parameters = initialize(network, trial.seed());
        let Some(pattern) = self.pattern(trial, &parameters, team, go_on)? else { return Ok(None) };
        let program = Arc::new(Program::new(Arc::clone(network), Arc::new(pattern)));
        let point = &trial.metaparameters;
        Ok(Some(Session::new(
            program,
            Arc::clone(&self.bench.material),
            &parameters,
            lower_optimizer(trial.workload.optimizer, point),
            lower_schedule(trial.workload.schedule, point),
            Batches::new(
                Arc::clone(&self.bench.train),
                trial.cell.batch_size.0 as usize,
                Order::Shuffled { seed: trial.workload.data_seed },
            ),
        )))
    }

    fn pattern(
        &self,
        trial: &Trial,
        parameters: &[f32],
        team: &mut Team,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<Pattern>, LabError> {
        let sparsity = trial.cell.sparsity;
        if sparsity == Sparsity::DENSE {
            return Ok(Some(Pattern::dense(parameters.len())));
        }
        let slot = {
            let mut all = self.saliencies.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(all.entry(trial.seed()).or_default())
        };
        // Whoever comes first computes; others that need the same wait for it.
        let mut known = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_none() {
            *known = self.find(trial, parameters, team, go_on)?;
        }
        let survivors = sparsity.survivors(parameters.len());
        Ok(known.as_ref().map(|saliencies| Pattern::of_highest(saliencies, survivors)))
    }

    /// The saliencies of a trial: those of the store, or else computed and kept there.
    fn find(
        &self,
        trial: &Trial,
        parameters: &[f32],
        team: &mut Team,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<f32>>, LabError> {
        let start = trial.start(&self.bench.fingerprint);
        let store = || self.store.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = store().saliencies(&start)?
            && kept.len() == parameters.len()
        {
            return Ok(Some(kept));
        }
        let (pruning, seed) = (trial.pruning, trial.seed());
        let computed = self.bench.saliencies(pruning, seed, parameters, team, go_on);
        if let Some(scores) = &computed {
            self.images.fetch_add(self.bench.images_pruned_by(pruning), Ordering::Relaxed);
            store().keep_saliencies(&start, scores)?;
        }
        Ok(computed)
    }
}
