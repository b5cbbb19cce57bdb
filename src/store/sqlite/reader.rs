//! Reading of events, inside and outside of a transaction.

use std::cell::Cell;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use super::errors::{self, Refused};
use super::identity::{Difference, Files, Paths};
use super::locks::{Hold, Lock};
use super::{connect, number, replaced};
use crate::error::{Error, Result};
use crate::frame::Event;
use crate::store::folder::Folder;
use crate::store::patience::Patience;
use crate::store::{EventQuery, HistoryReader};

/// An event of the history, by its revision and a hash of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) revision: i64,
    hash: u64,
}

impl Mark {
    pub(super) fn of(revision: i64, text: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Self { revision, hash: hasher.finish() }
    }

    /// The event of this revision in the database, if there is one.
    pub(super) fn find(connection: &Connection, path: &Path, revision: i64) -> Result<Option<Self>> {
        let found =
            connection.prepare_cached("SELECT event FROM events WHERE revision = ?1").and_then(|mut statement| {
                statement.query_row([revision], |row| Ok(Self::of(revision, row.get_ref(0)?.as_str()?))).optional()
            });
        found.refused(path)
    }
}

/// What a read found in addition to the events.
pub(super) struct Found {
    /// SQLite's counter of commits by other connections, as it was before the reading.
    pub(super) data_version: i64,
    /// The revision of the last event.
    pub(super) last: Option<i64>,
}

/// Passes the events that match the query to `each`. Call it with one of the locks.
pub(super) fn read_events(
    connection: &Connection,
    path: &Path,
    query: &EventQuery,
    patience: Duration,
    each: &mut dyn FnMut(Event) -> Result<()>,
) -> Result<Found> {
    let handed_on = Cell::new(false);
    let mut each = |event: Event| {
        handed_on.set(true);
        each(event)
    };
    Patience::new(patience).retry(|| {
        // Read before the events, so that any later commit counts as news.
        let data_version = number(connection, path, "PRAGMA data_version")?;
        match read_rows(connection, path, query, &mut each) {
            // Must not be repeated: `each` has already received some of the events.
            Err(Error::Busy { path, .. }) if handed_on.get() => {
                Err(Error::io("read", path, "interrupted by another process"))
            }
            result => result.map(|last| Found { data_version, last }),
        }
    })
}

/// Passes the events of the matching rows to `each`. Returns the revision of the last one.
fn read_rows(
    connection: &Connection,
    path: &Path,
    query: &EventQuery,
    each: &mut dyn FnMut(Event) -> Result<()>,
) -> Result<Option<i64>> {
    let frame = query.frame.map(|frame| i64::from(frame.number()));
    let limit = query.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX));
    let [since, until] =
        [query.since, query.until.unwrap_or(u64::MAX)].map(|revision| i64::try_from(revision).unwrap_or(i64::MAX));
    let by_frame = if frame.is_some() { "AND handle = ?3" } else { "AND ?3 IS NULL" };
    let by_kind = if query.kind.is_some() { "AND kind = ?4" } else { "AND ?4 IS NULL" };
    let sql = format!(
        "SELECT revision, event FROM events WHERE revision > ?1 AND revision <= ?2 {by_frame} {by_kind} \
         ORDER BY revision LIMIT ?5"
    );
    let mut statement = connection.prepare_cached(&sql).refused(path)?;
    let mut rows = statement.query(params![since, until, frame, query.kind, limit]).refused(path)?;
    let mut last = None;
    while let Some(row) = rows.next().refused(path)? {
        let revision: i64 = row.get(0).refused(path)?;
        let text = row.get_ref(1).refused(path)?;
        let event = text
            .as_str()
            .map_err(|error| error.to_string())
            .and_then(|text| serde_json::from_str::<Event>(text).map_err(|error| error.to_string()))
            .and_then(|event| match i64::try_from(event.revision) == Ok(revision) {
                true => Ok(event),
                false => Err(format!("its text has the revision {}", event.revision)),
            })
            .map_err(|message| errors::damaged(path, format!("event {revision}: {message}")))?;
        each(event)?;
        last = Some(revision);
    }
    Ok(last)
}

/// Reads a database with connections of its own. In WAL mode they never wait for a transaction.
pub(super) struct SqliteReader {
    folder: Folder,
    name: String,
    paths: Paths,
    /// The files that were opened.
    files: Files,
    /// A connection that no thread uses now.
    idle: Mutex<Option<Reading>>,
}

/// A connection, and the lock that keeps checkpoints away while it reads. Each thread has a lock of its own,
/// because a shared one would be released by the first thread that has finished.
struct Reading {
    connection: Connection,
    lock: Lock,
    hold: Hold,
}

impl fmt::Debug for SqliteReader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SqliteReader").field("name", &self.name).finish_non_exhaustive()
    }
}

impl SqliteReader {
    pub(super) fn new(folder: &Folder, name: &str, files: &Files) -> Self {
        let paths = Paths::of(folder, name);
        Self { folder: folder.clone(), name: name.to_owned(), paths, files: files.clone(), idle: Mutex::default() }
    }

    fn check_in_place(&self) -> Result<()> {
        match self.paths.look().difference(&self.files) {
            Difference::Replaced(suffix) => Err(replaced(&self.folder, &self.name, suffix)),
            _ => Ok(()),
        }
    }

    /// Calls `run` with a connection that no other thread uses now, the path of the database, and what is
    /// left of the patience.
    pub(super) fn with_connection<T>(
        &self,
        patience: Duration,
        run: impl FnOnce(&Connection, &Path, Duration) -> Result<T>,
    ) -> Result<T> {
        self.check_in_place()?;
        let idle = self.idle.lock().take();
        let reading = idle.map_or_else(|| self.connect(), Ok)?;
        let result = reading.run(self, Patience::new(patience), run);
        *self.idle.lock() = Some(reading);
        result
    }

    fn connect(&self) -> Result<Reading> {
        let lock = Lock::open(&self.folder, &self.name, "-read")?;
        let connection = connect(&self.folder, &self.name, OpenFlags::empty())?;
        Ok(Reading { connection, lock, hold: Hold::new(&self.folder, &self.name)? })
    }
}

impl Reading {
    fn run<T>(
        &self,
        reader: &SqliteReader,
        mut patience: Patience,
        run: impl FnOnce(&Connection, &Path, Duration) -> Result<T>,
    ) -> Result<T> {
        let path = &reader.folder.path_of(&reader.name);
        let _locked = patience.retry(|| self.lock.try_shared())?;
        patience.retry(|| self.hold.forbid_checkpoints(path))?;
        let result = reader.check_in_place().and_then(|()| run(&self.connection, path, patience.left()));
        self.hold.allow_checkpoints();
        result
    }
}

impl HistoryReader for SqliteReader {
    fn read(&self, query: &EventQuery, patience: Duration, each: &mut dyn FnMut(Event) -> Result<()>) -> Result<()> {
        self.with_connection(patience, |connection, path, patience| {
            read_events(connection, path, query, patience, each).map(drop)
        })
    }
}
