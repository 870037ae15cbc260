//! What the figures, tables and files of a report tell about made-up studies.

mod export;
mod figures;
mod files;
mod forecast;
mod page;
mod scaling;
mod specimen;
mod table;
mod trials;
