//! Optimizers side by side: steps-to-result against batch size, a panel per sparsity, a curve
//! per study.

use crate::axes::{batch_axis, octaves};
use crate::data::{Data, field};
use crate::figure::{Axis, Figure, LegendEntry, LegendGroup, Panel, Series, Span, Stroke};
use crate::numerals::grouped;
use crate::palette::{Colour, GREY, rank_shape, shade, sparsity_colour};
use crate::scaling::{critical_span, curve_series};
use parsity_analysis::{Answer, Curve, GoalAnswer, Group, Standing, StudyAnswer};
use parsity_study::Sparsity;
use std::collections::BTreeSet;

/// The studies of `group` compared; `None` if there is only one.
pub fn draw_optimizers(answer: &Answer, group: &Group) -> Option<Figure> {
    let members = members(answer, group);
    if members.len() < 2 {
        return None;
    }
    let curves = || members.iter().flat_map(|(_, goal)| &goal.scaling.curves);
    let points = || curves().flat_map(|curve| &curve.points);
    let x = batch_axis(points().map(|point| point.batch_size));
    let steps = points().filter_map(|point| match point.standing {
        Standing::Reached(steps) | Standing::Open(Some(steps)) => Some(steps.0.max(1) as f64),
        Standing::NotReached | Standing::Open(None) => None,
    });
    let y = octaves("↑ Steps-to-result", steps);
    let sparsities: BTreeSet<Sparsity> = curves().map(|curve| curve.sparsity).collect();
    let panels = sparsities.iter().map(|&sparsity| panel(&members, sparsity, &x, &y));
    let common = vec![
        group.dataset.clone(),
        group.model.clone(),
        format!("{} learning rate", group.schedule),
        format!("goal error {}", group.goal_error),
    ];
    Some(Figure {
        title: format!("Optimizers side by side, to an error of {}", group.goal_error),
        facts: vec![common],
        description: describe(&members, &sparsities),
        panels: panels.collect(),
        columns: sparsities.len().min(2),
        legend: legend(&members),
        data: data(&members),
    })
}

/// A study with the goal that is compared.
type Member<'a> = (&'a StudyAnswer, &'a GoalAnswer);

fn members<'a>(answer: &'a Answer, group: &Group) -> Vec<Member<'a>> {
    let of = group.studies.iter().filter_map(|curves| {
        let study = answer.studies.iter().find(|it| it.facts.name == curves.study)?;
        let goal = study.goals.iter().find(|it| it.goal_error == group.goal_error)?;
        Some((study, goal))
    });
    of.collect()
}

fn panel(members: &[Member<'_>], sparsity: Sparsity, x: &Axis, y: &Axis) -> Panel {
    let (mut series, mut spans): (Vec<Series>, Vec<Span>) = (Vec::new(), Vec::new());
    for (rank, (study, goal)) in members.iter().enumerate() {
        let colour = colour(sparsity_colour(sparsity), rank, members.len());
        let curve = goal.scaling.curves.iter().find(|it| it.sparsity == sparsity);
        series.extend(curve.map(|curve| {
            let mut series = curve_series(curve, rank_shape(rank), colour);
            for mark in &mut series.marks {
                mark.note = format!("{}, {}", study.facts.name, mark.note);
            }
            series
        }));
        let fitted = goal.curves.curve(sparsity);
        spans.extend(fitted.and_then(|it| {
            let span = critical_span(it, rank_shape(rank), colour)?;
            Some(Span { note: format!("{}, {}", study.facts.name, span.note), ..span })
        }));
    }
    let title = Some(format!("Sparsity {sparsity}"));
    Panel { title, spans, ..Panel::new(x.clone(), y.clone(), series) }
}

/// The colour of a sparsity in as many shades as there are studies, from light to dark.
fn colour(of: Colour, rank: usize, studies: usize) -> Colour {
    shade(of, rank as f64 / (studies.max(2) - 1) as f64)
}

fn legend(members: &[Member<'_>]) -> Vec<LegendGroup> {
    let studies = members.iter().enumerate().map(|(rank, (study, _))| LegendEntry {
        colour: colour(GREY, rank, members.len()),
        stroke: Some(Stroke::Solid),
        mark: Some((rank_shape(rank), false)),
        label: study.facts.name.clone(),
    });
    vec![LegendGroup { title: Some("Study".to_owned()), entries: studies.collect() }]
}

fn told(standing: Standing) -> String {
    match standing {
        Standing::Reached(steps) => grouped(steps.0),
        Standing::Open(Some(steps)) => format!("{} so far", grouped(steps.0)),
        Standing::Open(None) => "open".to_owned(),
        Standing::NotReached => "not reached".to_owned(),
    }
}

fn describe(members: &[Member<'_>], sparsities: &BTreeSet<Sparsity>) -> String {
    let mut sentences = Vec::new();
    for &sparsity in sparsities {
        for (study, goal) in members {
            let curve = goal.scaling.curves.iter().find(|it| it.sparsity == sparsity);
            let Some(Curve { points, .. }) = curve else { continue };
            let points = points.iter().map(|point| {
                format!("{}: {}", grouped(point.batch_size.0.into()), told(point.standing))
            });
            sentences.push(format!(
                "{}, sparsity {sparsity}, steps-to-result by batch size: {}.",
                study.facts.name,
                points.collect::<Vec<_>>().join("; ")
            ));
        }
    }
    sentences.join(" ")
}

fn data(members: &[Member<'_>]) -> Data {
    let columns = ["study", "optimizer", "sparsity", "batch_size", "steps_to_result"];
    let mut data = Data::new(&columns);
    for (study, goal) in members {
        for curve in &goal.scaling.curves {
            for point in &curve.points {
                let steps = match point.standing {
                    Standing::Reached(steps) => Some(steps),
                    Standing::NotReached | Standing::Open(_) => None,
                };
                data.push([
                    study.facts.name.clone(),
                    study.facts.optimizer.clone(),
                    curve.sparsity.share().to_string(),
                    point.batch_size.to_string(),
                    field(steps),
                ]);
            }
        }
    }
    data
}
