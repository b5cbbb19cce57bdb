//! Plans that follow public reports about other trackers and task tools (`tests/data/field`): which of their
//! tasks are given to workers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use callstack_core::import::{self, Format};
use callstack_core::tools::conversation::Conversation;
use callstack_core::tree::{Obstacle, Parts};
use callstack_core::{
    Actor, EventQuery, Finish, Frame, FrameEdit, FrameStatus, HolderKind, MemoryStore, NewHold, PopStatus, Results,
    Settings, Stack, StackOptions, text,
};
use serde_json::{Value, json};
use support::Queries;

/// A stack with a file of `tests/data/field`, and the problems that were reported about the file.
struct Plan {
    stack: Stack,
    problems: Vec<String>,
}

impl Plan {
    fn of(name: &str) -> Self {
        let bytes = std::fs::read(support::data(&format!("field/{name}"))).unwrap();
        Self::of_text(&text::decoded(bytes).unwrap())
    }

    fn of_text(text: &str) -> Self {
        let plan = import::frames(text).unwrap();
        let stack = Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap();
        stack.import(plan.frames).unwrap();
        Self { stack, problems: plan.problems.iter().map(ToString::to_string).collect() }
    }

    fn frame(&self, title: &str) -> Frame {
        self.stack.frame(title).unwrap()
    }

    /// The titles of the frames that can begin.
    fn ready(&self) -> Vec<String> {
        self.stack.ready().unwrap().into_iter().map(|frame| self.stack.frame(frame).unwrap().title).collect()
    }

    /// The titles of the frames that workers get one after the other, if they complete each frame.
    fn given(&self) -> Vec<String> {
        let mut given = Vec::new();
        while let Some(hold) = self.stack.work().hold(NewHold::new("worker", 60_000)).unwrap() {
            given.push(self.stack.frame(hold.handle).unwrap().title);
            self.stack.work().finish(&hold, Finish::Done(Results::new("done"))).unwrap();
        }
        given
    }

    fn is_reported(&self, part: &str) -> bool {
        self.problems.iter().any(|problem| problem.contains(part))
    }
}

#[test]
fn what_is_deferred_pinned_or_unknown_waits() {
    let plan = Plan::of("deferred-and-frozen.jsonl");
    for title in ["Rewrite in another language", "Audit licences", "Sign the contract"] {
        let frame = plan.frame(title);
        assert_eq!(frame.status, FrameStatus::Blocked, "{title}");
        assert!(frame.waits_to_begin() && !frame.waits_for().is_empty(), "{frame:?}");
    }
    assert_eq!(plan.frame("Audit licences").questions[0].until, Some(4_070_908_800_000));
    let rules = plan.frame("House rules");
    assert_eq!((rules.no_work.as_deref(), rules.status), (Some("pinned"), FrameStatus::Invalidated));
    assert_eq!(plan.problems, ["line 5: the status `needs_human` is unknown; it waits until a person answers"]);
    assert_eq!(plan.given(), ["Write the parser"]);
    plan.stack.answer("Sign the contract", "Signed by Ada").unwrap();
    assert_eq!(plan.given(), ["Sign the contract"], "an answer lets it begin");
}

#[test]
fn a_time_that_passes_lets_work_begin() {
    let now = Arc::new(AtomicU64::new(4_070_908_700_000));
    let clock = Arc::clone(&now);
    let options = StackOptions::default().clock(Arc::new(move || clock.load(Ordering::Relaxed)));
    let stack = Stack::with_store(callstack_core::MemoryStore::new(), options).unwrap();
    let text = support::read_data("field/deferred-and-frozen.jsonl");
    stack.import(import::frames(&text).unwrap().frames).unwrap();
    assert_eq!(stack.ready().unwrap().len(), 1);
    now.store(4_070_908_800_000, Ordering::Relaxed);
    assert!(stack.refresh().is_ok());
    let audit = stack.frame("Audit licences").unwrap();
    assert_eq!((audit.status, audit.questions[0].answer.is_some()), (FrameStatus::Planned, true));
    assert_eq!(stack.ready().unwrap().len(), 2);
    // A worker that asks needs no refresh. A frame whose time has already passed at the import does not wait.
    let issue = |id: &str, until: &str| {
        format!(r#"{{"id": "{id}", "title": "{id}", "status": "deferred", "defer_until": "{until}"}}"#)
    };
    let later = Stack::in_memory();
    let past = import::frames(&issue("past", "2020-01-01")).unwrap();
    later.import(past.frames).unwrap();
    assert_eq!(later.frame("past").unwrap().status, FrameStatus::Planned);
    let unreadable = Plan::of_text(&issue("soon", "next week"));
    assert!(unreadable.is_reported("`defer_until` is `next week`"));
    assert!(unreadable.ready().is_empty());
}

#[cfg(feature = "sqlite")]
#[test]
fn a_stack_that_is_opened_later_lets_work_begin() {
    let folder = tempfile::tempdir().unwrap();
    let open = |now: u64| Stack::open(folder.path(), StackOptions::default().clock(Arc::new(move || now))).unwrap();
    let before = open(4_070_908_700_000);
    let text = support::read_data("field/deferred-and-frozen.jsonl");
    before.import(import::frames(&text).unwrap().frames).unwrap();
    drop(before);
    assert_eq!(open(4_070_908_700_001).ready().unwrap().len(), 1);
    let later = open(4_070_908_800_000);
    assert_eq!(
        (later.ready().unwrap().len(), later.frame("Audit licences").unwrap().status),
        (2, FrameStatus::Planned)
    );
}

#[test]
fn an_answer_that_lets_work_begin_can_be_taken_back() {
    let plan = Plan::of("deferred-and-frozen.jsonl");
    let ada = plan.stack.as_actor(Actor::new(HolderKind::Person, "ada"));
    ada.answer("Sign the contract", "Signed").unwrap();
    assert_eq!(plan.ready(), ["Sign the contract", "Write the parser"]);
    ada.undo().unwrap();
    assert!(plan.frame("Sign the contract").waits_to_begin());
    assert_eq!(plan.ready(), ["Write the parser"]);
    plan.stack.resume("Sign the contract").unwrap();
    plan.stack.block("Sign the contract", "Which pen?", None).unwrap();
    let contract = plan.frame("Sign the contract");
    assert!(contract.begun_at.is_some() && !contract.waits_to_begin(), "it has begun");
}

#[test]
fn what_waits_leaves_the_plan_with_what_is_above_it() {
    let plan = Plan::of_text(
        "{\"id\": \"e\", \"title\": \"Epic\", \"status\": \"open\"}\n{\"id\": \"e.1\", \"title\": \"Part\", \"status\": \"deferred\"}",
    );
    plan.stack.invalidate("Epic", "not wanted").unwrap();
    assert_eq!(plan.frame("Part").status, FrameStatus::Invalidated);
}

#[test]
fn what_is_below_a_deferred_epic_waits() {
    let plan = Plan::of("child-of-deferred-epic.jsonl");
    assert!(plan.ready().is_empty() && plan.given().is_empty());
    let [epic, screen] = ["Mobile app", "Login screen"].map(|title| plan.stack.resolve(title).unwrap());
    plan.stack.read(|tree| assert_eq!(tree.can_begin(screen, Parts::Within), Err(Obstacle::Waiting(epic)))).unwrap();
    let refused = plan.stack.read(|tree| tree.check_ready(screen)).unwrap().unwrap_err().to_string();
    assert!(refused.contains("waits: It is deferred in Beads; answer f2 first"), "{refused}");
    plan.stack.answer(epic, "now").unwrap();
    assert_eq!(plan.given(), ["Login screen", "Mobile app"]);
}

#[test]
fn records_that_are_not_work_are_kept_and_given_to_no_worker() {
    let plan = Plan::of("records-that-are-no-work.jsonl");
    assert_eq!(plan.problems, [] as [&str; 0]);
    assert_eq!(plan.given(), ["Write the parser"]);
    let state = plan.stack.state().unwrap();
    let words: Vec<&str> = state.frames.iter().filter_map(|frame| frame.no_work.as_deref()).collect();
    assert_eq!(words, ["plan", "message", "event", "agent", "gate", "molecule", "wisp"]);
    let root = plan.frame("Issues");
    assert_eq!(root.status, FrameStatus::Completed, "it ends with its parts");
}

#[test]
fn a_log_of_interactions_is_no_plan() {
    let text = support::read_data("field/interactions-not-issues.jsonl");
    let error = import::frames(&text).unwrap_err();
    assert!(error.to_string().contains("no line is an issue"), "{error}");
}

#[test]
fn waits_for_is_a_dependency() {
    let plan = Plan::of("waits-for.jsonl");
    assert_eq!(plan.given(), ["Build", "Review after all parts of the build"]);
}

#[test]
fn what_needs_another_project_waits_and_says_for_what() {
    let plan = Plan::of("external-dependency.jsonl");
    assert!(plan.given().is_empty());
    assert!(plan.frame("Call the payment service").waits_for().contains("`external:billing:pay-api`"));
    assert!(plan.frame("Show the price").waits_for().contains("`oth-77`"));
    assert_eq!(plan.problems.len(), 2);
}

#[test]
fn links_are_read_in_every_shape() {
    let plan = Plan::of("dependency-other-shape.jsonl");
    assert_eq!(plan.given(), ["Schema", "Routes"]);
    let first = r#"{"id": "a", "title": "A", "status": "open"}"#;
    for links in [
        r#""dependencies": ["a"]"#,
        r#""dependencies": "a""#,
        r#""dependencies": "blocks:a""#,
        r#""dependencies": [{"target": "a"}]"#,
        r#""dependencies": [{"id": "a", "title": "A", "dependency_type": "blocks"}]"#,
        r#""dependencies": [{"depends_on_id": "a", "type": "depends_on"}]"#,
        r#""dependencies": [{"depends_on_id": "a", "type": "after"}]"#,
        r#""dependencies": {"blocks": ["a"]}"#,
        r#""dependencies": {"a": "blocks"}"#,
        r#""depends_on": ["a"]"#,
        r#""blocked_by": "a""#,
    ] {
        let plan =
            Plan::of_text(&format!("{first}\n{{\"id\": \"b\", \"title\": \"B\", \"status\": \"open\", {links}}}"));
        assert_eq!(plan.frame("b").depends_on, ["a"], "{links}: {:?}", plan.problems);
    }
    for links in [r#""dependencies": [5.5, {"on": "a"}, null]"#, r#""dependencies": [[]]"#, r#""dependencies": true"#] {
        let plan =
            Plan::of_text(&format!("{first}\n{{\"id\": \"b\", \"title\": \"B\", \"status\": \"open\", {links}}}"));
        assert_eq!(plan.ready(), ["A"], "{links}");
        assert!(plan.is_reported("it waits"), "{links}: {:?}", plan.problems);
    }
    let loose = r#"{"id": "b", "title": "B", "dependencies": [{"depends_on_id": "a", "type": "related"}]}"#;
    assert_eq!(Plan::of_text(&format!("{first}\n{loose}")).ready(), ["A", "B"]);
    for parent in [r#""parent": "a""#, r#""parent": {"id": "a"}"#, r#""dependencies": {"a": "parent-child"}"#] {
        let plan = Plan::of_text(&format!("{first}\n{{\"id\": \"b\", \"title\": \"B\", {parent}}}"));
        assert_eq!(plan.frame("b").parent_session_id.as_deref(), Some("a"), "{parent}");
    }
}

#[test]
fn what_is_for_a_failure_is_never_given_after_a_success() {
    let deploy = |status: &str, reason: &str| {
        format!(
            "{{\"id\": \"d\", \"title\": \"Deploy\", \"status\": \"{status}\", \"close_reason\": \"{reason}\"}}\n\
             {{\"id\": \"r\", \"title\": \"Roll back\", \"status\": \"open\", \"dependencies\": [{{\"issue_id\": \"r\", \
             \"depends_on_id\": \"d\", \"type\": \"conditional-blocks\"}}]}}"
        )
    };
    let open = Plan::of_text(&deploy("open", ""));
    assert_eq!(open.given(), ["Deploy"]);
    assert!(open.frame("Roll back").waits_for().contains("only if `d` (Deploy) fails"));
    for (reason, may_begin) in [
        ("live since noon", false),
        ("", false),
        ("fixed the error that failed the tests", false),
        ("failed: disk full", true),
        ("Deployment failed", true),
        ("cancelled", true),
    ] {
        assert_eq!(Plan::of_text(&deploy("closed", reason)).ready().len(), usize::from(may_begin), "{reason}");
    }
    let missing = Plan::of_text(deploy("open", "").lines().nth(1).unwrap());
    assert!(missing.ready().is_empty() && missing.is_reported("not in the file"));
}

#[test]
fn a_dotted_id_is_below_the_issue_that_it_continues() {
    let plan = Plan::of("children-by-dotted-id.jsonl");
    assert_eq!(plan.given(), ["Sign up", "Reset a password", "Accounts"]);
    assert_eq!(plan.frame("Sign up").parent_session_id.as_deref(), Some("ex-a1"));
}

#[test]
fn the_newest_version_of_an_issue_counts() {
    let plan = Plan::of("duplicate-after-union-merge.jsonl");
    assert_eq!(plan.given(), ["Use the index"]);
    assert_eq!(plan.frame("ex-1").results.as_deref(), Some("index users_by_mail"));
    assert_eq!(plan.problems, ["line 3: is the newest version of `ex-1`; those of line 1 are left out"]);
}

#[test]
fn versions_that_cannot_be_told_apart_wait() {
    let issue = |status: &str, title: &str| format!(r#"{{"id": "a", "title": "{title}", "status": "{status}"}}"#);
    for [first, second] in [["open", "closed"], ["closed", "open"], ["open", "open"]] {
        let plan = Plan::of_text(&format!("{}\n{}", issue(first, "One"), issue(second, "Two")));
        let frame = plan.frame("a");
        assert_eq!(frame.status, FrameStatus::Blocked, "{first} {second}");
        assert_eq!(frame.extra["otherVersions"].as_array().unwrap().len(), 1);
        assert!(plan.given().is_empty() && plan.is_reported("says which version is the newest"));
    }
    let same = Plan::of_text(&format!("{}\n{}", issue("open", "One"), issue("open", "One")));
    assert_eq!(same.given(), ["One"]);
}

#[test]
fn marks_of_conflicts_are_named_by_line() {
    for (name, lines) in [("conflict-markers.jsonl", [2, 4, 6]), ("conflict-marker-first.jsonl", [1, 3, 5])] {
        let plan = Plan::of(name);
        for line in lines {
            assert!(plan.is_reported(&format!("line {line}: is a mark of a merge conflict")), "{:?}", plan.problems);
        }
        assert!(plan.given().is_empty(), "the closed side is the newest one");
        assert_eq!(plan.frame("Add the index").status, FrameStatus::Completed);
    }
    let one_side =
        "<<<<<<< ours\n{\"id\": \"a\", \"title\": \"A\"}\n=======\n>>>>>>> theirs\n{\"id\": \"b\", \"title\": \"B\"}";
    assert_eq!(Plan::of_text(one_side).given(), ["B"], "what one side alone has waits");
    let tasks = "{\"tasks\": [\n<<<<<<< HEAD\n{\"id\": 1}\n=======\n>>>>>>> x\n]}";
    let error = import::frames(tasks).unwrap_err().to_string();
    assert!(error.contains("line 2 is a mark of a merge conflict"), "{error}");
}

#[test]
fn memories_are_no_defects() {
    let plan = Plan::of("memory-records.jsonl");
    assert_eq!(plan.problems, [] as [&str; 0]);
    assert_eq!(plan.given(), ["Write the parser"]);
    let style = plan.frame("memory/style");
    assert_eq!((style.title.as_str(), style.success_criteria.as_str()), ("style", "two spaces"));
    assert_eq!(style.no_work.as_deref(), Some("memory"));
}

#[test]
fn open_parts_of_a_closed_epic_are_reported() {
    let plan = Plan::of("closed-epic-open-child.jsonl");
    assert!(plan.given().is_empty());
    assert!(plan.is_reported("ex-2: the frame above it, `ex-1`, is completed; it waits until that is reopened"));
    assert_eq!(plan.frame("Issues").status, FrameStatus::InProgress);
    plan.stack.reopen("Old workflow", "a step was never done").unwrap();
    assert_eq!(plan.ready(), ["Step that was never done"]);
}

#[test]
fn what_is_urgent_comes_first() {
    assert_eq!(Plan::of("priority-order.jsonl").given(), ["Production is down", "Polish the colours"]);
}

#[test]
fn pinned_and_deleted_issues_block_nothing() {
    let plan = Plan::of("blocked-by-pinned-or-deleted.jsonl");
    assert_eq!(plan.given(), ["Needs the rules", "Needed the old idea"]);
    assert!(plan.is_reported("is pinned and blocks nothing") && plan.is_reported("is deleted and blocks nothing"));
}

#[test]
fn the_parts_of_what_waits_wait_too() {
    for name in ["child-of-blocked-epic.jsonl", "subtask-of-waiting-task.json"] {
        let plan = Plan::of(name);
        assert_eq!(plan.ready(), ["Choose the database"], "{name}");
        let last = if name.ends_with('l') { "Storage epic" } else { "Storage" };
        assert_eq!(plan.given(), ["Choose the database", "Write the schema", last], "{name}");
    }
}

#[test]
fn what_an_import_makes_for_itself_is_no_work() {
    let plan = Plan::of("empty-tag.json");
    assert!(plan.given().is_empty());
    assert_eq!(plan.stack.state().unwrap().frames.len(), 2);
    let circle = Plan::of("parent-cycle.jsonl");
    assert!(circle.given().is_empty(), "{:?}", circle.problems);
    assert_eq!(circle.problems.len(), 2);
}

#[test]
fn tags_beside_a_list_are_read() {
    let plan = Plan::of("root-tasks-and-tags.json");
    assert_eq!(plan.given(), ["Login form", "Routes"]);
    assert_eq!(plan.problems, ["tasks[0]: is in the tag `master` too, which Task Master reads; left out"]);
    let stale = r#"{"tasks": [{"id": 7, "title": "Stale"}], "other": {"tasks": [{"id": 1, "title": "New"}]}}"#;
    let plan = Plan::of_text(stale);
    assert_eq!(plan.given(), ["New"], "Task Master does not read the list beside tags");
    assert_eq!(plan.frame("master/7").status, FrameStatus::Blocked);
}

#[test]
fn numbers_and_texts_name_tasks() {
    let plan = Plan::of("string-and-number-ids.json");
    assert_eq!(plan.frame("master/2.2").depends_on, ["master/2.1"]);
    assert_eq!(plan.frame("master/2.3").depends_on, ["master/2.2", "master/2.1"], "a number names a sibling first");
    assert_eq!(plan.frame("Deploy").depends_on, ["master/2", "master/2.2"]);
    assert!(plan.frame("Deploy").waits_for().contains("task 3, which is not in the file"));
    let plan = Plan::of("subtask-needs-task.json");
    assert_eq!(plan.given(), ["Search index", "Search", "Wrap up", "Routes"]);
    let plan = Plan::of("odd-fields.json");
    assert_eq!(plan.frame("Status in capitals").status, FrameStatus::Completed);
    assert_eq!(plan.frame("Dependencies as a text").depends_on, ["master/1", "master/3"]);
    assert_eq!(plan.frame("Dependencies as objects").depends_on, ["master/1"]);
    assert_eq!(plan.frame("Description is a list").success_criteria, "a\nb");
    assert_eq!(plan.frame("master/4").title, "4");
    let given = plan.given();
    let at = |title: &str| given.iter().position(|given| given == title);
    assert!(at("Dependencies as objects") < at("Dependencies as a text"), "{given:?}");
}

#[test]
fn what_depends_on_cancelled_work_waits() {
    let plan = Plan::of("cancelled-dependency.json");
    assert_eq!(plan.given(), ["Write the guide"]);
    let licence = plan.stack.resolve("Buy the licence").unwrap();
    assert_eq!(plan.stack.read(|tree| tree.in_the_way(None)).unwrap().ended, [licence]);
}

#[test]
fn circles_are_reported_and_wait_for_a_person() {
    let plan = Plan::of("circles.json");
    assert_eq!(plan.problems.len(), 4, "{:?}", plan.problems);
    assert_eq!(plan.given(), ["D one", "D"], "a task may depend on its own part");
    for title in ["A", "B", "C one"] {
        assert!(plan.frame(title).waits_for().contains("It would wait for"), "{title}");
    }
    plan.stack.answer("A", "without itself").unwrap();
    plan.stack.answer("B", "before A").unwrap();
    plan.stack.answer("C one", "it is a part").unwrap();
    assert_eq!(plan.given(), ["B", "C one", "C", "A"]);
}

#[test]
fn headings_of_check_lists_have_marks() {
    let statuses_of = |text: &str| {
        let stack = Stack::in_memory();
        stack.import(import::frames(text).unwrap().frames).unwrap();
        statuses(&stack).into_iter().map(|(title, status)| format!("{title} {status}")).collect::<Vec<_>>()
    };
    let marked =
        "# Plan\n## [x] Done part\n- [x] One\n## Part ✅\n- [x] Two\n## [-] Dropped\n## [ ] Open\nHow\n- [ ] Three\n";
    assert_eq!(
        statuses_of(marked),
        [
            "Plan in_progress",
            "Done part completed",
            "One completed",
            "Part completed",
            "Two completed",
            "Dropped invalidated",
            "Open planned",
            "Three planned"
        ]
    );
    let items = "## ✅ Done\n- One\n- Two\n## Next\n- Three\n- ✔️ Four\n";
    assert_eq!(statuses_of(items)[..1], ["Done completed"]);
    let plain = "## Done ✅\n- One\n## Next\n- Two\n";
    assert_eq!(statuses_of(plain), ["Done completed", "One completed", "Next in_progress", "Two planned"]);
}

#[test]
fn what_is_its_own_parent_or_in_a_circle_of_parents_waits() {
    let below = |id: &str, parent: &str| {
        let link = serde_json::json!({"depends_on_id": parent, "type": "parent-child"});
        serde_json::json!({"id": id, "title": id, "status": "open", "dependencies": [link]}).to_string()
    };
    for file in [below("a", "a"), format!("{}\n{}", below("a", "b"), below("b", "a"))] {
        let plan = import::frames(&file).unwrap();
        let told = plan.problems.iter().any(|problem| problem.message.ends_with("kept as a root, and waits"));
        assert!(told, "{:?}", plan.problems);
        let stack = Stack::in_memory();
        stack.import(plan.frames).unwrap();
        let blocked = |(_, status): &(String, FrameStatus)| *status == FrameStatus::Blocked;
        assert_eq!(statuses(&stack).into_iter().filter(blocked).count(), 1, "{file}");
        let ready =
            |tree: &callstack_core::Tree| tree.handles().filter(|at| tree.can_begin(*at, Parts::First).is_ok()).count();
        assert_eq!(stack.read(ready).unwrap(), 0, "no worker begins {file}");
    }
    let file = serde_json::json!({"tasks": [{"id": 1, "title": "One", "parentId": 1}]}).to_string();
    let plan = import::frames(&file).unwrap();
    assert_eq!(plan.problems[0].message, "is its own parent; it waits until a person answers");
    assert_eq!(plan.frames[1].status, FrameStatus::Blocked);
}

#[test]
fn an_empty_title_is_the_id() {
    let plan = Plan::of("empty-title.json");
    assert_eq!(plan.given(), ["1", "2"]);
    assert_eq!(plan.frame("master/2").success_criteria, "Use the index");
}

#[test]
fn files_of_windows_are_read() {
    for name in ["tasks-byte-order-mark.json", "issues-byte-order-mark.jsonl", "utf16.json"] {
        let plan = Plan::of(name);
        assert_eq!(plan.problems, [] as [&str; 0], "{name}");
        assert!(plan.given()[0].starts_with("Sch"), "{name}");
    }
    for (text, mark) in [("[\"Schéma 😀\"]\r\n", true), ("[\"Sch\"]", false)] {
        let units = || text.encode_utf16().collect::<Vec<_>>();
        let marked = |mark_bytes: [u8; 2]| if mark { mark_bytes.to_vec() } else { Vec::new() };
        let little = [marked([0xFF, 0xFE]), units().iter().flat_map(|unit| unit.to_le_bytes()).collect()].concat();
        let big = [marked([0xFE, 0xFF]), units().iter().flat_map(|unit| unit.to_be_bytes()).collect()].concat();
        assert_eq!((text::decoded(little).unwrap().as_str(), text::decoded(big).unwrap().as_str()), (text, text));
    }
    let error = text::decoded(b"a\nbc\xff".to_vec()).unwrap_err();
    assert_eq!((error.line, error.column), (2, 3));
}

#[test]
fn a_json_list_stands_for_lines() {
    let issues = r#"[{"id": "a", "title": "A", "status": "open"},
        {"id": "b", "title": "B", "status": "open", "dependencies": [{"id": "a", "dependency_type": "blocks"}]}]"#;
    assert_eq!(Format::of(issues).unwrap(), Format::Beads);
    assert_eq!(Plan::of_text(issues).given(), ["A", "B"]);
    assert_eq!(Plan::of_text("{\"id\": \"a\",\n \"title\": \"A\",\n \"status\": \"open\"}").given(), ["A"]);
    let tasks = r#"[{"id": 1, "title": "One", "subtasks": []}, {"id": 2, "title": "Two", "dependencies": [1]}]"#;
    assert_eq!(Plan::of_text(tasks).given(), ["One", "Two"]);
    for text in ["[]", "[1]", "[{\"a\": 1}]"] {
        assert_eq!(Format::of(text).unwrap_err().code(), "json", "{text}");
    }
}

#[test]
fn a_fault_in_the_first_line_is_no_other_than_one_in_the_second() {
    let issue = r#"{"id": "a", "title": "A", "status": "open"}"#;
    for text in [format!("{{broken\n{issue}"), format!("{issue}\n{{broken")] {
        let plan = Plan::of_text(&text);
        assert_eq!(plan.given(), ["A"], "{text}");
        assert!(plan.is_reported("is not JSON") && plan.is_reported("at column 2"), "{:?}", plan.problems);
    }
    let half = Plan::of_text(r#"{"id": "a", "title": "A \ud83d", "status": "open"}"#);
    assert!(half.is_reported("line 1: has one half of a character"), "{:?}", half.problems);
}

#[cfg(feature = "markdown")]
#[test]
fn a_check_list_has_its_marks_and_its_nesting() {
    let plan = Plan::of("checklist.md");
    assert_eq!(plan.problems, [] as [&str; 0]);
    assert_eq!(plan.given(), ["grammar", "Write the parser", "Write the pull request:", "Tell everybody"]);
    let status = |title: &str| plan.frame(title).status;
    assert_eq!(status("Set up the project"), FrameStatus::Completed);
    assert_eq!(status("tokens"), FrameStatus::Completed);
    assert_eq!(status("Blocked on the licence"), FrameStatus::Blocked);
    let request = plan.frame("Write the pull request:");
    assert_eq!(request.task, "```markdown\n## Test plan\n- [ ] page opens\n```");
    assert_eq!(plan.frame("Release plan").success_criteria, "Some words about the plan.");
}

#[cfg(feature = "markdown")]
#[test]
fn headings_hold_items_together_and_prose_is_kept() {
    let text = "\
---
title: no heading
---
# Shop

All about it.

## Background

Customers *wait*.

## Backend
1. [ ] Schema
   More about it.

   > quoted
   > - [ ] no task
2. [/] Routes
* [-] Cache
- plain words
- [*] Odd
- [ ] ~~Dropped~~
- Group
  - [ ] Within

## Empty
";
    let plan = Plan::of_text(text);
    let ids: Vec<String> = plan.stack.state().unwrap().frames.into_iter().map(|frame| frame.session_id).collect();
    assert_eq!(
        ids,
        [
            "shop",
            "shop/backend",
            "shop/backend/schema-more-about-it",
            "shop/backend/routes",
            "shop/backend/cache",
            "shop/backend/odd",
            "shop/backend/dropped",
            "shop/backend/group",
            "shop/backend/group/within"
        ]
    );
    assert_eq!(plan.frame("shop").success_criteria, "All about it.\n\nBackground\n\nCustomers *wait*.\n\nEmpty");
    assert_eq!(plan.frame("shop/backend").success_criteria, "- plain words");
    let schema = plan.frame("shop/backend/schema-more-about-it");
    assert_eq!((schema.title.as_str(), schema.task.as_str()), ("Schema More about it.", "> quoted\n> - [ ] no task"));
    let statuses = ["routes", "cache", "odd", "dropped"].map(|id| plan.frame(&format!("shop/backend/{id}")).status);
    use FrameStatus::*;
    assert_eq!(statuses, [InProgress, Invalidated, Blocked, Invalidated]);
    assert_eq!(plan.problems, ["line 21: the mark `[*]` is unknown; it waits until a person answers"]);
    assert_eq!(plan.given(), ["Schema More about it.", "Within"]);
    assert_eq!(plan.frame("shop/backend/group").status, Completed, "it ends with its parts");
    assert_eq!(plan.frame("shop/backend").status, InProgress);
    for [name, text] in [["TODO", "# TODO\n- milk\n  - oat\n- bread\n"], ["fence", "```\n- [ ] no\n```\n* [ ] yes\n"]] {
        assert_eq!(Format::of(text).unwrap(), Format::Checklist, "{name}");
        assert!(!Plan::of_text(text).given().contains(&"no".to_owned()), "{name}");
    }
    assert_eq!(Plan::of_text("# TODO\n- milk\n  - oat\n- bread\n").given(), ["oat", "milk", "bread"]);
    for text in ["", "prose", "# Heading", "- a\n- b\n"] {
        assert!(Format::of(text).is_err(), "{text}");
    }
}

#[test]
fn what_holds_frames_together_ends_with_them_and_goes_on_with_them() {
    let text = r#"{"id": "m", "title": "Release", "issue_type": "molecule", "status": "open"}
{"id": "m.1", "title": "Tag", "status": "open"}
{"id": "m.2", "title": "Upload", "status": "open", "dependencies": ["m.1"]}
{"id": "s", "title": "Shipped", "issue_type": "milestone", "status": "open", "dependencies": ["m"]}
{"id": "n", "title": "Announce", "status": "open", "dependencies": ["s"]}"#;
    let plan = Plan::of_text(text);
    assert_eq!(plan.given(), ["Tag", "Upload", "Announce"]);
    for id in ["m", "s", "beads"] {
        assert_eq!(plan.frame(id).status, FrameStatus::Completed, "{id}");
    }
    plan.stack.reopen("Upload", "the file is empty").unwrap();
    assert_eq!(
        (plan.frame("m").status, plan.frame("beads").status),
        (FrameStatus::InProgress, FrameStatus::InProgress)
    );
    plan.stack.pop("Upload", PopStatus::Completed, "again").unwrap();
    assert_eq!(plan.frame("beads").status, FrameStatus::Completed);
}

#[test]
fn a_gate_that_others_need_waits_for_a_person() {
    let text = r#"{"id": "g", "title": "Wait for the pipeline", "issue_type": "gate", "status": "open"}
{"id": "n", "title": "Announce", "status": "open", "dependencies": ["g"]}"#;
    let plan = Plan::of_text(text);
    assert!(plan.given().is_empty());
    plan.stack.answer("g", "run 4711 is green").unwrap();
    let gate = plan.frame("g");
    assert_eq!((gate.status, gate.results.as_deref()), (FrameStatus::Completed, Some("run 4711 is green")));
    assert_eq!(plan.given(), ["Announce"]);
}

#[test]
fn what_is_below_a_template_is_no_work() {
    let text = r#"{"id": "t", "title": "Release {{version}}", "issue_type": "epic", "status": "open", "is_template": true}
{"id": "t.1", "title": "Tag {{version}}", "status": "open"}
{"id": "x", "title": "Write", "status": "open", "ephemeral": false, "pinned": null}"#;
    assert_eq!(Plan::of_text(text).given(), ["Write"]);
}

#[test]
fn each_status_of_task_master_is_known() {
    let task =
        |(id, status): (usize, &&str)| format!(r#"{{"id": {}, "title": "{status}", "status": "{status}"}}"#, id + 1);
    let statuses =
        ["pending", "in-progress", "done", "deferred", "cancelled", "review", "blocked", "completed", "Parked"];
    let tasks: Vec<String> = statuses.iter().enumerate().map(task).collect();
    let plan = Plan::of_text(&format!("{{\"master\": {{\"tasks\": [{}]}}}}", tasks.join(", ")));
    use FrameStatus::*;
    let expected = [Planned, InProgress, Completed, Blocked, Invalidated, Blocked, Blocked, Completed, Blocked];
    assert_eq!(statuses.map(|status| plan.frame(status).status), expected);
    assert_eq!(plan.problems.len(), 1, "{:?}", plan.problems);
    assert_eq!(plan.given(), ["pending"]);
}

#[test]
fn subtasks_of_subtasks_and_dotted_tasks_are_kept() {
    let text = r#"{"tasks": [{"id": 1, "title": "One", "subtasks": [{"id": 1, "title": "One one", "subtasks": [
        {"id": 1, "title": "Deep", "details": "d", "testStrategy": "t"}, {"id": 2, "title": "Deeper", "dependencies": [1]}]}]},
        {"id": "1.2", "title": "Dotted"}, {"id": 5, "title": "Named", "parentId": 1}]}"#;
    let plan = Plan::of_text(text);
    assert_eq!(plan.problems, [] as [&str; 0]);
    assert_eq!(plan.given(), ["Deep", "Deeper", "One one", "Dotted", "Named", "One"]);
    assert_eq!(plan.frame("Deep").task, "d\n\nHow it is tested: t");
}

/// The result for each real plan: the number of frames with each status, and the number of frames
/// that can begin.
#[test]
fn real_plans_become_what_they_say() {
    let mut names: Vec<String> = std::fs::read_dir(support::data("plans"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "README.md")
        .collect();
    names.sort();
    let mut said = String::from("plan work begun waiting noWork finished invalidated ready reported\n");
    for name in names {
        let plan = import::frames(&support::read_data(&format!("plans/{name}"))).unwrap();
        let (counts, reported) = (plan.counts(), plan.problems.len());
        let stack = Stack::in_memory();
        stack.import(plan.frames).unwrap();
        let import::ImportedCounts { work, begun, waiting, no_work, finished, invalidated, .. } = counts;
        let ready = stack.ready().unwrap().len();
        said += &format!("{name} {work} {begun} {waiting} {no_work} {finished} {invalidated} {ready} {reported}\n");
        let tree = stack.state().unwrap();
        let words = |frame: &&Frame| frame.status == FrameStatus::Blocked && frame.waits_for().trim().is_empty();
        assert_eq!(tree.frames.iter().filter(words).count(), 0, "{name}: each says for what it waits");
    }
    support::assert_golden("import/real-plans.txt", &said);
}

/// The stack that replays the history of another one.
fn replayed(stack: &Stack) -> Stack {
    let history = stack.history().events(&EventQuery::default()).unwrap();
    Stack::with_store(MemoryStore::with_events(history).unwrap(), StackOptions::default()).expect("the history replays")
}

/// The statuses of the frames, by their titles.
fn statuses(stack: &Stack) -> Vec<(String, FrameStatus)> {
    stack
        .read(|tree| tree.handles().map(|at| (tree.node(at).title().to_owned(), tree.node(at).status())).collect())
        .unwrap()
}

#[test]
fn what_is_no_work_is_not_begun_by_an_answer() {
    let gate = r#"{"id":"g","title":"CI","status":"open","issue_type":"gate"}
{"id":"w","title":"Ship","status":"open","dependencies":[{"depends_on_id":"g","type":"blocks"}]}"#;
    let plan = Plan::of_text(gate);
    assert_eq!(plan.stack.answer_and_resume("CI", "go").unwrap_err().code(), "not_ready");
    let settings = Settings::default();
    let call = |arguments: &str| Conversation::new(&plan.stack, &settings).call("activate", arguments).answer;
    let refused = call(r#"{"frame": "CI", "answer": "go", "anyway": true}"#);
    assert!(refused.is_error && refused.text.as_deref().unwrap().contains("not work, but a gate"), "{refused:?}");
    plan.stack.answer("CI", "it is green").unwrap();
    assert_eq!((plan.frame("CI").status, plan.ready()), (FrameStatus::Completed, vec!["Ship".to_owned()]));
    assert_eq!(statuses(&replayed(&plan.stack)), statuses(&plan.stack));
}

#[test]
fn an_answer_begins_only_what_can_begin() {
    let plan = Plan::of_text(
        r#"{"id":"x-1","title":"Deploy","status":"open"}
{"id":"x-2","title":"Roll back","status":"deferred","dependencies":[{"depends_on_id":"x-1","type":"blocks"}]}
{"id":"x-3","title":"Later","status":"deferred"}
{"id":"x-4","title":"Now","status":"deferred"}"#,
    );
    let settings = Settings::default();
    let call = |arguments: &str| Conversation::new(&plan.stack, &settings).call("activate", arguments).answer;
    let refused = call(r#"{"frame": "Roll back", "answer": "go"}"#);
    assert!(refused.is_error && plan.frame("Roll back").status == FrameStatus::Blocked, "{refused:?}");
    let refused = call(r#"{"frame": "Later"}"#);
    assert!(refused.is_error && plan.frame("Later").status == FrameStatus::Blocked, "{refused:?}");
    let begun = call(r#"{"frame": "Now", "answer": "go"}"#);
    assert!(!begun.is_error && plan.frame("Now").status == FrameStatus::InProgress, "{begun:?}");
    assert_eq!(statuses(&replayed(&plan.stack)), statuses(&plan.stack));
}

#[test]
fn times_that_pass_together_end_what_they_hold_together_once() {
    let plan = import::frames(
        r#"{"id":"d","title":"Done","status":"open","issue_type":"milestone","defer_until":"2026-01-01T00:00:09Z"}
{"id":"d.1","title":"Part","status":"closed"}
{"id":"g","title":"Gate","status":"open","issue_type":"milestone","defer_until":"2026-01-01T00:00:09Z",
 "dependencies":[{"depends_on_id":"d","type":"blocks"}]}"#
            .replace("Z\",\n ", "Z\", ")
            .as_str(),
    )
    .unwrap();
    let now = Arc::new(AtomicU64::new(1_767_225_600_000));
    let stack = Stack::with_store(MemoryStore::new(), support::options_at(&now)).unwrap();
    stack.import(plan.frames).unwrap();
    now.fetch_add(60_000, Ordering::Relaxed);
    stack.work().hold(NewHold::new("worker", 60_000)).unwrap();
    let is_over = |title: &str| stack.frame(title).unwrap().status == FrameStatus::Completed;
    assert!(is_over("Done") && is_over("Gate"), "{:?}", statuses(&stack));
    assert_eq!(statuses(&replayed(&stack)), statuses(&stack));
}

#[test]
fn what_holds_others_together_is_no_work_for_conversations_and_ends_with_a_changed_plan() {
    let plan = Plan::of_text("# Plan\n- [x] One\n- [ ] Two\n# Other\n- [ ] Three\n- [ ] Four\n");
    let settings = Settings::default();
    let standing = Conversation::new(&plan.stack, &settings).standing().unwrap();
    assert!(!standing.contains("No agent works on"), "{standing}");
    let refused = Conversation::new(&plan.stack, &settings).call("activate", r#"{"frame": "Plan"}"#).answer;
    assert!(refused.is_error, "{refused:?}");
    // The last open part is moved to another frame.
    plan.stack.edit("Two", FrameEdit::default().below("Other")).unwrap();
    assert_eq!(plan.frame("Plan").status, FrameStatus::Completed);
    assert_eq!(plan.given(), ["Three", "Four", "Two"]);
    assert_eq!(plan.frame("Other").status, FrameStatus::Completed);
    assert_eq!(statuses(&replayed(&plan.stack)), statuses(&plan.stack));
}

#[test]
fn marks_that_people_write_otherwise_are_marks_and_links_are_none() {
    let plan = Plan::of_text(
        "# Plan\n- [] One\n- [ x ] Two\n- [x]Three\n- [x](http://x) Four\n- [ ] Five\n  - [x] Six\n- [x] Seven\n  - [ ] Eight\n",
    );
    let status = |title: &str| plan.frame(title).status;
    assert_eq!(
        ["One", "Two", "Three"].map(status),
        [FrameStatus::Planned, FrameStatus::Completed, FrameStatus::Completed]
    );
    assert!(plan.stack.frame("Four").is_err(), "it is no item of work");
    assert_eq!(plan.given(), ["One", "Five"]);
    assert!(plan.is_reported("it waits until that is reopened"), "{:?}", plan.problems);
}

#[test]
fn names_that_others_write_mean_the_same() {
    let issue = |id: &str, more: &str| format!(r#"{{"id": "{id}", "title": "{id}", "status": "open"{more}}}"#);
    for key in ["dependsOn", "blockedBy", "waitsFor", "requires", "needs", "deps", "Depends_On", "blocked-by"] {
        let text = format!("{}\n{}", issue("a", ""), issue("b", &format!(r#", "{key}": ["a"]"#)));
        assert_eq!(Plan::of_text(&text).given(), ["a", "b"], "{key}");
        let text = issue("b", &format!(r#", "{key}": "nowhere""#));
        assert!(Plan::of_text(&text).given().is_empty(), "{key}: what is not in the file is waited for");
    }
    for (key, value) in [
        ("blocks", r#"["b"]"#),
        ("blocking", r#""b""#),
        ("dependents", r#"[{"id": "b", "dependency_type": "blocks"}]"#),
    ] {
        let text = format!("{}\n{}", issue("b", ""), issue("a", &format!(r#", "{key}": {value}"#)));
        assert_eq!(Plan::of_text(&text).given(), ["a", "b"], "{key}");
    }
    let below = format!("{}\n{}", issue("a", ""), issue("b", r#", "parentId": "a""#));
    assert_eq!(Plan::of_text(&below).frame("b").parent_session_id.as_deref(), Some("a"));
    for more in [r#", "type": "message""#, r#", "issueType": "gate""#, r#", "isTemplate": true"#] {
        let plan = Plan::of_text(&issue("a", more));
        assert!(plan.given().is_empty() && plan.frame("a").no_work.is_some(), "{more}");
    }
    let deferred = Plan::of_text(&issue("a", r#", "deferUntil": "2099-01-01""#));
    assert_eq!(deferred.frame("a").questions[0].until, Some(4_070_908_800_000));
    // Links that say nothing about order, and a value that is not a list.
    let loose = issue("a", r#", "related": ["b"], "discoveredFrom": "c", "blocks": false, "needs": []"#);
    assert_eq!(Plan::of_text(&loose).given(), ["a"]);
    for key in ["dependsOn", "blockedBy", "deps"] {
        let text = format!(r#"{{"tasks": [{{"id": 2, "title": "b", "{key}": [1]}}, {{"id": 1, "title": "a"}}]}}"#);
        assert_eq!(Plan::of_text(&text).given(), ["a", "b"], "{key}");
    }
}

#[test]
fn what_is_not_known_to_be_closed_waits() {
    let open = r#"{"id": "a", "title": "a", "status": "open"}"#;
    let needs =
        r#"{"id": "b", "title": "b", "status": "open", "dependencies": [{"depends_on_id": "a", "type": "blocks"}]}"#;
    for closed in [
        r#"{"id": "a", "title": "a", "status": "Closed"}"#,
        r#"{"id": "a", "title": "a", "status": "CLOSED", "close_reason": "Failed: no disk"}"#,
        r#"{"id": "a", "title": "a", "status": "open", "deletedAt": "2026-01-01T00:00:00Z"}"#,
    ] {
        for text in [format!("{open}\n{closed}\n{needs}"), format!("{closed}\n{open}\n{needs}")] {
            let plan = Plan::of_text(&text);
            assert!(plan.frame("a").waits_to_begin() && plan.given().is_empty(), "{text}: {:?}", plan.frame("a"));
        }
        // Only one side of a merge conflict has the dependency.
        let text = format!("<<<<<<< ours\n{closed}\n=======\n>>>>>>> theirs\n{needs}");
        let plan = Plan::of_text(&text);
        assert!(plan.frame("a").waits_to_begin() && plan.given().is_empty(), "{text}: {:?}", plan.frame("a"));
    }
    let both = r#"{"id": "a", "title": "a", "status": "closed", "close_reason": "So"}"#;
    let plan = Plan::of_text(&format!("{}\n{both}", r#"{"id": "a", "title": "A", "status": "closed"}"#));
    assert_eq!((plan.frame("a").status, plan.frame("a").results.as_deref()), (FrameStatus::Completed, Some("So")));
    assert!(plan.is_reported("all of them are closed"), "{:?}", plan.problems);
}

#[test]
fn failed_and_cancelled_in_any_letters() {
    let closed =
        |reason: &str| format!(r#"{{"id": "a", "title": "a", "status": "closed", "close_reason": "{reason}"}}"#);
    for (reason, status) in [
        ("failed: no disk", FrameStatus::Failed),
        ("Failed: no disk", FrameStatus::Failed),
        ("cancelled: no need", FrameStatus::Invalidated),
        ("Canceled: no need", FrameStatus::Invalidated),
        ("canceled orders are shown", FrameStatus::Completed),
    ] {
        let plan = import::frames(&closed(reason)).unwrap();
        assert_eq!(plan.frames[1].status, status, "{reason}");
        let counts = plan.counts();
        assert_eq!((counts.failed, counts.finished), (usize::from(status == FrameStatus::Failed), counts.finished));
    }
    let pinned = r#"{"id": "g", "title": "g", "status": "open", "issue_type": "gate", "pinned": true}"#;
    let needs =
        r#"{"id": "b", "title": "b", "status": "open", "dependencies": [{"depends_on_id": "g", "type": "blocks"}]}"#;
    assert_eq!(Plan::of_text(&format!("{pinned}\n{needs}")).given(), ["b"], "what is pinned blocks nothing in Beads");
}

/// A frame that a person or a machine outside opens does not open automatically.
#[test]
fn gates_are_opened_by_an_answer() {
    for kind in ["gate", "merge-request"] {
        for (dependency, part) in [(true, false), (false, true), (true, true), (false, false)] {
            let mut text = "{\"id\": \"b\", \"title\": \"Build\", \"status\": \"open\"}\n".to_owned();
            let needs = if dependency { ", \"depends_on\": [\"b\"]" } else { "" };
            text += &format!(
                "{{\"id\": \"g\", \"title\": \"Approval\", \"status\": \"open\", \"issue_type\": \"{kind}\"{needs}}}\n"
            );
            text += if part { "{\"id\": \"g.1\", \"title\": \"Signatures\", \"status\": \"closed\"}\n" } else { "" };
            text += "{\"id\": \"d\", \"title\": \"Deploy\", \"status\": \"open\", \"depends_on\": [\"g\"]}\n";
            let plan = Plan::of_text(&text);
            assert_eq!(plan.given(), ["Build"], "{text}");
            plan.stack.answer("Approval", "Yes").unwrap();
            assert_eq!(plan.given(), ["Deploy"], "{text}");
        }
    }
    // A frame that only groups other frames is over together with the frames that it needs, even if these are
    // over in the file.
    let text = "{\"id\": \"b\", \"title\": \"Build\", \"status\": \"closed\"}\n\
                {\"id\": \"m\", \"title\": \"Beta\", \"status\": \"open\", \"issue_type\": \"milestone\", \"depends_on\": [\"b\"]}\n\
                {\"id\": \"d\", \"title\": \"Deploy\", \"status\": \"open\", \"depends_on\": [\"m\"]}\n";
    assert_eq!(Plan::of_text(text).given(), ["Deploy"]);
}

#[test]
fn a_failure_is_one_whatever_is_said_of_it() {
    for reason in ["failed: no disk", "Failed: not enough memory", "cancelled: not needed", "failed: never finished"] {
        let text = format!(
            "{{\"id\": \"d\", \"title\": \"Deploy\", \"status\": \"closed\", \"close_reason\": \"{reason}\"}}\n\
             {{\"id\": \"r\", \"title\": \"Roll back\", \"status\": \"open\", \"dependencies\": [{{\"depends_on_id\": \"d\", \"type\": \"conditional-blocks\"}}]}}\n"
        );
        assert_eq!(Plan::of_text(&text).given(), ["Roll back"], "{reason}");
    }
}

#[test]
fn what_was_begun_elsewhere_and_put_off_goes_on_there() {
    let now = Arc::new(AtomicU64::new(1_767_225_600_000));
    let stack = Stack::with_store(MemoryStore::new(), support::options_at(&now)).unwrap();
    let text = r#"{"id":"e","title":"Epic","status":"in_progress","issue_type":"epic","defer_until":"2026-01-01T00:00:09Z"}
{"id":"e.1","title":"Part","status":"open"}"#;
    let plan = || import::frames(text).unwrap();
    stack.bring_up_to_date(&plan(), None).unwrap();
    assert!(stack.frame("Epic").unwrap().waits_to_begin() && stack.ready().unwrap().is_empty());
    now.fetch_add(60_000, Ordering::Relaxed);
    stack.refresh().unwrap();
    assert_eq!(stack.frame("Epic").unwrap().status, FrameStatus::InProgress);
    let again = stack.bring_up_to_date(&plan(), None).unwrap();
    assert!(again.changes.is_empty() && again.conflicts.is_empty(), "{again:?}");
    let hold = stack.work().hold(NewHold::new("worker", 60_000)).unwrap().unwrap();
    assert_eq!(stack.frame(hold.handle).unwrap().title, "Part");
    assert_eq!(statuses(&replayed(&stack)), statuses(&stack));
}

#[test]
fn a_conflict_in_a_check_list_is_named_by_its_line() {
    let list = "# Plan\n<<<<<<< HEAD\n- [ ] a\n- [-] rollback\n=======\n- [x] a\n- [ ] rollback\n>>>>>>> b\n- [ ] c\n";
    let tasks = "{\"tasks\": [\n<<<<<<< HEAD\n{\"id\": 1, \"title\": \"a\"}\n=======\n{\"id\": 1, \"title\": \"b\"}\n>>>>>>> b\n]}\n";
    for text in [list, tasks] {
        let error = import::frames(text).unwrap_err().to_string();
        assert!(error.contains("line 2 is a mark of a merge conflict"), "{error}");
    }
    // A heading that is underlined, and signs beside a box that is not ticked.
    let plan = Plan::of_text(
        "Plan\n=======\n- [ ] a\n- [ ] ⏳ wait for legal\n- [ ] ❌ dropped\n- [ ] done thing ✅\n- [x] ⏳ over\n",
    );
    assert_eq!(plan.given(), ["a"]);
    assert_eq!(
        (plan.frame("dropped").status, plan.frame("done thing").status),
        (FrameStatus::Invalidated, FrameStatus::Blocked)
    );
}

/// Plans of thousands of tasks, levels and links are read without a deep recursion, and nothing in
/// them is lost.
#[test]
fn huge_plans_come_in_whole() {
    let tasks: Vec<Value> =
        (1..=40).map(|id| json!({"id": id, "title": format!("Task {id}"), "dependencies": [id - 1]})).collect();
    let tags: serde_json::Map<String, Value> =
        (0..51).map(|tag| (format!("tag-{tag}"), json!({ "tasks": tasks }))).collect();
    let plan = import::frames(&Value::from(tags).to_string()).unwrap();
    assert_eq!(plan.frames.len(), 51 * 41);
    let deep: String = (1..=3_000)
        .map(|level| {
            let parent = if level == 1 { String::new() } else { format!(r#", "parent": "l-{}""#, level - 1) };
            format!("{{\"id\": \"l-{level}\", \"title\": \"Level {level}\", \"status\": \"open\"{parent}}}\n")
        })
        .collect();
    let plan = Plan::of_text(&deep);
    assert_eq!(plan.ready(), ["Level 3000"], "parts come first");
    let chain: String = (1..=5_000)
        .map(|link| format!("{{\"id\": \"c-{link}\", \"title\": \"Link {link}\", \"status\": \"open\", \"depends_on\": [\"c-{}\"]}}\n", link + 1))
        .collect::<String>()
        + "{\"id\": \"c-5001\", \"title\": \"First\", \"status\": \"open\"}\n";
    assert_eq!(Plan::of_text(&chain).ready(), ["First"]);
}

/// Work that was begun elsewhere, below a frame that has ended or that waits, does not make it possible to
/// begin frames below it.
#[test]
fn nothing_below_what_waits_or_has_ended_begins_by_a_frame_between() {
    let issue = |id: &str, status: &str, more: &str| {
        format!(r#"{{"id": "{id}", "title": "{id}", "status": "{status}"{more}}}"#) + "\n"
    };
    let leaf = issue("k.1", "in_progress", "") + &issue("k.1.1", "open", "");
    for above in [
        issue("k", "open", r#", "dependencies": ["b"]"#),
        issue("k", "closed", ""),
        issue("k", "closed", r#", "close_reason": "failed: no disk""#),
        issue("k", "tombstone", ""),
        issue("k", "deferred", ""),
    ] {
        let text = issue("b", "blocked", "") + &above + &leaf;
        assert!(Plan::of_text(&text).given().is_empty(), "{text}");
        // The same is true for an update.
        let stack = Stack::in_memory();
        let before = issue("b", "blocked", "") + &issue("k", "open", "") + &leaf;
        stack.bring_up_to_date(&import::frames(&before).unwrap(), None).unwrap();
        assert_eq!(stack.ready().unwrap().len(), 1, "{text}");
        stack.bring_up_to_date(&import::frames(&text).unwrap(), None).unwrap();
        assert!(stack.ready().unwrap().is_empty(), "{text}");
    }
    let list = "# Plan\n- [x] Release\n  - [/] Docs\n    - [ ] Index\n- [ ] Other\n";
    assert_eq!(Plan::of_text(list).given(), ["Other"]);
    let tasks = json!({"tasks": [
        {"id": 1, "title": "Budget", "status": "blocked"},
        {"id": 2, "title": "Annex", "dependencies": [1], "subtasks": [
            {"id": 1, "title": "Foundation", "status": "in-progress", "subtasks": [{"id": 1, "title": "Pour"}]}
        ]}
    ]});
    assert!(Plan::of_text(&tasks.to_string()).given().is_empty());
}

#[test]
fn what_is_done_is_in_no_circle_and_records_end_by_nothing() {
    let circle = r#"{"id": "a", "title": "a", "status": "closed", "dependencies": ["b"]}
{"id": "b", "title": "b", "status": "open", "dependencies": ["a"]}"#;
    assert_eq!(Plan::of_text(circle).given(), ["b"]);
    let tasks = r#"{"tasks": [{"id": 1, "title": "a", "status": "done", "dependencies": [2]}, {"id": 2, "title": "b", "dependencies": [1]}]}"#;
    assert_eq!(Plan::of_text(tasks).given(), ["b"]);
    let records = r#"{"id": "p", "title": "Rules", "status": "pinned", "dependencies": ["z"]}
{"id": "j", "title": "Journal", "status": "open", "no_history": true, "dependencies": ["z"]}
{"id": "z", "title": "Mow", "status": "open"}
{"id": "q", "title": "Page", "status": "pinned"}
{"id": "q.1", "title": "Part", "status": "open"}
"#;
    let stack = Stack::in_memory();
    stack.bring_up_to_date(&import::frames(records).unwrap(), None).unwrap();
    let status = |title: &str| stack.frame(title).unwrap().status;
    assert_eq!([status("Rules"), status("Journal")], [FrameStatus::Invalidated; 2]);
    for title in ["Mow", "Part"] {
        stack.activate(title).unwrap();
        stack.pop(title, PopStatus::Completed, "done").unwrap();
    }
    let text = stack.read(|tree| import::export(tree, records, "")).unwrap().unwrap().text;
    assert_eq!(text.matches("pinned").count(), 2, "{text}");
    let odd = r#"{"id": "a", "title": "a", "status": "open"}
{"id": "b", "title": "b", "status": "open", "dependencies": ["odd-type:a"]}
{"id": "c", "title": "c", "status": "open", "dependencies": [{"waits-for": ["b"]}]}"#;
    let plan = Plan::of_text(odd);
    assert_eq!(plan.given(), ["a", "b", "c"]);
    assert!(plan.is_reported("`odd-type` is unknown"), "{:?}", plan.problems);
}

#[test]
fn what_goes_on_elsewhere_hears_of_its_tracker() {
    let issue = |more: &str| {
        format!(r#"{{"id": "k", "title": "Lease", "status": "in_progress", "defer_until": "2020-01-01"{more}}}"#)
    };
    let stack = Stack::in_memory();
    let update = |text: &str| stack.bring_up_to_date(&import::frames(text).unwrap(), None).unwrap();
    update(&issue(""));
    stack.refresh().unwrap();
    assert_eq!(stack.frame("k").unwrap().status, FrameStatus::InProgress);
    let renamed = update(&issue(r#", "description": "By May""#));
    assert!(renamed.conflicts.is_empty(), "{:?}", renamed.conflicts);
    let closed = update(r#"{"id": "k", "title": "Lease", "status": "closed", "close_reason": "renewed"}"#);
    assert!(closed.conflicts.is_empty(), "{:?}", closed.conflicts);
    assert_eq!(stack.frame("k").unwrap().status, FrameStatus::Completed);
}
