//! The number of processes never changes a bit, and only survivors travel.

#![allow(clippy::unwrap_used)] // Tests may.

mod support;

use parsity_engine::comm::{Comm, Link, agree};
use parsity_engine::{
    Batches, Method, Optimizer, Order, Pattern, Program, Pruning, Reduction, Schedule, Session,
    Survey, Team, initialize, saliencies,
};
use std::sync::Arc;

/// What a training comes to: losses, weights, errors, and where looks ended.
#[derive(Debug, PartialEq)]
struct Result {
    losses: Vec<u64>,
    weights: Vec<u32>,
    looks: Vec<(usize, usize)>,
    saliencies: Vec<u32>,
}

/// Prunes, trains three steps and looks at images, as one part of a team.
fn train(team: &mut Team, batch_size: usize, survivors: usize) -> Result {
    let network = support::simple_cnn();
    let material = support::noise(network.input(), 500, 10);
    let parameters = initialize(&network, 3);
    let split: Arc<[u32]> = (0..500).collect();
    let snip = Pruning { method: Method::Snip, biases: true, seed: 0 };
    let mut survey = Survey { material: &material, split: &split, team, go_on: &|| true };
    let scores = saliencies(snip, &network, &parameters, &mut survey).unwrap();
    let pattern = Arc::new(Pattern::of_highest(&scores, survivors));
    let program = Arc::new(Program::new(Arc::clone(&network), pattern));
    let batches = Batches::new(split, batch_size, Order::Shuffled { seed: 1 });
    let optimizer = Optimizer::Momentum { momentum: 0.9 };
    let schedule = Schedule::Constant { rate: 0.01 };
    let mut session = Session::new(program, material, &parameters, optimizer, schedule, batches);
    let losses = (0..3).map(|_| session.step(team).to_bits()).collect();
    let mut all: Vec<u32> = (0..500).collect();
    let looks = [0, 30, 200, 499].map(|most| {
        let look = session.look(&mut all, most, team);
        (look.seen, look.found)
    });
    let bits = |numbers: &[f32]| numbers.iter().map(|number| number.to_bits()).collect();
    Result {
        losses,
        weights: bits(session.weights()),
        looks: looks.to_vec(),
        saliencies: bits(&scores),
    }
}

/// The same by `ranks` processes with `threads` each; all must come to the same.
fn train_together(
    ranks: usize,
    threads: usize,
    reduction: Reduction,
    batch_size: usize,
    survivors: usize,
) -> Result {
    let work = |link: Link| {
        let mut team = Team::connected(threads, Box::new(link), reduction);
        train(&mut team, batch_size, survivors)
    };
    std::thread::scope(|scope| {
        let parts: Vec<_> =
            Link::between(ranks).into_iter().map(|link| scope.spawn(move || work(link))).collect();
        let mut results: Vec<Result> = parts.into_iter().map(|it| it.join().unwrap()).collect();
        let first = results.remove(0);
        assert!(results.iter().all(|result| *result == first), "ranks differ");
        first
    })
}

#[test]
fn the_number_of_processes_never_changes_a_bit() {
    for (batch_size, survivors) in [(7, 6_235), (100, 62_346), (400, 6_235)] {
        let alone = train(&mut Team::new(2), batch_size, survivors);
        for (ranks, threads) in [(1, 1), (2, 1), (3, 2), (4, 1), (8, 1)] {
            let together = train_together(ranks, threads, Reduction::Exact, batch_size, survivors);
            assert!(together == alone, "{ranks} ranks × {threads} threads, B = {batch_size}");
        }
    }
}

#[test]
fn the_fast_reduction_is_close_and_the_same_on_all_ranks() {
    let alone = train(&mut Team::new(1), 100, 6_235);
    let together = train_together(3, 1, Reduction::Fast, 100, 6_235);
    for (fast, exact) in together.losses.iter().zip(&alone.losses) {
        let [fast, exact] = [fast, exact].map(|bits| f64::from_bits(*bits));
        assert!((fast - exact).abs() < 1e-4 * exact, "{fast} and {exact}");
    }
}

#[test]
fn only_survivors_travel() {
    let bytes = |survivors: usize| {
        let network = support::simple_cnn();
        let material = support::noise(network.input(), 64, 10);
        let parameters = initialize(&network, 3);
        let step = |link: Link| {
            let scores: Vec<f32> = parameters.iter().map(|weight| weight.abs()).collect();
            let pattern = Pattern::of_highest(&scores, survivors);
            let schedule = Schedule::Constant { rate: 0.01 };
            let mut session = support::session(
                &network,
                pattern,
                &material,
                &parameters,
                Optimizer::Sgd,
                schedule,
                64,
            );
            let mut team = Team::connected(1, Box::new(link), Reduction::Exact);
            session.step(&mut team);
            team.comm().unwrap().bytes_sent()
        };
        std::thread::scope(|scope| {
            let step = &step;
            let parts: Vec<_> =
                Link::between(2).into_iter().map(|link| scope.spawn(move || step(link))).collect();
            parts.into_iter().map(|part| part.join().unwrap()).sum::<u64>()
        })
    };
    // To rank 0 and back, with the loss; no indices.
    assert_eq!(bytes(62_346), 2 * 4 * (62_346 + 2));
    assert_eq!(bytes(6_235), 2 * 4 * (6_235 + 2));
}

#[test]
fn those_who_disagree_find_out() {
    let ask = |different: Option<usize>| {
        std::thread::scope(|scope| {
            let parts: Vec<_> = Link::between(3)
                .into_iter()
                .map(|mut link| {
                    scope.spawn(move || {
                        let bits = if different == Some(link.rank()) { [7, 9] } else { [7, 8] };
                        agree(&mut link, &bits)
                    })
                })
                .collect();
            parts.into_iter().map(|part| part.join().unwrap()).collect::<Vec<bool>>()
        })
    };
    assert_eq!(ask(None), [true; 3]);
    for rank in 0..3 {
        assert_eq!(ask(Some(rank)), [false; 3]);
    }
}
