//! The full logs of frames. A context names a log only if its file exists.

use serde_json::Value;

use super::{Files, Stack};
use crate::error::{Error, Result};
use crate::frame::{FrameRef, own_log_path};
use crate::store::logs;
use crate::store::{LogLimits, LogPage, LogQuery, PrunedLogs};
use crate::tree::Command;

/// Number of lines at the end of a log that are compared with what a conversation repeats.
#[cfg(feature = "session")]
const COMPARED_LINES: usize = 1_000;

/// The full log of a frame: a file of JSON lines, `logs/{id}.jsonl` in the stack's folder, or lines in a
/// store that keeps logs ([`Store::logs`](crate::Store::logs)). [`Stack::log`] returns it.
#[derive(Debug, Clone)]
#[must_use]
pub struct FrameLog<'a> {
    stack: &'a Stack,
    frame: FrameRef,
}

impl Stack {
    /// Returns the full log of a frame. Logs are not part of the history, so their files may be deleted. The
    /// frame is looked up when the log is used; an unknown frame is an error then.
    ///
    /// ```
    /// use callstack_core::{LogQuery, NewFrame, Stack, StackOptions};
    /// use serde_json::json;
    ///
    /// # #[cfg(feature = "sqlite")] {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let folder = folder.path();
    /// let stack = Stack::open(folder, StackOptions::default())?;
    /// let root = stack.push(NewFrame::new("Build").id("ses_1"))?;
    /// stack.log(root).append(&[json!({"role": "user", "text": "Build a shop"}), json!({"role": "assistant"})])?;
    /// let page = stack.log(root).read(&LogQuery::default().search("SHOP"))?;
    /// assert_eq!((page.lines[0].number, page.total), (1, 2));
    /// assert_eq!(stack.frame(root)?.log_path.as_deref(), Some("logs/ses_1.jsonl"));
    /// # }
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    pub fn log(&self, frame: impl Into<FrameRef>) -> FrameLog<'_> {
        FrameLog { stack: self, frame: frame.into() }
    }

    /// The path of a frame's log for the file tools of an agent: absolute, if the file exists and an agent
    /// may read it.
    #[cfg(feature = "tools")]
    pub(crate) fn log_file(&self, handle: crate::frame::Handle) -> Option<String> {
        let log_path = self.look(|tree| tree.node(handle).record().log_path.clone())?;
        self.inner.contexts.existing_log(handle, Some(&log_path))
    }

    /// The IDs of the last entries of a frame's log.
    #[cfg(feature = "session")]
    pub(crate) fn logged_ids(&self, frame: &FrameRef) -> Result<std::collections::HashSet<String>> {
        let page = self.log(frame.clone()).read(&LogQuery::default().tail(COMPARED_LINES))?;
        Ok(page.lines.iter().filter_map(|line| line.entry["id"].as_str().map(str::to_owned)).collect())
    }

    /// True if the stack keeps logs: in files, or in its store.
    pub(crate) fn keeps_logs(&self) -> bool {
        self.inner.log_folder.is_some() || self.inner.stored_logs.is_some()
    }

    fn check_logs(&self) -> Result<()> {
        if self.keeps_logs() { Ok(()) } else { Err(Error::InMemory { what: "logs" }) }
    }
}

impl Files<'_> {
    /// Removes old logs of finished frames: by their age, by the size of all logs, or both. Logs of frames
    /// that are planned, in progress or blocked stay, and so do logs that hosts keep in other files. Contexts
    /// no longer name a log that is removed.
    ///
    /// ```
    /// use callstack_core::{LogLimits, Stack, StackOptions};
    ///
    /// # #[cfg(feature = "sqlite")] {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let folder = folder.path();
    /// let stack = Stack::open(folder, StackOptions::default())?;
    /// let pruned = stack.files().prune_logs(LogLimits::default().bytes(500_000_000))?;
    /// assert_eq!((pruned.files, pruned.left), (0, 0));
    /// # }
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InMemory`] if the stack keeps no logs; [`Error::Io`] and [`Error::ReadOnly`] for a log that
    /// cannot be removed (other logs may have been removed then); the errors of every command (see
    /// [`Stack`]).
    pub fn prune_logs(&self, limits: LogLimits) -> Result<PrunedLogs> {
        self.stack.check_logs()?;
        let pruned =
            self.stack.command(|journal, deadline| journal.prune_logs(&self.stack.inner.tree, limits, deadline))?;
        // Cached contexts may name a log that is gone.
        self.stack.inner.contexts.clear_cache(None);
        Ok(pruned)
    }
}

impl FrameLog<'_> {
    /// Appends entries, each as a line of JSON; [`Error`] describes the log after a failure. The frame's
    /// `logPath` then is the path of this file, and contexts that show the frame in full name it. Any number
    /// of processes may append at the same time; their lines do not mix.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::InMemory`] if the stack keeps no logs;
    /// [`Error::Json`] for an entry that is nested more than 100 levels deep; the errors of every command
    /// (see [`Stack`]).
    pub fn append(&self, entries: &[Value]) -> Result<()> {
        self.stack.check_logs()?;
        let (frame, entries) = (self.frame.clone(), entries.to_vec());
        self.stack.execute(Command::AppendLog { frame, entries }).map(drop)
    }

    /// Reads lines of the log: a range, the last lines, or the lines that contain a text. A frame without a
    /// log has no lines. Incomplete lines are skipped and reported.
    ///
    /// If the file does not exist, this calls [`Stack::refresh`] first, because another process may have
    /// replaced the frame's ID. In that case the call is a command and may have to wait for another command.
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::InMemory`] if the stack keeps no logs;
    /// [`Error::Io`]; the errors of [`Stack::refresh`].
    pub fn read(&self, query: &LogQuery) -> Result<LogPage> {
        if let Some(stored) = &self.stack.inner.stored_logs {
            let handle = self.stack.resolve(self.frame.clone())?;
            return logs::read_stored(&**stored, handle, query, self.stack.inner.busy_timeout);
        }
        self.stack.check_logs()?;
        let Some(folder) = &self.stack.inner.log_folder else { return Ok(LogPage::default()) };
        if !folder.is_taken(&self.name()?) {
            self.stack.refresh()?;
        }
        logs::read(folder, &self.name()?, query)
    }

    /// Passes the entries after this number of lines to `each`, oldest first; `None` for a damaged line. A
    /// line that is still being written is left out. Returns the number of the other lines.
    pub(super) fn each_entry(&self, after: usize, each: &mut dyn FnMut(Option<Value>)) -> Result<usize> {
        if let Some(stored) = &self.stack.inner.stored_logs {
            let handle = self.stack.resolve(self.frame.clone())?;
            return logs::each_stored_entry(&**stored, handle, after, self.stack.inner.busy_timeout, each);
        }
        let Some(folder) = &self.stack.inner.log_folder else { return Ok(0) };
        logs::each_entry(folder, &self.name()?, after, each)
    }

    /// Sets the path of the frame's full log, for a host that keeps the log in its own file. Contexts name
    /// the file if it exists. If the file is outside of the stack's folder, contexts name it only in this
    /// process, so a host calls this again after it has opened the stack: an agent reads the file, and the
    /// history may come from a stranger. [`FrameLog::append`] does not write to this file: it writes to the
    /// frame's own log and sets the path back.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::Empty`] if the path is blank.
    pub fn set_path(&self, log_path: impl Into<String>) -> Result<()> {
        let log_path = log_path.into();
        let handle = self.stack.query(self.frame.clone(), |_, handle| handle)?;
        self.stack.inner.contexts.allow_log(handle, &log_path);
        self.stack.execute(Command::SetLogPath { frame: self.frame.clone(), log_path }).map(drop)
    }

    /// The name of the frame's own log in the folder.
    fn name(&self) -> Result<String> {
        self.stack.query(self.frame.clone(), |tree, handle| own_log_path(tree.node(handle).session_id(), handle))
    }
}
