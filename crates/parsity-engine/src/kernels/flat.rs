//! Layers that see whole images: vectors go along what they see, not along images.
//!
//! A dense layer has one position, so in a block of few images there is little that lies side by side;
//! and in any block the gradient of a weight would be a sum over a single vector, which takes longer
//! to fold than to multiply. So what it sees is turned round: all numbers of one image, then those of the
//! next. They meet its weights, unit by unit, with zeros for what was pruned.
//!
//! Scores are added up by sixteen lanes, which are folded in the order of `Isa::totals`; every number of
//! a gradient has a sum of its own. So nothing depends on the width of vectors.

#![allow(unsafe_code)]
// Constant indices are names of registers.
#![allow(clippy::needless_range_loop)]

use super::frame::lane_by_lane;
use super::isa::Isa;
use super::layers::{Source, Target, with_images};
use super::moves::Moves;
use super::pruned_gradient::Lanes;
use super::taps::NONE;
use super::vector::Vector;
use super::{LANES, multiversion};
use crate::numbers::Numbers;
use std::ops::Range;

/// Images whose scores are added up side by side, as far as there are so many.
const ABREAST: usize = 4;
/// Vectors of a gradient that are added up side by side, of as many units or images.
const COLUMNS: usize = 8;
const ROWS: usize = 2;

/// A layer that sees whole images.
#[derive(Debug)]
pub(crate) struct Flat {
    /// The units that are computed here, of all.
    units: Range<usize>,
    /// Numbers of one unit or image: as many as whole vectors have.
    row: usize,
    /// `[unit][number]`, of all units, with zeros for what was pruned.
    weights: Numbers,
    weight_moves: Moves,
    /// The same of the units that are computed here.
    gradient: Numbers,
    gradient_moves: Moves,
    /// `[image][number]`: what is seen, and then the gradient by it.
    seen: Numbers,
    /// Where each number stands in the value that is seen.
    from: Vec<u32>,
    /// The numbers by which the gradient is computed here, and where each stands in that.
    given: Range<usize>,
    to: Vec<u32>,
}

/// Which part of a layer is computed, and what it sees.
#[derive(Debug)]
pub(crate) struct Part {
    /// Units, of so many.
    pub(crate) units: Range<usize>,
    pub(crate) all: usize,
    /// Where each number that is seen stands in its value.
    pub(crate) from: Vec<u32>,
    /// The numbers by which the gradient is computed, and where each stands in that.
    pub(crate) given: Range<usize>,
    pub(crate) to: Vec<u32>,
}

/// Blocks of fewer images than `1 << FEW` also get their scores this way.
const FEW: u32 = 3;

/// Whether blocks of `1 << images` images get their scores tap by tap.
pub(crate) fn scores_by_taps(images: u32) -> bool {
    images >= FEW
}

impl Flat {
    /// For `1 << images` images. Survivor number i, counted from place `first` on, is number
    /// `survivors[i]` of the layer.
    pub(crate) fn new(part: Part, images: u32, first: usize, survivors: &[u32]) -> Self {
        let Part { units, all, from, given, to } = part;
        let inputs = from.len();
        assert!(given.end <= inputs && given.len() == to.len());
        let row = inputs.next_multiple_of(LANES);
        let place = |survivor: u32| survivor as usize / inputs * row + survivor as usize % inputs;
        let weights = survivors.iter().map(|&it| place(it) as u32).collect();
        let own = |unit: usize| survivors.partition_point(|&it| (it as usize) < unit * inputs);
        let own = own(units.start)..own(units.end);
        let before = units.start * row;
        let gradient = survivors[own.clone()].iter().map(|&it| (place(it) - before) as u32);
        Flat {
            row,
            weights: Numbers::new(all * row),
            weight_moves: Moves::new(first, weights, all * row),
            gradient: Numbers::new(units.len() * row),
            gradient_moves: Moves::new(first + own.start, gradient.collect(), units.len() * row),
            seen: Numbers::new(row << images),
            units,
            from,
            given,
            to,
        }
    }

    /// Takes over the survivors' values.
    pub(crate) fn fill(&mut self, survivors: &[f32]) {
        self.weight_moves.take_over(survivors, &mut self.weights);
    }

    /// Adds the survivors' gradient to `gradient`; begins anew.
    pub(crate) fn hand_over(&mut self, gradient: &mut [f32]) {
        self.gradient_moves.hand_over(&self.gradient, gradient);
        self.gradient.fill(0.0);
    }
}

multiversion! {
    /// Turns what is seen in x round.
    see(flat: &mut Flat, x: Source) = see_body<Isa>
}

#[inline(always)]
fn see_body<I: Isa>(flat: &mut Flat, x: Source) {
    with_images!(x.value.lanes, |IMAGES| {
        let from = x.numbers.as_chunks::<IMAGES>().0;
        for (start, places) in (0..).step_by(LANES).zip(flat.from.chunks(LANES)) {
            let numbers: [[f32; IMAGES]; LANES] = std::array::from_fn(|next| {
                places.get(next).map_or([0.0; IMAGES], |&place| from[place as usize])
            });
            for (image, numbers) in lane_by_lane::<I, IMAGES>(&numbers).iter().enumerate() {
                flat.seen[image * flat.row + start..][..LANES].copy_from_slice(numbers);
            }
        }
    })
}

multiversion! {
    /// y = the scores of the units, of what was seen, with their `biases`, which are places in
    /// `values`.
    flat_scores(flat: &Flat, values: &[f32], biases: &[u32], y: Target) = flat_scores_body<Isa>
}

#[inline(always)]
fn flat_scores_body<I: Isa>(flat: &Flat, values: &[f32], biases: &[u32], y: Target) {
    let (row, lanes) = (flat.row, y.value.lanes);
    assert_eq!(biases.len(), flat.units.len());
    assert!(flat.seen.len() >= row << lanes);
    for (index, &bias) in biases.iter().enumerate() {
        let weights = &flat.weights[(flat.units.start + index) * row..][..row];
        let mut sums = [[0.0; LANES]; LANES];
        // SAFETY: there are as many weights as numbers of each image, as was checked.
        unsafe {
            match lanes {
                0 => products::<I::Wide, 1>(weights, &flat.seen, &mut sums),
                1 => products::<I::Wide, 2>(weights, &flat.seen, &mut sums),
                _ => {
                    for image in (0..1 << lanes).step_by(ABREAST) {
                        let (seen, sums) = (&flat.seen[image * row..], &mut sums[image..]);
                        products::<I::Wide, ABREAST>(weights, seen, sums);
                    }
                }
            }
        }
        let bias = if bias == NONE { 0.0 } else { values[bias as usize] };
        let scores = &mut y.numbers[y.value.row(index, 0) << lanes..][..1 << lanes];
        for (score, total) in scores.iter_mut().zip(I::totals(&sums)) {
            *score = bias + total;
        }
    }
}

/// The lanes of the products of a unit's weights with what `IMAGES` neighbours see.
///
/// # Safety
/// There are as many numbers of each image as weights, and whole vectors of lanes.
#[inline(always)]
unsafe fn products<V: Vector, const IMAGES: usize>(
    weights: &[f32],
    seen: &[f32],
    sums: &mut [Lanes],
) {
    let row = weights.len();
    for part in (0..LANES).step_by(V::WIDTH) {
        let mut tile = [V::splat(0.0); IMAGES];
        for at in (part..row).step_by(LANES) {
            // SAFETY: as the caller promises.
            unsafe {
                let weight = V::load(weights.as_ptr().add(at));
                for image in 0..IMAGES {
                    let seen = V::load(seen.as_ptr().add(image * row + at));
                    tile[image] = tile[image].add_product(weight, seen);
                }
            }
        }
        for image in 0..IMAGES {
            // SAFETY: lanes are sixteen numbers.
            unsafe { tile[image].store(sums[image].as_mut_ptr().add(part)) };
        }
    }
}

multiversion! {
    /// Adds the gradient by the weights of the units, from that of their scores, of what was seen.
    flat_weight_gradient(flat: &mut Flat, dy: Source) = flat_weight_gradient_body<Isa>
}

#[inline(always)]
fn flat_weight_gradient_body<I: Isa>(flat: &mut Flat, dy: Source) {
    let (row, lanes) = (flat.row, dy.value.lanes);
    let units = flat.units.len();
    assert!(flat.seen.len() >= row << lanes && flat.gradient.len() >= units * row);
    let table = Table {
        factors: dy.numbers,
        step: (dy.value.row(1, 0) - dy.value.row(0, 0)) << lanes,
        next: 1,
        count: 1 << lanes,
        rows: &flat.seen,
        row,
    };
    table.add::<I>(units, 0..row, &mut flat.gradient, false);
}

multiversion! {
    /// dx = the gradient by what is seen, or dx += it, unless `set`, from that of all scores.
    flat_input_gradient(flat: &mut Flat, dy: Source, dx: Target, set: bool)
        = flat_input_gradient_body<Isa>
}

#[inline(always)]
fn flat_input_gradient_body<I: Isa>(flat: &mut Flat, dy: Source, dx: Target, set: bool) {
    let (row, lanes) = (flat.row, dy.value.lanes);
    let units = dy.value.shape.channels;
    assert!(flat.seen.len() >= row << lanes && flat.weights.len() >= units * row);
    let table = Table {
        factors: dy.numbers,
        step: 1,
        next: (dy.value.row(1, 0) - dy.value.row(0, 0)) << lanes,
        count: units,
        rows: &flat.weights,
        row,
    };
    let whole = flat.given.start / LANES * LANES..flat.given.end.next_multiple_of(LANES);
    table.add::<I>(1 << lanes, whole, &mut flat.seen, true);
    with_images!(lanes, |IMAGES| {
        let to = dx.numbers.as_chunks_mut::<IMAGES>().0;
        for (start, places) in (flat.given.start..).step_by(LANES).zip(flat.to.chunks(LANES)) {
            let count = places.len();
            let mut numbers = [[0.0; LANES]; LANES];
            for image in 0..IMAGES {
                let seen = &flat.seen[image * row + start..];
                numbers[image][..count].copy_from_slice(&seen[..count]);
            }
            let numbers = I::transposed(&numbers);
            for (&place, numbers) in places.iter().zip(&numbers) {
                let to = &mut to[place as usize];
                for image in 0..IMAGES {
                    let before = if set { 0.0 } else { to[image] };
                    to[image] = before + numbers[image];
                }
            }
        }
    })
}

/// Rows of numbers, and factors by which they are added up.
struct Table<'a> {
    /// Number (sum, row) stands at sum · `step` + row · `next`.
    factors: &'a [f32],
    step: usize,
    next: usize,
    count: usize,
    rows: &'a [f32],
    row: usize,
}

impl Table<'_> {
    /// Adds all rows to each of `sums` sums, as far as `columns` go; or sets them, if `set`.
    #[inline(always)]
    fn add<I: Isa>(&self, sums: usize, columns: Range<usize>, to: &mut [f32], set: bool) {
        let Table { factors, step, next, count, rows, row } = *self;
        assert!(columns.end <= row && rows.len() >= count * row && to.len() >= sums * row);
        assert!(sums * count == 0 || factors.len() > (sums - 1) * step + (count - 1) * next);
        for first in (0..sums).step_by(ROWS) {
            let mut column = columns.start;
            while column < columns.end {
                let wide = column + COLUMNS * I::Wide::WIDTH <= columns.end;
                // SAFETY: all sums, factors and rows are there, as was checked.
                unsafe {
                    match (wide, first + ROWS <= sums) {
                        (true, true) => self.tile::<I::Wide, ROWS, COLUMNS>(first, column, to, set),
                        (true, false) => self.tile::<I::Wide, 1, COLUMNS>(first, column, to, set),
                        (false, true) => self.tile::<I::Wide, ROWS, 1>(first, column, to, set),
                        (false, false) => self.tile::<I::Wide, 1, 1>(first, column, to, set),
                    }
                }
                column += if wide { COLUMNS * I::Wide::WIDTH } else { I::Wide::WIDTH };
            }
        }
    }

    /// # Safety
    /// There are `R` sums from number `first` on, `C` vectors of each and of all rows from `column` on,
    /// and all factors.
    #[inline(always)]
    unsafe fn tile<V: Vector, const R: usize, const C: usize>(
        &self,
        first: usize,
        column: usize,
        to: &mut [f32],
        set: bool,
    ) {
        // SAFETY: as the caller promises.
        unsafe {
            let to = to.as_mut_ptr().add(first * self.row + column);
            let mut sums = [[V::splat(0.0); C]; R];
            if !set {
                for sum in 0..R {
                    for vector in 0..C {
                        sums[sum][vector] = V::load(to.add(sum * self.row + vector * V::WIDTH));
                    }
                }
            }
            for row in 0..self.count {
                let numbers = self.rows.as_ptr().add(row * self.row + column);
                let factor = self.factors.as_ptr().add(first * self.step + row * self.next);
                let mut factors = [V::splat(0.0); R];
                for sum in 0..R {
                    factors[sum] = V::splat(*factor.add(sum * self.step));
                }
                for vector in 0..C {
                    let numbers = V::load(numbers.add(vector * V::WIDTH));
                    for sum in 0..R {
                        sums[sum][vector] = sums[sum][vector].add_product(factors[sum], numbers);
                    }
                }
            }
            for sum in 0..R {
                for vector in 0..C {
                    sums[sum][vector].store(to.add(sum * self.row + vector * V::WIDTH));
                }
            }
        }
    }
}
