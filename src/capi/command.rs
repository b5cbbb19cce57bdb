//! Commands of the C interface: the functions that change a tree.

use super::code::CallstackCode;
use super::error::CallstackError;
use super::record::{Block, Completion, Imported, NewIdentity, NextFrame, Placeholder, Pop, ResultsSoFar};
use super::stack::Callstack;
use super::text::{CallstackText, CallstackView, to_json};
use crate::frame::FrameEdit;
use crate::import::{self, PlanUpdate};

/// Makes a new frame with the status `in_progress`, and makes it the active frame.
///
/// - `frame` (NewFrame): the frame. Only the title is required.
/// - `out_handle` (Handle): the handle of the frame, such as `f3`.
///
/// Errors: _JSON, _DUPLICATE_ID, _EMPTY for the title or the ID, _TOO_LONG for the ID or the task,
/// _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _DEPENDENCY, _PARENT_CLOSED, _PARENT_PLANNED, _SETTING and _TOOLS_EXCEED
/// for the limits, _FULL; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_push(
    stack: *mut Callstack,
    frame: CallstackView,
    out_handle: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::write(stack, out_handle, error, |stack| Ok(stack.push(frame.record("frame")?)?.to_string())) }
}

/// Makes a new frame with the status `planned`. It begins with `callstack_activate` or `callstack_begin`.
///
/// - `frame` (NewFrame): the frame. Its parent may be planned too.
/// - `out_handle` (Handle): the handle of the frame.
///
/// Errors: _JSON, _DUPLICATE_ID, _EMPTY for the title or the ID, _TOO_LONG for the ID or the task,
/// _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _DEPENDENCY, _PARENT_CLOSED, _SETTING and _TOOLS_EXCEED for the limits,
/// _FULL; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_plan(
    stack: *mut Callstack,
    frame: CallstackView,
    out_handle: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::write(stack, out_handle, error, |stack| Ok(stack.plan(frame.record("frame")?)?.to_string())) }
}

/// Makes several planned children of one frame in one commit: all of them or none.
///
/// - `parent` (FrameRef): the frame above the children.
/// - `children` (NewFrame[]): the children. Their own `parent` and `caller` are ignored. A child may depend
///   on any other child of the list, by its `sessionID` or its title.
/// - `out_handles` (Handle[]): the handles of the children.
///
/// Errors: those of `callstack_plan` for any of the children; the message says which child: _JSON,
/// _DUPLICATE_ID, _EMPTY, _TOO_LONG, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _DEPENDENCY, _PARENT_CLOSED, _SETTING,
/// _TOOLS_EXCEED, _FULL; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_plan_children(
    stack: *mut Callstack,
    parent: CallstackView,
    children: CallstackView,
    out_handles: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_handles, error, |stack| {
            let parent = parent.text("parent")?;
            Ok(to_json(&stack.plan_children(parent, children.list("children")?)?))
        })
    }
}

/// Returns the frame of a session. If the session has no frame, makes a placeholder: a frame with the status
/// `in_progress`, whose title and criteria `callstack_identify` can set later. A placeholder becomes the
/// active frame if no frame is active.
///
/// - `session` (text): the whole ID of the session.
/// - `placeholder` (Placeholder, optional): what a placeholder is made with.
/// - `out_handle` (Handle): the handle of the frame.
///
/// Errors: _EMPTY and _TOO_LONG for the ID, _JSON, _UNKNOWN_FRAME and _AMBIGUOUS_FRAME for the parent, _FULL;
/// the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_ensure(
    stack: *mut Callstack,
    session: CallstackView,
    placeholder: CallstackView,
    out_handle: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_handle, error, |stack| {
            let session = session.text("session")?;
            let Placeholder { title, parent } = placeholder.optional_record("placeholder")?;
            Ok(stack.ensure(session, title.as_deref(), parent)?.to_string())
        })
    }
}

/// Sets the title and the criteria of a placeholder for good. This works once for each frame. If a
/// placeholder already has criteria, they are also set for good when a frame is pushed, planned or imported
/// below it.
///
/// - `frame` (FrameRef): the frame.
/// - `identity` (Identity): the title and the criteria.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _EMPTY for the title, _IDENTITY_FIXED if the frame is not
/// a placeholder; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_identify(
    stack: *mut Callstack,
    frame: CallstackView,
    identity: CallstackView,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = frame.text("frame")?;
            Ok(stack.identify(frame, identity.record::<NewIdentity>("identity")?.into())?)
        })
    }
}

/// Edits a planned frame: its words, its priority and dependencies, its parent, and its order among its
/// siblings. The frames below it move with it. A person (`callstack_as_actor`) can also correct the words and
/// the priority of a frame that is `in_progress` or `blocked`.
///
/// - `frame` (FrameRef): the frame.
/// - `edit` (FrameEdit): what changes. Every key is optional.
///
/// Errors: _NOT_PLANNED if the frame has begun or ended and this is not a correction by a person; _TOO_LONG
/// for the task; _JSON, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME; _EMPTY for the title; _PARENT_CLOSED and
/// _PARENT_CIRCLE for the parent; _RETRY_LINK if a next attempt would get another parent; _NOT_SIBLING for
/// `before`; _DEPENDENCY if a frame would wait for itself, or for a frame above or below it; the storage
/// errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_edit(
    stack: *mut Callstack,
    frame: CallstackView,
    edit: CallstackView,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = frame.text("frame")?;
            Ok(stack.edit(frame, edit.record::<FrameEdit>("edit")?)?)
        })
    }
}

/// Begins a planned frame: sets its status to `in_progress` and makes it the active frame. It does not check
/// what the frame depends on: `callstack_begin` does.
///
/// - `frame` (FrameRef): a frame with the status `planned`.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _TRANSITION if the frame is not planned, _NOT_READY if it is not
/// work, _HELD; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_activate(
    stack: *mut Callstack,
    frame: CallstackView,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::write(stack, (), error, |stack| Ok(stack.activate(frame.text("frame")?)?)) }
}

/// Begins a planned frame as `callstack_activate` does, if it has what it needs.
///
/// - `frame` (FrameRef): a frame with the status `planned`.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _TRANSITION if the frame is not planned, _NOT_READY if something
/// keeps it from beginning (the details hold `dependencies`), _HELD; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_begin(
    stack: *mut Callstack,
    frame: CallstackView,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::write(stack, (), error, |stack| Ok(stack.begin(frame.text("frame")?)?)) }
}

/// Gives a frame another ID. Its handle stays the same. Its file, and its log if the library keeps the log,
/// are renamed.
///
/// - `frame` (FrameRef): the frame.
/// - `session` (text): the new ID. Must not be empty.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY and _TOO_LONG for the ID, _DUPLICATE_ID if another frame
/// has the ID; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_replace_id(
    stack: *mut Callstack,
    frame: CallstackView,
    session: CallstackView,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = frame.text("frame")?;
            Ok(stack.replace_id(frame, session.text("session")?)?)
        })
    }
}

/// Ends the work on a frame and sets its results. If the frame or a frame below it was active, its nearest
/// ancestor that is `in_progress` or `blocked` becomes active; if there is none, no frame is active. A root
/// can be popped too.
///
/// - `frame` (FrameRef): the frame, `in_progress` or `blocked`.
/// - `pop` (Pop): the new status, the results, and the frame that begins next.
/// - `out_popped` (Popped): the frame, its parent, and what is left below it.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _TRANSITION if the status of the frame does not allow it
/// or `next` is not planned, _NOT_READY if `next` depends on a frame that is not completed then, _HELD; the
/// storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_pop(
    stack: *mut Callstack,
    frame: CallstackView,
    pop: CallstackView,
    out_popped: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_popped, error, |stack| {
            let frame = frame.text("frame")?;
            let pop: Pop = pop.record("pop")?;
            let results = pop.results();
            Ok(to_json(&match pop.next {
                Some(NextFrame::Frame(next)) => stack.pop_and_begin(frame, pop.status, results, Some(next))?,
                Some(NextFrame::First(true)) => stack.pop_and_begin(frame, pop.status, results, None)?,
                Some(NextFrame::First(false)) | None => stack.pop(frame, pop.status, results)?,
            }))
        })
    }
}

/// Completes a frame whose work is done. Unlike `callstack_pop`, it refuses while frames below the frame are
/// open or planned.
///
/// - `frame` (FrameRef): the frame, `in_progress` or `blocked`.
/// - `completion` (Completion): the results, and the frame that begins next.
/// - `out_popped` (Popped): the frame and its parent.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _PARTS_LEFT if frames below it are open or planned,
/// _TRANSITION if the status of the frame does not allow it or `next` is not planned, _NOT_READY if `next`
/// depends on a frame that is not completed then, _HELD; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_complete(
    stack: *mut Callstack,
    frame: CallstackView,
    completion: CallstackView,
    out_popped: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_popped, error, |stack| {
            let frame = frame.text("frame")?;
            let completion: Completion = completion.record("completion")?;
            let results = completion.results();
            Ok(to_json(&stack.complete(frame, results, completion.next)?))
        })
    }
}

/// Blocks a frame: it waits for something from outside. The active frame changes as in `callstack_pop`. The
/// contexts of its parent, of its siblings and of the frames that depend on it show the question.
///
/// - `frame` (FrameRef): the frame, `in_progress` or `blocked`.
/// - `block` (Block): the question, and the results so far.
/// - `out_popped` (Popped): the frame, its parent, and what is left below it.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _TRANSITION if the status of the frame does not allow it,
/// _HELD; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_block(
    stack: *mut Callstack,
    frame: CallstackView,
    block: CallstackView,
    out_popped: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_popped, error, |stack| {
            let frame = frame.text("frame")?;
            let block: Block = block.record("block")?;
            let results = block.results();
            Ok(to_json(&stack.block(frame, block.question, results)?))
        })
    }
}

/// Answers a blocked frame. The frame stays blocked until it is resumed: by a host that runs its session,
/// when it calls `callstack_poll`; by the agent's tool `stack_frame_activate`; or by `callstack_resume`. The
/// contexts of the frame show the answer until the frame is finished. A second answer to one question is
/// added to the first. A frame that waits before it has begun, as an import leaves it, becomes planned with
/// the answer; if it is not work, it becomes completed.
///
/// - `frame` (FrameRef): the frame, `blocked`.
/// - `answer` (text): the answer. Must not be empty.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NOT_BLOCKED, _EMPTY for the answer; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_answer(
    stack: *mut Callstack,
    frame: CallstackView,
    answer: CallstackView,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| Ok(stack.answer(frame.text("frame")?, answer.text("answer")?)?))
    }
}

/// Resumes an open frame: a blocked frame becomes `in_progress` again. The frame becomes the active frame,
/// and an actor with a name (`callstack_as_actor`) becomes its holder, so of several actors one resumes it.
///
/// - `frame` (FrameRef): the frame, `blocked` or `in_progress`.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _TRANSITION if the frame is neither `blocked` nor `in_progress`,
/// _HELD; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_resume(
    stack: *mut Callstack,
    frame: CallstackView,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::write(stack, (), error, |stack| Ok(stack.resume(frame.text("frame")?)?)) }
}

/// Stops the frames that hosts run or workers hold, from a frame downwards, also those of other processes:
/// the frames become blocked, and the reason is what they wait for. A running host notices that at its next
/// poll: it aborts their sessions, keeps what the agents have said last as results so far, and answers the
/// callers. The frames can be resumed like any other blocked frame.
///
/// - `frame` (FrameRef): this frame and the frames below it.
/// - `reason` (text): for those who resume the frames. Must not be empty.
/// - `out_stopped` (Handle[]): the stopped frames.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the reason; _HELD if another actor works itself in
/// the frame or below it; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_stop(
    stack: *mut Callstack,
    frame: CallstackView,
    reason: CallstackView,
    out_stopped: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_stopped, error, |stack| {
            let frame = frame.text("frame")?;
            Ok(to_json(&stack.stop(frame, reason.text("reason")?)?))
        })
    }
}

/// Stops all frames that hosts run or workers hold: see `callstack_stop`. The frames in which other actors work
/// themselves stay as they are, if an actor with a name gives the command.
///
/// - `reason` (text): for those who resume the frames. Must not be empty.
/// - `out_stopped` (Handle[]): the stopped frames.
///
/// Errors: _EMPTY for the reason; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_stop_all(
    stack: *mut Callstack,
    reason: CallstackView,
    out_stopped: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_stopped, error, |stack| Ok(to_json(&stack.stop_all(reason.text("reason")?)?)))
    }
}

/// Retries a failed or blocked frame: makes a planned frame beside it, with the same title, criteria and
/// dependencies, as its next attempt. A blocked frame fails; it keeps its results and its question. The
/// planned frames below it are invalidated. The context of the new frame shows why the earlier attempts
/// failed. All other contexts show the newest attempt only, and frames that depend on any attempt wait for
/// the newest.
///
/// - `frame` (FrameRef): the frame, `failed` or `blocked`.
/// - `note` (text, optional): what must be done differently, or the answer to what the frame waits for.
/// - `out_retried` (Retried): the new frame.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NOT_RETRIABLE if the frame is neither failed nor blocked or has
/// a next attempt already, _PARENT_CLOSED, _FULL, _HELD; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_retry(
    stack: *mut Callstack,
    frame: CallstackView,
    note: CallstackView,
    out_retried: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_retried, error, |stack| {
            let note = note.optional_text("note")?.map(str::to_owned);
            Ok(to_json(&stack.retry(frame.text("frame")?, note)?))
        })
    }
}

/// Records that the conversation of the frame's parent has received the results of the frame, for example as
/// the answer to a tool call. Contexts of the parent then do not repeat these results, until
/// `callstack_forget` of the parent (with `"finishedChildren": "forgotten"`, the default). A host that
/// reports events needs not call it for the calls that the library answers.
///
/// - `frame` (FrameRef): the frame, `completed` or `failed`.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NOT_FINISHED; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_deliver(
    stack: *mut Callstack,
    frame: CallstackView,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::write(stack, (), error, |stack| Ok(stack.deliver(frame.text("frame")?)?)) }
}

/// Records that the conversation of a frame was compacted or has started from the beginning, so that it no
/// longer holds the results of the frame's children. The frame's contexts then show these results. A host
/// that reports events needs not call it after a compaction.
///
/// - `frame` (FrameRef): the frame.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_forget(
    stack: *mut Callstack,
    frame: CallstackView,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::write(stack, (), error, |stack| Ok(stack.forget(frame.text("frame")?)?)) }
}

/// Records the results so far of an open frame and leaves its status unchanged, for example before its
/// conversation is compacted. The context of the frame itself shows them. Frames below it see them from the
/// next push or change of a status on.
///
/// - `frame` (FrameRef): the frame, `in_progress` or `blocked`.
/// - `results` (ResultsSoFar): the results so far.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _RESULTS_FIXED if the frame is not open, _EMPTY for the
/// results; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_summarize(
    stack: *mut Callstack,
    frame: CallstackView,
    results: CallstackView,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = frame.text("frame")?;
            let results: ResultsSoFar = results.record("results")?;
            Ok(stack.summarize(frame, results.results())?)
        })
    }
}

/// Reopens a completed frame that turned out to be wrong: it is `in_progress` again and becomes the active
/// frame. Its results become its results so far, and its context shows the reason.
///
/// - `frame` (FrameRef): the frame, `completed`.
/// - `reason` (text): what is wrong. Must not be empty.
/// - `out_reopened` (Reopened): the frame, and the frames that depend on it.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the reason, _TRANSITION if the frame is not
/// completed, _PARENT_CLOSED if a frame above it has ended, _PARENT_PLANNED if one is planned, _HELD; the
/// storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_reopen(
    stack: *mut Callstack,
    frame: CallstackView,
    reason: CallstackView,
    out_reopened: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_reopened, error, |stack| {
            let frame = frame.text("frame")?;
            Ok(to_json(&stack.reopen(frame, reason.text("reason")?)?))
        })
    }
}

/// Takes back the last command of the person who gives this command (`callstack_as_actor` with the kind
/// `person`), if nothing has been built on it. Without an actor, it takes back the last command of the
/// persons who have given no name. What the command has added is invalidated. The last 20 commands of persons
/// are remembered.
///
/// - `out_undone` (Undone): what was taken back.
///
/// Errors: _NOTHING_TO_UNDO, _NOT_UNDONE (the details hold the reason); the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_undo(
    stack: *mut Callstack,
    out_undone: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::write(stack, out_undone, error, |stack| Ok(to_json(&stack.undo()?))) }
}

/// Takes a frame and the planned frames below it out of the plan: sets their status to `invalidated`. If the
/// frame was active, its nearest ancestor that is `in_progress` or `blocked` becomes active.
///
/// - `frame` (FrameRef): the frame, in any status except `invalidated`.
/// - `reason` (text): the reason, for people and agents. Must not be empty.
/// - `out_invalidated` (Invalidated): the frames that were invalidated, and those that are concerned.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the reason, _TRANSITION if the frame is invalidated
/// already, _HELD; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_invalidate(
    stack: *mut Callstack,
    frame: CallstackView,
    reason: CallstackView,
    out_invalidated: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_invalidated, error, |stack| {
            let frame = frame.text("frame")?;
            Ok(to_json(&stack.invalidate(frame, reason.text("reason")?)?))
        })
    }
}

/// Records a file or another resource that the work on a frame has produced. Each artifact is recorded once.
///
/// - `frame` (FrameRef): the frame, in any status.
/// - `artifact` (text): usually a path. Must not be empty.
/// - `out_is_new` (flag): whether the artifact was not recorded before.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the artifact; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_add_artifact(
    stack: *mut Callstack,
    frame: CallstackView,
    artifact: CallstackView,
    out_is_new: *mut i32,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_is_new, error, |stack| {
            let frame = frame.text("frame")?;
            Ok(stack.add_artifact(frame, artifact.text("artifact")?)?)
        })
    }
}

/// Records a decision in a frame.
///
/// - `frame` (FrameRef): the frame, in any status.
/// - `decision` (text): the decision, such as `Use SQLite`. Must not be empty.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the decision; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_add_decision(
    stack: *mut Callstack,
    frame: CallstackView,
    decision: CallstackView,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = frame.text("frame")?;
            Ok(stack.add_decision(frame, decision.text("decision")?)?)
        })
    }
}

/// Records a request to a model that was made in the session of a frame. Contexts do not change. A host with
/// sessions reports requests with its messages instead: see `callstack_report`.
///
/// - `frame` (FrameRef): the frame, in any status.
/// - `request` (ModelRequest): the request. Every key is optional.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_record_usage(
    stack: *mut Callstack,
    frame: CallstackView,
    request: CallstackView,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, (), error, |stack| {
            let frame = frame.text("frame")?;
            Ok(stack.record_usage(frame, request.record("request")?)?)
        })
    }
}

/// Makes an open frame the active frame.
///
/// - `frame` (FrameRef): a frame that is `in_progress` or `blocked`. `callstack_activate` begins a planned
///   one.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NOT_OPEN if the frame is neither `in_progress` nor `blocked`;
/// the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_set_active(
    stack: *mut Callstack,
    frame: CallstackView,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::write(stack, (), error, |stack| Ok(stack.set_active(frame.text("frame")?)?)) }
}

/// Adds the frames of a plan in one commit: all of them or none. A plan that was imported before is brought
/// up to date: the library compares it by its IDs with what it said then, adds new entries, edits changed
/// ones, finishes closed ones, and invalidates removed ones. What was begun in the stack stays, and so does a
/// field that was changed both in the stack and in the plan. A frame that the plan does not let begin is
/// blocked until it is answered, or until a time.
///
/// - `plan` (text): the text of Task Master's `tasks.json`, of Beads' `issues.jsonl`, of a check list in
///   Markdown, or of a `state.json`. The library detects the format. A `state.json` only adds frames; each
///   `logPath` in it is left out and reported as a problem, because the logs stay where the state comes from.
/// - `out_imported` (Imported): the new and the changed frames, and the problems.
///
/// Errors: _JSON if the plan is in none of the formats, _VERSION if a newer version wrote the `state.json`,
/// _DUPLICATE_ID if a frame that is not from this plan has the same ID, _DEPENDENCY if a change in the stack
/// would make a new entry wait for itself, _FULL; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_import_plan(
    stack: *mut Callstack,
    plan: CallstackView,
    out_imported: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_imported, error, |stack| {
            let text = plan.text("plan")?;
            let plan = import::frames(text)?;
            let (handles, update) = match import::Format::of(text)? {
                import::Format::State => (stack.import(plan.frames)?, PlanUpdate::default()),
                _ => {
                    let update = stack.bring_up_to_date(&plan, None)?;
                    (update.added.iter().map(|added| added.frame).collect(), update)
                }
            };
            let PlanUpdate { changes, conflicts, unchanged, .. } = update;
            Ok(to_json(&Imported { handles, problems: plan.problems, changes, conflicts, unchanged }))
        })
    }
}
