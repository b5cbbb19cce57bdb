//! Locks between the users of a database, in addition to SQLite's own.
//!
//! SQLite uses POSIX locks. The operating system drops all POSIX locks of a process on a file when the
//! process closes any descriptor of that file: when the host copies the folder, or when another copy of
//! SQLite in the process closes the database. The locks here belong to an open file and stay:
//!
//! - A transaction, the set-up of the schema and a checkpoint hold the write lock (`stack.db-write`),
//!   exclusively.
//! - Reads outside of a transaction share the read lock (`stack.db-read`). A checkpoint, which moves pages
//!   under a reader, holds it exclusively. A commit only appends to the write-ahead log, so it does not wait
//!   for readers.
//! - An open store keeps a [`Hold`] on the database, so that no copy of SQLite deletes the write-ahead log
//!   while the store is open, and none moves the log into the database during a read.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
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
    /// [`Error::Busy`] if another process has the lock. This does not wait.
    pub(super) fn try_exclusive(&self) -> Result<Locked<'_>> {
        self.locked(self.file.try_lock())
    }

    /// Locks out users that want the lock exclusively.
    ///
    /// # Errors
    /// [`Error::Busy`] if another process has the lock exclusively. This does not wait.
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

/// The files that an open store holds in addition to its connection, until this is dropped. On Linux and
/// macOS it locks the bytes with which SQLite says that a file is in use. These locks belong to the open
/// file. To SQLite they look like another process that has the database open. Therefore a connection that
/// closes never takes itself for the last one, and does not delete the write-ahead log. A connection that
/// opens does not set up the shared memory again.
pub(super) struct Hold {
    _database: Option<File>,
    shared_memory: Option<File>,
    log: Option<File>,
}

/// The beginning of the shared memory (SQLite, "WAL-mode File Format", section 2.1). Numbers are in the order
/// of the machine.
pub(super) struct LogState {
    /// Number of pages in the write-ahead log.
    pub(super) length: u32,
    /// Number of pages that are in the database already.
    pub(super) moved: u32,
    page_size: u32,
    salts: [u8; 8],
    /// The whole header, which every commit changes.
    pub(super) header: [u8; 48],
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
        let shared_memory = hold(&format!("{name}-shm"), (128, 1))?;
        Ok(Self { _database: database, shared_memory, log: folder.file(&format!("{name}-wal"), Access::Read)? })
    }

    /// The state of the write-ahead log. `None` if it is unknown.
    pub(super) fn log_state(&self) -> Option<LogState> {
        let mut bytes = [0; 100];
        read_at(self.shared_memory.as_ref()?, 0, &mut bytes).ok()?;
        let number = |place: usize| u32::from_ne_bytes(bytes[place..place + 4].try_into().expect("four bytes"));
        let page_size = u32::from(u16::from_ne_bytes([bytes[14], bytes[15]]));
        let salts = bytes[32..40].try_into().expect("eight bytes");
        let header = bytes[..48].try_into().expect("48 bytes");
        Some(LogState { length: number(16), moved: number(96), page_size, salts, header })
    }

    /// True if the file of the write-ahead log can be the one that the shared memory describes: it is long
    /// enough, and begins with the same salts. Call it with the write lock, because a commit changes both one
    /// after the other.
    pub(super) fn has_whole_log(&self) -> bool {
        self.log_state().is_none_or(|state| self.is_log_of(&state))
    }

    /// As [`Hold::has_whole_log`], with what the shared memory describes.
    pub(super) fn is_log_of(&self, state: &LogState) -> bool {
        let is_long_enough = |log: &File| {
            // A header of 32 bytes, and a frame of 24 bytes before each page.
            let least = 32 + u64::from(state.length) * (u64::from(state.page_size) + 24);
            log.metadata().is_ok_and(|data| data.len() >= least)
        };
        state.length == 0 || self.log.as_ref().is_none_or(is_long_enough) && self.has_salts_of(state)
    }

    /// True if the write-ahead log begins with the salts that the shared memory describes. After it was
    /// emptied, it does not.
    pub(super) fn has_salts_of(&self, state: &LogState) -> bool {
        let mut salts = [0; 8];
        let read = self.log.as_ref().map(|log| read_at(log, 16, &mut salts));
        state.length == 0 || read.is_none_or(|read| read.is_ok() && salts == state.salts)
    }

    /// Keeps other programs from moving the write-ahead log into the database, until
    /// [`Hold::allow_checkpoints`]. Their checkpoints know only SQLite's locks, and this process may have
    /// lost its own SQLite locks.
    ///
    /// # Errors
    /// [`Error::Busy`] if another program is doing it now. This does not wait.
    pub(super) fn forbid_checkpoints(&self, database: &Path) -> Result<()> {
        let Some(file) = &self.shared_memory else { return Ok(()) };
        match set_lock(file, Mode::Shared, CHECKPOINT) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                Err(Error::Busy { path: database.display().to_string(), waited: 0 })
            }
            Err(error) => Err(writing(database)(error)),
        }
    }

    pub(super) fn allow_checkpoints(&self) {
        // Fails only if the file system is gone. Closing the file unlocks too.
        let _ = self.shared_memory.as_ref().map(|file| set_lock(file, Mode::None, CHECKPOINT));
    }
}

/// The byte of the shared memory that a checkpoint locks (WAL_CKPT_LOCK), and its number.
const CHECKPOINT: (i64, i64) = (121, 1);

/// The kind of a lock of bytes.
#[derive(Clone, Copy)]
enum Mode {
    Shared,
    None,
}

#[cfg(unix)]
fn read_at(file: &File, place: u64, bytes: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, place)
}

#[cfg(not(unix))]
fn read_at(file: &File, place: u64, bytes: &mut [u8]) -> io::Result<()> {
    // Less is read only at the end of the file.
    match std::os::windows::fs::FileExt::seek_read(file, bytes, place)? {
        read if read == bytes.len() => Ok(()),
        _ => Err(ErrorKind::UnexpectedEof.into()),
    }
}

/// Takes a shared lock of bytes: the first one and their number. If another process has the bytes exclusively at
/// this moment, the file stays without this lock: the library's locks are enough between its own users.
fn share(file: &File, bytes: (i64, i64)) -> io::Result<()> {
    match set_lock(file, Mode::Shared, bytes) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
        done => done,
    }
}

/// Locks or unlocks bytes for the open file. A system without such locks answers that it has done so.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn set_lock(file: &File, mode: Mode, (start, length): (i64, i64)) -> io::Result<()> {
    use nix::libc;

    let kind = match mode {
        Mode::Shared => libc::F_RDLCK,
        Mode::None => libc::F_UNLCK,
    };
    let lock = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: start as libc::off_t,
        l_len: length as libc::off_t,
        l_pid: 0,
    };
    match ask(file, &lock) {
        Ok(_) | Err(nix::Error::EINVAL) => Ok(()),
        Err(nix::Error::EACCES) => Err(ErrorKind::WouldBlock.into()),
        Err(error) => Err(error.into()),
    }
}

/// Asks the system for a lock of the open file.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn ask(file: &File, lock: &nix::libc::flock) -> nix::Result<i32> {
    nix::fcntl::fcntl(file, nix::fcntl::FcntlArg::F_OFD_SETLK(lock))
}

/// Asks the system for a lock of the open file. nix has this call only on Linux.
#[cfg(target_vendor = "apple")]
#[allow(unsafe_code)]
fn ask(file: &File, lock: &nix::libc::flock) -> nix::Result<i32> {
    use std::os::fd::AsRawFd;

    // SAFETY: the descriptor is open as long as `file` is borrowed, and the call reads the lock before it
    // returns.
    nix::errno::Errno::result(unsafe { nix::libc::fcntl(file.as_raw_fd(), nix::libc::F_OFD_SETLK, lock) })
}

/// Other systems have no such locks, or do not need them: Windows keeps the locks of an open file.
#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn set_lock(_file: &File, _mode: Mode, _bytes: (i64, i64)) -> io::Result<()> {
    Ok(())
}
