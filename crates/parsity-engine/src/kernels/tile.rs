//! A tile: sums of neighbouring positions of a group of targets, held in registers.
//!
//! The innermost loops of a correlation. Apart from what decides which tiles there are.

#![allow(unsafe_code)]
// Constant indices are names of registers.
#![allow(clippy::needless_range_loop)]

use super::LANES;
use super::correlation::{Call, Reads};
use super::isa::Isa;
use super::steps::Ahead;
use super::stretches::{ASTRIDE, BESIDE, KINDS, LONGEST, ONE, THREE};
use super::taps::{Noted, SHARERS, Turn};
use super::vector::{Vector, at_hand};
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
        _ => 4,
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

/// Adds what the taps of a stretch of kind `KIND` read, times their weights.
///
/// # Safety
/// It reads numbers that are there.
#[inline(always)]
unsafe fn add<V: Vector, const KIND: usize, const ROWS: usize, const COLUMNS: usize>(
    (source, weights): (*const f32, &[f32; LONGEST]),
    source_row: usize,
    sums: &mut [[V; COLUMNS]; ROWS],
) {
    let distances = KINDS[KIND];
    // Vectors from one position to the next.
    let apart = LANES / V::WIDTH;
    let mut splats = [V::splat(0.0); LONGEST];
    for tap in 0..distances.len() {
        splats[tap] = V::splat(weights[tap]);
    }
    for row in 0..ROWS {
        // SAFETY: as the caller promises.
        unsafe {
            let source = at_hand(source.add(row * source_row));
            let last = distances[distances.len() - 1] as usize * apart;
            for column in 0..COLUMNS + last {
                let x = V::load(source.add(column * V::WIDTH));
                for tap in 0..distances.len() {
                    let behind = distances[tap] as usize * apart;
                    if column >= behind && column - behind < COLUMNS {
                        let sum = &mut sums[row][column - behind];
                        *sum = sum.add_product(splats[tap], x);
                    }
                }
            }
        }
    }
}

/// Adds what a tap reads, times its weight, to the columns `FIRST..FIRST + SEEN`.
///
/// # Safety
/// It reads numbers that are there.
#[inline(always)]
unsafe fn add_seen<
    V: Vector,
    const FIRST: usize,
    const ROWS: usize,
    const COLUMNS: usize,
    const SEEN: usize,
>(
    (source, weights): (*const f32, &[f32; LONGEST]),
    source_row: usize,
    sums: &mut [[V; COLUMNS]; ROWS],
) {
    let weight = V::splat(weights[0]);
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
                    (2, 1),
                    (2, 2),
                    (2, 3),
                    (2, 4),
                    (2, 5),
                    (2, 6),
                    (2, 7),
                    (2, 8),
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
        // Shifts lie side by side: if all of them matter, so do all taps.
        let all = self.reads.shifts.len() == correlation.row_shifts.len();
        // SAFETY: as the caller promises.
        unsafe {
            let mut ahead = Ahead::new(&correlation.steps, self.source());
            for &turn in self.reads.turns {
                let mut sums = [[[V::splat(0.0); COLUMNS]; ROWS]; SHARERS];
                self.begin::<V, SHARERS, ROWS, COLUMNS>(turn, target, &mut sums);
                let group = turn.group as usize;
                if SHARERS == 1 {
                    self.alone::<V, ROWS, COLUMNS>(turn, all, &mut ahead, &mut sums[0]);
                } else if all {
                    self.shared::<V, 0, SHARERS, ROWS, COLUMNS, COLUMNS>(turn.taps(), &mut sums);
                } else {
                    for column in 0..correlation.column_shifts.len() {
                        let taps = self.reads.places(group, column);
                        self.shared::<V, 0, SHARERS, ROWS, COLUMNS, COLUMNS>(taps, &mut sums);
                    }
                }
                self.end::<V, SHARERS, ROWS, COLUMNS>(turn, &sums, target);
            }
        }
    }

    /// Adds what a target that reads alone reads in its turn, of `all` shifts or some: stretches of one
    /// kind after the other.
    ///
    /// # Safety
    /// As for `sum`.
    #[inline(always)]
    unsafe fn alone<V: Vector, const ROWS: usize, const COLUMNS: usize>(
        &self,
        turn: Turn,
        all: bool,
        ahead: &mut Ahead,
        sums: &mut [[V; COLUMNS]; ROWS],
    ) {
        let Call { correlation, lanes, .. } = self.reads.call;
        let source_row = correlation.grid.source_row << lanes;
        let Noted { step, counts, .. } = turn.noted;
        let columns = if all { 1 } else { correlation.column_shifts.len() };
        // SAFETY: as the caller promises.
        unsafe {
            ahead.go_to(step as usize);
            for column in 0..columns {
                macro_rules! kinds {
                    ($($kind:ident)*) => { $(
                        let mut count = counts[$kind] as usize;
                        if !all {
                            let steps = self.reads.steps(turn.group as usize, $kind, column);
                            ahead.go_to(steps.start);
                            count = steps.len();
                        }
                        for _ in 0..count {
                            add::<V, $kind, ROWS, COLUMNS>(ahead.take(), source_row, sums);
                        }
                    )* };
                }
                // Narrower vectors meet several images of a position, and no stretches.
                if V::WIDTH >= 4 {
                    kinds!(THREE BESIDE ASTRIDE);
                }
                kinds!(ONE);
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
            let Call { correlation, lanes, .. } = self.reads.call;
            let source_row = correlation.grid.source_row << lanes;
            let mut ahead = Ahead::new(&correlation.steps, self.source());
            for &turn in self.reads.turns {
                let group = turn.group as usize;
                let mut sums = [[[V::splat(0.0); COLUMNS]; ROWS]; SHARERS];
                self.begin::<V, SHARERS, ROWS, COLUMNS>(turn, target, &mut sums);
                for (index, &shift) in correlation.column_shifts.iter().enumerate() {
                    // Constants, so that every sum has a register of its own.
                    macro_rules! seen {
                        ($($first:literal)*) => {
                            match -shift {
                                $($first => if SHARERS == 1 {
                                    let steps = self.reads.steps(group, ONE, index);
                                    ahead.go_to(steps.start);
                                    for _ in steps {
                                        add_seen::<V, $first, ROWS, COLUMNS, SEEN>(
                                            ahead.take(), source_row, &mut sums[0],
                                        );
                                    }
                                } else {
                                    let taps = self.reads.places(group, index);
                                    self.shared::<V, $first, SHARERS, ROWS, COLUMNS, SEEN>(
                                        taps, &mut sums,
                                    );
                                })*
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

    /// Adds the taps at `taps`, which see the columns `FIRST..FIRST + SEEN`, of targets that share what
    /// they read.
    ///
    /// # Safety
    /// As for `sum`.
    #[inline(always)]
    unsafe fn shared<
        V: Vector,
        const FIRST: usize,
        const SHARERS: usize,
        const ROWS: usize,
        const COLUMNS: usize,
        const SEEN: usize,
    >(
        &self,
        taps: Range<usize>,
        sums: &mut [[[V; COLUMNS]; ROWS]; SHARERS],
    ) {
        let Call { correlation, lanes, values, .. } = self.reads.call;
        let source_row = correlation.grid.source_row << lanes;
        let step = correlation.step;
        // SAFETY: as the caller promises.
        unsafe {
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
}
