//! Which records a study has: what a watcher compares to see whether anything is new.

use super::{Store, StoreError, StoredStudy, json};
use sha2::{Digest, Sha256};
use std::fmt;

/// Stands for all records that a study has, and for the extent that was asked for last: two that
/// are equal mean the same answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Edition(String);

/// As hexadecimal digits.
impl fmt::Display for Edition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Store {
    /// The edition of a study, without looking at its records.
    pub fn edition(&self, study: &StoredStudy) -> Result<Edition, StoreError> {
        // What replaces a record may get its id, but was trained or looked at differently, or
        // later.
        let trials = "SELECT count(*), coalesce(max(id), 0), total(steps + evaluated),
                          coalesce(max(finished_at), '') FROM trial WHERE study = ?";
        let watched = "SELECT count(*), coalesce(max(rowid), 0), total(length(points)),
                           coalesce(max(finished_at), '') FROM smoothness
                       WHERE dataset = ? AND model = ?";
        let all = |row: &rusqlite::Row<'_>| {
            let numbers: (i64, i64, f64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok((numbers, row.get::<_, String>(3)?))
        };
        let trials = self.rows(trials, [study.id], all)?;
        let facts = &study.facts;
        let watched = self.rows(watched, [&facts.dataset, &facts.model], all)?;
        let extent = (json(&study.batch_sizes), json(&study.sparsities));
        let text = format!("{} {trials:?} {watched:?} {extent:?} {}", study.id, json(facts));
        let digest = Sha256::digest(text);
        Ok(Edition(digest[..8].iter().map(|byte| format!("{byte:02x}")).collect()))
    }
}
