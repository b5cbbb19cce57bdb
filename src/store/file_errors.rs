//! The errors of files. Every error contains the path, and its variant says what a caller can do.

use std::io::{self, ErrorKind};
use std::path::Path;

use crate::error::Error;

/// Returns the error for a file that cannot be read.
pub(crate) fn reading(path: &Path) -> impl FnOnce(io::Error) -> Error + '_ {
    move |error| Error::io("read", path.display().to_string(), error.to_string()).with_source(error)
}

/// Returns the error for a file or folder that cannot be created or changed.
pub(crate) fn writing(path: &Path) -> impl FnOnce(io::Error) -> Error + '_ {
    move |error| {
        let path = path.display().to_string();
        let refusal = match error.kind() {
            _ if is_no_space(&error) => Error::disk_full(path),
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Error::read_only(path),
            _ => Error::io("write", path, error.to_string()),
        };
        refusal.with_source(error)
    }
}

/// True if the disk is full, a quota is used up, or the file may not grow.
pub(crate) fn is_no_space(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}
