//! Training on several processes, under a real `mpirun`: the same bits, and a clear end when
//! one of them is lost.

#![allow(clippy::unwrap_used)] // Tests may.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const TRAIN: &str = "train --dataset glyphs-small --model simple-cnn --optimizer momentum \
                     --learning-rate 0.02 --momentum 0.9 --batch-size 200 --threads 1 --check-every 4";

struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        Desk(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The command on `ranks` processes; on one without a launcher.
    fn command(&self, ranks: usize, arguments: &str) -> Command {
        let program = env!("CARGO_BIN_EXE_parsity");
        let mut command = match ranks {
            1 => Command::new(program),
            _ => {
                let mut launcher = Command::new("mpirun");
                // As the tests may run in a container, as root, on fewer cores than ranks.
                launcher.args(["--allow-run-as-root", "--oversubscribe", "-n"]);
                launcher.arg(ranks.to_string()).arg(program);
                launcher
            }
        };
        command.args(arguments.split_whitespace()).current_dir(self.0.path());
        command.env("PARSITY_DATA", self.path("data"));
        command
    }

    fn run(&self, ranks: usize, arguments: &str) -> Output {
        self.command(ranks, arguments).output().unwrap()
    }

    fn ok(&self, ranks: usize, arguments: &str) -> String {
        let output = self.run(ranks, arguments);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{ranks} ranks: {arguments}\n{told}");
        String::from_utf8(output.stdout).unwrap()
    }
}

/// A process that `parent` has started.
fn child_of(parent: u32) -> String {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let is_child = |name: &String| {
        let stat = std::fs::read_to_string(format!("/proc/{name}/stat")).unwrap_or_default();
        // Behind the name: state and parent.
        let parents = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
        parents == Some(&parent.to_string())
    };
    let names = processes.filter_map(|entry| entry.file_name().into_string().ok());
    names.into_iter().find(is_child).expect("the launcher has started processes")
}

fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

#[test]
fn the_weights_are_those_of_one_process_and_only_survivors_travel() {
    let desk = Desk::new();
    for (sparsity, survivors) in [(0.0, 62_346), (0.9, 6_235)] {
        let line = |name: &str| format!("{TRAIN} --steps 6 --sparsity {sparsity} --save {name}");
        desk.ok(1, &line("one"));
        for ranks in [2, 4] {
            let name = format!("of-{ranks}");
            let json = desk.ok(ranks, &format!("{} --json", line(&name)));
            assert!(bytes(&desk.path(&name)) == bytes(&desk.path("one")), "{ranks} {sparsity}");
            // Only the first one spoke. It sends the sum, with the loss, to each other one,
            // and bits of goal checks.
            let told: serde_json::Value = serde_json::from_str(&json).unwrap();
            let sent = told["bytes_sent_per_step"].as_f64().unwrap();
            let sum = (4 * (survivors + 2) * (ranks - 1)) as f64;
            assert!(sent >= sum && sent < sum + 2_000.0, "{sent} bytes, {sum} for the sum");
            assert_eq!(told["processes"], ranks);
        }
        // MPI's own order of adding: nearly the same.
        let told = desk.ok(3, &format!("{} --reduction fast", line("fast")));
        assert!(told.contains("3 processes with 1 thread each"), "{told}");
        assert_eq!(bytes(&desk.path("fast")).len(), bytes(&desk.path("one")).len());
    }
}

#[test]
fn a_lost_process_ends_all_and_the_training_goes_on_from_its_checkpoint() {
    let desk = Desk::new();
    let line = |rest: &str| format!("{TRAIN} --steps 60 --sparsity 0.9 {rest}");
    desk.ok(1, &line("--save calm --log calm.jsonl"));
    let lasting = line("--checkpoint state --save-every 0 --save went-on --log went-on.jsonl");
    let mut command = desk.command(3, &lasting);
    let mut launcher = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let begin = Instant::now();
    while !desk.path("state").exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "it never saved");
        std::thread::sleep(Duration::from_millis(5));
    }
    // One of the three, not the launcher.
    let victim = child_of(launcher.id());
    assert!(Command::new("kill").args(["-9", &victim]).status().unwrap().success());
    let killed = Instant::now();
    let status = launcher.wait().unwrap();
    assert!(killed.elapsed() < Duration::from_secs(10), "the others went on");
    assert!(!status.success());
    assert!(!desk.path("went-on").exists(), "it was too late to be killed");
    // With another number of processes, to the same weights.
    let told = desk.ok(2, &lasting);
    assert!(told.contains("goes on at step"), "{told}");
    assert!(bytes(&desk.path("went-on")) == bytes(&desk.path("calm")));
    let steps = |name: &str| -> Vec<u64> {
        let text = std::fs::read_to_string(desk.path(name)).unwrap();
        let step =
            |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["step"].as_u64();
        text.lines().map(|line| step(line).unwrap()).collect()
    };
    assert_eq!(steps("went-on.jsonl"), steps("calm.jsonl"));
}

#[test]
fn those_who_were_told_different_things_say_so() {
    let desk = Desk::new();
    let program = env!("CARGO_BIN_EXE_parsity");
    let mut launcher = Command::new("mpirun");
    launcher.args(["--allow-run-as-root", "--oversubscribe"]);
    for (place, seed) in ["1", "2"].iter().enumerate() {
        if place > 0 {
            launcher.arg(":");
        }
        launcher.args(["-n", "1", program]).args(TRAIN.split_whitespace());
        launcher.args(["--steps", "2", "--seed", seed]);
    }
    let output = launcher.current_dir(desk.path("")).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("the processes do not have the same training"), "{told}");
    let refused = desk.run(2, "run quickstart");
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(told.contains("`parsity run` is done by one process"), "{told}");
}
