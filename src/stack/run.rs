//! Runs: agents that manage their own memory, driven step by step by a host.

use parking_lot::RwLock;
use serde_json::{Value, json};

use super::Stack;
use crate::error::Result;
use crate::frame::{Change, Event, FrameRef, Handle, Message, own_log_path};
use crate::memory::{self, NewRun, Next, Operation, Reply, RunStatus};
use crate::store::files;
use crate::store::logs;
use crate::tree::Tree;

impl Stack {
    /// Starts a run, and returns its root frame. See [`memory`].
    ///
    /// # Errors
    /// Empty task; an ID that a frame has already; a description of tools that is [`TooLong`](crate::Error::TooLong).
    pub fn start_run(&self, mut run: NewRun) -> Result<Handle> {
        let session_id = run.session_id.take().unwrap_or_else(|| self.run_id());
        let events = self.commit_messages(|tree, now| memory::start(tree, run, session_id, now))?;
        Ok(events[0].handle)
    }

    /// The roots of all runs, finished or not, in creation order.
    pub fn runs(&self) -> Vec<Handle> {
        self.inner.tree.read().runs().collect()
    }

    /// Where a run is.
    ///
    /// # Errors
    /// Unknown frame; [`NoRun`](crate::Error::NoRun).
    pub fn run_status(&self, run: impl Into<FrameRef>) -> Result<RunStatus> {
        let tree = self.inner.tree.read();
        memory::status(&tree, tree.resolve(&run.into())?)
    }

    /// What a run needs next. It says the same until that is done, also after the death of the process.
    ///
    /// # Errors
    /// Unknown frame; [`NoRun`](crate::Error::NoRun); those of the store.
    pub fn run_next(&self, run: impl Into<FrameRef>) -> Result<Next> {
        let run = run.into();
        let now = (self.inner.clock)();
        let settling = |tree: &Tree, now: u64| memory::settle(tree, tree.resolve(&run)?, now);
        let is_settled = settling(&self.inner.tree.read(), now)?.is_empty();
        if !is_settled {
            self.commit_messages(settling)?;
        }
        let tree = self.inner.tree.read();
        memory::next(&tree, tree.resolve(&run)?)
    }

    /// Brings what the model has said. It is a step of the run, and its calls are what comes next.
    ///
    /// # Errors
    /// Unknown frame; [`NoRun`](crate::Error::NoRun); [`OutOfTurn`](crate::Error::OutOfTurn) if calls wait for
    /// answers or the run is over; those of the store.
    pub fn run_reply(&self, run: impl Into<FrameRef>, reply: Reply) -> Result<()> {
        let run = run.into();
        self.commit_messages(|tree, now| memory::reply(tree, tree.resolve(&run)?, reply, now)).map(drop)
    }

    /// Carries out a call about memory, or says to the model why it cannot be understood, and returns the events that
    /// did it. What the memory refuses, the model is told as the answer to its call.
    ///
    /// # Errors
    /// Unknown frame; [`NoRun`](crate::Error::NoRun); [`OutOfTurn`](crate::Error::OutOfTurn) if the call is not the
    /// next one; those of the store.
    pub fn run_operate(
        &self,
        run: impl Into<FrameRef>,
        call: &str,
        operation: Result<Operation, String>,
    ) -> Result<Vec<Event>> {
        let (run, session_id) = (run.into(), self.run_id());
        self.commit_messages(|tree, now| memory::operate(tree, tree.resolve(&run)?, call, operation, session_id, now))
    }

    /// Brings the answer to a call that was not about memory.
    ///
    /// # Errors
    /// As [`Stack::run_operate`].
    pub fn run_answer(
        &self,
        run: impl Into<FrameRef>,
        call: &str,
        text: impl Into<String>,
        is_error: bool,
    ) -> Result<()> {
        let (run, text) = (run.into(), text.into());
        self.commit_messages(|tree, now| memory::answer(tree, tree.resolve(&run)?, call, text, is_error, now)).map(drop)
    }

    /// The ID of a frame of a run.
    fn run_id(&self) -> String {
        format!("run-{}-{:016x}", (self.inner.clock)(), (self.inner.random)())
    }

    /// Commits events, and writes the messages among them to the logs of their frames, first to the logs: if it comes
    /// to nothing or the process dies in between, a log has a message more than the history. It was said, and the step
    /// is done again. A log that lacks one could not be mended.
    fn commit_messages(&self, decide: impl FnOnce(&Tree, u64) -> Result<Vec<Event>>) -> Result<Vec<Event>> {
        let now = (self.inner.clock)();
        let decide = |tree: &RwLock<Tree>| {
            let (mut events, logs) = {
                let tree = tree.read();
                let events = decide(&tree, now)?;
                let logs = self.inner.logs.path.as_ref().map(|_| logs_of(&tree, &events)).unwrap_or_default();
                (events, logs)
            };
            logs.into_iter().try_for_each(|log| self.append_messages(log, &mut events))?;
            Ok(events)
        };
        self.commit(decide, || ())
    }

    fn append_messages(&self, log: FrameLog, events: &mut Vec<Event>) -> Result<()> {
        let path = self.log_folder()?.join(&log.log_path);
        if log.is_new {
            // A file of that name is not this frame's.
            files::set_aside(&path)?;
            let last = events.last().expect("the messages are among them");
            let (revision, time) = (last.revision + 1, last.time);
            let change = Change::LogPathSet { log_path: log.log_path };
            events.push(Event { revision, time, handle: log.handle, change });
        }
        logs::append(&path, &log.entries, self.inner.logs.is_durable).map(drop)
    }
}

/// What is to be written to the log of a frame.
struct FrameLog {
    handle: Handle,
    log_path: String,
    /// The frame has had no log.
    is_new: bool,
    entries: Vec<Value>,
}

/// The messages among events, by frames. A new frame's briefing waits for the first answer to it, so that a push need
/// not make a file.
fn logs_of(tree: &Tree, events: &[Event]) -> Vec<FrameLog> {
    let of_known_frames = events.iter().filter_map(|event| match &event.change {
        Change::MessagesAdded { messages } if event.handle.index() < tree.len() => Some((event.handle, messages)),
        _ => None,
    });
    let logs = of_known_frames.map(|(handle, messages)| {
        let node = tree.node(handle);
        let log_path = own_log_path(node.session_id(), handle);
        let is_new = node.record().log_path.as_ref() != Some(&log_path);
        let earlier = node.conversation().filter(|_| is_new).map_or(&[][..], |own| own.messages());
        let step = tree.step(handle) + 1;
        let all = earlier.iter().map(|message| &**message).chain(messages);
        FrameLog { handle, log_path, is_new, entries: all.map(|message| entry(message, step)).collect() }
    });
    logs.collect()
}

/// A message as a line of a log; what a model says has the number of its step.
fn entry(message: &Message, step: u64) -> Value {
    let mut entry = json!(message);
    if let Message::Assistant { .. } = message {
        entry["step"] = step.into();
    }
    entry
}
