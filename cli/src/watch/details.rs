//! The texts about the selected frame: its record, its context, its log and its history. A text is made again only when what
//! it shows has changed.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use callstack_core::{Error, EventQuery, Handle, Settings, Stack};

use super::times::Times;
use crate::commands::context;
use crate::commands::event_line::EventLine;
use crate::commands::log::Log;
use crate::commands::show::{self, FrameDetails};
use crate::commands::usage::requests_in_words;
use crate::failure::Failure;
use crate::output::{EMPHASIS, FAINT, Line, Lines, Page, count, duration, number};

/// Maximum number of lines of a text.
const MOST_LINES: usize = 4_000;
/// Number of newest entries of the log and of the history.
const NEWEST: usize = 200;
/// The history shows events of a frame among this many before its last change.
const LOOKED_AT: u64 = 10_000;

/// What the details show.
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

    /// True for texts whose end is the newest.
    pub fn ends_with_newest(self) -> bool {
        matches!(self, Tab::Log | Tab::History)
    }
}

/// What a text was made from.
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
    folder: PathBuf,
    source: Option<Source>,
    lines: Vec<Line>,
}

impl Details {
    /// `folder`: that of the stack.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, source: None, lines: Vec::new() }
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
        let log = (tab == Tab::Log).then(|| self.log_state(stack, handle)).flatten();
        let source = Some(Source { handle, tab, width, revision, log });
        if self.source == source {
            return false;
        }
        self.source = source;
        let mut lines = Lines::at_most(MOST_LINES);
        let written = write(stack, times, handle, tab, &mut Page::collecting(&mut lines, width));
        self.lines = lines.lines;
        if let Err(failure) = written {
            let mut reason = Lines::at_most(MOST_LINES);
            // Lines in memory take everything.
            let _ = Page::collecting(&mut reason, width).text(0, &failure);
            self.lines.extend(reason.lines);
        }
        true
    }

    /// The size and the time of the log of a frame: they change when something is added.
    fn log_state(&self, stack: &Stack, handle: Handle) -> Option<(u64, Option<SystemTime>)> {
        let path = stack.read(|tree| tree.node(handle).record().log_path.clone())?;
        let state = fs::metadata(self.folder.join(path)).ok()?;
        Some((state.len(), state.modified().ok()))
    }
}

/// Writes a text. Returns what it lacks, for people.
fn write(stack: &Stack, times: &Times, handle: Handle, tab: Tab, page: &mut Page<'_>) -> Result<(), String> {
    let written = match tab {
        Tab::Overview => overview(stack, times, handle, page),
        Tab::Context => preview(stack, handle, page),
        Tab::Log => log(stack, handle, page),
        Tab::History => history(stack, handle, page),
    };
    match written {
        Ok(()) => Ok(()),
        Err(Lack::Room) => Err(format!("... the text is cut: `callstack show {handle}` shows all of it")),
        Err(Lack::Other(reason)) => Err(reason),
    }
}

/// Why a text is not whole.
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
    let details = FrameDetails::of(stack, handle, spans.clone());
    let record = details.record();
    let current = record.current_question();
    if let Some(question) = current {
        let heading = if question.interruption { "Interrupted" } else { "Waits for" };
        page.line(Line::new().styled(EMPHASIS, heading))?;
        page.text(2, &question.question)?;
        if let Some(answer) = &question.answer {
            page.line(Line::new().styled(EMPHASIS, "Answered"))?;
            page.text(2, answer)?;
        }
        page.gap()?;
    }
    page.field("id", anstyle::Style::new(), &record.session_id)?;
    if let Some(parent) = details.parent() {
        page.field("below", anstyle::Style::new(), &parent.plain())?;
    }
    details.attempts(page)?;
    if spans.ended_at.is_some() && spans.begun_at.is_some() {
        page.field("worked", anstyle::Style::new(), &duration(spans.worked(show::now())))?;
    }
    if let Some(call) = &record.call {
        page.field("runs in", anstyle::Style::new(), &call.host)?;
    }
    if let Some(words) = requests_in_words(&details.usage().own) {
        page.field("usage", anstyle::Style::new(), &words)?;
    }
    if let Some(words) =
        requests_in_words(&details.usage().total).filter(|_| details.usage().own != details.usage().total)
    {
        page.field("in all", anstyle::Style::new(), &words)?;
    }
    let earlier = record.questions.len() - usize::from(current.is_some());
    details.texts(page, &record.questions[..earlier])?;
    Ok(details.frames(page)?)
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

fn log(stack: &Stack, handle: Handle, page: &mut Page<'_>) -> Result<(), Lack> {
    Ok(Log::newest(stack, handle, NEWEST)?.entries(page)?)
}

fn history(stack: &Stack, handle: Handle, page: &mut Page<'_>) -> Result<(), Lack> {
    let since = stack.read(|tree| tree.node(handle).revision()).saturating_sub(LOOKED_AT);
    let events = stack.history(&EventQuery::default().frame(handle).since(since))?;
    let skipped = events.len().saturating_sub(NEWEST);
    for event in events.into_iter().skip(skipped) {
        stack.read(|tree| EventLine::of(tree, event)).write_line(page)?;
    }
    Ok(())
}
