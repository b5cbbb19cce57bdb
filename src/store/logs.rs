//! The full log of a frame: a file of JSON lines that grows by appends.
//!
//! The caller of an append holds the store's transaction, so only one process appends at a time and lines
//! never mix. A line that was cut off by a kill or a full disk is not repaired: reads report it, and the next
//! append starts on a new line.

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::time::{Duration, UNIX_EPOCH};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::LogReader;
use super::file_errors::{reading, writing};
use super::folder::{Access, Folder};
use super::patience::{Locked, lock, lock_owned};
use crate::error::Result;
use crate::frame::Handle;
use crate::text::from_json;

/// A filter for the lines of a log. The default selects all lines.
///
/// ```
/// use callstack_core::LogQuery;
/// let last_errors = LogQuery::default().search("error").tail(10);
/// # let _ = last_errors;
/// ```
///
/// In JSON: `{"from": 1, "to": 50, "search": "error", "tail": 10}`. Every key is optional; unknown keys are
/// rejected.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LogQuery {
    /// The first line of the range, counted from 1. Default 0, which means the same as 1.
    pub from: usize,
    /// The last line of the range, inclusive. Default `None`: up to the end of the log.
    pub to: Option<usize>,
    /// Selects only lines that contain this text in a key or a value, ignoring case. Default `None`.
    pub search: Option<String>,
    /// Maximum number of lines: the last ones of those that match the other filters. Default `None`: no
    /// limit.
    pub tail: Option<usize>,
}

impl LogQuery {
    /// Selects the lines from `from` to `to`, both inclusive and counted from 1.
    pub fn range(self, from: usize, to: usize) -> Self {
        Self { from, to: Some(to), ..self }
    }

    /// Selects only lines that contain this text in a key or a value, ignoring case.
    pub fn search(self, text: impl Into<String>) -> Self {
        Self { search: Some(text.into()), ..self }
    }

    /// Selects only the last `count` of the lines that match the other filters.
    pub fn tail(self, count: usize) -> Self {
        Self { tail: Some(count), ..self }
    }
}

/// The lines of a log that a [`LogQuery`] selects.
///
/// In JSON: `{"lines": [{"number": 1, "entry": {"role": "user"}}], "total": 2, "damaged": [{"number": 2,
/// "message": "it is cut off, or still being written"}]}`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LogPage {
    /// The selected lines, in the order of the file.
    pub lines: Vec<LogLine>,
    /// Number of lines in the log, including damaged ones and those that are not selected.
    pub total: usize,
    /// The lines of the selected range that are not readable, with the reason; at most 1000.
    pub damaged: Vec<LogDamage>,
}

/// One line of a log.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LogLine {
    /// Number of the line in the file, counted from 1.
    pub number: usize,
    /// The JSON value of the line.
    pub entry: Value,
}

/// A line of a log that is not a complete JSON value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LogDamage {
    /// Number of the line in the file, counted from 1.
    pub number: usize,
    /// Description of the damage.
    pub message: String,
}

/// Which logs [`Files::prune_logs`](crate::stack::Files::prune_logs) removes. In JSON
/// `{"before": 1795293106903, "bytes": 500000000}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LogLimits {
    /// The logs to which nothing was appended since this time, in milliseconds since the Unix epoch. Default
    /// `None`: their age does not count.
    pub before: Option<u64>,
    /// The oldest logs, until all logs together have at most this size in bytes. Default `None`: their size
    /// does not count.
    pub bytes: Option<u64>,
}

impl LogLimits {
    /// Removes logs to which nothing was appended since a time, in milliseconds since the Unix epoch.
    pub fn before(self, time: u64) -> Self {
        Self { before: Some(time), ..self }
    }

    /// Removes the oldest logs, until all together have at most this size in bytes.
    pub fn bytes(self, bytes: u64) -> Self {
        Self { bytes: Some(bytes), ..self }
    }
}

/// What [`Files::prune_logs`](crate::stack::Files::prune_logs) has removed. In JSON
/// `{"files": 12, "bytes": 340000, "left": 5100000}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PrunedLogs {
    /// Number of logs that were removed.
    pub files: usize,
    /// Their size in bytes.
    pub bytes: u64,
    /// The size of the logs that are left, in bytes.
    pub left: u64,
}

/// Removes logs that the limits select, but none of those in `kept`.
///
/// # Errors
/// [`Error::Io`], [`Error::ReadOnly`]: some logs can have been removed.
pub(crate) fn prune(folder: &Folder, limits: LogLimits, kept: &HashSet<String>) -> Result<PrunedLogs> {
    let mut found = Vec::new();
    for name in folder.files_with("jsonl", LOGS)? {
        let Some(file) = folder.file(&name, Access::Read)? else { continue };
        let data = file.metadata().map_err(reading(&folder.path_of(&name)))?;
        // On a file system without times, all logs are new.
        let written = data.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let written = written.map_or(u64::MAX, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        found.push((written, name, data.len()));
    }
    let (chosen, pruned) = choose(found, limits, |name| kept.contains(name));
    chosen.iter().try_for_each(|name| folder.remove(name).map(drop))?;
    Ok(pruned)
}

/// The logs that limits select, of logs with the times at which they were written and their sizes in bytes.
/// Logs that are kept are never among them.
pub(crate) fn choose<T: Ord>(
    logs: Vec<(u64, T, u64)>,
    limits: LogLimits,
    is_kept: impl Fn(&T) -> bool,
) -> (Vec<T>, PrunedLogs) {
    let mut pruned = PrunedLogs { left: logs.iter().map(|(.., size)| size).sum(), ..PrunedLogs::default() };
    let mut old: Vec<(u64, T, u64)> = logs.into_iter().filter(|(_, log, _)| !is_kept(log)).collect();
    old.sort_unstable();
    let mut chosen = Vec::new();
    for (written, log, size) in old {
        let is_old = limits.before.is_some_and(|before| written < before);
        if is_old || limits.bytes.is_some_and(|bytes| pruned.left > bytes) {
            chosen.push(log);
            pruned.files += 1;
            pruned.bytes += size;
            pruned.left -= size;
        }
    }
    (chosen, pruned)
}

/// The subfolder with the logs.
const LOGS: &str = "logs";
/// The lock file of all logs, on Windows.
const LOCK: &str = ".logs.lock";
/// Maximum number of damaged lines in a page.
const DAMAGE_LIMIT: usize = 1000;

/// The range of bytes that an append added to a file.
pub(crate) struct Appended {
    folder: Folder,
    name: String,
    start: u64,
    end: u64,
}

impl Appended {
    /// True if the append created the file or was the first one to an empty file.
    pub(crate) fn is_first(&self) -> bool {
        self.start == 0
    }

    /// Removes the appended lines, unless another append followed. If that fails, or if others hold the lock
    /// for longer than `patience`, the lines remain.
    pub(crate) fn undo(&self, patience: Duration) {
        let Ok(Some(file)) = self.folder.file(&self.name, Access::Write) else { return };
        let locked = lock_log(&self.folder, &self.name, &file, patience);
        if locked.is_ok() && file.metadata().is_ok_and(|data| data.len() == self.end) {
            let _ = file.set_len(self.start);
        }
    }
}

/// Appends one line for each entry: all or none. With `durable`, the lines are synced to the disk before this
/// returns. Waits for the lock of the file for up to `patience`.
///
/// # Errors
/// [`Error::Busy`] if others hold the lock for longer; [`Error::Json`] for an entry nested more than 100
/// levels deep; [`Error::DiskFull`], [`Error::ReadOnly`], [`Error::Io`].
pub(crate) fn append(
    folder: &Folder,
    name: &str,
    entries: &[Value],
    durable: bool,
    patience: Duration,
) -> Result<Appended> {
    let path = &folder.path_of(name);
    let mut lines = Vec::new();
    for entry in entries {
        serde_json::to_writer(&mut lines, entry).expect("a value has only string keys and finite numbers");
        lines.push(b'\n');
    }
    if let Some((subfolder, _)) = name.rsplit_once('/') {
        folder.make_subfolder(subfolder)?;
    }
    let file = folder.file(name, Access::Append)?;
    let file = file.ok_or_else(|| writing(path)(ErrorKind::NotFound.into()))?;
    // The store's transaction excludes other appends, but not an `undo`.
    let _locked = lock_log(folder, name, &file, patience)?;
    let mut file = &file;
    let start = file.seek(SeekFrom::End(0)).map_err(reading(path))?;
    if start > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last)).map_err(reading(path))?;
        if last != *b"\n" {
            // Start on a new line after a line that was cut off.
            lines.insert(0, b'\n');
        }
    }
    let written = file.write_all(&lines).and_then(|()| if durable { file.sync_data() } else { Ok(()) });
    if let Err(error) = written {
        // If this fails too, a partial line remains, which readers skip.
        let _ = file.set_len(start);
        return Err(writing(path)(error));
    }
    Ok(Appended { folder: folder.clone(), name: name.to_owned(), start, end: start + lines.len() as u64 })
}

/// Locks a log against other appends. Windows lets no process read a file that is locked, so there a separate
/// file is locked, for all logs: appends to different logs are in a transaction anyway.
fn lock_log<'a>(folder: &Folder, name: &str, log: &'a File, patience: Duration) -> Result<Locked<'a>> {
    if !cfg!(windows) {
        return lock(log, &folder.path_of(name), patience);
    }
    lock_owned(folder.lock_file(LOCK)?, &folder.path_of(LOCK), patience)
}

/// Reads the selected lines of a log. A missing log has no lines.
pub(crate) fn read(folder: &Folder, name: &str, query: &LogQuery) -> Result<LogPage> {
    let mut selection = Selection::new(query);
    each_line(folder, name, &mut |line| selection.take(line))?;
    Ok(selection.into_page())
}

/// Passes the entries of a log behind this number of lines to `each`, oldest first; `None` for a damaged
/// line. A last line without an end is left out. Returns the number of lines without that last one. A missing
/// log has no lines.
pub(crate) fn each_entry(
    folder: &Folder,
    name: &str,
    after: usize,
    each: &mut dyn FnMut(Option<Value>),
) -> Result<usize> {
    let mut lines = 0;
    each_line(folder, name, &mut |line| {
        if line.ends_with(b"\n") {
            lines += 1;
            if lines > after {
                each(value(line).ok());
            }
        }
    })?;
    Ok(lines)
}

/// Passes the lines of a log to `each`, with their line breaks.
fn each_line(folder: &Folder, name: &str, each: &mut dyn FnMut(&[u8])) -> Result<()> {
    let path = &folder.path_of(name);
    let Some(file) = folder.file(name, Access::Read)? else { return Ok(()) };
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).map_err(reading(path))? > 0 {
        each(&line);
        line.clear();
    }
    Ok(())
}

/// As [`each_entry`], for a log in a store.
pub(crate) fn each_stored_entry(
    reader: &dyn LogReader,
    frame: Handle,
    after: usize,
    patience: Duration,
    each: &mut dyn FnMut(Option<Value>),
) -> Result<usize> {
    let total = reader.count(frame, patience)?;
    if total > after {
        reader.read(frame, after + 1..=total, patience, &mut |line| {
            each(value(line.as_bytes()).ok());
            Ok(())
        })?;
    }
    Ok(total)
}

/// As [`read`], for a log in a store.
pub(crate) fn read_stored(
    reader: &dyn LogReader,
    frame: Handle,
    query: &LogQuery,
    patience: Duration,
) -> Result<LogPage> {
    let total = reader.count(frame, patience)?;
    let last = query.to.map_or(total, |to| to.min(total));
    let mut first = query.from.max(1);
    if let Some(tail) = query.tail.filter(|_| query.search.is_none()) {
        // The lines before them need not be read.
        first = first.max((last + 1).saturating_sub(tail));
    }
    let mut selection = Selection::new(query);
    selection.page.total = first - 1;
    reader.read(frame, first..=last, patience, &mut |line| {
        selection.take(format!("{line}\n").as_bytes());
        Ok(())
    })?;
    Ok(LogPage { total, ..selection.into_page() })
}

/// The lines that a query selects, while the lines of a log are passed one by one.
struct Selection<'a> {
    query: &'a LogQuery,
    needle: Option<String>,
    fitting: VecDeque<(usize, Vec<u8>)>,
    page: LogPage,
}

impl<'a> Selection<'a> {
    fn new(query: &'a LogQuery) -> Self {
        let needle = query.search.as_ref().map(|text| text.to_lowercase());
        Self { query, needle, fitting: VecDeque::new(), page: LogPage::default() }
    }

    /// Takes the next line, with its line break.
    fn take(&mut self, line: &[u8]) {
        let Self { query, page, .. } = self;
        page.total += 1;
        let number = page.total;
        if number < query.from || query.to.is_some_and(|to| number > to) {
            return;
        }
        match check(line, self.needle.as_deref()) {
            Ok(true) => self.fitting.push_back((number, line.to_vec())),
            Ok(false) => {}
            Err(message) => page.report(number, message),
        }
        if query.tail.is_some_and(|tail| self.fitting.len() > tail) {
            self.fitting.pop_front();
        }
    }

    fn into_page(self) -> LogPage {
        let Self { fitting, mut page, .. } = self;
        for (number, line) in fitting {
            // Parsing to a value is stricter than the check: numbers must fit.
            match value(&line) {
                Ok(entry) => page.lines.push(LogLine { number, entry }),
                Err(problem) => page.report(number, problem),
            }
        }
        page.damaged.sort_by_key(|damage| damage.number);
        page
    }
}

impl LogPage {
    fn report(&mut self, number: usize, message: String) {
        if self.damaged.len() < DAMAGE_LIMIT {
            self.damaged.push(LogDamage { number, message });
        }
    }
}

/// True if a line contains the text `needle`. The error states why the line is not a complete line of JSON.
fn check(line: &[u8], needle: Option<&str>) -> Result<bool, String> {
    if line.last() != Some(&b'\n') {
        return Err("it is cut off, or still being written".into());
    }
    match needle {
        // Without a search text, parsing without creating a value is much faster.
        None => serde_json::from_slice::<IgnoredAny>(line).map(|_| true).map_err(|error| error.to_string()),
        Some(needle) => value(line).map(|value| has_text(&value, needle)),
    }
}

/// The value of a line. Hosts that cut texts within a character write half of it.
fn value(line: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(line).map_err(|error| error.to_string())?;
    from_json(text).map_err(|error| error.to_string())
}

fn has_text(value: &Value, needle: &str) -> bool {
    let fits = |text: &str| text.to_lowercase().contains(needle);
    match value {
        Value::String(text) => fits(text),
        Value::Array(values) => values.iter().any(|value| has_text(value, needle)),
        Value::Object(entries) => entries.iter().any(|(key, value)| fits(key) || has_text(value, needle)),
        other => fits(&other.to_string()),
    }
}
