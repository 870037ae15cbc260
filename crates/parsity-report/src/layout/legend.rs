//! What the marks mean: beside a single panel, or in lines over several.

use super::{DIGIT, Frame, MARGIN, Sheet, TEXT_SIZE, WIDTH, regular};
use crate::figure::{LegendEntry, LegendGroup};
use crate::palette::INK;
use crate::scene::{Anchor, Place, Weight};
use crate::typeface::Typeface;

const SWATCH_WIDTH: f64 = 26.0;
/// Between a swatch and its label.
const SWATCH_GAP: f64 = 9.0;
const LEGEND_LINE: f64 = 21.0;
/// Between entries in a line, and between groups.
const ENTRY_GAP: f64 = 18.0;

impl Sheet {
    /// A column at the right edge of the page.
    pub(super) fn draw_legend_aside(&mut self, groups: &[LegendGroup], frame: Frame) {
        let left = WIDTH - MARGIN - width_aside(groups);
        let mut y = frame.top + 6.0;
        for group in groups {
            if let Some(title) = &group.title {
                self.bold((left, y + TEXT_SIZE * DIGIT / 2.0), TEXT_SIZE, title);
                y += LEGEND_LINE + 2.0;
            }
            for entry in &group.entries {
                self.draw_legend_entry(entry, (left, y));
                y += LEGEND_LINE;
            }
            y += 12.0;
        }
    }

    /// Lines that start at `header`; returns where they end.
    pub(super) fn draw_legend_under(
        &mut self,
        groups: &[LegendGroup],
        header: f64,
        width: f64,
    ) -> f64 {
        let (mut x, mut y) = (MARGIN, header + LEGEND_LINE);
        for (index, group) in groups.iter().enumerate() {
            if index > 0 {
                (x, y) = (MARGIN, y + LEGEND_LINE);
            }
            if let Some(title) = &group.title {
                self.bold((x, y + TEXT_SIZE * DIGIT / 2.0), TEXT_SIZE, title);
                x += bold(title) + ENTRY_GAP;
            }
            for entry in &group.entries {
                let extent = entry_width(entry);
                if x > MARGIN && x + extent > width - MARGIN {
                    (x, y) = (MARGIN, y + LEGEND_LINE);
                }
                self.draw_legend_entry(entry, (x, y));
                x += extent + ENTRY_GAP;
            }
        }
        if groups.is_empty() { header } else { y + 14.0 }
    }

    fn draw_legend_entry(&mut self, entry: &LegendEntry, (left, y): Place) {
        if let Some(stroke) = entry.stroke {
            self.stroke(vec![(left, y), (left + SWATCH_WIDTH, y)], stroke, entry.colour);
        }
        if let Some(mark) = entry.mark {
            self.mark((left + SWATCH_WIDTH / 2.0, y), mark, 1.0, entry.colour, None);
        }
        let at = (left + SWATCH_WIDTH + SWATCH_GAP, y + TEXT_SIZE * DIGIT / 2.0);
        self.text(at, Anchor::Start, TEXT_SIZE, INK, &entry.label);
    }
}

/// The width of the legend as a column.
pub(super) fn width_aside(groups: &[LegendGroup]) -> f64 {
    let titles = groups.iter().filter_map(|group| group.title.as_deref()).map(bold);
    let labels = groups.iter().flat_map(|group| &group.entries).map(entry_width);
    titles.chain(labels).fold(0.0, f64::max).ceil()
}

fn entry_width(entry: &LegendEntry) -> f64 {
    SWATCH_WIDTH + SWATCH_GAP + regular(&entry.label, TEXT_SIZE)
}

fn bold(text: &str) -> f64 {
    Typeface::of(Weight::SemiBold).width(text, TEXT_SIZE)
}
