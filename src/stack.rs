//! The façade that hosts hold: commands in, answers out, contexts on demand.

mod disk;
mod heap;
mod history;
#[cfg(feature = "session")]
mod host;
mod logs;
mod open;
mod run;
mod shared_tree;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;

use self::disk::Disk;
pub use self::heap::Heap;
#[cfg(feature = "session")]
pub use self::host::{Host, HostSettings, SessionContext};
pub use self::logs::FrameLog;
pub use self::run::Run;
use self::shared_tree::SharedTree;
use crate::context::{CacheStatistics, Context, Contexts, Settings, TokenCounter};
use crate::error::{Error, Result};
use crate::frame::{
    Change, Event, Frame, FrameRef, FrameStatus, Handle, Identity, NewFrame, PLANNED_PREFIX, Parent, PopStatus, Repair,
    Results, StackState,
};
use crate::store::mirror::PATIENCE;
use crate::store::{BUSY_TIMEOUT, Durability};
use crate::tree::{Command, Commit, OutlineOptions, Tree, decide, outline};

/// Where the time comes from: milliseconds since the epoch.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Where the random part of `plan-…` IDs comes from.
pub type Random = Arc<dyn Fn() -> u64 + Send + Sync>;

/// A call stack: a tree of frames, and the contexts of its frames.
///
/// Cheap to clone; all clones are one stack. Any thread may call at any time: commands are carried
/// out one after the other, and readers wait for the change itself alone.
///
/// A stack in a folder ([`Stack::open`]) lasts: what a command has acknowledged is there after the
/// death of the process. Any number of processes may have the folder open; every command sees what
/// all of them have done, and [`Stack::refresh`] shows it to readers. Readers never wait for the
/// disk.
///
/// A frame is named by its handle (`f3`), its ID, or a beginning of its ID that fits no other
/// frame. A call that fails changes nothing.
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
}

struct Inner {
    /// Locked for a whole command, before the tree, so that decisions are made on the newest tree.
    disk: Mutex<Disk>,
    tree: SharedTree,
    /// A command has panicked, perhaps halfway through.
    is_broken: AtomicBool,
    contexts: Contexts,
    /// Where the logs are. `None`: the stack keeps none.
    log_folder: Option<PathBuf>,
    repairs: Vec<Repair>,
    clock: Clock,
    random: Random,
    busy_timeout: u64,
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

/// What a stack is made with. The last three are for stacks in a folder.
#[derive(Clone)]
#[non_exhaustive]
pub struct StackOptions {
    /// Where the time comes from; the system's clock by default.
    pub clock: Clock,
    /// Where the random part of `plan-…` IDs comes from.
    pub random: Random,
    /// How tokens are counted; [`Approx`](crate::context::Approx) by default.
    pub counter: Arc<dyn TokenCounter>,
    /// Which failures an acknowledged commit survives; [`Durability::Normal`] by default.
    pub durability: Durability,
    /// How long a command, and [`Stack::flush`] for the files beside the database, waits for other processes
    /// before it fails with [`Error::Busy`](crate::Error::Busy), in milliseconds; 10,000 by default.
    pub busy_timeout: u64,
    /// Whether `state.json` and `frames/` are kept up to date beside the database; true by default.
    pub mirror: bool,
}

impl StackOptions {
    setters! {
        clock: Clock,
        random: Random,
        counter: Arc<dyn TokenCounter>,
        durability: Durability,
        busy_timeout: u64,
        mirror: bool,
    }
}

impl Default for StackOptions {
    fn default() -> Self {
        Self {
            clock: Arc::new(system_time),
            random: system_random(),
            counter: Arc::new(crate::context::Approx),
            durability: Durability::default(),
            busy_timeout: BUSY_TIMEOUT,
            mirror: true,
        }
    }
}

/// What a [`Stack::pop`] left behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Popped {
    /// The frame that was popped.
    pub handle: Handle,
    /// Its parent; `None`: it was a root, and its tree is done.
    pub parent: Option<Handle>,
    /// The frame that is active now.
    pub active: Option<Handle>,
    /// Frames below it that are still in_progress or blocked.
    pub still_open: Vec<Handle>,
    /// Frames below it that were planned and never begun.
    pub still_planned: Vec<Handle>,
}

/// What a [`Stack::invalidate`] touched, and what it did not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Invalidated {
    /// The frame itself, then the planned frames below it.
    pub invalidated: Vec<Handle>,
    /// Frames below it that are in_progress or blocked: reported, not touched.
    pub still_open: Vec<Handle>,
    /// Frames that depend on an invalidated one and are not finished.
    pub dependents: Vec<Handle>,
}

impl Stack {
    /// An empty stack that lives in memory and keeps no history: see [`MemoryStore`] for one.
    ///
    /// [`MemoryStore`]: crate::MemoryStore
    pub fn in_memory() -> Self {
        Self::with_options(StackOptions::default())
    }

    /// An empty stack in memory, with a clock or a token counter of the caller's.
    pub fn with_options(options: StackOptions) -> Self {
        Self::of(Tree::new(), Disk::none(), Vec::new(), options)
    }

    /// A stack in memory that begins with a stored state. The list says what was inconsistent and
    /// what was made of it; no frame is lost.
    pub fn from_state(state: StackState, options: StackOptions) -> (Self, Vec<Repair>) {
        let (tree, repairs) = Tree::from_state(state);
        (Self::of(tree, Disk::none(), repairs.clone(), options), repairs)
    }

    /// Carries out a command and returns the events that did it. The other methods are this one
    /// with arguments and answers that fit.
    ///
    /// # Errors
    /// Those of [`decide`] and those of the store; the tree and the store have not changed then. (If a store fails while
    /// it commits, nobody knows at once whether the commit lasted. If it did, the next command or [`Stack::refresh`]
    /// finds the events in the store.) [`Error::Broken`] after a panic in an earlier command; [`Error::InsideRead`]
    /// inside of [`Stack::read`].
    pub fn execute(&self, command: Command) -> Result<Vec<Event>> {
        self.execute_made(|| command)
    }

    /// Carries out a command that is made when its turn has come.
    fn execute_made(&self, make: impl FnOnce() -> Command) -> Result<Vec<Event>> {
        self.commit(make, decide)
    }

    /// Makes a command, decides it on the newest tree, and commits what was decided: the one way by which a stack
    /// changes.
    fn commit<C>(
        &self,
        make: impl FnOnce() -> C,
        decide: impl FnOnce(&Tree, C, u64) -> Result<Commit>,
    ) -> Result<Vec<Event>> {
        let committed = self.command(|disk| {
            let (now, command) = ((self.inner.clock)(), make());
            let committed = disk.commit(&self.inner.tree, |tree| decide(tree, command, now))?;
            // The mirror is derived: if it fails, the command has not. Its status keeps the error.
            let _ = disk.write_mirror(&self.inner.tree, &*self.inner.clock, self.mirror_scope(), PATIENCE);
            Ok(committed)
        })?;
        if committed.has_new_log {
            // A context that was made before the log existed should name the log now.
            self.inner.contexts.clear_cache(None);
        }
        #[cfg(feature = "session")]
        self.note(&committed.events);
        Ok(committed.events)
    }

    /// Runs a command with the disk. If it panics the stack is broken, since nobody knows how far the command came.
    fn command<T>(&self, run: impl FnOnce(&mut Disk) -> Result<T>) -> Result<T> {
        self.inner.tree.check_not_borrowed()?;
        let mut attempt = Attempt { inner: &self.inner, disk: self.inner.disk.lock(), is_over: false };
        let result = self.check_working().and_then(|()| run(&mut attempt.disk));
        attempt.is_over = true;
        result
    }

    /// True after a panic in a command, of a [`Clock`], a [`Store`](crate::Store), a token counter or the library
    /// itself. Nothing of that command is half-done: its transaction is rolled back. From then on commands and queries
    /// that can fail answer [`Error::Broken`]; open the stack again.
    pub fn is_broken(&self) -> bool {
        self.inner.is_broken.load(Ordering::Acquire)
    }

    fn check_working(&self) -> Result<()> {
        if self.is_broken() { Err(Error::Broken {}) } else { Ok(()) }
    }

    /// Makes a frame that is worked on at once, and makes it the active one. Without an ID of its
    /// own it gets one of the form `plan-…`.
    ///
    /// # Errors
    /// Duplicate or empty ID, empty title, unknown parent or dependency, a parent that is not open.
    pub fn push(&self, frame: NewFrame) -> Result<Handle> {
        self.execute_made(|| Command::Push(self.with_id(frame))).map(first_handle)
    }

    /// Makes a frame for later.
    ///
    /// # Errors
    /// As [`Stack::push`], but the parent may be planned too.
    pub fn plan(&self, frame: NewFrame) -> Result<Handle> {
        self.execute_made(|| Command::Plan(self.with_id(frame))).map(first_handle)
    }

    /// Makes several planned children of one frame, all or none.
    ///
    /// # Errors
    /// As [`Stack::plan`], for any of the children.
    pub fn plan_children(&self, parent: impl Into<FrameRef>, children: Vec<NewFrame>) -> Result<Vec<Handle>> {
        let parent = Parent::Frame(parent.into());
        let events = self.execute_made(|| {
            let children = children.into_iter().map(|child| self.with_id(child)).collect();
            Command::PlanChildren { parent, caller: None, children }
        })?;
        Ok(frames_with(&events, |change| matches!(change, Change::Added { .. })))
    }

    /// The frame of a session; a placeholder is made if the session has none.
    ///
    /// # Errors
    /// Empty ID, unknown parent.
    pub fn ensure(&self, session_id: &str, title: Option<&str>, parent: Option<FrameRef>) -> Result<Handle> {
        if let Some(handle) = self.inner.tree.read().by_id(session_id) {
            return Ok(handle);
        }
        let command = Command::Ensure { session_id: session_id.to_owned(), title: title.map(str::to_owned), parent };
        self.execute(command)?;
        self.resolve(session_id)
    }

    /// Gives a placeholder frame its title and criteria, once.
    ///
    /// # Errors
    /// Unknown frame, empty title, a frame that has its identity already.
    pub fn identify(&self, frame: impl Into<FrameRef>, identity: Identity) -> Result<()> {
        self.execute(Command::Identify { frame: frame.into(), identity }).map(drop)
    }

    /// Begins a planned frame, and makes it the active one.
    ///
    /// # Errors
    /// Unknown frame, a frame that is not planned.
    pub fn activate(&self, frame: impl Into<FrameRef>) -> Result<()> {
        self.execute(Command::Activate { frame: frame.into() }).map(drop)
    }

    /// Gives a frame another ID. Its handle stays.
    ///
    /// # Errors
    /// Unknown frame, empty ID, an ID that another frame has.
    pub fn replace_id(&self, frame: impl Into<FrameRef>, session_id: impl Into<String>) -> Result<()> {
        self.execute(Command::ReplaceId { frame: frame.into(), session_id: session_id.into() }).map(drop)
    }

    /// Changes the status as [`FrameStatus::can_become`] allows, with results or without. To
    /// invalidate this way, give the reason as the full results.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::Transition`].
    pub fn set_status(&self, frame: impl Into<FrameRef>, status: FrameStatus, results: Option<Results>) -> Result<()> {
        let (results, results_compacted) = match results {
            Some(Results { full, compacted }) => (Some(full), Some(compacted)),
            None => (None, None),
        };
        self.execute(Command::SetStatus { frame: frame.into(), status, results, results_compacted }).map(drop)
    }

    /// Finishes a frame with results. If it was active, or a frame below it, the nearest open
    /// frame above becomes active. A root pops too: its tree is done.
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
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::Transition`] if the frame is neither in_progress nor
    /// blocked.
    pub fn pop(&self, frame: impl Into<FrameRef>, status: PopStatus, results: impl Into<Results>) -> Result<Popped> {
        let handle =
            first_handle(self.execute(Command::Pop { frame: frame.into(), status, results: results.into() })?);
        let tree = self.inner.tree.read();
        let below = |is: fn(FrameStatus) -> bool| below_with(&tree, handle, is);
        Ok(Popped {
            handle,
            parent: tree.node(handle).parent(),
            active: tree.active(),
            still_open: below(FrameStatus::is_open),
            still_planned: below(|status| status == FrameStatus::Planned),
        })
    }

    /// Records what has been achieved so far by a frame that goes on, for example before its conversation is shortened.
    /// The frame's own context shows it; other frames see its results when it is finished.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::ResultsFixed`] if the frame is neither in_progress
    /// nor blocked; [`Error::Empty`] if the full results are blank.
    pub fn summarize(&self, frame: impl Into<FrameRef>, results: impl Into<Results>) -> Result<()> {
        self.execute(Command::Summarize { frame: frame.into(), results: results.into() }).map(drop)
    }

    /// Takes a frame, and what is planned below it, out of the plan.
    ///
    /// # Errors
    /// Unknown frame, empty reason, a frame that is invalidated already.
    pub fn invalidate(&self, frame: impl Into<FrameRef>, reason: impl Into<String>) -> Result<Invalidated> {
        let events = self.execute(Command::Invalidate { frame: frame.into(), reason: reason.into() })?;
        let invalidated = frames_with(&events, |change| matches!(change, Change::Invalidated { .. }));
        let tree = self.inner.tree.read();
        let mut dependents: Vec<Handle> = invalidated
            .iter()
            .flat_map(|handle| tree.node(*handle).dependents())
            .copied()
            .filter(|dependent| tree.node(*dependent).status().is_unfinished())
            .collect();
        dependents.sort_unstable();
        dependents.dedup();
        let still_open = below_with(&tree, invalidated[0], FrameStatus::is_open);
        Ok(Invalidated { invalidated, still_open, dependents })
    }

    /// Records a file or another resource that the frame's work produced. False: it was there.
    ///
    /// # Errors
    /// Unknown frame, empty artifact.
    pub fn add_artifact(&self, frame: impl Into<FrameRef>, artifact: impl Into<String>) -> Result<bool> {
        let command = Command::AddArtifact { frame: frame.into(), artifact: artifact.into() };
        self.execute(command).map(|events| !events.is_empty())
    }

    /// Records a decision.
    ///
    /// # Errors
    /// Unknown frame, empty decision.
    pub fn add_decision(&self, frame: impl Into<FrameRef>, decision: impl Into<String>) -> Result<()> {
        self.execute(Command::AddDecision { frame: frame.into(), decision: decision.into() }).map(drop)
    }

    /// Makes an open frame the active one.
    ///
    /// # Errors
    /// Unknown frame, a frame that is not in_progress or blocked.
    pub fn set_active(&self, frame: impl Into<FrameRef>) -> Result<()> {
        self.execute(Command::SetActive { frame: frame.into() }).map(drop)
    }

    /// Adds frames as they are, all or none: a plan read by [`crate::import`], say.
    ///
    /// # Errors
    /// IDs that are empty or taken, parents or dependencies that do not exist or go in a circle.
    pub fn import(&self, frames: Vec<Frame>) -> Result<Vec<Handle>> {
        let events = self.execute(Command::Import { frames })?;
        Ok(frames_with(&events, |change| matches!(change, Change::Added { .. })))
    }

    /// The context of a frame: what its agent should see before the next model call. Calls for
    /// the same frame and settings are answered from a cache while nothing in it has changed.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::BudgetTooSmall`], which says how many tokens are
    /// needed; [`Error::Setting`] for a setting out of range.
    pub fn context(&self, frame: impl Into<FrameRef>, settings: &Settings) -> Result<Arc<Context>> {
        self.check_working()?;
        let now = (self.inner.clock)();
        let tree = self.inner.tree.read();
        let handle = tree.resolve(&frame.into())?;
        self.cached_context(&tree, handle, settings, "", now).map(|(context, _)| context)
    }

    /// The context of a frame, and whether it was in the cache.
    fn cached_context(
        &self,
        tree: &Tree,
        handle: Handle,
        settings: &Settings,
        suggestions: &str,
        now: u64,
    ) -> Result<(Arc<Context>, bool)> {
        let contexts = &self.inner.contexts;
        if let Some(context) = contexts.find(tree, handle, settings, suggestions, now) {
            return Ok((context, true));
        }
        // The token counter is code of the host's.
        let _borrower = self.inner.tree.borrower();
        contexts.make(tree, handle, settings, suggestions, now).map(|context| (context, false))
    }

    /// The same as [`Stack::context`], made anew and not kept.
    ///
    /// # Errors
    /// As [`Stack::context`].
    pub fn context_uncached(&self, frame: impl Into<FrameRef>, settings: &Settings) -> Result<Context> {
        self.query(frame, |tree, handle| {
            let _borrower = self.inner.tree.borrower();
            self.inner.contexts.assemble(tree, handle, settings, "")
        })?
    }

    /// Hits and misses of the context cache, and how many contexts it holds.
    pub fn cache_statistics(&self) -> CacheStatistics {
        self.inner.contexts.cache_statistics()
    }

    /// Forgets the cached contexts of a frame, or all of them.
    ///
    /// # Errors
    /// Unknown frame.
    pub fn clear_cache(&self, frame: Option<FrameRef>) -> Result<()> {
        let handle = frame.map(|frame| self.resolve(frame)).transpose()?;
        self.inner.contexts.clear_cache(handle);
        Ok(())
    }

    /// Calls `read` with the tree as it is now. Commands of other threads wait until it returns.
    ///
    /// `read` may call queries of the same stack, which see the same tree. A command inside of it would wait for itself
    /// and is refused with [`Error::InsideRead`].
    pub fn read<T>(&self, read: impl FnOnce(&Tree) -> T) -> T {
        self.inner.tree.lend(read)
    }

    /// The handle of a frame named by ID, handle, or unambiguous beginning of an ID.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`]; [`Error::AmbiguousFrame`], with the candidates named.
    pub fn resolve(&self, frame: impl Into<FrameRef>) -> Result<Handle> {
        self.query(frame, |_, handle| handle)
    }

    /// The record of a frame.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`].
    pub fn frame(&self, frame: impl Into<FrameRef>) -> Result<Frame> {
        self.query(frame, Tree::frame)
    }

    /// The frame being worked on, if any.
    pub fn active(&self) -> Option<Handle> {
        self.inner.tree.read().active()
    }

    /// The parent, its parent, and so on up to the root.
    ///
    /// # Errors
    /// Unknown frame.
    pub fn ancestors(&self, frame: impl Into<FrameRef>) -> Result<Vec<Handle>> {
        self.query(frame, |tree, handle| tree.ancestors(handle).collect())
    }

    /// The other children of the parent, whatever their status, in creation order.
    ///
    /// # Errors
    /// Unknown frame.
    pub fn siblings(&self, frame: impl Into<FrameRef>) -> Result<Vec<Handle>> {
        self.query(frame, |tree, handle| tree.siblings(handle).collect())
    }

    /// The siblings that were completed, in creation order.
    ///
    /// # Errors
    /// Unknown frame.
    pub fn completed_siblings(&self, frame: impl Into<FrameRef>) -> Result<Vec<Handle>> {
        self.query(frame, |tree, handle| tree.completed_siblings(handle).collect())
    }

    /// The children, whatever their status, in creation order.
    ///
    /// # Errors
    /// Unknown frame.
    pub fn children(&self, frame: impl Into<FrameRef>) -> Result<Vec<Handle>> {
        self.query(frame, |tree, handle| tree.children(handle).to_vec())
    }

    /// All frames with this status, in creation order.
    pub fn with_status(&self, status: FrameStatus) -> Vec<Handle> {
        self.inner.tree.read().with_status(status).collect()
    }

    /// Planned frames that can begin: all that they depend on is completed.
    pub fn ready(&self) -> Vec<Handle> {
        self.inner.tree.read().ready().collect()
    }

    /// The whole tree as the specification's `StackState`.
    pub fn state(&self) -> StackState {
        self.inner.tree.read().state()
    }

    /// The tree as text for people.
    ///
    /// # Errors
    /// An unknown or ambiguous [`OutlineOptions::root`].
    pub fn outline(&self, options: &OutlineOptions) -> Result<String> {
        self.check_working()?;
        outline(&self.inner.tree.read(), options)
    }

    fn query<T>(&self, frame: impl Into<FrameRef>, query: impl FnOnce(&Tree, Handle) -> T) -> Result<T> {
        self.check_working()?;
        let tree = self.inner.tree.read();
        let handle = tree.resolve(&frame.into())?;
        Ok(query(&tree, handle))
    }

    fn with_id(&self, mut frame: NewFrame) -> NewFrame {
        if frame.session_id.is_none() {
            frame.session_id = Some(self.planned_id());
        }
        frame
    }

    /// The ID of a frame that has no session yet.
    pub(crate) fn planned_id(&self) -> String {
        let random = (self.inner.random)();
        format!("{PLANNED_PREFIX}{}-{random:016x}", (self.inner.clock)())
    }
}

/// A command that is being carried out. If it is not over when it goes, it has panicked.
struct Attempt<'a> {
    inner: &'a Inner,
    disk: MutexGuard<'a, Disk>,
    is_over: bool,
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            // Before the lock is free again: nobody else may go on with this disk.
            self.inner.is_broken.store(true, Ordering::Release);
            self.disk.abandon();
        }
    }
}

fn first_handle(events: Vec<Event>) -> Handle {
    events[0].handle
}

/// The frames of the events that made such a change.
fn frames_with(events: &[Event], is: impl Fn(&Change) -> bool) -> Vec<Handle> {
    events.iter().filter(|event| is(&event.change)).map(|event| event.handle).collect()
}

fn below_with(tree: &Tree, handle: Handle, is: impl Fn(FrameStatus) -> bool) -> Vec<Handle> {
    tree.subtree(handle).skip(1).filter(|frame| is(tree.node(*frame).status())).collect()
}

fn system_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

/// Randomly keyed hashes of a counter: unique enough for IDs that are checked for duplicates.
fn system_random() -> Random {
    let keys = RandomState::new();
    let counter = AtomicU64::new(0);
    Arc::new(move || {
        let mut hasher = keys.build_hasher();
        hasher.write_u64(counter.fetch_add(1, Ordering::Relaxed));
        hasher.finish()
    })
}
