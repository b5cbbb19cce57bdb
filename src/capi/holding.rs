//! Holds in the C interface: workers that share the frames of a stack, and commands of actors.

use std::ffi::c_char;

use super::code::CallstackCode;
use super::error::CallstackError;
use super::stack::Callstack;
use super::text::{CallstackText, list, optional_text, record, text, to_json};
use crate::frame::{Actor, Finish, FrameRef, Hold, NewHold};

/// Gives a frame that is free to a worker, for the length of a lease. Of several workers that ask at the same time, in any
/// processes, each gets another frame. The frame becomes in_progress; the active frame stays.
///
/// First come the frames whose worker has let its lease end or has let them go, and blocked ones of workers that were answered, then
/// planned frames in the order of the plan. A planned frame is free when its dependencies, and those of the planned frames above it, are
/// completed, and when its children are completed or invalidated; unless the frame above it has ended.
///
/// - `name`: the name of the worker. It should differ from those of others.
/// - `lease`: the length of the lease in milliseconds, from 1 to 86400000.
/// - `below`: only frames below this one; NULL: all frames.
/// - `frame`: exactly this frame; NULL: the first one that is free.
/// - `out_hold`: a JSON object, `{"handle": "f3", "kind": "worker", "name": "build-1", "generation": 2, "until": 1795293166903,
///   "tries": 1}`: the frame, its holder and the number of that, the end of the lease, and how often workers have begun the frame without
///   an end since it was planned or last answered; or `null` if no frame is free now.
///
/// Errors: _EMPTY and _TOO_LONG for the name; _SETTING for the lease; _UNKNOWN_FRAME, _AMBIGUOUS_FRAME; _NOT_FREE if `frame`
/// is not free; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_hold(
    stack: *mut Callstack,
    name: *const c_char,
    name_len: usize,
    lease: i32,
    below: *const c_char,
    below_len: usize,
    frame: *const c_char,
    frame_len: usize,
    out_hold: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_hold, error, |stack| {
            let mut hold = NewHold::new(text("name", name, name_len)?, length(lease));
            hold.below = optional_text("below", below, below_len)?.map(FrameRef::from);
            hold.frame = optional_text("frame", frame, frame_len)?.map(FrameRef::from);
            Ok(to_json(&stack.hold(hold)?))
        })
    }
}

/// Gives a holder more time: the lease ends so many milliseconds from now. A lease that has ended can be renewed as long as
/// nobody else holds the frame.
///
/// - `hold`: what `callstack_hold` has returned.
/// - `lease`: the length of the lease in milliseconds, from 1 to 86400000.
/// - `out_hold`: the same with the new end.
///
/// Errors: _HOLD_LOST if somebody else has held the frame since; _NOT_FREE if its holder has let it go, or if it is not in_progress any
/// more; _SETTING for the lease; _JSON; _UNKNOWN_FRAME; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_renew(
    stack: *mut Callstack,
    hold: *const c_char,
    hold_len: usize,
    lease: i32,
    out_hold: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_hold, error, |stack| {
            let hold: Hold = record("hold", hold, hold_len)?;
            Ok(to_json(&stack.renew(&hold, length(lease))?))
        })
    }
}

/// Returns how a frame stands for its holder. A worker looks now and then, for example each second, and stops what it has running when the
/// frame is not held any more.
///
/// - `hold`: what `callstack_hold` has returned.
/// - `out_standing`: a JSON object, one of these.
///   - `{"kind": "held"}`: the holder works on it.
///   - `{"kind": "ended", "status": "completed"}`: it was ended under this hold; or it has `failed`, or is `blocked` with a question.
///   - `{"kind": "putBack"}`: it was put back for later under this hold.
///   - `{"kind": "stopped"}`: somebody has stopped it, has taken it out of the plan, or has begun it anew.
///
/// Errors: _HOLD_LOST if somebody else has held the frame since; _JSON; _UNKNOWN_FRAME; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_standing(
    stack: *const Callstack,
    hold: *const c_char,
    hold_len: usize,
    out_standing: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_standing, error, |stack| {
            let hold: Hold = record("hold", hold, hold_len)?;
            Ok(to_json(&stack.standing(&hold)?))
        })
    }
}

/// Lets a frame go, so that another worker can have it at once. It stays in_progress, and this time does not count as a try. Nothing
/// happens if it was let go already.
///
/// - `hold`: what `callstack_hold` has returned.
///
/// Errors: _HOLD_LOST if somebody else has held the frame since; _JSON; _UNKNOWN_FRAME; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_release(
    stack: *mut Callstack,
    hold: *const c_char,
    hold_len: usize,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let hold: Hold = record("hold", hold, hold_len)?;
            Ok(stack.release(&hold)?)
        })
    }
}

/// Ends the work of a holder on its frame, which must be in_progress, all of it in one commit. So what a person stops or plans in this
/// moment is not lost.
///
/// - `hold`: what `callstack_hold` has returned.
/// - `finish`: a JSON object, one of these. `resultsCompacted`, and what is marked with a question mark, can be left out.
///   - `{"end": "done", "results": …, "resultsCompacted": …}`: the frame is completed; but if parts are left that were planned below it, the
///     results are those so far, and it is put back until the parts are done.
///   - `{"end": "failed", "results": …, "resultsCompacted": …}`
///   - `{"end": "asks", "question": …, "results"?: …}`: it is blocked, and waits for an answer.
///   - `{"end": "later", "wait"?: 60000}`: it is put back for so many milliseconds, at most 86400000; without `wait` a second after its
///     first time, twice as long after each further one, at most a minute.
/// - `out_finished`: a JSON object, `{"status": "completed"}`; for a frame that was put back
///   `{"status": "in_progress", "until": 1795293166903}`: until when nobody gets it.
///
/// Errors: _HOLD_LOST if somebody else has held the frame since; _NOT_FREE if it is not in_progress any more; _SETTING for a time that is
/// too long; _EMPTY; _JSON; _UNKNOWN_FRAME; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_finish(
    stack: *mut Callstack,
    hold: *const c_char,
    hold_len: usize,
    finish: *const c_char,
    finish_len: usize,
    out_finished: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_finished, error, |stack| {
            let hold: Hold = record("hold", hold, hold_len)?;
            let finish: Finish = record("finish", finish, finish_len)?;
            Ok(to_json(&stack.finish(&hold, finish)?))
        })
    }
}

/// Returns the same stack for an actor: its commands that begin, go on with, end, block or invalidate a frame are refused with _HELD if
/// somebody else holds the frame, and a conversation or a person with a name holds what it begins. With a hold all commands are refused with
/// _HOLD_LOST if somebody else has held that frame since. Commands with `stack` work as before.
///
/// - `actor`: a JSON object: what `callstack_hold` has returned, or `{"kind": "conversation", "name": "codex/1"}`, with `"takesOver": true`
///   to take frames from persons and conversations, or with `"handsOver": true` if what it begins is the task of a subagent, whose name
///   nobody knows yet. The kinds are `host`, `worker` (only with a hold), `conversation` and `person`.
/// - `out_stack`: the stack of the actor. The caller closes it, and `stack`, in any order.
///
/// Errors: _JSON.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_as_actor(
    stack: *mut Callstack,
    actor: *const c_char,
    actor_len: usize,
    out_stack: *mut *mut Callstack,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::derived(stack, out_stack, error, |stack| {
            let actor: Actor = record("actor", actor, actor_len)?;
            Ok(stack.as_actor(actor))
        })
    }
}

/// Counts the unfinished frames, by what they are for workers. If nothing is `free`, `held` or `later`, nothing becomes
/// free unless a person or a host does something.
///
/// - `below`: only frames below this one; NULL: all frames.
/// - `out_left`: a JSON object, `{"free": 3, "held": 2, "later": 0, "waiting": 40, "begun": 1, "blocked": 0, "assigned": 0}`: frames that a worker can
///   hold now; that workers hold; that they have put back; that wait for others; that are in progress and no worker's; blocked ones.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_work_left(
    stack: *const Callstack,
    below: *const c_char,
    below_len: usize,
    out_left: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_left, error, |stack| {
            let below = optional_text("below", below, below_len)?;
            Ok(to_json(&stack.work_left(below.map(FrameRef::from))?))
        })
    }
}

/// Returns how a host goes on with frames whose work was interrupted, stopped or answered. Each comes after those below it, so that it finds
/// their results. A host asks again when something that it waits for has ended.
///
/// - `frames`: a JSON array of the frames with which it is to go on, `["f1", "f3"]`; NULL: all that are open.
/// - `out_resumption`: a JSON object, `{"now": ["f3"], "later": ["f1"], "running": ["f4"], "asking": ["f5"], "missed": [{"frame": "f1",
///   "child": "f2"}]}`: those that can go on now, and later; the frames at or below the given ones that hosts run, and that wait for a
///   person; results that the conversation of a frame does not have, because its child has ended after the interruption.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_resumption(
    stack: *const Callstack,
    frames: *const c_char,
    frames_len: usize,
    out_resumption: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_resumption, error, |stack| {
            // NULL with length 0 means all.
            let is_given = !frames.is_null() || frames_len > 0;
            let frames = is_given.then(|| list("frames", frames, frames_len)).transpose()?;
            Ok(to_json(&stack.resumption(frames)?))
        })
    }
}

/// Records of the frames whose holders have let their leases end that they were interrupted. Hosts do this at their polls and tool calls; a
/// program without sessions can do it before it looks at what runs. A refused record is tried again by the next look.
///
/// - `out_frames`: a JSON array of these frames, `["f3"]`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_note_interruptions(
    stack: *const Callstack,
    out_frames: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::read(stack, out_frames, error, |stack| Ok(to_json(&stack.note_interruptions()))) }
}

/// The length of a lease. A negative one is refused as one is that is too long.
fn length(lease: i32) -> u64 {
    u64::try_from(lease).unwrap_or(u64::MAX)
}
