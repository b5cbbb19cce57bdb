//! Queries of the C interface: frames, the state, and the tree as text.

use std::ffi::c_char;

use serde::{Deserialize, Serialize};

use super::code::CallstackCode;
use super::error::{CallstackError, Failure};
use super::stack::Callstack;
use super::text::{CallstackText, optional_record, text, to_json};
use crate::error::Error;
use crate::frame::{Frame, FrameRef, FrameStatus, Handle};
use crate::tree::{OutlineOptions, Tree};

/// Returns the handle of a frame.
///
/// - `frame`: the frame: a handle, an ID, the beginning of an ID, a title, or the beginning of one of an unfinished frame.
/// - `out_handle`: the handle, such as `f3`.
///
/// Errors: _UNKNOWN_FRAME; _AMBIGUOUS_FRAME, with `candidates` in the details.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_resolve(
    stack: *const Callstack,
    frame: *const c_char,
    frame_len: usize,
    out_handle: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_handle, error, |stack| {
            Ok(stack.resolve(text("frame", frame, frame_len)?)?.to_string())
        })
    }
}

/// Returns the handle of the active frame: the frame on which an agent works.
///
/// - `out_handle`: the handle, such as `f3`; the empty text if no frame is active.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_active(
    stack: *const Callstack,
    out_handle: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_handle, error, |stack| {
            Ok(stack.active().map(|handle| handle.to_string()).unwrap_or_default())
        })
    }
}

/// A frame with its handle.
#[derive(Serialize)]
struct Numbered {
    handle: Handle,
    #[serde(flatten)]
    frame: Frame,
}

fn numbered(tree: &Tree, handle: Handle) -> Numbered {
    Numbered { handle, frame: tree.frame(handle) }
}

/// Returns the record of a frame.
///
/// - `frame`: the frame.
/// - `out_frame`: a JSON object, `{"handle": "f3", "sessionID": "ses_7", "parentSessionID": "ses_1",
///   "status": "completed", "title": "…", "successCriteria": "…", "successCriteriaCompacted": "…",
///   "results": "…", "resultsCompacted": "…", "createdAt": 1795293106903, "updatedAt": 1795293106903,
///   "artifacts": [], "decisions": []}`. `parentSessionID` is absent for a root, and the results are absent before
///   they are set. Present only if they apply: `dependsOn` (IDs), `logPath`, `invalidationReason`, `invalidatedAt`,
///   `plannedChildren` (IDs), `placeholder` (true), `task` (the full instruction), `priority` (0 to 4), `begunAt` (of a frame that was planned
///   before), `correctedAt` (when a person has corrected its words), `limits` (see `callstack_set_limits`), `costs` (see
///   `callstack_record_cost`), `deliveredAt` and `forgottenAt` (see `callstack_deliver` and
///   `callstack_forget`), `questions` (see `callstack_block` and `callstack_answer`: `[{"question": "Which VAT rate?",
///   "askedAt": 1795293106903, "answer": "20 %", "answeredAt": 1795293107000}]`; of a frame that waits to begin with `"unbegun": true`, and
///   `until` if a time ends the wait), `noWork` (a word for what is no work: `message`, `tag`), `origin` (what the file of
///   its plan said of it, as checksums),
///   `holder` (who works on the frame, or did last: `{"kind": "host", "name": "host-…", "generation": 2, "until": 1795293166903, "since":
///   1795293106903, "caller": "ses_1"}`; of one who has let it go also `"released": {"at": 1795293110000, "how": "interrupted"}`, with
///   `how` `ended`, `putBack` (and `until`), `interrupted` or `stopped` (and the `reason`)), `summaryRequest` (a summary that was
///   requested: `{"type": "manual_summary", "note": "…", "requestedAt": 1795293106903}`), `usage` (`own` of
///   `callstack_usage`), `heap` (the chunks of this frame, each as `chunk` in
///   `callstack_chunks`), `registers` (an object of the registers that are not empty), and unknown keys of an imported
///   frame. Times are milliseconds since the Unix epoch.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_frame(
    stack: *const Callstack,
    frame: *const c_char,
    frame_len: usize,
    out_frame: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_frame, error, |stack| {
            let frame = FrameRef::from(text("frame", frame, frame_len)?);
            Ok(to_json(&stack.read_again(|tree| tree.resolve(&frame).map(|handle| numbered(tree, handle)))??))
        })
    }
}

/// Returns the sums of the requests to models.
///
/// - `frame`: the frame.
/// - `out_usage`: a JSON object, `{"own": […], "total": […], "ownCostMicroUsd": 0, "totalCostMicroUsd": 0}`: the requests of the frame itself, and of the frame with all
///   frames below it. Each list has an entry for each model, `{"model": "claude-sonnet-5", "requests": 12, "failed": 1,
///   "uncachedInput": 5204, "cacheRead": 88120, "cacheWrite": 6400, "output": 2210, "reasoning": 0, "duration": 41480}`: see
///   `callstack_record_usage`. The costs are in millionths of a US dollar, as far as the host has told them (`callstack_record_cost`, or with
///   the requests), and an estimate of what came since.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_usage(
    stack: *const Callstack,
    frame: *const c_char,
    frame_len: usize,
    out_usage: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_usage, error, |stack| Ok(to_json(&stack.usage(text("frame", frame, frame_len)?)?)))
    }
}

/// The argument of `callstack_frames`.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct FrameQuery {
    relation: Relation,
    frame: Option<FrameRef>,
    status: Option<FrameStatus>,
    records: bool,
}

/// How frames are selected: from the whole tree, or by their relation to one frame.
#[derive(Deserialize, Clone, Copy, Default)]
#[serde(rename_all = "camelCase")]
enum Relation {
    #[default]
    All,
    Roots,
    Ready,
    Interrupted,
    Ancestors,
    Children,
    Siblings,
    Subtree,
}

impl FrameQuery {
    fn frames(&self, tree: &Tree, interrupted: Vec<Handle>) -> Result<Vec<Handle>, Error> {
        let frame = || match &self.frame {
            Some(frame) => tree.resolve(frame),
            None => Err(Error::Empty { field: "frame" }),
        };
        let mut frames: Vec<Handle> = match self.relation {
            Relation::All => tree.handles().collect(),
            Relation::Roots => tree.roots().to_vec(),
            Relation::Ready => tree.ready().collect(),
            Relation::Interrupted => interrupted,
            Relation::Ancestors => tree.ancestors(frame()?).collect(),
            Relation::Children => tree.children(frame()?).to_vec(),
            Relation::Siblings => tree.siblings(frame()?).collect(),
            Relation::Subtree => tree.subtree(frame()?).collect(),
        };
        frames.retain(|handle| self.status.is_none_or(|status| tree.node(*handle).status() == status));
        Ok(frames)
    }
}

/// Returns the frames that have a relation to a frame, or a status.
///
/// - `query`: NULL for all frames, or a JSON object, `{"relation": "children", "frame": "f1", "status": "planned",
///   "records": false}`, with any of
///   - `relation`: `"all"` (default), `"roots"`, `"ready"` (planned frames that can begin, in the order of the plan: those that have what
///     they and the planned frames above them need, are not below an ended one, and have no parts left),
///     `"interrupted"` (frames that are in_progress although the host that ran them does not exist any more), or, in relation to `frame`: `"ancestors"`, `"children"`, `"siblings"`, `"subtree"` (the frame and all frames below
///     it);
///   - `frame`: the frame of the relation;
///   - `status`: only frames with this status;
///   - `records`: whether to return records instead of handles; default false.
/// - `out_frames`: a JSON array of handles, `["f2", "f3"]`, or of objects as in `callstack_frame`. The order is that of
///   creation; ancestors begin with the parent; a subtree lists parents before their children, depth first.
///
/// Errors: _JSON, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY if the relation needs `frame` and it is missing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_frames(
    stack: *const Callstack,
    query: *const c_char,
    query_len: usize,
    out_frames: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_frames, error, |stack| {
            let query: FrameQuery = optional_record("query", query, query_len)?;
            let is_for_interrupted = matches!(query.relation, Relation::Interrupted);
            let interrupted = if is_for_interrupted { stack.interrupted() } else { Vec::new() };
            let answer = stack.read_again(|tree| -> Result<String, Error> {
                let frames = query.frames(tree, interrupted.clone())?;
                Ok(match query.records {
                    false => to_json(&frames),
                    true => to_json(&frames.into_iter().map(|handle| numbered(tree, handle)).collect::<Vec<_>>()),
                })
            });
            Ok(answer??)
        })
    }
}

/// Returns the whole tree in the documented form of state.json. `callstack_from_state` reads it.
///
/// - `out_state`: a JSON object, `{"version": 1, "revision": 9, "frames": {"ses_1": {…}}, "activeFrameID": "ses_1",
///   "rootFrameIDs": ["ses_1"], "updatedAt": 1795293106903}`. The keys of `frames` are the IDs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_state(
    stack: *const Callstack,
    out_state: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::read(stack, out_state, error, |stack| Ok(stack.read_again(Tree::state)?.to_json())) }
}

/// Writes the documented files, state.json and frames/, to another folder, for other tools or as a copy.
/// `callstack_open` of that folder imports them. The files show the frames at the time of the call. Does not wait for a
/// command that is running, and no command waits for it.
///
/// - `folder`: a path, absolute or relative to the working directory. Must not be empty. The folder is created if it
///   does not exist.
///
/// Errors: _EMPTY for the folder, _NOT_EMPTY if the folder contains a database stack.db; _IO, _DISK_FULL, _READ_ONLY
/// and _BUSY for the files, also for a stack in memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_export_files(
    stack: *const Callstack,
    folder: *const c_char,
    folder_len: usize,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, (), error, |stack| match text("folder", folder, folder_len)? {
            "" => Err(Failure::from(Error::Empty { field: "folder" })),
            folder => Ok(stack.export_files(folder)?),
        })
    }
}

/// Returns the tree as text for people.
///
/// - `options`: NULL, or a JSON object such as `{"style": "marked", "root": "f2", "details": false, "depth": 3,
///   "width": 120}`, with any of
///   - `style`: `"marked"` (default: branches, a mark for each status, a legend and statistics) or `"indented"`;
///   - `root`: only this frame and the frames below it; default: all;
///   - `details`: also criteria, results, artifacts and decisions; default false;
///   - `own`: the frame of the reader, which is marked instead of the active frame if it is open; default: the active
///     frame;
///   - `active`: mark the active frame, or that of the reader, and name it below the frames; default true;
///   - `depth`: number of levels below the first; default: all;
///   - `width`: maximum length of a line, in characters; 0 is no limit; default 120.
/// - `out_outline`: the text, several lines.
///
/// Errors: _JSON, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_outline(
    stack: *const Callstack,
    options: *const c_char,
    options_len: usize,
    out_outline: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_outline, error, |stack| {
            let options: OutlineOptions = optional_record("options", options, options_len)?;
            Ok(stack.outline(&options)?)
        })
    }
}
