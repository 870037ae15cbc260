//! Whether a study file makes sense: the meaning of its keys, after their types.
//!
//! Apart from the keys themselves, so that what is allowed can be read in one place.

use crate::checks::CheckKeys;
use crate::error::Problem;
use crate::file::StudyFile;
use crate::search::{Range, Scale, Space};
use crate::units::{BatchSize, Sparsity, Steps};
use crate::watching::Watching;
use crate::workload::{Optimizer, Schedule};
use std::fmt::Display;

/// The most trials of a cell: a thousand times the published study.
const MOST_TRIALS: u32 = 100_000;
/// The largest batch size.
const LARGEST_BATCH: u32 = 1 << 20;
/// The largest step budget.
const LARGEST_BUDGET: u64 = 1_000_000_000;

/// The first problem of a study file, in the order of its keys.
pub(crate) fn check(file: &StudyFile) -> Result<(), Problem> {
    check_name(&file.name)?;
    for (key, text) in [("dataset", &file.dataset), ("model", &file.model)] {
        if text.trim().is_empty() {
            return Err(out_of_range(key, "\"\"", "a name or a path"));
        }
    }
    check_goals(file)?;
    check_count("step_budget", file.step_budget.0, LARGEST_BUDGET)?;
    check_intervals(&file.check_every)?;
    check_budget(file.step_budget, &file.check_every)?;
    check_batch_sizes(&file.batch_sizes)?;
    check_sparsities(&file.sparsities)?;
    check_trials(file.trials)?;
    check_share("validation_share", file.validation_share)?;
    check_search(file)?;
    file.smoothness.map_or(Ok(()), |watching| check_watching(watching, file.optimizer))
}

/// Goals: in one of two ways, and in descending order.
fn check_goals(file: &StudyFile) -> Result<(), Problem> {
    match (file.goal_error, &file.goal_errors) {
        (None, None) => Err(Problem::NoGoal),
        (Some(_), Some(_)) => Err(Problem::GoalsTwice),
        (Some(goal), None) => check_share("goal_error", goal.0),
        (None, Some(goals)) => {
            goals.iter().try_for_each(|goal| check_share("goal_errors", goal.0))?;
            check_grid("goal_errors", "goal error", goals, |goal| goal.to_string())
        }
    }
}

/// Check intervals: at least one, none of them empty, and one for each batch size.
pub(crate) fn check_intervals(keys: &CheckKeys) -> Result<(), Problem> {
    let ranges = match keys {
        CheckKeys::Always(steps) => return check_count("check_every", steps.0, LARGEST_BUDGET),
        CheckKeys::ByBatchSize(ranges) => ranges,
    };
    for range in ranges {
        let from = u64::from(range.from_batch_size.0);
        check_count("check_every.from_batch_size", from, u64::from(LARGEST_BATCH))?;
        check_count("check_every.steps", range.steps.0, LARGEST_BUDGET)?;
    }
    let mut begins: Vec<BatchSize> = ranges.iter().map(|range| range.from_batch_size).collect();
    begins.sort_unstable();
    check_grid("check_every", "range", &begins, |from| format!("from_batch_size {from}"))
}

/// A budget with room for a goal check at every batch size.
fn check_budget(step_budget: Steps, keys: &CheckKeys) -> Result<(), Problem> {
    match keys.ranges().iter().map(|range| range.steps).max() {
        Some(check_every) if check_every > step_budget => {
            Err(Problem::NeverChecked { step_budget, check_every })
        }
        _ => Ok(()),
    }
}

/// Trials: at least one, and no more than could ever be meant.
pub(crate) fn check_trials(trials: u32) -> Result<(), Problem> {
    check_count("trials", u64::from(trials), u64::from(MOST_TRIALS))
}

/// Batch sizes, in ascending order.
pub(crate) fn check_batch_sizes(batch_sizes: &[BatchSize]) -> Result<(), Problem> {
    for batch_size in batch_sizes {
        check_count("batch_sizes", u64::from(batch_size.0), u64::from(LARGEST_BATCH))?;
    }
    check_grid("batch_sizes", "batch size", batch_sizes, |batch_size| batch_size.to_string())
}

/// Sparsities, in ascending order.
pub(crate) fn check_sparsities(sparsities: &[Sparsity]) -> Result<(), Problem> {
    check_grid("sparsities", "sparsity", sparsities, |sparsity| sparsity.share().to_string())
}

fn check_grid<T: Copy + PartialEq>(
    key: &'static str,
    element: &'static str,
    grid: &[T],
    print: impl Fn(T) -> String,
) -> Result<(), Problem> {
    if grid.is_empty() {
        return Err(Problem::Empty { key, element });
    }
    match grid.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Problem::Duplicate { key, found: print(pair[0]) }),
        None => Ok(()),
    }
}

/// Names of studies become names of files and appear in commands.
fn check_name(name: &str) -> Result<(), Problem> {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if name.starts_with(|letter: char| letter.is_ascii_alphanumeric()) && name.chars().all(allowed)
    {
        return Ok(());
    }
    let expected = "letters, digits, `-`, `_` and `.`, beginning with a letter or digit";
    Err(Problem::BadName { key: "name", found: name.to_owned(), expected })
}

fn check_share(key: &str, share: f64) -> Result<(), Problem> {
    if share > 0.0 && share < 1.0 {
        return Ok(());
    }
    Err(out_of_range(key, share, "more than 0 and less than 1"))
}

fn check_count(key: &str, count: u64, most: u64) -> Result<(), Problem> {
    if (1..=most).contains(&count) {
        return Ok(());
    }
    Err(out_of_range(key, count, format!("1 to {most}")))
}

fn out_of_range(key: &str, found: impl Display, expected: impl Display) -> Problem {
    Problem::OutOfRange {
        key: key.to_owned(),
        found: found.to_string(),
        expected: expected.to_string(),
    }
}

/// A training to be watched: inside the domains of its metaparameters.
fn check_watching(watching: Watching, optimizer: Optimizer) -> Result<(), Problem> {
    if watching.momentum.is_some() && !optimizer.has_momentum() {
        return Err(no_momentum("smoothness.momentum"));
    }
    if let Some(rate) = watching.learning_rate
        && !(rate > 0.0 && rate.is_finite())
    {
        return Err(out_of_range("smoothness.learning_rate", rate, "a finite number above 0"));
    }
    if let Some(momentum) = watching.momentum
        && !(0.0..1.0).contains(&momentum)
    {
        let expected = "at least 0 and less than 1";
        return Err(out_of_range("smoothness.momentum", momentum, expected));
    }
    let batch_size = u64::from(watching.batch_size.0);
    check_count("smoothness.batch_size", batch_size, u64::from(LARGEST_BATCH))?;
    check_count("smoothness.steps", watching.steps.0, LARGEST_BUDGET)?;
    check_count("smoothness.every", watching.every.0, LARGEST_BUDGET)
}

fn no_momentum(key: &str) -> Problem {
    Problem::Unused {
        key: key.to_owned(),
        reason: "the optimizer sgd has no momentum",
        instead: "the optimizer momentum or nesterov",
    }
}

fn check_search(file: &StudyFile) -> Result<(), Problem> {
    let search = &file.search;
    if search.momentum.is_some() && !file.optimizer.has_momentum() {
        return Err(no_momentum("search.momentum"));
    }
    let decay = [("decay_steps", search.decay_steps), ("end_factor", search.end_factor)];
    if file.schedule == Schedule::Constant
        && let Some((key, _)) = decay.iter().find(|(_, range)| range.is_some())
    {
        return Err(Problem::Unused {
            key: format!("search.{key}"),
            reason: "with the constant schedule nothing decays",
            instead: "the schedule linear-decay",
        });
    }
    let space = Space::new(file.optimizer, file.schedule, search);
    space.dimensions().try_for_each(|(key, range)| check_range(key, range))
}

/// A range: inside the metaparameter's own domain and the domain of its scale.
fn check_range(metaparameter: &str, range: Range) -> Result<(), Problem> {
    let key = |part: &str| format!("search.{metaparameter}.{part}");
    let Range { from, to, scale } = range;
    let whole_numbers = metaparameter == "decay_steps";
    if whole_numbers != (scale == Scale::Integer) {
        let expected = if whole_numbers { "integer" } else { "log, reverse-log or linear" };
        return Err(out_of_range(&key("scale"), scale, expected));
    }
    for (part, end) in [("from", from), ("to", to)] {
        let (fits, expected) = match metaparameter {
            "momentum" => ((0.0..1.0).contains(&end), "at least 0 and less than 1"),
            "end_factor" => ((0.0..=1.0).contains(&end), "0 to 1"),
            "decay_steps" => (
                (1.0..=LARGEST_BUDGET as f64).contains(&end) && end.fract() == 0.0,
                "a whole number from 1 to 1000000000",
            ),
            _ => (end >= 0.0 && end.is_finite(), "a finite number, at least 0"),
        };
        if !fits {
            return Err(out_of_range(&key(part), end, expected));
        }
    }
    if from >= to {
        return Err(Problem::EmptyRange { key: format!("search.{metaparameter}"), from, to });
    }
    match scale {
        Scale::Log if from == 0.0 => {
            Err(out_of_range(&key("from"), from, "more than 0 on a log scale"))
        }
        Scale::ReverseLog if to >= 1.0 => {
            Err(out_of_range(&key("to"), to, "less than 1 on a reverse-log scale"))
        }
        _ => Ok(()),
    }
}
