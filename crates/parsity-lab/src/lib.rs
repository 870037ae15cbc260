//! The bench: lowers trials to sessions, runs them, races them, keeps their records.
//!
//! ```text
//! name or path ─ find_study ─→ Study ─┐
//!                                     ├─ run ─→ Record* ─→ Store
//!            data set, network ─→ Bench┘  (lockstep race per cell)
//! ```

mod bench;
mod checkpoint;
mod error;
mod evidence;
mod floor;
mod goal_check;
mod hands;
mod heartbeat;
mod lower;
mod memory;
mod pace;
mod race;
mod ranks;
mod run;
mod runner;
mod smoothness;
mod speed;
mod starts;
mod store;
mod studies;
mod survivors;
mod weights;

pub use bench::{Bench, Validation, load_dataset};
pub use checkpoint::{resume_training, save_training};
pub use error::LabError;
pub use evidence::gather;
pub use heartbeat::{Heartbeat, RunningTrial, seconds_since_1970};
pub use lower::{lower_model, lower_optimizer, lower_pruning, lower_schedule};
pub use memory::memory_of;
pub use pace::{Pace, measure_pace, measure_steps};
pub use ranks::{Group, Ranks, run_over, serve};
pub use run::{Event, Measures, Options, Progress, Summary, run};
pub use smoothness::{smoothness_steps, watch_smoothness, watched_smoothness};
pub use speed::{Case, KernelSpeed, Specimen, Speed, Work, measure_peak, useful_flops_per_image};
pub use store::{Edition, Ended, Lock, Store, StoreError, StoredStudy};
pub use studies::{Question, find_model, find_study};
pub use survivors::count_survivors;
pub use weights::{load_weights, save_weights};
