//! The errors of the crate: one variant for each thing a caller can do something about.

use serde::Serialize;

use crate::frame::{FrameStatus, Handle, StateError};

/// What went wrong, which thing it concerns, and what to do about it.
///
/// No failed call changes anything: the tree is as it was before, and so is what is stored of it.
/// The message is written for the one who made the call, often an agent; [`Error::code`] is for
/// programs. In JSON an error is its details: `{"handle": "f3", "total": 100, "needed": 214}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(untagged, rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Error {
    /// No frame has this handle, ID or ID prefix.
    #[error("no frame matches `{reference}`; give a handle such as f1, a session ID, or the beginning of one")]
    UnknownFrame {
        /// The reference as it was given.
        reference: String,
    },
    /// Several IDs begin with the prefix that was given.
    #[error("`{reference}` fits several frames: {}; give more of the ID, or the handle", .candidates.join(", "))]
    AmbiguousFrame {
        /// The reference as it was given.
        reference: String,
        /// Up to eight of the frames it fits, each as `handle (ID)`.
        candidates: Vec<String>,
    },
    /// Another frame already has the ID.
    #[error("the ID `{session_id}` already belongs to frame {handle}; choose another")]
    DuplicateId {
        /// The ID in question.
        #[serde(rename = "sessionID")]
        session_id: String,
        /// The frame that has it.
        handle: Handle,
    },
    /// A text that must say something is empty.
    #[error("`{field}` is empty; give it a value")]
    Empty {
        /// The field's documented name.
        field: &'static str,
    },
    /// The table of legal transitions does not have this one.
    #[error("frame {handle} is {from} and cannot become {to}; {}", .from.advice())]
    Transition {
        /// The frame.
        handle: Handle,
        /// Its status now.
        from: FrameStatus,
        /// The status asked for.
        to: FrameStatus,
    },
    /// A frame can only be put below a frame that is still to be worked on.
    #[error("frame {handle} is {status} and takes no new children; name an open frame as the parent")]
    ParentClosed {
        /// The parent that was asked for.
        handle: Handle,
        /// Its status.
        status: FrameStatus,
    },
    /// A pushed frame runs at once, so its parent must have been activated.
    #[error("frame {handle} is planned and nothing can be pushed below it; activate {handle} first, or plan the child")]
    ParentPlanned {
        /// The parent that was asked for.
        handle: Handle,
    },
    /// Title and criteria of a frame are set once and stay.
    #[error("frame {handle} has its title and criteria already, and they never change; push or plan another frame")]
    IdentityFixed {
        /// The frame.
        handle: Handle,
    },
    /// A `dependsOn` entry that can never be satisfied or makes no sense.
    #[error("`{frame}` cannot depend on `{dependency}`: {reason}")]
    Dependency {
        /// The frame that would depend.
        frame: String,
        /// The frame it would depend on.
        dependency: String,
        /// Why not, and what to do.
        reason: &'static str,
    },
    /// Two imported frames would be above each other.
    #[error("`{frame}` cannot go below `{parent}`, which is below it; give one of them another parent")]
    ParentCircle {
        /// ID of the frame.
        frame: String,
        /// ID of the parent it names.
        parent: String,
    },
    /// A finished or invalidated frame cannot be the active one.
    #[error("frame {handle} is {status} and cannot be activated; only in_progress and blocked frames can be active")]
    NotOpen {
        /// The frame.
        handle: Handle,
        /// Its status.
        status: FrameStatus,
    },
    /// Only the results of a frame that is being worked on can still change.
    #[error("frame {handle} is {status} and takes no summary; only in_progress and blocked frames do")]
    ResultsFixed {
        /// The frame.
        handle: Handle,
        /// Its status.
        status: FrameStatus,
    },
    /// The session that calls has no frame, and the call names none.
    #[error("session `{session_id}` has no frame here; name one")]
    NoFrame {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: String,
    },
    /// Calls are nested as deep as the settings allow.
    #[error(
        "nothing can be started below frame {handle}: calls go at most {limit} deep; do the work in {handle} itself, or plan it higher up"
    )]
    TooDeep {
        /// The frame that would be above.
        handle: Handle,
        /// The most frames that may be above one that is called.
        limit: usize,
    },
    /// A frame that is at work cannot be started.
    #[error("frame {handle} is at work already; wait for its results, or work on another frame")]
    Running {
        /// The frame.
        handle: Handle,
    },
    /// A chunk of that name is in sight already.
    #[error("the chunk `{name}` exists already, in {handle}; write to it, or choose another name")]
    ChunkExists {
        /// The name.
        name: String,
        /// The frame that the chunk belongs to.
        handle: Handle,
    },
    /// The frame sees no chunk of that name.
    #[error("{handle} sees no chunk `{name}`; {}", if .known.is_empty() { "its heap is empty".to_owned() } else { format!("there are {}", .known.join(", ")) })]
    UnknownChunk {
        /// The name as it was given.
        name: String,
        /// The frame that was to see it.
        handle: Handle,
        /// The names of the chunks that it sees.
        known: Vec<String>,
    },
    /// A text is longer than it may be.
    #[error("`{field}` has {length} characters, and may have {limit}; shorten it, or put it into a file")]
    TooLong {
        /// The field's documented name.
        field: &'static str,
        /// Its length in characters.
        length: usize,
        /// The most characters it may have.
        limit: usize,
    },
    /// A text with line breaks or other control characters where one line is expected.
    #[error("`{field}` has line breaks or other control characters; give it as one line")]
    NotOneLine {
        /// The field's documented name.
        field: &'static str,
    },
    /// The frame is no root of a run.
    #[error("frame {handle} is no run; start one, or name the root of one")]
    NoRun {
        /// The frame.
        handle: Handle,
    },
    /// The call is not the next one that the run waits for.
    #[error("the run of {handle} does not wait for {found}; it waits for {expected}")]
    OutOfTurn {
        /// The root of the run.
        handle: Handle,
        /// What came.
        found: String,
        /// What comes next.
        expected: String,
    },
    /// A step has one stack operation at most.
    #[error(
        "only one push_frame or pop_frame goes into a step, and this one has had its own; look at what came of it, then call {name} in a step of its own"
    )]
    SecondStackOperation {
        /// The tool that was called.
        name: &'static str,
    },
    /// The total budget does not even hold the frame's own stub, its parent's and its root's.
    #[error("a context of frame {handle} needs at least {needed} tokens and the total budget is {total}; raise it")]
    BudgetTooSmall {
        /// The frame.
        handle: Handle,
        /// The total that was given, in tokens.
        total: usize,
        /// The smallest total that works now, in tokens.
        needed: usize,
    },
    /// A setting or environment variable holds something it cannot hold.
    #[error("{name} is `{value}`, but must be {expected}")]
    Setting {
        /// Name of the setting or of the environment variable.
        name: String,
        /// The value found.
        value: String,
        /// What would be accepted.
        expected: &'static str,
    },
    /// Text that is no JSON, or JSON of another shape.
    #[error("{what} cannot be read: {message}")]
    Json {
        /// What was being read.
        what: &'static str,
        /// The parser's message with line and column.
        message: String,
    },
    /// The file was written by a newer version of the library.
    #[error("{what} has version {found}, this library reads up to {supported}; update the library")]
    Version {
        /// What was being read: a file, or `the state`.
        what: String,
        /// The version in the file.
        found: u64,
        /// The newest version that can be read.
        supported: u64,
    },
    /// An event that cannot stand where it stands in a history.
    #[error("event {revision} does not fit the history before it: {message}; the history is incomplete or damaged")]
    History {
        /// The event's revision.
        revision: u64,
        /// What does not fit.
        message: String,
    },
    /// A place for a new history that holds one already.
    #[error("{path} holds a stack already; choose an empty folder")]
    NotEmpty {
        /// The folder.
        path: String,
    },
    /// Something that only a stack on disk, or with a store, has.
    #[error("this stack lives in memory and has no {what}; open it in a folder with Stack::open")]
    InMemory {
        /// What was asked for.
        what: &'static str,
    },
    /// A file or folder that the operating system does not let us use.
    #[error("cannot {action} {path}: {message}")]
    Io {
        /// What was tried, such as `read`.
        action: &'static str,
        /// The file or folder.
        path: String,
        /// What the operating system says.
        message: String,
    },
    /// No room is left. Nothing was recorded of the call that met it.
    #[error("cannot write {path}: the disk is full; free some space, then call again")]
    DiskFull {
        /// The file or folder.
        path: String,
    },
    /// The file, its folder or the disk may only be read.
    #[error("cannot write {path}: it is read-only; open the stack where this process may write")]
    ReadOnly {
        /// The file or folder.
        path: String,
    },
    /// Other processes kept the database to themselves.
    #[error("{path} has been in use by other processes for {waited} ms; call again")]
    Busy {
        /// The database.
        path: String,
        /// How long this call has waited, in milliseconds.
        waited: u64,
    },
    /// A file that is not what its name says. It was left as it is.
    #[error("{path} is damaged and was left as it is: {message}; {advice}")]
    Damaged {
        /// The file.
        path: String,
        /// What was found.
        message: String,
        /// What to do.
        advice: &'static str,
    },
    /// The tree holds as many frames as a handle can number.
    #[error("the tree is full: {limit} frames; start another one")]
    Full {
        /// The most frames a tree can hold.
        limit: usize,
    },
}

impl Error {
    /// A short name for programs. It never changes for a given variant.
    pub fn code(&self) -> &'static str {
        match self {
            Error::UnknownFrame { .. } => "unknown_frame",
            Error::AmbiguousFrame { .. } => "ambiguous_frame",
            Error::DuplicateId { .. } => "duplicate_id",
            Error::Empty { .. } => "empty",
            Error::Transition { .. } => "transition",
            Error::ParentClosed { .. } => "parent_closed",
            Error::ParentPlanned { .. } => "parent_planned",
            Error::IdentityFixed { .. } => "identity_fixed",
            Error::Dependency { .. } => "dependency",
            Error::ParentCircle { .. } => "parent_circle",
            Error::NotOpen { .. } => "not_open",
            Error::ResultsFixed { .. } => "results_fixed",
            Error::NoFrame { .. } => "no_frame",
            Error::TooDeep { .. } => "too_deep",
            Error::Running { .. } => "running",
            Error::ChunkExists { .. } => "chunk_exists",
            Error::UnknownChunk { .. } => "unknown_chunk",
            Error::TooLong { .. } => "too_long",
            Error::NotOneLine { .. } => "not_one_line",
            Error::NoRun { .. } => "no_run",
            Error::OutOfTurn { .. } => "out_of_turn",
            Error::SecondStackOperation { .. } => "second_stack_operation",
            Error::BudgetTooSmall { .. } => "budget_too_small",
            Error::Setting { .. } => "setting",
            Error::Json { .. } => "json",
            Error::Version { .. } => "version",
            Error::History { .. } => "history",
            Error::NotEmpty { .. } => "not_empty",
            Error::InMemory { .. } => "in_memory",
            Error::Io { .. } => "io",
            Error::DiskFull { .. } => "disk_full",
            Error::ReadOnly { .. } => "read_only",
            Error::Busy { .. } => "busy",
            Error::Damaged { .. } => "damaged",
            Error::Full { .. } => "full",
        }
    }
}

impl From<StateError> for Error {
    fn from(error: StateError) -> Self {
        match error {
            StateError::Json { message } => Error::Json { what: "the state", message },
            StateError::Version { found, supported } => Error::Version { what: "the state".into(), found, supported },
        }
    }
}

/// The result of a call that may fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;
