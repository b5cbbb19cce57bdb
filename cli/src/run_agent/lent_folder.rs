//! A folder that an agent gets for a run in place of its own: links to what is there, and settings for the
//! run. New files that the agent writes in it are moved back at the end.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The file that is not linked, because the run has its own.
pub const SETTINGS: &str = "settings.json";

/// A folder for a run in place of an agent's own.
pub struct LentFolder {
    /// The agent's own.
    pub own: PathBuf,
    /// The one for the run.
    pub lent: PathBuf,
}

impl LentFolder {
    /// Makes links to what is in the agent's own folder, except its settings.
    ///
    /// # Errors
    /// If something cannot be linked.
    pub fn fill(&self) -> io::Result<()> {
        fs::create_dir_all(&self.lent)?;
        let entries = match fs::read_dir(&self.own) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            if entry.file_name() != SETTINGS {
                link_if_there(&entry.path(), &self.lent.join(entry.file_name()))?;
            }
        }
        Ok(())
    }

    /// Moves files that the agent has written in place of a link, and new files, into its own folder: the
    /// agent would have written them there.
    ///
    /// # Errors
    /// If something cannot be moved.
    pub fn give_back(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.lent)? {
            let entry = entry?;
            if entry.file_type()?.is_symlink() || entry.file_name() == SETTINGS {
                continue;
            }
            fs::create_dir_all(&self.own)?;
            move_to(&entry.path(), &self.own.join(entry.file_name()))?;
        }
        Ok(())
    }
}

/// Moves a file or a folder, also to another file system. If something that is not a folder is in its place,
/// it is replaced, as the agent would have done it.
fn move_to(from: &Path, to: &Path) -> io::Result<()> {
    if fs::rename(from, to).is_ok() {
        return Ok(());
    }
    if !from.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        move_to(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Makes a link to a file or folder, if it exists.
///
/// # Errors
/// If it cannot be made.
pub fn link_if_there(target: &Path, link: &Path) -> io::Result<()> {
    if !target.exists() {
        return Ok(());
    }
    #[cfg(unix)]
    return std::os::unix::fs::symlink(target, link);
    #[cfg(windows)]
    return match target.is_dir() {
        true => std::os::windows::fs::symlink_dir(target, link),
        false => std::os::windows::fs::symlink_file(target, link),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn what_the_agent_writes_comes_back_and_its_settings_stay() {
        let world = tempfile::tempdir().unwrap();
        let folder = LentFolder { own: world.path().join("own"), lent: world.path().join("lent") };
        for (name, text) in [("settings.json", "own"), ("login.json", "old"), ("tmp/log", "a")] {
            let path = folder.own.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder.fill().unwrap();
        fs::write(folder.lent.join("settings.json"), "for the run").unwrap();
        fs::write(folder.lent.join("tmp/log"), "ab").unwrap();
        // This is how agents write safely: first next to the old file, then in its place.
        fs::write(folder.lent.join("new"), "new").unwrap();
        fs::rename(folder.lent.join("new"), folder.lent.join("login.json")).unwrap();
        fs::create_dir(folder.lent.join("commands")).unwrap();
        folder.give_back().unwrap();
        let read = |name: &str| fs::read_to_string(folder.own.join(name)).unwrap();
        assert_eq!([read("settings.json"), read("login.json"), read("tmp/log")], ["own", "new", "ab"]);
        assert!(folder.own.join("commands").is_dir());
        assert_eq!(fs::read_dir(&folder.own).unwrap().count(), 4);
    }
}
