//! The history of the C interface: events as JSON.

use std::ffi::c_char;

use serde::Deserialize;

use super::code::CallstackCode;
use super::error::CallstackError;
use super::stack::Callstack;
use super::text::{CallstackText, optional_record, to_json};
use crate::frame::FrameRef;
use crate::store::EventQuery;

/// The argument of `callstack_history`: an [`EventQuery`] that names its frame by any reference.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct HistoryQuery {
    since: u64,
    until: Option<u64>,
    frame: Option<FrameRef>,
    kind: Option<String>,
    limit: Option<usize>,
}

/// Returns events of the history, oldest first, up to the revision that `callstack_info` returns. Does not wait for a
/// command that is running.
///
/// - `query`: NULL for all events, or a JSON object such as `{"since": 20, "frame": "f2"}`, with any of
///   - `"since"`: only events after this revision; default 0;
///   - `"until"`: only events up to this revision; default: all;
///   - `"frame"`: only events of this frame;
///   - `"kind"`: only events of this kind: `added`, `imported`, `dependenciesAdded`, `identified`, `statusChanged`,
///     `invalidated`, `idReplaced`, `logPathSet`, `logMoved`, `artifactAdded`, `decisionAdded`, `activeChanged`, `summarized`,
///     `chunkAllocated`, `chunkWritten`, `chunkFreed`, `registersChanged`, `runStarted`, `called`, `messagesAdded`,
///     `delivered`, `forgotten`, `asked`, `answered`, `held`, `released`, `summaryRequested`, `edited`, `stopped`,
///     `usageRecorded`, `limitsSet`, `costRecorded`, `transcriptRead`, `reopened`, `commanded`, `undone`, `restored` or
///     `reimported`;
///   - `"limit"`: at most this number of events, the oldest ones.
/// - `out_events`: a JSON array, `[{"revision": 7, "time": 1795293106903, "handle": "f2", "kind":
///   "decisionAdded", "decision": "Use SQLite"}]`.
///
/// Errors: _IN_MEMORY if the stack keeps no history, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _SETTING for an unknown
/// kind; the storage errors.
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
            let HistoryQuery { since, until, frame, kind, limit } = optional_record("query", query, query_len)?;
            let frame = frame.map(|frame| stack.resolve(frame)).transpose()?;
            Ok(to_json(&stack.history(&EventQuery { since, until, frame, kind, limit })?))
        })
    }
}

/// Returns the whole history as text, up to the revision that `callstack_info` returns. `callstack_rebuild` reads it. If
/// the history is damaged (_DAMAGED), these are the events before the damage. Does not wait for a command that is
/// running.
///
/// - `out_history`: one event in JSON on each line, as in `callstack_history`. If the history was compacted, lines come first that
///   only the library reads, with the keys `base` and `baseFrame`: the frames whose events are gone.
///
/// Errors: _IN_MEMORY if the stack keeps no history; _HISTORY if another process compacts the history meanwhile; the storage errors.
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
