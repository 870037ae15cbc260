//! A convolution and the max-pool behind it, in one.
//!
//! What the convolution writes is the largest value of a network, and nobody else reads it.
//! Where windows fit into tiles, a tile is pooled as soon as it is summed up; elsewhere a strip
//! of rows is computed and pooled before the next one, in the same place.

use super::LANES;
use super::correlation::{Finish, Pooled, Start, correlate};
use super::instruction_set::InstructionSet;
use super::layers::{Source, Target};
use super::pools::{Memory, TWO_BY_TWO, relu_max_pool};
use super::taps::Correlation;
use crate::network::Window;
use crate::shape::Shape;

/// What is written.
#[derive(Debug)]
pub(crate) struct Pool<'a> {
    pub(crate) window: Window,
    /// Room for a strip of rows of what is pooled.
    pub(crate) strip: Target<'a>,
    pub(crate) y: Target<'a>,
    pub(crate) memory: Option<Memory<'a>>,
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
    let Pool { window, strip, y, mut memory } = pool;
    if let Some(Memory { wild, .. }) = &mut memory {
        **wild = [0.0; LANES];
    }
    let height = correlation.grid.height;
    if window == TWO_BY_TWO && fits_into_tiles(correlation, lanes) {
        let Shape { channels, height: rows, width } = y.value.shape;
        assert_eq!((correlation.targets.len(), height), (channels, 2 * rows));
        assert_eq!(correlation.grid.width, 2 * width);
        assert!(y.numbers.len() >= y.value.len() << lanes);
        let memory = memory.map(|Memory { codes, wild }| {
            assert!(codes.len() >= y.value.shape.len() << lanes);
            (codes.as_mut_ptr(), &raw mut *wild)
        });
        let pooled = Pooled { value: y.value, numbers: y.numbers.as_mut_ptr(), memory };
        let ends = (Start::Bias, Finish::Pool(&pooled));
        // What was begun for one block of sources stays in the strip until the next one.
        let rows = if correlation.blocks == 1 { height } else { correlation.grid.strip };
        for first in (0..height).step_by(rows) {
            let rows = first..(first + rows).min(height);
            correlate(correlation, lanes, values, source, strip.numbers, ends, rows);
        }
        return;
    }
    for first in (0..height).step_by(strip.value.shape.height) {
        let rows = first..(first + strip.value.shape.height).min(height);
        let ends = (Start::Bias, Finish::Keep);
        correlate(correlation, lanes, values, source, strip.numbers, ends, rows.clone());
        let x = Source { value: strip.value, numbers: strip.numbers };
        let y = Target { value: y.value, numbers: &mut *y.numbers };
        let rows = rows.start / window.stride..rows.end / window.stride;
        let memory = memory.as_mut().map(|it| Memory { codes: it.codes, wild: it.wild });
        relu_max_pool(window, lanes, x, y, memory, rows);
    }
}

/// Whether every tile has whole windows, a vector being one position of all images.
fn fits_into_tiles(correlation: &Correlation, lanes: u32) -> bool {
    InstructionSet::in_use() == InstructionSet::Avx512
        && 1 << lanes == LANES
        && correlation.groups.iter().all(|group| !group.shared)
}
