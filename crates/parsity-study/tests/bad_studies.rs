//! Bad study files, each with the exact message that a person gets.

use parsity_study::StudyFile;

/// A correct study file, one key per line; each case spoils it.
const STUDY: &str = r#"name = "mine"
dataset = "glyphs"
model = "simple-cnn"
optimizer = "momentum"
schedule = "constant"
goal_error = 0.02
step_budget = 40000
check_every = 16
batch_sizes = [2, 4]
sparsities = [0, 0.9]
trials = 100
data_seed = 0
validation_share = 0.1
"#;

/// Replaces `from` in `text` by `to`.
fn spoil(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from} is not in the text");
    text.replacen(from, to, 1)
}

fn study_message(text: &str) -> String {
    StudyFile::parse("study.toml", text).expect_err("a bad study file").to_string()
}

fn assert_studies(cases: &[(&str, &str, &str)]) {
    for &(from, to, message) in cases {
        assert_eq!(study_message(&spoil(STUDY, from, to)), message, "{from} -> {to}");
    }
}

/// Appends a `[search]` table whose first range is on line 15.
fn search_message(range: &str) -> String {
    study_message(&format!("{STUDY}[search]\n{range}\n"))
}

#[test]
fn a_correct_file_is_read() {
    assert!(StudyFile::parse("study.toml", STUDY).is_ok());
}

#[test]
fn an_unknown_key_names_the_nearest_known_one_or_all() {
    assert_studies(&[
        (
            "goal_error",
            "goal_eror",
            "study.toml:6:1: unknown key `goal_eror`: did you mean `goal_error`?",
        ),
        (
            "batch_sizes",
            "batchsize",
            "study.toml:9:1: unknown key `batchsize`: did you mean `batch_sizes`?",
        ),
        (
            "trials",
            "lr",
            "study.toml:11:1: unknown key `lr`: expected one of `name`, `dataset`, `model`, `optimizer`, `schedule`, `goal_error`, `goal_errors`, `step_budget`, `check_every`, `batch_sizes`, `sparsities`, `trials`, `protocol`, `data_seed`, `validation_share`, `pruning`, `search`, `smoothness`",
        ),
        (
            "data_seed = 0",
            "pruning = { methot = \"snip\" }",
            "study.toml:12:13: unknown key `methot`: did you mean `method`?",
        ),
        (
            "data_seed = 0",
            "\"momentum`\" = 1",
            "study.toml:12:1: unknown key `momentum``: expected one of `name`, `dataset`, `model`, `optimizer`, `schedule`, `goal_error`, `goal_errors`, `step_budget`, `check_every`, `batch_sizes`, `sparsities`, `trials`, `protocol`, `data_seed`, `validation_share`, `pruning`, `search`, `smoothness`",
        ),
    ]);
    assert_eq!(
        search_message("momentun = { from = 0.5, to = 0.9 }"),
        "study.toml:15:1: unknown key `momentun`: did you mean `momentum`?"
    );
    assert_eq!(
        search_message("lr = { from = 0.5, to = 0.9 }"),
        "study.toml:15:1: unknown key `lr`: expected one of `learning_rate`, `momentum`, `decay_steps`, `end_factor`"
    );
    assert_eq!(
        search_message("momentum = { from = 0.5, too = 0.9 }"),
        "study.toml:15:26: unknown key `too`: did you mean `to`?"
    );
}

#[test]
fn an_unknown_word_names_the_nearest_choice_or_all() {
    assert_studies(&[
        (
            "\"momentum\"",
            "\"momentun\"",
            "study.toml:4:13: `optimizer`: unknown word `momentun`: did you mean `momentum`?",
        ),
        (
            "\"momentum\"",
            "\"adam\"",
            "study.toml:4:13: `optimizer`: unknown word `adam`: expected one of `sgd`, `momentum`, `nesterov`",
        ),
        (
            "\"constant\"",
            "\"linear\"",
            "study.toml:5:12: `schedule`: unknown word `linear`: expected one of `constant`, `linear-decay`",
        ),
        (
            "data_seed = 0",
            "pruning.method = \"snap\"",
            "study.toml:12:18: `pruning.method`: unknown word `snap`: did you mean `snip`?",
        ),
        (
            "data_seed = 0",
            "protocol = \"raicing\"",
            "study.toml:12:12: `protocol`: unknown word `raicing`: did you mean `racing`?",
        ),
        (
            "data_seed = 0",
            "protocol = \"full\"",
            "study.toml:12:12: `protocol`: unknown word `full`: expected one of `racing`, `exhaustive`",
        ),
    ]);
    assert_eq!(
        search_message("learning_rate = { from = 1, to = 2, scale = \"exp\" }"),
        "study.toml:15:45: `search.learning_rate.scale`: unknown word `exp`: expected one of `log`, `reverse-log`, `linear`, `integer`"
    );
}

#[test]
fn what_is_not_toml_is_found_where_it_stands() {
    assert_studies(&[
        (
            "\"mine\"",
            "\"mine",
            "study.toml:1:13: this is not TOML: invalid basic string, expected `\"`",
        ),
        ("0.02", "0..2", "study.toml:6:16: this is not TOML: invalid fraction, expected digits"),
        ("trials", "dataset", "study.toml:11:1: this is not TOML: duplicate key"),
    ]);
}

#[test]
fn columns_count_characters_not_bytes() {
    assert_studies(&[(
        "data_seed = 0",
        "pruning = { \"ä\" = 1, biases = 2 }",
        "study.toml:12:31: `pruning.biases`: invalid type: integer `2`, expected true or false",
    )]);
}

#[test]
fn a_wrong_type_names_key_found_and_expected() {
    assert_studies(&[
        (
            "0.02",
            "\"low\"",
            "study.toml:6:14: `goal_error`: invalid type: string \"low\", expected a number",
        ),
        (
            "40000",
            "4e4",
            "study.toml:7:15: `step_budget`: invalid type: floating point `40000.0`, expected a whole number, at least 0",
        ),
        (
            "16",
            "-16",
            "study.toml:8:15: `check_every`: invalid value: integer `-16`, expected a number of steps or a list of ranges",
        ),
        (
            "[2, 4]",
            "[2, -4]",
            "study.toml:9:19: `batch_sizes`: invalid value: integer `-4`, expected a whole number from 0 to 4294967295",
        ),
        (
            "[2, 4]",
            "2",
            "study.toml:9:15: `batch_sizes`: invalid type: integer `2`, expected a list",
        ),
        (
            "[0, 0.9]",
            "[0, \"x\"]",
            "study.toml:10:18: `sparsities`: invalid type: string \"x\", expected a number",
        ),
        (
            "100",
            "99999999999999999999999",
            "study.toml:11:10: `trials`: invalid type: integer `99999999999999999999999`, expected a whole number from 0 to 4294967295",
        ),
        ("\"momentum\"", "3", "study.toml:4:13: `optimizer`: expected a word in quotes"),
        (
            "\"glyphs\"",
            "true",
            "study.toml:2:11: `dataset`: invalid type: boolean `true`, expected a text in quotes",
        ),
        (
            "data_seed = 0",
            "pruning = 1",
            "study.toml:12:11: `pruning`: invalid type: integer `1`, expected a table with `method` and `biases`",
        ),
        (
            "data_seed = 0",
            "search = 1",
            "study.toml:12:10: `search`: invalid type: integer `1`, expected a table of ranges",
        ),
    ]);
    assert_eq!(
        search_message("learning_rate = 1"),
        "study.toml:15:17: `search.learning_rate`: invalid type: integer `1`, expected a range like { from = 0.1, to = 0.9 }"
    );
}

#[test]
fn a_missing_key_is_named() {
    assert_studies(&[(
        "trials = 100\n",
        "",
        "study.toml:1:1: missing key `trials`: it has no default, so add it",
    )]);
    assert_eq!(
        study_message(""),
        "study.toml:1:1: missing key `name`: it has no default, so add it"
    );
    assert_eq!(
        study_message(&format!("{STUDY}[search.learning_rate]\nfrom = 1\n")),
        "study.toml:14:1: missing key `search.learning_rate.to`: it has no default, so add it"
    );
}

#[test]
fn numbers_have_to_make_sense() {
    assert_studies(&[
        ("0.02", "0", "study.toml:6:14: `goal_error` is 0: expected more than 0 and less than 1"),
        ("0.02", "1", "study.toml:6:14: `goal_error` is 1: expected more than 0 and less than 1"),
        (
            "0.02",
            "nan",
            "study.toml:6:14: `goal_error` is NaN: expected more than 0 and less than 1",
        ),
        (
            "0.1",
            "1.0",
            "study.toml:13:20: `validation_share` is 1: expected more than 0 and less than 1",
        ),
        ("40000", "0", "study.toml:7:15: `step_budget` is 0: expected 1 to 1000000000"),
        ("16", "0", "study.toml:8:15: `check_every` is 0: expected 1 to 1000000000"),
        (
            "40000",
            "15",
            "study.toml:7:15: `step_budget` is 15: expected at least `check_every`, which is 16, or no trial would ever be checked",
        ),
        ("100", "0", "study.toml:11:10: `trials` is 0: expected 1 to 100000"),
        ("100", "100001", "study.toml:11:10: `trials` is 100001: expected 1 to 100000"),
    ]);
}

#[test]
fn grids_have_each_value_once() {
    assert_studies(&[
        (
            "[2, 4]",
            "[]",
            "study.toml:9:15: `batch_sizes` is empty: expected at least one batch size",
        ),
        ("[2, 4]", "[0]", "study.toml:9:15: `batch_sizes` is 0: expected 1 to 1048576"),
        (
            "[2, 4]",
            "[2, 4, 2]",
            "study.toml:9:15: `batch_sizes` holds 2 twice: expected each value once",
        ),
        (
            "[0, 0.9]",
            "[]",
            "study.toml:10:14: `sparsities` is empty: expected at least one sparsity",
        ),
        (
            "[0, 0.9]",
            "[0.9, 0, 0.9]",
            "study.toml:10:14: `sparsities` holds 0.9 twice: expected each value once",
        ),
        (
            "[0, 0.9]",
            "[0, 90]",
            "study.toml:10:14: `sparsities`: sparsity 90 is not at least 0 and below 1",
        ),
    ]);
}

#[test]
fn names_are_plain() {
    let expected = "expected letters, digits, `-`, `_` and `.`, beginning with a letter or digit";
    for name in ["", "a b", "../x", "-x", "ä"] {
        let message = study_message(&spoil(STUDY, "\"mine\"", &format!("\"{name}\"")));
        assert_eq!(message, format!("study.toml:1:8: `name` is \"{name}\": {expected}"));
    }
    assert_studies(&[
        ("\"glyphs\"", "\"\"", "study.toml:2:11: `dataset` is \"\": expected a name or a path"),
        ("\"simple-cnn\"", "\" \"", "study.toml:3:9: `model` is \"\": expected a name or a path"),
    ]);
}

#[test]
fn ranges_lie_inside_the_domain_of_metaparameter_and_scale() {
    for (range, message) in [
        (
            "learning_rate = { from = 1, to = 1 }",
            "15:17: `search.learning_rate` goes from 1 to 1: expected `from` below `to`",
        ),
        (
            "learning_rate = { from = 2, to = 1 }",
            "15:17: `search.learning_rate` goes from 2 to 1: expected `from` below `to`",
        ),
        (
            "learning_rate = { from = -1, to = 1 }",
            "15:26: `search.learning_rate.from` is -1: expected a finite number, at least 0",
        ),
        (
            "learning_rate = { from = 1, to = inf }",
            "15:34: `search.learning_rate.to` is inf: expected a finite number, at least 0",
        ),
        (
            "learning_rate = { from = 0, to = 1 }",
            "15:26: `search.learning_rate.from` is 0: expected more than 0 on a log scale",
        ),
        (
            "learning_rate = { from = 0, to = 1, scale = \"reverse-log\" }",
            "15:34: `search.learning_rate.to` is 1: expected less than 1 on a reverse-log scale",
        ),
        (
            "learning_rate = { from = 1, to = 2, scale = \"integer\" }",
            "15:45: `search.learning_rate.scale` is integer: expected log, reverse-log or linear",
        ),
        (
            "momentum = { from = 0.9, to = 1 }",
            "15:31: `search.momentum.to` is 1: expected at least 0 and less than 1",
        ),
    ] {
        assert_eq!(search_message(range), format!("study.toml:{message}"), "{range}");
    }
    let decaying = spoil(STUDY, "\"constant\"", "\"linear-decay\"");
    for (range, message) in [
        (
            "decay_steps = { from = 0, to = 9 }",
            "15:24: `search.decay_steps.from` is 0: expected a whole number from 1 to 1000000000",
        ),
        (
            "decay_steps = { from = 1.5, to = 9 }",
            "15:24: `search.decay_steps.from` is 1.5: expected a whole number from 1 to 1000000000",
        ),
        (
            "decay_steps = { from = 1, to = 9, scale = \"log\" }",
            "15:43: `search.decay_steps.scale` is log: expected integer",
        ),
        (
            "end_factor = { from = 0.1, to = 2 }",
            "15:33: `search.end_factor.to` is 2: expected 0 to 1",
        ),
    ] {
        let text = format!("{decaying}[search]\n{range}\n");
        assert_eq!(study_message(&text), format!("study.toml:{message}"), "{range}");
    }
}

#[test]
fn a_range_that_the_workload_does_not_use_is_refused() {
    let sgd = spoil(STUDY, "\"momentum\"", "\"sgd\"");
    assert_eq!(
        study_message(&format!("{sgd}[search]\nmomentum = {{ from = 0.5, to = 0.9 }}\n")),
        "study.toml:15:12: `search.momentum` is given, but the optimizer sgd has no momentum: remove it, or choose the optimizer momentum or nesterov"
    );
    for key in ["decay_steps", "end_factor"] {
        let place = format!("study.toml:15:{}", key.len() + 4);
        assert_eq!(
            search_message(&format!("{key} = {{ from = 0.5, to = 0.9 }}")),
            format!(
                "{place}: `search.{key}` is given, but with the constant schedule nothing decays: remove it, or choose the schedule linear-decay"
            )
        );
    }
}
