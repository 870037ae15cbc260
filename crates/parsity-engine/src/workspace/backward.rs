//! A block backward through the network: from the gradient of the loss by the scores to that by
//! the weights.

use super::{GRADIENTS, Pass, Reach, Scratch, Workspace};
use crate::conv::{Filters, Gradients, Squares};
use crate::kernels::correlation::{Finish, Start, correlate};
use crate::kernels::frame::{roll_up, unroll};
use crate::kernels::halving::halve_gradient;
use crate::kernels::layers::{self, Source, Target};
use crate::kernels::patches::{filter_gradient, image_gradient};
use crate::kernels::pools;
use crate::kernels::products::{bias_gradient, weight_gradient};
use crate::kernels::winners::Pool;
use crate::kernels::winograd::sum_squares;
use crate::kernels::winograd_gradient::square_gradient;
use crate::layout::{Halving, halving, pooled_at_once};
use crate::network::{Flow, Op, Window};
use std::mem::take;
use std::ops::Range;
use std::sync::Arc;

impl Workspace {
    /// The gradient by the weights of a convolution of which nothing else is asked, and of the
    /// pool behind it, a strip of rows after the other.
    fn backward_strips(&mut self, index: usize, window: Window, gradient: &mut [f32]) {
        let network = Arc::clone(self.program.network());
        let lanes = self.lanes;
        let (input, between) = (network.ops[index].input(), network.ops[index].output());
        let output = network.ops[index + 1].output();
        let (dx, at) = self.cut(&self.layout.gradients[between], false);
        let (dy, back) = self.cut(&self.layout.gradients[output], false);
        let first = self.first_code(output);
        let mut strip = take(&mut self.gradients[between]);
        let conv = self.convs[index].as_mut().expect("a convolution was lowered");
        let gradient = match &mut conv.filled {
            Some(filled) => &mut filled.gradient,
            None => gradient,
        };
        let Gradients::Everywhere { ref places, .. } = conv.gradients else {
            unreachable!("it visits all positions")
        };
        let sums = self.scratch.sums.as_chunks_mut().0;
        for rows in strips(conv.forward.grid.height, dx.shape.height) {
            let numbers = &mut strip[at.clone()];
            let dy = Source { value: &dy, numbers: &self.gradients[output][back.clone()] };
            let dx = Target { value: &dx, numbers };
            let pooled = rows.start / window.stride..rows.end / window.stride;
            let codes = &self.codes[output][first..];
            pools::relu_max_pool_gradient(window, lanes, codes, dy, dx, pooled);
            let (x, dy, forward) = (&self.values[input], &strip[at.clone()], &conv.forward);
            weight_gradient(forward, places, lanes, x, dy, sums, gradient, rows);
        }
        self.gradients[between] = strip;
    }

    /// The gradients of a convolution that is pooled at once, at the winners of windows.
    fn backward_winners(
        &mut self,
        index: usize,
        window: Window,
        set: bool,
        watch: &mut impl FnMut(usize, Pass),
    ) {
        let network = Arc::clone(self.program.network());
        let lanes = self.lanes;
        let (input, pooled) = (network.ops[index].input(), network.ops[index + 1].output());
        if network.flows[index] != Flow::Stop {
            self.gather(GRADIENTS, pooled);
        }
        let (dy, at) = self.cut(&self.layout.gradients[pooled], false);
        let (dx, to) = self.cut(&self.layout.gradients[input], false);
        let first = self.first_code(pooled);
        let conv = self.convs[index].as_mut().expect("a convolution was lowered");
        let Gradients::AtWinners(winning) = &mut conv.gradients else {
            unreachable!("it visits winners")
        };
        let Scratch { images, lists, .. } = &mut self.scratch;
        let x = Source { value: &self.layout.values[input], numbers: &self.values[input] };
        unroll(lanes, &winning.seen, x, images);
        let gradient = Source { value: &dy, numbers: &self.gradients[pooled][at] };
        let pool = Pool { window, gradient, codes: &self.codes[pooled][first..] };
        let (sum, sums) = (&mut winning.gradient, &mut winning.sums);
        filter_gradient(lanes, &winning.seen, pool, images, lists, sum, sums);
        watch(index, Pass::WeightGradient);
        let Some(Filters { part, weights, .. }) = &winning.filters else { return };
        let value = &self.layout.gradients[pooled];
        let gradient = Source { value, numbers: &self.gradients[pooled] };
        let pool = Pool { window, gradient, codes: &self.codes[pooled] };
        image_gradient(lanes, part, pool, weights, lists, images);
        let dx = Target { value: &dx, numbers: &mut self.gradients[input][to] };
        roll_up(lanes, part, images, dx, set);
        self.whole[GRADIENTS][input] = self.seat.is_alone();
        watch(index, Pass::InputGradient);
    }

    /// The halving that ends with operation `index`, if it is clear that it has a gradient.
    fn halving_to(&self, index: usize) -> Option<Halving> {
        let found = halving(self.program.network(), index)?;
        let flat = self.flat[found.pooled] || self.flat[found.phases];
        (self.halves_at_once() && !flat).then_some(found)
    }

    fn backward_halving(&mut self, Halving { value, pooled, phases, .. }: Halving) {
        let mut numbers = take(&mut self.gradients[value]);
        let layout = &self.layout.gradients;
        let y = Source { value: &self.layout.values[value], numbers: &self.values[value] };
        let means = Source { value: &layout[pooled], numbers: &self.gradients[pooled] };
        let parts = Source { value: &layout[phases], numbers: &self.gradients[phases] };
        let dy = Target { value: &layout[value], numbers: &mut numbers };
        halve_gradient(self.lanes, y, means, parts, dy);
        self.gradients[value] = numbers;
        self.flat[value] = false;
    }

    /// Whether operation `index` has masked the gradient by its input.
    fn masks(&self, index: usize) -> bool {
        let conv = self.convs.get(index).and_then(Option::as_ref);
        conv.is_some_and(|conv| match &conv.gradients {
            Gradients::Everywhere { input: Some(input), .. } => input.mask.is_some(),
            _ => false,
        })
    }

    /// How operation `index` is pooled at once, if its gradients are computed at winners.
    fn visits_winners(&self, index: usize) -> Option<Window> {
        match self.convs[index].as_ref()?.gradients {
            Gradients::AtWinners(_) => pooled_at_once(self.program.network(), index),
            Gradients::Everywhere { .. } => None,
        }
    }

    pub(crate) fn backward(
        &mut self,
        values: &[f32],
        gradient: &mut [f32],
        watch: &mut impl FnMut(usize, Pass),
    ) {
        let network = Arc::clone(self.program.network());
        let lanes = self.lanes;
        let mut rest = network.ops.len();
        for index in (0..network.ops.len()).rev() {
            if index >= rest {
                continue;
            }
            if let Some(halving) = self.halving_to(index) {
                self.backward_halving(halving);
                watch(index, Pass::InputGradient);
                rest = index - 2;
                continue;
            }
            let (op, flow) = (&network.ops[index], network.flows[index]);
            let (input, output) = (op.input(), op.output());
            let set = flow == Flow::Set || self.flat[input];
            // Nothing flows back from here: zeros would be multiplied, and added to sums that
            // have them already.
            if self.flat[output] || self.is_dead(index) {
                self.flat[input] = set;
                continue;
            }
            let reach = Reach::of(&network, op);
            // What is pooled at once, and has but weights before it, is done with these.
            let at_once = |index: usize| {
                pooled_at_once(&network, index).filter(|_| network.flows[index] == Flow::Stop)
            };
            let with_the_conv =
                |index: usize| at_once(index).is_some() || self.visits_winners(index).is_some();
            if index > 0 && with_the_conv(index - 1) {
                self.flat[input] = false;
                continue;
            }
            if let Some(window) = self.visits_winners(index) {
                self.flat[input] = false;
                self.backward_winners(index, window, set, watch);
                continue;
            }
            if let Some(window) = at_once(index) {
                self.backward_strips(index, window, gradient);
                watch(index, Pass::WeightGradient);
                continue;
            }
            let (y, at) = self.cut(&self.layout.values[output], false);
            let y = Source { value: &y, numbers: &self.values[output][at] };
            if input == output {
                if self.masks(index + 1) {
                    continue;
                }
                let (dy, to) = self.cut(&self.layout.gradients[output], false);
                let dy = Target { value: &dy, numbers: &mut self.gradients[output][to] };
                layers::relu_gradient_in_place(lanes, y, dy);
                self.whole[GRADIENTS][output] = self.seat.is_alone();
                watch(index, Pass::InputGradient);
                continue;
            }
            let (_, at) = self.cut(&self.layout.gradients[output], false);
            if let Some(conv) = &mut self.convs[index] {
                let gradient = match &mut conv.filled {
                    Some(filled) => &mut filled.gradient,
                    None => &mut *gradient,
                };
                let (x, dy) = (&self.values[input], &self.gradients[output][at]);
                if let Gradients::Everywhere { ref places, .. } = conv.gradients {
                    let (forward, rows) = (&conv.forward, 0..conv.forward.grid.height);
                    let sums = self.scratch.sums.as_chunks_mut().0;
                    if let Some(Squares { forward: kernels, gradient: to, .. }) = &mut conv.squares
                    {
                        bias_gradient(forward, places, lanes, dy, gradient, rows.len());
                        let room = &mut self.scratch.terms;
                        square_gradient(forward, kernels, places, lanes, x, dy, to, room);
                    } else {
                        weight_gradient(forward, places, lanes, x, dy, sums, gradient, rows);
                    }
                }
                watch(index, Pass::WeightGradient);
            }
            if flow == Flow::Stop {
                continue;
            }
            self.flat[input] = false;
            if reach != Reach::Own {
                self.gather(GRADIENTS, output);
            }
            if reach == Reach::Other && !set {
                self.gather(GRADIENTS, input);
            }
            self.whole[GRADIENTS][input] = reach == Reach::Other || self.seat.is_alone();
            let all = reach == Reach::Other;
            let (x, from) = self.cut(&self.layout.values[input], all);
            let (y, at) = self.cut(&self.layout.values[output], all);
            let (dy, back) = self.cut(&self.layout.gradients[output], reach != Reach::Own);
            let (dx, to) = self.cut(&self.layout.gradients[input], all);
            let mut numbers = take(&mut self.gradients[input]);
            let x = Source { value: &x, numbers: &self.values[input][from] };
            let y = Source { value: &y, numbers: &self.values[output][at] };
            let dy = Source { value: &dy, numbers: &self.gradients[output][back] };
            let dx = Target { value: &dx, numbers: &mut numbers[to] };
            match *op {
                Op::Conv { .. } => {
                    let conv = self.convs[index].as_ref().expect("a convolution was lowered");
                    let values = conv.filled.as_ref().map_or(values, |filled| &filled.values);
                    let start = if set { Start::Bias } else { Start::Target };
                    if let Gradients::Everywhere { input: Some(ref backward), .. } = conv.gradients
                    {
                        let (dy, dx, rows) = (dy.numbers, dx.numbers, 0..backward.grid.height);
                        let finish = match backward.mask {
                            Some(_) => Finish::Mask(&self.values[input]),
                            None => Finish::Keep,
                        };
                        let ends = (start, finish);
                        match &conv.squares {
                            Some(Squares { backward: Some(kernels), .. }) => {
                                let room = &mut self.scratch.terms;
                                sum_squares(backward, kernels, lanes, values, dy, dx, ends, room);
                            }
                            _ => correlate(backward, lanes, values, dy, dx, ends, rows),
                        }
                    }
                }
                Op::Relu { .. } => layers::relu_gradient(lanes, y, dy, dx, set),
                Op::ReluMaxPool { window, .. } => {
                    let codes = &self.codes[output][self.first_code(output)..];
                    let rows = 0..dy.value.shape.height;
                    pools::relu_max_pool_gradient(window, lanes, codes, dy, dx, rows);
                }
                Op::MaxPool { window, .. } => {
                    if set {
                        dx.numbers.fill(0.0);
                    }
                    pools::max_pool_gradient(window, lanes, x, y, dy, dx);
                }
                Op::AveragePool { window, .. } => {
                    let covered = window.tiles(dx.value.shape);
                    if set && !covered {
                        dx.numbers.fill(0.0);
                    }
                    pools::average_pool_gradient(window, lanes, dy, dx, set && covered);
                }
                Op::Split { split, .. } => {
                    if set && !split.covers(dx.value.shape, dy.value.shape) {
                        dx.numbers.fill(0.0);
                    }
                    layers::split_gradient(split, lanes, dy, dx, set);
                }
                Op::Add { .. } => layers::add_channels(lanes, dy, dx, set),
            }
            self.gradients[input] = numbers;
            watch(index, Pass::InputGradient);
        }
    }

    /// Whether no gradient comes through operation `index`: every unit of it is at rest in
    /// every image of the block. A network that has collapsed is trained in a third of the
    /// time. Numbers beyond all bounds are passed on, so that the loss will tell of them.
    fn is_dead(&self, index: usize) -> bool {
        let Op::ReluMaxPool { output, .. } = self.program.network().ops[index] else {
            return false;
        };
        let (codes, wild) = (&self.codes[output], &self.wild[output]);
        // A seat does not know of the others' units.
        self.seat.is_alone() && pools::nobody(codes) && wild.iter().all(|&wild| wild == 0.0)
    }
}

/// All rows, in strips of `strip`.
fn strips(height: usize, strip: usize) -> impl Iterator<Item = Range<usize>> {
    (0..height).step_by(strip).map(move |start| start..(start + strip).min(height))
}
