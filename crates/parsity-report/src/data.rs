//! Tables of plain numbers and words: what a figure shows or a claim rests on, for programs.
//!
//! One value, written as CSV beside the page and as a table inside it, so both always hold
//! the same.

use serde::Serialize;

/// A table.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Data {
    /// The names of its columns.
    pub columns: Vec<&'static str>,
    /// Its rows; what is not known is empty.
    pub rows: Vec<Vec<String>>,
}

impl Data {
    /// An empty table.
    pub fn new(columns: &[&'static str]) -> Self {
        Data { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn push<const N: usize>(&mut self, row: [String; N]) {
        debug_assert_eq!(N, self.columns.len(), "a row has as many fields as there are columns");
        self.rows.push(row.into());
    }

    /// The table as CSV.
    pub fn csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&self.columns).expect("memory takes all rows");
        for row in &self.rows {
            writer.write_record(row).expect("memory takes all rows");
        }
        let bytes = writer.into_inner().expect("memory takes all rows");
        String::from_utf8(bytes).expect("the rows are text")
    }
}

/// The value as it is written in tables, or nothing.
pub fn field(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_commas_and_quotes_survive_in_csv() {
        let mut data = Data::new(&["claim", "ratio"]);
        data.push(["a, \"b\"".to_owned(), field(Some(1.5))]);
        data.push([String::new(), field(None::<f64>)]);
        assert_eq!(data.csv(), "claim,ratio\n\"a, \"\"b\"\"\",1.5\n,\n");
    }
}
