//! Steps-to-result: what the records of a cell say about it, goal by goal.
//!
//! The one place where trials become a number. A cell whose trials are not all done has a
//! best so far, but no steps-to-result yet: the two are never mixed up.

use parsity_study::{
    BatchSize, Cell, ErrorRate, Metaparameters, Outcome, Protocol, Record, Sparsity, Steps,
    StudyFacts,
};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// What is known about one cell and one goal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellSummary {
    /// The batch size of the cell.
    pub batch_size: BatchSize,
    /// The sparsity of the cell.
    pub sparsity: Sparsity,
    /// The goal.
    pub goal_error: ErrorRate,
    /// The fewest steps of a complete trial, once all trials are done.
    pub steps_to_result: Option<Steps>,
    /// The goal check before: the goal was reached after more steps than that, and after
    /// `steps_to_result` at the latest.
    pub above: Option<Steps>,
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
    /// Trials that were proved never to reach the goal.
    pub collapsed: u32,
    /// Trials in which the program failed.
    pub failed: u32,
    /// Trials among those that are done that were trained under the exhaustive protocol.
    pub exhaustive: u32,
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
            Outcome::Collapsed => self.collapsed,
            Outcome::Failed => self.failed,
        }
    }
}

/// The summary of each cell, goal by goal from the loosest on, and for each goal in the order
/// of `cells`; of as many trials as `facts` plans.
///
/// Records of other cells or trials are not part of the study and do not count. Where a
/// trial has several records, the last one counts.
pub fn summarize(facts: &StudyFacts, cells: &[Cell], records: &[Record]) -> Vec<CellSummary> {
    let mut by_cell: HashMap<Cell, BTreeMap<u32, &Record>> = HashMap::new();
    for record in records.iter().filter(|record| record.trial < facts.trials) {
        by_cell.entry(record.cell).or_default().insert(record.trial, record);
    }
    let none = BTreeMap::new();
    let goals = 0..facts.goal_errors.len();
    let each = goals.flat_map(|goal| cells.iter().map(move |&cell| (goal, cell)));
    each.map(|(goal, cell)| summary(facts, goal, cell, by_cell.get(&cell).unwrap_or(&none)))
        .collect()
}

/// The summaries of each goal, as they come from [`summarize`].
pub fn by_goal(summaries: &[CellSummary]) -> impl Iterator<Item = (ErrorRate, &[CellSummary])> {
    let goals = summaries.chunk_by(|a, b| a.goal_error == b.goal_error);
    goals.map(|cells| (cells[0].goal_error, cells))
}

/// The summaries of the last and tightest goal. Every trial that is done counts once in
/// them, with the outcome of its own record.
pub fn tightest(summaries: &[CellSummary]) -> &[CellSummary] {
    by_goal(summaries).last().map_or(&[], |(_, cells)| cells)
}

fn summary(
    facts: &StudyFacts,
    goal: usize,
    cell: Cell,
    records: &BTreeMap<u32, &Record>,
) -> CellSummary {
    let count =
        |outcome| records.values().filter(|record| record.toward(goal).0 == outcome).count() as u32;
    // Records come in the order of their trials, and `min_by_key` keeps the first minimum.
    let complete = records.values().filter_map(|record| match record.toward(goal) {
        (Outcome::Complete, steps) => Some((steps, record)),
        _ => None,
    });
    let best = complete.min_by_key(|(steps, _)| *steps);
    let best_so_far = best.map(|(steps, _)| steps);
    let steps_to_result = best_so_far.filter(|_| records.len() == facts.trials as usize);
    let interval = facts.check_every.at(cell.batch_size);
    let exhaustive = records.values().filter(|it| it.protocol == Protocol::Exhaustive);
    CellSummary {
        batch_size: cell.batch_size,
        sparsity: cell.sparsity,
        goal_error: facts.goal_errors[goal],
        steps_to_result,
        above: steps_to_result.map(|steps| Steps(steps.0.saturating_sub(interval.0))),
        best_so_far,
        best_trial: best.map(|(_, record)| record.trial),
        metaparameters: best.map(|(_, record)| record.metaparameters),
        complete: count(Outcome::Complete),
        incomplete: count(Outcome::Incomplete),
        infeasible: count(Outcome::Infeasible),
        outpaced: count(Outcome::Outpaced),
        collapsed: count(Outcome::Collapsed),
        failed: count(Outcome::Failed),
        exhaustive: exhaustive.count() as u32,
        trials: facts.trials,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specimen::{cell, facts, record};

    /// Facts of a study with one goal.
    fn single(trials: u32) -> StudyFacts {
        facts(&[0.02], trials)
    }

    /// A trial that reached that many goals at those steps, and then was outpaced.
    fn outpaced(trial: u32, reached: &[u64], steps: u64) -> Record {
        let reached = reached.iter().map(|&steps| Steps(steps)).collect();
        Record { reached, ..record(cell(8, 0.0), trial, Outcome::Outpaced, steps) }
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
        let summary = &summarize(&single(4), &[it], &records)[0];
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
        assert_eq!(summarize(&single(3), &[it], &records)[0].best_trial, Some(0));
    }

    #[test]
    fn a_cell_with_missing_trials_has_a_best_so_far_but_no_steps_to_result() {
        let it = cell(8, 0.0);
        let records = [record(it, 0, Outcome::Complete, 320)];
        let summary = &summarize(&single(2), &[it], &records)[0];
        assert_eq!((summary.steps_to_result, summary.above), (None, None));
        assert_eq!(summary.standing(), Standing::Open(Some(Steps(320))));
        assert!(!summary.is_decided());
    }

    #[test]
    fn a_cell_without_a_complete_trial_is_not_reached_only_when_all_are_done() {
        let it = cell(2, 0.9);
        let records = [0, 1].map(|trial| record(it, trial, Outcome::Incomplete, 40_000));
        assert_eq!(summarize(&single(2), &[it], &records)[0].standing(), Standing::NotReached);
        assert_eq!(summarize(&single(3), &[it], &records)[0].standing(), Standing::Open(None));
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
        let summaries = summarize(&single(1), &[it], &records);
        assert_eq!(summaries.len(), 1);
        assert_eq!(summaries[0].steps_to_result, Some(Steps(64)));
        assert_eq!((summaries[0].failed, summaries[0].done()), (0, 1));
    }

    #[test]
    fn the_result_lies_within_the_check_interval_of_its_batch_size() {
        let cells = [cell(8, 0.0), cell(1024, 0.0)];
        let records = cells.map(|it| record(it, 0, Outcome::Complete, 784));
        let summaries = summarize(&single(1), &cells, &records);
        let above: Vec<_> = summaries.iter().map(|it| it.above).collect();
        assert_eq!(above, [Some(Steps(768)), Some(Steps(780))]);
        let first =
            summarize(&single(1), &cells[..1], &[record(cells[0], 0, Outcome::Complete, 16)]);
        assert_eq!(first[0].above, Some(Steps(0)));
    }

    #[test]
    fn a_trial_that_reached_a_loose_goal_and_was_then_outpaced_is_complete_for_the_loose_goal() {
        let it = cell(8, 0.0);
        let tight = Record {
            reached: vec![Steps(320), Steps(480)],
            ..record(it, 0, Outcome::Complete, 480)
        };
        let records = [tight, outpaced(1, &[160], 480), outpaced(2, &[], 480)];
        let summaries = summarize(&facts(&[0.14, 0.12], 3), &[it], &records);
        let [loose, tight] = &summaries[..] else { panic!("a summary per goal") };
        assert_eq!((loose.goal_error, tight.goal_error), (ErrorRate(0.14), ErrorRate(0.12)));
        assert_eq!((loose.steps_to_result, loose.best_trial), (Some(Steps(160)), Some(1)));
        assert_eq!((tight.steps_to_result, tight.best_trial), (Some(Steps(480)), Some(0)));
        assert_eq!((loose.above, tight.above), (Some(Steps(144)), Some(Steps(464))));
        assert_eq!([loose.complete, loose.outpaced], [2, 1]);
        assert_eq!([tight.complete, tight.outpaced], [1, 2]);
        assert_eq!(loose.metaparameters.unwrap().learning_rate, 2.0);
    }

    #[test]
    fn summaries_come_goal_by_goal_and_within_a_goal_in_the_order_of_cells() {
        let cells = [cell(16, 0.9), cell(8, 0.0)];
        let summaries = summarize(&facts(&[0.3, 0.2, 0.1], 1), &cells, &[]);
        let sizes = |cells: &[CellSummary]| cells.iter().map(|it| it.batch_size.0).collect();
        let goals: Vec<(f64, Vec<u32>)> =
            by_goal(&summaries).map(|(goal, cells)| (goal.0, sizes(cells))).collect();
        assert_eq!(goals, [0.3, 0.2, 0.1].map(|goal| (goal, vec![16, 8])));
        assert_eq!(tightest(&summaries), &summaries[4..]);
        assert_eq!((by_goal(&[]).count(), tightest(&[]).len()), (0, 0));
    }

    #[test]
    fn trials_that_were_trained_to_their_own_end_are_counted() {
        let it = cell(8, 0.0);
        let mut records = [0, 1, 2].map(|trial| record(it, trial, Outcome::Complete, 160));
        records[1].protocol = Protocol::Exhaustive;
        for summary in summarize(&facts(&[0.14, 0.12], 4), &[it], &records) {
            assert_eq!((summary.exhaustive, summary.done()), (1, 3));
        }
    }

    #[test]
    fn the_summary_is_written_with_its_promised_keys() {
        let it = cell(8, 0.5);
        let open = &summarize(&single(2), &[it], &[])[0];
        let expected = serde_json::json!({
            "batch_size": 8, "sparsity": 0.5, "goal_error": 0.02, "steps_to_result": null,
            "above": null, "best_trial": null, "metaparameters": null, "complete": 0,
            "incomplete": 0, "infeasible": 0, "outpaced": 0, "collapsed": 0, "failed": 0,
            "exhaustive": 0, "trials": 2,
        });
        assert_eq!(serde_json::to_value(open).unwrap(), expected);
    }
}
