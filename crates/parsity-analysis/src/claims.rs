//! The five claims of the published study, each with a verdict.
//!
//! A claim is a list of statements, one per curve or pair of curves that it is about; it
//! holds if all of them do. Where the words of a claim leave room, the rule that was
//! chosen stands with the constant that expresses it.

use crate::curves::{FittedCurve, StudyCurves};
use crate::law::Law;
use crate::measured::Estimate;
use crate::order::{Rising, rising};
use crate::ratio::{Ratios, larger_critical_batch_size};
use crate::regions::{Region, TOLERANCE};
use crate::verdict::{Evidence, Statement, Verdict};
use parsity_study::Sparsity;
use serde::Serialize;

/// A claim with its verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Claim {
    /// Its number among the five.
    pub number: u8,
    /// What it says.
    pub says: &'static str,
    /// Whether all its statements hold.
    pub verdict: Verdict,
    /// What it says about each curve, or pair of curves.
    pub statements: Vec<Statement>,
}

/// The mean local Lipschitz constant of a training.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LipschitzAverage {
    /// The sparsity of the network.
    pub sparsity: Sparsity,
    /// The mean over the training.
    pub average: f64,
}

/// The averages of trainings that differ in their sparsity only.
#[derive(Debug, Clone, PartialEq)]
pub struct LipschitzAverages {
    /// What these trainings have in common.
    pub training: String,
    /// One per sparsity.
    pub averages: Vec<LipschitzAverage>,
}

/// Data parallelism is no worse if the critical batch size is at least this share of the
/// other one: half a doubling is less than a grid of doublings can show.
pub const NO_WORSE: f64 = std::f64::consts::FRAC_1_SQRT_2;
/// A critical batch size is much larger if it is at least twice the other one.
pub const MUCH: f64 = 2.0;
/// The sparse/dense ratios of the published study.
pub const PUBLISHED_RATIOS: [f64; 2] = [1.5, 4.5];
/// The sparsity that those ratios are about.
pub const PUBLISHED_SPARSITY: f64 = 0.9;
/// Mean ratios closer to 1 than this are 1.
const NEGLIGIBLE_RATIO: f64 = 1.05;

/// All five claims. Those about one study are tested on each of `studies`, which are to
/// differ in their optimizer only.
pub fn examine(studies: &[StudyCurves], lipschitz: &[LipschitzAverages]) -> [Claim; 5] {
    [
        claim(
            1,
            "every workload and sparsity: linear scaling, then diminishing returns, then maximal \
             data parallelism",
            studies.iter().flat_map(three_regions).collect(),
        ),
        claim(
            2,
            "data parallelism on sparse networks is no worse than on dense ones, though sparse \
             ones need more steps",
            studies.iter().flat_map(no_worse_when_sparse).collect(),
        ),
        claim(
            3,
            "the steps of 90 %-sparse networks are 1.5 to 4.5 times those of dense ones, falling \
             with batch size, mostly for optimizers with momentum",
            ratio_falls(studies),
        ),
        claim(
            4,
            "momentum and Nesterov need fewer steps at large batch sizes, and have a much larger \
             critical batch size, than SGD, at all sparsities",
            momentum_goes_further(studies),
        ),
        claim(
            5,
            "more pruning, a larger Lipschitz constant, slower training",
            pruning_slows_down(studies, lipschitz),
        ),
    ]
}

fn claim(number: u8, says: &'static str, statements: Vec<Statement>) -> Claim {
    let verdict = Verdict::all(statements.iter().map(|statement| statement.verdict));
    Claim { number, says, verdict, statements }
}

/// Claim 1: of each curve, a region where the slope is −1 and one where it is 0, each
/// within the tolerance that defines the regions. Between them returns have to diminish.
fn three_regions(study: &StudyCurves) -> Vec<Statement> {
    let of = |curve: &FittedCurve, region, what: &str, name, slope: f64| {
        let says = format!("{}, {}: {what}", study.study, curve.sparsity);
        Statement::about(says, name, curve.slope_in(region), |found| {
            Verdict::inside(found, slope - TOLERANCE, slope + TOLERANCE)
        })
    };
    let both = |curve| {
        [
            of(
                curve,
                Region::LinearScaling,
                "small batch sizes scale linearly",
                "slope of log steps where scaling is linear",
                -1.0,
            ),
            of(
                curve,
                Region::MaximalDataParallelism,
                "large batch sizes need no fewer steps",
                "slope of log steps where data parallelism is maximal",
                0.0,
            ),
        ]
    };
    study.curves.iter().flat_map(both).collect()
}

/// Claim 2: for each sparse curve, whether its critical batch size is no smaller than the
/// dense one, and whether it needs more steps.
fn no_worse_when_sparse(study: &StudyCurves) -> Vec<Statement> {
    let Some(dense) = study.curve(Sparsity::DENSE) else { return Vec::new() };
    let both = |sparse: &FittedCurve| {
        let label = format!("{}, {}", study.study, sparse.sparsity);
        let critical = laws(sparse, dense).map(|(a, b)| a.critical_batch_size_over(b));
        let steps = Ratios::of(&sparse.readings, &dense.readings).line.map(|line| line.mean);
        [
            Statement::about(
                format!("{label}: the critical batch size is not smaller than the dense one"),
                "sparse/dense critical batch size",
                critical,
                no_smaller,
            ),
            Statement::about(
                format!("{label}: more steps than dense"),
                "mean sparse/dense steps",
                steps,
                |ratio| Verdict::above(ratio, 1.0, NEGLIGIBLE_RATIO),
            ),
        ]
    };
    study.sparse().flat_map(both).collect()
}

/// An interval wholly below 1 is a smaller critical batch size, however little; one that
/// reaches 1 and stays above the margin is none.
fn no_smaller(ratio: Estimate) -> Verdict {
    if ratio.high < 1.0 { Verdict::DoesNotHold } else { Verdict::above(ratio, NO_WORSE, 1.0) }
}

/// Claim 3: the ratio at both ends of the batch sizes, its trend, and, if there is an
/// optimizer without momentum to compare with, whether it falls faster with momentum.
fn ratio_falls(studies: &[StudyCurves]) -> Vec<Statement> {
    let mut statements = Vec::new();
    let mut trends: Vec<(&StudyCurves, Option<Estimate>)> = Vec::new();
    for study in studies {
        let (Some(dense), Some(sparse)) =
            (study.curve(Sparsity::DENSE), study.curve_or_sparsest(PUBLISHED_SPARSITY))
        else {
            continue;
        };
        let label = format!("{}, {}", study.study, sparse.sparsity);
        let ratios = Ratios::of(&sparse.readings, &dense.readings);
        let [from, to] = PUBLISHED_RATIOS;
        let ends = ratios.line.map(|line| [line.at_smallest, line.at_largest]);
        let inside =
            |ends: [Estimate; 2]| Verdict::all(ends.map(|end| Verdict::inside(end, from, to)));
        let names = ["ratio at the smallest batch size", "ratio at the largest batch size"];
        let evidence = |ends: [Estimate; 2]| {
            let pairs = names.into_iter().zip(ends);
            pairs.map(|(name, estimate)| Evidence { name, estimate }).collect()
        };
        statements.push(Statement {
            says: format!("{label}: {from} to {to} times the dense steps"),
            verdict: ends.map_or(Verdict::NotEnoughData, inside),
            evidence: ends.map_or(Vec::new(), evidence),
        });
        statements.push(ratios.falls(format!("{label}: the ratio falls with batch size")));
        trends.push((study, ratios.line.map(|line| line.per_doubling)));
    }
    statements.extend(falls_faster(&trends));
    statements
}

fn falls_faster(trends: &[(&StudyCurves, Option<Estimate>)]) -> Vec<Statement> {
    let Some((_, plain)) = trends.iter().find(|(study, _)| !study.optimizer.has_momentum()) else {
        return Vec::new();
    };
    let with_momentum = trends.iter().filter(|(study, _)| study.optimizer.has_momentum());
    let faster = |(study, trend): &(&StudyCurves, Option<Estimate>)| {
        let quotient = trend.zip(*plain).map(|(trend, plain)| trend.over(&plain));
        let says = format!("{}: the ratio falls faster than with SGD", study.study);
        // One percent per doubling is a tenth over the batch sizes of the published study.
        Statement::about(says, "factor per doubling, over that of SGD", quotient, |quotient| {
            Verdict::below(quotient, 1.0, 1.01)
        })
    };
    with_momentum.map(faster).collect()
}

/// Claim 4: at each sparsity, optimizers with momentum against the one without.
fn momentum_goes_further(studies: &[StudyCurves]) -> Vec<Statement> {
    let Some(plain) = studies.iter().find(|study| !study.optimizer.has_momentum()) else {
        return Vec::new();
    };
    let mut statements = Vec::new();
    for study in studies.iter().filter(|study| study.optimizer.has_momentum()) {
        for curve in &study.curves {
            let pair = plain.curve(curve.sparsity).and_then(|other| laws(curve, other));
            let label = format!("{}, {}", study.study, curve.sparsity);
            statements.push(Statement::about(
                format!("{label}: fewer steps at large batch sizes than with SGD"),
                "steps at maximal data parallelism, over those of SGD",
                pair.map(|(a, b)| a.floor_over(b)),
                |ratio| Verdict::below(ratio, 1.0, NEGLIGIBLE_RATIO),
            ));
            statements.push(Statement::about(
                format!("{label}: a much larger critical batch size than SGD"),
                "critical batch size, over that of SGD",
                pair.map(|(a, b)| a.critical_batch_size_over(b)),
                |ratio| Verdict::above(ratio, MUCH, 1.0),
            ));
        }
    }
    statements
}

/// Claim 5: Lipschitz averages in the order of sparsities, and of each sparsity whether it
/// needs more steps than the one before.
///
/// Averages of trainings that differ in more than their sparsity are in no order, so each set
/// is tested by itself; of those with fewer sparsities than another nothing is said.
fn pruning_slows_down(studies: &[StudyCurves], lipschitz: &[LipschitzAverages]) -> Vec<Statement> {
    let most = lipschitz.iter().map(|it| it.averages.len()).max().unwrap_or(0);
    let sets = lipschitz.iter().filter(|it| it.averages.len() == most && most > 0);
    let mut statements: Vec<Statement> = sets
        .map(|set| {
            let Statement { says, verdict, evidence } = lipschitz_rises(&set.averages);
            Statement { says: format!("{}: {says}", set.training), verdict, evidence }
        })
        .collect();
    if statements.is_empty() {
        statements.push(lipschitz_rises(&[]));
    }
    for study in studies {
        for pair in study.curves.windows(2) {
            let ratio = Ratios::of(&pair[1].readings, &pair[0].readings).line.map(|line| line.mean);
            let says = format!(
                "{}: more steps at {} than at {}",
                study.study, pair[1].sparsity, pair[0].sparsity
            );
            statements.push(Statement::about(says, "mean ratio of steps", ratio, |ratio| {
                Verdict::above(ratio, 1.0, NEGLIGIBLE_RATIO)
            }));
        }
    }
    statements
}

/// Whether the averages rise with sparsity.
pub(crate) fn lipschitz_rises(lipschitz: &[LipschitzAverage]) -> Statement {
    let mut sorted = lipschitz.to_vec();
    sorted.sort_by_key(|it| it.sparsity);
    let averages: Vec<f64> = sorted.iter().map(|it| it.average).collect();
    let exact = |value: f64| Estimate { value, low: value, high: value };
    let Rising { verdict, chance } = rising(&averages);
    let number = |name, value| Evidence { name, estimate: exact(value) };
    let mut evidence: Vec<Evidence> =
        averages.iter().map(|&it| number("mean local Lipschitz constant", it)).collect();
    if !averages.is_empty() {
        evidence.push(number("probability of such an order by chance", chance));
    }
    let says = "the Lipschitz constant grows with sparsity".to_owned();
    Statement { says, verdict, evidence }
}

fn laws<'a>(a: &'a FittedCurve, b: &'a FittedCurve) -> Option<(&'a Law, &'a Law)> {
    a.law.as_ref().zip(b.law.as_ref())
}

/// Of a study, whether the critical batch size of each sparse curve is larger than the
/// dense one: the statement behind a falling ratio.
pub fn sparse_is_larger(study: &StudyCurves) -> Vec<Statement> {
    let Some(dense) = study.curve(Sparsity::DENSE) else { return Vec::new() };
    let larger = |sparse: &FittedCurve| {
        let (a, b) = laws(sparse, dense)?;
        let says = format!(
            "{}, {}: the critical batch size is larger than the dense one",
            study.study, sparse.sparsity
        );
        Some(larger_critical_batch_size(says, a, b))
    };
    study.sparse().filter_map(larger).collect()
}
