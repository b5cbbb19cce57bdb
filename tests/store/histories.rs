//! Tests of stacks on disk: all acknowledged commands are there after reopening, and every process that has
//! the folder open sees them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use callstack_core::{
    Change, Command, Durability, Error, EventQuery, FrameStatus, MemoryStore, NewFrame, PopStatus, Results, Settings,
    SqliteOptions, SqliteStore, Stack, StackOptions, Store, Tree, read_history,
};
use support::{Queries, Random, options_at, work};
use tempfile::tempdir;

/// The tree of a history.
fn replayed(stack: &Stack) -> Tree {
    let mut tree = Tree::new();
    for event in stack.history().events(&EventQuery::default()).unwrap() {
        tree.replay(&event).unwrap();
    }
    tree
}

/// The data by which two stacks are compared: the state, and a context of every frame, which also depends on
/// the order of starts and finishes.
fn everything(stack: &Stack) -> (callstack_core::StackState, Vec<String>) {
    let handles = stack.read(|tree| tree.handles().collect::<Vec<_>>()).unwrap();
    let contexts = handles.iter().map(|handle| stack.context(handle, &Settings::default()).unwrap().xml.clone());
    (stack.state().unwrap(), contexts.collect())
}

#[test]
fn a_stack_opened_again_is_the_same() {
    for durability in [Durability::Normal, Durability::Full] {
        let folder = tempdir().unwrap();
        let now = Arc::new(AtomicU64::new(1_000));
        let options = || options_at(&now).durability(durability);
        let stack = Stack::open(folder.path(), options()).unwrap();
        let mut random = Random::new(7);
        for _ in 0..400 {
            now.fetch_add(random.below(300) as u64, Ordering::Relaxed);
            work(&stack, &mut random, "ses");
        }
        let before = everything(&stack);
        assert!(before.0.frames.len() > 50, "only {} frames were made", before.0.frames.len());
        assert_eq!(replayed(&stack).state(), before.0);
        stack.close().unwrap();
        let stack = Stack::open(folder.path(), options()).unwrap();
        assert_eq!(everything(&stack), before);
        assert_eq!(stack.upkeep().repairs(), []);
    }
}

#[test]
fn a_folder_without_a_name_is_an_error() {
    let error = Stack::open("", StackOptions::default()).unwrap_err();
    assert_eq!(error.code(), "io", "{error}");
}

#[test]
fn stacks_go_from_thread_to_thread() {
    fn check<T: Clone + Send + Sync + 'static>() {}
    check::<Stack>();
}

#[test]
fn a_stack_that_was_not_closed_is_the_same_too() {
    let folder = tempdir().unwrap();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    stack.push(NewFrame::new("Build").id("ses_1")).unwrap();
    let before = stack.state().unwrap();
    std::mem::forget(stack);
    assert_eq!(Stack::open(folder.path(), StackOptions::default()).unwrap().state().unwrap(), before);
}

#[test]
fn a_resume_decides_by_what_others_have_written() {
    let folder = tempdir().unwrap();
    let open = || Stack::open(folder.path(), StackOptions::default()).unwrap();
    let (one, other) = (open(), open());
    let frame = one.push(NewFrame::new("Taxes")).unwrap();
    other.refresh().unwrap();
    one.block(frame, "Which rate?", None).unwrap();
    other.resume(frame).unwrap();
    assert_eq!(other.frame(frame).unwrap().status, FrameStatus::InProgress, "the other saw it in progress before");
    // Now the first one believes that it is blocked.
    one.resume(frame).unwrap();
    assert_eq!(one.frame(frame).unwrap().status, FrameStatus::InProgress);
    one.pop(frame, PopStatus::Completed, "19 %").unwrap();
    assert_eq!(other.resume(frame).unwrap_err().code(), "transition");
}

#[test]
fn commands_and_refreshes_see_what_others_did() {
    let folder = tempdir().unwrap();
    let open = || Stack::open(folder.path(), StackOptions::default()).unwrap();
    let (one, other) = (open(), open());
    let root = one.push(NewFrame::new("Root").id("ses_1")).unwrap();
    assert!(other.resolve("ses_1").is_err(), "readers see the tree as it was last read");
    assert!(other.refresh().unwrap());
    assert!(!other.refresh().unwrap(), "there is nothing new any more");
    assert_eq!(other.frame(root).unwrap().title, "Root");

    let first = one.push(NewFrame::new("First").id("ses_2").below(root)).unwrap();
    let second = other.push(NewFrame::new("Second").id("ses_3").below("ses_2")).unwrap();
    assert_eq!((first.number(), second.number()), (2, 3));
    assert_eq!(one.push(NewFrame::new("Again").id("ses_3")).unwrap_err().code(), "duplicate_id");
    one.pop(second, PopStatus::Completed, Results::new("done").compacted("done")).unwrap();
    let error = other.pop(second, PopStatus::Failed, "").unwrap_err();
    assert_eq!(error.code(), "transition", "decisions are made on what is really there");
    assert_eq!(other.ensure("ses_9", None, None).unwrap(), one.ensure("ses_9", None, None).unwrap());
    one.refresh().unwrap();
    assert_eq!(one.state().unwrap(), other.state().unwrap());
    assert_eq!(replayed(&one).state(), one.state().unwrap());
}

#[test]
fn stores_keep_their_promises() {
    fn check(store: &mut dyn Store, other: Option<&mut dyn Store>) {
        let events = |number: u64| {
            let mut tree = Tree::new();
            let mut all = Vec::new();
            for index in 0..number {
                let push = Command::Plan(NewFrame::new("Frame").id(format!("ses_{index}")));
                let events = callstack_core::decide(&tree, push, 5).unwrap().events;
                events.iter().for_each(|event| tree.apply(event));
                all.extend(events);
            }
            all
        };
        let read = |store: &mut dyn Store, query: EventQuery| {
            let mut revisions = Vec::new();
            store
                .read(&query, Duration::ZERO, &mut |event| {
                    revisions.push(event.revision);
                    Ok(())
                })
                .unwrap();
            revisions
        };
        let all = events(5);
        store.begin(Duration::ZERO).unwrap();
        store.append(&all[..3]).unwrap();
        store.commit().unwrap();
        store.begin(Duration::ZERO).unwrap();
        store.append(&all[3..]).unwrap();
        store.rollback();
        assert_eq!(read(store, EventQuery::default()), [1, 2, 3], "what was rolled back leaves no trace");
        store.begin(Duration::ZERO).unwrap();
        store.append(&all[3..4]).unwrap();
        store.begin(Duration::ZERO).unwrap();
        store.append(&all[3..]).unwrap();
        store.commit().unwrap();
        store.rollback();
        assert_eq!(read(store, EventQuery::default()), [1, 2, 3, 4, 5], "a commit stays");
        assert!(!store.has_news(Duration::ZERO).unwrap());
        assert_eq!(read(store, EventQuery::default().since(3)), [4, 5]);
        assert_eq!(read(store, EventQuery::default().since(1).limit(2)), [2, 3]);
        assert_eq!(read(store, EventQuery::default().frame("f2".parse().unwrap())), [2]);
        assert_eq!(read(store, EventQuery::default().kind("added").since(4)), [5]);
        assert_eq!(read(store, EventQuery::default().kind("statusChanged")), [0u64; 0]);
        assert_eq!(read(store, EventQuery::default().since(u64::MAX)), [0u64; 0]);
        let mut seen = 0;
        let stopped = store.read(&EventQuery::default(), Duration::ZERO, &mut |_| {
            seen += 1;
            Err(Error::InMemory { what: "test" })
        });
        assert_eq!((stopped.unwrap_err().code(), seen), ("in_memory", 1), "an error of the reader ends the reading");
        store.sync(Duration::ZERO).unwrap();
        if let Some(other) = other {
            assert!(other.has_news(Duration::ZERO).unwrap());
            assert_eq!(read(other, EventQuery::default()), [1, 2, 3, 4, 5]);
            assert!(!other.has_news(Duration::ZERO).unwrap());
        }
        store.begin(Duration::ZERO).unwrap();
        assert!(store.append(&all[4..]).is_err(), "a revision cannot be given twice");
        store.rollback();
    }
    check(&mut MemoryStore::new(), None);
    let folder = tempdir().unwrap();
    let open = || SqliteStore::open(folder.path().join("stack.db"), SqliteOptions::default()).unwrap();
    let (mut one, mut other) = (open(), open());
    check(&mut one, Some(&mut other));
}

#[test]
fn histories_are_listed_exported_and_rebuilt() {
    let folder = tempdir().unwrap();
    let stack = Stack::open(folder.path().join("a"), StackOptions::default()).unwrap();
    let mut random = Random::new(3);
    (0..200).for_each(|_| work(&stack, &mut random, "ses"));
    let all = stack.history().events(&EventQuery::default()).unwrap();
    let first = all[0].handle;
    let of_first = stack.history().events(&EventQuery::default().frame(first).since(1)).unwrap();
    let expected = all[1..].iter().filter(|event| event.handle == first).cloned();
    assert_eq!(of_first, expected.collect::<Vec<_>>());
    let pops = stack.history().events(&EventQuery::default().kind("statusChanged")).unwrap();
    assert!(!pops.is_empty() && pops.iter().all(|event| event.change.kind() == "statusChanged"));
    let error = stack.history().events(&EventQuery::default().kind("popped")).unwrap_err();
    assert!(error.to_string().starts_with("kind is `popped`, but must be added, imported,"), "{error}");
    assert!(Change::KINDS.iter().all(|kind| error.to_string().contains(kind)), "{error}");

    let mut text = Vec::new();
    assert_eq!(stack.history().export(&mut text).unwrap(), all.len() as u64);
    assert_eq!(read_history(text.as_slice()).collect::<Result<Vec<_>, _>>().unwrap(), all);
    let rebuilt = Stack::rebuild(folder.path().join("b"), text.as_slice(), StackOptions::default()).unwrap();
    assert_eq!(everything(&rebuilt), everything(&stack));
    assert_eq!(rebuilt.history().events(&EventQuery::default()).unwrap(), all);
    let in_memory = Stack::with_store(MemoryStore::with_events(all).unwrap(), StackOptions::default()).unwrap();
    assert_eq!(everything(&in_memory), everything(&stack));

    let again = Stack::rebuild(folder.path().join("a"), text.as_slice(), StackOptions::default());
    assert_eq!(again.unwrap_err().code(), "not_empty");
    assert_eq!(Stack::in_memory().history().events(&EventQuery::default()).unwrap_err().code(), "in_memory");
}

#[test]
fn broken_histories_are_refused_and_leave_nothing_behind() {
    let stack = Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap();
    let root = stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    stack.push(NewFrame::new("Child").id("ses_2").below(root)).unwrap();
    stack.add_decision(root, "one").unwrap();
    stack.replace_id("ses_2", "ses_3").unwrap();
    let mut text = Vec::new();
    stack.history().export(&mut text).unwrap();
    let lines: Vec<&str> = std::str::from_utf8(&text).unwrap().lines().collect();
    let second = lines[2];
    for (broken, code, message) in [
        (lines[1..].join("\n"), "history", "event 2 does not fit the history before it: event 1 is next"),
        ([lines[0], lines[0]].join("\n"), "history", "event 1 does not fit the history before it: event 2 is next"),
        (format!("{}\n{{\"revision\": 2", lines[0]), "json", "line 2: EOF while parsing"),
        ([lines[0], lines[1], &second.replace("\"f2\"", "\"f7\"")].join("\n"), "history", "it adds f7 to a tree of 1"),
        ([lines[0], lines[1], &second.replace("ses_2", "ses_1")].join("\n"), "history", "a second frame `ses_1`"),
        (
            [lines[0], lines[1], &second.replace("ID\":\"ses_1", "ID\":\"ses_8")].join("\n"),
            "history",
            "it names `ses_8`, which is not in the tree",
        ),
        (lines.join("\n").replace("ses_3", "ses_1"), "history", "it gives f2 the ID of f1, `ses_1`"),
        (lines.join("\n").replace("decisionAdded", "sworn"), "json", "has the kind `sworn`, which this version"),
        (lines.join("\n").replace("\"decision\":", "\"ruling\":"), "json", "of kind `decisionAdded` has no `decision`"),
    ] {
        let folder = tempdir().unwrap();
        let error = Stack::rebuild(folder.path(), broken.as_bytes(), StackOptions::default()).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().contains(message), "{error}\nshould say: {message}");
        let stack = Stack::rebuild(folder.path(), text.as_slice(), StackOptions::default()).unwrap();
        assert_eq!(
            stack.read(Tree::revision).unwrap(),
            lines.len() as u64,
            "after the refusal the folder was still empty"
        );
    }
}

#[test]
fn readers_never_wait_for_the_disk() {
    let folder = tempdir().unwrap();
    let stack = Stack::open(folder.path(), StackOptions::default().busy_timeout(60_000)).unwrap();
    let root = stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    let mut blocker = SqliteStore::open(folder.path().join("stack.db"), SqliteOptions::default()).unwrap();
    blocker.begin(Duration::ZERO).unwrap();
    let writer = {
        let stack = stack.clone();
        std::thread::spawn(move || stack.add_decision(root, "waits for the disk").unwrap())
    };
    for _ in 0..1_000 {
        assert_eq!(stack.frame(root).unwrap().decisions.len(), 0);
        stack.context_uncached(root, &Settings::default()).unwrap();
    }
    assert!(!writer.is_finished(), "the command waits for the other process");
    blocker.rollback();
    writer.join().unwrap();
    assert_eq!(stack.frame(root).unwrap().decisions, ["waits for the disk"]);
}

#[test]
fn a_database_that_stays_busy_is_an_error_and_nothing_has_happened() {
    let folder = tempdir().unwrap();
    let stack = Stack::open(folder.path(), StackOptions::default().busy_timeout(20)).unwrap();
    let mut blocker = SqliteStore::open(folder.path().join("stack.db"), SqliteOptions::default()).unwrap();
    blocker.begin(Duration::ZERO).unwrap();
    let error = stack.push(NewFrame::new("Root").id("ses_1")).unwrap_err();
    let Error::Busy { path, waited } = &error else { panic!("{error}") };
    assert!(path.ends_with("stack.db") && *waited >= 20, "{error}");
    assert_eq!(stack.state().unwrap().frames, []);
    blocker.rollback();
    assert_eq!(stack.push(NewFrame::new("Root").id("ses_1")).unwrap().number(), 1);
}

#[test]
fn first_opens_may_race() {
    const OPENERS: usize = 8;
    let old = support::read_data("stack-state/state-scenario-B.json");
    for round in 0..20 {
        let folder = tempdir().unwrap();
        let has_old_state = round % 2 == 0;
        if has_old_state {
            std::fs::write(folder.path().join("state.json"), &old).unwrap();
        }
        let start = std::sync::Barrier::new(OPENERS);
        std::thread::scope(|scope| {
            for number in 0..OPENERS {
                let (folder, start) = (folder.path(), &start);
                scope.spawn(move || {
                    start.wait();
                    let stack = Stack::open(folder, StackOptions::default()).unwrap();
                    stack.push(NewFrame::new("New").id(format!("new_{number}")).root()).unwrap();
                });
            }
        });
        let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
        let imported =
            stack.state().unwrap().frames.iter().filter(|frame| !frame.session_id.starts_with("new_")).count();
        assert_eq!(stack.state().unwrap().frames.len() - imported, OPENERS, "round {round}");
        let expected = if has_old_state { old.matches("\"sessionID\"").count() } else { 0 };
        assert_eq!(imported, expected, "round {round}: the old state is imported once");
        assert_eq!(replayed(&stack).state(), stack.state().unwrap());
    }
}

#[test]
fn many_threads_share_a_stack_and_many_stacks_a_folder() {
    const THREADS: usize = 4;
    const COMMANDS: usize = 50;
    let folder = tempdir().unwrap();
    let open = || Stack::open(folder.path(), StackOptions::default()).unwrap();
    let root = open().push(NewFrame::new("Root").id("ses_root")).unwrap();
    std::thread::scope(|scope| {
        for (number, stack) in [open(), open()].into_iter().enumerate() {
            for thread in 0..THREADS {
                let stack = stack.clone();
                let id = format!("{number}-{thread}");
                scope.spawn(move || {
                    for index in 0..COMMANDS {
                        stack.plan(NewFrame::new("Child").id(format!("{id}-{index}")).below(root)).unwrap();
                        stack.add_artifact(root, format!("{id}-{index}.rs")).unwrap();
                    }
                });
            }
        }
    });
    let stack = open();
    assert_eq!(stack.children(root).unwrap().len(), 2 * THREADS * COMMANDS);
    assert_eq!(stack.frame(root).unwrap().artifacts.len(), 2 * THREADS * COMMANDS);
    assert_eq!(stack.with_status(FrameStatus::Planned).unwrap().len(), 2 * THREADS * COMMANDS);
}
