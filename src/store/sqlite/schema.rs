//! The schema of the database, its version, and the migrations between versions.
//!
//! A migration is one transaction. It first copies the original to another file (`stack.v1.db`). At its end
//! it counts the events, reads all of them, and checks the database's integrity. If an event is missing or a
//! check fails, the transaction is rolled back and the database is unchanged.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use super::errors::{Refused, damaged};
use super::place;
use crate::error::{Error, Result};
use crate::frame::Event;
use crate::store::file_errors::reading;
use crate::store::folder::{Access, Folder, Kind, description};
use crate::text::beginning;

/// SQLite's `application_id` of databases of this library: "CSTK" in ASCII.
const APPLICATION_ID: i64 = 0x4353_544b;

/// Size of the smallest SQLite database, in bytes.
const SMALLEST: u64 = 512;

/// The first version of the schema.
const FIRST_VERSION: i64 = 1;

/// The migrations: from the first version to the second, from the second to the third, and so on. The current
/// version is the result of the last migration.
pub(super) const MIGRATIONS: &[Migration] = &[];

/// The version of the schema that this library writes, and the newest that it reads.
#[cfg(feature = "session")]
pub(super) const CURRENT_VERSION: i64 = version_behind(MIGRATIONS);

/// The tables, with their text in SQLite's list of tables.
///
/// `events` is the history: the column `event` has the same text as a line of an exported one. The other
/// tables are derived from it: they hold the frames as they were at the revision of the one row of
/// `snapshots`, which has the unfinished trees in one piece too. `tree` is the root of the frame's tree,
/// `title` a hash of its title, `is_run` true for the root frame of a run, `place` the key of its place, if it
/// is a root, and `changed` the revision of its last change.
///
/// `base` has a row if the history was compacted: the revision and the head of the snapshot that the events
/// follow. The frames of that snapshot are the rows of `base_frames`, and those rows of `frames` that have
/// not changed since and are not in `base_frames`.
const TABLES: [(&str, &str); 13] = [
    (
        "events",
        "CREATE TABLE events (
        revision INTEGER PRIMARY KEY,
        handle INTEGER NOT NULL,
        kind TEXT NOT NULL,
        event TEXT NOT NULL
    ) STRICT",
    ),
    ("events_of_frames", "CREATE INDEX events_of_frames ON events (handle, revision)"),
    ("base", "CREATE TABLE base (revision INTEGER PRIMARY KEY, head TEXT NOT NULL) STRICT"),
    (
        "base_frames",
        "CREATE TABLE base_frames (
        handle INTEGER PRIMARY KEY,
        tree INTEGER NOT NULL,
        session_id TEXT NOT NULL,
        title INTEGER NOT NULL,
        status TEXT NOT NULL,
        is_run INTEGER NOT NULL,
        place INTEGER,
        changed INTEGER NOT NULL,
        image TEXT NOT NULL
    ) STRICT",
    ),
    (
        "frames",
        "CREATE TABLE frames (
        handle INTEGER PRIMARY KEY,
        tree INTEGER NOT NULL,
        session_id TEXT NOT NULL,
        title INTEGER NOT NULL,
        status TEXT NOT NULL,
        is_run INTEGER NOT NULL,
        place INTEGER,
        changed INTEGER NOT NULL,
        image TEXT NOT NULL
    ) STRICT",
    ),
    ("frames_by_change", "CREATE INDEX frames_by_change ON frames (changed)"),
    ("frames_by_id", "CREATE INDEX frames_by_id ON frames (session_id)"),
    ("frames_by_status", "CREATE INDEX frames_by_status ON frames (status)"),
    ("frames_by_title", "CREATE INDEX frames_by_title ON frames (title)"),
    ("frames_by_tree", "CREATE INDEX frames_by_tree ON frames (tree, changed)"),
    ("roots", "CREATE INDEX roots ON frames (place, changed) WHERE place IS NOT NULL"),
    ("runs", "CREATE INDEX runs ON frames (handle) WHERE is_run"),
    (
        "snapshots",
        "CREATE TABLE snapshots (revision INTEGER PRIMARY KEY, head TEXT NOT NULL, unfinished BLOB NOT NULL) STRICT",
    ),
];

/// A migration from one version of the schema to the next.
pub(super) type Migration = fn(&Connection) -> rusqlite::Result<()>;

/// The state of a database file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The database has no tables yet.
    Empty,
    /// The schema is of an older version and must be migrated.
    Older,
    /// The schema is of the current version.
    Current,
}

const fn version_behind(migrations: &[Migration]) -> i64 {
    FIRST_VERSION + migrations.len() as i64
}

/// The last bytes of a rollback journal that names a journal of several databases (SQLite file format,
/// section 3.3).
const END_OF_SUPER_JOURNAL: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// Refuses files that SQLite would treat as a new database and overwrite: a file that is too short, and an
/// empty file with a write-ahead log, which may contain the rest of the history. Refuses what only a stranger
/// can have prepared: links, pipes and devices, and a rollback journal that makes SQLite delete a file that
/// it names.
pub(super) fn refuse_unfit_files(folder: &Folder, name: &str) -> Result<()> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let file = format!("{name}{suffix}");
        match folder.kind(&file)? {
            None | Some(Kind::File) => {}
            Some(Kind::Folder) => return Err(damaged(&folder.path_of(&file), "it is a folder")),
            Some(kind) => return Err(damaged(&folder.path_of(&file), description(kind))),
        }
    }
    refuse_unfit_contents(folder, name)
}

/// As [`refuse_unfit_files`], for names without links, pipes, devices and folders.
pub(super) fn refuse_unfit_contents(folder: &Folder, name: &str) -> Result<()> {
    let path = &folder.path_of(name);
    let length = |file: &str| -> Result<Option<u64>> {
        let data = folder.file(file, Access::Read)?.map(|file| file.metadata()).transpose();
        Ok(data.map_err(reading(&folder.path_of(file)))?.map(|data| data.len()))
    };
    let size = length(name)?;
    if size.is_some_and(|size| (1..SMALLEST).contains(&size)) {
        return Err(damaged(path, "file is not a database"));
    }
    let has_log = || length(&format!("{name}-wal")).map(|size| size.is_some_and(|size| size > 0));
    // Another process can begin the database meanwhile: it writes to the log last.
    if size == Some(0) && has_log()? && length(name)? == Some(0) {
        return Err(damaged(path, "it is empty, but its write-ahead log is not"));
    }
    let journal = format!("{name}-journal");
    let mut end = [0; END_OF_SUPER_JOURNAL.len()];
    let read_end =
        |mut file: File| file.seek(SeekFrom::End(-(end.len() as i64))).and_then(|_| file.read_exact(&mut end));
    if folder.file(&journal, Access::Read)?.map(read_end).is_some() && end == END_OF_SUPER_JOURNAL {
        return Err(damaged(&folder.path_of(&journal), "it names a journal of another database"));
    }
    Ok(())
}

/// Checks that this version of the library can read the database.
///
/// # Errors
/// [`Error::Version`] if a newer version of this library wrote the database.
pub(super) fn refuse_newer(version: i64, path: &Path) -> Result<()> {
    let supported = version_behind(MIGRATIONS);
    if version <= supported {
        return Ok(());
    }
    let [found, supported] = [version, supported].map(|version| u64::try_from(version).unwrap_or_default());
    Err(Error::Version { what: path.display().to_string(), found, supported })
}

/// Determines the state of a file without changing it. All queries are in one read transaction, because
/// another process may create the tables at the same time.
pub(super) fn state(connection: &Connection, path: &Path) -> Result<State> {
    let moment = Transaction::new_unchecked(connection, TransactionBehavior::Deferred).refused(path)?;
    let number = |sql: &str| moment.query_row(sql, [], |row| row.get::<_, i64>(0)).refused(path);
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    if application == 0 && version == 0 && number("SELECT count(*) FROM sqlite_schema")? == 0 {
        return Ok(State::Empty);
    }
    if application != APPLICATION_ID || version < FIRST_VERSION {
        return Err(damaged(path, "it is a database, but not one of this library"));
    }
    refuse_newer(version, path)?;
    if version < version_behind(MIGRATIONS) {
        return Ok(State::Older);
    }
    refuse_other_tables(&moment, path, TABLES.map(|(table, sql)| (table, Some(sql))))?;
    Ok(State::Current)
}

/// Refuses a database whose schema is not exactly these tables: triggers, views and other tables do not come
/// from this library. Each table has its text in SQLite's list of tables; `None`: SQLite makes it, and may
/// change its text.
pub(super) fn refuse_other_tables(
    connection: &Connection,
    path: &Path,
    tables: impl IntoIterator<Item = (&'static str, Option<&'static str>)>,
) -> Result<()> {
    let mut statement = connection.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").refused(path)?;
    let mut rows = statement.query([]).refused(path)?;
    let mut missing: Vec<_> = tables.into_iter().collect();
    while let Some(row) = rows.next().refused(path)? {
        let (name, text): (String, Option<String>) = (row.get(0).refused(path)?, row.get(1).refused(path)?);
        let is_it = |(table, sql): &(&str, Option<&str>)| name == *table && (sql.is_none() || text.as_deref() == *sql);
        let Some(place) = missing.iter().position(is_it) else {
            let message = format!("its schema has `{}`, which this library did not make", beginning(&name, 100));
            return Err(damaged(path, message));
        };
        missing.remove(place);
    }
    match missing.first() {
        Some((name, _)) => Err(damaged(path, format!("its schema lacks `{name}`"))),
        None => Ok(()),
    }
}

/// Creates the tables or runs the missing migrations, unless another process has already done so.
pub(super) fn bring_up_to_date(connection: &Connection, path: &Path, migrations: &[Migration]) -> Result<()> {
    let transaction = rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Immediate).refused(path)?;
    let found: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0)).refused(path)?;
    let version = version_behind(migrations);
    if found == 0 {
        TABLES.iter().try_for_each(|(_, sql)| transaction.execute_batch(sql)).refused(path)?;
        migrations.iter().try_for_each(|step| step(&transaction)).refused(path)?;
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

/// Copies the database, including its write-ahead log, to another file. The caller's transaction prevents
/// changes by other processes during the copy.
fn keep_original(path: &Path, version: i64) -> Result<()> {
    let (folder, name) = place(path)?;
    let stem = name.strip_suffix(".db").unwrap_or(&name);
    let copy = folder.unused(&format!("{stem}.v{version}.db"));
    let copy_path = folder.path_of(&copy);
    let reader =
        Connection::open_with_flags(folder.sqlite_path(&name), OpenFlags::SQLITE_OPEN_READ_ONLY).refused(path)?;
    let copied = reader.execute("VACUUM INTO ?1", [folder.sqlite_path(&copy).to_string_lossy()]).refused(&copy_path);
    if copied.is_err() {
        folder.remove(&copy)?;
    }
    copied.map(drop)
}

/// Returns the number of events and the highest revision.
fn count(connection: &Connection, path: &Path) -> Result<(i64, i64)> {
    let sql = "SELECT count(*), coalesce(max(revision), 0) FROM events";
    connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).refused(path)
}

fn verify(connection: &Connection, path: &Path, before: (i64, i64)) -> Result<()> {
    let failed = |message: String| Error::io("bring up to date", path.display().to_string(), message);
    let after = count(connection, path)?;
    if after != before {
        return Err(failed(format!("{} events up to {} became {} up to {}", before.0, before.1, after.0, after.1)));
    }
    let mut statement = connection.prepare("SELECT revision, event FROM events ORDER BY revision").refused(path)?;
    let mut rows = statement.query([]).refused(path)?;
    while let Some(row) = rows.next().refused(path)? {
        let (revision, text): (i64, String) = (row.get(0).refused(path)?, row.get(1).refused(path)?);
        let event: Event = serde_json::from_str(&text).map_err(|error| failed(format!("event {revision}: {error}")))?;
        if i64::try_from(event.revision) != Ok(revision) {
            return Err(failed(format!("the text of event {revision} has the revision {}", event.revision)));
        }
    }
    let sound: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)).refused(path)?;
    if sound == "ok" { Ok(()) } else { Err(failed(sound)) }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use tempfile::TempDir;

    use super::*;
    use crate::frame::{Change, Handle};
    use crate::store::{EventQuery, SqliteOptions, SqliteStore, Store};

    const COUNT: u64 = 20;

    /// A database of the first version with some events and a write-ahead log, and a connection to it.
    fn database() -> (TempDir, PathBuf, Connection) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stack.db");
        let connection = Connection::open(&path).unwrap();
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
        bring_up_to_date(&connection, &path, &[]).unwrap();
        let handle = Handle::from_index(0).unwrap();
        for revision in 1..=COUNT {
            let change = Change::DecisionAdded { decision: format!("Decision {revision}") };
            let event = Event { revision, time: 5, handle, change };
            let row = (revision.cast_signed(), 1, event.change.kind(), serde_json::to_string(&event).unwrap());
            connection.execute("INSERT INTO events VALUES (?1, ?2, ?3, ?4)", row).unwrap();
        }
        (folder, path, connection)
    }

    fn rows(path: &Path) -> Vec<(i64, String)> {
        let connection = Connection::open(path).unwrap();
        let mut statement = connection.prepare("SELECT revision, event FROM events ORDER BY revision").unwrap();
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
    }

    fn version(path: &Path) -> i64 {
        Connection::open(path).unwrap().query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
    }

    fn migrate(path: &Path, migrations: &[Migration]) -> Result<()> {
        bring_up_to_date(&Connection::open(path).unwrap(), path, migrations)
    }

    fn new_column(connection: &Connection) -> rusqlite::Result<()> {
        connection.execute_batch("ALTER TABLE events ADD COLUMN author TEXT; UPDATE events SET author = 'me'")
    }

    fn new_table(connection: &Connection) -> rusqlite::Result<()> {
        connection.execute_batch(
            "CREATE TABLE moved (revision INTEGER PRIMARY KEY, handle INTEGER, kind TEXT, event TEXT, author TEXT);
             INSERT INTO moved SELECT * FROM events; DROP TABLE events; ALTER TABLE moved RENAME TO events",
        )
    }

    #[test]
    fn migrations_move_everything_and_keep_the_original() {
        let (folder, path, _open_elsewhere) = database();
        let before = rows(&path);
        migrate(&path, &[new_column]).unwrap();
        assert_eq!((version(&path), rows(&path)), (2, before.clone()));
        let original = folder.path().join("stack.v1.db");
        assert_eq!((version(&original), rows(&original)), (1, before.clone()), "the original is whole");
        migrate(&path, &[new_column, new_table]).unwrap();
        assert_eq!((version(&path), rows(&path)), (3, before.clone()), "only the missing step was gone");
        assert_eq!(version(&folder.path().join("stack.v2.db")), 2);
        migrate(&path, &[new_column, new_table]).unwrap();
        assert!(!folder.path().join("stack.v3.db").exists(), "nothing is done twice");
    }

    #[test]
    fn migrations_that_fail_or_lose_something_leave_everything_as_it_was() {
        let failing: [(Migration, &str); 5] = [
            (|connection| connection.execute_batch("SELECT * FROM nowhere"), "no such table: nowhere"),
            (|connection| connection.execute_batch("DELETE FROM events WHERE revision = 7"), "became 19 up to 20"),
            (|connection| connection.execute_batch("DELETE FROM events WHERE revision = 20"), "became 19 up to 19"),
            (
                |connection| connection.execute_batch("UPDATE events SET event = '{}' WHERE revision = 3"),
                "event 3: miss",
            ),
            (
                |connection| {
                    connection.execute_batch(
                        "UPDATE events SET event = (SELECT event FROM events WHERE revision = 2) WHERE revision = 5",
                    )
                },
                "the text of event 5 has the revision 2",
            ),
        ];
        for (step, message) in failing {
            for steps in [&[step][..], &[new_column, step], &[new_column, new_table, step]] {
                let (_folder, path, open_elsewhere) = database();
                let before = rows(&path);
                let error = migrate(&path, steps).unwrap_err();
                assert!(error.to_string().contains(message), "{error}\nshould say: {message}");
                assert_eq!((version(&path), rows(&path)), (1, before));
                open_elsewhere.execute_batch("BEGIN IMMEDIATE; COMMIT").unwrap();
                let mut store = SqliteStore::open(&path, SqliteOptions::default()).unwrap();
                let mut count = 0;
                store
                    .read(&EventQuery::default(), Duration::ZERO, &mut |_| {
                        count += 1;
                        Ok(())
                    })
                    .unwrap();
                assert_eq!(count, COUNT, "the store works as before");
            }
        }
    }

    #[test]
    fn without_a_copy_of_the_original_nothing_is_changed() {
        let (folder, path, _store) = database();
        let before = rows(&path);
        std::fs::write(folder.path().join("stack.v1.db"), "in the way").unwrap();
        migrate(&path, &[new_column]).unwrap();
        assert_eq!(rows(&folder.path().join("stack.v1-2.db")), before, "the copy goes beside what is there");

        let (folder, path, _store) = database();
        let connection = Connection::open(&path).unwrap();
        let lost = folder.path().join("no/such/folder/stack.db");
        let error = bring_up_to_date(&connection, &lost, &[new_column]).unwrap_err();
        assert_eq!(error.code(), "io", "{error}");
        assert_eq!((version(&path), rows(&path)), (1, before));
    }

    #[test]
    fn a_store_notices_that_a_newer_library_has_changed_the_schema() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stack.db");
        let mut store = SqliteStore::open(&path, SqliteOptions::default()).unwrap();
        migrate(&path, &[MIGRATIONS, &[new_column]].concat()).unwrap();
        let error = store.begin(Duration::ZERO).unwrap_err();
        assert_eq!(error.code(), "version", "{error}");
        assert!(error.to_string().contains("stack.db has version 2, this library reads up to 1"), "{error}");
    }
}
