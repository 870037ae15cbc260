//! The records of a store: written when trials end, read when somebody asks.

use super::{Store, StoreError, StoredStudy, failed, json, of_study};
use parsity_study::{
    BatchSize, Cell, ErrorRate, Metaparameters, Observation, Outcome, Protocol, Record, Sparsity,
    Steps, TrialId,
};
use rusqlite::{Connection, OptionalExtension, Transaction, named_params, params};

/// A trial that has ended.
#[derive(Debug, Clone)]
pub struct Ended {
    /// Its id.
    pub id: TrialId,
    /// What it leaves.
    pub record: Record,
    /// Why it failed, if it did.
    pub message: Option<String>,
}

impl Store {
    /// Writes trials that have ended, with all their observations, in one transaction. A
    /// trial that had failed is replaced; one that was outpaced, by one trained to its end.
    pub fn append(&mut self, study: &StoredStudy, ended: &[Ended]) -> Result<(), StoreError> {
        let failed = failed("writing to", &self.path);
        let write = |connection: &mut Connection| -> rusqlite::Result<()> {
            let transaction = connection.transaction()?;
            for trial in ended {
                insert(&transaction, study, trial)?;
            }
            transaction.commit()
        };
        write(&mut self.connection).map_err(failed)
    }

    /// All records of `study`, by cell and trial; with their observations if asked for.
    pub fn records(&self, study: &StoredStudy, observed: bool) -> Result<Vec<Record>, StoreError> {
        self.select(study, "study = ?", [study.id], observed)
    }

    /// All records of a cell of `study`, by trial, with their observations.
    pub fn cell_records(&self, study: &StoredStudy, cell: Cell) -> Result<Vec<Record>, StoreError> {
        let which = "study = ? AND batch_size = ? AND sparsity = ?";
        let cell = params![study.id, cell.batch_size.0, cell.sparsity.share()];
        self.select(study, which, cell, true)
    }

    fn select(
        &self,
        study: &StoredStudy,
        which: &str,
        parameters: impl rusqlite::Params,
        observed: bool,
    ) -> Result<Vec<Record>, StoreError> {
        let sql = format!(
            "SELECT batch_size, sparsity, trial, learning_rate, momentum, decay_steps, end_factor,
                 protocol, outcome, steps, reached, evaluated, seconds, weights, id
             FROM trial WHERE {which} ORDER BY batch_size, sparsity, trial"
        );
        let rows = self.rows(&sql, parameters, |row| {
            let steps = |index| row.get::<_, i64>(index).map(|steps| Steps(steps as u64));
            let record = Record {
                cell: Cell { batch_size: BatchSize(row.get(0)?), sparsity: Sparsity::DENSE },
                trial: row.get(2)?,
                metaparameters: Metaparameters {
                    learning_rate: row.get(3)?,
                    momentum: row.get(4)?,
                    decay_steps: row.get::<_, Option<i64>>(5)?.map(|steps| Steps(steps as u64)),
                    end_factor: row.get(6)?,
                },
                protocol: Protocol::Racing,
                outcome: Outcome::Failed,
                steps: steps(9)?,
                reached: Vec::new(),
                evaluated: row.get::<_, i64>(11)? as u64,
                seconds: row.get(12)?,
                weights: row.get(13)?,
                observations: Vec::new(),
            };
            let words = [row.get::<_, String>(7)?, row.get(8)?, row.get(10)?];
            Ok((record, row.get::<_, f64>(1)?, words, row.get::<_, i64>(14)?))
        })?;
        let of = of_study(&study.facts.name);
        let complete = |(mut record, share, words, id): (Record, f64, [String; 3], i64)| {
            let corrupt = |column, found: String, expected| StoreError::Corrupt {
                path: self.path.clone(),
                of: of.clone(),
                column,
                found,
                expected,
            };
            let [protocol, outcome, reached] = words;
            record.cell.sparsity = Sparsity::new(share)
                .ok_or_else(|| corrupt("sparsity", share.to_string(), "at least 0 and below 1"))?;
            record.protocol = Protocol::from_name(&protocol)
                .ok_or_else(|| corrupt("protocol", protocol, "racing or exhaustive"))?;
            record.outcome = Outcome::from_name(&outcome)
                .ok_or_else(|| corrupt("outcome", outcome, "one of the six outcomes"))?;
            record.reached = self.list(&of, "reached", &reached)?;
            if observed {
                record.observations = self.observations(id)?;
            }
            Ok(record)
        };
        rows.into_iter().map(complete).collect()
    }

    fn observations(&self, trial: i64) -> Result<Vec<Observation>, StoreError> {
        let sql = "SELECT step, loss, error, exact FROM observation WHERE trial = ? ORDER BY step";
        self.rows(sql, [trial], |row| {
            Ok(Observation {
                step: Steps(row.get::<_, i64>(0)? as u64),
                loss: row.get(1)?,
                error: ErrorRate(row.get(2)?),
                exact: row.get(3)?,
            })
        })
    }

    /// What `study` asks, as canonical text, and the fingerprint of its data set.
    pub fn question(&self, study: &StoredStudy) -> Result<(String, String), StoreError> {
        let sql = "SELECT question, fingerprint FROM study WHERE id = ?";
        let asked =
            self.connection.query_one(sql, [study.id], |row| Ok((row.get(0)?, row.get(1)?)));
        asked.map_err(self.failed("reading"))
    }

    /// The saliencies that follow from `start`, if they were computed before.
    pub fn saliencies(&self, start: &str) -> Result<Option<Vec<f32>>, StoreError> {
        let sql = "SELECT scores FROM saliency WHERE start = ?";
        let scores = self.connection.query_row(sql, [start], |row| {
            let bytes = row.get_ref(0)?.as_blob()?;
            Ok(bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
        });
        scores.optional().map_err(self.failed("reading"))
    }

    /// Keeps the saliencies that follow from `start`.
    pub fn keep_saliencies(&mut self, start: &str, scores: &[f32]) -> Result<(), StoreError> {
        let bytes: Vec<u8> = scores.iter().flat_map(|score| score.to_le_bytes()).collect();
        self.connection
            .execute("INSERT OR IGNORE INTO saliency VALUES (?, ?)", params![start, bytes])
            .map_err(self.failed("writing to"))?;
        Ok(())
    }
}

fn insert(
    transaction: &Transaction<'_>,
    study: &StoredStudy,
    ended: &Ended,
) -> rusqlite::Result<()> {
    let Ended { id, record, message } = ended;
    let Cell { batch_size, sparsity } = record.cell;
    let point = &record.metaparameters;
    // One that was stopped early is replaced by one that was trained to its end.
    let replaced = match record.protocol {
        Protocol::Racing => [Outcome::Failed; 3],
        Protocol::Exhaustive => [Outcome::Failed, Outcome::Outpaced, Outcome::Collapsed],
    };
    let [failed, outpaced, collapsed] = replaced.map(Outcome::name);
    transaction.execute(
        "DELETE FROM trial WHERE study = ? AND batch_size = ? AND sparsity = ? AND trial = ?
             AND outcome IN (?, ?, ?)",
        params![
            study.id,
            batch_size.0,
            sparsity.share(),
            record.trial,
            failed,
            outpaced,
            collapsed
        ],
    )?;
    transaction.execute(
        "INSERT INTO trial (study, batch_size, sparsity, trial, hash, learning_rate, momentum,
             decay_steps, end_factor, protocol, outcome, steps, reached, evaluated, seconds,
             weights, message, version)
         VALUES (:study, :batch_size, :sparsity, :trial, :hash, :learning_rate, :momentum,
             :decay_steps, :end_factor, :protocol, :outcome, :steps, :reached, :evaluated, :seconds,
             :weights, :message, :version)",
        named_params! {
            ":study": study.id,
            ":batch_size": batch_size.0,
            ":sparsity": sparsity.share(),
            ":trial": record.trial,
            ":hash": id.to_string(),
            ":learning_rate": point.learning_rate,
            ":momentum": point.momentum,
            ":decay_steps": point.decay_steps.map(|steps| steps.0 as i64),
            ":end_factor": point.end_factor,
            ":protocol": record.protocol.name(),
            ":outcome": record.outcome.name(),
            ":steps": record.steps.0 as i64,
            ":reached": json(&record.reached),
            ":evaluated": record.evaluated as i64,
            ":seconds": record.seconds,
            ":weights": record.weights,
            ":message": message,
            ":version": env!("CARGO_PKG_VERSION"),
        },
    )?;
    let trial = transaction.last_insert_rowid();
    let mut insert =
        transaction.prepare_cached("INSERT INTO observation VALUES (?, ?, ?, ?, ?)")?;
    for seen in &record.observations {
        insert.execute(params![trial, seen.step.0 as i64, seen.loss, seen.error.0, seen.exact])?;
    }
    Ok(())
}
