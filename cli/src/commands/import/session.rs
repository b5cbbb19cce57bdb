//! A session of an agent becomes a part of the stack.

use std::collections::BTreeMap;
use std::io;

use callstack_core::transcript::{Session, TakenSession};
use callstack_core::{Error, FrameStatus, Handle, LogQuery, Stack};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::commands::changed::{ChangedFrame, next};
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{Line, Page, Report, count};
use crate::same_stack::SameStack;
use crate::sessions::SessionFiles;

/// A session that is a part of the stack now.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportedSession {
    /// The agent: `claude`, `codex`, …
    agent: String,
    /// The ID of the session.
    session: String,
    /// The frame of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<ChangedFrame>,
    /// Number of new frames.
    frames: usize,
    /// Number of frames that were there before, and have changed.
    changed: usize,
    /// Number of new requests.
    requests: usize,
    /// Number of new entries of logs.
    entries: usize,
    /// Frames on which work has continued in the stack: they stay as they are there.
    kept: Vec<Handle>,
    /// Frames in which the session has ended in the middle.
    interrupted: Vec<Handle>,
    /// Number of lines that were not understood.
    unknown: usize,
    #[serde(skip)]
    same_stack: SameStack,
}

/// Makes a session a part of the stack, or brings it up to date there.
pub fn import(files: &SessionFiles, folder: &StackFolder) -> Result<ImportedSession, Failure> {
    let mut session = files.read(Some(None))?;
    let entries = session.take_entries();
    folder.change(true, |stack| {
        let taken = stack.take_over(&session)?;
        let entries = match append(stack, &session, &taken, &entries) {
            // This is a trial, before a stack is made.
            Err(Error::InMemory { .. }) => 0,
            added => added?,
        };
        ImportedSession::of(stack, &session, &taken, entries, folder)
    })
}

/// Adds to the logs of frames what they do not have yet. Returns the number of entries.
fn append(
    stack: &Stack,
    session: &Session,
    taken: &TakenSession,
    entries: &[(Handle, Value)],
) -> callstack_core::Result<usize> {
    let mut by_frame: BTreeMap<Handle, Vec<Value>> = BTreeMap::new();
    for (frame, entry) in entries {
        by_frame.entry(*frame).or_default().push(entry.clone());
    }
    let mut added = 0;
    for (frame, entries) in by_frame {
        let id = format!("id:{}", session.tree().node(frame).record().session_id);
        let handle = stack.resolve(id.as_str())?;
        if taken.kept.contains(&handle) {
            continue;
        }
        let known = match taken.added.contains(&handle) {
            true => 0,
            false => stack.log(handle).read(&LogQuery::default().tail(1))?.total,
        };
        if let Some(new) = entries.get(known..).filter(|new| !new.is_empty()) {
            stack.log(handle).append(new)?;
            added += new.len();
        }
    }
    Ok(added)
}

impl ImportedSession {
    fn of(
        stack: &Stack,
        session: &Session,
        taken: &TakenSession,
        entries: usize,
        folder: &StackFolder,
    ) -> Result<Self, Failure> {
        let facts = session.facts();
        let (root, interrupted) = stack.read(|tree| {
            let is_interrupted = |frame: &Handle| tree.node(*frame).status() == FrameStatus::Blocked;
            let interrupted = taken.added.iter().chain(&taken.changed).copied().filter(is_interrupted).collect();
            (taken.root.map(|root| ChangedFrame::of(tree, root)), interrupted)
        })?;
        Ok(Self {
            agent: session.form().to_string(),
            session: facts.id.clone(),
            root,
            frames: taken.added.len(),
            changed: taken.changed.len(),
            requests: taken.requests,
            entries,
            kept: taken.kept.clone(),
            interrupted,
            unknown: facts.unknown,
            same_stack: folder.same_stack(),
        })
    }
}

impl Report for ImportedSession {
    const KIND: &'static str = "importedSession";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let new = [
            (self.frames, "new frame"),
            (self.changed, "changed frame"),
            (self.requests, "new request"),
            (self.entries, "new log entry"),
        ];
        let words: Vec<String> =
            new.iter().filter(|(number, _)| *number > 0).map(|(number, noun)| plural(*number, noun)).collect();
        let what = if words.is_empty() { "nothing new".to_owned() } else { words.join(", ") };
        page.text(0, &format!("imported the session {} of {}: {what}", self.session, self.agent))?;
        if let Some(root) = &self.root {
            page.line(root.line("    with"))?;
        }
        for frame in &self.interrupted {
            page.line(Line::new().plain(format!(
                "    {frame} was interrupted: `callstack activate {frame}` resumes it, or an agent does"
            )))?;
        }
        if !self.kept.is_empty() {
            let kept = self.kept.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            page.text(4, &format!("left as they are, because work on them continued in this stack: {kept}"))?;
        }
        if self.unknown > 0 {
            page.text(4, &format!("{} not understood", count(self.unknown, "line")))?;
        }
        match &self.root {
            Some(root) => next(page, &self.same_stack, format_args!("callstack tree --root {} --all", root.handle)),
            None => Ok(()),
        }
    }
}

fn plural(number: usize, noun: &str) -> String {
    match (number, noun.strip_suffix('y')) {
        (1, _) | (_, None) => count(number, noun),
        (_, Some(stem)) => format!("{number} {stem}ies"),
    }
}
