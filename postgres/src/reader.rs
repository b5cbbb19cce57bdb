//! Reading of a stack's events and of the heads of its snapshots, in the open transaction or outside of it.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use callstack_core::store::Snapshot;
use callstack_core::{Error, Event, EventQuery, HistoryReader, Result};
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, ToSql, Type};

use crate::connection::{Connection, Value};
use crate::errors::{ADVICE, Failure};
use crate::pool::Pool;
use crate::transaction::{Mark, Open, Part};

/// Number of events that are read at a time.
const PAGE: usize = 2_048;

/// Reads the rows of a stack: with the connection of its open transaction if this thread is in one, else with
/// another one.
#[derive(Clone)]
pub(crate) struct PostgresReader {
    pool: Pool,
    pub(crate) stack: i64,
    pub(crate) place: Arc<str>,
    open: Weak<Open>,
}

impl PostgresReader {
    pub(crate) fn new(pool: Pool, stack: i64, place: Arc<str>, open: Weak<Open>) -> Self {
        Self { pool, stack, place, open }
    }

    /// The maximum wait of questions that have no limit of their own.
    pub(crate) fn patience(&self) -> Duration {
        self.pool.patience()
    }

    /// The rows of a statement. Its first value is the stack, and it reads this part of what a transaction
    /// writes.
    pub(crate) fn rows(&self, part: Part, sql: &str, values: &[Value<'_>], patience: Duration) -> Result<Vec<Row>> {
        let values: Vec<Value<'_>> =
            [(&self.stack as &(dyn ToSql + Sync), Type::INT8)].into_iter().chain(values.iter().cloned()).collect();
        self.with_connection(part, patience, |connection, deadline| connection.rows(sql, &values, deadline))
    }

    /// Calls `run` with a connection. First, the waiting writes of this part in the open transaction of this
    /// thread are sent.
    fn with_connection<T>(
        &self,
        part: Part,
        patience: Duration,
        mut run: impl FnMut(&mut Connection, Instant) -> Result<T, Failure>,
    ) -> Result<T> {
        if let Some(open) = self.open.upgrade().filter(|open| open.is_here())
            && let Some(transaction) = open.transaction().as_mut()
        {
            let sent = transaction.send(part);
            let deadline = transaction.deadline();
            return sent.and_then(|()| run(&mut transaction.connection, deadline)).map_err(Failure::without_change);
        }
        self.pool.ask(patience, run)
    }

    /// Passes the matching events to `each`, a page at a time. Returns the last one. `patience` is for each
    /// page.
    pub(crate) fn read_events(
        &self,
        query: &EventQuery,
        patience: Duration,
        each: &mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<Option<Mark>> {
        let frame = query.frame.map(|frame| i64::from(frame.number()));
        let until = query.until.map_or(i64::MAX, number);
        let by_frame = if frame.is_some() { "handle = $4" } else { "$4::bigint IS NULL" };
        let by_kind = if query.kind.is_some() { "kind = $5" } else { "$5::text IS NULL" };
        let sql = format!(
            "SELECT revision, writer, event FROM callstack.events WHERE stack = $1 AND revision > $2 AND revision <= $3 \
             AND {by_frame} AND {by_kind} ORDER BY revision LIMIT $6"
        );
        let mut last: Option<Mark> = None;
        let mut left = query.limit.unwrap_or(usize::MAX);
        while left > 0 {
            let since = number(last.map_or(query.since, |last| last.revision));
            let most = left.min(PAGE);
            let limit = i64::try_from(most).unwrap_or(i64::MAX);
            let values: [Value<'_>; 5] = [
                (&since, Type::INT8),
                (&until, Type::INT8),
                (&frame, Type::INT8),
                (&query.kind, Type::TEXT),
                (&limit, Type::INT8),
            ];
            let rows = self.rows(Part::Events, &sql, &values, patience)?;
            for row in &rows {
                let mark = Mark { revision: self.value::<i64>(row, 0)?.cast_unsigned(), writer: self.value(row, 1)? };
                each(self.event(mark.revision, self.value(row, 2)?)?)?;
                last = Some(mark);
            }
            if rows.len() < most {
                break;
            }
            left -= rows.len();
        }
        Ok(last)
    }

    /// The head of the newest snapshot, or of the base.
    pub(crate) fn head(&self, is_base: bool, patience: Duration) -> Result<Option<Snapshot>> {
        let rows = self.rows(Part::Head, HEAD, &[(&is_base, Type::BOOL)], patience)?;
        let found = rows.first().map(|row| {
            Ok(Snapshot {
                revision: self.value::<i64>(row, 0)?.cast_unsigned(),
                head: self.value(row, 1)?,
                unfinished: self.value(row, 2)?,
                is_whole: false,
            })
        });
        found.transpose()
    }

    /// The event of a revision.
    pub(crate) fn event(&self, revision: u64, text: &str) -> Result<Event> {
        let event: Event = serde_json::from_str(text)
            .map_err(|error| self.damaged(format!("event {revision}: {error}")).with_source(error))?;
        match event.revision == revision {
            true => Ok(event),
            false => Err(self.damaged(format!("event {revision}: its text has the revision {}", event.revision))),
        }
    }

    /// The value of a column.
    pub(crate) fn value<'a, T: FromSql<'a>>(&self, row: &'a Row, column: usize) -> Result<T> {
        row.try_get(column).map_err(|error| self.damaged(error.to_string()).with_source(error))
    }

    /// The error for a row that this library did not write.
    pub(crate) fn damaged(&self, message: impl Into<String>) -> Error {
        Error::damaged(&*self.place, message, ADVICE)
    }
}

const HEAD: &str = "SELECT revision, head, unfinished FROM callstack.heads WHERE stack = $1 AND is_base = $2";

/// A revision as PostgreSQL has it.
fn number(revision: u64) -> i64 {
    i64::try_from(revision).unwrap_or(i64::MAX)
}

impl HistoryReader for PostgresReader {
    fn read(&self, query: &EventQuery, patience: Duration, each: &mut dyn FnMut(Event) -> Result<()>) -> Result<()> {
        self.read_events(query, patience, each).map(drop)
    }
}
