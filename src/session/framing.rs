//! How a [`Turn`] creates the frames of sessions, with titles and criteria.

use std::collections::HashSet;

use super::subagents::Step;
use super::turn::Turn;
use crate::frame::{Chunk, FrameRef, FrameStatus, Handle, Identity, NewChunk};
use crate::text::{beginning, one_line};
use crate::tree::Command;

/// Maximum length of a title that is taken from a message, in words and in characters.
const TITLE_WORDS: usize = 6;
const TITLE_CHARACTERS: usize = 60;
/// Maximum length of criteria that are taken from a message, full and compacted, in characters.
const CRITERIA_CHARACTERS: usize = 2_000;
const COMPACTED_CHARACTERS: usize = 150;

impl Turn<'_> {
    /// Handles a user's message.
    pub(super) fn asked(&mut self, session_id: &str, message_id: String, text: &str) {
        self.resume_subagent(session_id);
        let tree = self.tree;
        let Some(session) = self.sessions.known.get_mut(session_id) else { return };
        let has_text = !text.trim().is_empty();
        let is_finished = |status: FrameStatus| !status.is_open() && status != FrameStatus::Planned;
        let finished = tree.by_id(session_id).filter(|frame| is_finished(tree.node(*frame).status()));
        if let Some(finished) = finished.filter(|_| has_text) {
            session.first_message = Some(text.to_owned());
            session.begun_with = Some(message_id);
            return self.begin_anew(session_id, finished);
        }
        let is_first = session.first_message.is_none() && has_text;
        if is_first {
            session.first_message = Some(text.to_owned());
        }
        let is_root = session.parent.is_none();
        // A command of this turn may create the frame; then the tree does not have it yet.
        let is_framed = self.sessions.subagents.get(session_id).is_some_and(|subagent| subagent.has_frame);
        let has_frame = is_root || is_framed || tree.by_id(session_id).is_some();
        if is_root {
            self.make_frames(session_id);
        }
        if is_first && has_frame {
            self.identify(session_id);
        }
    }

    /// Creates another frame for a session whose frame is finished, below the same parent if that is open. The finished
    /// frame gets another ID.
    fn begin_anew(&mut self, session_id: &str, finished: Handle) {
        let tree = self.tree;
        // Named after its handle, which no other frame of the session can have, so no free number has to be searched.
        let mut archived = format!("{session_id}~{finished}");
        while tree.by_id(&archived).is_some() {
            archived.push('~');
        }
        self.command(Command::ReplaceId { frame: finished.into(), session_id: archived });
        let parent = tree.node(finished).parent().filter(|parent| tree.node(*parent).status().is_open());
        let (new, parent) = (session_id.to_owned(), parent.map(FrameRef::Handle));
        self.command(Command::Ensure { session_id: new, title: None, parent });
        // The chunks on the heap stay visible to the session.
        for Chunk { name, content, description, .. } in tree.node(finished).record().heap.clone() {
            let (frame, chunk) = (FrameRef::Id(session_id.to_owned()), NewChunk { name, content, description });
            self.command(Command::AllocateChunk { frame, chunk });
        }
        self.sessions.frame_replaced(session_id);
        self.identify_with(session_id, None);
    }

    /// Executes the steps that the subagents require.
    pub(super) fn take(&mut self, steps: impl IntoIterator<Item = Step>) {
        for step in steps {
            match step {
                Step::CreateFrame(session_id) => {
                    self.make_frames(&session_id);
                    self.identify(&session_id);
                }
                Step::End(session_id, ending) => self.end(session_id, ending),
            }
        }
    }

    /// Creates the frame of a session, after the missing frames of its ancestor sessions.
    fn make_frames(&mut self, session_id: &str) {
        let mut missing = Vec::new();
        let mut met = HashSet::new();
        let mut next = Some(session_id.to_owned());
        // The parents that a host reports can form a circle.
        while let Some(id) = next.filter(|id| self.tree.by_id(id).is_none() && met.insert(id.clone())) {
            next = self.sessions.known.get(&id).and_then(|session| session.parent.clone());
            missing.push(id);
        }
        for id in missing.into_iter().rev() {
            let known = self.sessions.known.get(&id);
            let (title, parent) = known.map_or((None, None), |known| (known.title.clone(), known.parent.clone()));
            self.sessions.subagents.framed(&id);
            let parent = parent.map(FrameRef::Id);
            self.command(Command::Ensure { session_id: id, title, parent });
        }
    }

    /// Identifies a frame that this turn creates, or that is a placeholder: with the session's title, and with criteria
    /// from its first message. Does nothing if there is no message.
    fn identify(&mut self, session_id: &str) {
        let is_placeholder = |frame: Handle| self.tree.node(frame).record().placeholder;
        if self.tree.by_id(session_id).is_none_or(is_placeholder) {
            let title = self.sessions.known.get(session_id).and_then(|session| session.title.clone());
            self.identify_with(session_id, title);
        }
    }

    /// Sets the title of a session's frame, by default from the session's first message, and its criteria from that
    /// message. Does nothing if there is no message.
    fn identify_with(&mut self, session_id: &str, title: Option<String>) {
        let message = self.sessions.known.get(session_id).and_then(|session| session.first_message.as_deref());
        let Some(text) = message.filter(|text| !text.is_empty()) else { return };
        let identity = Identity {
            title: title.unwrap_or_else(|| title_of(text)),
            success_criteria: beginning(text.trim(), CRITERIA_CHARACTERS).to_owned(),
            success_criteria_compacted: beginning(&one_line(text), COMPACTED_CHARACTERS).to_owned(),
        };
        self.command(Command::Identify { frame: FrameRef::Id(session_id.to_owned()), identity });
    }
}

/// A title from a message: its first words.
pub(crate) fn title_of(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().take(TITLE_WORDS).collect();
    beginning(&words.join(" "), TITLE_CHARACTERS).to_owned()
}
