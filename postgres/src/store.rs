//! The store of one stack.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use callstack_core::archive::{Archive, ArchivedFrame};
use callstack_core::store::{CompactedEvents, CompactionLimits, Snapshot, WordIndex};
use callstack_core::{Durability, Error, Event, EventQuery, Handle, HistoryReader, LogReader, Result, Store};
use tokio_postgres::SimpleQueryRow;
use tokio_postgres::types::Type;

use crate::archive::PostgresArchive;
use crate::compaction;
use crate::connection::{Connection, LONGEST_PATIENCE, deadline_after};
use crate::errors::Failure;
use crate::logs::{self, PostgresLogs};
use crate::pool::{Pool, Use};
use crate::reader::PostgresReader;
use crate::transaction::{FRAMES, LARGE, Mark, Newest, News, Open, Part, Proof, StackRow, Transaction, random};
use crate::words::PostgresWords;

/// The channel of the notifications. Their text is the number of the stack.
pub(crate) const CHANNEL: &str = "callstack";

/// The store of a stack in PostgreSQL. [`PostgresServer::store`](crate::PostgresServer::store) makes it;
/// [`Stack::with_store`](callstack_core::Stack::with_store) opens the stack. The store keeps the logs of
/// frames too.
pub struct PostgresStore {
    pool: Pool,
    stack: StackRow,
    /// The URL for messages.
    place: Arc<str>,
    /// The newest commit of events that was read to the end, or written.
    known: Option<Mark>,
    /// The newest commit of events at the last look.
    seen: Option<Mark>,
    /// How long the server waits within a transaction until the next commit.
    idle_timeout: Duration,
    open: Arc<Open>,
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PostgresStore").field("place", &self.place).finish_non_exhaustive()
    }
}

impl PostgresStore {
    pub(crate) fn new(pool: Pool, stack: StackRow, place: String) -> Self {
        let (place, idle_timeout) = (place.into(), Duration::from_millis(pool.options().idle_timeout));
        Self { pool, stack, place, known: None, seen: None, idle_timeout, open: Arc::new(Open::default()) }
    }

    /// The store of a new stack whose history is read from elsewhere: the server waits longer for the next
    /// part of the first transaction, because no other process waits for this stack.
    pub(crate) fn of_history(mut self) -> Self {
        self.idle_timeout = HISTORY_PATIENCE;
        self
    }

    /// The connections to the server, and the number of the stack there.
    pub(crate) fn place_in_server(&self) -> (&Pool, i64) {
        (&self.pool, self.stack.id)
    }

    fn own_reader(&self) -> PostgresReader {
        PostgresReader::new(self.pool.clone(), self.stack.id, self.place.clone(), Arc::downgrade(&self.open))
    }

    /// Begins a transaction on a connection, and locks the stack. Waits until `limit` for other users that
    /// have locked it. Also reads the events that follow the known commit, so that the lock is held for one
    /// round trip only.
    fn lock(&self, connection: &mut Connection, known: Option<Mark>, limit: Instant) -> Result<Locked, Failure> {
        let options = self.pool.options();
        let id = self.stack.id;
        let patience = limit.saturating_duration_since(Instant::now());
        let durable = match options.durability {
            Durability::Full => {
                "SELECT set_config('synchronous_commit', 'on', true) \
                 WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply'); "
            }
            _ => "",
        };
        let idle_timeout = self.idle_timeout.max(SHORTEST_IDLE_TIMEOUT);
        let sql = format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL lock_timeout = {}; \
             SET LOCAL idle_in_transaction_session_timeout = {}; {durable}\
             SELECT * FROM callstack.lock({id}, {}, {NEWS})",
            milliseconds(patience),
            milliseconds(idle_timeout),
            revision_of(known),
        );
        // The server says when others hold the lock for too long.
        let deadline = deadline_after(patience.saturating_add(ROUND_TRIP));
        let rows = connection.run(&sql, deadline)?;
        if rows.iter().all(|row| row.len() != COLUMNS) {
            // A row that this role may read but not change cannot be locked.
            let visible = connection.run(&format!("SELECT id FROM callstack.stacks WHERE id = {id}"), deadline)?;
            return Err(match visible.is_empty() {
                true => self.gone(connection, deadline),
                false => Error::read_only(&*self.place).into(),
            });
        }
        self.locked(&rows, known)
    }

    /// What was found with the lock. Checks that the known commit is still there.
    fn locked(&self, rows: &[SimpleQueryRow], known: Option<Mark>) -> Result<Locked, Failure> {
        // The settings have rows too.
        let mut rows = rows.iter().filter(|row| row.len() == COLUMNS);
        let first = rows.next().ok_or_else(|| self.replaced("it was removed"))?;
        let newest = self.newest(first)?;
        let Some(known) = known.filter(|known| *known != newest.mark) else { return Ok(Locked { newest, news: None }) };
        let mut events = Vec::new();
        let mut found = None;
        for row in rows {
            let [Some(revision), Some(writer)] = [0, 1].map(|column| number_in(row, column)) else {
                return Err(self.own_reader().damaged("an event has no number").into());
            };
            let mark = Mark { revision: revision.cast_unsigned(), writer };
            match row.get(4) {
                Some(text) if mark.revision > known.revision => events.push((mark, text.to_owned())),
                _ => found = Some(writer),
            }
        }
        self.check_known(newest, known, found)?;
        let is_complete = events.last().is_some_and(|(mark, _)| *mark == newest.mark);
        Ok(Locked { newest, news: is_complete.then_some((known.revision, events)) })
    }

    /// What the stack's row says now, after a check that the known commit is still there.
    fn look(&self, patience: Duration) -> Result<Newest> {
        let id = self.stack.id;
        // In one statement, so that no compaction comes between.
        let sql = format!("SELECT * FROM callstack.look({id}, {})", revision_of(self.known));
        self.pool.ask(patience, |connection, deadline| {
            let rows = connection.run(&sql, deadline)?;
            let Some(row) = rows.last() else { return Err(self.gone(connection, deadline)) };
            let newest = self.newest(row)?;
            if let Some(known) = self.known.filter(|known| *known != newest.mark) {
                self.check_known(newest, known, rows.last().and_then(|row| number_in(row, 4)))?;
            }
            Ok(newest)
        })
    }

    fn newest(&self, row: &SimpleQueryRow) -> Result<Newest, Failure> {
        let [Some(revision), Some(writer), Some(snapshot), Some(base)] =
            [0, 1, 2, 3].map(|column| number_in(row, column))
        else {
            return Err(self.own_reader().damaged("the row of the stack has no numbers").into());
        };
        let [revision, snapshot, base] = [revision, snapshot, base].map(i64::cast_unsigned);
        Ok(Newest { mark: Mark { revision, writer }, snapshot, base })
    }

    fn replaced(&self, message: &str) -> Error {
        Error::replaced(&*self.place, message)
    }

    /// The failure of a request for a stack whose row cannot be seen: it was removed, or the role has lost
    /// its grant.
    fn gone(&self, connection: &mut Connection, deadline: Instant) -> Failure {
        let tenant = format!("SELECT 1 FROM callstack.tenants WHERE id = {}", self.stack.tenant);
        match connection.run(&tenant, deadline) {
            Ok(rows) if rows.is_empty() => {
                let message = "this role may not use the tenant of the stack any more; an owner of the database runs \
                               `callstack postgres grant`";
                Error::io("use", &*self.place, message).into()
            }
            Ok(_) => self.replaced("it was removed").into(),
            Err(failure) => failure,
        }
    }

    /// Checks that the newest commit which this store knows is still there, though it is not the newest one.
    /// `found`: the writer of the event with its revision.
    fn check_known(&self, newest: Newest, known: Mark, found: Option<i64>) -> Result<(), Failure> {
        match found {
            _ if newest.mark.revision <= known.revision => Err(self.lost(known).into()),
            Some(writer) if writer == known.writer => Ok(()),
            // The event was compacted.
            None if newest.base >= known.revision => Ok(()),
            _ => Err(self.lost(known).into()),
        }
    }

    fn lost(&self, known: Mark) -> Error {
        let revision = known.revision;
        self.replaced(&format!(
            "its event {revision} is missing or another one now; the server has lost commits, as after a failover to an \
             asynchronous standby or a restore"
        ))
    }

    /// Calls `run` with the open transaction of this thread.
    fn in_transaction<T>(&mut self, run: impl FnOnce(&mut Transaction) -> Result<T, Failure>) -> Result<T> {
        let mut open = self.open.transaction();
        let transaction = open.as_mut().ok_or_else(|| Error::io("write", &*self.place, "no transaction is open"))?;
        run(transaction).map_err(Failure::without_change)
    }

    /// Ends the commit of a transaction whose connection was lost: connects again, and finds out whether the
    /// commit was kept. If it was not kept, and no other process has committed since, commits it again.
    fn settle(&self, transaction: &mut Transaction) -> Result<()> {
        const LOST: &str = "the connection was lost during the commit";
        let deadline = transaction.deadline();
        let before = transaction.newest;
        let Transaction { queue, is_partly_sent, .. } = transaction;
        let settled = self.pool.persist(deadline, |pool| {
            let mut connection = pool.idle_or_new(deadline)?;
            // The row is free only once the server has ended the broken transaction.
            let now = self.lock(&mut connection, None, deadline)?.newest;
            let proof = queue.proof();
            let writer = proof.map_or(Ok(None), |proof| self.writer_of(proof, &mut connection, deadline))?;
            // The result of a compaction since then does not fit the writes that wait.
            let is_as_before = now.mark == before.mark && now.base == before.base;
            let fate = match (proof, writer) {
                (_, Some(writer)) if writer == queue.writer() => Fate::Kept,
                (_, None) if is_as_before && !*is_partly_sent => {
                    let written = connection.write(queue.statements(), Some(&self.end()), deadline);
                    pool.keep(connection);
                    return match written {
                        Err(Failure::Refused(error)) => Ok(Fate::Refused(error)),
                        written => written.map(|()| Fate::Kept),
                    };
                }
                (None, _) => Fate::Unknown,
                (Some(Proof::Event(revision)), None) if now.base >= revision => Fate::Unknown,
                _ => Fate::Discarded,
            };
            connection.run("ROLLBACK", deadline)?;
            pool.keep(connection);
            Ok(fate)
        });
        match settled {
            Ok(Fate::Kept) => Ok(()),
            Ok(Fate::Refused(error)) => Err(error),
            Ok(Fate::Discarded) => {
                Err(Error::disconnected(&*self.place, format!("{LOST}, and the server has discarded it"), false))
            }
            Ok(Fate::Unknown) => Err(Error::disconnected(&*self.place, LOST, true)),
            Err(failure) => Err(failure.with_unknown_outcome(&self.place)),
        }
    }

    /// The number of the commit that has written the proof of a commit; `None` if the proof is not there.
    fn writer_of(&self, proof: Proof, connection: &mut Connection, deadline: Instant) -> Result<Option<i64>, Failure> {
        let stack = &self.stack.id;
        let rows = match proof {
            Proof::Event(revision) => connection.rows(
                WRITER_OF_EVENT,
                &[(stack, Type::INT8), (&revision.cast_signed(), Type::INT8)],
                deadline,
            ),
            Proof::LogLine(frame, line) => {
                let frame = i64::from(frame.number());
                connection.rows(
                    WRITER_OF_LINE,
                    &[(stack, Type::INT8), (&frame, Type::INT8), (&line, Type::INT8)],
                    deadline,
                )
            }
        };
        Ok(rows?.first().map(|row| row.get(0)))
    }

    /// The statements at the end of a transaction.
    fn end(&self) -> String {
        match self.pool.options().notifies {
            true => format!("SELECT pg_notify('{CHANNEL}', '{}'); COMMIT", self.stack.id),
            false => "COMMIT".to_owned(),
        }
    }

    /// What the stack's row says, in the open transaction or outside of one.
    fn current(&self) -> Result<Newest> {
        let newest = self.open.transaction().as_ref().map(|transaction| transaction.newest);
        newest.map_or_else(|| self.look(self.pool.patience()), Ok)
    }
}

/// What was found with the lock of a stack.
struct Locked {
    newest: Newest,
    news: Option<News>,
}

/// What has become of a commit whose connection was lost.
enum Fate {
    /// It is in the database.
    Kept,
    /// It is not there, and others have committed since.
    Discarded,
    /// It was discarded, and refused when it was repeated.
    Refused(Error),
    Unknown,
}

/// Maximum number of events that are read together with the lock.
const NEWS: usize = 256;
/// Time that an answer may take in addition to the wait for the lock.
const ROUND_TRIP: Duration = Duration::from_secs(2);
/// Shortest time after which the server ends the transaction of a process that does not continue. Shorter
/// times would end the transactions of processes that do continue.
const SHORTEST_IDLE_TIMEOUT: Duration = Duration::from_secs(1);

/// Number of columns in the rows of the functions `lock` and `look`. Rows of settings have one column.
const COLUMNS: usize = 5;

/// The revision of a known commit as those functions take it. Nothing follows the highest one.
fn revision_of(known: Option<Mark>) -> i64 {
    known.map_or(i64::MAX, |known| known.revision.cast_signed())
}

/// The number in a column.
fn number_in(row: &SimpleQueryRow, column: usize) -> Option<i64> {
    row.get(column)?.parse().ok()
}

const WRITER_OF_EVENT: &str = "SELECT writer FROM callstack.events WHERE stack = $1 AND revision = $2";
const WRITER_OF_LINE: &str = "SELECT writer FROM callstack.logs WHERE stack = $1 AND handle = $2 AND line = $3";

impl Store for PostgresStore {
    fn begin(&mut self, patience: Duration) -> Result<()> {
        self.rollback();
        let writer = random()?;
        let limit = Instant::now() + patience.min(LONGEST_PATIENCE);
        let deadline = deadline_after(patience);
        let begun = self.pool.persist(deadline, |pool| {
            let mut connection = pool.take(Use::Command, deadline)?;
            match self.lock(&mut connection, self.known, limit) {
                Ok(locked) => Ok((connection, locked)),
                Err(failure) => {
                    end(&mut connection);
                    pool.give_back(Use::Command, connection);
                    Err(failure)
                }
            }
        });
        let (connection, Locked { newest, news }) =
            begun.map_err(|failure| waited(failure.without_change(), patience))?;
        self.open.begin(Transaction::new(connection, newest, news, self.stack, patience, writer));
        Ok(())
    }

    fn read(
        &mut self,
        query: &EventQuery,
        patience: Duration,
        each: &mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<()> {
        let is_whole = query.selects_all();
        let (begun, news) = self.open.news(query.since);
        if let Some(mark) = begun.filter(|mark| is_whole && mark.revision == query.since) {
            self.known = Some(mark);
            return Ok(());
        }
        if let Some(news) = news.filter(|_| is_whole) {
            let reader = self.own_reader();
            for (mark, text) in news {
                each(reader.event(mark.revision, &text)?)?;
            }
            self.known = begun;
            return Ok(());
        }
        let reached = self.own_reader().read_events(query, patience, each)?;
        if is_whole {
            let seen =
                begun.or(self.seen).filter(|mark| mark.revision == reached.map_or(query.since, |mark| mark.revision));
            self.known = seen.or(reached).or(self.known);
        }
        Ok(())
    }

    fn reader(&self) -> Option<Box<dyn HistoryReader>> {
        Some(Box::new(self.own_reader()))
    }

    fn archive(&self) -> Option<Arc<dyn Archive>> {
        Some(Arc::new(PostgresArchive::new(self.own_reader())))
    }

    fn logs(&self) -> Option<Arc<dyn LogReader>> {
        Some(Arc::new(PostgresLogs::new(self.own_reader())))
    }

    fn word_index(&self) -> Option<Arc<dyn WordIndex>> {
        Some(Arc::new(PostgresWords::new(self.pool.clone(), self.stack, self.own_reader())))
    }

    fn snapshot(&mut self, patience: Duration) -> Result<Option<Snapshot>> {
        self.own_reader().head(false, patience)
    }

    fn restore_base(&mut self) -> Result<()> {
        let stack = self.stack.id;
        self.in_transaction(|transaction| {
            transaction.send(Part::Head)?;
            compaction::restore_base(transaction, stack)
        })
    }

    fn snapshot_revision(&mut self) -> Result<u64> {
        self.current().map(|newest| newest.snapshot)
    }

    fn base_revision(&mut self) -> Result<u64> {
        self.current().map(|newest| newest.base)
    }

    fn compact(&mut self, limits: &CompactionLimits<'_>) -> Result<CompactedEvents> {
        let (stack, place) = (self.stack.id, self.place.clone());
        self.in_transaction(|transaction| {
            transaction.send(Part::Head)?;
            compaction::compact(transaction, stack, &place, limits)
        })
    }

    fn write_snapshot(&mut self, snapshot: &Snapshot, frames: &mut dyn Iterator<Item = ArchivedFrame>) -> Result<()> {
        self.in_transaction(|transaction| {
            let base = transaction.newest.base;
            if snapshot.is_whole {
                transaction.queue.clear_frames(base);
            }
            loop {
                let (mut part, mut bytes) = (Vec::new(), 0);
                while part.len() < FRAMES
                    && bytes < LARGE
                    && let Some(frame) = frames.next()
                {
                    bytes += frame.image.len();
                    part.push(frame);
                }
                if part.is_empty() {
                    break;
                }
                transaction.queue.add_frames(part, base);
                transaction.send_if_large()?;
            }
            transaction.queue.add_head(snapshot);
            transaction.newest.snapshot = snapshot.revision;
            Ok(())
        })
    }

    fn write_base(&mut self, base: &Snapshot, frames: &mut dyn Iterator<Item = ArchivedFrame>) -> Result<()> {
        self.write_snapshot(base, frames)?;
        let stack = self.stack.id;
        self.in_transaction(|transaction| {
            transaction.send(Part::Head)?;
            compaction::make_base(transaction, stack)
        })
    }

    fn append(&mut self, events: &[Event]) -> Result<()> {
        self.in_transaction(|transaction| {
            for event in events {
                let Event { revision, handle, .. } = *event;
                let next = transaction.queue.next_revision();
                if i64::try_from(revision).is_err() {
                    let message = "the revision is too large for the database".to_owned();
                    return Err(Error::History { revision, message }.into());
                }
                if revision < next || revision > next && revision > transaction.newest.base {
                    let message = format!("event {next} is next");
                    return Err(Error::History { revision, message }.into());
                }
                let text = serde_json::to_string(event).expect("an event has only string keys and finite numbers");
                transaction.queue.add_event(revision, handle, event.change.kind(), text);
            }
            transaction.send_if_large()
        })
    }

    fn append_log(&mut self, frame: Handle, lines: Vec<String>) -> Result<bool> {
        let stack = self.stack.id;
        self.in_transaction(|transaction| {
            transaction.send(Part::Frames)?;
            let last = logs::last_line(transaction, stack, frame)?;
            transaction.queue.add_log(frame, last + 1, lines);
            Ok(last == 0)
        })
    }

    fn remove_logs(&mut self, frames: &[Handle]) -> Result<()> {
        self.in_transaction(|transaction| {
            transaction.queue.remove_logs(frames);
            Ok(())
        })
    }

    fn commit(&mut self) -> Result<()> {
        let Some(mut transaction) = self.open.end() else {
            return Err(Error::io("commit to", &*self.place, "no transaction is open"));
        };
        let deadline = transaction.deadline();
        let sent = transaction.connection.write(transaction.queue.statements(), Some(&self.end()), deadline);
        let committed = match sent {
            Err(Failure::Lost(_)) => self.settle(&mut transaction),
            sent => sent.map_err(Failure::without_change),
        };
        if committed.is_ok() {
            self.idle_timeout = Duration::from_millis(self.pool.options().idle_timeout);
            self.known = transaction.queue.last().or(Some(transaction.newest.mark));
        }
        self.pool.give_back(Use::Command, transaction.connection);
        committed
    }

    fn rollback(&mut self) {
        let Some(Transaction { mut connection, .. }) = self.open.end() else { return };
        end(&mut connection);
        self.pool.give_back(Use::Command, connection);
    }

    fn has_news(&mut self, patience: Duration) -> Result<bool> {
        let newest = self.look(patience)?;
        self.seen = Some(newest.mark);
        Ok(self.known != Some(newest.mark))
    }

    fn sync(&mut self, patience: Duration) -> Result<()> {
        // A commit that waits for the disk brings all earlier commits there too.
        let sql = format!(
            "BEGIN; SET LOCAL synchronous_commit = on; SET LOCAL lock_timeout = {}; \
             SELECT id FROM callstack.stacks WHERE id = {} FOR NO KEY UPDATE; COMMIT",
            milliseconds(patience),
            self.stack.id
        );
        self.pool.ask(patience, |connection, deadline| {
            let is_lazy = connection
                .run("SELECT 1 WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')", deadline)?;
            if is_lazy.is_empty() {
                return Ok(());
            }
            let synced = connection.run(&sql, deadline);
            if synced.is_err() {
                end(connection);
            }
            synced.map(drop)
        })
    }
}

/// How long the server waits for the next part of a history.
const HISTORY_PATIENCE: Duration = Duration::from_secs(600);
/// Maximum time for the end of a transaction that is discarded.
const ROLLBACK_PATIENCE: Duration = Duration::from_secs(2);

/// Discards the transaction of a connection. If that fails, the connection is lost, and the server discards
/// it.
fn end(connection: &mut Connection) {
    if connection.is_usable() {
        let _ = connection.run("ROLLBACK", Instant::now() + ROLLBACK_PATIENCE);
    }
}

/// A time as a setting of the server: at least one millisecond, because zero means no limit, and at most what
/// the setting can have.
fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX).clamp(1, i32::MAX.into())
}

/// States in an error of waiting how long that was.
fn waited(error: Error, patience: Duration) -> Error {
    match error {
        Error::Busy { path, .. } => {
            Error::Busy { path, waited: u64::try_from(patience.as_millis()).unwrap_or(u64::MAX) }
        }
        other => other,
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.rollback();
    }
}
