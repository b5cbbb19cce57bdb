//! The live mirror: the documented layout, kept up to date beside the store for people and other
//! tools.
//!
//! It is derived, so it is never synced to the disk and never fails a commit. Each file is replaced
//! by rename; a reader never sees half of one. Processes take turns by a lock file, and each brings
//! its tree up to date before it writes, so an older text never replaces a newer one.
//!
//! `state.json` of revision N says that the frames' files hold everything up to N: whoever writes it
//! first writes the files of all frames that have changed since, whichever process changed them. A
//! process that is killed in between leaves a state.json that is behind, and the next open sees it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::{files, layout};
use crate::error::{Error, Result};
use crate::frame::{Frame, Handle, file_name};

/// Time between two writings of `state.json`, in milliseconds.
const INTERVAL: u64 = 250;
/// The file by which processes take turns.
const LOCK: &str = ".mirror.lock";
/// How long a command waits for another process that writes, in milliseconds. Who asks for the files themselves
/// waits longer.
pub(crate) const PATIENCE: u64 = 100;
/// How long each time.
const WAIT: Duration = Duration::from_millis(1);

/// What the mirror shows.
pub(crate) trait Source {
    /// The record of a frame.
    fn frame(&self, handle: Handle) -> Frame;
    /// The frame that has this ID.
    fn owner(&self, session_id: &str) -> Option<Handle>;
    /// The number of events seen.
    fn revision(&self) -> u64;
    /// The whole as JSON.
    fn write_state(&self, writer: &mut dyn Write) -> io::Result<()>;
}

/// How the files beside the store are doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MirrorStatus {
    /// The revision that `state.json` holds.
    pub revision: u64,
    /// How many frames' files are behind.
    pub stale_frames: usize,
    /// Why the last writing failed, if it did. It is tried again, at the latest by
    /// [`Stack::flush`](crate::Stack::flush). In JSON it is the message, or null.
    #[serde(serialize_with = "as_message")]
    pub error: Option<Error>,
}

fn as_message<S: Serializer>(error: &Option<Error>, serializer: S) -> Result<S::Ok, S::Error> {
    error.as_ref().map(Error::to_string).serialize(serializer)
}

/// The files of one folder, as far as this process knows them.
pub(crate) struct Mirror {
    folder: PathBuf,
    lock: Option<File>,
    /// Frames whose files must be written before the next `state.json`, with the revision of the
    /// change.
    stale: BTreeMap<Handle, u64>,
    /// Those of them that this process changed last: their files are written at once.
    fresh: BTreeSet<Handle>,
    /// IDs that were replaced, with the handles that had them and the revision of the change: their
    /// files are to be removed.
    replaced: BTreeMap<(String, Handle), u64>,
    /// Revision of the last `state.json` known.
    revision: u64,
    /// The files may be of another history, so that their revision says nothing about this one.
    is_foreign: bool,
    /// When `state.json` was last written, or could not be.
    tried_at: Option<u64>,
    error: Option<Error>,
}

impl Mirror {
    /// The mirror of a folder, behind as far as its `state.json` says.
    pub(crate) fn new(folder: &Path) -> Self {
        let is_whole = layout::frames_path(folder).is_dir();
        let revision = layout::mirrored_revision(folder).filter(|_| is_whole);
        Self {
            folder: folder.to_owned(),
            lock: None,
            stale: BTreeMap::new(),
            fresh: BTreeSet::new(),
            replaced: BTreeMap::new(),
            revision: revision.unwrap_or(0),
            is_foreign: revision.is_none(),
            tried_at: None,
            error: None,
        }
    }

    /// The revision up to which the files are known to be right.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// The files are of another history, or of none: those of all frames are out of date.
    pub(crate) fn distrust(&mut self, frames: impl Iterator<Item = Handle>, revision: u64) {
        self.revision = 0;
        self.is_foreign = true;
        frames.for_each(|handle| self.note(handle, revision, false));
    }

    /// The file of this frame is out of date by the change of this revision, which this process made
    /// if it is `own`.
    pub(crate) fn note(&mut self, handle: Handle, revision: u64, own: bool) {
        self.stale.insert(handle, revision);
        if own {
            self.fresh.insert(handle);
        }
    }

    /// The frame does not have this ID any more.
    pub(crate) fn note_replaced(&mut self, session_id: &str, handle: Handle, revision: u64) {
        self.replaced.insert((session_id.to_owned(), handle), revision);
    }

    pub(crate) fn status(&self) -> MirrorStatus {
        MirrorStatus { revision: self.revision, stale_frames: self.stale.len(), error: self.error.clone() }
    }

    /// True if everything there is has been written.
    pub(crate) fn is_current(&self, source: &impl Source) -> bool {
        self.revision == source.revision() && self.stale.is_empty() && self.replaced.is_empty()
    }

    /// When `state.json` is due, in milliseconds since the epoch.
    pub(crate) fn deadline(&self) -> u64 {
        self.tried_at.map_or(0, |tried_at| tried_at.saturating_add(INTERVAL))
    }

    /// True if it is time for `state.json`. A clock that was set back makes it so too.
    pub(crate) fn is_due(&self, now: u64) -> bool {
        now >= self.deadline() || self.tried_at.is_some_and(|tried_at| tried_at > now)
    }

    /// True if frames' files are to be written at once. After a failure they wait for the next
    /// `state.json`, so that a full disk does not slow down every command.
    pub(crate) fn is_prompt(&self) -> bool {
        !self.fresh.is_empty() && self.error.is_none()
    }

    /// Runs `write` while no other process writes, and notes how it went. After a failure nothing is
    /// due for a while: a command must not wait again and again for a process that has stopped.
    pub(crate) fn locked(
        &mut self,
        clock: &dyn Fn() -> u64,
        patience: u64,
        write: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let result = self.lock_file().and_then(|file| {
            let result = self.acquire(&file, patience).and_then(|()| write(self));
            // Closing the file would free it too.
            let _ = file.unlock();
            self.lock = Some(file);
            result
        });
        self.error = result.clone().err();
        if self.error.is_some() {
            self.tried_at = Some(clock());
        }
        result
    }

    fn lock_file(&mut self) -> Result<File> {
        let path = self.folder.join(LOCK);
        match self.lock.take() {
            Some(file) => Ok(file),
            None => File::options().create(true).truncate(false).write(true).open(&path).map_err(files::writing(&path)),
        }
    }

    fn acquire(&self, file: &File, patience: u64) -> Result<()> {
        let path = self.folder.join(LOCK);
        for waited in 0.. {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if waited < patience => std::thread::sleep(WAIT),
                Err(TryLockError::WouldBlock) => return Err(Error::Busy { path: path.display().to_string(), waited }),
                Err(TryLockError::Error(error)) => return Err(files::writing(&path)(error)),
            }
        }
        Ok(())
    }

    /// Writes the files of the frames that this process changed last.
    pub(crate) fn write_fresh(&mut self, source: &impl Source) -> Result<()> {
        let fresh = std::mem::take(&mut self.fresh);
        self.write_frames(&fresh, source)
    }

    /// Writes the files of all frames that are behind, and then `state.json`, as far as no other process
    /// has done so already.
    pub(crate) fn write_all(&mut self, clock: &dyn Fn() -> u64, source: &impl Source) -> Result<()> {
        files::make_folder(&layout::frames_path(&self.folder))?;
        let by_another = layout::mirrored_revision(&self.folder).unwrap_or(0);
        if !self.is_foreign && self.revision < by_another && by_another <= source.revision() {
            self.revision = by_another;
            self.stale.retain(|_, revision| *revision > by_another);
            self.replaced.retain(|_, revision| *revision > by_another);
        }
        self.fresh.clear();
        if self.is_foreign || !self.is_current(source) {
            let stale = self.stale.keys().copied().collect();
            self.write_frames(&stale, source)?;
            let path = layout::state_path(&self.folder);
            files::replace(&path, |writer| source.write_state(writer))?;
            self.revision = source.revision();
            self.is_foreign = false;
        }
        // The end counts: what takes long is not due again at once.
        self.tried_at = Some(clock());
        Ok(())
    }

    fn write_frames(&mut self, handles: &BTreeSet<Handle>, source: &impl Source) -> Result<()> {
        let folder = layout::frames_path(&self.folder);
        for handle in handles {
            let frame = source.frame(*handle);
            let path = folder.join(format!("{}.json", file_name(&frame.session_id, *handle)));
            let write = || files::replace(&path, |writer| Ok(serde_json::to_writer(writer, &frame)?));
            if write().is_err() {
                // The folder may be missing; if that is not it, the error comes again.
                files::make_folder(&folder)?;
                write()?;
            }
            self.stale.remove(handle);
        }
        while let Some(((session_id, handle), _)) = self.replaced.first_key_value() {
            let name = file_name(session_id, *handle);
            // Unless the name belongs to a frame that has the ID now.
            if source.owner(session_id).is_none_or(|owner| file_name(session_id, owner) != name) {
                files::remove(&folder.join(format!("{name}.json")))?;
            }
            self.replaced.pop_first();
        }
        Ok(())
    }
}
