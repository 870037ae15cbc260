//! Figures as PNG bytes, in the embedded typeface.

use crate::figure::Figure;
use crate::layout::lay_out;
use crate::palette::Colour;
use crate::scene::{Anchor, Form, Item, Outline, Pen, Place, Scene, Text};
use crate::typeface::{Segment, Typeface};
use tiny_skia::{
    Color, FillRule, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform,
};

/// Pixels of the image per pixel of the layout: sharp on fine screens and in print.
const SCALE: f32 = 2.0;

/// The figure as a PNG image.
pub fn png(figure: &Figure) -> Vec<u8> {
    let scene = lay_out(figure);
    paint(&scene).encode_png().expect("an image in memory can be encoded")
}

fn paint(scene: &Scene) -> Pixmap {
    let pixels = |length: f64| (length as f32 * SCALE).round() as u32;
    let mut image =
        Pixmap::new(pixels(scene.width), pixels(scene.height)).expect("a scene has a size");
    for item in &scene.items {
        match item {
            Item::Form(form) => paint_form(form, &mut image),
            Item::Text(text) => paint_text(text, &mut image),
        }
    }
    image
}

fn paint_form(form: &Form, image: &mut Pixmap) {
    let Some(path) = path(&form.outline) else { return };
    if let Some(colour) = form.fill {
        fill(&path, colour, image);
    }
    if let Some(Pen { colour, width, dash }) = form.pen {
        let stroke = Stroke {
            width: width as f32,
            line_join: LineJoin::Round,
            dash: dash.and_then(|(on, off)| StrokeDash::new(vec![on as f32, off as f32], 0.0)),
            ..Stroke::default()
        };
        image.stroke_path(&path, &paint_of(colour), &stroke, scale(), None);
    }
}

fn paint_text(text: &Text, image: &mut Pixmap) {
    let typeface = Typeface::of(text.weight);
    let width = typeface.width(&text.text, text.size);
    let start = match text.anchor {
        Anchor::Start => text.at.0,
        Anchor::Middle => text.at.0 - width / 2.0,
        Anchor::End => text.at.0 - width,
    };
    let mut letters = PathBuilder::new();
    let narrow = |(x, y): Place| (x as f32, y as f32);
    for segment in typeface.outline(&text.text, text.size, (start, text.at.1)) {
        match segment {
            Segment::Move(to) => letters.move_to(narrow(to).0, narrow(to).1),
            Segment::Line(to) => letters.line_to(narrow(to).0, narrow(to).1),
            Segment::Curve(a, b, to) => {
                let ((ax, ay), (bx, by), (x, y)) = (narrow(a), narrow(b), narrow(to));
                letters.cubic_to(ax, ay, bx, by, x, y);
            }
            Segment::Close => letters.close(),
        }
    }
    if let Some(path) = letters.finish() {
        fill(&path, text.colour, image);
    }
}

fn fill(path: &Path, colour: Colour, image: &mut Pixmap) {
    image.fill_path(path, &paint_of(colour), FillRule::Winding, scale(), None);
}

/// The path of an outline; an outline without extent has none.
fn path(outline: &Outline) -> Option<Path> {
    let mut builder = PathBuilder::new();
    let mut draw = |points: &[(f64, f64)]| {
        for (index, &(x, y)) in points.iter().enumerate() {
            match index {
                0 => builder.move_to(x as f32, y as f32),
                _ => builder.line_to(x as f32, y as f32),
            }
        }
    };
    match outline {
        Outline::Lines(lines) => lines.iter().for_each(|points| draw(points)),
        Outline::Polygon(points) => {
            draw(points);
            builder.close();
        }
        Outline::Circle { centre, radius } => {
            builder.push_circle(centre.0 as f32, centre.1 as f32, *radius as f32);
        }
    }
    builder.finish()
}

fn scale() -> Transform {
    Transform::from_scale(SCALE, SCALE)
}

fn paint_of(Colour(red, green, blue): Colour) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color(Color::from_rgba8(red, green, blue, 255));
    paint
}
