//! The number of a thread.

use std::num::NonZeroUsize;

use parking_lot::RawThreadId;
use parking_lot::lock_api::GetThreadId;

/// A number of this thread, which no other thread has while this one lives. Unlike [`thread::current`], it
/// allocates no memory in the threads of C programs.
pub(crate) fn this_thread() -> NonZeroUsize {
    RawThreadId.nonzero_thread_id()
}
