//! `parsity report`: the answer to studies, as a page with figures and tables.

use super::{print, print_json};
use crate::arguments::Report;
use crate::failure::End;
use crate::words::things;
use parsity_analysis::{Answer, CellSummary, summarize};
use parsity_lab::{Store, StoreError, StoredStudy, find_study, gather};
use parsity_report::{opening, write_report};
use parsity_study::Evidence;
use std::path::{Path, PathBuf};

pub(crate) fn report(arguments: &Report) -> anyhow::Result<End> {
    let store = Store::read(&arguments.store.store)?;
    let studies = find_all(&store, &arguments.studies)?;
    let default = || match &studies[..] {
        [one] => PathBuf::from(format!("{}-report", one.facts.name)),
        _ => PathBuf::from("parsity-report"),
    };
    let out = arguments.out.clone().unwrap_or_else(default);
    let written = write(&store, &studies, &out)?;
    match arguments.json {
        true => print_json(&written.answer)?,
        false => print(written.text())?,
    }
    Ok(End::Done)
}

/// A report that was written.
pub(crate) struct Written {
    answer: Answer,
    /// The page first.
    files: Vec<PathBuf>,
}

impl Written {
    /// The answer in sentences, and where to read on.
    pub(crate) fn text(&self) -> String {
        let [page, others @ ..] = &self.files[..] else { return String::new() };
        format!(
            "{}\n\nReport: {} (and {} beside it)",
            opening(&self.answer).join("\n"),
            page.display(),
            things(others.len() as u64, "file")
        )
    }
}

/// The study that is named, by its name in the store or as everywhere else.
pub(crate) fn find(store: &Store, name: &str) -> anyhow::Result<StoredStudy> {
    match store.study(name) {
        Err(StoreError::NoStudy { .. }) if Path::new(name).is_file() => {
            Ok(store.study(find_study(name)?.study.name())?)
        }
        found => Ok(found?),
    }
}

/// The studies that are named; one that is named twice is one study.
pub(crate) fn find_all(store: &Store, names: &[String]) -> anyhow::Result<Vec<StoredStudy>> {
    let mut studies: Vec<StoredStudy> = Vec::new();
    for name in names {
        let study = find(store, name)?;
        if studies.iter().all(|it| it.facts.name != study.facts.name) {
            studies.push(study);
        }
    }
    Ok(studies)
}

/// Writes the report of studies.
pub(crate) fn write(store: &Store, studies: &[StoredStudy], out: &Path) -> anyhow::Result<Written> {
    let Evidence { studies, smoothness, survivors } = gather(store, studies)?;
    let answer = Answer::of(&studies, &smoothness);
    let files = write_report(out, &answer, &studies, &smoothness, &survivors)?;
    Ok(Written { answer, files })
}

/// The summaries of a stored study's cells, goal by goal.
pub(crate) fn summaries(store: &Store, study: &StoredStudy) -> anyhow::Result<Vec<CellSummary>> {
    let records = store.records(study, false)?;
    Ok(summarize(&study.facts, &study.cells(), &records))
}
