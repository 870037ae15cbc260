//! A block forward through the network: from images to scores.

use super::reach::Reach;
use super::{CODES, Pass, VALUES, Workspace};
use crate::conv::{Squares, Way};
use crate::kernels::LANES;
use crate::kernels::correlation::{Copied, Finish, Start, correlate};
use crate::kernels::flat::{flat_scores, scores_by_taps, see};
use crate::kernels::halving::halve;
use crate::kernels::layers::{self, Source, Target};
use crate::kernels::pooling::{self, correlate_and_pool};
use crate::kernels::pools::{self, Memory};
use crate::kernels::slabs;
use crate::kernels::winograd::sum_squares;
use crate::layout::{Halving, WIDE, copied_at_once, pooled_at_once, rectified_at_once, strips};
use crate::network::{Op, Window};
use std::mem::take;
use std::ops::Range;
use std::sync::Arc;

impl Workspace {
    pub(crate) fn forward(&mut self, values: &[f32], watch: &mut impl FnMut(usize, Pass)) {
        self.forward_to(self.convs.len(), values, watch);
        self.gather(VALUES, self.cut.network.scores);
    }

    /// The operations before `end`.
    pub(super) fn forward_to(
        &mut self,
        end: usize,
        values: &[f32],
        watch: &mut impl FnMut(usize, Pass),
    ) {
        let cut = Arc::clone(&self.cut);
        let network = &cut.network;
        let mut done = 0;
        for (index, op) in network.ops[..end].iter().enumerate() {
            if index < done {
                continue;
            }
            if let Some((last, halving)) = self.halving_from(index).filter(|it| it.0 < end) {
                let height = network.values[halving.pooled].shape.height;
                self.forward_halving(halving, 0..height);
                watch(last, Pass::Forward);
                done = last + 1;
                continue;
            }
            let (input, output) = (op.input(), op.output());
            let lanes = network.values[input].lanes;
            let reach = Reach::of(network, op);
            if reach != Reach::Own {
                self.fill_halo(VALUES, op);
                self.gather(VALUES, input);
            }
            if let Op::Add { .. } = op {
                self.forward_shortcut(input, output);
                watch(index, Pass::Forward);
                continue;
            }
            self.whole[VALUES][output] = reach == Reach::Other || self.seat.is_alone();
            if let Some(window) = pooled_at_once(network, index) {
                self.forward_pooled(index, window, values);
                watch(index, Pass::Forward);
                continue;
            }
            let before = index.checked_sub(1);
            if before.is_some_and(|it| pooled_at_once(network, it).is_some()) {
                continue;
            }
            if before.is_some_and(|it| copied_at_once(network, it) == Some(output)) {
                continue;
            }
            if let Op::Conv { onto, .. } = *op {
                // Whoever asks for what is not rectified yet stops before that.
                let at_once = index + 1 < end;
                let halving = self.halving_from(index + 1);
                let halving = halving.filter(|it| it.0 < end && it.1.value == output);
                let (height, rows) = self.rows_of_conv(index);
                match halving.filter(|_| rows < height) {
                    Some((last, halving)) => {
                        for rows in strips(height, rows) {
                            self.forward_conv(index, onto, at_once, rows.clone(), values);
                            watch(index, Pass::Forward);
                            self.forward_halving(halving, rows.start / 2..rows.end / 2);
                            watch(last, Pass::Forward);
                        }
                        done = last + 1;
                    }
                    None => {
                        self.forward_conv(index, onto, at_once, 0..height, values);
                        watch(index, Pass::Forward);
                    }
                }
                continue;
            }
            let (x, from) = self.cut(&self.layout.values[input], reach == Reach::Other);
            let (y, to) = self.cut(&self.layout.values[output], reach == Reach::Other);
            let mut numbers = take(&mut self.values[output]);
            let target = &mut numbers[to];
            if input == output {
                if !(index > 0 && rectified_at_once(network, index - 1)) {
                    layers::relu_in_place(target);
                }
                self.values[output] = numbers;
                watch(index, Pass::Forward);
                continue;
            }
            let x = Source { value: &x, numbers: &self.values[input][from] };
            let y = Target { value: &y, numbers: target };
            match *op {
                Op::Conv { .. } | Op::Add { .. } => unreachable!("these go another way"),
                Op::Relu { .. } => layers::relu(lanes, x, y),
                Op::ReluMaxPool { window, .. } => {
                    let first = self.first_code(output);
                    let (codes, wild) = (&mut self.codes[output][first..], &mut self.wild[output]);
                    *wild = [0.0; LANES];
                    let (memory, rows) = (Memory { codes, wild }, 0..y.value.shape.height);
                    pools::relu_max_pool(window, lanes, x, y, Some(memory), rows);
                }
                Op::MaxPool { window, .. } => pools::max_pool(window, lanes, x, y),
                Op::AveragePool { window, .. } => pools::average_pool(window, lanes, x, y),
                Op::Split { split, .. } => layers::split(split, lanes, x, y),
                Op::Deal { .. } => {
                    let [takes, _] = self.deals[index].as_ref().expect("a deal has takes");
                    slabs::deal(takes, x, y, true);
                }
            }
            self.values[output] = numbers;
            watch(index, Pass::Forward);
        }
    }

    /// `rows` of a convolution; what it writes is also rectified, if a ReLU comes next and may be done
    /// `at_once`.
    fn forward_conv(
        &mut self,
        index: usize,
        onto: bool,
        at_once: bool,
        rows: Range<usize>,
        values: &[f32],
    ) {
        let network = &self.cut.network;
        let (input, output) = (network.ops[index].input(), network.ops[index].output());
        let lanes = network.values[input].lanes;
        let rectify = at_once && rectified_at_once(network, index);
        let copy = copied_at_once(network, index).filter(|_| at_once);
        let (y, to) = self.cut(&self.layout.values[output], false);
        let (value, place) = self.cut(&self.layout.values[copy.unwrap_or(output)], false);
        let mut numbers = take(&mut self.values[output]);
        let mut copy_numbers = copy.map(|it| take(&mut self.values[it]));
        let copied = copy_numbers.as_mut().map(|numbers| {
            Copied::new(Target { value: &value, numbers: &mut numbers[place] }, lanes)
        });
        let finish = match &copied {
            Some(copied) => Finish::Copy(copied),
            None if rectify => Finish::Rectify,
            None => Finish::Keep,
        };
        let ends = (if onto { Start::Target } else { Start::Bias }, finish);
        let x = Source { value: &self.layout.values[input], numbers: &self.values[input] };
        let y = Target { value: &y, numbers: &mut numbers[to] };
        let conv = self.convs[index].as_mut().expect("a convolution was lowered");
        let forward = &conv.forward;
        let values = conv.filled.as_ref().map_or(values, |filled| &filled.values);
        match &mut conv.way {
            Way::Flat(flat) if !scores_by_taps(lanes) => {
                see(flat, x);
                flat_scores(flat, values, &forward.biases, y);
            }
            Way::Taps | Way::Flat(_) => {
                correlate(forward, lanes, values, x.numbers, y.numbers, ends, rows);
            }
            Way::Squares(Squares { forward: kernels, .. }) => {
                let (x, y, room) = (x.numbers, y.numbers, &mut self.scratch.terms);
                sum_squares(forward, kernels, lanes, values, x, y, ends, room);
            }
        }
        self.values[output] = numbers;
        if let (Some(copy), Some(numbers)) = (copy, copy_numbers) {
            self.values[copy] = numbers;
            self.whole[VALUES][copy] = self.seat.is_alone();
        }
    }

    /// Whether halvings are done in one go. Seats do their parts one by one, because some of them
    /// reach for channels of others; so do small blocks, of which a vector holds several positions.
    pub(super) fn halves_at_once(&self, halving: &Halving) -> bool {
        self.seat.is_alone() && self.layout.values[halving.value].lanes >= WIDE
    }

    /// `rows` of what is pooled, and of the phases.
    fn forward_halving(&mut self, halving: Halving, rows: Range<usize>) {
        let Halving { shortcut, value, pooled, phases, .. } = halving;
        let layout = &self.layout.values;
        let mut numbers = [pooled, phases].map(|it| take(&mut self.values[it]));
        let [means, parts] = &mut numbers;
        let source = |it: usize| Source { value: &layout[it], numbers: &self.values[it] };
        let (shortcut, y) = (shortcut.map(source), source(value));
        let means = Target { value: &layout[pooled], numbers: means };
        let parts = Target { value: &layout[phases], numbers: parts };
        halve(layout[value].lanes, shortcut, y, means, parts, &mut self.signs[phases], rows);
        [self.values[pooled], self.values[phases]] = numbers;
    }

    /// Adds `input` to the first channels of `output`, as far as these are computed here.
    fn forward_shortcut(&mut self, input: usize, output: usize) {
        let values = &self.layout.values;
        let channels = values[input].shape.channels;
        let own = self.seat.share(values[output].shape.channels);
        let (x, from) = values[input].part(&(own.start.min(channels)..own.end.min(channels)));
        let (y, to) = self.cut(&values[output], false);
        let lanes = y.lanes;
        let mut numbers = take(&mut self.values[output]);
        let x = Source { value: &x, numbers: &self.values[input][from.start << lanes..] };
        let y = Target { value: &y, numbers: &mut numbers[to] };
        layers::add_channels(lanes, x, y, false);
        self.values[output] = numbers;
        self.whole[VALUES][output] = self.seat.is_alone();
    }

    /// A convolution and the pool behind it.
    fn forward_pooled(&mut self, index: usize, window: Window, values: &[f32]) {
        let network = &self.cut.network;
        let (input, between) = (network.ops[index].input(), network.ops[index].output());
        let output = network.ops[index + 1].output();
        let lanes = network.values[output].lanes;
        let (x, at) = self.cut(&self.layout.values[between], false);
        let (y, to) = self.cut(&self.layout.values[output], false);
        let first = self.first_code(output);
        let conv = self.convs[index].as_ref().expect("a convolution was lowered");
        let values = conv.filled.as_ref().map_or(values, |filled| &filled.values);
        let mut strip = take(&mut self.values[between]);
        let mut numbers = take(&mut self.values[output]);
        let pool = pooling::Pool {
            window,
            strip: Target { value: &x, numbers: &mut strip[at] },
            y: Target { value: &y, numbers: &mut numbers[to] },
            memory: self.remembers.then_some(Memory {
                codes: &mut self.codes[output][first..],
                wild: &mut self.wild[output],
            }),
        };
        correlate_and_pool(&conv.forward, lanes, values, &self.values[input], pool);
        (self.values[between], self.values[output]) = (strip, numbers);
        self.whole[VALUES][output] = self.seat.is_alone();
        self.whole[CODES][output] = self.seat.is_alone();
    }
}
