//! Waiting for other processes and threads, with a limit.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::Duration;

use super::file_errors::writing;
use crate::error::{Error, Result};

/// Waits between two attempts. They start short, because a commit takes microseconds, and stay short, so that
/// a call that waits for long has the same chance as one that has just come.
const SHORTEST_WAIT: Duration = Duration::from_micros(50);
const LONGEST_WAIT: Duration = Duration::from_millis(2);

/// The remaining time in which a call may wait for others. The elapsed time is the sum of the waits: no clock
/// is read.
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

/// A locked file. It is unlocked when this is dropped. To close it would not be enough: a process that was
/// forked meanwhile has the same open file, and would keep the lock as long as it lives.
pub(super) enum Locked<'a> {
    Borrowed(&'a File),
    Owned(File),
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let file = match self {
            Self::Borrowed(file) => file,
            Self::Owned(file) => &*file,
        };
        // Fails only if the file system is gone.
        let _ = file.unlock();
    }
}

/// Locks a file.
///
/// # Errors
/// [`Error::Busy`] if others hold the lock for longer than `patience`; [`Error::Io`].
pub(super) fn lock<'a>(file: &'a File, path: &Path, patience: Duration) -> Result<Locked<'a>> {
    wait_for_lock(file, path, patience).map(|()| Locked::Borrowed(file))
}

/// As [`lock`], for a file that is closed afterwards.
pub(super) fn lock_owned(file: File, path: &Path, patience: Duration) -> Result<Locked<'static>> {
    wait_for_lock(&file, path, patience).map(|()| Locked::Owned(file))
}

/// Locks a file in turn: a user that has just unlocked it goes behind those that wait.
///
/// The lock of a file alone is not fair. A process that writes again and again holds it at nearly all moments
/// in which another one looks, so that the other one may wait for seconds. Here a user first takes a second
/// lock, the *queue*, and keeps it until it has the first one. The user that waits at its head therefore has
/// hardly a competitor, and those behind it all look equally often. A user waits in the queue for half of its
/// patience at most: the one at the head may be suspended. Then it tries the lock itself.
///
/// # Errors
/// As [`lock`]. `path` is that of `file`.
pub(super) fn lock_in_turn<'a>(file: &'a File, queue: &File, path: &Path, patience: Duration) -> Result<Locked<'a>> {
    let mut in_queue = Patience::new(patience / 2);
    let _head = match in_queue.retry(|| acquired(queue.try_lock(), path, path)) {
        Ok(()) => Some(Locked::Borrowed(queue)),
        Err(Error::Busy { .. }) => None,
        Err(error) => return Err(error),
    };
    let mut for_lock = Patience { limit: patience, ..in_queue };
    for_lock.retry(|| acquired(file.try_lock(), path, path)).map(|()| Locked::Borrowed(file))
}

fn wait_for_lock(file: &File, path: &Path, patience: Duration) -> Result<()> {
    Patience::new(patience).retry(|| acquired(file.try_lock(), path, path))
}

/// The result of an attempt to lock the file at `path`. [`Error::Busy`] names `busy`.
pub(super) fn acquired(attempt: std::result::Result<(), TryLockError>, path: &Path, busy: &Path) -> Result<()> {
    attempt.map_err(|error| match error {
        TryLockError::WouldBlock => Error::Busy { path: busy.display().to_string(), waited: 0 },
        TryLockError::Error(error) => writing(path)(error),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;

    /// Opens the file as a process of its own would.
    fn open(path: &Path) -> File {
        File::options().create(true).truncate(false).write(true).open(path).unwrap()
    }

    #[test]
    fn users_that_lock_again_at_once_do_not_keep_others_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let [path, queue] = ["lock", "queue"].map(|name| folder.path().join(name));
        let (is_over, others) = (AtomicBool::new(false), AtomicUsize::new(0));
        // Far longer than a turn takes, even if other programs use the processors.
        let patience = Duration::from_secs(20);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let (file, queue) = (open(&path), open(&queue));
                    while !is_over.load(Ordering::Relaxed) {
                        let _locked = lock_in_turn(&file, &queue, &path, patience).unwrap();
                        others.fetch_add(1, Ordering::Relaxed);
                        std::thread::sleep(Duration::from_millis(5));
                    }
                });
            }
            let (file, queue) = (open(&path), open(&queue));
            while others.load(Ordering::Relaxed) < 3 {
                std::thread::yield_now();
            }
            let turns = (0..10).map(|_| lock_in_turn(&file, &queue, &path, patience).map(drop));
            let turns: Vec<Result<()>> = turns.collect();
            is_over.store(true, Ordering::Relaxed);
            assert_eq!(turns, vec![Ok(()); 10]);
            let others = others.load(Ordering::Relaxed);
            assert!(others < 200, "{others} turns of three others for ten own ones");
        });
    }

    #[test]
    fn the_queue_is_free_after_a_wait_that_was_too_long() {
        let folder = tempfile::tempdir().unwrap();
        let [path, queue] = ["lock", "queue"].map(|name| folder.path().join(name));
        let (holder, file, queue) = (open(&path), open(&path), open(&queue));
        let locked = lock(&holder, &path, Duration::ZERO).unwrap();
        let attempt = || lock_in_turn(&file, &queue, &path, Duration::ZERO).map(drop).map_err(|error| error.code());
        assert_eq!(attempt(), Err("busy"));
        drop(locked);
        assert_eq!(attempt(), Ok(()));
        // Another one at its head does not move on.
        let suspended = open(&folder.path().join("queue"));
        let _head = lock(&suspended, &path, Duration::ZERO).unwrap();
        assert_eq!(attempt(), Ok(()));
    }

    #[test]
    fn a_file_that_a_forked_process_has_open_too_is_unlocked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let (file, owned) = (open(&path), open(&path));
        // The same open file, as a forked process has it.
        let _inherited = [file.try_clone().unwrap(), owned.try_clone().unwrap()];
        let other = open(&path);
        let try_lock = || lock(&other, &path, Duration::ZERO).map(drop).map_err(|error| error.code());
        {
            let _locked = lock(&file, &path, Duration::ZERO).unwrap();
            assert_eq!(try_lock(), Err("busy"));
        }
        drop(file);
        assert_eq!(try_lock(), Ok(()));
        let locked = lock_owned(owned, &path, Duration::ZERO).unwrap();
        assert_eq!(try_lock(), Err("busy"));
        drop(locked);
        assert_eq!(try_lock(), Ok(()));
    }
}
