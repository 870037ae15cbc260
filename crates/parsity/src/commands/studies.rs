//! `parsity studies`: the questions that are built in.

use super::{print, print_json};
use crate::arguments::{Studies, StudiesAction};
use crate::failure::End;
use parsity_lab::LabError;
use parsity_study::{builtin, nearest, schema};

pub(crate) fn studies(arguments: &Studies) -> anyhow::Result<End> {
    match &arguments.action {
        None => list(arguments.json)?,
        Some(StudiesAction::Schema) => print(schema())?,
        Some(StudiesAction::Show { name }) => {
            let names = builtin::all().iter().map(|study| study.name);
            let text = builtin::text(name).ok_or_else(|| LabError::NoStudy {
                name: name.clone(),
                nearest: nearest(name, names),
            })?;
            print(text.trim_end())?;
        }
    }
    Ok(End::Done)
}

fn list(json: bool) -> anyhow::Result<()> {
    if json {
        let all = builtin::all()
            .iter()
            .map(|study| serde_json::json!({ "name": study.name, "summary": study.summary() }));
        return print_json(&all.collect::<Vec<_>>());
    }
    let rows = builtin::all().iter().map(|study| [study.name.to_owned(), study.summary()]);
    print(super::table(["study", "question"], 2, rows.collect()))
}
