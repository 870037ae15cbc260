//! Grains: the fixed parts of a batch, and the fixed tree along which their gradients add.
//!
//! A grain's gradient is the same whoever computes it, and the order of additions depends
//! on nothing but the number of grains. So neither threads nor processes change a bit.

use crate::comm::Comm;
use crate::kernels::{LANES, multiversion};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A batch has at most this many grains.
const MOST_GRAINS: usize = 16;

/// A batch of no more blocks than this has a grain for each of them, however small.
const FEW_BLOCKS: usize = 8;

/// Examples in each grain of a batch of `batch` examples (the last may have fewer), in blocks of
/// `block`: whole blocks, and as many grains as allowed, if they are worth it.
pub(crate) fn grain_size(batch: usize, block: usize) -> usize {
    match batch <= FEW_BLOCKS * block {
        true => block,
        false => batch.div_ceil(MOST_GRAINS).next_multiple_of(LANES),
    }
}

/// The part of `count` pieces that one of `size` processes works on. The first piece is
/// always with the first process.
pub(crate) fn share(count: usize, rank: usize, size: usize) -> Range<usize> {
    (count * rank).div_ceil(size)..(count * (rank + 1)).div_ceil(size)
}

/// The gradient of one grain, and its loss.
#[derive(Debug, Default)]
pub(crate) struct Grain {
    pub(crate) gradient: Vec<f32>,
    pub(crate) loss: f64,
}

/// The grains of a batch.
#[derive(Debug)]
pub(crate) struct Grains(Vec<Mutex<Grain>>);

/// The wire to the other processes, and how it is used.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) comm: Box<dyn Comm>,
    pub(crate) reduction: Reduction,
    message: Vec<f32>,
}

/// How the parts of a gradient are combined over processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// Along the tree of grains: the same bits for any number of processes.
    Exact,
    /// As the carrier likes it.
    Fast,
}

impl Wire {
    pub(crate) fn new(comm: Box<dyn Comm>, reduction: Reduction) -> Self {
        Wire { comm, reduction, message: Vec::new() }
    }

    /// Puts a grain on the wire: its numbers, and the two halves of its loss.
    fn pack(&mut self, grain: &Grain) {
        let loss = grain.loss.to_bits();
        self.message.clear();
        self.message.extend_from_slice(&grain.gradient);
        self.message.extend([loss as u32, (loss >> 32) as u32].map(f32::from_bits));
    }

    /// Takes a grain from the wire.
    fn unpack(&self, grain: &mut Grain) {
        let (numbers, loss) = self.message.split_at(self.message.len() - 2);
        grain.gradient.clear();
        grain.gradient.extend_from_slice(numbers);
        let [low, high] = [loss[0], loss[1]].map(|half| u64::from(half.to_bits()));
        grain.loss = f64::from_bits(high << 32 | low);
    }
}

impl Grains {
    pub(crate) fn new() -> Self {
        Grains((0..MOST_GRAINS).map(|_| Mutex::default()).collect())
    }

    pub(crate) fn lock(&self, index: usize) -> MutexGuard<'_, Grain> {
        self.0[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds up `count` grains of `length` numbers along a tree that depends on `count`
    /// only; the sum ends in grain 0, in every process. Returns the sum of losses.
    pub(crate) fn combine(&self, count: usize, length: usize, wire: Option<&mut Wire>) -> f64 {
        match wire {
            Some(wire) if wire.reduction == Reduction::Fast => self.sum(count, length, wire),
            Some(wire) => self.combine_over(count, length, wire),
            None => tree(count, |left, right| self.add(left, right)),
        }
        self.lock(0).loss
    }

    /// Makes grain 0 what `seats` threads have computed of it, each in a grain of its own: a
    /// number that is not zero in one is zero in all others, and the loss is that of the first.
    pub(crate) fn join(&self, seats: usize) {
        for seat in 1..seats {
            self.lock(seat).loss = 0.0;
            self.add(0, seat);
        }
    }

    fn add(&self, left: usize, right: usize) {
        let (mut left, right) = (self.lock(left), self.lock(right));
        left.loss += right.loss;
        add(&mut left.gradient, &right.gradient);
    }

    fn combine_over(&self, count: usize, length: usize, wire: &mut Wire) {
        let (rank, size) = (wire.comm.rank(), wire.comm.size());
        let owner = |grain: usize| {
            (0..size).find(|&rank| share(count, rank, size).contains(&grain)).unwrap_or(0)
        };
        // Who owns the left one adds. Nobody waits for somebody who waits for him: all go
        // from left to right, and numbers travel from right to left.
        tree(count, |left, right| {
            let (to, from) = (owner(left), owner(right));
            if from == rank && to != rank {
                wire.pack(&self.lock(right));
                wire.comm.send(to, &wire.message);
            } else if to == rank {
                if from != rank {
                    wire.message.resize(length + 2, 0.0);
                    wire.comm.receive(from, &mut wire.message);
                    wire.unpack(&mut self.lock(right));
                }
                self.add(left, right);
            }
        });
        match rank {
            0 => wire.pack(&self.lock(0)),
            _ => wire.message.resize(length + 2, 0.0),
        }
        wire.comm.broadcast(&mut wire.message);
        wire.unpack(&mut self.lock(0));
    }

    fn sum(&self, count: usize, length: usize, wire: &mut Wire) {
        let own = share(count, wire.comm.rank(), wire.comm.size());
        tree(own.len(), |left, right| self.add(own.start + left, own.start + right));
        wire.message.clear();
        match own.is_empty() {
            true => wire.message.resize(length + 1, 0.0),
            false => {
                let grain = self.lock(own.start);
                wire.message.extend_from_slice(&grain.gradient);
                wire.message.push(grain.loss as f32);
            }
        }
        wire.comm.sum(&mut wire.message);
        let mut first = self.lock(0);
        first.gradient.clear();
        first.gradient.extend_from_slice(&wire.message[..length]);
        first.loss = f64::from(wire.message[length]);
    }
}

multiversion! {
    /// left += right
    add(left: &mut [f32], right: &[f32]) = add_body
}

#[inline(always)]
fn add_body(left: &mut [f32], right: &[f32]) {
    for (left, right) in left.iter_mut().zip(right) {
        *left += right;
    }
}

/// Calls `add` for every pair of nodes of the tree over `count` leaves, level by level.
fn tree(count: usize, mut add: impl FnMut(usize, usize)) {
    let mut distance = 1;
    while distance < count {
        for left in (0..count - distance).step_by(2 * distance) {
            add(left, left + distance);
        }
        distance *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grains_are_whole_blocks_and_never_too_many() {
        for block in [1, 2, 4, 8, LANES] {
            for batch in 1..5000 {
                let size = grain_size(batch, block);
                assert_eq!(size % block, 0);
                assert!(batch.div_ceil(size) <= MOST_GRAINS, "{batch}");
            }
        }
    }

    #[test]
    fn every_piece_is_shared_out_once() {
        for (count, size) in [(0, 3), (1, 4), (5, 2), (16, 3), (16, 8), (3, 8), (1000, 7)] {
            let shared: Vec<usize> = (0..size).flat_map(|rank| share(count, rank, size)).collect();
            assert_eq!(shared, (0..count).collect::<Vec<_>>());
            assert!(count == 0 || share(count, 0, size).contains(&0));
        }
    }
}
