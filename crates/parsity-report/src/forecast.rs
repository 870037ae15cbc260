//! The forecast figure: how many times as fast so many workers are, a curve per sparsity, and
//! where more of them stop paying.

use crate::axes::{batch_axis, octaves};
use crate::data::Data;
use crate::facts::workload;
use crate::figure::{Axis, Figure, LegendEntry, LegendGroup, Mark, Panel, Series, Shape, Stroke};
use crate::numerals::{grouped, significant};
use crate::palette::{GREY, rank_shape, sparsity_colour};
use parsity_analysis::{Forecast, Wires};
use parsity_study::{BatchSize, Sparsity, StudyFacts};

/// The forecast for a study on a network: by sparsity and number of workers, and with how many
/// of them each sparsity stops paying. `None` if there is nothing to show.
pub fn draw_forecast(
    facts: &StudyFacts,
    wires: &Wires,
    rows: &[Forecast],
    ends: &[(Sparsity, u32)],
) -> Option<Figure> {
    let x = workers_axis(rows)?;
    let y = octaves("↑ Speed-up over one worker", rows.iter().map(|row| row.speed_up));
    let most = x.range.1.min(y.range.1);
    let ideal = Series {
        colour: GREY,
        stroke: Stroke::Dashed,
        lines: vec![vec![(1.0f64.max(y.range.0), 1.0f64.max(y.range.0)), (most, most)]],
        marks: Vec::new(),
    };
    let sparsities = sparsities(rows);
    let mut series = vec![ideal];
    for (rank, &sparsity) in sparsities.iter().enumerate() {
        series.push(curve(rows, sparsity, rank_shape(rank)));
    }
    series.extend(sparsities.iter().filter_map(|&it| stop(rows, ends, it)));
    Some(Figure {
        title: "How many workers pay".to_owned(),
        facts: vec![workload(facts), network(wires)],
        description: describe(rows, ends),
        panels: vec![Panel {
            title: None,
            x,
            y,
            series,
            above: None,
            spans: Vec::new(),
            remark: None,
        }],
        columns: 1,
        legend: legend(&sparsities),
        data: data(rows, ends),
    })
}

/// The numbers of workers are the ticks, as batch sizes are elsewhere.
fn workers_axis(rows: &[Forecast]) -> Option<Axis> {
    let label = "Workers →".to_owned();
    let axis = batch_axis(rows.iter().map(|row| BatchSize(row.workers)));
    (!rows.is_empty()).then_some(Axis { label, ..axis })
}

fn sparsities(rows: &[Forecast]) -> Vec<Sparsity> {
    let mut all: Vec<Sparsity> = rows.iter().map(|row| row.sparsity).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The network and what the forecast takes for granted, in short phrases.
fn network(wires: &Wires) -> Vec<String> {
    vec![
        format!("{} Gbit/s", significant(wires.bandwidth * 8e-9)),
        format!("latency {} µs", significant(wires.latency * 1e6)),
        "computing and talking take turns".to_owned(),
    ]
}

fn of(rows: &[Forecast], sparsity: Sparsity) -> Vec<&Forecast> {
    let mut rows: Vec<&Forecast> = rows.iter().filter(|row| row.sparsity == sparsity).collect();
    rows.sort_by_key(|row| row.workers);
    rows
}

fn curve(rows: &[Forecast], sparsity: Sparsity, shape: Shape) -> Series {
    let at = |row: &&Forecast| (f64::from(row.workers), row.speed_up);
    let mark = |row: &&Forecast| Mark { at: at(row), shape, open: false, note: note(row) };
    let rows = of(rows, sparsity);
    Series {
        colour: sparsity_colour(sparsity),
        stroke: Stroke::Solid,
        lines: vec![rows.iter().map(at).collect()],
        marks: rows.iter().map(mark).collect(),
    }
}

fn note(row: &Forecast) -> String {
    format!(
        "{} workers, sparsity {}: {} times as fast with batch size {}, {:.0} % of it talking",
        row.workers,
        row.sparsity,
        significant(row.speed_up),
        grouped(u64::from(row.batch_size.0)),
        row.communication * 100.0
    )
}

/// Where a sparsity stops paying, if it does among the numbers of workers that are shown.
fn stop(rows: &[Forecast], ends: &[(Sparsity, u32)], sparsity: Sparsity) -> Option<Series> {
    let rows = of(rows, sparsity);
    let &(_, workers) = ends.iter().find(|(it, _)| *it == sparsity)?;
    let row = rows.iter().find(|row| row.workers == workers)?;
    // With the last one shown it has not stopped yet.
    (rows.last()?.workers > workers).then(|| Series {
        colour: sparsity_colour(sparsity),
        stroke: Stroke::Thin,
        lines: Vec::new(),
        marks: vec![Mark {
            at: (f64::from(workers), row.speed_up),
            shape: Shape::Star,
            open: false,
            note: format!("sparsity {sparsity}: up to {workers} workers pay"),
        }],
    })
}

fn legend(sparsities: &[Sparsity]) -> Vec<LegendGroup> {
    let curves = sparsities.iter().enumerate().rev().map(|(rank, &sparsity)| LegendEntry {
        colour: sparsity_colour(sparsity),
        stroke: Some(Stroke::Solid),
        mark: Some((rank_shape(rank), false)),
        label: sparsity.to_string(),
    });
    let other = |stroke, mark, label: &str| LegendEntry {
        colour: GREY,
        stroke,
        mark,
        label: label.to_owned(),
    };
    let others = vec![
        other(Some(Stroke::Dashed), None, "ideal"),
        other(None, Some((Shape::Star, false)), "stops paying"),
    ];
    vec![
        LegendGroup { title: Some("Sparsity".to_owned()), entries: curves.collect() },
        LegendGroup { title: None, entries: others },
    ]
}

fn describe(rows: &[Forecast], ends: &[(Sparsity, u32)]) -> String {
    let curve = |&sparsity: &Sparsity| {
        let points = of(rows, sparsity).into_iter();
        let points = points.map(|row| format!("{}: {}", row.workers, significant(row.speed_up)));
        let points = points.collect::<Vec<_>>().join("; ");
        let end = ends.iter().find(|(it, _)| *it == sparsity);
        let end = end.map_or(String::new(), |(_, workers)| format!(" Up to {workers} pay."));
        format!("Speed-up by workers at sparsity {sparsity}: {points}.{end}")
    };
    sparsities(rows).iter().map(curve).collect::<Vec<_>>().join(" ")
}

/// Every number of the forecast.
fn data(rows: &[Forecast], ends: &[(Sparsity, u32)]) -> Data {
    let mut data = Data::new(&[
        "sparsity",
        "workers",
        "batch_size",
        "steps",
        "step_seconds",
        "communication",
        "seconds",
        "speed_up",
        "pays",
    ]);
    for row in rows {
        let pays = ends.iter().any(|&(it, most)| it == row.sparsity && row.workers <= most);
        data.push([
            row.sparsity.share().to_string(),
            row.workers.to_string(),
            row.batch_size.to_string(),
            row.steps.to_string(),
            significant(row.step_seconds),
            significant(row.communication),
            significant(row.seconds),
            significant(row.speed_up),
            if pays { "yes" } else { "no" }.to_owned(),
        ]);
    }
    data
}
