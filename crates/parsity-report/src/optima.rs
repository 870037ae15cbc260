//! Where the best metaparameters move with batch size: a panel per metaparameter.

use crate::axes::{batch_axis, beside, decades};
use crate::data::{Data, field};
use crate::facts::{protocol, workload};
use crate::figure::{Axis, Figure, LegendEntry, LegendGroup, Mark, Panel, Series, Stroke};
use crate::numerals::{grouped, significant};
use crate::palette::{GREY, rank_shape, sparsity_colour};
use parsity_analysis::{CellSummary, GoalAnswer};
use parsity_study::{Metaparameters, Sparsity, StudyFacts};
use std::collections::BTreeSet;

/// A metaparameter, or what follows from several.
struct Quantity {
    label: &'static str,
    column: &'static str,
    of: fn(&Metaparameters) -> Option<f64>,
}

/// In the order of panels. Without momentum the effective learning rate is the learning rate.
const QUANTITIES: [Quantity; 5] = [
    Quantity {
        label: "↑ Learning rate", column: "learning_rate", of: |it| Some(it.learning_rate)
    },
    Quantity {
        label: "↑ 1 − momentum",
        column: "one_minus_momentum",
        of: |it| it.momentum.map(|momentum| 1.0 - momentum),
    },
    Quantity {
        label: "↑ Effective learning rate lr/(1 − m)",
        column: "effective_learning_rate",
        of: |it| it.momentum.map(|momentum| it.learning_rate / (1.0 - momentum)),
    },
    Quantity {
        label: "↑ Decay steps",
        column: "decay_steps",
        of: |it| it.decay_steps.map(|steps| steps.0 as f64),
    },
    Quantity { label: "↑ End factor", column: "end_factor", of: |it| it.end_factor },
];

/// The best metaparameters of a study towards a goal; `None` if no trial reached it. Cells
/// that are not decided have open marks: their best may still change.
pub fn draw_optima(facts: &StudyFacts, goal: &GoalAnswer) -> Option<Figure> {
    let cells: Vec<&CellSummary> = goal.cells.iter().map(|cell| &cell.summary).collect();
    let best: Vec<&CellSummary> =
        cells.iter().copied().filter(|cell| cell.metaparameters.is_some()).collect();
    let sparsities: BTreeSet<Sparsity> = cells.iter().map(|cell| cell.sparsity).collect();
    let sparsities: Vec<Sparsity> = sparsities.into_iter().collect();
    let x = batch_axis(cells.iter().map(|cell| cell.batch_size));
    let panels: Vec<Panel> =
        QUANTITIES.iter().filter_map(|it| panel(it, &best, &sparsities, &x)).collect();
    if panels.is_empty() {
        return None;
    }
    let open = panels.iter().flat_map(|it| &it.series).flat_map(|it| &it.marks).any(|it| it.open);
    let data = data(&best);
    Some(Figure {
        title: format!("Where the best metaparameters move, to an error of {}", goal.goal_error),
        facts: vec![workload(facts), protocol(facts)],
        description: describe(&best),
        // Three fit beside each other; four or five stand in two columns.
        columns: if panels.len() == 3 { 3 } else { panels.len().min(2) },
        panels,
        legend: legend(&sparsities, open),
        data,
    })
}

fn panel(
    quantity: &Quantity,
    best: &[&CellSummary],
    sparsities: &[Sparsity],
    x: &Axis,
) -> Option<Panel> {
    let value = |cell: &CellSummary| cell.metaparameters.as_ref().and_then(quantity.of);
    let values: Vec<f64> = best.iter().filter_map(|cell| value(cell)).collect();
    if values.is_empty() {
        return None;
    }
    let y = decades(quantity.label, values);
    let series = sparsities.iter().enumerate().map(|(rank, &sparsity)| {
        let cells = best.iter().filter(|cell| cell.sparsity == sparsity);
        let mut marks: Vec<Mark> = cells
            .filter_map(|cell| {
                let place = beside(cell.batch_size.0.into(), rank, sparsities.len());
                let at = (place, value(cell)?);
                let note = format!(
                    "batch size {}, sparsity {sparsity}: {}",
                    grouped(cell.batch_size.0.into()),
                    significant(at.1)
                );
                Some(Mark { at, shape: rank_shape(rank), open: !cell.is_decided(), note })
            })
            .collect();
        marks.sort_by(|a, b| a.at.0.total_cmp(&b.at.0));
        let line = marks.iter().map(|mark| mark.at).collect();
        let colour = sparsity_colour(sparsity);
        Series { colour, stroke: Stroke::Solid, lines: vec![line], marks }
    });
    let series = series.collect();
    Some(Panel::new(x.clone(), y, series))
}

fn legend(sparsities: &[Sparsity], open: bool) -> Vec<LegendGroup> {
    let mut entries: Vec<LegendEntry> = sparsities
        .iter()
        .enumerate()
        .map(|(rank, &sparsity)| LegendEntry {
            colour: sparsity_colour(sparsity),
            stroke: Some(Stroke::Solid),
            mark: Some((rank_shape(rank), false)),
            label: sparsity.to_string(),
        })
        .collect();
    if open {
        entries.push(LegendEntry {
            colour: GREY,
            stroke: None,
            mark: Some((rank_shape(0), true)),
            label: "best so far".to_owned(),
        });
    }
    vec![LegendGroup { title: Some("Sparsity".to_owned()), entries }]
}

fn describe(best: &[&CellSummary]) -> String {
    let sentences = best.iter().map(|cell| {
        let values = QUANTITIES.iter().filter_map(|it| {
            let value = cell.metaparameters.as_ref().and_then(it.of)?;
            Some(format!("{} {}", it.column.replace('_', " "), significant(value)))
        });
        format!(
            "Batch size {}, sparsity {}: {}.",
            grouped(cell.batch_size.0.into()),
            cell.sparsity,
            values.collect::<Vec<_>>().join(", ")
        )
    });
    sentences.collect::<Vec<_>>().join(" ")
}

fn data(best: &[&CellSummary]) -> Data {
    let mut columns = vec!["batch_size", "sparsity", "best_trial"];
    columns.extend(QUANTITIES.iter().map(|it| it.column));
    let mut data = Data::new(&columns);
    for cell in best {
        let mut row = vec![
            cell.batch_size.to_string(),
            cell.sparsity.share().to_string(),
            field(cell.best_trial),
        ];
        let value = |it: &Quantity| cell.metaparameters.as_ref().and_then(it.of);
        row.extend(QUANTITIES.iter().map(|it| field(value(it).map(significant))));
        data.rows.push(row);
    }
    data
}
