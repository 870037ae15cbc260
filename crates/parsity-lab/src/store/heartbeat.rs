//! Heartbeats in a store: one row per study, written over about once a second.
//!
//! Apart from records, because nothing follows from a heartbeat: it goes in over a connection
//! of its own, which waits for nobody and need not survive a power cut.

use super::{Store, StoreError, StoredStudy, json};
use crate::heartbeat::Heartbeat;
use rusqlite::{Connection, OpenFlags, params};
use std::path::Path;
use std::time::Duration;

/// How long a heartbeat waits for its turn to be written.
const PATIENCE: Duration = Duration::from_millis(250);

/// A way into a store for the heartbeats of one study.
pub(crate) struct Pulse {
    connection: Connection,
    study: i64,
}

impl Pulse {
    /// Opens it; `None` if that cannot be done, and then there are no heartbeats.
    pub(crate) fn of(path: &Path, study: &StoredStudy) -> Option<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).ok()?;
        connection.busy_timeout(PATIENCE).ok()?;
        // Not on disk at once. Records are: whoever writes one takes along what stands before it.
        connection.execute_batch("PRAGMA synchronous = NORMAL").ok()?;
        Some(Pulse { connection, study: study.id })
    }

    /// Writes a heartbeat, if that can be done at once.
    pub(crate) fn write(&self, heartbeat: &Heartbeat) {
        let sql = "INSERT INTO heartbeat VALUES (?, ?, ?)
                   ON CONFLICT (study) DO UPDATE SET at = excluded.at, state = excluded.state";
        let row = params![self.study, heartbeat.at, json(heartbeat)];
        // The next one may have more luck.
        let _ = self.connection.prepare_cached(sql).and_then(|mut it| it.execute(row));
    }
}

impl Store {
    /// The last heartbeat of a study, if it ever had one that can be read.
    pub fn heartbeat(&self, study: &StoredStudy) -> Result<Option<Heartbeat>, StoreError> {
        let sql = "SELECT state FROM heartbeat WHERE study = ?";
        let rows = self.rows(sql, [study.id], |row| row.get::<_, String>(0))?;
        Ok(rows.first().and_then(|state| serde_json::from_str(state).ok()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parsity_study::builtin;

    #[test]
    fn the_last_heartbeat_is_read_while_a_run_writes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.sqlite");
        let study = builtin::study("quickstart").unwrap();
        let mut store = Store::open(&path).unwrap();
        let entered = store.enter(&study, "data").unwrap();
        let reader = Store::look_at(&path).unwrap();
        assert_eq!(reader.heartbeat(&entered).unwrap(), None);
        let pulse = Pulse::of(&path, &entered).unwrap();
        let mut heartbeat = Heartbeat {
            pid: 7,
            since: 1.0,
            at: 2.5,
            ended: false,
            threads: 2,
            trained: 10,
            evaluated: 20,
            images_per_second: 0.1,
            trials: Vec::new(),
        };
        for at in [3.5, 4.5] {
            heartbeat.at = at;
            pulse.write(&heartbeat);
            assert_eq!(reader.heartbeat(&entered).unwrap().as_ref(), Some(&heartbeat));
        }
        // What nobody can read is as good as none.
        store.connection.execute("UPDATE heartbeat SET state = '{'", []).unwrap();
        assert_eq!(reader.heartbeat(&entered).unwrap(), None);
    }
}
