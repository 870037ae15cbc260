//! The material: finds, fetches, verifies, parses and generates data sets.
//!
//! - [`Dataset`]: training and test examples, by name or from a path.
//! - [`catalog`]: the data sets known by name.
//! - [`Cache`]: where fetched ones are kept, with [`status`], [`verify`] and [`where_is`].
//! - [`fetch()`]: gets a data set onto this machine, from wherever it can be had.
//! - [`glyphs`]: the data set that is always there.

mod cache;
pub mod catalog;
mod cifar;
mod dataset;
mod error;
mod fetch;
mod files;
pub mod glyphs;
mod idx;
mod npy;
mod npz;
mod pickle;

pub use cache::{Cache, Place, Status, VARIABLE, status, verify, where_is};
pub use dataset::{Dataset, Split};
pub use error::{Attempt, DataError};
pub use fetch::{Fetched, Progress, Source, fetch};
