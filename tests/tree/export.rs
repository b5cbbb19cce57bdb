//! Tests of the way back: work that was done here is written into the file of the plan.

use std::collections::BTreeMap;

use callstack_core::import::{self, Becomes, ExportedPlan, Imported, PlanChange, PlanField};
use callstack_core::tree::{Parts, Tree};
use callstack_core::{Frame, FrameStatus, Handle, NewFrame, PopStatus, Stack};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::Queries;

fn plan(text: &str) -> Imported {
    import::frames(text).unwrap()
}

fn imported(text: &str) -> Stack {
    let stack = Stack::in_memory();
    stack.bring_up_to_date(&plan(text), None).unwrap();
    stack
}

fn export(stack: &Stack, text: &str) -> ExportedPlan {
    let exported = stack.read(|tree| import::export(tree, text, "")).unwrap().unwrap();
    stack.note_export(&exported).unwrap();
    let again = stack.read(|tree| import::export(tree, &exported.text, "")).unwrap().unwrap();
    assert_eq!(again.text, exported.text, "the second export changes nothing: {:?} {:?}", again.written, again.added);
    exported
}

/// The real plans, by their names.
fn real_plans() -> BTreeMap<String, String> {
    let names = std::fs::read_dir(support::data("plans")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).filter(|name| name != "README.md");
    names.map(|name| (name.clone(), support::read_data(&format!("plans/{name}")))).collect()
}

/// Work on a stack, as a person may do it. `steps`: the kind of each step, and the frame for it. New frames
/// get these IDs.
fn work(stack: &Stack, steps: &[(u8, usize)]) {
    for (number, (step, choice)) in steps.iter().enumerate() {
        let of = |keeps: &dyn Fn(&Frame) -> bool| -> Option<Handle> {
            let frames: Vec<Handle> = stack
                .read(|tree| {
                    let all = tree.handles().filter(|at| tree.node(*at).record().no_work.is_none());
                    all.filter(|at| keeps(tree.node(*at).record())).collect()
                })
                .unwrap();
            (!frames.is_empty()).then(|| frames[choice % frames.len()])
        };
        let begun = |frame: &Frame| frame.status == FrameStatus::InProgress && frame.begun_at.is_some();
        let planned = |frame: &Frame| frame.status == FrameStatus::Planned;
        match step {
            0 | 1 => {
                let ready: Vec<Handle> = { stack.ready().unwrap().into_iter() }
                    .filter(|frame| stack.read(|tree| tree.can_begin(*frame, Parts::First).is_ok()).unwrap())
                    .collect();
                if !ready.is_empty() {
                    stack.activate(ready[choice % ready.len()]).unwrap();
                }
            }
            2 => drop(
                of(&begun).map(|frame| stack.pop(frame, PopStatus::Completed, format!("Made \"it\" {number}\nSo."))),
            ),
            3 => drop(of(&begun).map(|frame| stack.pop(frame, PopStatus::Failed, format!("No {number}")))),
            4 => drop(of(&planned).map(|frame| stack.invalidate(frame, "Nobody needs it"))),
            5 => drop(of(&begun).map(|frame| stack.block(frame, "Which one?", None))),
            _ => {
                let parent = of(&|frame| frame.status.is_unfinished());
                let new = NewFrame::new(format!("New {number}")).id(format!("new-{number}")).criteria("As the others");
                drop(parent.map(|parent| stack.plan(new.task("In detail").below(parent))));
            }
        }
    }
}

/// The statuses of all frames of a plan, by their IDs in its file.
fn statuses(stack: &Stack) -> BTreeMap<String, FrameStatus> {
    let of = |frame: Frame| Some((frame.origin.clone()?.id, frame.status));
    stack.state().unwrap().frames.into_iter().filter_map(of).collect()
}

/// True for open work that is not in the file of the plan.
fn is_left_open(tree: &Tree, handle: Handle) -> bool {
    let record = tree.node(handle).record();
    record.origin.is_none() && record.status.is_unfinished()
}

/// The plan after some work: it is exported, read again into the same stack, and read into a new stack.
fn check_round_trip(name: &str, text: &str, steps: &[(u8, usize)]) {
    let stack = imported(text);
    assert_eq!(export(&stack, text).text, text, "{name}: nothing was done, and no byte changes");
    work(&stack, steps);
    let exported = export(&stack, text);
    assert!(exported.conflicts.is_empty(), "{name}: {:?}", exported.conflicts);
    let here = stack.state().unwrap();
    let again = stack.bring_up_to_date(&plan(&exported.text), None).unwrap();
    assert_eq!((&again.added[..], &again.conflicts[..]), (&[][..], &[][..]), "{name}: the same stack");
    // In Beads, closed work blocks nothing. So a frame that was planned behind closed work, or waited for it,
    // is free, and a frame that was begun behind closed work continues. A frame that continues elsewhere
    // waits when a frame above it has ended or waits here, in every format. Nothing else changes.
    let is_freed = |change: &PlanChange| {
        let frame = stack.frame(change.frame).unwrap();
        let is_status = change.fields == [PlanField::Status];
        if is_status && change.becomes == Becomes::Waiting {
            return frame.waits_for().starts_with("It is in progress elsewhere");
        }
        let waited = here.frames[change.frame.index()].waits_to_begin();
        let goes_on = change.becomes == Becomes::Begun || (change.becomes == Becomes::Planned && waited);
        // Both fields change if the frame was begun behind work that is closed now.
        let is_of_links = |field: &PlanField| matches!(field, PlanField::DependsOn | PlanField::Status);
        let keeps_status = !change.fields.contains(&PlanField::Status);
        name.ends_with(".jsonl") && change.fields.iter().all(is_of_links) && (keeps_status || goes_on)
    };
    let others: Vec<_> = again.changes.iter().filter(|change| !is_freed(change)).collect();
    assert!(others.is_empty(), "{name}: the same stack has changed: {others:?}");
    let fresh = imported(&exported.text);
    let (here, there) = (statuses(&stack), statuses(&fresh));
    // Open work below a task that was given up here is not written. So the group of the plan ends without it.
    let is_open_here = stack.read(|tree| { tree.handles() }.any(|at| is_left_open(tree, at))).unwrap();
    let is_group = |id: &str| {
        stack.read(|tree| tree.by_id(id).is_some_and(|at| tree.node(at).record().no_work.is_some())).unwrap()
    };
    let is_kept_open = |id: &str, status: FrameStatus| {
        is_open_here
            && is_group(id)
            && (status, there.get(id)) == (FrameStatus::InProgress, Some(&FrameStatus::Completed))
    };
    // A frame is in progress here, below a task that has ended. For a new stack, this is work elsewhere, so
    // the new stack lets it wait.
    let waits_elsewhere = |id: &str| {
        let waits_for = |frame: Frame| frame.waits_for().starts_with("It is in progress elsewhere");
        fresh.frame(format!("id:{id}").as_str()).is_ok_and(waits_for)
    };
    let differing: Vec<_> = { here.iter() }
        .filter(|(id, status)| there.get(*id) != Some(*status) && !is_kept_open(id, **status) && !waits_elsewhere(id))
        .collect();
    assert!(differing.is_empty(), "{name}: a new stack has other statuses than {differing:?}");
    assert_eq!(here.len(), there.len(), "{name}");
    // Records that have not changed keep their bytes.
    if name.ends_with(".jsonl") {
        let touched = exported.written.len();
        let lines: Vec<&str> = exported.text.lines().collect();
        let changed = text.lines().zip(&lines).filter(|(before, after)| before != *after).count();
        assert_eq!(changed, touched, "{name}: a line for each frame that has changed");
        assert_eq!(lines.len(), text.lines().count() + exported.added.len());
    } else {
        check_bytes_of_tasks(name, text, &exported);
    }
}

/// Without the values of tasks that were written, and without new tasks, the file of Task Master is the same
/// as before, byte for byte. Each line that was removed had such a value.
fn check_bytes_of_tasks(name: &str, text: &str, exported: &ExportedPlan) {
    let is_written = |line: &str| {
        let line = line.trim_start();
        ["\"status\":", "\"details\":", "\"subtasks\":"].iter().any(|key| line.starts_with(key))
    };
    // A comma is added after the value that was the last one before.
    let bare = |line: &str| line.trim_end_matches(',').to_owned();
    let mut new = exported.text.split('\n').map(bare);
    let (mut lost, mut statuses) = (Vec::new(), 0);
    for line in text.split('\n').map(bare) {
        let mut rest = new.clone();
        match rest.any(|other| other == line) {
            true if !is_written(&line) => new = rest,
            true => {}
            false => lost.push(line),
        }
    }
    for line in &lost {
        assert!(is_written(line), "{name}: the line `{line}` is gone");
        statuses += usize::from(line.trim_start().starts_with("\"status\":"));
    }
    assert!(statuses <= exported.written.len(), "{name}: {statuses} statuses of {} tasks", exported.written.len());
    if exported.written.is_empty() && exported.added.is_empty() {
        assert_eq!(exported.text, text, "{name}");
    }
    if exported.added.is_empty() {
        let of = |text: &str| -> Vec<String> { text.split('\n').filter(|line| !is_written(line)).map(bare).collect() };
        assert_eq!(of(&exported.text), of(text), "{name}: nothing but statuses and details differs");
    }
}

#[test]
fn an_export_that_was_not_noted_makes_nothing_twice() {
    let issues = "{\"id\": \"app-1\", \"title\": \"Shop\", \"status\": \"open\"}\n";
    let tasks = "{\"master\": {\"tasks\": [{\"id\": 1, \"title\": \"Shop\", \"status\": \"pending\"}]}}";
    for (text, parent) in [(issues, "app-1"), (tasks, "master/1")] {
        let stack = imported(text);
        stack.activate(parent).unwrap();
        let new = |title: &str| NewFrame::new(title).below(parent).criteria("Tests pass");
        stack.plan(new("Cart").task("In detail").id("cart")).unwrap();
        stack.plan(NewFrame::new("Cart").below(parent).task("Another one").id("other")).unwrap();
        stack.plan(new("Totals").id("totals").depends_on("cart")).unwrap();
        stack.plan(NewFrame::new("Rounding").id("rounding").below("totals")).unwrap();
        stack.activate("cart").unwrap();
        let exported = stack.read(|tree| import::export(tree, text, "")).unwrap().unwrap();
        assert_eq!(exported.added.len(), 4);
        // The program ends here, before it records the export.
        let frames = stack.read(|tree| tree.len()).unwrap();
        let update = stack.bring_up_to_date(&plan(&exported.text), None).unwrap();
        assert_eq!(
            (&update.added[..], &update.changes[..], &update.conflicts[..]),
            (&[][..], &[][..], &[][..]),
            "{}",
            exported.text
        );
        assert_eq!(stack.read(|tree| tree.len()).unwrap(), frames);
        let again = export(&stack, &exported.text);
        assert_eq!((again.text.as_str(), again.added.len()), (exported.text.as_str(), 0), "it is noted now");
    }
}

#[test]
fn what_a_closed_issue_has_blocked_can_begin() {
    let text = "{\"id\": \"a-1\", \"title\": \"Old API\", \"status\": \"closed\", \"close_reason\": \"cancelled: superseded by the new API\"}\n\
                {\"id\": \"a-2\", \"title\": \"Client\", \"status\": \"open\", \"dependencies\": [{\"depends_on_id\": \"a-1\", \"type\": \"blocks\"}]}\n\
                {\"id\": \"a-3\", \"title\": \"Docs\", \"status\": \"open\", \"dependencies\": [{\"depends_on_id\": \"a-2\", \"type\": \"blocks\"}]}\n";
    let stack = imported(text);
    let ready = |stack: &Stack| {
        stack.ready().unwrap().into_iter().map(|frame| stack.frame(frame).unwrap().session_id).collect::<Vec<_>>()
    };
    assert_eq!(ready(&stack), ["a-2"]);
    stack.activate("a-2").unwrap();
    stack.pop("a-2", PopStatus::Failed, "No such API").unwrap();
    let exported = export(&stack, text);
    stack.bring_up_to_date(&plan(&exported.text), None).unwrap();
    assert_eq!(ready(&stack), ["a-3"]);
    assert_eq!(ready(&imported(&exported.text)), ["a-3"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn real_plans_go_there_and_back(steps in prop::collection::vec((0..8u8, any::<usize>()), 1..40), choice in any::<usize>()) {
        let plans = real_plans();
        let (name, text) = plans.iter().nth(choice % plans.len()).unwrap();
        check_round_trip(name, text, &steps);
    }
}

#[test]
fn every_real_plan_goes_there_and_back() {
    let steps: Vec<(u8, usize)> = (0..60).map(|number| ((number * 5 % 8) as u8, number * 7)).collect();
    for (name, text) in real_plans() {
        check_round_trip(&name, &text, &steps);
    }
}

/// The result for each real plan when its file changes, and when work is written back.
#[test]
fn real_plans_are_updated_and_exported() {
    let mut said = String::from(
        "plan imported unchanged | file changed: added edited planned waiting begun finished invalidated removed conflicts | \
         worked: written added records that keep their bytes\n",
    );
    for (name, text) in real_plans() {
        let stack = imported(&text);
        let frames = stack.read(|tree| tree.len()).unwrap();
        let unchanged = stack.bring_up_to_date(&plan(&text), None).unwrap().unchanged;
        // Some frames are begun here before the file changes.
        let steps: Vec<(u8, usize)> = (0..12).map(|number| (number % 3, usize::from(number) * 5)).collect();
        work(&stack, &steps);
        let changed = changed(&text);
        let update = stack.bring_up_to_date(&plan(&changed), None).unwrap();
        let count = |becomes: Becomes| update.changes.iter().filter(|change| change.becomes == becomes).count();
        use Becomes::*;
        let counts = [Edited, Planned, Waiting, Begun, Finished, Invalidated, Removed].map(count);
        let counts: Vec<String> = counts.iter().map(ToString::to_string).collect();
        said += &format!(
            "{name} {frames} {unchanged} | {} {} {} | ",
            update.added.len(),
            counts.join(" "),
            update.conflicts.len()
        );
        work(&stack, &(0..40).map(|number| (number % 8, usize::from(number) * 3)).collect::<Vec<_>>());
        let exported = export(&stack, &changed);
        // The order of the keys depends on the features of the build. So does the line that has no comma.
        let is_kept = |line: &&str| exported.text.contains(line.trim_end_matches(','));
        let kept = changed.lines().filter(is_kept).count();
        said += &format!("{} {} {kept}/{}\n", exported.written.len(), exported.added.len(), changed.lines().count());
    }
    support::assert_golden("import/updated-plans.txt", &said);
}

/// The text of a plan after some time: of the tasks, chosen by their places, some are closed, renamed,
/// reopened or removed, and some are new.
fn changed(text: &str) -> String {
    let change = |place: usize, task: &mut Value, done: &str| match place % 9 {
        1 => task["status"] = done.into(),
        2 => task["title"] = format!("{} again", task["title"].as_str().unwrap_or_default()).into(),
        4 => task["status"] = "deferred".into(),
        5 => task["priority"] = if done == "closed" { 0.into() } else { "high".into() },
        7 => task["status"] = if done == "closed" { "in_progress".into() } else { "in-progress".into() },
        _ => {}
    };
    if !text.trim_start().starts_with("{\n") {
        let issues = text.lines().enumerate().filter(|(place, _)| place % 9 != 3).map(|(place, line)| {
            let mut issue: Value = serde_json::from_str(line).unwrap();
            change(place, &mut issue, "closed");
            if place % 9 == 8 {
                let new = json!({"id": format!("new-{place}"), "title": "New", "status": "open"});
                return format!("{issue}\n{new}\n");
            }
            format!("{issue}\n")
        });
        return issues.collect();
    }
    let mut file: Value = serde_json::from_str(text).unwrap();
    let tags = file.as_object_mut().unwrap();
    let is_old = tags.contains_key("tasks");
    let lists = tags
        .iter_mut()
        .filter_map(|(key, tag)| if is_old { (key == "tasks").then_some(tag) } else { tag.get_mut("tasks") });
    for list in lists {
        let tasks = list.as_array_mut().unwrap();
        tasks.iter_mut().enumerate().for_each(|(place, task)| change(place, task, "done"));
        let mut place = 0;
        tasks.retain(|_| {
            place += 1;
            place % 9 != 4
        });
        tasks.push(json!({"id": 999, "title": "New", "status": "pending", "dependencies": [1]}));
    }
    serde_json::to_string_pretty(&file).unwrap()
}

/// All ways to write a file: only the values that changed are different.
#[test]
fn only_values_that_changed_are_written() {
    let beads = "\u{feff}{ \"id\" : \"a-1\" ,\t\"title\":\"\\u0041\",  \"status\" : \"open\", \"defer_until\": null }\r\n\
                 {\"id\":\"a-2\",\"title\":\"B\",\"status\":\"open\"}\r\n";
    let stack = imported(beads);
    stack.activate("a-1").unwrap();
    let new = NewFrame::new("Part").id("part").below("a-2");
    stack.plan(new).unwrap();
    let text = export(&stack, beads).text;
    let begin = "\u{feff}{ \"id\" : \"a-1\" ,\t\"title\":\"\\u0041\",  \"status\" : \"in_progress\", \"defer_until\": null, \"updated_at\": \"";
    assert!(text.starts_with(begin), "{text}");
    assert!(text.contains("\r\n{\"id\":\"a-2\",\"title\":\"B\",\"status\":\"open\"}\r\n{\"id\""), "{text}");
    assert!(text.contains("a-2.1") && text.ends_with("}\r\n"), "{text}");

    let list = "[\n  {\"id\": \"a-1\", \"title\": \"A\", \"status\": \"open\"}\n]\n";
    let stack = imported(list);
    stack.plan(NewFrame::new("Beside").id("beside").below("beads")).unwrap();
    let text = export(&stack, list).text;
    assert!(
        text.starts_with("[\n  {\"id\": \"a-1\", \"title\": \"A\", \"status\": \"open\"},\n  {\"id\": \"a-f"),
        "{text}"
    );
    assert!(text.ends_with("}\n]\n"), "{text}");

    let tasks = "{\r\n\t\"shop\": {\r\n\t\t\"tasks\": [\r\n\t\t\t{\r\n\t\t\t\t\"id\": 1,\r\n\t\t\t\t\"title\": \"A\",\r\n\t\t\t\t\
                 \"details\": \"How\",\r\n\t\t\t\t\"status\": \"pending\"\r\n\t\t\t}\r\n\t\t]\r\n\t}\r\n}";
    let stack = imported(tasks);
    stack.plan(NewFrame::new("Part").id("part").below("shop/1")).unwrap();
    stack.plan(NewFrame::new("Deeper").id("deeper").below("part")).unwrap();
    stack.plan(NewFrame::new("Beside").id("beside").below("shop").depends_on("shop/1")).unwrap();
    let exported = export(&stack, tasks);
    let ids: Vec<&str> = exported.added.iter().map(|added| added.id.as_str()).collect();
    assert_eq!(ids, ["shop/1.1", "shop/1.1.1", "shop/2"]);
    let kept = "\t\t\t\t\"details\": \"How\",\r\n\t\t\t\t\"status\": \"pending\",\r\n\t\t\t\t\"subtasks\": [\r\n\t\t\t\t\t{\r\n";
    assert!(exported.text.contains(kept), "{}", exported.text);
    assert!(!exported.text.replace("\r\n", "").contains('\n'), "each line ends as the others do");
    let file: Value = serde_json::from_str(&exported.text).unwrap();
    assert_eq!(file["shop"]["tasks"][1]["dependencies"], json!([1]));
    assert_eq!(file["shop"]["tasks"][0]["subtasks"][0]["subtasks"][0]["title"], "Deeper");
    stack.activate("shop/1").unwrap();
    stack.invalidate("beside", "Nobody needs it").unwrap();
    let text = export(&stack, &exported.text).text;
    let file: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(file["shop"]["tasks"][0]["status"], "in-progress");
    let details = file["shop"]["tasks"][1]["details"].as_str().unwrap();
    assert!(details.contains("\nCancelled: Nobody needs it\n"), "{details}");
    let again = imported(&text);
    assert_eq!(again.frame("shop/2").unwrap().invalidation_reason.as_deref(), Some("Nobody needs it"));
}
