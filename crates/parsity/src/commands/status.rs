//! `parsity status`: the table so far.

use super::{colour, print, print_json};
use crate::arguments::Status;
use crate::commands::report::{facts, find, summaries};
use crate::failure::End;
use parsity_analysis::CellSummary;
use parsity_lab::{Store, StoredStudy};
use parsity_report::{steps_list, steps_matrix};

pub(crate) fn status(arguments: &Status) -> anyhow::Result<End> {
    let store = Store::read(&arguments.store.store)?;
    let studies = match &arguments.study {
        Some(name) => vec![find(&store, name)?],
        None => store.studies()?,
    };
    let mut all = Vec::new();
    for study in &studies {
        all.push((study, summaries(&store, study)?));
    }
    if arguments.json {
        let mut values: Vec<serde_json::Value> =
            all.iter().map(|(study, cells)| to_json(study, cells)).collect();
        match (&arguments.study, values.len()) {
            (None, 0 | 2..) => print_json(&serde_json::json!({ "studies": values }))?,
            _ => print_json(&values.remove(0))?,
        }
        return Ok(End::Done);
    }
    if all.is_empty() {
        print("the store has no study yet")?;
    }
    for (study, cells) in all {
        print(text(study, &cells))?;
    }
    Ok(End::Done)
}

fn to_json(study: &StoredStudy, cells: &[CellSummary]) -> serde_json::Value {
    serde_json::json!({
        "study": study.name,
        "dataset": study.dataset,
        "model": study.model,
        "optimizer": study.optimizer,
        "schedule": study.schedule,
        "goal_error": study.goal_error,
        "step_budget": study.step_budget,
        "check_every": study.check_every,
        "trials": study.trials,
        "cells": cells,
    })
}

/// The facts, the matrix and the list of a study.
pub(crate) fn text(study: &StoredStudy, cells: &[CellSummary]) -> String {
    let facts = facts(study);
    format!(
        "{}\n{}\n\n{}\n{}",
        facts.workload().join(" · "),
        facts.protocol().join(" · "),
        steps_matrix(cells, colour()),
        steps_list(cells, colour()).trim_end()
    )
}
