//! Names, splits and the cache.

use parsity_data::{
    Cache, DataError, Dataset, Place, Source, catalog, fetch, glyphs, status, verify, where_is,
};

fn small() -> Dataset {
    let (train, test) = (glyphs::generate(0, 0..1005), glyphs::generate(0, 2000..2100));
    Dataset { name: "some".into(), train, test }
}

#[test]
fn a_split_holds_every_example_once_in_ascending_order() {
    let split = small().split(0.1, 0);
    assert_eq!((split.train.len(), split.validation.len()), (904, 101));
    assert!(split.train.is_sorted() && split.validation.is_sorted());
    let mut all = [split.train, split.validation].concat();
    all.sort_unstable();
    assert_eq!(all, (0..1005).collect::<Vec<u32>>());
}

#[test]
fn a_split_depends_on_its_seed_alone() {
    assert_eq!(small().split(0.1, 0), small().split(0.1, 0));
    assert_ne!(small().split(0.1, 0), small().split(0.1, 1));
}

#[test]
fn the_split_of_the_studies_is_frozen() {
    assert_eq!(small().split(0.1, 0).validation[..8], FROZEN_VALIDATION);
}
const FROZEN_VALIDATION: [u32; 8] = [18, 19, 23, 25, 26, 35, 37, 57];

#[test]
fn extreme_shares_give_everything_to_one_side() {
    assert_eq!(small().split(0.0, 0).validation.len(), 0);
    assert_eq!(small().split(1.0, 0).train.len(), 0);
}

#[test]
fn the_fingerprint_tells_data_apart_and_ignores_the_name() {
    let dataset = small();
    let renamed = Dataset { name: "other".into(), ..dataset.clone() };
    let swapped =
        Dataset { name: "some".into(), train: dataset.test.clone(), test: dataset.train.clone() };
    assert_eq!(dataset.fingerprint(), renamed.fingerprint());
    assert_ne!(dataset.fingerprint(), swapped.fingerprint());
    assert_eq!(dataset.fingerprint().len(), 64);
}

#[test]
fn a_data_set_that_was_not_fetched_says_how_to_get_it() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    for error in [Dataset::load("mnist", &cache).unwrap_err(), verify("mnist", &cache).unwrap_err()]
    {
        assert!(error.to_string().ends_with("`parsity data fetch mnist`"), "{error}");
    }
    assert_eq!(where_is("mnist", &cache).unwrap(), Place::Available);
    assert_eq!(where_is("glyphs", &cache).unwrap(), Place::Generated);
    assert!(matches!(where_is("mnits", &cache), Err(DataError::Unknown { .. })));
    assert!(matches!(Dataset::load("mnits", &cache), Err(DataError::Unknown { .. })));
}

#[test]
fn generated_data_sets_need_no_fetching() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path().join("never made"));
    let fetched = fetch("glyphs", &Source::Auto, &cache, &mut |_| {}).unwrap();
    assert_eq!((fetched.place, fetched.from), (Place::Generated, None));
    assert!(!cache.folder().exists());
}

#[test]
fn the_status_lists_every_known_data_set() {
    let folder = tempfile::tempdir().unwrap();
    let status = status(&Cache::at(folder.path()));
    let names: Vec<&str> = status.iter().map(|status| status.name).collect();
    let known: Vec<&str> = catalog::CATALOG.iter().map(|entry| entry.name).collect();
    assert_eq!(names, known);
    assert_eq!(status[0].place, Place::Generated);
}

#[test]
fn a_folder_without_the_files_cannot_be_fetched_from() {
    let folder = tempfile::tempdir().unwrap();
    let source = Source::Folder(folder.path().to_owned());
    let cache = Cache::at(folder.path().join("cache"));
    let error = fetch("cifar10", &source, &cache, &mut |_| {}).unwrap_err();
    assert!(matches!(error, DataError::Missing { .. }), "{error}");
}
