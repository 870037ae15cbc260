//! The scaling law: steps-to-result as a function of batch size, fitted in two forms.
//!
//! Theory gives K(B) = c1/B + c2: linear scaling at small batches, a floor at large ones,
//! and c1/c2 as the batch size where one turns into the other. That smooth form is a
//! bound; with the step size tuned anew at every batch size the bound has a hard knee,
//! K(B) = max(c1/B, c2). Both are fitted, and which one describes the data better is part
//! of the answer.
//!
//! The fit is least squares on the logarithm of the steps (see `likelihood`): the luck of
//! a search is a factor on the steps. All batch sizes weigh the same, since all cells have
//! the same number of trials. That the minimum over trials lies below what is typical
//! moves c1 and c2 by the same factor and leaves c1/c2 alone.

use crate::measured::{Estimate, Reading, Span};
use crate::profile::{Profile, profile};
use serde::Serialize;
use std::f64::consts::LN_2;

/// The form of a law.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// K(B) = c1/B + c2.
    Smooth,
    /// K(B) = max(c1/B, c2).
    Knee,
}

/// A form fitted to the readings of a curve.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fit {
    /// The form.
    pub form: Form,
    /// The steps times the batch size where scaling is linear.
    pub c1: Estimate,
    /// The steps at maximal data parallelism.
    pub c2: Estimate,
    /// c1/c2. Its upper end is infinite if no flat region was measured, its lower end 0 if
    /// no linear scaling was.
    pub critical_batch_size: Estimate,
    /// The typical deviation of a reading from the curve, as a share of its steps.
    pub scatter: f64,
    /// The logarithm of the likelihood, to be compared with that of the other form only.
    pub log_likelihood: f64,
    /// How many readings have steps; the others are only known to be above the budget.
    pub bounded: usize,
}

/// Which form describes the data better.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// This one: the data are at least ten times as likely under it.
    Clearly(Form),
    /// The data do not tell.
    Undecided,
}

/// Both forms, fitted to the same readings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Law {
    /// K(B) = c1/B + c2.
    pub smooth: Fit,
    /// K(B) = max(c1/B, c2).
    pub knee: Fit,
}

/// From which ratio of likelihoods on one form is said to be better.
const CLEARLY: f64 = 10.0;

impl Form {
    /// The logarithm of K(B)/c2, where c1/c2 is `critical`.
    fn rise(self, critical: f64, batch_size: f64) -> f64 {
        let ratio = critical / batch_size;
        match self {
            Form::Smooth => ratio.ln_1p(),
            Form::Knee => ratio.ln().max(0.0),
        }
    }
}

/// Logarithms of critical batch sizes to look at: every half octave where the curve could
/// bend between two readings, and coarsely beyond, until it differs from its limit by less
/// than any search can tell.
fn grid(sizes: impl Iterator<Item = f64>) -> Vec<f64> {
    let (smallest, largest) = sizes
        .map(f64::ln)
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    let (from, to) = (smallest - LN_2, largest + LN_2);
    let halves = ((to - from) / (0.5 * LN_2)).ceil();
    let step = (to - from) / halves;
    let inside = (0..=halves as usize).map(|i| from + i as f64 * step);
    let below = (1..=4).rev().map(|i| from - 2.0 * f64::from(i) * LN_2);
    let above = (1..=4).map(|i| to + 2.0 * f64::from(i) * LN_2);
    below.chain(inside).chain(above).collect()
}

impl Fit {
    /// The fit of `form`; `None` if fewer than three readings have steps, or if a batch size
    /// is not a positive number or an interval empty.
    pub fn new(form: Form, readings: &[Reading]) -> Option<Fit> {
        if !readings
            .iter()
            .all(|reading| reading.batch_size.is_normal() && reading.batch_size > 0.0)
        {
            return None;
        }
        let spans: Vec<Span> = readings.iter().map(|reading| reading.steps.span()).collect();
        let sizes = || readings.iter().map(|reading| reading.batch_size);
        let grid = grid(sizes());
        let found = profile(&spans, &grid, |log_critical, offsets| {
            for (offset, size) in offsets.iter_mut().zip(sizes()) {
                *offset = match log_critical {
                    f64::NEG_INFINITY => 0.0,
                    f64::INFINITY => -size.ln(),
                    finite => form.rise(finite.exp(), size),
                };
            }
        })?;
        Some(Fit::read(form, &found))
    }

    fn read(form: Form, found: &Profile) -> Fit {
        // At the limit of pure linear scaling the centre is log c1, and c2 is 0; at that
        // of a flat curve the centre is log c2, and c1 is 0.
        let to_c1 =
            |log_critical: f64| if log_critical == f64::INFINITY { 0.0 } else { log_critical };
        let to_c2 = |log_critical: f64| {
            if log_critical == f64::INFINITY { f64::NEG_INFINITY } else { 0.0 }
        };
        Fit {
            form,
            c1: found.centre(to_c1).map(f64::exp),
            c2: found.centre(to_c2).map(f64::exp),
            critical_batch_size: found.interval.map(f64::exp),
            scatter: found.scatter(),
            log_likelihood: found.best.location.log_likelihood,
            bounded: found.bounded,
        }
    }

    /// The steps at `batch_size`.
    pub fn steps_at(&self, batch_size: f64) -> f64 {
        let linear = self.c1.value / batch_size;
        match self.form {
            Form::Smooth => linear + self.c2.value,
            Form::Knee => linear.max(self.c2.value),
        }
    }
}

impl Law {
    /// Both forms; `None` where [`Fit::new`] gives none.
    pub fn of(readings: &[Reading]) -> Option<Law> {
        let [smooth, knee] = [Form::Smooth, Form::Knee].map(|form| Fit::new(form, readings));
        Some(Law { smooth: smooth?, knee: knee? })
    }

    /// How many times as likely the data are under the smooth form as under the knee.
    pub fn likelihood_ratio(&self) -> f64 {
        self.log_ratio().exp()
    }

    fn log_ratio(&self) -> f64 {
        self.smooth.log_likelihood - self.knee.log_likelihood
    }

    /// Which form describes the data better.
    pub fn better(&self) -> Better {
        Better::by(self.log_ratio())
    }

    /// The form to go by: the one that describes the data clearly better, or else the
    /// smooth one, which theory gives.
    pub fn fit(&self) -> &Fit {
        match self.better() {
            Better::Clearly(form) => self.of_form(form),
            Better::Undecided => &self.smooth,
        }
    }

    /// The critical batch size c1/c2. While it is undecided which form is the better one,
    /// its interval holds those of both: either alone would miss the truth too often if
    /// the other form were the true one.
    pub fn critical_batch_size(&self) -> Estimate {
        self.better().read(|form| self.of_form(form).critical_batch_size)
    }

    /// The steps at maximal data parallelism, c2, in the same way.
    pub fn floor(&self) -> Estimate {
        self.better().read(|form| self.of_form(form).c2)
    }

    /// This critical batch size over that of `other`. Both are read from the same form, the
    /// one that describes both curves better, since what the wrong form does to one of
    /// them it does to the other, too.
    pub fn critical_batch_size_over(&self, other: &Law) -> Estimate {
        self.over(other, |fit| fit.critical_batch_size)
    }

    /// These steps at maximal data parallelism over those of `other`, in the same way.
    pub fn floor_over(&self, other: &Law) -> Estimate {
        self.over(other, |fit| fit.c2)
    }

    fn over(&self, other: &Law, number: impl Fn(&Fit) -> Estimate) -> Estimate {
        Better::by(self.log_ratio() + other.log_ratio())
            .read(|form| number(self.of_form(form)).over(&number(other.of_form(form))))
    }

    fn of_form(&self, form: Form) -> &Fit {
        match form {
            Form::Smooth => &self.smooth,
            Form::Knee => &self.knee,
        }
    }
}

impl Better {
    /// By the logarithm of how many times as likely the data are under the smooth form.
    fn by(log_ratio: f64) -> Better {
        if log_ratio >= CLEARLY.ln() {
            Better::Clearly(Form::Smooth)
        } else if log_ratio <= -CLEARLY.ln() {
            Better::Clearly(Form::Knee)
        } else {
            Better::Undecided
        }
    }

    /// The number of the better form, or one that allows for both.
    fn read(self, number: impl Fn(Form) -> Estimate) -> Estimate {
        match self {
            Better::Clearly(form) => number(form),
            Better::Undecided => number(Form::Smooth).hull(&number(Form::Knee)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::Measured;

    /// Readings of `steps(batch size)` at 2, 4, …, 2^`sizes`, checked at every step.
    fn readings(sizes: i32, steps: impl Fn(f64) -> f64) -> Vec<Reading> {
        let reading = |i| {
            let batch_size = 2f64.powi(i);
            Reading { batch_size, steps: Measured::at_check(steps(batch_size).ceil(), 1.0) }
        };
        (1..=sizes).map(reading).collect()
    }

    fn assert_close(found: f64, expected: f64, tolerance: f64) {
        assert!((found / expected - 1.0).abs() < tolerance, "{found} is not {expected}");
    }

    #[test]
    fn both_forms_find_their_own_constants_in_exact_curves() {
        let smooth = Law::of(&readings(14, |b| 400_000.0 / b + 1_000.0)).unwrap();
        assert_close(smooth.smooth.c1.value, 400_000.0, 0.01);
        assert_close(smooth.smooth.c2.value, 1_000.0, 0.01);
        assert_close(smooth.critical_batch_size().value, 400.0, 0.01);
        assert_close(smooth.smooth.steps_at(400.0), 2_000.0, 0.01);
        assert_eq!(smooth.better(), Better::Clearly(Form::Smooth));
        let knee = Law::of(&readings(14, |b| (400_000.0 / b).max(1_000.0))).unwrap();
        assert_close(knee.knee.c1.value, 400_000.0, 0.01);
        assert_close(knee.critical_batch_size().value, 400.0, 0.01);
        assert_close(knee.knee.steps_at(8_192.0), 1_000.0, 0.01);
        assert_eq!(knee.better(), Better::Clearly(Form::Knee));
        assert!(knee.smooth.scatter > 5.0 * knee.knee.scatter);
    }

    #[test]
    fn a_curve_without_a_floor_has_none_and_a_flat_one_has_no_linear_part() {
        let linear = Law::of(&readings(10, |b| 4e6 / b)).unwrap();
        let critical = linear.critical_batch_size();
        assert_eq!(critical.high, f64::INFINITY);
        assert!(critical.low > 900.0);
        assert_eq!(linear.floor().low, 0.0);
        assert_close(linear.fit().c1.value, 4e6, 0.05);
        let flat = Law::of(&readings(10, |_| 5_000.0)).unwrap();
        assert_eq!(flat.critical_batch_size().low, 0.0);
        assert!(flat.critical_batch_size().high < 2.1);
        assert_eq!(flat.fit().c1.low, 0.0);
    }

    #[test]
    fn a_cell_above_the_budget_counts_as_more_steps_and_not_as_none() {
        let mut curve = readings(8, |b| 40_000.0 / b + 400.0);
        let whole = Fit::new(Form::Smooth, &curve).unwrap();
        curve[0].steps = Measured::Censored { more_than: 15_000.0 };
        let consistent = Fit::new(Form::Smooth, &curve).unwrap();
        assert_eq!((whole.bounded, consistent.bounded), (8, 7));
        assert_close(consistent.c1.value, 40_000.0, 0.01);
        // If the cell needed ten times as many steps as the others say, the fit would know.
        curve[0].steps = Measured::Censored { more_than: 200_000.0 };
        let contradicting = Fit::new(Form::Smooth, &curve).unwrap();
        assert!(contradicting.scatter > 10.0 * consistent.scatter);
        assert!(contradicting.c1.value > consistent.c1.value);
    }

    #[test]
    fn a_goal_at_the_first_check_has_no_lower_bound_but_still_an_upper_one() {
        let mut curve = readings(9, |b| 40_000.0 / b + 400.0);
        curve[8].steps = Measured::at_check(500.0, 500.0);
        let fit = Fit::new(Form::Smooth, &curve).unwrap();
        assert_eq!(fit.bounded, 8);
        assert_close(fit.critical_batch_size.value, 100.0, 0.02);
    }

    #[test]
    fn too_few_or_impossible_readings_have_no_law() {
        let curve = readings(5, |b| 40_000.0 / b + 400.0);
        assert!(Law::of(&[]).is_none());
        assert!(Law::of(&curve[..2]).is_none());
        assert!(Law::of(&curve[..3]).is_some());
        let spoiled = |spoil: &dyn Fn(&mut Reading)| {
            let mut curve = curve.clone();
            spoil(&mut curve[0]);
            Law::of(&curve)
        };
        assert!(spoiled(&|it| it.batch_size = 0.0).is_none());
        assert!(spoiled(&|it| it.batch_size = f64::NAN).is_none());
        let empty = Measured::Interval { above: 500.0, at_most: 500.0 };
        assert!(spoiled(&|it| it.steps = empty).is_none());
    }
}
