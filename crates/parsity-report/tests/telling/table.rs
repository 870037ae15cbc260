//! The steps-to-result table, for programs and for people.

use crate::specimen::{summary, with_looser_goal};
use parsity_analysis::{CellSummary, Standing};
use parsity_report::{steps_csv, steps_list, steps_matrix};
use parsity_study::Steps;

fn summaries() -> Vec<CellSummary> {
    vec![
        summary(8, 0.0, Standing::Reached(Steps(1_280))),
        summary(8, 0.9, Standing::NotReached),
        summary(1_024, 0.0, Standing::Open(Some(Steps(96)))),
        summary(1_024, 0.9, Standing::Open(None)),
    ]
}

#[test]
fn the_csv_has_a_row_per_cell_with_everything_known() {
    let expected = "\
batch_size,sparsity,goal_error,steps_to_result,above,best_so_far,best_trial,learning_rate,momentum,\
decay_steps,end_factor,complete,incomplete,infeasible,outpaced,collapsed,failed,trials,exhaustive
8,0,0.02,1280,1264,1280,7,0.0031622776601683794,0.982217,,,23,72,5,0,0,0,100,0
8,0.9,0.02,,,,,,,,,0,95,5,0,0,0,100,0
1024,0,0.02,,,96,7,0.0031622776601683794,0.982217,,,23,32,5,0,0,0,100,0
1024,0.9,0.02,,,,,,,,,0,55,5,0,0,0,100,0
";
    assert_eq!(steps_csv(&summaries()), expected);
}

#[test]
fn the_matrix_tells_apart_steps_bounds_open_and_unreached_cells() {
    let expected = " Steps-to-result by batch size and sparsity
 batch size    0 %  90 %
────────────────────────
          8  1,280     –
      1,024   ≤ 96     …
 ≤ best so far: trials are missing
 … open: no trial has reached the goal yet
 – no trial reached the goal within the step budget
";
    assert_eq!(steps_matrix(&summaries(), false), expected);
}

#[test]
fn the_list_shows_intervals_outcomes_and_the_best_metaparameters() {
    let expected = " batch size  sparsity  steps-to-result        interval  best trial  learning rate  momentum     done  complete  incomplete  infeasible
──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
          8       0 %            1,280  (1,264, 1,280]           7      0.0031623   0.98222  100/100        23          72           5
          8      90 %                –                                                       100/100         0          95           5
      1,024       0 %             ≤ 96                           7      0.0031623   0.98222   60/100        23          32           5
      1,024      90 %                …                                                        60/100         0          55           5
 ≤ best so far: trials are missing
 … open: no trial has reached the goal yet
 – no trial reached the goal within the step budget
 raced: trials stop when they can no longer be the best
";
    assert_eq!(steps_list(&summaries(), false), expected);
}

/// A small and a large batch for two goals.
fn two_goals() -> Vec<CellSummary> {
    let reached = |size, steps| summary(size, 0.0, Standing::Reached(Steps(steps)));
    with_looser_goal("two", &[reached(8, 1_280), reached(1_024, 96)]).1
}

#[test]
fn several_goals_have_a_matrix_each() {
    let expected = " Steps-to-result by batch size and sparsity, goal error 0.05
 batch size  0 %
────────────────
          8  640
      1,024   48

 Steps-to-result by batch size and sparsity, goal error 0.02
 batch size    0 %
──────────────────
          8  1,280
      1,024     96
";
    assert_eq!(steps_matrix(&two_goals(), false), expected);
}

#[test]
fn several_goals_have_a_column_in_the_list_and_in_the_csv() {
    let list = steps_list(&two_goals(), false);
    let rows: Vec<Vec<&str>> =
        list.lines().map(|line| line.split_whitespace().take(7).collect()).collect();
    assert_eq!(rows[0][..4], ["goal", "error", "batch", "size"]);
    assert_eq!(rows[2], ["0.05", "8", "0", "%", "640", "(624,", "640]"]);
    assert_eq!(rows[3], ["0.05", "1,024", "0", "%", "48", "(44,", "48]"]);
    assert_eq!(rows[5], ["0.02", "1,024", "0", "%", "96", "(92,", "96]"]);
    let csv = steps_csv(&two_goals());
    let starts: Vec<String> =
        csv.lines().map(|line| line.split(',').take(5).collect::<Vec<_>>().join(",")).collect();
    assert_eq!(
        starts[1..],
        ["8,0,0.05,640,624", "1024,0,0.05,48,44", "8,0,0.02,1280,1264", "1024,0,0.02,96,92"]
    );
}

#[test]
fn the_list_says_how_far_trials_were_trained_and_counts_each_trial_once() {
    let mut cells = two_goals();
    let told = |cells: &[CellSummary]| steps_list(cells, false).lines().last().unwrap().to_owned();
    assert_eq!(told(&cells), " raced: trials stop when they can no longer be the best");
    cells.iter_mut().for_each(|cell| cell.exhaustive = 12);
    assert_eq!(told(&cells), " raced, but 24 of 200 trials were trained to their own end");
    cells.iter_mut().for_each(|cell| cell.exhaustive = 100);
    assert_eq!(told(&cells), " exhaustive: trials are trained to their own end");
}

#[test]
fn failed_trials_are_never_silent() {
    let mut summaries = summaries();
    (summaries[0].failed, summaries[0].incomplete) = (2, 70);
    let told = " ! 2 trials failed: their cells are judged without them\n";
    assert!(steps_matrix(&summaries, false).ends_with(told));
    assert!(steps_list(&summaries, false).contains("failed\n"));
    // With two goals they are the same trials, not twice as many.
    assert!(steps_matrix(&with_looser_goal("two", &summaries).1, false).ends_with(told));
}

#[test]
fn colours_appear_only_when_asked_for() {
    for tell in [steps_matrix, steps_list] {
        assert!(tell(&summaries(), true).contains('\u{1b}'));
        assert!(!tell(&summaries(), false).contains('\u{1b}'));
    }
}

#[test]
fn an_empty_study_is_an_empty_table() {
    assert_eq!(steps_csv(&[]).lines().count(), 1);
    assert!(steps_matrix(&[], false).contains("batch size"));
    assert!(steps_list(&[], false).contains("steps-to-result"));
}
