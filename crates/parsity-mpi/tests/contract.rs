//! The contract of a wire, for channels between threads and, with the feature `mpi`, for MPI
//! under a real `mpirun`.

#![allow(missing_docs)]

mod suite;

#[cfg(feature = "mpi")]
use parsity_engine::Comm;
use parsity_engine::comm::Link;

#[test]
fn channels_between_threads_keep_the_contract() {
    for size in [1, 2, 3, 4, 8] {
        std::thread::scope(|scope| {
            for mut link in Link::between(size) {
                scope.spawn(move || suite::examine(&mut link));
            }
        });
    }
}

/// Started by hand, it starts itself again under `mpirun`, as every rank in turn.
#[cfg(feature = "mpi")]
#[test]
fn mpi_keeps_the_contract() {
    if parsity_mpi::launched().is_some() {
        let mut world = parsity_mpi::World::start(parsity_mpi::Talkers::Several)
            .expect("it is started once, and any thread may talk");
        let (rank, size) = (world.rank(), world.size());
        suite::examine(&mut world);
        // The groups of a world keep the contract, too, and do not hear of each other.
        if size % 2 == 0 {
            let mut group = world.group(2);
            assert_eq!((group.rank(), group.size()), (rank % 2, 2));
            suite::examine(&mut group);
        }
        drop(world);
        return parsity_mpi::World::end();
    }
    let itself = std::env::current_exe().expect("tests have a path");
    for size in ["1", "2", "3", "4"] {
        let run = std::process::Command::new("mpirun")
            .args(["--allow-run-as-root", "--oversubscribe", "-n", size])
            .arg(&itself)
            .args(["--exact", "mpi_keeps_the_contract"])
            .output()
            .expect("mpirun is installed");
        let told = String::from_utf8_lossy(&run.stderr);
        let said = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success(), "{size} ranks\n{told}{said}");
        assert_eq!(said.matches("1 passed").count().to_string(), size, "{said}");
    }
}
