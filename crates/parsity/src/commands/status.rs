//! `parsity status`: the table so far.

use super::{colour, print, print_json};
use crate::arguments::Status;
use crate::commands::report::{find, summaries};
use crate::failure::End;
use parsity_analysis::CellSummary;
use parsity_lab::{Store, StoredStudy};
use parsity_report::facts::{protocol, workload};
use parsity_report::{steps_list, steps_matrix};
use parsity_study::StudyFacts;
use serde::Serialize;

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
        let views: Vec<View<'_>> =
            all.iter().map(|(study, cells)| View { facts: &study.facts, cells }).collect();
        match &views[..] {
            [view] => print_json(view)?,
            several => print_json(&serde_json::json!({ "studies": several }))?,
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

/// A study as programs read it.
#[derive(Serialize)]
struct View<'a> {
    #[serde(flatten)]
    facts: &'a StudyFacts,
    cells: &'a [CellSummary],
}

/// The facts, the matrices and the list of a study.
pub(crate) fn text(study: &StoredStudy, cells: &[CellSummary]) -> String {
    format!(
        "{}\n{}\n\n{}\n{}",
        workload(&study.facts).join(" · "),
        protocol(&study.facts).join(" · "),
        steps_matrix(cells, colour()),
        steps_list(cells, colour()).trim_end()
    )
}
