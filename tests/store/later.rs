//! Tests of documented files that polls write, and not commands.

use std::fs;
use std::mem;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use callstack_core::{NewFrame, Stack, StackOptions, StackState};
use support::{Queries, options_at, read_frame_file};
use tempfile::tempdir;

/// Number of frames of a large stack.
const MANY: usize = 700;

/// The number of whole files of frames. Each of them can be read.
fn files(folder: &Path) -> usize {
    let Ok(found) = fs::read_dir(folder.join("frames")) else { return 0 };
    let paths: Vec<_> = found.map(|entry| entry.unwrap().path()).collect();
    paths.iter().for_each(|path| drop(read_frame_file(path)));
    paths.len()
}

fn state(folder: &Path) -> Option<StackState> {
    fs::read_to_string(folder.join("state.json")).ok().map(|text| StackState::from_json(&text).unwrap().0)
}

/// A stack in this folder that has no files yet.
fn fill(folder: &Path) {
    let stack = Stack::open(folder, StackOptions::default().mirror(false)).unwrap();
    let root = stack.push(NewFrame::new("Root").id("root")).unwrap();
    let plan = |number: usize| NewFrame::new("Part").id(format!("part-{number}"));
    stack.plan_children(root, (1..MANY).map(plan).collect()).unwrap();
    stack.close().unwrap();
}

/// Polls at each deadline until nothing is due. Returns how many files there were after each poll.
fn poll_to_the_end(stack: &Stack, folder: &Path, now: &AtomicU64) -> Vec<usize> {
    let mut counts = vec![files(folder)];
    while let Some(deadline) = stack.upkeep().deadline() {
        now.fetch_max(deadline, Ordering::Relaxed);
        assert!(counts.len() < 100, "the polls come to an end: {counts:?}");
        stack.upkeep().poll();
        counts.push(files(folder));
    }
    counts
}

#[test]
fn commands_write_no_files_and_polls_write_those_of_many_commands_together() {
    let folder = tempdir().unwrap();
    let now = Arc::new(AtomicU64::new(10_000));
    let stack = Stack::open(folder.path(), options_at(&now)).unwrap();
    let root = stack.push(NewFrame::new("Root").id("root")).unwrap();
    stack.refresh().unwrap();
    assert_eq!((files(folder.path()), state(folder.path())), (0, None));
    stack.upkeep().poll();
    assert_eq!(state(folder.path()), Some(stack.state().unwrap()));
    let file = folder.path().join("frames/root.json");
    let shown = || read_frame_file(&file).0.decisions.len();
    for number in 0..20 {
        stack.add_decision(root, format!("Decision {number}")).unwrap();
    }
    stack.upkeep().poll();
    assert_eq!((shown(), stack.upkeep().deadline()), (0, Some(10_250)), "the files are written every 250 ms");
    assert_eq!(stack.files().status().unwrap().stale_frames, 1);
    now.store(10_250, Ordering::Relaxed);
    stack.add_decision(root, "Decision 20").unwrap();
    assert_eq!(shown(), 0, "a command does not write them when they are due");
    stack.upkeep().poll();
    assert_eq!((shown(), stack.upkeep().deadline()), (21, None));
    stack.add_decision(root, "Decision 21").unwrap();
    stack.files().flush().unwrap();
    assert_eq!((shown(), state(folder.path())), (22, Some(stack.state().unwrap())), "a flush waits for nothing");
    stack.add_decision(root, "Decision 22").unwrap();
    drop(stack);
    assert_eq!(shown(), 23, "so does the end of the stack");
}

#[test]
fn a_large_stack_gets_its_first_files_in_portions_by_polls_alone() {
    let folder = tempdir().unwrap();
    fill(folder.path());
    let now = Arc::new(AtomicU64::new(10_000));
    let stack = Stack::open(folder.path(), options_at(&now)).unwrap();
    assert_eq!(files(folder.path()), 0, "an open writes none");
    stack.upkeep().poll();
    assert_eq!(files(folder.path()), 64);
    stack.add_decision("part-600", "made meanwhile").unwrap();
    assert_eq!(files(folder.path()), 64, "a command writes none");
    assert_eq!(stack.files().status().unwrap().stale_frames, MANY - 64);
    now.fetch_add(25, Ordering::Relaxed);
    stack.upkeep().poll();
    let file = folder.path().join("frames/part-600.json");
    assert_eq!(read_frame_file(&file).0.decisions, ["made meanwhile"], "what changes does not wait for the others");
    assert_eq!(state(folder.path()), None, "it comes after the files of all frames");
    let counts = poll_to_the_end(&stack, folder.path(), &now);
    assert!(counts.windows(2).all(|pair| pair[1] - pair[0] <= 64), "{counts:?}");
    assert_eq!((files(folder.path()), state(folder.path())), (MANY, Some(stack.state().unwrap())));
}

#[test]
fn what_a_process_left_unwritten_when_it_died_is_written_by_the_polls_of_the_next_one() {
    let folder = tempdir().unwrap();
    let now = Arc::new(AtomicU64::new(10_000));
    let dead = Stack::open(folder.path(), options_at(&now)).unwrap();
    let root = dead.push(NewFrame::new("Root").id("root")).unwrap();
    dead.upkeep().poll();
    dead.add_decision(root, "before the end").unwrap();
    dead.plan(NewFrame::new("Part").id("part").below(root)).unwrap();
    mem::forget(dead);
    let before = state(folder.path()).unwrap();
    assert_eq!((files(folder.path()), before.frames.len()), (1, 1), "the files show an earlier tree");
    let stack = Stack::open(folder.path(), options_at(&now)).unwrap();
    assert!(before.revision < stack.read(|tree| tree.revision()).unwrap());
    poll_to_the_end(&stack, folder.path(), &now);
    assert_eq!((files(folder.path()), state(folder.path())), (2, Some(stack.state().unwrap())));
    let shown = read_frame_file(&folder.path().join("frames/root.json")).0;
    assert_eq!(shown, stack.frame(root).unwrap());
}

#[test]
fn a_stack_that_is_left_writes_a_bounded_number_of_files() {
    let folder = tempdir().unwrap();
    fill(folder.path());
    Stack::open(folder.path(), StackOptions::default()).unwrap().leave();
    assert_eq!((files(folder.path()), state(folder.path())), (64, None));
    let options = || StackOptions::default().state_file_frames(500);
    let brief = Stack::open(folder.path(), options()).unwrap();
    brief.add_decision("part-650", "brief").unwrap();
    assert!(brief.upkeep().deadline().is_some(), "a program that stays would poll for the frame's file");
    brief.leave();
    assert_eq!(read_frame_file(&folder.path().join("frames/part-650.json")).0.decisions, ["brief"]);
    assert_eq!(state(folder.path()), None, "it is left to others");
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    stack.files().flush().unwrap();
    assert_eq!((files(folder.path()), state(folder.path())), (MANY, Some(stack.state().unwrap())));
}
