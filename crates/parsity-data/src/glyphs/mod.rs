//! `glyphs`: the data set that is always there, ten digits written by simulated hands.
//!
//! Apart from all other data sets because it is made, not found: image `i` is a pure
//! function of (seed, i), the same on every machine and for every number of threads.
//! It is about as hard as real handwriting, so studies of it behave like real ones.

mod canvas;
mod hand;
mod strokes;

use canvas::Canvas;
use hand::{Hand, Pen};
use parsity_engine::random::{Purpose, Stream};
use parsity_engine::{Examples, Shape};
use std::ops::Range;
use std::thread;
use strokes::DIGITS;

/// Rows and columns of an image.
const SIDE: usize = 28;
/// Pixels of an image.
const PIXELS: usize = SIDE * SIDE;
/// The shape of every image.
pub const SHAPE: Shape = Shape::new(1, SIDE, SIDE);
/// How many digits there are.
pub const CLASSES: usize = DIGITS.len();

/// Where the test images begin, far beyond all training images.
pub(crate) const TEST: u64 = 1 << 32;
/// Where the streams begin that order the classes, beyond all images.
const ORDERS: u64 = 1 << 33;

/// The images `range` of the set that `seed` stands for.
pub fn generate(seed: u64, range: Range<u64>) -> Examples {
    let count = range.end.saturating_sub(range.start) as usize;
    let labels: Vec<u8> = range.clone().map(|index| class_of(seed, index)).collect();
    let mut images = vec![0; count * PIXELS];
    let threads = thread::available_parallelism().map_or(1, |cores| cores.get());
    let share = count.div_ceil(threads).max(1);
    thread::scope(|scope| {
        let mut first = range.start;
        for (images, labels) in images.chunks_mut(share * PIXELS).zip(labels.chunks(share)) {
            scope.spawn(move || {
                let indices = first..;
                for ((image, &class), index) in
                    images.chunks_exact_mut(PIXELS).zip(labels).zip(indices)
                {
                    paint(seed, index, class, image);
                }
            });
            first += share as u64;
        }
    });
    Examples::new(SHAPE, images, labels).expect("one image was painted per label")
}

/// The class of an image: every ten images in a row hold each digit once.
fn class_of(seed: u64, index: u64) -> u8 {
    let classes = CLASSES as u64;
    let mut order: [u8; CLASSES] = std::array::from_fn(|class| class as u8);
    Stream::new(seed, Purpose::Glyphs, ORDERS + index / classes).shuffle(&mut order);
    order[(index % classes) as usize]
}

/// Paints image `index`, which shows the digit `class`.
fn paint(seed: u64, index: u64, class: u8, image: &mut [u8]) {
    let stream = &mut Stream::new(seed, Purpose::Glyphs, index);
    let styles = DIGITS[usize::from(class)];
    let style = styles[stream.below(styles.len() as u32) as usize];
    let hand = Hand::draw(stream);
    let mut digit = Canvas::blank();
    for stroke in style {
        for path in hand.write(stroke, stream) {
            digit.draw(&path);
        }
    }
    let clutter = scatter(stream);
    let ink = stream.between(0.55, 1.0) as f32;
    let clutter_ink = stream.between(0.2, 0.7) as f32;
    let paper = stream.between(0.0, 0.12) as f32;
    let softness = stream.between(1.0, 1.8) as f32;
    let noise = stream.between(0.02, 0.12) as f32;
    let coverage = digit.coverage(softness).zip(clutter.coverage(softness));
    for (pixel, (digit, clutter)) in image.iter_mut().zip(coverage) {
        let trace = (ink * digit).max(clutter_ink * clutter);
        let grey = paper + (1.0 - paper) * trace + noise * grain(stream);
        *pixel = (grey * 255.0 + 0.5).clamp(0.0, 255.0) as u8;
    }
}

/// Specks and short scratches that belong to no digit.
fn scatter(stream: &mut Stream) -> Canvas {
    let mut clutter = Canvas::blank();
    let side = SIDE as f64;
    for _ in 0..stream.below(5) {
        let (x, y) = (stream.between(0.0, side), stream.between(0.0, side));
        // Half of them are specks, the others scratches of up to six pixels.
        let length = if stream.below(2) == 0 { 0.0 } else { stream.between(2.0, 6.0) };
        let angle = stream.between(0.0, std::f64::consts::TAU);
        let radius = stream.between(0.4, 1.0) as f32;
        let pen = |x: f64, y: f64| Pen { x: x as f32, y: y as f32, radius };
        let (dx, dy) = (length * libm::cos(angle), length * libm::sin(angle));
        clutter.draw(&[pen(x, y), pen(x + dx, y + dy)]);
    }
    clutter
}

/// Noise of mean 0 and deviation 1: the sum of three random bytes, nearly normal.
fn grain(stream: &mut Stream) -> f32 {
    let [a, b, c, _] = stream.below(1 << 24).to_le_bytes();
    let sum = f32::from(a) + f32::from(b) + f32::from(c);
    // Three bytes have mean 3·127.5 and variance 3·(256² − 1)/12.
    (sum - 382.5) / 127.999
}
