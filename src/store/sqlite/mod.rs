//! The store in an SQLite database, `stack.db`. Several processes can use it at the same time, and commits are
//! atomic.
//!
//! One table holds the events as JSON, with the same text as a line of an export. Its primary key is the
//! revision, so the database never keeps two commits that were decided on the same history.

mod errors;
mod schema;

use std::cell::Cell;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, params};

use super::{BUSY_TIMEOUT, Durability, EventQuery, HistoryReader, Store, files};
use crate::error::{Error, Result};
use crate::frame::Event;
use errors::Refused;
pub(crate) use errors::damaged as damaged_database;

/// Size of the write-ahead log, in pages of 4 KB, at which SQLite copies it into the database.
const CHECKPOINT_PAGES: u32 = 1000;
/// Size to which the file of the write-ahead log is truncated, in bytes.
const LOG_LIMIT: u32 = 8 << 20;
/// Waits between two attempts to lock the database. They start short, because a commit takes microseconds.
const SHORTEST_WAIT: Duration = Duration::from_micros(50);
const LONGEST_WAIT: Duration = Duration::from_millis(4);

/// The options of a [`SqliteStore`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// The failures that an acknowledged commit survives. Default [`Durability::Normal`].
    pub durability: Durability,
    /// Maximum wait of [`SqliteStore::open`] for other processes, in milliseconds; then it fails with [`Error::Busy`].
    /// Default 10,000. The methods of [`Store`] get their maximum wait from the caller.
    pub busy_timeout: u64,
}

impl SqliteOptions {
    setters! {
        durability: Durability,
        busy_timeout: u64,
    }
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self { durability: Durability::default(), busy_timeout: BUSY_TIMEOUT }
    }
}

/// A store that keeps the events of a tree in an SQLite database in WAL mode.
///
/// Any number of processes may open the same database. They must run on one machine, because the
/// write-ahead log needs shared memory; network file systems are not supported.
///
/// ```
/// use callstack_core::{NewFrame, SqliteOptions, SqliteStore, Stack, StackOptions};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("stack.db");
/// let store = SqliteStore::open(path, SqliteOptions::default())?;
/// let stack = Stack::with_store(store, StackOptions::default())?;
/// stack.push(NewFrame::new("Build a shop"))?;
/// # Ok::<(), callstack_core::Error>(())
/// ```
pub struct SqliteStore {
    connection: Connection,
    path: PathBuf,
    /// SQLite's counter of commits by other connections, at the last read of the newest events.
    data_version: i64,
    /// True once the complete history was read without an error. Before that, nothing is written to the
    /// file, not even when it is closed.
    is_sound: bool,
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SqliteStore").field("path", &self.path).finish_non_exhaustive()
    }
}

impl SqliteStore {
    /// Opens the database, or creates it if the file is missing. A database of an older version of this library
    /// is migrated; a copy of the original is kept in the same folder.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the file is not a database of this library; [`Error::Version`] if a newer
    /// version of the library created it; [`Error::ReadOnly`], [`Error::DiskFull`], [`Error::Busy`],
    /// [`Error::Io`]. After an error the file is unchanged.
    pub fn open(path: impl Into<PathBuf>, options: SqliteOptions) -> Result<Self> {
        let path = path.into();
        schema::refuse_lost_database(&path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_PRIVATE_CACHE;
        let connection =
            Connection::open_with_flags(&path, flags).refused(&path).map_err(|error| with_cause(error, &path))?;
        let mut store = Self { connection, path, data_version: 0, is_sound: false };
        store.set_up(options.durability, Duration::from_millis(options.busy_timeout))?;
        Ok(store)
    }

    fn set_up(&mut self, durability: Durability, patience: Duration) -> Result<()> {
        let (connection, path) = (&self.connection, &self.path);
        connection.busy_timeout(Duration::ZERO).refused(path)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).refused(path)?;
        let mut patience = Patience::new(patience);
        let state = patience.retry(|| schema::state(connection, path))?;
        patience.retry(|| {
            let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).refused(path)?;
            if mode != "wal" {
                let message = "SQLite cannot use a write-ahead log here; use a folder on a local disk";
                return Err(Error::io("share", path.display().to_string(), message));
            }
            let synchronous = if durability == Durability::Full { "FULL" } else { "NORMAL" };
            connection.pragma_update(None, "synchronous", synchronous).refused(path)?;
            connection
                .query_row(&format!("PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}"), [], |_| Ok(()))
                .refused(path)?;
            connection.query_row(&format!("PRAGMA journal_size_limit = {LOG_LIMIT}"), [], |_| Ok(())).refused(path)
        })?;
        if state != schema::State::Current {
            patience.retry(|| schema::bring_up_to_date(connection, path, schema::MIGRATIONS))?;
        }
        Ok(())
    }

    fn run(&self, sql: &str) -> Result<()> {
        self.connection.prepare_cached(sql).and_then(|mut statement| statement.execute([])).refused(&self.path)?;
        Ok(())
    }

    fn number(&self, sql: &str) -> Result<i64> {
        number(&self.connection, &self.path, sql)
    }
}

/// The remaining time in which calls may wait for other processes. The elapsed time is the sum of the waits: no clock is
/// read.
struct Patience {
    limit: Duration,
    waited: Duration,
}

impl Patience {
    fn new(limit: Duration) -> Self {
        Self { limit, waited: Duration::ZERO }
    }

    /// Repeats `run` while it fails with [`Error::Busy`], until the time is over.
    fn retry<T>(&mut self, mut run: impl FnMut() -> Result<T>) -> Result<T> {
        let mut wait = SHORTEST_WAIT;
        loop {
            match run() {
                Err(Error::Busy { path, .. }) if self.waited >= self.limit => {
                    return Err(Error::Busy { path, waited: self.waited.as_millis() as u64 });
                }
                Err(Error::Busy { .. }) => {
                    std::thread::sleep(wait);
                    self.waited += wait;
                    wait = (wait * 2).min(LONGEST_WAIT);
                }
                done => return done,
            }
        }
    }
}

fn number(connection: &Connection, path: &Path, sql: &str) -> Result<i64> {
    connection.prepare_cached(sql).and_then(|mut statement| statement.query_row([], |row| row.get(0))).refused(path)
}

/// Passes the events that match the query to `each`. Returns SQLite's counter of commits by other connections, as it was
/// before the reading.
fn read_events(
    connection: &Connection,
    path: &Path,
    query: &EventQuery,
    patience: Duration,
    each: &mut dyn FnMut(Event) -> Result<()>,
) -> Result<i64> {
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
            result => result.map(|()| data_version),
        }
    })
}

/// Passes the events of the matching rows to `each`.
fn read_rows(
    connection: &Connection,
    path: &Path,
    query: &EventQuery,
    each: &mut dyn FnMut(Event) -> Result<()>,
) -> Result<()> {
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
    }
    Ok(())
}

impl Store for SqliteStore {
    fn begin(&mut self, patience: Duration) -> Result<()> {
        self.rollback();
        Patience::new(patience).retry(|| self.run("BEGIN IMMEDIATE"))?;
        // A newer version of the library may have migrated the schema after this store opened the file.
        let version = self.number("PRAGMA user_version");
        let checked = version.and_then(|version| schema::refuse_newer(version, &self.path));
        if checked.is_err() {
            self.rollback();
        }
        checked
    }

    fn read(
        &mut self,
        query: &EventQuery,
        patience: Duration,
        each: &mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<()> {
        let data_version = read_events(&self.connection, &self.path, query, patience, each)?;
        if query.until.is_none() && query.frame.is_none() && query.kind.is_none() && query.limit.is_none() {
            self.data_version = data_version;
            if !self.is_sound {
                let connection = &self.connection;
                connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).refused(&self.path)?;
                self.is_sound = true;
            }
        }
        Ok(())
    }

    fn reader(&self) -> Option<Box<dyn HistoryReader>> {
        Some(Box::new(SqliteReader { path: self.path.clone(), idle: Mutex::new(None) }))
    }

    fn append(&mut self, events: &[Event]) -> Result<()> {
        let mut insert = self
            .connection
            .prepare_cached("INSERT INTO events (revision, handle, kind, event) VALUES (?1, ?2, ?3, ?4)")
            .refused(&self.path)?;
        for event in events {
            let text = serde_json::to_string(event).expect("an event has only string keys and finite numbers");
            let revision = i64::try_from(event.revision).map_err(|_| Error::History {
                revision: event.revision,
                message: "the revision is too large for the database".into(),
            })?;
            insert.execute(params![revision, event.handle.number(), event.change.kind(), text]).refused(&self.path)?;
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.run("COMMIT")
    }

    fn rollback(&mut self) {
        if !self.connection.is_autocommit() {
            // Fails only if SQLite has already rolled back.
            let _ = self.run("ROLLBACK");
        }
    }

    fn has_news(&mut self, patience: Duration) -> Result<bool> {
        let data_version = Patience::new(patience).retry(|| self.number("PRAGMA data_version"))?;
        Ok(data_version != self.data_version)
    }

    fn sync(&mut self, patience: Duration) -> Result<()> {
        // A checkpoint syncs the write-ahead log and then the database.
        Patience::new(patience)
            .retry(|| self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).refused(&self.path))
    }
}

/// Reads a database with connections of its own. In WAL mode they never wait for a transaction.
struct SqliteReader {
    path: PathBuf,
    /// A connection that no thread uses now.
    idle: Mutex<Option<Connection>>,
}

impl SqliteReader {
    fn connect(&self) -> Result<Connection> {
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_PRIVATE_CACHE;
        let connection = Connection::open_with_flags(&self.path, flags).refused(&self.path)?;
        connection.busy_timeout(Duration::ZERO).refused(&self.path)?;
        Ok(connection)
    }
}

impl HistoryReader for SqliteReader {
    fn read(&self, query: &EventQuery, patience: Duration, each: &mut dyn FnMut(Event) -> Result<()>) -> Result<()> {
        let idle = self.idle.lock().take();
        let connection = idle.map_or_else(|| self.connect(), Ok)?;
        let read = read_events(&connection, &self.path, query, patience, each);
        *self.idle.lock() = Some(connection);
        read.map(drop)
    }
}

/// Replaces SQLite's error for a file that cannot be created by that of the operating system, which contains the
/// reason. An existing file is not opened: closing it would release the locks that this process holds on it
/// elsewhere.
fn with_cause(error: Error, path: &Path) -> Error {
    if path.exists() {
        return error;
    }
    match File::create_new(path) {
        Ok(_) => error,
        Err(refused) => files::writing(path)(refused),
    }
}

/// Path of a file that belongs to a database, such as `stack.db-wal`.
fn companion(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
