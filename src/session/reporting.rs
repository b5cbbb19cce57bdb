//! How a [`Turn`] handles events: one method for each kind.

use std::mem;

use serde_json::json;

use super::compaction::Message;
use super::effect::{Action, Effect, LogLevel};
use super::event::{FileChange, HostEvent};
use super::logging::finished_only;
use super::sessions::Sessions;
use super::shell::changes_of_command;
use super::subagents::Ending;
use super::titles::ReceivedEvent;
use super::topic::CRITERIA_CHARACTERS;
use super::turn::Turn;
use crate::frame::{FrameRef, FrameStatus, Handle, ModelRequest};
use crate::text::beginning;
use crate::tree::{Command, Records, Tree};

/// Names of the tools that write the file with which they are called: those of OpenCode, then those of
/// Claude.
const WRITING_TOOLS: [&str; 9] =
    ["write", "edit", "multiedit", "patch", "apply_patch", "Write", "Edit", "MultiEdit", "NotebookEdit"];

impl Sessions {
    /// Handles an event and returns the actions that follow from it. `tree` is the tree before the actions,
    /// and `now` is the current time, as in [`Turn::now`].
    pub fn report(&mut self, tree: &Tree, event: HostEvent, now: u64) -> Vec<Action> {
        let event = self.subagents.patterns().receive(event);
        let mut turn = Turn::new(self, tree, now);
        turn.report(event);
        turn.into_actions()
    }

    /// Returns the actions that are due at the time `now`, which is measured like [`Turn::now`].
    pub fn poll(&mut self, tree: &Tree, now: u64) -> Vec<Action> {
        let mut turn = Turn::new(self, tree, now);
        turn.poll();
        turn.into_actions()
    }
}

impl Turn<'_> {
    /// Handles an event, and the delayed events that it releases. It uses a queue instead of recursion,
    /// because each session in a long chain can wait for the session before it.
    pub(crate) fn report(&mut self, event: ReceivedEvent) {
        self.released.push(event);
        self.handle_released();
    }

    pub(super) fn handle_released(&mut self) {
        // The next event is the last of the list.
        let mut next: Vec<ReceivedEvent> = self.released.drain(..).rev().collect();
        while let Some(event) = next.pop() {
            self.handle(event);
            next.extend(self.released.drain(..).rev());
        }
    }

    fn handle(&mut self, received: ReceivedEvent) {
        let ReceivedEvent { event, is_subagent } = received;
        match event {
            HostEvent::SessionCreated { session_id, parent_id, title } => {
                self.created(&session_id, parent_id, &title, is_subagent);
            }
            HostEvent::SessionUpdated { session_id, title } => self.updated(&session_id, &title, is_subagent),
            HostEvent::SessionIdle { session_id } => self.idle(&session_id),
            HostEvent::SessionError { session_id, message } => self.session_failed(&session_id, &message),
            HostEvent::SessionDeleted { session_id } => self.deleted(&session_id),
            HostEvent::SessionCompacting { session_id } => self.compacting(session_id),
            HostEvent::SessionCompacted { session_id, messages } => self.compacted(&session_id, messages),
            HostEvent::SessionMessages { session_id, messages } => self.messages_read(&session_id, messages),
            HostEvent::SessionSetBack { session_id, answers, asked } => {
                self.set_back(&session_id, &answers);
                if let Some(asked) = asked {
                    self.unasked(&session_id, &asked);
                }
            }
            HostEvent::Message { ref session_id, .. } if !self.sessions.is_known(session_id) => {
                let (awaited, mut event) = (session_id.clone(), event);
                if let HostEvent::Message { text, .. } = &mut event {
                    // The rest of the text is not used.
                    *text = beginning(text, CRITERIA_CHARACTERS).to_owned();
                }
                self.wait_for(&awaited, ReceivedEvent { event, is_subagent });
            }
            HostEvent::Message { session_id, message_id, role, text, time, tokens, context_limit, request } => {
                if self.sessions.is_new_message(&session_id, &message_id) {
                    if let Some(request) = request {
                        self.requested(&session_id, *request, time);
                    }
                    let is_user = role == "user";
                    self.show_as_active(&session_id);
                    self.observe_message(&session_id, is_user, tokens, context_limit);
                    match is_user {
                        true => self.asked(&session_id, message_id, &text),
                        false => {
                            self.sessions.replied(&session_id);
                            self.sessions.answered_by_model(&session_id, time, self.tree);
                            self.assess(&session_id);
                        }
                    }
                }
            }
            HostEvent::ModelRequested { session_id, request_id, time, request } => {
                if self.sessions.is_new_message(&session_id, &request_id) {
                    self.requested(&session_id, *request, time);
                }
            }
            HostEvent::MessageFinished { session_id, message } => self.message_finished(&session_id, message),
            HostEvent::ToolExecuted {
                session_id,
                tool_call_id,
                tool,
                path,
                command,
                mut changes,
                failed,
                child_id,
                answer,
            } => {
                changes.extend(command.iter().flat_map(|command| changes_of_command(command)));
                if self.sessions.is_new_tool_call(&session_id, tool_call_id.as_deref()) {
                    match failed {
                        true => self.tool_failed(&session_id),
                        false => self.tool_worked(&session_id, changed_files(&tool, path, changes)),
                    }
                    if let Some(child) = child_id {
                        let ending = match failed {
                            true => Ending::Failed(answer),
                            false if answer.trim().is_empty() => Ending::Idle,
                            false => Ending::Answered(answer),
                        };
                        self.child_returned(&session_id, &child, ending, tool_call_id.is_some());
                    }
                }
            }
            HostEvent::CallStarted { call, session_id } => self.call_started(call, session_id),
            HostEvent::CallEnded { call, error } => self.call_ended(call, error),
            HostEvent::CallAborted { call } => self.call_aborted(call),
        }
    }

    /// Handles everything that is due: expired suggestions, idle subagents, calls that have reached their
    /// time limit, and blocked frames that were answered.
    pub fn poll(&mut self) {
        self.sessions.autonomy.suggestions.expire(self.now);
        let steps = self.sessions.subagents.poll(self.now);
        self.take(steps);
        self.stop_overdue_calls();
        self.resume_answered();
        self.handle_released();
        // Also handles what no change of the tree shows.
        self.sessions.settled = Default::default();
    }

    fn created(&mut self, session_id: &str, parent: Option<String>, title: &str, is_subagent: bool) {
        // A session that is its own parent, or waits for itself in a circle, is a root.
        let is_above = |parent: &String| parent == session_id || self.sessions.is_waiting_for(parent, session_id);
        let parent = parent.filter(|parent| !is_above(parent));
        if let Some(parent) = &parent
            && self.put_off(session_id, parent, title, is_subagent)
        {
            return;
        }
        let tree = self.tree;
        let frame = tree.by_id(session_id);
        let record = frame.map(|frame| tree.node(frame).record());
        self.sessions.describe(session_id, parent.clone(), title, record);
        self.sessions.resume_way(session_id, tree, self.time);
        if let Some(frame) = frame.filter(|frame| tree.node(*frame).status() == FrameStatus::Blocked) {
            self.sessions.watch(frame, self.now);
        }
        if let Some(request) = record.and_then(|record| record.summary_request.as_deref()) {
            // The request is from the time before a restart.
            self.sessions.compactions.restore(session_id, request);
        }
        if let Some(parent) = parent {
            self.child_created(session_id, &parent, title, is_subagent);
        }
        let waiting = self.sessions.take_waiting(session_id);
        self.released.extend(waiting);
    }

    /// Delays the description of a child session if its parent is not known, or if it may be the session of a
    /// call. Returns true if it was delayed.
    fn put_off(&mut self, session_id: &str, parent: &str, title: &str, is_subagent: bool) -> bool {
        let event = || {
            let (session_id, parent_id) = (session_id.to_owned(), Some(parent.to_owned()));
            let event = HostEvent::SessionCreated { session_id, parent_id, title: title.to_owned() };
            ReceivedEvent { event, is_subagent }
        };
        if !self.sessions.is_known(parent) && self.tree.by_id(parent).is_none() {
            self.wait_for(parent, event());
            return true;
        }
        let may_be_called = !self.sessions.is_known(session_id) && self.sessions.calls.is_creating_for(parent);
        if may_be_called {
            self.sessions.put_aside(parent, event());
        }
        may_be_called
    }

    /// Tracks a child session as a subagent, unless it works for a call.
    fn child_created(&mut self, session_id: &str, parent: &str, title: &str, is_subagent: bool) {
        let is_tracked = self.sessions.subagents.get(session_id).is_some();
        // A session existed before the host restarted if it has a frame before it is described. It keeps that
        // frame.
        let is_resumed = !is_tracked && self.tree.by_id(session_id).is_some();
        if is_resumed || self.sessions.is_called(session_id) {
            return;
        }
        let was_detected = self.is_detected(session_id);
        let step = self.sessions.subagents.created(session_id, parent, title, is_subagent, self.now);
        self.log_detection(session_id, was_detected);
        self.take(step);
    }

    /// True if a title of a child session has shown that it is a subagent.
    fn is_detected(&self, session_id: &str) -> bool {
        self.sessions.subagents.get(session_id).is_some_and(|session| session.is_subagent)
    }

    /// Logs that a child session is a subagent, if that was not known before its newest title.
    fn log_detection(&mut self, session_id: &str, was_detected: bool) {
        let subagent = self.sessions.subagents.get(session_id);
        if let Some(subagent) = subagent.filter(|subagent| subagent.is_subagent && !was_detected) {
            let (parent, title) = (&subagent.parent_session_id, &subagent.title);
            let data = json!({ "sessionID": session_id, "parentSessionID": parent, "title": title });
            self.log(LogLevel::Info, "Subagent detected", data);
        }
    }

    /// Handles the delayed child sessions of a caller when no call of the caller waits for its session any
    /// more.
    pub(super) fn release(&mut self, caller: &str) {
        if !self.sessions.calls.is_creating_for(caller) {
            let unassigned = self.sessions.take_unassigned(caller);
            self.released.extend(unassigned);
        }
    }

    /// Delays an event until a session is described. The first such event asks the host for the description.
    fn wait_for(&mut self, session_id: &str, event: ReceivedEvent) {
        if self.sessions.wait_for(session_id, event) {
            self.effect(Effect::DescribeSession { session_id: session_id.to_owned() });
        }
    }

    fn updated(&mut self, session_id: &str, title: &str, is_subagent: bool) {
        let was_detected = self.is_detected(session_id);
        if let Some(session) = self.sessions.known.get_mut(session_id) {
            session.topic.titled(title);
            let step = self.sessions.subagents.titled(session_id, title, is_subagent);
            self.log_detection(session_id, was_detected);
            self.take(step);
            if self.tree.by_id(session_id).is_some() {
                self.identify(session_id);
            }
        }
    }

    fn idle(&mut self, session_id: &str) {
        let step = self.sessions.subagents.idle(session_id, self.now);
        self.take(step);
        self.adopted_idle(session_id);
        self.compact_if_requested(session_id);
    }

    fn session_failed(&mut self, session_id: &str, message: &str) {
        self.note_failure(session_id);
        let data = json!({ "sessionID": session_id, "error": message });
        self.log(LogLevel::Warn, "Session error", data);
    }

    fn deleted(&mut self, session_id: &str) {
        self.sessions.forget(session_id);
        let tree = self.tree;
        let open =
            [FrameStatus::InProgress, FrameStatus::Blocked].into_iter().flat_map(|status| tree.with_status(status));
        let is_its_own = |frame: &Handle| tree.node(*frame).record().conversation() == Some(session_id);
        let frames: Vec<Handle> = open.filter(is_its_own).chain(self.own_open_frame(session_id)).collect();
        for frame in frames {
            let reason = "its session was deleted".to_owned();
            self.command(Command::Invalidate { frame: frame.into(), reason });
        }
        self.answer_for(session_id);
        // Child sessions that waited for it become root sessions.
        for waiting in self.sessions.take_waiting(session_id) {
            if let HostEvent::SessionCreated { session_id, title, .. } = waiting.event {
                self.log(LogLevel::Warn, "Parent session not found", json!({ "sessionID": session_id }));
                self.created(&session_id, None, &title, false);
            }
        }
    }

    fn messages_read(&mut self, session_id: &str, messages: Vec<Message>) {
        let is_ended = self.is_at_its_end(session_id);
        if let Some(ending) = self.sessions.ending.remove(session_id) {
            self.complete(session_id, ending, &messages);
        }
        self.salvaged(session_id, &messages);
        let messages = if is_ended { messages } else { finished_only(messages) };
        self.keep_messages(session_id, messages);
    }

    /// Records a request to a model in the frame of a session. If the session has no frame yet, the request
    /// waits for the frame.
    fn requested(&mut self, session_id: &str, request: ModelRequest, time: Option<u64>) {
        if self.has_frame(session_id) {
            let frame = self.sessions.frame_at(session_id, time);
            return self.command(Command::RecordUsage { frame, request: Box::new(request) });
        }
        self.sessions.known.entry(session_id.to_owned()).or_default().requested(request);
    }

    /// Records the requests that have waited for the frame of a session, which exists or is created by this
    /// turn.
    pub(super) fn record_requests(&mut self, session_id: &str) {
        let Some(session) = self.sessions.known.get_mut(session_id) else { return };
        let frame = FrameRef::Id(session_id.to_owned());
        let usage: Vec<_> =
            mem::take(&mut session.requests).into_iter().map(|request| (frame.clone(), request)).collect();
        if !usage.is_empty() {
            self.command(Command::RecordConversation { logs: Vec::new(), usage, transcript: None });
        }
    }

    fn observe_message(&mut self, session_id: &str, is_user: bool, tokens: Option<u64>, context_limit: Option<u64>) {
        self.sessions.subagents.message(session_id, is_user, self.now);
        // A message of the user begins new work. A message of the assistant shows only that the session was
        // not idle.
        if is_user || self.sessions.ending.get(session_id) == Some(&Ending::Idle) {
            self.sessions.ending.remove(session_id);
        }
        self.sessions.observe(session_id).message(!is_user, tokens, context_limit);
    }

    /// Makes the frame of the session that works now the active one. This is for people who look at the tree:
    /// it does not cause new frames to be added to the active one.
    fn show_as_active(&mut self, session_id: &str) {
        let own = self.open_frame(session_id).filter(|own| self.tree.active() != Some(*own));
        if let Some(own) = own {
            self.command(Command::SetActive { frame: own.into() });
        }
    }

    fn tool_failed(&mut self, session_id: &str) {
        self.sessions.subagents.activity(session_id, self.now);
        self.note_failure(session_id);
    }

    fn note_failure(&mut self, session_id: &str) {
        if self.sessions.is_observed(session_id, self.tree) {
            self.sessions.observe(session_id).failed();
        }
    }

    fn tool_worked(&mut self, session_id: &str, changes: Vec<FileChange>) {
        self.sessions.subagents.activity(session_id, self.now);
        if self.sessions.is_observed(session_id, self.tree) {
            self.sessions.observe(session_id).worked(changes.iter().map(FileChange::path));
        }
        let Some(frame) = self.open_frame(session_id).filter(|_| !changes.is_empty()) else { return };
        let artifacts = changes.into_iter().map(|change| change.artifact()).collect();
        self.command(Command::Record { frame: frame.into(), records: Records::of_artifacts(artifacts) });
    }
}

/// The file changes of a tool call: the changes that the host names, and the file with which a writing tool
/// was called.
fn changed_files(tool: &str, path: Option<String>, mut changes: Vec<FileChange>) -> Vec<FileChange> {
    let written =
        path.filter(|path| WRITING_TOOLS.contains(&tool) && changes.iter().all(|change| change.path() != path));
    changes.extend(written.map(|path| FileChange::Written { path }));
    changes.retain(|change| !change.path().trim().is_empty());
    changes
}
