//! Counter-based random streams, keyed by (seed, purpose, index).
//!
//! Apart from everything that draws, because every bit of a result hangs on it:
//! a stream is ChaCha8, whose output is fixed by its specification, and all that is
//! made from it here (bounded integers, floats, shuffles, truncated normals) uses only
//! exactly rounded operations and `libm`, so it is the same on every machine.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// What a stream is drawn for. Streams of different purposes never overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Initial weights of a network.
    Initialization = 1,
    /// The order of examples within an epoch.
    DataOrder = 2,
    /// The draw of the validation split.
    Split = 3,
    /// Saliencies of random pruning.
    Pruning = 4,
    /// The images of the generated data set.
    Glyphs = 5,
    /// The small batches whose gradients are compared with the whole split's.
    SmallBatches = 6,
}

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Stream(ChaCha8Rng);

impl Stream {
    /// The stream of (seed, purpose, index): the same arguments, the same numbers.
    pub fn new(seed: u64, purpose: Purpose, index: u64) -> Self {
        let mut key = [0u8; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&(purpose as u64).to_le_bytes());
        let mut generator = ChaCha8Rng::from_seed(key);
        generator.set_stream(index);
        Stream(generator)
    }

    /// Uniform over `0..bound`, without bias (Lemire's method).
    pub fn below(&mut self, bound: u32) -> u32 {
        assert!(bound > 0, "an empty range has no number to draw");
        loop {
            let product = u64::from(self.0.next_u32()) * u64::from(bound);
            let low = product as u32;
            if low >= bound || low >= bound.wrapping_neg() % bound {
                return (product >> 32) as u32;
            }
        }
    }

    /// Uniform over [0, 1) in steps of 2⁻⁵³.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform over [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Standard normal (Box–Muller, one of the pair).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.uniform()));
        radius * libm::cos(std::f64::consts::TAU * self.uniform())
    }

    /// Standard normal, redrawn until it lies within two standard deviations.
    pub fn truncated_normal(&mut self) -> f64 {
        loop {
            let value = self.normal();
            if value.abs() <= 2.0 {
                return value;
            }
        }
    }

    /// Puts `items` into random order (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u32 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_a_pure_function_of_its_key() {
        let draw = |seed, purpose, index| {
            let mut stream = Stream::new(seed, purpose, index);
            [stream.below(1000), stream.below(1000), stream.below(1000)]
        };
        assert_eq!(draw(1, Purpose::Split, 0), draw(1, Purpose::Split, 0));
        assert_ne!(draw(1, Purpose::Split, 0), draw(2, Purpose::Split, 0));
        assert_ne!(draw(1, Purpose::Split, 0), draw(1, Purpose::Glyphs, 0));
        assert_ne!(draw(1, Purpose::Split, 0), draw(1, Purpose::Split, 1));
    }

    #[test]
    fn the_streams_are_frozen() {
        let mut stream = Stream::new(7, Purpose::DataOrder, 3);
        let integers: Vec<u32> = (0..4).map(|_| stream.below(1 << 31)).collect();
        let normal = stream.truncated_normal();
        let mut order: Vec<u32> = (0..8).collect();
        stream.shuffle(&mut order);
        assert_eq!(integers, [1_170_615_384, 974_816_378, 920_511_656, 1_225_814_296]);
        assert_eq!(normal.to_bits(), 13_834_283_083_080_342_247);
        assert_eq!(order, [3, 1, 5, 6, 2, 7, 4, 0]);
    }

    #[test]
    fn truncated_normals_have_the_known_variance() {
        let mut stream = Stream::new(0, Purpose::Initialization, 0);
        let n = 100_000;
        let squares: f64 = (0..n).map(|_| stream.truncated_normal().powi(2)).sum();
        // The variance of a standard normal cut at two standard deviations.
        assert!((squares / f64::from(n) - 0.773_741_3).abs() < 0.01);
    }

    #[test]
    fn bounded_integers_are_uniform() {
        let mut stream = Stream::new(0, Purpose::Split, 0);
        let mut counts = [0u32; 3];
        for _ in 0..30_000 {
            counts[stream.below(3) as usize] += 1;
        }
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 300), "{counts:?}");
    }
}
