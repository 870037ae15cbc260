//! A convolution and the max-pool behind it, in one.
//!
//! What the convolution writes is the largest value of a network, and nobody else reads it.
//! Where windows fit into tiles, a tile is pooled as soon as it is summed up; elsewhere a strip
//! of rows is computed and pooled before the next one, in the same place.

use super::LANES;
use super::correlation::{Finish, Pooled, Start, TILE, correlate};
use super::layers::{Source, TWO_BY_TWO, Target, relu_max_pool};
use super::taps::Correlation;
use super::vector::InstructionSet;
use crate::network::Window;
use crate::shape::Shape;

/// What is written.
#[derive(Debug)]
pub(crate) struct Pool<'a> {
    pub(crate) window: Window,
    /// Room for a strip of rows of what is pooled.
    pub(crate) strip: Target<'a>,
    pub(crate) y: Target<'a>,
    pub(crate) codes: &'a mut [u8],
    pub(crate) wild: &'a mut [f32; LANES],
}

/// Adds up all taps at all positions, for `1 << lanes` images; y is the highest sum of each
/// window, or 0 if none is positive.
pub(crate) fn correlate_and_pool(
    correlation: &Correlation,
    lanes: u32,
    values: &[f32],
    source: &[f32],
    pool: Pool,
) {
    let Pool { window, strip, y, codes, wild } = pool;
    *wild = [0.0; LANES];
    let height = correlation.grid.height;
    if window == TWO_BY_TWO && fits_into_tiles(correlation, lanes) {
        let Shape { channels, height: rows, width } = y.value.shape;
        assert_eq!((correlation.targets.len(), height), (channels, 2 * rows));
        assert_eq!(correlation.grid.width, 2 * width);
        assert!(y.numbers.len() >= y.value.len() << lanes);
        assert!(codes.len() >= y.value.shape.len() << lanes);
        let pooled = Pooled {
            value: y.value,
            numbers: y.numbers.as_mut_ptr(),
            codes: codes.as_mut_ptr(),
            wild,
        };
        let ends = (Start::Bias, Finish::Pool(&pooled));
        correlate(correlation, lanes, values, source, strip.numbers, ends, 0..height);
        return;
    }
    for first in (0..height).step_by(strip.value.shape.height) {
        let rows = first..(first + strip.value.shape.height).min(height);
        let ends = (Start::Bias, Finish::Keep);
        correlate(correlation, lanes, values, source, strip.numbers, ends, rows.clone());
        let x = Source { value: strip.value, numbers: strip.numbers };
        let y = Target { value: y.value, numbers: &mut *y.numbers };
        let rows = rows.start / window.stride..rows.end / window.stride;
        relu_max_pool(window, lanes, x, y, codes, wild, rows);
    }
}

/// Whether every tile has whole windows, a vector being one position of all images; and whether
/// its sums are the last ones.
fn fits_into_tiles(correlation: &Correlation, lanes: u32) -> bool {
    InstructionSet::in_use() == InstructionSet::Avx512
        && 1 << lanes == LANES
        && correlation.target_len << lanes >= TILE
        && correlation.blocks() == 1
        && correlation.groups.iter().all(|group| !group.shared)
}
