//! Tests of failures at every step on the way to the disk: the error describes the failure, the tree and the disk are
//! unchanged, and the next command works.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use callstack_core::frame::ToolCall;
use callstack_core::memory::{NewRun, Next, Reply};
use callstack_core::{
    Change, Error, Event, EventQuery, LogQuery, NewFrame, PopStatus, Result, SqliteOptions, SqliteStore, Stack,
    StackOptions, StackState, Store, Tree, tools,
};
use serde_json::json;
use tempfile::tempdir;

/// A store that fails one of its calls, either before or after the call has done its work.
struct Faulty {
    store: SqliteStore,
    plan: Arc<Plan>,
}

struct Plan {
    /// Number of successful calls before the one that fails. `NEVER`: no call fails.
    calls_left: AtomicUsize,
    after: bool,
}

const NEVER: usize = usize::MAX;

impl Plan {
    fn new(after: bool) -> Arc<Self> {
        Arc::new(Self { calls_left: AtomicUsize::new(NEVER), after })
    }

    fn fail_at(&self, call: usize) {
        self.calls_left.store(call, Ordering::Relaxed);
    }

    fn has_struck(&self) -> bool {
        self.calls_left.load(Ordering::Relaxed) == NEVER
    }
}

impl Faulty {
    fn open(folder: &Path, plan: &Arc<Plan>) -> Self {
        fs::create_dir_all(folder).unwrap();
        let store = SqliteStore::open(folder.join("stack.db"), SqliteOptions::default()).unwrap();
        Self { store, plan: plan.clone() }
    }

    fn run<T>(&mut self, action: &'static str, call: impl FnOnce(&mut SqliteStore) -> Result<T>) -> Result<T> {
        let left = self.plan.calls_left.load(Ordering::Relaxed);
        if left != NEVER {
            self.plan.calls_left.store(left.checked_sub(1).unwrap_or(NEVER), Ordering::Relaxed);
        }
        let struck = || Err(Error::io(action, "the faulty store", "struck"));
        match (left, self.plan.after) {
            (0, false) => struck(),
            (0, true) => call(&mut self.store).and_then(|_| struck()),
            _ => call(&mut self.store),
        }
    }
}

impl Store for Faulty {
    fn begin(&mut self, patience: Duration) -> Result<()> {
        self.run("begin", |store| store.begin(patience))
    }
    fn read(
        &mut self,
        query: &EventQuery,
        patience: Duration,
        each: &mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<()> {
        self.run("read", |store| store.read(query, patience, each))
    }
    fn append(&mut self, events: &[Event]) -> Result<()> {
        self.run("append", |store| store.append(events))
    }
    fn commit(&mut self) -> Result<()> {
        self.run("commit", Store::commit)
    }
    fn rollback(&mut self) {
        self.store.rollback();
    }
    fn has_news(&mut self, patience: Duration) -> Result<bool> {
        self.run("has_news", |store| store.has_news(patience))
    }
    fn sync(&mut self, patience: Duration) -> Result<()> {
        self.run("sync", |store| store.sync(patience))
    }
}

/// A sequence of commands that changes everything: the tree, the mirror, logs and IDs.
const STORY: &[fn(&Stack) -> Result<()>] = &[
    |stack| stack.push(NewFrame::new("Root").id("ses_1")).map(drop),
    |stack| stack.plan(NewFrame::new("Planned").id("plan-2").below("ses_1")).map(drop),
    |stack| stack.log("plan-2").append(&[json!({"line": 1})]),
    |stack| stack.activate("plan-2"),
    |stack| stack.replace_id("plan-2", "ses_2"),
    |stack| stack.log("ses_2").append(&[json!({"line": 2})]),
    |stack| stack.add_artifact("ses_2", "src/lib.rs").map(drop),
    |stack| stack.pop("ses_2", PopStatus::Completed, "done").map(drop),
    |stack| stack.flush(),
];

/// True for the steps that append to a log. If such a step fails, its lines are not in the log.
fn is_append(step: usize) -> bool {
    [2, 5].contains(&step)
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

fn log(folder: &Path) -> String {
    let files = ["plan-2", "ses_2"].map(|name| folder.join(format!("logs/{name}.jsonl")));
    files.iter().find_map(|path| fs::read_to_string(path).ok()).unwrap_or_default()
}

/// Checks that the tree equals the replay of the history, and that `state.json` equals the tree.
pub(super) fn assert_sound(folder: &Path, context: &str) -> StackState {
    let stack = Stack::open(folder, StackOptions::default()).unwrap();
    let mut tree = Tree::new();
    history(folder).iter().try_for_each(|event| tree.replay(event)).unwrap();
    assert_eq!(tree.state(), stack.state(), "{context}: the tree is the replay of its events");
    let text = fs::read_to_string(folder.join("state.json")).unwrap();
    assert_eq!(StackState::from_json(&text).unwrap().0, stack.state(), "{context}: the mirror shows the tree");
    stack.state()
}

/// A stack whose store fails according to a plan, and the plan.
fn faulty_stack(folder: &Path, after: bool) -> (Stack, Arc<Plan>) {
    let plan = Plan::new(after);
    let stack = Stack::open_with_store(folder, Faulty::open(folder, &plan), StackOptions::default()).unwrap();
    (stack, plan)
}

#[test]
fn a_store_that_fails_at_any_call_changes_nothing() {
    let mut strikes = Vec::new();
    for after in [false, true] {
        for call in 0.. {
            let folder = tempdir().unwrap();
            let folder = folder.path();
            let (stack, plan) = faulty_stack(folder, after);
            plan.fail_at(call);
            for (number, step) in STORY.iter().enumerate() {
                let before = (stack.state(), log(folder), history(folder));
                let Err(error) = step(&stack) else { continue };
                let context = format!("step {number}, call {call}, after: {after}: {error}");
                assert!(plan.has_struck() && error.to_string().ends_with("the faulty store: struck"), "{context}");
                assert_eq!(stack.state(), before.0, "{context}: the tree is as before");
                assert_eq!(log(folder), before.1, "{context}: the log is as before");
                let Error::Io { action, .. } = error else { panic!("{context}") };
                if after && action == "commit" {
                    // The commit was kept, but the call has failed. The next refresh shows it.
                    assert!(history(folder).len() > before.2.len(), "{context}");
                    assert!(stack.refresh().unwrap(), "{context}");
                    if is_append(number) {
                        step(&stack).unwrap();
                    }
                } else {
                    assert_eq!(history(folder), before.2, "{context}: the store is as before");
                    step(&stack).unwrap_or_else(|error| panic!("{context}: the next command failed: {error}"));
                }
                strikes.push(action);
            }
            let page = stack.log("ses_2").read(&LogQuery::default()).unwrap();
            let lines: Vec<_> = page.lines.into_iter().map(|line| line.entry["line"].clone()).collect();
            assert_eq!((lines, page.damaged), (vec![json!(1), json!(2)], vec![]), "call {call}, after: {after}");
            drop(stack);
            let state = assert_sound(folder, &format!("call {call}, after: {after}"));
            assert_eq!(state.frames.len(), 2);
            assert_eq!(state.frames[1].artifacts, ["src/lib.rs"]);
            assert_eq!(state.frames[1].log_path.as_deref(), Some("logs/ses_2.jsonl"));
            if !plan.has_struck() {
                break;
            }
        }
    }
    for action in ["begin", "read", "append", "commit", "sync"] {
        let count = strikes.iter().filter(|struck| **struck == action).count();
        assert!(count >= 2, "{action} failed {count} times: {strikes:?}");
    }
}

/// The replies of the model of a run, step by step.
fn said(step: u64) -> Reply {
    let call = |id: &str, name: &str, arguments: serde_json::Value| ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.to_string(),
    };
    let calls = match step {
        1 => vec![
            call("a", "heap_alloc", json!({"name": "spec", "content": "x"})),
            call("b", "push_frame", json!({"name": "child", "objective": "Do it"})),
        ],
        2 => vec![call("c", "look", json!({}))],
        3 => vec![call("d", "pop_frame", json!({"result": "done"}))],
        _ => vec![call("e", "pop_frame", json!({"result": "all done"}))],
    };
    Reply::new(format!("step {step}"), calls)
}

/// Executes the next step of a run. Returns true if the run is over.
fn advance(stack: &Stack) -> Result<bool> {
    match tools::advance_run(stack, "run_1")? {
        Next::Ask(prompt) => stack.run("run_1").reply(said(prompt.step))?,
        Next::Call(call) => stack.run("run_1").answer(&call.id, "looked", false)?,
        Next::Over { results, .. } => {
            assert_eq!(results, "all done");
            return Ok(true);
        }
        other => panic!("the run needs {other:?}"),
    }
    Ok(false)
}

#[test]
fn a_run_whose_store_fails_at_any_call_goes_on_and_its_logs_lack_nothing() {
    let mut strikes = 0;
    for after in [false, true] {
        for call in 0.. {
            let folder = tempdir().unwrap();
            let folder = folder.path();
            let (stack, plan) = faulty_stack(folder, after);
            let new = NewRun::new("Do it all").id("run_1");
            stack.start_run(new).unwrap();
            plan.fail_at(call);
            let mut failures = 0;
            loop {
                match advance(&stack) {
                    Ok(true) => break,
                    Ok(false) => {}
                    Err(error) => {
                        assert!(error.to_string().ends_with("the faulty store: struck"), "{error}");
                        failures += 1;
                        stack.refresh().unwrap();
                    }
                }
            }
            strikes += failures;
            let context = format!("call {call}, after: {after}");
            let frames = assert_sound(folder, &context).frames;
            assert_eq!(frames.len(), 2, "{context}: nothing is pushed twice");
            assert_eq!((frames[0].heap.len(), frames[1].results.as_deref()), (1, Some("done")), "{context}");
            for event in history(folder) {
                let Change::MessagesAdded { messages } = event.change else { continue };
                let page = stack.log(event.handle).read(&LogQuery::default()).unwrap();
                for message in messages {
                    let kept = page.lines.iter().any(|line| line.entry["text"] == message.text());
                    assert!(kept, "{context}: the log of {} lacks {message:?}", event.handle);
                }
            }
            if !plan.has_struck() {
                break;
            }
            assert!(failures <= 1, "{context}: {failures} failures");
        }
    }
    assert!(strikes > 40, "only {strikes} failures");
}

#[test]
fn an_import_that_fails_at_any_call_is_done_by_the_next_open() {
    let text = support::read_data("stack-state/state-scenario-B.json");
    let expected = Stack::from_state(StackState::from_json(&text).unwrap().0, StackOptions::default()).0.state();
    let mut failures = 0;
    for after in [false, true] {
        for call in 0.. {
            let folder = tempdir().unwrap();
            let folder = folder.path();
            fs::write(folder.join("state.json"), &text).unwrap();
            let plan = Plan::new(after);
            plan.fail_at(call);
            let opened = Stack::open_with_store(folder, Faulty::open(folder, &plan), StackOptions::default());
            if let Err(error) = opened {
                failures += 1;
                assert!(error.to_string().ends_with("struck"), "{error}");
                assert_eq!(fs::read_to_string(folder.join("state.json")).unwrap(), text, "the original is as it was");
            }
            let stack = Stack::open(folder, StackOptions::default()).unwrap();
            assert_eq!(stack.state().frames, expected.frames, "call {call}, after: {after}");
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
        // The stack has a history; otherwise the open would import the file that blocks the mirror.
        let store = SqliteStore::open(folder.join("stack.db"), SqliteOptions::default()).unwrap();
        Stack::with_store(store, StackOptions::default()).unwrap().push(NewFrame::new("Root").id("ses_1")).unwrap();
        let place = folder.join(place);
        if what == "the folder" {
            fs::write(&place, "a file").unwrap();
        } else {
            fs::create_dir_all(place.join("x")).unwrap();
        }
        let stack = Stack::open(folder, StackOptions::default()).unwrap_or_else(|error| panic!("{what}: {error}"));
        for index in 2..6 {
            stack.push(NewFrame::new("Frame").id(format!("ses_{index}"))).unwrap();
        }
        let status = stack.mirror_status().unwrap();
        let error = status.error.unwrap_or_else(|| panic!("{what} in the way was not reported"));
        assert!(error.to_string().contains("cannot write"), "{what}: {error}");
        assert_eq!(stack.flush().unwrap_err().code(), "io", "{what}: flush says it too");
        if place.is_dir() { fs::remove_dir_all(&place) } else { fs::remove_file(&place) }.unwrap();
        stack.flush().unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(stack.mirror_status().unwrap().error, None, "{what}");
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
    let store = Faulty::open(folder.path(), &plan);
    let stack = Stack::open_with_store(folder.path(), store, StackOptions::default()).unwrap();
    stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    plan.fail_at(4);
    stack.push(NewFrame::new("Child").id("ses_2")).unwrap();
    assert!(plan.has_struck());
    assert_eq!(stack.mirror_status().unwrap().error.unwrap().code(), "io");
    stack.flush().unwrap();
    assert!(folder.path().join("frames/ses_2.json").is_file());
}

#[test]
fn a_process_that_stops_while_it_mirrors_does_not_stop_the_others() {
    let folder = tempdir().unwrap();
    let clock = Arc::new(std::sync::atomic::AtomicU64::new(1_000));
    let stack = Stack::open(folder.path(), support::options_at(&clock)).unwrap();
    stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    let lock = fs::File::open(folder.path().join(".mirror.lock")).unwrap();
    lock.lock().unwrap();
    for number in 0..200 {
        // Only the first command waits for the lock, because the clock does not advance.
        stack.add_decision("ses_1", number.to_string()).unwrap();
    }
    let status = stack.mirror_status().unwrap();
    assert_eq!((status.error.unwrap().code(), status.stale_frames), ("busy", 1));
    assert_eq!(stack.deadline(), Some(1_250));
    drop(lock);
    clock.store(1_250, Ordering::Relaxed);
    stack.poll();
    assert_eq!(stack.mirror_status().unwrap().error, None);
    drop(stack);
    assert_eq!(assert_sound(folder.path(), "after a stop").frames[0].decisions.len(), 200);
}

#[test]
fn a_flush_waits_for_others_as_long_as_it_may() {
    let folder = tempdir().unwrap();
    let open = |busy_timeout| Stack::open(folder.path(), StackOptions::default().busy_timeout(busy_timeout));
    let (patient, hasty) = (open(60_000).unwrap(), open(20).unwrap());
    patient.push(NewFrame::new("Root").id("ses_1")).unwrap();
    let lock = fs::File::open(folder.path().join(".mirror.lock")).unwrap();
    lock.lock().unwrap();
    patient.add_decision("ses_1", "Wait").unwrap();
    hasty.refresh().unwrap();
    let Err(error) = hasty.flush() else { panic!("somebody else holds the files") };
    let Error::Busy { path, waited } = &error else { panic!("{error}") };
    assert!(path.ends_with(".mirror.lock") && *waited >= 20, "{error}");
    // Longer than the maximum wait of a command.
    let holder = thread::spawn(move || {
        thread::sleep(Duration::from_millis(400));
        drop(lock);
    });
    patient.flush().unwrap();
    holder.join().unwrap();
    assert_eq!(patient.mirror_status().unwrap().error, None);
    hasty.close().unwrap();
}
