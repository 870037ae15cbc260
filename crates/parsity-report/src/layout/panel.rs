//! One panel: axes, bands, lines and marks.

use super::grid::Labels;
use super::{DIGIT, Frame, Sheet, TEXT_SIZE, TICK_SIZE, regular};
use crate::figure::{Above, Axis, Panel, Series, Span, Tick};
use crate::palette::{BAND, BASELINE, GRID, INK, PAPER, SOFT_INK};
use crate::scene::{Anchor, Form, Item, Outline, Pen, Place};

pub(super) const BAND_HEIGHT: f64 = 26.0;
const REMARK_SIZE: f64 = 14.0;
/// The distance between marks of one place in the band, where there is room.
const ABOVE_STEP: f64 = 9.0;
/// The height of a span, and the air over the first and under the last one.
const SPAN_HEIGHT: f64 = 14.0;
const SPAN_AIR: f64 = 5.0;
/// What spans of batch sizes are.
pub(super) const SPANS_LABEL: [&str; 2] = ["critical", "batch size"];
/// The least space between two tick labels.
const LABEL_GAP: (f64, f64) = (6.0, 7.0);

/// The height that spans take under a panel.
pub(super) fn spans_height(panel: &Panel) -> f64 {
    match panel.spans.len() {
        0 => 0.0,
        // At least as high as its label.
        rows => (rows as f64 * SPAN_HEIGHT + 2.0 * SPAN_AIR).max(44.0),
    }
}

impl Frame {
    /// Where a point of the data lies.
    fn place(&self, panel: &Panel, (x, y): (f64, f64)) -> Place {
        (self.across(&panel.x, x), self.down(&panel.y, y))
    }

    fn across(&self, axis: &Axis, value: f64) -> f64 {
        self.left + (self.right - self.left) * axis.position(value)
    }

    fn down(&self, axis: &Axis, value: f64) -> f64 {
        self.bottom + (self.top - self.bottom) * axis.position(value)
    }
}

impl Sheet {
    pub(super) fn draw_panel(&mut self, panel: &Panel, frame: Frame, labels: &Labels, size: f64) {
        self.draw_axes(panel, frame);
        self.draw_labels(panel, frame, labels);
        if let Some(above) = &panel.above {
            self.draw_above(above, &panel.x, frame, labels, size);
        }
        for series in &panel.series {
            self.draw_series(series, panel, frame, size);
        }
        let middle = frame.bottom + spans_height(panel) / 2.0;
        for (row, span) in panel.spans.iter().enumerate() {
            let y = middle + (row as f64 - (panel.spans.len() - 1) as f64 / 2.0) * SPAN_HEIGHT;
            self.draw_span(span, &panel.x, frame, y);
        }
        if let Some(remark) = &panel.remark {
            self.draw_remark(remark, frame);
        }
    }

    fn draw_axes(&mut self, panel: &Panel, frame: Frame) {
        let Frame { left, right, top, bottom } = frame;
        for tick in &panel.y.ticks {
            let y = crisp(frame.down(&panel.y, tick.value));
            self.line(vec![(left, y), (right, y)], GRID, 1.0);
        }
        let foot = bottom + spans_height(panel);
        if foot > bottom {
            self.fill(&[(left, bottom), (right, bottom), (right, foot), (left, foot)], BAND);
        }
        for tick in &panel.x.ticks {
            let x = crisp(frame.across(&panel.x, tick.value));
            self.line(vec![(x, top), (x, foot)], GRID, 1.0);
            self.line(vec![(x, foot), (x, foot + 5.0)], BASELINE, 1.0);
        }
        let base = crisp(bottom);
        self.line(vec![(left, base), (right, base)], BASELINE, 1.0);
    }

    /// Title, axis labels and tick labels, as far as the panel carries them.
    fn draw_labels(&mut self, panel: &Panel, frame: Frame, labels: &Labels) {
        let Frame { left, right, top, bottom } = frame;
        let foot = bottom + spans_height(panel);
        if labels.y_ticks {
            let rows = panel.y.ticks.iter();
            let rows = rows.map(|tick| (frame.down(&panel.y, tick.value), TICK_SIZE * DIGIT));
            // The band has its own label, which the others must not touch either.
            let band = panel.above.as_ref().map(|_| top - BAND_HEIGHT / 2.0);
            let highest = band.map_or(0.0, |middle| middle + TICK_SIZE * DIGIT + LABEL_GAP.1);
            let labels = labelled(&panel.y.ticks, rows.collect(), LABEL_GAP.1);
            for (tick, y) in labels.into_iter().filter(|(_, y)| *y >= highest) {
                let at = (left - 10.0, y + TICK_SIZE * DIGIT / 2.0);
                self.text(at, Anchor::End, TICK_SIZE, SOFT_INK, &tick.label);
            }
            let middle = (bottom + foot) / 2.0;
            let spans = if foot > bottom { &SPANS_LABEL[..] } else { &[] };
            for (line, y) in spans.iter().zip([middle - 2.0, middle + 12.0]) {
                self.text((left - 10.0, y), Anchor::End, TICK_SIZE, SOFT_INK, line);
            }
        }
        if labels.x_ticks {
            let columns = panel.x.ticks.iter().map(|tick| {
                let width = regular(&tick.label, TICK_SIZE);
                (frame.across(&panel.x, tick.value), width)
            });
            for (tick, x) in labelled(&panel.x.ticks, columns.collect(), LABEL_GAP.0) {
                self.text((x, foot + 20.0), Anchor::Middle, TICK_SIZE, SOFT_INK, &tick.label);
            }
        }
        let mut over = if panel.above.is_some() { top - BAND_HEIGHT } else { top };
        if let Some(title) = &panel.title {
            self.bold((left, over - 8.0), TEXT_SIZE, title);
            over -= 20.0;
        }
        if labels.y_label {
            let at = (labels.edge, over - if panel.title.is_some() { 8.0 } else { 16.0 });
            self.text(at, Anchor::Start, TEXT_SIZE, INK, &panel.y.label);
        }
        if labels.x_label {
            self.text((right, foot + 43.0), Anchor::End, TEXT_SIZE, INK, &panel.x.label);
        }
    }

    /// The band over the panel, with the marks of one place side by side.
    fn draw_above(&mut self, above: &Above, axis: &Axis, frame: Frame, labels: &Labels, size: f64) {
        let (top, bottom) = (frame.top - BAND_HEIGHT, frame.top);
        let corners =
            [(frame.left, top), (frame.right, top), (frame.right, bottom), (frame.left, bottom)];
        self.fill(&corners, BAND);
        let middle = (top + bottom) / 2.0;
        if labels.y_ticks {
            let at = (frame.left - 10.0, middle + TICK_SIZE * DIGIT / 2.0);
            self.text(at, Anchor::End, TICK_SIZE, SOFT_INK, &above.label);
        }
        for (index, mark) in above.marks.iter().enumerate() {
            let here = above.marks.iter().filter(|other| other.x == mark.x).count();
            let before = above.marks[..index].iter().filter(|other| other.x == mark.x).count();
            let step = ABOVE_STEP.min(narrowest(axis, frame) * 0.9 / here as f64);
            let aside = (before as f64 - (here - 1) as f64 / 2.0) * step;
            let x = frame.across(axis, mark.x) + aside;
            let note = Some(mark.note.clone());
            self.mark((x, middle), (mark.shape, false), size, mark.colour, note);
        }
    }

    fn draw_series(&mut self, series: &Series, panel: &Panel, frame: Frame, size: f64) {
        for line in &series.lines {
            let places = line.iter().map(|&point| frame.place(panel, point)).collect();
            self.stroke(places, series.stroke, series.colour);
        }
        for mark in &series.marks {
            let place = frame.place(panel, mark.at);
            let note = Some(mark.note.clone());
            self.mark(place, (mark.shape, mark.open), size, series.colour, note);
        }
    }

    /// An estimate under the panel: its interval, cut off where the axis ends, and its value.
    fn draw_span(&mut self, span: &Span, axis: &Axis, frame: Frame, y: f64) {
        let ends = [span.low, span.high].map(|end| end.clamp(axis.range.0, axis.range.1));
        let [from, to] = ends.map(|end| frame.across(axis, end));
        let mut lines = vec![vec![(from, y), (to, y)]];
        for (at, cut, inward) in
            [(from, span.low < axis.range.0, 1.0), (to, span.high > axis.range.1, -1.0)]
        {
            lines.push(match cut {
                true => vec![(at + 5.0 * inward, y - 4.0), (at, y), (at + 5.0 * inward, y + 4.0)],
                false => vec![(at, y - 3.5), (at, y + 3.5)],
            });
        }
        let pen = Some(Pen { colour: span.colour, width: 1.6, dash: None });
        let (outline, note) = (Outline::Lines(lines), Some(span.note.clone()));
        self.items.push(Item::Form(Form { outline, fill: None, pen, note: note.clone() }));
        if axis.shows(span.value) {
            let at = (frame.across(axis, span.value), y);
            self.mark(at, (span.shape, false), 1.0, span.colour, note);
        }
    }

    /// A text in the middle of the panel, kept clear of the grid.
    fn draw_remark(&mut self, remark: &str, frame: Frame) {
        let (x, y) = ((frame.left + frame.right) / 2.0, (frame.top + frame.bottom) / 2.0);
        let size = REMARK_SIZE
            .min(REMARK_SIZE * (frame.right - frame.left - 24.0) / regular(remark, REMARK_SIZE));
        let (half, high) = (regular(remark, size) / 2.0 + 12.0, size);
        self.fill(
            &[
                (x - half, y - high),
                (x + half, y - high),
                (x + half, y + high),
                (x - half, y + high),
            ],
            PAPER,
        );
        let at = (x, y + size * DIGIT / 2.0);
        self.text(at, Anchor::Middle, size, SOFT_INK, remark);
    }
}

/// The ticks that get a label, each with its place: every tick, or every second, third, …,
/// so that no two labels touch. `extents` are the places and lengths of all labels.
fn labelled(ticks: &[Tick], extents: Vec<(f64, f64)>, gap: f64) -> Vec<(&Tick, f64)> {
    let touch = |a: (f64, f64), b: (f64, f64)| (b.0 - a.0).abs() < (a.1 + b.1) / 2.0 + gap;
    let fits = |stride: usize| {
        let chosen: Vec<_> = extents.iter().copied().step_by(stride).collect();
        chosen.windows(2).all(|pair| !touch(pair[0], pair[1]))
    };
    let stride = (1..ticks.len()).find(|&stride| fits(stride)).unwrap_or(ticks.len().max(1));
    ticks.iter().zip(extents.iter().map(|extent| extent.0)).step_by(stride).collect()
}

/// The least distance between two ticks of the axis.
fn narrowest(axis: &Axis, frame: Frame) -> f64 {
    let pairs = axis.ticks.windows(2);
    let gaps =
        pairs.map(|pair| frame.across(axis, pair[1].value) - frame.across(axis, pair[0].value));
    gaps.fold(frame.right - frame.left, f64::min)
}

/// The middle of a pixel, so that a line one pixel wide is sharp.
fn crisp(at: f64) -> f64 {
    at.floor() + 0.5
}
