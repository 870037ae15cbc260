//! Figures as SVG text: small, readable, without anything external.

use crate::figure::Figure;
use crate::layout::lay_out;
use crate::scene::{Anchor, Form, Item, Outline, Place, Scene, Text, Weight};
use std::fmt::{self, Write};

/// The typeface of the PNG first, then what the reader's machine has.
const FONTS: &str =
    "Inter, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";

/// The figure as an SVG document.
pub fn svg(figure: &Figure) -> String {
    let mut text = String::new();
    write(&lay_out(figure), &mut text).expect("writing into a string does not fail");
    text
}

fn write(scene: &Scene, out: &mut String) -> fmt::Result {
    let (width, height) = (Number(scene.width), Number(scene.height));
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" stroke-linejoin=\"round\" \
         font-family=\"{FONTS}\">"
    )?;
    writeln!(out, "<title>{}</title>", Escaped(&scene.title))?;
    writeln!(out, "<desc>{}</desc>", Escaped(&scene.description))?;
    for item in &scene.items {
        match item {
            Item::Form(form) => write_form(form, out)?,
            Item::Text(text) => write_text(text, out)?,
        }
    }
    writeln!(out, "</svg>")
}

fn write_form(form: &Form, out: &mut String) -> fmt::Result {
    let name = match &form.outline {
        Outline::Circle { centre: (x, y), radius } => {
            let (x, y, radius) = (Number(*x), Number(*y), Number(*radius));
            write!(out, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"")?;
            "circle"
        }
        Outline::Polygon(points) => {
            write!(out, "<path d=\"")?;
            write_points(points, out)?;
            write!(out, "Z\"")?;
            "path"
        }
        Outline::Lines(lines) => {
            write!(out, "<path d=\"")?;
            lines.iter().try_for_each(|points| write_points(points, out))?;
            write!(out, "\"")?;
            "path"
        }
    };
    match form.fill {
        Some(colour) => write!(out, " fill=\"{colour}\"")?,
        None => write!(out, " fill=\"none\"")?,
    }
    if let Some(pen) = form.pen {
        write!(out, " stroke=\"{}\" stroke-width=\"{}\"", pen.colour, Number(pen.width))?;
        if let Some((dash, gap)) = pen.dash {
            write!(out, " stroke-dasharray=\"{} {}\"", Number(dash), Number(gap))?;
        }
    }
    match &form.note {
        Some(note) => writeln!(out, "><title>{}</title></{name}>", Escaped(note)),
        None => writeln!(out, "/>"),
    }
}

fn write_points(points: &[Place], out: &mut String) -> fmt::Result {
    for (index, &(x, y)) in points.iter().enumerate() {
        let command = if index == 0 { 'M' } else { 'L' };
        write!(out, "{command}{} {}", Number(x), Number(y))?;
    }
    Ok(())
}

fn write_text(text: &Text, out: &mut String) -> fmt::Result {
    let (x, y) = (Number(text.at.0), Number(text.at.1));
    write!(out, "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\"", Number(text.size))?;
    match text.anchor {
        Anchor::Start => {}
        Anchor::Middle => write!(out, " text-anchor=\"middle\"")?,
        Anchor::End => write!(out, " text-anchor=\"end\"")?,
    }
    if text.weight == Weight::SemiBold {
        write!(out, " font-weight=\"600\"")?;
    }
    writeln!(out, " fill=\"{}\">{}</text>", text.colour, Escaped(&text.text))
}

/// A coordinate to a hundredth of a pixel, as short as it can be written.
struct Number(f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Adding zero turns a rounded −0 into 0.
        ((self.0 * 100.0).round() / 100.0 + 0.0).fmt(f)
    }
}

/// Text in which nothing can be taken for markup, between tags and in attributes, in SVG and
/// in HTML. Control characters, which XML cannot hold, become spaces.
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|letter| match letter {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            '\'' => f.write_str("&#39;"),
            letter if letter.is_control() => f.write_char(' '),
            letter => f.write_char(letter),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_break_out_of_the_markup() {
        let text = Escaped("a<b> & \u{1}c\" 'd").to_string();
        assert_eq!(text, "a&lt;b&gt; &amp;  c&quot; &#39;d");
    }

    #[test]
    fn coordinates_are_as_short_as_they_can_be() {
        let texts = [1.0, 0.5, 2.345_67, -0.001].map(|value| Number(value).to_string());
        assert_eq!(texts, ["1", "0.5", "2.35", "0"]);
    }
}
