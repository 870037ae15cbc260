//! The ends of a tile: what its sums start from, where they go, and what becomes of them there.
//!
//! Apart from the loops over taps, which know nothing of biases, masks and pools.

#![allow(unsafe_code)]

use super::correlation::{Call, Finish, Pooled, Start};
use super::layers::{keep_where_positive, rectified, relu_in_place_body};
use super::taps::{NONE, Turn};
use super::tile::Tile;
use super::vector::Vector;
use super::{LANES, multiversion};
use crate::shape::Shape;
use std::ops::Range;

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
        if let Finish::Pool(pooled) = finish {
            // SAFETY: as the caller promises.
            return unsafe { self.pool(of, &sums[0], pooled) };
        }
        for (sharer, sums) in sums.iter().enumerate() {
            // SAFETY: as the caller promises.
            unsafe {
                let start = self.place(turn, sharer);
                let target = target.as_mut_ptr().add(start);
                if let (1, Finish::Mask(numbers) | Finish::MaskOnto(numbers), Some(mask)) =
                    (SHARERS, finish, &correlation.mask)
                {
                    let onto = matches!(finish, Finish::MaskOnto(_));
                    let deciding =
                        numbers.as_ptr().add(mask.place(of, self.row, lanes) + self.from);
                    let deciding_row = mask.row << lanes;
                    for (row, sums) in sums.iter().enumerate() {
                        for (column, sum) in sums.iter().enumerate() {
                            let column = column * V::WIDTH;
                            let deciding = V::load(deciding.add(row * deciding_row + column));
                            let mut sum = sum.where_positive(deciding);
                            let to = target.add(row * target_row + column);
                            if onto {
                                sum = V::load(to).plus(sum);
                            }
                            sum.store(to);
                        }
                    }
                    return;
                }
                if let (1, Finish::Copy(copied)) = (SHARERS, finish) {
                    let start = copied.row(of, self.row, lanes) + self.from;
                    let copy = copied.numbers.add(start);
                    let (copy_row, zero) = (copied.next(lanes), V::splat(0.0));
                    for (row, sums) in sums.iter().enumerate() {
                        for (column, sum) in sums.iter().enumerate() {
                            let column = column * V::WIDTH;
                            sum.store(target.add(row * target_row + column));
                            sum.at_least(zero).store(copy.add(row * copy_row + column));
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
