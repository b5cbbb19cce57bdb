//! Operations on the names of an open directory, by the system calls that take a directory instead of a path.
//! No process can redirect them by replacing a part of the path with a link.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::dir::Dir;
use nix::fcntl::{self, AtFlags, OFlag};
use nix::sys::stat::{self, FileStat, Mode, SFlag};
use nix::unistd;

use super::{Access, FileState, Kind};

/// The permissions of new files and directories, which the process's mask reduces.
const FILE_MODE: Mode = Mode::from_bits_truncate(0o666);
const DIRECTORY_MODE: Mode = Mode::from_bits_truncate(0o777);
const OPEN_DIRECTORY: OFlag = OFlag::O_DIRECTORY.union(OFlag::O_CLOEXEC);

#[derive(Debug)]
pub(super) struct Directory(OwnedFd);

impl Directory {
    /// Opens a directory by its path, in which links are followed.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(fcntl::open(path, OPEN_DIRECTORY, Mode::empty())?))
    }

    pub(super) fn subdirectory(&self, name: &str) -> io::Result<Self> {
        Ok(Self(fcntl::openat(&self.0, name, OPEN_DIRECTORY | OFlag::O_NOFOLLOW, Mode::empty())?))
    }

    pub(super) fn make_subdirectory(&self, name: &str) -> io::Result<()> {
        Ok(stat::mkdirat(&self.0, name, DIRECTORY_MODE)?)
    }

    /// Opens what is at the name, unless it is a link. Does not wait for the other end of a pipe.
    pub(super) fn open_file(&self, name: &str, access: Access) -> io::Result<File> {
        let flags = match access {
            Access::Read => OFlag::O_RDONLY,
            Access::Write => OFlag::O_WRONLY,
            Access::Append => OFlag::O_RDWR | OFlag::O_APPEND | OFlag::O_CREAT,
            Access::Create => OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL,
            Access::Lock => OFlag::O_RDWR | OFlag::O_CREAT,
        };
        let flags = flags | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        Ok(File::from(fcntl::openat(&self.0, name, flags, FILE_MODE)?))
    }

    pub(super) fn kind(&self, name: &str) -> io::Result<Kind> {
        Ok(kind_of(&stat::fstatat(&self.0, name, AtFlags::AT_SYMLINK_NOFOLLOW)?))
    }

    /// What is known of the file at the name. `None` if nothing is there.
    pub(super) fn state(&self, name: &str) -> Option<FileState> {
        let data = stat::fstatat(&self.0, name, AtFlags::AT_SYMLINK_NOFOLLOW).ok()?;
        // The widths of these numbers differ between systems.
        let changed = i128::from(data.st_mtime) * 1_000_000_000 + i128::from(data.st_mtime_nsec);
        Some(FileState { number: (data.st_dev as u64, data.st_ino as u64), size: data.st_size as u64, changed })
    }

    pub(super) fn rename(&self, from: &str, to: &Self, new: &str) -> io::Result<()> {
        Ok(fcntl::renameat(&self.0, from, &to.0, new)?)
    }

    pub(super) fn link(&self, from: &str, to: &Self, new: &str) -> io::Result<()> {
        Ok(unistd::linkat(&self.0, from, &to.0, new, AtFlags::empty())?)
    }

    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        Ok(unistd::unlinkat(&self.0, name, unistd::UnlinkatFlags::NoRemoveDir)?)
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        // On macOS `fsync` leaves the data in the cache of the disk. Some file systems have no other
        // operation.
        #[cfg(target_vendor = "apple")]
        if fcntl::fcntl(&self.0, fcntl::FcntlArg::F_FULLFSYNC).is_ok() {
            return Ok(());
        }
        Ok(unistd::fsync(&self.0)?)
    }

    pub(super) fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::openat(&self.0, ".", OPEN_DIRECTORY, Mode::empty())?.iter() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsStr::from_bytes(name).to_owned());
            }
        }
        Ok(names)
    }
}

fn kind_of(data: &FileStat) -> Kind {
    match SFlag::from_bits_truncate(data.st_mode) & SFlag::S_IFMT {
        SFlag::S_IFREG => Kind::File,
        SFlag::S_IFDIR => Kind::Folder,
        SFlag::S_IFLNK => Kind::Link,
        _ => Kind::Other,
    }
}
