//! `parsity forecast`: how many workers pay, on a given network, by what was measured.

use super::{print, print_json, table};
use crate::arguments::{Forecast as Arguments, StepTime};
use crate::commands::report::{find, summaries};
use crate::failure::{End, WrongRequest};
use crate::words::{duration, grouped, kilobytes};
use anstream::eprintln;
use parsity_analysis::{CellSummary, Forecast, Measurements, Wires, tightest};
use parsity_lab::{Store, StoredStudy, find_study, lower_model, measure_steps};
use parsity_report::{draw_forecast, write_figure};
use parsity_study::{BatchSize, Sparsity, Steps};
use std::sync::Arc;

pub(crate) fn forecast(arguments: &Arguments) -> anyhow::Result<End> {
    let store = Store::read(&arguments.store.store)?;
    let stored = find(&store, &arguments.study)?;
    let all = measure(arguments, &stored, &summaries(&store, &stored)?)?;
    let wires = Wires { bandwidth: arguments.bandwidth, latency: arguments.latency };
    if all.is_empty() {
        let text = format!(
            "no cell of `{}` has its steps-to-result yet; run it first with `parsity run {}`",
            stored.facts.name, arguments.study
        );
        return Err(WrongRequest(text).into());
    }
    let workers = &arguments.workers;
    let most = workers.iter().copied().max().unwrap_or(1);
    let rows: Vec<Forecast> = all
        .iter()
        .flat_map(|it| workers.iter().filter_map(|&workers| it.forecast(workers, &wires)))
        .collect();
    let ends: Vec<(Sparsity, u32)> =
        all.iter().filter_map(|it| Some((it.sparsity, it.stops_paying(most, &wires)?))).collect();
    let figure = draw_forecast(&stored.facts, &wires, &rows, &ends);
    let written = match (&arguments.out, &figure) {
        (Some(folder), Some(figure)) => write_figure(folder, "forecast", figure)?,
        _ => Vec::new(),
    };
    if arguments.json {
        let ends: Vec<_> = ends
            .iter()
            .map(
                |(sparsity, workers)| serde_json::json!({"sparsity": sparsity, "workers": workers}),
            )
            .collect();
        print_json(&serde_json::json!({
            "study": stored.facts.name, "network": wires, "forecast": rows,
            "stops_paying": ends, "measurements": all,
        }))?;
        return Ok(End::Done);
    }
    print(to_text(&all, &rows, &ends, &wires))?;
    if let Some(first) = written.first() {
        print(format!("\nFigure: {} (also as PNG and CSV)", first.display()))?;
    }
    Ok(End::Done)
}

/// What is known about each sparsity of a study: its steps, and the time of a step here.
fn measure(
    arguments: &Arguments,
    stored: &StoredStudy,
    cells: &[CellSummary],
) -> anyhow::Result<Vec<Measurements>> {
    let cells = tightest(cells);
    let question = find_study(&arguments.study)?;
    let network = Arc::new(lower_model(&question.study.workload().model)?);
    let mut all = Vec::new();
    for &sparsity in &stored.sparsities {
        let known = cells.iter().filter(|cell| cell.sparsity == sparsity);
        let steps: Vec<(BatchSize, Steps)> =
            known.filter_map(|cell| Some((cell.batch_size, cell.steps_to_result?))).collect();
        let Some(largest) = steps.iter().map(|(size, _)| size.0).max() else { continue };
        let seconds = match arguments.step_time {
            StepTime::PerExample(seconds) => vec![(1.0, seconds)],
            StepTime::Measured => {
                eprintln!("measuring steps of a {sparsity} sparse network …");
                let shares = (0..).map(|power| 1usize << power);
                let shares: Vec<usize> =
                    shares.take_while(|share| *share <= (largest as usize).min(512)).collect();
                measure_steps(&network, sparsity, &shares, arguments.workers_per_machine)
            }
        };
        let bytes = (sparsity.survivors(network.parameters()) * size_of::<f32>()) as f64;
        all.push(Measurements { sparsity, bytes, steps, seconds });
    }
    Ok(all)
}

fn to_text(
    all: &[Measurements],
    rows: &[Forecast],
    ends: &[(Sparsity, u32)],
    wires: &Wires,
) -> String {
    let mut text = format!(
        "On a network of {:.3} Gbit/s with a latency of {:.1} µs; computing as on this machine\n\n",
        wires.bandwidth * 8e-9,
        wires.latency * 1e6
    );
    let cells = rows.iter().map(|row| {
        [
            row.sparsity.to_string(),
            row.workers.to_string(),
            grouped(u64::from(row.batch_size.0)),
            grouped(row.steps.0),
            format!("{:.2} ms", row.step_seconds * 1e3),
            format!("{:.0} %", row.communication * 100.0),
            duration(row.seconds),
            format!("{:.1}×", row.speed_up),
        ]
    });
    let headings = [
        "sparsity",
        "workers",
        "batch size",
        "steps",
        "a step",
        "talking",
        "to the result",
        "speed-up",
    ];
    text += &table(headings, 0, cells.collect());
    text += "\n\n";
    for (sparsity, workers) in ends {
        let bytes = all.iter().find(|it| it.sparsity == *sparsity).map_or(0.0, |it| it.bytes);
        text += &format!(
            "{sparsity} sparse ({} per gradient): up to {workers} workers pay\n",
            kilobytes(bytes as usize)
        );
    }
    text += "\nThe batch size is the best of those measured. A step is computing, then talking; \
             workers\nstop paying where twice as many bring less than 10 %. docs/parallel.md has the model.";
    text
}
