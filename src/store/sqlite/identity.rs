//! The identity of a database's files. It shows that the files were replaced while the store was open:
//! deleted and made again, moved away, or overwritten by an older copy.

use std::fs::{File, Metadata};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use crate::store::folder::{FileState, Folder};

/// The files of a database that must stay the same while it is open. The write-ahead log is the second.
const SUFFIXES: [&str; 4] = ["", "-wal", "-shm", "-write"];
/// Maximum length of the note in the write lock's file, in bytes.
const LONGEST_NOTE: u64 = 100;
/// The note during a checkpoint.
const CHECKPOINT: &str = "checkpoint\n";

/// The size of the database and the time of its last change. Only checkpoints change the database, and they
/// note both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    size: u64,
    /// In nanoseconds, from a moment that the system chooses.
    changed: i128,
}

/// What the names of the files lead to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Files {
    /// The device and the number of each file: equal for two names of one file.
    numbers: [Option<(u64, u64)>; SUFFIXES.len()],
    stamp: Option<Stamp>,
    /// The state of the write-ahead log.
    log: Option<FileState>,
}

/// The names of the files.
#[derive(Debug)]
pub(super) struct Paths {
    folder: Folder,
    database: PathBuf,
    log: PathBuf,
    /// The names of the other files in the folder.
    others: [String; SUFFIXES.len() - 1],
}

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
    pub(super) fn of(folder: &Folder, name: &str) -> Self {
        let [_, others @ ..] = SUFFIXES.map(|suffix| format!("{name}{suffix}"));
        Self { folder: folder.clone(), database: folder.path_of(name), log: folder.path_of(&others[0]), others }
    }

    /// Looks at all files: at the database by its path, which shows that the folder was replaced, and at the
    /// others by their names in the folder that was opened.
    pub(super) fn look(&self) -> Files {
        let database = self.database.symlink_metadata().ok();
        let [log, shared_memory, write_lock] = self.others.each_ref().map(|name| self.folder.state(name));
        Files {
            numbers: [database.as_ref().map(number), log.map(id), shared_memory.map(id), write_lock.map(id)],
            log,
            stamp: database.as_ref().map(stamp),
        }
    }

    /// What the path of the write-ahead log leads to.
    pub(super) fn log(&self) -> Option<FileState> {
        self.log.symlink_metadata().ok().as_ref().map(FileState::from)
    }
}

impl Files {
    pub(super) fn stamp(&self) -> Option<Stamp> {
        self.stamp
    }

    /// The state of the write-ahead log.
    pub(super) fn log(&self) -> Option<FileState> {
        self.log
    }

    /// True if this is the same write-ahead log, even if its content has changed.
    pub(super) fn is_log(&self, log: Option<FileState>) -> bool {
        log.map(id) == self.numbers[1]
    }

    /// True if there is a write-ahead log.
    pub(super) fn has_log(&self) -> bool {
        self.numbers[1].is_some()
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
    /// Notes the stamp in the file of a lock, for the other users.
    pub(super) fn note(self, file: &File) -> std::io::Result<()> {
        write_note(file, &format!("{} {}\n", self.size, self.changed))
    }

    /// True if a user has noted this stamp.
    pub(super) fn is_noted(self, file: &File) -> bool {
        read_note(file).is_ok_and(|note| note == format!("{} {}\n", self.size, self.changed))
    }
}

/// Notes that a checkpoint begins. A process that is killed in it leaves this note.
pub(super) fn note_checkpoint(file: &File) -> std::io::Result<()> {
    write_note(file, CHECKPOINT)
}

/// True if a checkpoint has begun and not ended.
pub(super) fn is_checkpoint_noted(file: &File) -> bool {
    read_note(file).is_ok_and(|note| note == CHECKPOINT)
}

fn write_note(mut file: &File, text: &str) -> std::io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)
}

fn read_note(mut file: &File) -> std::io::Result<String> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(LONGEST_NOTE).read_to_string(&mut text)?;
    Ok(text)
}

fn id(state: FileState) -> (u64, u64) {
    state.number
}

fn number(data: &Metadata) -> (u64, u64) {
    FileState::from(data).number
}

fn stamp(data: &Metadata) -> Stamp {
    let FileState { size, changed, .. } = FileState::from(data);
    Stamp { size, changed }
}
