//! Contexts of the C interface. The XML is returned as it is, not inside of JSON.

use std::ffi::c_char;
use std::sync::Arc;

use serde::Serialize;

use super::code::CallstackCode;
use super::error::CallstackError;
use super::guard::{Output, guard, put};
use super::stack::Callstack;
use super::text::{CallstackText, optional_record, optional_text, text, to_json};
use crate::context::{Budget, Context, Report, Settings, changes};
use crate::frame::FrameRef;

/// The outputs of `callstack_context`. Each can be null.
#[derive(Clone, Copy)]
struct Parts {
    xml: *mut CallstackText,
    stable: *mut CallstackText,
    volatile: *mut CallstackText,
    report: *mut CallstackText,
}

impl Output for Parts {
    type Value = Arc<Context>;

    unsafe fn empty(self) {
        // SAFETY: the caller's promise.
        unsafe { [self.xml, self.stable, self.volatile, self.report].into_iter().for_each(|part| part.empty()) }
    }

    unsafe fn fill(self, context: Arc<Context>) {
        let texts = [(self.xml, &context.xml), (self.stable, &context.stable), (self.volatile, &context.volatile)];
        // SAFETY: the caller's promise.
        unsafe {
            for (part, text) in texts.into_iter().filter(|(part, _)| !part.is_null()) {
                put(part, CallstackText::copy(text));
            }
            if !self.report.is_null() {
                self.report.fill(to_json(&WholeReport { tokens: context.tokens, report: &context.report }));
            }
        }
    }
}

#[derive(Serialize)]
struct WholeReport<'a> {
    tokens: usize,
    #[serde(flatten)]
    report: &'a Report,
}

/// Returns the context of a frame: the XML text that its agent reads before the next model call. A cache answers calls
/// for the same frame and settings while nothing in the context has changed, for up to 30 seconds.
///
/// All outputs describe the same revision of the tree. An output that is NULL is not made.
///
/// - `frame`: the frame.
/// - `settings`: NULL for the defaults, or a JSON object such as `{"budget": {"total": 6000}}`, with any of
///   - `"budget"`: budgets in tokens; defaults: `{"total": 4000, "ancestors": 1500, "siblings": 1500, "current": 800,
///     "overhead": 200, "heap": 1500, "children": 1000}`. A context never has more than `total` tokens, nor more than `"bytes"` bytes,
///     which is six for each token of `total` if it is not given;
///   - `"minimumRelevance"`: siblings with a lower score are shown as stubs, while the quota of the siblings has room; 0
///     to 100, default 30;
///   - `"finishedChildren"`: which finished children are shown, `"all"`, `"forgotten"` (default: those whose results the
///     frame's conversation does not hold; see `callstack_deliver` and `callstack_forget`) or `"none"`;
///   - `"guidance"`: the standing advice for agents, `"full"` (default), `"brief"` or `"none"`;
///   - `"form"`: `"cached"` (default: nothing before what is added changes, for prompt caches) or `"document"`, the form of the
///     specification, with the ID of the frame as `session` in the opening tag, and the number of siblings that are shown as `count`;
///   - `"heapCeiling"`: size of the heap, in characters, above which the context warns the agent; default 5000;
///   - `"tools"`: the host's names of the tools that the text mentions: `{"prefix": "mcp__callstack__", "push":
///     "begin_task", "heapRead": null}`. `prefix` stands before the default names; `push`, `pop`, `activate`,
///     `planChildren`, `invalidate`, `details`, `tree`, `heapRead`, `heapFree` and `updateRegisters` replace a name (1 to
///     64 characters), and null means that there is no such tool. The string `"none"`: the text names no tools.
/// - `out_xml`: the whole context as one XML document.
/// - `out_stable`, `out_volatile`: the same in two XML documents, for hosts with a prompt cache. The stable part
///   belongs in the system prompt: its bytes change only when a frame is added or its status changes, a chunk that
///   it shows changes, or results are delivered or forgotten (`callstack_deliver`, `callstack_forget`). The volatile part belongs after the newest message.
/// - `out_report`: a JSON object, `{"tokens": 812, "handle": "f3", "stableTokens": 640, "volatileTokens": 172,
///   "entries": [{"handle": "f1", "section": "ancestors", "detailLevel": "standard", "score": 100, "tokens": 44}],
///   "chunks": [{"name": "api", "handle": "f1", "shown": "whole", "tokens": 90}]}`:
///   - `tokens`, `stableTokens`, `volatileTokens`: upper bounds of the number of tokens;
///   - `entries`: every frame that was considered; `section` is `"current-frame"`, `"ancestors"`, `"dependencies"`,
///     `"inherited-dependencies"`, `"earlier-attempts"`, `"ancestor-siblings"`, `"completed-siblings"`,
///     `"finished-children"` or `"planned-children"`; `detailLevel` is `"omitted"`, `"stub"`, `"compact"`, `"standard"` or
///     `"full"` or `"whole"`; an omitted frame has `omission`, which is `"irrelevant"`, `"budget"` or `"rank"`; `log` is the path of
///     its log, if the context names it;
///   - `chunks`: every chunk that the frame sees; absent if there are none; `shown` is `"omitted"`, `"index"` or
///     `"whole"`.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON and _SETTING for the settings; _BUDGET_TOO_SMALL, with the smallest
/// possible budget in the details, as `needed` and `unit` (`"tokens"`: of `total`; `"bytes"`: of `bytes`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_context(
    stack: *const Callstack,
    frame: *const c_char,
    frame_len: usize,
    settings: *const c_char,
    settings_len: usize,
    out_xml: *mut CallstackText,
    out_stable: *mut CallstackText,
    out_volatile: *mut CallstackText,
    out_report: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    let parts = Parts { xml: out_xml, stable: out_stable, volatile: out_volatile, report: out_report };
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, parts, error, |stack| {
            let frame = text("frame", frame, frame_len)?;
            Ok(stack.context(frame, &optional_record("settings", settings, settings_len)?)?)
        })
    }
}

/// Removes the contexts of a frame from the cache.
///
/// - `frame`: the frame; NULL: all frames.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_clear_cache(
    stack: *const Callstack,
    frame: *const c_char,
    frame_len: usize,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, (), error, |stack| {
            Ok(stack.clear_cache(optional_text("frame", frame, frame_len)?.map(FrameRef::from))?)
        })
    }
}

/// Returns the settings of contexts that follow from the environment: the defaults, replaced by the values of the
/// environment variables STACK_TOKEN_BUDGET_TOTAL, STACK_TOKEN_BUDGET_ANCESTORS, STACK_TOKEN_BUDGET_SIBLINGS and
/// STACK_TOKEN_BUDGET_CURRENT, in tokens.
///
/// A variable that is not a whole number of at least 1 leaves the default, and the others count.
///
/// - `out_settings`: a JSON object as `callstack_context` accepts it.
/// - `out_problems`: a JSON array with a message for each variable that was ignored, usually `[]`. NULL if not wanted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_settings(
    out_settings: *mut CallstackText,
    out_problems: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        guard((out_settings, out_problems), error, || {
            let (budget, problems) = Budget::from_environment();
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            Ok((to_json(&Settings { budget, ..Settings::default() }), to_json(&problems)))
        })
    }
}

/// Returns what of a volatile part has changed, for a conversation that keeps what it was told: a whole newer part would leave the older
/// one beside it.
///
/// - `before`: the volatile part that the conversation was told last.
/// - `now`: the newest one, of `callstack_session_context` or `callstack_context`.
/// - `out_changes`: a block with the elements that are new or different, and the names of those that are no more; `now` itself if that
///   is not longer; empty if there is nothing to tell.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_context_changes(
    before: *const c_char,
    before_len: usize,
    now: *const c_char,
    now_len: usize,
    out_changes: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        guard(out_changes, error, || {
            let (before, now) = (text("before", before, before_len)?, text("now", now, now_len)?);
            Ok(changes(before, now).unwrap_or_default())
        })
    }
}
