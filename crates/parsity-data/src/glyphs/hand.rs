//! The hand that writes: it turns a style of a digit into a pen's path in pixels.
//!
//! Apart from the table of strokes, which knows no randomness, and from the canvas, which
//! knows no digits. A hand has habits, drawn once per image (slant, size, tremor, pen),
//! and applies them to every stroke.

use super::SIDE;
use super::strokes::{Point, Stroke};
use parsity_engine::random::Stream;

/// Where the pen is, and how wide its trace is there, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pen {
    pub(super) x: f32,
    pub(super) y: f32,
    pub(super) radius: f32,
}

/// Pieces that one span between two points of a stroke is drawn with.
const PIECES: u16 = 4;
/// Waves that bend the paper.
const WAVES: usize = 3;

/// A smooth bend of the paper: points move along `push` by the sine of a plane wave.
struct Wave {
    frequency: (f64, f64),
    phase: f64,
    push: (f64, f64),
}

/// The habits of one image's hand.
pub(super) struct Hand {
    /// Digit coordinates to pixels: rows of a 2×3 matrix.
    affine: [[f64; 3]; 2],
    waves: [Wave; WAVES],
    /// Standard deviation of where a point is aimed, in digit heights.
    tremor: f64,
    radius: f64,
}

impl Hand {
    /// Draws a hand's habits.
    pub(super) fn draw(stream: &mut Stream) -> Self {
        let height = stream.between(16.0, 22.0);
        let width = height * stream.between(0.75, 1.25);
        let angle = 0.16 * stream.truncated_normal();
        let shear = 0.2 * stream.truncated_normal();
        let (sin, cos) = (libm::sin(angle), libm::cos(angle));
        let center = SIDE as f64 / 2.0;
        let (dx, dy) = (1.3 * stream.truncated_normal(), 1.3 * stream.truncated_normal());
        // Scale, then shear along x, then rotate, then move to the middle.
        let affine = [
            [cos * width, (-cos * shear - sin) * height, center + dx],
            [sin * width, (-sin * shear + cos) * height, center + dy],
        ];
        let waves = std::array::from_fn(|_| Wave {
            frequency: (stream.between(-5.0, 5.0), stream.between(-5.0, 5.0)),
            phase: stream.between(0.0, std::f64::consts::TAU),
            push: (0.035 * stream.truncated_normal(), 0.035 * stream.truncated_normal()),
        });
        let tremor = stream.between(0.0, 0.04);
        let radius = stream.between(0.7, 1.8);
        Hand { affine, waves, tremor, radius }
    }

    /// Writes a stroke: paths of pen positions, one per smooth piece.
    pub(super) fn write(&self, stroke: Stroke, stream: &mut Stream) -> Vec<Vec<Pen>> {
        let aimed = self.aim(stroke, stream);
        let mut paths = Vec::new();
        let mut start = 0;
        for end in 1..=stroke.len() {
            if end == stroke.len() || stroke[end] == stroke[end - 1] {
                paths.push(self.trace(&aimed[start..end]));
                start = end;
            }
        }
        paths
    }

    /// The points that the hand aims at. Repeated points, and the two ends of a closed
    /// piece, stay together.
    fn aim(&self, stroke: Stroke, stream: &mut Stream) -> Vec<(f64, f64)> {
        let mut aimed: Vec<(f64, f64)> = Vec::with_capacity(stroke.len());
        for (index, &(x, y)) in stroke.iter().enumerate() {
            let earlier = stroke[..index].iter().position(|&point: &Point| point == (x, y));
            let point = match earlier {
                Some(same) => aimed[same],
                None => {
                    let mut tremble =
                        |at: i8| f64::from(at) / 100.0 + self.tremor * stream.normal();
                    (tremble(x), tremble(y))
                }
            };
            aimed.push(point);
        }
        aimed
    }

    /// The smooth path through `points` (a Catmull–Rom spline), on the bent paper.
    fn trace(&self, points: &[(f64, f64)]) -> Vec<Pen> {
        let last = points.len() - 1;
        let closed = last > 2 && points[0] == points[last];
        let beyond =
            |end: (f64, f64), inner: (f64, f64)| (2.0 * end.0 - inner.0, 2.0 * end.1 - inner.1);
        let mut path = Vec::with_capacity(last * usize::from(PIECES) + 1);
        path.push(self.place(points[0]));
        for span in 0..last {
            let (from, to) = (points[span], points[span + 1]);
            let before = match span {
                0 if closed => points[last - 1],
                0 => beyond(from, to),
                _ => points[span - 1],
            };
            let after = match last - span {
                1 if closed => points[1],
                1 => beyond(to, from),
                _ => points[span + 2],
            };
            for piece in 1..=PIECES {
                let t = f64::from(piece) / f64::from(PIECES);
                let x = spline(before.0, from.0, to.0, after.0, t);
                let y = spline(before.1, from.1, to.1, after.1, t);
                path.push(self.place((x, y)));
            }
        }
        path
    }

    /// A point of the digit on the image.
    fn place(&self, (x, y): (f64, f64)) -> Pen {
        let (mut bent_x, mut bent_y) = (x, y);
        let mut pressure = 1.0;
        for wave in &self.waves {
            let sine = libm::sin(wave.frequency.0 * x + wave.frequency.1 * y + wave.phase);
            bent_x += wave.push.0 * sine;
            bent_y += wave.push.1 * sine;
            // The waves that bend the paper also change how hard the pen is pressed.
            pressure += 2.0 * (wave.push.0 + wave.push.1) * sine;
        }
        let [across, down] = self.affine.map(|row| row[0] * bent_x + row[1] * bent_y + row[2]);
        Pen { x: across as f32, y: down as f32, radius: (self.radius * pressure) as f32 }
    }
}

/// The Catmull–Rom spline from `from` (t = 0) to `to` (t = 1).
fn spline(before: f64, from: f64, to: f64, after: f64, t: f64) -> f64 {
    let linear = to - before;
    let square = 2.0 * before - 5.0 * from + 4.0 * to - after;
    let cube = 3.0 * (from - to) + after - before;
    from + 0.5 * t * (linear + t * (square + t * cube))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glyphs::strokes::DIGITS;
    use parsity_engine::random::Purpose;

    #[test]
    fn a_spline_passes_its_two_middle_points() {
        assert_eq!(spline(3.0, 1.0, 2.0, 7.0, 0.0), 1.0);
        assert_eq!(spline(3.0, 1.0, 2.0, 7.0, 1.0), 2.0);
    }

    #[test]
    fn a_closed_stroke_ends_where_it_began() {
        let mut stream = Stream::new(0, Purpose::Glyphs, 0);
        let hand = Hand::draw(&mut stream);
        let paths = hand.write(DIGITS[0][0][0], &mut stream);
        assert_eq!(paths.len(), 1);
        assert_eq!(paths[0].first(), paths[0].last());
    }

    #[test]
    fn a_corner_joins_two_paths() {
        let mut stream = Stream::new(0, Purpose::Glyphs, 1);
        let hand = Hand::draw(&mut stream);
        let paths = hand.write(DIGITS[7][0][0], &mut stream);
        assert_eq!(paths.len(), 2);
        assert_eq!(paths[0].last(), paths[1].first());
    }
}
