//! The processes that were launched together, if there are several.
//!
//! Under `mpirun` every process runs the same command. They meet here, share the work of
//! every batch, or of a study, and only the first one speaks and writes.

use crate::failure::WrongRequest;
use parsity_engine::comm::{Comm, agree};
use parsity_engine::{Reduction, Team};
use parsity_lab::{Group, Ranks};

/// This process among those that were launched together.
#[derive(Debug)]
pub(crate) struct Processes {
    comm: Option<Box<dyn Comm>>,
    group: Option<Group>,
    pub(crate) rank: usize,
    pub(crate) size: usize,
}

impl Processes {
    /// Meets the others, if a launcher started several. Of those, `together` neighbours make
    /// a group, if it is more than one.
    pub(crate) fn join(together: usize) -> anyhow::Result<Self> {
        let launched = parsity_mpi::launched().unwrap_or(1);
        if !launched.is_multiple_of(together) {
            return Err(WrongRequest(format!(
                "{launched} ranks cannot be shared out in groups of {together}; start a multiple of \
                 {together} with mpirun or srun, or choose another `--ranks-per-trial`"
            ))
            .into());
        }
        match launched {
            1 => Ok(Processes { comm: None, group: None, rank: 0, size: 1 }),
            _ => Self::meet(together),
        }
    }

    #[cfg(feature = "mpi")]
    fn meet(together: usize) -> anyhow::Result<Self> {
        use parsity_mpi::{Talkers, World};
        // In a group one thread trains with the others while another talks to rank 0.
        let talkers = if together > 1 { Talkers::Several } else { Talkers::One };
        let Some(mut world) = World::start(talkers) else {
            let text = "this MPI lets only one thread talk, but `--ranks-per-trial` needs two; use \
                        one with MPI_THREAD_MULTIPLE, or leave it out";
            return Err(WrongRequest(text.to_owned()).into());
        };
        let (rank, size) = (world.rank(), world.size());
        if parsity_mpi::launched() != Some(size) {
            let text = format!(
                "the launcher started several processes, but MPI found {size}: they use another \
                 MPI than it does; use the launcher of the MPI that parsity was built with"
            );
            return Err(WrongRequest(text).into());
        }
        let group = (together > 1).then(|| {
            let [team, halt] = [(); 2].map(|()| world.group(together));
            Group { team: Box::new(team), halt: Box::new(halt) }
        });
        Ok(Processes { comm: Some(Box::new(world)), group, rank, size })
    }

    #[cfg(not(feature = "mpi"))]
    fn meet(_: usize) -> anyhow::Result<Self> {
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

    /// The wire to the others, if there are any.
    pub(crate) fn comm(&mut self) -> Option<&mut (dyn Comm + 'static)> {
        self.comm.as_deref_mut()
    }

    /// All of them, for a study, if there are several.
    pub(crate) fn ranks(self) -> Option<Ranks> {
        self.comm.map(|world| Ranks { world, group: self.group })
    }

    /// A team of `threads` here, and of all others.
    pub(crate) fn team(&mut self, threads: usize, reduction: Reduction) -> Team {
        match self.comm.take() {
            Some(comm) => Team::connected(threads, comm, reduction),
            None => Team::new(threads),
        }
    }
}

/// Parts from the other processes: all are done.
pub(crate) fn part() {
    #[cfg(feature = "mpi")]
    parsity_mpi::World::end();
}

/// Ends the other processes: they would wait for this one, which cannot go on.
pub(crate) fn abort(code: u8) {
    #[cfg(feature = "mpi")]
    parsity_mpi::World::abort(code.into());
    #[cfg(not(feature = "mpi"))]
    let _ = code;
}

/// Ends with an error if not all processes have the same digest of `what`.
pub(crate) fn check_agreement(
    comm: Option<&mut (dyn Comm + 'static)>,
    digest: &[u8],
    what: &str,
) -> Result<(), WrongRequest> {
    let Some(comm) = comm else { return Ok(()) };
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
