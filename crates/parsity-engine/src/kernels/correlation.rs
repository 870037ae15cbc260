//! Sums of weighted rows: a convolution forward, and its gradient by the input.
//!
//! Both add, at every position of a *target* channel, numbers of a *source* times weights,
//! as the lists of [`taps`](super::taps) say. Where nothing was pruned, neighbouring targets
//! read the same, so four of them share the reading.

#![allow(unsafe_code)]

use super::isa::{Avx512, Isa};
use super::layers::Target;
use super::taps::{Correlation, Round, Turn};
use super::tile::{Tile, rows_of_a_tile, rows_that_fit};
use super::vector::Vector;
use super::{LANES, multiversion};
use crate::network::Value;
use crate::shape::Shape;
use std::ops::Range;

/// The widest tile of a target that reads alone, in vectors; and the widest piece of a row of those
/// that share what they read.
const COLUMNS: usize = 8;
const SHARED_COLUMNS: usize = 12;

/// Into how many pieces a row of `count` vectors is cut, of a target that reads alone. Four rows of
/// six vectors read less around them than two of twelve.
#[inline(always)]
fn pieces_alone(count: usize) -> usize {
    if count <= 8 { 1 } else { count.div_ceil(6) }
}

/// Rows and numbers of each that are worked on before the next ones, of rows of `row` numbers, where
/// vectors are as wide as can be and targets read alone; `whole` rows, if they are not cut.
pub(crate) fn piece(row: usize, whole: bool) -> (usize, usize) {
    let count = row.div_ceil(LANES);
    let pieces = if whole { count.div_ceil(SHARED_COLUMNS) } else { pieces_alone(count) };
    let columns = count.div_ceil(pieces);
    (rows_that_fit(Avx512::ALONE, columns), columns * LANES)
}

/// What the sums start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// The bias, or zero.
    Bias,
    /// What stands in the target, and the bias.
    Target,
}

/// What is done to the sums at last.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Finish<'a> {
    /// Nothing.
    Keep,
    /// Those below zero become zero.
    Rectify,
    /// Those become zero where the numbers of the correlation's mask are not positive.
    Mask(&'a [f32]),
    /// The same, and then they are added to what stands in the target. There is but one block of
    /// sources, and all targets read alone.
    MaskOnto(&'a [f32]),
    /// They are written to another value, too; there those below zero become zero.
    Copy(&'a Copied<'a>),
    /// They are pooled, in windows of two by two: every tile has whole ones. If there is but one
    /// block of sources, nothing is written to the target.
    Pool(&'a Pooled<'a>),
}

impl Finish<'_> {
    /// Checks that there is all that the sums of `correlation` meet, of `1 << lanes` images.
    pub(super) fn check(&self, correlation: &Correlation, lanes: u32) {
        match self {
            Finish::Mask(numbers) | Finish::MaskOnto(numbers) => {
                let mask = correlation.mask.as_ref().expect("the correlation has a mask");
                assert!(numbers.len() >= mask.len << lanes);
            }
            Finish::Copy(copied) => copied.check(correlation),
            Finish::Keep | Finish::Rectify | Finish::Pool(_) => {}
        }
    }
}

/// Where rectified copies go: a pointer, because tiles write to what they share. All of it is there.
#[derive(Debug)]
pub(crate) struct Copied<'a> {
    value: &'a Value,
    pub(super) numbers: *mut f32,
}

impl<'a> Copied<'a> {
    /// The value with its numbers, of `1 << lanes` images.
    pub(crate) fn new(to: Target<'a>, lanes: u32) -> Self {
        assert!(to.numbers.len() >= to.value.len() << lanes);
        Copied { value: to.value, numbers: to.numbers.as_mut_ptr() }
    }

    /// Checks that it has the positions of the targets of `correlation`.
    pub(super) fn check(&self, correlation: &Correlation) {
        let Shape { channels, height, width } = self.value.shape;
        assert_eq!(channels, correlation.targets.len());
        assert_eq!((height, width), (correlation.grid.height, correlation.grid.width));
    }

    /// Where a row of a target starts, of `1 << lanes` images.
    #[inline(always)]
    pub(super) fn row(&self, target: usize, row: usize, lanes: u32) -> usize {
        self.value.row(target, row) << lanes
    }

    /// Numbers from one row to the next.
    #[inline(always)]
    pub(super) fn next(&self, lanes: u32) -> usize {
        self.value.columns() << lanes
    }
}

/// Where pools go: pointers, because tiles write to what they share. All of it is there for
/// the windows of all targets.
#[derive(Debug)]
pub(crate) struct Pooled<'a> {
    pub(super) value: &'a Value,
    pub(super) numbers: *mut f32,
    /// What is remembered, if anything.
    pub(super) memory: Option<(*mut u8, *mut [f32; LANES])>,
}

multiversion! {
    /// Adds up all taps at all positions of `rows` of all targets, for `1 << lanes` images.
    /// The target has room for these rows.
    correlate(
        correlation: &Correlation, lanes: u32, values: &[f32],
        source: &[f32], target: &mut [f32], ends: (Start, Finish), rows: Range<usize>,
    ) = correlate_rows<Isa>
}

#[inline(always)]
fn correlate_rows<I: Isa>(
    correlation: &Correlation,
    lanes: u32,
    values: &[f32],
    source: &[f32],
    target: &mut [f32],
    (start, finish): (Start, Finish),
    rows: Range<usize>,
) {
    finish.check(correlation, lanes);
    if let Finish::MaskOnto(_) = finish {
        assert!(start == Start::Bias && correlation.blocks == 1);
        assert!(correlation.rounds.iter().all(|round| !round.shared));
    }
    assert!(rows.end <= correlation.grid.height);
    assert!(source.len() >= correlation.source_len << lanes);
    if matches!(finish, Finish::Pool(_)) {
        assert!(start == Start::Bias);
    }
    if !matches!(finish, Finish::Pool(_)) || correlation.blocks > 1 {
        assert!(rows.len() <= correlation.grid.strip);
        assert!(target.len() >= correlation.target_len << lanes);
    }
    let row = correlation.grid.width << lanes;
    let first = correlation.grid.first(&rows);
    let call = Call { correlation, lanes, values, source, start, finish, first };
    if row >= I::Wide::WIDTH {
        call.strips::<I, I::Wide>(rows, target);
    } else if row >= 8 && I::Wide::WIDTH > 8 {
        call.strips::<I, I::Eight>(rows, target);
    } else if row >= 4 {
        call.strips::<I, [f32; 4]>(rows, target);
    } else if row >= 2 {
        call.strips::<I, [f32; 2]>(rows, target);
    } else {
        call.strips::<I, [f32; 1]>(rows, target);
    }
}

/// The arguments of `correlate` that do not change.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) correlation: &'a Correlation,
    pub(super) lanes: u32,
    pub(super) values: &'a [f32],
    pub(super) source: &'a [f32],
    pub(super) start: Start,
    pub(super) finish: Finish<'a>,
    /// The row of the grid that is the target's first one.
    pub(super) first: usize,
}

impl Correlation {
    /// Whether rows are cut into small pieces: targets read alone, and the same of each row.
    #[inline(always)]
    fn is_cut(&self) -> bool {
        // Those that share come first.
        let alone = self.groups.first().is_none_or(|group| !group.shared);
        alone && self.column_shifts.len() == 1
    }
}

impl<'a> Call<'a> {
    /// All targets, a piece of a strip of rows after the other: what a piece reads stays in
    /// the nearest cache.
    #[inline(always)]
    fn strips<I: Isa, V: Vector>(self, all: Range<usize>, target: &mut [f32]) {
        let width = self.correlation.grid.width;
        let count = (width << self.lanes) / V::WIDTH;
        // Windows stay whole.
        let pools = matches!(self.finish, Finish::Pool(_));
        let unit = if pools { 2 } else { 1 };
        let pieces = match self.correlation.is_cut() {
            true if pools => count.div_ceil(COLUMNS),
            true => pieces_alone(count),
            false => count.div_ceil(SHARED_COLUMNS),
        };
        let pieces = pieces.max(1);
        let cut = |piece: usize| count / unit * piece / pieces * unit;
        let strip = rows_that_fit(I::ALONE, count.div_ceil(pieces)) / unit * unit;
        let mut row = all.start;
        while row < all.end {
            // Strips of about the same height: a last one of few rows would be slow.
            let left = all.end - row;
            let height = left.div_ceil(left.div_ceil(strip)).next_multiple_of(unit);
            let rows = row..(row + height).min(all.end);
            let shifts = self.correlation.shifts(&rows);
            for piece in 0..pieces {
                let columns = cut(piece)..cut(piece + 1);
                for index in 0..self.correlation.rounds.len() {
                    let reads = self.reads(index, &shifts);
                    reads.run::<I, V>(rows.clone(), columns.clone(), target);
                }
            }
            if count * V::WIDTH < width << self.lanes {
                for index in 0..self.correlation.rounds.len() {
                    let reads = self.reads(index, &shifts);
                    reads.rest::<I, V>(rows.clone(), count * V::WIDTH, target);
                }
            }
            row = rows.end;
        }
    }

    /// What is read in round number `index`.
    #[inline(always)]
    fn reads<'b>(self, index: usize, shifts: &'b Range<usize>) -> Reads<'b>
    where
        'a: 'b,
    {
        let Round { block, shared, ref turns } = self.correlation.rounds[index];
        Reads { call: self, block, shared, turns, shifts }
    }
}

/// What some groups of targets of one kind read of a block, at some rows.
#[derive(Clone, Copy)]
pub(super) struct Reads<'a> {
    pub(super) call: Call<'a>,
    pub(super) block: usize,
    /// Whether the targets of a group share what they read.
    pub(super) shared: bool,
    pub(super) turns: &'a [Turn],
    /// The row shifts that matter.
    pub(super) shifts: &'a Range<usize>,
}

impl<'a> Reads<'a> {
    /// What the sums of a group start from in this block.
    #[inline(always)]
    pub(super) fn start(&self, turn: Turn) -> Start {
        if turn.begins { self.call.start } else { Start::Target }
    }

    /// What is done to them in the end.
    #[inline(always)]
    pub(super) fn finish(&self, turn: Turn) -> Finish<'a> {
        if turn.ends { self.call.finish } else { Finish::Keep }
    }

    /// Where the taps of a group with column shift number `column` stand, of sharers.
    #[inline(always)]
    pub(super) fn places(&self, group: usize, column: usize) -> Range<usize> {
        self.call.correlation.places(self.block, group, column, self.shifts)
    }

    /// Where the steps of a target that reads alone stand, of `kind` and with column shift number
    /// `column`.
    #[inline(always)]
    pub(super) fn steps(&self, group: usize, kind: usize, column: usize) -> Range<usize> {
        self.call.correlation.steps(self.block, group, kind, column, self.shifts)
    }

    /// What is left of each row after number `done`: less than a vector.
    #[inline(always)]
    fn rest<I: Isa, V: Vector>(self, rows: Range<usize>, done: usize, target: &mut [f32]) {
        let length = self.call.correlation.grid.width << self.call.lanes;
        for row in rows {
            let mut done = done;
            while done < length {
                let tile = Tile { reads: self, row, from: done, sharer: 0 };
                // SAFETY: as in `run`.
                unsafe {
                    if V::WIDTH > 8 && length - done >= 8 {
                        tile.small::<I::Eight, 1>(target);
                        done += 8;
                    } else if V::WIDTH > 4 && length - done >= 4 {
                        tile.small::<[f32; 4], 1>(target);
                        done += 4;
                    } else {
                        tile.small::<[f32; 1], 1>(target);
                        done += 1;
                    }
                }
            }
        }
    }

    /// All of `rows`, if they are of a kind of which each tap sees a known part: the rest is not
    /// computed.
    #[inline(always)]
    fn whole_rows<I: Isa, V: Vector>(
        self,
        rows: Range<usize>,
        columns: Range<usize>,
        target: &mut [f32],
    ) -> bool {
        let Call { correlation, lanes, .. } = self.call;
        let count = columns.len();
        let known = correlation.column_shifts.len() > 1
            && V::WIDTH == 1 << lanes
            && count == correlation.grid.width;
        let shared = self.shared;
        if !known || (shared && I::ALONE < 24) {
            return false;
        }
        let seen = correlation.source_columns;
        let two_rows = I::ALONE >= 24 && !shared;
        let mut row = rows.start;
        while row < rows.end {
            let tile = |sharer: usize| Tile { reads: self, row, from: 0, sharer };
            let two = two_rows && row + 2 <= rows.end;
            // SAFETY: as in `run`.
            unsafe {
                match (shared, two, count, seen) {
                    (false, true, 8, 4) => tile(0).shifted::<V, 1, 2, 8, 4>(target),
                    (false, false, 8, 4) => tile(0).shifted::<V, 1, 1, 8, 4>(target),
                    (false, true, 10, 8) => tile(0).shifted::<V, 1, 2, 10, 8>(target),
                    (false, false, 10, 8) => tile(0).shifted::<V, 1, 1, 10, 8>(target),
                    (false, true, 12, 8) => tile(0).shifted::<V, 1, 2, 12, 8>(target),
                    (false, false, 12, 8) => tile(0).shifted::<V, 1, 1, 12, 8>(target),
                    (true, _, 8, 4) => {
                        tile(0).shifted::<V, 2, 1, 8, 4>(target);
                        tile(2).shifted::<V, 2, 1, 8, 4>(target);
                    }
                    (true, _, 10, 8) => {
                        tile(0).shifted::<V, 2, 1, 10, 8>(target);
                        tile(2).shifted::<V, 2, 1, 10, 8>(target);
                    }
                    (true, _, 12, 8) => {
                        tile(0).shifted::<V, 2, 1, 12, 8>(target);
                        tile(2).shifted::<V, 2, 1, 12, 8>(target);
                    }
                    _ => return false,
                }
            }
            row += if two { 2 } else { 1 };
        }
        true
    }

    /// Vectors number `columns` of all `rows`, in tiles that fit into the registers.
    #[inline(always)]
    fn run<I: Isa, V: Vector>(self, rows: Range<usize>, columns: Range<usize>, target: &mut [f32]) {
        if self.whole_rows::<I, V>(rows.clone(), columns.clone(), target) {
            return;
        }
        // Narrow vectors are rare: a few kinds of tiles must do.
        let wide = V::WIDTH >= 8 || V::WIDTH == I::Wide::WIDTH;
        let (sums, most) = match (wide, self.shared) {
            (true, true) => (I::SHARED, I::SHARED),
            (true, false) => (I::ALONE, COLUMNS),
            (false, _) => (4, 4),
        };
        let count = columns.len();
        let pieces = count.div_ceil(most).max(1);
        for piece in 0..pieces {
            let from = columns.start + count * piece / pieces;
            let columns = columns.start + count * (piece + 1) / pieces - from;
            let mut row = rows.start;
            while row < rows.end {
                let tile = Tile { reads: self, row, from: from * V::WIDTH, sharer: 0 };
                // SAFETY: `Correlation::checked` has seen every tap at every position, and
                // `correlate_rows` the lengths of source and target.
                unsafe {
                    if wide {
                        let height = rows_that_fit(sums, columns).min(rows.end - row);
                        let height = rows_of_a_tile(height);
                        tile.sized::<I, V>(height, columns, target);
                        row += height;
                    } else {
                        match columns {
                            1 => tile.small::<V, 1>(target),
                            2 => tile.small::<V, 2>(target),
                            3 => tile.small::<V, 3>(target),
                            _ => tile.small::<V, 4>(target),
                        }
                        row += 1;
                    }
                }
            }
        }
    }
}
