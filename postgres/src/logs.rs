//! The logs of frames, as rows.

use std::time::{Duration, Instant};

use callstack_core::store::StoredLog;
use callstack_core::{Handle, LogReader, Result};
use tokio_postgres::types::{ToSql, Type};

use crate::archive::handle_of;
use crate::connection::Connection;
use crate::errors::Failure;
use crate::reader::PostgresReader;

/// Number of lines that are read at a time.
const PAGE: i64 = 1_024;

/// The number of the last line in the log of a frame; 0 if it has none.
pub(crate) fn last_line(
    connection: &mut Connection,
    stack: i64,
    frame: Handle,
    deadline: Instant,
) -> Result<i64, Failure> {
    let frame = i64::from(frame.number());
    let rows = connection.rows(LAST_LINE, &[(&stack, Type::INT8), (&frame, Type::INT8)], deadline)?;
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
    fn read(&self, frame: Handle, patience: Duration, each: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        let frame = i64::from(frame.number());
        let mut last = 0_i64;
        loop {
            let values: [(&(dyn ToSql + Sync), Type); 3] =
                [(&frame, Type::INT8), (&last, Type::INT8), (&PAGE, Type::INT8)];
            let rows = self.reader.rows(LINES, &values, patience)?;
            for row in &rows {
                last = self.reader.value(row, 0)?;
                each(self.reader.value(row, 1)?)?;
            }
            if (rows.len() as i64) < PAGE {
                return Ok(());
            }
        }
    }

    fn list(&self, patience: Duration) -> Result<Vec<StoredLog>> {
        let rows = self.reader.rows(LIST, &[], patience)?;
        let logs = rows.iter().map(|row| {
            let handle = handle_of(self.reader.value(row, 0)?);
            Ok(StoredLog {
                frame: handle.ok_or_else(|| self.reader.damaged("a log has no possible frame"))?,
                bytes: self.reader.value::<i64>(row, 1)?.cast_unsigned(),
                written: self.reader.value::<i64>(row, 2)?.cast_unsigned(),
            })
        });
        logs.collect()
    }
}

const LAST_LINE: &str = "SELECT coalesce(max(line), 0) FROM callstack.logs WHERE stack = $1 AND handle = $2";

const LINES: &str = "SELECT line, entry FROM callstack.logs WHERE stack = $1 AND handle = $2 AND line > $3 \
    ORDER BY line LIMIT $4";

/// A line break is counted for each line, as in a file.
const LIST: &str = "SELECT handle, sum(octet_length(entry) + 1)::bigint, \
    (extract(epoch FROM max(written)) * 1000)::bigint FROM callstack.logs WHERE stack = $1 GROUP BY handle";
