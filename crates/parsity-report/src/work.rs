//! The work of a study: images trained on per cell, and what racing spared.

use crate::axes::{batch_axis, octaves};
use crate::data::Data;
use crate::facts::{protocol, workload};
use crate::figure::{Figure, LegendEntry, LegendGroup, Mark, Panel, Series, Stroke, Tick};
use crate::numerals::large;
use crate::palette::{GREY, rank_shape, sparsity_colour};
use parsity_analysis::{CellEffort, StudyAnswer};
use parsity_study::Sparsity;
use std::collections::BTreeSet;

/// The work of a study; `None` if none was done.
pub fn draw_work(study: &StudyAnswer) -> Option<Figure> {
    let done: Vec<&CellEffort> = study.work.iter().filter(|it| it.trained > 0).collect();
    if done.is_empty() {
        return None;
    }
    let sparsities: BTreeSet<Sparsity> = study.work.iter().map(|it| it.cell.sparsity).collect();
    let x = batch_axis(study.work.iter().map(|it| it.cell.batch_size));
    let ends = done.iter().flat_map(|it| [it.trained, it.trained + it.spared]);
    let mut y = octaves("↑ Images trained on, all trials of a cell", ends.map(|it| it as f64));
    y.ticks = thousands(y.range);
    let spared = done.iter().any(|it| it.spared > 0);
    let mut series = Vec::new();
    for (rank, &sparsity) in sparsities.iter().enumerate() {
        let cells: Vec<&CellEffort> =
            done.iter().copied().filter(|it| it.cell.sparsity == sparsity).collect();
        let colour = sparsity_colour(sparsity);
        let line = |images: fn(&CellEffort) -> u64| -> Vec<(f64, f64)> {
            let mut line: Vec<(f64, f64)> = cells
                .iter()
                .map(|it| (f64::from(it.cell.batch_size.0), images(it) as f64))
                .collect();
            line.sort_by(|a, b| a.0.total_cmp(&b.0));
            line
        };
        if spared {
            let lines = vec![line(|it| it.trained + it.spared)];
            series.push(Series { colour, stroke: Stroke::Dashed, lines, marks: Vec::new() });
        }
        let marks = cells.iter().map(|it| Mark {
            at: (f64::from(it.cell.batch_size.0), it.trained as f64),
            shape: rank_shape(rank),
            open: false,
            note: note(it),
        });
        let (marks, lines) = (marks.collect(), vec![line(|it| it.trained)]);
        series.push(Series { colour, stroke: Stroke::Solid, lines, marks });
    }
    let facts = vec![workload(&study.facts), protocol(&study.facts)];
    let description = done.iter().map(|it| format!("{}.", note(it))).collect::<Vec<_>>().join(" ");
    Some(Figure {
        title: "Work done, and what racing spared".to_owned(),
        facts,
        description,
        panels: vec![Panel::new(x, y, series)],
        columns: 1,
        legend: legend(&sparsities, spared),
        data: data(&study.work),
    })
}

/// Powers of ten, which are how people think of millions.
fn thousands(range: (f64, f64)) -> Vec<Tick> {
    let powers = (range.0.log10().floor() as i32)..=(range.1.log10().ceil() as i32);
    let tick = |power| {
        let value = 10f64.powi(power);
        Tick { value, label: large(value).replace(".0 ", " ") }
    };
    powers.map(tick).filter(|tick| (range.0..=range.1).contains(&tick.value)).collect()
}

fn note(it: &CellEffort) -> String {
    let spared = match it.spared {
        0 => String::new(),
        images => format!(", at most {} spared", large(images as f64)),
    };
    format!(
        "Batch size {}, sparsity {}: {} images trained on{spared}",
        it.cell.batch_size,
        it.cell.sparsity,
        large(it.trained as f64)
    )
}

fn legend(sparsities: &BTreeSet<Sparsity>, spared: bool) -> Vec<LegendGroup> {
    let entries = sparsities.iter().enumerate().map(|(rank, &sparsity)| LegendEntry {
        colour: sparsity_colour(sparsity),
        stroke: Some(Stroke::Solid),
        mark: Some((rank_shape(rank), false)),
        label: sparsity.to_string(),
    });
    let other = LegendEntry {
        colour: GREY,
        stroke: Some(Stroke::Dashed),
        mark: None,
        label: "without racing, at most".to_owned(),
    };
    let mut groups =
        vec![LegendGroup { title: Some("Sparsity".to_owned()), entries: entries.collect() }];
    if spared {
        groups.push(LegendGroup { title: None, entries: vec![other] });
    }
    groups
}

fn data(work: &[CellEffort]) -> Data {
    let columns = ["batch_size", "sparsity", "trials", "trained", "evaluated", "spared", "seconds"];
    let mut data = Data::new(&columns);
    for it in work {
        data.push([
            it.cell.batch_size.to_string(),
            it.cell.sparsity.share().to_string(),
            it.trials.to_string(),
            it.trained.to_string(),
            it.evaluated.to_string(),
            it.spared.to_string(),
            format!("{:.3}", it.seconds),
        ]);
    }
    data
}
