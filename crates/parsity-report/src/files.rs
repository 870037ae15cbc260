//! The files of a report, written so that a reader never finds half of one.

use crate::exhibits::{Exhibit, exhibits, file_name};
use crate::figure::Figure;
use crate::page::page;
use crate::png::png;
use crate::svg::svg;
use crate::table::steps_csv;
use crate::tables;
use parsity_analysis::{Answer, CellSummary, StudyRecords};
use parsity_study::{SmoothnessRun, Survivors};
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

/// Writes the report of `answer`, which is that to `studies`, into `folder`, which is made if
/// it is missing, and returns the paths, the page first: `index.html`, each figure as SVG, PNG
/// and CSV, the tables as CSV, and `answer.json`. With several studies, the names of files
/// about one of them start with its name; with several goals, the names of figures about one
/// of them end with it, such as `scaling-0.14.svg`. Files that were there before are replaced
/// as a whole or not at all.
pub fn write_report(
    folder: &Path,
    answer: &Answer,
    studies: &[StudyRecords],
    smoothness: &[SmoothnessRun],
    survivors: &[Survivors],
) -> Result<Vec<PathBuf>, ReportError> {
    let exhibits = exhibits(answer, studies, smoothness, survivors);
    let mut files = Vec::new();
    for Exhibit { name, figure, .. } in &exhibits {
        files.extend(figure_files(name, figure));
    }
    files.extend(tables_of(answer));
    let tables: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let page = page(answer, &exhibits, &tables);
    files.insert(0, ("index.html".to_owned(), page.into_bytes()));
    write_all(folder, files)
}

/// The tables of a report and `answer.json`, each with the name of its file.
pub fn tables_of(answer: &Answer) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for study in &answer.studies {
        let goals = study.goals.iter().flat_map(|goal| &goal.cells);
        let summaries: Vec<CellSummary> = goals.map(|cell| cell.summary.clone()).collect();
        let name = file_name("steps-to-result", answer, study, None);
        files.push((format!("{name}.csv"), steps_csv(&summaries).into_bytes()));
    }
    for (name, data) in [
        ("fits", tables::fits(answer)),
        ("ratios", tables::ratios(answer)),
        ("claims", tables::claims(answer)),
        ("findings", tables::findings(answer)),
    ] {
        files.push((format!("{name}.csv"), data.csv().into_bytes()));
    }
    let mut json = serde_json::to_vec_pretty(answer).expect("an answer has text for keys");
    json.push(b'\n');
    files.push(("answer.json".to_owned(), json));
    files
}

/// Writes a figure into `folder` as SVG, PNG and CSV of that name, and returns the paths.
pub fn write_figure(
    folder: &Path,
    name: &str,
    figure: &Figure,
) -> Result<Vec<PathBuf>, ReportError> {
    write_all(folder, figure_files(name, figure).into())
}

fn figure_files(name: &str, figure: &Figure) -> [(String, Vec<u8>); 3] {
    [
        (format!("{name}.svg"), svg(figure).into_bytes()),
        (format!("{name}.png"), png(figure)),
        (format!("{name}.csv"), figure.data.csv().into_bytes()),
    ]
}

/// Writes files into `folder`, which is made if it is missing.
fn write_all(folder: &Path, files: Vec<(String, Vec<u8>)>) -> Result<Vec<PathBuf>, ReportError> {
    make_folder(folder)?;
    let written = files.into_iter().map(|(name, bytes)| {
        let path = folder.join(name);
        replace(&path, |file| file.write_all(&bytes))?;
        Ok(path)
    });
    written.collect()
}

/// Makes a folder, if it is missing.
pub(crate) fn make_folder(folder: &Path) -> Result<(), ReportError> {
    fs::create_dir_all(folder)
        .map_err(|source| ReportError::Folder { path: folder.to_owned(), source })
}

/// Lets `write` fill a new file beside `path`, which then takes its name.
pub(crate) fn replace(
    path: &Path,
    write: impl FnOnce(&mut fs::File) -> io::Result<()>,
) -> Result<(), ReportError> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let beside = PathBuf::from(name);
    let written = fs::File::create(&beside).and_then(|mut file| {
        write(&mut file)?;
        file.sync_all()
    });
    let renamed = written.and_then(|()| fs::rename(&beside, path));
    if renamed.is_err() {
        // The first error is the one to tell; a file that was never made cannot be removed.
        let _ = fs::remove_file(&beside);
    }
    renamed.map_err(|source| ReportError::File { path: path.to_owned(), source })
}
