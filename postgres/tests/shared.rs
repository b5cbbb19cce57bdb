//! The tests that every store has to pass: a model with random commands, many processes on one stack,
//! processes that are killed at any moment, and failures of each call of the store.

use std::cell::Cell;
use std::process::{Command, Stdio};
use std::sync::Arc;

use callstack_core::{LogQuery, Stack, StackOptions, StackState, Store};
use callstack_postgres::{OpenUrl, PostgresOptions, PostgresServer};
use proptest::prelude::*;
use support::faults::{self, Faulty, Place};
use support::processes::Suite;
use support::setting;
use support::{Queries, Random};

use crate::server::Server;

const SUITE: Suite = Suite {
    open,
    worker: "shared::a_worker",
    check_left: |_| {},
    check_place: |place, stack, state| check(place, stack, state),
};

fn open(url: &str, options: StackOptions) -> Stack {
    Stack::open_url(url, options).unwrap()
}

/// Checks that a stack that is opened again shows the same state.
fn check(url: &str, _: &Stack, state: &StackState) {
    assert_eq!(open(url, StackOptions::default()).state().unwrap(), *state);
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

/// A stack in a database.
struct Row {
    server: PostgresServer,
    stack: String,
}

impl Place for Row {
    fn store(&self) -> Box<dyn Store> {
        Box::new(self.server.store("default", &self.stack).unwrap())
    }

    fn stack(&self, store: Faulty) -> Stack {
        Stack::with_store(store, StackOptions::default()).unwrap()
    }

    fn commits_logs(&self) -> bool {
        true
    }

    fn log(&self) -> String {
        let stack =
            Stack::with_store(self.server.store("default", &self.stack).unwrap(), StackOptions::default()).unwrap();
        let logs = ["plan-2", "ses_2"].map(|frame| stack.log(frame).read(&LogQuery::default()));
        logs.into_iter().flatten().flat_map(|page| page.lines).map(|line| line.entry.to_string()).collect()
    }

    fn check(&self, context: &str) {
        let stack =
            Stack::with_store(self.server.store("default", &self.stack).unwrap(), StackOptions::default()).unwrap();
        assert_eq!(stack.history().check().unwrap(), [""; 0], "{context}");
    }
}

/// Makes places in a new database.
fn places() -> (Arc<Server>, impl Fn() -> Box<dyn Place>) {
    let server = Server::shared();
    let connections = PostgresServer::connect(&server.database(), PostgresOptions::default()).unwrap();
    let count = Cell::new(0);
    let make = move || {
        count.set(count.get() + 1);
        Box::new(Row { server: connections.clone(), stack: format!("stack {}", count.get()) }) as Box<dyn Place>
    };
    (server, make)
}

#[test]
fn a_store_that_fails_at_any_call_changes_nothing() {
    let (_server, make) = places();
    faults::a_store_that_fails_at_any_call_changes_nothing(&make);
}

#[test]
fn a_run_whose_store_fails_at_any_call_goes_on_and_its_logs_lack_nothing() {
    let (_server, make) = places();
    faults::a_run_whose_store_fails_at_any_call_goes_on(&make);
}

#[test]
fn an_event_is_kept_whole_or_not_at_all() {
    let (_server, make) = places();
    faults::an_event_is_kept_whole_or_not_at_all(&make);
}

/// The URL of the stack that a worker opens.
const WORKERS_URL: &str = "WORKER_TEST_URL";

#[test]
fn a_holding_worker() {
    support::workers::work(|options| open(&std::env::var(WORKERS_URL).unwrap(), options));
}

#[test]
fn workers_that_are_killed_or_have_wrong_clocks_do_each_frame_once() {
    let server = Server::shared();
    let url = format!("{}/workers", server.database());
    let stack = open(&url, StackOptions::default());
    support::workers::check(&stack, |variables| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "shared::a_holding_worker", "--nocapture"])
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .env(WORKERS_URL, &url)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    });
    assert_eq!(stack.history().check().unwrap(), [""; 0]);
}

#[test]
fn a_machine_that_dies() {
    support::holders::hold(|options| open(&std::env::var(WORKERS_URL).unwrap(), options));
}

#[test]
fn what_a_dead_machine_held_others_go_on_with() {
    let server = Server::shared();
    let url = format!("{}/holders", server.database());
    let stack = open(&url, StackOptions::default());
    // Another home, another folder and another name: the processes only have the server in common.
    let elsewhere = tempfile::tempdir().unwrap();
    support::holders::check(&stack, |variables| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "shared::a_machine_that_dies", "--nocapture"])
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .envs(["HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "TMPDIR"].map(|name| (name, elsewhere.path())))
            .env("HOSTNAME", "far")
            .current_dir(elsewhere.path())
            .env(WORKERS_URL, &url)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    });
    assert_eq!(stack.history().check().unwrap(), [""; 0]);
}
