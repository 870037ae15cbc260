//! What the forecast figure shows.

use crate::specimen::facts;
use parsity_analysis::{Forecast, Measurements, Wires};
use parsity_report::figure::{Series, Shape, Stroke};
use parsity_report::forecast::draw_forecast;
use parsity_report::{png::png, svg::svg};
use parsity_study::{BatchSize, Sparsity, Steps};

const SLOW: Wires = Wires { bandwidth: 5e8, latency: 2e-5 };

/// A study of two sparsities, by theory.
fn measured(share: f64) -> Measurements {
    let factor = 1.0 + share;
    let steps = (3..12).map(|power| 1u32 << power).map(|size| {
        (BatchSize(size), Steps((factor * (20_000.0 / f64::from(size) + 150.0)) as u64))
    });
    Measurements {
        sparsity: Sparsity::new(share).expect("a share below 1"),
        bytes: 250_000.0 * (1.0 - share),
        steps: steps.collect(),
        seconds: vec![(1.0, 2e-4)],
    }
}

fn forecast() -> (Vec<Forecast>, Vec<(Sparsity, u32)>) {
    let both = [0.0, 0.9].map(measured);
    let workers = [1, 2, 4, 8, 16, 32, 64];
    let rows = both.iter().flat_map(|it| workers.iter().filter_map(|&w| it.forecast(w, &SLOW)));
    let ends =
        both.iter().map(|it| (it.sparsity, it.stops_paying(64, &SLOW).expect("steps are known")));
    (rows.collect(), ends.collect())
}

#[test]
fn every_number_of_workers_has_its_mark_and_a_star_where_more_stop_paying() {
    let (rows, ends) = forecast();
    let figure = draw_forecast(&facts("specimen"), &SLOW, &rows, &ends).unwrap();
    let panel = &figure.panels[0];
    let of = |stroke| panel.series.iter().filter(move |it: &&Series| it.stroke == stroke);
    let curves: Vec<&Series> = of(Stroke::Solid).collect();
    assert_eq!(curves.iter().map(|it| it.marks.len()).collect::<Vec<_>>(), [7, 7]);
    for (series, half) in curves.iter().zip(rows.chunks(7)) {
        for (mark, row) in series.marks.iter().zip(half) {
            assert_eq!(mark.at, (f64::from(row.workers), row.speed_up));
            assert!(panel.y.shows(row.speed_up) && panel.x.shows(mark.at.0));
        }
    }
    let stars: Vec<f64> = of(Stroke::Thin).map(|it| it.marks[0].at.0).collect();
    assert!(of(Stroke::Thin).all(|it| it.marks[0].shape == Shape::Star));
    assert!(ends[0].1 < ends[1].1, "sparse gradients make more pay: {ends:?}");
    // What pays up to the last number shown has not stopped there.
    assert_eq!((stars, ends[1].1), (vec![f64::from(ends[0].1)], 64));
    // The ideal is as many times as fast as there are workers.
    let ideal = of(Stroke::Dashed).next().unwrap();
    assert!(ideal.lines[0].iter().all(|(x, y)| x == y && panel.y.shows(*y)));
}

#[test]
fn the_table_of_a_forecast_has_all_that_the_figure_shows_and_who_talks_how_much() {
    let (rows, ends) = forecast();
    let figure = draw_forecast(&facts("specimen"), &SLOW, &rows, &ends).unwrap();
    let csv = figure.data.csv();
    assert_eq!(csv.lines().count(), 1 + rows.len());
    let talking = csv.lines().next().unwrap().split(',').position(|it| it == "communication");
    let share = |line: &str| line.split(',').nth(talking.unwrap()).unwrap().parse::<f64>().unwrap();
    let shares: Vec<f64> = csv.lines().skip(1).map(share).collect();
    assert!(shares[1] > 2.0 * shares[8], "dense and sparse on two workers: {shares:?}");
    assert!(svg(&figure).contains("stops paying") && !png(&figure).is_empty());
    assert!(draw_forecast(&facts("specimen"), &SLOW, &[], &[]).is_none());
}
