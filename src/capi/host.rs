//! The C interface for hosts with sessions: events in, effects out, tools, and contexts by session.

use super::code::CallstackCode;
use super::context::CallstackContext;
use super::error::{CallstackError, Failure};
use super::guard::guard;
use super::record::{ToolQuery, ToolRequest};
use super::stack::Callstack;
use super::text::{CallstackText, CallstackView, to_json};
use crate::session::HostEvent;
use crate::stack::{HostSettings, Stack};
use crate::tools;

/// Sets the settings of a host. They replace the environment variables `STACK_…`, which replace the defaults.
/// From then on, effects include lines for the log of the host, and `callstack_poll` is expected to be
/// called.
///
/// - `settings` (HostSettings, optional): the settings. Every key is optional.
/// - `out_problems` (text[]): a message for each invalid setting. An invalid setting is ignored; it is not an
///   error of this function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_configure(
    stack: *mut Callstack,
    settings: CallstackView,
    out_problems: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_problems, error, |stack| {
            let json = settings.optional_text("settings")?.unwrap_or("{}");
            let (settings, mut problems) = HostSettings::from_environment(json);
            problems.extend(stack.host().configure(settings));
            Ok(to_json(&problems.iter().map(ToString::to_string).collect::<Vec<_>>()))
        })
    }
}

/// Reports an event of the host. Changes of frames that follow from it are committed before the function
/// returns. If such a change is refused, or storage fails, the function still succeeds; an effect `log` with
/// the level `warn` reports it.
///
/// A host reports the events of all its sessions. Events may be repeated, and may come in any order. Events
/// of one stack are processed one after the other.
///
/// - `event` (HostEvent): the event.
/// - `out_effects` (Effect[]): what the host must do, in this order.
///
/// Errors: _JSON for an event of another shape.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_report(
    stack: *mut Callstack,
    event: CallstackView,
    out_effects: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_effects, error, |stack| {
            let event: HostEvent = event.record("event")?;
            Ok(to_json(&stack.host().report(event)))
        })
    }
}

/// Does work that is due: writes the files beside the database in small portions, those of changed frames
/// every 250 ms, and `state.json` if writing costs little compared with the changes, or 5 s after the last
/// change; completes idle subagents; stops calls at their time limit; returns lines for the log. The host
/// calls this function at the time that `callstack_deadline` returns. With the option `mirror:
/// "withCommands"`, commands leave `state.json` to this function from the first call on. A failure to write
/// the files is not an error of this function; `callstack_info` returns it as `mirror.error`.
///
/// - `out_effects` (Effect[]): what the host must do, in this order. A caller that does not take the effects
///   loses them, so it must not have reported events.
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
/// - `out_deadline` (time, or empty): milliseconds since the Unix epoch, if there is work; in C 0 otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_deadline(
    stack: *const Callstack,
    out_deadline: *mut u64,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_deadline, error, |stack| {
            // 0 means that there is no work, so a deadline is at least 1.
            Ok(stack.host().deadline().map_or(0, |time| time.max(1)))
        })
    }
}

/// Returns tools for agents. `name` in a tool is always its default name, which `callstack_tool` takes.
///
/// - `stack` (Stack, optional): the tools that this host offers to its agents, after `callstack_configure`.
///   NULL: all tools, also those that a host does not offer.
/// - `query` (ToolQuery, optional): the host's names of the tools, or the tools of a run.
/// - `out_tools` (Tool[]): the tools, with descriptions and JSON Schemas of their parameters.
///
/// Errors: _JSON; _SETTING for a name that is empty, longer than 64 characters or has control characters,
/// with the key, such as `tools.push`, in the details as `name`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_tools(
    stack: *const Callstack,
    query: CallstackView,
    out_tools: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        if stack.is_null() {
            return guard(out_tools, error, || selected(None, query.optional_record("query")?));
        }
        Callstack::read(stack, out_tools, error, |stack| selected(Some(stack), query.optional_record("query")?))
    }
}

/// The tools that a query selects, as JSON.
fn selected(stack: Option<&Stack>, query: ToolQuery) -> Result<String, Failure> {
    if let Some(settings) = query.memory {
        return Ok(to_json(&tools::memory_tools(&settings)));
    }
    if let Some(names) = &query.names {
        names.check()?;
    }
    let Some(stack) = stack.filter(|_| !query.all) else {
        return Ok(to_json(&tools::list(&query.names.unwrap_or_default())));
    };
    let mut settings = stack.host().settings();
    if let Some(names) = query.names {
        settings.context.tools = names;
    }
    Ok(to_json(&tools::offered(&settings)))
}

/// Carries out a tool call of the agent of a session. An unknown tool, wrong arguments, a refused command and
/// a storage failure are not errors of this function: the answer tells the agent the reason.
///
/// - `session` (text): the whole ID of the session.
/// - `call` (ToolRequest): the name of the tool, and the arguments.
/// - `out_answer` (ToolAnswer): the text for the agent, and what the host must do.
///
/// Errors: _JSON.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_tool(
    stack: *mut Callstack,
    session: CallstackView,
    call: CallstackView,
    out_answer: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_answer, error, |stack| {
            let session = session.text("session")?;
            let call: ToolRequest = call.record("call")?;
            Ok(to_json(&tools::call(stack, session, &call.name, &call.arguments())))
        })
    }
}

/// Returns the frame in which the conversation of a session is: the session's own frame, or with `{"calls":
/// {"in": "conversation"}}` a frame that it has begun and works on itself.
///
/// - `session` (text): the whole ID of the session.
/// - `out_handle` (Handle, or empty): the handle, if the session has a frame.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_place(
    stack: *const Callstack,
    session: CallstackView,
    out_handle: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_handle, error, |stack| {
            let place = stack.host().place(session.text("session")?);
            Ok(place.map(|handle| handle.to_string()).unwrap_or_default())
        })
    }
}

/// Returns the context of the frame of a session, with the settings of `callstack_configure` and the
/// suggestions to its agent.
///
/// - `session` (text): the whole ID of the session.
/// - `out_context` (Context, or empty): the context; all its texts are absent if the session has no frame, or
///   if the settings exclude it from contexts.
///
/// Errors: _BUDGET_TOO_SMALL, as for `callstack_context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_session_context(
    stack: *const Callstack,
    session: CallstackView,
    out_context: *mut CallstackContext,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_context, error, |stack| {
            Ok(stack.host().context(session.text("session")?)?.map(|found| found.context))
        })
    }
}
