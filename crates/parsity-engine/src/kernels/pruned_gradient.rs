//! The gradient by the weights of a pruned layer: taps pass by tiles of positions.
//!
//! The gradient of what a filter has written at a *tile* of positions stays in registers while the
//! filter's taps pass by, in stretches, so that what neighbours read is loaded once. A tile is four
//! rows of up to six positions, or fewer rows of eight. Each of its rows is summed up by itself, and each tap
//! has `LANES` lanes in memory to which these sums are added, row after row and tile after tile; they
//! are folded when all positions are done. So a gradient has the same bits whatever the machine's
//! vectors are, and whoever else passes by.
//!
//! Filters take turns at every tile. What a tile reads, and the lanes of all taps, should stay in the
//! nearer caches meanwhile, so sources are cut into blocks where there are many taps.

#![allow(unsafe_code)]
// Constant indices are names of registers.
#![allow(clippy::needless_range_loop)]

use super::isa::Isa;
use super::products::Places;
use super::stretches::{ASTRIDE, BESIDE, KINDS, LONGEST, ONE, THREE, first_kind};
use super::taps::{Correlation, Grid, Tap};
use super::vector::{Vector, at_hand, at_once};
use super::{LANES, multiversion};
use std::ops::Range;

/// Rows of a tile, and the most positions of each.
const HEIGHT: usize = 4;
const WIDTH: usize = 6;
/// Where there are not rows enough: so many, of at most so many positions.
const FLAT: (usize, usize) = (2, 8);
/// Bytes of lanes, and of what a tile reads, that should stay near.
const NEAR: usize = 112 * 1024;
/// Taps of a filter that are worth loading a tile.
const WORTH: usize = 20;
/// Positions of a layer that are worth tiles.
const FEW: usize = 8;
/// Stretches behind the last one that somebody may look at.
const AHEAD: usize = 4;

/// Lanes of one tap.
pub(crate) type Lanes = [f32; LANES];

/// Lanes for as many taps, and what is missing to sixteen.
pub(crate) fn lanes_of(taps: usize) -> usize {
    taps.next_multiple_of(LANES)
}

/// The taps of a pruned layer, in the order in which they pass by: those of a block of sources, of
/// these those of a filter, of these stretches of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Passage {
    /// Where the weight of each tap stands among those of the layer.
    places: Vec<u32>,
    /// These stand side by side in the vector of values.
    weights: Range<usize>,
    /// What the first tap of each stretch reads, in numbers.
    offsets: Vec<u32>,
    turns: Vec<Turn>,
    /// Turns of each block of sources.
    blocks: Vec<Range<usize>>,
}

/// The stretches of one filter in a block of sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Turn {
    target: u32,
    counts: [u32; KINDS.len()],
    /// The first of its stretches, and of its taps.
    stretch: u32,
    tap: u32,
}

/// A stretch before it has found its place.
struct Stretch {
    block: usize,
    target: u32,
    kind: usize,
    taps: Vec<Tap>,
}

impl Passage {
    /// The taps of `forward`, which reads `sources`, if a vector is one position of it and there are
    /// enough of these.
    pub(crate) fn new(forward: &Correlation, sources: usize, lanes: u32) -> Option<Self> {
        if 1 << lanes != LANES || forward.grid.height * forward.grid.width < FEW {
            return None;
        }
        let blocks = blocks(forward, sources);
        let mut stretches = vec![];
        for (index, group) in forward.groups.iter().enumerate() {
            assert!(!group.shared, "targets of a pruned layer read alone");
            let taps = (0..forward.blocks).flat_map(|block| forward.all_taps(block, index));
            let mut taps: Vec<Tap> = taps.copied().collect();
            taps.sort_unstable_by_key(|tap| tap.offset);
            let mut rest = &taps[..];
            while !rest.is_empty() {
                let kind = first_kind(rest);
                let (taps, others) = rest.split_at(KINDS[kind].len());
                let block = taps[0].offset as usize * blocks / forward.source_len;
                stretches.push(Stretch { block, target: group.first, kind, taps: taps.to_vec() });
                rest = others;
            }
        }
        // Those of one kind keep their order.
        stretches.sort_by_key(|it| (it.block, it.target, it.kind));
        let places = || forward.taps.iter().map(|tap| tap.weight as usize);
        let first = places().min().unwrap_or(0);
        let weights = first..first + forward.taps.len();
        assert!(places().all(|place| weights.contains(&place)), "survivors stand side by side");
        let mut passage =
            Passage { weights, places: vec![], offsets: vec![], turns: vec![], blocks: vec![] };
        for block in stretches.chunk_by(|one, next| one.block == next.block) {
            let first = passage.turns.len();
            for turn in block.chunk_by(|one, next| one.target == next.target) {
                passage.add(turn, lanes);
            }
            passage.blocks.push(first..passage.turns.len());
        }
        passage.offsets.extend([0; AHEAD]);
        Some(passage)
    }

    /// The taps of a block of sources.
    fn taps(&self, block: &Range<usize>) -> Range<usize> {
        let first =
            |turn: usize| self.turns.get(turn).map_or(self.places.len(), |it| it.tap as usize);
        first(block.start)..first(block.end)
    }

    /// Adds a turn.
    fn add(&mut self, stretches: &[Stretch], lanes: u32) {
        let mut counts = [0; KINDS.len()];
        let (stretch, tap) = (self.offsets.len() as u32, self.places.len() as u32);
        for stretch in stretches {
            counts[stretch.kind] += 1;
            self.offsets.push(stretch.taps[0].offset << lanes);
            let first = self.weights.start as u32;
            self.places.extend(stretch.taps.iter().map(|tap| tap.weight - first));
        }
        self.turns.push(Turn { target: stretches[0].target, counts, stretch, tap });
    }
}

/// Into how many blocks the sources of `forward` are cut.
fn blocks(forward: &Correlation, sources: usize) -> usize {
    let taps = forward.taps.len();
    let (rows, columns) = tile(&forward.grid);
    let bytes = (taps + sources * (rows + 2) * (columns + 2)) * size_of::<Lanes>();
    bytes.div_ceil(NEAR).min(taps / (WORTH * forward.targets.len().max(1))).max(1)
}

/// Rows of a tile, and the most columns.
fn tile(grid: &Grid) -> (usize, usize) {
    if grid.height >= HEIGHT { (HEIGHT, WIDTH) } else { FLAT }
}

multiversion! {
    /// Adds the gradient of every weight of `forward`, whose taps are those of `passage`, over `rows` of
    /// `LANES` images or slabs, to `sums`; and with the last row, what has come together there to
    /// `gradient`. The output's gradient has these rows.
    pruned_gradient(
        forward: &Correlation, passage: &Passage, places: &Places,
        x: &[f32], dy: &[f32], sums: &mut [Lanes], gradient: &mut [f32], rows: Range<usize>,
    ) = pruned_tiles<Isa>
}

#[allow(clippy::too_many_arguments)]
#[inline(always)]
fn pruned_tiles<I: Isa>(
    forward: &Correlation,
    passage: &Passage,
    places: &Places,
    x: &[f32],
    dy: &[f32],
    sums: &mut [Lanes],
    gradient: &mut [f32],
    all: Range<usize>,
) {
    let (lanes, Grid { height, width, .. }) = (LANES.ilog2(), forward.grid);
    assert!(!all.is_empty() && all.end <= height);
    assert!(x.len() >= forward.source_len << lanes);
    assert_eq!(passage.places.len(), forward.taps.len());
    let first = places.check(forward, lanes, dy, &all);
    assert!(sums.len() >= lanes_of(passage.places.len()));
    // Where all rows come at once, a block of sources is folded before the next one comes, whose lanes take
    // the same place: it is still near.
    let whole = all.len() == height;
    // As many rows as leave registers for sums and for what is read.
    let (rows, columns) = tile(&forward.grid);
    let at_once = if I::ALONE >= 24 { rows } else { 1 };
    let pieces = width.div_ceil(columns);
    for block in &passage.blocks {
        let turns = &passage.turns[block.clone()];
        let taps = passage.taps(block);
        let begin = if whole { taps.start } else { 0 };
        for row in all.clone().step_by(rows) {
            let end = (row + rows).min(all.end);
            for piece in 0..pieces {
                let column = width * piece / pieces;
                let count = width * (piece + 1) / pieces - column;
                for row in (row..end).step_by(at_once) {
                    let tile = Tile {
                        forward,
                        places,
                        passage,
                        x,
                        dy,
                        row,
                        first,
                        column,
                        sets: row == 0 && column == 0,
                        begin,
                    };
                    tile.sized::<I>(at_once.min(end - row), count, turns, sums);
                }
            }
        }
        if whole {
            fold(sums, &passage.places[taps], &mut gradient[passage.weights.clone()]);
        }
    }
    if all.end == height && !whole {
        fold(sums, &passage.places, &mut gradient[passage.weights.clone()]);
    }
}

/// Neighbouring positions that taps pass by.
struct Tile<'a> {
    forward: &'a Correlation,
    places: &'a Places,
    passage: &'a Passage,
    x: &'a [f32],
    dy: &'a [f32],
    row: usize,
    /// The row that is the first one of the output's gradient.
    first: usize,
    column: usize,
    /// Whether it is the first one of a layer: lanes begin with its sums.
    sets: bool,
    /// The tap whose lanes are the first ones.
    begin: usize,
}

impl Tile<'_> {
    /// All `turns` of a tile of so many rows and columns.
    #[inline(always)]
    fn sized<I: Isa>(&self, rows: usize, columns: usize, turns: &[Turn], sums: &mut [Lanes]) {
        macro_rules! sized {
            ($(($rows:literal, $columns:literal))*) => {
                match (rows, columns) {
                    // SAFETY: `Correlation::checked` has seen every tap at every position,
                    // and `Places::check` the lengths of `x` and `dy`.
                    $(($rows, $columns) => unsafe {
                        self.meet::<I::Wide, $rows, $columns>(turns, sums);
                    },)*
                    (rows, columns) => unreachable!("no tile of {rows} × {columns}"),
                }
            };
        }
        sized!((1, 1)(1, 2)(1, 3)(1, 4)(1, 5)(1, 6)(1, 7)(1, 8)(2, 1)(2, 2)(2, 3)(2, 4)(2, 5)(
            2, 6
        )(2, 7)(2, 8)(3, 1)(3, 2)(3, 3)(3, 4)(3, 5)(3, 6)(4, 1)(4, 2)(4, 3)(4, 4)(
            4, 5
        )(4, 6));
    }

    /// The taps of all `turns` pass by.
    ///
    /// # Safety
    /// Every tap at every position of the tile is inside of `x`, every position inside of `dy`, and
    /// there are lanes for all taps.
    #[inline(always)]
    unsafe fn meet<V: Vector, const ROWS: usize, const COLUMNS: usize>(
        &self,
        turns: &[Turn],
        sums: &mut [Lanes],
    ) {
        let Tile { forward, places, passage, row, column, begin, .. } = *self;
        let x_row = forward.grid.source_row * LANES;
        let dy_row = places.row * LANES;
        let x_start = (row * forward.grid.source_row + column) * LANES;
        let dy_start = ((row - self.first) * places.row + column) * LANES;
        for part in (0..LANES).step_by(V::WIDTH) {
            for turn in turns {
                // SAFETY: as the caller promises.
                unsafe {
                    let place = places.targets[turn.target as usize] as usize * LANES;
                    let from = self.dy.as_ptr().add(place + dy_start + part);
                    let mut dy = [[V::splat(0.0); COLUMNS]; ROWS];
                    for row in 0..ROWS {
                        for column in 0..COLUMNS {
                            dy[row][column] = V::load(from.add(row * dy_row + column * LANES));
                        }
                    }
                    let mut reads = Reads {
                        x: self.x.as_ptr().add(x_start + part),
                        offset: passage.offsets.as_ptr().add(turn.stretch as usize),
                        next: [std::ptr::null(); AHEAD],
                    };
                    reads.begin();
                    let lanes = sums.as_mut_ptr().add(turn.tap as usize - begin);
                    let mut lanes = lanes.cast::<f32>().add(part);
                    macro_rules! kinds {
                        ($($kind:ident)*) => { $(
                            for _ in 0..turn.counts[$kind] {
                                let x = reads.take();
                                pass::<V, $kind, ROWS, COLUMNS>(x, x_row, &dy, lanes, self.sets);
                                lanes = lanes.add(KINDS[$kind].len() * LANES);
                            }
                        )* };
                    }
                    kinds!(THREE BESIDE ASTRIDE ONE);
                }
            }
        }
    }
}

/// What stretches read, of which the next addresses are known already.
struct Reads {
    x: *const f32,
    offset: *const u32,
    next: [*const f32; AHEAD],
}

impl Reads {
    /// Where the stretch reads that is `next` behind.
    ///
    /// # Safety
    /// There is such a stretch, or at most `AHEAD` are missing.
    #[inline(always)]
    unsafe fn address(&self, next: usize) -> *const f32 {
        // SAFETY: as the caller promises. Nobody looks there who does not know that a tap does.
        at_once(self.x.wrapping_add(unsafe { *self.offset.add(next) } as usize))
    }

    /// # Safety
    /// As for `address`.
    #[inline(always)]
    unsafe fn begin(&mut self) {
        for next in 0..AHEAD {
            // SAFETY: as the caller promises.
            self.next[next] = unsafe { self.address(next) };
        }
    }

    /// Where the next stretch reads.
    ///
    /// # Safety
    /// There is another stretch.
    #[inline(always)]
    unsafe fn take(&mut self) -> *const f32 {
        let [taken, first, second, third] = self.next;
        // SAFETY: as the caller promises.
        self.next = [first, second, third, unsafe { self.address(AHEAD) }];
        self.offset = self.offset.wrapping_add(1);
        taken
    }
}

/// A stretch of kind `KIND` passes by: the sums of its taps are added to their lanes.
///
/// # Safety
/// It reads numbers that are there, and so are its lanes.
#[inline(always)]
unsafe fn pass<V: Vector, const KIND: usize, const ROWS: usize, const COLUMNS: usize>(
    mut x: *const f32,
    x_row: usize,
    dy: &[[V; COLUMNS]; ROWS],
    lanes: *mut f32,
    sets: bool,
) {
    let distances = KINDS[KIND];
    let last = distances[distances.len() - 1] as usize;
    let mut totals = [V::splat(0.0); LONGEST];
    // SAFETY: as the caller promises.
    unsafe {
        for tap in 0..distances.len() {
            if !sets {
                totals[tap] = V::load(lanes.add(tap * LANES));
            }
        }
        for row in 0..ROWS {
            let mut sums = [V::splat(0.0); LONGEST];
            for column in 0..COLUMNS + last {
                let x = V::load(x.add(column * LANES));
                for tap in 0..distances.len() {
                    let behind = distances[tap] as usize;
                    if column >= behind && column - behind < COLUMNS {
                        let dy = dy[row][column - behind];
                        sums[tap] = sums[tap].add_product(dy, x);
                    }
                }
            }
            for tap in 0..distances.len() {
                totals[tap] = totals[tap].plus(sums[tap]);
            }
            x = at_hand(x.wrapping_add(x_row));
        }
        for tap in 0..distances.len() {
            totals[tap].store(lanes.add(tap * LANES));
        }
    }
}

multiversion! {
    /// Adds the sum over the lanes of each tap to the gradient at its place. A function of its own:
    /// inlined, it lures the compiler into keeping the loops above out of the registers.
    fold(sums: &[Lanes], places: &[u32], gradient: &mut [f32]) = fold_all<Isa>
}

#[inline(always)]
fn fold_all<I: Isa>(sums: &[Lanes], places: &[u32], gradient: &mut [f32]) {
    for (sums, places) in sums.as_chunks().0.iter().zip(places.chunks(LANES)) {
        for (total, &place) in I::totals(sums).iter().zip(places) {
            gradient[place as usize] += total;
        }
    }
}
