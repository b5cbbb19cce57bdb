//! How a stack comes into being, and how it goes.

use std::path::Path;
use std::sync::Arc;

use std::sync::atomic::AtomicBool;

use parking_lot::Mutex;

use super::disk::{Disk, MirrorScope};
use super::shared_tree::SharedTree;
use super::{Inner, Stack, StackOptions};
use crate::context::Contexts;
use crate::error::{Error, Result};
use crate::frame::Repair;
use crate::store::mirror::{Mirror, PATIENCE};
use crate::store::{DATABASE, Durability, MirrorStatus, Store, files, layout};
use crate::tree::{Commit, Tree};

impl Stack {
    /// Opens the stack of a folder as [`Stack::open`] does, but with its events in another store.
    ///
    /// # Errors
    /// As [`Stack::open`], and those of the store.
    pub fn open_with_store(
        folder: impl AsRef<Path>,
        store: impl Store + 'static,
        options: StackOptions,
    ) -> Result<Self> {
        let folder = &files::stack_folder(folder.as_ref())?;
        Self::founded(Some(folder), Box::new(store), options, |repairs, now| {
            let Some((state, found)) = layout::read(folder)? else { return Ok(Commit::default()) };
            let (tree, inconsistent) = Tree::from_state(state);
            layout::keep(folder)?;
            repairs.extend(found.into_iter().chain(inconsistent));
            Ok(tree.founding(now))
        })
    }

    /// A stack whose events are in a store, without a folder: it has a history, but neither mirror
    /// nor logs.
    ///
    /// # Errors
    /// Those of the store; [`Error::History`] if the events do not fit together.
    pub fn with_store(store: impl Store + 'static, options: StackOptions) -> Result<Self> {
        Self::founded(None, Box::new(store), options, |_, _| Ok(Commit::default()))
    }

    /// Reads the history of a store. If there is none yet, it begins with the events that `found`
    /// gives.
    pub(super) fn founded(
        folder: Option<&Path>,
        store: Box<dyn Store>,
        options: StackOptions,
        found: impl FnOnce(&mut Vec<Repair>, u64) -> Result<Commit>,
    ) -> Result<Self> {
        let now = (options.clock)();
        let mirror = folder.filter(|_| options.mirror).map(Mirror::new);
        let mut disk = Disk::new(store, mirror, folder, options.durability == Durability::Full);
        let mut tree = Tree::new();
        disk.load(&mut tree)?;
        let is_new = tree.revision() == 0;
        let tree = SharedTree::new(tree);
        let mut repairs = Vec::new();
        if is_new {
            disk.found(&tree, || found(&mut repairs, now))?;
        }
        // What cannot be written now is written later, and the mirror's status says why.
        let _ = disk.write_mirror(&tree, &*options.clock, MirrorScope::All, PATIENCE);
        Ok(Self::with_tree(tree, disk, repairs, options))
    }

    pub(super) fn of(tree: Tree, disk: Disk, repairs: Vec<Repair>, options: StackOptions) -> Self {
        Self::with_tree(SharedTree::new(tree), disk, repairs, options)
    }

    fn with_tree(tree: SharedTree, disk: Disk, repairs: Vec<Repair>, options: StackOptions) -> Self {
        let StackOptions { clock, random, counter, busy_timeout, .. } = options;
        let folder = disk.folder.clone();
        let inner = Inner {
            contexts: Contexts::new(counter, folder.clone().unwrap_or_default()),
            log_folder: folder,
            disk: Mutex::new(disk),
            tree,
            is_broken: AtomicBool::new(false),
            repairs,
            clock,
            random,
            busy_timeout,
            #[cfg(feature = "session")]
            host: Default::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Writes the documented layout, `state.json` and `frames/`, to another folder: for other tools, or
    /// to take along. [`Stack::open`] imports it there.
    ///
    /// # Errors
    /// [`Error::NotEmpty`] if a stack lives in that folder; those of the disk.
    pub fn export_files(&self, folder: impl AsRef<Path>) -> Result<()> {
        self.check_working()?;
        let folder = folder.as_ref();
        if folder.join(DATABASE).exists() {
            return Err(Error::NotEmpty { path: folder.display().to_string() });
        }
        files::make_folder(folder)?;
        // Commands wait here and not for the tree, where readers would have to wait with them.
        let _disk = self.inner.disk.lock();
        let tree = self.inner.tree.read();
        let mut mirror = Mirror::new(folder);
        mirror.rewrite_all(tree.handles(), tree.revision());
        mirror
            .locked(&*self.inner.clock, self.inner.busy_timeout, |mirror| mirror.write_all(&*self.inner.clock, &*tree))
    }

    /// What was inconsistent in the files that were imported when the stack was opened, and what was
    /// made of it. Empty if nothing was imported or nothing was wrong.
    pub fn repairs(&self) -> &[Repair] {
        &self.inner.repairs
    }

    /// Shows readers what other processes have done since the last command or refresh. True: there
    /// was something new. When there is not, it costs a few microseconds.
    ///
    /// # Errors
    /// Those of the store.
    pub fn refresh(&self) -> Result<bool> {
        let is_new = self.command(|disk| disk.refresh(&self.inner.tree))?;
        if self.mirror_scope() == MirrorScope::Due {
            self.poll();
        }
        Ok(is_new)
    }

    /// Does what was left for later and is due: writes `state.json`, if it is behind and 250 ms have
    /// passed since its last writing. Commands and [`Stack::refresh`] do so too; a host that may
    /// be idle for long calls this at [`Stack::deadline`].
    pub fn poll(&self) {
        // The mirror's status keeps the error; a broken stack has no mirror.
        let _ =
            self.command(|disk| disk.write_mirror(&self.inner.tree, &*self.inner.clock, MirrorScope::Due, PATIENCE));
    }

    /// What commands write of the mirror: what is due, unless the host polls, which does the same at a time when
    /// nobody waits.
    pub(super) fn mirror_scope(&self) -> MirrorScope {
        #[cfg(feature = "session")]
        if self.is_polled() {
            return MirrorScope::ChangedFrames;
        }
        MirrorScope::Due
    }

    /// When [`Stack::poll`] will have something to do, in milliseconds since the epoch; `None` if
    /// nothing is left for later.
    pub fn deadline(&self) -> Option<u64> {
        let disk = self.inner.disk.lock();
        let mirror = disk.mirror.as_ref()?;
        (!mirror.is_current(&*self.inner.tree.read())).then(|| mirror.deadline())
    }

    /// How `state.json` and the frames' files are doing; `None` if the stack keeps none.
    pub fn mirror_status(&self) -> Option<MirrorStatus> {
        self.inner.disk.lock().mirror.as_ref().map(Mirror::status)
    }

    /// Brings everything to the disk: `state.json` and the frames' files show what the tree shows, and all
    /// that was acknowledged survives a loss of power.
    ///
    /// # Errors
    /// Those of the store; those of the files, which [`Stack::mirror_status`] keeps.
    pub fn flush(&self) -> Result<()> {
        self.command(|disk| {
            disk.refresh(&self.inner.tree)?;
            if let Some(store) = &mut disk.store {
                store.sync()?;
            }
            disk.write_mirror(&self.inner.tree, &*self.inner.clock, MirrorScope::All, self.inner.busy_timeout)
        })
    }

    /// Flushes, and gives this handle back. The files are closed with the last clone; dropping the
    /// last clone without closing flushes too, but cannot say what went wrong.
    ///
    /// # Errors
    /// As [`Stack::flush`].
    pub fn close(self) -> Result<()> {
        self.flush()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let _ = self.disk.get_mut().write_mirror(&self.tree, &*self.clock, MirrorScope::All, PATIENCE);
    }
}
