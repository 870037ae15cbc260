//! What is measured about smoothness is right, the same on any threads, and leaves the run
//! as it was.

#![allow(clippy::unwrap_used)] // Tests may.

mod support;

use parsity_engine::{
    Batches, Layer, Material, Network, Optimizer, Order, Padding, Pattern, Program, Schedule,
    Session, Shape, Smoothness, Team, initialize,
};
use std::sync::Arc;
use support::{conv, dense, noise};

const EXAMPLES: u32 = 210;

fn network() -> Arc<Network> {
    let layers = [conv("conv", 4, 3, 1, Padding::Valid), Layer::Relu, Layer::Flatten, dense(5)];
    Arc::new(Network::new(Shape::new(1, 6, 6), &layers).unwrap())
}

fn material() -> Arc<Material> {
    noise(Shape::new(1, 6, 6), EXAMPLES as usize, 5)
}

/// A run at the weights `parameters`, of which every third one is pruned.
fn session_at(parameters: &[f32], optimizer: Optimizer) -> Session {
    let network = network();
    let scores: Vec<f32> = (0..network.parameters()).map(|i| (i % 3) as f32).collect();
    let pattern = Pattern::of_highest(&scores, network.parameters() * 2 / 3);
    let program = Arc::new(Program::new(network, Arc::new(pattern)));
    let split: Arc<[u32]> = (0..EXAMPLES).collect();
    let batches = Batches::new(split, 50, Order::Shuffled { seed: 1 });
    let schedule = Schedule::Constant { rate: 0.1 };
    Session::new(program, material(), parameters, optimizer, schedule, batches)
}

fn session(optimizer: Optimizer) -> Session {
    session_at(&initialize(&network(), 3), optimizer)
}

fn optimizers() -> [Optimizer; 3] {
    let momentum = 0.9;
    [Optimizer::Sgd, Optimizer::Momentum { momentum }, Optimizer::Nesterov { momentum }]
}

fn measure(session: &Session, team: &mut Team) -> Smoothness {
    session.smoothness(7, team, &|| true).unwrap()
}

fn bits(numbers: &[f32]) -> Vec<u32> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

#[test]
fn a_run_that_is_watched_comes_to_the_same_bits() {
    let mut team = Team::new(2);
    for optimizer in optimizers() {
        let (mut calm, mut watched) = (session(optimizer), session(optimizer));
        for _ in 0..12 {
            measure(&watched, &mut team);
            let losses = (calm.step(&mut team), watched.step(&mut team));
            assert_eq!(losses.0.to_bits(), losses.1.to_bits());
        }
        assert_eq!(bits(watched.weights()), bits(calm.weights()));
        assert_eq!(bits(watched.velocity()), bits(calm.velocity()));
        assert_eq!(watched.steps(), calm.steps());
    }
}

#[test]
fn threads_do_not_change_a_bit_of_what_is_seen() {
    let seen = |threads: usize| {
        let mut team = Team::new(threads);
        optimizers().map(|optimizer| {
            let mut session = session(optimizer);
            [(); 3].map(|()| {
                session.step(&mut team);
                let Smoothness { lipschitz, loss, norms } = measure(&session, &mut team);
                assert_eq!((norms.small_batch, norms.big_batch), (64, EXAMPLES as usize));
                [lipschitz, loss, norms.small, norms.big].map(f64::to_bits)
            })
        })
    };
    let alone = seen(1);
    for threads in [2, 3] {
        assert_eq!(seen(threads), alone, "{threads} threads");
    }
}

#[test]
fn the_constant_is_that_of_the_formula_along_the_next_step() {
    let mut team = Team::new(1);
    let all: Vec<u32> = (0..EXAMPLES).collect();
    for optimizer in optimizers() {
        let mut session = session(optimizer);
        for _ in 0..3 {
            session.step(&mut team);
        }
        let found = measure(&session, &mut team);
        let (loss, here) = session.gradient(&all, &mut team);
        let weights = session.weights().to_vec();
        let pattern = Arc::clone(session.program());
        session.step(&mut team);
        let step: Vec<f32> = session.weights().iter().zip(&weights).map(|(b, a)| b - a).collect();
        let norm = |numbers: &mut dyn Iterator<Item = f32>| -> f64 {
            numbers.map(|x| f64::from(x).powi(2)).sum::<f64>().sqrt()
        };
        let mut expected = 0f64;
        for tenth in 1..=9u8 {
            let share = f32::from(tenth) / 10.0;
            let moved: Vec<f32> = weights.iter().zip(&step).map(|(w, d)| w + share * d).collect();
            let mut there = session_at(&pattern.pattern().scatter(&moved), optimizer);
            let (_, there) = there.gradient(&all, &mut team);
            let change = norm(&mut there.iter().zip(&here).map(|(there, here)| there - here));
            expected = expected.max(change / norm(&mut step.iter().map(|d| share * d)));
        }
        assert!((found.lipschitz / expected - 1.0).abs() < 1e-3, "{} {expected}", found.lipschitz);
        assert!((found.loss - loss).abs() < 1e-6);
        assert!((found.norms.big.sqrt() / norm(&mut here.iter().copied()) - 1.0).abs() < 1e-5);
    }
}

#[test]
fn small_batches_tell_the_variance_of_gradients_without_bias() {
    let mut team = Team::new(1);
    let mut session = session(Optimizer::Sgd);
    let all: Vec<u32> = (0..EXAMPLES).collect();
    let (_, mean) = session.gradient(&all, &mut team);
    let scatter = |gradient: Vec<f32>| -> f64 {
        gradient.iter().zip(&mean).map(|(a, b)| f64::from(a - b).powi(2)).sum()
    };
    let variance = all.iter().map(|&it| scatter(session.gradient(&[it], &mut team).1)).sum::<f64>()
        / f64::from(EXAMPLES - 1);
    let rounds = 150;
    let noise = (0..rounds).map(|seed| {
        let norms = session.smoothness(seed, &mut team, &|| true).unwrap().norms;
        let sizes = 1.0 / norms.small_batch as f64 - 1.0 / norms.big_batch as f64;
        (norms.small - norms.big) / sizes
    });
    let found = noise.sum::<f64>() / rounds as f64;
    assert!((found / variance - 1.0).abs() < 0.05, "{found}, not {variance}");
}

#[test]
fn a_measurement_can_be_stopped() {
    let stopped = session(Optimizer::Sgd).smoothness(0, &mut Team::new(1), &|| false);
    assert_eq!(stopped, None);
}
