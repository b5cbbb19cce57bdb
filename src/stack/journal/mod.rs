//! The journal of a stack: its store and the files next to it. Commands are written to the journal, and what
//! other processes have written is read from it.
//!
//! `commit` and `logs` write a command; `catch_up`, `load` and `follow` read what other processes have
//! written; `snapshots` stores what the tree need not hold; `mirror`, `outdated` and `tree_files` keep the
//! documented files up to date. `record`, `compact` and `repair` work on whole histories.

mod catch_up;
mod commit;
mod compact;
mod follow;
mod load;
mod logs;
mod mirror;
mod outdated;
mod record;
#[cfg(all(feature = "session", feature = "sqlite"))]
mod repair;
mod snapshots;
mod tree_files;

use self::catch_up::catch_up;
pub(super) use self::mirror::{MirrorScope, MirrorView};
pub(super) use self::tree_files::TreeFiles;
use super::deadline::Deadline;
use super::shared_tree::SharedTree;
use super::{Mirroring, StackOptions};
use crate::error::{Error, Result};
use crate::store::folder::Folder;
use crate::store::mirror::Mirror;
use crate::store::{Durability, Store};

/// The advice in the error of a stack whose history is damaged.
const ADVICE: &str = "this stack keeps the events before the damage and refuses commands: write these events out with \
                      `history().export`, close the stack, and make a new one of them in another folder with \
                      `Stack::rebuild`";

/// The store of a stack and the files next to it. Locked for a whole command, and before the tree.
pub(super) struct Journal {
    /// `None` if the stack is in memory and keeps no history.
    pub(super) store: Option<Box<dyn Store>>,
    pub(super) mirror: Option<Mirror>,
    /// The folder of the mirror and the logs.
    pub(super) folder: Option<Folder>,
    /// True: calls that are not made for it write files of the mirror too.
    mirrors_with_commands: bool,
    /// Number of frames above which `state.json` is left to other processes: see
    /// [`StackOptions::state_file_frames`](super::StackOptions::state_file_frames).
    state_file_frames: usize,
    /// Maximum number of frames of finished trees in memory: see
    /// [`StackOptions::finished_frames`](super::StackOptions::finished_frames).
    finished_frames: usize,
    /// True: logs are synced to the disk with each commit.
    syncs_logs: bool,
    /// The last command failed, possibly during the commit. Its own events may then be new to this process.
    is_uncertain: bool,
    /// Number of events of other processes that the last command had to follow.
    followed: u64,
    /// True: the archive has failed while events were applied, so the tree must be read again.
    is_incomplete: bool,
    /// The error of every command since the store returned an event that cannot be read or does not fit. The
    /// tree has the events before it. Nothing is written any more.
    damage: Option<Error>,
}

impl Journal {
    /// The journal of a stack in memory.
    pub(super) fn none() -> Self {
        Self {
            store: None,
            mirror: None,
            folder: None,
            mirrors_with_commands: false,
            state_file_frames: usize::MAX,
            finished_frames: usize::MAX,
            syncs_logs: false,
            is_uncertain: false,
            followed: 0,
            is_incomplete: false,
            damage: None,
        }
    }

    /// The journal of a stack with a store and, optionally, a folder.
    pub(super) fn new(
        store: Box<dyn Store>,
        mirror: Option<Mirror>,
        folder: Option<&Folder>,
        options: &StackOptions,
    ) -> Self {
        let syncs_logs = options.durability == Durability::Full;
        let mirrors_with_commands = options.mirror == Mirroring::WithCommands;
        let StackOptions { state_file_frames, finished_frames, .. } = *options;
        let (store, folder) = (Some(store), folder.cloned());
        let none = Self::none();
        Self { store, mirror, folder, mirrors_with_commands, state_file_frames, finished_frames, syncs_logs, ..none }
    }

    /// Calls `run` in a transaction of the store, with the newest tree. What `run` does not commit is not
    /// kept.
    ///
    /// # Errors
    /// [`Error::InMemory`] if there is no store.
    fn in_transaction<T>(
        &mut self,
        tree: &SharedTree,
        deadline: &Deadline,
        run: impl FnOnce(&mut dyn Store, &SharedTree) -> Result<T>,
    ) -> Result<T> {
        let Self { store: Some(store), mirror, is_incomplete, is_uncertain, .. } = self else {
            return Err(Error::InMemory { what: "history" });
        };
        let result = store
            .begin(deadline.remaining())
            .and_then(|()| catch_up(&mut **store, mirror.as_mut(), tree, is_incomplete, deadline))
            .and_then(|()| run(&mut **store, tree));
        // Ends the transaction if it was not committed.
        store.rollback();
        *is_uncertain |= result.is_err();
        result
    }

    /// Checks that no damage of the history is known.
    ///
    /// # Errors
    /// The error that reported the damage.
    pub(super) fn check_sound(&self) -> Result<()> {
        self.damage.clone().map_or(Ok(()), Err)
    }

    /// Passes a result on. If its error says that the history is damaged, it becomes the error of all later
    /// commands.
    pub(super) fn noting_damage<T>(&mut self, result: Result<T>) -> Result<T> {
        let error = match result {
            Err(Error::History { revision, message }) => {
                let place =
                    self.folder.as_ref().map_or("the store".into(), |folder| folder.path().display().to_string());
                let message = format!("event {revision} does not fit the history before it: {message}");
                Error::damaged(format!("the history of {place}"), message, ADVICE)
            }
            Err(Error::Damaged { path, message, source, .. }) => {
                Error::Damaged { path, message, advice: ADVICE, source }
            }
            other => return other,
        };
        self.damage = Some(error.clone());
        Err(error)
    }

    /// After a panic: drops the store, which rolls back an open transaction, and the mirror, so no file is
    /// written.
    pub(super) fn abandon(&mut self) {
        self.store = None;
        self.mirror = None;
    }

    /// Drops finished trees from memory that queries have loaded, if they are too many.
    pub(super) fn drop_finished(&self, tree: &SharedTree) {
        if tree.read().has_excess(self.finished_frames) {
            tree.change(|tree| tree.drop_finished(self.finished_frames));
        }
    }

    /// Syncs the store to the disk.
    pub(super) fn sync(&mut self, deadline: &Deadline) -> Result<()> {
        self.store.as_mut().map_or(Ok(()), |store| store.sync(deadline.remaining()))
    }
}
