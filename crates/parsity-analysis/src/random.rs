//! Random numbers for resampling: the same on every machine, and in every order.
//!
//! Apart because an answer must not change when it is computed again. A stream is keyed
//! by what it is for and by an index, and its n-th number is a function of those and n
//! alone: the mixing function of SplitMix64, applied to a counter.

/// What a stream is drawn for. Streams of different purposes have nothing in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Another set of trials of a cell.
    Minimum = 1,
    /// Made-up measurements, to try an estimator on.
    Planted = 2,
}

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Stream {
    key: u64,
    counter: u64,
}

const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

impl Stream {
    /// The stream of (purpose, index).
    pub fn new(purpose: Purpose, index: u64) -> Self {
        let key = mix(mix(purpose as u64 ^ STRIDE).wrapping_add(mix(index.wrapping_add(STRIDE))));
        Stream { key, counter: 0 }
    }

    /// Uniform over (0, 1): never an end, so that its logarithm is finite.
    pub fn uniform(&mut self) -> f64 {
        self.counter = self.counter.wrapping_add(STRIDE);
        let bits = mix(self.key.wrapping_add(self.counter)) >> 12;
        (bits as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Standard normal (Box–Muller, one of the pair).
    pub fn normal(&mut self) -> f64 {
        let radius = (2.0 * self.exponential()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_frozen_and_differ_by_purpose_and_index() {
        let first = |purpose, index| Stream::new(purpose, index).uniform();
        let streams = [
            first(Purpose::Minimum, 0),
            first(Purpose::Minimum, 1),
            first(Purpose::Planted, 0),
            first(Purpose::Planted, 1),
        ];
        assert_eq!(
            streams,
            [0.4543220972533618, 0.5077875704392921, 0.6218920079972509, 0.43763491128547793]
        );
    }

    #[test]
    fn numbers_have_the_moments_of_their_distributions() {
        let mut stream = Stream::new(Purpose::Planted, 7);
        let n = 100_000;
        let mut moments = |draw: fn(&mut Stream) -> f64| {
            let values: Vec<f64> = (0..n).map(|_| draw(&mut stream)).collect();
            let mean = values.iter().sum::<f64>() / f64::from(n);
            let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
            (mean, squares / f64::from(n))
        };
        let close = |(mean, variance): (f64, f64), expected: (f64, f64)| {
            assert!((mean - expected.0).abs() < 0.02, "{mean}");
            assert!((variance - expected.1).abs() < 0.03, "{variance}");
        };
        close(moments(Stream::uniform), (0.5, 1.0 / 12.0));
        close(moments(Stream::exponential), (1.0, 1.0));
        close(moments(Stream::normal), (0.0, 1.0));
    }
}
