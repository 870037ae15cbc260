//! The tables of a report: fits, ratios, claims and findings, over all studies.

use crate::data::{Data, field};
use crate::numerals::significant;
use crate::ratio::{self, RATIO_COLUMNS};
use parsity_analysis::{Answer, Better, Estimate, Fit, Form, GoalAnswer, StudyAnswer};

/// An estimate as three fields. An end that the data do not bound is empty.
fn three(estimate: &Estimate) -> [String; 3] {
    [estimate.value, estimate.low, estimate.high]
        .map(|number| field(number.is_finite().then(|| significant(number))))
}

fn goals(answer: &Answer) -> impl Iterator<Item = (&StudyAnswer, &GoalAnswer)> {
    answer.studies.iter().flat_map(|study| study.goals.iter().map(move |goal| (study, goal)))
}

/// Both forms of every scaling law.
pub fn fits(answer: &Answer) -> Data {
    let mut data = Data::new(&[
        "study",
        "goal_error",
        "sparsity",
        "form",
        "better",
        "critical_batch_size",
        "critical_batch_size_low",
        "critical_batch_size_high",
        "c1",
        "c1_low",
        "c1_high",
        "c2",
        "c2_low",
        "c2_high",
        "scatter",
        "log_likelihood",
        "readings",
    ]);
    for (study, goal) in goals(answer) {
        for curve in &goal.curves.curves {
            let Some(law) = &curve.law else { continue };
            for fit in [&law.smooth, &law.knee] {
                let better = match law.better() {
                    Better::Clearly(form) if form == fit.form => "yes",
                    Better::Clearly(_) => "no",
                    Better::Undecided => "undecided",
                };
                let start = [
                    study.facts.name.clone(),
                    goal.goal_error.to_string(),
                    curve.sparsity.share().to_string(),
                    form_name(fit.form).to_owned(),
                    better.to_owned(),
                ];
                data.rows.push(fit_row(start, fit));
            }
        }
    }
    data
}

fn fit_row(start: [String; 5], fit: &Fit) -> Vec<String> {
    let mut row = Vec::from(start);
    for estimate in [&fit.critical_batch_size, &fit.c1, &fit.c2] {
        row.extend(three(estimate));
    }
    row.extend([significant(fit.scatter), significant(fit.log_likelihood)]);
    row.push(fit.bounded.to_string());
    row
}

/// The name of a form, in tables.
pub fn form_name(form: Form) -> &'static str {
    match form {
        Form::Smooth => "smooth",
        Form::Knee => "knee",
    }
}

/// The steps of each pruned network over those of the dense one, batch size by batch size.
pub fn ratios(answer: &Answer) -> Data {
    let mut data = Data::new(&["study", "goal_error"]);
    data.columns.extend(RATIO_COLUMNS);
    for (study, goal) in goals(answer) {
        for row in ratio::data(goal).rows {
            let start = [study.facts.name.clone(), goal.goal_error.to_string()];
            data.rows.push(start.into_iter().chain(row).collect());
        }
    }
    data
}

/// Every statement of every claim, a row for each number that it was tested with.
pub fn claims(answer: &Answer) -> Data {
    let mut data = Data::new(&[
        "dataset",
        "model",
        "schedule",
        "goal_error",
        "claim",
        "claim_verdict",
        "statement",
        "verdict",
        "evidence",
        "value",
        "low",
        "high",
    ]);
    for group in &answer.groups {
        for claim in &group.claims {
            let start = [
                group.dataset.clone(),
                group.model.clone(),
                group.schedule.clone(),
                group.goal_error.to_string(),
                claim.number.to_string(),
                claim.verdict.to_string(),
            ];
            for statement in &claim.statements {
                let mut row = Vec::from(start.clone());
                row.extend([statement.says.clone(), statement.verdict.to_string()]);
                for evidence in &statement.evidence {
                    let mut row = row.clone();
                    row.push(evidence.name.to_owned());
                    row.extend(three(&evidence.estimate));
                    data.rows.push(row);
                }
                if statement.evidence.is_empty() {
                    row.resize(data.columns.len(), String::new());
                    data.rows.push(row);
                }
            }
            if claim.statements.is_empty() {
                let mut row = Vec::from(start);
                row.resize(data.columns.len(), String::new());
                data.rows.push(row);
            }
        }
    }
    data
}

/// Every finding, with what to do next.
pub fn findings(answer: &Answer) -> Data {
    let mut data = Data::new(&["study", "goal_error", "finding", "next_action"]);
    for (study, goal) in goals(answer) {
        for finding in &goal.findings {
            data.push([
                study.facts.name.clone(),
                goal.goal_error.to_string(),
                finding.to_string(),
                finding.next_action(),
            ]);
        }
    }
    data
}
