//! A stack's folder, opened once. All files of a stack except the database are used through it.
//!
//! A stack often lies in the folder of a project that strangers contribute to, and version control carries
//! symbolic links. Therefore names below the folder are never resolved through a link. Files that are not
//! regular files (links, pipes, devices) are refused, and no call waits for them. A name such as
//! `frames/ses_1.json` may contain subfolders.

#[cfg_attr(all(unix, feature = "sqlite"), path = "unix.rs")]
#[cfg_attr(not(all(unix, feature = "sqlite")), path = "portable.rs")]
mod directory;

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::directory::Directory;
use super::file_errors::{reading, writing};
use crate::error::{Error, Result};
use crate::text::first_free;

/// The way in which a file is opened. Links are never followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// An existing file, for reading.
    Read,
    /// An existing file, for writing.
    Write,
    /// For reading, and for writing at its end. Created if it is missing.
    Append,
    /// A new file, for writing. It must not exist.
    Create,
    /// For locking and small texts. Created if it is missing.
    Lock,
}

/// What is at a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
    Other,
}

/// What is known of a file without opening it.
#[cfg(feature = "sqlite")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileState {
    /// The device and the number of the file: equal for two names of one file.
    pub(crate) number: (u64, u64),
    /// In bytes.
    pub(crate) size: u64,
    /// The time of the last change in nanoseconds, from a moment that the system chooses. 0 if it is not
    /// exact.
    pub(crate) changed: i128,
}

/// False where the system may note the time of a change only when the file is closed: NTFS does so.
#[cfg(feature = "sqlite")]
pub(crate) const TIMES_ARE_EXACT: bool = cfg!(unix);

#[cfg(feature = "sqlite")]
impl From<&Metadata> for FileState {
    #[cfg(unix)]
    fn from(data: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        let changed = i128::from(data.mtime()) * 1_000_000_000 + i128::from(data.mtime_nsec());
        Self { number: (data.dev(), data.ino()), size: data.len(), changed }
    }

    /// Windows lets no process replace a file that SQLite has open, so its existence is enough. Its time is
    /// not exact.
    #[cfg(not(unix))]
    fn from(data: &Metadata) -> Self {
        Self { number: (0, 0), size: data.len(), changed: 0 }
    }
}

/// The name of the temporary file in a folder. A fixed name, so that the next write replaces the rest that a
/// killed process may leave.
const TEMPORARY: &str = ".next.tmp";

/// An open folder. Clones are cheap and share it.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    path: Arc<Path>,
    directory: Arc<Directory>,
}

impl Folder {
    /// Opens a folder by its path, in which links are followed. Creates it and its parents if they are
    /// missing.
    pub(crate) fn open_or_create(path: &Path) -> Result<Self> {
        fs::create_dir_all(path).map_err(writing(path))?;
        Self::open(path)
    }

    /// Opens an existing folder by its path, in which links are followed.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        // Absolute, because the process may change its working directory later.
        let path = resolved(path).map_err(reading(path))?;
        let directory = Directory::open(&path).map_err(reading(&path))?;
        Ok(Self { path: path.into(), directory: Arc::new(directory) })
    }

    /// The absolute path of the folder when it was opened.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file or subfolder, for messages and for readers of the path.
    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The path of a file for SQLite. On Windows it may be longer than 260 characters only in the form that
    /// begins with `\\?\`, which people do not expect in messages. The standard library changes paths itself.
    #[cfg(feature = "sqlite")]
    pub(crate) fn sqlite_path(&self, name: &str) -> PathBuf {
        let path = self.path_of(name);
        if !cfg!(windows) || path.as_os_str().as_encoded_bytes().starts_with(br"\\") {
            return path;
        }
        let mut long = OsString::from(r"\\?\");
        long.push(path);
        long.into()
    }

    /// The kind of what is at a name; `None` if nothing is there.
    pub(crate) fn kind(&self, name: &str) -> Result<Option<Kind>> {
        let Some((directory, file)) = self.place(name)? else { return Ok(None) };
        found(directory.kind(file)).map_err(reading(&self.path_of(name)))
    }

    /// What is known of the file at a name of this folder itself. `None` if nothing is there.
    #[cfg(feature = "sqlite")]
    pub(crate) fn state(&self, name: &str) -> Option<FileState> {
        self.directory.state(name)
    }

    /// True if a regular file is at a name.
    pub(crate) fn has_file(&self, name: &str) -> bool {
        self.kind(name).is_ok_and(|kind| kind == Some(Kind::File))
    }

    /// The size of a regular file in bytes; 0 if there is none.
    pub(crate) fn size(&self, name: &str) -> u64 {
        let file = self.file(name, Access::Read).ok().flatten();
        file.and_then(|file| file.metadata().ok()).map_or(0, |data| data.len())
    }

    /// True if anything is at a name, or if that cannot be found out.
    pub(crate) fn is_taken(&self, name: &str) -> bool {
        !self.kind(name).is_ok_and(|kind| kind.is_none())
    }

    /// Opens a regular file; `None` if it is missing.
    ///
    /// # Errors
    /// [`Error::Io`] if something else is there, such as a link.
    pub(crate) fn file(&self, name: &str, access: Access) -> Result<Option<File>> {
        let path = self.path_of(name);
        let opened = match self.place(name)? {
            Some((directory, file)) => found(regular(directory.open_file(file, access), &directory, file)),
            None => Ok(None),
        };
        opened.map_err(|error| if access == Access::Read { reading(&path)(error) } else { writing(&path)(error) })
    }

    /// Opens a file for locks and small texts. Creates it if it is missing.
    pub(crate) fn lock_file(&self, name: &str) -> Result<File> {
        let file = match self.file(name, Access::Lock) {
            // Another user made it, for example root. A lock needs no right to write.
            Err(Error::ReadOnly { .. }) if self.has_file(name) => self.file(name, Access::Read)?,
            opened => opened?,
        };
        file.ok_or_else(|| writing(&self.path_of(name))(ErrorKind::NotFound.into()))
    }

    /// Returns the bytes of a regular file; `None` if it is missing.
    pub(crate) fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let Some(mut file) = self.file(name, Access::Read)? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(reading(&self.path_of(name)))?;
        Ok(Some(bytes))
    }

    /// Creates a file with this text, unless the name is taken.
    #[cfg(feature = "sqlite")]
    pub(crate) fn create(&self, name: &str, text: &str) -> Result<()> {
        let (directory, file) = self.existing_place(name)?;
        let created = directory.open_file(file, Access::Create).and_then(|mut file| file.write_all(text.as_bytes()));
        created.map_err(writing(&self.path_of(name)))
    }

    /// Creates a subfolder, but not the folders above it. An existing one is not an error.
    pub(crate) fn make_subfolder(&self, name: &str) -> Result<()> {
        let path = self.path_of(name);
        let (directory, last) = self.existing_place(name)?;
        match directory.make_subdirectory(last) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => match self.kind(name)? {
                Some(Kind::Folder) => Ok(()),
                found => Err(writing(&path)(refusal(found.unwrap_or(Kind::Other)))),
            },
            made => made.map_err(writing(&path)),
        }
    }

    /// Writes a temporary file in the same folder and renames it. A reader sees the old text or the new text,
    /// never a part. Only one process at a time may do this in a folder.
    pub(crate) fn replace(&self, name: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        let path = self.path_of(name);
        let (directory, file) = self.existing_place(name)?;
        let result =
            self.write_temporary(&directory, write).and_then(|()| directory.rename(TEMPORARY, &directory, file));
        if result.is_err() {
            // The old file is unchanged, and nothing needs the partial temporary file.
            let _ = directory.remove(TEMPORARY);
        }
        result.map_err(writing(&path))
    }

    fn write_temporary(
        &self,
        directory: &Directory,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let file = match directory.open_file(TEMPORARY, Access::Create) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                directory.remove(TEMPORARY)?;
                directory.open_file(TEMPORARY, Access::Create)?
            }
            opened => opened?,
        };
        let mut writer = BufWriter::with_capacity(1 << 16, file);
        write(&mut writer)?;
        writer.flush()
    }

    /// Gives a regular file a second name: a hard link, or a copy if the file system has no hard links. Fails
    /// if the second name is taken.
    pub(crate) fn second_name(&self, from: &str, to: &str) -> Result<()> {
        let path = self.path_of(to);
        let Some(mut file) = self.file(from, Access::Read)? else {
            return Err(reading(&self.path_of(from))(ErrorKind::NotFound.into()));
        };
        let (old, old_name) = self.existing_place(from)?;
        let (new, new_name) = self.existing_place(to)?;
        let linked = old.link(old_name, &new, new_name).or_else(|error| match error.kind() {
            ErrorKind::AlreadyExists => Err(error),
            _ => io::copy(&mut file, &mut new.open_file(new_name, Access::Create)?).map(drop),
        });
        linked.map_err(writing(&path))
    }

    /// Returns an unused name: the name itself, or `x-2.json`, `x-3.json`, … if `x.json` is taken.
    pub(crate) fn unused(&self, name: &str) -> String {
        let (stem, extension) = match name.rsplit_once('.') {
            Some((stem, extension)) => (stem, format!(".{extension}")),
            None => (name, String::new()),
        };
        let numbered = |number| if number < 2 { name.to_owned() } else { format!("{stem}-{number}{extension}") };
        first_free(1.., numbered, |name| !self.is_taken(name))
    }

    /// Renames what is at a name to an unused name in the same folder.
    pub(crate) fn set_aside(&self, name: &str) -> Result<()> {
        match self.kind(name)? {
            Some(_) => self.rename(name, &self.unused(name)),
            None => Ok(()),
        }
    }

    /// Renames a file or a subfolder.
    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<()> {
        let (old, old_name) = self.existing_place(from)?;
        let (new, new_name) = self.existing_place(to)?;
        old.rename(old_name, &new, new_name).map_err(writing(&self.path_of(to)))
    }

    /// Removes a file or a link. A missing one is not an error.
    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        let Some((directory, file)) = self.place(name)? else { return Ok(()) };
        found(directory.remove(file)).map(drop).map_err(writing(&self.path_of(name)))
    }

    /// Returns the names in a subfolder with the extension `json`, sorted, as `subfolder/name.json`. A
    /// missing subfolder has none.
    pub(crate) fn json_files(&self, subfolder: &str) -> Result<Vec<String>> {
        self.files_with("json", subfolder)
    }

    /// As [`Folder::json_files`], with another extension.
    pub(crate) fn files_with(&self, extension: &str, subfolder: &str) -> Result<Vec<String>> {
        let path = self.path_of(subfolder);
        let Some((directory, last)) = self.place(subfolder)? else { return Ok(Vec::new()) };
        let Some(directory) = found(subdirectory(&directory, last)).map_err(reading(&path))? else {
            return Ok(Vec::new());
        };
        let is_wanted = |name: &OsString| Path::new(name).extension().is_some_and(|found| found == extension);
        let all = directory.names().map_err(reading(&path))?;
        let mut names: Vec<_> = all.into_iter().filter(is_wanted).filter_map(|name| name.into_string().ok()).collect();
        names.sort();
        Ok(names.into_iter().map(|name| format!("{subfolder}/{name}")).collect())
    }

    /// Syncs the names in the folder to the disk.
    #[cfg(feature = "sqlite")]
    pub(crate) fn sync(&self) -> Result<()> {
        self.directory.sync().map_err(writing(&self.path))
    }

    /// The directory of a name, and the last part of the name; `None` if a subfolder is missing.
    fn place<'a>(&self, name: &'a str) -> Result<Option<(Arc<Directory>, &'a str)>> {
        let (mut directory, mut rest) = (self.directory.clone(), name);
        while let Some((subfolder, deeper)) = rest.split_once('/') {
            let path = self.path_of(&name[..name.len() - deeper.len() - 1]);
            match found(subdirectory(&directory, subfolder)).map_err(reading(&path))? {
                Some(inner) => directory = Arc::new(inner),
                None => return Ok(None),
            }
            rest = deeper;
        }
        Ok(Some((directory, rest)))
    }

    /// As [`Folder::place`], but a missing subfolder is an error.
    fn existing_place<'a>(&self, name: &'a str) -> Result<(Arc<Directory>, &'a str)> {
        self.place(name)?.ok_or_else(|| writing(&self.path_of(name))(ErrorKind::NotFound.into()))
    }
}

/// The absolute path of a folder, without links.
#[cfg(not(windows))]
fn resolved(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize()
}

/// The absolute path of a folder as people write it, without links. Some drives and Wine cannot tell where
/// links lead.
#[cfg(windows)]
pub(super) fn resolved(path: &Path) -> io::Result<PathBuf> {
    let path = path.canonicalize().or_else(|_| std::path::absolute(path))?;
    Ok(dunce::simplified(&path).to_owned())
}

/// Opens a subdirectory. If something else is there, says what.
fn subdirectory(directory: &Directory, name: &str) -> io::Result<Directory> {
    directory.subdirectory(name).map_err(|error| match directory.kind(name) {
        Ok(kind) if kind != Kind::Folder => refusal(kind),
        _ => error,
    })
}

/// `None` instead of the error for a missing file.
fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// Checks that an opened file is a regular one. If opening failed because the name is something else, says
/// so.
fn regular(opened: io::Result<File>, directory: &Directory, name: &str) -> io::Result<File> {
    match opened {
        Ok(file) => match kind_of(&file.metadata()?) {
            Kind::File => Ok(file),
            kind => Err(refusal(kind)),
        },
        Err(error) => match directory.kind(name) {
            Ok(kind) if kind != Kind::File => Err(refusal(kind)),
            _ => Err(error),
        },
    }
}

/// The error for something that is not what it should be.
fn refusal(kind: Kind) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, description(kind))
}

/// Says what is there, and what to do.
pub(crate) fn description(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "it is a file; move it away",
        Kind::Folder => "it is a folder; move it away",
        Kind::Link => {
            "it is a symbolic link, and links are not followed; replace it by what it points to, or remove it"
        }
        Kind::Other => "it is not a regular file (a pipe or a device); remove it",
    }
}

pub(crate) fn kind_of(data: &Metadata) -> Kind {
    match data.file_type() {
        kind if kind.is_symlink() => Kind::Link,
        kind if kind.is_file() => Kind::File,
        kind if kind.is_dir() => Kind::Folder,
        _ => Kind::Other,
    }
}
