//! `callstack history`: what has happened, event by event.

use std::collections::VecDeque;
use std::io;

use callstack_core::{Event, EventQuery, FrameRef, Stack};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::event_kind::EventKind;
use super::event_line::{EventLine, is_mark};
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{Line, Page, Report};

/// Number of events that are read at a time.
const PART: usize = 4_096;

#[derive(Args)]
pub struct Arguments {
    /// Only events of this frame.
    #[arg(long, value_name = "FRAME")]
    frame: Option<FrameRef>,
    /// Only events of this kind: planned, begun, completed, failed, blocked, invalidated, questions, answers,
    /// edits, decisions, artifacts, results, requests, commands, undo, reopened, stopped, holders, heap,
    /// messages; or the kind of an event in JSON. Without it the events `commanded`, which record who has
    /// given a command, are left out.
    #[arg(long, short, value_name = "KIND", value_parser = EventKind::named)]
    kind: Option<EventKind>,
    /// Only events after this revision.
    #[arg(long, value_name = "REVISION", default_value_t = 0, hide_default_value = true)]
    since: u64,
    /// Maximum number of events: the oldest ones that match.
    #[arg(long, value_name = "EVENTS", conflicts_with = "tail")]
    limit: Option<usize>,
    /// Maximum number of events: the newest ones that match.
    #[arg(long, value_name = "EVENTS")]
    tail: Option<usize>,
}

/// Events of the history, oldest first.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct History {
    /// The revision of the stack: the number of all events.
    revision: u64,
    events: Vec<EventLine>,
    #[serde(skip)]
    of_frame: bool,
}

pub fn run(arguments: &Arguments, folder: &StackFolder) -> Result<History, Failure> {
    let stack = folder.open_to_read()?;
    let mut query = EventQuery::default().since(arguments.since);
    query.frame = arguments.frame.as_ref().map(|frame| stack.resolve(frame.clone())).transpose()?;
    query.kind = arguments.kind.as_ref().and_then(EventKind::only).map(str::to_owned);
    let most = arguments.limit.or(arguments.tail).unwrap_or(usize::MAX);
    let events = matching(&stack, &query, arguments.kind.as_ref(), most, arguments.tail.is_some())?;
    Ok(stack.read(|tree| History {
        revision: tree.revision(),
        events: events.into_iter().map(|event| EventLine::of(tree, event)).collect(),
        of_frame: arguments.frame.is_some(),
    })?)
}

/// The oldest or the newest events that match. The history is read in parts, so that few other events are in
/// memory.
fn matching(
    stack: &Stack,
    query: &EventQuery,
    kind: Option<&EventKind>,
    most: usize,
    are_newest: bool,
) -> Result<VecDeque<Event>, Failure> {
    let mut events = VecDeque::new();
    let mut query = query.clone().limit(PART);
    let is_meant = |event: &Event| kind.map_or(!is_mark(event), |kind| kind.is_of(event));
    loop {
        let part = stack.history().events(&query)?;
        let Some(last) = part.last() else { return Ok(events) };
        query.since = last.revision;
        events.extend(part.into_iter().filter(is_meant));
        match are_newest {
            true => drop(events.drain(..events.len().saturating_sub(most))),
            false if events.len() >= most => {
                events.truncate(most);
                return Ok(events);
            }
            false => {}
        }
    }
}

impl Report for History {
    const KIND: &'static str = "history";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        if self.events.is_empty() {
            page.line(Line::new().plain("No event matches."))?;
            if self.of_frame {
                page.notice("next", "callstack doctor says up to which event finished trees were compacted")?;
            }
            return Ok(());
        }
        self.events.iter().try_for_each(|event| event.write_line(page))
    }
}
