//! How commands end: exit codes, and errors told in two lines.
//!
//! 0 done · 1 finished, but something failed · 2 the request is wrong · 130 interrupted.

use anstyle::{AnsiColor, Style};
use parsity_data::DataError;
use parsity_lab::{LabError, StoreError};
use parsity_serve::ServeError;

/// How a command that could do its work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    SomethingFailed,
    Interrupted,
}

impl End {
    pub(crate) fn code(self) -> u8 {
        match self {
            End::Done => 0,
            End::SomethingFailed => 1,
            End::Interrupted => 130,
        }
    }
}

/// Prints what went wrong on one line and what to do on the next; returns the exit code.
///
/// Messages of the libraries are written as `what is wrong; what to do`.
pub(crate) fn tell(error: &anyhow::Error) -> u8 {
    if is_broken_pipe(error) {
        return 0;
    }
    let chain = told(error);
    let (what, advice) = match chain.rsplit_once("; ") {
        Some((what, advice)) => (what, advice),
        None => (chain.as_str(), "`parsity COMMAND --help` shows what a command expects"),
    };
    let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
    let cyan = Style::new().bold().fg_color(Some(AnsiColor::Cyan.into()));
    anstream::eprintln!("{red}error:{red:#} {what}");
    anstream::eprintln!("{cyan}help:{cyan:#} {advice}");
    if is_request(error) { 2 } else { 1 }
}

/// The error and its causes, each once: many messages tell their cause themselves.
fn told(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        let heart = cause.rsplit(": ").next().unwrap_or(&cause);
        if !text.contains(heart) {
            // What to do stays at the end.
            let end = text.rfind("; ").unwrap_or(text.len());
            text.insert_str(end, &format!(": {cause}"));
        }
    }
    text
}

/// Whoever reads our output has seen enough.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
    kind == Some(std::io::ErrorKind::BrokenPipe)
}

/// Whether the request is wrong, rather than the machine.
fn is_request(error: &anyhow::Error) -> bool {
    let data = |error: &DataError| {
        !matches!(
            error,
            DataError::Io { .. }
                | DataError::Download { .. }
                | DataError::Client { .. }
                | DataError::Unfetchable { .. }
        )
    };
    let store = |error: &StoreError| {
        !matches!(
            error,
            StoreError::Sqlite { .. }
                | StoreError::CannotWrite { .. }
                | StoreError::CannotMake { .. }
                | StoreError::Lock { .. }
                | StoreError::Corrupt { .. }
        )
    };
    if let Some(error) = error.downcast_ref::<LabError>() {
        return match error {
            LabError::Io { .. } | LabError::CannotSave { .. } => false,
            LabError::Data(error) => data(error),
            LabError::Store(error) => store(error),
            _ => true,
        };
    }
    if let Some(error) = error.downcast_ref::<StoreError>() {
        return store(error);
    }
    if let Some(error) = error.downcast_ref::<DataError>() {
        return data(error);
    }
    if let Some(error) = error.downcast_ref::<ServeError>() {
        return matches!(error, ServeError::PortInUse { .. } | ServeError::CannotBind { .. });
    }
    error.downcast_ref::<parsity_study::StudyError>().is_some()
        || error.downcast_ref::<WrongRequest>().is_some()
}

/// A request that no library had to look at to see that it is wrong.
#[derive(Debug)]
pub(crate) struct WrongRequest(pub(crate) String);

impl std::fmt::Display for WrongRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongRequest {}
