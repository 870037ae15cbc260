//! `parsity run`: carries out a study.

use super::{plan::restricted, print, serve, smoothness::watch_all, threads};
use crate::arguments::Run;
use crate::commands::report::summaries;
use crate::failure::{End, WrongRequest};
use crate::interrupt;
use crate::processes::{Processes, check_agreement};
use crate::progress::Progress;
use crate::words::count;
use anstream::eprintln;
use parsity_analysis::{cell_times, summarize, tightest};
use parsity_data::Cache;
use parsity_engine::Team;
use parsity_lab::{Bench, Lock, Options, Question, Ranks, Store, Summary, run_over};
use parsity_study::Protocol;
use sha2::{Digest, Sha256};
use std::path::Path;
use std::time::Duration;

pub(crate) fn run(arguments: &Run) -> anyhow::Result<End> {
    if !arguments.serve && !arguments.window.is_usual() {
        let text = "--port, --bind and --host say where the dashboard is, but none is asked for; add --serve";
        return Err(WrongRequest(text.to_owned()).into());
    }
    let mut processes = Processes::join(arguments.ranks_per_trial)?;
    let mut question = restricted(&arguments.extent)?;
    if arguments.exhaustive {
        question.study = question.study.with_protocol(Protocol::Exhaustive);
    }
    let path = &arguments.store.store;
    let options = Options {
        memory: arguments.memory << 20,
        save_every: Duration::from_secs_f64(arguments.save_every),
        ..Options::new(&question.study, threads(arguments.threads))
    };
    let bench = load(&question, &mut processes)?;
    if !processes.speaks() {
        // What a Ctrl-C or the launcher wants is rank 0's business: it tells the others.
        interrupt::flag();
        if let Some(ranks) = processes.ranks() {
            parsity_lab::serve(ranks, &question.study, &bench, &options);
        }
        return Ok(End::Done);
    }
    let window = match arguments.serve {
        true => Some(serve::open(&arguments.window, path)?),
        false => None,
    };
    if let Some(window) = &window {
        eprintln!("watch it in a browser: {}", window.url());
    }
    let summary = carry_out(&question, &bench, path, &options, processes.ranks())?;
    if let Some(window) = window {
        window.close();
    }
    let (name, store) = (question.study.name(), path.display());
    show(name, path)?;
    print(format!(
        "\nThe answer, with figures: parsity report {} --store {store}",
        arguments.extent.study
    ))?;
    Ok(end(summary))
}

/// The bench of a study. All processes must have the same.
pub(crate) fn load(question: &Question, processes: &mut Processes) -> anyhow::Result<Bench> {
    let study = &question.study;
    if processes.speaks() {
        eprintln!("{}: loading {} …", study.name(), study.workload().dataset);
    }
    let bench = Bench::for_study(question, &Cache::of_user()?)?;
    let extent = (study.trials(), study.protocol(), study.cells().collect::<Vec<_>>());
    for (what, text) in [
        ("version of parsity", env!("CARGO_PKG_VERSION").to_owned()),
        ("study", format!("{}{}", study.name(), study.canonical())),
        ("trials and cells", format!("{extent:?}")),
        ("data set", bench.fingerprint.clone()),
    ] {
        check_agreement(processes.comm(), &Sha256::digest(text), what)?;
    }
    Ok(bench)
}

/// Runs what is missing of a study, with progress, into the store at `path`: on `ranks`, if
/// there are any, or else here.
pub(crate) fn carry_out(
    question: &Question,
    bench: &Bench,
    path: &Path,
    options: &Options,
    ranks: Option<Ranks>,
) -> anyhow::Result<Summary> {
    let study = &question.study;
    let stop = interrupt::flag();
    // After the data: a study that cannot run leaves nothing behind.
    let _lock = Lock::take(path)?;
    let mut store = Store::open(path)?;
    let stored = store.enter(study, &bench.fingerprint)?;
    let records = store.records(&stored, false)?;
    let known = summarize(&stored.facts, &stored.cells(), &records);
    let times = cell_times(&stored.facts, &stored.cells(), &records);
    let done = tightest(&known).iter().map(|cell| u64::from(cell.done())).sum();
    let trials = study.cells().count() as u64 * u64::from(study.trials());
    if done > 0 {
        eprintln!("{done} of {trials} trials were done before and are kept");
    }
    let progress = Progress::new(study, options.threads, done, times);
    let watch = |event: parsity_lab::Event<'_>| progress.watch(event);
    let summary = match ranks {
        None => parsity_lab::run(study, bench, &mut store, options, stop, &watch),
        Some(ranks) => run_over(ranks, study, bench, &mut store, options, stop, &watch),
    };
    progress.finish();
    let mut summary = summary?;
    eprintln!("{}", work(&summary));
    let watched = study.watched();
    if !summary.stopped && !watched.is_empty() {
        let mut team = Team::new(options.threads);
        summary.stopped = watch_all(&watched, bench, &mut store, &mut team)?.is_none();
    }
    Ok(summary)
}

/// What a run has done.
fn work(summary: &Summary) -> String {
    let pruned = match summary.pruned {
        0 => String::new(),
        images => format!(", {} pruned with", count(images as f64)),
    };
    format!(
        "work of this run: {} images trained, {} looked at in goal checks{pruned}",
        count(summary.trained as f64),
        count(summary.evaluated as f64)
    )
}

/// Prints the table of a study.
pub(crate) fn show(name: &str, path: &Path) -> anyhow::Result<()> {
    let store = Store::read(path)?;
    let stored = store.study(name)?;
    print(super::status::text(&stored, &summaries(&store, &stored)?))
}

/// How a run ended, and what to say about it.
pub(crate) fn end(summary: Summary) -> End {
    if summary.failed > 0 {
        eprintln!("{} trials failed; run again to repeat them", summary.failed);
    }
    match summary {
        Summary { stopped: true, .. } => {
            eprintln!("stopped; finished trials are kept, run again to continue");
            End::Interrupted
        }
        Summary { failed: 0, .. } => End::Done,
        _ => End::SomethingFailed,
    }
}
