//! Sums of weighted rows: a convolution forward, and its gradient by the input.
//!
//! Both add, at every position of a *target* channel, numbers of a *source* times weights.
//! What is read is a list of taps, each with the offset of what it reads and the place of
//! its weight; the lists are made once, when a network meets its pattern, and the loops
//! know nothing of channels, kernels, padding or pruning. Where nothing was pruned,
//! neighbouring targets read the same, so four of them share the reading.
//!
//! Construction is checked, the inner loops are not: `Correlation::checked` proves that no tap
//! reads outside of its source and no target lies outside of its value.

#![allow(unsafe_code)]
// Constant indices are names of registers.
#![allow(clippy::needless_range_loop)]

use super::multiversion;
use super::vector::{Isa, Vector};
use std::ops::Range;

/// How many targets share the reading, where they can.
pub(crate) const SHARERS: usize = 4;
/// The widest tile, in vectors.
const COLUMNS: usize = 12;
/// No bias.
pub(crate) const NONE: u32 = u32::MAX;

/// One weight of a target (of the first target, where several share).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tap {
    /// What it reads, relative to the position's origin in the source.
    pub(crate) offset: u32,
    /// Where its weight stands in the vector of values.
    pub(crate) weight: u32,
}

/// Targets that read the same: `SHARERS` of them, or one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) first: u32,
    pub(crate) shared: bool,
}

impl Group {
    fn targets(&self) -> usize {
        if self.shared { SHARERS } else { 1 }
    }
}

/// Where a correlation is evaluated; all distances in positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) height: usize,
    pub(crate) width: usize,
    /// Distance of two rows of the source, and of the target.
    pub(crate) source_row: usize,
    pub(crate) target_row: usize,
}

/// Who reads what, and where the sums go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Correlation {
    pub(crate) grid: Grid,
    /// Length of the source and of the target value.
    pub(crate) source_len: usize,
    pub(crate) target_len: usize,
    pub(crate) taps: Vec<Tap>,
    /// Taps of (block, group, column shift, row shift): `starts[i]..starts[i + 1]`, in this
    /// order. A *block* is as many source channels as the nearest cache has room for.
    pub(crate) starts: Vec<u32>,
    pub(crate) groups: Vec<Group>,
    /// Position `y` of the grid reads row `y + shift` of the source, which is zero outside of
    /// `0..source_rows`; shifts ascend. The same for columns, where there is but one shift
    /// if taps are not told apart by it.
    pub(crate) row_shifts: Vec<isize>,
    pub(crate) source_rows: usize,
    pub(crate) column_shifts: Vec<isize>,
    pub(crate) source_columns: usize,
    /// Distance of the weights of two sharers.
    pub(crate) step: usize,
    /// Where each target's first position stands.
    pub(crate) targets: Vec<u32>,
    /// Where each target's bias stands in the vector of values, or `NONE`; or empty.
    pub(crate) biases: Vec<u32>,
}

impl Correlation {
    /// Checks everything that the loops rely on; `values` is the length of the vector
    /// of values.
    pub(crate) fn checked(self, values: usize) -> Self {
        let Grid { height, width, source_row, target_row } = self.grid;
        assert!(height > 0 && width > 0, "a correlation has positions");
        assert!(self.row_shifts.is_sorted() && self.column_shifts.is_sorted());
        assert_eq!(self.starts.len(), self.blocks() * self.lists_per_block() + 1);
        assert!(self.starts.is_sorted() && self.starts.last() == Some(&(self.taps.len() as u32)));
        let last = (height - 1) * source_row + width - 1;
        let inside = self.taps.iter().all(|tap| (tap.offset as usize + last) < self.source_len);
        assert!(inside, "a tap reads outside of its source");
        for block in 0..self.blocks() {
            for (index, group) in self.groups.iter().enumerate() {
                let reach = (group.targets() - 1) * self.step;
                let mut taps = self.all_taps(block, index).iter();
                assert!(taps.all(|tap| tap.weight as usize + reach < values), "no such weight");
            }
        }
        let last = (height - 1) * target_row + width - 1;
        let inside = self.targets.iter().all(|&start| (start as usize + last) < self.target_len);
        assert!(inside, "a target lies outside of its value");
        let named = |group: &Group| group.first as usize + group.targets() <= self.targets.len();
        assert!(self.groups.iter().all(named), "a group has no target");
        assert!(self.biases.is_empty() || self.biases.len() == self.targets.len());
        assert!(self.biases.iter().all(|&place| place == NONE || (place as usize) < values));
        self
    }

    fn lists_per_block(&self) -> usize {
        self.groups.len() * self.column_shifts.len() * self.row_shifts.len()
    }

    pub(crate) fn blocks(&self) -> usize {
        (self.starts.len() - 1) / self.lists_per_block().max(1)
    }

    /// The taps of a group in a block.
    #[inline(always)]
    pub(crate) fn all_taps(&self, block: usize, group: usize) -> &[Tap] {
        let lists = self.column_shifts.len() * self.row_shifts.len();
        let first = (block * self.groups.len() + group) * lists;
        &self.taps[self.starts[first] as usize..self.starts[first + lists] as usize]
    }

    /// Those of them with column shift number `column`, and row shifts number `rows`.
    #[inline(always)]
    fn taps(&self, block: usize, group: usize, column: usize, rows: &Range<usize>) -> &[Tap] {
        let columns = (block * self.groups.len() + group) * self.column_shifts.len();
        let first = (columns + column) * self.row_shifts.len();
        let (start, end) = (self.starts[first + rows.start], self.starts[first + rows.end]);
        &self.taps[start as usize..end as usize]
    }

    /// The row shifts that bring any of `rows` into the source.
    #[inline(always)]
    fn shifts(&self, rows: &Range<usize>) -> Range<usize> {
        let (first, last) = (rows.start as isize, rows.end as isize - 1);
        let start = self.row_shifts.partition_point(|&shift| last + shift < 0);
        let rows = self.source_rows as isize;
        let end = self.row_shifts.partition_point(|&shift| first + shift < rows);
        start..end.max(start)
    }
}

/// What the sums start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// The bias, or zero.
    Bias,
    /// What stands in the target.
    Target,
}

multiversion! {
    /// Adds up all taps at all positions of all targets, for `1 << lanes` images.
    correlate(
        correlation: &Correlation, lanes: u32, values: &[f32],
        source: &[f32], target: &mut [f32], start: Start,
    ) = correlate_rows<Isa>
}

#[inline(always)]
fn correlate_rows<I: Isa>(
    correlation: &Correlation,
    lanes: u32,
    values: &[f32],
    source: &[f32],
    target: &mut [f32],
    start: Start,
) {
    assert!(source.len() >= correlation.source_len << lanes);
    assert!(target.len() >= correlation.target_len << lanes);
    let row = correlation.grid.width << lanes;
    let call = Call { correlation, lanes, values, source, start };
    if row >= I::Wide::WIDTH {
        call.strips::<I, I::Wide>(target);
    } else if row >= 8 && I::Wide::WIDTH > 8 {
        call.strips::<I, I::Eight>(target);
    } else if row >= 4 {
        call.strips::<I, [f32; 4]>(target);
    } else if row >= 2 {
        call.strips::<I, [f32; 2]>(target);
    } else {
        call.strips::<I, [f32; 1]>(target);
    }
}

/// The arguments of `correlate` that do not change.
#[derive(Clone, Copy)]
struct Call<'a> {
    correlation: &'a Correlation,
    lanes: u32,
    values: &'a [f32],
    source: &'a [f32],
    start: Start,
}

impl Call<'_> {
    /// All targets, a strip of rows after the other: what a strip reads stays in the
    /// nearest cache.
    #[inline(always)]
    fn strips<I: Isa, V: Vector>(self, target: &mut [f32]) {
        let Grid { height, width, .. } = self.correlation.grid;
        let count = (width << self.lanes) / V::WIDTH;
        let columns = count.div_ceil(count.div_ceil(COLUMNS).max(1)).max(1);
        let strip = rows_that_fit(I::ALONE, columns);
        let mut row = 0;
        while row < height {
            let rows = row..(row + strip).min(height);
            let shifts = self.correlation.shifts(&rows);
            for block in 0..self.correlation.blocks() {
                let start = if block == 0 { self.start } else { Start::Target };
                for group in 0..self.correlation.groups.len() {
                    let reads = Reads { call: self, block, group, shifts: &shifts, start };
                    reads.run::<I, V>(rows.clone(), count, target);
                    reads.rest::<I, V>(rows.clone(), count * V::WIDTH, target);
                }
            }
            row = rows.end;
        }
    }
}

/// What a group of targets reads of a block, at some rows.
#[derive(Clone, Copy)]
struct Reads<'a> {
    call: Call<'a>,
    block: usize,
    group: usize,
    /// The row shifts that matter.
    shifts: &'a Range<usize>,
    start: Start,
}

impl<'a> Reads<'a> {
    /// The taps with column shift number `column`.
    #[inline(always)]
    fn taps(&self, column: usize) -> &'a [Tap] {
        self.call.correlation.taps(self.block, self.group, column, self.shifts)
    }

    #[inline(always)]
    fn targets(&self) -> Group {
        self.call.correlation.groups[self.group]
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

    /// All `rows`, if they are of a kind of which each tap sees a known part: the rest is not
    /// computed.
    #[inline(always)]
    fn whole_rows<I: Isa, V: Vector>(
        self,
        rows: Range<usize>,
        count: usize,
        target: &mut [f32],
    ) -> bool {
        let Call { correlation, lanes, .. } = self.call;
        let known = correlation.column_shifts.len() > 1 && V::WIDTH == 1 << lanes;
        let shared = self.targets().shared;
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
                    (false, true, 10, 8) => tile(0).shifted::<V, 1, 2, 10, 8>(target),
                    (false, false, 10, 8) => tile(0).shifted::<V, 1, 1, 10, 8>(target),
                    (false, true, 12, 8) => tile(0).shifted::<V, 1, 2, 12, 8>(target),
                    (false, false, 12, 8) => tile(0).shifted::<V, 1, 1, 12, 8>(target),
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

    /// The first `count` vectors of all `rows`, in tiles that fit into the registers.
    #[inline(always)]
    fn run<I: Isa, V: Vector>(self, rows: Range<usize>, count: usize, target: &mut [f32]) {
        if self.whole_rows::<I, V>(rows.clone(), count, target) {
            return;
        }
        // Narrow vectors are rare: a few kinds of tiles must do.
        let wide = V::WIDTH >= 8 || V::WIDTH == I::Wide::WIDTH;
        let (sums, most) = match (wide, self.targets().shared) {
            (true, true) => (I::SHARED, I::SHARED),
            (true, false) => (I::ALONE, COLUMNS),
            (false, _) => (4, 4),
        };
        let pieces = count.div_ceil(most).max(1);
        for piece in 0..pieces {
            let from = count * piece / pieces;
            let columns = count * (piece + 1) / pieces - from;
            let mut row = rows.start;
            while row < rows.end {
                let tile = Tile { reads: self, row, from: from * V::WIDTH, sharer: 0 };
                // SAFETY: `Correlation::checked` has seen every tap at every position, and
                // `correlate_rows` the lengths of source and target.
                unsafe {
                    if wide {
                        let height = rows_that_fit(sums, columns).min(rows.end - row);
                        let height = 1 << height.ilog2();
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

/// How many rows of `columns` vectors `sums` registers hold: a power of two.
#[inline(always)]
fn rows_that_fit(sums: usize, columns: usize) -> usize {
    1 << (sums / columns.max(1)).clamp(1, 8).ilog2()
}

/// Neighbouring positions of a group of targets.
struct Tile<'a> {
    reads: Reads<'a>,
    row: usize,
    /// Number of the row at which it starts.
    from: usize,
    /// The first of the group's targets that it is of.
    sharer: usize,
}

/// Calls `$tile.sum` with constant sizes.
macro_rules! sized {
    ($tile:ident, $vector:ident, $target:ident, $rows:expr, $columns:expr, $sharers:literal,
        [$(($r:literal, $c:literal)),* $(,)?]) => {
        match ($rows, $columns) {
            $(($r, $c) => unsafe { $tile.sum::<$vector, $sharers, $r, $c>($target) },)*
            (rows, columns) => unreachable!("no tile of {rows} × {columns}"),
        }
    };
}

impl Tile<'_> {
    /// # Safety
    /// As for `sum`.
    #[inline(always)]
    unsafe fn sized<I: Isa, V: Vector>(&self, rows: usize, columns: usize, target: &mut [f32]) {
        if self.reads.targets().shared && I::SHARED == 6 {
            sized!(
                self,
                V,
                target,
                rows,
                columns,
                4,
                [(1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (1, 6), (2, 1), (2, 2), (2, 3), (4, 1),]
            );
        } else if self.reads.targets().shared && I::SHARED == 4 {
            sized!(
                self,
                V,
                target,
                rows,
                columns,
                4,
                [(1, 1), (1, 2), (1, 3), (1, 4), (2, 1), (2, 2), (4, 1),]
            );
        } else if self.reads.targets().shared {
            sized!(self, V, target, rows, columns, 4, [(1, 1), (1, 2), (2, 1)]);
        } else {
            sized!(
                self,
                V,
                target,
                rows,
                columns,
                1,
                [
                    (1, 1),
                    (1, 2),
                    (1, 3),
                    (1, 4),
                    (1, 5),
                    (1, 6),
                    (1, 7),
                    (1, 8),
                    (1, 9),
                    (1, 10),
                    (1, 11),
                    (1, 12),
                    (2, 1),
                    (2, 2),
                    (2, 3),
                    (2, 4),
                    (2, 5),
                    (2, 6),
                    (2, 7),
                    (2, 8),
                    (2, 9),
                    (2, 10),
                    (2, 11),
                    (2, 12),
                    (4, 1),
                    (4, 2),
                    (4, 3),
                    (4, 4),
                    (4, 5),
                    (4, 6),
                    (8, 1),
                    (8, 2),
                    (8, 3),
                ]
            );
        }
    }

    /// One row of a few vectors, of one or several targets.
    ///
    /// # Safety
    /// As for `sum`.
    #[inline(always)]
    unsafe fn small<V: Vector, const COLUMNS: usize>(&self, target: &mut [f32]) {
        // SAFETY: as the caller promises.
        unsafe {
            if self.reads.targets().shared {
                self.sum::<V, SHARERS, 1, COLUMNS>(target);
            } else {
                self.sum::<V, 1, 1, COLUMNS>(target);
            }
        }
    }

    /// `ROWS` × `COLUMNS` vectors of `SHARERS` targets, held in registers while the taps
    /// pass by.
    ///
    /// # Safety
    /// Every tap of the correlation at every position of the tile is inside of the source,
    /// every position inside of the target, every weight and bias among the values.
    #[inline(always)]
    unsafe fn sum<V: Vector, const SHARERS: usize, const ROWS: usize, const COLUMNS: usize>(
        &self,
        target: &mut [f32],
    ) {
        let Call { correlation, lanes, values, .. } = self.reads.call;
        let source_row = correlation.grid.source_row << lanes;
        let step = correlation.step;
        // SAFETY: as the caller promises.
        unsafe {
            let source = self.source();
            let values = values.as_ptr();
            let mut sums = [[[V::splat(0.0); COLUMNS]; ROWS]; SHARERS];
            self.begin::<V, SHARERS, ROWS, COLUMNS>(target, &mut sums);
            for column in 0..correlation.column_shifts.len() {
                for tap in self.reads.taps(column) {
                    let source = source.add((tap.offset as usize) << lanes);
                    let weight = values.add(tap.weight as usize);
                    let weights: [V; SHARERS] =
                        std::array::from_fn(|sharer| V::splat(*weight.add(sharer * step)));
                    for row in 0..ROWS {
                        for column in 0..COLUMNS {
                            let x = V::load(source.add(row * source_row + column * V::WIDTH));
                            for sharer in 0..SHARERS {
                                let sum = &mut sums[sharer][row][column];
                                *sum = sum.add_product(weights[sharer], x);
                            }
                        }
                    }
                }
            }
            self.end::<V, SHARERS, ROWS, COLUMNS>(&sums, target);
        }
    }

    /// The same for whole rows, of which each tap sees `SEEN` neighbours.
    ///
    /// # Safety
    /// As for `sum`; the column shifts are `SEEN - COLUMNS..=0` or some of them.
    #[inline(always)]
    unsafe fn shifted<
        V: Vector,
        const SHARERS: usize,
        const ROWS: usize,
        const COLUMNS: usize,
        const SEEN: usize,
    >(
        &self,
        target: &mut [f32],
    ) {
        // SAFETY: as the caller promises.
        unsafe {
            let mut sums = [[[V::splat(0.0); COLUMNS]; ROWS]; SHARERS];
            self.begin::<V, SHARERS, ROWS, COLUMNS>(target, &mut sums);
            for (index, &shift) in self.reads.call.correlation.column_shifts.iter().enumerate() {
                let taps = self.reads.taps(index);
                // Constants, so that every sum has a register of its own.
                match -shift {
                    0 => self.seen::<V, 0, SHARERS, ROWS, COLUMNS, SEEN>(taps, &mut sums),
                    1 => self.seen::<V, 1, SHARERS, ROWS, COLUMNS, SEEN>(taps, &mut sums),
                    2 => self.seen::<V, 2, SHARERS, ROWS, COLUMNS, SEEN>(taps, &mut sums),
                    3 => self.seen::<V, 3, SHARERS, ROWS, COLUMNS, SEEN>(taps, &mut sums),
                    4 => self.seen::<V, 4, SHARERS, ROWS, COLUMNS, SEEN>(taps, &mut sums),
                    shift => unreachable!("a column shift of {shift}"),
                }
            }
            self.end::<V, SHARERS, ROWS, COLUMNS>(&sums, target);
        }
    }

    /// Adds taps that see the columns `FIRST..FIRST + SEEN`.
    ///
    /// # Safety
    /// As for `sum`.
    #[inline(always)]
    unsafe fn seen<
        V: Vector,
        const FIRST: usize,
        const SHARERS: usize,
        const ROWS: usize,
        const COLUMNS: usize,
        const SEEN: usize,
    >(
        &self,
        taps: &[Tap],
        sums: &mut [[[V; COLUMNS]; ROWS]; SHARERS],
    ) {
        let Call { correlation, lanes, values, .. } = self.reads.call;
        let source_row = correlation.grid.source_row << lanes;
        let step = correlation.step;
        // SAFETY: as the caller promises.
        unsafe {
            let source = self.source();
            let values = values.as_ptr().add(self.sharer * step);
            for tap in taps {
                let source = source.add((tap.offset as usize) << lanes);
                let weight = values.add(tap.weight as usize);
                let weights: [V; SHARERS] =
                    std::array::from_fn(|sharer| V::splat(*weight.add(sharer * step)));
                for row in 0..ROWS {
                    for column in FIRST..(FIRST + SEEN).min(COLUMNS) {
                        let x = V::load(source.add(row * source_row + column * V::WIDTH));
                        for sharer in 0..SHARERS {
                            let sum = &mut sums[sharer][row][column];
                            *sum = sum.add_product(weights[sharer], x);
                        }
                    }
                }
            }
        }
    }

    /// What the tile's first position reads with offset 0.
    ///
    /// # Safety
    /// As for `sum`.
    #[inline(always)]
    unsafe fn source(&self) -> *const f32 {
        let Call { correlation, lanes, source, .. } = self.reads.call;
        let row = (self.row * correlation.grid.source_row) << lanes;
        // SAFETY: as the caller promises.
        unsafe { source.as_ptr().add(row + self.from) }
    }

    /// Where the tile's first position stands in the target of a sharer.
    ///
    /// # Safety
    /// As for `sum`.
    #[inline(always)]
    unsafe fn place(&self, sharer: usize) -> usize {
        let Call { correlation, lanes, .. } = self.reads.call;
        let target = self.reads.targets().first as usize + self.sharer + sharer;
        // SAFETY: as the caller promises.
        let target = unsafe { *correlation.targets.get_unchecked(target) as usize };
        let start = (target + self.row * correlation.grid.target_row) << lanes;
        start + self.from
    }

    /// What the sums start from.
    ///
    /// # Safety
    /// As for `sum`.
    #[inline(always)]
    unsafe fn begin<V: Vector, const SHARERS: usize, const ROWS: usize, const COLUMNS: usize>(
        &self,
        target: &[f32],
        sums: &mut [[[V; COLUMNS]; ROWS]; SHARERS],
    ) {
        let Call { correlation, values, lanes, .. } = self.reads.call;
        let first = self.reads.targets().first as usize + self.sharer;
        let target_row = correlation.grid.target_row << lanes;
        for (sharer, sums) in sums.iter_mut().enumerate() {
            match self.reads.start {
                Start::Bias => {
                    let bias = correlation.biases.get(first + sharer).copied().unwrap_or(NONE);
                    if bias != NONE {
                        *sums = [[V::splat(values[bias as usize]); COLUMNS]; ROWS];
                    }
                }
                // SAFETY: as the caller promises.
                Start::Target => unsafe {
                    let target = target.as_ptr().add(self.place(sharer));
                    for (row, sums) in sums.iter_mut().enumerate() {
                        for (column, sum) in sums.iter_mut().enumerate() {
                            *sum = V::load(target.add(row * target_row + column * V::WIDTH));
                        }
                    }
                },
            }
        }
    }

    /// Where the sums go.
    ///
    /// # Safety
    /// As for `sum`.
    #[inline(always)]
    unsafe fn end<V: Vector, const SHARERS: usize, const ROWS: usize, const COLUMNS: usize>(
        &self,
        sums: &[[[V; COLUMNS]; ROWS]; SHARERS],
        target: &mut [f32],
    ) {
        let Call { correlation, lanes, .. } = self.reads.call;
        let target_row = correlation.grid.target_row << lanes;
        for (sharer, sums) in sums.iter().enumerate() {
            // SAFETY: as the caller promises.
            unsafe {
                let target = target.as_mut_ptr().add(self.place(sharer));
                for (row, sums) in sums.iter().enumerate() {
                    for (column, sum) in sums.iter().enumerate() {
                        sum.store(target.add(row * target_row + column * V::WIDTH));
                    }
                }
            }
        }
    }
}
