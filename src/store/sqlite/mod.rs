//! The store in an SQLite database, `stack.db`. Several processes can use it at the same time, and commits
//! are atomic.
//!
//! One table holds the events as JSON, with the same text as a line of an export. Its primary key is the
//! revision, so the database never keeps two commits that were decided on the same history. Other tables hold
//! the frames as they were at one revision ([`snapshot`]): they follow from the events, unless these were
//! compacted ([`compaction`]).
//!
//! The locks of [`locks`] keep the users of a database apart, because a process can lose SQLite's own locks.
//! Before and after each transaction the store checks that the files are those that it opened ([`identity`]),
//! and that the newest event it knows is still there. Only [`SqliteStore::checkpoint`] moves the write-ahead
//! log into the database.

mod compaction;
mod errors;
#[cfg(feature = "session")]
mod health;
mod identity;
mod locks;
mod reader;
mod schema;
mod snapshot;
mod words;

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{ReentrantMutex, ReentrantMutexGuard};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, params};

use super::file_errors::writing;
use super::folder::{Access, FileState, Folder, TIMES_ARE_EXACT};
use super::patience::Patience;
use super::{
    BUSY_TIMEOUT, CompactedEvents, CompactionLimits, Durability, EventQuery, HistoryReader, Snapshot, Store, WordIndex,
};
use crate::archive::{Archive, ArchivedFrame};
use crate::error::{Error, Result};
use crate::frame::Event;
use crate::threads::this_thread;
use errors::Refused;
pub(crate) use errors::damaged as damaged_database;
#[cfg(feature = "session")]
pub use health::DatabaseHealth;
use identity::{Difference, Files, Paths};
use locks::{Hold, Lock, Locked, LogState};
use reader::{Mark, SqliteReader, read_events};
use snapshot::SqliteArchive;
use words::SqliteWords;

/// Length of the write-ahead log, in pages of 4 KB, at which a commit moves it into the database, unless
/// another process reads. Such a commit takes some milliseconds, so only one in more than a thousand commits
/// should be such a commit.
const CHECKPOINT_PAGES: u32 = 4000;
/// Length of the write-ahead log, in pages of 4 KB, at which a process that ends moves it. The next process
/// reads the log once more if no other process is there.
const SHORT_LOG: u32 = 512;
/// Length of the write-ahead log, in pages of 4 KB, at which a commit waits for readers to move it.
const LONGEST_LOG: u32 = 8000;
/// Maximum wait of such a commit.
const CHECKPOINT_PATIENCE: Duration = Duration::from_millis(100);
/// Size to which the file of the write-ahead log is cut, in bytes, if readers made it longer.
const LOG_LIMIT: u32 = 32 << 20;
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
    writer: Arc<Writer>,
    /// Dropped after the connection, which must not be the last user of the database when it is closed.
    hold: Hold,
    path: PathBuf,
    folder: Folder,
    name: String,
    write_lock: Lock,
    read_lock: Lock,
    paths: Paths,
    /// The files that were opened.
    files: Files,
    /// The files as they were at the last look.
    looked: Files,
    /// SQLite's counter of commits by other connections, at the last read of the newest events. `None`:
    /// unknown.
    data_version: Option<i64>,
    /// The header of the shared memory after the last commit of this store, if it had all events then. The
    /// same header means that no user has committed since.
    committed: Option<[u8; 48]>,
    /// The file of the write-ahead log after that commit.
    committed_log: Option<FileState>,
    /// The newest event that this store has read or written.
    newest: Option<Mark>,
    /// The newest event of the open transaction.
    appended: Option<Mark>,
    /// True if the history had no new events of other users when the open transaction began.
    has_all: bool,
    has_write_lock: bool,
    /// True once the complete history was read without an error. Before that, nothing is written to the
    /// file, not even when it is closed.
    is_sound: bool,
}

/// The connection of a store, which reads what an open transaction has written. Therefore the thread of the
/// transaction asks the archive with it.
struct Writer {
    connection: ReentrantMutex<Connection>,
    /// The thread that is in a transaction; 0: no thread is.
    thread: AtomicUsize,
}

/// What a checkpoint does with the file of the write-ahead log.
#[derive(Clone, Copy)]
enum Checkpoint {
    /// The next commits write over it, which is faster than to grow it again.
    KeepFile,
    EmptyFile,
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SqliteStore").field("path", &self.path).finish_non_exhaustive()
    }
}

impl SqliteStore {
    /// Opens the database, or creates it if the file is missing. A database of an older version of this
    /// library is migrated; a copy of the original is kept in the same folder.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the file is not a database of this library; [`Error::Version`] if a newer
    /// version of the library created it; [`Error::ReadOnly`], [`Error::DiskFull`], [`Error::Busy`],
    /// [`Error::Io`]. After an error the file is unchanged.
    pub fn open(path: impl Into<PathBuf>, options: SqliteOptions) -> Result<Self> {
        let path = std::path::absolute(path.into()).map_err(|error| Error::io("open", "", error.to_string()))?;
        let (folder, name) = place(&path)?;
        let path = folder.path_of(&name);
        let write_lock = Lock::open(&folder, &name, "-write")?;
        let read_lock = Lock::open(&folder, &name, "-read")?;
        let mut patience = Patience::new(Duration::from_millis(options.busy_timeout));
        let connection = {
            // Windows keeps a removed file while any process has it open, and SQLite takes a rollback journal
            // that is still there for one that a crash has left. So on Windows only one process at a time
            // looks at the files and sets them up.
            let mut writing = None;
            if cfg!(windows) {
                writing = Some(patience.retry(|| write_lock.try_exclusive())?);
            }
            schema::refuse_unfit_files(&folder, &name)?;
            let _reading = patience.retry(|| read_lock.try_shared())?;
            let connection = connect(&folder, &name, OpenFlags::SQLITE_OPEN_CREATE)?;
            let state = patience.retry(|| schema::state(&connection, &path))?;
            if writing.is_none() && state != schema::State::Current {
                writing = Some(patience.retry(|| write_lock.try_exclusive())?);
            }
            patience.retry(|| set_up(&connection, &path, options.durability, state))?;
            drop(writing);
            connection
        };
        let hold = Hold::new(&folder, &name)?;
        let paths = Paths::of(&folder, &name);
        Ok(Self {
            writer: Arc::new(Writer { connection: ReentrantMutex::new(connection), thread: AtomicUsize::new(0) }),
            hold,
            folder,
            name,
            write_lock,
            read_lock,
            files: paths.look(),
            looked: paths.look(),
            paths,
            path,
            data_version: None,
            committed: None,
            committed_log: None,
            newest: None,
            appended: None,
            has_all: false,
            has_write_lock: false,
            is_sound: false,
        })
    }

    /// Checks that the files are those that were opened, and if another process moved the write-ahead log
    /// into the database, that the database still has this store's history. Call it with one of the locks.
    ///
    /// # Errors
    /// [`Error::Replaced`] if they are not. Then this store writes nothing more.
    fn check_files(&mut self) -> Result<()> {
        let files = self.paths.look();
        self.looked = files.clone();
        match files.difference(&self.files) {
            Difference::None => {}
            Difference::Written => {
                if !self.is_noted(&files) {
                    self.check_overwritten()?;
                }
                self.data_version = None;
                self.files = files;
            }
            Difference::Replaced(suffix) => return Err(replaced(&self.folder, &self.name, suffix)),
        }
        Ok(())
    }

    /// As [`SqliteStore::check_files`], for readers. Also checks that the write-ahead log was not
    /// overwritten. That can be told only while no user writes.
    fn check_in_place(&mut self) -> Result<()> {
        self.check_files()?;
        let is_overwritten = !self.hold.has_whole_log()
            && self.write_lock.try_exclusive().is_ok_and(|_locked| !self.hold.has_whole_log());
        if is_overwritten { Err(self.overwritten()) } else { Ok(()) }
    }

    /// As [`SqliteStore::check_files`], before anything is written. Call it with the write lock.
    ///
    /// If the write-ahead log was deleted, and the database is as this store knows it, the log is moved into
    /// the database: this store still has the log open, and no other user can have opened the database since.
    fn check_writable(&mut self, log: Option<&LogState>) -> Result<()> {
        let checked = self.check_files();
        // Unchanged since the last commit of this store, or what the shared memory describes.
        let is_unchanged = self.committed_log.is_some() && self.looked.log() == self.committed_log;
        let is_whole = is_unchanged || log.is_none_or(|log| self.hold.is_log_of(log));
        if checked.is_err() {
            let files = self.paths.look();
            let is_known = files.stamp() == self.files.stamp() || self.is_noted(&files);
            let is_deleted = files.difference(&self.files) == Difference::Replaced("-wal") && !files.has_log();
            if is_deleted && is_known && is_whole && self.read_lock.try_exclusive().is_ok() {
                let _ = self.connection().query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
            }
        } else if !is_whole {
            return Err(self.overwritten());
        }
        checked
    }

    fn overwritten(&self) -> Error {
        self.replaced(&format!("{}-wal was overwritten", self.name))
    }

    /// True if a user of the library has noted the database as it is.
    fn is_noted(&self, files: &Files) -> bool {
        files.stamp().is_some_and(|stamp| stamp.is_noted(self.notes()))
    }

    /// The file with the note of the last checkpoint. Windows lets no process read a file that another process
    /// has locked exclusively, so there it is the file of the read lock: a reader of the note shares that
    /// lock, or has the write lock, without which there are no checkpoints.
    fn notes(&self) -> &File {
        if cfg!(windows) { self.read_lock.file() } else { self.write_lock.file() }
    }

    /// Checks the present file of a database that was changed, but not by a user of this library.
    fn check_overwritten(&self) -> Result<()> {
        // Another program writes to the database only when it moves the log there. A process that was killed
        // while it moved the log has not noted yet how much it has moved.
        let is_half_moved = identity::is_checkpoint_noted(self.notes());
        if !is_half_moved && self.hold.log_state().is_some_and(|log| log.length > 0 && log.moved == 0) {
            return Err(self.replaced("another program has written to it"));
        }
        let fresh = connect(&self.folder, &self.name, OpenFlags::empty())?;
        self.check_newest(&fresh)?;
        let sound =
            match fresh.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0)).refused(&self.path) {
                Err(Error::Damaged { message, .. }) => message,
                sound => sound?,
            };
        if sound == "ok" { Ok(()) } else { Err(self.replaced(&sound)) }
    }

    /// Checks that the newest event that this store knows is in the database.
    fn check_newest(&self, connection: &Connection) -> Result<()> {
        let Some(newest) = self.newest else { return Ok(()) };
        match Mark::find(connection, &self.path, newest.revision)? {
            Some(found) if found == newest => Ok(()),
            // The event was compacted.
            None if snapshot::base_revision(connection, &self.path)? >= newest.revision => Ok(()),
            Some(_) => Err(self.replaced(&format!("event {} is another one now", newest.revision))),
            None => Err(self.replaced(&format!("it has no event {}", newest.revision))),
        }
    }

    fn replaced(&self, message: &str) -> Error {
        Error::Replaced { path: self.path.display().to_string(), message: message.to_owned() }
    }

    /// Begins a transaction, with the write lock.
    fn begin_locked(&mut self, patience: &mut Patience) -> Result<()> {
        let log = self.hold.log_state();
        self.check_writable(log.as_ref())?;
        patience.retry(|| self.run("BEGIN IMMEDIATE"))?;
        self.writer.thread.store(this_thread().get(), Ordering::Relaxed);
        self.has_all = log.is_some_and(|log| Some(log.header) == self.committed);
        if !self.has_all {
            self.committed = None;
            // A newer version of the library may have migrated the schema after this store opened the file.
            schema::refuse_newer(self.number("PRAGMA user_version")?, &self.path)?;
            self.check_newest(&self.connection())?;
        }
        Ok(())
    }

    /// Moves the write-ahead log into the database. Call it with the write lock. Returns false if readers
    /// prevented it. Otherwise the next commit begins the log from the start.
    fn checkpoint(&mut self, mode: Checkpoint, patience: Duration) -> Result<bool> {
        match Patience::new(patience).retry(|| self.read_lock.try_exclusive()) {
            Ok(locked) => locked.keep(),
            Err(_) => return Ok(false),
        }
        let moved = self.move_log(mode);
        self.read_lock.unlock();
        moved
    }

    /// As [`SqliteStore::checkpoint`], with the read lock too.
    fn move_log(&mut self, mode: Checkpoint) -> Result<bool> {
        self.hold.allow_checkpoints();
        let sql = match mode {
            Checkpoint::KeepFile => "PRAGMA wal_checkpoint(PASSIVE)",
            Checkpoint::EmptyFile => "PRAGMA wal_checkpoint(TRUNCATE)",
        };
        let _ = identity::note_checkpoint(self.notes());
        let moved = self
            .connection()
            .query_row(sql, [], |row| Ok(row.get::<_, i64>(0)? == 0 && row.get::<_, i64>(1)? == row.get::<_, i64>(2)?));
        // A checkpoint that failed may have written too.
        let files = self.paths.look();
        if let Some(stamp) = files.stamp() {
            // Without the note, each other user checks whether the database is still the one that it opened.
            let _ = stamp.note(self.notes());
        }
        if files.difference(&self.files) == Difference::Written {
            self.files = files;
        }
        moved.refused(&self.path)
    }

    /// Moves a write-ahead log of at least this length into the database, in pages, unless another process is
    /// writing. Call it outside of transactions.
    fn tidy(&mut self, least: u32) {
        let is_long = self.hold.log_state().is_some_and(|log| log.length >= least);
        if !is_long || !self.is_sound || self.write_lock.try_exclusive().map(Locked::keep).is_err() {
            return;
        }
        self.has_write_lock = true;
        let log = self.hold.log_state();
        if log.as_ref().is_some_and(|log| log.length >= least) {
            let is_ours = self.check_writable(log.as_ref()).and_then(|()| self.check_newest(&self.connection()));
            let _ = is_ours.and_then(|()| self.checkpoint(Checkpoint::EmptyFile, Duration::ZERO));
        }
        self.release();
    }

    /// Runs code that reads outside of a transaction.
    fn reading<T>(&mut self, patience: Duration, run: impl FnOnce(&mut Self, Duration) -> Result<T>) -> Result<T> {
        let mut patience = Patience::new(patience);
        patience.retry(|| self.read_lock.try_shared())?.keep();
        let forbidden = patience.retry(|| self.hold.forbid_checkpoints(&self.path));
        let result = forbidden.and_then(|()| self.check_in_place()).and_then(|()| run(self, patience.left()));
        self.hold.allow_checkpoints();
        self.read_lock.unlock();
        result
    }

    /// The connection. Held while it is used, not for a whole transaction.
    fn connection(&self) -> ReentrantMutexGuard<'_, Connection> {
        self.writer.connection.lock()
    }

    fn run(&self, sql: &str) -> Result<()> {
        self.connection().prepare_cached(sql).and_then(|mut statement| statement.execute([])).refused(&self.path)?;
        Ok(())
    }

    fn number(&self, sql: &str) -> Result<i64> {
        number(&self.connection(), &self.path, sql)
    }

    /// Runs code that reads, in the open transaction or outside of one.
    fn look<T>(&mut self, patience: Duration, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        match self.has_write_lock {
            true => run(self),
            false => self.reading(patience, |store, _| run(store)),
        }
    }

    /// Reads as [`Store::read`] does, with one of the locks.
    fn read_locked(
        &mut self,
        query: &EventQuery,
        patience: Duration,
        each: &mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<()> {
        let read = read_events(&self.connection(), &self.path, query, patience, each)?;
        if query.selects_all() {
            self.data_version = Some(read.data_version);
            if let Some(last) = read.last {
                let newest = Mark::find(&self.connection(), &self.path, last)?;
                self.newest = newest;
            }
            self.is_sound = true;
        }
        Ok(())
    }

    /// Ends a transaction for the other users.
    fn release(&mut self) {
        self.writer.thread.store(0, Ordering::Relaxed);
        self.appended = None;
        if std::mem::take(&mut self.has_write_lock) {
            self.write_lock.unlock();
        }
    }
}

impl Store for SqliteStore {
    fn begin(&mut self, patience: Duration) -> Result<()> {
        self.rollback();
        let mut patience = Patience::new(patience);
        patience.retry(|| self.write_lock.try_exclusive())?.keep();
        self.has_write_lock = true;
        let begun = self.begin_locked(&mut patience);
        if begun.is_err() {
            self.rollback();
        }
        begun
    }

    fn read(
        &mut self,
        query: &EventQuery,
        patience: Duration,
        each: &mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<()> {
        if !self.has_write_lock {
            return self.reading(patience, |store, patience| store.read_locked(query, patience, each));
        }
        let newest = self.newest.map_or(0, |newest| newest.revision.unsigned_abs());
        if self.has_all && query.selects_all() && query.since == newest {
            return Ok(());
        }
        self.read_locked(query, patience, each)
    }

    fn reader(&self) -> Option<Box<dyn HistoryReader>> {
        Some(Box::new(SqliteReader::new(&self.folder, &self.name, &self.files)))
    }

    fn archive(&self) -> Option<Arc<dyn Archive>> {
        let reader = SqliteReader::new(&self.folder, &self.name, &self.files);
        Some(Arc::new(SqliteArchive::new(reader, Arc::downgrade(&self.writer), &self.path)))
    }

    fn word_index(&self) -> Option<Arc<dyn WordIndex>> {
        Some(Arc::new(SqliteWords::new(&self.folder, &self.name)))
    }

    fn snapshot(&mut self, patience: Duration) -> Result<Option<Snapshot>> {
        let (found, last) = self.look(patience, |store| {
            let found = snapshot::head(&store.connection(), &store.path)?;
            let revision = found.as_ref().map_or(0, |found| found.revision.cast_signed());
            Ok((found, Mark::find(&store.connection(), &store.path, revision)?))
        })?;
        if self.newest.is_none() {
            self.newest = last;
        }
        // Without its last event, the history is not the one of the snapshot.
        Ok(found.filter(|_| last.is_some()))
    }

    fn snapshot_revision(&mut self) -> Result<u64> {
        let patience = Duration::from_millis(BUSY_TIMEOUT);
        self.look(patience, |store| snapshot::revision(&store.connection(), &store.path))
    }

    fn base_revision(&mut self) -> Result<u64> {
        let patience = Duration::from_millis(BUSY_TIMEOUT);
        self.look(patience, |store| snapshot::base_revision(&store.connection(), &store.path)).map(i64::cast_unsigned)
    }

    fn compact(&mut self, limits: &CompactionLimits<'_>) -> Result<CompactedEvents> {
        compaction::compact(&self.connection(), &self.path, limits)
    }

    fn shrink(&mut self, patience: Duration) -> Result<()> {
        self.begin(patience)?;
        // The amount of free space is known only in a transaction, and the file cannot be rewritten in one.
        let is_worth_it = compaction::is_worth_rewriting(&self.connection(), &self.path);
        let _ = self.run("ROLLBACK");
        let rewritten = is_worth_it.and_then(|is_worth_it| {
            is_worth_it.then(|| compaction::rewrite(&self.connection(), &self.path)).transpose()
        });
        let shrunk = rewritten.and_then(|_| self.checkpoint(Checkpoint::EmptyFile, patience).map(drop));
        (self.data_version, self.committed) = (None, None);
        self.release();
        shrunk
    }

    fn restore_base(&mut self) -> Result<()> {
        snapshot::restore_base(&self.connection(), &self.path)
    }

    fn write_snapshot(&mut self, snapshot: &Snapshot, frames: &mut dyn Iterator<Item = ArchivedFrame>) -> Result<()> {
        snapshot::write(&self.connection(), &self.path, snapshot, frames)
    }

    fn write_base(&mut self, base: &Snapshot, frames: &mut dyn Iterator<Item = ArchivedFrame>) -> Result<()> {
        self.write_snapshot(base, frames)?;
        snapshot::make_base(&self.connection(), &self.path)
    }

    fn append(&mut self, events: &[Event]) -> Result<()> {
        let writer = self.writer.clone();
        let connection = writer.connection.lock();
        let mut insert = connection
            .prepare_cached("INSERT INTO events (revision, handle, kind, event) VALUES (?1, ?2, ?3, ?4)")
            .refused(&self.path)?;
        let mut last = None;
        for event in events {
            let text = serde_json::to_string(event).expect("an event has only string keys and finite numbers");
            let revision = i64::try_from(event.revision).map_err(|_| Error::History {
                revision: event.revision,
                message: "the revision is too large for the database".into(),
            })?;
            insert.execute(params![revision, event.handle.number(), event.change.kind(), text]).refused(&self.path)?;
            last = Some((revision, text));
        }
        self.appended = last.map(|(revision, text)| Mark::of(revision, &text)).or(self.appended);
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        if let Err(error) = self.run("COMMIT") {
            // The commit may have been kept. The next read must check that.
            (self.data_version, self.committed) = (None, None);
            return Err(error);
        }
        self.newest = self.appended.take().or(self.newest);
        let log_file = self.paths.log();
        if !self.files.is_log(log_file) {
            return Err(replaced(&self.folder, &self.name, "-wal"));
        }
        let log = self.hold.log_state();
        if log.as_ref().is_some_and(|log| !self.hold.has_salts_of(log)) {
            // Another program has emptied the log, because SQLite's own locks were lost. The commit is not in
            // the log.
            self.data_version = None;
            return Err(self.overwritten());
        }
        // A process that ends after a commit leaves a log, and the next process does not know that this log
        // was moved.
        let mode = if self.committed.is_none() { Checkpoint::EmptyFile } else { Checkpoint::KeepFile };
        self.committed = log.as_ref().map(|log| log.header);
        self.committed_log = log_file.filter(|_| TIMES_ARE_EXACT);
        let length = log.map_or(0, |log| log.length);
        if length >= CHECKPOINT_PAGES {
            // A failure does not concern the commit. The log is moved later. If readers leave no gap, the log
            // must not grow without limit.
            let patience = if length < LONGEST_LOG { Duration::ZERO } else { CHECKPOINT_PATIENCE };
            let _ = self.checkpoint(mode, patience);
            if matches!(mode, Checkpoint::EmptyFile) {
                (self.data_version, self.committed) = (None, None);
            }
        }
        self.release();
        Ok(())
    }

    fn rollback(&mut self) {
        if !self.connection().is_autocommit() {
            // Fails only if SQLite has already rolled back.
            let _ = self.run("ROLLBACK");
        }
        self.release();
    }

    fn has_news(&mut self, patience: Duration) -> Result<bool> {
        self.reading(patience, |store, patience| {
            let data_version = Patience::new(patience).retry(|| store.number("PRAGMA data_version"))?;
            let has_news = Some(data_version) != store.data_version;
            if has_news {
                store.check_newest(&store.connection())?;
            }
            Ok(has_news)
        })
    }

    fn leave(&mut self) {
        self.tidy(SHORT_LOG);
    }

    fn sync(&mut self, patience: Duration) -> Result<()> {
        self.reading(patience, |store, _| {
            let name = format!("{}-wal", store.name);
            if let Some(log) = store.folder.file(&name, Access::Write)? {
                log.sync_all().map_err(writing(&store.folder.path_of(&name)))?;
            }
            store.folder.sync()
        })
    }
}

impl Drop for SqliteStore {
    /// Moves the write-ahead log into the database, so that the file is complete, unless another process is
    /// writing.
    fn drop(&mut self) {
        self.rollback();
        self.tidy(1);
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

/// The error for a file that is not the one that was opened.
fn replaced(folder: &Folder, name: &str, suffix: &str) -> Error {
    let message = format!("{name}{suffix} is another file now, or missing");
    Error::Replaced { path: folder.path_of(name).display().to_string(), message }
}

/// Connects to the database.
fn connect(folder: &Folder, name: &str, more: OpenFlags) -> Result<Connection> {
    let path = folder.path_of(name);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_PRIVATE_CACHE
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | more;
    let connection = Connection::open_with_flags(folder.sqlite_path(name), flags)
        .refused(&path)
        .map_err(|error| if folder.is_taken(name) { error } else { cause(folder, name).unwrap_or(error) })?;
    connection.busy_timeout(Duration::ZERO).refused(&path)?;
    // Only `checkpoint` moves the write-ahead log, with the locks.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).refused(&path)?;
    distrust(&connection).refused(&path)?;
    connection.query_row("PRAGMA wal_autocheckpoint = 0", [], |_| Ok(())).refused(&path)?;
    connection.query_row(&format!("PRAGMA journal_size_limit = {LOG_LIMIT}"), [], |_| Ok(())).refused(&path)?;
    Ok(connection)
}

/// The file may come from a stranger. The library uses no triggers and no views.
fn distrust(connection: &Connection) -> rusqlite::Result<()> {
    let settings = [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
    ];
    settings.iter().try_for_each(|(setting, on)| connection.set_db_config(*setting, *on).map(drop))
}

/// Sets the connection up, and brings the schema up to date. If it is not current, call this with the write
/// lock.
fn set_up(connection: &Connection, path: &Path, durability: Durability, state: schema::State) -> Result<()> {
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).refused(path)?;
    if mode != "wal" {
        let message = "SQLite cannot use a write-ahead log here; use a folder on a local disk";
        return Err(Error::io("share", path.display().to_string(), message));
    }
    let synchronous = if durability == Durability::Full { "FULL" } else { "NORMAL" };
    connection.pragma_update(None, "synchronous", synchronous).refused(path)?;
    if cfg!(target_vendor = "apple") {
        // There `fsync` leaves the data in the cache of the disk, in no order. A checkpoint must have the log
        // on the disk before it overwrites the database; a commit only has to last if that is asked for.
        connection.pragma_update(None, "checkpoint_fullfsync", true).refused(path)?;
        connection.pragma_update(None, "fullfsync", durability == Durability::Full).refused(path)?;
    }
    if state != schema::State::Current {
        schema::bring_up_to_date(connection, path, schema::MIGRATIONS)?;
    }
    Ok(())
}

fn number(connection: &Connection, path: &Path, sql: &str) -> Result<i64> {
    connection.prepare_cached(sql).and_then(|mut statement| statement.query_row([], |row| row.get(0))).refused(path)
}

/// The error of the operating system for a file that cannot be created, which contains the reason; SQLite's
/// does not.
fn cause(folder: &Folder, name: &str) -> Option<Error> {
    folder.file(name, Access::Create).err()
}

/// Path of a file that belongs to a database, such as `stack.db-wal`.
fn companion(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
