//! Smoothness: how fast the gradient of the training loss changes along the next step, and
//! how much the gradients of small batches scatter around it.
//!
//! A session is only looked at (`&Session`): its weights, optimizer and data order are as
//! if nobody had measured. Apart from the session, because it takes ten gradients over the
//! whole training split; a training never does.

use crate::random::{Purpose, Stream};
use crate::session::Session;
use crate::survey::Survey;
use crate::team::Team;

/// The shares of a step at which the gradient is compared with that at its begin.
const SHARES: [f64; 9] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
/// Examples of a small batch, whatever the batch size of the run: so runs can be compared.
const SMALL_BATCH: usize = 64;
/// Small batches whose gradients are measured.
const SMALL_BATCHES: usize = 64;

/// What was seen at one point of a training.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Smoothness {
    /// The local Lipschitz constant of the gradient along the next step.
    pub lipschitz: f64,
    /// The mean loss over the training split.
    pub loss: f64,
    /// Squared norms of gradients.
    pub norms: Norms,
}

/// Squared norms of the mean gradients of small batches and of the training split.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Norms {
    /// Examples of a small batch.
    pub small_batch: usize,
    /// The mean squared norm of the gradients of small batches.
    pub small: f64,
    /// Examples of the training split.
    pub big_batch: usize,
    /// The squared norm of its gradient.
    pub big: f64,
}

/// The local Lipschitz constant of `gradient` along `step` from `weights`, where it is
/// `here`: max over γ in {0.1, …, 0.9} of ‖∇f(w + γd) − ∇f(w)‖ / ‖γd‖. 0 if the step leads
/// nowhere, not a number if any gradient is not; `None` if `gradient` gives none.
///
/// Weights have 24 bits, so w + γd is rounded; the distance is that between the two points
/// as they are, and the quotient is right however short the step.
pub fn local_lipschitz(
    weights: &[f32],
    step: &[f64],
    here: &[f64],
    gradient: &mut dyn FnMut(Vec<f32>) -> Option<Vec<f64>>,
) -> Option<f64> {
    let mut largest = 0.0;
    for share in SHARES {
        let moved: Vec<f32> =
            weights.iter().zip(step).map(|(&w, d)| (f64::from(w) + share * d) as f32).collect();
        let way = moved.iter().zip(weights).map(|(&to, &from)| f64::from(to) - f64::from(from));
        let distance = squared_norm(way).sqrt();
        if distance == 0.0 {
            continue;
        }
        let there = gradient(moved)?;
        let change = squared_norm(there.iter().zip(here).map(|(there, here)| there - here)).sqrt();
        let quotient = change / distance;
        // What is not a number stays: nothing is larger than it.
        if quotient > largest || quotient.is_nan() {
            largest = quotient;
        }
        if largest.is_nan() {
            break;
        }
    }
    Some(largest)
}

impl Session {
    /// Measures the smoothness of the loss over its training split, along the step that it
    /// would make next. `seed` draws the small batches, anew at each step. `None` if `go_on`
    /// said no on the way.
    pub fn smoothness(
        &self,
        seed: u64,
        team: &mut Team,
        go_on: &dyn Fn() -> bool,
    ) -> Option<Smoothness> {
        let mut ahead = self.clone();
        ahead.step(team);
        let (program, weights) = (self.program(), self.weights());
        let differences = ahead.weights().iter().zip(weights);
        let step: Vec<f64> = differences.map(|(&b, &a)| f64::from(b) - f64::from(a)).collect();
        let split = self.split();
        let mut survey = Survey { material: self.material(), split, team, go_on };
        let (loss, here) = survey.mean_gradient(program, &mut weights.to_vec(), split)?;
        let (small_batch, small) = survey.small_norm(self, seed)?;
        let lipschitz = local_lipschitz(weights, &step, &here, &mut |mut moved| {
            survey.mean_gradient(program, &mut moved, split).map(|(_, gradient)| gradient)
        })?;
        let (big_batch, big) = (split.len(), squared_norm(here));
        Some(Smoothness { lipschitz, loss, norms: Norms { small_batch, small, big_batch, big } })
    }
}

impl Survey<'_> {
    /// The size of small batches, and the mean squared norm of their gradients.
    ///
    /// They are drawn without replacement, and no example is in two of them: so, compared
    /// with the norm of the whole split, they tell the variance of gradients without bias.
    fn small_norm(&mut self, session: &Session, seed: u64) -> Option<(usize, f64)> {
        let mut examples = self.split.to_vec();
        Stream::new(seed, Purpose::SmallBatches, session.steps()).shuffle(&mut examples);
        let size = SMALL_BATCH.min(examples.len().div_ceil(2));
        let mut values = session.weights().to_vec();
        let (mut sum, mut count) = (0.0, 0.0);
        for batch in examples.chunks_exact(size).take(SMALL_BATCHES) {
            let (_, gradient) = self.mean_gradient(session.program(), &mut values, batch)?;
            (sum, count) = (sum + squared_norm(gradient), count + 1.0);
        }
        Some((size, sum / count))
    }
}

fn squared_norm(numbers: impl IntoIterator<Item = f64>) -> f64 {
    numbers.into_iter().map(|x| x * x).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The constant of a function whose gradient is `gradient`.
    fn along<const N: usize>(
        weights: [f32; N],
        step: [f64; N],
        gradient: impl Fn([f64; N]) -> [f64; N],
    ) -> f64 {
        let at = |weights: &[f32]| gradient(std::array::from_fn(|i| f64::from(weights[i])));
        let here = at(&weights);
        let mut there = |moved: Vec<f32>| Some(at(&moved).to_vec());
        local_lipschitz(&weights, &step, &here, &mut there).expect("nobody stops it")
    }

    /// The gradient of ½ wᵀAw with A = [[5, 1, 0], [1, 5, 0], [0, 0, ½]]: curvatures of 6
    /// along (1, 1, 0), 4 along (1, −1, 0) and ½ along (0, 0, 1).
    fn quadratic([x, y, z]: [f64; 3]) -> [f64; 3] {
        [5.0 * x + y, x + 5.0 * y, 0.5 * z]
    }

    #[test]
    fn a_quadratic_has_its_curvature_along_the_step() {
        let weights = [0.3, -1.2, 7.0];
        for (step, expected) in [
            ([0.01, 0.01, 0.0], 6.0),
            ([-0.5, 0.5, 0.0], 4.0),
            ([0.0, 0.0, 1e-3], 0.5),
            // ‖A d‖/‖d‖ = √((36 + 36 + ¼)/3)
            ([1.0, 1.0, 1.0], (72.25f64 / 3.0).sqrt()),
        ] {
            let found = along(weights, step, quadratic);
            // The weights are rounded, and with them the direction of the step.
            assert!((found / expected - 1.0).abs() < 1e-6, "{step:?}: {found}, not {expected}");
        }
    }

    #[test]
    fn a_step_lost_in_rounding_takes_nothing_from_the_curvature() {
        // Steps of a few units in the last place of the weights.
        let found = along([1.0, 1.0, 1.0], [3e-7, 3e-7, 0.0], quadratic);
        assert!((found / 6.0 - 1.0).abs() < 1e-6, "{found}");
    }

    #[test]
    fn the_largest_quotient_counts_wherever_on_the_step_it_is() {
        // From w = 1 by d = 1, w² changes by 2 + γ per distance and 1/w by 1/(1 + γ).
        assert!((along([1.0], [1.0], |[w]| [w * w]) - 2.9).abs() < 1e-6);
        assert!((along([1.0], [1.0], |[w]| [1.0 / w]) - 1.0 / 1.1).abs() < 1e-6);
        // A kink between 0.4 and 0.5 of the step, behind which nothing changes any more.
        let kinked = along([0.0], [1.0], |[w]| [if w > 0.45 { 1.0 } else { 0.0 }]);
        assert!((kinked - 2.0).abs() < 1e-6, "{kinked}");
    }

    #[test]
    fn a_zero_step_has_no_change_and_a_lost_gradient_is_not_overlooked() {
        assert_eq!(along([1.0, 2.0, 3.0], [0.0; 3], quadratic), 0.0);
        let lost = along([0.0], [1.0], |[w]| [if w > 0.55 { w } else { f64::NAN }]);
        assert!(lost.is_nan());
        let mut none = |_| None;
        assert_eq!(local_lipschitz(&[0.0], &[1.0], &[0.0], &mut none), None);
    }
}
