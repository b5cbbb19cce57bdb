//! Opening, refreshing, flushing, exporting and closing of stacks with a store.

use std::cell::RefCell;
use std::io::BufRead;
use std::mem;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use parking_lot::{Mutex, ReentrantMutex};

use super::deadline::Deadline;
use super::journal::{Journal, MirrorScope};
use super::shared_tree::SharedTree;
use super::span_clock::SpanClock;
#[cfg(doc)]
use super::{Files, History};
use super::{Inner, Mirroring, Stack, StackOptions, contained};
use crate::context::Contexts;
use crate::error::{Error, Result};
use crate::frame::Repair;
use crate::store::folder::Folder;
use crate::store::mirror::{Mirror, PATIENCE};
use crate::store::{Store, export, layout};
use crate::tree::{Commit, Tree};

impl Stack {
    /// True if the text that names a stack is the URL of a server, and not a folder. It is also true for a
    /// mistyped URL that no server has, because no process should make a folder with a password in its name.
    ///
    /// ```
    /// use callstack_core::Stack;
    ///
    /// assert!(Stack::is_url("postgres://me@db.example/agents/shop"));
    /// assert!(Stack::is_url("postgres:me:secret@db.example/agents/shop"));
    /// assert!(!Stack::is_url("projects/shop") && !Stack::is_url("C:/projects/shop"));
    /// ```
    pub fn is_url(name: &str) -> bool {
        let name = name.trim_start();
        if ["postgres//", "postgresql//"].iter().any(|beginning| name.starts_with(beginning)) {
            return true;
        }
        let (scheme, rest) = name.split_once(':').unwrap_or_default();
        // A single letter is the drive of Windows.
        let is_scheme = scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+');
        is_scheme && (rest.starts_with('/') || scheme.to_ascii_lowercase().starts_with("postgres"))
    }

    /// Opens the stack in a folder, as `Stack::open` does, but with its events in the given store instead of
    /// an SQLite database.
    ///
    /// # Errors
    /// The errors of the store; [`Error::History`] if its events do not fit together; [`Error::Damaged`] or
    /// [`Error::Version`] for files that cannot be imported; [`Error::Io`], [`Error::DiskFull`],
    /// [`Error::ReadOnly`].
    pub fn open_with_store(
        folder: impl AsRef<Path>,
        store: impl Store + 'static,
        options: StackOptions,
    ) -> Result<Self> {
        let deadline = Deadline::begin(options.busy_limit());
        Self::opened(&Folder::open_or_create(folder.as_ref())?, store, options, &deadline)
    }

    /// As [`Stack::open_with_store`], as a part of a call with this time limit.
    pub(super) fn opened(
        folder: &Folder,
        store: impl Store + 'static,
        options: StackOptions,
        deadline: &Deadline,
    ) -> Result<Self> {
        let now = (options.clock)();
        Self::founded(Some(folder), Box::new(store), options, deadline, |journal, tree| {
            let mut repairs = Vec::new();
            journal.found(tree, deadline, || {
                let Some((state, found)) = layout::read(folder)? else { return Ok(Commit::default()) };
                let (tree, inconsistent) = Tree::from_state(state);
                layout::keep(folder, layout::BEFORE_IMPORT)?;
                repairs.extend(found.into_iter().chain(inconsistent));
                Ok(tree.founding(now))
            })?;
            journal.remove_earlier_state(tree);
            Ok(repairs)
        })
    }

    /// Opens a stack whose events are in a store, without a folder. It has a history, but no mirror, and logs
    /// only if the store keeps them.
    ///
    /// # Errors
    /// The errors of the store; [`Error::History`] if its events do not fit together.
    pub fn with_store(store: impl Store + 'static, options: StackOptions) -> Result<Self> {
        let deadline = Deadline::begin(options.busy_limit());
        Self::founded(None, Box::new(store), options, &deadline, |_, _| Ok(Vec::new()))
    }

    /// Makes a stack in an empty store, without a folder, from a history that [`History::export`] has
    /// written. The stack has the same frames with the same handles, and the same history. The history is
    /// read event by event, and only few finished trees are in memory at a time.
    ///
    /// ```
    /// use callstack_core::{MemoryStore, NewFrame, Stack, StackOptions};
    ///
    /// let stack = Stack::with_store(MemoryStore::new(), StackOptions::default())?;
    /// stack.push(NewFrame::new("Build a shop"))?;
    /// let mut history = Vec::new();
    /// stack.history().export(&mut history)?;
    /// let copy = Stack::rebuild_in_store(MemoryStore::new(), &*history, StackOptions::default())?;
    /// assert_eq!(copy.read(|tree| tree.state())?, stack.read(|tree| tree.state())?);
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotEmpty`] if the store has events; [`Error::Json`] with the line, or [`Error::History`] with
    /// the event, for an invalid history; [`Error::InMemory`] for a compacted history, if the store keeps no
    /// snapshots; the errors of the store.
    pub fn rebuild_in_store(store: impl Store + 'static, history: impl BufRead, options: StackOptions) -> Result<Self> {
        let deadline = Deadline::begin(options.busy_limit()).started();
        Self::rebuilt(None, Box::new(store), history, options, &deadline)
    }

    /// As [`Stack::rebuild_in_store`], with a folder for the files beside the store, as
    /// [`Stack::open_with_store`] has.
    ///
    /// # Errors
    /// As [`Stack::rebuild_in_store`]; the errors of the folder, before the store is changed.
    pub fn rebuild_with_store(
        folder: impl AsRef<Path>,
        store: impl Store + 'static,
        history: impl BufRead,
        options: StackOptions,
    ) -> Result<Self> {
        let folder = Folder::open_or_create(folder.as_ref())?;
        let deadline = Deadline::begin(options.busy_limit()).started();
        Self::rebuilt(Some(&folder), Box::new(store), history, options, &deadline)
    }

    /// Makes a stack in an empty store from a history.
    pub(super) fn rebuilt(
        folder: Option<&Folder>,
        store: Box<dyn Store>,
        history: impl BufRead,
        options: StackOptions,
        deadline: &Deadline,
    ) -> Result<Self> {
        let mut was_empty = false;
        let stack = Self::founded(folder, store, options, deadline, |journal, tree| {
            was_empty = journal.record(tree, deadline, export::read_lines(history))?;
            Ok(Vec::new())
        })?;
        let place = || folder.map_or("the store".into(), |folder| folder.path().display().to_string());
        if was_empty { Ok(stack) } else { Err(Error::NotEmpty { path: place() }) }
    }

    /// Opens a stack from the history of a store. `found` gives an empty history its first events, and
    /// returns what it has repaired.
    pub(super) fn founded(
        folder: Option<&Folder>,
        store: Box<dyn Store>,
        options: StackOptions,
        deadline: &Deadline,
        found: impl FnOnce(&mut Journal, &SharedTree) -> Result<Vec<Repair>>,
    ) -> Result<Self> {
        let mirror = folder.filter(|_| options.mirror != Mirroring::Off).map(|folder| {
            let is_immediate = options.mirror == Mirroring::WithCommands;
            Mirror::new(folder, is_immediate)
        });
        let mut journal = Journal::new(store, mirror, folder, &options);
        let (tree, mut repairs) = deadline.stated(journal.load(deadline))?;
        let is_new = tree.revision() == 0;
        let tree = SharedTree::new(tree);
        if is_new {
            repairs.extend(deadline.stated(found(&mut journal, &tree))?);
        }
        // A failure does not fail the opening: the files are written later, and the mirror's status has the
        // error.
        let span_clock = span_clock(&options);
        let _ = journal.write_mirror(&tree, &span_clock, MirrorScope::DueBeside, &deadline.within(PATIENCE));
        let stack = Self::with_tree(tree, journal, repairs, options, span_clock);
        stack.end_waits();
        Ok(stack)
    }

    pub(super) fn of(tree: Tree, journal: Journal, repairs: Vec<Repair>, options: StackOptions) -> Self {
        let span_clock = span_clock(&options);
        Self::with_tree(SharedTree::new(tree), journal, repairs, options, span_clock)
    }

    fn with_tree(
        tree: SharedTree,
        journal: Journal,
        repairs: Vec<Repair>,
        options: StackOptions,
        span_clock: SpanClock,
    ) -> Self {
        let busy_timeout = options.busy_limit();
        let StackOptions { clock, random, counter, finished_frames, .. } = options;
        let folder = journal.folder.clone();
        let inner = Inner {
            contexts: Contexts::new(
                counter,
                folder.as_ref().map(|folder| folder.path().to_owned()).unwrap_or_default(),
            ),
            log_folder: folder,
            stored_logs: journal.store.as_ref().and_then(|store| store.logs()),
            history: journal.store.as_ref().and_then(|store| store.reader()),
            word_index: journal.store.as_ref().and_then(|store| store.word_index()),
            mirror: Mutex::new(journal.mirror_view(&tree)),
            journal: ReentrantMutex::new(RefCell::new(journal)),
            tree,
            is_broken: AtomicBool::new(false),
            groups_looked_at: AtomicU64::new(0),
            repairs,
            finished_frames,
            clock,
            span_clock,
            random,
            busy_timeout,
            #[cfg(feature = "session")]
            host: Default::default(),
        };
        Self { inner: Arc::new(inner), deadline: None, actor: None }
    }

    /// Applies the commits of other processes, so that queries show them. Returns true if there were any. If
    /// there are none, the call takes a few microseconds.
    ///
    /// # Errors
    /// The errors of every command: see [`Stack`].
    pub fn refresh(&self) -> Result<bool> {
        let call = self.as_one_call();
        let is_new = call.command(|journal, deadline| {
            let is_new = journal.refresh(&self.inner.tree, deadline)?;
            journal.drop_finished(&self.inner.tree);
            Ok(is_new)
        })?;
        call.end_waits();
        if !self.leaves_state_to_poll() {
            // The mirror's status keeps the error.
            let _ = call.write_mirror(MirrorScope::DueBeside);
        }
        Ok(is_new)
    }

    /// Writes the files of the mirror that are in the scope. Waits a short time for another process that
    /// writes them; a poll does not wait, because commands of other threads would wait too.
    pub(super) fn write_mirror(&self, scope: MirrorScope) -> Result<()> {
        let patience = if scope == MirrorScope::Due { Duration::ZERO } else { PATIENCE };
        self.command(|journal, deadline| {
            let (tree, clock) = (&self.inner.tree, &self.inner.span_clock);
            journal.write_mirror(tree, clock, scope, &deadline.within(patience))
        })
    }

    /// The files of the mirror that a command writes, if it writes any. If the host polls, commands leave
    /// `state.json` to the poll, when no caller waits.
    pub(super) fn mirror_scope(&self) -> MirrorScope {
        if self.leaves_state_to_poll() { MirrorScope::ChangedFrames } else { MirrorScope::DueInCommand }
    }

    fn leaves_state_to_poll(&self) -> bool {
        #[cfg(feature = "session")]
        return self.is_polled();
        #[cfg(not(feature = "session"))]
        return false;
    }

    /// Flushes the stack and drops this clone. The database is closed when the last clone is dropped.
    /// Dropping the last clone without this call also writes the files, but does not report errors and does
    /// not sync the store. A panic of the clock or of the store during the drop does not reach the caller.
    ///
    /// # Errors
    /// As [`Files::flush`].
    pub fn close(self) -> Result<()> {
        self.files().flush()
    }

    /// Ends the use of the stack in a process that ends now, and is faster than a drop. It writes the files
    /// beside the database that a drop would write, but at most those of 64 frames, and leaves the rest to
    /// the end of the process, which frees the memory and releases the locks. If more files are out of date,
    /// `state.json` stays as it is, and another process writes both. The write-ahead log stays beside the
    /// database if it has less than 2 MB; a longer one is moved into the database, because the next process
    /// would have to read it. Errors are not reported.
    ///
    /// Acknowledged commands are as safe as before: see [`Durability`](crate::Durability). In a process that
    /// continues, the memory and the open files of the stack stay in use.
    pub fn leave(self) {
        let _ = self.write_mirror(MirrorScope::Last);
        let _ = self.with_journal(|journal, _| {
            journal.store.iter_mut().for_each(|store| store.leave());
            Ok(())
        });
        mem::forget(self);
    }
}

/// The clock for spans that the options describe.
fn span_clock(options: &StackOptions) -> SpanClock {
    let source = options.monotonic_clock.as_ref().unwrap_or(&options.clock);
    SpanClock::new(source.clone(), (options.clock)())
}

impl Drop for Inner {
    fn drop(&mut self) {
        #[cfg(feature = "session")]
        contained(|| super::host::end_calls(self));
        let Self { journal, tree, span_clock, history, .. } = self;
        let journal = journal.get_mut().get_mut();
        let deadline = Deadline::begin(PATIENCE);
        contained(|| drop(journal.write_mirror(tree, span_clock, MirrorScope::Rest, &deadline)));
        // The store is closed last, because the last connection to a database tidies up its files.
        contained(|| *history = None);
        contained(|| journal.abandon());
    }
}
