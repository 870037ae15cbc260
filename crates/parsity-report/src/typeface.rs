//! The embedded typeface: how wide a text is, and the outlines of its letters.
//!
//! Embedded, so that a figure is the same on a machine without any fonts. `fonts/README.md`
//! tells where the letters come from and how they are written.

use crate::scene::{Place, Weight};
use std::collections::HashMap;
use std::sync::LazyLock;

static REGULAR: LazyLock<Typeface> =
    LazyLock::new(|| Typeface::parse(include_str!("../fonts/Inter-Regular.txt")));
static SEMI_BOLD: LazyLock<Typeface> =
    LazyLock::new(|| Typeface::parse(include_str!("../fonts/Inter-SemiBold.txt")));

/// What stands for a letter that the typeface does not have.
const UNKNOWN: char = '?';

/// One weight of the typeface.
pub(crate) struct Typeface {
    units_per_em: f64,
    letters: HashMap<char, Letter>,
}

/// A letter, in font units.
struct Letter {
    width: f64,
    /// An absolute SVG path of `M`, `L`, `C` and `Z`, upwards being positive.
    outline: &'static str,
}

/// A stroke of an outline, in pixels, downwards being positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Segment {
    /// A contour starts.
    Move(Place),
    /// A straight line.
    Line(Place),
    /// A cubic curve: two control points and its end.
    Curve(Place, Place, Place),
    /// The contour ends where it started.
    Close,
}

impl Typeface {
    /// The typeface in that weight.
    pub(crate) fn of(weight: Weight) -> &'static Self {
        match weight {
            Weight::Regular => &REGULAR,
            Weight::SemiBold => &SEMI_BOLD,
        }
    }

    /// How wide `text` is in letters of `size`.
    pub(crate) fn width(&self, text: &str, size: f64) -> f64 {
        let widths = text.chars().map(|letter| self.letter(letter).width);
        widths.sum::<f64>() * size / self.units_per_em
    }

    /// The outlines of `text` with its baseline starting at `at`.
    pub(crate) fn outline(&self, text: &str, size: f64, at: Place) -> Vec<Segment> {
        let scale = size / self.units_per_em;
        let mut segments = Vec::new();
        let mut start = at.0;
        for letter in text.chars().map(|letter| self.letter(letter)) {
            let place = |x: f64, y: f64| (start + x * scale, at.1 - y * scale);
            segments.extend(commands(letter.outline).map(|(command, numbers)| {
                match (command, numbers.as_slice()) {
                    ('M', &[x, y]) => Segment::Move(place(x, y)),
                    ('L', &[x, y]) => Segment::Line(place(x, y)),
                    ('C', &[ax, ay, bx, by, x, y]) => {
                        Segment::Curve(place(ax, ay), place(bx, by), place(x, y))
                    }
                    ('Z', []) => Segment::Close,
                    _ => unreachable!("the embedded outlines have no other commands"),
                }
            }));
            start += letter.width * scale;
        }
        segments
    }

    fn letter(&self, letter: char) -> &Letter {
        let known = |letter| self.letters.get(&letter);
        known(letter).or_else(|| known(UNKNOWN)).expect("the typeface has a question mark")
    }

    fn parse(text: &'static str) -> Self {
        let mut lines = text.lines();
        let units_per_em = lines.next().map(number).expect("the first line is the em");
        let letters = lines.map(|line| {
            let mut fields = line.splitn(3, ' ');
            let code = fields.next().and_then(|code| u32::from_str_radix(code, 16).ok());
            let letter = code.and_then(char::from_u32).expect("a line starts with a code point");
            let width = fields.next().map(number).expect("then comes the width");
            (letter, Letter { width, outline: fields.next().unwrap_or_default() })
        });
        Typeface { units_per_em, letters: letters.collect() }
    }
}

/// The commands of a path and their numbers.
fn commands(path: &'static str) -> impl Iterator<Item = (char, Vec<f64>)> {
    let starts = path.char_indices().filter(|(_, sign)| sign.is_ascii_uppercase());
    starts.map(|(start, command)| {
        let rest = &path[start + 1..];
        let end = rest.find(|sign: char| sign.is_ascii_uppercase()).unwrap_or(rest.len());
        (command, rest[..end].split_whitespace().map(number).collect())
    })
}

fn number(text: &str) -> f64 {
    text.parse().expect("the embedded typeface is written in numbers")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_of_the_typeface_can_be_drawn() {
        for typeface in [Typeface::of(Weight::Regular), Typeface::of(Weight::SemiBold)] {
            assert!(typeface.letters.len() > 400);
            for letter in typeface.letters.keys() {
                let segments = typeface.outline(&letter.to_string(), 12.0, (0.0, 0.0));
                assert_eq!(segments.is_empty(), letter.is_whitespace());
                let opened = segments.iter().filter(|s| matches!(s, Segment::Move(_))).count();
                let closed = segments.iter().filter(|s| matches!(s, Segment::Close)).count();
                assert_eq!(opened, closed, "{letter}");
            }
        }
    }

    #[test]
    fn every_sign_that_figures_use_is_in_the_typeface() {
        for typeface in [Typeface::of(Weight::Regular), Typeface::of(Weight::SemiBold)] {
            for sign in "abcXYZ0123456789,.%·>≤–…↑→()äéλ".chars() {
                assert!(typeface.letters.contains_key(&sign), "{sign} is missing");
            }
        }
    }

    #[test]
    fn width_is_proportional_to_size_and_adds_up() {
        let width = |text, size| Typeface::of(Weight::Regular).width(text, size);
        assert!((width("16,384", 12.0) - width("16", 12.0) - width(",384", 12.0)).abs() < 1e-9);
        assert!((width("abc", 24.0) - 2.0 * width("abc", 12.0)).abs() < 1e-9);
        assert_eq!(width("", 12.0), 0.0);
    }

    #[test]
    fn a_letter_outside_the_typeface_becomes_a_question_mark() {
        let outline = |text| Typeface::of(Weight::Regular).outline(text, 12.0, (0.0, 0.0));
        assert_eq!(outline("漢"), outline("?"));
    }

    #[test]
    fn outlines_stand_on_the_baseline_and_reach_upwards() {
        let segments = Typeface::of(Weight::Regular).outline("H", 28.16, (100.0, 50.0));
        let Segment::Move((x, y)) = segments[0] else { panic!("an outline starts with a move") };
        assert!(x > 100.0 && x < 100.0 + 28.16 && y <= 50.0 && y > 50.0 - 28.16, "{x} {y}");
    }
}
