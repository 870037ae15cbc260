//! A figure laid out: shapes and texts in pixels, from the back to the front.
//!
//! The meeting point of the layout, which decides where things are, and the writers, which
//! know their file format and nothing else.

use crate::palette::Colour;

/// A point in pixels, from the top left.
pub type Place = (f64, f64);

/// A picture of shapes and texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// Pixels across.
    pub width: f64,
    /// Pixels down.
    pub height: f64,
    /// What it shows, in a line.
    pub title: String,
    /// What it shows, in words.
    pub description: String,
    /// From the back to the front.
    pub items: Vec<Item>,
}

/// A thing in a scene.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// A line, a polygon or a circle.
    Form(Form),
    /// A line of text.
    Text(Text),
}

/// A line, a polygon or a circle.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// Its points.
    pub outline: Outline,
    /// What it is filled with.
    pub fill: Option<Colour>,
    /// What its outline is drawn with.
    pub pen: Option<Pen>,
    /// What it stands for, in words.
    pub note: Option<String>,
}

/// The points of a form.
#[derive(Debug, Clone, PartialEq)]
pub enum Outline {
    /// Lines from point to point, drawn as one form.
    Lines(Vec<Vec<Place>>),
    /// A closed line.
    Polygon(Vec<Place>),
    /// A circle.
    Circle {
        /// Its middle.
        centre: Place,
        /// Its radius.
        radius: f64,
    },
}

/// What an outline is drawn with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pen {
    /// Its colour.
    pub colour: Colour,
    /// Its width in pixels.
    pub width: f64,
    /// Lengths of dashes and gaps; none for an unbroken line.
    pub dash: Option<(f64, f64)>,
}

/// A line of text.
#[derive(Debug, Clone, PartialEq)]
pub struct Text {
    /// Where its baseline is anchored.
    pub at: Place,
    /// Which part of the text lies there.
    pub anchor: Anchor,
    /// The size of the letters.
    pub size: f64,
    /// Their weight.
    pub weight: Weight,
    /// Their colour.
    pub colour: Colour,
    /// What it says.
    pub text: String,
}

/// Which part of a text lies at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Its start.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

/// The weight of letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// For reading.
    Regular,
    /// For titles.
    SemiBold,
}
