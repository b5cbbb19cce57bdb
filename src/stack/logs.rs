//! The full logs of frames. Contexts name them as long as their files exist.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use parking_lot::RwLock;
use serde_json::Value;

use super::Stack;
use crate::error::{Error, Result};
use crate::frame::{FrameRef, Handle, own_log_path};
use crate::store::logs::{self, Appended};
use crate::store::{LogPage, LogQuery, files};
use crate::tree::{Command, Tree, decide};

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
    /// Unknown frame; [`Error::InMemory`] without a folder; [`Error::Json`] for an entry that is
    /// nested more than 100 levels deep; those of the disk.
    pub fn append_log(&self, frame: impl Into<FrameRef>, entries: &[Value]) -> Result<()> {
        let folder = self.log_folder()?;
        let frame = frame.into();
        let now = (self.inner.clock)();
        let appended = OnceCell::new();
        let append = |tree: &RwLock<Tree>| {
            let (handle, log_path) = own_log(&tree.read(), &frame)?;
            let path = folder.join(&log_path);
            let events = decide(&tree.read(), Command::SetLogPath { frame: handle.into(), log_path }, now)?;
            if !events.is_empty() {
                // A file of that name is not this frame's.
                files::set_aside(&path)?;
            }
            let _ = appended.set(logs::append(&path, entries, self.inner.logs.is_durable)?);
            Ok(events)
        };
        self.commit(append, || appended.get().into_iter().for_each(Appended::undo))?;
        if appended.get().is_some_and(Appended::is_first) {
            // A context that was made while there was no log should name it now.
            self.inner.contexts.clear_cache(None);
        }
        Ok(())
    }

    /// Reads lines of a frame's log: a range, the last ones, or those with some text. A frame
    /// without a log has no lines. A line that was cut off is skipped and reported.
    ///
    /// # Errors
    /// Unknown frame; [`Error::InMemory`] without a folder; [`Error::Io`].
    pub fn read_log(&self, frame: impl Into<FrameRef>, query: &LogQuery) -> Result<LogPage> {
        let folder = self.log_folder()?;
        let frame = frame.into();
        let path = || -> Result<PathBuf> { Ok(folder.join(own_log(&self.inner.tree.read(), &frame)?.1)) };
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

    pub(super) fn log_folder(&self) -> Result<&Path> {
        self.inner.logs.path.as_deref().ok_or(Error::InMemory { what: "logs" })
    }
}

/// A frame, and the path of the log that is kept for it here.
fn own_log(tree: &Tree, frame: &FrameRef) -> Result<(Handle, String)> {
    let handle = tree.resolve(frame)?;
    Ok((handle, own_log_path(tree.node(handle).session_id(), handle)))
}
