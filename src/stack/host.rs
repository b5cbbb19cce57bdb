//! The interface of a stack for hosts with sessions: settings, reported events, effects, and contexts of sessions.

use std::cell::RefCell;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::{Mutex, ReentrantMutex};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::deadline::Deadline;
use super::{Inner, Stack};
use crate::context::{Advice, Budget, Context, Conversation, FinishedChildren, Key, Settings};
use crate::error::{Error, ErrorClass, Result};
use crate::frame::{
    Actor, Change, Event, FrameLimits, FrameRef, FrameStatus, Handle, Hold, Holder, HolderKind, Release,
};
use crate::session::autonomy::{AutonomyLevel, AutonomySettings};
use crate::session::call_title;
use crate::session::calls::{self, CallId, CallSettings};
use crate::session::compaction::Message;
use crate::session::subagents::SubagentSettings;
use crate::session::{Action, Effect, HostEvent, LogLevel, Sessions, TitlePatterns, Turn};
use crate::store::LogQuery;
use crate::text::from_json;
use crate::tree::{Command, decide};
use crate::variables;
use crate::vocabulary::{ToolNames, ToolSet};

/// Maximum number of log lines that wait for the host. If there are more, the oldest are dropped.
const WAITING_LINES: usize = 1_000;

/// Number of lines of a log, the last ones, that are compared with the messages of a session. The messages before the first
/// one that is found there are older.
const COMPARED_LINES: usize = 1_000;

/// Maximum number of commands that wait for the journal.
const POSTPONED_COMMANDS: usize = 1_000;

/// How long the end of a stack waits until its calls are recorded as interrupted.
const LAST_PATIENCE: Duration = Duration::from_millis(300);

/// Time until commands that wait for the journal are tried again, in milliseconds.
const RETRY_INTERVAL: u64 = 1_000;

/// The data of a stack about its host.
#[derive(Default)]
pub(super) struct HostState {
    /// Held while an event or a tool call is handled and its actions are executed, so that they are handled one after the
    /// other. Locked before all other locks. An event inside of an event, in code of the host, finds it borrowed.
    order: ReentrantMutex<RefCell<()>>,
    /// Held only for short times, because contexts wait for it too. No code of the host runs meanwhile.
    state: Mutex<State>,
    /// The ID under which this stack runs calls, from the first one on, and the process: one that is forked has other calls.
    identity: Mutex<Option<(String, u32)>>,
}

impl HostState {
    /// The ID under which this process runs calls.
    pub(super) fn id(&self) -> Option<String> {
        let identity = self.identity.lock();
        identity.as_ref().filter(|(_, process)| *process == std::process::id()).map(|(id, _)| id.clone())
    }
}

struct State {
    sessions: Sessions,
    /// The settings that the host has set last.
    configured: HostSettings,
    /// The settings of contexts. Their tools are the offered ones only.
    context: Settings,
    /// The tools that the host offers.
    tools: ToolSet,
    /// The host's names of the tools, as it has set them.
    names: ToolNames,
    /// True if the host has configured the stack or reported an event. Only then are log lines collected for it.
    is_attached: bool,
    /// True if the host has configured the stack or polled. It is then expected to poll.
    is_polling: bool,
    waiting: VecDeque<Effect>,
    /// Commands of turns that the journal has not allowed.
    postponed: Vec<Command>,
}

impl Default for State {
    fn default() -> Self {
        let mut state = Self {
            sessions: Sessions::default(),
            configured: HostSettings::default(),
            context: Settings::default(),
            tools: ToolSet::default(),
            names: ToolNames::default(),
            is_attached: false,
            is_polling: false,
            waiting: VecDeque::new(),
            postponed: Vec::new(),
        };
        state.offer(ToolSet::default(), Settings::default());
        state
    }
}

impl State {
    /// Sets the tools that the host offers, and the settings of contexts with the host's names of the tools.
    fn offer(&mut self, tools: ToolSet, context: Settings) {
        let offered = context.tools.clone().limited_to(tools);
        (self.tools, self.names) = (tools, context.tools);
        self.sessions.tools = offered.clone();
        self.context = Settings { tools: offered, ..context };
    }

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
/// In JSON: `{"tools": "standard", "context": {"budget": {"total": 6000}}, "subagents": {"enabled": false}, "autonomy":
/// {"level": "auto"}, "calls": {"maxDepth": 3}}`. Every key is optional; unknown keys are rejected. The keys of the
/// sections are those of [`Settings`], [`SubagentSettings`], [`AutonomySettings`] and [`CallSettings`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct HostSettings {
    /// The tools that the host offers to its agents. Default: those that an agent needs to work.
    pub tools: ToolSet,
    /// Settings of the contexts of sessions. Its `tools` are the names of all tools; texts mention those of the offered
    /// ones.
    pub context: Settings,
    /// Subagents: which child sessions get frames, and when these frames are completed.
    pub subagents: SubagentSettings,
    /// Suggestions, and pops without a request.
    pub autonomy: AutonomySettings,
    /// Maximum depth and time limit of calls.
    pub calls: CallSettings,
}

impl HostSettings {
    setters! {
        tools: ToolSet,
        context: Settings,
        subagents: SubagentSettings,
        autonomy: AutonomySettings,
        calls: CallSettings,
    }

    /// Creates settings from the defaults, then the environment variables (`STACK_TOOLS`, `STACK_TOKEN_BUDGET_…`,
    /// `STACK_SUBAGENT_…`, `STACK_AUTONOMY_LEVEL` and so on), then a JSON object; later sources override earlier ones.
    /// `look_up` returns the value of a variable.
    ///
    /// Invalid values and unknown keys are ignored, and returned as a list of [`Error::Setting`] and [`Error::Json`].
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
        settings.tools = collected(ToolSet::from_variables(&look_up), &mut problems);
        settings.context.budget = collected(Budget::from_variables(&look_up), &mut problems);
        settings.subagents = collected(SubagentSettings::from_variables(&look_up), &mut problems);
        settings.autonomy = collected(AutonomySettings::from_variables(&look_up), &mut problems);
        settings.overlay(json, &mut problems);
        (settings, problems)
    }

    /// As [`HostSettings::from_variables`], with the environment variables of this process.
    pub fn from_environment(json: &str) -> (Self, Vec<Error>) {
        Self::from_variables(variables::from_environment, json)
    }

    /// Applies the values of a JSON object, section by section and key by key.
    pub(super) fn overlay(&mut self, json: &str, problems: &mut Vec<Error>) {
        let unreadable = |message: String| Error::json("the settings", message);
        let sections: Map<String, Value> = match from_json(json) {
            Ok(sections) => sections,
            Err(error) => return problems.push(Error::of_json("the settings", error)),
        };
        for (section, value) in sections {
            let known = json!(self);
            match (known.get(&section), value) {
                (None, _) => {
                    let sections = known.as_object().into_iter().flat_map(Map::keys).cloned().collect::<Vec<_>>();
                    problems.push(unreadable(format!("`{section}` is unknown; there are {}", sections.join(", "))));
                }
                (Some(Value::Object(_)), Value::Object(keys)) => {
                    for (key, value) in keys {
                        let place = format!("{section}.{key}");
                        self.replace(&place, json!({ (section.as_str()): { (key.as_str()): value } }), problems);
                    }
                }
                (Some(Value::Object(_)), _) => problems.push(unreadable(format!("`{section}` is not an object"))),
                (Some(_), value) => self.replace(&section, json!({ (section.as_str()): value }), problems),
            }
        }
    }

    /// Replaces one value, if the result is valid. `change` is the value inside of the objects that lead to it.
    fn replace(&mut self, place: &str, change: Value, problems: &mut Vec<Error>) {
        let mut changed = json!(self);
        merge(&mut changed, change);
        let checked = serde_json::from_value::<Self>(changed)
            .map_err(|error| Error::json("the settings", format!("`{place}`: {error}")))
            .and_then(|settings| settings.context.check().map(|()| settings));
        match checked {
            Ok(settings) => *self = settings,
            Err(problem) => problems.push(problem),
        }
    }
}

/// Returns settings and adds the problems found with them to a list.
fn collected<T>((settings, found): (T, Vec<Error>), problems: &mut Vec<Error>) -> T {
    problems.extend(found);
    settings
}

/// Merges a JSON value into another: objects key by key; other values are replaced.
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

/// The context of a session, and the frame of the session.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SessionContext {
    /// The session's frame.
    pub handle: Handle,
    /// The context of the frame.
    pub context: Arc<Context>,
}

/// The methods of a stack for a host with sessions. Returned by [`Stack::host`].
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct Host<'a> {
    stack: &'a Stack,
}

impl Host<'_> {
    /// Sets the host's settings. From then on log lines are collected for the host. Returns the problems of the
    /// settings: a pattern that is not a valid regular expression matches nothing; if a tool name is invalid, the
    /// default names are used.
    ///
    /// Settings that agents have changed by tools (`stack_config`, `stack_autonomy`, `stack_auto_suggest`) outlive the
    /// process: they are kept in `settings.json` in the stack's folder, and take the place of the host's values. An agent
    /// goes back to these with `stack_autonomy` and `reset`; a person removes the file.
    pub fn configure(&self, mut settings: HostSettings) -> Vec<Error> {
        let configured = settings.clone();
        let now = (self.stack.inner.clock)();
        let mut problems = self.stack.apply_kept(&mut settings);
        if let Err(problem) = settings.context.tools.check() {
            problems.push(problem);
            settings.context.tools = ToolNames::default();
        }
        let (patterns, invalid) = TitlePatterns::compile(&settings.subagents.patterns);
        problems.extend(invalid);
        let mut state = self.stack.inner.host.state.lock();
        (state.is_attached, state.is_polling) = (true, true);
        state.sessions.begun_at.get_or_insert(now);
        state.sessions.hides_finished_children = settings.context.finished_children == FinishedChildren::None;
        state.offer(settings.tools, settings.context);
        state.sessions.autonomy.host_settings.clone_from(&configured.autonomy);
        state.sessions.autonomy.settings = settings.autonomy;
        state.sessions.calls.settings = settings.calls;
        state.sessions.settled = Default::default();
        state.sessions.subagents.set(settings.subagents, patterns);
        state.configured = configured;
        problems
    }

    /// The settings that the host has set last, without the changes by tools.
    #[cfg(feature = "tools")]
    pub(super) fn configured(&self) -> HostSettings {
        self.stack.inner.host.state.lock().configured.clone()
    }

    /// The current settings of the host.
    pub fn settings(&self) -> HostSettings {
        let state = self.stack.inner.host.state.lock();
        HostSettings {
            tools: state.tools,
            context: state.context.clone().tools(state.names.clone()),
            subagents: state.sessions.subagents.settings().clone(),
            autonomy: state.sessions.autonomy.settings.clone(),
            calls: state.sessions.calls.settings.clone(),
        }
    }

    /// Reports an event of the host, and returns the effects that the host should perform. Changes of the tree that
    /// follow from the event are committed before this returns. A change that is refused is reported as an
    /// [`Effect::Log`]. Events are handled one after the other; a call waits for those of other threads, up to
    /// [`StackOptions::busy_timeout`](crate::StackOptions::busy_timeout). If they take longer, or if this is called inside
    /// of [`Stack::read`] or in code that the stack calls, the event is refused as a whole, and the only effect is an
    /// [`Effect::Log`] with the reason.
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
        // Titles are matched while nothing is locked.
        let patterns = self.stack.inner.host.state.lock().sessions.subagents.patterns();
        let event = patterns.receive(event);
        self.turn(self.stack, |turn| turn.report(event))
    }

    /// Handles everything that is due: the work of [`Stack::refresh`] and [`Stack::poll`], idle subagents, calls that have
    /// reached their time limit, expired suggestions, and answers to blocked frames, also of other processes: while the frame
    /// of a known session is blocked, a poll is due each second. Returns the effects, including the collected log lines. Call it at the time that
    /// [`Host::deadline`] returns. After the first call, commands leave writing `state.json` to it.
    #[must_use = "the host has to carry out the effects"]
    pub fn poll(&self) -> Vec<Effect> {
        self.stack.inner.host.state.lock().is_polling = true;
        let call = self.stack.as_one_call();
        // The next command reports an error of the store.
        let _ = call.refresh();
        call.poll();
        self.turn(&call, |turn| turn.poll())
    }

    /// Runs `decide` with a turn, and returns the effects. If the call is refused, the effect is a log line.
    fn turn(&self, call: &Stack, decide: impl FnOnce(&mut Turn<'_>)) -> Vec<Effect> {
        call.in_order(|turns| turns.turn(decide).1).unwrap_or_else(|error| vec![refused(&error)])
    }

    /// The time at which [`Host::poll`] should be called, in milliseconds since the Unix epoch. `None` if nothing is
    /// pending.
    ///
    /// Spans are measured by a clock that is never set back: [`StackOptions::monotonic_clock`](crate::StackOptions).
    /// This is the end of the span in the present time of day, so subtract the present time from it at once, and wait
    /// for the difference. It can be far away: a timer with a limit should fire at its limit and ask again.
    pub fn deadline(&self) -> Option<u64> {
        let files = self.stack.deadline();
        let (has_lines, has_postponed, sessions) = {
            let state = self.stack.inner.host.state.lock();
            (!state.waiting.is_empty(), !state.postponed.is_empty(), state.sessions.deadline())
        };
        if has_lines {
            // Due now, but not returned by each call: the poll fetches the lines of several calls together.
            return Some((self.stack.inner.clock)());
        }
        let inner = &self.stack.inner;
        let sessions = sessions.map(|deadline| inner.span_clock.time_of_day(deadline, &inner.clock));
        let again = has_postponed.then(|| (inner.clock)().saturating_add(RETRY_INTERVAL));
        files.into_iter().chain(sessions).chain(again).min()
    }

    /// Returns the context of a session's frame, with the current settings of the host and the suggestions for the
    /// session's agent. `None` if the session has no frame, or if the settings disable contexts for this subagent.
    ///
    /// # Errors
    /// [`Error::BudgetTooSmall`], [`Error::Setting`], [`Error::Broken`].
    pub fn context(&self, session_id: &str) -> Result<Option<SessionContext>> {
        self.context_for(session_id, true)
    }

    /// The context of a session for a request to its model, or for somebody who looks at it.
    pub(crate) fn context_for(&self, session_id: &str, is_request: bool) -> Result<Option<SessionContext>> {
        self.stack.check_working()?;
        let now = self.stack.inner.span_clock.now();
        let tree = self.stack.inner.tree.read();
        let (handle, base, settings, suggestions, planning, conversation, above, news) = {
            let mut state = self.stack.inner.host.state.lock();
            let sessions = &mut state.sessions;
            let places = (sessions.place(session_id, &tree), sessions.base(session_id, &tree));
            let (Some(handle), Some(base)) = places else { return Ok(None) };
            if is_request {
                sessions.asked_model(session_id, &tree);
            }
            let subagents = &state.sessions.subagents;
            if subagents.get(session_id).is_some() && !subagents.settings().inject_parent_context {
                return Ok(None);
            }
            let autonomy = &state.sessions.autonomy;
            let level = autonomy.settings.level;
            let is_open = tree.node(handle).status().is_open();
            let is_shown = is_open && autonomy.settings.suggest_in_context && level != AutonomyLevel::Manual;
            let suggestions = is_shown.then(|| autonomy.suggestions.text(handle, now, &state.context.tools)).flatten();
            let planning = state.sessions.needs_planning_advice(session_id);
            let conversation_of = |frame: Handle| {
                let has_criteria = state.sessions.has_criteria(session_id, frame, &tree);
                Conversation {
                    is_called: tree.by_id(session_id) == Some(frame) && state.sessions.is_frame_called(session_id),
                    has_criteria,
                    says_place: has_criteria && state.sessions.says_place(session_id, frame, &tree),
                }
            };
            let conversation = conversation_of(handle);
            let base = (base != handle).then(|| (base, conversation_of(base)));
            let above = state.sessions.untold_above(session_id, &tree);
            let news = state.sessions.news(session_id);
            let suggestions = suggestions.unwrap_or_default();
            (handle, base, state.context.clone(), suggestions, planning, conversation, above, news)
        };
        let advice = Advice { suggestions: &suggestions, planning, conversation, base, above: &above, news: &news };
        let key = Key::new(&tree, handle, &settings, advice);
        drop(tree);
        let (context, is_cached) = self.stack.cached_context(&key, now)?;
        let data = json!({ "sessionID": session_id, "handle": handle, "tokens": context.tokens, "cached": is_cached });
        let mut state = self.stack.inner.host.state.lock();
        state.sessions.shown_news(session_id, news.len());
        state.log(LogLevel::Debug, "Context generated", data);
        drop(state);
        Ok(Some(SessionContext { handle, context }))
    }

    /// Returns the frame in which the conversation of a session is: the session's own, or one that it has begun and
    /// [works on itself](crate::session::calls::CallPlace::Conversation). `None` if the session has no frame.
    pub fn place(&self, session_id: &str) -> Option<Handle> {
        let tree = self.stack.inner.tree.read();
        let state = self.stack.inner.host.state.lock();
        state.sessions.place(session_id, &tree)
    }
}

impl Stack {
    /// Returns the methods for a host with sessions: it reports events, performs effects, and asks for the context of a
    /// session.
    pub fn host(&self) -> Host<'_> {
        Host { stack: self }
    }

    /// Adds a line for the host's log.
    #[cfg(feature = "tools")]
    pub(super) fn log_for_host(&self, level: LogLevel, message: &str, data: Value) {
        self.inner.host.state.lock().log(level, message, data);
    }

    /// True if the host polls.
    pub(super) fn is_polled(&self) -> bool {
        self.inner.host.state.lock().is_polling
    }

    /// Handles an event or a tool call: waits until those of other threads are done, and calls `run`. All commands in it
    /// share one time limit.
    ///
    /// # Errors
    /// [`Error::InsideRead`] if this thread has the tree, or handles an event or a tool call already; [`Error::Busy`].
    pub(crate) fn in_order<T>(&self, run: impl FnOnce(&Turns<'_>) -> T) -> Result<T> {
        self.inner.tree.check_not_lent_here()?;
        let stack = self.as_one_call();
        let deadline = stack.begin_call();
        let order = self.inner.host.order.try_lock_for(deadline.remaining());
        let order = order.ok_or_else(|| deadline.missed(self.place()))?;
        let _order = order.try_borrow_mut().map_err(|_| Error::InsideRead {})?;
        Ok(run(&Turns { stack: &stack }))
    }

    /// Executes a command of a turn. If the journal does not allow it now, the command is executed by one of the next turns: the
    /// decision that it follows from is made, and is not made again. Returns the error.
    fn execute_or_postpone(&self, command: Command) -> Option<Error> {
        let error = self.execute(command.clone()).err()?;
        // Of a command whose outcome is unknown, the next one finds the events if it was kept. A repeated one is then refused, or
        // changes nothing.
        let is_of_journal = matches!(error.class(), ErrorClass::Passing | ErrorClass::Storage);
        let postponed = &mut self.inner.host.state.lock().postponed;
        if is_of_journal && postponed.len() < POSTPONED_COMMANDS {
            postponed.push(command);
        }
        Some(error)
    }

    /// Executes the commands that the journal has not allowed before.
    fn execute_postponed(&self) {
        let postponed = std::mem::take(&mut self.inner.host.state.lock().postponed);
        for command in postponed {
            self.execute_or_postpone(command);
        }
    }

    /// Carries out an action. Returns the call that has to end because its frame could not be resumed, and the reason.
    fn carry_out(&self, action: Action, effects: &mut Vec<Effect>) -> Option<(CallId, String)> {
        let refused = match action {
            Action::Command(command) => self.execute_or_postpone(command),
            Action::Begin { call, handle, caller, session_id, prompt } => {
                let (frame, host, lease) = (handle.into(), self.host_id(), self.call_lease());
                let limits = Box::new(self.root_limits());
                match self.execute(Command::BeginCall { frame, session_id, caller, host, lease, limits }) {
                    Err(error) => return Some((call, error.to_string())),
                    Ok(_) => {
                        effects.extend(prompt);
                        None
                    }
                }
            }
            Action::End { handle } => {
                let host = self.inner.host.id().unwrap_or_default();
                self.execute_or_postpone(Command::EndCall { frame: handle.into(), host, interrupted: false })
            }
            Action::KeepMessages { frame, messages, may_repeat } => {
                self.keep_messages(&frame, messages, may_repeat).err()
            }
            Action::Answer { call, handle, caller, problem } => {
                let tree = self.inner.tree.read();
                let state = self.inner.host.state.lock();
                let mut text = calls::answer(&tree, handle, problem.as_deref(), &state.sessions.tools);
                text.push_str(&state.sessions.place_line(&caller, &tree));
                let title = match problem {
                    Some(problem) => call_title::line(&format!("{}: {problem}", call_title::name(&tree, handle))),
                    None => call_title::of_frame(&tree, handle),
                };
                let ended = call_title::ended(&tree, &[handle]);
                drop((state, tree));
                effects.push(Effect::Answer { call, text, title, ended });
                None
            }
            Action::Effect(effect) => {
                effects.push(effect);
                None
            }
        };
        effects.extend(refused.as_ref().map(self::refused));
        None
    }

    /// The ID of this stack as a host that runs calls.
    fn host_id(&self) -> String {
        if let Some(id) = self.inner.host.id() {
            return id;
        }
        let id = self.fresh_id("host-");
        *self.inner.host.identity.lock() = Some((id.clone(), std::process::id()));
        self.inner.host.state.lock().sessions.host.clone_from(&id);
        id
    }

    /// How long the calls of this host are its own without a sign of life, in milliseconds.
    fn call_lease(&self) -> u64 {
        self.inner.host.state.lock().sessions.calls.settings.lease.clamp(1, Holder::LONGEST_LEASE)
    }

    /// The limits of roots that have none of their own.
    pub(super) fn root_limits(&self) -> FrameLimits {
        self.inner.host.state.lock().sessions.calls.settings.limits.clone()
    }

    /// Gives the calls of this host, and what its conversations hold, more time when half of the lease is over. One that others took for interrupted meanwhile is its
    /// own again, unless somebody has resumed it. A refused renewal is tried again by the next turn.
    fn renew_calls(&self) {
        let Some(host) = self.inner.host.id() else { return };
        let (now, lease) = ((self.inner.clock)(), self.call_lease());
        let calls: HashSet<Handle> = self.inner.host.state.lock().sessions.calls.begun().collect();
        let due: Vec<Hold> = self.read(|tree| {
            let own =
                |handle: &Handle| tree.node(*handle).record().holder.as_deref().filter(|holder| holder.name == host);
            let is_due = |holder: &&Holder| {
                let left = holder.until.unwrap_or_default().saturating_sub(now);
                left <= lease / 2 || left > lease
            };
            let is_own = |handle: &Handle| match own(handle) {
                Some(Holder { released: Some(released), .. }) => {
                    calls.contains(handle) && released.how == Release::Interrupted {}
                }
                Some(_) => true,
                None => false,
            };
            let frames = tree.called().chain(calls.iter().copied()).collect::<std::collections::BTreeSet<Handle>>();
            let frames = frames.into_iter().filter(is_own);
            frames.filter_map(|handle| Some(Hold::of(handle, own(&handle).filter(is_due)?))).collect()
        });
        for hold in due {
            let _ = self.execute(Command::Renew { hold, lease });
        }
    }

    /// Gives the conversations of this host more time for what they hold, when half of that is over.
    fn renew_conversations(&self) {
        let now = (self.inner.clock)();
        let due: HashSet<String> = self.inner.tree.lend(|tree| {
            let state = self.inner.host.state.lock();
            let of_host =
                |handle: Handle| tree.node(handle).record().conversation().filter(|id| state.sessions.is_known(id));
            let own = tree.held().filter_map(of_host);
            let is_due = |id: &&str| !tree.due_renewals(&Actor::new(HolderKind::Conversation, *id), now).is_empty();
            own.filter(is_due).map(str::to_owned).collect()
        });
        for name in due {
            let _ = self.as_actor(Actor::new(HolderKind::Conversation, name)).execute(Command::RenewAll);
        }
    }

    /// Appends messages of a session to the log of its frame, each with a time. If they may repeat messages of the log,
    /// those and the ones before them are left out: messages before the first one of a log belong to other frames.
    fn keep_messages(&self, frame: &FrameRef, mut messages: Vec<Message>, may_repeat: bool) -> Result<()> {
        if !self.keeps_logs() || self.resolve(frame.clone()).is_err() {
            return Ok(());
        }
        if may_repeat {
            let page = self.log(frame.clone()).read(&LogQuery::default().tail(COMPARED_LINES))?;
            let logged: HashSet<&str> = page.lines.iter().filter_map(|line| line.entry["id"].as_str()).collect();
            let is_logged = |message: &Message| logged.contains(&*message.id);
            let first = messages.iter().position(is_logged).unwrap_or(0);
            messages = messages.into_iter().skip(first).filter(|message| !is_logged(message)).collect();
        }
        if messages.is_empty() {
            return Ok(());
        }
        let now = (self.inner.clock)();
        let timed = |message: Message| json!(Message { time: message.time.or(Some(now)), ..message });
        let entries: Vec<Value> = messages.into_iter().map(timed).collect();
        self.log(frame.clone()).append(&entries)
    }

    /// Ends the suggestions that are followed by events of frames, and adds log lines for the events (specification,
    /// "Logging").
    pub(super) fn note(&self, events: &[Event]) {
        let tree = self.inner.tree.read();
        let mut state = self.inner.host.state.lock();
        if !state.is_attached {
            return;
        }
        let now = self.inner.span_clock.now();
        for event in events {
            state.sessions.changed(&tree, event, now);
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
                Change::Edited { .. } => "Frame edited",
                Change::Summarized { .. } => "Frame summarized",
                Change::Answered { .. } => "Frame answered",
                Change::Reopened { .. } => "Frame reopened",
                Change::Undone { .. } => "Command taken back",
                Change::Released { release: Release::Interrupted {} } => "Frame interrupted",
                _ => continue,
            };
            let data = json!({ "handle": event.handle, "sessionID": record.session_id, "title": record.title });
            state.log(LogLevel::Info, message, data);
        }
    }
}

/// The calls of a host that ends were interrupted: others can resume their frames at once. If that cannot be recorded, their leases end by
/// themselves.
pub(super) fn end_calls(inner: &mut Inner) {
    let Some(host) = inner.host.id().filter(|_| !inner.is_broken.load(Ordering::Acquire)) else { return };
    let called: Vec<Handle> = {
        let tree = inner.tree.read();
        let is_own = |handle: &Handle| tree.node(*handle).record().host().is_some_and(|holder| holder.name == host);
        tree.called().filter(is_own).collect()
    };
    let deadline = Deadline::begin(inner.busy_timeout.min(LAST_PATIENCE)).started();
    let journal = inner.journal.get_mut().get_mut();
    for frame in called.into_iter().map(FrameRef::from) {
        let (command, now) = (Command::EndCall { frame, host: host.clone(), interrupted: true }, (inner.clock)());
        let _ = journal.commit(&inner.tree, &deadline, |tree| decide(tree, command, now));
    }
}

/// The line for the host's log about something that was refused.
fn refused(error: &Error) -> Effect {
    let data = json!({ "error": error.to_string(), "code": error.code() });
    Effect::Log { level: LogLevel::Warn, message: "Refused".into(), data }
}

/// The turns of one event or tool call.
pub(crate) struct Turns<'a> {
    pub(crate) stack: &'a Stack,
}

impl Turns<'_> {
    /// Runs `decide` with a turn, executes the actions of the turn, and returns the value and the effects for the host.
    pub(crate) fn turn<T>(&self, decide: impl FnOnce(&mut Turn<'_>) -> T) -> (T, Vec<Effect>) {
        self.stack.execute_postponed();
        self.stack.renew_calls();
        self.stack.renew_conversations();
        self.stack.note_lapses();
        let (value, actions) = self.decide(decide);
        let mut effects = self.carry_out(actions);
        self.settle(&mut effects);
        let mut lines: Vec<Effect> = self.stack.inner.host.state.lock().waiting.drain(..).collect();
        lines.append(&mut effects);
        (value, lines)
    }

    /// Goes on with what depends on the tree after the actions, until nothing is left to do.
    fn settle(&self, effects: &mut Vec<Effect>) {
        let has_calls = || !self.stack.inner.host.state.lock().sessions.calls.is_empty();
        while has_calls() {
            let ((), actions) = self.decide(|turn| turn.settle());
            if actions.is_empty() {
                return;
            }
            effects.extend(self.carry_out(actions));
        }
    }

    fn decide<T>(&self, decide: impl FnOnce(&mut Turn<'_>) -> T) -> (T, Vec<Action>) {
        let Stack { inner, .. } = self.stack;
        let (now, time) = (inner.span_clock.now(), (inner.clock)());
        inner.tree.lend(|tree| {
            let mut state = inner.host.state.lock();
            state.is_attached = true;
            let mut turn = Turn::new(&mut state.sessions, tree, now);
            turn.time = time;
            turn.sessions.begun_at.get_or_insert(time);
            self.stack.broken_by_panic(|| {
                let value = decide(&mut turn);
                (value, turn.into_actions())
            })
        })
    }

    /// Executes actions in their order, and ends the calls whose frames could not be resumed.
    fn carry_out(&self, actions: Vec<Action>) -> Vec<Effect> {
        let mut effects = Vec::new();
        let carry_out = |action| self.stack.carry_out(action, &mut effects);
        let ended: Vec<_> = self.stack.broken_by_panic(|| actions.into_iter().filter_map(carry_out).collect());
        for (call, problem) in ended {
            let ((), actions) = self.decide(|turn| turn.not_begun(call, problem));
            effects.extend(self.carry_out(actions));
        }
        effects
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    /// A panic in a turn leaves the sessions partially changed.
    #[test]
    fn a_panic_in_a_turn_breaks_the_stack() {
        let stack = Stack::in_memory();
        let turn = || stack.in_order(|turns| turns.turn(|_| panic!("provoked by a test")));
        let turn = catch_unwind(AssertUnwindSafe(turn));
        assert!(turn.is_err());
        assert!(stack.is_broken());
        assert_eq!(stack.host().context("ses_1").unwrap_err(), Error::Broken {});
    }
}
