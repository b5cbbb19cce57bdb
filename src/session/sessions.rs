//! The memory of a host's sessions: parents, titles, messages, and events that wait.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::autonomy::{Autonomy, Observation};
use super::calls::Calls;
use super::compaction::Compactions;
use super::effect::Action;
use super::event::HostEvent;
use super::subagents::Subagents;
use super::turn::Turn;
use crate::tree::Tree;
use crate::vocabulary::ToolNames;

/// Messages of a session that are remembered, so that one that is reported twice counts once.
const REMEMBERED_MESSAGES: usize = 256;
/// Events that wait for one session. The limit bounds the process memory if a session is never described.
const WAITING_EVENTS: usize = 256;

/// What is known of a host's sessions. Each event that is reported returns the actions that follow from it.
///
/// - A root session gets a frame with its first message. The frame takes its criteria from that message, and its
///   title too unless the session has one.
/// - A child session gets a frame when [`Subagents`] says so, below the frame of its parent, in whichever order the
///   two are reported: the host is asked to describe a session that it has not reported.
/// - A session that goes on after its frame is finished gets another frame with its next message; the finished
///   one keeps its handle.
/// - Files that tools write become artifacts. The summary of a compaction becomes the results of a frame that goes
///   on. The last words of an idle subagent become the results of its frame, which is finished.
/// - Calls run frames in sessions of their own: see [`Calls`].
/// - Sessions are observed, which may lead to suggestions: see [`Autonomy`].
#[derive(Debug, Clone, Default)]
pub struct Sessions {
    /// The subagents among them.
    pub subagents: Subagents,
    /// The compactions that were requested.
    pub compactions: Compactions,
    /// Settings and suggestions of the heuristics.
    pub autonomy: Autonomy,
    /// The frames that run while their callers wait.
    pub calls: Calls,
    /// The host's names of the agent's tools, for prompts and answers.
    pub tools: ToolNames,
    pub(super) known: BTreeMap<String, Session>,
    /// Subagents whose last words are awaited.
    pub(super) completing: BTreeSet<String>,
    observations: BTreeMap<String, Observation>,
    /// Descriptions of child sessions by caller: which of them work for its calls is not known yet.
    unassigned: BTreeMap<String, Vec<HostEvent>>,
    /// Events by the session that must be described first.
    waiting: BTreeMap<String, Vec<HostEvent>>,
}

/// A session that was reported.
#[derive(Debug, Clone, Default)]
pub(super) struct Session {
    pub(super) parent: Option<String>,
    pub(super) title: Option<String>,
    pub(super) first_message: Option<String>,
    /// The message that its present frame began with, if it had another frame before.
    pub(super) begun_with: Option<String>,
    /// IDs of its newest messages.
    messages: VecDeque<String>,
    /// It works for a call, so it is no subagent.
    is_called: bool,
}

impl Sessions {
    /// The actions that follow from an event at this time, in milliseconds since the epoch. `tree`: the tree before
    /// the actions.
    pub fn report(&mut self, tree: &Tree, event: HostEvent, now: u64) -> Vec<Action> {
        let mut turn = Turn::new(self, tree, now);
        turn.report(event);
        turn.into_actions()
    }

    /// The actions that are due at this time.
    pub fn poll(&mut self, tree: &Tree, now: u64) -> Vec<Action> {
        let mut turn = Turn::new(self, tree, now);
        turn.poll();
        turn.into_actions()
    }

    /// When [`Sessions::poll`] will have something to do, in milliseconds since the epoch.
    pub fn deadline(&self) -> Option<u64> {
        [self.subagents.deadline(), self.calls.deadline()].into_iter().flatten().min()
    }

    /// What was observed of a session.
    pub fn observe(&mut self, session_id: &str) -> &mut Observation {
        self.observations.entry(session_id.to_owned()).or_default()
    }

    pub(super) fn is_known(&self, session_id: &str) -> bool {
        self.known.contains_key(session_id)
    }

    /// True if a session works for a call, or has worked for one.
    pub(super) fn is_called(&self, session_id: &str) -> bool {
        self.known.get(session_id).is_some_and(|session| session.is_called)
    }

    /// Remembers a message. True if it was not reported before.
    pub(super) fn is_new_message(&mut self, session_id: &str, message_id: &str) -> bool {
        self.known.entry(session_id.to_owned()).or_default().is_new(message_id)
    }

    /// Remembers the description of a session. A title without meaning leaves the earlier one.
    pub(super) fn describe(&mut self, session_id: &str, parent: Option<String>, title: &str) {
        let session = self.known.entry(session_id.to_owned()).or_default();
        session.parent = parent;
        session.title = meaningful(title).or_else(|| session.title.take());
    }

    /// Remembers a session that was created for a call.
    pub(super) fn describe_called(&mut self, session_id: &str, caller: &str, title: &str) {
        let session = self.known.entry(session_id.to_owned()).or_default();
        session.is_called = true;
        session.parent = Some(caller.to_owned());
        session.title = meaningful(title);
        // The frame has criteria already: none are taken from the prompt.
        session.first_message.get_or_insert_default();
    }

    /// Puts an event off until a session is described. True if it is the first that waits for this session.
    pub(super) fn wait_for(&mut self, session_id: &str, event: HostEvent) -> bool {
        let waiting = self.waiting.entry(session_id.to_owned()).or_default();
        let is_first = waiting.is_empty();
        if waiting.len() < WAITING_EVENTS && !waiting.contains(&event) {
            waiting.push(event);
        }
        is_first
    }

    /// The events that have waited for a session.
    pub(super) fn take_waiting(&mut self, session_id: &str) -> Vec<HostEvent> {
        self.waiting.remove(session_id).unwrap_or_default()
    }

    /// Keeps the description of a child session until it is known which sessions work for the caller's calls.
    pub(super) fn put_aside(&mut self, caller: &str, event: HostEvent) {
        self.unassigned.entry(caller.to_owned()).or_default().push(event);
    }

    /// The descriptions of child sessions that were put aside for a caller.
    pub(super) fn take_unassigned(&mut self, caller: &str) -> Vec<HostEvent> {
        self.unassigned.remove(caller).unwrap_or_default()
    }

    /// A session goes on with another frame.
    pub(super) fn frame_replaced(&mut self, session_id: &str) {
        self.subagents.revived(session_id);
        self.observations.remove(session_id);
    }

    /// Forgets a session that was deleted, except the events that wait for it.
    pub(super) fn forget(&mut self, session_id: &str) {
        self.subagents.deleted(session_id);
        self.compactions.forget(session_id);
        self.completing.remove(session_id);
        self.known.remove(session_id);
        self.observations.remove(session_id);
    }
}

impl Session {
    /// Remembers a message. True if it was not reported before.
    fn is_new(&mut self, message_id: &str) -> bool {
        if self.messages.iter().any(|known| known == message_id) {
            return false;
        }
        if self.messages.len() == REMEMBERED_MESSAGES {
            self.messages.pop_front();
        }
        self.messages.push_back(message_id.to_owned());
        true
    }
}

/// A title without surrounding whitespace; `None` for an empty one and for a host's placeholder.
pub(super) fn meaningful(title: &str) -> Option<String> {
    let is_placeholder = ["New session - ", "Child session - "].iter().any(|start| title.starts_with(start));
    Some(title.trim()).filter(|title| !title.is_empty() && !is_placeholder).map(str::to_owned)
}
