//! The C interface for hosts with sessions: events in, effects out, tools, and contexts by session.

use std::ffi::c_char;
use std::sync::Arc;

use super::code::CallstackCode;
use super::error::CallstackError;
use super::guard::{Output, guard, put};
use super::stack::Callstack;
use super::text::{CallstackText, optional_record, optional_text, record, text, to_json};
use crate::context::Context;
use crate::session::HostEvent;
use crate::stack::HostSettings;
use crate::tools;
use crate::vocabulary::ToolNames;

/// Sets the settings of a host: the defaults, replaced by the environment variables STACK_…, replaced by `settings`.
/// From then on, effects include lines for the log of the host, and commands leave state.json to `callstack_poll`.
///
/// - `settings`: NULL, or a JSON object such as `{"calls": {"maxDepth": 3}}`, with any of (values are the defaults)
///   - `"tools"`: the tools that the host offers to its agents, `"standard"`, `"all"`, or a list of names such as
///     `["standard", "stack_tree"]`; `callstack_offered_tools` returns them. Texts mention no others;
///   - `"context"`: as in `callstack_context`;
///   - `"subagents"`: `{"enabled": true, "minDuration": 60000, "minMessageCount": 3, "autoCompleteOnIdle": true,
///     "idleCompletionDelay": 5000, "injectParentContext": true, "propagateSummaries": true, "patterns": […]}`;
///     durations in milliseconds, patterns are regular expressions for titles;
///   - `"autonomy"`: `{"level": "suggest", "pushThreshold": 70, "popThreshold": 80, "suggestInContext": true,
///     "enabledHeuristics": […]}`; the level is `"manual"`, `"suggest"` or `"auto"`, thresholds are 0 to 100;
///   - `"calls"`: `{"maxDepth": 5, "timeLimit": 0}`: how many frames can be above a called one, and the time limit of a
///     call in milliseconds; 0 is no limit.
/// - `out_problems`: a JSON array of messages about invalid settings, `["the settings cannot be read: …"]`.
///   An invalid setting is ignored; it is not an error of this function.
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
            problems.extend(stack.host().configure(settings));
            Ok(to_json(&problems.iter().map(ToString::to_string).collect::<Vec<_>>()))
        })
    }
}

/// Reports an event of the host. Changes that follow for the frames are committed before the function returns. If such
/// a change is refused, or storage fails, the function still succeeds; an effect `log` with the level `warn` reports
/// it.
///
/// A host reports the events of all its sessions. Events may be repeated, and may come in any order. Events of one
/// stack are processed one after the other.
///
/// - `event`: a JSON object; `"kind"` names the event, keys with `?` are optional:
///   - `sessionCreated {sessionID, parentID?, title?}`, `sessionUpdated {sessionID, title}`,
///     `sessionIdle {sessionID}`, `sessionError {sessionID, message}`, `sessionDeleted {sessionID}`;
///   - `message {sessionID, messageID, role, text, time?, tokens?, contextLimit?, request?}`: a new message; `role` is
///     `user` or `assistant`; `tokens` is the size of the session's context, `contextLimit` the maximum, both in tokens;
///     `request` is the request to the model that the message answers (see `callstack_record_usage`), which is recorded in
///     the session's frame, also if that is made later;
///   - `modelRequested {sessionID, requestID, time?, request}`: a request that no message answers: one that has failed and is
///     repeated, or that for the summary of a compaction;
///   - `toolExecuted {sessionID, toolCallID?, tool, path?, command?, changes?, failed?, childID?, answer?}`: `path` is the file
///     with which the tool was called, which counts as written if the tool is known to write files; `command` is the command line
///     that it has run in a shell, whose redirections, `mv`, `rm` and the like count as changes of files; `changes` is what
///     the tool did to files, `[{"kind": "written", "path"}, {"kind": "deleted", "path"}, {"kind": "renamed", "from",
///     "to"}]`; `childID` is the child session in which it has worked, `answer` the answer of that session or, if
///     the tool has failed, the error message: the frame of that session ends;
///   - `sessionCompacting {sessionID}`: the host is about to ask for a summary;
///   - `sessionCompacted {sessionID, messages}`; `sessionMessages {sessionID, messages}`. A message is
///     `{"id", "role", "text", "summary"?, "unfinished"?, "time"?, "parts"?}`; `time` is in milliseconds since the Unix
///     epoch;
///   - `sessionSetBack {sessionID, answers, asked?}`: a person may have set the conversation back to an earlier point, or has opened
///     it again; `answers` is what the tools of the library have answered in it, oldest first. It is in the frame in which it was
///     then, or in the nearest open one above; open frames that it has begun since are blocked; `asked` is what the person has
///     written in it, oldest first: what is gone is no part of the task any more;
///   - `messageFinished {sessionID, message}`: a message will not change any more; it is appended to the frame's log;
///   - `callStarted {call, sessionID}`, `callEnded {call, error?}`, `callAborted {call}`.
/// - `out_effects`: a JSON array of what the host must do, in this order, `[{"kind": "describeSession", "sessionID":
///   "ses_2"}]`; `"kind"` names the effect:
///   - `log {level, message, data}`: write a line to the log of the host; the level is `debug`, `info` or `warn`;
///   - `describeSession {sessionID}`: report `sessionCreated`, or `sessionDeleted` if there is no such session;
///   - `readMessages {sessionID}`: report `sessionMessages`, with an empty list if there is no such session;
///   - `createSession {call, parentID, title}`: make a session, and report `callStarted`, or `callEnded` with an error;
///   - `prompt {call, sessionID, callerID, text}`: prompt the session with the model of the session `callerID`, wait
///     for its end, and report `callEnded`;
///   - `answer {call, text, title, ended}`: give the text to the tool call that waits for this call; `title` is one line for people,
///     `ended` the frames of which it tells how they have ended, or what they wait for;
///   - `abortSession {sessionID}`: stop the work of the session;
///   - `compactSession {sessionID}`: compact the session, and report `sessionCompacted`, with an empty list of messages
///     if it cannot be compacted;
///   - `compactionPrompt {sessionID, text}`: add the text to the prompt that asks for the summary.
///
/// Errors: _JSON.
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
            Ok(to_json(&stack.host().report(event)))
        })
    }
}

/// Does work that is due: writes state.json if it is out of date and costs little compared with the changes, or 5 s after
/// the last change; completes idle subagents; stops calls at their time limit; returns lines for the log. The host calls this function
/// at the time that `callstack_deadline` returns. From the first call on, commands leave state.json to this function.
///
/// - `out_effects`: a JSON array as in `callstack_event`. With NULL the same work is done and the effects are lost:
///   pass NULL only if the host reports no events.
///
/// A failure to write the files is not an error of this function; `callstack_info` returns it as `mirror.error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_poll(
    stack: *mut Callstack,
    out_effects: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::write(stack, out_effects, error, |stack| Ok(to_json(&stack.host().poll()))) }
}

/// Returns the time at which `callstack_poll` has work to do. Does not wait for a command that is running.
///
/// - `out_deadline`: milliseconds since the Unix epoch; 0 if there is no work.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_deadline(
    stack: *const Callstack,
    out_deadline: *mut u64,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        // 0 means that there is no work, so a deadline is at least 1.
        Callstack::read(stack, out_deadline, error, |stack| Ok(stack.host().deadline().map_or(0, |time| time.max(1))))
    }
}

/// Returns the tools that the host registers for its agents: those of the setting `"tools"` of `callstack_configure`, with
/// the names of `"tools"` in `"context"`. Call it after `callstack_configure`.
///
/// - `out_tools`: a JSON array, `[{"name": "stack_frame_push", "group": "frames", "description": "…",
///   "parameters": {…}, "example": {…}}]`. `name` is always the default name, which `callstack_tool` takes. `parameters` is
///   the JSON Schema of an object; `example` is a valid one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_offered_tools(
    stack: *const Callstack,
    out_tools: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::read(stack, out_tools, error, |stack| Ok(to_json(&tools::offered(&stack.host().settings())))) }
}

/// Returns all tools for agents, also those that a host does not offer, for programs that choose or describe tools. The
/// descriptions mention other tools by the default names; `callstack_named_tools` is for other names.
///
/// - `out_tools`: a JSON array as in `callstack_offered_tools`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_tools(
    out_tools: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { guard(out_tools, error, || Ok(to_json(&tools::list(&ToolNames::default())))) }
}

/// Returns all tools for agents like `callstack_tools`; the descriptions mention other tools by the host's names.
///
/// - `names`: NULL for the default names, or a JSON object such as `{"prefix": "mcp__callstack__", "push":
///   "begin_task", "heapRead": null}`, or the JSON string `"none"`, as `"tools"` in `callstack_context`.
/// - `out_tools`: a JSON array as in `callstack_tools`. Only the descriptions, including those inside `parameters`, change.
///
/// Errors: _JSON if `names` is not valid JSON, has the wrong shape or an unknown key; _SETTING for a name that is empty,
/// longer than 64 characters or has control characters, with the key, such as `tools.push`, in the details as `name`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_named_tools(
    names: *const c_char,
    names_len: usize,
    out_tools: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        guard(out_tools, error, || {
            let names: ToolNames = optional_record("names", names, names_len)?;
            names.check()?;
            Ok(to_json(&tools::list(&names)))
        })
    }
}

/// Carries out a tool call of the agent of a session. An unknown tool, wrong arguments, a refused command and a storage
/// failure are not errors of this function: the answer tells the agent the reason.
///
/// - `session`: the whole ID of the session.
/// - `name`: the name of one of `callstack_tools`. Every one is carried out, also one that the host does not offer to its
///   agents.
/// - `arguments`: a JSON object; NULL and the empty text are `{}`.
/// - `out_answer`: a JSON object, `{"text": "…", "title": "…", "ended": ["f2"], "isError": false, "effects": […]}`, with effects as in
///   `callstack_event`. `title` is one line for people: what the call was about, and what became of that; empty if its arguments say
///   it. `ended` are the frames of which the answer tells how they have ended, or what they wait for. A tool that runs a frame answers later: then the object has `"call": 3` and no `text`, and a
///   later effect `answer` with the same `call` has the text. If nobody waits for the answer any more, report
///   `callAborted`.
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

/// The outputs of `callstack_session_context`. Each can be null.
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

/// Returns the frame in which the conversation of a session is: the session's own, or with `{"calls": {"in": "conversation"}}`
/// one that it has begun and works on itself.
///
/// - `session`: the whole ID of the session.
/// - `out_handle`: the handle, such as `f3`; the empty text if the session has no frame.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_place(
    stack: *const Callstack,
    session: *const c_char,
    session_len: usize,
    out_handle: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_handle, error, |stack| {
            let place = stack.host().place(text("session", session, session_len)?);
            Ok(place.map(|handle| handle.to_string()).unwrap_or_default())
        })
    }
}

/// Returns the context of the frame of a session, with the settings of `callstack_configure` and the suggestions to its
/// agent.
///
/// - `session`: the whole ID of the session.
/// - `out_stable`: the stable part, for the system prompt. Its bytes change only when a frame is pushed, popped or
///   invalidated, or a chunk that it shows changes.
/// - `out_volatile`: the volatile part, for the place after the newest message of this one request.
///
/// If the session has no frame, or the settings exclude it from contexts, the function succeeds and `data` of both
/// outputs is NULL.
///
/// Errors: _BUDGET_TOO_SMALL, as for `callstack_context`.
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
            let found = stack.host().context(text("session", session, session_len)?)?;
            Ok(found.map(|found| found.context))
        })
    }
}
