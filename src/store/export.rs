//! Export and import of a history as text, with one event in JSON on each line: for inspection, for backups, and to
//! rebuild a stack. Before the events of a compacted history come the snapshot that they follow, and its frames.

use std::io::{BufRead, Write};

use serde::Serialize;
use serde_json::{Value, json};

use crate::archive::ArchivedFrame;
use crate::error::{Error, Result};
use crate::frame::{Event, Handle};

/// The name of the text in errors.
pub(crate) const NAME: &str = "the exported history";

/// A line of an exported history.
pub(crate) enum HistoryLine {
    Event(Event),
    Base(BaseLine),
}

/// A line about the base of a compacted history: the snapshot that its events follow.
pub(crate) enum BaseLine {
    /// The head of the snapshot. It is the first line.
    Head(String),
    /// A frame of the snapshot. These lines follow.
    Frame(ArchivedFrame),
}

impl BaseLine {
    /// The line as JSON. The value is made by hand: derived code would be a large part of the library.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Head(head) => json!({ "base": head }),
            Self::Frame(frame) => {
                let ArchivedFrame { handle, root, session_id, title, status, is_run, place, changed, image } = frame;
                let [handle, root] = [handle, root].map(Handle::to_string);
                json!({ "baseFrame": {
                    "handle": handle, "root": root, "sessionID": session_id, "title": title, "status": status.as_str(),
                    "isRun": is_run, "place": place, "changed": changed, "image": image,
                } })
            }
        }
    }

    fn of_value(value: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        if let Some(head) = value.get("base") {
            return text(head).map(Self::Head);
        }
        let frame = value.get("baseFrame")?;
        let handle = |key: &str| frame[key].as_str()?.parse().ok();
        Some(Self::Frame(ArchivedFrame {
            handle: handle("handle")?,
            root: handle("root")?,
            session_id: text(&frame["sessionID"])?,
            title: frame["title"].as_u64()?,
            status: frame["status"].as_str()?.parse().ok()?,
            is_run: frame["isRun"].as_bool()?,
            place: frame["place"].as_u64(),
            changed: frame["changed"].as_u64()?,
            image: text(&frame["image"])?,
        }))
    }
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
        Ok(HistoryLine::Base(_)) => None,
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
        let line = line?;
        serde_json::from_str(&line).map(HistoryLine::Event).or_else(|error| {
            let base = serde_json::from_str(&line).ok().and_then(|value| BaseLine::of_value(&value));
            base.map(HistoryLine::Base)
                .ok_or_else(|| Error::json(NAME, format!("line {number}: {error}")).with_source(error))
        })
    })
}
