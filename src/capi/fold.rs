//! Folding in the C interface: a request to a model without the stretches of its finished frames. No stack is
//! needed.

use super::code::CallstackCode;
use super::error::CallstackError;
use super::guard::guard;
use super::text::{CallstackText, CallstackView, to_json};
use crate::fold::{FoldSettings, Wire, fold};

/// Folds a request to a model: takes the stretches of finished frames out of it. In a host whose agent works
/// on all its frames in one conversation, a pushed and popped frame is then a call and its return. The answer
/// of the push becomes what the frame has returned, and everything from there to the answer of the pop is
/// removed. What is not folded keeps its bytes.
///
/// The result depends on the arguments only. A request without a finished frame, a request that breaks a rule
/// of its wire, and a text that is not a request come back as they are. `docs/fold.md` has the rule.
///
/// - `wire` (Wire): the form of the request: `anthropic` (Messages), `responses` and `chat` (OpenAI),
///   `gemini`, `opencode` (the messages of its hook `experimental.chat.messages.transform`), or `pi` (the
///   messages of its event `context`).
/// - `request` (text): the body of the request as JSON; for `opencode` and `pi` the list of messages.
/// - `settings` (FoldSettings, optional): the host's names of the tools, and what is folded. Every key is
///   optional.
/// - `out_request` (text): the request that the host sends.
/// - `out_report` (FoldReport): what was removed.
///
/// Errors: _SETTING for an unknown wire or a name that is not allowed; _JSON if `settings` is not valid JSON,
/// has another shape or an unknown key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_fold(
    wire: CallstackView,
    request: CallstackView,
    settings: CallstackView,
    out_request: *mut CallstackText,
    out_report: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        guard((out_request, out_report), error, || {
            let wire: Wire = wire.text("wire")?.parse()?;
            let settings: FoldSettings = settings.optional_record("settings")?;
            settings.tools.check()?;
            let folded = fold(wire, request.text("request")?, &settings);
            Ok((folded.text.into_owned(), to_json(&folded.report)))
        })
    }
}
