//! Calls end in time. A panic or a damaged history leaves one clear state.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use callstack_core::context::TokenCounter;
use callstack_core::frame::ToolCall;
use callstack_core::memory::{NewRun, Reply};
use callstack_core::stack::Clock;
use callstack_core::{
    Error, MemoryStore, Mirroring, NewFrame, OutlineOptions, PopStatus, Result, Settings, Stack, StackOptions, Tree,
};
use support::wrapped::{Hooks, StoreCall, Wrapped};
use support::{Queries, in_time};
use tempfile::tempdir;

/// A token counter that calls a function of the test.
struct Calling<Call>(Call);

impl<Call: Fn() + Send + Sync> TokenCounter for Calling<Call> {
    fn count(&self, text: &str) -> usize {
        (self.0)();
        text.len()
    }
}

/// A function of the test. Code of the host calls it as soon as the test has set it, but not while the
/// function itself is running.
#[derive(Clone, Default)]
struct Hook(Arc<Hooked>);

#[derive(Default)]
struct Hooked {
    call: OnceLock<Box<dyn Fn() + Send + Sync>>,
    is_running: AtomicBool,
    calls: AtomicUsize,
}

impl Hook {
    fn set(&self, call: impl Fn() + Send + Sync + 'static) {
        assert!(self.0.call.set(Box::new(call)).is_ok());
    }

    fn call(&self) {
        let Hooked { call, is_running, calls } = &*self.0;
        let Some(call) = call.get() else { return };
        if !is_running.swap(true, Ordering::SeqCst) {
            call();
            calls.fetch_add(1, Ordering::SeqCst);
            is_running.store(false, Ordering::SeqCst);
        }
    }

    /// How often the function was called and returned.
    fn calls(&self) -> usize {
        self.0.calls.load(Ordering::SeqCst)
    }
}

/// A stack in memory with a frame `ses_1`, whose token counter calls a hook.
fn counting_stack() -> (Stack, Hook) {
    let hook = Hook::default();
    let counting = hook.clone();
    let counter = Arc::new(Calling(move || counting.call()));
    let stack = Stack::with_options(StackOptions::default().counter(counter));
    stack.push(NewFrame::new("First").id("ses_1")).unwrap();
    (stack, hook)
}

/// Runs a command in another thread and waits until it has returned.
fn command_elsewhere(stack: &Stack) {
    let stack = stack.clone();
    thread::spawn(move || stack.add_decision("ses_1", "elsewhere")).join().unwrap().unwrap();
}

/// Every kind of query.
fn query(stack: &Stack) {
    stack.frame("ses_1").unwrap();
    stack.resolve("ses_1").unwrap();
    stack.active();
    stack.ready().unwrap();
    stack.state().unwrap();
    stack.outline(&OutlineOptions::default()).unwrap();
    stack.context("ses_1", &Settings::of_total(50_000)).unwrap();
    stack.context_uncached("ses_1", &Settings::of_total(50_000)).unwrap();
    stack.heap("ses_1").chunks().unwrap();
    stack.runs().unwrap();
    stack.upkeep().cache_statistics();
    stack.files().status();
    stack.upkeep().deadline();
    assert!(format!("{stack:?}").contains("frames"));
    stack.read(Tree::len).unwrap();
}

#[test]
fn a_read_may_wait_for_commands_of_other_threads() {
    in_time("a read that waits for a command", || {
        let stack = Stack::in_memory();
        stack.push(NewFrame::new("First").id("ses_1")).unwrap();
        stack
            .read(|tree| {
                command_elsewhere(&stack);
                query(&stack);
                stack
                    .read(|again| {
                        command_elsewhere(&stack);
                        assert_eq!(again.revision(), tree.revision(), "the tree of the outer read");
                        assert!(stack.frame("ses_1").unwrap().decisions.is_empty(), "queries see it too");
                    })
                    .unwrap();
            })
            .unwrap();
        assert_eq!(stack.frame("ses_1").unwrap().decisions.len(), 2);
    });
}

#[test]
fn threads_that_read_may_wait_for_each_other() {
    const THREADS: usize = 4;
    in_time("reads that wait for each other", || {
        let stack = Stack::in_memory();
        stack.push(NewFrame::new("First").id("ses_1")).unwrap();
        let barrier = std::sync::Barrier::new(THREADS);
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    stack
                        .read(|tree| {
                            // All threads have the tree now, and each waits for a command and for all others.
                            barrier.wait();
                            command_elsewhere(&stack);
                            barrier.wait();
                            query(&stack);
                            assert!(tree.node(tree.active().unwrap()).record().decisions.is_empty());
                            assert_eq!(stack.push(NewFrame::new("Inside")).unwrap_err(), Error::InsideRead {});
                        })
                        .unwrap();
                });
            }
        });
        assert_eq!(stack.frame("ses_1").unwrap().decisions.len(), THREADS);
        assert_eq!(stack.read(Tree::len).unwrap(), 1);
    });
}

#[test]
fn a_token_counter_may_wait_for_a_thread_that_commands() {
    in_time("a counter that waits for a command", || {
        let (stack, hook) = counting_stack();
        let other = stack.clone();
        hook.set(move || {
            command_elsewhere(&other);
            let elsewhere = other.clone();
            thread::spawn(move || query(&elsewhere)).join().unwrap();
            query(&other);
        });
        stack.context("ses_1", &Settings::of_total(40_000)).unwrap();
        stack.read(|_| stack.context("ses_1", &Settings::of_total(30_000)).unwrap()).unwrap();
        assert!(hook.calls() > 1);
        assert_eq!(stack.frame("ses_1").unwrap().decisions.len(), hook.calls());
    });
}

#[test]
fn a_command_in_a_token_counter_is_refused_and_changes_nothing() {
    in_time("a counter that commands", || {
        let (stack, hook) = counting_stack();
        let other = stack.clone();
        hook.set(move || {
            let refusals: [Result<()>; 5] = [
                other.push(NewFrame::new("Inside")).map(drop),
                other.pop("ses_1", PopStatus::Completed, "inside").map(drop),
                other.refresh().map(drop),
                other.files().flush(),
                other.import(Vec::new()).map(drop),
            ];
            for refusal in refusals {
                assert_eq!(refusal.unwrap_err(), Error::InsideRead {});
            }
        });
        let before = stack.state().unwrap();
        stack.context("ses_1", &Settings::of_total(40_000)).unwrap();
        assert!(hook.calls() > 0);
        assert_eq!(stack.state().unwrap(), before);
    });
}

#[cfg(feature = "tools")]
mod of_hosts {
    use callstack_core::session::{Effect, HostEvent};
    use callstack_core::tools;

    use super::*;

    /// A clock that calls a hook.
    fn hooked(hook: &Hook) -> Clock {
        let hook = hook.clone();
        Arc::new(move || {
            hook.call();
            7
        })
    }

    fn created(session_id: &str) -> HostEvent {
        serde_json::from_value(serde_json::json!({"kind": "sessionCreated", "sessionID": session_id})).unwrap()
    }

    /// An event from which an artifact follows.
    fn wrote(path: &str) -> HostEvent {
        let event = serde_json::json!({"kind": "toolExecuted", "sessionID": "ses_1", "tool": "write", "path": path});
        serde_json::from_value(event).unwrap()
    }

    /// Checks that events and tool calls are refused here.
    fn is_refused(stack: &Stack) {
        let effects = stack.host().report(created("ses_inside"));
        let [Effect::Log { message, data, .. }] = &effects[..] else { panic!("{effects:?}") };
        assert_eq!((message.as_str(), &data["code"]), ("Refused", &serde_json::json!("inside_read")));
        let plan = r#"{"title": "Inside", "successCriteria": "none", "successCriteriaCompacted": "none"}"#;
        let answer = tools::call(stack, "ses_1", "stack_frame_plan", plan);
        assert!(answer.is_error && answer.text.unwrap().contains("cannot run inside of Stack::read"));
    }

    fn sessions_and_frames(stack: &Stack) -> (usize, String) {
        (stack.read(Tree::len).unwrap(), tools::call(stack, "ses_1", "stack_get_state", "{}").text.unwrap())
    }

    #[test]
    fn an_event_or_a_tool_call_in_a_token_counter_is_refused_and_changes_nothing() {
        in_time("a counter that reports", || {
            let (stack, hook) = counting_stack();
            let before = sessions_and_frames(&stack);
            let other = stack.clone();
            hook.set(move || is_refused(&other));
            stack.context("ses_1", &Settings::of_total(40_000)).unwrap();
            stack.host().context("ses_1").unwrap();
            assert!(hook.calls() > 0);
            assert_eq!(sessions_and_frames(&stack), before);
        });
    }

    #[test]
    fn an_event_or_a_tool_call_in_a_clock_that_an_event_asks_is_refused() {
        in_time("a clock that reports", || {
            let hook = Hook::default();
            let stack = Stack::with_options(StackOptions::default().clock(hooked(&hook)));
            stack.push(NewFrame::new("First").id("ses_1")).unwrap();
            let other = stack.clone();
            hook.set(move || is_refused(&other));
            let _ = stack.host().report(created("ses_2"));
            assert!(hook.calls() > 0);
            let _ = tools::call(&stack, "ses_1", "stack_status", "{}");
            let _ = stack.host().poll();
            assert!(stack.frame("ses_inside").is_err());
        });
    }

    #[test]
    fn a_clock_that_the_deadline_asks_may_call_the_stack() {
        in_time("a clock that calls the host's stack", || {
            let hook = Hook::default();
            let stack = Stack::with_options(StackOptions::default().clock(hooked(&hook)));
            stack.push(NewFrame::new("First").id("ses_1")).unwrap();
            let _ = stack.host().configure(Default::default());
            stack.add_decision("ses_1", "leaves a line for the log").unwrap();
            stack.push(NewFrame::new("Second")).unwrap();
            let other = stack.clone();
            hook.set(move || {
                let _ = other.host().settings();
                other.add_decision("ses_1", "by the clock").unwrap();
            });
            assert_eq!(stack.host().deadline(), Some(7));
            assert_eq!(hook.calls(), 1);
        });
    }

    #[test]
    fn events_and_tool_calls_wait_for_others_no_longer_than_they_may() {
        fn event(stack: &Stack) -> Result<()> {
            let _ = stack.host().report(wrote("a.rs"));
            stack.add_decision("ses_1", "stuck")
        }
        in_time("an event behind a clock that is stuck", || {
            for stuck_in in [command as Call, event] {
                let stuck = Stuck::new(Stack::with_options, stuck_in);
                let host = stuck.stack.host();
                let effects = host.report(wrote("b.rs"));
                let is_busy = |effect: &Effect| matches!(effect, Effect::Log { data, .. } if data["code"] == "busy");
                assert!(effects.iter().any(is_busy), "{effects:?}");
                let answer = tools::call(&stuck.stack, "ses_1", "stack_add_decision", r#"{"decision": "second"}"#);
                assert!(answer.is_error && answer.text.unwrap().contains("call again"));
                let _ = host.poll();
                host.context("ses_1").unwrap();
                host.deadline();
                let _ = host.settings();
                stuck.release();
            }
        });
    }
}

/// A call of a stack.
type Call = fn(&Stack) -> Result<()>;

fn command(stack: &Stack) -> Result<()> {
    stack.add_decision("ses_1", "stuck")
}

/// A stack whose clock does not return in a call of one thread.
struct Stuck {
    stack: Stack,
    release: mpsc::Sender<()>,
    command: thread::JoinHandle<Result<()>>,
}

impl Stuck {
    fn new(open: impl FnOnce(StackOptions) -> Stack, call: Call) -> Self {
        let (release, released) = mpsc::channel();
        let (enter, entered) = mpsc::channel();
        let released = Mutex::new(released);
        let clock: Clock = Arc::new(move || {
            if thread::current().name() == Some("stuck") {
                let _ = enter.send(());
                // Returns when the sender is dropped.
                let _ = released.lock().unwrap().recv();
            }
            7
        });
        let stack = open(StackOptions::default().clock(clock).busy_timeout(50));
        stack.push(NewFrame::new("First").id("ses_1")).unwrap();
        let other = stack.clone();
        let command = move || call(&other);
        let command = thread::Builder::new().name("stuck".into()).spawn(command).unwrap();
        entered.recv().unwrap();
        Self { stack, release, command }
    }

    /// Lets the command continue, and checks that it succeeds and that nothing else has happened.
    fn release(self) {
        drop(self.release);
        self.command.join().unwrap().unwrap();
        assert_eq!(self.stack.frame("ses_1").unwrap().decisions, ["stuck"]);
        assert_eq!(self.stack.read(Tree::len).unwrap(), 1);
        assert!(self.stack.frame("ses_1").unwrap().artifacts.iter().all(|path| path == "a.rs"));
    }
}

/// Checks that commands of other threads fail while one command is stuck, and that queries do not
/// wait for it.
fn assert_no_call_waits(stuck: Stuck, export: &Path) {
    let stack = &stuck.stack;
    let refusals = [
        stack.push(NewFrame::new("Second")).map(drop),
        stack.add_decision("ses_1", "second"),
        stack.refresh().map(drop),
        stack.files().flush(),
    ];
    for refusal in refusals {
        let Err(Error::Busy { waited, .. }) = refusal else { panic!("{refusal:?}") };
        assert!(waited >= 50, "{waited}");
    }
    stack.upkeep().poll();
    query(stack);
    stack.files().export(export).unwrap();
    stuck.release();
}

#[test]
fn a_command_waits_for_other_threads_no_longer_than_it_may_and_queries_do_not_wait() {
    in_time("a call behind a clock that is stuck", || {
        let folder = tempdir().unwrap();
        assert_no_call_waits(Stuck::new(Stack::with_options, command), folder.path());
    });
}

/// Makes each step of a store take time, and remembers how long each step may wait. There is always news.
struct Slow {
    granted: Arc<Mutex<Vec<(&'static str, Duration)>>>,
}

/// The time that each step of a [`Slow`] store takes.
const STEP: Duration = Duration::from_millis(20);

impl Hooks for Slow {
    fn before(&mut self, call: StoreCall) -> Result<()> {
        if let (Some(patience), "begin" | "read" | "has_news" | "sync") = (call.patience, call.name) {
            self.granted.lock().unwrap().push((call.name, patience));
            thread::sleep(STEP);
        }
        Ok(())
    }

    fn has_news(&mut self, _: bool) -> bool {
        true
    }
}

#[test]
fn each_step_of_a_call_may_wait_only_for_what_the_steps_before_it_have_left() {
    const LIMIT: Duration = Duration::from_secs(600);
    let granted: Arc<Mutex<Vec<(&str, Duration)>>> = Arc::default();
    let store = Wrapped::new(MemoryStore::new(), Slow { granted: granted.clone() });
    let folder = tempdir().unwrap();
    let options = StackOptions::default().busy_timeout(LIMIT.as_millis() as u64).mirror(Mirroring::WithCommands);
    let stack = Stack::open_with_store(folder.path(), store, options).unwrap();
    let check = |what: &str, expected: &[&str]| {
        let granted = std::mem::take(&mut *granted.lock().unwrap());
        let steps: Vec<&str> = granted.iter().map(|(step, _)| *step).collect();
        assert!(steps.starts_with(expected), "{what}: {steps:?}");
        for (before, (step, patience)) in (0..).zip(&granted) {
            assert!(*patience + STEP * before <= LIMIT, "{what}: {step} is step {before} and may wait {patience:?}");
        }
    };
    check("open", &["read", "begin", "read"]);
    stack.push(NewFrame::new("First").id("ses_1")).unwrap();
    check("a command and its files", &["begin", "read", "has_news", "read"]);
    stack.refresh().unwrap();
    check("refresh", &["has_news", "read"]);
    stack.files().flush().unwrap();
    check("flush", &["has_news", "read", "sync"]);

    let call = |id: &str| ToolCall {
        id: id.into(),
        name: "heap_alloc".into(),
        arguments: format!(r#"{{"name": "{id}", "content": "x"}}"#),
    };
    let run = stack.start_run(NewRun::new("Do it").id("run_1")).unwrap();
    stack.run(run).reply(Reply::new("Two calls", vec![call("a"), call("b")])).unwrap();
    granted.lock().unwrap().clear();
    #[cfg(feature = "tools")]
    {
        callstack_core::tools::advance_run(&stack, run).unwrap();
        check("a call of several commands", &["begin", "read", "has_news", "read", "begin", "read"]);
    }
}

#[cfg(feature = "sqlite")]
mod on_disk {
    use std::collections::BTreeMap;
    use std::fs::{self, File};

    use callstack_core::{EventQuery, LogQuery, SqliteOptions, SqliteStore, Store};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_command_in_a_folder_waits_for_other_threads_no_longer_than_it_may() {
        in_time("a call behind a clock that is stuck", || {
            let folder = tempdir().unwrap();
            let open = |options| Stack::open(folder.path().join("stack"), options).unwrap();
            assert_no_call_waits(Stuck::new(open, command), &folder.path().join("export"));
        });
    }

    /// A query that uses the store would wait for the transaction that this thread has begun.
    #[test]
    fn queries_of_the_history_do_not_wait_for_a_command_that_waits_for_another_process() {
        in_time("a query beside a transaction", || {
            let folder = tempdir().unwrap();
            let stack = Stack::open(folder.path().join("a"), StackOptions::default().busy_timeout(120_000)).unwrap();
            stack.push(NewFrame::new("First").id("ses_1")).unwrap();
            let mut blocker = SqliteStore::open(folder.path().join("a/stack.db"), SqliteOptions::default()).unwrap();
            blocker.begin(Duration::ZERO).unwrap();
            let (enter, entered) = mpsc::channel();
            let other = stack.clone();
            let command = thread::spawn(move || {
                enter.send(()).unwrap();
                other.add_decision("ses_1", "behind the transaction")
            });
            entered.recv().unwrap();
            for round in 0..20 {
                query(&stack);
                assert_eq!(stack.history().events(&EventQuery::default()).unwrap().len(), 2);
                assert_eq!(stack.history().export(std::io::sink()).unwrap(), 2);
                stack.files().export(folder.path().join(format!("copy {round}"))).unwrap();
            }
            assert!(!command.is_finished());
            blocker.rollback();
            command.join().unwrap().unwrap();
            assert_eq!(stack.history().events(&EventQuery::default()).unwrap().len(), 3);
        });
    }

    #[test]
    fn a_writer_of_the_history_may_wait_for_a_command_and_for_another_query() {
        struct Waiting<'a>(&'a Stack);
        impl std::io::Write for Waiting<'_> {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                command_elsewhere(self.0);
                let other = self.0.clone();
                thread::spawn(move || other.history().events(&EventQuery::default())).join().unwrap().unwrap();
                Ok(bytes.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        in_time("a writer that waits for a command", || {
            let folder = tempdir().unwrap();
            let memory = Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap();
            for stack in [Stack::open(folder.path(), StackOptions::default()).unwrap(), memory] {
                stack.push(NewFrame::new("First").id("ses_1")).unwrap();
                assert_eq!(stack.history().export(Waiting(&stack)).unwrap(), 2, "the history when the call began");
                assert!(stack.history().events(&EventQuery::default()).unwrap().len() > 2);
            }
        });
    }

    #[test]
    fn the_lock_of_a_log_is_waited_for_no_longer_than_the_call_may() {
        in_time("an append to a log that is locked", || {
            let folder = tempdir().unwrap();
            let stack = Stack::open(folder.path(), StackOptions::default().busy_timeout(50)).unwrap();
            stack.push(NewFrame::new("First").id("ses_1")).unwrap();
            stack.log("ses_1").append(&[json!(1)]).unwrap();
            let path = folder.path().join("logs/ses_1.jsonl");
            let locked = File::open(&path).unwrap();
            locked.lock().unwrap();
            let before = stack.state().unwrap();
            let error = stack.log("ses_1").append(&[json!(2)]).unwrap_err();
            let Error::Busy { path: named, waited } = &error else { panic!("{error}") };
            assert!(named.ends_with("ses_1.jsonl") && *waited >= 50, "{error}");
            assert_eq!(stack.state().unwrap(), before);
            // The transaction has ended: another process does not need to wait.
            let mut other = SqliteStore::open(folder.path().join("stack.db"), SqliteOptions::default()).unwrap();
            other.begin(Duration::ZERO).unwrap();
            other.rollback();
            locked.unlock().unwrap();
            stack.log("ses_1").append(&[json!(3)]).unwrap();
            let page = stack.log("ses_1").read(&LogQuery::default()).unwrap();
            assert_eq!(page.lines.iter().map(|line| &line.entry).collect::<Vec<_>>(), [&json!(1), &json!(3)]);
        });
    }

    /// All files of a folder except the database and the lock.
    fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut pending = vec![folder.to_owned()];
        while let Some(place) = pending.pop() {
            for entry in fs::read_dir(place).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                if path.is_dir() {
                    pending.push(path);
                } else if !name.starts_with("stack.db") && !name.starts_with(".mirror.") {
                    found.insert(name, fs::read(&path).unwrap());
                }
            }
        }
        found
    }

    /// Events that cannot follow revision 4 of a tree of two frames, `ses_1` and `ses_2`, and what is said
    /// about them.
    const DAMAGES: [(&str, i64, &str, &str); 6] = [
        (
            "a frame beyond the next one",
            5,
            r#"{"revision":5,"time":1,"handle":"f9","kind":"added","frame":{"sessionID":"ses_9","title":"Nine"}}"#,
            "it adds f9 to a tree of 2 frames",
        ),
        (
            "a missing event",
            7,
            r#"{"revision":7,"time":1,"handle":"f1","kind":"decisionAdded","decision":"late"}"#,
            "event 7 does not fit the history before it: event 5 is next",
        ),
        ("no event at all", 5, "{", "event 5: EOF"),
        (
            "another revision",
            5,
            r#"{"revision":6,"time":1,"handle":"f1","kind":"decisionAdded","decision":"late"}"#,
            "its text has the revision 6",
        ),
        (
            "the ID of another frame",
            5,
            r#"{"revision":5,"time":1,"handle":"f1","kind":"idReplaced","sessionID":"ses_2"}"#,
            "it gives f1 the ID of f2",
        ),
        (
            "an unknown frame",
            5,
            r#"{"revision":5,"time":1,"handle":"f8","kind":"statusChanged","status":"completed"}"#,
            "it names `f8`, which is not in the tree",
        ),
    ];

    /// The calls that can be the first to find the damage.
    const FINDERS: [(&str, Call); 6] = [
        ("refresh", |stack| stack.refresh().map(drop)),
        ("push", |stack| stack.push(NewFrame::new("Later")).map(drop)),
        ("append", |stack| stack.log("ses_1").append(&[json!("late")])),
        ("flush", |stack| stack.files().flush()),
        ("close", |stack| stack.clone().close()),
        ("poll", |stack| {
            // A poll only reads the news if it has something to write.
            stack.upkeep().poll();
            stack.refresh().map(drop)
        }),
    ];

    #[test]
    fn a_damaged_history_is_said_by_every_command_and_nothing_is_written_any_more() {
        for (damage, revision, event, message) in DAMAGES {
            for (finder, find) in FINDERS {
                let what = format!("{damage}, found by {finder}");
                let place = tempdir().unwrap();
                let folder = place.path().join("damaged");
                let stack = Stack::open(&folder, StackOptions::default()).unwrap();
                stack.push(NewFrame::new("First").id("ses_1")).unwrap();
                stack.log("ses_1").append(&[json!("early")]).unwrap();
                stack.files().flush().unwrap();
                let before = files(&folder);
                // Another process adds a good event and a bad one.
                let other = Stack::open(&folder, StackOptions::default().mirror(false)).unwrap();
                other.plan(NewFrame::new("Second").id("ses_2")).unwrap();
                drop(other);
                let database = rusqlite::Connection::open(folder.join("stack.db")).unwrap();
                let insert = "INSERT INTO events (revision, handle, kind, event) VALUES (?1, 1, 'added', ?2)";
                database.execute(insert, rusqlite::params![revision, event]).unwrap();

                let error = find(&stack).unwrap_err();
                let Error::Damaged { path, advice, .. } = &error else { panic!("{what}: {error}") };
                assert!(path.contains(folder.to_str().unwrap()), "{what}: {error}");
                assert!(error.to_string().contains(message), "{what}: {error}");
                assert!(advice.contains("history().export") && advice.contains("Stack::rebuild"), "{what}");
                for (_, again) in FINDERS {
                    assert_eq!(again(&stack).unwrap_err(), error, "{what}: each command says the same");
                }
                assert!(!stack.is_broken());
                assert_eq!(stack.files().status().unwrap().error.unwrap(), error, "{what}");
                assert_eq!(stack.upkeep().deadline(), None, "{what}");

                query(&stack);
                assert_eq!(stack.frame("ses_2").unwrap().title, "Second", "{what}: good events are applied");
                assert_eq!(stack.history().events(&EventQuery::default()).unwrap().len(), 4, "{what}");
                let mut history = Vec::new();
                assert_eq!(stack.history().export(&mut history).unwrap(), 4, "{what}");
                let rebuilt = Stack::rebuild(place.path().join("new"), &history[..], StackOptions::default()).unwrap();
                assert_eq!(rebuilt.state().unwrap(), stack.state().unwrap(), "{what}");
                rebuilt.push(NewFrame::new("Goes on")).unwrap();
                stack.files().export(place.path().join("copy")).unwrap();

                assert_eq!(stack.close().unwrap_err(), error, "{what}");
                assert_eq!(files(&folder), before, "{what}: nothing was written");
                let opened = Stack::open(&folder, StackOptions::default()).unwrap_err();
                assert_eq!(opened.code(), "damaged", "{what}: {opened}");
            }
        }
    }
}

/// Lets a store panic while a switch is on, also when it is dropped.
struct Panicking {
    is_on: Arc<AtomicBool>,
}

impl Panicking {
    fn panic_if_on(&self) {
        assert!(!self.is_on.load(Ordering::Relaxed), "provoked by a test");
    }
}

impl Drop for Panicking {
    fn drop(&mut self) {
        self.panic_if_on();
    }
}

impl Hooks for Panicking {
    fn before(&mut self, call: StoreCall) -> Result<()> {
        if ["append", "has_news"].contains(&call.name) {
            self.panic_if_on();
        }
        Ok(())
    }
}

/// Uses a stack whose clock and store panic from now on, and drops the stack during the panic.
fn panic_and_go_on_panicking(folder: &Path, call: Call) {
    let is_on = Arc::new(AtomicBool::new(false));
    let switch = is_on.clone();
    let clock = Arc::new(move || {
        assert!(!switch.load(Ordering::Relaxed), "provoked by a test");
        7
    });
    let store = Wrapped::new(MemoryStore::new(), Panicking { is_on: is_on.clone() });
    let stack = Stack::open_with_store(folder, store, StackOptions::default().clock(clock)).unwrap();
    stack.push(NewFrame::new("First").id("ses_1")).unwrap();
    // Leaves work for the end: state.json does not need to be written yet.
    stack.add_decision("ses_1", "second").unwrap();
    assert!(stack.upkeep().deadline().is_some());
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let stack = stack;
        is_on.store(true, Ordering::Relaxed);
        call(&stack)
    }));
    assert!(panicked.is_err());
}

/// The work of the other process. Without its variable, as in an ordinary test run, it does nothing.
#[test]
fn a_process_in_which_code_of_the_host_panics() {
    let Ok(call) = std::env::var("STACK_TEST_PANIC") else { return };
    let folder = tempdir().unwrap();
    let (_, call) = PANICS.iter().find(|(name, _)| *name == call).unwrap();
    panic_and_go_on_panicking(folder.path(), *call);
    println!("went on");
}

/// A query and a command that panic, and code of the host that panics while it has the stack.
const PANICS: [(&str, Call); 3] = [
    ("query", |stack| stack.context("ses_1", &Settings::default()).map(drop)),
    ("command", |stack| stack.push(NewFrame::new("Second")).map(drop)),
    ("host", |stack| panic!("code of the host that has {stack:?}")),
];

#[test]
fn code_of_the_host_that_goes_on_panicking_does_not_end_the_process() {
    for (name, _) in PANICS {
        let mut process = std::process::Command::new(std::env::current_exe().unwrap());
        process.args(["--exact", "hostile::waiting::a_process_in_which_code_of_the_host_panics", "--nocapture"]);
        let output = process.env("STACK_TEST_PANIC", name).output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success() && said.contains("went on"), "{name}: {said}");
    }
}
