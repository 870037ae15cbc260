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
use std::sync::atomic::{AtomicBool, Ordering};
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
    let mut team = Team::new(1);
    let mut session = session(network, sparsity, IMAGES, &mut team);
    let mut indices = (0..IMAGES as u32).collect();
    let images = IMAGES as f64;
    Pace {
        train: images / seconds(|| session.step(&mut team)),
        evaluate: images / seconds(|| session.count_errors(&mut indices, &mut team)),
    }
}

/// Seconds of a training step of so many examples on one core, for each of `examples`, while
/// all of `together` workers on this machine do the same: they share its memory and its heat.
pub fn measure_steps(
    network: &Arc<Network>,
    sparsity: Sparsity,
    examples: &[usize],
    together: usize,
) -> Vec<(f64, f64)> {
    let measure = |&examples: &usize| {
        let is_done = AtomicBool::new(false);
        let neighbour = || {
            let mut team = Team::new(1);
            let mut session = session(network, sparsity, examples, &mut team);
            while !is_done.load(Ordering::Relaxed) {
                session.step(&mut team);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..together {
                scope.spawn(neighbour);
            }
            let mut team = Team::new(1);
            let mut session = session(network, sparsity, examples, &mut team);
            let seconds = seconds(|| session.step(&mut team));
            is_done.store(true, Ordering::Relaxed);
            (examples as f64, seconds)
        })
    };
    examples.iter().map(measure).collect()
}

/// A training of `network` on made-up images.
fn session(
    network: &Arc<Network>,
    sparsity: Sparsity,
    batch_size: usize,
    team: &mut Team,
) -> Session {
    let mut stream = Stream::new(0, Purpose::Glyphs, 0);
    let shape = network.input();
    let images = (0..IMAGES * shape.len()).map(|_| stream.below(256) as u8).collect();
    let examples = Examples::new(shape, images, vec![0; IMAGES]).expect("the sizes agree");
    let normalization = Normalization::of(&examples);
    let material = Arc::new(Material::new(examples, normalization));
    let parameters = initialize(network, 0);
    let all: Arc<[u32]> = (0..IMAGES as u32).collect();
    let random = Pruning { method: Method::Random, biases: true, seed: 0 };
    let mut survey = Survey { material: &material, split: &all, team, go_on: &|| true };
    let scores = saliencies(random, network, &parameters, &mut survey).expect("nobody stops it");
    let pattern = Pattern::of_highest(&scores, sparsity.survivors(parameters.len()));
    Session::new(
        Arc::new(Program::new(Arc::clone(network), Arc::new(pattern))),
        material,
        &parameters,
        Optimizer::Momentum { momentum: 0.9 },
        Schedule::Constant { rate: 1e-3 },
        Batches::new(all, batch_size, Order::Sequential),
    )
}

/// Seconds that `work` takes.
fn seconds<T>(mut work: impl FnMut() -> T) -> f64 {
    work();
    let begin = Instant::now();
    let mut rounds = 0;
    while begin.elapsed() < LONG_ENOUGH {
        work();
        rounds += 1;
    }
    begin.elapsed().as_secs_f64() / f64::from(rounds)
}
