//! The full logs of frames in the C interface.

use serde_json::Value;

use super::code::CallstackCode;
use super::error::CallstackError;
use super::stack::Callstack;
use super::text::{CallstackText, CallstackView, to_json};
use crate::store::LogQuery;

/// Appends entries to the full log of a frame, `logs/{id}.jsonl` in the folder of the stack: all of them or
/// none. Contexts that show the frame in full tell the agent the path of the log.
///
/// - `frame` (FrameRef): the frame.
/// - `entries` (any[]): the entries. Each becomes one line of JSON.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _IN_MEMORY if the stack has no folder, _JSON (also for an entry
/// that is nested more than 100 levels deep); the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_append_log(
    stack: *mut Callstack,
    frame: CallstackView,
    entries: CallstackView,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = frame.text("frame")?;
            let entries: Vec<Value> = entries.list("entries")?;
            Ok(stack.log(frame).append(&entries)?)
        })
    }
}

/// Returns lines of the log of a frame. A frame without a log has no lines. The function reads the file; if
/// there is no file, it first waits for a running command and looks for commits of other processes.
///
/// - `frame` (FrameRef): the frame.
/// - `query` (LogQuery, optional): which lines. Default: all.
/// - `out_page` (LogPage): the lines.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _IN_MEMORY if the stack has no folder; the storage
/// errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_read_log(
    stack: *mut Callstack,
    frame: CallstackView,
    query: CallstackView,
    out_page: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_page, error, |stack| {
            let frame = frame.text("frame")?;
            let query: LogQuery = query.optional_record("query")?;
            Ok(to_json(&stack.log(frame).read(&query)?))
        })
    }
}

/// Sets the path of a frame's full log, for hosts that keep the log themselves. Contexts tell the agent the
/// path while the file exists. The library never writes to the file.
///
/// - `frame` (FrameRef): the frame.
/// - `path` (text): a path, absolute or relative to the folder of the stack. Must not be empty.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the path; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_set_log_path(
    stack: *mut Callstack,
    frame: CallstackView,
    path: CallstackView,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = frame.text("frame")?;
            Ok(stack.log(frame).set_path(path.text("path")?)?)
        })
    }
}
