//! A figure as a plain value: what is shown, in the units of the data.
//!
//! Apart from drawing, so that what a figure says can be tested without looking at it.

use crate::data::Data;
use crate::palette::Colour;
use serde::Serialize;

/// One or several panels with a title and a legend.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// What the figure shows, in a line.
    pub title: String,
    /// The lines of the subtitle: short phrases, set one after the other.
    pub facts: Vec<Vec<String>>,
    /// The figure in words, for those who cannot see it.
    pub description: String,
    /// The panels, row by row. Neighbours with the same axis share its labels.
    pub panels: Vec<Panel>,
    /// How many panels stand side by side.
    pub columns: usize,
    /// What the marks mean.
    pub legend: Vec<LegendGroup>,
    /// The numbers that are shown.
    pub data: Data,
}

/// Axes and what is drawn between them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Panel {
    /// What sets it apart from the other panels of its figure.
    pub title: Option<String>,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// From the back to the front.
    pub series: Vec<Series>,
    /// Values above the range of `y`, in a band over the panel.
    pub above: Option<Above>,
    /// Spans of the horizontal axis, in rows under the panel.
    pub spans: Vec<Span>,
    /// A remark in the middle of a panel that has nothing else to show.
    pub remark: Option<String>,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Axis {
    /// What it measures.
    pub label: String,
    /// How values become distances.
    pub scale: Scale,
    /// The least and the greatest value shown.
    pub range: (f64, f64),
    /// From the least to the greatest.
    pub ticks: Vec<Tick>,
}

/// How values become distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Equal distances are equal differences.
    Linear,
    /// Equal distances are equal ratios.
    Log2,
}

/// A marked value of an axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tick {
    /// Where.
    pub value: f64,
    /// The value as it is written.
    pub label: String,
}

/// Lines and marks of one colour.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// Of its lines and marks.
    pub colour: Colour,
    /// Of its lines.
    pub stroke: Stroke,
    /// Unbroken runs of points; a gap in the data ends a line.
    pub lines: Vec<Vec<(f64, f64)>>,
    /// Its marks.
    pub marks: Vec<Mark>,
}

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stroke {
    /// Unbroken: data.
    Solid,
    /// Dashed: a reference.
    Dashed,
    /// Dotted: what was fitted to the data.
    Dotted,
    /// Thin: a span of values, or a line to read off by.
    Thin,
}

/// A marked point.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mark {
    /// Where.
    pub at: (f64, f64),
    /// Its shape.
    pub shape: Shape,
    /// Filled marks are final, open ones are not.
    pub open: bool,
    /// The point in words.
    pub note: String,
}

/// A band for what has no place in the range; its height says nothing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Above {
    /// What they have in common: what they are greater than, or why they have no value.
    pub label: String,
    /// Those that share a place are set side by side.
    pub marks: Vec<AboveMark>,
}

/// A value above the range.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AboveMark {
    /// Where on the horizontal axis.
    pub x: f64,
    /// The colour of its mark.
    pub colour: Colour,
    /// The shape of its mark.
    pub shape: Shape,
    /// The value in words.
    pub note: String,
}

/// An estimate of a value of the horizontal axis. What lies beyond the axis is cut off and
/// ends in an arrow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Span {
    /// The colour of its line and mark.
    pub colour: Colour,
    /// The shape of its mark.
    pub shape: Shape,
    /// The most likely value.
    pub value: f64,
    /// The lower end; 0 if there is none.
    pub low: f64,
    /// The upper end; infinite if there is none.
    pub high: f64,
    /// The estimate in words.
    pub note: String,
}

/// The shape of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// ●
    Circle,
    /// ■
    Square,
    /// ◆
    Diamond,
    /// ▲
    Triangle,
    /// ▼
    DownTriangle,
    /// ⬟
    Pentagon,
    /// ↑
    Arrow,
    /// ★
    Star,
    /// ✕
    Cross,
    /// ·
    Dot,
}

impl Shape {
    /// Whether it is made of lines only, so that there is nothing to fill.
    pub fn is_lines(self) -> bool {
        matches!(self, Shape::Arrow | Shape::Cross)
    }
}

/// Legend entries that belong together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LegendGroup {
    /// What they have in common, if it needs saying.
    pub title: Option<String>,
    /// In the order in which they are listed.
    pub entries: Vec<LegendEntry>,
}

/// What a line or a mark means.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LegendEntry {
    /// The colour of line and mark.
    pub colour: Colour,
    /// The line, if there is one.
    pub stroke: Option<Stroke>,
    /// The mark, if there is one, and whether it is open.
    pub mark: Option<(Shape, bool)>,
    /// What it means.
    pub label: String,
}

impl Panel {
    /// A panel with nothing but its axes and `series`.
    pub fn new(x: Axis, y: Axis, series: Vec<Series>) -> Self {
        Panel { title: None, x, y, series, above: None, spans: Vec::new(), remark: None }
    }
}

impl Axis {
    /// Whether `value` is shown.
    pub fn shows(&self, value: f64) -> bool {
        (self.range.0..=self.range.1).contains(&value)
    }

    /// Where `value` lies between the ends of the axis: 0 to 1.
    pub fn position(&self, value: f64) -> f64 {
        let scaled = |value: f64| match self.scale {
            Scale::Linear => value,
            Scale::Log2 => value.log2(),
        };
        let (low, high) = (scaled(self.range.0), scaled(self.range.1));
        (scaled(value) - low) / (high - low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_follow_the_scale() {
        let axis = |scale, range| Axis { label: String::new(), scale, range, ticks: Vec::new() };
        assert_eq!(axis(Scale::Log2, (2.0, 32.0)).position(8.0), 0.5);
        assert_eq!(axis(Scale::Linear, (0.0, 40.0)).position(10.0), 0.25);
    }
}
