//! Neither threads nor instruction sets change a bit, and a step never allocates.

mod support;

use parsity_engine::{
    Batches, InstructionSet, LANES, Look, Method, Network, Optimizer, Order, Pattern, Program,
    Pruning, Schedule, Session, Survey, Team, initialize, saliencies,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts allocations of the whole test process.
struct Counting;
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

#[allow(unsafe_code)]
// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::SeqCst);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn sessions(batch_size: usize) -> [Session; 2] {
    let network = support::simple_cnn();
    sessions_of(&network, batch_size, [network.parameters(), 6_235])
}

/// One session for each number of survivors.
fn sessions_of<const N: usize>(
    network: &Arc<Network>,
    batch_size: usize,
    survivors: [usize; N],
) -> [Session; N] {
    let material = support::noise(network.input(), 300, 10);
    let parameters = initialize(network, 3);
    let split: Arc<[u32]> = (0..300).collect();
    let mut team = Team::new(2);
    let snip = Pruning { method: Method::Snip, biases: true, seed: 0 };
    let mut survey =
        Survey { material: &material, split: &split, team: &mut team, go_on: &|| true };
    let scores = saliencies(snip, network, &parameters, &mut survey).expect("nobody stops it");
    survivors.map(|survivors| {
        let pattern = Arc::new(Pattern::of_highest(&scores, survivors));
        let program = Arc::new(Program::new(Arc::clone(network), pattern));
        let batches = Batches::new(Arc::clone(&split), batch_size, Order::Shuffled { seed: 1 });
        let optimizer = Optimizer::Momentum { momentum: 0.9 };
        let schedule = Schedule::Constant { rate: 0.01 };
        Session::new(program, Arc::clone(&material), &parameters, optimizer, schedule, batches)
    })
}

fn train(session: &mut Session, steps: usize, team: &mut Team) {
    for _ in 0..steps {
        session.step(team);
    }
}

/// All that a look has shown.
fn describe(look: Look<'_>) -> (usize, usize, Vec<bool>) {
    let wrong: Vec<bool> = (0..look.seen).map(|place| look.has_found(place)).collect();
    assert_eq!(wrong.iter().filter(|wrong| **wrong).count(), look.found);
    (look.seen, look.found, wrong)
}

// One test: another one running beside it would be counted too.
#[test]
fn neither_threads_nor_instructions_change_a_bit_and_steps_do_not_allocate() {
    for batch_size in [5, 24, 100] {
        let run = |threads: usize| {
            let mut team = Team::new(threads);
            sessions(batch_size).map(|mut session| {
                let losses: Vec<u64> = (0..4).map(|_| session.step(&mut team).to_bits()).collect();
                let mut all = (0..300).collect();
                let errors = session.count_errors(&mut all, &mut team);
                let looks = [0, 1, 20, 150, errors, 300]
                    .map(|most| describe(session.look(&mut all, most, &mut team)));
                let weights: Vec<u32> = session.weights().iter().map(|w| w.to_bits()).collect();
                (losses, errors, looks, weights)
            })
        };
        let alone = run(1);
        for (_, errors, looks, _) in &alone {
            let (whole, one_more) = (&looks[4], &looks[5]);
            assert!(whole.0 == 300 && whole.1 == *errors && whole == one_more);
            for ((seen, found, wrong), most) in looks.iter().zip([0, 1, 20, 150]) {
                // A look ends with the block that has the first error too many.
                assert!(*found > most && *wrong == whole.2[..*seen]);
                let blocks_before = (seen - 1) / LANES * LANES;
                let before = wrong[..blocks_before].iter().filter(|wrong| **wrong).count();
                assert!(before <= most, "{seen} seen for more than {most} errors");
            }
        }
        for threads in [2, 3, 4, 8] {
            assert!(run(threads) == alone, "{threads} threads, batch size {batch_size}");
        }
    }

    // A run that was laid down and taken up elsewhere goes on as if nothing had been.
    for (mut calm, mut first) in sessions(24).into_iter().zip(sessions(24)) {
        let (mut team, mut other) = (Team::new(1), Team::new(2));
        train(&mut calm, 5, &mut team);
        train(&mut first, 3, &mut team);
        let steps = first.steps();
        let [dense, sparse] = sessions(24);
        let (mut second, mut wrong) = match first.weights().len() == dense.weights().len() {
            true => (dense, sparse),
            false => (sparse, dense),
        };
        assert!(second.resume(steps, first.weights(), first.velocity()));
        assert!(!wrong.resume(steps, first.weights(), first.velocity()) && wrong.steps() == 0);
        train(&mut second, 2, &mut other);
        let bits = |session: &Session| -> Vec<u32> {
            session.weights().iter().map(|weight| weight.to_bits()).collect()
        };
        assert!(bits(&second) == bits(&calm) && second.steps() == calm.steps());
    }

    // Every width of block, and images beyond whole blocks.
    for batch_size in [1, 2, 3, 8, 19] {
        let run = |instructions: InstructionSet| {
            let mut all: Vec<Session> = sessions(batch_size).into();
            if batch_size >= 8 {
                let network = support::many_channels();
                let parameters = network.parameters();
                all.extend(sessions_of(&network, batch_size, [parameters, parameters * 4 / 5]));
            }
            if batch_size == 19 {
                all.extend(sessions_of(&support::resnet_8(), batch_size, [7_505]));
            }
            instructions.limit();
            let mut team = Team::new(1);
            let run = |mut session: Session| {
                let losses: Vec<u64> = (0..2).map(|_| session.step(&mut team).to_bits()).collect();
                let weights: Vec<u32> = session.weights().iter().map(|w| w.to_bits()).collect();
                (losses, weights)
            };
            all.into_iter().map(run).collect::<Vec<_>>()
        };
        let best = run(InstructionSet::Avx512);
        for instructions in [InstructionSet::Avx2, InstructionSet::Portable] {
            let found = run(instructions);
            InstructionSet::Avx512.limit();
            assert!(found == best, "{instructions:?}, batch size {batch_size}");
        }
    }

    // Large values go through strip by strip where a thread is alone with a block, and as a whole where
    // several share one; from layers that nothing was taken from to pruned ones.
    let large = support::resnet_8();
    let run = |threads: usize| {
        let mut team = Team::new(threads);
        let parameters = large.parameters();
        let survivors = [parameters, parameters * 7 / 10, parameters * 3 / 10, parameters / 10];
        sessions_of(&large, 8, survivors).map(|mut session| {
            let losses: Vec<u64> = (0..2).map(|_| session.step(&mut team).to_bits()).collect();
            let weights: Vec<u32> = session.weights().iter().map(|w| w.to_bits()).collect();
            (losses, weights)
        })
    };
    let alone = run(1);
    for threads in [2, 3] {
        assert!(run(threads) == alone, "{threads} threads, large values");
    }

    for (threads, batch_size) in [(1, 64), (2, 64), (2, 8)] {
        let mut team = Team::new(threads);
        let large = sessions_of(&large, batch_size, [large.parameters() / 10]);
        for mut session in sessions(batch_size).into_iter().chain(large) {
            let mut all = (0..300).collect();
            for _ in 0..3 {
                session.step(&mut team);
                session.count_errors(&mut all, &mut team);
            }
            let before = ALLOCATIONS.load(Ordering::SeqCst);
            for _ in 0..20 {
                session.step(&mut team);
                session.count_errors(&mut all, &mut team);
            }
            let allocations = ALLOCATIONS.load(Ordering::SeqCst) - before;
            assert_eq!(allocations, 0, "{threads} threads, batch size {batch_size}");
        }
    }
}
