//! CIFAR-10: six batches, in one of three forms.
//!
//! Apart because all forms meet in one, the binary layout: records of a label and 3,072
//! bytes of pixels, red, green, blue, each 32×32. The pickled form is the one most people
//! have; the pictures are what packages carry: one row of 1,024 pixels per image.

use crate::{DataError, files, pickle};
use parsity_engine::{Examples, Shape};
use std::fs;
use std::path::{Path, PathBuf};

/// The shape of every image.
pub(crate) const SHAPE: Shape = Shape::new(3, 32, 32);
/// Pixels of an image.
const PIXELS: usize = 32 * 32;
/// A label and an image.
const RECORD: usize = 1 + SHAPE.len();
/// How many classes there are.
pub(crate) const CLASSES: u8 = 10;

/// The batches, the test batch last.
pub(crate) const BATCHES: [&str; 6] =
    ["data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"];

/// The forms that a batch comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Binary,
    Pickle,
    Picture,
}

/// Where the folder, or the one that the official archives put inside of it, has the batch.
fn find(folder: &Path, batch: &str) -> Option<(Form, PathBuf)> {
    for inner in ["", "cifar-10-batches-bin", "cifar-10-batches-py"] {
        for (form, ending) in [(Form::Binary, ".bin"), (Form::Pickle, ""), (Form::Picture, ".png")]
        {
            let path = folder.join(inner).join(format!("{batch}{ending}"));
            if path.is_file() {
                return Some((form, path));
            }
        }
    }
    None
}

/// Whether the folder has batches.
pub(crate) fn is_in(folder: &Path) -> bool {
    find(folder, BATCHES[0]).is_some()
}

/// The batch in the binary layout, and where it lies.
pub(crate) fn content(folder: &Path, batch: &str) -> Result<(PathBuf, Vec<u8>), DataError> {
    let missing = || DataError::Missing { folder: folder.to_owned(), file: batch.to_owned() };
    let (form, path) = find(folder, batch).ok_or_else(missing)?;
    let bytes = files::read(&path)?;
    let records = match form {
        Form::Binary => bytes,
        Form::Pickle => {
            let (labels, pixels) = pickle::parse_batch(&path, &bytes, SHAPE.len())?;
            join(&labels, &pixels)
        }
        Form::Picture => {
            let pixels = decode_picture(&path, &bytes)?;
            let labels = picture_labels(&path, batch, pixels.len() / SHAPE.len())?;
            join(&labels, &pixels)
        }
    };
    check(&path, &records)?;
    Ok((path, records))
}

/// The training and the test examples of the folder.
pub(crate) fn load(folder: &Path) -> Result<(Examples, Examples), DataError> {
    let (mut images, mut labels) = (Vec::new(), Vec::new());
    let mut expected = None;
    for batch in BATCHES {
        let (path, records) = content(folder, batch)?;
        let length = records.len();
        // The layout does not say how many records there are, but all batches have equally
        // many: this is how a batch that was cut between two records is told.
        if *expected.get_or_insert(length) != length {
            let expected = expected.map_or(0, |length| length / RECORD);
            return Err(DataError::malformed(
                &path,
                "number of images",
                format!("{expected}, as in {}", BATCHES[0]),
                length / RECORD,
            ));
        }
        for record in records.chunks_exact(RECORD) {
            labels.push(record[0]);
            images.extend_from_slice(&record[1..]);
        }
    }
    let training = labels.len() / BATCHES.len() * (BATCHES.len() - 1);
    let test_images = images.split_off(training * SHAPE.len());
    let test_labels = labels.split_off(training);
    let split = |images, labels| {
        Examples::new(SHAPE, images, labels).expect("every record has one label and one image")
    };
    Ok((split(images, labels), split(test_images, test_labels)))
}

/// Whole records whose labels are classes of CIFAR-10.
fn check(path: &Path, records: &[u8]) -> Result<(), DataError> {
    if records.is_empty() || !records.len().is_multiple_of(RECORD) {
        let expected = format!("a positive multiple of {RECORD} bytes");
        let found = format!("{} bytes", records.len());
        return Err(DataError::malformed(path, "length", expected, found));
    }
    let labels = records.iter().step_by(RECORD);
    match labels.enumerate().find(|&(_, &label)| label >= CLASSES) {
        Some((index, label)) => {
            let part = format!("label of image {index}");
            Err(DataError::malformed(path, part, format!("a number below {CLASSES}"), label))
        }
        None => Ok(()),
    }
}

/// Records from labels and the images' bytes.
fn join(labels: &[u8], pixels: &[u8]) -> Vec<u8> {
    let mut records = Vec::with_capacity(labels.len() * RECORD);
    for (label, image) in labels.iter().zip(pixels.chunks_exact(SHAPE.len())) {
        records.push(*label);
        records.extend_from_slice(image);
    }
    records
}

/// Images from a picture that has one per row, its pixels interleaved.
fn decode_picture(path: &Path, bytes: &[u8]) -> Result<Vec<u8>, DataError> {
    let broken =
        |error: png::DecodingError| DataError::malformed(path, "content", "a PNG picture", error);
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().map_err(broken)?;
    let info = reader.info();
    let (width, color, depth) = (info.width as usize, info.color_type, info.bit_depth);
    if (width, color, depth) != (PIXELS, png::ColorType::Rgb, png::BitDepth::Eight) {
        let expected = format!("rows of {PIXELS} RGB pixels of 8 bits");
        let found = format!("{width} {color:?} pixels of {depth:?} bits");
        return Err(DataError::malformed(path, "layout", expected, found));
    }
    let mut images = Vec::new();
    while let Some(row) = reader.next_row().map_err(broken)? {
        for channel in 0..SHAPE.channels {
            images.extend(row.data().iter().skip(channel).step_by(SHAPE.channels));
        }
    }
    Ok(images)
}

/// The labels of a picture's images: a list beside the pictures, one for all training
/// batches and one for the test batch. Its odd name is the package's.
fn picture_labels(picture: &Path, batch: &str, count: usize) -> Result<Vec<u8>, DataError> {
    let index = BATCHES.iter().position(|&name| name == batch).unwrap_or(0);
    let (name, start) = match batch {
        "test_batch" => ("test_lables.json", 0),
        _ => ("train_lables.json", index * count),
    };
    let path = picture.with_file_name(name);
    let text = fs::read(&path).map_err(DataError::io("reading", &path))?;
    let labels: Vec<u8> = serde_json::from_slice(&text)
        .map_err(|error| DataError::malformed(&path, "content", "a list of labels", error))?;
    let own = labels.get(start..start + count).ok_or_else(|| {
        let expected = format!("at least {}", start + count);
        DataError::malformed(&path, "number of labels", expected, labels.len())
    })?;
    Ok(own.to_vec())
}
