//! Retries of frames: which frames can be retried, the properties of the new attempt, and that it counts
//! instead of the earlier attempts.

use callstack_core::tree::sibling_order;
use callstack_core::{
    Command, Error, Frame, FrameStatus, Handle, Identity, NewFrame, OutlineOptions, PopStatus, Results, Stack,
    StackOptions, StackState, Tree,
};
use serde_json::{Value, json};
use support::Queries;

/// A root with the children a, b and c: f2, f3 and f4. c depends on a.
fn plan() -> Stack {
    let stack = Stack::in_memory();
    stack.push(NewFrame::new("Root").id("root")).unwrap();
    let child = |id: &str| NewFrame::new(id.to_uppercase()).id(id).criteria(format!("{id} works"));
    let children = vec![child("a").criteria_compacted("a"), child("b"), child("c").depends_on("a")];
    stack.plan_children("root", children).unwrap();
    stack
}

fn fail(stack: &Stack, frame: &str, why: &str) {
    if stack.frame(frame).unwrap().status == FrameStatus::Planned {
        stack.activate(frame).unwrap();
    }
    stack.pop(frame, PopStatus::Failed, why).unwrap();
}

fn handle(number: usize) -> Handle {
    Handle::from_index(number - 1).unwrap()
}

/// Retries a frame and returns the handle of the new frame.
fn retry(stack: &Stack, frame: &str) -> Handle {
    stack.retry(frame, None).unwrap().handle
}

#[test]
fn a_retry_makes_a_planned_sibling_for_the_same_work_that_starts_empty() {
    let stack = plan();
    stack.activate("a").unwrap();
    stack.add_artifact("a", "src/a.rs").unwrap();
    stack.add_decision("a", "no tests").unwrap();
    fail(&stack, "a", "The disk is full");
    let before = stack.frame("a").unwrap();
    let retried = stack.retry("a", None).unwrap();
    assert_eq!((retried.handle, retried.attempt), (handle(5), 2));
    assert!(retried.invalidated.is_empty() && retried.still_open.is_empty());
    let new = stack.frame("f5").unwrap();
    assert_eq!(new.identity(), before.identity());
    assert_eq!((new.status, new.parent_session_id.as_deref()), (FrameStatus::Planned, Some("root")));
    assert!(new.session_id.starts_with("plan-") && new.retry_of.as_deref() == Some("a"));
    assert!(new.results.is_none() && new.artifacts.is_empty() && new.decisions.is_empty() && new.questions.is_empty());
    assert_eq!(stack.frame("a").unwrap(), before, "a failed frame stays as it is");
    assert_eq!(stack.active().unwrap(), handle(1), "the new attempt is not active before it is begun");

    fail(&stack, "b", "no");
    fail(&stack, "c", "no");
    let again = stack.retry("c", None).unwrap().handle;
    assert_eq!(stack.frame(again).unwrap().depends_on, ["a"], "it depends on what the first one depends on");
}

#[test]
fn a_blocked_frame_that_is_retried_fails_and_keeps_its_results_and_its_question() {
    let stack = plan();
    stack.activate("a").unwrap();
    stack.block("a", "Which one?", Some(Results::new("half").compacted("1/2"))).unwrap();
    retry(&stack, "a");
    let old = stack.frame("a").unwrap();
    assert_eq!((old.status, old.results.as_deref()), (FrameStatus::Failed, Some("half")));
    assert_eq!((old.questions[0].question.as_str(), old.questions[0].answer.as_deref()), ("Which one?", None));

    // Blocked without a question: the results say what it waited for. The active frame is above.
    stack.activate("b").unwrap();
    stack.pop("b", PopStatus::Blocked, "[auto-completed: time] last words").unwrap();
    retry(&stack, "b");
    assert_eq!(stack.frame("b").unwrap().results.as_deref(), Some("[auto-completed: time] last words"));
    assert_eq!(stack.active(), Some(handle(1)));
}

#[test]
fn a_note_is_an_answer_that_the_new_attempt_has() {
    let stack = plan();
    stack.activate("a").unwrap();
    stack.block("a", "Which one?", None).unwrap();
    let asked = |frame: Handle| {
        let frame = stack.frame(frame).unwrap();
        frame.questions.into_iter().map(|asked| (asked.question, asked.answer.unwrap())).collect::<Vec<_>>()
    };
    let new = stack.retry("a", Some("the red one".into())).unwrap().handle;
    assert_eq!(asked(new), [("Which one?".to_owned(), "the red one".to_owned())]);
    fail(&stack, "f5", "It is blue");
    let new = stack.retry(new, Some("paint it".into())).unwrap().handle;
    assert_eq!(asked(new), [("What must be done differently than in f5?".to_owned(), "paint it".to_owned())]);
    fail(&stack, "f6", "no paint");
    assert_eq!(asked(stack.retry(new, Some(" \n".into())).unwrap().handle), [], "a blank note says nothing");
}

#[test]
fn only_failed_and_blocked_frames_are_retried_and_each_once() {
    let stack = plan();
    let refused = |frame: &str| {
        let revision = stack.read(Tree::revision).unwrap();
        let error = stack.retry(frame, None).unwrap_err();
        assert_eq!(stack.read(Tree::revision).unwrap(), revision);
        (error.code(), error.to_string())
    };
    let message = |text: &str| ("not_retriable", text.to_owned());
    assert_eq!(refused("a"), message("frame f2 is planned and cannot be retried; activate it"));
    stack.activate("a").unwrap();
    assert_eq!(
        refused("a"),
        message(
            "frame f2 is in_progress and cannot be retried; wait for its results; if no agent works on it, pop it as \
             failed first"
        )
    );
    stack.activate("b").unwrap();
    stack.pop("b", PopStatus::Completed, "Done").unwrap();
    assert_eq!(refused("b"), message("frame f3 is completed and cannot be retried; push a new frame for further work"));
    stack.invalidate("b", "wrong").unwrap();
    assert_eq!(
        refused("b"),
        message("frame f3 is invalidated and cannot be retried; it is out of the plan; plan a new frame instead")
    );
    assert_eq!(refused("f9").0, "unknown_frame");
    fail(&stack, "a", "no");
    retry(&stack, "a");
    fail(&stack, "f5", "no");
    retry(&stack, "f5");
    let newest = message("frame f2 was retried already; continue f6, its newest attempt");
    assert_eq!(refused("a"), newest);
    let Error::NotRetriable { newest: Some(newest), .. } = stack.retry("a", None).unwrap_err() else { panic!() };
    assert_eq!(newest, handle(6));
    let command = |session_id: &str| Command::Retry {
        frame: "f6".into(),
        session_id: session_id.into(),
        note: None,
        is_interrupted: false,
    };
    fail(&stack, "f6", "no");
    assert_eq!(stack.execute(command("b")).unwrap_err().code(), "duplicate_id");
    assert_eq!(stack.execute(command(" ")).unwrap_err().code(), "empty");
    stack.pop("root", PopStatus::Completed, "enough").unwrap();
    assert_eq!(refused("f6").0, "parent_closed");
    assert_eq!(stack.frame("f6").unwrap().status, FrameStatus::Failed);
}

#[test]
fn the_error_of_a_failed_frame_that_is_activated_says_to_retry_it() {
    let stack = plan();
    fail(&stack, "a", "no");
    assert_eq!(
        stack.activate("a").unwrap_err().to_string(),
        "frame f2 is failed and cannot become in_progress; retry it, which makes a new frame for it, or invalidate it"
    );
    assert_eq!(
        stack.answer("a", "yes").unwrap_err().to_string(),
        "frame f2 is failed and waits for no answer; retry it, which makes a new frame for it"
    );
}

#[test]
fn an_interrupted_frame_fails_with_that_reason() {
    let stack = plan();
    let interrupted = |frame: &str, id: &str| {
        let (frame, session_id) = (frame.into(), id.to_owned());
        stack.execute(Command::Retry { frame, session_id, note: None, is_interrupted: true }).map(drop)
    };
    stack.activate("a").unwrap();
    interrupted("a", "a2").unwrap();
    let results = |frame: &str| {
        let frame = stack.frame(frame).unwrap();
        assert_eq!(frame.status, FrameStatus::Failed);
        (frame.results.unwrap(), frame.results_compacted)
    };
    assert_eq!(results("a"), ("[interrupted, and retried] It left no results.".into(), None));
    stack.activate("b").unwrap();
    stack.summarize("b", Results::new("3 of 5 done").compacted("3/5")).unwrap();
    interrupted("b", "b2").unwrap();
    let expected = ["[interrupted, and retried] 3 of 5 done", "[interrupted, and retried] 3/5"].map(str::to_owned);
    assert_eq!(results("b"), (expected[0].clone(), Some(expected[1].clone())));
    assert_eq!(stack.active(), Some(handle(1)));
    assert_eq!(interrupted("c", "c2").unwrap_err().code(), "not_retriable", "a planned frame was not interrupted");
}

#[test]
fn planned_frames_below_the_earlier_attempt_are_invalidated_and_open_ones_reported() {
    let stack = plan();
    stack.activate("a").unwrap();
    stack.push(NewFrame::new("Open").id("open").below("a")).unwrap();
    stack.plan(NewFrame::new("Later").id("later").below("open")).unwrap();
    stack.push(NewFrame::new("Done").id("done").below("a")).unwrap();
    stack.pop("done", PopStatus::Completed, "ok").unwrap();
    stack.block("a", "Which one?", None).unwrap();
    let retried = stack.retry("a", None).unwrap();
    assert_eq!(retried.invalidated, [stack.resolve("later").unwrap()]);
    assert_eq!(retried.still_open, [stack.resolve("open").unwrap()]);
    let later = stack.frame("later").unwrap();
    assert_eq!(later.invalidation_reason.as_deref(), Some("f2 was retried as f8"));
    assert_eq!(stack.frame("done").unwrap().status, FrameStatus::Completed);
    assert!(stack.children(retried.handle).unwrap().is_empty());
}

#[test]
fn a_new_attempt_stands_where_the_earlier_one_stood_and_counts_alone() {
    let stack = plan();
    fail(&stack, "a", "no");
    let second = retry(&stack, "a");
    fail(&stack, "f5", "no");
    let third = retry(&stack, "f5");
    fail(&stack, "b", "no");
    let other = retry(&stack, "b");
    let [a, b, c] = [2, 3, 4].map(handle);
    assert_eq!(stack.children("root").unwrap(), [a, second, third, b, other, c]);
    let order = |frame: Handle| {
        let order = stack.read(|tree| sibling_order(tree, frame)).unwrap()?;
        Some((order.position, order.total, order.planned, order.failed))
    };
    assert_eq!(order(third), Some((1, 3, 3, 0)));
    assert_eq!(order(other), Some((2, 3, 3, 0)));
    assert_eq!(order(c), Some((3, 3, 3, 0)));
    assert_eq!([a, second, b].map(order), [None; 3], "a frame that was begun again has no position");
    stack
        .read(|tree| {
            assert_eq!(tree.node(handle(1)).finished_children().len(), 0);
            assert_eq!([a, second, third].map(|frame| tree.newest_attempt(frame)), [third; 3]);
            assert!(tree.earlier_attempts(third).eq([second, a]));
            assert_eq!([a, second, third, c].map(|frame| tree.node(frame).attempt()), [1, 2, 3, 1]);
            assert_eq!((tree.node(a).retried_as(), tree.node(third).retry_of()), (Some(second), Some(second)));
        })
        .unwrap();
    // A frame that is planned later comes later.
    let last = stack.plan(NewFrame::new("Last").below("root")).unwrap();
    assert_eq!(stack.children("root").unwrap().last(), Some(&last));
}

#[test]
fn roots_are_retried_too() {
    let stack = Stack::in_memory();
    for id in ["one", "two"] {
        stack.push(NewFrame::new(id).id(id).root()).unwrap();
    }
    stack.pop("one", PopStatus::Failed, "no").unwrap();
    let again = retry(&stack, "one");
    assert_eq!(stack.read(|tree| tree.roots().to_vec()).unwrap(), [handle(1), again, handle(2)]);
    stack.activate(again).unwrap();
    let xml = || stack.context(again, &Default::default()).unwrap().xml.clone();
    assert!(xml().contains("<earlier-attempts>\n<frame id=\"f1\" status=\"failed\">"), "{}", xml());
    // The context follows changes of the earlier attempt, although the two attempts have no parent in common.
    stack.invalidate("one", "it never was").unwrap();
    assert!(!xml().contains("earlier-attempts"), "{}", xml());
}

#[test]
fn dependents_wait_for_the_newest_attempt() {
    let stack = plan();
    fail(&stack, "a", "no");
    let second = retry(&stack, "a");
    assert_eq!(stack.ready().unwrap(), [second, handle(3)], "c waits");
    assert_eq!(stack.read(|tree| tree.unfinished_dependencies(handle(4)).collect::<Vec<_>>()).unwrap(), [second]);
    let outline = stack.outline(&OutlineOptions::default()).unwrap();
    assert!(outline.contains("Waits for: f5 A (planned)"), "{outline}");
    fail(&stack, "f5", "no");
    let third = retry(&stack, "f5");
    stack.activate(third).unwrap();
    stack.pop(third, PopStatus::Completed, "It works").unwrap();
    assert_eq!(stack.ready().unwrap(), [handle(3), handle(4)]);
    assert_eq!(stack.frame("c").unwrap().depends_on, ["a"], "the record says what was named");
    // A frame that is added later can name any attempt.
    let late = stack.plan(NewFrame::new("Late").below("root").depends_on("a").depends_on(third)).unwrap();
    assert_eq!(stack.read(|tree| tree.node(late).dependencies().to_vec()).unwrap(), [handle(2)], "they are one");
    assert_eq!(stack.read(|tree| tree.dependents(third).to_vec()).unwrap(), [handle(4), late]);
    assert!(stack.ready().unwrap().contains(&late));
    assert_eq!(stack.invalidate("a", "old").unwrap().dependents, [], "no frame depends on an earlier attempt");
    assert_eq!(stack.invalidate(third, "wrong").unwrap().dependents, [handle(4), late]);
}

#[test]
fn a_frame_cannot_depend_on_an_earlier_attempt_at_the_frame_above_it() {
    let stack = plan();
    fail(&stack, "a", "no");
    let second = retry(&stack, "a");
    let below = NewFrame::new("Part").id("part").below(second).depends_on("a");
    assert_eq!(stack.plan(below).unwrap_err().code(), "dependency", "it would wait for its parent");
    stack.plan(NewFrame::new("Part").below(second).depends_on("b")).unwrap();
}

#[test]
fn the_link_follows_a_replaced_id() {
    let stack = plan();
    fail(&stack, "a", "no");
    let second = retry(&stack, "a");
    stack.replace_id("a", "session of a").unwrap();
    assert_eq!(stack.frame(second).unwrap().retry_of.as_deref(), Some("session of a"));
    stack.replace_id(second, "second").unwrap();
    assert_eq!(stack.read(|tree| tree.newest_attempt(handle(2))).unwrap(), second);
}

#[test]
fn outlines_name_the_attempts() {
    let stack = plan();
    fail(&stack, "a", "no");
    let second = retry(&stack, "a");
    stack.activate(second).unwrap();
    let marked = stack.outline(&OutlineOptions::default()).unwrap();
    assert!(
        marked.contains("|-- [!] f2 A  (attempt 1 of 2, retried as f5)\n|-- [>] f5 A  (attempt 2 of 2)  <-- ACTIVE\n"),
        "{marked}"
    );
    // A title cannot contain this text, because a title does not have two spaces in a row.
    let title = "A  (attempt 1 of 2, retried as f9)".to_owned();
    let liar = stack.ensure("liar", None, None).unwrap();
    stack.identify(liar, Identity { title, ..Identity::default() }).unwrap();
    assert!(stack.outline(&OutlineOptions::default()).unwrap().contains("f6 A (attempt 1 of 2, retried as f9)\n"));
}

#[test]
fn a_retried_frame_whose_results_were_delivered_is_not_held() {
    let stack = plan();
    fail(&stack, "a", "no");
    stack.deliver("a").unwrap();
    assert_eq!(stack.read(|tree| tree.node(handle(1)).held_children()).unwrap(), 1);
    retry(&stack, "a");
    assert_eq!(stack.read(|tree| tree.node(handle(1)).held_children()).unwrap(), 0);
    let revision = stack.read(Tree::revision).unwrap();
    stack.deliver("a").unwrap();
    assert_eq!(stack.read(Tree::revision).unwrap(), revision, "nothing is to be delivered");
}

/// A frame of a state.
fn frame(id: &str, status: &str, retry_of: Option<&str>) -> Value {
    let mut frame = json!({"sessionID": id, "status": status, "title": id, "parentSessionID": "root",
        "successCriteria": "", "createdAt": 2, "updatedAt": 3, "results": "no"});
    if let Some(earlier) = retry_of {
        frame["retryOf"] = json!(earlier);
    }
    frame
}

/// Reads a state with these children of a root. Returns the tree and the repairs of links to earlier
/// attempts.
fn read(frames: &[Value]) -> (Tree, Vec<String>) {
    let mut all = json!({"root": {"sessionID": "root", "status": "in_progress", "title": "Root", "successCriteria": "",
        "createdAt": 1, "updatedAt": 1}});
    for frame in frames {
        all[frame["sessionID"].as_str().unwrap()] = frame.clone();
    }
    let state = json!({"version": 1, "revision": 7, "frames": all, "rootFrameIDs": ["root"], "updatedAt": 9});
    let (state, mut repairs) = StackState::from_json(&state.to_string()).unwrap();
    let (tree, more) = Tree::from_state(state);
    repairs.extend(more);
    let repairs = repairs.iter().map(ToString::to_string).filter(|repair| repair.contains("next attempt")).collect();
    (tree, repairs)
}

fn attempts(tree: &Tree) -> Vec<(String, Option<String>)> {
    let frames = tree.handles().map(|handle| tree.frame(handle));
    frames.filter(|frame| frame.retry_of.is_some()).map(|frame| (frame.session_id, frame.retry_of)).collect()
}

#[test]
fn a_state_with_attempts_is_read_as_it_was_written_in_any_order() {
    let link = |new: &str, old: &str| (new.to_owned(), Some(old.to_owned()));
    // The file lists the frames by their IDs. The root comes last, or before its children.
    for names in [["a", "b", "c"], ["c", "b", "a"], ["c", "a", "b"], ["a", "c", "b"], ["s", "t", "u"], ["u", "t", "s"]]
    {
        let [first, second, third] = names;
        let chain =
            [frame(first, "failed", None), frame(second, "failed", Some(first)), frame(third, "planned", Some(second))];
        let (tree, repairs) = read(&chain);
        assert_eq!(repairs, [""; 0]);
        assert_eq!(attempts(&tree), [link(second, first), link(third, second)]);
        let root = tree.by_id("root").unwrap();
        let ids: Vec<&str> = tree.children(root).iter().map(|child| tree.node(*child).session_id()).collect();
        assert_eq!(ids, names);
        assert_eq!(Tree::from_state(tree.state()).0.state(), tree.state());
    }
}

#[test]
fn links_to_earlier_attempts_that_cannot_be_are_repaired_and_reported() {
    for (frames, repair) in [
        (
            vec![frame("a", "planned", Some("nobody"))],
            "frame a: it cannot be the next attempt of `nobody`: there is no such frame beside it; retry a frame of the tree \
             instead; left out",
        ),
        (
            vec![frame("a", "failed", Some("a"))],
            "frame a: it cannot be the next attempt of `a`: each would be the next attempt of the other; leave one of the two out; left out",
        ),
        (
            vec![frame("a", "failed", Some("root"))],
            "frame a: it cannot be the next attempt of `root`: they have different parents; give them the same one; left out",
        ),
        (
            vec![frame("a", "completed", None), frame("b", "planned", Some("a"))],
            "frame b: it cannot be the next attempt of `a`: that one has not failed; only a failed frame can be retried; left out",
        ),
        (
            vec![frame("a", "failed", None), frame("b", "failed", Some("a")), frame("c", "failed", Some("a"))],
            "frame c: it cannot be the next attempt of `a`: that one has a next attempt; name the newest attempt; left out",
        ),
    ] {
        let (tree, repairs) = read(&frames);
        assert_eq!(repairs, [repair]);
        assert_eq!(tree.len(), 1 + frames.len(), "no frame is lost");
    }
    let circle = [frame("a", "failed", Some("c")), frame("b", "failed", Some("a")), frame("c", "failed", Some("b"))];
    let (tree, repairs) = read(&circle);
    assert_eq!(repairs.len(), 1, "{repairs:?}");
    assert_eq!((attempts(&tree).len(), tree.len()), (2, 4), "one link of a circle is cut");
}

#[test]
fn an_import_has_the_attempts_of_its_list_or_is_refused() {
    let frame = |id: &str, status, retry_of: Option<&str>| Frame {
        session_id: id.into(),
        parent_session_id: Some("root".into()),
        status,
        title: id.into(),
        retry_of: retry_of.map(str::to_owned),
        ..Frame::default()
    };
    let [planned, failed] = [FrameStatus::Planned, FrameStatus::Failed];
    let stack = plan();
    fail(&stack, "a", "no");
    let refused = |frames: Vec<Frame>| stack.import(frames).unwrap_err();
    let error = refused(vec![frame("x", planned, Some("a"))]);
    assert_eq!(error.code(), "retry_link");
    assert_eq!(
        error.to_string(),
        "`x` cannot be the next attempt of `a`: there is no such frame beside it; retry a frame of the tree instead"
    );
    assert_eq!(refused(vec![frame("x", planned, None), frame("y", planned, Some("x"))]).code(), "retry_link");
    // A frame that depends on an attempt waits for the newest attempt, so this is a circle.
    let dependent = Frame { depends_on: vec!["x".into()], ..frame("z", planned, None) };
    let newest = Frame { depends_on: vec!["z".into()], ..frame("y", planned, Some("x")) };
    assert_eq!(refused(vec![frame("x", failed, None), newest, dependent.clone()]).code(), "dependency");
    let own = Frame { depends_on: vec!["x".into()], ..frame("y", planned, Some("x")) };
    assert_eq!(refused(vec![frame("x", failed, None), own]).code(), "dependency");

    let frames = vec![frame("y", planned, Some("x")), dependent, frame("x", failed, None)];
    let handles = stack.import(frames).unwrap();
    let ids = handles.iter().map(|handle| stack.frame(*handle).unwrap().session_id).collect::<Vec<_>>();
    assert_eq!(ids, ["z", "x", "y"], "an attempt comes before the next one");
    let children = |stack: &Stack| stack.children("root").unwrap().len();
    let (again, repairs) = Stack::from_state(stack.state().unwrap(), StackOptions::default());
    assert_eq!((repairs, children(&again)), (Vec::new(), children(&stack)));
    assert_eq!(again.state().unwrap(), stack.state().unwrap());
    assert_eq!(stack.read(|tree| tree.newest_attempt(handles[1])).unwrap(), handles[2]);
}
