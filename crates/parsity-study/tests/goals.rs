//! Goals, check intervals and the protocol: how a study file says them, what is refused,
//! and what of them is part of a trial's identity.

use parsity_study::{
    BatchSize, Cell, ErrorRate, ModelFile, Plan, Protocol, Sparsity, Study, StudyFacts, StudyFile,
    builtin, model, schema,
};

/// A study file; each case puts its own lines first.
const REST: &str = r#"name = "mine"
dataset = "mnist"
model = "simple-cnn"
optimizer = "sgd"
step_budget = 40000
batch_sizes = [2, 512, 1024, 16384]
sparsities = [0]
trials = 100
"#;

const GOAL: &str = "goal_error = 0.02";
const EVERY_16: &str = "check_every = 16";
const RANGES: &str =
    "check_every = [{ from_batch_size = 1024, steps = 4 }, { from_batch_size = 2, steps = 16 }]";

fn study(lines: [&str; 2]) -> Study {
    let text = format!("{}\n{REST}", lines.join("\n"));
    let file = StudyFile::parse("study.toml", &text).expect("a correct file");
    let model = model::builtin(&file.model).expect("a built-in model");
    Study::new(file, ModelFile::parse("model.toml", model).expect("correct")).expect("correct")
}

fn message(lines: [&str; 2]) -> String {
    let text = format!("{}\n{REST}", lines.join("\n"));
    StudyFile::parse("study.toml", &text).expect_err("a bad study file").to_string()
}

fn id(study: &Study, batch_size: u32) -> String {
    let cell = Cell { batch_size: BatchSize(batch_size), sparsity: Sparsity::DENSE };
    study.trial(cell, 0).id().to_string()
}

#[test]
fn goals_are_given_once_in_one_of_two_ways() {
    for (goals, expected) in [
        (
            "",
            "1:1: missing key `goal_error`: it has no default, so add it, or a list `goal_errors`",
        ),
        (
            "goal_error = 0.02\ngoal_errors = [0.14, 0.12]",
            "2:15: `goal_errors` is given, but so is `goal_error`: keep the one or the other",
        ),
        ("goal_errors = []", "1:15: `goal_errors` is empty: expected at least one goal error"),
        (
            "goal_errors = [0.14, 0.12, 0.14]",
            "1:15: `goal_errors` holds 0.14 twice: expected each value once",
        ),
        (
            "goal_errors = [0.14, 0]",
            "1:15: `goal_errors` is 0: expected more than 0 and less than 1",
        ),
        (
            "goal_errors = [0.14, nan]",
            "1:15: `goal_errors` is NaN: expected more than 0 and less than 1",
        ),
        (
            "goal_errors = 0.14",
            "1:15: `goal_errors`: invalid type: floating point `0.14`, expected a list",
        ),
        (
            "goal_error = [0.14, 0.12]",
            "1:14: `goal_error`: invalid type: sequence, expected a number",
        ),
        (
            "goal_errors = [0.14, \"low\"]",
            "1:22: `goal_errors`: invalid type: string \"low\", expected a number",
        ),
    ] {
        assert_eq!(message([goals, EVERY_16]), format!("study.toml:{expected}"), "{goals}");
    }
}

#[test]
fn check_intervals_are_a_number_or_ranges_by_batch_size() {
    for (value, expected) in [
        ("[]", "2:15: `check_every` is empty: expected at least one range"),
        (
            "[{ from_batch_size = 2, steps = 16 }, { from_batch_size = 2, steps = 4 }]",
            "2:15: `check_every` holds from_batch_size 2 twice: expected each value once",
        ),
        (
            "[{ from_batch_size = 2, steps = 16 }, { from_batch_size = 4, steps = 0 }]",
            "2:15: `check_every.steps` is 0: expected 1 to 1000000000",
        ),
        (
            "[{ from_batch_size = 0, steps = 16 }]",
            "2:15: `check_every.from_batch_size` is 0: expected 1 to 1048576",
        ),
        (
            "[{ from_batch_size = 2, steps = 16 }, { from_batch_size = 4, steps = 40001 }]",
            "7:15: `step_budget` is 40000: expected at least `check_every`, which is 40001, or no trial would ever be checked",
        ),
        (
            "[{ from_batch_size = 2, steps = 16 }, { from_batchsize = 4, steps = 8 }]",
            "2:55: unknown key `from_batchsize`: did you mean `from_batch_size`?",
        ),
        (
            "[{ from_batch_size = 2 }]",
            "2:16: missing key `check_every.steps`: it has no default, so add it",
        ),
        (
            "[{ from_batch_size = 2, steps = 1.5 }]",
            "2:47: `check_every.steps`: invalid type: floating point `1.5`, expected a whole number, at least 0",
        ),
        (
            "[16, 4]",
            "2:16: `check_every`: invalid type: integer `16`, expected a range like { from_batch_size = 2, steps = 16 }",
        ),
        (
            "\"often\"",
            "2:15: `check_every`: invalid type: string \"often\", expected a number of steps or a list of ranges",
        ),
        (
            "{ from_batch_size = 2, steps = 16 }",
            "2:15: `check_every`: invalid type: map, expected a number of steps or a list of ranges",
        ),
    ] {
        let line = format!("check_every = {value}");
        assert_eq!(message([GOAL, &line]), format!("study.toml:{expected}"), "{value}");
    }
}

/// A trial that is trained for several goals is another trial than one that ends at its
/// only goal, but the way in which goals are written does not matter.
#[test]
fn goals_are_part_of_the_question_and_the_way_of_writing_them_is_not() {
    let goals = |line| study([line, EVERY_16]);
    let plain = builtin::study("mnist-sgd").expect("a built-in study");
    assert_eq!(id(&goals(GOAL), 2), id(&plain, 2));
    assert_eq!(id(&goals("goal_errors = [0.02]"), 2), id(&plain, 2));
    let several = goals("goal_errors = [0.14, 0.12]");
    assert_ne!(id(&several, 2), id(&goals("goal_error = 0.12"), 2));
    assert!(several.canonical().contains("\ngoal_error = 0.14, 0.12\n"), "{}", several.canonical());
    assert_eq!(several, goals("goal_errors = [0.12, 0.14]"));
    assert_eq!(several.workload().goal_errors, [ErrorRate(0.14), ErrorRate(0.12)]);
}

#[test]
fn a_trial_has_the_check_interval_of_its_batch_size() {
    let (ranges, coarse) = (study([GOAL, RANGES]), study([GOAL, EVERY_16]));
    let fine = study([GOAL, "check_every = 4"]);
    for batch_size in [2, 512] {
        assert_eq!(id(&ranges, batch_size), id(&coarse, batch_size));
    }
    for batch_size in [1024, 16_384] {
        assert_eq!(id(&ranges, batch_size), id(&fine, batch_size));
        assert_ne!(id(&ranges, batch_size), id(&coarse, batch_size));
    }
    let question = ranges.canonical();
    assert!(question.contains("\ncheck_every = 16, from 1024: 4\n"), "{question}");
    let checks: Vec<u64> = Plan::new(&ranges).cells.iter().map(|cell| cell.work.checks).collect();
    assert_eq!(checks, [250_000, 250_000, 1_000_000, 1_000_000]);
}

#[test]
fn the_protocol_is_racing_unless_the_file_says_otherwise_and_no_part_of_the_question() {
    let racing = study([GOAL, EVERY_16]);
    assert_eq!(racing.protocol(), Protocol::Racing);
    assert_eq!(study([GOAL, "check_every = 16\nprotocol = \"racing\""]), racing);
    let exhaustive = study([GOAL, "check_every = 16\nprotocol = \"exhaustive\""]);
    assert_eq!(exhaustive.protocol(), Protocol::Exhaustive);
    assert_eq!(exhaustive.canonical(), racing.canonical());
    assert_eq!(id(&exhaustive, 2), id(&racing, 2));
    assert_eq!(exhaustive.with_protocol(Protocol::Racing), racing);
}

#[test]
fn facts_tell_all_goals_and_all_intervals() {
    let json = serde_json::to_value(StudyFacts::of(&study(["goal_errors = [0.1, 0.2]", RANGES])));
    let expected = serde_json::json!({
        "study": "mine", "dataset": "mnist", "model": "simple-cnn", "optimizer": "sgd",
        "schedule": "constant", "goal_errors": [0.2, 0.1], "step_budget": 40_000, "trials": 100,
        "check_every": [
            { "from_batch_size": 1, "steps": 16 }, { "from_batch_size": 1024, "steps": 4 },
        ],
        "search": {
            "learning_rate": { "from": 0.0001, "to": 1.0, "scale": "log" },
            "momentum": null, "decay_steps": null, "end_factor": null,
        },
    });
    assert_eq!(json.expect("JSON"), expected);
}

#[test]
fn a_study_file_that_is_written_as_json_reads_back() {
    for lines in [[GOAL, EVERY_16], ["goal_errors = [0.2, 0.1]", RANGES]] {
        let text = format!("{}\n{REST}", lines.join("\n"));
        let file = StudyFile::parse("study.toml", &text).expect("a correct file");
        let json = serde_json::to_value(&file).expect("JSON");
        assert_eq!(serde_json::from_value::<StudyFile>(json).expect("a study file"), file);
    }
}

#[test]
fn the_schema_wants_one_of_the_two_keys_for_goals_and_allows_both_kinds_of_intervals() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).expect("JSON");
    let required = schema["required"].as_array().expect("required keys");
    for key in ["goal_error", "goal_errors"] {
        assert!(!required.contains(&key.into()), "{key}");
        assert_eq!(schema["properties"][key].get("default"), None, "{key}");
    }
    let either =
        [["goal_error"], ["goal_errors"]].map(|keys| serde_json::json!({"required": keys}));
    assert_eq!(schema["oneOf"], serde_json::json!(either));
    let kinds = schema["$defs"]["CheckKeys"]["anyOf"].as_array().expect("alternatives");
    let kinds: Vec<&str> = kinds.iter().filter_map(|kind| kind["type"].as_str()).collect();
    assert_eq!(kinds, ["integer", "array"]);
}
