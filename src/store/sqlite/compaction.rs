//! Removes the events of finished trees, and gives the space back.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};
use serde::Deserialize;

use super::errors::{Refused, damaged};
use super::number;
use super::snapshot::{base_revision, handle_in, make_base, revision};
use crate::error::Result;
use crate::frame::Handle;
use crate::store::{CompactedEvents, CompactionLimits};

/// The file is rewritten if more than one page in this number of pages is free.
const FREE_SHARE: i64 = 4;

/// Removes the events of finished trees within the limits, and makes the newest snapshot the base of the
/// events. Call it in a transaction.
pub(super) fn compact(connection: &Connection, path: &Path, limits: &CompactionLimits<'_>) -> Result<CompactedEvents> {
    let (snapshot, base) = (revision(connection, path)?.cast_signed(), base_revision(connection, path)?);
    let mut compacted = CompactedEvents::default();
    // The event of the snapshot stays: an open looks for it, to know that the snapshot belongs to the events.
    let sql = "DELETE FROM events WHERE handle IN (SELECT handle FROM frames WHERE tree = ?1) AND revision < ?2";
    let mut delete = connection.prepare(sql).refused(path)?;
    for (root, changed) in finished_trees(connection, path)? {
        // A tree that has not changed since the base is the same as in the base.
        let is_verified = changed <= base || (limits.is_verified)(root);
        if !is_verified {
            continue;
        }
        if time_of(connection, path, changed)?.is_some_and(|time| time >= limits.before) {
            continue;
        }
        let events = delete.execute(params![root.number(), snapshot]).refused(path)?;
        if events > 0 {
            compacted.trees += 1;
            compacted.events += events as u64;
        }
    }
    if compacted.events > 0 {
        make_base(connection, path)?;
    }
    Ok(compacted)
}

/// The roots of the finished trees, each with the revision of its last change.
fn finished_trees(connection: &Connection, path: &Path) -> Result<Vec<(Handle, i64)>> {
    let sql = "SELECT tree, max(changed) FROM frames GROUP BY tree HAVING tree NOT IN \
               (SELECT tree FROM frames WHERE status IN ('planned', 'in_progress', 'blocked'))";
    let mut statement = connection.prepare(sql).refused(path)?;
    let rows = statement.query_map([], |row| Ok((handle_in(row, 0)?, row.get(1)?))).refused(path)?;
    rows.collect::<rusqlite::Result<_>>().refused(path)
}

/// The time of an event; `None` if an earlier compaction has removed it.
fn time_of(connection: &Connection, path: &Path, revision: i64) -> Result<Option<u64>> {
    #[derive(Deserialize)]
    struct Timed {
        time: u64,
    }
    let mut select = connection.prepare_cached("SELECT event FROM events WHERE revision = ?1").refused(path)?;
    let text: Option<String> = select.query_row([revision], |row| row.get(0)).optional().refused(path)?;
    let read = |text: String| serde_json::from_str::<Timed>(&text).map(|event| event.time);
    text.map(read).transpose().map_err(|error| damaged(path, format!("event {revision}: {error}")))
}

/// True if much of the file is free.
pub(super) fn is_worth_rewriting(connection: &Connection, path: &Path) -> Result<bool> {
    let free = number(connection, path, "PRAGMA freelist_count")?;
    Ok(free.saturating_mul(FREE_SHARE) > number(connection, path, "PRAGMA page_count")?)
}

/// Rewrites the file without free pages.
pub(super) fn rewrite(connection: &Connection, path: &Path) -> Result<()> {
    connection.execute_batch("VACUUM").refused(path)
}
