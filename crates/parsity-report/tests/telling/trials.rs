//! Made-up trials: records of whole studies, whose best trials need the steps that they are
//! told to, and whose other trials do worse the farther their metaparameters are off.

use crate::specimen::facts;
use parsity_analysis::{Standing, StudyRecords};
use parsity_study::search::SearchKeys;
use parsity_study::{
    BatchSize, Cell, ErrorRate, GradientNorms, LayerSurvivors, Metaparameters, Optimizer, Outcome,
    Protocol, Record, Schedule, SmoothnessPoint, SmoothnessRun, Space, Sparsity, Steps, StudyFacts,
    SurvivorCount, Survivors,
};
use std::ops::RangeInclusive;

/// A study of batch sizes 2^`powers` and those shares removed, whose cells stand as told.
pub(crate) fn trials(
    facts: StudyFacts,
    powers: RangeInclusive<u32>,
    shares: &[f64],
    standing: impl Fn(u32, f64) -> Standing,
) -> StudyRecords {
    let cells = powers.flat_map(|power| shares.iter().map(move |&share| (1u32 << power, share)));
    let cells: Vec<Cell> = cells
        .map(|(size, share)| Cell {
            batch_size: BatchSize(size),
            sparsity: Sparsity::new(share).expect("a share lies in [0, 1)"),
        })
        .collect();
    let records = cells.iter().flat_map(|&cell| {
        let standing = standing(cell.batch_size.0, cell.sparsity.share());
        of_cell(&facts, cell, standing)
    });
    let records = records.collect();
    StudyRecords { facts, cells, records, memory: None }
}

/// The same study with a looser goal besides, which takes half the steps.
pub(crate) fn with_two_goals(mut study: StudyRecords) -> StudyRecords {
    study.facts.goal_errors.insert(0, ErrorRate(0.05));
    for record in &mut study.records {
        if let [steps] = record.reached[..] {
            record.reached.insert(0, Steps((steps.0 / 2).next_multiple_of(16)));
        }
    }
    study
}

/// The facts of a study with an optimizer and a search.
pub(crate) fn searched(name: &str, optimizer: Optimizer) -> StudyFacts {
    let search = Space::new(optimizer, Schedule::Constant, &SearchKeys::default());
    let optimizer = optimizer.name().to_owned();
    StudyFacts { optimizer, search: Some(search), ..facts(name) }
}

fn of_cell(facts: &StudyFacts, cell: Cell, standing: Standing) -> Vec<Record> {
    let space = facts.search.unwrap_or_else(|| {
        Space::new(Optimizer::Momentum, Schedule::Constant, &SearchKeys::default())
    });
    let (best, done) = match standing {
        Standing::Reached(steps) => (Some(steps), facts.trials),
        Standing::NotReached => (None, facts.trials),
        Standing::Open(None) => (None, 0),
        Standing::Open(best) => (best, facts.trials * 3 / 5),
    };
    let points: Vec<Metaparameters> = (0..done).map(|trial| space.point(trial)).collect();
    let off: Vec<f64> = points.iter().map(|point| farness(point, cell)).collect();
    let least = off.iter().copied().filter(|it| *it > 0.0).fold(f64::INFINITY, f64::min);
    let every = facts.check_every.at(cell.batch_size).0;
    let budget = facts.step_budget.0;
    let each = points.into_iter().zip(off).enumerate().map(|(trial, (metaparameters, off))| {
        let wanted = best.map_or(f64::INFINITY, |best| best.0 as f64 * (off - least).exp());
        let checked = (wanted / every as f64).ceil() * every as f64;
        // The best one and those close to it reach the goal; the race stops the others.
        let (outcome, steps) = if off < 0.0 {
            (Outcome::Infeasible, 1 + (trial as u64 * 7) % 23)
        } else if best.is_some_and(|best| checked <= 1.15 * best.0 as f64) {
            (Outcome::Complete, checked as u64)
        } else if let Some(best) = best {
            (Outcome::Outpaced, best.0)
        } else {
            (Outcome::Incomplete, budget)
        };
        let reached = if outcome == Outcome::Complete { vec![Steps(steps)] } else { Vec::new() };
        Record {
            cell,
            trial: trial as u32,
            metaparameters,
            protocol: Protocol::Racing,
            outcome,
            steps: Steps(steps),
            reached,
            evaluated: steps / every * 6_000,
            seconds: steps as f64 * f64::from(cell.batch_size.0) * 2e-5,
            weights: None,
            observations: Vec::new(),
        }
    });
    each.collect()
}

/// How far metaparameters are from those that are best in a cell; below 0 if they diverge.
/// The best learning rate grows with the batch size up to a point.
fn farness(point: &Metaparameters, cell: Cell) -> f64 {
    let effective = point.learning_rate / (1.0 - point.momentum.unwrap_or(0.0));
    let size = f64::from(cell.batch_size.0);
    let best = 2.0 * size / (size + 256.0) * (1.0 - 0.4 * cell.sparsity.share());
    let off = (effective / best).ln();
    let inert = point.momentum.map_or(0.0, |it| (-(1.0 - it).log10() - 1.5).abs());
    if off > 2.5 { -1.0 } else { 1e-3 + off.abs() * 0.6 + 0.15 * inert }
}

/// Trainings whose smoothness was watched, one per share removed.
pub(crate) fn watched(shares: &[f64]) -> Vec<SmoothnessRun> {
    let run = |&share: &f64| {
        let level = 0.57 / (1.0 - share).sqrt();
        let point = |index: u64| {
            let time = index as f64;
            SmoothnessPoint {
                step: Steps(index * 1_000),
                lipschitz: level * (1.0 + 0.2 * (time * 1.7 + share).sin() + time / 30.0),
                loss: 2.3 * (-time / (4.0 + 4.0 * share)).exp() + 0.02,
                error: ErrorRate(0.9 * (-time / (3.0 + 3.0 * share)).exp() + 0.015),
                norms: GradientNorms { small_batch: 10.0, small: 2.0, big_batch: 100.0, big: 1.0 },
            }
        };
        SmoothnessRun {
            dataset: "MNIST".to_owned(),
            model: "simple-cnn".to_owned(),
            optimizer: Optimizer::Sgd,
            metaparameters: Metaparameters {
                learning_rate: 0.1,
                momentum: None,
                decay_steps: None,
                end_factor: None,
            },
            batch_size: BatchSize(100),
            sparsity: Sparsity::new(share).expect("a share lies in [0, 1)"),
            seed: 0,
            points: (0..=20).map(point).collect(),
        }
    };
    shares.iter().map(run).collect()
}

/// What survives in a network of eight layers, of which the large ones lose most.
pub(crate) fn pruned(study: &str, shares: &[f64]) -> Survivors {
    let layers = [
        ("conv1", 448),
        ("block1.conv1", 2_320),
        ("block1.conv2", 2_320),
        ("block2.conv1", 4_640),
        ("block2.conv2", 9_248),
        ("block3.conv1", 18_496),
        ("block3.conv2", 36_928),
        ("dense", 650),
    ];
    let layer = |(layer, parameters): (&str, u64)| LayerSurvivors {
        layer: layer.to_owned(),
        parameters,
        survivors: shares
            .iter()
            .map(|&share| {
                let kept = (1.0 - share).powf((parameters as f64 / 448.0).powf(0.06) - 0.1);
                let mean = kept * parameters as f64;
                let [least, most] = [0.9, 1.1].map(|factor| (factor * mean) as u64);
                let sparsity = Sparsity::new(share).expect("a share lies in [0, 1)");
                SurvivorCount { sparsity, mean, least, most: most.min(parameters) }
            })
            .collect(),
    };
    Survivors { study: study.to_owned(), trials: 16, layers: layers.map(layer).to_vec() }
}
