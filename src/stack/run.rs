//! Runs: agents that manage their own memory, driven step by step by a host.

use super::Stack;
use crate::error::Result;
use crate::frame::{Event, FrameRef, Handle};
use crate::memory::{self, NewRun, Next, Operation, Reply, RunCommand, RunStatus};

/// A run of a stack, named by its root frame. Made by [`Stack::run`].
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
    /// [`Error::Empty`](crate::Error::Empty) for the task; [`Error::DuplicateId`](crate::Error::DuplicateId);
    /// [`Error::TooLong`](crate::Error::TooLong) for the description of tools.
    pub fn start_run(&self, mut run: NewRun) -> Result<Handle> {
        let events = self.execute_run(|| {
            let session_id = run.session_id.take().unwrap_or_else(|| self.run_id());
            RunCommand::Start { run, session_id }
        })?;
        Ok(events[0].handle)
    }

    /// The roots of all runs, finished or not, in creation order.
    pub fn runs(&self) -> Vec<Handle> {
        self.inner.tree.read().runs().collect()
    }

    /// The run with this root frame. Naming a frame that is not the root of a run fails when the run is used.
    pub fn run(&self, root: impl Into<FrameRef>) -> Run<'_> {
        Run { stack: self, root: root.into() }
    }

    fn execute_run(&self, make: impl FnOnce() -> RunCommand) -> Result<Vec<Event>> {
        let keeps_logs = self.inner.log_folder.is_some();
        self.commit(make, |tree, command, now| memory::decide(tree, command, now, keeps_logs))
    }

    /// The ID of a frame of a run.
    fn run_id(&self) -> String {
        format!("run-{}-{:016x}", (self.inner.clock)(), (self.inner.random)())
    }
}

impl Run<'_> {
    /// Where the run is: its step, its current frame and depth, and its settings.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame); [`Error::NoRun`](crate::Error::NoRun).
    pub fn status(&self) -> Result<RunStatus> {
        self.stack.query(self.root.clone(), memory::status)?
    }

    /// What the run needs next: the answer of a model, the answer to a call, or nothing more. It says the same until
    /// that is done, also after the death of the process.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame); [`Error::NoRun`](crate::Error::NoRun); those of the store.
    pub fn next(&self) -> Result<Next> {
        let settle = || RunCommand::Settle { run: self.root.clone() };
        let now = (self.stack.inner.clock)();
        let settling = self.stack.query(self.root.clone(), |tree, _| memory::decide(tree, settle(), now, false))??;
        if !settling.events.is_empty() {
            self.stack.execute_run(settle)?;
        }
        self.stack.query(self.root.clone(), memory::next)?
    }

    /// Records the answer of the model. It is a step of the run, and its calls are what comes next.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame); [`Error::NoRun`](crate::Error::NoRun);
    /// [`Error::OutOfTurn`](crate::Error::OutOfTurn) if calls wait for answers or the run is over; those of the store.
    pub fn reply(&self, reply: Reply) -> Result<()> {
        self.stack.execute_run(|| RunCommand::Reply { run: self.root.clone(), reply }).map(drop)
    }

    /// Carries out a call about memory, or tells the model why its arguments cannot be read, and returns the events that
    /// did it. If the memory refuses the operation, the model is told so by the answer to its call.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`](crate::Error::UnknownFrame); [`Error::NoRun`](crate::Error::NoRun);
    /// [`Error::OutOfTurn`](crate::Error::OutOfTurn) if the call is not the next one; those of the store.
    pub fn operate(&self, call: &str, operation: Result<Operation, String>) -> Result<Vec<Event>> {
        self.stack.execute_run(|| RunCommand::Operate {
            run: self.root.clone(),
            call: call.to_owned(),
            operation,
            session_id: self.stack.run_id(),
        })
    }

    /// Records the answer to a call of a tool that is not about memory.
    ///
    /// # Errors
    /// As [`Run::operate`].
    pub fn answer(&self, call: &str, text: impl Into<String>, is_error: bool) -> Result<()> {
        let (run, call, text) = (self.root.clone(), call.to_owned(), text.into());
        self.stack.execute_run(|| RunCommand::Answer { run, call, text, is_error }).map(drop)
    }
}
