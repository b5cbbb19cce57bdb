//! Tests of labels and assignees: their form, which actors may change them, and to which workers a
//! frame is left.

use callstack_core::import::{self, Imported, PlanField};
use callstack_core::{
    Actor, Error, Frame, FrameEdit, FrameRef, FrameStatus, HolderKind, MemoryStore, NewFrame, NewHold, PopStatus,
    Settings, Stack, StackOptions,
};
use serde_json::json;

fn stack() -> Stack {
    Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap()
}

fn person(stack: &Stack) -> Stack {
    stack.as_actor(Actor::new(HolderKind::Person, "anna"))
}

#[test]
fn labels_are_distinct_words_on_one_line() {
    let stack = stack();
    let new = NewFrame::new("Schema").label(" db ").label("back\nend").label("db").assignee(" anna ");
    let frame = stack.frame(stack.plan(new).unwrap()).unwrap();
    assert_eq!((frame.labels, frame.assignee.as_deref()), (vec!["db".to_owned(), "back end".into()], Some("anna")));
    let long = "x".repeat(Frame::LONGEST_LABEL + 1);
    let labels = |count: usize| (0..count).map(|number| format!("l{number}")).collect::<Vec<_>>();
    for (edit, code) in [
        (FrameEdit::default().labels([" "]), "empty"),
        (FrameEdit::default().labels([&*long]), "too_long"),
        (FrameEdit::default().labels(labels(Frame::MOST_LABELS + 1)), "setting"),
        (FrameEdit::default().assignee(Some(" \n".into())), "empty"),
        (FrameEdit::default().assignee(Some(long.repeat(10))), "too_long"),
    ] {
        assert_eq!(stack.edit("Schema", edit).unwrap_err().code(), code);
    }
    stack.edit("Schema", FrameEdit::default().labels(labels(Frame::MOST_LABELS))).unwrap();
    stack.edit("Schema", FrameEdit::default().labels([""; 0]).assignee(None)).unwrap();
    let frame = stack.frame("Schema").unwrap();
    assert_eq!((frame.labels.len(), frame.assignee), (0, None));
    let children = vec![NewFrame::new("Good"), NewFrame::new("Bad").label("")];
    let refused = stack.plan_children(FrameRef::from("Schema"), children).unwrap_err();
    assert!(matches!(refused, Error::Child { number: 2, .. }), "{refused}");
}

#[test]
fn a_person_changes_the_marks_of_a_begun_frame_and_takes_that_back() {
    let stack = stack();
    let frame = stack.push(NewFrame::new("Schema").label("db").root()).unwrap();
    let edit = FrameEdit::default().labels(["urgent"]).assignee(Some("ben".into()));
    assert_eq!(stack.edit(frame, edit.clone()).unwrap_err().code(), "not_planned", "an agent");
    let person = person(&stack);
    person.edit(frame, edit.clone()).unwrap();
    let record = person.frame(frame).unwrap();
    assert_eq!((&record.labels[..], record.assignee.as_deref()), (&["urgent".to_owned()][..], Some("ben")));
    assert_eq!(record.corrected_at, None, "no word of it has changed");
    let revision = person.read(|tree| tree.revision()).unwrap();
    person.edit(frame, edit).unwrap();
    assert_eq!(person.read(|tree| tree.revision()).unwrap(), revision, "nothing changes");
    person.undo().unwrap();
    let record = person.frame(frame).unwrap();
    assert_eq!((&record.labels[..], record.assignee), (&["db".to_owned()][..], None));
}

#[test]
fn the_marks_stay_with_a_new_attempt_and_are_in_no_context() {
    let stack = stack();
    let frame = stack.push(NewFrame::new("Schema").label("database").assignee("anna").root()).unwrap();
    assert!(!stack.context(frame, &Settings::default()).unwrap().xml.contains("anna"));
    stack.pop(frame, PopStatus::Failed, "No").unwrap();
    let next = stack.retry(frame, None).unwrap().handle;
    let record = stack.frame(next).unwrap();
    assert_eq!((record.labels, record.assignee.as_deref()), (vec!["database".to_owned()], Some("anna")));
}

#[test]
fn workers_leave_a_frame_to_its_assignee() {
    let stack = stack();
    let [first, second] = [("First", Some("anna")), ("Second", None)].map(|(title, assignee)| {
        let mut frame = NewFrame::new(title).root();
        frame.assignee = assignee.map(str::to_owned);
        stack.plan(frame).unwrap()
    });
    let hold = |name: &str| stack.work().hold(NewHold::new(name, 60_000)).unwrap().map(|hold| hold.handle);
    let left = || stack.work().left(None).unwrap();
    assert_eq!((left().free, left().assigned), (1, 1));
    assert_eq!((hold("one"), hold("one")), (Some(second), None));
    assert_eq!((left().free, left().held, left().assigned), (0, 1, 1));
    let of_anna = stack.work().left_for("Anna", None).unwrap();
    assert_eq!((of_anna.free, of_anna.assigned), (1, 0), "in any letter case");
    assert_eq!(hold("Anna"), Some(first));
    assert_eq!(left().assigned, 0);
    // A worker that names a frame can have it, and can resume it. Other workers leave it to its assignee,
    // whose jobs have numbers.
    let named = stack.plan(NewFrame::new("Named").assignee("ben").root()).unwrap();
    let own = stack.work().hold(NewHold::new("one", 60_000).frame(named)).unwrap().unwrap();
    stack.work().release(&own).unwrap();
    assert_eq!(stack.frame(named).unwrap().status, FrameStatus::InProgress);
    assert_eq!((left().free, left().assigned), (0, 1));
    assert_eq!(hold("two"), None);
    assert_eq!(stack.work().left_for("one", None).unwrap().free, 1);
    assert_eq!(hold("Ben-2"), Some(named));
}

/// A plan with one issue.
fn issue(labels: serde_json::Value, assignee: serde_json::Value) -> Imported {
    let issue = json!({"id": "a-1", "title": "Schema", "status": "open", "labels": labels, "assignee": assignee});
    import::beads(&issue.to_string())
}

#[test]
fn marks_of_beads_come_and_go_with_its_issues() {
    let stack = person(&stack());
    let import = |labels, assignee| stack.bring_up_to_date(&issue(labels, assignee), None).unwrap();
    import(json!(["db", "db", " "]), json!("anna"));
    let frame = || stack.frame("a-1").unwrap();
    assert_eq!(
        (frame().labels, frame().assignee.as_deref(), frame().extra.len()),
        (vec!["db".to_owned()], Some("anna"), 0)
    );
    import(json!(["db", "new"]), json!(null));
    assert_eq!((frame().labels, frame().assignee), (vec!["db".to_owned(), "new".into()], None));
    stack.edit("a-1", FrameEdit::default().assignee(Some("carla".into()))).unwrap();
    let updated = import(json!(["db", "new"]), json!(null));
    assert_eq!((updated.conflicts.len(), frame().assignee.as_deref()), (0, Some("carla")), "changed here alone");
    let updated = import(json!(["db", "new"]), json!("dora"));
    let conflict = &updated.conflicts[0];
    assert_eq!((conflict.field, &*conflict.file, &*conflict.stack), (PlanField::Assignee, "dora", "carla"));
    let strange = [(json!("db"), json!(7)), (json!([1, "x".repeat(101)]), json!({"no": "text"}))];
    for (labels, assignee) in strange {
        assert!(!issue(labels, assignee).problems.is_empty());
    }
}
