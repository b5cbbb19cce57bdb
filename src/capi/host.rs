//! What hosts with sessions need, across the border: events in, effects out, tools, contexts by session.

use std::ffi::c_char;
use std::sync::Arc;

use super::code::CallstackCode;
use super::error::CallstackError;
use super::guard::{Output, guard, put};
use super::stack::Callstack;
use super::text::{CallstackText, optional_text, record, text, to_json};
use crate::context::Context;
use crate::session::HostEvent;
use crate::stack::HostSettings;
use crate::tools;
use crate::vocabulary::ToolNames;

/// Puts the settings of a host in force: the defaults, over them what the environment variables STACK_… say,
/// over them `settings`. Calling it also begins the log: lines come as effects.
///
/// - `settings`: NULL, or a JSON object with any of
///   - `"context"`: as `callstack_context` takes it;
///   - `"subagents"`: `{"enabled": true, "minDuration": 60000, "minMessageCount": 3, "autoCompleteOnIdle": true,
///     "idleCompletionDelay": 5000, "injectParentContext": true, "propagateSummaries": true, "patterns": […]}`;
///   - `"autonomy"`: `{"level": "suggest", "pushThreshold": 70, "popThreshold": 80, "suggestInContext": true,
///     "enabledHeuristics": […]}`;
///   - `"calls"`: `{"maxDepth": 5, "timeLimit": 0}`, the limit in milliseconds, 0 for none.
/// - `out_problems`: a JSON array of texts: what made no sense and does not count. May be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_configure(
    stack: *mut Callstack,
    settings: *const c_char,
    settings_len: usize,
    out_problems: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_problems, error, |stack| {
            let json = optional_text("settings", settings, settings_len)?.unwrap_or("{}");
            let (settings, mut problems) = HostSettings::from_environment(json);
            problems.extend(stack.configure(settings));
            Ok(to_json(&problems.iter().map(ToString::to_string).collect::<Vec<_>>()))
        })
    }
}

/// Tells what has happened in the host. What follows for the frames is done before this returns; of what is
/// refused the log tells.
///
/// Events may come twice, and in any order. A host tells of all its sessions; frames, their places, artifacts,
/// results and logs come of that.
///
/// - `event`: a JSON object; `"kind"` names it, optional keys are marked with `?`:
///   - `sessionCreated {sessionID, parentID?, title?}`, `sessionUpdated {sessionID, title}`,
///     `sessionIdle {sessionID}`, `sessionError {sessionID, message}`, `sessionDeleted {sessionID}`;
///   - `message {sessionID, messageID, role, text, tokens?, contextLimit?}`: role is `user` or `assistant`;
///   - `toolExecuted {sessionID, tool, path?, failed?}`: path is a file that the tool has written;
///   - `sessionCompacting {sessionID}`, before a summary is asked for; `sessionCompacted {sessionID, messages}`;
///     `sessionMessages {sessionID, messages}`. A message is `{"id", "role", "text", "summary"?, "parts"?}`;
///   - `callStarted {call, sessionID}`, `callEnded {call, error?}`, `callAborted {call}`.
/// - `out_effects`: a JSON array of what the host is to do, in this order; `"kind"` names it:
///   - `log {level, message, data}`: write a line to the host's log; level is `debug`, `info` or `warn`;
///   - `describeSession {sessionID}`: answer with `sessionCreated`, or `sessionDeleted` if it is not there;
///   - `readMessages {sessionID}`: answer with `sessionMessages`, without messages if it is not there;
///   - `createSession {call, parentID, title}`: answer with `callStarted`, or `callEnded` with an error;
///   - `prompt {call, sessionID, callerID, text}`: prompt the session with the caller's model, wait, and answer
///     with `callEnded`;
///   - `answer {call, text}`: give the tool call that waits for this its answer;
///   - `abortSession {sessionID}`;
///   - `compactSession {sessionID}`: answer with `sessionCompacted`, without messages if it cannot be done;
///   - `compactionPrompt {sessionID, text}`: add the text to what the summary is asked for.
///
/// Errors: CALLSTACK_ERROR_JSON.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_event(
    stack: *mut Callstack,
    event: *const c_char,
    event_len: usize,
    out_effects: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_effects, error, |stack| {
            let event: HostEvent = record("event", event, event_len)?;
            Ok(to_json(&stack.report(event)))
        })
    }
}

/// Does what was left for later and is due: writes state.json, if it is behind and 250 ms have passed since it
/// was last written; finishes idle subagents, stops calls at their time limit, hands out lines for the log.
/// Commands write state.json, too; a host that may be idle for long calls this at the time that
/// `callstack_deadline` gives.
///
/// - `out_effects`: as of `callstack_event`. May be NULL for hosts that report no events.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_poll(
    stack: *mut Callstack,
    out_effects: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_effects, error, |stack| match out_effects.is_null() {
            true => {
                stack.poll();
                Ok(String::new())
            }
            false => Ok(to_json(&stack.poll_host())),
        })
    }
}

/// When `callstack_poll` will have something to do.
///
/// - `out_deadline`: milliseconds since the Unix epoch; 0 if nothing is left for later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_deadline(
    stack: *const Callstack,
    out_deadline: *mut u64,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        // What is long overdue must not look like nothing.
        Callstack::read(stack, out_deadline, error, |stack| Ok(stack.host_deadline().map_or(0, |time| time.max(1))))
    }
}

/// The agent's tools, for hosts to register.
///
/// - `out_tools`: a JSON array, `[{"name": "stack_frame_push", "group": "frames", "description": "…",
///   "parameters": {…}, "example": {…}}]`; the parameters are JSON Schema of an object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_tools(
    out_tools: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { guard(out_tools, error, || Ok(to_json(&tools::list(&ToolNames::default())))) }
}

/// Calls a tool for the agent of a session. Wrong arguments are no error of this function: the answer says to
/// the agent what is wrong.
///
/// - `name`: one of `callstack_tools`.
/// - `arguments`: a JSON object; NULL and the empty text stand for `{}`.
/// - `out_answer`: a JSON object, `{"text": "…", "isError": false, "effects": […]}`, effects as of
///   `callstack_event`. Tools that run a frame answer later: then there is `"call": 3` and no text, and an
///   effect `answer` with this call will bring it. If nobody waits any more, report `callAborted`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_tool(
    stack: *mut Callstack,
    session: *const c_char,
    session_len: usize,
    name: *const c_char,
    name_len: usize,
    arguments: *const c_char,
    arguments_len: usize,
    out_answer: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_answer, error, |stack| {
            let session = text("session", session, session_len)?;
            let name = text("name", name, name_len)?;
            let arguments = text("arguments", arguments, arguments_len)?;
            Ok(to_json(&tools::call(stack, session, name, arguments)))
        })
    }
}

/// The two parts of a session's context.
#[derive(Clone, Copy)]
struct Parts {
    stable: *mut CallstackText,
    volatile: *mut CallstackText,
}

impl Output for Parts {
    type Value = Option<Arc<Context>>;

    unsafe fn empty(self) {
        // SAFETY: the caller's promise.
        unsafe { [self.stable, self.volatile].into_iter().for_each(|part| part.empty()) }
    }

    unsafe fn fill(self, context: Option<Arc<Context>>) {
        let Some(context) = context else { return };
        // SAFETY: the caller's promise.
        unsafe {
            put(self.stable, CallstackText::copy(&context.stable));
            put(self.volatile, CallstackText::copy(&context.volatile));
        }
    }
}

/// The context of a session's frame, made by the settings of `callstack_configure`, with what is suggested to its
/// agent.
///
/// - `out_stable`: belongs into the system prompt; it keeps its bytes until a frame is pushed, popped or
///   invalidated. `out_volatile`: belongs behind the newest message of this one request. Both have no data if
///   the session has no frame, or is to have no context.
///
/// Errors: CALLSTACK_ERROR_BUDGET_TOO_SMALL, with `needed` in the details.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_session_context(
    stack: *const Callstack,
    session: *const c_char,
    session_len: usize,
    out_stable: *mut CallstackText,
    out_volatile: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    let parts = Parts { stable: out_stable, volatile: out_volatile };
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, parts, error, |stack| {
            let found = stack.session_context(text("session", session, session_len)?)?;
            Ok(found.map(|found| found.context))
        })
    }
}
