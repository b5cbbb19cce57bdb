//! `callstack watch`: the full screen on a terminal, else every change as a line.

mod full_screen;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use callstack_core::{Error, Event, EventQuery, Stack};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use signal_hook::consts::SIGINT;

use super::event_line::{EventLine, is_mark};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{Medium, Output, Page, Report, note, wait_for_reader};

/// The pause between two looks at the stack.
const PAUSE: Duration = Duration::from_millis(200);

#[derive(Args)]
pub struct Arguments {
    /// A session of an agent, in place of the stack: its file, its ID or the beginning of it. See `callstack
    /// sessions`.
    #[arg(value_name = "SESSION", conflicts_with_all = ["session", "latest"])]
    pub session_named: Option<String>,
    /// Begin with the events after this revision. Default: with what happens from now on.
    #[arg(long, value_name = "REVISION")]
    since: Option<u64>,
    /// End after this number of changes.
    #[arg(long, value_name = "CHANGES")]
    count: Option<usize>,
    /// End when everything up to now has been written.
    #[arg(long)]
    until_idle: bool,
    /// Write each change as a line, also on a terminal.
    #[arg(long)]
    lines: bool,
    /// On the full screen, let the mouse select frames and scroll. Terminals then select text with Shift.
    #[arg(long, conflicts_with = "lines")]
    mouse: bool,
}

impl Arguments {
    /// True if changes are written as lines: if there is no full screen, or if an option of the lines is
    /// given.
    fn wants_lines(&self, output: Output) -> bool {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let has_option = self.lines || self.since.is_some() || self.count.is_some() || self.until_idle;
        has_option || output.is_json || is_dumb || !Medium::output().is_terminal
    }
}

/// A change of the stack.
#[derive(Serialize, JsonSchema)]
struct Change {
    #[serde(flatten)]
    event: EventLine,
}

impl Report for Change {
    const KIND: &'static str = "change";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        self.event.write_line(page)
    }
}

/// Shows the stack on the full screen, or writes its changes.
pub fn run(arguments: &Arguments, folder: &StackFolder, output: Output) -> Result<Exit, Failure> {
    match arguments.wants_lines(output) {
        true => write_lines(arguments, folder, output),
        false => full_screen::run(folder, arguments.mouse),
    }
}

/// Writes changes until the person interrupts the program, or the reader of the output has gone.
fn write_lines(arguments: &Arguments, folder: &StackFolder, output: Output) -> Result<Exit, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGINT, interrupted.clone())?;
    let stack = folder.open_to_read()?;
    let mut seen = arguments.since.map_or_else(|| stack.read(|tree| tree.revision()), Ok)?;
    let mut left = arguments.count.unwrap_or(usize::MAX);
    while left > 0 && !interrupted.load(Ordering::Relaxed) {
        let written = write_news(&stack, &mut seen, left, output)?;
        left -= written;
        if written == 0 {
            if arguments.until_idle {
                return Ok(Exit::Done);
            }
            if !wait_for_reader(PAUSE) {
                return Ok(Exit::Done);
            }
            match stack.refresh() {
                // The next look may succeed.
                Ok(_) | Err(Error::Busy { .. } | Error::Disconnected { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(if interrupted.load(Ordering::Relaxed) { Exit::Interrupted } else { Exit::Done })
}

/// Writes the events after a revision, at most `most`. Returns their number.
fn write_news(stack: &Stack, seen: &mut u64, most: usize, output: Output) -> Result<usize, Failure> {
    if stack.read(|tree| tree.revision())? <= *seen {
        return Ok(0);
    }
    let events = match stack.history().events(&EventQuery::default().since(*seen).limit(most)) {
        // The next look may succeed.
        Err(Error::Busy { .. } | Error::Disconnected { .. }) => return Ok(0),
        events => events?,
    };
    let last = events.last().map_or(*seen, |event| event.revision);
    let compacted = last - *seen - events.len() as u64;
    if compacted > 0 {
        note(&format!(
            "a compaction has removed {compacted} of the events up to {last}; `callstack show` shows their results"
        ));
    }
    *seen = last;
    let shown: Vec<&Event> = events.iter().filter(|event| !is_mark(event)).collect();
    for event in &shown {
        let event = stack.read(|tree| EventLine::of(tree, (*event).clone()))?;
        output.stream(&Change { event })?;
    }
    Ok(shown.len())
}

/// The schema of the lines.
pub fn schemas() -> super::schema::Named {
    super::schema::of::<Change>()
}
