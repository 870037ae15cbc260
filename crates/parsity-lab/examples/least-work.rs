//! What racing, bounded goal checks and proofs save, and that they change no answer: carries
//! out a study five times, in stores that are thrown away, and prints the work of each.
//!
//! ```text
//! cargo run --release -p parsity-lab --example least-work -- bench/least-work.toml
//! ```

#![allow(clippy::print_stdout)] // It is there to print.

use parsity_data::Cache;
use parsity_lab::{Bench, Event, LabError, Measures, Options, Store, Summary, find_study, run};
use parsity_study::{Cell, Steps};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// The steps-to-result of each cell, for each goal.
type Table = BTreeMap<Cell, Vec<Option<Steps>>>;

/// From the protocol as published to the least work.
const VARIANTS: [(&str, Measures); 5] = [
    ("exhaustive", NONE),
    ("bounded checks only", Measures { bounded_checks: true, ..NONE }),
    ("proofs only", Measures { proofs: true, ..NONE }),
    ("racing only", Measures { racing: true, ..NONE }),
    ("all", Measures { racing: true, bounded_checks: true, proofs: true }),
];
const NONE: Measures = Measures { racing: false, bounded_checks: false, proofs: false };

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "quickstart".to_owned());
    let question = find_study(&name)?;
    let bench = Bench::for_study(&question, &Cache::of_user()?)?;
    let threads = std::thread::available_parallelism()?.get();
    println!(
        "{}: {} cells of {} trials, {threads} threads\n",
        question.study.name(),
        question.study.cells().count(),
        question.study.trials()
    );
    println!(
        "{:20} {:>12} {:>12} {:>9} {:>7} {:>9} {:>7}",
        "", "trained", "evaluated", "seconds", "factor", "of CPU", "factor"
    );
    let mut answers: Vec<Table> = Vec::new();
    let mut first = None;
    for (name, measures) in VARIANTS {
        let options = Options { measures, ..Options::new(&question.study, threads) };
        let before = cpu_seconds();
        let (summary, seconds, table) = carry_out(&question.study, &bench, &options)?;
        let cpu = cpu_seconds() - before;
        let (first_seconds, first_cpu) = *first.get_or_insert((seconds, cpu));
        println!(
            "{name:20} {:>12} {:>12} {seconds:>9.1} {:>7.2} {cpu:>9.1} {:>7.2}",
            summary.trained,
            summary.evaluated,
            first_seconds / seconds,
            first_cpu / cpu,
        );
        answers.push(table);
    }
    println!();
    for (cell, steps) in &answers[0] {
        let steps: Vec<String> = steps
            .iter()
            .map(|steps| steps.map_or("not reached".to_owned(), |steps| format!("{steps} steps")))
            .collect();
        println!("B = {}, {} sparse: {}", cell.batch_size, cell.sparsity, steps.join(", "));
    }
    let same = answers.iter().all(|table| *table == answers[0]);
    println!("{}", if same { "the same table five times" } else { "THE TABLES DIFFER" });
    Ok(if same { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Seconds that this process has computed, on all cores; where the system tells.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name, which may hold anything: user and system time are fields 12 and 13.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks = fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

fn carry_out(
    study: &parsity_study::Study,
    bench: &Bench,
    options: &Options,
) -> Result<(Summary, f64, Table), LabError> {
    let folder = tempfile::tempdir().map_err(|source| LabError::Io {
        action: "making a folder in",
        path: std::env::temp_dir(),
        source,
    })?;
    let mut store = Store::open(&folder.path().join("store.sqlite"))?;
    let table = Mutex::new(Table::new());
    let watch = |event: Event<'_>| {
        if let Event::Cell { cell, steps_to_result } = event
            && let Ok(mut table) = table.lock()
        {
            table.insert(cell, steps_to_result.to_vec());
        }
    };
    let begin = Instant::now();
    let summary = run(study, bench, &mut store, options, &AtomicBool::new(false), &watch)?;
    let table = table.into_inner().unwrap_or_default();
    Ok((summary, begin.elapsed().as_secs_f64(), table))
}
