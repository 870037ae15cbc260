//! Questions: built-in studies, files, plans.

use crate::{Desk, STUDY};

#[test]
fn every_built_in_study_can_be_saved_and_planned() {
    let desk = Desk::new();
    let studies = desk.json("studies --json");
    let names: Vec<&str> =
        studies.as_array().unwrap().iter().map(|study| study["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"mnist-sgd") && names.contains(&"cifar10-momentum-constant"));
    for name in names {
        desk.write("saved.toml", &desk.ok(&format!("studies show {name}")));
        let plan = desk.json("plan saved.toml --json --sparsities 0.9 --batch-sizes 16384");
        assert_eq!(plan["study"], *name);
        assert_eq!(plan["cells"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn a_plan_shows_cells_trials_points_and_work() {
    let desk = Desk::new();
    let plan = desk.json("plan study.toml --json");
    assert_eq!(plan["cells"].as_array().unwrap().len(), 4);
    assert_eq!(plan["total_at_most"]["trials"], 16);
    assert_eq!(plan["search_points"].as_array().unwrap().len(), 4);
    assert!((plan["search_points"][0]["learning_rate"].as_f64().unwrap() - 0.01).abs() < 1e-12);
    assert!(plan["seconds_at_most"].as_f64().unwrap() > 0.0);
    let text = desk.ok("plan study.toml --trials 2 --batch-sizes 64");
    assert!(
        text.contains("2 cells = 1 batch size × 2 sparsities; 2 trials each: 4 trials"),
        "{text}"
    );
}

#[test]
fn the_schema_knows_every_key_of_a_study_file() {
    let schema = Desk::new().json("studies schema");
    let keys: toml::Table = STUDY.parse().unwrap();
    for key in keys.keys() {
        assert!(schema["properties"].get(key).is_some(), "{key}");
    }
}

#[test]
fn every_command_has_help_with_an_example() {
    let desk = Desk::new();
    for command in [
        "quickstart",
        "studies",
        "studies show",
        "studies schema",
        "plan",
        "run",
        "status",
        "report",
        "train",
        "prune",
        "bench",
        "data",
        "data list",
        "data fetch",
        "data verify",
        "data where",
    ] {
        let help = desk.ok(&format!("{command} --help"));
        assert!(help.contains("Example"), "{command}\n{help}");
    }
}
