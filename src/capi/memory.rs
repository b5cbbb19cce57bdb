//! What agents remember, across the border: chunks on the heap, registers, and runs.

use std::ffi::c_char;

use serde_json::json;

use super::code::CallstackCode;
use super::error::CallstackError;
use super::guard::guard;
use super::stack::Callstack;
use super::text::{CallstackText, record, text, to_json};
use crate::error::Error;
use crate::frame::MemoryModel;
use crate::tools;

/// Puts a new chunk on the heap of a frame. It and all frames below it see the chunk until it is freed: their
/// contexts show it word for word, whatever becomes of the conversation.
///
/// - `chunk`: a JSON object, `{"name": "api-spec", "content": "add(a, b) -> int", "description":
///   "signatures"}`; the description is optional. A name has up to 100 characters, a description 300, both on
///   one line, a content 100,000.
///
/// Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _EMPTY, _TOO_LONG, _NOT_ONE_LINE;
/// _CHUNK_EXISTS if a chunk of that name is in sight; those of the disk.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_allocate_chunk(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    chunk: *const c_char,
    chunk_len: usize,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = text("frame", frame, frame_len)?;
            Ok(stack.allocate_chunk(frame, record("chunk", chunk, chunk_len)?)?)
        })
    }
}

/// Replaces the content of a chunk that a frame sees.
///
/// Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _UNKNOWN_CHUNK, _TOO_LONG; those of the disk.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_write_chunk(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    name: *const c_char,
    name_len: usize,
    content: *const c_char,
    content_len: usize,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = text("frame", frame, frame_len)?;
            let name = text("name", name, name_len)?;
            Ok(stack.write_chunk(frame, name, text("content", content, content_len)?)?)
        })
    }
}

/// Takes a chunk that a frame sees off the heap.
///
/// Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _UNKNOWN_CHUNK; those of the disk.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_free_chunk(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    name: *const c_char,
    name_len: usize,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = text("frame", frame, frame_len)?;
            Ok(stack.free_chunk(frame, text("name", name, name_len)?)?)
        })
    }
}

/// All chunks that a frame sees, those of its root first.
///
/// - `out_chunks`: a JSON array, `[{"handle": "f1", "chunk": {"name": "api-spec", "content": "…", "description":
///   "…", "allocatedAt": 1795293106903, "writtenAt": 1795293106903}}]`; the handle is that of the frame that the
///   chunk belongs to. Chunks of runs have `allocatedStep` and `writtenStep`, too.
///
/// Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_chunks(
    stack: *const Callstack,
    frame: *const c_char,
    frame_len: usize,
    out_chunks: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_chunks, error, |stack| {
            let chunks = stack.chunks(text("frame", frame, frame_len)?)?;
            let listed = chunks.iter().map(|(handle, chunk)| json!({ "handle": handle, "chunk": chunk }));
            Ok(to_json(&listed.collect::<Vec<_>>()))
        })
    }
}

/// Puts values into registers of a frame, which uses them from then on: its contexts show them, and its children
/// inherit some when they begin. `callstack_frame` tells what they hold.
///
/// - `registers`: a JSON object with any of `"R0_GOAL"` (up to 240 characters), `"R1_PLAN"` (980), `"R2_NEXT"`
///   (200), `"R3_PHASE"` (60), `"R4_CONSTRAINTS"` (720), `"R5_ASSUMPTIONS"` (480), `"R6_OPEN_QUESTIONS"` (600),
///   `"R7_STATUS"` (300). What is too long is cut. Registers that are not named stay.
///
/// Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON; those of the disk.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_update_registers(
    stack: *mut Callstack,
    frame: *const c_char,
    frame_len: usize,
    registers: *const c_char,
    registers_len: usize,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = text("frame", frame, frame_len)?;
            Ok(stack.update_registers(frame, record("registers", registers, registers_len)?)?)
        })
    }
}

/// The tools by which an agent in a run manages its own memory, for hosts to offer to the model beside their own.
///
/// - `memory`: `heap` or `registers`, as in `callstack_start_run`.
/// - `out_tools`: a JSON array as of `callstack_tools`.
///
/// Errors: CALLSTACK_ERROR_SETTING for another memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_memory_tools(
    memory: *const c_char,
    memory_len: usize,
    out_tools: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        guard(out_tools, error, || {
            let memory = match text("memory", memory, memory_len)? {
                "heap" => MemoryModel::Heap,
                "registers" => MemoryModel::Registers,
                value => {
                    let (name, value) = ("memory".to_owned(), value.to_owned());
                    return Err(Error::Setting { name, value, expected: "heap or registers" }.into());
                }
            };
            Ok(to_json(&tools::memory_tools(memory)))
        })
    }
}

/// Starts a run: an agent at work that manages its own memory. Its frames are frames of the tree, and all that is
/// said in them is kept, so that it can go on after the death of the process.
///
/// - `run`: a JSON object, `{"task": "Build a calculator", "settings": {"memory": "registers", "maxDepth": 5,
///   "heapCeiling": 5000}, "title": "Calculator", "sessionID": "run_1", "tools": "# Tools\n- search(query): …"}`, all but
///   the task optional. `memory` is `"heap"` (the default) or `"registers"`. `tools`: the agent's other tools, in
///   Markdown; a section of the system prompt, up to 100,000 characters, kept with the run.
/// - `out_handle`: the handle of its root frame, which names the run. May be NULL.
///
/// Errors: CALLSTACK_ERROR_JSON, _EMPTY, _DUPLICATE_ID, _TOO_LONG; those of the disk.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_start_run(
    stack: *mut Callstack,
    run: *const c_char,
    run_len: usize,
    out_handle: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_handle, error, |stack| {
            Ok(stack.start_run(record("run", run, run_len)?)?.to_string())
        })
    }
}

/// Carries out the calls about memory that are next, and tells what the run needs of the host then. It says the
/// same until that is done.
///
/// - `out_next`: a JSON object. `{"next": "ask", "step": 3, "frame": "f2", "depth": 1, "system": "…", "messages":
///   [{"role": "user", "text": "…"}, {"role": "assistant", "text": "", "calls": [{"id": "call_1", "name":
///   "read_file", "arguments": "{…}"}]}, {"role": "tool", "call": "call_1", "name": "read_file", "text": "…"}]}`:
///   ask a model, and bring what it says with `callstack_run_reply`. `{"next": "call", "id": "call_1", "name":
///   "read_file", "arguments": "{…}"}`: do that, and bring the answer with `callstack_run_answer`. `{"next":
///   "over", "status": "completed", "results": "…"}`: nothing more.
///
/// Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NO_RUN; those of the disk.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_advance_run(
    stack: *mut Callstack,
    run: *const c_char,
    run_len: usize,
    out_next: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_next, error, |stack| {
            Ok(to_json(&tools::advance_run(stack, text("run", run, run_len)?)?))
        })
    }
}

/// Where a run is.
///
/// - `out_status`: a JSON object, `{"settings": {"memory": "heap", "maxDepth": 5, "heapCeiling": 5000}, "steps": 7,
///   "frame": "f3", "depth": 1, "repeats": 1}`; `repeats` counts the last steps in a row that made the same calls.
///
/// Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NO_RUN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_run_status(
    stack: *const Callstack,
    run: *const c_char,
    run_len: usize,
    out_status: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_status, error, |stack| Ok(to_json(&stack.run_status(text("run", run, run_len)?)?)))
    }
}

/// Brings what the model has said.
///
/// - `reply`: a JSON object, `{"text": "…", "calls": [{"id": "call_1", "name": "heap_free", "arguments":
///   "{\"name\": \"api\"}"}]}`, both optional. Arguments are a text, as the model wrote it.
///
/// Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _NO_RUN; _OUT_OF_TURN if calls wait for answers or the
/// run is over; those of the disk.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_run_reply(
    stack: *mut Callstack,
    run: *const c_char,
    run_len: usize,
    reply: *const c_char,
    reply_len: usize,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let run = text("run", run, run_len)?;
            Ok(stack.run_reply(run, record("reply", reply, reply_len)?)?)
        })
    }
}

/// Brings the answer to the call that `callstack_advance_run` has told of.
///
/// - `call`: its ID.
/// - `is_error`: not 0 if the answer says why nothing was done.
///
/// Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NO_RUN; _OUT_OF_TURN if another call is next; those of the
/// disk.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_run_answer(
    stack: *mut Callstack,
    run: *const c_char,
    run_len: usize,
    call: *const c_char,
    call_len: usize,
    answer: *const c_char,
    answer_len: usize,
    is_error: i32,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let run = text("run", run, run_len)?;
            let call = text("call", call, call_len)?;
            Ok(stack.run_answer(run, call, text("answer", answer, answer_len)?, is_error != 0)?)
        })
    }
}
