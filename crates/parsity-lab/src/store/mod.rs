//! The store: one SQLite file that holds the records of any number of studies.
//!
//! A record is written in one transaction when its trial ends, and is then safe from
//! any kill. Readers never block the writer.

mod edition;
mod error;
mod heartbeat;
mod lock;
mod records;
mod smoothness;

pub use edition::Edition;
pub use error::StoreError;
pub(crate) use heartbeat::Pulse;
pub use lock::Lock;
pub use records::Ended;

use parsity_study::{BatchSize, Cell, Sparsity, Steps, Study, StudyFacts};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, named_params};
use serde::de::DeserializeOwned;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Marks a SQLite file as a store: "Prst".
const APPLICATION: i64 = 0x5072_7374;
/// The version of the schema that this program writes.
const SCHEMA: i64 = 3;
/// How long to wait for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(20);

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

impl Store {
    /// Opens the store at `path` for writing. Makes it if there is none, and brings it up to
    /// date if an older Parsity wrote it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let is_empty = !path.metadata().is_ok_and(|file| file.len() > 0);
        if is_empty {
            // Under another name first: a reader never finds half a store.
            let mut name = path.as_os_str().to_owned();
            name.push(format!(".{}.part", std::process::id()));
            let part = Path::new(&name);
            let made = Store::connect(part).and_then(|mut store| store.set_up());
            let made = made.and_then(|()| fs::rename(part, path).map_err(cannot_make(path)));
            if made.is_err() {
                let _ = fs::remove_file(part);
            }
            made?;
        }
        let mut store = Store::connect(path)?;
        match store.version()? {
            0 => store.set_up()?,
            SCHEMA => {}
            found => store.migrate(found)?,
        }
        let sql = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;";
        store.connection.execute_batch(sql).map_err(failed("opening", path))?;
        Ok(store)
    }

    fn connect(path: &Path) -> Result<Self, StoreError> {
        let connection = Connection::open(path).map_err(failed("opening", path))?;
        connection.busy_timeout(PATIENCE).map_err(failed("opening", path))?;
        Ok(Store { path: path.to_owned(), connection })
    }

    /// Opens the store at `path` for reading only. One that an older Parsity wrote is brought up
    /// to date first.
    pub fn read(path: &Path) -> Result<Self, StoreError> {
        match Store::look_at(path) {
            Err(StoreError::Older { .. }) => {
                Store::open(path)?;
                Store::look_at(path)
            }
            found => found,
        }
    }

    /// Opens the store at `path` for reading only, and changes nothing even if an older Parsity
    /// wrote it.
    pub fn look_at(path: &Path) -> Result<Self, StoreError> {
        if !path.is_file() {
            return Err(StoreError::Missing { path: path.to_owned() });
        }
        let connect = |address: &Path, more: OpenFlags| -> Result<(Self, i64), StoreError> {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
            let connection =
                Connection::open_with_flags(address, flags).map_err(failed("opening", path))?;
            connection.busy_timeout(PATIENCE).map_err(failed("opening", path))?;
            let store = Store { path: path.to_owned(), connection };
            let version = store.version()?;
            Ok((store, version))
        };
        let (store, version) = match connect(path, OpenFlags::empty()) {
            // Where nobody may write, nobody does: the file can be read as it stands.
            Err(StoreError::CannotWrite { .. }) => {
                connect(&unchanging(path), OpenFlags::SQLITE_OPEN_URI)?
            }
            found => found?,
        };
        match version {
            SCHEMA => Ok(store),
            0 => Err(StoreError::NotAStore { path: path.to_owned() }),
            found => Err(StoreError::Older { path: path.to_owned(), found, known: SCHEMA }),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
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

    /// Brings a store of version `found` up to date, all or nothing.
    fn migrate(&mut self, found: i64) -> Result<(), StoreError> {
        let steps = [(1, include_str!("from-1.sql")), (2, include_str!("from-2.sql"))];
        let migrate = |connection: &mut Connection| -> rusqlite::Result<()> {
            let transaction = connection.transaction()?;
            for (_, step) in steps.iter().filter(|(from, _)| *from >= found) {
                transaction.execute_batch(step)?;
            }
            transaction.pragma_update(None, "user_version", SCHEMA)?;
            transaction.commit()
        };
        migrate(&mut self.connection).map_err(failed("bringing up to date", &self.path))
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
        self.connection
            .execute(
                "INSERT INTO study (name, question, fingerprint, dataset, model, optimizer, schedule,
                     goal_errors, step_budget, check_every, batch_sizes, sparsities, trials,
                     search)
                 VALUES (:name, :question, :fingerprint, :dataset, :model, :optimizer, :schedule,
                     :goal_errors, :step_budget, :check_every, :batch_sizes, :sparsities, :trials,
                     :search)
                 ON CONFLICT (name) DO UPDATE SET batch_sizes = excluded.batch_sizes,
                     sparsities = excluded.sparsities, trials = excluded.trials,
                     search = excluded.search",
                named_params! {
                    ":name": facts.name,
                    ":question": question,
                    ":fingerprint": fingerprint,
                    ":dataset": facts.dataset,
                    ":model": facts.model,
                    ":optimizer": facts.optimizer,
                    ":schedule": facts.schedule,
                    ":goal_errors": json(&facts.goal_errors),
                    ":step_budget": facts.step_budget.0 as i64,
                    ":check_every": json(&facts.check_every),
                    ":batch_sizes": json(&study.batch_sizes()),
                    ":sparsities": json(&study.sparsities()),
                    ":trials": facts.trials,
                    ":search": json(&facts.search),
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
        let sql = "SELECT id, name, dataset, model, optimizer, schedule, step_budget, trials,
                       goal_errors, check_every, batch_sizes, sparsities,
                       coalesce(search, 'null') FROM study ORDER BY id";
        let rows = self.rows(sql, [], |row| {
            let words = |index| row.get::<_, String>(index);
            let numbers = (row.get(0)?, row.get::<_, i64>(6)?, row.get(7)?);
            let lists = [words(8)?, words(9)?, words(10)?, words(11)?, words(12)?];
            Ok(([words(1)?, words(2)?, words(3)?, words(4)?, words(5)?], numbers, lists))
        })?;
        let read = |(words, (id, step_budget, trials), lists)| {
            let [name, dataset, model, optimizer, schedule]: [String; 5] = words;
            let [goal_errors, check_every, batch_sizes, sparsities, search]: [String; 5] = lists;
            let of = of_study(&name);
            let goal_errors = self.list(&of, "goal_errors", &goal_errors)?;
            let check_every = self.list(&of, "check_every", &check_every)?;
            let batch_sizes = self.list(&of, "batch_sizes", &batch_sizes)?;
            let sparsities = self.list(&of, "sparsities", &sparsities)?;
            let search = self.list(&of, "search", &search)?;
            let step_budget = Steps(step_budget as u64);
            let facts = StudyFacts {
                name,
                dataset,
                model,
                optimizer,
                schedule,
                goal_errors,
                step_budget,
                check_every,
                trials,
                search,
            };
            Ok(StoredStudy { id, facts, batch_sizes, sparsities })
        };
        rows.into_iter().map(read).collect()
    }

    /// What is kept as JSON, `of` a study or a watched training.
    fn list<T: DeserializeOwned>(
        &self,
        of: &str,
        column: &'static str,
        found: &str,
    ) -> Result<T, StoreError> {
        serde_json::from_str(found).map_err(|_| StoreError::Corrupt {
            path: self.path.clone(),
            of: of.to_owned(),
            column,
            found: found.to_owned(),
            expected: "what Parsity wrote there, as JSON",
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

/// The address of a file that does not change while it is read.
fn unchanging(path: &Path) -> PathBuf {
    let letters = path.to_string_lossy();
    let letters = letters.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    PathBuf::from(format!("file:{letters}?immutable=1"))
}

fn cannot_make(path: &Path) -> impl FnOnce(std::io::Error) -> StoreError + use<> {
    let path = path.to_owned();
    move |source| StoreError::CannotMake { path, source }
}

/// Where a row is wrong.
fn of_study(name: &str) -> String {
    format!("study `{name}`")
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("plain values are JSON")
}

fn failed(action: &'static str, path: &Path) -> impl Fn(rusqlite::Error) -> StoreError + use<> {
    let path = path.to_owned();
    move |source| {
        use rusqlite::ErrorCode::{CannotOpen, DiskFull, ReadOnly, SystemIoFailure};
        let path = path.clone();
        match source.sqlite_error_code() {
            Some(CannotOpen | DiskFull | ReadOnly | SystemIoFailure) => {
                StoreError::CannotWrite { action, path, source }
            }
            _ => StoreError::Sqlite { action, path, source },
        }
    }
}
