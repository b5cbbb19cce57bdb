//! A simulated medium: the history of one stack as a folder with SQLite or a PostgreSQL server keeps it, and the
//! stores of the processes that use it.
//!
//! A medium keeps the contract of [`Store`] and nothing else. What may go wrong at a call is decided by a
//! [`Fate`], which the world gives to each store. `tests/stores.rs` holds the medium against the suite that
//! SQLite and PostgreSQL have to pass.

mod archive;
mod contents;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use callstack_core::archive::{Archive, ArchivedFrame};
use callstack_core::store::{CompactedEvents, CompactionLimits, Snapshot};
use callstack_core::{Error, Event, EventQuery, Handle, HistoryReader, LogReader, Result, Store};
use parking_lot::Mutex;

use self::archive::{Logs, MediumArchive};
use self::contents::Contents;

/// How long a call waits for the lock of another process: the usual time limit of a call. A server has ended the
/// transaction of a silent process by then.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// The kind of a medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A folder of one machine, with SQLite. A process that stands still keeps its lock.
    Folder,
    /// A PostgreSQL server. It ends the transaction of a process that is silent, and connections break.
    Server,
}

/// A call of a store. Each is a moment at which the world can strike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    /// [`Store::begin`].
    Begin,
    /// [`Store::read`], and what reads the history beside it.
    Read,
    /// [`Store::snapshot`], and what asks for its revision or that of the base.
    Look,
    /// A read of frames that are not in memory, from an [`Archive`].
    Fetch,
    /// [`Store::append`].
    Append,
    /// [`Store::write_snapshot`].
    Snapshot,
    /// [`Store::append_log`] and [`Store::remove_logs`], and what reads logs.
    Log,
    /// [`Store::compact`], [`Store::write_base`] and [`Store::restore_base`].
    Compact,
    /// [`Store::commit`].
    Commit,
    /// [`Store::has_news`].
    News,
    /// [`Store::sync`].
    Sync,
}

/// The outcome of a call.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// It is carried out.
    Done,
    /// It fails before it has done anything.
    Fails(Error),
    /// It is carried out, but fails for the process.
    DoneAndFails(Error),
}

/// Decides what happens to the calls of one process.
pub trait Fate: Send + Sync {
    /// Called before each call. The world may let other processes act meanwhile.
    fn strike(&self, call: Call) -> Outcome;
    /// A call waits for a lock that another process has, for this time.
    fn wait(&self, span: Duration);
    /// The connection is broken, or the server has ended the transaction.
    fn breaks(&self) {}
    /// False: a commit is acknowledged and forgotten. No real medium does that; it shows that the rules see it.
    fn keeps(&self) -> bool {
        true
    }
    /// Events are kept.
    fn committed(&self, events: &[Arc<Event>]);
}

/// A process that nothing ever happens to.
pub struct Calm;

impl Fate for Calm {
    fn strike(&self, _: Call) -> Outcome {
        Outcome::Done
    }

    fn wait(&self, _: Duration) {}

    fn committed(&self, _: &[Arc<Event>]) {}
}

/// The medium of one stack.
#[derive(Debug)]
pub struct Medium {
    kind: Kind,
    shared: Mutex<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    contents: Contents,
    /// What a power loss leaves: see [`Medium::lose_power`].
    synced: Contents,
    /// The session in a transaction.
    lock: Option<u64>,
    sessions: u64,
    /// Sessions whose transaction the server has ended.
    ended: BTreeSet<u64>,
    /// For each loss of events: its number, and the newest event that was left.
    losses: Vec<u64>,
    /// How often the server has failed over. Each breaks all connections.
    failovers: u64,
}

impl Medium {
    /// An empty medium.
    pub fn new(kind: Kind) -> Arc<Self> {
        Arc::new(Self { kind, shared: Mutex::default() })
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Opens it for a process.
    pub fn store(self: &Arc<Self>, fate: Arc<dyn Fate>) -> SimulatedStore {
        let mut shared = self.shared.lock();
        shared.sessions += 1;
        let (losses, failovers) = (shared.losses.len(), shared.failovers);
        SimulatedStore {
            medium: self.clone(),
            fate,
            number: shared.sessions,
            session: Arc::default(),
            seen: 0,
            known: 0,
            losses,
            failovers,
        }
    }

    /// The revision of its newest event.
    pub fn newest(&self) -> u64 {
        self.shared.lock().contents.newest()
    }

    /// Frees what a process that dies has locked: the system drops its locks, and the server its connection.
    pub fn release(&self, session: u64) {
        let mut shared = self.shared.lock();
        if shared.lock == Some(session) {
            shared.lock = None;
        }
    }

    /// The power fails, or the server fails over to a standby: only what was synced is left. Returns the number
    /// of events that are lost.
    pub fn lose_power(&self) -> usize {
        let mut shared = self.shared.lock();
        let before = shared.contents.newest();
        shared.contents = shared.synced.clone();
        if let Some(holder) = shared.lock.take() {
            shared.ended.insert(holder);
        }
        shared.failovers += u64::from(self.kind == Kind::Server);
        let left = shared.contents.newest();
        if left < before {
            shared.losses.push(left);
        }
        (before - left) as usize
    }

    /// Number of events that a power loss would take.
    pub fn unsynced(&self) -> u64 {
        let shared = self.shared.lock();
        shared.contents.newest() - shared.synced.newest()
    }

    /// Everything that is kept is on the disk, or on the standby.
    pub fn sync(&self) {
        let mut shared = self.shared.lock();
        shared.synced = shared.contents.clone();
    }

    /// The name in messages.
    fn name(&self) -> &'static str {
        match self.kind {
            Kind::Folder => "the simulated folder",
            Kind::Server => "the simulated server",
        }
    }

    fn disconnected(&self, message: &str, is_outcome_unknown: bool) -> Error {
        Error::disconnected(self.name(), message, is_outcome_unknown)
    }
}

/// The part of a transaction that only its own process sees. `None`: there is no transaction.
#[derive(Debug, Default)]
struct Session(Mutex<Option<Contents>>);

/// The medium as one process has it open.
pub struct SimulatedStore {
    medium: Arc<Medium>,
    fate: Arc<dyn Fate>,
    number: u64,
    session: Arc<Session>,
    /// The newest event up to which this store has read or written all.
    seen: u64,
    /// The newest event that this store has met, also in a snapshot.
    known: u64,
    /// Number of losses of the medium that this store knows.
    losses: usize,
    /// Number of failovers of the server that this store knows.
    failovers: u64,
}

impl SimulatedStore {
    /// The number by which [`Medium::release`] knows it.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Lets the world strike, then carries a call out.
    fn call<T>(&mut self, call: Call, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        match self.fate.strike(call) {
            Outcome::Fails(error) => Err(error),
            outcome => {
                self.check_connection(call)?;
                let done = run(self)?;
                if let Outcome::DoneAndFails(error) = outcome { Err(error) } else { Ok(done) }
            }
        }
    }

    /// Checks that the events that this store knows still exist, and that its transaction does.
    fn check_connection(&mut self, call: Call) -> Result<()> {
        let mut shared = self.medium.shared.lock();
        let left = shared.losses[self.losses..].iter().copied().min();
        if left.is_some_and(|left| left < self.known) {
            return Err(Error::replaced(self.medium.name(), format!("it has no event {}", self.known)));
        }
        self.losses = shared.losses.len();
        let is_ended = shared.ended.remove(&self.number) && call != Call::Begin;
        let is_broken = shared.failovers != self.failovers;
        self.failovers = shared.failovers;
        if is_ended || is_broken {
            *self.session.0.lock() = None;
            self.fate.breaks();
            let what = if is_broken { "the connection is broken" } else { "the server has ended the transaction" };
            return Err(self.medium.disconnected(what, false));
        }
        Ok(())
    }

    /// The contents of the transaction, or else those that are kept.
    fn contents(&self) -> Contents {
        self.session.0.lock().clone().unwrap_or_else(|| self.medium.shared.lock().contents.clone())
    }

    /// Changes the contents of the transaction.
    fn change<T>(&self, change: impl FnOnce(&mut Contents) -> Result<T>) -> Result<T> {
        let mut session = self.session.0.lock();
        let contents = session.as_mut().ok_or_else(|| Error::io("write", self.medium.name(), "no transaction"))?;
        change(contents)
    }

    fn lock(&mut self) -> Result<()> {
        let holder = self.medium.shared.lock().lock;
        if let Some(holder) = holder.filter(|holder| *holder != self.number) {
            // Not the patience, which the library measures by the clock of the real machine.
            self.fate.wait(LOCK_WAIT);
            let mut shared = self.medium.shared.lock();
            if shared.lock == Some(holder) {
                if self.medium.kind == Kind::Folder {
                    let waited = LOCK_WAIT.as_millis() as u64;
                    return Err(Error::Busy { path: self.medium.name().to_owned(), waited });
                }
                shared.ended.insert(holder);
            }
        }
        let mut shared = self.medium.shared.lock();
        shared.lock = Some(self.number);
        shared.ended.remove(&self.number);
        *self.session.0.lock() = Some(shared.contents.clone());
        Ok(())
    }

    fn unlock(&self) {
        *self.session.0.lock() = None;
        self.medium.release(self.number);
    }
}

impl Store for SimulatedStore {
    fn begin(&mut self, _: Duration) -> Result<()> {
        self.rollback();
        self.call(Call::Begin, Self::lock)
    }

    fn read(&mut self, query: &EventQuery, _: Duration, each: &mut dyn FnMut(Event) -> Result<()>) -> Result<()> {
        self.call(Call::Read, |store| {
            let contents = store.contents();
            contents.read(query, each)?;
            if query.selects_all() {
                store.seen = contents.newest();
                store.known = store.known.max(store.seen);
            }
            Ok(())
        })
    }

    fn reader(&self) -> Option<Box<dyn HistoryReader>> {
        Some(Box::new(Reader { medium: self.medium.clone(), fate: self.fate.clone() }))
    }

    fn archive(&self) -> Option<Arc<dyn Archive>> {
        Some(Arc::new(MediumArchive::newest(&self.medium, &self.session, &self.fate)))
    }

    fn snapshot(&mut self, _: Duration) -> Result<Option<Snapshot>> {
        self.call(Call::Look, |store| {
            let snapshot = store.contents().snapshot();
            // Events that it shows may be lost before this store reads them.
            store.known = snapshot.as_ref().map_or(store.known, |snapshot| snapshot.revision.max(store.known));
            Ok(snapshot)
        })
    }

    fn restore_base(&mut self) -> Result<()> {
        self.call(Call::Compact, |store| {
            store.change(|contents| {
                contents.restore_base();
                Ok(())
            })
        })
    }

    fn snapshot_revision(&mut self) -> Result<u64> {
        self.call(Call::Look, |store| Ok(store.contents().snapshot().map_or(0, |snapshot| snapshot.revision)))
    }

    fn base_revision(&mut self) -> Result<u64> {
        self.call(Call::Look, |store| Ok(store.contents().base_revision()))
    }

    fn compact(&mut self, limits: &CompactionLimits<'_>) -> Result<CompactedEvents> {
        self.call(Call::Compact, |store| store.change(|contents| Ok(contents.compact(limits))))
    }

    fn write_snapshot(&mut self, snapshot: &Snapshot, frames: &mut dyn Iterator<Item = ArchivedFrame>) -> Result<()> {
        self.call(Call::Snapshot, |store| {
            store.change(|contents| {
                contents.write_snapshot(snapshot, frames);
                Ok(())
            })
        })
    }

    fn write_base(&mut self, base: &Snapshot, frames: &mut dyn Iterator<Item = ArchivedFrame>) -> Result<()> {
        self.call(Call::Compact, |store| {
            store.change(|contents| {
                contents.write_snapshot(base, frames);
                contents.make_base();
                Ok(())
            })
        })
    }

    fn append(&mut self, events: &[Event]) -> Result<()> {
        self.call(Call::Append, |store| store.change(|contents| contents.append(events)))
    }

    fn logs(&self) -> Option<Arc<dyn LogReader>> {
        Some(Arc::new(Logs::of(&self.medium, &self.fate)))
    }

    fn append_log(&mut self, frame: Handle, lines: Vec<String>) -> Result<bool> {
        self.call(Call::Log, |store| store.change(|contents| Ok(contents.append_log(frame, lines))))
    }

    fn remove_logs(&mut self, frames: &[Handle]) -> Result<()> {
        self.call(Call::Log, |store| {
            store.change(|contents| {
                contents.remove_logs(frames);
                Ok(())
            })
        })
    }

    fn commit(&mut self) -> Result<()> {
        self.call(Call::Commit, |store| {
            let changed = store.session.0.lock().take();
            let changed = changed.ok_or_else(|| Error::io("commit", store.medium.name(), "no transaction"))?;
            if !store.fate.keeps() {
                store.unlock();
                return Ok(());
            }
            let new: Vec<Arc<Event>> = changed.after(store.medium.shared.lock().contents.newest());
            store.seen = changed.newest();
            store.known = store.seen;
            let mut shared = store.medium.shared.lock();
            shared.contents = changed;
            shared.lock = None;
            drop(shared);
            store.fate.committed(&new);
            Ok(())
        })
    }

    fn rollback(&mut self) {
        self.unlock();
    }

    fn has_news(&mut self, _: Duration) -> Result<bool> {
        self.call(Call::News, |store| Ok(store.contents().newest() != store.seen))
    }

    fn sync(&mut self, _: Duration) -> Result<()> {
        self.call(Call::Sync, |store| {
            store.medium.sync();
            Ok(())
        })
    }
}

impl Drop for SimulatedStore {
    fn drop(&mut self) {
        self.unlock();
    }
}

/// A call of what reads beside transactions. Only its failure counts: it changes nothing.
fn strikes(fate: &Arc<dyn Fate>, call: Call) -> Result<()> {
    match fate.strike(call) {
        Outcome::Done => Ok(()),
        Outcome::Fails(error) | Outcome::DoneAndFails(error) => Err(error),
    }
}

/// Reads what is kept, beside transactions.
struct Reader {
    medium: Arc<Medium>,
    fate: Arc<dyn Fate>,
}

impl HistoryReader for Reader {
    fn read(&self, query: &EventQuery, _: Duration, each: &mut dyn FnMut(Event) -> Result<()>) -> Result<()> {
        strikes(&self.fate, Call::Read)?;
        let contents = self.medium.shared.lock().contents.clone();
        contents.read(query, each)
    }
}
