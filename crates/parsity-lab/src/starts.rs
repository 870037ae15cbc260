//! Where trials start: initial weights and their saliencies, computed once per seed.
//!
//! Trial `i` starts from the same weights in every cell, so its saliencies serve every
//! batch size and sparsity.

use crate::bench::Bench;
use crate::lower::{lower_optimizer, lower_pruning, lower_schedule};
use parsity_engine::{Batches, Order, Pattern, Program, Session, Team, initialize, saliencies};
use parsity_study::{Pruning, Sparsity, Trial};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The saliencies of one seed, once they are computed.
type Slot = Arc<Mutex<Option<Vec<f32>>>>;

/// The starts of a study's trials, shared by all who train them.
#[derive(Debug)]
pub struct Starts<'a> {
    bench: &'a Bench,
    pruning: Pruning,
    saliencies: Mutex<HashMap<u64, Slot>>,
}

impl<'a> Starts<'a> {
    /// No start is computed yet.
    pub fn new(bench: &'a Bench, pruning: Pruning) -> Self {
        Starts { bench, pruning, saliencies: Mutex::default() }
    }

    /// The session of `trial`, at step 0; `None` if `go_on` said no on the way.
    pub fn session(
        &self,
        trial: &Trial,
        team: &mut Team,
        go_on: &dyn Fn() -> bool,
    ) -> Option<Session> {
        let network = &self.bench.network;
        let parameters = initialize(network, trial.seed());
        let pattern = self.pattern(trial.seed(), trial.cell.sparsity, &parameters, team, go_on)?;
        let program = Arc::new(Program::new(Arc::clone(network), Arc::new(pattern)));
        let point = &trial.metaparameters;
        Some(Session::new(
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
        ))
    }

    /// The survivors of the weights `parameters`, which `seed` made, at `sparsity`; `None`
    /// if `go_on` said no on the way.
    pub fn pattern(
        &self,
        seed: u64,
        sparsity: Sparsity,
        parameters: &[f32],
        team: &mut Team,
        go_on: &dyn Fn() -> bool,
    ) -> Option<Pattern> {
        if sparsity == Sparsity::DENSE {
            return Some(Pattern::dense(parameters.len()));
        }
        let slot = {
            let mut all = self.saliencies.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(all.entry(seed).or_default())
        };
        // Whoever comes first computes; others that need the same wait for it.
        let mut known = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_none() {
            let Bench { network, material, train, .. } = self.bench;
            let pruning = lower_pruning(self.pruning, seed);
            *known = saliencies(pruning, network, parameters, material, train, team, go_on);
        }
        let survivors = sparsity.survivors(parameters.len());
        known.as_ref().map(|saliencies| Pattern::of_highest(saliencies, survivors))
    }
}
