//! Steps-to-result: what the records of a cell say about it.
//!
//! The one place where trials become a number. A cell whose trials are not all done has a
//! best so far, but no steps-to-result yet: the two are never mixed up.

use parsity_study::{BatchSize, Cell, Metaparameters, Outcome, Record, Sparsity, Steps};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// What is known about one cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellSummary {
    /// The batch size of the cell.
    pub batch_size: BatchSize,
    /// The sparsity of the cell.
    pub sparsity: Sparsity,
    /// The fewest steps of a complete trial, once all trials are done.
    pub steps_to_result: Option<Steps>,
    /// The fewest steps of a complete trial among those that are done.
    #[serde(skip)]
    pub best_so_far: Option<Steps>,
    /// The trial of `best_so_far`; of several, the one of the lowest index.
    pub best_trial: Option<u32>,
    /// The metaparameters of `best_trial`.
    pub metaparameters: Option<Metaparameters>,
    /// Trials that reached the goal.
    pub complete: u32,
    /// Trials that used up the step budget.
    pub incomplete: u32,
    /// Trials that diverged.
    pub infeasible: u32,
    /// Trials that were stopped because they could no longer be the best.
    pub outpaced: u32,
    /// Trials in which the program failed.
    pub failed: u32,
    /// Trials that the study plans for the cell.
    pub trials: u32,
}

/// Where a cell stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Decided: its steps-to-result.
    Reached(Steps),
    /// Decided: no trial reached the goal within the step budget.
    NotReached,
    /// Trials are missing; the best so far, if one is complete.
    Open(Option<Steps>),
}

impl CellSummary {
    /// Trials that have ended, in whatever way.
    pub fn done(&self) -> u32 {
        Outcome::ALL.into_iter().map(|outcome| self.count(outcome)).sum()
    }

    /// Whether all trials have ended, so that nothing can change any more.
    pub fn is_decided(&self) -> bool {
        self.done() == self.trials
    }

    /// Where the cell stands.
    pub fn standing(&self) -> Standing {
        match self.steps_to_result {
            Some(steps) => Standing::Reached(steps),
            None if self.is_decided() => Standing::NotReached,
            None => Standing::Open(self.best_so_far),
        }
    }

    /// How many trials ended with `outcome`.
    pub fn count(&self, outcome: Outcome) -> u32 {
        match outcome {
            Outcome::Complete => self.complete,
            Outcome::Incomplete => self.incomplete,
            Outcome::Infeasible => self.infeasible,
            Outcome::Outpaced => self.outpaced,
            Outcome::Failed => self.failed,
        }
    }
}

/// The summary of each cell, in the order of `cells`, of its trials `0..trials`.
///
/// Records of other cells or trials are not part of the study and do not count. Where a
/// trial has several records, the last one counts.
pub fn summarize(cells: &[Cell], trials: u32, records: &[Record]) -> Vec<CellSummary> {
    let mut by_cell: HashMap<Cell, BTreeMap<u32, &Record>> = HashMap::new();
    for record in records.iter().filter(|record| record.trial < trials) {
        by_cell.entry(record.cell).or_default().insert(record.trial, record);
    }
    let none = BTreeMap::new();
    cells.iter().map(|&cell| summary(cell, trials, by_cell.get(&cell).unwrap_or(&none))).collect()
}

fn summary(cell: Cell, trials: u32, records: &BTreeMap<u32, &Record>) -> CellSummary {
    let count = |outcome| records.values().filter(|r| r.outcome == outcome).count() as u32;
    // Records come in the order of their trials, and `min_by_key` keeps the first minimum.
    let complete = records.values().filter(|record| record.outcome == Outcome::Complete);
    let best = complete.min_by_key(|record| record.steps);
    let best_so_far = best.map(|record| record.steps);
    CellSummary {
        batch_size: cell.batch_size,
        sparsity: cell.sparsity,
        steps_to_result: best_so_far.filter(|_| records.len() == trials as usize),
        best_so_far,
        best_trial: best.map(|record| record.trial),
        metaparameters: best.map(|record| record.metaparameters),
        complete: count(Outcome::Complete),
        incomplete: count(Outcome::Incomplete),
        infeasible: count(Outcome::Infeasible),
        outpaced: count(Outcome::Outpaced),
        failed: count(Outcome::Failed),
        trials,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(batch_size: u32, share: f64) -> Cell {
        let sparsity = Sparsity::new(share).unwrap();
        Cell { batch_size: BatchSize(batch_size), sparsity }
    }

    fn record(cell: Cell, trial: u32, outcome: Outcome, steps: u64) -> Record {
        let learning_rate = f64::from(trial + 1);
        let metaparameters =
            Metaparameters { learning_rate, momentum: None, decay_steps: None, end_factor: None };
        let steps = Steps(steps);
        let observations = Vec::new();
        Record { cell, trial, metaparameters, outcome, steps, seconds: 0.0, observations }
    }

    #[test]
    fn steps_to_result_is_the_minimum_over_complete_trials() {
        let it = cell(8, 0.0);
        let records = [
            record(it, 0, Outcome::Complete, 320),
            record(it, 1, Outcome::Infeasible, 1),
            record(it, 2, Outcome::Complete, 160),
            record(it, 3, Outcome::Outpaced, 16),
        ];
        let summary = &summarize(&[it], 4, &records)[0];
        assert_eq!(summary.standing(), Standing::Reached(Steps(160)));
        assert_eq!(summary.best_trial, Some(2));
        assert_eq!(summary.metaparameters.unwrap().learning_rate, 3.0);
        assert_eq!([summary.complete, summary.infeasible, summary.outpaced], [2, 1, 1]);
    }

    #[test]
    fn ties_go_to_the_lowest_trial_whatever_the_order_of_records() {
        let it = cell(8, 0.0);
        let records =
            [2, 0, 1].map(|trial| record(it, trial, Outcome::Complete, 160 + u64::from(trial / 2)));
        assert_eq!(summarize(&[it], 3, &records)[0].best_trial, Some(0));
    }

    #[test]
    fn a_cell_with_missing_trials_has_a_best_so_far_but_no_steps_to_result() {
        let it = cell(8, 0.0);
        let records = [record(it, 0, Outcome::Complete, 320)];
        let summary = &summarize(&[it], 2, &records)[0];
        assert_eq!(summary.steps_to_result, None);
        assert_eq!(summary.standing(), Standing::Open(Some(Steps(320))));
        assert!(!summary.is_decided());
    }

    #[test]
    fn a_cell_without_a_complete_trial_is_not_reached_only_when_all_are_done() {
        let it = cell(2, 0.9);
        let records = [0, 1].map(|trial| record(it, trial, Outcome::Incomplete, 40_000));
        assert_eq!(summarize(&[it], 2, &records)[0].standing(), Standing::NotReached);
        assert_eq!(summarize(&[it], 3, &records)[0].standing(), Standing::Open(None));
    }

    #[test]
    fn records_outside_the_study_do_not_count_and_the_last_record_of_a_trial_does() {
        let it = cell(8, 0.0);
        let records = [
            record(it, 0, Outcome::Failed, 5),
            record(it, 0, Outcome::Complete, 64),
            record(it, 1, Outcome::Complete, 16),
            record(cell(16, 0.0), 0, Outcome::Complete, 16),
        ];
        let summaries = summarize(&[it], 1, &records);
        assert_eq!(summaries.len(), 1);
        assert_eq!(summaries[0].steps_to_result, Some(Steps(64)));
        assert_eq!((summaries[0].failed, summaries[0].done()), (0, 1));
    }

    #[test]
    fn the_summary_is_written_with_its_promised_keys() {
        let open = &summarize(&[cell(8, 0.5)], 2, &[])[0];
        let expected = serde_json::json!({
            "batch_size": 8, "sparsity": 0.5, "steps_to_result": null, "best_trial": null,
            "metaparameters": null, "complete": 0, "incomplete": 0, "infeasible": 0,
            "outpaced": 0, "failed": 0, "trials": 2,
        });
        assert_eq!(serde_json::to_value(open).unwrap(), expected);
    }
}
