//! [`Files`]: the files beside the database of a stack.

use std::io::{self, Write};
use std::path::Path;

use super::Stack;
#[cfg(doc)]
use super::StackOptions;
use super::journal::{MirrorScope, TreeFiles};
use crate::error::{Error, Result};
use crate::store::folder::Folder;
use crate::store::mirror::{Mirror, Portion, Source};
use crate::store::{DATABASE, MirrorStatus, layout};

/// The files beside the database of a stack: `state.json`, `frames/`, logs and the plan file.
/// [`Stack::files`] returns it.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct Files<'a> {
    pub(super) stack: &'a Stack,
}

impl Stack {
    /// Returns the methods for the files beside the database.
    ///
    /// ```
    /// use callstack_core::{NewFrame, Stack, StackOptions};
    ///
    /// # #[cfg(feature = "sqlite")] {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let folder = folder.path();
    /// let stack = Stack::open(folder, StackOptions::default())?;
    /// stack.push(NewFrame::new("Build a shop"))?;
    /// stack.files().flush()?;
    /// assert!(stack.files().status().is_some_and(|status| status.error.is_none()));
    /// assert!(std::fs::read_to_string(folder.join("state.json")).unwrap().contains("Build a shop"));
    /// # }
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    pub fn files(&self) -> Files<'_> {
        Files { stack: self }
    }
}

impl Files<'_> {
    /// Writes the documented files `state.json` and `frames/` to another folder, for other tools or as a
    /// copy. `Stack::open` imports them from there.
    ///
    /// The files show the tree at the time of the call. No command waits for this call, and it waits for
    /// none.
    ///
    /// # Errors
    /// [`Error::NotEmpty`] if the folder has files of a stack: `stack.db`, `state.json` or `frames`;
    /// [`Error::Busy`] if another process holds the lock of the files for too long; [`Error::Io`],
    /// [`Error::DiskFull`], [`Error::ReadOnly`]. Some of the files may then have been written.
    /// [`Error::Broken`], before anything is written.
    pub fn export(&self, folder: impl AsRef<Path>) -> Result<()> {
        let deadline = self.stack.begin_call();
        self.stack.check_working()?;
        let folder = &Folder::open_or_create(folder.as_ref())?;
        let check_empty = || match [DATABASE, layout::STATE, layout::FRAMES].iter().any(|name| folder.is_taken(name)) {
            true => Err(Error::NotEmpty { path: folder.path().display().to_string() }),
            false => Ok(()),
        };
        // Before the lock, which is a file in the folder, and again with it.
        check_empty()?;
        let mut mirror = Mirror::new(folder, false);
        let clock = || self.stack.inner.span_clock.now();
        deadline.stated(self.stack.inner.tree.lend(|tree| {
            mirror.rewrite_all(tree.len());
            mirror.locked(&clock, deadline.remaining(), |mirror| {
                check_empty()?;
                mirror.write_all(&clock, &TreeFiles::new(tree, true), Portion::ALL)
            })
        }))
    }

    /// Writes the whole tree as JSON in the layout of `state.json`, as
    /// [`StackState::to_json`](crate::StackState::to_json) of [`Tree::state`](crate::Tree::state) would. It
    /// writes frame by frame, so that only few finished trees are in memory at a time. Commands do not wait
    /// for it.
    ///
    /// ```
    /// use callstack_core::{NewFrame, Stack, StackState};
    ///
    /// let stack = Stack::in_memory();
    /// stack.push(NewFrame::new("Build a shop"))?;
    /// let mut text = Vec::new();
    /// stack.files().export_state(&mut text)?;
    /// let (state, _) = StackState::from_json(std::str::from_utf8(&text).unwrap()).unwrap();
    /// assert_eq!(state, stack.read(|tree| tree.state())?);
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`] if the writer fails; the errors of the database for a frame that cannot be read;
    /// [`Error::Broken`]. The text that was written before the error is then incomplete.
    pub fn export_state(&self, mut writer: impl Write) -> Result<()> {
        self.stack.check_working()?;
        let written = self.stack.inner.tree.lend(|tree| {
            tree.checked(|tree| TreeFiles::new(tree, true).write_state(&mut writer)).and_then(|written| {
                let failed =
                    |error: io::Error| Error::io("write", "the exported state", error.to_string()).with_source(error);
                written.map_err(failed)
            })
        });
        self.stack.drop_finished();
        written
    }

    /// The status of the mirror, that is, of `state.json` and `frames/`, after the last command. `None` if
    /// the stack has no mirror.
    pub fn status(&self) -> Option<MirrorStatus> {
        self.stack.inner.mirror.lock().status.clone()
    }

    /// Syncs the store to the disk, so all acknowledged commits survive a power failure, and brings
    /// `state.json` and `frames/` up to date. Waits for another process that writes them, up to
    /// [`StackOptions::busy_timeout`].
    ///
    /// # Errors
    /// The errors of every command (see [`Stack`]). If only the files cannot be written, [`Files::status`]
    /// has the error too.
    pub fn flush(&self) -> Result<()> {
        self.stack.command(|journal, deadline| {
            journal.refresh(&self.stack.inner.tree, deadline)?;
            journal.sync(deadline)?;
            journal.write_mirror(&self.stack.inner.tree, &self.stack.inner.span_clock, MirrorScope::All, deadline)
        })
    }
}
