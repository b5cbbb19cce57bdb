//! Agent memory in the C interface: chunks on the heap, registers, and runs.

use super::code::CallstackCode;
use super::error::CallstackError;
use super::record::{ChunkContent, RunAnswer, VisibleChunk};
use super::stack::Callstack;
use super::text::{CallstackText, CallstackView, to_json};
use crate::tools;

/// Allocates a chunk, a named text, on the heap of a frame. The frame and all frames below it see the chunk
/// until it is freed. Contexts show its text verbatim, even after the conversation was compacted.
///
/// - `frame` (FrameRef): the frame that owns the chunk.
/// - `chunk` (NewChunk): the chunk.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _EMPTY for the name, _TOO_LONG, _NOT_ONE_LINE,
/// _CHUNK_EXISTS if the frame, or an unfinished frame below it, already sees a chunk of that name; the
/// storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_allocate_chunk(
    stack: *mut Callstack,
    frame: CallstackView,
    chunk: CallstackView,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = frame.text("frame")?;
            Ok(stack.heap(frame).allocate(chunk.record("chunk")?)?)
        })
    }
}

/// Replaces the content of a chunk.
///
/// - `frame` (FrameRef): a frame that sees the chunk.
/// - `content` (ChunkContent): the name of the chunk, and its new content.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _UNKNOWN_CHUNK (the details hold the names that are
/// `known`), _TOO_LONG; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_write_chunk(
    stack: *mut Callstack,
    frame: CallstackView,
    content: CallstackView,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = frame.text("frame")?;
            let ChunkContent { name, content } = content.record("content")?;
            Ok(stack.heap(frame).write(name, content)?)
        })
    }
}

/// Removes a chunk from the heap.
///
/// - `frame` (FrameRef): a frame that sees the chunk.
/// - `name` (text): the name of the chunk.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _UNKNOWN_CHUNK (the details hold the names that are `known`);
/// the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_free_chunk(
    stack: *mut Callstack,
    frame: CallstackView,
    name: CallstackView,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = frame.text("frame")?;
            Ok(stack.heap(frame).free(name.text("name")?)?)
        })
    }
}

/// Returns all chunks that a frame sees. The chunks of its root come first.
///
/// - `frame` (FrameRef): the frame.
/// - `out_chunks` (VisibleChunk[]): each chunk with the frame that owns it.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_chunks(
    stack: *const Callstack,
    frame: CallstackView,
    out_chunks: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_chunks, error, |stack| {
            let chunks = stack.heap(frame.text("frame")?).chunks()?;
            let listed = chunks.iter().map(|(handle, chunk)| VisibleChunk { handle: *handle, chunk });
            Ok(to_json(&listed.collect::<Vec<_>>()))
        })
    }
}

/// Sets registers of a frame: short notes of its agent. From then on the frame uses registers: its contexts
/// show them, and its children inherit some of them when they begin. `callstack_frame` returns them. Values
/// that are too long are cut. Other registers keep their values.
///
/// - `frame` (FrameRef): the frame.
/// - `registers` (Registers): the registers that change.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_update_registers(
    stack: *mut Callstack,
    frame: CallstackView,
    registers: CallstackView,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = frame.text("frame")?;
            Ok(stack.update_registers(frame, registers.record("registers")?)?)
        })
    }
}

/// Starts a run: an agent that works on a task and manages its own memory. Its frames are frames of the tree,
/// and its conversations are stored, so the run can continue after the death of the process.
///
/// The host then repeats: it calls `callstack_advance_run`, does what the answer says, and reports the
/// outcome with `callstack_run_reply` or `callstack_run_answer`.
///
/// - `run` (NewRun): the task and the settings. Only the task is required.
/// - `out_handle` (Handle): the handle of the root frame. It is the argument `run` of the functions below.
///
/// Errors: _JSON, _EMPTY for the task, the title or the ID, _DUPLICATE_ID, _TOO_LONG for the ID or the tools,
/// _FULL; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_start_run(
    stack: *mut Callstack,
    run: CallstackView,
    out_handle: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::write(stack, out_handle, error, |stack| Ok(stack.start_run(run.record("run")?)?.to_string())) }
}

/// Carries out the tool calls of the model that concern memory, until the run needs the host, and returns
/// what it needs. Until the host has reported that, another call returns the same.
///
/// - `run` (FrameRef): the root frame of the run.
/// - `out_next` (Next): what the run needs: the answer of a model to a prompt (report it with
///   `callstack_run_reply`), the answer to a tool call (report it with `callstack_run_answer`), or nothing,
///   because the run is over.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NO_RUN if the frame is not the root of a run; _OUT_OF_TURN if
/// another caller advances the run at the same time; the storage errors. Tool calls that were carried out
/// before an error stay committed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_advance_run(
    stack: *mut Callstack,
    run: CallstackView,
    out_next: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_next, error, |stack| Ok(to_json(&tools::advance_run(stack, run.text("run")?)?)))
    }
}

/// Returns all runs, finished or not, in the order in which they were started.
///
/// - `out_runs` (Handle[]): the handles of their root frames.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_runs(
    stack: *const Callstack,
    out_runs: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, out_runs, error, |stack| {
            Ok(to_json(&stack.look(|tree| tree.runs().collect::<Vec<_>>())))
        })
    }
}

/// Returns the settings and the progress of a run.
///
/// - `run` (FrameRef): the root frame of the run.
/// - `out_status` (RunStatus): the settings and the progress.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NO_RUN if the frame is not the root of a run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_run_status(
    stack: *const Callstack,
    run: CallstackView,
    out_status: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::read(stack, out_status, error, |stack| Ok(to_json(&stack.run(run.text("run")?).status()?))) }
}

/// Reports the answer of the model to the prompt of `callstack_advance_run`.
///
/// - `run` (FrameRef): the root frame of the run.
/// - `reply` (Reply): the text and the tool calls of the model.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _NO_RUN, _OUT_OF_TURN if tool calls wait for answers or
/// the run is over; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_run_reply(
    stack: *mut Callstack,
    run: CallstackView,
    reply: CallstackView,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let run = run.text("run")?;
            Ok(stack.run(run).reply(reply.record("reply")?)?)
        })
    }
}

/// Adds a message of the user to the conversation of a run's current frame, for example to steer its agent.
/// The next prompt has it after all other messages, also after the answers to tool calls that still wait for
/// one.
///
/// - `run` (FrameRef): the root frame of the run.
/// - `message` (text): the message. Must not be empty.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NO_RUN, _EMPTY for the message, _OUT_OF_TURN if the run is
/// over; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_run_tell(
    stack: *mut Callstack,
    run: CallstackView,
    message: CallstackView,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let run = run.text("run")?;
            Ok(stack.run(run).tell(message.text("message")?)?)
        })
    }
}

/// Reports the answer to the tool call that `callstack_advance_run` has returned.
///
/// - `run` (FrameRef): the root frame of the run.
/// - `answer` (RunAnswer): the call, and its answer.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _NO_RUN, _OUT_OF_TURN if another tool call is next or the
/// run is over; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_run_answer(
    stack: *mut Callstack,
    run: CallstackView,
    answer: CallstackView,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let run = run.text("run")?;
            let RunAnswer { call, answer, is_error } = answer.record("answer")?;
            Ok(stack.run(run).answer(&call, &answer, is_error)?)
        })
    }
}
