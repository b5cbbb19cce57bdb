//! JSON in the form in which editors and hosts on Windows write it: with a byte order mark at its beginning,
//! and with escapes of halves of surrogate pairs.

use std::fs;

use callstack_core::import::{self, Format, Problem};
use callstack_core::session::autonomy::AutonomyLevel;
use callstack_core::{
    HostSettings, MemoryStore, NewFrame, Settings, Stack, StackOptions, StackState, read_history, text, tools,
};
use serde_json::{Value, json};
use tempfile::tempdir;

/// JSON with a mark before it. Each `HALF` in the text becomes the escape of one half of a surrogate pair.
fn marked(json: &str) -> String {
    format!("\u{feff}{}", json.replace("HALF", r"\ud83d"))
}

/// The title that is read from a title with `HALF`.
const TITLE: &str = "Shop \u{fffd}";

#[test]
fn a_mark_and_halves_of_characters_keep_no_json_from_being_read() {
    assert_eq!(text::from_json::<Value>(&marked(r#"["Shop HALF"]"#)).unwrap(), json!([TITLE]));
    let state = marked(
        r#"{"version": 1, "frames": {"ses_1": {"sessionID": "ses_1", "status": "in_progress", "title": "Shop HALF",
        "successCriteria": "", "createdAt": 1}}, "rootFrameIDs": ["ses_1"], "updatedAt": 1}"#,
    );
    for (read, repairs) in [StackState::from_json(&state).unwrap(), StackState::salvage(state.as_bytes()).unwrap()] {
        assert_eq!((&*read.frames[0].title, &repairs[..]), (TITLE, &[][..]));
    }
    let tasks = marked(r#"{"tasks": [{"id": 1, "title": "Shop HALF", "status": "pending"}]}"#);
    let issues = marked(r#"{"id": "x-1", "title": "Shop HALF", "status": "open"}"#);
    for (plan, format) in [(&state, Format::State), (&tasks, Format::TaskMaster), (&issues, Format::Beads)] {
        assert_eq!(Format::of(plan).unwrap(), format);
        let (tree, problems) = import::read(plan).unwrap();
        assert!(problems.len() < 2 && tree.state().frames.iter().any(|frame| frame.title == TITLE), "{problems:?}");
        let plan = import::frames(plan).unwrap();
        assert!(plan.frames.iter().any(|frame| frame.title == TITLE), "{plan:?}");
        let is_reported = |problem: &Problem| problem.message.contains("half of a character");
        assert!(plan.problems.iter().all(is_reported), "{plan:?}");
    }
    for plan in [import::task_master(&tasks).unwrap(), import::beads(&issues)] {
        assert!(plan.problems.len() == 1 && plan.frames[1].title == TITLE, "{plan:?}");
    }
    assert_eq!(Settings::from_json(&marked(r#"{"budget": {"total": 900}}"#)).unwrap().budget.total, 900);
    for (settings, problems) in [
        HostSettings::from_variables(|_| None, &marked(r#"{"calls": {"maxDepth": 3}}"#)),
        HostSettings::from_environment(&marked(r#"{"calls": {"maxDepth": 3}}"#)),
    ] {
        assert!(problems.is_empty() && settings.calls.max_depth == 3, "{problems:?}");
    }
}

#[test]
fn a_mark_and_halves_of_characters_keep_no_history_from_being_read() {
    let stack = Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap();
    stack.push(NewFrame::new("Shop HALF").id("ses_1")).unwrap();
    let mut history = Vec::new();
    stack.history().export(&mut history).unwrap();
    let history = marked(&String::from_utf8(history).unwrap());
    assert_eq!(read_history(history.as_bytes()).collect::<Result<Vec<_>, _>>().unwrap().len(), 2);
    let folder = tempdir().unwrap();
    let again = Stack::rebuild(folder.path(), history.as_bytes(), StackOptions::default()).unwrap();
    assert_eq!(again.frame("ses_1").unwrap().title, TITLE);
}

#[test]
fn a_mark_and_halves_of_characters_keep_no_file_of_a_stack_from_being_read() {
    let folder = tempdir().unwrap();
    let write = |name: &str, json: &str| fs::write(folder.path().join(name), marked(json)).unwrap();
    write("settings.json", r#"{"autonomy": {"level": "auto"}}"#);
    write(
        "state.json",
        r#"{"version": 1, "frames": {"ses_1": {"sessionID": "ses_1", "status": "in_progress", "title": "Shop HALF",
        "successCriteria": "", "createdAt": 1}}, "rootFrameIDs": ["ses_1"], "updatedAt": 1}"#,
    );
    fs::create_dir(folder.path().join("frames")).unwrap();
    write(
        "frames/ses_2.json",
        r#"{"sessionID": "ses_2", "status": "blocked", "title": "Shop HALF", "successCriteria": "", "createdAt": 2}"#,
    );
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    assert_eq!(["ses_1", "ses_2"].map(|id| stack.frame(id).unwrap().title), [TITLE; 2]);
    assert!(stack.host().configure(HostSettings::default()).is_empty());
    assert_eq!(stack.host().settings().autonomy.level, AutonomyLevel::Auto);
    stack.files().flush().unwrap();
    write("frames/ses_1.json", &fs::read_to_string(folder.path().join("frames/ses_1.json")).unwrap());
    assert!(!stack.upkeep().repair().unwrap().are_rewritten, "no file is wrong");
}

#[test]
fn a_mark_and_halves_of_characters_keep_no_call_of_a_tool_from_being_read() {
    let stack = Stack::in_memory();
    let children =
        r#"[{"title": "Shop HALF", "successCriteria": "It sells", "successCriteriaCompacted": "sells"}]"#.to_owned();
    stack.push(NewFrame::new("Shops").id("ses_1")).unwrap();
    // Some hosts send lists as texts.
    for list in [children.clone(), json!(marked(&children)).to_string()] {
        let answer =
            tools::call(&stack, "ses_1", "stack_frame_plan_children", &marked(&format!(r#"{{"children": {list}}}"#)));
        assert!(!answer.is_error, "{answer:?}");
    }
    assert_eq!(["f2", "f3"].map(|frame| stack.frame(frame).unwrap().title), [TITLE; 2]);
}
