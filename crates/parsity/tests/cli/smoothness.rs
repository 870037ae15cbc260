//! `smoothness`: rows and averages, the same whoever asks and however often.

use crate::{Desk, STUDY};
use parsity_lab::Store;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

const SMOOTHNESS: &str = "smoothness --dataset glyphs-small --model tiny.toml --every 10";

fn steps(run: &Value) -> Vec<u64> {
    let points = run["points"].as_array().unwrap();
    points.iter().map(|point| point["step"].as_u64().unwrap()).collect()
}

#[test]
fn every_sparsity_has_its_points_its_average_and_its_ratio_to_dense() {
    let desk = Desk::new();
    let told = desk.json(&format!("{SMOOTHNESS} --steps 20 --sparsities 0.8,0 --json"));
    let (runs, summaries) = (&told["runs"], &told["summaries"]);
    for (index, sparsity) in [0.0, 0.8].into_iter().enumerate() {
        let (run, summary) = (&runs[index], &summaries[index]);
        assert_eq!((&run["sparsity"], &run["batch_size"]), (&sparsity.into(), &128.into()));
        assert_eq!(run["metaparameters"], serde_json::json!({ "learning_rate": 0.1 }));
        assert_eq!(steps(run), [0, 10, 20]);
        let points = run["points"].as_array().unwrap();
        let mut sum = 0.0;
        for point in points {
            let lipschitz = point["lipschitz"].as_f64().unwrap();
            assert!(lipschitz > 0.0);
            sum += lipschitz;
            let norms = &point["norms"];
            assert_eq!(
                (&norms["small_batch"], &norms["big_batch"]),
                (&64.0.into(), &10_800.0.into())
            );
            // Noise makes the gradients of small batches longer.
            assert!(norms["small"].as_f64().unwrap() > norms["big"].as_f64().unwrap());
        }
        let loss = |index: usize| points[index]["loss"].as_f64().unwrap();
        assert!(loss(2) < loss(0), "it learns");
        assert!((summary["lipschitz"].as_f64().unwrap() - sum / 3.0).abs() < 1e-12);
        assert!(summary["noise_scale"]["scale"]["value"].as_f64().unwrap() > 0.0);
    }
    let [dense, sparse] = [0, 1].map(|index| summaries[index]["lipschitz"].as_f64().unwrap());
    assert!((summaries[1]["ratio"].as_f64().unwrap() - sparse / dense).abs() < 1e-12);
    assert_eq!(told["statement"]["verdict"], "not-enough-data");
    // It is in the store, as told.
    let kept = Store::read(&desk.path("parsity.sqlite")).unwrap();
    let kept = kept.smoothness("glyphs-small", "tiny").unwrap();
    assert_eq!(&serde_json::to_value(kept).unwrap(), runs);
    // For people, and without measuring again.
    let output = desk.run(&format!("{SMOOTHNESS} --steps 20 --sparsities 0,0.8"));
    let text = String::from_utf8(output.stdout).unwrap();
    for expected in ["Lipschitz constant", "80 % sparse", "noise scale", "Predicted ratio of steps"]
    {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    let progress = String::from_utf8(output.stderr).unwrap();
    assert_eq!(progress.matches("measured before").count(), 2, "{progress}");
}

#[test]
fn neither_threads_nor_repetition_change_a_digit_and_settings_do() {
    let desk = Desk::new();
    let told =
        |more: &str| desk.json(&format!("{SMOOTHNESS} --steps 20 --sparsities 0.8 --json {more}"));
    let first = told("--threads 1 --store a.sqlite");
    assert_eq!(told("--threads 3 --store b.sqlite"), first);
    assert_eq!(told("--store a.sqlite"), first);
    for other in ["--seed 1", "--batch-size 64", "--learning-rate 0.05", "--optimizer nesterov"] {
        let other = told(&format!("{other} --store a.sqlite"));
        assert_ne!(other["runs"][0]["points"], first["runs"][0]["points"]);
    }
}

#[test]
fn a_training_that_diverges_keeps_the_points_before_and_says_so() {
    let desk = Desk::new();
    let text = desk.ok(&format!("{SMOOTHNESS} --steps 20 --sparsities 0 --learning-rate 1e30"));
    assert!(text.contains("It diverged: at step 0"), "{text}");
}

#[test]
fn an_interrupted_measurement_keeps_what_is_whole_and_ends_with_130() {
    let desk = Desk::new();
    let mut command = desk.command(&format!("{SMOOTHNESS} --sparsities 0 --steps 1000000"));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It is at work once it has told of a point.
    let mut progress = BufReader::new(child.stderr.take().unwrap());
    progress.read_line(&mut String::new()).unwrap();
    let kill = std::process::Command::new("kill").arg("-INT").arg(child.id().to_string()).status();
    assert!(kill.unwrap().success());
    let mut told = String::new();
    progress.read_to_string(&mut told).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{told}");
    assert!(told.contains("stopped"), "{told}");
    let store = Store::read(&desk.path("parsity.sqlite")).unwrap();
    assert_eq!(store.smoothness("glyphs-small", "tiny").unwrap(), []);
}

#[test]
fn wrong_requests_end_with_2_and_leave_no_store() {
    let desk = Desk::new();
    for (more, expected) in [
        ("--momentum 0.9", "sgd has no momentum"),
        ("--optimizer adam", "expected one of sgd, momentum, nesterov"),
        ("--sparsities 0,1", "expected a share of at least 0 and below 1"),
        ("--steps 0", "expected a whole number of at least 1"),
        ("--learning-rate 0", "expected a number above 0"),
    ] {
        let told = desk.fails(&format!("{SMOOTHNESS} {more}"), 2);
        assert!(told.contains(expected), "{more}\n{told}");
    }
    let unknown = SMOOTHNESS.replace("tiny.toml", "simple-cn");
    assert!(desk.fails(&unknown, 2).contains("did you mean `simple-cnn`?"));
    let other = SMOOTHNESS.replace("tiny.toml", "resnet-8");
    assert!(desk.fails(&other, 2).contains("resnet-8 takes images of 3×32×32"));
    assert!(!desk.path("parsity.sqlite").exists());
}

#[test]
fn a_study_with_the_table_is_measured_once_at_the_end_of_its_run() {
    let desk = Desk::new();
    let table = "[smoothness]\nsteps = 10\nevery = 10\nlearning_rate = 0.05\n";
    desk.write("study.toml", &format!("{STUDY}{table}"));
    let run = "run study.toml --trials 1 --batch-sizes 128";
    desk.ok(run);
    let read = || {
        let store = Store::read(&desk.path("parsity.sqlite")).unwrap();
        store.smoothness("glyphs-small", "tiny").unwrap()
    };
    let runs = read();
    let shares: Vec<f64> = runs.iter().map(|run| run.sparsity.share()).collect();
    assert_eq!(shares, [0.0, 0.8]);
    assert!(runs.iter().all(|run| run.points.len() == 2));
    assert!(runs.iter().all(|run| run.metaparameters.momentum == Some(0.9)));
    let again = String::from_utf8(desk.run(run).stderr).unwrap();
    assert_eq!(again.matches("measured before").count(), 2, "{again}");
    assert_eq!(read(), runs);
    // The table is no part of the question: changed, the study goes on under its name.
    desk.write("study.toml", &format!("{STUDY}{}", table.replace("steps = 10", "steps = 20")));
    desk.ok(run);
    assert!(read().iter().all(|run| run.points.len() == 3));
}
