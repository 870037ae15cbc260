//! Data sets from `.npz` files that numpy wrote.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use parsity_data::{Cache, DataError, Dataset};
use parsity_engine::Shape;
use std::fs;
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn load(path: &Path) -> Result<Dataset, DataError> {
    Dataset::load(path.to_str().unwrap(), &Cache::at("no such folder"))
}

/// The bytes of image `i` in the order channel, row, column.
fn image(i: usize, channels: usize) -> Vec<u8> {
    let pixel = |at: usize| (37 * i + 11 * (at / 10) + 5 * (at / 5 % 2) + 3 * (at % 5)) % 256;
    (0..channels * 10).map(|at| pixel(at) as u8).collect()
}

#[test]
fn arrays_of_every_layout_and_type_load() {
    let files = [
        ("bytes-nchw.npz", 3),
        ("bytes-nhw.npz", 1),
        ("unit-floats-nhwc.npz", 3),
        ("floats-fortran.npz", 3),
    ];
    for (name, channels) in files {
        let dataset = load(&fixture(name)).unwrap();
        assert_eq!(dataset.train.shape(), Shape::new(channels, 2, 5), "{name}");
        assert_eq!(dataset.train.labels(), [0, 1, 2, 3], "{name}");
        assert_eq!(dataset.test.labels(), [0, 1], "{name}");
        for index in 0..4 {
            assert_eq!(dataset.train.image(index), image(index, channels), "{name}, {index}");
        }
        assert_eq!(dataset.test.image(1), image(1, channels), "{name}");
    }
}

#[test]
fn arrays_that_are_no_images_or_labels_are_refused_with_the_reason() {
    let message = |name: &str| load(&fixture(name)).unwrap_err().to_string();
    let fractions = message("fractions.npz");
    let expected =
        "x_train: expected bytes, or floats that are exactly k or k/255 for a byte k, found ";
    assert!(fractions.contains(expected), "{fractions}");
    let labels = message("float-labels.npz");
    assert!(
        labels.ends_with(
            "y_train: expected integers of shape (n) or (n, 1), found [4] float numbers"
        ),
        "{labels}"
    );
    let flat = message("flat.npz");
    assert!(
        flat.contains("images of shape (n, h, w)") && flat.ends_with("found [4, 30]"),
        "{flat}"
    );
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.npz");
    for name in ["bytes-nchw.npz", "unit-floats-nhwc.npz"] {
        let whole = fs::read(fixture(name)).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let error = load(&path).unwrap_err().to_string();
            assert!(error.contains("cut.npz"), "{error}");
        }
    }
}

/// The archive carries checksums, so a wrong byte is either noticed or without effect.
#[test]
fn a_file_with_any_wrong_byte_is_refused_or_gives_the_same_data() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wrong.npz");
    for name in ["bytes-nchw.npz", "unit-floats-nhwc.npz"] {
        let whole = fs::read(fixture(name)).unwrap();
        let truth = load(&fixture(name)).unwrap();
        for at in 0..whole.len() {
            for flip in [1, 0x10, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] ^= flip;
                fs::write(&path, bytes).unwrap();
                if let Ok(dataset) = load(&path) {
                    assert_eq!(
                        (&dataset.train, &dataset.test),
                        (&truth.train, &truth.test),
                        "{name}: {at} ^ {flip}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_file_without_the_four_arrays_names_the_missing_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty.npz");
    zip::ZipWriter::new(fs::File::create(&path).unwrap()).finish().unwrap();
    let error = load(&path).unwrap_err().to_string();
    assert!(error.contains("x_train"), "{error}");
}
