//! The frames of a stack's snapshot.

use std::fmt;
use std::sync::Arc;

use callstack_core::archive::{Archive, ArchiveQuery, ArchivedFrame, ArchivedPlace};
use callstack_core::{Error, Handle, Result};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::connection::Value;
use crate::reader::PostgresReader;
use crate::transaction::{Part, key_of};

/// The frames of the snapshot that the events of a compacted history follow.
const BASE_FRAMES: &str = "(SELECT * FROM callstack.base_frames WHERE stack = $1 \
    UNION ALL SELECT * FROM callstack.frames AS kept WHERE stack = $1 \
    AND changed <= (SELECT base FROM callstack.stacks WHERE id = $1) \
    AND NOT EXISTS (SELECT FROM callstack.base_frames AS old WHERE old.stack = $1 AND old.handle = kept.handle))";

/// The columns of a frame.
const COLUMNS: &str = "handle, tree, session_id, title, status, is_run, place, changed, image";

/// Maximum number of frames that are read at a time.
const PAGE: usize = 512;

/// The frames of a snapshot in the database: of the newest one, or of the base.
pub(crate) struct PostgresArchive {
    reader: PostgresReader,
    is_base: bool,
}

impl fmt::Debug for PostgresArchive {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (place, is_base) = (&self.reader.place, self.is_base);
        formatter
            .debug_struct("PostgresArchive")
            .field("place", place)
            .field("is_base", &is_base)
            .finish_non_exhaustive()
    }
}

impl PostgresArchive {
    pub(crate) fn new(reader: PostgresReader) -> Self {
        Self { reader, is_base: false }
    }

    /// The table with the frames.
    fn table(&self) -> &'static str {
        if self.is_base { BASE_FRAMES } else { "callstack.frames" }
    }

    fn rows(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>> {
        self.reader.rows(Part::Frames, sql, values, self.reader.patience())
    }

    fn frame_in(&self, row: &Row) -> Result<ArchivedFrame> {
        let reader = &self.reader;
        let status: &str = reader.value(row, 4)?;
        let session_id: Vec<u8> = reader.value(row, 2)?;
        Ok(ArchivedFrame {
            handle: self.handle_in(row, 0)?,
            root: self.handle_in(row, 1)?,
            session_id: String::from_utf8(session_id).map_err(|error| reader.damaged(error.to_string()))?,
            title: reader.value::<i64>(row, 3)?.cast_unsigned(),
            status: status.parse().map_err(|_| reader.damaged(format!("a frame has the status `{status}`")))?,
            is_run: reader.value(row, 5)?,
            place: reader.value::<Option<i64>>(row, 6)?.map(key_of),
            changed: reader.value::<i64>(row, 7)?.cast_unsigned(),
            image: reader.value(row, 8)?,
        })
    }

    fn handle_in(&self, row: &Row, column: usize) -> Result<Handle> {
        handle_of(self.reader.value(row, column)?).ok_or_else(|| self.reader.damaged("a frame has no possible handle"))
    }
}

/// The handle of this number.
pub(crate) fn handle_of(number: i64) -> Option<Handle> {
    Handle::from_index(usize::try_from(number.checked_sub(1)?).ok()?)
}

impl Archive for PostgresArchive {
    fn frames(&self, handle: Handle) -> Result<Vec<ArchivedFrame>> {
        let frames = self.table();
        let sql = format!(
            "SELECT {COLUMNS} FROM {frames} AS frames \
             WHERE stack = $1 AND tree = (SELECT tree FROM {frames} AS named WHERE stack = $1 AND handle = $2) \
             ORDER BY handle"
        );
        let number = i64::from(handle.number());
        let rows = self.rows(&sql, &[(&number, Type::INT8)])?;
        rows.iter().map(|row| self.frame_in(row)).collect()
    }

    fn page(&self, after: Option<Handle>) -> Result<Vec<ArchivedFrame>> {
        let frames = self.table();
        let sql = format!(
            "SELECT {COLUMNS} FROM {frames} AS frames WHERE stack = $1 AND handle > $2 ORDER BY handle LIMIT {PAGE}"
        );
        let after = after.map_or(0, |after| i64::from(after.number()));
        let rows = self.rows(&sql, &[(&after, Type::INT8)])?;
        rows.iter().map(|row| self.frame_in(row)).collect()
    }

    fn find(&self, query: ArchiveQuery<'_>, since: u64) -> Result<Vec<ArchivedPlace>> {
        let frames = self.table();
        let since = since.cast_signed();
        let (bytes, end, title, limit);
        let mut values: Vec<Value<'_>> = vec![(&since, Type::INT8)];
        let condition = match &query {
            ArchiveQuery::Id(id) => {
                bytes = id.as_bytes();
                values.push((&bytes, Type::BYTEA));
                "substring(session_id FOR 200) = substring($3 FOR 200) AND session_id = $3".to_owned()
            }
            ArchiveQuery::Beginning(text, most) => {
                (bytes, limit) = (text.as_bytes(), i64::try_from(*most).unwrap_or(i64::MAX));
                // No text in UTF-8 has the byte ff, so it ends the search for a beginning.
                end = [bytes, b"\xff"].concat();
                let more: [Value<'_>; 3] = [(&bytes, Type::BYTEA), (&end, Type::BYTEA), (&limit, Type::INT8)];
                values.extend(more);
                format!(
                    "handle IN (SELECT handle FROM {frames} AS named WHERE stack = $1 \
                     AND substring(session_id FOR 200) >= substring($3 FOR 200) \
                     AND substring(session_id FOR 200) <= substring($4 FOR 200) \
                     AND session_id >= $3 AND session_id < $4 \
                     ORDER BY substring(session_id FOR 200), session_id LIMIT $5)"
                )
            }
            ArchiveQuery::Title(hash) => {
                title = hash.cast_signed();
                values.push((&title, Type::INT8));
                "title = $3".to_owned()
            }
            ArchiveQuery::Status(status) => format!("status = '{}'", status.as_str()),
            ArchiveQuery::Runs => "is_run".to_owned(),
            ArchiveQuery::Roots => "place IS NOT NULL".to_owned(),
            ArchiveQuery::Nothing => "false".to_owned(),
        };
        // The question whether there is a newer snapshot is asked once. Without it, the server may read all
        // frames to find none, as long as it has no statistics of a new stack. This statement is not a
        // function with a kept plan: a plan that was made while the table was small would read the whole
        // table, as long as a large transaction fills it.
        let sql = format!(
            "SELECT handle, changed, place FROM {frames} AS changed WHERE stack = $1 AND changed > $2 \
             AND (SELECT snapshot FROM callstack.stacks WHERE id = $1) > $2 \
             UNION ALL SELECT handle, changed, place FROM {frames} AS found WHERE stack = $1 AND {condition}"
        );
        let rows = self.rows(&sql, &values)?;
        let places = rows.iter().map(|row| {
            Ok::<_, Error>(ArchivedPlace {
                handle: self.handle_in(row, 0)?,
                changed: self.reader.value::<i64>(row, 1)?.cast_unsigned(),
                place: self.reader.value::<Option<i64>>(row, 2)?.map(key_of),
            })
        });
        places.collect()
    }

    fn base(&self) -> Result<Option<(String, Arc<dyn Archive>)>> {
        let head = self.reader.head(true, self.reader.patience())?;
        let frames = Self { reader: self.reader.clone(), is_base: true };
        Ok(head.map(|head| (head.head, Arc::new(frames) as Arc<dyn Archive>)))
    }
}
