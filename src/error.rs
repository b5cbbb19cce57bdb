//! The errors of the crate: one variant for each problem that a caller can act on.

use std::fmt;

use serde::{Serialize, Serializer};

pub use crate::error_source::ErrorSource;
use crate::frame::{FrameStatus, Handle, StateError, reference_to_id, shown, shown_message};

/// The unit of a budget. In JSON `"tokens"` or `"bytes"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum BudgetUnit {
    /// Tokens, as [`Budget::total`](crate::Budget::total).
    Tokens,
    /// Bytes, as [`Budget::bytes`](crate::Budget::bytes).
    Bytes,
}

impl BudgetUnit {
    fn setting(self) -> &'static str {
        match self {
            Self::Tokens => "the total budget",
            Self::Bytes => "the budget in bytes",
        }
    }
}

impl fmt::Display for BudgetUnit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Tokens => "tokens",
            Self::Bytes => "bytes",
        })
    }
}

/// The error of a failed call: the problem, the thing that it concerns, and what the caller can do.
///
/// The message (`Display`) is for the caller, often an agent; [`Error::code`] is for programs. In JSON an
/// error is an object of its fields: `{"handle": "f3", "total": 100, "needed": 214, "unit": "tokens"}`.
///
/// # After a failed call
///
/// A failed command changes neither the tree nor the history in the store, and the next call works. The
/// exceptions:
///
/// - **Failure during the commit.** If the store fails while it commits, the call cannot know whether the
///   commit was kept. If it was, the next command or [`Stack::refresh`](crate::Stack::refresh) reads its
///   events from the store. A store on a server finds it out itself as soon as it reaches the server again;
///   [`Error::Disconnected`] says whether it could.
/// - **Logs of runs.** [`Run::next`](crate::stack::Run::next), [`Run::reply`](crate::stack::Run::reply),
///   [`Run::operate`](crate::stack::Run::operate) and [`Run::answer`](crate::stack::Run::answer) append the
///   messages of a run to the full log of their frame before they commit, and take them back if the call
///   fails. If the commit fails and the store cannot say whether it was kept, or if the process dies in
///   between, the log keeps messages that were not committed. When the step is repeated, they are in the log
///   twice.
/// - **Other logs.** [`FrameLog::append`](crate::stack::FrameLog::append) removes its lines from the log if
///   the commit fails. The lines stay if the removal fails too, or if another process has appended lines
///   after them. An empty log file can stay.
/// - **Renamed files.** A file that already has the name of a frame's new log is renamed before the commit,
///   and stays renamed if the commit fails. If the new ID of a frame is not committed, its log can keep a
///   second name.
/// - **Files next to the store.** [`Files::flush`](crate::stack::Files::flush),
///   [`Stack::close`](crate::Stack::close) and [`Files::export`](crate::stack::Files::export) can have
///   written some of their files.
/// - **Several commits.** `tools::advance_run` commits each tool call separately; if one fails, the earlier
///   ones stay.
///
/// A failed command can also apply events to the tree that other processes committed before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(!untagged))]
#[serde(untagged, rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Error {
    /// No frame has this handle, this ID, an ID with this beginning, this title, or a title with this
    /// beginning.
    #[error("no frame matches `{}`{}", shown(.reference), advice_on_unknown(.reference, .handle, .similar))]
    UnknownFrame {
        /// The reference that the caller gave.
        reference: String,
        /// The frame whose ID is the reference, if the reference has the form of a handle and was therefore
        /// not read as an ID (see [`FrameRef`](crate::FrameRef)).
        #[serde(skip_serializing_if = "Option::is_none")]
        handle: Option<Handle>,
        /// Up to three frames with titles that are much like the reference, each as `handle (title, status)`.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        similar: Vec<String>,
    },
    /// Several frames match: their IDs begin with the reference, or their titles are the reference or begin
    /// with it.
    #[error("`{}` matches several frames: {}; give the handle of one, or a longer part of its ID", shown(.reference), listed(.candidates))]
    AmbiguousFrame {
        /// The reference that the caller gave.
        reference: String,
        /// Up to eight of the matching frames, each as `handle (ID)`, or as `handle (title, status)` if the
        /// title matches. An ID that has the form of a handle has `id:` before it.
        candidates: Vec<String>,
    },
    /// Another frame already has the ID.
    #[error("the ID `{}` already belongs to frame {handle}; choose another ID", shown(.session_id))]
    DuplicateId {
        /// The ID in question.
        #[serde(rename = "sessionID")]
        session_id: String,
        /// The frame that has the ID.
        handle: Handle,
    },
    /// A required text is empty or has only white space.
    #[error("`{field}` is empty; give it a value")]
    Empty {
        /// The field's documented name.
        field: &'static str,
    },
    /// The table of legal transitions ([`FrameStatus::can_become`]) does not contain this one.
    #[error("frame {handle} is {from} and cannot become {to}; {}", .from.advice(*.to))]
    Transition {
        /// The frame.
        handle: Handle,
        /// Its current status.
        from: FrameStatus,
        /// The requested status.
        to: FrameStatus,
    },
    /// The parent is completed, failed or invalidated. A new frame needs a parent that is in_progress or
    /// blocked; a planned frame can also be below a planned one.
    #[error("frame {handle} is {status}, so nothing can begin or resume below it; {}", .status.advice_instead_of_children())]
    ParentClosed {
        /// The requested parent.
        handle: Handle,
        /// Its status.
        status: FrameStatus,
    },
    /// The parent is planned. A pushed frame begins at once, so its parent must have begun.
    #[error(
        "frame {handle} is planned, so no frame can be pushed below it; activate {handle} first, or plan the child"
    )]
    ParentPlanned {
        /// The requested parent.
        handle: Handle,
    },
    /// The title and criteria of a frame are set once and cannot change.
    #[error("the title and criteria of frame {handle} are already set and cannot change; push or plan another frame")]
    IdentityFixed {
        /// The frame.
        handle: Handle,
    },
    /// A `dependsOn` entry that can never be satisfied: the frame itself, a frame above or below it, or a
    /// circle.
    #[error("`{}` cannot depend on `{}`: {reason}", shown(.frame), shown(.dependency))]
    Dependency {
        /// The frame that has the entry: its ID, or its handle if the ID was generated, or its title if it is
        /// new.
        frame: String,
        /// The frame that the entry names, in the same form.
        dependency: String,
        /// The reason, and what to do.
        reason: &'static str,
    },
    /// The parent of a frame would be the frame itself or one below it.
    #[error(
        "`{frame}` cannot be below `{parent}`, because `{parent}` is below `{frame}`; give one of them another parent",
        frame = shown(.frame), parent = shown(.parent)
    )]
    ParentCircle {
        /// The frame: its ID, or its handle if the ID was generated.
        frame: String,
        /// The parent that it names, in the same form.
        parent: String,
    },
    /// The active frame must be in_progress or blocked, and this frame is not.
    #[error("frame {handle} is {status} and cannot be the active frame; only in_progress and blocked frames can")]
    NotOpen {
        /// The frame.
        handle: Handle,
        /// Its status.
        status: FrameStatus,
    },
    /// Only a blocked frame waits for an answer.
    #[error("frame {handle} is {status} and waits for no answer; {}", .status.advice_instead_of_answer())]
    NotBlocked {
        /// The frame.
        handle: Handle,
        /// Its status.
        status: FrameStatus,
    },
    /// Only a frame that is failed or blocked can be retried, and only once: after that, its newest attempt
    /// can.
    #[error("frame {handle} {}", advice_on_retry(*.status, .newest))]
    NotRetriable {
        /// The frame.
        handle: Handle,
        /// Its status.
        status: FrameStatus,
        /// The newest attempt, if the frame was already retried.
        #[serde(skip_serializing_if = "Option::is_none")]
        newest: Option<Handle>,
    },
    /// A frame would have more tools than the frames above it.
    #[error("frame {handle} cannot have the tools {}: the frames above it have {}; leave them out, or give them to those frames first",
        listed_tools(.tools), listed_tools(.above))]
    ToolsExceed {
        /// The frame, or for a new frame the frame above it.
        handle: Handle,
        /// The tools that the frames above do not have.
        tools: Vec<String>,
        /// The tools of the frames above.
        above: Vec<String>,
    },
    /// There is no command of this person that could be taken back, or it was too long ago.
    #[error("there is no command of yours to take back: the last 20 commands of persons are remembered")]
    NothingToUndo {},
    /// The last command of the person cannot be taken back any more.
    #[error("`{command}` cannot be taken back: {reason}; correct what is wrong now with other commands")]
    NotUndone {
        /// The command, such as `pop`.
        command: String,
        /// Why.
        reason: String,
    },
    /// An imported frame has a `retryOf` that is not possible, or an edit would move an attempt away from the
    /// attempt before it.
    #[error("`{}` cannot be the next attempt of `{}`: {reason}", shown(&reference_to_id(.frame)), shown(&reference_to_id(.attempt)))]
    RetryLink {
        /// The ID of the frame that has the link.
        frame: String,
        /// The ID of the frame that the link names.
        attempt: String,
        /// The reason, and what to do.
        reason: &'static str,
    },
    /// Only a frame that is completed or failed has results that can be delivered to the parent's
    /// conversation.
    #[error("frame {handle} is {status} and has no results to deliver; pop it as completed or failed first")]
    NotFinished {
        /// The frame.
        handle: Handle,
        /// Its status.
        status: FrameStatus,
    },
    /// Only a frame that is in_progress or blocked can be summarized.
    #[error("frame {handle} is {status} and cannot be summarized; only in_progress and blocked frames can")]
    ResultsFixed {
        /// The frame.
        handle: Handle,
        /// Its status.
        status: FrameStatus,
    },
    /// The calling session has no frame, and the call names none.
    #[error("session `{}` has no frame; name the frame in the call", shown(.session_id))]
    NoFrame {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: String,
    },
    /// The new frame would be deeper than the settings allow (`maxDepth` of a run or of calls).
    #[error(
        "no frame can be started below frame {handle}, because the maximum depth is {limit}; do the work in {handle}, or plan it nearer to the root"
    )]
    TooDeep {
        /// The frame below which the new one would be.
        handle: Handle,
        /// The maximum depth: how many frames can be above a frame.
        limit: usize,
    },
    /// The frame waits for the caller, so the caller cannot wait for it.
    #[error(
        "frame {handle} waits for this session, so waiting for it would never end; do other work, or end your turn"
    )]
    WaitCircle {
        /// The frame.
        handle: Handle,
    },
    /// Another actor works on the frame, or the caller already works in it or below it.
    #[error("frame {handle} is held by {}: wait for its results, or work on another frame", shown_message(.by))]
    Held {
        /// The frame.
        handle: Handle,
        /// The actor that has it, such as ``worker `build-1` ``.
        by: String,
        /// The time until which the actor has it, unless the actor renews its hold, in milliseconds since the
        /// Unix epoch. `None`: without an end.
        until: Option<u64>,
    },
    /// The frame, or an unfinished frame below it, already sees a chunk of that name.
    #[error("a chunk named `{}` already exists in frame {handle}; write to it, or choose another name", shown(.name))]
    ChunkExists {
        /// The name.
        name: String,
        /// The frame that the chunk belongs to.
        handle: Handle,
    },
    /// The frame sees no chunk of that name.
    #[error("frame {handle} sees no chunk named `{}`; {}", shown(.name), if .known.is_empty() { "its heap is empty".to_owned() } else { format!("the chunks that it sees are: {}", listed(.known)) })]
    UnknownChunk {
        /// The name that the caller gave.
        name: String,
        /// The frame that the caller named.
        handle: Handle,
        /// The names of the chunks that it sees.
        known: Vec<String>,
    },
    /// A text is longer than its limit.
    #[error("`{field}` has {length} characters, but the limit is {limit}; shorten it, or put the text into a file")]
    TooLong {
        /// The field's documented name.
        field: &'static str,
        /// Its length in characters.
        length: usize,
        /// The limit in characters.
        limit: usize,
    },
    /// A text that must be one line has line breaks, other control characters, or characters that cannot be
    /// seen.
    #[error("`{field}` has line breaks or other control characters; give it as one line")]
    NotOneLine {
        /// The field's documented name.
        field: &'static str,
    },
    /// The frame is not the root frame of a run.
    #[error("frame {handle} is not the root frame of a run; start a run, or name the root frame of one")]
    NoRun {
        /// The frame.
        handle: Handle,
    },
    /// The run waits for something else.
    #[error("the run of frame {handle} does not expect {}; it waits for {}", shown(.found), shown_message(.expected))]
    OutOfTurn {
        /// The root of the run.
        handle: Handle,
        /// The reply or answer that the caller gave.
        found: String,
        /// The reply or answer that the run waits for.
        expected: String,
    },
    /// A second push_frame or pop_frame in one step of a run.
    #[error(
        "a step can have only one push_frame or pop_frame, and this step already had one; read its result, then call {name} in a later step"
    )]
    SecondStackOperation {
        /// The tool that was called.
        name: &'static str,
    },
    /// The total budget is too small for the required part of a context: the shortest form of the frame, its
    /// parent and its root.
    #[error(
        "a context of frame {handle} needs at least {needed} {unit}, but the total budget is {total}; raise {}", .unit.setting()
    )]
    BudgetTooSmall {
        /// The frame.
        handle: Handle,
        /// The given total.
        total: usize,
        /// The smallest total that is enough now.
        needed: usize,
        /// What the two numbers count: tokens, or bytes if the budget has its own cap in bytes and this cap
        /// is too small.
        unit: BudgetUnit,
    },
    /// A setting, a number or an environment variable is outside of its allowed values.
    #[error("{} is {}, but must be {expected}", shown(.name), or_empty(.value))]
    Setting {
        /// Name of the setting or of the environment variable.
        name: String,
        /// The value that was found.
        value: String,
        /// The allowed values.
        expected: &'static str,
    },
    /// A text that is not JSON, or JSON of another shape.
    #[error("{what} cannot be read: {}", shown_message(.message))]
    #[non_exhaustive]
    Json {
        /// The text or file that was read.
        what: &'static str,
        /// The parser's message with line and column.
        message: String,
        /// The underlying error, if there is one; [`std::error::Error::source`] returns it.
        #[serde(skip)]
        source: Option<ErrorSource>,
    },
    /// A newer version of the library wrote the file.
    #[error("{what} has version {found}, this library reads up to {supported}; update the library")]
    Version {
        /// The file that was read, or `the state`.
        what: String,
        /// The version in the file.
        found: u64,
        /// The newest version that this library can read.
        supported: u64,
    },
    /// An event does not fit the events before it in the history.
    #[error("event {revision} does not fit the history before it: {}; the history is incomplete or damaged", shown_message(.message))]
    History {
        /// The event's revision.
        revision: u64,
        /// The reason.
        message: String,
    },
    /// The folder or the store for a new stack or an export already contains a stack.
    #[error("{path} already contains a stack; choose another place for the new one")]
    NotEmpty {
        /// The folder, or the URL.
        path: String,
    },
    /// The stack keeps no logs, no history or no snapshots, because it is in memory, or it has no folder.
    #[error("this stack has no {what}; open a stack in a folder with Stack::open")]
    InMemory {
        /// The missing part: `logs` or `history`.
        what: &'static str,
    },
    /// The operating system or SQLite refused an operation on a file or folder.
    #[error("cannot {action} {path}: {message}")]
    #[non_exhaustive]
    Io {
        /// The operation, such as `read`.
        action: &'static str,
        /// The file or folder.
        path: String,
        /// The message of the operating system, of SQLite, or of the library.
        message: String,
        /// The underlying error, if there is one; [`std::error::Error::source`] returns it.
        #[serde(skip)]
        source: Option<ErrorSource>,
    },
    /// The disk is full, or a quota is used up. For the state afterwards see [`Error`].
    #[error("cannot write {path}: the disk is full; free some space, then call again")]
    #[non_exhaustive]
    DiskFull {
        /// The file or folder.
        path: String,
        /// The underlying error, if there is one; [`std::error::Error::source`] returns it.
        #[serde(skip)]
        source: Option<ErrorSource>,
    },
    /// The file, its folder or the disk is read-only for this process.
    #[error("cannot write {path}: it is read-only for this process; open the stack where it may write")]
    #[non_exhaustive]
    ReadOnly {
        /// The file or folder.
        path: String,
        /// The underlying error, if there is one; [`std::error::Error::source`] returns it.
        #[serde(skip)]
        source: Option<ErrorSource>,
    },
    /// Commands of other threads, or other processes in the database or at the lock of a file, took longer
    /// than the call waits ([`StackOptions::busy_timeout`](crate::StackOptions::busy_timeout)).
    #[error("{path} is in use by other threads or processes; the call waited {waited} ms for them; call again")]
    Busy {
        /// The database, the file, or for other threads the stack's folder.
        path: String,
        /// How long the call waited in all, in milliseconds.
        waited: u64,
    },
    /// A file does not contain what its name says, or a history has an event that does not fit. The library
    /// did not change it.
    #[error("{path} is damaged and was not changed: {}; {advice}", shown_message(.message))]
    #[non_exhaustive]
    Damaged {
        /// The file, or `the history of` a folder.
        path: String,
        /// The problem that was found.
        message: String,
        /// The advice to the caller.
        advice: &'static str,
        /// The underlying error, if there is one; [`std::error::Error::source`] returns it.
        #[serde(skip)]
        source: Option<ErrorSource>,
    },
    /// The files of the stack were replaced while it was open: deleted, moved away, or overwritten by an
    /// older copy. Or its server has lost commits. Nothing more is written to them.
    #[error("{path} was replaced while it was open: {message}; close the stack in all processes, then open it again")]
    Replaced {
        /// The database.
        path: String,
        /// The difference that was found.
        message: String,
    },
    /// The connection to the server of a store was lost, or none could be made within the time limit of the
    /// call.
    #[error("{path} cannot be reached: {message}; {}", advice_on_lost_connection(*.is_outcome_unknown))]
    #[non_exhaustive]
    Disconnected {
        /// The server and the database, or the stack there, without user and password.
        path: String,
        /// The reason.
        message: String,
        /// False: nothing was changed. True: the command may have been committed or not. The next command, or
        /// [`Stack::refresh`](crate::Stack::refresh), finds it out from the server.
        is_outcome_unknown: bool,
        /// The underlying error, if there is one; [`std::error::Error::source`] returns it.
        #[serde(skip)]
        source: Option<ErrorSource>,
    },
    /// A command, or the report of an event, inside of [`Stack::read`](crate::Stack::read) or in code that
    /// the stack calls, such as a token counter or a clock.
    #[error(
        "a command cannot run inside of Stack::read, or in a token counter, clock or store that the stack calls; call it \
         afterwards"
    )]
    InsideRead {},
    /// An earlier command has panicked, so the state of this stack is unknown. The store has either the whole
    /// command or nothing of it.
    #[error(
        "an earlier command panicked in the library or in code of its host, so this stack is unusable; close it and open it again"
    )]
    Broken {},
    /// Only a planned frame can be edited.
    #[error("frame {handle} is {status} and cannot be edited; {}", .status.advice_instead_of_edit())]
    NotPlanned {
        /// The frame.
        handle: Handle,
        /// Its status.
        status: FrameStatus,
    },
    /// A frame can only be moved before another child of its parent.
    #[error(
        "frame {handle} cannot stand before {before}, which is not another child of the same parent; name a sibling"
    )]
    NotSibling {
        /// The frame that is edited.
        handle: Handle,
        /// The frame before which it would stand.
        before: Handle,
    },
    /// Something keeps a frame from beginning ([`Tree::can_begin`](crate::Tree::can_begin)), and the call did
    /// not say that the frame begins nevertheless; or the frame only holds other frames together, or keeps a
    /// record of another tool.
    #[error("frame {handle} cannot begin yet: {}", shown_message(.message))]
    NotReady {
        /// The frame.
        handle: Handle,
        /// The dependencies that are not completed, or the frame above it that waits or has ended.
        dependencies: Vec<Handle>,
        /// What keeps it from beginning, and what to do.
        message: String,
    },
    /// Frames below a frame that is to be completed are open or planned, and the call did not say that the
    /// frame ends nevertheless.
    #[error(
        "frame {handle} is not done: open or planned below it: {}; finish them, or invalidate what is not needed, or end it `anyway`",
        listed_frames(.left)
    )]
    PartsLeft {
        /// The frame.
        handle: Handle,
        /// The first dozen of the unfinished frames below it.
        left: Vec<Handle>,
    },
    /// The frame is not free for a worker, or its holder cannot keep it.
    #[error("frame {handle} is not free for a worker: {reason}")]
    NotFree {
        /// The frame.
        handle: Handle,
        /// The reason.
        reason: String,
    },
    /// Another holder has had the frame since, so commands that the earlier holder still sends are refused.
    #[error(
        "frame {handle} {}, so the commands of generation {refused} are refused; stop work on it, and take another frame", taken_by(.by, *.generation)
    )]
    HoldLost {
        /// The frame.
        handle: Handle,
        /// Its newest holder, such as ``worker `build-2` ``. Empty: it has never had a holder.
        by: String,
        /// The generation of that holder; 0 if it has never had a holder.
        generation: u64,
        /// The generation of the refused command.
        refused: u64,
    },
    /// A frame of a list of new frames is refused. The code, and the fields in JSON, are the same as for the
    /// reason.
    #[error("child {number} ({}): {error}", shown(.title))]
    #[serde(serialize_with = "as_reason")]
    Child {
        /// Its number in the list, from 1.
        number: usize,
        /// Its title.
        title: String,
        /// The reason.
        error: Box<Error>,
    },
    /// The tree has the maximum number of frames, [`Handle::LIMIT`].
    #[error("the tree is full: it has {limit} frames; start another stack")]
    Full {
        /// The maximum number of frames of a tree.
        limit: usize,
    },
}

/// Errors for implementations of [`Store`](crate::Store), [`TokenCounter`](crate::context::TokenCounter) and
/// the like.
impl Error {
    /// An [`Error::Io`]. `action` completes "cannot …", such as `read`.
    pub fn io(action: &'static str, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Io { action, path: path.into(), message: message.into(), source: None }
    }

    /// An [`Error::DiskFull`].
    pub fn disk_full(path: impl Into<String>) -> Self {
        Self::DiskFull { path: path.into(), source: None }
    }

    /// An [`Error::ReadOnly`].
    pub fn read_only(path: impl Into<String>) -> Self {
        Self::ReadOnly { path: path.into(), source: None }
    }

    /// An [`Error::Damaged`]. `advice` says what to do.
    pub fn damaged(path: impl Into<String>, message: impl Into<String>, advice: &'static str) -> Self {
        Self::Damaged { path: path.into(), message: message.into(), advice, source: None }
    }

    /// An [`Error::Json`]. `what` was being read.
    pub fn json(what: &'static str, message: impl Into<String>) -> Self {
        Self::Json { what, message: message.into(), source: None }
    }

    /// An [`Error::Disconnected`].
    pub fn disconnected(path: impl Into<String>, message: impl Into<String>, is_outcome_unknown: bool) -> Self {
        Self::Disconnected { path: path.into(), message: message.into(), is_outcome_unknown, source: None }
    }

    /// An [`Error::Replaced`]. `message` says what is different now.
    pub fn replaced(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Replaced { path: path.into(), message: message.into() }
    }

    /// The same error with its underlying error, if its variant can have one.
    ///
    /// ```
    /// use std::error::Error as _;
    /// use callstack_core::Error;
    ///
    /// let cause = std::io::Error::other("the cable is out");
    /// let error = Error::io("read", "stack.db", cause.to_string()).with_source(cause);
    /// assert!(error.source().unwrap().is::<std::io::Error>());
    /// ```
    #[must_use]
    pub fn with_source(mut self, cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        if let Self::Io { source, .. }
        | Self::DiskFull { source, .. }
        | Self::ReadOnly { source, .. }
        | Self::Damaged { source, .. }
        | Self::Disconnected { source, .. }
        | Self::Json { source, .. } = &mut self
        {
            *source = Some(ErrorSource::new(cause));
        }
        self
    }

    /// The error of a text that serde_json cannot read.
    pub(crate) fn of_json(what: &'static str, error: serde_json::Error) -> Self {
        Self::json(what, error.to_string()).with_source(error)
    }
}

/// The field `what` of the error for a frame whose row in the database cannot be read.
pub(crate) const SNAPSHOT: &str = "the snapshot";

/// A value as errors show it.
fn or_empty(value: &str) -> String {
    if value.trim().is_empty() { "empty".to_owned() } else { format!("`{}`", shown(value)) }
}

/// What kind of failure an [`Error`] is: what can be done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorClass {
    /// The stack refuses the request, and nothing has changed. Another request can succeed, as the message
    /// says.
    Refused,
    /// A value that no stack takes.
    Usage,
    /// Other processes or threads use the stack, or its server cannot be reached for a while: the same
    /// request can succeed later.
    Passing,
    /// A file, a folder or a disk does not allow it.
    Storage,
    /// What is stored is damaged, was replaced, or was written by a newer version.
    Damaged,
    /// The program has used the stack in a way that is not possible: within a query, for a part that a stack
    /// in memory does not have, or after a panic.
    Broken,
}

impl Error {
    /// Returns the kind of failure that this is. The error of a frame in a list has the class of its reason.
    ///
    /// ```
    /// use callstack_core::{Error, ErrorClass, NewFrame, Stack};
    /// let refused = Stack::in_memory().push(NewFrame::new("Cart").below("f9")).unwrap_err();
    /// assert_eq!((refused.class(), refused.is_outcome_known()), (ErrorClass::Refused, true));
    /// ```
    pub fn class(&self) -> ErrorClass {
        self.kind().0
    }

    /// False if it is not known whether the request was carried out.
    pub fn is_outcome_known(&self) -> bool {
        match self {
            Error::Child { error, .. } => error.is_outcome_known(),
            Error::Busy { .. } | Error::Disconnected { is_outcome_unknown: true, .. } => false,
            _ => true,
        }
    }

    /// Returns a short name of the variant, for programs, such as `unknown_frame`. It never changes.
    pub fn code(&self) -> &'static str {
        self.kind().1
    }
}

/// Defines the errors by class: the variant, its code, and its number in the C interface, whose hundreds are
/// the class. Neither a code nor a number ever changes.
macro_rules! kinds {
    ($($class:ident { $($variant:ident $code:literal $number:literal,)* })*) => {
        impl Error {
            /// The class, the code and the number.
            pub(crate) fn kind(&self) -> (ErrorClass, &'static str, i32) {
                match self {
                    Error::Child { error, .. } => error.kind(),
                    Error::Json { what: SNAPSHOT, .. } => (ErrorClass::Damaged, "damaged", 503),
                    $($(Error::$variant { .. } => (ErrorClass::$class, $code, $number),)*)*
                }
            }
        }

        /// All errors: the variant, the class, the code, and the number in the C interface.
        #[cfg(all(test, feature = "capi"))]
        pub(crate) const KINDS: &[(&str, ErrorClass, &str, i32)] =
            &[$($((stringify!($variant), ErrorClass::$class, $code, $number),)*)*];
    };
}

kinds! {
    Refused {
        UnknownFrame "unknown_frame" 101,
        AmbiguousFrame "ambiguous_frame" 102,
        DuplicateId "duplicate_id" 103,
        Transition "transition" 104,
        ParentClosed "parent_closed" 105,
        ParentPlanned "parent_planned" 106,
        IdentityFixed "identity_fixed" 107,
        Dependency "dependency" 108,
        ParentCircle "parent_circle" 109,
        NotOpen "not_open" 110,
        BudgetTooSmall "budget_too_small" 111,
        NotEmpty "not_empty" 112,
        Full "full" 113,
        ResultsFixed "results_fixed" 114,
        NoFrame "no_frame" 115,
        TooDeep "too_deep" 116,
        Held "held" 117,
        ChunkExists "chunk_exists" 118,
        UnknownChunk "unknown_chunk" 119,
        NoRun "no_run" 120,
        OutOfTurn "out_of_turn" 121,
        SecondStackOperation "second_stack_operation" 122,
        NotFinished "not_finished" 123,
        NotBlocked "not_blocked" 124,
        NotPlanned "not_planned" 125,
        NotSibling "not_sibling" 126,
        NotReady "not_ready" 127,
        WaitCircle "wait_circle" 128,
        NotRetriable "not_retriable" 129,
        RetryLink "retry_link" 130,
        NotFree "not_free" 131,
        HoldLost "hold_lost" 132,
        NothingToUndo "nothing_to_undo" 133,
        NotUndone "not_undone" 134,
        ToolsExceed "tools_exceed" 135,
        PartsLeft "parts_left" 136,
    }
    Usage {
        Empty "empty" 201,
        Setting "setting" 202,
        Json "json" 203,
        TooLong "too_long" 204,
        NotOneLine "not_one_line" 205,
    }
    Passing {
        Busy "busy" 301,
        Disconnected "disconnected" 302,
    }
    Storage {
        Io "io" 401,
        DiskFull "disk_full" 402,
        ReadOnly "read_only" 403,
    }
    Damaged {
        Version "version" 501,
        History "history" 502,
        Damaged "damaged" 503,
        Replaced "replaced" 504,
    }
    Broken {
        Broken "broken" 601,
        InMemory "in_memory" 602,
        InsideRead "inside_read" 603,
    }
}

/// The names of tools, for a message.
fn listed_tools(tools: &[String]) -> String {
    if tools.is_empty() { "none".to_owned() } else { shown(&tools.join(", ")).into_owned() }
}

fn as_reason<S: Serializer>(_: &usize, _: &str, error: &Error, serializer: S) -> Result<S::Ok, S::Error> {
    error.serialize(serializer)
}

/// The handles of frames, for a message.
fn listed_frames(frames: &[Handle]) -> String {
    frames.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// A list of names as errors show it.
fn listed(names: &[String]) -> String {
    shown_message(&names.iter().map(|name| shown(name)).collect::<Vec<_>>().join(", ")).into_owned()
}

fn taken_by(by: &str, generation: u64) -> String {
    match generation {
        0 => "was never held".to_owned(),
        _ => format!("was taken by {} (generation {generation})", shown_message(by)),
    }
}

fn advice_on_retry(status: FrameStatus, newest: &Option<Handle>) -> String {
    match newest {
        Some(newest) => format!("was retried already; continue {newest}, its newest attempt"),
        None => format!("is {status} and cannot be retried; {}", status.advice_instead_of_retry()),
    }
}

fn advice_on_lost_connection(is_outcome_unknown: bool) -> &'static str {
    match is_outcome_unknown {
        false => "nothing was changed; call again",
        true => "the command may have been committed or not; refresh the stack and look, before you call again",
    }
}

fn advice_on_unknown(reference: &str, handle: &Option<Handle>, similar: &[String]) -> String {
    match handle {
        None if !similar.is_empty() => format!("; did you mean {}?", similar.join(" or ")),
        Some(handle) => {
            format!("; give {handle} or {}, if you mean the frame with this ID", shown(&reference_to_id(reference)))
        }
        None => ": it is not a handle, a title, an ID or its beginning; give a handle such as f1".to_owned(),
    }
}

impl From<StateError> for Error {
    fn from(error: StateError) -> Self {
        match error {
            StateError::Json { message, source } => Error::Json { what: "the state", message, source },
            StateError::Version { found, supported } => Error::Version { what: "the state".into(), found, supported },
        }
    }
}

/// The result of a call that may fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;
