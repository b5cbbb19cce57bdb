//! Codes: what a call has come to, and the statuses of frames, as numbers that never change.

use crate::error::Error;
use crate::frame::{FrameStatus, PopStatus};

/// What a call has come to: `CALLSTACK_OK`, or which error. A number is never given to another error;
/// later versions may add some.
pub type CallstackCode = i32;

/// All went well.
pub const CALLSTACK_OK: CallstackCode = 0;
/// A pointer that must not be NULL is.
pub const CALLSTACK_ERROR_NULL: CallstackCode = 1;
/// A length is greater than any text can be.
pub const CALLSTACK_ERROR_LENGTH: CallstackCode = 2;
/// A text is not UTF-8.
pub const CALLSTACK_ERROR_UTF8: CallstackCode = 3;
/// An error in the library itself. A command that met it has broken the stack.
pub const CALLSTACK_ERROR_PANIC: CallstackCode = 4;
/// An earlier command has broken this stack: close it and open it again.
pub const CALLSTACK_ERROR_BROKEN: CallstackCode = 5;
/// No frame has this handle, ID or beginning of an ID.
pub const CALLSTACK_ERROR_UNKNOWN_FRAME: CallstackCode = 101;
/// Several IDs begin with the text that was given.
pub const CALLSTACK_ERROR_AMBIGUOUS_FRAME: CallstackCode = 102;
/// Another frame already has the ID.
pub const CALLSTACK_ERROR_DUPLICATE_ID: CallstackCode = 103;
/// A text that must say something is empty.
pub const CALLSTACK_ERROR_EMPTY: CallstackCode = 104;
/// The frame cannot go from its status to the one asked for.
pub const CALLSTACK_ERROR_TRANSITION: CallstackCode = 105;
/// The parent is finished or invalidated.
pub const CALLSTACK_ERROR_PARENT_CLOSED: CallstackCode = 106;
/// The parent is planned, so nothing can be pushed below it.
pub const CALLSTACK_ERROR_PARENT_PLANNED: CallstackCode = 107;
/// The frame has its title and criteria already.
pub const CALLSTACK_ERROR_IDENTITY_FIXED: CallstackCode = 108;
/// A dependency that can never be satisfied or makes no sense.
pub const CALLSTACK_ERROR_DEPENDENCY: CallstackCode = 109;
/// Two imported frames would be above each other.
pub const CALLSTACK_ERROR_PARENT_CIRCLE: CallstackCode = 110;
/// A finished or invalidated frame cannot be the active one.
pub const CALLSTACK_ERROR_NOT_OPEN: CallstackCode = 111;
/// The token budget does not even hold the least that a context must show.
pub const CALLSTACK_ERROR_BUDGET_TOO_SMALL: CallstackCode = 112;
/// A setting, a number or an environment variable is not one of those allowed.
pub const CALLSTACK_ERROR_SETTING: CallstackCode = 113;
/// A text is no JSON, or JSON of another shape.
pub const CALLSTACK_ERROR_JSON: CallstackCode = 114;
/// A file was written by a newer version of the library.
pub const CALLSTACK_ERROR_VERSION: CallstackCode = 115;
/// An event that cannot stand where it stands in a history.
pub const CALLSTACK_ERROR_HISTORY: CallstackCode = 116;
/// The folder for a new stack holds one already.
pub const CALLSTACK_ERROR_NOT_EMPTY: CallstackCode = 117;
/// A stack in memory does not have what was asked for.
pub const CALLSTACK_ERROR_IN_MEMORY: CallstackCode = 118;
/// The operating system refuses a file or folder.
pub const CALLSTACK_ERROR_IO: CallstackCode = 119;
/// The disk is full.
pub const CALLSTACK_ERROR_DISK_FULL: CallstackCode = 120;
/// The file, its folder or the disk may only be read.
pub const CALLSTACK_ERROR_READ_ONLY: CallstackCode = 121;
/// Other processes kept the database to themselves for too long.
pub const CALLSTACK_ERROR_BUSY: CallstackCode = 122;
/// A file is not what its name says.
pub const CALLSTACK_ERROR_DAMAGED: CallstackCode = 123;
/// The tree holds as many frames as it can.
pub const CALLSTACK_ERROR_FULL: CallstackCode = 124;
/// Only the results of a frame that is being worked on can still change.
pub const CALLSTACK_ERROR_RESULTS_FIXED: CallstackCode = 125;
/// The session that calls has no frame, and the call names none.
pub const CALLSTACK_ERROR_NO_FRAME: CallstackCode = 126;
/// Calls are nested as deep as the settings allow.
pub const CALLSTACK_ERROR_TOO_DEEP: CallstackCode = 127;
/// A frame that is at work cannot be started.
pub const CALLSTACK_ERROR_RUNNING: CallstackCode = 128;
/// A chunk of that name is in sight already.
pub const CALLSTACK_ERROR_CHUNK_EXISTS: CallstackCode = 129;
/// The frame sees no chunk of that name.
pub const CALLSTACK_ERROR_UNKNOWN_CHUNK: CallstackCode = 130;
/// A text is longer than it may be.
pub const CALLSTACK_ERROR_TOO_LONG: CallstackCode = 131;
/// A text has line breaks or other control characters where one line is expected.
pub const CALLSTACK_ERROR_NOT_ONE_LINE: CallstackCode = 132;
/// The frame is no root of a run.
pub const CALLSTACK_ERROR_NO_RUN: CallstackCode = 133;
/// The call is not the next one that the run waits for.
pub const CALLSTACK_ERROR_OUT_OF_TURN: CallstackCode = 134;
/// A step has one stack operation at most.
pub const CALLSTACK_ERROR_SECOND_STACK_OPERATION: CallstackCode = 135;

/// Where a frame is in its life. In JSON the name stands, such as `"in_progress"`.
pub type CallstackStatus = i32;

/// `planned`: sketched, not begun.
pub const CALLSTACK_STATUS_PLANNED: CallstackStatus = 0;
/// `in_progress`: being worked on.
pub const CALLSTACK_STATUS_IN_PROGRESS: CallstackStatus = 1;
/// `completed`: finished, with results.
pub const CALLSTACK_STATUS_COMPLETED: CallstackStatus = 2;
/// `failed`: tried and not achieved; the results hold the lessons.
pub const CALLSTACK_STATUS_FAILED: CallstackStatus = 3;
/// `blocked`: waits for something from outside.
pub const CALLSTACK_STATUS_BLOCKED: CallstackStatus = 4;
/// `invalidated`: no longer wanted.
pub const CALLSTACK_STATUS_INVALIDATED: CallstackStatus = 5;

/// The code of an error of the engine. A new error needs a new number.
pub(super) const fn code_of(error: &Error) -> CallstackCode {
    match error {
        Error::UnknownFrame { .. } => CALLSTACK_ERROR_UNKNOWN_FRAME,
        Error::AmbiguousFrame { .. } => CALLSTACK_ERROR_AMBIGUOUS_FRAME,
        Error::DuplicateId { .. } => CALLSTACK_ERROR_DUPLICATE_ID,
        Error::Empty { .. } => CALLSTACK_ERROR_EMPTY,
        Error::Transition { .. } => CALLSTACK_ERROR_TRANSITION,
        Error::ParentClosed { .. } => CALLSTACK_ERROR_PARENT_CLOSED,
        Error::ParentPlanned { .. } => CALLSTACK_ERROR_PARENT_PLANNED,
        Error::IdentityFixed { .. } => CALLSTACK_ERROR_IDENTITY_FIXED,
        Error::Dependency { .. } => CALLSTACK_ERROR_DEPENDENCY,
        Error::ParentCircle { .. } => CALLSTACK_ERROR_PARENT_CIRCLE,
        Error::NotOpen { .. } => CALLSTACK_ERROR_NOT_OPEN,
        Error::BudgetTooSmall { .. } => CALLSTACK_ERROR_BUDGET_TOO_SMALL,
        Error::Setting { .. } => CALLSTACK_ERROR_SETTING,
        Error::Json { .. } => CALLSTACK_ERROR_JSON,
        Error::Version { .. } => CALLSTACK_ERROR_VERSION,
        Error::History { .. } => CALLSTACK_ERROR_HISTORY,
        Error::NotEmpty { .. } => CALLSTACK_ERROR_NOT_EMPTY,
        Error::InMemory { .. } => CALLSTACK_ERROR_IN_MEMORY,
        Error::Io { .. } => CALLSTACK_ERROR_IO,
        Error::DiskFull { .. } => CALLSTACK_ERROR_DISK_FULL,
        Error::ReadOnly { .. } => CALLSTACK_ERROR_READ_ONLY,
        Error::Busy { .. } => CALLSTACK_ERROR_BUSY,
        Error::Damaged { .. } => CALLSTACK_ERROR_DAMAGED,
        Error::Full { .. } => CALLSTACK_ERROR_FULL,
        Error::ResultsFixed { .. } => CALLSTACK_ERROR_RESULTS_FIXED,
        Error::NoFrame { .. } => CALLSTACK_ERROR_NO_FRAME,
        Error::TooDeep { .. } => CALLSTACK_ERROR_TOO_DEEP,
        Error::Running { .. } => CALLSTACK_ERROR_RUNNING,
        Error::ChunkExists { .. } => CALLSTACK_ERROR_CHUNK_EXISTS,
        Error::UnknownChunk { .. } => CALLSTACK_ERROR_UNKNOWN_CHUNK,
        Error::TooLong { .. } => CALLSTACK_ERROR_TOO_LONG,
        Error::NotOneLine { .. } => CALLSTACK_ERROR_NOT_ONE_LINE,
        Error::NoRun { .. } => CALLSTACK_ERROR_NO_RUN,
        Error::OutOfTurn { .. } => CALLSTACK_ERROR_OUT_OF_TURN,
        Error::SecondStackOperation { .. } => CALLSTACK_ERROR_SECOND_STACK_OPERATION,
    }
}

/// The status that a number stands for.
pub(super) fn status(number: CallstackStatus) -> Result<FrameStatus, Error> {
    match number {
        CALLSTACK_STATUS_PLANNED => Ok(FrameStatus::Planned),
        CALLSTACK_STATUS_IN_PROGRESS => Ok(FrameStatus::InProgress),
        CALLSTACK_STATUS_COMPLETED => Ok(FrameStatus::Completed),
        CALLSTACK_STATUS_FAILED => Ok(FrameStatus::Failed),
        CALLSTACK_STATUS_BLOCKED => Ok(FrameStatus::Blocked),
        CALLSTACK_STATUS_INVALIDATED => Ok(FrameStatus::Invalidated),
        _ => Err(no_status(number, "0 to 5 (CALLSTACK_STATUS_…)")),
    }
}

/// The status that a number stands for, if a pop may leave it behind.
pub(super) fn pop_status(number: CallstackStatus) -> Result<PopStatus, Error> {
    match number {
        CALLSTACK_STATUS_COMPLETED => Ok(PopStatus::Completed),
        CALLSTACK_STATUS_FAILED => Ok(PopStatus::Failed),
        CALLSTACK_STATUS_BLOCKED => Ok(PopStatus::Blocked),
        _ => Err(no_status(number, "2 (completed), 3 (failed) or 4 (blocked)")),
    }
}

fn no_status(number: CallstackStatus, expected: &'static str) -> Error {
    Error::Setting { name: "status".into(), value: number.to_string(), expected }
}
