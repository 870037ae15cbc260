//! All processes that were launched together.

#![allow(unsafe_code)] // The functions of the shim.

use parsity_engine::Comm;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

unsafe extern "C" {
    fn parsity_mpi_start(rank: *mut c_int, size: *mut c_int);
    fn parsity_mpi_send(numbers: *const f32, count: c_int, to: c_int);
    fn parsity_mpi_receive(numbers: *mut f32, count: c_int, from: c_int);
    fn parsity_mpi_broadcast(numbers: *mut f32, count: c_int);
    fn parsity_mpi_sum(numbers: *mut f32, count: c_int);
    fn parsity_mpi_abort(code: c_int);
    fn parsity_mpi_end();
}

/// The processes of MPI's world, as this one sees them. There is at most one per process.
#[derive(Debug)]
pub struct World {
    rank: usize,
    size: usize,
    bytes: u64,
}

static STARTED: AtomicBool = AtomicBool::new(false);

impl World {
    /// Meets the others. `None` if that was done before: MPI starts once.
    pub fn start() -> Option<World> {
        if STARTED.swap(true, Ordering::Relaxed) {
            return None;
        }
        let (mut rank, mut size) = (0, 0);
        // SAFETY: called once; both places can be written to.
        unsafe { parsity_mpi_start(&mut rank, &mut size) };
        Some(World { rank: rank as usize, size: size as usize, bytes: 0 })
    }

    /// Ends all processes.
    pub fn abort(code: i32) {
        // SAFETY: MPI was started, or else there is nobody to end.
        if STARTED.load(Ordering::Relaxed) {
            unsafe { parsity_mpi_abort(code) };
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // While panicking the others would wait for ever: let the launcher end them.
        if !std::thread::panicking() {
            // SAFETY: MPI was started, and is ended once.
            unsafe { parsity_mpi_end() };
        }
    }
}

/// The length of a message, as MPI counts.
fn count(numbers: &[f32]) -> c_int {
    c_int::try_from(numbers.len()).expect("a gradient has fewer than 2^31 numbers")
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
        unsafe { parsity_mpi_send(numbers.as_ptr(), count(numbers), to as c_int) };
    }

    fn receive(&mut self, from: usize, numbers: &mut [f32]) {
        // SAFETY: the numbers are ours to be written to.
        unsafe { parsity_mpi_receive(numbers.as_mut_ptr(), count(numbers), from as c_int) };
    }

    fn broadcast(&mut self, numbers: &mut [f32]) {
        // What travels is counted where it starts.
        if self.rank == 0 {
            self.bytes += (size_of_val(numbers) * (self.size - 1)) as u64;
        }
        // SAFETY: the numbers are ours to be read or written to.
        unsafe { parsity_mpi_broadcast(numbers.as_mut_ptr(), count(numbers)) };
    }

    fn sum(&mut self, numbers: &mut [f32]) {
        if self.size > 1 {
            self.bytes += size_of_val(numbers) as u64;
        }
        // SAFETY: the numbers are ours to be read and written to.
        unsafe { parsity_mpi_sum(numbers.as_mut_ptr(), count(numbers)) };
    }

    fn bytes_sent(&self) -> u64 {
        self.bytes
    }
}
