//! Compiles the shim with MPI's own compiler wrapper, and links what that would link.

fn main() {
    println!("cargo::rerun-if-changed=src/shim.c");
    println!("cargo::rerun-if-env-changed=MPICC");
    #[cfg(feature = "mpi")]
    mpi();
}

#[cfg(feature = "mpi")]
fn mpi() {
    let mpicc = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
    // Both Open MPI and MPICH tell so what they would run.
    let shown = std::process::Command::new(&mpicc).arg("-show").output();
    let Some(line) = shown.ok().filter(|it| it.status.success()).map(|it| it.stdout) else {
        println!(
            "cargo::error=the feature `mpi` needs an MPI library, but `{mpicc}` does not run; \
             install one (Debian, Ubuntu: apt-get install libopenmpi-dev openmpi-bin; Fedora: dnf \
             install openmpi-devel), or name the wrapper of yours in MPICC"
        );
        return;
    };
    cc::Build::new().compiler(&mpicc).file("src/shim.c").compile("parsity_mpi_shim");
    for word in String::from_utf8_lossy(&line).split_whitespace() {
        if let Some(folder) = word.strip_prefix("-L") {
            println!("cargo::rustc-link-search=native={folder}");
        } else if let Some(library) = word.strip_prefix("-l") {
            println!("cargo::rustc-link-lib={library}");
        }
    }
}
