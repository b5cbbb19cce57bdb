//! Tests of stacks in which many trees were finished: snapshots, trees that leave the memory and come back,
//! `state.json` of large stacks, the compaction of histories, and the removal of old logs.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use callstack_core::archive::{Archive, ArchiveQuery, ArchivedFrame, ArchivedPlace};
use callstack_core::frame::ModelRequest;
use callstack_core::stack::MirrorHealth;
use callstack_core::store::Snapshot;
use callstack_core::{
    Event, EventQuery, Frame, FrameRef, FrameStatus, Handle, LogLimits, LogQuery, MemoryStore, NewFrame,
    OutlineOptions, PopStatus, Result, Settings, SqliteOptions, SqliteStore, Stack, StackOptions, StackState,
};
use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::{Value, json};
use support::Queries;
use support::wrapped::{Hooks, StoreCall, Wrapped};
use tempfile::{TempDir, tempdir};

fn options() -> StackOptions {
    StackOptions::default().mirror(false)
}

/// A stack without files that keeps no finished tree in memory.
fn open(folder: &Path) -> Stack {
    Stack::open(folder, options().finished_frames(0)).unwrap()
}

/// Finishes a tree of five frames, and returns its ID.
fn finish_tree(stack: &Stack, number: usize) -> String {
    let id = format!("tree_{number}");
    let root = stack.push(NewFrame::new(format!("Release {number}")).id(&id).root()).unwrap();
    for part in 0..4 {
        let new = NewFrame::new(format!("Part {part}")).id(format!("{id}_{part}")).below(root);
        let child = stack.push(new.criteria("It works")).unwrap();
        stack.add_decision(child, format!("Decision {part} of {number}")).unwrap();
        stack.pop(child, PopStatus::Completed, format!("Part {part} of {number} works")).unwrap();
    }
    stack.pop(root, PopStatus::Completed, format!("Released {number}")).unwrap();
    id
}

/// A folder with finished trees and an open one.
fn filled(trees: usize) -> TempDir {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    (0..trees).for_each(|number| drop(finish_tree(&stack, number)));
    stack.push(NewFrame::new("Open").id("open").root()).unwrap();
    folder
}

fn change(folder: &Path, sql: &str) {
    Connection::open(folder.join("stack.db")).unwrap().execute_batch(sql).unwrap();
}

fn number(folder: &Path, sql: &str) -> i64 {
    Connection::open(folder.join("stack.db")).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn frames_of_finished_trees_are_found_in_every_way() {
    let folder = filled(60);
    let whole = Stack::open(folder.path(), options().finished_frames(usize::MAX)).unwrap();
    let state = whole.state().unwrap();
    let stack = open(folder.path());
    assert_eq!(stack.state().unwrap(), state);
    let frame = stack.frame("tree_7_2").unwrap();
    assert_eq!(
        (frame.results.as_deref(), frame.parent_session_id.as_deref()),
        (Some("Part 2 of 7 works"), Some("tree_7"))
    );
    assert_eq!(stack.resolve("tree_31").unwrap(), whole.resolve("tree_31").unwrap(), "a whole ID");
    assert_eq!(stack.resolve("tree_44_").unwrap_err().code(), "ambiguous_frame", "the beginning of IDs");
    assert_eq!(stack.resolve("Release 12").unwrap(), whole.resolve("Release 12").unwrap(), "a title");
    assert_eq!(stack.with_status(FrameStatus::Completed).unwrap(), whole.with_status(FrameStatus::Completed).unwrap());
    let outline = |stack: &Stack| stack.outline(&OutlineOptions::default()).unwrap();
    assert_eq!(outline(&stack), outline(&whole));
    let context = |stack: &Stack| stack.context("tree_3_1", &Settings::default()).unwrap().xml.clone();
    assert_eq!(context(&stack), context(&whole));
    assert_eq!(stack.push(NewFrame::new("Again").id("tree_5_1")).unwrap_err().code(), "duplicate_id");
    assert_eq!(stack.read(|tree| tree.roots().len()).unwrap(), 61);
}

#[test]
fn a_frame_of_a_finished_tree_can_still_change() {
    let folder = filled(40);
    let stack = open(folder.path());
    stack.record_usage("tree_3_1", ModelRequest { output: 40, ..ModelRequest::new("small") }).unwrap();
    stack.add_decision("tree_9", "Kept for the record").unwrap();
    stack.replace_id("tree_12_0", "renamed").unwrap();
    let late = stack.push(NewFrame::new("Late").id("late").below("tree_20")).unwrap_err();
    assert_eq!(late.code(), "parent_closed");
    // Enough finished trees for the earlier trees to leave the memory again.
    (100..140).for_each(|number| drop(finish_tree(&stack, number)));
    let again = open(folder.path());
    for stack in [&stack, &again] {
        assert_eq!(stack.frame("tree_3_1").unwrap().usage[0].output, 40);
        assert_eq!(stack.frame("tree_9").unwrap().decisions, ["Kept for the record"]);
        assert_eq!(stack.frame("renamed").unwrap().results.as_deref(), Some("Part 0 of 12 works"));
        assert_eq!(stack.resolve(FrameRef::Id("tree_12_0".into())).unwrap_err().code(), "unknown_frame");
    }
    assert!(again.upkeep().health().unwrap().is_sound());
}

#[test]
fn a_snapshot_that_is_damaged_old_or_missing_is_made_again_of_the_events() {
    for (sql, is_reported) in [
        ("UPDATE snapshots SET head = substr(head, 1, 40)", true),
        ("UPDATE snapshots SET head = replace(head, '\"form\":1', '\"form\":0')", true),
        ("DELETE FROM snapshots", false),
        ("DELETE FROM snapshots; DELETE FROM frames", false),
        (
            "UPDATE snapshots SET unfinished = x''; UPDATE frames SET image = substr(image, 1, 40) WHERE session_id = 'open'",
            true,
        ),
        ("UPDATE snapshots SET unfinished = x''; UPDATE frames SET image = substr(image, 1, 40)", true),
        ("UPDATE frames SET image = replace(image, '\"parent\":\"f1\"', '\"parent\":\"f2\"')", false),
    ] {
        let folder = filled(30);
        let stack = open(folder.path());
        (0..200).for_each(|number| stack.add_decision("open", format!("Decision {number}")).unwrap());
        let state = stack.state().unwrap();
        drop(stack);
        change(folder.path(), sql);
        let stack = open(folder.path());
        let repairs: Vec<String> = stack.upkeep().repairs().iter().map(ToString::to_string).collect();
        assert_eq!(repairs.len(), usize::from(is_reported), "{sql}: {repairs:?}");
        assert!(repairs.iter().all(|repair| repair.ends_with("; the events were read instead")), "{sql}: {repairs:?}");
        assert_eq!(stack.state().unwrap(), state, "{sql}");
        // The next snapshot has the rows that were read from the events.
        assert_eq!(stack.frame("tree_0_3").unwrap().parent_session_id.as_deref(), Some("tree_0"), "{sql}");
        (100..140).for_each(|number| drop(finish_tree(&stack, number)));
        drop(stack);
        let stack = open(folder.path());
        assert_eq!(
            (stack.upkeep().repairs(), stack.upkeep().health().unwrap().history_problems),
            (&[][..], vec![]),
            "{sql}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    /// Rows are cut at any place. Data that is in the events is restored from the events. For compacted
    /// events, a frame is as it was, or its query fails.
    #[test]
    fn rows_that_are_cut_give_no_other_frames(
        cuts in proptest::collection::vec((any::<bool>(), 0usize..160, 0usize..400), 1..5),
        (cuts_head, is_compacted, bound) in (any::<bool>(), any::<bool>(), 0usize..2),
    ) {
        let folder = filled(30);
        let stack = open(folder.path());
        if is_compacted {
            stack.history().compact(u64::MAX).unwrap();
            stack.add_decision("tree_3", "after the compaction").unwrap();
        }
        let state = stack.state().unwrap();
        drop(stack);
        for (is_whole_tree, handle, length) in cuts {
            let column = if is_whole_tree { "tree" } else { "handle" };
            let sql = format!("UPDATE frames SET image = substr(image, 1, {length}) WHERE {column} = {handle}");
            change(folder.path(), &sql);
        }
        if cuts_head {
            change(folder.path(), "UPDATE snapshots SET head = substr(head, 1, 50)");
        }
        let opened = Stack::open(folder.path(), options().finished_frames(bound));
        prop_assert!(opened.is_ok() || is_compacted, "{:?}", opened.err());
        let Ok(stack) = opened else { return Ok(()) };
        for frame in &state.frames {
            match stack.frame(FrameRef::Id(frame.session_id.clone())) {
                Ok(found) => prop_assert_eq!(&found, frame),
                Err(error) => prop_assert!(is_compacted, "{}: {}", frame.session_id, error),
            }
        }
        match stack.state() {
            Ok(shown) => prop_assert_eq!(shown, state),
            Err(error) => prop_assert!(is_compacted, "{}", error),
        }
    }
}

/// A root and its parts, this number of frames together.
fn parts(frames: usize, root: FrameStatus, part: FrameStatus) -> Vec<Frame> {
    let frame = |number: usize| Frame {
        session_id: format!("part_{number}"),
        parent_session_id: (number > 0).then(|| "part_0".to_owned()),
        title: format!("Part {number}"),
        status: if number == 0 { root } else { part },
        ..Frame::default()
    };
    (0..frames).map(frame).collect()
}

/// A folder with an unfinished tree of this number of frames.
fn with_a_plan(frames: usize) -> TempDir {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    stack.import(parts(frames, FrameStatus::InProgress, FrameStatus::Planned)).unwrap();
    stack.close().unwrap();
    folder
}

#[test]
fn a_damaged_plan_in_a_snapshot_is_found_and_the_frames_are_right_without_it() {
    for damage in [
        "UPDATE snapshots SET unfinished = zeroblob(length(unfinished))",
        "UPDATE snapshots SET unfinished = x''",
        "UPDATE snapshots SET unfinished = substr(unfinished, 1, length(unfinished) - 1)",
        // In the middle of the blocks.
        "UPDATE snapshots SET unfinished = CAST(substr(unfinished, 1, length(unfinished) - 900) || zeroblob(200) \
         || substr(unfinished, -700) AS BLOB)",
    ] {
        let folder = with_a_plan(2_000);
        let state = open(folder.path()).state().unwrap();
        change(folder.path(), damage);
        let stack = open(folder.path());
        assert_eq!(stack.state().unwrap(), state, "{damage}");
        assert!(stack.upkeep().repairs().is_empty(), "{damage}: the rows of the frames were used");
        let problems = stack.history().check().unwrap();
        // A piece that is not there is not wrong.
        assert_eq!(problems.is_empty(), damage.ends_with("x''"), "{damage}: {problems:?}");
        stack.upkeep().repair().unwrap();
        assert_eq!(stack.history().check().unwrap(), Vec::<String>::new(), "{damage}");
        drop(stack);
        assert_eq!(open(folder.path()).state().unwrap(), state, "{damage}");
    }
}

#[test]
fn a_damaged_row_of_an_unfinished_frame_is_found_and_made_again() {
    let folder = with_a_plan(2_000);
    let state = open(folder.path()).state().unwrap();
    change(folder.path(), "UPDATE frames SET image = substr(image, 1, 40)");
    let stack = open(folder.path());
    assert_eq!(stack.state().unwrap(), state, "the frames are in the snapshot in one piece too");
    assert_eq!(stack.history().check().unwrap().len(), 2_000, "each row is named");
    stack.upkeep().repair().unwrap();
    assert_eq!(stack.history().check().unwrap(), Vec::<String>::new());
    assert_eq!(stack.state().unwrap(), state);
}

#[test]
fn a_process_with_a_packed_plan_sees_what_others_do_to_it() {
    let folder = with_a_plan(400);
    let (first, other) = (open(folder.path()), open(folder.path()));
    // The other process makes snapshots of frames that the first one has not unpacked yet.
    for number in 1..400 {
        let part = format!("part_{number}");
        other.activate(&*part).unwrap();
        other.pop(&*part, PopStatus::Completed, format!("Part {number} works")).unwrap();
    }
    assert!(number(folder.path(), "SELECT revision FROM snapshots") > 600, "it has made snapshots");
    assert_eq!(first.frame("part_7").unwrap().status, FrameStatus::Planned, "it shows its own revision");
    first.refresh().unwrap();
    for number in [7, 250, 399] {
        assert_eq!(first.frame(&*format!("part_{number}")).unwrap().results.unwrap(), format!("Part {number} works"));
    }
    assert_eq!(first.state().unwrap(), other.state().unwrap());
    let third = open(folder.path());
    first.pop("part_0", PopStatus::Completed, "All works").unwrap();
    third.refresh().unwrap();
    assert_eq!(third.frame("part_0").unwrap().status, FrameStatus::Completed);
    assert_eq!(third.state().unwrap(), first.state().unwrap());
}

#[test]
fn an_examination_finds_frames_that_the_snapshot_has_otherwise() {
    let folder = filled(40);
    change(folder.path(), "UPDATE frames SET image = replace(image, 'Part 2 of 7 works', 'Part 2 of 7 fails')");
    let stack = open(folder.path());
    let problems = stack.upkeep().health().unwrap().history_problems;
    let frame = stack.resolve("tree_7_2").unwrap();
    assert_eq!(problems, [format!("{frame} is another one in the snapshot than the events give")]);
    let error = stack.history().compact(u64::MAX).unwrap_err();
    assert_eq!(error.code(), "damaged", "{error}");
    assert_eq!(number(folder.path(), "SELECT count(*) FROM base"), 0, "nothing was compacted");
}

#[test]
fn an_examination_finds_columns_that_differ_from_the_frame() {
    for (column, value) in [
        ("session_id", "'other'"),
        ("title", "title + 1"),
        ("status", "'failed'"),
        ("status", "'unknown'"),
        ("is_run", "1"),
        ("place", "7"),
        ("changed", "changed - 1"),
        ("tree", "tree + 1"),
    ] {
        let folder = filled(40);
        change(folder.path(), &format!("UPDATE frames SET {column} = {value} WHERE session_id = 'tree_7_2'"));
        let stack = open(folder.path());
        let problems = stack.upkeep().health().unwrap().history_problems;
        assert!(!problems.is_empty(), "{column} = {value} is not found");
        assert!(stack.history().compact(u64::MAX).is_err(), "{column} = {value} is compacted");
    }
}

#[test]
fn a_compacted_history_gives_the_same_frames_and_goes_on() {
    let folder = filled(60);
    let (stack, other) = (open(folder.path()), open(folder.path()));
    let state = stack.state().unwrap();
    let before = stack.history().events(&EventQuery::default()).unwrap();
    let compaction = stack.history().compact(u64::MAX).unwrap();
    assert_eq!(compaction.trees, 60);
    assert!(compaction.bytes_after < compaction.bytes_before, "{compaction:?}");
    let after = stack.history().events(&EventQuery::default()).unwrap();
    assert_eq!(before.len() as u64 - after.len() as u64, compaction.events);
    assert!(after.iter().all(|event| before.contains(event)), "the events that are left are as they were");
    let open_frame = stack.resolve("open").unwrap();
    assert_eq!(stack.history().events(&EventQuery::default().frame(open_frame)).unwrap().len(), 2);
    assert!(
        stack.history().events(&EventQuery::default().frame(stack.resolve("tree_3_1").unwrap())).unwrap().is_empty()
    );

    // Processes that had the stack open, and processes that open it now, continue.
    other.add_decision("open", "after the compaction").unwrap();
    let again = open(folder.path());
    finish_tree(&again, 77);
    for stack in [&stack, &other] {
        stack.refresh().unwrap();
        assert_eq!(stack.state().unwrap(), again.state().unwrap());
    }
    assert_eq!(
        stack.frame("tree_3_1").unwrap(),
        state.frames.iter().find(|frame| frame.session_id == "tree_3_1").unwrap().clone()
    );
    let health = stack.upkeep().health().unwrap();
    assert!(health.is_sound() && health.database.compacted_to > 0, "{health:?}");

    // The compacted frames are now the beginning. They survive the loss of the snapshot, and a second
    // compaction.
    let state = stack.state().unwrap();
    assert_eq!(stack.history().compact(u64::MAX).unwrap().trees, 1);
    stack.add_decision("tree_5", "late").unwrap();
    (0..300).for_each(|number| stack.add_decision("open", format!("Decision {number}")).unwrap());
    let latest = stack.state().unwrap();
    drop((stack, other, again));
    for loss in ["UPDATE snapshots SET head = ''", "DELETE FROM snapshots"] {
        change(folder.path(), loss);
        let stack = open(folder.path());
        assert_eq!(stack.upkeep().repairs().len(), 1, "{loss}: {:?}", stack.upkeep().repairs());
        assert_eq!(stack.state().unwrap(), latest, "{loss}");
        assert_eq!(stack.state().unwrap().frames.len(), state.frames.len());
        assert!(stack.upkeep().health().unwrap().is_sound(), "{loss}");
    }
}

/// A stack whose history was compacted, with events since then, and its export.
fn compacted() -> (TempDir, Stack, String) {
    let folder = filled(30);
    let stack = open(folder.path());
    stack.add_decision("open", "Kept").unwrap();
    stack.history().compact(u64::MAX).unwrap();
    stack.add_decision("tree_3", "Later").unwrap();
    finish_tree(&stack, 30);
    let text = exported(&stack);
    (folder, stack, text)
}

fn exported(stack: &Stack) -> String {
    let mut text = Vec::new();
    stack.history().export(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn an_exported_history_that_was_compacted_makes_the_same_stack() {
    let (_folder, stack, text) = compacted();
    let new = tempdir().unwrap();
    let copy = Stack::rebuild(new.path(), text.as_bytes(), StackOptions::default().finished_frames(0)).unwrap();
    copy.files().flush().unwrap();
    assert_eq!(copy.state().unwrap(), stack.state().unwrap());
    assert_eq!(
        copy.history().events(&EventQuery::default()).unwrap(),
        stack.history().events(&EventQuery::default()).unwrap()
    );
    assert!(copy.history().spans("open").unwrap().begun_at.is_some(), "its events are left");
    assert_eq!(exported(&copy), text);
    for frame in ["tree_3_1", "tree_29", "open", "tree_30"] {
        assert!(new.path().join(format!("frames/{frame}.json")).exists(), "{frame} has no file");
    }
    assert!(copy.upkeep().health().unwrap().is_sound(), "{:?}", copy.upkeep().health());
    // The copy works like any other stack: with commands, a second compaction, and the loss of its snapshot.
    finish_tree(&copy, 31);
    assert!(copy.history().compact(u64::MAX).unwrap().trees > 1);
    (0..300).for_each(|number| copy.add_decision("open", format!("Decision {number}")).unwrap());
    let state = copy.state().unwrap();
    drop(copy);
    change(new.path(), "DELETE FROM snapshots");
    let again = open(new.path());
    assert_eq!((again.state().unwrap(), again.upkeep().repairs().len()), (state, 1));
    let error = Stack::rebuild_in_store(MemoryStore::new(), text.as_bytes(), options()).unwrap_err();
    assert_eq!(error.code(), "in_memory", "{error}");
}

#[test]
fn a_compacted_history_that_was_changed_is_refused_and_leaves_nothing() {
    let (_folder, _stack, text) = compacted();
    let lines: Vec<&str> = text.lines().collect();
    let frames = lines.iter().filter(|line| line.starts_with(r#"{"baseFrame""#)).count();
    let kept = frames + 1;
    let base: u64 = serde_json::from_str::<Event>(lines[lines.len() - 1]).unwrap().revision;
    let without = |place: usize| [&lines[..place], &lines[place + 1..]].concat();
    let with = |place: usize, line: &str| {
        lines[..place]
            .iter()
            .copied()
            .chain([line])
            .chain(lines[place..].iter().copied())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let changed = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    };
    let f7 = lines.iter().find(|line| line.contains(r#""handle":"f7""#)).unwrap().to_string();
    assert!(f7.contains(r#""root":"f6""#), "{f7}");
    let f7_with = |key: &str, value: Value| {
        let mut line: Value = serde_json::from_str(&f7).unwrap();
        line["baseFrame"][key] = value;
        changed(&f7, &line.to_string())
    };
    let head_with = |key: &str, value: Value| {
        let mut line: Value = serde_json::from_str(lines[0]).unwrap();
        let mut head: Value = serde_json::from_str(line["base"].as_str().unwrap()).unwrap();
        assert!(head.get(key).is_some(), "a head has no {key}");
        head[key] = value;
        line["base"] = head.to_string().into();
        changed(lines[0], &line.to_string())
    };
    let last_kept = lines.iter().position(|line| line.contains("Later")).unwrap() - 1;
    for (what, text, code) in [
        ("no head", without(0).join("\n"), "json"),
        ("a frame less", without(3).join("\n"), "json"),
        ("no frames", [&lines[..1], &lines[kept..]].concat().join("\n"), "json"),
        ("an open frame less", without(frames).join("\n"), "json"),
        ("no events up to the base", [&lines[..kept], &lines[last_kept + 1..]].concat().join("\n"), "history"),
        ("the last event up to the base less", without(last_kept).join("\n"), "history"),
        ("the first event after the base less", without(last_kept + 1).join("\n"), "history"),
        ("nothing after the frames", lines[..kept].join("\n"), "history"),
        ("an event twice", with(kept, lines[kept]).join("\n"), "history"),
        ("an event up to the base that cannot be read", with(kept + 1, "{").join("\n"), "json"),
        ("a second head", with(1, lines[0]).join("\n"), "json"),
        ("a frame after the events", with(lines.len(), lines[1]).join("\n"), "json"),
        ("a head after the events", with(lines.len(), lines[0]).join("\n"), "json"),
        ("another title", changed(r#"\"Release 3\""#, r#"\"Release 4\""#), "json"),
        ("an image that is none", changed(r#""image":"{"#, r#""image":"["#), "json"),
        ("a handle beyond the frames", changed(r#""handle":"f7""#, r#""handle":"f7000""#), "json"),
        ("a later change", changed(r#""changed":"#, &format!(r#""changed":{base}"#)), "json"),
        ("a frame twice", with(2, lines[1]).join("\n"), "json"),
        ("another tree", changed(&f7, &f7.replace(r#""root":"f6""#, r#""root":"f1""#)), "json"),
        (
            "a head with more frames than fit in memory",
            changed(r#"\"frames\":151"#, r#"\"frames\":4000000000"#).replacen(
                r#"\"revision\":"#,
                r#"\"revision\":9000000000"#,
                1,
            ),
            "json",
        ),
        ("a head with more frames", changed(r#"\"frames\":151"#, r#"\"frames\":152"#), "json"),
        ("a head of another form", changed(r#"\"form\":1"#, r#"\"form\":2"#), "damaged"),
        ("a head that is none", changed(lines[0], r#"{"base":"spilled coffee"}"#), "damaged"),
        ("a status that is none", f7_with("status", json!("done")), "json"),
        ("a frame without its change", f7_with("changed", json!(null)), "json"),
        ("a head that names no open tree", head_with("open", json!([])), "json"),
        ("a head with other roots", head_with("rootStatuses", json!([0, 1, 29, 1, 0, 0])), "damaged"),
        ("a head whose active frame has ended", head_with("active", json!("f1")), "damaged"),
        ("a head with a last root that is none", head_with("lastRoot", json!(null)), "damaged"),
        ("a head with a last root that leaves no room", head_with("lastRoot", json!(u64::MAX)), "damaged"),
        ("two frames with an ID", text.replace("tree_3_1", "tree_3_2"), "damaged"),
        ("half a line", text[..text.len() - 20].to_owned(), "json"),
    ] {
        let new = tempdir().unwrap();
        let error = Stack::rebuild(new.path(), text.as_bytes(), options()).unwrap_err();
        assert_eq!(error.code(), code, "{what}: {error}");
        assert!(!error.to_string().contains("missing field"), "{what}: {error}");
        assert_eq!(open(new.path()).read(|tree| (tree.revision(), tree.len())).unwrap(), (0, 0), "{what}");
    }
}

#[test]
fn a_history_that_is_compacted_while_it_is_exported_says_so() {
    /// Compacts the history at the first write.
    struct Compacting(Option<Stack>);

    impl Write for Compacting {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if let Some(stack) = self.0.take() {
                finish_tree(&stack, 99);
                stack.history().compact(u64::MAX).unwrap();
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let (folder, stack, _) = compacted();
    let error = stack.history().export(Compacting(Some(open(folder.path())))).unwrap_err();
    assert!(error.to_string().contains("export it again"), "{error}");
    // This stack has not yet read the events that were compacted.
    let text = exported(&stack);
    assert!(text.contains("Release 99"));
    let new = tempdir().unwrap();
    assert_eq!(Stack::rebuild(new.path(), text.as_bytes(), options()).unwrap().state(), open(folder.path()).state());
}

#[test]
fn only_trees_whose_last_event_is_older_are_compacted() {
    let folder = tempdir().unwrap();
    let now = Arc::new(AtomicU64::new(1_000));
    let stack = Stack::open(folder.path(), support::options_at(&now).mirror(false).finished_frames(0)).unwrap();
    for (number, time) in [1_000, 2_000, 9_000, 1_500, 3_000].into_iter().enumerate() {
        // The clock jumps forwards and back.
        now.store(time, Ordering::Relaxed);
        finish_tree(&stack, number);
    }
    now.store(3_000, Ordering::Relaxed);
    stack.push(NewFrame::new("Open").id("open").root()).unwrap();
    assert_eq!(stack.history().compact(1_000).unwrap().trees, 0);
    assert_eq!(stack.history().compact(2_001).unwrap().trees, 3, "those of 1,000, 2,000 and 1,500");
    assert_eq!(stack.history().compact(8_000).unwrap().trees, 1, "that of 3,000");
    assert_eq!(stack.history().compact(u64::MAX).unwrap().trees, 1, "that of 9,000");
    assert_eq!(stack.history().compact(u64::MAX).unwrap().trees, 0);
    assert!(stack.upkeep().health().unwrap().is_sound());
}

#[test]
fn the_state_file_of_a_large_stack_leaves_finished_trees_to_the_files_of_their_frames() {
    let folder = tempdir().unwrap();
    let plan = |count: usize| {
        (0..count).map(|number| Frame {
            session_id: format!("old_{number}"),
            parent_session_id: (!number.is_multiple_of(100)).then(|| format!("old_{}", number - number % 100)),
            title: format!("Old {number}"),
            status: FrameStatus::Completed,
            results: Some(format!("Done {number}")),
            ..Frame::default()
        })
    };
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    stack.import(plan(10_200).collect()).unwrap();
    stack.push(NewFrame::new("Open").id("open").root()).unwrap();
    stack.push(NewFrame::new("Below").id("below").below("open")).unwrap();
    stack.files().flush().unwrap();
    let text = fs::read_to_string(folder.path().join("state.json")).unwrap();
    let (shown, defects) = StackState::from_json(&text).unwrap();
    assert_eq!(defects, []);
    let ids: Vec<&str> = shown.frames.iter().map(|frame| frame.session_id.as_str()).collect();
    assert_eq!((ids, &shown.root_frame_ids[..]), (vec!["open", "below"], &["open".to_owned()][..]));
    let finished = shown.finished_trees.unwrap();
    assert_eq!((finished.roots, finished.frames), (102, 10_200));
    assert_eq!(stack.upkeep().health().unwrap().mirror, MirrorHealth::Current {});
    let state = stack.state().unwrap();
    drop(stack);

    // Without the database, the files are the stack, with the same handles.
    for name in ["stack.db", "stack.db-wal", "stack.db-shm"] {
        let _ = fs::remove_file(folder.path().join(name));
    }
    fs::remove_file(folder.path().join("frames/old_77.json")).unwrap();
    let copy = tempdir().unwrap();
    fs::rename(folder.path().join("state.json"), copy.path().join("state.json")).unwrap();
    fs::rename(folder.path().join("frames"), copy.path().join("frames")).unwrap();
    let stack = Stack::open(copy.path(), StackOptions::default().state_file_frames(500)).unwrap();
    // The last frame gets the handle of the lost frame, and the other frames keep their handles.
    let mut expected = state.frames.clone();
    expected.swap_remove(77);
    assert_eq!(stack.state().unwrap().frames, expected);
    assert_eq!(stack.upkeep().repairs().len(), 1, "{:?}", stack.upkeep().repairs());
    let message = "its finished trees have 10200 frames, but only 10199 of them are in frames/";
    assert_eq!(stack.upkeep().repairs()[0].message, message);

    // The old state.json does not show the new history. A stack that leaves this file to other processes
    // removes it.
    let health = stack.upkeep().health().unwrap();
    assert_eq!((health.mirror.clone(), health.is_sound()), (MirrorHealth::Missing {}, true));
    assert!(copy.path().join("before-import/state.json").exists());
}

/// A stack with its files, most of whose frames are in finished trees that `state.json` leaves out.
fn with_files() -> (TempDir, Stack) {
    let folder = tempdir().unwrap();
    let stack = Stack::open(folder.path(), StackOptions::default().finished_frames(0)).unwrap();
    let frame = |number: usize| Frame {
        session_id: format!("old_{number}"),
        parent_session_id: (!number.is_multiple_of(100)).then(|| format!("old_{}", number - number % 100)),
        title: format!("Old {number}"),
        status: FrameStatus::Completed,
        created_at: 1_000_000 - number as u64,
        ..Frame::default()
    };
    stack.import((0..10_100).map(frame).collect()).unwrap();
    stack.push(NewFrame::new("Open").id("open").root()).unwrap();
    stack.files().flush().unwrap();
    (folder, stack)
}

#[test]
fn frames_come_back_from_their_files_with_their_handles() {
    let (folder, stack) = with_files();
    let state = stack.state().unwrap();
    drop(stack);
    for name in ["stack.db", "stack.db-wal", "stack.db-shm"] {
        let _ = fs::remove_file(folder.path().join(name));
    }
    // Files of an earlier version have no handles. They fill the gaps in the order of their times.
    for number in [40, 41, 42] {
        let path = folder.path().join(format!("frames/old_{number}.json"));
        let mut file: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        file.as_object_mut().unwrap().remove("handle").unwrap();
        file["createdAt"] = json!(number);
        fs::write(&path, file.to_string()).unwrap();
    }
    let stack = open(folder.path());
    assert_eq!(stack.upkeep().repairs(), []);
    let order = |state: &StackState| state.frames.iter().map(|frame| frame.session_id.clone()).collect::<Vec<_>>();
    assert_eq!(order(&stack.state().unwrap()), order(&state));
}

#[test]
fn an_examination_finds_wrong_files_of_finished_frames_and_a_repair_writes_them() {
    let (folder, stack) = with_files();
    let [missing, other] = ["old_7", "old_9000"].map(|id| stack.resolve(id).unwrap());
    fs::remove_file(folder.path().join("frames/old_7.json")).unwrap();
    fs::copy(folder.path().join("frames/old_8.json"), folder.path().join("frames/old_9000.json")).unwrap();
    let health = stack.upkeep().health().unwrap();
    assert_eq!(health.mirror, MirrorHealth::Incomplete { frames: vec![missing, other] });
    assert!(!health.is_sound());
    stack.upkeep().repair().unwrap();
    let health = stack.upkeep().health().unwrap();
    assert!(health.is_sound(), "{health:?}");
    assert_eq!(health.mirror, MirrorHealth::Current {});
}

#[test]
fn a_repair_makes_a_damaged_snapshot_again() {
    for is_compacted in [false, true] {
        let folder = filled(40);
        let stack = open(folder.path());
        if is_compacted {
            stack.history().compact(u64::MAX).unwrap();
            (50..90).for_each(|number| drop(finish_tree(&stack, number)));
        }
        let state = stack.state().unwrap();
        drop(stack);
        // Damaged rows of a base are lost.
        let damage = "UPDATE frames SET image = substr(image, 1, 40) WHERE changed > (SELECT coalesce(max(revision), 0) FROM base); \
                      UPDATE frames SET session_id = 'other' WHERE handle = (SELECT max(handle) FROM frames)";
        change(folder.path(), damage);
        let (stack, other) = (open(folder.path()), open(folder.path()));
        assert!(!stack.upkeep().health().unwrap().is_sound(), "{is_compacted}");
        assert!(stack.history().compact(u64::MAX).unwrap_err().to_string().contains("--repair"), "{is_compacted}");
        // A refused compaction does not prevent other commands.
        stack.add_decision("open", "Go on").unwrap();
        stack.upkeep().repair().unwrap();
        let health = stack.upkeep().health().unwrap();
        assert_eq!(health.history_problems, Vec::<String>::new(), "{is_compacted}");
        other.add_decision("open", "Go on here too").unwrap();
        for stack in [stack, other, open(folder.path())] {
            stack.refresh().unwrap();
            let frames = stack.state().unwrap().frames;
            assert_eq!(frames.len(), state.frames.len());
            let is_other = |(one, other): &(&Frame, &Frame)| one != other && one.session_id != "open";
            assert_eq!(frames.iter().zip(&state.frames).find(is_other), None, "{is_compacted}");
            stack.history().compact(u64::MAX).unwrap();
        }
    }
}

#[test]
fn an_examination_finds_compacted_frames_that_are_found_by_other_keys() {
    for damage in ["session_id = 'zzz'", "title = title + 1", "status = 'failed'", "is_run = 1"] {
        let folder = filled(3);
        open(folder.path()).history().compact(u64::MAX).unwrap();
        change(folder.path(), &format!("UPDATE frames SET {damage} WHERE session_id = 'tree_1_2'"));
        let problems = open(folder.path()).upkeep().health().unwrap().history_problems;
        assert!(matches!(&problems[..], [problem] if problem.contains("by other keys")), "{damage}: {problems:?}");
    }
}

#[test]
fn a_repair_of_a_compacted_stack_loses_neither_frames_nor_the_files_that_may_be_right() {
    let folder = tempdir().unwrap();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    (0..3).for_each(|number| drop(finish_tree(&stack, number)));
    stack.history().compact(u64::MAX).unwrap();
    stack.push(NewFrame::new("Open").id("open").root()).unwrap();
    let state = stack.state().unwrap();
    stack.close().unwrap();
    change(folder.path(), "UPDATE frames SET image = replace(image, 'Part 2 of 1 works', 'Part 2 of 1 fails')");
    change(folder.path(), "UPDATE frames SET changed = 100000 WHERE session_id = 'tree_2_2'");
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    stack.upkeep().repair().unwrap();
    assert_eq!(stack.state().unwrap().frames.len(), state.frames.len());
    assert_eq!(stack.frame("tree_2_2").unwrap().results.as_deref(), Some("Part 2 of 2 works"));
    let kept = fs::read_to_string(folder.path().join("before-repair/frames/tree_1_2.json")).unwrap();
    assert!(kept.contains("Part 2 of 1 works"), "{kept}");
    assert!(folder.path().join("before-repair/state.json").exists());
}

#[test]
fn handles_come_back_without_a_state_file() {
    let folder = tempdir().unwrap();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    for id in ["d", "b", "a", "c"] {
        stack.push(NewFrame::new(id).id(id).root()).unwrap();
    }
    let frames = stack.state().unwrap().frames;
    stack.close().unwrap();
    for damage in [Some("{"), None] {
        let copy = tempdir().unwrap();
        fs::create_dir(copy.path().join("frames")).unwrap();
        for id in ["a", "b", "c", "d"] {
            let file = format!("frames/{id}.json");
            fs::copy(folder.path().join(&file), copy.path().join(&file)).unwrap();
        }
        damage.into_iter().for_each(|text| fs::write(copy.path().join("state.json"), text).unwrap());
        assert_eq!(open(copy.path()).state().unwrap().frames, frames, "{damage:?}");
    }
}

#[test]
fn a_process_that_meets_a_damaged_snapshot_makes_a_whole_one_later() {
    let folder = filled(40);
    let other = open(folder.path());
    let gated = Gated::default();
    let is_damaged = gated.is_damaged.clone();
    let stack = Stack::open_with_store(folder.path(), gated.open(folder.path()), options().finished_frames(0)).unwrap();
    (50..90).for_each(|number| drop(finish_tree(&other, number)));
    is_damaged.store(true, Ordering::Relaxed);
    stack.refresh().unwrap();
    assert_eq!(stack.state().unwrap(), other.state().unwrap());
    (100..140).for_each(|number| drop(finish_tree(&stack, number)));
    assert!(!is_damaged.load(Ordering::Relaxed), "a whole snapshot was written");
    let state = stack.state().unwrap();
    drop((stack, other));
    let stack = open(folder.path());
    assert_eq!((stack.upkeep().repairs(), stack.upkeep().health().unwrap().history_problems), (&[][..], vec![]));
    assert_eq!(stack.state().unwrap(), state);
}

/// The store of a folder, with hooks.
fn with_hooks<H: Hooks>(folder: &Path, hooks: H) -> Wrapped<H> {
    Wrapped::new(SqliteStore::open(folder.join("stack.db"), SqliteOptions::default()).unwrap(), hooks)
}

/// An archive that fails while it is true, as one does whose connection is lost.
#[derive(Clone, Debug, Default)]
struct Unreachable(Arc<AtomicBool>);

impl Hooks for Unreachable {
    fn archive(&self, archive: Arc<dyn Archive>) -> Arc<dyn Archive> {
        Arc::new(UnreachableArchive { archive, fails: self.0.clone() })
    }
}

#[derive(Debug)]
struct UnreachableArchive {
    archive: Arc<dyn Archive>,
    fails: Arc<AtomicBool>,
}

impl UnreachableArchive {
    fn reached(&self) -> Result<&dyn Archive> {
        match self.fails.load(Ordering::Relaxed) {
            true => Err(callstack_core::Error::io("read", "the archive", "the connection is lost")),
            false => Ok(&*self.archive),
        }
    }
}

impl Archive for UnreachableArchive {
    fn page(&self, after: Option<Handle>) -> Result<Vec<ArchivedFrame>> {
        self.reached()?.page(after)
    }

    fn frames(&self, handle: Handle) -> Result<Vec<ArchivedFrame>> {
        self.reached()?.frames(handle)
    }

    fn find(&self, query: ArchiveQuery<'_>, since: u64) -> Result<Vec<ArchivedPlace>> {
        self.reached()?.find(query, since)
    }

    fn base(&self) -> Result<Option<(String, Arc<dyn Archive>)>> {
        self.archive.base()
    }
}

#[test]
fn an_examination_whose_connection_is_lost_does_not_say_that_the_history_is_damaged() {
    let folder = filled(40);
    let hooks = Unreachable::default();
    let store = with_hooks(folder.path(), hooks.clone());
    let stack = Stack::open_with_store(folder.path(), store, options().finished_frames(400)).unwrap();
    (0..40).for_each(|tree| drop(stack.frame(&*format!("tree_{tree}_1")).unwrap()));
    hooks.0.store(true, Ordering::Relaxed);
    assert_eq!(stack.history().check().map_err(|error| error.code()), Err("io"));
    hooks.0.store(false, Ordering::Relaxed);
    assert_eq!(stack.history().check(), Ok(vec![]));
}

/// Counts the snapshots that a store reads.
struct Counted(Arc<AtomicU64>);

impl Hooks for Counted {
    fn snapshot(&mut self, snapshot: Option<Snapshot>) -> Option<Snapshot> {
        self.0.fetch_add(1, Ordering::Relaxed);
        snapshot
    }
}

#[test]
fn a_process_follows_what_others_do_with_a_plan_and_does_not_read_their_snapshots() {
    let folder = with_a_plan(600);
    let read = Arc::new(AtomicU64::new(0));
    let store = with_hooks(folder.path(), Counted(read.clone()));
    let stack = Stack::open_with_store(folder.path(), store, options().finished_frames(0)).unwrap();
    let other = open(folder.path());
    let snapshots = || number(folder.path(), "SELECT COALESCE(MAX(revision), 0) FROM snapshots");
    let (mut seen, mut made) = (snapshots(), 0);
    for number in 1..500 {
        let (part, results) = (format!("part_{number}"), format!("Part {number} works"));
        [&other, &stack][number % 2].activate(&*part).unwrap();
        other.pop(&*part, PopStatus::Completed, &*results).unwrap();
        made += u64::from(snapshots() != seen);
        seen = snapshots();
        stack.refresh().unwrap();
        assert_eq!(stack.frame(&*part).unwrap().results, Some(results));
    }
    assert!(made > 0, "{made} snapshots were made");
    assert_eq!(read.load(Ordering::Relaxed), 1, "the one with which it was opened");
    // A change of a frame that it does not have in memory needs the archive, so it reads a snapshot.
    let root = finish_tree(&stack, 1);
    (0..60).for_each(|number| drop(finish_tree(&other, 100 + number)));
    other.reopen(&*root, "It is wrong").unwrap();
    stack.refresh().unwrap();
    assert_eq!(stack.state().unwrap(), other.state().unwrap());
    assert_eq!(stack.history().check().unwrap(), Vec::<String>::new());
}

/// Notes the names of the calls of a store.
#[derive(Clone, Default)]
struct Noted(Arc<Mutex<Vec<&'static str>>>);

impl Hooks for Noted {
    fn before(&mut self, call: StoreCall) -> Result<()> {
        self.0.lock().unwrap().push(call.name);
        Ok(())
    }
}

#[test]
fn a_command_on_a_busy_stack_follows_the_others_before_it_asks_for_the_lock() {
    let folder = filled(1);
    let noted = Noted::default();
    let store = with_hooks(folder.path(), noted.clone());
    let stack = Stack::open_with_store(folder.path(), store, options()).unwrap();
    let other = open(folder.path());
    let first_read = |others: usize| {
        (0..others).for_each(|number| other.add_decision("open", format!("{number} of {others}")).unwrap());
        noted.0.lock().unwrap().clear();
        stack.add_decision("open", format!("after {others}")).unwrap();
        let calls = noted.0.lock().unwrap().clone();
        let place = |name: &str| calls.iter().position(|call| *call == name).unwrap();
        (place("read") < place("begin"), calls.iter().filter(|call| **call == "read").count())
    };
    assert_eq!(first_read(50), (false, 1), "it does not know yet that others are busy");
    assert_eq!(first_read(50), (true, 2));
    assert_eq!(first_read(1), (true, 2));
    assert_eq!(first_read(1), (false, 1), "the others are not busy any more");
    assert_eq!(stack.state().unwrap(), other_state(&other));
}

fn other_state(other: &Stack) -> StackState {
    other.refresh().unwrap();
    other.state().unwrap()
}

/// Closed while it is true.
type Gate = Arc<(Mutex<bool>, Condvar)>;

/// When a caller asks the archive of a store for frames, it waits until a gate is open. The snapshot is
/// damaged on request, until a whole snapshot is written.
#[derive(Clone, Default)]
struct Gated {
    gate: Gate,
    /// Number of callers that have come to the gate while it was closed.
    waiting: Arc<AtomicU64>,
    is_damaged: Arc<AtomicBool>,
}

impl Gated {
    /// The store of a folder, with these hooks.
    fn open(&self, folder: &Path) -> Wrapped<Self> {
        with_hooks(folder, self.clone())
    }
}

impl Hooks for Gated {
    fn archive(&self, archive: Arc<dyn Archive>) -> Arc<dyn Archive> {
        Arc::new(GatedArchive { archive, gate: self.gate.clone(), waiting: self.waiting.clone() })
    }

    fn snapshot(&mut self, mut snapshot: Option<Snapshot>) -> Option<Snapshot> {
        if self.is_damaged.load(Ordering::Relaxed) {
            snapshot.iter_mut().for_each(|snapshot| snapshot.head.truncate(40));
        }
        snapshot
    }

    fn written(&mut self, snapshot: &Snapshot) {
        self.is_damaged.fetch_and(!snapshot.is_whole, Ordering::Relaxed);
    }
}

#[derive(Debug)]
struct GatedArchive {
    archive: Arc<dyn Archive>,
    gate: Gate,
    waiting: Arc<AtomicU64>,
}

impl Archive for GatedArchive {
    fn page(&self, after: Option<Handle>) -> Result<Vec<ArchivedFrame>> {
        self.archive.page(after)
    }

    fn frames(&self, handle: Handle) -> Result<Vec<ArchivedFrame>> {
        let closed = self.gate.0.lock().unwrap();
        self.waiting.fetch_add(u64::from(*closed), Ordering::Relaxed);
        drop(self.gate.1.wait_while(closed, |closed| *closed).unwrap());
        self.archive.frames(handle)
    }
    fn find(&self, query: ArchiveQuery<'_>, since: u64) -> Result<Vec<ArchivedPlace>> {
        self.archive.find(query, since)
    }
}

#[test]
fn commands_go_on_while_a_query_reads_a_finished_tree_from_the_database() {
    let folder = filled(30);
    let stack = open(folder.path());
    let gated = Gated::default();
    let Gated { gate, waiting, .. } = gated.clone();
    let slow = Stack::open_with_store(folder.path(), gated.open(folder.path()), options().finished_frames(0)).unwrap();
    *gate.0.lock().unwrap() = true;
    thread::scope(|scope| {
        let reading = scope.spawn(|| slow.frame("tree_3_1").map(|frame| frame.title));
        while waiting.load(Ordering::Relaxed) == 0 {
            assert!(!reading.is_finished(), "the query does not read the frame from the database");
            thread::sleep(Duration::from_millis(1));
        }
        let committing = scope.spawn(|| slow.add_decision("open", "While the other reads"));
        let deadline = Instant::now() + Duration::from_secs(20);
        while !committing.is_finished() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        let (has_committed, has_read) = (committing.is_finished(), reading.is_finished());
        *gate.0.lock().unwrap() = false;
        gate.1.notify_all();
        assert_eq!(reading.join().unwrap().unwrap(), "Part 1");
        committing.join().unwrap().unwrap();
        assert!(has_committed && !has_read, "the command waited for the query");
    });
    stack.refresh().unwrap();
    assert!(stack.frame("open").unwrap().decisions.contains(&"While the other reads".to_owned()));
}

#[test]
fn old_logs_of_finished_frames_are_removed_by_age_and_by_size() {
    let folder = tempdir().unwrap();
    let stack = Stack::open(folder.path(), options()).unwrap();
    let log = |frame: &str| folder.path().join(format!("logs/{frame}.jsonl"));
    for (number, frame) in ["one", "two", "three", "open"].into_iter().enumerate() {
        stack.push(NewFrame::new(frame).id(frame).root()).unwrap();
        stack.log(frame).append(&[json!({ "text": "x".repeat(1_000) })]).unwrap();
        if frame != "open" {
            stack.pop(frame, PopStatus::Completed, "Done").unwrap();
        }
        let written = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000 + number as u64);
        fs::File::options().append(true).open(log(frame)).unwrap().set_modified(written).unwrap();
    }
    let size = fs::metadata(log("one")).unwrap().len();
    assert_eq!(stack.files().prune_logs(LogLimits::default()).unwrap().files, 0, "no limit");
    let pruned = stack.files().prune_logs(LogLimits::default().before(1_001_000)).unwrap();
    assert_eq!((pruned.files, pruned.bytes, pruned.left), (1, size, 3 * size));
    assert!(!log("one").exists() && log("two").exists());
    let pruned = stack.files().prune_logs(LogLimits::default().bytes(2 * size)).unwrap();
    assert_eq!((pruned.files, log("two").exists(), log("three").exists()), (1, false, true));
    let pruned = stack.files().prune_logs(LogLimits::default().before(u64::MAX).bytes(0)).unwrap();
    assert_eq!((pruned.files, pruned.left), (1, size), "the log of an unfinished frame stays");
    assert_eq!(stack.log("open").read(&LogQuery::default()).unwrap().total, 1);
    assert_eq!(stack.log("one").read(&LogQuery::default()).unwrap().total, 0);
    assert_eq!(Stack::in_memory().files().prune_logs(LogLimits::default()).unwrap_err().code(), "in_memory");
    assert_eq!(Stack::in_memory().history().compact(u64::MAX).unwrap_err().code(), "in_memory");
}

#[test]
fn who_is_behind_a_change_of_a_finished_tree_and_a_compaction_sees_each_change_once() {
    for changes in [1, 100] {
        let folder = filled(40);
        let (stack, behind) = (open(folder.path()), open(folder.path()));
        for number in 0..changes {
            stack.add_decision("tree_7", format!("Late {number}")).unwrap();
        }
        stack.history().compact(u64::MAX).unwrap();
        // A query of the other stack does not know the change yet, and must not show half of it.
        if let Ok(frame) = behind.frame("tree_7") {
            assert!(frame.decisions.is_empty(), "{:?}", frame.decisions);
        }
        behind.add_decision("open", "of the one behind").unwrap();
        stack.refresh().unwrap();
        assert_eq!(behind.frame("tree_7").unwrap().decisions.len(), changes);
        assert_eq!(behind.state().unwrap(), stack.state().unwrap());
        assert!(behind.upkeep().health().unwrap().is_sound());
    }
}

#[test]
fn finished_trees_of_an_import_leave_the_memory_too() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    let frame = |number: usize| Frame {
        session_id: format!("old_{number}"),
        title: format!("Old {number}"),
        status: FrameStatus::Completed,
        ..Frame::default()
    };
    stack.import((0..300).map(frame).collect()).unwrap();
    stack.history().compact(0).unwrap();
    change(folder.path(), "UPDATE frames SET image = replace(image, 'Old 7\"', 'Seven\"')");
    assert_eq!(stack.frame("old_7").unwrap().title, "Seven", "the frame was read from the database");
}

/// The bytes that this thread has read from files.
#[cfg(target_os = "linux")]
fn bytes_read() -> u64 {
    let counts = fs::read_to_string("/proc/thread-self/io").unwrap();
    counts.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn commands_and_their_snapshots_read_no_more_of_a_longer_history() {
    let read = |trees: usize| {
        let folder = filled(trees);
        let stack = open(folder.path());
        let before = bytes_read();
        (0..40).for_each(|number| drop(finish_tree(&stack, trees + number)));
        bytes_read() - before
    };
    let (short, long) = (read(40), read(1_000));
    assert!(long < 2 * short, "{short} bytes are read behind 40 trees, {long} behind 1,000");
}

#[test]
#[cfg(target_os = "linux")]
fn the_state_file_of_a_large_stack_is_written_without_reading_its_finished_trees() {
    let folder = tempdir().unwrap();
    let stack = Stack::open(folder.path(), options()).unwrap();
    let frame = |number: usize| Frame {
        session_id: format!("old_{number}"),
        title: format!("Old {number}"),
        status: FrameStatus::Completed,
        ..Frame::default()
    };
    stack.import((0..12_000).map(frame).collect()).unwrap();
    stack.push(NewFrame::new("Open").id("open").root()).unwrap();
    stack.close().unwrap();
    Stack::open(folder.path(), StackOptions::default()).unwrap().close().unwrap();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    let before = bytes_read();
    stack.add_decision("open", "Totals are kept in cents").unwrap();
    stack.files().flush().unwrap();
    let read = bytes_read() - before;
    let state: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.path().join("state.json")).unwrap()).unwrap();
    assert_eq!((&state["finishedTrees"]["roots"], &state["rootFrameIDs"]), (&json!(12_000), &json!(["open"])));
    assert!(read < 100_000, "{read} bytes were read");
}

#[test]
fn a_damaged_frame_of_a_compacted_history_is_an_error_and_nothing_is_made_up() {
    for (damage, has_root) in [
        ("UPDATE frames SET image = '{' WHERE session_id = 'tree_1_2'", false),
        ("DELETE FROM frames WHERE session_id = 'tree_1_2'", true),
    ] {
        let folder = filled(3);
        let stack = open(folder.path());
        stack.history().compact(u64::MAX).unwrap();
        let frames = stack.read(|tree| tree.len()).unwrap();
        let (lost, kept) = (stack.resolve("tree_1_2").unwrap(), stack.frame("tree_0").unwrap());
        stack.close().unwrap();
        change(folder.path(), damage);
        let stack = open(folder.path());
        assert!(stack.state().is_err(), "{damage}");
        assert!(stack.read(|tree| tree.node(lost).title().to_owned()).is_err(), "{damage}");
        assert_eq!(stack.read(|tree| tree.len()).unwrap(), frames, "{damage}: nothing else fails");
        assert!(stack.frame(lost).is_err(), "{damage}");
        assert_eq!(stack.frame("tree_1").is_ok(), has_root, "{damage}");
        assert!(stack.add_decision(lost, "Nothing").is_err(), "{damage}");
        assert_eq!(stack.frame("tree_0").unwrap(), kept);
        assert!(!stack.upkeep().health().unwrap().is_sound(), "{damage}");
        stack.add_decision("open", "The rest works").unwrap();
    }
}

#[test]
fn a_large_finished_tree_is_looked_at_once() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    stack.import(parts(9_000, FrameStatus::Completed, FrameStatus::Completed)).unwrap();
    stack.close().unwrap();
    let stack = open(folder.path());
    assert_eq!(stack.state().unwrap().frames.len(), 9_000);
}

#[test]
#[cfg(target_os = "linux")]
fn a_process_that_is_killed_while_it_moves_the_log_stops_no_other() {
    for is_noted in [true, false] {
        let folder = tempdir().unwrap();
        let (stack, other) = (open(folder.path()), open(folder.path()));
        stack.push(NewFrame::new("Shop").id("shop")).unwrap();
        other.add_decision("shop", "First").unwrap();
        // The database is in the state in which such a process leaves it: the database was written, and it is
        // not known how much of the log it contains.
        if is_noted {
            fs::write(folder.path().join("stack.db-write"), "checkpoint\n").unwrap();
        }
        let database = fs::File::options().append(true).open(folder.path().join("stack.db")).unwrap();
        database.set_modified(SystemTime::now() + Duration::from_secs(5)).unwrap();
        let done = stack.add_decision("shop", "Second").map_err(|error| error.code());
        assert_eq!(done, if is_noted { Ok(()) } else { Err("replaced") });
        if is_noted {
            other.refresh().unwrap();
            assert_eq!(other.frame("shop").unwrap().decisions, ["First", "Second"]);
        }
    }
}
