//! How a [`Turn`] creates the frames of sessions, with titles and criteria.

use std::collections::HashSet;

use super::place::SET_BACK;
use super::subagents::Step;
use super::turn::Turn;
use crate::frame::{Chunk, Frame, FrameRef, FrameStatus, Handle, NewChunk};
use crate::tree::Command;

impl Turn<'_> {
    /// Handles a message of the person.
    pub(super) fn asked(&mut self, session_id: &str, message_id: String, text: &str) {
        // A prompt is the task of a session only if the session works for a call.
        if self.take_answer(session_id, text) && !self.sessions.is_called(session_id) {
            if let Some(session) = self.sessions.known.get_mut(session_id) {
                session.topic.said_aside(text);
            }
            return;
        }
        let tree = self.tree;
        let has_text = !text.trim().is_empty();
        let is_finished = |status: FrameStatus| !status.is_open() && status != FrameStatus::Planned;
        let finished = tree.by_id(session_id).filter(|frame| is_finished(tree.node(*frame).status()));
        // What is said while the conversation works on another frame belongs to that frame.
        let finished = finished.filter(|own| has_text && self.sessions.place(session_id, tree) == Some(*own));
        let Some(session) = self.sessions.known.get_mut(session_id) else { return };
        if let Some(finished) = finished {
            return self.begin_anew(session_id, finished, Some(message_id), text);
        }
        if tree.by_id(session_id).is_none() {
            session.topic.begins();
        }
        let is_task = has_text && session.topic.asked(text);
        if self.begin_anew_if_taken_back(session_id, Some(message_id)) {
            return;
        }
        let Some(session) = self.sessions.known.get_mut(session_id) else { return };
        let is_short = session.topic.is_short();
        let is_root = session.parent.is_none();
        if is_task && !session.is_called {
            // An addition to a task is in the conversation together with the task, unless the
            // conversation was compacted.
            let task = session.topic.task().map(str::to_owned);
            let is_whole = session.criteria.is_some() || task.as_deref().is_some_and(|task| text.contains(task));
            session.criteria = task.filter(|_| is_whole);
        }
        if is_task {
            self.sessions.observe(session_id).asked(is_short);
        }
        // A command of this turn may create the frame; then the tree does not have it yet.
        let is_framed = self.sessions.subagents.get(session_id).is_some_and(|subagent| subagent.has_frame);
        let has_frame = is_root || is_framed || tree.by_id(session_id).is_some();
        if is_root {
            self.make_frames(session_id);
        }
        if is_task && has_frame {
            self.identify(session_id);
        }
    }

    /// Handles that a person may have taken messages back. `asked` has the messages that are left.
    pub(super) fn unasked(&mut self, session_id: &str, asked: &[String]) {
        let Some(session) = self.sessions.known.get_mut(session_id) else { return };
        if session.is_called || !session.topic.set_back(asked) || self.begin_anew_if_taken_back(session_id, None) {
            return;
        }
        let Some(session) = self.sessions.known.get_mut(session_id) else { return };
        let task = session.topic.task().map(str::to_owned);
        session.criteria = session.criteria.take().and(task);
        self.identify(session_id);
    }

    /// Begins another frame if a person has taken back everything that the frame of a session is about, and
    /// the title and criteria of that frame are set for good. The other frame is about what the person has
    /// written instead.
    fn begin_anew_if_taken_back(&mut self, session_id: &str, message_id: Option<String>) -> bool {
        let own = self.own_open_frame(session_id).filter(|own| !self.tree.node(*own).record().placeholder);
        let own = own.filter(|own| self.sessions.place(session_id, self.tree) == Some(*own));
        let session = self.sessions.known.get(session_id).filter(|session| !session.is_called);
        let words = session.and_then(|session| session.topic.words_instead()).map(str::to_owned);
        let (Some(own), Some(words)) = (own, words) else { return false };
        self.interrupt(&[own], SET_BACK);
        self.begin_anew(session_id, own, message_id, &words);
        true
    }

    /// Creates another frame for a session that is done with its own frame, below the same parent if that
    /// parent is open. The previous frame gets another ID.
    fn begin_anew(&mut self, session_id: &str, before: Handle, message_id: Option<String>, text: &str) {
        let tree = self.tree;
        if let Some(session) = self.sessions.known.get_mut(session_id) {
            session.topic.begun_anew(text);
            session.criteria = session.topic.task().map(str::to_owned);
            session.begun_with = message_id;
            session.log.begun_anew();
        }
        // The ID comes from the frame's handle. No other frame of the session can have it, so no search for a
        // free number is needed.
        let mut archived = Frame::id_in_conversation(session_id, before);
        while tree.by_id(&archived).is_some() {
            archived.push('~');
        }
        self.command(Command::ReplaceId { frame: before.into(), session_id: archived });
        let parent = tree.node(before).parent().filter(|parent| tree.node(*parent).status().is_open());
        let (new, parent) = (session_id.to_owned(), parent.map(FrameRef::Handle));
        self.command(Command::Ensure { session_id: new, title: None, parent });
        // The chunks on the heap stay visible to the session.
        for Chunk { name, content, description, .. } in tree.node(before).record().heap.clone() {
            let (frame, chunk) = (FrameRef::Id(session_id.to_owned()), NewChunk { name, content, description });
            self.command(Command::AllocateChunk { frame, chunk });
        }
        self.sessions.frame_replaced(session_id);
        self.sessions.way_begun_anew(session_id, before, self.time);
        let is_short = self.sessions.known.get(session_id).is_none_or(|session| session.topic.is_short());
        self.sessions.observe(session_id).asked(is_short);
        self.set_identity(session_id);
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
            next = self.sessions.parent_of(&id).map(str::to_owned);
            missing.push(id);
        }
        for id in missing.into_iter().rev() {
            let known = self.sessions.known.get(&id);
            let title = known.and_then(|known| known.topic.title()).map(str::to_owned);
            let parent = known.and_then(|known| known.parent.clone());
            self.sessions.subagents.framed(&id);
            // A conversation can be in a frame that is not its session's own frame.
            let place =
                |parent: String| self.sessions.place(&parent, self.tree).map_or(FrameRef::Id(parent), FrameRef::Handle);
            let (session_id, parent) = (id.clone(), parent.map(place));
            self.command(Command::Ensure { session_id, title, parent });
            self.record_requests(&id);
        }
    }

    /// Sets the title and criteria of a session's frame if this turn creates it or it is an open placeholder.
    pub(super) fn identify(&mut self, session_id: &str) {
        let is_placeholder = |frame: Handle| {
            let node = self.tree.node(frame);
            node.record().placeholder && node.status().is_open()
        };
        if self.tree.by_id(session_id).is_none_or(is_placeholder) {
            self.set_identity(session_id);
        }
    }

    /// Sets the title and criteria of a placeholder to the topic of its session, if it has one.
    fn set_identity(&mut self, session_id: &str) {
        let known = self.sessions.known.get(session_id);
        if let Some(identity) = known.and_then(|session| session.topic.identity()) {
            let frame = FrameRef::Id(session_id.to_owned());
            self.command(Command::Identify { frame, identity, provisional: true });
        }
    }
}
