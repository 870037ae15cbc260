//! A block backward through the network: from the gradient of the loss by the scores to that by
//! the weights.

use super::reach::Reach;
use super::{GRADIENTS, Pass, Scratch, Workspace};
use crate::conv::{Conv, Filters, InputGradient, Squares, Way, WeightGradient};
use crate::kernels::correlation::{Finish, Start, correlate};
use crate::kernels::flat::{flat_input_gradient, flat_weight_gradient, scores_by_taps, see};
use crate::kernels::frame::{roll_up, unroll};
use crate::kernels::halving::halve_gradient;
use crate::kernels::layers::{self, Signs, Source, Target};
use crate::kernels::patches::{filter_gradient, image_gradient};
use crate::kernels::pools;
use crate::kernels::products::{bias_gradient, weight_gradient};
use crate::kernels::slabs;
use crate::kernels::winners::Pool;
use crate::kernels::winograd::sum_squares;
use crate::kernels::winograd_gradient::square_gradient;
use crate::layout::{Halving, covers, pooled_at_once, pools_rectified, strips};
use crate::network::{Flow, Op};
use std::mem::take;
use std::ops::Range;
use std::sync::Arc;

impl Workspace {
    /// The gradient by the weights of convolution `index`, over `rows`: all of them, or where taps pass by,
    /// a strip after the other.
    pub(super) fn backward_weights(
        &mut self,
        index: usize,
        rows: Range<usize>,
        gradient: &mut [f32],
    ) {
        let network = &self.cut.network;
        let (input, output) = (network.ops[index].input(), network.ops[index].output());
        let lanes = network.values[output].lanes;
        let (part, at) = self.cut(&self.layout.gradients[output], false);
        let conv = self.convs[index].as_mut().expect("a convolution was lowered");
        if let WeightGradient::AtWinners(_) = conv.weights {
            return self.backward_winners(index);
        }
        let WeightGradient::Everywhere(places) = &conv.weights else { return };
        if pooled_at_once(network, index).is_some() && conv.input.is_none() {
            return self.backward_pooled(index, gradient);
        }
        let gradient = conv.filled.as_mut().map_or(gradient, |filled| &mut filled.gradient);
        let (x, dy) = (&self.values[input], &self.gradients[output][at]);
        let forward = &conv.forward;
        if rows.start == 0 {
            bias_gradient(forward, places, lanes, dy, gradient, forward.grid.height);
        }
        match &mut conv.way {
            Way::Taps => {
                let sums = self.scratch.sums.as_chunks_mut().0;
                weight_gradient(forward, places, lanes, x, dy, sums, gradient, rows);
            }
            Way::Squares(Squares { forward: kernels, gradient: to, .. }) => {
                let room = &mut self.scratch.terms;
                square_gradient(forward, kernels, places, lanes, x, dy, to, room);
            }
            Way::Flat(flat) => {
                if scores_by_taps(lanes) {
                    see(flat, Source { value: &self.layout.values[input], numbers: x });
                }
                flat_weight_gradient(flat, Source { value: &part, numbers: dy });
            }
        }
    }

    /// The same of a convolution of which nothing else is asked, and of the pool behind it, a strip of
    /// rows after the other.
    fn backward_pooled(&mut self, index: usize, gradient: &mut [f32]) {
        let network = &self.cut.network;
        let Op::ReluMaxPool { input: between, output, window } = network.ops[index + 1] else {
            unreachable!("it is pooled at once")
        };
        let (input, lanes) = (network.ops[index].input(), network.values[output].lanes);
        let (dx, at) = self.cut(&self.layout.gradients[between], false);
        let (dy, back) = self.cut(&self.layout.gradients[output], false);
        let first = self.first_code(output);
        let mut strip = take(&mut self.gradients[between]);
        let conv = self.convs[index].as_mut().expect("a convolution was lowered");
        let gradient = conv.filled.as_mut().map_or(gradient, |filled| &mut filled.gradient);
        let WeightGradient::Everywhere(places) = &conv.weights else {
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
            bias_gradient(forward, places, lanes, dy, gradient, rows.len());
            weight_gradient(forward, places, lanes, x, dy, sums, gradient, rows);
        }
        self.gradients[between] = strip;
    }

    /// The same at the winners of windows.
    fn backward_winners(&mut self, index: usize) {
        let network = &self.cut.network;
        let Op::ReluMaxPool { output: pooled, window, .. } = network.ops[index + 1] else {
            unreachable!("it is pooled at once")
        };
        let (input, lanes) = (network.ops[index].input(), network.values[pooled].lanes);
        let (dy, at) = self.cut(&self.layout.gradients[pooled], false);
        let first = self.first_code(pooled);
        let conv = self.convs[index].as_mut().expect("a convolution was lowered");
        let WeightGradient::AtWinners(winning) = &mut conv.weights else {
            unreachable!("it visits winners")
        };
        let Scratch { images, lists, .. } = &mut self.scratch;
        let x = Source { value: &self.layout.values[input], numbers: &self.values[input] };
        unroll(lanes, &winning.seen, x, images);
        let gradient = Source { value: &dy, numbers: &self.gradients[pooled][at] };
        let pool = Pool { window, gradient, codes: &self.codes[pooled][first..] };
        let (sum, sums) = (&mut winning.gradient, &mut winning.sums);
        filter_gradient(self.cut.images, &winning.seen, pool, images, lists, sum, sums);
    }

    /// The gradient by the input of convolution `index`, at the winners of windows.
    fn backward_to_winners(&mut self, index: usize, set: bool) {
        let network = &self.cut.network;
        let Op::ReluMaxPool { output: pooled, window, .. } = network.ops[index + 1] else {
            unreachable!("it is pooled at once")
        };
        let (input, lanes) = (network.ops[index].input(), network.values[pooled].lanes);
        self.gather(GRADIENTS, pooled);
        let (dx, to) = self.cut(&self.layout.gradients[input], false);
        let conv = self.convs[index].as_ref().expect("a convolution was lowered");
        let Some(InputGradient::AtWinners(Filters { part, weights, .. })) = &conv.input else {
            unreachable!("it visits winners")
        };
        let Scratch { images, lists, .. } = &mut self.scratch;
        let value = &self.layout.gradients[pooled];
        let gradient = Source { value, numbers: &self.gradients[pooled] };
        let pool = Pool { window, gradient, codes: &self.codes[pooled] };
        image_gradient(part, pool, weights, lists, images);
        let dx = Target { value: &dx, numbers: &mut self.gradients[input][to] };
        roll_up(lanes, part, images, dx, set);
        self.whole[GRADIENTS][input] = self.seat.is_alone();
    }

    /// Whether the gradient by the input of convolution `index` goes to what was copied, and finds
    /// something there. After that, somebody else would.
    pub(super) fn finds_something(&mut self, index: usize) -> bool {
        let network = &self.cut.network;
        let flows_to = self.convs[index].as_ref().map(|conv| conv.flows_to);
        flows_to.is_some_and(|to| {
            to != network.ops[index].input()
                && network.flows[index - 1] == Flow::Add
                && !std::mem::replace(&mut self.flat[to], false)
        })
    }

    /// The gradient by the input of convolution `index`, in `rows` of it: all of them, or where taps
    /// are followed, a strip after the other. It is added to what it finds, if there is something; else
    /// it is the first one by that input if `set`.
    pub(super) fn backward_conv(
        &mut self,
        index: usize,
        rows: Range<usize>,
        (set, onto): (bool, bool),
        values: &[f32],
    ) {
        let network = &self.cut.network;
        let (input, output) = (network.ops[index].input(), network.ops[index].output());
        let lanes = network.values[output].lanes;
        let flows_to = self.convs[index].as_ref().expect("a convolution was lowered").flows_to;
        let (dx, to) = self.cut(&self.layout.gradients[flows_to], false);
        let mut numbers = take(&mut self.gradients[flows_to]);
        let conv = self.convs[index].as_mut().expect("a convolution was lowered");
        let Some(InputGradient::Everywhere(backward)) = &conv.input else {
            unreachable!("it visits all positions")
        };
        let finish = match backward.mask {
            Some(_) if onto => Finish::MaskOnto(&self.values[input]),
            Some(_) => Finish::Mask(&self.values[input]),
            None => Finish::Keep,
        };
        let ends = (if set { Start::Bias } else { Start::Target }, finish);
        let values = conv.filled.as_ref().map_or(values, |filled| &filled.values);
        let dy = Source { value: &self.layout.gradients[output], numbers: &self.gradients[output] };
        let dx = Target { value: &dx, numbers: &mut numbers[to] };
        match &mut conv.way {
            Way::Flat(flat) => flat_input_gradient(flat, dy, dx, set),
            Way::Squares(Squares { backward: Some(kernels), .. }) => {
                let room = &mut self.scratch.terms;
                sum_squares(backward, kernels, lanes, values, dy.numbers, dx.numbers, ends, room);
            }
            _ => correlate(backward, lanes, values, dy.numbers, dx.numbers, ends, rows),
        }
        self.gradients[flows_to] = numbers;
        self.whole[GRADIENTS][flows_to] = self.seat.is_alone();
    }

    /// The gradient of a halving, in `rows` of what was pooled. There is one by the phases.
    pub(super) fn backward_halving(&mut self, halving: &Halving, rows: Range<usize>) {
        let Halving { value, pooled, added_to, phases, .. } = *halving;
        let is_flat = std::mem::replace(&mut self.flat[pooled], false);
        if is_flat {
            self.gradients[pooled].fill(0.0);
        }
        let mut numbers = take(&mut self.gradients[value]);
        let layout = &self.layout.gradients;
        let sum = added_to.filter(|_| !is_flat).unwrap_or(pooled);
        let (means, _) = layout[sum].part(&(0..layout[pooled].shape.channels));
        let signs = Signs { value: &self.layout.values[phases], bits: &self.signs[phases] };
        let means = Source { value: &means, numbers: &self.gradients[sum] };
        let parts = Source { value: &layout[phases], numbers: &self.gradients[phases] };
        let dy = Target { value: &layout[value], numbers: &mut numbers };
        halve_gradient(layout[value].lanes, signs, means, parts, dy, rows);
        self.gradients[value] = numbers;
        self.flat[value] = false;
    }

    /// Whether operation `index` has masked the gradient by its input.
    fn masks(&self, index: usize) -> bool {
        match self.convs.get(index) {
            Some(Some(conv)) => conv.everywhere().is_some_and(|input| input.mask.is_some()),
            Some(None) => pools_rectified(&self.cut.network, index),
            None => false,
        }
    }

    /// Whether operation `index` adds what was pooled on the way into a residual block: the halving finds
    /// its gradient in that of the sum.
    fn is_found_by_halving(&self, index: usize) -> bool {
        let Op::Add { input, output } = self.cut.network.ops[index] else { return false };
        let mut halvings = (0..index).filter_map(|last| self.halving_to(last));
        halvings.any(|halving| (halving.pooled, halving.added_to) == (input, Some(output)))
    }

    /// Whether operation `index` makes a rectified copy, and the convolution behind it has handed its
    /// gradient on to that of what was copied.
    fn is_done_behind(&self, index: usize) -> bool {
        let ops = &self.cut.network.ops;
        let Op::Relu { input, output } = ops[index] else { return false };
        let conv = self.convs.get(index + 1).and_then(Option::as_ref);
        conv.is_some_and(|conv| ops[index + 1].input() == output && conv.flows_to == input)
    }

    /// Whether operation `index` is a pool whose gradient nobody needs as a whole: the convolution before
    /// it takes what it needs of it.
    fn is_done_by_conv(&self, index: usize) -> bool {
        let Some(before) = index.checked_sub(1) else { return false };
        let conv = self.convs[before].as_ref();
        pooled_at_once(&self.cut.network, before).is_some()
            && conv.is_some_and(|conv| conv.everywhere().is_none())
    }

    pub(crate) fn backward(
        &mut self,
        values: &[f32],
        gradient: &mut [f32],
        watch: &mut impl FnMut(usize, Pass),
    ) {
        let cut = Arc::clone(&self.cut);
        let network = &cut.network;
        let mut rest = network.ops.len();
        for index in (0..network.ops.len()).rev() {
            if index >= rest {
                continue;
            }
            let (op, flow) = (&network.ops[index], network.flows[index]);
            let (input, output) = (op.input(), op.output());
            let lanes = network.values[output].lanes;
            let set = flow == Flow::Set || self.flat[input];
            // Nothing flows back from here: zeros would be multiplied, and added to sums that
            // have them already.
            if self.flat[output] || self.is_dead(index) {
                self.flat[input] = set;
                continue;
            }
            // Of what a pool has left seats exchange less than of what it was made from.
            let reach = match op {
                Op::ReluMaxPool { .. } => Reach::Other,
                _ => Reach::of(network, op),
            };
            if self.is_done_by_conv(index) {
                self.flat[input] = false;
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
            if let Op::Conv { .. } = op {
                let flows = flow != Flow::Stop;
                let done = flows.then(|| self.backward_strips(index, set, values, gradient, watch));
                if let Some(first) = done.flatten() {
                    rest = first;
                    continue;
                }
                let conv = self.convs[index].as_ref().expect("a convolution was lowered");
                self.backward_weights(index, 0..conv.forward.grid.height, gradient);
                watch(index, Pass::WeightGradient);
            }
            if flow == Flow::Stop || self.is_done_behind(index) {
                continue;
            }
            self.flat[input] = false;
            if self.is_found_by_halving(index) {
                continue;
            }
            let conv = self.convs[index].as_ref();
            if conv.is_some_and(|conv| matches!(conv.input, Some(InputGradient::AtWinners(_)))) {
                self.backward_to_winners(index, set);
                watch(index, Pass::InputGradient);
                continue;
            }
            if reach != Reach::Own {
                self.fill_halo(GRADIENTS, op);
                self.gather(GRADIENTS, output);
            }
            if let Op::Conv { .. } = op {
                let start = (set, self.finds_something(index));
                let rows = self.convs[index].as_ref().and_then(Conv::everywhere);
                let rows = 0..rows.map_or(0, |input| input.grid.height);
                self.backward_conv(index, rows, start, values);
                watch(index, Pass::InputGradient);
                continue;
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
                Op::Conv { .. } => unreachable!("convolutions go another way"),
                Op::Relu { .. } => layers::relu_gradient(lanes, y, dy, dx, set),
                Op::ReluMaxPool { window, .. } => {
                    let (codes, rows) = (&self.codes[output], 0..dy.value.shape.height);
                    pools::relu_max_pool_gradient(window, lanes, codes, dy, dx, rows);
                }
                Op::MaxPool { window, .. } => {
                    if set {
                        dx.numbers.fill(0.0);
                    }
                    pools::max_pool_gradient(window, lanes, x, y, dy, dx);
                }
                Op::AveragePool { window, .. } => {
                    let covered = covers(window, dx.value.shape);
                    if set && !covered {
                        dx.numbers.fill(0.0);
                    }
                    let deciding = pools_rectified(network, index).then_some(x);
                    let set = set && covered;
                    pools::average_pool_gradient(window, lanes, deciding, dy, dx, set);
                }
                Op::Split { split, .. } => {
                    if set && !split.covers(dx.value.shape, dy.value.shape) {
                        dx.numbers.fill(0.0);
                    }
                    layers::split_gradient(split, lanes, dy, dx, set);
                }
                Op::Add { .. } => layers::add_channels(lanes, dy, dx, set),
                Op::Deal { .. } => {
                    let [_, takes_back] = self.deals[index].as_ref().expect("a deal has takes");
                    slabs::deal(takes_back, dy, dx, set);
                }
            }
            self.gradients[input] = numbers;
            watch(index, Pass::InputGradient);
        }
    }

    /// Whether no gradient comes through operation `index`: every unit of it is at rest in
    /// every image of the block. A network that has collapsed is trained in a third of the
    /// time. Numbers beyond all bounds are passed on, so that the loss will tell of them.
    fn is_dead(&self, index: usize) -> bool {
        let Op::ReluMaxPool { output, .. } = self.cut.network.ops[index] else {
            return false;
        };
        let (codes, wild) = (&self.codes[output], &self.wild[output]);
        // A seat does not know of the others' units.
        self.seat.is_alone() && pools::nobody(codes) && wild.iter().all(|&wild| wild == 0.0)
    }
}
