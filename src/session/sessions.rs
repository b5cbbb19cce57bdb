//! [`Sessions`]: the state that is kept for a host's sessions, such as parents, titles, messages and delayed
//! events.

use std::collections::{BTreeMap, BTreeSet};

use super::autonomy::{Autonomy, Decision, Observation};
use super::calls::{Call, CallId, CallPlace, Calls};
use super::compaction::Compactions;
use super::event::HostEvent;
use super::known_session::Session;
use super::subagents::{Ending, Subagents};
use super::titles::ReceivedEvent;
use crate::frame::{Change, Event, Frame, FrameStatus, Handle};
use crate::tree::Tree;
use crate::vocabulary::ToolNames;

/// Maximum number of events that wait for one session, and of sessions for which events wait. These limits
/// bound the process memory if sessions are never described.
const WAITING_EVENTS: usize = 256;
const AWAITED_SESSIONS: usize = 32_768;
/// Time between two looks at blocked frames, which other processes can answer, in milliseconds.
const LOOK_INTERVAL: u64 = 1_000;
/// Maximum number of frames that have ended in the background and that one context reports.
const TOLD_AT_ONCE: usize = 8;
/// Maximum number of sessions in a circle of parents that is found.
const SEARCHED_CIRCLE: usize = 256;

/// The state of a host's sessions. [`Sessions::report`] handles an event and returns the actions that follow
/// from it.
///
/// - A root session gets a frame with its first message.
/// - The identity of a session's frame can be set for good ([`Command::Identify`](crate::Command::Identify),
///   or a push or plan below it). Until then, its criteria are what the person has written since it began,
///   without messages of one or two words. Its title is the title of the session if the host reported it
///   before the first message, in place of another title, or after the task. Otherwise its title is the first
///   words of the newest message that is not much shorter than the message of the title before.
/// - A child session gets a frame below the frame of its parent when [`Subagents`] decides so. Parent and
///   child may be reported in any order: the host is asked to describe a session that it has not reported.
/// - A session that continues after its frame is finished gets another frame with its next message. The
///   finished frame keeps its handle.
/// - Files that tools write become artifacts. The summary of a compaction becomes the results so far of an
///   open frame. A subagent's frame is finished with its answer when the tool that has started the subagent
///   returns; if the host does not report that, when the subagent is idle for a while.
/// - Calls run frames in their own sessions: see [`Calls`].
/// - Sessions are observed, which can lead to suggestions: see [`Autonomy`].
///
/// Requests for summaries outlive the process, and so does the record of calls: after a restart their frames
/// are known as interrupted. Everything else, time spans included, does not outlive the process: the host
/// describes its sessions again, and an interrupted frame is activated again.
#[derive(Debug, Clone, Default)]
pub struct Sessions {
    /// The sessions that are tracked as subagents.
    pub subagents: Subagents,
    /// The compactions that were requested.
    pub compactions: Compactions,
    /// Settings and suggestions of the heuristics.
    pub autonomy: Autonomy,
    /// The frames that run while their callers wait.
    pub calls: Calls,
    /// The host's names of the agent's tools, for prompts and answers.
    pub tools: ToolNames,
    /// True if the host's contexts show no finished children.
    pub hides_finished_children: bool,
    /// The ID of the host in [`Holder::name`](crate::frame::Holder::name); empty before its first call.
    pub host: String,
    /// The time of the first turn of this process, in milliseconds since the Unix epoch.
    pub(crate) begun_at: Option<u64>,
    /// The revision of the tree, and the number of changes of calls, at which nothing was left to do for
    /// calls.
    pub(crate) settled: (u64, u64),
    pub(super) known: BTreeMap<String, Session>,
    /// Subagents whose messages were requested from the host, because their frames end.
    pub(super) ending: BTreeMap<String, Ending>,
    observations: BTreeMap<String, Observation>,
    /// Descriptions of child sessions by caller, while it is not known which of the child sessions were
    /// created for the caller's calls.
    unassigned: BTreeMap<String, Vec<ReceivedEvent>>,
    /// Events by the session that must be described first.
    waiting: BTreeMap<String, Vec<ReceivedEvent>>,
    /// For each session whose description waits, the session for which it waits.
    awaited: BTreeMap<String, String>,
    /// The blocked frames of known sessions.
    blocked: BTreeSet<Handle>,
    /// The time of the next look at the frames that others can change: blocked frames, and the frames of
    /// calls.
    next_look: u64,
    /// Frames that have ended in the background, by the session whose agent is to be told.
    news: BTreeMap<String, News>,
}

/// The frames that have ended in the background since the newest message of a session's agent.
#[derive(Debug, Clone, Default)]
struct News {
    /// Each frame with the reason why it could not be started. The reason is empty if the frame was started.
    frames: Vec<(Handle, String)>,
    /// Number of frames that a context has shown. The agent's next message shows that it has seen them.
    shown: usize,
}

impl Sessions {
    /// The time at which [`Sessions::poll`] should be called, on the clock of
    /// [`Turn::now`](super::Turn::now). `None` if nothing is pending.
    pub fn deadline(&self) -> Option<u64> {
        let look = (!self.blocked.is_empty() || !self.calls.is_empty()).then_some(self.next_look);
        [self.subagents.deadline(), self.calls.deadline(), look].into_iter().flatten().min()
    }

    /// The observation of a session: the data for the heuristics.
    pub fn observe(&mut self, session_id: &str) -> &mut Observation {
        self.observations.entry(session_id.to_owned()).or_default()
    }

    /// True if the agent of a session should be advised to plan, if nothing is planned in its root. If the
    /// host has reported nothing about the session, this is always true.
    pub fn needs_planning_advice(&self, session_id: &str) -> bool {
        self.observations.get(session_id).is_none_or(Observation::needs_planning_advice)
    }

    /// The oldest queued call for whose frame `waits` is false, if it can begin.
    pub(super) fn next_to_begin(&self, waits: impl Fn(&Call) -> bool) -> Option<CallId> {
        self.calls.next_to_begin(waits, |session_id| self.parent_of(session_id))
    }

    /// Remembers that the agent of a session is to be told about a frame: how it has ended after it ran in
    /// the background, or why it could not be started.
    pub(super) fn tell(&mut self, session_id: &str, frame: Handle, problem: String) {
        self.told(session_id, frame);
        if self.is_known(session_id) {
            self.news.entry(session_id.to_owned()).or_default().frames.push((frame, problem));
        }
    }

    /// Notes that the agent of a session has been told about a frame.
    pub(super) fn told(&mut self, session_id: &str, frame: Handle) {
        if let Some(news) = self.news.get_mut(session_id)
            && let Some(place) = news.frames.iter().position(|(known, _)| *known == frame)
        {
            news.frames.remove(place);
            news.shown -= usize::from(place < news.shown);
        }
    }

    /// The frames whose ends the next context reports to the agent of a session. Later contexts report the
    /// others.
    pub(crate) fn news(&self, session_id: &str) -> Vec<(Handle, String)> {
        self.news.get(session_id).into_iter().flat_map(|news| &news.frames).take(TOLD_AT_ONCE).cloned().collect()
    }

    /// Notes that a context has told the agent of a session about this number of frames.
    pub(crate) fn shown_news(&mut self, session_id: &str, count: usize) {
        if let Some(news) = self.news.get_mut(session_id) {
            news.shown = count.min(news.frames.len());
        }
    }

    /// Notes a message of a session's agent, which has seen the frames that were shown.
    pub(super) fn replied(&mut self, session_id: &str) {
        if let Some(news) = self.news.get_mut(session_id) {
            news.frames.drain(..news.shown);
            news.shown = 0;
            if news.frames.is_empty() {
                self.news.remove(session_id);
            }
        }
    }

    /// Watches a blocked frame until it is not blocked any more.
    pub(super) fn watch(&mut self, handle: Handle, now: u64) {
        self.look_later(now);
        self.blocked.insert(handle);
    }

    /// Sets the time of the next look at frames, if none is watched yet.
    pub(super) fn look_later(&mut self, now: u64) {
        if self.blocked.is_empty() && self.calls.is_empty() {
            self.next_look = now.saturating_add(LOOK_INTERVAL);
        }
    }

    /// True if the frame is blocked, and this host resumes it when it is answered.
    pub(super) fn is_watched(&self, handle: Handle) -> bool {
        self.blocked.contains(&handle)
    }

    /// Looks at the blocked frames, if that is due. Returns the frames that are answered and that no call
    /// runs.
    pub(super) fn answered(&mut self, tree: &Tree, now: u64) -> Vec<Handle> {
        if now < self.next_look {
            return Vec::new();
        }
        self.next_look = now.saturating_add(LOOK_INTERVAL);
        let Self { blocked, known, calls, .. } = self;
        blocked.retain(|handle| {
            let node = tree.node(*handle);
            node.status() == FrameStatus::Blocked && known.contains_key(node.session_id())
        });
        let is_answered = |handle: &Handle| tree.node(*handle).record().pending_answer().is_some();
        blocked.iter().copied().filter(|handle| is_answered(handle) && !calls.runs(*handle)).collect()
    }

    /// Remembers a prompt for a session.
    pub(super) fn prompted(&mut self, session_id: &str, text: &str) {
        if let Some(session) = self.known.get_mut(session_id) {
            session.prompt = Some(text.trim().to_owned());
        }
    }

    /// True if a message is the prompt that was remembered. The prompt is then forgotten.
    pub(super) fn take_prompt(&mut self, session_id: &str, text: &str) -> bool {
        let prompt = self.known.get_mut(session_id).map(|session| &mut session.prompt);
        prompt.and_then(|prompt| prompt.take_if(|prompt| prompt == text.trim())).is_some()
    }

    /// Notes a change of the tree: a frame is blocked or answered. A suggestion is not pending any more if
    /// the change follows it or ends its frame.
    pub(crate) fn changed(&mut self, tree: &Tree, event: &Event, now: u64) {
        match &event.change {
            Change::StatusChanged { status: FrameStatus::Blocked, .. }
                if self.is_known(tree.node(event.handle).session_id()) =>
            {
                self.watch(event.handle, now);
            }
            Change::Answered { .. } if self.blocked.contains(&event.handle) => self.next_look = now,
            _ => {}
        }
        // An end by a command of this process is noticed at once.
        let is_end = matches!(&event.change, Change::StatusChanged { .. } | Change::Invalidated { .. });
        if is_end && self.calls.runs(event.handle) {
            self.next_look = now;
        }
        let suggestions = &mut self.autonomy.suggestions;
        let begins = match &event.change {
            Change::Added { frame } => !frame.placeholder && frame.status == FrameStatus::InProgress,
            Change::StatusChanged { status, .. } => *status == FrameStatus::InProgress,
            _ => false,
        };
        match &event.change {
            Change::StatusChanged { status, .. } if *status != FrameStatus::InProgress => {
                suggestions.acted(event.handle, Decision::Pop, now);
            }
            Change::Invalidated { .. } => suggestions.end(event.handle),
            change => {
                let Some(parent) = tree.node(event.handle).parent() else { return };
                if begins {
                    suggestions.acted(parent, Decision::Push, now);
                }
                if matches!(change, Change::Added { .. }) {
                    suggestions.end_pop(parent);
                }
            }
        }
    }

    /// The frame for which a session works: the frame in which its conversation is, or the frame of the
    /// nearest session above it that has one.
    pub(crate) fn served(&self, session_id: &str, tree: &Tree) -> Option<Handle> {
        let sessions = std::iter::successors(Some(session_id), |id| self.parent_of(id));
        // The parents that a host reports can form a circle.
        sessions.take(SEARCHED_CIRCLE).find_map(|id| self.place(id, tree))
    }

    /// True if events of a session are observed: it was reported, or it has a frame.
    pub(super) fn is_observed(&self, session_id: &str, tree: &Tree) -> bool {
        self.is_known(session_id) || tree.by_id(session_id).is_some()
    }

    /// The session that has started a known session; `None` for a root.
    pub(super) fn parent_of(&self, session_id: &str) -> Option<&str> {
        self.known.get(session_id)?.parent.as_deref()
    }

    pub(crate) fn is_known(&self, session_id: &str) -> bool {
        self.known.contains_key(session_id)
    }

    /// True if a session was created for a call.
    pub(super) fn is_called(&self, session_id: &str) -> bool {
        self.known.get(session_id).is_some_and(|session| session.is_called)
    }

    /// True if a call has begun the frame that a session has now.
    pub(crate) fn is_frame_called(&self, session_id: &str) -> bool {
        let session = self.known.get(session_id);
        session.is_some_and(|session| session.is_called && session.begun_with.is_none())
    }

    /// True if the conversation of a session has the criteria of a frame that it is in word for word.
    pub(crate) fn has_criteria(&self, session_id: &str, frame: Handle, tree: &Tree) -> bool {
        // A person has corrected what the conversation was told.
        if tree.node(frame).record().corrected_at.is_some() {
            return false;
        }
        if tree.by_id(session_id) != Some(frame) {
            return self.has_told(session_id, frame);
        }
        let criteria = self.known.get(session_id).and_then(|session| session.criteria.as_ref());
        criteria == Some(&tree.node(frame).record().success_criteria)
    }

    /// True if conversations themselves say in which frame they are: those of a host that folds them.
    pub(crate) fn say_places(&self) -> bool {
        self.calls.settings.r#in == CallPlace::Conversation
    }

    /// Notes that the conversation of a session is replaced by a summary.
    pub(super) fn replaced(&mut self, session_id: &str, tree: &Tree) {
        self.way_replaced(session_id, tree);
        if let Some(session) = self.known.get_mut(session_id) {
            session.criteria = None;
        }
    }

    /// Remembers a message. True if it was not reported before.
    pub(super) fn is_new_message(&mut self, session_id: &str, message_id: &str) -> bool {
        self.known.entry(session_id.to_owned()).or_default().messages.is_new(message_id)
    }

    /// Remembers a tool call of a known session. True if it was not reported before, or has no ID.
    pub(super) fn is_new_tool_call(&mut self, session_id: &str, tool_call_id: Option<&str>) -> bool {
        let session = self.known.get_mut(session_id);
        session.zip(tool_call_id).is_none_or(|(session, id)| session.tool_calls.is_new(id))
    }

    /// Stores the description of a session. Its frame may exist from the time before a restart.
    pub(super) fn describe(&mut self, session_id: &str, parent: Option<String>, title: &str, frame: Option<&Frame>) {
        let session = self.known.entry(session_id.to_owned()).or_default();
        session.parent = parent;
        if let Some(frame) = frame {
            session.topic.restore(frame, title);
        }
        session.topic.titled(title);
    }

    /// Stores a session that was created for a call.
    pub(super) fn describe_called(&mut self, session_id: &str, caller: &str, frame: &Frame) {
        let session = self.known.entry(session_id.to_owned()).or_default();
        session.is_called = true;
        session.criteria = Some(frame.success_criteria.clone());
        session.parent = Some(caller.to_owned());
        session.topic.titled(&frame.title);
    }

    /// True if a session's description waits for another session, directly or through others.
    pub(super) fn is_waiting_for(&self, session_id: &str, other: &str) -> bool {
        let above = std::iter::successors(Some(session_id), |below| self.awaited.get(*below).map(String::as_str));
        above.take(SEARCHED_CIRCLE).any(|above| above == other)
    }

    /// Delays an event until a session is described. Returns true if it is the first event that waits for
    /// this session. If too many sessions are awaited already, the event is ignored.
    pub(super) fn wait_for(&mut self, session_id: &str, event: ReceivedEvent) -> bool {
        if self.waiting.len() >= AWAITED_SESSIONS && !self.waiting.contains_key(session_id) {
            return false;
        }
        if let HostEvent::SessionCreated { session_id: waiting, .. } = &event.event {
            self.awaited.insert(waiting.clone(), session_id.to_owned());
        }
        let waiting = self.waiting.entry(session_id.to_owned()).or_default();
        let is_first = waiting.is_empty();
        if waiting.len() < WAITING_EVENTS && !waiting.contains(&event) {
            waiting.push(event);
        }
        is_first
    }

    /// Removes and returns the events that wait for a session.
    pub(super) fn take_waiting(&mut self, session_id: &str) -> Vec<ReceivedEvent> {
        let waiting = self.waiting.remove(session_id).unwrap_or_default();
        for event in &waiting {
            if let HostEvent::SessionCreated { session_id, .. } = &event.event {
                self.awaited.remove(session_id);
            }
        }
        waiting
    }

    /// Keeps the description of a child session until it is known which sessions were created for the
    /// caller's calls.
    pub(super) fn put_aside(&mut self, caller: &str, event: ReceivedEvent) {
        self.unassigned.entry(caller.to_owned()).or_default().push(event);
    }

    /// Removes and returns the descriptions of child sessions that were kept for a caller.
    pub(super) fn take_unassigned(&mut self, caller: &str) -> Vec<ReceivedEvent> {
        self.unassigned.remove(caller).unwrap_or_default()
    }

    /// Resets the figures of a session, because its conversation is in another frame.
    pub(super) fn moved(&mut self, session_id: &str) {
        self.observations.remove(session_id);
    }

    /// Resets the state that belongs to a session's frame, because the session got another frame.
    pub(super) fn frame_replaced(&mut self, session_id: &str) {
        self.subagents.revived(session_id);
        self.observations.remove(session_id);
    }

    /// Removes a deleted session, except the events that wait for it.
    pub(super) fn forget(&mut self, session_id: &str) {
        self.subagents.deleted(session_id);
        self.compactions.forget(session_id);
        self.ending.remove(session_id);
        self.known.remove(session_id);
        self.news.remove(session_id);
        self.observations.remove(session_id);
    }
}
