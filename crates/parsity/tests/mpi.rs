//! Training, and whole studies, on several processes under a real `mpirun`: the same bits, and a
//! clear end when one of them is lost.

#![allow(clippy::unwrap_used)] // Tests may.

use parsity_lab::Store;
use parsity_study::Record;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const TRAIN: &str = "train --dataset glyphs-small --model simple-cnn --optimizer momentum \
                     --learning-rate 0.02 --momentum 0.9 --batch-size 200 --threads 1 --check-every 4";

const STUDY: &str = include_str!("small.toml");

const MODEL: &str = include_str!("../../parsity-lab/tests/tiny.toml");

/// A small study whose races take some intervals.
fn study() -> String {
    STUDY.replace("goal_error = 0.6", "goal_error = 0.4")
}

struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        let desk = Desk(tempfile::tempdir().unwrap());
        std::fs::write(desk.path("study.toml"), study()).unwrap();
        std::fs::write(desk.path("tiny.toml"), MODEL).unwrap();
        desk
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
        // Launchers give ranks a terminal, which would be written to in colours.
        command.env("PARSITY_DATA", self.path("data")).env("NO_COLOR", "1");
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

/// The process of a rank that the launcher `parent` has started.
fn rank_of(parent: u32, rank: usize) -> String {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let is_it = |name: &String| {
        let stat = std::fs::read_to_string(format!("/proc/{name}/stat")).unwrap_or_default();
        // Behind the name: state and parent.
        let parents = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
        let told = std::fs::read(format!("/proc/{name}/environ")).unwrap_or_default();
        let ours = format!("OMPI_COMM_WORLD_RANK={rank}");
        parents == Some(&parent.to_string())
            && told.split(|byte| *byte == 0).any(|word| word == ours.as_bytes())
    };
    let names = processes.filter_map(|entry| entry.file_name().into_string().ok());
    names.into_iter().find(is_it).expect("the launcher has started processes")
}

/// Kills a rank; the launcher must end all of them, soon.
fn kill(launcher: &mut Child, rank: usize) {
    let victim = rank_of(launcher.id(), rank);
    assert!(Command::new("kill").args(["-9", &victim]).status().unwrap().success());
    let killed = Instant::now();
    let status = launcher.wait().unwrap();
    assert!(killed.elapsed() < Duration::from_secs(10), "the others went on");
    assert!(!status.success());
}

/// What a store holds, without what differs from run to run.
fn records(store: &Path) -> Vec<Record> {
    let store = Store::read(store).unwrap();
    let study = store.study("small").unwrap();
    let records = store.records(&study, true).unwrap();
    records.into_iter().map(|record| Record { seconds: 0.0, ..record }).collect()
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
    kill(&mut launcher, 1);
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
    let refused = desk.run(2, "quickstart");
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(told.contains("`parsity quickstart` is done by one process"), "{told}");
}

#[test]
fn a_study_over_ranks_has_the_records_of_one_process() {
    let desk = Desk::new();
    let one = desk.ok(1, "run study.toml --store one.sqlite --threads 1");
    let calm = records(&desk.path("one.sqlite"));
    assert_eq!(calm.len(), 16);
    for (ranks, per_trial) in [(3, 1), (4, 2)] {
        let rest = format!("--ranks-per-trial {per_trial} --threads 1");
        let told = desk.ok(ranks, &format!("run study.toml --store {ranks}.sqlite {rest}"));
        assert!(records(&desk.path(&format!("{ranks}.sqlite"))) == calm, "{ranks} ranks");
        // Only the first one spoke: one table, the same.
        assert_eq!(told.matches("Steps-to-result by").count(), 1, "{told}");
        let table = |text: &str| text.split("The answer").next().unwrap().to_owned();
        assert_eq!(table(&told), table(&one));
    }
}

#[test]
fn a_study_that_loses_a_rank_ends_soon_and_goes_on_to_the_same_records() {
    let desk = Desk::new();
    desk.ok(1, "run study.toml --store calm.sqlite");
    let calm = records(&desk.path("calm.sqlite"));
    let line = "run study.toml --store broken.sqlite --threads 1 --save-every 0";
    let mut kept = 0;
    for (ranks, victim) in [(3, 1), (3, 0)] {
        let mut command = desk.command(ranks, line);
        let mut launcher = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let store = desk.path("broken.sqlite");
        let done = || {
            let store = Store::read(&store).ok()?;
            store.records(&store.study("small").ok()?, true).ok().map(|it| it.len())
        };
        let begin = Instant::now();
        while done().is_none_or(|done| done <= kept) {
            assert!(begin.elapsed() < Duration::from_secs(60), "it never recorded anything");
            assert!(launcher.try_wait().unwrap().is_none(), "it was too late to be killed");
            std::thread::sleep(Duration::from_millis(2));
        }
        kill(&mut launcher, victim);
        // What was acknowledged is there, and right.
        let found = records(&store);
        assert!(found.len() > kept && found.iter().all(|record| calm.contains(record)));
        kept = found.len();
    }
    // With other ranks, and with none.
    desk.ok(4, &format!("{line} --ranks-per-trial 2 --batch-sizes 32"));
    desk.ok(1, "run study.toml --store broken.sqlite");
    assert!(records(&desk.path("broken.sqlite")) == calm);
}

#[test]
fn ranks_that_cannot_carry_out_the_same_study_say_why() {
    let desk = Desk::new();
    let refused = desk.run(3, "run study.toml --ranks-per-trial 2");
    let told = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{told}");
    assert!(told.contains("3 ranks cannot be shared out in groups of 2"), "{told}");
    std::fs::write(desk.path("other.toml"), study().replace("240", "248")).unwrap();
    let tests = [
        (["run", "study.toml"], ["run", "other.toml"], "do not have the same study"),
        // One of them has no such study: the others do not wait for it.
        (["run", "study.toml"], ["run", "none.toml"], "none.toml"),
    ];
    for (first, second, expected) in tests {
        let mut launcher = Command::new("mpirun");
        let program = env!("CARGO_BIN_EXE_parsity");
        launcher.args(["--allow-run-as-root", "--oversubscribe", "-n", "1", program]);
        launcher.args(first).args([":", "-n", "1", program]).args(second);
        launcher.current_dir(desk.path("")).env("PARSITY_DATA", desk.path("data"));
        let begin = Instant::now();
        let output = launcher.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(begin.elapsed() < Duration::from_secs(20), "somebody waited");
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(expected), "{told}");
        assert!(!desk.path("parsity.sqlite").exists(), "nothing is left behind");
    }
}
