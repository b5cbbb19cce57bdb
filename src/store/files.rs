//! What the store does with plain files: every error names the path, and a file is replaced whole.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::text::first_free;

/// The error of a file that cannot be read.
pub(crate) fn reading(path: &Path) -> impl FnOnce(io::Error) -> Error + '_ {
    move |error| Error::Io { action: "read", path: path.display().to_string(), message: error.to_string() }
}

/// The error of a file or folder that cannot be made or changed.
pub(crate) fn writing(path: &Path) -> impl FnOnce(io::Error) -> Error + '_ {
    move |error| {
        let path = path.display().to_string();
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => Error::DiskFull { path },
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Error::ReadOnly { path },
            _ => Error::Io { action: "write", path, message: error.to_string() },
        }
    }
}

/// Makes a folder and those above it, unless they are there.
pub(crate) fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(writing(path))
}

/// Makes a stack's folder, unless it is there, and returns its absolute path: the process may change its
/// working directory later.
pub(crate) fn stack_folder(path: &Path) -> Result<PathBuf> {
    let folder = std::path::absolute(path).map_err(writing(path))?;
    make_folder(&folder)?;
    Ok(folder)
}

/// The bytes of a file; `None` if there is no such file.
pub(crate) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(reading(path)(error)),
    }
}

/// What is called `….json` in a folder, in the order of the names; nothing if there is no such folder.
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

/// The one name in a folder under which files are written before they get their own. What a killed
/// process leaves under it, the next one writes over.
const TEMPORARY: &str = ".next.tmp";

/// Writes a file beside its place and renames it: a reader sees the old text or the new one, never
/// half of it. Only one process may do so in a folder at a time.
pub(crate) fn replace(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<()> {
    let temporary = path.with_file_name(TEMPORARY);
    let written = File::create(&temporary).and_then(|file| {
        let mut writer = BufWriter::with_capacity(1 << 16, file);
        write(&mut writer)?;
        writer.flush()
    });
    let replaced = written.map_err(writing(path)).and_then(|()| fs::rename(&temporary, path).map_err(writing(path)));
    if replaced.is_err() {
        // What was there stays there; half a temporary file is of no use to anyone.
        let _ = fs::remove_file(&temporary);
    }
    replaced
}

/// Gives a file a second name, which nothing else has, or makes a copy where the file system has no
/// second names. The content stays reachable under both.
pub(crate) fn second_name(from: &Path, to: &Path) -> Result<()> {
    let linked = fs::hard_link(from, to).or_else(|error| match error.kind() {
        ErrorKind::AlreadyExists => Err(error),
        _ => fs::copy(from, to).map(drop),
    });
    linked.map_err(writing(to))
}

/// A path beside this one that nothing has: `x-2.json`, `x-3.json`, … if `x.json` is taken.
pub(crate) fn unused(path: &Path) -> PathBuf {
    if !path.exists() {
        return path.to_owned();
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().map(|extension| format!(".{}", extension.to_string_lossy())).unwrap_or_default();
    first_free(2.., |number| path.with_file_name(format!("{stem}-{number}{extension}")), |path| !path.exists())
}

/// Moves a file to an unused name beside it, if it is there.
pub(crate) fn set_aside(path: &Path) -> Result<()> {
    if path.exists() { fs::rename(path, unused(path)).map_err(writing(path)) } else { Ok(()) }
}

/// Removes a file; one that is not there is removed already.
pub(crate) fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(writing(path)(error)),
        _ => Ok(()),
    }
}
