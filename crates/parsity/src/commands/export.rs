//! `parsity export`: raw records for other programs.

use super::print;
use super::report::find_all;
use crate::arguments::{Export, FormatArgument, TableArgument};
use crate::failure::{End, WrongRequest};
use clap::ValueEnum;
use parsity_analysis::StudyRecords;
use parsity_lab::Store;
use parsity_report::{Format, Table};
use std::path::{Path, PathBuf};

pub(crate) fn export(arguments: &Export) -> anyhow::Result<End> {
    let format = format(arguments.format)?;
    let asked = arguments.table.map(table);
    let tables = match &arguments.out {
        None => vec![(asked.unwrap_or(Table::Records), None)],
        Some(path) => destinations(path, format, asked)?
            .into_iter()
            .map(|(table, path)| (table, Some(path)))
            .collect(),
    };
    let observed = tables.iter().any(|(table, _)| *table == Table::Observations);
    let store = Store::read(&arguments.store.store)?;
    let mut studies = Vec::new();
    for study in find_all(&store, &arguments.studies)? {
        let (cells, records) = (study.cells(), store.records(&study, observed)?);
        studies.push(StudyRecords { facts: study.facts, cells, records, memory: None });
    }
    for (table, path) in tables {
        match path {
            None => format.write(table, &studies, &mut std::io::stdout())?,
            Some(path) => {
                format.write_file(table, &studies, &path)?;
                print(format!("Written: {}", path.display()))?;
            }
        }
    }
    Ok(End::Done)
}

fn table(asked: TableArgument) -> Table {
    match asked {
        TableArgument::Records => Table::Records,
        TableArgument::Observations => Table::Observations,
    }
}

/// The format, if this program has it.
fn format(asked: FormatArgument) -> Result<Format, WrongRequest> {
    match asked {
        FormatArgument::Csv => Ok(Format::Csv),
        FormatArgument::Json => Ok(Format::Json),
        #[cfg(feature = "parquet")]
        FormatArgument::Parquet => Ok(Format::Parquet),
        #[cfg(not(feature = "parquet"))]
        FormatArgument::Parquet => Err(WrongRequest(
            "this parsity was built without Parquet; build it with `cargo build --release \
             --features parquet`, or export csv or json"
                .to_owned(),
        )),
    }
}

/// Which tables go where: a path that ends as files of the format do is one, any other is a
/// folder for both tables.
fn destinations(
    path: &Path,
    format: Format,
    asked: Option<Table>,
) -> Result<Vec<(Table, PathBuf)>, WrongRequest> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if !path.is_dir() && ending == format.name() {
        return Ok(vec![(asked.unwrap_or(Table::Records), path.to_owned())]);
    }
    if !path.is_dir() && FormatArgument::from_str(ending, false).is_ok() {
        return Err(WrongRequest(format!(
            "{} would hold {}, not {ending}; add `--format {ending}`, or name a file that ends in \
             .{}, or a folder",
            path.display(),
            format.name(),
            format.name()
        )));
    }
    let tables = asked.map_or(Table::ALL.to_vec(), |table| vec![table]);
    let file = |table: Table| path.join(format!("{}.{}", table.name(), format.name()));
    Ok(tables.into_iter().map(|table| (table, file(table))).collect())
}
