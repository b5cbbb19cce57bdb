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
use std::io;
use std::path::PathBuf;

use crate::error::Result;
use crate::store::file_errors::writing;
use crate::store::folder::{Access, Folder};
use crate::store::patience::acquired;

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
        acquired(attempt, &self.path, &self.database).map(|()| Locked(self))
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

/// Place of the number of pages in the write-ahead log, in the shared memory: a 32-bit number in the order of the machine
/// (SQLite, "WAL-mode File Format", section 2.1, `mxFrame`).
const LOG_LENGTH: u64 = 16;

/// The files that an open store holds beside its connection, until this is dropped. On Linux it locks the bytes with
/// which SQLite says that a file is in use. These locks belong to the open file. They look to SQLite like another process
/// that has the database open: a connection that closes never believes to be the last one and deletes the write-ahead
/// log, and one that opens does not begin the shared memory anew.
pub(super) struct Hold {
    _database: Option<File>,
    shared_memory: Option<File>,
}

impl Hold {
    pub(super) fn new(folder: &Folder, name: &str) -> Result<Self> {
        let hold = |name: &str, bytes| -> Result<Option<File>> {
            let file = folder.file(name, Access::Read)?;
            file.as_ref().map_or(Ok(()), |file| share(file, bytes)).map_err(writing(&folder.path_of(name)))?;
            Ok(file)
        };
        // SQLite's names of these bytes are SHARED_FIRST with SHARED_SIZE, and UNIX_SHM_DMS.
        let database = hold(name, (0x4000_0002, 510))?;
        Ok(Self { _database: database, shared_memory: hold(&format!("{name}-shm"), (128, 1))? })
    }

    /// The length of the write-ahead log, in pages. 0 if it is unknown.
    pub(super) fn log_length(&self) -> u32 {
        let mut bytes = [0; 4];
        let read = self.shared_memory.as_ref().map(|file| read_at(file, LOG_LENGTH, &mut bytes));
        if matches!(read, Some(Ok(()))) { u32::from_ne_bytes(bytes) } else { 0 }
    }
}

#[cfg(unix)]
fn read_at(file: &File, place: u64, bytes: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, place)
}

#[cfg(not(unix))]
fn read_at(mut file: &File, place: u64, bytes: &mut [u8]) -> io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};
    file.seek(SeekFrom::Start(place))?;
    file.read_exact(bytes)
}

/// Takes a shared lock of bytes: the first one and their number. If the system has no such locks, or another has the bytes
/// exclusively at this moment, the file stays without: the library's locks are enough between its own users.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn share(file: &File, (start, length): (i64, i64)) -> io::Result<()> {
    use nix::fcntl::{FcntlArg, fcntl};
    use nix::libc;

    let lock = libc::flock {
        l_type: libc::F_RDLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: start as libc::off_t,
        l_len: length as libc::off_t,
        l_pid: 0,
    };
    match fcntl(file, FcntlArg::F_OFD_SETLK(&lock)) {
        Ok(_) | Err(nix::Error::EINVAL | nix::Error::EAGAIN | nix::Error::EACCES) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Other systems have no such locks, or do not need them: Windows keeps the locks of an open file.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn share(_file: &File, _bytes: (i64, i64)) -> io::Result<()> {
    Ok(())
}
