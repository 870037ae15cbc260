//! Planted curves: a law, the luck of a search, and goal checks now and then.

#![allow(dead_code, reason = "each test file uses a part of it")]

use parsity_analysis::random::{Purpose, Stream};
use parsity_analysis::{Form, Measured, Reading};
use parsity_study::{BatchSize, Cell, Metaparameters, Outcome, Protocol, Record, Sparsity, Steps};

/// What separates the measured steps from the law.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Luck {
    /// A factor whose logarithm is normal with this standard deviation.
    Lognormal(f64),
    /// The minimum over 30 trials, each slower than the best there is by some share; its
    /// logarithm is about exponential, with this standard deviation.
    Minimum(f64),
}

/// A law to plant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Planted {
    pub(crate) form: Form,
    pub(crate) c2: f64,
    pub(crate) critical: f64,
}

/// How a planted law is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup {
    pub(crate) smallest: f64,
    pub(crate) sizes: usize,
    pub(crate) check_every: f64,
    pub(crate) budget: f64,
    pub(crate) luck: Luck,
}

pub(crate) fn stream(index: u64) -> Stream {
    Stream::new(Purpose::Planted, index)
}

impl Luck {
    pub(crate) fn draw(self, stream: &mut Stream) -> f64 {
        match self {
            Luck::Lognormal(deviation) => (deviation * stream.normal()).exp(),
            Luck::Minimum(deviation) => {
                let trials = 30;
                // The density of a half-normal at 0 is √(2/π), so that the minimum is
                // about exponential with mean √(π/2)/trials.
                let scale = deviation * f64::from(trials) / std::f64::consts::FRAC_PI_2.sqrt();
                let slowdowns = (0..trials).map(|_| scale * stream.normal().abs());
                slowdowns.fold(f64::INFINITY, f64::min).exp()
            }
        }
    }
}

impl Planted {
    pub(crate) fn steps(&self, batch_size: f64) -> f64 {
        let ratio = self.critical / batch_size;
        match self.form {
            Form::Smooth => self.c2 * (ratio + 1.0),
            Form::Knee => self.c2 * ratio.max(1.0),
        }
    }

    pub(crate) fn measure(&self, setup: &Setup, stream: &mut Stream) -> Vec<Reading> {
        setup.measure(|batch_size| self.steps(batch_size), stream)
    }
}

impl Setup {
    /// 2, 4, …: as many batch sizes as wanted, in the middle of those of the published study.
    pub(crate) fn centred(sizes: usize, luck: Luck) -> Setup {
        let smallest = 2f64.powi((14 - sizes as i32) / 2 + 1);
        Setup { smallest, sizes, check_every: 16.0, budget: 1e9, luck }
    }

    pub(crate) fn batch_sizes(&self) -> impl Iterator<Item = f64> + use<> {
        let smallest = self.smallest;
        (0..self.sizes as i32).map(move |i| smallest * 2f64.powi(i))
    }

    /// What goal checks see of `steps`, which are made worse or better by luck.
    pub(crate) fn measure(&self, steps: impl Fn(f64) -> f64, stream: &mut Stream) -> Vec<Reading> {
        let reading = |batch_size: f64| {
            let steps = steps(batch_size) * self.luck.draw(stream);
            let check = (steps / self.check_every).ceil() * self.check_every;
            let steps = if check > self.budget {
                Measured::Censored { more_than: self.budget }
            } else {
                Measured::at_check(check, self.check_every)
            };
            Reading { batch_size, steps }
        };
        self.batch_sizes().map(reading).collect()
    }
}

/// The share of `simulations` in which `succeeds`.
pub(crate) fn share(simulations: u64, succeeds: impl Fn(u64) -> bool) -> f64 {
    (0..simulations).filter(|&index| succeeds(index)).count() as f64 / simulations as f64
}

/// A record of trial `trial` that ended after `steps`, at learning rate 10^`exponent`.
pub(crate) fn record(trial: u32, exponent: f64, outcome: Outcome, steps: u64) -> Record {
    let reached = if outcome == Outcome::Complete { vec![Steps(steps)] } else { Vec::new() };
    Record {
        cell: Cell { batch_size: BatchSize(64), sparsity: Sparsity::DENSE },
        trial,
        metaparameters: Metaparameters {
            learning_rate: 10f64.powf(exponent),
            momentum: None,
            decay_steps: None,
            end_factor: None,
        },
        protocol: Protocol::Exhaustive,
        outcome,
        steps: Steps(steps),
        reached,
        evaluated: 0,
        seconds: 0.0,
        weights: None,
        observations: Vec::new(),
    }
}
