//! The snapshot of a tree, in addition to its events: the frames as they were at one revision.

use std::fmt;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use rusqlite::types::{Null, Type};
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, ToSql, params};
use serde::Deserialize;

use super::errors::Refused;
use super::reader::SqliteReader;
use super::{Writer, number};
use crate::archive::{Archive, ArchiveQuery, ArchivedFrame, ArchivedPlace};
use crate::error::Result;
use crate::frame::Handle;
use crate::store::Snapshot;
use crate::threads::this_thread;

/// Maximum wait of a question to the archive.
const PATIENCE: Duration = Duration::from_secs(10);

/// The frames of the snapshot that the events of a compacted history follow.
const BASE_FRAMES: &str = "(SELECT * FROM base_frames UNION ALL SELECT * FROM frames AS kept \
                           WHERE changed <= (SELECT revision FROM base) \
                           AND NOT EXISTS (SELECT 1 FROM base_frames AS old WHERE old.handle = kept.handle))";

/// The columns of a frame.
const COLUMNS: &str = "handle, tree, session_id, title, status, is_run, place, changed, image";

/// Maximum number of frames that are read at a time.
const PAGE: usize = 512;

/// Replaces the snapshot: its head, and the frames that have changed since the one before it. Call it in a
/// transaction.
pub(super) fn write(
    connection: &Connection,
    path: &Path,
    snapshot: &Snapshot,
    frames: &mut dyn Iterator<Item = ArchivedFrame>,
) -> Result<()> {
    let base = base_revision(connection, path)?;
    let mut keep = prepared(connection, path, &format!("{KEEP} AND handle = ?2"))?;
    if snapshot.is_whole {
        if base > 0 {
            prepared(connection, path, KEEP)?.execute([base]).refused(path)?;
        }
        execute(connection, path, "DELETE FROM frames")?;
    }
    let mut insert = prepared(
        connection,
        path,
        "INSERT INTO frames (handle, tree, session_id, title, status, is_run, place, changed, image) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (handle) DO UPDATE SET tree = ?2, session_id = ?3, \
         title = ?4, status = ?5, is_run = ?6, place = ?7, changed = ?8, image = ?9",
    )?;
    for ArchivedFrame { handle, root, session_id, title, status, is_run, place, changed, image } in frames {
        let [handle, root] = [handle, root].map(Handle::number);
        let [title, changed] = [title, changed].map(u64::cast_signed);
        let place = place.map(ordered);
        if base > 0 {
            keep.execute([base, i64::from(handle)]).refused(path)?;
        }
        let row = params![handle, root, session_id, title, status.as_str(), is_run, place, changed, image];
        insert.execute(row).refused(path)?;
    }
    write_head(connection, path, snapshot.revision.cast_signed(), &snapshot.head, &snapshot.unfinished)
}

/// Copies frames of the base before they change.
const KEEP: &str = "INSERT OR IGNORE INTO base_frames SELECT * FROM frames WHERE changed <= ?1";

fn write_head(connection: &Connection, path: &Path, revision: i64, head: &str, unfinished: &[u8]) -> Result<()> {
    execute(connection, path, "DELETE FROM snapshots")?;
    let sql = "INSERT INTO snapshots (revision, head, unfinished) VALUES (?1, ?2, ?3)";
    prepared(connection, path, sql)?.execute(params![revision, head, unfinished]).refused(path).map(drop)
}

/// The revision of the newest snapshot; 0 if there is none that belongs to the events.
pub(super) fn revision(connection: &Connection, path: &Path) -> Result<u64> {
    // The plus sign keeps SQLite from looking for a snapshot of each event.
    let sql = "SELECT coalesce(max(revision), 0) FROM snapshots WHERE +revision IN (SELECT revision FROM events)";
    number(connection, path, sql).map(i64::cast_unsigned)
}

/// The revision that the events follow; 0 if they begin with the first one.
pub(super) fn base_revision(connection: &Connection, path: &Path) -> Result<i64> {
    number(connection, path, "SELECT coalesce(max(revision), 0) FROM base")
}

/// Makes the newest snapshot the base. Call it in a transaction.
pub(super) fn make_base(connection: &Connection, path: &Path) -> Result<()> {
    let sql = "DELETE FROM base; INSERT INTO base SELECT revision, head FROM snapshots; DELETE FROM base_frames";
    connection.execute_batch(sql).refused(path)
}

/// Replaces the snapshot by the base, or removes it if there is no base. Call it in a transaction.
pub(super) fn restore_base(connection: &Connection, path: &Path) -> Result<()> {
    let Some((revision, head)) = base_head(connection, path)? else {
        execute(connection, path, "DELETE FROM frames")?;
        return execute(connection, path, "DELETE FROM snapshots");
    };
    // A frame of the base that has changed since has a copy. If it has none, the number of its last change is
    // damaged.
    let damaged = "UPDATE frames SET changed = ?1 WHERE changed > ?1 AND handle <= ?2 \
                   AND handle NOT IN (SELECT handle FROM base_frames)";
    prepared(connection, path, damaged)?.execute([revision, frames_of(&head)]).refused(path)?;
    prepared(connection, path, "DELETE FROM frames WHERE changed > ?1")?.execute([revision]).refused(path)?;
    execute(connection, path, "INSERT OR REPLACE INTO frames SELECT * FROM base_frames")?;
    execute(connection, path, "DELETE FROM base_frames")?;
    write_head(connection, path, revision, &head, &[])
}

/// The number of frames that a head names; 0 if it cannot be read.
fn frames_of(head: &str) -> i64 {
    #[derive(Deserialize)]
    struct Counted {
        frames: i64,
    }
    serde_json::from_str::<Counted>(head).map_or(0, |head| head.frames)
}

fn base_head(connection: &Connection, path: &Path) -> Result<Option<(i64, String)>> {
    let mut select = prepared(connection, path, "SELECT revision, head FROM base")?;
    select.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional().refused(path)
}

fn prepared<'a>(connection: &'a Connection, path: &Path, sql: &str) -> Result<CachedStatement<'a>> {
    connection.prepare_cached(sql).refused(path)
}

fn execute(connection: &Connection, path: &Path, sql: &str) -> Result<()> {
    prepared(connection, path, sql)?.execute([]).refused(path).map(drop)
}

/// The snapshot without its frames.
pub(super) fn head(connection: &Connection, path: &Path) -> Result<Option<Snapshot>> {
    let found = connection
        .prepare_cached("SELECT revision, head, unfinished FROM snapshots ORDER BY revision DESC LIMIT 1")
        .and_then(|mut statement| {
            statement
                .query_row([], |row| {
                    let revision = row.get::<_, i64>(0)?.cast_unsigned();
                    Ok(Snapshot { revision, head: row.get(1)?, unfinished: row.get(2)?, is_whole: false })
                })
                .optional()
        });
    found.refused(path)
}

/// The key of a place as SQLite orders it: its numbers are signed.
fn ordered(key: u64) -> i64 {
    (key ^ (1 << 63)).cast_signed()
}

fn key_of(ordered: i64) -> u64 {
    ordered.cast_unsigned() ^ (1 << 63)
}

fn frame_in(row: &Row<'_>) -> rusqlite::Result<ArchivedFrame> {
    let status: String = row.get(4)?;
    let unknown = || rusqlite::Error::InvalidColumnType(4, "status".to_owned(), Type::Text);
    Ok(ArchivedFrame {
        handle: handle_in(row, 0)?,
        root: handle_in(row, 1)?,
        session_id: row.get(2)?,
        title: row.get::<_, i64>(3)?.cast_unsigned(),
        status: status.parse().map_err(|_| unknown())?,
        is_run: row.get(5)?,
        place: row.get::<_, Option<i64>>(6)?.map(key_of),
        changed: row.get::<_, i64>(7)?.cast_unsigned(),
        image: row.get(8)?,
    })
}

pub(super) fn handle_in(row: &Row<'_>, column: usize) -> rusqlite::Result<Handle> {
    let number: u32 = row.get(column)?;
    let index = number.checked_sub(1).and_then(|index| Handle::from_index(index as usize));
    index.ok_or(rusqlite::Error::IntegralValueOutOfRange(column, i64::from(number)))
}

/// The frames of a snapshot in the database: of the newest one, or of the base.
pub(super) struct SqliteArchive {
    reader: Arc<SqliteReader>,
    writer: Weak<Writer>,
    path: Arc<Path>,
    is_base: bool,
}

impl fmt::Debug for SqliteArchive {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, is_base, .. } = self;
        formatter.debug_struct("SqliteArchive").field("path", path).field("is_base", is_base).finish_non_exhaustive()
    }
}

impl SqliteArchive {
    pub(super) fn new(reader: SqliteReader, writer: Weak<Writer>, path: &Path) -> Self {
        Self { reader: Arc::new(reader), writer, path: path.into(), is_base: false }
    }

    /// Calls `run` with the connection of the store, if this thread is in a transaction, else with one that
    /// only reads. The connection that only reads begins with an empty cache after each commit.
    fn with_connection<T>(&self, run: impl FnOnce(&Connection, &Path) -> Result<T>) -> Result<T> {
        let is_here = |writer: &Arc<Writer>| writer.thread.load(Ordering::Relaxed) == this_thread().get();
        match self.writer.upgrade().filter(is_here) {
            Some(writer) => run(&writer.connection.lock(), &self.path),
            None => self.reader.with_connection(PATIENCE, |connection, path, _| run(connection, path)),
        }
    }

    /// The table with the frames.
    fn table(&self) -> &'static str {
        if self.is_base { BASE_FRAMES } else { "frames" }
    }

    /// The rows of a question, read in one piece.
    fn rows<T>(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        self.with_connection(|connection, path| {
            let mut statement = prepared(connection, path, sql)?;
            let rows = statement.query_map(values, |row| read(row)).refused(path)?;
            rows.collect::<rusqlite::Result<Vec<T>>>().refused(path)
        })
    }
}

impl Archive for SqliteArchive {
    fn frames(&self, handle: Handle) -> Result<Vec<ArchivedFrame>> {
        let frames = self.table();
        let sql = format!(
            "SELECT {COLUMNS} FROM {frames} \
             WHERE tree = (SELECT tree FROM {frames} WHERE handle = ?1) ORDER BY handle"
        );
        self.rows(&sql, [handle.number()], frame_in)
    }

    fn page(&self, after: Option<Handle>) -> Result<Vec<ArchivedFrame>> {
        let frames = self.table();
        let sql = format!("SELECT {COLUMNS} FROM {frames} WHERE handle > ?1 ORDER BY handle LIMIT {PAGE}");
        self.rows(&sql, [after.map_or(0, Handle::number)], frame_in)
    }

    fn find(&self, query: ArchiveQuery<'_>, since: u64) -> Result<Vec<ArchivedPlace>> {
        let frames = self.table();
        let beginning;
        // The last characters of Unicode, which texts do not have, end the search for a beginning.
        let (condition, value, limit): (&str, &dyn ToSql, _) = match &query {
            ArchiveQuery::Id(id) => ("session_id = ?2", id, None),
            ArchiveQuery::Beginning(text, limit) => {
                beginning = format!(
                    "handle IN (SELECT handle FROM {frames} WHERE session_id >= ?2 \
                     AND session_id < ?2 || char(1114111, 1114111) AND substr(session_id, 1, length(?2)) = ?2 \
                     ORDER BY session_id LIMIT ?3)"
                );
                (&beginning, text, Some(i64::try_from(*limit).unwrap_or(i64::MAX)))
            }
            ArchiveQuery::Title(title) => ("title = ?2", &title.cast_signed(), None),
            ArchiveQuery::Status(status) => ("status = ?2", &status.as_str(), None),
            ArchiveQuery::Runs => ("is_run AND ?2 IS NULL", &Null, None),
            ArchiveQuery::Roots => ("place IS NOT NULL AND ?2 IS NULL", &Null, None),
            ArchiveQuery::Nothing => ("?2 IS NOT NULL", &Null, None),
        };
        let sql = format!(
            "SELECT handle, changed, place FROM {frames} WHERE changed > ?1 \
             UNION ALL SELECT handle, changed, place FROM {frames} WHERE {condition}"
        );
        let read = |row: &Row<'_>| {
            let (changed, place) = (row.get::<_, i64>(1)?.cast_unsigned(), row.get::<_, Option<i64>>(2)?);
            Ok(ArchivedPlace { handle: handle_in(row, 0)?, changed, place: place.map(key_of) })
        };
        match limit {
            Some(limit) => self.rows(&sql, params![since.cast_signed(), value, limit], read),
            None => self.rows(&sql, params![since.cast_signed(), value], read),
        }
    }

    fn base(&self) -> Result<Option<(String, Arc<dyn Archive>)>> {
        let found = self.with_connection(base_head)?;
        let Self { reader, writer, path, .. } = self;
        let frames = Self { reader: reader.clone(), writer: writer.clone(), path: path.clone(), is_base: true };
        Ok(found.map(|(_, head)| (head, Arc::new(frames) as Arc<dyn Archive>)))
    }
}
