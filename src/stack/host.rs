//! What hosts with sessions need of a stack: they report events, carry out effects, and ask for the context
//! of a session.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Stack;
use crate::context::{Budget, Context, Settings};
use crate::error::{Error, Result};
use crate::frame::{Change, Event, FrameStatus, Handle};
use crate::session::autonomy::{AutonomyLevel, AutonomySettings};
use crate::session::calls::{self, CallSettings};
use crate::session::compaction::Message;
use crate::session::subagents::SubagentSettings;
use crate::session::{Action, Effect, HostEvent, LogLevel, Sessions, Turn};
use crate::store::LogQuery;
use crate::variables;
use crate::vocabulary::ToolNames;

/// Lines of the log that wait for the host to fetch them, at most; past that the oldest are dropped.
const WAITING_LINES: usize = 1_000;

/// What a stack knows of its host.
#[derive(Default)]
pub(super) struct HostState {
    /// Held while an event is dealt with and what follows is carried out, so that events do not overtake each
    /// other. Taken before everything else.
    order: Mutex<()>,
    /// Held for moments alone: contexts wait for it, too.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    sessions: Sessions,
    context: Settings,
    /// A host that reports wants the log, too.
    is_attached: bool,
    /// A host that has its settings or has polled will poll.
    is_polling: bool,
    waiting: VecDeque<Effect>,
}

impl State {
    fn log(&mut self, level: LogLevel, message: &str, data: Value) {
        if !self.is_attached {
            return;
        }
        if self.waiting.len() == WAITING_LINES {
            self.waiting.pop_front();
        }
        self.waiting.push_back(Effect::Log { level, message: message.to_owned(), data });
    }
}

/// All settings of a stack with a host.
///
/// In JSON: `{"context": {"budget": {"total": 6000}}, "subagents": {"enabled": false}, "autonomy": {"level":
/// "auto"}, "calls": {"maxDepth": 3}}`, every key optional, with the names of [`Settings`],
/// [`SubagentSettings`], [`AutonomySettings`] and [`CallSettings`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct HostSettings {
    /// What contexts are made with.
    pub context: Settings,
    /// Which child sessions get frames, and when they are done.
    pub subagents: SubagentSettings,
    /// Suggestions, and what is done without being asked.
    pub autonomy: AutonomySettings,
    /// Depth and time limit of calls.
    pub calls: CallSettings,
}

impl HostSettings {
    setters! {
        context: Settings,
        subagents: SubagentSettings,
        autonomy: AutonomySettings,
        calls: CallSettings,
    }

    /// The defaults, with what the environment variables of the specification say, looked up by a function
    /// (`STACK_TOKEN_BUDGET_…`, `STACK_SUBAGENT_…`, `STACK_AUTONOMY_LEVEL` and so on), and over them what a
    /// JSON object says. What makes no sense is reported, and does not count.
    ///
    /// ```
    /// use callstack_core::HostSettings;
    ///
    /// let variables = |name: &str| (name == "STACK_SUBAGENT_MIN_MESSAGES").then(|| "5".to_owned());
    /// let (settings, problems) = HostSettings::from_variables(variables, r#"{"calls": {"maxDepth": 3}, "typo": 1}"#);
    /// assert_eq!((settings.subagents.min_message_count, settings.calls.max_depth), (5, 3));
    /// assert!(problems[0].to_string().contains("`typo` is unknown"));
    /// ```
    pub fn from_variables(look_up: impl Fn(&str) -> Option<String>, json: &str) -> (Self, Vec<Error>) {
        let mut settings = Self::default();
        let mut problems = Vec::new();
        settings.context.budget = collected(Budget::from_variables(&look_up), &mut problems);
        settings.subagents = collected(SubagentSettings::from_variables(&look_up), &mut problems);
        settings.autonomy = collected(AutonomySettings::from_variables(&look_up), &mut problems);
        settings.overlay(json, &mut problems);
        (settings, problems)
    }

    /// The same with the environment of this process.
    pub fn from_environment(json: &str) -> (Self, Vec<Error>) {
        Self::from_variables(variables::from_environment, json)
    }

    /// Takes over what a JSON object says, section by section and key by key.
    fn overlay(&mut self, json: &str, problems: &mut Vec<Error>) {
        let unreadable = |message: String| Error::json("the settings", message);
        let sections: Map<String, Value> = match serde_json::from_str(json) {
            Ok(sections) => sections,
            Err(error) => return problems.push(Error::of_json("the settings", error)),
        };
        for (section, keys) in sections {
            let known = json!(self);
            if known.get(&section).is_none() {
                let sections = known.as_object().into_iter().flat_map(Map::keys).cloned().collect::<Vec<_>>();
                problems.push(unreadable(format!("`{section}` is unknown; there are {}", sections.join(", "))));
                continue;
            }
            let Value::Object(keys) = keys else {
                problems.push(unreadable(format!("`{section}` is no object")));
                continue;
            };
            for (key, value) in keys {
                let mut changed = json!(self);
                merge(&mut changed, json!({ (section.as_str()): { (key.as_str()): value } }));
                match serde_json::from_value::<Self>(changed).map_err(|error| error.to_string()) {
                    Ok(settings) if settings.context.check().is_ok() => *self = settings,
                    Ok(_) => problems.push(unreadable(format!("`{section}.{key}` is out of range"))),
                    Err(message) => problems.push(unreadable(format!("`{section}.{key}`: {message}"))),
                }
            }
        }
    }
}

/// Returns settings and adds the problems found with them to a list.
fn collected<T>((settings, found): (T, Vec<Error>), problems: &mut Vec<Error>) -> T {
    problems.extend(found);
    settings
}

/// Puts one JSON value over another: objects key by key, everything else as a whole.
fn merge(place: &mut Value, value: Value) {
    match (place, value) {
        (Value::Object(place), Value::Object(value)) => {
            for (key, value) in value {
                merge(place.entry(key).or_insert(Value::Null), value);
            }
        }
        (place, value) => *place = value,
    }
}

/// The context of a session, and the frame that it is of.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SessionContext {
    /// The session's frame.
    pub handle: Handle,
    /// Its context.
    pub context: Arc<Context>,
}

/// A stack as seen by a host with sessions. Made by [`Stack::host`].
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct Host<'a> {
    stack: &'a Stack,
}

impl Host<'_> {
    /// Sets the settings. From now on there are lines for the host's log, and commands leave `state.json` to
    /// [`Host::poll`]. Returns what is wrong with the settings: patterns that are not regular expressions, which match
    /// nothing, and names of tools that are out of range, in whose place the default names are used.
    pub fn configure(&self, mut settings: HostSettings) -> Vec<Error> {
        let mut problems = Vec::new();
        if let Err(problem) = settings.context.tools.check() {
            problems.push(problem);
            settings.context.tools = ToolNames::default();
        }
        let mut state = self.stack.inner.host.state.lock();
        (state.is_attached, state.is_polling) = (true, true);
        state.sessions.tools = settings.context.tools.clone();
        state.context = settings.context;
        state.sessions.autonomy.settings = settings.autonomy;
        state.sessions.calls.settings = settings.calls;
        problems.extend(state.sessions.subagents.configure(settings.subagents));
        problems
    }

    /// The settings in use.
    pub fn settings(&self) -> HostSettings {
        let state = self.stack.inner.host.state.lock();
        HostSettings {
            context: state.context.clone(),
            subagents: state.sessions.subagents.settings().clone(),
            autonomy: state.sessions.autonomy.settings.clone(),
            calls: state.sessions.calls.settings.clone(),
        }
    }

    /// Reports an event of the host and returns the effects that the host has to carry out, in this order. Frames are
    /// changed before this returns; a command that the tree refuses becomes a line of the log.
    ///
    /// ```
    /// use callstack_core::Stack;
    /// use callstack_core::session::HostEvent;
    ///
    /// let stack = Stack::in_memory();
    /// let report = |json: &str| stack.host().report(serde_json::from_str::<HostEvent>(json).unwrap());
    /// let effects = report(r#"{"kind": "sessionCreated", "sessionID": "ses_1", "title": "Shop"}"#);
    /// assert!(effects.is_empty());
    /// # let _ =
    /// report(r#"{"kind": "message", "sessionID": "ses_1", "messageID": "m1", "role": "user", "text": "Build a shop"}"#);
    /// assert_eq!(stack.frame("ses_1")?.success_criteria, "Build a shop");
    /// assert!(stack.host().context("ses_1")?.unwrap().context.xml.contains("Build a shop"));
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    #[must_use = "the host has to carry out the effects"]
    pub fn report(&self, event: HostEvent) -> Vec<Effect> {
        self.stack.host_turn(|turn| turn.report(event)).1
    }

    /// Does the work that is due: that of [`Stack::poll`], and for the host idle subagents, calls at their time limit, and
    /// lines for the log. The host calls it at [`Host::deadline`]. From the first call on, commands leave `state.json` to
    /// it.
    #[must_use = "the host has to carry out the effects"]
    pub fn poll(&self) -> Vec<Effect> {
        self.stack.inner.host.state.lock().is_polling = true;
        self.stack.poll();
        self.stack.host_turn(|turn| turn.poll()).1
    }

    /// The time at which [`Host::poll`] will have work, in milliseconds since the Unix epoch; `None` if nothing is left
    /// for later.
    pub fn deadline(&self) -> Option<u64> {
        let files = self.stack.deadline();
        let state = self.stack.inner.host.state.lock();
        if !state.waiting.is_empty() {
            // Lines are fetched at once, but together with those that come in the same moment.
            return Some((self.stack.inner.clock)());
        }
        match (files, state.sessions.deadline()) {
            (Some(files), Some(sessions)) => Some(files.min(sessions)),
            (files, sessions) => files.or(sessions),
        }
    }

    /// The context of a session's frame, made with the settings of [`Host::configure`] and with the suggestions to its agent.
    /// `None`: the session has no frame, or the settings say that its requests get no context.
    ///
    /// # Errors
    /// [`Error::BudgetTooSmall`], which says how many tokens are needed; [`Error::Setting`]; [`Error::Broken`].
    pub fn context(&self, session_id: &str) -> Result<Option<SessionContext>> {
        self.stack.check_working()?;
        let now = (self.stack.inner.clock)();
        let tree = self.stack.inner.tree.read();
        let Some(handle) = tree.by_id(session_id) else { return Ok(None) };
        let (settings, suggestions) = {
            let state = self.stack.inner.host.state.lock();
            let subagents = &state.sessions.subagents;
            if subagents.get(session_id).is_some() && !subagents.settings().inject_parent_context {
                return Ok(None);
            }
            let autonomy = &state.sessions.autonomy;
            let is_shown = autonomy.settings.suggest_in_context && autonomy.settings.level != AutonomyLevel::Manual;
            (
                state.context.clone(),
                is_shown
                    .then(|| autonomy.suggestions.text(handle, now, &state.context.tools))
                    .flatten()
                    .unwrap_or_default(),
            )
        };
        let (context, is_cached) = self.stack.cached_context(&tree, handle, &settings, &suggestions, now)?;
        let data = json!({ "sessionID": session_id, "handle": handle, "tokens": context.tokens, "cached": is_cached });
        self.stack.inner.host.state.lock().log(LogLevel::Debug, "Context generated", data);
        Ok(Some(SessionContext { handle, context }))
    }
}

impl Stack {
    /// The stack for a host with sessions: the host reports events, carries out effects, and asks for the context of a
    /// session.
    pub fn host(&self) -> Host<'_> {
        Host { stack: self }
    }

    /// True if the host does what is due.
    pub(super) fn is_polled(&self) -> bool {
        self.inner.host.state.lock().is_polling
    }

    /// Runs `decide` with a turn, carries out the actions of the turn, and returns the value with the effects for the
    /// host.
    pub(crate) fn host_turn<T>(&self, decide: impl FnOnce(&mut Turn<'_>) -> T) -> (T, Vec<Effect>) {
        let _order = self.inner.host.order.lock();
        let now = (self.inner.clock)();
        let (value, actions) = {
            // The tree before the state, here and everywhere.
            let tree = self.inner.tree.read();
            let mut state = self.inner.host.state.lock();
            state.is_attached = true;
            let mut turn = Turn::new(&mut state.sessions, &tree, now);
            let value = decide(&mut turn);
            (value, turn.into_actions())
        };
        let mut effects = Vec::new();
        actions.into_iter().for_each(|action| self.carry_out(action, &mut effects));
        let mut lines: Vec<Effect> = self.inner.host.state.lock().waiting.drain(..).collect();
        lines.append(&mut effects);
        (value, lines)
    }

    fn carry_out(&self, action: Action, effects: &mut Vec<Effect>) {
        let refused = match action {
            Action::Command(command) => self.execute(command).err(),
            Action::KeepMessages { handle, messages } => self.keep_messages(handle, &messages).err(),
            Action::Answer { call, handle, problem } => {
                let tree = self.inner.tree.read();
                let tools = self.inner.host.state.lock().sessions.tools.clone();
                let text = calls::answer(&tree, handle, problem.as_deref(), &tools);
                effects.push(Effect::Answer { call, text });
                None
            }
            Action::Effect(effect) => {
                effects.push(effect);
                None
            }
        };
        if let Some(error) = refused {
            let (level, data) = (LogLevel::Warn, json!({ "error": error.to_string(), "code": error.code() }));
            effects.push(Effect::Log { level, message: "Refused".into(), data });
        }
    }

    /// Puts those messages of a session into the log of its frame that came after the last one there.
    fn keep_messages(&self, handle: Handle, messages: &[Message]) -> Result<()> {
        let last = match self.log(handle).read(&LogQuery::default().tail(1)) {
            // A stack in memory keeps no logs.
            Err(Error::InMemory { .. }) => return Ok(()),
            page => page?.lines.pop().and_then(|line| line.entry["id"].as_str().map(str::to_owned)),
        };
        let known = messages.iter().rposition(|message| last.as_deref() == Some(&message.id));
        let new = &messages[known.map_or(0, |known| known + 1)..];
        if new.is_empty() {
            return Ok(());
        }
        let entries: Vec<Value> = new.iter().map(|message| json!(message)).collect();
        self.log(handle).append(&entries)
    }

    /// Tells the log of what has happened to frames (specification, "Logging").
    pub(super) fn note(&self, events: &[Event]) {
        let tree = self.inner.tree.read();
        let mut state = self.inner.host.state.lock();
        if !state.is_attached {
            return;
        }
        for event in events {
            let record = tree.node(event.handle).record();
            let message = match &event.change {
                Change::Added { .. } if record.status == FrameStatus::Planned => "Frame planned",
                Change::Added { .. } => "Frame created",
                Change::StatusChanged { status, .. } => match status {
                    FrameStatus::InProgress => "Frame activated",
                    FrameStatus::Completed => "Frame completed",
                    FrameStatus::Failed => "Frame failed",
                    FrameStatus::Blocked => "Frame blocked",
                    FrameStatus::Planned | FrameStatus::Invalidated => continue,
                },
                Change::Invalidated { .. } => "Frame invalidated",
                Change::Summarized { .. } => "Frame summarized",
                _ => continue,
            };
            let data = json!({ "handle": event.handle, "sessionID": record.session_id, "title": record.title });
            state.log(LogLevel::Info, message, data);
        }
    }
}
