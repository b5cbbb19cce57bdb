//! The history of the C interface: events as JSON.

use super::code::CallstackCode;
use super::error::CallstackError;
use super::record::HistoryQuery;
use super::stack::Callstack;
use super::text::{CallstackText, CallstackView, to_json};
use crate::store::EventQuery;

/// Returns events of the history, oldest first, up to the revision that `callstack_info` returns. Does not
/// wait for a command that is running.
///
/// - `query` (EventQuery, optional): which events. Default: all.
/// - `out_events` (StackEvent[]): the events.
///
/// Errors: _IN_MEMORY if the stack keeps no history, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _SETTING for an
/// unknown kind; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_history(
    stack: *const Callstack,
    query: CallstackView,
    out_events: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_events, error, |stack| {
            let HistoryQuery { since, until, frame, kind, limit } = query.optional_record("query")?;
            let frame = frame.map(|frame| stack.resolve(frame)).transpose()?;
            Ok(to_json(&stack.history().events(&EventQuery { since, until, frame, kind, limit })?))
        })
    }
}

/// Returns the whole history as text, up to the revision that `callstack_info` returns. `callstack_rebuild`
/// reads it. If the history is damaged (_DAMAGED), these are the events before the damage. Does not wait for
/// a command that is running.
///
/// - `out_history` (text): one event in JSON on each line, as in `callstack_history`. If the history was
///   compacted, lines come first that only the library reads, with the keys `base` and `baseFrame`: the
///   frames whose events are gone.
///
/// Errors: _IN_MEMORY if the stack keeps no history; _HISTORY if another process compacts the history at the
/// same time; the storage errors.
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
            stack.history().export(&mut history)?;
            Ok(String::from_utf8(history).expect("JSON is UTF-8"))
        })
    }
}
