//! The files of a report, written so that a reader never finds half of one.

use crate::png::png;
use crate::scaling::draw_scaling;
use crate::svg::svg;
use crate::table::steps_csv;
use parsity_analysis::{CellSummary, Scaling, by_goal};
use parsity_study::StudyFacts;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a report could not be written.
#[derive(Debug, Error)]
pub enum ReportError {
    /// The folder for the report cannot be made.
    #[error(
        "cannot make the folder {} for the report; choose another folder, or one you may write to",
        path.display()
    )]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file of the report cannot be written.
    #[error(
        "cannot write {}; its folder must be writable, with room on the disk, and no folder may \
         have that name",
        path.display()
    )]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Writes `scaling.svg`, `scaling.png` and `steps-to-result.csv` into `folder`, which is made
/// if it is missing, and returns their paths. A study with several goals has a figure for
/// each, such as `scaling-0.14.svg`. Files that were there before are replaced as a whole or
/// not at all.
pub fn write_report(
    folder: &Path,
    facts: &StudyFacts,
    summaries: &[CellSummary],
) -> Result<Vec<PathBuf>, ReportError> {
    let mut files = Vec::new();
    for &goal in &facts.goal_errors {
        let name = match facts.goal_errors.len() {
            1 => "scaling".to_owned(),
            _ => format!("scaling-{goal}"),
        };
        let cells = by_goal(summaries).find(|(of, _)| *of == goal).map_or(&[][..], |(_, it)| it);
        let figure = draw_scaling(facts, goal, &Scaling::of(cells));
        files.push((format!("{name}.svg"), svg(&figure).into_bytes()));
        files.push((format!("{name}.png"), png(&figure)));
    }
    files.push(("steps-to-result.csv".to_owned(), steps_csv(summaries).into_bytes()));
    fs::create_dir_all(folder)
        .map_err(|source| ReportError::Folder { path: folder.to_owned(), source })?;
    let written = files.into_iter().map(|(name, bytes)| {
        let path = folder.join(name);
        match replace(&path, &bytes) {
            Ok(()) => Ok(path),
            Err(source) => Err(ReportError::File { path, source }),
        }
    });
    written.collect()
}

/// Puts `bytes` into a new file beside `path`, which then takes its name.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let beside = PathBuf::from(name);
    let written = fs::File::create(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let renamed = written.and_then(|()| fs::rename(&beside, path));
    if renamed.is_err() {
        // The first error is the one to tell; a file that was never made cannot be removed.
        let _ = fs::remove_file(&beside);
    }
    renamed
}
