//! Pooling: the highest or the mean of windows, and the way back.

use super::isa::Isa;
use super::layers::{
    Source, Target, each, keep_where_positive, rectified, relu_in_place_body, with_images,
};
use super::{LANES, multiversion};
use crate::network::{Value, Window};
use crate::shape::Shape;
use std::ops::Range;

/// The window that most networks have.
pub(crate) const TWO_BY_TWO: Window = Window { height: 2, width: 2, stride: 2 };

/// The code of a window without a positive number.
pub(super) const NOBODY: u8 = u8::MAX;

/// What a pool remembers.
#[derive(Debug)]
pub(crate) struct Memory<'a> {
    /// Which (the first) number of each window was the highest, or `NOBODY`.
    pub(crate) codes: &'a mut [u8],
    /// NaN for the images that have a number that is not finite.
    pub(crate) wild: &'a mut [f32; LANES],
}

multiversion! {
    /// y = the highest number of each window, or 0 if none is positive, for `rows` of y, whose
    /// windows x has.
    relu_max_pool(
        window: Window, lanes: u32, x: Source, y: Target, memory: Option<Memory>,
        rows: Range<usize>,
    ) = relu_max_pool_body<Isa>
}

#[inline(always)]
fn relu_max_pool_body<I: Isa>(
    window: Window,
    lanes: u32,
    x: Source,
    y: Target,
    memory: Option<Memory>,
    rows: Range<usize>,
) {
    let Some(Memory { codes, wild }) = memory else {
        return forgetful_pool(window, lanes, x, y, rows);
    };
    with_images!(lanes, |IMAGES| {
        let from = x.numbers.as_chunks::<IMAGES>().0;
        let to = y.numbers.as_chunks_mut::<IMAGES>().0;
        let codes = codes.as_chunks_mut::<IMAGES>().0;
        let wild = wild.first_chunk_mut::<IMAGES>().expect("at most as many as lanes");
        let Shape { channels, height, width } = y.value.shape;
        for (channel, row) in each(0..channels, &rows) {
            let start = x.value.row(channel, (row - rows.start) * window.stride);
            let y = &mut to[y.value.row(channel, row)..][..width];
            let codes = &mut codes[(channel * height + row) * width..][..width];
            if window == TWO_BY_TWO {
                let upper = &from[start..][..2 * width];
                let lower = &from[start + x.value.columns()..][..2 * width];
                pool_pairs::<I, IMAGES>(upper, lower, y, codes, wild);
                continue;
            }
            for (column, (y, codes)) in y.iter_mut().zip(codes).enumerate() {
                let start = start + column * window.stride;
                let mut highest = from[start];
                let mut place = [0; IMAGES];
                for (index, position) in positions(window, x.value, start).enumerate() {
                    raise(&mut highest, &mut place, &from[position], index as u8);
                    note(wild, &from[position]);
                }
                (*y, *codes) = rectified_and_place(&highest, &place);
            }
        }
    })
}

/// The same, where nobody will ask for a gradient.
#[inline(always)]
fn forgetful_pool(window: Window, lanes: u32, x: Source, y: Target, rows: Range<usize>) {
    with_images!(lanes, |IMAGES| {
        let from = x.numbers.as_chunks::<IMAGES>().0;
        let to = y.numbers.as_chunks_mut::<IMAGES>().0;
        let Shape { channels, width, .. } = y.value.shape;
        for (channel, row) in each(0..channels, &rows) {
            let start = x.value.row(channel, (row - rows.start) * window.stride);
            let y = &mut to[y.value.row(channel, row)..][..width];
            if window == TWO_BY_TWO {
                let upper = &from[start..][..2 * width];
                let lower = &from[start + x.value.columns()..][..2 * width];
                highest_of_pairs(upper, lower, y);
                continue;
            }
            for (column, y) in y.iter_mut().enumerate() {
                let start = start + column * window.stride;
                *y = from[start];
                for position in positions(window, x.value, start) {
                    raise_only(y, &from[position]);
                }
                relu_in_place_body(y);
            }
        }
    })
}

/// `pool_pairs` where nobody will ask for a gradient.
#[inline(always)]
fn highest_of_pairs<const IMAGES: usize>(
    upper: &[[f32; IMAGES]],
    lower: &[[f32; IMAGES]],
    y: &mut [[f32; IMAGES]],
) {
    for ((upper, lower), y) in upper.chunks_exact(2).zip(lower.chunks_exact(2)).zip(y) {
        let mut highest = upper[0];
        raise_only(&mut highest, &upper[1]);
        raise_only(&mut highest, &lower[0]);
        raise_only(&mut highest, &lower[1]);
        relu_in_place_body(&mut highest);
        *y = highest;
    }
}

/// Where `x` is higher than `highest`, it takes its place.
#[inline(always)]
fn raise_only<const IMAGES: usize>(highest: &mut [f32; IMAGES], x: &[f32; IMAGES]) {
    for image in 0..IMAGES {
        highest[image] = if x[image] > highest[image] { x[image] } else { highest[image] };
    }
}

/// A row of windows of two by two. Where images do not fill a vector, as many windows as do are
/// pooled at once.
#[inline(always)]
fn pool_pairs<I: Isa, const IMAGES: usize>(
    upper: &[[f32; IMAGES]],
    lower: &[[f32; IMAGES]],
    y: &mut [[f32; IMAGES]],
    codes: &mut [[u8; IMAGES]],
    wild: &mut [f32; IMAGES],
) {
    let mut wilds = [[0.0; LANES]; 4];
    let mut done = 0;
    if IMAGES < LANES {
        let rows = [upper, lower].map(|row| row.as_flattened().as_chunks::<{ 2 * LANES }>().0);
        let y = y.as_flattened_mut().as_chunks_mut::<LANES>().0;
        let codes = codes.as_flattened_mut().as_chunks_mut::<LANES>().0;
        for (((upper, lower), y), codes) in rows[0].iter().zip(rows[1]).zip(y).zip(codes) {
            let window = [I::parted::<IMAGES>(upper), I::parted::<IMAGES>(lower)];
            (*y, *codes) = pool_window(window.as_flattened(), &mut wilds);
            done += LANES / IMAGES;
        }
    }
    let mut rest = [[0.0; IMAGES]; 4];
    let windows = upper[2 * done..].chunks_exact(2).zip(lower[2 * done..].chunks_exact(2));
    for (((upper, lower), y), codes) in windows.zip(&mut y[done..]).zip(&mut codes[done..]) {
        let window = [upper[0], upper[1], lower[0], lower[1]];
        (*y, *codes) = pool_window(&window, &mut rest);
    }
    for image in 0..IMAGES {
        wild[image] += rest[0][image] + rest[1][image] + rest[2][image] + rest[3][image];
    }
    if IMAGES < LANES {
        for (lane, wilds) in wilds.as_flattened().iter().enumerate() {
            wild[lane % IMAGES] += wilds;
        }
    }
}

/// What a window of two by two passes on, and the code that tells from where.
#[inline(always)]
fn pool_window<const IMAGES: usize>(
    window: &[[f32; IMAGES]],
    wilds: &mut [[f32; IMAGES]; 4],
) -> ([f32; IMAGES], [u8; IMAGES]) {
    let mut highest = window[0];
    let mut place = [0; IMAGES];
    raise(&mut highest, &mut place, &window[1], 1);
    raise(&mut highest, &mut place, &window[2], 2);
    raise(&mut highest, &mut place, &window[3], 3);
    for (wild, x) in wilds.iter_mut().zip(window) {
        note(wild, x);
    }
    rectified_and_place(&highest, &place)
}

/// Zero stays zero, unless it meets a number that is not finite: then it is NaN for good.
#[inline(always)]
fn note<const IMAGES: usize>(wild: &mut [f32; IMAGES], x: &[f32; IMAGES]) {
    for image in 0..IMAGES {
        wild[image] = x[image].mul_add(0.0, wild[image]);
    }
}

/// Where `x` is higher than `highest`, it and its index take the place of what was there.
#[inline(always)]
pub(super) fn raise<const IMAGES: usize>(
    highest: &mut [f32; IMAGES],
    place: &mut [u8; IMAGES],
    x: &[f32; IMAGES],
    index: u8,
) {
    for image in 0..IMAGES {
        let higher = x[image] > highest[image];
        highest[image] = if higher { x[image] } else { highest[image] };
        place[image] = if higher { index } else { place[image] };
    }
}

/// What a window passes on, and the code that tells from where.
#[inline(always)]
pub(super) fn rectified_and_place<const IMAGES: usize>(
    highest: &[f32; IMAGES],
    place: &[u8; IMAGES],
) -> ([f32; IMAGES], [u8; IMAGES]) {
    let (mut y, mut codes) = ([0.0; IMAGES], [0; IMAGES]);
    for image in 0..IMAGES {
        codes[image] = if highest[image] > 0.0 { place[image] } else { NOBODY };
        y[image] = rectified(highest[image]);
    }
    (y, codes)
}

/// Whether no window has a positive number.
pub(crate) fn nobody(codes: &[u8]) -> bool {
    codes.iter().all(|&code| code == NOBODY)
}

/// Which images of a block leave every rectifier at rest that has written `codes` and `wild`:
/// all numbers it has seen are finite, and none is positive.
pub(crate) fn pools_rest(lanes: u32, codes: &[u8], wild: &[f32; LANES]) -> [bool; LANES] {
    let mut rests = wild.map(|wild| wild == 0.0);
    for codes in codes.chunks_exact(1 << lanes) {
        for (rests, &code) in rests.iter_mut().zip(codes) {
            *rests &= code == NOBODY;
        }
    }
    rests
}

multiversion! {
    /// dx = dy at the number that `codes` names, else 0, for the windows of `rows` of dy, which
    /// dx has room for. Windows do not overlap.
    relu_max_pool_gradient(
        window: Window, lanes: u32, codes: &[u8], dy: Source, dx: Target, rows: Range<usize>,
    ) = relu_max_pool_gradient_body<Isa>
}

#[inline(always)]
fn relu_max_pool_gradient_body<I: Isa>(
    window: Window,
    lanes: u32,
    codes: &[u8],
    dy: Source,
    dx: Target,
    rows: Range<usize>,
) {
    with_images!(lanes, |IMAGES| {
        let codes = codes.as_chunks::<IMAGES>().0;
        let (from, to) = (dy.numbers.as_chunks::<IMAGES>().0, dx.numbers.as_chunks_mut().0);
        let Shape { channels, height, width } = dy.value.shape;
        for (channel, row) in each(0..channels, &rows) {
            let codes = &codes[(channel * height + row) * width..][..width];
            let dy = &from[dy.value.row(channel, row)..][..width];
            for inner in 0..window.height {
                let start = dx.value.row(channel, (row - rows.start) * window.stride + inner);
                let dx = &mut to[start..start + width * window.width];
                let first = (inner * window.width) as u8;
                // Known widths are unrolled; but blocks of fewer images the compiler would take
                // apart.
                if window.width == 2 && IMAGES == LANES {
                    for ((dx, dy), codes) in dx.chunks_exact_mut(2).zip(dy).zip(codes) {
                        dx[0] = passed_on(first, codes, dy);
                        dx[1] = passed_on(first + 1, codes, dy);
                    }
                } else {
                    let mut done = 0;
                    if window.width == 2 {
                        let dx = dx.as_flattened_mut().as_chunks_mut::<LANES>().0;
                        let dy = dy.as_flattened().as_chunks::<8>().0;
                        let codes = codes.as_flattened().as_chunks::<8>().0;
                        for ((dx, dy), codes) in dx.iter_mut().zip(dy).zip(codes) {
                            *dx = I::handed_to_both::<IMAGES>(dy, codes, first);
                            done += 8 / IMAGES.min(8);
                        }
                    }
                    let dx = dx[done * window.width..].chunks_exact_mut(window.width);
                    let windows = dx.zip(&dy[done..]).zip(&codes[done..]);
                    for ((dx, dy), codes) in windows {
                        for (dx, code) in dx.iter_mut().zip(first..) {
                            *dx = passed_on(code, codes, dy);
                        }
                    }
                }
            }
        }
    })
}

/// The gradients of the images whose code is `code`, else 0.
#[inline(always)]
fn passed_on<const IMAGES: usize>(
    code: u8,
    codes: &[u8; IMAGES],
    dy: &[f32; IMAGES],
) -> [f32; IMAGES] {
    let mut dx = *dy;
    // Bits instead of a choice, which the compiler would turn into jumps.
    for image in 0..IMAGES {
        let mask = u32::from(codes[image] == code).wrapping_neg();
        dx[image] = f32::from_bits(dx[image].to_bits() & mask);
    }
    dx
}

multiversion! {
    /// y = the highest x of each window.
    max_pool(window: Window, lanes: u32, x: Source, y: Target) = max_pool_body
}

#[inline(always)]
fn max_pool_body(window: Window, lanes: u32, x: Source, y: Target) {
    with_images!(lanes, |IMAGES| {
        let from = x.numbers.as_chunks::<IMAGES>().0;
        let to = y.numbers.as_chunks_mut::<IMAGES>().0;
        for (start, target) in windows(window, x.value, y.value) {
            let mut highest = from[start];
            for position in positions(window, x.value, start) {
                raise_only(&mut highest, &from[position]);
            }
            to[target] = highest;
        }
    })
}

multiversion! {
    /// dx += dy at the first position of each window that holds its highest x.
    max_pool_gradient(window: Window, lanes: u32, x: Source, y: Source, dy: Source, dx: Target)
        = max_pool_gradient_body
}

#[inline(always)]
fn max_pool_gradient_body(
    window: Window,
    lanes: u32,
    x: Source,
    y: Source,
    dy: Source,
    dx: Target,
) {
    with_images!(lanes, |IMAGES| {
        let [xs, ys, dys] = [x, y, dy].map(|source| source.numbers.as_chunks::<IMAGES>().0);
        let to = dx.numbers.as_chunks_mut::<IMAGES>().0;
        let inputs = windows(window, x.value, y.value);
        for ((from, at), (start, source)) in inputs.zip(windows(window, dx.value, dy.value)) {
            let highest = ys[at];
            // What is left to give away: it goes to the first that matches.
            let mut left = dys[source];
            let targets = positions(window, dx.value, start);
            for (position, target) in positions(window, x.value, from).zip(targets) {
                for image in 0..IMAGES {
                    let given =
                        if xs[position][image] == highest[image] { left[image] } else { 0.0 };
                    to[target][image] += given;
                    left[image] -= given;
                }
            }
        }
    })
}

multiversion! {
    /// y = the mean x of each window.
    average_pool(window: Window, lanes: u32, x: Source, y: Target) = average_pool_body
}

#[inline(always)]
fn average_pool_body(window: Window, lanes: u32, x: Source, y: Target) {
    let share = 1.0 / (window.height * window.width) as f32;
    with_images!(lanes, |IMAGES| {
        let from = x.numbers.as_chunks::<IMAGES>().0;
        let to = y.numbers.as_chunks_mut::<IMAGES>().0;
        for (start, target) in windows(window, x.value, y.value) {
            let mut sum = [0.0; IMAGES];
            for position in positions(window, x.value, start) {
                for image in 0..IMAGES {
                    sum[image] += from[position][image];
                }
            }
            to[target] = sum.map(|sum| sum * share);
        }
    })
}

multiversion! {
    /// dx += each window's dy, shared evenly; or dx = that, if `set`, which windows must cover: then it
    /// becomes zero where `deciding` is not positive.
    average_pool_gradient(
        window: Window, lanes: u32, deciding: Option<Source>, dy: Source, dx: Target, set: bool,
    ) = average_pool_gradient_body
}

#[inline(always)]
fn average_pool_gradient_body(
    window: Window,
    lanes: u32,
    deciding: Option<Source>,
    dy: Source,
    dx: Target,
    set: bool,
) {
    assert!(set || deciding.is_none());
    let share = 1.0 / (window.height * window.width) as f32;
    with_images!(lanes, |IMAGES| {
        let from = dy.numbers.as_chunks::<IMAGES>().0;
        let to = dx.numbers.as_chunks_mut::<IMAGES>().0;
        let Shape { channels, height, width } = dy.value.shape;
        for channel in 0..channels {
            for row in 0..height * window.height {
                let dy = &from[dy.value.row(channel, row / window.height)..][..width];
                let row = row / window.height * window.stride + row % window.height;
                let start = dx.value.row(channel, row);
                for (column, dy) in dy.iter().enumerate() {
                    let mut given = *dy;
                    for given in &mut given {
                        *given *= share;
                    }
                    let dx = &mut to[start + column * window.stride..][..window.width];
                    for dx in dx {
                        for image in 0..IMAGES {
                            let before = if set { 0.0 } else { dx[image] };
                            dx[image] = before + given[image];
                        }
                    }
                }
                if let Some(deciding) = deciding {
                    let from = deciding.value.row(channel, row) << lanes;
                    let dx = to[start..][..dx.value.shape.width].as_flattened_mut();
                    keep_where_positive(&deciding.numbers[from..][..dx.len()], dx);
                }
            }
        }
    })
}

/// (first input position, output position) of each window.
#[inline(always)]
fn windows(window: Window, input: &Value, output: &Value) -> impl Iterator<Item = (usize, usize)> {
    let Shape { channels, height, width } = output.shape;
    (0..channels).flat_map(move |channel| {
        (0..height).flat_map(move |row| {
            let (from, to) = (input.row(channel, row * window.stride), output.row(channel, row));
            (0..width).map(move |column| (from + column * window.stride, to + column))
        })
    })
}

/// The input positions of the window at `from`, in reading order.
#[inline(always)]
fn positions(window: Window, input: &Value, from: usize) -> impl Iterator<Item = usize> + use<> {
    let columns = input.columns();
    (0..window.height)
        .flat_map(move |row| (0..window.width).map(move |column| from + row * columns + column))
}
