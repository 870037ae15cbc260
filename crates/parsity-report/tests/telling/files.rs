//! The files of a report.

use crate::specimen::{facts, study, summary, theory, with_looser_goal};
use parsity_analysis::Standing;
use parsity_report::{ReportError, write_report};
use parsity_study::Steps;
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
fn several_goals_have_a_figure_each_and_one_table() {
    let folder = tempfile::tempdir().unwrap();
    let cells = [summary(8, 0.0, Standing::Reached(Steps(640)))];
    let (facts, summaries) = with_looser_goal("specimen", &cells);
    let paths = write_report(folder.path(), &facts, &summaries).unwrap();
    let names: Vec<_> = paths.iter().map(|path| path.file_name().unwrap()).collect();
    let expected = ["scaling-0.05.svg", "scaling-0.05.png", "scaling-0.02.svg", "scaling-0.02.png"];
    assert_eq!(names[..4], expected);
    assert_eq!(names[4..], ["steps-to-result.csv"]);
    let figure = |index: usize| fs::read_to_string(&paths[index]).unwrap();
    for (index, goal, steps) in [(0, "0.05", "320 steps"), (2, "0.02", "640 steps")] {
        assert!(figure(index).contains(&format!("an error of {goal}")));
        assert!(figure(index).contains(&format!("batch size 8, sparsity 0 %: {steps}")), "{steps}");
    }
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
