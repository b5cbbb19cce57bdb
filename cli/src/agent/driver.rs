//! The driver of a run: the one process that may ask its model and carry out its tool calls.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Seek, Write};
use std::path::Path;
use std::time::Duration;

use callstack_core::Handle;

use crate::run_lock::{BackgroundCommand, Notes, open, path_of, read};

/// A process that only looks at the lock holds it for a moment. Therefore a process that takes the lock tries
/// several times.
const TRIES: u32 = 10;
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// The right to drive a run, until this is dropped or the process ends.
pub struct Driver {
    file: File,
    /// The notes of the driver before this one.
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
        // A file system without locks cannot tell whether another process drives the run. It must not keep a
        // run from continuing.
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

/// Opens the file of a run. The file is not truncated before it is locked, because it says which process
/// holds the lock.
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
