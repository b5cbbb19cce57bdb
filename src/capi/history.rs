//! Histories across the border.

use std::ffi::c_char;

use serde::Deserialize;

use super::code::CallstackCode;
use super::error::CallstackError;
use super::stack::Callstack;
use super::text::{CallstackText, optional_record, to_json};
use crate::frame::FrameRef;
use crate::store::EventQuery;

/// Which events are meant: an [`EventQuery`] whose frame may be named in any way.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct HistoryQuery {
    since: u64,
    frame: Option<FrameRef>,
    kind: Option<String>,
    limit: Option<usize>,
}

/// What has happened, oldest first.
///
/// - `query`: NULL for everything, or a JSON object with any of `"since"` (only events after this revision),
///   `"frame"` (only events of this frame), `"kind"`, `"limit"` (the oldest so many).
/// - `out_events`: a JSON array, `[{"revision": 7, "time": 1795293106903, "handle": "f2", "kind":
///   "decisionAdded", "decision": "Use SQLite"}]`. Kinds are `added`, `imported`, `dependenciesAdded`,
///   `identified`, `statusChanged`, `invalidated`, `idReplaced`, `logPathSet`, `artifactAdded`,
///   `decisionAdded`, `activeChanged`, `summarized`, `chunkAllocated`, `chunkWritten`, `chunkFreed`,
///   `registersChanged`, `runStarted`, `called`, `messagesAdded`.
///
/// Errors: CALLSTACK_ERROR_IN_MEMORY if the stack keeps no history; _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON;
/// _SETTING for an unknown kind; those of the disk.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_history(
    stack: *const Callstack,
    query: *const c_char,
    query_len: usize,
    out_events: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_events, error, |stack| {
            let HistoryQuery { since, frame, kind, limit } = optional_record("query", query, query_len)?;
            let frame = frame.map(|frame| stack.resolve(frame)).transpose()?;
            Ok(to_json(&stack.history(&EventQuery { since, frame, kind, limit })?))
        })
    }
}

/// The whole history as text, one event in JSON on each line. `callstack_rebuild` reads it.
///
/// Errors: CALLSTACK_ERROR_IN_MEMORY if the stack keeps no history; those of the disk.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_export_history(
    stack: *const Callstack,
    out_history: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_history, error, |stack| {
            let mut history = Vec::new();
            stack.export_history(&mut history)?;
            Ok(String::from_utf8(history).expect("JSON is UTF-8"))
        })
    }
}
