//! Waiting for other processes and threads, with a limit.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::Duration;

use super::file_errors::writing;
use crate::error::{Error, Result};

/// Waits between two attempts. They start short, because a commit takes microseconds.
const SHORTEST_WAIT: Duration = Duration::from_micros(50);
const LONGEST_WAIT: Duration = Duration::from_millis(4);

/// The remaining time in which a call may wait for others. The elapsed time is the sum of the waits: no clock is read.
pub(super) struct Patience {
    limit: Duration,
    waited: Duration,
}

impl Patience {
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, waited: Duration::ZERO }
    }

    /// The time that is left.
    #[cfg(feature = "sqlite")]
    pub(super) fn left(&self) -> Duration {
        self.limit.saturating_sub(self.waited)
    }

    /// Repeats `run` while it fails with [`Error::Busy`], until the time is over.
    pub(super) fn retry<T>(&mut self, mut run: impl FnMut() -> Result<T>) -> Result<T> {
        let mut wait = SHORTEST_WAIT;
        loop {
            match run() {
                Err(Error::Busy { path, .. }) if self.waited >= self.limit => {
                    return Err(Error::Busy { path, waited: self.waited.as_millis() as u64 });
                }
                Err(Error::Busy { .. }) => {
                    std::thread::sleep(wait);
                    self.waited += wait;
                    wait = (wait * 2).min(LONGEST_WAIT);
                }
                done => return done,
            }
        }
    }
}

/// Locks a file until it is unlocked or closed.
///
/// # Errors
/// [`Error::Busy`] if others hold the lock for longer than `patience`; [`Error::Io`].
pub(super) fn lock(file: &File, path: &Path, patience: Duration) -> Result<()> {
    Patience::new(patience).retry(|| acquired(file.try_lock(), path, path))
}

/// The result of an attempt to lock the file at `path`. [`Error::Busy`] names `busy`.
pub(super) fn acquired(attempt: std::result::Result<(), TryLockError>, path: &Path, busy: &Path) -> Result<()> {
    attempt.map_err(|error| match error {
        TryLockError::WouldBlock => Error::Busy { path: busy.display().to_string(), waited: 0 },
        TryLockError::Error(error) => writing(path)(error),
    })
}
