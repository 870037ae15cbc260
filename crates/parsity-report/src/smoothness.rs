//! Smoothness: local Lipschitz constants over training, and the logs of those trainings.

use crate::axes::{decades, linear};
use crate::data::Data;
use crate::figure::{Axis, Figure, LegendEntry, LegendGroup, Mark, Panel, Series, Stroke};
use crate::numerals::{grouped, rounded, significant};
use crate::palette::{GREY, rank_shape, sparsity_colour};
use parsity_study::{SmoothnessPoint, SmoothnessRun};

/// The Lipschitz constants of `runs`, which differ in their sparsity only, with their
/// averages.
pub fn draw_lipschitz(runs: &[&SmoothnessRun]) -> Option<Figure> {
    let points = || runs.iter().flat_map(|run| &run.points);
    points().next()?;
    let x = steps_axis(runs);
    let y = decades("↑ Local Lipschitz constant", points().map(|it| it.lipschitz));
    let mut series = Vec::new();
    for (rank, run) in runs.iter().enumerate() {
        let (colour, average) = (sparsity_colour(run.sparsity), average(run));
        if y.shows(average) {
            let ends = [x.range.0, x.range.1].map(|step| (step, average));
            let lines = vec![ends.to_vec()];
            series.push(Series { colour, stroke: Stroke::Dashed, lines, marks: Vec::new() });
        }
        series.push(of_run(run, rank, &y, |it| it.lipschitz));
    }
    let averages = runs
        .iter()
        .map(|run| format!("Average at sparsity {}: {}.", run.sparsity, significant(average(run))));
    let dashed = LegendEntry {
        colour: GREY,
        stroke: Some(Stroke::Dashed),
        mark: None,
        label: "average".to_owned(),
    };
    let mut legend =
        vec![sparsities(runs, &|run| format!(", average {}", rounded(average(run), 3)))];
    legend.push(LegendGroup { title: None, entries: vec![dashed] });
    Some(Figure {
        title: "Smoothness: local Lipschitz constant of the gradient over training".to_owned(),
        facts: vec![facts(runs)],
        description: averages.collect::<Vec<_>>().join(" "),
        panels: vec![Panel::new(x, y, series)],
        columns: 1,
        legend,
        data: data(runs),
    })
}

/// Loss and error of the same trainings.
pub fn draw_training(runs: &[&SmoothnessRun]) -> Option<Figure> {
    let points = || runs.iter().flat_map(|run| &run.points);
    points().next()?;
    let x = steps_axis(runs);
    let panel = |label, of: fn(&SmoothnessPoint) -> f64| {
        let y = decades(label, points().map(of));
        let series = runs.iter().enumerate().map(|(rank, run)| of_run(run, rank, &y, of));
        let series = series.collect();
        Panel::new(x.clone(), y, series)
    };
    let last = runs.iter().filter_map(|run| {
        let it = run.points.last()?;
        Some(format!(
            "Sparsity {} ends with loss {} and validation error {} after {} steps.",
            run.sparsity,
            significant(it.loss),
            significant(it.error.0),
            it.step
        ))
    });
    Some(Figure {
        title: "Training logs of the watched trainings".to_owned(),
        facts: vec![facts(runs)],
        description: last.collect::<Vec<_>>().join(" "),
        panels: vec![
            panel("↑ Training loss", |it| it.loss),
            panel("↑ Validation error", |it| it.error.0),
        ],
        columns: 2,
        legend: vec![sparsities(runs, &|_| String::new())],
        data: data(runs),
    })
}

fn average(run: &SmoothnessRun) -> f64 {
    run.points.iter().map(|it| it.lipschitz).sum::<f64>() / run.points.len() as f64
}

fn steps_axis(runs: &[&SmoothnessRun]) -> Axis {
    let steps = runs.iter().flat_map(|run| &run.points).map(|it| it.step.0 as f64);
    linear("Steps →", steps)
}

/// A line through what was seen of a run, with a mark where it was looked at.
fn of_run(run: &SmoothnessRun, rank: usize, y: &Axis, of: fn(&SmoothnessPoint) -> f64) -> Series {
    let shown = run.points.iter().filter(|it| y.shows(of(it)));
    let marks: Vec<Mark> = shown
        .map(|it| Mark {
            at: (it.step.0 as f64, of(it)),
            shape: rank_shape(rank),
            open: false,
            note: format!(
                "step {}, sparsity {}: {}",
                grouped(it.step.0),
                run.sparsity,
                significant(of(it))
            ),
        })
        .collect();
    let line = marks.iter().map(|mark| mark.at).collect();
    let colour = sparsity_colour(run.sparsity);
    Series { colour, stroke: Stroke::Solid, lines: vec![line], marks }
}

fn facts(runs: &[&SmoothnessRun]) -> Vec<String> {
    let Some(run) = runs.first() else { return Vec::new() };
    let mut phrases = vec![
        run.dataset.clone(),
        run.model.clone(),
        run.optimizer.name().to_owned(),
        format!("batch size {}", run.batch_size),
        format!("learning rate {}", significant(run.metaparameters.learning_rate)),
    ];
    phrases.extend(run.metaparameters.momentum.map(|it| format!("momentum {}", significant(it))));
    phrases
}

fn sparsities(runs: &[&SmoothnessRun], more: &dyn Fn(&SmoothnessRun) -> String) -> LegendGroup {
    let entries = runs.iter().enumerate().map(|(rank, run)| LegendEntry {
        colour: sparsity_colour(run.sparsity),
        stroke: Some(Stroke::Solid),
        mark: Some((rank_shape(rank), false)),
        label: format!("{}{}", run.sparsity, more(run)),
    });
    LegendGroup { title: Some("Sparsity".to_owned()), entries: entries.collect() }
}

fn data(runs: &[&SmoothnessRun]) -> Data {
    let mut data = Data::new(&["sparsity", "step", "lipschitz", "loss", "error"]);
    for run in runs {
        for it in &run.points {
            data.push([
                run.sparsity.share().to_string(),
                it.step.to_string(),
                it.lipschitz.to_string(),
                it.loss.to_string(),
                it.error.to_string(),
            ]);
        }
    }
    data
}
