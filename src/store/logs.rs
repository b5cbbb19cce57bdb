//! The full log of a frame: a file of JSON lines, appended to for as long as the frame lives.
//!
//! Appenders take turns (the caller holds the store's transaction), so lines never mix. A line that
//! was cut off, by a kill or a full disk, is left as it is and reported; the next one starts behind it.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::files;
use crate::error::{Error, Result};
use crate::frame::is_too_deep;

/// Which lines of a log are meant. The default means all of them.
///
/// ```
/// use callstack_core::LogQuery;
/// let last_errors = LogQuery::default().search("error").tail(10);
/// # let _ = last_errors;
/// ```
///
/// In JSON: `{"from": 1, "to": 50, "search": "error", "tail": 10}`, every key optional.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct LogQuery {
    /// The first line meant, counted from 1. 0 means the same as 1.
    pub from: usize,
    /// The last line meant; `None`: up to the end.
    pub to: Option<usize>,
    /// Only lines with this text in a key or a value, whatever its case.
    pub search: Option<String>,
    /// Of all these only the last so many.
    pub tail: Option<usize>,
}

impl LogQuery {
    /// Only the lines from one number to another, both included, counted from 1.
    pub fn range(self, from: usize, to: usize) -> Self {
        Self { from, to: Some(to), ..self }
    }

    /// Only lines with this text in a key or a value, whatever its case.
    pub fn search(self, text: impl Into<String>) -> Self {
        Self { search: Some(text.into()), ..self }
    }

    /// Only the last so many of those that fit otherwise.
    pub fn tail(self, count: usize) -> Self {
        Self { tail: Some(count), ..self }
    }
}

/// Lines of a log.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LogPage {
    /// The lines that were meant, in order.
    pub lines: Vec<LogLine>,
    /// How many lines the log has in all, damaged ones included.
    pub total: usize,
    /// The lines among those meant that could not be read, with the reason; the first thousand.
    pub damaged: Vec<LogDamage>,
}

/// One line of a log.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LogLine {
    /// Its number in the file, counted from 1.
    pub number: usize,
    /// What it says.
    pub entry: Value,
}

/// A line of a log that is no whole JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LogDamage {
    /// Its number in the file, counted from 1.
    pub number: usize,
    /// What is wrong with it.
    pub message: String,
}

/// Most damaged lines that a page names.
const DAMAGE_LIMIT: usize = 1000;

/// What an append has added: from where to where.
pub(crate) struct Appended {
    path: PathBuf,
    start: u64,
    end: u64,
}

impl Appended {
    /// True if the file was made by it.
    pub(crate) fn is_first(&self) -> bool {
        self.start == 0
    }

    /// Takes it back, unless something stands behind it already. If that fails the lines stay.
    pub(crate) fn undo(&self) {
        let _ = File::options().write(true).open(&self.path).and_then(|file| {
            file.lock()?;
            if file.metadata()?.len() == self.end { file.set_len(self.start) } else { Ok(()) }
        });
    }
}

/// Adds lines at the end, all or none. With `durable` they are on the disk when this returns.
pub(crate) fn append(path: &Path, entries: &[Value], durable: bool) -> Result<Appended> {
    let mut lines = Vec::new();
    for entry in entries {
        if is_too_deep(entry) {
            return Err(Error::Json {
                what: "the log entry",
                message: "it is nested more than 100 levels deep".into(),
            });
        }
        serde_json::to_writer(&mut lines, entry).expect("a value has only string keys and finite numbers");
        lines.push(b'\n');
    }
    if let Some(folder) = path.parent() {
        files::make_folder(folder)?;
    }
    let file = File::options().read(true).append(true).create(true).open(path);
    let mut file = file.map_err(files::writing(path))?;
    // The transaction keeps others out too, except from an append that is being undone.
    file.lock().map_err(files::writing(path))?;
    let start = file.seek(SeekFrom::End(0)).map_err(files::reading(path))?;
    if start > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last)).map_err(files::reading(path))?;
        if last != *b"\n" {
            // Behind a torn line.
            lines.insert(0, b'\n');
        }
    }
    let written = file.write_all(&lines).and_then(|()| if durable { file.sync_data() } else { Ok(()) });
    if let Err(error) = written {
        // If even this fails, a torn line stays, which readers skip.
        let _ = file.set_len(start);
        return Err(files::writing(path)(error));
    }
    Ok(Appended { path: path.to_owned(), start, end: start + lines.len() as u64 })
}

/// Reads the lines of a log; a log that is not there has none.
pub(crate) fn read(path: &Path, query: &LogQuery) -> Result<LogPage> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(LogPage::default()),
        Err(error) => return Err(files::reading(path)(error)),
    };
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let needle = query.search.as_ref().map(|text| text.to_lowercase());
    let mut page = LogPage::default();
    let mut fitting = VecDeque::new();
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).map_err(files::reading(path))? > 0 {
        page.total += 1;
        let number = page.total;
        let line = std::mem::take(&mut line);
        if number < query.from || query.to.is_some_and(|to| number > to) {
            continue;
        }
        match check(&line, needle.as_deref()) {
            Ok(true) => fitting.push_back((number, line)),
            Ok(false) => {}
            Err(message) => page.report(number, message),
        }
        if query.tail.is_some_and(|tail| fitting.len() > tail) {
            fitting.pop_front();
        }
    }
    for (number, line) in fitting {
        // Values are stricter than the check: numbers must fit, texts must be Unicode.
        match serde_json::from_slice(&line) {
            Ok(entry) => page.lines.push(LogLine { number, entry }),
            Err(error) => page.report(number, error.to_string()),
        }
    }
    page.damaged.sort_by_key(|damage| damage.number);
    Ok(page)
}

impl LogPage {
    fn report(&mut self, number: usize, message: String) {
        if self.damaged.len() < DAMAGE_LIMIT {
            self.damaged.push(LogDamage { number, message });
        }
    }
}

/// Whether a line has the text that is looked for. An error says why it is no whole line of JSON.
fn check(line: &[u8], needle: Option<&str>) -> Result<bool, String> {
    if line.last() != Some(&b'\n') {
        return Err("it is cut off, or still being written".into());
    }
    match needle {
        // Making values of lines that nobody will see would take most of the time.
        None => serde_json::from_slice::<IgnoredAny>(line).map(|_| true),
        Some(needle) => serde_json::from_slice(line).map(|value| has_text(&value, needle)),
    }
    .map_err(|error| error.to_string())
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
