//! Export and import of a history as text, with one event in JSON on each line: for inspection, for backups, and to
//! rebuild a stack.

use std::io::{BufRead, Write};

use crate::error::{Error, Result};
use crate::frame::Event;

/// The name of the text in errors.
const NAME: &str = "the exported history";

fn failed(action: &'static str) -> impl Fn(std::io::Error) -> Error {
    move |error| Error::io(action, NAME, error.to_string()).with_source(error)
}

/// Writes one event as a line.
pub(crate) fn write(event: &Event, writer: &mut impl Write) -> Result<()> {
    serde_json::to_writer(&mut *writer, event)
        .map_err(std::io::Error::from)
        .and_then(|()| writer.write_all(b"\n"))
        .map_err(failed("write"))
}

/// Reads an exported history, event by event. Blank lines are skipped. The revisions are not checked;
/// [`Tree::replay`](crate::Tree::replay) does that.
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
    let lines = reader.lines().enumerate().map(|(index, line)| (index + 1, line.map_err(failed("read"))));
    lines.filter(|(_, line)| line.as_ref().map_or(true, |line| !line.trim().is_empty())).map(|(number, line)| {
        serde_json::from_str(&line?)
            .map_err(|error| Error::json(NAME, format!("line {number}: {error}")).with_source(error))
    })
}
