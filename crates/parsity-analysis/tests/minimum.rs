//! Whether another set of trials has its minimum where the first set says it will.

mod support;

use parsity_analysis::random::Stream;
use parsity_analysis::{Measured, another_minimum, trial_steps};
use parsity_study::{Outcome, Steps};
use support::{record, share, stream};

/// Trials of a search in two dimensions, with luck on top, a budget and goal checks.
fn search(trials: usize, luck: f64, stream: &mut Stream) -> Vec<Measured> {
    let trial = |stream: &mut Stream| {
        let distance = (0..2).map(|_| (4.0 * stream.uniform() - 2.0).powi(2)).sum::<f64>();
        let steps = 500.0 * (distance + luck * stream.normal()).exp();
        let check = (steps / 16.0).ceil() * 16.0;
        if check > 5000.0 {
            Measured::Censored { more_than: 5000.0 }
        } else {
            Measured::at_check(check, 16.0)
        }
    };
    (0..trials).map(|_| trial(stream)).collect()
}

/// The first check at which a trial had reached the goal.
fn minimum(trials: &[Measured]) -> f64 {
    let reached = trials.iter().filter(|trial| matches!(trial, Measured::Interval { .. }));
    reached.map(|trial| trial.shown()).fold(f64::INFINITY, f64::min)
}

#[test]
fn another_set_has_its_minimum_inside_the_interval_in_nine_of_ten_cases() {
    for (trials, luck) in [(30, 0.05), (100, 0.05), (100, 0.2), (100, 0.5)] {
        let inside = share(1000, |index| {
            let mut stream = stream(index);
            let estimate = another_minimum(&search(trials, luck, &mut stream)).unwrap();
            let other = minimum(&search(trials, luck, &mut stream));
            // The other minimum lies between two checks, too.
            other >= estimate.low && other - 16.0 < estimate.high
        });
        // The lower tail of a smooth valley is shorter than the assumed one.
        assert!((0.87..=0.97).contains(&inside), "{trials} trials, {luck}: inside in {inside}");
    }
}

#[test]
fn the_interval_reaches_below_the_minimum_and_is_the_same_every_time() {
    let trials = search(100, 0.2, &mut stream(1));
    let estimate = another_minimum(&trials).unwrap();
    assert!(estimate.is_bounded());
    assert!(estimate.low < estimate.value && estimate.value < estimate.high);
    assert_eq!(estimate.value, minimum(&trials));
    assert_eq!(another_minimum(&trials), Some(estimate));
}

#[test]
fn after_a_race_nothing_but_the_winner_is_known() {
    let mut trials = vec![Measured::Censored { more_than: 320.0 }; 15];
    trials.push(Measured::at_check(320.0, 16.0));
    let estimate = another_minimum(&trials).unwrap();
    assert_eq!((estimate.low, estimate.value, estimate.high), (0.0, 320.0, f64::INFINITY));
    assert_eq!(another_minimum(&trials[..15]), None);
}

#[test]
fn trials_beyond_the_first_stopped_one_have_no_rank() {
    let reached = [200.0, 250.0, 300.0, 350.0, 400.0, 500.0, 600.0, 700.0];
    let reached: Vec<Measured> = reached.map(|steps| Measured::at_check(steps, 1.0)).to_vec();
    let bounded = another_minimum(&reached).unwrap();
    assert!(bounded.is_bounded());
    // Of a trial that was stopped at 260 steps it is not known whether it comes third.
    let mut with_stopped = reached;
    with_stopped.push(Measured::Censored { more_than: 260.0 });
    let open = another_minimum(&with_stopped).unwrap();
    assert_eq!(open.high, f64::INFINITY);
    assert!(open.low > 0.0);
}

#[test]
fn a_record_is_an_interval_a_lower_bound_or_endless_by_its_outcome() {
    let steps = |outcome, steps| trial_steps(&record(0, -1.0, outcome, steps), 0, Steps(16));
    assert_eq!(
        steps(Outcome::Complete, 320),
        Some(Measured::Interval { above: 304.0, at_most: 320.0 })
    );
    let more_than = |more_than| Some(Measured::Censored { more_than });
    assert_eq!(steps(Outcome::Incomplete, 40_000), more_than(40_000.0));
    assert_eq!(steps(Outcome::Outpaced, 320), more_than(320.0));
    assert_eq!(steps(Outcome::Infeasible, 7), more_than(f64::INFINITY));
    assert_eq!(steps(Outcome::Failed, 7), None);
    // A trial that ended without its second goal may have reached its first.
    let mut outpaced = record(0, -1.0, Outcome::Outpaced, 320);
    outpaced.reached = vec![Steps(160)];
    assert_eq!(trial_steps(&outpaced, 0, Steps(16)), Some(Measured::at_check(160.0, 16.0)));
    assert_eq!(trial_steps(&outpaced, 1, Steps(16)), more_than(320.0));
}
