//! Stacks whose events are in an SQLite database, as those in folders usually are.

use std::io::BufRead;
use std::path::Path;

use super::{Stack, StackOptions};
use crate::error::{Error, Result};
use crate::store::{DATABASE, SqliteOptions, SqliteStore, damaged_database, files, layout, read_history};
use crate::tree::{Commit, Tree};

impl Stack {
    /// Opens the stack in a folder, and makes both if they are not there.
    ///
    /// The folder holds `stack.db`, the database with everything that has happened; `state.json` and
    /// `frames/`, which show the present to people and other tools; and `logs/`. If there is no
    /// database yet but the files of the original plugin, or of a database that was lost, they are
    /// imported, once; the originals stay below `before-import/`, and [`Stack::repairs`] says what
    /// was wrong with them.
    ///
    /// ```
    /// use callstack_core::{NewFrame, Stack, StackOptions};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let folder = folder.path();
    /// let stack = Stack::open(folder, StackOptions::default())?;
    /// stack.push(NewFrame::new("Build a shop").id("ses_1"))?;
    /// drop(stack);
    ///
    /// let stack = Stack::open(folder, StackOptions::default())?;
    /// assert_eq!(stack.frame("ses_1")?.title, "Build a shop");
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Damaged`] and [`Error::Version`] if a file is not readable or of a newer version:
    /// it is then as it was. [`Error::ReadOnly`], [`Error::DiskFull`], [`Error::Busy`],
    /// [`Error::Io`].
    pub fn open(folder: impl AsRef<Path>, options: StackOptions) -> Result<Self> {
        let folder = &files::stack_folder(folder.as_ref())?;
        let store = open_database(folder, &options)?;
        Self::open_with_store(folder, store, options).map_err(|error| match error {
            // Only a damaged database holds such a history.
            Error::History { .. } => damaged_database(&folder.join(DATABASE), error.to_string()),
            other => other,
        })
    }

    /// Makes the stack of an exported history in an empty folder: the same frames with the same
    /// handles, and the same history.
    ///
    /// # Errors
    /// [`Error::NotEmpty`]; [`Error::Json`] and [`Error::History`], which name the line or the
    /// event; those of [`Stack::open`].
    pub fn rebuild(folder: impl AsRef<Path>, history: impl BufRead, options: StackOptions) -> Result<Self> {
        let folder = &files::stack_folder(folder.as_ref())?;
        let not_empty = || Error::NotEmpty { path: folder.display().to_string() };
        if layout::state_path(folder).exists() {
            return Err(not_empty());
        }
        let store = open_database(folder, &options)?;
        let mut founded = false;
        let stack = Self::founded(Some(folder), Box::new(store), options, |_, _| {
            let events = read_history(history).collect::<Result<Vec<_>>>()?;
            let mut check = Tree::new();
            events.iter().try_for_each(|event| check.replay(event))?;
            founded = true;
            Ok(Commit::of_history(events))
        })?;
        if founded { Ok(stack) } else { Err(not_empty()) }
    }
}

fn open_database(folder: &Path, options: &StackOptions) -> Result<SqliteStore> {
    let StackOptions { durability, busy_timeout, .. } = *options;
    SqliteStore::open(folder.join(DATABASE), SqliteOptions { durability, busy_timeout })
}
