//! A model file: a network as a list of layers.
//!
//! The language of networks, not their arithmetic: shapes and parameter counts belong to
//! the engine. The built-in networks are files of the same language.

mod reading;

use crate::words::words;
use std::fmt;

/// The names of the built-in networks.
pub const BUILTIN_NAMES: [&str; 3] = ["simple-cnn", "resnet-8", "mini-cnn"];

/// The model file of a built-in network.
pub fn builtin(name: &str) -> Option<&'static str> {
    match name {
        "simple-cnn" => Some(include_str!("../models/simple-cnn.toml")),
        "resnet-8" => Some(include_str!("../models/resnet-8.toml")),
        "mini-cnn" => Some(include_str!("../models/mini-cnn.toml")),
        _ => None,
    }
}

words! {
    /// What a convolution does at the border of its input.
    #[derive(Default)]
    pub enum Padding {
        /// Windows lie inside the input.
        #[default]
        Valid = "valid",
        /// Zeros around the input, so that the output has ceil(side / stride) sides; the
        /// smaller half goes before.
        Same = "same",
    }
}

words! {
    /// The kinds of layers.
    pub enum Kind {
        /// A convolution.
        Conv = "conv",
        /// A fully connected layer.
        Dense = "dense",
        /// max(x, 0).
        Relu = "relu",
        /// The maximum of each window.
        MaxPool = "max-pool",
        /// The mean of each window.
        AveragePool = "average-pool",
        /// The mean of each channel.
        GlobalAveragePool = "global-average-pool",
        /// All numbers as one vector.
        Flatten = "flatten",
        /// A pre-activation residual block.
        Residual = "residual",
    }
}

/// A network: its input and its layers in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFile {
    /// Its name, for tables and figures.
    pub name: String,
    /// Channels, height and width of its input.
    pub input: [usize; 3],
    /// Its layers; those with parameters have unique names.
    pub layers: Vec<Layer>,
}

/// One layer, with all its defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layer {
    /// A convolution with square windows.
    Conv {
        /// The name of its parameters.
        name: String,
        /// Output channels.
        filters: usize,
        /// The side of its windows.
        size: usize,
        /// The distance of windows.
        stride: usize,
        /// What happens at the border.
        padding: Padding,
        /// Whether each filter has a bias.
        bias: bool,
    },
    /// A fully connected layer.
    Dense {
        /// The name of its parameters.
        name: String,
        /// Outputs.
        units: usize,
        /// Whether each unit has a bias.
        bias: bool,
    },
    /// max(x, 0).
    Relu,
    /// The maximum of each window; no padding.
    MaxPool {
        /// The side of its windows.
        size: usize,
        /// The distance of windows.
        stride: usize,
    },
    /// The mean of each window; no padding.
    AveragePool {
        /// The side of its windows.
        size: usize,
        /// The distance of windows.
        stride: usize,
    },
    /// The mean of each channel.
    GlobalAveragePool,
    /// All numbers as one vector.
    Flatten,
    /// A pre-activation residual block: relu, conv (with the stride), relu, conv, plus the
    /// shortcut. Its convolutions pad `same` and have biases. The shortcut is the input
    /// itself or, where the width doubles, the average-pooled input and zero channels.
    Residual {
        /// The name of its parameters.
        name: String,
        /// Output channels.
        filters: usize,
        /// The side of both convolutions' windows.
        size: usize,
        /// The stride of the first convolution.
        stride: usize,
    },
}

impl Layer {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Layer::Conv { .. } => Kind::Conv,
            Layer::Dense { .. } => Kind::Dense,
            Layer::Relu => Kind::Relu,
            Layer::MaxPool { .. } => Kind::MaxPool,
            Layer::AveragePool { .. } => Kind::AveragePool,
            Layer::GlobalAveragePool => Kind::GlobalAveragePool,
            Layer::Flatten => Kind::Flatten,
            Layer::Residual { .. } => Kind::Residual,
        }
    }

    /// Its name, if it has parameters.
    pub fn name(&self) -> Option<&str> {
        match self {
            Layer::Conv { name, .. } | Layer::Dense { name, .. } | Layer::Residual { name, .. } => {
                Some(name)
            }
            _ => None,
        }
    }
}

/// Its line of a canonical text: all that changes what it computes, so not its name.
impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind();
        match self {
            Layer::Conv { filters, size, stride, padding, bias, .. } => write!(
                f,
                "{kind} filters={filters} size={size} stride={stride} padding={padding} bias={bias}"
            ),
            Layer::Dense { units, bias, .. } => write!(f, "{kind} units={units} bias={bias}"),
            Layer::MaxPool { size, stride } | Layer::AveragePool { size, stride } => {
                write!(f, "{kind} size={size} stride={stride}")
            }
            Layer::Residual { filters, size, stride, .. } => {
                write!(f, "{kind} filters={filters} size={size} stride={stride}")
            }
            Layer::Relu | Layer::GlobalAveragePool | Layer::Flatten => kind.fmt(f),
        }
    }
}
