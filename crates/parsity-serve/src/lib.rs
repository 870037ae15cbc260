//! The window: a local page that shows a study while it runs.
//!
//! ```text
//! store ─ Reader (one thread, read-only) ─→ views ─→ routes ─→ guards ─→ browser
//!                         └── state, when it changes ─→ event streams
//! ```
//!
//! A [`Window`] reads and never writes. It has threads of its own, which give way to those that
//! train, and bounded room: whoever asks too much, or listens too slowly, is served less.

mod assets;
mod cache;
mod error;
mod events;
mod guard;
mod machine;
mod reader;
mod routes;
mod server;
mod token;
mod views;

pub use error::ServeError;
pub use server::{Options, Window};
