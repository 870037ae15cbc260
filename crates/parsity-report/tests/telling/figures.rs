//! What the figures besides the scaling figure show, as values.

use crate::specimen::{facts, theory, theory_of_sgd};
use crate::trials::{pruned, searched, trials, watched};
use parsity_analysis::{Answer, Standing, StudyRecords};
use parsity_report::figure::{Figure, Panel, Shape, Stroke};
use parsity_report::optima::draw_optima;
use parsity_report::optimizers::draw_optimizers;
use parsity_report::palette::sparsity_colour;
use parsity_report::ratio::draw_ratios;
use parsity_report::search::draw_search;
use parsity_report::survivors::draw_survivors;
use parsity_report::work::draw_work;
use parsity_report::{draw_scaling, exhibits, svg::svg};
use parsity_study::{Optimizer, Outcome, SmoothnessRun, Sparsity, Steps};

fn study(optimizer: Optimizer) -> StudyRecords {
    trials(searched("specimen", optimizer), 3..=12, &[0.0, 0.9], theory)
}

fn answer(study: &StudyRecords) -> Answer {
    Answer::of(std::slice::from_ref(study), &[])
}

fn marks(panel: &Panel) -> usize {
    panel.series.iter().map(|series| series.marks.len()).sum()
}

fn search(study: &StudyRecords) -> Figure {
    draw_search(&study.facts, 0, &study.cells, &study.records).expect("trials are done")
}

#[test]
fn the_scaling_figure_marks_the_critical_batch_size_of_each_law() {
    let study = study(Optimizer::Momentum);
    let answer = answer(&study);
    let goal = &answer.studies[0].goals[0];
    let figure = draw_scaling(&study.facts, goal.goal_error, &goal.scaling, &goal.curves.curves);
    let panel = &figure.panels[0];
    assert_eq!(panel.spans.len(), 2);
    for (span, curve) in panel.spans.iter().zip(&goal.curves.curves) {
        let critical = curve.law.as_ref().unwrap().critical_batch_size();
        assert_eq!(
            (span.value, span.low, span.high),
            (critical.value, critical.low, critical.high)
        );
        assert_eq!(span.colour, sparsity_colour(curve.sparsity));
        assert!(figure.description.contains(&span.note), "{}", span.note);
    }
    let fitted = panel.series.iter().filter(|series| series.stroke == Stroke::Dotted);
    for (series, curve) in fitted.zip(&goal.curves.curves) {
        let fit = curve.law.as_ref().unwrap().fit();
        for &(size, steps) in &series.lines[0] {
            assert!((fit.steps_at(size) / steps - 1.0).abs() < 1e-12);
            assert!(panel.y.shows(steps));
        }
    }
}

#[test]
fn the_ratio_figure_has_the_ratio_of_every_batch_size_and_no_dense_curve() {
    let study = study(Optimizer::Momentum);
    let answer = answer(&study);
    let goal = &answer.studies[0].goals[0];
    let figure = draw_ratios(&study.facts, goal).unwrap();
    let known = goal.ratios[0].ratios.points.iter().filter(|point| point.ratio.is_some()).count();
    assert_eq!(marks(&figure.panels[0]), known);
    assert_eq!(figure.data.rows.len(), goal.ratios[0].ratios.points.len());
    assert!(figure.panels[0].y.shows(1.0));
    let alone = trials(facts("alone"), 3..=6, &[0.0], theory);
    let told = Answer::of(std::slice::from_ref(&alone), &[]);
    assert!(draw_ratios(&alone.facts, &told.studies[0].goals[0]).is_none());
}

#[test]
fn the_search_has_a_panel_per_cell_a_mark_per_trial_and_one_star_where_the_best_is() {
    let study = study(Optimizer::Momentum);
    let figure = search(&study);
    assert_eq!((figure.panels.len(), figure.columns), (20, 2));
    let summaries = &answer(&study).studies[0].goals[0].cells;
    for (panel, cell) in figure.panels.iter().zip(summaries) {
        assert_eq!(marks(panel), 100);
        let all = panel.series.iter().flat_map(|series| &series.marks);
        let stars: Vec<_> = all.filter(|mark| mark.shape == Shape::Star).collect();
        let best = cell.summary.metaparameters.unwrap();
        let place = (best.learning_rate, 1.0 - best.momentum.unwrap());
        assert_eq!(stars.iter().map(|star| star.at).collect::<Vec<_>>(), [place]);
    }
    assert_eq!(figure.data.rows.len(), 2_000);
}

#[test]
fn lines_of_equal_effective_learning_rate_are_straight_and_inside() {
    let figure = search(&study(Optimizer::Nesterov));
    let panel = &figure.panels[0];
    let lines = &panel.series[0].lines;
    assert!(lines.len() > 3);
    for line in lines {
        let rates: Vec<f64> = line.iter().map(|(rate, inertia)| rate / inertia).collect();
        assert!((rates[0] / rates[1] - 1.0).abs() < 1e-9, "{rates:?}");
        assert!((rates[0].log10() - rates[0].log10().round()).abs() < 1e-9, "{rates:?}");
        for &(x, y) in line {
            assert!((-1e-9..1.0 + 1e-9).contains(&panel.x.position(x)), "{x}");
            assert!((-1e-9..1.0 + 1e-9).contains(&panel.y.position(y)), "{y}");
        }
    }
}

#[test]
fn without_momentum_steps_are_the_height_and_trials_that_diverged_have_none() {
    let study = study(Optimizer::Sgd);
    let figure = search(&study);
    for (panel, cell) in figure.panels.iter().zip(&study.cells) {
        let diverged = study.records.iter().filter(|it| it.cell == *cell);
        let diverged = diverged.filter(|it| it.outcome == Outcome::Infeasible).count();
        assert_eq!(panel.above.as_ref().unwrap().marks.len(), diverged);
        assert_eq!(marks(panel), 100 - diverged);
    }
}

#[test]
fn optimizers_are_compared_only_where_there_are_several() {
    let studies = [
        trials(searched("s", Optimizer::Sgd), 3..=10, &[0.0, 0.9], theory_of_sgd),
        trials(searched("m", Optimizer::Momentum), 3..=10, &[0.0, 0.9], theory),
    ];
    let both = Answer::of(&studies, &[]);
    let figure = draw_optimizers(&both, &both.groups[0]).unwrap();
    let titles: Vec<_> = figure.panels.iter().filter_map(|panel| panel.title.as_deref()).collect();
    assert_eq!(titles, ["Sparsity 0 %", "Sparsity 90 %"]);
    for panel in &figure.panels {
        assert_eq!((panel.series.len(), panel.spans.len()), (2, 2));
        assert_ne!(panel.series[0].colour, panel.series[1].colour);
        assert_ne!(panel.series[0].marks[0].shape, panel.series[1].marks[0].shape);
    }
    let one = Answer::of(&studies[..1], &[]);
    assert!(draw_optimizers(&one, &one.groups[0]).is_none());
}

#[test]
fn metaparameters_that_a_study_does_not_use_have_no_panel() {
    let labels = |optimizer| -> Vec<String> {
        let study = study(optimizer);
        let answer = answer(&study);
        let figure = draw_optima(&study.facts, &answer.studies[0].goals[0]).unwrap();
        figure.panels.iter().map(|panel| panel.y.label.clone()).collect()
    };
    assert_eq!(labels(Optimizer::Sgd), ["↑ Learning rate"]);
    assert_eq!(labels(Optimizer::Momentum).len(), 3);
}

#[test]
fn the_work_figure_shows_what_was_done_and_what_it_could_have_been() {
    let study = study(Optimizer::Momentum);
    let answer = answer(&study);
    let figure = draw_work(&answer.studies[0]).unwrap();
    let [without, done, ..] = &figure.panels[0].series[..] else {
        panic!("two lines per sparsity")
    };
    assert_eq!((without.stroke, done.stroke), (Stroke::Dashed, Stroke::Solid));
    for (more, less) in without.lines[0].iter().zip(&done.lines[0]) {
        assert!(more.0 == less.0 && more.1 >= less.1);
    }
    let work = &answer.studies[0].work;
    assert_eq!(figure.data.rows.len(), work.len());
    assert_eq!(done.lines[0][0].1, work[0].trained as f64);
}

#[test]
fn watched_trainings_are_drawn_with_their_averages_and_make_the_fifth_claim_testable() {
    let runs = watched(&[0.0, 0.5, 0.7, 0.9]);
    let study = study(Optimizer::Sgd);
    let answer = Answer::of(std::slice::from_ref(&study), &runs);
    let all = exhibits(&answer, &[study], &runs, &[]);
    let find = |name: &str| &all.iter().find(|it| it.name == name).unwrap().figure;
    let lipschitz = find("lipschitz");
    let dashed = lipschitz.panels[0].series.iter().filter(|it| it.stroke == Stroke::Dashed);
    for (series, average) in dashed.zip(averages(&runs)) {
        assert!((series.lines[0][0].1 / average - 1.0).abs() < 1e-12);
    }
    assert_eq!(find("training").panels.len(), 2);
    assert_eq!(lipschitz.data.rows.len(), 4 * 21);
    assert!(answer.groups[0].claims[4].statements[0].evidence.len() > 4);
}

#[test]
fn the_survivors_figure_shows_the_share_of_every_layer_and_of_the_whole_network() {
    let study = study(Optimizer::Momentum);
    let survivors = pruned("specimen", &[0.9]);
    let figure = draw_survivors(&answer(&study).studies[0], &survivors).unwrap();
    let [whole, trials, layers] = &figure.panels[0].series[..] else { panic!("one sparsity") };
    assert_eq!(whole.stroke, Stroke::Dashed);
    assert!(whole.lines[0].iter().all(|(_, share)| (share - 0.1).abs() < 1e-12));
    for ((mark, span), layer) in layers.marks.iter().zip(&trials.lines).zip(&survivors.layers) {
        let it = layer.survivors[0];
        assert_eq!(mark.at.1, it.mean / layer.parameters as f64);
        assert_eq!(span[0].1, it.least as f64 / layer.parameters as f64);
        assert!(mark.note.starts_with(&format!("{}, sparsity 90 %", layer.layer)), "{}", mark.note);
    }
    // The mark of a sparsity is that of its curve.
    assert_eq!(layers.marks[0].shape, Shape::Square);
    assert_eq!((layers.marks.len(), figure.data.rows.len()), (8, 8));
    // What is known of another study is not shown.
    let other = exhibits(&answer(&study), &[study], &[], &[pruned("other", &[0.9])]);
    assert!(other.iter().all(|it| it.name != "survivors"));
}

#[test]
fn every_figure_of_every_state_can_be_drawn_and_is_told_in_words() {
    let states: [fn(u32, f64) -> Standing; 4] = [
        theory,
        |_, _| Standing::NotReached,
        |_, _| Standing::Open(None),
        |size, _| Standing::Open(Some(Steps(16 * u64::from(size)))),
    ];
    for optimizer in [Optimizer::Sgd, Optimizer::Momentum] {
        for (standing, powers) in states.into_iter().zip([1..=4, 1..=3, 2..=2, 1..=3]) {
            let study = trials(searched("state", optimizer), powers, &[0.0, 0.5], standing);
            let pruned = pruned("state", &[0.5]);
            for exhibit in exhibits(&answer(&study), &[study], &[], &[pruned]) {
                let drawn = svg(&exhibit.figure);
                assert!(!drawn.contains("NaN") && !drawn.contains("inf\""), "{}", exhibit.name);
                assert!(!exhibit.figure.description.is_empty(), "{}", exhibit.name);
            }
        }
    }
}

#[test]
fn a_sparsity_has_the_same_colour_in_every_figure() {
    let study = study(Optimizer::Momentum);
    let colour = sparsity_colour(Sparsity::new(0.9).unwrap());
    let pruned = pruned("specimen", &[0.9]);
    for exhibit in exhibits(&answer(&study), &[study], &[], &[pruned]) {
        let has = exhibit.figure.panels[0].series.iter().any(|series| series.colour == colour);
        assert!(has || exhibit.name == "search", "{}", exhibit.name);
    }
}

/// The mean Lipschitz constant of each training.
fn averages(runs: &[SmoothnessRun]) -> Vec<f64> {
    let of = |run: &SmoothnessRun| {
        run.points.iter().map(|it| it.lipschitz).sum::<f64>() / run.points.len() as f64
    };
    runs.iter().map(of).collect()
}
