//! Folders in which other things are in place of a stack's files, and the work of a host with these folders.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use callstack_core::{NewFrame, PopStatus, Settings, Stack, StackOptions};
use serde_json::json;
#[cfg(unix)]
use tempfile::tempdir;

#[cfg(unix)]
use crate::Queries;
use crate::Random;

/// Everything that a stack reads, writes or creates in its folder.
pub const NAMES: &[&str] = &[
    "stack.db",
    "stack.db-wal",
    "stack.db-shm",
    "stack.db-journal",
    "stack.db-write",
    "stack.db-read",
    "stack.db-probe",
    "stack.db-words",
    "stack.db-words-journal",
    "plan.md",
    ".last.plan.md",
    "state.json",
    ".next.tmp",
    ".mirror.lock",
    ".mirror.queue",
    "frames",
    "frames/.next.tmp",
    "frames/ses_1.json",
    "frames/ses_old.json",
    "logs",
    "logs/ses_1.jsonl",
    ".before-import",
    "before-import",
];

/// A state of the original plugin with one frame.
pub const STATE: &str = r#"{"version": 1, "frames": {"ses_old": {"sessionID": "ses_old", "status": "in_progress", "title": "Old",
    "successCriteria": "", "artifacts": [], "decisions": [], "createdAt": 1, "updatedAt": 1}}, "rootFrameIDs": []}"#;

/// Works with a stack in the way a host does, no matter what fails: opens it, writes everything that it can
/// write, and closes it.
pub fn work(folder: &Path) {
    for _ in 0..2 {
        let Ok(stack) = Stack::open(folder, StackOptions::default().busy_timeout(100)) else { continue };
        let _ = stack.push(NewFrame::new("Work").id("ses_1").root());
        let _ = stack.log("ses_1").append(&[json!({"text": "a line"})]);
        let _ = stack.add_artifact("ses_1", "src/lib.rs");
        let _ = stack.log("ses_1").read(&Default::default());
        let _ = stack.context("ses_1", &Settings::default());
        let _ = stack.replace_id("ses_1", "ses_2");
        let _ = stack.pop("ses_2", PopStatus::Completed, "done");
        let _ = stack.files().flush();
        let _ = stack.close();
    }
}

/// Every file and link below a folder. A file has its length and a hash of its content, and a link has its
/// target. The shared memory of a database is left out, because readers write to it.
pub fn contents(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let kind = path.symlink_metadata().unwrap().file_type();
        if kind.is_dir() {
            all.extend(contents(&path));
            all.insert(path, "a folder".to_owned());
        } else if kind.is_symlink() {
            all.insert(path.clone(), format!("a link to {}", fs::read_link(&path).unwrap().display()));
        } else if !kind.is_file() {
            all.insert(path, "something else".to_owned());
        } else if !path.to_string_lossy().ends_with("-shm") {
            let bytes = fs::read(&path).unwrap();
            let mut hasher = DefaultHasher::new();
            bytes.hash(&mut hasher);
            all.insert(path, format!("{} bytes, {:x}", bytes.len(), hasher.finish()));
        }
    }
    all
}

/// Makes a random folder, works with it, and checks that nothing outside of it has changed. Everything that
/// the last open stack acknowledges is there when the folder is opened again.
#[cfg(unix)]
pub fn check(random: &mut Random) {
    let place = tempdir().unwrap();
    let outside = place.path().join("outside");
    fs::create_dir_all(outside.join("folder")).unwrap();
    fs::write(outside.join("file"), STATE).unwrap();
    fs::write(outside.join("folder/ses_1.jsonl"), "a line\n").unwrap();
    let folder = place.path().join("stack");
    fs::create_dir(&folder).unwrap();
    if random.once_in(2) {
        // A stack that was in use, and was closed or not.
        let stack = Stack::open(&folder, StackOptions::default()).unwrap();
        for number in 0..random.below(40) {
            stack.push(NewFrame::new("Before").id(format!("before_{number}")).root()).unwrap();
        }
        if random.once_in(2) {
            copy_files(&folder, &place.path().join("copy"));
            drop(stack);
            fs::rename(place.path().join("copy"), place.path().join("stack.copy")).unwrap();
            fs::remove_dir_all(&folder).unwrap();
            fs::rename(place.path().join("stack.copy"), &folder).unwrap();
        }
    }
    for _ in 0..=random.below(4) {
        put_something(random, &folder, &outside);
    }
    let before = contents(&outside);
    work(&folder);
    let acknowledged = Stack::open(&folder, StackOptions::default().busy_timeout(100)).ok().and_then(|stack| {
        stack.push(NewFrame::new("Last").id("ses_last").root()).ok()?;
        Some(stack.state().unwrap())
    });
    assert_eq!(contents(&outside), before, "nothing outside of the folder changes");
    if let Some(state) = acknowledged {
        let again = Stack::open(&folder, StackOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again.state().unwrap(), state, "what was acknowledged");
    }
}

#[cfg(unix)]
fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() { copy_files(&path, &target) } else { fs::copy(&path, target).map(drop).unwrap() }
    }
}

/// Damages a file, or puts a link, a pipe, a folder or a text in its place.
#[cfg(unix)]
fn put_something(random: &mut Random, folder: &Path, outside: &Path) {
    let name = random.pick(NAMES);
    let path = folder.join(name);
    let Some(parent) = path.parent() else { return };
    if fs::create_dir_all(parent).is_err() {
        // Another file or link has the place of the subfolder.
        return;
    }
    let way = random.below(8);
    if way >= 2 {
        // If the path is a link, the link itself is removed.
        let _ = if path.is_dir() && !path.is_symlink() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
    }
    let is_file = path.symlink_metadata().is_ok_and(|data| data.is_file());
    // Each of these calls may fail, for example because the parent is a link. Then the folder does
    // not change.
    let _ = match way {
        0 | 1 if is_file => damage(random, &path),
        2 => std::os::unix::fs::symlink(
            outside.join(random.pick(&["file", "folder", "nothing", "folder/ses_1.jsonl"])),
            &path,
        ),
        3 => std::os::unix::fs::symlink(random.pick(&["stack.db", "../stack.db", ".", "..", "../outside/file"]), &path),
        4 => nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).map_err(Into::into),
        5 => fs::create_dir(&path),
        6 => fs::write(&path, random.pick(&["", "{", STATE, "garbage", "SQLite format 3\0"])),
        _ => Ok(()),
    };
}

/// Cuts a file, or changes a byte.
#[cfg(unix)]
fn damage(random: &mut Random, path: &Path) -> std::io::Result<()> {
    let mut bytes = fs::read(path)?;
    let place = random.below(bytes.len());
    if random.once_in(2) {
        bytes.truncate(place);
    } else if let Some(byte) = bytes.get_mut(place) {
        *byte ^= 1 << random.below(8);
    }
    fs::write(path, bytes)
}
