//! Queries across the border: frames, the state, the tree as text.

use std::ffi::c_char;

use serde::{Deserialize, Serialize};

use super::code::CallstackCode;
use super::error::{CallstackError, Failure};
use super::stack::Callstack;
use super::text::{CallstackText, optional_record, text, to_json};
use crate::error::Error;
use crate::frame::{Frame, FrameRef, FrameStatus, Handle};
use crate::tree::{OutlineOptions, Tree};

/// The handle of a frame that is named by handle, ID, or a beginning of its ID that fits no other frame.
///
/// Errors: CALLSTACK_ERROR_UNKNOWN_FRAME; _AMBIGUOUS_FRAME, with the candidates.
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

/// The handle of the frame being worked on; the empty text if there is none.
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

/// The record of a frame.
///
/// - `out_frame`: a JSON object, `{"handle": "f3", "sessionID": "ses_7", "parentSessionID": "ses_1",
///   "status": "completed", "title": "…", "successCriteria": "…", "successCriteriaCompacted": "…",
///   "results": "…", "resultsCompacted": "…", "createdAt": 1795293106903, "updatedAt": 1795293106903,
///   "artifacts": [], "decisions": []}`, and where they apply `dependsOn`, `logPath`, `invalidationReason`,
///   `invalidatedAt`, `plannedChildren`, `placeholder`, `heap` (its chunks, as of `callstack_chunks`),
///   `registers` (by name, those that are not empty). Times are milliseconds since the Unix epoch.
///
/// Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
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
            Ok(to_json(&stack.read(|tree| tree.resolve(&frame).map(|handle| numbered(tree, handle)))?))
        })
    }
}

/// Which frames are meant.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct FrameQuery {
    relation: Relation,
    frame: Option<FrameRef>,
    status: Option<FrameStatus>,
    records: bool,
}

/// How frames are chosen: by how they stand to one, or from the whole tree.
#[derive(Deserialize, Clone, Copy, Default)]
#[serde(rename_all = "camelCase")]
enum Relation {
    #[default]
    All,
    Roots,
    Ready,
    Ancestors,
    Children,
    Siblings,
    Subtree,
}

impl FrameQuery {
    fn frames(&self, tree: &Tree) -> Result<Vec<Handle>, Error> {
        let frame = || match &self.frame {
            Some(frame) => tree.resolve(frame),
            None => Err(Error::Empty { field: "frame" }),
        };
        let mut frames: Vec<Handle> = match self.relation {
            Relation::All => tree.handles().collect(),
            Relation::Roots => tree.roots().to_vec(),
            Relation::Ready => tree.ready().collect(),
            Relation::Ancestors => tree.ancestors(frame()?).collect(),
            Relation::Children => tree.children(frame()?).to_vec(),
            Relation::Siblings => tree.siblings(frame()?).collect(),
            Relation::Subtree => tree.subtree(frame()?).collect(),
        };
        frames.retain(|handle| self.status.is_none_or(|status| tree.node(*handle).status() == status));
        Ok(frames)
    }
}

/// The frames that stand in some relation to a frame, or have some status.
///
/// - `query`: a JSON object, `{"relation": "children", "frame": "f1", "status": "planned", "records":
///   false}`, every key optional. `relation` is `"all"` (the default), `"roots"`, `"ready"` (planned, and all
///   that they depend on is completed), or, of `frame`: `"ancestors"` (from the parent up), `"children"`,
///   `"siblings"`, `"subtree"` (the frame itself, and all below it). `status` keeps only those that have it.
///   NULL: all.
/// - `out_frames`: a JSON array of handles, `["f2", "f3"]`, in creation order where nothing else is said;
///   with `records` an array of objects as `callstack_frame` gives them.
///
/// Errors: CALLSTACK_ERROR_JSON, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY if `frame` is missing.
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
            let answer = stack.read(|tree| -> Result<String, Error> {
                let frames = query.frames(tree)?;
                Ok(match query.records {
                    false => to_json(&frames),
                    true => to_json(&frames.into_iter().map(|handle| numbered(tree, handle)).collect::<Vec<_>>()),
                })
            });
            Ok(answer?)
        })
    }
}

/// The whole tree as the documented state.json: `{"version": 1, "revision": 9, "frames": {"ses_1": {…}},
/// "activeFrameID": "ses_1", "rootFrameIDs": ["ses_1"], "updatedAt": 1795293106903}`.
/// `callstack_from_state` reads it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_state(
    stack: *const Callstack,
    out_state: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::read(stack, out_state, error, |stack| Ok(stack.state().to_json())) }
}

/// Writes the documented files, state.json and frames/, to another folder: for other tools, or to take
/// along. `callstack_open` imports them there.
///
/// Errors: CALLSTACK_ERROR_NOT_EMPTY if a stack lives in that folder; those of the disk.
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

/// The tree as text for people.
///
/// - `options`: NULL, or a JSON object with any of `"style"` (`"marked"`: branches, a mark for each status,
///   legend and statistics; or `"indented"`), `"root"` (only this frame and what is below), `"details"`
///   (criteria, results, artifacts and decisions too; false), `"depth"` (levels below the first; all),
///   `"width"` (the longest line in characters, 0 for no limit; 120).
///
/// Errors: CALLSTACK_ERROR_JSON, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
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
