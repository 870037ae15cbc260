//! Neither threads nor instruction sets change a bit, and a step never allocates.

mod support;

use parsity_engine::{
    Batches, InstructionSet, Method, Optimizer, Order, Pattern, Program, Pruning, Schedule,
    Session, Team, initialize, saliencies,
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
    let material = support::noise(network.input(), 300, 10);
    let parameters = initialize(&network, 3);
    let split: Arc<[u32]> = (0..300).collect();
    let mut team = Team::new(2);
    let snip = Pruning { method: Method::Snip, biases: true, seed: 0 };
    let scores = saliencies(snip, &network, &parameters, &material, &split, &mut team, &|| true)
        .expect("nobody stops it");
    [network.parameters(), 6_235].map(|survivors| {
        let pattern = Arc::new(Pattern::of_highest(&scores, survivors));
        let program = Arc::new(Program::new(Arc::clone(&network), pattern));
        let batches = Batches::new(Arc::clone(&split), batch_size, Order::Shuffled { seed: 1 });
        let optimizer = Optimizer::Momentum { momentum: 0.9 };
        let schedule = Schedule::Constant { rate: 0.01 };
        Session::new(program, Arc::clone(&material), &parameters, optimizer, schedule, batches)
    })
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
                let weights: Vec<u32> = session.weights().iter().map(|w| w.to_bits()).collect();
                (losses, errors, weights)
            })
        };
        let alone = run(1);
        for threads in [2, 3, 4, 8] {
            assert!(run(threads) == alone, "{threads} threads, batch size {batch_size}");
        }
    }

    // Every width of block, and images beyond whole blocks.
    for batch_size in [1, 2, 3, 8, 19] {
        let run = |instructions: InstructionSet| {
            let sessions = sessions(batch_size);
            instructions.limit();
            let mut team = Team::new(1);
            sessions.map(|mut session| {
                let losses: Vec<u64> = (0..2).map(|_| session.step(&mut team).to_bits()).collect();
                let weights: Vec<u32> = session.weights().iter().map(|w| w.to_bits()).collect();
                (losses, weights)
            })
        };
        let best = run(InstructionSet::Avx512);
        for instructions in [InstructionSet::Avx2, InstructionSet::Portable] {
            let found = run(instructions);
            InstructionSet::Avx512.limit();
            assert!(found == best, "{instructions:?}, batch size {batch_size}");
        }
    }

    for threads in [1, 2] {
        let mut team = Team::new(threads);
        for mut session in sessions(64) {
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
            assert_eq!(allocations, 0, "{threads} threads");
        }
    }
}
