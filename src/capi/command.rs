//! Commands across the border: everything that changes a tree.

use std::ffi::c_char;

use serde::Serialize;

use super::code::{self, CallstackCode, CallstackStatus};
use super::error::CallstackError;
use super::stack::Callstack;
use super::text::{CallstackText, list, optional_text, record, text, to_json};
use crate::frame::{FrameRef, Handle, Identity};
use crate::import::{self, Imported, Problem};

/// Makes a frame that is worked on at once, and makes it the active one.
///
/// - `frame`: a JSON object, `{"title": "API routes", "successCriteria": "CRUD works",
///   "successCriteriaCompacted": "CRUD", "sessionID": "ses_7", "parent": "f1", "caller": "ses_1",
///   "dependsOn": ["auth"]}`. All keys but `title` are optional. Without `sessionID` the frame gets an ID
///   of the form `plan-…`. Without `parent` it goes below the open frame of the session `caller`, if there
///   is none below the active frame, else it is a root; `"parent": null` makes it a root in any case.
/// - `out_handle`: its handle, such as `f3`. May be NULL.
///
/// Errors: CALLSTACK_ERROR_JSON; _DUPLICATE_ID, _EMPTY, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _DEPENDENCY;
/// _PARENT_CLOSED, _PARENT_PLANNED; those of the disk.
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

/// Makes a frame for later. As `callstack_push`, but the parent may be planned too.
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

/// Makes several planned children of one frame, all or none.
///
/// - `parent`: a handle, an ID, or the beginning of one.
/// - `children`: a JSON array of objects as `callstack_push` takes them; their `parent` is not used. A
///   child may depend on those before it, by their `sessionID`.
/// - `out_handles`: their handles as a JSON array, `["f4", "f5"]`. May be NULL.
///
/// Errors: as `callstack_plan`, for any of them.
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

/// Finds the frame of a session, and makes a placeholder if the session has none.
///
/// - `session_id`: the session's ID, whole.
/// - `title`: the title of a placeholder; NULL: `Session` and the first 8 characters of the ID.
/// - `parent`: the frame above a placeholder; NULL makes it a root.
/// - `out_handle`: the frame's handle. May be NULL.
///
/// Errors: CALLSTACK_ERROR_EMPTY, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME; those of the disk.
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

/// Gives a placeholder its title and criteria, once. The criteria may be NULL.
///
/// Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the title, _IDENTITY_FIXED; those
/// of the disk.
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

/// Begins a planned frame, and makes it the active one.
///
/// Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _TRANSITION; those of the disk.
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

/// Gives a frame another ID. Its handle stays.
///
/// Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY, _DUPLICATE_ID; those of the disk.
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

/// Changes the status of a frame, if its present one allows it: planned to in_progress, in_progress to
/// blocked and back, both to completed or failed, anything to invalidated.
///
/// - `status`: one of CALLSTACK_STATUS_….
/// - `results`, `results_compacted`: what was achieved, in full and dense; NULL for none. The reason, if
///   the frame is invalidated.
///
/// Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _TRANSITION, _SETTING for the status; those of
/// the disk.
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
            Ok(stack.set_status(frame, code::status(status)?, results, results_compacted)?)
        })
    }
}

/// Finishes a frame with results. If it was active, or a frame below it, the nearest open frame above
/// becomes active. A root pops too: its tree is done.
///
/// - `status`: CALLSTACK_STATUS_COMPLETED, _FAILED or _BLOCKED.
/// - `results`, `results_compacted`: what was achieved, in full, and dense for the prompts of others.
/// - `out_popped`: a JSON object, `{"handle": "f3", "parent": "f1", "active": "f1", "stillOpen": [],
///   "stillPlanned": ["f4"]}`: the frame, its parent and the active frame (or null), the frames below it
///   that are not finished. May be NULL.
///
/// Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _TRANSITION, _SETTING for the status; those of
/// the disk.
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
            Ok(to_json(&stack.pop(frame, code::pop_status(status)?, results, results_compacted)?))
        })
    }
}

/// Records what has been achieved so far by a frame that goes on: before its conversation is shortened, say.
/// The frame's own context shows it; other frames see its results when it is finished.
///
/// - `results`, `results_compacted`: in full, and dense.
///
/// Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _RESULTS_FIXED, _EMPTY; those of the disk.
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
            Ok(stack.summarize(frame, results, results_compacted)?)
        })
    }
}

/// Takes a frame, and what is planned below it, out of the plan.
///
/// - `out_invalidated`: a JSON object, `{"invalidated": ["f3", "f4"], "stillOpen": [], "dependents": []}`:
///   the frame and the planned ones below it; those below it that are being worked on, which were not
///   touched; and unfinished frames that depend on an invalidated one. May be NULL.
///
/// Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the reason, _TRANSITION; those of
/// the disk.
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

/// Records a file or another resource that the frame's work produced.
///
/// - `out_is_new`: 1; 0 if it was recorded already. May be NULL.
///
/// Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY; those of the disk.
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

/// Records a decision.
///
/// Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY; those of the disk.
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

/// Makes an open frame the active one.
///
/// Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NOT_OPEN; those of the disk.
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

/// What came of an import.
#[derive(Serialize)]
struct ImportedPlan {
    handles: Vec<Handle>,
    problems: Vec<Problem>,
}

/// Adds the frames of a plan, all or none: the text of Task Master's tasks.json, of Beads' issues.jsonl, or
/// of a state.json.
///
/// - `out_imported`: a JSON object, `{"handles": ["f2", "f3"], "problems": [{"place": "line 7", "message":
///   "…"}]}`; the problems are what could not be read or did not fit. May be NULL.
///
/// Errors: CALLSTACK_ERROR_JSON, _VERSION; _DUPLICATE_ID if a frame has the ID of one that is there; those
/// of the disk.
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
            let Imported { frames, problems } = import::frames(text("plan", plan, plan_len)?)?;
            Ok(to_json(&ImportedPlan { handles: stack.import(frames)?, problems }))
        })
    }
}
