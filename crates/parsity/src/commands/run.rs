//! `parsity run`: carries out a study.

use super::{plan::restricted, print, serve, smoothness::watch_all, threads};
use crate::arguments::Run;
use crate::commands::report::summaries;
use crate::failure::End;
use crate::interrupt;
use crate::progress::Progress;
use crate::words::count;
use anstream::eprintln;
use parsity_analysis::{cell_times, summarize, tightest};
use parsity_data::Cache;
use parsity_engine::Team;
use parsity_lab::{Bench, Lock, Options, Question, Store, Summary};
use parsity_study::Protocol;
use std::path::Path;
use std::time::Duration;

pub(crate) fn run(arguments: &Run) -> anyhow::Result<End> {
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
    let window = match arguments.serve {
        true => Some(serve::open(&arguments.window, path)?),
        false => None,
    };
    if let Some(window) = &window {
        eprintln!("watch it in a browser: {}", window.url());
    }
    let summary = carry_out(&question, path, &options)?;
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

/// Runs what is missing of a study, with progress, into the store at `path`.
pub(crate) fn carry_out(
    question: &Question,
    path: &Path,
    options: &Options,
) -> anyhow::Result<Summary> {
    let study = &question.study;
    let stop = interrupt::flag();
    eprintln!("{}: loading {} …", study.name(), study.workload().dataset);
    // Before the store: a study that cannot run leaves nothing behind.
    let bench = Bench::for_study(question, &Cache::of_user()?)?;
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
    let summary = parsity_lab::run(study, &bench, &mut store, options, stop, &watch);
    progress.finish();
    let mut summary = summary?;
    eprintln!("{}", work(&summary));
    let watched = study.watched();
    if !summary.stopped && !watched.is_empty() {
        let mut team = Team::new(options.threads);
        summary.stopped = watch_all(&watched, &bench, &mut store, &mut team)?.is_none();
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
