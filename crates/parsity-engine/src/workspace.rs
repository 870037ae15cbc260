//! The room in which one block of images is worked on.
//!
//! A block runs through the whole network, forward and backward, before the next one
//! starts, so that its activations stay in the cache. One workspace serves one thread.
//! It knows the program it met last: where every survivor reads is worked out once, and
//! again only when another program comes.

use crate::examples::{Examples, Normalization};
use crate::kernels::correlation::{Finish, Start, correlate};
use crate::kernels::layers::{self, Source, Target};
use crate::kernels::pooling::{self, correlate_and_pool};
use crate::kernels::winners::{self, Lists, Pool};
use crate::kernels::{LANES, loss, products};
use crate::layout::{Layout, may_visit_winners, pooled_at_once, rectified_at_once};
use crate::lowering::{Conv, Gradients, lower};
use crate::network::{Flow, Network, Op, Value, Window};
use crate::numbers::Numbers;
use crate::program::Program;
use crate::seats::Seat;
use crate::shape::Shape;
use std::mem::take;
use std::ops::Range;
use std::sync::Arc;

/// Examples with the numbers that their bytes stand for.
#[derive(Debug)]
pub struct Material {
    examples: Examples,
    normalization: Normalization,
}

impl Material {
    /// Examples and their normalisation.
    pub fn new(examples: Examples, normalization: Normalization) -> Self {
        Material { examples, normalization }
    }

    /// The examples.
    pub fn examples(&self) -> &Examples {
        &self.examples
    }
}

/// How many images a block has in a batch of `batch`, as a power of two: a function of
/// the batch alone, so that the order of every sum is, too.
pub(crate) fn lanes(batch: usize) -> u32 {
    batch.clamp(1, LANES).next_power_of_two().ilog2()
}

/// Bytes that a thread needs for one block of `network` in a batch of `batch`: activations,
/// their gradients and the codes of pooling windows. Its lists of taps come on top: at most
/// 16 bytes per survivor.
pub fn block_bytes(network: &Network, batch: usize) -> usize {
    let numbers = |values: &[Value]| -> usize {
        values.iter().map(|value| (value.len() << lanes(batch)).next_multiple_of(16)).sum()
    };
    let layout = Layout::new(network, lanes(batch));
    let scratch = Scratch::new(network, lanes(batch));
    let numbers = numbers(&layout.values) + numbers(&layout.gradients) + scratch.images.len();
    numbers * size_of::<f32>()
        + scratch.lists.bytes()
        + (pooled(network).map(|(_, codes)| codes).sum::<usize>() << lanes(batch))
}

/// Room that is used for one convolution after the other.
#[derive(Debug)]
struct Scratch {
    /// Unrolled images.
    images: Numbers,
    lists: Lists,
}

impl Scratch {
    fn new(network: &Network, lanes: u32) -> Self {
        let mut numbers = 0;
        let mut lists = Lists::default();
        for (index, op) in network.ops.iter().enumerate() {
            let (Some(window), Op::Conv { input, output, shape }) =
                (may_visit_winners(network, index), *op)
            else {
                continue;
            };
            let input = network.values[input].shape;
            let frame = shape.frame(input.channels, input, network.values[output].shape);
            numbers = numbers.max(frame.image() << lanes);
            let pooled = network.values[network.ops[index + 1].output()].shape;
            lists.reserve(1 << lanes, pooled, window.height * window.width);
        }
        Scratch { images: Numbers::new(numbers), lists }
    }
}

/// The values that keep codes of pooling windows, and how many per image.
fn pooled(network: &Network) -> impl Iterator<Item = (usize, usize)> {
    network.ops.iter().filter_map(|op| match *op {
        Op::ReluMaxPool { output, .. } => Some((output, network.values[output].shape.len())),
        _ => None,
    })
}

/// What an operation is done for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// The scores.
    Forward,
    /// The gradient by the operation's input.
    InputGradient,
    /// The gradient by its weights.
    WeightGradient,
}

/// What is asked about each example of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// Whether it is classified wrongly.
    IsWrong,
    /// Whether any unit of the operation `rectifier` fires, or its input is not finite.
    Wakes { rectifier: usize },
}

/// Indices of what `Workspace::whole` tells of.
const VALUES: usize = 0;
const GRADIENTS: usize = 1;
const CODES: usize = 2;

/// Nobody wants to know when an operation is done.
fn unwatched(_: usize, _: Pass) {}

/// Activations and their gradients of one block of images.
#[derive(Debug)]
pub(crate) struct Workspace {
    program: Arc<Program>,
    /// Images in a block, as a power of two.
    lanes: u32,
    /// The channels that are computed here.
    seat: Seat,
    layout: Layout,
    /// Per operation; `None` where it is no convolution.
    convs: Vec<Option<Conv>>,
    values: Vec<Numbers>,
    gradients: Vec<Numbers>,
    /// Of which values all channels are here, of which gradients, of which codes.
    whole: [Vec<bool>; 3],
    /// The values by which the loss has no gradient in this block, so that none is written.
    flat: Vec<bool>,
    /// Which number of each pooling window was the highest, per value.
    codes: Vec<Vec<u8>>,
    /// NaN for the images of which that pool has seen a number that is not finite; else zero.
    wild: Vec<[f32; LANES]>,
    scratch: Scratch,
    labels: [u8; LANES],
    count: usize,
}

impl Workspace {
    /// Room for blocks of `1 << lanes` images of `program`, at `seat`.
    pub(crate) fn new(program: &Arc<Program>, lanes: u32, seat: Seat) -> Self {
        let network = program.network();
        let layout = Layout::new(network, lanes);
        let room = |values: &[Value]| {
            values.iter().map(|value| Numbers::new(value.len() << lanes)).collect()
        };
        let mut codes = vec![vec![]; network.values.len()];
        for (value, count) in pooled(network) {
            codes[value] = vec![0; count << lanes];
        }
        Workspace {
            program: Arc::clone(program),
            lanes,
            convs: lower(program, &layout, lanes, &seat),
            whole: [(); 3].map(|()| vec![true; network.values.len()]),
            seat,
            values: room(&layout.values),
            gradients: room(&layout.gradients),
            layout,
            flat: vec![false; network.values.len()],
            codes,
            wild: vec![[0.0; LANES]; network.values.len()],
            scratch: Scratch::new(network, lanes),
            labels: [0; LANES],
            count: 0,
        }
    }

    /// Whether it was made for `network`.
    pub(crate) fn is_of(&self, network: &Arc<Network>) -> bool {
        Arc::ptr_eq(network, self.program.network())
    }

    /// Gets ready for `program`, if it was made for the same network, as many images and the
    /// same seat.
    pub(crate) fn meet(&mut self, program: &Arc<Program>, lanes: u32, seat: &Seat) -> bool {
        let network = program.network();
        if lanes != self.lanes || !self.is_of(network) || !self.seat.is(seat) {
            return false;
        }
        if !Arc::ptr_eq(program, &self.program) {
            self.convs = lower(program, &self.layout, lanes, seat);
            self.program = Arc::clone(program);
        }
        true
    }

    /// The gradient of `scale` × (sum of losses) over the examples `indices` is added to
    /// `gradient`, block by block; returns the sum of losses. The layers that keep values of their
    /// own must have been filled, also for gradients.
    pub(crate) fn accumulate(
        &mut self,
        material: &Material,
        values: &[f32],
        indices: &[u32],
        scale: f32,
        gradient: &mut [f32],
    ) -> f64 {
        let mut sum = 0.0;
        for indices in indices.chunks(1 << self.lanes) {
            self.load(material, indices);
            self.forward(values, &mut unwatched);
            let network = self.program.network();
            self.whole[GRADIENTS][network.scores] = true;
            let length = network.classes() << self.lanes;
            let scores = &self.values[network.scores][..length];
            let gradients = &mut self.gradients[network.scores][..length];
            let labels = &self.labels[..self.count];
            sum += loss::cross_entropy(self.lanes, scores, labels, scale, gradients);
            self.backward(values, gradient, &mut unwatched);
        }
        self.convs.iter_mut().flatten().for_each(|conv| conv.hand_over(gradient));
        sum
    }

    /// Of which of a block of examples the answer to `question` is yes, a bit each. The layers
    /// that keep values of their own must have been filled.
    pub(crate) fn find(
        &mut self,
        question: Question,
        material: &Material,
        values: &[f32],
        indices: &[u32],
    ) -> u16 {
        self.load(material, indices);
        let bits = |found: &dyn Fn(usize) -> bool| {
            (0..indices.len())
                .filter(|&image| found(image))
                .fold(0, |bits, image| bits | 1 << image)
        };
        match question {
            Question::IsWrong => {
                self.forward(values, &mut unwatched);
                let scores = self.class_scores();
                bits(&|image| loss::is_wrong(self.lanes, scores, image, self.labels[image]))
            }
            Question::Wakes { rectifier } => {
                let rests = match self.program.network().ops[rectifier] {
                    Op::ReluMaxPool { output, .. } => {
                        self.forward_to(rectifier + 1, values, &mut unwatched);
                        layers::pools_rest(self.lanes, &self.codes[output], &self.wild[output])
                    }
                    op => {
                        self.forward_to(rectifier, values, &mut unwatched);
                        layers::rests(&self.values[op.input()])
                    }
                };
                bits(&|image| !rests[image])
            }
        }
    }

    /// The scores of a block of examples, class by class for each.
    pub(crate) fn scores(
        &mut self,
        material: &Material,
        values: &[f32],
        indices: &[u32],
    ) -> Vec<Vec<f32>> {
        self.fill(values);
        self.load(material, indices);
        self.forward(values, &mut unwatched);
        let scores = self.class_scores().chunks(1 << self.lanes);
        (0..self.count).map(|image| scores.clone().map(|score| score[image]).collect()).collect()
    }

    /// Gives the survivors' values to the layers that keep their own.
    pub(crate) fn fill(&mut self, values: &[f32]) {
        self.convs.iter_mut().flatten().for_each(|conv| conv.fill(values));
    }

    /// The same for gradients.
    pub(crate) fn fill_for_gradients(&mut self, values: &[f32]) {
        self.convs.iter_mut().flatten().for_each(|conv| conv.fill_for_gradients(values));
    }

    fn class_scores(&self) -> &[f32] {
        let network = self.program.network();
        &self.values[network.scores][..network.classes() << self.lanes]
    }

    /// Normalises a block of images into the first value; empty places become zero.
    pub(crate) fn load(&mut self, material: &Material, indices: &[u32]) {
        let value = &self.program.network().values[0];
        let shape = value.shape;
        let images: [&[u8]; LANES] = std::array::from_fn(|image| match indices.get(image) {
            Some(&index) => material.examples.image(index as usize),
            None => &[],
        });
        self.count = indices.len();
        for (label, &index) in self.labels.iter_mut().zip(indices) {
            *label = material.examples.label(index as usize);
        }
        let block = 1 << self.lanes;
        for channel in 0..shape.channels {
            let table = material.normalization.channel(channel);
            for row in 0..shape.height {
                let target = &mut self.values[0][value.row(channel, row) << self.lanes..]
                    [..shape.width << self.lanes];
                let start = (channel * shape.height + row) * shape.width;
                for (place, image) in images[..block].iter().enumerate() {
                    let target = target[place..].iter_mut().step_by(block);
                    if image.is_empty() {
                        target.for_each(|target| *target = 0.0);
                        continue;
                    }
                    for (target, &byte) in target.zip(&image[start..start + shape.width]) {
                        *target = table[usize::from(byte)];
                    }
                }
            }
        }
    }

    pub(crate) fn forward(&mut self, values: &[f32], watch: &mut impl FnMut(usize, Pass)) {
        self.forward_to(self.convs.len(), values, watch);
        self.gather(VALUES, self.program.network().scores);
    }

    /// The operations before `end`.
    fn forward_to(&mut self, end: usize, values: &[f32], watch: &mut impl FnMut(usize, Pass)) {
        let network = Arc::clone(self.program.network());
        let lanes = self.lanes;
        for (index, op) in network.ops[..end].iter().enumerate() {
            let (input, output) = (op.input(), op.output());
            let reach = Reach::of(&network, op);
            if reach != Reach::Own {
                self.gather(VALUES, input);
            }
            if reach == Reach::Other && op.adds() {
                self.gather(VALUES, output);
            }
            self.whole[VALUES][output] = reach == Reach::Other || self.seat.is_alone();
            if let Some(window) = pooled_at_once(&network, index) {
                self.forward_pooled(index, window, values);
                watch(index, Pass::Forward);
                continue;
            }
            if index > 0 && pooled_at_once(&network, index - 1).is_some() {
                continue;
            }
            let (x, from) = self.cut(&self.layout.values[input], reach != Reach::Own);
            let (y, to) = self.cut(&self.layout.values[output], reach == Reach::Other);
            let mut numbers = take(&mut self.values[output]);
            let target = &mut numbers[to];
            if input == output {
                if !(index > 0 && rectified_at_once(&network, index - 1)) {
                    layers::relu_in_place(target);
                }
                self.values[output] = numbers;
                watch(index, Pass::Forward);
                continue;
            }
            let x = Source { value: &x, numbers: &self.values[input][from] };
            let y = Target { value: &y, numbers: target };
            match *op {
                Op::Conv { .. } => {
                    let conv = self.convs[index].as_ref().expect("a convolution was lowered");
                    let values = conv.filled.as_ref().map_or(values, |filled| &filled.values);
                    let rows = 0..conv.forward.grid.height;
                    let (x, y) = (x.numbers, y.numbers);
                    // Whoever asks for what is not rectified yet stops before that.
                    let at_once = index + 1 < end && rectified_at_once(&network, index);
                    let finish = if at_once { Finish::Rectify } else { Finish::Keep };
                    let ends = (Start::Bias, finish);
                    correlate(&conv.forward, lanes, values, x, y, ends, rows);
                }
                Op::Relu { .. } => layers::relu(lanes, x, y),
                Op::ReluMaxPool { window, .. } => {
                    let first = self.first_code(output);
                    let codes = &mut self.codes[output][first..];
                    let (wild, rows) = (&mut self.wild[output], 0..y.value.shape.height);
                    *wild = [0.0; LANES];
                    layers::relu_max_pool(window, lanes, x, y, codes, wild, rows);
                }
                Op::MaxPool { window, .. } => layers::max_pool(window, lanes, x, y),
                Op::AveragePool { window, .. } => layers::average_pool(window, lanes, x, y),
                Op::Split { split, .. } => layers::split(split, lanes, x, y),
                Op::Add { .. } => layers::add_channels(lanes, x, y, false),
            }
            self.values[output] = numbers;
            watch(index, Pass::Forward);
        }
    }

    /// A convolution and the pool behind it.
    fn forward_pooled(&mut self, index: usize, window: Window, values: &[f32]) {
        let network = Arc::clone(self.program.network());
        let lanes = self.lanes;
        let (input, between) = (network.ops[index].input(), network.ops[index].output());
        let output = network.ops[index + 1].output();
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
            codes: &mut self.codes[output][first..],
            wild: &mut self.wild[output],
        };
        correlate_and_pool(&conv.forward, lanes, values, &self.values[input], pool);
        (self.values[between], self.values[output]) = (strip, numbers);
        self.whole[VALUES][output] = self.seat.is_alone();
        self.whole[CODES][output] = self.seat.is_alone();
    }

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
            unreachable!("nothing flows on from here")
        };
        for rows in strips(conv.forward.grid.height, dx.shape.height) {
            let numbers = &mut strip[at.clone()];
            let dy = Source { value: &dy, numbers: &self.gradients[output][back.clone()] };
            let dx = Target { value: &dx, numbers };
            let pooled = rows.start / window.stride..rows.end / window.stride;
            let codes = &self.codes[output][first..];
            layers::relu_max_pool_gradient(window, lanes, codes, dy, dx, pooled);
            let (x, dy) = (&self.values[input], &strip[at.clone()]);
            products::weight_gradient(&conv.forward, places, lanes, x, dy, gradient, rows);
        }
        self.gradients[between] = strip;
    }

    /// Both gradients of a convolution that is pooled at once, at the winners of windows.
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
        self.gather(GRADIENTS, pooled);
        let (dy, at) = self.cut(&self.layout.gradients[pooled], false);
        let first = self.first_code(pooled);
        let conv = self.convs[index].as_mut().expect("a convolution was lowered");
        let Gradients::AtWinners(winning) = &mut conv.gradients else {
            unreachable!("it visits winners")
        };
        let Scratch { images, lists } = &mut self.scratch;
        let x = Source { value: &self.layout.values[input], numbers: &self.values[input] };
        winners::unroll(lanes, &winning.seen, x, images);
        let gradient = Source { value: &dy, numbers: &self.gradients[pooled][at] };
        let pool = Pool { window, gradient, codes: &self.codes[pooled][first..] };
        let (to, sums) = (&mut winning.gradient, &mut winning.sums);
        winners::filter_gradient(lanes, &winning.seen, pool, images, lists, to, sums);
        watch(index, Pass::WeightGradient);
        let value = &self.layout.gradients[pooled];
        let gradient = Source { value, numbers: &self.gradients[pooled] };
        let pool = Pool { window, gradient, codes: &self.codes[pooled] };
        winners::image_gradient(lanes, &winning.part, pool, &winning.weights, lists, images);
        let frame = winning.part;
        let (dx, to) = self.cut(&self.layout.gradients[input], false);
        let dx = Target { value: &dx, numbers: &mut self.gradients[input][to] };
        winners::roll_up(lanes, &frame, &self.scratch.images, dx, set);
        self.whole[GRADIENTS][input] = self.seat.is_alone();
        watch(index, Pass::InputGradient);
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
        for index in (0..network.ops.len()).rev() {
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
                    products::weight_gradient(forward, places, lanes, x, dy, gradient, rows);
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
                        correlate(backward, lanes, values, dy, dx, (start, finish), rows);
                    }
                }
                Op::Relu { .. } => layers::relu_gradient(lanes, y, dy, dx, set),
                Op::ReluMaxPool { window, .. } => {
                    let codes = &self.codes[output][self.first_code(output)..];
                    let rows = 0..dy.value.shape.height;
                    layers::relu_max_pool_gradient(window, lanes, codes, dy, dx, rows);
                }
                Op::MaxPool { window, .. } => {
                    if set {
                        dx.numbers.fill(0.0);
                    }
                    layers::max_pool_gradient(window, lanes, x, y, dy, dx);
                }
                Op::AveragePool { window, .. } => {
                    let covered = window.tiles(dx.value.shape);
                    if set && !covered {
                        dx.numbers.fill(0.0);
                    }
                    layers::average_pool_gradient(window, lanes, dy, dx, set && covered);
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
}

impl Workspace {
    /// The channels of a value that are computed here, or all of them, as a value of their
    /// own, and the numbers where that stands.
    fn cut(&self, value: &Value, all: bool) -> (Value, Range<usize>) {
        let channels = value.shape.channels;
        let channels = if all { 0..channels } else { self.seat.share(channels) };
        let (part, place) = value.part(&channels);
        (part, place.start << self.lanes..place.end << self.lanes)
    }

    /// Where the codes of the channels stand that are computed here.
    fn first_code(&self, output: usize) -> usize {
        let Shape { channels, height, width } = self.program.network().values[output].shape;
        (self.seat.share(channels).start * height * width) << self.lanes
    }

    /// Gets the channels of a value, or of its gradient with its codes, that other seats have
    /// computed.
    fn gather(&mut self, kind: usize, index: usize) {
        let network = self.program.network();
        let (value, numbers, codes) = match kind {
            VALUES => (&network.values[index], &mut self.values[index], &mut [][..]),
            _ => {
                let (numbers, codes) = (&mut self.gradients[index], &mut self.codes[index]);
                (&network.gradients[index], numbers, &mut codes[..])
            }
        };
        let mut whole = std::mem::replace(&mut self.whole[kind][index], true);
        if !codes.is_empty() {
            whole &= std::mem::replace(&mut self.whole[CODES][index], true);
        }
        if !whole {
            self.seat.exchange(value, self.lanes, numbers, codes);
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
        self.seat.is_alone() && layers::nobody(codes) && wild.iter().all(|&wild| wild == 0.0)
    }
}

/// All rows, in strips of `strip`.
fn strips(height: usize, strip: usize) -> impl Iterator<Item = Range<usize>> {
    (0..height).step_by(strip).map(move |start| start..(start + strip).min(height))
}

/// Which channels an operation reads for those that it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// The same ones.
    Own,
    /// All of them: a convolution.
    All,
    /// Others. It is a small operation: every seat does all of it.
    Other,
}

impl Reach {
    fn of(network: &Network, op: &Op) -> Self {
        let channels = |value: usize| network.values[value].shape.channels;
        match op {
            Op::Conv { .. } => Reach::All,
            _ if channels(op.input()) == channels(op.output()) => Reach::Own,
            _ => Reach::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layer, Padding, Pattern};

    #[test]
    fn a_workspace_needs_the_bytes_that_were_announced() {
        let conv = Layer::Conv {
            name: "conv".into(),
            filters: 3,
            size: 3,
            stride: 2,
            padding: Padding::Same,
            bias: true,
        };
        let pool = Layer::MaxPool { size: 2, stride: 2 };
        let dense = Layer::Dense { name: "dense".into(), units: 5, bias: true };
        let layers = [conv, Layer::Relu, pool, Layer::Flatten, dense];
        let network = Arc::new(Network::new(Shape::new(2, 8, 8), &layers).expect("it is valid"));
        let pattern = Arc::new(Pattern::dense(network.parameters()));
        let program = Arc::new(Program::new(Arc::clone(&network), pattern));
        for batch in [1, 3, 16, 400] {
            let workspace = Workspace::new(&program, lanes(batch), Seat::alone());
            let buffers = workspace.values.iter().chain(&workspace.gradients);
            let numbers: usize = buffers.map(|numbers| size_of_val(&**numbers)).sum();
            let codes: usize = workspace.codes.iter().map(Vec::len).sum();
            let Scratch { images, lists } = &workspace.scratch;
            let scratch = size_of_val(&**images) + lists.bytes();
            assert_eq!(numbers + codes + scratch, block_bytes(&network, batch));
        }
    }
}
