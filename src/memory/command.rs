//! The commands of runs, and the commits that execute them.

use serde_json::{Value, json};

use super::machine::{self, NewRun, Operation, Reply};
use crate::error::Result;
use crate::frame::{Change, FrameRef, Message, own_log_path};
use crate::tree::{Commit, Draft, Tree};

/// A command for a run. [`Run`](crate::stack::Run) and [`Stack`](crate::Stack) have a method for each.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RunCommand {
    /// Starts a run. `session_id` becomes the ID of its root frame.
    Start { run: NewRun, session_id: String },
    /// Records a reply of the model.
    Reply { run: FrameRef, reply: Reply },
    /// Adds a message of the user to the current conversation.
    Tell { run: FrameRef, text: String },
    /// Executes a tool call about agent memory, or answers it with the reason why its arguments cannot be
    /// read. `session_id` becomes the ID of the frame that the tool call may push.
    Operate { run: FrameRef, call: String, operation: Result<Operation, String>, session_id: String },
    /// Records the answer to a tool call that is not about agent memory.
    Answer { run: FrameRef, call: String, text: String, is_error: bool },
    /// Answers a `push_frame` tool call whose frame was ended outside of the run, if there is one.
    Settle { run: FrameRef },
}

/// Checks a command against a tree and returns the commit that executes it. Changes nothing.
///
/// `now` is in milliseconds since the Unix epoch. With `keeps_logs`, the commit also appends the messages to
/// the logs of their frames.
pub(crate) fn decide(tree: &Tree, command: RunCommand, now: u64, keeps_logs: bool) -> Result<Commit> {
    let mut draft = match command {
        RunCommand::Start { run, session_id } => machine::start(tree, run, session_id, now)?,
        RunCommand::Reply { run, reply } => machine::reply(tree, tree.resolve(&run)?, reply, now)?,
        RunCommand::Tell { run, text } => machine::tell(tree, tree.resolve(&run)?, text, now)?,
        RunCommand::Operate { run, call, operation, session_id } => {
            machine::operate(tree, tree.resolve(&run)?, &call, operation, session_id, now)?
        }
        RunCommand::Answer { run, call, text, is_error } => {
            machine::answer(tree, tree.resolve(&run)?, &call, text, is_error, now)?
        }
        RunCommand::Settle { run } => machine::settle(tree, tree.resolve(&run)?, now)?,
    };
    if keeps_logs {
        log_messages(&mut draft);
    }
    Ok(draft.finish())
}

/// Adds the messages of a draft to the logs of their frames. The first message of a new frame is written
/// together with the first reply to it, so a push creates no file.
fn log_messages(draft: &mut Draft<'_>) {
    let (tree, now) = (draft.tree, draft.now);
    let added = draft.events().iter().filter_map(|event| match &event.change {
        Change::MessagesAdded { messages } if event.handle.index() < tree.len() => Some((event.handle, messages)),
        _ => None,
    });
    let logs = added.map(|(handle, messages)| {
        let node = tree.node(handle);
        let log_path = own_log_path(node.session_id(), handle);
        let is_new = node.record().log_path.as_ref() != Some(&log_path);
        let earlier = node.conversation().filter(|_| is_new).map_or(&[][..], |own| own.messages());
        let step = tree.step(handle) + 1;
        let all = earlier.iter().map(|message| &**message).chain(messages);
        (handle, log_path, all.map(|message| entry(message, step, now)).collect())
    });
    for (handle, log_path, entries) in logs.collect::<Vec<_>>() {
        draft.append_log(handle, log_path, entries, true);
    }
}

/// Returns a message as a log entry with the time at which it is logged. The model's messages have the key
/// `step` with the number of the step.
fn entry(message: &Message, step: u64, now: u64) -> Value {
    let mut entry = json!(message);
    entry["time"] = now.into();
    if let Message::Assistant { .. } = message {
        entry["step"] = step.into();
    }
    entry
}
