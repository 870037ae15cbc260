//! Data sets from folders: IDX and CIFAR-10 in all their forms, whole and broken.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use flate2::Compression;
use flate2::write::GzEncoder;
use parsity_data::{Cache, DataError, Dataset};
use parsity_engine::Shape;
use std::fs;
use std::io::Write;
use std::path::Path;
use tempfile::TempDir;

const BATCHES: [&str; 6] =
    ["data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"];

fn load(path: &Path) -> Result<Dataset, DataError> {
    Dataset::load(path.to_str().unwrap(), &Cache::at("no such folder"))
}

fn fixture(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)).unwrap()
}

fn images(count: u8) -> Vec<u8> {
    let content = (0..count * 6).map(|at| at.wrapping_mul(13));
    [0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, 2, 0, 0, 0, 3].into_iter().chain(content).collect()
}

fn labels(count: u8) -> Vec<u8> {
    [0, 0, 8, 1, 0, 0, 0, count].into_iter().chain(0..count).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A folder of four IDX files, named with `mark` before `idx`.
fn idx_folder(mark: char, zipped: bool) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("train-images", 3, images(5)),
        ("train-labels", 1, labels(5)),
        ("t10k-images", 3, images(2)),
        ("t10k-labels", 1, labels(2)),
    ];
    for (stem, dimensions, content) in files {
        let name = format!("{stem}{mark}idx{dimensions}-ubyte{}", if zipped { ".gz" } else { "" });
        let content = if zipped { gzip(&content) } else { content };
        fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

#[test]
fn idx_files_load_in_every_spelling() {
    let mut fingerprints = Vec::new();
    for (mark, zipped) in [('-', false), ('-', true), ('.', false), ('.', true)] {
        let dataset = load(idx_folder(mark, zipped).path()).unwrap();
        assert_eq!(dataset.train.shape(), Shape::new(1, 2, 3));
        assert_eq!(dataset.train.labels(), [0, 1, 2, 3, 4]);
        assert_eq!(dataset.test.image(1), [78, 91, 104, 117, 130, 143]);
        assert_eq!(dataset.classes(), 5);
        fingerprints.push(dataset.fingerprint());
    }
    fingerprints.dedup();
    assert_eq!(fingerprints.len(), 1);
}

#[test]
fn an_idx_folder_with_a_file_missing_is_refused() {
    let folder = idx_folder('-', false);
    fs::remove_file(folder.path().join("t10k-labels-idx1-ubyte")).unwrap();
    let error = load(folder.path()).unwrap_err().to_string();
    assert!(error.contains("has no t10k-labels-idx1-ubyte"), "{error}");
}

#[test]
fn an_idx_file_cut_anywhere_is_refused_and_named() {
    for zipped in [false, true] {
        let folder = idx_folder('-', zipped);
        let name = format!("train-images-idx3-ubyte{}", if zipped { ".gz" } else { "" });
        let path = folder.path().join(&name);
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let error = load(folder.path()).unwrap_err().to_string();
            assert!(error.contains(&name) && error.contains("expected"), "{length}: {error}");
        }
    }
}

#[test]
fn labels_must_be_as_many_as_images() {
    let folder = idx_folder('-', false);
    fs::write(folder.path().join("train-labels-idx1-ubyte"), labels(4)).unwrap();
    let error = load(folder.path()).unwrap_err().to_string();
    assert!(error.contains("number of labels: expected 5"), "{error}");
    assert!(error.ends_with("found 4"), "{error}");
}

#[test]
fn test_images_must_have_the_shape_of_training_images() {
    let folder = idx_folder('-', false);
    let flipped = [&[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 2][..], &[0; 12]].concat();
    fs::write(folder.path().join("t10k-images-idx3-ubyte"), flipped).unwrap();
    let error = load(folder.path()).unwrap_err().to_string();
    assert!(error.ends_with("expected 1×2×3, as for training, found 1×3×2"), "{error}");
}

#[test]
fn a_folder_without_a_data_set_says_what_was_expected() {
    let folder = tempfile::tempdir().unwrap();
    let error = load(folder.path()).unwrap_err();
    assert!(matches!(error, DataError::NoLayout { .. }), "{error}");
    let absent = load(&folder.path().join("absent")).unwrap_err();
    assert!(matches!(absent, DataError::Io { .. }), "{absent}");
}

/// The records that the pickled fixtures hold.
fn records() -> Vec<u8> {
    let record = |i: usize| {
        let pixels = (0..3072).map(move |j| ((31 * i + 7 * j) % 256) as u8);
        [(3 * i % 10) as u8].into_iter().chain(pixels)
    };
    (0..3).flat_map(record).collect()
}

/// A folder that has the content as every batch.
fn cifar_folder(inner: &str, ending: &str, content: &[u8]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join(inner)).unwrap();
    for batch in BATCHES {
        fs::write(folder.path().join(inner).join(format!("{batch}{ending}")), content).unwrap();
    }
    folder
}

#[test]
fn cifar_loads_from_the_binary_layout_and_from_every_pickle() {
    let mut folders = vec![
        cifar_folder("", ".bin", &records()),
        cifar_folder("cifar-10-batches-bin", ".bin", &records()),
        cifar_folder("cifar-10-batches-py", "", &fixture("official.pickle")),
    ];
    for name in ["official", "python3-protocol2", "python3-protocol3", "fortran"] {
        folders.push(cifar_folder("", "", &fixture(&format!("{name}.pickle"))));
    }
    for folder in &folders {
        let dataset = load(folder.path()).unwrap();
        assert_eq!(dataset.train.shape(), Shape::new(3, 32, 32));
        assert_eq!((dataset.train.len(), dataset.test.len()), (15, 3));
        assert_eq!(dataset.test.labels(), [0, 3, 6]);
        assert_eq!(dataset.train.image(13), &records()[3074..6146]);
    }
}

#[test]
fn cifar_loads_from_pictures_with_labels_beside_them() {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 1024, 3);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let records = records();
    let pixel = |i: usize, p: usize, c: usize| records[i * 3073 + 1 + c * 1024 + p];
    let interleaved: Vec<u8> =
        (0..3 * 1024 * 3).map(|at| pixel(at / 3072, at / 3 % 1024, at % 3)).collect();
    encoder.write_header().unwrap().write_image_data(&interleaved).unwrap();
    let folder = cifar_folder("", ".png", &bytes);
    fs::write(folder.path().join("train_lables.json"), "[0,1,2,3,4,5,6,7,8,9,0,1,2,3,4]").unwrap();
    fs::write(folder.path().join("test_lables.json"), "[7,8,9]").unwrap();
    let dataset = load(folder.path()).unwrap();
    assert_eq!(dataset.train.labels(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4]);
    assert_eq!(dataset.test.labels(), [7, 8, 9]);
    assert_eq!(dataset.train.image(1), &records[3074..6146]);
    fs::write(folder.path().join("test_lables.json"), "[7,8]").unwrap();
    let error = load(folder.path()).unwrap_err().to_string();
    assert!(error.ends_with("number of labels: expected at least 3, found 2"), "{error}");
    for length in (0..bytes.len()).step_by(97) {
        fs::write(folder.path().join("data_batch_2.png"), &bytes[..length]).unwrap();
        let error = load(folder.path()).unwrap_err().to_string();
        assert!(error.contains("data_batch_2.png"), "{error}");
    }
}

#[test]
fn a_binary_batch_cut_anywhere_is_refused() {
    let folder = cifar_folder("", ".bin", &records());
    let path = folder.path().join("data_batch_3.bin");
    // Between two records as well, where only the other batches can tell.
    for length in (0..3 * 3073).step_by(439).chain([1, 3072, 3073, 6146, 9218]) {
        fs::write(&path, &records()[..length]).unwrap();
        let error = load(folder.path()).unwrap_err().to_string();
        assert!(error.contains("data_batch_3.bin"), "{length}: {error}");
    }
}

#[test]
fn a_label_beyond_the_ten_classes_is_refused() {
    let folder = cifar_folder("", ".bin", &records());
    let mut wrong = records();
    wrong[2 * 3073] = 10;
    fs::write(folder.path().join("test_batch.bin"), wrong).unwrap();
    let error = load(folder.path()).unwrap_err().to_string();
    assert!(error.ends_with("label of image 2: expected a number below 10, found 10"), "{error}");
}

#[test]
fn a_pickle_cut_anywhere_is_refused() {
    for name in ["official.pickle", "python3-protocol2.pickle"] {
        let whole = fixture(name);
        let folder = cifar_folder("", "", &whole);
        let path = folder.path().join("data_batch_1");
        for length in (0..400).chain((400..whole.len()).step_by(101)).chain([whole.len() - 1]) {
            fs::write(&path, &whole[..length]).unwrap();
            assert!(load(folder.path()).is_err(), "{name} cut at {length}");
        }
    }
}

/// Pixels and labels have no check of their own, but no other byte may be changed without
/// an error or the same data, and none may cause a panic.
#[test]
fn a_pickle_with_a_wrong_byte_never_gives_data_of_another_shape() {
    let whole = fixture("official.pickle");
    let folder = cifar_folder("", "", &whole);
    let path = folder.path().join("data_batch_1");
    for at in (0..330).chain(whole.len() - 60..whole.len()) {
        for flip in [1, 2, 8, 0x20, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            fs::write(&path, bytes).unwrap();
            if let Ok(dataset) = load(folder.path()) {
                assert_eq!(
                    (dataset.train.len(), dataset.test.len()),
                    (15, 3),
                    "byte {at} ^ {flip}"
                );
            }
        }
    }
}

#[test]
fn a_pickle_that_calls_anything_else_is_refused_by_name() {
    let folder = cifar_folder("", "", b"\x80\x02cos\nsystem\nU\x04true\x85R.");
    let error = load(folder.path()).unwrap_err().to_string();
    let expected = "name: expected one of numpy's array constructors, found os.system";
    assert!(error.ends_with(expected), "{error}");
}
