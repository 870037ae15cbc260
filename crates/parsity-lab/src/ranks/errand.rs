//! The hand of rank 0 in a group of ranks: sends a trial there for an interval, and brings back
//! how far it has got.

use super::letter::{Answer, Order, Wake, name_of, to_bytes, to_numbers};
use super::post::Post;
use crate::checkpoint::Checkpoints;
use crate::error::LabError;
use crate::hands::{Advanced, Hand};
use crate::runner::{Interval, Runner, Work};
use crate::starts::Starts;
use parsity_study::{Outcome, Sparsity};

/// One lane of a group, as rank 0 sees it.
pub(super) struct Errand<'a, 's> {
    pub(super) group: usize,
    pub(super) post: &'a Post,
    pub(super) checkpoints: &'a Checkpoints,
    pub(super) starts: &'a Starts<'s>,
}

impl Hand for Errand<'_, '_> {
    fn advance(&mut self, runner: &mut Runner, threads: usize) -> Result<Advanced, LabError> {
        runner.work = Work::default();
        let mut enclosed = Vec::new();
        let wake = match runner.home {
            Some(_) => None,
            None => {
                let Some(saliencies) = self.saliencies(runner, threads)? else { return Ok(None) };
                let checkpoint = self.checkpoints.read(runner.trial.id());
                enclosed = vec![checkpoint.unwrap_or_default(), saliencies];
                Some(Wake { unread: runner.unread })
            }
        };
        let (trial, known) = (name_of(&runner.trial), runner.progress.observations.len());
        let order = Order::Advance { trial, threads, known, wake };
        match self.post.ask(self.group, &order, enclosed).0 {
            Answer::Advanced { report, outcome } => {
                let laid_down = !report.awake && outcome.is_none();
                report.apply(runner, self.group);
                if laid_down {
                    // Those who do not lead keep a trial until they are told.
                    self.post.ask(self.group, &Order::Release { trial }, vec![]);
                }
                Ok(Some((outcome.map_or(Interval::Open, Interval::Ended), None)))
            }
            Answer::Failed { message } => {
                runner.home = None;
                Ok(Some((Interval::Ended(Outcome::Failed), Some(message))))
            }
            Answer::Stopped(Some(report)) => {
                report.apply(runner, self.group);
                Ok(None)
            }
            _ => Ok(None),
        }
    }
}

impl Errand<'_, '_> {
    /// The saliencies that a trial is pruned by, as bytes; none for a dense one. `None` if they
    /// were to be computed and that was stopped.
    fn saliencies(&self, runner: &Runner, threads: usize) -> Result<Option<Vec<u8>>, LabError> {
        if runner.trial.cell.sparsity == Sparsity::DENSE {
            return Ok(Some(Vec::new()));
        }
        let order = Order::Score { trial: name_of(&runner.trial), threads };
        let compute = || match self.post.ask(self.group, &order, vec![]) {
            (Answer::Scored, enclosed) => enclosed.first().map(|bytes| to_numbers(bytes)),
            _ => None,
        };
        let known = self.starts.saliencies(&runner.trial, compute)?;
        Ok(known.map(|saliencies| to_bytes(&saliencies)))
    }
}
