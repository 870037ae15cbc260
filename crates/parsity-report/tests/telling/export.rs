//! Raw tables: what is in a record comes out of every format as it was.

use crate::specimen::{facts, theory};
use crate::trials::{trials, with_two_goals};
use parsity_analysis::StudyRecords;
use parsity_report::{Format, ReportError, Table};
use parsity_study::{ErrorRate, Observation, Steps};
use std::fs;

/// Two studies with one goal and with two; every trial was checked twice.
fn studies() -> Vec<StudyRecords> {
    let one = trials(facts("one"), 3..=4, &[0.0, 0.9], theory);
    let two = with_two_goals(trials(facts("two, \"looser\""), 3..=3, &[0.0], theory));
    let mut studies = vec![one, two];
    for record in studies.iter_mut().flat_map(|study| &mut study.records) {
        let seen = |step, error, exact| {
            let (step, error) = (Steps(step), ErrorRate(error));
            Observation { step, loss: 1.0 / step.0 as f64, error, exact }
        };
        record.observations = vec![seen(16, 0.3, false), seen(48, 0.1, true)];
        record.weights = Some("00ff".repeat(16));
    }
    studies
}

fn text(format: Format, table: Table, studies: &[StudyRecords]) -> String {
    let mut bytes = Vec::new();
    format.write(table, studies, &mut bytes).expect("memory takes all rows");
    String::from_utf8(bytes).expect("the rows are text")
}

#[test]
fn columns_keep_their_names_and_their_order() {
    let names = |table: Table| -> Vec<String> {
        table.columns(&studies()).into_iter().map(|column| column.name).collect()
    };
    let records = "study dataset model optimizer schedule step_budget check_every batch_size \
                   sparsity trial learning_rate momentum decay_steps end_factor protocol outcome \
                   steps goal_1 reached_1 goal_2 reached_2 evaluated seconds weights";
    assert_eq!(names(Table::Records), records.split_whitespace().collect::<Vec<_>>());
    let observations = "study batch_size sparsity trial step loss error exact";
    assert_eq!(names(Table::Observations), observations.split_whitespace().collect::<Vec<_>>());
}

#[test]
fn every_record_is_a_line_of_csv_with_all_its_digits() {
    let studies = studies();
    let text = text(Format::Csv, Table::Records, &studies);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names = reader.headers().unwrap().clone();
    let at = |name: &str| names.iter().position(|it| it == name).unwrap();
    let lines: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let records = studies.iter().flat_map(|it| it.records.iter().map(move |r| (&it.facts, r)));
    assert_eq!(lines.len(), records.clone().count());
    for (line, (facts, record)) in lines.iter().zip(records) {
        assert_eq!(line[at("study")], facts.name);
        let number = |name| line[at(name)].parse::<f64>().ok();
        assert_eq!(number("learning_rate"), Some(record.metaparameters.learning_rate));
        assert_eq!(number("momentum"), record.metaparameters.momentum);
        assert_eq!((number("decay_steps"), number("seconds")), (None, Some(record.seconds)));
        assert_eq!(line[at("outcome")], *record.outcome.name());
        let reached = |goal: usize| record.reached.get(goal).map(|steps| steps.0 as f64);
        assert_eq!((number("reached_1"), number("reached_2")), (reached(0), reached(1)));
        let goal = |goal: usize| facts.goal_errors.get(goal).map(|error| error.0);
        assert_eq!((number("goal_1"), number("goal_2")), (goal(0), goal(1)));
    }
}

#[test]
fn json_holds_the_same_as_csv_with_null_for_what_is_missing() {
    let studies = studies();
    for table in Table::ALL {
        let text_of = |format| text(format, table, &studies);
        let objects: Vec<serde_json::Value> = serde_json::from_str(&text_of(Format::Json)).unwrap();
        let csv = text_of(Format::Csv);
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        let names = reader.headers().unwrap().clone();
        let lines: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        assert_eq!(objects.len(), lines.len());
        for (object, line) in objects.iter().zip(&lines) {
            assert_eq!(object.as_object().unwrap().len(), names.len());
            for (name, field) in names.iter().zip(line) {
                let same = match &object[name] {
                    serde_json::Value::Null => field.is_empty(),
                    serde_json::Value::String(words) => words == field,
                    serde_json::Value::Bool(flag) => flag.to_string() == field,
                    number => number.as_f64() == field.parse().ok(),
                };
                assert!(same, "{name}: {} and {field}", object[name]);
            }
        }
    }
}

#[test]
fn every_goal_check_is_a_row_with_the_trial_it_belongs_to() {
    let studies = studies();
    let trials: usize = studies.iter().map(|study| study.records.len()).sum();
    let text = text(Format::Csv, Table::Observations, &studies[..]);
    assert_eq!(text.lines().count(), 1 + 2 * trials);
    assert!(text.contains("\none,8,0,0,16,0.0625,0.3,false\none,8,0,0,48,0.0208"), "{text}");
    assert!(text.contains("\n\"two, \"\"looser\"\"\",8,0,99,48,"));
}

#[test]
fn a_study_without_records_is_a_table_without_rows() {
    let mut studies = studies();
    studies.truncate(1);
    studies[0].records.clear();
    assert_eq!(text(Format::Csv, Table::Records, &studies).lines().count(), 1);
    assert_eq!(text(Format::Json, Table::Records, &studies), "[\n]\n");
}

#[test]
fn a_file_is_replaced_as_a_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/records.csv");
    for _ in 0..2 {
        Format::Csv.write_file(Table::Records, &studies(), &path).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), text(Format::Csv, Table::Records, &studies()));
    let blocked = folder.path().join("blocked.csv");
    fs::create_dir(&blocked).unwrap();
    let error = Format::Csv.write_file(Table::Records, &studies(), &blocked).unwrap_err();
    assert!(matches!(&error, ReportError::File { path, .. } if *path == blocked), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left behind");
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_holds_the_same_as_csv() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    let studies = studies();
    let folder = tempfile::tempdir().unwrap();
    for table in Table::ALL {
        let path = folder.path().join("table.parquet");
        Format::Parquet.write_file(table, &studies, &path).unwrap();
        let reader = SerializedFileReader::new(fs::File::open(&path).unwrap()).unwrap();
        let rows = reader.get_row_iter(None).unwrap().map(Result::unwrap);
        let csv = text(Format::Csv, table, &studies);
        let mut lines = csv::Reader::from_reader(csv.as_bytes());
        let names = lines.headers().unwrap().clone();
        let mut lines = lines.records().map(Result::unwrap);
        for row in rows {
            let line = lines.next().unwrap();
            for ((name, value), (expected, field)) in
                row.get_column_iter().zip(names.iter().zip(&line))
            {
                assert_eq!(name, expected);
                let found = match value {
                    Field::Null => String::new(),
                    Field::Str(words) => words.clone(),
                    Field::Long(number) => number.to_string(),
                    Field::Double(number) => number.to_string(),
                    Field::Bool(flag) => flag.to_string(),
                    other => panic!("{name}: {other}"),
                };
                assert_eq!(found, field, "{name}");
            }
        }
        assert!(lines.next().is_none());
    }
}
