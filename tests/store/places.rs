//! The differences between operating systems: long paths, names that are devices on Windows, and files that
//! other processes have open. docs/platforms.md says which rules apply on which system.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use callstack_core::{LogQuery, NewFrame, PopStatus, Stack, StackOptions};
use serde_json::json;
use tempfile::{TempDir, tempdir};

/// A folder whose path has about 360 bytes: more than Windows takes without a prefix, fewer than SQLite takes
/// on Unix.
fn far_below() -> (TempDir, PathBuf) {
    let place = tempdir().unwrap();
    let mut path = place.path().canonicalize().unwrap();
    while path.as_os_str().len() < 320 {
        path.push("a-name-that-is-forty-characters-long-xxx");
    }
    (place, path)
}

#[test]
fn a_stack_works_in_a_folder_with_a_long_path() {
    let (_place, folder) = far_below();
    assert!((261..400).contains(&folder.as_os_str().len()), "{}", folder.display());
    let id = "s".repeat(100);
    let stack = Stack::open(&folder, StackOptions::default()).unwrap();
    stack.push(NewFrame::new("Root").id(&id)).unwrap();
    stack.log(id.as_str()).append(&[json!({"text": "a line"})]).unwrap();
    stack.files().flush().unwrap();
    assert_eq!(stack.files().status().unwrap().error, None);
    stack.pop(id.as_str(), PopStatus::Completed, "done").unwrap();
    stack.close().unwrap();
    let stack = Stack::open(&folder, StackOptions::default()).unwrap();
    assert_eq!(stack.frame(id.as_str()).unwrap().results.as_deref(), Some("done"));
    assert_eq!(stack.log(id.as_str()).read(&LogQuery::default()).unwrap().total, 1);
    assert!(folder.join("frames").join(format!("{id}.json")).is_file());
}

#[test]
fn ids_that_are_devices_or_no_names_of_files_work() {
    let folder = tempdir().unwrap();
    let ids = ["CON", "nul", "COM1", "aux.json", "a.", "b ", "c:d", "e\\f", "../g", "h?*<>|\""];
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    for id in ids {
        stack.push(NewFrame::new("Work").id(id).root()).unwrap();
        stack.log(id).append(&[json!({ "of": id })]).unwrap();
    }
    stack.close().unwrap();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    for id in ids {
        let page = stack.log(id).read(&LogQuery::default()).unwrap();
        assert_eq!(page.lines.iter().map(|line| &line.entry["of"]).collect::<Vec<_>>(), [id]);
    }
    assert_eq!(fs::read_dir(folder.path().join("frames")).unwrap().count(), ids.len());
}

#[test]
fn a_url_makes_no_folder_and_its_password_is_not_shown() {
    for scheme in ["postgres://", "postgres:/", "postgres:", "postgres//", " postgres://", "postgress://", "mysql://"] {
        let url = format!("{scheme}me:secret@host/data/shop");
        let error = Stack::open(&url, StackOptions::default()).expect_err(scheme).to_string();
        assert!(error.contains("Stack::open_url") && !error.contains("secret"), "{scheme}: {error}");
        assert!(!Path::new(&url).exists(), "{scheme}");
    }
}

/// Windows 10 replaces an open file as Unix does. Older file systems and Wine 8 refuse it: the mirror says
/// so, and the file is written later.
#[test]
fn files_that_another_program_reads_are_replaced_now_or_later() {
    let folder = tempdir().unwrap();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    stack.push(NewFrame::new("Before").id("ses_1")).unwrap();
    stack.files().flush().unwrap();
    let names = ["state.json", "frames/ses_1.json"];
    let mut readers = names.map(|name| File::open(folder.path().join(name)).unwrap());
    stack.pop("ses_1", PopStatus::Completed, "after").unwrap();
    if let Err(error) = stack.files().flush() {
        assert!(cfg!(windows) && error.to_string().contains("ses_1.json"), "{error}");
    }
    for reader in &mut readers {
        let mut old = String::new();
        reader.read_to_string(&mut old).unwrap();
        assert!(!old.contains("after"), "{old}");
    }
    drop(readers);
    stack.files().flush().unwrap();
    assert_eq!(stack.files().status().unwrap().error, None);
    for name in names {
        let new = fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(new.contains("after"), "{name}: {new}");
    }
}

#[test]
fn logs_are_read_while_others_append() {
    const LINES: usize = 300;
    let folder = tempdir().unwrap();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    stack.push(NewFrame::new("Work").id("ses_1")).unwrap();
    stack.log("ses_1").append(&[json!(0)]).unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let other = Stack::open(folder.path(), StackOptions::default()).unwrap();
            (1..LINES).for_each(|number| other.log("ses_1").append(&[json!(number)]).unwrap());
            is_done.store(true, Ordering::Release);
        });
        while !is_done.load(Ordering::Acquire) {
            let page = stack.log("ses_1").read(&LogQuery::default()).unwrap();
            let read: Vec<_> = page.lines.into_iter().map(|line| line.entry).collect();
            assert_eq!(read, (0..read.len()).map(|number| json!(number)).collect::<Vec<_>>());
        }
    });
    assert_eq!(stack.log("ses_1").read(&LogQuery::default()).unwrap().total, LINES);
}
