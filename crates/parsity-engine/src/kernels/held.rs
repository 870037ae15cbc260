//! The gradient by the weights of a pruned layer: the output's gradient is held while taps pass by.
//!
//! The counterpart of a [`tile`](super::tile). A tile of the output's gradient stays in registers
//! while all taps of its filter read what they multiply it with, which stays in the nearest
//! cache. Each tap has `LANES` lanes of its own to add to; they are folded when all positions are
//! done. What belongs to one lane and one tile is added up in two chains, the even and the odd
//! vectors: whatever the machine's vectors are, the sum has the same bits.

#![allow(unsafe_code)]
// Constant indices are names of registers.
#![allow(clippy::needless_range_loop)]

use super::isa::Isa;
use super::products::{Places, add_sums};
use super::steps::{ABREAST, abreast};
use super::taps::{Correlation, Grid};
use super::vector::{Vector, at_hand};
use super::{LANES, multiversion};
use std::ops::Range;

/// Rows and vectors of the largest tile.
const ROWS: usize = 2;
const COLUMNS: usize = 8;

/// Lanes of one tap.
pub(crate) type Lanes = [f32; LANES];

/// Lanes for as many taps, and what is missing to sixteen.
pub(crate) fn lanes_of(taps: usize) -> usize {
    taps.next_multiple_of(LANES)
}

/// Whether a tile of the output's gradient is worth holding: its rows are whole vectors, and there
/// are enough of them.
pub(crate) fn worth_holding(grid: &Grid, lanes: u32) -> bool {
    let row = grid.width << lanes;
    row.is_multiple_of(LANES) && row / LANES * grid.height >= 8
}

multiversion! {
    /// Adds the gradient of every weight of `forward`, over `rows` of `1 << lanes` images, to
    /// `sums`; and with the last row, what has come together there to `gradient`. The output's
    /// gradient has these rows.
    held_gradient(
        forward: &Correlation, places: &Places, lanes: u32,
        x: &[f32], dy: &[f32], sums: &mut [Lanes], gradient: &mut [f32], rows: Range<usize>,
    ) = held_tiles<Isa>
}

#[allow(clippy::too_many_arguments)]
#[inline(always)]
fn held_tiles<I: Isa>(
    forward: &Correlation,
    places: &Places,
    lanes: u32,
    x: &[f32],
    dy: &[f32],
    sums: &mut [Lanes],
    gradient: &mut [f32],
    all: Range<usize>,
) {
    let Grid { height, width, .. } = forward.grid;
    assert!(!all.is_empty() && all.end <= height);
    assert!(x.len() >= forward.source_len << lanes);
    assert!(forward.groups.iter().all(|group| !group.shared));
    assert!((width << lanes).is_multiple_of(LANES));
    places.check(forward, lanes, dy, &all);
    let sums = &mut sums[..lanes_of(forward.taps.len())];
    if all.start == 0 {
        sums.fill([0.0; LANES]);
    }
    let count = (forward.grid.width << lanes) / LANES;
    let pieces = count.div_ceil(COLUMNS);
    for start in all.clone().step_by(ROWS) {
        let rows = ROWS.min(all.end - start);
        for piece in 0..pieces {
            let cut = |piece: usize| count * piece / pieces;
            let (from, columns) = (cut(piece), cut(piece + 1) - cut(piece));
            let at = Held { forward, places, lanes, x, dy, row: start, first: all.start, from };
            for block in 0..forward.blocks() {
                // SAFETY: `Correlation::checked` has seen every tap at every position, and
                // `Places::check` the lengths of `x` and `dy`.
                unsafe {
                    match (rows, columns) {
                        (1, 1) => at.tile::<I::Wide, 1, 1>(block, sums),
                        (1, 2) => at.tile::<I::Wide, 1, 2>(block, sums),
                        (1, 3) => at.tile::<I::Wide, 1, 3>(block, sums),
                        (1, 4) => at.tile::<I::Wide, 1, 4>(block, sums),
                        (1, 5) => at.tile::<I::Wide, 1, 5>(block, sums),
                        (1, 6) => at.tile::<I::Wide, 1, 6>(block, sums),
                        (1, 7) => at.tile::<I::Wide, 1, 7>(block, sums),
                        (1, 8) => at.tile::<I::Wide, 1, 8>(block, sums),
                        (2, 1) => at.tile::<I::Wide, 2, 1>(block, sums),
                        (2, 2) => at.tile::<I::Wide, 2, 2>(block, sums),
                        (2, 3) => at.tile::<I::Wide, 2, 3>(block, sums),
                        (2, 4) => at.tile::<I::Wide, 2, 4>(block, sums),
                        (2, 5) => at.tile::<I::Wide, 2, 5>(block, sums),
                        (2, 6) => at.tile::<I::Wide, 2, 6>(block, sums),
                        (2, 7) => at.tile::<I::Wide, 2, 7>(block, sums),
                        (2, 8) => at.tile::<I::Wide, 2, 8>(block, sums),
                        (rows, columns) => unreachable!("no tile of {rows} × {columns}"),
                    }
                }
            }
        }
    }
    if all.end == forward.grid.height {
        for (taps, sums) in forward.taps.chunks(LANES).zip(sums.chunks(LANES)) {
            add_sums(sums, 1, 0, taps, gradient);
        }
    }
}

/// Neighbouring positions, at which one filter after the other is looked at.
struct Held<'a> {
    forward: &'a Correlation,
    places: &'a Places,
    lanes: u32,
    x: &'a [f32],
    dy: &'a [f32],
    row: usize,
    /// The row that is the first one of the output's gradient.
    first: usize,
    /// Vector of the row at which they start.
    from: usize,
}

impl Held<'_> {
    /// `R` × `C` vectors of the output's gradient, of every filter, meet the taps of a block.
    ///
    /// # Safety
    /// Every tap at every position of the tile is inside of `x`, every position inside of `dy`;
    /// every tap has lanes.
    #[inline(always)]
    unsafe fn tile<V: Vector, const R: usize, const C: usize>(
        &self,
        block: usize,
        sums: &mut [Lanes],
    ) {
        let Held { forward, lanes, .. } = *self;
        let x_row = forward.grid.source_row << lanes;
        for part in (0..LANES).step_by(V::WIDTH) {
            // SAFETY: as the caller promises, here and below.
            unsafe {
                let start = self.row * x_row + self.from * LANES + part;
                let x = self.x.as_ptr().add(start);
                let sums = sums.as_mut_ptr().cast::<f32>().add(part);
                for (group, target) in forward.groups.iter().enumerate() {
                    let taps = forward.tap_places(block, group);
                    if taps.is_empty() {
                        continue;
                    }
                    let held = self.load::<V, R, C>(target.first as usize, part);
                    let mut step = forward.steps.at(taps.start);
                    let mut sums = sums.add(taps.start * LANES);
                    let mut next = abreast(step, x);
                    for _ in 0..taps.len() / ABREAST {
                        let reads = next;
                        step = step.add(ABREAST);
                        next = abreast(step, x);
                        pass_by::<V, R, C, ABREAST>(reads, x_row, &held, sums);
                        sums = sums.add(ABREAST * LANES);
                    }
                    for read in &next[..taps.len() % ABREAST] {
                        pass_by::<V, R, C, 1>([*read], x_row, &held, sums);
                        sums = sums.add(LANES);
                    }
                }
            }
        }
    }

    /// The output's gradient at the tile, from lane `part` on.
    ///
    /// # Safety
    /// As for `tile`.
    #[inline(always)]
    unsafe fn load<V: Vector, const R: usize, const C: usize>(
        &self,
        target: usize,
        part: usize,
    ) -> [[V; C]; R] {
        let mut held = [[V::splat(0.0); C]; R];
        let Held { places, dy, lanes, .. } = *self;
        let place = places.targets[target] as usize + (self.row - self.first) * places.row;
        let place = (place << lanes) + self.from * LANES + part;
        for row in 0..R {
            let place = place + ((row * places.row) << lanes);
            for column in 0..C {
                // SAFETY: as the caller promises.
                held[row][column] = unsafe { V::load(dy.as_ptr().add(place + column * LANES)) };
            }
        }
        held
    }
}

/// `T` taps add what they read at the tile to their lanes, the first of which are at `sums`.
///
/// # Safety
/// As for `Held::tile`.
#[inline(always)]
unsafe fn pass_by<V: Vector, const R: usize, const C: usize, const T: usize>(
    mut reads: [*const f32; T],
    x_row: usize,
    held: &[[V; C]; R],
    sums: *mut f32,
) {
    let mut chains = [[V::splat(0.0); 2]; T];
    // SAFETY: as the caller promises.
    unsafe {
        for tap in 0..T {
            chains[tap][0] = V::load(sums.add(tap * LANES));
        }
        for row in 0..R {
            for column in 0..C {
                for tap in 0..T {
                    let x = V::load(reads[tap].add(column * LANES));
                    let chain = &mut chains[tap][(row * C + column) % 2];
                    *chain = chain.add_product(held[row][column], x);
                }
            }
            for tap in 0..T {
                reads[tap] = at_hand(reads[tap].wrapping_add(x_row));
            }
        }
        for tap in 0..T {
            let [even, odd] = chains[tap];
            even.add_product(V::splat(1.0), odd).store(sums.add(tap * LANES));
        }
    }
}
