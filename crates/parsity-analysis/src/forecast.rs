//! A forecast: what a measured scaling curve means for a number of workers and a network.
//!
//! The model, in full. A step of batch size B on W workers takes
//!
//! `t(B, W) = c(B/W) + 2·⌈log2 W⌉·(latency + bytes/bandwidth)`
//!
//! where c(b) is the measured time in which one worker does its b examples, and the second
//! part is a tree along which parts of the gradient are added up and the sum is handed back:
//! as many rounds each way as the tree is high. Only survivors travel, 4 bytes each. The time
//! to the result is K(B)·t(B, W), with the measured steps K(B); of all measured batch sizes,
//! the best for W counts. Nothing overlaps: computing and talking take turns.

use parsity_study::{BatchSize, Sparsity, Steps};
use serde::Serialize;

/// The network between workers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Wires {
    /// Bytes per second.
    pub bandwidth: f64,
    /// Seconds until the first byte arrives.
    pub latency: f64,
}

/// What is known about networks of one sparsity.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measurements {
    /// The sparsity.
    pub sparsity: Sparsity,
    /// Bytes of a gradient.
    pub bytes: f64,
    /// Steps-to-result by batch size.
    pub steps: Vec<(BatchSize, Steps)>,
    /// Seconds in which one worker trains so many examples of a step, by ascending number.
    pub seconds: Vec<(f64, f64)>,
}

/// The forecast for a number of workers and a sparsity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Forecast {
    /// The sparsity.
    pub sparsity: Sparsity,
    /// Workers.
    pub workers: u32,
    /// The batch size that is best for them.
    pub batch_size: BatchSize,
    /// Its steps-to-result.
    pub steps: Steps,
    /// Seconds of a step.
    pub step_seconds: f64,
    /// The share of a step in which workers talk instead of computing.
    pub communication: f64,
    /// Seconds to the result.
    pub seconds: f64,
    /// How many times as fast as one worker of the same sparsity.
    pub speed_up: f64,
}

/// Where more workers stop paying: the fewest with which twice as many would bring less than
/// this factor.
pub const PAYING: f64 = 1.1;

impl Wires {
    /// Seconds in which `workers` add up their gradients of `bytes` and have the sum.
    pub fn seconds(&self, workers: u32, bytes: f64) -> f64 {
        let rounds = 2 * workers.max(1).next_power_of_two().ilog2();
        f64::from(rounds) * (self.latency + bytes / self.bandwidth)
    }
}

impl Measurements {
    /// Seconds in which one worker trains `examples`: between two measured numbers of
    /// examples in a straight line, beyond them in proportion.
    fn computing(&self, examples: f64) -> f64 {
        let above = self.seconds.iter().position(|(count, _)| *count >= examples);
        match above {
            Some(0) => self.seconds[0].1,
            Some(place) => {
                let ((x0, y0), (x1, y1)) = (self.seconds[place - 1], self.seconds[place]);
                y0 + (y1 - y0) * (examples - x0) / (x1 - x0)
            }
            None => self.seconds.last().map_or(f64::NAN, |(count, time)| time * examples / count),
        }
    }

    /// The forecast for `workers`; `None` without a batch size whose steps are known. A worker
    /// has at least one example.
    pub fn forecast(&self, workers: u32, wires: &Wires) -> Option<Forecast> {
        let talking = wires.seconds(workers, self.bytes);
        let of = |workers: u32, talking: f64| {
            let sizes = self.steps.iter().filter(move |(size, _)| size.0 >= workers);
            let all = sizes.map(move |&(batch_size, steps)| {
                let share = f64::from(batch_size.0.div_ceil(workers));
                let step_seconds = self.computing(share) + talking;
                (batch_size, steps, step_seconds, steps.0 as f64 * step_seconds)
            });
            all.min_by(|a, b| a.3.total_cmp(&b.3))
        };
        let (batch_size, steps, step_seconds, seconds) = of(workers, talking)?;
        let (.., alone) = of(1, 0.0)?;
        Some(Forecast {
            sparsity: self.sparsity,
            workers,
            batch_size,
            steps,
            step_seconds,
            communication: talking / step_seconds,
            seconds,
            speed_up: alone / seconds,
        })
    }

    /// The number of workers, a power of two, beyond which twice as many bring less than
    /// [`PAYING`]; at most `most`.
    pub fn stops_paying(&self, most: u32, wires: &Wires) -> Option<u32> {
        let mut workers = 1;
        while workers < most {
            let now = self.forecast(workers, wires)?;
            match self.forecast(2 * workers, wires) {
                Some(twice) if now.seconds / twice.seconds >= PAYING => workers *= 2,
                _ => break,
            }
        }
        Some(workers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// K = 10,000/B + 100; 1 ms per example.
    fn measurements(share: f64, bytes: f64) -> Measurements {
        let sizes = (0..=12).map(|power| 1u32 << power);
        Measurements {
            sparsity: Sparsity::new(share).unwrap(),
            bytes,
            steps: sizes
                .map(|size| (BatchSize(size), Steps(u64::from(10_000 / size + 100))))
                .collect(),
            seconds: vec![(1.0, 0.001), (4096.0, 4.096)],
        }
    }

    const ETHERNET: Wires = Wires { bandwidth: 1.25e9, latency: 20e-6 };

    #[test]
    fn a_free_network_pays_up_to_the_floor_of_the_curve() {
        let free = Wires { bandwidth: f64::INFINITY, latency: 0.0 };
        let measured = measurements(0.0, 250_000.0);
        let alone = measured.forecast(1, &free).unwrap();
        assert_eq!((alone.batch_size, alone.speed_up), (BatchSize(1), 1.0));
        // With B = W all steps take as long as one example: the speed-up is that of steps.
        let many = measured.forecast(1024, &free).unwrap();
        assert_eq!(many.batch_size, BatchSize(1024));
        assert!((many.speed_up - 10_100.0 / 109.0).abs() < 1e-9);
        assert_eq!(many.communication, 0.0);
    }

    #[test]
    fn talking_takes_as_many_rounds_as_the_tree_is_high_there_and_back() {
        let round = 20e-6 + 250_000.0 / 1.25e9;
        for (workers, rounds) in [(1, 0.0), (2, 2.0), (3, 4.0), (4, 4.0), (5, 6.0), (16, 8.0)] {
            assert!((ETHERNET.seconds(workers, 250_000.0) - rounds * round).abs() < 1e-12);
        }
    }

    #[test]
    fn a_sparse_gradient_makes_more_workers_pay() {
        let slow = Wires { bandwidth: 1.25e7, latency: 20e-6 };
        let dense = measurements(0.0, 250_000.0).stops_paying(4096, &slow).unwrap();
        let sparse = measurements(0.9, 25_000.0).stops_paying(4096, &slow).unwrap();
        assert!(sparse > dense, "{sparse} and {dense} workers");
        let shares = [250_000.0, 25_000.0]
            .map(|bytes| measurements(0.0, bytes).forecast(8, &slow).unwrap().communication);
        assert!(shares[0] > 1.5 * shares[1], "{shares:?}");
    }

    #[test]
    fn step_times_between_the_measured_ones_lie_on_a_line_and_beyond_in_proportion() {
        let mut measured = measurements(0.0, 0.0);
        measured.seconds = vec![(2.0, 0.010), (10.0, 0.018), (100.0, 0.100)];
        let times = [1.0, 2.0, 6.0, 100.0, 1000.0].map(|examples| measured.computing(examples));
        for (time, expected) in times.iter().zip([0.010, 0.010, 0.014, 0.100, 1.0]) {
            assert!((time - expected).abs() < 1e-12, "{times:?}");
        }
    }
}
