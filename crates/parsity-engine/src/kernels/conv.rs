//! Convolution with survivors only: forward, gradient by input, gradient by weight.
//!
//! A filter is a list of survivors, each with the offset of what it reads relative to
//! the output position. Offsets are computed once, when a network meets its pattern;
//! the loops below know nothing of channels, kernels or padding. A dense layer is a
//! convolution with one position.
//!
//! Construction is checked, the inner loops are not: `SparseConv::new` proves that no
//! survivor reads beyond `input_len`, and each kernel asserts the lengths it is given.

#![allow(unsafe_code)]

use super::{Lanes, multiversion};

/// A convolution with its pattern: everything but the numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SparseConv {
    survivors: Survivors,
    positions: Positions,
}

/// Who reads what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Survivors {
    /// Survivors of filter `f`: `starts[f]..starts[f + 1]`, in the order of the values.
    pub(crate) starts: Vec<u32>,
    /// Per survivor: where it reads, relative to the position's origin in the input.
    pub(crate) offsets: Vec<u32>,
    /// Where the first survivor stands in the vector of values.
    pub(crate) first: usize,
    /// Per filter: where its bias stands in the vector of values, if it survived.
    pub(crate) biases: Vec<Option<u32>>,
}

/// Where the filters are applied, and where the results go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Positions {
    /// Output positions.
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) stride: usize,
    /// Distance of two rows of the input.
    pub(crate) input_columns: usize,
    /// Length of the input value.
    pub(crate) input_len: usize,
    /// Where filter 0's first position stands in the output, and the distances of two
    /// of its rows and of two filters.
    pub(crate) output_origin: usize,
    pub(crate) output_columns: usize,
    pub(crate) output_plane: usize,
}

impl SparseConv {
    /// Checks that every survivor stays inside the input at every position, and that
    /// every list is complete.
    pub(crate) fn new(survivors: Survivors, positions: Positions) -> Self {
        let Survivors { starts, offsets, biases, .. } = &survivors;
        assert_eq!(starts.len(), biases.len() + 1, "a start per filter, and the end");
        assert!(starts.is_sorted() && starts.last() == Some(&(offsets.len() as u32)));
        let Positions { height, width, stride, input_columns, input_len, .. } = positions;
        assert!(height > 0 && width > 0 && stride > 0, "a convolution has positions");
        let last = ((height - 1) * input_columns + (width - 1)) * stride;
        let inside = offsets.iter().all(|&offset| offset as usize + last < input_len);
        assert!(inside, "a survivor reads outside of its input");
        SparseConv { survivors, positions }
    }

    fn filters(&self) -> usize {
        self.survivors.biases.len()
    }

    /// Offsets of the survivors of `filter`, and their place in the vector of values.
    #[inline(always)]
    fn filter(&self, filter: usize) -> (&[u32], std::ops::Range<usize>) {
        let Survivors { starts, offsets, first, .. } = &self.survivors;
        let range = starts[filter] as usize..starts[filter + 1] as usize;
        let values = first + range.start..first + range.end;
        (&offsets[range], values)
    }

    #[inline(always)]
    fn bias(&self, filter: usize) -> Option<usize> {
        self.survivors.biases[filter].map(|index| index as usize)
    }

    #[inline(always)]
    fn output_row(&self, filter: usize, row: usize) -> std::ops::Range<usize> {
        let Positions { output_origin, output_plane, output_columns, width, .. } = self.positions;
        let start = output_origin + filter * output_plane + row * output_columns;
        start..start + width
    }

    /// Where the window of the first position of `row` has its origin in the input.
    #[inline(always)]
    fn input_row(&self, row: usize, stride: usize) -> usize {
        row * stride * self.positions.input_columns
    }
}

/// Runs the body for pieces of 8, then 4, then 1 of `0..$count`; `$SIZE` is a constant.
macro_rules! in_pieces {
    ($count:expr, |$start:ident, $SIZE:ident| $body:expr) => {{
        let count = $count;
        let mut $start = 0;
        while $start + 8 <= count {
            const $SIZE: usize = 8;
            $body;
            $start += 8;
        }
        while $start + 4 <= count {
            const $SIZE: usize = 4;
            $body;
            $start += 4;
        }
        while $start < count {
            const $SIZE: usize = 1;
            $body;
            $start += 1;
        }
    }};
}

/// Calls the body with the stride as a constant where it is a common one.
macro_rules! with_stride {
    ($conv:ident, |$stride:ident| $body:expr) => {
        match $conv.positions.stride {
            1 => {
                let $stride = 1;
                $body
            }
            2 => {
                let $stride = 2;
                $body
            }
            $stride => $body,
        }
    };
}

multiversion! {
    /// y = conv(x) + bias.
    forward(conv: &SparseConv, values: &[f32], x: &[Lanes], y: &mut [Lanes]) = forward_body
}

#[inline(always)]
fn forward_body(conv: &SparseConv, values: &[f32], x: &[Lanes], y: &mut [Lanes]) {
    with_stride!(conv, |stride| forward_rows(conv, stride, values, x, y))
}

#[inline(always)]
fn forward_rows(conv: &SparseConv, stride: usize, values: &[f32], x: &[Lanes], y: &mut [Lanes]) {
    assert_eq!(x.len(), conv.positions.input_len);
    // Rows outside, filters inside: the rows that a window reads stay in the nearest cache.
    for row in 0..conv.positions.height {
        let origin = conv.input_row(row, stride);
        for filter in 0..conv.filters() {
            let (offsets, range) = conv.filter(filter);
            let weights = &values[range];
            let bias = conv.bias(filter).map_or(0.0, |index| values[index]);
            let y = &mut y[conv.output_row(filter, row)];
            in_pieces!(y.len(), |column, N| {
                let origin = origin + column * stride;
                // SAFETY: `SparseConv::new` has checked every survivor at every position
                // against `input_len`.
                let sums = unsafe { forward_tile::<N>(offsets, weights, bias, x, origin, stride) };
                y[column..column + N].copy_from_slice(&sums);
            });
        }
    }
}

/// `N` neighbouring positions, held in registers while the survivors pass by.
///
/// # Safety
/// `origin + offset + position · stride` is inside of `x` for every offset and position.
#[inline(always)]
unsafe fn forward_tile<const N: usize>(
    offsets: &[u32],
    weights: &[f32],
    bias: f32,
    x: &[Lanes],
    origin: usize,
    stride: usize,
) -> [Lanes; N] {
    let mut sums = [Lanes::splat(bias); N];
    for (&offset, &weight) in offsets.iter().zip(weights) {
        let start = origin + offset as usize;
        for (position, sum) in sums.iter_mut().enumerate() {
            // SAFETY: as the caller promises.
            let x = unsafe { *x.get_unchecked(start + position * stride) };
            *sum = sum.add_scaled(weight, x);
        }
    }
    sums
}

multiversion! {
    /// dx += convᵀ(dy).
    input_gradient(conv: &SparseConv, values: &[f32], dy: &[Lanes], dx: &mut [Lanes])
        = input_gradient_body
}

#[inline(always)]
fn input_gradient_body(conv: &SparseConv, values: &[f32], dy: &[Lanes], dx: &mut [Lanes]) {
    with_stride!(conv, |stride| input_gradient_rows(conv, stride, values, dy, dx))
}

#[inline(always)]
fn input_gradient_rows(
    conv: &SparseConv,
    stride: usize,
    values: &[f32],
    dy: &[Lanes],
    dx: &mut [Lanes],
) {
    assert_eq!(dx.len(), conv.positions.input_len);
    for row in 0..conv.positions.height {
        let origin = conv.input_row(row, stride);
        for filter in 0..conv.filters() {
            let (offsets, range) = conv.filter(filter);
            let weights = &values[range];
            let dy = &dy[conv.output_row(filter, row)];
            in_pieces!(dy.len(), |column, N| {
                let dy: [Lanes; N] = std::array::from_fn(|position| dy[column + position]);
                // SAFETY: as in `forward_rows`.
                unsafe {
                    let origin = origin + column * stride;
                    scatter_tile::<N>(offsets, weights, dy, origin, stride, dx);
                }
            });
        }
    }
}

/// Sends the gradient of `N` neighbouring positions to all that they read.
///
/// # Safety
/// As for `forward_tile`, with `dx` for `x`.
#[inline(always)]
unsafe fn scatter_tile<const N: usize>(
    offsets: &[u32],
    weights: &[f32],
    dy: [Lanes; N],
    origin: usize,
    stride: usize,
    dx: &mut [Lanes],
) {
    for (&offset, &weight) in offsets.iter().zip(weights) {
        let start = origin + offset as usize;
        for (position, &dy) in dy.iter().enumerate() {
            // SAFETY: as the caller promises.
            let dx = unsafe { dx.get_unchecked_mut(start + position * stride) };
            *dx = dx.add_scaled(weight, dy);
        }
    }
}

multiversion! {
    /// Adds the gradient of every survivor and surviving bias to `gradient`.
    weight_gradient(conv: &SparseConv, x: &[Lanes], dy: &[Lanes], gradient: &mut [f32])
        = weight_gradient_body
}

#[inline(always)]
fn weight_gradient_body(conv: &SparseConv, x: &[Lanes], dy: &[Lanes], gradient: &mut [f32]) {
    with_stride!(conv, |stride| weight_gradient_filters(conv, stride, x, dy, gradient))
}

#[inline(always)]
fn weight_gradient_filters(
    conv: &SparseConv,
    stride: usize,
    x: &[Lanes],
    dy: &[Lanes],
    gradient: &mut [f32],
) {
    assert_eq!(x.len(), conv.positions.input_len);
    for filter in 0..conv.filters() {
        let (offsets, range) = conv.filter(filter);
        let survivors = &mut gradient[range];
        in_pieces!(survivors.len(), |first, N| {
            let offsets: [u32; N] = std::array::from_fn(|survivor| offsets[first + survivor]);
            // SAFETY: as in `forward_rows`.
            let sums = unsafe { group_gradient::<N>(conv, filter, stride, offsets, x, dy) };
            add_sums(&sums, &mut survivors[first..first + N]);
        });
        if let Some(index) = conv.bias(filter) {
            let mut sum = Lanes::ZERO;
            for row in 0..conv.positions.height {
                for &dy in &dy[conv.output_row(filter, row)] {
                    sum = sum.plus(dy);
                }
            }
            gradient[index] += sum.sum();
        }
    }
}

/// The gradient of `N` survivors of one filter, held in registers while the positions
/// pass by.
///
/// # Safety
/// `offsets` are of `conv`, and `x` has its `input_len`.
#[inline(always)]
unsafe fn group_gradient<const N: usize>(
    conv: &SparseConv,
    filter: usize,
    stride: usize,
    offsets: [u32; N],
    x: &[Lanes],
    dy: &[Lanes],
) -> [Lanes; N] {
    let mut sums = [Lanes::ZERO; N];
    // SAFETY: as the caller promises, here and below. Pointers instead of indices: one
    // register per survivor and one for the position, no addition per product.
    let x: [*const Lanes; N] = offsets.map(|offset| unsafe { x.as_ptr().add(offset as usize) });
    for row in 0..conv.positions.height {
        let mut position = conv.input_row(row, stride);
        for &dy in &dy[conv.output_row(filter, row)] {
            for (sum, x) in sums.iter_mut().zip(x) {
                *sum = sum.add_product(dy, unsafe { *x.add(position) });
            }
            position += stride;
        }
    }
    sums
}

/// Adds each sum over the images to its gradient. Out of line: inlined, it lures the
/// compiler into vectorising the loops above over the survivors instead of the images.
#[inline(never)]
fn add_sums(sums: &[Lanes], gradient: &mut [f32]) {
    for (gradient, sum) in gradient.iter_mut().zip(sums) {
        *gradient += sum.sum();
    }
}
