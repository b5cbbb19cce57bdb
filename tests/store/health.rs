//! Tests of the examination of a stack: what it finds, and that it changes nothing.

use std::fs;
use std::path::Path;

use callstack_core::stack::MirrorHealth;
use callstack_core::{Command, NewFrame, Stack, StackOptions};
use rusqlite::Connection;
use tempfile::tempdir;

fn open(folder: &Path) -> Stack {
    Stack::open(folder, StackOptions::default()).unwrap()
}

#[test]
fn a_sound_stack_is_sound_and_its_files_follow_the_history() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    stack.push(NewFrame::new("Shop").id("ses_1")).unwrap();
    stack.files().flush().unwrap();
    let health = stack.upkeep().health().unwrap();
    assert!(health.is_sound(), "{health:?}");
    assert_eq!((health.revision, health.frames, health.database.events), (2, 1, 2));
    assert_eq!(health.mirror, MirrorHealth::Current {});
    stack.close().unwrap();

    let other = Stack::open(folder.path(), StackOptions::default().mirror(false)).unwrap();
    other.add_decision("ses_1", "Use SQLite").unwrap();
    let health = other.upkeep().health().unwrap();
    assert_eq!((health.mirror.clone(), health.is_sound()), (MirrorHealth::Behind { revision: 2 }, true));
    fs::remove_file(folder.path().join("state.json")).unwrap();
    assert_eq!(other.upkeep().health().unwrap().mirror, MirrorHealth::Missing {});
}

#[test]
fn a_state_file_of_another_tree_is_found() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    stack.push(NewFrame::new("Shop").id("ses_1")).unwrap();
    stack.close().unwrap();
    let path = folder.path().join("state.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("Shop", "Ship")).unwrap();
    let stack = Stack::open(folder.path(), StackOptions::default().mirror(false)).unwrap();
    let health = stack.upkeep().health().unwrap();
    assert_eq!((health.mirror.clone(), health.is_sound()), (MirrorHealth::Different { revision: 2 }, false));
    assert!(fs::read_to_string(&path).unwrap().contains("Ship"), "the file was not changed");
}

#[test]
fn an_event_that_was_changed_while_the_stack_is_open_is_found() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    stack.push(NewFrame::new("Shop").id("ses_1")).unwrap();
    stack.push(NewFrame::new("Cart").id("ses_2")).unwrap();
    let tamper = Connection::open(folder.path().join("stack.db")).unwrap();
    let changed = "UPDATE events SET event = replace(event, 'Cart', 'Card') WHERE revision = 3";
    assert_eq!(tamper.execute(changed, []).unwrap(), 1);
    drop(tamper);
    let health = stack.upkeep().health().unwrap();
    assert!(!health.is_sound());
    assert!(health.history_problems[0].contains("the events give another f2"), "{:?}", health.history_problems);
}

#[test]
fn hosts_that_run_frames_are_listed_with_whether_they_live() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    let shop = stack.push(NewFrame::new("Shop").id("ses_1")).unwrap();
    let cart = stack.push(NewFrame::new("Cart").id("ses_2").below(shop)).unwrap();
    let begin = Command::BeginCall {
        frame: cart.into(),
        session_id: None,
        host: "host-gone".into(),
        caller: "ses_1".into(),
        lease: 1,
        limits: Box::default(),
    };
    stack.execute(begin).unwrap();
    let hosts = stack.upkeep().health().unwrap().hosts;
    assert_eq!((hosts.len(), hosts[0].host.as_str(), &hosts[0].frames[..]), (1, "host-gone", &[cart][..]));
    assert!(!hosts[0].is_alive, "no process holds the lock of this host");
}

#[test]
fn a_stack_in_memory_has_no_files_to_examine() {
    assert_eq!(Stack::in_memory().upkeep().health().unwrap_err().code(), "in_memory");
}
