//! An event as a line for people.

use std::io;

use callstack_core::frame::{Message, ModelRequest, ModelUsage, Release};
use callstack_core::text::one_line;
use callstack_core::{Change, Event, FrameStatus, HolderKind, Tree};
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::{FAINT, Line, Page, count, moment, number, of_status};

/// Below this width, in columns, an event takes two lines.
const LEAST_WIDTH: usize = 72;
/// Before the second line.
const INDENTATION: &str = "       ";

/// An event, and the title of its frame.
#[derive(Serialize, JsonSchema)]
pub struct EventLine {
    #[serde(flatten)]
    event: Event,
    /// The title that the frame has now.
    title: String,
}

/// True for the record of a command of a person, which changes nothing itself.
pub fn is_mark(event: &Event) -> bool {
    matches!(event.change, Change::Commanded { .. })
}

impl EventLine {
    /// `tree`: a tree that has the event.
    pub fn of(tree: &Tree, event: Event) -> Self {
        Self { title: tree.node(event.handle).title().to_owned(), event }
    }

    /// Writes the event on one line.
    pub fn write_line(&self, page: &mut Page<'_>) -> io::Result<()> {
        let Event { revision, time, handle, change } = &self.event;
        let style = match change {
            Change::StatusChanged { status, .. } => of_status(*status),
            Change::Invalidated { .. } => of_status(FrameStatus::Invalidated),
            _ => anstyle::Style::new(),
        };
        let place =
            Line::new().styled(FAINT, format!("{revision:>5}  {}  ", moment(*time))).plain(format!("{handle} "));
        let said = Line::new().said(&self.title).plain(": ").styled(style, one_line(&said(change, *time)));
        if page.width() >= LEAST_WIDTH {
            return page.line(place.followed_by(said));
        }
        page.line(place)?;
        page.line(Line::new().plain(INDENTATION).followed_by(said))
    }
}

/// Describes a change in a few words, followed by its texts. `time`: the time of the event.
fn said(change: &Change, time: u64) -> String {
    let with =
        |words: &str, text: &str| if text.trim().is_empty() { words.to_owned() } else { format!("{words}: {text}") };
    match change {
        Change::Added { frame } => with(&format!("added as {}", frame.status), &frame.success_criteria),
        Change::Imported { .. } => "this frame and the next ones were imported".to_owned(),
        Change::DependenciesAdded { depends_on } => with("got dependencies", &depends_on.join(", ")),
        Change::Identified { identity, .. } => with("is called", &identity.title),
        Change::StatusChanged { status, results, .. } => {
            with(&status.to_string(), results.as_deref().unwrap_or_default())
        }
        Change::Summarized { results, .. } => with("results so far", results),
        Change::Asked { question, interruption: true } => with("waits, interrupted", question),
        Change::Asked { question, .. } => with("waits for", question),
        Change::Answered { answer, .. } => with("answered", answer),
        Change::Reopened { reason } => with("reopened", reason),
        Change::Commanded { command, by, .. } if by.is_empty() => format!("a person has given the command {command}"),
        Change::Commanded { command, by, .. } => with(&format!("the command {command} of"), by),
        Change::Undone { command, .. } => format!("{command} was taken back"),
        Change::Restored { .. } => "is as it was before".to_owned(),
        Change::Reimported { .. } => "is as the file of its plan says".to_owned(),
        Change::Stopped { reason } => with("stopped", reason),
        Change::SummaryRequested { request: Some(_) } => "a summary was requested".to_owned(),
        Change::SummaryRequested { .. } => "the request for a summary has ended".to_owned(),
        Change::Invalidated { reason } => with("invalidated", reason),
        Change::IdReplaced { session_id } => with("got the ID", session_id),
        Change::LogPathSet { log_path } | Change::LogMoved { log_path } => with("has its log in", log_path),
        Change::Delivered {} => "its results were delivered to the parent".to_owned(),
        Change::Forgotten {} => "its conversation was compacted".to_owned(),
        Change::ArtifactAdded { artifact } => with("artifact", artifact),
        Change::DecisionAdded { decision } => with("decision", decision),
        Change::ActiveChanged { active: true } => "is the active frame".to_owned(),
        Change::ActiveChanged { .. } => "is not the active frame any more".to_owned(),
        Change::ChunkAllocated { chunk } => with("allocated on the heap", &chunk.name),
        Change::ChunkWritten { name, .. } => with("wrote on the heap", name),
        Change::ChunkFreed { name } => with("freed on the heap", name),
        Change::RegistersChanged { registers } => {
            let names: Vec<&str> = registers.keys().map(|register| register.name()).collect();
            with("changed registers", &names.join(", "))
        }
        Change::RunStarted { .. } => "is the root of a run".to_owned(),
        Change::Called { .. } => "was pushed by a tool call".to_owned(),
        Change::MessagesAdded { messages } => {
            let newest = messages.last().map(Message::text).unwrap_or_default();
            with(&count(messages.len(), "message"), newest)
        }
        Change::Edited { edit, was } => {
            let keys = serde_json::to_value(edit).ok();
            let keys = keys.as_ref().and_then(|edit| edit.as_object()).into_iter().flat_map(|edit| edit.keys());
            with(if was.is_some() { "corrected" } else { "edited" }, &keys.cloned().collect::<Vec<_>>().join(", "))
        }
        Change::Held { holder } if holder.name.is_empty() && holder.kind == HolderKind::Person => {
            "was taken in hand".to_owned()
        }
        Change::Held { holder } if holder.since < time => format!("its {} keeps it", holder.kind),
        Change::Held { holder } => {
            let until = holder.until.map_or(String::new(), |until| format!(" until {}", moment(until)));
            with(&format!("held by a {}{until} (hold {})", holder.kind, holder.generation), &holder.name)
        }
        Change::Released { release } => match release {
            Release::PutBack { until } => format!("was put back until {}", moment(*until)),
            Release::Interrupted {} => "was interrupted: nothing was heard of its holder".to_owned(),
            Release::Stopped { reason } => with("was taken from its holder", reason),
            _ => "was released".to_owned(),
        },
        Change::UsageRecorded { model_request } => requested(model_request),
        Change::TranscriptRead { conversation, position } => {
            format!("the transcript of {conversation} was read up to byte {}", position.offset)
        }
        other => other.kind().to_owned(),
    }
}

fn requested(request: &ModelRequest) -> String {
    let failed = if request.failed { "failed request" } else { "request" };
    let usage = ModelUsage::from(request);
    format!("{failed} to {}: {} tokens in, {} out", request.model, number(usage.input()), number(usage.answer()))
}
