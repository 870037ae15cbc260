//! Studies as values: built-in ones, their cells and trials, identities and plans.

use parsity_study::builtin;
use parsity_study::model::{self, BUILTIN_NAMES};
use parsity_study::{
    BatchSize, Cell, CheckEvery, Difference, Layer, ModelFile, Optimizer, Padding, Plan, Protocol,
    PruningMethod, Schedule, Sparsity, Steps, Study, StudyError, StudyFile, Trial, schema,
};

fn study(name: &str) -> Study {
    builtin::study(name).expect("a built-in study")
}

fn cell(batch_size: u32, sparsity: f64) -> Cell {
    let sparsity = Sparsity::new(sparsity).expect("a sparsity");
    Cell { batch_size: BatchSize(batch_size), sparsity }
}

fn built_in_model(name: &str) -> ModelFile {
    ModelFile::parse(name, model::builtin(name).expect("a built-in model")).expect("correct")
}

/// The built-in study `name` with a part of its file replaced.
fn changed(name: &str, from: &str, to: &str) -> Study {
    let text = builtin::text(name).expect("a built-in study");
    assert!(text.contains(from), "{from} is not in {name}");
    let file = StudyFile::parse(name, &text.replacen(from, to, 1)).expect("a correct file");
    let model = built_in_model(&file.model);
    Study::new(file, model).expect("a correct study")
}

#[test]
fn every_built_in_study_reads_back_as_its_workload() {
    assert_eq!(builtin::all().len(), 15);
    for built_in in builtin::all() {
        let study = study(built_in.name);
        let workload = study.workload();
        assert_eq!(study.name(), built_in.name);
        assert_eq!(built_in.name.contains("linear"), workload.schedule == Schedule::LinearDecay);
        assert!(built_in.summary().contains(workload.optimizer.name()), "{}", built_in.summary());
        if built_in.name != "quickstart" {
            assert!(built_in.name.starts_with(&workload.dataset));
            assert!(built_in.name.contains(workload.optimizer.name()));
        }
    }
}

#[test]
fn the_published_studies_have_the_published_numbers() {
    let table: [(_, _, &[f64], _, _); 5] = [
        ("mnist-sgd", "simple-cnn", &[0.02], 40_000, 16),
        ("fashion-mnist-nesterov", "simple-cnn", &[0.14, 0.12], 40_000, 16),
        ("cifar10-momentum-linear", "resnet-8", &[0.4], 100_000, 32),
        ("cifar10-sgd-constant", "resnet-8", &[0.4], 100_000, 32),
        ("glyphs-momentum", "simple-cnn", &[0.02], 40_000, 16),
    ];
    for (name, model, goal_errors, step_budget, check_every) in table {
        let study = study(name);
        let workload = study.workload();
        assert_eq!(workload.model, built_in_model(model), "{name}");
        let goals: Vec<f64> = workload.goal_errors.iter().map(|goal| goal.0).collect();
        assert_eq!(goals, goal_errors, "{name}");
        assert_eq!(workload.step_budget, Steps(step_budget), "{name}");
        assert_eq!(workload.check_every, CheckEvery::always(Steps(check_every)), "{name}");
        assert_eq!((study.trials(), study.protocol()), (100, Protocol::Racing));
        let batch_sizes: Vec<u32> = study.batch_sizes().iter().map(|size| size.0).collect();
        assert_eq!(batch_sizes, (1..=14).map(|power| 1 << power).collect::<Vec<u32>>());
        let sparsities: Vec<f64> = study.sparsities().iter().map(|s| s.share()).collect();
        assert_eq!(sparsities, [0.0, 0.5, 0.7, 0.9]);
    }
}

#[test]
fn a_built_in_study_says_nothing_but_defaults_where_there_are_defaults() {
    // The quickstart searches narrower ranges.
    for built_in in builtin::all().iter().filter(|study| study.name != "quickstart") {
        let text = built_in.text();
        let (required, rest) = text.split_once("# The validation split").expect("the template");
        assert!(rest.contains("[pruning]") && rest.contains("[search]"));
        let short = StudyFile::parse("short.toml", required).expect("defaults fill in the rest");
        let model = built_in_model(&short.model);
        let short = Study::new(short, model).expect("correct");
        assert_eq!(short, study(built_in.name), "{}", built_in.name);
    }
}

#[test]
fn a_file_without_a_schedule_is_constant() {
    let text = builtin::text("mnist-sgd").expect("built in").replace("schedule = \"constant\"", "");
    let file = StudyFile::parse("study.toml", &text).expect("correct");
    assert_eq!(file.schedule, Schedule::Constant);
    assert_eq!((file.pruning.method, file.pruning.biases), (PruningMethod::Snip, true));
    assert_eq!((file.data_seed, file.validation_share), (0, 0.1));
}

#[test]
fn the_built_in_networks_have_their_layers_named() {
    let names = |model: &ModelFile| {
        model.layers.iter().filter_map(|layer| layer.name().map(str::to_owned)).collect::<Vec<_>>()
    };
    for name in BUILTIN_NAMES {
        assert_eq!(built_in_model(name).name, name);
    }
    assert_eq!(model::builtin("vgg"), None);
    let (cnn, resnet) = (built_in_model("simple-cnn"), built_in_model("resnet-8"));
    assert_eq!(names(&cnn), ["conv1", "conv2", "dense"]);
    assert_eq!(names(&resnet), ["conv", "block1", "block2", "block3", "dense"]);
    assert_eq!((cnn.input, resnet.input), ([1, 28, 28], [3, 32, 32]));
    assert_eq!(
        cnn.layers[0],
        Layer::Conv {
            name: "conv1".to_owned(),
            filters: 32,
            size: 5,
            stride: 1,
            padding: Padding::Valid,
            bias: true,
        }
    );
    assert_eq!(cnn.layers[2], Layer::MaxPool { size: 2, stride: 2 });
    assert_eq!(
        resnet.layers[2],
        Layer::Residual { name: "block2".to_owned(), filters: 32, size: 3, stride: 2 }
    );
}

#[test]
fn several_dense_layers_are_numbered() {
    let text = "name = \"mlp\"\ninput = [1, 28, 28]\nlayers = [{ kind = \"flatten\" }, \
        { kind = \"dense\", units = 9 }, { kind = \"relu\" }, { kind = \"dense\", units = 10 }]";
    let model = ModelFile::parse("mlp.toml", text).expect("correct");
    assert_eq!(model.layers[1].name(), Some("dense1"));
    assert_eq!(model.layers[3].name(), Some("dense2"));
}

#[test]
fn cells_are_ordered_by_batch_size_and_then_by_sparsity() {
    let study = study("quickstart").with_batch_sizes(&[BatchSize(64), BatchSize(8)]).expect("ok");
    let study = study.with_sparsities(&[0.9, 0.0].map(|s| Sparsity::new(s).expect("ok")));
    let cells: Vec<Cell> = study.expect("correct").cells().collect();
    assert_eq!(cells, [cell(8, 0.0), cell(8, 0.9), cell(64, 0.0), cell(64, 0.9)]);
    assert!(cells.is_sorted());
}

#[test]
fn a_restricted_study_is_checked_like_a_file() {
    let study = study("quickstart");
    let message = |result: Result<Study, StudyError>| result.expect_err("refused").to_string();
    assert_eq!(message(study.clone().with_trials(0)), "`trials` is 0: expected 1 to 100000");
    assert_eq!(
        message(study.clone().with_batch_sizes(&[BatchSize(8), BatchSize(8)])),
        "`batch_sizes` holds 8 twice: expected each value once"
    );
    assert_eq!(
        message(study.with_sparsities(&[])),
        "`sparsities` is empty: expected at least one sparsity"
    );
}

#[test]
fn a_part_of_a_study_shares_trials_and_question_with_the_whole() {
    let whole = study("mnist-momentum");
    let part = whole.clone().with_trials(3).expect("correct");
    let part = part.with_batch_sizes(&[BatchSize(64)]).expect("correct");
    let part = part.with_sparsities(&[Sparsity::DENSE]).expect("correct");
    assert_eq!(part.cells().collect::<Vec<_>>(), [cell(64, 0.0)]);
    assert_eq!(part.trials(), 3);
    assert_eq!(part.trial(cell(64, 0.0), 2).id(), whole.trial(cell(64, 0.0), 2).id());
    assert_eq!(part.canonical(), whole.canonical());
}

#[test]
fn a_trial_carries_its_workload_and_its_point() {
    let trial = study("cifar10-nesterov-linear").trial(cell(256, 0.7), 5);
    assert_eq!((trial.index, trial.seed(), trial.cell), (5, 5, cell(256, 0.7)));
    assert_eq!(trial.workload.optimizer, Optimizer::Nesterov);
    assert_eq!(trial.metaparameters, study("cifar10-nesterov-linear").space().point(5));
    assert!(trial.metaparameters.decay_steps.is_some());
}

#[test]
fn the_canonical_text_of_a_trial_is_frozen() {
    let trial = study("cifar10-momentum-linear").trial(cell(64, 0.9), 1);
    let expected = "\
parsity trial 1
dataset = \"cifar10\"
model.input = 3x32x32
model.layer1 = conv filters=16 size=3 stride=1 padding=same bias=true
model.layer2 = residual filters=16 size=3 stride=1
model.layer3 = residual filters=32 size=3 stride=2
model.layer4 = residual filters=64 size=3 stride=2
model.layer5 = relu
model.layer6 = global-average-pool
model.layer7 = dense units=10 bias=true
optimizer = momentum
schedule = linear-decay
goal_error = 0.4
step_budget = 100000
check_every = 32
data_seed = 0
validation_share = 0.1
batch_size = 64
sparsity = 0.9
pruning.method = snip
pruning.biases = true
seed = 1
learning_rate = 0.1
momentum = 0.9994376586748097
decay_steps = 52500
end_factor = 0.0005623413251903491
";
    assert_eq!(trial.canonical(), expected);
}

/// These ids name records in stores that exist: if one changes, no record is found again.
#[test]
fn trial_ids_are_frozen() {
    for (name, cell, index, id) in [
        ("mnist-sgd", cell(2, 0.0), 0, "5a1a4c4cd769a255dbec413866dd65aa"),
        ("mnist-sgd", cell(16_384, 0.5), 99, "d61e27cb3e79e718b60dc1a300ed808b"),
        ("fashion-mnist-nesterov", cell(128, 0.7), 17, "44697f54b61a5123abe5b92143c3d9f6"),
        ("cifar10-momentum-linear", cell(64, 0.9), 1, "ceba11be99329c5bba262fef3792ba64"),
        ("cifar10-momentum-linear", cell(64, 0.0), 1, "4b8bc26a767ff77e6695e987f9345a49"),
        ("glyphs-momentum", cell(1024, 0.9), 42, "fd664abb9919a20a26bac708e38fa159"),
    ] {
        assert_eq!(study(name).trial(cell, index).id().to_string(), id, "{name} {cell:?} {index}");
    }
}

#[test]
fn ids_of_different_trials_differ() {
    let study = study("quickstart");
    let mut ids: Vec<String> = study
        .cells()
        .flat_map(|cell| (0..study.trials()).map(move |index| (cell, index)))
        .map(|(cell, index)| study.trial(cell, index).id().to_string())
        .collect();
    assert_eq!(ids.len(), 8 * 4 * 16);
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 8 * 4 * 16);
    assert!(ids.iter().all(|id| id.len() == 32));
}

#[test]
fn whatever_changes_the_numbers_changes_the_id() {
    let id = |study: &Study| study.trial(cell(64, 0.9), 3).id();
    let original = study("glyphs-momentum");
    for (from, to) in [
        ("dataset = \"glyphs\"", "dataset = \"mnist\""),
        ("model = \"simple-cnn\"", "model = \"resnet-8\""),
        ("optimizer = \"momentum\"", "optimizer = \"nesterov\""),
        ("schedule = \"constant\"", "schedule = \"linear-decay\""),
        ("goal_error = 0.02", "goal_error = 0.03"),
        ("goal_error = 0.02", "goal_errors = [0.02, 0.03]"),
        ("step_budget = 40000", "step_budget = 40001"),
        ("check_every = 16", "check_every = 17"),
        ("data_seed = 0", "data_seed = 1"),
        ("validation_share = 0.1", "validation_share = 0.2"),
        ("method = \"snip\"", "method = \"random\""),
        ("biases = true", "biases = false"),
        ("from = 0.0001", "from = 0.001"),
    ] {
        let changed = changed("glyphs-momentum", from, to);
        assert_ne!(id(&changed), id(&original), "{to}");
        assert_ne!(changed.canonical(), original.canonical(), "{to}");
    }
    for (from, to) in [
        ("name = \"glyphs-momentum\"", "name = \"mine\""),
        ("trials = 100", "trials = 9"),
        ("protocol = \"racing\"", "protocol = \"exhaustive\""),
        ("goal_error = 0.02", "goal_errors = [0.02]"),
        ("check_every = 16", "check_every = [{ from_batch_size = 2, steps = 16 }]"),
    ] {
        let changed = changed("glyphs-momentum", from, to);
        assert_eq!(id(&changed), id(&original), "{to}");
        assert_eq!(changed.canonical(), original.canonical(), "{to}");
    }
}

#[test]
fn a_dense_trial_is_the_same_whatever_the_pruning_would_be() {
    let random = changed("glyphs-momentum", "method = \"snip\"", "method = \"random\"");
    let id = |study: &Study, sparsity| study.trial(cell(64, sparsity), 3).id();
    assert_eq!(id(&random, 0.0), id(&study("glyphs-momentum"), 0.0));
    assert_ne!(id(&random, 0.5), id(&study("glyphs-momentum"), 0.5));
}

#[test]
fn names_of_a_network_and_its_layers_change_no_id() {
    let file = StudyFile::parse("x", &builtin::text("mnist-sgd").expect("built in")).expect("ok");
    let renamed = model::builtin("simple-cnn")
        .expect("built in")
        .replace("name = \"simple-cnn\"", "name = \"mine\"")
        .replace("filters = 32", "filters = 32\nname = \"first\"");
    let renamed = ModelFile::parse("mine.toml", &renamed).expect("correct");
    assert_eq!(renamed.layers[0].name(), Some("first"));
    let trial = |study: Study| -> Trial { study.trial(cell(2, 0.5), 0) };
    let mine = trial(Study::new(file, renamed).expect("correct"));
    assert_eq!(mine.id(), trial(study("mnist-sgd")).id());
}

#[test]
fn a_data_set_cannot_forge_a_line() {
    let forged = changed("glyphs-sgd", "\"glyphs\"", "'''a\"\nseed = 7'''");
    let text = forged.trial(cell(2, 0.0), 1).canonical();
    assert!(text.contains("dataset = \"a\\\"\\nseed = 7\"\n"), "{text}");
}

#[test]
fn differences_name_the_lines_that_changed() {
    let ours = study("glyphs-momentum");
    assert_eq!(ours.differences(&ours.canonical()), []);
    let theirs = changed("glyphs-momentum", "goal_error = 0.02", "goal_error = 0.03");
    let difference = |key: &str, ours: Option<&str>, theirs: Option<&str>| Difference {
        key: key.to_owned(),
        ours: ours.map(str::to_owned),
        theirs: theirs.map(str::to_owned),
    };
    assert_eq!(
        ours.differences(&theirs.canonical()),
        [difference("goal_error", Some("0.02"), Some("0.03"))]
    );
    let momentum = "{ from = 0.9, to = 0.9999, scale = \"reverse-log\" }";
    assert_eq!(
        ours.differences(&study("glyphs-sgd").canonical()),
        [
            difference("optimizer", Some("momentum"), Some("sgd")),
            difference("search.momentum", Some(momentum), None),
        ]
    );
    assert_eq!(
        study("glyphs-sgd").differences(&ours.canonical()),
        [
            difference("optimizer", Some("sgd"), Some("momentum")),
            difference("search.momentum", None, Some(momentum)),
        ]
    );
}

#[test]
fn a_plan_counts_what_a_study_costs_at_most() {
    let plan = Plan::new(&study("mnist-sgd"));
    assert_eq!((plan.cells.len(), plan.trials_per_cell), (56, 100));
    assert_eq!(plan.total.trials, 5_600);
    assert_eq!(plan.total.steps, 5_600 * 40_000);
    assert_eq!(plan.total.checks, 5_600 * 2_500);
    // 2 + 4 + … + 16384 = 32766, at four sparsities.
    assert_eq!(plan.total.images, 32_766 * 4 * 100 * 40_000);
    assert_eq!(plan.cells[0].cell, cell(2, 0.0));
    assert_eq!(plan.cells[0].work.images, 2 * 100 * 40_000);
}

#[test]
fn the_last_steps_of_a_budget_that_no_check_follows_have_no_check() {
    let study = changed("mnist-sgd", "check_every = 16", "check_every = 39999");
    assert_eq!(study.workload().checks_at_most(BatchSize(8)), 1);
}

#[test]
fn a_plan_is_promised_as_json() {
    let study = study("quickstart").with_trials(2).expect("correct");
    let study = study.with_batch_sizes(&[BatchSize(8)]).expect("correct");
    let study = study.with_sparsities(&[Sparsity::new(0.5).expect("ok")]).expect("correct");
    let budget = study.workload().step_budget.0;
    let checks = 2 * study.workload().checks_at_most(BatchSize(8));
    let json = serde_json::to_value(Plan::new(&study)).expect("JSON");
    assert_eq!(
        json,
        serde_json::json!({
            "study": "quickstart",
            "trials_per_cell": 2,
            "cells": [{
                "batch_size": 8, "sparsity": 0.5,
                "trials": 2, "steps": 2 * budget, "images": 16 * budget, "checks": checks,
            }],
            "total": { "trials": 2, "steps": 2 * budget, "images": 16 * budget, "checks": checks },
        })
    );
}

#[test]
fn the_schema_describes_every_key_of_a_study_file() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).expect("JSON");
    assert_eq!(schema["additionalProperties"], false);
    let properties = schema["properties"].as_object().expect("properties");
    let file = StudyFile::parse("x", &builtin::text("mnist-sgd").expect("built in")).expect("ok");
    let keys = serde_json::to_value(file).expect("JSON");
    for key in keys.as_object().expect("an object").keys() {
        let described = properties[key]["description"].as_str();
        assert!(described.is_some_and(|text| !text.is_empty()), "{key}: {}", properties[key]);
    }
    assert_eq!(properties.len(), 18);
    let required = schema["required"].as_array().expect("required keys");
    assert!(required.contains(&"check_every".into()) && !required.contains(&"schedule".into()));
}
