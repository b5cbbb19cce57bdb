//! Tests of claims with many processes on one folder.

use std::path::Path;
use std::process::{Command, Stdio};

use callstack_core::{FrameStatus, NewClaim, NewFrame, PopStatus, Stack, StackOptions};
use tempfile::tempdir;

const FOLDER: &str = "CLAIM_TEST_FOLDER";

fn open(folder: &Path, options: StackOptions) -> Stack {
    Stack::open(folder, options.mirror(false)).unwrap()
}

#[test]
fn a_worker() {
    support::claims::work(|options| open(Path::new(&std::env::var_os(FOLDER).unwrap()), options));
}

#[test]
fn workers_that_are_killed_or_have_wrong_clocks_do_each_frame_once() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path(), StackOptions::default());
    support::claims::check(&stack, |variables| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "store::claims::a_worker", "--nocapture"])
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    });
    drop(stack);
    let again = open(folder.path(), StackOptions::default());
    assert!(again.health().unwrap().is_sound());
}

#[test]
fn what_a_person_does_in_the_moment_of_the_end_is_not_lost() {
    let stack = Stack::in_memory();
    let shop = stack.plan(NewFrame::new("Shop")).unwrap();
    let claimed = stack.claim(NewClaim::new("anna", 60_000)).unwrap().unwrap();
    let part = stack.plan(NewFrame::new("Part").below(shop)).unwrap();
    let early = stack.finish_claim(&claimed, PopStatus::Completed, "done").unwrap_err();
    assert!(early.code() == "not_claimable" && early.to_string().contains("f2 is planned"), "{early}");
    stack.invalidate(part, "not needed").unwrap();
    stack.stop(shop, "by a person").unwrap();
    for status in [PopStatus::Completed, PopStatus::Failed, PopStatus::Blocked] {
        assert_eq!(stack.finish_claim(&claimed, status, "done").unwrap_err().code(), "not_claimable");
    }
    assert_eq!(stack.frame(shop).unwrap().status, FrameStatus::Blocked);
    stack.answer(shop, "go on").unwrap();
    let again = stack.claim(NewClaim::new("ben", 60_000)).unwrap().unwrap();
    assert_eq!(stack.finish_claim(&claimed, PopStatus::Completed, "late").unwrap_err().code(), "claim_lost");
    stack.finish_claim(&again, PopStatus::Blocked, "Which colour?").unwrap();
    assert_eq!(stack.frame(shop).unwrap().current_question().unwrap().question, "Which colour?");
}
