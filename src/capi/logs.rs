//! The full logs of frames across the border.

use std::ffi::c_char;

use serde_json::Value;

use super::code::CallstackCode;
use super::error::CallstackError;
use super::stack::Callstack;
use super::text::{CallstackText, list, optional_record, text, to_json};
use crate::store::LogQuery;

/// Adds entries to the full log of a frame, all or none, each as a line of JSON: logs/{id}.jsonl in the
/// stack's folder. Contexts that show the frame in full name the file for the agent.
///
/// - `entries`: a JSON array of anything, `[{"role": "user", "text": "Build a shop"}]`.
///
/// Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME; _IN_MEMORY without a folder; _JSON, also for
/// entries nested more than 100 levels deep; those of the disk.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_append_log(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    entries: *const c_char,
    entries_len: usize,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = text("frame", frame, frame_len)?;
            let entries: Vec<Value> = list("entries", entries, entries_len)?;
            Ok(stack.append_log(frame, &entries)?)
        })
    }
}

/// Reads lines of a frame's log. A frame without a log has none.
///
/// - `query`: NULL for all of them, or a JSON object with any of `"from"` and `"to"` (line numbers, both
///   included, from 1), `"search"` (only lines with this text, whatever its case), `"tail"` (of all these
///   the last so many).
/// - `out_page`: a JSON object, `{"lines": [{"number": 1, "entry": {…}}], "total": 1, "damaged": [{"number":
///   2, "message": "…"}]}`; `total` counts all lines of the log.
///
/// Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON; _IN_MEMORY without a folder; _IO.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_read_log(
    stack: *const Callstack,
    frame: *const c_char,
    frame_len: usize,
    query: *const c_char,
    query_len: usize,
    out_page: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_page, error, |stack| {
            let frame = text("frame", frame, frame_len)?;
            let query: LogQuery = optional_record("query", query, query_len)?;
            Ok(to_json(&stack.read_log(frame, &query)?))
        })
    }
}

/// Names the file that holds a frame's full log, when the host keeps it elsewhere. Contexts name it for
/// the agent as long as it exists; the library never writes to it.
///
/// - `log_path`: absolute, or relative to the stack's folder.
///
/// Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY; those of the disk.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_set_log_path(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    log_path: *const c_char,
    log_path_len: usize,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = text("frame", frame, frame_len)?;
            Ok(stack.set_log_path(frame, text("log_path", log_path, log_path_len)?)?)
        })
    }
}
