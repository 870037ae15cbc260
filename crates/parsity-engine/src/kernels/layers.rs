//! What stands between convolutions, but for pooling: ReLU, strides, the shortcut's sum.

use super::{LANES, multiversion};
use crate::network::{Split, Value};
use std::ops::Range;

/// A value and its numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) value: &'a Value,
    pub(crate) numbers: &'a [f32],
}

/// A value whose numbers are written.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    pub(crate) value: &'a Value,
    pub(crate) numbers: &'a mut [f32],
}

/// Where a value is positive: of each of its positions in which lanes, a bit each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signs<'a> {
    pub(crate) value: &'a Value,
    pub(crate) bits: &'a [u16],
}

/// Calls the body with the number of images in a block as a constant.
macro_rules! with_images {
    ($lanes:expr, |$IMAGES:ident| $body:expr) => {
        match $lanes {
            0 => {
                const $IMAGES: usize = 1;
                $body
            }
            1 => {
                const $IMAGES: usize = 2;
                $body
            }
            2 => {
                const $IMAGES: usize = 4;
                $body
            }
            3 => {
                const $IMAGES: usize = 8;
                $body
            }
            _ => {
                const $IMAGES: usize = 16;
                $body
            }
        }
    };
}

pub(super) use with_images;

multiversion! {
    /// y = max(x, 0). Keeps a NaN, so that divergence stays visible in the loss.
    relu(lanes: u32, x: Source, y: Target) = relu_body
}

#[inline(always)]
fn relu_body(lanes: u32, x: Source, y: Target) {
    for (from, to) in rows(x.value, y.value, lanes) {
        for (y, &x) in y.numbers[to].iter_mut().zip(&x.numbers[from]) {
            *y = rectified(x);
        }
    }
}

multiversion! {
    /// y = max(y, 0).
    relu_in_place(y: &mut [f32]) = relu_in_place_body
}

#[inline(always)]
pub(super) fn relu_in_place_body(y: &mut [f32]) {
    for y in y {
        *y = rectified(*y);
    }
}

#[inline(always)]
pub(super) fn rectified(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}

multiversion! {
    /// dx += dy where y > 0; or dx = dy there, else 0, if `set`.
    relu_gradient(lanes: u32, y: Source, dy: Source, dx: Target, set: bool) = relu_gradient_body
}

#[inline(always)]
fn relu_gradient_body(lanes: u32, y: Source, dy: Source, dx: Target, set: bool) {
    let gradients = rows(dy.value, dx.value, lanes);
    for ((from, to), (at, _)) in gradients.zip(rows(y.value, dx.value, lanes)) {
        let passed = dy.numbers[from].iter().zip(&y.numbers[at]);
        let passed = passed.map(|(&dy, &y)| if y > 0.0 { dy } else { 0.0 });
        let dx = dx.numbers[to].iter_mut().zip(passed);
        match set {
            true => dx.for_each(|(dx, passed)| *dx = passed),
            false => dx.for_each(|(dx, passed)| *dx += passed),
        }
    }
}

multiversion! {
    /// dy = dy where y > 0, else 0.
    relu_gradient_in_place(lanes: u32, y: Source, dy: Target) = relu_gradient_in_place_body
}

#[inline(always)]
fn relu_gradient_in_place_body(lanes: u32, y: Source, dy: Target) {
    for (at, to) in rows(y.value, dy.value, lanes) {
        keep_where_positive(&y.numbers[at], &mut dy.numbers[to]);
    }
}

/// dy = dy where y > 0, else 0.
#[inline(always)]
pub(super) fn keep_where_positive(y: &[f32], dy: &mut [f32]) {
    for (dy, &y) in dy.iter_mut().zip(y) {
        *dy = if y > 0.0 { *dy } else { 0.0 };
    }
}

/// Which lanes of a block leave every rectifier at rest whose input is `x`: all their numbers are
/// finite, and none is positive.
pub(crate) fn rests(x: Source) -> [bool; LANES] {
    let mut rests = [true; LANES];
    for (row, _) in rows(x.value, x.value, x.value.lanes) {
        for x in x.numbers[row].chunks(1 << x.value.lanes) {
            for (rests, &x) in rests.iter_mut().zip(x) {
                *rests &= (f32::MIN..=0.0).contains(&x);
            }
        }
    }
    rests
}

multiversion! {
    /// y = the phases of x. What lies outside of x is left alone: it is zero.
    split(split: Split, lanes: u32, x: Source, y: Target) = split_body
}

#[inline(always)]
fn split_body(split: Split, lanes: u32, x: Source, y: Target) {
    with_images!(lanes, |IMAGES| {
        let from = x.numbers.as_chunks::<IMAGES>().0;
        let to = y.numbers.as_chunks_mut::<IMAGES>().0;
        for phases in phases(split, x.value, y.value) {
            let from = from[phases.whole..].iter().step_by(split.stride);
            for (to, from) in to[phases.part..][..phases.count].iter_mut().zip(from) {
                *to = *from;
            }
        }
    })
}

multiversion! {
    /// dx += what the phases have of it; or dx = that, if `set`.
    split_gradient(split: Split, lanes: u32, dy: Source, dx: Target, set: bool)
        = split_gradient_body
}

#[inline(always)]
fn split_gradient_body(split: Split, lanes: u32, dy: Source, dx: Target, set: bool) {
    with_images!(lanes, |IMAGES| {
        let from = dy.numbers.as_chunks::<IMAGES>().0;
        let to = dx.numbers.as_chunks_mut::<IMAGES>().0;
        for phases in phases(split, dx.value, dy.value) {
            let from = &from[phases.part..][..phases.count];
            let to = to[phases.whole..].iter_mut().step_by(split.stride);
            match set {
                true => to.zip(from).for_each(|(to, from)| *to = *from),
                false => to.zip(from).for_each(|(to, from)| {
                    for image in 0..IMAGES {
                        to[image] += from[image];
                    }
                }),
            }
        }
    })
}

/// A row of a phase: where it starts, where its first position stands in the whole image,
/// and how many positions of it lie inside.
struct PhaseRow {
    part: usize,
    whole: usize,
    count: usize,
}

/// All rows of all phases that have a part of the whole image.
#[inline(always)]
fn phases(split: Split, whole: &Value, parts: &Value) -> impl Iterator<Item = PhaseRow> {
    let Split { stride, pad_top, pad_left } = split;
    (0..parts.shape.channels * parts.shape.height).filter_map(move |index| {
        let (channel, row) = (index / parts.shape.height, index % parts.shape.height);
        let channels = parts.shape.channels / (stride * stride);
        let phase = channel / channels;
        let row_inside = (row * stride + phase / stride).checked_sub(pad_top)?;
        // The first column of this phase that lies inside of the image.
        let first = pad_left.saturating_sub(phase % stride).div_ceil(stride);
        let column = first * stride + phase % stride - pad_left;
        if row_inside >= whole.shape.height || column >= whole.shape.width {
            return None;
        }
        let count = (whole.shape.width - column).div_ceil(stride);
        Some(PhaseRow {
            part: parts.row(channel, row) + first,
            whole: whole.row(channel % channels, row_inside) + column,
            count: count.min(parts.shape.width - first),
        })
    })
}

multiversion! {
    /// to += from, over the channels that both have; or to = from, if `set`.
    add_channels(lanes: u32, from: Source, to: Target, set: bool) = add_channels_body
}

#[inline(always)]
fn add_channels_body(lanes: u32, from: Source, to: Target, set: bool) {
    for (source, target) in rows(from.value, to.value, lanes) {
        let pairs = to.numbers[target].iter_mut().zip(&from.numbers[source]);
        match set {
            true => pairs.for_each(|(to, &from)| *to = from),
            false => pairs.for_each(|(to, &from)| *to += from),
        }
    }
}

/// The numbers of each row of the channels that the values `a` and `b`, of the same
/// sides, both have.
#[inline(always)]
fn rows(a: &Value, b: &Value, lanes: u32) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
    let (channels, height) = (a.shape.channels.min(b.shape.channels), a.shape.height);
    let numbers = move |start: usize| start << lanes..(start + a.shape.width) << lanes;
    (0..channels * height).map(move |index| {
        let (channel, row) = (index / height, index % height);
        (numbers(a.row(channel, row)), numbers(b.row(channel, row)))
    })
}

/// Each pair of a channel and a row.
#[inline(always)]
pub(super) fn each(
    channels: Range<usize>,
    rows: &Range<usize>,
) -> impl Iterator<Item = (usize, usize)> {
    channels.flat_map(move |channel| rows.clone().map(move |row| (channel, row)))
}
