//! An open transaction: its connection, and what it has to write.

use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use callstack_core::archive::ArchivedFrame;
use callstack_core::store::Snapshot;
use callstack_core::{Error, Handle};
use parking_lot::{Mutex, MutexGuard};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::connection::{Connection, Value, Values, Write, deadline_after};
use crate::errors::Failure;

/// Size of the waiting writes, in bytes, from which on they are sent before the commit.
pub(crate) const LARGE: usize = 4 << 20;
/// Maximum wait for an answer to a part of a large transaction.
const BULK_PATIENCE: Duration = Duration::from_secs(120);
/// Maximum number of frames in one statement.
pub(crate) const FRAMES: usize = 512;

/// The row of a stack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StackRow {
    pub(crate) id: i64,
    pub(crate) tenant: i32,
}

/// Where the users of a store find its open transaction.
#[derive(Default)]
pub(crate) struct Open {
    transaction: Mutex<Option<Transaction>>,
    /// The thread that has begun it. Other threads need not wait for the transaction to know that it is not
    /// theirs.
    thread: Mutex<Option<ThreadId>>,
}

impl Open {
    /// The transaction, for the thread that has begun it.
    pub(crate) fn transaction(&self) -> MutexGuard<'_, Option<Transaction>> {
        self.transaction.lock()
    }

    pub(crate) fn begin(&self, transaction: Transaction) {
        *self.transaction.lock() = Some(transaction);
        *self.thread.lock() = Some(thread::current().id());
    }

    /// Takes the transaction out.
    pub(crate) fn end(&self) -> Option<Transaction> {
        *self.thread.lock() = None;
        self.transaction.lock().take()
    }

    /// True if this thread has begun a transaction.
    pub(crate) fn is_here(&self) -> bool {
        *self.thread.lock() == Some(thread::current().id())
    }

    /// The newest commit before the transaction, and the events after a revision, if they were read together
    /// with the lock.
    pub(crate) fn news(&self, since: u64) -> (Option<Mark>, Option<Vec<(Mark, String)>>) {
        let mut open = self.transaction.lock();
        let Some(transaction) = open.as_mut() else { return (None, None) };
        let news = transaction.news.take_if(|(known, _)| *known == since);
        (Some(transaction.newest.mark), news.map(|(_, events)| events))
    }
}

/// Events that were read together with the lock, as texts, and the revision that they follow.
pub(crate) type News = (u64, Vec<(Mark, String)>);

/// The last commit of events: the newest revision, and a random number that identifies the commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) revision: u64,
    pub(crate) writer: i64,
}

/// What a stack's row says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Newest {
    pub(crate) mark: Mark,
    /// The revision of the newest snapshot; 0: there is none.
    pub(crate) snapshot: u64,
    /// The revision that the events of a compacted history follow.
    pub(crate) base: u64,
}

/// A transaction that has locked the row of its stack.
pub(crate) struct Transaction {
    pub(crate) connection: Connection,
    /// How long the call may wait.
    patience: Duration,
    /// The stack's row as it was at the beginning, with the snapshots since then.
    pub(crate) newest: Newest,
    news: Option<News>,
    pub(crate) queue: Queue,
    /// True once a part was sent before the commit.
    pub(crate) is_partly_sent: bool,
}

impl Transaction {
    /// A transaction that has just begun.
    pub(crate) fn new(
        connection: Connection,
        newest: Newest,
        news: Option<News>,
        stack: StackRow,
        patience: Duration,
        writer: i64,
    ) -> Self {
        let queue = Queue::new(stack, newest.mark.revision, writer);
        Self { connection, patience, newest, news, queue, is_partly_sent: false }
    }

    /// The time until which the answer to the next request is awaited. The time that the call has waited for
    /// others does not count: a command that has the lock is to be carried out. A command that writes or
    /// removes much gets more time.
    pub(crate) fn deadline(&self) -> Instant {
        deadline_after(if self.is_partly_sent { self.patience.max(BULK_PATIENCE) } else { self.patience })
    }

    /// Sends the waiting writes of this part and of the parts before it, so that the transaction can read
    /// them.
    pub(crate) fn send(&mut self, part: Part) -> Result<(), Failure> {
        let writes = self.queue.take(part);
        if writes.is_empty() {
            return Ok(());
        }
        self.is_partly_sent = true;
        let deadline = self.deadline();
        self.connection.write(&writes, None, deadline)
    }

    /// The rows of a statement.
    pub(crate) fn rows(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, Failure> {
        let deadline = self.deadline();
        self.connection.rows(sql, values, deadline)
    }

    /// Sends the waiting writes, if they are large.
    pub(crate) fn send_if_large(&mut self) -> Result<(), Failure> {
        if self.queue.bytes < LARGE { Ok(()) } else { self.send(Part::Events) }
    }
}

/// The parts of what a transaction has to write, in the order in which they are sent. A row that changes
/// again and again within one transaction is read more and more slowly. Therefore rows that exist once for
/// each stack are written as late as possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// Frames of snapshots, also of the base, and logs: their additions and removals.
    Frames,
    /// Events.
    Events,
    /// The head of the newest snapshot.
    Head,
}

/// What this commit leaves in the database, and no other commit does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Proof {
    /// The event of this revision.
    Event(u64),
    /// The line of this number in the log of a frame.
    LogLine(Handle, i64),
}

/// What a transaction has to write.
pub(crate) struct Queue {
    stack: StackRow,
    /// A random number that identifies this commit.
    writer: i64,
    /// The newest event, before this transaction and with those that wait.
    first: u64,
    last: u64,
    /// True once events were sent before the commit: then the row of the stack does not have their revisions
    /// yet.
    has_sent_events: bool,
    /// True once the statements of the commit were made.
    is_sealed: bool,
    /// The first log line: its frame and its number there.
    log_line: Option<(Handle, i64)>,
    /// The events that wait, as columns.
    revisions: Vec<i64>,
    handles: Vec<i64>,
    kinds: Vec<&'static str>,
    texts: Vec<String>,
    /// The head of the newest snapshot.
    head: Option<Snapshot>,
    /// The other statements.
    writes: Vec<Write>,
    /// The approximate size of all that waits, in bytes.
    bytes: usize,
}

impl Queue {
    /// An empty queue, whose events follow this revision.
    fn new(stack: StackRow, follows: u64, writer: i64) -> Self {
        Self {
            stack,
            writer,
            first: follows,
            last: follows,
            has_sent_events: false,
            is_sealed: false,
            log_line: None,
            revisions: Vec::new(),
            handles: Vec::new(),
            kinds: Vec::new(),
            texts: Vec::new(),
            head: None,
            writes: Vec::new(),
            bytes: 0,
        }
    }

    /// The revision of the next event.
    pub(crate) fn next_revision(&self) -> u64 {
        self.last + 1
    }

    /// What shows whether the transaction was kept: its last event, or its first log line. `None` if it has
    /// neither.
    pub(crate) fn proof(&self) -> Option<Proof> {
        match self.log_line {
            _ if self.last > self.first => Some(Proof::Event(self.last)),
            Some((frame, line)) => Some(Proof::LogLine(frame, line)),
            None => None,
        }
    }

    pub(crate) fn writer(&self) -> i64 {
        self.writer
    }

    /// The newest event after the commit; `None` if the transaction has none.
    pub(crate) fn last(&self) -> Option<Mark> {
        (self.last > self.first).then_some(Mark { revision: self.last, writer: self.writer })
    }

    /// Adds lines to the log of a frame. The first one gets this number.
    pub(crate) fn add_log(&mut self, frame: Handle, first: i64, lines: Vec<String>) {
        self.log_line.get_or_insert((frame, first));
        let bytes = lines.iter().map(String::len).sum();
        let values: Values = vec![
            (Box::new(self.writer), Type::INT8),
            (Box::new(i64::from(frame.number())), Type::INT8),
            (Box::new(first), Type::INT8),
            (Box::new(lines), Type::TEXT_ARRAY),
        ];
        self.add(WRITE_LOG, values, bytes);
    }

    /// Adds an event. Revisions that it leaves out have no event.
    pub(crate) fn add_event(&mut self, revision: u64, handle: Handle, kind: &'static str, text: String) {
        self.last = revision;
        self.revisions.push(revision.cast_signed());
        self.bytes += text.len() + 64;
        self.handles.push(handle.number().into());
        self.kinds.push(kind);
        self.texts.push(text);
    }

    /// Adds a statement, whose first two values are the tenant and the stack.
    pub(crate) fn add(&mut self, sql: &'static str, values: Values, bytes: usize) {
        self.bytes += bytes + 64;
        let StackRow { id, tenant } = self.stack;
        let place: Values = vec![(Box::new(tenant), Type::INT4), (Box::new(id), Type::INT8)];
        self.writes.push(Write { sql, values: place.into_iter().chain(values).collect() });
    }

    /// Adds the head of a snapshot, in place of an earlier one.
    pub(crate) fn add_head(&mut self, snapshot: &Snapshot) {
        self.head = Some(snapshot.clone());
    }

    /// Removes all frames of the snapshot. Those of the base are copied before.
    pub(crate) fn clear_frames(&mut self, base: u64) {
        if base > 0 {
            self.add(KEEP_WHOLE_BASE, vec![(Box::new(base.cast_signed()), Type::INT8)], 0);
        }
        self.add(CLEAR_FRAMES, Values::new(), 0);
    }

    /// Removes the logs of frames.
    pub(crate) fn remove_logs(&mut self, frames: &[Handle]) {
        let frames: Vec<i64> = frames.iter().map(|frame| frame.number().into()).collect();
        for sql in [REMOVE_INDEX, REMOVE_INDEXED_LOGS, REMOVE_LOGS] {
            self.add(sql, vec![(Box::new(frames.clone()), Type::INT8_ARRAY)], 0);
        }
    }

    /// Adds frames of a snapshot. Those of the base are copied before they change.
    pub(crate) fn add_frames(&mut self, frames: Vec<ArchivedFrame>, base: u64) {
        let mut columns = Columns::default();
        let bytes = frames.iter().map(|frame| frame.image.len() + frame.session_id.len() + 128).sum();
        frames.into_iter().for_each(|frame| columns.add(frame));
        if base > 0 {
            let values: Values =
                vec![(Box::new(base.cast_signed()), Type::INT8), (Box::new(columns.handles.clone()), Type::INT8_ARRAY)];
            self.add(KEEP_BASE, values, 0);
        }
        self.add(WRITE_FRAMES, columns.into_values(), bytes);
    }

    /// The statements of all that waits, for the commit. Nothing is added afterwards.
    pub(crate) fn statements(&mut self) -> &[Write] {
        if !std::mem::replace(&mut self.is_sealed, true) {
            self.seal();
        }
        &self.writes
    }

    fn seal(&mut self) {
        let (first, last, writer) = (self.first.cast_signed(), self.last.cast_signed(), self.writer);
        let has_gaps = last - first != self.revisions.len() as i64;
        if self.has_sent_events || has_gaps {
            self.write_events();
            let values: Values = vec![
                (Box::new(self.stack.id), Type::INT8),
                (Box::new(first), Type::INT8),
                (Box::new(last), Type::INT8),
                (Box::new(writer), Type::INT8),
            ];
            self.writes.push(Write { sql: NOTE_NEWEST, values });
        } else if !self.revisions.is_empty() {
            let place: Values = vec![
                (Box::new(self.stack.id), Type::INT8),
                (Box::new(first), Type::INT8),
                (Box::new(writer), Type::INT8),
            ];
            self.revisions.clear();
            let values = place.into_iter().chain(self.take_events()).collect();
            self.writes.push(Write { sql: APPEND, values });
        }
        self.write_head();
    }

    /// Takes the statements of this part and of the parts before it.
    fn take(&mut self, part: Part) -> Vec<Write> {
        if part >= Part::Events && !self.revisions.is_empty() {
            self.write_events();
            self.has_sent_events = true;
        }
        if part >= Part::Head {
            self.write_head();
        }
        self.bytes = self.texts.iter().map(|text| text.len() + 64).sum();
        std::mem::take(&mut self.writes)
    }

    /// Makes a statement of the events that wait, which leaves the row of the stack as it is.
    fn write_events(&mut self) {
        if self.revisions.is_empty() {
            return;
        }
        let revisions = std::mem::take(&mut self.revisions);
        let numbers: Values = vec![(Box::new(self.writer), Type::INT8), (Box::new(revisions), Type::INT8_ARRAY)];
        let values = numbers.into_iter().chain(self.take_events()).collect();
        self.add(ADD_EVENTS, values, 0);
    }

    /// The handles, kinds and texts of the events that wait.
    fn take_events(&mut self) -> Values {
        vec![
            (Box::new(std::mem::take(&mut self.handles)), Type::INT8_ARRAY),
            (Box::new(std::mem::take(&mut self.kinds)), Type::TEXT_ARRAY),
            (Box::new(std::mem::take(&mut self.texts)), Type::TEXT_ARRAY),
        ]
    }

    fn write_head(&mut self) {
        if let Some(Snapshot { revision, head, unfinished, .. }) = self.head.take() {
            let bytes = head.len() + unfinished.len();
            let values: Values = vec![
                (Box::new(revision.cast_signed()), Type::INT8),
                (Box::new(head), Type::TEXT),
                (Box::new(unfinished), Type::BYTEA),
            ];
            self.add(WRITE_HEAD, values, bytes);
        }
    }
}

/// Frames as columns.
#[derive(Default)]
struct Columns {
    handles: Vec<i64>,
    roots: Vec<i64>,
    ids: Vec<Vec<u8>>,
    titles: Vec<i64>,
    statuses: Vec<&'static str>,
    are_runs: Vec<bool>,
    places: Vec<Option<i64>>,
    changes: Vec<i64>,
    images: Vec<String>,
}

impl Columns {
    fn add(&mut self, frame: ArchivedFrame) {
        let ArchivedFrame { handle, root, session_id, title, status, is_run, place, changed, image } = frame;
        self.handles.push(handle.number().into());
        self.roots.push(root.number().into());
        self.ids.push(session_id.into_bytes());
        self.titles.push(title.cast_signed());
        self.statuses.push(status.as_str());
        self.are_runs.push(is_run);
        self.places.push(place.map(ordered));
        self.changes.push(changed.cast_signed());
        self.images.push(image);
    }

    fn into_values(self) -> Values {
        vec![
            (Box::new(self.handles), Type::INT8_ARRAY),
            (Box::new(self.roots), Type::INT8_ARRAY),
            (Box::new(self.ids), Type::BYTEA_ARRAY),
            (Box::new(self.titles), Type::INT8_ARRAY),
            (Box::new(self.statuses), Type::TEXT_ARRAY),
            (Box::new(self.are_runs), Type::BOOL_ARRAY),
            (Box::new(self.places), Type::INT8_ARRAY),
            (Box::new(self.changes), Type::INT8_ARRAY),
            (Box::new(self.images), Type::TEXT_ARRAY),
        ]
    }
}

/// The key of a place as PostgreSQL orders it: its numbers are signed.
fn ordered(key: u64) -> i64 {
    (key ^ (1 << 63)).cast_signed()
}

/// The reverse of [`ordered`].
pub(crate) fn key_of(ordered: i64) -> u64 {
    ordered.cast_unsigned() ^ (1 << 63)
}

/// A number that no other commit has. It is not zero, because a new stack has zero. It comes from the system,
/// because a forked process repeats the numbers that its own memory gives.
pub(crate) fn random() -> Result<i64, Error> {
    let number = getrandom::u64().map_err(|error| Error::io("read", "random numbers", error.to_string()))?;
    Ok(number.cast_signed() | 1)
}

/// Writes events if they follow the newest one; otherwise it fails.
const APPEND: &str = "SELECT callstack.append($1, $2, $3, $4, $5, $6)";

/// Writes events whose revisions the row of the stack gets with the commit.
const ADD_EVENTS: &str = "INSERT INTO callstack.events (tenant, stack, writer, revision, handle, kind, event) \
    SELECT $1, $2, $3, * FROM unnest($4, $5, $6, $7)";

const NOTE_NEWEST: &str = "SELECT callstack.note_newest($1, $2, $3, $4)";

const WRITE_LOG: &str = "INSERT INTO callstack.logs (tenant, stack, writer, handle, line, entry) \
    SELECT $1, $2, $3, $4, $5 + new.place - 1, new.entry FROM pg_catalog.unnest($6) WITH ORDINALITY AS new (entry, place)";

const WRITE_HEAD: &str = "WITH noted AS (UPDATE callstack.stacks SET snapshot = $3 WHERE id = $2) \
    INSERT INTO callstack.heads (tenant, stack, is_base, revision, head, unfinished) \
    VALUES ($1, $2, false, $3, $4, $5) ON CONFLICT (stack, is_base) \
    DO UPDATE SET revision = excluded.revision, head = excluded.head, unfinished = excluded.unfinished";

const KEEP_WHOLE_BASE: &str = "INSERT INTO callstack.base_frames SELECT * FROM callstack.frames \
    WHERE tenant = $1 AND stack = $2 AND changed <= $3 ON CONFLICT DO NOTHING";

const CLEAR_FRAMES: &str = "DELETE FROM callstack.frames WHERE tenant = $1 AND stack = $2";

const REMOVE_LOGS: &str = "DELETE FROM callstack.logs WHERE tenant = $1 AND stack = $2 AND handle = ANY ($3)";

/// Without its first row, the index of words is made again. Then a search that has read lines which are
/// removed meanwhile adds no words. That row is locked before the others, in the same order as in a search.
const REMOVE_INDEX: &str =
    "DELETE FROM callstack.indexed WHERE tenant = $1 AND stack = $2 AND handle = 0 AND $3::bigint[] IS NOT NULL";

/// Lines that are written later are new to the index of words.
const REMOVE_INDEXED_LOGS: &str =
    "DELETE FROM callstack.indexed WHERE tenant = $1 AND stack = $2 AND handle > 0 AND handle = ANY ($3)";

const KEEP_BASE: &str = "INSERT INTO callstack.base_frames SELECT * FROM callstack.frames \
    WHERE tenant = $1 AND stack = $2 AND changed <= $3 AND handle = ANY ($4) ON CONFLICT DO NOTHING";

const WRITE_FRAMES: &str = "INSERT INTO callstack.frames \
    (tenant, stack, handle, tree, session_id, title, status, is_run, place, changed, image) \
    SELECT $1, $2, * FROM unnest($3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (stack, handle) DO UPDATE SET \
    tree = excluded.tree, session_id = excluded.session_id, title = excluded.title, status = excluded.status, \
    is_run = excluded.is_run, place = excluded.place, changed = excluded.changed, image = excluded.image";
