//! The room in which one block of images is worked on.
//!
//! A block runs through the whole network, forward and backward, before the next one
//! starts, so that its activations stay in the cache. One workspace serves one thread.
//! It knows the program it met last: where every survivor reads is worked out once, and
//! again only when another program comes.

mod backward;
mod forward;
mod reach;
mod strips;

use crate::conv::Conv;
use crate::examples::Material;
use crate::kernels::intake::take_in;
use crate::kernels::layers::Source;
use crate::kernels::moves::ask_for;
use crate::kernels::pruned_gradient::lanes_of;
use crate::kernels::slabs::Takes;
use crate::kernels::winners::Lists;
use crate::kernels::{LANES, layers, loss, pools, winograd, winograd_gradient};
use crate::layout::{Layout, halving, may_go_in_squares, may_visit_winners};
use crate::lowering::lower;
use crate::network::{Network, Op, Value};
use crate::numbers::Numbers;
use crate::program::Program;
use crate::seats::Seat;
use crate::shape::Shape;
use crate::slabs::Cut;
use std::sync::Arc;

/// How many images a block of `network` has in a batch of `batch`, as a power of two: a function
/// of these alone, so that the order of every sum is, too.
pub(crate) fn images(network: &Network, batch: usize) -> u32 {
    batch.clamp(1, network.most_images()).next_power_of_two().ilog2()
}

/// Bytes that a thread needs for one block of `network` in a batch of `batch`: activations,
/// their gradients, the codes of pooling windows, signs, unrolled images, lists of winners, the lanes of a
/// layer's taps, and the terms of squares. Its lists come on top, at most 80 bytes per survivor and
/// some per filter, two copies of each layer that is computed with zeros for what was pruned, and the
/// terms of kernels.
pub fn block_bytes(network: &Network, batch: usize) -> usize {
    let network = Cut::new(network, images(network, batch)).network;
    let numbers = |values: &[Value]| -> usize {
        values.iter().map(|value| value.numbers().next_multiple_of(16)).sum()
    };
    // Several threads at one block need most.
    let layout = Layout::new(&network, false);
    let scratch = Scratch::new(&network);
    let numbers = numbers(&layout.values) + numbers(&layout.gradients);
    (numbers + scratch.images.len() + scratch.sums.len() + scratch.terms.len()) * size_of::<f32>()
        + scratch.lists.bytes()
        + pooled(&network).map(|(_, codes)| codes).sum::<usize>()
        + signed(&network).map(|(_, signs)| signs * size_of::<u16>()).sum::<usize>()
}

/// Room that is used for one convolution after the other.
#[derive(Debug)]
struct Scratch {
    /// Unrolled images.
    images: Numbers,
    lists: Lists,
    /// Lanes of each tap.
    sums: Numbers,
    /// Terms of squares.
    terms: Numbers,
}

impl Scratch {
    fn new(network: &Network) -> Self {
        let (mut numbers, mut terms) = (0, 0);
        let mut lists = Lists::default();
        let weights = network.tensors().iter().map(|tensor| tensor.range.len()).max();
        let sums = Numbers::new(lanes_of(weights.unwrap_or(0)) * LANES);
        for (index, op) in network.ops.iter().enumerate() {
            let lanes = network.values[op.output()].lanes;
            if may_go_in_squares(network, index) {
                let output = network.values[op.output()].shape;
                let (channels, filters) =
                    (network.values[op.input()].shape.channels, output.channels);
                let sums = winograd::room_for(channels.max(filters));
                let products = winograd_gradient::room_for(channels, filters, output, lanes);
                terms = terms.max(sums).max(products);
            }
            let Some((window, frame)) = may_visit_winners(network, index) else { continue };
            numbers = numbers.max(frame.image() << lanes);
            let pooled = network.values[network.ops[index + 1].output()].shape;
            lists.reserve(1 << lanes, pooled, window.height * window.width);
        }
        Scratch { images: Numbers::new(numbers), lists, sums, terms: Numbers::new(terms) }
    }
}

/// The values that keep codes of pooling windows, and how many.
fn pooled(network: &Network) -> impl Iterator<Item = (usize, usize)> {
    network.ops.iter().filter_map(|op| match *op {
        Op::ReluMaxPool { output, .. } => {
            let Value { shape, lanes, .. } = network.values[output];
            Some((output, shape.len() << lanes))
        }
        _ => None,
    })
}

/// The values whose signs are kept, and how many: phases of what was halved.
fn signed(network: &Network) -> impl Iterator<Item = (usize, usize)> {
    let phases = (0..network.ops.len()).filter_map(|index| Some(halving(network, index)?.phases));
    phases.map(|phases| (phases, network.values[phases].len()))
}

/// What the deal `op` takes, and what its gradient takes back.
fn takes(op: &Op, images: u32, layout: &Layout) -> Option<[Takes; 2]> {
    let Op::Deal { input, output, deal } = *op else { return None };
    let Layout { values, gradients } = layout;
    Some([
        deal.takes(images, &values[input], &values[output]),
        deal.takes_back(images, &gradients[input], &gradients[output]),
    ])
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
    /// The program's network, for blocks of this size.
    cut: Arc<Cut>,
    /// The channels that are computed here.
    seat: Seat,
    layout: Layout,
    /// Per operation; `None` where it is no convolution.
    convs: Vec<Option<Conv>>,
    /// Per operation: what a deal takes, and what its gradient takes back.
    deals: Vec<Option<[Takes; 2]>>,
    values: Vec<Numbers>,
    gradients: Vec<Numbers>,
    /// Of which values all channels are here, of which gradients, of which codes.
    whole: [Vec<bool>; 3],
    /// The values by which the loss has no gradient in this block, so that none is written.
    flat: Vec<bool>,
    /// Which number of each pooling window was the highest, per value.
    codes: Vec<Vec<u8>>,
    /// Where phases of what was halved are positive, per value.
    signs: Vec<Vec<u16>>,
    /// NaN for the images of which that pool has seen a number that is not finite; else zero.
    wild: Vec<[f32; LANES]>,
    scratch: Scratch,
    /// Whether pools remember which number was the highest: nobody asks for it who only looks at
    /// scores.
    remembers: bool,
    labels: [u8; LANES],
    count: usize,
}

impl Workspace {
    /// Room for blocks of `1 << images` images of `program`, at `seat`.
    pub(crate) fn new(program: &Arc<Program>, images: u32, seat: Seat) -> Self {
        let cut = Arc::new(Cut::new(program.network(), images));
        let network = &cut.network;
        let layout = Layout::new(network, seat.is_alone());
        let room = |values: &[Value]| values.iter().map(|it| Numbers::new(it.numbers())).collect();
        let mut codes = vec![vec![]; network.values.len()];
        for (value, count) in pooled(network) {
            codes[value] = vec![0; count];
        }
        let mut signs = vec![vec![]; network.values.len()];
        for (value, count) in signed(network) {
            signs[value] = vec![0; count];
        }
        Workspace {
            program: Arc::clone(program),
            convs: lower(program, &cut, &layout, &seat),
            deals: network.ops.iter().map(|op| takes(op, images, &layout)).collect(),
            whole: [(); 3].map(|()| vec![true; network.values.len()]),
            seat,
            values: room(&layout.values),
            gradients: room(&layout.gradients),
            layout,
            flat: vec![false; network.values.len()],
            codes,
            signs,
            wild: vec![[0.0; LANES]; network.values.len()],
            scratch: Scratch::new(network),
            remembers: true,
            labels: [0; LANES],
            count: 0,
            cut,
        }
    }

    /// Whether it was made for `network`.
    pub(crate) fn is_of(&self, network: &Arc<Network>) -> bool {
        Arc::ptr_eq(network, self.program.network())
    }

    /// Gets ready for `program`, if it was made for the same network, as many images and the
    /// same seat.
    pub(crate) fn meet(&mut self, program: &Arc<Program>, images: u32, seat: &Seat) -> bool {
        let network = program.network();
        if images != self.cut.images || !self.is_of(network) || !self.seat.is(seat) {
            return false;
        }
        if !Arc::ptr_eq(program, &self.program) {
            self.convs = lower(program, &self.cut, &self.layout, seat);
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
        let images = self.cut.images;
        for indices in indices.chunks(1 << images) {
            self.load(material, indices);
            self.forward(values, &mut unwatched);
            let network = &self.cut.network;
            self.whole[GRADIENTS][network.scores] = true;
            let length = network.classes() << images;
            let scores = &self.values[network.scores][..length];
            let gradients = &mut self.gradients[network.scores][..length];
            let labels = &self.labels[..self.count];
            sum += loss::cross_entropy(images, scores, labels, scale, gradients);
            self.backward(values, gradient, &mut unwatched);
        }
        self.convs.iter_mut().flatten().for_each(|conv| conv.hand_over(gradient));
        sum
    }

    /// Of which of at most `LANES` examples the answer to `question` is yes, a bit each. The layers
    /// that keep values of their own must have been filled.
    pub(crate) fn find(
        &mut self,
        question: Question,
        material: &Material,
        values: &[f32],
        indices: &[u32],
    ) -> u16 {
        let images = self.cut.images;
        let blocks = indices.chunks(1 << images).enumerate();
        blocks.fold(0, |bits, (block, indices)| {
            bits | self.find_in_block(question, material, values, indices) << (block << images)
        })
    }

    fn find_in_block(
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
                self.forward_only(values);
                let (images, scores) = (self.cut.images, self.class_scores());
                bits(&|image| loss::is_wrong(images, scores, image, self.labels[image]))
            }
            Question::Wakes { rectifier } => {
                let rectifier = self.cut.place(rectifier);
                let op = self.cut.network.ops[rectifier];
                let rests = match op {
                    Op::ReluMaxPool { output, .. } => {
                        self.forward_to(rectifier + 1, values, &mut unwatched);
                        let lanes = self.cut.network.values[output].lanes;
                        pools::pools_rest(lanes, &self.codes[output], &self.wild[output])
                    }
                    op => {
                        self.forward_to(rectifier, values, &mut unwatched);
                        let value = &self.layout.values[op.input()];
                        layers::rests(Source { value, numbers: &self.values[op.input()] })
                    }
                };
                // An image rests if all its slabs do.
                let lanes = 1 << self.cut.network.values[op.input()].lanes;
                let slabs = |image: usize| (image..lanes).step_by(1 << self.cut.images);
                bits(&|image| slabs(image).any(|lane| !rests[lane]))
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
        self.forward_only(values);
        let scores = self.class_scores().chunks(1 << self.cut.images);
        (0..self.count).map(|image| scores.clone().map(|score| score[image]).collect()).collect()
    }

    /// Forward, where nobody will go backward.
    fn forward_only(&mut self, values: &[f32]) {
        self.remembers = false;
        self.forward(values, &mut unwatched);
        self.remembers = true;
    }

    /// Gives the survivors' values to the layers that keep their own.
    pub(crate) fn fill(&mut self, values: &[f32]) {
        ask_for(values);
        self.convs.iter_mut().flatten().for_each(|conv| conv.fill(values));
    }

    /// The same for gradients.
    pub(crate) fn fill_for_gradients(&mut self, values: &[f32]) {
        self.convs.iter_mut().flatten().for_each(|conv| conv.fill_for_gradients(values));
    }

    fn class_scores(&self) -> &[f32] {
        let network = &self.cut.network;
        &self.values[network.scores][..network.classes() << self.cut.images]
    }

    /// Normalises a block of images into the first value; empty places become zero.
    pub(crate) fn load(&mut self, material: &Material, indices: &[u32]) {
        let value = &self.cut.network.values[0];
        let Shape { channels, height, width } = value.shape;
        let (images, apart) = (1 << self.cut.images, self.cut.apart);
        let Shape { height: rows, width: row_length, .. } = self.program.network().input();
        self.count = indices.len();
        for (label, &index) in self.labels.iter_mut().zip(indices) {
            *label = material.examples.label(index as usize);
        }
        // Each slab begins elsewhere in its image.
        let slabs: [&[u8]; LANES] = std::array::from_fn(|lane| {
            let image = indices.get(lane % images);
            let image = image.map_or(&[][..], |&it| material.examples.image(it as usize));
            let (down, across) = self.cut.slabs.place(lane / images);
            let begin = down * apart.0 * row_length + across * apart.1;
            image.get(begin..).unwrap_or_default()
        });
        let lanes = 1 << value.lanes;
        for channel in 0..channels {
            let table = material.normalization.channel(channel);
            for row in 0..height {
                let target = &mut self.values[0][value.row(channel, row) << value.lanes..]
                    [..width << value.lanes];
                let start = (channel * rows + row) * row_length;
                if lanes == LANES && self.count == images {
                    take_in(table, &slabs, start, target);
                    continue;
                }
                for (lane, slab) in slabs[..lanes].iter().enumerate() {
                    let target = target[lane..].iter_mut().step_by(lanes);
                    if slab.is_empty() {
                        target.for_each(|target| *target = 0.0);
                        continue;
                    }
                    for (target, &byte) in target.zip(&slab[start..start + width]) {
                        *target = table[usize::from(byte)];
                    }
                }
            }
        }
    }

    /// The network as it runs here.
    pub(crate) fn network(&self) -> &Network {
        &self.cut.network
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
            let workspace = Workspace::new(&program, images(&network, batch), Seat::alone());
            let buffers = workspace.values.iter().chain(&workspace.gradients);
            let numbers: usize = buffers.map(|numbers| size_of_val(&**numbers)).sum();
            let codes: usize = workspace.codes.iter().map(Vec::len).sum();
            let signs: usize = workspace.signs.iter().map(|signs| size_of_val(&**signs)).sum();
            let Scratch { images, lists, sums, terms } = &workspace.scratch;
            let scratch: usize = [images, sums, terms].map(|it| size_of_val(&**it)).iter().sum();
            let scratch = scratch + lists.bytes();
            assert_eq!(numbers + codes + signs + scratch, block_bytes(&network, batch));
        }
    }
}
