//! Failures at every call of a store: the error describes the failure, the tree and the store are unchanged,
//! and the next command works. The suite is the same for every store.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use callstack_core::frame::ToolCall;
use callstack_core::memory::{NewRun, Next, Reply};
use callstack_core::session::HostEvent;
use callstack_core::{Change, Error, Event, EventQuery, LogQuery, NewFrame, PopStatus, Result, Stack, Store, tools};
use serde_json::json;

use crate::Queries;
use crate::wrapped::{Hooks, StoreCall, Wrapped};

/// A place for stacks.
pub trait Place {
    /// Opens the store of an empty place.
    fn store(&self) -> Box<dyn Store>;
    /// Opens the stack of the place with a store.
    fn stack(&self, store: Faulty) -> Stack;
    /// True if the store keeps the logs. Then a commit and its log lines are kept together.
    fn commits_logs(&self) -> bool;
    /// The log of the frame of the story. It is read without the stack.
    fn log(&self) -> String;
    /// Checks that the stack is sound after it was closed.
    fn check(&self, context: &str);
}

/// When a [`Faulty`] store fails.
pub struct Plan {
    /// Number of successful calls before the call that fails. `NEVER`: no call fails.
    calls_left: AtomicUsize,
    after: bool,
}

const NEVER: usize = usize::MAX;

impl Plan {
    /// A plan without a failure. `after`: a call fails after it has done its work.
    pub fn new(after: bool) -> Arc<Self> {
        Arc::new(Self { calls_left: AtomicUsize::new(NEVER), after })
    }

    /// Lets a call fail after this number of further calls.
    pub fn fail_at(&self, call: usize) {
        self.calls_left.store(call, Ordering::Relaxed);
    }

    /// True if the call has failed.
    pub fn has_struck(&self) -> bool {
        self.calls_left.load(Ordering::Relaxed) == NEVER
    }
}

/// A store that fails one of its calls, either before or after the call has done its work.
pub type Faulty = Wrapped<Failing>;

/// A store that fails according to a plan.
pub fn faulty(store: Box<dyn Store>, plan: &Arc<Plan>) -> Faulty {
    Wrapped::around(store, Failing { plan: plan.clone(), strikes: false })
}

/// The hooks of a [`Faulty`] store.
pub struct Failing {
    plan: Arc<Plan>,
    /// True if the present call fails.
    strikes: bool,
}

impl Failing {
    fn strike(&self, call: StoreCall, is_now: bool) -> Result<()> {
        if self.strikes && is_now { Err(Error::io(call.name, "the faulty store", "struck")) } else { Ok(()) }
    }
}

impl Hooks for Failing {
    fn before(&mut self, call: StoreCall) -> Result<()> {
        let left = self.plan.calls_left.load(Ordering::Relaxed);
        if left != NEVER {
            self.plan.calls_left.store(left.checked_sub(1).unwrap_or(NEVER), Ordering::Relaxed);
        }
        self.strikes = left == 0;
        self.strike(call, !self.plan.after)
    }

    fn after(&mut self, call: StoreCall) -> Result<()> {
        self.strike(call, self.plan.after)
    }
}

/// A sequence of commands that changes all parts: the tree, the mirror, logs and IDs.
const STORY: &[fn(&Stack) -> Result<()>] = &[
    |stack| stack.push(NewFrame::new("Root").id("ses_1")).map(drop),
    |stack| stack.plan(NewFrame::new("Planned").id("plan-2").below("ses_1")).map(drop),
    |stack| stack.log("plan-2").append(&[json!({"line": 1})]),
    |stack| stack.activate("plan-2"),
    |stack| stack.replace_id("plan-2", "ses_2"),
    |stack| stack.log("ses_2").append(&[json!({"line": 2})]),
    |stack| stack.add_artifact("ses_2", "src/lib.rs").map(drop),
    |stack| stack.pop("ses_2", PopStatus::Completed, "done").map(drop),
    |stack| stack.files().flush(),
];

/// True for the steps that append to a log. If such a step fails, its lines are not in the log.
fn is_append(step: usize) -> bool {
    [2, 5].contains(&step)
}

/// The history of a stack. A separate store reads it.
fn history(place: &dyn Place) -> Vec<Event> {
    let mut events = Vec::new();
    let read = place.store().read(&EventQuery::default(), Duration::from_secs(10), &mut |event| {
        events.push(event);
        Ok(())
    });
    read.unwrap();
    events
}

/// Lets each call of the store fail once while the story is performed. A command that fails changes nothing.
/// `make` makes an empty place.
pub fn a_store_that_fails_at_any_call_changes_nothing(make: &dyn Fn() -> Box<dyn Place>) {
    let mut strikes = Vec::new();
    for after in [false, true] {
        for call in 0.. {
            let place = &*make();
            let plan = Plan::new(after);
            let stack = place.stack(faulty(place.store(), &plan));
            plan.fail_at(call);
            for (number, step) in STORY.iter().enumerate() {
                let before = (stack.state().unwrap(), place.log(), history(place));
                let Err(error) = step(&stack) else { continue };
                let context = format!("step {number}, call {call}, after: {after}: {error}");
                assert!(plan.has_struck() && error.to_string().ends_with("the faulty store: struck"), "{context}");
                assert_eq!(stack.state().unwrap(), before.0, "{context}: the tree is as before");
                let Error::Io { action, .. } = error else { panic!("{context}") };
                let was_kept = after && action == "commit";
                let has_line = was_kept && place.commits_logs() && is_append(number);
                assert_eq!(
                    place.log() != before.1,
                    has_line,
                    "{context}: the log is as before, or has the line that was kept"
                );
                if was_kept {
                    // The commit was kept, although the call has failed. The next refresh shows the commit.
                    let has_events = history(place).len() > before.2.len();
                    assert!(has_events || has_line, "{context}");
                    assert!(!has_events || stack.refresh().unwrap(), "{context}");
                    if is_append(number) && !has_line {
                        step(&stack).unwrap();
                    }
                } else {
                    assert_eq!(history(place), before.2, "{context}: the store is as before");
                    step(&stack).unwrap_or_else(|error| panic!("{context}: the next command failed: {error}"));
                }
                strikes.push(action);
            }
            let page = stack.log("ses_2").read(&LogQuery::default()).unwrap();
            let lines: Vec<_> = page.lines.into_iter().map(|line| line.entry["line"].clone()).collect();
            assert_eq!((lines, page.damaged), (vec![json!(1), json!(2)], vec![]), "call {call}, after: {after}");
            let state = stack.state().unwrap();
            drop(stack);
            place.check(&format!("call {call}, after: {after}"));
            assert_eq!(state.frames.len(), 2);
            assert_eq!(state.frames[1].artifacts, ["src/lib.rs"]);
            assert_eq!(state.frames[1].log_path.as_deref(), Some("logs/ses_2.jsonl"));
            if !plan.has_struck() {
                break;
            }
        }
    }
    for action in ["begin", "read", "append", "commit", "sync"] {
        let count = strikes.iter().filter(|struck| **struck == action).count();
        assert!(count >= 2, "{action} failed {count} times: {strikes:?}");
    }
}

/// The replies of the model of a run, step by step.
fn said(step: u64) -> Reply {
    let call = |id: &str, name: &str, arguments: serde_json::Value| ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.to_string(),
    };
    let calls = match step {
        1 => vec![
            call("a", "heap_alloc", json!({"name": "spec", "content": "x"})),
            call("b", "push_frame", json!({"name": "child", "objective": "Do it"})),
        ],
        2 => vec![call("c", "look", json!({}))],
        3 => vec![
            call("f", "read_frame_log", json!({"frame": "f1"})),
            call("d", "pop_frame", json!({"result": "done", "artifacts": ["a", "b"], "decisions": ["so"]})),
        ],
        _ => vec![call("e", "pop_frame", json!({"result": "all done"}))],
    };
    Reply::new(format!("step {step}"), calls)
}

/// Executes the next step of a run. Returns true if the run is over.
fn advance(stack: &Stack) -> Result<bool> {
    match tools::advance_run(stack, "run_1")? {
        Next::Ask(prompt) => stack.run("run_1").reply(said(prompt.step))?,
        Next::Call(call) => stack.run("run_1").answer(&call.id, "looked", false)?,
        Next::Over { results, .. } => {
            assert_eq!(results, "all done");
            return Ok(true);
        }
        other => panic!("the run needs {other:?}"),
    }
    Ok(false)
}

/// Lets each call of the store fail once while a run works. The run continues, and its logs are complete.
pub fn a_run_whose_store_fails_at_any_call_goes_on(make: &dyn Fn() -> Box<dyn Place>) {
    let mut strikes = 0;
    for after in [false, true] {
        for call in 0.. {
            let place = &*make();
            let plan = Plan::new(after);
            let stack = place.stack(faulty(place.store(), &plan));
            let new = NewRun::new("Do it all").id("run_1");
            stack.start_run(new).unwrap();
            plan.fail_at(call);
            let mut failures = 0;
            loop {
                match advance(&stack) {
                    Ok(true) => break,
                    Ok(false) => {}
                    Err(error) => {
                        assert!(error.to_string().ends_with("the faulty store: struck"), "{error}");
                        failures += 1;
                        stack.refresh().unwrap();
                    }
                }
            }
            strikes += failures;
            let context = format!("call {call}, after: {after}");
            let frames = stack.state().unwrap().frames;
            assert_eq!(frames.len(), 2, "{context}: nothing is pushed twice");
            assert_eq!((frames[0].heap.len(), frames[1].results.as_deref()), (1, Some("done")), "{context}");
            let recorded = (&frames[1].artifacts[..], &frames[1].decisions[..]);
            assert_eq!(recorded, (&["a".to_owned(), "b".to_owned()][..], &["so".to_owned()][..]), "{context}");
            for event in history(place) {
                let Change::MessagesAdded { messages } = event.change else { continue };
                let page = stack.log(event.handle).read(&LogQuery::default()).unwrap();
                for message in messages {
                    let kept = page.lines.iter().any(|line| line.entry["text"] == message.text());
                    assert!(kept, "{context}: the log of {} lacks {message:?}", event.handle);
                }
            }
            drop(stack);
            place.check(&context);
            if !plan.has_struck() {
                break;
            }
            assert!(failures <= 1, "{context}: {failures} failures");
        }
    }
    assert!(strikes > 40, "only {strikes} failures");
}

/// The events that a host reports. In the history, each event leads to several commands.
fn told() -> Vec<HostEvent> {
    let message = |id: &str, role: &str, text: &str| {
        json!({"kind": "message", "sessionID": "ses_1", "messageID": id, "role": role, "text": text,
               "request": {"model": "small", "uncachedInput": 100, "output": 5}})
    };
    let child = |number: u32| {
        [
            json!({"kind": "sessionCreated", "sessionID": format!("sub_{number}"), "parentID": "ses_1",
                   "title": format!("Part {number} (@explore subagent)")}),
            json!({"kind": "toolExecuted", "sessionID": format!("sub_{number}"), "toolCallID": format!("c{number}"),
                   "tool": "write", "path": format!("src/{number}.rs")}),
        ]
    };
    let events = [
        json!({"kind": "sessionCreated", "sessionID": "ses_1", "title": "Shop"}),
        message("m1", "assistant", "Hello"),
        message("m2", "user", "Build a shop"),
    ]
    .into_iter()
    .chain((1..3).flat_map(child))
    .chain([
        json!({"kind": "toolExecuted", "sessionID": "ses_1", "toolCallID": "t1", "tool": "apply_patch", "path": null,
               "changes": [{"kind": "written", "path": "a.rs"}, {"kind": "written", "path": "b.rs"}]}),
        json!({"kind": "messageFinished", "sessionID": "ses_1", "message": {"id": "m2", "role": "user", "text": "Build a shop"}}),
        json!({"kind": "sessionMessages", "sessionID": "ses_1", "messages": [{"id": "m2", "role": "user", "text": "Build a shop"}]}),
        json!({"kind": "sessionDeleted", "sessionID": "sub_1"}),
        json!({"kind": "message", "sessionID": "ses_1", "messageID": "m3", "role": "assistant", "text": "Done",
               "request": {"model": "small", "uncachedInput": 100, "output": 5}}),
    ]);
    events.map(|event| serde_json::from_value(event).unwrap()).collect()
}

/// Lets each call of the store fail once while a host reports events. For each event, the store has all
/// changes or none. The next event makes the changes that were not kept.
pub fn an_event_is_kept_whole_or_not_at_all(make: &dyn Fn() -> Box<dyn Place>) {
    let whole: Vec<usize> = {
        let place = &*make();
        let stack = place.stack(faulty(place.store(), &Plan::new(false)));
        let lengths = told().into_iter().map(|event| {
            let _ = stack.host().report(event);
            history(place).len()
        });
        lengths.collect()
    };
    let several = (1..whole.len()).filter(|event| whole[*event] > whole[event - 1] + 1).count();
    assert!(several >= 2, "several changes follow from an event: {whole:?}");
    let mut strikes = 0;
    for after in [false, true] {
        for call in 0.. {
            let place = &*make();
            let plan = Plan::new(after);
            let stack = place.stack(faulty(place.store(), &plan));
            plan.fail_at(call);
            let mut before = 0;
            for (number, event) in told().into_iter().enumerate() {
                let was_struck = plan.has_struck();
                let _ = stack.host().report(event);
                let kept = history(place).len();
                let context = format!("event {number}, call {call}, after: {after}: {kept} events, of {whole:?}");
                match plan.has_struck() && !was_struck {
                    true => {
                        strikes += 1;
                        assert!(kept == before || kept == whole[number], "{context}");
                    }
                    false => assert_eq!(kept, whole[number], "{context}"),
                }
                before = kept;
            }
            let lines = stack.log("ses_1").read(&LogQuery::default()).unwrap().lines;
            let said = lines.iter().filter(|line| line.entry["text"] == "Build a shop").count();
            // If a commit contains only log lines, a store with logs does not say whether it was kept.
            let is_doubled = after && place.commits_logs() && said == 2;
            assert!(said == 1 || is_doubled, "call {call}, after: {after}: the log has the message {said} times");
            drop(stack);
            place.check(&format!("call {call}, after: {after}"));
            if !plan.has_struck() {
                break;
            }
        }
    }
    assert!(strikes > 40, "only {strikes} failures");
}
