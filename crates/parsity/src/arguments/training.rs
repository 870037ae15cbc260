//! Arguments of the commands that train networks themselves, outside of a study.

use super::StoreFile;
use super::values::{
    batch_size, method, optimizer, positive, rate, seconds, share, sparsity, steps, validation,
};
use clap::{Args, ValueEnum};
use parsity_study::{BatchSize, Optimizer, PruningMethod, Sparsity};
use std::path::PathBuf;

/// The order in which examples are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrderArgument {
    /// Shuffled anew every epoch
    Shuffled,
    /// As in the file
    Sequential,
}

/// A network and its data.
#[derive(Debug, Args)]
pub(crate) struct Setup {
    /// A data set's name, a folder or a .npz file
    #[arg(long, value_name = "D")]
    pub(crate) dataset: String,
    /// simple-cnn, resnet-8, mini-cnn or a model file
    #[arg(long, value_name = "M")]
    pub(crate) model: String,
    /// Share of the parameters to remove before training
    #[arg(long, value_name = "S", default_value = "0", value_parser = sparsity)]
    pub(crate) sparsity: Sparsity,
    /// How saliencies are computed: snip, magnitude or random
    #[arg(long, value_name = "METHOD", default_value = "snip", value_parser = method)]
    pub(crate) method: PruningMethod,
    /// Never prune biases
    #[arg(long)]
    pub(crate) keep_biases: bool,
    /// Seed of the initial weights
    #[arg(long, value_name = "I", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Initial weights from a safetensors file, instead of the seed's
    #[arg(long, value_name = "FILE")]
    pub(crate) init: Option<PathBuf>,
    /// Share of the training examples held out for validation, or `none`
    #[arg(long, value_name = "SHARE", default_value = "0.1", value_parser = validation)]
    pub(crate) validation: parsity_lab::Validation,
    /// Write the network as safetensors, with masks if it is pruned
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Threads [default: all cores]; their number never changes a result
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) threads: Option<usize>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Train {
    #[command(flatten)]
    pub(crate) setup: Setup,
    /// sgd, momentum or nesterov
    #[arg(long, value_name = "O", value_parser = optimizer)]
    pub(crate) optimizer: Optimizer,
    /// The (initial) learning rate
    #[arg(long, value_name = "X", value_parser = rate)]
    pub(crate) learning_rate: f64,
    /// The momentum of momentum and nesterov
    #[arg(long, value_name = "X", value_parser = share)]
    pub(crate) momentum: Option<f64>,
    /// Let the learning rate fall in a line over this many steps
    #[arg(long, value_name = "N", value_parser = steps, requires = "end_factor")]
    pub(crate) decay_steps: Option<u64>,
    /// The end learning rate as a share of the initial one
    #[arg(long, value_name = "X", value_parser = share, requires = "decay_steps")]
    pub(crate) end_factor: Option<f64>,
    /// Examples per step
    #[arg(long, value_name = "B", value_parser = batch_size)]
    pub(crate) batch_size: BatchSize,
    /// Training steps
    #[arg(long, value_name = "N", value_parser = steps)]
    pub(crate) steps: u64,
    /// Steps between goal checks
    #[arg(long, value_name = "K", default_value_t = 100, value_parser = steps)]
    pub(crate) check_every: u64,
    /// Stop at the first goal check with at most this validation error
    #[arg(long, value_name = "E", value_parser = share)]
    pub(crate) goal_error: Option<f64>,
    /// The order of the training examples
    #[arg(long, value_enum, default_value_t = OrderArgument::Shuffled)]
    pub(crate) order: OrderArgument,
    /// Seed of the order
    #[arg(long, value_name = "I", default_value_t = 0)]
    pub(crate) data_seed: u64,
    /// Write step, loss, error and seconds of each goal check as JSON lines
    #[arg(long, value_name = "FILE.jsonl")]
    pub(crate) log: Option<PathBuf>,
    /// Save the state of the training here from time to time, and go on from there if the file
    /// exists; the number of threads and processes may be another one
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// How often the state is saved
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    pub(crate) save_every: f64,
    /// How several processes add their gradients: to the same bits whatever their number, or
    /// as fast as MPI does it
    #[arg(long, value_enum, default_value_t = ReductionArgument::Exact)]
    pub(crate) reduction: ReductionArgument,
}

/// How several processes add their gradients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReductionArgument {
    /// Along a fixed tree
    Exact,
    /// By MPI's own sum
    Fast,
}

#[derive(Debug, Args)]
pub(crate) struct Prune {
    #[command(flatten)]
    pub(crate) setup: Setup,
}

#[derive(Debug, Args)]
pub(crate) struct Smoothness {
    /// A data set's name, a folder or a .npz file
    #[arg(long, value_name = "D")]
    pub(crate) dataset: String,
    /// simple-cnn, resnet-8, mini-cnn or a model file
    #[arg(long, value_name = "M")]
    pub(crate) model: String,
    /// Sparsities (shares that SNIP removes), a training each
    #[arg(long, value_name = "S,S,…", value_delimiter = ',', value_parser = sparsity,
          default_value = "0,0.5,0.7,0.9")]
    pub(crate) sparsities: Vec<Sparsity>,
    /// sgd, momentum or nesterov
    #[arg(long, value_name = "O", default_value = "sgd", value_parser = optimizer)]
    pub(crate) optimizer: Optimizer,
    /// The learning rate [default: 0.1 for sgd, 0.01 for the others]
    #[arg(long, value_name = "X", value_parser = rate)]
    pub(crate) learning_rate: Option<f64>,
    /// The momentum of momentum and nesterov [default: 0.9]
    #[arg(long, value_name = "X", value_parser = share)]
    pub(crate) momentum: Option<f64>,
    /// Examples per step [default: 128]
    #[arg(long, value_name = "B", value_parser = batch_size)]
    pub(crate) batch_size: Option<BatchSize>,
    /// Training steps [default: 10000]
    #[arg(long, value_name = "N", value_parser = steps)]
    pub(crate) steps: Option<u64>,
    /// Steps between two measurements; the first is at step 0 [default: 1000]
    #[arg(long, value_name = "K", value_parser = steps)]
    pub(crate) every: Option<u64>,
    /// Seed of the initial weights
    #[arg(long, value_name = "I", default_value_t = 0)]
    pub(crate) seed: u32,
    #[command(flatten)]
    pub(crate) store: StoreFile,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) threads: Option<usize>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// A network: simple-cnn, resnet-8, mini-cnn or a model file; may be given several
    /// times [default: simple-cnn and resnet-8]
    #[arg(long = "model", value_name = "M")]
    pub(crate) models: Vec<String>,
    /// Batch sizes [default: 2, 4, 8, 32, 128, 512, 2048; with --quick 2, 8, 128]
    #[arg(long, value_name = "B,B,…", value_delimiter = ',', value_parser = batch_size)]
    pub(crate) batch_sizes: Option<Vec<BatchSize>>,
    /// Sparsities (shares that SNIP removes)
    #[arg(long, value_name = "S,S,…", value_delimiter = ',', value_parser = sparsity,
          default_value = "0,0.5,0.7,0.9")]
    pub(crate) sparsities: Vec<Sparsity>,
    /// Numbers of threads [default: one, and all cores]
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', value_parser = positive)]
    pub(crate) threads: Option<Vec<usize>>,
    /// How often each case is timed [default: 9; with --quick 3]
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) rounds: Option<usize>,
    /// What is measured
    #[arg(
        long,
        value_name = "K,K,…",
        value_delimiter = ',',
        value_enum,
        default_value = "train,evaluate,kernels,memory"
    )]
    pub(crate) kinds: Vec<Kind>,
    /// Use nothing better than this, even if the machine has it
    #[arg(long, value_name = "I", value_enum)]
    pub(crate) instruction_set: Option<Instructions>,
    /// Fewer batch sizes and rounds: seconds instead of minutes
    #[arg(long)]
    pub(crate) quick: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What a kernel is compiled for.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Instructions {
    /// Sixteen numbers at once
    Avx512,
    /// Eight numbers at once
    Avx2,
    /// What every machine has
    Portable,
}

/// What a benchmark measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Whole training steps
    Train,
    /// The same of the dense network, with every product at every position, as in sparse ones
    TrainEverywhere,
    /// Forward passes over 2048 images
    Evaluate,
    /// Every kernel alone, on one thread
    Kernels,
    /// Bytes that a trial needs
    Memory,
}
