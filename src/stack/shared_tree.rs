//! The tree and its lock. Code of the library reads the tree under the lock. Code of the host (in
//! [`Stack::read`](crate::Stack::read) or in a token counter) gets the tree as it is now, without the lock:
//! it may take any time and wait for any thread, and no command waits for it.

use std::num::NonZeroUsize;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::{Mutex, RwLock, RwLockReadGuard};

use crate::error::{Error, Result};
use crate::threads::this_thread;
use crate::tree::Tree;

/// How often a change looks whether the tree is lent, and the pause between two looks. Most code of the host,
/// such as a token counter, takes less time than that, and a copy of a large tree takes more.
const LOOKS: usize = 10;
const PAUSE: Duration = Duration::from_micros(50);

/// A tree that many threads can read and one thread at a time can change.
pub(super) struct SharedTree {
    /// No code of the host runs while this is locked. Nothing waits meanwhile, except for the rare query that
    /// asks the archive for more than the tree of its frame.
    tree: RwLock<Arc<Tree>>,
    /// The number of entries of `borrowers`. If it is 0, which is the usual case, the list is not locked.
    borrowed: AtomicUsize,
    /// The threads that run code of the host with the tree, each with its tree. A thread has several entries
    /// if such code is nested.
    borrowers: Mutex<Vec<(NonZeroUsize, Arc<Tree>)>>,
}

impl SharedTree {
    pub(super) fn new(tree: Tree) -> Self {
        Self { tree: RwLock::new(Arc::new(tree)), borrowed: AtomicUsize::new(0), borrowers: Mutex::default() }
    }

    /// The tree that this thread sees: the tree that is lent to code of the host in this thread, else the
    /// current tree. The caller drops it before it calls code of the host, waits, or reads again.
    pub(super) fn read(&self) -> View<'_> {
        match self.lent_here() {
            Some(tree) => View::Lent(tree),
            None => View::Locked(self.tree.read()),
        }
    }

    /// Calls code of the host with the tree that this thread sees. That code may call queries, which see the
    /// same tree, but no commands.
    pub(super) fn lend<T>(&self, borrow: impl FnOnce(&Tree) -> T) -> T {
        let tree = self.lent_here().unwrap_or_else(|| self.tree.read().clone());
        self.borrowers.lock().push((this_thread(), tree.clone()));
        self.borrowed.fetch_add(1, Ordering::Relaxed);
        let _borrower = Borrower { shared: self };
        borrow(&tree)
    }

    /// Changes the tree. Waits for code of the library that reads it. If it is still lent after a short time,
    /// a copy is changed and takes its place. Only one thread at a time calls this: commands, which have the
    /// journal.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Tree) -> T) -> T {
        for _ in 0..LOOKS {
            if let Some(tree) = Arc::get_mut(&mut self.tree.write()) {
                return change(tree);
            }
            thread::sleep(PAUSE);
        }
        let mut copy = Tree::clone(&self.tree.read());
        let value = change(&mut copy);
        *self.tree.write() = Arc::new(copy);
        value
    }

    /// Checks that a command may run in this thread.
    ///
    /// # Errors
    /// [`Error::InsideRead`] if the tree is lent to code of the host in this thread: that code would continue
    /// with an old tree.
    pub(super) fn check_not_lent_here(&self) -> Result<()> {
        if self.lent_here().is_some() { Err(Error::InsideRead {}) } else { Ok(()) }
    }

    /// The tree that is lent to code of the host in this thread.
    fn lent_here(&self) -> Option<Arc<Tree>> {
        if self.borrowed.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let this = this_thread();
        self.borrowers.lock().iter().find(|(thread, _)| *thread == this).map(|(_, tree)| tree.clone())
    }
}

/// A tree to read.
pub(super) enum View<'a> {
    Locked(RwLockReadGuard<'a, Arc<Tree>>),
    Lent(Arc<Tree>),
}

impl Deref for View<'_> {
    type Target = Tree;

    fn deref(&self) -> &Tree {
        match self {
            View::Locked(tree) => tree,
            View::Lent(tree) => tree,
        }
    }
}

/// Removes an entry of this thread from the list of borrowers when it is dropped.
struct Borrower<'a> {
    shared: &'a SharedTree,
}

impl Drop for Borrower<'_> {
    fn drop(&mut self) {
        let this = this_thread();
        let mut borrowers = self.shared.borrowers.lock();
        if let Some(place) = borrowers.iter().rposition(|(thread, _)| *thread == this) {
            borrowers.swap_remove(place);
            self.shared.borrowed.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
