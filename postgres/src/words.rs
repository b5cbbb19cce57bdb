//! The word index of a stack: for each word, the frames that have it.
//!
//! Searches write it, in transactions of their own. The words that a frame had before a change stay in the
//! index, because an index may name frames that do not have the words.

use std::time::{Duration, Instant};

use callstack_core::store::{GrownLog, IndexedHistory, IndexedWords, WordIndex, WordSource};
use callstack_core::{Handle, Result};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use crate::archive::handle_of;
use crate::connection::{Connection, Value};
use crate::errors::Failure;
use crate::pool::Pool;
use crate::reader::PostgresReader;
use crate::transaction::{Part, StackRow};

/// A character that follows all characters of words.
const LAST_CHARACTER: char = '\u{10ffff}';

/// The index of a stack.
pub(crate) struct PostgresWords {
    pool: Pool,
    stack: StackRow,
    reader: PostgresReader,
}

/// The words that are added together, each with a frame.
#[derive(Default)]
struct Pairs {
    words: Vec<String>,
    frames: Vec<i64>,
}

impl Pairs {
    fn add(&mut self, frame: Handle, words: Vec<String>) {
        self.frames.extend(words.iter().map(|_| i64::from(frame.number())));
        self.words.extend(words);
    }
}

impl PostgresWords {
    pub(crate) fn new(pool: Pool, stack: StackRow, reader: PostgresReader) -> Self {
        Self { pool, stack, reader }
    }

    fn rows(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>> {
        self.reader.rows(Part::Frames, sql, values, self.patience())
    }

    fn patience(&self) -> Duration {
        self.reader.patience()
    }

    fn frame_in(&self, row: &Row) -> Result<Handle> {
        handle_of(self.reader.value(row, 0)?).ok_or_else(|| self.reader.damaged("a word has no possible frame"))
    }

    /// Adds words in the open transaction. Returns false, before it has changed anything, if the index does
    /// not have what `before` says.
    fn add_in(
        &self,
        connection: &mut Connection,
        deadline: Instant,
        before: Option<IndexedHistory>,
        is_new: bool,
        after: IndexedHistory,
        words: &[IndexedWords],
    ) -> Result<bool, Failure> {
        let StackRow { id, tenant } = self.stack;
        let mut run = |sql: &str, values: &[Value<'_>]| {
            let own: [Value<'_>; 2] = [(&tenant as &(dyn ToSql + Sync), Type::INT4), (&id, Type::INT8)];
            let values: Vec<Value<'_>> = own.into_iter().chain(values.iter().cloned()).collect();
            connection.rows(sql, &values, deadline)
        };
        run(BEGIN_INDEX, &[])?;
        let known = run(LOCK_INDEX, &[])?;
        let known = known.first().and_then(history_in);
        if known != before {
            return Ok(false);
        }
        if is_new {
            run(CLEAR_WORDS, &[])?;
            run(CLEAR_LOGS, &[])?;
        }
        let (mut records, mut logs) = (Pairs::default(), Pairs::default());
        let (mut lines, mut frames) = (Vec::new(), Vec::new());
        for IndexedWords { source, words } in words {
            match source {
                WordSource::Record { frame, .. } => records.add(*frame, words.clone()),
                WordSource::Log { log, lines: last } => {
                    logs.add(log.frame, words.clone());
                    frames.push(i64::from(log.frame.number()));
                    lines.push(i64::try_from(*last).unwrap_or(i64::MAX));
                }
            }
        }
        let newest: [Value<'_>; 2] =
            [(&after.revision.cast_signed(), Type::INT8), (&after.mark.cast_signed(), Type::INT8)];
        run(NOTE_HISTORY, &newest)?;
        for (pairs, is_log) in [(records, false), (logs, true)] {
            if !pairs.words.is_empty() {
                let values: [Value<'_>; 3] =
                    [(&pairs.words, Type::TEXT_ARRAY), (&pairs.frames, Type::INT8_ARRAY), (&is_log, Type::BOOL)];
                run(ADD_WORDS, &values)?;
            }
        }
        if !frames.is_empty() {
            run(NOTE_LINES, &[(&frames, Type::INT8_ARRAY), (&lines, Type::INT8_ARRAY)])?;
        }
        Ok(true)
    }
}

impl WordIndex for PostgresWords {
    fn indexed(&self) -> Result<Option<IndexedHistory>> {
        Ok(self.rows(KNOWN, &[])?.first().and_then(history_in))
    }

    fn grown_logs(&self) -> Result<Vec<GrownLog>> {
        let logs = self.rows(GROWN_LOGS, &[])?;
        let logs = logs.iter().map(|row| {
            let lines = usize::try_from(self.reader.value::<i64>(row, 1)?).unwrap_or(0);
            Ok(GrownLog { frame: self.frame_in(row)?, lines, state: [0; 3] })
        });
        logs.collect()
    }

    fn add(
        &self,
        before: Option<IndexedHistory>,
        is_new: bool,
        after: IndexedHistory,
        words: Vec<IndexedWords>,
    ) -> Result<bool> {
        self.pool.ask(self.patience(), |connection, deadline| {
            connection.run("BEGIN", deadline)?;
            let added = self.add_in(connection, deadline, before, is_new, after, &words);
            let end = if matches!(added, Ok(true)) { "COMMIT" } else { "ROLLBACK" };
            if connection.is_usable() {
                connection.run(end, deadline)?;
            }
            added
        })
    }

    fn find(&self, words: &[String], logs: bool) -> Result<Vec<Handle>> {
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let ends: Vec<String> = words.iter().map(|word| format!("{word}{LAST_CHARACTER}")).collect();
        let select = |index: usize| {
            let first = 2 * index + 3;
            format!(
                "SELECT pg_catalog.unnest(frames) AS frame FROM callstack.words WHERE stack = $1 AND (NOT is_log OR $2) \
                 AND word >= ${first} AND word < ${}",
                first + 1
            )
        };
        let sql = (0..words.len()).map(select).collect::<Vec<_>>().join(" INTERSECT ");
        let sql = format!("SELECT DISTINCT frame FROM ({sql}) AS found");
        let mut values: Vec<Value<'_>> = vec![(&logs, Type::BOOL)];
        for (word, end) in words.iter().zip(&ends) {
            values.extend([(word as &(dyn ToSql + Sync), Type::TEXT), (end, Type::TEXT)]);
        }
        self.rows(&sql, &values)?.iter().map(|row| self.frame_in(row)).collect()
    }
}

/// The part of the history that a row says. Revision -1: nothing was added yet.
fn history_in(row: &Row) -> Option<IndexedHistory> {
    let [revision, mark] = [0, 1].map(|column| row.get::<_, i64>(column));
    (revision >= 0).then(|| IndexedHistory { revision: revision.cast_unsigned(), mark: mark.cast_unsigned() })
}

const KNOWN: &str = "SELECT revision, mark FROM callstack.indexed WHERE stack = $1 AND handle = 0";

/// The row that each transaction locks has the handle 0.
const BEGIN_INDEX: &str = "INSERT INTO callstack.indexed (tenant, stack, handle, revision) VALUES ($1, $2, 0, -1) \
    ON CONFLICT DO NOTHING";

const LOCK_INDEX: &str =
    "SELECT revision, mark FROM callstack.indexed WHERE tenant = $1 AND stack = $2 AND handle = 0 FOR UPDATE";

const CLEAR_WORDS: &str = "DELETE FROM callstack.words WHERE tenant = $1 AND stack = $2";

const CLEAR_LOGS: &str = "DELETE FROM callstack.indexed WHERE tenant = $1 AND stack = $2 AND handle > 0";

const NOTE_HISTORY: &str = "UPDATE callstack.indexed SET revision = $3, mark = $4, parts = parts + 1 \
    WHERE tenant = $1 AND stack = $2 AND handle = 0";

const ADD_WORDS: &str = "INSERT INTO callstack.words (tenant, stack, word, part, is_log, frames) \
    SELECT $1, $2, new.word, (SELECT parts FROM callstack.indexed WHERE stack = $2 AND handle = 0), $5, \
    pg_catalog.array_agg(new.frame) FROM unnest($3, $4) AS new (word, frame) GROUP BY new.word";

const NOTE_LINES: &str = "INSERT INTO callstack.indexed (tenant, stack, handle, lines) \
    SELECT $1, $2, new.frame, pg_catalog.max(new.lines) FROM unnest($3, $4) AS new (frame, lines) GROUP BY new.frame \
    ON CONFLICT (stack, handle) DO UPDATE SET lines = excluded.lines";

/// Jumps from the log of one frame to the log of the next one, because the lines between them need not be
/// read.
const GROWN_LOGS: &str = "WITH RECURSIVE logged AS (\
    SELECT pg_catalog.min(handle) AS handle FROM callstack.logs WHERE stack = $1 UNION ALL \
    SELECT (SELECT pg_catalog.min(logs.handle) FROM callstack.logs WHERE logs.stack = $1 AND logs.handle > logged.handle) \
    FROM logged WHERE logged.handle IS NOT NULL), \
    counted AS (SELECT logged.handle, (SELECT pg_catalog.max(logs.line) FROM callstack.logs WHERE logs.stack = $1 \
    AND logs.handle = logged.handle) AS lines FROM logged WHERE logged.handle IS NOT NULL) \
    SELECT counted.handle, coalesce(known.lines, 0) FROM counted LEFT JOIN callstack.indexed AS known \
    ON known.stack = $1 AND known.handle = counted.handle WHERE counted.lines > coalesce(known.lines, 0)";
