//! From a gradient to the next weights: SGD, Momentum, Nesterov; the learning rate.

use crate::kernels::multiversion;

/// How the gradient moves the weights.
#[allow(missing_docs)] // The formulas say what the fields are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Optimizer {
    /// `w -= lr·g`
    Sgd,
    /// `a = m·a + g; w -= lr·a`
    Momentum { momentum: f32 },
    /// `a = m·a + g; w -= lr·(g + m·a)`
    Nesterov { momentum: f32 },
}

impl Optimizer {
    /// Whether it accumulates gradients.
    pub fn has_velocity(self) -> bool {
        !matches!(self, Optimizer::Sgd)
    }

    /// Whether these weights stay where they are for ever, to the last bit, if their gradients
    /// are zero from now on and no learning rate is above `rate`: velocities only shrink then,
    /// so what is lost in rounding now is always lost.
    pub(crate) fn rests(self, rate: f32, weights: &[f32], velocity: &[f32]) -> bool {
        let shrinks = match self {
            Optimizer::Sgd => return true,
            Optimizer::Momentum { momentum } | Optimizer::Nesterov { momentum } => {
                (0.0..=1.0).contains(&momentum)
            }
        };
        shrinks && weights.iter().zip(velocity).all(|(&w, &a)| w - rate * a == w)
    }

    /// One update. `velocity` is empty for SGD, else parallel to the weights.
    pub fn update(self, rate: f32, gradient: &[f32], weights: &mut [f32], velocity: &mut [f32]) {
        update(self, rate, gradient, weights, velocity);
    }
}

multiversion! {
    /// See `Optimizer::update`.
    update(
        optimizer: Optimizer, rate: f32,
        gradient: &[f32], weights: &mut [f32], velocity: &mut [f32],
    ) = update_body
}

#[inline(always)]
fn update_body(
    optimizer: Optimizer,
    rate: f32,
    gradient: &[f32],
    weights: &mut [f32],
    velocity: &mut [f32],
) {
    match optimizer {
        Optimizer::Sgd => {
            for (w, g) in weights.iter_mut().zip(gradient) {
                *w -= rate * g;
            }
        }
        Optimizer::Momentum { momentum } => {
            for ((w, a), g) in weights.iter_mut().zip(velocity).zip(gradient) {
                *a = momentum * *a + g;
                *w -= rate * *a;
            }
        }
        Optimizer::Nesterov { momentum } => {
            for ((w, a), g) in weights.iter_mut().zip(velocity).zip(gradient) {
                *a = momentum * *a + g;
                *w -= rate * (g + momentum * *a);
            }
        }
    }
}

/// The learning rate as a function of the step.
#[allow(missing_docs)] // The formulas say what the fields are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Schedule {
    /// Always the same.
    Constant { rate: f64 },
    /// Falls in a line to `end_factor` of the initial rate over `steps`, then stays.
    LinearDecay { rate: f64, steps: u64, end_factor: f64 },
}

impl Schedule {
    /// The learning rate of step `step`, counted from 0.
    pub fn rate(self, step: u64) -> f32 {
        match self {
            Schedule::Constant { rate } => rate as f32,
            Schedule::LinearDecay { rate, steps, end_factor } => {
                let end = end_factor * rate;
                let left = 1.0 - step.min(steps) as f64 / steps as f64;
                ((rate - end) * left + end) as f32
            }
        }
    }
}

impl Schedule {
    /// The highest learning rate of step `step` or any later one.
    pub(crate) fn highest_from(self, step: u64) -> f32 {
        // It is a line that may fall or rise, so it is highest at one of its ends.
        self.rate(step).max(self.rate(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_decay_falls_in_a_line_and_then_stays() {
        let schedule = Schedule::LinearDecay { rate: 1.0, steps: 10, end_factor: 0.1 };
        assert_eq!(schedule.rate(0), 1.0);
        assert_eq!(schedule.rate(5), 0.55);
        assert_eq!(schedule.rate(10), 0.1);
        assert_eq!(schedule.rate(1000), 0.1);
    }

    #[test]
    fn each_optimizer_follows_its_formula_for_two_steps() {
        let run = |optimizer: Optimizer| {
            let (mut w, mut a) = ([1.0f32], [0.0f32]);
            optimizer.update(0.1, &[2.0], &mut w, &mut a);
            optimizer.update(0.1, &[2.0], &mut w, &mut a);
            w[0]
        };
        assert!((run(Optimizer::Sgd) - 0.6).abs() < 1e-6);
        assert!((run(Optimizer::Momentum { momentum: 0.5 }) - 0.5).abs() < 1e-6);
        // Accumulated 2 and 3: steps of 2 + 1 and 2 + 1.5.
        assert!((run(Optimizer::Nesterov { momentum: 0.5 }) - 0.35).abs() < 1e-6);
    }
}
