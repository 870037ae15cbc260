//! A TOML text and its places: reads values out of it and says where they stand.
//!
//! Apart so that study and model files fail alike: every problem, of syntax, type or
//! meaning, is turned into one [`StudyError`] with file, line and column.

use crate::error::{Place, Problem, StudyError};
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

/// A text under the name of its file.
#[derive(Clone, Copy)]
pub(crate) struct Source<'t> {
    pub(crate) file: &'t str,
    pub(crate) text: &'t str,
}

/// What serde calls numbers and lists, and what people call them.
const PLAIN_WORDS: [(&str, &str); 7] = [
    ("u32", "a whole number from 0 to 4294967295"),
    ("u64", "a whole number, at least 0"),
    ("usize", "a whole number, at least 0"),
    ("f64", "a number"),
    ("a sequence", "a list"),
    ("a boolean", "true or false"),
    ("a string", "a text in quotes"),
];

impl<'t> Source<'t> {
    /// The whole text as a table with places.
    pub(crate) fn table(self) -> Result<Spanned<DeValue<'t>>, StudyError> {
        match DeTable::parse(self.text) {
            Ok(root) => Ok(Spanned::new(root.span(), DeValue::Table(root.into_inner()))),
            Err(error) => {
                let offset = error.span().map_or(0, |span| span.start);
                let problem = Problem::Syntax { message: error.message().to_owned() };
                Err(self.error(offset, problem))
            }
        }
    }

    /// `value` as a `T`, or where and why it is none.
    pub(crate) fn read<T: DeserializeOwned>(
        self,
        value: &Spanned<DeValue<'t>>,
    ) -> Result<T, StudyError> {
        T::deserialize(ValueDeserializer::from(value.clone())).map_err(|error| {
            let offset = error.span().map_or(value.span().start, |span| span.start);
            self.error(offset, explain(error.message(), key_at(value, offset).unwrap_or_default()))
        })
    }

    /// A problem at `offset` of the text.
    pub(crate) fn error(self, offset: usize, problem: Problem) -> StudyError {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let place = Place {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[start..].chars().count() + 1,
        };
        StudyError { place: Some(place), problem }
    }

    /// A problem at the value of its own dotted key within `table`; the longest part of
    /// the key that is written counts, since the rest may have come from a default.
    pub(crate) fn error_within(self, table: &Spanned<DeValue<'t>>, problem: Problem) -> StudyError {
        let mut value = table;
        for part in problem.key().into_iter().flat_map(|key| key.split('.')) {
            match value.get_ref().get(part) {
                Some(inner) => value = inner,
                None => break,
            }
        }
        self.error(value.span().start, problem)
    }
}

/// The dotted key of the innermost value that is written at `offset`.
fn key_at(value: &Spanned<DeValue<'_>>, offset: usize) -> Option<String> {
    match value.get_ref() {
        DeValue::Table(table) => table.iter().find_map(|(key, inner)| {
            // A table under a header spans its header only, so look inside first.
            let rest = key_at(inner, offset).map(|rest| format!("{key}.{rest}"));
            rest.or_else(|| inner.span().contains(&offset).then(|| key.to_string()))
        }),
        DeValue::Array(array) => array.iter().find_map(|inner| key_at(inner, offset)),
        _ => None,
    }
}

/// The problem behind serde's message about the value of `key`. The wording of unknown
/// and missing fields is serde's; tests hold it fast.
fn explain(message: &str, key: String) -> Problem {
    let quoted = |text: &str| -> Vec<String> {
        text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    if let Some(field) = message.strip_prefix("missing field `") {
        let key = if key.is_empty() { key } else { format!("{key}.") };
        return Problem::MissingKey { key: format!("{key}{}", field.trim_end_matches('`')) };
    }
    if let Some(field) = message.strip_prefix("unknown field `") {
        let (found, known) = field
            .rsplit_once("`, expected ")
            .unwrap_or_else(|| (field.strip_suffix("`, there are no fields").unwrap_or(field), ""));
        return Problem::UnknownKey { found: found.to_owned(), known: quoted(known) };
    }
    if let Some(variant) = message.strip_prefix("unknown variant `")
        && let Some((found, known)) = variant.rsplit_once("`, expected ")
    {
        return Problem::UnknownWord { key, found: found.to_owned(), known: quoted(known) };
    }
    let message = match message.rsplit_once(", expected ") {
        Some((found, expected)) => {
            let plain = PLAIN_WORDS.iter().find(|(word, _)| *word == expected);
            format!("{found}, expected {}", plain.map_or(expected, |(_, plain)| plain))
        }
        // The parser's words where it wants one of the words of an enum.
        None if message == "wanted string or table" => "expected a word in quotes".to_owned(),
        None => message.to_owned(),
    };
    // How wide the parser's integers are is of no interest.
    let message = message.replace(" as i128", "").replace(" as u128", "");
    Problem::WrongType { key, message }
}
