//! Limits and costs of frames in the C interface.

use super::code::CallstackCode;
use super::error::CallstackError;
use super::record::NewCost;
use super::stack::Callstack;
use super::text::{CallstackText, CallstackView, to_json};

/// Sets what a frame may do and spend. Limits that are not given stay as they are.
///
/// - `frame` (FrameRef): the frame, in any status.
/// - `limits` (FrameLimits): the limits.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _SETTING for a limit of 0, _TOOLS_EXCEED for tools that
/// the frames above do not have; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_set_limits(
    stack: *mut Callstack,
    frame: CallstackView,
    limits: CallstackView,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = frame.text("frame")?;
            Ok(stack.set_limits(frame, limits.record("limits")?)?)
        })
    }
}

/// Records what a conversation of a frame has cost so far, for hosts that know the costs of conversations,
/// but not of requests. It replaces what was recorded of the conversation before. Until the next record,
/// `callstack_usage` estimates the costs of later requests.
///
/// - `frame` (FrameRef): the frame, in any status.
/// - `cost` (NewCost): the conversation and its cost.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _EMPTY if the ID of the conversation is blank; the
/// storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_record_cost(
    stack: *mut Callstack,
    frame: CallstackView,
    cost: CallstackView,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = frame.text("frame")?;
            let NewCost { conversation, cost_micro_usd } = cost.record("cost")?;
            Ok(stack.record_cost(frame, conversation, cost_micro_usd)?)
        })
    }
}

/// Returns what a frame may do and spend now, with the limits of all frames above it. A root without limits
/// of its own has those of the host's settings (`calls.limits`).
///
/// - `frame` (FrameRef): the frame.
/// - `out_allowance` (Allowance): what is left. What is not limited is absent.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_allowance(
    stack: *const Callstack,
    frame: CallstackView,
    out_allowance: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_allowance, error, |stack| {
            Ok(to_json(&stack.work().allowance(frame.text("frame")?)?))
        })
    }
}

/// Returns the first frame, from this one upwards, that has spent what it may, together with all frames below
/// it.
///
/// - `frame` (FrameRef): the frame.
/// - `out_overspent` (Overspent, or null): that frame and the reason, if there is one.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_overspent(
    stack: *const Callstack,
    frame: CallstackView,
    out_overspent: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_overspent, error, |stack| {
            Ok(to_json(&stack.work().overspent(frame.text("frame")?)?))
        })
    }
}
