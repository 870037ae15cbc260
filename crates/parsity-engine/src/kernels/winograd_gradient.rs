//! The gradient by whole kernels of three by three, in squares: Winograd's way for it.
//!
//! The gradient of a kernel's term is the sum, over all squares and images, of the products of what
//! the same term of a view is and what that of the square's gradient is. Sixteen lanes add it up,
//! whatever the width of the machine's vectors: a vector of lanes is a square of sixteen images, or two
//! neighbouring squares of eight. After each *strip* of squares they are folded in the order of
//! `Isa::totals`. The nine numbers of a kernel are made of its sixteen terms once per grain.

#![allow(unsafe_code)]
// Constant indices are names of registers.
#![allow(clippy::needless_range_loop)]

use super::isa::Isa;
use super::products::Places;
use super::pruned_gradient::Lanes;
use super::taps::{Correlation, SHARERS};
use super::vector::Vector;
use super::winograd::{KERNEL, Kernels, TERMS, WEIGHTS, seen_along};
use super::{LANES, multiversion};
use crate::numbers::Numbers;
use crate::shape::Shape;
use std::ops::Range;

/// Vectors of lanes in a strip, of one term of all channels: as many as stay in the nearer caches.
const NEAR: usize = 2048;
/// The fewest and the most vectors of a strip.
const FEWEST: usize = 16;
const MOST: usize = 32;

/// Vectors of lanes that a strip has, where as many channels are read and written, in squares of
/// `output`, of `1 << lanes` images.
fn strip(channels: usize, output: Shape, lanes: u32) -> usize {
    let all = ((output.height * output.width / 4) << lanes).div_ceil(LANES);
    (NEAR / channels).clamp(FEWEST, MOST).min(all)
}

/// Numbers of one term of a channel: a line more than it needs, because powers of two would meet in
/// the caches.
fn channel(strip: usize) -> usize {
    (strip + 1) * LANES
}

/// Numbers of room that [`square_gradient`] needs for a layer that reads and writes as many channels.
pub(crate) fn room_for(channels: usize, filters: usize, output: Shape, lanes: u32) -> usize {
    let strip = strip(channels + filters, output, lanes);
    let groups = channels.div_ceil(SHARERS) + filters.div_ceil(SHARERS);
    4 * groups * SHARERS * channel(strip)
}

/// The gradient by the terms of kernels.
#[derive(Debug)]
pub(crate) struct TermGradient {
    /// Vectors of lanes in a strip: a function of the layer, so that the order of sums is, too.
    strip: usize,
    /// `[term][group of targets][group of sources][target][source]`.
    sums: Numbers,
}

impl TermGradient {
    /// That by the terms of `kernels`, of a layer that writes `filters` channels of shape `output`.
    pub(crate) fn new(kernels: &Kernels, filters: usize, output: Shape, lanes: u32) -> Self {
        let sources = kernels.views.len();
        let groups = kernels.targets.div_ceil(SHARERS) * sources.div_ceil(SHARERS);
        TermGradient {
            strip: strip(sources + filters, output, lanes),
            sums: Numbers::new(TERMS * groups * LANES),
        }
    }

    /// Adds the gradient by `kernels` to that by the vector of values; begins anew.
    pub(crate) fn hand_over(&mut self, kernels: &Kernels, gradient: &mut [f32]) {
        let sources = kernels.views.len();
        let across = sources.div_ceil(SHARERS);
        let groups = kernels.targets.div_ceil(SHARERS) * across;
        let sums = self.sums.as_chunks::<LANES>().0;
        for group in 0..groups {
            let terms = std::array::from_fn(|term| sums[term * groups + group]);
            let weights = kernels_of(&terms);
            let (target, source) = (group / across * SHARERS, group % across * SHARERS);
            for target_in in 0..SHARERS.min(kernels.targets - target) {
                for source_in in 0..SHARERS.min(sources - source) {
                    let place = kernels.first
                        + (target + target_in) * kernels.target_step
                        + (source + source_in) * kernels.source_step;
                    let gradient = &mut gradient[place..place + WEIGHTS];
                    for weight in 0..WEIGHTS {
                        gradient[weight] += weights[weight][target_in * SHARERS + source_in];
                    }
                }
            }
        }
        self.sums.fill(0.0);
    }
}

/// The gradients by some kernels, of those by their terms.
fn kernels_of(terms: &[Lanes; TERMS]) -> [Lanes; WEIGHTS] {
    let along = |a: Lanes, b: Lanes, c: Lanes, d: Lanes| -> [Lanes; KERNEL] {
        let both: Lanes = std::array::from_fn(|it| (b[it] + c[it]) * 0.5);
        let first = std::array::from_fn(|it| a[it] + both[it]);
        let middle = std::array::from_fn(|it| (b[it] - c[it]) * 0.5);
        let last = std::array::from_fn(|it| both[it] + d[it]);
        [first, middle, last]
    };
    let columns: [_; 4] = std::array::from_fn(|column| {
        along(terms[column], terms[4 + column], terms[8 + column], terms[12 + column])
    });
    let mut weights = [[0.0; LANES]; WEIGHTS];
    for row in 0..KERNEL {
        let [a, b, c, d] = columns;
        let numbers = along(a[row], b[row], c[row], d[row]);
        weights[KERNEL * row..][..KERNEL].copy_from_slice(&numbers);
    }
    weights
}

multiversion! {
    /// Adds the gradient by all terms of `kernels`, of `forward`, over all squares of `1 << lanes`
    /// images, 8 or 16 of them.
    square_gradient(
        forward: &Correlation, kernels: &Kernels, places: &Places, lanes: u32,
        x: &[f32], dy: &[f32], gradient: &mut TermGradient, room: &mut [f32],
    ) = gradient_strips<Isa>
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn gradient_strips<I: Isa>(
    forward: &Correlation,
    kernels: &Kernels,
    places: &Places,
    lanes: u32,
    x: &[f32],
    dy: &[f32],
    gradient: &mut TermGradient,
    room: &mut [f32],
) {
    let grid = forward.grid;
    assert!(x.len() >= forward.source_len << lanes);
    places.check(forward, lanes, dy, &(0..grid.height));
    assert_eq!(kernels.targets, places.targets.len());
    let call = Call { forward, kernels, places, lanes, x, dy, strip: gradient.strip };
    assert!(room.len() >= 4 * call.apart());
    let groups = call.groups(kernels.targets) * call.groups(kernels.views.len());
    assert!(gradient.sums.len() >= TERMS * groups * LANES);
    match lanes {
        3 => call.strips::<I, I::Eight, 8>(&mut gradient.sums, room),
        4 => call.strips::<I, I::Wide, LANES>(&mut gradient.sums, room),
        _ => unreachable!("no squares of so few images"),
    }
}

/// The arguments of `square_gradient` that do not change.
struct Call<'a> {
    forward: &'a Correlation,
    kernels: &'a Kernels,
    places: &'a Places,
    lanes: u32,
    x: &'a [f32],
    dy: &'a [f32],
    strip: usize,
}

impl Call<'_> {
    fn groups(&self, channels: usize) -> usize {
        channels.div_ceil(SHARERS)
    }

    /// Numbers of one term of all channels.
    fn apart(&self) -> usize {
        let groups = self.groups(self.kernels.views.len()) + self.groups(self.kernels.targets);
        groups * SHARERS * channel(self.strip)
    }

    /// All strips of squares of `IMAGES` images, which are read by vectors `V`: four terms at a time,
    /// those of one row.
    #[inline(always)]
    fn strips<I: Isa, V: Vector, const IMAGES: usize>(&self, sums: &mut [f32], room: &mut [f32]) {
        let grid = self.forward.grid;
        let squares = grid.height * grid.width / 4;
        let of_strip = self.strip * LANES / IMAGES;
        let (sources, targets) = (self.kernels.views.len(), self.kernels.targets);
        let (source_groups, target_groups) = (self.groups(sources), self.groups(targets));
        let (apart, channel) = (self.apart(), channel(self.strip));
        let behind = source_groups * SHARERS * channel;
        let sums = sums.as_chunks_mut::<LANES>().0;
        let mut tile = [[0.0; LANES]; LANES];
        for first in (0..squares).step_by(of_strip) {
            let strip = first..(first + of_strip).min(squares);
            let vectors = (strip.len() * IMAGES).div_ceil(LANES);
            for row in 0..4 {
                // SAFETY: `Kernels::checked` has seen every view of every square, `Places::check`
                // every position of the output's gradient, and `gradient_strips` all lengths.
                unsafe {
                    let room = room.as_mut_ptr();
                    for (source, &start) in self.kernels.views.iter().enumerate() {
                        let from = self.x.as_ptr().add((start as usize) << self.lanes);
                        let to = room.add(source * channel);
                        self.terms_of::<V, IMAGES, true>(row, &strip, from, to);
                    }
                    for (target, &start) in self.places.targets.iter().enumerate() {
                        let from = self.dy.as_ptr().add((start as usize) << self.lanes);
                        let to = room.add(behind + target * channel);
                        self.terms_of::<V, IMAGES, false>(row, &strip, from, to);
                    }
                    for column in 0..4 {
                        let seen = room.add(column * apart);
                        let term = (4 * row + column) * target_groups;
                        for target in 0..target_groups {
                            let dy = seen.add(behind + target * SHARERS * channel);
                            let sums = &mut sums[(term + target) * source_groups..];
                            for (source, sums) in sums[..source_groups].iter_mut().enumerate() {
                                let x = seen.add(source * SHARERS * channel);
                                if I::SHARED >= 4 {
                                    products::<I::Wide, 4>(dy, x, channel, vectors, &mut tile);
                                } else {
                                    products::<I::Wide, 2>(dy, x, channel, vectors, &mut tile);
                                }
                                add_folded(&tile, sums);
                            }
                        }
                    }
                }
            }
        }
    }

    /// The terms of a row, `apart` from each other, of all squares of a strip: of what they see, or
    /// of their gradient. What is left of a last vector becomes zero.
    ///
    /// # Safety
    /// There are all of these squares, and room for the terms.
    #[inline(always)]
    unsafe fn terms_of<V: Vector, const IMAGES: usize, const VIEWS: bool>(
        &self,
        row: usize,
        strip: &Range<usize>,
        from: *const f32,
        to: *mut f32,
    ) {
        let grid = self.forward.grid;
        let across = grid.width / 2;
        let columns = if VIEWS { grid.source_row } else { self.places.row };
        // SAFETY: as the caller promises.
        unsafe {
            let mut square = strip.start;
            while square < strip.end {
                let (y, x) = (square / across, square % across);
                let count = (across - x).min(strip.end - square);
                let run = Run {
                    from: from.add((2 * y * columns + 2 * x) * IMAGES),
                    next: columns * IMAGES,
                    to: to.add((square - strip.start) * IMAGES),
                    apart: self.apart(),
                    count,
                };
                match (VIEWS, row) {
                    (true, 0) => run.views::<V, IMAGES, 0>(),
                    (true, 1) => run.views::<V, IMAGES, 1>(),
                    (true, 2) => run.views::<V, IMAGES, 2>(),
                    (true, _) => run.views::<V, IMAGES, 3>(),
                    (false, 0) => run.squares::<V, IMAGES, 0>(),
                    (false, 1) => run.squares::<V, IMAGES, 1>(),
                    (false, 2) => run.squares::<V, IMAGES, 2>(),
                    (false, _) => run.squares::<V, IMAGES, 3>(),
                }
                square += count;
            }
            if !(strip.len() * IMAGES).is_multiple_of(LANES) {
                let to = to.add(strip.len() * IMAGES);
                for column in 0..4 {
                    for part in (0..IMAGES).step_by(V::WIDTH) {
                        V::splat(0.0).store(to.add(column * self.apart() + part));
                    }
                }
            }
        }
    }
}

/// Neighbouring squares of a row.
struct Run {
    from: *const f32,
    /// Distance of two rows of numbers.
    next: usize,
    to: *mut f32,
    /// Distance of two terms.
    apart: usize,
    count: usize,
}

impl Run {
    /// Row `ROW` of the terms of what each of them sees.
    ///
    /// # Safety
    /// There are all views, and room for the terms.
    #[inline(always)]
    unsafe fn views<V: Vector, const IMAGES: usize, const ROW: usize>(&self) {
        // The two rows that it is made of.
        let (first, second) = [(0, 2), (1, 2), (2, 1), (1, 3)][ROW];
        for part in (0..IMAGES).step_by(V::WIDTH) {
            // SAFETY: as the caller promises.
            unsafe {
                let (mut from, mut to) = (self.from.add(part), self.to.add(part));
                let column = |from: *const f32| {
                    let a = V::load(from.add(first * self.next));
                    let b = V::load(from.add(second * self.next));
                    if ROW == 1 { a.plus(b) } else { a.minus(b) }
                };
                // Half of what a square sees, its neighbour has seen.
                let mut seen = [column(from), column(from.add(IMAGES))];
                for _ in 0..self.count {
                    from = from.add(2 * IMAGES);
                    let more = [column(from), column(from.add(IMAGES))];
                    let terms = seen_along([seen[0], seen[1], more[0], more[1]]);
                    for column in 0..4 {
                        terms[column].store(to.add(column * self.apart));
                    }
                    to = to.add(IMAGES);
                    seen = more;
                }
            }
        }
    }

    /// Row `ROW` of the terms of their gradient.
    ///
    /// # Safety
    /// There are all squares, and room for the terms.
    #[inline(always)]
    unsafe fn squares<V: Vector, const IMAGES: usize, const ROW: usize>(&self) {
        let zero = V::splat(0.0);
        for part in (0..IMAGES).step_by(V::WIDTH) {
            // SAFETY: as the caller promises.
            unsafe {
                let (mut from, mut to) = (self.from.add(part), self.to.add(part));
                let column = |from: *const f32| match ROW {
                    0 => V::load(from),
                    1 => V::load(from).plus(V::load(from.add(self.next))),
                    2 => V::load(from).minus(V::load(from.add(self.next))),
                    _ => zero.minus(V::load(from.add(self.next))),
                };
                for _ in 0..self.count {
                    let [a, b] = [column(from), column(from.add(IMAGES))];
                    let terms = [a, a.plus(b), a.minus(b), zero.minus(b)];
                    for column in 0..4 {
                        terms[column].store(to.add(column * self.apart));
                    }
                    (from, to) = (from.add(2 * IMAGES), to.add(IMAGES));
                }
            }
        }
    }
}

/// The lanes of the products of four channels at `dy` with four at `x`, `SOURCES` at a time, whose
/// channels are `channel` apart.
///
/// # Safety
/// There are so many vectors of lanes of each of them.
#[inline(always)]
unsafe fn products<V: Vector, const SOURCES: usize>(
    dy: *const f32,
    x: *const f32,
    channel: usize,
    vectors: usize,
    tile: &mut [Lanes; LANES],
) {
    for first in (0..SHARERS).step_by(SOURCES) {
        for lane in (0..LANES).step_by(V::WIDTH) {
            // SAFETY: as the caller promises.
            unsafe {
                let mut sums = [[V::splat(0.0); SOURCES]; SHARERS];
                let (mut dy, mut x) = (dy.add(lane), x.add(first * channel + lane));
                for _ in 0..vectors {
                    let mut given = [V::splat(0.0); SHARERS];
                    for target in 0..SHARERS {
                        given[target] = V::load(dy.add(target * channel));
                    }
                    for source in 0..SOURCES {
                        let seen = V::load(x.add(source * channel));
                        for target in 0..SHARERS {
                            let sum = &mut sums[target][source];
                            *sum = sum.add_product(given[target], seen);
                        }
                    }
                    (dy, x) = (dy.add(LANES), x.add(LANES));
                }
                let tile = tile.as_mut_ptr().cast::<f32>();
                for target in 0..SHARERS {
                    for source in 0..SOURCES {
                        let place = (target * SHARERS + first + source) * LANES + lane;
                        sums[target][source].store(tile.add(place));
                    }
                }
            }
        }
    }
}

multiversion! {
    /// Adds the sums over the lanes. A function of its own: inlined, it lures the compiler into
    /// keeping the loops above out of the registers.
    add_folded(tile: &[Lanes; LANES], sums: &mut Lanes) = add_totals<Isa>
}

#[inline(always)]
fn add_totals<I: Isa>(tile: &[Lanes; LANES], sums: &mut Lanes) {
    for (sum, total) in sums.iter_mut().zip(I::totals(tile)) {
        *sum += total;
    }
}
