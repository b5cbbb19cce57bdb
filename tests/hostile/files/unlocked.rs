//! Processes that lose the locks of SQLite. When a process closes any descriptor of a file, the system drops
//! all POSIX locks of the process on this file. That happens, for example, when the host copies the folder.
//!
//! The workers are this program, started again with a role in its environment. `STACK_TEST_COPIERS` and
//! `STACK_TEST_COPIER_COMMANDS` set the amount of work; `make soak` uses larger values.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command as Process, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use callstack_core::{Change, Event, EventQuery, NewFrame, SqliteOptions, SqliteStore, Stack, StackOptions, Store};
use rusqlite::Connection;
use support::{Queries, setting};
use tempfile::tempdir;

use super::{ids, open, push};

fn start(role: &str, name: &str, folder: &Path) -> Child {
    Process::new(std::env::current_exe().unwrap())
        .args(["--exact", "hostile::files::unlocked::a_worker", "--nocapture"])
        .env("STACK_TEST_ROLE", role)
        .env("STACK_TEST_NAME", name)
        .env("STACK_TEST_FOLDER", folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// One write per line, so a kill can only cut the output between lines or within the last one.
fn say(line: &str) {
    std::io::stdout().write_all(format!("said {line}\n").as_bytes()).unwrap();
}

/// The lines that a worker prints.
fn said(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    lines.filter_map(|line| line.strip_prefix("said ").map(str::to_owned))
}

/// Reads every file of the folder, which drops the POSIX locks of this process on them.
fn read_all(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        // A file of the mirror may be replaced in the meantime.
        let _ = fs::read(entry.unwrap().path());
    }
}

/// Opens and closes the database in the way another program does. SQLite deletes the write-ahead log when it
/// believes that it closes the last connection.
fn visit(folder: &Path) {
    let visitor = Connection::open(folder.join("stack.db")).unwrap();
    // This only fails if the database is locked at this moment.
    let _ = visitor.query_row("SELECT count(*) FROM events", [], |_| Ok(()));
}

/// The work of a worker. Without a role, as in an ordinary test run, it does nothing.
#[test]
fn a_worker() {
    let (Ok(role), Ok(name)) = (std::env::var("STACK_TEST_ROLE"), std::env::var("STACK_TEST_NAME")) else { return };
    let folder = std::path::PathBuf::from(std::env::var_os("STACK_TEST_FOLDER").unwrap());
    if role == "checkpoint" {
        let other_program = Connection::open(folder.join("stack.db")).unwrap();
        // This fails if the database is in use at this moment.
        let _ = other_program.query_row(&format!("PRAGMA wal_checkpoint({name})"), [], |_| Ok(()));
        return;
    }
    let stack = Stack::open(&folder, StackOptions::default().busy_timeout(120_000)).unwrap();
    let acknowledge = |number: usize| {
        let id = format!("{name}_{number}");
        push(&stack, &id);
        say(&id);
    };
    match role.as_str() {
        // Writes while another thread of the process copies the folder.
        "copied" => {
            let is_over = AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        read_all(&folder);
                    }
                });
                (0..setting("STACK_TEST_COPIER_COMMANDS", 40)).for_each(acknowledge);
                is_over.store(true, Ordering::Relaxed);
            });
        }
        // Writes before and after the locks are dropped, then waits to be killed.
        "unlocked" => {
            (0..3).for_each(&acknowledge);
            read_all(&folder);
            say("unlocked");
            std::io::stdin().read_line(&mut String::new()).unwrap();
            (3..6).for_each(&acknowledge);
            say("waits");
            std::io::stdin().read_line(&mut String::new()).unwrap();
        }
        other => panic!("no role is called {other}"),
    }
}

/// Checks that the acknowledged frames are there, once, and nothing else, and that the history has no gap.
fn check(folder: &Path, acknowledged: &[String]) {
    let stack = open(folder);
    let found = ids(&stack);
    let [expected, there] = [acknowledged, &found].map(|ids| ids.iter().collect::<BTreeSet<_>>());
    assert_eq!(there, expected, "what is there, and what was acknowledged");
    assert_eq!(found.len(), acknowledged.len(), "no frame is there twice");
    let revisions: Vec<u64> =
        stack.history().events(&EventQuery::default()).unwrap().into_iter().map(|event| event.revision).collect();
    assert!(revisions.iter().copied().eq(1..=revisions.len() as u64), "the history has no gap");
    drop(stack);
    let database = Connection::open(folder.join("stack.db")).unwrap();
    let sound: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
}

#[test]
fn processes_that_copy_the_folder_while_they_write_lose_nothing() {
    let folder = tempdir().unwrap();
    drop(open(folder.path()));
    let mut workers: Vec<Child> = (0..setting("STACK_TEST_COPIERS", 16))
        .map(|number| start("copied", &format!("w{number}"), folder.path()))
        .collect();
    let mut acknowledged = Vec::new();
    while workers.iter_mut().any(|worker| worker.try_wait().unwrap().is_none()) {
        // Other stacks open and close the folder.
        drop(Stack::open(folder.path(), StackOptions::default().busy_timeout(120_000)).unwrap());
        visit(folder.path());
    }
    for worker in &mut workers {
        acknowledged.extend(said(worker));
        assert!(worker.wait().unwrap().success(), "a worker failed");
    }
    check(folder.path(), &acknowledged);
}

#[test]
fn a_user_that_closes_takes_nothing_from_one_whose_locks_fell() {
    for visit in [|folder: &Path| drop(open(folder)), visit] {
        let folder = tempdir().unwrap();
        let mut worker = start("unlocked", "w", folder.path());
        let mut lines = said(&mut worker);
        let mut acknowledged: Vec<String> = lines.by_ref().take_while(|line| line != "unlocked").collect();
        visit(folder.path());
        worker.stdin.as_mut().unwrap().write_all(b"go on\n").unwrap();
        acknowledged.extend(lines.by_ref().take_while(|line| line != "waits"));
        visit(folder.path());
        worker.kill().unwrap();
        worker.wait().unwrap();
        assert_eq!(acknowledged.len(), 6);
        check(folder.path(), &acknowledged);
    }
}

#[test]
fn two_stacks_in_one_process_and_its_copies_lose_nothing() {
    let folder = tempdir().unwrap();
    let first = open(folder.path());
    push(&first, "ses_1");
    let second = open(folder.path());
    push(&second, "ses_2");
    drop(first);
    read_all(folder.path());
    let mut worker = start("unlocked", "w", folder.path());
    let mut lines = said(&mut worker);
    let mut acknowledged: Vec<String> = lines.by_ref().take_while(|line| line != "unlocked").collect();
    push(&second, "ses_3");
    visit(folder.path());
    second.push(NewFrame::new("Work").id("ses_4").root()).unwrap();
    worker.kill().unwrap();
    worker.wait().unwrap();
    drop(second);
    acknowledged.extend(["ses_1", "ses_2", "ses_3", "ses_4"].map(str::to_owned));
    check(folder.path(), &acknowledged);
}

/// The modes of SQLite's checkpoints.
const CHECKPOINTS: [&str; 4] = ["PASSIVE", "FULL", "RESTART", "TRUNCATE"];

/// Lets another program move the write-ahead log into the database.
fn checkpoint(mode: &str, folder: &Path) {
    assert!(start("checkpoint", mode, folder).wait().unwrap().success());
}

#[test]
fn a_checkpoint_of_another_program_takes_nothing_acknowledged_from_a_transaction_whose_locks_fell() {
    for mode in CHECKPOINTS {
        let folder = tempdir().unwrap();
        let stack = open(folder.path());
        (0..30).for_each(|number| push(&stack, &format!("ses_{number}")));
        let newest = stack.history().events(&EventQuery::default()).unwrap().pop().unwrap();
        drop(stack);
        let mut store = SqliteStore::open(folder.path().join("stack.db"), SqliteOptions::default()).unwrap();
        let patience = Duration::from_secs(10);
        let mut acknowledged = Vec::new();
        for number in 1..=3 {
            if store.begin(patience).is_err() {
                break;
            }
            let decision = format!("decision {number}");
            let change = Change::DecisionAdded { decision: decision.clone() };
            store.append(&[Event { revision: newest.revision + number, change, ..newest.clone() }]).unwrap();
            read_all(folder.path());
            checkpoint(mode, folder.path());
            match store.commit() {
                Ok(()) => acknowledged.push(decision),
                // The other program has emptied the log during the transaction. SQLite or this library
                // notices it.
                Err(error) => {
                    assert!(mode == "TRUNCATE" && ["io", "replaced"].contains(&error.code()), "{mode}: {error}")
                }
            }
            store.rollback();
        }
        drop(store);
        let stack = open(folder.path());
        let decisions = &stack.frame(newest.handle).unwrap().decisions;
        assert_eq!(*decisions, acknowledged, "{mode}");
        assert!(mode == "TRUNCATE" || acknowledged.len() == 3, "{mode}");
        drop(stack);
        check(folder.path(), &(0..30).map(|number| format!("ses_{number}")).collect::<Vec<_>>());
    }
}

#[test]
fn a_slow_export_beside_checkpoints_of_another_program_is_whole() {
    /// Calls a function at the hundredth line.
    struct Slow<'a>(Vec<u8>, &'a dyn Fn());
    impl Write for Slow<'_> {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let lines = |text: &[u8]| text.iter().filter(|byte| **byte == b'\n').count();
            let before = lines(&self.0);
            self.0.extend_from_slice(bytes);
            if before < 100 && lines(&self.0) == 100 {
                (self.1)();
            }
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    for mode in CHECKPOINTS {
        let folder = tempdir().unwrap();
        let stack = open(folder.path());
        (0..200).for_each(|number| push(&stack, &format!("ses_{number}")));
        let count = stack.state().unwrap().revision;
        let disturb = || {
            for round in 0..3 {
                read_all(folder.path());
                checkpoint(mode, folder.path());
                (0..100).for_each(|number| push(&stack, &format!("ses_{round}_{number}")));
            }
        };
        let mut slow = Slow(Vec::new(), &disturb);
        stack.history().export(&mut slow).unwrap_or_else(|error| panic!("{mode}: {error}"));
        let revisions: Vec<u64> =
            callstack_core::read_history(slow.0.as_slice()).map(|event| event.unwrap().revision).collect();
        assert!(revisions.into_iter().eq(1..=count), "{mode}: the export has each event once, in order");
    }
}

#[test]
fn the_log_does_not_grow_without_limit_while_others_come_and_go() {
    let folder = tempdir().unwrap();
    // The files beside the database would take most of the time.
    let open = || Stack::open(folder.path(), StackOptions::default().mirror(false)).unwrap();
    let stack = open();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    drop(open());
                }
            });
        }
        let long = "x".repeat(20_000);
        (0..1_500).for_each(|number| {
            stack.push(NewFrame::new("Work").id(format!("ses_{number}")).criteria(&long).root()).unwrap();
        });
        is_over.store(true, Ordering::Relaxed);
    });
    let size = fs::metadata(folder.path().join("stack.db-wal")).unwrap().len();
    assert!(size < 30 << 20, "the log has {} MB after 30 MB of commits", size >> 20);
}
