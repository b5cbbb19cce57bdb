//! Tests that the changes which follow from one event of a host, or from one plan, are one commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use callstack_core::session::{Effect, HostEvent};
use callstack_core::{
    Frame, FrameStatus, HostSettings, LogQuery, NewFrame, Result, SqliteOptions, SqliteStore, Stack, StackOptions,
    ToolSet, import, tools,
};
use serde_json::{Value, json};
use support::wrapped::{Hooks, StoreCall, Wrapped};
use tempfile::{TempDir, tempdir};

/// Counts the commits of a store.
struct Counting(Arc<AtomicUsize>);

impl Hooks for Counting {
    fn after(&mut self, call: StoreCall) -> Result<()> {
        if call.name == "commit" {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// A stack whose commits are counted.
struct Counted {
    stack: Stack,
    commits: Arc<AtomicUsize>,
    _folder: TempDir,
}

impl Counted {
    fn new() -> Self {
        let (folder, commits) = (tempdir().unwrap(), Arc::new(AtomicUsize::new(0)));
        let store = SqliteStore::open(folder.path().join("stack.db"), SqliteOptions::default()).unwrap();
        let store = Wrapped::new(store, Counting(commits.clone()));
        let stack = Stack::open_with_store(folder.path(), store, StackOptions::default()).unwrap();
        Self { stack, commits, _folder: folder }
    }

    /// A stack with a host and its session `root`, which has a frame.
    fn with_session() -> Self {
        let counted = Self::new();
        assert_eq!(counted.stack.host().configure(HostSettings::default().tools(ToolSet::all())), []);
        counted.report(json!({"kind": "sessionCreated", "sessionID": "root", "title": "Shop"}));
        counted.report(message("root", "user", "Build a shop"));
        counted
    }

    /// Runs code, and returns its value and the number of commits.
    fn count<T>(&self, run: impl FnOnce() -> T) -> (T, usize) {
        let before = self.commits.load(Ordering::Relaxed);
        let value = run();
        (value, self.commits.load(Ordering::Relaxed) - before)
    }

    fn report(&self, event: Value) -> (Vec<Effect>, usize) {
        self.count(|| self.stack.host().report(serde_json::from_value::<HostEvent>(event).unwrap()))
    }
}

fn message(session_id: &str, role: &str, text: &str) -> Value {
    json!({"kind": "message", "sessionID": session_id, "messageID": format!("{role} of {session_id}"), "role": role,
        "text": text})
}

#[test]
fn the_files_of_one_patch_are_one_commit() {
    let counted = Counted::with_session();
    let changes: Vec<Value> =
        (0..20).map(|number| json!({"kind": "written", "path": format!("src/{number}.rs")})).collect();
    let event = json!({"kind": "toolExecuted", "sessionID": "root", "tool": "apply_patch", "changes": changes});
    assert_eq!(counted.report(event).1, 1);
    assert_eq!(counted.stack.frame("root").unwrap().artifacts.len(), 20);
}

#[test]
fn the_first_message_of_a_session_makes_its_frame_and_its_log_in_one_commit() {
    let counted = Counted::with_session();
    counted.report(json!({"kind": "sessionCreated", "sessionID": "other", "title": "Other"}));
    let event = json!({"kind": "sessionMessages", "sessionID": "other", "messages":
        [{"id": "m1", "role": "user", "text": "Mend the fence"}, {"id": "m2", "role": "assistant", "text": "It is mended"}]});
    counted.report(message("other", "user", "Mend the fence"));
    let (_, commits) = counted.report(event);
    assert!(commits <= 1, "{commits} commits");
    let lines = counted.stack.log("other").read(&LogQuery::default()).unwrap().lines;
    assert!(!lines.is_empty(), "the log has the messages");
}

#[test]
fn each_event_of_a_call_is_one_commit() {
    let counted = Counted::with_session();
    let tool = |session: &str, name: &str, arguments: Value| {
        tools::call(&counted.stack, session, name, &arguments.to_string())
    };
    let cart = json!({"title": "Cart", "successCriteria": "Totals are right", "successCriteriaCompacted": ""});
    let effects = tool("root", "stack_frame_push", cart).effects;
    let created = effects.iter().find_map(|effect| match effect {
        Effect::CreateSession { call, .. } => Some(*call),
        _ => None,
    });
    let call = created.expect("the frame gets a session");
    let (effects, commits) = counted.report(json!({"kind": "callStarted", "call": call, "sessionID": "cart"}));
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Prompt { .. })), "{effects:?}");
    assert_eq!(commits, 1, "the frame begins and gets its session");
    assert!(counted.report(message("cart", "user", "Do it")).1 <= 1);
    let done = json!({"status": "completed", "results": "Cart in src/cart.rs", "resultsCompacted": "", "anyway": true});
    tool("cart", "stack_frame_pop", done);
    let (effects, commits) = counted.report(json!({"kind": "callEnded", "call": call}));
    let answer = effects.iter().find_map(|effect| match effect {
        Effect::Answer { text, .. } => Some(text.clone()),
        _ => None,
    });
    assert!(answer.is_some_and(|text| text.contains("Cart in src/cart.rs")), "{effects:?}");
    assert!(commits <= 1, "{commits} commits");
    assert_eq!(counted.stack.frame("cart").unwrap().status, FrameStatus::Completed);
}

#[test]
fn plans_and_imports_are_one_commit() {
    let counted = Counted::new();
    let stack = &counted.stack;
    let root = stack.push(NewFrame::new("Root")).unwrap();
    let children = (0..100).map(|number| NewFrame::new(format!("Part {number}"))).collect();
    assert_eq!(counted.count(|| stack.plan_children(root, children).unwrap()).1, 1);
    let frame = |number: usize| Frame {
        session_id: format!("ses_{number}"),
        status: FrameStatus::Planned,
        title: format!("Task {number}"),
        ..Frame::default()
    };
    assert_eq!(counted.count(|| stack.import((0..100).map(frame).collect()).unwrap()).1, 1);
    let plan = |title: &str| {
        let issues = (0..100).map(|number| {
            json!({"id": format!("app-{number}"), "title": format!("{title} {number}"), "status": "open"}).to_string()
        });
        let mut plan = import::frames(&issues.collect::<Vec<_>>().join("\n")).unwrap();
        plan.is_same_plan = true;
        plan
    };
    let (update, commits) = counted.count(|| stack.bring_up_to_date(&plan("Issue"), None).unwrap());
    assert_eq!((update.added.len() >= 100, commits), (true, 1));
    let (update, commits) = counted.count(|| stack.bring_up_to_date(&plan("Changed"), None).unwrap());
    assert_eq!((update.changes.len(), commits), (100, 1));
}
