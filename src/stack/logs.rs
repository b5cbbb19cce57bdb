//! The full logs of frames: written and read here, shown in contexts as long as their files exist.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use serde_json::Value;

use super::Stack;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::frame::{FrameRef, Handle, own_log_path};
use crate::store::{Durability, LogPage, LogQuery, files, logs};
use crate::tree::{Command, Tree, decide};

/// What a stack knows of logs beside what the tree knows.
pub(super) struct Logs {
    /// `None`: the stack lives in memory and keeps none.
    folder: Option<PathBuf>,
    is_durable: bool,
    /// Frames whose `logPath` names a file that was not there.
    missing: Mutex<BTreeSet<Handle>>,
}

impl Logs {
    pub(super) fn new(folder: Option<PathBuf>, durability: Durability) -> Self {
        Self { folder, is_durable: durability == Durability::Full, missing: Mutex::default() }
    }

    fn folder(&self) -> Result<&Path> {
        self.folder.as_deref().ok_or(Error::InMemory { what: "logs" })
    }
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
        let logs = &self.inner.logs;
        let folder = logs.folder()?;
        let mut appended = None;
        let committed = self.commit(|tree| {
            let handle = tree.resolve(&frame)?;
            let node = tree.node(handle);
            let log_path = own_log_path(node.session_id(), handle);
            let path = folder.join(&log_path);
            if node.record().log_path.as_ref() != Some(&log_path) {
                // A file of that name is not this frame's.
                files::set_aside(&path)?;
            }
            let length = logs::append(&path, entries, logs.is_durable)?;
            appended = Some((handle, path, length));
            decide(tree, Command::SetLogPath { frame: handle.into(), log_path }, now)
        });
        match (committed, appended) {
            (Ok(_), appended) => {
                if let Some((handle, ..)) = appended {
                    self.note_log(handle, true);
                }
                Ok(())
            }
            (Err(error), appended) => {
                if let Some((_, path, length)) = appended {
                    logs::cut_back(&path, length);
                }
                Err(error)
            }
        }
    }

    /// Reads lines of a frame's log: a range, the last ones, or those with some text. A frame
    /// without a log has no lines. A line that was cut off is skipped and reported.
    ///
    /// # Errors
    /// Unknown frame; [`Error::InMemory`] without a folder; [`Error::Io`].
    pub fn read_log(&self, frame: impl Into<FrameRef>, query: &LogQuery) -> Result<LogPage> {
        let folder = self.inner.logs.folder()?;
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

    /// Makes a context, again and again until every log that it names is there.
    pub(super) fn with_logs_that_exist<C: Borrow<Context>>(&self, make: impl Fn(&Tree) -> Result<C>) -> Result<C> {
        loop {
            let context = make(&self.inner.tree.read())?;
            let entries = &context.borrow().report.entries;
            let is_missing = |log: &String| !Path::new(log).exists();
            let missing = entries.iter().filter(|entry| entry.log.as_ref().is_some_and(is_missing));
            let missing: Vec<Handle> = missing.map(|entry| entry.handle).collect();
            if missing.is_empty() {
                return Ok(context);
            }
            missing.into_iter().for_each(|handle| self.note_log(handle, false));
        }
    }

    /// Logs that were missing are shown again when they are back.
    pub(super) fn look_for_missing_logs(&self) {
        let missing = self.inner.logs.missing.lock().clone();
        for handle in missing {
            let log_path = self.inner.tree.read().node(handle).record().log_path.clone();
            let folder = self.inner.logs.folder.as_deref().unwrap_or(Path::new(""));
            if log_path.is_some_and(|log_path| folder.join(log_path).exists()) {
                self.note_log(handle, true);
            }
        }
    }

    fn note_log(&self, handle: Handle, exists: bool) {
        let mut missing = self.inner.logs.missing.lock();
        let is_news = if exists { missing.remove(&handle) } else { missing.insert(handle) };
        // An event that names another log has made the tree forget what was missing.
        if self.inner.tree.write().note_log(handle, exists) || is_news {
            self.inner.contexts.forget(handle);
        }
    }
}
