//! The tree and its lock. Code of the host that runs while the lock is held (in [`Stack::read`](crate::Stack::read) or
//! in a token counter) may call queries, which lock the tree again.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::lock_api::GetThreadId;
use parking_lot::{Mutex, RawThreadId, RecursiveRwLock, RecursiveRwLockReadGuard, RecursiveRwLockWriteGuard};

use crate::error::{Error, Result};
use crate::tree::Tree;

/// Duration of the first wait of a change for the readers; each further wait takes twice as long. During a wait no new
/// reader can lock the tree, so that readers cannot delay the change without end.
const WAIT_FOR_READERS: Duration = Duration::from_millis(1);
/// Pause after each wait, in which new readers can lock the tree, because a present one may wait for one of them.
const PAUSE: Duration = Duration::from_micros(50);

/// A tree that many threads can read and one thread at a time can change.
pub(super) struct SharedTree {
    /// A thread that reads can lock it again while a change waits.
    tree: RecursiveRwLock<Tree>,
    /// True while a change waits for the readers. New readers then wait for the gate.
    is_awaited: AtomicBool,
    /// Locked by a change that waits for the readers.
    gate: Mutex<()>,
    /// The number of entries of `borrowers`. If it is 0, which is the usual case, the list is not locked.
    borrowed: AtomicUsize,
    /// The threads that run code of the host while they hold the lock. A thread has several entries if such code is
    /// nested.
    borrowers: Mutex<Vec<NonZeroUsize>>,
}

impl SharedTree {
    pub(super) fn new(tree: Tree) -> Self {
        Self {
            tree: RecursiveRwLock::new(tree),
            is_awaited: AtomicBool::new(false),
            gate: Mutex::default(),
            borrowed: AtomicUsize::new(0),
            borrowers: Mutex::default(),
        }
    }

    /// Locks the current tree for reading. Waits while a change is applied, and for a change that waits, unless code of
    /// the host in this thread has the tree already: the change waits for this thread.
    pub(super) fn read(&self) -> RecursiveRwLockReadGuard<'_, Tree> {
        if self.is_awaited.load(Ordering::Relaxed) && !self.is_borrowed_here() {
            drop(self.gate.lock());
        }
        self.tree.read()
    }

    /// Locks the tree for a change. Only commands call this, after [`SharedTree::check_not_borrowed`].
    pub(super) fn write(&self) -> RecursiveRwLockWriteGuard<'_, Tree> {
        let mut wait = WAIT_FOR_READERS;
        loop {
            if let Some(tree) = self.tree.try_write() {
                return tree;
            }
            let gate = self.gate.lock();
            self.is_awaited.store(true, Ordering::Relaxed);
            let tree = self.tree.try_write_for(wait);
            self.is_awaited.store(false, Ordering::Relaxed);
            drop(gate);
            if let Some(tree) = tree {
                return tree;
            }
            thread::sleep(PAUSE);
            wait *= 2;
        }
    }

    /// Calls code of the host with the current tree. That code may call queries, but no commands.
    pub(super) fn lend<T>(&self, borrow: impl FnOnce(&Tree) -> T) -> T {
        let tree = self.read();
        let _borrower = self.borrower();
        borrow(&tree)
    }

    /// Records that this thread, which holds the read lock, runs code of the host until the returned value is dropped.
    pub(super) fn borrower(&self) -> Borrower<'_> {
        self.borrowers.lock().push(this_thread());
        self.borrowed.fetch_add(1, Ordering::Relaxed);
        Borrower { shared: self }
    }

    /// Checks that a command may run in this thread.
    ///
    /// # Errors
    /// [`Error::InsideRead`] if code of the host in this thread holds the read lock: a command would wait for itself.
    pub(super) fn check_not_borrowed(&self) -> Result<()> {
        if self.is_borrowed_here() { Err(Error::InsideRead {}) } else { Ok(()) }
    }

    fn is_borrowed_here(&self) -> bool {
        self.borrowed.load(Ordering::Relaxed) > 0 && self.borrowers.lock().contains(&this_thread())
    }
}

/// The entry of a thread in the list of borrowers. It is removed when this is dropped.
pub(super) struct Borrower<'a> {
    shared: &'a SharedTree,
}

impl Drop for Borrower<'_> {
    fn drop(&mut self) {
        let mut borrowers = self.shared.borrowers.lock();
        let this = this_thread();
        if let Some(place) = borrowers.iter().rposition(|borrower| *borrower == this) {
            borrowers.swap_remove(place);
            self.shared.borrowed.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// A number of this thread, which no other thread has while this one lives. Unlike [`thread::current`], it allocates no
/// memory in the threads of C programs.
fn this_thread() -> NonZeroUsize {
    RawThreadId.nonzero_thread_id()
}
