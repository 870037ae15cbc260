//! Colours and marks: the same sparsity looks the same in every figure.
//!
//! The usual sparsities have colours of Okabe and Ito, which people with any kind of colour
//! vision can tell apart; beyond them it gets darker. Any other sparsity lies between the
//! colours of its neighbours, measured in halvings of the density.

use crate::figure::Shape;
use parsity_study::{Outcome, Sparsity};
use serde::{Serialize, Serializer};
use std::fmt;

/// A colour: red, green, blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour(pub u8, pub u8, pub u8);

/// What is written large.
pub const INK: Colour = Colour(0x1c, 0x21, 0x28);
/// What is written small.
pub const SOFT_INK: Colour = Colour(0x57, 0x60, 0x6a);
/// The perfect-scaling line and marks that belong to no sparsity.
pub const GREY: Colour = Colour(0x6e, 0x77, 0x81);
/// The line on which a panel stands.
pub const BASELINE: Colour = Colour(0x8c, 0x95, 0x9f);
/// Grid lines.
pub const GRID: Colour = Colour(0xe7, 0xea, 0xee);
/// The band of values beyond the range.
pub const BAND: Colour = Colour(0xf4, 0xf6, 0xf8);
/// Paper.
pub const PAPER: Colour = Colour(0xff, 0xff, 0xff);

/// Shares removed, in rising order, and their colours.
const ANCHORS: [(f64, Colour); 7] = [
    (0.0, Colour(0x00, 0x72, 0xb2)),
    (0.5, Colour(0x00, 0x9e, 0x73)),
    (0.7, Colour(0xe6, 0x9f, 0x00)),
    (0.9, Colour(0xd5, 0x5e, 0x00)),
    (0.95, Colour(0xcc, 0x79, 0xa7)),
    (0.99, Colour(0x6a, 0x3d, 0x8a)),
    (0.999, Colour(0x00, 0x00, 0x00)),
];

/// The colour of a sparsity, whatever the others of the study are.
pub fn sparsity_colour(sparsity: Sparsity) -> Colour {
    let halvings = |share: f64| -(1.0 - share).log2();
    let at = halvings(sparsity.share());
    let pairs = ANCHORS.windows(2).map(|pair| (pair[0], pair[1]));
    for ((low, from), (high, to)) in pairs {
        let (low, high) = (halvings(low), halvings(high));
        if at <= high {
            return mix(from, to, (at - low) / (high - low));
        }
    }
    ANCHORS[ANCHORS.len() - 1].1
}

/// The colour of an outcome: blue, grey and red as in the published study.
pub fn outcome_colour(outcome: Outcome) -> Colour {
    match outcome {
        Outcome::Complete => Colour(0x1f, 0x6f, 0xd1),
        Outcome::Incomplete => Colour(0x7d, 0x86, 0x90),
        Outcome::Infeasible => Colour(0xd6, 0x33, 0x3f),
        Outcome::Outpaced => Colour(0xa4, 0xb4, 0xc6),
        Outcome::Collapsed => Colour(0x7d, 0x86, 0x90),
        Outcome::Failed => Colour(0x8a, 0x4b, 0x08),
    }
}

/// A colour in a light shade at 0, as it is in the middle, and in a dark one at 1.
pub fn shade(colour: Colour, at: f64) -> Colour {
    if at < 0.5 {
        mix(colour, PAPER, (0.5 - at) * 0.8)
    } else {
        mix(colour, Colour(0, 0, 0), (at - 0.5) * 1.0)
    }
}

/// The mark of the sparsity of that rank (0 is the lowest of the study), so that curves
/// differ without colour too.
pub fn rank_shape(rank: usize) -> Shape {
    const SHAPES: [Shape; 6] = [
        Shape::Circle,
        Shape::Square,
        Shape::Diamond,
        Shape::Triangle,
        Shape::Pentagon,
        Shape::DownTriangle,
    ];
    SHAPES[rank % SHAPES.len()]
}

/// The paper of figures on a dark page.
const DARK_PAPER: Colour = Colour(0x15, 0x1a, 0x21);

/// What stands for a colour of a figure on a dark page: paper becomes dark and ink light,
/// and whatever else is too dark to be seen is lightened until it can be.
pub fn on_dark(colour: Colour) -> Colour {
    match colour {
        PAPER => DARK_PAPER,
        BAND => Colour(0x1e, 0x25, 0x2e),
        GRID => Colour(0x2a, 0x32, 0x3c),
        BASELINE => Colour(0x6e, 0x77, 0x81),
        GREY => Colour(0x94, 0x9d, 0xa7),
        SOFT_INK => Colour(0xa3, 0xae, 0xba),
        INK => Colour(0xe8, 0xec, 0xf1),
        other => {
            let lightened =
                (0..20).map(|twentieths| mix(other, PAPER, f64::from(twentieths) / 20.0));
            lightened.into_iter().find(|it| contrast(*it, DARK_PAPER) >= 4.5).unwrap_or(PAPER)
        }
    }
}

/// How well two colours can be told apart, from 1 to 21: the contrast ratio of WCAG.
fn contrast(a: Colour, b: Colour) -> f64 {
    let luminance = |Colour(red, green, blue): Colour| {
        let channel = |value: u8| {
            let share = f64::from(value) / 255.0;
            if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(red) + 0.7152 * channel(green) + 0.0722 * channel(blue)
    };
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

fn mix(from: Colour, to: Colour, share: f64) -> Colour {
    let channel = |from: u8, to: u8| {
        (f64::from(from) + (f64::from(to) - f64::from(from)) * share).round() as u8
    };
    Colour(channel(from.0, to.0), channel(from.1, to.1), channel(from.2, to.2))
}

impl Colour {
    /// The colour that is written like `#0072b2`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6)?;
        let number = u32::from_str_radix(digits, 16).ok()?;
        let [_, red, green, blue] = number.to_be_bytes();
        Some(Colour(red, green, blue))
    }
}

/// As SVG writes it: `#0072b2`.
impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

impl Serialize for Colour {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn colour(share: f64) -> Colour {
        sparsity_colour(Sparsity::new(share).unwrap())
    }

    #[test]
    fn the_usual_sparsities_have_the_colours_of_okabe_and_ito() {
        let colours = [0.0, 0.5, 0.7, 0.9, 0.95].map(|share| colour(share).to_string());
        assert_eq!(colours, ["#0072b2", "#009e73", "#e69f00", "#d55e00", "#cc79a7"]);
    }

    #[test]
    fn any_two_sparsities_that_a_study_may_compare_have_different_colours() {
        let shares = [0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.9999];
        let distance = |a: Colour, b: Colour| {
            let square = |a: u8, b: u8| f64::from(a.abs_diff(b)).powi(2);
            (square(a.0, b.0) + square(a.1, b.1) + square(a.2, b.2)).sqrt()
        };
        for (index, &a) in shares.iter().enumerate() {
            for &b in &shares[..index] {
                assert!(distance(colour(a), colour(b)) > 20.0, "{a} and {b} look alike");
            }
        }
    }

    #[test]
    fn on_a_dark_page_every_colour_can_be_seen_and_sparsities_stay_apart() {
        let shares = [0.0, 0.5, 0.7, 0.9, 0.95, 0.99, 0.9999];
        let colours = shares.map(|share| on_dark(colour(share)));
        for (index, it) in colours.iter().enumerate() {
            assert!(contrast(*it, DARK_PAPER) >= 4.5, "{it}");
            assert!(!colours[..index].contains(it), "{it}");
        }
        for it in [INK, SOFT_INK, GREY] {
            assert!(contrast(on_dark(it), DARK_PAPER) >= 4.5, "{it}");
        }
    }

    #[test]
    fn the_most_extreme_sparsity_still_has_a_colour() {
        assert_eq!(colour(0.999_999), Colour(0, 0, 0));
    }
}
