//! The steps-to-result table, for programs and for people.

use crate::specimen::summary;
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
batch_size,sparsity,steps_to_result,best_so_far,best_trial,learning_rate,momentum,decay_steps,\
end_factor,complete,incomplete,infeasible,outpaced,failed,trials
8,0,1280,1280,7,0.0031622776601683794,0.982217,,,23,72,5,0,0,100
8,0.9,,,,,,,,0,95,5,0,0,100
1024,0,,96,7,0.0031622776601683794,0.982217,,,23,32,5,0,0,100
1024,0.9,,,,,,,,0,55,5,0,0,100
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
fn the_list_shows_outcomes_and_the_best_metaparameters() {
    let expected = " batch size  sparsity  steps-to-result  best trial  learning rate  momentum     done  complete  incomplete  infeasible
──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
          8       0 %            1,280           7      0.0031623   0.98222  100/100        23          72           5
          8      90 %                –                                       100/100         0          95           5
      1,024       0 %             ≤ 96           7      0.0031623   0.98222   60/100        23          32           5
      1,024      90 %                …                                        60/100         0          55           5
 ≤ best so far: trials are missing
 … open: no trial has reached the goal yet
 – no trial reached the goal within the step budget
";
    assert_eq!(steps_list(&summaries(), false), expected);
}

#[test]
fn failed_trials_are_never_silent() {
    let mut summaries = summaries();
    (summaries[0].failed, summaries[0].incomplete) = (2, 70);
    let told = " ! 2 trials failed: their cells are judged without them\n";
    assert!(steps_matrix(&summaries, false).ends_with(told));
    assert!(steps_list(&summaries, false).contains("failed\n"));
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
