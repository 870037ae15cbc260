//! The room in which one block of images is worked on.
//!
//! A block runs through the whole network, forward and backward, before the next one
//! starts, so that its activations stay in the cache. One workspace serves one thread;
//! it depends on the network only, not on a pattern or a trial.

use crate::examples::{Examples, Normalization};
use crate::kernels::{LANES, Lanes, conv, layers, loss};
use crate::network::{Network, Op};
use crate::program::{Flow, Program};
use std::mem::take;

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

/// Activations and their gradients of one block of images.
#[derive(Debug)]
pub(crate) struct Workspace {
    values: Vec<Vec<Lanes>>,
    gradients: Vec<Vec<Lanes>>,
    labels: [u8; LANES],
    count: usize,
}

impl Workspace {
    pub(crate) fn new(network: &Network) -> Self {
        let room = || network.values.iter().map(|value| vec![Lanes::ZERO; value.len()]).collect();
        Workspace { values: room(), gradients: room(), labels: [0; LANES], count: 0 }
    }

    /// Whether it was made for `network`.
    pub(crate) fn fits(&self, network: &Network) -> bool {
        let sizes = network.values.iter().map(|value| value.len());
        self.values.iter().map(Vec::len).eq(sizes)
    }

    /// The gradient of `scale` × (sum of losses) over the examples `indices` is added to
    /// `gradient`, block by block; returns the sum of losses.
    pub(crate) fn accumulate(
        &mut self,
        program: &Program,
        material: &Material,
        values: &[f32],
        indices: &[u32],
        scale: f32,
        gradient: &mut [f32],
    ) -> f64 {
        let mut sum = 0.0;
        for indices in indices.chunks(LANES) {
            self.load(program.network(), material, indices);
            self.forward(program, values);
            let scores = program.network().scores;
            let labels = &self.labels[..self.count];
            sum += loss::cross_entropy(
                &self.values[scores],
                labels,
                scale,
                &mut self.gradients[scores],
            );
            self.backward(program, values, gradient);
        }
        sum
    }

    /// How many of the examples `indices` are classified wrongly.
    pub(crate) fn count_errors(
        &mut self,
        program: &Program,
        material: &Material,
        values: &[f32],
        indices: &[u32],
    ) -> usize {
        let mut errors = 0;
        for indices in indices.chunks(LANES) {
            self.load(program.network(), material, indices);
            self.forward(program, values);
            let scores = &self.values[program.network().scores];
            let wrong = |lane: &usize| loss::is_wrong(scores, *lane, self.labels[*lane]);
            errors += (0..self.count).filter(wrong).count();
        }
        errors
    }

    /// The scores of up to eight examples, class by class for each.
    pub(crate) fn scores(
        &mut self,
        program: &Program,
        material: &Material,
        values: &[f32],
        indices: &[u32],
    ) -> Vec<Vec<f32>> {
        self.load(program.network(), material, indices);
        self.forward(program, values);
        let scores = &self.values[program.network().scores];
        (0..self.count).map(|lane| scores.iter().map(|score| score.0[lane]).collect()).collect()
    }

    /// Normalises up to eight images into the first value; empty lanes become zero.
    fn load(&mut self, network: &Network, material: &Material, indices: &[u32]) {
        let value = &network.values[0];
        let shape = value.shape;
        let images: [&[u8]; LANES] = std::array::from_fn(|lane| match indices.get(lane) {
            Some(&index) => material.examples.image(index as usize),
            None => &[],
        });
        self.count = indices.len();
        for (label, &index) in self.labels.iter_mut().zip(indices) {
            *label = material.examples.label(index as usize);
        }
        for channel in 0..shape.channels {
            let table = material.normalization.channel(channel);
            for row in 0..shape.height {
                let target = &mut self.values[0][value.row(channel, row)..][..shape.width];
                let start = (channel * shape.height + row) * shape.width;
                for (lane, image) in images.iter().enumerate() {
                    if image.is_empty() {
                        target.iter_mut().for_each(|target| target.0[lane] = 0.0);
                        continue;
                    }
                    for (target, &byte) in target.iter_mut().zip(&image[start..start + shape.width])
                    {
                        target.0[lane] = table[usize::from(byte)];
                    }
                }
            }
        }
    }

    fn forward(&mut self, program: &Program, values: &[f32]) {
        let shapes = &program.network().values;
        for (op, conv, _) in program.steps() {
            match *op {
                Op::Relu { input, output } if input == output => {
                    layers::relu_in_place(&mut self.values[output]);
                    continue;
                }
                _ => {}
            }
            let output = op.output();
            let mut y = take(&mut self.values[output]);
            let x = &self.values[op.input()];
            let (from, to) = (&shapes[op.input()], &shapes[output]);
            match *op {
                Op::Conv { .. } => {
                    let conv = conv.expect("a convolution was lowered");
                    conv::forward(conv, values, x, &mut y);
                }
                Op::Relu { .. } => layers::relu(from, to, x, &mut y),
                Op::MaxPool { window, .. } => layers::max_pool(window, from, to, x, &mut y),
                Op::AveragePool { window, .. } => layers::average_pool(window, from, to, x, &mut y),
                Op::Add { .. } => layers::add_channels(from, to, x, &mut y),
            }
            self.values[output] = y;
        }
    }

    fn backward(&mut self, program: &Program, values: &[f32], gradient: &mut [f32]) {
        let shapes = &program.network().values;
        for (op, conv, flow) in program.steps().rev() {
            let (input, output) = (op.input(), op.output());
            if input == output {
                layers::relu_gradient_in_place(&self.values[output], &mut self.gradients[output]);
                continue;
            }
            if let Some(conv) = conv {
                let (x, dy) = (&self.values[input], &self.gradients[output]);
                conv::weight_gradient(conv, x, dy, gradient);
            }
            if flow == Flow::Stop {
                continue;
            }
            let mut dx = take(&mut self.gradients[input]);
            if flow == Flow::Set {
                dx.fill(Lanes::ZERO);
            }
            let (x, y, dy) = (&self.values[input], &self.values[output], &self.gradients[output]);
            let (from, to) = (&shapes[input], &shapes[output]);
            match *op {
                Op::Conv { .. } => {
                    let conv = conv.expect("a convolution was lowered");
                    conv::input_gradient(conv, values, dy, &mut dx);
                }
                Op::Relu { .. } => layers::relu_gradient(from, to, y, dy, &mut dx),
                Op::MaxPool { window, .. } => {
                    layers::max_pool_gradient(window, from, to, x, y, dy, &mut dx);
                }
                Op::AveragePool { window, .. } => {
                    layers::average_pool_gradient(window, from, to, dy, &mut dx);
                }
                Op::Add { .. } => layers::add_channels(to, from, dy, &mut dx),
            }
            self.gradients[input] = dx;
        }
    }
}
