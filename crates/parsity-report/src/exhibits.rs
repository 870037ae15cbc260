//! All figures of a report, in the order of the page, each with the name of its files.

use crate::figure::Figure;
use crate::optima::draw_optima;
use crate::optimizers::draw_optimizers;
use crate::ratio::draw_ratios;
use crate::scaling::draw_scaling;
use crate::search::draw_search;
use crate::smoothness::{draw_lipschitz, draw_training};
use crate::survivors::draw_survivors;
use crate::work::draw_work;
use parsity_analysis::{Answer, GoalAnswer, Group, StudyAnswer, StudyRecords, alike};
use parsity_study::{SmoothnessRun, Survivors};

/// A figure with its place in the report.
#[derive(Debug, Clone, PartialEq)]
pub struct Exhibit {
    /// The name of its files, without an ending.
    pub name: String,
    /// The heading under which it stands.
    pub heading: String,
    /// The figure.
    pub figure: Figure,
}

/// The figures of `answer`, which is that to `studies`, of the trainings whose smoothness was
/// watched, and of what survived pruning, for the studies of which that is known. Figures that would show nothing are left out, except for the
/// scaling figure, which says why.
pub fn exhibits(
    answer: &Answer,
    studies: &[StudyRecords],
    smoothness: &[SmoothnessRun],
    survivors: &[Survivors],
) -> Vec<Exhibit> {
    let mut all = Vec::new();
    for (study, records) in answer.studies.iter().zip(studies) {
        let mut add = |kind: &str, goal: Option<&GoalAnswer>, figure: Option<Figure>| {
            let (name, heading) = (file_name(kind, answer, study, goal), &study.facts.name);
            all.extend(figure.map(|figure| Exhibit { name, heading: heading.clone(), figure }));
        };
        let facts = &study.facts;
        for (index, goal) in study.goals.iter().enumerate() {
            let fitted = &goal.curves.curves;
            let scaling = draw_scaling(facts, goal.goal_error, &goal.scaling, fitted);
            add("scaling", Some(goal), Some(scaling));
            add("ratio", Some(goal), draw_ratios(facts, goal));
            add("metaparameters", Some(goal), draw_optima(facts, goal));
            let search = draw_search(facts, index, &records.cells, &records.records);
            add("search", Some(goal), search);
        }
        let pruned = survivors.iter().find(|it| it.study == study.facts.name);
        add("survivors", None, pruned.and_then(|it| draw_survivors(study, it)));
        add("work", None, draw_work(study));
    }
    all.splice(0..0, optimizers(answer));
    all.extend(watched(smoothness));
    all
}

/// The figures that compare studies, which come first: that is what several were given for.
fn optimizers(answer: &Answer) -> Vec<Exhibit> {
    let figures = answer.groups.iter();
    let figures: Vec<(&Group, Figure)> =
        figures.filter_map(|group| Some((group, draw_optimizers(answer, group)?))).collect();
    let several = figures.len() > 1;
    let exhibit = |(group, figure): (&Group, Figure)| {
        let Group { dataset, model, schedule, goal_error, .. } = group;
        let more = format!("-{}-{}-{schedule}-{goal_error}", file_safe(dataset), file_safe(model));
        let name = format!("optimizers{}", if several { &more } else { "" });
        Exhibit { name, heading: "Studies compared".to_owned(), figure }
    };
    figures.into_iter().map(exhibit).collect()
}

/// The figures of watched trainings, for each set of them that differ in sparsity only.
fn watched(smoothness: &[SmoothnessRun]) -> Vec<Exhibit> {
    let mut all = Vec::new();
    for (index, set) in alike(smoothness).iter().enumerate() {
        for (kind, figure) in [("lipschitz", draw_lipschitz(set)), ("training", draw_training(set))]
        {
            let name = if index == 0 { kind.to_owned() } else { format!("{kind}-{}", index + 1) };
            let heading = "Smoothness".to_owned();
            all.extend(figure.map(|figure| Exhibit { name, heading, figure }));
        }
    }
    all
}

/// The name of a data set or a model, which may be a path, as part of a file's name.
fn file_safe(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or("unnamed");
    last.chars()
        .map(|it| if it.is_alphanumeric() || "-_.".contains(it) { it } else { '-' })
        .collect()
}

/// The name of a file about a study, or about one of its goals: as short as it is
/// unmistakable.
pub(crate) fn file_name(
    kind: &str,
    answer: &Answer,
    study: &StudyAnswer,
    goal: Option<&GoalAnswer>,
) -> String {
    let mut name = String::new();
    if answer.studies.len() > 1 {
        name += &format!("{}-", study.facts.name);
    }
    name += kind;
    match goal {
        Some(goal) if study.goals.len() > 1 => name + &format!("-{}", goal.goal_error),
        _ => name,
    }
}
