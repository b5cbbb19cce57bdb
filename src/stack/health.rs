//! The health of a stack in a folder: whether its database is undamaged, its history gives its tree, and the
//! files beside it show the same tree.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use serde::Serialize;

use super::{History, Stack, Upkeep};
use crate::error::{Error, Result};
use crate::frame::{Frame, Handle, Repair, StackState};
use crate::store::folder::Folder;
use crate::store::{DATABASE, DatabaseHealth, SqliteStore, layout};
use crate::tree::{Tree, is_of_data};

/// What [`Upkeep::health`] has found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Health {
    /// Number of events in the history.
    pub revision: u64,
    /// Number of frames.
    pub frames: usize,
    /// The database itself.
    pub database: DatabaseHealth,
    /// How the history differs from the tree, or why it cannot be read. Empty if it gives the tree.
    pub history_problems: Vec<String>,
    /// The files `state.json` and `frames/`.
    pub mirror: MirrorHealth,
    /// The hosts that run frames.
    pub hosts: Vec<HostHealth>,
}

/// The state of the files that mirror the history. In JSON `{"state": "behind", "revision": 9}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum MirrorHealth {
    /// `state.json` shows the newest event.
    Current {},
    /// `state.json` shows an earlier event. The next process that keeps the stack open writes it.
    Behind {
        /// The revision that it shows.
        revision: u64,
    },
    /// There is no complete `state.json` of this library. The next process that keeps the stack open writes
    /// it.
    Missing {},
    /// `state.json` says that it shows the newest event, or a later one, but shows another tree.
    Different {
        /// The revision that it names.
        revision: u64,
    },
    /// `state.json` shows the newest event and leaves out finished trees, but the files of their frames in
    /// `frames/` are missing, or show other frames.
    Incomplete {
        /// Their handles, at most a hundred.
        frames: Vec<Handle>,
    },
}

/// How often the files are looked at again if they show a later tree than the one that is known.
const LOOKS: usize = 50;
/// Maximum number of frames whose files are named as wrong.
const MOST_WRONG: usize = 100;

/// A host that runs frames.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct HostHealth {
    /// Its ID.
    pub host: String,
    /// The frames that it runs.
    pub frames: Vec<Handle>,
    /// False if its process has ended. Its frames were then interrupted; the next host that looks records
    /// this.
    pub is_alive: bool,
}

impl Health {
    /// True if nothing is wrong. A mirror that is behind is not wrong.
    pub fn is_sound(&self) -> bool {
        let is_mirror_sound = !matches!(self.mirror, MirrorHealth::Different { .. } | MirrorHealth::Incomplete { .. });
        self.database.problems.is_empty() && self.history_problems.is_empty() && is_mirror_sound
    }
}

impl Upkeep<'_> {
    /// Examines the whole database, replays the history, and compares the result with the snapshot of the
    /// database, with the tree and with `state.json`. If `state.json` leaves out finished trees, it also
    /// compares the result with the files in `frames/`. It takes some seconds for a million events, and some
    /// for 100,000 files. Nothing is written; [`Upkeep::repair`] makes again what follows from the events.
    ///
    /// ```
    /// use callstack_core::{NewFrame, Stack, StackOptions};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let folder = folder.path();
    /// let stack = Stack::open(folder, StackOptions::default())?;
    /// stack.push(NewFrame::new("Build a shop"))?;
    /// assert!(stack.upkeep().health()?.is_sound());
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InMemory`] if the stack was not opened in a folder ([`History::check`] examines every store);
    /// [`Error::Broken`]; [`Error::Busy`]; the errors of the files.
    pub fn health(&self) -> Result<Health> {
        self.stack.check_working()?;
        let folder = self.stack.inner.log_folder.as_ref().filter(|folder| folder.has_file(DATABASE));
        let folder = folder.ok_or(Error::InMemory { what: "database in a folder" })?;
        let patience = self.stack.begin_call().remaining();
        let database = database_of(folder, patience)?;
        let history_problems = self.stack.history().check()?;
        let mirror = self.stack.mirror_health(folder)?;
        Ok(self.stack.look(|tree| Health {
            revision: tree.revision(),
            frames: tree.len(),
            database,
            history_problems,
            mirror,
            hosts: self.stack.hosts(tree),
        }))
    }
}

impl History<'_> {
    /// Replays the history of any store, and compares the result with the snapshot and with the tree. Returns
    /// how they differ, or why the history cannot be read; an empty list if the history gives the tree.
    /// Nothing is written, and commands do not wait for it.
    ///
    /// ```
    /// use callstack_core::{MemoryStore, NewFrame, Stack, StackOptions};
    ///
    /// let stack = Stack::with_store(MemoryStore::new(), StackOptions::default())?;
    /// stack.push(NewFrame::new("Build a shop"))?;
    /// assert!(stack.history().check()?.is_empty());
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Broken`]; [`Error::Busy`]; the errors of the store.
    pub fn check(&self) -> Result<Vec<String>> {
        self.stack.check_working()?;
        let mut problems = match self.stack.compare_snapshot() {
            Ok(compared) => compared.problems,
            Err(error @ (Error::History { .. } | Error::Damaged { .. })) => vec![error.to_string()],
            Err(Error::InMemory { .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        match self.stack.with_journal(|journal, deadline| journal.read_again(deadline)) {
            Ok(read) => match self.stack.look(|tree| read.checked(|read| difference(tree, read))) {
                Ok(different) => problems.extend(different),
                Err(error) if is_of_data(&error) => problems.push(error.to_string()),
                Err(error) => return Err(error),
            },
            Err(error @ (Error::History { .. } | Error::Damaged { .. })) if problems.is_empty() => {
                problems.push(error.to_string());
            }
            Err(Error::History { .. } | Error::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(problems)
    }
}

impl Stack {
    /// Compares the files with the newest tree. Other processes may write them meanwhile.
    fn mirror_health(&self, folder: &Folder) -> Result<MirrorHealth> {
        let mut looks = 0..LOOKS;
        loop {
            let (known, found) = self.look(|tree| (tree.revision(), mirror_of(folder, tree)));
            let is_newer = matches!(found, MirrorHealth::Different { revision } if revision >= known);
            if !is_newer || looks.next().is_none() {
                return Ok(found);
            }
            self.refresh()?;
            if self.look(Tree::revision) == known {
                return Ok(found);
            }
        }
    }

    /// The hosts that run frames, as the tree names them.
    fn hosts(&self, tree: &Tree) -> Vec<HostHealth> {
        let interrupted = self.work().interrupted();
        let mut hosts: BTreeMap<&str, Vec<Handle>> = BTreeMap::new();
        for handle in tree.called() {
            if let Some(host) = tree.node(handle).record().host() {
                hosts.entry(&host.name).or_default().push(handle);
            }
        }
        let hosts = hosts.into_iter().map(|(host, frames)| HostHealth {
            host: host.to_owned(),
            is_alive: !frames.iter().any(|frame| interrupted.contains(frame)),
            frames,
        });
        hosts.collect()
    }
}

/// Where a tree differs from the tree that was read again, if both have the same events.
fn difference(tree: &Tree, read: &Tree) -> Option<String> {
    let is_other = |handle: &Handle| tree.frame(*handle) != read.frame(*handle);
    let other = tree.handles_in_memory().find(is_other).filter(|_| read.revision() == tree.revision())?;
    Some(format!("the events give another {other} than the one that is shown"))
}

pub(super) fn database_of(folder: &Folder, patience: Duration) -> Result<DatabaseHealth> {
    SqliteStore::health(folder, DATABASE, patience)
}

/// Compares `state.json` with the tree.
fn mirror_of(folder: &Folder, tree: &Tree) -> MirrorHealth {
    let Some(revision) = layout::mirrored_revision(folder) else { return MirrorHealth::Missing {} };
    if revision < tree.revision() {
        return MirrorHealth::Behind { revision };
    }
    let text = folder.read(layout::STATE).ok().flatten().and_then(|bytes| String::from_utf8(bytes).ok());
    let shown = text.and_then(|text| StackState::from_json(&text).ok());
    let revision = shown.as_ref().map_or(revision, |(shown, _)| shown.revision);
    let partial = tree.state_without_finished();
    let has_rest = partial.is_none();
    let expected = partial.unwrap_or_else(|| tree.state());
    let is_same = |(shown, _): (StackState, Vec<Repair>)| shown == expected;
    if !shown.is_some_and(is_same) {
        return MirrorHealth::Different { revision };
    }
    let frames = if has_rest { Vec::new() } else { wrong_files(folder, tree, &expected) };
    if frames.is_empty() { MirrorHealth::Current {} } else { MirrorHealth::Incomplete { frames } }
}

/// What is in the files of the mirror, for a repair.
#[derive(Debug, Default)]
pub(super) struct FoundFiles {
    /// Some of the files exist and show something other than the tree.
    pub(super) are_wrong: bool,
    /// Some of them are missing.
    pub(super) are_missing: bool,
}

/// Compares all files of the mirror with the tree. `is_due`: the file of a frame shows an earlier frame, and
/// will be written.
pub(super) fn found_files(folder: &Folder, tree: &Tree, is_due: impl Fn(Handle) -> bool) -> FoundFiles {
    let is_state_wrong = match mirror_of(folder, tree) {
        MirrorHealth::Different { .. } => true,
        MirrorHealth::Missing {} => folder.is_taken(layout::STATE),
        _ => false,
    };
    let mut found = FoundFiles { are_wrong: is_state_wrong, are_missing: false };
    for (handle, frame) in tree.handles().zip(tree.records()).filter(|(handle, _)| !is_due(*handle)) {
        if layout::lacks_frame(folder, &frame.session_id, handle) {
            found.are_missing = true;
        } else {
            let written = layout::read_frame(folder, &frame.session_id, handle);
            found.are_wrong |= written.is_none_or(|(written, _)| written != frame);
        }
    }
    found
}

/// The frames that `state.json` leaves out and whose files do not show them, at most [`MOST_WRONG`].
fn wrong_files(folder: &Folder, tree: &Tree, shown: &StackState) -> Vec<Handle> {
    let shown: HashSet<&str> = shown.frames.iter().map(|frame| frame.session_id.as_str()).collect();
    let left_out = tree.handles().zip(tree.records()).filter(|(_, frame)| !shown.contains(frame.session_id.as_str()));
    let is_wrong = |(handle, frame): &(Handle, Frame)| {
        let written = layout::read_frame(folder, &frame.session_id, *handle);
        // A file that another process has written since shows a later tree.
        written.is_none_or(|(written, revision)| written != *frame && revision <= tree.revision())
    };
    left_out.filter(is_wrong).map(|(handle, _)| handle).take(MOST_WRONG).collect()
}
