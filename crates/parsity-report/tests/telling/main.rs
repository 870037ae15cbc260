//! What the figures, tables and files of a report tell about made-up studies.

mod files;
mod scaling;
mod specimen;
mod table;
mod trials;
