//! Images that are unrolled one after the other, so that what a filter sees at a position lies
//! side by side.
//!
//! A block has the images innermost. Here they are laid out apart, with the channels innermost:
//! what a filter sees at a position is then a *patch*, a few rows of neighbouring numbers. Where
//! nothing but the gradient of filters is asked for, the rows that a filter sees are *stacked*:
//! they are channels of one row, and the whole patch is neighbouring numbers.

use super::isa::Isa;
use super::layers::{Source, Target, each, with_images};
use super::{LANES, multiversion};
use crate::network::Window;
use crate::shape::Shape;
use std::ops::Range;

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
    /// Rows of an image that are channels of one row here.
    stack: usize,
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
        Frame { shape, top, left, rows, row, image_row, stack: 1, band }
    }

    /// The same, with all rows that a filter sees as channels of one.
    pub(crate) fn stacked(
        shape: Shape,
        corner: (usize, usize),
        (rows, columns): (usize, usize),
    ) -> Self {
        let shape =
            Shape { channels: shape.channels * rows, height: shape.height + 1 - rows, ..shape };
        Frame { stack: rows, ..Frame::new(shape, corner, (1, columns), 1) }
    }

    /// Numbers of a filter.
    pub(crate) fn filter(&self) -> usize {
        self.rows * self.row
    }

    /// Where number (`row`, `column`, `channel`) of a filter stands in its gradient.
    pub(crate) fn number(&self, row: usize, column: usize, channel: usize) -> usize {
        let (row, inner) = (row / self.stack, row % self.stack);
        let channel = inner * (self.shape.channels / self.stack) + channel;
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
    pub(super) fn bands(self) -> impl Iterator<Item = Range<usize>> {
        let rows = self.rows;
        (0..rows).step_by(self.band).map(move |row| row..(row + self.band).min(rows))
    }

    /// Makes sure that the patches of all positions of windows are inside, of which there are
    /// `height` × `width`.
    pub(super) fn holds(&self, window: Window, Shape { height, width, .. }: Shape) {
        let Window { height: rows, width: columns, stride } = window;
        let (row, column) = ((height - 1) * stride + rows - 1, (width - 1) * stride + columns - 1);
        assert!(row + self.rows <= self.shape.height);
        assert!(column * self.shape.channels + self.row <= self.image_row);
    }

    pub(super) fn position(&self, row: usize, column: usize) -> usize {
        row * self.image_row + column * self.shape.channels
    }

    /// What each code of a window adds to the place of its first position.
    pub(super) fn steps(&self, window: Window) -> [u32; 256] {
        let code = |code: usize| self.position(code / window.width, code % window.width) as u32;
        std::array::from_fn(|at| if at < window.height * window.width { code(at) } else { 0 })
    }
}

multiversion! {
    /// Unrolls the images of a block: what stands at `x.value`'s position 0 and behind.
    unroll(lanes: u32, frame: &Frame, x: Source, images: &mut [f32]) = unroll_body<Isa>
}

#[inline(always)]
fn unroll_body<I: Isa>(lanes: u32, frame: &Frame, x: Source, images: &mut [f32]) {
    let Shape { channels: depth, height, width } = frame.shape;
    let channels = depth / frame.stack;
    let (columns, plane) = (x.value.columns(), x.value.plane());
    let first = x.value.row(0, 0) - frame.top * columns - frame.left;
    with_images!(lanes, |IMAGES| {
        let from = x.numbers.as_chunks::<IMAGES>().0;
        for start in (0..width * depth).step_by(LANES) {
            // Where these numbers of a row come from. Behind the last one nobody looks.
            let places: [usize; LANES] = std::array::from_fn(|next| {
                let number = (start + next).min(width * depth - 1);
                let (column, inner) = (number / depth, number % depth);
                first + column + inner / channels * columns + inner % channels * plane
            });
            for row in 0..height {
                let numbers: [[f32; IMAGES]; LANES] =
                    std::array::from_fn(|next| from[places[next] + row * columns]);
                let to = row * frame.image_row + start;
                let numbers = lane_by_lane::<I, IMAGES>(&numbers);
                for (image, numbers) in numbers.iter().enumerate() {
                    images[image * frame.image() + to..][..LANES].copy_from_slice(numbers);
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

/// What belongs to each image comes together.
#[inline(always)]
pub(super) fn lane_by_lane<I: Isa, const IMAGES: usize>(
    rows: &[[f32; IMAGES]; LANES],
) -> [[f32; LANES]; IMAGES] {
    // Below half of a block, most of what is turned round would be for nothing.
    if IMAGES < LANES / 2 {
        return std::array::from_fn(|image| std::array::from_fn(|row| rows[row][image]));
    }
    // Loops: the compiler does not always see through closures, and would copy all of it.
    let mut wide = [[0.0; LANES]; LANES];
    for (wide, row) in wide.iter_mut().zip(rows) {
        for image in 0..LANES {
            wide[image] = row[image % IMAGES];
        }
    }
    let (columns, mut narrow) = (I::transposed(&wide), [[0.0; LANES]; IMAGES]);
    narrow.copy_from_slice(&columns[..IMAGES]);
    narrow
}

/// The images of a row of `LANES`, which are as many; the compiler does not see that.
#[inline(always)]
fn narrowed<const IMAGES: usize>(row: &[f32; LANES]) -> [f32; IMAGES] {
    std::array::from_fn(|image| row[image % LANES])
}
