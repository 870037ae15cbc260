//! All processes that were launched together, and groups of them.

#![allow(unsafe_code)] // The functions of the shim.

use parsity_engine::Comm;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

unsafe extern "C" {
    fn parsity_mpi_start(
        several_talk: c_int,
        rank: *mut c_int,
        size: *mut c_int,
        comm: *mut c_int,
    ) -> c_int;
    fn parsity_mpi_split(
        comm: c_int,
        group: c_int,
        rank: *mut c_int,
        size: *mut c_int,
        part: *mut c_int,
    );
    fn parsity_mpi_send(comm: c_int, numbers: *const f32, count: c_int, to: c_int);
    fn parsity_mpi_receive(comm: c_int, numbers: *mut f32, count: c_int, from: c_int);
    fn parsity_mpi_post(comm: c_int, numbers: *const f32, count: c_int, to: c_int) -> c_int;
    fn parsity_mpi_is_sent(posted: *mut c_int) -> c_int;
    fn parsity_mpi_poll(comm: c_int, from: *mut c_int) -> c_int;
    fn parsity_mpi_take(comm: c_int, numbers: *mut f32, count: c_int, from: c_int);
    fn parsity_mpi_broadcast(comm: c_int, numbers: *mut f32, count: c_int);
    fn parsity_mpi_sum(comm: c_int, numbers: *mut f32, count: c_int);
    fn parsity_mpi_abort(code: c_int);
    fn parsity_mpi_end();
}

/// The processes of MPI's world, or a group of them, as this one sees them.
#[derive(Debug)]
pub struct World {
    comm: c_int,
    rank: usize,
    size: usize,
    bytes: u64,
    /// What is still on its way.
    posted: Vec<(c_int, Vec<f32>)>,
}

/// Who may talk to other processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Talkers {
    /// One thread.
    One,
    /// Any thread, each with a [`World`] of its own.
    Several,
}

static STARTED: AtomicBool = AtomicBool::new(false);

impl World {
    /// Meets the others. `None` if that was done before (MPI starts once), or if this MPI
    /// does not let so many threads talk.
    pub fn start(talkers: Talkers) -> Option<World> {
        if STARTED.swap(true, Ordering::Relaxed) {
            return None;
        }
        let (mut rank, mut size, mut comm) = (0, 0, 0);
        let several = c_int::from(talkers == Talkers::Several);
        // SAFETY: called once; all places can be written to.
        let enough = unsafe { parsity_mpi_start(several, &mut rank, &mut size, &mut comm) };
        (enough != 0).then(|| World::new(comm, rank, size))
    }

    fn new(comm: c_int, rank: c_int, size: c_int) -> World {
        let (rank, size) = (rank as usize, size as usize);
        World { comm, rank, size, bytes: 0, posted: Vec::new() }
    }

    /// The group of this process, if every `size` neighbours make one. All call it together.
    pub fn group(&mut self, size: usize) -> World {
        let (mut rank, mut count, mut comm) = (0, 0, 0);
        let group = (self.rank / size) as c_int;
        // SAFETY: MPI was started; all places can be written to.
        unsafe { parsity_mpi_split(self.comm, group, &mut rank, &mut count, &mut comm) };
        World::new(comm, rank, count)
    }

    /// Parts from the others, if it had met them: all are done.
    pub fn end() {
        if STARTED.load(Ordering::Relaxed) {
            // SAFETY: MPI was started, and is ended once.
            unsafe { parsity_mpi_end() };
        }
    }

    /// Ends all processes, if it had met them: they would wait for this one for ever.
    pub fn abort(code: i32) {
        if STARTED.load(Ordering::Relaxed) {
            // SAFETY: MPI was started.
            unsafe { parsity_mpi_abort(code) };
        }
    }

    fn forget_what_has_arrived(&mut self) {
        // SAFETY: the request is one of those that are still open; it is closed at most once.
        self.posted.retain_mut(|(request, _)| unsafe { parsity_mpi_is_sent(request) == 0 });
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // Numbers on their way must stay where they are.
        while !self.posted.is_empty() && !std::thread::panicking() {
            self.forget_what_has_arrived();
        }
        std::mem::forget(std::mem::take(&mut self.posted));
    }
}

/// The length of a message, as MPI counts.
fn count(numbers: &[f32]) -> c_int {
    c_int::try_from(numbers.len()).expect("a message has fewer than 2^31 numbers")
}

impl Comm for World {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn send(&mut self, to: usize, numbers: &[f32]) {
        self.bytes += size_of_val(numbers) as u64;
        // SAFETY: the numbers are there to be read.
        unsafe { parsity_mpi_send(self.comm, numbers.as_ptr(), count(numbers), to as c_int) };
    }

    fn receive(&mut self, from: usize, numbers: &mut [f32]) {
        let (count, from) = (count(numbers), from as c_int);
        // SAFETY: the numbers are ours to be written to.
        unsafe { parsity_mpi_receive(self.comm, numbers.as_mut_ptr(), count, from) };
    }

    fn post(&mut self, to: usize, numbers: Vec<f32>) {
        self.forget_what_has_arrived();
        self.bytes += size_of_val(&*numbers) as u64;
        let (count, to) = (count(&numbers), to as c_int);
        // SAFETY: the numbers are kept, where they are, until they have arrived.
        let request = unsafe { parsity_mpi_post(self.comm, numbers.as_ptr(), count, to) };
        self.posted.push((request, numbers));
    }

    fn poll(&mut self) -> Option<(usize, Vec<f32>)> {
        self.forget_what_has_arrived();
        let mut from = 0;
        // SAFETY: the place can be written to.
        let count = unsafe { parsity_mpi_poll(self.comm, &mut from) };
        let mut numbers = vec![0.0; usize::try_from(count).ok()?];
        // SAFETY: there is room for as many numbers as have come.
        unsafe { parsity_mpi_take(self.comm, numbers.as_mut_ptr(), count, from) };
        Some((from as usize, numbers))
    }

    fn broadcast(&mut self, numbers: &mut [f32]) {
        // What travels is counted where it starts.
        if self.rank == 0 {
            self.bytes += (size_of_val(numbers) * (self.size - 1)) as u64;
        }
        // SAFETY: the numbers are ours to be read or written to.
        unsafe { parsity_mpi_broadcast(self.comm, numbers.as_mut_ptr(), count(numbers)) };
    }

    fn sum(&mut self, numbers: &mut [f32]) {
        if self.size > 1 {
            self.bytes += size_of_val(numbers) as u64;
        }
        // SAFETY: the numbers are ours to be read and written to.
        unsafe { parsity_mpi_sum(self.comm, numbers.as_mut_ptr(), count(numbers)) };
    }

    fn bytes_sent(&self) -> u64 {
        self.bytes
    }
}
