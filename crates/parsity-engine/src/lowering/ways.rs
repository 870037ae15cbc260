//! What a convolution keeps for itself where it does not follow its lists of taps: filled up with zeros,
//! in squares, along what images show, or at winners.

use super::Lowering;
use crate::conv::{AtWinners, Filled, Filters, InputGradient, Squares};
use crate::kernels::flat::{self, Flat};
use crate::kernels::frame::Frame;
use crate::kernels::moves::Moves;
use crate::kernels::taps::Correlation;
use crate::kernels::winograd::Kernels;
use crate::kernels::winograd_gradient::TermGradient;
use crate::numbers::Numbers;
use crate::shape::Shape;
use crate::survivor::Survivor;
use std::ops::Range;

impl Lowering<'_> {
    /// Room for the weights of all filters; those of `filters` are taken over, and all biases.
    pub(super) fn filled_with(&self, filters: Range<usize>) -> Filled {
        let weights = self.values - self.shape.filters;
        let biases = self.bias_locals.iter().map(|&filter| weights as u32 + filter).collect();
        let place = |filter: usize| {
            self.locals.partition_point(|&local| (local as usize) < filter * self.kernel.weights)
        };
        let (start, end) = (place(filters.start), place(filters.end));
        let (first, places) = (self.weight_places.start + start, &self.locals[start..end]);
        Filled {
            values: vec![0.0; self.values],
            gradient: vec![0.0; self.values],
            weight_moves: Moves::new(first, places.to_vec(), self.values),
            bias_moves: Moves::new(self.bias_places.start, biases, self.values),
        }
    }

    /// The kernels of `filters`, and those for the gradient by `channels` of the input.
    pub(super) fn squares(
        &self,
        forward: &Correlation,
        input_gradient: &Option<InputGradient>,
        filters: &Range<usize>,
        channels: &Range<usize>,
    ) -> Squares {
        let Lowering { shape, input, output_gradient: output, values, .. } = *self;
        let (kernel, filter) = (shape.height * shape.width, self.kernel.weights);
        let first = if self.filled { 0 } else { self.weight_places.start };
        let before = shape.pad_top * input.columns() + shape.pad_left;
        let views = (0..input.shape.channels).map(|it| (input.row(it, 0) - before) as u32);
        let steps = (first + filters.start * filter, filter, kernel);
        let backward = match input_gradient {
            Some(InputGradient::Everywhere(backward)) => {
                // The last number of a kernel meets the first one of its view.
                let before = (shape.height - 1 - shape.pad_top) * output.columns();
                let before = before + shape.width - 1 - shape.pad_left;
                let views = (0..shape.filters).map(|it| (output.row(it, 0) - before) as u32);
                let steps = (first + channels.start * kernel, kernel, filter);
                Some(Kernels::checked(backward, views.collect(), steps, true, values))
            }
            _ => None,
        };
        let forward = Kernels::checked(forward, views.collect(), steps, false, values);
        let output = output.shape;
        let gradient = TermGradient::new(&forward, shape.filters, output, self.lanes);
        Squares { forward, backward, gradient }
    }

    /// The scores of `filters`, and the gradient by `channels` of the input.
    pub(super) fn flat(&self, filters: Range<usize>, channels: Range<usize>) -> Flat {
        let each = self.channels() / self.input.shape.channels;
        let given = channels.start * each..channels.end * each;
        let gradient = &self.gradients[self.index];
        let (_, place) = gradient.part(&channels);
        let to = |it: usize| (self.channel_start(gradient, it) - place.start) as u32;
        let from = |it: usize| self.channel_start(self.input, it) as u32;
        let part = flat::Part {
            units: filters,
            all: self.shape.filters,
            from: (0..self.channels()).map(from).collect(),
            to: given.clone().map(to).collect(),
            given,
        };
        Flat::new(part, self.lanes, self.weight_places.start, &self.locals)
    }

    /// The gradient by the weights of `filters`.
    pub(super) fn at_winners(&self, filters: &Range<usize>, seen: Frame) -> AtWinners {
        // A filter's survivors are neighbours, and so are those of several.
        let own = self.layer_survivors().filter(|it| filters.contains(&it.filter));
        let first = own.clone().next().map_or(0, |it| it.place as usize);
        let gradients = own.map(|it| {
            let number = seen.number(it.row, it.column, it.channel);
            ((it.filter - filters.start) * seen.filter() + number) as u32
        });
        let before = self.bias_locals.partition_point(|&it| (it as usize) < filters.start);
        let end = self.bias_locals.partition_point(|&it| (it as usize) < filters.end);
        let sums = self.bias_locals[before..end].iter().map(|&it| it - filters.start as u32);
        AtWinners {
            seen,
            gradient: Numbers::new(filters.len() * seen.filter()),
            sums: vec![0.0; filters.len()],
            gradient_moves: Moves::new(first, gradients.collect(), filters.len() * seen.filter()),
            sum_moves: Moves::new(self.bias_places.start + before, sums.collect(), filters.len()),
        }
    }

    /// All filters, as far as they see `channels`.
    pub(super) fn filters(&self, channels: &Range<usize>) -> Filters {
        let shape = self.shape;
        let output = Shape { height: self.height, ..self.output.shape };
        let part = shape.frame(channels.len(), self.input.shape, output);
        let room = shape.filters * part.filter();
        let own = self.layer_survivors().filter(|it| channels.contains(&it.channel));
        let own: Vec<Survivor> = own.collect();
        let moves = own.chunk_by(|one, next| next.place == one.place + 1).map(|run| {
            let weights = run.iter().map(|it| {
                let number = (it.row, it.column, it.channel - channels.start);
                part.weight((it.filter, shape.filters), number) as u32
            });
            Moves::new(run[0].place as usize, weights.collect(), room)
        });
        Filters { part, weights: Numbers::new(room), moves: moves.collect() }
    }
}
