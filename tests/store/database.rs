//! Tests with files named `stack.db` that are damaged or come from other programs: an error describes them,
//! and they are not changed.

use std::fs::{self, OpenOptions};
use std::path::Path;

use callstack_core::{NewFrame, SqliteOptions, SqliteStore, Stack, StackOptions};
use support::Queries;
use tempfile::{TempDir, tempdir};

/// A folder with a stack of many frames.
fn filled() -> TempDir {
    let folder = tempdir().unwrap();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    for number in 0..300 {
        stack.push(NewFrame::new("Frame").id(format!("ses_{number}")).criteria("x".repeat(500)).root()).unwrap();
    }
    stack.close().unwrap();
    folder
}

fn open_fails(folder: &Path, code: &str, message: &str) {
    let database = folder.join("stack.db");
    let read = || fs::read(&database).ok();
    let before = read();
    let state = fs::read(folder.join("state.json")).ok();
    for attempt in 1..3 {
        let error = Stack::open(folder, StackOptions::default()).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().contains(message), "{error}\nshould say: {message}");
        assert_eq!(read(), before, "attempt {attempt}: the file is as it was");
        assert_eq!(fs::read(folder.join("state.json")).ok(), state, "attempt {attempt}: the mirror too");
    }
}

/// Checks that all frames are restored after the damaged file was moved away.
fn comes_back_without_it(folder: &Path) {
    for name in ["stack.db", "stack.db-wal", "stack.db-shm"] {
        let path = folder.join(name);
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else if path.exists() {
            fs::remove_file(path).unwrap();
        }
    }
    let stack = Stack::open(folder, StackOptions::default()).unwrap();
    assert_eq!(stack.state().unwrap().frames.len(), 300);
    assert_eq!(stack.upkeep().repairs(), []);
}

#[test]
fn garbage_is_no_database() {
    for garbage in [
        &b"no database at all, but long enough to have a header of one hundred bytes, which SQLite looks at.."[..],
        b"x",
    ] {
        let folder = filled();
        fs::write(folder.path().join("stack.db"), garbage).unwrap();
        open_fails(
            folder.path(),
            "damaged",
            "stack.db is damaged and was not changed: file is not a database; move it",
        );
        comes_back_without_it(folder.path());
    }
}

#[test]
fn a_folder_is_no_database() {
    let folder = filled();
    fs::remove_file(folder.path().join("stack.db")).unwrap();
    fs::create_dir(folder.path().join("stack.db")).unwrap();
    open_fails(folder.path(), "damaged", "it is a folder");
    comes_back_without_it(folder.path());
}

#[test]
fn a_truncated_database_is_refused() {
    let whole = fs::read(filled().path().join("stack.db")).unwrap();
    for length in [1, 99, 100, 512, 4095, 4096, 4097, 8192, whole.len() / 2, whole.len() - 4096, whole.len() - 1] {
        let folder = filled();
        let file = OpenOptions::new().write(true).open(folder.path().join("stack.db")).unwrap();
        file.set_len(length as u64).unwrap();
        drop(file);
        open_fails(folder.path(), "damaged", "stack.db is damaged and was not changed: ");
        comes_back_without_it(folder.path());
    }
}

#[test]
fn an_empty_file_is_a_new_database_unless_it_was_one() {
    let folder = filled();
    fs::write(folder.path().join("stack.db"), "").unwrap();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    assert_eq!(stack.state().unwrap().frames.len(), 300, "the frames come back from the mirror");
    drop(stack);

    let folder = filled();
    fs::write(folder.path().join("stack.db"), "").unwrap();
    fs::write(folder.path().join("stack.db-wal"), "what may be left of the history").unwrap();
    open_fails(folder.path(), "damaged", "it is empty, but its write-ahead log is not");
    assert!(folder.path().join("stack.db-wal").exists(), "the log is not thrown away");
}

#[test]
fn damaged_pages_are_noticed() {
    let mut noticed = 0;
    for place in 1..40 {
        let folder = filled();
        let whole = Stack::open(folder.path(), StackOptions::default()).unwrap().state().unwrap();
        let path = folder.path().join("stack.db");
        let mut bytes = fs::read(&path).unwrap();
        let start = place * bytes.len() / 40 / 4096 * 4096;
        bytes[start..start + 200].fill(0xa5);
        fs::write(&path, &bytes).unwrap();
        match Stack::open(folder.path(), StackOptions::default()) {
            // Opening only reads the newest events. The other events and the indexes are only examined on
            // request.
            Ok(stack) => match stack.upkeep().health() {
                Ok(health) if health.is_sound() => assert_eq!(stack.state().unwrap(), whole),
                Ok(_) => noticed += 1,
                Err(error) => {
                    noticed += 1;
                    assert_eq!(error.code(), "damaged", "{error}");
                }
            },
            Err(error) => {
                noticed += 1;
                assert_eq!(error.code(), "damaged", "{error}");
                assert_eq!(fs::read(&path).unwrap(), bytes, "the file is as it was");
            }
        }
    }
    assert!(noticed > 35, "only {noticed} of 39 damages were noticed");
}

#[test]
fn a_damaged_database_with_a_log_is_not_written_to() {
    let folder = filled();
    let path = folder.path().join("stack.db");
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    stack.add_decision("ses_7", "only in the write-ahead log").unwrap();
    let log = fs::read(folder.path().join("stack.db-wal")).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    drop(stack);
    // Damages everything except the schema. If only a snapshot is damaged, the events are read instead.
    bytes.chunks_mut(4096).skip(1).for_each(|page| page[..200].fill(0xa5));
    fs::write(&path, &bytes).unwrap();
    fs::write(folder.path().join("stack.db-wal"), &log).unwrap();
    open_fails(folder.path(), "damaged", "malformed");
    assert_eq!(fs::read(folder.path().join("stack.db-wal")).unwrap(), log, "the log is as it was");
}

#[test]
fn names_with_a_meaning_to_sqlite_are_names_of_files() {
    let folder = tempdir().unwrap();
    // Windows does not allow the other two names.
    for name in if cfg!(windows) { &["memory"][..] } else { &["memory", ":memory:", "file:x?mode=memory"] } {
        drop(SqliteStore::open(folder.path().join(name), SqliteOptions::default()).unwrap());
        assert!(folder.path().join(name).is_file(), "{name}");
    }
}

#[test]
fn databases_of_others_and_of_newer_versions_are_left_alone() {
    let change = |folder: &Path, sql: &str| {
        let connection = rusqlite::Connection::open(folder.join("stack.db")).unwrap();
        connection.execute_batch(sql).unwrap();
    };
    let folder = filled();
    change(folder.path(), "PRAGMA user_version = 2");
    open_fails(folder.path(), "version", "stack.db has version 2, this library reads up to 1; update the library");
    change(folder.path(), "PRAGMA user_version = 0");
    open_fails(folder.path(), "damaged", "it is a database, but not one of this library");
    change(folder.path(), "PRAGMA user_version = 1");
    assert_eq!(Stack::open(folder.path(), StackOptions::default()).unwrap().state().unwrap().frames.len(), 300);

    // An open reads the events since the snapshot, or all of them if there is none.
    let without_snapshot = "DELETE FROM snapshots; DELETE FROM frames;";
    change(
        folder.path(),
        &format!("{without_snapshot} UPDATE events SET event = '{{\"revision\": 5}}' WHERE revision = 5"),
    );
    open_fails(folder.path(), "damaged", "event 5: missing field `time`");
    let folder = filled();
    change(folder.path(), &format!("{without_snapshot} DELETE FROM events WHERE revision = 9"));
    open_fails(folder.path(), "damaged", "event 10 does not fit the history before it: event 9 is next");

    let folder = tempdir().unwrap();
    change(folder.path(), "CREATE TABLE recipes (name TEXT)");
    open_fails(folder.path(), "damaged", "it is a database, but not one of this library");
}
