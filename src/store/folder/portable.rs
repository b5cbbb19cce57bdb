//! Operations on the names of a directory, by its path: for systems without calls that take an open directory. What is
//! at a name is looked at before it is used, so links are refused unless somebody exchanges it in between.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::{Access, Kind, kind_of, refusal};

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
            Access::Append => options.read(true).append(true).create(true),
            Access::Create => options.write(true).create_new(true),
            Access::Lock => options.read(true).write(true).create(true).truncate(false),
        };
        options.open(self.0.join(name))
    }

    pub(super) fn kind(&self, name: &str) -> io::Result<Kind> {
        Ok(kind_of(&fs::symlink_metadata(self.0.join(name))?))
    }

    /// Windows does not let anyone replace a file that is open, so its existence is enough.
    #[cfg(feature = "sqlite")]
    pub(super) fn state(&self, name: &str) -> Option<super::FileState> {
        let data = fs::symlink_metadata(self.0.join(name)).ok()?;
        Some(super::FileState { number: (0, 0), size: data.len(), changed: 0 })
    }

    pub(super) fn rename(&self, from: &str, to: &Self, new: &str) -> io::Result<()> {
        fs::rename(self.0.join(from), to.0.join(new))
    }

    pub(super) fn link(&self, from: &str, to: &Self, new: &str) -> io::Result<()> {
        fs::hard_link(self.0.join(from), to.0.join(new))
    }

    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.0.join(name))
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
