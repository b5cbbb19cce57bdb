//! The time limit of one call. It begins with the call and covers everything that the call waits for: other threads,
//! the store, and the locks of files.

use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// The time limit of one call, by the monotonic clock of the system.
#[derive(Clone, Copy)]
pub(crate) struct Deadline {
    began: Instant,
    limit: Duration,
}

impl Deadline {
    /// A limit that begins now.
    pub(super) fn begin(limit: Duration) -> Self {
        Self { began: Instant::now(), limit }
    }

    /// The time that the call may still wait.
    pub(super) fn remaining(&self) -> Duration {
        self.limit.saturating_sub(self.began.elapsed())
    }

    /// This limit, or the end of the next `limit` of time if that is earlier.
    pub(super) fn within(&self, limit: Duration) -> Self {
        Self::begin(self.remaining().min(limit))
    }

    /// The error of a call that has waited for another thread of this process. `path` is what the other thread uses.
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
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
