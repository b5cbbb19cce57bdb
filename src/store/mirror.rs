//! The mirror: files in the documented layout, kept up to date next to the store for people and other tools.
//!
//! The mirror is derived from the store. It is therefore never synced to the disk, and an error of the mirror
//! never fails a commit. Each file is replaced by a rename, so a reader never sees a partial file. A lock
//! file allows one writer at a time, in turn, and each process updates its tree before it writes, so an older
//! text never replaces a newer one.
//!
//! A `state.json` of revision N guarantees that the frames' files contain all changes up to N. To keep this
//! guarantee, a process first writes the files of all frames that changed since the last `state.json`,
//! including changes by other processes. A process that is killed in between leaves an old revision in
//! `state.json`, and the next open detects that.
//!
//! Polls and commands write the files of frames in portions ([`Portion`]), so that these calls do not take
//! long, no matter how many files are out of date. If commands write files, the file of a changed frame is
//! written at once, because it is small. `state.json` grows with the tree, so it is written only when that
//! costs little. First, the time since the last write must be so long that the writing takes at most a
//! hundredth of it (in a command, a two-thousandth). Second, the changes must have a tenth of the size of
//! `state.json`, or there must have been no change for some seconds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::folder::{Folder, Kind};
use super::layout::{self, FRAMES, STATE};
use super::patience::lock_in_turn;
use crate::error::{Error, Result};
use crate::frame::{Frame, FrameFile, Handle, file_name};

/// Minimum time between two writes of `state.json`, and of a large frame's file, in milliseconds.
const INTERVAL: u64 = 250;
/// The least time from one write of `state.json` to the next one, as a multiple of the time that the write
/// takes. The first value is for a write by a poll. The second value is for a write by a command, because the
/// caller of a command waits.
const TIME_SHARE: u64 = 100;
const COMMAND_TIME_SHARE: u64 = 2_000;
/// The largest size of `state.json`, as a multiple of the bytes of the frames' files that were written since
/// its last write.
const SIZE_SHARE: u64 = 10;
/// Up to this size, `state.json` is written without regard to what has changed, in bytes.
const SMALL_STATE: u64 = 64 << 10;
/// Time from one portion of files to the next one, in milliseconds.
const PORTION_INTERVAL: u64 = 25;
/// Time without changes after which `state.json` is written although little has changed, in milliseconds.
const PAUSE: u64 = 5_000;
/// From this size on, in bytes, a frame's file is written every [`INTERVAL`] and not after every change.
const LARGE: usize = 16 << 10;
/// The lock file, and the one in which those wait that want the lock next.
const LOCK: &str = ".mirror.lock";
const QUEUE: &str = ".mirror.queue";
/// Maximum wait of a command for another process that writes the mirror. Calls whose purpose is to write the
/// mirror wait longer.
pub(crate) const PATIENCE: Duration = Duration::from_millis(100);

/// The most that one call writes, so that no caller waits long. The rest follows with later calls.
#[derive(Clone, Copy)]
pub(crate) struct Portion {
    /// Number of frames' files.
    files: usize,
    /// Time after which no other file is begun, in milliseconds.
    time: u64,
}

impl Portion {
    /// All files, for a caller that waits for them.
    pub(crate) const ALL: Self = Self { files: usize::MAX, time: u64::MAX };
    /// For a poll. Commands of other threads wait for it too.
    pub(crate) const POLL: Self = Self { files: 64, time: 4 };
    /// For a command, if commands write files, and for the end of a process. It is not limited by time, so that
    /// the same files are written no matter how fast the disk is.
    pub(crate) const COMMAND: Self = Self { files: 64, time: u64::MAX };
}

/// The data that the mirror writes.
pub(crate) trait Source {
    /// The record of a frame.
    ///
    /// # Errors
    /// Those of the database, if the frame is not in memory.
    fn frame(&self, handle: Handle) -> Result<Frame>;
    /// The frame with this ID.
    ///
    /// # Errors
    /// Those of the database.
    fn owner(&self, session_id: &str) -> Result<Option<Handle>>;
    /// The revision: the number of events in the tree.
    fn revision(&self) -> u64;
    /// The name of the plan file.
    fn plan_name(&self) -> &'static str;
    /// The text of the plan file.
    ///
    /// # Errors
    /// Those of the database.
    fn plan(&self) -> Result<String>;
    /// Writes the state as JSON.
    fn write_state(&self, writer: &mut dyn Write) -> io::Result<()>;
}

/// The status of the mirror, that is, of the files next to the store.
///
/// In JSON: `{"revision": 9, "staleFrames": 0, "error": null}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct MirrorStatus {
    /// The revision of the last `state.json` that this process knows.
    pub revision: u64,
    /// Number of frames whose files are out of date, as far as this process knows.
    pub stale_frames: usize,
    /// The error of the last write, or `None` if it succeeded. The write is repeated, at the latest by
    /// [`Files::flush`](crate::stack::Files::flush). In JSON this is the error's message or null.
    #[serde(serialize_with = "as_message")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub error: Option<Error>,
}

fn as_message<S: Serializer>(error: &Option<Error>, serializer: S) -> Result<S::Ok, S::Error> {
    error.as_ref().map(Error::to_string).serialize(serializer)
}

/// The mirror of one folder, from the view of this process.
pub(crate) struct Mirror {
    folder: Folder,
    /// The lock file and the queue for it, once they are open.
    lock: Option<[File; 2]>,
    /// Frames whose files must be written before the next `state.json`, with the revision of the
    /// change.
    stale: BTreeMap<Handle, u64>,
    /// The places of other frames, in the order of their creation, whose files belong to another history or
    /// are missing. All files must be written again, and these still have to be.
    unwritten: Range<usize>,
    /// True: the files of changed frames are written by the command that changes them.
    is_immediate: bool,
    /// The stale frames that this process changed by its last commands, if their files are written at once.
    fresh: BTreeSet<Handle>,
    /// The other stale frames that this process changed: large ones, and those that one command left out
    /// because it had changed too many; all of them, if no command writes files. They are written every
    /// [`INTERVAL`].
    waiting: BTreeSet<Handle>,
    /// Set if the last portion could not write all files of this kind. The next portion follows soon.
    unfinished: Option<Due>,
    /// Frames whose files were larger than [`LARGE`] when they were last written. They are not written after
    /// every change, because many small changes of one frame would then cost the square of their number.
    large: BTreeSet<Handle>,
    /// True if other frames can be stale too: what changed after `revision`, before this process followed the
    /// history, is not listed yet. A process that leaves `state.json` to others does not need this list.
    is_unlisted: bool,
    /// IDs that were replaced and whose files must be removed: the old ID and its frame, with the revision
    /// of the change.
    replaced: BTreeMap<(String, Handle), u64>,
    /// Revision of the last known `state.json`.
    revision: u64,
    /// True if the files may belong to another history. Their revision is then meaningless.
    is_foreign: bool,
    /// The size of the last known `state.json`, in bytes.
    state_size: u64,
    /// How long its last write by this process took, in milliseconds.
    state_took: u64,
    /// The bytes of the frames' files that this process has written since then.
    changed: u64,
    /// True if a frame was noted and [`Mirror::look`] was not called since.
    is_noted: bool,
    /// Time of the last change, in milliseconds on the caller's clock.
    changed_at: u64,
    /// Time of the last attempt to write `state.json`, or the files that wait.
    tried_at: Option<u64>,
    /// The revision that the plan file is known to show.
    plan_revision: Option<u64>,
    error: Option<Error>,
}

/// What a command or a poll has to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// The files of the frames that the last commands have changed.
    Fresh,
    /// Also those that wait.
    Waiting,
    /// The files of all frames that are out of date, and `state.json`.
    Everything,
}

impl Mirror {
    /// Creates the mirror of a folder, at the revision of its `state.json`. `is_immediate`: commands write the
    /// files of the frames that they change.
    pub(crate) fn new(folder: &Folder, is_immediate: bool) -> Self {
        let is_whole = folder.kind(FRAMES).is_ok_and(|kind| kind == Some(Kind::Folder));
        let revision = layout::mirrored_revision(folder).filter(|_| is_whole);
        Self {
            folder: folder.clone(),
            lock: None,
            stale: BTreeMap::new(),
            unwritten: 0..0,
            is_immediate,
            fresh: BTreeSet::new(),
            waiting: BTreeSet::new(),
            unfinished: None,
            large: BTreeSet::new(),
            is_unlisted: false,
            replaced: BTreeMap::new(),
            revision: revision.unwrap_or(0),
            is_foreign: revision.is_none(),
            state_size: folder.size(STATE),
            state_took: 0,
            changed: 0,
            is_noted: false,
            changed_at: 0,
            tried_at: None,
            plan_revision: None,
            error: None,
        }
    }

    /// The revision up to which the files are known to be complete.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// Marks the files of all frames, whose number is given, as out of date, because they belong to
    /// another history or to none.
    pub(crate) fn rewrite_all(&mut self, frames: usize) {
        self.is_noted = true;
        self.revision = 0;
        self.is_foreign = true;
        self.is_unlisted = false;
        self.unwritten = 0..frames;
    }

    /// True if the files may belong to another history, so that none of them is known to be right.
    pub(crate) fn is_foreign(&self) -> bool {
        self.is_foreign
    }

    /// Marks the file of this frame as out of date since this revision. `own`: this process made the change.
    pub(crate) fn note(&mut self, handle: Handle, revision: u64, own: bool) {
        self.is_noted = true;
        self.stale.insert(handle, revision);
        match (own, self.is_immediate && !self.large.contains(&handle)) {
            (true, true) => self.fresh.insert(handle),
            (true, false) => self.waiting.insert(handle),
            (false, _) => false,
        };
    }

    fn is_stale(&self, handle: Handle) -> bool {
        self.stale.contains_key(&handle) || self.unwritten.contains(&handle.index())
    }

    /// Number of frames whose files are known to be out of date.
    fn stale_frames(&self) -> usize {
        let ends = [self.unwritten.start, self.unwritten.end.saturating_sub(1)].map(Handle::from_index);
        // Those in both lists are few: most changes are made to newer frames.
        let in_both = match ends {
            [Some(first), Some(last)] if !self.unwritten.is_empty() => self.stale.range(first..=last).count(),
            _ => 0,
        };
        self.unwritten.len() + self.stale.len() - in_both
    }

    /// The next frames whose files are out of date: first those that this process has changed, then those that
    /// others have changed.
    fn next_stale(&self, most: usize) -> Vec<Handle> {
        let unwritten = self.unwritten.clone().filter_map(Handle::from_index);
        let unwritten = unwritten.filter(|handle| !self.stale.contains_key(handle));
        let others = self.stale.keys().filter(|handle| !self.waiting.contains(*handle));
        self.waiting.iter().chain(others).copied().chain(unwritten).take(most).collect()
    }

    /// True if the file of a frame is known to be out of date, so that it shows an earlier frame without
    /// being wrong.
    #[cfg(all(feature = "session", feature = "sqlite"))]
    pub(crate) fn is_due(&self, handle: Handle) -> bool {
        !self.is_foreign && self.is_stale(handle)
    }

    /// Notes that frames that are not listed have changed since [`Mirror::revision`]. Their files must be
    /// listed before the next `state.json`.
    pub(crate) fn note_unlisted(&mut self) {
        self.is_unlisted = true;
    }

    pub(crate) fn has_unlisted(&self) -> bool {
        self.is_unlisted
    }

    /// Notes that all stale frames are listed.
    pub(crate) fn note_all_listed(&mut self) {
        self.is_unlisted = false;
    }

    /// Notes that the frame no longer has this ID.
    pub(crate) fn note_replaced(&mut self, session_id: &str, handle: Handle, revision: u64) {
        self.is_noted = true;
        self.replaced.insert((session_id.to_owned(), handle), revision);
    }

    pub(crate) fn status(&self) -> MirrorStatus {
        MirrorStatus { revision: self.revision, stale_frames: self.stale_frames(), error: self.error.clone() }
    }

    /// True if the files are up to date.
    pub(crate) fn is_current(&self, revision: u64) -> bool {
        self.revision == revision && !self.is_unlisted && !self.has_stale() && self.replaced.is_empty()
    }

    fn has_stale(&self) -> bool {
        !self.stale.is_empty() || !self.unwritten.is_empty()
    }

    /// Notes when the last changes were made, that is, the changes since the previous call. Times are in
    /// milliseconds on the caller's clock, which never goes back.
    pub(crate) fn look(&mut self, now: u64) {
        if std::mem::take(&mut self.is_noted) {
            self.changed_at = now;
        }
    }

    /// The time at which a write is due that does not belong to a command. `None`: nothing has to be written.
    /// `leaves_state`: other processes write `state.json`.
    pub(crate) fn deadline(&self, revision: u64, leaves_state: bool) -> Option<u64> {
        if self.unfinished.is_some() {
            return Some(self.after_last_try(PORTION_INTERVAL));
        }
        let frames = self.has_waiting().then(|| self.after_last_try(INTERVAL));
        let has_state = !leaves_state && !self.is_current(revision);
        let state = has_state.then(|| self.state_deadline(TIME_SHARE));
        frames.into_iter().chain(state).min()
    }

    /// Returns the files that are due, in a poll or in a command.
    pub(crate) fn due(&self, now: u64, in_command: bool) -> Due {
        let (share, pause) = if in_command { (COMMAND_TIME_SHARE, INTERVAL) } else { (TIME_SHARE, PORTION_INTERVAL) };
        let continued = self.unfinished.filter(|_| now >= self.after_last_try(pause));
        if continued == Some(Due::Everything) || now >= self.state_deadline(share) {
            Due::Everything
        } else if let Some(due) = continued {
            due
        } else if self.has_waiting() && now >= self.after_last_try(INTERVAL) {
            Due::Waiting
        } else {
            Due::Fresh
        }
    }

    /// The time at which `state.json` is due.
    fn state_deadline(&self, share: u64) -> u64 {
        let cheap = self.after_last_try(INTERVAL.max(self.state_took.saturating_mul(share)));
        let is_worth_it = self.state_size <= SMALL_STATE || self.changed.saturating_mul(SIZE_SHARE) >= self.state_size;
        if is_worth_it { cheap } else { cheap.max(self.changed_at.saturating_add(PAUSE)) }
    }

    fn after_last_try(&self, span: u64) -> u64 {
        self.tried_at.map_or(0, |tried_at| tried_at.saturating_add(span))
    }

    fn has_waiting(&self) -> bool {
        !self.waiting.is_empty() || (self.error.is_some() && !self.fresh.is_empty())
    }

    /// True if frames' files should be written immediately. After an error they wait for the usual interval,
    /// so that a full disk does not slow down every command.
    pub(crate) fn is_prompt(&self) -> bool {
        !self.fresh.is_empty() && self.error.is_none()
    }

    /// Runs `write` under the lock and stores its error. After an error, the next write is due only after the
    /// usual interval, so that commands do not wait repeatedly for a process that is suspended. `patience` is
    /// the maximum wait for the lock.
    pub(crate) fn locked(
        &mut self,
        clock: &dyn Fn() -> u64,
        patience: Duration,
        write: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let result = self.lock_files().and_then(|[file, queue]| {
            let locked = lock_in_turn(&file, &queue, &self.folder.path_of(LOCK), patience);
            let result = locked.and_then(|_locked| write(self));
            self.lock = Some([file, queue]);
            result
        });
        self.error = result.clone().err();
        if self.error.is_some() {
            self.unfinished = None;
            self.tried_at = Some(clock());
        }
        result
    }

    fn lock_files(&mut self) -> Result<[File; 2]> {
        match self.lock.take() {
            Some(files) => Ok(files),
            None => Ok([self.folder.lock_file(LOCK)?, self.folder.lock_file(QUEUE)?]),
        }
    }

    /// Writes a portion of the files of the frames that this process changed by its last commands. The others
    /// wait.
    pub(crate) fn write_fresh(
        &mut self,
        clock: &dyn Fn() -> u64,
        source: &impl Source,
        portion: Portion,
    ) -> Result<()> {
        let fresh: Vec<Handle> = self.fresh.iter().copied().take(portion.files).collect();
        let written = self.write_frames(&fresh, clock, source, portion);
        self.waiting.append(&mut self.fresh);
        written
    }

    /// Writes a portion of the files of the frames that this process changed, including frames that wait.
    pub(crate) fn write_waiting(
        &mut self,
        clock: &dyn Fn() -> u64,
        source: &impl Source,
        portion: Portion,
    ) -> Result<()> {
        self.waiting.append(&mut self.fresh);
        let waiting: Vec<Handle> = self.waiting.iter().copied().take(portion.files).collect();
        let written = self.write_frames(&waiting, clock, source, portion);
        self.unfinished = (written.is_ok() && !self.waiting.is_empty()).then_some(Due::Waiting);
        self.tried_at = Some(clock());
        written
    }

    /// Takes over what another process has written: a `state.json` of a revision that this tree has.
    pub(crate) fn follow_others(&mut self, revision: u64) {
        let by_another = layout::mirrored_revision(&self.folder).unwrap_or(0);
        if !self.is_foreign && self.revision < by_another && by_another <= revision {
            self.revision = by_another;
            self.stale.retain(|_, revision| *revision > by_another);
            self.replaced.retain(|_, revision| *revision > by_another);
            self.state_size = self.folder.size(STATE);
            self.changed = 0;
        }
    }

    /// Writes the files of all stale frames and then `state.json`. If the portion does not have all stale
    /// frames, the others and `state.json` remain for the next call.
    pub(crate) fn write_all(&mut self, clock: &dyn Fn() -> u64, source: &impl Source, portion: Portion) -> Result<()> {
        self.folder.make_subfolder(FRAMES)?;
        self.waiting.append(&mut self.fresh);
        self.waiting.retain(|handle| self.stale.contains_key(handle));
        if self.is_foreign || !self.is_current(source.revision()) {
            self.write_frames(&self.next_stale(portion.files), clock, source, portion)?;
        }
        self.unfinished = self.has_stale().then_some(Due::Everything);
        if self.unfinished.is_none() && (self.is_foreign || !self.is_current(source.revision())) {
            let began = clock();
            self.folder.replace(STATE, |writer| source.write_state(writer))?;
            self.state_took = clock().saturating_sub(began);
            self.state_size = self.folder.size(STATE);
            self.changed = 0;
            self.revision = source.revision();
            self.is_foreign = false;
        }
        // The time after the write: a slow write is not due again immediately.
        self.tried_at = Some(clock());
        Ok(())
    }

    /// True if there is a plan file that may not show this revision. The plan file is written even if
    /// `state.json` is left to another process.
    pub(crate) fn wants_plan(&self, name: &str, revision: u64) -> bool {
        self.plan_revision != Some(revision) && self.folder.is_taken(&last_name(name))
    }

    /// Writes the plan file if it still is as this stack has last written it. A file that was changed in
    /// another way stays until it is imported.
    pub(crate) fn write_plan(&mut self, source: &impl Source) -> Result<()> {
        let name = source.plan_name();
        if let Some((written, Some(last))) = plan(&self.folder, name)?
            && written == last
        {
            let text = source.plan()?;
            if written != text {
                self.replace_plan(name, &text)?;
            }
        }
        self.plan_revision = Some(source.revision());
        Ok(())
    }

    /// Writes the file before its copy: if the process ends in between, the file counts as changed, and stays
    /// until it is imported.
    fn replace_plan(&self, name: &str, text: &str) -> Result<()> {
        [name.to_owned(), last_name(name)]
            .iter()
            .try_for_each(|name| self.folder.replace(name, |writer| writer.write_all(text.as_bytes())))
    }

    /// Begins to keep the plan in a file. A file that already exists stays as it is.
    pub(crate) fn begin_plan(&self, source: &impl Source) -> Result<()> {
        let name = source.plan_name();
        if self.folder.is_taken(name) { Ok(()) } else { self.replace_plan(name, &source.plan()?) }
    }

    /// Takes note that this text of the plan file was imported, and writes the file.
    pub(crate) fn accept_plan(&self, read: &str, source: &impl Source) -> Result<()> {
        let name = source.plan_name();
        match plan(&self.folder, name)? {
            Some((written, _)) if written == read => self.replace_plan(name, &source.plan()?),
            // The file has changed again meanwhile. The text that was read is what both sides know.
            _ => self.folder.replace(&last_name(name), |writer| writer.write_all(read.as_bytes())),
        }
    }

    /// Removes the plan file.
    pub(crate) fn end_plan(&self, name: &str) -> Result<()> {
        [last_name(name), name.to_owned()].iter().try_for_each(|name| self.folder.remove(name))
    }

    /// Removes the `state.json` of a lost history from which this history was begun.
    pub(crate) fn remove_earlier_state(&mut self) -> Result<()> {
        self.folder.remove(STATE)?;
        self.state_size = 0;
        Ok(())
    }

    /// Writes the files of these frames, in this order, as far as the time of the portion suffices.
    fn write_frames(
        &mut self,
        handles: &[Handle],
        clock: &dyn Fn() -> u64,
        source: &impl Source,
        portion: Portion,
    ) -> Result<()> {
        let begun = clock();
        for (place, handle) in handles.iter().enumerate() {
            if place > 0 && clock().saturating_sub(begun) >= portion.time {
                break;
            }
            let file = FrameFile { frame: &source.frame(*handle)?, revision: source.revision(), handle: *handle };
            let name = format!("{FRAMES}/{}.json", file_name(&file.frame.session_id, *handle));
            let text = serde_json::to_vec(&file).expect("a frame has only string keys and finite numbers");
            let write = || self.folder.replace(&name, |writer| writer.write_all(&text));
            if write().is_err() {
                // The folder may be missing. For any other cause, the second attempt returns the error.
                self.folder.make_subfolder(FRAMES)?;
                write()?;
            }
            self.stale.remove(handle);
            self.fresh.remove(handle);
            self.waiting.remove(handle);
            if handle.index() == self.unwritten.start && !self.unwritten.is_empty() {
                self.unwritten.start += 1;
            }
            self.changed = self.changed.saturating_add(text.len() as u64);
            match text.len() > LARGE {
                true => self.large.insert(*handle),
                false => self.large.remove(handle),
            };
        }
        // The old file of a frame stays until its new file is written.
        let written = self.replaced.keys().filter(|(_, handle)| !self.is_stale(*handle));
        for (session_id, handle) in written.cloned().collect::<Vec<_>>() {
            let name = file_name(&session_id, handle);
            // Keep the file if its name belongs to a frame that has the ID now.
            if source.owner(&session_id)?.is_none_or(|owner| file_name(&session_id, owner) != name) {
                self.folder.remove(&format!("{FRAMES}/{name}.json"))?;
            }
            self.replaced.remove(&(session_id, handle));
        }
        Ok(())
    }
}

/// The plan file, and the text that this stack has last written or read there. `None`: there is no plan file.
///
/// # Errors
/// [`Error::Io`] if something else has one of the names.
pub(crate) fn plan(folder: &Folder, name: &str) -> Result<Option<(String, Option<String>)>> {
    let text = folder.read(name)?.map(|text| String::from_utf8_lossy(&text).into_owned());
    text.map(|text| Ok((text, last_plan(folder, name)?))).transpose()
}

/// The text that this stack has last written into the plan file, or read there.
pub(crate) fn last_plan(folder: &Folder, name: &str) -> Result<Option<String>> {
    Ok(folder.read(&last_name(name))?.map(|text| String::from_utf8_lossy(&text).into_owned()))
}

/// The name of the copy of a plan file.
fn last_name(name: &str) -> String {
    format!(".last.{name}")
}
