//! Calls: a call runs a frame in its own session while the caller waits for the results.
//!
//! The tools for push and activate make calls. The host creates a session and prompts it; when the session
//! has ended, the results of the frame are the answer to the caller. A session can end without popping the
//! frame. If it ends normally, it is asked for a summary. If it gives no summary, or ends with an error, by
//! an abort or at its time limit, its last message counts. The call is then salvaged: that text becomes the
//! results so far of the frame, and the frame becomes blocked. The frame can be activated again, and
//! continues in its session.
//!
//! This module stores the calls; a [`Turn`](super::Turn) drives them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::timers::Timers;
use crate::frame::{FrameLimits, FrameStatus, Handle, Question};
use crate::steps::step;
use crate::text::{beginning, floor_char_boundary, hanging_indent, newest_lines, one_line};
use crate::tree::Tree;
use crate::vocabulary::{ToolNames, ToolRole};

/// Maximum length of the results in an answer, in characters. The frame keeps the full results.
const RESULTS_CHARACTERS: usize = 16_000;
/// Maximum length of the full instruction in the prompt for a session, in characters.
const TASK_CHARACTERS: usize = 16_000;
/// Maximum number of artifacts, and of decisions, in an answer. The newest are listed.
const LISTED: usize = 20;
/// Minimum length of the results of each of several frames in one answer, in characters, and maximum number
/// of such frames.
const LEAST_CHARACTERS: usize = 500;
const REPORTED: usize = 50;
/// The longest title in an answer, in bytes.
const LONGEST_TITLE: usize = 200;

/// The number of a call. Unique within a process and a stack.
pub type CallId = u64;

/// Where the work of a call is done.
///
/// In JSON: `"session"` or `"conversation"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CallPlace {
    /// In a session of its own: the child begins with an empty conversation and a context, and its caller
    /// waits.
    #[default]
    Session,
    /// In the conversation of the caller, which continues in the frame until it pops it. For hosts that
    /// [fold](crate::fold) conversations. Frames in the background still have sessions of their own. So do
    /// the frames that one message of the model begins in addition to another frame.
    Conversation,
}

/// The settings of calls.
///
/// In JSON: `{"in": "session", "maxDepth": 5, "timeLimit": 600000, "maxConcurrent": 4, "limits":
/// {"maxTokens": 900000}}`. Every key is optional; unknown keys are rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct CallSettings {
    /// Where the work of a call is done. Default: in a session of its own.
    pub r#in: CallPlace,
    /// Maximum number of ancestors of a called frame. Default 5.
    pub max_depth: usize,
    /// Default time limit of a call, in milliseconds, from the beginning of its work. At the limit the call
    /// is aborted and salvaged. 0: no limit. Default 0.
    pub time_limit: u64,
    /// Maximum number of called sessions that work at the same time. A session that waits for other calls
    /// does not work. Further calls are queued, and begin in their order. 0: no limit. Default 4.
    pub max_concurrent: usize,
    /// How long a host holds the frames of its calls after its last sign of activity, in milliseconds, at
    /// most a day. After that time the frames count as interrupted, and other hosts can resume them. At an
    /// event, a tool call or a poll, the host renews the lease when half of it is over. Default 20,000.
    pub lease: u64,
    /// What each root that the host begins may do and spend, if the root has no limits of its own. Default:
    /// no limits.
    pub limits: FrameLimits,
}

impl CallSettings {
    setters! {
        max_depth: usize,
        time_limit: u64,
        max_concurrent: usize,
        lease: u64,
        limits: FrameLimits,
    }

    /// Sets where the work of a call is done, and returns the settings.
    #[must_use]
    pub fn place(self, place: CallPlace) -> Self {
        Self { r#in: place, ..self }
    }
}

impl Default for CallSettings {
    fn default() -> Self {
        Self {
            r#in: CallPlace::default(),
            max_depth: 5,
            time_limit: 0,
            max_concurrent: 4,
            lease: 20_000,
            limits: FrameLimits::default(),
        }
    }
}

/// The options of a call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CallOptions {
    /// ID of the calling session.
    pub caller: String,
    /// True: the caller does not wait. The next request of the calling session says how the frame has ended.
    pub background: bool,
    /// Time limit in milliseconds. `None`: [`CallSettings::time_limit`]; 0: no limit.
    pub time_limit: Option<u64>,
    /// True: while a dependency of the frame runs, the frame waits; then it begins if all dependencies are
    /// completed, and otherwise stays planned. If no dependency runs at the time of the call, the frame
    /// begins at once. False: the frame begins without regard to its dependencies.
    pub awaits_dependencies: bool,
}

impl CallOptions {
    /// Options of a call by this session, which waits for the answer.
    pub fn new(caller: impl Into<String>) -> Self {
        Self { caller: caller.into(), ..Self::default() }
    }

    setters! {
        background: bool,
        time_limit: Option<u64>,
        awaits_dependencies: bool,
    }
}

/// The state of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Progress {
    /// It begins when fewer sessions work.
    Queued,
    /// The host creates its session.
    Creating,
    /// Its session is running.
    Running { session_id: String },
    /// Its agent has requested a checkpoint and ended its turn. The call continues after the compaction.
    Compacting { session_id: String },
    /// Its session has ended for this reason, and a summary was requested.
    SummingUp { session_id: String, reason: String },
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
    /// True if its own agent has ended the frame: the session ends automatically.
    pub(super) is_ending: bool,
    /// True if a person has continued the session, so no prompt of the host ends.
    pub(super) is_adopted: bool,
    /// The [`Wait`] that has begun the call, if there is one.
    pub(super) wait: Option<CallId>,
    pub(super) progress: Progress,
    /// The time at which its session began to work.
    pub(super) begun_at: u64,
    /// The revision of the tree at which it was added.
    pub(super) added_at: u64,
    /// True if, at that time, the dependencies of its frame were completed, or if the call waits for them.
    pub(super) was_ready: bool,
    /// True if the call must not begin while a dependency of its frame runs.
    pub(super) awaits_dependencies: bool,
    /// In milliseconds; 0: no limit.
    time_limit: u64,
}

impl Call {
    /// The session in which it runs; `None` while the host creates that session.
    pub(super) fn session_id(&self) -> Option<&str> {
        match &self.progress {
            Progress::Queued | Progress::Creating => None,
            Progress::Running { session_id }
            | Progress::Compacting { session_id }
            | Progress::SummingUp { session_id, .. }
            | Progress::Salvaging { session_id, .. } => Some(session_id),
        }
    }
}

/// A tool call that waits for the ends of calls.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Wait {
    pub(super) caller: String,
    /// The frames, in the order in which they were begun or named.
    pub(super) frames: Vec<Handle>,
    /// True: the first end is enough.
    pub(super) for_any: bool,
    /// The frame whose ready children it begins, until none is ready.
    pub(super) runs_below: Option<Handle>,
    /// The reasons why frames that the tool call has begun could not be started.
    pub(super) problems: BTreeMap<Handle, String>,
    /// The revision of the tree at which it was added.
    pub(super) added_at: u64,
}

/// The calls that have not been answered, and the tool calls that wait for several of them.
#[derive(Debug, Clone, Default)]
pub struct Calls {
    /// The maximum depth, the maximum number and the time limit.
    pub settings: CallSettings,
    last: CallId,
    running: BTreeMap<CallId, Call>,
    queued: BTreeSet<CallId>,
    pub(super) waits: BTreeMap<CallId, Wait>,
    /// The same calls by their frames, and by their sessions. Calls without a session are stored by their
    /// callers.
    by_frame: HashMap<Handle, CallId>,
    by_session: BTreeSet<(String, CallId)>,
    creating: BTreeSet<(String, CallId)>,
    limits: Timers<CallId>,
    /// Counts the changes of calls and waits.
    changes: u64,
}

impl Calls {
    /// The frames of the unanswered calls, oldest call first.
    pub fn frames(&self) -> impl Iterator<Item = Handle> + '_ {
        self.running.values().map(|call| call.handle)
    }

    /// The frames of the calls whose sessions have begun.
    pub(crate) fn begun(&self) -> impl Iterator<Item = Handle> + '_ {
        let has_session = |call: &&Call| !matches!(call.progress, Progress::Queued | Progress::Creating);
        self.running.values().filter(has_session).map(|call| call.handle)
    }

    /// The frames of the calls that begin when fewer sessions work, in the order in which they begin.
    pub fn queued(&self) -> impl Iterator<Item = Handle> + '_ {
        self.queued.iter().filter_map(|id| self.get(*id)).map(|call| call.handle)
    }

    /// True if there is neither a call nor a tool call that waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_empty() && self.waits.is_empty()
    }

    /// True if a call runs this frame.
    pub(super) fn runs(&self, handle: Handle) -> bool {
        self.by_frame.contains_key(&handle)
    }

    /// The call that runs this frame.
    pub(super) fn of_frame(&self, handle: Handle) -> Option<&Call> {
        self.get(*self.by_frame.get(&handle)?)
    }

    /// Adds a call, which is queued.
    pub(super) fn add(
        &mut self,
        handle: Handle,
        options: CallOptions,
        wait: Option<CallId>,
        (added_at, was_ready): (u64, bool),
    ) -> CallId {
        let time_limit = options.time_limit.unwrap_or(self.settings.time_limit);
        let CallOptions { caller, background: is_background, awaits_dependencies, .. } = options;
        let (is_unheard, is_ending, is_adopted, progress) = (false, false, false, Progress::Queued);
        self.last += 1;
        let begun_at = 0;
        let call = Call {
            handle,
            caller,
            is_background,
            is_unheard,
            is_ending,
            is_adopted,
            wait,
            progress,
            begun_at,
            added_at,
            was_ready,
            awaits_dependencies,
            time_limit,
        };
        self.insert(self.last, call);
        self.last
    }

    /// Adds a tool call that waits.
    pub(super) fn wait(&mut self, wait: Wait, time_limit: u64, now: u64) -> CallId {
        self.last += 1;
        self.changes += 1;
        self.waits.insert(self.last, wait);
        if time_limit > 0 {
            self.limits.set(self.last, now.saturating_add(time_limit));
        }
        self.last
    }

    /// Begins the work of a queued call. Its time limit counts from now.
    pub(super) fn begin(&mut self, id: CallId, progress: Progress, now: u64) {
        if let Some(call) = self.take(id) {
            self.insert(id, Call { progress, begun_at: now, ..call });
            self.unlimit(id);
        }
    }

    /// Begins a call whose session works already.
    pub(super) fn adopt(&mut self, id: CallId, session_id: &str, now: u64) {
        self.begin(id, Progress::Running { session_id: session_id.to_owned() }, now);
        if let Some(call) = self.running.get_mut(&id) {
            call.is_adopted = true;
        }
    }

    /// Limits a call to this moment, unless its own limit comes earlier.
    pub(super) fn limit(&mut self, id: CallId, moment: u64) {
        let own = self.own_limit(id).unwrap_or(u64::MAX);
        self.limits.set(id, moment.min(own));
    }

    /// Limits a call to its own time limit alone.
    pub(super) fn unlimit(&mut self, id: CallId) {
        match self.own_limit(id) {
            Some(moment) => self.limits.set(id, moment),
            None => self.limits.cancel(&id),
        }
    }

    /// The moment at which a call reaches its time limit, if it has one.
    pub(super) fn own_limit(&self, id: CallId) -> Option<u64> {
        let call = self.get(id).filter(|call| call.time_limit > 0)?;
        Some(call.begun_at.saturating_add(call.time_limit))
    }

    /// A number that changes with each change of calls and waits.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// The oldest queued call that does not wait for its dependencies, if it can begin. `above` returns the
    /// session that has started a session.
    pub(super) fn next_to_begin<'a>(
        &'a self,
        waits: impl Fn(&Call) -> bool,
        above: impl Fn(&str) -> Option<&'a str>,
    ) -> Option<CallId> {
        let id = self.queued.iter().copied().find(|id| self.get(*id).is_some_and(|call| !waits(call)))?;
        let most = self.settings.max_concurrent;
        let has_room = || self.running.len() - self.queued.len() < most || self.working(above) < most;
        (most == 0 || has_room()).then_some(id)
    }

    /// The number of called sessions that work. A session works if it has begun and waits for no other call,
    /// and if the sessions that it has started do not wait either.
    fn working<'a>(&'a self, above: impl Fn(&str) -> Option<&'a str>) -> usize {
        let mut waiting: BTreeSet<&'a str> = BTreeSet::new();
        for caller in self.waiting_callers() {
            let mut session = Some(caller);
            // The parents that a host reports can form a circle.
            while let Some(id) = session.filter(|id| waiting.insert(id)) {
                session = above(id);
            }
        }
        let is_working = |call: &&Call| {
            let is_waiting = call.session_id().is_some_and(|session_id| waiting.contains(session_id));
            call.progress != Progress::Queued && !is_waiting
        };
        self.running.values().filter(is_working).count()
    }

    /// The sessions that wait for calls.
    fn waiting_callers(&self) -> impl Iterator<Item = &str> {
        let foreground = self.running.values().filter(|call| !call.is_background && !call.is_unheard);
        foreground.map(|call| call.caller.as_str()).chain(self.waits.values().map(|wait| wait.caller.as_str()))
    }

    pub(super) fn get(&self, id: CallId) -> Option<&Call> {
        self.running.get(&id)
    }

    /// The unanswered calls, oldest first.
    pub(super) fn all(&self) -> impl Iterator<Item = (CallId, &Call)> {
        self.running.iter().map(|(id, call)| (*id, call))
    }

    /// Sets the state of a call.
    pub(super) fn advance(&mut self, id: CallId, progress: Progress) {
        if let Some(call) = self.take(id) {
            self.insert(id, Call { progress, ..call });
        }
    }

    /// Notes that the caller of a call was aborted.
    pub(super) fn unheard(&mut self, id: CallId) {
        if let Some(call) = self.running.get_mut(&id) {
            call.is_unheard = true;
        }
    }

    /// Notes whether the agent of a call's session has ended the frame itself.
    pub(super) fn ending(&mut self, id: CallId, is_ending: bool) {
        if let Some(call) = self.running.get_mut(&id) {
            call.is_ending = is_ending;
        }
    }

    pub(super) fn remove(&mut self, id: CallId) -> Option<Call> {
        self.limits.cancel(&id);
        self.take(id)
    }

    /// Notes why a frame that a tool call has begun could not be started.
    pub(super) fn note_problem(&mut self, wait: CallId, handle: Handle, problem: String) {
        if let Some(wait) = self.waits.get_mut(&wait).filter(|_| !problem.is_empty()) {
            wait.problems.insert(handle, problem);
        }
    }

    pub(super) fn remove_wait(&mut self, id: CallId) -> Option<Wait> {
        self.changes += 1;
        self.limits.cancel(&id);
        self.waits.remove(&id)
    }

    fn insert(&mut self, id: CallId, call: Call) {
        self.changes += 1;
        match call.session_id() {
            Some(session_id) => drop(self.by_session.insert((session_id.to_owned(), id))),
            None if call.progress == Progress::Queued => drop(self.queued.insert(id)),
            None => drop(self.creating.insert((call.caller.clone(), id))),
        }
        self.by_frame.insert(call.handle, id);
        self.running.insert(id, call);
    }

    fn take(&mut self, id: CallId) -> Option<Call> {
        self.changes += 1;
        let call = self.running.remove(&id)?;
        match call.session_id() {
            Some(session_id) => self.by_session.remove(&(session_id.to_owned(), id)),
            None => self.queued.remove(&id) || self.creating.remove(&(call.caller.clone(), id)),
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

    /// The calls that have reached their time limit, each once.
    pub(super) fn overdue(&mut self, now: u64) -> Vec<CallId> {
        self.limits.due(now)
    }

    /// The time limit of a call, in milliseconds; 0: no limit.
    pub(super) fn time_limit(&self, id: CallId) -> u64 {
        self.get(id).map_or(0, |call| call.time_limit)
    }

    /// The time at which the next call reaches its time limit, on the clock of
    /// [`Turn::now`](super::Turn::now). `None` if no call has a time limit.
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
    aim(tree, handle, tools, &told_task(tree, handle, tools))
}

/// The full instruction of a frame, as a conversation is told it once.
pub(crate) fn told_task(tree: &Tree, handle: Handle, tools: &ToolNames) -> String {
    let task = tree.node(handle).record().task.trim();
    let told = beginning(task, TASK_CHARACTERS);
    let rest = match (told.len() < task.len(), tools.get(ToolRole::Details)) {
        (false, _) => String::new(),
        (true, Some(details)) => format!(" … [cut; {details} {handle} shows all]"),
        (true, None) => " … [cut]".to_owned(),
    };
    format!("{}{rest}", hanging_indent(told))
}

/// What a frame is about, with its full instruction if that is not empty, and how its work ends.
fn aim(tree: &Tree, handle: Handle, tools: &ToolNames, task: &str) -> String {
    let frame = tree.node(handle).record();
    let mut text = format!("Your task is frame {handle}: {}\n", one_line(&frame.title));
    if !task.is_empty() {
        text.push_str(&format!("What is to be done: {task}\n"));
    }
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

/// The prompt for a session whose frame resumes: after an answer, after it was blocked, or after an
/// interruption.
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
            "Frame {handle} was blocked{waited_for}\nThe answer: {}\nContinue from what is there already",
            quoted(answer)
        ),
        (FrameStatus::Blocked, None) if frame.current_question().is_none() || frame.is_salvaged() => {
            // Most such frames were salvaged: their sessions ended without saying what they wait for.
            let reported = match quoted(frame.dense_results()) {
                nothing if nothing.is_empty() => " ".to_owned(),
                words => format!("\nIt had reported: {words}\n"),
            };
            format!("Your work on frame {handle} was interrupted.{reported}See what is there already, continue from it")
        }
        (FrameStatus::Blocked, None) => format!(
            "Frame {handle} was blocked{waited_for}\nIt is to resume, without an answer. See what is there now, continue from it"
        ),
        _ if frame.questions.last().is_some_and(|last| last.reopening().is_some()) => {
            let reason = frame.questions.last().and_then(Question::reopening).unwrap_or_default();
            format!(
                "Frame {handle} was completed and reopened. What is wrong: {}\nSee what is there already, continue from it",
                quoted(reason)
            )
        }
        _ => {
            // The session may have ended before it got its newest answer.
            let answered = frame.questions.last().and_then(|last| Some((last, last.answer.as_deref()?)));
            let answered = answered.map_or(" ".to_owned(), |(last, answer)| {
                format!("\nIt was asked: {}\nThe answer: {}\n", quoted(&last.question), quoted(answer))
            });
            format!("Your work on frame {handle} was interrupted.{answered}See what is there already, continue from it")
        }
    };
    // The session already knows the rest.
    format!("{happened}, and {finish}.\n\n{}", aim(tree, handle, tools, ""))
}

/// The prompt for a session that was compacted because its agent has asked for that.
pub(super) fn after_checkpoint(tree: &Tree, handle: Handle, tools: &ToolNames) -> String {
    // The context has the full instruction, because the conversation has forgotten it.
    format!("The checkpoint is made. Continue frame {handle} from there.\n\n{}", aim(tree, handle, tools, ""))
}

/// The reason for the salvage of a session that ended without a pop.
pub(super) fn ended_without_pop(tools: &ToolNames) -> String {
    let pop = tools.get(ToolRole::Pop).unwrap_or("finishing its frame");
    format!("its session ended without {pop}")
}

/// The answer for the caller of a frame, from the current tree. `problem` is the reason if the frame could
/// not be run.
pub fn answer(tree: &Tree, handle: Handle, problem: Option<&str>, tools: &ToolNames) -> String {
    let node = tree.node(handle);
    if let Some(problem) = problem.filter(|_| node.status().is_unfinished()) {
        let again = match tools.get(ToolRole::Activate) {
            Some(activate) => format!("{activate} {handle} tries again"),
            None => "activate it to try again".to_owned(),
        };
        let name = name(tree, handle);
        return format!("{name} could not be started: {}. It is {}; {again}.", one_line(problem), node.status());
    }
    let mut lines = report(tree, handle, RESULTS_CHARACTERS, tools);
    lines.push(match node.status() {
        FrameStatus::Blocked => {
            let is_asking = node.record().current_question().is_some_and(|current| current.answer.is_none());
            let is_asking = is_asking && !node.record().is_salvaged();
            resume_or_give_up(handle, is_asking, tools)
        }
        FrameStatus::Failed if node.retried_as().is_none() => {
            format!("{}; or do without it. {}", begin_anew(handle, tools), next_or_own(tree, handle, tools))
        }
        _ => next_or_own(tree, handle, tools),
    });
    lines.join("\n")
}

/// The answer for a caller that has waited for several frames, or has run the ready children of a frame.
pub(super) fn wait_answer(tree: &Tree, wait: &Wait, ended: &[Handle], running: &[Handle], tools: &ToolNames) -> String {
    if let ([alone], [], None) = (ended, running, wait.runs_below)
        && !matches!(tree.node(*alone).status(), FrameStatus::Planned | FrameStatus::InProgress)
    {
        return answer(tree, *alone, None, tools);
    }
    let characters = (RESULTS_CHARACTERS / ended.len().max(1)).max(LEAST_CHARACTERS);
    let mut lines = Vec::new();
    for handle in ended.iter().take(REPORTED) {
        let (name, record) = (name(tree, *handle), tree.node(*handle).record());
        match (record.status, record.is_interrupted(), wait.problems.get(handle)) {
            (FrameStatus::Planned, _, Some(problem)) => {
                lines.push(format!("{name} could not be started: {}.", one_line(problem)));
            }
            (FrameStatus::Planned, _, None) => lines.push(format!("{name} is planned, and has not begun.")),
            (FrameStatus::InProgress, true, _) => {
                let resume =
                    tools.get(ToolRole::Activate).map_or(String::new(), |tool| format!(" {tool} {handle} resumes it."));
                lines.push(format!("{name} was interrupted: {}.{resume}", one_line(&record.interruption())));
            }
            (FrameStatus::InProgress, false, _) => lines.push(format!("{name} is in_progress, but no call runs it.")),
            _ => lines.extend(report(tree, *handle, characters, tools)),
        }
    }
    let more = |count: usize, most: usize, what: &str| match count.saturating_sub(most) {
        0 => None,
        more => Some(format!("And {more} more {what}.")),
    };
    lines.extend(more(ended.len(), REPORTED, "have ended"));
    if !running.is_empty() {
        lines.push(format!("Still running: {}.", listed(running)));
    }
    let is_known = |child: &Handle| ended.contains(child) || running.contains(child);
    let planned = wait.runs_below.into_iter().flat_map(|parent| tree.children(parent)).copied();
    let left: Vec<Handle> =
        planned.filter(|child| tree.node(*child).status() == FrameStatus::Planned && !is_known(child)).collect();
    for child in left.iter().take(LISTED) {
        // A child that has ended without success is the reason, even if others are still open.
        let open = || tree.unfinished_dependencies(*child);
        let is_lost = |dependency: &Handle| !tree.node(*dependency).status().is_unfinished();
        let waits = open().find(is_lost).or_else(|| open().next()).map_or(String::new(), |dependency| {
            format!(": it waits for {}, which is {}", name(tree, dependency), tree.node(dependency).status())
        });
        lines.push(format!("{} has not begun{waits}.", name(tree, *child)));
    }
    lines.extend(more(left.len(), LISTED, "have not begun"));
    let is_waiting = |child: &Handle| {
        let record = tree.node(*child).record();
        !is_known(child) && (record.status == FrameStatus::Blocked || record.is_interrupted())
    };
    let others = wait.runs_below.into_iter().flat_map(|parent| tree.children(parent)).copied().filter(is_waiting);
    for child in others.take(LISTED) {
        let record = tree.node(child).record();
        let state = if record.is_interrupted() { "was interrupted" } else { "is blocked" };
        lines.push(format!("{} {state}, and was not resumed.", name(tree, child)));
    }
    if lines.is_empty() {
        lines.push("No planned child is ready.".to_owned());
    }
    lines.join("\n")
}

/// Returns handles as a list separated by commas.
pub(crate) fn listed(frames: &[Handle]) -> String {
    frames.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// What the caller of a frame learns about its end: status, question, results, artifacts, decisions, and what
/// is still open below it. `characters` is the maximum length of each text.
fn report(tree: &Tree, handle: Handle, characters: usize, tools: &ToolNames) -> Vec<String> {
    let node = tree.node(handle);
    let frame = node.record();
    let mut lines = vec![format!("{} is {}.", name(tree, handle), frame.status)];
    // The results of a salvaged frame say why it is blocked.
    let question = frame.current_question().filter(|_| !(frame.is_salvaged() && frame.has_salvaged_results()));
    let question = question.map(|current| current.question.as_str()).unwrap_or_default();
    let answer = frame.pending_answer().unwrap_or_default();
    let results = frame.results.as_deref().unwrap_or_default();
    let heading = if frame.has_partial_results() { "Results so far" } else { "Results" };
    for (heading, text) in [("It waits for", question), ("It was answered", answer), (heading, results)] {
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        let shown = beginning(text, characters);
        let cut = match tools.get(ToolRole::Details) {
            _ if shown.len() == text.len() => String::new(),
            Some(details) => format!("… ({details} {handle} has all)"),
            None => "… (cut)".to_owned(),
        };
        lines.push(format!("{heading}: {}{cut}", hanging_indent(shown)));
    }
    for (heading, entries) in [("Artifacts", &frame.artifacts), ("Decisions", &frame.decisions)] {
        if !entries.is_empty() {
            let (shown, skipped) = newest_lines(entries, LISTED, "; ");
            let older = if skipped > 0 { format!(" (and {skipped} older)") } else { String::new() };
            lines.push(format!("{heading}: {shown}{older}"));
        }
    }
    let earlier = node.retry_of().map(|earlier| (earlier, format!("{earlier}, the attempt before")));
    for (above, named) in [(handle, "it".to_owned())].into_iter().chain(earlier) {
        let open = tree.unfinished_below(above).filter(|below| tree.node(*below).status().is_open());
        let open: Vec<Handle> = open.collect();
        if !open.is_empty() {
            lines.push(format!("Still open below {named}: {}.", listed(&open)));
        }
    }
    lines
}

/// A frame with its title, on one line, such as `f1 (Shop)`: no part of a title can look like another line of
/// an answer. A long title is cut.
pub(crate) fn name(tree: &Tree, handle: Handle) -> String {
    let title = one_line(tree.node(handle).title());
    let shown = &title[..floor_char_boundary(&title, LONGEST_TITLE)];
    let cut = if shown.len() < title.len() { " …" } else { "" };
    format!("{handle} ({shown}{cut})")
}

/// How the caller of a failed frame retries it.
fn begin_anew(handle: Handle, tools: &ToolNames) -> String {
    match tools.get(ToolRole::Activate) {
        Some(activate) => format!("{activate} {handle} with retry starts it over, with what it has learned"),
        None => "Retry it, with what it has learned".to_owned(),
    }
}

/// The next steps for the caller of a blocked frame.
fn resume_or_give_up(handle: Handle, is_asking: bool, tools: &ToolNames) -> String {
    let answer = if is_asking { " with the answer" } else { "" };
    let resume = match tools.get(ToolRole::Activate) {
        Some(activate) => format!("{activate} {handle}{answer} resumes where it stopped, with retry it starts over"),
        None => format!("activate {handle}{answer} to resume where it stopped, or retry it"),
    };
    let give_up = match tools.get(ToolRole::Invalidate) {
        Some(invalidate) => format!("{invalidate} {handle} gives it up"),
        None => "invalidate it to give it up".to_owned(),
    };
    format!("Next: {resume}; {give_up}.")
}

/// The advice on the next step after a frame: a sibling that is answered, ready or was interrupted. `None`:
/// no other sibling is planned.
pub(crate) fn next(tree: &Tree, handle: Handle, tools: &ToolNames) -> Option<String> {
    let status = |sibling: Handle| tree.node(sibling).status();
    let planned = || tree.siblings(handle).filter(|sibling| status(*sibling) == FrameStatus::Planned);
    let activate = tools.get(ToolRole::Activate).unwrap_or("activate");
    let was_interrupted = |sibling: &Handle| tree.node(*sibling).record().is_interrupted();
    let is_answered = |sibling: &Handle| tree.node(*sibling).record().pending_answer().is_some();
    if let Some(sibling) = tree.siblings(handle).find(is_answered) {
        return Some(format!("Next: {activate} {}, which is answered.", name(tree, sibling)));
    }
    let parent = tree.node(handle).parent();
    if let Some(sibling) = parent.and_then(|parent| tree.ready_children(parent, None).next()) {
        return Some(format!("Next: {activate} {}.", name(tree, sibling)));
    }
    if let Some(sibling) = tree.siblings(handle).find(was_interrupted) {
        return Some(format!("Next: {activate} {} resumes it; it was interrupted.", name(tree, sibling)));
    }
    let waiting = planned().find_map(|sibling| Some((sibling, tree.unfinished_dependencies(sibling).next()?)));
    let (sibling, dependency) = waiting?;
    let names = [sibling, dependency].map(|frame| name(tree, frame));
    Some(format!("Next: {} waits for {}, which is {}.", names[0], names[1], status(dependency)))
}

/// The advice on the next step for the caller of a frame that has ended: a sibling, or its own frame.
fn next_or_own(tree: &Tree, handle: Handle, tools: &ToolNames) -> String {
    let own = || "Next: nothing else is planned beside it; continue your own frame.".to_owned();
    next(tree, handle, tools).unwrap_or_else(own)
}
