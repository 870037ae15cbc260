//! Who advances a trial: a thread of this process, or ranks elsewhere.
//!
//! A seam. The floor says which trial is next; how it gets through its next interval is for
//! the hand that took it.

use crate::error::LabError;
use crate::runner::{Interval, Means, Runner};
use parsity_engine::Team;
use parsity_study::Outcome;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// An interval, and why it failed, if it did; `None` if it was stopped on the way.
pub(crate) type Advanced = Option<(Interval, Option<String>)>;

/// One who trains one trial at a time.
pub(crate) trait Hand {
    /// Trains a trial to its next goal check, with so many threads.
    fn advance(&mut self, runner: &mut Runner, threads: usize) -> Result<Advanced, LabError>;
}

/// A thread of this process.
pub(crate) struct Own<'a> {
    pub(crate) means: &'a Means<'a>,
    pub(crate) teams: Teams,
}

impl Hand for Own<'_> {
    fn advance(&mut self, runner: &mut Runner, threads: usize) -> Result<Advanced, LabError> {
        self.teams.advance(runner, self.means, threads)
    }
}

/// The threads of a hand: its own, and a team for when others have nothing to do.
pub(crate) enum Teams {
    /// Of this process alone.
    Own { one: Team, more: Option<Team> },
    /// Of several ranks that train one trial together.
    Shared(Team),
}

impl Teams {
    pub(crate) fn new() -> Self {
        Teams::Own { one: Team::new(1), more: None }
    }

    /// The team of so many threads.
    pub(crate) fn team(&mut self, threads: usize) -> &mut Team {
        match self {
            Teams::Shared(team) => team,
            Teams::Own { one, .. } if threads == 1 => one,
            Teams::Own { more, .. } => {
                if more.as_ref().is_none_or(|team| team.size() != threads) {
                    *more = None;
                }
                more.get_or_insert_with(|| Team::new(threads))
            }
        }
    }

    /// Advances a trial; a panic is how it failed.
    pub(crate) fn advance(
        &mut self,
        runner: &mut Runner,
        means: &Means<'_>,
        threads: usize,
    ) -> Result<Advanced, LabError> {
        let advanced = catch_unwind(AssertUnwindSafe(|| {
            let interval = runner.advance(means, self.team(threads));
            interval.map(|interval| interval.map(|interval| (interval, None)))
        }));
        advanced.unwrap_or_else(|panic| {
            if matches!(self, Teams::Shared(_)) {
                // The other ranks wait for this one: their launcher must end them all.
                std::process::abort();
            }
            // Whatever the panic left half done is thrown away.
            *self = Teams::new();
            Ok(Some((Interval::Ended(Outcome::Failed), Some(describe(&*panic)))))
        })
    }
}

/// The words of a panic.
fn describe(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".to_owned())
}
