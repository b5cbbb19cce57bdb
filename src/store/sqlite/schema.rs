//! The tables of the database, its version, and the way from one version to the next.
//!
//! A migration happens in one transaction. Before it, the original is copied to a file of its own
//! (`stack.v1.db`); after it, the events are counted and read again, and unless all are there and
//! the database is sound, everything stays as it was.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::errors::{Refused, damaged};
use super::companion;
use crate::error::{Error, Result};
use crate::frame::Event;
use crate::store::files;

/// Marks our databases among all of SQLite's: "CSTK".
const APPLICATION_ID: i64 = 0x4353_544b;

/// The first version of the schema.
const FIRST_VERSION: i64 = 1;

/// What leads from the first version to the next, and so on. The current version is the one behind the
/// last of them.
pub(super) const MIGRATIONS: &[Migration] = &[];

/// The event's text is the same as a line of an exported history.
const SCHEMA: &str = "
    CREATE TABLE events (
        revision INTEGER PRIMARY KEY,
        handle INTEGER NOT NULL,
        kind TEXT NOT NULL,
        event TEXT NOT NULL
    ) STRICT;
    CREATE INDEX events_of_frames ON events (handle, revision);
";

/// A step from one version of the schema to the next.
pub(super) type Migration = fn(&Connection) -> rusqlite::Result<()>;

/// What a file turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing in it yet.
    Empty,
    /// Made by an older version of this library.
    Older,
    /// Ready for use.
    Current,
}

const fn version_behind(migrations: &[Migration]) -> i64 {
    FIRST_VERSION + migrations.len() as i64
}

/// An empty file with a write-ahead log beside it once was a database. SQLite would take it for a
/// new one and throw the log away, and with it what may be left of the history.
pub(super) fn refuse_lost_database(path: &Path) -> Result<()> {
    let length = |path: &Path| std::fs::metadata(path).map(|data| data.len()).ok();
    if path.is_dir() {
        return Err(damaged(path, "it is a folder"));
    }
    if length(path) == Some(0) && length(&companion(path, "-wal")).is_some_and(|length| length > 0) {
        return Err(damaged(path, "it is empty, but its write-ahead log is not"));
    }
    Ok(())
}

/// # Errors
/// [`Error::Version`] if a newer version of this library made the database.
pub(super) fn refuse_newer(version: i64, path: &Path) -> Result<()> {
    let supported = version_behind(MIGRATIONS);
    if version <= supported {
        return Ok(());
    }
    let [found, supported] = [version, supported].map(|version| u64::try_from(version).unwrap_or_default());
    Err(Error::Version { what: path.display().to_string(), found, supported })
}

/// Looks at a file without changing it.
pub(super) fn state(connection: &Connection, path: &Path) -> Result<State> {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).refused(path);
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    if application == 0 && version == 0 && number("SELECT count(*) FROM sqlite_schema")? == 0 {
        return Ok(State::Empty);
    }
    if application != APPLICATION_ID || version < FIRST_VERSION {
        return Err(damaged(path, "it is a database, but not one of this library"));
    }
    refuse_newer(version, path)?;
    Ok(if version == version_behind(MIGRATIONS) { State::Current } else { State::Older })
}

/// Makes the tables, or goes the steps that are missing. Other processes may have done so meanwhile.
pub(super) fn bring_up_to_date(connection: &Connection, path: &Path, migrations: &[Migration]) -> Result<()> {
    let transaction =
        rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Immediate).refused(path)?;
    let found: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0)).refused(path)?;
    let version = version_behind(migrations);
    if found == 0 {
        transaction.execute_batch(SCHEMA).refused(path)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID).refused(path)?;
    } else if found < version {
        keep_original(path, found)?;
        let before = count(&transaction, path)?;
        let missing = &migrations[usize::try_from(found - FIRST_VERSION).unwrap_or_default()..];
        missing.iter().try_for_each(|step| step(&transaction)).refused(path)?;
        verify(&transaction, path, before)?;
    }
    transaction.pragma_update(None, "user_version", version).refused(path)?;
    transaction.commit().refused(path)
}

/// Copies the database, its log included, to a file of its own. The transaction of the caller keeps others
/// from changing it meanwhile.
fn keep_original(path: &Path, version: i64) -> Result<()> {
    let copy = files::unused(&path.with_extension(format!("v{version}.db")));
    let reader = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).refused(path)?;
    let copied = reader.execute("VACUUM INTO ?1", [copy.to_string_lossy()]).refused(&copy);
    if copied.is_err() {
        files::remove(&copy)?;
    }
    copied.map(drop)
}

/// How many events there are, and the revision of the last.
fn count(connection: &Connection, path: &Path) -> Result<(i64, i64)> {
    let sql = "SELECT count(*), coalesce(max(revision), 0) FROM events";
    connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).refused(path)
}

fn verify(connection: &Connection, path: &Path, before: (i64, i64)) -> Result<()> {
    let failed =
        |message: String| Error::Io { action: "bring up to date", path: path.display().to_string(), message };
    let after = count(connection, path)?;
    if after != before {
        return Err(failed(format!("{} events up to {} became {} up to {}", before.0, before.1, after.0, after.1)));
    }
    let mut statement = connection.prepare("SELECT revision, event FROM events ORDER BY revision").refused(path)?;
    let mut rows = statement.query([]).refused(path)?;
    while let Some(row) = rows.next().refused(path)? {
        let (revision, text): (i64, String) = (row.get(0).refused(path)?, row.get(1).refused(path)?);
        let event: Event =
            serde_json::from_str(&text).map_err(|error| failed(format!("event {revision}: {error}")))?;
        if i64::try_from(event.revision) != Ok(revision) {
            return Err(failed(format!("event {revision} says that it is event {}", event.revision)));
        }
    }
    let sound: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)).refused(path)?;
    if sound == "ok" { Ok(()) } else { Err(failed(sound)) }
}
