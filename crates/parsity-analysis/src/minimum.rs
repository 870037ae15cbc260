//! How much another set of trials would change the minimum of a cell.
//!
//! Steps-to-result are the minimum over the trials of a search. Drawing trials with
//! replacement and taking the minimum again does not answer the question: such a minimum
//! is never below the one that was found, though another set of as many trials finds a
//! better one half of the time. So each resampled set draws, besides a new minimum, how
//! far down the distribution the trials of the first set had got:
//!
//! - Above the best trial, chance is all in the ranks: the new minimum falls between two
//!   trials of the first set with probabilities that do not depend on any distribution.
//! - Below it, the lower tail is continued. The shares of trials below x fall off
//!   exponentially with log x, at the pace at which the best few trials do; how well those
//!   few tell the pace is drawn, too. For a search whose minimum is a smooth valley this
//!   tail is too long rather than too short.
//!
//! A trial that was stopped only tells that its steps are more than those it was trained,
//! so trials beyond the first such mark have no known rank, and the interval may be
//! unbounded. After a race, in which all others stop with the winner, it always is.

use crate::measured::{Estimate, Measured, Span};
use crate::random::{Purpose, Stream};
use parsity_study::{Outcome, Record, Steps};

/// How many sets are drawn: enough that the ends of an interval are settled to a fraction
/// of their distance.
const SETS: u64 = 2000;

/// How many of the best trials tell the pace of the tail.
const BEST_FEW: usize = 6;

/// Each rank is half as likely to be passed as the one before, so none passes this many.
const FAR_ENOUGH: usize = 24;

/// What a record says about the steps of its trial towards goal `goal` (0 is the loosest);
/// `None` if the program failed.
///
/// A trial that diverged or collapsed would never have reached the goal, so its steps are infinite,
/// while one that was stopped is only known to need more than it was given.
pub fn trial_steps(record: &Record, goal: usize, check_every: Steps) -> Option<Measured> {
    let (outcome, steps) = record.toward(goal);
    let steps = steps.0 as f64;
    match outcome {
        Outcome::Complete => Some(Measured::at_check(steps, check_every.0 as f64)),
        Outcome::Incomplete | Outcome::Outpaced => Some(Measured::Censored { more_than: steps }),
        Outcome::Infeasible | Outcome::Collapsed => {
            Some(Measured::Censored { more_than: f64::INFINITY })
        }
        Outcome::Failed => None,
    }
}

/// The minimum of the trials of a cell, and the interval in which nine of ten other sets
/// of as many trials have theirs; `None` if no trial reached the goal.
///
/// An end that the trials do not tell is 0 or infinite.
pub fn another_minimum(trials: &[Measured]) -> Option<Estimate> {
    let reached = trials.iter().filter_map(|trial| match trial {
        Measured::Interval { at_most, .. } => Some(*at_most),
        Measured::Censored { .. } => None,
    });
    let value = reached.min_by(f64::total_cmp)?;
    let known = known_ranks(trials);
    if known.is_empty() {
        return Some(Estimate { value, low: 0.0, high: f64::INFINITY });
    }
    let mut minima: Vec<f64> = (0..SETS)
        .map(|set| draw(&known, trials.len(), &mut Stream::new(Purpose::Minimum, set)))
        .collect();
    minima.sort_by(f64::total_cmp);
    let tail = SETS as usize / 20;
    let (low, high) = (minima[tail].exp(), minima[minima.len() - 1 - tail].exp());
    Some(Estimate { value, low: low.min(value), high: high.max(value) })
}

/// The spans of the trials that are known to be the best, the second best, and so on.
fn known_ranks(trials: &[Measured]) -> Vec<Span> {
    let stopped = trials.iter().filter_map(|trial| match trial {
        Measured::Censored { more_than } => Some(more_than.ln()),
        Measured::Interval { .. } => None,
    });
    let limit = stopped.fold(f64::INFINITY, f64::min);
    let spans = trials.iter().map(|trial| trial.span());
    let mut known: Vec<Span> =
        spans.filter(|span| span.high <= limit && span.high.is_finite()).collect();
    known.sort_by(|a, b| a.high.total_cmp(&b.high));
    known.truncate(FAR_ENOUGH);
    known
}

/// The logarithm of the minimum of one other set.
fn draw(known: &[Span], trials: usize, stream: &mut Stream) -> f64 {
    let mut found: Vec<f64> = known.iter().map(|span| place(span, stream)).collect();
    found.sort_by(f64::total_cmp);
    // The share of the distribution below the lowest of `n` draws.
    let lowest_of = |n: usize, stream: &mut Stream| 1.0 - stream.uniform().powf(1.0 / n as f64);
    let lowest = lowest_of(trials, stream);
    let mut below = lowest_of(trials, stream);
    if lowest < below {
        return match pace(&found, stream) {
            Some(pace) => found[0] - pace * (below / lowest).ln(),
            None => f64::NEG_INFINITY,
        };
    }
    for rank in 1..found.len() {
        // The next trial of the first set is the lowest of those that are left.
        let next = below + (1.0 - below) * lowest_of(trials - rank, stream);
        if lowest < next {
            let share = (lowest - below) / (next - below);
            return found[rank - 1] + share * (found[rank] - found[rank - 1]);
        }
        below = next;
    }
    f64::INFINITY
}

/// Where between its checks a trial reached the goal: anywhere. Before the first check
/// there is no lower end, and each e-fold down is as rare as in the tail of a unit pace.
fn place(span: &Span, stream: &mut Stream) -> f64 {
    let share = stream.uniform();
    if span.low.is_finite() {
        span.low + share * (span.high - span.low)
    } else {
        span.high + share.ln()
    }
}

/// How fast the tail falls off: the mean distance of the best few trials from the last of
/// them, times what chance may have made of it. `None` for a single trial.
fn pace(found: &[f64], stream: &mut Stream) -> Option<f64> {
    let few = found.len().min(BEST_FEW);
    let distances = (few >= 2).then(|| found[..few - 1].iter().map(|x| found[few - 1] - x))?;
    let total: f64 = distances.sum();
    let chance: f64 = (1..few).map(|_| stream.exponential()).sum();
    Some(total / chance)
}
