//! Where things go: a figure becomes a scene.
//!
//! All distances, sizes and line widths of the figures' look are here and in the modules
//! below, and nowhere else: [`grid`] divides the page among the panels, [`panel`] draws one,
//! [`legend`] says what the marks mean, [`marks`] shapes them.

mod grid;
mod legend;
mod marks;
mod panel;

use crate::figure::{Figure, Stroke};
use crate::palette::{Colour, INK, PAPER, SOFT_INK};
use crate::scene::{Anchor, Form, Item, Outline, Pen, Place, Scene, Text, Weight};
use crate::typeface::Typeface;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 540.0;
const MARGIN: f64 = 28.0;
const TITLE_SIZE: f64 = 19.0;
const TEXT_SIZE: f64 = 12.5;
const TICK_SIZE: f64 = 12.0;
const LINE_HEIGHT: f64 = 18.0;
/// The height of a digit per size, to centre texts on a height.
const DIGIT: f64 = 0.727;
const LINE_WIDTH: f64 = 2.0;

/// The rectangle between the axes.
#[derive(Debug, Clone, Copy)]
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// The scene in the making.
struct Sheet {
    items: Vec<Item>,
}

/// Lays out `figure`.
pub(crate) fn lay_out(figure: &Figure) -> Scene {
    let mut sheet = Sheet { items: Vec::new() };
    sheet.fill(&[], PAPER);
    let (width, height) = match &figure.panels[..] {
        [panel] if grid::leaves_room(figure) => {
            let header = sheet.draw_header(figure, WIDTH);
            let frame = grid::alone(figure, panel, header);
            sheet.draw_panel(panel, frame, &grid::ALL_LABELS, 1.0);
            sheet.draw_legend_aside(&figure.legend, frame);
            (WIDTH, HEIGHT + panel::spans_height(panel))
        }
        panels => {
            let width = grid::width(figure);
            let header = sheet.draw_header(figure, width);
            let below = sheet.draw_legend_under(&figure.legend, header, width);
            let (places, height) = grid::divide(figure, below, width);
            for (panel, place) in panels.iter().zip(&places) {
                sheet.draw_panel(panel, place.frame, &place.labels, place.mark_size);
            }
            (width, height)
        }
    };
    let page = vec![(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)];
    if let Some(Item::Form(form)) = sheet.items.first_mut() {
        form.outline = Outline::Polygon(page);
    }
    Scene {
        width,
        height,
        title: figure.title.clone(),
        description: figure.description.clone(),
        items: sheet.items,
    }
}

impl Sheet {
    /// Title and subtitle; returns where they end.
    fn draw_header(&mut self, figure: &Figure, width: f64) -> f64 {
        let mut y = MARGIN + TITLE_SIZE * 0.8;
        self.bold((MARGIN, y), TITLE_SIZE, &figure.title);
        y += 6.0;
        for line in figure.facts.iter().flat_map(|phrases| wrap(phrases, width)) {
            y += LINE_HEIGHT;
            self.text((MARGIN, y), Anchor::Start, TEXT_SIZE, SOFT_INK, &line);
        }
        y
    }

    fn text(&mut self, at: Place, anchor: Anchor, size: f64, colour: Colour, text: &str) {
        let (weight, text) = (Weight::Regular, text.to_owned());
        self.items.push(Item::Text(Text { at, anchor, size, weight, colour, text }));
    }

    fn bold(&mut self, at: Place, size: f64, text: &str) {
        let (anchor, weight, text) = (Anchor::Start, Weight::SemiBold, text.to_owned());
        self.items.push(Item::Text(Text { at, anchor, size, weight, colour: INK, text }));
    }

    fn fill(&mut self, corners: &[Place], colour: Colour) {
        let outline = Outline::Polygon(corners.to_vec());
        self.items.push(Item::Form(Form { outline, fill: Some(colour), pen: None, note: None }));
    }

    fn line(&mut self, points: Vec<Place>, colour: Colour, width: f64) {
        let pen = Some(Pen { colour, width, dash: None });
        let outline = Outline::Lines(vec![points]);
        self.items.push(Item::Form(Form { outline, fill: None, pen, note: None }));
    }

    fn stroke(&mut self, points: Vec<Place>, stroke: Stroke, colour: Colour) {
        let pen = match stroke {
            Stroke::Solid => Pen { colour, width: LINE_WIDTH, dash: None },
            Stroke::Dashed => Pen { colour, width: 1.4, dash: Some((5.0, 4.0)) },
            Stroke::Dotted => Pen { colour, width: 1.3, dash: Some((1.6, 2.4)) },
            Stroke::Thin => Pen { colour, width: 1.0, dash: None },
        };
        let outline = Outline::Lines(vec![points]);
        self.items.push(Item::Form(Form { outline, fill: None, pen: Some(pen), note: None }));
    }
}

/// Phrases set one after the other, in lines that fit the page.
fn wrap(phrases: &[String], width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for phrase in phrases {
        // No-break spaces, because SVG reads several plain ones as one.
        let joined = lines.last().map(|line| format!("{line}\u{a0} ·\u{a0} {phrase}"));
        match joined.filter(|line| regular(line, TEXT_SIZE) <= width - 2.0 * MARGIN) {
            Some(line) => *lines.last_mut().expect("a line was joined") = line,
            None => lines.push(phrase.clone()),
        }
    }
    lines
}

/// How wide a text is in the regular weight.
fn regular(text: &str, size: f64) -> f64 {
    Typeface::of(Weight::Regular).width(text, size)
}
