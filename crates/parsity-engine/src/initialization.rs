//! Weights before training.

use crate::network::{Network, Role};
use crate::random::{Purpose, Stream};

/// The deviation of a standard normal cut at two standard deviations.
const CUT_DEVIATION: f64 = 0.879_625_661_034_239_8;

/// All parameters of `network`: weights by variance scaling (fan-in, scale 1, normal cut
/// at two standard deviations), biases zero. Tensor `i` has stream `i` of the seed.
pub fn initialize(network: &Network, seed: u64) -> Vec<f32> {
    let mut parameters = vec![0.0; network.parameters()];
    for (index, tensor) in network.tensors().iter().enumerate() {
        if let Role::Weight { fan_in } = tensor.role {
            let mut stream = Stream::new(seed, Purpose::Initialization, index as u64);
            let deviation = 1.0 / libm::sqrt(fan_in as f64) / CUT_DEVIATION;
            for weight in &mut parameters[tensor.range.clone()] {
                *weight = (stream.truncated_normal() * deviation) as f32;
            }
        }
    }
    parameters
}
