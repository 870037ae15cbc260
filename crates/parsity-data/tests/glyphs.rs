//! The generated data set: frozen, balanced, readable.

use parsity_data::{Cache, Dataset, glyphs};
use sha2::{Digest, Sha256};

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_first_hundred_images_are_frozen() {
    let examples = glyphs::generate(0, 0..100);
    assert_eq!(
        hash(examples.labels()),
        "71c3db43be4aa4671e7cdd574efb737f752fcaef739761b4ebb83ac980a9fd27"
    );
    assert_eq!(
        hash(examples.images()),
        "4dcf779b70edce572928ee2d9e98a5497b7ebad04a5094a750ab5d7e96af7459"
    );
}

#[test]
fn an_image_depends_on_seed_and_index_alone() {
    let all = glyphs::generate(0, 0..64);
    let some = glyphs::generate(0, 37..38);
    assert_eq!((some.image(0), some.label(0)), (all.image(37), all.label(37)));
    assert_ne!(glyphs::generate(1, 37..38), some);
}

#[test]
fn every_ten_images_hold_each_digit_once() {
    let examples = glyphs::generate(0, 0..500);
    for ten in examples.labels().chunks(10) {
        let mut ten = ten.to_vec();
        ten.sort_unstable();
        assert_eq!(ten, (0..10).collect::<Vec<u8>>());
    }
    assert_ne!(examples.labels()[..10], examples.labels()[10..20]);
}

#[test]
fn the_small_set_is_the_beginning_of_the_large_one() {
    let cache = Cache::at("no such folder");
    let small = Dataset::load("glyphs-small", &cache).unwrap();
    assert_eq!((small.train.len(), small.test.len(), small.classes()), (12_000, 2_000, 10));
    let large = Dataset::load("glyphs", &cache).unwrap();
    assert_eq!((large.train.len(), large.test.len(), large.classes()), (60_000, 10_000, 10));
    assert!(large.train.images().starts_with(small.train.images()));
    assert!(large.train.labels().starts_with(small.train.labels()));
    assert!(large.test.images().starts_with(small.test.images()));
    assert_ne!(large.train.image(0), large.test.image(0));
    assert_eq!(
        large.fingerprint(),
        "c0f6a9da05af28c2170855080a035f933b20a09132778e2287013eceea3dd618"
    );
}

/// Mean images are the weakest of classifiers: they must do far better than chance, or
/// there are no digits to see, but not well, or the digits are too alike.
#[test]
fn digits_can_be_told_apart_but_not_trivially() {
    let (train, test) = (glyphs::generate(0, 0..4000), glyphs::generate(0, 50_000..51_000));
    let size = glyphs::SHAPE.len();
    let mut means = vec![vec![0.0; size]; glyphs::CLASSES];
    for index in 0..train.len() {
        let mean = &mut means[usize::from(train.label(index))];
        for (sum, &pixel) in mean.iter_mut().zip(train.image(index)) {
            *sum += f64::from(pixel) / 400.0;
        }
    }
    let distance = |mean: &[f64], image: &[u8]| -> f64 {
        mean.iter().zip(image).map(|(mean, &pixel)| (mean - f64::from(pixel)).powi(2)).sum()
    };
    let nearest = |image: &[u8]| {
        let distances = means.iter().map(|mean| distance(mean, image));
        distances.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).map(|(class, _)| class)
    };
    let is_right =
        |&index: &usize| nearest(test.image(index)) == Some(usize::from(test.label(index)));
    let right = (0..test.len()).filter(is_right).count();
    assert!((450..900).contains(&right), "{right} of 1000");
}
