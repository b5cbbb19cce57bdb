//! The tests that every store has to pass: a model with random commands, many processes on one stack, processes that are killed at
//! any moment, and failures of each call of the store.

use callstack_core::{Stack, StackOptions, StackState};
use callstack_postgres::OpenUrl;
use proptest::prelude::*;
use support::Random;
use support::processes::{Suite, setting};

use crate::server::Server;

const SUITE: Suite =
    Suite { open, worker: "shared::a_worker", check_left: |_| {}, check_place: |place, stack, state| check(place, stack, state) };

fn open(url: &str, options: StackOptions) -> Stack {
    Stack::open_url(url, options).unwrap()
}

/// Checks that a stack which is opened anew shows the same.
fn check(url: &str, _: &Stack, state: &StackState) {
    assert_eq!(open(url, StackOptions::default()).state(), *state);
}

/// Does nothing without a role, as in an ordinary test run.
#[test]
fn a_worker() {
    SUITE.work();
}

#[test]
fn processes_share_a_tree_without_losing_anything() {
    let server = Server::shared();
    SUITE.share(&format!("{}/stack", server.database()));
}

#[test]
fn processes_may_be_killed_at_any_moment() {
    let server = Server::shared();
    SUITE.kill_at_any_moment(&format!("{}/stack", server.database()), &["endless", "endless"]);
}

#[test]
fn a_compaction_may_be_killed_at_any_moment_beside_others() {
    let server = Server::shared();
    SUITE.kill_at_any_moment(&format!("{}/stack", server.database()), &["endless", "compact", "endless"]);
}

#[test]
fn a_snapshot_and_a_repair_may_be_killed_at_any_moment_beside_others() {
    let server = Server::shared();
    SUITE.kill_at_any_moment(&format!("{}/stack", server.database()), &["endless", "snapshot", "endless"]);
}

#[test]
fn stacks_do_what_a_naive_model_does() {
    let server = Server::shared();
    let url = server.database();
    let cases = u32::try_from(setting("STACK_TEST_CASES", 24)).unwrap();
    let config = ProptestConfig { failure_persistence: None, cases, ..ProptestConfig::default() };
    proptest!(config, |(seed in any::<u64>(), length in 50usize..300)| {
        let stack = format!("{url}/model_{seed}_{length}");
        let open = |options| Stack::open_url(&stack, options).unwrap();
        support::model::check_in_store(&mut Random::new(seed), length, seed as usize % 2, &open);
    });
}
