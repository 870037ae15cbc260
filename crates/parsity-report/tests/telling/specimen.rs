//! Made-up studies: steps that follow the theory, and studies in every state.

use parsity_analysis::{CellSummary, Standing};
use parsity_study::{
    BatchSize, CheckEvery, CheckRange, ErrorRate, Metaparameters, Sparsity, Steps, StudyFacts,
};

/// The step budget of all of them.
pub(crate) const BUDGET: u64 = 40_000;
/// Their check interval.
pub(crate) const CHECK_EVERY: u64 = 16;

/// Their goal.
pub(crate) const GOAL: ErrorRate = ErrorRate(0.02);

/// A looser goal, for studies with two.
const LOOSER: ErrorRate = ErrorRate(0.05);

/// The facts of a study of that name.
pub(crate) fn facts(name: &str) -> StudyFacts {
    StudyFacts {
        name: name.to_owned(),
        dataset: "MNIST".to_owned(),
        model: "simple-cnn".to_owned(),
        optimizer: "momentum".to_owned(),
        schedule: "constant".to_owned(),
        goal_errors: vec![GOAL],
        step_budget: Steps(BUDGET),
        check_every: CheckEvery::always(Steps(CHECK_EVERY)),
        trials: 100,
        search: None,
    }
}

/// Summaries of all cells with batch sizes 2^`powers` and those shares removed.
pub(crate) fn study(
    powers: std::ops::RangeInclusive<u32>,
    shares: &[f64],
    standing: impl Fn(u32, f64) -> Standing,
) -> Vec<CellSummary> {
    let cells = powers.flat_map(|power| shares.iter().map(move |&share| (1 << power, share)));
    cells.map(|(size, share)| summary(size, share, standing(size, share))).collect()
}

/// A cell of a hundred trials that stands as told.
pub(crate) fn summary(batch_size: u32, share: f64, standing: Standing) -> CellSummary {
    let (steps_to_result, best_so_far, done) = match standing {
        Standing::Reached(steps) => (Some(steps), Some(steps), 100),
        Standing::NotReached => (None, None, 100),
        Standing::Open(best_so_far) => (None, best_so_far, 60),
    };
    let complete = if best_so_far.is_some() { 23 } else { 0 };
    CellSummary {
        batch_size: BatchSize(batch_size),
        sparsity: Sparsity::new(share).expect("a share lies in [0, 1)"),
        goal_error: GOAL,
        steps_to_result,
        above: steps_to_result.map(|steps| Steps(steps.0.saturating_sub(CHECK_EVERY))),
        best_so_far,
        best_trial: best_so_far.map(|_| 7),
        metaparameters: best_so_far.map(|_| Metaparameters {
            learning_rate: 0.003_162_277_660_168_379_5,
            momentum: Some(0.982_217),
            decay_steps: None,
            end_factor: None,
        }),
        complete,
        incomplete: done - complete - 5,
        infeasible: 5,
        outpaced: 0,
        collapsed: 0,
        failed: 0,
        exhaustive: 0,
        trials: 100,
    }
}

/// A study with two goals: that of `summaries`, and a looser one that takes half the steps.
/// Large batches are checked more often.
pub(crate) fn with_looser_goal(
    name: &str,
    summaries: &[CellSummary],
) -> (StudyFacts, Vec<CellSummary>) {
    let range = |from, steps| CheckRange { from_batch_size: BatchSize(from), steps: Steps(steps) };
    let ranges = vec![range(2, CHECK_EVERY), range(1024, 4)];
    let check_every = CheckEvery::by_batch_size(ranges).expect("two different ranges");
    let halve = |steps: Steps| Steps((steps.0 / 2).next_multiple_of(CHECK_EVERY));
    let loose = summaries.iter().map(|tight| CellSummary {
        goal_error: LOOSER,
        steps_to_result: tight.steps_to_result.map(halve),
        best_so_far: tight.best_so_far.map(halve),
        ..tight.clone()
    });
    let mut both: Vec<CellSummary> = loose.chain(summaries.iter().cloned()).collect();
    for cell in &mut both {
        let interval = check_every.at(cell.batch_size).0;
        cell.above = cell.steps_to_result.map(|steps| Steps(steps.0 - interval));
    }
    (StudyFacts { goal_errors: vec![LOOSER, GOAL], check_every, ..facts(name) }, both)
}

/// K = c₁/B + c₂, rounded up to a goal check; sparse networks need more steps, less so at
/// large batch sizes.
pub(crate) fn theory(batch_size: u32, share: f64) -> Standing {
    theory_with(batch_size, share, 1.0)
}

/// The same with a floor that is so many times as high.
pub(crate) fn theory_with(batch_size: u32, share: f64, floor: f64) -> Standing {
    let harder = 1.0 - (1.0 - share).log2() * 0.55;
    let wobble = 1.0 + 0.06 * (f64::from(batch_size).ln() * 7.3 + share * 11.0).sin();
    let linear = 70_000.0 * harder.powf(1.4) / f64::from(batch_size);
    let steps = ((linear + floor * 72.0 * harder) * wobble) as u64;
    let checked = steps.div_ceil(CHECK_EVERY) * CHECK_EVERY;
    if checked > BUDGET { Standing::NotReached } else { Standing::Reached(Steps(checked)) }
}

/// A study half done: small batches decided, middle ones open, large ones not begun.
pub(crate) fn running(batch_size: u32, share: f64) -> Standing {
    match (theory(batch_size, share), batch_size) {
        (decided, ..=64) => decided,
        (Standing::Reached(steps), ..=512) => Standing::Open(Some(Steps(steps.0 + 32))),
        _ => Standing::Open(None),
    }
}

/// As theory, with a critical batch size that is four times smaller.
pub(crate) fn theory_of_sgd(batch_size: u32, share: f64) -> Standing {
    theory_with(batch_size, share, 4.0)
}
