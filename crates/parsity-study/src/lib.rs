//! The question and the vocabulary: study and model files, cells, trials, search, records.
//!
//! A study file ([`StudyFile`]) and its model file ([`ModelFile`]) make a [`Study`]; a
//! study is a grid of cells ([`Cell`]), and each cell has trials ([`Trial`]), whose points
//! come from a search space ([`Space`]). What a trial leaves behind is a [`Record`].

mod check;
mod checks;
mod source;
mod words;

pub mod builtin;
pub mod error;
pub mod evidence;
pub mod facts;
pub mod file;
pub mod memory;
pub mod model;
pub mod plan;
pub mod record;
pub mod search;
pub mod smoothness;
pub mod sobol;
pub mod start;
pub mod study;
pub mod survivors;
pub mod trial;
pub mod units;
pub mod watching;
pub mod workload;

pub use builtin::BuiltIn;
pub use checks::{CheckEvery, CheckKeys, CheckRange};
pub use error::{Place, Problem, StudyError, nearest};
pub use evidence::{Evidence, StudyRecords};
pub use facts::StudyFacts;
pub use file::{StudyFile, schema};
pub use memory::{Memory, TrialBytes};
pub use model::{Kind, Layer, ModelFile, Padding};
pub use plan::{CellWork, Plan, Work};
pub use record::{Cell, Observation, Outcome, Protocol, Record};
pub use search::{Range, Scale, Space};
pub use smoothness::{GradientNorms, SmoothnessPoint, SmoothnessRun};
pub use start::Start;
pub use study::{Difference, Study};
pub use survivors::{LayerSurvivors, SurvivorCount, Survivors};
pub use trial::{Metaparameters, Trial, TrialId};
pub use units::{BatchSize, ErrorRate, Sparsity, Steps};
pub use watching::Watching;
pub use workload::{Optimizer, Pruning, PruningMethod, Schedule, Workload};
