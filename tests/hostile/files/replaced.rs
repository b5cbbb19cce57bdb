//! The folder or its database is replaced while a stack has it open.

use std::fs;
use std::path::Path;

use callstack_core::{NewFrame, Stack};
use rusqlite::Connection;
use support::Queries;
use support::folder::contents;
use tempfile::{TempDir, tempdir};

use super::{ids, open, push};

/// A stack with a root and some work, in the folder `stack` of a temporary folder, and a copy of the stack
/// from before the work.
fn with_older_copy() -> (TempDir, Stack) {
    let place = tempdir().unwrap();
    let stack = open(&place.path().join("stack"));
    push(&stack, "ses_old");
    stack.close().unwrap();
    copy(&place.path().join("stack"), &place.path().join("older"));
    let stack = open(&place.path().join("stack"));
    (0..20).for_each(|number| push(&stack, &format!("ses_{number}")));
    stack.files().flush().unwrap();
    (place, stack)
}

/// Copies files into a folder, and overwrites the files that exist there.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &target) } else { fs::copy(&path, target).map(drop).unwrap() }
    }
}

/// Each way to replace the folder, with its name. The paths are the folder that contains all folders, and the
/// folder of the stack.
type Replace = fn(&Path, &Path);
const WAYS: &[(&str, Replace)] = &[
    ("deleted and begun again by another process", |_, folder| {
        fs::remove_dir_all(folder).unwrap();
        let other = open(folder);
        push(&other, "ses_other");
    }),
    ("deleted", |_, folder| fs::remove_dir_all(folder).unwrap()),
    ("renamed away", |place, folder| fs::rename(folder, place.join("away")).unwrap()),
    ("renamed away, and begun again", |place, folder| {
        fs::rename(folder, place.join("away")).unwrap();
        push(&open(folder), "ses_other");
    }),
    ("an older folder renamed to its place", |place, folder| {
        fs::rename(folder, place.join("away")).unwrap();
        fs::rename(place.join("older"), folder).unwrap();
    }),
    ("the database checked out in an older state, as git does", |place, folder| {
        fs::remove_file(folder.join("stack.db")).unwrap();
        fs::copy(place.join("older/stack.db"), folder.join("stack.db")).unwrap();
    }),
    ("every file checked out in an older state", |place, folder| {
        for name in ["stack.db", "stack.db-wal", "stack.db-shm"] {
            fs::remove_file(folder.join(name)).unwrap();
        }
        fs::copy(place.join("older/stack.db"), folder.join("stack.db")).unwrap();
    }),
    ("the database overwritten by an older one", |place, folder| {
        // The write-ahead log is in the database, so nothing else shows the newer state.
        let user = Connection::open(folder.join("stack.db")).unwrap();
        user.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        drop(user);
        fs::copy(place.join("older/stack.db"), folder.join("stack.db")).unwrap();
    }),
    ("an older state restored by SQLite", |place, folder| {
        let mut user = Connection::open(folder.join("stack.db")).unwrap();
        user.restore(rusqlite::MAIN_DB, place.join("older/stack.db"), None::<fn(rusqlite::backup::Progress)>).unwrap();
    }),
    ("an older state restored by SQLite, and another history after it", |place, folder| {
        let mut user = Connection::open(folder.join("stack.db")).unwrap();
        user.restore(rusqlite::MAIN_DB, place.join("older/stack.db"), None::<fn(rusqlite::backup::Progress)>).unwrap();
        drop(user);
        let other = open(folder);
        (0..30).for_each(|number| push(&other, &format!("ses_other{number}")));
    }),
    ("the database restored from a copy, and the rest removed", |place, folder| {
        fs::copy(place.join("older/stack.db"), folder.join("stack.db")).unwrap();
        fs::remove_file(folder.join("stack.db-wal")).unwrap();
        fs::remove_file(folder.join("stack.db-shm")).unwrap();
    }),
    ("the database overwritten beside its log", |place, folder| {
        fs::copy(place.join("older/stack.db"), folder.join("stack.db")).unwrap();
    }),
    ("the write-ahead log overwritten by an older one", |_, folder| {
        let log = fs::read(folder.join("stack.db-wal")).unwrap();
        fs::write(folder.join("stack.db-wal"), &log[..log.len() / 2]).unwrap();
    }),
    ("the write-ahead log emptied", |_, folder| fs::write(folder.join("stack.db-wal"), "").unwrap()),
    ("the write-ahead log removed", |_, folder| fs::remove_file(folder.join("stack.db-wal")).unwrap()),
    ("the lock removed", |_, folder| fs::remove_file(folder.join("stack.db-write")).unwrap()),
];

/// The ways that replace some files of the database and do not replace others.
const PARTLY: &[&str] = &[
    "the database restored from a copy, and the rest removed",
    "the database overwritten beside its log",
    "the write-ahead log overwritten by an older one",
    "the write-ahead log emptied",
    "the write-ahead log removed",
];

#[test]
#[cfg_attr(windows, ignore = "Windows lets no program rename or remove what SQLite has open")]
fn a_replaced_folder_is_noticed_by_the_next_command_and_not_written_to() {
    for (way, replace) in WAYS {
        let (place, stack) = with_older_copy();
        let folder = place.path().join("stack");
        let before = stack.state().unwrap();
        replace(place.path(), &folder);
        let found = folder.exists().then(|| contents(&folder));
        for attempt in 0..2 {
            let error = stack.push(NewFrame::new("Into nowhere").root()).unwrap_err();
            assert_eq!(error.code(), "replaced", "{way}, attempt {attempt}: {error}");
            assert!(error.to_string().contains("stack.db was replaced while it was open: "), "{way}: {error}");
            assert!(
                error.to_string().ends_with("close the stack in all processes, then open it again"),
                "{way}: {error}"
            );
            assert_eq!(stack.refresh().unwrap_err().code(), "replaced", "{way}");
            assert_eq!(stack.files().flush().unwrap_err().code(), "replaced", "{way}");
            assert_eq!(stack.state().unwrap(), before, "{way}: the tree in memory is as before");
        }
        drop(stack);
        let mut now = folder.exists().then(|| contents(&folder));
        if *way == "the write-ahead log removed" {
            // The content of the removed log is saved in the database, which is the stack's own database.
            let all =
                [now.as_mut(), found.clone().as_mut()].map(|files| files.unwrap().remove(&folder.join("stack.db")));
            assert_ne!(all[0], all[1]);
            let stack = open(&folder);
            assert_eq!(stack.state().unwrap(), before, "{way}: nothing is lost");
            continue;
        }
        assert_eq!(now, found, "{way}: nothing is written by the stack that was open");
    }
}

#[test]
#[cfg_attr(windows, ignore = "Windows lets no program rename or remove what SQLite has open")]
fn a_stack_opened_again_after_the_folder_was_replaced_works() {
    for (way, replace) in WAYS {
        let (place, stack) = with_older_copy();
        let folder = place.path().join("stack");
        replace(place.path(), &folder);
        assert!(stack.push(NewFrame::new("Into nowhere").root()).is_err(), "{way}");
        if PARTLY.contains(way) {
            // Do what the error says: close the stack everywhere first. Parts of two databases only work
            // together by chance.
            drop(stack);
            push(&open(&folder), "ses_new");
            assert_eq!(ids(&open(&folder)).last().unwrap(), "ses_new", "{way}");
            continue;
        }
        let again = open(&folder);
        push(&again, "ses_new");
        let expected = ids(&again);
        assert_eq!(stack.push(NewFrame::new("Into nowhere").root()).unwrap_err().code(), "replaced", "{way}");
        // Closing the old stack must not remove anything from the new stack.
        drop(stack);
        push(&again, "ses_newer");
        drop(again);
        let ids = ids(&open(&folder));
        assert_eq!(ids[..ids.len() - 1], expected, "{way}");
        assert_eq!(ids.last().unwrap(), "ses_newer", "{way}");
    }
}

#[test]
fn a_folder_that_comes_back_is_used_again() {
    let (place, stack) = with_older_copy();
    let (folder, away) = (place.path().join("stack"), place.path().join("away"));
    fs::rename(&folder, &away).unwrap();
    assert_eq!(stack.push(NewFrame::new("Into nowhere").root()).unwrap_err().code(), "replaced");
    fs::rename(&away, &folder).unwrap();
    push(&stack, "ses_back");
    drop(stack);
    assert_eq!(ids(&open(&folder)).last().unwrap(), "ses_back");
}

#[test]
fn a_checkpoint_by_another_program_is_no_replacement() {
    let (place, stack) = with_older_copy();
    let folder = place.path().join("stack");
    let user = Connection::open(folder.join("stack.db")).unwrap();
    user.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).unwrap();
    drop(user);
    push(&stack, "ses_after");
    let other = open(&folder);
    push(&other, "ses_other");
    other.close().unwrap();
    push(&stack, "ses_last");
    assert_eq!(ids(&open(&folder))[21..], ["ses_after", "ses_other", "ses_last"]);
}

#[test]
fn a_folder_swapped_again_and_again_loses_no_acknowledged_command() {
    use std::sync::atomic::{AtomicBool, Ordering};

    let place = tempdir().unwrap();
    let (folder, away) = (place.path().join("stack"), place.path().join("away"));
    let stack = open(&folder);
    push(&stack, "ses_first");
    let is_over = AtomicBool::new(false);
    let acknowledged: Vec<String> = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                // A rename may happen while the mirror makes its folder again.
                let _ = fs::rename(&folder, &away);
                std::thread::yield_now();
                let _ = fs::rename(&away, &folder);
                std::thread::yield_now();
            }
        });
        let count = std::env::var("STACK_TEST_SWAPS").map_or(2_000, |count| count.parse().unwrap());
        let pushed = (0..count).filter_map(|number| {
            let id = format!("ses_{number}");
            stack.push(NewFrame::new("Work").id(id.clone()).root()).is_ok().then_some(id)
        });
        let pushed = pushed.collect();
        is_over.store(true, Ordering::Relaxed);
        pushed
    });
    drop(stack);
    if !folder.exists() {
        fs::rename(&away, &folder).unwrap();
    }
    let there = ids(&open(&folder));
    for id in acknowledged {
        assert!(there.contains(&id), "{id} was acknowledged and is lost");
    }
}
