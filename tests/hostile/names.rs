//! A reference names the frame that its author means, no matter which IDs exist.

use callstack_core::{
    Command, Error, Frame, FrameRef, Handle, NewFrame, OutlineOptions, PopStatus, Settings, Stack, StackOptions,
    StackState, Tree, decide, import, read_history,
};
use callstack_core::{FrameStatus, MemoryStore, Store};
use proptest::prelude::*;
use support::Queries;

/// IDs that look like handles, like references, or like parts of each other.
const IDS: &[&str] = &[
    "f1",
    "f2",
    "f3",
    "f4",
    "f5",
    "f9",
    "f0",
    "f01",
    "f",
    "f1x",
    "f10",
    "F2",
    "id:f1",
    "id:f2",
    "id:",
    "id:id:f1",
    "a",
    "ab",
    "f4294967295",
    "f4294967296",
    " f1",
    "plan-f1",
];

fn handle(number: usize) -> Handle {
    Handle::from_index(number - 1).unwrap()
}

/// A stack whose frames have each other's handles as IDs: frame f1 has the ID `f3`, f2 `f1`, and f3 `f2`.
fn crossed() -> Stack {
    let stack = Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap();
    stack.push(NewFrame::new("One").id("f3")).unwrap();
    stack.push(NewFrame::new("Two").id("f1").below("id:f3")).unwrap();
    stack.plan(NewFrame::new("Three").id("f2").below("f1")).unwrap();
    check(&stack.read(Tree::state).unwrap(), &stack);
    stack
}

/// Checks that every frame is found by its handle and by its ID, in every form.
fn check(state: &StackState, stack: &Stack) {
    for (index, frame) in state.frames.iter().enumerate() {
        let handle = Handle::from_index(index).unwrap();
        let id = &frame.session_id;
        for reference in [
            FrameRef::Handle(handle),
            FrameRef::Text(handle.to_string()),
            FrameRef::Id(id.clone()),
            FrameRef::Text(format!("id:{id}")),
            FrameRef::Text(FrameRef::Id(id.clone()).to_string()),
        ] {
            assert_eq!(stack.resolve(reference.clone()), Ok(handle), "{reference} for the ID `{id}`");
        }
    }
}

#[test]
fn a_handle_from_push_finishes_its_own_frame() {
    let stack = Stack::in_memory();
    let first = stack.push(NewFrame::new("Build").id("f2")).unwrap();
    let second = stack.push(NewFrame::new("Test").id("ses_2").below(first)).unwrap();
    stack.pop(second.to_string(), PopStatus::Completed, "Nine tests").unwrap();
    assert_eq!(stack.frame(second).unwrap().status, FrameStatus::Completed);
    assert_eq!(stack.frame(first).unwrap().status, FrameStatus::InProgress);
    stack.pop("id:f2", PopStatus::Completed, "Built").unwrap();
    assert_eq!(stack.frame(first).unwrap().results.as_deref(), Some("Built"));
}

#[test]
fn a_text_of_the_form_of_a_handle_is_no_id_and_no_prefix() {
    let stack = Stack::in_memory();
    stack.push(NewFrame::new("Build").id("f7")).unwrap();
    stack.push(NewFrame::new("Test").id("f8-tests")).unwrap();
    let message = |text: &str| stack.resolve(text).unwrap_err().to_string();
    for text in ["f8", "f0", "f01", "f99999999999999999999"] {
        let advice = "it is not a handle, a title, an ID or its beginning; give a handle such as f1";
        assert_eq!(message(text), format!("no frame matches `{text}`: {advice}"));
    }
    assert_eq!(message("f7"), "no frame matches `f7`; give f1 or id:f7, if you mean the frame with this ID");
    assert_eq!(stack.resolve("id:f7"), Ok(handle(1)));
    assert_eq!(stack.resolve("f8-"), Ok(handle(2)), "a longer text can be the beginning of an ID");
    let Err(Error::AmbiguousFrame { candidates, .. }) = stack.resolve("f") else { panic!("two IDs begin with f") };
    assert_eq!(candidates, ["f1 (id:f7)", "f2 (f8-tests)"], "each of the two can be given back");
    assert_eq!(stack.resolve("id:f8").unwrap_err().code(), "unknown_frame", "a complete ID is no prefix");
    assert_eq!(stack.resolve("id:").unwrap_err().code(), "unknown_frame");
}

#[test]
fn no_id_is_longer_than_a_variable_of_a_command() {
    let stack = Stack::in_memory();
    let (longest, longer) = ("ö".repeat(Frame::LONGEST_ID), "ö".repeat(Frame::LONGEST_ID + 1));
    let frame = stack.push(NewFrame::new("Build").id(&longest)).unwrap();
    let frames = vec![Frame { session_id: longer.clone(), title: "Test".into(), ..Frame::default() }];
    for refused in [
        stack.push(NewFrame::new("Test").id(&longer)).map(drop),
        stack.plan(NewFrame::new("Test").id(&longer)).map(drop),
        stack.plan_children(frame, vec![NewFrame::new("Test").id(&longer)]).map(drop),
        stack.ensure(&longer, None, None).map(drop),
        stack.replace_id(frame, &longer),
        stack.import(frames).map(drop),
        stack.work().hold(callstack_core::NewHold::new(&longer, 1_000)).map(drop),
    ] {
        assert_eq!(refused.unwrap_err().code(), "too_long");
    }
    assert_eq!(stack.read(|tree| tree.len()).unwrap(), 1);
}

#[test]
fn long_ids_of_files_are_cut_and_links_follow() {
    let tag = "tag ".repeat(50_000);
    let plan = format!(
        r#"{{"{tag}": {{"tasks": [{{"id": 1, "title": "One"}}, {{"id": 2, "title": "Two", "dependencies": [1]}}]}}}}"#
    );
    let issue = |id: &str, more: &str| format!(r#"{{"id": "{tag}{id}", "title": "Issue"{more}}}"#);
    let needs = format!(r#", "dependencies": [{{"type": "blocks", "depends_on_id": "{tag}a"}}]"#);
    let issues = [issue("a", ""), issue("b", &needs)].join("\n");
    let state = format!(
        r#"{{"frames": {{"{tag}": {{"sessionID": "{tag}", "title": "One", "status": "planned"}},
            "b": {{"sessionID": "b", "title": "Two", "status": "planned", "parentSessionID": "{tag}", "dependsOn": []}}}}}}"#
    );
    for (file, links) in [(plan, 3), (issues, 3), (state, 1)] {
        let (tree, problems) = import::read(&file).unwrap();
        let frames: Vec<Frame> = tree.state().frames;
        assert!(frames.iter().all(|frame| frame.session_id.chars().count() <= Frame::LONGEST_ID));
        let found = frames.iter().map(|frame| {
            let linked = frame.parent_session_id.iter().chain(&frame.depends_on);
            linked.filter(|id| frames.iter().any(|frame| frame.session_id == **id)).count()
        });
        assert_eq!(found.sum::<usize>(), links, "{problems:?}");
        assert!(
            problems
                .iter()
                .any(|problem| problem.message.starts_with("its ID has more than 1000 characters; kept as `tag tag"))
        );
    }
}

#[test]
fn links_of_imported_plans_are_ids_and_references_to_them_are_handles() {
    let issue = |id: &str, more: &str| {
        format!(r#"{{"id": "{id}", "title": "Issue {id}", "created_at": "2026-01-01T00:00:00Z"{more}}}"#)
    };
    let needs = r#", "dependencies": [{"type": "blocks", "depends_on_id": "f1"}, {"type": "parent-child", "depends_on_id": "f3"}]"#;
    let file = [issue("f2", needs), issue("f3", ""), issue("f1", "")].join("\n");
    let plan = import::beads(&file);
    let notes: Vec<String> = plan.problems.iter().map(ToString::to_string).collect();
    assert_eq!(notes[0], "f2: its ID has the form of a handle; kept, and named by its handle or as `id:f2`");
    assert_eq!(notes.len(), 3);
    let stack = Stack::in_memory();
    stack.push(NewFrame::new("Plans").id("ses_1")).unwrap();
    stack.import(plan.frames).unwrap();
    check(&stack.state().unwrap(), &stack);
    let issue = stack.frame("id:f2").unwrap();
    assert_eq!((issue.parent_session_id.as_deref(), &issue.depends_on[..]), (Some("f3"), &["f1".to_owned()][..]));
    assert_eq!(stack.frame("f1").unwrap().title, "Plans");

    let (tree, problems) = import::read(r#"{"f1": {"tasks": [{"id": 1, "title": "One"}]}}"#).unwrap();
    assert!(problems[0].to_string().starts_with("f1: its ID has the form of a handle"), "{problems:?}");
    assert_eq!(tree.resolve(&"id:f1".into()), Ok(handle(1)));
    let (_, problems) = import::read(&crossed().state().unwrap().to_json()).unwrap();
    assert_eq!(problems.len(), 3, "{problems:?}");
}

#[test]
fn a_context_names_the_frame_that_its_handle_starts() {
    let stack = Stack::in_memory();
    let root = stack.push(NewFrame::new("Plans").id("ses_1")).unwrap();
    let decoy = stack.plan(NewFrame::new("Decoy").id("f3").below(root)).unwrap();
    let needed = stack.plan(NewFrame::new("First").id("f2").below(root)).unwrap();
    stack.pop(decoy, PopStatus::Completed, "x").unwrap_err();
    stack.invalidate(decoy, "not wanted").unwrap();
    let context = stack.context(root, &Settings::default()).unwrap();
    assert!(context.xml.contains("stack_frame_activate f3."), "{}", context.xml);
    stack.activate("f3").unwrap();
    assert_eq!(stack.frame(needed).unwrap().status, FrameStatus::InProgress);
}

#[test]
fn dependencies_are_read_as_references() {
    let stack = crossed();
    let planned = stack
        .plan_children(
            "f1",
            vec![
                NewFrame::new("A").id("f9"),
                NewFrame::new("B").id("b").depends_on("id:f9"),
                NewFrame::new("C").id("f10").depends_on("f3").depends_on("b"),
            ],
        )
        .unwrap();
    assert_eq!(stack.frame(planned[1]).unwrap().depends_on, ["f9"]);
    assert_eq!(stack.frame(planned[2]).unwrap().depends_on, ["f2", "b"], "f3 is the frame with the ID f2");
    // The ID of a sibling in the list does not replace a handle.
    let refused =
        stack.plan_children("f1", vec![NewFrame::new("D").id("f99").depends_on("f98"), NewFrame::new("E").id("f98")]);
    assert_eq!(refused.unwrap_err().code(), "unknown_frame");
    let dependent = stack.plan(NewFrame::new("F").id("later").below("f1").depends_on("f6")).unwrap();
    assert_eq!(stack.frame(dependent).unwrap().depends_on, ["f10"]);
    let refused = stack.plan(NewFrame::new("G").id("g").below("id:f2").depends_on("id:f3")).unwrap_err();
    assert!(refused.to_string().starts_with("`g` cannot depend on `id:f3`"), "{refused}");
}

#[test]
fn a_replaced_id_changes_no_handle() {
    let stack = crossed();
    stack.replace_id("f3", "f4").unwrap();
    assert_eq!((stack.resolve("f3"), stack.resolve("id:f4")), (Ok(handle(3)), Ok(handle(3))));
    assert_eq!(stack.resolve("id:f2").unwrap_err().code(), "unknown_frame");
    stack.replace_id("id:f4", "id:f3").unwrap();
    assert_eq!((stack.resolve("id:f3"), stack.resolve("id:id:f3")), (Ok(handle(1)), Ok(handle(3))));
    check(&stack.state().unwrap(), &stack);
}

#[test]
fn a_state_and_a_history_with_such_ids_are_read() {
    let stack = crossed();
    let (again, repairs) = Stack::from_state(stack.state().unwrap(), StackOptions::default());
    assert!(repairs.is_empty(), "nothing is repaired, because nothing is wrong: {repairs:?}");
    check(&stack.state().unwrap(), &again);
    let mut history = Vec::new();
    stack.history().export(&mut history).unwrap();
    let events: Vec<_> = read_history(&history[..]).collect::<Result<_, _>>().unwrap();
    let mut store = MemoryStore::new();
    store.begin(std::time::Duration::ZERO).unwrap();
    store.append(&events).unwrap();
    store.commit().unwrap();
    let again = Stack::with_store(store, StackOptions::default()).unwrap();
    assert_eq!(again.state().unwrap(), stack.state().unwrap());
    check(&stack.state().unwrap(), &again);
}

#[test]
fn placeholders_of_sessions_are_found_by_session() {
    let stack = Stack::in_memory();
    let one = stack.ensure("f2", None, None).unwrap();
    let two = stack.ensure("f1", None, Some(FrameRef::Id("f2".into()))).unwrap();
    assert_eq!((one, two), (handle(1), handle(2)));
    assert_eq!(stack.ensure("f2", None, None), Ok(one));
    let child = stack.push(NewFrame::new("Child").id("ses").caller("f2")).unwrap();
    assert_eq!(stack.frame(child).unwrap().parent_session_id.as_deref(), Some("f2"), "a caller is a session");
}

#[test]
fn texts_for_people_show_ids_that_can_be_given_back() {
    let stack = crossed();
    let outline = stack.outline(&OutlineOptions::default().details(true).root(Some("f3".into()))).unwrap();
    assert!(outline.starts_with("[ ] f3 Three") && outline.contains("ID: id:f2\n"), "{outline}");
    assert_eq!(stack.frame("f3").unwrap().session_id, "f2", "a record has the ID itself");
}

#[test]
fn a_mentioned_handle_is_the_sibling_with_this_handle() {
    let stack = Stack::in_memory();
    let root = stack.push(NewFrame::new("Root").id("root")).unwrap();
    let sibling = |id: &str| {
        let sibling = stack.push(NewFrame::new("Same words").id(id).below(root)).unwrap();
        stack.pop(sibling, PopStatus::Completed, "Same results").unwrap();
        sibling
    };
    let (named, decoy) = (sibling("x"), sibling("f2"));
    let current = stack.push(NewFrame::new("Other").id("y").criteria("Go on from f2").below(root)).unwrap();
    let report = stack.context(current, &Settings::default()).unwrap().report.clone();
    let score = |handle: Handle| report.entries.iter().find(|entry| entry.handle == handle).unwrap().score;
    // Without the mention, the newer sibling would have the better score.
    assert!(score(named) > score(decoy) + 10.0, "{} {}", score(named), score(decoy));
}

proptest! {
    /// A reference finds the frame of its form, no matter which IDs the frames have and how the IDs
    /// are given.
    #[test]
    fn no_id_takes_the_place_of_another_name(
        ids in proptest::sample::subsequence(IDS, 1..IDS.len()).prop_shuffle(),
        ways in proptest::collection::vec(0..4u8, IDS.len()),
    ) {
        let mut tree = Tree::new();
        for (id, way) in ids.iter().zip(ways) {
            // Each title is the ID of another frame. The title does not replace this ID.
            let title = IDS[IDS.iter().position(|other| other == id).unwrap() / 2];
            let frame = Frame { session_id: (*id).into(), title: title.into(), ..Frame::default() };
            let command = match way {
                0 => Command::Push(NewFrame::new(title).id(*id)),
                1 => Command::Plan(NewFrame::new(title).id(*id)),
                2 => Command::Ensure { session_id: (*id).into(), title: None, parent: None },
                _ => Command::Import { frames: vec![frame] },
            };
            decide(&tree, command, 1).unwrap().events.iter().for_each(|event| tree.apply(event));
        }
        let (stack, repairs) = Stack::from_state(tree.state(), StackOptions::default());
        prop_assert!(repairs.is_empty(), "{:?}", repairs);
        check(&tree.state(), &stack);
        for text in IDS {
            let is_handle = text.strip_prefix('f').is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()));
            match (stack.resolve(*text), text.parse::<Handle>()) {
                (Ok(found), Ok(handle)) => prop_assert_eq!(found, handle),
                (found, Err(_)) if is_handle => prop_assert!(found.is_err(), "{} names a frame", text),
                (Ok(found), Err(_)) => {
                    let (id, title) = (&tree.node(found).session_id(), tree.node(found).title());
                    let is_named = match tree.by_id(text) {
                        Some(_) => id == text,
                        None => id.starts_with(text) || title.trim().to_lowercase() == text.trim().to_lowercase(),
                    };
                    prop_assert!(Some(*id) == text.strip_prefix("id:") || (!text.starts_with("id:") && is_named));
                }
                (Err(_), _) => {}
            }
        }
    }
}

#[cfg(feature = "sqlite")]
mod in_a_folder {
    use serde_json::json;

    use super::*;
    use callstack_core::LogQuery;

    #[test]
    fn a_database_with_such_ids_opens_and_each_frame_has_its_own_files() {
        let folder = tempfile::tempdir().unwrap();
        let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
        let one = stack.push(NewFrame::new("One").id("f2")).unwrap();
        let two = stack.push(NewFrame::new("Two").id("f1").below(one)).unwrap();
        for frame in [one, two] {
            stack.log(frame.to_string()).append(&[json!({ "of": frame })]).unwrap();
        }
        let state = stack.state().unwrap();
        stack.close().unwrap();
        let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
        assert_eq!((stack.state().unwrap(), stack.upkeep().repairs()), (state.clone(), &[][..]));
        check(&state, &stack);
        for frame in [one, two] {
            let page = stack.log(frame.to_string()).read(&LogQuery::default()).unwrap();
            assert_eq!((page.total, &page.lines[0].entry), (1, &json!({ "of": frame })));
        }
        // The files of the first release are still found, so a file is named after the ID alone.
        assert_eq!(stack.frame(one).unwrap().log_path.as_deref(), Some("logs/f2.jsonl"));
        stack.close().unwrap();

        std::fs::remove_file(folder.path().join("stack.db")).unwrap();
        let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
        let titles = [stack.frame("f1").unwrap().title, stack.frame("id:f1").unwrap().title];
        assert_eq!(titles, ["One", "Two"], "imported from state.json");
    }
}

#[cfg(feature = "tools")]
mod with_sessions {
    use callstack_core::session::{Effect, HostEvent};
    use callstack_core::tools;
    use serde_json::{Value, json};

    use super::*;

    fn tell(stack: &Stack, event: Value) -> Vec<Effect> {
        stack.host().report(serde_json::from_value::<HostEvent>(event).unwrap())
    }

    fn tool(stack: &Stack, session: &str, name: &str, arguments: Value) -> tools::Answer {
        let answer = tools::call(stack, session, name, &arguments.to_string());
        assert!(!answer.is_error, "{name} {arguments}: {:?}", answer.text);
        answer
    }

    /// A host whose sessions have names like handles: the session `f2` has the frame f1.
    fn host() -> Stack {
        let stack = Stack::in_memory();
        let none = tell(&stack, json!({"kind": "sessionCreated", "sessionID": "f2", "title": "Shop"}));
        assert!(none.is_empty());
        tell(
            &stack,
            json!({"kind": "message", "sessionID": "f2", "messageID": "m", "role": "user", "text": "Build a shop"}),
        );
        assert_eq!(stack.frame("f1").unwrap().session_id, "f2");
        stack
    }

    #[test]
    fn a_host_with_such_sessions_works() {
        let stack = host();
        let push = json!({"title": "Cart", "successCriteria": "Totals", "successCriteriaCompacted": "totals"});
        let call = tool(&stack, "f2", "stack_frame_push", push).call.unwrap();
        let effects = tell(&stack, json!({"kind": "callStarted", "call": call, "sessionID": "f1"}));
        let prompts = |effect: &Effect| matches!(effect, Effect::Prompt { session_id, caller_id, .. } if session_id == "f1" && caller_id == "f2");
        assert!(effects.iter().any(prompts), "{effects:?}");
        assert_eq!(stack.host().context("f1").unwrap().unwrap().handle, handle(2));
        tell(&stack, json!({"kind": "toolExecuted", "sessionID": "f1", "tool": "write", "path": "cart.rs"}));
        assert_eq!(stack.frame("f2").unwrap().artifacts, ["cart.rs"], "of the frame f2, whose session is f1");
        let pop = json!({"status": "completed", "results": "A cart", "resultsCompacted": "cart"});
        let text = tool(&stack, "f1", "stack_frame_pop", pop).text.unwrap();
        assert!(text.starts_with("f2 (Cart) is completed. f1 (Shop) receives"), "{text}");
        let effects = tell(&stack, json!({"kind": "callEnded", "call": call}));
        assert!(effects.iter().any(|effect| matches!(effect, Effect::Answer { text, .. } if text.contains("A cart"))));
        tell(&stack, json!({"kind": "sessionDeleted", "sessionID": "f2"}));
        assert_eq!(stack.frame("f1").unwrap().status, FrameStatus::Invalidated);
        assert_eq!(stack.frame("f2").unwrap().status, FrameStatus::Completed);
    }

    #[test]
    fn a_session_that_goes_on_keeps_its_handles() {
        let stack = host();
        stack.pop("f1", PopStatus::Completed, "Built").unwrap();
        tell(
            &stack,
            json!({"kind": "message", "sessionID": "f2", "messageID": "m2", "role": "user", "text": "Now test it"}),
        );
        assert_eq!(stack.frame("f1").unwrap().session_id, "f2~f1");
        assert_eq!(stack.frame("id:f2").unwrap().success_criteria, "Now test it");
        assert_eq!(stack.resolve("id:f2"), stack.resolve("f2"), "both are frame f2 here");
    }

    #[test]
    fn arguments_of_tools_are_handles() {
        let stack = host();
        let child = |title: &str, needs: &[&str]| json!({"title": title, "successCriteria": "x", "successCriteriaCompacted": "x", "dependsOn": needs});
        stack.plan(NewFrame::new("Needed").id("needed").below("f1")).unwrap();
        // f3 has the title `f2`. f4 depends on the frame f2.
        tool(&stack, "f2", "stack_frame_plan_children", json!({"children": [child("f2", &[]), child("Two", &["f2"])]}));
        assert_eq!(stack.frame("f3").unwrap().title, "f2");
        assert_eq!(stack.frame("f4").unwrap().depends_on, ["needed"]);
        let refused = tools::call(
            &stack,
            "f2",
            "stack_frame_plan_children",
            &json!({"children": [child("f9", &[]), child("B", &["f9"])]}).to_string(),
        );
        assert!(refused.is_error && refused.text.unwrap().contains("no frame matches `f9`"));
    }

    #[test]
    fn answers_show_ids_that_can_be_given_back() {
        let stack = host();
        let needed = stack.plan(NewFrame::new("Needed").id("f1").below("f1")).unwrap();
        let later = stack.plan(NewFrame::new("Later").id("later").below("f1").depends_on(needed)).unwrap();
        let details = |frame: Handle| {
            let text = tool(&stack, "f2", "stack_frame_details", json!({ "frameID": frame })).text.unwrap();
            serde_json::from_str::<Value>(&text).unwrap()["frame"].clone()
        };
        let record = details(later);
        assert_eq!((&record["parentSessionID"], &record["dependsOn"]), (&json!("id:f2"), &json!(["id:f1"])));
        assert_eq!(details(handle(1))["plannedChildren"], json!(["id:f1", "later"]));
        for reference in ["id:f1", "id:f2", "later"] {
            tool(&stack, "f2", "stack_frame_details", json!({ "frameID": reference }));
        }

        for session in ["f8", "f9"] {
            let title = "look (@general subagent)";
            tell(&stack, json!({"kind": "sessionCreated", "sessionID": session, "parentID": "f2", "title": title}));
        }
        let list = tool(&stack, "f2", "stack_subagent_list", json!({})).text.unwrap();
        let list: Value = serde_json::from_str(&list).unwrap();
        assert_eq!(list[0]["sessionID"], "id:f8");
        let refused = tools::call(&stack, "f2", "stack_subagent_complete", "{}").text.unwrap();
        assert!(refused.contains("id:f8, id:f9"), "{refused}");
        let done = tool(
            &stack,
            "f2",
            "stack_subagent_complete",
            json!({"sessionID": list[0]["sessionID"], "summary": "Looked"}),
        );
        assert!(done.text.unwrap().ends_with("is completed."));
        assert_eq!(stack.frame("id:f8").unwrap().status, FrameStatus::Completed);
        tool(&stack, "f9", "stack_frame_summarize", json!({}));
        let pending = tool(&stack, "f2", "stack_compaction_info", json!({})).text.unwrap();
        assert!(pending.contains("\"id:f9\": {"), "{pending}");
    }
}
