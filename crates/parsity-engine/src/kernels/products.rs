//! The gradient by the weights: products of what a weight reads and what it writes.
//!
//! A weight's gradient is a sum over all positions and images. Each of `LANES` lanes adds
//! up every `LANES`-th number of each row, whatever the width of the machine's vectors,
//! and the lanes are added in a fixed order: so the sum has the same bits everywhere.

#![allow(unsafe_code)]
// Constant indices are names of registers.
#![allow(clippy::needless_range_loop)]

use super::isa::Isa;
use super::pruned_gradient::{Lanes, Passage, pruned_gradient};
use super::taps::{Correlation, Grid, NONE, SHARERS, Tap};
use super::vector::Vector;
use super::{LANES, multiversion};
use std::ops::Range;

/// Vectors of a row that a weight meets in its turn.
const NEIGHBOURS: usize = 4;
/// Numbers of each channel that are looked at before the next weight has its turn: they
/// stay in the nearest cache.
pub(crate) const CHUNK: usize = 1536;

/// The output's gradient, or the strip of it that there is room for: where each target's first position
/// stands, and the distance of two rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Places {
    pub(crate) targets: Vec<u32>,
    pub(crate) row: usize,
    pub(crate) rows: usize,
    pub(crate) len: usize,
    /// The taps that pass by, if the layer was pruned.
    pub(crate) passage: Option<Passage>,
}

impl Places {
    /// Checks that the output's gradient `dy` of `forward` has `rows`; returns which row is its first.
    pub(super) fn check(
        &self,
        forward: &Correlation,
        lanes: u32,
        dy: &[f32],
        rows: &Range<usize>,
    ) -> usize {
        let first = if self.rows == forward.grid.height { 0 } else { rows.start };
        assert!(dy.len() >= self.len << lanes && rows.end - first <= self.rows);
        assert_eq!(self.targets.len(), forward.targets.len());
        let last = (self.rows - 1) * self.row + forward.grid.width;
        assert!(self.targets.iter().all(|&start| start as usize + last <= self.len));
        first
    }
}

/// Adds the gradient of every weight of `forward`, over `rows` of `1 << lanes` images, to
/// `gradient`: at the latest with the last row. The output's gradient has these rows, at least; `sums`
/// has room for lanes of all taps, and is what it was after the row before.
#[allow(clippy::too_many_arguments)]
pub(crate) fn weight_gradient(
    forward: &Correlation,
    places: &Places,
    lanes: u32,
    x: &[f32],
    dy: &[f32],
    sums: &mut [Lanes],
    gradient: &mut [f32],
    rows: Range<usize>,
) {
    match &places.passage {
        Some(passage) => pruned_gradient(forward, passage, places, x, dy, sums, gradient, rows),
        None => passing_gradient(forward, places, lanes, x, dy, gradient, rows),
    }
}

multiversion! {
    /// Adds the gradient of every bias, over the first `rows` of the output's gradient.
    bias_gradient(
        forward: &Correlation, places: &Places, lanes: u32,
        dy: &[f32], gradient: &mut [f32], rows: usize,
    ) = bias_sums
}

#[inline(always)]
fn bias_sums(
    forward: &Correlation,
    places: &Places,
    lanes: u32,
    dy: &[f32],
    gradient: &mut [f32],
    rows: usize,
) {
    let length = forward.grid.width << lanes;
    for (&place, &bias) in places.targets.iter().zip(&forward.biases) {
        if bias == NONE {
            continue;
        }
        let mut sums = [0.0; LANES];
        for row in 0..rows {
            let row = &dy[(place as usize + row * places.row) << lanes..][..length];
            let (vectors, rest) = row.as_chunks::<LANES>();
            for vector in vectors {
                for (sum, number) in sums.iter_mut().zip(vector) {
                    *sum += number;
                }
            }
            for (sum, number) in sums.iter_mut().zip(rest) {
                *sum += number;
            }
        }
        gradient[bias as usize] += folded(&sums);
    }
}

/// The sum of all lanes.
#[inline(always)]
fn folded(sums: &Lanes) -> f32 {
    let halves: [f32; 8] = std::array::from_fn(|lane| sums[lane] + sums[lane + 8]);
    halves.iter().sum()
}

multiversion! {
    /// Adds the gradient of every weight: positions pass by the taps, whose sums stay in registers.
    passing_gradient(
        forward: &Correlation, places: &Places, lanes: u32,
        x: &[f32], dy: &[f32], gradient: &mut [f32], rows: Range<usize>,
    ) = passing_chunks<Isa>
}

#[inline(always)]
fn passing_chunks<I: Isa>(
    forward: &Correlation,
    places: &Places,
    lanes: u32,
    x: &[f32],
    dy: &[f32],
    gradient: &mut [f32],
    all: Range<usize>,
) {
    let Grid { height, width, .. } = forward.grid;
    assert!(!all.is_empty() && all.end <= height);
    assert!(x.len() >= forward.source_len << lanes);
    let first = places.check(forward, lanes, dy, &all);
    let mut sums = [[0.0; LANES]; 32];
    let chunk = (CHUNK / (width << lanes)).clamp(1, height);
    for start in all.clone().step_by(chunk) {
        let rows = start..(start + chunk).min(all.end);
        let call = Call { forward, places, lanes, x, dy, rows, first };
        for block in 0..forward.blocks {
            // Taps stand in the order of what they read, so the same piece of every target
            // reads about the same channels: these stay in the nearest cache.
            let (mut piece, mut more) = (0, true);
            while more {
                more = false;
                for (index, &group) in forward.groups.iter().enumerate() {
                    let taps = forward.all_taps(block, index);
                    let target = group.first as usize;
                    more |= if group.shared {
                        call.piece::<I, SHARERS>(piece, taps, target, &mut sums, gradient)
                    } else {
                        call.piece::<I, 1>(piece, taps, target, &mut sums, gradient)
                    };
                }
                piece += 1;
            }
        }
    }
}

/// The sums of a tile, lane by lane: up to 16 of one target, or 6 of each of 4.
type Sums = [Lanes; 32];

/// The arguments that do not change.
#[derive(Clone)]
struct Call<'a> {
    forward: &'a Correlation,
    places: &'a Places,
    lanes: u32,
    x: &'a [f32],
    dy: &'a [f32],
    rows: Range<usize>,
    /// The row that is the first one of `dy`.
    first: usize,
}

impl Call<'_> {
    /// Those of the taps of the targets from `target` on that are in piece number `piece`, if
    /// they are cut into as few as fit into the registers. Whether more pieces follow.
    #[inline(always)]
    fn piece<I: Isa, const S: usize>(
        &self,
        piece: usize,
        taps: &[Tap],
        target: usize,
        sums: &mut Sums,
        gradient: &mut [f32],
    ) -> bool {
        let most = if S == 1 { I::WEIGHTS } else { I::SHARED };
        let pieces = taps.len().div_ceil(most);
        if piece >= pieces {
            return false;
        }
        let taps = &taps[taps.len() * piece / pieces..taps.len() * (piece + 1) / pieces];
        macro_rules! sized {
            ($($size:literal)*) => {
                match taps.len() {
                    $($size if $size <= most => {
                        self.group::<I, S, $size>(taps, target, sums, gradient);
                    })*
                    size => unreachable!("no tile of {size}"),
                }
            };
        }
        if S == 1 {
            sized!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
        } else {
            sized!(1 2 3 4 5 6);
        }
        piece + 1 < pieces
    }

    /// The gradient of `T` taps of `S` targets.
    #[inline(always)]
    fn group<I: Isa, const S: usize, const T: usize>(
        &self,
        taps: &[Tap],
        target: usize,
        sums: &mut Sums,
        gradient: &mut [f32],
    ) {
        let length = self.forward.grid.width << self.lanes;
        // SAFETY: `Correlation::checked` has seen every tap at every position, and
        // `passing_chunks` the lengths of `x` and `dy`.
        unsafe {
            if length < LANES {
                // No vector fits: the lanes start from zero.
                sums[..S * T].fill([0.0; LANES]);
            } else {
                self.tile::<I::Wide, S, T>(taps, target, 0..length / LANES * LANES, sums);
            }
            let mut done = length / LANES * LANES;
            while done < length {
                let left = length - done;
                if left >= 8 {
                    self.tile::<I::Eight, S, T>(taps, target, done..done + 8, sums);
                    done += 8;
                } else {
                    self.tile::<[f32; 1], S, T>(taps, target, done..done + 1, sums);
                    done += 1;
                }
            }
        }
        add_sums(sums, S, self.forward.step, taps, gradient);
    }

    /// Adds the products of the numbers `numbers` of each row to the lanes they belong to.
    ///
    /// # Safety
    /// Every tap at every position of the rows is inside of `x`, every position inside
    /// of `dy`.
    #[inline(always)]
    unsafe fn tile<V: Vector, const S: usize, const T: usize>(
        &self,
        taps: &[Tap],
        target: usize,
        numbers: Range<usize>,
        sums: &mut Sums,
    ) {
        let source_row = self.forward.grid.source_row;
        let lanes = self.lanes;
        let width = V::WIDTH.min(numbers.len());
        let parts = numbers.len().min(LANES) / width;
        for part in 0..parts {
            let first = numbers.start + part * width;
            let lane = first % LANES;
            let count = (numbers.end - first).div_ceil(LANES);
            // SAFETY: as the caller promises, here and below.
            unsafe {
                let x = self.x.as_ptr().add(first);
                let x: [*const f32; T] =
                    std::array::from_fn(|tap| x.add((taps[tap].offset as usize) << lanes));
                let dy = self.dy.as_ptr().add(first);
                let dy: [*const f32; S] = std::array::from_fn(|sharer| {
                    dy.add((self.places.targets[target + sharer] as usize) << lanes)
                });
                let sums = sums.as_mut_ptr().cast::<f32>();
                let sum = |sharer: usize, tap: usize| sums.add((sharer * T + tap) * LANES + lane);
                let mut tile = [[V::splat(0.0); T]; S];
                // The rest of the rows continues what the others began.
                if numbers.start > 0 || numbers.end < LANES {
                    for sharer in 0..S {
                        for tap in 0..T {
                            tile[sharer][tap] = V::load(sum(sharer, tap));
                        }
                    }
                }
                for row in self.rows.clone() {
                    let mut read = (row * source_row) << lanes;
                    let mut write = ((row - self.first) * self.places.row) << lanes;
                    let mut left = count;
                    // One weight after the other meets several vectors of the row: fewer
                    // addresses to keep at hand. Not where targets share what is read.
                    while S == 1 && left >= NEIGHBOURS {
                        let dy: [V; NEIGHBOURS] =
                            std::array::from_fn(|next| V::load(dy[0].add(write + next * LANES)));
                        for tap in 0..T {
                            let x = x[tap].add(read);
                            for next in 0..NEIGHBOURS {
                                let x = V::load(x.add(next * LANES));
                                tile[0][tap] = tile[0][tap].add_product(dy[next], x);
                            }
                        }
                        read += NEIGHBOURS * LANES;
                        write += NEIGHBOURS * LANES;
                        left -= NEIGHBOURS;
                    }
                    for _ in 0..left {
                        let dy: [V; S] =
                            std::array::from_fn(|sharer| V::load(dy[sharer].add(write)));
                        for tap in 0..T {
                            let x = V::load(x[tap].add(read));
                            for sharer in 0..S {
                                tile[sharer][tap] = tile[sharer][tap].add_product(dy[sharer], x);
                            }
                        }
                        read += LANES;
                        write += LANES;
                    }
                }
                for sharer in 0..S {
                    for tap in 0..T {
                        tile[sharer][tap].store(sum(sharer, tap));
                    }
                }
            }
        }
    }
}

multiversion! {
    /// Adds each sum over the lanes to its gradient. A function of its own: inlined, it lures
    /// the compiler into keeping the loops above out of the registers. There are sixteen sums, or
    /// thirty-two, of which the first are used.
    add_sums(sums: &[Lanes], sharers: usize, step: usize, taps: &[Tap], gradient: &mut [f32])
        = add_totals<Isa>
}

#[inline(always)]
fn add_totals<I: Isa>(
    sums: &[Lanes],
    sharers: usize,
    step: usize,
    taps: &[Tap],
    gradient: &mut [f32],
) {
    let mut totals = [[0.0; LANES]; 2];
    let used = (sharers * taps.len()).div_ceil(LANES);
    for (totals, sums) in totals.iter_mut().zip(sums.as_chunks().0).take(used) {
        *totals = I::totals(sums);
    }
    let mut totals = totals.as_flattened().iter();
    for sharer in 0..sharers {
        for (tap, total) in taps.iter().zip(&mut totals) {
            gradient[tap.weight as usize + sharer * step] += total;
        }
    }
}
