//! Return codes and frame statuses as numbers. A number never changes its meaning.

use crate::error::{Error, SNAPSHOT};
use crate::frame::{FrameStatus, PopStatus};

/// The result of a call: `CALLSTACK_OK` or the number of an error. The hundreds of a number say what can be done about it:
///
/// - 0: the call is wrong, such as a NULL pointer, or the library has panicked;
/// - 100: refused. Nothing has changed, and another request can succeed, as the message says;
/// - 200: a value that no stack takes;
/// - 300: others use the stack, or its server cannot be reached for a while. The same call can succeed later;
/// - 400: a file, a folder or a disk does not allow it;
/// - 500: what is stored is damaged, was replaced, or was written by a newer version;
/// - 600: the stack cannot be used like this: within a query, without a folder, or after a panic.
///
/// Later versions can add numbers; they never reuse one.
pub type CallstackCode = i32;

/// The call succeeded.
pub const CALLSTACK_OK: CallstackCode = 0;
/// A required pointer was NULL.
pub const CALLSTACK_ERROR_NULL: CallstackCode = 1;
/// A length is larger than any text in memory can be (more than half of the address space).
pub const CALLSTACK_ERROR_LENGTH: CallstackCode = 2;
/// A text is not valid UTF-8.
pub const CALLSTACK_ERROR_UTF8: CallstackCode = 3;
/// The library panicked: a defect of the library, or of a callback of the host. If the function was a command, the stack is broken.
pub const CALLSTACK_ERROR_PANIC: CallstackCode = 4;
/// No frame has this ID or handle, or an ID with this beginning.
pub const CALLSTACK_ERROR_UNKNOWN_FRAME: CallstackCode = 101;
/// The IDs of several frames begin with the text. The details list up to eight candidates.
pub const CALLSTACK_ERROR_AMBIGUOUS_FRAME: CallstackCode = 102;
/// Another frame already has the ID.
pub const CALLSTACK_ERROR_DUPLICATE_ID: CallstackCode = 103;
/// The frame cannot change from its current status to the requested one.
pub const CALLSTACK_ERROR_TRANSITION: CallstackCode = 104;
/// The parent is completed, failed or invalidated.
pub const CALLSTACK_ERROR_PARENT_CLOSED: CallstackCode = 105;
/// The parent is planned, so no frame can be pushed below it.
pub const CALLSTACK_ERROR_PARENT_PLANNED: CallstackCode = 106;
/// The title and criteria of the frame are already set and cannot change.
pub const CALLSTACK_ERROR_IDENTITY_FIXED: CallstackCode = 107;
/// A dependency on the frame itself, on a frame above or below it, or in a circle.
pub const CALLSTACK_ERROR_DEPENDENCY: CallstackCode = 108;
/// Two imported frames name each other as ancestors.
pub const CALLSTACK_ERROR_PARENT_CIRCLE: CallstackCode = 109;
/// The frame is not in_progress or blocked, so it cannot be the active frame.
pub const CALLSTACK_ERROR_NOT_OPEN: CallstackCode = 110;
/// The budget is too small for the required part of the context. The details hold the `needed` one and its `unit`, tokens
/// or bytes.
pub const CALLSTACK_ERROR_BUDGET_TOO_SMALL: CallstackCode = 111;
/// The folder for a new stack already contains one.
pub const CALLSTACK_ERROR_NOT_EMPTY: CallstackCode = 112;
/// The tree has the maximum number of frames (4,294,967,295).
pub const CALLSTACK_ERROR_FULL: CallstackCode = 113;
/// The frame is not in_progress or blocked, so its results cannot be updated.
pub const CALLSTACK_ERROR_RESULTS_FIXED: CallstackCode = 114;
/// The calling session has no frame, and the call names none.
pub const CALLSTACK_ERROR_NO_FRAME: CallstackCode = 115;
/// The new frame would be deeper than the setting `maxDepth` allows.
pub const CALLSTACK_ERROR_TOO_DEEP: CallstackCode = 116;
/// Somebody else works on the frame. The details hold `by`, and `until` when.
pub const CALLSTACK_ERROR_HELD: CallstackCode = 117;
/// The frame, or an unfinished frame below it, already sees a chunk of that name.
pub const CALLSTACK_ERROR_CHUNK_EXISTS: CallstackCode = 118;
/// The frame sees no chunk of that name.
pub const CALLSTACK_ERROR_UNKNOWN_CHUNK: CallstackCode = 119;
/// The frame is not the root frame of a run.
pub const CALLSTACK_ERROR_NO_RUN: CallstackCode = 120;
/// The run waits for something else.
pub const CALLSTACK_ERROR_OUT_OF_TURN: CallstackCode = 121;
/// A second push_frame or pop_frame in one step of a run.
pub const CALLSTACK_ERROR_SECOND_STACK_OPERATION: CallstackCode = 122;
/// The frame is neither completed nor failed, so it has no results to deliver.
pub const CALLSTACK_ERROR_NOT_FINISHED: CallstackCode = 123;
/// The frame is not blocked, so it waits for no answer.
pub const CALLSTACK_ERROR_NOT_BLOCKED: CallstackCode = 124;
/// The frame has begun or ended, so it cannot be edited; the words of an open one only by a person.
pub const CALLSTACK_ERROR_NOT_PLANNED: CallstackCode = 125;
/// The frame cannot stand before a frame with another parent.
pub const CALLSTACK_ERROR_NOT_SIBLING: CallstackCode = 126;
/// The planned frame waits for others.
pub const CALLSTACK_ERROR_NOT_READY: CallstackCode = 127;
/// The frame waits for the caller, which would wait for it.
pub const CALLSTACK_ERROR_WAIT_CIRCLE: CallstackCode = 128;
/// The frame is neither failed nor blocked, or was begun anew already: then the details hold the `newest` attempt.
pub const CALLSTACK_ERROR_NOT_RETRIABLE: CallstackCode = 129;
/// An imported frame has a `retryOf` that cannot be, or an edit would move an attempt away from the one before it.
pub const CALLSTACK_ERROR_RETRY_LINK: CallstackCode = 130;
/// The frame is not free for a worker, or its holder cannot keep it. The details hold the `reason`.
pub const CALLSTACK_ERROR_NOT_FREE: CallstackCode = 131;
/// Somebody else has held the frame since, so what its earlier holder still sends is refused. The details hold `by`, the newest holder, and
/// its `generation`.
pub const CALLSTACK_ERROR_HOLD_LOST: CallstackCode = 132;
/// There is no command of this person to take back.
pub const CALLSTACK_ERROR_NOTHING_TO_UNDO: CallstackCode = 133;
/// The last command of the person cannot be taken back. The details hold the `command` and the `reason`.
pub const CALLSTACK_ERROR_NOT_UNDONE: CallstackCode = 134;
/// The frame would have more tools than the frames above it. The details hold `tools`, those that are too many, and `above`.
pub const CALLSTACK_ERROR_TOOLS_EXCEED: CallstackCode = 135;
/// Frames below the frame that is to be completed are open or planned. The details hold `left`, the first dozen of them.
pub const CALLSTACK_ERROR_PARTS_LEFT: CallstackCode = 136;
/// A required text is empty or has only white space.
pub const CALLSTACK_ERROR_EMPTY: CallstackCode = 201;
/// A setting, a number or an environment variable is outside of its allowed values.
pub const CALLSTACK_ERROR_SETTING: CallstackCode = 202;
/// A text is not JSON, or JSON of another shape.
pub const CALLSTACK_ERROR_JSON: CallstackCode = 203;
/// A text is longer than its limit.
pub const CALLSTACK_ERROR_TOO_LONG: CallstackCode = 204;
/// A text that must be one line has line breaks or other control characters.
pub const CALLSTACK_ERROR_NOT_ONE_LINE: CallstackCode = 205;
/// Commands of other threads, or other processes in the database or at the lock of a file, took longer than the call
/// waits (`busyTimeout`). The details hold `waited`, in milliseconds: how long the call waited in all.
pub const CALLSTACK_ERROR_BUSY: CallstackCode = 301;
/// The server of the stack cannot be reached. `isOutcomeUnknown` in the details says whether the command may have been committed.
pub const CALLSTACK_ERROR_DISCONNECTED: CallstackCode = 302;
/// The operating system or SQLite refused an operation on a file or folder.
pub const CALLSTACK_ERROR_IO: CallstackCode = 401;
/// The disk is full, or a quota is used up.
pub const CALLSTACK_ERROR_DISK_FULL: CallstackCode = 402;
/// The file, its folder or the disk is read-only for this process.
pub const CALLSTACK_ERROR_READ_ONLY: CallstackCode = 403;
/// A newer version of the library wrote the file.
pub const CALLSTACK_ERROR_VERSION: CallstackCode = 501;
/// An event does not fit the events before it in a history.
pub const CALLSTACK_ERROR_HISTORY: CallstackCode = 502;
/// A file does not contain what its name says, or a history has an event that does not fit. It was not changed.
pub const CALLSTACK_ERROR_DAMAGED: CallstackCode = 503;
/// The files of the stack were replaced while it was open. Nothing more is written to them: open the stack again.
pub const CALLSTACK_ERROR_REPLACED: CallstackCode = 504;
/// An earlier command on this stack returned `CALLSTACK_ERROR_PANIC`: close the stack and open it again.
pub const CALLSTACK_ERROR_BROKEN: CallstackCode = 601;
/// The stack is in memory and has no logs, or no history.
pub const CALLSTACK_ERROR_IN_MEMORY: CallstackCode = 602;
/// A command was called by code that the library calls while it reads the tree. C programs cannot cause it.
pub const CALLSTACK_ERROR_INSIDE_READ: CallstackCode = 603;

/// The status of a frame. In JSON the name is used, such as `"in_progress"`.
pub type CallstackStatus = i32;

/// `planned`: not begun.
pub const CALLSTACK_STATUS_PLANNED: CallstackStatus = 0;
/// `in_progress`: an agent works on it.
pub const CALLSTACK_STATUS_IN_PROGRESS: CallstackStatus = 1;
/// `completed`: finished, the criteria are met.
pub const CALLSTACK_STATUS_COMPLETED: CallstackStatus = 2;
/// `failed`: finished, the criteria are not met; the results say why.
pub const CALLSTACK_STATUS_FAILED: CallstackStatus = 3;
/// `blocked`: begun, and waiting for something outside of the frame.
pub const CALLSTACK_STATUS_BLOCKED: CallstackStatus = 4;
/// `invalidated`: removed from the plan.
pub const CALLSTACK_STATUS_INVALIDATED: CallstackStatus = 5;

/// Returns the code of an error of the engine. Add a number here for each new error.
pub(super) fn code_of(error: &Error) -> CallstackCode {
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
        Error::Json { what: SNAPSHOT, .. } => CALLSTACK_ERROR_DAMAGED,
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
        Error::NotFinished { .. } => CALLSTACK_ERROR_NOT_FINISHED,
        Error::NotBlocked { .. } => CALLSTACK_ERROR_NOT_BLOCKED,
        Error::NoFrame { .. } => CALLSTACK_ERROR_NO_FRAME,
        Error::TooDeep { .. } => CALLSTACK_ERROR_TOO_DEEP,
        Error::Held { .. } => CALLSTACK_ERROR_HELD,
        Error::WaitCircle { .. } => CALLSTACK_ERROR_WAIT_CIRCLE,
        Error::ChunkExists { .. } => CALLSTACK_ERROR_CHUNK_EXISTS,
        Error::UnknownChunk { .. } => CALLSTACK_ERROR_UNKNOWN_CHUNK,
        Error::TooLong { .. } => CALLSTACK_ERROR_TOO_LONG,
        Error::NotOneLine { .. } => CALLSTACK_ERROR_NOT_ONE_LINE,
        Error::NoRun { .. } => CALLSTACK_ERROR_NO_RUN,
        Error::OutOfTurn { .. } => CALLSTACK_ERROR_OUT_OF_TURN,
        Error::SecondStackOperation { .. } => CALLSTACK_ERROR_SECOND_STACK_OPERATION,
        Error::Replaced { .. } => CALLSTACK_ERROR_REPLACED,
        Error::Disconnected { .. } => CALLSTACK_ERROR_DISCONNECTED,
        Error::InsideRead { .. } => CALLSTACK_ERROR_INSIDE_READ,
        Error::Broken { .. } => CALLSTACK_ERROR_BROKEN,
        Error::NotRetriable { .. } => CALLSTACK_ERROR_NOT_RETRIABLE,
        Error::ToolsExceed { .. } => CALLSTACK_ERROR_TOOLS_EXCEED,
        Error::NothingToUndo { .. } => CALLSTACK_ERROR_NOTHING_TO_UNDO,
        Error::NotUndone { .. } => CALLSTACK_ERROR_NOT_UNDONE,
        Error::RetryLink { .. } => CALLSTACK_ERROR_RETRY_LINK,
        Error::NotPlanned { .. } => CALLSTACK_ERROR_NOT_PLANNED,
        Error::NotSibling { .. } => CALLSTACK_ERROR_NOT_SIBLING,
        Error::NotReady { .. } => CALLSTACK_ERROR_NOT_READY,
        Error::PartsLeft { .. } => CALLSTACK_ERROR_PARTS_LEFT,
        Error::NotFree { .. } => CALLSTACK_ERROR_NOT_FREE,
        Error::HoldLost { .. } => CALLSTACK_ERROR_HOLD_LOST,
        Error::Child { error, .. } => code_of(error),
    }
}

/// Converts a number to a status.
pub(super) fn status(number: CallstackStatus) -> Result<FrameStatus, Error> {
    known_status(number).ok_or_else(|| no_status(number, "0 to 5 (CALLSTACK_STATUS_…)"))
}

/// Converts a number to a status that a pop can set.
pub(super) fn pop_status(number: CallstackStatus) -> Result<PopStatus, Error> {
    match number {
        CALLSTACK_STATUS_COMPLETED => Ok(PopStatus::Completed),
        CALLSTACK_STATUS_FAILED => Ok(PopStatus::Failed),
        CALLSTACK_STATUS_BLOCKED => Ok(PopStatus::Blocked),
        _ => Err(no_status(number, "completed (2), failed (3) or blocked (4)")),
    }
}

const fn known_status(number: CallstackStatus) -> Option<FrameStatus> {
    match number {
        CALLSTACK_STATUS_PLANNED => Some(FrameStatus::Planned),
        CALLSTACK_STATUS_IN_PROGRESS => Some(FrameStatus::InProgress),
        CALLSTACK_STATUS_COMPLETED => Some(FrameStatus::Completed),
        CALLSTACK_STATUS_FAILED => Some(FrameStatus::Failed),
        CALLSTACK_STATUS_BLOCKED => Some(FrameStatus::Blocked),
        CALLSTACK_STATUS_INVALIDATED => Some(FrameStatus::Invalidated),
        _ => None,
    }
}

/// The error for a number. It names the status, because a binding may have taken the number from that name.
fn no_status(number: CallstackStatus, expected: &'static str) -> Error {
    let value = known_status(number).map_or(number.to_string(), |status| format!("{status} ({number})"));
    Error::Setting { name: "status".into(), value, expected }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorClass;

    #[test]
    fn the_hundreds_of_a_number_are_the_class_of_the_error() {
        let io = || Error::io("write", "stack", "no");
        let errors = [
            Error::UnknownFrame { reference: "f9".into(), handle: None, similar: Vec::new() },
            Error::NotEmpty { path: "stack".into() },
            Error::Full { limit: 1 },
            Error::Empty { field: "title" },
            Error::TooLong { field: "name", length: 2, limit: 1 },
            Error::NotOneLine { field: "name" },
            Error::Setting { name: "lease".into(), value: "0".into(), expected: "1 or more" },
            Error::json("the query", "no JSON".to_owned()),
            Error::Busy { path: "stack".into(), waited: 10 },
            Error::disconnected("stack", "gone", true),
            io(),
            Error::disk_full("stack"),
            Error::json(SNAPSHOT, "no JSON".to_owned()),
            Error::Version { what: "stack".into(), found: 99, supported: 1 },
            Error::InMemory { what: "history" },
            Error::InsideRead {},
            Error::Broken {},
            Error::Child { number: 1, title: "Cart".into(), error: Box::new(io()) },
        ];
        for error in errors {
            let hundreds = match error.class() {
                ErrorClass::Refused => 1,
                ErrorClass::Usage => 2,
                ErrorClass::Passing => 3,
                ErrorClass::Storage => 4,
                ErrorClass::Damaged => 5,
                ErrorClass::Broken => 6,
            };
            assert_eq!(code_of(&error) / 100, hundreds, "{}: {error}", error.code());
        }
    }
}
