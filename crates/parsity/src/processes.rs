//! The processes that were launched together, if there are several.
//!
//! Under `mpirun` every process runs the same command. They meet here, share the work of
//! every batch, and only the first one speaks and writes.

use crate::failure::WrongRequest;
use parsity_engine::comm::{Comm, agree};
use parsity_engine::{Reduction, Team};

/// This process among those that were launched together.
#[derive(Debug)]
pub(crate) struct Processes {
    comm: Option<Box<dyn Comm>>,
    pub(crate) rank: usize,
    pub(crate) size: usize,
}

impl Processes {
    /// Meets the others, if a launcher started several.
    pub(crate) fn join() -> anyhow::Result<Self> {
        match parsity_mpi::launched() {
            None | Some(1) => Ok(Processes { comm: None, rank: 0, size: 1 }),
            Some(_) => Self::meet(),
        }
    }

    #[cfg(feature = "mpi")]
    fn meet() -> anyhow::Result<Self> {
        let world = parsity_mpi::World::start();
        let world = world.ok_or_else(|| WrongRequest("MPI was started twice".to_owned()))?;
        let (rank, size) = (world.rank(), world.size());
        if parsity_mpi::launched() != Some(size) {
            let text = format!(
                "the launcher started several processes, but MPI found {size}: they use another \
                 MPI than it does; use the launcher of the MPI that parsity was built with"
            );
            return Err(WrongRequest(text).into());
        }
        Ok(Processes { comm: Some(Box::new(world)), rank, size })
    }

    #[cfg(not(feature = "mpi"))]
    fn meet() -> anyhow::Result<Self> {
        let text = "several processes were launched, but this parsity was built without MPI; build \
                    it with `cargo install --path crates/parsity --features mpi`";
        Err(WrongRequest(text.to_owned()).into())
    }

    /// Refuses to go on with several processes, for commands that are done by one.
    pub(crate) fn refuse_several(command: &str) -> anyhow::Result<()> {
        match parsity_mpi::launched() {
            Some(2..) => Err(WrongRequest(format!(
                "`parsity {command}` is done by one process; start it without mpirun or srun"
            ))
            .into()),
            _ => Ok(()),
        }
    }

    /// Whether this is the one that speaks and writes.
    pub(crate) fn speaks(&self) -> bool {
        self.rank == 0
    }

    /// A team of `threads` here, and of all others.
    pub(crate) fn team(&mut self, threads: usize, reduction: Reduction) -> Team {
        match self.comm.take() {
            Some(comm) => Team::connected(threads, comm, reduction),
            None => Team::new(threads),
        }
    }
}

/// Ends with an error if not all processes of `team` have the same digest of `what`.
pub(crate) fn check_agreement(
    team: &mut Team,
    digest: &[u8],
    what: &str,
) -> Result<(), WrongRequest> {
    let Some(comm) = team.comm() else { return Ok(()) };
    let words = digest.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
    if agree(comm, &words.collect::<Vec<_>>()) {
        return Ok(());
    }
    let rank = comm.rank();
    Err(WrongRequest(format!(
        "the processes do not have the same {what} (this is rank {rank}); start the same parsity \
         with the same arguments and the same data everywhere"
    )))
}
