//! Puts MPI to the test that every wire has to pass: `mpirun -n 4 contract`.

#![allow(missing_docs, clippy::print_stdout)] // It is there to print.

#[path = "../tests/suite/mod.rs"]
mod suite;

use parsity_engine::Comm;

fn main() {
    let mut world = parsity_mpi::World::start().expect("it is started once");
    suite::examine(&mut world);
    println!("rank {} of {} keeps the contract", world.rank(), world.size());
}
