//! Plans that agents make and change with their tools.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use callstack_core::session::{Effect, HostEvent};
use callstack_core::tools::{self, Answer};
use callstack_core::{FrameStatus, HostSettings, NewFrame, PopStatus, Stack, ToolSet};
use serde_json::{Value, json};
use support::{Queries, options_at};

/// A host whose session `root` works on f1.
struct Host {
    stack: Stack,
}

impl Host {
    fn new(tools: ToolSet) -> Self {
        let stack = Stack::with_options(options_at(&Arc::new(AtomicU64::new(1_700_000_000_000))));
        assert_eq!(stack.host().configure(HostSettings::default().tools(tools)), []);
        let host = Self { stack };
        host.tell(json!({"kind": "sessionCreated", "sessionID": "root", "title": "Shop"}));
        let message =
            json!({"kind": "message", "sessionID": "root", "messageID": "m1", "role": "user", "text": "Build a shop"});
        host.tell(message);
        host
    }

    fn tell(&self, event: Value) -> Vec<Effect> {
        self.stack.host().report(serde_json::from_value::<HostEvent>(event).unwrap())
    }

    fn tool(&self, name: &str, arguments: Value) -> Answer {
        tools::call(&self.stack, "root", name, &arguments.to_string())
    }

    fn good(&self, name: &str, arguments: Value) -> String {
        let answer = self.tool(name, arguments);
        assert!(!answer.is_error, "{answer:?}");
        answer.text.unwrap()
    }

    /// The error of a call. Checks that the call changes nothing.
    fn refused(&self, name: &str, arguments: Value) -> String {
        let before = self.stack.state().unwrap();
        let answer = self.tool(name, arguments);
        assert!(answer.is_error && answer.call.is_none(), "{answer:?}");
        assert_eq!(self.stack.state().unwrap(), before);
        answer.text.unwrap()
    }

    fn plan(&self, children: &[(&str, &[&str])]) -> Value {
        let child = |(title, needs): &(&str, &[&str])| json!({"title": title, "successCriteria": "It works", "successCriteriaCompacted": "works", "dependsOn": needs});
        json!({"children": children.iter().map(child).collect::<Vec<_>>()})
    }
}

#[test]
fn children_of_a_plan_may_name_later_ones_by_title() {
    let host = Host::new(ToolSet::standard());
    let plan = host.plan(&[("Pay", &["Cart", "tax"]), ("Cart", &[]), ("Tax", &["Cart"])]);
    let answer = host.good("stack_frame_plan_children", plan);
    assert_eq!(answer, "Planned f2 to f4, in this order. Begin with stack_frame_activate f3.");
    let needs = |frame: &str| {
        host.stack.read(|tree| tree.node(tree.resolve(&frame.into()).unwrap()).dependencies().to_vec()).unwrap()
    };
    assert_eq!(needs("f2").iter().map(ToString::to_string).collect::<Vec<_>>(), ["f3", "f4"]);
    let circle = host.refused("stack_frame_plan_children", host.plan(&[("A", &["B"]), ("B", &["A"])]));
    assert!(circle.contains("`B` cannot depend on `A`: each would wait for the other"), "{circle}");
}

#[test]
fn two_children_with_one_title_are_no_dependency() {
    let host = Host::new(ToolSet::standard());
    let plan = host.plan(&[("Cart", &[]), ("Cart", &[]), ("Pay", &["Cart"])]);
    let error = host.refused("stack_frame_plan_children", plan);
    assert!(
        error.contains("child 3 (Pay): `Cart` matches several frames: child 1 (Cart), child 2 (Cart); "),
        "{error}"
    );
    let error = host.refused("stack_frame_plan_children", host.plan(&[("Cart", &[]), ("Pay", &["Taxes"])]));
    assert!(
        error.contains("child 2 (Pay): no frame matches `Taxes`: it is not a handle, a title, an ID or its beginning"),
        "{error}"
    );
}

#[test]
fn an_agent_edits_its_plan() {
    let host = Host::new(ToolSet::standard());
    host.good("stack_frame_plan_children", host.plan(&[("Cart", &[]), ("Tax", &[]), ("Pay", &["Tax"])]));
    let answer =
        host.good("stack_frame_edit", json!({"sessionID": "pay", "dependsOn": ["Cart", "tax"], "before": "Cart"}));
    assert_eq!(answer, "f4 (Pay) is edited. It waits for f2, f3.");
    let answer = host.good(
        "stack_frame_edit",
        json!({"sessionID": "f2", "title": "Basket", "successCriteria": "Sums", "before": ""}),
    );
    assert_eq!(answer, "f2 (Basket) is edited. Begin it with stack_frame_activate f2.");
    let order = || host.stack.children("f1").unwrap().iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(order(), ["f4", "f3", "f2"]);
    host.good("stack_frame_edit", json!({"sessionID": "Tax", "parentSessionID": "Basket", "dependsOn": []}));
    assert_eq!(host.stack.children("f2").unwrap()[0].to_string(), "f3");
    let error = host.refused("stack_frame_edit", json!({"sessionID": "f1", "title": "Store"}));
    assert!(error.contains("frame f1 is in_progress and cannot be edited; once begun, it keeps its place"), "{error}");
    let error = host.refused("stack_frame_edit", json!({"sessionID": "Basket", "parentSessionID": "Tax"}));
    assert!(error.contains("`f2` cannot be below `f3`"), "{error}");
}

#[test]
fn a_frame_with_open_dependencies_begins_only_with_a_word() {
    let host = Host::new(ToolSet::standard());
    host.good("stack_frame_plan_children", host.plan(&[("Cart", &[]), ("Pay", &["Cart"])]));
    let error = host.refused("stack_frame_activate", json!({"sessionID": "Pay"}));
    assert_eq!(
        error,
        "stack_frame_activate: frame f3 cannot begin yet: f2 (Cart) is planned; run f2 first, or \
         begin it `anyway`"
    );
    host.stack.activate("f2").unwrap();
    host.stack.pop("f2", PopStatus::Failed, "No database").unwrap();
    let error = host.refused("stack_frame_activate", json!({"sessionID": "Pay", "anyway": false}));
    assert!(error.contains("f2 (Cart) is failed: No database; retry f2, or give f3 other dependencies, or"), "{error}");
    let answer = host.tool("stack_frame_activate", json!({"sessionID": "Pay", "anyway": true}));
    let call = answer.call.expect("it is called");
    host.tell(json!({"kind": "callStarted", "call": call, "sessionID": "pay"}));
    assert_eq!(host.stack.frame("f3").unwrap().status, FrameStatus::InProgress);
}

#[test]
fn a_new_attempt_with_open_dependencies_begins_only_with_a_word() {
    let host = Host::new(ToolSet::standard());
    host.good("stack_frame_plan_children", host.plan(&[("Cart", &[]), ("Pay", &["Cart"])]));
    host.stack.activate("f3").unwrap();
    host.stack.pop("f3", PopStatus::Failed, "No prices").unwrap();
    let again = json!({"sessionID": "Pay", "retry": true});
    let error = host.refused("stack_frame_activate", again.clone());
    assert!(error.contains("f2 (Cart) is planned; run f2 first, or begin it `anyway`"), "{error}");
    host.stack.activate("f2").unwrap();
    host.stack.pop("f2", PopStatus::Failed, "No database").unwrap();
    let error = host.refused("stack_frame_activate", again);
    assert!(error.contains("is failed: No database; retry f2, or begin it `anyway`"), "{error}");
    let answer = host.tool("stack_frame_activate", json!({"sessionID": "Pay", "retry": true, "anyway": true}));
    let call = answer.call.expect("it is called");
    host.tell(json!({"kind": "callStarted", "call": call, "sessionID": "pay"}));
    let attempt = host.stack.frame("f4").unwrap();
    assert_eq!((attempt.status, attempt.title.as_str()), (FrameStatus::InProgress, "Pay"));
}

#[test]
fn only_planned_frames_are_asked_for_their_dependencies() {
    let host = Host::new(ToolSet::standard());
    host.good("stack_frame_plan_children", host.plan(&[("Cart", &[]), ("Pay", &["Cart"])]));
    host.stack.replace_id("f3", "pay").unwrap();
    host.stack.activate("f3").unwrap();
    host.stack.block("f3", "Which bank?", None).unwrap();
    let answer = host.tool("stack_frame_activate", json!({"sessionID": "f3", "answer": "Any"}));
    assert!(answer.call.is_some(), "a frame that has begun goes on: {answer:?}");
}

#[test]
fn an_invalidation_names_the_dependents_and_the_tool() {
    let plan = |tools: ToolSet| {
        let host = Host::new(tools);
        host.good("stack_frame_plan_children", host.plan(&[("Cart", &[]), ("Pay", &["Cart"]), ("Mail", &["Cart"])]));
        host.stack.activate("f4").unwrap();
        host.good("stack_frame_invalidate", json!({"sessionID": "Cart", "reason": "The bank has one"}))
    };
    assert_eq!(
        plan(ToolSet::standard()),
        "f2 (Cart) is out of the plan. It was needed by frames that have begun: f4. Planned frames depend on it: f3; \
         stack_frame_edit (dependsOn) gives them other dependencies."
    );
    let few = ToolSet::none().with("stack_frame_plan_children").with("stack_frame_invalidate");
    assert!(plan(few).ends_with("Planned frames depend on it: f3; replan them without it, or begin them anyway."));
}

#[test]
fn a_title_means_a_frame_of_the_callers_tree() {
    let host = Host::new(ToolSet::standard());
    let other = host.stack.push(NewFrame::new("Blog").id("blog").root()).unwrap();
    host.stack.plan(NewFrame::new("Tests").id("other").below(other)).unwrap();
    host.good("stack_frame_plan_children", host.plan(&[("Tests", &[])]));
    let details = host.good("stack_frame_details", json!({"frameID": "tests"}));
    assert!(details.contains("\"handle\": \"f4\""), "{details}");
}
