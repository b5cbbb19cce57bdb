//! The texts about the selected frame: its record, its context, its log and its history. A text is made again
//! only when its source has changed.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use callstack_core::{Error, Event, EventQuery, Handle, Settings, Stack};

use super::times::Times;
use crate::commands::context;
use crate::commands::event_line::EventLine;
use crate::commands::log::Log;
use crate::commands::show::FrameDetails;
use crate::failure::Failure;
use crate::output::{FAINT, Line, Lines, Page, count, number};
use crate::same_stack::SameStack;

/// Maximum number of lines of a text.
const MOST_LINES: usize = 4_000;
/// Maximum number of lines of an entry of the log, so that there is room for other entries.
const MOST_OF_ENTRY: usize = 500;
/// Number of newest entries of the log and of the history.
const NEWEST: usize = 200;
/// The number of revisions that are searched first for the events of a frame.
const FIRST_SEARCHED: u64 = 1_024;

/// The views of the details.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tab {
    #[default]
    Overview,
    Context,
    Log,
    History,
}

impl Tab {
    pub const ALL: [Tab; 4] = [Tab::Overview, Tab::Context, Tab::Log, Tab::History];

    pub fn name(self) -> &'static str {
        match self {
            Tab::Overview => "Overview",
            Tab::Context => "Context",
            Tab::Log => "Log",
            Tab::History => "History",
        }
    }

    /// The view this many places further, around the end.
    pub fn further(self, places: usize) -> Self {
        let place = Self::ALL.iter().position(|tab| *tab == self).unwrap_or(0);
        Self::ALL[(place + places) % Self::ALL.len()]
    }

    /// The command that shows the same without a limit.
    fn command(self, frame: Handle) -> String {
        match self {
            Tab::Overview => format!("callstack show {frame}"),
            Tab::Context => format!("callstack context {frame}"),
            Tab::Log => format!("callstack log {frame} --full"),
            Tab::History => format!("callstack history --frame {frame}"),
        }
    }

    /// True for texts that have the newest part at their end.
    pub fn ends_with_newest(self) -> bool {
        matches!(self, Tab::Log | Tab::History)
    }
}

/// The source of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Source {
    handle: Handle,
    tab: Tab,
    width: usize,
    revision: u64,
    /// The size and the time of the log.
    log: Option<(u64, Option<SystemTime>)>,
}

/// The text of the details.
pub struct Details {
    folder: Option<PathBuf>,
    same_stack: SameStack,
    source: Option<Source>,
    lines: Vec<Line>,
}

impl Details {
    /// `folder`: the folder of the stack. `same_stack`: for the commands that the texts name.
    pub fn new(folder: Option<PathBuf>, same_stack: SameStack) -> Self {
        Self { folder, same_stack, source: None, lines: Vec::new() }
    }

    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Makes the text of a frame, if it is not up to date. Returns true if it was made.
    pub fn update(&mut self, stack: &Stack, times: &Times, handle: Handle, tab: Tab, width: usize) -> bool {
        let revision = stack.read(|tree| match tab {
            Tab::Context => tree.context_revision(handle),
            Tab::Log => 0,
            Tab::History => tree.node(handle).revision(),
            // It names the frames around the frame.
            Tab::Overview => tree.revision(),
        });
        let revision = revision.unwrap_or_default();
        let state = (tab == Tab::Log).then(|| self.log_state(stack, handle)).flatten();
        let source = Some(Source { handle, tab, width, revision, log: state });
        if self.source == source {
            return false;
        }
        self.source = source;
        let mut lines = Lines::at_most(MOST_LINES);
        let mut page = Page::collecting(&mut lines, width);
        let written = match tab {
            Tab::Overview => overview(stack, times, handle, &mut page),
            Tab::Context => preview(stack, handle, &mut page),
            Tab::History => history(stack, handle, &self.same_stack, &mut page),
            Tab::Log => {
                let written = log(stack, handle, &self.same_stack, width);
                written.map(|log| lines.lines = log)
            }
        };
        self.lines = lines.lines;
        if let Err(lack) = written {
            let reason = match lack {
                Lack::Room => cut(tab, handle, &self.same_stack),
                Lack::Other(reason) => reason,
            };
            let mut lines = Lines::at_most(MOST_LINES);
            // A longer reason is cut.
            let _ = Page::collecting(&mut lines, width).text(0, &reason);
            self.lines.extend(lines.lines);
        }
        true
    }

    /// The size and the time of the log of a frame: they change when something is added.
    fn log_state(&self, stack: &Stack, handle: Handle) -> Option<(u64, Option<SystemTime>)> {
        let path = stack.read(|tree| tree.node(handle).record().log_path.clone()).ok()??;
        let state = fs::metadata(self.folder.as_ref()?.join(path)).ok()?;
        Some((state.len(), state.modified().ok()))
    }
}

/// The reason why a text is not complete.
enum Lack {
    Room,
    Other(String),
}

impl From<io::Error> for Lack {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull => Self::Room,
            _ => Self::Other(error.to_string()),
        }
    }
}

impl From<Failure> for Lack {
    fn from(failure: Failure) -> Self {
        Self::Other(failure.message().to_owned())
    }
}

impl From<Error> for Lack {
    fn from(error: Error) -> Self {
        Self::Other(error.to_string())
    }
}

fn overview(stack: &Stack, times: &Times, handle: Handle, page: &mut Page<'_>) -> Result<(), Lack> {
    let spans = times.spans(handle).cloned().unwrap_or_default();
    Ok(FrameDetails::of(stack, handle, spans)?.overview(page)?)
}

fn preview(stack: &Stack, handle: Handle, page: &mut Page<'_>) -> Result<(), Lack> {
    let budget = context::budget(None)?;
    let total = budget.total;
    let context = stack.context_uncached(handle, &Settings::default().budget(budget))?;
    let tokens = number(u64::try_from(context.tokens).unwrap_or(u64::MAX));
    page.line(Line::new().styled(FAINT, format!("at most {tokens} of {}", count(total, "token"))))?;
    page.gap()?;
    Ok(page.raw(&context.xml)?)
}

/// The newest entries of the log, as many as there is room for. They are written from the newest backwards.
fn log(stack: &Stack, handle: Handle, same_stack: &SameStack, width: usize) -> Result<Vec<Line>, Lack> {
    let log = Log::newest(stack, handle, NEWEST)?;
    let mut room = MOST_LINES;
    let mut is_whole = !log.has_others();
    let mut entries: Vec<Vec<Line>> = Vec::new();
    for entry in log.entries().rev() {
        let mut lines = Lines::at_most(MOST_OF_ENTRY);
        match entry.write(&mut Page::collecting(&mut lines, width)).map_err(Lack::from) {
            Ok(()) => {}
            Err(Lack::Room) => {
                let mut end = Lines::at_most(MOST_OF_ENTRY);
                Page::collecting(&mut end, width).text(2, &cut(Tab::Log, handle, same_stack))?;
                lines.lines.extend(end.lines);
            }
            Err(other) => return Err(other),
        }
        lines.lines.push(Line::new());
        if lines.lines.len() > room {
            is_whole = false;
            break;
        }
        room -= lines.lines.len();
        entries.push(lines.lines);
    }
    let mut first = Lines::at_most(MOST_LINES);
    if !is_whole {
        left_out("entries", Tab::Log, handle, same_stack, &mut Page::collecting(&mut first, width))?;
    }
    let mut lines = first.lines;
    lines.extend(entries.into_iter().rev().flatten());
    match log.missing() {
        Some(missing) => lines.push(Line::new().plain(missing)),
        // The gap after the last entry.
        None => drop(lines.pop()),
    }
    Ok(lines)
}

/// The newest events of the frame.
fn history(stack: &Stack, handle: Handle, same_stack: &SameStack, page: &mut Page<'_>) -> Result<(), Lack> {
    let (events, is_whole) = newest_events(stack, handle)?;
    if !is_whole {
        left_out("events", Tab::History, handle, same_stack, page)?;
    }
    for event in events {
        stack.read(|tree| EventLine::of(tree, event))?.write_line(page)?;
    }
    Ok(())
}

/// The newest events of a frame, oldest first, and true if these are all. The revisions are searched
/// backwards, twice as many each time.
fn newest_events(stack: &Stack, handle: Handle) -> Result<(Vec<Event>, bool), Error> {
    let mut until = stack.read(|tree| tree.node(handle).revision())?;
    let mut searched = FIRST_SEARCHED;
    let mut events = Vec::new();
    while until > 0 && events.len() <= NEWEST {
        let since = until.saturating_sub(searched);
        let mut found = stack.history().events(&EventQuery::default().frame(handle).since(since).until(until))?;
        found.append(&mut events);
        events = found;
        until = since;
        searched = searched.saturating_mul(2);
    }
    let earlier = events.len().saturating_sub(NEWEST);
    events.drain(..earlier);
    Ok((events, earlier == 0))
}

/// Says that earlier entries are left out, and how to see them.
fn left_out(entries: &str, tab: Tab, handle: Handle, same_stack: &SameStack, page: &mut Page<'_>) -> Result<(), Lack> {
    let said = format!("earlier {entries} are left out: `{}` shows them", tab.command(handle));
    page.text(0, &same_stack.named_in(&said))?;
    Ok(page.gap()?)
}

/// Says that a text is cut, and how to see all of it.
fn cut(tab: Tab, handle: Handle, same_stack: &SameStack) -> String {
    same_stack.named_in(&format!("... cut: `{}` shows all of it", tab.command(handle)))
}
