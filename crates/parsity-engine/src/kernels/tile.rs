//! A tile: sums of neighbouring positions of a group of targets, held in registers.
//!
//! The innermost loops of a correlation. Apart from what decides which tiles there are.

#![allow(unsafe_code)]
// Constant indices are names of registers.
#![allow(clippy::needless_range_loop)]

use super::LANES;
use super::correlation::{Call, Finish, Pooled, Reads, Start};
use super::finish::finish_tile;
use super::isa::Isa;
use super::steps::Ahead;
use super::taps::{NONE, SHARERS, Turn};
use super::vector::{Vector, at_hand};
use crate::shape::Shape;
use std::ops::Range;

/// How many rows of `columns` vectors `sums` registers hold, of the numbers of rows that tiles have.
#[inline(always)]
pub(super) fn rows_that_fit(sums: usize, columns: usize) -> usize {
    rows_of_a_tile(sums / columns.max(1))
}

/// The most rows of a tile that are at most `rows`.
#[inline(always)]
pub(super) fn rows_of_a_tile(rows: usize) -> usize {
    match rows {
        0 | 1 => 1,
        2 | 3 => rows,
        4..8 => 4,
        _ => 8,
    }
}

/// Neighbouring positions of groups of targets, one group after the other.
pub(super) struct Tile<'a> {
    pub(super) reads: Reads<'a>,
    pub(super) row: usize,
    /// Number of the row at which it starts.
    pub(super) from: usize,
    /// The first of a group's targets that it is of.
    pub(super) sharer: usize,
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

/// Adds what a tap reads, times its weight, to the columns `FIRST..FIRST + SEEN`.
///
/// # Safety
/// It reads numbers that are there.
#[inline(always)]
unsafe fn add<
    V: Vector,
    const FIRST: usize,
    const ROWS: usize,
    const COLUMNS: usize,
    const SEEN: usize,
>(
    (source, weight): (*const f32, V),
    source_row: usize,
    sums: &mut [[V; COLUMNS]; ROWS],
) {
    for row in 0..ROWS {
        // SAFETY: as the caller promises.
        unsafe {
            let source = at_hand(source.add(row * source_row));
            for column in FIRST..(FIRST + SEEN).min(COLUMNS) {
                let x = V::load(source.add(column * V::WIDTH));
                sums[row][column] = sums[row][column].add_product(weight, x);
            }
        }
    }
}

impl Tile<'_> {
    /// # Safety
    /// As for `sum`.
    #[inline(always)]
    pub(super) unsafe fn sized<I: Isa, V: Vector>(
        &self,
        rows: usize,
        columns: usize,
        target: &mut [f32],
    ) {
        if self.reads.shared && I::SHARED == 6 {
            sized!(
                self,
                V,
                target,
                rows,
                columns,
                4,
                [
                    (1, 1),
                    (1, 2),
                    (1, 3),
                    (1, 4),
                    (1, 5),
                    (1, 6),
                    (2, 1),
                    (2, 2),
                    (2, 3),
                    (3, 1),
                    (3, 2),
                    (4, 1),
                ]
            );
        } else if self.reads.shared && I::SHARED == 4 {
            sized!(
                self,
                V,
                target,
                rows,
                columns,
                4,
                [(1, 1), (1, 2), (1, 3), (1, 4), (2, 1), (2, 2), (3, 1), (4, 1),]
            );
        } else if self.reads.shared {
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
                    (3, 1),
                    (3, 2),
                    (3, 3),
                    (3, 4),
                    (3, 5),
                    (3, 6),
                    (3, 7),
                    (3, 8),
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
    pub(super) unsafe fn small<V: Vector, const COLUMNS: usize>(&self, target: &mut [f32]) {
        // SAFETY: as the caller promises.
        unsafe {
            if self.reads.shared {
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
    pub(super) unsafe fn sum<
        V: Vector,
        const SHARERS: usize,
        const ROWS: usize,
        const COLUMNS: usize,
    >(
        &self,
        target: &mut [f32],
    ) {
        let correlation = self.reads.call.correlation;
        let all = self.reads.shifts.len() == correlation.row_shifts.len();
        // SAFETY: as the caller promises.
        unsafe {
            let mut ahead = Ahead::new(&correlation.steps, self.source());
            for &turn in self.reads.turns {
                let group = turn.group as usize;
                let mut sums = [[[V::splat(0.0); COLUMNS]; ROWS]; SHARERS];
                self.begin::<V, SHARERS, ROWS, COLUMNS>(turn, target, &mut sums);
                // Shifts lie side by side: if all of them matter, so do all taps.
                if all {
                    let taps = turn.taps();
                    self.seen::<V, 0, SHARERS, ROWS, COLUMNS, COLUMNS>(taps, &mut ahead, &mut sums);
                } else {
                    for column in 0..correlation.column_shifts.len() {
                        let taps = self.reads.places(group, column);
                        self.seen::<V, 0, SHARERS, ROWS, COLUMNS, COLUMNS>(
                            taps, &mut ahead, &mut sums,
                        );
                    }
                }
                self.end::<V, SHARERS, ROWS, COLUMNS>(turn, &sums, target);
            }
        }
    }

    /// The same for whole rows, of which each tap sees `SEEN` neighbours.
    ///
    /// # Safety
    /// As for `sum`; the column shifts are `SEEN - COLUMNS..=0` or some of them.
    #[inline(always)]
    pub(super) unsafe fn shifted<
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
            let correlation = self.reads.call.correlation;
            let mut ahead = Ahead::new(&correlation.steps, self.source());
            for &turn in self.reads.turns {
                let group = turn.group as usize;
                let mut sums = [[[V::splat(0.0); COLUMNS]; ROWS]; SHARERS];
                self.begin::<V, SHARERS, ROWS, COLUMNS>(turn, target, &mut sums);
                for (index, &shift) in correlation.column_shifts.iter().enumerate() {
                    let taps = self.reads.places(group, index);
                    // Constants, so that every sum has a register of its own.
                    macro_rules! seen {
                        ($($first:literal)*) => {
                            match -shift {
                                $($first => self.seen::<V, $first, SHARERS, ROWS, COLUMNS, SEEN>(
                                    taps, &mut ahead, &mut sums,
                                ),)*
                                shift => unreachable!("a column shift of {shift}"),
                            }
                        };
                    }
                    seen!(0 1 2 3 4);
                }
                self.end::<V, SHARERS, ROWS, COLUMNS>(turn, &sums, target);
            }
        }
    }

    /// Adds the taps at `taps`, which see the columns `FIRST..FIRST + SEEN`. A lone target looks
    /// ahead.
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
        taps: Range<usize>,
        ahead: &mut Ahead,
        sums: &mut [[[V; COLUMNS]; ROWS]; SHARERS],
    ) {
        let Call { correlation, lanes, values, .. } = self.reads.call;
        let source_row = correlation.grid.source_row << lanes;
        let step = correlation.step;
        // SAFETY: as the caller promises.
        unsafe {
            if SHARERS == 1 {
                ahead.go_to(taps.start);
                let sums = &mut sums[0];
                // Lists that are told apart by column are short.
                let pairs = if SEEN == COLUMNS { taps.len() / 2 } else { 0 };
                for _ in 0..pairs {
                    let [one, other] = ahead.take_two::<V>();
                    add::<V, FIRST, ROWS, COLUMNS, SEEN>(one, source_row, sums);
                    add::<V, FIRST, ROWS, COLUMNS, SEEN>(other, source_row, sums);
                }
                for _ in 2 * pairs..taps.len() {
                    let last = ahead.take::<V>();
                    add::<V, FIRST, ROWS, COLUMNS, SEEN>(last, source_row, sums);
                }
                return;
            }
            let source = self.source();
            let values = values.as_ptr().add(self.sharer * step);
            for tap in &correlation.taps[taps] {
                let source = source.add((tap.offset as usize) << lanes);
                let weight = values.add(tap.weight as usize);
                let weights: [V; SHARERS] =
                    std::array::from_fn(|sharer| V::splat(*weight.add(sharer * step)));
                for row in 0..ROWS {
                    let source = source.add(row * source_row);
                    for column in FIRST..(FIRST + SEEN).min(COLUMNS) {
                        let x = V::load(source.add(column * V::WIDTH));
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
    unsafe fn place(&self, turn: Turn, sharer: usize) -> usize {
        let Call { correlation, lanes, first, .. } = self.reads.call;
        let target = match self.sharer + sharer {
            0 => turn.noted.place as usize,
            sharer => {
                let target = turn.noted.target as usize + sharer;
                // SAFETY: as the caller promises.
                unsafe { *correlation.targets.get_unchecked(target) as usize }
            }
        };
        let start = (target + (self.row - first) * correlation.grid.target_row) << lanes;
        start + self.from
    }

    /// What the sums start from.
    ///
    /// # Safety
    /// As for `sum`.
    #[inline(always)]
    unsafe fn begin<V: Vector, const SHARERS: usize, const ROWS: usize, const COLUMNS: usize>(
        &self,
        turn: Turn,
        target: &[f32],
        sums: &mut [[[V; COLUMNS]; ROWS]; SHARERS],
    ) {
        let Call { correlation, values, lanes, .. } = self.reads.call;
        let first = turn.noted.target as usize + self.sharer;
        let target_row = correlation.grid.target_row << lanes;
        for (sharer, sums) in sums.iter_mut().enumerate() {
            let bias = match turn.begins {
                true if SHARERS == 1 => turn.noted.bias,
                true => correlation.biases.get(first + sharer).copied().unwrap_or(NONE),
                false => NONE,
            };
            if bias != NONE {
                *sums = [[V::splat(values[bias as usize]); COLUMNS]; ROWS];
            }
            if self.reads.start(turn) == Start::Bias {
                continue;
            }
            // SAFETY: as the caller promises.
            unsafe {
                let target = target.as_ptr().add(self.place(turn, sharer));
                for (row, sums) in sums.iter_mut().enumerate() {
                    for (column, sum) in sums.iter_mut().enumerate() {
                        let stands = V::load(target.add(row * target_row + column * V::WIDTH));
                        *sum = if bias == NONE {
                            stands
                        } else {
                            sum.add_product(V::splat(1.0), stands)
                        };
                    }
                }
            }
        }
    }

    /// Where the sums go, and what becomes of them there.
    ///
    /// # Safety
    /// As for `sum`.
    #[inline(always)]
    unsafe fn end<V: Vector, const SHARERS: usize, const ROWS: usize, const COLUMNS: usize>(
        &self,
        turn: Turn,
        sums: &[[[V; COLUMNS]; ROWS]; SHARERS],
        target: &mut [f32],
    ) {
        let Call { correlation, lanes, .. } = self.reads.call;
        let finish = self.reads.finish(turn);
        let target_row = correlation.grid.target_row << lanes;
        let of = turn.noted.target as usize + self.sharer;
        let rectify = SHARERS == 1 && matches!(finish, Finish::Rectify);
        if let Finish::Pool(pooled) = finish {
            // SAFETY: as the caller promises.
            return unsafe { self.pool(of, &sums[0], pooled) };
        }
        for (sharer, sums) in sums.iter().enumerate() {
            // SAFETY: as the caller promises.
            unsafe {
                let start = self.place(turn, sharer);
                let target = target.as_mut_ptr().add(start);
                if let (1, Finish::Mask(numbers), Some(mask)) = (SHARERS, finish, &correlation.mask)
                {
                    let deciding =
                        numbers.as_ptr().add(mask.place(of, self.row, lanes) + self.from);
                    let deciding_row = mask.row << lanes;
                    for (row, sums) in sums.iter().enumerate() {
                        for (column, sum) in sums.iter().enumerate() {
                            let column = column * V::WIDTH;
                            let deciding = V::load(deciding.add(row * deciding_row + column));
                            let sum = sum.where_positive(deciding);
                            sum.store(target.add(row * target_row + column));
                        }
                    }
                    return;
                }
                for (row, sums) in sums.iter().enumerate() {
                    for (column, sum) in sums.iter().enumerate() {
                        let sum = if rectify { sum.at_least(V::splat(0.0)) } else { *sum };
                        sum.store(target.add(row * target_row + column * V::WIDTH));
                    }
                }
            }
        }
        if !rectify && !matches!(finish, Finish::Keep) {
            finish_tile(self, of..of + SHARERS, (ROWS, COLUMNS * V::WIDTH), target);
        }
    }

    /// Pools the sums of target `of`, in windows of two by two, where a vector is one position.
    ///
    /// # Safety
    /// As for `sum`; there is room for the windows of all targets, and nobody else is at it.
    #[inline(always)]
    unsafe fn pool<V: Vector, const ROWS: usize, const COLUMNS: usize>(
        &self,
        of: usize,
        sums: &[[V; COLUMNS]; ROWS],
        pooled: &Pooled,
    ) {
        if !ROWS.is_multiple_of(2) || !COLUMNS.is_multiple_of(2) || V::WIDTH != LANES {
            unreachable!("windows lie in one tile");
        }
        let Shape { height, width, .. } = pooled.value.shape;
        let (row, column) = (self.row / 2, self.from / LANES / 2);
        let (zero, mut wilds) = (V::splat(0.0), [V::splat(0.0); 4]);
        // SAFETY: as the caller promises.
        unsafe {
            for pair in 0..ROWS / 2 {
                let place = pooled.value.row(of, row + pair) + column;
                let code = (of * height + row + pair) * width + column;
                for at in 0..COLUMNS / 2 {
                    let [left, right] = [2 * at, 2 * at + 1];
                    let (upper, lower) = (sums[2 * pair], sums[2 * pair + 1]);
                    let window = [upper[left], upper[right], lower[left], lower[right]];
                    let highest = match pooled.memory {
                        Some((codes, _)) => {
                            for (wild, number) in wilds.iter_mut().zip(window) {
                                *wild = wild.add_product(number, zero);
                            }
                            V::highest(window, codes.add((code + at) * LANES))
                        }
                        None => {
                            let [a, b, c, d] = window;
                            a.at_least(b).at_least(c).at_least(d).at_least(zero)
                        }
                    };
                    highest.store(pooled.numbers.add((place + at) * LANES));
                }
            }
            if let Some((_, wild)) = pooled.memory {
                let [a, b, c, d] = wilds;
                let sum = V::load(wild.cast()).plus(a.plus(b)).plus(c.plus(d));
                sum.store(wild.cast());
            }
        }
    }
}
