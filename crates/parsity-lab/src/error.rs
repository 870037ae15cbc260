//! What can go wrong on the bench, and what to do about it.

use crate::store::StoreError;
use parsity_data::DataError;
use parsity_engine::{NetworkError, Shape};
use parsity_study::StudyError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why the laboratory cannot do what it was asked.
#[allow(missing_docs)] // The messages say what the fields are.
#[derive(Debug, Error)]
pub enum LabError {
    /// Neither a built-in study nor a file.
    #[error(
        "no study is called `{name}`, and no file{}; `parsity studies` lists the built-in ones",
        did_you_mean(.nearest)
    )]
    NoStudy { name: String, nearest: Option<&'static str> },
    /// Neither a built-in model nor a file.
    #[error(
        "no model is called `{name}`, and no file{}; built in are {}",
        did_you_mean(.nearest), parsity_study::model::BUILTIN_NAMES.join(", ")
    )]
    NoModel { name: String, nearest: Option<&'static str> },
    /// The operating system refused.
    #[error("{action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    /// A trial under way cannot be saved.
    #[error(
        "saving a trial in {}: {source}; make room there, or use a store elsewhere, then run \
         again: all finished trials are kept", path.display()
    )]
    CannotSave { path: PathBuf, source: io::Error },
    /// A checkpoint of something else.
    #[error(
        "{} is not a checkpoint of this training, or is damaged; remove it, or name another file \
         with `--checkpoint`", path.display()
    )]
    OtherCheckpoint { path: PathBuf },
    /// A study or model file is wrong.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// The layers of a model do not fit together.
    #[error("{model}: {source}")]
    Network { model: String, source: NetworkError },
    /// A data set cannot be had.
    #[error(transparent)]
    Data(#[from] DataError),
    /// Model and data set do not fit.
    #[error("{model} takes images of {expected}, but those of {dataset} are {found}")]
    WrongImages { model: String, expected: Shape, dataset: String, found: Shape },
    /// More classes than the model has units for.
    #[error("{model} tells {units} classes apart, but {dataset} has {classes}")]
    TooManyClasses { model: String, units: usize, dataset: String, classes: usize },
    /// Nothing to train on or nothing to validate with.
    #[error(
        "a validation share of {share} leaves {train} training and {validation} validation \
         examples of {dataset}; both need at least one"
    )]
    EmptySplit { share: f64, train: usize, validation: usize, dataset: String },
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file of weights is not readable.
    #[error("{}: not a safetensors file: {source}", path.display())]
    NotSafetensors { path: PathBuf, source: safetensors::SafeTensorError },
    /// A file of weights lacks a tensor, or has it in another form.
    #[error("{}: tensor `{tensor}`: expected {expected}, found {found}", path.display())]
    WrongTensor { path: PathBuf, tensor: String, expected: String, found: String },
}

impl LabError {
    /// Wraps what the operating system says about `path`; for `map_err`.
    pub(crate) fn io(
        action: &'static str,
        path: &std::path::Path,
    ) -> impl FnOnce(io::Error) -> Self {
        move |source| LabError::Io { action, path: path.to_owned(), source }
    }
}

fn did_you_mean(nearest: &Option<&'static str>) -> String {
    nearest.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"))
}
