//! Sums of whole kernels of three by three with four multiplications for nine: Winograd's
//! F(2×2, 3×3), forward and for the gradient by the input.
//!
//! Positions of a target are computed in *squares* of two by two. What a square reads of a source is
//! a *view* of four by four, which is made sixteen *terms*, sums and differences of its numbers; so is
//! each kernel, once per step. A term of a square is the sum, over sources, of the products of both;
//! and the square is again sums and differences of its sixteen terms. A *strip* of squares is worked
//! on at a time, so that its terms stay in the nearer caches.
//!
//! Each number is computed on its own, from sources in ascending order: nothing depends on the width
//! of vectors, on who else is computed beside it, or on where strips begin.

#![allow(unsafe_code)]
// Constant indices are names of registers.
#![allow(clippy::needless_range_loop)]

use super::correlation::{Finish, Start};
use super::isa::Isa;
use super::taps::{Correlation, NONE, SHARERS};
use super::vector::{Vector, fetch};
use super::{LANES, multiversion};
use crate::numbers::Numbers;
use std::ops::Range;

/// Rows and columns of a kernel.
pub(crate) const KERNEL: usize = 3;
/// Numbers of a kernel.
pub(super) const WEIGHTS: usize = KERNEL * KERNEL;
/// Terms of a view, of a kernel and of a square.
pub(super) const TERMS: usize = 16;
/// Numbers of a strip: so many of each term stand side by side.
const STRIP: usize = 4 * LANES;
/// Squares of a strip of the smallest blocks.
const SQUARES: usize = STRIP / 8;
/// Terms are a line further apart than they need be: powers of two would meet in the caches.
const APART: usize = LANES;
/// Numbers that the sums of one group of targets need.
const SUMS: usize = TERMS * SHARERS * STRIP;

/// Numbers of room that [`sum_squares`] needs for `sources` channels.
pub(crate) fn room_for(sources: usize) -> usize {
    SUMS + TERMS * (sources * STRIP + APART)
}

/// The kernels of a whole layer.
#[derive(Debug)]
pub(crate) struct Kernels {
    /// Where the first view of each source starts.
    pub(crate) views: Vec<u32>,
    pub(crate) targets: usize,
    /// Where the first kernel stands in the vector of values, and how far apart kernels of
    /// neighbouring targets and sources are.
    pub(crate) first: usize,
    pub(crate) target_step: usize,
    pub(crate) source_step: usize,
    /// Whether they are read from their last number to their first.
    pub(crate) mirrored: bool,
    /// `[group][term][source][sharer]`, with zeros for sharers that a last group lacks.
    terms: Numbers,
}

impl Kernels {
    /// Kernels with one view per source, for `targets`, which are to meet what `correlation` reads,
    /// and a vector of `values`. Checks everything that the loops rely on.
    pub(crate) fn checked(
        correlation: &Correlation,
        views: Vec<u32>,
        (first, target_step, source_step): (usize, usize, usize),
        mirrored: bool,
        values: usize,
    ) -> Self {
        let (grid, targets) = (correlation.grid, correlation.targets.len());
        let even = grid.height.is_multiple_of(2) && grid.width.is_multiple_of(2);
        assert!(even && grid.strip == grid.height, "there are squares");
        let last = (grid.height + 1) * grid.source_row + grid.width + 1;
        let inside = views.iter().all(|&start| (start as usize + last) < correlation.source_len);
        assert!(inside, "a view reaches outside of its source");
        let reach = |count: usize, step: usize| count.saturating_sub(1) * step;
        let last = first + reach(targets, target_step) + reach(views.len(), source_step);
        assert!(targets == 0 || last + WEIGHTS <= values, "no such weight");
        let terms = targets.div_ceil(SHARERS) * TERMS * views.len() * SHARERS;
        let terms = Numbers::new(terms);
        Kernels { views, targets, first, target_step, source_step, mirrored, terms }
    }

    /// Makes the terms of all kernels.
    pub(crate) fn fill(&mut self, values: &[f32]) {
        let sources = self.views.len();
        let groups = self.terms.as_chunks_mut::<SHARERS>().0.chunks_mut(TERMS * sources);
        for (group, terms) in groups.enumerate() {
            let sharers = SHARERS.min(self.targets.saturating_sub(group * SHARERS));
            for source in 0..sources {
                let mut kernels = [[0.0; SHARERS]; WEIGHTS];
                for sharer in 0..sharers {
                    let target = (group * SHARERS + sharer) * self.target_step;
                    let kernel = self.first + target + source * self.source_step;
                    let kernel = &values[kernel..kernel + WEIGHTS];
                    for weight in 0..WEIGHTS {
                        let place = if self.mirrored { WEIGHTS - 1 - weight } else { weight };
                        kernels[weight][sharer] = kernel[place];
                    }
                }
                for (term, numbers) in kernel_terms(&kernels).into_iter().enumerate() {
                    terms[term * sources + source] = numbers;
                }
            }
        }
    }
}

/// The terms of some kernels.
fn kernel_terms<const N: usize>(kernels: &[[f32; N]; WEIGHTS]) -> [[f32; N]; TERMS] {
    // Of three numbers: the outer ones, and half of their sum with and without the middle one.
    let along = |a: [f32; N], b: [f32; N], c: [f32; N]| -> [[f32; N]; 4] {
        let outer: [f32; N] = std::array::from_fn(|it| a[it] + c[it]);
        let with = std::array::from_fn(|it| (outer[it] + b[it]) * 0.5);
        let without = std::array::from_fn(|it| (outer[it] - b[it]) * 0.5);
        [a, with, without, c]
    };
    let columns: [_; KERNEL] = std::array::from_fn(|column| {
        along(kernels[column], kernels[KERNEL + column], kernels[2 * KERNEL + column])
    });
    let mut terms = [[0.0; N]; TERMS];
    for row in 0..4 {
        let numbers = along(columns[0][row], columns[1][row], columns[2][row]);
        terms[4 * row..][..4].copy_from_slice(&numbers);
    }
    terms
}

multiversion! {
    /// Sums up all kernels at all positions of all targets of `correlation`, which has no taps, for
    /// `1 << lanes` images, 8 or 16 of them.
    sum_squares(
        correlation: &Correlation, kernels: &Kernels, lanes: u32, values: &[f32],
        source: &[f32], target: &mut [f32], ends: (Start, Finish), room: &mut [f32],
    ) = sum_strips<Isa>
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn sum_strips<I: Isa>(
    correlation: &Correlation,
    kernels: &Kernels,
    lanes: u32,
    values: &[f32],
    source: &[f32],
    target: &mut [f32],
    (start, finish): (Start, Finish),
    room: &mut [f32],
) {
    finish.check(correlation, lanes);
    assert!(!matches!(finish, Finish::Pool(_)), "nobody pools squares");
    assert_eq!(kernels.targets, correlation.targets.len());
    assert!(source.len() >= correlation.source_len << lanes);
    assert!(target.len() >= correlation.target_len << lanes);
    assert!(room.len() >= room_for(kernels.views.len()));
    let call = Call { correlation, kernels, lanes, values, source, start, finish };
    match lanes {
        3 => call.strips::<I, I::Eight, 8>(target, room),
        4 => call.strips::<I, I::Wide, LANES>(target, room),
        _ => unreachable!("no squares of so few images"),
    }
}

/// The arguments of `sum_squares` that do not change.
struct Call<'a> {
    correlation: &'a Correlation,
    kernels: &'a Kernels,
    lanes: u32,
    values: &'a [f32],
    source: &'a [f32],
    start: Start,
    finish: Finish<'a>,
}

impl Call<'_> {
    /// All strips of squares of `IMAGES` images, whose views are read by vectors `V`.
    #[inline(always)]
    fn strips<I: Isa, V: Vector, const IMAGES: usize>(self, target: &mut [f32], room: &mut [f32]) {
        let grid = self.correlation.grid;
        let sources = self.kernels.views.len();
        let (sums, terms) = room.split_at_mut(SUMS);
        let apart = sources * STRIP + APART;
        let squares = grid.height * grid.width / 4;
        for first in (0..squares).step_by(STRIP / IMAGES) {
            let strip = first..(first + STRIP / IMAGES).min(squares);
            // SAFETY: `Kernels::checked` has seen every view of every square, `Correlation::checked`
            // every position of every target and its mask, and `sum_strips` all lengths.
            unsafe {
                let views = self.places(&strip, grid.source_row);
                for (source, &start) in self.kernels.views.iter().enumerate() {
                    let from = self.source.as_ptr().add((start as usize) << self.lanes);
                    let row = grid.source_row * IMAGES;
                    let terms = terms.as_mut_ptr().add(source * STRIP);
                    for (square, &place) in views[..strip.len()].iter().enumerate() {
                        for part in (0..IMAGES).step_by(V::WIDTH) {
                            let terms = terms.add(square * IMAGES + part);
                            view_terms::<V, IMAGES>(from.add(place + part), row, terms, apart);
                        }
                    }
                }
                let group = TERMS * sources * SHARERS;
                let groups = self.kernels.targets.div_ceil(SHARERS);
                let next = strip.end..(strip.end + STRIP / IMAGES).min(squares);
                for (group, kernels) in self.kernels.terms.chunks_exact(group).enumerate() {
                    let numbers = strip.len() * IMAGES;
                    // As many vectors as leave room for what they meet.
                    if I::SHARED >= 4 {
                        add_up::<I::Wide, 4>(numbers, sources, kernels, terms, apart, sums);
                    } else {
                        add_up::<I::Wide, 2>(numbers, sources, kernels, terms, apart, sums);
                    }
                    let first = group * SHARERS;
                    for of in first..(first + SHARERS).min(self.kernels.targets) {
                        let sums = &sums[(of - first) * STRIP..];
                        self.finish_squares::<V, IMAGES>(&strip, of, sums, target);
                    }
                    let sources = group * sources / groups..(group + 1) * sources / groups;
                    let targets = first..(first + SHARERS).min(self.kernels.targets);
                    self.fetch_ahead::<IMAGES>(&next, sources, targets, target);
                }
            }
        }
    }

    /// Where the first numbers of the squares of a strip stand, relative to that of the first square,
    /// if rows are `row` positions apart.
    #[inline(always)]
    fn places(&self, strip: &Range<usize>, row: usize) -> [usize; SQUARES] {
        let across = self.correlation.grid.width / 2;
        let mut places = [0; SQUARES];
        for (place, square) in places.iter_mut().zip(strip.clone()) {
            *place = (2 * (square / across) * row + 2 * (square % across)) << self.lanes;
        }
        places
    }

    /// Asks for what the next strip will read and write, a few channels at a time: these are pieces of
    /// many rows, which no machine foresees.
    #[inline(always)]
    fn fetch_ahead<const IMAGES: usize>(
        &self,
        strip: &Range<usize>,
        sources: Range<usize>,
        targets: Range<usize>,
        target: &[f32],
    ) {
        let Call { correlation, lanes, .. } = *self;
        let square = |start: *const f32, row: usize| {
            for at in (0..2 * IMAGES).step_by(LANES) {
                fetch(start.wrapping_add(at));
                fetch(start.wrapping_add(row * IMAGES + at));
            }
        };
        // The upper half of a view was the lower one of the strip above.
        let row = correlation.grid.source_row;
        for &place in &self.places(strip, row)[..strip.len()] {
            for &start in &self.kernels.views[sources.clone()] {
                let start = (start as usize + 2 * row + 2) << lanes;
                square(self.source.as_ptr().wrapping_add(start + place), row);
            }
        }
        let row = correlation.grid.target_row;
        for &place in &self.places(strip, row)[..strip.len()] {
            for &start in &correlation.targets[targets.clone()] {
                let start = (start as usize) << lanes;
                square(target.as_ptr().wrapping_add(start + place), row);
            }
        }
    }

    /// Writes the squares of a strip of target `of`, whose terms stand at `sums`.
    ///
    /// # Safety
    /// There are all positions of the target and of what decides over them, and all terms.
    #[inline(always)]
    unsafe fn finish_squares<V: Vector, const IMAGES: usize>(
        &self,
        strip: &Range<usize>,
        of: usize,
        sums: &[f32],
        target: &mut [f32],
    ) {
        let Call { correlation, lanes, .. } = *self;
        let row = correlation.grid.target_row * IMAGES;
        let bias = match correlation.biases.get(of) {
            Some(&bias) if bias != NONE => self.values[bias as usize],
            _ => 0.0,
        };
        let places = self.places(strip, correlation.grid.target_row);
        // SAFETY: as the caller promises.
        unsafe {
            let target = target.as_mut_ptr().add((correlation.targets[of] as usize) << lanes);
            let deciding = match (self.finish, &correlation.mask) {
                (Finish::Mask(numbers) | Finish::MaskOnto(numbers), Some(mask)) => {
                    let start = numbers.as_ptr().add(mask.place(of, 0, lanes));
                    Some((start, mask.row * IMAGES, self.places(strip, mask.row)))
                }
                _ => None,
            };
            let copy = match self.finish {
                Finish::Copy(copied) => {
                    let row = copied.next(lanes);
                    let start = copied.numbers.add(copied.row(of, 0, lanes));
                    Some((start, row, self.places(strip, row >> lanes)))
                }
                _ => None,
            };
            for square in 0..strip.len() {
                for part in (0..IMAGES).step_by(V::WIDTH) {
                    let sums = sums.as_ptr().add(square * IMAGES + part);
                    let numbers = square_of::<V>(sums, SHARERS * STRIP);
                    for (y, numbers) in numbers.into_iter().enumerate() {
                        for (x, number) in numbers.into_iter().enumerate() {
                            let at = x * IMAGES + part;
                            let to = target.add(places[square] + y * row + at);
                            let mut number = number.plus(V::splat(bias));
                            if self.start == Start::Target {
                                number = number.plus(V::load(to));
                            }
                            if let Finish::Rectify = self.finish {
                                number = number.at_least(V::splat(0.0));
                            }
                            if let Some((start, row, places)) = &deciding {
                                let deciding = start.add(places[square] + y * row + at);
                                number = number.where_positive(V::load(deciding));
                            }
                            if let Finish::MaskOnto(_) = self.finish {
                                number = V::load(to).plus(number);
                            }
                            number.store(to);
                            if let Some((start, row, places)) = &copy {
                                let copy = start.add(places[square] + y * row + at);
                                number.at_least(V::splat(0.0)).store(copy);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The differences and sums of four numbers that meet a kernel's three.
#[inline(always)]
pub(super) fn seen_along<V: Vector>([a, b, c, d]: [V; 4]) -> [V; 4] {
    [a.minus(c), b.plus(c), c.minus(b), b.minus(d)]
}

/// Makes terms, `apart` from each other, of the view at `from`, whose rows are `row` apart.
///
/// # Safety
/// There is all of the view, and room for the terms.
#[inline(always)]
unsafe fn view_terms<V: Vector, const IMAGES: usize>(
    from: *const f32,
    row: usize,
    terms: *mut f32,
    apart: usize,
) {
    // SAFETY: as the caller promises.
    unsafe {
        let mut columns = [[V::splat(0.0); 4]; 4];
        for column in 0..4 {
            let from = from.add(column * IMAGES);
            let mut numbers = [V::splat(0.0); 4];
            for y in 0..4 {
                numbers[y] = V::load(from.add(y * row));
            }
            columns[column] = seen_along(numbers);
        }
        for y in 0..4 {
            let row = [columns[0][y], columns[1][y], columns[2][y], columns[3][y]];
            let row = seen_along(row);
            for x in 0..4 {
                row[x].store(terms.add((4 * y + x) * apart));
            }
        }
    }
}

/// The sums over all sources of a group's terms, for the first `numbers` of a strip, as many vectors
/// at a time.
///
/// # Safety
/// There are terms of all `sources`, and room for the sums.
#[inline(always)]
unsafe fn add_up<V: Vector, const VECTORS: usize>(
    numbers: usize,
    sources: usize,
    kernels: &[f32],
    terms: &[f32],
    apart: usize,
    sums: &mut [f32],
) {
    for term in 0..TERMS {
        for from in (0..numbers).step_by(VECTORS * V::WIDTH) {
            // SAFETY: as the caller promises; a strip is a whole number of such pieces.
            unsafe {
                let mut tile = [[V::splat(0.0); VECTORS]; SHARERS];
                let mut kernel = kernels.as_ptr().add(term * sources * SHARERS);
                let mut numbers = terms.as_ptr().add(term * apart + from);
                for _ in 0..sources {
                    let mut seen = [V::splat(0.0); VECTORS];
                    for vector in 0..VECTORS {
                        seen[vector] = V::load(numbers.add(vector * V::WIDTH));
                    }
                    for sharer in 0..SHARERS {
                        let weight = V::splat(*kernel.add(sharer));
                        for vector in 0..VECTORS {
                            let sum = &mut tile[sharer][vector];
                            *sum = sum.add_product(weight, seen[vector]);
                        }
                    }
                    kernel = kernel.add(SHARERS);
                    numbers = numbers.add(STRIP);
                }
                let sums = sums.as_mut_ptr().add(term * SHARERS * STRIP + from);
                for sharer in 0..SHARERS {
                    for vector in 0..VECTORS {
                        tile[sharer][vector].store(sums.add(sharer * STRIP + vector * V::WIDTH));
                    }
                }
            }
        }
    }
}

/// The square whose terms stand at `sums`, `apart` from each other.
///
/// # Safety
/// There are all of them.
#[inline(always)]
unsafe fn square_of<V: Vector>(sums: *const f32, apart: usize) -> [[V; 2]; 2] {
    // SAFETY: as the caller promises.
    unsafe {
        let mut columns = [[V::splat(0.0); 2]; 4];
        for column in 0..4 {
            let mut numbers = [V::splat(0.0); 4];
            for row in 0..4 {
                numbers[row] = V::load(sums.add((4 * row + column) * apart));
            }
            columns[column] = square_along(numbers);
        }
        let [a, b, c, d] = columns;
        [square_along([a[0], b[0], c[0], d[0]]), square_along([a[1], b[1], c[1], d[1]])]
    }
}

/// The two numbers that four terms are of.
#[inline(always)]
fn square_along<V: Vector>([a, b, c, d]: [V; 4]) -> [V; 2] {
    [a.plus(b.plus(c)), b.minus(c).minus(d)]
}
