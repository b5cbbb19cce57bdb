//! Tests of the process memory that the library allocates, counted by the allocator. They are a separate
//! program, because the allocator is set for the whole program. The tests run one at a time.

mod contexts;
mod fold;
mod frames;
#[cfg(feature = "session")]
mod growth;
#[cfg(feature = "sqlite")]
mod opening;

use std::sync::{Mutex, MutexGuard, PoisonError};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// A lock that a test holds while it counts.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
