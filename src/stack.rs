//! [`Stack`]: the type that hosts use. It executes commands, answers queries, and produces contexts.

mod archive;
mod compact;
mod deadline;
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
mod run;
mod shared_tree;
mod span_clock;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::cell::RefCell;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::{Mutex, ReentrantMutex};
use serde::Serialize;

pub use self::compact::HistoryCompaction;
#[cfg(all(feature = "session", feature = "sqlite"))]
pub use self::compact::RepairedFiles;
use self::deadline::Deadline;
#[cfg(all(feature = "session", feature = "sqlite"))]
pub use self::health::{Health, HostHealth, MirrorHealth};
pub use self::heap::Heap;
#[cfg(feature = "tools")]
pub(crate) use self::host::Turns;
#[cfg(feature = "session")]
pub use self::host::{Host, HostSettings, SessionContext};
use self::journal::{Journal, MirrorView};
pub use self::logs::FrameLog;
pub use self::run::Run;
use self::shared_tree::SharedTree;
use self::span_clock::SpanClock;
use crate::context::{Advice, CacheStatistics, Context, Contexts, Key, Settings, TokenCounter};
use crate::error::{Error, Result};
use crate::frame::{
    Actor, Change, Event, Frame, FrameEdit, FrameRef, FrameStatus, FrameUsage, Handle, Identity, ModelRequest,
    NewFrame, PLANNED_PREFIX, Parent, PopStatus, Repair, Results, StackState,
};
use crate::store::folder::Folder;
use crate::store::layout;
use crate::store::mirror::PATIENCE;
use crate::store::{BUSY_TIMEOUT, Durability, HistoryReader, LogReader};
use crate::tree::{Command, Commit, OutlineOptions, Tree, decide_as, outline};

/// A clock: returns the current time in milliseconds since the Unix epoch.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// A source of random numbers, for the generated IDs `plan-…` and `run-…`.
pub type Random = Arc<dyn Fn() -> u64 + Send + Sync>;

/// A call stack: a tree of frames, and the contexts of its frames.
///
/// Clones are cheap and share one stack. Any thread may call any method at any time. Commands (methods that change the
/// stack) run one after the other.
///
/// **Storage.** A stack in a folder (`Stack::open`) is persistent: an acknowledged command survives the end of the
/// process. Any number of processes may open the same folder. Every command first applies the commits of the other
/// processes; queries show them after the next command or [`Stack::refresh`].
///
/// **Waiting.** A command waits for commands of other threads and other processes, and for the locks of the files that it
/// writes, in all up to [`StackOptions::busy_timeout`]; then it fails with [`Error::Busy`]. Queries wait only while a
/// command changes the tree in memory, not while it uses the disk. (Exceptions: [`Stack::history`] and
/// [`Stack::export_history`] wait for commands if the stack has a [`Store`](crate::Store) of the caller without a
/// [`Store::reader`](crate::Store::reader). A query of a frame that is not in memory reads its tree from the database, for
/// which it waits up to ten seconds; commands do not wait for it, unless a host asks for the context of a session.)
///
/// **References.** A [`FrameRef`] names a frame by its handle (`f3`), its ID, the beginning of an ID, or its title. The
/// beginning or title must match exactly one frame, else the error is [`Error::AmbiguousFrame`]; no match is
/// [`Error::UnknownFrame`]. A text of `f` and digits is always a handle; an ID of this form is written `id:f3`.
///
/// **Errors.** [`Error`] describes the state after a failed call. Every command can fail with these errors, which the
/// methods do not list:
///
/// - Storage errors, only of stacks with a store: [`Error::Io`], [`Error::DiskFull`], [`Error::ReadOnly`],
///   [`Error::Damaged`] (see [`Stack::is_broken`]), [`Error::Version`].
/// - [`Error::Busy`], also of stacks in memory, if commands of other threads do not end in time.
/// - [`Error::InsideRead`] inside of [`Stack::read`], and in code that the stack calls: a token counter, [`Clock`],
///   [`Random`] or [`Store`](crate::Store).
/// - [`Error::Broken`] after a panic in an earlier command: see [`Stack::is_broken`].
///
/// **Out of memory.** A failed allocation ends the process, as in most Rust programs. Acknowledged commits survive it.
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
    /// The time limit of the call that this clone belongs to. `None`: each call has a limit of its own.
    deadline: Option<Deadline>,
    /// Who gives the commands of this clone: see [`Stack::as_actor`].
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
    /// A command has panicked and may have changed the tree partially.
    is_broken: AtomicBool,
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

/// The options of a stack. `durability`, `mirror`, `state_file_frames` and `finished_frames` are used only by stacks in a folder.
#[derive(Clone)]
#[non_exhaustive]
pub struct StackOptions {
    /// The clock of the time of day, for the times of events. Default: the system's clock.
    pub clock: Clock,
    /// The clock for spans: idle times, time limits, the ages of cached contexts and of suggestions. It returns
    /// milliseconds since any moment, and should neither be set nor count while the machine sleeps. `None`: spans are
    /// measured by [`clock`](StackOptions::clock); when that is set back, the time since it was last read does not
    /// count. Default: the system's monotonic clock.
    pub monotonic_clock: Option<Clock>,
    /// The random part of generated IDs. Default: random numbers of this process.
    pub random: Random,
    /// The token counter. Default [`Approx`](crate::context::Approx), which estimates.
    pub counter: Arc<dyn TokenCounter>,
    /// The failures that an acknowledged commit survives. Default [`Durability::Normal`].
    pub durability: Durability,
    /// Maximum wait of one call, in milliseconds; then it fails with [`Error::Busy`]. It begins with the call and covers
    /// everything that the call waits for: commands of other threads, other processes in the database, the lock of a
    /// log, and in [`Stack::flush`] and [`Stack::export_files`] the lock of the files. Default 10,000.
    pub busy_timeout: u64,
    /// True: keep `state.json` and `frames/` up to date next to the database. Default true.
    pub mirror: bool,
    /// Number of frames above which commands, and the end of the stack, write only the files of the frames that they have
    /// changed. `state.json`, whose size grows with the tree, is then left to [`Stack::flush`] and to other processes. For
    /// programs that make one change and end. Default `usize::MAX`: `state.json` is always written.
    pub state_file_frames: usize,
    /// Maximum number of frames of finished trees that stay in memory: those of the trees that were used last. The others are
    /// read from the database when they are asked for, a tree at a time. It changes how long calls take, but not what they
    /// return. Default 4,096.
    pub finished_frames: usize,
}

impl StackOptions {
    /// Sets the clock, and [`monotonic_clock`](StackOptions::monotonic_clock) to `None`, so that the given clock is the
    /// only one.
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock, monotonic_clock: None, ..self }
    }

    setters! {
        monotonic_clock: Option<Clock>,
        random: Random,
        counter: Arc<dyn TokenCounter>,
        durability: Durability,
        busy_timeout: u64,
        mirror: bool,
        state_file_frames: usize,
        finished_frames: usize,
    }

    fn busy_limit(&self) -> Duration {
        Duration::from_millis(self.busy_timeout)
    }
}

impl Default for StackOptions {
    fn default() -> Self {
        Self {
            clock: Arc::new(system_time),
            monotonic_clock: Some(monotonic_time()),
            random: system_random(),
            counter: Arc::new(crate::context::Approx),
            durability: Durability::default(),
            busy_timeout: BUSY_TIMEOUT,
            mirror: true,
            state_file_frames: usize::MAX,
            finished_frames: 4_096,
        }
    }
}

/// The result of [`Stack::pop`].
///
/// In JSON: `{"handle": "f2", "parent": "f1", "active": "f1", "stillOpen": [], "stillPlanned": ["f4"]}`; `parent` and
/// `active` can be null. With [`Stack::pop_and_begin`] also `"next": "f3"`, if a frame has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Popped {
    /// The popped frame.
    pub handle: Handle,
    /// Its parent; `None` if it is a root.
    pub parent: Option<Handle>,
    /// The active frame after the pop; `None` if there is none.
    pub active: Option<Handle>,
    /// Frames below the popped frame that are still in_progress or blocked. The pop did not change them.
    pub still_open: Vec<Handle>,
    /// Frames below the popped frame that are still planned.
    pub still_planned: Vec<Handle>,
    /// The frame that has begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Handle>,
}

/// The result of [`Stack::invalidate`].
///
/// In JSON: `{"invalidated": ["f2", "f4"], "stillOpen": ["f3"], "dependents": ["f5"]}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Invalidated {
    /// The invalidated frames: the frame itself, then the planned frames below it.
    pub invalidated: Vec<Handle>,
    /// Frames below it that are still in_progress or blocked. The command did not change them.
    pub still_open: Vec<Handle>,
    /// Unfinished frames that depend on one of the invalidated frames.
    pub dependents: Vec<Handle>,
}

/// The result of [`Stack::reopen`].
///
/// In JSON: `{"handle": "f2", "waiting": ["f3"], "begun": ["f4"]}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Reopened {
    /// The frame that goes on.
    pub handle: Handle,
    /// Planned frames that depend on it. They wait again.
    pub waiting: Vec<Handle>,
    /// Frames that depend on it and have begun, or ended: they have used results that were wrong.
    pub begun: Vec<Handle>,
}

/// The result of [`Stack::undo`].
///
/// In JSON: `{"command": "pop", "frames": ["f2"]}`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Undone {
    /// What the command was, such as `pop`.
    pub command: String,
    /// The frames that are as they were before it. Those that it had added are invalidated.
    pub frames: Vec<Handle>,
}

/// The result of [`Stack::retry`].
///
/// In JSON: `{"handle": "f7", "attempt": 2, "invalidated": ["f4"], "stillOpen": ["f3"]}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Retried {
    /// The new frame, which is planned.
    pub handle: Handle,
    /// Which attempt it is, counted from 1.
    pub attempt: usize,
    /// The frames below the earlier attempt that were planned. They are invalidated.
    pub invalidated: Vec<Handle>,
    /// Frames below the earlier attempt that are still in_progress or blocked. The command did not change them.
    pub still_open: Vec<Handle>,
}

impl Stack {
    /// Creates an empty stack in the process memory. It keeps no history and no logs. [`Stack::with_store`] and a
    /// [`MemoryStore`](crate::MemoryStore) make a stack in memory with a history.
    pub fn in_memory() -> Self {
        Self::with_options(StackOptions::default())
    }

    /// Creates an empty stack in memory, as [`Stack::in_memory`] does, with a clock, random numbers or a token counter
    /// of the caller.
    pub fn with_options(options: StackOptions) -> Self {
        Self::of(Tree::new(), Journal::none(), Vec::new(), options)
    }

    /// Creates a stack in memory from a stored state. The list has an entry for each inconsistency of the state, with
    /// its repair; no frame is lost. A `logPath` that leads out of a stack's folder is removed, and contexts name none of the
    /// others: the state may come from a stranger. A host that knows a log names it with [`FrameLog::set_path`].
    pub fn from_state(mut state: StackState, options: StackOptions) -> (Self, Vec<Repair>) {
        let mut repairs = Vec::new();
        layout::drop_outside_logs(&mut state, Path::new(""), &mut repairs);
        let (tree, inconsistent) = Tree::from_state(state);
        repairs.extend(inconsistent);
        (Self::of(tree, Journal::none(), repairs.clone(), options), repairs)
    }

    /// Executes a command and returns its events; the list is empty if the stack already is as the command asks. The
    /// other methods call this one. They generate missing IDs, which this one does not.
    ///
    /// # Errors
    /// The errors of [`decide_as`], and those of every command (see [`Stack`]). [`Error`] describes the state after a
    /// failed command.
    pub fn execute(&self, command: Command) -> Result<Vec<Event>> {
        self.execute_made(|| command)
    }

    /// Executes a command. `make` makes it when the journal is locked, so generated IDs have the command's time.
    fn execute_made(&self, make: impl FnOnce() -> Command) -> Result<Vec<Event>> {
        self.commit(make, |tree, command, now| decide_as(tree, self.actor.as_deref(), command, now))
    }

    /// Makes a command, decides it on the newest tree, and commits the result. Every change of a stack uses this
    /// function.
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
            // The mirror is derived from the store, so its failure does not fail the command. Its status keeps the
            // error.
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

    /// Runs a command with the locked journal. A panic breaks the stack before the lock is released, so no other command
    /// can use this journal.
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

    /// Runs code that changes this stack. If it panics, the stack is broken, because the change may be partial.
    fn broken_by_panic<T>(&self, run: impl FnOnce() -> T) -> T {
        let breaker = Breaker(&self.inner.is_broken);
        let value = run();
        mem::forget(breaker);
        value
    }

    /// Waits until no command runs in another thread, locks the journal, and calls `run` with it and the time limit.
    ///
    /// # Errors
    /// [`Error::InsideRead`] if this thread already has the tree or the journal. [`Error::Broken`]. [`Error::Busy`].
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

    /// True if a command has panicked: in a [`Clock`], in [`Random`], in a [`Store`](crate::Store), or in the library.
    /// Methods of `Stack::host` and the agent's tools are commands too.
    ///
    /// The store has either the whole command or nothing of it, because a transaction that is not committed is rolled
    /// back. All later commands of this stack fail with [`Error::Broken`], and so do queries that return a [`Result`].
    /// To continue, open the stack again.
    ///
    /// **A damaged history** does not break the stack. If a command or [`Stack::refresh`] finds an event in the store
    /// that cannot be read or does not fit the events before it, this and all later commands fail with the same
    /// [`Error::Damaged`], and nothing is written any more, neither to the store nor to the files. The tree keeps the
    /// events before the damage, so queries go on, and [`Stack::export_history`] writes exactly these events.
    /// `Stack::rebuild` makes a new stack of them in another folder.
    pub fn is_broken(&self) -> bool {
        self.inner.is_broken.load(Ordering::Acquire)
    }

    fn check_working(&self) -> Result<()> {
        if self.is_broken() { Err(Error::Broken {}) } else { Ok(()) }
    }

    /// Creates a frame with the status in_progress and makes it the active frame. Without [`NewFrame::below`] and
    /// [`NewFrame::root`], its parent is found as [`Parent::Auto`] says. If the parent uses registers, the
    /// frame inherits some of them. A frame without an ID gets one of the form `plan-…`.
    ///
    /// # Errors
    /// - [`Error::DuplicateId`] if another frame has the ID.
    /// - [`Error::Empty`] if the ID or the title is blank; [`Error::TooLong`] for an ID of more than [`Frame::LONGEST_ID`] characters.
    /// - [`Error::UnknownFrame`] or [`Error::AmbiguousFrame`] for the parent or a dependency.
    /// - [`Error::ParentClosed`] or [`Error::ParentPlanned`] if the parent is not in_progress or blocked.
    /// - [`Error::Dependency`] if the frame depends on one of its ancestors.
    /// - [`Error::Full`] if the tree has [`Handle::LIMIT`] frames.
    pub fn push(&self, frame: NewFrame) -> Result<Handle> {
        self.execute_made(|| Command::Push(self.with_id(frame))).map(first_handle)
    }

    /// Creates a frame with the status planned. A frame without an ID gets one of the form `plan-…`.
    ///
    /// # Errors
    /// As [`Stack::push`], except [`Error::ParentPlanned`]: the parent may be planned.
    pub fn plan(&self, frame: NewFrame) -> Result<Handle> {
        self.execute_made(|| Command::Plan(self.with_id(frame))).map(first_handle)
    }

    /// Creates several planned children of one parent, all or none, and returns their handles in the order of the list.
    /// With [`Parent::Root`] they become roots. A child may depend on any other child of the list, also on a later one, by
    /// its title or its ID ([`Stack::planned_id`] makes one beforehand). The `parent` and `caller` of the children are
    /// ignored.
    ///
    /// # Errors
    /// As [`Stack::plan`], for any of the children; [`Error::Child`] says which one. [`Error::DuplicateId`] also if two
    /// children have the same ID; [`Error::AmbiguousFrame`] also if two have the title that a dependency names;
    /// [`Error::Dependency`] also if dependencies form a circle.
    pub fn plan_children(&self, parent: impl Into<Parent>, children: Vec<NewFrame>) -> Result<Vec<Handle>> {
        let parent = parent.into();
        let events = self.execute_made(|| {
            let children = children.into_iter().map(|child| self.with_id(child)).collect();
            Command::PlanChildren { parent, caller: None, children }
        })?;
        Ok(frames_with(&events, |change| matches!(change, Change::Added { .. })))
    }

    /// Returns the frame of a session. If the session has no frame, creates a placeholder frame with the status
    /// in_progress, which becomes the active frame if there is none. Without a title, the placeholder is called
    /// `Session ` and the first 8 characters of the ID.
    ///
    /// # Errors
    /// [`Error::Empty`] if the ID is blank; [`Error::UnknownFrame`] or [`Error::AmbiguousFrame`] for the parent;
    /// [`Error::Full`].
    pub fn ensure(&self, session_id: &str, title: Option<&str>, parent: Option<FrameRef>) -> Result<Handle> {
        self.check_working()?;
        if let Some(handle) = self.read(|tree| tree.by_id(session_id)) {
            return Ok(handle);
        }
        let command = Command::Ensure { session_id: session_id.to_owned(), title: title.map(str::to_owned), parent };
        self.execute(command)?;
        self.resolve(FrameRef::Id(session_id.to_owned()))
    }

    /// Sets the title and criteria of a placeholder frame for good. Those of a placeholder that has criteria are also set
    /// for good when a frame is pushed, planned or imported below it.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::Empty`] if the title is blank;
    /// [`Error::IdentityFixed`] if the frame is not a placeholder.
    pub fn identify(&self, frame: impl Into<FrameRef>, identity: Identity) -> Result<()> {
        self.execute(Command::Identify { frame: frame.into(), identity, provisional: false }).map(drop)
    }

    /// Edits a planned frame: its title, criteria and dependencies, its parent, and its order among its siblings. The frames
    /// below it move with it. An edit that changes nothing is no error.
    ///
    /// # Errors
    /// - [`Error::NotPlanned`] if the frame has begun, or is invalidated.
    /// - [`Error::Empty`] if the title is blank.
    /// - [`Error::UnknownFrame`] or [`Error::AmbiguousFrame`] for the frame, the parent, a dependency or the sibling.
    /// - [`Error::ParentClosed`] if the new parent is completed, failed or invalidated; [`Error::ParentCircle`] if it is the
    ///   frame or below it.
    /// - [`Error::NotSibling`] if the frame would stand before one with another parent.
    /// - [`Error::RetryLink`] if the frame begins another one anew and would get another parent.
    /// - [`Error::Dependency`] if dependencies would form a circle, or a frame would depend on one above or below it.
    pub fn edit(&self, frame: impl Into<FrameRef>, edit: FrameEdit) -> Result<()> {
        self.execute(Command::Edit { frame: frame.into(), edit }).map(drop)
    }

    /// Starts a planned frame: its status becomes in_progress, and it becomes the active frame. Neither its parent nor
    /// its dependencies are checked; [`Stack::ready`] lists the planned frames that can begin.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::Transition`] if the frame is not planned.
    pub fn activate(&self, frame: impl Into<FrameRef>) -> Result<()> {
        self.execute(Command::Activate { frame: frame.into() }).map(drop)
    }

    /// Replaces the ID of a frame. Its handle does not change, and its log is renamed with it.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::Empty`] if the new ID is blank, [`Error::TooLong`] if it has
    /// more than [`Frame::LONGEST_ID`] characters; [`Error::DuplicateId`] if another frame has it.
    pub fn replace_id(&self, frame: impl Into<FrameRef>, session_id: impl Into<String>) -> Result<()> {
        self.execute(Command::ReplaceId { frame: frame.into(), session_id: session_id.into() }).map(drop)
    }

    /// Changes the status, as [`FrameStatus::can_become`] allows. Without results the frame keeps its results. With
    /// results both texts are replaced, as by [`Stack::pop`], which for the status blocked says what the frame waits for; [`Command::SetStatus`] can replace one of them.
    ///
    /// A frame that becomes in_progress becomes the active frame. The status invalidated does the same as
    /// [`Stack::invalidate`]; the full results are then the reason.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::Transition`] if the transition is not allowed;
    /// [`Error::Empty`] for the status invalidated if the reason is blank or missing.
    pub fn set_status(&self, frame: impl Into<FrameRef>, status: FrameStatus, results: Option<Results>) -> Result<()> {
        let (results, results_compacted) = match results {
            Some(Results { full, compacted }) => (Some(full), Some(compacted)),
            None => (None, None),
        };
        self.execute(Command::SetStatus { frame: frame.into(), status, results, results_compacted }).map(drop)
    }

    /// Finishes a frame with results, or blocks it: then the results are what it waits for, as in [`Stack::block`] without
    /// a question. If the active frame is this frame or a frame below it,
    /// the nearest open ancestor becomes the active frame. A root can be popped too: that finishes its task.
    ///
    /// If the frame and its parent use registers, the parent's registers are updated.
    ///
    /// ```
    /// use callstack_core::{NewFrame, PopStatus, Results, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let root = stack.push(NewFrame::new("Build a shop"))?;
    /// let cart = stack.push(NewFrame::new("Cart").below(root))?;
    /// let results = Results::new("Cart with totals in src/cart.rs, 9 tests").compacted("src/cart.rs: Cart::total()");
    /// let popped = stack.pop(cart, PopStatus::Completed, results)?;
    /// assert_eq!(popped.active, Some(root));
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::Transition`] if the frame is neither in_progress
    /// nor blocked.
    pub fn pop(&self, frame: impl Into<FrameRef>, status: PopStatus, results: impl Into<Results>) -> Result<Popped> {
        self.ended(Command::Pop { frame: frame.into(), status, results: results.into() })
    }

    /// Pops a frame, and begins a planned one in the same command: `next`, or with `None` the first planned sibling that can
    /// begin then. Without such a sibling it only pops.
    ///
    /// ```
    /// use callstack_core::{NewFrame, PopStatus, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let root = stack.push(NewFrame::new("Build a shop"))?;
    /// let cart = stack.push(NewFrame::new("Cart").below(root))?;
    /// let pay = stack.plan(NewFrame::new("Pay").below(root).depends_on(cart))?;
    /// let popped = stack.pop_and_begin(cart, PopStatus::Completed, "Totals are right", None)?;
    /// assert_eq!((popped.next, stack.active()), (Some(pay), Some(pay)));
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Stack::pop`]; for `next` [`Error::Transition`] if it is not planned, and [`Error::NotReady`] if it depends on a frame
    /// that is not completed then. Nothing has changed then.
    pub fn pop_and_begin(
        &self,
        frame: impl Into<FrameRef>,
        status: PopStatus,
        results: impl Into<Results>,
        next: Option<FrameRef>,
    ) -> Result<Popped> {
        self.ended(Command::PopAndBegin { frame: frame.into(), status, results: results.into(), next })
    }

    /// Blocks a frame: it waits for something from outside. `question` says what it needs, and from whom; `results` are
    /// the results so far, and `None` keeps those that the frame has. With an empty question the results say what the frame
    /// needs; results so far are kept all the same.
    ///
    /// The context of the parent, of the siblings and of the frames that depend on it show the question, and so does
    /// [`Stack::outline`]. [`Stack::answer`] answers it.
    ///
    /// ```
    /// use callstack_core::{FrameStatus, NewFrame, Settings, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let root = stack.push(NewFrame::new("Build a shop").id("ses_1"))?;
    /// let tax = stack.push(NewFrame::new("Taxes").below(root))?;
    /// stack.block(tax, "Which VAT rate? The user knows", Some("Totals without VAT work".into()))?;
    /// let context = stack.context(root, &Settings::default())?;
    /// assert!(context.xml.contains("Child f2 (Taxes) is blocked: Which VAT rate? The user knows"));
    /// stack.answer(tax, "20 %")?;
    /// stack.set_status(tax, FrameStatus::InProgress, None)?;
    /// let context = stack.context(tax, &Settings::default())?;
    /// assert!(context.xml.contains("<answer>20 %</answer>"));
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Stack::pop`].
    pub fn block(
        &self,
        frame: impl Into<FrameRef>,
        question: impl Into<String>,
        results: Option<Results>,
    ) -> Result<Popped> {
        self.ended(Command::Block {
            frame: frame.into(),
            question: Some(question.into()),
            results,
            interruption: false,
        })
    }

    /// Answers a blocked frame. The frame stays blocked until somebody resumes it: `Stack::host` in a process that runs the
    /// frame's session, the agent's tool `stack_frame_activate`, or [`Stack::set_status`] with in_progress. The command that
    /// resumes it succeeds once, so of several processes only one goes on with the frame; and if the process ends in
    /// between, the answer is still there.
    ///
    /// The answer is shown in the contexts of the frame until the frame is finished. A second answer to one question is
    /// added to the first.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::NotBlocked`] if the frame is not blocked;
    /// [`Error::Empty`] if the answer is blank.
    pub fn answer(&self, frame: impl Into<FrameRef>, answer: impl Into<String>) -> Result<()> {
        self.execute(Command::Answer { frame: frame.into(), answer: answer.into() }).map(drop)
    }

    /// Stops the frames that hosts run, or that [workers](Stack::hold) have, from this one downwards, also those of other processes:
    /// they become blocked, with the reason as what they wait for. A running host notices that at its next poll, within a second: it
    /// aborts their sessions, adds what they have said last as results so far, and answers the callers. A worker notices it when it
    /// renews its hold, which is refused. Each frame can be resumed as any other blocked one; workers may have it when it was
    /// answered. What hosts have queued there does not begin. Where everything has ended nothing is recorded. Returns the stopped
    /// frames.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::Empty`] if the reason is blank.
    pub fn stop(&self, frame: impl Into<FrameRef>, reason: impl Into<String>) -> Result<Vec<Handle>> {
        self.stopped(Some(frame.into()), reason.into())
    }

    /// Stops all frames that hosts run or workers have: see [`Stack::stop`].
    ///
    /// # Errors
    /// [`Error::Empty`] if the reason is blank.
    pub fn stop_all(&self, reason: impl Into<String>) -> Result<Vec<Handle>> {
        self.stopped(None, reason.into())
    }

    fn stopped(&self, frame: Option<FrameRef>, reason: String) -> Result<Vec<Handle>> {
        let events = self.execute(Command::Stop { frame, reason })?;
        Ok(frames_with(&events, |change| matches!(change, Change::StatusChanged { .. })))
    }

    /// Begins a failed or blocked frame anew: creates a planned frame beside it, with the same title, criteria and
    /// dependencies, as its next attempt. `note` says what must be done differently, or answers what the frame waits for.
    ///
    /// A blocked frame fails; its results and its question stay. The planned frames below it are invalidated. The context
    /// of the new frame shows the earlier attempts: why they failed, their artifacts and decisions. Everybody else sees the
    /// newest attempt alone, whose place is behind the one before it, and frames that depend on any attempt wait for the
    /// newest. What the earlier attempt has done to files stays as it is.
    ///
    /// ```
    /// use callstack_core::{NewFrame, PopStatus, Settings, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let root = stack.push(NewFrame::new("Build a shop").id("ses_1"))?;
    /// let tax = stack.push(NewFrame::new("Taxes").below(root))?;
    /// let totals = stack.plan(NewFrame::new("Totals").below(root).depends_on(tax))?;
    /// stack.pop(tax, PopStatus::Failed, "The rate table is out of date")?;
    /// let again = stack.retry(tax, Some("Take the rates from the office's site".into()))?.handle;
    /// stack.activate(again)?;
    /// assert!(stack.context(again, &Settings::default())?.xml.contains("The rate table is out of date"));
    /// stack.pop(again, PopStatus::Completed, "Rates of this year in src/tax.rs")?;
    /// assert_eq!(stack.ready(), [totals]);
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::NotRetriable`] if the frame is neither failed nor
    /// blocked, or was begun anew already; [`Error::ParentClosed`] if its parent is completed, failed or invalidated;
    /// [`Error::Full`]; [`Error::Held`] if a host still runs it. A frame that is in_progress can be begun anew if it was
    /// interrupted; otherwise pop it as failed first.
    pub fn retry(&self, frame: impl Into<FrameRef>, note: Option<String>) -> Result<Retried> {
        let frame = frame.into();
        let events = self.execute_made(|| {
            let session_id = self.planned_id();
            Command::Retry { frame, session_id, note, is_interrupted: false }
        })?;
        let handle = frames_with(&events, |change| matches!(change, Change::Added { .. }))[0];
        let tree = self.inner.tree.read();
        let node = tree.node(handle);
        let previous = node.retry_of().unwrap_or(handle);
        Ok(Retried {
            handle,
            attempt: node.attempt(),
            invalidated: frames_with(&events, |change| matches!(change, Change::Invalidated { .. })),
            still_open: unfinished_below(&tree, previous, FrameStatus::is_open),
        })
    }

    /// Executes a command that finishes or blocks a frame.
    fn ended(&self, command: Command) -> Result<Popped> {
        let events = self.execute(command)?;
        let is_begun =
            |change: &Change| matches!(change, Change::StatusChanged { status: FrameStatus::InProgress, .. });
        let next = events.iter().find(|event| is_begun(&event.change)).map(|event| event.handle);
        let handle = first_handle(events);
        let tree = self.inner.tree.read();
        let below = |is| unfinished_below(&tree, handle, is);
        Ok(Popped {
            handle,
            parent: tree.node(handle).parent(),
            active: tree.active(),
            still_open: below(FrameStatus::is_open),
            still_planned: below(|status| status == FrameStatus::Planned),
            next,
        })
    }

    /// Records that the conversation of the frame's parent has received the results of the frame, for example as the
    /// answer to a tool call. With [`FinishedChildren::Forgotten`](crate::context::FinishedChildren), the default, the
    /// parent's context then does not repeat them until [`Stack::forget`] of the parent. A stack with a
    /// [host](Stack::host) does this itself for the calls that it answers.
    ///
    /// ```
    /// use callstack_core::{NewFrame, PopStatus, Settings, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let root = stack.push(NewFrame::new("Build a shop").id("ses_1"))?;
    /// let cart = stack.push(NewFrame::new("Shopping cart").below(root))?;
    /// stack.pop(cart, PopStatus::Completed, "Totals are right")?;
    /// let shows_results =
    ///     || stack.context(root, &Settings::default()).map(|context| context.xml.contains("Totals are right"));
    /// assert!(shows_results()?);
    /// stack.deliver(cart)?;
    /// assert!(!shows_results()?);
    /// stack.forget(root)?;
    /// assert!(shows_results()?);
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::NotFinished`] if the frame is neither completed nor
    /// failed.
    pub fn deliver(&self, frame: impl Into<FrameRef>) -> Result<()> {
        self.execute(Command::Deliver { frame: frame.into() }).map(drop)
    }

    /// Records that the conversation of the frame was compacted or begun anew, so that it no longer holds the results of
    /// the frame's children. The frame's context then shows them. A stack with a [host](Stack::host) does this itself
    /// when a session was compacted.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`].
    pub fn forget(&self, frame: impl Into<FrameRef>) -> Result<()> {
        self.execute(Command::Forget { frame: frame.into() }).map(drop)
    }

    /// Records the results so far of an open frame, for example before its conversation is compacted. The frame's own
    /// context shows them; frames below it see them from the next push or change of a status on.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::ResultsFixed`] if the frame is neither in_progress
    /// nor blocked; [`Error::Empty`] if the full results are blank.
    pub fn summarize(&self, frame: impl Into<FrameRef>, results: impl Into<Results>) -> Result<()> {
        self.execute(Command::Summarize { frame: frame.into(), results: results.into() }).map(drop)
    }

    /// Invalidates a frame and all planned frames below it: they are removed from the plan. Frames below it that are
    /// in_progress or blocked do not change.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::Empty`] if the reason is blank;
    /// [`Error::Transition`] if the frame is already invalidated.
    pub fn invalidate(&self, frame: impl Into<FrameRef>, reason: impl Into<String>) -> Result<Invalidated> {
        let events = self.execute(Command::Invalidate { frame: frame.into(), reason: reason.into() })?;
        let invalidated = frames_with(&events, |change| matches!(change, Change::Invalidated { .. }));
        let tree = self.inner.tree.read();
        let mut dependents: Vec<Handle> = invalidated
            .iter()
            .filter(|handle| tree.node(**handle).retried_as().is_none())
            .flat_map(|handle| tree.dependents(*handle))
            .copied()
            .filter(|dependent| tree.node(*dependent).status().is_unfinished())
            .collect();
        dependents.sort_unstable();
        dependents.dedup();
        let still_open = unfinished_below(&tree, invalidated[0], FrameStatus::is_open);
        Ok(Invalidated { invalidated, still_open, dependents })
    }

    /// Lets a completed frame that turned out to be wrong go on. It is in_progress again and becomes the active frame; its results are those
    /// so far, and its context shows the reason. What depends on it and is planned waits again; what has begun is reported.
    ///
    /// ```
    /// use callstack_core::{FrameStatus, NewFrame, PopStatus, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let shop = stack.push(NewFrame::new("Shop"))?;
    /// let cart = stack.push(NewFrame::new("Cart").below(shop))?;
    /// let checkout = stack.plan(NewFrame::new("Checkout").below(shop).depends_on(cart))?;
    /// stack.pop(cart, PopStatus::Completed, "Totals in src/cart.rs")?;
    /// assert_eq!(stack.ready(), [checkout]);
    /// let reopened = stack.reopen(cart, "The totals are wrong in yen")?;
    /// assert_eq!((reopened.waiting, stack.ready()), (vec![checkout], vec![]));
    /// assert_eq!(stack.frame(cart)?.status, FrameStatus::InProgress);
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::Transition`] if the frame is not completed, or belongs to a run;
    /// [`Error::Empty`] if the reason is blank; [`Error::ParentClosed`] if the frame above it has ended; [`Error::Held`].
    pub fn reopen(&self, frame: impl Into<FrameRef>, reason: impl Into<String>) -> Result<Reopened> {
        let events = self.execute(Command::Reopen { frame: frame.into(), reason: reason.into() })?;
        let handle = events[0].handle;
        let tree = self.inner.tree.read();
        let dependents = tree.dependents(handle).iter().copied();
        let unfinished = dependents.filter(|dependent| tree.node(*dependent).status() != FrameStatus::Invalidated);
        let (waiting, begun) = unfinished.partition(|frame| tree.node(*frame).status() == FrameStatus::Planned);
        Ok(Reopened { handle, waiting, begun })
    }

    /// Takes back the last command of the person who gives this one ([`Stack::as_actor`] with a person and its name; without, of those who
    /// have given none), if nothing has been built on it: what it has changed has not changed since. The last 20 commands of persons are
    /// remembered. What the command has added is invalidated.
    ///
    /// ```
    /// use callstack_core::{Actor, FrameStatus, HolderKind, NewFrame, PopStatus, Stack};
    ///
    /// let stack = Stack::in_memory().as_actor(Actor::new(HolderKind::Person, "ann"));
    /// let cart = stack.push(NewFrame::new("Cart"))?;
    /// stack.pop(cart, PopStatus::Completed, "done")?;
    /// let undone = stack.undo()?;
    /// assert_eq!((undone.command.as_str(), undone.frames), ("pop", vec![cart]));
    /// assert_eq!(stack.frame(cart)?.status, FrameStatus::InProgress);
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NothingToUndo`]; [`Error::NotUndone`], which says why.
    pub fn undo(&self) -> Result<Undone> {
        let mut undone = Undone::default();
        for event in self.execute(Command::Undo)? {
            match event.change {
                Change::Undone { command, .. } => undone.command = command,
                Change::Restored { .. } | Change::Invalidated { .. } => undone.frames.push(event.handle),
                _ => {}
            }
        }
        Ok(undone)
    }

    /// Records a file or another resource that the frame's work produced. Returns false if the frame already has it.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::Empty`] if the artifact is blank.
    pub fn add_artifact(&self, frame: impl Into<FrameRef>, artifact: impl Into<String>) -> Result<bool> {
        let command = Command::AddArtifact { frame: frame.into(), artifact: artifact.into() };
        self.execute(command).map(|events| !events.is_empty())
    }

    /// Records a decision that was made during the frame's work.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::Empty`] if the decision is blank.
    pub fn add_decision(&self, frame: impl Into<FrameRef>, decision: impl Into<String>) -> Result<()> {
        self.execute(Command::AddDecision { frame: frame.into(), decision: decision.into() }).map(drop)
    }

    /// Records a request to a model, which was made in the frame's session. Contexts do not change. A host with sessions
    /// reports requests with its messages instead ([`HostEvent::Message`](crate::session::HostEvent::Message)).
    ///
    /// ```
    /// use callstack_core::frame::ModelRequest;
    /// use callstack_core::{NewFrame, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let shop = stack.push(NewFrame::new("Shop"))?;
    /// let cart = stack.push(NewFrame::new("Cart").below(shop))?;
    /// for (frame, output) in [(shop, 40), (cart, 100), (cart, 200)] {
    ///     stack.record_usage(frame, ModelRequest { uncached_input: 1_000, output, ..ModelRequest::new("small") })?;
    /// }
    /// let usage = stack.usage(shop)?;
    /// assert_eq!((usage.own[0].requests, usage.own[0].output), (1, 40));
    /// assert_eq!((usage.total[0].requests, usage.total[0].output), (3, 340));
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`].
    pub fn record_usage(&self, frame: impl Into<FrameRef>, request: ModelRequest) -> Result<()> {
        self.execute(Command::RecordUsage { frame: frame.into(), request: Box::new(request) }).map(drop)
    }

    /// The sums of the requests to models: those of a frame, and those of the frame and everything below it.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`].
    pub fn usage(&self, frame: impl Into<FrameRef>) -> Result<FrameUsage> {
        self.query(frame, Tree::usage)
    }

    /// Makes an open frame the active frame.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::NotOpen`] if the frame is neither in_progress nor
    /// blocked.
    pub fn set_active(&self, frame: impl Into<FrameRef>) -> Result<()> {
        self.execute(Command::SetActive { frame: frame.into() }).map(drop)
    }

    /// Adds frames as they are, all or none, for example a plan read by [`crate::import`]. Returns the handles in the
    /// order of creation: that of the list, except that parents come before their children. They have no logs here, so a `logPath` is
    /// left out; [`import::frames`](crate::import::frames) has reported it.
    ///
    /// # Errors
    /// - [`Error::Empty`] if an ID is blank; [`Error::TooLong`] if it has more than [`Frame::LONGEST_ID`] characters;
    ///   [`Error::DuplicateId`] if an ID is taken or occurs twice.
    /// - [`Error::UnknownFrame`] if a parent or a dependency does not exist.
    /// - [`Error::RetryLink`] if a `retryOf` names no failed sibling in the list, or a frame has two next attempts.
    /// - [`Error::ParentCircle`] if parents form a circle; [`Error::Dependency`] if dependencies do, or if a frame
    ///   depends on itself, an ancestor or a descendant.
    /// - [`Error::Full`] if the tree would have more than [`Handle::LIMIT`] frames.
    pub fn import(&self, frames: Vec<Frame>) -> Result<Vec<Handle>> {
        let events = self.execute(Command::Import { frames })?;
        Ok(frames_with(&events, |change| matches!(change, Change::Added { .. })))
    }

    /// Returns the context of a frame: the text for the frame's agent in the next request to a model. A context is
    /// cached for its frame and settings until a frame that it shows changes.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::BudgetTooSmall`], with the number of tokens that
    /// are needed; [`Error::Setting`] for a setting out of range; [`Error::Broken`].
    pub fn context(&self, frame: impl Into<FrameRef>, settings: &Settings) -> Result<Arc<Context>> {
        self.check_working()?;
        let now = self.inner.span_clock.now();
        let key = self.look_at(&frame.into(), |tree, handle| Key::new(tree, handle, settings, Advice::default()))?;
        self.cached_context(&key, now).map(|(context, _)| context)
    }

    /// The context of a frame; true if it was in the cache.
    fn cached_context(&self, key: &Key<'_>, now: u64) -> Result<(Arc<Context>, bool)> {
        let contexts = &self.inner.contexts;
        if let Some(context) = contexts.find(key, now) {
            return Ok((context, true));
        }
        // The token counter is code of the host.
        let made = self.inner.tree.lend(|tree| tree.checked(|tree| contexts.make(tree, &key.of(tree), now)))?;
        self.drop_finished();
        made.map(|context| (context, false))
    }

    /// As [`Stack::context`], but without the cache: always assembles the context, and does not keep it.
    ///
    /// # Errors
    /// As [`Stack::context`].
    pub fn context_uncached(&self, frame: impl Into<FrameRef>, settings: &Settings) -> Result<Context> {
        self.check_working()?;
        let frame = frame.into();
        // The token counter is code of the host.
        self.read(|tree| {
            tree.checked(|tree| {
                let handle = tree.resolve(&frame)?;
                self.inner.contexts.assemble(tree, handle, settings, Advice::default())
            })?
        })
    }

    /// The statistics of the context cache: hits, misses, and the number of cached contexts.
    pub fn cache_statistics(&self) -> CacheStatistics {
        self.inner.contexts.cache_statistics()
    }

    /// Removes the contexts of a frame from the cache; for `None` all contexts.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`].
    pub fn clear_cache(&self, frame: Option<FrameRef>) -> Result<()> {
        self.check_working()?;
        let handle = frame.map(|frame| self.resolve(frame)).transpose()?;
        self.inner.contexts.clear_cache(handle);
        Ok(())
    }

    /// Calls `read` with the current tree and returns its result. The tree does not change during the call. Commands of
    /// other threads do not wait for it: they go on with a tree that shares the records of unchanged frames with this one.
    ///
    /// `read` may call queries of the same stack; they use the same tree. Commands inside of `read` fail with
    /// [`Error::InsideRead`], because `read` would go on with a tree that lacks their changes. It may wait for other
    /// threads, also for their commands.
    ///
    /// A frame of a finished tree can have to be read from the database. If that fails, a frame without any text stands in its
    /// place. [`Stack::check_read`] says so, and each query of the frame that returns a [`Result`] fails with the reason.
    pub fn read<T>(&self, read: impl FnOnce(&Tree) -> T) -> T {
        let value = self.inner.tree.lend(read);
        self.drop_finished();
        value
    }

    /// As [`Stack::read`], for callers who cannot ask [`Stack::check_read`]. If a frame cannot be read, because others have changed it and
    /// have compacted the history since, it is read again with their changes.
    #[cfg(feature = "capi")]
    pub(crate) fn read_checked<T>(&self, read: impl Fn(&Tree) -> T) -> Result<T> {
        self.check_working()?;
        let looked = || self.read(|tree| tree.checked(&read));
        looked().or_else(|_| self.refresh().and_then(|_| looked()))
    }

    /// Whether all frames could be read that [`Stack::read`], [`Stack::state`], [`Stack::with_status`] or [`Stack::ready`] have asked
    /// for, since the stack was opened or its tree was read again. These queries return no [`Result`]: a frame that cannot be
    /// read is missing there, or stands there without any text. Ask before their answers are written to a file.
    ///
    /// # Errors
    /// The reason why a frame could not be read: the errors of the database; [`Error::Broken`].
    pub fn check_read(&self) -> Result<()> {
        self.check_working()?;
        self.inner.tree.read().failure_since(0).map_or(Ok(()), Err)
    }

    /// The handle of the frame that a reference names: see [`Tree::resolve`].
    ///
    /// # Errors
    /// [`Error::UnknownFrame`]; [`Error::AmbiguousFrame`], which lists up to eight candidates; [`Error::Broken`].
    pub fn resolve(&self, frame: impl Into<FrameRef>) -> Result<Handle> {
        self.query(frame, |_, handle| handle)
    }

    /// Resolves a reference. Of several frames with a title, one in the tree of `near` is meant.
    #[cfg(feature = "tools")]
    pub(crate) fn resolve_near(&self, frame: impl Into<FrameRef>, near: Option<Handle>) -> Result<Handle> {
        self.check_working()?;
        self.read(|tree| tree.checked(|tree| tree.resolve_near(&frame.into(), near)))?
    }

    /// The complete record of a frame.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`], [`Error::Broken`].
    pub fn frame(&self, frame: impl Into<FrameRef>) -> Result<Frame> {
        self.query(frame, Tree::frame)
    }

    /// The active frame: the frame that is being worked on. `None` if no frame is active. For a worker, see
    /// [`Stack::as_actor`], the frame that it holds.
    pub fn active(&self) -> Option<Handle> {
        self.actor().and_then(Actor::frame).or_else(|| self.inner.tree.read().active())
    }

    /// The parent, its parent, and so on up to the root.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`], [`Error::Broken`].
    pub fn ancestors(&self, frame: impl Into<FrameRef>) -> Result<Vec<Handle>> {
        self.query(frame, |tree, handle| tree.ancestors(handle).collect())
    }

    /// The other children of the parent, of all statuses, in their order. Empty for a root.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`], [`Error::Broken`].
    pub fn siblings(&self, frame: impl Into<FrameRef>) -> Result<Vec<Handle>> {
        self.query(frame, |tree, handle| tree.siblings(handle).collect())
    }

    /// The siblings that are completed, in their order.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`], [`Error::Broken`].
    pub fn completed_siblings(&self, frame: impl Into<FrameRef>) -> Result<Vec<Handle>> {
        self.query(frame, |tree, handle| tree.completed_siblings(handle).collect())
    }

    /// The children of all statuses, in their order: see [`Tree::children`].
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`], [`Error::Broken`].
    pub fn children(&self, frame: impl Into<FrameRef>) -> Result<Vec<Handle>> {
        self.query(frame, |tree, handle| tree.children(handle).to_vec())
    }

    /// All frames with this status, in creation order. See [`Stack::check_read`].
    pub fn with_status(&self, status: FrameStatus) -> Vec<Handle> {
        self.read(|tree| tree.with_status(status).collect())
    }

    /// The planned frames that can begin, in the order of the plan: see [`Tree::can_begin`] for the rule, and [`Stack::check_read`].
    pub fn ready(&self) -> Vec<Handle> {
        self.read(|tree| tree.ready().collect())
    }

    /// The whole tree as the specification's `StackState`. See [`Stack::check_read`].
    pub fn state(&self) -> StackState {
        self.read(Tree::state)
    }

    /// The tree as text for people: see [`outline`].
    ///
    /// # Errors
    /// [`Error::UnknownFrame`] or [`Error::AmbiguousFrame`] for [`OutlineOptions::root`]; [`Error::Broken`].
    pub fn outline(&self, options: &OutlineOptions) -> Result<String> {
        self.check_working()?;
        self.read(|tree| tree.checked(|tree| outline(tree, options)))?
    }

    fn query<T>(&self, frame: impl Into<FrameRef>, query: impl FnOnce(&Tree, Handle) -> T) -> Result<T> {
        self.check_working()?;
        let answer = self.look_at(&frame.into(), query);
        self.drop_finished();
        answer
    }

    /// Looks at a frame. The tree is locked meanwhile only if the frame is in memory, so that no command waits for the database.
    fn look_at<T>(&self, frame: &FrameRef, look: impl FnOnce(&Tree, Handle) -> T) -> Result<T> {
        let looked = |tree: &Tree| tree.checked(|tree| tree.resolve(frame).map(|handle| look(tree, handle)))?;
        {
            let tree = self.inner.tree.read();
            if tree.holds(frame) {
                return looked(&tree);
            }
        }
        self.inner.tree.lend(looked)
    }

    /// Drops finished trees from memory that queries have loaded, unless a command runs or the tree is lent to this thread.
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

    fn with_id(&self, mut frame: NewFrame) -> NewFrame {
        if frame.session_id.is_none() {
            frame.session_id = Some(self.planned_id());
        }
        frame
    }

    /// Generates the ID of a frame that has no session yet. Frames without an ID get such a one; a caller needs it only to
    /// name a frame before it is created.
    pub fn planned_id(&self) -> String {
        self.fresh_id(PLANNED_PREFIX)
    }

    /// Generates an ID: the prefix, the time in milliseconds, and a random number.
    fn fresh_id(&self, prefix: &str) -> String {
        format!("{prefix}{}-{:016x}", (self.inner.clock)(), (self.inner.random)())
    }
}

/// A running command. When it is dropped, it closes the journal of a broken stack, and updates the state of the mirror that
/// queries return.
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

/// Runs code of the host in a destructor. A panic ends here: one that leaves a destructor during another panic would end
/// the process.
fn contained(run: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(run));
}

fn first_handle(events: Vec<Event>) -> Handle {
    events[0].handle
}

/// The frames of the events whose change matches.
fn frames_with(events: &[Event], is: impl Fn(&Change) -> bool) -> Vec<Handle> {
    events.iter().filter(|event| is(&event.change)).map(|event| event.handle).collect()
}

fn unfinished_below(tree: &Tree, handle: Handle, is: fn(FrameStatus) -> bool) -> Vec<Handle> {
    tree.unfinished_below(handle).filter(|frame| is(tree.node(*frame).status())).collect()
}

fn system_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

/// A clock that counts the milliseconds from now on.
fn monotonic_time() -> Clock {
    let start = Instant::now();
    Arc::new(move || start.elapsed().as_millis() as u64)
}

/// Randomly keyed hashes of a counter. That is random enough, because IDs are checked for duplicates. Forked processes have
/// the same keys, so the number of the process is hashed too.
fn system_random() -> Random {
    let keys = RandomState::new();
    let counter = AtomicU64::new(0);
    Arc::new(move || {
        let mut hasher = keys.build_hasher();
        hasher.write_u32(std::process::id());
        hasher.write_u64(counter.fetch_add(1, Ordering::Relaxed));
        hasher.finish()
    })
}
