//! Tests of the documented files: existing files are imported once, and the mirror keeps them up to date
//! afterwards, here with each command. `later` has the other ways.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use callstack_core::frame::file_name;
use callstack_core::{
    Command, EventQuery, Frame, FrameEdit, FrameRef, FrameStatus, Handle, MemoryStore, Mirroring, NewFrame, PopStatus,
    Stack, StackOptions, StackState, Tree,
};
use support::{Queries, Random, read_data, read_frame_file, work};
use tempfile::{TempDir, tempdir};

/// The options of a stack whose commands write the files of their frames.
fn options() -> StackOptions {
    StackOptions::default().mirror(Mirroring::WithCommands)
}

fn options_at(now: &Arc<AtomicU64>) -> StackOptions {
    support::options_at(now).mirror(Mirroring::WithCommands)
}

fn open(folder: &Path) -> Stack {
    Stack::open(folder, options()).unwrap()
}

/// A folder with this `state.json` and these files below `frames/`.
fn folder_with(state: Option<&[u8]>, frames: &[(&str, &str)]) -> TempDir {
    let folder = tempdir().unwrap();
    if let Some(state) = state {
        fs::write(folder.path().join("state.json"), state).unwrap();
    }
    if !frames.is_empty() {
        fs::create_dir(folder.path().join("frames")).unwrap();
    }
    for (name, text) in frames {
        fs::write(folder.path().join("frames").join(name), text).unwrap();
    }
    folder
}

fn messages(stack: &Stack) -> Vec<String> {
    stack.upkeep().repairs().iter().map(ToString::to_string).collect()
}

/// Checks that the mirror of a folder equals the tree, and that there are no other files.
fn assert_mirrored(folder: &Path, stack: &Stack) {
    let text = fs::read_to_string(folder.join("state.json")).unwrap();
    let (state, repairs) = StackState::from_json(&text).unwrap();
    assert_eq!(repairs, [], "the mirror is consistent");
    assert_eq!(state, stack.state().unwrap(), "state.json shows the tree");
    let mut expected: Vec<String> = stack
        .read(|tree| {
            tree.handles().map(|handle| format!("{}.json", file_name(tree.node(handle).session_id(), handle))).collect()
        })
        .unwrap();
    let mut found: Vec<String> = fs::read_dir(folder.join("frames"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    expected.sort();
    found.sort();
    assert_eq!(found, expected, "each frame has its file, and there are no others");
    for frame in state.frames {
        let handle = stack.resolve(&frame.session_id).unwrap();
        let path = folder.join("frames").join(format!("{}.json", file_name(&frame.session_id, handle)));
        let (found, revision) = read_frame_file(&path);
        assert_eq!(found, frame, "{handle} is mirrored");
        assert!(revision.is_some_and(|revision| revision <= state.revision), "{handle}: {revision:?}");
    }
}

#[test]
fn states_of_the_original_are_imported_once() {
    for name in ["after-full-run", "scenario-A", "scenario-B", "scenario-C", "scenario-D", "scenario-E"] {
        let text = read_data(&format!("stack-state/state-{name}.json"));
        let folder = folder_with(Some(text.as_bytes()), &[]);
        let stack = open(folder.path());
        let (state, unreadable) = StackState::from_json(&text).unwrap();
        let ids: Vec<_> = state.frames.iter().map(|frame| frame.session_id.clone()).collect();
        let (expected, inconsistent) = Stack::from_state(state, options());
        assert_eq!(stack.upkeep().repairs(), [unreadable, inconsistent].concat(), "{name}");
        for id in ids {
            assert_eq!(stack.frame(id.as_str()).unwrap(), expected.frame(id.as_str()).unwrap(), "{name}");
        }
        assert_eq!(stack.active(), expected.active(), "{name}");
        let kept = fs::read_to_string(folder.path().join("before-import/state.json")).unwrap();
        assert_eq!(kept, text, "{name}: the original is kept");
        assert_mirrored(folder.path(), &stack);

        stack.push(NewFrame::new("More").id("ses_more").root()).unwrap();
        let before = stack.state().unwrap();
        drop(stack);
        let again = open(folder.path());
        assert_eq!(again.state().unwrap(), before, "{name}: it is not imported a second time");
        assert_eq!(again.upkeep().repairs(), []);
        assert!(!folder.path().join("before-import-2").exists());
    }
}

#[test]
fn an_import_replays_to_the_same_tree() {
    let mut random = Random::new(11);
    for round in 0..40 {
        let mut state = support::state(&mut random, 1 + round * 3);
        state.extra.insert("hostVersion".into(), "1.2".into());
        state.active_frame_id =
            state.frames.iter().find(|frame| frame.status.is_open()).map(|frame| frame.session_id.clone());
        let (expected, _) = Stack::from_state(state.clone(), options());
        let folder = folder_with(Some(state.to_json().as_bytes()), &[]);
        let stack = open(folder.path());
        let finished = |tree: &Tree| {
            tree.handles().map(|handle| tree.node(handle).finished_children().collect::<Vec<_>>()).collect()
        };
        let orders: [Vec<Vec<Handle>>; 2] = [stack.read(finished).unwrap(), expected.read(finished).unwrap()];
        assert_eq!(orders[0], orders[1], "the order of finishes is the same");
        for (found, expected) in stack.state().unwrap().frames.iter().zip(&expected.state().unwrap().frames) {
            assert_eq!(found, expected, "round {round}");
        }
        assert_eq!(stack.state().unwrap().frames.len(), expected.state().unwrap().frames.len());
        assert_eq!(stack.state().unwrap().extra, expected.state().unwrap().extra, "unknown keys are kept");
        assert_eq!(stack.active(), expected.active());
        let history = stack.history().events(&EventQuery::default()).unwrap();
        let again = Stack::with_store(MemoryStore::with_events(history).unwrap(), options()).unwrap();
        assert_eq!(again.state().unwrap(), stack.state().unwrap());
        assert_eq!(again.read(finished).unwrap(), orders[0]);
    }
}

const WHOLE: &str = r#"{"version":1,"frames":{
"ses_1":{"sessionID":"ses_1","status":"in_progress","title":"Root","successCriteria":"","createdAt":10,"updatedAt":20},
"ses_2":{"sessionID":"ses_2","parentSessionID":"ses_1","status":"completed","title":"Second","successCriteria":"","createdAt":11,"updatedAt":30},
"ses_3":{"sessionID":"ses_3","parentSessionID":"ses_1","status":"planned","title":"Third","successCriteria":"","createdAt":12,"updatedAt":12}
},"activeFrameID":"ses_1","rootFrameIDs":["ses_1"],"updatedAt":30}"#;

#[test]
fn every_beginning_of_a_state_keeps_every_whole_frame() {
    for length in 0..WHOLE.len() {
        let folder = folder_with(Some(&WHOLE.as_bytes()[..length]), &[]);
        let whole_frames = (1..=3).filter(|number| {
            let entry = WHOLE.lines().nth(*number).unwrap();
            let end = WHOLE.find(entry).unwrap() + entry.trim_end_matches(',').len();
            length >= end
        });
        let expected: Vec<String> = whole_frames.map(|number| format!("ses_{number}")).collect();
        match Stack::open(folder.path(), options()) {
            Ok(stack) => {
                let found: Vec<String> =
                    stack.state().unwrap().frames.into_iter().map(|frame| frame.session_id).collect();
                assert_eq!(found, expected, "cut after {length} bytes");
                assert!(
                    messages(&stack)[0].starts_with("the state is damaged (EOF while parsing"),
                    "{:?}",
                    messages(&stack)
                );
                let kept = fs::read(folder.path().join("before-import/state.json")).unwrap();
                assert_eq!(kept, &WHOLE.as_bytes()[..length], "the original is kept");
            }
            Err(error) => {
                assert_eq!(expected, [""; 0], "cut after {length} bytes: {error}");
                assert_eq!(error.code(), "damaged", "{error}");
                let left = fs::read(folder.path().join("state.json")).unwrap();
                assert_eq!(left, &WHOLE.as_bytes()[..length], "the file is as it was");
            }
        }
    }
}

#[test]
fn unreadable_states_are_errors_and_stay_as_they_are() {
    for (text, code, message) in [
        (&b""[..], "damaged", "state.json is damaged and was not changed: EOF while parsing"),
        (b"\0\0\0\0", "damaged", "expected value"),
        (b"no json", "damaged", "move it away to start without it"),
        (b"[1, 2]", "damaged", "expected an object with `frames`"),
        (b"{\"version\": 1}", "damaged", "it has no `frames`"),
        (b"{\"version\": 1, \"frames\": 7}", "damaged", "expected an object of frames by ID"),
        (b"\xff\xfe\xfd", "damaged", "expected value"),
        (
            b"{\"version\": 2, \"frames\": {\"ses_1\": {}}}",
            "version",
            "state.json has version 2, this library reads up to 1; update the library",
        ),
    ] {
        let folder = folder_with(Some(text), &[]);
        for attempt in 0..2 {
            let error = Stack::open(folder.path(), options()).unwrap_err();
            assert_eq!(error.code(), code, "{error}");
            assert!(error.to_string().contains(message), "{error}\nshould say: {message}");
            assert_eq!(fs::read(folder.path().join("state.json")).unwrap(), text, "attempt {attempt}");
        }
        fs::remove_file(folder.path().join("state.json")).unwrap();
        assert_eq!(open(folder.path()).state().unwrap().frames, [], "without the file it is a new stack");
    }
    let folder = tempdir().unwrap();
    fs::create_dir(folder.path().join("state.json")).unwrap();
    let error = Stack::open(folder.path(), options()).unwrap_err();
    assert_eq!(error.code(), "io", "{error}");
    assert!(error.to_string().contains("state.json: it is a folder; move it away"), "{error}");
}

#[test]
fn deeply_nested_keys_do_not_make_a_stack_unreadable() {
    let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    for levels in [1, 99, 100, 101, 124, 126] {
        let frame = format!(r#"{{"sessionID":"ses_1","status":"planned","title":"One","hostKey":{}}}"#, nested(levels));
        let folder = folder_with(None, &[("ses_1.json", &frame)]);
        let stack = open(folder.path());
        stack.push(NewFrame::new("Two").id("ses_2").root()).unwrap();
        drop(stack);
        let stack = open(folder.path());
        assert_eq!(stack.state().unwrap().frames.len(), 2, "{levels} levels");
        let kept = serde_json::to_string(&stack.frame("ses_1").unwrap().extra["hostKey"]).unwrap();
        let expected =
            if levels > 100 { "\"nested more than 100 levels deep; left out\"".into() } else { nested(levels) };
        assert_eq!(kept, expected);
        assert_mirrored(folder.path(), &stack);
    }
}

#[test]
fn states_without_frames_hold_nothing_to_import() {
    let folder = folder_with(Some(br#"{"version":1,"frames":{},"rootFrameIDs":[],"updatedAt":1}"#), &[]);
    assert_eq!(open(folder.path()).state().unwrap().frames, []);
    assert!(!folder.path().join("before-import").exists());
}

#[test]
fn frames_are_taken_from_where_they_can_be_read() {
    let frame = |id: &str, title: &str, updated_at: u64| {
        format!(
            r#"{{"sessionID":"{id}","parentSessionID":"ses_1","status":"completed","title":"{title}","successCriteria":"","createdAt":15,"updatedAt":{updated_at}}}"#
        )
    };
    let left_over = r#"{"sessionID":"plan-2","status":"planned","title":"Second","successCriteria":"","createdAt":11,"updatedAt":11}"#;
    let twin = left_over.replace("plan-2", "plan-3").replace("Second", "Third").replace("11", "12");
    let files = [
        ("ses_1.json", frame("ses_1", "Older", 1)),
        ("ses_2.json", frame("ses_2", "Newer", 99)),
        ("ses_4.json", frame("ses_4", "Lost by the state", 40)),
        ("ses_5.json", "{\"sessionID\": \"ses_5\", \"status\"".to_owned()),
        ("plan-2.json", left_over.to_owned()),
        ("plan-3.json", twin),
        ("notes.txt", "not of ours".to_owned()),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let folder = folder_with(Some(WHOLE.as_bytes()), &files);
    fs::create_dir(folder.path().join("frames/ses_6.json")).unwrap();
    let stack = open(folder.path());
    let titles: Vec<String> = stack.state().unwrap().frames.into_iter().map(|frame| frame.title).collect();
    assert_eq!(titles, ["Root", "Third", "Third", "Newer", "Lost by the state"], "in the order of createdAt");
    let said = messages(&stack);
    for message in [
        "frame ses_2: frames/ses_2.json is newer than state.json; the file is used",
        "frame ses_4: it is in frames/ses_4.json, but not in state.json; kept",
        "frames/ses_5.json cannot be read: EOF",
        "frames/ses_6.json cannot be read: cannot read",
        "frame plan-2: frames/plan-2.json is an old copy of a frame that has another ID now; left out",
        "frame plan-3: it is in frames/plan-3.json, but not in state.json; kept",
    ] {
        assert!(said.iter().any(|said| said.starts_with(message)), "{said:#?}\nlack: {message}");
    }
    for (name, text) in &files[..6] {
        let kept = fs::read_to_string(folder.path().join("before-import/frames").join(name)).unwrap();
        assert_eq!(kept, *text, "{name} is kept");
    }
    assert_eq!(fs::read_to_string(folder.path().join("frames/notes.txt")).unwrap(), "not of ours");

    let folder = folder_with(Some(b"garbage"), &files[1..3]);
    let stack = open(folder.path());
    assert_eq!(stack.state().unwrap().frames.len(), 2);
    assert!(messages(&stack)[0].starts_with("state.json cannot be read: expected value"), "{:?}", messages(&stack));
    assert_eq!(fs::read(folder.path().join("before-import/state.json")).unwrap(), b"garbage");
    let folder = folder_with(None, &files[2..3]);
    assert_eq!(open(folder.path()).state().unwrap().frames.len(), 1);
}

#[test]
fn a_lost_database_comes_back_from_its_mirror() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    let mut random = Random::new(5);
    (0..150).for_each(|_| work(&stack, &mut random, "ses"));
    let before = stack.state().unwrap();
    drop(stack);
    lose_the_database(folder.path());
    let stack = open(folder.path());
    assert_eq!(messages(&stack), [""; 0]);
    assert_eq!(stack.state().unwrap().frames, before.frames);
    assert_eq!(stack.state().unwrap().active_frame_id, before.active_frame_id);
    assert_mirrored(folder.path(), &stack);
}

#[test]
fn attempts_are_the_same_after_a_new_open_and_from_the_mirror() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    stack.push(NewFrame::new("Root").id("root")).unwrap();
    stack.push(NewFrame::new("Try").id("try").below("root")).unwrap();
    stack.plan(NewFrame::new("Later").id("later").below("root").depends_on("try")).unwrap();
    stack.pop("try", PopStatus::Failed, "no").unwrap();
    let second = stack.retry("try", Some("harder".into())).unwrap().handle;
    stack.files().flush().unwrap();
    // The file of the next attempt names the attempt before it.
    stack.replace_id("try", "session").unwrap();
    stack.files().flush().unwrap();
    assert_mirrored(folder.path(), &stack);
    stack.activate(second).unwrap();
    stack.block(second, "Which one?", None).unwrap();
    let third = stack.retry(second, None).unwrap().handle;
    let seen = |stack: &Stack| {
        let attempts = stack.read(|tree| tree.earlier_attempts(third).collect::<Vec<_>>()).unwrap();
        let xml = stack.context(third, &Default::default()).unwrap().xml.clone();
        assert!(xml.contains("Which one?") && xml.contains("harder"), "{xml}");
        (attempts, stack.children("root").unwrap(), stack.state().unwrap().frames, xml)
    };
    let before = seen(&stack);
    assert_eq!((before.0.len(), before.1[2]), (2, third));
    stack.close().unwrap();
    let stack = open(folder.path());
    assert_eq!(seen(&stack), before);
    stack.close().unwrap();
    lose_the_database(folder.path());
    let stack = open(folder.path());
    assert_eq!((seen(&stack), messages(&stack)), (before, Vec::new()));
    assert_eq!(stack.read(|tree| tree.dependents(third).to_vec()).unwrap(), [stack.resolve("later").unwrap()]);
}

#[test]
fn the_file_of_a_parent_knows_the_place_of_an_imported_attempt() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    stack.push(NewFrame::new("Root").id("root")).unwrap();
    stack.files().flush().unwrap();
    let frame = |id: &str, status: FrameStatus, retry_of: Option<&str>| Frame {
        session_id: id.into(),
        title: id.into(),
        parent_session_id: Some("root".into()),
        status,
        retry_of: retry_of.map(str::to_owned),
        ..Frame::default()
    };
    let [failed, completed] = [FrameStatus::Failed, FrameStatus::Completed];
    let frames = vec![frame("a", failed, None), frame("b", completed, None), frame("again", completed, Some("a"))];
    stack.execute(Command::Import { frames }).unwrap();
    let [first, beside, second] = [2, 3, 4].map(|number| Handle::from_index(number - 1).unwrap());
    assert_eq!(stack.children("root").unwrap(), [first, second, beside]);
    stack.files().flush().unwrap();
    assert_mirrored(folder.path(), &stack);
}

/// The roots, then the children of each frame.
fn levels(stack: &Stack) -> Vec<Vec<Handle>> {
    stack
        .read(|tree| {
            std::iter::once(tree.roots().to_vec())
                .chain(tree.handles().map(|frame| tree.children(frame).to_vec()))
                .collect()
        })
        .unwrap()
}

#[test]
fn the_places_of_frames_last() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    let handle = |number: usize| Handle::from_index(number - 1).unwrap();
    let new = |number: usize| NewFrame::new(format!("Task {number}")).id(format!("t{number}"));
    stack.push(new(1)).unwrap();
    for number in 2..8 {
        stack.plan(new(number).below(handle(1))).unwrap();
    }
    let edit = |number: usize, edit: FrameEdit| stack.edit(handle(number), edit).unwrap();
    edit(7, FrameEdit::default().before(handle(3)).title("Moved"));
    edit(2, FrameEdit::default().below(handle(5)));
    edit(6, FrameEdit::default().below(handle(5)).before(handle(2)));
    edit(3, FrameEdit::default().below(handle(6)));
    edit(4, FrameEdit::default().root().before(handle(1)).depends_on([handle(7)]));
    let expected = levels(&stack);
    assert_eq!(expected[..2], [vec![handle(4), handle(1)], vec![handle(7), handle(5)]]);
    assert_eq!(expected[5], [handle(6), handle(2)]);
    stack.activate(handle(7)).unwrap();
    stack.replace_id(handle(7), "ses_7").unwrap();
    stack.push(new(8).below(handle(1))).unwrap();
    stack.pop(handle(8), PopStatus::Completed, "Done").unwrap();
    // The attempts are below a parent that is newer than the first attempt, and another frame is between two
    // of them.
    stack.activate(handle(5)).unwrap();
    stack.activate(handle(2)).unwrap();
    stack.pop(handle(2), PopStatus::Failed, "No").unwrap();
    let second = stack.retry(handle(2), None).unwrap().handle;
    stack.edit(second, FrameEdit::default().before(handle(6))).unwrap();
    stack.activate(second).unwrap();
    stack.pop(second, PopStatus::Failed, "No").unwrap();
    let third = stack.retry(second, None).unwrap().handle;
    assert_eq!(stack.children(handle(5)).unwrap(), [second, third, handle(6), handle(2)]);
    stack.edit(handle(3), FrameEdit::default().depends_on([handle(2)])).unwrap();
    stack.files().flush().unwrap();
    assert_mirrored(folder.path(), &stack);
    let (expected, state) = (levels(&stack), stack.state().unwrap());
    let check_attempts = |stack: &Stack| {
        assert!(stack.read(|tree| tree.earlier_attempts(third).eq([second, handle(2)])).unwrap());
        assert_eq!(stack.read(|tree| tree.dependents(third).to_vec()).unwrap(), [handle(3)]);
    };
    check_attempts(&stack);
    drop(stack);

    let stack = open(folder.path());
    assert_eq!((levels(&stack), stack.state().unwrap()), (expected.clone(), state.clone()), "opened again");
    check_attempts(&stack);
    let mut history = Vec::new();
    stack.history().export(&mut history).unwrap();
    drop(stack);
    let rebuilt = tempdir().unwrap();
    let stack = Stack::rebuild(rebuilt.path(), history.as_slice(), options()).unwrap();
    assert_eq!((levels(&stack), stack.state().unwrap()), (expected.clone(), state.clone()), "rebuilt of its history");
    check_attempts(&stack);

    lose_the_database(folder.path());
    let stack = open(folder.path());
    assert_eq!(messages(&stack), [""; 0]);
    assert_eq!((levels(&stack), stack.state().unwrap().frames), (expected.clone(), state.frames.clone()), "imported");
    check_attempts(&stack);
    assert_mirrored(folder.path(), &stack);
    drop(stack);
    let stack = open(folder.path());
    assert_eq!(
        (levels(&stack), stack.state().unwrap().frames),
        (expected, state.frames),
        "the imported one, opened again"
    );
    check_attempts(&stack);
}

#[test]
fn another_process_sees_an_edit_and_writes_the_files_of_all_parents() {
    let folder = tempdir().unwrap();
    let (one, two) = (open(folder.path()), open(folder.path()));
    let root = one.push(NewFrame::new("Root").id("root")).unwrap();
    let other = one.push(NewFrame::new("Other").id("other").root()).unwrap();
    let child = one.plan(NewFrame::new("Child").id("child").below(root)).unwrap();
    let last = two.plan(NewFrame::new("Last").id("last").below(other)).unwrap();
    one.edit(child, FrameEdit::default().below(other).before(last)).unwrap();
    two.refresh().unwrap();
    assert_eq!(two.children(other).unwrap(), [child, last]);
    two.files().flush().unwrap();
    assert_mirrored(folder.path(), &two);
}

fn lose_the_database(folder: &Path) {
    for name in ["stack.db", "stack.db-wal", "stack.db-shm"] {
        let _ = fs::remove_file(folder.join(name));
    }
}

#[test]
fn the_newer_record_is_that_of_the_higher_revision_whatever_the_clock_says() {
    const YEAR: u64 = 365 * 24 * 3_600_000;
    for year in [9, 10, 11] {
        let folder = tempdir().unwrap();
        let now = Arc::new(AtomicU64::new(10 * YEAR));
        let stack = Stack::open(folder.path(), options_at(&now)).unwrap();
        let root = stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
        let done = stack.push(NewFrame::new("Done").id("ses_2").below(root)).unwrap();
        stack.set_active(root).unwrap();
        stack.files().flush().unwrap();
        let state = fs::read(folder.path().join("state.json")).unwrap();
        now.store(year * YEAR, Ordering::Relaxed);
        stack.add_decision(root, "newer").unwrap();
        stack.pop(done, PopStatus::Completed, "all of it").unwrap();
        let before = stack.state().unwrap();
        drop(stack);
        fs::write(folder.path().join("state.json"), &state).unwrap();
        lose_the_database(folder.path());

        let again = Stack::open(folder.path(), options_at(&now)).unwrap();
        let frames = again.state().unwrap().frames;
        assert_eq!(frames, before.frames, "year {year}");
        assert_eq!(messages(&again).len(), 2, "both files are newer: {:?}", messages(&again));
    }
}

#[test]
fn a_state_of_a_higher_revision_is_newer_than_a_file_with_a_later_time() {
    let folder = tempdir().unwrap();
    let now = Arc::new(AtomicU64::new(9_000));
    let stack = Stack::open(folder.path(), options_at(&now)).unwrap();
    let root = stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    let path = folder.path().join("frames/ses_1.json");
    let old = fs::read_to_string(&path).unwrap();
    stack.add_decision(root, "newer").unwrap();
    let before = stack.state().unwrap();
    drop(stack);
    lose_the_database(folder.path());
    // This is the situation after a clock was ahead for a while.
    fs::write(&path, old.replace("\"updatedAt\":9000", "\"updatedAt\":99000")).unwrap();
    let again = open(folder.path());
    assert_eq!(again.state().unwrap().frames, before.frames);
    assert_eq!(messages(&again), [""; 0]);
}

#[test]
fn a_file_with_a_revision_is_newer_than_one_without() {
    let record = |title: &str, updated_at: u64| {
        format!(
            r#"{{"sessionID":"ses_1","status":"in_progress","title":"{title}","successCriteria":"","createdAt":1,"updatedAt":{updated_at}}}"#
        )
    };
    let state = |revision: &str, updated_at| {
        let frame = record("State", updated_at);
        format!(r#"{{"version":1,{revision}"frames":{{"ses_1":{frame}}},"rootFrameIDs":["ses_1"],"updatedAt":1}}"#)
    };
    let file = |revision: &str, updated_at| record("File", updated_at).replacen('{', &format!("{{{revision}"), 1);
    let (none, five) = ("", "\"revision\":5,");
    // No tree has this number of events.
    let impossible = "\"revision\":18446744073709551615,";
    for (state, file, expected) in [
        (state(none, 1), file(none, 2), "File"),
        (state(none, 2), file(none, 1), "State"),
        (state(none, 2), file(five, 1), "File"),
        (state(five, 1), file(none, 2), "State"),
        (state(five, 1), file(five, 2), "State"),
        (state(five, 2), file("\"revision\":6,", 1), "File"),
        (state(impossible, 1), file(five, 2), "File"),
        (state(five, 1), file(impossible, 2), "State"),
        // A key of a host with the same name is kept, and does not influence the order.
        (state(none, 2), file("\"revision\":\"draft\",", 1), "State"),
        (state(none, 1), file("\"revision\":\"draft\",", 2), "File"),
    ] {
        let folder = folder_with(Some(state.as_bytes()), &[("ses_1.json", &file)]);
        let stack = open(folder.path());
        let frame = stack.frame("ses_1").unwrap();
        assert_eq!(frame.title, expected, "{state}\n{file}");
        let is_kept = frame.extra.get("revision (unreadable)").is_some_and(|kept| kept == "draft");
        assert_eq!(is_kept, expected == "File" && file.contains("draft"));
        assert_mirrored(folder.path(), &stack);
    }
}

#[test]
fn a_stack_in_memory_is_exported_and_imported_again() {
    let folder = tempdir().unwrap();
    let stack = Stack::in_memory();
    let mut random = Random::new(21);
    (0..100).for_each(|_| work(&stack, &mut random, "ses"));
    stack.files().export(folder.path()).unwrap();
    assert_mirrored(folder.path(), &stack);
    let again = open(folder.path());
    assert_eq!(again.upkeep().repairs(), []);
    assert_eq!(again.state().unwrap().frames, stack.state().unwrap().frames);
    assert_eq!(stack.files().export(folder.path()).unwrap_err().code(), "not_empty");
}

#[test]
fn what_another_process_has_written_need_not_be_written_again() {
    let folder = tempdir().unwrap();
    let now = Arc::new(AtomicU64::new(10_000));
    let open = || Stack::open(folder.path(), options_at(&now)).unwrap();
    let (one, other) = (open(), open());
    let root = one.push(NewFrame::new("Root").id("ses_1")).unwrap();
    other.add_decision(root, "of the other").unwrap();
    let path = folder.path().join("state.json");
    let written = || fs::metadata(&path).unwrap().modified().unwrap();
    let revision = || StackState::from_json(&fs::read_to_string(&path).unwrap()).unwrap().0.revision;
    now.store(10_250, Ordering::Relaxed);
    one.add_decision(root, "of the one").unwrap();
    assert_eq!(revision(), 4);
    let before = written();
    other.refresh().unwrap();
    assert_eq!(other.state().unwrap().frames[0].decisions.len(), 2, "it has caught up under the lock");
    assert_eq!(written(), before, "there was nothing left to write");
    assert_eq!(other.files().status().unwrap().stale_frames, 0);
    other.files().flush().unwrap();
    assert_mirrored(folder.path(), &other);
}

#[test]
fn the_mirror_follows_every_command() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    let mut random = Random::new(9);
    for step in 0..300 {
        work(&stack, &mut random, "ses");
        let (before, after) = (stack.files().status().unwrap(), stack.state().unwrap());
        assert_eq!(before.error, None, "step {step}");
        for frame in after.frames {
            let path = folder.path().join(format!("frames/{}.json", frame.session_id));
            assert_eq!(read_frame_file(&path).0, frame, "after step {step}");
        }
    }
    stack.files().flush().unwrap();
    assert_mirrored(folder.path(), &stack);
}

#[test]
fn the_state_of_a_large_tree_is_left_to_others_on_request() {
    let folder = tempdir().unwrap();
    let revision = || state_revision(folder.path());
    let brief = || Stack::open(folder.path(), options().state_file_frames(2)).unwrap();
    let stack = brief();
    stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    stack.push(NewFrame::new("Small").id("ses_2")).unwrap();
    drop(stack);
    assert_eq!(revision(), 4, "up to the number of frames it is written at the end");
    let stack = brief();
    stack.push(NewFrame::new("Large").id("ses_3")).unwrap();
    assert_eq!(stack.upkeep().deadline(), None, "no poll would write it");
    drop(stack);
    assert_eq!(revision(), 4);
    let file = folder.path().join("frames/ses_3.json");
    assert_eq!(read_frame_file(&file).0.title, "Large", "the changed frame is written");
    drop(brief());
    assert_eq!(revision(), 4, "opening does not write it either");
    brief().files().flush().unwrap();
    assert_eq!(revision(), 6);
    brief().add_decision("ses_1", "left").unwrap();
    let stack = open(folder.path());
    assert_eq!(revision(), 7, "a process that always writes it does so when it opens the stack");
    assert_mirrored(folder.path(), &stack);
}

/// The revision of `state.json`; 0 without one.
fn state_revision(folder: &Path) -> u64 {
    fs::read_to_string(folder.join("state.json")).map_or(0, |text| StackState::from_json(&text).unwrap().0.revision)
}

/// A stack whose `state.json` has about 300 KB.
fn large_stack(folder: &Path, now: &Arc<AtomicU64>) -> Stack {
    let stack = Stack::open(folder, options_at(now)).unwrap();
    let root = stack.push(NewFrame::new("Root").id("root")).unwrap();
    for number in 0..150 {
        let criteria = "The orders of the day are listed with their sums. ".repeat(40);
        stack
            .plan(NewFrame::new(format!("Task {number}")).id(format!("task-{number}")).below(root).criteria(criteria))
            .unwrap();
    }
    stack.files().flush().unwrap();
    stack
}

#[test]
fn a_large_state_is_written_when_a_tenth_of_it_has_changed() {
    let folder = tempdir().unwrap();
    let now = Arc::new(AtomicU64::new(10_000));
    let stack = large_stack(folder.path(), &now);
    let size = fs::metadata(folder.path().join("state.json")).unwrap().len();
    let (mut changed, mut writes, mut revision) = (0, 0, state_revision(folder.path()));
    for step in 0..200 {
        now.fetch_add(300, Ordering::Relaxed);
        let id = format!("task-{}", step % 150);
        stack.add_decision(&id, format!("Decision {step}")).unwrap();
        let file = folder.path().join(format!("frames/{id}.json"));
        assert!(
            read_frame_file(&file).0.decisions.contains(&format!("Decision {step}")),
            "the frame's file is never late"
        );
        changed += fs::metadata(file).unwrap().len();
        let written = state_revision(folder.path());
        if written != revision {
            assert!(changed * 10 >= size, "step {step}: {changed} bytes were changed, the state has {size}");
            (changed, writes, revision) = (0, writes + 1, written);
        }
    }
    assert!((5..=20).contains(&writes), "written {writes} times");
    stack.close().unwrap();
    assert_mirrored(folder.path(), &open(folder.path()));
}

#[test]
fn a_large_state_is_written_after_a_pause() {
    let folder = tempdir().unwrap();
    let now = Arc::new(AtomicU64::new(10_000));
    let stack = large_stack(folder.path(), &now);
    let before = state_revision(folder.path());
    now.store(20_000, Ordering::Relaxed);
    stack.add_decision("task-1", "one").unwrap();
    now.store(23_000, Ordering::Relaxed);
    stack.add_decision("task-2", "two").unwrap();
    assert_eq!(
        (state_revision(folder.path()), stack.upkeep().deadline()),
        (before, Some(28_000)),
        "the pause begins with the last change"
    );
    now.store(27_999, Ordering::Relaxed);
    stack.upkeep().poll();
    stack.refresh().unwrap();
    assert_eq!(state_revision(folder.path()), before);
    now.store(28_000, Ordering::Relaxed);
    stack.upkeep().poll();
    assert_eq!((state_revision(folder.path()), stack.upkeep().deadline()), (before + 2, None));
    stack.add_decision("task-3", "three").unwrap();
    assert_eq!(state_revision(folder.path()), before + 2);
    drop(stack);
    assert_eq!(state_revision(folder.path()), before + 3, "the end does not wait for a pause");
    let stack = Stack::open(folder.path(), options_at(&now)).unwrap();
    stack.add_decision("task-4", "four").unwrap();
    assert_eq!(state_revision(folder.path()), before + 3, "the first command of a process does not write it either");
    let other = Stack::open(folder.path(), options_at(&now)).unwrap();
    assert_eq!(state_revision(folder.path()), before + 3, "an open does not write it: it is large");
    now.store(33_000, Ordering::Relaxed);
    other.upkeep().poll();
    assert_eq!(state_revision(folder.path()), before + 4, "the pause begins with the open");
    assert_mirrored(folder.path(), &other);
}

#[test]
fn a_state_that_takes_long_is_written_seldom() {
    let folder = tempdir().unwrap();
    let now = Arc::new(AtomicU64::new(10_000));
    // The clock advances by seven milliseconds each time it is read, so each write takes at least this time.
    let ticking = now.clone();
    let options = self::options().clock(Arc::new(move || ticking.fetch_add(7, Ordering::Relaxed)));
    let stack = Stack::open(folder.path(), options).unwrap();
    stack.push(NewFrame::new("Root").id("root")).unwrap();
    stack.files().flush().unwrap();
    let (began, before) = (now.load(Ordering::Relaxed), state_revision(folder.path()));
    while state_revision(folder.path()) == before {
        stack.add_decision("root", "more").unwrap();
    }
    let passed = now.load(Ordering::Relaxed) - began;
    assert!(passed >= 700, "a write that took 7 ms is repeated after {passed} ms");
}

#[test]
fn large_files_of_frames_and_those_of_large_commands_follow_soon() {
    let folder = tempdir().unwrap();
    let now = Arc::new(AtomicU64::new(10_000));
    let stack = large_stack(folder.path(), &now);
    let before = state_revision(folder.path());
    let decision = |id: &str| read_frame_file(&folder.path().join(format!("frames/{id}.json"))).0.decisions.pop();
    stack.add_decision("task-1", "x".repeat(70_000)).unwrap();
    assert_eq!(stack.upkeep().deadline(), Some(10_250));
    now.store(10_250, Ordering::Relaxed);
    stack.upkeep().poll();
    let before = before.max(state_revision(folder.path()));
    now.store(12_000, Ordering::Relaxed);
    stack.add_decision("task-1", "late").unwrap();
    assert_eq!(decision("task-1").as_deref(), Some("late"), "nothing was written for 250 ms");
    stack.add_decision("task-1", "later").unwrap();
    assert_eq!(decision("task-1").as_deref(), Some("late"), "the file is large");
    assert_eq!(stack.upkeep().deadline(), Some(12_250));
    now.store(12_250, Ordering::Relaxed);
    stack.upkeep().poll();
    assert_eq!(decision("task-1").as_deref(), Some("later"));
    assert!(state_revision(folder.path()) >= before);
    let root = stack.push(NewFrame::new("Many").id("many").root()).unwrap();
    let children = (0..600).map(|number| NewFrame::new(format!("Child {number}")).id(format!("child-{number}")));
    stack.plan_children(root, children.collect()).unwrap();
    let files = || fs::read_dir(folder.path().join("frames")).unwrap().count();
    let mut found = files();
    assert!((152 + 58..=152 + 64).contains(&found), "a command writes 64 files, there are {found}");
    while found < 152 + 600 {
        now.fetch_add(250, Ordering::Relaxed);
        stack.upkeep().poll();
        let more = files() - found;
        assert!((1..=64).contains(&more), "a poll has written {more} files");
        found += more;
    }
    stack.close().unwrap();
    assert_mirrored(folder.path(), &open(folder.path()));
}

#[test]
fn the_state_is_written_250_milliseconds_after_the_last_time() {
    let folder = tempdir().unwrap();
    let now = Arc::new(AtomicU64::new(10_000));
    let stack = Stack::open(folder.path(), options_at(&now)).unwrap();
    let revision = || state_revision(folder.path());
    let root = stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    assert_eq!(revision(), 2, "the first command writes it");
    stack.add_decision(root, "one").unwrap();
    assert_eq!(revision(), 2);
    assert_eq!(stack.upkeep().deadline(), Some(10_250));
    now.store(10_249, Ordering::Relaxed);
    stack.add_decision(root, "two").unwrap();
    stack.upkeep().poll();
    stack.refresh().unwrap();
    assert_eq!(revision(), 2);
    now.store(10_250, Ordering::Relaxed);
    stack.upkeep().poll();
    assert_eq!(revision(), 4, "a poll writes it");
    assert_eq!(stack.upkeep().deadline(), None);
    now.store(10_499, Ordering::Relaxed);
    stack.add_decision(root, "three").unwrap();
    assert_eq!(revision(), 4);
    now.store(10_500, Ordering::Relaxed);
    stack.refresh().unwrap();
    assert_eq!(revision(), 5, "a refresh writes it");
    now.store(11_000, Ordering::Relaxed);
    stack.add_decision(root, "four").unwrap();
    assert_eq!(revision(), 6, "a command writes it");
    stack.add_decision(root, "five").unwrap();
    assert_eq!(revision(), 6);
    stack.files().flush().unwrap();
    assert_eq!(revision(), 7, "flush writes it");
    now.store(9, Ordering::Relaxed);
    stack.add_decision(root, "six").unwrap();
    assert_eq!((revision(), stack.upkeep().deadline()), (7, Some(259)), "the clock was set back: no time has passed");
    now.store(259, Ordering::Relaxed);
    stack.upkeep().poll();
    assert_eq!(revision(), 8, "a clock that was set back does not stop it");
    stack.add_decision(root, "seven").unwrap();
    let clone = stack.clone();
    drop(stack);
    assert_eq!(revision(), 8, "a clone keeps the stack open");
    drop(clone);
    assert_eq!(revision(), 9, "the last drop writes it");
    let stack = Stack::open(folder.path(), options_at(&now)).unwrap();
    stack.add_decision(root, "eight").unwrap();
    stack.add_decision(root, "nine").unwrap();
    assert_eq!(revision(), 10);
    stack.close().unwrap();
    assert_eq!(revision(), 11, "close writes it");
}

#[test]
fn an_open_brings_a_mirror_that_is_behind_up_to_date() {
    let folder = tempdir().unwrap();
    let path = folder.path();
    let without = || Stack::open(path, StackOptions::default().mirror(false)).unwrap();
    let stack = open(path);
    let root = stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    stack.plan(NewFrame::new("Planned").id("plan-2").below(root)).unwrap();
    drop(stack);
    let stack = without();
    assert_eq!(stack.files().status(), None);
    stack.replace_id("plan-2", "ses_2").unwrap();
    stack.activate("ses_2").unwrap();
    drop(stack);
    assert!(path.join("frames/plan-2.json").exists(), "without a mirror the files stay behind");
    fs::write(path.join("frames/.next.tmp"), "half of a file, by a process that was killed").unwrap();
    assert_mirrored(path, &open(path));

    for damage in [
        |path: &Path| fs::remove_file(path.join("state.json")).unwrap(),
        |path: &Path| fs::remove_dir_all(path.join("frames")).unwrap(),
        |path: &Path| fs::write(path.join("state.json"), "{\"version\":1,\"revision\":6,\"frames\":{\"ses").unwrap(),
        |path: &Path| fs::write(path.join("state.json"), WHOLE).unwrap(),
        |path: &Path| {
            let state = fs::read_to_string(path.join("state.json")).unwrap();
            fs::write(path.join("state.json"), state.replace("\"revision\":", "\"revision\":9")).unwrap();
            fs::remove_file(path.join("frames/ses_2.json")).unwrap();
        },
    ] {
        damage(path);
        let stack = open(path);
        assert_mirrored(path, &stack);
        assert_eq!(stack.frame(root).unwrap().title, "Root", "the database counts, not the files");
    }
}

#[test]
fn stale_files_of_other_processes_are_written_before_the_state() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    let root = stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    // Simulates a process that is killed between its commit and the writing of the mirror.
    let dead = Stack::open(folder.path(), StackOptions::default().mirror(false)).unwrap();
    dead.add_decision(root, "by the dead").unwrap();
    dead.plan(NewFrame::new("Child").id("ses_2").below(root)).unwrap();
    stack.files().flush().unwrap();
    assert_mirrored(folder.path(), &stack);
}

const HOSTILE: &[&str] = &[
    "../../x",
    "..",
    ".",
    "/etc/passwd",
    "a/b",
    "a:b",
    "a_b",
    "a b",
    "CON",
    "con",
    "nul",
    "COM1",
    "lpt9",
    "\0",
    "x\0y",
    "-rf",
    "~",
    "$HOME",
    "a\nb",
    "日本語",
    "é",
    "e\u{301}",
    ".hidden",
    "trailing.",
    "f1",
    "ses.json",
    "\\\\host\\share",
    "%00",
    "state",
    "C:\\x",
];

#[test]
fn hostile_ids_never_leave_the_folder_nor_overwrite_each_other() {
    let outside = tempdir().unwrap();
    let folder = outside.path().join("a/b/stack");
    let stack = open(&folder);
    let long = ["x".repeat(300), "é".repeat(150), format!("{}y", "x".repeat(299))];
    let ids: Vec<&str> = HOSTILE.iter().copied().chain(long.iter().map(String::as_str)).collect();
    for id in &ids {
        let handle = stack.plan(NewFrame::new("Hostile").id(*id).root()).unwrap();
        stack.log(handle).append(&[serde_json::json!({ "id": id })]).unwrap();
    }
    stack.replace_id("ses.json", "../ses").unwrap();
    stack.replace_id("../ses", "ses.json").unwrap();
    stack.files().flush().unwrap();
    assert_eq!(stack.files().status().unwrap().error, None);
    assert_mirrored(&folder, &stack);
    for id in &ids {
        let page = stack.log(FrameRef::Id((*id).to_owned())).read(&callstack_core::LogQuery::default()).unwrap();
        assert_eq!(page.lines.len(), 1, "{id:?} has its own log");
        assert_eq!(page.lines[0].entry["id"], *id);
    }
    let mut everywhere = Vec::new();
    let mut pending = vec![outside.path().to_owned()];
    while let Some(path) = pending.pop() {
        for entry in fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { pending.push(path) } else { everywhere.push(path) }
        }
    }
    assert!(everywhere.iter().all(|path| path.starts_with(&folder)), "{everywhere:#?}");
    for path in &everywhere {
        let name = path.file_name().unwrap().to_str().unwrap();
        let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
        assert!(name.len() <= 120 && name.bytes().all(is_safe), "{name}");
    }
    drop(stack);
    let again = open(&folder);
    assert_eq!(again.state().unwrap().frames.len(), ids.len());
}

#[test]
fn statuses_and_links_that_cannot_be_are_repaired_and_reported() {
    let text = r#"{"version":1,"frames":{
"ses_1":{"sessionID":"ses_1","parentSessionID":"ses_2","status":"in_progress","title":"One","successCriteria":"","createdAt":1},
"ses_2":{"sessionID":"ses_2","parentSessionID":"ses_1","status":"dreaming","title":"Two","successCriteria":"","createdAt":2},
"ses_3":{"sessionID":"ses_3","parentSessionID":"ses_9","status":"planned","title":"Three","successCriteria":"","createdAt":3,"plannedChildren":["ses_4","ses_4"]},
"ses_4":{"sessionID":"ses_4","parentSessionID":"ses_3","status":"planned","title":"Four","successCriteria":"","createdAt":4,"dependsOn":["ses_7"],"retryOf":"ses_5"}
},"activeFrameID":"ses_8","rootFrameIDs":["ses_3","ses_3"],"updatedAt":30}"#;
    let folder = folder_with(Some(text.as_bytes()), &[]);
    let stack = open(folder.path());
    assert_eq!(stack.state().unwrap().frames.len(), 4, "every frame is kept");
    assert_eq!(stack.frame("ses_2").unwrap().status, FrameStatus::Blocked);
    let said = messages(&stack);
    for message in [
        "frame ses_2: its status `dreaming` is unknown; read as blocked",
        "frame ses_2: its parent `ses_1` is below it; kept as a root",
        "frame ses_3: its parent `ses_9` is not in the state; kept as a root",
        "frame ses_3: its plannedChildren name `ses_4`, which is listed twice; the second entry is left out",
        "frame ses_4: it cannot depend on `ses_7`",
        "frame ses_4: it cannot be the next attempt of `ses_5`: there is no such frame beside it",
        "rootFrameIDs name `ses_3`, twice; listed once",
        "activeFrameID is `ses_8`, but there is no such frame; no frame is active",
    ] {
        assert!(said.iter().any(|said| said.contains(message)), "{said:#?}\nlack: {message}");
    }
    assert_mirrored(folder.path(), &stack);
    assert_eq!(fs::read_to_string(folder.path().join("before-import/state.json")).unwrap(), text);
    let handle = stack.resolve("ses_1").unwrap();
    stack.pop(handle, PopStatus::Completed, "goes on").unwrap();
}

#[test]
fn a_folder_that_the_stack_makes_is_not_for_git_and_an_existing_one_stays_as_it_is() {
    let project = tempdir().unwrap();
    let made = project.path().join("state/stack");
    let options = StackOptions::default;
    Stack::open(&made, options()).unwrap().close().unwrap();
    assert_eq!(fs::read_to_string(made.join(".gitignore")).unwrap(), "*\n");
    fs::write(made.join(".gitignore"), "stack.db*\n").unwrap();
    Stack::open(&made, options()).unwrap().close().unwrap();
    assert_eq!(fs::read_to_string(made.join(".gitignore")).unwrap(), "stack.db*\n", "it is never overwritten");
    fs::remove_file(made.join(".gitignore")).unwrap();
    Stack::open(&made, options()).unwrap().close().unwrap();
    let existing = tempdir().unwrap();
    Stack::open(existing.path(), options()).unwrap().close().unwrap();
    for folder in [&*made, existing.path()] {
        assert!(!folder.join(".gitignore").exists(), "a person wants to commit {}", folder.display());
    }
}

#[test]
fn a_stack_that_is_left_has_its_files_and_others_go_on() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    stack.push(NewFrame::new("Shop").id("ses_1")).unwrap();
    stack.add_decision("ses_1", "Use SQLite").unwrap();
    stack.leave();
    assert!(fs::read_to_string(folder.path().join("state.json")).unwrap().contains("Use SQLite"));
    let other = open(folder.path());
    assert_eq!(other.frame("ses_1").unwrap().decisions, ["Use SQLite"]);
    other.pop("ses_1", PopStatus::Completed, "done").unwrap();
    other.close().unwrap();
    assert_mirrored(folder.path(), &open(folder.path()));
}

#[test]
fn an_open_writes_a_large_mirror_in_installments() {
    const FRAMES: usize = 700;
    let folder = tempdir().unwrap();
    let now = Arc::new(AtomicU64::new(1_000));
    let without = Stack::open(folder.path(), StackOptions::default().mirror(false)).unwrap();
    let root = without.push(NewFrame::new("Root").id("root")).unwrap();
    let plan = |number: usize| NewFrame::new("Part").id(format!("part-{number}"));
    without.plan_children(root, (1..FRAMES).map(plan).collect()).unwrap();
    without.close().unwrap();

    let written = || fs::read_dir(folder.path().join("frames")).map_or(0, Iterator::count);
    let stack = Stack::open(folder.path(), options_at(&now)).unwrap();
    let mut counts = vec![written()];
    while stack.files().status().unwrap().stale_frames > 0 {
        assert!(!folder.path().join("state.json").exists(), "it comes after the files of all frames");
        now.fetch_add(250, Ordering::Relaxed);
        stack.upkeep().poll();
        counts.push(written());
    }
    assert!(counts.len() > 2, "{counts:?}");
    assert!(counts.windows(2).all(|pair| pair[1] - pair[0] <= 64) && counts[0] <= 64, "{counts:?}");
    now.fetch_add(5_000, Ordering::Relaxed);
    stack.upkeep().poll();
    assert_mirrored(folder.path(), &stack);
}
