//! The tree behind its lock. Code of the host's that has the tree, inside of [`Stack::read`](crate::Stack::read) or of a
//! token counter, may call queries, which lock the tree again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::Duration;

use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::error::{Error, Result};
use crate::tree::Tree;

/// How long a change waits at a time for the readers. While it waits no other reader gets in, not even a thread that has
/// the tree already and reads it again.
const WAIT_FOR_READERS: Duration = Duration::from_millis(1);
/// The pause after it, in which such a thread gets in and can come to its end.
const PAUSE: Duration = Duration::from_micros(50);

/// A tree that many threads read and one changes.
pub(super) struct SharedTree {
    tree: RwLock<Tree>,
    /// The number of entries of `borrowers`, so that the usual case looks at no list.
    borrowed: AtomicUsize,
    /// The threads that run code of the host's while they hold the lock; several times if they do so in turn.
    borrowers: Mutex<Vec<ThreadId>>,
}

impl SharedTree {
    pub(super) fn new(tree: Tree) -> Self {
        Self { tree: RwLock::new(tree), borrowed: AtomicUsize::new(0), borrowers: Mutex::default() }
    }

    /// The tree as it is now. Waits for a change that is being applied.
    pub(super) fn read(&self) -> RwLockReadGuard<'_, Tree> {
        self.tree.read()
    }

    /// The tree, to be changed. Only commands do so, which [`SharedTree::check_not_borrowed`] has let through.
    pub(super) fn write(&self) -> RwLockWriteGuard<'_, Tree> {
        loop {
            if let Some(tree) = self.tree.try_write_for(WAIT_FOR_READERS) {
                return tree;
            }
            thread::sleep(PAUSE);
        }
    }

    /// Calls code of the host's with the tree as it is now. That code may call queries, and no commands.
    pub(super) fn lend<T>(&self, borrow: impl FnOnce(&Tree) -> T) -> T {
        let tree = self.read();
        let _borrower = self.borrower();
        borrow(&tree)
    }

    /// Notes that this thread, which has the tree, runs code of the host's from now on.
    pub(super) fn borrower(&self) -> Borrower<'_> {
        self.borrowers.lock().push(thread::current().id());
        self.borrowed.fetch_add(1, Ordering::Relaxed);
        Borrower { shared: self }
    }

    /// # Errors
    /// [`Error::InsideRead`] if this thread has the tree: a command would wait for itself.
    pub(super) fn check_not_borrowed(&self) -> Result<()> {
        if self.is_borrowed_here() { Err(Error::InsideRead {}) } else { Ok(()) }
    }

    fn is_borrowed_here(&self) -> bool {
        self.borrowed.load(Ordering::Relaxed) > 0 && self.borrowers.lock().contains(&thread::current().id())
    }
}

/// A thread, for as long as it runs code of the host's with the tree.
pub(super) struct Borrower<'a> {
    shared: &'a SharedTree,
}

impl Drop for Borrower<'_> {
    fn drop(&mut self) {
        let mut borrowers = self.shared.borrowers.lock();
        let this = thread::current().id();
        if let Some(place) = borrowers.iter().rposition(|borrower| *borrower == this) {
            borrowers.swap_remove(place);
            self.shared.borrowed.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
