//! Import of Task Master's `tasks.json`: tags, tasks, subtasks, dependencies.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::collector::Group;
use super::fate::{self, Fate, Fate::*};
use super::{
    Collector, Imported, Texts, take_assignee, take_labels, take_list, take_text, task_frame, task_of, time, unreadable,
};
use crate::error::{Error, Result};
use crate::frame::{Frame, FrameStatus, Priority};
use crate::text::{has_half_characters, readable_json};

/// The name of the file in errors.
const WHAT: &str = "the Task Master file";

/// The tag used for files of older versions of Task Master, which have no tags.
pub(super) const ONLY_TAG: &str = "master";

/// What Task Master's statuses mean for work. Words are in lower case, with `-`. An export writes the first
/// word for each fate.
pub(super) const STATUSES: &[(&str, Fate)] = &[
    ("pending", Work),
    ("todo", Work),
    ("in-progress", Begun),
    ("blocked", Waits("It is blocked in Task Master.")),
    ("review", Waits("It is done in Task Master, and waits for a review.")),
    ("deferred", Waits("It is deferred in Task Master.")),
    ("done", Finished),
    ("completed", Finished),
    ("cancelled", Removed),
    ("canceled", Removed),
];

const PRIORITIES: &[(&str, u8)] = &[("critical", 0), ("urgent", 0), ("high", 1), ("medium", 2), ("low", 3)];

/// An object of a list with one of these keys is a task of Task Master.
const OF_TASKS: [&str; 3] = ["subtasks", "testStrategy", "details"];

/// More texts of a task, each with a word for what it is.
const PARTS: [(&str, &str); 5] = [
    ("testStrategy", "How it is tested: "),
    ("implementationApproach", "How it is done: "),
    ("technicalConstraints", "Constraints: "),
    ("codebasePatterns", "Patterns: "),
    ("prompt", "Asked for: "),
];

/// Reads a Task Master file.
///
/// Every tag with tasks becomes a root frame whose ID is the tag's name. Task 3 of the tag `master` becomes
/// its child `master/3`, and subtask 2 of this task becomes the child `master/3.2` of that frame, at any
/// depth. `description` becomes the success criteria. `details` become the results if the task is done.
/// Otherwise, with `testStrategy`, they become the task of the frame. `priority` can be `critical`, `high`,
/// `medium` or `low`: 0 to 3. All other keys are kept unchanged in [`Frame::extra`]. A subtask refers to a
/// dependency by the number of a sibling (`2`) or by the full number of any task (`3.2`).
///
/// Statuses decide what a task becomes. A task that is deferred, blocked or to be reviewed waits until a
/// person answers. So does a task with an unknown status, or with a dependency that is not in the file or
/// cannot be read. The page `docs/import.md` has the table.
///
/// ```
/// let file = r#"{"tasks": [{"id": 1, "title": "Set up"}, {"id": 2, "title": "Build", "dependencies": [1]}]}"#;
/// let plan = callstack_core::import::task_master(file)?;
/// assert_eq!(plan.frames[2].session_id, "master/2");
/// assert_eq!(plan.frames[2].depends_on, ["master/1"]);
/// # Ok::<(), callstack_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Json`] if the text is not JSON or contains no list of tasks.
pub fn task_master(text: &str) -> Result<Imported> {
    let readable = readable_json(text);
    let file: Value = serde_json::from_str(&readable).map_err(|error| unreadable(WHAT, &readable, error))?;
    let mut plan = Plan::default();
    if has_half_characters(text) {
        plan.collector.report("the file", "has one half of a character as an escape; read as U+FFFD");
    }
    let mut file = match file {
        Value::Object(file) => file,
        Value::Array(tasks) => Map::from_iter([("tasks".to_owned(), Value::Array(tasks))]),
        _ => return Err(Error::json(WHAT, "it is not an object")),
    };
    let is_tag =
        |(key, content): (&String, &Value)| *key != "tasks" && content.get("tasks").is_some_and(Value::is_array);
    if !file.iter().any(is_tag) && file.contains_key("tasks") {
        file = Map::from_iter([(ONLY_TAG.to_owned(), Value::Object(file))]);
    }
    // Task Master ignores a list next to tags, which an older version has left.
    let beside = file.remove("tasks");
    let mut found = false;
    for (tag, content) in file {
        let Value::Object(mut content) = content else {
            if beside.is_none() {
                plan.collector.lose(tag, "is not an object with tasks; left out");
            }
            continue;
        };
        match content.remove("tasks") {
            Some(Value::Array(tasks)) => {
                found = true;
                plan.read_tag(&tag, &content, tasks);
            }
            Some(_) => plan.collector.lose(format!("{tag}.tasks"), "is not a list; left out"),
            None if beside.is_some() && tag == "metadata" => {}
            None => plan.collector.report(tag, "has no tasks; left out"),
        }
    }
    match beside {
        Some(Value::Array(tasks)) => plan.read_beside(tasks),
        Some(_) => plan.collector.lose("tasks", "is not a list; left out"),
        None => {}
    }
    if !found {
        return Err(Error::json(WHAT, "it contains no list of tasks"));
    }
    plan.resolve_dependencies();
    Ok(plan.collector.finish())
}

/// True if an object is a task of Task Master, and not an issue of another tool.
pub(super) fn is_task(object: &Map<String, Value>) -> bool {
    let has_number = object.get("id").is_some_and(Value::is_number);
    object.contains_key("id") && (has_number || OF_TASKS.iter().any(|key| object.contains_key(*key)))
}

/// A file, as far as it is read.
#[derive(Default)]
struct Plan {
    collector: Collector,
    /// The frames of each number of a tag; two tasks can have one number.
    numbers: HashMap<(String, String), Vec<String>>,
    /// What each task depends on.
    needs: Vec<Needs>,
}

/// What a task depends on.
struct Needs {
    place: usize,
    tag: String,
    /// The full number of the task above it.
    above: Option<String>,
    numbers: Vec<String>,
}

/// The place of a task.
struct Above<'a> {
    tag: &'a str,
    /// The full number of the task above it.
    number: Option<&'a str>,
    /// Why all of these tasks wait.
    waits: Option<&'a str>,
}

impl Plan {
    fn read_tag(&mut self, tag: &str, content: &Map<String, Value>, tasks: Vec<Value>) {
        if tasks.is_empty() {
            self.collector.report(tag, "has no tasks; left out");
        }
        self.add_tag(tag, content);
        let above = Above { tag, number: None, waits: None };
        for (index, task) in tasks.into_iter().enumerate() {
            self.read_task(&above, task, &format!("{tag}.tasks[{index}]"));
        }
    }

    fn add_tag(&mut self, tag: &str, content: &Map<String, Value>) {
        let metadata = |key: &str| content.get("metadata")?.get(key)?.as_str();
        let root = Frame {
            session_id: tag.to_owned(),
            title: if tag.trim().is_empty() { ONLY_TAG } else { tag }.to_owned(),
            success_criteria: metadata("description").unwrap_or_default().to_owned(),
            created_at: metadata("created").and_then(time::lenient_milliseconds).unwrap_or_default(),
            updated_at: metadata("updated").and_then(time::lenient_milliseconds).unwrap_or_default(),
            ..Frame::default()
        };
        self.collector.add_made(root, Group::Tag, tag);
    }

    /// Reads the tasks of a list next to tags. Tasks that the tag `master` has too are in it; the others
    /// wait.
    fn read_beside(&mut self, tasks: Vec<Value>) {
        if tasks.is_empty() {
            return;
        }
        if !self.collector.places.contains_key(ONLY_TAG) {
            self.add_tag(ONLY_TAG, &Map::new());
        }
        const WAITS: &str = "It is in the list `tasks` beside the tags, which Task Master does not read.";
        let above = Above { tag: ONLY_TAG, number: None, waits: Some(WAITS) };
        for (index, task) in tasks.into_iter().enumerate() {
            let place = format!("tasks[{index}]");
            let number = task.get("id").and_then(number);
            let is_known = number.is_some_and(|number| self.numbers.contains_key(&(ONLY_TAG.to_owned(), number)));
            if is_known {
                self.collector.report(place, "is in the tag `master` too, which Task Master reads; left out");
                continue;
            }
            self.collector.report(
                &place,
                "is beside the tags, where Task Master does not read it; it waits until a person answers",
            );
            self.read_task(&above, task, &place);
        }
    }

    /// Reads a task, or a subtask, and adds its frame and those of its subtasks.
    fn read_task(&mut self, above: &Above<'_>, task: Value, place: &str) {
        let collector = &mut self.collector;
        let Value::Object(mut task) = task else {
            collector.lose(place, "is not an object; left out");
            return;
        };
        let Some(number) = task.remove("id").as_ref().and_then(number) else {
            collector.lose(place, "has no `id`; left out");
            return;
        };
        let number = full_number(above.number, number);
        let (fate, unknown) = take_status(&mut task, place, collector);
        let title = take_text(&mut task, "title", place, collector).filter(|title| !title.trim().is_empty());
        let title = title.unwrap_or_else(|| {
            collector.report(place, "has no title; its number is used");
            number.clone()
        });
        let criteria = ["description", "acceptanceCriteria"].map(|key| take_text(&mut task, key, place, collector));
        let criteria = criteria.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
        let details = take_text(&mut task, "details", place, collector).unwrap_or_default();
        let (details, outcome) = split_outcome(details);
        let mut reason = "cancelled";
        let (results, details) = match (fate, &outcome) {
            (Finished, Some((Outcome::Results, results))) => (results.clone(), details),
            (Finished, _) => (details, String::new()),
            (Removed, Some((Outcome::Failed, results))) => (results.clone(), details),
            (Removed, Some((Outcome::Cancelled, said))) => {
                reason = said;
                (String::new(), details)
            }
            _ => (String::new(), details),
        };
        let has_failed = fate == Removed && matches!(outcome, Some((Outcome::Failed, _)));
        let [a, b, c, d, e] =
            PARTS.map(|(key, what)| (what, take_text(&mut task, key, place, collector).unwrap_or_default()));
        let parts = [("", details)].into_iter().chain([a, b, c, d, e]).collect::<Vec<_>>();
        let priority = take_priority(&mut task, place, collector);
        let labels = take_labels(&mut task, place, collector);
        let assignee = take_assignee(&mut task, place, collector);
        let (numbers, unreadable) = take_dependencies(&mut task, place, collector);
        let subtasks = take_list(&mut task, "subtasks", place, collector);

        let parent = above.number.map_or_else(|| self.parent_of(above.tag, &number, &task), str::to_owned);
        let parent_id = match parent.as_str() {
            "" => above.tag.to_owned(),
            number => self.frame_of(above.tag, number).unwrap_or_else(|| above.tag.to_owned()),
        };
        let status = match fate {
            Finished => FrameStatus::Completed,
            Removed if has_failed => FrameStatus::Failed,
            Removed => FrameStatus::Invalidated,
            Begun => FrameStatus::InProgress,
            _ => FrameStatus::Planned,
        };
        let id = format!("{}/{number}", above.tag);
        let mut frame = task_frame(id, Some(&parent_id), status, Texts { title, criteria, results });
        if status == FrameStatus::Invalidated {
            frame.invalidation_reason = Some(reason.to_owned());
        }
        frame.task = task_of(&parts, place, &mut self.collector);
        frame.priority = priority;
        frame.labels = labels;
        frame.assignee = assignee;
        frame.extra = task;
        let index = self.collector.add(frame, place);

        let id = self.collector.frames[index].session_id.clone();
        self.numbers.entry((above.tag.to_owned(), number.clone())).or_default().push(id);
        if let Waits(reason) = fate {
            self.collector.wait(index, reason);
        }
        if status.is_unfinished() {
            let reasons = unknown.into_iter().chain(unreadable).chain(above.waits.map(str::to_owned));
            reasons.for_each(|reason| self.collector.wait(index, reason));
        }
        if named_parent(&self.collector.frames[index].extra).as_ref() == Some(&number) {
            self.collector.report(place, "is its own parent; it waits until a person answers");
            self.collector.wait(index, "It is its own parent in Task Master.");
        }
        let above_it = Some(parent).filter(|parent| !parent.is_empty());
        self.needs.push(Needs { place: index, tag: above.tag.to_owned(), above: above_it, numbers });

        let above = Above { tag: above.tag, number: Some(&number), waits: above.waits };
        for (index, subtask) in subtasks.into_iter().enumerate() {
            self.read_task(&above, subtask, &format!("{place}.subtasks[{index}]"));
        }
    }

    /// The number of the task above a task in the list of a tag: the task names it, or it is the beginning of
    /// a dotted number. Empty if there is none.
    fn parent_of(&self, tag: &str, own: &str, task: &Map<String, Value>) -> String {
        let named = named_parent(task);
        let dotted = own.rsplit_once('.').map(|(above, _)| above.to_owned());
        let mut above = named.into_iter().chain(dotted);
        above.find(|above| above != own && self.frame_of(tag, above).is_some()).unwrap_or_default()
    }

    /// The ID of the frame with a number of a tag.
    fn frame_of(&self, tag: &str, number: &str) -> Option<String> {
        self.numbers.get(&(tag.to_owned(), number.to_owned()))?.last().cloned()
    }

    /// Makes dependencies from the numbers that tasks name. A task waits for what is not in the file.
    fn resolve_dependencies(&mut self) {
        for Needs { place, tag, above, numbers } in std::mem::take(&mut self.needs) {
            let mut linked: HashSet<String> = self.collector.frames[place].depends_on.iter().cloned().collect();
            for number in numbers {
                let sibling = above.as_ref().map(|above| format!("{above}.{number}"));
                // `4.1` in a subtask of 4 is the full number, also if there is a task 4.4.1.
                let full = Some(number.clone());
                let named = if number.contains('.') { [full, sibling] } else { [sibling, full] };
                let found = named.into_iter().flatten().find_map(|full| self.numbers.get(&(tag.clone(), full)));
                let frame = &mut self.collector.frames[place];
                let id = frame.session_id.clone();
                match found {
                    Some(found) => {
                        frame.depends_on.extend(found.iter().filter(|id| linked.insert((*id).clone())).cloned());
                    }
                    None if frame.status.is_unfinished() => {
                        let what = format!("depends on task {number}, which is not in the file");
                        self.collector.report(id, format!("{what}; it waits until a person answers"));
                        self.collector.wait(place, format!("It {what}."));
                    }
                    None => self.collector.report(
                        id,
                        format!("depends on task {number}, which is not in the file; left out, because it is finished"),
                    ),
                }
            }
        }
    }
}

/// The number of the task that a task names as its parent.
fn named_parent(task: &Map<String, Value>) -> Option<String> {
    ["parentId", "parentTaskId", "parent"].iter().find_map(|key| task.get(*key).and_then(number))
}

/// Returns the full number of a task (`3`) or subtask (`3.2`). Some versions of Task Master write the full
/// number of a subtask, others only the subtask's own number (`2`).
pub(super) fn full_number(parent: Option<&str>, number: String) -> String {
    match parent {
        Some(parent) if !number.starts_with(&format!("{parent}.")) => format!("{parent}.{number}"),
        _ => number,
    }
}

/// What an export has written after the details of a task, in the way in which Task Master itself adds to
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Results,
    Failed,
    Cancelled,
}

const OUTCOMES: [(Outcome, &str); 3] =
    [(Outcome::Results, "Results: "), (Outcome::Failed, "Failed: "), (Outcome::Cancelled, "Cancelled: ")];

/// Separates the details of a task from what an export has written after them.
fn split_outcome(details: String) -> (String, Option<(Outcome, String)>) {
    let found = details.trim_end().strip_suffix('>').and_then(|text| {
        let (text, time) = text.rsplit_once("\n</info added on ")?;
        let (before, said) = text.rsplit_once(&format!("<info added on {time}>\n"))?;
        let (kind, said) = OUTCOMES.iter().find_map(|(kind, word)| Some((*kind, said.strip_prefix(word)?)))?;
        Some((before.strip_suffix("\n\n").unwrap_or(before).to_owned(), Some((kind, said.to_owned()))))
    });
    found.unwrap_or((details, None))
}

/// The details of a task, followed by what has become of it. This replaces what an earlier export has
/// written.
pub(super) fn with_outcome(details: &str, outcome: Option<(Outcome, &str)>, time: &str) -> String {
    let (before, known) = split_outcome(details.to_owned());
    let Some((kind, said)) =
        outcome.filter(|(_, said)| !said.is_empty()).or(outcome.filter(|(kind, _)| *kind != Outcome::Results))
    else {
        return before;
    };
    if known.is_some_and(|known| known == (kind, said.to_owned())) {
        return details.to_owned();
    }
    let word = OUTCOMES.iter().find(|(known, _)| *known == kind).map_or("", |(_, word)| word);
    let gap = if before.is_empty() { "" } else { "\n\n" };
    format!("{before}{gap}<info added on {time}>\n{word}{said}\n</info added on {time}>")
}

/// Takes the status of a task, and returns why it waits if the status is unknown.
fn take_status(task: &mut Map<String, Value>, place: &str, collector: &mut Collector) -> (Fate, Option<String>) {
    let status = task.remove("status").filter(|status| !status.is_null());
    let status = status.map(|status| status.as_str().map_or_else(|| status.to_string(), str::to_owned));
    let Some(status) = status.filter(|status| !status.trim().is_empty()) else { return (Work, None) };
    match fate::of(STATUSES, &status) {
        Some(fate) => (fate, None),
        None => {
            collector.report(place, format!("the status `{status}` is unknown; it waits until a person answers"));
            (Work, Some(format!("Its status in Task Master is `{status}`.")))
        }
    }
}

fn take_priority(task: &mut Map<String, Value>, place: &str, collector: &mut Collector) -> Option<Priority> {
    let named = take_text(task, "priority", place, collector).filter(|named| !named.trim().is_empty())?;
    let number = fate::of(PRIORITIES, &named).map(u64::from);
    if number.is_none() {
        collector.report(place, format!("the priority `{named}` is unknown; left out"));
    }
    number.and_then(Priority::new)
}

/// Other names of the list of dependencies, as people and other programs write them.
const OTHER_DEPENDENCIES: [&str; 3] = ["depends-on", "blocked-by", "deps"];

/// Takes the dependencies of a task out of it, as numbers of tasks, and returns why the task waits if some of
/// them cannot be read.
fn take_dependencies(
    task: &mut Map<String, Value>,
    place: &str,
    collector: &mut Collector,
) -> (Vec<String>, Option<String>) {
    let list = |value: Value| match value {
        Value::Null => Vec::new(),
        Value::Array(listed) => listed,
        Value::String(text) => {
            text.split([',', ';']).map(str::trim).filter(|number| !number.is_empty()).map(Value::from).collect()
        }
        other => vec![other],
    };
    let mut listed = task.remove("dependencies").map(list).unwrap_or_default();
    let is_other_name = |key: &str| OTHER_DEPENDENCIES.contains(&&*fate::folded(&fate::snake_case(key)));
    listed.extend(task.iter().filter(|(key, _)| is_other_name(key)).flat_map(|(_, value)| list(value.clone())));
    let named = |value: &Value| match value {
        Value::Object(object) => ["id", "taskId", "task"].iter().find_map(|key| object.get(*key).and_then(number)),
        value => number(value),
    };
    let (read, unreadable): (Vec<_>, Vec<_>) =
        listed.iter().map(|value| named(value).ok_or(value)).partition(std::result::Result::is_ok);
    let unreadable: Vec<String> =
        unreadable.into_iter().filter_map(|value| value.err()).map(|value| format!("`{value}`")).collect();
    let reason = (!unreadable.is_empty())
        .then(|| format!("It has a dependency that cannot be read: {}.", unreadable.join(", ")));
    if reason.is_some() {
        collector.report(
            place,
            format!(
                "a dependency is neither a number nor a text, {}; it waits until a person answers",
                unreadable.join(", ")
            ),
        );
    }
    (read.into_iter().flatten().collect(), reason)
}

/// The number that a value names. A number is written as Task Master writes it: 1e2 and 100.0 are 100.
pub(super) fn number(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        Value::Number(number) => {
            let whole = number.as_f64().filter(|whole| number.is_f64() && whole.fract() == 0.0 && whole.abs() < 1e15);
            Some(whole.map_or_else(|| number.to_string(), |whole| format!("{whole:.0}")))
        }
        _ => None,
    }
}
