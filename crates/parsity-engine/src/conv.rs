//! A convolution, ready to run: its lists, and the numbers that it keeps for itself.

use crate::kernels::flat::Flat;
use crate::kernels::frame::Frame;
use crate::kernels::moves::Moves;
use crate::kernels::products::Places;
use crate::kernels::taps::Correlation;
use crate::kernels::winograd::Kernels;
use crate::kernels::winograd_gradient::TermGradient;
use crate::numbers::Numbers;

/// A convolution, ready to run.
#[derive(Debug)]
pub(crate) struct Conv {
    pub(crate) forward: Correlation,
    pub(crate) weights: WeightGradient,
    /// If it is asked for.
    pub(crate) input: Option<InputGradient>,
    /// The value to whose gradient that goes: its input; or if that is a rectified copy, perhaps what
    /// was copied.
    pub(crate) flows_to: usize,
    /// If it is computed with zeros for missing weights, its values are its own.
    pub(crate) filled: Option<Filled>,
    pub(crate) way: Way,
}

/// How a convolution is computed.
#[derive(Debug)]
pub(crate) enum Way {
    /// Tap by tap, as the lists of `forward` and `input` say. Otherwise these have no taps, as a rule.
    Taps,
    /// In squares.
    Squares(Squares),
    /// Along what each image shows.
    Flat(Flat),
}

/// The kernels of a convolution that is computed in squares.
#[derive(Debug)]
pub(crate) struct Squares {
    pub(crate) forward: Kernels,
    /// Those for the gradient by its input, if that is asked for.
    pub(crate) backward: Option<Kernels>,
    /// The gradient by the terms of the first.
    pub(crate) gradient: TermGradient,
}

/// Where the gradient by the weights of a convolution is computed.
#[derive(Debug)]
pub(crate) enum WeightGradient {
    /// At all positions of the gradient of its output.
    Everywhere(Places),
    /// At the winners of the windows by which its output is pooled.
    AtWinners(Box<AtWinners>),
}

/// Where the gradient by its input is computed.
#[derive(Debug)]
pub(crate) enum InputGradient {
    Everywhere(Box<Correlation>),
    AtWinners(Filters),
}

/// The gradient of filters as they are laid out to meet unrolled images, with those of weights
/// that were pruned.
#[derive(Debug)]
pub(crate) struct AtWinners {
    /// What the filters see.
    pub(crate) seen: Frame,
    pub(crate) gradient: Numbers,
    /// The gradients of biases.
    pub(crate) sums: Vec<f32>,
    pub(crate) gradient_moves: Moves,
    pub(crate) sum_moves: Moves,
}

/// Filters as they are laid out to meet unrolled images, with zeros for what was pruned.
#[derive(Debug)]
pub(crate) struct Filters {
    /// The part of what they see whose gradient is computed here.
    pub(crate) part: Frame,
    pub(crate) weights: Numbers,
    /// Of survivors that are neighbours and see it.
    pub(crate) moves: Vec<Moves>,
}

/// Values of a layer with zeros for what was pruned, and their gradient.
#[derive(Debug)]
pub(crate) struct Filled {
    pub(crate) values: Vec<f32>,
    pub(crate) gradient: Vec<f32>,
    pub(crate) weight_moves: Moves,
    pub(crate) bias_moves: Moves,
}

impl Conv {
    /// The gradient by its input, if that is computed at all positions.
    pub(crate) fn everywhere(&self) -> Option<&Correlation> {
        match &self.input {
            Some(InputGradient::Everywhere(input)) => Some(input),
            _ => None,
        }
    }

    /// Takes over the survivors' values, where it keeps its own for what is computed forward.
    pub(crate) fn fill(&mut self, survivors: &[f32]) {
        if let Some(Filled { values, weight_moves, bias_moves, .. }) = &mut self.filled {
            weight_moves.take_over(survivors, values);
            bias_moves.take_over(survivors, values);
        }
        let values = self.filled.as_ref().map_or(survivors, |own| &own.values);
        match &mut self.way {
            Way::Taps => self.forward.steps.weigh(values),
            Way::Squares(squares) => squares.forward.fill(values),
            Way::Flat(flat) => {
                self.forward.steps.weigh(values);
                flat.fill(survivors);
            }
        }
    }

    /// The same for gradients, after that.
    pub(crate) fn fill_for_gradients(&mut self, survivors: &[f32]) {
        let values = self.filled.as_ref().map_or(survivors, |own| &own.values);
        if let Way::Squares(Squares { backward: Some(kernels), .. }) = &mut self.way {
            kernels.fill(values);
        }
        match &mut self.input {
            Some(InputGradient::Everywhere(input)) => input.steps.weigh(values),
            Some(InputGradient::AtWinners(own)) => {
                let weights = &mut own.weights;
                own.moves.iter().for_each(|moves| moves.take_over(survivors, weights));
            }
            None => {}
        }
    }

    /// Adds the survivors' gradient to `gradient`, where it keeps its own, which begins anew.
    pub(crate) fn hand_over(&mut self, gradient: &mut [f32]) {
        match &mut self.way {
            Way::Taps => {}
            Way::Squares(squares) => {
                let to = self.filled.as_mut().map_or(&mut *gradient, |own| &mut own.gradient);
                squares.gradient.hand_over(&squares.forward, to);
            }
            Way::Flat(flat) => flat.hand_over(gradient),
        }
        match (&mut self.weights, &mut self.filled) {
            (WeightGradient::AtWinners(own), _) => {
                own.gradient_moves.hand_over(&own.gradient, gradient);
                own.sum_moves.hand_over(&own.sums, gradient);
                own.gradient.fill(0.0);
                own.sums.fill(0.0);
            }
            (_, Some(own)) => {
                own.weight_moves.hand_over(&own.gradient, gradient);
                own.bias_moves.hand_over(&own.gradient, gradient);
                own.gradient.fill(0.0);
            }
            _ => {}
        }
    }
}
