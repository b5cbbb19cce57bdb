//! Export and import of a history as text, with one event in JSON on each line: for inspection, for backups, and to
//! rebuild a stack. Before the events of a compacted history come the snapshot that they follow, and its frames.

use std::io::{BufRead, Write};

use serde::Serialize;
use serde_json::{Value, json};

use crate::archive::ArchivedFrame;
use crate::error::{Error, Result};
use crate::frame::{Event, Handle};
use crate::text::without_mark;

/// The name of the text in errors.
pub(crate) const NAME: &str = "the exported history";

/// The keys of the lines about the base of a compacted history.
const BASE: &str = "base";
const BASE_FRAME: &str = "baseFrame";

/// A line of an exported history.
pub(crate) enum HistoryLine {
    Event(Event),
    /// The head of the snapshot that the events of a compacted history follow. It is the first line.
    Base(String),
    /// A frame of this snapshot. These lines follow it.
    BaseFrame(ArchivedFrame),
}

/// The line with the head of a base.
pub(crate) fn base_line(head: &str) -> Value {
    json!({ BASE: head })
}

/// The line of a frame of a base. It is made by hand: derived code would be a large part of the library.
pub(crate) fn frame_line(frame: &ArchivedFrame) -> Value {
    let ArchivedFrame { handle, root, session_id, title, status, is_run, place, changed, image } = frame;
    let [handle, root] = [handle, root].map(Handle::to_string);
    json!({ BASE_FRAME: {
        "handle": handle, "root": root, "sessionID": session_id, "title": title, "status": status.as_str(),
        "isRun": is_run, "place": place, "changed": changed, "image": image,
    } })
}

/// Reads a line about a base. `None` if it is none; else the error names the key that is missing or cannot be.
fn read_base(line: &Value) -> Option<std::result::Result<HistoryLine, &'static str>> {
    if let Some(head) = line.get(BASE) {
        return Some(head.as_str().map(|head| HistoryLine::Base(head.to_owned())).ok_or(BASE));
    }
    let frame = line.get(BASE_FRAME)?;
    let text = |key: &'static str| frame[key].as_str().ok_or(key);
    let number = |key: &'static str| frame[key].as_u64().ok_or(key);
    let handle = |key: &'static str| text(key)?.parse::<Handle>().map_err(|_| key);
    let read = || {
        Ok(HistoryLine::BaseFrame(ArchivedFrame {
            handle: handle("handle")?,
            root: handle("root")?,
            session_id: text("sessionID")?.to_owned(),
            title: number("title")?,
            status: text("status")?.parse().map_err(|_| "status")?,
            is_run: frame["isRun"].as_bool().ok_or("isRun")?,
            place: if frame["place"].is_null() { None } else { Some(number("place")?) },
            changed: number("changed")?,
            image: text("image")?.to_owned(),
        }))
    };
    Some(read())
}

fn failed(action: &'static str) -> impl Fn(std::io::Error) -> Error {
    move |error| Error::io(action, NAME, error.to_string()).with_source(error)
}

/// Writes an event, or a part of the base, as a line.
pub(crate) fn write(line: &impl Serialize, writer: &mut impl Write) -> Result<()> {
    let mut text = serde_json::to_string(line).expect("a line has only string keys and finite numbers");
    text.push('\n');
    writer.write_all(text.as_bytes()).map_err(failed("write"))
}

/// Reads the events of an exported history, one by one. Blank lines are skipped, and the frames that come before the events of a
/// compacted history. The revisions are not checked; [`Tree::replay`](crate::Tree::replay) does that.
///
/// ```
/// use callstack_core::{MemoryStore, NewFrame, Stack, StackOptions, Tree, read_history};
///
/// let stack = Stack::with_store(MemoryStore::new(), StackOptions::default())?;
/// stack.push(NewFrame::new("Build").id("ses_1"))?;
/// let mut text = Vec::new();
/// stack.export_history(&mut text)?;
///
/// let mut tree = Tree::new();
/// for event in read_history(text.as_slice()) {
///     tree.replay(&event?)?;
/// }
/// assert_eq!(tree.state(), stack.state());
/// # Ok::<(), callstack_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Json`] for a line that is not an event, with the line's number; [`Error::Io`] if the reader fails.
pub fn read_history(reader: impl BufRead) -> impl Iterator<Item = Result<Event>> {
    read_lines(reader).filter_map(|line| match line {
        Ok(HistoryLine::Event(event)) => Some(Ok(event)),
        Ok(HistoryLine::Base(_) | HistoryLine::BaseFrame(_)) => None,
        Err(error) => Some(Err(error)),
    })
}

/// Reads the lines of an exported history that are not blank.
///
/// # Errors
/// As [`read_history`].
pub(crate) fn read_lines(reader: impl BufRead) -> impl Iterator<Item = Result<HistoryLine>> {
    let lines = reader.lines().enumerate().map(|(index, line)| (index + 1, line.map_err(failed("read"))));
    lines.filter(|(_, line)| line.as_ref().map_or(true, |line| !line.trim().is_empty())).map(|(number, line)| {
        let mut line = line?;
        if number == 1 {
            line = without_mark(&line).to_owned();
        }
        serde_json::from_str(&line).map(HistoryLine::Event).or_else(|error| {
            let failed = |message: String| Error::json(NAME, format!("line {number}: {message}"));
            match serde_json::from_str(&line).ok().and_then(|value| read_base(&value)) {
                Some(Ok(line)) => Ok(line),
                Some(Err(key)) => Err(failed(format!("`{key}` is missing, or cannot be what it is"))),
                None => Err(failed(error.to_string()).with_source(error)),
            }
        })
    })
}
