//! The time limit of one call. It covers everything that the call waits for: other threads, the store, and
//! the locks of files.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// The time limit of one call, by the monotonic clock of the system.
#[derive(Clone)]
pub(crate) struct Deadline {
    /// The time at which the call first asked for the remaining time, which it does before its first wait. A
    /// call that never waits does not read the clock.
    began: OnceLock<Instant>,
    limit: Duration,
}

impl Deadline {
    /// The limit of a call that begins now.
    pub(super) fn begin(limit: Duration) -> Self {
        Self { began: OnceLock::new(), limit }
    }

    /// The same limit, for a call that consists of several calls. If the limit has not begun, it begins now.
    pub(super) fn started(self) -> Self {
        self.began.get_or_init(Instant::now);
        self
    }

    /// The time that the call may still wait.
    pub(super) fn remaining(&self) -> Duration {
        self.limit.saturating_sub(self.elapsed())
    }

    /// This limit, or the end of the next `limit` of time if that is earlier.
    pub(super) fn within(&self, limit: Duration) -> Self {
        Self::begin(self.remaining().min(limit))
    }

    /// The error of a call that has waited for another thread of this process. `path` is what the other
    /// thread uses.
    pub(super) fn missed(&self, path: String) -> Error {
        Error::Busy { path, waited: self.waited() }
    }

    /// The result of the call. If it waited for too long, the error states how long it waited in all.
    pub(super) fn stated<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| match error {
            Error::Busy { path, .. } => self.missed(path),
            other => other,
        })
    }

    fn waited(&self) -> u64 {
        u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn elapsed(&self) -> Duration {
        self.began.get_or_init(Instant::now).elapsed()
    }
}
