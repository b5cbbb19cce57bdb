//! The full logs of frames. Contexts name them as long as their files exist.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Stack;
use crate::error::{Error, Result};
use crate::frame::{FrameRef, own_log_path};
use crate::store::{LogPage, LogQuery, files, logs};
use crate::tree::{Command, decide};

/// Where the logs of a stack are.
pub(super) struct LogFolder {
    /// The stack's folder. `None`: the stack lives in memory and keeps no logs.
    pub(super) path: Option<PathBuf>,
    /// True if an append waits for the disk.
    pub(super) is_durable: bool,
}

impl Stack {
    /// Adds entries to the full log of a frame, all or none, each as a line of JSON:
    /// `logs/{id}.jsonl` in the stack's folder. The frame's `logPath` names it from then on, and
    /// contexts that show the frame in full name it for the agent.
    ///
    /// Any number of processes may append at once; lines never mix. The log is not part of the
    /// history: it is for reading up, and may be deleted.
    ///
    /// ```
    /// use callstack_core::{LogQuery, NewFrame, Stack, StackOptions};
    /// use serde_json::json;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let folder = folder.path();
    /// let stack = Stack::open(folder, StackOptions::default())?;
    /// let root = stack.push(NewFrame::new("Build").id("ses_1"))?;
    /// stack.append_log(root, &[json!({"role": "user", "text": "Build a shop"}), json!({"role": "assistant"})])?;
    /// let page = stack.read_log(root, &LogQuery::default().search("SHOP"))?;
    /// assert_eq!((page.lines[0].number, page.total), (1, 2));
    /// assert_eq!(stack.frame(root)?.log_path.as_deref(), Some("logs/ses_1.jsonl"));
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Unknown frame; [`Error::InMemory`] without a folder; those of the disk.
    pub fn append_log(&self, frame: impl Into<FrameRef>, entries: &[Value]) -> Result<()> {
        let (frame, now) = (frame.into(), (self.inner.clock)());
        let folder = self.log_folder()?;
        let mut appended = None;
        let committed = self.commit(|tree| {
            let (handle, log_path, is_first) = {
                let tree = tree.read();
                let handle = tree.resolve(&frame)?;
                let node = tree.node(handle);
                let log_path = own_log_path(node.session_id(), handle);
                let is_first = node.record().log_path.as_ref() != Some(&log_path);
                (handle, log_path, is_first)
            };
            let path = folder.join(&log_path);
            if is_first {
                // A file of that name is not this frame's.
                files::set_aside(&path)?;
            }
            let length = logs::append(&path, entries, self.inner.logs.is_durable)?;
            appended = Some((path, length));
            decide(&tree.read(), Command::SetLogPath { frame: handle.into(), log_path }, now)
        });
        match (&committed, appended) {
            (Err(_), Some((path, length))) => logs::cut_back(&path, length),
            // A log that was missing is back.
            (Ok(_), Some((_, 0))) => self.inner.contexts.clear_cache(None),
            _ => {}
        }
        committed.map(drop)
    }

    /// Reads lines of a frame's log: a range, the last ones, or those with some text. A frame
    /// without a log has no lines. A line that was cut off is skipped and reported.
    ///
    /// # Errors
    /// Unknown frame; [`Error::InMemory`] without a folder; [`Error::Io`].
    pub fn read_log(&self, frame: impl Into<FrameRef>, query: &LogQuery) -> Result<LogPage> {
        let folder = self.log_folder()?;
        let frame = frame.into();
        let path = || -> Result<PathBuf> {
            let tree = self.inner.tree.read();
            let handle = tree.resolve(&frame)?;
            Ok(folder.join(own_log_path(tree.node(handle).session_id(), handle)))
        };
        if !path()?.exists() {
            // Another process may have given the frame another ID.
            self.refresh()?;
        }
        logs::read(&path()?, query)
    }

    /// Names the file that holds a frame's full log, when the host keeps it elsewhere. Contexts name
    /// it for the agent as long as it exists; this library never writes to it.
    ///
    /// # Errors
    /// Unknown frame, empty path.
    pub fn set_log_path(&self, frame: impl Into<FrameRef>, log_path: impl Into<String>) -> Result<()> {
        self.execute(Command::SetLogPath { frame: frame.into(), log_path: log_path.into() }).map(drop)
    }

    fn log_folder(&self) -> Result<&Path> {
        self.inner.logs.path.as_deref().ok_or(Error::InMemory { what: "logs" })
    }
}
