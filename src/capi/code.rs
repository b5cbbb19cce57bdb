//! Return codes. A number never changes its meaning.

/// The result of a call: `CALLSTACK_OK` or the number of an error. The hundreds of a number say what can be
/// done about it:
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
/// The library panicked: a defect of the library, or of a callback of the host. If the function was a
/// command, the stack is broken.
pub const CALLSTACK_ERROR_PANIC: CallstackCode = 4;
/// No frame has this handle, this ID, an ID with this beginning, this title, or a title with this beginning.
pub const CALLSTACK_ERROR_UNKNOWN_FRAME: CallstackCode = 101;
/// Several frames match: their IDs begin with the text, or their titles are the text or begin with it. The
/// details list up to eight candidates.
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
/// The parent of a frame would be the frame itself or one below it.
pub const CALLSTACK_ERROR_PARENT_CIRCLE: CallstackCode = 109;
/// The frame is not in_progress or blocked, so it cannot be the active frame.
pub const CALLSTACK_ERROR_NOT_OPEN: CallstackCode = 110;
/// The budget is too small for the required part of the context. The details hold the `needed` one and its
/// `unit`, tokens or bytes.
pub const CALLSTACK_ERROR_BUDGET_TOO_SMALL: CallstackCode = 111;
/// The folder for a new stack or an export already contains a stack.
pub const CALLSTACK_ERROR_NOT_EMPTY: CallstackCode = 112;
/// The tree has the maximum number of frames (4,294,967,295).
pub const CALLSTACK_ERROR_FULL: CallstackCode = 113;
/// The frame is not in_progress or blocked, so its results cannot be updated.
pub const CALLSTACK_ERROR_RESULTS_FIXED: CallstackCode = 114;
/// The calling session has no frame, and the call names none.
pub const CALLSTACK_ERROR_NO_FRAME: CallstackCode = 115;
/// The new frame would be deeper than the setting `maxDepth` allows.
pub const CALLSTACK_ERROR_TOO_DEEP: CallstackCode = 116;
/// Another actor works on the frame. The details hold `by`, and `until` when.
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
/// The frame is neither failed nor blocked, or was retried already: then the details hold the `newest`
/// attempt.
pub const CALLSTACK_ERROR_NOT_RETRIABLE: CallstackCode = 129;
/// An imported frame has a `retryOf` that cannot be, or an edit would move an attempt away from the one
/// before it.
pub const CALLSTACK_ERROR_RETRY_LINK: CallstackCode = 130;
/// The frame is not free for a worker, or its holder cannot keep it. The details hold the `reason`.
pub const CALLSTACK_ERROR_NOT_FREE: CallstackCode = 131;
/// Another actor has held the frame since, so what its earlier holder still sends is refused. The details
/// hold `by`, the newest holder, and its `generation`.
pub const CALLSTACK_ERROR_HOLD_LOST: CallstackCode = 132;
/// There is no command of this person to take back.
pub const CALLSTACK_ERROR_NOTHING_TO_UNDO: CallstackCode = 133;
/// The last command of the person cannot be taken back. The details hold the `command` and the `reason`.
pub const CALLSTACK_ERROR_NOT_UNDONE: CallstackCode = 134;
/// The frame would have more tools than the frames above it. The details hold `tools`, those that are too
/// many, and `above`.
pub const CALLSTACK_ERROR_TOOLS_EXCEED: CallstackCode = 135;
/// Frames below the frame that is to be completed are open or planned. The details hold `left`, the first
/// dozen of them.
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
/// Commands of other threads, or other processes in the database or at the lock of a file, took longer than
/// the call waits (`busyTimeout`). The details hold `waited`, in milliseconds: how long the call waited in
/// all.
pub const CALLSTACK_ERROR_BUSY: CallstackCode = 301;
/// The server of the stack cannot be reached. `isOutcomeUnknown` in the details says whether the command may
/// have been committed.
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
/// A file does not contain what its name says, or a history has an event that does not fit. It was not
/// changed.
pub const CALLSTACK_ERROR_DAMAGED: CallstackCode = 503;
/// The files of the stack were replaced while it was open. Nothing more is written to them: open the stack
/// again.
pub const CALLSTACK_ERROR_REPLACED: CallstackCode = 504;
/// An earlier command on this stack returned `CALLSTACK_ERROR_PANIC`: close the stack and open it again.
pub const CALLSTACK_ERROR_BROKEN: CallstackCode = 601;
/// The stack is in memory and has no logs, or no history.
pub const CALLSTACK_ERROR_IN_MEMORY: CallstackCode = 602;
/// A command was called by code that the library calls while it reads the tree. C programs cannot cause it.
pub const CALLSTACK_ERROR_INSIDE_READ: CallstackCode = 603;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::error::{ErrorClass, KINDS};

    #[test]
    fn every_error_has_a_constant_and_the_hundreds_are_its_class() {
        let source = include_str!("code.rs");
        let constants = source.lines().filter_map(|line| line.strip_prefix("pub const CALLSTACK_ERROR_"));
        let numbers: BTreeMap<String, i32> = constants
            .map(|line| {
                let (name, number) = line.split_once(": CallstackCode = ").expect("a constant is on one line");
                (name.to_lowercase(), number.trim_end_matches(';').parse().expect("a number"))
            })
            .collect();
        for (variant, class, code, number) in KINDS {
            let hundreds = match class {
                ErrorClass::Refused => 1,
                ErrorClass::Usage => 2,
                ErrorClass::Passing => 3,
                ErrorClass::Storage => 4,
                ErrorClass::Damaged => 5,
                ErrorClass::Broken => 6,
            };
            assert_eq!(numbers.get(*code), Some(number), "{variant}: the constant of {code}");
            assert_eq!(number / 100, hundreds, "{variant}: {class:?}");
        }
        let of_engine = numbers.values().filter(|number| **number >= 100).count();
        assert_eq!(of_engine, KINDS.len(), "an error is missing in `error::kinds!`");
    }
}
