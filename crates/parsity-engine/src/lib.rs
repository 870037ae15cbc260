//! The instrument: networks, sparse patterns, kernels, pruning, optimizers, sessions.
//!
//! Pure computation. Knows no goals, studies, files, clocks, environment or MPI.
//!
//! ```text
//! layers ─→ Network ─┐
//!                    ├─→ Program ─→ Session ── step ──→ loss
//! saliencies ─→ Pattern ┘             │   by a Team of threads,
//!                        Material, Batches   each with a Workspace
//! ```

mod batches;
pub mod comm;
mod conv;
mod examples;
mod grains;
mod initialization;
mod kernels;
mod layout;
mod lowering;
mod network;
mod numbers;
mod optimizer;
mod pattern;
pub mod peak;
mod profile;
mod program;
mod pruning;
pub mod random;
mod reads;
mod seats;
mod session;
mod shape;
mod slabs;
mod smoothness;
mod survey;
mod survivor;
mod team;
mod thresholds;
mod walls;
mod workspace;

pub use batches::{Batches, Order};
pub use comm::Comm;
pub use examples::{Examples, ExamplesError, Material, Normalization};
pub use grains::Reduction;
pub use initialization::initialize;
pub use kernels::LANES;
pub use kernels::instruction_set::InstructionSet;
pub use network::{Layer, Network, NetworkError, Padding, Role, Tensor};
pub use optimizer::{Optimizer, Schedule};
pub use pattern::Pattern;
pub use profile::{KernelTime, profile};
pub use program::{Program, trial_bytes};
pub use pruning::{Method, Pruning, saliencies};
pub use session::Session;
pub use shape::Shape;
pub use smoothness::{Norms, Smoothness, local_lipschitz};
pub use survey::Survey;
pub use team::{Look, Team};
pub use workspace::{Pass, block_bytes};
