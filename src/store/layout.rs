//! Import of the documented layout: `state.json` and `frames/{id}.json`, written by the original plugin or left
//! by the mirror of a lost database. The files are read once, when the folder has no history yet.
//!
//! Each file may be damaged or out of date. A frame is taken from the file in which it can be read, and from the
//! newer one if both can be read.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::files;
use crate::error::{Error, Result};
use crate::frame::{Frame, FrameStatus, Repair, StackState, StateError, frame_from_json};

/// The first bytes of a `state.json` that this library wrote.
const BEGINNING: &str = "{\"version\":1,\"revision\":";

/// Path of the state file of a folder.
pub(crate) fn state_path(folder: &Path) -> PathBuf {
    folder.join("state.json")
}

/// Path of the folder that contains the frames' files.
pub(crate) fn frames_path(folder: &Path) -> PathBuf {
    folder.join("frames")
}

/// Reads the frames of a folder; `None` if it contains no frame. The list describes the repaired defects.
///
/// # Errors
/// [`Error::Damaged`] if `state.json` exists but no frame can be read; [`Error::Version`] if a newer version
/// of the library wrote it; [`Error::Io`].
pub(crate) fn read(folder: &Path) -> Result<Option<(StackState, Vec<Repair>)>> {
    let path = state_path(folder);
    let name = path.display().to_string();
    let mut repairs = Vec::new();
    let mut unreadable = None;
    let mut state = match files::read_if_there(&path)?.map(|bytes| StackState::salvage(&bytes)) {
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
    let mut frames = Frames::new(std::mem::take(&mut state.frames));
    for file in files::json_files(&frames_path(folder))? {
        frames.take(&file, &mut repairs);
    }
    state.frames = frames.list;
    match unreadable {
        Some((message, source)) if state.frames.is_empty() => {
            Err(Error::Damaged { path: name, message, advice: "move it away to start without it", source })
        }
        _ if state.frames.is_empty() => Ok(None),
        _ => Ok(Some((state, repairs))),
    }
}

/// The frames found so far; those of `state.json` come first.
struct Frames {
    list: Vec<Frame>,
    by_id: HashMap<String, usize>,
    /// Time of creation, title and criteria of the frames that have started.
    started: HashSet<(u64, String, String)>,
}

impl Frames {
    fn new(list: Vec<Frame>) -> Self {
        let by_id = list.iter().enumerate().map(|(index, frame)| (frame.session_id.clone(), index)).collect();
        let started = list.iter().filter(|frame| frame.status != FrameStatus::Planned).map(origin).collect();
        Self { list, by_id, started }
    }

    /// Adds the frame of a file, unless the same or a newer version of it was already found.
    fn take(&mut self, file: &Path, repairs: &mut Vec<Repair>) {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let place = format!("frames/{stem}.json");
        let mut found = Vec::new();
        let read = fs::read(file).map_err(|error| error.to_string()).and_then(|bytes| {
            let text = String::from_utf8_lossy(&bytes);
            frame_from_json(&text, &stem, &mut found).map_err(|error| error.to_string())
        });
        let frame = match read {
            Ok(frame) => frame,
            Err(message) => {
                repairs.push(Repair::of_state(format!("{place} cannot be read: {message}")));
                return;
            }
        };
        let id = frame.session_id.clone();
        let started = (frame.status != FrameStatus::Planned).then(|| origin(&frame));
        match self.by_id.get(&id) {
            Some(index) if self.list[*index].updated_at >= frame.updated_at => return,
            Some(index) => {
                repairs.push(Repair::of_frame(&id, format!("{place} is newer than state.json; the file is used")));
                self.list[*index] = frame;
            }
            None if self.is_left_over(&frame) => {
                let message = format!("{place} is an old copy of a frame that has another ID now; left out");
                repairs.push(Repair::of_frame(&id, message));
                return;
            }
            None => {
                repairs.push(Repair::of_frame(&id, format!("it is in {place}, but not in state.json; kept")));
                self.by_id.insert(id, self.list.len());
                self.list.push(frame);
            }
        }
        self.started.extend(started);
        repairs.append(&mut found);
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

/// Links the files of a folder into `before-import/`, where they remain after the mirror replaces the
/// originals. Either all files are linked or none.
pub(crate) fn keep(folder: &Path) -> Result<()> {
    let unfinished = folder.join(".before-import");
    if unfinished.exists() {
        // It contains only links, left by a process that was killed at this point.
        fs::remove_dir_all(&unfinished).map_err(files::writing(&unfinished))?;
    }
    files::make_folder(&frames_path(&unfinished))?;
    let state = state_path(folder);
    if state.exists() {
        files::second_name(&state, &state_path(&unfinished))?;
    }
    for file in files::json_files(&frames_path(folder))?.into_iter().filter(|path| path.is_file()) {
        files::second_name(&file, &frames_path(&unfinished).join(file.file_name().unwrap_or_default()))?;
    }
    let kept = files::unused(&folder.join("before-import"));
    fs::rename(&unfinished, &kept).map_err(files::writing(&kept))
}

/// Returns the revision in a `state.json` that this library wrote; `None` if the file is missing, incomplete, or
/// written by another program. Reads only the beginning and the end of the file.
pub(crate) fn mirrored_revision(folder: &Path) -> Option<u64> {
    let mut file = File::open(state_path(folder)).ok()?;
    let mut beginning = Vec::new();
    file.by_ref().take(64).read_to_end(&mut beginning).ok()?;
    let beginning = String::from_utf8_lossy(&beginning);
    let number = beginning.strip_prefix(BEGINNING)?;
    let revision = number.split(',').next()?.parse().ok()?;
    let mut last = [0];
    file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last)).ok()?;
    (last == *b"}").then_some(revision)
}
