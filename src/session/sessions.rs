//! Sessions and frames: which frame a session has, where it stands, and what it is called.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Value, json};

use super::autonomy::{Assessment, Autonomy, AutonomyLevel, Observation, PopSignals, PushSignals};
use super::calls::{Calls, Progress};
use super::compaction::{CompactionType, Compactions, Message, closing_results, judge};
use super::effect::{Action, Effect, LogLevel};
use super::event::HostEvent;
use super::shortening::{beginning, one_line};
use super::subagents::{Step, Subagents};
use crate::frame::{Chunk, FrameRef, FrameStatus, Handle, Identity, NewChunk, PopStatus};
use crate::tree::{Command, Tree};
use crate::vocabulary::ToolNames;

/// Messages of a session that are remembered, so that one that is told twice counts once.
const REMEMBERED_MESSAGES: usize = 256;
/// Events that wait for one session; who is never described must not fill the memory.
const WAITING_EVENTS: usize = 256;
/// Longest title that is made of a message, in words and in characters.
const TITLE_WORDS: usize = 6;
const TITLE_CHARACTERS: usize = 60;
/// Longest criteria that are made of a message, and their dense form, in characters.
const CRITERIA_CHARACTERS: usize = 2_000;
const COMPACTED_CHARACTERS: usize = 150;
/// The tools whose files become artifacts.
const WRITING_TOOLS: [&str; 5] = ["write", "edit", "multiedit", "patch", "apply_patch"];

/// What is known of a host's sessions. Told an event, it answers what follows.
///
/// - A root session gets a frame with its first message, which is also where the frame takes its criteria
///   from, and its title unless the session has one.
/// - A child session gets a frame as [`Subagents`] says, below its parent's, whichever was told of first: of a
///   session that was not told of, the host is asked.
/// - A session that goes on after its frame is finished gets another frame with its next message; the finished
///   one keeps its handle.
/// - Files that tools write become artifacts. A compaction's summary becomes the results of a frame that goes
///   on. An idle subagent's last words become the results of its frame, which is finished.
/// - Calls run frames in sessions of their own: see [`Calls`].
/// - What sessions do is observed, and may lead to suggestions: see [`Autonomy`].
#[derive(Debug, Clone, Default)]
pub struct Sessions {
    /// The subagents among them.
    pub subagents: Subagents,
    /// The compactions that were asked for.
    pub compactions: Compactions,
    /// What is suggested to whom.
    pub autonomy: Autonomy,
    /// The frames that run while their callers wait.
    pub calls: Calls,
    /// The host's names of the agent's tools, for prompts and answers.
    pub tools: ToolNames,
    observations: BTreeMap<String, Observation>,
    /// Child sessions that may be those of calls, until it is known which are.
    unassigned: BTreeMap<String, Vec<HostEvent>>,
    known: BTreeMap<String, Session>,
    /// What waits for a session to be described.
    waiting: BTreeMap<String, Vec<HostEvent>>,
    /// Subagents whose last words are awaited.
    completing: BTreeSet<String>,
}

/// A session that was told of.
#[derive(Debug, Clone, Default)]
struct Session {
    parent: Option<String>,
    title: Option<String>,
    first_message: Option<String>,
    messages: VecDeque<String>,
    /// The message that its present frame began with, if it had another one before.
    begun_with: Option<String>,
    /// It works for a call, so it is no subagent.
    is_called: bool,
}

impl Sessions {
    /// What follows from an event at this time. The tree is as it is before the actions.
    pub fn report(&mut self, tree: &Tree, event: HostEvent, now: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        self.handle(tree, event, now, &mut actions);
        actions
    }

    /// What is due at this time.
    pub fn poll(&mut self, tree: &Tree, now: u64) -> Vec<Action> {
        self.autonomy.suggestions.expire(now);
        let mut actions = Vec::new();
        let steps = self.subagents.poll(now);
        self.take(tree, steps, now, &mut actions);
        self.stop_overdue_calls(tree, now, &mut actions);
        actions
    }

    /// When [`Sessions::poll`] will have something to do, in milliseconds since the epoch.
    pub fn deadline(&self) -> Option<u64> {
        [self.subagents.deadline(), self.calls.deadline()].into_iter().flatten().min()
    }

    fn handle(&mut self, tree: &Tree, event: HostEvent, now: u64, actions: &mut Vec<Action>) {
        match event {
            HostEvent::SessionCreated { session_id, parent_id, title } => {
                self.created(tree, &session_id, parent_id, &title, now, actions);
            }
            HostEvent::SessionUpdated { session_id, title } => {
                if let Some(session) = self.known.get_mut(&session_id) {
                    session.title = meaningful(&title);
                    let step = self.subagents.titled(&session_id, &title);
                    self.take(tree, step, now, actions);
                }
            }
            HostEvent::SessionIdle { session_id } => {
                let step = self.subagents.idle(&session_id, now);
                self.take(tree, step, now, actions);
                self.compact_if_asked(tree, &session_id, actions);
            }
            HostEvent::SessionError { session_id, message } => {
                self.observe(&session_id).failed();
                let data = json!({ "sessionID": session_id, "error": message });
                log(actions, LogLevel::Warn, "Session error", data);
            }
            HostEvent::SessionDeleted { session_id } => self.deleted(tree, &session_id, now, actions),
            HostEvent::SessionCompacting { session_id } => {
                let Some(frame) = tree.by_id(&session_id) else { return };
                let text = self.compactions.prompt(&session_id, tree.node(frame).record());
                log(actions, LogLevel::Info, "Compaction started", json!({ "sessionID": session_id }));
                actions.push(Action::Effect(Effect::CompactionPrompt { session_id: session_id.clone(), text }));
                actions.push(Action::Effect(Effect::ReadMessages { session_id }));
            }
            HostEvent::SessionCompacted { session_id, messages } => {
                self.compacted(tree, &session_id, messages, actions);
            }
            HostEvent::SessionMessages { session_id, messages } => {
                if self.completing.remove(&session_id) {
                    self.complete(tree, &session_id, &messages, now, actions);
                }
                self.salvaged(tree, &session_id, &messages, actions);
                self.keep_messages(tree, &session_id, messages, actions);
            }
            HostEvent::Message { ref session_id, .. } if !self.known.contains_key(session_id) => {
                self.wait_for(&session_id.clone(), event, actions);
            }
            HostEvent::Message { session_id, message_id, role, text, tokens, context_limit } => {
                let session = self.known.entry(session_id.clone()).or_default();
                if !session.is_new(&message_id) {
                    return;
                }
                self.subagents.message(&session_id, now);
                self.completing.remove(&session_id);
                self.observe(&session_id).message(role != "user", tokens, context_limit);
                match role.as_str() {
                    "user" => self.asked(tree, &session_id, message_id, &text, actions),
                    _ => self.assess(tree, &session_id, now, actions),
                }
            }
            HostEvent::ToolExecuted { session_id, tool, path, failed } => {
                self.subagents.activity(&session_id, now);
                if failed {
                    return self.observe(&session_id).failed();
                }
                let path = path.filter(|path| !path.is_empty() && WRITING_TOOLS.contains(&tool.as_str()));
                self.observe(&session_id).worked(path.as_deref());
                if let (Some(frame), Some(artifact)) = (open_frame(tree, &session_id), path) {
                    actions.push(Action::Command(Command::AddArtifact { frame: frame.into(), artifact }));
                }
            }
            HostEvent::CallStarted { call, session_id } => self.call_started(tree, call, &session_id, now, actions),
            HostEvent::CallEnded { call, error } => self.call_ended(tree, call, error, now, actions),
            HostEvent::CallAborted { call } => {
                self.call_stopped(tree, call, "its caller was aborted".into(), now, actions);
            }
        }
    }

    fn created(
        &mut self,
        tree: &Tree,
        session_id: &str,
        parent: Option<String>,
        title: &str,
        now: u64,
        actions: &mut Vec<Action>,
    ) {
        let event = || {
            let (session_id, parent_id, title) = (session_id.to_owned(), parent.clone(), title.to_owned());
            HostEvent::SessionCreated { session_id, parent_id, title }
        };
        if let Some(parent) = parent.as_ref().filter(|parent| !self.is_placed(tree, parent)) {
            return self.wait_for(parent, event(), actions);
        }
        if let Some(caller) = parent.as_ref().filter(|_| !self.known.contains_key(session_id))
            && self.calls.is_creating_for(caller)
        {
            return self.unassigned.entry(caller.clone()).or_default().push(event());
        }
        let session = self.known.entry(session_id.to_owned()).or_default();
        session.parent = parent.clone();
        session.title = meaningful(title).or_else(|| session.title.take());
        let is_called = session.is_called;
        // One that has a frame before it is told of goes on with it after the host was started anew.
        let is_resumed = self.subagents.get(session_id).is_none() && tree.by_id(session_id).is_some();
        if let Some(parent) = parent.filter(|_| !is_called && !is_resumed) {
            let is_new = self.subagents.get(session_id).is_none();
            let step = self.subagents.created(session_id, &parent, title, now);
            if is_new && self.subagents.get(session_id).is_some_and(|session| session.is_subagent) {
                let data = json!({ "sessionID": session_id, "parentSessionID": parent, "title": title });
                log(actions, LogLevel::Info, "Subagent detected", data);
            }
            self.take(tree, step, now, actions);
        }
        for event in self.waiting.remove(session_id).unwrap_or_default() {
            self.handle(tree, event, now, actions);
        }
    }

    /// A session that was made for a call.
    pub(super) fn told_of_call(&mut self, caller: &str, session_id: &str, title: &str) {
        let session = self.known.entry(session_id.to_owned()).or_default();
        session.is_called = true;
        session.parent = Some(caller.to_owned());
        session.title = meaningful(title);
        // Its prompt is not where its frame takes its criteria from.
        session.first_message.get_or_insert_default();
    }

    /// Child sessions of a caller turn out not to be those of its calls.
    pub(super) fn release(&mut self, tree: &Tree, caller: &str, now: u64, actions: &mut Vec<Action>) {
        if !self.calls.is_creating_for(caller) {
            for event in self.unassigned.remove(caller).unwrap_or_default() {
                self.handle(tree, event, now, actions);
            }
        }
    }

    pub(super) fn is_known(&self, session_id: &str) -> bool {
        self.known.contains_key(session_id)
    }

    /// True if a frame of this session would go where it belongs.
    fn is_placed(&self, tree: &Tree, session_id: &str) -> bool {
        self.known.contains_key(session_id) || tree.by_id(session_id).is_some()
    }

    /// Puts an event off until a session is described.
    fn wait_for(&mut self, session_id: &str, event: HostEvent, actions: &mut Vec<Action>) {
        let waiting = self.waiting.entry(session_id.to_owned()).or_default();
        if waiting.is_empty() {
            actions.push(Action::Effect(Effect::DescribeSession { session_id: session_id.to_owned() }));
        }
        if waiting.len() < WAITING_EVENTS && !waiting.contains(&event) {
            waiting.push(event);
        }
    }

    fn deleted(&mut self, tree: &Tree, session_id: &str, now: u64, actions: &mut Vec<Action>) {
        self.subagents.deleted(session_id);
        self.compactions.forget(session_id);
        self.completing.remove(session_id);
        self.known.remove(session_id);
        self.observations.remove(session_id);
        if let Some(frame) = open_frame(tree, session_id) {
            let reason = "its session was deleted".to_owned();
            actions.push(Action::Command(Command::Invalidate { frame: frame.into(), reason }));
        }
        self.answer_for(session_id, actions);
        // What waited for it begins a tree of its own.
        for event in self.waiting.remove(session_id).unwrap_or_default() {
            if let HostEvent::SessionCreated { session_id, title, .. } = event {
                log(actions, LogLevel::Warn, "Parent session not found", json!({ "sessionID": session_id }));
                self.created(tree, &session_id, None, &title, now, actions);
            }
        }
    }

    /// A user has asked something of a session.
    fn asked(&mut self, tree: &Tree, session_id: &str, message_id: String, text: &str, actions: &mut Vec<Action>) {
        let Some(session) = self.known.get_mut(session_id) else { return };
        let is_finished = |status: FrameStatus| !status.is_open() && status != FrameStatus::Planned;
        let finished = tree.by_id(session_id).filter(|frame| is_finished(tree.node(*frame).status()));
        if let Some(finished) = finished.filter(|_| !text.trim().is_empty()) {
            session.first_message = Some(text.to_owned());
            session.begun_with = Some(message_id);
            return self.begin_anew(tree, session_id, finished, actions);
        }
        let is_first = session.first_message.is_none() && !text.trim().is_empty();
        if is_first {
            session.first_message = Some(text.to_owned());
        }
        let is_root = session.parent.is_none();
        // It may have one by actions that are still to be carried out.
        let is_framed = self.subagents.get(session_id).is_some_and(|subagent| subagent.has_frame);
        let has_frame = is_root || is_framed || tree.by_id(session_id).is_some();
        if is_root {
            self.make_frames(tree, session_id, actions);
        }
        if is_first && has_frame {
            self.identify(tree, session_id, actions);
        }
    }

    /// A session goes on after its frame is finished: it gets another one in the same place.
    fn begin_anew(&mut self, tree: &Tree, session_id: &str, finished: Handle, actions: &mut Vec<Action>) {
        let mut archived = (1..).map(|number| format!("{session_id}~{number}"));
        let archived = archived.find(|id| tree.by_id(id).is_none()).expect("numbers do not end");
        actions.push(Action::Command(Command::ReplaceId { frame: finished.into(), session_id: archived }));
        let parent = tree.node(finished).parent().filter(|parent| tree.node(*parent).status().is_open());
        let (session_id, parent) = (session_id.to_owned(), parent.map(FrameRef::Handle));
        actions.push(Action::Command(Command::Ensure { session_id: session_id.clone(), title: None, parent }));
        // What was kept in sight of the session stays so.
        for Chunk { name, content, description, .. } in tree.node(finished).record().heap.clone() {
            let (frame, chunk) = (FrameRef::Id(session_id.clone()), NewChunk { name, content, description });
            actions.push(Action::Command(Command::AllocateChunk { frame, chunk }));
        }
        self.subagents.revived(&session_id);
        self.observations.remove(&session_id);
        actions.extend(self.identity(&session_id, None));
    }

    /// Compacts a session that has nothing to do, if that was asked for while it had.
    fn compact_if_asked(&mut self, tree: &Tree, session_id: &str, actions: &mut Vec<Action>) {
        let is_called = self.calls.of_session(session_id).is_some();
        if !is_called && open_frame(tree, session_id).is_some() && self.compactions.begin_any(session_id) {
            actions.push(Action::Effect(Effect::CompactSession { session_id: session_id.to_owned() }));
        }
    }

    /// What was observed of a session.
    pub fn observe(&mut self, session_id: &str) -> &mut Observation {
        self.observations.entry(session_id.to_owned()).or_default()
    }

    /// Lets the heuristics look at what a session does.
    fn assess(&mut self, tree: &Tree, session_id: &str, now: u64, actions: &mut Vec<Action>) {
        let Some(frame) = open_frame(tree, session_id) else { return };
        let observation = self.observe(session_id).clone();
        self.should_push(tree, frame, &observation.push_signals(), now, actions);
        let pop = self.should_pop(tree, frame, &observation.pop_signals(), now, actions);
        // A root is a user's task: that its context is full does not finish it.
        if pop.is_recommended && tree.node(frame).parent().is_some() {
            self.finish_by_itself(session_id, &pop, now);
        }
    }

    /// As [`Autonomy::should_push`], and the log tells of a new suggestion.
    pub fn should_push(
        &mut self,
        tree: &Tree,
        frame: Handle,
        signals: &PushSignals,
        now: u64,
        actions: &mut Vec<Action>,
    ) -> Assessment {
        let assessment = self.autonomy.should_push(frame, tree.node(frame).record(), signals, now);
        note_suggestion(frame, &assessment, actions);
        assessment
    }

    /// As [`Autonomy::should_pop`], and the log tells of a new suggestion.
    pub fn should_pop(
        &mut self,
        tree: &Tree,
        frame: Handle,
        signals: &PopSignals,
        now: u64,
        actions: &mut Vec<Action>,
    ) -> Assessment {
        let assessment = self.autonomy.should_pop(frame, tree.node(frame).record(), signals, now);
        note_suggestion(frame, &assessment, actions);
        assessment
    }

    /// At the level auto a recommended pop is carried out when the session is idle, with a summary for results.
    pub fn finish_by_itself(&mut self, session_id: &str, assessment: &Assessment, now: u64) -> bool {
        let is_due = self.autonomy.settings.level == AutonomyLevel::Auto && assessment.is_recommended;
        if is_due {
            let note = assessment.reason();
            self.compactions.request(session_id, CompactionType::FrameCompletion, Some(&note), now);
        }
        is_due
    }

    fn take(&mut self, tree: &Tree, steps: impl IntoIterator<Item = Step>, now: u64, actions: &mut Vec<Action>) {
        for step in steps {
            match step {
                Step::CreateFrame(session_id) => {
                    self.make_frames(tree, &session_id, actions);
                    self.identify(tree, &session_id, actions);
                }
                Step::Complete(session_id) => match open_frame(tree, &session_id) {
                    Some(_) => {
                        actions.push(Action::Effect(Effect::ReadMessages { session_id: session_id.clone() }));
                        self.completing.insert(session_id);
                    }
                    // Its frame was popped by itself.
                    None => {
                        self.subagents.completed(&session_id, false, now);
                    }
                },
            }
        }
    }

    /// Makes the frame of a session, and before it those that are missing above.
    fn make_frames(&mut self, tree: &Tree, session_id: &str, actions: &mut Vec<Action>) {
        let mut missing = Vec::new();
        let mut next = Some(session_id.to_owned());
        while let Some(id) = next.filter(|id| tree.by_id(id).is_none() && !missing.contains(id)) {
            next = self.known.get(&id).and_then(|session| session.parent.clone());
            missing.push(id);
        }
        for id in missing.into_iter().rev() {
            let known = self.known.get(&id);
            let (title, parent) = known.map_or((None, None), |known| (known.title.clone(), known.parent.clone()));
            self.subagents.framed(&id);
            let parent = parent.map(FrameRef::Id);
            actions.push(Action::Command(Command::Ensure { session_id: id, title, parent }));
        }
    }

    /// Gives a frame that was just made, or is still a placeholder, its title and criteria, once there is
    /// something to take them from.
    fn identify(&self, tree: &Tree, session_id: &str, actions: &mut Vec<Action>) {
        let is_placeholder = |frame: Handle| tree.node(frame).record().placeholder;
        if tree.by_id(session_id).is_none_or(is_placeholder) {
            let title = self.known.get(session_id).and_then(|session| session.title.clone());
            actions.extend(self.identity(session_id, title));
        }
    }

    /// Title and criteria from the first message of a session, once there is one.
    fn identity(&self, session_id: &str, title: Option<String>) -> Option<Action> {
        let text = self.known.get(session_id)?.first_message.as_deref().filter(|text| !text.is_empty())?;
        let identity = Identity {
            title: title.unwrap_or_else(|| title_of(text)),
            success_criteria: beginning(text.trim(), CRITERIA_CHARACTERS),
            success_criteria_compacted: beginning(&one_line(text), COMPACTED_CHARACTERS),
        };
        Some(Action::Command(Command::Identify { frame: FrameRef::Id(session_id.to_owned()), identity }))
    }

    fn compacted(&mut self, tree: &Tree, session_id: &str, messages: Vec<Message>, actions: &mut Vec<Action>) {
        let Some(frame) = open_frame(tree, session_id) else { return self.compactions.forget(session_id) };
        let judged = judge(&messages, tree.node(frame).record());
        let compaction_type = self.compactions.finished(session_id, judged.is_ok());
        let data = json!({ "sessionID": session_id, "type": compaction_type });
        match judged {
            Ok(ref summary) => {
                log(actions, LogLevel::Info, "Summary extracted", data);
                self.observe(session_id).compacted();
                let (frame, results, results_compacted) =
                    (frame.into(), summary.text.clone(), summary.compacted.clone());
                actions.push(Action::Command(match compaction_type {
                    CompactionType::FrameCompletion => {
                        Command::Pop { frame, status: PopStatus::Completed, results, results_compacted }
                    }
                    _ => Command::Summarize { frame, results, results_compacted },
                }));
            }
            Err(refusal) => {
                let data = json!({ "sessionID": session_id, "type": compaction_type, "reason": refusal.to_string() });
                log(actions, LogLevel::Warn, "Summary refused", data);
            }
        }
        let summed_up = self.calls.of_session(session_id).filter(|(_, call)| call.progress == Progress::SummingUp);
        if let Some((call, _)) = summed_up {
            match judged {
                Ok(_) => self.answer(call, None, actions),
                Err(refusal) => self.salvage(call, refusal.to_string(), actions),
            }
        }
        self.keep_messages(tree, session_id, messages, actions);
    }

    /// Puts a session's messages into the log of its frame.
    fn keep_messages(&self, tree: &Tree, session_id: &str, mut messages: Vec<Message>, actions: &mut Vec<Action>) {
        let Some(handle) = tree.by_id(session_id) else { return };
        let begun_with = self.known.get(session_id).and_then(|session| session.begun_with.as_ref());
        if let Some(first) = messages.iter().position(|message| Some(&message.id) == begun_with) {
            // Those before it belong to a frame that is finished.
            messages.drain(..first);
        }
        if !messages.is_empty() {
            actions.push(Action::KeepMessages { handle, messages });
        }
    }

    /// Finishes the frame of an idle subagent with its last words.
    fn complete(&mut self, tree: &Tree, session_id: &str, messages: &[Message], now: u64, actions: &mut Vec<Action>) {
        let Some(frame) = open_frame(tree, session_id) else {
            self.subagents.completed(session_id, false, now);
            return;
        };
        // Its parent has been told by the host; the frame need not say it again if nobody wants that.
        let words = if self.subagents.settings().propagate_summaries { messages } else { &[] };
        let (results, results_compacted) = closing_results(words, tree.node(frame).record());
        self.subagents.completed(session_id, true, now);
        log(actions, LogLevel::Info, "Subagent completed", json!({ "sessionID": session_id, "automatically": true }));
        let (frame, status) = (frame.into(), PopStatus::Completed);
        actions.push(Action::Command(Command::Pop { frame, status, results, results_compacted }));
    }
}

impl Session {
    /// True if this message was not told of before.
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

/// A title that says something: not the host's stand-in for one.
fn meaningful(title: &str) -> Option<String> {
    let is_stand_in = ["New session - ", "Child session - "].iter().any(|start| title.starts_with(start));
    Some(title.trim()).filter(|title| !title.is_empty() && !is_stand_in).map(str::to_owned)
}

/// The first words of a message.
pub(crate) fn title_of(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().take(TITLE_WORDS).collect();
    beginning(&words.join(" "), TITLE_CHARACTERS)
}

fn note_suggestion(frame: Handle, assessment: &Assessment, actions: &mut Vec<Action>) {
    if assessment.is_new {
        let Assessment { decision, confidence, .. } = assessment;
        let data =
            json!({ "handle": frame, "decision": decision, "confidence": confidence, "reason": assessment.reason() });
        log(actions, LogLevel::Info, "Suggestion added", data);
    }
}

pub(super) fn open_frame(tree: &Tree, session_id: &str) -> Option<Handle> {
    tree.by_id(session_id).filter(|frame| tree.node(*frame).status().is_open())
}

pub(super) fn log(actions: &mut Vec<Action>, level: LogLevel, message: &str, data: Value) {
    actions.push(Action::Effect(Effect::Log { level, message: message.to_owned(), data }));
}
