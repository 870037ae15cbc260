//! What watched trainings say: the average Lipschitz constant of each sparsity, what it
//! predicts for the steps, and the gradient noise scale.
//!
//! An average has no interval: it is that of one training, and its points follow from one
//! another. So what counts is the order of several sparsities, and their ratios.

use crate::claims::{LipschitzAverage, LipschitzAverages, lipschitz_rises};
use crate::noise::{NoiseScale, SquaredNorms, noise_scale};
use crate::verdict::Statement;
use parsity_study::{GradientNorms, SmoothnessPoint, SmoothnessRun, Sparsity, StudyFacts};
use serde::Serialize;

/// A watched training in a few numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SmoothnessSummary {
    /// The sparsity of its network.
    pub sparsity: Sparsity,
    /// How many points it has.
    pub points: usize,
    /// The mean of its local Lipschitz constants, if it has points.
    pub lipschitz: Option<f64>,
    /// That mean as a multiple of the dense training's. As c1 grows with L, it is also the
    /// ratio of steps that theory predicts for small batches, if nothing else changed.
    pub ratio: Option<f64>,
    /// The noise scale of its mean squared gradients.
    pub noise_scale: Option<NoiseScale>,
}

/// The summaries of runs that differ in their sparsity only, in their order.
pub fn summarize_smoothness(runs: &[SmoothnessRun]) -> Vec<SmoothnessSummary> {
    let dense = runs.iter().find(|run| run.sparsity == Sparsity::DENSE).and_then(mean_lipschitz);
    let summarize = |run: &SmoothnessRun| {
        let lipschitz = mean_lipschitz(run);
        let ratio = lipschitz.zip(dense).map(|(ours, dense)| ours / dense);
        SmoothnessSummary {
            sparsity: run.sparsity,
            points: run.points.len(),
            lipschitz,
            ratio: ratio.filter(|ratio| ratio.is_finite()),
            noise_scale: mean_noise_scale(&run.points),
        }
    };
    runs.iter().map(summarize).collect()
}

/// Runs in sets that differ in their sparsity only, each by rising sparsity.
pub fn alike(runs: &[SmoothnessRun]) -> Vec<Vec<&SmoothnessRun>> {
    let mut sets: Vec<Vec<&SmoothnessRun>> = Vec::new();
    for run in runs {
        let same = |other: &&SmoothnessRun| {
            other.dataset == run.dataset
                && other.model == run.model
                && other.optimizer == run.optimizer
                && other.metaparameters == run.metaparameters
                && other.batch_size == run.batch_size
                && other.seed == run.seed
                && other.sparsity != run.sparsity
        };
        match sets.iter_mut().find(|set| set.iter().all(same)) {
            Some(set) => set.push(run),
            None => sets.push(vec![run]),
        }
    }
    for set in &mut sets {
        set.sort_by_key(|run| run.sparsity);
    }
    sets
}

/// The Lipschitz averages of runs, set by set.
pub(crate) fn lipschitz_averages(runs: &[SmoothnessRun]) -> Vec<LipschitzAverages> {
    let of_set = |set: Vec<&SmoothnessRun>| {
        let SmoothnessRun { optimizer, batch_size, metaparameters, seed, .. } = set[0];
        let rate = metaparameters.learning_rate;
        let training =
            format!("{optimizer} at batch size {batch_size}, learning rate {rate} and seed {seed}");
        let average = |run: &&SmoothnessRun| {
            Some(LipschitzAverage { sparsity: run.sparsity, average: mean_lipschitz(run)? })
        };
        LipschitzAverages { training, averages: set.iter().filter_map(average).collect() }
    };
    alike(runs).into_iter().map(of_set).collect()
}

/// The noise scales of the trainings that have to do with a study, each with its sparsity.
/// Only those of its optimizer count: the critical batch size depends on it.
pub(crate) fn noise_scales(
    facts: &StudyFacts,
    runs: &[SmoothnessRun],
) -> Vec<(Sparsity, NoiseScale)> {
    let StudyFacts { dataset, model, optimizer, .. } = facts;
    let ours = runs.iter().filter(|run| {
        run.dataset == *dataset && run.model == *model && run.optimizer.name() == optimizer
    });
    ours.filter_map(|run| Some((run.sparsity, mean_noise_scale(&run.points)?))).collect()
}

/// Whether the Lipschitz constant grows with sparsity.
pub fn examine_smoothness(summaries: &[SmoothnessSummary]) -> Statement {
    let averages: Vec<LipschitzAverage> = summaries
        .iter()
        .filter_map(|it| it.lipschitz.map(|average| (it.sparsity, average)))
        .map(|(sparsity, average)| LipschitzAverage { sparsity, average })
        .collect();
    lipschitz_rises(&averages)
}

/// The noise scale at one point, without an interval; infinite where the gradient cannot be
/// told from 0, and `None` if the big batch is not the bigger one.
pub fn local_noise_scale(norms: &GradientNorms) -> Option<f64> {
    let (noise, signal) = squared(norms).terms(norms.small_batch, norms.big_batch)?;
    Some(if signal > 0.0 { (noise / signal).max(0.0) } else { f64::INFINITY })
}

fn squared(norms: &GradientNorms) -> SquaredNorms {
    SquaredNorms { small: norms.small, big: norms.big }
}

fn mean_lipschitz(run: &SmoothnessRun) -> Option<f64> {
    let count = run.points.len();
    let sum: f64 = run.points.iter().map(|point| point.lipschitz).sum();
    (count > 0).then(|| sum / count as f64)
}

fn mean_noise_scale(points: &[SmoothnessPoint]) -> Option<NoiseScale> {
    let first = points.first()?.norms;
    let measurements: Vec<SquaredNorms> = points.iter().map(|it| squared(&it.norms)).collect();
    noise_scale(first.small_batch, first.big_batch, &measurements)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Verdict;
    use parsity_study::{BatchSize, ErrorRate, Metaparameters, Optimizer, Steps};

    fn run(share: f64, lipschitz: &[f64]) -> SmoothnessRun {
        let point = |(index, &lipschitz): (usize, &f64)| SmoothnessPoint {
            step: Steps(1000 * index as u64),
            lipschitz,
            loss: 1.0,
            error: ErrorRate(0.1),
            // A signal of 2 and a noise of 600.
            norms: GradientNorms {
                small_batch: 50.0,
                small: 2.0 + 12.0,
                big_batch: 600.0,
                big: 2.0 + 1.0,
            },
        };
        SmoothnessRun {
            dataset: "mnist".to_owned(),
            model: "simple-cnn".to_owned(),
            optimizer: Optimizer::Sgd,
            metaparameters: Metaparameters {
                learning_rate: 0.1,
                momentum: None,
                decay_steps: None,
                end_factor: None,
            },
            batch_size: BatchSize(128),
            sparsity: Sparsity::new(share).unwrap(),
            seed: 0,
            points: lipschitz.iter().enumerate().map(point).collect(),
        }
    }

    #[test]
    fn averages_and_ratios_to_dense_are_those_of_the_points() {
        let runs = [run(0.0, &[1.0, 2.0, 3.0]), run(0.9, &[4.0, 6.0]), run(0.95, &[])];
        let [dense, sparse, empty] = summarize_smoothness(&runs)[..] else { panic!("three runs") };
        assert_eq!((dense.lipschitz, dense.ratio), (Some(2.0), Some(1.0)));
        assert_eq!((sparse.lipschitz, sparse.ratio), (Some(5.0), Some(2.5)));
        assert_eq!((empty.lipschitz, empty.ratio, empty.points), (None, None, 0));
        let alone = summarize_smoothness(&runs[1..2]);
        assert_eq!((alone[0].lipschitz, alone[0].ratio), (Some(5.0), None));
    }

    #[test]
    fn the_noise_scale_is_that_of_the_norms_and_needs_three_points_for_an_interval() {
        let runs = [run(0.0, &[1.0; 3]), run(0.5, &[1.0; 2])];
        let local = local_noise_scale(&runs[0].points[0].norms).unwrap();
        assert!((local - 300.0).abs() < 1e-9, "{local}");
        let [three, two] = summarize_smoothness(&runs)[..] else { panic!("two runs") };
        assert!((three.noise_scale.unwrap().scale.value - 300.0).abs() < 1e-9);
        assert_eq!(two.noise_scale, None);
        let mut weak = runs[0].points[0].norms;
        weak.big = 0.5;
        assert_eq!(local_noise_scale(&weak), Some(f64::INFINITY));
        weak.big_batch = weak.small_batch;
        assert_eq!(local_noise_scale(&weak), None);
    }

    #[test]
    fn averages_of_different_trainings_are_not_mixed() {
        let with = |optimizer, share| SmoothnessRun { optimizer, ..run(share, &[1.0 + share]) };
        let runs = [
            with(Optimizer::Sgd, 0.9),
            with(Optimizer::Momentum, 0.0),
            with(Optimizer::Sgd, 0.0),
            with(Optimizer::Momentum, 0.9),
        ];
        let sets = lipschitz_averages(&runs);
        let [sgd, momentum] = &sets[..] else { panic!("{sets:?}") };
        assert_eq!(sgd.averages, momentum.averages);
        let averages: Vec<f64> = sgd.averages.iter().map(|it| it.average).collect();
        assert_eq!(averages, [1.0, 1.9]);
        assert!(momentum.training.starts_with("momentum at batch size 128"));
    }

    #[test]
    fn four_averages_in_order_are_beyond_chance_and_three_are_not() {
        let published = [(0.0, 0.57), (0.5, 0.72), (0.7, 0.81), (0.9, 1.76)];
        let runs: Vec<SmoothnessRun> =
            published.iter().map(|&(share, average)| run(share, &[average])).collect();
        let verdict =
            |runs: &[SmoothnessRun]| examine_smoothness(&summarize_smoothness(runs)).verdict;
        assert_eq!(verdict(&runs), Verdict::Holds);
        assert_eq!(verdict(&runs[..3]), Verdict::NotEnoughData);
    }
}
