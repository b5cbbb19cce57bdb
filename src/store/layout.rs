//! The documented layout of a folder, read once when the folder has no history yet: `state.json` and
//! `frames/{id}.json` as the original plugin wrote them, or as the mirror of a lost database.
//!
//! Either may be damaged or out of date; each frame is taken from where it can be read, and from the
//! newer place if it can be read in both.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::files;
use crate::error::{Error, Result};
use crate::frame::{Frame, FrameStatus, Repair, StackState, StateError, frame_from_json};

/// How a state of ours begins.
const BEGINNING: &str = "{\"version\":1,\"revision\":";

/// The root state of a folder.
pub(crate) fn state_path(folder: &Path) -> PathBuf {
    folder.join("state.json")
}

/// The folder of the frames' files.
pub(crate) fn frames_path(folder: &Path) -> PathBuf {
    folder.join("frames")
}

/// What stands in a folder; `None` if it holds no frame. The list says what was damaged.
///
/// # Errors
/// [`Error::Damaged`] if there is a state and no frame of it can be read; [`Error::Version`] for
/// one of a newer version; [`Error::Io`].
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
        Some(Err(StateError::Json { message })) => {
            repairs.push(Repair::of_state(format!("state.json cannot be read: {message}")));
            unreadable = Some(message);
            StackState::default()
        }
    };
    let mut frames = Frames::new(std::mem::take(&mut state.frames));
    for file in files::json_files(&frames_path(folder))? {
        frames.take(&file, &mut repairs);
    }
    state.frames = frames.list;
    match unreadable {
        Some(message) if state.frames.is_empty() => {
            Err(Error::Damaged { path: name, message, advice: "move it away to begin without it" })
        }
        _ if state.frames.is_empty() => Ok(None),
        _ => Ok(Some((state, repairs))),
    }
}

/// The frames found so far, those of the state first.
struct Frames {
    list: Vec<Frame>,
    by_id: HashMap<String, usize>,
}

impl Frames {
    fn new(list: Vec<Frame>) -> Self {
        let by_id = list.iter().enumerate().map(|(index, frame)| (frame.session_id.clone(), index)).collect();
        Self { list, by_id }
    }

    /// Adds the frame of a file, if it is not there already in this form or a newer one.
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
        match self.by_id.get(&id) {
            Some(index) if self.list[*index].updated_at >= frame.updated_at => return,
            Some(index) => {
                repairs.push(Repair::of_frame(&id, format!("{place} is newer than state.json; the file counts")));
                self.list[*index] = frame;
            }
            None if self.is_left_over(&frame) => {
                let message = format!("{place} is what another ID replaced; left out");
                repairs.push(Repair::of_frame(&id, message));
                return;
            }
            None => {
                repairs.push(Repair::of_frame(&id, format!("it stands in {place} alone, not in state.json; kept")));
                self.by_id.insert(id, self.list.len());
                self.list.push(frame);
            }
        }
        repairs.append(&mut found);
    }

    /// True for the file of a planned frame that was begun and lives on under its session's ID.
    fn is_left_over(&self, frame: &Frame) -> bool {
        let same = |other: &Frame| {
            other.status != FrameStatus::Planned
                && other.created_at == frame.created_at
                && other.title == frame.title
                && other.success_criteria == frame.success_criteria
        };
        frame.status == FrameStatus::Planned && frame.created_at > 0 && self.list.iter().any(same)
    }
}

/// Gives the files of a folder a second name below `before-import/`, where they stay: the mirror will
/// put its own in their place. All of them are there or none.
pub(crate) fn keep(folder: &Path) -> Result<()> {
    let unfinished = folder.join(".before-import");
    if unfinished.exists() {
        // Second names alone, of a process that was killed here.
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

/// The revision that a `state.json` of ours holds; `None` if there is none, another program wrote it,
/// or it is not whole. Looks at its beginning and its end alone.
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
