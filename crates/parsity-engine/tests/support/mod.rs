//! The two networks of the paper, as layers, for the tests of this folder.

#![allow(dead_code, missing_docs, unreachable_pub, clippy::unwrap_used)]

pub mod plain;

use parsity_engine::{
    Batches, Examples, Layer, Material, Network, Normalization, Optimizer, Order, Padding, Pattern,
    Program, Schedule, Session, Shape,
};
use std::sync::Arc;

pub fn conv(name: &str, filters: usize, size: usize, stride: usize, padding: Padding) -> Layer {
    Layer::Conv { name: name.into(), filters, size, stride, padding, bias: true }
}

pub fn dense(units: usize) -> Layer {
    Layer::Dense { name: "dense".into(), units, bias: true }
}

pub fn simple_cnn() -> Arc<Network> {
    let layers = [
        conv("conv1", 32, 5, 1, Padding::Valid),
        Layer::Relu,
        Layer::MaxPool { size: 2, stride: 2 },
        conv("conv2", 64, 5, 1, Padding::Valid),
        Layer::Relu,
        Layer::MaxPool { size: 2, stride: 2 },
        Layer::Flatten,
        dense(10),
    ];
    Arc::new(Network::new(Shape::new(1, 28, 28), &layers).unwrap())
}

pub fn resnet_8() -> Arc<Network> {
    let block = |name: &str, filters, stride| Layer::Residual {
        name: name.into(),
        filters,
        size: 3,
        stride,
    };
    let layers = [
        conv("conv", 16, 3, 1, Padding::Same),
        block("block1", 16, 1),
        block("block2", 32, 2),
        block("block3", 64, 2),
        Layer::Relu,
        Layer::GlobalAveragePool,
        dense(10),
    ];
    Arc::new(Network::new(Shape::new(3, 32, 32), &layers).unwrap())
}

/// Small images, but as many channels as make whole kernels go in squares.
pub fn many_channels() -> Arc<Network> {
    let layers = [
        conv("conv", 10, 3, 1, Padding::Same),
        Layer::Residual { name: "block".into(), filters: 10, size: 3, stride: 1 },
        conv("valid", 9, 3, 1, Padding::Valid),
        Layer::Relu,
        Layer::GlobalAveragePool,
        dense(10),
    ];
    Arc::new(Network::new(Shape::new(2, 8, 6), &layers).unwrap())
}

/// `count` images of noise, with labels below `classes`.
pub fn noise(shape: Shape, count: usize, classes: u32) -> Arc<Material> {
    let mut stream =
        parsity_engine::random::Stream::new(1, parsity_engine::random::Purpose::Glyphs, 0);
    let images = (0..count * shape.len()).map(|_| stream.below(256) as u8).collect();
    let labels = (0..count).map(|_| stream.below(classes) as u8).collect();
    let examples = Examples::new(shape, images, labels).unwrap();
    let normalization = Normalization::of(&examples);
    Arc::new(Material::new(examples, normalization))
}

/// A session over all of `material` in the order of the file.
pub fn session(
    network: &Arc<Network>,
    pattern: Pattern,
    material: &Arc<Material>,
    parameters: &[f32],
    optimizer: Optimizer,
    schedule: Schedule,
    batch_size: usize,
) -> Session {
    let program = Arc::new(Program::new(Arc::clone(network), Arc::new(pattern)));
    let split = (0..material.examples().len() as u32).collect();
    let batches = Batches::new(split, batch_size, Order::Sequential);
    Session::new(program, Arc::clone(material), parameters, optimizer, schedule, batches)
}
