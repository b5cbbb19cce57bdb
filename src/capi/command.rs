//! Commands of the C interface: the functions that change a tree.

use std::ffi::c_char;

use serde::Serialize;

use super::code::{self, CallstackCode, CallstackStatus};
use super::error::CallstackError;
use super::stack::Callstack;
use super::text::{CallstackText, list, optional_text, record, text, to_json};
use crate::frame::{FrameEdit, FrameRef, Handle, Identity, Results};
use crate::import::{self, PlanChange, PlanConflict, PlanUpdate, Problem};
use crate::tree::Command;

/// Makes a new frame with the status in_progress, and makes it the active frame.
///
/// - `frame`: a JSON object, `{"title": "API routes", "successCriteria": "CRUD works",
///   "successCriteriaCompacted": "CRUD", "task": "As in docs/api.md. Return the paths.", "priority": 1, "labels": ["backend"],
///   "assignee": "anna", "limits": {"maxTokens": 90000},
///   "sessionID": "ses_7", "parent": "f1", "caller": "ses_1", "dependsOn": ["auth"]}`. Only `title` is required.
///   - `task`: the full instruction, at most 100,000 characters. Only the frame's own context shows it.
///   - `priority`: from 0, before all others, to 4. Default: that of the frame above, or 2.
///   - `limits`: what it may do and spend: see `callstack_set_limits`.
///   - `sessionID`: the ID of the frame, at most 1,000 characters; default: a generated ID of the form `plan-…`.
///   - `parent`: the frame above the new one, or null for a root. Default: the frame of the session `caller`, or the
///     nearest one above it, that is in_progress or blocked; if the session has no frame, none (the new frame is a root).
///     Without `caller` the active frame, if there is one.
///   - `dependsOn`: references to the frames whose results this frame needs.
/// - `out_handle`: the handle of the frame, such as `f3`.
///
/// Errors: _JSON, _DUPLICATE_ID, _EMPTY for the title or the ID, _TOO_LONG for the ID or the task, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME,
/// _DEPENDENCY, _PARENT_CLOSED, _PARENT_PLANNED, _SETTING and _TOOLS_EXCEED for the limits, _FULL; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_push(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    out_handle: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_handle, error, |stack| {
            let frame = record("frame", frame, frame_len)?;
            Ok(stack.push(frame)?.to_string())
        })
    }
}

/// Makes a new frame with the status planned. The arguments are those of `callstack_push`.
///
/// Errors: those of `callstack_push` without _PARENT_PLANNED, because the parent may be planned too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_plan(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    out_handle: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_handle, error, |stack| {
            let frame = record("frame", frame, frame_len)?;
            Ok(stack.plan(frame)?.to_string())
        })
    }
}

/// Makes several planned children of one frame in one commit: all of them or none.
///
/// - `parent`: the frame above the children.
/// - `children`: a JSON array of objects as for `callstack_push`, `[{"title": "One"}, {"title": "Two"}]`. Their keys
///   `parent` and `caller` are ignored. A child may depend on any other child of the list, by its `sessionID` or its title.
/// - `out_handles`: the handles of the children as a JSON array, `["f4", "f5"]`.
///
/// Errors: those of `callstack_plan`, for any of the children; the message says for which.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_plan_children(
    stack: *mut Callstack,
    parent: *const c_char,
    parent_len: usize,
    children: *const c_char,
    children_len: usize,
    out_handles: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_handles, error, |stack| {
            let parent = text("parent", parent, parent_len)?;
            let children = list("children", children, children_len)?;
            Ok(to_json(&stack.plan_children(parent, children)?))
        })
    }
}

/// Returns the frame of a session. If the session has no frame, makes a placeholder: a frame with the status
/// in_progress, whose title and criteria `callstack_identify` can set later. A placeholder becomes the active frame
/// if no frame is active.
///
/// - `session_id`: the whole ID of the session.
/// - `title`: title of a placeholder; NULL: `Session` and the first 8 characters of the ID.
/// - `parent`: the frame above a placeholder; NULL: none, the placeholder is a root.
/// - `out_handle`: the handle of the frame.
///
/// Errors: _EMPTY and _TOO_LONG for the ID, _UNKNOWN_FRAME and _AMBIGUOUS_FRAME for the parent, _FULL; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_ensure(
    stack: *mut Callstack,
    session_id: *const c_char,
    session_id_len: usize,
    title: *const c_char,
    title_len: usize,
    parent: *const c_char,
    parent_len: usize,
    out_handle: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_handle, error, |stack| {
            let session_id = text("session_id", session_id, session_id_len)?;
            let title = optional_text("title", title, title_len)?;
            let parent = optional_text("parent", parent, parent_len)?;
            Ok(stack.ensure(session_id, title, parent.map(FrameRef::from))?.to_string())
        })
    }
}

/// Sets the title and the criteria of a placeholder for good. This works once for each frame. Those of a placeholder that
/// has criteria are also set for good when a frame is pushed, planned or imported below it.
///
/// - `frame`: the frame.
/// - `title`: short name, two to five words.
/// - `success_criteria`: the condition that holds when the frame is done; NULL: none.
/// - `success_criteria_compacted`: a short form for prompts; NULL: the full criteria are used.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the title, _IDENTITY_FIXED if the frame is not a placeholder;
/// the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_identify(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    title: *const c_char,
    title_len: usize,
    success_criteria: *const c_char,
    success_criteria_len: usize,
    success_criteria_compacted: *const c_char,
    success_criteria_compacted_len: usize,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = text("frame", frame, frame_len)?;
            let title = text("title", title, title_len)?.to_owned();
            let success_criteria = text("success_criteria", success_criteria, success_criteria_len)?.to_owned();
            let success_criteria_compacted =
                text("success_criteria_compacted", success_criteria_compacted, success_criteria_compacted_len)?
                    .to_owned();
            Ok(stack.identify(frame, Identity { title, success_criteria, success_criteria_compacted })?)
        })
    }
}

/// Edits a planned frame. Of one that is in_progress or blocked a person (`callstack_as_actor`) can correct the words and the priority.
///
/// - `frame`: the frame.
/// - `edit`: JSON: what changes, every key is optional. `{"title": "Routes", "successCriteria": "CRUD works",
///   "successCriteriaCompacted": "CRUD", "task": "As in docs/api.md", "priority": 1, "labels": ["backend"], "assignee": "anna", "dependsOn": ["f3"], "parent": "f1", "before":
///   "f4"}`. `priority`: null gives it that of the frame above. `dependsOn` is the whole new
///   list. `parent` moves the frame and all below it; null makes it a root. `before` moves it before a sibling; null makes it
///   the last one.
///
/// Errors: _NOT_PLANNED if it has begun or ended, and this is no correction of a person; _TOO_LONG for the task; _JSON; _UNKNOWN_FRAME, _AMBIGUOUS_FRAME; _EMPTY for the title;
/// _PARENT_CLOSED and _PARENT_CIRCLE for the parent; _RETRY_LINK if a next attempt would get another
/// parent; _NOT_SIBLING; _DEPENDENCY; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_edit(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    edit: *const c_char,
    edit_len: usize,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = text("frame", frame, frame_len)?;
            Ok(stack.edit(frame, record::<FrameEdit>("edit", edit, edit_len)?)?)
        })
    }
}

/// Begins a planned frame: sets its status to in_progress, and makes it the active frame.
///
/// - `frame`: a frame with the status planned.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _TRANSITION if the frame is not planned, _NOT_READY if it is no work; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_activate(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::write(stack, (), error, |stack| Ok(stack.activate(text("frame", frame, frame_len)?)?)) }
}

/// Begins a planned frame that has what it needs, as `callstack_activate` does.
///
/// - `frame`: a frame with the status planned.
///
/// Errors: those of `callstack_activate`; _NOT_READY if something keeps it from beginning. The details hold `dependencies`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_begin(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::write(stack, (), error, |stack| Ok(stack.begin(text("frame", frame, frame_len)?)?)) }
}

/// Gives a frame another ID. Its handle does not change. Its file, and its log if the library keeps it, are renamed.
///
/// - `frame`: the frame.
/// - `session_id`: the new ID. Must not be empty.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY and _TOO_LONG for the ID, _DUPLICATE_ID; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_replace_id(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    session_id: *const c_char,
    session_id_len: usize,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = text("frame", frame, frame_len)?;
            Ok(stack.replace_id(frame, text("session_id", session_id, session_id_len)?)?)
        })
    }
}

/// Changes the status of a frame. Allowed are: planned to in_progress; in_progress to blocked; blocked to in_progress
/// or blocked; in_progress and blocked to completed and failed; any status but invalidated to invalidated. A frame that
/// becomes in_progress becomes the active frame; otherwise the active frame changes as in `callstack_pop` or
/// `callstack_invalidate`.
///
/// - `frame`: the frame.
/// - `status`: one of CALLSTACK_STATUS_….
/// - `results`, `results_compacted`: the results in full, and in a short form for prompts; NULL leaves the present
///   ones. For CALLSTACK_STATUS_INVALIDATED, `results` is the reason and is required.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _TRANSITION, _SETTING for the status, _EMPTY for the reason; the storage
/// errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_set_status(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    status: CallstackStatus,
    results: *const c_char,
    results_len: usize,
    results_compacted: *const c_char,
    results_compacted_len: usize,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = text("frame", frame, frame_len)?;
            let results = optional_text("results", results, results_len)?;
            let results_compacted = optional_text("results_compacted", results_compacted, results_compacted_len)?;
            Ok(stack
                .execute(Command::SetStatus {
                    frame: frame.into(),
                    status: code::status(status)?,
                    results: results.map(str::to_owned),
                    results_compacted: results_compacted.map(str::to_owned),
                })
                .map(drop)?)
        })
    }
}

/// Ends the work on a frame and sets its results. If the frame or one below it was active, its nearest ancestor that
/// is in_progress or blocked becomes active, or no frame if there is none. A root can be popped too.
///
/// - `frame`: the frame, in_progress or blocked.
/// - `status`: CALLSTACK_STATUS_COMPLETED, _FAILED or _BLOCKED. _BLOCKED is `callstack_block` without a question: the
///   results say what the frame waits for.
/// - `results`: the results in full; NULL is the empty text.
/// - `results_compacted`: a short form for the prompts of other frames; NULL or empty: the full results are used.
/// - `out_popped`: a JSON object, `{"handle": "f3", "parent": "f1", "active": "f1", "stillOpen": [],
///   "stillPlanned": ["f4"]}`: the frame; its parent, or null; the frame that is active now, or null; the frames
///   below it that are in_progress or blocked; the frames below it that are planned.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _TRANSITION, _SETTING for the status; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_pop(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    status: CallstackStatus,
    results: *const c_char,
    results_len: usize,
    results_compacted: *const c_char,
    results_compacted_len: usize,
    out_popped: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_popped, error, |stack| {
            let frame = text("frame", frame, frame_len)?;
            let results = text("results", results, results_len)?;
            let results_compacted = text("results_compacted", results_compacted, results_compacted_len)?;
            Ok(to_json(&stack.pop(
                frame,
                code::pop_status(status)?,
                Results::new(results).compacted(results_compacted),
            )?))
        })
    }
}

/// Pops a frame as `callstack_pop`, and begins a planned one in the same command. That one becomes active.
///
/// - `frame`, `status`, `results`, `results_compacted`: as in `callstack_pop`.
/// - `next`: the planned frame. NULL: the first planned sibling that can begin then; without one the frame is only popped.
/// - `out_popped`: as in `callstack_pop`, and if a frame has begun, `"next": "f4"`.
///
/// Errors: those of `callstack_pop`; _NOT_READY if `next` depends on a frame that is not completed then, _TRANSITION if it is not
/// planned. Nothing has changed then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_pop_and_begin(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    status: CallstackStatus,
    results: *const c_char,
    results_len: usize,
    results_compacted: *const c_char,
    results_compacted_len: usize,
    next: *const c_char,
    next_len: usize,
    out_popped: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_popped, error, |stack| {
            let frame = text("frame", frame, frame_len)?;
            let results = text("results", results, results_len)?;
            let results_compacted = text("results_compacted", results_compacted, results_compacted_len)?;
            let next = optional_text("next", next, next_len)?.map(FrameRef::from);
            let results = Results::new(results).compacted(results_compacted);
            Ok(to_json(&stack.pop_and_begin(frame, code::pop_status(status)?, results, next)?))
        })
    }
}

/// Completes a frame whose work is done, as `callstack_pop` with completed, unless frames below it are open or planned.
///
/// - `frame`, `results`, `results_compacted`: as in `callstack_pop`.
/// - `next`: the planned frame that begins in the same command. NULL: none.
/// - `out_popped`: as in `callstack_pop_and_begin`.
///
/// Errors: those of `callstack_pop`; _PARTS_LEFT if frames below it are open or planned; for `next` those of `callstack_pop_and_begin`.
/// Nothing has changed then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_complete(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    results: *const c_char,
    results_len: usize,
    results_compacted: *const c_char,
    results_compacted_len: usize,
    next: *const c_char,
    next_len: usize,
    out_popped: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_popped, error, |stack| {
            let frame = text("frame", frame, frame_len)?;
            let results = text("results", results, results_len)?;
            let results_compacted = text("results_compacted", results_compacted, results_compacted_len)?;
            let next = optional_text("next", next, next_len)?.map(FrameRef::from);
            let results = Results::new(results).compacted(results_compacted);
            Ok(to_json(&stack.complete(frame, results, next)?))
        })
    }
}

/// Blocks a frame: it waits for something from outside. The active frame changes as by `callstack_pop`. The contexts of
/// the parent, of the siblings and of the frames that depend on it show the question.
///
/// - `frame`: the frame, in_progress or blocked.
/// - `question`: what it needs, and from whom. NULL or empty: the results say it.
/// - `results`: the results so far, in full. NULL or empty: the frame keeps those that it has.
/// - `results_compacted`: a short form; NULL or empty: the full results are used.
/// - `out_popped`: as in `callstack_pop`.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _TRANSITION; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_block(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    question: *const c_char,
    question_len: usize,
    results: *const c_char,
    results_len: usize,
    results_compacted: *const c_char,
    results_compacted_len: usize,
    out_popped: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_popped, error, |stack| {
            let frame = text("frame", frame, frame_len)?;
            let question = text("question", question, question_len)?;
            let results = text("results", results, results_len)?;
            let results_compacted = text("results_compacted", results_compacted, results_compacted_len)?;
            let results = Results::new(results).compacted(results_compacted);
            let results = Some(results).filter(|results| !results.dense().trim().is_empty());
            Ok(to_json(&stack.block(frame, question, results)?))
        })
    }
}

/// Answers a blocked frame. It stays blocked until somebody resumes it: a process that runs its session and calls
/// `callstack_poll`, the agent's tool `stack_frame_activate`, or `callstack_set_status` with
/// CALLSTACK_STATUS_IN_PROGRESS. That succeeds once, so of several processes one goes on with the frame. The contexts of the
/// frame show the answer until it is finished. A second answer to one question is added to the first. A frame that has waited to begin, as an
/// import leaves it, is planned then; if it is no work, it is completed.
///
/// - `frame`: the frame, blocked.
/// - `answer`: the answer. Must not be empty.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NOT_BLOCKED, _EMPTY for the answer; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_answer(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    answer: *const c_char,
    answer_len: usize,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            Ok(stack.answer(text("frame", frame, frame_len)?, text("answer", answer, answer_len)?)?)
        })
    }
}

/// Stops the frames that hosts run or workers have, also those of other processes: they become blocked, with the reason as what they wait
/// for. A running host notices that at its next poll: it aborts their sessions, keeps what they have said last as results
/// so far, and answers the callers. They can be resumed as any other blocked frame.
///
/// - `frame`: this frame and the frames below it; NULL: all frames.
/// - `reason`: for those who resume them. Must not be empty.
/// - `out_stopped`: a JSON array of the handles of the stopped frames.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the reason; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_stop(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    reason: *const c_char,
    reason_len: usize,
    out_stopped: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_stopped, error, |stack| {
            let (frame, reason) = (optional_text("frame", frame, frame_len)?, text("reason", reason, reason_len)?);
            let stopped = match frame {
                Some(frame) => stack.stop(frame, reason)?,
                None => stack.stop_all(reason)?,
            };
            Ok(to_json(&stopped))
        })
    }
}

/// Begins a failed or blocked frame anew: makes a planned frame beside it, with the same title, criteria and dependencies,
/// as its next attempt. A blocked frame fails; it keeps its results and its question. The planned frames below it are
/// invalidated. The context of the new frame shows why the earlier attempts failed; everybody else sees the newest attempt
/// alone, and frames that depend on any attempt wait for the newest.
///
/// - `frame`: the frame, failed or blocked.
/// - `note`: what must be done differently, or the answer to what the frame waits for. NULL or empty: nothing.
/// - `out_retried`: a JSON object, `{"handle": "f7", "attempt": 2, "invalidated": ["f4"], "stillOpen": []}`: the new frame;
///   which attempt it is, counted from 1; the invalidated frames; the frames below the earlier attempt that are in_progress
///   or blocked.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NOT_RETRIABLE, _PARENT_CLOSED, _FULL; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_retry(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    note: *const c_char,
    note_len: usize,
    out_retried: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_retried, error, |stack| {
            let note = optional_text("note", note, note_len)?.map(str::to_owned);
            Ok(to_json(&stack.retry(text("frame", frame, frame_len)?, note)?))
        })
    }
}

/// Records that the conversation of the frame's parent has received the results of the frame, for example as the answer
/// to a tool call. Contexts of the parent with `"finishedChildren": "forgotten"`, the default, then do not repeat them
/// until `callstack_forget` of the parent. With host events the library does this itself for the calls that it answers.
///
/// - `frame`: the frame, completed or failed.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NOT_FINISHED; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_deliver(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::write(stack, (), error, |stack| Ok(stack.deliver(text("frame", frame, frame_len)?)?)) }
}

/// Records that the conversation of a frame was compacted or begun anew, so that it no longer holds the results of the
/// frame's children. The frame's contexts then show them. With host events the library does this itself when a session
/// was compacted.
///
/// - `frame`: the frame.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_forget(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::write(stack, (), error, |stack| Ok(stack.forget(text("frame", frame, frame_len)?)?)) }
}

/// Records intermediate results of a frame and leaves its status unchanged, for example before its conversation is
/// compacted. The context of the frame itself shows them; frames below it see them from the next push or change of a
/// status on.
///
/// - `frame`: the frame, in_progress or blocked.
/// - `results`: the results so far, in full. Must not be empty.
/// - `results_compacted`: a short form; NULL or empty: the full results are used.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _RESULTS_FIXED, _EMPTY for the results; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_summarize(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    results: *const c_char,
    results_len: usize,
    results_compacted: *const c_char,
    results_compacted_len: usize,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = text("frame", frame, frame_len)?;
            let results = text("results", results, results_len)?;
            let results_compacted = text("results_compacted", results_compacted, results_compacted_len)?;
            Ok(stack.summarize(frame, Results::new(results).compacted(results_compacted))?)
        })
    }
}

/// Lets a completed frame that turned out to be wrong go on: it is in_progress again and becomes the active frame. Its results are those so
/// far, and its context shows the reason.
///
/// - `frame`: the frame, which is completed.
/// - `reason`: what is wrong. Must not be empty.
/// - `out_reopened`: a JSON object, `{"handle": "f2", "waiting": ["f3"], "begun": ["f4"]}`: the frame; the planned frames that depend on it
///   and wait again; and those that depend on it and have begun.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the reason, _TRANSITION if the frame is not completed, _PARENT_CLOSED if a frame
/// above it has ended, _PARENT_PLANNED if one is planned, _HELD; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_reopen(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    reason: *const c_char,
    reason_len: usize,
    out_reopened: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_reopened, error, |stack| {
            let frame = text("frame", frame, frame_len)?;
            Ok(to_json(&stack.reopen(frame, text("reason", reason, reason_len)?)?))
        })
    }
}

/// Takes back the last command of a person, if nothing has been built on it. `callstack_as_actor` with the kind `person` gives the commands
/// of a person; without, the last one of those who have given no name is taken back.
///
/// - `out_undone`: a JSON object, `{"command": "pop", "frames": ["f2"], "removed": []}`: what the command was, the frames that are as they were before, and those that
///   it had added, which are invalidated.
///
/// Errors: _NOTHING_TO_UNDO, _NOT_UNDONE; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_undo(
    stack: *mut Callstack,
    out_undone: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::write(stack, out_undone, error, |stack| Ok(to_json(&stack.undo()?))) }
}

/// Removes a frame and the planned frames below it from the plan: sets their status to invalidated. If the frame was
/// active, its nearest ancestor that is in_progress or blocked becomes active.
///
/// - `frame`: the frame, in any status but invalidated.
/// - `reason`: the reason, for people and agents. Must not be empty.
/// - `out_invalidated`: a JSON object, `{"invalidated": ["f3", "f4"], "stillOpen": ["f5"], "dependents": ["f6"]}`: the
///   frame and the planned frames below it; the frames below it that are in_progress or blocked, which are not changed;
///   and the unfinished frames that depend on an invalidated one.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the reason, _TRANSITION; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_invalidate(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    reason: *const c_char,
    reason_len: usize,
    out_invalidated: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_invalidated, error, |stack| {
            let frame = text("frame", frame, frame_len)?;
            Ok(to_json(&stack.invalidate(frame, text("reason", reason, reason_len)?)?))
        })
    }
}

/// Records a file or another resource that the work on a frame has produced. Each artifact is recorded once.
///
/// - `frame`: the frame, in any status.
/// - `artifact`: usually a path. Must not be empty.
/// - `out_is_new`: 1 if the artifact is new, 0 if it was already recorded.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the artifact; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_add_artifact(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    artifact: *const c_char,
    artifact_len: usize,
    out_is_new: *mut i32,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_is_new, error, |stack| {
            let frame = text("frame", frame, frame_len)?;
            Ok(stack.add_artifact(frame, text("artifact", artifact, artifact_len)?)?)
        })
    }
}

/// Records a decision in a frame.
///
/// - `frame`: the frame, in any status.
/// - `decision`: the decision, such as `Use SQLite`. Must not be empty.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the decision; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_add_decision(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    decision: *const c_char,
    decision_len: usize,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = text("frame", frame, frame_len)?;
            Ok(stack.add_decision(frame, text("decision", decision, decision_len)?)?)
        })
    }
}

/// Records a request to a model, which was made in the session of a frame. Contexts do not change. A host with sessions
/// reports requests with its messages instead: see `callstack_event`.
///
/// - `frame`: the frame, in any status.
/// - `request`: a JSON object, `{"model": "claude-sonnet-5", "uncachedInput": 412, "cacheRead": 9120, "cacheWrite": 640,
///   "cacheWriteHour": 0, "output": 210, "reasoning": 0, "duration": 3480, "messages": 14, "costMicroUsd": 11500, "failed": false}`, each key optional. The numbers of
///   tokens do not overlap: the prompt has `uncachedInput` + `cacheRead` + `cacheWrite`, the answer `output` +
///   `reasoning`. `cacheWriteHour` are those of `cacheWrite` that the cache keeps for an hour. `duration` is in milliseconds, `messages` the number of messages in the prompt,
///   `costMicroUsd` what it has cost in millionths of a US dollar. A record with nothing but a cost is no request.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON for the request; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_record_usage(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    request: *const c_char,
    request_len: usize,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = text("frame", frame, frame_len)?;
            Ok(stack.record_usage(frame, record("request", request, request_len)?)?)
        })
    }
}

/// Makes a frame the active frame.
///
/// - `frame`: a frame that is in_progress or blocked. `callstack_activate` begins a planned one.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NOT_OPEN; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_set_active(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::write(stack, (), error, |stack| Ok(stack.set_active(text("frame", frame, frame_len)?)?)) }
}

/// The record of `callstack_import`.
#[derive(Serialize)]
struct ImportedPlan {
    handles: Vec<Handle>,
    problems: Vec<Problem>,
    changes: Vec<PlanChange>,
    conflicts: Vec<PlanConflict>,
    unchanged: usize,
}

/// Adds the frames of a plan, or brings those of a plan up to date that was imported before, in one commit: all of them or none.
///
/// - `plan`: the text of a tasks.json of Task Master, of an issues.jsonl of Beads, of a check list in Markdown, or of a state.json. The
///   library detects the format. What the plan says must not begin is blocked until it is answered, or until a time.
///   A plan that was imported before is compared by its IDs with what it said then: new entries are added, changed ones edited, closed ones
///   finished, removed ones invalidated. What was begun here stays, and so does what was changed here and in the plan.
/// - `out_imported`: a JSON object, `{"handles": ["f2", "f3"], "problems": [{"place": "line 7", "message": "…"}], "changes": [{"frame":
///   "f4", "id": "app-2", "title": "Cart", "becomes": "finished", "fields": ["status"]}], "conflicts": [{"frame": "f5", "id": "app-3",
///   "title": "Totals", "field": "title", "file": "…", "stack": "…", "advice": "…"}], "unchanged": 12}`: the
///   handles of the new frames; the parts of the plan that were unreadable or inconsistent and were left out or
///   changed; the frames that were there and have changed (`becomes`: `edited`, `planned`, `waiting`, `begun`, `finished`, `invalidated` or
///   `removed`; `fields`: `title`, `criteria`, `task`, `priority`, `dependsOn`, `parent`, `results`, `status`, `order`); what stays
///   although the plan says otherwise, with what can be done; and the number of frames that have not changed. A state.json only adds
///   frames. The logs of a state's frames stay where the state comes from: each `logPath` is left out, and is one of the
///   problems.
///
/// Errors: _JSON if the plan is in none of the formats, _VERSION if a newer version wrote the state.json, _DUPLICATE_ID
/// if a frame with the same ID exists that is not from this plan, _DEPENDENCY if what was changed here would make a new entry wait for
/// itself, _FULL; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_import(
    stack: *mut Callstack,
    plan: *const c_char,
    plan_len: usize,
    out_imported: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_imported, error, |stack| {
            let text = text("plan", plan, plan_len)?;
            let plan = import::frames(text)?;
            let (handles, update) = match import::Format::of(text)? {
                import::Format::State => (stack.import(plan.frames)?, PlanUpdate::default()),
                _ => {
                    let update = stack.bring_up_to_date(&plan, None)?;
                    (update.added.iter().map(|added| added.frame).collect(), update)
                }
            };
            let PlanUpdate { changes, conflicts, unchanged, .. } = update;
            Ok(to_json(&ImportedPlan { handles, problems: plan.problems, changes, conflicts, unchanged }))
        })
    }
}
