//! Tests of invalid input: the error has the right variant and gives advice, and the tree is unchanged.

use callstack_core::frame::NewChunk;
use callstack_core::memory::NewRun;
use callstack_core::{
    Budget, Change, Command, Error, ErrorClass, Event, Frame, FrameRef, FrameStatus, Handle, Identity, NewFrame,
    OutlineOptions, PopStatus, Results, Settings, Stack, Tree, decide,
};
use support::{Queries, set_status};

fn stack() -> Stack {
    let stack = Stack::in_memory();
    let root = stack.push(NewFrame::new("Root").id("ses_root")).unwrap();
    stack.plan(NewFrame::new("Parse").id("plan-aa1").below(root)).unwrap();
    stack.plan(NewFrame::new("Print").id("plan-aa2").below(root)).unwrap();
    stack
}

/// The message of a refused call. Checks that the call has changed nothing.
fn refused<T: std::fmt::Debug>(stack: &Stack, code: &str, call: impl FnOnce(&Stack) -> Result<T, Error>) -> String {
    let before = stack.state().unwrap();
    let error = call(stack).expect_err("the call should be refused");
    assert_eq!(error.code(), code, "{error}");
    assert_eq!(stack.state().unwrap(), before, "a refused call changed the tree: {error}");
    error.to_string()
}

#[test]
fn frames_that_are_not_there_are_named() {
    let stack = stack();
    let message = refused(&stack, "unknown_frame", |stack| stack.frame("f9"));
    assert_eq!(
        message,
        "no frame matches `f9`: it is not a handle, a title, an ID or its beginning; give a handle such as f1"
    );
    refused(&stack, "unknown_frame", |stack| stack.activate(""));
    refused(&stack, "unknown_frame", |stack| stack.frame("f01"));
    refused(&stack, "unknown_frame", |stack| stack.frame(Handle::from_index(70).unwrap()));
    refused(&stack, "unknown_frame", |stack| stack.push(NewFrame::new("x").id("x").below("nothing")));
    refused(&stack, "unknown_frame", |stack| stack.plan(NewFrame::new("x").id("x").depends_on("nothing")));
    refused(&stack, "unknown_frame", |stack| stack.context("nothing", &Settings::default()));
    let nowhere = OutlineOptions::default().root(Some(Handle::from_index(70).unwrap().into()));
    refused(&stack, "unknown_frame", |stack| stack.outline(&nowhere));
}

#[test]
fn ambiguous_beginnings_name_the_candidates() {
    let stack = stack();
    let message = refused(&stack, "ambiguous_frame", |stack| stack.activate("plan-aa"));
    assert_eq!(
        message,
        "`plan-aa` matches several frames: f2 (plan-aa1), f3 (plan-aa2); give the handle of one, or a longer part of its ID"
    );
    assert_eq!(stack.resolve("plan-aa2").unwrap().to_string(), "f3");
    assert_eq!(stack.resolve("ses_r").unwrap().to_string(), "f1");
}

#[test]
fn a_handle_is_never_an_id_that_reads_the_same() {
    let stack = stack();
    stack.push(NewFrame::new("Named like a handle").id("f2").below("f1")).unwrap();
    assert_eq!(stack.resolve("f2").unwrap().to_string(), "f2");
    assert_eq!(stack.resolve("id:f2").unwrap().to_string(), "f4");
}

#[test]
fn ids_are_unique_and_not_empty() {
    let stack = stack();
    let message = refused(&stack, "duplicate_id", |stack| stack.push(NewFrame::new("x").id("plan-aa1")));
    assert_eq!(message, "the ID `plan-aa1` already belongs to frame f2; choose another ID");
    refused(&stack, "empty", |stack| stack.push(NewFrame::new("x").id("")));
    refused(&stack, "empty", |stack| stack.ensure(" ", None, None));
    refused(&stack, "duplicate_id", |stack| stack.replace_id("f2", "ses_root"));
    refused(&stack, "empty", |stack| stack.replace_id("f2", ""));
}

#[test]
fn texts_that_must_say_something_are_not_empty() {
    let stack = stack();
    assert_eq!(refused(&stack, "empty", |stack| stack.push(NewFrame::new("  "))), "`title` is empty; give it a value");
    refused(&stack, "empty", |stack| stack.add_artifact("f1", ""));
    refused(&stack, "empty", |stack| stack.add_decision("f1", "\n"));
    refused(&stack, "empty", |stack| stack.invalidate("f2", ""));
    refused(&stack, "empty", |stack| set_status(stack, "f2", FrameStatus::Invalidated, None));
}

#[test]
fn every_transition_is_as_the_table_says() {
    use FrameStatus::*;
    let legal = |from, to| match from {
        Planned => [InProgress, Invalidated].contains(&to),
        InProgress => [Completed, Failed, Blocked, Invalidated].contains(&to),
        Blocked => [InProgress, Completed, Failed, Blocked, Invalidated].contains(&to),
        Completed | Failed => to == Invalidated,
        Invalidated => false,
    };
    for from in FrameStatus::ALL.iter().copied() {
        for to in FrameStatus::ALL.iter().copied() {
            let stack = Stack::in_memory();
            let frame = Frame { session_id: "a".into(), title: "A".into(), status: from, ..Frame::default() };
            let handle = stack.import(vec![frame]).unwrap()[0];
            let change = |stack: &Stack| set_status(stack, handle, to, Some("why"));
            if legal(from, to) {
                change(&stack).unwrap_or_else(|error| panic!("{from} → {to}: {error}"));
                assert_eq!(stack.frame(handle).unwrap().status, to);
            } else {
                let message = refused(&stack, "transition", change);
                assert!(message.starts_with(&format!("frame f1 is {from} and cannot become {to}; ")), "{message}");
            }
            assert_eq!(from.can_become(to), legal(from, to), "{from} → {to}");
        }
    }
}

#[test]
fn children_go_below_frames_that_are_still_worked_on() {
    let stack = stack();
    let message = refused(&stack, "parent_planned", |stack| stack.push(NewFrame::new("x").below("f2")));
    assert!(message.contains("activate f2 first"), "{message}");
    stack.plan(NewFrame::new("Sketch").below("f2")).unwrap();
    stack.pop("f1", PopStatus::Completed, Results::new("done").compacted("d")).unwrap();
    for call in [Stack::push, Stack::plan] {
        refused(&stack, "parent_closed", |stack| call(stack, NewFrame::new("x").below("f1")));
    }
}

#[test]
fn planned_children_come_all_or_none() {
    let stack = stack();
    let children = || vec![NewFrame::new("one").id("one"), NewFrame::new("two").id("plan-aa1")];
    refused(&stack, "duplicate_id", |stack| stack.plan_children("f1", children()));
    let twice = || vec![NewFrame::new("one").id("one"), NewFrame::new("two").id("one")];
    refused(&stack, "duplicate_id", |stack| stack.plan_children("f1", twice()));
    let circle =
        || vec![NewFrame::new("one").id("one").depends_on("two"), NewFrame::new("two").id("two").depends_on("one")];
    refused(&stack, "dependency", |stack| stack.plan_children("f1", circle()));
    let later = vec![NewFrame::new("one").id("one").depends_on("two"), NewFrame::new("two").id("two")];
    let planned = stack.plan_children("f1", later).unwrap();
    assert_eq!(stack.frame(planned[0]).unwrap().depends_on, ["two"]);
    assert!(!stack.ready().unwrap().contains(&planned[0]) && stack.ready().unwrap().contains(&planned[1]));
}

#[test]
fn dependencies_above_are_refused() {
    let stack = stack();
    let message =
        refused(&stack, "dependency", |stack| stack.plan(NewFrame::new("x").id("x").below("f2").depends_on("f1")));
    assert!(message.starts_with("`x` cannot depend on `ses_root`"), "{message}");
}

#[test]
fn imports_come_all_or_none() {
    let frame = |id: &str, parent: Option<&str>, depends_on: &[&str]| Frame {
        session_id: id.into(),
        title: id.into(),
        parent_session_id: parent.map(Into::into),
        depends_on: depends_on.iter().map(|id| (*id).into()).collect(),
        ..Frame::default()
    };
    let stack = stack();
    let import = |code: &str, frames: Vec<Frame>| refused(&stack, code, |stack| stack.import(frames));
    import("unknown_frame", vec![frame("a", Some("nowhere"), &[])]);
    import("parent_circle", vec![frame("a", Some("b"), &[]), frame("b", Some("a"), &[])]);
    import("dependency", vec![frame("a", None, &["b"]), frame("b", None, &["a"])]);
    import("dependency", vec![frame("a", None, &["b"]), frame("b", Some("a"), &[])]);
    import("duplicate_id", vec![frame("a", None, &[]), frame("ses_root", None, &[])]);
    let added = stack.import(vec![
        frame("child", Some("parent"), &["later", "later"]),
        frame("parent", None, &[]),
        frame("later", None, &[]),
    ]);
    assert_eq!(added.unwrap().len(), 3);
    assert_eq!(stack.frame("child").unwrap().depends_on, ["later"]);
    assert_eq!(stack.frame("child").unwrap().parent_session_id.as_deref(), Some("parent"));
}

#[test]
fn identities_are_set_for_good_once() {
    let stack = stack();
    let session = stack.ensure("ses_seen", None, Some(FrameRef::from("f1"))).unwrap();
    assert_eq!(stack.frame(session).unwrap().title, "Session ses_seen");
    assert_eq!(stack.ensure("ses_seen", Some("other"), None).unwrap(), session);
    let identity = Identity { title: "Real".into(), success_criteria: "Works".into(), ..Identity::default() };
    stack.identify(session, identity.clone()).unwrap();
    refused(&stack, "identity_fixed", |stack| stack.identify(session, identity.clone()));
    refused(&stack, "identity_fixed", |stack| stack.identify("f2", identity));
}

#[test]
fn a_provisional_identity_can_be_set_again_until_something_is_added_below() {
    let stack = Stack::in_memory();
    let identify = |title: &str, criteria: &str| {
        let identity = Identity { title: title.into(), success_criteria: criteria.into(), ..Identity::default() };
        let command = Command::Identify { frame: "f1".into(), identity, provisional: true };
        stack.execute(command).map(|events| events.len())
    };
    stack.ensure("ses_seen", None, None).unwrap();
    stack.plan(NewFrame::new("Early").below("f1")).unwrap();
    assert_eq!(identify("hello", "hello"), Ok(1), "without criteria it had no identity to keep");
    assert_eq!(identify("hello", "hello"), Ok(0), "nothing changes");
    stack.ensure("ses_other", None, Some(FrameRef::from("f1"))).unwrap();
    assert_eq!(identify("Shop", "Customers can pay"), Ok(1), "a placeholder below it is not added on purpose");
    assert_eq!(identify(" ", "").unwrap_err().code(), "empty");
    stack.plan(NewFrame::new("Cart").below("f1")).unwrap();
    assert_eq!(identify("Blog", "").unwrap_err().code(), "identity_fixed");
    let frame = stack.frame("f1").unwrap();
    assert_eq!((frame.title.as_str(), frame.success_criteria.as_str()), ("Shop", "Customers can pay"));
}

#[test]
fn an_identity_of_an_old_history_is_set_for_good() {
    let stack = Stack::in_memory();
    stack.ensure("ses_seen", None, None).unwrap();
    let mut tree = callstack_core::Tree::from_state(stack.state().unwrap()).0;
    let event = format!(
        r#"{{"revision": {}, "time": 1, "handle": "f1", "kind": "identified", "identity": {{"title": "Shop"}}}}"#,
        tree.revision() + 1
    );
    tree.replay(&serde_json::from_str(&event).unwrap()).unwrap();
    assert!(!tree.node(tree.by_id("ses_seen").unwrap()).record().placeholder);
}

#[test]
fn only_open_frames_become_active() {
    let stack = stack();
    let message = refused(&stack, "not_open", |stack| stack.set_active("f2"));
    assert!(message.starts_with("frame f2 is planned and cannot be the active frame"), "{message}");
}

#[test]
fn only_results_are_delivered() {
    let stack = stack();
    let message = refused(&stack, "not_finished", |stack| stack.deliver("f1"));
    assert!(message.contains("f1 is in_progress and has no results to deliver"), "{message}");
    stack.pop("f1", PopStatus::Completed, "All of it").unwrap();
    let before = stack.read(|tree| tree.revision()).unwrap();
    stack.deliver("f1").unwrap();
    assert_eq!(stack.read(|tree| tree.revision()).unwrap(), before, "no frame is above a root");
    // A history from outside cannot contain such an event either.
    let mut tree = Tree::new();
    let push = Command::Push(NewFrame::new("Build").id("a"));
    let added = decide(&tree, push, 1).unwrap().events;
    added.iter().for_each(|event| tree.apply(event));
    let (revision, handle) = (tree.revision() + 1, Handle::from_index(0).unwrap());
    let event = Event { revision, time: 2, handle, change: Change::Delivered {} };
    assert_eq!(tree.replay(&event).unwrap_err().code(), "history");
}

#[test]
fn an_imported_frame_that_is_open_has_no_delivered_results() {
    let stack = Stack::in_memory();
    let frame = |id: &str, parent: Option<&str>| Frame {
        session_id: id.into(),
        title: id.into(),
        parent_session_id: parent.map(str::to_owned),
        status: FrameStatus::InProgress,
        delivered_at: Some(1),
        ..Frame::default()
    };
    stack.import(vec![frame("root", None), frame("child", Some("root"))]).unwrap();
    stack.pop("child", PopStatus::Completed, "Done").unwrap();
    let held = |stack: &Stack| {
        stack
            .read(|tree| (tree.is_held(tree.by_id("child").unwrap()), tree.node(tree.roots()[0]).held_children()))
            .unwrap()
    };
    assert_eq!(held(&stack), (false, 0));
    stack.deliver("child").unwrap();
    assert_eq!(held(&stack), (true, 1));
    stack.invalidate("child", "not needed").unwrap();
    assert_eq!(held(&stack), (false, 0));
}

#[test]
fn only_open_frames_are_summarized() {
    let stack = stack();
    let message = refused(&stack, "results_fixed", |stack| stack.summarize("f2", "so far"));
    assert_eq!(message, "frame f2 is planned and cannot be summarized; only in_progress and blocked frames can");
    refused(&stack, "empty", |stack| stack.summarize("f1", Results::new("").compacted("dense")));
    stack.summarize("f1", Results::new("Half of it").compacted("half")).unwrap();
    stack.summarize("f1", "Most of it").unwrap();
    let frame = stack.frame("f1").unwrap();
    assert_eq!((frame.results.as_deref(), frame.dense_results()), (Some("Most of it"), "Most of it"));
    assert_eq!(frame.status, FrameStatus::InProgress);
}

#[test]
fn budgets_too_small_say_how_much_is_needed() {
    let stack = stack();
    let Err(Error::BudgetTooSmall { needed, total: 1, .. }) = stack.context("f2", &Settings::of_total(1)) else {
        panic!("a budget of one token should be refused")
    };
    assert!(stack.context("f2", &Settings::of_total(needed)).is_ok());
    assert!(stack.context("f2", &Settings::of_total(needed - 1)).is_err());
    for (name, budget) in [
        ("budget.total", Budget::default().total(0)),
        ("budget.ancestors", Budget::default().ancestors(0)),
        ("budget.siblings", Budget::default().siblings(0)),
        ("budget.current", Budget::default().current(0)),
    ] {
        let settings = Settings::default().budget(budget);
        let message = refused(&stack, "setting", |stack| stack.context("f2", &settings));
        assert_eq!(message, format!("{name} is `0`, but must be a whole number of tokens from 1 on"));
    }
    let huge = Budget::default()
        .total(usize::MAX)
        .ancestors(usize::MAX)
        .siblings(usize::MAX)
        .current(usize::MAX)
        .overhead(usize::MAX)
        .heap(usize::MAX);
    assert!(stack.context("f2", &Settings::default().budget(huge)).is_ok());
}

#[test]
fn chunks_that_cannot_be_are_refused() {
    let stack = stack();
    let allocate = |name: &str, content: &str| NewChunk::new(name).content(content);
    stack.heap("f1").allocate(allocate("spec", "x")).unwrap();
    stack.heap("f2").allocate(allocate("notes", "x")).unwrap();
    let message = refused(&stack, "chunk_exists", |stack| stack.heap("f2").allocate(allocate("spec", "y")));
    assert_eq!(message, "a chunk named `spec` already exists in frame f1; write to it, or choose another name");
    let message = refused(&stack, "chunk_exists", |stack| stack.heap("f1").allocate(allocate("notes", "y")));
    assert!(message.contains("in frame f2"), "a frame below would see two: {message}");
    stack.heap("f3").allocate(allocate("notes", "siblings do not see each other's")).unwrap();
    let message = refused(&stack, "unknown_chunk", |stack| stack.heap("f2").write("spce", "y"));
    assert_eq!(message, "frame f2 sees no chunk named `spce`; the chunks that it sees are: spec, notes");
    refused(&stack, "unknown_chunk", |stack| stack.heap("f1").free("notes"));
    refused(&stack, "unknown_chunk", |stack| stack.heap("f1").chunk("notes"));
    refused(&stack, "empty", |stack| stack.heap("f1").allocate(allocate(" ", "y")));
    let message = refused(&stack, "too_long", |stack| stack.heap("f1").allocate(allocate(&"ü".repeat(101), "y")));
    assert_eq!(message, "`name` has 101 characters, but the limit is 100; shorten it, or put the text into a file");
    let long = "ü".repeat(100_001);
    refused(&stack, "too_long", |stack| stack.heap("f1").allocate(allocate("long", &long)));
    refused(&stack, "too_long", |stack| stack.heap("f1").write("spec", &long));
    let described = || allocate("x", "y").description("two\nlines");
    let message = refused(&stack, "not_one_line", |stack| stack.heap("f1").allocate(described()));
    assert_eq!(message, "`description` has line breaks or other control characters; give it as one line");
    refused(&stack, "unknown_frame", |stack| stack.heap("f9").allocate(allocate("x", "y")));
    refused(&stack, "unknown_frame", |stack| stack.update_registers("f9", Default::default()));
    refused(&stack, "unknown_frame", |stack| stack.heap("f9").chunks());
    refused(&stack, "no_run", |stack| stack.run("f1").next());
    refused(&stack, "empty", |stack| stack.start_run(NewRun::new(" ")));
}

#[test]
fn settings_are_read_from_json_and_environment() {
    let settings = Settings::from_json(r#"{"budget": {"total": 900}, "guidance": "brief"}"#).unwrap();
    assert_eq!((settings.budget.total, settings.budget.ancestors, settings.minimum_relevance), (900, 1500, 30));
    for (text, code) in [
        ("", "json"),
        ("{", "json"),
        (r#"{"budgets": {}}"#, "json"),
        (r#"{"budget": {"total": -1}}"#, "json"),
        (r#"{"budget": {"total": 0}}"#, "setting"),
        (r#"{"minimumRelevance": 101}"#, "setting"),
    ] {
        assert_eq!(Settings::from_json(text).unwrap_err().code(), code, "{text}");
    }
    for variable in ["TOTAL", "ANCESTORS", "SIBLINGS", "CURRENT"] {
        let name = format!("STACK_TOKEN_BUDGET_{variable}");
        for bad in ["", "0", "-5", "lots", "1.5", "99999999999999999999999"] {
            let (budget, problems) = Budget::from_variables(|asked| (asked == name).then(|| bad.into()));
            let [problem] = &problems[..] else { panic!("{problems:?}") };
            let shown = if bad.is_empty() { "empty".to_owned() } else { format!("`{bad}`") };
            let expected = format!("{name} is {shown}, but must be a whole number of tokens from 1 on");
            assert_eq!((problem.code(), problem.to_string()), ("setting", expected));
            assert_eq!(budget, Budget::default());
            // The other three variables are used.
            let value = |asked: &str| if asked == name { bad } else { "123" };
            let (budget, problems) = Budget::from_variables(|asked| Some(value(asked).into()));
            let values = [budget.total, budget.ancestors, budget.siblings, budget.current];
            let in_force = values.iter().filter(|value| **value == 123).count();
            assert_eq!((in_force, problems.len()), (3, 1), "{name}");
        }
        let (budget, problems) = Budget::from_variables(|asked| (asked == name).then(|| " 123 ".into()));
        assert_eq!(problems, []);
        let values = [budget.total, budget.ancestors, budget.siblings, budget.current];
        assert_eq!(values.iter().filter(|value| **value == 123).count(), 1, "{name}");
    }
}

#[test]
fn extra_keys_never_hide_documented_ones() {
    let stack = stack();
    let mut frame = Frame { session_id: "a".into(), title: "A".into(), ..Frame::default() };
    frame.extra.insert("status".into(), "odd".into());
    frame.extra.insert("color".into(), "red".into());
    let events = stack.execute(callstack_core::Command::Import { frames: vec![frame] }).unwrap();
    let text = serde_json::to_string(&events).unwrap();
    let read: Vec<callstack_core::Event> = serde_json::from_str(&text).expect("each key stands there once");
    assert_eq!(read, events);
    let extra = stack.frame("a").unwrap().extra;
    assert_eq!((&extra["status (unreadable)"], &extra["color"]), (&"odd".into(), &"red".into()));
}

#[test]
fn the_class_of_an_error_says_what_can_be_done() {
    let busy = Error::Busy { path: "stack".into(), waited: 10 };
    let child = |error: &Error| Error::Child { number: 1, title: "Cart".into(), error: Box::new(error.clone()) };
    for (error, class, is_outcome_known) in [
        (Error::Empty { field: "title" }, ErrorClass::Usage, true),
        (Error::UnknownFrame { reference: "f9".into(), handle: None, similar: Vec::new() }, ErrorClass::Refused, true),
        (busy.clone(), ErrorClass::Passing, false),
        (child(&busy), ErrorClass::Passing, false),
        (Error::Version { what: "stack".into(), found: 99, supported: 1 }, ErrorClass::Damaged, true),
        (Error::disk_full("stack"), ErrorClass::Storage, true),
        (Error::Broken {}, ErrorClass::Broken, true),
    ] {
        assert_eq!((error.class(), error.is_outcome_known()), (class, is_outcome_known), "{error}");
    }
}
