//! The full logs of frames in the C interface.

use std::ffi::c_char;

use serde_json::Value;

use super::code::CallstackCode;
use super::error::CallstackError;
use super::stack::Callstack;
use super::text::{CallstackText, list, optional_record, text, to_json};
use crate::store::LogQuery;

/// Appends entries to the full log of a frame, logs/{id}.jsonl in the folder of the stack: all of them or none.
/// Contexts that show the frame in full tell the agent the path of the log.
///
/// - `frame`: the frame.
/// - `entries`: a JSON array of any values, `[{"role": "user", "text": "Build a shop"}]`. Each entry becomes one line.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _IN_MEMORY if the stack has no folder, _JSON (also for an entry that is
/// nested more than 100 levels deep); the storage errors.
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
            Ok(stack.log(frame).append(&entries)?)
        })
    }
}

/// Returns lines of the log of a frame. A frame without a log has no lines. This function reads the file; if there is
/// no file, it first waits for a running command and looks for commits of other processes.
///
/// - `frame`: the frame.
/// - `query`: NULL for all lines, or a JSON object such as `{"from": 1, "to": 50, "search": "error", "tail": 10}`, with
///   any of
///   - `"from"`, `"to"`: first and last line, counted from 1; both are included;
///   - `"search"`: only lines that contain this text in a key or a value; upper and lower case are the same;
///   - `"tail"`: only the last lines of the selection, this number of them.
/// - `out_page`: a JSON object, `{"lines": [{"number": 1, "entry": {…}}], "total": 1, "damaged": [{"number": 2,
///   "message": "…"}]}`. `total` is the number of all lines of the log; `damaged` lists the lines in the range that
///   cannot be read, at most 1000.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _IN_MEMORY if the stack has no folder; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_read_log(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    query: *const c_char,
    query_len: usize,
    out_page: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_page, error, |stack| {
            let frame = text("frame", frame, frame_len)?;
            let query: LogQuery = optional_record("query", query, query_len)?;
            Ok(to_json(&stack.log(frame).read(&query)?))
        })
    }
}

/// Sets the path of a frame's full log, for hosts that keep the log themselves. Contexts tell the agent the path while
/// the file exists; the library never writes to the file.
///
/// - `frame`: the frame.
/// - `log_path`: a path, absolute or relative to the folder of the stack. Must not be empty.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the path; the storage errors.
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
            Ok(stack.log(frame).set_path(text("log_path", log_path, log_path_len)?)?)
        })
    }
}
