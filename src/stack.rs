//! [`Stack`]: the type that hosts use. It executes commands, answers queries, and produces contexts.

mod archive;
mod compact;
mod contexts;
mod correcting;
mod deadline;
mod files;
#[cfg(all(feature = "session", feature = "sqlite"))]
mod health;
mod heap;
mod history;
mod holding;
#[cfg(feature = "session")]
mod host;
mod journal;
#[cfg(feature = "session")]
mod kept_settings;
mod limits;
mod logs;
mod open;
mod options;
mod plan_file;
mod planning;
mod queries;
mod recording;
mod results;
mod run;
mod search;
mod shared_tree;
mod span_clock;
#[cfg(feature = "sqlite")]
mod sqlite;
mod upkeep;
mod word_index;
mod working;

use std::cell::RefCell;
use std::fmt;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, ReentrantMutex};

pub use self::compact::HistoryCompaction;
#[cfg(all(feature = "session", feature = "sqlite"))]
pub use self::compact::RepairedFiles;
use self::deadline::Deadline;
pub use self::files::Files;
#[cfg(all(feature = "session", feature = "sqlite"))]
pub use self::health::{Health, HostHealth, MirrorHealth};
pub use self::heap::Heap;
pub use self::history::History;
pub use self::holding::Work;
#[cfg(feature = "tools")]
pub(crate) use self::host::Turns;
#[cfg(feature = "session")]
pub use self::host::{Host, HostSettings, SessionContext};
use self::journal::{Journal, MirrorView};
pub use self::logs::FrameLog;
pub use self::options::{Clock, Mirroring, Random, StackOptions};
pub use self::plan_file::PlanFileState;
pub use self::results::{EditedPlan, Invalidated, Popped, Reopened, Retried, Undone};
pub use self::run::Run;
use self::shared_tree::SharedTree;
use self::span_clock::SpanClock;
pub use self::upkeep::Upkeep;
use crate::context::Contexts;
use crate::error::{Error, Result};
#[cfg(doc)]
use crate::frame::FrameRef;
use crate::frame::{Actor, Event, Repair, StackState};
use crate::store::folder::Folder;
use crate::store::layout;
use crate::store::mirror::PATIENCE;
use crate::store::{HistoryReader, LogReader, WordIndex};
#[cfg(feature = "session")]
use crate::tree::decide_each;
use crate::tree::{Command, Commit, Tree, decide_as};

/// A call stack: a tree of frames, and the contexts of its frames.
///
/// Clones are cheap and share one stack. Any thread may call any method at any time. Commands (methods that
/// change the stack) run one after the other.
///
/// **Storage.** A stack in a folder (`Stack::open`) is persistent: an acknowledged command survives the end
/// of the process. Any number of processes may open the same folder. Every command first applies the commits
/// of the other processes; queries show them after the next command or [`Stack::refresh`].
///
/// **Waiting.** A command waits for commands of other threads and other processes, and for the locks of the
/// files that it writes, in all up to [`StackOptions::busy_timeout`]; then it fails with [`Error::Busy`].
/// Queries wait only while a command changes the tree in memory, not while it uses the disk. (Exceptions:
/// [`History::events`] and [`History::export`] wait for commands if the stack has a [`Store`](crate::Store)
/// of the caller without a [`Store::reader`](crate::Store::reader). A query of a frame that is not in memory
/// reads its tree from the database, for which it waits up to ten seconds; commands do not wait for it,
/// unless a host asks for the context of a session.)
///
/// **References.** A [`FrameRef`] names a frame by its handle (`f3`), its ID, the beginning of an ID, its
/// title, or the beginning of the title of an unfinished frame. The beginning or title must match exactly one
/// frame, else the error is [`Error::AmbiguousFrame`]; no match is [`Error::UnknownFrame`]. A text of `f` and
/// digits is always a handle; an ID of this form is written `id:f3`.
///
/// **Errors.** [`Error`] describes the state after a failed call. Every command can fail with these errors,
/// which the methods do not list:
///
/// - Storage errors, only of stacks with a store: [`Error::Io`], [`Error::DiskFull`], [`Error::ReadOnly`],
///   [`Error::Damaged`] (see [`Stack::is_broken`]), [`Error::Version`].
/// - [`Error::Busy`], also of stacks in memory, if commands of other threads do not end in time.
/// - [`Error::InsideRead`] inside of [`Stack::read`], and in code that the stack calls: a token counter,
///   [`Clock`], [`Random`] or [`Store`](crate::Store).
/// - [`Error::Broken`] after a panic in an earlier command: see [`Stack::is_broken`].
///
/// **Out of memory.** A failed allocation ends the process, as in most Rust programs. Acknowledged commits
/// survive it.
///
/// ```
/// use callstack_core::{NewFrame, PopStatus, Results, Settings, Stack};
///
/// let stack = Stack::in_memory();
/// let root = stack.push(NewFrame::new("Build the API").id("ses_1").criteria("All routes work"))?;
/// let auth = stack.push(NewFrame::new("Authentication").id("ses_2").below(root))?;
/// let results = Results::new("JWT with refresh tokens in src/auth.rs").compacted("JWT in src/auth.rs");
/// stack.pop(auth, PopStatus::Completed, results)?;
/// let routes = stack.push(NewFrame::new("Routes behind authentication").id("ses_3").below(root))?;
/// let context = stack.context(routes, &Settings::default())?;
/// assert!(context.xml.contains("JWT in src/auth.rs"));
/// assert!(context.tokens <= 4000);
/// # Ok::<(), callstack_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Stack {
    inner: Arc<Inner>,
    /// The time limit of the call that uses this clone. `None`: each call has its own limit.
    deadline: Option<Deadline>,
    /// The actor that gives the commands of this clone: see [`Stack::as_actor`].
    actor: Option<Arc<Actor>>,
}

struct Inner {
    /// Locked for a whole command, and before the tree, so that the command is decided on the newest tree.
    /// A command inside of a command, in code of the host, finds it borrowed.
    journal: ReentrantMutex<RefCell<Journal>>,
    tree: SharedTree,
    /// The state of the mirror after the last command, for queries. They do not wait for the journal.
    mirror: Mutex<MirrorView>,
    /// Reads the history without the journal's lock. `None` if the store has no reader.
    history: Option<Box<dyn HistoryReader>>,
    /// The index for searches, if the store keeps one.
    word_index: Option<Arc<dyn WordIndex>>,
    /// A command has panicked and may have changed the tree partially.
    is_broken: AtomicBool,
    /// The last revision of the plan at which the stack looked for groups whose parts are done.
    groups_looked_at: AtomicU64,
    contexts: Contexts,
    /// The folder of the stack. `None`: the stack keeps no files of logs.
    log_folder: Option<Folder>,
    /// Reads the logs that the store keeps, in place of files.
    stored_logs: Option<Arc<dyn LogReader>>,
    repairs: Vec<Repair>,
    finished_frames: usize,
    clock: Clock,
    span_clock: SpanClock,
    random: Random,
    busy_timeout: Duration,
    #[cfg(feature = "session")]
    host: host::HostState,
}

impl fmt::Debug for Stack {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tree = self.inner.tree.read();
        let mut structure = formatter.debug_struct("Stack");
        structure.field("frames", &tree.len()).field("active", &tree.active()).field("revision", &tree.revision());
        structure.finish_non_exhaustive()
    }
}

impl Stack {
    /// Creates an empty stack in the process memory. It keeps no history and no logs. [`Stack::with_store`]
    /// and a [`MemoryStore`](crate::MemoryStore) make a stack in memory with a history.
    pub fn in_memory() -> Self {
        Self::with_options(StackOptions::default())
    }

    /// Creates an empty stack in memory, as [`Stack::in_memory`] does, with a clock, random numbers or a
    /// token counter of the caller.
    pub fn with_options(options: StackOptions) -> Self {
        Self::of(Tree::new(), Journal::none(), Vec::new(), options)
    }

    /// Creates a stack in memory from a stored state. The list has an entry for each inconsistency of the
    /// state, with its repair; no frame is lost. A `logPath` that leads out of a stack's folder is removed.
    /// Contexts do not name the other log paths either, because the state may come from a stranger. A host
    /// that knows a log names it with [`FrameLog::set_path`].
    pub fn from_state(mut state: StackState, options: StackOptions) -> (Self, Vec<Repair>) {
        let mut repairs = Vec::new();
        layout::drop_outside_logs(&mut state, Path::new(""), &mut repairs);
        let (tree, inconsistent) = Tree::from_state(state);
        repairs.extend(inconsistent);
        (Self::of(tree, Journal::none(), repairs.clone(), options), repairs)
    }

    /// Executes a command and returns its events; the list is empty if the stack already is as the command
    /// asks. The other methods call this one. They generate missing IDs; this method does not.
    ///
    /// # Errors
    /// The errors of [`decide_as`], and those of every command (see [`Stack`]). [`Error`] describes the state
    /// after a failed command.
    pub fn execute(&self, command: Command) -> Result<Vec<Event>> {
        self.execute_made(|| command)
    }

    /// Executes a command. `make` makes it when the journal is locked, so generated IDs have the command's
    /// time.
    fn execute_made(&self, make: impl FnOnce() -> Command) -> Result<Vec<Event>> {
        self.commit(make, |tree, command, now| decide_as(tree, self.actor.as_deref(), command, now))
    }

    /// Executes commands one after the other as one commit: all of them are kept, or none. A command that is
    /// refused does not stop the others. Returns the errors of the refused commands, with their places.
    ///
    /// # Errors
    /// The reason why the commit has failed, and its first event if the commands were decided: the store may
    /// have kept the commit.
    #[cfg(feature = "session")]
    fn execute_together(
        &self,
        commands: Vec<Command>,
    ) -> std::result::Result<RefusedCommands, (Error, Option<Box<Event>>)> {
        let (mut refused, mut first) = (Vec::new(), None);
        let committed = self.commit(
            || commands,
            |tree, commands, now| {
                let (commit, errors) = decide_each(tree, self.actor.as_deref(), commands, now);
                refused = errors;
                first = commit.events.first().cloned().map(Box::new);
                Ok(commit)
            },
        );
        committed.map(|_| refused).map_err(|error| (error, first))
    }

    /// Makes a command, decides it on the newest tree, and commits the result. Every change of a stack uses
    /// this function.
    fn commit<C>(
        &self,
        make: impl FnOnce() -> C,
        decide: impl FnOnce(&Tree, C, u64) -> Result<Commit>,
    ) -> Result<Vec<Event>> {
        let committed = self.command(|journal, deadline| {
            let (now, command) = ((self.inner.clock)(), make());
            let committed = journal.commit(&self.inner.tree, deadline, |tree| {
                self.actor.as_ref().map_or(Ok(()), |actor| tree.check_hold(actor))?;
                decide(tree, command, now)
            })?;
            // The mirror is derived from the store, so its failure does not fail the command. Its status
            // keeps the error.
            let (tree, clock) = (&self.inner.tree, &self.inner.span_clock);
            let _ = journal.write_mirror(tree, clock, self.mirror_scope(), &deadline.within(PATIENCE));
            Ok(committed)
        })?;
        if committed.has_new_log {
            // Cached contexts were made before the log existed and do not name it.
            self.inner.contexts.clear_cache(None);
        }
        #[cfg(feature = "session")]
        self.broken_by_panic(|| self.note(&committed.events));
        Ok(committed.events)
    }

    /// Runs a command with the locked journal. A panic breaks the stack before the lock is released, so no
    /// other command can use this journal.
    fn command<T>(&self, run: impl FnOnce(&mut Journal, &Deadline) -> Result<T>) -> Result<T> {
        self.with_journal(|journal, deadline| {
            journal.check_sound()?;
            let attempt = Attempt { inner: &self.inner, journal };
            self.broken_by_panic(|| {
                let result = run(attempt.journal, deadline);
                attempt.journal.noting_damage(result)
            })
        })
    }

    /// The time limit of a call that begins now.
    fn begin_call(&self) -> Deadline {
        self.deadline.clone().unwrap_or_else(|| Deadline::begin(self.inner.busy_timeout))
    }

    /// A clone for a call that consists of several commands: they share one time limit, which begins now.
    pub(crate) fn as_one_call(&self) -> Self {
        Self { deadline: Some(self.begin_call().started()), ..self.clone() }
    }

    /// Runs code that changes this stack. If it panics, the stack is broken, because the change may be
    /// partial.
    fn broken_by_panic<T>(&self, run: impl FnOnce() -> T) -> T {
        let breaker = Breaker(&self.inner.is_broken);
        let value = run();
        mem::forget(breaker);
        value
    }

    /// Waits until no command runs in another thread, locks the journal, and calls `run` with it and the time
    /// limit.
    ///
    /// # Errors
    /// [`Error::InsideRead`] if this thread already has the tree or the journal. [`Error::Broken`].
    /// [`Error::Busy`].
    fn with_journal<T>(&self, run: impl FnOnce(&mut Journal, &Deadline) -> Result<T>) -> Result<T> {
        self.inner.tree.check_not_lent_here()?;
        let deadline = self.begin_call();
        let journal = self.inner.journal.try_lock().or_else(|| self.inner.journal.try_lock_for(deadline.remaining()));
        let journal = journal.ok_or_else(|| deadline.missed(self.place()))?;
        let mut journal = journal.try_borrow_mut().map_err(|_| Error::InsideRead {})?;
        self.check_working()?;
        deadline.stated(run(&mut journal, &deadline))
    }

    /// The name of this stack in errors.
    fn place(&self) -> String {
        self.inner
            .log_folder
            .as_ref()
            .map_or_else(|| "the stack".to_owned(), |folder| folder.path().display().to_string())
    }

    /// True if a command has panicked: in a [`Clock`], in [`Random`], in a [`Store`](crate::Store), or in the
    /// library. Methods of `Stack::host` and the agent's tools are commands too.
    ///
    /// The store has either the whole command or nothing of it, because a transaction that is not committed
    /// is rolled back. All later commands of this stack fail with [`Error::Broken`], and so do queries that
    /// return a [`Result`]. To continue, open the stack again.
    ///
    /// **A damaged history** does not break the stack. If a command or [`Stack::refresh`] finds an event in
    /// the store that cannot be read or does not fit the events before it, this and all later commands fail
    /// with the same [`Error::Damaged`], and nothing is written any more, neither to the store nor to the
    /// files. The tree keeps the events before the damage, so queries still work, and
    /// [`History::export`] writes exactly these events. `Stack::rebuild` makes a new stack of them in
    /// another folder.
    pub fn is_broken(&self) -> bool {
        self.inner.is_broken.load(Ordering::Acquire)
    }

    pub(crate) fn check_working(&self) -> Result<()> {
        if self.is_broken() { Err(Error::Broken {}) } else { Ok(()) }
    }

    /// Calls `read` with the current tree and returns its result. The tree does not change during the call.
    /// Commands of other threads do not wait for it: they continue with a tree that shares the records of
    /// unchanged frames with this one.
    ///
    /// `read` may call queries of the same stack; they use the same tree. Commands inside of `read` fail with
    /// [`Error::InsideRead`], because `read` would continue with a tree that lacks their changes. `read` may
    /// wait for other threads, also for their commands.
    ///
    /// # Errors
    /// If a frame of a finished tree had to be read from the database, and that failed: the errors of the
    /// database. The value that `read` has returned is then dropped, because it may lack the frame.
    pub fn read<T>(&self, read: impl FnOnce(&Tree) -> T) -> Result<T> {
        self.look(|tree| tree.checked(read))
    }

    /// As [`Stack::read`], for names and texts within a call: if a frame cannot be read, a frame without any
    /// text replaces it. The frame that a call is about was resolved before, which loads its tree.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Tree) -> T) -> T {
        let value = self.inner.tree.lend(look);
        self.drop_finished();
        value
    }

    /// As [`Stack::read`]. If other processes have changed a frame that cannot be read, and have compacted
    /// the history since, `read` is called again with their changes.
    ///
    /// # Errors
    /// [`Error::Broken`]; as [`Stack::read`].
    #[cfg(feature = "capi")]
    pub(crate) fn read_again<T>(&self, read: impl Fn(&Tree) -> T) -> Result<T> {
        self.check_working()?;
        let looked = || self.read(&read);
        looked().or_else(|_| self.refresh().and_then(|_| looked()))
    }

    /// Drops finished trees from memory that queries have loaded, unless a command runs or the tree is lent
    /// to this thread.
    fn drop_finished(&self) {
        let is_excess = self.inner.tree.read().has_excess(self.inner.finished_frames);
        if !is_excess || self.inner.tree.check_not_lent_here().is_err() {
            return;
        }
        if let Some(journal) = self.inner.journal.try_lock()
            && let Ok(journal) = journal.try_borrow()
        {
            journal.drop_finished(&self.inner.tree);
        }
    }

    /// Generates an ID: the prefix, the time in milliseconds, and a random number.
    fn fresh_id(&self, prefix: &str) -> String {
        format!("{prefix}{}-{:016x}", (self.inner.clock)(), (self.inner.random)())
    }
}

/// The errors of commands that were refused, with their places among the commands that were executed together.
#[cfg(feature = "session")]
type RefusedCommands = Vec<(usize, Error)>;

/// A running command. When it is dropped, it closes the journal of a broken stack, and updates the state of
/// the mirror that queries return.
struct Attempt<'a> {
    inner: &'a Inner,
    journal: &'a mut Journal,
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        let has_mirror = self.journal.mirror.is_some();
        if self.inner.is_broken.load(Ordering::Acquire) {
            contained(|| self.journal.abandon());
        }
        if has_mirror {
            *self.inner.mirror.lock() = self.journal.mirror_view(&self.inner.tree);
        }
    }
}

/// Marks a stack as broken when it is dropped.
struct Breaker<'a>(&'a AtomicBool);

impl Drop for Breaker<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Runs code of the host in a destructor. A panic ends here: one that leaves a destructor during another
/// panic would end the process.
fn contained(run: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(run));
}
