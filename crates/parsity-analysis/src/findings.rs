//! Findings: what is suspicious about a study, though valid, and what to do next.
//!
//! A closed list, so that terminal, report and dashboard show the same ones. Each says
//! what was seen, with its numbers, and has a next action that names what to change, and
//! to what.

use crate::curves::FittedCurve;
use crate::edges::{Edge, best_at_edges};
use crate::measured::{Estimate, Measured, Reading};
use crate::noise::{NoiseScale, agree};
use crate::regions::Regions;
use crate::verdict::Verdict;
use parsity_study::{BatchSize, Cell, Outcome, Range, Record, Space, Sparsity, Steps};
use serde::Serialize;
use std::fmt;

/// Something suspicious, with what to do about it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "finding", rename_all = "kebab-case")]
pub enum Finding {
    /// The best trial of a cell lies at the edge of a searched range.
    BestAtEdge {
        /// The cell.
        cell: Cell,
        /// The metaparameter.
        metaparameter: &'static str,
        /// Its value in the best trial.
        best: f64,
        /// The edge.
        edge: Edge,
        /// The searched range.
        range: Range,
        /// Where the edge should be.
        widen_to: f64,
    },
    /// Too few trials of a cell reached the goal for their minimum to be settled.
    TooFewComplete {
        /// The cell.
        cell: Cell,
        /// The trials that reached the goal.
        complete: usize,
        /// All trials.
        trials: usize,
        /// The most steps that a trial was trained.
        trained: Steps,
    },
    /// The goal was reached at the first check, so that there is no lower bound.
    GoalAtFirstCheck {
        /// The cell.
        cell: Cell,
        /// The steps between checks.
        check_every: Steps,
        /// The steps that there should be between checks.
        suggested: Steps,
    },
    /// A larger batch size needs clearly more steps than a smaller one.
    NotMonotone {
        /// The sparsity.
        sparsity: Sparsity,
        /// The batch size that needs fewer steps.
        smaller: BatchSize,
        /// The larger one, which needs more.
        larger: BatchSize,
        /// How many times as many it needs at least.
        factor: f64,
    },
    /// Steps still fall at the largest batch sizes, or just one of them lies on the floor.
    NoFlatRegion {
        /// The sparsity.
        sparsity: Sparsity,
        /// The largest batch size that has steps.
        largest: BatchSize,
        /// The batch sizes to add.
        add: Vec<BatchSize>,
    },
    /// Too large a share of the trials of a cell diverged.
    InfeasibleShare {
        /// The cell.
        cell: Cell,
        /// The trials that diverged.
        infeasible: usize,
        /// All trials.
        trials: usize,
        /// The highest learning rate with which a trial did not diverge.
        highest_feasible: Option<f64>,
    },
    /// The readings scatter so much that the critical batch size is hardly known.
    NoisyFit {
        /// The sparsity.
        sparsity: Sparsity,
        /// The typical deviation of a reading from the curve, as a share of its steps.
        scatter: f64,
        /// The critical batch size.
        critical_batch_size: Estimate,
        /// The batch sizes whose readings are farthest from the curve.
        farthest: Vec<BatchSize>,
    },
    /// The gradient noise scale and the critical batch size have nothing in common.
    NoiseScaleDisagrees {
        /// The sparsity.
        sparsity: Sparsity,
        /// The noise scale of a watched training.
        noise_scale: Estimate,
        /// The critical batch size.
        critical_batch_size: Estimate,
    },
}

/// As many trials should reach the goal before their minimum is taken for settled: of
/// another set, one in thirty has a minimum above the fifth best.
const ENOUGH_COMPLETE: usize = 5;
/// From this factor on, more steps at a larger batch size are not explained by luck.
const CLEAR_RISE: f64 = 1.25;
/// From this share on, a search spends more on diverging trials than on others.
const TOO_MANY_INFEASIBLE: f64 = 0.5;
/// A scatter from which on a fit is noisy.
const NOISY_SCATTER: f64 = 0.25;
/// A factor between the ends of the interval from which on a critical batch size is
/// hardly known: a doubling in each direction.
const WIDE_INTERVAL: f64 = 4.0;
/// How many batch sizes are proposed at a time.
const AT_ONCE: usize = 4;

/// The findings about the cell of `records`, all of one cell, towards goal `goal`.
pub fn examine_cell(
    records: &[&Record],
    goal: usize,
    space: &Space,
    check_every: Steps,
) -> Vec<Finding> {
    let Some(cell) = records.first().map(|record| record.cell) else { return Vec::new() };
    let count = |outcome| records.iter().filter(|record| record.toward(goal).0 == outcome).count();
    let (complete, trials) = (count(Outcome::Complete), records.len());
    let best = records
        .iter()
        .filter(|record| record.toward(goal).0 == Outcome::Complete)
        .min_by_key(|record| (record.toward(goal).1, record.trial));
    let mut findings = Vec::new();
    if let Some(best) = best {
        findings.extend(best_at_edges(cell, best, records, space));
        if best.toward(goal).1 <= check_every && check_every > Steps(1) {
            let suggested = Steps((check_every.0 / 8).max(1));
            findings.push(Finding::GoalAtFirstCheck { cell, check_every, suggested });
        }
    }
    // Trials that were outpaced might have reached the goal: of those nothing is known.
    if complete == 0 || (complete < ENOUGH_COMPLETE && count(Outcome::Outpaced) == 0) {
        let trained = records.iter().map(|record| record.steps).max().unwrap_or_default();
        findings.push(Finding::TooFewComplete { cell, complete, trials, trained });
    }
    let infeasible = count(Outcome::Infeasible);
    if infeasible as f64 > TOO_MANY_INFEASIBLE * trials as f64 {
        let rates = records
            .iter()
            .filter(|record| record.toward(goal).0 != Outcome::Infeasible)
            .map(|record| record.metaparameters.learning_rate);
        let highest_feasible = rates.max_by(f64::total_cmp);
        findings.push(Finding::InfeasibleShare { cell, infeasible, trials, highest_feasible });
    }
    findings
}

/// The findings about a curve.
pub fn examine_curve(curve: &FittedCurve) -> Vec<Finding> {
    let mut findings: Vec<Finding> = rise(curve).into_iter().collect();
    findings.extend(missing_floor(curve));
    findings.extend(noise(curve));
    findings
}

/// What there is to find in the noise scales of watched trainings, each with its sparsity,
/// about a curve. Where there are several of its sparsity, one that agrees is enough.
pub fn examine_noise(curve: &FittedCurve, scales: &[(Sparsity, NoiseScale)]) -> Option<Finding> {
    let critical = curve.law.as_ref()?.critical_batch_size();
    let ours = || scales.iter().filter(|it| it.0 == curve.sparsity).map(|(_, noise)| noise);
    let disagrees = |noise: &NoiseScale| agree(noise, &critical).verdict == Verdict::DoesNotHold;
    let noise = ours().next().filter(|_| ours().all(disagrees))?;
    Some(Finding::NoiseScaleDisagrees {
        sparsity: curve.sparsity,
        noise_scale: noise.scale,
        critical_batch_size: critical,
    })
}

fn size(batch_size: f64) -> BatchSize {
    BatchSize(batch_size as u32)
}

/// The clearest rise from a batch size to a larger one.
fn rise(curve: &FittedCurve) -> Option<Finding> {
    let pairs = curve.readings.iter().enumerate().flat_map(|(i, smaller)| {
        curve.readings[i + 1..].iter().filter_map(move |larger| {
            let Measured::Interval { at_most, .. } = smaller.steps else { return None };
            let (Measured::Interval { above, .. } | Measured::Censored { more_than: above }) =
                larger.steps;
            Some((smaller.batch_size, larger.batch_size, above / at_most))
        })
    });
    let (smaller, larger, factor) = pairs.max_by(|a, b| a.2.total_cmp(&b.2))?;
    let (smaller, larger) = (size(smaller), size(larger));
    let sparsity = curve.sparsity;
    (factor >= CLEAR_RISE).then_some(Finding::NotMonotone { sparsity, smaller, larger, factor })
}

/// Whether fewer than two readings lie in the region of maximal data parallelism, or the
/// critical batch size has no upper end.
fn missing_floor(curve: &FittedCurve) -> Option<Finding> {
    let law = curve.law.as_ref()?;
    let reached = curve.readings.iter().filter(|r| matches!(r.steps, Measured::Interval { .. }));
    let sizes: Vec<f64> = reached.map(|reading| reading.batch_size).collect();
    let largest = sizes.iter().copied().max_by(f64::total_cmp)?;
    let from = Regions::of(law).maximal_from.value;
    let flat = sizes.iter().filter(|&&size| size >= from).count();
    if law.critical_batch_size().high.is_finite() && flat >= 2 {
        return None;
    }
    // To where the floor should begin and one doubling on, but a few doublings at a time.
    let doublings = (from / largest).log2().ceil().max(0.0) + if flat > 0 { 0.0 } else { 1.0 };
    let doublings = doublings.clamp(1.0, AT_ONCE as f64) as i32;
    let add = (1..=doublings).map(|i| size(largest * 2f64.powi(i))).collect();
    Some(Finding::NoFlatRegion { sparsity: curve.sparsity, largest: size(largest), add })
}

fn noise(curve: &FittedCurve) -> Option<Finding> {
    let law = curve.law.as_ref()?;
    let (fit, critical) = (law.fit(), law.critical_batch_size());
    let is_wide = critical.is_bounded() && critical.high / critical.low > WIDE_INTERVAL;
    if fit.scatter <= NOISY_SCATTER && !is_wide {
        return None;
    }
    let off = |reading: &Reading| {
        let span = reading.steps.span();
        let expected = fit.steps_at(reading.batch_size).ln();
        (span.low - expected).max(expected - span.high).max(0.0)
    };
    let mut by_distance: Vec<&Reading> = curve.readings.iter().collect();
    by_distance.sort_by(|a, b| off(b).total_cmp(&off(a)));
    let farthest = by_distance.iter().filter(|reading| off(reading) > 0.0);
    let farthest = farthest.take(AT_ONCE - 1).map(|reading| size(reading.batch_size)).collect();
    let (sparsity, scatter) = (curve.sparsity, fit.scatter);
    Some(Finding::NoisyFit { sparsity, scatter, critical_batch_size: critical, farthest })
}

/// `2048, 4096 and 8192`.
fn list(sizes: &[BatchSize]) -> String {
    match sizes {
        [] => String::new(),
        [one] => one.to_string(),
        [most @ .., last] => {
            let most: Vec<String> = most.iter().map(BatchSize::to_string).collect();
            format!("{} and {last}", most.join(", "))
        }
    }
}

/// `120, from 95 to 150`; without an end, `from 95 on`.
fn told(it: &Estimate) -> String {
    match it.high.is_finite() {
        true => format!("{:.0}, from {:.0} to {:.0}", it.value, it.low, it.high),
        false if it.value.is_finite() => format!("{:.0}, from {:.0} on", it.value, it.low),
        false => format!("at least {:.0}", it.low),
    }
}

fn place(cell: &Cell) -> String {
    format!("batch size {}, sparsity {}", cell.batch_size, cell.sparsity)
}

/// What was seen.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::BestAtEdge { cell, metaparameter, best, edge, range, .. } => write!(
                f,
                "{}: the best trial has {metaparameter} = {best:.4}, at the {edge} edge of \
                 {} to {}",
                place(cell),
                range.from,
                range.to
            ),
            Finding::TooFewComplete { cell, complete, trials, trained } => write!(
                f,
                "{}: {complete} of {trials} trials reached the goal within {trained} steps",
                place(cell)
            ),
            Finding::GoalAtFirstCheck { cell, check_every, .. } => write!(
                f,
                "{}: the goal was reached at the first check, after {check_every} steps",
                place(cell)
            ),
            Finding::NotMonotone { sparsity, smaller, larger, factor } => write!(
                f,
                "sparsity {sparsity}: batch size {larger} needs at least {factor:.2} times the \
                 steps of batch size {smaller}"
            ),
            Finding::NoFlatRegion { sparsity, largest, .. } => {
                write!(
                    f,
                    "sparsity {sparsity}: up to batch size {largest}, the floor is not measured yet"
                )
            }
            Finding::InfeasibleShare { cell, infeasible, trials, .. } => {
                write!(f, "{}: {infeasible} of {trials} trials diverged", place(cell))
            }
            Finding::NoisyFit { sparsity, scatter, critical_batch_size: it, .. } => write!(
                f,
                "sparsity {sparsity}: steps scatter by {:.0} % about the curve; the critical \
                 batch size is {}",
                100.0 * scatter,
                told(it)
            ),
            Finding::NoiseScaleDisagrees { sparsity, noise_scale, critical_batch_size } => write!(
                f,
                "sparsity {sparsity}: gradients have a noise scale of {}, but the critical batch \
                 size is {}",
                told(noise_scale),
                told(critical_batch_size)
            ),
        }
    }
}

impl Finding {
    /// The cell that it is about, if it is about one.
    pub fn cell(&self) -> Option<Cell> {
        match self {
            Finding::BestAtEdge { cell, .. }
            | Finding::TooFewComplete { cell, .. }
            | Finding::GoalAtFirstCheck { cell, .. }
            | Finding::InfeasibleShare { cell, .. } => Some(*cell),
            // The cell that should not need more steps.
            Finding::NotMonotone { sparsity, larger, .. } => {
                Some(Cell { batch_size: *larger, sparsity: *sparsity })
            }
            Finding::NoFlatRegion { .. }
            | Finding::NoisyFit { .. }
            | Finding::NoiseScaleDisagrees { .. } => None,
        }
    }

    /// What to do next.
    pub fn next_action(&self) -> String {
        match self {
            Finding::BestAtEdge { metaparameter, edge, widen_to, .. } => {
                let key = match edge {
                    Edge::Lower => "from",
                    Edge::Upper => "to",
                };
                format!("widen the search: `search.{metaparameter}.{key} = {widen_to:.4}`")
            }
            Finding::TooFewComplete { complete: 0, trained, .. } => {
                format!("raise `step_budget` above {trained}, or add trials")
            }
            Finding::TooFewComplete { complete, trials, .. } => {
                let needed = (trials * ENOUGH_COMPLETE).div_ceil(*complete);
                format!("add trials: about {needed} would give {ENOUGH_COMPLETE} complete ones")
            }
            Finding::GoalAtFirstCheck { cell, suggested, .. } => format!(
                "check more often: `check_every = {suggested}` at batch size {}",
                cell.batch_size
            ),
            Finding::NotMonotone { larger, .. } => format!(
                "add trials at batch size {larger}, and look at its search: a larger batch, well \
                 tuned, needs no more steps"
            ),
            Finding::NoFlatRegion { add, .. } => format!("add batch sizes {}", list(add)),
            Finding::InfeasibleShare { highest_feasible: Some(rate), .. } => {
                format!("lower `search.learning_rate.to` towards {rate:.4}: above it all diverged")
            }
            Finding::InfeasibleShare { highest_feasible: None, .. } => {
                "lower `search.learning_rate.from` and `.to`: no trial survived".to_owned()
            }
            Finding::NoisyFit { farthest, .. } if farthest.is_empty() => {
                "add batch sizes between those of the study".to_owned()
            }
            Finding::NoisyFit { farthest, .. } => {
                format!("add trials, first at batch sizes {}", list(farthest))
            }
            Finding::NoiseScaleDisagrees { .. } => {
                "go by the critical batch size, which is measured in steps; to see whether the \
                 noise scale stays away from it, watch another training (`seed = 1` in \
                 `[smoothness]`), with metaparameters near the best ones"
                    .to_owned()
            }
        }
    }
}
