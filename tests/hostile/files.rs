//! Nothing acknowledged is lost, and nothing outside the folder changes, whatever is done to the files.

#[cfg(unix)]
mod full_disk;
mod prepared;
#[cfg(unix)]
mod redirected;
mod replaced;
#[cfg(unix)]
mod unlocked;

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use callstack_core::{NewFrame, Stack, StackOptions};

fn open(folder: &Path) -> Stack {
    Stack::open(folder, StackOptions::default()).unwrap()
}

fn push(stack: &Stack, id: &str) {
    stack.push(NewFrame::new("Work").id(id).root()).unwrap();
}

fn ids(stack: &Stack) -> Vec<String> {
    stack.state().frames.into_iter().map(|frame| frame.session_id).collect()
}

/// Every file and link below a folder, with its length and a hash of its content, or its target. The shared memory of a
/// database is left out: readers write to it.
fn contents(folder: &Path) -> BTreeMap<PathBuf, String> {
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
