//! The telling: figures and tables of a study's answer.
//!
//! A figure is a plain value ([`figure`]); it is laid out once into a [`scene`] of shapes and
//! texts, which [`svg`] and [`png`] merely write down, so both always show the same.

pub mod axes;
pub mod data;
pub mod exhibits;
pub mod export;
pub mod facts;
pub mod figure;
pub mod files;
pub mod forecast;
pub mod html;
pub mod numerals;
pub mod optima;
pub mod optimizers;
pub mod page;
pub mod palette;
pub mod png;
pub mod ratio;
pub mod scaling;
pub mod scene;
pub mod search;
pub mod smoothness;
pub mod survivors;
pub mod svg;
pub mod table;
pub mod tables;
pub mod telling;
pub mod work;

mod layout;
mod typeface;

pub use exhibits::{Exhibit, exhibits};
pub use export::Format;
pub use export::table::Table;
pub use figure::Figure;
pub use files::{ReportError, tables_of, write_figure, write_report};
pub use forecast::draw_forecast;
pub use page::{page, parts};
pub use scaling::draw_scaling;
pub use table::{ruled_table, steps_csv, steps_list, steps_matrix};
pub use telling::{opening, tell};
