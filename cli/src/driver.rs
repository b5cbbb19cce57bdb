//! The driver of a run: the one process that may ask its model and carry out its tool calls.
//!
//! The driver holds a lock on the file `runs/{run}.lock` in the stack's folder. The system releases it when the process
//! ends, however it ends. The file says which process it is, and which background commands it has started.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use callstack_core::Handle;
use serde::{Deserialize, Serialize};

const FOLDER: &str = "runs";
/// A process that only looks at the lock holds it for a moment. So one that takes it tries several times.
const TRIES: u32 = 10;
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// A background command of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackgroundCommand {
    pub id: String,
    pub command: String,
}

/// What the file says about the driver.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Notes {
    /// The ID of the process.
    pub process: u32,
    /// Number of background commands that the run has started so far.
    pub commands_started: u64,
    /// The background commands that run.
    pub commands: Vec<BackgroundCommand>,
}

/// The right to drive a run, until this is dropped or the process ends.
pub struct Driver {
    file: File,
    /// What an earlier driver has left in the file.
    pub earlier: Notes,
}

/// The reason why a process may not drive a run.
pub enum Refusal {
    /// Another process drives it. `None`: the file does not say which one.
    Driven { process: Option<u32> },
    /// The file cannot be used.
    Failed(io::Error),
}

impl Driver {
    /// Takes the right to drive a run, whose stack is in this folder.
    pub fn take(stack: &Path, run: Handle) -> Result<Self, Refusal> {
        let path = path_of(stack, run);
        let mut file = open_or_create(&path).map_err(Refusal::Failed)?;
        let mut tries = 0;
        while let Err(TryLockError::WouldBlock) = file.try_lock() {
            tries += 1;
            if tries == TRIES {
                let process = Some(read(&mut file).process).filter(|process| *process > 0);
                return Err(Refusal::Driven { process });
            }
            std::thread::sleep(BETWEEN_TRIES);
        }
        // A file system without locks cannot tell, and must not keep a run from going on.
        let earlier = read(&mut file);
        let mut driver = Self { file, earlier };
        let notes = Notes { process: std::process::id(), ..driver.earlier.clone() };
        driver.write(&notes).map_err(Refusal::Failed)?;
        Ok(driver)
    }

    /// Records which background commands run, and how many have been started.
    pub fn record(&mut self, commands_started: u64, commands: Vec<BackgroundCommand>) -> io::Result<()> {
        self.write(&Notes { process: std::process::id(), commands_started, commands })
    }

    fn write(&mut self, notes: &Notes) -> io::Result<()> {
        let text = serde_json::to_string(notes)?;
        self.file.rewind()?;
        self.file.set_len(0)?;
        self.file.write_all(text.as_bytes())
    }
}

/// Removes the file of a run that is over. Nobody can drive it any more.
pub fn forget(stack: &Path, run: Handle) {
    let _ = fs::remove_file(path_of(stack, run));
}

/// The process that drives a run, if one does; 0 if it is not known which one.
pub fn driving_process(stack: &Path, run: Handle) -> Option<u32> {
    let mut file = open(&path_of(stack, run), false).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(read(&mut file).process),
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
}

fn path_of(stack: &Path, run: Handle) -> PathBuf {
    stack.join(FOLDER).join(format!("{run}.lock"))
}

/// Opens the file of a run. It is not cut before it is locked, because it says who holds the lock.
fn open_or_create(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent()
        && let Err(error) = fs::create_dir(folder)
        && !(error.kind() == ErrorKind::AlreadyExists && fs::symlink_metadata(folder)?.is_dir())
    {
        return Err(error);
    }
    match OpenOptions::new().read(true).write(true).create_new(true).open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => open(path, true),
        created => created,
    }
}

/// Opens an existing file. Links are not followed, and pipes are refused.
fn open(path: &Path, to_write: bool) -> io::Result<File> {
    let expected = fs::symlink_metadata(path)?;
    if !expected.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, format!("{} is not a regular file", path.display())));
    }
    let file = OpenOptions::new().read(true).write(to_write).open(path)?;
    let found = file.metadata()?;
    if (found.dev(), found.ino()) != (expected.dev(), expected.ino()) {
        return Err(io::Error::new(ErrorKind::InvalidInput, format!("{} was replaced", path.display())));
    }
    Ok(file)
}

/// What the file says; nothing if it is empty or damaged.
fn read(file: &mut File) -> Notes {
    let mut text = String::new();
    let limited = file.rewind().and_then(|()| file.take(1 << 20).read_to_string(&mut text));
    limited.ok().and_then(|_| serde_json::from_str(&text).ok()).unwrap_or_default()
}
