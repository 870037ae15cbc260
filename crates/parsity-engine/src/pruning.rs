//! Saliencies: how much each parameter matters before training.
//!
//! They are computed once per initialization and serve every sparsity: a pattern keeps
//! the most salient ones.

use crate::network::{Network, Role};
use crate::pattern::Pattern;
use crate::program::Program;
use crate::random::{Purpose, Stream};
use crate::survey::Survey;
use std::sync::Arc;

/// SNIP's loss is the mean over batches of this many examples.
const SNIP_BATCH: usize = 100;

/// How saliencies are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// |w · Σ g|: the change of the loss if the connection is cut (Lee 2019).
    Snip,
    /// |w|.
    Magnitude,
    /// Uniformly random.
    Random,
}

/// Which parameters may be pruned, and by what measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pruning {
    /// The measure.
    pub method: Method,
    /// Whether biases compete; if not, they have the highest saliency.
    pub biases: bool,
    /// What random pruning draws from.
    pub seed: u64,
}

/// Saliencies of all parameters at the weights `parameters`; SNIP sums the gradient over
/// all examples of the survey. `None` if that was stopped.
pub fn saliencies(
    pruning: Pruning,
    network: &Arc<Network>,
    parameters: &[f32],
    survey: &mut Survey<'_>,
) -> Option<Vec<f32>> {
    let mut saliencies: Vec<f32> = match pruning.method {
        Method::Snip => {
            let gradient = summed_gradient(network, parameters, survey)?;
            let products = parameters.iter().zip(gradient).map(|(&w, g)| (f64::from(w) * g).abs());
            products.map(|product| product as f32).collect()
        }
        Method::Magnitude => parameters.iter().map(|w| w.abs()).collect(),
        Method::Random => {
            let mut stream = Stream::new(pruning.seed, Purpose::Pruning, 0);
            parameters.iter().map(|_| stream.uniform() as f32).collect()
        }
    };
    if !pruning.biases {
        for tensor in network.tensors().iter().filter(|tensor| tensor.role == Role::Bias) {
            saliencies[tensor.range.clone()].fill(f32::INFINITY);
        }
    }
    Some(saliencies)
}

/// Σ over SNIP's batches of the gradient of the batch's mean loss.
fn summed_gradient(
    network: &Arc<Network>,
    parameters: &[f32],
    survey: &mut Survey<'_>,
) -> Option<Vec<f64>> {
    let pattern = Arc::new(Pattern::dense(network.parameters()));
    let program = Arc::new(Program::new(Arc::clone(network), pattern));
    let mut values = parameters.to_vec();
    let mut sum = vec![0.0; values.len()];
    let split = survey.split;
    let (whole, rest) = split.split_at(split.len() / SNIP_BATCH * SNIP_BATCH);
    for (examples, batch) in [(whole, SNIP_BATCH), (rest, rest.len())] {
        let scale = 1.0 / batch as f32;
        survey.add_gradient(&program, &mut values, examples, scale, &mut sum)?;
    }
    Some(sum)
}
