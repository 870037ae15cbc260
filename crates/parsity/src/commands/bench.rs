//! `parsity bench`: how fast this machine is, and how near that is to its peak.

use super::{print, print_json, table};
use crate::arguments::{Bench, Instructions, Kind};
use crate::failure::End;
use crate::interrupt;
use crate::words::{count, grouped, kilobytes, things};
use indicatif::{ProgressBar, ProgressStyle};
use parsity_engine::{InstructionSet, LANES, Network, Pattern, peak};
use parsity_lab::{
    Case, KernelSpeed, Specimen, Speed, Work, find_model, lower_model, measure_peak,
    useful_flops_per_image,
};
use parsity_study::{BatchSize, Sparsity};
use serde_json::{Value, json};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The networks of the published study.
const MODELS: [&str; 2] = ["simple-cnn", "resnet-8"];
const BATCH_SIZES: [u32; 7] = [2, 4, 8, 32, 128, 512, 2048];
const QUICK_BATCH_SIZES: [u32; 3] = [2, 8, 128];
const ROUNDS: usize = 9;
const QUICK_ROUNDS: usize = 3;
/// Blocks that each kernel works on in a round.
const KERNEL_ROUNDS: usize = 20;
/// Images of an evaluation.
const EVALUATED: BatchSize = BatchSize(2048);

pub(crate) fn bench(arguments: &Bench) -> anyhow::Result<End> {
    let models = match &arguments.models[..] {
        [] => MODELS.map(str::to_owned).to_vec(),
        some => some.to_vec(),
    };
    // Wrong requests are found before minutes are spent on right ones.
    let networks = models.iter().map(|name| {
        let model = find_model(name, Path::new("."))?;
        Ok((model.name.clone(), Arc::new(lower_model(&model)?)))
    });
    let networks: Vec<(String, Arc<Network>)> = networks.collect::<anyhow::Result<_>>()?;
    match arguments.instruction_set {
        Some(Instructions::Avx512) | None => {}
        Some(Instructions::Avx2) => InstructionSet::Avx2.limit(),
        Some(Instructions::Portable) => InstructionSet::Portable.limit(),
    }
    let peak = measure_peak();
    let (cores, instructions) = (super::threads(None), peak::instruction_set());
    if !arguments.json {
        let (cores, gflops) = (things(cores as u64, "core"), peak / 1e9);
        print(format!("{cores}, peak of each with {instructions}: {gflops:.1} GFLOP/s"))?;
    }
    let mut rows = Vec::new();
    for (name, network) in &networks {
        let Some(found) = measure(arguments, name, network)? else { return Ok(End::Interrupted) };
        match arguments.json {
            true => rows.extend(found.to_json(name, peak)),
            false => print(found.to_text(name, network, peak))?,
        }
    }
    if arguments.json {
        print_json(&json!({
            "peak_gflops": peak / 1e9,
            "machine": { "threads": cores, "instruction_set": instructions },
            "rows": rows,
        }))?;
    }
    Ok(End::Done)
}

/// What was measured of one network.
struct Found {
    speeds: Vec<Speed>,
    kernels: Vec<KernelSpeed>,
    bytes: Vec<(Sparsity, usize)>,
}

/// `None` if it was interrupted.
fn measure(arguments: &Bench, name: &str, network: &Arc<Network>) -> anyhow::Result<Option<Found>> {
    let cases = cases(arguments);
    let rounds = arguments.rounds.unwrap_or(match arguments.quick {
        true => QUICK_ROUNDS,
        false => ROUNDS,
    });
    let bar = progress(name, cases.len(), rounds)?;
    let stop = interrupt::flag();
    let go_on = || !stop.load(Ordering::Relaxed);
    let watch = |done: usize, all: usize| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
        go_on()
    };
    let specimen = Specimen::new(network, &arguments.sparsities, super::threads(None), &go_on);
    let found = specimen.and_then(|specimen| {
        let speeds = specimen.time(&cases, rounds, &watch)?;
        let wanted = |kind| arguments.kinds.contains(&kind);
        let rounds = if wanted(Kind::Kernels) { KERNEL_ROUNDS * rounds } else { 0 };
        let kernels = if rounds > 0 { specimen.kernels(rounds) } else { vec![] };
        let bytes = specimen.trial_bytes().filter(|_| wanted(Kind::Memory)).collect();
        Some(Found { speeds, kernels, bytes })
    });
    bar.finish_and_clear();
    Ok(found)
}

/// All cases of a network; those that are compared most stand side by side.
fn cases(arguments: &Bench) -> Vec<Case> {
    let cores = super::threads(None);
    let default = if cores > 1 { vec![1, cores] } else { vec![1] };
    let all_threads = arguments.threads.as_ref().unwrap_or(&default);
    let sizes: &[u32] = if arguments.quick { &QUICK_BATCH_SIZES } else { &BATCH_SIZES };
    let sizes: Vec<BatchSize> = match &arguments.batch_sizes {
        Some(sizes) => sizes.clone(),
        None => sizes.iter().copied().map(BatchSize).collect(),
    };
    let train = sizes.into_iter().flat_map(|size| {
        let everywhere = (Kind::TrainEverywhere, Work::TrainEverywhere, size);
        [everywhere, (Kind::Train, Work::Train, size)]
    });
    let evaluate = (Kind::Evaluate, Work::Evaluate, EVALUATED);
    let wanted = |kind: &Kind| arguments.kinds.contains(kind);
    let mut cases = Vec::new();
    for batch in train.chain([evaluate]).filter(|(kind, ..)| wanted(kind)) {
        let (kind, work, batch_size) = batch;
        for &threads in all_threads {
            let sparsities = arguments.sparsities.iter().copied();
            let sparsities =
                sparsities.filter(|&it| kind != Kind::TrainEverywhere || it == Sparsity::DENSE);
            cases.extend(sparsities.map(|sparsity| Case { work, batch_size, sparsity, threads }));
        }
    }
    cases
}

/// A bar on a terminal, a line elsewhere.
fn progress(name: &str, cases: usize, rounds: usize) -> anyhow::Result<ProgressBar> {
    let what =
        format!("{name}: {}, {}", things(cases as u64, "case"), things(rounds as u64, "round"));
    if cases == 0 {
        return Ok(ProgressBar::hidden());
    }
    if !std::io::stderr().is_terminal() {
        anstream::eprintln!("{what}");
        return Ok(ProgressBar::hidden());
    }
    let style = ProgressStyle::with_template("{bar:24.cyan/dim} {wide_msg}")?;
    Ok(ProgressBar::new(1).with_style(style).with_message(what))
}

impl Found {
    fn to_json(&self, model: &str, peak: f64) -> Vec<Value> {
        let speeds = self.speeds.iter().map(|speed| {
            json!({
                "kind": kind(speed.case.work),
                "model": model,
                "batch_size": speed.case.batch_size,
                "sparsity": speed.case.sparsity,
                "threads": speed.case.threads,
                "images_per_second": speed.images_per_second,
                "turns": speed.turns,
                "gflops": speed.useful_flops / 1e9,
                "share_of_peak": share_of_peak(speed, peak),
                "speedup_over_dense": speed.speedup_over_dense,
            })
        });
        let kernels = self.kernels.iter().map(|it| {
            json!({
                "kind": it.kernel,
                "model": model,
                "batch_size": LANES,
                "sparsity": it.sparsity,
                "threads": 1,
                "images_per_second": 1.0 / it.seconds,
                "gflops": it.flops as f64 / it.seconds / 1e9,
                "share_of_peak": it.flops as f64 / it.seconds / peak,
            })
        });
        let memory = self.bytes.iter().map(|(sparsity, bytes)| {
            json!({ "kind": "memory", "model": model, "sparsity": sparsity, "bytes": bytes })
        });
        speeds.chain(kernels).chain(memory).collect()
    }

    fn to_text(&self, model: &str, network: &Network, peak: f64) -> String {
        let dense = Pattern::dense(network.parameters());
        let flops = |work| count(useful_flops_per_image(network, &dense, work) as f64);
        let mut text = format!(
            "\n{model}: {} parameters; per image and dense, training takes {}FLOP, evaluation {}FLOP\n",
            grouped(network.parameters() as u64),
            flops(Work::Train),
            flops(Work::Evaluate),
        );
        let rows = self.speeds.iter().map(|speed| {
            [
                kind(speed.case.work).to_owned(),
                grouped(u64::from(speed.case.batch_size.0)),
                speed.case.threads.to_string(),
                speed.case.sparsity.to_string(),
                grouped(speed.images_per_second.round() as u64),
                format!("{:.1}", speed.useful_flops / 1e9),
                format!("{:.0} %", 100.0 * share_of_peak(speed, peak)),
                speed.speedup_over_dense.map_or(String::new(), |ratio| format!("{ratio:.2}×")),
            ]
        });
        let headings = [
            "work",
            "batch size",
            "threads",
            "sparsity",
            "images/s",
            "useful GFLOP/s",
            "of peak",
            "over dense",
        ];
        if !self.speeds.is_empty() {
            text += &format!("{}\n", table(headings, 1, rows.collect()));
        }
        if !self.kernels.is_empty() {
            text += &format!("\n{}\n", self.kernel_table(peak));
        }
        let bytes = self.bytes.iter().map(|&(sparsity, it)| [sparsity.to_string(), kilobytes(it)]);
        if !self.bytes.is_empty() {
            text +=
                &format!("\n{}\n", table(["sparsity", "memory of a trial"], 0, bytes.collect()));
        }
        text.trim_end().to_owned()
    }
}

impl Found {
    /// A row for each kernel, with all sparsities side by side.
    fn kernel_table(&self, peak: f64) -> String {
        let mut names: Vec<&str> = Vec::new();
        for it in &self.kernels {
            if !names.contains(&&*it.kernel) {
                names.push(&it.kernel);
            }
        }
        let rows = names.into_iter().map(|name| {
            let of_name = || self.kernels.iter().filter(move |it| it.kernel == name);
            let times = of_name().map(|it| format!("{:.1}", 1e6 * it.seconds));
            let shares = of_name().filter(|it| it.flops > 0);
            let shares =
                shares.map(|it| format!("{:.0}", 100.0 * it.flops as f64 / it.seconds / peak));
            let joined = |numbers: Vec<String>| numbers.join(" / ");
            [name.to_owned(), joined(times.collect()), joined(shares.collect())]
        });
        let mut sparsities: Vec<String> = Vec::new();
        for it in &self.kernels {
            let sparsity = it.sparsity.to_string();
            if !sparsities.contains(&sparsity) {
                sparsities.push(sparsity);
            }
        }
        let times = format!("µs per image at {}", sparsities.join(" / "));
        table(["kernel", &times, "% of peak, useful work"], 1, rows.collect())
    }
}

/// The word for it in a row.
fn kind(work: Work) -> &'static str {
    match work {
        Work::Train => "train",
        Work::TrainEverywhere => "train-everywhere",
        Work::Evaluate => "evaluate",
    }
}

/// Useful work as a share of what the threads' cores could do at best.
fn share_of_peak(speed: &Speed, peak: f64) -> f64 {
    speed.useful_flops / (peak * speed.case.threads as f64)
}
