//! The way into a residual block that halves the sides, in one go.
//!
//! What the block before has summed up is rectified, pooled for the shortcut and dealt out to
//! phases for the convolution. Each of these does little with many numbers, which takes longer to
//! read and write than to do. So a window of two by two is read once, and all is done to it. The
//! way back is the same. Every number is what the operations alone would make it.

#![allow(unsafe_code)]

use super::isa::Isa;
use super::layers::{Signs, Source, Target};
use super::multiversion;
use super::vector::Vector;
use crate::network::Value;
use crate::shape::Shape;
use std::ops::Range;

multiversion! {
    /// For blocks of 8 or 16 images, of y + the shortcut, over the channels that this has, where that is
    /// positive, or else 0: `rows` of `pooled` = the mean of each window of two by two; the same rows of
    /// `phases` = the even and odd rows and columns, and `signs` = in which images each position of them
    /// is positive. y itself stays as it is: nobody reads it again.
    halve(
        lanes: u32, shortcut: Option<Source>, y: Source,
        pooled: Target, phases: Target, signs: &mut [u16], rows: Range<usize>,
    ) = halve_block<Isa>
}

#[inline(always)]
fn halve_block<I: Isa>(
    lanes: u32,
    shortcut: Option<Source>,
    y: Source,
    pooled: Target,
    phases: Target,
    signs: &mut [u16],
    rows: Range<usize>,
) {
    match lanes {
        4 => halve_windows::<I::Wide, 16>(shortcut, y, pooled, phases, signs, rows),
        _ => halve_windows::<I::Eight, 8>(shortcut, y, pooled, phases, signs, rows),
    }
}

#[inline(always)]
fn halve_windows<V: Vector, const IMAGES: usize>(
    shortcut: Option<Source>,
    y: Source,
    pooled: Target,
    phases: Target,
    signs: &mut [u16],
    rows: Range<usize>,
) {
    let Shape { channels, height, width } = pooled.value.shape;
    check(pooled.value, [y.value, phases.value]);
    assert!(rows.end <= height);
    assert!(y.numbers.len() >= y.value.len() * IMAGES && signs.len() >= phases.value.len());
    for target in [&pooled, &phases] {
        assert!(target.numbers.len() >= target.value.len() * IMAGES);
    }
    if let Some(shortcut) = shortcut {
        let shape = Shape { channels: shortcut.value.shape.channels, ..y.value.shape };
        assert_eq!(shortcut.value.shape, shape);
        assert!(shortcut.numbers.len() >= shortcut.value.len() * IMAGES);
    }
    let one = V::splat(1.0);
    let (zero, quarter) = (V::splat(0.0), V::splat(0.25));
    for channel in 0..channels {
        let added = shortcut.filter(|it| channel < it.value.shape.channels);
        for row in rows.clone() {
            let ys = two_rows(y.value, channel, row);
            let addends = added.map(|it| two_rows(it.value, channel, row));
            let parts = four_rows(phases.value, channel, row);
            let means = pooled.value.row(channel, row);
            for position in 0..width {
                let mut positive = [0; 4];
                for lane in (0..IMAGES).step_by(V::WIDTH) {
                    let mut sum = zero;
                    for (quarter, part) in parts.into_iter().enumerate() {
                        let (row, column) = (quarter / 2, 2 * position + quarter % 2);
                        let at = |place: usize| place * IMAGES + lane;
                        // SAFETY: all values have rows and columns for all windows, as was checked.
                        unsafe {
                            let mut number = V::load(y.numbers.as_ptr().add(at(ys[row] + column)));
                            if let (Some(added), Some(addends)) = (added, addends) {
                                let addend = added.numbers.as_ptr().add(at(addends[row] + column));
                                number = number.add_product(one, V::load(addend));
                            }
                            let number = number.at_least(zero);
                            number.store(phases.numbers.as_mut_ptr().add(at(part + position)));
                            sum = sum.add_product(one, number);
                            positive[quarter] |= number.signs() << lane;
                        }
                    }
                    let mean = zero.add_product(quarter, sum);
                    let to = (means + position) * IMAGES + lane;
                    // SAFETY: as above.
                    unsafe { mean.store(pooled.numbers.as_mut_ptr().add(to)) };
                }
                for (part, positive) in parts.into_iter().zip(positive) {
                    // SAFETY: as above; a sign for each position.
                    unsafe { *signs.get_unchecked_mut(part + position) = positive };
                }
            }
        }
    }
}

multiversion! {
    /// For the same blocks: dy = what the phases have of it, and its share of each window, where the phases
    /// were positive by their `signs`; else 0. Of windows in `rows`; if the gradient by the phases has no
    /// room for all rows, it has these.
    halve_gradient(
        lanes: u32, signs: Signs, pooled: Source, phases: Source, dy: Target, rows: Range<usize>,
    ) = halve_gradient_block<Isa>
}

#[inline(always)]
fn halve_gradient_block<I: Isa>(
    lanes: u32,
    signs: Signs,
    pooled: Source,
    phases: Source,
    dy: Target,
    rows: Range<usize>,
) {
    match lanes {
        4 => halve_gradient_windows::<I::Wide, 16>(signs, pooled, phases, dy, rows),
        _ => halve_gradient_windows::<I::Eight, 8>(signs, pooled, phases, dy, rows),
    }
}

#[inline(always)]
fn halve_gradient_windows<V: Vector, const IMAGES: usize>(
    signs: Signs,
    pooled: Source,
    phases: Source,
    dy: Target,
    rows: Range<usize>,
) {
    let Shape { channels, height, width } = pooled.value.shape;
    check(pooled.value, [dy.value, signs.value]);
    let Shape { height: held, width: columns, .. } = phases.value.shape;
    let first = if held < height { rows.start } else { 0 };
    assert_eq!(phases.value.shape.channels, 4 * channels);
    assert!(rows.end <= height && rows.end - first <= held && columns >= width);
    for source in [pooled, phases] {
        assert!(source.numbers.len() >= source.value.len() * IMAGES);
    }
    assert!(dy.numbers.len() >= dy.value.len() * IMAGES);
    assert!(signs.bits.len() >= signs.value.len());
    let one = V::splat(1.0);
    let (zero, quarter) = (V::splat(0.0), V::splat(0.25));
    for channel in 0..channels {
        for row in rows.clone() {
            let deciding = four_rows(signs.value, channel, row);
            let to = two_rows(dy.value, channel, row);
            let parts = four_rows(phases.value, channel, row - first);
            let means = pooled.value.row(channel, row);
            for position in 0..width {
                for lane in (0..IMAGES).step_by(V::WIDTH) {
                    let at = |place: usize| (place + position) * IMAGES + lane;
                    // SAFETY: as in `halve_windows`.
                    unsafe {
                        let mean = V::load(pooled.numbers.as_ptr().add(at(means)));
                        let share = zero.add_product(quarter, mean);
                        for (quarter, part) in parts.into_iter().enumerate() {
                            let column = to[quarter / 2] + 2 * position + quarter % 2;
                            let part = V::load(phases.numbers.as_ptr().add(at(part)));
                            let positive = signs.bits.get_unchecked(deciding[quarter] + position);
                            let number = part.add_product(one, share).where_set(positive >> lane);
                            number.store(dy.numbers.as_mut_ptr().add(column * IMAGES + lane));
                        }
                    }
                }
            }
        }
    }
}

/// Checks that a value has the windows that `pooled` is of, and phases have a position for each.
fn check(pooled: &Value, [value, phases]: [&Value; 2]) {
    let Shape { channels, height, width } = pooled.shape;
    assert_eq!(value.shape, Shape { channels, height: 2 * height, width: 2 * width });
    assert_eq!(phases.shape.channels, 4 * channels);
    assert!(phases.shape.height >= height && phases.shape.width >= width);
}

/// The position where row `2 · row` of a channel starts, and where the next one does.
#[inline(always)]
fn two_rows(value: &Value, channel: usize, row: usize) -> [usize; 2] {
    [0, 1].map(|next| value.row(channel, 2 * row + next))
}

/// The position where row `row` of each of a channel's phases starts.
#[inline(always)]
fn four_rows(value: &Value, channel: usize, row: usize) -> [usize; 4] {
    let channels = value.shape.channels / 4;
    [0, 1, 2, 3].map(|phase| value.row(phase * channels + channel, row))
}
