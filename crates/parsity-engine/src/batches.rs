//! Which examples make each batch.
//!
//! An endless stream of epochs; a batch may cross an epoch's border. The examples of
//! step `t` are a pure function of (seed, split, batch size, t): nothing but the step
//! has to be remembered to continue a run.

use crate::random::{Purpose, Stream};
use std::sync::Arc;

/// How an epoch is ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Every epoch is shuffled anew.
    Shuffled {
        /// The data seed.
        seed: u64,
    },
    /// As the examples stand in the split.
    Sequential,
}

/// The stream of batches over a split.
#[derive(Debug, Clone)]
pub struct Batches {
    split: Arc<[u32]>,
    batch_size: usize,
    order: Order,
    /// The epoch whose order is at hand, and that order.
    epoch: Option<u64>,
    examples: Vec<u32>,
}

impl Batches {
    /// Batches of `batch_size` out of the examples `split`.
    pub fn new(split: Arc<[u32]>, batch_size: usize, order: Order) -> Self {
        assert!(!split.is_empty() && batch_size > 0, "a batch needs examples");
        let examples = Vec::with_capacity(split.len());
        Batches { split, batch_size, order, epoch: None, examples }
    }

    /// Examples per batch.
    pub fn batch_size(&self) -> usize {
        self.batch_size
    }

    /// All examples that batches are made of.
    pub(crate) fn split(&self) -> &[u32] {
        &self.split
    }

    /// Bytes that the order at hand takes.
    pub(crate) fn bytes(&self) -> usize {
        self.examples.capacity() * size_of::<u32>()
    }

    /// Fills `batch` with the examples of step `step`, counted from 0.
    pub fn fill(&mut self, step: u64, batch: &mut Vec<u32>) {
        batch.clear();
        let size = self.split.len() as u64;
        let mut position = step * self.batch_size as u64;
        while batch.len() < self.batch_size {
            self.turn_to(position / size);
            let start = (position % size) as usize;
            let missing = self.batch_size - batch.len();
            let end = self.examples.len().min(start + missing);
            batch.extend_from_slice(&self.examples[start..end]);
            position += (end - start) as u64;
        }
    }

    fn turn_to(&mut self, epoch: u64) {
        if self.epoch == Some(epoch) {
            return;
        }
        self.epoch = Some(epoch);
        self.examples.clear();
        self.examples.extend_from_slice(&self.split);
        if let Order::Shuffled { seed } = self.order {
            Stream::new(seed, Purpose::DataOrder, epoch).shuffle(&mut self.examples);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(batch_size: usize, steps: std::ops::Range<u64>) -> Vec<u32> {
        let split: Arc<[u32]> = (100..110).collect();
        let mut batches = Batches::new(split, batch_size, Order::Shuffled { seed: 3 });
        let mut batch = Vec::new();
        steps
            .flat_map(|step| {
                batches.fill(step, &mut batch);
                batch.clone()
            })
            .collect()
    }

    #[test]
    fn every_epoch_shows_every_example_once_in_another_order() {
        let stream = take(10, 0..2);
        let (first, second) = stream.split_at(10);
        assert_ne!(first, second);
        for epoch in [first, second] {
            let mut sorted = epoch.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, (100..110).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_stream_does_not_depend_on_the_batch_size() {
        assert_eq!(take(3, 0..10), take(30, 0..1));
        assert_eq!(take(7, 0..30), take(30, 0..7));
    }

    #[test]
    fn a_batch_is_a_function_of_its_step_alone() {
        assert_eq!(take(7, 5..6), take(7, 0..6)[35..]);
    }

    #[test]
    fn sequential_batches_follow_the_file() {
        let split: Arc<[u32]> = (0..5).collect();
        let mut batches = Batches::new(split, 4, Order::Sequential);
        let mut batch = Vec::new();
        batches.fill(1, &mut batch);
        assert_eq!(batch, [4, 0, 1, 2]);
    }
}
