//! The identity of a database's files. It shows that the files were replaced while the store was open: deleted and
//! begun anew, moved away, or overwritten by an older copy.

use std::fs::{File, Metadata};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::companion;

/// The files of a database that must stay the same while it is open.
const SUFFIXES: [&str; 4] = ["", "-wal", "-shm", "-write"];
/// Maximum length of the note in the write lock's file, in bytes.
const LONGEST_NOTE: u64 = 100;

/// The number of a file on its disk: equal for two names of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileNumber {
    device: u64,
    number: u64,
}

/// The size of the database and the time of its last change. Only checkpoints change the database, and they note both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    size: u64,
    /// In nanoseconds, from a moment that the system chooses.
    changed: i128,
}

/// What the names of the files lead to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Files {
    numbers: [Option<FileNumber>; SUFFIXES.len()],
    stamp: Option<Stamp>,
}

/// The paths of the files.
#[derive(Debug)]
pub(super) struct Paths([PathBuf; SUFFIXES.len()]);

/// How the files differ from those that were opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Difference {
    /// The same files with the same database.
    None,
    /// The same files, but the database itself was written.
    Written,
    /// Another file, or none, at one of the names.
    Replaced(&'static str),
}

impl Paths {
    pub(super) fn of(database: &Path) -> Self {
        Self(SUFFIXES.map(|suffix| companion(database, suffix)))
    }

    /// Looks at all files.
    pub(super) fn look(&self) -> Files {
        let data = self.0.each_ref().map(|path| path.symlink_metadata().ok());
        Files {
            numbers: data.each_ref().map(|data| data.as_ref().and_then(number)),
            stamp: data[0].as_ref().map(stamp),
        }
    }
}

impl Files {
    pub(super) fn stamp(&self) -> Option<Stamp> {
        self.stamp
    }

    /// How these files differ from those that were there `before`.
    pub(super) fn difference(&self, before: &Files) -> Difference {
        let differs = |index: &usize| self.numbers[*index] != before.numbers[*index];
        match (0..SUFFIXES.len()).find(differs) {
            Some(index) => Difference::Replaced(SUFFIXES[index]),
            None if self.stamp != before.stamp => Difference::Written,
            None => Difference::None,
        }
    }
}

impl Stamp {
    /// Notes the stamp in the file of the write lock, for the other users.
    pub(super) fn note(self, mut file: &File) -> std::io::Result<()> {
        let text = format!("{} {}\n", self.size, self.changed);
        file.seek(SeekFrom::Start(0))?;
        file.write_all(text.as_bytes())?;
        file.set_len(text.len() as u64)
    }

    /// True if a user has noted this stamp.
    pub(super) fn is_noted(self, mut file: &File) -> bool {
        let mut text = String::new();
        let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.take(LONGEST_NOTE).read_to_string(&mut text));
        read.is_ok() && text == format!("{} {}\n", self.size, self.changed)
    }
}

#[cfg(unix)]
fn stamp(data: &Metadata) -> Stamp {
    use std::os::unix::fs::MetadataExt;
    let changed = i128::from(data.mtime()) * 1_000_000_000 + i128::from(data.mtime_nsec());
    Stamp { size: data.len(), changed }
}

#[cfg(windows)]
fn stamp(data: &Metadata) -> Stamp {
    use std::os::windows::fs::MetadataExt;
    Stamp { size: data.len(), changed: i128::from(data.last_write_time()) * 100 }
}

#[cfg(unix)]
fn number(data: &Metadata) -> Option<FileNumber> {
    use std::os::unix::fs::MetadataExt;
    Some(FileNumber { device: data.dev(), number: data.ino() })
}

/// Windows does not let anyone replace a file that is open, so the existence is enough.
#[cfg(windows)]
fn number(_data: &Metadata) -> Option<FileNumber> {
    Some(FileNumber { device: 0, number: 0 })
}
