//! The lock of a run: the file `runs/{run}.lock` in the stack's folder.
//!
//! The process that drives the run holds a lock on the file. The system releases this lock when the process
//! ends, no matter how it ends. The file says which process it is, and which background commands it has
//! started.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};

use callstack_core::Handle;
use serde::{Deserialize, Serialize};

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

/// Removes the file of a run that is over. No process can drive it any more.
pub fn forget(stack: Option<&Path>, run: Handle) {
    let _ = stack.map(|stack| fs::remove_file(path_of(stack, run)));
}

/// The process that drives a run, if one does; 0 if it is not known which one. `stack`: the folder of the
/// stack. No process drives runs on servers.
pub fn driving_process(stack: Option<&Path>, run: Handle) -> Option<u32> {
    let mut file = open(&path_of(stack?, run), false).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(read(&mut file).process),
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
}

/// The path of the file.
pub fn path_of(stack: &Path, run: Handle) -> PathBuf {
    stack.join("runs").join(format!("{run}.lock"))
}

/// Opens an existing file. Links are not followed, and pipes are refused.
pub fn open(path: &Path, to_write: bool) -> io::Result<File> {
    let expected = fs::symlink_metadata(path)?;
    if !expected.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, format!("{} is not a regular file", path.display())));
    }
    let file = OpenOptions::new().read(true).write(to_write).open(path)?;
    if !is_same(&expected, &file.metadata()?) {
        return Err(io::Error::new(ErrorKind::InvalidInput, format!("{} was replaced", path.display())));
    }
    Ok(file)
}

/// True if both belong to one file.
#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// The standard library cannot tell it on Windows, where no agent drives runs: a file in the place of another
/// is a file that no process has locked.
#[cfg(not(unix))]
fn is_same(_one: &Metadata, other: &Metadata) -> bool {
    other.is_file()
}

/// What the file says; nothing if it is empty or damaged.
pub fn read(file: &mut File) -> Notes {
    let mut text = String::new();
    let limited = file.rewind().and_then(|()| file.take(1 << 20).read_to_string(&mut text));
    limited.ok().and_then(|_| serde_json::from_str(&text).ok()).unwrap_or_default()
}
