//! Calls: a call runs a frame in its own session while the caller waits for the results.
//!
//! The tools for push and activate make calls. The host creates a session and prompts it; when the session has ended,
//! the results of the frame are the answer to the caller. A session can end without popping the frame: normally, with
//! an error, by an abort or at its time limit. Then the call is salvaged: the last message of the session becomes the
//! results of the frame, and the frame becomes blocked. It can be activated again, and continues in its session.
//!
//! This module stores the calls; a [`Turn`](super::Turn) drives them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::timers::Timers;
use crate::frame::{FrameStatus, Handle, Results};
use crate::steps::step;
use crate::text::{beginning, hanging_indent, one_line};
use crate::tree::Tree;
use crate::vocabulary::{ToolNames, ToolRole};

/// Maximum length of the results in an answer, in characters. The frame keeps the full results.
const RESULTS_CHARACTERS: usize = 16_000;
/// Maximum number of artifacts, and of decisions, in an answer. The newest are listed.
const LISTED: usize = 20;

/// The number of a call. Unique within a process and a stack.
pub type CallId = u64;

/// The settings of calls.
///
/// In JSON: `{"maxDepth": 5, "timeLimit": 600000}`. Every key is optional; unknown keys are rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct CallSettings {
    /// Maximum number of ancestors of a called frame. Default 5.
    pub max_depth: usize,
    /// Default time limit of a call, in milliseconds. At the limit the call is aborted and salvaged. 0: no limit.
    /// Default 0.
    pub time_limit: u64,
}

impl CallSettings {
    setters! {
        max_depth: usize,
        time_limit: u64,
    }
}

impl Default for CallSettings {
    fn default() -> Self {
        Self { max_depth: 5, time_limit: 0 }
    }
}

/// The options of a call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CallOptions {
    /// ID of the calling session.
    pub caller: String,
    /// True: the caller does not wait, and gets no answer.
    pub background: bool,
    /// Time limit in milliseconds. `None`: [`CallSettings::time_limit`]; 0: no limit.
    pub time_limit: Option<u64>,
}

impl CallOptions {
    /// Options of a call by this session, which waits for the answer.
    pub fn new(caller: impl Into<String>) -> Self {
        Self { caller: caller.into(), ..Self::default() }
    }

    setters! {
        background: bool,
        time_limit: Option<u64>,
    }
}

/// The state of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Progress {
    /// The host creates its session.
    Creating,
    /// Its session is running.
    Running { session_id: String },
    /// Its session has ended, and a summary was requested.
    SummingUp { session_id: String },
    /// Its session has ended for this reason, and its messages were requested.
    Salvaging { session_id: String, reason: String },
}

/// A call that has not been answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) handle: Handle,
    pub(super) caller: String,
    pub(super) is_background: bool,
    /// True if the caller was aborted, so it does not see the answer.
    pub(super) is_unheard: bool,
    pub(super) progress: Progress,
    /// In milliseconds; 0: no limit.
    time_limit: u64,
}

impl Call {
    /// The session in which it runs; `None` while the host creates that session.
    fn session_id(&self) -> Option<&str> {
        match &self.progress {
            Progress::Creating => None,
            Progress::Running { session_id }
            | Progress::SummingUp { session_id }
            | Progress::Salvaging { session_id, .. } => Some(session_id),
        }
    }
}

/// The calls that have not been answered.
#[derive(Debug, Clone, Default)]
pub struct Calls {
    /// Maximum depth and time limit.
    pub settings: CallSettings,
    last: CallId,
    running: BTreeMap<CallId, Call>,
    /// The same calls by their frames, and by their sessions; those without a session by their callers.
    by_frame: HashMap<Handle, CallId>,
    by_session: BTreeSet<(String, CallId)>,
    creating: BTreeSet<(String, CallId)>,
    limits: Timers<CallId>,
}

impl Calls {
    /// The frames of the unanswered calls, oldest call first.
    pub fn frames(&self) -> impl Iterator<Item = Handle> + '_ {
        self.running.values().map(|call| call.handle)
    }

    /// True if a call runs this frame.
    pub(super) fn runs(&self, handle: Handle) -> bool {
        self.by_frame.contains_key(&handle)
    }

    pub(super) fn begin(&mut self, handle: Handle, options: CallOptions, progress: Progress, now: u64) -> CallId {
        let time_limit = options.time_limit.unwrap_or(self.settings.time_limit);
        let (caller, is_background) = (options.caller, options.background);
        self.last += 1;
        self.insert(self.last, Call { handle, caller, is_background, is_unheard: false, progress, time_limit });
        if time_limit > 0 {
            self.limits.set(self.last, now.saturating_add(time_limit));
        }
        self.last
    }

    pub(super) fn get(&self, id: CallId) -> Option<&Call> {
        self.running.get(&id)
    }

    /// Sets the state of a call.
    pub(super) fn advance(&mut self, id: CallId, progress: Progress) {
        if let Some(call) = self.take(id) {
            self.insert(id, Call { progress, ..call });
        }
    }

    /// Notes that the caller of a call was aborted.
    pub(super) fn unheard(&mut self, id: CallId) {
        if let Some(call) = self.take(id) {
            self.insert(id, Call { is_unheard: true, ..call });
        }
    }

    pub(super) fn remove(&mut self, id: CallId) -> Option<Call> {
        self.limits.cancel(&id);
        self.take(id)
    }

    fn insert(&mut self, id: CallId, call: Call) {
        match call.session_id() {
            Some(session_id) => self.by_session.insert((session_id.to_owned(), id)),
            None => self.creating.insert((call.caller.clone(), id)),
        };
        self.by_frame.insert(call.handle, id);
        self.running.insert(id, call);
    }

    fn take(&mut self, id: CallId) -> Option<Call> {
        let call = self.running.remove(&id)?;
        match call.session_id() {
            Some(session_id) => self.by_session.remove(&(session_id.to_owned(), id)),
            None => self.creating.remove(&(call.caller.clone(), id)),
        };
        self.by_frame.remove(&call.handle);
        Some(call)
    }

    /// The call that runs in a session; the oldest one if there are several.
    pub(super) fn of_session(&self, session_id: &str) -> Option<(CallId, &Call)> {
        let id = first_of(&self.by_session, session_id)?;
        Some((id, self.get(id)?))
    }

    /// True while the host creates a session for a call of this caller.
    pub(super) fn is_creating_for(&self, caller: &str) -> bool {
        first_of(&self.creating, caller).is_some()
    }

    /// The calls that have reached their time limit, with the limit in milliseconds. Each call is returned once.
    pub(super) fn overdue(&mut self, now: u64) -> Vec<(CallId, u64)> {
        let overdue = self.limits.due(now);
        overdue.into_iter().filter_map(|id| Some((id, self.get(id)?.time_limit))).collect()
    }

    /// The time at which the next call reaches its time limit, on the clock of [`Turn::now`](super::Turn::now). `None`
    /// if no call has a time limit.
    pub fn deadline(&self) -> Option<u64> {
        self.limits.next()
    }
}

/// The oldest call of a session.
fn first_of(calls: &BTreeSet<(String, CallId)>, session_id: &str) -> Option<CallId> {
    let found = calls.range((session_id.to_owned(), 0)..).inspect(|_| step()).next();
    found.filter(|(found, _)| found == session_id).map(|(_, id)| *id)
}

/// The first prompt for the session of a frame. The frame's context has the rest.
pub(super) fn prompt(tree: &Tree, handle: Handle, tools: &ToolNames) -> String {
    let frame = tree.node(handle).record();
    let mut text = format!("Your task is frame {handle}: {}\n", one_line(&frame.title));
    let criteria = frame.success_criteria.trim();
    if !criteria.is_empty() {
        text.push_str(&format!("It is done when: {}\n", hanging_indent(criteria)));
    }
    let finish = tools.get(ToolRole::Pop).map_or("finish the frame".to_owned(), |pop| format!("call {pop}"));
    text.push_str(&format!(
        "When it is, or cannot be, {finish}: your caller sees these results and nothing else of this conversation."
    ));
    text
}

/// The prompt for a session whose frame goes on: after an answer, after it was blocked, or after an interruption.
pub(super) fn resumption(tree: &Tree, handle: Handle, tools: &ToolNames) -> String {
    let frame = tree.node(handle).record();
    let finish = tools.get(ToolRole::Pop).map_or("finish it".to_owned(), |pop| format!("finish with {pop}"));
    let quoted = |text: &str| hanging_indent(beginning(text.trim(), RESULTS_CHARACTERS)).into_owned();
    let waited_for = match quoted(frame.waits_for()) {
        nothing if nothing.is_empty() => ".".to_owned(),
        question => format!(": {question}"),
    };
    let happened = match (frame.status, frame.pending_answer()) {
        (_, Some(answer)) => format!(
            "Frame {handle} was blocked{waited_for}\nThe answer: {}\nGo on with it from what is there already",
            quoted(answer)
        ),
        (FrameStatus::Blocked, None) if frame.current_question().is_none() => {
            // Most such frames were salvaged: their sessions ended without saying what they wait for.
            let reported = match quoted(frame.dense_results()) {
                nothing if nothing.is_empty() => " ".to_owned(),
                words => format!("\nIt had reported: {words}\n"),
            };
            format!(
                "Your work on frame {handle} was interrupted.{reported}Look at what is there already, go on from it"
            )
        }
        (FrameStatus::Blocked, None) => format!(
            "Frame {handle} was blocked{waited_for}\nIt is to go on, without an answer. Look at what is there now, go on from it"
        ),
        _ => {
            // The session may have ended before it got its newest answer.
            let answered = frame.questions.last().and_then(|last| Some((last, last.answer.as_deref()?)));
            let answered = answered.map_or(" ".to_owned(), |(last, answer)| {
                format!("\nIt was asked: {}\nThe answer: {}\n", quoted(&last.question), quoted(answer))
            });
            format!(
                "Your work on frame {handle} was interrupted.{answered}Look at what is there already, go on from it"
            )
        }
    };
    format!("{happened}, and {finish}.\n\n{}", prompt(tree, handle, tools))
}

/// The results of a salvaged frame: the last message of its session, marked with the reason of the salvage.
pub(super) fn salvaged_results(reason: &str, last_words: Results) -> Results {
    let marked = |words: String| {
        let words = if words.is_empty() { "It left no last words." } else { &words };
        format!("[auto-completed: {reason}] {words}")
    };
    Results { full: marked(last_words.full), compacted: marked(last_words.compacted) }
}

/// The reason of the salvage for a session that ended by itself.
pub(super) fn ended_without_pop(tools: &ToolNames) -> String {
    let pop = tools.get(ToolRole::Pop).unwrap_or("finishing its frame");
    format!("its session ended without {pop}")
}

/// The answer for the caller of a frame, from the current tree. `problem` is the reason if the frame could not be run.
pub fn answer(tree: &Tree, handle: Handle, problem: Option<&str>, tools: &ToolNames) -> String {
    let node = tree.node(handle);
    let frame = node.record();
    let name = name(tree, handle);
    if let Some(problem) = problem {
        let again = match tools.get(ToolRole::Activate) {
            Some(activate) => format!("{activate} {handle} tries again"),
            None => "activate it to try again".to_owned(),
        };
        return format!("{name} could not be started: {}. It is {}; {again}.", one_line(problem), node.status());
    }
    let mut lines = vec![format!("{name} is {}.", node.status())];
    let question = frame.current_question().map(|current| current.question.as_str()).unwrap_or_default();
    let answer = frame.pending_answer().unwrap_or_default();
    let results = frame.results.as_deref().unwrap_or_default();
    let heading = if frame.has_partial_results() { "Results so far" } else { "Results" };
    for (heading, text) in [("It waits for", question), ("It was answered", answer), (heading, results)] {
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        let shown = beginning(text, RESULTS_CHARACTERS);
        let cut = match tools.get(ToolRole::Details) {
            _ if shown.len() == text.len() => String::new(),
            Some(details) => format!("… ({details} {handle} has all)"),
            None => "… (cut)".to_owned(),
        };
        lines.push(format!("{heading}: {}{cut}", hanging_indent(shown)));
    }
    for (heading, entries) in [("Artifacts", &frame.artifacts), ("Decisions", &frame.decisions)] {
        let skipped = entries.len().saturating_sub(LISTED);
        if !entries.is_empty() {
            let older = if skipped > 0 { format!(" (and {skipped} older)") } else { String::new() };
            let shown = entries[skipped..].iter().map(|entry| one_line(entry)).collect::<Vec<_>>().join("; ");
            lines.push(format!("{heading}: {shown}{older}"));
        }
    }
    let earlier = node.retry_of().map(|earlier| (earlier, format!("{earlier}, the attempt before")));
    for (above, named) in [(handle, "it".to_owned())].into_iter().chain(earlier) {
        let open = tree.unfinished_below(above).filter(|below| tree.node(*below).status().is_open());
        let open: Vec<String> = open.map(|below| below.to_string()).collect();
        if !open.is_empty() {
            lines.push(format!("Still open below {named}: {}.", open.join(", ")));
        }
    }
    lines.push(match node.status() {
        FrameStatus::Blocked => {
            let is_asking = frame.current_question().is_some_and(|current| current.answer.is_none());
            resume_or_give_up(handle, is_asking, tools)
        }
        FrameStatus::Failed if node.retried_as().is_none() => {
            format!("{}; or go on without it. {}", begin_anew(handle, tools), next(tree, handle, tools))
        }
        _ => next(tree, handle, tools),
    });
    lines.join("\n")
}

/// A frame with its title, on one line.
pub(crate) fn name(tree: &Tree, handle: Handle) -> String {
    format!("{handle} ({})", one_line(tree.node(handle).title()))
}

/// How the caller of a failed frame begins it anew.
fn begin_anew(handle: Handle, tools: &ToolNames) -> String {
    match tools.get(ToolRole::Activate) {
        Some(activate) => format!("{activate} {handle} with retry begins it anew, with what it has learned"),
        None => "Retry it to begin it anew, with what it has learned".to_owned(),
    }
}

/// The next steps for the caller of a blocked frame.
fn resume_or_give_up(handle: Handle, is_asking: bool, tools: &ToolNames) -> String {
    let answer = if is_asking { " with the answer" } else { "" };
    let resume = match tools.get(ToolRole::Activate) {
        Some(activate) => format!("{activate} {handle}{answer} goes on where it stopped, with retry it begins anew"),
        None => format!("activate {handle}{answer} to go on where it stopped, or retry it to begin anew"),
    };
    let give_up = match tools.get(ToolRole::Invalidate) {
        Some(invalidate) => format!("{invalidate} {handle} gives it up"),
        None => "invalidate it to give it up".to_owned(),
    };
    format!("Next: {resume}; {give_up}.")
}

/// The advice on the next step after a frame: the next sibling that is ready, or the caller's own frame.
fn next(tree: &Tree, handle: Handle, tools: &ToolNames) -> String {
    let ready = |sibling: &Handle| tree.node(*sibling).status() == FrameStatus::Planned && tree.is_ready(*sibling);
    match tree.siblings(handle).find(ready) {
        Some(sibling) => {
            let activate = tools.get(ToolRole::Activate).unwrap_or("activate");
            format!("Next: {activate} {}.", name(tree, sibling))
        }
        None => "Next: nothing else is planned beside it; go on with your own frame.".to_owned(),
    }
}
