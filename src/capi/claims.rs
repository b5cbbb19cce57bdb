//! Claims in the C interface: workers that share the frames of a stack.

use std::ffi::c_char;

use super::code::{self, CallstackCode, CallstackStatus};
use super::error::{CallstackError, Failure};
use super::stack::Callstack;
use super::text::{CallstackText, optional_text, record, text, to_json};
use crate::frame::{ClaimedFrame, FrameRef, NewClaim, Results};

/// Gives a frame that can begin to a worker, for the length of a lease. Of several workers that claim at the same time, in any
/// processes, each gets another frame. The frame becomes in_progress; the active frame stays.
///
/// First come the frames whose worker has let its lease end, and blocked ones of workers that were answered, then planned
/// frames in the order of the plan. A planned frame can be claimed when its dependencies, and those of the planned frames above it, are
/// completed, and when its children are completed or invalidated; unless the frame above it has ended.
///
/// - `worker`: the name of the worker. It should differ from those of others.
/// - `lease`: the length of the lease in milliseconds, from 1 to 86400000.
/// - `below`: only frames below this one; NULL: all frames.
/// - `frame`: exactly this frame; NULL: the first one that can be claimed.
/// - `out_claimed`: a JSON object, `{"handle": "f3", "worker": "build-1", "generation": 2, "until": 1795293166903}`: the frame, the
///   number of its claim, and the end of the lease; or `null` if there is nothing to claim now.
///
/// Errors: _EMPTY and _TOO_LONG for the worker; _SETTING for the lease; _UNKNOWN_FRAME, _AMBIGUOUS_FRAME; _NOT_CLAIMABLE if `frame`
/// cannot be claimed; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_claim(
    stack: *mut Callstack,
    worker: *const c_char,
    worker_len: usize,
    lease: i32,
    below: *const c_char,
    below_len: usize,
    frame: *const c_char,
    frame_len: usize,
    out_claimed: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_claimed, error, |stack| {
            let mut claim = NewClaim::new(text("worker", worker, worker_len)?, length(lease));
            claim.below = optional_text("below", below, below_len)?.map(FrameRef::from);
            claim.frame = optional_text("frame", frame, frame_len)?.map(FrameRef::from);
            Ok(to_json(&stack.claim(claim)?))
        })
    }
}

/// Gives a worker more time: the lease ends so many milliseconds from now. With 0 it ends now, so that another worker can claim the
/// frame, which stays in_progress. A lease that has ended can be renewed as long as
/// nobody else has claimed the frame.
///
/// - `claimed`: what `callstack_claim` has returned.
/// - `lease`: the length of the lease in milliseconds, from 0 to 86400000.
/// - `out_claimed`: the same with the new end.
///
/// Errors: _CLAIM_LOST if the frame was claimed again; _NOT_CLAIMABLE if it is not in_progress any more; _SETTING for the lease;
/// _JSON; _UNKNOWN_FRAME; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_renew_claim(
    stack: *mut Callstack,
    claimed: *const c_char,
    claimed_len: usize,
    lease: i32,
    out_claimed: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_claimed, error, |stack| {
            Ok(to_json(&Some(stack.renew_claim(&self::claimed(claimed, claimed_len)?, length(lease))?)))
        })
    }
}

/// Ends the frame of a claim with its results, as `callstack_pop` does, but only if it is still in_progress, and completes it only if no
/// part is left that was planned below it: both are checked in the same transaction. So what a person stops or plans in this moment is
/// not lost.
///
/// - `claimed`: what `callstack_claim` has returned.
/// - `status`: CALLSTACK_STATUS_COMPLETED, _FAILED or _BLOCKED. With _BLOCKED the results are the question: what the frame waits for.
/// - `results`: the results in full; NULL is the empty text.
/// - `results_compacted`: a short form for the prompts of other frames; NULL or empty: the full results are used.
///
/// Errors: _CLAIM_LOST if the frame was claimed again; _NOT_CLAIMABLE if it is not in_progress any more, or if a part is left;
/// _SETTING for the status; _JSON; _UNKNOWN_FRAME; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_finish_claim(
    stack: *mut Callstack,
    claimed: *const c_char,
    claimed_len: usize,
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
            let claimed = self::claimed(claimed, claimed_len)?;
            let results = text("results", results, results_len)?;
            let results_compacted = text("results_compacted", results_compacted, results_compacted_len)?;
            let results = Results::new(results).compacted(results_compacted);
            Ok(stack.finish_claim(&claimed, code::pop_status(status)?, results)?)
        })
    }
}

/// Returns the same stack for the worker that has a claim: each command with the returned one is refused with _CLAIM_LOST if the
/// frame was claimed again since, whichever frame the command changes. Commands with `stack` work as before.
///
/// - `claimed`: what `callstack_claim` has returned.
/// - `out_stack`: the stack of the worker. The caller closes it, and `stack`, in any order.
///
/// Errors: _JSON.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_with_claim(
    stack: *mut Callstack,
    claimed: *const c_char,
    claimed_len: usize,
    out_stack: *mut *mut Callstack,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::derived(stack, out_stack, error, |stack| Ok(stack.with_claim(&self::claimed(claimed, claimed_len)?)))
    }
}

/// Counts the unfinished frames, by what they are for workers. If nothing is `claimable` and nothing is `claimed`, nothing becomes
/// claimable unless a person or a host does something.
///
/// - `below`: only frames below this one; NULL: all frames.
/// - `out_left`: a JSON object, `{"claimable": 3, "claimed": 2, "waiting": 40, "begun": 1, "blocked": 0}`: frames that can be
///   claimed now; that workers hold; planned ones that wait for others; that a person or a host has begun; blocked ones.
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

/// The length of a lease. A negative one is refused as one is that is too long.
fn length(lease: i32) -> u64 {
    u64::try_from(lease).unwrap_or(u64::MAX)
}

/// Reads a claim.
unsafe fn claimed(data: *const c_char, len: usize) -> Result<ClaimedFrame, Failure> {
    // SAFETY: the caller promises as much as the callee asks.
    unsafe { record("claimed", data, len) }
}
