//! The folder in which fetched data sets are kept, and what is in it.
//!
//! Apart from fetching, because most work only looks: loading, listing, verifying.

use crate::catalog::{CATALOG, Entry, Origin, Published};
use crate::{DataError, catalog, files};
use etcetera::BaseStrategy;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The variable that names another folder for data sets.
pub const VARIABLE: &str = "PARSITY_DATA";

/// The folder in which data sets are kept, each in a folder of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    folder: PathBuf,
}

/// Where a data set is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Nowhere: it is made anew at every load.
    Generated,
    /// In this folder.
    Folder(PathBuf),
    /// Not on this machine, but it can be fetched.
    Available,
}

/// A known data set on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Its name.
    pub name: &'static str,
    /// Where it is.
    pub place: Place,
    /// How many bytes it takes there.
    pub bytes: u64,
}

impl Cache {
    /// The user's cache: the folder that `PARSITY_DATA` names, or else `parsity/data` in
    /// the place where this system keeps such things.
    pub fn of_user() -> Result<Self, DataError> {
        if let Some(folder) = env::var_os(VARIABLE).filter(|folder| !folder.is_empty()) {
            return Ok(Cache::at(folder));
        }
        let places = etcetera::choose_base_strategy().map_err(|_| DataError::NoCache)?;
        Ok(Cache::at(places.cache_dir().join("parsity").join("data")))
    }

    /// A cache in this folder, which need not exist yet.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Cache { folder: folder.into() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where a known data set is.
    pub(crate) fn place(&self, entry: &Entry) -> Place {
        let Origin::Published(published) = &entry.origin else {
            return Place::Generated;
        };
        let own = self.folder.join(entry.name);
        // A data set moves into the cache as a whole, so its folder says that it is there.
        if own.is_dir() {
            return Place::Folder(own);
        }
        match published.installed.map(PathBuf::from).filter(|folder| folder.is_dir()) {
            Some(installed) => Place::Folder(installed),
            None => Place::Available,
        }
    }
}

/// Where the data set of this name is.
pub fn where_is(name: &str, cache: &Cache) -> Result<Place, DataError> {
    catalog::require(name).map(|entry| cache.place(entry))
}

/// All known data sets on this machine.
pub fn status(cache: &Cache) -> Vec<Status> {
    let status = |entry: &'static Entry| {
        let place = cache.place(entry);
        let bytes = match &place {
            Place::Folder(folder) => size_of(folder),
            Place::Generated | Place::Available => 0,
        };
        Status { name: entry.name, place, bytes }
    };
    CATALOG.iter().map(status).collect()
}

/// Hashes the data set of this name anew, and tells where it is.
pub fn verify(name: &str, cache: &Cache) -> Result<Place, DataError> {
    let entry = catalog::require(name)?;
    let place = cache.place(entry);
    match (&entry.origin, &place) {
        (Origin::Published(published), Place::Folder(folder)) => published.check(folder)?,
        (Origin::Published(_), _) => return Err(DataError::NotFetched { name: entry.name }),
        (Origin::Generated { .. }, _) => {}
    }
    Ok(place)
}

impl Published {
    /// Whether all files in the folder have the published content.
    pub(crate) fn check(&self, folder: &Path) -> Result<(), DataError> {
        self.files.iter().try_for_each(|file| self.content(folder, file).map(drop))
    }

    /// The content of a file in its canonical form, from a folder that has it in any form.
    pub(crate) fn content(
        &self,
        folder: &Path,
        file: &catalog::File,
    ) -> Result<Vec<u8>, DataError> {
        let (path, content) = self.layout.content(folder, file.name)?;
        let found = files::sha256(&[&content]);
        if found == file.sha256 {
            Ok(content)
        } else {
            Err(DataError::WrongContent { path, expected: file.sha256, found })
        }
    }
}

impl catalog::Layout {
    fn content(self, folder: &Path, name: &str) -> Result<(PathBuf, Vec<u8>), DataError> {
        match self {
            catalog::Layout::Idx => crate::idx::content(folder, name),
            catalog::Layout::Cifar => crate::cifar::content(folder, name.trim_end_matches(".bin")),
        }
    }
}

/// The bytes of the files in a folder; what cannot be read counts nothing.
fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| entry.metadata())
        .filter(fs::Metadata::is_file)
        .map(|file| file.len())
        .sum()
}
