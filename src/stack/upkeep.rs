//! [`Upkeep`]: work on a stack that is due, its health and repairs, and its cache.

#[cfg(doc)]
use super::Files;
use super::Stack;
use super::journal::MirrorScope;
use crate::context::CacheStatistics;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::frame::{FrameRef, Repair};

/// The upkeep of a stack: work that is due, its health, repairs, and the cache of contexts. [`Stack::upkeep`]
/// returns it.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct Upkeep<'a> {
    pub(super) stack: &'a Stack,
}

impl Stack {
    /// Returns the methods for the upkeep of the stack.
    ///
    /// ```
    /// use callstack_core::{NewFrame, Settings, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let shop = stack.push(NewFrame::new("Build a shop"))?;
    /// stack.context(shop, &Settings::default())?;
    /// let upkeep = stack.upkeep();
    /// assert_eq!((upkeep.deadline(), upkeep.repairs().len()), (None, 0));
    /// assert_eq!(upkeep.cache_statistics().misses, 1);
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    pub fn upkeep(&self) -> Upkeep<'_> {
        Upkeep { stack: self }
    }
}

impl<'a> Upkeep<'a> {
    /// Writes the files beside the database that are out of date, if they are due: the files of changed
    /// frames every 250 ms, and `state.json` when that costs little compared with the changes, or 5 s after
    /// the last change. One call writes the files of at most 64 frames and begins none after 4 ms, so that
    /// neither the caller nor the commands of other threads wait long; [`Upkeep::deadline`] is 25 ms later if
    /// there are more. Only `state.json` is written as a whole, which takes some milliseconds for each
    /// megabyte, and then at most a hundredth of the time.
    ///
    /// Call it at the time that [`Upkeep::deadline`] returns; `stack.host().poll()` includes it. A stack with
    /// [`Mirroring::WithCommands`](super::Mirroring::WithCommands) also does this in commands and in
    /// [`Stack::refresh`]. Errors are kept in [`Files::status`].
    ///
    /// ```
    /// use callstack_core::{NewFrame, Stack, StackOptions};
    ///
    /// # #[cfg(feature = "sqlite")] {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let folder = folder.path();
    /// let stack = Stack::open(folder, StackOptions::default())?;
    /// stack.push(NewFrame::new("Build a shop").id("ses_1"))?;
    /// assert!(stack.upkeep().deadline().is_some());
    /// stack.upkeep().poll();
    /// assert!(folder.join("frames/ses_1.json").exists());
    /// assert_eq!(stack.upkeep().deadline(), None);
    /// # }
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    pub fn poll(&self) {
        // The mirror's status keeps the error; a broken stack has no mirror.
        let _ = self.stack.write_mirror(MirrorScope::Due);
    }

    /// The time at which [`Upkeep::poll`] should be called, in milliseconds since the Unix epoch. `None` if
    /// the files were up to date after the last command, or if the stack has no mirror.
    pub fn deadline(&self) -> Option<u64> {
        let deadline = self.stack.inner.mirror.lock().deadline?;
        Some(self.stack.inner.span_clock.time_of_day(deadline, &self.stack.inner.clock))
    }

    /// What was repaired when the stack was opened: the inconsistencies of files that were imported, and a
    /// snapshot of the database that could not be read. Usually empty.
    pub fn repairs(&self) -> &'a [Repair] {
        &self.stack.inner.repairs
    }

    /// The statistics of the context cache: hits, misses, and the number of cached contexts.
    pub fn cache_statistics(&self) -> CacheStatistics {
        self.stack.inner.contexts.cache_statistics()
    }

    /// Removes the contexts of a frame from the cache; for `None` all contexts.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`].
    pub fn clear_cache(&self, frame: Option<FrameRef>) -> Result<()> {
        self.stack.check_working()?;
        let handle = frame.map(|frame| self.stack.resolve(frame)).transpose()?;
        self.stack.inner.contexts.clear_cache(handle);
        Ok(())
    }
}
