//! The word index of a folder: `stack.db-words`, an SQLite database with a full text table.
//!
//! It is a file of its own, so that neither a command nor the history depends on it: it is written by
//! searches, can be deleted at any time, and is made again if it is not as this version writes it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::time::{Duration, UNIX_EPOCH};

use rusqlite::{
    Connection, OpenFlags, OptionalExtension, Row, Transaction, TransactionBehavior, params, params_from_iter,
};

use super::distrust;
use super::errors::{Refused, damaged};
use super::schema::{refuse_other_tables, refuse_unfit_contents};
use super::snapshot::handle_in;
use crate::error::{Error, Result};
use crate::frame::Handle;
use crate::store::file_errors::reading;
use crate::store::folder::{Access, Folder, Kind};
use crate::store::{GrownLog, IndexedHistory, IndexedWords, WordIndex, WordSource};
use crate::text::fnv;

/// What the name of the index adds to that of the database.
const SUFFIX: &str = "-words";
/// SQLite's `application_id` of an index: "CSTW" in ASCII.
const APPLICATION_ID: i64 = 0x4353_5457;
/// The version of the tables and of the rule for words.
const VERSION: i64 = 1;
/// Maximum wait for another search that writes.
const PATIENCE: Duration = Duration::from_secs(2);
/// Number of bytes at the end of the known part of a log. A hash of them identifies the log.
const END: u64 = 1_024;
/// Size of the pieces in which the end of the last whole line is looked for, in bytes.
const PIECE: u64 = 64 << 10;
/// Number of the bits of a row's number that are the frame. The bits before them count the parts of the
/// frame's log; 0 is its record.
const FRAME_BITS: u32 = 32;

/// The tables. The words of a part are its row in `words`; the table does not keep the texts, and tells words
/// apart by the blanks between them. `logs` has for each log the number of lines whose words are here, the
/// size of these lines and a hash of their end, a hash of the size and the time of the file at the last look,
/// and the number of its parts.
const TABLES: [(&str, &str); 3] = [
    (
        "history",
        "CREATE TABLE history (id INTEGER PRIMARY KEY, revision INTEGER NOT NULL, mark INTEGER NOT NULL) STRICT",
    ),
    (
        "logs",
        "CREATE TABLE logs (
        frame INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        lines INTEGER NOT NULL,
        size INTEGER NOT NULL,
        mark INTEGER NOT NULL,
        look INTEGER NOT NULL,
        parts INTEGER NOT NULL
    ) STRICT",
    ),
    (
        "words",
        "CREATE VIRTUAL TABLE words USING fts5(text, content='', contentless_delete=1, detail=none, tokenize='ascii')",
    ),
];
/// The tables in which the full text table keeps its content.
const SHADOWS: [&str; 4] = ["words_config", "words_data", "words_docsize", "words_idx"];

/// The index of the database in a folder. It is opened by each call.
pub(super) struct SqliteWords {
    folder: Folder,
    name: String,
}

impl SqliteWords {
    pub(super) fn new(folder: &Folder, database: &str) -> Self {
        Self { folder: folder.clone(), name: format!("{database}{SUFFIX}") }
    }

    /// Opens the index. An index that is damaged, or of another version, is made again.
    fn open(&self) -> Result<Connection> {
        match self.open_sound() {
            Err(Error::Damaged { .. }) => {
                self.remove()?;
                self.open_sound()
            }
            opened => opened,
        }
    }

    fn remove(&self) -> Result<()> {
        ["-journal", ""].iter().try_for_each(|suffix| self.folder.remove(&format!("{}{suffix}", self.name)))
    }

    fn open_sound(&self) -> Result<Connection> {
        let path = &self.folder.path_of(&self.name);
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let file = format!("{}{suffix}", self.name);
            let is_fit = matches!(self.folder.kind(&file)?, None | Some(Kind::File));
            // A write-ahead log does not come from this library.
            if !is_fit || matches!(suffix, "-wal" | "-shm") && self.folder.is_taken(&file) {
                return Err(Error::io("open", self.folder.path_of(&file).display().to_string(), "it is in the way"));
            }
        }
        refuse_unfit_contents(&self.folder, &self.name)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_PRIVATE_CACHE
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let connection = Connection::open_with_flags(self.folder.sqlite_path(&self.name), flags).refused(path)?;
        connection.busy_timeout(PATIENCE).refused(path)?;
        distrust(&connection).refused(path)?;
        self.check_or_make(&connection)?;
        Ok(connection)
    }

    /// Checks that the tables are those of this version, and makes them in an empty file.
    fn check_or_make(&self, connection: &Connection) -> Result<()> {
        let path = &self.folder.path_of(&self.name);
        let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        if number("PRAGMA application_id").refused(path)? == 0 {
            let making = Transaction::new_unchecked(connection, TransactionBehavior::Immediate).refused(path)?;
            // Another process may have made them meanwhile.
            if making.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0)).refused(path)? {
                TABLES.iter().try_for_each(|(_, sql)| making.execute_batch(sql)).refused(path)?;
                making.pragma_update(None, "application_id", APPLICATION_ID).refused(path)?;
                making.pragma_update(None, "user_version", VERSION).refused(path)?;
            }
            making.commit().refused(path)?;
        }
        let is_ours = number("PRAGMA application_id").refused(path)? == APPLICATION_ID
            && number("PRAGMA user_version").refused(path)? == VERSION;
        if !is_ours {
            return Err(damaged(path, "it is not an index of this version"));
        }
        let made = TABLES.map(|(table, sql)| (table, Some(sql)));
        refuse_other_tables(connection, path, made.into_iter().chain(SHADOWS.map(|table| (table, None))))
    }

    /// Runs code with the index. An index that turns out to be damaged is removed, so that the next search
    /// makes it again.
    fn with<T>(&self, run: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        let done = self.open().and_then(|connection| run(&connection).refused(&self.folder.path_of(&self.name)));
        if matches!(done, Err(Error::Damaged { .. })) {
            self.remove()?;
        }
        done
    }
}

impl WordIndex for SqliteWords {
    fn indexed(&self) -> Result<Option<IndexedHistory>> {
        self.with(indexed_in)
    }

    fn grown_logs(&self) -> Result<Vec<GrownLog>> {
        let known: Vec<Known> = self.with(|connection| {
            let mut statement = connection.prepare("SELECT frame, name, lines, size, mark, look FROM logs")?;
            let rows = statement.query_map([], |row| {
                let number = |column| row.get::<_, i64>(column).map(i64::cast_unsigned);
                Ok(Known {
                    frame: handle_in(row, 0)?,
                    name: row.get(1)?,
                    lines: usize::try_from(row.get::<_, i64>(2)?).unwrap_or(0),
                    size: number(3)?,
                    mark: number(4)?,
                    look: number(5)?,
                })
            })?;
            rows.collect()
        })?;
        let mut grown = Vec::new();
        for log in known {
            let Some(file) = self.folder.file(&log.name, Access::Read)? else { continue };
            grown.extend(log.grown(&file).map_err(reading(&self.folder.path_of(&log.name)))?);
        }
        Ok(grown)
    }

    fn add(
        &self,
        before: Option<IndexedHistory>,
        is_new: bool,
        after: IndexedHistory,
        words: Vec<IndexedWords>,
    ) -> Result<bool> {
        self.with(|connection| {
            let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
            if indexed_in(&transaction)? != before {
                return Ok(false);
            }
            if is_new {
                transaction.execute_batch("DELETE FROM logs; INSERT INTO words (words) VALUES ('delete-all')")?;
            }
            words.into_iter().try_for_each(|words| add(&transaction, words))?;
            let sql = "INSERT INTO history VALUES (0, ?1, ?2) ON CONFLICT DO UPDATE SET revision = ?1, mark = ?2";
            transaction.execute(sql, [after.revision.cast_signed(), after.mark.cast_signed()])?;
            transaction.commit()?;
            Ok(true)
        })
    }

    fn find(&self, words: &[String], logs: bool) -> Result<Vec<Handle>> {
        if words.is_empty() {
            return Ok(Vec::new());
        }
        // A word has no quotation mark. Words may stand in different parts of a frame.
        let queries: Vec<String> = match logs {
            true => words.iter().map(|word| format!("\"{word}\"*")).collect(),
            false => vec![words.iter().map(|word| format!("\"{word}\"*")).collect::<Vec<_>>().join(" ")],
        };
        let parts = if logs { "" } else { " AND rowid < 1 << 32" };
        let select =
            |index: usize| format!("SELECT rowid & 0xffffffff FROM words WHERE words MATCH ?{}{parts}", index + 1);
        let sql = (0..queries.len()).map(select).collect::<Vec<_>>().join(" INTERSECT ");
        self.with(|connection| {
            let mut statement = connection.prepare(&sql)?;
            let found = statement.query_map(params_from_iter(&queries), |row| handle_in(row, 0))?;
            found.collect()
        })
    }
}

/// What the index has of a log.
struct Known {
    frame: Handle,
    name: String,
    lines: usize,
    /// The size of these lines.
    size: u64,
    /// A hash of their end.
    mark: u64,
    /// A hash of the size and the time of the file at the last look.
    look: u64,
}

impl Known {
    /// The log, if its file has whole lines that the index does not have.
    fn grown(&self, file: &File) -> io::Result<Option<GrownLog>> {
        let data = file.metadata()?;
        let written = data.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let written = written.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let look = fnv([data.len(), written]);
        if look == self.look {
            return Ok(None);
        }
        // A log that was begun again, or from which lines were removed, has another end there.
        let is_same = self.size > 0 && data.len() >= self.size && mark_of(file, self.size)? == self.mark;
        let lines = if is_same { self.lines } else { 0 };
        let end = end_of_lines(file, data.len())?;
        let has_more = end > 0 && !(is_same && end == self.size);
        Ok(has_more.then_some(GrownLog { frame: self.frame, lines, state: [end, mark_of(file, end)?, look] }))
    }
}

/// The size of the whole lines of a file.
fn end_of_lines(mut file: &File, size: u64) -> io::Result<u64> {
    let mut end = size;
    while end > 0 {
        let begin = end.saturating_sub(PIECE);
        let mut piece = Vec::new();
        file.seek(SeekFrom::Start(begin))?;
        file.take(end - begin).read_to_end(&mut piece)?;
        if let Some(place) = piece.iter().rposition(|byte| *byte == b'\n') {
            return Ok(begin + place as u64 + 1);
        }
        end = begin;
    }
    Ok(0)
}

/// A hash of the last bytes before a place in a file.
fn mark_of(mut file: &File, end: u64) -> io::Result<u64> {
    let begin = end.saturating_sub(END);
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(begin))?;
    file.take(end - begin).read_to_end(&mut bytes)?;
    Ok(fnv(bytes.into_iter().map(u64::from)))
}

/// The part of the history that the index has.
fn indexed_in(connection: &Connection) -> rusqlite::Result<Option<IndexedHistory>> {
    let read = |row: &Row<'_>| {
        let [revision, mark] = [row.get::<_, i64>(0)?, row.get(1)?].map(i64::cast_unsigned);
        Ok(IndexedHistory { revision, mark })
    };
    connection.query_row("SELECT revision, mark FROM history", [], read).optional()
}

fn add(connection: &Connection, IndexedWords { source, words }: IndexedWords) -> rusqlite::Result<()> {
    let part = match source {
        WordSource::Record { frame, log } => {
            connection
                .prepare_cached("DELETE FROM words WHERE rowid = ?1")
                .and_then(|mut statement| statement.execute([frame.number()]))?;
            if let Some(name) = log {
                let sql = "INSERT INTO logs VALUES (?1, ?2, 0, 0, 0, 0, 0) ON CONFLICT DO UPDATE SET name = ?2";
                connection.prepare_cached(sql)?.execute(params![frame.number(), name])?;
            }
            i64::from(frame.number())
        }
        WordSource::Log { log: GrownLog { frame, state, .. }, lines } => {
            let sql = "UPDATE logs SET lines = ?2, size = ?3, mark = ?4, look = ?5, parts = parts + 1 WHERE frame = ?1 \
                       RETURNING parts";
            let lines = i64::try_from(lines).unwrap_or(i64::MAX);
            let [size, mark, look] = state.map(u64::cast_signed);
            let values = params![frame.number(), lines, size, mark, look];
            let part: i64 = connection.prepare_cached(sql)?.query_row(values, |row| row.get(0))?;
            part << FRAME_BITS | i64::from(frame.number())
        }
    };
    let mut insert = connection.prepare_cached("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?;
    insert.execute(params![part, words.join(" ")]).map(drop)
}
