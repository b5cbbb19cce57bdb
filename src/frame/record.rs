//! The record of a frame, with the JSON names of the specification, and the parameters of a new frame.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::{
    Chunk, ConversationCost, FrameLimits, FrameRef, FrameStatus, Handle, Holder, HolderKind, ModelUsage, Origin,
    Priority, Question, Registers, Release, SummaryRequest, marks,
};

/// Prefix of the IDs of frames that have no session yet.
pub(crate) const PLANNED_PREFIX: &str = "plan-";

/// The beginning of the results of a salvaged frame. The reason and the work that was done follow, then `]`
/// and the words of the session.
pub const SALVAGED: &str = "[auto-completed: ";

/// The complete record of a frame, with the JSON names of the specification (`FrameMetadata` in its
/// implementation document).
///
/// Times are in milliseconds since the Unix epoch. Keys that the specification does not have (`task`,
/// `priority`, `labels`, `assignee`, `correctedAt`, `begunAt`, `dependsOn`, `placeholder`, `deliveredAt`,
/// `forgottenAt`, `questions`, `holder`, `summaryRequest`, `usage`, `limits`, `costs`, `heap`, `registers`,
/// `retryOf`, `childOrder`, `noWork`, `origin`) are omitted when empty; keys that this version does not know
/// are kept in [`Frame::extra`] and written back.
///
/// ```json
/// {"sessionID": "ses_2", "parentSessionID": "ses_1", "status": "completed", "title": "Shopping cart",
///  "successCriteria": "Totals are right", "successCriteriaCompacted": "", "results": "Cart in src/cart.rs",
///  "resultsCompacted": "src/cart.rs: Cart::total()", "createdAt": 1795293106903, "updatedAt": 1795293106950,
///  "artifacts": ["src/cart.rs"], "decisions": []}
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "FrameRecord"))]
#[serde(rename_all = "camelCase", default)]
pub struct Frame {
    /// The frame's ID: the ID of the host's session, or `plan-…` until a planned frame gets a session.
    #[serde(rename = "sessionID")]
    pub session_id: String,
    /// ID of the parent; absent for a root.
    #[serde(rename = "parentSessionID", skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<String>,
    /// The status. Default `planned`.
    pub status: FrameStatus,
    /// Short name, two to five words.
    pub title: String,
    /// Success criteria: checkable conditions for the completion of the frame.
    pub success_criteria: String,
    /// Compacted success criteria, for prompts. Empty: prompts use the full criteria.
    pub success_criteria_compacted: String,
    /// The full instruction: what is to be done, what is known, what is to be returned. At most
    /// [`Frame::LONGEST_TASK`] characters. The frame's own context shows it, and the prompt for its session;
    /// contexts of other frames do not.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub task: String,
    /// How urgent the frame is. `None`: as urgent as the frame above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Words of a team for the frame, such as `backend`, by which lists are filtered. At most
    /// [`Frame::MOST_LABELS`], each at most [`Frame::LONGEST_LABEL`] characters. Contexts do not show them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The person or agent that does the work. Workers of other names leave the frame to them. Contexts do
    /// not show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    /// Time at which a person has corrected the words of the frame while it was open, in milliseconds since
    /// the Unix epoch. Conversations may still hold the earlier words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrected_at: Option<u64>,
    /// Full results: a description of the achieved work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results: Option<String>,
    /// Compacted results, for the prompts of parents and siblings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results_compacted: Option<String>,
    /// Time of creation, in milliseconds since the Unix epoch.
    pub created_at: u64,
    /// Time at which the frame was begun, in milliseconds since the Unix epoch, if it was planned before.
    /// Other frames were begun when they were created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begun_at: Option<u64>,
    /// Time of the last change, in milliseconds since the Unix epoch.
    pub updated_at: u64,
    /// Files and other resources that the work produced, without duplicates.
    pub artifacts: Vec<String>,
    /// Decisions made during the work, oldest first.
    pub decisions: Vec<String>,
    /// IDs of the frames whose results this frame needs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// Path of the frame's full log, if there is one: relative to the stack's folder or absolute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_path: Option<String>,
    /// Reason for the invalidation, if the frame was invalidated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalidation_reason: Option<String>,
    /// Time of the invalidation, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalidated_at: Option<u64>,
    /// IDs of the children that are still planned. Derived from the tree. As in the files of the original
    /// plugin, a planned frame has the key even if the list is empty; other frames omit an empty list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned_children: Option<Vec<String>>,
    /// IDs of all children in their order, if that is not the order of their creation. Derived from the tree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub child_order: Vec<String>,
    /// True if the frame was created only because its session appeared, and no call has set its title and
    /// criteria for good. Until then they follow the session's title and what the person writes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub placeholder: bool,
    /// Time at which the conversation of the parent received the results of this frame, in milliseconds since
    /// the Unix epoch. Absent if that is not known: then the context of the parent shows the results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivered_at: Option<u64>,
    /// Time at which the frame's own conversation was compacted or started again, in milliseconds since the
    /// Unix epoch. The conversation holds only those results of children that were delivered after this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forgotten_at: Option<u64>,
    /// What the frame has waited for, with the answers, oldest first. The last one is open while the frame is
    /// blocked. A blocked frame without questions waits for what its results say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// Who works on the frame, or worked on it last: then it says how the frame was let go. Absent if the
    /// frame never had a holder: it was begun by hand, or not at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<Box<Holder>>,
    /// The summary that was requested of the frame's conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_request: Option<Box<SummaryRequest>>,
    /// The frame's own requests to models: their sums, an entry for each model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub usage: Vec<ModelUsage>,
    /// What the frame may do and spend. Absent: what the frame above it may do and spend.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Box<FrameLimits>>,
    /// The costs of the frame's conversations, if their host tells costs of conversations. Costs of requests
    /// are in `usage`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<ConversationCost>,
    /// The frame's own chunks on the heap, in order of allocation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub heap: Vec<Chunk>,
    /// The frame's registers, if it uses any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registers: Option<Box<Registers>>,
    /// ID of the attempt before this one, if this frame is a retry: that attempt is a sibling that has
    /// failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<String>,
    /// What the frame is if it is not work, in a word: a record of another tool that is kept for what it says
    /// (`message`), or a frame that only holds other frames together (`tag`). No actor begins such a frame.
    /// If it has parts, or depends on other frames, it is completed when these are completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_work: Option<String>,
    /// What the file said of the frame when it was imported. Absent for frames that were made here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Box<Origin>>,
    /// Keys of the file that this version does not know. If a documented key is among them, it is renamed
    /// when the frame is added to a tree: `status` becomes `status (unreadable)`. A value nested more than
    /// 100 levels deep, which JSON readers could refuse, is replaced by a text that states this.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The documented keys of a frame's file: those of a frame in JSON, the revision, and the handle.
#[rustfmt::skip]
const KEYS: &[&str] = &[
    "sessionID", "parentSessionID", "status", "title", "successCriteria", "successCriteriaCompacted", "task", "priority", "labels",
    "assignee", "correctedAt", "results",
    "resultsCompacted", "createdAt", "begunAt", "updatedAt", "artifacts", "decisions", "dependsOn", "logPath",
    "invalidationReason", "invalidatedAt", "plannedChildren", "placeholder", "deliveredAt", "forgottenAt",
    "questions", "holder", "summaryRequest", "usage", "limits", "costs", "heap", "registers", "retryOf", "childOrder", "noWork",
    "origin",
    REVISION_KEY, HANDLE_KEY,
];

/// The keys of a frame's file that hold the revision of the tree at which the file was written, and the
/// frame's handle. Records have no such keys.
const REVISION_KEY: &str = "revision";
const HANDLE_KEY: &str = "handle";

/// The content of a frame's file: the record, the revision of the tree whose frame it shows, and the frame's
/// handle. Files of the original plugin have no revision and no handle.
#[derive(Serialize)]
pub(crate) struct FrameFile<'a> {
    #[serde(flatten)]
    pub(crate) frame: &'a Frame,
    pub(crate) revision: u64,
    pub(crate) handle: Handle,
}

impl Frame {
    /// Maximum length of an ID, in characters. IDs become variables and arguments of commands, names in notes
    /// and lines in messages, and systems refuse to start a command with a long variable.
    pub const LONGEST_ID: usize = 1_000;
    /// Maximum length of a task, in characters.
    pub const LONGEST_TASK: usize = 100_000;
    /// Maximum length of a label, in characters.
    pub const LONGEST_LABEL: usize = 100;
    /// Maximum number of labels.
    pub const MOST_LABELS: usize = 50;

    /// The title and criteria.
    pub fn identity(&self) -> Identity {
        Identity {
            title: self.title.clone(),
            success_criteria: self.success_criteria.clone(),
            success_criteria_compacted: self.success_criteria_compacted.clone(),
        }
    }

    /// The compacted criteria, or the full criteria if the compacted ones are blank.
    pub fn dense_criteria(&self) -> &str {
        first_filled(&self.success_criteria_compacted, &self.success_criteria)
    }

    /// The compacted results, or the full results if the compacted ones are blank. Empty if the frame has
    /// no results.
    pub fn dense_results(&self) -> &str {
        let [compacted, full] =
            [&self.results_compacted, &self.results].map(|text| text.as_deref().unwrap_or_default());
        first_filled(compacted, full)
    }

    /// Who has the frame, also if the lease has ended and this was not noticed yet. [`Holder::holds`] says
    /// whether the holder has it at a given time.
    pub fn held_by(&self) -> Option<&Holder> {
        self.holder.as_deref().filter(|holder| holder.released.is_none())
    }

    /// The host that runs the frame by a call.
    pub fn host(&self) -> Option<&Holder> {
        self.held_by().filter(|holder| holder.kind == HolderKind::Host)
    }

    /// The worker that has the frame, or was the last worker that had it if no other actor has resumed it
    /// since.
    pub fn worker(&self) -> Option<&Holder> {
        self.holder.as_deref().filter(|holder| holder.kind == HolderKind::Worker)
    }

    /// Why the frame is interrupted, as a part of a sentence.
    pub fn interruption(&self) -> String {
        match self.holder.as_deref() {
            Some(holder) if holder.kind != HolderKind::Host && !holder.name.is_empty() => {
                format!("{} has ended, or has not been heard of for too long", holder.described())
            }
            _ => "the host that ran it has ended".to_owned(),
        }
    }

    /// True if the frame is in progress, and its last holder was silent until the end of its lease. The frame
    /// can be resumed.
    pub fn is_interrupted(&self) -> bool {
        let release = self.holder.as_deref().and_then(|holder| holder.released.as_ref());
        self.status == FrameStatus::InProgress && release.is_some_and(|release| release.how == Release::Interrupted {})
    }

    /// True if the frame was reopened, and no actor has begun to work on it since.
    #[cfg(feature = "session")]
    pub(crate) fn waits_since_reopened(&self) -> bool {
        let is_reopened = self.questions.last().is_some_and(|question| question.reopening().is_some());
        let is_left = self
            .holder
            .as_deref()
            .is_none_or(|holder| holder.released.as_ref().is_some_and(|release| release.how == Release::Ended {}));
        self.status == FrameStatus::InProgress && is_reopened && is_left
    }

    /// True if the frame has this label, in any letter case.
    pub fn has_label(&self, label: &str) -> bool {
        marks::have(&self.labels, label)
    }

    /// True if the frame is assigned to a person or agent with this name, in any letter case.
    pub fn is_assigned_to(&self, name: &str) -> bool {
        self.assignee.as_ref().is_some_and(|assignee| assignee.to_lowercase() == name.to_lowercase())
    }

    /// True if the worker with this name may take the frame: the frame has no assignee, or is assigned to
    /// this worker, or this worker was the last one that had it. A number behind the name tells jobs of one
    /// worker apart: `bob-2` is `bob` too.
    pub fn is_for_worker(&self, name: &str) -> bool {
        let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let without_number = name.rsplit_once('-').filter(|(_, end)| number(end)).map(|(name, _)| name);
        self.assignee.is_none()
            || self.is_assigned_to(name)
            || without_number.is_some_and(|name| self.is_assigned_to(name))
            || self.worker().is_some_and(|worker| worker.name == name)
    }

    /// True if the frame was planned before it was begun.
    pub fn was_planned(&self) -> bool {
        self.begun_at.is_some()
    }

    /// The question of a blocked frame, with its answer if it has one. `None` if the frame is not blocked, or
    /// was blocked without a question; then its results say what it waits for.
    pub fn current_question(&self) -> Option<&Question> {
        self.questions.last().filter(|_| self.status == FrameStatus::Blocked)
    }

    /// True if the frame is blocked before it has begun: it waits for an answer, or for a time. All work
    /// below it waits too.
    pub fn waits_to_begin(&self) -> bool {
        self.current_question().is_some_and(|question| question.unbegun && question.answer.is_none())
    }

    /// True if the frame has waited until a time before it could begin, and does not wait any more because
    /// that time has come.
    pub(crate) fn has_waited_long_enough(&self) -> bool {
        let is_over = matches!(self.status, FrameStatus::Planned | FrameStatus::InProgress) && self.begun_at.is_none();
        let wait = self.questions.last().filter(|question| question.unbegun && is_over);
        wait.is_some_and(|wait| wait.until.is_some_and(|until| wait.answered_at >= Some(until)))
    }

    /// What a blocked frame waits for: its question, or its results if it was blocked without a question.
    /// Empty if that was not said, or if the frame is not blocked.
    pub fn waits_for(&self) -> &str {
        match self.current_question() {
            Some(current) => &current.question,
            None if self.status == FrameStatus::Blocked => self.dense_results(),
            None => "",
        }
    }

    /// The answer with which a blocked frame can be resumed. `None` if the frame is not blocked or has no
    /// answer yet.
    pub fn pending_answer(&self) -> Option<&str> {
        self.current_question()?.answer.as_deref()
    }

    /// Why a frame that others may depend on has no results for them: the reason of its invalidation, or the
    /// results of its failure. `None` if it can still be completed, or was.
    pub fn lost_because(&self) -> Option<&str> {
        match self.status {
            FrameStatus::Failed => Some(self.dense_results()),
            FrameStatus::Invalidated => Some(self.invalidation_reason.as_deref().unwrap_or_default()),
            _ => None,
        }
    }

    /// True if the frame has the ID of a session. False if its ID was generated because it has no session
    /// yet, or if its ID comes from an imported plan.
    pub fn has_session(&self) -> bool {
        let is_of_plan = || self.origin.as_ref().is_some_and(|origin| self.session_id.ends_with(&origin.id));
        !self.session_id.starts_with(PLANNED_PREFIX) && !is_of_plan()
    }

    /// The session in whose conversation the frame is worked on, if the session has another frame of its own:
    /// the ID of the frame is then [`Frame::id_in_conversation`]. `None` if the frame has a session of its
    /// own, or no session yet.
    pub fn conversation(&self) -> Option<&str> {
        let (session_id, handle) = self.session_id.rsplit_once('~')?;
        handle.parse::<Handle>().is_ok().then_some(session_id)
    }

    /// The ID of a frame that is worked on in the conversation of this session, which has another frame of
    /// its own: `ses_1~f4`.
    pub fn id_in_conversation(session_id: &str, handle: Handle) -> String {
        format!("{session_id}~{handle}")
    }

    /// True if the frame is open and its results are its results so far, and do not say what it waits for.
    pub fn has_partial_results(&self) -> bool {
        let is_reason = self.status == FrameStatus::Blocked && self.questions.is_empty();
        self.status.is_open() && self.results.is_some() && !is_reason
    }

    /// True if the frame is blocked because its work was interrupted: its session has ended without a pop: of
    /// its own accord, with an error, by an abort, at a limit, or because it was stopped. Its results so far
    /// are then what its session has said last, marked with [`SALVAGED`], unless it has better ones.
    pub fn is_salvaged(&self) -> bool {
        match self.questions.last() {
            Some(last) => self.status == FrameStatus::Blocked && last.interruption,
            // Earlier versions recorded no question.
            None => self.status == FrameStatus::Blocked && self.has_salvaged_results(),
        }
    }

    /// The full results without the mark of a salvage: what the session itself has said. Empty if there are
    /// no results.
    #[cfg(feature = "session")]
    pub(crate) fn said_results(&self) -> &str {
        let mut said = self.results.as_deref().unwrap_or_default();
        while let Some((_, words)) = said.strip_prefix(SALVAGED).and_then(|rest| rest.split_once("] ")) {
            said = words;
        }
        said
    }

    /// True if the results are the last words of an interrupted session, with the reason.
    pub(crate) fn has_salvaged_results(&self) -> bool {
        self.results.as_ref().is_some_and(|results| results.starts_with(SALVAGED))
    }

    /// Removes the revision from a record that was read from a frame's file, and returns it; 0 if the file
    /// has none.
    pub(crate) fn take_revision(&mut self) -> u64 {
        let revision = self.extra.get(REVISION_KEY).and_then(Value::as_u64);
        if revision.is_some() {
            self.extra.remove(REVISION_KEY);
        }
        revision.unwrap_or(0)
    }

    /// Removes the handle from a record that was read from a frame's file, and returns it. `None` if the file
    /// has none.
    pub(crate) fn take_handle(&mut self) -> Option<Handle> {
        let handle = self.extra.get(HANDLE_KEY)?.as_str()?.parse().ok()?;
        self.extra.remove(HANDLE_KEY);
        Some(handle)
    }

    /// Renames extra keys that equal documented keys. Otherwise the JSON would contain a key twice and
    /// could not be read again.
    pub(crate) fn separate_extra_keys(&mut self) {
        if self.extra.is_empty() {
            return;
        }
        leave_out_too_deep(&mut self.extra);
        for key in KEYS {
            if let Some(value) = self.extra.remove(*key) {
                self.extra.insert(format!("{key} (unreadable)"), value);
            }
        }
    }
}

/// Maximum nesting depth of a value. The JSON reader stops at 128 levels, and the stored documents nest
/// a record a few levels deep.
const DEEPEST: usize = 100;

/// True if a value is nested too deep to be read again. Iterative, so a deep value cannot overflow the
/// thread's stack.
pub(crate) fn is_too_deep(value: &Value) -> bool {
    let mut pending = vec![(value, 0)];
    while let Some((value, depth)) = pending.pop() {
        if depth > DEEPEST {
            return true;
        }
        match value {
            Value::Array(values) => pending.extend(values.iter().map(|value| (value, depth + 1))),
            Value::Object(entries) => pending.extend(entries.values().map(|value| (value, depth + 1))),
            _ => {}
        }
    }
    false
}

/// Replaces values that are nested too deep by a text that states this.
pub(crate) fn leave_out_too_deep(entries: &mut Map<String, Value>) {
    for value in entries.values_mut().filter(|value| is_too_deep(value)) {
        *value = format!("nested more than {DEEPEST} levels deep; left out").into();
    }
}

/// The first text, or the second one if the first is blank.
pub(crate) fn first_filled<'a>(first: &'a str, second: &'a str) -> &'a str {
    if first.trim().is_empty() { second } else { first }
}

impl Default for FrameStatus {
    /// `Planned`: the status of a record without a `status`.
    fn default() -> Self {
        FrameStatus::Planned
    }
}

/// The immutable part of a frame: title and success criteria.
///
/// In JSON: `{"title": "API routes", "successCriteria": "CRUD works", "successCriteriaCompacted": "CRUD"}`.
/// Only `title` is required.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// Short name, two to five words.
    pub title: String,
    /// Success criteria: checkable conditions for the completion of the frame. Default: empty.
    #[serde(default)]
    pub success_criteria: String,
    /// Compacted success criteria, for prompts. Default: empty; prompts then use the full criteria.
    #[serde(default)]
    pub success_criteria_compacted: String,
}

/// The results of a frame: a full text, and a dense one for the prompts of other frames.
///
/// ```
/// use callstack_core::Results;
/// let results = Results::new("JWT with refresh tokens in src/auth.rs, 12 tests").compacted("JWT in src/auth.rs");
/// assert_eq!(results.dense(), "JWT in src/auth.rs");
/// assert_eq!(Results::from("JWT").dense(), "JWT", "without a dense text the full one is used");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Results {
    /// The full text.
    pub full: String,
    /// The dense text; empty: the full text is used in its place.
    pub compacted: String,
}

impl Results {
    /// Results without a dense text.
    pub fn new(full: impl Into<String>) -> Self {
        Self { full: full.into(), compacted: String::new() }
    }

    /// Sets the dense text.
    #[must_use]
    pub fn compacted(mut self, compacted: impl Into<String>) -> Self {
        self.compacted = compacted.into();
        self
    }

    /// The dense text, or the full one if the dense one is blank.
    pub fn dense(&self) -> &str {
        first_filled(&self.compacted, &self.full)
    }
}

impl From<&str> for Results {
    fn from(full: &str) -> Self {
        Self::new(full)
    }
}

impl From<String> for Results {
    fn from(full: String) -> Self {
        Self::new(full)
    }
}

/// The parent of a new frame. In JSON a reference to the parent (handle, ID or prefix of an ID), or null for
/// a root.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Parent {
    /// The open frame of the calling session, or else the nearest open frame above it. A session without a
    /// frame gets a root. Without a calling session, the parent is the frame that the worker of the command
    /// holds, or else the active frame. If there is no active frame either, the new frame becomes a root.
    #[default]
    Auto,
    /// No parent: the frame becomes a root.
    Root,
    /// This frame.
    Frame(FrameRef),
}

impl<F: Into<FrameRef>> From<F> for Parent {
    fn from(frame: F) -> Self {
        Parent::Frame(frame.into())
    }
}

impl<'de> Deserialize<'de> for Parent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parent = Option::<FrameRef>::deserialize(deserializer)?;
        Ok(parent.map_or(Parent::Root, Parent::Frame))
    }
}

/// The parameters of a frame to push or plan.
///
/// ```
/// use callstack_core::{NewFrame, Stack};
///
/// let stack = Stack::in_memory();
/// let root = stack.push(NewFrame::new("Build the API").id("ses_1"))?;
/// let routes = stack.plan(NewFrame::new("API routes").criteria("CRUD works").below(root))?;
/// let cache = stack.plan(NewFrame::new("Caching").below(root).depends_on(routes))?;
/// assert_eq!(stack.read(|tree| tree.ready().collect::<Vec<_>>())?, [routes]);
/// # let _ = cache;
/// # Ok::<(), callstack_core::Error>(())
/// ```
///
/// In JSON (only `title` is required, unknown keys are rejected):
///
/// ```json
/// {"sessionID": "ses_7", "title": "API routes", "successCriteria": "CRUD works", "successCriteriaCompacted": "CRUD",
///  "task": "The routes of docs/api.md, in src/routes.rs. Return the paths.", "priority": 1, "labels": ["backend"],
///  "assignee": "anna", "limits": {"maxTokens": 90000}, "parent": "f1", "caller": "ses_1", "dependsOn": ["auth"]}
/// ```
///
/// In JSON `"parent": null` makes the frame a root; without `parent`, [`Parent::Auto`] chooses it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(!from, rename_all = "camelCase", deny_unknown_fields))]
#[serde(from = "FlatNewFrame")]
#[non_exhaustive]
pub struct NewFrame {
    /// The frame's ID: the ID of the host's session, at most 1,000 characters. `None`: an ID of the form
    /// `plan-…` is generated.
    #[cfg_attr(feature = "schema", schemars(rename = "sessionID"))]
    pub session_id: Option<String>,
    /// Title and criteria.
    #[cfg_attr(feature = "schema", schemars(flatten))]
    pub identity: Identity,
    /// The full instruction ([`Frame::task`]). Default: empty.
    #[cfg_attr(feature = "schema", schemars(default))]
    pub task: String,
    /// How urgent the frame is. `None`: as urgent as the frame above it.
    pub priority: Option<Priority>,
    /// Words of a team for the frame ([`Frame::labels`]). Default: none.
    #[cfg_attr(feature = "schema", schemars(default))]
    pub labels: Vec<String>,
    /// The person or agent that does the work ([`Frame::assignee`]). Default: any person or agent.
    pub assignee: Option<String>,
    /// What the frame may do and spend. Default: what the frame above it may do and spend.
    #[cfg_attr(feature = "schema", schemars(default))]
    pub limits: FrameLimits,
    /// The frame above the new one; null makes it a root. Default: the open frame of the session `caller`, or
    /// the nearest open frame above it; without `caller` the active frame, if there is one.
    #[cfg_attr(feature = "schema", schemars(default, with = "Option<FrameRef>"))]
    pub parent: Parent,
    /// ID of the calling session, in whose tree the parent is found if `parent` is absent.
    pub caller: Option<String>,
    /// The frames whose results the new frame needs.
    #[cfg_attr(feature = "schema", schemars(default))]
    pub depends_on: Vec<FrameRef>,
}

/// The JSON form of [`NewFrame`]: title and criteria are at the top level.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FlatNewFrame {
    #[serde(rename = "sessionID")]
    session_id: Option<String>,
    title: String,
    #[serde(default)]
    success_criteria: String,
    #[serde(default)]
    success_criteria_compacted: String,
    #[serde(default)]
    task: String,
    priority: Option<Priority>,
    #[serde(default)]
    labels: Vec<String>,
    assignee: Option<String>,
    #[serde(default)]
    limits: FrameLimits,
    #[serde(default)]
    parent: Parent,
    caller: Option<String>,
    #[serde(default)]
    depends_on: Vec<FrameRef>,
}

impl From<FlatNewFrame> for NewFrame {
    fn from(frame: FlatNewFrame) -> Self {
        let FlatNewFrame { title, success_criteria, success_criteria_compacted, .. } = frame;
        Self {
            session_id: frame.session_id,
            identity: Identity { title, success_criteria, success_criteria_compacted },
            task: frame.task,
            priority: frame.priority,
            labels: frame.labels,
            assignee: frame.assignee,
            limits: frame.limits,
            parent: frame.parent,
            caller: frame.caller,
            depends_on: frame.depends_on,
        }
    }
}

impl NewFrame {
    /// Creates the parameters of a frame with this title. The title must not be empty.
    pub fn new(title: impl Into<String>) -> Self {
        Self { identity: Identity { title: title.into(), ..Identity::default() }, ..Self::default() }
    }

    /// Sets the ID, which is usually the ID of the host's session.
    pub fn id(mut self, session_id: impl Into<String>) -> Self {
        self.session_id = Some(session_id.into());
        self
    }

    /// Sets the success criteria.
    pub fn criteria(mut self, criteria: impl Into<String>) -> Self {
        self.identity.success_criteria = criteria.into();
        self
    }

    /// Sets the compacted success criteria, which prompts show.
    pub fn criteria_compacted(mut self, criteria: impl Into<String>) -> Self {
        self.identity.success_criteria_compacted = criteria.into();
        self
    }

    /// Sets the full instruction.
    pub fn task(mut self, task: impl Into<String>) -> Self {
        self.task = task.into();
        self
    }

    /// Sets how urgent the frame is.
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Adds a label.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.labels.push(label.into());
        self
    }

    /// Sets the person or agent that does the work.
    pub fn assignee(mut self, assignee: impl Into<String>) -> Self {
        self.assignee = Some(assignee.into());
        self
    }

    /// Sets what the frame may do and spend.
    pub fn limits(mut self, limits: FrameLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the parent.
    pub fn below(mut self, parent: impl Into<FrameRef>) -> Self {
        self.parent = Parent::Frame(parent.into());
        self
    }

    /// Makes the frame a root.
    pub fn root(mut self) -> Self {
        self.parent = Parent::Root;
        self
    }

    /// Sets the ID of the calling session.
    pub fn caller(mut self, session_id: impl Into<String>) -> Self {
        self.caller = Some(session_id.into());
        self
    }

    /// Adds a frame whose results the new frame needs.
    pub fn depends_on(mut self, dependency: impl Into<FrameRef>) -> Self {
        self.depends_on.push(dependency.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_keys_are_those_of_a_frames_file() {
        let full = Frame {
            parent_session_id: Some(String::new()),
            task: "text".into(),
            priority: Some(Priority::NORMAL),
            labels: vec![String::new()],
            assignee: Some(String::new()),
            corrected_at: Some(1),
            begun_at: Some(1),
            results: Some(String::new()),
            results_compacted: Some(String::new()),
            depends_on: vec![String::new()],
            log_path: Some(String::new()),
            invalidation_reason: Some(String::new()),
            invalidated_at: Some(1),
            planned_children: Some(Vec::new()),
            child_order: vec![String::new()],
            placeholder: true,
            delivered_at: Some(1),
            forgotten_at: Some(1),
            questions: vec![Question::default()],
            holder: Some(Box::default()),
            summary_request: Some(Box::default()),
            usage: vec![ModelUsage::default()],
            limits: Some(Box::default()),
            costs: vec![ConversationCost::default()],
            heap: vec![Chunk::default()],
            registers: Some(Box::default()),
            retry_of: Some(String::new()),
            no_work: Some(String::new()),
            origin: Some(Box::default()),
            ..Frame::default()
        };
        let file = FrameFile { frame: &full, revision: 1, handle: Handle::from_index(0).unwrap() };
        let Ok(Value::Object(written)) = serde_json::to_value(&file) else { panic!("a file is an object") };
        let mut keys = KEYS.to_vec();
        keys.sort_unstable();
        let mut written: Vec<&str> = written.keys().map(String::as_str).collect();
        written.sort_unstable();
        assert_eq!(written, keys);
    }
}
