//! The answer to one study or several: every number that a report tells, as one value.
//!
//! The one place where records meet the analyses. Only decided cells count: a cell whose
//! trials are not all done has no reading yet.

use crate::claims::{Claim, examine};
use crate::curves::{FittedCurve, StudyCurves};
use crate::findings::{Finding, examine_cell, examine_curve, examine_noise};
use crate::measured::{Estimate, Measured, Reading};
use crate::minimum::{another_minimum, trial_steps};
use crate::ratio::Ratios;
use crate::regions::Regions;
use crate::scaling::Scaling;
use crate::smoothness::{lipschitz_averages, noise_scales};
use crate::steps::{CellSummary, Standing, by_goal, summarize};
use parsity_study::{
    Cell, ErrorRate, Memory, Optimizer, Outcome, Record, SmoothnessRun, Sparsity, Steps,
    StudyFacts, StudyRecords,
};
use serde::Serialize;
use std::collections::HashMap;

/// The answer to studies.
#[derive(Debug, Clone, Serialize)]
pub struct Answer {
    /// Study by study.
    pub studies: Vec<StudyAnswer>,
    /// What the published study claims, for each group of studies that differ in their
    /// optimizer only.
    pub groups: Vec<Group>,
}

/// Studies that differ in their optimizer only, towards one goal.
#[derive(Debug, Clone, Serialize)]
pub struct Group {
    /// The data set.
    pub dataset: String,
    /// The model.
    pub model: String,
    /// The learning-rate schedule.
    pub schedule: String,
    /// The goal.
    pub goal_error: ErrorRate,
    /// The curves of each study.
    pub studies: Vec<StudyCurves>,
    /// The five claims, with their verdicts.
    pub claims: [Claim; 5],
}

/// The answer to one study.
#[derive(Debug, Clone, Serialize)]
pub struct StudyAnswer {
    /// What its figures and tables state.
    pub facts: StudyFacts,
    /// Goal by goal, from the loosest to the tightest.
    pub goals: Vec<GoalAnswer>,
    /// The work that it took, cell by cell.
    pub work: Vec<CellEffort>,
    /// What its trainings hold in memory, if that is known.
    pub memory: Option<Memory>,
}

/// The answer to one study, towards one goal.
#[derive(Debug, Clone, Serialize)]
pub struct GoalAnswer {
    /// The goal.
    pub goal_error: ErrorRate,
    /// Cell by cell, by batch size and then sparsity.
    pub cells: Vec<CellAnswer>,
    /// The curves as far as they are known.
    #[serde(skip)]
    pub scaling: Scaling,
    /// The curves of decided cells, with their laws.
    pub curves: StudyCurves,
    /// The regions of each curve that has a law.
    pub regions: Vec<SparsityRegions>,
    /// The steps of each pruned network over those of the dense one.
    pub ratios: Vec<SparsityRatios>,
    /// What is suspicious.
    pub findings: Vec<Finding>,
}

/// What is known about one cell.
#[derive(Debug, Clone, Serialize)]
pub struct CellAnswer {
    /// Its result and the outcomes of its trials.
    #[serde(flatten)]
    pub summary: CellSummary,
    /// Its steps-to-result, and where those of another set of trials would lie.
    pub another_set: Option<Estimate>,
}

/// Where the regions of a curve begin and end.
#[derive(Debug, Clone, Serialize)]
pub struct SparsityRegions {
    /// The sparsity of the curve.
    pub sparsity: Sparsity,
    /// Its regions.
    #[serde(flatten)]
    pub regions: Regions,
}

/// The steps of a pruned network over those of the dense one.
#[derive(Debug, Clone, Serialize)]
pub struct SparsityRatios {
    /// The sparsity.
    pub sparsity: Sparsity,
    /// The ratios.
    #[serde(flatten)]
    pub ratios: Ratios,
}

/// The work of a cell: what was done, and what the protocol as published would be at most.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CellEffort {
    /// The cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// Trials that are done.
    pub trials: u32,
    /// Images trained on.
    pub trained: u64,
    /// Images looked at in goal checks.
    pub evaluated: u64,
    /// Seconds of computing, over all threads.
    pub seconds: f64,
    /// Images that trials which reached no goal would have been trained on beyond that, had
    /// each used up its budget: what racing saved, at most.
    pub spared: u64,
}

impl Answer {
    /// The answer to `studies`, with the trainings whose smoothness was watched; those of
    /// other data sets or models do not count.
    pub fn of(studies: &[StudyRecords], watched: &[SmoothnessRun]) -> Self {
        let mut studies: Vec<StudyAnswer> = studies.iter().map(StudyAnswer::of).collect();
        for StudyAnswer { facts, goals, .. } in &mut studies {
            let scales = noise_scales(facts, watched);
            for GoalAnswer { curves, findings, .. } in goals {
                findings.extend(curves.curves.iter().filter_map(|it| examine_noise(it, &scales)));
            }
        }
        let mut groups: Vec<Group> = Vec::new();
        for study in &studies {
            for goal in &study.goals {
                let StudyFacts { dataset, model, schedule, .. } = &study.facts;
                let (curves, goal_error) = (goal.curves.clone(), goal.goal_error);
                let same = |it: &&mut Group| {
                    it.dataset == *dataset
                        && it.model == *model
                        && it.schedule == *schedule
                        && it.goal_error == goal_error
                };
                match groups.iter_mut().find(same) {
                    Some(group) => group.studies.push(curves),
                    None => groups.push(Group {
                        dataset: dataset.clone(),
                        model: model.clone(),
                        schedule: schedule.clone(),
                        goal_error,
                        studies: vec![curves],
                        claims: examine(&[], &[]),
                    }),
                }
            }
        }
        for group in &mut groups {
            let ours = watched
                .iter()
                .filter(|run| run.dataset == group.dataset && run.model == group.model);
            let ours: Vec<SmoothnessRun> = ours.cloned().collect();
            group.claims = examine(&group.studies, &lipschitz_averages(&ours));
        }
        Answer { studies, groups }
    }
}

impl StudyAnswer {
    fn of(study: &StudyRecords) -> Self {
        let StudyRecords { facts, cells, records, memory } = study;
        let mut by_cell: HashMap<Cell, Vec<&Record>> = HashMap::new();
        for record in records.iter().filter(|record| record.trial < facts.trials) {
            by_cell.entry(record.cell).or_default().push(record);
        }
        let none = Vec::new();
        let of_cell = |cell: Cell| by_cell.get(&cell).unwrap_or(&none);
        let summaries = summarize(facts, cells, records);
        let goals = by_goal(&summaries).enumerate().map(|(goal, (goal_error, summaries))| {
            GoalAnswer::of(facts, goal, goal_error, summaries, &of_cell)
        });
        let goals = goals.collect();
        let work = cells.iter().map(|&cell| effort(facts, cell, of_cell(cell))).collect();
        StudyAnswer { facts: facts.clone(), goals, work, memory: memory.clone() }
    }
}

impl GoalAnswer {
    fn of<'a>(
        facts: &StudyFacts,
        goal: usize,
        goal_error: ErrorRate,
        summaries: &[CellSummary],
        of_cell: &dyn Fn(Cell) -> &'a Vec<&'a Record>,
    ) -> Self {
        let every = |cell: Cell| facts.check_every.at(cell.batch_size);
        let cell_of = |it: &CellSummary| Cell { batch_size: it.batch_size, sparsity: it.sparsity };
        let (mut cells, mut findings) = (Vec::new(), Vec::new());
        for summary in summaries {
            let cell = cell_of(summary);
            let trials = of_cell(cell).iter().filter_map(|it| trial_steps(it, goal, every(cell)));
            let another_set = match summary.is_decided() {
                true => another_minimum(&trials.collect::<Vec<_>>()),
                false => None,
            };
            if let (true, Some(space)) = (summary.is_decided(), &facts.search) {
                findings.extend(examine_cell(of_cell(cell), goal, space, every(cell)));
            }
            cells.push(CellAnswer { summary: summary.clone(), another_set });
        }
        let scaling = Scaling::of(summaries);
        let curves = scaling.curves.iter().map(|curve| {
            let readings = curve.points.iter().filter_map(|point| {
                let cell = Cell { batch_size: point.batch_size, sparsity: curve.sparsity };
                reading(facts, cell, point.standing)
            });
            FittedCurve::new(curve.sparsity, readings.collect())
        });
        let optimizer = Optimizer::from_name(&facts.optimizer).unwrap_or(Optimizer::Sgd);
        let curves = StudyCurves::new(facts.name.clone(), optimizer, curves.collect());
        findings.extend(curves.curves.iter().flat_map(examine_curve));
        let regions = curves.curves.iter().filter_map(|curve| {
            let regions = Regions::of(curve.law.as_ref()?);
            Some(SparsityRegions { sparsity: curve.sparsity, regions })
        });
        let dense = curves.curve(Sparsity::DENSE);
        let ratios = dense.iter().flat_map(|dense| {
            curves.sparse().map(|curve| SparsityRatios {
                sparsity: curve.sparsity,
                ratios: Ratios::of(&curve.readings, &dense.readings),
            })
        });
        let (regions, ratios) = (regions.collect(), ratios.collect());
        GoalAnswer { goal_error, cells, scaling, curves, regions, ratios, findings }
    }
}

/// The steps-to-result of a cell, if it is decided.
fn reading(facts: &StudyFacts, cell: Cell, standing: Standing) -> Option<Reading> {
    let every = facts.check_every.at(cell.batch_size).0.max(1);
    let steps = match standing {
        Standing::Reached(steps) => Measured::at_check(steps.0 as f64, every as f64),
        Standing::NotReached => {
            let last = facts.step_budget.0 / every * every;
            Measured::Censored { more_than: last as f64 }
        }
        Standing::Open(_) => return None,
    };
    Some(Reading { batch_size: f64::from(cell.batch_size.0), steps })
}

fn effort(facts: &StudyFacts, cell: Cell, records: &[&Record]) -> CellEffort {
    let images = |steps: Steps| steps.0 * u64::from(cell.batch_size.0);
    let is_early = |record: &&&Record| match record.outcome {
        Outcome::Outpaced | Outcome::Collapsed => true,
        Outcome::Complete | Outcome::Incomplete | Outcome::Infeasible | Outcome::Failed => false,
    };
    let early = records.iter().filter(is_early);
    let spared =
        early.map(|record| images(Steps(facts.step_budget.0.saturating_sub(record.steps.0))));
    CellEffort {
        cell,
        trials: records.len() as u32,
        trained: records.iter().map(|record| images(record.steps)).sum(),
        evaluated: records.iter().map(|record| record.evaluated).sum(),
        seconds: records.iter().map(|record| record.seconds).sum(),
        spared: spared.sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specimen::{cell, facts, record, watched};
    use crate::verdict::Verdict;

    /// A study whose best trials follow K = c1/B + c2, sparse ones three times as slow.
    fn planted(name: &str, optimizer: &str, c1: f64) -> StudyRecords {
        let mut facts = facts(&[0.1], 2);
        (facts.name, facts.optimizer) = (name.to_owned(), optimizer.to_owned());
        let shares = [0.0, 0.9];
        let sizes = (1..=12).map(|power| 1u32 << power);
        let cells: Vec<Cell> =
            sizes.flat_map(|size| shares.map(|share| cell(size, share))).collect();
        let records = cells.iter().flat_map(|&it| {
            let slower = if it.sparsity == Sparsity::DENSE { 1.0 } else { 3.0 };
            let size = f64::from(it.batch_size.0);
            // Luck of a few percent, the same in every run.
            let luck = 1.0 + 0.03 * (size.ln() * 5.0 + slower).sin();
            let steps = slower * (c1 / size + 200.0) * luck;
            let every = facts.check_every.at(it.batch_size).0;
            let steps = (steps as u64).div_ceil(every) * every;
            [record(it, 0, Outcome::Outpaced, steps), record(it, 1, Outcome::Complete, steps)]
        });
        let records = records.collect();
        StudyRecords { facts, cells, records, memory: None }
    }

    #[test]
    fn a_planted_study_is_answered_with_what_was_planted() {
        let answer = Answer::of(&[planted("m", "momentum", 50_000.0)], &[]);
        let goal = &answer.studies[0].goals[0];
        assert_eq!(goal.cells.len(), 24);
        for curve in &goal.curves.curves {
            let critical = curve.law.as_ref().unwrap().critical_batch_size();
            assert!(critical.holds(250.0) && critical.high / critical.low < 1.5, "{critical:?}");
        }
        let line = goal.ratios[0].ratios.line.unwrap();
        assert!(line.mean.holds(3.0), "{line:?}");
        assert_eq!(answer.groups[0].claims[1].verdict, Verdict::Holds);
    }

    #[test]
    fn a_noise_scale_far_from_the_critical_batch_size_is_found_and_a_near_one_is_not() {
        let found = |runs: &[SmoothnessRun]| -> Vec<Finding> {
            let answer = Answer::of(&[planted("m", "momentum", 50_000.0)], runs);
            let findings = answer.studies[0].goals[0].findings.iter();
            findings
                .filter(|it| matches!(it, Finding::NoiseScaleDisagrees { .. }))
                .cloned()
                .collect()
        };
        // The critical batch size is 250.
        let far = watched(Optimizer::Momentum, 5_000.0);
        let near = watched(Optimizer::Momentum, 250.0);
        let findings = found(std::slice::from_ref(&far));
        let [finding @ Finding::NoiseScaleDisagrees { sparsity, noise_scale, critical_batch_size }] =
            &findings[..]
        else {
            panic!("{findings:?}")
        };
        assert_eq!(*sparsity, Sparsity::DENSE);
        assert!(noise_scale.holds(5_000.0) && critical_batch_size.holds(250.0), "{finding}");
        assert!(noise_scale.low > critical_batch_size.high);
        assert!(finding.to_string().contains("noise scale of 5"), "{finding}");
        let written = serde_json::to_value(finding).unwrap();
        assert_eq!(written["finding"], "noise-scale-disagrees");
        assert_eq!(found(std::slice::from_ref(&near)), []);
        assert_eq!(found(&[far.clone(), near]), [], "one training that agrees is enough");
        let elsewhere = SmoothnessRun { dataset: "mnist".to_owned(), ..far };
        assert_eq!(found(&[elsewhere, watched(Optimizer::Sgd, 5_000.0)]), []);
    }

    #[test]
    fn studies_that_differ_in_their_optimizer_are_compared_and_others_are_not() {
        let mut other = planted("other", "sgd", 5_000.0);
        other.facts.dataset = "mnist".to_owned();
        let studies = [planted("m", "momentum", 80_000.0), planted("s", "sgd", 10_000.0), other];
        let answer = Answer::of(&studies, &[]);
        let names = |group: &Group| -> Vec<String> {
            group.studies.iter().map(|curves| curves.study.clone()).collect()
        };
        assert_eq!(
            answer.groups.iter().map(names).collect::<Vec<_>>(),
            [vec!["m".to_owned(), "s".to_owned()], vec!["other".to_owned()]]
        );
    }

    #[test]
    fn cells_that_are_not_decided_have_no_reading_and_those_without_the_goal_are_censored() {
        let mut study = planted("m", "momentum", 50_000.0);
        let (open, vain) = (cell(2, 0.0), cell(4, 0.0));
        study.records.retain(|it| it.cell != open || it.trial == 1);
        for it in study.records.iter_mut().filter(|it| it.cell == vain) {
            *it = record(vain, it.trial, Outcome::Incomplete, 40_000);
        }
        let answer = Answer::of(&[study], &[]);
        let dense = answer.studies[0].goals[0].curves.curve(Sparsity::DENSE).unwrap().clone();
        assert_eq!(dense.readings.len(), 11);
        assert_eq!(dense.readings[0].steps, Measured::Censored { more_than: 40_000.0 });
        assert!(dense.law.unwrap().critical_batch_size().holds(250.0));
    }

    #[test]
    fn the_work_of_a_cell_is_what_its_trials_did_and_were_spared() {
        let study = planted("m", "momentum", 50_000.0);
        let steps = study.records[0].steps.0;
        let work = Answer::of(&[study], &[]).studies[0].work[0];
        assert_eq!((work.trials, work.trained), (2, 2 * steps * 2));
        assert_eq!(work.spared, (40_000 - steps) * 2);
    }
}
