//! The store in an SQLite database, `stack.db`. Several processes can use it at the same time, and commits are
//! atomic.
//!
//! One table holds the events as JSON, with the same text as a line of an export. Its primary key is the
//! revision, so the database never keeps two commits that were decided on the same history.
//!
//! The locks of [`locks`] keep the users of a database apart, because SQLite's own can fall. Before and after each
//! transaction the store checks that the files are those that it opened ([`identity`]), and that the newest event it
//! knows is still there. The write-ahead log is moved into the database by [`SqliteStore::checkpoint`] alone.

mod errors;
mod identity;
mod locks;
mod schema;

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use super::file_errors::writing;
use super::folder::{Access, Folder};
use super::{BUSY_TIMEOUT, Durability, EventQuery, Store};
use crate::error::{Error, Result};
use crate::frame::Event;
use errors::Refused;
pub(crate) use errors::damaged as damaged_database;
use identity::{Difference, Files, Paths};
use locks::{Hold, Lock, Locked};

/// Size of the write-ahead log, in bytes, at which a commit moves it into the database. Also the growth after which it
/// tries again, if readers prevented it.
const CHECKPOINT_SIZE: u64 = 4 << 20;
/// Waits between two attempts to lock the database. They start short, because a commit takes microseconds.
const SHORTEST_WAIT: Duration = Duration::from_micros(50);
const LONGEST_WAIT: Duration = Duration::from_millis(4);

/// The options of a [`SqliteStore`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// The failures that an acknowledged commit survives. Default [`Durability::Normal`].
    pub durability: Durability,
    /// Maximum wait for other processes before a call fails with [`Error::Busy`], in milliseconds.
    /// Default 10,000.
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
    /// Dropped after the connection, which must not be the last user of the database when it is closed.
    _hold: Hold,
    path: PathBuf,
    folder: Folder,
    name: String,
    write_lock: Lock,
    read_lock: Lock,
    paths: Paths,
    /// The files that were opened.
    files: Files,
    busy_timeout: Duration,
    /// SQLite's counter of commits by other connections, at the last read of the newest events. `None`: unknown.
    data_version: Option<i64>,
    /// The newest event that this store has read or written.
    newest: Option<Mark>,
    /// The newest event of the open transaction.
    appended: Option<Mark>,
    /// True if the history had no events of others when the open transaction began.
    has_all: bool,
    has_write_lock: bool,
    /// Size of the write-ahead log, in bytes, at which a commit tries a checkpoint.
    checkpoint_at: u64,
    /// True once the complete history was read without an error. Before that, nothing is written to the
    /// file, not even when it is closed.
    is_sound: bool,
}

/// An event of the history, by its revision and a hash of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    revision: i64,
    hash: u64,
}

impl Mark {
    fn of(revision: i64, text: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Self { revision, hash: hasher.finish() }
    }
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
        let path = std::path::absolute(path.into()).map_err(|error| Error::io("open", "", error.to_string()))?;
        let (folder, name) = place(&path)?;
        let path = folder.path_of(&name);
        schema::refuse_unfit_files(&folder, &name)?;
        let write_lock = Lock::open(&folder, &name, "-write")?;
        let read_lock = Lock::open(&folder, &name, "-read")?;
        let busy_timeout = Duration::from_millis(options.busy_timeout);
        let connection = {
            let _reading = retry_while_busy(busy_timeout, || read_lock.try_shared())?;
            let connection = connect(&folder, &name)?;
            let state = retry_while_busy(busy_timeout, || schema::state(&connection, &path))?;
            let _writing = match state {
                schema::State::Current => None,
                _ => Some(retry_while_busy(busy_timeout, || write_lock.try_exclusive())?),
            };
            retry_while_busy(busy_timeout, || set_up(&connection, &path, options.durability, state))?;
            connection
        };
        let hold = Hold::new(&folder, &name)?;
        let paths = Paths::of(&path);
        Ok(Self {
            connection,
            _hold: hold,
            folder,
            name,
            write_lock,
            read_lock,
            files: paths.look(),
            paths,
            path,
            busy_timeout,
            data_version: None,
            newest: None,
            appended: None,
            has_all: false,
            has_write_lock: false,
            checkpoint_at: CHECKPOINT_SIZE,
            is_sound: false,
        })
    }

    /// Checks that the files are those that were opened, and if another process moved the write-ahead log into the
    /// database, that the database still has this store's history. Call it with one of the locks.
    ///
    /// # Errors
    /// [`Error::Replaced`] if they are not. Then this store writes nothing more.
    fn check_in_place(&mut self) -> Result<()> {
        let files = self.paths.look();
        match files.difference(&self.files) {
            Difference::None => {}
            Difference::Written => {
                let is_noted = files.stamp().is_some_and(|stamp| stamp.is_noted(self.write_lock.file()));
                if !is_noted {
                    self.check_overwritten()?;
                }
                self.data_version = None;
                self.files = files;
            }
            Difference::Replaced(suffix) => {
                if suffix == "-wal" && !self.folder.is_taken(&format!("{}-wal", self.name)) {
                    // Nobody can have opened the database since, so the deleted log is moved into the database.
                    let _ = self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
                }
                return Err(self.replaced_file(suffix));
            }
        }
        Ok(())
    }

    /// Checks a database that was changed, but not by a user of this library, as the file is now.
    fn check_overwritten(&self) -> Result<()> {
        let fresh = connect(&self.folder, &self.name)?;
        let sound: String =
            fresh.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).unwrap_or_else(|error| error.to_string());
        if sound == "ok" { self.check_newest(&fresh) } else { Err(self.replaced(&sound)) }
    }

    /// Checks that the newest event that this store knows is in the database.
    fn check_newest(&self, connection: &Connection) -> Result<()> {
        let Some(newest) = self.newest else { return Ok(()) };
        let found = connection
            .prepare_cached("SELECT event FROM events WHERE revision = ?1")
            .and_then(|mut statement| {
                statement.query_row([newest.revision], |row| Ok(Mark::of(newest.revision, row.get_ref(0)?.as_str()?)))
            })
            .optional()
            .refused(&self.path)?;
        match found {
            Some(found) if found == newest => Ok(()),
            Some(_) => Err(self.replaced(&format!("event {} is another one now", newest.revision))),
            None => Err(self.replaced(&format!("it has no event {}", newest.revision))),
        }
    }

    fn replaced_file(&self, suffix: &str) -> Error {
        self.replaced(&format!("{}{suffix} is another file now, or missing", self.name))
    }

    fn replaced(&self, message: &str) -> Error {
        Error::Replaced { path: self.path.display().to_string(), message: message.to_owned() }
    }

    /// Begins a transaction, with the write lock.
    fn begin_locked(&mut self) -> Result<()> {
        self.check_in_place()?;
        retry_while_busy(self.busy_timeout, || self.run("BEGIN IMMEDIATE"))?;
        let data_version = Some(self.number("PRAGMA data_version")?);
        self.has_all = data_version == self.data_version;
        if !self.has_all {
            // A newer version of the library may have migrated the schema after this store opened the file.
            schema::refuse_newer(self.number("PRAGMA user_version")?, &self.path)?;
            self.check_newest(&self.connection)?;
        }
        Ok(())
    }

    /// Moves the write-ahead log into the database and empties it. Call it with the write lock. Readers prevent it: then
    /// it is done later.
    fn checkpoint(&mut self) -> Result<()> {
        let Ok(_reading) = self.read_lock.try_exclusive() else { return Ok(()) };
        let done = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
        if done.refused(&self.path)? == 0 {
            let files = self.paths.look();
            if let Some(stamp) = files.stamp().filter(|stamp| self.files.stamp() != Some(*stamp)) {
                stamp.note(self.write_lock.file()).map_err(writing(&self.path))?;
            }
            if files.difference(&self.files) == Difference::Written {
                self.files = files;
            }
        }
        Ok(())
    }

    /// Runs code that reads outside of a transaction.
    fn reading<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let locked = retry_while_busy(self.busy_timeout, || self.read_lock.try_shared());
        locked?.keep();
        let result = self.check_in_place().and_then(|()| run(self));
        self.read_lock.unlock();
        result
    }

    fn run(&self, sql: &str) -> Result<()> {
        self.connection.prepare_cached(sql).and_then(|mut statement| statement.execute([])).refused(&self.path)?;
        Ok(())
    }

    fn number(&self, sql: &str) -> Result<i64> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
            .refused(&self.path)
    }

    /// Passes the events of the matching rows to `each`. Returns the last one.
    fn read_rows(&self, query: &EventQuery, each: &mut dyn FnMut(Event) -> Result<()>) -> Result<Option<Mark>> {
        let frame = query.frame.map(|frame| i64::from(frame.number()));
        let limit = query.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX));
        let since = i64::try_from(query.since).unwrap_or(i64::MAX);
        let by_frame = if frame.is_some() { "AND handle = ?2" } else { "AND ?2 IS NULL" };
        let by_kind = if query.kind.is_some() { "AND kind = ?3" } else { "AND ?3 IS NULL" };
        let sql = format!(
            "SELECT revision, event FROM events WHERE revision > ?1 {by_frame} {by_kind} ORDER BY revision LIMIT ?4"
        );
        let mut statement = self.connection.prepare_cached(&sql).refused(&self.path)?;
        let mut rows = statement.query(params![since, frame, query.kind, limit]).refused(&self.path)?;
        let mut last = None;
        while let Some(row) = rows.next().refused(&self.path)? {
            let revision: i64 = row.get(0).refused(&self.path)?;
            let text = row.get_ref(1).refused(&self.path)?;
            let event = text
                .as_str()
                .map_err(|error| error.to_string())
                .and_then(|text| {
                    last = Some(Mark::of(revision, text));
                    serde_json::from_str::<Event>(text).map_err(|error| error.to_string())
                })
                .and_then(|event| match i64::try_from(event.revision) == Ok(revision) {
                    true => Ok(event),
                    false => Err(format!("its text has the revision {}", event.revision)),
                })
                .map_err(|message| errors::damaged(&self.path, format!("event {revision}: {message}")))?;
            each(event)?;
        }
        Ok(last)
    }

    /// Reads as [`Store::read`] does, with one of the locks.
    fn read_locked(&mut self, query: &EventQuery, each: &mut dyn FnMut(Event) -> Result<()>) -> Result<()> {
        let handed_on = std::cell::Cell::new(false);
        let mut each = |event: Event| {
            handed_on.set(true);
            each(event)
        };
        let mut data_version = 0;
        let last = retry_while_busy(self.busy_timeout, || {
            // Read before the events, so that any later commit counts as news.
            data_version = self.number("PRAGMA data_version")?;
            match self.read_rows(query, &mut each) {
                // Must not be repeated: `each` has already received some of the events.
                Err(Error::Busy { path, .. }) if handed_on.get() => {
                    Err(Error::io("read", path, "interrupted by another process"))
                }
                result => result,
            }
        })?;
        if query.selects_all() {
            self.data_version = Some(data_version);
            self.newest = last.or(self.newest);
            self.is_sound = true;
        }
        Ok(())
    }

    /// Ends a transaction for the other users.
    fn release(&mut self) {
        self.appended = None;
        if std::mem::take(&mut self.has_write_lock) {
            self.write_lock.unlock();
        }
    }
}

impl Store for SqliteStore {
    fn begin(&mut self) -> Result<()> {
        self.rollback();
        retry_while_busy(self.busy_timeout, || self.write_lock.try_exclusive())?.keep();
        self.has_write_lock = true;
        let begun = self.begin_locked();
        if begun.is_err() {
            self.rollback();
        }
        begun
    }

    fn read(&mut self, query: &EventQuery, each: &mut dyn FnMut(Event) -> Result<()>) -> Result<()> {
        if !self.has_write_lock {
            return self.reading(|store| store.read_locked(query, each));
        }
        let newest = self.newest.map_or(0, |newest| newest.revision.unsigned_abs());
        if self.has_all && query.selects_all() && query.since == newest {
            return Ok(());
        }
        self.read_locked(query, each)
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
            self.appended = Some(Mark::of(revision, &text));
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        if let Err(error) = self.run("COMMIT") {
            // It may have lasted. The next read must look.
            self.data_version = None;
            return Err(error);
        }
        self.newest = self.appended.take().or(self.newest);
        let files = self.paths.look();
        if let Difference::Replaced(suffix) = files.difference(&self.files) {
            return Err(self.replaced_file(suffix));
        }
        if files.log_size() >= self.checkpoint_at {
            // A failure does not concern the commit. The log is moved later.
            let _ = self.checkpoint();
            self.checkpoint_at = self.paths.look().log_size() + CHECKPOINT_SIZE;
        }
        self.release();
        Ok(())
    }

    fn rollback(&mut self) {
        if !self.connection.is_autocommit() {
            // Fails only if SQLite has already rolled back.
            let _ = self.run("ROLLBACK");
        }
        self.release();
    }

    fn has_news(&mut self) -> Result<bool> {
        self.reading(|store| {
            let data_version = retry_while_busy(store.busy_timeout, || store.number("PRAGMA data_version"))?;
            let has_news = Some(data_version) != store.data_version;
            if has_news {
                store.check_newest(&store.connection)?;
            }
            Ok(has_news)
        })
    }

    fn sync(&mut self) -> Result<()> {
        self.reading(|store| {
            let name = format!("{}-wal", store.name);
            if let Some(log) = store.folder.file(&name, Access::Write)? {
                log.sync_all().map_err(writing(&store.folder.path_of(&name)))?;
            }
            store.folder.sync()
        })
    }
}

impl Drop for SqliteStore {
    /// Moves the write-ahead log into the database, so that the file is complete, unless somebody else is writing.
    fn drop(&mut self) {
        self.rollback();
        if self.is_sound && self.write_lock.try_exclusive().map(Locked::keep).is_ok() {
            if self.files.log_size() > 0 || self.paths.look().log_size() > 0 {
                let is_ours = self.check_in_place().and_then(|()| self.check_newest(&self.connection));
                let _ = is_ours.and_then(|()| self.checkpoint());
            }
            self.write_lock.unlock();
        }
    }
}

/// The folder of a database, and its name there.
fn place(path: &Path) -> Result<(Folder, String)> {
    let name = path.file_name().and_then(|name| name.to_str());
    match (path.parent(), name) {
        (Some(parent), Some(name)) => Ok((Folder::open(parent)?, name.to_owned())),
        _ => Err(Error::io("open", path.display().to_string(), "it is not the path of a file with a Unicode name")),
    }
}

/// Connects to the database, and creates it if it is missing.
fn connect(folder: &Folder, name: &str) -> Result<Connection> {
    let path = folder.path_of(name);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_PRIVATE_CACHE
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(&path, flags)
        .refused(&path)
        .map_err(|error| if folder.is_taken(name) { error } else { cause(folder, name).unwrap_or(error) })?;
    connection.busy_timeout(Duration::ZERO).refused(&path)?;
    let settings = [
        // Only `checkpoint` moves the write-ahead log, with the locks.
        (DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true),
        // The file may come from a stranger. The library uses no triggers and no views.
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
    ];
    settings.iter().try_for_each(|(setting, on)| connection.set_db_config(*setting, *on).map(drop)).refused(&path)?;
    connection.query_row("PRAGMA wal_autocheckpoint = 0", [], |_| Ok(())).refused(&path)?;
    Ok(connection)
}

/// Sets the connection up, and brings the schema up to date. If it is not current, call this with the write lock.
fn set_up(connection: &Connection, path: &Path, durability: Durability, state: schema::State) -> Result<()> {
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).refused(path)?;
    if mode != "wal" {
        let message = "SQLite cannot use a write-ahead log here; use a folder on a local disk";
        return Err(Error::io("share", path.display().to_string(), message));
    }
    let synchronous = if durability == Durability::Full { "FULL" } else { "NORMAL" };
    connection.pragma_update(None, "synchronous", synchronous).refused(path)?;
    if state != schema::State::Current {
        schema::bring_up_to_date(connection, path, schema::MIGRATIONS)?;
    }
    Ok(())
}

/// Repeats `run` while it fails with [`Error::Busy`], until the busy timeout is over. The elapsed time is the
/// sum of the waits: no clock is read.
fn retry_while_busy<T>(busy_timeout: Duration, mut run: impl FnMut() -> Result<T>) -> Result<T> {
    let mut waited = Duration::ZERO;
    let mut wait = SHORTEST_WAIT;
    loop {
        match run() {
            Err(Error::Busy { path, .. }) if waited >= busy_timeout => {
                return Err(Error::Busy { path, waited: waited.as_millis() as u64 });
            }
            Err(Error::Busy { .. }) => {
                std::thread::sleep(wait);
                waited += wait;
                wait = (wait * 2).min(LONGEST_WAIT);
            }
            done => return done,
        }
    }
}

/// The error of the operating system for a file that cannot be created, which contains the reason; SQLite's does not.
fn cause(folder: &Folder, name: &str) -> Option<Error> {
    folder.file(name, Access::Create).err()
}

/// Path of a file that belongs to a database, such as `stack.db-wal`.
fn companion(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
