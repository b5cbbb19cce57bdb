//! The folder of a run. No other user may read it, because its files can have the secret of the proxy. It is
//! gone after the run. If a run was killed, the next run gives what it has left back to its agent, and
//! removes the rest.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::lent_folder::LentFolder;

/// How the names of these folders begin.
const PREFIX: &str = "callstack-run-";
/// A file that is locked as long as the run, or its agent, lives.
const ALIVE: &str = "alive";
/// A file that says which folder was lent to the agent.
const LENT: &str = "lent.json";

pub struct RunFolder {
    folder: TempDir,
    /// The system releases its lock, no matter how the processes that have it end.
    _alive: File,
}

/// A [`LentFolder`] in a file.
#[derive(Serialize, Deserialize)]
struct Lent {
    own: PathBuf,
    lent: PathBuf,
}

impl RunFolder {
    /// # Errors
    /// If it cannot be made.
    pub fn new() -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let folder = builder.tempdir()?;
        let alive = File::create(folder.path().join(ALIVE))?;
        alive.lock()?;
        // An agent that outlives its run works in the folder.
        #[cfg(unix)]
        rustix::io::fcntl_setfd(&alive, rustix::io::FdFlags::empty())?;
        Ok(Self { folder, _alive: alive })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Notes which folder the agent has in place of its own.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn note(&self, folder: &LentFolder) -> io::Result<()> {
        let lent = Lent { own: folder.own.clone(), lent: folder.lent.clone() };
        fs::write(self.path().join(LENT), serde_json::to_string(&lent)?)
    }
}

/// Gives back and removes what killed runs of this user have left. Returns the reason if something was left
/// there.
pub fn clear_abandoned(place: &Path) -> Option<io::Error> {
    let Ok(entries) = fs::read_dir(place) else { return None };
    let names = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    names.map(|entry| entry.path()).filter(|folder| is_own(folder)).filter_map(|folder| clear(&folder).err()).last()
}

fn clear(folder: &Path) -> io::Result<()> {
    let Ok(alive) = File::open(folder.join(ALIVE)) else { return Ok(()) };
    if alive.try_lock().is_err() {
        return Ok(());
    }
    if let Ok(text) = fs::read_to_string(folder.join(LENT)) {
        let Lent { own, lent } = serde_json::from_str(&text)?;
        LentFolder { own, lent }.give_back()?;
    }
    fs::remove_dir_all(folder)
}

/// True for a folder of this user into which no other user may write.
#[cfg(unix)]
fn is_own(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::symlink_metadata(folder).is_ok_and(|found| {
        found.is_dir() && found.uid() == rustix::process::geteuid().as_raw() && found.mode().trailing_zeros() >= 6
    })
}

/// On these systems each user has a folder for temporary files.
#[cfg(not(unix))]
fn is_own(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_run_has_left_is_given_back_and_gone() {
        let world = tempfile::tempdir().unwrap();
        let own = world.path().join("own");
        let made = |name: &str| {
            let run = RunFolder::new().unwrap();
            let lent = LentFolder { own: own.clone(), lent: run.path().join("home") };
            fs::create_dir(&lent.lent).unwrap();
            fs::write(lent.lent.join(name), "said").unwrap();
            run.note(&lent).unwrap();
            run
        };
        let place = |run: &RunFolder| run.path().parent().unwrap().to_owned();
        let lives = made("living");
        let killed = made("killed");
        let (left, place) = (killed.path().to_owned(), place(&killed));
        // As if the process was killed: the folder stays, but the lock does not.
        let RunFolder { folder, _alive } = killed;
        let _ = folder.keep();
        drop(_alive);
        assert!(clear_abandoned(&place).is_none());
        assert!(!left.exists() && lives.path().exists());
        assert_eq!(fs::read_to_string(own.join("killed")).unwrap(), "said");
        assert!(!own.join("living").exists());
    }
}
