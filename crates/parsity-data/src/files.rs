//! One file's bytes: read whole, unzipped, hashed.
//!
//! Apart so that every format is parsed from a slice in memory, where each length can be
//! checked before anything is believed.

use crate::DataError;
use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::Read;
use std::path::Path;

/// The content of the file, unzipped if its name ends in `.gz`.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, DataError> {
    let bytes = fs::read(path).map_err(DataError::io("reading", path))?;
    if path.extension().is_none_or(|extension| extension != "gz") {
        return Ok(bytes);
    }
    let mut content = Vec::new();
    let unzipped = MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut content);
    unzipped.map_err(|error| DataError::malformed(path, "content", "a whole gzip file", error))?;
    Ok(content)
}

/// The SHA-256 of the parts, one after the other, in hexadecimal.
pub(crate) fn sha256(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_standard() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(&[b"a", b"bc"]), expected);
    }
}
