//! Opening of stacks in a folder, with their events in an SQLite database.

use std::io::BufRead;
use std::path::Path;

use super::deadline::Deadline;
#[cfg(doc)]
use super::{History, Upkeep};
use super::{Stack, StackOptions};
use crate::error::{Error, Result};
use crate::store::folder::Folder;
use crate::store::{DATABASE, SqliteOptions, SqliteStore, damaged_database, layout};

impl Stack {
    /// Opens the stack in a folder. Creates the folder and the stack if they do not exist. A new folder gets
    /// a `.gitignore` that excludes it from git; delete that file to commit the stack.
    ///
    /// The folder contains `stack.db`, the database with all events; `state.json` and `frames/`, the current
    /// state for people and other tools; and `logs/`. If there is no database, but files of the original
    /// plugin or of a lost database, the files are imported once. The originals are kept in `before-import/`,
    /// and [`Upkeep::repairs`] lists the inconsistencies that were repaired.
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
    /// [`Error::Damaged`] if a file cannot be read, [`Error::Version`] if a newer version of the library
    /// wrote it; the file is not changed. [`Error::ReadOnly`], [`Error::DiskFull`], [`Error::Busy`],
    /// [`Error::Io`].
    pub fn open(folder: impl AsRef<Path>, options: StackOptions) -> Result<Self> {
        let folder = &open_folder(folder.as_ref())?;
        let deadline = Deadline::begin(options.busy_limit()).started();
        let store = deadline.stated(open_database(folder, &options))?;
        Self::opened(folder, store, options, &deadline).map_err(|error| match error {
            // Only a damaged database contains such a history.
            Error::History { .. } => damaged_database(&folder.path_of(DATABASE), error.to_string()),
            other => other,
        })
    }

    /// Creates a stack in an empty folder from a history that [`History::export`] has written. The stack has
    /// the same frames with the same handles, and the same history. The history is read event by event, and
    /// few finished trees are held in memory.
    ///
    /// # Errors
    /// [`Error::NotEmpty`] if the folder contains a stack; [`Error::Json`] with the line, or
    /// [`Error::History`] with the event, for an invalid history; the errors of [`Stack::open`].
    pub fn rebuild(folder: impl AsRef<Path>, history: impl BufRead, options: StackOptions) -> Result<Self> {
        let folder = &open_folder(folder.as_ref())?;
        if folder.is_taken(layout::STATE) {
            return Err(Error::NotEmpty { path: folder.path().display().to_string() });
        }
        let deadline = Deadline::begin(options.busy_limit()).started();
        let store = deadline.stated(open_database(folder, &options))?;
        Self::rebuilt(Some(folder), Box::new(store), history, options, &deadline)
    }
}

/// Opens the folder of a stack. A folder that is made here gets a file that excludes it from git:
/// conversations do not belong into a repository unless a person wants that.
fn open_folder(path: &Path) -> Result<Folder> {
    refuse_url(path)?;
    let is_new = !path.exists();
    let folder = Folder::open_or_create(path)?;
    if is_new {
        // The stack works without the file, so a failure is ignored.
        let _ = folder.create(".gitignore", "*\n");
    }
    Ok(folder)
}

/// Refuses the URL of a server: as a path, its password would become the name of a folder.
fn refuse_url(path: &Path) -> Result<()> {
    let url = path.to_str().filter(|name| Stack::is_url(name));
    match url.and_then(|url| url.split([':', '/']).next()) {
        None => Ok(()),
        Some(scheme) => Err(Error::Setting {
            name: "folder".into(),
            value: format!("{scheme}:…"),
            expected: "a path; a stack on a server has a URL that begins with postgres://, and the crate callstack-postgres \
                       opens it: `Stack::open_url`, in C `callstack_open_url`",
        }),
    }
}

fn open_database(folder: &Folder, options: &StackOptions) -> Result<SqliteStore> {
    let StackOptions { durability, busy_timeout, .. } = *options;
    SqliteStore::open(folder.path_of(DATABASE), SqliteOptions { durability, busy_timeout })
}
