//! Values as typed: numbers, units and words, with an error that says what was expected.

use parsity_study::{BatchSize, Optimizer, PruningMethod, Sparsity};

/// Where the time of a step comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum StepTime {
    /// From this machine.
    Measured,
    /// Seconds per example.
    PerExample(f64),
}

pub(super) fn workers(text: &str) -> Result<u32, String> {
    number(text, |n: &u32| (1..=1 << 20).contains(n), "a whole number from 1 to 1048576")
}

/// A number with one of `units` behind it.
fn with_unit(text: &str, units: &[(&str, f64)], expected: &str) -> Result<f64, String> {
    let found = units.iter().find_map(|(unit, size)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        (number > 0.0 && number.is_finite()).then_some(number * size)
    });
    found.ok_or_else(|| format!("expected {expected}"))
}

pub(super) fn bandwidth(text: &str) -> Result<f64, String> {
    let units = [
        ("Gbit", 1.25e8),
        ("Mbit", 1.25e5),
        ("kbit", 1.25e2),
        ("GB", 1e9),
        ("MB", 1e6),
        ("kB", 1e3),
    ];
    with_unit(text, &units, "a rate such as 10Gbit, 100Mbit or 1GB (per second)")
}

pub(super) fn time(text: &str) -> Result<f64, String> {
    let units = [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    with_unit(text, &units, "a time such as 20us, 1ms or 0.5s")
}

pub(super) fn step_time(text: &str) -> Result<StepTime, String> {
    match text {
        "measured" => Ok(StepTime::Measured),
        _ => {
            time(text).map(StepTime::PerExample).map_err(|error| format!("{error}, or `measured`"))
        }
    }
}

pub(super) fn positive(text: &str) -> Result<usize, String> {
    number(text, |&n: &usize| (1..=1024).contains(&n), "a whole number from 1 to 1024")
}

pub(super) fn steps(text: &str) -> Result<u64, String> {
    number(text, |&n: &u64| n > 0, "a whole number of at least 1")
}

pub(super) fn batch_size(text: &str) -> Result<BatchSize, String> {
    let within = |n: &u32| (1..=1 << 20).contains(n);
    number(text, within, "a whole number from 1 to 1048576").map(BatchSize)
}

pub(super) fn seconds(text: &str) -> Result<f64, String> {
    number(text, |x: &f64| (0.0..=1e6).contains(x), "a number from 0 to 1000000")
}

pub(super) fn rate(text: &str) -> Result<f64, String> {
    number(text, |&x: &f64| x > 0.0 && x.is_finite(), "a number above 0")
}

pub(super) fn share(text: &str) -> Result<f64, String> {
    number(text, |x: &f64| (0.0..=1.0).contains(x), "a number from 0 to 1")
}

pub(super) fn sparsity(text: &str) -> Result<Sparsity, String> {
    let expected = "a share of at least 0 and below 1, such as 0.9";
    let share = number(text, |x: &f64| (0.0..1.0).contains(x), expected)?;
    Sparsity::new(share).ok_or_else(|| format!("expected {expected}"))
}

pub(super) fn validation(text: &str) -> Result<parsity_lab::Validation, String> {
    if text == "none" {
        return Ok(parsity_lab::Validation::None);
    }
    let within = |x: &f64| *x > 0.0 && *x < 1.0;
    number(text, within, "`none`, or a share between 0 and 1").map(parsity_lab::Validation::Share)
}

pub(super) fn optimizer(text: &str) -> Result<Optimizer, String> {
    Optimizer::from_name(text).ok_or_else(|| one_of(Optimizer::ALL.iter().map(|it| it.name())))
}

pub(super) fn method(text: &str) -> Result<PruningMethod, String> {
    PruningMethod::from_name(text)
        .ok_or_else(|| one_of(PruningMethod::ALL.iter().map(|it| it.name())))
}

fn one_of(names: impl Iterator<Item = &'static str>) -> String {
    format!("expected one of {}", names.collect::<Vec<_>>().join(", "))
}

/// Parses a number that `is_right`, or says what was expected.
fn number<T: std::str::FromStr>(
    text: &str,
    is_right: impl Fn(&T) -> bool,
    expected: &str,
) -> Result<T, String> {
    text.trim().parse().ok().filter(is_right).ok_or_else(|| format!("expected {expected}"))
}
