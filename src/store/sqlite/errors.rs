//! Converts SQLite's errors to [`Error`], whose variants state what a caller can do.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use rusqlite::ErrorCode;

use super::companion;
use crate::error::{Error, Result};
use crate::store::file_errors::is_no_space;

/// Size of the file that shows whether the disk is full, in bytes. The largest piece that SQLite reserves is
/// 32 KB.
const PROBE_SIZE: usize = 64 << 10;

/// Advice for a database that cannot be read.
const ADVICE: &str = "move it away together with its -wal and -shm files; the next open imports the state.json next \
                      to it, if there is one";

/// Returns the error for a file that is not a database of this library, or a damaged one.
pub(crate) fn damaged(path: &Path, message: impl Into<String>) -> Error {
    Error::damaged(path.display().to_string(), message, ADVICE)
}

/// Converts an error of SQLite into an [`Error`] that contains the database's path.
pub(super) trait Refused<T> {
    fn refused(self, path: &Path) -> Result<T>;
}

impl<T> Refused<T> for rusqlite::Result<T> {
    fn refused(self, path: &Path) -> Result<T> {
        self.map_err(|error| {
            let name = path.display().to_string();
            let message = error.to_string();
            let refusal = match error.sqlite_error_code() {
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy { path: name, waited: 0 },
                Some(ErrorCode::DiskFull) => Error::disk_full(name),
                Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Error::read_only(name),
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => damaged(path, message),
                None if is_of_value(&error) => damaged(path, message),
                Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) if is_full(path) => Error::disk_full(name),
                _ => Error::io("use", name, message),
            };
            refusal.with_source(error)
        })
    }
}

/// True for a value that this library did not write into a row.
fn is_of_value(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error};
    matches!(error, FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | Utf8Error(..))
}

/// True if the disk is full, or a file may not grow. SQLite reports that only for some operations. For the
/// others it reports an input or output error without its cause.
fn is_full(path: &Path) -> bool {
    let probe = companion(path, "-probe");
    // Asked first, because a write beyond the limit can end the process.
    if may_not_grow(path) {
        return true;
    }
    match File::create_new(&probe) {
        Ok(file) => has_no_room(file, &probe),
        Err(error) => is_no_space(&error),
    }
}

/// True if there is no room for the content of a new file. Removes the file.
fn has_no_room(mut file: File, path: &Path) -> bool {
    let written = file.write_all(&[0; PROBE_SIZE]).and_then(|()| file.sync_all());
    let _ = fs::remove_file(path);
    written.is_err_and(|error| is_no_space(&error))
}

/// True if a file of the database has reached the limit of this process for the size of files.
#[cfg(unix)]
fn may_not_grow(path: &Path) -> bool {
    let limit =
        nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_FSIZE).map_or(u64::MAX, |(limit, _)| limit);
    let sizes = ["", "-wal", "-shm"].map(|suffix| fs::metadata(companion(path, suffix)).map_or(0, |data| data.len()));
    sizes.iter().any(|size| size.saturating_add(PROBE_SIZE as u64) > limit)
}

/// Windows has no such limit.
#[cfg(not(unix))]
fn may_not_grow(_path: &Path) -> bool {
    false
}
