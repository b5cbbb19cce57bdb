//! Export and import of a history as text, with one event in JSON on each line: for inspection, for backups,
//! and to rebuild a stack. Before the events of a compacted history come the snapshot that they follow, and
//! its frames.

use std::io::{BufRead, Write};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::archive::ArchivedFrame;
use crate::error::{Error, Result};
use crate::frame::Event;
use crate::text::readable_json;

/// The name of the text in errors.
pub(crate) const NAME: &str = "the exported history";

/// A line of an exported history. The key of a line about the base names the variant.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum HistoryLine {
    /// Written and read as an [`Event`], whose keys are those of the line.
    #[serde(skip)]
    Event(Event),
    /// The head of the snapshot that the events of a compacted history follow. It is the first line.
    Base(String),
    /// A frame of this snapshot. These lines follow it.
    BaseFrame(ArchivedFrame),
}

/// The keys of lines about the base.
const BASE_KEYS: [&str; 2] = ["base", "baseFrame"];

fn failed(action: &'static str) -> impl Fn(std::io::Error) -> Error {
    move |error| Error::io(action, NAME, error.to_string()).with_source(error)
}

/// Writes an event, or a part of the base, as a line.
pub(crate) fn write(line: &impl Serialize, writer: &mut impl Write) -> Result<()> {
    let mut text = serde_json::to_string(line).expect("a line has only string keys and finite numbers");
    text.push('\n');
    writer.write_all(text.as_bytes()).map_err(failed("write"))
}

/// Reads the events of an exported history, one by one. Blank lines are skipped, and so are the frames that
/// come before the events of a compacted history. The revisions are not checked;
/// [`Tree::replay`](crate::Tree::replay) does that.
///
/// ```
/// use callstack_core::{MemoryStore, NewFrame, Stack, StackOptions, Tree, read_history};
///
/// let stack = Stack::with_store(MemoryStore::new(), StackOptions::default())?;
/// stack.push(NewFrame::new("Build").id("ses_1"))?;
/// let mut text = Vec::new();
/// stack.history().export(&mut text)?;
///
/// let mut tree = Tree::new();
/// for event in read_history(text.as_slice()) {
///     tree.replay(&event?)?;
/// }
/// assert_eq!(tree.state(), stack.read(|tree| tree.state())?);
/// # Ok::<(), callstack_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Json`] for a line that is not an event, with the line's number; [`Error::Io`] if the reader
/// fails.
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
        read_line(&line?).map_err(|error| Error::json(NAME, format!("line {number}: {error}")).with_source(error))
    })
}

/// Reads a line: an event, or else a line about the base.
fn read_line(line: &str) -> serde_json::Result<HistoryLine> {
    let line = readable_json(line);
    let no_event = match serde_json::from_str(&line) {
        Ok(event) => return Ok(HistoryLine::Event(event)),
        Err(error) => error,
    };
    serde_json::from_str(&line).map_err(|no_base| {
        let value = serde_json::from_str::<Value>(&line).unwrap_or_default();
        if BASE_KEYS.iter().any(|key| value.get(key).is_some()) { no_base } else { no_event }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{FrameStatus, Handle};

    #[test]
    fn lines_about_the_base_have_its_keys_and_are_read_again() {
        let handle = Handle::from_index(1).unwrap();
        let frame = ArchivedFrame {
            handle,
            root: handle,
            session_id: "ses_2".into(),
            title: u64::MAX,
            status: FrameStatus::Completed,
            is_run: true,
            place: None,
            changed: 12,
            image: "{}".into(),
        };
        for (line, key) in [HistoryLine::Base("{}".into()), HistoryLine::BaseFrame(frame)].iter().zip(BASE_KEYS) {
            let text = serde_json::to_string(line).unwrap();
            assert!(text.starts_with(&format!("{{\"{key}\":")), "{text}");
            assert_eq!(serde_json::to_string(&read_line(&text).unwrap()).unwrap(), text);
        }
    }

    #[test]
    fn the_error_of_a_line_is_that_of_its_kind() {
        let error = |line: &str| read_line(line).err().unwrap().to_string();
        assert!(error(r#"{"baseFrame":{"handle":"f1"}}"#).contains("missing field `root`"));
        assert!(error(r#"{"revision":1}"#).contains("missing field `time`"));
    }
}
