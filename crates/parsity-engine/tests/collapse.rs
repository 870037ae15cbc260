//! A network that is said to be dead stays dead, and one that may live is never said to be.

#![allow(clippy::unwrap_used)] // Tests may.

mod support;

use parsity_engine::{
    Batches, Layer, Network, Optimizer, Order, Padding, Pattern, Program, Schedule, Session, Shape,
    Team, initialize,
};
use std::sync::Arc;
use support::{conv, dense};

const SHAPE: Shape = Shape { channels: 1, height: 8, width: 8 };
const IMAGES: usize = 40;
const OPTIMIZERS: [Optimizer; 3] =
    [Optimizer::Sgd, Optimizer::Momentum { momentum: 0.7 }, Optimizer::Nesterov { momentum: 0.7 }];

/// Two convolutions in a row, each with a pool.
fn pooled_twice() -> Vec<Layer> {
    let pool = || Layer::MaxPool { size: 2, stride: 2 };
    let (a, b) = (conv("a", 3, 3, 1, Padding::Same), conv("b", 4, 3, 1, Padding::Same));
    vec![a, Layer::Relu, pool(), b, Layer::Relu, pool(), Layer::Flatten, dense(4)]
}

/// A convolution and a block with a shortcut around it.
fn with_shortcut() -> Vec<Layer> {
    let block = Layer::Residual { name: "block".into(), filters: 3, size: 3, stride: 1 };
    let first = conv("a", 3, 3, 1, Padding::Same);
    vec![first, block, Layer::Relu, Layer::GlobalAveragePool, dense(4)]
}

/// A session on the images `split` of noise; all parameters of the tensors that are named have
/// the value beside the name.
fn session(
    layers: &[Layer],
    values: &[(&str, f32)],
    optimizer: Optimizer,
    rate: f64,
    split: &[u32],
) -> Session {
    let network = Arc::new(Network::new(SHAPE, layers).unwrap());
    let mut parameters = initialize(&network, 5);
    for (name, value) in values {
        let tensor = network.tensors().iter().find(|tensor| tensor.name == *name).unwrap();
        parameters[tensor.range.clone()].fill(*value);
    }
    let pattern = Arc::new(Pattern::dense(parameters.len()));
    let program = Arc::new(Program::new(network, pattern));
    let material = support::noise(SHAPE, IMAGES, 4);
    let batches = Batches::new(split.into(), 8, Order::Sequential);
    let schedule = Schedule::Constant { rate };
    Session::new(program, material, &parameters, optimizer, schedule, batches)
}

fn all() -> Vec<u32> {
    (0..IMAGES as u32).collect()
}

/// Trains on, and sees that all images always have the same scores.
fn assert_dead(mut session: Session, team: &mut Team, what: &str) {
    for step in 0..60 {
        session.step(team);
        let scores = session.scores(&all());
        assert!(scores.iter().all(|it| *it == scores[0]), "{what}, {step} steps later");
    }
}

#[test]
fn a_dead_network_says_the_same_of_every_image_whatever_it_is_trained_on() {
    let mut team = Team::new(1);
    let dead = [("a.bias", -100.0), ("b.bias", -100.0)];
    for (layers, optimizer) in [pooled_twice(), with_shortcut()].iter().zip(OPTIMIZERS) {
        for dead in dead.iter().filter(|it| layers.len() == 8 || it.0 == "a.bias") {
            let mut session = session(layers, &[*dead], optimizer, 0.1, &all());
            assert!(session.has_collapsed(&[], &mut team).0, "{dead:?}");
            assert_dead(session, &mut team, &format!("{dead:?}, {optimizer:?}"));
        }
    }
}

#[test]
fn networks_that_die_of_their_learning_rate_are_found_out_and_never_too_early() {
    let mut team = Team::new(2);
    let (mut found, mut lived) = (0, 0);
    for optimizer in OPTIMIZERS {
        for rate in [0.01, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0] {
            let mut session = session(&pooled_twice(), &[], optimizer, rate, &all());
            let collapsed = (0..200).any(|_| {
                let loss = session.step(&mut team);
                loss.is_finite() && session.has_collapsed(&[], &mut team).0
            });
            found += usize::from(collapsed);
            lived += usize::from(!collapsed);
            if collapsed {
                assert_dead(session, &mut team, &format!("{optimizer:?}, {rate}"));
            }
        }
    }
    assert!(found >= 4 && lived >= 4, "{found} have collapsed, {lived} have not");
}

#[test]
fn one_image_that_wakes_a_unit_is_enough_to_live() {
    let mut team = Team::new(1);
    // Some images wake a unit of the second layer, others do not.
    let (layers, threshold) = (pooled_twice(), [("b.bias", -2.7)]);
    let mut asked = session(&layers, &threshold, Optimizer::Sgd, 0.1, &all());
    let below = asked.program().network().tensors()[3].range.end;
    let mut wakes = |image: u32| {
        let (_, gradient) = asked.gradient(&[image], &mut team);
        gradient[..below].iter().any(|&g| g != 0.0)
    };
    let (awake, asleep): (Vec<u32>, Vec<u32>) = all().into_iter().partition(|&it| wakes(it));
    assert!(!awake.is_empty() && asleep.len() > 8, "{awake:?}");
    let mut of = |split: &[u32], others: &[u32]| {
        let mut session = session(&layers, &threshold, Optimizer::Sgd, 0.1, split);
        session.has_collapsed(others, &mut team)
    };
    assert_eq!(of(&asleep, &asleep), (true, 2 * asleep.len()));
    for image in &awake {
        let with = [&asleep[..], &[*image]].concat();
        assert!(!of(&with, &[]).0, "it is trained on image {image}");
        assert!(!of(&asleep, &[*image]).0, "it is asked about image {image}");
    }
}

#[test]
fn a_shortcut_or_a_velocity_that_may_wake_it_is_no_proof() {
    let mut team = Team::new(1);
    let inside = [("block.conv1.bias", -100.0)];
    let mut around = session(&with_shortcut(), &inside, Optimizer::Sgd, 0.1, &all());
    assert!(!around.has_collapsed(&[], &mut team).0, "there is a way around");
    for optimizer in &OPTIMIZERS[1..] {
        let mut moving = session(&pooled_twice(), &[("b.bias", -9.0)], *optimizer, 1e-3, &all());
        let weights = moving.weights().to_vec();
        assert!(moving.has_collapsed(&[], &mut team).0, "it rests");
        // Its biases rise by 0.001 × 7,000 × (0.7 + 0.7² + …), to above zero.
        let biases = moving.program().network().tensors()[3].range.clone();
        let velocity = |place| if biases.contains(&place) { -7_000.0 } else { 0.0 };
        let velocity: Vec<f32> = (0..weights.len()).map(velocity).collect();
        assert!(moving.resume(1, &weights, &velocity));
        assert!(!moving.has_collapsed(&[], &mut team).0, "it moves");
        let before = moving.scores(&all());
        for _ in 0..30 {
            moving.step(&mut team);
        }
        assert!(before.iter().all(|it| *it == before[0]), "it was dead");
        let after = moving.scores(&all());
        assert!(after.iter().any(|it| *it != after[0]), "it has woken up");
    }
}
