//! Running a study: tables, continuing, killing, figures.

use crate::{Desk, exists};
use std::process::Stdio;
use std::time::Duration;

/// What must not depend on how a study was run: per cell its answer and its outcomes.
fn table(desk: &Desk, store: &str) -> Vec<serde_json::Value> {
    let status = desk.json(&format!("status small --store {store} --json"));
    let cells = status["cells"].as_array().unwrap().clone();
    assert_eq!(cells.len(), 4);
    cells
}

#[test]
fn a_study_ends_with_a_table_a_figure_and_nothing_left_to_do() {
    let desk = Desk::new();
    let text = desk.ok("run study.toml");
    assert!(text.contains("Steps-to-result by batch size and sparsity"), "{text}");
    let cells = table(&desk, "parsity.sqlite");
    for cell in &cells {
        let counts = ["complete", "incomplete", "infeasible", "outpaced", "collapsed", "failed"];
        let sum: u64 = counts.iter().map(|key| cell[key].as_u64().unwrap()).sum();
        assert_eq!(sum, 4, "{cell}");
        assert!(cell["steps_to_result"].as_u64().unwrap() % 8 == 0, "{cell}");
        assert!(cell["best_trial"].is_u64(), "{cell}");
    }
    let told = desk.ok("report study.toml --out figures");
    assert!(told.contains("to an error of 0.6") && told.contains("figures/index.html"), "{told}");
    for file in ["index.html", "scaling.svg", "scaling.png", "steps-to-result.csv", "answer.json"] {
        assert!(exists(&desk.path("figures").join(file)), "{file}");
    }
    let answer = std::fs::read_to_string(desk.path("figures").join("answer.json")).unwrap();
    assert_eq!(desk.ok("report study.toml --out figures --json"), answer);
    // Memory as it was planned, from the store alone.
    let (answer, plan) =
        (desk.json("report study.toml --json"), desk.json("plan study.toml --json"));
    for key in ["trial_bytes", "thread_bytes"] {
        assert_eq!(answer["studies"][0]["memory"][key], plan[key], "{key}");
        assert!(!plan[key].is_null());
    }
    // Again: nothing is repeated, nothing changes.
    let again = desk.run("run study.toml");
    let told = String::from_utf8(again.stderr).unwrap();
    assert!(told.contains("16 of 16 trials were done before"), "{told}");
    assert_eq!(table(&desk, "parsity.sqlite"), cells);
    // One thread or three, in parts or at once: the same table.
    desk.ok("run study.toml --store parts.sqlite --threads 1 --sparsities 0.8 --trials 2");
    desk.ok("run study.toml --store parts.sqlite --threads 3");
    let answers = |store| -> Vec<_> {
        let of = |cell: &serde_json::Value| {
            (cell["steps_to_result"].clone(), cell["best_trial"].clone())
        };
        table(&desk, store).iter().map(of).collect()
    };
    assert_eq!(answers("parts.sqlite"), answers("parsity.sqlite"));
}

#[test]
fn a_report_counts_the_survivors_that_pruning_shows() {
    let desk = Desk::new();
    desk.ok("run study.toml --batch-sizes 128 --sparsities 0.8 --trials 1");
    desk.ok("report small --out figures");
    let table = std::fs::read_to_string(desk.path("figures/survivors.csv")).unwrap();
    let pruned = desk.json(
        "prune --dataset glyphs-small --model tiny.toml --sparsity 0.8 --validation 0.02 --json",
    );
    for layer in ["conv1", "dense"] {
        let tensors = pruned["tensors"].as_array().unwrap().iter();
        let ours = tensors.filter(|it| it["name"].as_str().unwrap().starts_with(layer));
        let (all, kept) = ours.fold((0, 0), |(all, kept), it| {
            let count = |key: &str| it[key].as_u64().unwrap();
            (all + count("parameters"), kept + count("survivors"))
        });
        let row = format!("\n{layer},{all},0.8,{kept},{kept},{kept},1\n");
        assert!(table.contains(&row), "{row} {table}");
    }
    // Dense networks have nothing to show.
    desk.ok("run study.toml --store dense.sqlite --batch-sizes 128 --sparsities 0 --trials 1");
    desk.ok("report small --store dense.sqlite --out dense");
    assert!(!exists(&desk.path("dense/survivors.csv")));
}

#[test]
fn two_runs_do_not_share_a_store() {
    let desk = Desk::new();
    let slow = "run study.toml --trials 2000 --batch-sizes 128";
    let mut command = desk.command(slow);
    let mut first = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !exists(&desk.path("parsity.sqlite")) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let told = desk.fails(slow, 2);
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(told.contains("another run is writing to parsity.sqlite"), "{told}");
    assert!(told.contains("help: wait for it"), "{told}");
}

#[test]
fn a_full_disk_is_told_and_what_was_acknowledged_stays() {
    let desk = Desk::new();
    desk.ok("run study.toml --trials 2 --batch-sizes 32 --sparsities 0");
    let before = desk.json("status small --json")["cells"].clone();
    // Files may not grow beyond this size any more, which is as good as a full disk.
    let limited = |arguments: &str, blocks: u32| {
        let program = env!("CARGO_BIN_EXE_parsity");
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec {program} {arguments}");
        let mut shell = std::process::Command::new("sh");
        shell.arg("-c").arg(script).current_dir(desk.path("")).output().unwrap()
    };
    for blocks in [1, 40, 80, 120] {
        let output = limited("run study.toml --trials 300 --save-every 0", blocks);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{blocks}: {told}");
        assert!(told.contains("help: make room there"), "{blocks}: {told}");
        assert!(!told.contains("panicked"), "{told}");
    }
    desk.ok("run study.toml --trials 2 --batch-sizes 32 --sparsities 0");
    assert_eq!(desk.json("status small --json")["cells"], before);
}

#[test]
fn several_goals_are_answered_by_one_set_of_trainings() {
    let desk = Desk::new();
    let goals = crate::STUDY.replace("goal_error = 0.6", "goal_errors = [0.6, 0.7]");
    desk.write("study.toml", &goals);
    let text = desk.ok("run study.toml");
    assert!(text.contains("0.7") && text.contains("0.6"), "{text}");
    let status = desk.json("status small --json");
    let cells = status["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 8);
    for (loose, tight) in cells[..4].iter().zip(&cells[4..]) {
        assert_eq!((&loose["goal_error"], &tight["goal_error"]), (&0.7.into(), &0.6.into()));
        let steps = |cell: &serde_json::Value| cell["steps_to_result"].as_u64().unwrap();
        assert!(steps(loose) <= steps(tight), "{loose} {tight}");
    }
    // The tightest goal alone gives the same answer.
    desk.write(
        "study.toml",
        &crate::STUDY.replace("small", "alone").replace("glyphs-alone", "glyphs-small"),
    );
    desk.ok("run study.toml");
    let alone = desk.json("status alone --json");
    for (one, two) in alone["cells"].as_array().unwrap().iter().zip(&cells[4..]) {
        assert_eq!(one["steps_to_result"], two["steps_to_result"]);
        assert_eq!(one["best_trial"], two["best_trial"]);
    }
    let told = desk.ok("report small --out figures");
    assert!(told.contains("an error of 0.7") && told.contains("an error of 0.6"), "{told}");
    for file in ["scaling-0.7.svg", "scaling-0.6.png", "steps-to-result.csv"] {
        assert!(exists(&desk.path("figures").join(file)), "{file}");
    }
    // Several studies are compared on one page.
    desk.ok("report small alone small --out both");
    for file in ["small-scaling-0.7.svg", "alone-scaling.png", "alone-steps-to-result.csv"] {
        assert!(exists(&desk.path("both").join(file)), "{file}");
    }
}

#[test]
fn an_interrupted_study_says_so_and_keeps_what_it_has() {
    let desk = Desk::new();
    let long = "run study.toml --trials 2000";
    let mut command = desk.command(long);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let kill = std::process::Command::new("kill").arg("-INT").arg(child.id().to_string()).status();
    assert!(kill.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert!(told.contains("run again to continue"), "{told}");
}

#[test]
fn a_changed_study_is_refused_and_the_difference_is_shown() {
    let desk = Desk::new();
    desk.ok("run study.toml --trials 1 --batch-sizes 32 --sparsities 0");
    let changed = crate::STUDY.replace("goal_error = 0.6", "goal_error = 0.5");
    desk.write("study.toml", &changed);
    let told = desk.fails("run study.toml --trials 1 --batch-sizes 32 --sparsities 0", 2);
    assert!(told.contains("goal_error was 0.6 and is now 0.5"), "{told}");
}

#[test]
fn a_forecast_says_how_many_workers_pay() {
    let desk = Desk::new();
    desk.ok("run study.toml");
    let forecast = "forecast study.toml --workers 1,2,4,32 --latency 20us --step-time 1ms";
    let value = desk.json(&format!("{forecast} --bandwidth 1Gbit --json"));
    let rows = value["forecast"].as_array().unwrap();
    assert_eq!(rows.len(), 8);
    for row in rows {
        let [workers, talking] = ["workers", "communication"].map(|key| row[key].as_f64().unwrap());
        assert_eq!(workers == 1.0, talking == 0.0, "{row}");
        assert!(row["speed_up"].as_f64().unwrap() <= workers * 1.000_001 * 8.0, "{row}");
    }
    let text = desk.ok(&format!("{forecast} --bandwidth 1Gbit"));
    assert!(text.contains("workers pay") && text.contains("1.000 Gbit/s"), "{text}");
    let told = desk.fails("forecast study.toml --bandwidth fast", 2);
    assert!(told.contains("expected a rate such as 10Gbit"), "{told}");
}
