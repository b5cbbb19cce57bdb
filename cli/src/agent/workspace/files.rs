//! The file tools. Paths are resolved relative to a handle of the workspace's folder. Neither `..` nor a
//! symbolic link can lead out of it, not even a link that is created at the same time.

use std::io::{self, ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use super::{Done, LIMIT, Workspace};

/// Maximum size of a file that `read_file` reads, in bytes.
const READABLE: u64 = 64 << 20;

impl Workspace {
    pub(super) fn read_file(&self, path: &str, offset: usize) -> Result<String, String> {
        let place = self.inside(path)?;
        let metadata = self.folder.metadata(&place).map_err(|error| problem(path, &error))?;
        if metadata.is_dir() {
            return Err(format!("`{path}` is a folder; list its content with list_files"));
        }
        // Reading a pipe or a device could block.
        if !metadata.is_file() {
            return Err(format!("`{path}` is not a regular file"));
        }
        if metadata.len() > READABLE {
            return Err(format!(
                "`{path}` has {} bytes, too many to read; look at parts of it with run_command",
                metadata.len()
            ));
        }
        let mut bytes = Vec::new();
        let read = self.folder.open(&place).and_then(|mut file| file.read_to_end(&mut bytes));
        read.map_err(|error| problem(path, &error))?;
        let text = String::from_utf8_lossy(&bytes);
        let total = text.chars().count();
        let shown: String = text.chars().skip(offset).take(LIMIT).collect();
        let end = offset.saturating_add(LIMIT);
        Ok(match end < total {
            true => format!("{shown}\n[cut: characters {offset} to {end} of {total}; read on with offset {end}]"),
            false if offset > 0 && shown.is_empty() => format!("[the file has {total} characters]"),
            false if shown.is_empty() => "[the file is empty]".into(),
            false => shown,
        })
    }

    pub(super) fn write_file(&self, path: &str, content: &str) -> Result<Done, String> {
        let place = self.inside(path)?;
        let written = || {
            if let Some(parent) = place.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                self.folder.create_dir_all(parent)?;
            }
            match self.folder.metadata(&place) {
                Ok(metadata) if !metadata.is_file() => Err(ErrorKind::IsADirectory.into()),
                _ => self.folder.write(&place, content),
            }
        };
        written().map_err(|error| problem(path, &error))?;
        let (lines, characters) = (content.lines().count(), content.chars().count());
        let answer = format!("Wrote {path}: {lines} lines, {characters} characters.");
        // Each file has one name, no matter how its path was written.
        let real = self.real(&place).unwrap_or_else(|_| normal(&place));
        Ok(Done { answer, written: Some(real.to_string_lossy().into_owned()) })
    }

    pub(super) fn list_files(&self, path: &str) -> Result<String, String> {
        let place = self.inside(if path.is_empty() { "." } else { path })?;
        let entries = || {
            let mut entries = Vec::new();
            for entry in self.folder.read_dir(&place)? {
                let entry = entry?;
                let name = entry.file_name();
                if self.private.as_ref() == Some(&normal(&place.join(&name))) {
                    continue;
                }
                let name = name.to_string_lossy();
                entries.push(match entry.file_type()? {
                    kind if kind.is_dir() => format!("{name}/"),
                    kind if kind.is_file() => format!("{name} ({} bytes)", entry.metadata()?.len()),
                    _ => name.into_owned(),
                });
            }
            entries.sort();
            io::Result::Ok(entries)
        };
        let entries = entries().map_err(|error| problem(path, &error))?;
        let mut text = String::new();
        for (place, entry) in entries.iter().enumerate() {
            if text.len() + entry.len() > LIMIT {
                text.push_str(&format!("[and {} more]", entries.len() - place));
                return Ok(text);
            }
            text.push_str(entry);
            text.push('\n');
        }
        Ok(if text.is_empty() { "[the folder is empty]".into() } else { text })
    }

    /// Converts a path for the folder's handle: makes it relative. Refuses paths into the run's own files.
    fn inside(&self, path: &str) -> Result<PathBuf, String> {
        let relative = match Path::new(path) {
            absolute if absolute.is_absolute() => {
                absolute.strip_prefix(&self.path).map_err(|_| outside(path))?.to_owned()
            }
            relative => relative.to_owned(),
        };
        let place = if relative.as_os_str().is_empty() { PathBuf::from(".") } else { relative };
        let real = self.real(&place).map_err(|error| problem(path, &error))?;
        match &self.private {
            Some(private) if real.starts_with(private) => {
                Err(format!("`{path}` belongs to the run itself; keep your files elsewhere"))
            }
            _ => Ok(place),
        }
    }

    /// The target of a path with all links resolved, as far as the path exists.
    fn real(&self, place: &Path) -> io::Result<PathBuf> {
        for above in place.ancestors() {
            let known = if above.as_os_str().is_empty() { Path::new(".") } else { above };
            match self.folder.canonicalize(known) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
                Ok(real) => return Ok(normal(&real.join(place.strip_prefix(above).unwrap_or(place)))),
            }
        }
        Ok(normal(place))
    }
}

/// The path without `.`, and without each `..` that follows a name.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if normal.file_name().is_some() => drop(normal.pop()),
            other => normal.push(other),
        }
    }
    normal
}

fn outside(path: &str) -> String {
    format!("`{path}` is outside of the workspace; name a file in it, relative to it")
}

fn problem(path: &str, error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => format!("`{path}` does not exist; list the existing files with list_files"),
        ErrorKind::IsADirectory => format!("`{path}` is not a regular file and cannot be written"),
        // The folder's handle returns this error, without an OS error, for a path that leads out of the
        // folder.
        ErrorKind::PermissionDenied if error.raw_os_error().is_none() => outside(path),
        _ => format!("`{path}`: {error}"),
    }
}
