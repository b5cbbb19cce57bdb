//! How much memory the library allocates, counted by the allocator. A program of its own, since the allocator is that of
//! the whole program; the tests take turns.

mod frames;
#[cfg(feature = "sqlite")]
mod opening;

use std::sync::{Mutex, MutexGuard, PoisonError};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Held by the test that counts.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
