//! Where the time of a training step goes: the seconds of every kernel.

use crate::examples::Material;
use crate::kernels::LANES;
use crate::layout::halving;
use crate::network::Op;
use crate::program::Program;
use crate::seats::Seat;
use crate::workspace::{Pass, Workspace, images};
use std::sync::Arc;

/// How long one kernel takes for one image.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelTime {
    /// The layer it belongs to: its weight tensor's name without `.weight`, or what it does.
    pub layer: String,
    /// What it computes.
    pub pass: Pass,
    /// Index of its weight tensor, if it is a convolution.
    pub weight: Option<usize>,
    /// Seconds per image: the median of all rounds.
    pub seconds: f64,
}

/// Times every kernel of `program` on the first block of images of `material`, `rounds` times.
/// `clock` tells the time in seconds: the engine has none.
pub fn profile(
    program: &Arc<Program>,
    material: &Material,
    values: &[f32],
    rounds: usize,
    clock: &dyn Fn() -> f64,
) -> Vec<KernelTime> {
    let images = images(program.network(), LANES);
    let mut workspace = Workspace::new(program, images, Seat::alone());
    let images = 1 << images;
    let mut gradient = vec![0.0; values.len()];
    let examples: Vec<u32> = (0..material.examples().len().min(images) as u32).collect();
    workspace.fill(values);
    workspace.fill_for_gradients(values);
    workspace.load(material, &examples);
    let mut times: Vec<(usize, Pass, Vec<f64>)> = vec![];
    for round in 0..rounds.max(1) {
        let mut last = clock();
        // What is done strip by strip is seen several times.
        let mut watch = |index: usize, pass: Pass| {
            let seconds = clock() - last;
            let place = times.iter().position(|time| (time.0, time.1) == (index, pass));
            let place = place.unwrap_or_else(|| {
                times.push((index, pass, vec![]));
                times.len() - 1
            });
            let rounds = &mut times[place].2;
            rounds.resize(round + 1, 0.0);
            rounds[round] += seconds;
            last = clock();
        };
        workspace.forward(values, &mut watch);
        workspace.backward(values, &mut gradient, &mut watch);
    }
    let network = workspace.network();
    let describe = |(index, pass, mut seconds): (usize, Pass, Vec<f64>)| {
        seconds.sort_unstable_by(f64::total_cmp);
        let weight = match network.ops[index] {
            Op::Conv { shape, .. } => Some(shape.weight),
            _ => None,
        };
        let layer = match network.ops[index] {
            Op::Conv { shape, .. } => network.tensors()[shape.weight].name.replace(".weight", ""),
            Op::Relu { .. } => "relu".into(),
            Op::MaxPool { .. } => "max-pool".into(),
            Op::ReluMaxPool { .. } => "relu and max-pool".into(),
            Op::AveragePool { .. } => "average-pool".into(),
            Op::Split { .. } if halving(network, index).is_some() => "halving".into(),
            Op::Split { .. } => "split by stride".into(),
            Op::Add { .. } => "shortcut".into(),
            Op::Deal { deal, .. } if deal.joins() => "join of slabs".into(),
            Op::Deal { .. } => "deal to slabs".into(),
        };
        KernelTime { layer, pass, weight, seconds: seconds[seconds.len() / 2] / images as f64 }
    };
    times.into_iter().map(describe).collect()
}
