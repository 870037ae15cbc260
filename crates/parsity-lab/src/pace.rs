//! How fast this machine trains a network: measured, on made-up images, in a moment.
//!
//! Apart from running, because a plan is wanted before any data is at hand.

use parsity_engine::random::{Purpose, Stream};
use parsity_engine::{
    Batches, Examples, Material, Method, Network, Normalization, Optimizer, Order, Pattern,
    Program, Pruning, Schedule, Session, Survey, Team, initialize, saliencies,
};
use parsity_study::Sparsity;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Images in a measured step.
const IMAGES: usize = 32;
/// How long each measurement takes, at least.
const LONG_ENOUGH: Duration = Duration::from_millis(120);

/// Images per second on one core.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// In training.
    pub train: f64,
    /// In goal checks.
    pub evaluate: f64,
}

/// Measures `network` at `sparsity`, pruned at random: a rough guide, not a benchmark.
pub fn measure_pace(network: &Arc<Network>, sparsity: Sparsity) -> Pace {
    let mut stream = Stream::new(0, Purpose::Glyphs, 0);
    let shape = network.input();
    let images = (0..IMAGES * shape.len()).map(|_| stream.below(256) as u8).collect();
    let examples = Examples::new(shape, images, vec![0; IMAGES]).expect("the sizes agree");
    let normalization = Normalization::of(&examples);
    let material = Arc::new(Material::new(examples, normalization));
    let mut team = Team::new(1);
    let parameters = initialize(network, 0);
    let all: Arc<[u32]> = (0..IMAGES as u32).collect();
    let random = Pruning { method: Method::Random, biases: true, seed: 0 };
    let mut survey = Survey { material: &material, split: &all, team: &mut team, go_on: &|| true };
    let scores = saliencies(random, network, &parameters, &mut survey).expect("nobody stops it");
    let pattern = Pattern::of_highest(&scores, sparsity.survivors(parameters.len()));
    let program = Arc::new(Program::new(Arc::clone(network), Arc::new(pattern)));
    let mut session = Session::new(
        program,
        material,
        &parameters,
        Optimizer::Momentum { momentum: 0.9 },
        Schedule::Constant { rate: 1e-3 },
        Batches::new(Arc::clone(&all), IMAGES, Order::Sequential),
    );
    let mut indices = all.to_vec();
    Pace {
        train: rate(|| session.step(&mut team)),
        evaluate: rate(|| session.count_errors(&mut indices, &mut team)),
    }
}

/// Images per second of `work`, which does `IMAGES` of them.
fn rate<T>(mut work: impl FnMut() -> T) -> f64 {
    work();
    let begin = Instant::now();
    let mut rounds = 0;
    while begin.elapsed() < LONG_ENOUGH {
        work();
        rounds += 1;
    }
    (rounds * IMAGES) as f64 / begin.elapsed().as_secs_f64()
}
