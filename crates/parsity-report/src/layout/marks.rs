//! The shapes of marks.

use super::Sheet;
use crate::figure::Shape;
use crate::palette::{Colour, INK, PAPER};
use crate::scene::{Form, Item, Outline, Pen, Place};

impl Sheet {
    /// A mark: filled with a thin light edge that keeps it apart from lines, or open. A
    /// star has a dark edge, because it is to be found among many marks.
    pub(super) fn mark(
        &mut self,
        at: Place,
        (shape, open): (Shape, bool),
        size: f64,
        colour: Colour,
        note: Option<String>,
    ) {
        let pen = |colour, width| Some(Pen { colour, width, dash: None });
        let (fill, pen) = match (shape, open) {
            _ if shape.is_lines() => (None, pen(colour, 1.7 * size)),
            (Shape::Star, _) => (Some(colour), pen(INK, 0.8)),
            (_, true) => (Some(PAPER), pen(colour, 1.7 * size)),
            (_, false) => (Some(colour), pen(PAPER, size)),
        };
        let outline = outline(shape, at, size);
        self.items.push(Item::Form(Form { outline, fill, pen, note }));
    }
}

/// The outline of a mark. The sizes make all shapes look equally large.
fn outline(shape: Shape, (x, y): Place, size: f64) -> Outline {
    let polygon = |corners: u32, radius: f64, turn: f64, lower: f64| {
        let corner = |index| {
            let angle = (f64::from(index) / f64::from(corners) + turn) * std::f64::consts::TAU;
            (x + size * radius * angle.sin(), y + size * (lower - radius * angle.cos()))
        };
        Outline::Polygon((0..corners).map(corner).collect())
    };
    let lines = |lines: &[&[Place]]| {
        let place = |&(across, down): &Place| (x + size * across, y + size * down);
        Outline::Lines(lines.iter().map(|line| line.iter().map(place).collect()).collect())
    };
    match shape {
        Shape::Circle => Outline::Circle { centre: (x, y), radius: 4.6 * size },
        Shape::Dot => Outline::Circle { centre: (x, y), radius: 2.6 * size },
        Shape::Square => polygon(4, 5.9, 0.125, 0.0),
        Shape::Diamond => polygon(4, 6.0, 0.0, 0.0),
        Shape::Triangle => polygon(3, 6.2, 0.0, 1.0),
        Shape::DownTriangle => polygon(3, 6.2, 0.5, -1.0),
        Shape::Pentagon => polygon(5, 5.5, 0.0, 0.3),
        Shape::Star => {
            let corner = |index: u32| {
                let radius = size * if index.is_multiple_of(2) { 9.0 } else { 3.8 };
                let angle = f64::from(index) * std::f64::consts::TAU / 10.0;
                (x + radius * angle.sin(), y - radius * angle.cos())
            };
            Outline::Polygon((0..10).map(corner).collect())
        }
        Shape::Cross => lines(&[&[(-3.8, -3.8), (3.8, 3.8)], &[(-3.8, 3.8), (3.8, -3.8)]]),
        Shape::Arrow => {
            lines(&[&[(0.0, 5.5), (0.0, -5.0)], &[(-3.5, -1.5), (0.0, -5.0), (3.5, -1.5)]])
        }
    }
}
