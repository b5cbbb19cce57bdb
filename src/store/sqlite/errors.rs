//! Converts SQLite's errors to [`Error`], whose variants state what a caller can do.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::error::{Error, Result};

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
                _ => Error::io("use", name, message),
            };
            refusal.with_source(error)
        })
    }
}
