//! Removes the events of finished trees, and goes back to the snapshot that the other events follow.

use callstack_core::store::{CompactedEvents, CompactionLimits};
use serde::Deserialize;
use tokio_postgres::types::Type;

use crate::archive::handle_of;
use crate::connection::Value;
use crate::errors::{ADVICE, Failure};
use crate::transaction::{Newest, Transaction};
use callstack_core::{Error, Handle};

/// Number of trees whose events are removed by one statement.
const TREES: usize = 1_000;

/// Removes the events of finished trees within the limits, and makes the newest snapshot the base of the
/// events. The server reuses the space (autovacuum); it does not give it back.
pub(crate) fn compact(
    transaction: &mut Transaction,
    stack: i64,
    place: &str,
    limits: &CompactionLimits<'_>,
) -> Result<CompactedEvents, Failure> {
    transaction.is_partly_sent = true;
    let Newest { base, snapshot, .. } = transaction.newest;
    let mut trees: Vec<(Handle, i64)> = Vec::new();
    for row in transaction.rows(FINISHED_TREES, &[(&stack, Type::INT8)])? {
        let (root, changed): (i64, i64) = (row.get(0), row.get(1));
        let root = handle_of(root).ok_or_else(|| Error::damaged(place, "a tree has no possible root", ADVICE))?;
        // A tree that has not changed since the base is the same as in the base.
        if changed.cast_unsigned() <= base || (limits.is_verified)(root) {
            trees.push((root, changed));
        }
    }
    let mut compacted = CompactedEvents::default();
    for part in trees.chunks(TREES) {
        let changes: Vec<i64> = part.iter().map(|(_, changed)| *changed).collect();
        let events = transaction.rows(EVENTS, &[(&stack, Type::INT8), (&changes, Type::INT8_ARRAY)])?;
        let mut recent = Vec::new();
        for row in events {
            let revision: i64 = row.get(0);
            if time_of(row.get(1), revision, place)? >= limits.before {
                recent.push(revision);
            }
        }
        let roots: Vec<i64> = part
            .iter()
            .filter(|(_, changed)| !recent.contains(changed))
            .map(|(root, _)| i64::from(root.number()))
            .collect();
        let newest = snapshot.cast_signed();
        let values: [Value<'_>; 3] = [(&stack, Type::INT8), (&newest, Type::INT8), (&roots, Type::INT8_ARRAY)];
        for row in transaction.rows(REMOVE, &values)? {
            compacted.trees += 1;
            compacted.events += row.get::<_, i64>(0).cast_unsigned();
        }
    }
    if compacted.events > 0 {
        make_base(transaction, stack)?;
    }
    Ok(compacted)
}

/// Makes the newest snapshot the base.
pub(crate) fn make_base(transaction: &mut Transaction, stack: i64) -> Result<(), Failure> {
    let deadline = transaction.deadline();
    transaction.connection.run(&filled(MAKE_BASE, stack), deadline)?;
    transaction.newest.base = transaction.newest.snapshot;
    Ok(())
}

/// Replaces the snapshot by the base, or removes it if there is no base.
pub(crate) fn restore_base(transaction: &mut Transaction, stack: i64) -> Result<(), Failure> {
    transaction.is_partly_sent = true;
    let deadline = transaction.deadline();
    let Transaction { connection, newest, .. } = transaction;
    if newest.base == 0 {
        connection.run(&filled(REMOVE_SNAPSHOT, stack), deadline)?;
    } else {
        let base = newest.base;
        let frames = connection.rows(BASE_HEAD, &[(&stack, Type::INT8)], deadline)?;
        let frames = frames.first().map_or(0, |row| frames_of(row.get(0)));
        let sql =
            filled(RESTORE_BASE, stack).replace("{base}", &base.to_string()).replace("{frames}", &frames.to_string());
        connection.run(&sql, deadline)?;
    }
    newest.snapshot = newest.base;
    Ok(())
}

fn filled(sql: &str, stack: i64) -> String {
    sql.replace("{stack}", &stack.to_string())
}

/// The time of an event.
fn time_of(text: &str, revision: i64, place: &str) -> Result<u64, Failure> {
    #[derive(Deserialize)]
    struct Timed {
        time: u64,
    }
    let read = serde_json::from_str::<Timed>(text).map(|event| event.time);
    read.map_err(|error| Error::damaged(place, format!("event {revision}: {error}"), ADVICE).into())
}

/// The number of frames that a head names; 0 if it cannot be read.
fn frames_of(head: &str) -> i64 {
    #[derive(Deserialize)]
    struct Counted {
        frames: i64,
    }
    serde_json::from_str::<Counted>(head).map_or(0, |head| head.frames)
}

const FINISHED_TREES: &str = "SELECT tree, max(changed) FROM callstack.frames WHERE stack = $1 GROUP BY tree \
    HAVING NOT bool_or(status IN ('planned', 'in_progress', 'blocked')) ORDER BY tree";

const EVENTS: &str = "SELECT revision, event FROM callstack.events WHERE stack = $1 AND revision = ANY ($2)";

/// The event of the snapshot stays, so that a history always has a newest event.
const REMOVE: &str = "WITH removed AS (DELETE FROM callstack.events AS old USING callstack.frames AS frames \
    WHERE old.stack = $1 AND old.revision < $2 AND frames.stack = $1 AND frames.tree = ANY ($3) \
    AND old.handle = frames.handle RETURNING frames.tree) SELECT count(*) FROM removed GROUP BY tree";

const MAKE_BASE: &str = "UPDATE callstack.stacks SET base = snapshot WHERE id = {stack}; \
    DELETE FROM callstack.heads WHERE stack = {stack} AND is_base; \
    INSERT INTO callstack.heads (tenant, stack, is_base, revision, head) \
    SELECT tenant, stack, true, revision, head FROM callstack.heads WHERE stack = {stack} AND NOT is_base; \
    DELETE FROM callstack.base_frames WHERE stack = {stack}";

const REMOVE_SNAPSHOT: &str = "DELETE FROM callstack.frames WHERE stack = {stack}; \
    DELETE FROM callstack.heads WHERE stack = {stack} AND NOT is_base; \
    UPDATE callstack.stacks SET snapshot = 0 WHERE id = {stack}";

const BASE_HEAD: &str = "SELECT head FROM callstack.heads WHERE stack = $1 AND is_base";

/// A frame of the base that has changed since has a copy. If it has none, the number of its last change is
/// damaged.
const RESTORE_BASE: &str = "UPDATE callstack.frames AS kept SET changed = {base} WHERE stack = {stack} AND changed > {base} \
    AND handle <= {frames} AND NOT EXISTS \
    (SELECT FROM callstack.base_frames AS old WHERE old.stack = {stack} AND old.handle = kept.handle); \
    DELETE FROM callstack.frames WHERE stack = {stack} AND (changed > {base} \
    OR handle IN (SELECT handle FROM callstack.base_frames WHERE stack = {stack})); \
    INSERT INTO callstack.frames SELECT * FROM callstack.base_frames WHERE stack = {stack}; \
    DELETE FROM callstack.base_frames WHERE stack = {stack}; \
    DELETE FROM callstack.heads WHERE stack = {stack} AND NOT is_base; \
    INSERT INTO callstack.heads (tenant, stack, is_base, revision, head) \
    SELECT tenant, stack, false, revision, head FROM callstack.heads WHERE stack = {stack} AND is_base; \
    UPDATE callstack.stacks SET snapshot = base WHERE id = {stack}";
