//! The full logs of frames. Contexts name a log as long as its file exists.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Stack;
use crate::error::{Error, Result};
use crate::frame::{FrameRef, own_log_path};
use crate::store::{LogPage, LogQuery, logs};
use crate::tree::Command;

/// The full log of a frame: a file of JSON lines, `logs/{id}.jsonl` in the stack's folder. Made by [`Stack::log`].
#[derive(Debug, Clone)]
#[must_use]
pub struct FrameLog<'a> {
    stack: &'a Stack,
    frame: FrameRef,
}

impl Stack {
    /// The full log of a frame. The log is not part of the history: it is for reading, and may be deleted. Naming a
    /// frame that does not exist fails when the log is used.
    ///
    /// ```
    /// use callstack_core::{LogQuery, NewFrame, Stack, StackOptions};
    /// use serde_json::json;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let folder = folder.path();
    /// let stack = Stack::open(folder, StackOptions::default())?;
    /// let root = stack.push(NewFrame::new("Build").id("ses_1"))?;
    /// stack.log(root).append(&[json!({"role": "user", "text": "Build a shop"}), json!({"role": "assistant"})])?;
    /// let page = stack.log(root).read(&LogQuery::default().search("SHOP"))?;
    /// assert_eq!((page.lines[0].number, page.total), (1, 2));
    /// assert_eq!(stack.frame(root)?.log_path.as_deref(), Some("logs/ses_1.jsonl"));
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    pub fn log(&self, frame: impl Into<FrameRef>) -> FrameLog<'_> {
        FrameLog { stack: self, frame: frame.into() }
    }

    fn log_folder(&self) -> Result<&Path> {
        self.inner.log_folder.as_deref().ok_or(Error::InMemory { what: "logs" })
    }
}

impl FrameLog<'_> {
    /// Adds entries, all or none, each as a line of JSON. The frame's `logPath` names the file from then on, and
    /// contexts that show the frame in full name it for the agent. Any number of processes may append at once; lines
    /// never mix.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::InMemory`] without a folder; [`Error::Json`] for an
    /// entry that is nested more than 100 levels deep; [`Error::Busy`], [`Error::DiskFull`], [`Error::ReadOnly`],
    /// [`Error::Io`].
    pub fn append(&self, entries: &[Value]) -> Result<()> {
        self.stack.log_folder()?;
        let (frame, entries) = (self.frame.clone(), entries.to_vec());
        self.stack.execute(Command::AppendLog { frame, entries }).map(drop)
    }

    /// Reads lines: a range, the last ones, or those with some text. A frame without a log has no lines. A line that was
    /// cut off is skipped and reported.
    ///
    /// If the file is not there, another process may have given the frame another ID: then this looks for news as
    /// [`Stack::refresh`] does.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::InMemory`] without a folder; [`Error::Io`].
    pub fn read(&self, query: &LogQuery) -> Result<LogPage> {
        if !self.path()?.exists() {
            self.stack.refresh()?;
        }
        logs::read(&self.path()?, query)
    }

    /// Names the file that holds the frame's full log, when the host keeps it elsewhere. Contexts name it for the agent
    /// as long as it exists; this library never writes to it.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::Empty`].
    pub fn set_path(&self, log_path: impl Into<String>) -> Result<()> {
        self.stack.execute(Command::SetLogPath { frame: self.frame.clone(), log_path: log_path.into() }).map(drop)
    }

    /// The log that the library keeps for the frame.
    fn path(&self) -> Result<PathBuf> {
        let folder = self.stack.log_folder()?;
        self.stack
            .query(self.frame.clone(), |tree, handle| folder.join(own_log_path(tree.node(handle).session_id(), handle)))
    }
}
