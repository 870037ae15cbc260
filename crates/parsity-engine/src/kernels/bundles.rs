//! The gradient by the weights of a pruned layer: positions pass by bundles of its taps.
//!
//! A *bundle* is up to twelve taps of one filter that read neighbouring sources. Their sums stay in
//! registers while the positions of a tile pass by: each loads the output's gradient once, for all
//! of them. Bundles of all filters come in the order of what they read, so that this stays in the
//! nearest cache. Each tap has `LANES` lanes in memory, to which the sums of a tile are added; they
//! are folded when all positions are done. Every lane of every tap has a sum of its own, from tile
//! to tile and from row to row, so it has the same bits whatever the machine's vectors are, and
//! whoever else is in its bundle.

#![allow(unsafe_code)]
// Constant indices are names of registers.
#![allow(clippy::needless_range_loop)]

use super::isa::Isa;
use super::products::{Places, add_sums};
use super::taps::{Correlation, Grid, Tap};
use super::vector::{Vector, at_hand};
use super::{LANES, multiversion};
use std::ops::Range;

/// The most taps of a bundle: their sums, and addresses, fit into the registers of any machine.
const MOST: usize = 12;
/// Vectors of a row of the widest tile, and how many of them pass by at a time. Both were measured: tiles
/// of eight vectors are slower, though they read less around them.
const COLUMNS: usize = 32;
const ABREAST: usize = 4;
/// Vectors of a tile that are worth adding its sums to lanes, as far as a channel has them.
const WORTH: usize = 32;
/// Bytes that the taps of a bundle should read of a tile.
const NEAR: usize = 80 * 1024;
/// Vectors of a channel that are worth bundles.
const FEW: usize = 8;

/// Lanes of one tap.
pub(crate) type Lanes = [f32; LANES];

/// Lanes for as many taps, and what is missing to sixteen.
pub(crate) fn lanes_of(taps: usize) -> usize {
    taps.next_multiple_of(LANES)
}

/// The taps of a pruned layer, in bundles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bundles {
    taps: Vec<Tap>,
    bundles: Vec<Bundle>,
    /// Rows of a tile.
    rows: usize,
}

/// Taps of one target that stand side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bundle {
    target: u32,
    first: u32,
    count: u32,
}

/// What decides how high tiles are: a layer as a whole, whoever computes which of its filters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layer {
    pub(crate) survivors: usize,
    pub(crate) filters: usize,
    pub(crate) channels: usize,
    /// Rows and columns of a kernel.
    pub(crate) kernel: (usize, usize),
}

impl Layer {
    /// Rows of tiles of `columns` vectors: as many as leave what a bundle reads near. Higher tiles add
    /// to lanes less often, lower ones read less of each channel.
    fn rows(&self, columns: usize) -> usize {
        // Channels that a bundle's taps are spread over.
        let channels = (MOST * self.channels * self.filters).div_ceil(self.survivors.max(1));
        let wide = columns + self.kernel.1 - 1;
        let bytes = |rows: usize| {
            channels.min(self.channels) * (rows + self.kernel.0 - 1) * wide * size_of::<Lanes>()
        };
        let near = [8, 4, 2, 1].into_iter().find(|&rows| bytes(rows) <= NEAR);
        near.unwrap_or(1).max(WORTH.div_ceil(columns))
    }
}

impl Bundles {
    /// The taps of `forward`, which is of `layer`, for `1 << lanes` images; if its rows are whole
    /// vectors, and there are enough of them.
    pub(crate) fn new(forward: &Correlation, layer: &Layer, lanes: u32) -> Option<Self> {
        let Grid { height, width, .. } = forward.grid;
        let row = width << lanes;
        if !row.is_multiple_of(LANES) || row / LANES * height < FEW {
            return None;
        }
        let mut bundles: Vec<(u32, Vec<Tap>)> = vec![];
        for (index, group) in forward.groups.iter().enumerate() {
            assert!(!group.shared, "targets of a pruned layer read alone");
            let blocks = 0..forward.blocks();
            let taps = blocks.flat_map(|block| forward.all_taps(block, index));
            let mut taps: Vec<Tap> = taps.copied().collect();
            taps.sort_unstable_by_key(|tap| tap.offset);
            let count = taps.len().div_ceil(MOST);
            bundles.extend((0..count).map(|bundle| {
                let own = taps.len() * bundle / count..taps.len() * (bundle + 1) / count;
                (group.first, taps[own].to_vec())
            }));
        }
        bundles.sort_by_key(|(_, taps)| taps[taps.len() / 2].offset);
        let mut all = vec![];
        let bundles = bundles.into_iter().map(|(target, taps)| {
            let (first, count) = (all.len() as u32, taps.len() as u32);
            all.extend(taps);
            Bundle { target, first, count }
        });
        let bundles = bundles.collect();
        let rows = layer.rows((row / LANES).min(COLUMNS));
        Some(Bundles { taps: all, bundles, rows })
    }
}

multiversion! {
    /// Adds the gradient of every weight of `forward`, whose taps are in `bundles`, over `rows` of
    /// `1 << lanes` images, to `sums`; and with the last row, what has come together there to
    /// `gradient`. The output's gradient has these rows.
    bundled_gradient(
        forward: &Correlation, bundles: &Bundles, places: &Places, lanes: u32,
        x: &[f32], dy: &[f32], sums: &mut [Lanes], gradient: &mut [f32], rows: Range<usize>,
    ) = bundled_tiles<Isa>
}

#[allow(clippy::too_many_arguments)]
#[inline(always)]
fn bundled_tiles<I: Isa>(
    forward: &Correlation,
    bundles: &Bundles,
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
    assert!((width << lanes).is_multiple_of(LANES));
    assert_eq!(bundles.taps.len(), forward.taps.len());
    places.check(forward, lanes, dy, &all);
    let sums = &mut sums[..lanes_of(bundles.taps.len())];
    let count = (width << lanes) / LANES;
    let pieces = count.div_ceil(COLUMNS);
    for start in all.clone().step_by(bundles.rows) {
        let rows = start..(start + bundles.rows).min(all.end);
        for piece in 0..pieces {
            let cut = |piece: usize| count * piece / pieces;
            let (rows, columns) = (rows.clone(), cut(piece)..cut(piece + 1));
            let tile = Tile {
                forward,
                places,
                lanes,
                x,
                dy,
                rows,
                first: all.start,
                columns,
                sets: start == 0 && piece == 0,
            };
            for &bundle in &bundles.bundles {
                let own = bundle.first as usize..(bundle.first + bundle.count) as usize;
                let (taps, sums) = (&bundles.taps[own.clone()], &mut sums[own]);
                macro_rules! sized {
                    ($($size:literal)*) => {
                        match taps.len() {
                            // SAFETY: `Correlation::checked` has seen every tap at every position,
                            // and `Places::check` the lengths of `x` and `dy`.
                            $($size => unsafe {
                                tile.pass::<I::Wide, $size>(bundle.target as usize, taps, sums);
                            },)*
                            size => unreachable!("no bundle of {size}"),
                        }
                    };
                }
                sized!(1 2 3 4 5 6 7 8 9 10 11 12);
            }
        }
    }
    if all.end == height {
        for (taps, sums) in bundles.taps.chunks(LANES).zip(sums.chunks(LANES)) {
            add_sums(sums, 1, 0, taps, gradient);
        }
    }
}

/// Neighbouring positions that pass by one bundle after the other.
struct Tile<'a> {
    forward: &'a Correlation,
    places: &'a Places,
    lanes: u32,
    x: &'a [f32],
    dy: &'a [f32],
    rows: Range<usize>,
    /// The row that is the first one of the output's gradient.
    first: usize,
    /// Vectors of each row.
    columns: Range<usize>,
    /// Whether it is the first one of a layer: lanes begin with its sums.
    sets: bool,
}

impl Tile<'_> {
    /// All positions pass by the `T` taps of a bundle of `target`.
    ///
    /// # Safety
    /// There are `T` taps and as many sums. Every tap at every position of the tile is inside of
    /// `x`, every position inside of `dy`.
    #[inline(always)]
    unsafe fn pass<V: Vector, const T: usize>(
        &self,
        target: usize,
        taps: &[Tap],
        sums: &mut [Lanes],
    ) {
        let Tile { forward, places, lanes, .. } = *self;
        let (row, columns) = (self.rows.start, self.columns.len());
        let x_row = forward.grid.source_row << lanes;
        let place = places.targets[target] as usize + (row - self.first) * places.row;
        let dy_row = places.row << lanes;
        for part in (0..LANES).step_by(V::WIDTH) {
            let start = self.columns.start * LANES + part;
            // SAFETY: as the caller promises.
            unsafe {
                let x = self.x.as_ptr().add(row * x_row + start);
                let mut reads = [x; T];
                for tap in 0..T {
                    let offset = taps.get_unchecked(tap).offset as usize;
                    reads[tap] = at_hand(x.add(offset << lanes));
                }
                let mut dy = self.dy.as_ptr().add((place << lanes) + start);
                let mut tile = [V::splat(0.0); T];
                for _ in self.rows.clone() {
                    for _ in 0..columns / ABREAST {
                        add::<V, T, ABREAST>(&mut tile, &mut reads, &mut dy);
                    }
                    for _ in 0..columns % ABREAST {
                        add::<V, T, 1>(&mut tile, &mut reads, &mut dy);
                    }
                    for tap in 0..T {
                        reads[tap] = at_hand(reads[tap].wrapping_add(x_row - columns * LANES));
                    }
                    dy = dy.wrapping_add(dy_row - columns * LANES);
                }
                for tap in 0..T {
                    let sum = sums.get_unchecked_mut(tap).as_mut_ptr().add(part);
                    let before = if self.sets { V::splat(0.0) } else { V::load(sum) };
                    before.plus(tile[tap]).store(sum);
                }
            }
        }
    }
}

/// `N` neighbouring vectors pass by.
///
/// # Safety
/// As for `Tile::pass`.
#[inline(always)]
unsafe fn add<V: Vector, const T: usize, const N: usize>(
    tile: &mut [V; T],
    reads: &mut [*const f32; T],
    dy: &mut *const f32,
) {
    // SAFETY: as the caller promises.
    unsafe {
        for next in 0..N {
            let dy = V::load(dy.add(next * LANES));
            for tap in 0..T {
                let x = V::load(reads[tap].add(next * LANES));
                tile[tap] = tile[tap].add_product(dy, x);
            }
        }
    }
    for tap in 0..T {
        reads[tap] = at_hand(reads[tap].wrapping_add(N * LANES));
    }
    *dy = dy.wrapping_add(N * LANES);
}
