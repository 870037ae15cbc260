//! All figures of a report, in the order of the page, each with the name of its files.

use crate::figure::Figure;
use crate::scaling::draw_scaling;
use parsity_analysis::{Answer, GoalAnswer, StudyAnswer, StudyRecords};
use parsity_study::SmoothnessRun;

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

/// The figures of `answer`, which is that to `studies`, and of the trainings whose
/// smoothness was watched. Figures that would show nothing are left out, except for the
/// scaling figure, which says why.
pub fn exhibits(
    answer: &Answer,
    studies: &[StudyRecords],
    smoothness: &[SmoothnessRun],
) -> Vec<Exhibit> {
    let _ = (studies, smoothness);
    let mut all = Vec::new();
    for study in &answer.studies {
        let heading = &study.facts.name;
        let mut add = |name: String, figure: Figure| {
            all.push(Exhibit { name, heading: heading.clone(), figure });
        };
        for goal in &study.goals {
            let fitted = &goal.curves.curves;
            let name = file_name("scaling", answer, study, Some(goal));
            add(name, draw_scaling(&study.facts, goal.goal_error, &goal.scaling, fitted));
        }
    }
    all
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
