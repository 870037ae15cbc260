//! The contract of a wire, for channels between threads and, with the feature `mpi`, for MPI
//! under a real `mpirun`.

#![allow(missing_docs)]

mod suite;

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

#[cfg(feature = "mpi")]
#[test]
fn mpi_keeps_the_contract() {
    // Built beside this test, since both belong to the same package.
    let folder = std::env::current_exe().expect("tests have a path");
    let example = folder.ancestors().nth(2).expect("deps, profile").join("examples/contract");
    for size in ["1", "2", "3", "4"] {
        let run = std::process::Command::new("mpirun")
            .args(["--allow-run-as-root", "--oversubscribe", "-n", size])
            .arg(&example)
            .output()
            .expect("mpirun is installed");
        let told = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{size} ranks\n{told}");
        let said = String::from_utf8_lossy(&run.stdout);
        assert_eq!(said.lines().count().to_string(), size, "{said}");
    }
}
