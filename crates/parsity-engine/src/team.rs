//! Threads, and processes, that work on one batch together, always with the same result.
//!
//! A batch is cut into fixed *grains*; each grain's gradient is computed by whichever
//! thread is free, into the grain's own vector; the vectors are then added along a fixed
//! tree. So the number of threads never changes a bit. A team of one has no threads
//! besides its caller and does exactly the same. A batch of a single grain is worked on by
//! all threads together (see [`seats`](crate::seats)). Teams of several processes share the
//! grains out between them.

use crate::comm::Comm;
use crate::examples::Material;
use crate::grains::{Grain, Grains, Reduction, Wire, grain_size, share};
use crate::kernels::LANES;
use crate::program::Program;
use crate::seats::{SPINS, Seat, Table, wait_until};
use crate::workspace::{Question, Workspace, images};
use std::hint::spin_loop;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;

/// Blocks that each process looks at before it tells the others.
const TURN: usize = 8;
/// The most threads that work on one block.
const MOST_SEATS: usize = 8;

/// What is to be done with each piece of a job.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Task {
    Gradient {
        scale: f32,
    },
    /// The same, of a single block, by all who have a seat at the table.
    Together {
        scale: f32,
    },
    /// Find the examples of which the answer is yes, until there are more than `most`.
    Look {
        question: Question,
        most: usize,
    },
}

/// What all threads read while they work. The vectors are lent by the caller.
#[derive(Debug)]
struct Job {
    program: Arc<Program>,
    material: Arc<Material>,
    values: Vec<f32>,
    indices: Vec<u32>,
    /// Which examples of each block were found, a bit each.
    found: Vec<AtomicU16>,
    task: Task,
    /// Examples in a piece.
    piece: usize,
    /// The pieces that are to be worked on.
    pieces: Range<usize>,
    /// Images in a block, as a power of two.
    images: u32,
}

#[derive(Debug)]
struct Shared {
    job: RwLock<Option<Job>>,
    grains: Grains,
    table: Arc<Table>,
    /// The next piece to be taken.
    next: AtomicUsize,
    /// How many examples were found.
    found: AtomicU64,
    /// Grows with each job; `u64::MAX` sends the threads home.
    call: AtomicU64,
    bell: (Mutex<()>, Condvar),
    /// Threads that have not finished the job.
    busy: AtomicUsize,
    failed: AtomicBool,
}

const DISMISSED: u64 = u64::MAX;

/// A fixed group of threads with their workspaces.
#[derive(Debug)]
pub struct Team {
    shared: Arc<Shared>,
    own: Vec<Workspace>,
    found: Vec<AtomicU16>,
    wire: Option<Wire>,
    threads: Vec<JoinHandle<()>>,
}

/// What a look at examples has shown: it went through them in order, block by block, until
/// it had found more than it was to.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// How many examples were looked at, from the first on.
    pub seen: usize,
    /// Of how many of those the answer was yes.
    pub found: usize,
    bits: &'a [AtomicU16],
}

impl Look<'_> {
    /// Whether the example at `place` was found.
    pub fn has_found(&self, place: usize) -> bool {
        assert!(place < self.seen, "it was not looked at");
        self.bits[place / LANES].load(Ordering::Relaxed) >> (place % LANES) & 1 == 1
    }
}

impl Team {
    /// A team of `threads` (at least one: the caller).
    pub fn new(threads: usize) -> Self {
        let shared = Arc::new(Shared {
            job: RwLock::new(None),
            grains: Grains::new(),
            table: Table::new(threads.clamp(1, MOST_SEATS)),
            next: AtomicUsize::new(0),
            found: AtomicU64::new(0),
            call: AtomicU64::new(0),
            bell: (Mutex::new(()), Condvar::new()),
            busy: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
        });
        let spawn = |index| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || shared.serve(index))
        };
        let threads = (1..threads.max(1)).map(spawn).collect();
        Team { shared, own: vec![], found: vec![], wire: None, threads }
    }

    /// The part of a team that works in this process, with `threads` of its own. All parts
    /// make the same calls in the same order.
    pub fn connected(threads: usize, comm: Box<dyn Comm>, reduction: Reduction) -> Self {
        let mut team = Team::new(threads);
        team.wire = Some(Wire::new(comm, reduction));
        team
    }

    /// Its wire to the other processes, if there are any.
    pub fn comm(&mut self) -> Option<&mut (dyn Comm + 'static)> {
        self.wire.as_mut().map(|wire| &mut *wire.comm)
    }

    /// Which part of the team this is, and how many there are.
    fn place(&self) -> (usize, usize) {
        self.wire.as_ref().map_or((0, 1), |wire| (wire.comm.rank(), wire.comm.size()))
    }

    /// How many threads work, the caller's included.
    pub fn size(&self) -> usize {
        self.threads.len() + 1
    }

    /// The gradient of `scale` × (sum of losses) over the examples `indices`, with the
    /// survivors' `values`; and the sum of losses. Both vectors are lent, not changed.
    pub(crate) fn gradient(
        &mut self,
        program: &Arc<Program>,
        material: &Arc<Material>,
        values: &mut Vec<f32>,
        indices: &mut Vec<u32>,
        scale: f32,
    ) -> (f64, Gradient<'_>) {
        let block = 1 << images(program.network(), indices.len());
        let piece = grain_size(indices.len(), block);
        let grains = indices.len().div_ceil(piece);
        let (rank, size) = self.place();
        let own = share(grains, rank, size);
        let task = match grains == 1 && self.shared.table.seats() > 1 {
            true => Task::Together { scale },
            false => Task::Gradient { scale },
        };
        self.run(program, material, values, indices, task, piece, own.clone());
        if matches!(task, Task::Together { .. }) && !own.is_empty() {
            self.shared.grains.join(self.shared.table.seats());
        }
        let loss = self.shared.grains.combine(grains, values.len(), self.wire.as_mut());
        (loss, Gradient(self.shared.grains.lock(0)))
    }

    /// Looks at the examples `indices` in order until more than `most` were found of which the
    /// answer to `question` is yes. Where it ends does not depend on the number of threads.
    pub(crate) fn look(
        &mut self,
        program: &Arc<Program>,
        material: &Arc<Material>,
        values: &mut Vec<f32>,
        indices: &mut Vec<u32>,
        question: Question,
        most: usize,
    ) -> Look<'_> {
        self.shared.found.store(0, Ordering::Relaxed);
        self.found.resize_with(indices.len().div_ceil(LANES), AtomicU16::default);
        let task = Task::Look { question, most };
        let (rank, size) = self.place();
        if size == 1 {
            let all = 0..self.found.len();
            self.run(program, material, values, indices, task, LANES, all);
        } else {
            // Turn by turn, so that all know soon when there is no need to go on.
            let (mut start, mut found) = (0, 0);
            while start < self.found.len() && found <= most {
                let turn = (TURN * size).min(self.found.len() - start);
                let own = share(turn, rank, size);
                let own = start + own.start..start + own.end;
                self.run(program, material, values, indices, task, LANES, own);
                found += self.exchange(start, turn);
                start += turn;
            }
        }
        // Several threads may have gone on for some blocks more.
        let (mut blocks, mut found) = (0, 0);
        while blocks < self.found.len() && found <= most {
            found += self.found[blocks].load(Ordering::Relaxed).count_ones() as usize;
            blocks += 1;
        }
        Look { seen: indices.len().min(blocks * LANES), found, bits: &self.found }
    }

    /// Tells the other processes which examples of the blocks from `start` on, `turn` of them,
    /// were found here, and learns which were found there; returns how many were.
    fn exchange(&mut self, start: usize, turn: usize) -> usize {
        let (rank, size) = self.place();
        let Some(wire) = &mut self.wire else { return 0 };
        let mut bits = vec![0.0; turn];
        for block in share(turn, rank, size) {
            bits[block] = f32::from(self.found[start + block].load(Ordering::Relaxed));
        }
        // Whole numbers below 2^24 add up exactly, in any order.
        wire.comm.sum(&mut bits);
        let mut found = 0;
        for (block, &bits) in bits.iter().enumerate() {
            let bits = bits as u16;
            self.found[start + block].store(bits, Ordering::Relaxed);
            found += bits.count_ones() as usize;
        }
        found
    }

    /// Lends the vectors to the team, lets all work, and gives the vectors back.
    #[allow(clippy::too_many_arguments)]
    fn run(
        &mut self,
        program: &Arc<Program>,
        material: &Arc<Material>,
        values: &mut Vec<f32>,
        indices: &mut Vec<u32>,
        task: Task,
        piece: usize,
        pieces: Range<usize>,
    ) {
        let network = program.network();
        let images = match task {
            Task::Gradient { .. } | Task::Together { .. } => images(network, indices.len()),
            Task::Look { .. } => images(network, LANES),
        };
        let job = Job {
            program: Arc::clone(program),
            material: Arc::clone(material),
            values: std::mem::take(values),
            indices: std::mem::take(indices),
            found: std::mem::take(&mut self.found),
            task,
            piece,
            pieces: pieces.clone(),
            images,
        };
        let shared = &*self.shared;
        *shared.job.write().unwrap_or_else(PoisonError::into_inner) = Some(job);
        shared.next.store(pieces.start, Ordering::Relaxed);
        shared.busy.store(self.threads.len(), Ordering::Relaxed);
        if !self.threads.is_empty() {
            shared.ring(shared.call.load(Ordering::Relaxed) + 1);
        }
        shared.work(0, &mut self.own);
        wait_until(|| shared.busy.load(Ordering::Acquire) == 0);
        let mut slot = shared.job.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(job) = slot.take() {
            (*values, *indices, self.found) = (job.values, job.indices, job.found);
        }
        assert!(!shared.failed.load(Ordering::Relaxed), "a thread of the team has panicked");
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.shared.ring(DISMISSED);
        for thread in self.threads.drain(..) {
            // A panicked thread has been reported by `run`.
            let _ = thread.join();
        }
    }
}

/// A batch's gradient, parallel to the survivors.
pub(crate) struct Gradient<'a>(MutexGuard<'a, Grain>);

impl std::ops::Deref for Gradient<'_> {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.0.gradient
    }
}

/// The workspace for blocks of `1 << images` images at `seat`, ready for `program`. A thread
/// keeps one for each kind of block: batches and goal checks take turns.
fn room<'a>(
    workspaces: &'a mut Vec<Workspace>,
    program: &Arc<Program>,
    images: u32,
    seat: Seat,
) -> &'a mut Workspace {
    let place = workspaces.iter_mut().position(|workspace| workspace.meet(program, images, &seat));
    let place = place.unwrap_or_else(|| {
        // What was made for another network is not needed any more.
        workspaces.retain(|workspace| workspace.is_of(program.network()));
        workspaces.push(Workspace::new(program, images, seat));
        workspaces.len() - 1
    });
    &mut workspaces[place]
}

/// Says that a thread is done, even if it panics.
struct Done<'a>(&'a Shared);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.failed.store(true, Ordering::Relaxed);
        }
        self.0.busy.fetch_sub(1, Ordering::Release);
    }
}

impl Shared {
    /// A thread's life: wait for a call, work, say so.
    fn serve(&self, index: usize) {
        let mut workspaces = vec![];
        let mut heard = 0;
        loop {
            heard = self.wait(heard);
            if heard == DISMISSED {
                return;
            }
            let _done = Done(self);
            self.work(index, &mut workspaces);
        }
    }

    fn ring(&self, call: u64) {
        let guard = self.bell.0.lock().unwrap_or_else(PoisonError::into_inner);
        self.call.store(call, Ordering::Release);
        drop(guard);
        self.bell.1.notify_all();
    }

    /// Waits, first awake and then asleep, for a call other than `heard`.
    fn wait(&self, heard: u64) -> u64 {
        for _ in 0..SPINS {
            let call = self.call.load(Ordering::Acquire);
            if call != heard {
                return call;
            }
            spin_loop();
        }
        let mut guard = self.bell.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let call = self.call.load(Ordering::Acquire);
            if call != heard {
                return call;
            }
            guard = self.bell.1.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The part of thread `index` in the job.
    fn work(&self, index: usize, workspaces: &mut Vec<Workspace>) {
        let job = self.job.read().unwrap_or_else(PoisonError::into_inner);
        let Some(job) = job.as_ref() else { return };
        if let Task::Together { scale } = job.task {
            if index < self.table.seats() && !job.pieces.is_empty() {
                let _guard = self.table.guard();
                let seat = Seat::at(&self.table, index);
                let workspace = room(workspaces, &job.program, job.images, seat);
                workspace.fill(&job.values);
                workspace.fill_for_gradients(&job.values);
                self.accumulate(job, &job.indices, scale, workspace, index);
            }
        } else {
            self.take_pieces(job, room(workspaces, &job.program, job.images, Seat::alone()));
        }
    }

    /// Takes pieces of the job until none is left.
    fn take_pieces(&self, job: &Job, workspace: &mut Workspace) {
        let mut pieces = job.indices.chunks(job.piece);
        let mut taken = 0;
        workspace.fill(&job.values);
        if matches!(job.task, Task::Gradient { .. }) {
            workspace.fill_for_gradients(&job.values);
        }
        loop {
            // Pieces are taken in order, and whatever was taken is finished: so what was
            // looked at when all stop is a beginning of the list without a gap.
            if let Task::Look { most, .. } = job.task
                && self.found.load(Ordering::Relaxed) > most as u64
            {
                return;
            }
            let piece = self.next.fetch_add(1, Ordering::Relaxed);
            if piece >= job.pieces.end {
                return;
            }
            let Some(indices) = pieces.nth(piece - taken) else { return };
            taken = piece + 1;
            match job.task {
                Task::Gradient { scale } | Task::Together { scale } => {
                    self.accumulate(job, indices, scale, workspace, piece);
                }
                Task::Look { question, .. } => {
                    let found = workspace.find(question, &job.material, &job.values, indices);
                    job.found[piece].store(found, Ordering::Relaxed);
                    self.found.fetch_add(u64::from(found.count_ones()), Ordering::Relaxed);
                }
            }
        }
    }

    /// Makes `grain` the gradient over the examples `indices`, as far as it is computed here.
    fn accumulate(
        &self,
        job: &Job,
        indices: &[u32],
        scale: f32,
        workspace: &mut Workspace,
        grain: usize,
    ) {
        let mut grain = self.grains.lock(grain);
        let Grain { gradient, loss } = &mut *grain;
        gradient.clear();
        gradient.resize(job.values.len(), 0.0);
        *loss = workspace.accumulate(&job.material, &job.values, indices, scale, gradient);
    }
}
