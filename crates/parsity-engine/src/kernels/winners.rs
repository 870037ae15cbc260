//! The gradient of a convolution that is pooled at once: only the winners are visited.
//!
//! A max-pool hands its gradient on to one position of each window, the *winner*, and to none
//! where the rectifier rests. Of four positions at most one matters, so a kernel that visits
//! all of them multiplies zeros most of the time. Here the images of a block are unrolled, one
//! after the other with the channels innermost: what a filter sees at a position is then a
//! *patch*, a few rows of neighbouring numbers. Every winner adds its patch of the input, times
//! its gradient, to the gradient of the filter; and the filter, times its gradient, to its
//! patch of the input's gradient. Both are the same loop, over lists of winners.
//!
//! Every number has a sum of its own, so its bits do not depend on the width of vectors.

#![allow(unsafe_code)]
// Constant indices are names of registers.
#![allow(clippy::needless_range_loop)]

use super::layers::{Source, Target, each, with_images};
use super::pools::NOBODY;
use super::vector::{Isa, Vector};
use super::{LANES, multiversion};
use crate::network::Window;
use crate::shape::Shape;
use std::ops::Range;

/// The widest tile, in vectors.
pub(crate) const COLUMNS: usize = 12;
/// Its most rows.
const ROWS: usize = 4;

/// One position that is visited: where its patch stands (or its filter), and its gradient.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Winner {
    offset: u32,
    gradient: f32,
}

impl Winner {
    /// Holds the place of one that is yet to be found.
    const NONE: Winner = Winner { offset: 0, gradient: 0.0 };
}

/// The images of a block, unrolled; all in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Channels, rows and columns, with those around the image that filters see.
    pub(crate) shape: Shape,
    /// Where the image's first position stands in it.
    pub(crate) top: usize,
    pub(crate) left: usize,
    /// Rows of a filter, and numbers of each: as many as whole vectors have.
    pub(crate) rows: usize,
    pub(crate) row: usize,
    /// Distance of two rows of an image.
    pub(crate) image_row: usize,
    /// Rows of a filter that are worked on at a time, so that those of all filters stay in the
    /// nearest cache. Weights stand band by band, and in a band filter by filter.
    band: usize,
}

impl Frame {
    /// For filters of `rows` × `columns`, `band` rows of which are worked on at a time.
    pub(crate) fn new(
        shape: Shape,
        (top, left): (usize, usize),
        (rows, columns): (usize, usize),
        band: usize,
    ) -> Self {
        let row = (columns * shape.channels).next_multiple_of(LANES);
        // A patch may end behind its row, but not in the next one.
        let last = (shape.width - columns) * shape.channels;
        let image_row = (last + row).next_multiple_of(LANES);
        let band = band.clamp(1, rows);
        Frame { shape, top, left, rows, row, image_row, band }
    }

    /// Numbers of a filter.
    pub(crate) fn filter(&self) -> usize {
        self.rows * self.row
    }

    /// Where number (`row`, `column`, `channel`) of a filter stands in its gradient.
    pub(crate) fn number(&self, row: usize, column: usize, channel: usize) -> usize {
        row * self.row + column * self.shape.channels + channel
    }

    /// Where number (`row`, `column`, `channel`) of filter `filter` of `filters` stands among the
    /// weights.
    pub(crate) fn weight(
        &self,
        (filter, filters): (usize, usize),
        (row, column, channel): (usize, usize, usize),
    ) -> usize {
        let (before, inside) = (row / self.band * self.band, row % self.band);
        let rows = self.band.min(self.rows - before);
        (filters * before + filter * rows) * self.row + self.number(inside, column, channel)
    }

    /// Numbers of an image.
    pub(crate) fn image(&self) -> usize {
        // A line more, so that images do not fall on the same lines of the cache.
        self.shape.height * self.image_row + LANES
    }

    /// The rows of each band.
    fn bands(self) -> impl Iterator<Item = Range<usize>> {
        let rows = self.rows;
        (0..rows).step_by(self.band).map(move |row| row..(row + self.band).min(rows))
    }

    /// Makes sure that the patches of all positions of the pool's windows are inside.
    fn holds(&self, pool: Pool) {
        let Shape { height, width, .. } = pool.gradient.value.shape;
        let Window { height: rows, width: columns, stride } = pool.window;
        let (row, column) = ((height - 1) * stride + rows - 1, (width - 1) * stride + columns - 1);
        assert!(row + self.rows <= self.shape.height);
        assert!(column * self.shape.channels + self.row <= self.image_row);
    }

    fn position(&self, row: usize, column: usize) -> usize {
        row * self.image_row + column * self.shape.channels
    }

    /// What each code of a window adds to the place of its first position.
    fn steps(&self, window: Window) -> [u32; 256] {
        let code = |code: usize| self.position(code / window.width, code % window.width) as u32;
        std::array::from_fn(|at| if at < window.height * window.width { code(at) } else { 0 })
    }
}

/// What pooling has left: the gradient of its output, and its codes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pool<'a> {
    pub(crate) window: Window,
    pub(crate) gradient: Source<'a>,
    pub(crate) codes: &'a [u8],
}

/// Places between the lists of two images, so that they do not fall on the same cache lines.
const APART: usize = 24;

/// Room for lists of winners: a place for each window of each filter in each image.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    winners: Vec<Winner>,
    /// Where lists end.
    ends: Vec<u32>,
}

impl Lists {
    /// For pools of shape `pooled` with windows of `area`, in blocks of `images`.
    pub(crate) fn reserve(&mut self, images: usize, pooled: Shape, area: usize) {
        let windows = pooled.height * pooled.width;
        let winners = self.winners.len().max(images * (pooled.len() + APART));
        self.winners.resize(winners, Winner::NONE);
        let lists = pooled.channels.max(windows * area);
        self.ends.resize(self.ends.len().max(images * lists), 0);
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.winners) + size_of_val(&*self.ends)
    }
}

multiversion! {
    /// Unrolls the images of a block: what stands at `x.value`'s position 0 and behind.
    unroll(lanes: u32, frame: &Frame, x: Source, images: &mut [f32]) = unroll_body<Isa>
}

#[inline(always)]
fn unroll_body<I: Isa>(lanes: u32, frame: &Frame, x: Source, images: &mut [f32]) {
    let Shape { channels, height, width } = frame.shape;
    let first = x.value.row(0, 0) - frame.top * x.value.columns() - frame.left;
    let plane = x.value.plane();
    with_images!(lanes, |IMAGES| {
        let from = x.numbers.as_chunks::<IMAGES>().0;
        for (row, column) in each(0..height, &(0..width)) {
            let to = frame.position(row, column);
            let at = first + row * x.value.columns() + column;
            let mut channel = 0;
            while IMAGES == LANES && channel + LANES <= channels {
                let numbers = std::array::from_fn(|next| from[at + (channel + next) * plane]);
                for (image, numbers) in I::transposed(&widened(&numbers)).iter().enumerate() {
                    let to = image * frame.image() + to + channel;
                    images[to..to + LANES].copy_from_slice(numbers);
                }
                channel += LANES;
            }
            for channel in channel..channels {
                let numbers = &from[at + channel * plane];
                for image in 0..IMAGES {
                    images[image * frame.image() + to + channel] = numbers[image];
                }
            }
        }
    })
}

multiversion! {
    /// Rolls the images up again: dx += them, or dx = them, if `set`.
    roll_up(lanes: u32, frame: &Frame, images: &[f32], dx: Target, set: bool) = roll_up_body<Isa>
}

#[inline(always)]
fn roll_up_body<I: Isa>(lanes: u32, frame: &Frame, images: &[f32], dx: Target, set: bool) {
    let Shape { channels, height, width } = dx.value.shape;
    let plane = dx.value.plane();
    with_images!(lanes, |IMAGES| {
        let to = dx.numbers.as_chunks_mut::<IMAGES>().0;
        for (row, column) in each(0..height, &(0..width)) {
            let from = frame.position(row + frame.top, column + frame.left);
            let at = dx.value.row(0, row) + column;
            let mut channel = 0;
            let mut put = |channel: usize, numbers: &[f32; IMAGES]| {
                let to = &mut to[at + channel * plane];
                for image in 0..IMAGES {
                    let before = if set { 0.0 } else { to[image] };
                    to[image] = before + numbers[image];
                }
            };
            while IMAGES == LANES && channel + LANES <= channels {
                let numbers = std::array::from_fn(|image| {
                    let from = image * frame.image() + from + channel;
                    *images[from..].first_chunk().expect("an image ends behind its channels")
                });
                for (next, numbers) in I::transposed(&numbers).iter().enumerate() {
                    put(channel + next, &narrowed(numbers));
                }
                channel += LANES;
            }
            for channel in channel..channels {
                let number = |image: usize| images[image * frame.image() + from + channel];
                put(channel, &std::array::from_fn(number));
            }
        }
    })
}

/// Rows of as many images, as rows of `LANES`; they are the same, which the compiler does not
/// see.
#[inline(always)]
fn widened<const IMAGES: usize>(rows: &[[f32; IMAGES]; LANES]) -> [[f32; LANES]; LANES] {
    std::array::from_fn(|row| std::array::from_fn(|image| rows[row][image % IMAGES]))
}

#[inline(always)]
fn narrowed<const IMAGES: usize>(row: &[f32; LANES]) -> [f32; IMAGES] {
    std::array::from_fn(|image| row[image % LANES])
}

/// Lists the winners of each filter in each image, in the order of windows, and adds the
/// gradients of each filter to its number of `sums`.
#[inline(always)]
fn list_by_filter(lanes: u32, frame: &Frame, pool: Pool, lists: &mut Lists, sums: &mut [f32]) {
    let Shape { channels, height, width } = pool.gradient.value.shape;
    let (window, windows) = (pool.window, height * width);
    let steps = frame.steps(window);
    with_images!(lanes, |IMAGES| {
        let codes = pool.codes.as_chunks::<IMAGES>().0;
        let gradients = pool.gradient.numbers.as_chunks::<IMAGES>().0;
        for filter in 0..channels {
            let codes = &codes[filter * windows..][..windows];
            let mut totals = [0.0; IMAGES];
            for (row, codes) in codes.chunks_exact(width).enumerate() {
                let gradients = &gradients[pool.gradient.value.row(filter, row)..][..width];
                for (codes, gradients) in codes.iter().zip(gradients) {
                    for image in 0..IMAGES {
                        let wins = codes[image] != NOBODY;
                        totals[image] += if wins { gradients[image] } else { 0.0 };
                    }
                }
            }
            sums[filter] += totals.iter().sum::<f32>();
            for image in 0..IMAGES {
                let start = image * (windows * channels + APART) + filter * windows;
                let winners = &mut lists.winners[start..start + windows];
                let mut found = 0;
                for (row, codes) in codes.chunks_exact(width).enumerate() {
                    let gradients = &gradients[pool.gradient.value.row(filter, row)..][..width];
                    let mut first = frame.position(row * window.stride, 0) as u32;
                    for (codes, gradients) in codes.iter().zip(gradients) {
                        let (code, gradient) = (codes[image], gradients[image]);
                        let offset = first + steps[usize::from(code)];
                        winners[found] = Winner { offset, gradient };
                        found += usize::from(code != NOBODY);
                        first += (window.stride * frame.shape.channels) as u32;
                    }
                }
                lists.ends[image * channels + filter] = found as u32;
            }
        }
    })
}

/// Lists the filters that have won at each position of each window in each image.
fn list_by_position(lanes: u32, pool: Pool, lists: &mut Lists) {
    let Shape { channels, height, width } = pool.gradient.value.shape;
    let (area, windows) = (pool.window.height * pool.window.width, height * width);
    with_images!(lanes, |IMAGES| {
        let codes = pool.codes.as_chunks::<IMAGES>().0;
        let gradients = pool.gradient.numbers.as_chunks::<IMAGES>().0;
        // Of each code: how many, then where its list goes on. Nobody's comes last.
        let mut next = [[0u32; IMAGES]; 256];
        let place = |code: u8| usize::from(code).min(area);
        for at in 0..windows {
            let (row, column) = (at / width, at % width);
            next[..=area].fill([0; IMAGES]);
            for filter in 0..channels {
                let codes = &codes[filter * windows + at];
                for image in 0..IMAGES {
                    next[place(codes[image])][image] += 1;
                }
            }
            for image in 0..IMAGES {
                let mut start = 0;
                for code in 0..=area {
                    let count = next[code][image];
                    next[code][image] = start;
                    start += count;
                    if code < area {
                        lists.ends[(image * windows + at) * area + code] = start;
                    }
                }
            }
            for filter in 0..channels {
                let codes = &codes[filter * windows + at];
                let gradients = &gradients[pool.gradient.value.row(filter, row) + column];
                for image in 0..IMAGES {
                    let next = &mut next[place(codes[image])][image];
                    let start = image * (windows * channels + APART) + at * channels;
                    let (offset, gradient) = (filter as u32, gradients[image]);
                    lists.winners[start + *next as usize] = Winner { offset, gradient };
                    *next += 1;
                }
            }
        }
    })
}

multiversion! {
    /// Adds the gradient of the pool's filters to `gradient`, filter by filter, and that of their
    /// biases to `sums`. `images` are the unrolled images that they have seen.
    filter_gradient(
        lanes: u32, frame: &Frame, pool: Pool, images: &[f32],
        lists: &mut Lists, gradient: &mut [f32], sums: &mut [f32],
    ) = filter_gradient_body<Isa>
}

#[inline(always)]
fn filter_gradient_body<I: Isa>(
    lanes: u32,
    frame: &Frame,
    pool: Pool,
    images: &[f32],
    lists: &mut Lists,
    gradient: &mut [f32],
    sums: &mut [f32],
) {
    list_by_filter(lanes, frame, pool, lists, sums);
    let Shape { channels, height, width } = pool.gradient.value.shape;
    let windows = height * width;
    frame.holds(pool);
    assert!(gradient.len() >= channels * frame.filter());
    for (image, numbers) in images.chunks_exact(frame.image()).take(1 << lanes).enumerate() {
        for filter in 0..channels {
            let start = image * (windows * channels + APART) + filter * windows;
            let winners = &lists.winners[start..][..lists.ends[image * channels + filter] as usize];
            let target = &mut gradient[filter * frame.filter()..][..frame.filter()];
            let source = Patches { numbers, apart: 1, row: frame.image_row };
            // SAFETY: the frame holds the patches of all positions that are pooled.
            unsafe {
                add_patches::<I>(frame.rows, frame.row, winners, source, target, frame.row);
            }
        }
    }
}

multiversion! {
    /// The gradient by the unrolled `images`, from that of the pool and from `weights`, filter
    /// by filter.
    image_gradient(
        lanes: u32, frame: &Frame, pool: Pool, weights: &[f32],
        lists: &mut Lists, images: &mut [f32],
    ) = image_gradient_body<Isa>
}

#[inline(always)]
fn image_gradient_body<I: Isa>(
    lanes: u32,
    frame: &Frame,
    pool: Pool,
    weights: &[f32],
    lists: &mut Lists,
    images: &mut [f32],
) {
    list_by_position(lanes, pool, lists);
    let Shape { channels, height, width } = pool.gradient.value.shape;
    frame.holds(pool);
    assert!(weights.len() >= channels * frame.filter());
    let (window, windows) = (pool.window, height * width);
    let area = window.height * window.width;
    let steps = frame.steps(window);
    images[..frame.image() << lanes].fill(0.0);
    for rows in frame.bands() {
        let numbers = &weights[rows.start * channels * frame.row..];
        let source = Patches { numbers, apart: rows.len() * frame.row, row: frame.row };
        for image in 0..1 << lanes {
            let numbers = &mut images[image * frame.image()..][..frame.image()];
            for at in 0..windows {
                let (row, column) = (at / width, at % width);
                let start = image * (windows * channels + APART) + at * channels;
                let ends = &lists.ends[(image * windows + at) * area..][..area];
                let mut found = 0;
                for (&end, step) in ends.iter().zip(steps) {
                    let winners = &lists.winners[start + found..start + end as usize];
                    found = end as usize;
                    let first = frame.position(row * window.stride, column * window.stride);
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
    winners: &[Winner],
    source: Patches,
    target: &mut [f32],
    apart: usize,
) {
    if winners.is_empty() {
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
    winners: &'a [Winner],
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
            for winner in self.winners {
                let source = source.add(winner.offset as usize * apart);
                let gradient = V::splat(winner.gradient);
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
