//! Holds in the C interface: workers that share the frames of a stack, and commands of actors.

use super::code::CallstackCode;
use super::error::CallstackError;
use super::record::Renewal;
use super::stack::Callstack;
use super::text::{CallstackText, CallstackView, to_json};
use crate::frame::{Actor, Finish, Hold};

/// Gives a free frame to a worker, for the length of a lease. If several workers ask at the same time, in any
/// processes, each gets another frame. The frame becomes `in_progress`; the active frame stays the same.
///
/// First come the frames whose worker has let its lease end or has released them, and blocked frames of
/// workers that were answered; then come planned frames in the order of the plan. A planned frame is free
/// when its dependencies, and those of the planned frames above it, are completed, and when its children are
/// completed or invalidated; unless the frame above it has ended.
///
/// - `request` (NewHold): the worker, the lease, and which frames it wants.
/// - `out_hold` (Hold, or null): the frame and its holder, if a frame is free now.
///   `callstack_work_left` says whether that can change.
///
/// Errors: _JSON, _EMPTY and _TOO_LONG for the name, _SETTING for the lease, _UNKNOWN_FRAME,
/// _AMBIGUOUS_FRAME, _NOT_FREE if the wanted frame is not free; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_hold(
    stack: *mut Callstack,
    request: CallstackView,
    out_hold: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_hold, error, |stack| Ok(to_json(&stack.work().hold(request.record("request")?)?)))
    }
}

/// Extends the lease of a holder. A lease that has ended can be renewed as long as no other worker has held
/// the frame since.
///
/// - `hold` (Hold): what `callstack_hold` has returned.
/// - `renewal` (Renewal): the length of the lease from now on.
/// - `out_hold` (Hold): the hold with its new end.
///
/// Errors: _HOLD_LOST if another worker has held the frame since; _NOT_FREE if its holder has released it, or
/// if it is not `in_progress` any more: the holder should stop; _SETTING for the lease; _JSON,
/// _UNKNOWN_FRAME; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_renew(
    stack: *mut Callstack,
    hold: CallstackView,
    renewal: CallstackView,
    out_hold: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_hold, error, |stack| {
            let hold: Hold = hold.record("hold")?;
            let Renewal { lease } = renewal.record("renewal")?;
            Ok(to_json(&stack.work().renew(&hold, lease)?))
        })
    }
}

/// Returns whether a holder still has its frame. A worker asks now and then, for example each second, and
/// stops its work when the frame is not held any more.
///
/// - `hold` (Hold): what `callstack_hold` has returned.
/// - `out_standing` (Standing): how the frame stands for its holder.
///
/// Errors: _HOLD_LOST if another worker has held the frame since; _JSON, _UNKNOWN_FRAME; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_standing(
    stack: *const Callstack,
    hold: CallstackView,
    out_standing: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_standing, error, |stack| {
            let hold: Hold = hold.record("hold")?;
            Ok(to_json(&stack.work().standing(&hold)?))
        })
    }
}

/// Releases a frame, so that another worker can have it at once. The frame stays `in_progress`, and this time
/// does not count as a try. Nothing happens if the frame was released already.
///
/// - `hold` (Hold): what `callstack_hold` has returned.
///
/// Errors: _HOLD_LOST if another worker has held the frame since; _JSON, _UNKNOWN_FRAME; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_release(
    stack: *mut Callstack,
    hold: CallstackView,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let hold: Hold = hold.record("hold")?;
            Ok(stack.work().release(&hold)?)
        })
    }
}

/// Ends the work of a holder on its frame in one commit. The frame must be `in_progress`, so what a person
/// stops or plans at this moment is not lost. If frames were planned below the frame, it is put back until
/// they are done, and its results are its results so far.
///
/// - `hold` (Hold): what `callstack_hold` has returned.
/// - `finish` (Finish): how the work ends.
/// - `out_finished` (Finished): the new status of the frame.
///
/// Errors: _HOLD_LOST if another worker has held the frame since; _NOT_FREE if the frame is not `in_progress`
/// any more; _SETTING for a time that is too long; _EMPTY, _JSON, _UNKNOWN_FRAME; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_finish(
    stack: *mut Callstack,
    hold: CallstackView,
    finish: CallstackView,
    out_finished: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_finished, error, |stack| {
            let hold: Hold = hold.record("hold")?;
            let finish: Finish = finish.record("finish")?;
            Ok(to_json(&stack.work().finish(&hold, finish)?))
        })
    }
}

/// Returns the same stack for an actor. What other actors hold is theirs: commands of the returned stack that
/// begin, continue, end, block or invalidate such a frame are refused with _HELD. A conversation, or a person
/// with a name, holds what it begins. If the actor is a hold, all commands are refused with _HOLD_LOST when
/// another actor has held that frame since. Commands of `stack` work as before.
///
/// - `actor` (Actor): what `callstack_hold` has returned, or the kind and the name of the actor. A `worker`
///   needs a hold.
/// - `out_stack` (Stack): the stack of the actor. The caller closes it, and `stack`, in any order.
///
/// Errors: _JSON.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_as_actor(
    stack: *mut Callstack,
    actor: CallstackView,
    out_stack: *mut *mut Callstack,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::derived(stack, out_stack, error, |stack| {
            let actor: Actor = actor.record("actor")?;
            Ok(stack.as_actor(actor))
        })
    }
}

/// Counts the unfinished frames by what they are for workers. If none is `free`, `held` or `later`, none
/// becomes free unless a person or a host does something.
///
/// - `below` (FrameRef, optional): only frames below this one. Default: all frames.
/// - `out_left` (WorkLeft): the numbers of frames.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_work_left(
    stack: *const Callstack,
    below: CallstackView,
    out_left: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_left, error, |stack| {
            Ok(to_json(&stack.work().left(below.optional_frame("below")?)?))
        })
    }
}

/// Returns how a host continues frames whose work was interrupted, stopped or answered. Each frame comes
/// after the frames below it, so that it finds their results. A host asks again when a frame that it waits
/// for has ended.
///
/// - `frames` (FrameRef[], optional): the frames that the host continues. Default: all that are open.
/// - `out_resumption` (Resumption): the frames that can continue now, and later.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_resumption(
    stack: *const Callstack,
    frames: CallstackView,
    out_resumption: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_resumption, error, |stack| {
            Ok(to_json(&stack.work().resumption(frames.optional_list("frames")?)?))
        })
    }
}

/// Records that frames were interrupted because the lease of their holder has ended. Hosts do this when they
/// poll and at tool calls; a program without sessions can do it before it looks at what runs. If a record is
/// refused, the next call tries again.
///
/// - `out_frames` (Handle[]): these frames.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_note_interruptions(
    stack: *const Callstack,
    out_frames: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::read(stack, out_frames, error, |stack| Ok(to_json(&stack.work().note_interruptions()))) }
}
