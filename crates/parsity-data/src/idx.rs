//! IDX, the format of MNIST: a magic number, the sizes, then bytes.
//!
//! Apart from where such files lie. The magic number's third byte names the element
//! type (8 = unsigned byte) and its fourth the number of dimensions; all numbers are
//! big-endian.

use crate::{DataError, files};
use parsity_engine::{Examples, Shape};
use std::path::{Path, PathBuf};

/// The official names, in the order train images, train labels, test images, test labels.
pub(crate) const NAMES: [&str; 4] = [
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
];

/// Where the folder has the file of this official name, in any of its spellings.
pub(crate) fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let dotted = name.replace("-idx", ".idx");
    let spellings = [name.to_owned(), dotted.clone(), format!("{name}.gz"), format!("{dotted}.gz")];
    spellings.iter().map(|spelling| folder.join(spelling)).find(|path| path.is_file())
}

/// The uncompressed content of the file of this official name, and where it lies.
pub(crate) fn content(folder: &Path, name: &str) -> Result<(PathBuf, Vec<u8>), DataError> {
    let missing = || DataError::Missing { folder: folder.to_owned(), file: name.to_owned() };
    let path = find(folder, name).ok_or_else(missing)?;
    let bytes = files::read(&path)?;
    Ok((path, bytes))
}

/// The training and the test examples of the folder.
pub(crate) fn load(folder: &Path) -> Result<(Examples, Examples), DataError> {
    let [train_images, train_labels, test_images, test_labels] = NAMES;
    let train = load_split(folder, train_images, train_labels)?;
    let test = load_split(folder, test_images, test_labels)?;
    Ok((train, test))
}

fn load_split(folder: &Path, images: &str, labels: &str) -> Result<Examples, DataError> {
    let (images_path, bytes) = content(folder, images)?;
    let (shape, images) = parse_images(&images_path, bytes)?;
    let (labels_path, bytes) = content(folder, labels)?;
    let labels = parse_labels(&labels_path, bytes)?;
    let count = images.len() / shape.len();
    if labels.len() != count {
        let expected = format!("{count}, as many as images in {}", images_path.display());
        return Err(DataError::malformed(&labels_path, "number of labels", expected, labels.len()));
    }
    Ok(Examples::new(shape, images, labels).expect("the number of labels was checked"))
}

/// Images of one channel.
fn parse_images(path: &Path, bytes: Vec<u8>) -> Result<(Shape, Vec<u8>), DataError> {
    let ([count, height, width], content) = parse(path, bytes)?;
    if count == 0 || height == 0 || width == 0 {
        let found = format!("{count} images of {height}×{width}");
        return Err(DataError::malformed(path, "sizes", "at least one image of one pixel", found));
    }
    Ok((Shape::new(1, height, width), content))
}

fn parse_labels(path: &Path, bytes: Vec<u8>) -> Result<Vec<u8>, DataError> {
    parse::<1>(path, bytes).map(|([_], labels)| labels)
}

/// The sizes and the content of an IDX file of `DIMENSIONS` dimensions of bytes.
fn parse<const DIMENSIONS: usize>(
    path: &Path,
    mut bytes: Vec<u8>,
) -> Result<([usize; DIMENSIONS], Vec<u8>), DataError> {
    let header = 4 + 4 * DIMENSIONS;
    if bytes.len() < header {
        let expected = format!("a header of {header} bytes");
        return Err(DataError::malformed(
            path,
            "length",
            expected,
            format!("{} bytes", bytes.len()),
        ));
    }
    let number = |at: usize| {
        let word = bytes[4 * at..].first_chunk().expect("the header's length was checked");
        u32::from_be_bytes(*word)
    };
    let magic = 0x800 + DIMENSIONS as u32;
    if number(0) != magic {
        let (expected, found) = (format!("{magic:#010x}"), format!("{:#010x}", number(0)));
        return Err(DataError::malformed(path, "magic number", expected, found));
    }
    let sizes: [usize; DIMENSIONS] = std::array::from_fn(|at| number(at + 1) as usize);
    let content = sizes.iter().try_fold(1usize, |all, &size| all.checked_mul(size));
    let expected = content.and_then(|content| content.checked_add(header));
    if expected != Some(bytes.len()) {
        let product = sizes.map(|size| size.to_string()).join("×");
        let expected = format!("{header} bytes of header and {product} of content");
        return Err(DataError::malformed(
            path,
            "length",
            expected,
            format!("{} bytes", bytes.len()),
        ));
    }
    bytes.drain(..header);
    Ok((sizes, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two images of 2×3 pixels.
    const IMAGES: &[u8] =
        &[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];

    fn images(bytes: &[u8]) -> Result<(Shape, Vec<u8>), DataError> {
        parse_images(Path::new("images"), bytes.to_vec())
    }

    #[test]
    fn images_are_read_row_by_row() {
        let (shape, content) = images(IMAGES).unwrap();
        assert_eq!((shape, content), (Shape::new(1, 2, 3), (1..=12).collect()));
    }

    #[test]
    fn a_file_cut_anywhere_is_refused() {
        for length in 0..IMAGES.len() {
            let error = images(&IMAGES[..length]).unwrap_err().to_string();
            assert!(error.starts_with("images: length: expected "), "{error}");
            assert!(error.ends_with(&format!("found {length} bytes")), "{error}");
        }
    }

    #[test]
    fn any_wrong_byte_in_the_header_is_refused() {
        for at in 0..16 {
            for flip in 1..=255 {
                let mut bytes = IMAGES.to_vec();
                bytes[at] ^= flip;
                assert!(images(&bytes).is_err(), "byte {at} ^ {flip}");
            }
        }
    }

    #[test]
    fn labels_taken_for_images_are_told_by_their_magic_number() {
        let labels = [&[0, 0, 8, 1, 0, 0, 0, 20][..], &[7; 20]].concat();
        let expected = "images: magic number: expected 0x00000803, found 0x00000801";
        assert_eq!(images(&labels).unwrap_err().to_string(), expected);
        assert_eq!(parse_labels(Path::new("labels"), labels).unwrap(), vec![7; 20]);
    }
}
