//! The wire: the engine's `Comm` over MPI.
//!
//! Everything but [`launched`] needs the feature `mpi`, and an MPI library. The functions
//! of MPI that are needed are wrapped in a few lines of C (`shim.c`), compiled by MPI's own
//! `mpicc`: so any implementation will do, and nothing has to be generated from its headers.

#[cfg(feature = "mpi")]
mod world;

#[cfg(feature = "mpi")]
pub use world::{Talkers, World};

/// How many processes were launched together with this one, if a launcher did: `mpirun`,
/// `mpiexec` or Slurm's `srun`.
pub fn launched() -> Option<usize> {
    // Slurm's number of tasks is also set in batch scripts, which are one process; that of a
    // step only where `srun` started it.
    const SIZES: [&str; 4] =
        ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS"];
    SIZES.iter().filter_map(|name| std::env::var(name).ok()).find_map(|size| size.parse().ok())
}
