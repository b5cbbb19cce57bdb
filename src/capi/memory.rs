//! Agent memory in the C interface: chunks on the heap, registers, and runs.

use std::ffi::c_char;

use serde_json::json;

use super::code::CallstackCode;
use super::error::CallstackError;
use super::guard::guard;
use super::stack::Callstack;
use super::text::{CallstackText, optional_record, record, text, to_json};
use crate::frame::RunSettings;
use crate::tools;

/// Allocates a chunk, a named text, on the heap of a frame. The frame and all frames below it see the chunk until it is
/// freed. Contexts show its text verbatim, even after the conversation has been compacted.
///
/// - `frame`: the frame that owns the chunk.
/// - `chunk`: a JSON object, `{"name": "api-spec", "content": "add(a, b) -> int", "description": "signatures"}`:
///   - `name`: one line of 1 to 100 characters;
///   - `content`: up to 100,000 characters;
///   - `description`: one line of up to 300 characters; optional.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _EMPTY for the name, _TOO_LONG, _NOT_ONE_LINE, _CHUNK_EXISTS if the
/// frame, or an unfinished frame below it, already sees a chunk of that name; the storage errors.
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
            Ok(stack.heap(frame).allocate(record("chunk", chunk, chunk_len)?)?)
        })
    }
}

/// Replaces the content of a chunk.
///
/// - `frame`: a frame that sees the chunk.
/// - `name`: the name of the chunk.
/// - `content`: the new text, up to 100,000 characters; NULL is the empty text.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _UNKNOWN_CHUNK, _TOO_LONG; the storage errors.
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
            Ok(stack.heap(frame).write(name, text("content", content, content_len)?)?)
        })
    }
}

/// Removes a chunk from the heap.
///
/// - `frame`: a frame that sees the chunk.
/// - `name`: the name of the chunk.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _UNKNOWN_CHUNK; the storage errors.
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
            Ok(stack.heap(frame).free(text("name", name, name_len)?)?)
        })
    }
}

/// Returns all chunks that a frame sees, those of its root first.
///
/// - `frame`: the frame.
/// - `out_chunks`: a JSON array, `[{"handle": "f1", "chunk": {"name": "api-spec", "content": "…", "description":
///   "…", "allocatedAt": 1795293106903, "writtenAt": 1795293106903}}]`. `handle` is the frame that owns the chunk; an
///   empty description is absent. Chunks that were made in a run also have `allocatedStep` and `writtenStep`, the
///   numbers of the steps.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
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
            let chunks = stack.heap(text("frame", frame, frame_len)?).chunks()?;
            let listed = chunks.iter().map(|(handle, chunk)| json!({ "handle": handle, "chunk": chunk }));
            Ok(to_json(&listed.collect::<Vec<_>>()))
        })
    }
}

/// Sets registers of a frame: short notes of its agent. From then on the frame uses registers: its contexts show them,
/// and its children inherit some of them when they begin. `callstack_frame` returns them.
///
/// - `frame`: the frame.
/// - `registers`: a JSON object such as `{"R2_NEXT": "run the tests"}`, with any of `"R0_GOAL"` (up to 240 characters),
///   `"R1_PLAN"` (980), `"R2_NEXT"` (200), `"R3_PHASE"` (60), `"R4_CONSTRAINTS"` (720), `"R5_ASSUMPTIONS"` (480),
///   `"R6_OPEN_QUESTIONS"` (600), `"R7_STATUS"` (300). Longer values are cut. Other registers keep their values.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON; the storage errors.
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

/// Returns the tools with which an agent in a run manages its own memory. The host offers them to the model together
/// with its own tools; `callstack_advance_run` carries them out.
///
/// - `settings`: the settings of the run, as in `callstack_start_run`, such as `{"memory": "registers"}`; NULL for the
///   defaults. `callstack_run_status` returns those of a run that is resumed.
/// - `out_tools`: a JSON array as in `callstack_tools`.
///
/// Errors: _JSON.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_memory_tools(
    settings: *const c_char,
    settings_len: usize,
    out_tools: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        guard(out_tools, error, || {
            let settings: RunSettings = optional_record("settings", settings, settings_len)?;
            Ok(to_json(&tools::memory_tools(&settings)))
        })
    }
}

/// Starts a run: an agent that works on a task and manages its own memory. Its frames are frames of the tree, and its
/// conversations are stored, so the run can continue after the death of the process.
///
/// The host then repeats: call `callstack_advance_run`, do what it returns, and report the result with
/// `callstack_run_reply` or `callstack_run_answer`.
///
/// - `run`: a JSON object, `{"task": "Build a calculator", "settings": {"memory": "registers", "maxDepth": 5,
///   "heapCeiling": 5000, "sharedResults": true, "resultsBudget": 1500, "shortPrompt": false}, "title": "Calculator", "sessionID": "run_1"}`.
///   Only `task` is required.
///   - `memory`: `"heap"` (default: frames and heap) or `"registers"` (registers as well);
///   - `maxDepth`: maximum depth of a frame; the root has depth 0; default 5;
///   - `heapCeiling`: size of the heap, in characters, above which the agent is warned; default 5000;
///   - `sharedResults`: whether a frame begins with the criteria of the frames above it and the results of the finished
///     frames beside it and them, and the agent can record artifacts and decisions and read the logs of frames; default
///     true;
///   - `resultsBudget`: maximum size of what a frame sees of others, in tokens; default 1500;
///   - `shortPrompt`: whether the system prompt has the rules alone, without examples and common mistakes; default false;
///   - `title`: title of the root frame; default: the beginning of the task;
///   - `sessionID`: ID of the root frame; default: a generated ID;
///   - `tools`: the agent's other tools, described in Markdown: a section of the system prompt, up to 100,000 characters,
///     kept with the run; default: none.
/// - `out_handle`: the handle of the root frame. It is the argument `run` of the functions below.
///
/// Errors: _JSON, _EMPTY for the task, the title or the ID, _DUPLICATE_ID, _TOO_LONG for the ID or the tools, _FULL; the storage errors.
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

/// Carries out the tool calls of the model that concern memory, until the run needs the host, and returns what it
/// needs. Until the host has reported that, a repeated call returns the same.
///
/// - `run`: the root frame of the run.
/// - `out_next`: a JSON object, one of
///   - `{"next": "ask", "step": 3, "frame": "f2", "depth": 1, "system": "…", "messages": [{"role": "user", "text":
///     "…"}, {"role": "assistant", "text": "", "calls": [{"id": "call_1", "name": "read_file", "arguments": "{…}"}]},
///     {"role": "tool", "call": "call_1", "name": "read_file", "text": "…"}]}`: ask a model with this prompt, and
///     report its answer with `callstack_run_reply`. A tool message about a failed tool call has `"isError": true`;
///   - `{"next": "call", "id": "call_1", "name": "read_file", "arguments": "{…}"}`: carry out this tool call of the
///     model, and report the answer with `callstack_run_answer`;
///   - `{"next": "over", "status": "completed", "results": "…"}`: the run is finished.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NO_RUN; _OUT_OF_TURN if another caller advances the run at the same time;
/// the storage errors. Tool calls that were carried out before an error stay committed.
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

/// Returns all runs, finished or not, in the order in which they were started.
///
/// - `out_runs`: a JSON array of the handles of their root frames, `["f1", "f7"]`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_runs(
    stack: *const Callstack,
    out_runs: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::read(stack, out_runs, error, |stack| Ok(to_json(&stack.runs()))) }
}

/// Returns the position of a run.
///
/// - `run`: the root frame of the run.
/// - `out_status`: a JSON object, `{"settings": {"memory": "heap", "maxDepth": 5, "heapCeiling": 5000, "sharedResults":
///   true, "resultsBudget": 1500, "shortPrompt": false}, "steps": 7, "frame": "f3", "depth": 1, "repeats": 1}`: the settings; how many times a
///   model has answered; the current frame and its depth; how many of the last steps in a row made the same tool calls.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NO_RUN.
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
        Callstack::read(stack, out_status, error, |stack| Ok(to_json(&stack.run(text("run", run, run_len)?).status()?)))
    }
}

/// Reports the answer of the model to the prompt of `callstack_advance_run`.
///
/// - `run`: the root frame of the run.
/// - `reply`: a JSON object, `{"text": "…", "calls": [{"id": "call_1", "name": "heap_free", "arguments":
///   "{\"name\": \"api\"}"}], "cut": false}`. All keys are optional. `arguments` is the text that the model wrote.
///   `cut`: true if the answer was cut at its maximum length; its tool calls are then not carried out.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _NO_RUN, _OUT_OF_TURN if tool calls wait for answers or the run is
/// over; the storage errors.
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
            Ok(stack.run(run).reply(record("reply", reply, reply_len)?)?)
        })
    }
}

/// Adds a message of the user to the conversation of a run's current frame, for example to steer its agent. The next prompt
/// has it behind all other messages, also behind the answers to tool calls that still wait for one.
///
/// - `run`: the root frame of the run.
/// - `message`: the text. Must not be empty.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NO_RUN, _EMPTY for the message, _OUT_OF_TURN if the run is over; the storage
/// errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_run_tell(
    stack: *mut Callstack,
    run: *const c_char,
    run_len: usize,
    message: *const c_char,
    message_len: usize,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let run = text("run", run, run_len)?;
            Ok(stack.run(run).tell(text("message", message, message_len)?)?)
        })
    }
}

/// Reports the answer to the tool call that `callstack_advance_run` has returned.
///
/// - `run`: the root frame of the run.
/// - `call`: the ID of the tool call, such as `call_1`.
/// - `answer`: the answer as a text for the model; NULL is the empty text.
/// - `is_error`: 0 if the tool call was carried out; another number if it failed and the answer is the reason.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NO_RUN, _OUT_OF_TURN if another tool call is next or the run is over; the
/// storage errors.
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
            Ok(stack.run(run).answer(call, text("answer", answer, answer_len)?, is_error != 0)?)
        })
    }
}
