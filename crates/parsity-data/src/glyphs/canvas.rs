//! The paper: a field of distances to the nearest trace, from which pixels are inked.
//!
//! Apart because it knows only segments. Everything is `+ − × ÷ √` on `f32`, which is
//! exactly rounded, so that the same path gives the same bytes on every machine.

use super::hand::Pen;
use super::{PIXELS, SIDE};

/// Signed distance of every pixel's middle to the edge of the nearest trace: negative
/// inside of it.
pub(super) struct Canvas {
    distance: [f32; PIXELS],
}

/// How far from a trace's edge its distance still matters, in pixels.
const REACH: f32 = 1.0;

impl Canvas {
    /// Nothing drawn.
    pub(super) fn blank() -> Self {
        Canvas { distance: [REACH; PIXELS] }
    }

    /// Draws the path.
    pub(super) fn draw(&mut self, path: &[Pen]) {
        for ends in path.windows(2) {
            self.draw_segment(ends[0], ends[1]);
        }
    }

    /// Draws a straight trace with round ends, its radius changing evenly.
    fn draw_segment(&mut self, from: Pen, to: Pen) {
        let reach = from.radius.max(to.radius) + REACH;
        let (left, right) = covered(from.x, to.x, reach);
        let (top, bottom) = covered(from.y, to.y, reach);
        let (along_x, along_y) = (to.x - from.x, to.y - from.y);
        let widening = to.radius - from.radius;
        let length_squared = along_x * along_x + along_y * along_y;
        let scale = if length_squared > 0.0 { 1.0 / length_squared } else { 0.0 };
        for row in top..bottom {
            let y = row as f32 + 0.5 - from.y;
            let cells = &mut self.distance[row * SIDE..][left..right];
            for (column, cell) in (left..right).zip(cells) {
                let x = column as f32 + 0.5 - from.x;
                let t = ((x * along_x + y * along_y) * scale).clamp(0.0, 1.0);
                let (off_x, off_y) = (x - t * along_x, y - t * along_y);
                let distance = (off_x * off_x + off_y * off_y).sqrt() - from.radius - t * widening;
                *cell = cell.min(distance);
            }
        }
    }

    /// How much of each pixel is covered, 0 to 1, when edges fade over `softness` pixels.
    pub(super) fn coverage(&self, softness: f32) -> impl Iterator<Item = f32> + '_ {
        self.distance.iter().map(move |distance| (0.5 - distance / softness).clamp(0.0, 1.0))
    }
}

/// The cells whose middles can lie within `reach` of the range between `a` and `b`.
fn covered(a: f32, b: f32, reach: f32) -> (usize, usize) {
    let side = SIDE as f32;
    let first = (a.min(b) - reach).clamp(0.0, side);
    let end = (a.max(b) + reach + 1.0).clamp(0.0, side);
    (first as usize, (end as usize).max(first as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_covers_what_lies_within_its_radius() {
        let mut canvas = Canvas::blank();
        let pen = |x| Pen { x, y: 14.5, radius: 2.0 };
        canvas.draw(&[pen(5.5), pen(20.5)]);
        let coverage: Vec<f32> = canvas.coverage(1.0).collect();
        let at = |column: usize, row: usize| coverage[row * SIDE + column];
        assert_eq!([at(10, 14), at(10, 13), at(10, 12), at(10, 11)], [1.0, 1.0, 0.5, 0.0]);
        assert_eq!([at(5, 14), at(4, 14), at(3, 14), at(2, 14)], [1.0, 1.0, 0.5, 0.0]);
    }

    #[test]
    fn a_path_beyond_the_paper_leaves_it_blank() {
        let mut canvas = Canvas::blank();
        let pen = |x, y| Pen { x, y, radius: 2.0 };
        canvas.draw(&[pen(-50.0, -9.0), pen(90.0, -9.0)]);
        canvas.draw(&[pen(400.0, 3.0), pen(400.0, 3.0)]);
        assert!(canvas.coverage(1.0).all(|share| share == 0.0));
    }
}
