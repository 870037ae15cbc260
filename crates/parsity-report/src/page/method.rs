//! How it was measured: the protocol, the search, the work, and the files of the report.

use super::steps::decided;
use crate::facts::{check_interval, count_of, goals, optimizer_name};
use crate::html::Html;
use crate::numerals::{grouped, large, significant};
use crate::table::protocol;
use parsity_analysis::{Answer, CellEffort, CellSummary, StudyAnswer};
use parsity_study::Memory;

pub(super) fn write(html: &mut Html, answer: &Answer, files: &[&str]) {
    for study in &answer.studies {
        if answer.studies.len() > 1 {
            html.leaf("h3", &[], &study.facts.name);
        }
        html.element("dl", &[("class", "facts")], |html| {
            for (name, value) in facts(study) {
                html.element("div", &[], |html| {
                    html.leaf("dt", &[], name);
                    html.leaf("dd", &[], &value);
                });
            }
        });
    }
    html.leaf(
        "p",
        &[("class", "small")],
        "Steps-to-result is the fewest training steps after which any trial of a cell reaches the goal \
         error on the whole validation split. Trial i has point i of a Sobol sequence for its \
         metaparameters and i for the seed of its initial weights, in every cell. Pruning happens once, \
         before training.",
    );
    let tables = files.iter().filter(|it| !it.ends_with(".svg") && !it.ends_with(".png"));
    html.element("details", &[], |html| {
        html.leaf("summary", &[], "All tables as files");
        html.element("ul", &[("class", "files")], |html| {
            for file in tables {
                html.element("li", &[], |html| html.leaf("a", &[("href", file)], file));
            }
        });
    });
}

fn facts(study: &StudyAnswer) -> Vec<(&'static str, String)> {
    let facts = &study.facts;
    let (done, cells) = decided(study);
    let mut rows = vec![
        ("Data set", facts.dataset.clone()),
        ("Model", facts.model.clone()),
        ("Optimizer", optimizer_name(&facts.optimizer)),
        ("Learning rate", facts.schedule.clone()),
        ("Goal", goals(&facts.goal_errors)),
        ("Goal check", check_interval(&facts.check_every).replace("goal check ", "")),
        ("Step budget", grouped(facts.step_budget.0)),
        ("Trials", format!("{} per cell", grouped(facts.trials.into()))),
        ("Cells", format!("{} of {} decided", grouped(done), grouped(cells))),
    ];
    if let Some(space) = &facts.search {
        let ranges = space.dimensions().map(|(name, range)| {
            let name = name.replace('_', " ");
            format!(
                "{name} {} to {} ({})",
                significant(range.from),
                significant(range.to),
                range.scale
            )
        });
        rows.push(("Search", ranges.collect::<Vec<_>>().join(", ")));
    }
    let summaries: Vec<CellSummary> = match study.goals.last() {
        Some(goal) => goal.cells.iter().map(|cell| cell.summary.clone()).collect(),
        None => Vec::new(),
    };
    let none = || "no trial is done yet".to_owned();
    rows.push(("Protocol", protocol(&summaries).unwrap_or_else(none)));
    rows.push(("Work", work(study)));
    rows.extend(study.memory.as_ref().map(|memory| ("Memory", held(memory))));
    rows
}

fn work(study: &StudyAnswer) -> String {
    let sum = |part: &dyn Fn(&CellEffort) -> u64| -> u64 { study.work.iter().map(part).sum() };
    let (trained, evaluated) = (sum(&|it| it.trained), sum(&|it| it.evaluated));
    let spared = sum(&|it| it.spared);
    let seconds: f64 = study.work.iter().map(|it| it.seconds).sum();
    let mut text = format!(
        "{}, {} images trained on, {} looked at in goal checks, {} of computing",
        count_of(sum(&|it| u64::from(it.trials)), "trial"),
        large(trained as f64),
        large(evaluated as f64),
        duration(seconds)
    );
    if spared > 0 {
        let share = 100.0 * spared as f64 / (spared + trained) as f64;
        text += &format!(
            "; racing spared at most {} images, {share:.0} % of what the published protocol could take",
            large(spared as f64)
        );
    }
    text
}

fn held(memory: &Memory) -> String {
    let kilobytes = |bytes: u64| format!("{} kB", grouped(bytes.div_ceil(1000)));
    let trials = memory.trial_bytes.iter();
    let trials = trials.map(|it| format!("{} at {}", kilobytes(it.bytes), it.sparsity));
    format!(
        "a trial (weights, gradient, velocity, pattern) {}; a thread (a block of images) {}. A process, or \
         a rank under mpirun, holds its trials and one block for each of its threads",
        trials.collect::<Vec<_>>().join(", "),
        kilobytes(memory.thread_bytes)
    )
}

/// Seconds as people read them: `12 s`, `3.4 min`, `5.1 h`.
fn duration(seconds: f64) -> String {
    match seconds {
        ..120.0 => format!("{seconds:.0} s"),
        ..7_200.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3_600.0),
    }
}
