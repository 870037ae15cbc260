//! From what a person names to a study: a built-in name, or the path of a file.

use crate::error::LabError;
use parsity_study::{ModelFile, Study, StudyFile, builtin, model, nearest};
use std::fs;
use std::path::{Path, PathBuf};

/// A study, and the folder its relative paths start from.
#[derive(Debug, Clone)]
pub struct Question {
    /// The study.
    pub study: Study,
    /// The folder of its file; the current one for a built-in study.
    pub folder: PathBuf,
}

/// The study of that name or in that file, with its model.
pub fn find_study(name_or_path: &str) -> Result<Question, LabError> {
    if let Some(study) = builtin::study(name_or_path) {
        return Ok(Question { study, folder: PathBuf::from(".") });
    }
    let path = Path::new(name_or_path);
    if !path.is_file() {
        let names = builtin::all().iter().map(|study| study.name);
        return Err(LabError::NoStudy {
            name: name_or_path.to_owned(),
            nearest: nearest(name_or_path, names),
        });
    }
    let text = fs::read_to_string(path).map_err(LabError::io("reading", path))?;
    let file = StudyFile::parse(name_or_path, &text)?;
    let folder = path.parent().unwrap_or(Path::new(".")).to_owned();
    let model = find_model(&file.model, &folder)?;
    Ok(Question { study: Study::new(file, model)?, folder })
}

/// The model of that name, or in that file of `folder`.
pub fn find_model(name_or_path: &str, folder: &Path) -> Result<ModelFile, LabError> {
    if let Some(text) = model::builtin(name_or_path) {
        return Ok(ModelFile::parse(name_or_path, text)?);
    }
    let path = folder.join(name_or_path);
    if !path.is_file() {
        return Err(LabError::NoModel {
            name: name_or_path.to_owned(),
            nearest: nearest(name_or_path, model::BUILTIN_NAMES),
        });
    }
    let text = fs::read_to_string(&path).map_err(LabError::io("reading", &path))?;
    Ok(ModelFile::parse(&path.display().to_string(), &text)?)
}
