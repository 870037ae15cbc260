//! One file per command.

pub(crate) mod bench;
pub(crate) mod data;
pub(crate) mod export;
pub(crate) mod forecast;
pub(crate) mod plan;
pub(crate) mod prune;
pub(crate) mod quickstart;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod setup;
pub(crate) mod smoothness;
pub(crate) mod status;
pub(crate) mod studies;
pub(crate) mod train;

use std::io::{IsTerminal, Write};

/// Whether standard output takes colours.
pub(crate) fn colour() -> bool {
    std::io::stdout().is_terminal()
}

/// A table whose first `words` columns hold words and whose others hold numbers.
pub(crate) fn table<const N: usize>(
    headings: [&str; N],
    words: usize,
    rows: Vec<[String; N]>,
) -> String {
    let mut table =
        parsity_report::ruled_table(headings.into_iter().map(str::to_owned), words, colour());
    table.add_rows(rows);
    table.trim_fmt()
}

/// All cores, unless told otherwise.
pub(crate) fn threads(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// JSON for programs, ending with a line break.
pub(crate) fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(value)?)?;
    Ok(())
}

/// Text for people; says so if nobody listens any more.
pub(crate) fn print(text: impl std::fmt::Display) -> anyhow::Result<()> {
    writeln!(anstream::stdout(), "{text}")?;
    Ok(())
}
