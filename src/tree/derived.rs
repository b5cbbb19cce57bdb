//! A value that follows from the rest of a tree: it is made when it is first needed, and kept up to date from
//! then on. A tree that is never asked for it does not pay for it.

use std::fmt;
use std::sync::{Arc, OnceLock};

/// Such a value. It says nothing about the tree that the rest does not say, so it is not shown. Copies of a tree
/// share it until one of them changes it.
pub(super) struct Derived<T>(OnceLock<Arc<T>>);

impl<T> Clone for Derived<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Default for Derived<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T> fmt::Debug for Derived<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Derived")
    }
}

impl<T> Derived<T> {
    pub(super) fn get_or_make(&self, make: impl FnOnce() -> T) -> &T {
        self.0.get_or_init(|| Arc::new(make()))
    }

    /// The value if it was made.
    pub(super) fn made(&self) -> Option<&T> {
        self.0.get().map(|value| &**value)
    }

    /// The value, to be changed, if it was made.
    pub(super) fn made_mut(&mut self) -> Option<&mut T>
    where
        T: Clone,
    {
        self.0.get_mut().map(Arc::make_mut)
    }

    pub(super) fn forget(&mut self) {
        self.0.take();
    }
}
