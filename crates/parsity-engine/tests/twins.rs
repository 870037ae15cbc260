//! Every layer against its plain twin: scores and gradients over shapes, strides,
//! paddings, densities and batch sizes around the block of sixteen.

#![allow(clippy::unwrap_used)] // Tests may.

mod support;

use parsity_engine::{
    Layer, Material, Network, Normalization, Optimizer, Padding, Pattern, Schedule, Shape, Team,
    initialize,
    random::{Purpose, Stream},
};
use proptest::prelude::*;
use std::sync::Arc;
use support::plain::{self, Map};
use support::{conv, dense};

const RATE: Schedule = Schedule::Constant { rate: 0.1 };

/// Image `index` as the engine sees it, for the twin.
fn image(material: &Material, normalization: &Normalization, index: usize) -> (Map, usize) {
    let examples = material.examples();
    let shape = examples.shape();
    let plane = shape.height * shape.width;
    let pixels = examples.image(index).iter().enumerate();
    let data = pixels
        .map(|(place, &byte)| f64::from(normalization.channel(place / plane)[usize::from(byte)]))
        .collect();
    (Map { shape, data }, usize::from(examples.label(index)))
}

/// Compares scores, loss and gradient of `layers` with the twin's, keeping `survivors`
/// of the parameters (all if `None`).
fn compare(input: Shape, layers: &[Layer], images: usize, density: Option<f64>) {
    compare_without(input, layers, images, density, |_| false);
}

/// The same, where no parameter survives of which `dead` is true.
fn compare_without(
    input: Shape,
    layers: &[Layer],
    images: usize,
    density: Option<f64>,
    dead: impl Fn(usize) -> bool,
) {
    compare_changed(input, layers, images, density, dead, |_, weight| weight);
}

/// The same, with other weights: `change` makes them of the index and the usual weight.
fn compare_changed(
    input: Shape,
    layers: &[Layer],
    images: usize,
    density: Option<f64>,
    dead: impl Fn(usize) -> bool,
    change: impl Fn(usize, f32) -> f32,
) {
    let network = Arc::new(Network::new(input, layers).unwrap());
    let classes = network.classes() as u32;
    let material = support::noise(input, images, classes);
    let normalization = Normalization::of(material.examples());
    let mut stream = Stream::new(9, Purpose::Pruning, 1);
    // Biases that are not zero, so that they matter.
    let parameters = initialize(&network, 5).into_iter().enumerate();
    let parameters: Vec<f32> = parameters
        .map(|(index, weight)| change(index, weight + 0.1 * stream.normal() as f32))
        .collect();
    let saliencies: Vec<f32> = parameters.iter().map(|_| stream.uniform() as f32).collect();
    let alive: Vec<f32> =
        (0..saliencies.len()).map(|i| if dead(i) { -1.0 } else { saliencies[i] }).collect();
    let count = (density.unwrap_or(1.0) * parameters.len() as f64).round() as usize;
    let most = alive.iter().filter(|&&saliency| saliency >= 0.0).count();
    let pattern = Pattern::of_highest(&alive, count.min(most));
    let masked: Vec<f64> =
        pattern.scatter(&pattern.gather(&parameters)).iter().map(|&w| f64::from(w)).collect();

    let mut session = support::session(
        &network,
        pattern.clone(),
        &material,
        &parameters,
        Optimizer::Sgd,
        RATE,
        images,
    );
    let examples: Vec<u32> = (0..images as u32).collect();
    let twins: Vec<(Map, usize)> =
        (0..images).map(|index| image(&material, &normalization, index)).collect();
    for (found, (image, _)) in session.scores(&examples).iter().zip(&twins) {
        let expected = plain::scores(layers, &masked, image.clone());
        for (found, expected) in found.iter().zip(&expected) {
            assert!(
                (f64::from(*found) - expected).abs() < 1e-4 * (1.0 + expected.abs()),
                "{layers:?}"
            );
        }
    }
    let (loss, gradient) = session.gradient(&examples, &mut Team::new(1));
    assert!((loss - plain::loss(layers, &masked, &twins)).abs() < 1e-4, "{layers:?}");
    // Threads that share a block, each with some of the channels, come to the same bits.
    let bits = |gradient: &[f32]| -> Vec<u32> { gradient.iter().map(|it| it.to_bits()).collect() };
    for threads in [2, 5] {
        let (other, together) = session.gradient(&examples, &mut Team::new(threads));
        assert_eq!(other.to_bits(), loss.to_bits(), "{threads} threads, {layers:?}");
        assert_eq!(bits(&together), bits(&gradient), "{threads} threads, {layers:?}");
    }
    let slopes = plain::slopes(layers, &masked, &twins);
    let size = slopes.iter().flatten().fold(0.0f64, |size, x| size.max(x.abs()));
    let slack = 1e-3 * size + 1e-6;
    for (&index, found) in pattern.survivors().iter().zip(&gradient) {
        let [low, high] = slopes[index as usize];
        assert!(
            (low - slack..high + slack).contains(&f64::from(*found)),
            "parameter {index} of {layers:?}: {found}, expected {low} to {high}"
        );
    }
}

#[test]
fn a_dense_layer_agrees_at_every_density() {
    for density in [0.0, 0.02, 0.5, 1.0] {
        compare(Shape::new(2, 3, 1), &[Layer::Flatten, dense(3)], 9, Some(density));
    }
}

#[test]
fn one_survivor_is_enough() {
    let layers = [conv("conv", 2, 3, 1, Padding::Same), Layer::Relu, Layer::Flatten, dense(2)];
    compare(Shape::new(1, 4, 4), &layers, 3, Some(1.0 / 85.0));
}

#[test]
fn batches_around_the_block_agree() {
    for images in [1, 2, 7, 8, 9, 15, 16, 17] {
        let layers = [conv("conv", 2, 3, 1, Padding::Valid), Layer::Relu, Layer::Flatten, dense(3)];
        compare(Shape::new(1, 5, 4), &layers, images, None);
    }
}

#[test]
fn a_stride_behind_a_rectifier_agrees() {
    let layers = [
        conv("first", 3, 3, 1, Padding::Same),
        Layer::Relu,
        conv("second", 5, 3, 1, Padding::Same),
        Layer::Relu,
        conv("third", 4, 3, 2, Padding::Same),
        Layer::Flatten,
        dense(3),
    ];
    for (images, density) in [(3, 0.4), (16, 1.0), (33, 0.4)] {
        compare(Shape::new(2, 7, 6), &layers, images, Some(density));
    }
}

#[test]
fn rows_of_which_a_weight_sees_only_a_part_agree() {
    // 12 columns from 8, and 10 from 8: kernels of their own.
    for (side, size) in [(16, 5), (12, 3)] {
        let layers = [
            conv("a", 3, size, 1, Padding::Valid),
            Layer::Relu,
            conv("b", 5, size, 1, Padding::Valid),
            Layer::Relu,
            Layer::MaxPool { size: 2, stride: 2 },
            Layer::Flatten,
            dense(3),
        ];
        for (images, density) in [(16, 1.0), (16, 0.6), (9, 0.3), (4, 0.6), (2, 1.0), (1, 0.6)] {
            compare(Shape::new(1, side, side), &layers, images, Some(density));
        }
    }
}

#[test]
fn a_dead_filter_and_a_dead_layer_agree() {
    let layers = [
        conv("a", 6, 3, 1, Padding::Same),
        Layer::Relu,
        conv("b", 4, 3, 2, Padding::Same),
        Layer::Relu,
        Layer::Flatten,
        dense(3),
    ];
    let shape = Shape::new(2, 6, 6);
    // Filter 1 of the first convolution with its bias; then the whole second convolution.
    compare_without(shape, &layers, 17, None, |i| (18..36).contains(&i) || i == 109);
    compare_without(shape, &layers, 5, Some(0.7), |i| (114..114 + 216 + 4).contains(&i));
}

/// Two small convolutions, each with a pool.
fn pooled_twice() -> [Layer; 8] {
    let pool = || Layer::MaxPool { size: 2, stride: 2 };
    [
        conv("a", 2, 3, 1, Padding::Same),
        Layer::Relu,
        pool(),
        conv("b", 2, 3, 1, Padding::Same),
        Layer::Relu,
        pool(),
        Layer::Flatten,
        dense(3),
    ]
}

#[test]
fn blocks_without_a_gradient_beside_others_agree() {
    let layers = pooled_twice();
    let shape = Shape::new(1, 8, 8);
    let (b, bias_of_a, bias_of_b) = (20..58, 18..20, 56..58);
    // Of the second convolution nothing survives, so no unit is ever at work.
    compare_without(shape, &layers, 19, None, |i| b.contains(&i));
    // Thresholds at which some images excite a unit and others do not: blocks of one image
    // are dead or alive.
    for threshold in [0.4, 0.8, 1.2, 1.6, 2.0, 2.5, 3.0] {
        for biases in [&bias_of_a, &bias_of_b] {
            let lower = |i, weight| if biases.contains(&i) { -threshold } else { weight };
            for images in [1, 17, 33] {
                compare_changed(shape, &layers, images, None, |_| false, lower);
            }
        }
    }
}

#[test]
fn a_block_without_a_gradient_leaves_nothing_to_the_next() {
    let layers = pooled_twice();
    let shape = Shape::new(1, 8, 8);
    let network = Arc::new(Network::new(shape, &layers).unwrap());
    let material = support::noise(shape, 40, 3);
    let (convs, bias_of_b) = (0..58, 56..58);
    let mut mixed = 0;
    for threshold in [0.5, 0.8, 1.1, 1.4, 1.7, 2.0] {
        let parameters = initialize(&network, 5).into_iter().enumerate();
        let parameters: Vec<f32> = parameters
            .map(|(index, weight)| if bias_of_b.contains(&index) { -threshold } else { weight })
            .collect();
        let pattern = Pattern::dense(parameters.len());
        let mut session =
            support::session(&network, pattern, &material, &parameters, Optimizer::Sgd, RATE, 1);
        // Each image by a team of its own, and all by one team, one after the other.
        let alone: Vec<(f64, Vec<f32>)> =
            (0..40).map(|image| session.gradient(&[image], &mut Team::new(1))).collect();
        let mut team = Team::new(1);
        for (image, alone) in alone.iter().enumerate() {
            assert!(session.gradient(&[image as u32], &mut team) == *alone, "image {image}");
        }
        let is_dead = |gradient: &[f32]| gradient[convs.clone()].iter().all(|&g| g == 0.0);
        let dead = alone.iter().filter(|(_, gradient)| is_dead(gradient)).count();
        mixed += usize::from(dead > 0 && dead < 40);
    }
    assert!(mixed >= 2, "dead and living images beside each other in {mixed} networks only");
}

#[test]
fn layers_without_bias_agree() {
    let layers = [
        Layer::Conv {
            name: "a".into(),
            filters: 3,
            size: 2,
            stride: 1,
            padding: Padding::Valid,
            bias: false,
        },
        Layer::Flatten,
        Layer::Dense { name: "b".into(), units: 3, bias: false },
    ];
    compare(Shape::new(2, 3, 3), &layers, 5, Some(0.6));
}

#[test]
fn both_shortcuts_agree() {
    let block = |name: &str, filters, stride| Layer::Residual {
        name: name.into(),
        filters,
        size: 3,
        stride,
    };
    let head = conv("conv", 2, 3, 1, Padding::Same);
    let tail = [Layer::Relu, Layer::GlobalAveragePool, dense(3)];
    let pool = Layer::MaxPool { size: 2, stride: 2 };
    let head = || vec![head.clone()];
    for (head, blocks) in [
        (head(), vec![block("a", 2, 1)]),
        (head(), vec![block("a", 4, 2)]),
        (head(), vec![block("a", 2, 1), block("b", 5, 2)]),
        // A value that is added to twice, one that is pooled then, and the images themselves.
        (head(), vec![block("a", 2, 1), block("b", 2, 1)]),
        (head(), vec![block("a", 2, 1), Layer::Relu, pool]),
        (vec![], vec![block("a", 1, 1), block("b", 1, 1)]),
    ] {
        let layers: Vec<Layer> = [head, blocks, tail.to_vec()].concat();
        // Blocks of 8 and 16 go into a halving block in one go, smaller ones step by step.
        for images in [3, 8, 16] {
            compare(Shape::new(1, 6, 4), &layers, images, None);
            compare(Shape::new(1, 6, 4), &layers, images, Some(0.5));
        }
    }
}

/// Blocks of few images are cut into slabs: with a halo, with strides and shortcuts, and, where
/// slabs overlap, also along columns. Long lists of taps pass by two at a time, and one is left over.
#[test]
fn images_in_slabs_agree() {
    let pool = || Layer::MaxPool { size: 2, stride: 2 };
    let keeping = vec![
        conv("conv", 9, 3, 1, Padding::Same),
        Layer::Residual { name: "a".into(), filters: 9, size: 3, stride: 1 },
        Layer::Residual { name: "b".into(), filters: 10, size: 3, stride: 2 },
        Layer::Relu,
        Layer::GlobalAveragePool,
        dense(3),
    ];
    let shrinking = vec![
        conv("a", 6, 3, 1, Padding::Valid),
        Layer::Relu,
        pool(),
        conv("b", 7, 3, 1, Padding::Valid),
        Layer::Relu,
        pool(),
        Layer::Flatten,
        dense(3),
    ];
    for (layers, shape) in [(keeping, Shape::new(1, 16, 4)), (shrinking, Shape::new(1, 22, 14))] {
        for (images, density) in [(1, 0.5), (2, 1.0), (2, 0.15), (4, 0.3), (7, 0.5), (8, 0.15)] {
            compare(shape, &layers, images, Some(density));
        }
    }
}

/// The gradient of a pruned layer is added up tile by tile: of rows wider than a tile, of more rows
/// than one has, and of filters with stretches of taps, with few taps and with none.
#[test]
fn a_pruned_layer_of_several_tiles_agrees() {
    let layers = [
        conv("a", 4, 3, 1, Padding::Same),
        Layer::Relu,
        conv("b", 3, 3, 1, Padding::Same),
        Layer::Relu,
        Layer::GlobalAveragePool,
        dense(3),
    ];
    for (shape, images) in [(Shape::new(1, 3, 37), 16), (Shape::new(2, 11, 6), 16)] {
        for density in [0.04, 0.3, 0.6] {
            compare(shape, &layers, images, Some(density));
        }
    }
    compare(Shape::new(1, 6, 42), &layers, 8, Some(0.4));
}

/// Nothing flows on from a first layer: whole patches are seen at winners, of one vector, of two
/// and of more, by windows that fill lists or do not, and that are larger than a vector.
#[test]
fn a_first_layer_that_is_pooled_at_once_agrees() {
    let cases =
        [(1, 3, 2, 8, 8), (2, 3, 2, 6, 10), (1, 5, 2, 8, 10), (3, 3, 2, 2, 22), (1, 4, 5, 10, 5)];
    for (channels, size, window, height, width) in cases {
        let pool = Layer::MaxPool { size: window, stride: window };
        let layers =
            [conv("a", 5, size, 1, Padding::Same), Layer::Relu, pool, Layer::Flatten, dense(3)];
        for (images, density) in [(16, 0.3), (16, 0.8), (2, 1.0), (4, 0.1), (8, 0.5), (1, 0.8)] {
            compare(Shape::new(channels, height, width), &layers, images, Some(density));
        }
    }
}

#[test]
fn pooling_before_the_first_parameters_agrees() {
    let layers = [Layer::AveragePool { size: 2, stride: 2 }, Layer::Relu, Layer::Flatten, dense(2)];
    compare(Shape::new(2, 4, 4), &layers, 4, None);
}

/// A residual block, whole or nearly so: its first convolution is rectified, the gradient by the
/// second one's input masked, and that by the block's input added to what the shortcut has brought.
#[test]
fn a_block_of_many_channels_agrees() {
    let layers = [
        conv("conv", 9, 1, 1, Padding::Valid),
        Layer::Residual { name: "a".into(), filters: 9, size: 3, stride: 1 },
        Layer::Relu,
        Layer::GlobalAveragePool,
        dense(3),
    ];
    for (images, density) in [(8, 1.0), (8, 0.8), (16, 1.0), (16, 0.8), (17, 0.6), (3, 1.0)] {
        compare(Shape::new(1, 4, 6), &layers, images, Some(density));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    /// Kernels of three by three between many channels, all of them or most: squares of two by two,
    /// where sides are even.
    #[test]
    fn any_whole_convolution_of_many_channels_agrees(
        (channels, filters) in (8usize..21, 8usize..21),
        (height, width) in (3usize..8, 3usize..12),
        images in prop_oneof![Just(8usize), Just(16), 5usize..20],
        (same, before, behind) in any::<(bool, bool, bool)>(),
        density in prop_oneof![Just(1.0), Just(0.8), 0.4..1.0f64],
    ) {
        let padding = if same { Padding::Same } else { Padding::Valid };
        let mut layers = vec![conv("a", channels, 1, 1, Padding::Valid)];
        layers.extend(before.then_some(Layer::Relu));
        layers.push(conv("b", filters, 3, 1, padding));
        layers.extend(behind.then_some(Layer::Relu));
        layers.extend([Layer::GlobalAveragePool, dense(2)]);
        compare(Shape::new(1, height, width), &layers, images, Some(density));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_convolution_and_pool_agree(
        (channels, height, width) in (1usize..4, 4usize..12, 4usize..20),
        (filters, size, stride) in (1usize..10, 1usize..5, 1usize..4),
        images in prop_oneof![Just(2usize), Just(16), 1usize..20],
        same: bool,
        (pool, pool_size, pool_stride) in (0u8..3, 1usize..4, 1usize..4),
        density in prop_oneof![Just(1.0), Just(0.5), Just(0.1), 0.0..1.0f64],
    ) {
        let padding = if same { Padding::Same } else { Padding::Valid };
        let mut layers = vec![conv("a", filters, size, stride, padding), Layer::Relu];
        match pool {
            1 => layers.push(Layer::MaxPool { size: pool_size, stride: pool_stride }),
            2 => layers.push(Layer::AveragePool { size: pool_size, stride: pool_stride }),
            _ => {}
        }
        layers.extend([conv("b", 5, 2, 1, Padding::Same), Layer::Flatten, dense(2)]);
        // A pool that does not fit is another test's business.
        if Network::new(Shape::new(channels, height, width), &layers).is_ok() {
            compare(Shape::new(channels, height, width), &layers, images, Some(density));
        }
    }

    /// Windows tile what is pooled, so its gradients are those of their winners.
    #[test]
    fn any_convolution_that_is_pooled_at_once_agrees(
        (channels, filters, size, stride) in (4usize..20, 1usize..6, 1usize..6, 1usize..3),
        (rows, columns, window) in (1usize..3, 1usize..4, 1usize..4),
        images in prop_oneof![Just(2usize), Just(16), 1usize..20],
        (same, again) in any::<(bool, bool)>(),
        density in prop_oneof![Just(1.0), Just(0.5), Just(0.2), 0.0..1.0f64],
    ) {
        let side = |windows: usize| match same {
            true => windows * window * stride,
            false => (windows * window - 1) * stride + size,
        };
        let padding = if same { Padding::Same } else { Padding::Valid };
        let mut layers = vec![
            conv("a", channels, 1, 1, Padding::Valid),
            conv("b", filters, size, stride, padding),
            Layer::Relu,
            Layer::MaxPool { size: window, stride: window },
        ];
        if again {
            layers.push(conv("c", 3, 2, 1, Padding::Same));
        }
        layers.extend([Layer::Flatten, dense(2)]);
        compare(Shape::new(2, side(rows), side(columns)), &layers, images, Some(density));
    }
}
