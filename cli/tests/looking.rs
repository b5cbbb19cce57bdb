//! The program on large, damaged, newer and read-only stacks, and with readers that close the output early.

// Only on Unix: permissions, signals and pipes.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use callstack_core::frame::{FrameLimits, ModelRequest};
use callstack_core::{NewFrame, PopStatus, Stack, StackOptions, Tree};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

const MEGABYTE: usize = 1 << 20;

fn command(stack: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_callstack"));
    command.args(arguments).env("CALLSTACK_DIR", stack).env("TZ", "UTC").stdin(Stdio::null());
    for variable in ["COLUMNS", "NO_COLOR", "CLICOLOR_FORCE", "CALLSTACK_PRICES"] {
        command.env_remove(variable);
    }
    command
}

fn run(stack: &Path, arguments: &[&str]) -> Output {
    command(stack, arguments).output().unwrap()
}

/// The standard output of a command that must succeed.
fn text(stack: &Path, arguments: &[&str]) -> String {
    let output = run(stack, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{arguments:?} wrote {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The data of the envelope.
fn data(stack: &Path, arguments: &[&str]) -> Value {
    let arguments = [arguments, &["--json"]].concat();
    serde_json::from_str::<Value>(&text(stack, &arguments)).unwrap()["data"].take()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or_else(|| panic!("ended by a signal: {:?}", output.status))
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// A stack with two trees of 5,000 frames, where half of the frames are finished.
fn large(folder: &Path) {
    let stack = Stack::open(folder, StackOptions::default().mirror(false)).unwrap();
    for tree in ["Shop", "Blog"] {
        let root = stack.push(NewFrame::new(tree).root()).unwrap();
        for part in 0..50 {
            let part = stack.push(NewFrame::new(format!("{tree} part {part}")).below(root)).unwrap();
            for task in 0..49 {
                let task = stack.push(NewFrame::new(format!("Task {task}")).below(part)).unwrap();
                stack.pop(task, PopStatus::Completed, "done").unwrap();
            }
            for task in 0..49 {
                stack.plan(NewFrame::new(format!("Plan {task}")).below(part)).unwrap();
            }
        }
    }
    stack.close().unwrap();
}

#[test]
fn ten_thousand_frames_in_two_trees_are_shown_as_a_whole_and_collapsed() {
    let folder = folder();
    large(folder.path());
    let tree = data(folder.path(), &["tree"]);
    assert_eq!(tree["frames"].as_array().unwrap().len(), 9_902, "JSON has every frame");
    assert_eq!(tree["counts"]["planned"], 4_900);
    let whole = text(folder.path(), &["tree", "--all"]);
    assert_eq!(whole.lines().count(), 9_902 + 2, "a line for each frame, and the counts");
    let collapsed = text(folder.path(), &["tree"]);
    assert!(collapsed.contains("... 46 frames that are finished"), "runs of finished frames are a line");
    assert!(collapsed.lines().count() < whole.lines().count() - 4_000);
    assert_eq!(data(folder.path(), &["ready"])["frames"].as_array().unwrap().len(), 4_900);
    let shop = data(folder.path(), &["tree", "--root", "Shop", "--depth", "1"]);
    assert_eq!(shop["frames"].as_array().unwrap().len(), 51);
    assert_eq!(shop["frames"][1]["hiddenBelow"], 98);
    let planned = data(folder.path(), &["tree", "--status", "planned", "--root", "Blog"]);
    let leading = planned["frames"].as_array().unwrap().iter().filter(|frame| frame["leads"] == true).count();
    assert_eq!(leading, 51, "the root and its parts lead to the planned frames");
}

#[test]
fn a_tree_shows_what_its_frames_have_returned() {
    let folder = folder();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    let shop = stack.push(NewFrame::new("Shop")).unwrap();
    let cart = stack.push(NewFrame::new("Cart").below(shop)).unwrap();
    stack.pop(cart, PopStatus::Completed, "Cart::total() in src/cart.rs").unwrap();
    stack.close().unwrap();
    assert!(!text(folder.path(), &["tree"]).contains("Cart::total()"));
    let shown = text(folder.path(), &["tree", "--summaries"]);
    assert!(shown.contains("`-- [x] f2 Cart\n        Summary: Cart::total() in src/cart.rs\n"), "{shown}");
    let frames = data(folder.path(), &["tree", "--summaries"])["frames"].take();
    assert_eq!((&frames[0]["summary"], &frames[1]["summary"]), (&Value::Null, &"Cart::total() in src/cart.rs".into()));
}

#[test]
fn a_change_of_a_large_stack_leaves_state_json_to_others_and_the_next_command_sees_it() {
    let folder = folder();
    large(folder.path());
    text(folder.path(), &["push", "One more", "--root", "--id", "ses_more"]);
    assert_eq!(data(folder.path(), &["show", "ses_more"])["record"]["title"], "One more");
    assert!(folder.path().join("frames/ses_more.json").exists(), "the file of the changed frame is written");
    let doctor = data(folder.path(), &["doctor"]);
    assert_eq!((&doctor["isSound"], &doctor["health"]["mirror"]["state"]), (&true.into(), &"missing".into()));
}

#[test]
fn a_frame_of_a_megabyte_is_shown_whole_and_its_title_is_cut_in_lines() {
    let folder = folder();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    let long = "word ".repeat(MEGABYTE / 5);
    let frame = stack.push(NewFrame::new(format!("Title {long}")).criteria(&long)).unwrap();
    stack.pop(frame, PopStatus::Completed, format!("no spaces {}", "x".repeat(MEGABYTE))).unwrap();
    stack.close().unwrap();
    let narrow = command(folder.path(), &["tree"]).env("COLUMNS", "40").output().unwrap();
    let first = String::from_utf8(narrow.stdout).unwrap().lines().next().unwrap().to_owned();
    assert_eq!((first.chars().count(), first.ends_with('…')), (40, true), "{first}");
    let shown = command(folder.path(), &["show", "f1"]).env("COLUMNS", "40").output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let widest = shown.lines().map(|line| line.chars().count()).max();
    assert_eq!(widest, Some(40), "texts are wrapped");
    assert_eq!(shown.matches('x').count(), MEGABYTE, "nothing is left out");
    assert_eq!(data(folder.path(), &["show", "f1"])["record"]["successCriteria"], long);
}

#[test]
fn an_empty_stack_has_an_answer_to_every_question() {
    let folder = folder();
    Stack::open(folder.path(), StackOptions::default()).unwrap().close().unwrap();
    assert!(text(folder.path(), &["tree"]).starts_with("No frames yet."));
    assert!(text(folder.path(), &["ready"]).starts_with("No planned frame"));
    assert!(text(folder.path(), &["history"]).starts_with("No event"));
    assert!(text(folder.path(), &["usage"]).starts_with("No request"));
    assert_eq!(text(folder.path(), &["watch", "--until-idle"]), "");
    assert_eq!(data(folder.path(), &["doctor"])["isSound"], true);
    assert_eq!(code(&run(folder.path(), &["show", "f1"])), 4);
}

#[test]
fn a_stack_of_a_newer_version_is_refused_and_stays_as_it_was() {
    let folder = folder();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    stack.push(NewFrame::new("Shop")).unwrap();
    stack.close().unwrap();
    // The version of the schema, at its place in an SQLite database (file format, section 1.3).
    let path = folder.path().join("stack.db");
    let mut bytes = fs::read(&path).unwrap();
    bytes[60..64].copy_from_slice(&9_u32.to_be_bytes());
    fs::write(&path, &bytes).unwrap();
    for arguments in [&["tree"][..], &["push", "Task"], &["export"]] {
        let output = run(folder.path(), arguments);
        let message = String::from_utf8(output.stderr.clone()).unwrap();
        assert_eq!(code(&output), 1, "{message}");
        assert!(message.contains("has version 9") && message.contains("update"), "{message}");
    }
    let doctor: Value = serde_json::from_slice(&run(folder.path(), &["doctor", "--json"]).stdout).unwrap();
    assert_eq!(doctor["data"]["isSound"], false);
    assert_eq!(fs::read(&path).unwrap(), bytes, "the file was not changed");
}

#[test]
fn a_damaged_event_is_found_and_the_command_says_what_to_do() {
    let folder = folder();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    stack.push(NewFrame::new("A title that is easy to find")).unwrap();
    stack.close().unwrap();
    let path = folder.path().join("stack.db");
    let mut bytes = fs::read(&path).unwrap();
    let place = bytes.windows(11).position(|window| window == b"\"revision\":").unwrap();
    bytes[place] = b'?';
    fs::write(&path, bytes).unwrap();
    let output = run(folder.path(), &["doctor", "--json"]);
    assert_eq!(code(&output), 1);
    let doctor: Value = serde_json::from_slice(&output.stdout).unwrap();
    let problem = &doctor["data"]["problems"][0];
    assert!(problem["message"].as_str().unwrap().contains("is damaged"), "{problem}");
    assert!(problem["nextStep"].as_str().unwrap().contains("copy the folder"), "{problem}");
}

/// A stack with finished trees. Its snapshot contains a tree that the events do not give.
fn with_a_damaged_snapshot() -> TempDir {
    let folder = folder();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    for number in 0..80 {
        let frame = stack.push(NewFrame::new(format!("Task number {number}")).root()).unwrap();
        stack.pop(frame, PopStatus::Completed, "Done").unwrap();
    }
    stack.history().compact(0).unwrap();
    stack.close().unwrap();
    let path = folder.path().join("stack.db");
    let (mut bytes, whole) = (fs::read(&path).unwrap(), br#""title":"Task number 7""#);
    let places: Vec<usize> = (0..bytes.len() - whole.len()).filter(|at| bytes[*at..].starts_with(whole)).collect();
    // One place is in an event, and one is in the snapshot. The pages of the snapshot come later.
    bytes[places.last().unwrap() + 10] = b'M';
    assert!(places.len() > 1, "the frame is in the snapshot");
    fs::write(&path, bytes).unwrap();
    folder
}

#[test]
fn a_repair_makes_the_snapshot_and_the_files_again() {
    let folder = with_a_damaged_snapshot();
    fs::write(folder.path().join("state.json"), "{").unwrap();
    let found = run(folder.path(), &["doctor"]);
    let text = String::from_utf8_lossy(&found.stdout);
    assert!(code(&found) == 1 && text.contains("doctor --repair"), "{text}");
    let compacted = run(folder.path(), &["compact", "--days", "0"]);
    assert_eq!(code(&compacted), 1);
    let repaired = data(folder.path(), &["doctor", "--repair"]);
    assert_eq!((&repaired["isSound"], &repaired["isRepaired"]), (&true.into(), &true.into()), "{repaired}");
    assert_eq!(repaired["health"]["mirror"]["state"], "current");
    assert!(run(folder.path(), &["show", "Task number 7"]).status.success());
    assert!(run(folder.path(), &["compact", "--days", "0"]).status.success());
}

/// An open stack with three tasks.
fn three_tasks(folder: &Path) -> Stack {
    let stack = Stack::open(folder, StackOptions::default()).unwrap();
    for title in ["Task 0", "Task 1", "Task 2"] {
        stack.push(NewFrame::new(title).root()).unwrap();
    }
    stack
}

#[test]
fn a_refused_history_leaves_nothing_and_a_good_one_makes_the_stack_in_any_free_folder() {
    let (folder, other) = (folder(), TempDir::new().unwrap());
    let stack = three_tasks(folder.path());
    stack.close().unwrap();
    let events = other.path().join("events.jsonl");
    assert!(run(folder.path(), &["export", "--format", "events", events.to_str().unwrap()]).status.success());
    let whole = fs::read_to_string(&events).unwrap();
    let damaged = whole.replace("Task 2", "Task 2\"");
    let target = other.path().join("new/stack");
    for (content, is_good) in [(&damaged, false), (&whole, true)] {
        fs::write(&events, content).unwrap();
        let output = run(&target, &["import", "--new", events.to_str().unwrap()]);
        assert_eq!(output.status.success(), is_good, "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(target.parent().unwrap().exists(), is_good, "what a refused history leaves");
    }
    let names = |folder: &Path| {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| !name.starts_with("stack.db-") && !name.starts_with(".mirror."));
        names.sort();
        names
    };
    assert_eq!(names(&target), [".gitignore", "frames", "stack.db", "state.json"]);
    assert_eq!(names(target.parent().unwrap()), ["stack"], "nothing unfinished is left");
    // Into a folder that exists and has other files.
    let existing = other.path().join("existing");
    fs::create_dir(&existing).unwrap();
    fs::write(existing.join("notes.txt"), "mine").unwrap();
    assert!(run(&existing, &["import", "--new", events.to_str().unwrap()]).status.success());
    assert_eq!(names(&existing), ["frames", "notes.txt", "stack.db", "state.json"]);
    // Nothing replaces a database, no matter what has made it.
    let taken = other.path().join("taken");
    fs::create_dir_all(taken.join("stack.db")).unwrap();
    assert!(!run(&taken, &["import", "--new", events.to_str().unwrap()]).status.success());
    assert!(taken.join("stack.db").is_dir());
    assert_eq!(fs::read_dir(&taken).unwrap().count(), 1, "nothing else is left there");
    for stack in [&target, &existing] {
        assert_eq!(data(stack, &["tree"])["frames"].as_array().unwrap().len(), 3);
    }
}

#[test]
fn an_exported_state_is_the_same_in_a_file_and_on_the_standard_output() {
    let (folder, other) = (folder(), TempDir::new().unwrap());
    let stack = three_tasks(folder.path());
    let state = stack.read(Tree::state).unwrap();
    stack.close().unwrap();
    let file = other.path().join("state.json");
    assert!(run(folder.path(), &["export", file.to_str().unwrap()]).status.success());
    let output = run(folder.path(), &["export"]);
    assert_eq!(fs::read_to_string(&file).unwrap() + "\n", String::from_utf8_lossy(&output.stdout));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(callstack_core::StackState::from_json(&text).unwrap().0, state);
    assert_eq!(data(folder.path(), &["export"])["state"], serde_json::from_str::<Value>(&text).unwrap());
}

#[test]
fn an_export_ends_quietly_when_its_reader_has_enough() {
    let folder = folder();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    let text = "Totals are right for all rates. ".repeat(20_000);
    stack.push(NewFrame::new("Shop").criteria(text)).unwrap();
    stack.close().unwrap();
    for format in ["state", "events"] {
        let mut export = command(folder.path(), &["export", "--format", format]);
        let mut export = export.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut beginning = [0; 10];
        export.stdout.take().unwrap().read_exact(&mut beginning).unwrap();
        let output = export.wait_with_output().unwrap();
        assert_eq!((code(&output), String::from_utf8_lossy(&output.stderr).as_ref()), (0, ""), "{format}");
    }
}

#[test]
fn an_examination_beside_a_process_that_works_finds_nothing_wrong() {
    let folder = folder();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    stack.push(NewFrame::new("Shop").id("shop")).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0.. {
                stack.add_decision("shop", format!("Decision {number}")).unwrap();
                stack.files().flush().unwrap();
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        for _ in 0..30 {
            let found = run(folder.path(), &["doctor"]);
            if code(&found) != 0 {
                is_over.store(true, Ordering::Relaxed);
                panic!("{}", String::from_utf8_lossy(&found.stdout));
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn the_newest_events_of_a_long_history_are_those_at_its_end() {
    let folder = folder();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    stack.push(NewFrame::new("Shop").id("shop")).unwrap();
    let frame = |number: usize| callstack_core::Frame {
        session_id: format!("task_{number}"),
        title: format!("Task {number}"),
        ..Default::default()
    };
    stack.import((0..9_000).map(frame).collect()).unwrap();
    stack.add_decision("shop", "The last one").unwrap();
    let all = stack.history().events(&callstack_core::EventQuery::default()).unwrap();
    stack.close().unwrap();
    for tail in [0, 1, 5_000, 20_000] {
        let shown = data(folder.path(), &["history", "--tail", &tail.to_string()]);
        let shown: Vec<u64> =
            shown["events"].as_array().unwrap().iter().map(|event| event["revision"].as_u64().unwrap()).collect();
        let expected: Vec<u64> = all.iter().skip(all.len().saturating_sub(tail)).map(|event| event.revision).collect();
        assert!(shown == expected, "the newest {tail}");
    }
}

#[test]
fn reading_commands_write_nothing() {
    let folder = folder();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    stack.push(NewFrame::new("Shop").id("ses_1")).unwrap();
    stack.close().unwrap();
    fs::remove_file(folder.path().join("state.json")).unwrap();
    let files = || {
        let mut files: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap())
            // Readers write their number into the shared memory of a database.
            .filter(|entry| entry.file_name() != "stack.db-shm")
            .map(|entry| (entry.file_name(), entry.metadata().unwrap().modified().unwrap()))
            .collect();
        files.sort();
        files
    };
    let before = files();
    for arguments in [
        &["tree"][..],
        &["show", "f1"],
        &["context", "f1"],
        &["ready"],
        &["log", "f1"],
        &["history"],
        &["usage"],
        &["watch", "--until-idle"],
        &["export"],
        &["doctor"],
    ] {
        text(folder.path(), arguments);
        assert_eq!(files(), before, "after {arguments:?}");
    }
}

#[test]
fn files_of_an_earlier_version_are_not_imported_by_a_look() {
    let folder = folder();
    let state = r#"{"version": 1, "frames": {}, "rootFrameIDs": []}"#;
    fs::write(folder.path().join("state.json"), state).unwrap();
    let output = run(folder.path(), &["tree", "--json"]);
    let error: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!((code(&output), &error["data"]["code"]), (1, &"not_imported".into()));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing was created");
}

#[test]
fn a_reader_that_has_enough_ends_the_program_quietly() {
    let folder = folder();
    large(folder.path());
    for arguments in [&["tree", "--all"][..], &["tree", "--json"], &["history"], &["watch", "--since", "0"]] {
        let mut program =
            command(folder.path(), arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::with_capacity(16, program.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let output = program.wait_with_output().unwrap();
        assert_eq!((code(&output), String::from_utf8_lossy(&output.stderr).as_ref()), (0, ""), "{arguments:?}");
    }
}

#[test]
fn watching_ends_when_its_output_is_closed_also_if_nothing_happens() {
    let folder = folder();
    Stack::open(folder.path(), StackOptions::default()).unwrap().close().unwrap();
    let mut program = command(folder.path(), &["watch"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(program.stdout.take());
    assert_eq!(program.wait().unwrap().code(), Some(0));
}

#[test]
fn watching_shows_what_other_processes_do_and_an_interrupt_ends_it_with_130() {
    let folder = folder();
    Stack::open(folder.path(), StackOptions::default()).unwrap().close().unwrap();
    let mut watch =
        command(folder.path(), &["watch", "--json", "--since", "0"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    text(folder.path(), &["push", "Shop", "--id", "ses_shop"]);
    let change = next();
    assert_eq!((&change["kind"], &change["schemaVersion"]), (&"change".into(), &1.into()));
    assert_eq!((&change["data"]["kind"], &change["data"]["title"]), (&"added".into(), &"Shop".into()));
    assert_eq!(next()["data"]["kind"], "activeChanged");
    text(folder.path(), &["pop", "ses_shop", "--results", "done"]);
    assert_eq!(next()["data"]["status"], "completed");
    let process = Pid::from_raw(watch.id().try_into().unwrap()).unwrap();
    kill_process(process, Signal::INT).unwrap();
    assert_eq!(watch.wait().unwrap().code(), Some(130));
}

#[test]
fn without_a_terminal_there_are_no_colours_and_lines_have_no_limit() {
    let folder = folder();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    let title =
        "A title that is longer than any terminal would show in one line, because it goes on and on and on and on";
    stack.push(NewFrame::new(title)).unwrap();
    stack.close().unwrap();
    let shown = text(folder.path(), &["tree"]);
    assert!(shown.contains(title) && !shown.contains('\u{1b}'), "{shown}");
    let forced = command(folder.path(), &["tree"]).env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(String::from_utf8(forced.stdout).unwrap().contains('\u{1b}'));
    let refused = command(folder.path(), &["tree", "--color", "never"]).env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(!String::from_utf8(refused.stdout).unwrap().contains('\u{1b}'));
}

#[test]
fn texts_of_frames_cannot_give_orders_to_the_terminal() {
    let folder = folder();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    let evil = "\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}evil\r\nnext";
    let frame = stack.push(NewFrame::new(evil).criteria(evil)).unwrap();
    stack.add_decision(frame, evil).unwrap();
    stack.log(frame).append(&[serde_json::json!({"role": "user", "text": evil, "name": evil})]).unwrap();
    stack.block(frame, evil, Some(evil.into())).unwrap();
    stack.close().unwrap();
    for arguments in
        [&["tree"][..], &["show", "f1"], &["log", "f1"], &["history"], &["watch", "--since", "0", "--until-idle"]]
    {
        let shown = text(folder.path(), arguments);
        let orders: Vec<char> = shown
            .chars()
            .filter(|character| character.is_control() && *character != '\n' || *character == '\u{202e}')
            .collect();
        assert!(orders.is_empty(), "{arguments:?} wrote {orders:?}");
        assert!(shown.contains("evil"), "{arguments:?}");
    }
    let error = run(folder.path(), &["show", evil]);
    let message = String::from_utf8(error.stderr).unwrap();
    assert!(!message.trim_end().contains(|character: char| character.is_control() && character != '\n'), "{message:?}");
}

#[test]
fn a_full_disk_behind_the_standard_output_is_a_failure() {
    let folder = folder();
    Stack::open(folder.path(), StackOptions::default()).unwrap().close().unwrap();
    let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    let mut program = command(folder.path(), &["tree"]).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let mut message = String::new();
    program.stderr.take().unwrap().read_to_string(&mut message).unwrap();
    assert_eq!(program.wait().unwrap().code(), Some(1));
    assert!(message.contains("cannot write the output"), "{message}");
}

#[test]
fn a_damaged_frame_fails_what_shows_or_exports_it() {
    let folder = TempDir::new().unwrap();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    stack.push(NewFrame::new("Lost frame")).unwrap();
    stack.pop("Lost frame", PopStatus::Completed, "Done").unwrap();
    stack.push(NewFrame::new("Shop")).unwrap();
    stack.history().compact(u64::MAX).unwrap();
    stack.close().unwrap();
    let other = TempDir::new().unwrap();
    let export = other.path().join("out.json");
    let export = ["export", export.to_str().unwrap(), "--force"];
    assert!(run(folder.path(), &export).status.success());
    fs::remove_file(export[1]).unwrap();

    let database = folder.path().join("stack.db");
    let (mut bytes, whole) = (fs::read(&database).unwrap(), br#""title":"Lost frame""#);
    let places: Vec<usize> = (0..bytes.len() - whole.len()).filter(|at| bytes[*at..].starts_with(whole)).collect();
    assert!(!places.is_empty(), "the frame is not in the database");
    places.iter().for_each(|at| bytes[at + r#""title""#.len()] = b' ');
    fs::write(&database, bytes).unwrap();
    for arguments in [&["tree", "--all"][..], &["usage"], &["export"], &["export", "--format", "svg"], &export] {
        let output = run(folder.path(), arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {errors}");
        assert!(errors.contains("the snapshot cannot be read") && errors.contains("callstack doctor"), "{errors}");
    }
    assert!(!Path::new(export[1]).exists(), "a false file was written");
    assert!(run(folder.path(), &["show", "Shop"]).status.success());
    let doctor = run(folder.path(), &["doctor"]);
    let text = String::from_utf8_lossy(&doctor.stdout);
    assert!(doctor.status.code() == Some(1) && text.contains("restores the frames from state.json"), "{text}");
}

#[test]
fn short_processes_leave_no_long_log() {
    let folder = TempDir::new().unwrap();
    let frame = |number: usize| {
        let (id, text) = (format!("old_{number}"), "It works. ".repeat(200));
        (
            id.clone(),
            serde_json::json!({ "sessionID": id, "title": "Old", "status": "completed", "successCriteria": text }),
        )
    };
    let frames: serde_json::Map<String, Value> = (0..9_000).map(frame).collect();
    let file = folder.path().join("frames.json");
    fs::write(&file, serde_json::json!({ "frames": frames }).to_string()).unwrap();
    let stack = folder.path().join("stack");
    let log = || fs::metadata(stack.join("stack.db-wal")).map_or(0, |data| data.len());
    assert!(run(&stack, &["import", file.to_str().unwrap(), "--new"]).status.success());
    assert!(log() < 20 * MEGABYTE as u64, "the import leaves a log of {} bytes", log());
    for _ in 0..3 {
        assert!(run(&stack, &["push", "--root", "Next"]).status.success());
        assert!(log() < MEGABYTE as u64, "a command leaves a log of {} bytes", log());
    }
}

#[test]
fn limits_and_costs_of_hosts_are_shown_wherever_a_frame_is_looked_at() {
    let folder = folder();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    let shop = stack.push(NewFrame::new("Shop").root()).unwrap();
    let cart = stack.push(NewFrame::new("Cart").below(shop)).unwrap();
    let limits = FrameLimits::default().max_tokens(Some(120_000)).max_cost_micro_usd(Some(5_000_000));
    stack.set_limits(shop, limits.tools(Some(vec!["Read".into()]))).unwrap();
    for (frame, cost) in [(shop, 20_000), (cart, 320_000)] {
        let request = ModelRequest { output: 5, cost_micro_usd: cost, ..ModelRequest::new("small") };
        stack.record_usage(frame, request).unwrap();
    }
    let limits = "120000 tokens, 5 US dollars, tools Read";
    let shown = text(folder.path(), &["show", "f1"]);
    assert!(shown.contains(limits), "{shown}");
    assert!(shown.contains("0.0200 US dollars; 0.3400 US dollars in all"), "{shown}");
    let usage = text(folder.path(), &["usage", "f1"]);
    assert!(
        usage.contains(&format!("Limits: {limits}")) && usage.contains("Cost as reported by hosts: 0.3400 US dollars"),
        "{usage}"
    );
    assert!(text(folder.path(), &["usage"]).contains("Cost as reported by hosts: 0.3400 US dollars"));
    let usage = data(folder.path(), &["usage", "f1"]);
    assert_eq!((&usage["totalCostMicroUsd"], &usage["limits"]["maxTokens"]), (&340_000.into(), &120_000.into()));
    let outside = self::folder();
    let page = outside.path().join("run.html");
    text(folder.path(), &["view", page.to_str().unwrap()]);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("\"c\":340000,\"l\":\"120000 tokens, 5 US dollars, tools Read\""), "the page has no costs");
}

#[test]
fn an_estimate_of_a_cost_is_the_same_wherever_it_is_shown() {
    let folder = folder();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    let shop = stack.push(NewFrame::new("Shop").root()).unwrap();
    let cart = stack.push(NewFrame::new("Cart").below(shop)).unwrap();
    stack.record_cost(shop, "ses_shop", 250_000).unwrap();
    assert!(text(folder.path(), &["usage"]).ends_with("recorded.\nCost as reported by hosts: 0.2500 US dollars\n"));
    let request = || ModelRequest { output: 1_000, ..ModelRequest::new("small") };
    stack.record_usage(cart, request()).unwrap();
    stack.record_cost(cart, "ses_cart", 1_000_000).unwrap();
    stack.record_usage(cart, request()).unwrap();
    let total = stack.usage(shop).unwrap().total_cost_micro_usd;
    assert!(total > 1_250_000, "{total}: the second request is estimated");
    assert_eq!(data(folder.path(), &["usage", "f1"])["totalCostMicroUsd"], total);
    let shown = format!("{:.4} US dollars", total as f64 / 1e6);
    assert!(text(folder.path(), &["show", "f1"]).contains(&shown), "{shown}");
    let outside = self::folder();
    let page = outside.path().join("run.html");
    text(folder.path(), &["view", page.to_str().unwrap()]);
    assert!(fs::read_to_string(page).unwrap().contains(&format!("\"c\":{total}")), "{total}");
}
