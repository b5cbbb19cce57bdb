//! Queries of the C interface: frames, the state, and the tree as text.

use super::code::CallstackCode;
use super::error::{CallstackError, Failure};
use super::record::{FrameQuery, HandledFrame, Relation};
use super::stack::Callstack;
use super::text::{CallstackText, CallstackView, to_json};
use crate::error::Error;
use crate::frame::{FrameRef, Handle};
use crate::stack::Stack;
use crate::tree::{OutlineOptions, Tree, outline};

/// Returns the handle of a frame.
///
/// - `frame` (FrameRef): a handle, an ID, the beginning of an ID, a title, or the beginning of the title of
///   an unfinished frame.
/// - `out_handle` (Handle): the handle, such as `f3`.
///
/// Errors: _UNKNOWN_FRAME; _AMBIGUOUS_FRAME, with `candidates` in the details.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_resolve(
    stack: *const Callstack,
    frame: CallstackView,
    out_handle: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::read(stack, out_handle, error, |stack| Ok(stack.resolve(frame.text("frame")?)?.to_string())) }
}

/// Returns the handle of the active frame: the frame on which an agent works.
///
/// - `out_handle` (Handle, or empty): the handle, if a frame is active.
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

/// Returns the record of a frame.
///
/// - `frame` (FrameRef): the frame.
/// - `out_frame` (Frame): the record with the handle.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_frame(
    stack: *const Callstack,
    frame: CallstackView,
    out_frame: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_frame, error, |stack| {
            let frame = FrameRef::from(frame.text("frame")?);
            Ok(to_json(&stack.read_again(|tree| tree.resolve(&frame).map(|handle| HandledFrame::of(tree, handle)))??))
        })
    }
}

/// Returns the records of all frames, or of the frames that match a query.
///
/// - `query` (FrameQuery, optional): which frames. Default: all.
/// - `out_frames` (Frame[]): the records, in the order of creation, if the query does not have another order.
///
/// Errors: _JSON, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY if the relation needs a frame and the query has
/// none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_frames(
    stack: *const Callstack,
    query: CallstackView,
    out_frames: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_frames, error, |stack| {
            selected(stack, query, |tree, frames| {
                to_json(&frames.into_iter().map(|handle| HandledFrame::of(tree, handle)).collect::<Vec<_>>())
            })
        })
    }
}

/// Returns the handles of all frames, or of the frames that match a query, like `callstack_frames`.
///
/// - `query` (FrameQuery, optional): which frames. Default: all.
/// - `out_handles` (Handle[]): the handles.
///
/// Errors: _JSON, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY if the relation needs a frame and the query has
/// none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_handles(
    stack: *const Callstack,
    query: CallstackView,
    out_handles: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::read(stack, out_handles, error, |stack| selected(stack, query, |_, frames| to_json(&frames))) }
}

/// The frames that a query selects, as JSON.
///
/// # Safety
/// As [`CallstackView::text`].
unsafe fn selected(
    stack: &Stack,
    query: CallstackView,
    written: impl Fn(&Tree, Vec<Handle>) -> String,
) -> Result<String, Failure> {
    // SAFETY: the caller's promise.
    let query: FrameQuery = unsafe { query.optional_record("query") }?;
    let interrupted = if query.relation == Relation::Interrupted { stack.work().interrupted() } else { Vec::new() };
    Ok(stack.read_again(|tree| query.frames(tree, &interrupted).map(|frames| written(tree, frames)))??)
}

/// Returns the sums of the requests to models: those of a frame, and those of the frame and all frames below
/// it.
///
/// - `frame` (FrameRef): the frame.
/// - `out_usage` (FrameUsage): the sums.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_usage(
    stack: *const Callstack,
    frame: CallstackView,
    out_usage: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::read(stack, out_usage, error, |stack| Ok(to_json(&stack.usage(frame.text("frame")?)?))) }
}

/// Returns all trees in the documented form of `state.json`. `callstack_from_state` reads it.
///
/// - `out_state` (StackState): the state.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_state(
    stack: *const Callstack,
    out_state: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::read(stack, out_state, error, |stack| Ok(stack.read_again(Tree::state)?.to_json())) }
}

/// Writes the documented files, `state.json` and `frames/`, to another folder, for other tools or as a copy.
/// `callstack_open` of that folder imports them. The files show the frames at the time of the call. The
/// function does not wait for a command that is running, and no command waits for it.
///
/// - `folder` (text): a path, absolute or relative to the working directory. Must not be empty. The folder is
///   created if it does not exist.
///
/// Errors: _EMPTY for the folder, _NOT_EMPTY if the folder contains a `state.json` or a database; _IO, _DISK_FULL,
/// _READ_ONLY and _BUSY for the files, also for a stack in memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_export_files(
    stack: *const Callstack,
    folder: CallstackView,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, (), error, |stack| match folder.text("folder")? {
            "" => Err(Failure::from(Error::Empty { field: "folder" })),
            folder => Ok(stack.files().export(folder)?),
        })
    }
}

/// Returns the trees as text for people.
///
/// - `options` (OutlineOptions, optional): what the text shows.
/// - `out_outline` (text): several lines.
///
/// Errors: _JSON, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_outline(
    stack: *const Callstack,
    options: CallstackView,
    out_outline: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_outline, error, |stack| {
            let options: OutlineOptions = options.optional_record("options")?;
            Ok(stack.read(|tree| outline(tree, &options))??)
        })
    }
}
