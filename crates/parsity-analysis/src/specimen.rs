//! Made-up facts and records, for the tests of this crate.

use parsity_study::{
    BatchSize, Cell, CheckEvery, CheckRange, ErrorRate, GradientNorms, Metaparameters, Optimizer,
    Outcome, Protocol, Record, SmoothnessPoint, SmoothnessRun, Sparsity, Steps, StudyFacts,
};

/// The facts of a study with those goals; checks every 16 steps, every 4 from 1024 on.
pub(crate) fn facts(goals: &[f64], trials: u32) -> StudyFacts {
    let range =
        |(from, steps)| CheckRange { from_batch_size: BatchSize(from), steps: Steps(steps) };
    StudyFacts {
        name: "made-up".to_owned(),
        dataset: "glyphs".to_owned(),
        model: "simple-cnn".to_owned(),
        optimizer: "sgd".to_owned(),
        schedule: "constant".to_owned(),
        goal_errors: goals.iter().map(|&goal| ErrorRate(goal)).collect(),
        step_budget: Steps(40_000),
        check_every: CheckEvery::by_batch_size([(2, 16), (1024, 4)].map(range).to_vec()).unwrap(),
        trials,
        search: None,
    }
}

pub(crate) fn cell(batch_size: u32, share: f64) -> Cell {
    Cell { batch_size: BatchSize(batch_size), sparsity: Sparsity::new(share).unwrap() }
}

/// A raced trial that ended so; if it is complete, it reached its only goal with its last
/// step.
pub(crate) fn record(cell: Cell, trial: u32, outcome: Outcome, steps: u64) -> Record {
    let learning_rate = f64::from(trial + 1);
    let steps = Steps(steps);
    Record {
        cell,
        trial,
        metaparameters: Metaparameters {
            learning_rate,
            momentum: None,
            decay_steps: None,
            end_factor: None,
        },
        protocol: Protocol::Racing,
        outcome,
        steps,
        reached: if outcome == Outcome::Complete { vec![steps] } else { Vec::new() },
        evaluated: 0,
        seconds: 0.0,
        weights: None,
        observations: Vec::new(),
    }
}

/// A dense training of such a study that was watched, with a noise scale about `scale`.
pub(crate) fn watched(optimizer: Optimizer, scale: f64) -> SmoothnessRun {
    let facts = facts(&[0.1], 2);
    let point = |index: u64| SmoothnessPoint {
        step: Steps(1_000 * index),
        lipschitz: 1.0,
        loss: 1.0,
        error: ErrorRate(0.1),
        norms: {
            // |G|² = 1; the noise differs by a few percent from point to point.
            let noise = scale * (1.0 + 0.05 * (index as f64).sin());
            let squared = |batch: f64| 1.0 + noise / batch;
            let (small, big) = (squared(64.0), squared(5_000.0));
            GradientNorms { small_batch: 64.0, small, big_batch: 5_000.0, big }
        },
    };
    SmoothnessRun {
        dataset: facts.dataset,
        model: facts.model,
        optimizer,
        metaparameters: record(cell(2, 0.0), 0, Outcome::Complete, 8).metaparameters,
        batch_size: BatchSize(128),
        sparsity: Sparsity::DENSE,
        seed: 0,
        points: (0..10).map(point).collect(),
    }
}
