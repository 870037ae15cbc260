//! Whether what is suspicious about a study is found, and what is not is left alone.

mod support;

use parsity_analysis::{
    Edge, Finding, FittedCurve, Form, Measured, Reading, examine_cell, examine_curve,
};
use parsity_study::search::SearchKeys;
use parsity_study::{BatchSize, Optimizer, Outcome, Record, Schedule, Space, Sparsity, Steps};
use support::{Luck, Planted, Setup, record, stream};

/// A cell in which learning rate 10^exponent of `rates` ended in its way.
fn examine(rates: &[(f64, Outcome, u64)]) -> Vec<Finding> {
    let space = Space::new(Optimizer::Sgd, Schedule::Constant, &SearchKeys::default());
    let trials = rates.iter().zip(0..);
    let records: Vec<Record> =
        trials.map(|(&(rate, outcome, steps), i)| record(i, rate, outcome, steps)).collect();
    let records: Vec<&Record> = records.iter().collect();
    examine_cell(&records, 0, &space, Steps(16))
}

/// As many complete trials as wanted about a learning rate of 0.01.
fn complete(count: i32) -> Vec<(f64, Outcome, u64)> {
    let trial = |i: i32| {
        let exponent = -2.0 + f64::from(i) / 8.0 * if i % 2 == 0 { 1.0 } else { -1.0 };
        (exponent, Outcome::Complete, 320 + 16 * i as u64)
    };
    (0..count).map(trial).collect()
}

fn reading(batch_size: f64, steps: f64) -> Reading {
    Reading { batch_size, steps: Measured::at_check(steps, 4.0) }
}

fn curve(readings: Vec<Reading>) -> FittedCurve {
    FittedCurve::new(Sparsity::DENSE, readings)
}

#[test]
fn a_well_measured_study_has_no_findings() {
    assert_eq!(examine(&complete(8)), []);
    let setup = Setup { check_every: 4.0, ..Setup::centred(14, Luck::Minimum(0.05)) };
    let truth = Planted { form: Form::Smooth, c2: 500.0, critical: 200.0 };
    for index in 0..50 {
        assert_eq!(examine_curve(&curve(truth.measure(&setup, &mut stream(index)))), []);
    }
}

#[test]
fn a_best_trial_at_the_edge_says_which_side_and_how_far_to_widen() {
    let mut trials = complete(8);
    trials.push((-0.1, Outcome::Complete, 160));
    let findings = examine(&trials);
    let [Finding::BestAtEdge { metaparameter, edge, widen_to, .. }] = findings[..] else {
        panic!("{findings:?}")
    };
    assert_eq!((metaparameter, edge), ("learning_rate", Edge::Upper));
    assert!((widen_to - 10.0).abs() < 1e-9);
    assert_eq!(findings[0].next_action(), "widen the search: `search.learning_rate.to = 10.0000`");
    // The lowest of all that were tried is an edge, too, even far from the end of the range.
    trials.pop();
    trials.push((-3.2, Outcome::Complete, 160));
    assert!(matches!(examine(&trials)[..], [Finding::BestAtEdge { edge: Edge::Lower, .. }]));
}

#[test]
fn too_few_complete_trials_ask_for_steps_or_for_trials() {
    let mut trials = complete(2);
    trials.extend([(-1.0, Outcome::Incomplete, 40_000); 8]);
    trials.push((-3.9, Outcome::Incomplete, 40_000));
    let findings = examine(&trials);
    assert!(matches!(findings[..], [Finding::TooFewComplete { complete: 2, trials: 11, .. }]));
    assert_eq!(findings[0].next_action(), "add trials: about 28 would give 5 complete ones");
    let none = examine(&[(-2.0, Outcome::Incomplete, 40_000); 4]);
    assert_eq!(none[0].next_action(), "raise `step_budget` above 40000, or add trials");
    // After a race, whoever was outpaced might have got there.
    let mut raced = complete(1);
    raced.extend([(-1.0, Outcome::Outpaced, 320), (-3.0, Outcome::Outpaced, 320)]);
    assert_eq!(examine(&raced), []);
}

#[test]
fn a_goal_at_the_first_check_asks_for_finer_checks() {
    let mut trials = complete(8);
    trials[0].2 = 16;
    let findings = examine(&trials);
    let expected = Finding::GoalAtFirstCheck {
        cell: record(0, 0.0, Outcome::Complete, 16).cell,
        check_every: Steps(16),
        suggested: Steps(2),
    };
    assert_eq!(findings, [expected]);
    assert_eq!(findings[0].next_action(), "check more often: `check_every = 2` at batch size 64");
}

#[test]
fn many_diverging_trials_ask_for_lower_learning_rates() {
    let mut trials = complete(8);
    trials.extend([(-0.5, Outcome::Infeasible, 3); 9]);
    let findings = examine(&trials);
    let [Finding::InfeasibleShare { infeasible: 9, trials: 17, highest_feasible, .. }] =
        findings[..]
    else {
        panic!("{findings:?}")
    };
    // The highest exponent of `complete(8)` is −2 + 6/8.
    assert!((highest_feasible.unwrap() - 10f64.powf(-1.25)).abs() < 1e-12);
    assert!(findings[0].next_action().contains("0.0562"));
}

#[test]
fn more_steps_at_a_larger_batch_size_are_found_even_beyond_the_budget() {
    let mut readings: Vec<Reading> =
        (1..=10).map(|i| 2f64.powi(i)).map(|b| reading(b, (1e4 / b + 400.0).ceil())).collect();
    readings[6].steps = Measured::at_check(1_200.0, 4.0);
    let rise = |readings: &[Reading]| {
        examine_curve(&curve(readings.to_vec())).into_iter().find_map(|finding| match finding {
            Finding::NotMonotone { smaller, larger, factor, .. } => Some((smaller, larger, factor)),
            _ => None,
        })
    };
    let (smaller, larger, factor) = rise(&readings).unwrap();
    assert_eq!((smaller, larger), (BatchSize(64), BatchSize(128)));
    assert!((factor - 1_196.0 / 557.0).abs() < 1e-9);
    readings[6].steps = Measured::Censored { more_than: 40_000.0 };
    assert_eq!(rise(&readings).unwrap().1, BatchSize(128));
}

#[test]
fn without_a_floor_the_batch_sizes_to_add_are_named() {
    let linear: Vec<Reading> =
        (1..=8).map(|i| 2f64.powi(i)).map(|b| reading(b, (1e6 / b).ceil())).collect();
    let findings = examine_curve(&curve(linear));
    let [Finding::NoFlatRegion { largest, ref add, .. }] = findings[..] else {
        panic!("{findings:?}")
    };
    assert_eq!(largest, BatchSize(256));
    assert_eq!(add[..], [512, 1024, 2048, 4096].map(BatchSize));
    assert_eq!(findings[0].next_action(), "add batch sizes 512, 1024, 2048 and 4096");
    // A knee that is seen, but not yet passed: as far as four times the critical batch size.
    let bent: Vec<Reading> =
        (1..=10).map(|i| 2f64.powi(i)).map(|b| reading(b, (5e5 / b + 1_000.0).ceil())).collect();
    let findings = examine_curve(&curve(bent));
    let [Finding::NoFlatRegion { ref add, .. }] = findings[..] else { panic!("{findings:?}") };
    assert_eq!(add[..], [2048, 4096].map(BatchSize));
}

#[test]
fn a_noisy_fit_names_the_batch_sizes_that_are_farthest_off() {
    let mut readings: Vec<Reading> =
        (1..=10).map(|i| 2f64.powi(i)).map(|b| reading(b, (1e4 / b + 400.0).ceil())).collect();
    readings[2].steps = Measured::at_check(4_000.0, 4.0);
    let findings = examine_curve(&curve(readings));
    let noisy = findings.iter().find_map(|finding| match finding {
        Finding::NoisyFit { farthest, scatter, .. } => Some((farthest.clone(), *scatter)),
        _ => None,
    });
    let (farthest, scatter) = noisy.unwrap();
    assert_eq!(farthest[0], BatchSize(8));
    assert!(scatter > 0.25);
}

#[test]
fn every_finding_says_what_was_seen_and_is_written_with_its_name() {
    let findings = examine(&[(-2.0, Outcome::Incomplete, 40_000); 4]);
    assert_eq!(
        findings[0].to_string(),
        "batch size 64, sparsity 0 %: 0 of 4 trials reached the goal within 40000 steps"
    );
    let written = serde_json::to_value(&findings[0]).unwrap();
    assert_eq!(written["finding"], "too-few-complete");
    assert_eq!(written["cell"]["batch_size"], 64);
}
