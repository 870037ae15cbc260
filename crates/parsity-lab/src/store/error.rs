//! What a store can refuse, and what to do about it.

use parsity_study::Difference;
use std::path::PathBuf;
use thiserror::Error;

/// Why a store cannot be used.
#[allow(missing_docs)] // The messages say what the fields are.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Nothing to read.
    #[error("there is no store at {}; `parsity run` makes one, `--store FILE` names another", path.display())]
    Missing { path: PathBuf },
    /// Some other file.
    #[error("{} is not a store of Parsity; `--store FILE` names another", path.display())]
    NotAStore { path: PathBuf },
    /// Written by a newer Parsity.
    #[error(
        "{} was written by a newer Parsity (its format is {found}, this one knows up to {known}); \
         use that version, or another store", path.display()
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    /// Written by an older Parsity, and nobody may change it now.
    #[error(
        "{} was written by an older Parsity (its format is {found}, this one reads {known}); \
         `parsity status --store {}` brings it up to date", path.display(), path.display()
    )]
    Older { path: PathBuf, found: i64, known: i64 },
    /// Another run is at work.
    #[error(
        "another run is writing to {}; wait for it, stop it, or give this run a store of its own \
         with `--store FILE`", path.display()
    )]
    InUse { path: PathBuf },
    /// The study's file is not what it was.
    #[error(
        "study `{study}` has records in {} that were made with another study file: {}; give the \
         changed study another name, or use another store", path.display(), listed(.differences)
    )]
    Changed { path: PathBuf, study: String, differences: Vec<Difference> },
    /// The data set is not what it was.
    #[error(
        "study `{study}` has records in {} that were made with other data (SHA-256 {stored}, now \
         {found}); restore the data set, or give the study another name", path.display()
    )]
    OtherData { path: PathBuf, study: String, stored: String, found: String },
    /// No records of such a study.
    #[error("{} has no study `{study}`; it has {}", path.display(), named(.known))]
    NoStudy { path: PathBuf, study: String, known: Vec<String> },
    /// A row that no Parsity wrote.
    #[error("{}: {of}: {column} is `{found}`, expected {expected}", path.display())]
    Corrupt {
        path: PathBuf,
        of: String,
        column: &'static str,
        found: String,
        expected: &'static str,
    },
    /// The lock file cannot be made.
    #[error("locking {}: {source}; its folder must exist, and you must be allowed to write to it", path.display())]
    Lock { path: PathBuf, source: std::io::Error },
    /// A new store cannot be put where it was asked for.
    #[error("making {}: {source}; its folder must be writable", path.display())]
    CannotMake { path: PathBuf, source: std::io::Error },
    /// No room, or not ours to write.
    #[error(
        "{action} {}: {source}; make room there, or see that you may write to it and its folder, \
         then run again: all finished trials are kept", path.display()
    )]
    CannotWrite { action: &'static str, path: PathBuf, source: rusqlite::Error },
    /// SQLite refused.
    #[error("{action} {}: {source}", path.display())]
    Sqlite { action: &'static str, path: PathBuf, source: rusqlite::Error },
}

fn named(studies: &[String]) -> String {
    if studies.is_empty() { "none".to_owned() } else { studies.join(", ") }
}

fn listed(differences: &[Difference]) -> String {
    let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
    let lines = differences.iter().map(|difference| {
        let Difference { key, ours, theirs } = difference;
        format!("{key} was {} and is now {}", side(theirs), side(ours))
    });
    lines.collect::<Vec<_>>().join("; ")
}
