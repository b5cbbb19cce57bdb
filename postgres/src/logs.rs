//! The logs of frames, as rows.

use std::ops::RangeInclusive;
use std::time::Duration;

use callstack_core::store::StoredLog;
use callstack_core::{Handle, LogReader, Result};
use tokio_postgres::types::Type;

use crate::archive::handle_of;
use crate::connection::Value;
use crate::errors::Failure;
use crate::reader::PostgresReader;
use crate::transaction::{Part, Transaction};

/// Number of lines that are read at a time.
const PAGE: i64 = 1_024;

/// The number of the last line in the log of a frame; 0 if it has none.
pub(crate) fn last_line(transaction: &mut Transaction, stack: i64, frame: Handle) -> Result<i64, Failure> {
    let frame = i64::from(frame.number());
    let rows = transaction.rows(LAST_LINE, &[(&stack, Type::INT8), (&frame, Type::INT8)])?;
    Ok(rows.first().map_or(0, |row| row.get(0)))
}

/// Reads the logs of a stack.
pub(crate) struct PostgresLogs {
    reader: PostgresReader,
}

impl PostgresLogs {
    pub(crate) fn new(reader: PostgresReader) -> Self {
        Self { reader }
    }
}

impl LogReader for PostgresLogs {
    fn count(&self, frame: Handle, patience: Duration) -> Result<usize> {
        let frame = i64::from(frame.number());
        let rows = self.reader.rows(Part::Frames, LAST_LINE, &[(&frame, Type::INT8)], patience)?;
        rows.first()
            .map_or(Ok(0), |row| self.reader.value::<i64>(row, 0))
            .map(|last| usize::try_from(last).unwrap_or(0))
    }

    fn read(
        &self,
        frame: Handle,
        numbers: RangeInclusive<usize>,
        patience: Duration,
        each: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<()> {
        let frame = i64::from(frame.number());
        let [first, last] = [*numbers.start(), *numbers.end()].map(|number| i64::try_from(number).unwrap_or(i64::MAX));
        let mut before = first.saturating_sub(1);
        while before < last {
            let until = last.min(before.saturating_add(PAGE));
            let values: [Value<'_>; 3] = [(&frame, Type::INT8), (&before, Type::INT8), (&until, Type::INT8)];
            let rows = self.reader.rows(Part::Frames, LINES, &values, patience)?;
            rows.iter().try_for_each(|row| each(self.reader.value(row, 0)?))?;
            before = until;
        }
        Ok(())
    }

    fn list(&self, patience: Duration) -> Result<Vec<StoredLog>> {
        let rows = self.reader.rows(Part::Frames, LIST, &[], patience)?;
        let logs = rows.iter().map(|row| {
            let handle = handle_of(self.reader.value(row, 0)?);
            Ok(StoredLog {
                frame: handle.ok_or_else(|| self.reader.damaged("a log has no possible frame"))?,
                bytes: self.reader.value::<i64>(row, 1)?.cast_unsigned(),
                written: (self.reader.value::<f64>(row, 2)? * 1_000.0) as u64,
            })
        });
        logs.collect()
    }
}

const LAST_LINE: &str = "SELECT coalesce(max(line), 0) FROM callstack.logs WHERE stack = $1 AND handle = $2";

const LINES: &str = "SELECT entry FROM callstack.logs WHERE stack = $1 AND handle = $2 AND line > $3 AND line <= $4 \
    ORDER BY line";

/// A line break is counted for each line, as in a file. All operators here have the types of the system's own
/// operators: an operator of other types could come from a stranger who may write to a schema of the search
/// path.
const LIST: &str = "SELECT handle, sum(octet_length(entry) + 1)::bigint, \
    extract(epoch FROM max(written))::float8 FROM callstack.logs WHERE stack = $1 GROUP BY handle";
