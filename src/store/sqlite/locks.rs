//! Locks between the users of a database, beside those of SQLite.
//!
//! SQLite uses POSIX locks. The operating system drops all POSIX locks of a process on a file when the process closes
//! any descriptor of that file: when the host copies the folder, or when another copy of SQLite in the process closes the
//! database. The locks here belong to an open file and stay:
//!
//! - A transaction, the set-up of the schema and a checkpoint hold the write lock (`stack.db-write`), exclusively.
//! - Reads outside of a transaction share the read lock (`stack.db-read`). A checkpoint, which moves pages under a
//!   reader, holds it exclusively. A commit only appends to the write-ahead log, so it does not wait for readers.
//! - An open store keeps a [`Hold`] on the database, so that no SQLite deletes the write-ahead log while it is open.

use std::fs::{File, TryLockError};
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::store::file_errors::writing;
use crate::store::folder::Folder;

/// An advisory lock between processes and threads: a file that is locked and unlocked.
pub(super) struct Lock {
    file: File,
    /// The path of the lock's file.
    path: PathBuf,
    /// The path that errors name.
    database: PathBuf,
}

impl Lock {
    /// Opens a lock of the database `name`, whose file is called after the database.
    pub(super) fn open(folder: &Folder, name: &str, suffix: &str) -> Result<Self> {
        let file = format!("{name}{suffix}");
        Ok(Self { file: folder.lock_file(&file)?, path: folder.path_of(&file), database: folder.path_of(name) })
    }

    /// Locks others out.
    ///
    /// # Errors
    /// [`Error::Busy`] if another user has the lock. This does not wait.
    pub(super) fn try_exclusive(&self) -> Result<Locked<'_>> {
        self.locked(self.file.try_lock())
    }

    /// Locks out those who want the lock exclusively.
    ///
    /// # Errors
    /// [`Error::Busy`] if another user has the lock exclusively. This does not wait.
    pub(super) fn try_shared(&self) -> Result<Locked<'_>> {
        self.locked(self.file.try_lock_shared())
    }

    fn locked(&self, attempt: std::result::Result<(), TryLockError>) -> Result<Locked<'_>> {
        match attempt {
            Ok(()) => Ok(Locked(self)),
            Err(TryLockError::WouldBlock) => Err(Error::Busy { path: self.database.display().to_string(), waited: 0 }),
            Err(TryLockError::Error(error)) => Err(writing(&self.path)(error)),
        }
    }

    /// The file, for a short note in it.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn unlock(&self) {
        // Fails only if the file system is gone. Closing the file unlocks too.
        let _ = self.file.unlock();
    }
}

/// A lock that is released when this is dropped.
pub(super) struct Locked<'a>(&'a Lock);

impl Locked<'_> {
    /// Keeps the lock until [`Lock::unlock`].
    pub(super) fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        self.0.unlock();
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) use open_file_lock::Hold;

/// Locks of SQLite's own bytes that belong to the open file. They look to SQLite like another process that has the
/// database open, so a connection that closes never believes to be the last one and deletes the write-ahead log, and one
/// that opens does not begin the shared memory anew.
#[cfg(any(target_os = "linux", target_os = "android"))]
mod open_file_lock {
    use std::fs::File;
    use std::io;

    use nix::fcntl::{FcntlArg, fcntl};
    use nix::libc;

    use crate::error::Result;
    use crate::store::file_errors::writing;
    use crate::store::folder::{Access, Folder};

    /// The bytes that every connection locks while it has the database open, and their number (SQLite file format,
    /// "os_unix.c": `SHARED_FIRST`, `SHARED_SIZE`).
    const SHARED: (libc::off_t, libc::off_t) = (0x4000_0002, 510);
    /// The byte of the shared memory that every user of it locks (`UNIX_SHM_DMS`).
    const IN_USE: (libc::off_t, libc::off_t) = (128, 1);

    /// The locks last until this is dropped.
    pub(in crate::store::sqlite) struct Hold {
        _files: [Option<File>; 2],
    }

    impl Hold {
        pub(in crate::store::sqlite) fn new(folder: &Folder, name: &str) -> Result<Self> {
            let lock = |name: &str, bytes| -> Result<Option<File>> {
                let file = folder.file(name, Access::Read)?;
                file.as_ref().map_or(Ok(()), |file| share(file, bytes)).map_err(writing(&folder.path_of(name)))?;
                Ok(file)
            };
            Ok(Self { _files: [lock(name, SHARED)?, lock(&format!("{name}-shm"), IN_USE)?] })
        }
    }

    /// Takes a shared lock. If the system has no such locks, or another has the bytes exclusively at this moment, the
    /// file stays without: the locks of the library are enough between its own users.
    fn share(file: &File, (start, length): (libc::off_t, libc::off_t)) -> io::Result<()> {
        let lock = libc::flock {
            l_type: libc::F_RDLCK as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: start,
            l_len: length,
            l_pid: 0,
        };
        match fcntl(file, FcntlArg::F_OFD_SETLK(&lock)) {
            Ok(_) | Err(nix::Error::EINVAL | nix::Error::EAGAIN | nix::Error::EACCES) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Other systems have no such locks, or do not need them: Windows keeps the locks of an open file.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) struct Hold;

#[cfg(not(any(target_os = "linux", target_os = "android")))]
impl Hold {
    pub(super) fn new(_folder: &Folder, _name: &str) -> Result<Self> {
        Ok(Self)
    }
}
