//! Presence of the hosts that run calls: a host holds a lock on a file of its own as long as its process lives, however
//! the process ends. So another process can tell an interrupted call from one that runs.

use std::fs::{File, TryLockError};

use crate::error::Result;
use crate::store::folder::Folder;

/// The folder of the lock files.
const HOSTS: &str = "hosts";

/// Shows that a host exists, until this is dropped or the process ends.
#[derive(Debug)]
pub(crate) struct Presence {
    /// The process that shows it. A forked one shares the lock, and must not give it up.
    process: u32,
    folder: Folder,
    name: String,
    file: File,
}

impl Presence {
    /// Shows that the host with this ID exists.
    ///
    /// # Errors
    /// The errors of the medium.
    pub(crate) fn show(folder: &Folder, host: &str) -> Result<Self> {
        folder.make_subfolder(HOSTS)?;
        let name = file_name(host);
        let file = folder.lock_file(&name)?;
        // Nobody else has this ID. Without locks in the file system, all hosts count as existing.
        let _ = file.try_lock();
        Ok(Self { process: std::process::id(), folder: folder.clone(), name, file })
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            let _ = self.file.unlock();
            let _ = self.folder.remove(&self.name);
        }
    }
}

/// True if the host with this ID exists. The file of a host that does not exist any more is removed.
pub(crate) fn exists(folder: &Folder, host: &str) -> bool {
    let name = file_name(host);
    if !folder.has_file(&name) {
        return false;
    }
    // What cannot be found out must not end the calls of a host that may run them.
    let Ok(file) = folder.lock_file(&name) else { return true };
    match file.try_lock() {
        Ok(()) => {
            let _ = folder.remove(&name);
            false
        }
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
    }
}

/// The name of a host's file. IDs come from histories, so only characters that are harmless in names are kept.
fn file_name(host: &str) -> String {
    let name: String =
        host.chars().filter(|character| character.is_ascii_alphanumeric() || *character == '-').take(64).collect();
    format!("{HOSTS}/{name}.lock")
}
