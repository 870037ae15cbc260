//! Raw records for other programs: one row per trial, or one per goal check.
//!
//! Apart from the report: nothing here is derived, and nothing is rounded. [`table`] says
//! once which columns there are; each format merely writes them down.

pub mod csv;
pub mod json;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod table;

use crate::files::{ReportError, make_folder, replace};
use parsity_analysis::StudyRecords;
use std::io::{self, Write};
use std::path::Path;
use table::Table;

/// How tables are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values, with a line of names.
    Csv,
    /// A list of objects, one on a line.
    Json,
    /// Columns, in binary.
    #[cfg(feature = "parquet")]
    Parquet,
}

impl Format {
    /// Its name, and how files of it end.
    pub fn name(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Json => "json",
            #[cfg(feature = "parquet")]
            Format::Parquet => "parquet",
        }
    }

    /// Writes a table of `studies`, which stand in it one after the other.
    pub fn write(
        self,
        table: Table,
        studies: &[StudyRecords],
        out: &mut (dyn Write + Send),
    ) -> io::Result<()> {
        let (columns, rows) = (table.columns(studies), table.rows(studies));
        match self {
            Format::Csv => csv::write(&columns, rows, out),
            Format::Json => json::write(&columns, rows, out),
            #[cfg(feature = "parquet")]
            Format::Parquet => parquet::write(table.name(), &columns, rows, out),
        }
    }

    /// Writes a table of `studies` into a file, whose folder is made if it is missing. A file
    /// that was there before is replaced as a whole or not at all.
    pub fn write_file(
        self,
        table: Table,
        studies: &[StudyRecords],
        path: &Path,
    ) -> Result<(), ReportError> {
        if let Some(folder) = path.parent() {
            make_folder(folder)?;
        }
        replace(path, |file| self.write(table, studies, file))
    }
}
