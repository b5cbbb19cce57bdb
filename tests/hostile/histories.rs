//! No matter which numbers, links and statuses a state or a history contains: it is repaired or refused, and
//! nothing panics.

use callstack_core::frame::{Chunk, StateError};
use callstack_core::{
    Change, Command, Error, Event, Frame, FrameEdit, FrameStatus, Handle, MemoryStore, NewFrame, OutlineOptions,
    PopStatus, Settings, Stack, StackOptions, StackState, Tree, decide,
};
use serde_json::{Value, json};
use support::Queries;

fn handle(number: usize) -> Handle {
    Handle::from_index(number - 1).unwrap()
}

fn added(revision: u64, frame: Frame) -> Event {
    Event { revision, time: 1, handle: handle(revision as usize), change: Change::Added { frame: Box::new(frame) } }
}

fn frame(id: &str, parent: Option<&str>, status: FrameStatus) -> Frame {
    let parent_session_id = parent.map(str::to_owned);
    Frame { session_id: id.into(), title: id.into(), parent_session_id, status, ..Frame::default() }
}

/// A root and two children: f1, f2 completed, f3 in_progress.
fn three() -> Vec<Event> {
    vec![
        added(1, frame("root", None, FrameStatus::InProgress)),
        added(2, frame("one", Some("root"), FrameStatus::Completed)),
        added(3, frame("two", Some("root"), FrameStatus::InProgress)),
    ]
}

/// Calls every query of a stack, and a few commands.
fn use_it(stack: &Stack) {
    for handle in stack.read(|tree| tree.handles().collect::<Vec<_>>()).unwrap() {
        let _ = stack.context(handle, &Settings::default());
        stack.frame(handle).unwrap();
    }
    stack.outline(&OutlineOptions::default().details(true)).unwrap();
    stack.ready().unwrap();
    stack.state().unwrap().to_json();
    let new = stack.push(NewFrame::new("New").id("a new one").root()).unwrap();
    stack.pop(new, PopStatus::Completed, "Done").unwrap();
}

#[test]
fn a_state_with_the_largest_revision_can_be_used() {
    for revision in [u64::MAX, u64::MAX - 1, 1 << 60, StackState::LAST_REVISION, StackState::LAST_REVISION + 1] {
        let frames =
            vec![frame("root", None, FrameStatus::InProgress), frame("one", Some("root"), FrameStatus::Planned)];
        let roots = vec!["root".to_owned()];
        let state = StackState { frames, revision, root_frame_ids: roots, ..StackState::default() };
        let text = state.to_json();
        let (read, _) = StackState::from_json(&text).unwrap();
        let (stack, repairs) = Stack::from_state(read, StackOptions::default());
        let is_real = revision <= StackState::LAST_REVISION;
        assert_eq!(stack.read(Tree::revision).unwrap(), if is_real { revision } else { 2 });
        assert_eq!(repairs.iter().any(|repair| repair.message.contains("revision")), !is_real, "{repairs:?}");
        let before = stack.read(Tree::revision).unwrap();
        use_it(&stack);
        assert!(stack.read(Tree::revision).unwrap() > before, "revisions go on");
    }
}

#[test]
fn every_number_of_a_state_can_be_the_largest() {
    for number in [json!(u64::MAX), json!(1e300), json!(-1), json!(u64::MAX - 1)] {
        let chunk = json!({"name": "c", "content": "x", "allocatedAt": u64::MAX, "writtenAt": u64::MAX,
            "allocatedStep": u64::MAX, "writtenStep": u64::MAX});
        let frame = |id: &str, parent: Value, status: &str| {
            json!({"sessionID": id, "parentSessionID": parent, "status": status, "title": id, "successCriteria": "",
                "createdAt": number, "updatedAt": number, "invalidatedAt": number, "heap": [chunk]})
        };
        let state = json!({
            "version": 1, "revision": number, "updatedAt": number, "activeFrameID": "root", "rootFrameIDs": ["root"],
            "frames": {
                "root": frame("root", Value::Null, "in_progress"),
                "one": frame("one", json!("root"), "completed"),
                "two": frame("two", json!("root"), "in_progress"),
            },
        });
        let (state, _) = StackState::from_json(&state.to_string()).unwrap();
        let (stack, _) = Stack::from_state(state, StackOptions::default());
        use_it(&stack);
    }
    let newer = format!(r#"{{"version": {}, "frames": {{}}}}"#, u64::MAX);
    assert!(matches!(StackState::from_json(&newer), Err(StateError::Version { found: u64::MAX, .. })));
}

#[test]
fn a_duplicate_dependency_in_a_history_counts_once() {
    let mut events = three();
    events
        .push(added(4, Frame { depends_on: vec!["one".into(); 3], ..frame("me", Some("root"), FrameStatus::Planned) }));
    let change = Change::DependenciesAdded { depends_on: vec!["one".into(), "two".into(), "two".into()] };
    events.push(Event { revision: 5, time: 1, handle: handle(4), change });
    let stack = Stack::with_store(MemoryStore::with_events(events).unwrap(), StackOptions::default()).unwrap();
    stack
        .read(|tree| {
            assert_eq!(tree.node(handle(4)).dependencies(), [handle(2), handle(3)]);
            assert_eq!(tree.dependents(handle(2)), [handle(4)]);
        })
        .unwrap();
    let context = stack.context(handle(4), &Settings::default()).unwrap();
    assert_eq!(context.xml.matches("<title>one</title>").count(), 1);
    use_it(&stack);
}

/// Links to earlier attempts that no command makes are ignored. Nothing else depends on them. An older
/// version does not know these links, and a file of a newer version may have been written by an older version
/// in between.
#[test]
fn links_to_earlier_attempts_that_cannot_be_are_ignored_in_a_history() {
    let retry = |id: &str, parent: Option<&str>, of: &str| Frame {
        retry_of: Some(of.into()),
        ..frame(id, parent, FrameStatus::Failed)
    };
    let mut events = three();
    events.push(added(4, retry("nobody", Some("root"), "nothing")));
    events.push(added(5, retry("itself", Some("root"), "itself")));
    events.push(added(6, retry("of a completed one", Some("root"), "one")));
    events.push(added(7, retry("of an open one", Some("root"), "two")));
    events.push(added(8, retry("of its parent", Some("root"), "root")));
    events.push(added(9, retry("elsewhere", None, "nobody")));
    events.push(added(10, retry("second", Some("root"), "nobody")));
    events.push(added(11, retry("a second second", Some("root"), "nobody")));
    events.push(added(12, Frame { depends_on: vec!["nobody".into()], ..retry("third", Some("root"), "second") }));
    let stack = Stack::with_store(MemoryStore::with_events(events).unwrap(), StackOptions::default()).unwrap();
    stack
        .read(|tree| {
            let linked: Vec<Handle> = tree.handles().filter(|frame| tree.node(*frame).retry_of().is_some()).collect();
            assert_eq!(linked, [handle(10), handle(12)]);
            assert_eq!(tree.newest_attempt(handle(4)), handle(12));
            assert_eq!(tree.node(handle(12)).dependencies(), [], "no attempt waits for an attempt at the same work");
            let children = [2, 3, 4, 10, 12, 5, 6, 7, 8, 11].map(handle);
            assert_eq!(tree.children(handle(1)), children);
        })
        .unwrap();
    let mut tree = stack.read(Tree::clone).unwrap();
    use_it(&stack);

    // No matter what happens to the earlier attempt, it does not count any more.
    for status in [FrameStatus::Completed, FrameStatus::Planned, FrameStatus::Blocked, FrameStatus::Failed] {
        let change = Change::StatusChanged { status, results: None, results_compacted: None };
        tree.apply(&Event { revision: tree.revision() + 1, time: 1, handle: handle(4), change });
        tree.apply(&Event { revision: tree.revision() + 1, time: 1, handle: handle(4), change: Change::Delivered {} });
        let counted = tree.node(handle(1)).finished_children().any(|child| child == handle(4));
        assert!(!counted && tree.node(handle(1)).held_children() == 0, "{status}");
        let (again, _) = Stack::from_state(tree.state(), StackOptions::default());
        use_it(&again);
    }
    let imported = Event {
        revision: tree.revision() + 1,
        time: 1,
        handle: handle(1),
        change: Change::Imported { extra: Default::default() },
    };
    tree.apply(&imported);
    assert!(tree.node(handle(1)).finished_children().all(|child| tree.node(child).retried_as().is_none()));
}

#[test]
fn a_history_that_breaks_a_rule_of_the_commands_is_refused() {
    let status = |status| Change::StatusChanged { status, results: None, results_compacted: None };
    let depends = |id: &str| Change::DependenciesAdded { depends_on: vec![id.to_owned()] };
    let edited = |edit: FrameEdit| Change::Edited { edit: Box::new(edit), was: None };
    let edit = FrameEdit::default;
    for (number, change, message) in [
        (2, status(FrameStatus::Completed), "it makes f2 completed, which is completed"),
        (2, status(FrameStatus::InProgress), "it makes f2 in_progress, which is completed"),
        (3, status(FrameStatus::Planned), "it makes f3 planned, which is in_progress"),
        (3, status(FrameStatus::Invalidated), "it invalidates a frame without a reason"),
        (2, Change::ActiveChanged { active: true }, "it makes f2 the active frame, which is completed"),
        (3, depends("root"), "it makes f3 depend on f1, which is above or below it"),
        (1, depends("two"), "it makes f1 depend on f3, which is above or below it"),
        (3, depends("two"), "it makes f3 depend on f3, which is above or below it"),
        (3, depends("nobody"), "it names `nobody`, which is not in the tree"),
        (9, status(FrameStatus::Completed), "it names `f9`, which is not in the tree"),
        (3, edited(edit().title("Evil")), "it edits f3, which is in_progress"),
        (2, edited(edit().criteria("Evil")), "it edits f2, which is completed"),
        (3, edited(edit().depends_on(["f2"])), "it edits f3, which is in_progress"),
        (9, edited(edit().title("Evil")), "it names `f9`, which is not in the tree"),
        (4, edited(edit().below("f9")), "it names `f9`, which is not a handle of the tree"),
        (4, edited(edit().below("root")), "it names `root`, which is not a handle of the tree"),
        (4, edited(edit().depends_on(["two"])), "it names `two`, which is not a handle of the tree"),
        (1, edited(edit().below("f1")), "it moves f1 below f1, which is f1 or below it"),
        (1, edited(edit().below("f4")), "it moves f1 below f4, which is f1 or below it"),
        (4, edited(edit().before("f4")), "it moves f4 before f4, which is not beside it"),
        (4, edited(edit().below("f3").before("f2")), "it moves f4 before f2, which is not beside it"),
        (4, edited(edit().depends_on(["f4"])), "it makes f4 depend on f4, which is above or below it"),
        (4, edited(edit().below("f3").depends_on(["f1"])), "it makes f4 depend on f1, which is above or below it"),
        (4, edited(edit().below("f2")), "it makes f4 depend on f2, which is above or below it"),
        (2, edited(edit().below("f4")), "it makes f4 depend on f2, which is above or below it"),
    ] {
        let mut tree = Tree::new();
        three().iter().for_each(|event| tree.replay(event).unwrap());
        let later = frame("later", Some("root"), FrameStatus::Planned);
        tree.replay(&added(4, Frame { depends_on: vec!["one".into()], ..later })).unwrap();
        let before = tree.state();
        let event = Event { revision: 5, time: 1, handle: handle(number), change };
        match tree.replay(&event).unwrap_err() {
            Error::History { revision: 5, message: found } => assert_eq!(found, message),
            other => panic!("{other}"),
        }
        assert_eq!(tree.state(), before, "a refused event changes nothing");
    }
    let mut tree = Tree::new();
    three().iter().for_each(|event| tree.replay(event).unwrap());
    let above = Frame { depends_on: vec!["root".into()], ..frame("below", Some("two"), FrameStatus::Planned) };
    let error = tree.replay(&added(4, above)).unwrap_err().to_string();
    assert!(error.contains("it makes f4 depend on `root`, which is above it"), "{error}");
}

/// Applying events checks nothing, but it keeps its own promises, no matter which events it is given.
#[test]
fn events_that_no_command_makes_do_not_break_a_tree() {
    let mut tree = Tree::new();
    three().iter().for_each(|event| tree.apply(event));
    let status = |status| Change::StatusChanged { status, results: None, results_compacted: None };
    let chunk = Chunk { name: "c".into(), allocated_step: u64::MAX, written_step: u64::MAX, ..Chunk::default() };
    let invalidated = || Change::Invalidated { reason: "no".into() };
    let edited = |edit: FrameEdit| Change::Edited { edit: Box::new(edit), was: None };
    let edit = FrameEdit::default;
    let changes = [
        (2, status(FrameStatus::Completed)),
        (2, status(FrameStatus::Planned)),
        (2, status(FrameStatus::Failed)),
        (2, invalidated()),
        (2, invalidated()),
        (2, status(FrameStatus::Completed)),
        (3, Change::ActiveChanged { active: true }),
        (3, status(FrameStatus::Completed)),
        (1, Change::Imported { extra: Default::default() }),
        (7, Change::Imported { extra: Default::default() }),
        (1, Change::ChunkAllocated { chunk: Box::new(chunk.clone()) }),
        (1, Change::ChunkAllocated { chunk: Box::new(chunk) }),
        (1, Change::ChunkWritten { name: "c".into(), content: "x".into(), step: u64::MAX }),
        (1, Change::ChunkFreed { name: "c".into() }),
        (3, Change::DependenciesAdded { depends_on: vec!["root".into(), "two".into(), "one".into()] }),
        (3, edited(edit().below("f3"))),
        (1, edited(edit().below("f3"))),
        (3, edited(edit().below("f9").before("f8"))),
        (3, edited(edit().below("f1").before("f3"))),
        (2, edited(edit().below("f1").before("one").title("Other").depends_on(["f1", "two", "f7", "f3"]))),
        (3, edited(edit().below("f2"))),
        (2, edited(edit().below("f3"))),
        (3, edited(edit().below("f1").last())),
        (2, edited(edit().below("f1").before("f3").depends_on(["f2", "f2"]))),
    ];
    for (number, change) in changes {
        tree.apply(&Event { revision: u64::MAX, time: u64::MAX, handle: handle(number), change });
        assert!(tree.active().is_none_or(|active| tree.node(active).status().is_open()));
        let finished: Vec<Handle> = tree.node(handle(1)).finished_children().collect();
        let is_finished = |frame: &Handle| tree.node(*frame).status().is_finished();
        let below = tree.children(handle(1)).iter().copied();
        assert!(finished.iter().all(is_finished) && finished.len() == below.filter(is_finished).count());
        let unfinished = |frame: &Handle| tree.node(*frame).status().is_unfinished();
        assert!(tree.unfinished_below(handle(1)).eq(tree.descendants(handle(1)).filter(unfinished)));
        let commit = decide(&tree, Command::Push(NewFrame::new("New").id("new").root()), 1).unwrap();
        assert_eq!(commit.events[0].revision, u64::MAX);
        tree.state().to_json();
    }
    let next = Event { revision: 0, time: 1, handle: handle(1), change: invalidated() };
    assert_eq!(tree.replay(&next).unwrap_err().code(), "history");
}

#[test]
fn a_history_cannot_take_over_what_is_fixed() {
    let mut tree = Tree::default();
    three().iter().for_each(|event| tree.replay(event).unwrap());
    let refuse = |change: Change, number: usize, reason: &str| {
        let event = Event { revision: 4, time: 1, handle: handle(number), change };
        let error = tree.clone().replay(&event).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    };
    let identity = callstack_core::Identity { title: "Evil".into(), ..Default::default() };
    refuse(Change::Identified { identity, provisional: true }, 1, "which has one for good");
    let results = || "Evil".to_owned();
    refuse(Change::Summarized { results: results(), results_compacted: results() }, 2, "which is completed");
}
