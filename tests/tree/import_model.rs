//! Generated plans of other tools against naive models of the tasks that may begin. The models are written
//! from the documentation of these tools. Workers never get a task that a model forbids, no matter what else
//! an import does.

use std::collections::HashSet;

use callstack_core::{Finish, FrameStatus, NewHold, Results, Stack, import};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};
use support::Queries;

/// An issue of Beads, or a task of Task Master.
#[derive(Debug, Clone)]
struct Item {
    status: &'static str,
    kind: &'static str,
    flag: &'static str,
    defer_until: Option<&'static str>,
    reason: &'static str,
    /// Links to other items by their places. A place beyond the end leads to no item.
    links: Vec<(usize, &'static str)>,
}

const FUTURE: &str = "2190-01-01T00:00:00Z";

fn issue() -> impl Strategy<Value = Item> {
    let statuses = vec![
        "open",
        "open",
        "open",
        "open",
        "in_progress",
        "closed",
        "deferred",
        "blocked",
        "pinned",
        "hooked",
        "tombstone",
        "qa",
        "In Progress",
    ];
    let kinds =
        vec!["task", "task", "task", "bug", "epic", "message", "molecule", "gate", "event", "milestone", "odd", ""];
    let flags = vec!["", "", "", "", "ephemeral", "pinned", "is_template", "wisp_type"];
    let times = vec![None, None, None, Some(FUTURE), Some("2020-01-01"), Some("some day")];
    let reasons = vec!["", "done", "failed: disk full", "cancelled: superseded", "fixed the error", "rejected"];
    let types = vec![
        "blocks",
        "blocks",
        "parent-child",
        "parent-child",
        "waits-for",
        "conditional-blocks",
        "related",
        "tracks",
        "discovered-from",
        "after",
    ];
    let links = prop::collection::vec((0..12_usize, select(types)), 0..4);
    (select(statuses), select(kinds), select(flags), select(times), select(reasons), links).prop_map(
        |(status, kind, flag, defer_until, reason, links)| Item { status, kind, flag, defer_until, reason, links },
    )
}

/// Issues whose parents come before them. Circles of parents are cut, and do not influence the order.
fn issues() -> impl Strategy<Value = Vec<Item>> {
    prop::collection::vec(issue(), 1..12).prop_map(|mut items| {
        for (index, item) in items.iter_mut().enumerate() {
            for (other, kind) in
                item.links.iter_mut().filter(|(other, kind)| *kind == "parent-child" && *other >= index)
            {
                (*other, *kind) = if index > 0 { (*other % index, *kind) } else { (*other, "related") };
            }
        }
        items
    })
}

fn beads(items: &[Item]) -> String {
    let line = |(index, item): (usize, &Item)| {
        let mut issue = Map::new();
        let id = |place: usize| format!("x-{place}");
        issue.insert("id".into(), id(index).into());
        issue.insert("title".into(), format!("Issue {index}").into());
        issue.insert("status".into(), item.status.into());
        issue.insert("issue_type".into(), item.kind.into());
        issue.insert("close_reason".into(), item.reason.into());
        if !item.flag.is_empty() {
            issue.insert(item.flag.into(), true.into());
        }
        if let Some(time) = item.defer_until {
            issue.insert("defer_until".into(), time.into());
        }
        // Each link, in one of the forms that programs and people write.
        let mut listed = Vec::new();
        for (other, kind) in &item.links {
            let (other, shape) = (id(*other), (index * 7 + other * 3 + kind.len()) % 6);
            match (shape, *kind) {
                (0, "blocks") => add(&mut issue, "dependsOn", other),
                (1, "blocks" | "waits-for") => add(&mut issue, "blocked_by", other),
                (2, "parent-child") if !issue.contains_key("parentId") => {
                    issue.insert("parentId".into(), other.into());
                }
                (3, kind) if kind != "after" => listed.push(format!("{kind}:{other}").into()),
                (4, kind) => listed.push(json!({"id": other, "dependency_type": kind})),
                (_, kind) => listed.push(json!({"issue_id": id(index), "depends_on_id": other, "type": kind})),
            }
        }
        issue.insert("dependencies".into(), listed.into());
        Value::from(issue).to_string()
    };
    items.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

/// Adds an ID to a list of an issue.
fn add(issue: &mut Map<String, Value>, key: &str, id: String) {
    let list = issue.entry(key).or_insert_with(|| json!([]));
    list.as_array_mut().unwrap().push(id.into());
}

/// The rules of Beads about issues that are ready, in a naive form: each question is computed from the start.
struct Beads<'a> {
    items: &'a [Item],
    /// The issues that were completed since the import.
    done: HashSet<usize>,
}

impl Beads<'_> {
    fn is_work(&self, at: usize) -> bool {
        let item = &self.items[at];
        matches!(item.kind, "task" | "bug" | "epic" | "") && item.flag.is_empty() && item.status != "pinned"
    }

    fn children(&self, at: usize) -> Vec<usize> {
        let is_below = |other: &usize| self.items[*other].links.contains(&(at, "parent-child"));
        (0..self.items.len()).filter(is_below).collect()
    }

    /// True if the issue is closed, or if it is not work and its parts and dependencies are over.
    fn is_closed(&self, at: usize, seen: &mut HashSet<usize>) -> bool {
        let item = &self.items[at];
        if item.status == "closed" || self.done.contains(&at) {
            return true;
        }
        if self.is_work(at) || !seen.insert(at) || is_put_off(item) {
            return false;
        }
        let needs: Vec<usize> = item.links.iter().filter(|(_, kind)| needs(kind)).map(|(other, _)| *other).collect();
        let parts = self.children(at);
        let is_over = |other: &usize, seen: &mut HashSet<usize>| {
            self.items[*other].status == "tombstone"
                || self.is_closed(*other, seen)
                || (!self.is_work(*other) && self.children(*other).is_empty())
        };
        let is_closed = !(needs.is_empty() && parts.is_empty())
            && needs.iter().all(|other| *other < self.items.len() && self.is_closed(*other, seen))
            && parts.iter().all(|part| is_over(part, seen));
        seen.remove(&at);
        is_closed
    }

    fn is_below(&self, at: usize, above: usize) -> bool {
        let (mut pending, mut seen) = (vec![at], HashSet::new());
        while let Some(at) = pending.pop().filter(|at| *at < self.items.len()) {
            let parents =
                self.items[at].links.iter().filter(|(_, kind)| *kind == "parent-child").map(|(other, _)| *other);
            let parents: Vec<usize> = parents.filter(|other| seen.insert(*other)).collect();
            if at != above && parents.contains(&above) {
                return true;
            }
            pending.extend(parents);
        }
        false
    }

    /// Whether an issue is not free to begin, apart from the issues above it.
    fn is_held_back(&self, at: usize) -> bool {
        let item = &self.items[at];
        let is_late = matches!(item.defer_until, Some(FUTURE | "some day"));
        let is_met = |(other, kind): &(usize, &str)| {
            // A whole comes after its own parts in any case.
            if matches!(*kind, "related" | "tracks" | "discovered-from" | "parent-child") || self.is_below(*other, at) {
                return true;
            }
            let Some(target) = self.items.get(*other) else { return false };
            match *kind {
                "conditional-blocks" => {
                    let has_failed = ["failed: disk full", "cancelled: superseded", "rejected"];
                    target.status == "closed" && has_failed.contains(&target.reason)
                }
                _ => {
                    let blocks_nothing =
                        target.status == "tombstone" || target.status == "pinned" || target.flag == "pinned";
                    blocks_nothing || self.is_closed(*other, &mut HashSet::new())
                }
            }
        };
        is_late || is_put_off(item) || !item.links.iter().all(is_met)
    }

    fn may_begin(&self, at: usize) -> bool {
        let item = &self.items[at];
        if !self.is_work(at)
            || item.kind == "odd"
            || !matches!(item.status, "open" | "in_progress" | "In Progress" | "deferred")
        {
            return false;
        }
        let mut pending = vec![at];
        let mut seen = HashSet::new();
        while let Some(above) = pending.pop() {
            if !seen.insert(above) {
                continue;
            }
            let Some(frame) = self.items.get(above) else { return false };
            // An issue that is closed or pinned does not block any issue any more.
            let is_over = frame.status == "closed" || frame.status == "tombstone";
            if !is_over && self.is_held_back(above) {
                return false;
            }
            let template = matches!(frame.flag, "is_template" | "ephemeral" | "wisp_type");
            if template {
                return false;
            }
            pending.extend(frame.links.iter().filter(|(_, kind)| *kind == "parent-child").map(|(other, _)| *other));
        }
        true
    }
}

/// An issue that is deferred until a time that has passed is not deferred any more.
fn is_put_off(item: &Item) -> bool {
    matches!(item.status, "blocked" | "qa") || (item.status == "deferred" && item.defer_until != Some("2020-01-01"))
}

fn needs(kind: &str) -> bool {
    matches!(kind, "blocks" | "waits-for" | "after" | "conditional-blocks")
}

fn task() -> impl Strategy<Value = Item> {
    let statuses = vec![
        "pending",
        "pending",
        "pending",
        "in-progress",
        "done",
        "deferred",
        "cancelled",
        "review",
        "blocked",
        "parked",
    ];
    let links = prop::collection::vec((0..8_usize, Just("")), 0..3);
    (select(statuses), links).prop_map(|(status, links)| Item {
        status,
        kind: "",
        flag: "",
        defer_until: None,
        reason: "",
        links,
    })
}

/// Tasks, each with its subtasks. A link of a subtask is the number of a sibling, if a sibling with this
/// number exists.
fn task_master(tasks: &[(Item, Vec<Item>)]) -> String {
    let fields = |number: usize, title: String, item: &Item| {
        let dependencies: Vec<usize> = item.links.iter().map(|(other, _)| other + 1).collect();
        json!({"id": number + 1, "title": title, "status": item.status, "dependencies": dependencies})
    };
    let task = |(at, (item, subtasks)): (usize, &(Item, Vec<Item>))| {
        let mut task = fields(at, format!("{at}"), item);
        let subtask = |(part, item)| fields(part, format!("{at}.{part}"), item);
        task["subtasks"] = subtasks.iter().enumerate().map(subtask).collect::<Vec<_>>().into();
        task
    };
    json!({"master": {"tasks": tasks.iter().enumerate().map(task).collect::<Vec<_>>()}}).to_string()
}

/// The rules of Task Master about the next task: it is pending, and all its dependencies are done. `at` is a
/// task, or a task and its subtask.
fn may_begin(tasks: &[(Item, Vec<Item>)], at: (usize, Option<usize>), done: &HashSet<(usize, Option<usize>)>) -> bool {
    let item = |(task, part): (usize, Option<usize>)| {
        let (item, parts) = tasks.get(task)?;
        part.map_or(Some(item), |part| parts.get(part))
    };
    let is_done = |at: (usize, Option<usize>)| {
        item(at).is_some_and(|item| item.status == "done") || (item(at).is_some() && done.contains(&at))
    };
    let is_met = |at: (usize, Option<usize>), other: usize| {
        let sibling = at.1.and(item((at.0, Some(other)))).map(|_| (at.0, Some(other)));
        let target = sibling.unwrap_or((other, None));
        target != at && is_done(target)
    };
    let own = item(at).unwrap();
    if own.status != "pending" || !own.links.iter().all(|(other, _)| is_met(at, *other)) {
        return false;
    }
    let above = at.1.map(|_| &tasks[at.0].0);
    above.is_none_or(|above| match above.status {
        "in-progress" => true,
        "pending" => above.links.iter().all(|(other, _)| is_met((at.0, None), *other)),
        _ => false,
    })
}

/// Works through the titles that a worker gets one after the other. `check` sees each title before the frame
/// is completed.
fn work(plan: &str, mut check: impl FnMut(&str) -> Result<(), TestCaseError>) -> Result<(), TestCaseError> {
    let stack = Stack::in_memory();
    stack.import(import::frames(plan).unwrap().frames).unwrap();
    while let Some(hold) = stack.work().hold(NewHold::new("worker", 60_000)).unwrap() {
        check(&stack.frame(hold.handle).unwrap().title)?;
        stack.work().finish(&hold, Finish::Done(Results::new("done"))).unwrap();
    }
    let waits = stack.state().unwrap().frames.into_iter().filter(|frame| frame.status == FrameStatus::Blocked);
    for frame in waits {
        prop_assert!(!frame.waits_for().trim().is_empty(), "{frame:?}");
    }
    Ok(())
}

/// Workers complete the issues that the model lets begin, and no issue is left that the model would give. The
/// same is true after the way back into the file.
fn check_all_are_given(items: &[Item], plan: &str) -> Result<(), TestCaseError> {
    let stack = Stack::in_memory();
    stack.bring_up_to_date(&import::frames(plan).unwrap(), None).unwrap();
    let model = Beads { items, done: HashSet::new() };
    let expected: Vec<String> = (0..items.len())
        .filter(|at| items[*at].status == "open" && model.may_begin(*at))
        .map(|at| format!("x-{at}"))
        .collect();
    let ready = |stack: &Stack| -> Vec<String> {
        let mut ids: Vec<String> =
            stack.ready().unwrap().into_iter().map(|frame| stack.frame(frame).unwrap().session_id).collect();
        ids.sort_by_key(|id| id[2..].parse::<usize>().unwrap());
        ids
    };
    prop_assert_eq!(ready(&stack), &expected[..], "{}", plan);
    let Some(first) = expected.first() else { return Ok(()) };
    stack.invalidate(first.as_str(), "superseded").unwrap();
    let exported = stack.read(|tree| import::export(tree, plan, "")).unwrap().unwrap();
    stack.note_export(&exported).unwrap();
    let after = import::frames(&exported.text).unwrap();
    let fresh = Stack::in_memory();
    fresh.bring_up_to_date(&after, None).unwrap();
    let update = stack.bring_up_to_date(&after, None).unwrap();
    prop_assert!(update.conflicts.is_empty(), "{:?}", update.conflicts);
    prop_assert_eq!(ready(&stack), ready(&fresh), "{}", exported.text);
    let at: usize = first[2..].parse().unwrap();
    let mut items = items.to_vec();
    (items[at].status, items[at].reason) = ("closed", "cancelled: superseded");
    let model = Beads { items: &items, done: HashSet::new() };
    let expected: Vec<String> = (0..items.len())
        .filter(|at| items[*at].status == "open" && model.may_begin(*at))
        .map(|at| format!("x-{at}"))
        .collect();
    prop_assert_eq!(ready(&fresh), expected, "{}", exported.text);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(support::setting("IMPORT_CASES", 400) as u32))]

    #[test]
    fn workers_never_get_an_issue_that_beads_would_not_give(items in issues()) {
        let plan = beads(&items);
        let mut model = Beads { items: &items, done: HashSet::new() };
        work(&plan, |title| {
            let at: usize = title.rsplit(' ').next().unwrap().parse().unwrap();
            prop_assert!(model.may_begin(at), "{title} of\n{plan}");
            model.done.insert(at);
            Ok(())
        })?;
    }

    /// The model also says which issues must begin. These issues have no parents, and each issue waits for
    /// other issues that are closed, for any reason.
    #[test]
    fn workers_get_every_issue_that_beads_would_give(
        items in prop::collection::vec((any::<bool>(), 0..6_usize, prop::collection::vec((0..12_usize, 0..4_usize), 0..4)), 1..12),
    ) {
        let reasons = ["", "done", "failed: disk full", "cancelled: superseded", "fixed the error", "rejected"];
        let kinds = ["blocks", "waits-for", "conditional-blocks", "related"];
        let count = items.len();
        let items: Vec<Item> = { items.into_iter().enumerate() }
            .map(|(at, (is_closed, reason, links))| Item {
                status: if is_closed { "closed" } else { "open" },
                kind: "task",
                flag: "",
                defer_until: None,
                reason: if is_closed { reasons[reason] } else { "" },
                // An issue does not wait for itself.
                links: links.into_iter().map(|(other, kind)| (other % count, kinds[kind])).filter(|(other, _)| *other < at).collect(),
            })
            .collect();
        let plan = beads(&items);
        check_all_are_given(&items, &plan)?;
    }

    /// Each item of a check list is a frame. Items with another mark than `[ ]`, and items below such an
    /// item, are given to no worker.
    #[cfg(feature = "markdown")]
    #[test]
    fn workers_never_get_an_item_that_is_not_open(
        items in prop::collection::vec((0..4_usize, select(vec![' ', ' ', ' ', 'x', '~', '-', '/', '*'])), 1..14),
        bullet in select(vec!["-", "*", "1."]),
    ) {
        let mut text = String::from("# Plan\n\n");
        // The marks of the items around the next item, the outermost first.
        let mut around: Vec<char> = Vec::new();
        let mut may_begin = Vec::new();
        for (number, (depth, mark)) in items.iter().enumerate() {
            around.truncate(*depth);
            // Items below an item that was begun are wanted.
            let is_wanted = around.iter().rev().find(|mark| **mark != ' ').is_none_or(|mark| *mark == '/');
            may_begin.push(*mark == ' ' && is_wanted);
            let indentation = " ".repeat(around.len() * (bullet.len() + 1));
            text += &format!("{indentation}{bullet} [{mark}] Item {number}\n");
            around.push(*mark);
        }
        let plan = import::checklist(&text).unwrap();
        prop_assert_eq!(plan.frames.len(), items.len() + 1, "{}", text);
        work(&text, |title| {
            let number: usize = title.rsplit(' ').next().unwrap().parse().unwrap();
            prop_assert!(may_begin[number], "{title} of\n{text}");
            Ok(())
        })?;
    }

    #[cfg(feature = "markdown")]
    #[test]
    fn any_text_is_a_sound_check_list_or_none(text in "([-*>#` \\[\\]x~\\n]|- \\[ \\] a\n|  ){0,40}") {
        if let Ok(plan) = import::checklist(&text) {
            let frames = plan.frames.len();
            prop_assert_eq!(Stack::in_memory().import(plan.frames).unwrap().len(), frames);
        }
    }

    #[test]
    fn workers_never_get_a_task_that_task_master_would_not_give(
        tasks in prop::collection::vec((task(), prop::collection::vec(task(), 0..4)), 1..7),
    ) {
        let plan = task_master(&tasks);
        let mut done = HashSet::new();
        work(&plan, |title| {
            let (task, part) = title.split_once('.').map_or((title, None), |(task, part)| (task, Some(part)));
            let at = (task.parse().unwrap(), part.map(|part| part.parse().unwrap()));
            prop_assert!(may_begin(&tasks, at, &done), "{title} of\n{plan}");
            done.insert(at);
            Ok(())
        })?;
    }
}
