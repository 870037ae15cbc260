//! Labelled images as the engine eats them: bytes, channel by channel.
//!
//! Apart from where data sets come from: the engine sees only checked values.
//! Pixels stay bytes until they are normalised into a block of images.

use crate::shape::Shape;
use thiserror::Error;

/// Labelled images of one shape. Image `i` is `shape.len()` bytes in the order
/// channel, row, column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examples {
    shape: Shape,
    images: Vec<u8>,
    labels: Vec<u8>,
}

/// Why bytes and labels do not make examples.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{labels} labels of {shape} images need {expected} bytes, found {found}")]
pub struct ExamplesError {
    shape: Shape,
    labels: usize,
    expected: usize,
    found: usize,
}

impl Examples {
    /// Examples from the images' bytes and their labels.
    pub fn new(shape: Shape, images: Vec<u8>, labels: Vec<u8>) -> Result<Self, ExamplesError> {
        let expected = shape.len() * labels.len();
        if images.len() != expected {
            let (labels, found) = (labels.len(), images.len());
            return Err(ExamplesError { shape, labels, expected, found });
        }
        Ok(Examples { shape, images, labels })
    }

    /// The shape of every image.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// How many examples there are.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The bytes of image `index`.
    pub fn image(&self, index: usize) -> &[u8] {
        let size = self.shape.len();
        &self.images[index * size..(index + 1) * size]
    }

    /// The class of image `index`.
    pub fn label(&self, index: usize) -> u8 {
        self.labels[index]
    }

    /// All bytes, image after image.
    pub fn images(&self) -> &[u8] {
        &self.images
    }

    /// All labels.
    pub fn labels(&self) -> &[u8] {
        &self.labels
    }

    /// One more than the highest label.
    pub fn classes(&self) -> usize {
        self.labels.iter().max().map_or(0, |&label| usize::from(label) + 1)
    }
}

/// How bytes become numbers: `(byte / 255 − mean) / deviation`, per channel.
#[derive(Debug, Clone, PartialEq)]
pub struct Normalization {
    /// The value of each byte, per channel.
    table: Vec<[f32; 256]>,
}

impl Normalization {
    /// Mean 0 and deviation 1 over all pixels of each channel of `examples`.
    pub fn of(examples: &Examples) -> Self {
        let shape = examples.shape();
        let table = (0..shape.channels).map(|channel| {
            let plane = shape.height * shape.width;
            let mut counts = [0u64; 256];
            for image in examples.images().chunks_exact(shape.len()) {
                for &byte in &image[channel * plane..(channel + 1) * plane] {
                    counts[usize::from(byte)] += 1;
                }
            }
            let (mean, deviation) = moments(&counts);
            std::array::from_fn(|byte| ((byte as f64 / 255.0 - mean) / deviation) as f32)
        });
        Normalization { table: table.collect() }
    }

    /// The numbers that the bytes of `channel` stand for.
    pub fn channel(&self, channel: usize) -> &[f32; 256] {
        &self.table[channel]
    }
}

/// Mean and deviation of pixels/255 from exact integer sums. A constant channel
/// gets deviation 1, so that it becomes zero instead of undefined.
fn moments(counts: &[u64; 256]) -> (f64, f64) {
    let sum = |power: u32| -> u128 {
        let terms = counts.iter().enumerate();
        terms.map(|(byte, &count)| (byte as u128).pow(power) * u128::from(count)).sum()
    };
    let (count, first, second) = (sum(0), sum(1), sum(2));
    if count == 0 {
        return (0.0, 1.0);
    }
    let variance = (count * second - first * first) as f64 / (count * count) as f64;
    let deviation = if variance > 0.0 { variance.sqrt() / 255.0 } else { 1.0 };
    (first as f64 / count as f64 / 255.0, deviation)
}

/// Examples with the numbers that their bytes stand for.
#[derive(Debug)]
pub struct Material {
    pub(crate) examples: Examples,
    pub(crate) normalization: Normalization,
}

impl Material {
    /// Examples and their normalisation.
    pub fn new(examples: Examples, normalization: Normalization) -> Self {
        Material { examples, normalization }
    }

    /// The examples.
    pub fn examples(&self) -> &Examples {
        &self.examples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_do_not_fit_the_labels_are_refused() {
        let error = Examples::new(Shape::new(1, 2, 2), vec![0; 7], vec![0, 1]).unwrap_err();
        assert_eq!(error.to_string(), "2 labels of 1×2×2 images need 8 bytes, found 7");
    }

    #[test]
    fn normalisation_gives_each_channel_mean_zero_and_deviation_one() {
        let shape = Shape::new(2, 1, 2);
        let examples =
            Examples::new(shape, vec![0, 255, 10, 10, 0, 255, 10, 10], vec![0, 1]).unwrap();
        let normalization = Normalization::of(&examples);
        assert_eq!(normalization.channel(0)[0], -1.0);
        assert_eq!(normalization.channel(0)[255], 1.0);
        assert_eq!(normalization.channel(1)[10], 0.0);
    }
}
