//! The gradient of a convolution that is pooled at once: only the winners are visited.
//!
//! The images of a block are unrolled ([`frame`](super::frame)), and the winners are listed
//! ([`winners`](super::winners)). Every winner adds its patch of the input, times its gradient, to
//! the gradient of the filter; and the filter, times its gradient, to its patch of the input's
//! gradient. Both are the same loop, over lists of winners.
//!
//! Every number has a sum of its own, so its bits do not depend on the width of vectors.

#![allow(unsafe_code)]
// Constant indices are names of registers.
#![allow(clippy::needless_range_loop)]

use super::frame::Frame;
use super::isa::Isa;
use super::vector::Vector;
use super::winners::{Lists, Pool, Winners, list_by_filter, list_by_position};
use super::{LANES, multiversion};
use crate::network::Value;
use crate::shape::Shape;

/// The widest tile, in vectors.
pub(crate) const COLUMNS: usize = 12;
/// Its most rows.
const ROWS: usize = 4;

/// Patches of at most as many numbers are too small a tile: a winner would wait for the one before.
/// They are added up in two chains.
const SMALL: usize = 2 * LANES;

multiversion! {
    /// Adds the gradient of the pool's filters to `gradient`, filter by filter, and that of their
    /// biases to `sums`. `unrolled` is what they have seen of `1 << images` images.
    filter_gradient(
        images: u32, frame: &Frame, pool: Pool, unrolled: &[f32],
        lists: &mut Lists, gradient: &mut [f32], sums: &mut [f32],
    ) = filter_gradient_body<Isa>
}

#[inline(always)]
fn filter_gradient_body<I: Isa>(
    images: u32,
    frame: &Frame,
    pool: Pool,
    unrolled: &[f32],
    lists: &mut Lists,
    gradient: &mut [f32],
    sums: &mut [f32],
) {
    let Value { shape: pooled, lanes, .. } = *pool.gradient.value;
    // Sums of small patches begin and end at once: to them each slab is an image.
    let small = frame.rows == 1 && frame.row <= SMALL;
    let images = if small { lanes } else { images };
    list_by_filter::<I>(images, frame, pool, lists, sums);
    frame.holds(pool.window, pooled);
    assert!(unrolled.len() >= frame.image() << lanes);
    assert!(gradient.len() >= pooled.channels * frame.filter());
    let slabs = 1 << (lanes - images);
    for image in 0..1 << images {
        let numbers = &unrolled[image * frame.image()..];
        let source = Patches { numbers, apart: 1, row: frame.image_row };
        // SAFETY: the frame holds the patches of all positions that are pooled, of all slabs.
        unsafe {
            if small {
                let all = SmallPatches { lists, pooled, image, source: numbers };
                all.sized::<I::Wide>(frame.row, gradient);
                continue;
            }
            for filter in 0..pooled.channels {
                let winners = lists.of_filter(pooled, slabs, image, filter);
                let target = &mut gradient[filter * frame.filter()..][..frame.filter()];
                add_patches::<I>(frame.rows, frame.row, winners, source, target, frame.row);
            }
        }
    }
}

/// The small patches of an image.
struct SmallPatches<'a> {
    lists: &'a Lists,
    pooled: Shape,
    image: usize,
    source: &'a [f32],
}

impl SmallPatches<'_> {
    /// # Safety
    /// `row` numbers can be read where each winner's patch stands, and as many of each filter are
    /// in `gradient`.
    #[inline(always)]
    unsafe fn sized<V: Vector>(&self, row: usize, gradient: &mut [f32]) {
        // SAFETY: as the caller promises.
        unsafe {
            match row / V::WIDTH {
                1 => self.add::<V, 1>(gradient),
                2 => self.add::<V, 2>(gradient),
                4 => self.add::<V, 4>(gradient),
                8 => self.add::<V, 8>(gradient),
                count => unreachable!("a small patch of {count} vectors"),
            }
        }
    }

    /// # Safety
    /// As for `sized`.
    #[inline(always)]
    unsafe fn add<V: Vector, const C: usize>(&self, gradient: &mut [f32]) {
        let targets = gradient.chunks_exact_mut(C * V::WIDTH).take(self.pooled.channels);
        for (filter, target) in targets.enumerate() {
            let winners = self.lists.of_filter(self.pooled, 1, self.image, filter);
            let mut chains = [[V::splat(0.0); C]; 2];
            // SAFETY: as the caller promises.
            unsafe {
                for column in 0..C {
                    chains[0][column] = V::load(target.as_ptr().add(column * V::WIDTH));
                }
                let [even, odd] = &mut chains;
                let (offsets, last) = winners.offsets.as_chunks::<2>();
                let gradients = winners.gradients.as_chunks::<2>().0;
                for (offsets, gradients) in offsets.iter().zip(gradients) {
                    self.add_patch(even, offsets[0], gradients[0]);
                    self.add_patch(odd, offsets[1], gradients[1]);
                }
                if let ([offset], Some(&gradient)) = (last, winners.gradients.last()) {
                    self.add_patch(even, *offset, gradient);
                }
                for column in 0..C {
                    let [even, odd] = [chains[0][column], chains[1][column]];
                    let sum = even.add_product(V::splat(1.0), odd);
                    sum.store(target.as_mut_ptr().add(column * V::WIDTH));
                }
            }
        }
    }

    /// Adds the patch at `offset`, times its gradient. No closure: that might not be inlined.
    ///
    /// # Safety
    /// As for `sized`.
    #[inline(always)]
    unsafe fn add_patch<V: Vector, const C: usize>(
        &self,
        chain: &mut [V; C],
        offset: u32,
        gradient: f32,
    ) {
        let gradient = V::splat(gradient);
        for column in 0..C {
            // SAFETY: as the caller promises.
            let at = unsafe { self.source.as_ptr().add(offset as usize + column * V::WIDTH) };
            // SAFETY: as the caller promises.
            let x = unsafe { V::load(at) };
            chain[column] = chain[column].add_product(gradient, x);
        }
    }
}

multiversion! {
    /// The gradient by the unrolled `images`, from that of the pool and from `weights`, filter
    /// by filter.
    image_gradient(
        frame: &Frame, pool: Pool, weights: &[f32], lists: &mut Lists, images: &mut [f32],
    ) = image_gradient_body<Isa>
}

#[inline(always)]
fn image_gradient_body<I: Isa>(
    frame: &Frame,
    pool: Pool,
    weights: &[f32],
    lists: &mut Lists,
    images: &mut [f32],
) {
    list_by_position(pool, lists);
    let Value { shape: pooled, lanes, .. } = *pool.gradient.value;
    let Shape { channels, height, width } = pooled;
    frame.holds(pool.window, pooled);
    assert!(weights.len() >= channels * frame.filter());
    let (window, windows) = (pool.window, height * width);
    let area = window.height * window.width;
    let steps = frame.steps(window);
    images[..frame.image() << lanes].fill(0.0);
    for rows in frame.bands() {
        let numbers = &weights[rows.start * channels * frame.row..];
        let source = Patches { numbers, apart: rows.len() * frame.row, row: frame.row };
        for lane in 0..1 << lanes {
            let numbers = &mut images[lane * frame.image()..][..frame.image()];
            for at in 0..windows {
                let (row, column) = (at / width, at % width);
                let first = frame.position(row * window.stride, column * window.stride);
                for (winners, step) in lists.at_window(pooled, area, lane, at).zip(steps) {
                    let position = first + step as usize + rows.start * frame.image_row;
                    let (target, apart) = (&mut numbers[position..], frame.image_row);
                    // SAFETY: as above, and there are weights of all filters.
                    unsafe {
                        add_patches::<I>(rows.len(), frame.row, winners, source, target, apart);
                    }
                }
            }
        }
    }
}

/// What winners name.
#[derive(Clone, Copy)]
struct Patches<'a> {
    numbers: &'a [f32],
    /// Distance of two of them that are named one after the other, and of two rows.
    apart: usize,
    row: usize,
}

/// Adds `rows` rows of `length` numbers of each winner's patch, times its gradient, to
/// `target`, whose rows are `apart`.
///
/// # Safety
/// What each winner names is inside of the source, and the patch inside of the target.
#[inline(always)]
unsafe fn add_patches<I: Isa>(
    rows: usize,
    length: usize,
    winners: Winners,
    source: Patches,
    target: &mut [f32],
    apart: usize,
) {
    if winners.offsets.is_empty() {
        return;
    }
    let count = length / I::Wide::WIDTH;
    let pieces = count.div_ceil(COLUMNS);
    for piece in 0..pieces {
        let from = count * piece / pieces;
        let columns = count * (piece + 1) / pieces - from;
        let most = (I::ALONE / columns).clamp(1, ROWS);
        let mut row = 0;
        while row < rows {
            let height = most.min(rows - row);
            let tile = PatchTile { winners, source, apart };
            // SAFETY: as the caller promises.
            unsafe {
                let from = from * I::Wide::WIDTH;
                let target = target.as_mut_ptr().add(row * apart + from);
                tile.sized::<I::Wide>(row * source.row + from, target, height, columns);
            }
            row += height;
        }
    }
}

/// The arguments that do not change.
struct PatchTile<'a> {
    winners: Winners<'a>,
    source: Patches<'a>,
    apart: usize,
}

impl PatchTile<'_> {
    /// # Safety
    /// `rows` × `columns` vectors can be read and written at `target`, and read at `from` behind
    /// what each winner names.
    #[inline(always)]
    unsafe fn sized<V: Vector>(&self, from: usize, target: *mut f32, rows: usize, columns: usize) {
        macro_rules! sized {
            ($($r:literal: $($c:literal)*;)*) => {
                match (rows, columns) {
                    $($(($r, $c) => unsafe { self.sum::<V, $r, $c>(from, target) },)*)*
                    (rows, columns) => unreachable!("no tile of {rows} × {columns}"),
                }
            };
        }
        sized! {
            1: 1 2 3 4 5 6 7 8 9 10 11 12;
            2: 1 2 3 4 5 6 7 8 9 10 11 12;
            3: 1 2 3 4 5 6 7 8;
            4: 1 2 3 4 5 6;
        }
    }

    /// # Safety
    /// As for `sized`.
    #[inline(always)]
    unsafe fn sum<V: Vector, const R: usize, const C: usize>(&self, from: usize, target: *mut f32) {
        let Patches { numbers, apart, row: source_row } = self.source;
        // SAFETY: as the caller promises.
        unsafe {
            let source = numbers.as_ptr().add(from);
            let mut sums = [[V::splat(0.0); C]; R];
            for row in 0..R {
                for column in 0..C {
                    sums[row][column] = V::load(target.add(row * self.apart + column * V::WIDTH));
                }
            }
            let Winners { offsets, gradients } = self.winners;
            for (&offset, &gradient) in offsets.iter().zip(gradients) {
                let source = source.add(offset as usize * apart);
                let gradient = V::splat(gradient);
                for row in 0..R {
                    for column in 0..C {
                        let x = V::load(source.add(row * source_row + column * V::WIDTH));
                        sums[row][column] = sums[row][column].add_product(gradient, x);
                    }
                }
            }
            for row in 0..R {
                for column in 0..C {
                    sums[row][column].store(target.add(row * self.apart + column * V::WIDTH));
                }
            }
        }
    }
}
