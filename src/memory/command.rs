//! Commands of runs: what a host asks of a run, and what has to be committed to carry it out.

use serde_json::{Value, json};

use super::machine::{self, NewRun, Operation, Reply};
use crate::error::Result;
use crate::frame::{Change, FrameRef, Message, own_log_path};
use crate::tree::{Commit, Draft, Tree};

/// One thing asked of a run. [`Stack`](crate::Stack) has a method for each.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RunCommand {
    /// Start a run whose root frame gets this ID.
    Start { run: NewRun, session_id: String },
    /// Record the answer of the model.
    Reply { run: FrameRef, reply: Reply },
    /// Carry out a call about memory, or tell the model why its arguments cannot be read. `session_id` is the ID of the
    /// frame that the call may push.
    Operate { run: FrameRef, call: String, operation: Result<Operation, String>, session_id: String },
    /// Record the answer to a call of another tool.
    Answer { run: FrameRef, call: String, text: String, is_error: bool },
    /// Answer a push whose frame was finished by somebody else, if there is one.
    Settle { run: FrameRef },
}

/// Checks a command against a tree and returns what has to be committed to carry it out. Changes nothing.
///
/// With `keeps_logs` the messages go to the full logs of their frames too.
pub(crate) fn decide(tree: &Tree, command: RunCommand, now: u64, keeps_logs: bool) -> Result<Commit> {
    let mut draft = match command {
        RunCommand::Start { run, session_id } => machine::start(tree, run, session_id, now)?,
        RunCommand::Reply { run, reply } => machine::reply(tree, tree.resolve(&run)?, reply, now)?,
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

/// Adds the messages of a draft to the logs of their frames. The briefing of a new frame waits for the first answer to
/// it, so a push makes no file.
fn log_messages(draft: &mut Draft<'_>) {
    let tree = draft.tree;
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
        (handle, log_path, all.map(|message| entry(message, step)).collect())
    });
    for (handle, log_path, entries) in logs.collect::<Vec<_>>() {
        draft.append_log(handle, log_path, entries, true);
    }
}

/// A message as a line of a log. The model's messages carry the number of their step.
fn entry(message: &Message, step: u64) -> Value {
    let mut entry = json!(message);
    if let Message::Assistant { .. } = message {
        entry["step"] = step.into();
    }
    entry
}
