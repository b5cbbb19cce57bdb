//! Sessions and frames: which frame a session has, where it stands, and what it is called.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Value, json};

use super::autonomy::Autonomy;
use super::compaction::{CompactionType, Compactions, Message, judge};
use super::effect::{Action, Effect, LogLevel};
use super::event::HostEvent;
use super::shortening::{beginning, one_line};
use super::subagents::{Step, Subagents};
use crate::frame::{FrameRef, Handle, Identity, PopStatus};
use crate::tree::{Command, Tree};

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
/// - Files that tools write become artifacts. A compaction's summary becomes the results of a frame that goes
///   on. An idle subagent's last words become the results of its frame, which is finished.
#[derive(Debug, Clone, Default)]
pub struct Sessions {
    /// The subagents among them.
    pub subagents: Subagents,
    /// The compactions that were asked for.
    pub compactions: Compactions,
    /// What is suggested to whom.
    pub autonomy: Autonomy,
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
        actions
    }

    /// When [`Sessions::poll`] will have something to do, in milliseconds since the epoch.
    pub fn deadline(&self) -> Option<u64> {
        self.subagents.deadline()
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
            }
            HostEvent::SessionDeleted { session_id } => self.deleted(tree, &session_id, now, actions),
            HostEvent::SessionCompacted { session_id, messages } => {
                self.compacted(tree, &session_id, &messages, actions);
            }
            HostEvent::SessionMessages { session_id, messages } => {
                if self.completing.remove(&session_id) {
                    self.complete(tree, &session_id, &messages, now, actions);
                }
            }
            HostEvent::Message { ref session_id, .. } if !self.known.contains_key(session_id) => {
                self.wait_for(&session_id.clone(), event, actions);
            }
            HostEvent::Message { session_id, message_id, role, text } => {
                let session = self.known.entry(session_id.clone()).or_default();
                if !session.is_new(message_id) {
                    return;
                }
                self.subagents.message(&session_id, now);
                self.completing.remove(&session_id);
                if role == "user" {
                    self.asked(tree, &session_id, &text, actions);
                }
            }
            HostEvent::ToolExecuted { session_id, tool, path } => {
                self.subagents.activity(&session_id, now);
                let path = path.filter(|path| !path.is_empty() && WRITING_TOOLS.contains(&tool.as_str()));
                if let (Some(frame), Some(artifact)) = (open_frame(tree, &session_id), path) {
                    actions.push(Action::Command(Command::AddArtifact { frame: frame.into(), artifact }));
                }
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
        if let Some(parent) = parent.as_ref().filter(|parent| !self.is_placed(tree, parent)) {
            let event = HostEvent::SessionCreated {
                session_id: session_id.to_owned(),
                parent_id: Some(parent.clone()),
                title: title.to_owned(),
            };
            return self.wait_for(&parent.clone(), event, actions);
        }
        let session = self.known.entry(session_id.to_owned()).or_default();
        session.parent = parent.clone();
        session.title = meaningful(title).or_else(|| session.title.take());
        if let Some(parent) = parent {
            let step = self.subagents.created(session_id, &parent, title, now);
            self.take(tree, step, now, actions);
        }
        for event in self.waiting.remove(session_id).unwrap_or_default() {
            self.handle(tree, event, now, actions);
        }
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
        if let Some(frame) = open_frame(tree, session_id) {
            let reason = "its session was deleted".to_owned();
            actions.push(Action::Command(Command::Invalidate { frame: frame.into(), reason }));
        }
        // What waited for it begins a tree of its own.
        for event in self.waiting.remove(session_id).unwrap_or_default() {
            if let HostEvent::SessionCreated { session_id, title, .. } = event {
                log(actions, LogLevel::Warn, "Parent session not found", json!({ "sessionID": session_id }));
                self.created(tree, &session_id, None, &title, now, actions);
            }
        }
    }

    /// A user has asked something of a session.
    fn asked(&mut self, tree: &Tree, session_id: &str, text: &str, actions: &mut Vec<Action>) {
        let Some(session) = self.known.get_mut(session_id) else { return };
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
            let data = json!({ "sessionID": id, "parentSessionID": parent, "title": title });
            log(actions, LogLevel::Info, "Frame created", data);
            self.subagents.framed(&id);
            let parent = parent.map(FrameRef::Id);
            actions.push(Action::Command(Command::Ensure { session_id: id, title, parent }));
        }
    }

    /// Gives a frame that was just made, or is still a placeholder, its title and criteria, once there is
    /// something to take them from.
    fn identify(&self, tree: &Tree, session_id: &str, actions: &mut Vec<Action>) {
        let is_placeholder = |frame: Handle| tree.node(frame).record().placeholder;
        let Some(session) = self.known.get(session_id) else { return };
        let Some(text) = session.first_message.as_deref() else { return };
        if !tree.by_id(session_id).is_none_or(is_placeholder) {
            return;
        }
        let identity = Identity {
            title: session.title.clone().unwrap_or_else(|| title_of(text)),
            success_criteria: beginning(text.trim(), CRITERIA_CHARACTERS),
            success_criteria_compacted: beginning(&one_line(text), COMPACTED_CHARACTERS),
        };
        actions.push(Action::Command(Command::Identify { frame: FrameRef::Id(session_id.to_owned()), identity }));
    }

    fn compacted(&mut self, tree: &Tree, session_id: &str, messages: &[Message], actions: &mut Vec<Action>) {
        let Some(frame) = open_frame(tree, session_id) else { return self.compactions.forget(session_id) };
        let judged = judge(messages, tree.node(frame).record());
        let compaction_type = self.compactions.finished(session_id, judged.is_ok());
        let data = json!({ "sessionID": session_id, "type": compaction_type });
        match judged {
            Ok(summary) => {
                log(actions, LogLevel::Info, "Summary extracted", data);
                let (frame, results, results_compacted) = (frame.into(), summary.text, summary.compacted);
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
    }

    /// Finishes the frame of an idle subagent with its last words.
    fn complete(&mut self, tree: &Tree, session_id: &str, messages: &[Message], now: u64, actions: &mut Vec<Action>) {
        let Some(frame) = open_frame(tree, session_id) else {
            self.subagents.completed(session_id, false, now);
            return;
        };
        let summary = judge(messages, tree.node(frame).record()).ok();
        let summary = summary.filter(|_| self.subagents.settings().propagate_summaries);
        let known = tree.node(frame).record();
        let (results, results_compacted) = match summary {
            Some(summary) => (summary.text, summary.compacted),
            // What it knew before is worth more than nothing.
            None => (known.results.clone().unwrap_or_default(), known.results_compacted.clone().unwrap_or_default()),
        };
        self.subagents.completed(session_id, true, now);
        log(actions, LogLevel::Info, "Subagent completed", json!({ "sessionID": session_id, "automatically": true }));
        let (frame, status) = (frame.into(), PopStatus::Completed);
        actions.push(Action::Command(Command::Pop { frame, status, results, results_compacted }));
    }
}

impl Session {
    /// True if this message was not told of before.
    fn is_new(&mut self, message_id: String) -> bool {
        if self.messages.contains(&message_id) {
            return false;
        }
        if self.messages.len() == REMEMBERED_MESSAGES {
            self.messages.pop_front();
        }
        self.messages.push_back(message_id);
        true
    }
}

/// A title that says something: not the host's stand-in for one.
fn meaningful(title: &str) -> Option<String> {
    let is_stand_in = ["New session - ", "Child session - "].iter().any(|start| title.starts_with(start));
    Some(title.trim()).filter(|title| !title.is_empty() && !is_stand_in).map(str::to_owned)
}

/// The first words of a message.
fn title_of(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().take(TITLE_WORDS).collect();
    beginning(&words.join(" "), TITLE_CHARACTERS)
}

fn open_frame(tree: &Tree, session_id: &str) -> Option<Handle> {
    tree.by_id(session_id).filter(|frame| tree.node(*frame).status().is_open())
}

fn log(actions: &mut Vec<Action>, level: LogLevel, message: &str, data: Value) {
    actions.push(Action::Effect(Effect::Log { level, message: message.to_owned(), data }));
}
