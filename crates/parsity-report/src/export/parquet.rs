//! Raw tables as Parquet: columns with their kinds, for programs that read only some of them.
//!
//! Behind a feature, because the format brings more code than all of the report.

use super::table::{Column, Content, Row};
use parquet::basic::{ConvertedType, Repetition, Type as Kind};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::io::{self, Write};
use std::sync::Arc;

/// Rows that are written at a time: enough for columns to be packed well.
const GROUP: usize = 1 << 18;

/// Writes the table called `name`.
pub fn write<'a>(
    name: &str,
    columns: &[Column],
    mut rows: impl Iterator<Item = Row<'a>>,
    out: impl Write + Send,
) -> io::Result<()> {
    let mut writer = SerializedFileWriter::new(
        out,
        Arc::new(schema(name, columns)?),
        Arc::new(WriterProperties::builder().build()),
    )?;
    loop {
        let group: Vec<Row<'a>> = rows.by_ref().take(GROUP).collect();
        if group.is_empty() {
            break;
        }
        let mut written = writer.next_row_group()?;
        for column in columns {
            write_column(&mut written, &column.content, &group)?;
        }
        written.close()?;
    }
    writer.close()?;
    Ok(())
}

/// All columns may have missing values.
fn schema(name: &str, columns: &[Column]) -> Result<Type, ParquetError> {
    let field = |column: &Column| {
        let (kind, words) = match &column.content {
            Content::Words(_) => (Kind::BYTE_ARRAY, ConvertedType::UTF8),
            Content::Whole(_) => (Kind::INT64, ConvertedType::NONE),
            Content::Numbers(_) => (Kind::DOUBLE, ConvertedType::NONE),
            Content::Flags(_) => (Kind::BOOLEAN, ConvertedType::NONE),
        };
        let field = Type::primitive_type_builder(&column.name, kind)
            .with_repetition(Repetition::OPTIONAL)
            .with_converted_type(words);
        Ok(Arc::new(field.build()?))
    };
    let fields = columns.iter().map(field).collect::<Result<Vec<_>, ParquetError>>()?;
    Type::group_type_builder(name).with_fields(fields).build()
}

fn write_column<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    content: &Content,
    rows: &[Row<'_>],
) -> Result<(), ParquetError> {
    match content {
        Content::Words(of) => {
            put::<_, ByteArrayType>(group, rows.iter().map(|row| of(*row).map(ByteArray::from)))
        }
        // SQLite, where they come from, has no larger ones.
        Content::Whole(of) => {
            put::<_, Int64Type>(group, rows.iter().map(|row| of(*row).map(|it| it as i64)))
        }
        Content::Numbers(of) => put::<_, DoubleType>(group, rows.iter().map(|row| of(*row))),
        Content::Flags(of) => put::<_, BoolType>(group, rows.iter().map(|row| of(*row))),
    }
}

/// Writes the next column: the values that are there, and where they are.
fn put<W: Write + Send, T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    let (mut there, mut found) = (Vec::new(), Vec::new());
    for value in values {
        there.push(i16::from(value.is_some()));
        found.extend(value);
    }
    let mut column = group
        .next_column()?
        .ok_or_else(|| ParquetError::General("more columns than the schema has".to_owned()))?;
    column.typed::<T>().write_batch(&found, Some(&there), None)?;
    column.close()
}
