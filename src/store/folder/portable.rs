//! Operations on the names of a directory, by its path: for systems without calls that take an open
//! directory. The kind of a file is checked before its name is used, so links are refused unless another
//! process exchanges the file in between.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use super::{Access, Kind, kind_of, refusal};

/// The waits for a program that has a file open, in milliseconds.
const WAITS: [u64; 6] = [1, 2, 4, 8, 16, 32];

#[derive(Debug)]
pub(super) struct Directory(PathBuf);

impl Directory {
    /// Opens a directory by its path, in which links are followed.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        fs::read_dir(path)?;
        Ok(Self(path.to_owned()))
    }

    pub(super) fn subdirectory(&self, name: &str) -> io::Result<Self> {
        match self.kind(name)? {
            Kind::Folder => Ok(Self(self.0.join(name))),
            kind => Err(refusal(kind)),
        }
    }

    pub(super) fn make_subdirectory(&self, name: &str) -> io::Result<()> {
        fs::create_dir(self.0.join(name))
    }

    /// Opens what is at the name, unless it is a link. Does not wait for the other end of a pipe.
    pub(super) fn open_file(&self, name: &str, access: Access) -> io::Result<File> {
        match self.kind(name) {
            Ok(Kind::File) | Err(_) => {}
            Ok(_) if access == Access::Create => return Err(io::ErrorKind::AlreadyExists.into()),
            Ok(kind) => return Err(refusal(kind)),
        }
        let mut options = File::options();
        match access {
            Access::Read => options.read(true),
            Access::Write => options.write(true),
            // Windows cannot cut a file that was opened for appending alone. An append seeks the end, with a
            // lock.
            Access::Append => options.read(true).write(true).create(true).truncate(false),
            Access::Create => options.write(true).create_new(true),
            Access::Lock => options.read(true).write(true).create(true).truncate(false),
        };
        options.open(self.0.join(name))
    }

    pub(super) fn kind(&self, name: &str) -> io::Result<Kind> {
        Ok(kind_of(&fs::symlink_metadata(self.0.join(name))?))
    }

    /// What is known of the file at the name. `None` if nothing is there.
    #[cfg(feature = "sqlite")]
    pub(super) fn state(&self, name: &str) -> Option<super::FileState> {
        fs::symlink_metadata(self.0.join(name)).ok().as_ref().map(super::FileState::from)
    }

    pub(super) fn rename(&self, from: &str, to: &Self, new: &str) -> io::Result<()> {
        unless_in_use(|| fs::rename(self.0.join(from), to.0.join(new))).map_err(|error| to.cause(new, error))
    }

    pub(super) fn link(&self, from: &str, to: &Self, new: &str) -> io::Result<()> {
        fs::hard_link(self.0.join(from), to.0.join(new))
    }

    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        unless_in_use(|| fs::remove_file(self.0.join(name))).map_err(|error| self.cause(name, error))
    }

    /// For a folder in the place of a file, Windows says only that the access is denied.
    fn cause(&self, name: &str, error: io::Error) -> io::Error {
        match self.kind(name) {
            Ok(kind) if kind != Kind::File => refusal(kind),
            _ => error,
        }
    }

    /// Windows has no such operation, and writes the names with the file.
    #[cfg(feature = "sqlite")]
    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn names(&self) -> io::Result<Vec<OsString>> {
        fs::read_dir(&self.0)?.map(|entry| entry.map(|entry| entry.file_name())).collect()
    }
}

/// Repeats an operation on a name that Windows refuses as long as another program has the file open, such as
/// a virus scanner or an indexer. Such a program is done after some milliseconds; after the last wait the
/// refusal is final.
fn unless_in_use<T>(mut run: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for wait in WAITS {
        match run() {
            Err(error) if is_in_use(&error) => sleep(Duration::from_millis(wait)),
            done => return done,
        }
    }
    run()
}

/// True for ERROR_ACCESS_DENIED and ERROR_SHARING_VIOLATION, with which Windows answers.
fn is_in_use(error: &io::Error) -> bool {
    cfg!(windows) && matches!(error.raw_os_error(), Some(5 | 32))
}
