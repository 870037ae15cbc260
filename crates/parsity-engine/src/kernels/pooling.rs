//! A convolution and the max-pool behind it, in one.
//!
//! What the convolution writes is the largest value of a network, and nobody else reads it.
//! Where windows fit into tiles, it is pooled while it is still in the registers; elsewhere a
//! strip of rows is computed and pooled before the next one, in the same place.

use super::correlation::{Call, Finish, Pooled, Start, correlate_rows};
use super::layers::{Source, TWO_BY_TWO, Target, relu_max_pool_body};
use super::taps::Correlation;
use super::vector::{Isa, Vector};
use super::{LANES, multiversion};
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

multiversion! {
    /// Adds up all taps at all positions, for `1 << lanes` images; y is the highest sum of each
    /// window, or 0 if none is positive.
    correlate_and_pool(
        correlation: &Correlation, lanes: u32, values: &[f32], source: &[f32], pool: Pool,
    ) = correlate_and_pool_body<Isa>
}

#[inline(always)]
fn correlate_and_pool_body<I: Isa>(
    correlation: &Correlation,
    lanes: u32,
    values: &[f32],
    source: &[f32],
    pool: Pool,
) {
    let Pool { window, strip, y, codes, wild } = pool;
    *wild = [0.0; LANES];
    // Every tile has whole windows of vectors, and its sums are the last ones.
    let in_tiles = window == TWO_BY_TWO
        && I::Wide::WIDTH == 1 << lanes
        && I::ALONE >= 2 * super::correlation::COLUMNS
        && correlation.blocks() == 1
        && correlation.groups.iter().all(|group| !group.shared);
    let height = correlation.grid.height;
    if in_tiles {
        let Shape { channels, height: rows, width } = y.value.shape;
        assert_eq!((correlation.targets.len(), height), (channels, 2 * rows));
        assert_eq!(correlation.grid.width, 2 * width);
        assert!(source.len() >= correlation.source_len << lanes);
        assert!(y.numbers.len() >= y.value.len() << lanes);
        assert!(codes.len() >= y.value.shape.len() << lanes);
        let pooled = Pooled {
            value: y.value,
            numbers: y.numbers.as_mut_ptr(),
            codes: codes.as_mut_ptr(),
            wild: wild.as_mut_ptr(),
        };
        let (start, finish) = (Start::Bias, Finish::Pool(&pooled));
        let call = Call { correlation, lanes, values, source, start, finish, first: 0 };
        call.strips::<I, I::Wide>(0..height, &mut []);
        return;
    }
    for first in (0..height).step_by(strip.value.shape.height) {
        let rows = first..(first + strip.value.shape.height).min(height);
        let ends = (Start::Bias, Finish::Keep);
        let numbers = &mut *strip.numbers;
        correlate_rows::<I>(correlation, lanes, values, source, numbers, ends, rows.clone());
        let x = Source { value: strip.value, numbers };
        let y = Target { value: y.value, numbers: &mut *y.numbers };
        let rows = rows.start / window.stride..rows.end / window.stride;
        relu_max_pool_body(window, lanes, x, y, codes, wild, rows);
    }
}
