//! The scaling figure, as a value and as SVG.

use crate::specimen::{GOAL, facts, running, study, summary, theory, with_looser_goal};
use parsity_analysis::{CellSummary, Scaling, Standing};
use parsity_report::figure::{Axis, Figure, Stroke};
use parsity_report::palette::sparsity_colour;
use parsity_report::{draw_scaling, png::png, svg::svg};
use parsity_study::{CheckEvery, Sparsity, Steps};

const USUAL: [f64; 4] = [0.0, 0.5, 0.7, 0.9];

fn figure(summaries: &[CellSummary]) -> Figure {
    draw_scaling(&facts("specimen"), GOAL, &Scaling::of(summaries), &[])
}

fn labels(axis: &Axis) -> Vec<&str> {
    axis.ticks.iter().map(|tick| tick.label.as_str()).collect()
}

fn legend(figure: &Figure) -> Vec<&str> {
    let entries = figure.legend.iter().flat_map(|group| &group.entries);
    entries.map(|entry| entry.label.as_str()).collect()
}

#[test]
fn batch_sizes_and_powers_of_two_are_the_ticks() {
    let figure = figure(&study(3..=10, &[0.0], theory));
    let sizes = ["8", "16", "32", "64", "128", "256", "512", "1,024"];
    assert_eq!(labels(&figure.panels[0].x), sizes);
    let steps = ["64", "128", "256", "512", "1,024", "2,048", "4,096", "8,192", "16,384"];
    assert_eq!(labels(&figure.panels[0].y), steps);
}

#[test]
fn every_point_lies_within_the_axes() {
    for powers in [1..=14, 3..=8, 6..=6] {
        let panel = figure(&study(powers, &USUAL, running)).panels.remove(0);
        for series in &panel.series {
            let lines = series.lines.iter().flatten().copied();
            for (x, y) in lines.chain(series.marks.iter().map(|mark| mark.at)) {
                let inside = 0.0..=1.0 + 1e-12;
                assert!(inside.contains(&(panel.x.position(x) + 1e-12)), "{x}");
                assert!(inside.contains(&(panel.y.position(y) + 1e-12)), "{y}");
            }
        }
    }
}

#[test]
fn a_curve_has_the_colour_of_its_sparsity_and_a_mark_of_its_own() {
    let figure = figure(&study(5..=14, &[0.0, 0.5, 0.7, 0.9, 0.95, 0.99], theory));
    let curves: Vec<_> = figure.panels[0].series.iter().filter(|s| !s.marks.is_empty()).collect();
    let colours: Vec<_> = curves.iter().map(|curve| curve.colour).collect();
    let expected = [0.0, 0.5, 0.7, 0.9, 0.95, 0.99]
        .map(|share| sparsity_colour(Sparsity::new(share).unwrap()));
    assert_eq!(colours, expected);
    for (index, curve) in curves.iter().enumerate() {
        let shape = curve.marks[0].shape;
        assert!(curves[..index].iter().all(|other| other.marks[0].shape != shape), "{shape:?}");
    }
}

#[test]
fn perfect_scaling_starts_on_the_dense_curve_and_halves_with_every_doubling() {
    let figure = figure(&study(5..=14, &USUAL, theory));
    let dashed: Vec<_> =
        figure.panels[0].series.iter().filter(|series| series.stroke == Stroke::Dashed).collect();
    assert_eq!(dashed.len(), 1);
    let line = &dashed[0].lines[0];
    assert_eq!(line[0], figure.panels[0].series[1].marks[0].at);
    assert!((line[0].0 * line[0].1 - line[1].0 * line[1].1).abs() < 1e-6);
}

#[test]
fn cells_that_did_not_reach_the_goal_are_shown_above_the_budget() {
    let figure = figure(&study(1..=14, &USUAL, theory));
    let above = figure.panels[0].above.as_ref().unwrap();
    assert_eq!(above.label, "> 40,000");
    assert_eq!(above.marks.len(), 5);
    assert_eq!(above.marks[0].note, "batch size 2, sparsity 50 %: goal not reached");
    assert_eq!(figure.panels[0].y.range.1, 40_000.0);
    assert_eq!(legend(&figure).last(), Some(&"goal not reached"));
}

#[test]
fn the_best_so_far_is_an_open_mark_off_the_line() {
    let summaries = [
        summary(8, 0.0, Standing::Reached(Steps(640))),
        summary(16, 0.0, Standing::Reached(Steps(320))),
        summary(32, 0.0, Standing::Open(Some(Steps(192)))),
        summary(64, 0.0, Standing::Reached(Steps(96))),
        summary(128, 0.0, Standing::Reached(Steps(64))),
    ];
    let figure = figure(&summaries);
    let curve = &figure.panels[0].series[1];
    let open: Vec<bool> = curve.marks.iter().map(|mark| mark.open).collect();
    assert_eq!(open, [false, false, true, false, false]);
    let runs = [vec![(8.0, 640.0), (16.0, 320.0)], vec![(64.0, 96.0), (128.0, 64.0)]];
    assert_eq!(curve.lines, runs);
    assert_eq!(legend(&figure), ["0 %", "perfect scaling", "best so far"]);
}

#[test]
fn goal_error_trials_and_check_interval_are_always_printed() {
    let figure = figure(&[]);
    let subtitle = figure.facts.concat();
    for fact in ["goal error 0.02", "100 trials per cell", "goal check every 16 steps"] {
        assert!(subtitle.iter().any(|phrase| phrase == fact), "{fact}");
        assert!(figure.description.contains(fact), "{fact}");
    }
}

#[test]
fn the_title_names_its_own_goal_and_the_subtitle_all_goals() {
    let (facts, _) = with_looser_goal("specimen", &[]);
    let titles = facts.goal_errors.iter().map(|&goal| {
        let figure = draw_scaling(&facts, goal, &Scaling::of(&[]), &[]);
        let subtitle = figure.facts.concat();
        assert!(subtitle.contains(&"goal errors 0.05 and 0.02".to_owned()), "{subtitle:?}");
        let checks = "goal check every 16 steps, every 4 from B = 1,024".to_owned();
        assert!(subtitle.contains(&checks), "{subtitle:?}");
        figure.title
    });
    let expected =
        ["0.05", "0.02"].map(|goal| format!("Training steps to reach an error of {goal}"));
    assert_eq!(titles.collect::<Vec<_>>(), expected);
}

#[test]
fn a_study_without_steps_says_so_and_is_drawn_all_the_same() {
    let waiting = study(1..=14, &USUAL, |_, _| Standing::Open(None));
    let never = study(1..=14, &USUAL, |_, _| Standing::NotReached);
    for (summaries, remark) in [(&waiting, true), (&never, false), (&Vec::new(), true)] {
        let figure = figure(summaries);
        assert_eq!(figure.panels[0].remark.is_some(), remark);
        let drawn = svg(&figure);
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
    }
}

#[test]
fn a_budget_of_a_single_step_still_makes_an_axis() {
    let mut facts = facts("tiny");
    (facts.step_budget, facts.check_every) = (Steps(1), CheckEvery::always(Steps(1)));
    let summaries =
        [summary(1, 0.0, Standing::NotReached), summary(2, 0.0, Standing::Reached(Steps(1)))];
    let drawn = svg(&draw_scaling(&facts, GOAL, &Scaling::of(&summaries), &[]));
    assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
}

#[test]
fn the_png_is_an_image_of_twice_the_layout() {
    let bytes = png(&figure(&study(3..=6, &[0.0, 0.9], theory)));
    assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n");
    let side = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!((side(16), side(20)), (1800, 1080));
}

/// The accepted look. After a wanted change, look at the figure that this test leaves in
/// the target folder, and copy it over the accepted one.
#[test]
fn the_svg_is_as_accepted() {
    let summaries = [
        summary(8, 0.0, Standing::Reached(Steps(640))),
        summary(16, 0.0, Standing::Reached(Steps(352))),
        summary(8, 0.9, Standing::NotReached),
        summary(16, 0.9, Standing::Open(Some(Steps(960)))),
    ];
    let drawn = svg(&figure(&summaries));
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("scaling.svg");
    std::fs::write(&path, &drawn).unwrap();
    let accepted = include_str!("scaling.svg");
    assert!(drawn == accepted, "the figure is not as accepted; see {}", path.display());
}
