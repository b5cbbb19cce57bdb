//! Import of the documented layout: `state.json` and `frames/{id}.json`, written by the original plugin or
//! left by the mirror of a lost database. The files are read once, when the folder has no history yet.
//!
//! Each file may be damaged or out of date. A frame is taken from the file in which it can be read, and from
//! the newer file if both can be read. The newer file is the one with the higher revision: `state.json` and
//! each frame's file hold the revision of the tree that they show. A file without a revision is older than
//! one with a revision, because the original plugin, whose files have none, was there first. Between two
//! files without a revision the frame's time decides.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path};

use super::file_errors::writing;
use super::folder::{Access, Folder};
use crate::error::{Error, Result};
#[cfg(all(feature = "session", feature = "sqlite"))]
use crate::frame::file_name;
use crate::frame::{Frame, FrameStatus, Handle, Repair, StackState, StateError, frame_from_json, shown};

/// The first bytes of a `state.json` that this library wrote.
const BEGINNING: &str = "{\"version\":1,\"revision\":";
/// The name of the copy of the original files.
pub(crate) const BEFORE_IMPORT: &str = "before-import";
/// The name of a copy while it is made.
const UNFINISHED: &str = ".before-import";

/// The name of the file with the whole state.
pub(crate) const STATE: &str = "state.json";
/// The name of the subfolder with a file for each frame.
pub(crate) const FRAMES: &str = "frames";

/// Reads the frames of a folder; `None` if it contains no frame. The list describes the repaired defects.
///
/// # Errors
/// [`Error::Damaged`] if `state.json` exists but no frame can be read; [`Error::Version`] if a newer version
/// of the library wrote it; [`Error::Io`].
pub(crate) fn read(folder: &Folder) -> Result<Option<(StackState, Vec<Repair>)>> {
    let name = folder.path_of(STATE).display().to_string();
    let mut repairs = Vec::new();
    let mut unreadable = None;
    let mut state = match folder.read(STATE)?.map(|bytes| StackState::salvage(&bytes)) {
        None => StackState::default(),
        Some(Ok((state, found))) => {
            repairs = found;
            state
        }
        Some(Err(StateError::Version { found, supported })) => {
            return Err(Error::Version { what: name, found, supported });
        }
        Some(Err(StateError::Json { message, source })) => {
            repairs.push(Repair::of_state(format!("state.json cannot be read: {message}")));
            unreadable = Some((message, source));
            StackState::default()
        }
    };
    let mut frames = Frames::new(std::mem::take(&mut state.frames), known(state.revision));
    let shown = frames.list.len();
    frames.lacks_finished = state.finished_trees.is_some();
    for file in folder.json_files(FRAMES)? {
        frames.take(folder, &file, &mut repairs);
    }
    state.frames = frames.list;
    let finished = state.finished_trees.take();
    if let Some(finished) = finished {
        let found = state.frames.len() - shown;
        if found < finished.frames {
            let message =
                format!("its finished trees have {} frames, but only {found} of them are in frames/", finished.frames);
            repairs.push(Repair::of_state(message));
        }
    }
    if finished.is_some() || shown == 0 {
        state.frames = in_order(state.frames, &frames.handles);
        let roots = state.frames.iter().filter(|frame| frame.parent_session_id.is_none());
        state.root_frame_ids = roots.map(|frame| frame.session_id.clone()).collect();
    }
    #[cfg(windows)]
    state.frames.iter_mut().for_each(|frame| simplify_log_path(frame, folder.path()));
    drop_outside_logs(&mut state, folder.path(), &mut repairs);
    match unreadable {
        Some((message, source)) if state.frames.is_empty() => {
            Err(Error::Damaged { path: name, message, advice: "move it away to start without it", source })
        }
        _ if state.frames.is_empty() => Ok(None),
        _ => Ok(Some((state, repairs))),
    }
}

/// Puts frames in the order in which they were created. Each frame whose handle is known gets the place of
/// its handle, and keeps the handle. The other frames fill the gaps in the order of their times: frames whose
/// files were written by an earlier version, and, if frames are lost, the last ones.
fn in_order(frames: Vec<Frame>, handles: &HashMap<String, Handle>) -> Vec<Frame> {
    let count = frames.len();
    let mut placed = BTreeMap::new();
    let mut others = Vec::new();
    for frame in frames {
        let is_free = |handle: &&Handle| handle.index() < count && !placed.contains_key(&handle.index());
        match handles.get(&frame.session_id).filter(is_free) {
            Some(handle) => drop(placed.insert(handle.index(), frame)),
            None => others.push(frame),
        }
    }
    others.sort_by_key(|frame| frame.created_at);
    let mut others = others.into_iter();
    (0..count).filter_map(|place| placed.remove(&place).or_else(|| others.next())).collect()
}

/// The revision of a file; 0, which means unknown, for a number that cannot be the revision of a tree.
fn known(revision: u64) -> u64 {
    if revision <= StackState::LAST_REVISION { revision } else { 0 }
}

/// The frames found so far; those of `state.json` come first.
struct Frames {
    list: Vec<Frame>,
    /// For each frame, the revision of the tree from which it was written; 0: unknown.
    revisions: Vec<u64>,
    by_id: HashMap<String, usize>,
    /// The handles that the files of the frames name, by ID.
    handles: HashMap<String, Handle>,
    /// True if `state.json` leaves out the finished trees.
    lacks_finished: bool,
    /// Time of creation, title and criteria of the frames that have started.
    started: HashSet<(u64, String, String)>,
}

impl Frames {
    /// The frames of a `state.json` of this revision.
    fn new(list: Vec<Frame>, revision: u64) -> Self {
        let by_id = list.iter().enumerate().map(|(index, frame)| (frame.session_id.clone(), index)).collect();
        let started = list.iter().filter(|frame| frame.status != FrameStatus::Planned).map(origin).collect();
        let handles = HashMap::new();
        Self { revisions: vec![revision; list.len()], list, by_id, handles, lacks_finished: false, started }
    }

    /// Adds the frame of a file, unless the same or a newer version of it was already found.
    fn take(&mut self, folder: &Folder, place: &str, repairs: &mut Vec<Repair>) {
        let stem = place.trim_start_matches("frames/").trim_end_matches(".json");
        let mut found = Vec::new();
        let read = folder.read(place).map_err(|error| error.to_string()).and_then(|bytes| {
            let text = String::from_utf8_lossy(bytes.as_deref().unwrap_or_default());
            frame_from_json(&text, stem, &mut found).map_err(|error| error.to_string())
        });
        let mut frame = match read {
            Ok(frame) => frame,
            Err(message) => {
                repairs.push(Repair::of_state(format!("{place} cannot be read: {message}")));
                return;
            }
        };
        let revision = known(frame.take_revision());
        // Without a revision, this key belongs to the host.
        let handle = if revision > 0 { frame.take_handle() } else { None };
        let id = frame.session_id.clone();
        self.handles.extend(handle.map(|handle| (id.clone(), handle)));
        let started = (frame.status != FrameStatus::Planned).then(|| origin(&frame));
        match self.by_id.get(&id).copied() {
            Some(index) if !self.is_newer(&frame, revision, index) => return,
            Some(index) => {
                repairs.push(Repair::of_frame(&id, format!("{place} is newer than state.json; the file is used")));
                self.list[index] = frame;
                self.revisions[index] = revision;
            }
            None if self.is_left_over(&frame) => {
                let message = format!("{place} is an old copy of a frame that has another ID now; left out");
                repairs.push(Repair::of_frame(&id, message));
                return;
            }
            None => {
                if !self.lacks_finished || frame.status.is_unfinished() {
                    repairs.push(Repair::of_frame(&id, format!("it is in {place}, but not in state.json; kept")));
                }
                self.by_id.insert(id, self.list.len());
                self.list.push(frame);
                self.revisions.push(revision);
            }
        }
        self.started.extend(started);
        repairs.append(&mut found);
    }

    /// True if a frame that was written at this revision is newer than the one at an index of the list.
    fn is_newer(&self, frame: &Frame, revision: u64, index: usize) -> bool {
        let found = &self.list[index];
        match (revision, self.revisions[index]) {
            (0, 0) => frame.updated_at > found.updated_at,
            (revision, known) => revision > known && frame != found,
        }
    }

    /// True for the old file of a planned frame that was started and has its session's ID since then.
    fn is_left_over(&self, frame: &Frame) -> bool {
        frame.status == FrameStatus::Planned && frame.created_at > 0 && self.started.contains(&origin(frame))
    }
}

/// What a frame keeps when it is started and gets another ID.
fn origin(frame: &Frame) -> (u64, String, String) {
    (frame.created_at, frame.title.clone(), frame.success_criteria.clone())
}

/// Gives the path of a log in the folder the form of the folder's path: Windows has several for one file.
#[cfg(windows)]
fn simplify_log_path(frame: &mut Frame, folder: &Path) {
    let path = frame.log_path.as_ref().map(Path::new).filter(|path| path.is_absolute());
    let found = path.and_then(|path| super::folder::resolved(path).ok()).filter(|path| path.starts_with(folder));
    if let Some(found) = found {
        frame.log_path = Some(found.display().to_string());
    }
}

/// Removes the paths of logs outside of the stack's folder. The state may come from a stranger, and an agent
/// reads the log that its context names. `folder`: empty if the stack has none.
pub(crate) fn drop_outside_logs(state: &mut StackState, folder: &Path, repairs: &mut Vec<Repair>) {
    state.frames.iter_mut().for_each(|frame| drop_outside_log(frame, folder, repairs));
}

fn drop_outside_log(frame: &mut Frame, folder: &Path, repairs: &mut Vec<Repair>) {
    let is_below = |path: &str| {
        let path = Path::new(path);
        let below = if path.is_absolute() { path.strip_prefix(folder) } else { Ok(path) };
        below.is_ok_and(|below| below.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)))
    };
    if let Some(path) = frame.log_path.take_if(|path| !path.is_empty() && !is_below(path)) {
        let path = shown(&path);
        let message = format!("its logPath `{path}` is outside of the stack's folder; removed");
        repairs.push(Repair::of_frame(&frame.session_id, message));
    }
}

/// Links the files of a folder into a new subfolder of this name, where they remain after the mirror replaces
/// the originals. Either all files are linked or none. Without files, there is no subfolder. Another process
/// can remove the file of a frame meanwhile, when it replaces the ID of the frame. Returns the name of the
/// subfolder.
pub(crate) fn keep(folder: &Folder, name: &str) -> Result<Option<String>> {
    if folder.is_taken(UNFINISHED) {
        // It contains only links, left by a process that was killed at this point.
        let path = folder.path_of(UNFINISHED);
        std::fs::remove_dir_all(&path).map_err(writing(&path))?;
    }
    let frames = folder.json_files(FRAMES)?;
    let all = std::iter::once(STATE).chain(frames.iter().map(String::as_str));
    let files: Vec<&str> = all.filter(|file| folder.has_file(file)).collect();
    if files.is_empty() {
        return Ok(None);
    }
    folder.make_subfolder(UNFINISHED)?;
    folder.make_subfolder(&format!("{UNFINISHED}/{FRAMES}"))?;
    for file in files {
        let linked = folder.second_name(file, &format!("{UNFINISHED}/{file}"));
        if folder.has_file(file) {
            linked?;
        }
    }
    let name = folder.unused(name);
    folder.rename(UNFINISHED, &name)?;
    Ok(Some(name))
}

/// True if the file of a frame is missing.
#[cfg(all(feature = "session", feature = "sqlite"))]
pub(crate) fn lacks_frame(folder: &Folder, session_id: &str, handle: Handle) -> bool {
    !folder.has_file(&format!("{FRAMES}/{}.json", file_name(session_id, handle)))
}

/// The record in the file of a frame, and the revision that it shows. `None` if there is no such file, if it
/// cannot be read, or if it names another handle.
#[cfg(all(feature = "session", feature = "sqlite"))]
pub(crate) fn read_frame(folder: &Folder, session_id: &str, handle: Handle) -> Option<(Frame, u64)> {
    let name = file_name(session_id, handle);
    let bytes = folder.read(&format!("{FRAMES}/{name}.json")).ok()??;
    let mut defects = Vec::new();
    let mut frame = frame_from_json(&String::from_utf8(bytes).ok()?, &name, &mut defects).ok()?;
    let revision = frame.take_revision();
    // The files of an earlier version do not name a handle.
    let is_other = frame.take_handle().is_some_and(|named| named != handle);
    (defects.is_empty() && !is_other).then_some((frame, revision))
}

/// Returns the revision in a `state.json` that this library wrote; `None` if the file is missing, incomplete,
/// or written by another program. Reads only the beginning and the end of the file.
pub(crate) fn mirrored_revision(folder: &Folder) -> Option<u64> {
    let mut file = folder.file(STATE, Access::Read).ok()??;
    let mut beginning = Vec::new();
    file.by_ref().take(64).read_to_end(&mut beginning).ok()?;
    let beginning = String::from_utf8_lossy(&beginning);
    let number = beginning.strip_prefix(BEGINNING)?;
    let revision = number.split(',').next()?.parse().ok()?;
    let mut last = [0];
    file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last)).ok()?;
    (last == *b"}").then_some(revision)
}
