//! The winners of pooling windows, listed: by filter, and by position.
//!
//! A max-pool hands its gradient on to one position of each window, the *winner*, and to none
//! where the rectifier rests. Of four positions at most one matters, so a kernel that visits
//! all of them multiplies zeros most of the time. Lists of winners are made from the codes of the
//! pool: one for each filter and image, where the sums are those of a filter; one for each
//! position and image, where the sums are those of what filters have seen there.

// Constant indices are names of registers.
#![allow(clippy::needless_range_loop)]

use super::LANES;
use super::frame::{Frame, lane_by_lane};
use super::intake::turned;
use super::isa::{Isa, plain_packed};
use super::layers::{Source, with_images};
use super::pools::NOBODY;
use crate::network::{Value, Window};
use crate::shape::Shape;
use std::ops::Range;

/// What pooling has left: the gradient of its output, and its codes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pool<'a> {
    pub(crate) window: Window,
    pub(crate) gradient: Source<'a>,
    pub(crate) codes: &'a [u8],
}

/// Places between the lists of two images, so that they do not fall on the same cache lines; and
/// lists are written whole vectors at a time.
const APART: usize = 24;

/// Room for lists of winners: a place for each window of each filter in each image.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    /// Where the patch of each winner stands (or its filter), and its gradient.
    offsets: Vec<u32>,
    gradients: Vec<f32>,
    /// Where lists end.
    ends: Vec<u32>,
    /// Where the patch of each window's first position stands.
    firsts: Vec<[u32; LANES]>,
}

/// Some of the winners.
#[derive(Debug, Clone, Copy)]
pub(super) struct Winners<'a> {
    pub(super) offsets: &'a [u32],
    pub(super) gradients: &'a [f32],
}

impl Lists {
    /// For pools of shape `pooled` with windows of `area`, in blocks of `lanes` lanes.
    pub(crate) fn reserve(&mut self, lanes: usize, pooled: Shape, area: usize) {
        let windows = pooled.height * pooled.width;
        let winners = self.offsets.len().max(lanes * list_of(pooled, 1, 0));
        self.offsets.resize(winners, 0);
        self.gradients.resize(winners, 0.0);
        let lists = pooled.channels.max(windows * area);
        self.ends.resize(self.ends.len().max(lanes * lists), 0);
        let firsts = self.firsts.len().max(windows.div_ceil(LANES));
        self.firsts.resize(firsts, [0; LANES]);
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.offsets)
            + size_of_val(&*self.gradients)
            + size_of_val(&*self.ends)
            + size_of_val(&*self.firsts)
    }

    /// The winners of `filter` in `image`, slab by slab in the order of windows, in blocks of so many
    /// images.
    #[inline(always)]
    pub(super) fn of_filter(
        &self,
        pooled: Shape,
        slabs: usize,
        image: usize,
        filter: usize,
    ) -> Winners<'_> {
        let start = list_of_slab(pooled, slabs, (image, filter, 0));
        let count = self.ends[image * pooled.channels + filter] as usize;
        let (offsets, gradients) = (&self.offsets[start..], &self.gradients[start..]);
        Winners { offsets: &offsets[..count], gradients: &gradients[..count] }
    }

    /// Moves the winners at `from` to `end`, with patches that stand `further` behind. Returns where they
    /// end there.
    #[inline(always)]
    fn append(&mut self, end: usize, from: Range<usize>, further: u32) -> usize {
        let count = from.len();
        // Many at a time; what is behind them has no meaning.
        for next in (0..count).step_by(LANES) {
            let (from, to) = (from.start + next, end + next);
            let (mut offsets, mut gradients) = ([0u32; LANES], [0.0; LANES]);
            offsets.copy_from_slice(&self.offsets[from..from + LANES]);
            gradients.copy_from_slice(&self.gradients[from..from + LANES]);
            for offset in &mut offsets {
                *offset = offset.wrapping_add(further);
            }
            self.offsets[to..to + LANES].copy_from_slice(&offsets);
            self.gradients[to..to + LANES].copy_from_slice(&gradients);
        }
        end + count
    }

    /// The filters that have won at each position of window `window` in `lane`, position by
    /// position.
    #[inline(always)]
    pub(super) fn at_window(
        &self,
        pooled: Shape,
        area: usize,
        lane: usize,
        window: usize,
    ) -> impl Iterator<Item = Winners<'_>> {
        let start = list_of(pooled, lane, window * pooled.channels);
        let first = (lane * pooled.height * pooled.width + window) * area;
        let mut found = start;
        self.ends[first..][..area].iter().map(move |&end| {
            let list = found..start + end as usize;
            found = list.end;
            Winners { offsets: &self.offsets[list.clone()], gradients: &self.gradients[list] }
        })
    }
}

/// Where the lists of `lane` stand, and `before` winners behind that.
#[inline(always)]
fn list_of(pooled: Shape, lane: usize, before: usize) -> usize {
    lane * (pooled.channels * room_for(pooled) + APART) + before
}

/// Where those of a slab of an image stand, by filter, if an image is in `slabs`.
#[inline(always)]
fn list_of_slab(
    pooled: Shape,
    slabs: usize,
    (image, filter, slab): (usize, usize, usize),
) -> usize {
    list_of(pooled, image * slabs, (filter * slabs + slab) * room_for(pooled))
}

/// Places for the winners of all windows of a filter: as many as are written at a time.
#[inline(always)]
fn room_for(pooled: Shape) -> usize {
    (pooled.height * pooled.width).next_multiple_of(LANES)
}

/// Lists the winners of each filter in each of `1 << images` images, and adds the gradients of each
/// filter to its number of `sums`. What an image has seen stands where its first slab has.
#[inline(always)]
pub(super) fn list_by_filter<I: Isa>(
    images: u32,
    frame: &Frame,
    pool: Pool,
    lists: &mut Lists,
    sums: &mut [f32],
) {
    let Value { shape: pooled, lanes, .. } = *pool.gradient.value;
    let Shape { channels, width, .. } = pooled;
    let (window, windows) = (pool.window, pooled.height * width);
    assert_eq!(pool.gradient.value.columns(), width, "rows follow each other");
    let steps = frame.steps(window);
    for (at, first) in lists.firsts.as_flattened_mut()[..windows].iter_mut().enumerate() {
        let (row, column) = (at / width * window.stride, at % width * window.stride);
        *first = frame.position(row, column) as u32;
    }
    let (images, slabs) = (1 << images, 1 << (lanes - images));
    with_images!(lanes, |LANES_USED| {
        let codes = pool.codes.as_chunks::<LANES_USED>().0;
        let gradients = pool.gradient.numbers.as_chunks::<LANES_USED>().0;
        for filter in 0..channels {
            let codes = &codes[filter * windows..][..windows];
            let gradients = &gradients[pool.gradient.value.row(filter, 0)..][..windows];
            let mut totals = [0.0; LANES_USED];
            let starts: [usize; LANES_USED] = std::array::from_fn(|lane| {
                list_of_slab(pooled, slabs, (lane % images, filter, lane / images))
            });
            let mut ends = starts;
            let some = codes.chunks(LANES).zip(gradients.chunks(LANES));
            for ((codes, gradients), firsts) in some.zip(&lists.firsts) {
                for (codes, gradients) in codes.iter().zip(gradients) {
                    // Bits instead of a choice, which the compiler would turn into jumps.
                    for lane in 0..LANES_USED {
                        let mask = u32::from(codes[lane] != NOBODY).wrapping_neg();
                        totals[lane] += f32::from_bits(gradients[lane].to_bits() & mask);
                    }
                }
                let (codes, gradients) = (filled(codes, NOBODY), filled(gradients, 0.0));
                let codes = codes_by_lane(&codes);
                let gradients = lane_by_lane::<I, LANES_USED>(&gradients);
                for lane in 0..LANES_USED {
                    let to = ends[lane]..ends[lane] + LANES;
                    let offsets = &mut lists.offsets[to.clone()];
                    let numbers = &mut lists.gradients[to];
                    let (Ok(offsets), Ok(numbers)) = (offsets.try_into(), numbers.try_into())
                    else {
                        unreachable!("there are as many places as lanes")
                    };
                    let from = (&codes[lane], &gradients[lane]);
                    ends[lane] += match window.height * window.width <= LANES {
                        true => I::packed(from.0, from.1, firsts, &steps, offsets, numbers),
                        false => plain_packed(from.0, from.1, firsts, &steps, offsets, numbers),
                    };
                }
            }
            sums[filter] += totals.iter().sum::<f32>();
            for image in 0..images {
                let mut end = ends[image];
                for lane in (image..LANES_USED).step_by(images).skip(1) {
                    let further = ((lane - image) * frame.image()) as u32;
                    end = lists.append(end, starts[lane]..ends[lane], further);
                }
                lists.ends[image * channels + filter] = (end - starts[image]) as u32;
            }
        }
    })
}

/// The numbers of up to sixteen windows, and `rest` for those that are missing.
#[inline(always)]
fn filled<T: Copy, const IMAGES: usize>(some: &[[T; IMAGES]], rest: T) -> [[T; IMAGES]; LANES] {
    match some.first_chunk() {
        Some(all) => *all,
        None => {
            let mut numbers = [[rest; IMAGES]; LANES];
            numbers[..some.len()].copy_from_slice(some);
            numbers
        }
    }
}

/// `lane_by_lane` for codes.
#[inline(always)]
fn codes_by_lane<const IMAGES: usize>(rows: &[[u8; IMAGES]; LANES]) -> [[u8; LANES]; IMAGES] {
    if IMAGES < LANES {
        return std::array::from_fn(|image| std::array::from_fn(|row| rows[row][image]));
    }
    let columns = turned(&rows.map(|row| std::array::from_fn(|image| row[image % IMAGES])));
    std::array::from_fn(|image| columns[image % LANES])
}

/// Lists the filters that have won at each position of each window in each lane.
pub(super) fn list_by_position(pool: Pool, lists: &mut Lists) {
    let Value { shape: pooled, lanes, .. } = *pool.gradient.value;
    let Shape { channels, height, width } = pooled;
    let (area, windows) = (pool.window.height * pool.window.width, height * width);
    with_images!(lanes, |LANES_USED| {
        let codes = pool.codes.as_chunks::<LANES_USED>().0;
        let gradients = pool.gradient.numbers.as_chunks::<LANES_USED>().0;
        // Of each code: how many, then where its list goes on. Nobody's comes last.
        let mut next = [[0u32; LANES_USED]; 256];
        let place = |code: u8| usize::from(code).min(area);
        for at in 0..windows {
            let (row, column) = (at / width, at % width);
            next[..=area].fill([0; LANES_USED]);
            for filter in 0..channels {
                let codes = &codes[filter * windows + at];
                for lane in 0..LANES_USED {
                    next[place(codes[lane])][lane] += 1;
                }
            }
            for lane in 0..LANES_USED {
                let mut start = 0;
                for code in 0..=area {
                    let count = next[code][lane];
                    next[code][lane] = start;
                    start += count;
                    if code < area {
                        lists.ends[(lane * windows + at) * area + code] = start;
                    }
                }
            }
            for filter in 0..channels {
                let codes = &codes[filter * windows + at];
                let gradients = &gradients[pool.gradient.value.row(filter, row) + column];
                for lane in 0..LANES_USED {
                    let next = &mut next[place(codes[lane])][lane];
                    let place = list_of(pooled, lane, at * channels) + *next as usize;
                    lists.offsets[place] = filter as u32;
                    lists.gradients[place] = gradients[lane];
                    *next += 1;
                }
            }
        }
    })
}
