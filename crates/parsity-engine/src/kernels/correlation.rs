//! Sums of weighted rows: a convolution forward, and its gradient by the input.
//!
//! Both add, at every position of a *target* channel, numbers of a *source* times weights.
//! What is read is a list of taps, each with the offset of what it reads and the place of
//! its weight; the lists are made once, when a network meets its pattern, and the loops
//! know nothing of channels, kernels, padding or pruning. Where nothing was pruned,
//! neighbouring targets read the same, so four of them share the reading.
//!
//! Construction is checked, the inner loops are not: `Correlation::new` proves that no tap
//! reads outside of its source and no target lies outside of its value.

#![allow(unsafe_code)]

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
    /// Distance of what two neighbouring positions, and two rows, read.
    pub(crate) source_stride: usize,
    pub(crate) source_row: usize,
    /// Distance of two neighbouring positions, and two rows, of the target.
    pub(crate) target_stride: usize,
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
    /// Taps of (block, group, band): `starts[i]..starts[i + 1]`, in this order. A *block*
    /// is as many source channels as the nearest cache has room for.
    pub(crate) starts: Vec<u32>,
    pub(crate) groups: Vec<Group>,
    /// A *band* holds taps that read the same row. Row `y` needs the bands whose
    /// `shift` has `y + shift` inside of `0..source_rows`; shifts ascend.
    pub(crate) bands: Vec<isize>,
    pub(crate) source_rows: usize,
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
        let Grid { height, width, source_stride, source_row, target_stride, target_row } =
            self.grid;
        assert!(height > 0 && width > 0, "a correlation has positions");
        assert!(self.bands.is_sorted(), "bands are sorted");
        assert_eq!((self.starts.len() - 1) % (self.groups.len() * self.bands.len()).max(1), 0);
        assert!(self.starts.is_sorted() && self.starts.last() == Some(&(self.taps.len() as u32)));
        let last = (height - 1) * source_row + (width - 1) * source_stride;
        let inside = self.taps.iter().all(|tap| (tap.offset as usize + last) < self.source_len);
        assert!(inside, "a tap reads outside of its source");
        for block in 0..self.blocks() {
            for (index, group) in self.groups.iter().enumerate() {
                let reach = (group.targets() - 1) * self.step;
                let mut taps = self.taps(block, index, 0..self.bands.len()).iter();
                assert!(taps.all(|tap| tap.weight as usize + reach < values), "no such weight");
            }
        }
        let last = (height - 1) * target_row + (width - 1) * target_stride;
        let inside = self.targets.iter().all(|&start| (start as usize + last) < self.target_len);
        assert!(inside, "a target lies outside of its value");
        let named = |group: &Group| group.first as usize + group.targets() <= self.targets.len();
        assert!(self.groups.iter().all(named), "a group has no target");
        assert!(self.biases.is_empty() || self.biases.len() == self.targets.len());
        assert!(self.biases.iter().all(|&place| place == NONE || (place as usize) < values));
        self
    }

    pub(crate) fn blocks(&self) -> usize {
        (self.starts.len() - 1) / (self.groups.len() * self.bands.len()).max(1)
    }

    /// The taps of a group in a block that read the bands `bands`.
    #[inline(always)]
    pub(crate) fn taps(&self, block: usize, group: usize, bands: Range<usize>) -> &[Tap] {
        let first = (block * self.groups.len() + group) * self.bands.len();
        let (start, end) = (self.starts[first + bands.start], self.starts[first + bands.end]);
        &self.taps[start as usize..end as usize]
    }

    /// The bands that any of `rows` needs.
    #[inline(always)]
    fn bands(&self, rows: &Range<usize>) -> Range<usize> {
        let (first, last) = (rows.start as isize, rows.end as isize - 1);
        let start = self.bands.partition_point(|&shift| last + shift < 0);
        let end = self.bands.partition_point(|&shift| first + shift < self.source_rows as isize);
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

/// Vectors side by side in a row: `count` of them, from number `first` of a row on.
#[derive(Debug, Clone, Copy)]
struct Run {
    source: usize,
    target: usize,
    count: usize,
    source_hop: usize,
    target_hop: usize,
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
    let Grid { width, source_stride, target_stride, .. } = correlation.grid;
    let contiguous = source_stride == 1 && target_stride == 1;
    let row = if contiguous { width << lanes } else { 1 << lanes };
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
        let Grid { height, width, source_stride, target_stride, .. } = self.correlation.grid;
        let contiguous = source_stride == 1 && target_stride == 1;
        // A row is one run of vectors, or (with strides) one per part of a position.
        let (parts, count) = if contiguous {
            (1, (width << self.lanes) / V::WIDTH)
        } else {
            ((1 << self.lanes) / V::WIDTH, width)
        };
        let hop = |stride: usize| if contiguous { V::WIDTH } else { stride << self.lanes };
        let columns = count.div_ceil(count.div_ceil(COLUMNS).max(1)).max(1);
        let strip = rows_that_fit(I::ALONE, columns);
        let mut row = 0;
        while row < height {
            let rows = row..(row + strip).min(height);
            let bands = self.correlation.bands(&rows);
            for block in 0..self.correlation.blocks() {
                let start = if block == 0 { self.start } else { Start::Target };
                for (index, &group) in self.correlation.groups.iter().enumerate() {
                    let taps = self.correlation.taps(block, index, bands.clone());
                    if taps.is_empty() && start == Start::Target {
                        continue;
                    }
                    for part in 0..parts {
                        let first = part * V::WIDTH;
                        let run = Run {
                            source: first,
                            target: first,
                            count,
                            source_hop: hop(source_stride),
                            target_hop: hop(target_stride),
                        };
                        self.run::<I, V>(taps, group, start, rows.clone(), run, target);
                    }
                    if contiguous {
                        let done = count * V::WIDTH;
                        self.rest::<I, V>(taps, group, start, rows.clone(), done, target);
                    }
                }
            }
            row = rows.end;
        }
    }

    /// What is left of each row after number `done`: less than a vector.
    #[inline(always)]
    fn rest<I: Isa, V: Vector>(
        self,
        taps: &[Tap],
        group: Group,
        start: Start,
        rows: Range<usize>,
        done: usize,
        target: &mut [f32],
    ) {
        let length = self.correlation.grid.width << self.lanes;
        for row in rows {
            let mut done = done;
            while done < length {
                let run =
                    Run { source: done, target: done, count: 1, source_hop: 0, target_hop: 0 };
                let tile = Tile { call: self, taps, group, start, row, run, from: 0 };
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

    /// A run of vectors of all `rows`, in tiles that fit into the registers.
    #[inline(always)]
    fn run<I: Isa, V: Vector>(
        self,
        taps: &[Tap],
        group: Group,
        start: Start,
        rows: Range<usize>,
        run: Run,
        target: &mut [f32],
    ) {
        // Narrow vectors are rare: a few kinds of tiles must do.
        let wide = V::WIDTH >= 8 || V::WIDTH == I::Wide::WIDTH;
        let (sums, most) = match (wide, group.shared) {
            (true, true) => (I::SHARED, I::SHARED),
            (true, false) => (I::ALONE, COLUMNS),
            (false, _) => (4, 4),
        };
        let pieces = run.count.div_ceil(most).max(1);
        for piece in 0..pieces {
            let from = run.count * piece / pieces;
            let columns = run.count * (piece + 1) / pieces - from;
            let mut row = rows.start;
            while row < rows.end {
                let tile = Tile { call: self, taps, group, start, row, run, from };
                // SAFETY: `Correlation::checked` has seen every tap at every position, and
                // `correlate_rows` the lengths of source and target.
                unsafe {
                    if wide {
                        let height = rows_that_fit(sums, columns).min(rows.end - row);
                        let height = 1 << height.ilog2();
                        if run.source_hop == V::WIDTH && run.target_hop == V::WIDTH {
                            tile.sized::<I, V, true>(height, columns, target);
                        } else {
                            tile.sized::<I, V, false>(height, columns, target);
                        }
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
    call: Call<'a>,
    taps: &'a [Tap],
    group: Group,
    start: Start,
    row: usize,
    run: Run,
    from: usize,
}

/// Calls `$tile.sum` with constant sizes.
macro_rules! sized {
    ($tile:ident, $vector:ident, $target:ident, $rows:expr, $columns:expr, $sharers:literal,
        [$(($r:literal, $c:literal)),* $(,)?]) => {
        match ($rows, $columns) {
            $(($r, $c) => unsafe { $tile.sum::<$vector, NEXT, $sharers, $r, $c>($target) },)*
            (rows, columns) => unreachable!("no tile of {rows} × {columns}"),
        }
    };
}

impl Tile<'_> {
    /// # Safety
    /// As for `sum`.
    #[inline(always)]
    unsafe fn sized<I: Isa, V: Vector, const NEXT: bool>(
        &self,
        rows: usize,
        columns: usize,
        target: &mut [f32],
    ) {
        if self.group.shared && I::SHARED == 6 {
            sized!(
                self,
                V,
                target,
                rows,
                columns,
                4,
                [(1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (1, 6), (2, 1), (2, 2), (2, 3), (4, 1),]
            );
        } else if self.group.shared && I::SHARED == 4 {
            sized!(
                self,
                V,
                target,
                rows,
                columns,
                4,
                [(1, 1), (1, 2), (1, 3), (1, 4), (2, 1), (2, 2), (4, 1),]
            );
        } else if self.group.shared {
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
            if self.group.shared {
                self.sum::<V, false, SHARERS, 1, COLUMNS>(target);
            } else {
                self.sum::<V, false, 1, 1, COLUMNS>(target);
            }
        }
    }

    /// `ROWS` × `COLUMNS` vectors of `SHARERS` targets, held in registers while the taps
    /// pass by. `NEXT`: neighbouring vectors stand side by side.
    ///
    /// # Safety
    /// Every tap of the correlation at every position of the tile is inside of the source,
    /// every position inside of the target, every weight and bias among the values.
    #[inline(always)]
    unsafe fn sum<
        V: Vector,
        const NEXT: bool,
        const SHARERS: usize,
        const ROWS: usize,
        const COLUMNS: usize,
    >(
        &self,
        target: &mut [f32],
    ) {
        let Call { correlation, lanes, values, source, .. } = self.call;
        let Correlation { grid, step, targets, biases, .. } = correlation;
        let (step, first, run) = (*step, self.group.first as usize, self.run);
        let (source_row, target_row) = (grid.source_row << lanes, grid.target_row << lanes);
        let source_hop = if NEXT { V::WIDTH } else { run.source_hop };
        let target_hop = if NEXT { V::WIDTH } else { run.target_hop };
        // SAFETY: as the caller promises, here and below.
        unsafe {
            let source = source
                .as_ptr()
                .add(self.row * source_row + run.source + self.from * run.source_hop);
            let values = values.as_ptr();
            let target = target
                .as_mut_ptr()
                .add(self.row * target_row + run.target + self.from * run.target_hop);
            let place = |sharer: usize| (*targets.get_unchecked(first + sharer) as usize) << lanes;
            let mut sums = [[[V::splat(0.0); COLUMNS]; ROWS]; SHARERS];
            for (sharer, sums) in sums.iter_mut().enumerate() {
                match self.start {
                    Start::Bias => {
                        let bias = biases.get(first + sharer).copied().unwrap_or(NONE);
                        if bias != NONE {
                            *sums = [[V::splat(*values.add(bias as usize)); COLUMNS]; ROWS];
                        }
                    }
                    Start::Target => {
                        let target = target.add(place(sharer));
                        for (row, sums) in sums.iter_mut().enumerate() {
                            for (column, sum) in sums.iter_mut().enumerate() {
                                let hop = row * target_row + column * target_hop;
                                *sum = V::load(target.add(hop));
                            }
                        }
                    }
                }
            }
            for tap in self.taps {
                let source = source.add((tap.offset as usize) << lanes);
                let weight = values.add(tap.weight as usize);
                let weights: [V; SHARERS] =
                    std::array::from_fn(|sharer| V::splat(*weight.add(sharer * step)));
                for row in 0..ROWS {
                    for column in 0..COLUMNS {
                        let x = V::load(source.add(row * source_row + column * source_hop));
                        for sharer in 0..SHARERS {
                            let sum = &mut sums[sharer][row][column];
                            *sum = sum.add_product(weights[sharer], x);
                        }
                    }
                }
            }
            for (sharer, sums) in sums.iter().enumerate() {
                let target = target.add(place(sharer));
                for (row, sums) in sums.iter().enumerate() {
                    for (column, sum) in sums.iter().enumerate() {
                        sum.store(target.add(row * target_row + column * target_hop));
                    }
                }
            }
        }
    }
}
