//! Raw tables as comma-separated values; what is missing is empty.

use super::table::{Column, Content, Row};
use crate::data::field;
use std::io::{self, Write};

/// Writes a line of names, and a line for each row.
pub fn write<'a>(
    columns: &[Column],
    rows: impl Iterator<Item = Row<'a>>,
    out: impl Write,
) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(columns.iter().map(|column| &column.name))?;
    for row in rows {
        for column in columns {
            match &column.content {
                Content::Words(of) => writer.write_field(of(row).unwrap_or_default())?,
                // As many digits as it takes to read the same number back.
                Content::Whole(of) => writer.write_field(field(of(row)))?,
                Content::Numbers(of) => writer.write_field(field(of(row)))?,
                Content::Flags(of) => writer.write_field(field(of(row)))?,
            }
        }
        writer.write_record(None::<&[u8]>)?;
    }
    writer.flush()
}
