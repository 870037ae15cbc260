//! The right to write to a store: one run at a time.

use super::error::StoreError;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long to wait for another run that is ending.
const GRACE: Duration = Duration::from_secs(1);

/// The right to write to a store; only one run has it at a time.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code)] File);

impl Lock {
    /// Takes the right to write to the store at `path`.
    pub fn take(path: &Path) -> Result<Self, StoreError> {
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let file = PathBuf::from(name);
        let refused = |source| StoreError::Lock { path: file.clone(), source };
        let handle = File::create(&file).map_err(refused)?;
        // A run that was just killed may take a moment to let go.
        let begin = Instant::now();
        loop {
            match handle.try_lock() {
                Ok(()) => return Ok(Lock(handle)),
                Err(TryLockError::Error(source)) => return Err(refused(source)),
                Err(TryLockError::WouldBlock) if begin.elapsed() < GRACE => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(StoreError::InUse { path: path.to_owned() });
                }
            }
        }
    }
}
