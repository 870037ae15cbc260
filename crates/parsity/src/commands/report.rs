//! `parsity report`: figures and tables of a study.

use super::print;
use crate::arguments::Report;
use crate::failure::End;
use parsity_analysis::{CellSummary, summarize};
use parsity_lab::{Store, StoreError, StoredStudy, find_study};
use parsity_report::write_report;
use std::path::{Path, PathBuf};

pub(crate) fn report(arguments: &Report) -> anyhow::Result<End> {
    let path = &arguments.store.store;
    let study = find(&Store::read(path)?, &arguments.study)?;
    let default = || PathBuf::from(format!("{}-report", study.facts.name));
    let out = arguments.out.clone().unwrap_or_else(default);
    for file in write(&study.facts.name, path, &out)? {
        print(file)?;
    }
    Ok(End::Done)
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

/// Writes the report of a study; returns the files.
pub(crate) fn write(study: &str, path: &Path, out: &Path) -> anyhow::Result<Vec<String>> {
    let store = Store::read(path)?;
    let stored = store.study(study)?;
    let cells = summaries(&store, &stored)?;
    let files = write_report(out, &stored.facts, &cells)?;
    Ok(files.iter().map(|file| file.display().to_string()).collect())
}

/// The summaries of a stored study's cells, goal by goal.
pub(crate) fn summaries(store: &Store, study: &StoredStudy) -> anyhow::Result<Vec<CellSummary>> {
    let records = store.records(study, false)?;
    Ok(summarize(&study.facts, &study.cells(), &records))
}
