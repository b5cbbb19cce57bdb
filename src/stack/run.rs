//! Runs: agents that manage their own memory, driven step by step by a host.

use super::Stack;
use crate::error::Result;
use crate::frame::{Event, FrameRef, Handle};
use crate::memory::{self, NewRun, Next, Operation, Reply, RunCommand, RunStatus};
use crate::tree::Tree;

/// A run of a stack, named by its root frame. [`Stack::run`] returns it.
#[derive(Debug, Clone)]
#[must_use]
pub struct Run<'a> {
    stack: &'a Stack,
    root: FrameRef,
}

impl Stack {
    /// Starts a run and returns its root frame. The module [`memory`] has an example.
    ///
    /// # Errors
    /// [`Error::Empty`](crate::Error::Empty) if the task is blank;
    /// [`Error::DuplicateId`](crate::Error::DuplicateId) if another frame has the ID;
    /// [`Error::TooLong`](crate::Error::TooLong) if the description of the tools is too long.
    pub fn start_run(&self, mut run: NewRun) -> Result<Handle> {
        let events = self.execute_run(|| {
            let session_id = run.session_id.take().unwrap_or_else(|| self.run_id());
            RunCommand::Start { run, session_id }
        })?;
        Ok(events[0].handle)
    }

    /// Returns the run with this root frame. The frame is looked up when the run is used; a frame that is not
    /// the root of a run is an error then.
    pub fn run(&self, root: impl Into<FrameRef>) -> Run<'_> {
        Run { stack: self, root: root.into() }
    }

    fn execute_run(&self, make: impl FnOnce() -> RunCommand) -> Result<Vec<Event>> {
        let keeps_logs = self.keeps_logs();
        self.commit(make, |tree, command, now| memory::decide(tree, command, now, keeps_logs))
    }

    /// Generates the ID of a frame of a run.
    fn run_id(&self) -> String {
        self.fresh_id("run-")
    }
}

impl Run<'_> {
    /// The status of the run: its step, its current frame and depth, and its settings.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame),
    /// [`Error::AmbiguousFrame`](crate::Error::AmbiguousFrame), [`Error::NoRun`](crate::Error::NoRun),
    /// [`Error::Broken`](crate::Error::Broken).
    pub fn status(&self) -> Result<RunStatus> {
        self.stack.query(self.root.clone(), memory::status)?
    }

    /// The next thing that the run needs: a reply of a model, the answer to a tool call, or nothing because
    /// it is over. Repeated calls return the same until the host has provided it, also after a restart of the
    /// process.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame),
    /// [`Error::AmbiguousFrame`](crate::Error::AmbiguousFrame), [`Error::NoRun`](crate::Error::NoRun),
    /// [`Error::Broken`](crate::Error::Broken). The call can commit events, and then fail with the errors of
    /// every command (see [`Stack`]).
    pub fn next(&self) -> Result<Next> {
        let settle = || RunCommand::Settle { run: self.root.clone() };
        let now = (self.stack.inner.clock)();
        let settling = self.stack.query(self.root.clone(), |tree, _| memory::decide(tree, settle(), now, false))??;
        if !settling.events.is_empty() {
            self.stack.execute_run(settle)?;
        }
        let contexts = &self.stack.inner.contexts;
        let surroundings = |tree: &Tree, frame, total| contexts.surroundings(tree, frame, total);
        self.stack.query(self.root.clone(), |tree, root| memory::next(tree, root, surroundings))?
    }

    /// Records the reply of the model. Each reply is a step of the run. Its tool calls are what [`Run::next`]
    /// returns next.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame),
    /// [`Error::AmbiguousFrame`](crate::Error::AmbiguousFrame), [`Error::NoRun`](crate::Error::NoRun);
    /// [`Error::OutOfTurn`](crate::Error::OutOfTurn) if tool calls wait for answers or the run is over.
    pub fn reply(&self, reply: Reply) -> Result<()> {
        self.stack.execute_run(|| RunCommand::Reply { run: self.root.clone(), reply }).map(drop)
    }

    /// Adds a message of the user to the conversation of the current frame, for example to steer an agent
    /// whose run is resumed. The message is stored at once. In the next prompt it comes after all other
    /// messages, also after the answers to tool calls that still wait for one. Of these tool calls,
    /// `push_frame` and `pop_frame` are refused, so that the model reads the message in this frame before it
    /// leaves the frame.
    ///
    /// # Errors
    /// [`Error::Empty`](crate::Error::Empty) if the text is blank; otherwise as [`Run::reply`], but tool
    /// calls may wait for answers.
    pub fn tell(&self, text: impl Into<String>) -> Result<()> {
        let text = text.into();
        self.stack.execute_run(|| RunCommand::Tell { run: self.root.clone(), text }).map(drop)
    }

    /// Executes a tool call about agent memory and returns its events. `call` is the ID of the tool call.
    /// `operation` is an error message for the model if the arguments of the tool call cannot be read. If the
    /// operation is refused, the answer to the tool call tells the model the reason; that is not an error of
    /// this method.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame),
    /// [`Error::AmbiguousFrame`](crate::Error::AmbiguousFrame), [`Error::NoRun`](crate::Error::NoRun);
    /// [`Error::OutOfTurn`](crate::Error::OutOfTurn) if this tool call is not the next one.
    pub fn operate(&self, call: &str, operation: Result<Operation, String>) -> Result<Vec<Event>> {
        self.stack.execute_run(|| RunCommand::Operate {
            run: self.root.clone(),
            call: call.to_owned(),
            operation,
            session_id: self.stack.run_id(),
        })
    }

    /// Records the answer to a tool call that is not about agent memory. `call` is the ID of the tool call.
    ///
    /// # Errors
    /// As [`Run::operate`].
    pub fn answer(&self, call: &str, text: impl Into<String>, is_error: bool) -> Result<()> {
        self.answered(call, text.into(), is_error).map(drop)
    }

    /// Records the answer to a tool call, and returns its events.
    pub(crate) fn answered(&self, call: &str, text: String, is_error: bool) -> Result<Vec<Event>> {
        let (run, call) = (self.root.clone(), call.to_owned());
        self.stack.execute_run(|| RunCommand::Answer { run, call, text, is_error })
    }
}
