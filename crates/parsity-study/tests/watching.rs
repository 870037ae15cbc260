//! The `[smoothness]` table: its defaults, its errors, and what it leaves alone.

use parsity_study::{
    BatchSize, Metaparameters, ModelFile, Schedule, Sparsity, Steps, Study, StudyFile, Trial,
    builtin, model,
};

/// A built-in study with a `[smoothness]` table of these keys.
fn parse(name: &str, keys: &str) -> Result<StudyFile, String> {
    let text = builtin::text(name).expect("built in");
    let parsed = StudyFile::parse("s.toml", &format!("{text}\n[smoothness]\n{keys}\n"));
    parsed.map_err(|error| error.to_string())
}

fn study(name: &str, keys: &str) -> Study {
    let file = parse(name, keys).expect("a good file");
    let model = model::builtin(&file.model).expect("built in");
    let model = ModelFile::parse(&file.model, model).expect("correct");
    Study::new(file, model).expect("a good study")
}

fn sparsity(share: f64) -> Sparsity {
    Sparsity::new(share).expect("a sparsity")
}

fn point(learning_rate: f64, momentum: Option<f64>) -> Metaparameters {
    Metaparameters { learning_rate, momentum, decay_steps: None, end_factor: None }
}

#[test]
fn an_empty_table_watches_every_sparsity_with_the_defaults() {
    let momentum = study("cifar10-momentum-linear", "").watched();
    let sparsities: Vec<Sparsity> = momentum.iter().map(|it| it.cell.sparsity).collect();
    assert_eq!(sparsities, [0.0, 0.5, 0.7, 0.9].map(sparsity));
    for trial in &momentum {
        assert_eq!(trial.metaparameters, point(0.01, Some(0.9)));
        assert_eq!((trial.cell.batch_size, trial.seed()), (BatchSize(128), 0));
        assert_eq!(trial.workload.step_budget, Steps(10_000));
        assert_eq!(trial.workload.check_every.at(BatchSize(128)), Steps(1_000));
        assert_eq!(trial.workload.schedule, Schedule::Constant);
        assert!(trial.workload.goal_errors.is_empty());
    }
    let sgd = study("mnist-sgd", "").watched();
    assert!(sgd.iter().all(|trial| trial.metaparameters == point(0.1, None)));
    assert_eq!(builtin::study("mnist-sgd").expect("built in").watched(), []);
}

#[test]
fn every_key_counts() {
    let keys =
        "learning_rate = 0.2\nmomentum = 0.5\nbatch_size = 64\nsteps = 50\nevery = 25\nseed = 7";
    let all = study("mnist-momentum", keys).with_sparsities(&[sparsity(0.9)]).expect("a part");
    let [trial] = &all.watched()[..] else { panic!("one sparsity, one training") };
    let Trial { cell, workload, metaparameters, .. } = trial;
    assert_eq!((cell.batch_size, cell.sparsity), (BatchSize(64), sparsity(0.9)));
    assert_eq!((*metaparameters, trial.seed()), (point(0.2, Some(0.5)), 7));
    assert_eq!(
        (workload.step_budget, workload.check_every.at(BatchSize(64))),
        (Steps(50), Steps(25))
    );
}

#[test]
fn it_is_no_part_of_the_question() {
    let plain = builtin::study("mnist-momentum").expect("built in");
    let watched = study("mnist-momentum", "steps = 50");
    assert_eq!(watched.canonical(), plain.canonical());
    let cell = plain.cells().next().expect("a cell");
    assert_eq!(watched.trial(cell, 3).id(), plain.trial(cell, 3).id());
}

#[test]
fn what_makes_no_sense_is_refused_where_it_is_written() {
    for (name, keys, message) in [
        (
            "mnist-sgd",
            "momentum = 0.9",
            "`smoothness.momentum` is given, but the optimizer sgd has no momentum: remove it, or choose the optimizer momentum or nesterov",
        ),
        (
            "mnist-momentum",
            "momentum = 1",
            "`smoothness.momentum` is 1: expected at least 0 and less than 1",
        ),
        (
            "mnist-momentum",
            "learning_rate = 0.0",
            "`smoothness.learning_rate` is 0: expected a finite number above 0",
        ),
        ("mnist-momentum", "batch_size = 0", "`smoothness.batch_size` is 0: expected 1 to 1048576"),
        ("mnist-momentum", "steps = 0", "`smoothness.steps` is 0: expected 1 to 1000000000"),
        ("mnist-momentum", "every = 0", "`smoothness.every` is 0: expected 1 to 1000000000"),
        ("mnist-momentum", "evry = 5", "unknown key `evry`: did you mean `every`?"),
    ] {
        let told = parse(name, keys).expect_err("a bad file");
        assert!(told.starts_with("s.toml:") && told.ends_with(message), "{told}");
    }
}
