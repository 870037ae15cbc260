//! What survives pruning: the share of each layer, by the sparsity of the whole network.

use crate::data::Data;
use crate::facts::{count_of, workload};
use crate::figure::{
    Axis, Figure, LegendEntry, LegendGroup, Mark, Panel, Scale, Series, Stroke, Tick,
};
use crate::numerals::{grouped, significant};
use crate::palette::{GREY, rank_shape, sparsity_colour};
use parsity_analysis::StudyAnswer;
use parsity_study::{LayerSurvivors, Sparsity, SurvivorCount, Survivors};
use std::collections::BTreeSet;

/// The survivors of a study's networks; `None` if nothing was pruned.
pub fn draw_survivors(study: &StudyAnswer, survivors: &Survivors) -> Option<Figure> {
    let layers = &survivors.layers;
    let pruned: Vec<Sparsity> = layers.first()?.survivors.iter().map(|it| it.sparsity).collect();
    let all: BTreeSet<Sparsity> = study.work.iter().map(|it| it.cell.sparsity).collect();
    let rank = |sparsity| all.iter().position(|it| *it == sparsity).unwrap_or(0);
    let x = layer_axis(layers);
    let mut series = Vec::new();
    for (index, &sparsity) in pruned.iter().enumerate() {
        series.extend(of_sparsity(layers, index, sparsity, rank(sparsity), &x));
    }
    let parameters: u64 = layers.iter().map(|it| it.parameters).sum();
    let counted = match survivors.trials {
        1 => "one trial".to_owned(),
        more => format!("mean of {more} trials"),
    };
    let pruning = vec![format!("{} parameters", grouped(parameters)), counted];
    Some(Figure {
        title: "What survives pruning, layer by layer".to_owned(),
        facts: vec![workload(&study.facts), pruning],
        description: describe(survivors, &pruned),
        panels: vec![Panel::new(x, share_axis(), series)],
        columns: 1,
        legend: legend(&pruned, &rank, survivors.trials > 1),
        data: data(survivors),
    })
}

/// One place per layer, with air on both sides.
fn layer_axis(layers: &[LayerSurvivors]) -> Axis {
    let ticks = layers.iter().enumerate();
    let ticks = ticks.map(|(place, it)| Tick { value: place as f64, label: it.layer.clone() });
    Axis {
        label: "Layer, from input to output →".to_owned(),
        scale: Scale::Linear,
        range: (-0.5, layers.len() as f64 - 0.5),
        ticks: ticks.collect(),
    }
}

/// From nothing to all, with a little air so that marks at the ends are whole.
fn share_axis() -> Axis {
    let tick =
        |percent: u32| Tick { value: f64::from(percent) / 100.0, label: format!("{percent} %") };
    Axis {
        label: "↑ Share of each layer that survives".to_owned(),
        scale: Scale::Linear,
        range: (0.0, 1.04),
        ticks: (0..=100).step_by(20).map(tick).collect(),
    }
}

fn share(layer: &LayerSurvivors, count: f64) -> f64 {
    count / layer.parameters.max(1) as f64
}

/// The share of the whole network, what trials differ by, and the layers' shares.
fn of_sparsity(
    layers: &[LayerSurvivors],
    index: usize,
    sparsity: Sparsity,
    rank: usize,
    x: &Axis,
) -> Vec<Series> {
    let counts = || layers.iter().map(|it| (it, it.survivors[index])).enumerate();
    let density = 1.0 - sparsity.share();
    let spans = counts().map(|(place, (layer, it))| {
        [it.least, it.most].map(|end| (place as f64, share(layer, end as f64))).to_vec()
    });
    let marks: Vec<Mark> = counts()
        .map(|(place, (layer, it))| Mark {
            at: (place as f64, share(layer, it.mean)),
            shape: rank_shape(rank),
            open: false,
            note: note(layer, &it),
        })
        .collect();
    let line = marks.iter().map(|mark| mark.at).collect();
    let colour = sparsity_colour(sparsity);
    let series = |stroke, lines, marks| Series { colour, stroke, lines, marks };
    let whole = vec![(x.range.0, density), (x.range.1, density)];
    vec![
        series(Stroke::Dashed, vec![whole], Vec::new()),
        series(Stroke::Thin, spans.collect(), Vec::new()),
        series(Stroke::Solid, vec![line], marks),
    ]
}

fn note(layer: &LayerSurvivors, it: &SurvivorCount) -> String {
    format!(
        "{}, sparsity {}: {:.1} % of {} parameters survive",
        layer.layer,
        it.sparsity,
        100.0 * share(layer, it.mean),
        grouped(layer.parameters)
    )
}

fn legend(
    pruned: &[Sparsity],
    rank: &dyn Fn(Sparsity) -> usize,
    several: bool,
) -> Vec<LegendGroup> {
    let sparsities = pruned.iter().map(|&sparsity| LegendEntry {
        colour: sparsity_colour(sparsity),
        stroke: Some(Stroke::Solid),
        mark: Some((rank_shape(rank(sparsity)), false)),
        label: sparsity.to_string(),
    });
    let other = |stroke, label: &str| LegendEntry {
        colour: GREY,
        stroke: Some(stroke),
        mark: None,
        label: label.to_owned(),
    };
    let mut others = vec![other(Stroke::Dashed, "whole network")];
    if several {
        others.push(other(Stroke::Thin, "least to most of a trial"));
    }
    vec![
        LegendGroup { title: Some("Sparsity".to_owned()), entries: sparsities.collect() },
        LegendGroup { title: None, entries: others },
    ]
}

fn describe(survivors: &Survivors, pruned: &[Sparsity]) -> String {
    let of = |(index, sparsity): (usize, &Sparsity)| {
        let layers = survivors.layers.iter().map(|layer| {
            let kept = 100.0 * share(layer, layer.survivors[index].mean);
            format!("{}: {kept:.1} %", layer.layer)
        });
        format!(
            "Share of each layer's parameters that survive at sparsity {sparsity}: {}.",
            layers.collect::<Vec<_>>().join("; ")
        )
    };
    let mut sentences: Vec<String> = pruned.iter().enumerate().map(of).collect();
    sentences.push(format!("Counted in {}.", count_of(survivors.trials.into(), "trial")));
    sentences.join(" ")
}

fn data(survivors: &Survivors) -> Data {
    let columns = ["layer", "parameters", "sparsity", "survivors", "least", "most", "trials"];
    let mut data = Data::new(&columns);
    for layer in &survivors.layers {
        for it in &layer.survivors {
            data.push([
                layer.layer.clone(),
                layer.parameters.to_string(),
                it.sparsity.share().to_string(),
                significant(it.mean),
                it.least.to_string(),
                it.most.to_string(),
                survivors.trials.to_string(),
            ]);
        }
    }
    data
}
