//! SQLite's errors as ours: each says what a caller can do.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::error::{Error, Result};

/// What to do about a database that cannot be read.
const ADVICE: &str = "move it away together with its -wal and -shm files; if there is a state.json beside it, that is \
                      imported then";

/// The error of a file that is no database of this library, or a broken one.
pub(crate) fn damaged(path: &Path, message: impl Into<String>) -> Error {
    Error::Damaged { path: path.display().to_string(), message: message.into(), advice: ADVICE }
}

/// Turns an error of SQLite into one that names the database.
pub(super) trait Refused<T> {
    fn refused(self, path: &Path) -> Result<T>;
}

impl<T> Refused<T> for rusqlite::Result<T> {
    fn refused(self, path: &Path) -> Result<T> {
        self.map_err(|error| {
            let name = path.display().to_string();
            match error.sqlite_error_code() {
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy { path: name, waited: 0 },
                Some(ErrorCode::DiskFull) => Error::DiskFull { path: name },
                Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Error::ReadOnly { path: name },
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => damaged(path, error.to_string()),
                _ => Error::Io { action: "use", path: name, message: error.to_string() },
            }
        })
    }
}
