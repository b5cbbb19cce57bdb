//! Folding in the C interface: a request to a model without what its finished frames have said. No stack is needed.

use std::ffi::c_char;

use super::code::CallstackCode;
use super::error::CallstackError;
use super::guard::guard;
use super::text::{CallstackText, optional_record, text, to_json};
use crate::fold::{FoldSettings, Wire, fold};

/// Returns a request to a model without what its finished frames have said. In a host whose agent works on all its frames in
/// one conversation, that conversation is then as the stack is: a pushed and popped frame is a call and its return. The answer of
/// the push becomes what the frame has returned, and everything from there to the answer of the pop is gone. What is not folded
/// keeps its bytes.
///
/// The result depends on the arguments alone. A request without a finished frame, one that breaks a rule of its wire, and a text
/// that is no request come back as they are. `docs/fold.md` has the rule.
///
/// - `wire`: `anthropic` (Messages), `responses` and `chat` (OpenAI), `gemini`, `opencode` (the messages of its hook
///   `experimental.chat.messages.transform`), or `pi` (the messages of its event `context`).
/// - `request`: the body of the request, or for `opencode` and `pi` the list of messages, as JSON.
/// - `settings`: NULL for the defaults, or a JSON object. Every key is optional: `{"tools": {"push": "begin_task"}, "server":
///   "callstack", "pointer": "callstack log {frame}"}`. `tools` are the host's names of the tools, where they are neither the
///   library's own nor those of the MCP server; `server` is the name under which the host knows the MCP server; `pointer` says
///   how an agent reads all of a finished frame, `{frame}` stands for its handle; `turns`, `{"floor": 40000, "pointer": "…"}`, also
///   folds the turns of a conversation without frames, when those that are finished have more than `floor` tokens.
/// - `out_request`: the request as it is to be sent.
/// - `out_report`: a JSON object, `{"stretches": [{"frame": "f2", "status": "completed", "items": 21, "bytes": 31054, "tokens":
///   8120, "returned": 310}], "turns": [{"turns": 3, "items": 60, "bytes": 90120, "tokens": 31044}]}`: what is gone for each frame, and
///   the length of the text that stands for it, in bytes; what is gone of turns. NULL if not wanted.
///
/// Errors: _SETTING for an unknown wire or a name that cannot be one; _JSON if `settings` is not valid JSON, has the wrong shape or
/// an unknown key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_fold(
    wire: *const c_char,
    wire_len: usize,
    request: *const c_char,
    request_len: usize,
    settings: *const c_char,
    settings_len: usize,
    out_request: *mut CallstackText,
    out_report: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        guard((out_request, out_report), error, || {
            let wire: Wire = text("wire", wire, wire_len)?.parse()?;
            let settings: FoldSettings = optional_record("settings", settings, settings_len)?;
            settings.tools.check()?;
            let folded = fold(wire, text("request", request, request_len)?, &settings);
            Ok((folded.text.into_owned(), to_json(&folded.report)))
        })
    }
}
