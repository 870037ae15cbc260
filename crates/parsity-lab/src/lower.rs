//! The one place where a question meets the instrument: words of the study become
//! values of the engine.

use crate::error::LabError;
use parsity_engine as engine;
use parsity_study::{
    Layer, Metaparameters, ModelFile, Optimizer, Padding, Pruning, PruningMethod, Schedule, Steps,
};

/// The network of a model file. Errors name the model and the layer.
pub fn lower_model(model: &ModelFile) -> Result<engine::Network, LabError> {
    let [channels, height, width] = model.input;
    let layers: Vec<engine::Layer> = model.layers.iter().map(lower_layer).collect();
    engine::Network::new(engine::Shape::new(channels, height, width), &layers)
        .map_err(|source| LabError::Network { model: model.name.clone(), source })
}

fn lower_layer(layer: &Layer) -> engine::Layer {
    match layer.clone() {
        Layer::Conv { name, filters, size, stride, padding, bias } => {
            let padding = match padding {
                Padding::Valid => engine::Padding::Valid,
                Padding::Same => engine::Padding::Same,
            };
            engine::Layer::Conv { name, filters, size, stride, padding, bias }
        }
        Layer::Dense { name, units, bias } => engine::Layer::Dense { name, units, bias },
        Layer::Relu => engine::Layer::Relu,
        Layer::MaxPool { size, stride } => engine::Layer::MaxPool { size, stride },
        Layer::AveragePool { size, stride } => engine::Layer::AveragePool { size, stride },
        Layer::GlobalAveragePool => engine::Layer::GlobalAveragePool,
        Layer::Flatten => engine::Layer::Flatten,
        Layer::Residual { name, filters, size, stride } => {
            engine::Layer::Residual { name, filters, size, stride }
        }
    }
}

/// The optimizer with its momentum. What a workload does not use counts as zero.
pub fn lower_optimizer(optimizer: Optimizer, point: &Metaparameters) -> engine::Optimizer {
    let momentum = point.momentum.unwrap_or(0.0) as f32;
    match optimizer {
        Optimizer::Sgd => engine::Optimizer::Sgd,
        Optimizer::Momentum => engine::Optimizer::Momentum { momentum },
        Optimizer::Nesterov => engine::Optimizer::Nesterov { momentum },
    }
}

/// The learning rate over time.
pub fn lower_schedule(schedule: Schedule, point: &Metaparameters) -> engine::Schedule {
    let rate = point.learning_rate;
    match schedule {
        Schedule::Constant => engine::Schedule::Constant { rate },
        Schedule::LinearDecay => engine::Schedule::LinearDecay {
            rate,
            steps: point.decay_steps.unwrap_or(Steps(1)).0,
            end_factor: point.end_factor.unwrap_or(1.0),
        },
    }
}

/// The pruning of the weights that `seed` made.
pub fn lower_pruning(pruning: Pruning, seed: u64) -> engine::Pruning {
    let method = match pruning.method {
        PruningMethod::Snip => engine::Method::Snip,
        PruningMethod::Magnitude => engine::Method::Magnitude,
        PruningMethod::Random => engine::Method::Random,
    };
    engine::Pruning { method, biases: pruning.biases, seed }
}
