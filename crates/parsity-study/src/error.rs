//! What can be wrong with a question, and where: one problem, and its place in a file.
//!
//! Apart so that every message of the crate is written once, in one voice: what was
//! found, what was expected, what to do.

use crate::units::Steps;
use std::fmt;
use thiserror::Error;

/// A place in a file, as editors and terminals understand it: `study.toml:7:1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, as the reader named it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A study or a model that cannot be used: the problem and, if it came from a file, where.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyError {
    /// Where it is written, if it is written anywhere.
    pub place: Option<Place>,
    /// What is wrong.
    pub problem: Problem,
}

impl fmt::Display for StudyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.problem),
            None => self.problem.fmt(f),
        }
    }
}

impl std::error::Error for StudyError {}

impl From<Problem> for StudyError {
    fn from(problem: Problem) -> Self {
        StudyError { place: None, problem }
    }
}

/// What is wrong with a study or a model.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Problem {
    /// The text is not TOML.
    #[error("this is not TOML: {message}")]
    Syntax {
        /// The parser's words.
        message: String,
    },
    /// A value has the wrong type.
    #[error("`{key}`: {message}")]
    WrongType {
        /// The key of the value.
        key: String,
        /// What was found and what was expected.
        message: String,
    },
    /// A key that means nothing here.
    #[error("unknown key `{found}`: {}", suggest(found, known))]
    UnknownKey {
        /// The key.
        found: String,
        /// The keys that mean something here.
        known: Vec<String>,
    },
    /// A word that is none of the choices of its key.
    #[error("`{key}`: unknown word `{found}`: {}", suggest(found, known))]
    UnknownWord {
        /// The key of the word.
        key: String,
        /// The word.
        found: String,
        /// The choices.
        known: Vec<String>,
    },
    /// A key that has to be given.
    #[error("missing key `{key}`: it has no default, so add it")]
    MissingKey {
        /// The key.
        key: String,
    },
    /// Neither of the two keys for goals.
    #[error("missing key `goal_error`: it has no default, so add it, or a list `goal_errors`")]
    NoGoal,
    /// Both keys for goals.
    #[error("`goal_errors` is given, but so is `goal_error`: keep the one or the other")]
    GoalsTwice,
    /// A value outside of what its key allows.
    #[error("`{key}` is {found}: expected {expected}")]
    OutOfRange {
        /// The key.
        key: String,
        /// Its value.
        found: String,
        /// The values that it may have.
        expected: String,
    },
    /// A list without elements.
    #[error("`{key}` is empty: expected at least one {element}")]
    Empty {
        /// The key.
        key: &'static str,
        /// What the list is made of.
        element: &'static str,
    },
    /// The same value twice in a list.
    #[error("`{key}` holds {found} twice: expected each value once")]
    Duplicate {
        /// The key.
        key: &'static str,
        /// The value.
        found: String,
    },
    /// A range that ends before it begins.
    #[error("`{key}` goes from {from} to {to}: expected `from` below `to`")]
    EmptyRange {
        /// The key.
        key: String,
        /// Its lower end.
        from: f64,
        /// Its upper end.
        to: f64,
    },
    /// A range for a metaparameter that the workload does not have.
    #[error("`{key}` is given, but {reason}: remove it, or choose {instead}")]
    Unused {
        /// The key.
        key: String,
        /// Why the metaparameter does not exist.
        reason: &'static str,
        /// The choice that would have it.
        instead: &'static str,
    },
    /// No goal check would ever happen.
    #[error(
        "`step_budget` is {step_budget}: expected at least `check_every`, which is \
         {check_every}, or no trial would ever be checked"
    )]
    NeverChecked {
        /// The step budget.
        step_budget: Steps,
        /// The check interval, or the longest one.
        check_every: Steps,
    },
    /// A name with characters that do not belong into names.
    #[error("`{key}` is \"{found}\": expected {expected}")]
    BadName {
        /// The key.
        key: &'static str,
        /// The name.
        found: String,
        /// What names are made of.
        expected: &'static str,
    },
    /// Two layers of one name.
    #[error("two layers are called `{name}`: expected each name once, so rename one")]
    SameName {
        /// The name.
        name: String,
    },
    /// The network does not end in a dense layer.
    #[error("the last layer is `{found}`: expected `dense`, with one unit per class")]
    NoClassifier {
        /// The kind of the last layer.
        found: &'static str,
    },
}

impl Problem {
    /// The key that the problem is with, dotted, if it is with one.
    pub fn key(&self) -> Option<&str> {
        match self {
            Problem::WrongType { key, .. }
            | Problem::UnknownWord { key, .. }
            | Problem::MissingKey { key }
            | Problem::OutOfRange { key, .. }
            | Problem::EmptyRange { key, .. }
            | Problem::Unused { key, .. } => Some(key),
            Problem::Empty { key, .. }
            | Problem::Duplicate { key, .. }
            | Problem::BadName { key, .. } => Some(key),
            Problem::UnknownKey { found, .. } => Some(found),
            Problem::NeverChecked { .. } => Some("step_budget"),
            Problem::GoalsTwice => Some("goal_errors"),
            Problem::SameName { .. } => Some("name"),
            Problem::Syntax { .. } | Problem::NoGoal | Problem::NoClassifier { .. } => None,
        }
    }
}

/// The known word that was probably meant, or else all of them.
fn suggest(found: &str, known: &[String]) -> String {
    match nearest(found, known.iter().map(String::as_str)) {
        Some(word) => format!("did you mean `{word}`?"),
        None if known.is_empty() => "expected no more keys here".to_owned(),
        None => format!("expected one of `{}`", known.join("`, `")),
    }
}

/// The known word that was probably meant: at most a third of its letters differ.
pub fn nearest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |word: &str| strsim::levenshtein(found, word);
    let (distance, word) = known.into_iter().map(|word| (distance(word), word)).min()?;
    (distance * 3 <= found.len().max(word.len())).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_word_is_suggested_and_a_far_one_gets_the_list() {
        let known = ["momentum".to_owned(), "learning_rate".to_owned()];
        assert_eq!(suggest("momentun", &known), "did you mean `momentum`?");
        assert_eq!(suggest("lr", &known), "expected one of `momentum`, `learning_rate`");
        assert_eq!(suggest("x", &[]), "expected no more keys here");
    }
}
