//! `.npz` files: the four arrays x_train, y_train, x_test, y_test.
//!
//! Apart from numpy's array format: here is decided what counts as images and labels.
//! Pixels must be bytes, or floats that stand for bytes, so that nothing is rounded.

use crate::DataError;
use crate::npy::{Array, Kind};
use parsity_engine::{Examples, Shape};
use std::io::{Cursor, Read};
use std::path::Path;
use zip::ZipArchive;

/// The training and the test examples in the file.
pub(crate) fn load(path: &Path) -> Result<(Examples, Examples), DataError> {
    let bytes = std::fs::read(path).map_err(DataError::io("reading", path))?;
    let broken = |error| DataError::malformed(path, "content", "a zip file of numpy arrays", error);
    let mut archive = ZipArchive::new(Cursor::new(bytes.as_slice())).map_err(broken)?;
    let mut member = |name: &str| read_member(path, &mut archive, name);
    let (x_train, y_train) = (member("x_train")?, member("y_train")?);
    let (x_test, y_test) = (member("x_test")?, member("y_test")?);
    let train = Array::parse(path, "x_train", &x_train)?;
    let test = Array::parse(path, "x_test", &x_test)?;
    let floats = [&train, &test].into_iter().filter(|array| array.kind == Kind::Float);
    // Floats up to 1 are shares of 255; this is decided once, for both splits.
    let highest =
        floats.flat_map(|array| (0..array.len()).map(|at| array.element(at))).fold(0.0, f64::max);
    let scale = if highest <= 1.0 { 255.0 } else { 1.0 };
    let train = examples(path, ("x_train", &train), ("y_train", &y_train), scale)?;
    let test = examples(path, ("x_test", &test), ("y_test", &y_test), scale)?;
    Ok((train, test))
}

fn read_member(
    path: &Path,
    archive: &mut ZipArchive<Cursor<&[u8]>>,
    name: &str,
) -> Result<Vec<u8>, DataError> {
    let broken =
        |error: String| DataError::malformed(path, name, "a whole array of this name", error);
    let mut member =
        archive.by_name(&format!("{name}.npy")).map_err(|error| broken(error.to_string()))?;
    let mut bytes = Vec::new();
    member.read_to_end(&mut bytes).map_err(|error| broken(error.to_string()))?;
    Ok(bytes)
}

fn examples(
    path: &Path,
    (images_name, images): (&str, &Array<'_>),
    (labels_name, labels): (&str, &[u8]),
    scale: f64,
) -> Result<Examples, DataError> {
    let labels = parse_labels(path, labels_name, &Array::parse(path, labels_name, labels)?)?;
    let (shape, axes) = image_axes(path, images_name, images)?;
    if images.shape[0] != labels.len() {
        let expected = format!("{}, one per image", images.shape[0]);
        return Err(DataError::malformed(path, labels_name, expected, labels.len()));
    }
    let pixels = parse_pixels(path, images_name, images, (shape, axes), scale)?;
    Ok(Examples::new(shape, pixels, labels).expect("the number of labels was checked"))
}

/// The shape of the images, and the axes of channels, rows and columns. Images without an
/// axis for channels have one channel.
fn image_axes(
    path: &Path,
    name: &str,
    array: &Array<'_>,
) -> Result<(Shape, [Option<usize>; 3]), DataError> {
    let is_color = |side: usize| side == 1 || side == 3;
    let axes = match array.shape[..] {
        [_, _, _] => Some([None, Some(1), Some(2)]),
        [_, _, _, channels] if is_color(channels) => Some([Some(3), Some(1), Some(2)]),
        [_, channels, _, _] if is_color(channels) => Some([Some(1), Some(2), Some(3)]),
        _ => None,
    };
    match axes {
        Some(axes) if !array.shape.contains(&0) => {
            let [channels, height, width] =
                axes.map(|axis| axis.map_or(1, |axis| array.shape[axis]));
            Ok((Shape::new(channels, height, width), axes))
        }
        _ => {
            let expected =
                "images of shape (n, h, w), (n, h, w, c) or (n, c, h, w) with c = 1 or 3";
            Err(DataError::malformed(path, name, expected, format!("{:?}", array.shape)))
        }
    }
}

/// The bytes in the order image, channel, row, column, whatever the array's own order.
fn parse_pixels(
    path: &Path,
    name: &str,
    array: &Array<'_>,
    (shape, axes): (Shape, [Option<usize>; 3]),
    scale: f64,
) -> Result<Vec<u8>, DataError> {
    let [channel, row, column] = axes.map(|axis| axis.map_or(0, |axis| array.strides[axis]));
    let scale = if array.kind == Kind::Float { scale } else { 1.0 };
    let mut pixels = Vec::with_capacity(array.len());
    for image in 0..array.shape[0] {
        for at in 0..shape.len() {
            let (c, rest) = (at / (shape.height * shape.width), at % (shape.height * shape.width));
            let (h, w) = (rest / shape.width, rest % shape.width);
            let from = image * array.strides[0] + c * channel + h * row + w * column;
            if array.width == 1 && array.kind == Kind::Unsigned {
                pixels.push(array.data[from]);
                continue;
            }
            let value = array.element(from);
            let byte = (value * scale).round();
            // A share of 255 in single precision is off by less than this.
            let is_byte = (0.0..=255.0).contains(&byte) && (value * scale - byte).abs() < 1e-4;
            if !is_byte {
                let expected = "bytes, or floats that are exactly k or k/255 for a byte k";
                return Err(DataError::malformed(
                    path,
                    name,
                    expected,
                    format!("{value} in image {image}"),
                ));
            }
            pixels.push(byte as u8);
        }
    }
    Ok(pixels)
}

fn parse_labels(path: &Path, name: &str, array: &Array<'_>) -> Result<Vec<u8>, DataError> {
    let is_list = matches!(array.shape[..], [_] | [_, 1]);
    if !is_list || array.kind == Kind::Float {
        let found = format!("{:?} {:?} numbers", array.shape, array.kind).to_lowercase();
        return Err(DataError::malformed(path, name, "integers of shape (n) or (n, 1)", found));
    }
    let label = |at: usize| match array.element(at) {
        value @ 0.0..=255.0 => Ok(value as u8),
        value => Err(DataError::malformed(path, name, "labels from 0 to 255", value)),
    };
    (0..array.len()).map(label).collect()
}
