//! The page divided among the panels: where each lies, and which labels it carries.
//!
//! Neighbours with the same axis share its labels: those of a row stand at the left of its
//! first panel, those of a column under its last one.

use super::legend::width_aside;
use super::panel::{BAND_HEIGHT, SPANS_LABEL, spans_height};
use super::{Frame, HEIGHT, MARGIN, TICK_SIZE, WIDTH, regular};
use crate::figure::{Figure, Panel};

/// The width of the panels from which on marks have their full size.
const FULL_SIZE: f64 = 380.0;
/// The least width of a panel among several, with its labels.
const LEAST_WIDTH: f64 = 150.0;
/// The heights that panels among several may have.
const HEIGHTS: (f64, f64) = (112.0, 250.0);
/// From more rows than this on, panels are flat, so that the page does not get too long.
const MANY_ROWS: usize = 3;
/// Between panels side by side.
const GUTTER: f64 = 30.0;

/// The labels that a panel carries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Labels {
    pub(super) x_ticks: bool,
    pub(super) x_label: bool,
    pub(super) y_ticks: bool,
    pub(super) y_label: bool,
    /// Where the label of the vertical axis starts.
    pub(super) edge: f64,
}

/// The labels of a panel that stands alone.
pub(super) const ALL_LABELS: Labels =
    Labels { x_ticks: true, x_label: true, y_ticks: true, y_label: true, edge: MARGIN };

/// Where a panel lies among others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allotment {
    pub(super) frame: Frame,
    pub(super) labels: Labels,
    pub(super) mark_size: f64,
}

/// Whether a legend beside a single panel leaves most of the page to it.
pub(super) fn leaves_room(figure: &Figure) -> bool {
    width_aside(&figure.legend) < WIDTH / 3.0
}

/// The space that header, labels and legend leave to a single panel.
pub(super) fn alone(figure: &Figure, panel: &Panel, header: f64) -> Frame {
    let legend = width_aside(&figure.legend);
    let band = if panel.above.is_some() { BAND_HEIGHT } else { 0.0 };
    Frame {
        left: (MARGIN + label_width(panel)).round(),
        right: WIDTH - MARGIN - if legend > 0.0 { legend + 26.0 } else { 0.0 },
        top: (header + 46.0 + band).round(),
        bottom: HEIGHT - MARGIN - 40.0,
    }
}

/// The width of a page for the panels of `figure`.
pub(super) fn width(figure: &Figure) -> f64 {
    WIDTH.max(2.0 * MARGIN + figure.columns as f64 * LEAST_WIDTH)
}

/// The places of the panels under `top`, and the height of the page.
pub(super) fn divide(figure: &Figure, top: f64, width: f64) -> (Vec<Allotment>, f64) {
    let (panels, columns) = (&figure.panels, figure.columns.max(1));
    let labels: Vec<Labels> = (0..panels.len()).map(|it| labels(panels, columns, it)).collect();
    // As wide as the widest labels of each column.
    let margins: Vec<f64> = (0..columns)
        .map(|column| {
            let of = (column..panels.len()).step_by(columns).filter(|&it| labels[it].y_ticks);
            of.map(|it| label_width(&panels[it])).fold(0.0, f64::max).round()
        })
        .collect();
    let gutters = GUTTER * (columns - 1) as f64;
    let room = width - 2.0 * MARGIN - margins.iter().sum::<f64>() - gutters;
    let across = (room / columns as f64).floor();
    let rows = panels.len().div_ceil(columns);
    let tallest = if rows > MANY_ROWS { HEIGHTS.0 + 28.0 } else { HEIGHTS.1 };
    let down = (across * 0.75).clamp(HEIGHTS.0, tallest).round();
    let mark_size = (across / FULL_SIZE).sqrt().clamp(0.55, 1.0);
    let mut places = Vec::new();
    let mut y = top;
    for (row, members) in panels.chunks(columns).enumerate() {
        let labels = &labels[row * columns..];
        let any = |is: &dyn Fn(&Panel, &Labels) -> bool| {
            members.iter().zip(labels).any(|(panel, labels)| is(panel, labels))
        };
        let titled = any(&|panel, _| panel.title.is_some());
        let labelled = any(&|_, labels| labels.y_label);
        y += 12.0 + if titled { 20.0 } else { 0.0 } + if labelled { 22.0 } else { 0.0 };
        y += if any(&|panel, _| panel.above.is_some()) { BAND_HEIGHT } else { 0.0 };
        let mut x = MARGIN;
        for (column, labels) in labels.iter().take(members.len()).enumerate() {
            let left = x + margins[column];
            let frame = Frame { left, right: left + across, top: y, bottom: y + down };
            places.push(Allotment { frame, labels: Labels { edge: x, ..*labels }, mark_size });
            x = left + across + GUTTER;
        }
        y += down + members.iter().map(spans_height).fold(0.0, f64::max);
        y += if any(&|_, labels| labels.x_ticks) { 20.0 } else { 0.0 };
        y += if any(&|_, labels| labels.x_label) { 23.0 } else { 0.0 };
    }
    (places, (y + MARGIN).round())
}

/// The labels of panel `index`: those that no neighbour carries for it.
fn labels(panels: &[Panel], columns: usize, index: usize) -> Labels {
    let panel = &panels[index];
    let before = (!index.is_multiple_of(columns)).then(|| &panels[index - 1]);
    let after = panels.get(index + 1).filter(|_| index % columns + 1 < columns);
    let above = index.checked_sub(columns).map(|above| &panels[above]);
    let below = panels.get(index + columns);
    let y_ticks = before.is_none_or(|it| it.y != panel.y);
    let x_ticks = below.is_none_or(|it| it.x != panel.x);
    Labels {
        x_ticks,
        // Under the last panel of a row that has this label.
        x_label: x_ticks && after.is_none_or(|it| it.x.label != panel.x.label),
        y_ticks,
        y_label: y_ticks && above.is_none_or(|it| it.y.label != panel.y.label),
        edge: 0.0,
    }
}

/// The width of the labels at the left of a panel, with the space to it.
fn label_width(panel: &Panel) -> f64 {
    let labels = panel.y.ticks.iter().map(|tick| &tick.label);
    let labels = labels.chain(panel.above.iter().map(|above| &above.label));
    let spans = if panel.spans.is_empty() { &[][..] } else { &SPANS_LABEL };
    let labels = labels.map(String::as_str).chain(spans.iter().copied());
    labels.map(|label| regular(label, TICK_SIZE)).fold(0.0, f64::max) + 10.0
}
