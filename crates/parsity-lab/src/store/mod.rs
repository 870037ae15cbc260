//! The store: one SQLite file that holds the records of any number of studies.
//!
//! A record is written in one transaction when its trial ends, and is then safe from
//! any kill. Readers never block the writer.

mod error;

pub use error::StoreError;

use parsity_study::{
    BatchSize, Cell, ErrorRate, Metaparameters, Observation, Outcome, Record, Sparsity, Steps,
    Study, StudyFacts, TrialId,
};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, named_params, params};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Marks a SQLite file as a store: "Prst".
const APPLICATION: i64 = 0x5072_7374;
/// The version of the schema that this program writes.
const SCHEMA: i64 = 1;
/// How long to wait for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long to wait for another run that is ending.
const GRACE: Duration = Duration::from_secs(1);

/// An open store.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
}

/// A study as the store has it, with the extent that was asked for last.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredStudy {
    id: i64,
    /// What its figures and tables state.
    pub facts: StudyFacts,
    /// The grid's batch sizes.
    pub batch_sizes: Vec<BatchSize>,
    /// The grid's sparsities.
    pub sparsities: Vec<Sparsity>,
}

impl StoredStudy {
    /// Its cells, by batch size and then sparsity.
    pub fn cells(&self) -> Vec<Cell> {
        let row = |&batch_size| {
            self.sparsities.iter().map(move |&sparsity| Cell { batch_size, sparsity })
        };
        self.batch_sizes.iter().flat_map(row).collect()
    }
}

/// The right to write to a store; only one run has it at a time.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code)] File);

impl Lock {
    /// Takes the right to write to the store at `path`.
    pub fn take(path: &Path) -> Result<Self, StoreError> {
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let file = PathBuf::from(name);
        let refused = |source| StoreError::Lock { path: file.clone(), source };
        let handle = File::create(&file).map_err(refused)?;
        // A run that was just killed may take a moment to let go.
        let begin = Instant::now();
        loop {
            match handle.try_lock() {
                Ok(()) => return Ok(Lock(handle)),
                Err(TryLockError::Error(source)) => return Err(refused(source)),
                Err(TryLockError::WouldBlock) if begin.elapsed() < GRACE => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(StoreError::InUse { path: path.to_owned() });
                }
            }
        }
    }
}

impl Store {
    /// Opens the store at `path` for writing, and makes it if there is none.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let connection = Connection::open(path).map_err(failed("opening", path))?;
        let mut store = Store { path: path.to_owned(), connection };
        store.connection.busy_timeout(PATIENCE).map_err(failed("opening", path))?;
        let found = store.version()?;
        if found == 0 {
            store.set_up()?;
        }
        let sql = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;";
        store.connection.execute_batch(sql).map_err(failed("opening", path))?;
        Ok(store)
    }

    /// Opens the store at `path` for reading only.
    pub fn read(path: &Path) -> Result<Self, StoreError> {
        if !path.is_file() {
            return Err(StoreError::Missing { path: path.to_owned() });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection =
            Connection::open_with_flags(path, flags).map_err(failed("opening", path))?;
        let store = Store { path: path.to_owned(), connection };
        store.connection.busy_timeout(PATIENCE).map_err(failed("opening", path))?;
        if store.version()? == 0 {
            return Err(StoreError::NotAStore { path: path.to_owned() });
        }
        Ok(store)
    }

    /// The version of the store's schema; 0 if the file is empty.
    fn version(&self) -> Result<i64, StoreError> {
        let not_a_store = || StoreError::NotAStore { path: self.path.clone() };
        let pragma =
            |name: &str| self.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let application = match pragma("application_id") {
            Ok(application) => application,
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) => {
                return Err(not_a_store());
            }
            Err(error) => return Err(self.failed("opening")(error)),
        };
        let version = pragma("user_version").map_err(self.failed("opening"))?;
        let tables = "SELECT count(*) FROM sqlite_schema";
        let tables: i64 = self
            .connection
            .query_one(tables, [], |row| row.get(0))
            .map_err(self.failed("opening"))?;
        match (application, version) {
            (0, 0) if tables == 0 => Ok(0),
            (APPLICATION, found) if found > SCHEMA => {
                Err(StoreError::Newer { path: self.path.clone(), found, known: SCHEMA })
            }
            (APPLICATION, found) => Ok(found),
            _ => Err(not_a_store()),
        }
    }

    fn set_up(&mut self) -> Result<(), StoreError> {
        let set_up = |connection: &mut Connection| -> rusqlite::Result<()> {
            let transaction = connection.transaction()?;
            transaction.execute_batch(include_str!("schema.sql"))?;
            transaction.pragma_update(None, "application_id", APPLICATION)?;
            transaction.pragma_update(None, "user_version", SCHEMA)?;
            transaction.commit()
        };
        set_up(&mut self.connection).map_err(failed("setting up", &self.path))
    }

    /// Enters `study`, or finds it and takes over its extent. A study whose question or
    /// data changed under the same name is refused.
    pub fn enter(&mut self, study: &Study, fingerprint: &str) -> Result<StoredStudy, StoreError> {
        let question = study.canonical();
        let known: Option<(String, String)> = self
            .connection
            .query_row(
                "SELECT question, fingerprint FROM study WHERE name = ?",
                [study.name()],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()
            .map_err(self.failed("reading"))?;
        if let Some((stored_question, stored)) = known {
            let (path, name) = (self.path.clone(), study.name().to_owned());
            if stored_question != question {
                let differences = study.differences(&stored_question);
                return Err(StoreError::Changed { path, study: name, differences });
            }
            if stored != fingerprint {
                let found = fingerprint.to_owned();
                return Err(StoreError::OtherData { path, study: name, stored, found });
            }
        }
        let facts = StudyFacts::of(study);
        let sizes: Vec<u32> = study.batch_sizes().iter().map(|size| size.0).collect();
        let shares: Vec<f64> = study.sparsities().iter().map(|sparsity| sparsity.share()).collect();
        self.connection
            .execute(
                "INSERT INTO study (name, question, fingerprint, dataset, model, optimizer, schedule,
                     goal_error, step_budget, check_every, batch_sizes, sparsities, trials)
                 VALUES (:name, :question, :fingerprint, :dataset, :model, :optimizer, :schedule,
                     :goal_error, :step_budget, :check_every, :batch_sizes, :sparsities, :trials)
                 ON CONFLICT (name) DO UPDATE SET batch_sizes = excluded.batch_sizes,
                     sparsities = excluded.sparsities, trials = excluded.trials",
                named_params! {
                    ":name": facts.name,
                    ":question": question,
                    ":fingerprint": fingerprint,
                    ":dataset": facts.dataset,
                    ":model": facts.model,
                    ":optimizer": facts.optimizer,
                    ":schedule": facts.schedule,
                    ":goal_error": facts.goal_error.0,
                    ":step_budget": facts.step_budget.0 as i64,
                    ":check_every": facts.check_every.0 as i64,
                    ":batch_sizes": serde_json::json!(sizes).to_string(),
                    ":sparsities": serde_json::json!(shares).to_string(),
                    ":trials": facts.trials,
                },
            )
            .map_err(self.failed("writing to"))?;
        self.study(study.name())
    }

    /// The study of that name.
    pub fn study(&self, name: &str) -> Result<StoredStudy, StoreError> {
        let mut studies = self.studies()?;
        match studies.iter().position(|study| study.facts.name == name) {
            Some(index) => Ok(studies.swap_remove(index)),
            None => Err(StoreError::NoStudy {
                path: self.path.clone(),
                study: name.to_owned(),
                known: studies.into_iter().map(|study| study.facts.name).collect(),
            }),
        }
    }

    /// All studies, in the order in which they were entered.
    pub fn studies(&self) -> Result<Vec<StoredStudy>, StoreError> {
        let sql = "SELECT id, name, dataset, model, optimizer, schedule, goal_error, step_budget,
                       check_every, batch_sizes, sparsities, trials FROM study ORDER BY id";
        let rows = self.rows(sql, [], |row| {
            let steps = |index| row.get::<_, i64>(index).map(|steps| Steps(steps as u64));
            let extent = (row.get::<_, String>(9)?, row.get::<_, String>(10)?);
            let facts = StudyFacts {
                name: row.get(1)?,
                dataset: row.get(2)?,
                model: row.get(3)?,
                optimizer: row.get(4)?,
                schedule: row.get(5)?,
                goal_error: ErrorRate(row.get(6)?),
                step_budget: steps(7)?,
                check_every: steps(8)?,
                trials: row.get(11)?,
            };
            let (batch_sizes, sparsities) = (Vec::new(), Vec::new());
            let study = StoredStudy { id: row.get(0)?, facts, batch_sizes, sparsities };
            Ok((study, extent))
        })?;
        rows.into_iter().map(|(study, extent)| self.with_extent(study, extent)).collect()
    }

    fn with_extent(
        &self,
        mut study: StoredStudy,
        (batch_sizes, sparsities): (String, String),
    ) -> Result<StoredStudy, StoreError> {
        let corrupt = |column, found: &str, expected| StoreError::Corrupt {
            path: self.path.clone(),
            study: study.facts.name.clone(),
            column,
            found: found.to_owned(),
            expected,
        };
        let sizes: Vec<BatchSize> = serde_json::from_str(&batch_sizes)
            .map_err(|_| corrupt("batch_sizes", &batch_sizes, "a list of batch sizes"))?;
        let shares: Vec<Sparsity> = serde_json::from_str(&sparsities)
            .map_err(|_| corrupt("sparsities", &sparsities, "a list of sparsities"))?;
        (study.batch_sizes, study.sparsities) = (sizes, shares);
        Ok(study)
    }

    /// Writes a finished trial with all its observations, in one transaction. A trial
    /// that had failed before is replaced.
    pub fn append(
        &mut self,
        study: &StoredStudy,
        id: TrialId,
        record: &Record,
        message: Option<&str>,
    ) -> Result<(), StoreError> {
        let failed = failed("writing to", &self.path);
        let write = |connection: &mut Connection| -> rusqlite::Result<()> {
            let transaction = connection.transaction()?;
            let Cell { batch_size, sparsity } = record.cell;
            let point = &record.metaparameters;
            transaction.execute(
                "DELETE FROM trial WHERE study = ? AND batch_size = ? AND sparsity = ? AND trial = ?
                     AND outcome = ?",
                params![study.id, batch_size.0, sparsity.share(), record.trial, Outcome::Failed.name()],
            )?;
            transaction.execute(
                "INSERT INTO trial (study, batch_size, sparsity, trial, hash, learning_rate, momentum,
                     decay_steps, end_factor, outcome, steps, seconds, message, version)
                 VALUES (:study, :batch_size, :sparsity, :trial, :hash, :learning_rate, :momentum,
                     :decay_steps, :end_factor, :outcome, :steps, :seconds, :message, :version)",
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
                    ":outcome": record.outcome.name(),
                    ":steps": record.steps.0 as i64,
                    ":seconds": record.seconds,
                    ":message": message,
                    ":version": env!("CARGO_PKG_VERSION"),
                },
            )?;
            let trial = transaction.last_insert_rowid();
            let mut insert =
                transaction.prepare_cached("INSERT INTO observation VALUES (?, ?, ?, ?)")?;
            for seen in &record.observations {
                insert.execute(params![trial, seen.step.0 as i64, seen.loss, seen.error.0])?;
            }
            drop(insert);
            transaction.commit()
        };
        write(&mut self.connection).map_err(failed)
    }

    /// All records of `study`, by cell and trial; with their observations if asked for.
    pub fn records(&self, study: &StoredStudy, observed: bool) -> Result<Vec<Record>, StoreError> {
        let sql =
            "SELECT batch_size, sparsity, trial, learning_rate, momentum, decay_steps, end_factor,
                       outcome, steps, seconds, id FROM trial WHERE study = ?
                   ORDER BY batch_size, sparsity, trial";
        let rows = self.rows(sql, [study.id], |row| {
            let word: String = row.get(7)?;
            let share: f64 = row.get(1)?;
            let record = Record {
                cell: Cell { batch_size: BatchSize(row.get(0)?), sparsity: Sparsity::DENSE },
                trial: row.get(2)?,
                metaparameters: Metaparameters {
                    learning_rate: row.get(3)?,
                    momentum: row.get(4)?,
                    decay_steps: row.get::<_, Option<i64>>(5)?.map(|steps| Steps(steps as u64)),
                    end_factor: row.get(6)?,
                },
                outcome: Outcome::Failed,
                steps: Steps(row.get::<_, i64>(8)? as u64),
                seconds: row.get(9)?,
                observations: Vec::new(),
            };
            Ok((record, share, word, row.get::<_, i64>(10)?))
        })?;
        let complete = |(mut record, share, word, id): (Record, f64, String, i64)| {
            let corrupt = |column, found: String, expected| StoreError::Corrupt {
                path: self.path.clone(),
                study: study.facts.name.clone(),
                column,
                found,
                expected,
            };
            record.cell.sparsity = Sparsity::new(share)
                .ok_or_else(|| corrupt("sparsity", share.to_string(), "at least 0 and below 1"))?;
            record.outcome = Outcome::from_name(&word)
                .ok_or_else(|| corrupt("outcome", word, "one of the five outcomes"))?;
            if observed {
                record.observations = self.observations(id)?;
            }
            Ok(record)
        };
        rows.into_iter().map(complete).collect()
    }

    fn observations(&self, trial: i64) -> Result<Vec<Observation>, StoreError> {
        let sql = "SELECT step, loss, error FROM observation WHERE trial = ? ORDER BY step";
        self.rows(sql, [trial], |row| {
            Ok(Observation {
                step: Steps(row.get::<_, i64>(0)? as u64),
                loss: row.get(1)?,
                error: ErrorRate(row.get(2)?),
            })
        })
    }

    fn rows<T>(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let all = || -> rusqlite::Result<Vec<T>> {
            self.connection.prepare_cached(sql)?.query_map(parameters, read)?.collect()
        };
        all().map_err(self.failed("reading"))
    }

    fn failed(&self, action: &'static str) -> impl Fn(rusqlite::Error) -> StoreError {
        failed(action, &self.path)
    }
}

fn failed(action: &'static str, path: &Path) -> impl Fn(rusqlite::Error) -> StoreError + use<> {
    let path = path.to_owned();
    move |source| StoreError::Sqlite { action, path: path.clone(), source }
}
