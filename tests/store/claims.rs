//! Tests of claims with many processes on one folder.

use std::path::Path;
use std::process::{Command, Stdio};

use callstack_core::{Stack, StackOptions};
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
