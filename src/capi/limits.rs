//! Limits and costs of frames in the C interface.

use std::ffi::c_char;

use serde::Deserialize;

use super::code::CallstackCode;
use super::error::CallstackError;
use super::stack::Callstack;
use super::text::{CallstackText, record, text, to_json};

/// What a conversation has cost.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewCost {
    conversation: String,
    cost_micro_usd: u64,
}

/// Sets what a frame may do and spend. Limits that are not given stay as they are.
///
/// - `frame`: the frame, in any status.
/// - `limits`: a JSON object with any of `"model"`, the host's name of the model; `"tools"`, the names of the tools besides those of the
///   stack, at most those of the frames above (`mcp__shop` stands for all tools of that server); `"maxTurns"` of the model in one prompt;
///   `"maxTokens"` of all requests and `"maxCostMicroUsd"`, what may be spent in millionths of a US dollar, both for the frame and all
///   frames below it together.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _SETTING for a limit of 0, _TOOLS_EXCEED; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_set_limits(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    limits: *const c_char,
    limits_len: usize,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = text("frame", frame, frame_len)?;
            Ok(stack.set_limits(frame, record("limits", limits, limits_len)?)?)
        })
    }
}

/// Records what a conversation of a frame has cost so far, for hosts that learn costs of conversations, and not of requests. It replaces what
/// was recorded of the conversation before. Until the next time, `callstack_usage` estimates the costs of the requests that come.
///
/// - `frame`: the frame, in any status.
/// - `cost`: a JSON object, `{"conversation": "ses_1", "costMicroUsd": 120000}`: the ID of the conversation, and the cost of all its requests so
///   far in millionths of a US dollar.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _EMPTY for the ID; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_record_cost(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    cost: *const c_char,
    cost_len: usize,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = text("frame", frame, frame_len)?;
            let NewCost { conversation, cost_micro_usd } = record("cost", cost, cost_len)?;
            Ok(stack.record_cost(frame, conversation, cost_micro_usd)?)
        })
    }
}

/// Returns what a frame may do and spend now, with the limits of all frames above it. A root that has none of its own has those of the host's
/// settings (`calls.limits`).
///
/// - `frame`: the frame.
/// - `out_allowance`: a JSON object, `{"frame": "f3", "model": "claude-sonnet-5", "tools": ["Read"], "maxTurns": 40,
///   "maxCostMicroUsd": 310000}`; what is not limited is left out, and the cost is what is left.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_allowance(
    stack: *const Callstack,
    frame: *const c_char,
    frame_len: usize,
    out_allowance: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_allowance, error, |stack| {
            Ok(to_json(&stack.allowance(text("frame", frame, frame_len)?)?))
        })
    }
}

/// Returns the first frame, from this one upwards, that has spent what it may, together with all frames below it.
///
/// - `frame`: the frame.
/// - `out_overspent`: `null`, or a JSON object, `{"frame": "f1", "reason": "its budget of 90000 tokens is spent: …"}`.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_overspent(
    stack: *const Callstack,
    frame: *const c_char,
    frame_len: usize,
    out_overspent: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_overspent, error, |stack| {
            Ok(to_json(&stack.overspent(text("frame", frame, frame_len)?)?))
        })
    }
}
