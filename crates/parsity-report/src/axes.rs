//! The axes that figures share, and how their ticks are chosen.

use crate::figure::{Axis, Scale, Tick};
use crate::numerals::{grouped, significant};
use parsity_study::BatchSize;

/// The batch sizes are the ticks; half an octave is left free on both sides.
pub fn batch_axis(sizes: impl IntoIterator<Item = BatchSize>) -> Axis {
    let mut sizes: Vec<BatchSize> = sizes.into_iter().collect();
    sizes.sort_unstable();
    sizes.dedup();
    let tick =
        |size: &BatchSize| Tick { value: f64::from(size.0), label: grouped(u64::from(size.0)) };
    let range = match (sizes.first(), sizes.last()) {
        (Some(first), Some(last)) => {
            (f64::from(first.0) / 2f64.sqrt(), f64::from(last.0) * 2f64.sqrt())
        }
        _ => (1.0, 2.0),
    };
    let ticks = sizes.iter().map(tick).collect();
    Axis { label: "Batch size →".to_owned(), scale: Scale::Log2, range, ticks }
}

/// Where the mark of the sparsity of that rank, out of `ranks`, stands at a batch size: those
/// of one batch size stand side by side, so that equal values do not hide each other.
pub fn beside(batch_size: f64, rank: usize, ranks: usize) -> f64 {
    const OCTAVES: f64 = 0.08;
    batch_size * 2f64.powf(OCTAVES * (rank as f64 - (ranks.max(1) - 1) as f64 / 2.0))
}

/// From a power of two to a power of two around all values, and at least two octaves.
pub fn octaves(label: &str, values: impl IntoIterator<Item = f64>) -> Axis {
    // A little air keeps marks off the edges.
    const AIR: f64 = 0.2;
    let (least, most) = extent(values).unwrap_or((1.0, 4.0));
    let mut low = (least.log2() - AIR).floor() as i32;
    let mut high = (most.log2() + AIR).ceil() as i32;
    while high - low < 2 {
        (low, high) = (low - 1, high + 1);
    }
    let tick = |octave| {
        let value = 2f64.powi(octave);
        let label = if octave < 0 { significant(value) } else { grouped(value as u64) };
        Tick { value, label }
    };
    let ticks = (low..=high.min(63)).map(tick).collect();
    let range = (2f64.powi(low), 2f64.powi(high));
    Axis { label: label.to_owned(), scale: Scale::Log2, range, ticks }
}

/// A logarithmic axis with powers of ten as ticks, a little wider than the values; where
/// that leaves fewer than three ticks, 2 and 5 times those, too.
pub fn decades(label: &str, values: impl IntoIterator<Item = f64>) -> Axis {
    const AIR: f64 = 1.25;
    let (least, most) = extent(values).unwrap_or((0.1, 10.0));
    let (low, high) = (least / AIR, most * AIR);
    let powers = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
    let ticks = |factors: &[f64]| -> Vec<Tick> {
        let each = powers.clone().flat_map(|power| factors.iter().map(move |f| (power, f)));
        let ticks = each.map(|(power, factor)| {
            let value = factor * 10f64.powi(power);
            Tick { value, label: significant(value) }
        });
        ticks.filter(|tick| (low..=high).contains(&tick.value)).collect()
    };
    let tens = ticks(&[1.0]);
    let ticks = if tens.len() < 3 { ticks(&[1.0, 2.0, 5.0]) } else { tens };
    Axis { label: label.to_owned(), scale: Scale::Log2, range: (low, high), ticks }
}

/// From 0 to beyond all values, with four to ten round ticks.
pub fn linear(label: &str, values: impl IntoIterator<Item = f64>) -> Axis {
    let most = extent(values).map_or(1.0, |(_, most)| most);
    let magnitude = 10f64.powf((most / 10.0).log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0, 20.0].map(|factor| factor * magnitude);
    let step = step.into_iter().find(|step| most / step <= 7.0).unwrap_or(most);
    let count = (most / step - 1e-9).ceil();
    let tick = |index: u32| {
        let value = f64::from(index) * step;
        let whole = value.fract() == 0.0 && value >= 1000.0;
        Tick { value, label: if whole { grouped(value as u64) } else { significant(value) } }
    };
    let ticks = (0..=count as u32).map(tick).collect();
    Axis { label: label.to_owned(), scale: Scale::Linear, range: (0.0, count * step), ticks }
}

/// The least and the greatest of the values that are positive numbers.
fn extent(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let usable = values.into_iter().filter(|value| value.is_finite() && *value > 0.0);
    usable.fold(None, |known: Option<(f64, f64)>, value| {
        let (least, most) = known.unwrap_or((value, value));
        Some((least.min(value), most.max(value)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn a_logarithmic_axis_has_at_least_two_ticks() {
        assert_eq!(labels(&decades("", [1e-4, 1.0])), ["0.0001", "0.001", "0.01", "0.1", "1"]);
        assert_eq!(labels(&decades("", [0.02, 0.06])), ["0.02", "0.05"]);
        assert_eq!(labels(&octaves("", [1.4, 2.2])), ["1", "2", "4"]);
        assert_eq!(labels(&octaves("", [0.9, 1.0])), ["0.5", "1", "2"]);
    }

    #[test]
    fn marks_of_one_batch_size_stand_side_by_side_about_it() {
        assert_eq!(beside(64.0, 0, 1), 64.0);
        assert_eq!(beside(64.0, 1, 3), 64.0);
        let places: Vec<f64> = (0..4).map(|rank| beside(64.0, rank, 4)).collect();
        assert!(places.is_sorted() && places[0] < 64.0 && places[3] > 64.0);
        // Even six stay nearer to their batch size than to the next one.
        assert!(
            beside(64.0, 5, 6) < 64.0 * 2f64.sqrt() && beside(128.0, 0, 6) > 64.0 * 2f64.sqrt()
        );
    }

    #[test]
    fn a_linear_axis_starts_at_zero_and_ends_beyond_the_values() {
        assert_eq!(labels(&linear("", [3.0, 9.0])), ["0", "2", "4", "6", "8", "10"]);
        let steps = linear("", [5_000.0]);
        assert_eq!(steps.ticks.last().unwrap().label, "5,000");
        assert!(steps.shows(5_000.0));
    }

    #[test]
    fn values_that_are_no_numbers_do_not_break_an_axis() {
        for axis in [octaves("", []), decades("", [f64::NAN]), linear("", [f64::INFINITY, 0.0])] {
            assert!(axis.range.0 < axis.range.1 && axis.range.1.is_finite(), "{axis:?}");
            assert!(axis.ticks.len() >= 2, "{axis:?}");
        }
    }
}
