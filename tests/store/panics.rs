//! Tests of host code that panics or calls the stack: a panic in a command breaks the stack without a partial
//! change, a panic in a query changes nothing, and no call waits for itself.

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use callstack_core::context::TokenCounter;
use callstack_core::{
    Error, EventQuery, HistoryReader, NewFrame, Result, Settings, SqliteOptions, SqliteStore, Stack, StackOptions,
};
use support::in_time;
use support::wrapped::{Hooks, PanicInAppend, Wrapped};
use tempfile::tempdir;

/// A switch: code that checks it panics while it is on.
#[derive(Clone, Default)]
struct Switch(Arc<AtomicBool>);

impl Switch {
    fn set(&self, on: bool) {
        self.0.store(on, Ordering::Relaxed);
    }

    fn panic_if_on(&self) {
        assert!(!self.0.load(Ordering::Relaxed), "provoked by a test");
    }
}

/// A store whose history cannot be read by a separate reader.
struct WithoutReader;

impl Hooks for WithoutReader {
    fn reader(&self, _: Box<dyn HistoryReader>) -> Option<Box<dyn HistoryReader>> {
        None
    }
}

fn panics<T>(call: impl FnOnce() -> T) -> bool {
    catch_unwind(AssertUnwindSafe(call)).is_err()
}

fn assert_broken(stack: &Stack) {
    assert!(stack.is_broken());
    let refusals = [
        stack.push(NewFrame::new("Later")).map(drop),
        stack.add_decision("ses_1", "late").map(drop),
        stack.frame("ses_1").map(drop),
        stack.context("ses_1", &Settings::default()).map(drop),
        stack.refresh().map(drop),
        stack.files().flush(),
        stack.clone().close(),
    ];
    for refusal in refusals {
        assert_eq!(refusal.unwrap_err(), Error::Broken {});
    }
}

#[test]
fn a_store_that_panics_in_a_command_breaks_the_stack_and_commits_nothing() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("stack.db");
    let switch = PanicInAppend::default();
    let store = || SqliteStore::open(&path, SqliteOptions::default()).unwrap();
    let faulty = Wrapped::new(store(), switch.clone());
    let stack = Stack::open_with_store(folder.path(), faulty, StackOptions::default()).unwrap();
    stack.push(NewFrame::new("First").id("ses_1")).unwrap();

    switch.set(true);
    assert!(panics(|| stack.push(NewFrame::new("Second").id("ses_2"))));
    switch.set(false);
    assert_broken(&stack);
    assert_eq!(stack.read(|tree| tree.len()).unwrap(), 1, "the tree is not half-changed");

    // The transaction has ended, so another stack can commit while the broken stack still exists.
    let other = Stack::open_with_store(folder.path(), store(), StackOptions::default()).unwrap();
    assert!(other.frame("ses_2").is_err(), "the command was rolled back");
    other.push(NewFrame::new("Third").id("ses_3")).unwrap();
    drop(stack);
    other.close().unwrap();
    let again = Stack::open(folder.path(), StackOptions::default()).unwrap();
    assert_eq!(again.read(|tree| tree.len()).unwrap(), 2);
}

#[test]
fn a_clock_that_panics_breaks_the_stack_in_a_command_and_not_in_a_query() {
    let switch = Switch::default();
    let clock = switch.clone();
    let clock = Arc::new(move || {
        clock.panic_if_on();
        5
    });
    let stack = Stack::with_options(StackOptions::default().clock(clock));
    stack.push(NewFrame::new("First").id("ses_1")).unwrap();
    switch.set(true);
    assert!(panics(|| stack.context("ses_1", &Settings::default())));
    assert!(!stack.is_broken(), "a query changes nothing");
    assert!(panics(|| stack.add_decision("ses_1", "now")));
    switch.set(false);
    assert_broken(&stack);
}

/// A token counter that calls a function of the test.
struct Calling<Call>(Call);

impl<Call: Fn() + Send + Sync> TokenCounter for Calling<Call> {
    fn count(&self, text: &str) -> usize {
        (self.0)();
        text.len()
    }
}

#[test]
fn a_counter_that_panics_in_a_query_changes_nothing() {
    let switch = Switch::default();
    let counting = switch.clone();
    let counter = Arc::new(Calling(move || counting.panic_if_on()));
    let stack = Stack::with_options(StackOptions::default().counter(counter));
    stack.push(NewFrame::new("First").id("ses_1")).unwrap();
    switch.set(true);
    assert!(panics(|| stack.context("ses_1", &Settings::of_total(40_000))));
    switch.set(false);
    assert!(!stack.is_broken());
    stack.context("ses_1", &Settings::of_total(40_000)).unwrap();
    stack.push(NewFrame::new("Second")).unwrap();
}

#[test]
fn a_query_inside_of_read_does_not_wait_for_a_command_that_waits_for_the_read() {
    in_time("a query inside of read", || {
        let folder = tempdir().unwrap();
        let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
        stack.push(NewFrame::new("First").id("ses_1")).unwrap();
        for round in 0..20 {
            let other = stack.clone();
            let (started, begin) = mpsc::channel();
            let pushing = thread::spawn(move || {
                started.send(()).unwrap();
                other.push(NewFrame::new(format!("Round {round}"))).unwrap();
            });
            let seen = stack
                .read(|tree| {
                    begin.recv().unwrap();
                    // Gives the other thread time to wait for this thread.
                    thread::sleep(Duration::from_millis(5));
                    let inside = stack.frame("ses_1").unwrap().title;
                    let context = stack.context("ses_1", &Settings::default()).unwrap();
                    assert_eq!(stack.read(|again| again.len()).unwrap(), tree.len(), "both are the same tree");
                    let history = stack.history().events(&EventQuery::default()).unwrap();
                    assert_eq!(history.last().unwrap().revision, tree.revision(), "the history of the same tree");
                    stack.files().export(folder.path().join(format!("copy {round}"))).unwrap();
                    (inside, context.tokens > 0)
                })
                .unwrap();
            assert_eq!(seen, ("First".to_owned(), true));
            pushing.join().unwrap();
        }
    });
}

#[test]
fn a_command_inside_of_read_is_refused() {
    let stack = Stack::in_memory();
    stack.push(NewFrame::new("First").id("ses_1")).unwrap();
    let refused = stack.read(|_| stack.read(|_| stack.add_decision("ses_1", "inside")).unwrap()).unwrap();
    assert_eq!(refused.unwrap_err(), Error::InsideRead {});
    stack.add_decision("ses_1", "outside").unwrap();
    assert_eq!(stack.frame("ses_1").unwrap().decisions, ["outside"]);
}

#[test]
fn a_command_inside_of_a_token_counter_is_refused_and_a_query_answered() {
    in_time("a counter that calls its stack", || {
        let calling: Arc<OnceLock<Stack>> = Arc::default();
        let refusals = Arc::new(AtomicBool::new(false));
        let (inside, refused) = (calling.clone(), refusals.clone());
        let counter = Arc::new(Calling(move || {
            if let Some(stack) = inside.get() {
                assert_eq!(stack.frame("ses_1").unwrap().title, "First");
                assert_eq!(stack.push(NewFrame::new("Inside")).unwrap_err(), Error::InsideRead {});
                refused.store(true, Ordering::Relaxed);
            }
        }));
        let stack = Stack::with_options(StackOptions::default().counter(counter));
        stack.push(NewFrame::new("First").id("ses_1")).unwrap();
        assert!(calling.set(stack.clone()).is_ok());
        stack.context("ses_1", &Settings::of_total(40_000)).unwrap();
        assert!(refusals.load(Ordering::Relaxed), "the counter was asked");
        assert_eq!(stack.read(|tree| tree.len()).unwrap(), 1);
    });
}

#[test]
fn a_command_inside_of_a_clock_is_refused() {
    in_time("host code that calls its stack", || {
        let calling: Arc<OnceLock<Stack>> = Arc::default();
        let inside = calling.clone();
        let clock = Arc::new(move || {
            if let Some(stack) = inside.get() {
                assert_eq!(stack.add_decision("ses_1", "inside").unwrap_err(), Error::InsideRead {});
            }
            1
        });
        let folder = tempdir().unwrap();
        let stack = Stack::open(folder.path(), StackOptions::default().clock(clock)).unwrap();
        stack.push(NewFrame::new("First").id("ses_1")).unwrap();
        assert!(calling.set(stack.clone()).is_ok());
        stack.add_decision("ses_1", "outside").unwrap();
        assert_eq!(stack.frame("ses_1").unwrap().decisions, ["outside"]);
    });
}

#[test]
fn a_command_inside_of_a_writer_of_the_history_is_refused_if_the_store_has_no_reader() {
    in_time("a writer that calls its stack", || {
        let folder = tempdir().unwrap();
        let store = || SqliteStore::open(folder.path().join("stack.db"), SqliteOptions::default()).unwrap();
        let without = Wrapped::new(store(), WithoutReader);
        for (stack, expected) in [
            (Stack::with_store(store(), StackOptions::default()).unwrap(), Ok(())),
            (Stack::with_store(without, StackOptions::default()).unwrap(), Err(Error::InsideRead {})),
        ] {
            stack.ensure("ses_1", None, None).unwrap();
            let mut writer = CallingWriter(&stack, Vec::new());
            stack.history().export(&mut writer).unwrap();
            assert!(!writer.1.is_empty() && writer.1.iter().all(|result| *result == expected), "{:?}", writer.1);
        }
    });
}

/// A writer that calls a command of its stack, and the results.
struct CallingWriter<'a>(&'a Stack, Vec<Result<()>>);

impl Write for CallingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1.push(self.0.add_decision("ses_1", "inside"));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn readers_with_nested_queries_do_not_delay_a_command_without_end() {
    in_time("a command among readers", || {
        let stack = Stack::in_memory();
        let root = stack.push(NewFrame::new("First")).unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let readers: Vec<_> = (0..3)
            .map(|_| {
                let (stack, is_over) = (stack.clone(), is_over.clone());
                thread::spawn(move || {
                    while !is_over.load(Ordering::Relaxed) {
                        stack
                            .read(|_| {
                                thread::sleep(Duration::from_millis(2));
                                assert!(stack.active().is_some());
                            })
                            .unwrap();
                    }
                })
            })
            .collect();
        for number in 0..10 {
            stack.add_decision(root, format!("Decision {number}")).unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        assert_eq!(stack.frame(root).unwrap().decisions.len(), 10);
    });
}
