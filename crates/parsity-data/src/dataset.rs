//! A data set as the laboratory uses it: training and test examples, and what follows.
//!
//! Apart from the formats: here a name or a path becomes checked examples, in whatever
//! form they lie.

use crate::catalog::{Entry, Origin};
use crate::{Cache, DataError, Place, catalog, cifar, files, glyphs, idx, npz};
use parsity_engine::random::{Purpose, Stream};
use parsity_engine::{Examples, Normalization};
use std::path::Path;

/// A data set. Both splits have images of one shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dataset {
    /// Its name, or the path that it was loaded from.
    pub name: String,
    /// The official training set.
    pub train: Examples,
    /// The official test set, never used for the goal.
    pub test: Examples,
}

/// Which examples of the official training set train, and which validate. Ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Indices of the training split.
    pub train: Vec<u32>,
    /// Indices of the validation split.
    pub validation: Vec<u32>,
}

impl Dataset {
    /// Loads a data set by its name, or from a `.npz` file or a folder of IDX or CIFAR-10
    /// files.
    pub fn load(name_or_path: &str, cache: &Cache) -> Result<Self, DataError> {
        if let Some(entry) = catalog::find(name_or_path) {
            return Dataset::load_known(entry, cache);
        }
        let path = Path::new(name_or_path);
        let is_path = path.exists()
            || path.components().count() > 1
            || name_or_path.starts_with('.')
            || path.extension().is_some_and(|extension| extension == "npz");
        if !is_path {
            return Err(catalog::unknown(name_or_path));
        }
        let (train, test) = if path.is_dir() { load_folder(path)? } else { npz::load(path)? };
        same_shape(path, &train, &test)?;
        Ok(Dataset { name: name_or_path.to_owned(), train, test })
    }

    fn load_known(entry: &'static Entry, cache: &Cache) -> Result<Self, DataError> {
        let (train, test) = match (&entry.origin, cache.place(entry)) {
            (Origin::Generated { seed }, _) => (
                glyphs::generate(*seed, 0..entry.train as u64),
                glyphs::generate(*seed, glyphs::TEST..glyphs::TEST + entry.test as u64),
            ),
            (Origin::Published(_), Place::Folder(folder)) => load_folder(&folder)?,
            (Origin::Published(_), _) => return Err(DataError::NotFetched { name: entry.name }),
        };
        Ok(Dataset { name: entry.name.to_owned(), train, test })
    }

    /// How many classes there are: one more than the highest label.
    pub fn classes(&self) -> usize {
        self.train.classes().max(self.test.classes())
    }

    /// How bytes become numbers: by the statistics of the whole official training set.
    pub fn normalization(&self) -> Normalization {
        Normalization::of(&self.train)
    }

    /// The SHA-256 of shape, images and labels of both splits, in hexadecimal: equal
    /// exactly for equal data, whatever its name and form. Reads all bytes.
    pub fn fingerprint(&self) -> String {
        let sizes = |examples: &Examples| {
            let shape = examples.shape();
            let sizes = [examples.len(), shape.channels, shape.height, shape.width];
            sizes.map(|size| (size as u64).to_le_bytes()).concat()
        };
        let (train, test) = (&self.train, &self.test);
        let (train_sizes, test_sizes) = (sizes(train), sizes(test));
        files::sha256(&[
            &train_sizes,
            train.images(),
            train.labels(),
            &test_sizes,
            test.images(),
            test.labels(),
        ])
    }

    /// Draws a validation split: round(`share`·n) of the n official training examples.
    pub fn split(&self, share: f64, seed: u64) -> Split {
        let count = self.train.len();
        let mut order: Vec<u32> = (0..count as u32).collect();
        Stream::new(seed, Purpose::Split, 0).shuffle(&mut order);
        let held_out = ((share * count as f64).round() as usize).min(count);
        let mut train = order.split_off(held_out);
        let mut validation = order;
        train.sort_unstable();
        validation.sort_unstable();
        Split { train, validation }
    }
}

/// The splits in a folder, whichever layout it has.
fn load_folder(folder: &Path) -> Result<(Examples, Examples), DataError> {
    if idx::NAMES.iter().any(|name| idx::find(folder, name).is_some()) {
        idx::load(folder)
    } else if cifar::is_in(folder) {
        cifar::load(folder)
    } else {
        Err(DataError::NoLayout { folder: folder.to_owned() })
    }
}

/// Test images must be like training images.
fn same_shape(path: &Path, train: &Examples, test: &Examples) -> Result<(), DataError> {
    if train.shape() == test.shape() {
        return Ok(());
    }
    let expected = format!("{}, as for training", train.shape());
    Err(DataError::malformed(path, "shape of the test images", expected, test.shape()))
}
