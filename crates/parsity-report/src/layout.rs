//! Where things go: a figure becomes a scene.
//!
//! All distances, sizes and line widths of the figures' look are here and nowhere else.

use crate::figure::{
    Above, Axis, Figure, LegendEntry, LegendGroup, Panel, Series, Shape, Stroke, Tick,
};
use crate::palette::{BAND, BASELINE, Colour, GRID, INK, PAPER, SOFT_INK};
use crate::scene::{Anchor, Form, Item, Outline, Pen, Place, Scene, Text, Weight};
use crate::typeface::Typeface;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 540.0;
const MARGIN: f64 = 28.0;
const TITLE_SIZE: f64 = 19.0;
const TEXT_SIZE: f64 = 12.5;
const TICK_SIZE: f64 = 12.0;
const REMARK_SIZE: f64 = 14.0;
const LINE_HEIGHT: f64 = 18.0;
/// The height of a digit per size, to centre texts on a height.
const DIGIT: f64 = 0.727;
const BAND_HEIGHT: f64 = 26.0;
/// The distance between marks of one place in the band, where there is room.
const ABOVE_STEP: f64 = 9.0;
const SWATCH_WIDTH: f64 = 26.0;
const LEGEND_LINE: f64 = 21.0;
/// The least space between two tick labels.
const LABEL_GAP: (f64, f64) = (6.0, 7.0);
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
    let page = [(0.0, 0.0), (WIDTH, 0.0), (WIDTH, HEIGHT), (0.0, HEIGHT)];
    sheet.fill(&page, PAPER);
    let header = sheet.draw_header(figure);
    let frame = Frame::between(figure, header);
    sheet.draw_axes(&figure.panel, frame);
    if let Some(above) = &figure.panel.above {
        sheet.draw_above(above, &figure.panel.x, frame);
    }
    for series in &figure.panel.series {
        sheet.draw_series(series, &figure.panel, frame);
    }
    if let Some(remark) = &figure.panel.remark {
        sheet.draw_remark(remark, frame);
    }
    sheet.draw_legend(&figure.legend, frame);
    Scene {
        width: WIDTH,
        height: HEIGHT,
        title: figure.title.clone(),
        description: figure.description.clone(),
        items: sheet.items,
    }
}

impl Frame {
    /// The space that header, labels and legend leave.
    fn between(figure: &Figure, header: f64) -> Self {
        let Panel { y, above, .. } = &figure.panel;
        let labels = y.ticks.iter().map(|tick| &tick.label);
        let labels = labels.chain(above.iter().map(|above| &above.label));
        let widest = labels.map(|label| regular(label, TICK_SIZE)).fold(0.0, f64::max);
        let legend = legend_width(&figure.legend);
        let band = if above.is_some() { BAND_HEIGHT } else { 0.0 };
        Frame {
            left: (MARGIN + widest + 10.0).round(),
            right: WIDTH - MARGIN - if legend > 0.0 { legend + 26.0 } else { 0.0 },
            top: (header + 46.0 + band).round(),
            bottom: HEIGHT - MARGIN - 40.0,
        }
    }

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
    /// Title and subtitle; returns where they end.
    fn draw_header(&mut self, figure: &Figure) -> f64 {
        let mut y = MARGIN + TITLE_SIZE * 0.8;
        self.items.push(Item::Text(Text {
            at: (MARGIN, y),
            anchor: Anchor::Start,
            size: TITLE_SIZE,
            weight: Weight::SemiBold,
            colour: INK,
            text: figure.title.clone(),
        }));
        y += 6.0;
        for line in figure.facts.iter().flat_map(|phrases| wrap(phrases)) {
            y += LINE_HEIGHT;
            self.text((MARGIN, y), Anchor::Start, TEXT_SIZE, SOFT_INK, &line);
        }
        y
    }

    fn draw_axes(&mut self, panel: &Panel, frame: Frame) {
        let Frame { left, right, top, bottom } = frame;
        for tick in &panel.y.ticks {
            let y = crisp(frame.down(&panel.y, tick.value));
            self.line(vec![(left, y), (right, y)], GRID, 1.0);
        }
        for tick in &panel.x.ticks {
            let x = crisp(frame.across(&panel.x, tick.value));
            self.line(vec![(x, top), (x, bottom)], GRID, 1.0);
            self.line(vec![(x, bottom), (x, bottom + 5.0)], BASELINE, 1.0);
        }
        let base = crisp(bottom);
        self.line(vec![(left, base), (right, base)], BASELINE, 1.0);

        let rows =
            panel.y.ticks.iter().map(|tick| (frame.down(&panel.y, tick.value), TICK_SIZE * DIGIT));
        for (tick, y) in labelled(&panel.y.ticks, rows.collect(), LABEL_GAP.1) {
            let at = (left - 10.0, y + TICK_SIZE * DIGIT / 2.0);
            self.text(at, Anchor::End, TICK_SIZE, SOFT_INK, &tick.label);
        }
        let columns = panel.x.ticks.iter().map(|tick| {
            let width = regular(&tick.label, TICK_SIZE);
            (frame.across(&panel.x, tick.value), width)
        });
        for (tick, x) in labelled(&panel.x.ticks, columns.collect(), LABEL_GAP.0) {
            self.text((x, bottom + 20.0), Anchor::Middle, TICK_SIZE, SOFT_INK, &tick.label);
        }
        let over = if panel.above.is_some() { top - BAND_HEIGHT } else { top };
        self.text((MARGIN, over - 16.0), Anchor::Start, TEXT_SIZE, INK, &panel.y.label);
        self.text((right, bottom + 43.0), Anchor::End, TEXT_SIZE, INK, &panel.x.label);
    }

    /// The band over the panel, with the marks of one place side by side.
    fn draw_above(&mut self, above: &Above, axis: &Axis, frame: Frame) {
        let (top, bottom) = (frame.top - BAND_HEIGHT, frame.top);
        let corners =
            [(frame.left, top), (frame.right, top), (frame.right, bottom), (frame.left, bottom)];
        self.fill(&corners, BAND);
        let middle = (top + bottom) / 2.0;
        let at = (frame.left - 10.0, middle + TICK_SIZE * DIGIT / 2.0);
        self.text(at, Anchor::End, TICK_SIZE, SOFT_INK, &above.label);
        for (index, mark) in above.marks.iter().enumerate() {
            let here = above.marks.iter().filter(|other| other.x == mark.x).count();
            let before = above.marks[..index].iter().filter(|other| other.x == mark.x).count();
            let step = ABOVE_STEP.min(narrowest(axis, frame) * 0.9 / here as f64);
            let aside = (before as f64 - (here - 1) as f64 / 2.0) * step;
            let x = frame.across(axis, mark.x) + aside;
            self.mark((x, middle), Shape::Arrow, false, mark.colour, Some(mark.note.clone()));
        }
    }

    fn draw_series(&mut self, series: &Series, panel: &Panel, frame: Frame) {
        for line in &series.lines {
            let places = line.iter().map(|&point| frame.place(panel, point)).collect();
            self.stroke(places, series.stroke, series.colour);
        }
        for mark in &series.marks {
            let place = frame.place(panel, mark.at);
            self.mark(place, mark.shape, mark.open, series.colour, Some(mark.note.clone()));
        }
    }

    /// A text in the middle of the panel, kept clear of the grid.
    fn draw_remark(&mut self, remark: &str, frame: Frame) {
        let (x, y) = ((frame.left + frame.right) / 2.0, (frame.top + frame.bottom) / 2.0);
        let (half, high) = (regular(remark, REMARK_SIZE) / 2.0 + 12.0, REMARK_SIZE);
        self.fill(
            &[
                (x - half, y - high),
                (x + half, y - high),
                (x + half, y + high),
                (x - half, y + high),
            ],
            PAPER,
        );
        let at = (x, y + REMARK_SIZE * DIGIT / 2.0);
        self.text(at, Anchor::Middle, REMARK_SIZE, SOFT_INK, remark);
    }

    fn draw_legend(&mut self, groups: &[LegendGroup], frame: Frame) {
        let left = WIDTH - MARGIN - legend_width(groups);
        let mut y = frame.top + 6.0;
        for group in groups {
            if let Some(title) = &group.title {
                self.items.push(Item::Text(Text {
                    at: (left, y + TEXT_SIZE * DIGIT / 2.0),
                    anchor: Anchor::Start,
                    size: TEXT_SIZE,
                    weight: Weight::SemiBold,
                    colour: INK,
                    text: title.clone(),
                }));
                y += LEGEND_LINE + 2.0;
            }
            for entry in &group.entries {
                self.draw_legend_entry(entry, (left, y));
                y += LEGEND_LINE;
            }
            y += 12.0;
        }
    }

    fn draw_legend_entry(&mut self, entry: &LegendEntry, (left, y): Place) {
        if let Some(stroke) = entry.stroke {
            self.stroke(vec![(left, y), (left + SWATCH_WIDTH, y)], stroke, entry.colour);
        }
        if let Some((shape, open)) = entry.mark {
            self.mark((left + SWATCH_WIDTH / 2.0, y), shape, open, entry.colour, None);
        }
        let at = (left + SWATCH_WIDTH + 9.0, y + TEXT_SIZE * DIGIT / 2.0);
        self.text(at, Anchor::Start, TEXT_SIZE, INK, &entry.label);
    }

    fn text(&mut self, at: Place, anchor: Anchor, size: f64, colour: Colour, text: &str) {
        let (weight, text) = (Weight::Regular, text.to_owned());
        self.items.push(Item::Text(Text { at, anchor, size, weight, colour, text }));
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
        };
        let outline = Outline::Lines(vec![points]);
        self.items.push(Item::Form(Form { outline, fill: None, pen: Some(pen), note: None }));
    }

    /// A mark: filled with a thin light edge that keeps it apart from lines, or open.
    fn mark(&mut self, at: Place, shape: Shape, open: bool, colour: Colour, note: Option<String>) {
        let pen = |colour, width| Some(Pen { colour, width, dash: None });
        let (fill, pen) = match (shape, open) {
            (Shape::Arrow, _) => (None, pen(colour, 1.7)),
            (_, true) => (Some(PAPER), pen(colour, 1.7)),
            (_, false) => (Some(colour), pen(PAPER, 1.0)),
        };
        let outline = outline(shape, at);
        self.items.push(Item::Form(Form { outline, fill, pen, note }));
    }
}

/// Phrases set one after the other, in lines that fit the page.
fn wrap(phrases: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for phrase in phrases {
        // No-break spaces, because SVG reads several plain ones as one.
        let joined = lines.last().map(|line| format!("{line}\u{a0} ·\u{a0} {phrase}"));
        match joined.filter(|line| regular(line, TEXT_SIZE) <= WIDTH - 2.0 * MARGIN) {
            Some(line) => *lines.last_mut().expect("a line was joined") = line,
            None => lines.push(phrase.clone()),
        }
    }
    lines
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

fn legend_width(groups: &[LegendGroup]) -> f64 {
    let titles = groups.iter().filter_map(|group| group.title.as_deref());
    let titles = titles.map(|title| Typeface::of(Weight::SemiBold).width(title, TEXT_SIZE));
    let labels = groups.iter().flat_map(|group| &group.entries);
    let labels = labels.map(|it| SWATCH_WIDTH + 9.0 + regular(&it.label, TEXT_SIZE));
    titles.chain(labels).fold(0.0, f64::max).ceil()
}

/// How wide a text is in the regular weight.
fn regular(text: &str, size: f64) -> f64 {
    Typeface::of(Weight::Regular).width(text, size)
}

/// The outline of a mark. The sizes make all shapes look equally large.
fn outline(shape: Shape, (x, y): Place) -> Outline {
    let polygon = |corners: u32, radius: f64, turn: f64, lower: f64| {
        let corner = |index| {
            let angle = (f64::from(index) / f64::from(corners) + turn) * std::f64::consts::TAU;
            (x + radius * angle.sin(), y + lower - radius * angle.cos())
        };
        Outline::Polygon((0..corners).map(corner).collect())
    };
    match shape {
        Shape::Circle => Outline::Circle { centre: (x, y), radius: 4.6 },
        Shape::Square => polygon(4, 5.9, 0.125, 0.0),
        Shape::Diamond => polygon(4, 6.0, 0.0, 0.0),
        Shape::Triangle => polygon(3, 6.2, 0.0, 1.0),
        Shape::DownTriangle => polygon(3, 6.2, 0.5, -1.0),
        Shape::Pentagon => polygon(5, 5.5, 0.0, 0.3),
        Shape::Arrow => {
            let stem = vec![(x, y + 5.5), (x, y - 5.0)];
            let head = vec![(x - 3.5, y - 1.5), (x, y - 5.0), (x + 3.5, y - 1.5)];
            Outline::Lines(vec![stem, head])
        }
    }
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
