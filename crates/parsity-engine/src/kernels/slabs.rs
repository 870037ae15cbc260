//! Positions that go from slab to slab: halos, and deals.
//!
//! The slabs of a block's images lie side by side at every position: the first slab of all images,
//! then the second of all, and so on.

use super::isa::Isa;
use super::layers::{Source, Target, with_images};
use super::{LANES, multiversion};
use crate::network::Value;
use crate::shape::Shape;

/// Calls the body with the numbers of images and slabs as constants; a position of `$value` is
/// then `[[f32; IMAGES]; SLABS]`.
macro_rules! with_slabs {
    ($images:expr, $value:expr, |$IMAGES:ident, $SLABS:ident| $body:expr) => {
        with_images!($images, |$IMAGES| {
            match $value.lanes - $images {
                1 => {
                    const $SLABS: usize = 2;
                    $body
                }
                2 => {
                    const $SLABS: usize = 4;
                    $body
                }
                3 => {
                    const $SLABS: usize = 8;
                    $body
                }
                4 => {
                    const $SLABS: usize = 16;
                    $body
                }
                _ => unreachable!("images are cut into 2, 4, 8 or 16 slabs"),
            }
        })
    };
}

/// A position of a block.
type Position<const IMAGES: usize, const SLABS: usize> = [[f32; IMAGES]; SLABS];

#[inline(always)]
fn positions_mut<const IMAGES: usize, const SLABS: usize>(
    numbers: &mut [f32],
) -> &mut [Position<IMAGES, SLABS>] {
    numbers.as_chunks_mut().0.as_chunks_mut().0
}

multiversion! {
    /// Gives every slab of `value` the last `top` rows of the slab above it and the first `bottom`
    /// rows of the one below, or zeros where there is none, for `1 << images` images.
    fill_halo(images: u32, value: &Value, numbers: &mut [f32], top: usize, bottom: usize)
        = fill_halo_body
}

#[inline(always)]
fn fill_halo_body(images: u32, value: &Value, numbers: &mut [f32], top: usize, bottom: usize) {
    let Shape { channels, height, width } = value.shape;
    assert!(top <= value.ring.top && bottom <= value.ring.bottom && top.max(bottom) <= height);
    with_slabs!(images, value, |IMAGES, SLABS| {
        let numbers = positions_mut::<IMAGES, SLABS>(numbers);
        for channel in 0..channels {
            let row = |row: usize| value.row(channel, row);
            // Two parts at a time, so that nothing has to be copied on its way.
            let (around, rows) = numbers.split_at_mut(row(0));
            for next in 0..top {
                let to = &mut around[row(next) - top * value.columns()..][..width];
                let from = &rows[row(height - top + next) - row(0)..][..width];
                for (to, from) in to.iter_mut().zip(from) {
                    to[0] = [0.0; IMAGES];
                    to[1..].copy_from_slice(&from[..SLABS - 1]);
                }
            }
            let (rows, around) = numbers.split_at_mut(row(height));
            for next in 0..bottom {
                let to = &mut around[row(height + next) - row(height)..][..width];
                let from = &rows[row(next)..][..width];
                for (to, from) in to.iter_mut().zip(from) {
                    to[..SLABS - 1].copy_from_slice(&from[1..]);
                    to[SLABS - 1] = [0.0; IMAGES];
                }
            }
        }
    })
}

/// A position of a channel, and a slab.
pub(crate) type Place = (usize, usize);

/// No slab, no lane.
const NOBODY: u8 = u8::MAX;

/// What the slabs of a position take of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Take {
    pub(super) from: usize,
    /// Of which slab each slab takes, or `NOBODY`.
    slabs: [u8; LANES],
    /// Of which lane each lane takes, or `NOBODY`.
    pub(super) lanes: [u8; LANES],
}

/// What each position takes of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Takes {
    images: u32,
    /// Positions that take something, and where their takes end.
    to: Vec<(usize, usize)>,
    takes: Vec<Take>,
    /// If every slab of these takes exactly once: which slab of a channel takes of which one, counted
    /// through all its positions.
    once: Option<Vec<[u32; 2]>>,
}

impl Takes {
    /// Of pairs of who gives and who takes, in blocks of `1 << images` images; positions that give and
    /// take have so many slabs. Whoever takes several times adds up, in the order of what gives.
    pub(crate) fn new(images: u32, slabs: [usize; 2], mut gifts: Vec<[Place; 2]>) -> Self {
        gifts.sort_unstable_by_key(|&[(from, _), (to, taker)]| (to, from, taker));
        let once = once(slabs, &gifts);
        let (mut to, mut takes): (Vec<(usize, usize)>, Vec<Take>) = (vec![], vec![]);
        for gifts in gifts.chunk_by(|[a, x], [b, y]| (a.0, x.0) == (b.0, y.0)) {
            let [(from, _), (position, _)] = gifts[0];
            let mut take = Take { from, slabs: [NOBODY; LANES], lanes: [NOBODY; LANES] };
            for &[(_, giver), (_, taker)] in gifts {
                take.slabs[taker] = giver as u8;
                for image in 0..1 << images {
                    take.lanes[(taker << images) + image] = ((giver << images) + image) as u8;
                }
            }
            takes.push(take);
            match to.last_mut() {
                Some(last) if last.0 == position => last.1 = takes.len(),
                _ => to.push((position, takes.len())),
            }
        }
        Takes { images, to, takes, once }
    }
}

/// See [`Takes`].
fn once([givers, takers]: [usize; 2], gifts: &[[Place; 2]]) -> Option<Vec<[u32; 2]>> {
    let number = |(position, slab): Place, slabs: usize| (position * slabs + slab) as u32;
    let pair = |&[from, to]: &[Place; 2]| [number(to, takers), number(from, givers)];
    let mut pairs: Vec<_> = gifts.iter().map(pair).collect();
    pairs.sort_unstable();
    // All slabs of a position, one after the other.
    let all = |slabs: &[[u32; 2]]| {
        (0..takers).eq(slabs.iter().map(|&[to, _]| to as usize % takers))
            && slabs[0][0] as usize / takers == slabs[takers - 1][0] as usize / takers
    };
    pairs.chunks(takers).all(all).then_some(pairs)
}

multiversion! {
    /// y = what it takes of x; or y += that, unless `set`.
    deal(takes: &Takes, x: Source, y: Target, set: bool) = deal_body<Isa>
}

#[inline(always)]
fn deal_body<I: Isa>(takes: &Takes, x: Source, y: Target, set: bool) {
    let (from_plane, to_plane) = (x.value.plane(), y.value.plane());
    let lanes = (x.value.lanes, y.value.lanes);
    let whole = I::TAKES && lanes == (LANES.ilog2(), LANES.ilog2());
    with_images!(takes.images, |IMAGES| {
        if let (false, Some(pairs)) = (whole, &takes.once) {
            for channel in 0..y.value.shape.channels {
                let from = x.numbers[(channel * from_plane) << lanes.0..].as_chunks::<IMAGES>().0;
                let to = y.numbers[(channel * to_plane) << lanes.1..].as_chunks_mut::<IMAGES>().0;
                for &[taker, giver] in pairs {
                    let (to, from) = (&mut to[taker as usize], &from[giver as usize]);
                    for image in 0..IMAGES {
                        to[image] = if set { 0.0 } else { to[image] } + from[image];
                    }
                }
            }
            return;
        }
        let mut start = 0;
        for &(to, end) in &takes.to {
            let takes = &takes.takes[start..end];
            for channel in 0..y.value.shape.channels {
                let from = &x.numbers[(channel * from_plane) << lanes.0..];
                let to = &mut y.numbers[(to + channel * to_plane) << lanes.1..];
                if whole && let Some(to) = to.first_chunk_mut() {
                    I::take(takes, from.as_chunks().0, to, set);
                    continue;
                }
                let from = from.as_chunks::<IMAGES>().0;
                let (to, _) = to[..1 << lanes.1].as_chunks_mut::<IMAGES>();
                let givers = (1 << lanes.0) / IMAGES;
                for (taker, to) in to.iter_mut().enumerate() {
                    let mut sum = if set { [0.0; IMAGES] } else { *to };
                    for take in takes {
                        let giver = take.slabs[taker];
                        if giver != NOBODY {
                            let from = &from[take.from * givers + usize::from(giver)];
                            for image in 0..IMAGES {
                                sum[image] += from[image];
                            }
                        }
                    }
                    *to = sum;
                }
            }
            start = end;
        }
    })
}
