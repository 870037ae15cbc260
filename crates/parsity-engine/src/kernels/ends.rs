//! The ends of a tile: what its sums start from, where they go, and what becomes of them there.
//!
//! Apart from the loops over taps, which know nothing of biases, masks and pools.

#![allow(unsafe_code)]
// Constant indices are names of registers.
#![allow(clippy::needless_range_loop)]

use super::correlation::{Call, Finish, Pooled, Start};
use super::layers::{keep_where_positive, rectified, relu_in_place_body};
use super::taps::{NONE, Turn};
use super::tile::Tile;
use super::vector::Vector;
use super::{LANES, multiversion};
use crate::shape::Shape;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Does something at each row and column of a tile. Indices are constants as soon as loops are unrolled;
/// that is why bodies are short: a single place of the sums that is worked out at run time, and all of them
/// would be in memory instead of registers.
macro_rules! each {
    ($row:ident, $column:ident => $body:expr) => {
        for $row in 0..ROWS {
            for $column in 0..COLUMNS {
                $body;
            }
        }
    };
}

/// Room for the sums of a tile of a lone target.
#[repr(C, align(64))]
struct Room(MaybeUninit<[[f32; LANES]; 24]>);

impl Room {
    #[inline(always)]
    fn new() -> Self {
        Room(MaybeUninit::uninit())
    }
}

impl Tile<'_> {
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
    pub(super) unsafe fn begin<
        V: Vector,
        const SHARERS: usize,
        const ROWS: usize,
        const COLUMNS: usize,
    >(
        &self,
        turn: Turn,
        target: &[f32],
        sums: &mut [[[V; COLUMNS]; ROWS]; SHARERS],
    ) {
        let Call { correlation, values, lanes, .. } = self.reads.call;
        let first = turn.noted.target as usize + self.sharer;
        let target_row = correlation.grid.target_row << lanes;
        let one = V::splat(1.0);
        for sharer in 0..SHARERS {
            let bias = match turn.begins {
                true if SHARERS == 1 => turn.noted.bias,
                true => correlation.biases.get(first + sharer).copied().unwrap_or(NONE),
                false => NONE,
            };
            let sums = &mut sums[sharer];
            if self.reads.start(turn) == Start::Bias {
                let bias = if bias == NONE { 0.0 } else { values[bias as usize] };
                each!(row, column => sums[row][column] = V::splat(bias));
                continue;
            }
            // SAFETY: as the caller promises.
            unsafe {
                let target = target.as_ptr().add(self.place(turn, sharer));
                let stands =
                    |row, column| V::load(target.add(row * target_row + column * V::WIDTH));
                if bias == NONE {
                    each!(row, column => sums[row][column] = stands(row, column));
                } else {
                    let bias = V::splat(values[bias as usize]);
                    each!(row, column => {
                        sums[row][column] = bias.add_product(one, stands(row, column));
                    });
                }
            }
        }
    }

    /// Where the sums go, and what becomes of them there.
    ///
    /// # Safety
    /// As for `sum`.
    #[inline(always)]
    pub(super) unsafe fn end<
        V: Vector,
        const SHARERS: usize,
        const ROWS: usize,
        const COLUMNS: usize,
    >(
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
        let zero = V::splat(0.0);
        if let Finish::Pool(pooled) = finish {
            // Windows are many: were they taken from registers, all sums would be in memory always.
            let mut room = Room::new();
            let room = room.0.as_mut_ptr().cast::<f32>();
            // SAFETY: as the caller promises; a tile has no more sums than there is room for.
            return unsafe {
                let sums = &sums[0];
                each!(row, column => sums[row][column].store(
                    room.add((row * COLUMNS + column) * V::WIDTH)
                ));
                self.pool::<V, ROWS, COLUMNS>(of, room, pooled);
            };
        }
        for sharer in 0..SHARERS {
            let sums = &sums[sharer];
            // SAFETY: as the caller promises.
            unsafe {
                let start = self.place(turn, sharer);
                let target = target.as_mut_ptr().add(start);
                let to = |row, column| target.add(row * target_row + column * V::WIDTH);
                if let (1, Finish::Mask(numbers) | Finish::MaskOnto(numbers), Some(mask)) =
                    (SHARERS, finish, &correlation.mask)
                {
                    let deciding =
                        numbers.as_ptr().add(mask.place(of, self.row, lanes) + self.from);
                    let next = mask.row << lanes;
                    let masked = |sum: V, row, column| {
                        sum.where_positive(V::load(deciding.add(row * next + column * V::WIDTH)))
                    };
                    if matches!(finish, Finish::MaskOnto(_)) {
                        each!(row, column => {
                            let (sum, to) = (sums[row][column], to(row, column));
                            V::load(to).plus(masked(sum, row, column)).store(to);
                        });
                    } else {
                        each!(row, column => {
                            masked(sums[row][column], row, column).store(to(row, column));
                        });
                    }
                    return;
                }
                if let (1, Finish::Copy(copied)) = (SHARERS, finish) {
                    let start = copied.row(of, self.row, lanes) + self.from;
                    let (copy, next) = (copied.numbers.add(start), copied.next(lanes));
                    each!(row, column => {
                        let sum = sums[row][column];
                        sum.store(to(row, column));
                        sum.at_least(zero).store(copy.add(row * next + column * V::WIDTH));
                    });
                    return;
                }
                if rectify {
                    each!(row, column => sums[row][column].at_least(zero).store(to(row, column)));
                } else {
                    each!(row, column => sums[row][column].store(to(row, column)));
                }
            }
        }
        if !rectify && !matches!(finish, Finish::Keep) {
            finish_tile(self, of..of + SHARERS, (ROWS, COLUMNS * V::WIDTH), target);
        }
    }

    /// Pools `sums` of target `of`, row by row, in windows of two by two, where a vector is one position.
    ///
    /// # Safety
    /// As for `sum`; there is room for the windows of all targets, and nobody else is at it.
    #[inline(always)]
    unsafe fn pool<V: Vector, const ROWS: usize, const COLUMNS: usize>(
        &self,
        of: usize,
        sums: *const f32,
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
            let sum =
                |row: usize, column: usize| V::load(sums.add((row * COLUMNS + column) * LANES));
            for pair in 0..ROWS / 2 {
                let place = pooled.value.row(of, row + pair) + column;
                let code = (of * height + row + pair) * width + column;
                for at in 0..COLUMNS / 2 {
                    let [upper, lower] = [2 * pair, 2 * pair + 1];
                    let [left, right] = [2 * at, 2 * at + 1];
                    let window =
                        [sum(upper, left), sum(upper, right), sum(lower, left), sum(lower, right)];
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

multiversion! {
    /// Finishes the sums of `targets` that a tile of `size` (rows, and numbers of each) has just
    /// written. A function of its own, for tiles of all sizes: what it reads is still at hand.
    /// What a lone target can do as it is written is not done here.
    finish_tile(tile: &Tile, targets: Range<usize>, size: (usize, usize), numbers: &mut [f32])
        = finish_tile_body
}

#[inline(always)]
fn finish_tile_body(
    tile: &Tile,
    targets: Range<usize>,
    (rows, length): (usize, usize),
    numbers: &mut [f32],
) {
    let Call { correlation, lanes, first, .. } = tile.reads.call;
    let row_of = |target: usize, row: usize| {
        let row = (tile.row + row - first) * correlation.grid.target_row;
        ((correlation.targets[target] as usize + row) << lanes) + tile.from
    };
    match tile.reads.call.finish {
        Finish::Keep => {}
        Finish::Rectify => {
            for target in targets {
                for row in 0..rows {
                    relu_in_place_body(&mut numbers[row_of(target, row)..][..length]);
                }
            }
        }
        Finish::Mask(deciding) => {
            let Some(mask) = &correlation.mask else { return };
            for target in targets {
                for row in 0..rows {
                    let place = mask.place(target, tile.row + row, lanes) + tile.from;
                    let deciding = &deciding[place..][..length];
                    keep_where_positive(deciding, &mut numbers[row_of(target, row)..][..length]);
                }
            }
        }
        Finish::Copy(copied) => {
            for target in targets {
                for row in 0..rows {
                    let from = &numbers[row_of(target, row)..][..length];
                    let to = copied.row(target, tile.row + row, lanes) + tile.from;
                    // SAFETY: as for `Copied`; `Finish::check` has seen that it has all positions, and
                    // nobody else is at it.
                    let to =
                        unsafe { std::slice::from_raw_parts_mut(copied.numbers.add(to), length) };
                    for (to, &from) in to.iter_mut().zip(from) {
                        *to = rectified(from);
                    }
                }
            }
        }
        Finish::MaskOnto(_) => unreachable!("sums that are added onto others read alone"),
        Finish::Pool(_) => unreachable!("windows are pooled as their tile ends"),
    }
}
