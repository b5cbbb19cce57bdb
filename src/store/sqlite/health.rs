//! The examination of a database: its version, and what SQLite's own checks find.

use std::time::Duration;

use rusqlite::OpenFlags;
use serde::Serialize;

use super::errors::Refused;
use super::locks::Lock;
use super::{SqliteStore, connect, number, schema, snapshot};
use crate::error::Result;
use crate::store::folder::Folder;
use crate::store::patience::Patience;

/// Maximum number of problems that SQLite lists.
const LISTED: usize = 20;

/// What an examination of the database has found.
///
/// In JSON: `{"version": 2, "supportedVersion": 2, "events": 812, "snapshot": 800, "compactedTo": 0,
/// "freeBytes": 0, "problems": []}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DatabaseHealth {
    /// The version of the schema.
    pub version: u64,
    /// The newest version that this library can read.
    pub supported_version: u64,
    /// Number of events in the table.
    pub events: u64,
    /// The revision of the snapshot from which a stack is opened, with the events after it. 0: there is none
    /// yet.
    pub snapshot: u64,
    /// The revision up to which events of finished trees were compacted. 0: none were.
    pub compacted_to: u64,
    /// Space in the file that is not used, and that later events take, in bytes.
    pub free_bytes: u64,
    /// What SQLite's check of its structures has found; empty if it is sound.
    pub problems: Vec<String>,
}

impl SqliteStore {
    /// Examines a database. Reads the whole file and writes nothing.
    pub(crate) fn health(folder: &Folder, name: &str, patience: Duration) -> Result<DatabaseHealth> {
        let path = &folder.path_of(name);
        schema::refuse_unfit_files(folder, name)?;
        let mut patience = Patience::new(patience);
        let lock = Lock::open(folder, name, "-read")?;
        let _reading = patience.retry(|| lock.try_shared())?;
        let connection = connect(folder, name, OpenFlags::empty())?;
        patience.retry(|| schema::state(&connection, path))?;
        let count = |sql| number(&connection, path, sql).map(|number| u64::try_from(number).unwrap_or_default());
        let problems = {
            let mut statement = connection.prepare(&format!("PRAGMA integrity_check({LISTED})")).refused(path)?;
            let rows = statement.query_map([], |row| row.get::<_, String>(0)).refused(path)?;
            rows.collect::<rusqlite::Result<Vec<_>>>().refused(path)?
        };
        Ok(DatabaseHealth {
            version: count("PRAGMA user_version")?,
            supported_version: schema::CURRENT_VERSION.unsigned_abs(),
            events: count("SELECT count(*) FROM events")?,
            snapshot: snapshot::revision(&connection, path)?,
            compacted_to: snapshot::base_revision(&connection, path)?.cast_unsigned(),
            free_bytes: count("PRAGMA freelist_count")? * count("PRAGMA page_size")?,
            problems: problems.into_iter().filter(|problem| problem != "ok").collect(),
        })
    }
}
