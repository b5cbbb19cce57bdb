//! The tree behind its lock. A thread may look at the tree again while it has it, from inside of
//! [`Stack::read`](crate::Stack::read) or of a token counter.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};

use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::error::{Error, Result};
use crate::tree::Tree;

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
        // A thread that has the lock already must not wait for a writer, who waits for that thread.
        if self.is_borrowed_here() { self.tree.read_recursive() } else { self.tree.read() }
    }

    /// The tree, to be changed. Only commands do so, which [`SharedTree::check_not_borrowed`] has let through.
    pub(super) fn write(&self) -> RwLockWriteGuard<'_, Tree> {
        self.tree.write()
    }

    pub(super) fn get_mut(&mut self) -> &mut Tree {
        self.tree.get_mut()
    }

    /// Calls code of the host's with the tree as it is now. That code may call queries, and no commands.
    pub(super) fn lend<T>(&self, borrow: impl FnOnce(&Tree) -> T) -> T {
        let tree = self.read();
        let _borrower = Borrower::new(self);
        borrow(&tree)
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

/// This thread, for as long as it has the tree.
struct Borrower<'a> {
    shared: &'a SharedTree,
}

impl<'a> Borrower<'a> {
    fn new(shared: &'a SharedTree) -> Self {
        shared.borrowers.lock().push(thread::current().id());
        shared.borrowed.fetch_add(1, Ordering::Relaxed);
        Self { shared }
    }
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
