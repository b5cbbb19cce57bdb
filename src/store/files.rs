//! Operations on plain files for the store. Every error contains the path, and files are replaced atomically.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::text::first_free;

/// Returns the error for a file that cannot be read.
pub(crate) fn reading(path: &Path) -> impl FnOnce(io::Error) -> Error + '_ {
    move |error| Error::io("read", path.display().to_string(), error.to_string()).with_source(error)
}

/// Returns the error for a file or folder that cannot be created or changed.
pub(crate) fn writing(path: &Path) -> impl FnOnce(io::Error) -> Error + '_ {
    move |error| {
        let path = path.display().to_string();
        let refusal = match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => Error::disk_full(path),
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Error::read_only(path),
            _ => Error::io("write", path, error.to_string()),
        };
        refusal.with_source(error)
    }
}

/// Creates a folder and its missing parents. An existing folder is not an error.
pub(crate) fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(writing(path))
}

/// Creates a stack's folder if it is missing, and returns its absolute path, because the process may change
/// its working directory later.
pub(crate) fn stack_folder(path: &Path) -> Result<PathBuf> {
    let folder = std::path::absolute(path).map_err(writing(path))?;
    make_folder(&folder)?;
    Ok(folder)
}

/// Returns the bytes of a file; `None` if the file does not exist.
pub(crate) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(reading(path)(error)),
    }
}

/// Returns the paths in a folder with the extension `json`, sorted by name. A missing folder has none.
pub(crate) fn json_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(reading(folder)(error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(reading(folder))?.path();
        if path.extension().is_some_and(|found| found == "json") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Duration of one wait for the lock of a file.
const LOCK_WAIT: Duration = Duration::from_millis(1);

/// Locks a file until it is unlocked or closed. The elapsed time is the sum of the waits: no clock is read.
///
/// # Errors
/// [`Error::Busy`] if others hold the lock for longer than `patience`; [`Error::Io`].
pub(crate) fn lock(file: &File, path: &Path, patience: Duration) -> Result<()> {
    let mut waited = Duration::ZERO;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if waited < patience => {
                std::thread::sleep(LOCK_WAIT);
                waited += LOCK_WAIT;
            }
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Busy { path: path.display().to_string(), waited: waited.as_millis() as u64 });
            }
            Err(TryLockError::Error(error)) => return Err(writing(path)(error)),
        }
    }
}

/// The name of the temporary file in a folder. A fixed name, so that the next write replaces the rest that a
/// killed process may leave.
const TEMPORARY: &str = ".next.tmp";

/// Writes a temporary file in the same folder and renames it. A reader sees the old text or the new text,
/// never a part. Only one process at a time may do this in a folder.
pub(crate) fn replace(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<()> {
    let temporary = path.with_file_name(TEMPORARY);
    let written = File::create(&temporary).and_then(|file| {
        let mut writer = BufWriter::with_capacity(1 << 16, file);
        write(&mut writer)?;
        writer.flush()
    });
    let replaced = written.map_err(writing(path)).and_then(|()| fs::rename(&temporary, path).map_err(writing(path)));
    if replaced.is_err() {
        // The old file is unchanged, and nothing needs the partial temporary file.
        let _ = fs::remove_file(&temporary);
    }
    replaced
}

/// Creates a hard link to a file, or a copy if the file system has no hard links. Fails if `to` exists.
pub(crate) fn second_name(from: &Path, to: &Path) -> Result<()> {
    let linked = fs::hard_link(from, to).or_else(|error| match error.kind() {
        ErrorKind::AlreadyExists => Err(error),
        _ => fs::copy(from, to).map(drop),
    });
    linked.map_err(writing(to))
}

/// Returns an unused path in the same folder: the path itself, or `x-2.json`, `x-3.json`, … if `x.json` exists.
pub(crate) fn unused(path: &Path) -> PathBuf {
    if !path.exists() {
        return path.to_owned();
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().map(|extension| format!(".{}", extension.to_string_lossy())).unwrap_or_default();
    first_free(2.., |number| path.with_file_name(format!("{stem}-{number}{extension}")), |path| !path.exists())
}

/// Renames a file to an unused name in the same folder, if the file exists.
pub(crate) fn set_aside(path: &Path) -> Result<()> {
    if path.exists() { fs::rename(path, unused(path)).map_err(writing(path)) } else { Ok(()) }
}

/// Removes a file. A missing file is not an error.
pub(crate) fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(writing(path)(error)),
        _ => Ok(()),
    }
}
