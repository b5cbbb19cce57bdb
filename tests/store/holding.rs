//! Tests of workers with many processes on one folder.

use std::path::Path;
use std::process::{Command, Stdio};

use callstack_core::frame::WorkLeft;
use callstack_core::{Finish, FrameStatus, NewFrame, NewHold, Parent, Results, Stack, StackOptions};
use tempfile::tempdir;

const FOLDER: &str = "WORKER_TEST_FOLDER";

fn open(folder: &Path, options: StackOptions) -> Stack {
    Stack::open(folder, options.mirror(false)).unwrap()
}

#[test]
fn a_worker() {
    support::workers::work(|options| open(Path::new(&std::env::var_os(FOLDER).unwrap()), options));
}

#[test]
fn workers_that_are_killed_or_have_wrong_clocks_do_each_frame_once() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path(), StackOptions::default());
    support::workers::check(&stack, |variables| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "store::holding::a_worker", "--nocapture"])
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    });
    drop(stack);
    let again = open(folder.path(), StackOptions::default());
    assert!(again.upkeep().health().unwrap().is_sound());
}

#[test]
fn a_machine_that_dies() {
    support::holders::hold(|options| open(Path::new(&std::env::var_os(FOLDER).unwrap()), options));
}

#[test]
fn what_a_dead_machine_held_others_go_on_with() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path(), StackOptions::default());
    support::holders::check(&stack, |variables| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "store::holding::a_machine_that_dies", "--nocapture"])
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    });
    assert!(stack.upkeep().health().unwrap().is_sound());
}

/// `cargo build --examples` has built the program for this test.
#[test]
fn the_worker_of_the_examples_does_a_plan() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path(), StackOptions::default());
    stack.plan(NewFrame::new("Shop").criteria("It sells")).unwrap();
    stack.plan_children(Parent::Frame("f1".into()), vec![NewFrame::new("Cart"), NewFrame::new("Mail")]).unwrap();
    let example = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("examples/worker");
    let command = ["sh", "-c", "grep -c Shop; echo it is there"];
    let output = Command::new(example).arg(folder.path()).args(command).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    stack.refresh().unwrap();
    assert_eq!(stack.work().left(None).unwrap(), WorkLeft::default());
    assert!(stack.frame("f2").unwrap().results.unwrap().ends_with("it is there"));
}

#[test]
fn what_a_person_does_in_the_moment_of_the_end_is_not_lost() {
    let stack = Stack::in_memory();
    let shop = stack.plan(NewFrame::new("Shop")).unwrap();
    let hold = stack.work().hold(NewHold::new("anna", 60_000)).unwrap().unwrap();
    let part = stack.plan(NewFrame::new("Part").below(shop)).unwrap();
    let done = || Finish::Done(Results::new("done"));
    let split = stack.work().finish(&hold, done()).unwrap();
    assert!(split.status == FrameStatus::InProgress && split.until.is_some(), "it comes after its part: {split:?}");
    assert_eq!(stack.frame(shop).unwrap().results.as_deref(), Some("done"), "what it says is not lost");
    stack.invalidate(part, "not needed").unwrap();
    stack.stop(shop, "by a person").unwrap();
    let asks = Finish::Asks { question: "Which?".into(), results: None };
    for finish in [done(), Finish::Failed(Results::new("no")), asks.clone(), Finish::Later { wait: None }] {
        assert_eq!(stack.work().finish(&hold, finish).unwrap_err().code(), "not_free");
    }
    assert_eq!(stack.frame(shop).unwrap().status, FrameStatus::Blocked);
    stack.answer(shop, "go on").unwrap();
    let again = stack.work().hold(NewHold::new("ben", 60_000)).unwrap().unwrap();
    assert_eq!(stack.work().finish(&hold, done()).unwrap_err().code(), "hold_lost");
    assert_eq!(stack.work().finish(&again, asks).unwrap().status, FrameStatus::Blocked);
    assert_eq!(stack.frame(shop).unwrap().current_question().unwrap().question, "Which?");
}
