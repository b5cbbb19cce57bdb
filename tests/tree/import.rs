//! Tests of importing plans of other tools, including malformed ones.

use callstack_core::import::{self, Format, Imported};
use callstack_core::{Frame, FrameEdit, FrameStatus, Handle, NewFrame, Priority, Stack};
use serde_json::json;
use support::Queries;

fn frame<'a>(imported: &'a Imported, id: &str) -> &'a Frame {
    let ids = || imported.frames.iter().map(|frame| &frame.session_id).collect::<Vec<_>>();
    imported.frames.iter().find(|frame| frame.session_id == id).unwrap_or_else(|| panic!("no {id} in {:?}", ids()))
}

fn problems(imported: &Imported) -> Vec<String> {
    imported.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn real_plans_are_read_whole() {
    let expected = [
        ("ast-mcp.tasks.json", Format::TaskMaster),
        ("prophy-api-client.tasks.json", Format::TaskMaster),
        ("testcraft.tasks.json", Format::TaskMaster),
        ("beads_rust.issues.jsonl", Format::Beads),
        ("rivet.issues.jsonl", Format::Beads),
    ];
    for (name, format) in expected {
        let text = support::read_data(&format!("plans/{name}"));
        assert_eq!(Format::of(&text).unwrap(), format, "{name}");
        let (tree, mut problems) = import::read(&text).unwrap();
        // Work below a task that is done is kept, and reported.
        problems.retain(|problem| !problem.message.ends_with("it waits until that is reopened"));
        assert!(problems.is_empty(), "{name}: {problems:?}");
        let tasks = match format {
            Format::Beads => text.lines().count(),
            _ => {
                let file: serde_json::Value = serde_json::from_str(&text).unwrap();
                let tasks = file.get("master").unwrap_or(&file)["tasks"].as_array().unwrap();
                tasks.iter().map(|task| 1 + task["subtasks"].as_array().map_or(0, Vec::len)).sum()
            }
        };
        assert_eq!(tree.len(), tasks + 1, "{name}: a frame a task, and the root");
    }
}

#[test]
fn an_imported_plan_goes_into_a_stack() {
    let imported = import::task_master(&support::read_data("plans/testcraft.tasks.json")).unwrap();
    let stack = Stack::in_memory();
    let handles = stack.import(imported.frames).unwrap();
    assert_eq!(stack.frame(handles[0]).unwrap().session_id, "master");
    assert!(stack.ready().unwrap().len() > 1);
}

#[test]
fn a_log_that_stays_behind_is_reported() {
    let frame = |path: &str| json!({"status": "in_progress", "title": "Work", "logPath": path});
    let frames = json!({"ses_1": frame("/etc/passwd"), "ses_2": frame("logs/ses_2.jsonl"), "ses_3": frame("")});
    let imported = import::frames(&json!({"frames": frames}).to_string()).unwrap();
    let problems: Vec<String> = imported.problems.iter().map(ToString::to_string).collect();
    let logs: Vec<_> = problems.iter().filter(|problem| problem.contains("logPath")).collect();
    let expected = |frame: &str, path: &str| format!("{frame}: its logPath `{path}` leads to no log here; left out");
    assert_eq!(logs, [&expected("ses_1", "/etc/passwd"), &expected("ses_2", "logs/ses_2.jsonl")]);
    assert!(imported.frames.iter().all(|frame| frame.log_path.is_none()));
    // A caller that only reads a state to look at it sees the paths of its logs.
    let (tree, _) = import::read(&json!({"frames": frames}).to_string()).unwrap();
    assert_eq!(tree.state().frames[0].log_path.as_deref(), Some("/etc/passwd"));
}

#[test]
fn task_master_tags_subtasks_and_dotted_dependencies() {
    let file = json!({
        "main": {"tasks": [
            {"id": 1, "title": "One", "description": "First", "details": "How", "status": "done", "priority": "high",
             "subtasks": [{"id": 1, "title": "One one", "status": "done", "details": "Done so"},
                          {"id": 2, "title": "One two", "status": "in-progress", "dependencies": [1]},
                          {"id": "1.3", "title": "One three", "dependencies": ["1.2", 2]}]},
            {"id": "2", "title": "Two", "status": "pending", "dependencies": [1, "1.1"], "details": "Later",
             "testStrategy": "Run it", "priority": "low"},
            {"id": 3, "title": "Three", "status": "cancelled"}],
            "metadata": {"description": "The plan", "created": "2026-01-01T00:00:00.000Z"}},
        "other": {"tasks": [{"id": 1, "title": "Also one", "status": "blocked"}]}
    });
    let imported = import::task_master(&file.to_string()).unwrap();
    let waits =
        |task: &str| format!("{task}: the frame above it, `main/1`, is completed; it waits until that is reopened");
    assert_eq!(problems(&imported), [waits("main/1.2"), waits("main/1.3")]);
    let one = frame(&imported, "main/1");
    assert_eq!((one.title.as_str(), one.success_criteria.as_str()), ("One", "First"));
    assert_eq!((one.results.as_deref(), one.status), (Some("How"), FrameStatus::Completed));
    assert_eq!(one.parent_session_id.as_deref(), Some("main"));
    assert_eq!((one.priority, one.task.as_str()), (Priority::new(1), ""));
    assert_eq!(frame(&imported, "main/1.2").depends_on, ["main/1.1"]);
    assert_eq!(frame(&imported, "main/1.3").depends_on, ["main/1.2", "main/1.2"][..1]);
    let two = frame(&imported, "main/2");
    assert_eq!(two.depends_on, ["main/1", "main/1.1"]);
    assert_eq!((two.results.as_deref(), two.task.as_str()), (None, "Later\n\nHow it is tested: Run it"));
    assert_eq!((two.priority, two.extra.len()), (Priority::new(3), 0));
    assert_eq!(frame(&imported, "main/3").status, FrameStatus::Invalidated);
    assert_eq!(frame(&imported, "other/1").status, FrameStatus::Blocked);
    let main = frame(&imported, "main");
    assert_eq!((main.status, main.success_criteria.as_str()), (FrameStatus::InProgress, "The plan"));
    assert_eq!(main.created_at, 1_767_225_600_000);
}

#[test]
fn malformed_tasks_are_reported_with_their_place() {
    let file = json!({"tasks": [
        {"id": 1, "title": "Good", "dependencies": [9, 2], "status": "someday", "description": {"no": "text"}},
        "no task",
        {"title": "No ID"},
        {"id": 1, "title": "Twice"},
        {"id": 2, "dependencies": [1], "subtasks": "none"},
        {"id": 3, "title": "Below itself", "subtasks": [{"id": 1, "title": "Sub", "dependencies": ["3"]}, 5]},
        {"id": 4, "title": "Odd", "dependencies": {"on": 1}},
        {"id": 5, "title": "Odder", "dependencies": [null]}
    ]});
    let imported = import::task_master(&file.to_string()).unwrap();
    let problems = problems(&imported);
    for expected in [
        "master.tasks[0]: the status `someday` is unknown; it waits until a person answers",
        "master.tasks[0]: `description` is not a text; ignored",
        "master/1: depends on task 9, which is not in the file; it waits until a person answers",
        "master.tasks[1]: is not an object; left out",
        "master.tasks[2]: has no `id`; left out",
        "master.tasks[3]: the ID `master/1` is used twice; kept as `master/1 (2)`",
        "master.tasks[4]: has no title; its number is used",
        "master.tasks[4]: `subtasks` is not a list; left out",
        "master.tasks[5].subtasks[1]: is not an object; left out",
        "master.tasks[6]: a dependency is neither a number nor a text, `{\"on\":1}`; it waits until a person answers",
        "master.tasks[7]: a dependency is neither a number nor a text, `null`; it waits until a person answers",
    ] {
        assert!(problems.iter().any(|problem| problem == expected), "{expected} is missing in {problems:#?}");
    }
    let of = |id: &str, part: &str| problems.iter().any(|problem| problem.starts_with(id) && problem.contains(part));
    assert!(of("master/2", "each would wait for the other"), "{problems:#?}");
    assert!(of("master/3.1", "above or below it"), "{problems:#?}");
    let ids: Vec<&str> = imported.frames.iter().map(|frame| frame.session_id.as_str()).collect();
    assert_eq!(
        ids,
        ["master", "master/1", "master/1 (2)", "master/2", "master/3", "master/3.1", "master/4", "master/5"]
    );
    Stack::in_memory().import(imported.frames).expect("what is imported is sound");
}

#[test]
fn beads_parents_blockers_and_times() {
    let lines = [
        json!({"id": "b-2", "title": "Child", "status": "open", "description": "Long", "acceptance_criteria": "Short",
               "created_at": "2026-01-02T00:00:00Z", "labels": ["x"],
               "dependencies": [{"issue_id": "b-2", "depends_on_id": "b-1", "type": "parent-child"},
                                {"issue_id": "b-2", "depends_on_id": "b-3", "type": "blocks"},
                                {"issue_id": "b-2", "depends_on_id": "b-3", "type": "related"}]}),
        json!({"id": "b-1", "title": "Epic", "status": "in_progress", "created_at": "2026-01-01T00:00:00Z"}),
        json!({"id": "b-3", "title": "Done", "status": "closed", "close_reason": "It works",
               "created_at": "2026-01-01T00:00:00Z", "closed_at": "2026-01-03T00:00:00Z"}),
        json!({"id": "b-4", "title": "Gone", "status": "tombstone", "delete_reason": "duplicate"}),
    ];
    let text = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let imported = import::beads(&text);
    assert_eq!(problems(&imported), [] as [&str; 0]);
    let child = frame(&imported, "b-2");
    assert_eq!(child.parent_session_id.as_deref(), Some("b-1"));
    assert_eq!((child.depends_on.as_slice(), child.success_criteria.as_str()), (&["b-3".to_owned()][..], "Short"));
    assert_eq!(child.labels, ["x"]);
    assert_eq!(child.extra["dependencies"].as_array().unwrap().len(), 1, "the related one is kept as it was");
    let done = frame(&imported, "b-3");
    assert_eq!((done.results.as_deref(), done.updated_at), (Some("It works"), 1_767_398_400_000));
    assert_eq!(done.extra["closed_at"], "2026-01-03T00:00:00Z");
    assert_eq!(frame(&imported, "b-4").invalidation_reason.as_deref(), Some("duplicate"));
}

#[test]
fn malformed_issues_are_reported_with_their_line() {
    let text = concat!(
        "{\"id\": \"a\", \"title\": \"A\", \"created_at\": \"yesterday\", \"status\": \"odd\"}\n",
        "\n",
        "{broken\n",
        "[1, 2]\n",
        "{\"title\": \"No ID\"}\n",
        "{\"id\": \"b\", \"dependencies\": [{\"type\": \"blocks\", \"depends_on_id\": \"nowhere\"}, {\"type\": \"blocks\"}]}\n",
        "{\"id\": \"c\", \"title\": \"C\", \"dependencies\": [{\"type\": \"parent-child\", \"depends_on_id\": \"lost\"}]}\n",
        "{\"id\": \"e\", \"title\": \"Again\"}\n",
        "{\"id\": \"d\", \"title\": \"D\", \"dependencies\": 5}"
    );
    let imported = import::beads(text);
    let problems = problems(&imported);
    for expected in [
        "line 1: `created_at` is `yesterday`, which is not an RFC 3339 time; ignored",
        "line 1: the status `odd` is unknown; it waits until a person answers",
        "line 4: is not an object; left out",
        "line 5: has no `id`; left out",
        "line 6: has no title; its ID is used",
        "b: depends on a dependency that cannot be read, `{\"type\":\"blocks\"}`; it waits until a person answers",
        "b: depends on `nowhere`, which is not in the file; it waits until a person answers",
        "c: depends on its parent `lost`, which is not in the file; it waits until a person answers",
        "d: depends on `5`, which is not in the file; it waits until a person answers",
    ] {
        assert!(problems.iter().any(|problem| problem == expected), "{expected} is missing in {problems:#?}");
    }
    assert!(problems.iter().any(|problem| problem.starts_with("line 3: is not JSON")), "{problems:#?}");
    assert_eq!(imported.frames.len(), 6);
    Stack::in_memory().import(imported.frames).expect("what is imported is sound");
}

#[test]
fn a_file_without_a_line_that_is_an_issue_is_refused() {
    let events = "{\"revision\": 1, \"kind\": \"added\"}\n{\"revision\": 2, \"kind\": \"added\"}\n";
    for error in [import::frames(events).unwrap_err(), import::read(events).unwrap_err()] {
        assert_eq!(error.code(), "json");
        assert!(error.to_string().contains("no line is an issue (line 1: has no `id`"), "{error}");
    }
    let one = format!("{events}{{\"id\": \"a\", \"title\": \"A\"}}");
    let imported = import::frames(&one).unwrap();
    assert_eq!((imported.frames.len(), imported.problems.len()), (2, 2), "one issue is enough");
}

#[test]
fn formats_are_told_apart() {
    let of = |text: &str| Format::of(text);
    assert_eq!(of(r#"{"version": 1, "frames": {}}"#).unwrap(), Format::State);
    assert_eq!(of(r#"{"tasks": []}"#).unwrap(), Format::TaskMaster);
    assert_eq!(of(r#"{"master": {"tasks": []}}"#).unwrap(), Format::TaskMaster);
    assert_eq!(of("{\"id\": \"a\", \"title\": \"A\"}\n").unwrap(), Format::Beads);
    for text in ["", "no JSON", "[]", "5"] {
        assert_eq!(of(text).unwrap_err().code(), "json", "{text}");
        assert_eq!(import::read(text).unwrap_err().code(), "json", "{text}");
    }
    assert_eq!(import::read(r#"{"master": 5}"#).unwrap_err().code(), "json");
}

#[test]
fn a_state_that_is_added_keeps_the_order_of_its_siblings() {
    let source = Stack::in_memory();
    let shop = source.push(NewFrame::new("Shop").id("shop")).unwrap();
    for title in ["Cart", "Search", "Taxes"] {
        source.plan(NewFrame::new(title).id(title).below(shop)).unwrap();
    }
    source.plan(NewFrame::new("Rates").id("rates").below("Taxes")).unwrap();
    source.plan(NewFrame::new("Bank").id("bank").root()).unwrap();
    source.edit("Taxes", FrameEdit::default().before("Cart")).unwrap();
    source.edit("bank", FrameEdit::default().before("shop")).unwrap();
    let imported = import::frames(&source.state().unwrap().to_json()).unwrap();
    assert_eq!(imported.problems, []);
    let stack = Stack::in_memory();
    stack.import(imported.frames).unwrap();
    let titles = |frames: Vec<Handle>| -> Vec<String> {
        frames.into_iter().map(|frame| stack.frame(frame).unwrap().title).collect()
    };
    assert_eq!(titles(stack.children("shop").unwrap()), ["Taxes", "Cart", "Search"]);
    assert_eq!(titles(stack.read(|tree| tree.roots().to_vec()).unwrap()), ["Bank", "Shop"]);
}
