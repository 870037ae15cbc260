//! The files of a report.

use crate::specimen::{facts, study, theory};
use parsity_report::{ReportError, write_report};
use std::fs;

#[test]
fn a_report_is_three_files_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a/b");
    let summaries = study(3..=6, &[0.0, 0.9], theory);
    let paths = write_report(&out, &facts("specimen"), &summaries).unwrap();
    let expected = ["scaling.svg", "scaling.png", "steps-to-result.csv"].map(|name| out.join(name));
    assert_eq!(paths, expected);
    assert_eq!(fs::read_dir(&out).unwrap().count(), 3);
    assert!(paths.iter().all(|path| fs::metadata(path).unwrap().len() > 0));
}

#[test]
fn writing_again_replaces_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("steps-to-result.csv");
    fs::write(&table, "old").unwrap();
    write_report(folder.path(), &facts("specimen"), &[]).unwrap();
    assert!(fs::read_to_string(table).unwrap().starts_with("batch_size,"));
}

#[test]
fn a_file_that_cannot_be_written_is_named_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let blocked = folder.path().join("scaling.svg");
    fs::create_dir(&blocked).unwrap();
    let error = write_report(folder.path(), &facts("specimen"), &[]).unwrap_err();
    assert!(matches!(&error, ReportError::File { path, .. } if *path == blocked), "{error}");
    assert!(error.to_string().contains("scaling.svg"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let blocked = folder.path().join("report");
    fs::write(&blocked, "a file").unwrap();
    let error = write_report(&blocked, &facts("specimen"), &[]).unwrap_err();
    assert!(matches!(&error, ReportError::Folder { path, .. } if *path == blocked), "{error}");
}
