//! The files of a report.

use crate::specimen::{facts, theory, theory_of_sgd};
use crate::trials::{searched, trials, with_two_goals};
use parsity_analysis::{Answer, StudyRecords};
use parsity_report::{ReportError, write_report};
use parsity_study::Optimizer;
use std::fs;
use std::path::{Path, PathBuf};

fn written(folder: &Path, studies: &[StudyRecords]) -> Result<Vec<PathBuf>, ReportError> {
    write_report(folder, &Answer::of(studies, &[]), studies, &[], &[])
}

fn specimen() -> StudyRecords {
    trials(facts("specimen"), 3..=6, &[0.0, 0.9], theory)
}

fn names(paths: &[PathBuf]) -> Vec<&str> {
    paths.iter().filter_map(|path| path.file_name()?.to_str()).collect()
}

#[test]
fn a_report_is_a_page_with_its_figures_and_tables_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a/b");
    let paths = written(&out, &[specimen()]).unwrap();
    assert_eq!(names(&paths)[..4], ["index.html", "scaling.svg", "scaling.png", "scaling.csv"]);
    for file in ["steps-to-result.csv", "fits.csv", "ratios.csv", "claims.csv", "findings.csv"] {
        assert!(names(&paths).contains(&file), "{file}");
    }
    assert_eq!(names(&paths).last(), Some(&"answer.json"));
    assert_eq!(fs::read_dir(&out).unwrap().count(), paths.len());
    assert!(paths.iter().all(|path| fs::metadata(path).unwrap().len() > 0));
}

#[test]
fn several_goals_have_a_figure_each_and_one_table() {
    let folder = tempfile::tempdir().unwrap();
    let study = with_two_goals(trials(facts("specimen"), 3..=3, &[0.0], theory));
    let paths = written(folder.path(), &[study]).unwrap();
    let scaling: Vec<_> = names(&paths).into_iter().filter(|it| it.starts_with("scal")).collect();
    assert_eq!(
        scaling.iter().filter(|it| it.ends_with("svg")).collect::<Vec<_>>(),
        [&"scaling-0.05.svg", &"scaling-0.02.svg"]
    );
    let steps = names(&paths).into_iter().filter(|it| it.starts_with("steps"));
    assert_eq!(steps.collect::<Vec<_>>(), ["steps-to-result.csv"]);
    for (goal, steps) in [("0.05", "4,544 steps"), ("0.02", "9,088 steps")] {
        let file = folder.path().join(format!("scaling-{goal}.svg"));
        let figure = fs::read_to_string(file).unwrap();
        assert!(figure.contains(&format!("an error of {goal}")));
        assert!(figure.contains(&format!("batch size 8, sparsity 0 %: {steps}")), "{figure}");
    }
}

#[test]
fn with_several_studies_the_names_of_files_tell_them_apart() {
    let folder = tempfile::tempdir().unwrap();
    let studies = [
        trials(searched("a", Optimizer::Sgd), 3..=8, &[0.0, 0.9], theory_of_sgd),
        with_two_goals(trials(searched("b", Optimizer::Momentum), 3..=8, &[0.0, 0.9], theory)),
    ];
    let paths = written(folder.path(), &studies).unwrap();
    for file in ["a-scaling.svg", "b-scaling-0.05.svg", "b-steps-to-result.csv", "fits.csv"] {
        assert!(names(&paths).contains(&file), "{file}");
    }
    let mut unique = names(&paths);
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), paths.len());
}

#[test]
fn writing_again_replaces_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("steps-to-result.csv");
    fs::write(&table, "old").unwrap();
    written(folder.path(), &[specimen()]).unwrap();
    assert!(fs::read_to_string(table).unwrap().starts_with("batch_size,"));
}

#[test]
fn a_file_that_cannot_be_written_is_named_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let blocked = folder.path().join("scaling.svg");
    fs::create_dir(&blocked).unwrap();
    let error = written(folder.path(), &[specimen()]).unwrap_err();
    assert!(matches!(&error, ReportError::File { path, .. } if *path == blocked), "{error}");
    assert!(error.to_string().contains("scaling.svg"), "{error}");
    let left = fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name());
    assert!(!left.into_iter().any(|it| it.to_string_lossy().ends_with(".tmp")));
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let blocked = folder.path().join("report");
    fs::write(&blocked, "a file").unwrap();
    let error = written(&blocked, &[specimen()]).unwrap_err();
    assert!(matches!(&error, ReportError::Folder { path, .. } if *path == blocked), "{error}");
}
