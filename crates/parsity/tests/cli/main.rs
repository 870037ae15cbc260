//! The command line as a person uses it: the real binary in an empty folder.

#![allow(clippy::unwrap_used)] // Tests may.

mod bench;
mod export;
mod kills;
mod lab;
mod messages;
mod serve;
mod smoothness;
mod studies;
mod training;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// An empty folder to run in.
struct Desk(TempDir);

const STUDY: &str = include_str!("../small.toml");

const MODEL: &str = include_str!("../../../parsity-lab/tests/tiny.toml");

impl Desk {
    fn new() -> Self {
        let desk = Desk(tempfile::tempdir().unwrap());
        desk.write("study.toml", STUDY);
        desk.write("tiny.toml", MODEL);
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_parsity"));
        command.args(arguments.split_whitespace()).current_dir(self.0.path());
        // Nothing of this machine's user: an empty cache of data sets.
        command.env("PARSITY_DATA", self.path("data"));
        command
    }

    fn run(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Standard output of a command that must succeed.
    fn ok(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        let text = String::from_utf8(output.stdout).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments}\n{text}\n{errors}");
        text
    }

    fn json(&self, arguments: &str) -> serde_json::Value {
        serde_json::from_str(&self.ok(arguments)).unwrap()
    }

    /// Standard error of a command that must end with `code`.
    fn fails(&self, arguments: &str, code: i32) -> String {
        let output = self.run(arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments}\n{text}");
        text
    }
}

fn exists(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.len() > 0)
}
