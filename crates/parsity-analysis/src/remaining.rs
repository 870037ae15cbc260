//! How long the cells that are not decided will still take, by those that are.
//!
//! Apart from forecasts, which are about other machines: this is the clock of a run. A rough
//! guide, and the same one in terminal and dashboard.

use parsity_study::{Cell, Record, Sparsity, StudyFacts};
use std::collections::HashMap;

/// The computing that went into a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellTime {
    /// The cell.
    pub cell: Cell,
    /// Seconds of computing so far, over all threads.
    pub seconds: f64,
    /// Whether all its trials are done.
    pub decided: bool,
}

/// The computing that went into each of `cells`, by the records of its trials.
pub fn cell_times(facts: &StudyFacts, cells: &[Cell], records: &[Record]) -> Vec<CellTime> {
    let mut done: HashMap<Cell, (u32, f64)> = HashMap::new();
    for record in records.iter().filter(|record| record.trial < facts.trials) {
        let (trials, seconds) = done.entry(record.cell).or_default();
        (*trials, *seconds) = (*trials + 1, *seconds + record.seconds);
    }
    let time = |&cell: &Cell| {
        let (trials, seconds) = done.get(&cell).copied().unwrap_or_default();
        CellTime { cell, seconds, decided: trials == facts.trials }
    };
    cells.iter().map(time).collect()
}

/// Of each cell, the seconds of computing it still takes, over all threads; `None` while no cell
/// is decided that it could be compared with.
///
/// Between two batch sizes, the time of a cell is on the line between them in logarithms. Below
/// the smallest it stays: scaling is linear there, so all batch sizes see as many images. Above
/// the largest it grows as between the two largest: not at all while scaling is linear, and with
/// batch size on the floor, where more images save no steps. What is not known of a sparsity is
/// taken from the nearest one.
pub fn seconds_left(cells: &[CellTime]) -> Vec<Option<f64>> {
    let left = |it: &CellTime| match it.decided {
        true => Some(0.0),
        false => expected(cells, it.cell).map(|whole| (whole - it.seconds).max(0.0)),
    };
    cells.iter().map(left).collect()
}

/// The seconds that a cell takes in all.
fn expected(cells: &[CellTime], cell: Cell) -> Option<f64> {
    let known = || cells.iter().filter(|it| it.decided && it.seconds > 0.0);
    let distance = |sparsity: Sparsity| (sparsity.share() - cell.sparsity.share()).abs();
    let nearest =
        known().map(|it| it.cell.sparsity).min_by(|a, b| distance(*a).total_cmp(&distance(*b)))?;
    let size = |it: &CellTime| f64::from(it.cell.batch_size.0);
    let at = f64::from(cell.batch_size.0);
    let curve = || known().filter(|it| it.cell.sparsity == nearest);
    let mut known: Vec<&CellTime> = curve().collect();
    known.sort_by_key(|it| it.cell.batch_size);
    let above = known.partition_point(|it| size(it) < at);
    Some(match (known[..above].last(), known.get(above)) {
        (Some(below), Some(above)) => below.seconds * (at / size(below)).powf(growth(below, above)),
        (None, Some(above)) => above.seconds,
        (below, None) => {
            let below = below?;
            let before = above.checked_sub(2).map(|index| known[index]);
            let power = before.map_or(0.5, |before| growth(before, below).clamp(0.0, 1.0));
            below.seconds * (at / size(below)).powf(power)
        }
    })
}

/// The power of the batch size with which the time grows from one cell to another.
fn growth(from: &CellTime, to: &CellTime) -> f64 {
    let sizes = f64::from(to.cell.batch_size.0) / f64::from(from.cell.batch_size.0);
    (to.seconds / from.seconds).ln() / sizes.ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specimen::{cell, facts, record};
    use parsity_study::Outcome;

    fn time(batch_size: u32, share: f64, seconds: f64, decided: bool) -> CellTime {
        CellTime { cell: cell(batch_size, share), seconds, decided }
    }

    #[test]
    fn the_time_of_a_cell_is_that_of_its_trials() {
        let (one, other) = (cell(8, 0.0), cell(16, 0.0));
        let records = [0, 1, 7]
            .map(|trial| Record { seconds: 1.5, ..record(one, trial, Outcome::Complete, 16) });
        let times = cell_times(&facts(&[0.1], 2), &[one, other], &records);
        assert_eq!(times, [time(8, 0.0, 3.0, true), time(16, 0.0, 0.0, false)]);
    }

    #[test]
    fn before_the_first_cell_is_decided_nothing_is_known() {
        assert_eq!(seconds_left(&[time(8, 0.0, 3.0, false)]), [None]);
    }

    #[test]
    fn a_cell_takes_what_its_neighbours_took_less_what_it_has_had() {
        let cells = [
            time(8, 0.0, 10.0, false),
            time(16, 0.0, 100.0, true),
            time(32, 0.0, 50.0, false),
            time(64, 0.0, 400.0, true),
            time(256, 0.0, 0.0, false),
        ];
        let left: Vec<f64> = seconds_left(&cells).into_iter().map(Option::unwrap).collect();
        let expected = [90.0, 0.0, 150.0, 0.0, 1600.0];
        assert!(left.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{left:?}");
    }

    #[test]
    fn a_sparsity_without_a_decided_cell_is_compared_with_the_nearest_one() {
        let cells = [
            time(8, 0.0, 100.0, true),
            time(8, 0.7, 30.0, true),
            time(8, 0.9, 40.0, false),
            time(32, 0.9, 10.0, false),
        ];
        assert_eq!(seconds_left(&cells), [Some(0.0), Some(0.0), Some(0.0), Some(50.0)]);
    }

    #[test]
    fn above_the_largest_batch_size_the_time_grows_as_it_did_before_but_not_without_bound() {
        let beyond = |before: f64, last: f64| {
            let cells =
                [time(8, 0.0, before, true), time(16, 0.0, last, true), time(64, 0.0, 0.0, false)];
            seconds_left(&cells)[2].unwrap()
        };
        // Linear scaling, the floor, and what noise makes of both.
        let found =
            [(10.0, 10.0), (10.0, 20.0), (10.0, 5.0), (1.0, 20.0)].map(|(a, b)| beyond(a, b));
        let expected = [10.0, 80.0, 5.0, 80.0];
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?}");
    }
}
