//! Contexts across the border: the texts themselves, not texts inside of JSON.

use std::ffi::c_char;
use std::sync::Arc;

use serde::Serialize;

use super::code::CallstackCode;
use super::error::CallstackError;
use super::guard::{Output, guard, put};
use super::stack::Callstack;
use super::text::{CallstackText, optional_record, optional_text, text, to_json};
use crate::context::{Budget, Context, Report, Settings};
use crate::frame::FrameRef;

/// The parts of a context, each for a caller who wants it.
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

/// The context of a frame: what its agent should see before the next model call. Calls for the same
/// frame and settings are answered from a cache while nothing in it has changed.
///
/// Each part may be NULL if it is not wanted, and costs nothing then. All come from one look at the tree.
///
/// - `settings`: NULL for the defaults, or a JSON object with any of `"budget"` (tokens: `{"total": 4000,
///   "ancestors": 1500, "siblings": 1500, "current": 800, "overhead": 200, "heap": 1500}`),
///   `"minimumRelevance"` (siblings that score less are left out, 0 to 100; 30), `"guidance"` (standing advice:
///   `"full"`, `"brief"` or `"none"`), `"heapCeiling"` (characters on the heap past which the agent is warned,
///   5000), `"tools"` (the host's names of the tools that the text mentions: `"prefix"` before the default names, and
///   `"push"`, `"pop"`, `"activate"`, `"planChildren"`, `"invalidate"`, `"details"`, `"tree"`, `"heapRead"`,
///   `"heapFree"`, `"updateRegisters"`, each a name of 1 to 64 characters, or null if there is no such tool; or the string
///   `"none"` for no names at all).
/// - `out_xml`: all of it as one XML document.
/// - `out_stable`, `out_volatile`: the same in two documents, for hosts with prompt caches: the first keeps
///   its bytes until a frame is pushed, popped or invalidated or a chunk that it shows changes, and belongs
///   into the system prompt; the second belongs behind the newest message.
/// - `out_report`: a JSON object, `{"tokens": 812, "handle": "f3", "stableTokens": 640, "volatileTokens": 172,
///   "entries": [{"handle": "f1", "section": "ancestors", "rung": "standard", "score": 100, "tokens": 44}]}`:
///   upper bounds of the tokens, and every frame that was considered, with `omission` (`"irrelevant"`,
///   `"budget"` or `"rank"`) if it is left out and `log` if a log is named. `rung` is `"omitted"`, `"stub"`,
///   `"compact"`, `"standard"` or `"full"`. With chunks on the heap also `"chunks": [{"name": "api", "handle":
///   "f1", "shown": "whole", "tokens": 90}]`; `shown` is `"omitted"`, `"index"` or `"whole"`.
///
/// Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON and _SETTING for the settings;
/// _BUDGET_TOO_SMALL, with `needed` in the details.
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

/// Forgets the cached contexts of a frame, or with NULL all of them.
///
/// Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
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

/// The default settings of contexts, with what the environment variables STACK_TOKEN_BUDGET_TOTAL,
/// …_ANCESTORS, …_SIBLINGS and …_CURRENT say; JSON as `callstack_context` takes it.
///
/// Errors: CALLSTACK_ERROR_SETTING for a variable that is no whole number from 1 on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_settings(
    out_settings: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        guard(out_settings, error, || {
            Ok(to_json(&Settings { budget: Budget::from_environment()?, ..Settings::default() }))
        })
    }
}
