//! What can go wrong with data, and what to do about it.

use crate::catalog;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a data set cannot be had.
#[derive(Debug, Error)]
pub enum DataError {
    /// Neither a known name nor a path.
    #[error(
        "no data set is called `{name}`{}; known are {}; a file or folder of this name is \
         written `./{name}`",
        .nearest.map_or(String::new(), |near| format!("; did you mean `{near}`?")),
        catalog::names()
    )]
    Unknown {
        /// What was asked for.
        name: String,
        /// The known name that is nearest to it, if one is near.
        nearest: Option<&'static str>,
    },
    /// A known data set that is not on this machine.
    #[error("the data set `{name}` is not on this machine yet; run `parsity data fetch {name}`")]
    NotFetched {
        /// Its name.
        name: &'static str,
    },
    /// No folder to keep data sets in.
    #[error(
        "no folder to keep data sets in: this user has no home; set the variable {} to a folder",
        crate::cache::VARIABLE
    )]
    NoCache,
    /// The operating system refused.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// What was being done: `reading`, `writing`.
        action: &'static str,
        /// To which file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A folder without any known layout.
    #[error(
        "{} holds no data set: expected the four IDX files (train-images-idx3-ubyte, \
         train-labels-idx1-ubyte, t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte; plain or .gz) \
         or the six batches of CIFAR-10 (data_batch_1 to data_batch_5, test_batch; .bin or pickled)",
        folder.display()
    )]
    NoLayout {
        /// The folder.
        folder: PathBuf,
    },
    /// A file of a layout that is not there.
    #[error("{} has no {file}, plain or in any other known form", folder.display())]
    Missing {
        /// Where it was looked for.
        folder: PathBuf,
        /// The file that was expected.
        file: String,
    },
    /// A file whose bytes are not what its format promises.
    #[error("{}: {part}: expected {expected}, found {found}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The part of the file.
        part: String,
        /// What the format promises.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A file that is readable, but not the published data.
    #[error(
        "{} is not the published file: expected content of SHA-256 {expected}, found {found}",
        path.display()
    )]
    WrongContent {
        /// The file.
        path: PathBuf,
        /// The published content's hash.
        expected: &'static str,
        /// The hash of what is there.
        found: String,
    },
    /// A download that did not work.
    #[error("downloading {url}: {source}")]
    Download {
        /// From where.
        url: String,
        /// What the client said.
        source: Box<ureq::Error>,
    },
    /// A package client that did not do its work.
    #[error("running `{command}`: {reason}")]
    Client {
        /// The command line.
        command: String,
        /// Its last words, or how it ended.
        reason: String,
    },
    /// No source had the data set.
    #[error(
        "`{name}` could not be fetched: {}; get its files by other means and run \
         `parsity data fetch {name} --from FOLDER`",
        .attempts.iter().map(Attempt::to_string).collect::<Vec<_>>().join("; ")
    )]
    Unfetchable {
        /// Its name.
        name: &'static str,
        /// What was tried, in order.
        attempts: Vec<Attempt>,
    },
}

/// A source that was tried in vain. Its error names the file, address or command.
#[derive(Debug, Error)]
#[error("{error}")]
pub struct Attempt {
    /// The source.
    pub place: String,
    /// Why it did not work.
    pub error: Box<DataError>,
}

impl DataError {
    /// Wraps what the operating system says about `path`; for `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> DataError {
        move |source| DataError::Io { action, path: path.to_owned(), source }
    }

    /// A part of the file at `path` that is not as expected.
    pub(crate) fn malformed(
        path: &Path,
        part: impl Display,
        expected: impl Display,
        found: impl Display,
    ) -> Self {
        let path = path.to_owned();
        let (part, expected, found) = (part.to_string(), expected.to_string(), found.to_string());
        DataError::Malformed { path, part, expected, found }
    }
}
