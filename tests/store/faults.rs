//! Tests of failures at every step on the way to the disk: the error describes the failure, the tree and the
//! disk are unchanged, and the next command works.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use callstack_core::{
    Error, Event, EventQuery, Mirroring, NewFrame, SqliteOptions, SqliteStore, Stack, StackOptions, StackState, Store,
    Tree,
};
use support::Queries;
use support::faults::{self, Faulty, Place, Plan};
use tempfile::{TempDir, tempdir};

/// The options of a stack whose commands write files too, so that a fault strikes there.
fn options() -> StackOptions {
    StackOptions::default().mirror(Mirroring::WithCommands)
}

fn history(folder: &Path) -> Vec<Event> {
    let mut events = Vec::new();
    let mut store = SqliteStore::open(folder.join("stack.db"), SqliteOptions::default()).unwrap();
    store
        .read(&EventQuery::default(), Duration::ZERO, &mut |event| {
            events.push(event);
            Ok(())
        })
        .unwrap();
    events
}

/// Checks that the tree equals the replay of the history, and that `state.json` equals the tree.
pub(super) fn assert_sound(folder: &Path, context: &str) -> StackState {
    let stack = Stack::open(folder, options()).unwrap();
    let mut tree = Tree::new();
    history(folder).iter().try_for_each(|event| tree.replay(event)).unwrap();
    assert_eq!(tree.state(), stack.state().unwrap(), "{context}: the tree is the replay of its events");
    let text = fs::read_to_string(folder.join("state.json")).unwrap();
    assert_eq!(StackState::from_json(&text).unwrap().0, stack.state().unwrap(), "{context}: the mirror shows the tree");
    stack.state().unwrap()
}

struct FolderPlace(TempDir);

impl Place for FolderPlace {
    fn store(&self) -> Box<dyn Store> {
        Box::new(SqliteStore::open(self.0.path().join("stack.db"), SqliteOptions::default()).unwrap())
    }

    fn stack(&self, store: Faulty) -> Stack {
        Stack::open_with_store(self.0.path(), store, options()).unwrap()
    }

    fn commits_logs(&self) -> bool {
        false
    }

    fn log(&self) -> String {
        let files = ["plan-2", "ses_2"].map(|name| self.0.path().join(format!("logs/{name}.jsonl")));
        files.iter().find_map(|path| fs::read_to_string(path).ok()).unwrap_or_default()
    }

    fn check(&self, context: &str) {
        assert_sound(self.0.path(), context);
    }
}

fn place() -> Box<dyn Place> {
    Box::new(FolderPlace(tempdir().unwrap()))
}

fn faulty(folder: &Path, plan: &Arc<Plan>) -> Faulty {
    fs::create_dir_all(folder).unwrap();
    faults::faulty(Box::new(SqliteStore::open(folder.join("stack.db"), SqliteOptions::default()).unwrap()), plan)
}

#[test]
fn a_store_that_fails_at_any_call_changes_nothing() {
    faults::a_store_that_fails_at_any_call_changes_nothing(&place);
}

#[test]
fn a_run_whose_store_fails_at_any_call_goes_on_and_its_logs_lack_nothing() {
    faults::a_run_whose_store_fails_at_any_call_goes_on(&place);
}

#[test]
fn an_event_is_kept_whole_or_not_at_all() {
    faults::an_event_is_kept_whole_or_not_at_all(&place);
}

#[test]
fn an_import_that_fails_at_any_call_is_done_by_the_next_open() {
    let text = support::read_data("stack-state/state-scenario-B.json");
    let expected = Stack::from_state(StackState::from_json(&text).unwrap().0, options()).0.state().unwrap();
    let mut failures = 0;
    for after in [false, true] {
        for call in 0.. {
            let folder = tempdir().unwrap();
            let folder = folder.path();
            fs::write(folder.join("state.json"), &text).unwrap();
            let plan = Plan::new(after);
            plan.fail_at(call);
            let opened = Stack::open_with_store(folder, faulty(folder, &plan), options());
            if let Err(error) = opened {
                failures += 1;
                assert!(error.to_string().ends_with("struck"), "{error}");
                assert_eq!(fs::read_to_string(folder.join("state.json")).unwrap(), text, "the original is as it was");
            }
            let stack = Stack::open(folder, options()).unwrap();
            assert_eq!(stack.state().unwrap().frames, expected.frames, "call {call}, after: {after}");
            assert_eq!(stack.active().is_some(), expected.active_frame_id.is_some());
            drop(stack);
            assert_sound(folder, &format!("call {call}, after: {after}"));
            assert_eq!(fs::read_to_string(folder.join("before-import/state.json")).unwrap(), text);
            if !plan.has_struck() {
                break;
            }
        }
    }
    assert!(failures >= 8, "only {failures} imports failed");
}

#[test]
fn a_mirror_that_fails_at_any_step_never_fails_a_command() {
    for (what, place) in [
        ("the folder", "frames"),
        ("the temporary file", "frames/.next.tmp"),
        ("the frame's file", "frames/ses_2.json"),
        ("the state's temporary file", ".next.tmp"),
        ("the state's file", "state.json"),
    ] {
        let folder = tempdir().unwrap();
        let folder = folder.path();
        // The stack has a history. Without a history, opening the stack would import the file that
        // blocks the mirror.
        let store = SqliteStore::open(folder.join("stack.db"), SqliteOptions::default()).unwrap();
        Stack::with_store(store, options()).unwrap().push(NewFrame::new("Root").id("ses_1")).unwrap();
        let place = folder.join(place);
        if what == "the folder" {
            fs::write(&place, "a file").unwrap();
        } else {
            fs::create_dir_all(place.join("x")).unwrap();
        }
        let stack = Stack::open(folder, options()).unwrap_or_else(|error| panic!("{what}: {error}"));
        for index in 2..6 {
            stack.push(NewFrame::new("Frame").id(format!("ses_{index}"))).unwrap();
        }
        let status = stack.files().status().unwrap();
        let error = status.error.unwrap_or_else(|| panic!("{what} in the way was not reported"));
        assert!(error.to_string().contains("cannot write"), "{what}: {error}");
        assert_eq!(stack.files().flush().unwrap_err().code(), "io", "{what}: flush says it too");
        if place.is_dir() { fs::remove_dir_all(&place) } else { fs::remove_file(&place) }.unwrap();
        stack.files().flush().unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(stack.files().status().unwrap().error, None, "{what}");
        drop(stack);
        assert_eq!(assert_sound(folder, what).frames.len(), 5);
        for index in 1..6 {
            assert!(folder.join(format!("frames/ses_{index}.json")).is_file(), "{what}: ses_{index}");
        }
    }
}

#[test]
fn a_mirror_that_cannot_ask_the_store_is_reported_and_caught_up() {
    let folder = tempdir().unwrap();
    let plan = Plan::new(false);
    let store = faulty(folder.path(), &plan);
    let stack = Stack::open_with_store(folder.path(), store, options()).unwrap();
    stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    // begin, snapshot_revision, read, append and commit succeed.
    plan.fail_at(5);
    stack.push(NewFrame::new("Child").id("ses_2")).unwrap();
    assert!(plan.has_struck());
    assert_eq!(stack.files().status().unwrap().error.unwrap().code(), "io");
    stack.files().flush().unwrap();
    assert!(folder.path().join("frames/ses_2.json").is_file());
}

#[test]
fn a_process_that_stops_while_it_mirrors_does_not_stop_the_others() {
    let folder = tempdir().unwrap();
    let clock = Arc::new(std::sync::atomic::AtomicU64::new(1_000));
    let stack = Stack::open(folder.path(), support::options_at(&clock).mirror(Mirroring::WithCommands)).unwrap();
    stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    let lock = fs::File::open(folder.path().join(".mirror.lock")).unwrap();
    lock.lock().unwrap();
    for number in 0..200 {
        // Only the first command waits for the lock, because the clock does not advance.
        stack.add_decision("ses_1", number.to_string()).unwrap();
    }
    let status = stack.files().status().unwrap();
    assert_eq!((status.error.unwrap().code(), status.stale_frames), ("busy", 1));
    assert_eq!(stack.upkeep().deadline(), Some(1_250));
    drop(lock);
    clock.store(1_250, Ordering::Relaxed);
    stack.upkeep().poll();
    assert_eq!(stack.files().status().unwrap().error, None);
    drop(stack);
    assert_eq!(assert_sound(folder.path(), "after a stop").frames[0].decisions.len(), 200);
}

#[test]
fn a_flush_waits_for_others_as_long_as_it_may() {
    let folder = tempdir().unwrap();
    let open = |busy_timeout| Stack::open(folder.path(), options().busy_timeout(busy_timeout));
    let (patient, hasty) = (open(60_000).unwrap(), open(20).unwrap());
    patient.push(NewFrame::new("Root").id("ses_1")).unwrap();
    let lock = fs::File::open(folder.path().join(".mirror.lock")).unwrap();
    lock.lock().unwrap();
    patient.add_decision("ses_1", "Wait").unwrap();
    hasty.refresh().unwrap();
    let Err(error) = hasty.files().flush() else { panic!("another process holds the files") };
    let Error::Busy { path, waited } = &error else { panic!("{error}") };
    assert!(path.ends_with(".mirror.lock") && *waited >= 20, "{error}");
    // Longer than the maximum wait of a command.
    let holder = thread::spawn(move || {
        thread::sleep(Duration::from_millis(400));
        drop(lock);
    });
    patient.files().flush().unwrap();
    holder.join().unwrap();
    assert_eq!(patient.files().status().unwrap().error, None);
    hasty.close().unwrap();
}
