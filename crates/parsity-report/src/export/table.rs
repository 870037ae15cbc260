//! The raw tables: their columns, and how each is read off a row.
//!
//! One list of columns serves all formats, so a column has the same name and kind in each.
//! Values are read when they are written: a long study has millions of goal checks.

use parsity_analysis::StudyRecords;
use parsity_study::{Observation, Record, StudyFacts};

/// A table of raw records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// One row per trial.
    Records,
    /// One row per goal check.
    Observations,
}

/// What a row tells about: a trial, and in the table of observations one of its goal checks.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    facts: &'a StudyFacts,
    record: &'a Record,
    seen: Option<&'a Observation>,
}

/// A named column.
pub struct Column {
    /// Its name, which does not change between versions.
    pub name: String,
    /// Its kind, with how to read it off a row; what does not exist is missing.
    pub content: Content,
}

/// The kinds of columns.
pub enum Content {
    /// Words.
    Words(fn(Row<'_>) -> Option<&str>),
    /// Whole numbers.
    Whole(Box<dyn Fn(Row<'_>) -> Option<u64>>),
    /// Any other numbers.
    Numbers(Box<dyn Fn(Row<'_>) -> Option<f64>>),
    /// Yes or no.
    Flags(fn(Row<'_>) -> Option<bool>),
}

impl Table {
    /// All tables.
    pub const ALL: [Table; 2] = [Table::Records, Table::Observations];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Table::Records => "records",
            Table::Observations => "observations",
        }
    }

    /// Its rows, in the order of studies, cells, trials and steps.
    pub fn rows<'a>(self, studies: &'a [StudyRecords]) -> Box<dyn Iterator<Item = Row<'a>> + 'a> {
        let trials = studies.iter().flat_map(|study| {
            let facts = &study.facts;
            study.records.iter().map(move |record| Row { facts, record, seen: None })
        });
        match self {
            Table::Records => Box::new(trials),
            Table::Observations => Box::new(trials.flat_map(|row| {
                let checks = row.record.observations.iter();
                checks.map(move |seen| Row { seen: Some(seen), ..row })
            })),
        }
    }

    /// Its columns; there are as many goals as the study with the most of them has.
    pub fn columns(self, studies: &[StudyRecords]) -> Vec<Column> {
        match self {
            Table::Records => {
                let goals = studies.iter().map(|study| study.facts.goal_errors.len());
                of_records(goals.max().unwrap_or(0))
            }
            Table::Observations => of_observations(),
        }
    }
}

fn of_records(goals: usize) -> Vec<Column> {
    let mut columns = vec![
        words("study", |row| Some(&row.facts.name)),
        words("dataset", |row| Some(&row.facts.dataset)),
        words("model", |row| Some(&row.facts.model)),
        words("optimizer", |row| Some(&row.facts.optimizer)),
        words("schedule", |row| Some(&row.facts.schedule)),
        whole("step_budget", |row| Some(row.facts.step_budget.0)),
        whole("check_every", |row| Some(row.facts.check_every.at(row.record.cell.batch_size).0)),
    ];
    columns.extend(of_trial());
    columns.extend([
        numbers("learning_rate", |row| Some(row.record.metaparameters.learning_rate)),
        numbers("momentum", |row| row.record.metaparameters.momentum),
        whole("decay_steps", |row| row.record.metaparameters.decay_steps.map(|it| it.0)),
        numbers("end_factor", |row| row.record.metaparameters.end_factor),
        words("protocol", |row| Some(row.record.protocol.name())),
        words("outcome", |row| Some(row.record.outcome.name())),
        whole("steps", |row| Some(row.record.steps.0)),
    ]);
    for goal in 0..goals {
        let number = goal + 1;
        columns.extend([
            numbers(format!("goal_{number}"), move |row| {
                row.facts.goal_errors.get(goal).map(|error| error.0)
            }),
            whole(format!("reached_{number}"), move |row| {
                row.record.reached.get(goal).map(|steps| steps.0)
            }),
        ]);
    }
    columns.extend([
        whole("evaluated", |row| Some(row.record.evaluated)),
        numbers("seconds", |row| Some(row.record.seconds)),
        words("weights", |row| row.record.weights.as_deref()),
    ]);
    columns
}

fn of_observations() -> Vec<Column> {
    let mut columns = vec![words("study", |row| Some(&row.facts.name))];
    columns.extend(of_trial());
    columns.extend([
        whole("step", |row| row.seen.map(|seen| seen.step.0)),
        numbers("loss", |row| row.seen.map(|seen| seen.loss)),
        numbers("error", |row| row.seen.map(|seen| seen.error.0)),
        flags("exact", |row| row.seen.map(|seen| seen.exact)),
    ]);
    columns
}

/// What names a trial within its study, by which the two tables are joined.
fn of_trial() -> [Column; 3] {
    [
        whole("batch_size", |row| Some(row.record.cell.batch_size.0.into())),
        numbers("sparsity", |row| Some(row.record.cell.sparsity.share())),
        whole("trial", |row| Some(row.record.trial.into())),
    ]
}

fn words(name: &str, of: fn(Row<'_>) -> Option<&str>) -> Column {
    Column { name: name.to_owned(), content: Content::Words(of) }
}

fn whole(name: impl Into<String>, of: impl Fn(Row<'_>) -> Option<u64> + 'static) -> Column {
    Column { name: name.into(), content: Content::Whole(Box::new(of)) }
}

fn numbers(name: impl Into<String>, of: impl Fn(Row<'_>) -> Option<f64> + 'static) -> Column {
    Column { name: name.into(), content: Content::Numbers(Box::new(of)) }
}

fn flags(name: &str, of: fn(Row<'_>) -> Option<bool>) -> Column {
    Column { name: name.to_owned(), content: Content::Flags(of) }
}
