//! Raw tables as JSON: a list of objects, one on a line; what is missing is null.

use super::table::{Column, Content, Row};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::io::{self, BufWriter, Write};

/// Writes an object for each row.
pub fn write<'a>(
    columns: &[Column],
    rows: impl Iterator<Item = Row<'a>>,
    out: impl Write,
) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    out.write_all(b"[")?;
    for (index, row) in rows.enumerate() {
        out.write_all(if index == 0 { b"\n" } else { b",\n" })?;
        serde_json::to_writer(&mut out, &Object { columns, row })?;
    }
    out.write_all(b"\n]\n")?;
    out.flush()
}

/// A row, with the names of its columns.
struct Object<'a> {
    columns: &'a [Column],
    row: Row<'a>,
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(self.columns.len()))?;
        for Column { name, content } in self.columns {
            match content {
                Content::Words(of) => object.serialize_entry(name, &of(self.row))?,
                Content::Whole(of) => object.serialize_entry(name, &of(self.row))?,
                Content::Numbers(of) => object.serialize_entry(name, &of(self.row))?,
                Content::Flags(of) => object.serialize_entry(name, &of(self.row))?,
            }
        }
        object.end()
    }
}
