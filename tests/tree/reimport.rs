//! Tests of plans that are imported again: changes in the file, and changes here.

use callstack_core::import::{self, Becomes, Imported, PlanConflict, PlanField, PlanUpdate};
use callstack_core::store::{EventQuery, MemoryStore};
use callstack_core::{
    Actor, Frame, FrameEdit, FrameStatus, HolderKind, NewFrame, PopStatus, Priority, Stack, StackOptions, StackState,
    Tree,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::{Queries, set_status};

fn plan(issues: &[Value]) -> Imported {
    import::frames(&issues.iter().map(|issue| format!("{issue}\n")).collect::<String>()).unwrap()
}

fn update(stack: &Stack, issues: &[Value]) -> PlanUpdate {
    let plan = plan(issues);
    let dry = stack.compare_plan(&plan, None).unwrap();
    let revision = revision_of(stack);
    let update = stack.bring_up_to_date(&plan, None).unwrap();
    assert_eq!(dry, update, "a look at the changes says what they are");
    let is_nothing = update.added.is_empty() && update.changes.is_empty();
    assert!(is_nothing || revision_of(stack) > revision);
    // The history gives the same tree.
    let history = stack.history().events(&EventQuery::default()).unwrap();
    let mut tree = Tree::new();
    history.iter().for_each(|event| tree.replay(event).unwrap());
    assert_eq!(tree.state(), stack.state().unwrap());
    let revision = revision_of(stack);
    let again = stack.bring_up_to_date(&plan, None).unwrap();
    assert!(again.added.is_empty() && again.changes.is_empty(), "the second time changes nothing: {again:?}");
    assert_eq!(again.conflicts, update.conflicts, "conflicts stay");
    assert_eq!(revision_of(stack), revision, "nor does it write anything");
    update
}

/// A stack with a history.
fn recorded() -> Stack {
    Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap()
}

fn revision_of(stack: &Stack) -> u64 {
    stack.read(|tree| tree.revision()).unwrap()
}

fn said(update: &PlanUpdate) -> Vec<String> {
    let mut said: Vec<String> = { update.changes.iter() }
        .map(|change| {
            let fields: Vec<&str> = change.fields.iter().map(|field| field.name()).collect();
            format!("{} {:?} {}", change.id, change.becomes, fields.join("+")).trim_end().to_owned()
        })
        .collect();
    said.extend(update.conflicts.iter().map(|conflict| {
        let PlanConflict { id, field, file, stack, .. } = conflict;
        format!("{id} {}: {file} | {stack}", field.name())
    }));
    said
}

fn issue(id: &str, status: &str) -> Value {
    json!({"id": id, "title": format!("Task {id}"), "status": status, "description": "As said"})
}

fn with(mut issue: Value, key: &str, value: impl Into<Value>) -> Value {
    issue[key] = value.into();
    issue
}

fn blocked_by(issue: Value, others: &[&str]) -> Value {
    let links: Vec<Value> = others.iter().map(|other| json!({"depends_on_id": other, "type": "blocks"})).collect();
    with(issue, "dependencies", links)
}

#[test]
fn what_the_file_alone_has_changed_is_taken_over() {
    let stack = recorded();
    let first = [
        issue("a", "open"),
        issue("b", "open"),
        issue("c", "deferred"),
        issue("d", "open"),
        blocked_by(issue("e", "open"), &["d"]),
        issue("f", "in_progress"),
        issue("g", "closed"),
    ];
    assert_eq!(update(&stack, &first).added.len(), 8);
    let second = [
        with(with(issue("a", "open"), "title", "Other"), "priority", 1),
        with(issue("b", "closed"), "close_reason", "Made it"),
        issue("c", "open"),
        blocked_by(issue("d", "open"), &["e"]),
        issue("e", "open"),
        with(issue("f", "closed"), "close_reason", "Made elsewhere"),
        issue("g", "open"),
        blocked_by(issue("h", "open"), &["a"]),
    ];
    let changes = update(&stack, &second);
    assert_eq!(
        said(&changes),
        [
            "a Edited title+priority",
            "b Finished status",
            "c Planned status",
            "d Edited dependencies",
            "e Edited dependencies",
            "f Finished status",
            "g Planned status",
        ]
    );
    assert_eq!(changes.added.len(), 1);
    let frame = |id: &str| stack.frame(id).unwrap();
    assert_eq!((frame("a").title.as_str(), frame("a").priority), ("Other", Priority::new(1)));
    assert_eq!(frame("b").results.as_deref(), Some("Made it"));
    assert_eq!(frame("f").results.as_deref(), Some("Made elsewhere"));
    assert_eq!((frame("d").depends_on, frame("e").depends_on), (vec!["e".to_owned()], Vec::new()));
    assert_eq!(frame("h").depends_on, ["a"]);
    let removed = update(&stack, &second[1..]);
    assert_eq!(said(&removed), ["h Waiting dependencies+status", "a Removed"]);
    assert_eq!(frame("a").status, FrameStatus::Invalidated);
    let back = update(&stack, &second);
    assert_eq!(said(&back), ["a Planned status", "h Planned dependencies+status"]);
}

#[test]
fn what_was_begun_here_is_never_overwritten() {
    let stack = recorded();
    let first = [issue("a", "open"), issue("b", "open"), issue("c", "open"), issue("d", "open")];
    update(&stack, &first);
    for id in ["a", "b", "d"] {
        stack.activate(id).unwrap();
    }
    stack.pop("b", PopStatus::Completed, "Made here").unwrap();
    // The frame has the ID of the session now.
    stack.replace_id("d", "ses_9").unwrap();
    let second = [
        with(with(issue("a", "closed"), "title", "Other"), "close_reason", "Elsewhere"),
        with(issue("b", "open"), "title", "Other"),
        with(issue("d", "in_progress"), "description", "Else"),
    ];
    let changes = update(&stack, &second);
    assert_eq!(
        said(&changes),
        [
            "c Removed",
            "a title: Other | Task a",
            "a status: completed | in_progress",
            "b title: Other | Task b",
            "d criteria: Else | As said",
        ]
    );
    assert_eq!(stack.frame("a").unwrap().status, FrameStatus::InProgress);
    let removed = update(&stack, &[issue("c", "open")]);
    assert_eq!(
        said(&removed),
        [
            "c Planned status",
            "a status: it is removed | in_progress",
            "b status: it is removed | completed",
            "d status: it is removed | in_progress"
        ]
    );
    stack.invalidate("a", "The tracker has dropped it").unwrap();
    let again = update(&stack, &[issue("c", "open")]);
    assert_eq!(said(&again)[0], "a Removed", "what both have dropped is no conflict");
}

/// The most frequent change by a tracker: work that was done here is marked as done there.
#[test]
fn what_is_done_here_and_there_is_no_conflict() {
    let tasks = |status: &str| {
        let task = json!({"id": 1, "title": "Cart", "description": "Totals", "details": "How to do it", "testStrategy": "unit",
            "status": status});
        import::frames(&json!({"master": {"tasks": [task]}}).to_string()).unwrap()
    };
    let stack = recorded();
    stack.bring_up_to_date(&tasks("pending"), None).unwrap();
    stack.activate("master/1").unwrap();
    stack.pop("master/1", PopStatus::Completed, "Cart::total() is there").unwrap();
    let task = stack.frame("master/1").unwrap().task;
    let update = stack.bring_up_to_date(&tasks("done"), None).unwrap();
    assert_eq!(said(&update), Vec::<String>::new());
    let frame = stack.frame("master/1").unwrap();
    assert_eq!((frame.results.as_deref(), frame.task), (Some("Cart::total() is there"), task));

    let stack = recorded();
    stack.bring_up_to_date(&plan(&[issue("x-1", "open")]), None).unwrap();
    stack.activate("x-1").unwrap();
    stack.pop("x-1", PopStatus::Completed, "Done here").unwrap();
    let update =
        stack.bring_up_to_date(&plan(&[with(issue("x-1", "closed"), "close_reason", "Done there")]), None).unwrap();
    assert_eq!(said(&update), Vec::<String>::new());
    assert_eq!(stack.frame("x-1").unwrap().results.as_deref(), Some("Done here"));
}

#[test]
fn what_was_changed_here_stays_and_both_is_a_conflict() {
    let stack = recorded();
    let first = [issue("a", "open"), issue("b", "open"), issue("c", "deferred")];
    update(&stack, &first);
    stack.edit("a", FrameEdit::default().title("Mine").criteria("My own")).unwrap();
    stack.answer("c", "Go").unwrap();
    assert_eq!(said(&update(&stack, &first)), [""; 0]);
    assert_eq!(
        (stack.frame("a").unwrap().title.as_str(), stack.frame("c").unwrap().status),
        ("Mine", FrameStatus::Planned)
    );
    let second = [
        with(with(issue("a", "open"), "title", "Theirs"), "priority", 0),
        issue("b", "open"),
        with(issue("c", "blocked"), "title", "Later"),
    ];
    assert_eq!(
        said(&update(&stack, &second)),
        ["a Edited priority", "c Edited title", "a title: Theirs | Mine", "c status: blocked | planned"]
    );
    stack.edit("a", FrameEdit::default().title("Theirs")).unwrap();
    assert_eq!(said(&update(&stack, &second)), ["c status: blocked | planned"], "one of the two has given in");
}

#[test]
fn the_order_of_the_file_is_that_of_the_frames() {
    let stack = recorded();
    let issues = |ids: &str| ids.chars().map(|id| issue(&id.to_string(), "open")).collect::<Vec<_>>();
    let order = || {
        let root = stack.resolve("beads").unwrap();
        let ids = stack.children(root).unwrap().into_iter().map(|child| stack.frame(child).unwrap().session_id);
        ids.collect::<Vec<_>>().join("")
    };
    update(&stack, &issues("abcd"));
    update(&stack, &issues("axbcd"));
    assert_eq!(order(), "axbcd", "a new entry stands where the file has it");
    assert_eq!(said(&update(&stack, &issues("zdaxbc"))), ["beads Edited order"]);
    assert_eq!(order(), "zdaxbc");
    stack.edit("c", FrameEdit::default().before("z")).unwrap();
    assert_eq!(said(&update(&stack, &issues("zdaxbcy"))), [""; 0]);
    assert_eq!(order(), "cyzdaxb", "the order that was changed here stays");
    let both = update(&stack, &issues("yzdaxbc"));
    assert_eq!(both.conflicts[0].field, PlanField::Order);
    assert_eq!(order(), "cyzdaxb");
}

#[test]
fn new_entries_below_what_is_done_and_new_parents() {
    let stack = recorded();
    let child = |id: &str, parent: &str, status: &str| {
        with(issue(id, status), "dependencies", json!([{"depends_on_id": parent, "type": "parent-child"}]))
    };
    update(&stack, &[issue("a", "closed")]);
    assert_eq!(stack.frame("beads").unwrap().status, FrameStatus::Completed);
    update(&stack, &[issue("a", "closed"), issue("b", "open"), child("c", "b", "open")]);
    assert_eq!(stack.frame("beads").unwrap().status, FrameStatus::InProgress, "what holds others together goes on");
    // The two frames change places.
    let swapped = update(&stack, &[issue("a", "closed"), child("b", "c", "open"), issue("c", "open")]);
    assert_eq!(said(&swapped), ["c Edited parent", "b Edited parent"]);
    let done = [issue("a", "closed"), child("b", "c", "closed"), issue("c", "closed")];
    update(&stack, &done);
    assert_eq!(stack.frame("beads").unwrap().status, FrameStatus::Completed);
}

#[test]
fn what_holds_others_together_goes_on_also_over_what_was_left_open() {
    let stack = recorded();
    let tag = |tasks: Value| json!({"shop": {"tasks": tasks}}).to_string();
    let task = |id: u64| json!({"id": id, "title": format!("Task {id}"), "status": "pending"});
    let read = |tasks: Value| import::frames(&tag(tasks)).unwrap();
    stack.bring_up_to_date(&read(json!([task(1)])), None).unwrap();
    set_status(&stack, "shop", FrameStatus::Completed, Some("Enough")).unwrap();
    stack.bring_up_to_date(&read(json!([task(1)])), None).unwrap();
    assert_eq!(stack.frame("shop").unwrap().status, FrameStatus::Completed, "nothing has changed");
    stack.bring_up_to_date(&read(json!([task(1), task(2)])), None).unwrap();
    assert_eq!(stack.frame("shop").unwrap().status, FrameStatus::InProgress);
    assert_eq!(stack.ready().unwrap().len(), 2);
}

fn kind(issue: Value, kind: &str) -> Value {
    with(issue, "issue_type", kind)
}

/// The plan of a file changes frames that group other frames: a new import of the plan and the update give
/// the same result.
#[test]
fn what_holds_others_together_follows_the_file() {
    let ready = |stack: &Stack| -> Vec<String> {
        stack.ready().unwrap().into_iter().map(|frame| stack.frame(frame).unwrap().session_id).collect()
    };
    // The frame is closed or deleted in the file, and a part of it is open.
    for word in ["molecule", "convoy"] {
        for status in ["closed", "tombstone"] {
            let stack = recorded();
            let closed = [kind(issue("c", status), word), issue("c.1", "open"), issue("d", "open")];
            update(&stack, &closed);
            assert_eq!(ready(&stack), ["d"], "{word} {status}");
            let stack = recorded();
            update(&stack, &[kind(issue("c", "open"), word), issue("c.1", "open"), issue("d", "open")]);
            update(&stack, &closed);
            assert_eq!(ready(&stack), ["d"], "{word} {status}, in an update");
        }
    }
    // The frame gets a dependency.
    let stack = recorded();
    let parts = |molecule: Value| [molecule, issue("m.1", "open"), issue("a", "blocked")];
    update(&stack, &parts(kind(issue("m", "open"), "molecule")));
    assert_eq!(ready(&stack), ["m.1"]);
    update(&stack, &parts(kind(blocked_by(issue("m", "open"), &["a"]), "molecule")));
    assert!(ready(&stack).is_empty());
    // The frame has ended here together with the frames that it needs, and then needs more frames.
    let stack = recorded();
    let issues = |needs: &[&str], more: &[Value]| {
        let first = [
            issue("a", "open"),
            kind(blocked_by(issue("m", "open"), needs), "milestone"),
            blocked_by(issue("z", "open"), &["m"]),
        ];
        [&first, more].concat()
    };
    update(&stack, &issues(&["a"], &[]));
    stack.activate("a").unwrap();
    stack.pop("a", PopStatus::Completed, "done").unwrap();
    assert_eq!(ready(&stack), ["z"]);
    update(&stack, &issues(&["a", "b"], &[issue("b", "open")]));
    assert_eq!(ready(&stack), ["b"]);
    // The frame has ended here together with its parts, waits in the file, and has a new part.
    let stack = recorded();
    update(&stack, &[kind(issue("m", "open"), "molecule"), issue("m.1", "open")]);
    stack.activate("m.1").unwrap();
    stack.pop("m.1", PopStatus::Completed, "done").unwrap();
    update(&stack, &[kind(issue("m", "deferred"), "molecule"), issue("m.1", "open"), issue("m.2", "open")]);
    assert!(ready(&stack).is_empty(), "{:?}", ready(&stack));
}

/// Frames that the stack completes automatically are also written. A conflict is reported until both
/// sides agree.
#[test]
fn what_ends_by_itself_goes_back_and_conflicts_stay() {
    let stack = recorded();
    let issues = [
        kind(blocked_by(issue("m", "open"), &["a"]), "milestone"),
        issue("a", "open"),
        blocked_by(issue("z", "blocked"), &["m"]),
    ];
    update(&stack, &issues);
    stack.activate("a").unwrap();
    stack.pop("a", PopStatus::Completed, "done").unwrap();
    let text: String = issues.iter().map(|issue| format!("{issue}\n")).collect();
    let exported = stack.read(|tree| import::export(tree, &text, "")).unwrap().unwrap();
    assert_eq!(exported.written.len(), 2, "{:?}", exported.written);
    stack.note_export(&exported).unwrap();
    let again = stack.bring_up_to_date(&import::frames(&exported.text).unwrap(), None).unwrap();
    assert!(again.changes.is_empty() && again.conflicts.is_empty(), "{again:?}");
    let stack = recorded();
    update(&stack, &[issue("e", "open")]);
    stack.activate("e").unwrap();
    stack.pop("e", PopStatus::Completed, "done").unwrap();
    let more = [issue("e", "open"), issue("e.1", "open")];
    for _ in 0..2 {
        assert_eq!(update(&stack, &more).conflicts.len(), 1, "what is below it waits");
    }
    // The frame was answered here, and closed there.
    let stack = recorded();
    let gate = |status: &str| with(kind(issue("g", status), "gate"), "close_reason", "by Ada");
    update(&stack, &[gate("open"), blocked_by(issue("d", "open"), &["g"])]);
    stack.answer("g", "Yes").unwrap();
    let settled = update(&stack, &[gate("closed"), blocked_by(issue("d", "open"), &["g"])]);
    assert!(settled.conflicts.is_empty(), "{:?}", settled.conflicts);
}

#[test]
fn a_time_that_has_come_is_no_change() {
    let now = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(1_767_225_600_000));
    let stack = Stack::with_store(MemoryStore::new(), support::options_at(&now)).unwrap();
    let until = |issue: Value, until: &str| with(issue, "defer_until", until);
    let soon = || until(issue("a", "deferred"), "2026-01-01T00:00:09Z");
    update(&stack, &[soon(), issue("b", "open")]);
    now.fetch_add(60_000, std::sync::atomic::Ordering::Relaxed);
    stack.refresh().unwrap();
    let status = || stack.frame("a").unwrap().status;
    assert_eq!(status(), FrameStatus::Planned);
    assert!(update(&stack, &[soon(), issue("b", "open")]).changes.is_empty());
    assert_eq!(status(), FrameStatus::Planned);
    let text = format!("{}\n{}\n", soon(), issue("b", "open"));
    assert_eq!(
        stack.read(|tree| import::export(tree, &text, "")).unwrap().unwrap().text,
        text,
        "the file says it already"
    );
    let later = until(issue("a", "deferred"), "2026-03-01T00:00:09Z");
    assert_eq!(said(&update(&stack, &[later, issue("b", "open")])), ["a Waiting status"]);
    assert_eq!(said(&update(&stack, &[issue("a", "closed"), issue("b", "open")])), ["a Finished status"]);
}

#[test]
fn a_prefix_a_place_and_another_plan_are_told_apart() {
    let stack = recorded();
    let shop = stack.plan(NewFrame::new("Shop").root()).unwrap();
    let first = [issue("a", "open"), issue("b", "open"), issue("c", "open")];
    let plan_of = |issues: &[Value], prefix: &str| plan(issues).with_prefix(prefix);
    stack.bring_up_to_date(&plan_of(&first, "x/"), Some(shop.into())).unwrap();
    stack.bring_up_to_date(&plan_of(&first, ""), None).unwrap();
    let changes = stack.bring_up_to_date(&plan_of(&first[1..], "x/"), None).unwrap();
    assert_eq!(said(&changes), ["x/a Removed"]);
    assert_eq!(stack.frame("a").unwrap().status, FrameStatus::Planned);
    assert_eq!(stack.ancestors("x/beads").unwrap()[0], shop);
    let other: Vec<Value> = { first.iter() }
        .map(|issue| json!({"id": issue["id"], "title": format!("Quite another {}", issue["id"]), "status": "open"}))
        .collect();
    let revision = revision_of(&stack);
    assert_eq!(stack.bring_up_to_date(&plan_of(&other, ""), None).unwrap_err().code(), "duplicate_id");
    assert_eq!(revision_of(&stack), revision);
}

/// Two files of each format that have generated IDs, numbers or titles in common, as the files of two
/// projects do.
fn files_of_two_projects() -> Vec<[String; 2]> {
    let lines = |project: &str, count: usize| -> String {
        (1..=count).map(|number| format!("{}\n", issue(&format!("{project}-{number}"), "open"))).collect()
    };
    let tasks = |titles: &[&str]| {
        let tasks: Vec<Value> = { titles.iter().zip(1..) }
            .map(|(title, id)| json!({"id": id, "title": title, "status": "pending", "description": format!("{title} it is")}))
            .collect();
        json!({"master": {"tasks": tasks}}).to_string()
    };
    let mut files = vec![
        [lines("web", 4), lines("api", 3)],
        [lines("web", 1), lines("api", 3)],
        [tasks(&["Schema", "Cart", "Taxes", "Fonts"]), tasks(&["Crawler", "Index"])],
    ];
    if cfg!(feature = "markdown") {
        files.push([
            "# TODO\n- [ ] Tests\n- [ ] Schema\n- [ ] Cart\n- [ ] Taxes\n".to_owned(),
            "# TODO\n- [ ] Tests\n- [ ] Crawler\n".to_owned(),
        ]);
    }
    files
}

#[test]
fn a_second_file_never_touches_the_plan_of_the_first_one() {
    for [one, other] in files_of_two_projects() {
        for (first, second) in [(&one, &other), (&other, &one)] {
            let stack = recorded();
            let plan = |text: &str| import::frames(text).unwrap();
            stack.bring_up_to_date(&plan(first), None).unwrap();
            let before = stack.state().unwrap();
            let error = stack.bring_up_to_date(&plan(second), None).unwrap_err();
            assert_eq!(error.code(), "duplicate_id", "{second}");
            assert_eq!(stack.state().unwrap(), before, "a refused file changes nothing: {second}");
            let exported = stack.read(|tree| import::export(tree, second, "")).unwrap().map(|exported| exported.text);
            assert!(
                exported.is_err() || exported.unwrap() == *second,
                "nothing is written into another file: {second}"
            );
            // With a prefix, the frames of both files are there, and each file finds its own frames.
            let prefixed = || plan(second).with_prefix("x/");
            let added = stack.bring_up_to_date(&prefixed(), None).unwrap();
            assert_eq!((added.added.len(), added.changes.len()), (prefixed().frames.len(), 0));
            for again in [plan(first), prefixed()] {
                let frames = again.frames.len();
                let again = stack.bring_up_to_date(&again, None).unwrap();
                assert_eq!((again.unchanged, said(&again)), (frames, Vec::new()), "{first}");
            }
            // If the caller says that it is the same plan, the stack accepts that.
            let stack = recorded();
            stack.bring_up_to_date(&plan(first), None).unwrap();
            let mut same = plan(second);
            same.is_same_plan = true;
            stack.bring_up_to_date(&same, None).unwrap();
            let again = stack.bring_up_to_date(&plan(second), None).unwrap();
            assert_eq!((again.unchanged, said(&again)), (same.frames.len(), Vec::new()), "{second}");
        }
    }
}

#[test]
fn a_file_that_has_lost_most_of_its_plan_removes_nothing() {
    let stack = recorded();
    let issues: Vec<Value> = (1..=6).map(|number| issue(&format!("web-{number}"), "open")).collect();
    update(&stack, &issues);
    let cut = update(&stack, &issues[..2]);
    assert_eq!(said(&cut)[0], "web-3 status: it is removed, with most of the plan | planned");
    assert_eq!(cut.conflicts.len(), 4);
    let mut meant = plan(&issues[..2]);
    meant.is_same_plan = true;
    let removed = stack.bring_up_to_date(&meant, None).unwrap();
    assert_eq!(said(&removed), ["web-3 Removed", "web-4 Removed", "web-5 Removed", "web-6 Removed"]);
}

#[test]
fn a_new_entry_that_would_wait_for_itself_waits_for_a_person() {
    let stack = recorded();
    update(&stack, &[issue("a", "open"), issue("b", "open")]);
    // Here `a` is below `b`. The file puts a frame that needs `b` below `a`.
    stack.edit("a", FrameEdit::default().below("b")).unwrap();
    let parent = json!({"depends_on_id": "a", "type": "parent-child"});
    let needs = json!({"depends_on_id": "b", "type": "blocks"});
    let second = [
        issue("a", "open"),
        with(issue("b", "open"), "title", "Task b again"),
        with(issue("c", "open"), "dependencies", json!([parent, needs])),
        issue("d", "open"),
    ];
    let changes = update(&stack, &second);
    assert_eq!(changes.added.len(), 2, "the rest of the file is imported");
    assert_eq!(said(&changes), ["b Edited title", "c dependencies: b | none"]);
    let frame = stack.frame("c").unwrap();
    assert_eq!(frame.status, FrameStatus::Blocked);
    assert!(frame.waits_for().contains("cannot wait for what the plan says"), "{}", frame.waits_for());
}

#[cfg(feature = "markdown")]
#[test]
fn the_order_at_the_top_is_reported() {
    let stack = recorded();
    let list = |items: &str| {
        let text: String = items.chars().map(|item| format!("- [ ] {item}\n")).collect();
        import::frames(&text).unwrap()
    };
    let order = || {
        let roots = stack.read(|tree| tree.roots().to_vec()).unwrap();
        roots.into_iter().map(|root| stack.frame(root).unwrap().title).collect::<String>()
    };
    stack.bring_up_to_date(&list("abcd"), None).unwrap();
    let turned = stack.bring_up_to_date(&list("dcba"), None).unwrap();
    assert_eq!((order().as_str(), turned.unchanged), ("dcba", 3));
    assert_eq!(said(&turned), ["d Edited order"], "the first one that was moved stands for all");
    stack.edit("a", FrameEdit::default().before("d")).unwrap();
    let both = stack.bring_up_to_date(&list("cdba"), None).unwrap();
    assert_eq!(order(), "adcb");
    let expected = "c order: another order of what is at the top | an order that was changed here";
    assert_eq!(said(&both), [expected]);
    assert_eq!(said(&stack.bring_up_to_date(&list("cdba"), None).unwrap()), [expected], "until they agree");
}

#[test]
fn an_unreadable_line_removes_nothing() {
    let stack = recorded();
    let text = format!("{}\n{}\n", issue("a", "open"), issue("b", "open"));
    stack.bring_up_to_date(&import::frames(&text).unwrap(), None).unwrap();
    let cut = &text[..text.len() - 5];
    let changes = stack.bring_up_to_date(&import::frames(cut).unwrap(), None).unwrap();
    assert_eq!(said(&changes), ["b status: it is not in what could be read | planned"]);
    assert_eq!(stack.frame("b").unwrap().status, FrameStatus::Planned);
}

#[test]
fn an_import_can_be_taken_back_and_made_again() {
    let person = recorded().as_actor(Actor::new(HolderKind::Person, ""));
    let first = [issue("0", "open"), issue("a", "open"), issue("b", "open")];
    update(&person, &first);
    let before = person.state().unwrap();
    let second =
        [issue("0", "open"), with(issue("b", "closed"), "title", "Other"), blocked_by(issue("c", "open"), &["b"])];
    update(&person, &second);
    person.undo().unwrap();
    let shape = |state: StackState| {
        let frames =
            state.frames.into_iter().map(|frame| (frame.session_id, frame.status, frame.title, frame.depends_on));
        frames.collect::<Vec<_>>()
    };
    assert_eq!(shape(person.state().unwrap())[..4], shape(before)[..]);
    let again = update(&person, &second);
    assert!(
        again.changes.iter().any(|change| change.becomes == Becomes::Planned),
        "what was taken back is there again"
    );
}

proptest! {
    /// No matter what changes in the file: the frames of a plan on which there is no work here become the
    /// same as after a new import.
    #[test]
    fn an_untouched_plan_becomes_what_the_file_says(before in issues(), after in issues()) {
        let stack = recorded();
        stack.bring_up_to_date(&plan(&before), None).unwrap();
        let mut same = plan(&after);
        same.is_same_plan = true;
        let changes = stack.bring_up_to_date(&same, None).unwrap();
        prop_assert!(changes.conflicts.is_empty(), "{:?}", changes.conflicts);
        let fresh = Stack::in_memory();
        fresh.bring_up_to_date(&plan(&after), None).unwrap();
        for frame in fresh.state().unwrap().frames {
            let here = stack.frame(frame.session_id.as_str()).unwrap();
            let of = |frame: &Frame| {
                (frame.status, frame.title.clone(), frame.depends_on.clone(), frame.parent_session_id.clone(), frame.priority)
            };
            prop_assert_eq!(of(&here), of(&frame), "{}", frame.session_id);
        }
        let again = stack.bring_up_to_date(&plan(&after), None).unwrap();
        prop_assert!(again.changes.is_empty() && again.added.is_empty(), "{:?}", again);
    }
}

/// Issues with random statuses, words and links.
fn issues() -> impl Strategy<Value = Vec<Value>> {
    let status =
        prop::sample::select(vec!["open", "closed", "blocked", "deferred", "in_progress", "weird", "tombstone"]);
    let issue = (status, 0..3u8, prop::option::of(0..8usize), prop::option::of(0..8usize), any::<bool>());
    prop::collection::vec(issue, 3..8).prop_map(|issues| {
        let made = issues.into_iter().enumerate().filter(|(place, (.., kept))| *kept || *place == 0);
        made.map(|(place, (status, words, needs, parent, _))| {
            let mut links = Vec::new();
            links.extend(needs.map(|other| json!({"depends_on_id": format!("i{other}"), "type": "blocks"})));
            links.extend(parent.map(|other| json!({"depends_on_id": format!("i{other}"), "type": "parent-child"})));
            json!({"id": format!("i{place}"), "title": format!("Title {place} {words}"), "description": "Same", "status": status,
                   "priority": words, "dependencies": links})
        })
        .collect()
    })
}
