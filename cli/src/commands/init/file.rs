//! The file with the settings of a host: where it may be, how it is read, and how it is written so that
//! nothing changes but the entry.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use callstack_core::text::without_mark;
use similar::{Algorithm, DiffOp, capture_diff_slices_by_key};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::write_file;

/// The largest file that is read, in bytes.
const LARGEST: u64 = 16 << 20;

/// A file as it was found.
pub struct SettingsFile {
    path: PathBuf,
    content: String,
    is_new: bool,
}

impl SettingsFile {
    /// Reads the file; empty if it is missing. `is_anywhere`: links may lead out of the working folder.
    ///
    /// # Errors
    /// If it is not a regular file, too large, not a text, or if a link leads out of the working folder.
    pub fn read(path: &Path, is_anywhere: bool) -> Result<Self, Failure> {
        if !is_anywhere {
            check_place(path)?;
        }
        let failed = |error: io::Error| Failure::of_file("read", path.display(), &error);
        let found = |content, is_new| Ok(Self { path: path.to_owned(), content, is_new });
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return found(String::new(), true),
            // A pipe would wait for its other end, and a device may never end.
            Ok(data) if !data.is_file() => return Err(unreadable(path, "it is not a regular file")),
            data => data.map_err(failed)?,
        };
        let mut bytes = Vec::new();
        File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes)).map_err(failed)?;
        if bytes.len() as u64 > LARGEST {
            return Err(unreadable(path, &format!("it has more than {LARGEST} bytes")));
        }
        found(String::from_utf8(bytes).map_err(|_| unreadable(path, "it is not text in UTF-8"))?, false)
    }

    /// True if there is no such file yet.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// The text, without a mark at its beginning.
    pub fn text(&self) -> &str {
        without_mark(&self.content)
    }

    /// Writes another text, and makes the folder if it is missing. The mark stays, and each line that is not
    /// changed keeps its line ending.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, text: &str) -> Result<(), Failure> {
        let failed = |error: io::Error| Failure::of_file("write", self.path.display(), &error);
        if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let mark = &self.content[..self.content.len() - self.text().len()];
        let text = with_ends_of(self.text(), text);
        write_file(&self.path, true, |writer| {
            writer.write_all(mark.as_bytes()).and_then(|()| writer.write_all(text.as_bytes())).map_err(failed)
        })
        .map(drop)
    }
}

/// Refuses a link that leads out of the working folder: in a project of a stranger the link can lead to
/// settings that apply to everything that the person does.
fn check_place(path: &Path) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::of_file("read", path.display(), &error);
    let here = fs::canonicalize(".").map_err(failed)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    for part in folder.into_iter().chain([path]) {
        if fs::symlink_metadata(part).is_err() {
            // It is missing, and so is what is below it.
            return Ok(());
        }
        let target = fs::canonicalize(part).ok();
        if target.as_ref().is_some_and(|target| target.starts_with(&here)) {
            continue;
        }
        let target =
            target.map_or("nowhere".to_owned(), |target| format!("out of this folder, to {}", target.display()));
        let message = format!("{} is a link that leads {target}", part.display());
        return Err(Failure::new(Exit::Refused, "link", message));
    }
    Ok(())
}

/// The text `after`, with changed line endings. A line that is also in `before` has the line ending from
/// there. A new line has the line ending that most lines of `before` have.
fn with_ends_of(before: &str, after: &str) -> String {
    let [before, after] = [before, after].map(|text| text.split_inclusive('\n').map(split_end).collect::<Vec<_>>());
    let long = before.iter().filter(|(_, end)| *end == "\r\n").count();
    let usual = if 2 * long > before.len() { "\r\n" } else { "\n" };
    let mut ends = vec![usual; after.len()];
    for part in capture_diff_slices_by_key(Algorithm::Myers, &before, &after, |(content, _)| *content) {
        if let DiffOp::Equal { old_index, new_index, len } = part {
            for ((_, known), end) in before[old_index..][..len].iter().zip(&mut ends[new_index..]) {
                // The last line may have had no line ending, and other lines follow it now.
                *end = if known.is_empty() { usual } else { known };
            }
        }
    }
    let lines = after.iter().zip(ends);
    lines.flat_map(|((content, own), end)| [*content, if own.is_empty() { "" } else { end }]).collect()
}

/// A line and its line ending, which the last line may lack.
fn split_end(line: &str) -> (&str, &str) {
    let content = line.strip_suffix("\r\n").or_else(|| line.strip_suffix('\n')).unwrap_or(line);
    line.split_at(content.len())
}

pub fn unreadable(path: &Path, why: &str) -> Failure {
    Failure::new(Exit::Refused, "settings", format!("{} cannot be read: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_keeps_its_end() {
        let before = "a\r\nb\nc\nd";
        assert_eq!(with_ends_of(before, "a\nb\nnew\nc\nd"), "a\r\nb\nnew\nc\nd");
        assert_eq!(with_ends_of(before, "a\nd"), "a\r\nd");
        assert_eq!(with_ends_of("a\r\nb\r\nc\n", "a\nnew\nc\n"), "a\r\nnew\r\nc\n");
        assert_eq!(with_ends_of("a", "a\nb\n"), "a\nb\n");
        assert_eq!(with_ends_of("", "a\n"), "a\n");
        assert_eq!(with_ends_of("a\r\n", ""), "");
        assert_eq!(with_ends_of("a\na\n", "a\na\na\n"), "a\na\na\n");
    }

    #[test]
    fn lines_between_two_changed_places_keep_their_ends() {
        let before = "begin\nold\nkept\r\n\nkept too\r\nold too\nend\n";
        let after = "begin\nnew\nnewer\nkept\n\nkept too\nnew too\nend\n";
        assert_eq!(with_ends_of(before, after), "begin\nnew\nnewer\nkept\r\n\nkept too\r\nnew too\nend\n");
        // A line that is found again later does not keep the lines before it from being found.
        let before = "a\n}\nb\r\nc\r\n}\r\nd\n";
        assert_eq!(with_ends_of(before, "A\nb\nc\n}\nD\n"), "A\nb\r\nc\r\n}\r\nD\n");
    }
}
