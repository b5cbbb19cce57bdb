//! Import of Task Master's `tasks.json`: tags, tasks, subtasks, dependencies.

use serde_json::{Map, Value};

use super::{Collector, Imported, Texts, take_list, take_text, task_frame, task_of, time};
use crate::error::{Error, Result};
use crate::frame::{Frame, FrameStatus, Priority};
use crate::text::from_json;

/// The name of the file in errors.
const WHAT: &str = "the Task Master file";

/// The tag used for files of older versions of Task Master, which have no tags.
const ONLY_TAG: &str = "master";

/// Reads a Task Master file.
///
/// Every tag with tasks becomes a root frame whose ID is the tag's name. Task 3 of the tag `master` becomes its child
/// `master/3`, and subtask 2 of this task becomes the child `master/3.2` of that frame. `description` becomes the
/// success criteria; `details` become the results if the task is done, and else, with `testStrategy`, the task of the frame. `priority` can
/// be `critical`, `high`, `medium` or `low`: 0 to 3. All other keys are kept unchanged in [`Frame::extra`]. A subtask refers to a dependency by the number of a sibling (`2`) or by the full number of any
/// task (`3.2`).
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
/// [`Error::Json`] if the text is not a JSON object or contains no list of tasks.
pub fn task_master(text: &str) -> Result<Imported> {
    let file: Map<String, Value> = from_json(text).map_err(|error| Error::of_json(WHAT, error))?;
    let mut collector = Collector::default();
    let mut found = false;
    let tags = if file.contains_key("tasks") {
        vec![(ONLY_TAG.to_owned(), Value::Object(file))]
    } else {
        file.into_iter().collect()
    };
    for (tag, content) in tags {
        let Value::Object(mut content) = content else {
            collector.report(tag, "is not an object with tasks; left out");
            continue;
        };
        match content.remove("tasks") {
            Some(Value::Array(tasks)) => {
                found = true;
                read_tag(&tag, &content, tasks, &mut collector);
            }
            Some(_) => collector.report(format!("{tag}.tasks"), "is not a list; left out"),
            None => collector.report(tag, "has no tasks; left out"),
        }
    }
    if !found {
        return Err(Error::json(WHAT, "it contains no list of tasks"));
    }
    Ok(collector.finish())
}

fn read_tag(tag: &str, content: &Map<String, Value>, tasks: Vec<Value>, collector: &mut Collector) {
    let metadata = |key: &str| content.get("metadata")?.get(key)?.as_str();
    let root = Frame {
        session_id: tag.to_owned(),
        title: tag.to_owned(),
        success_criteria: metadata("description").unwrap_or_default().to_owned(),
        created_at: metadata("created").and_then(time::milliseconds).unwrap_or_default(),
        updated_at: metadata("updated").and_then(time::milliseconds).unwrap_or_default(),
        ..Frame::default()
    };
    if tasks.is_empty() {
        collector.report(tag, "has no tasks; left out");
    }
    collector.add_made(root, tag);
    let first = collector.frames.len();
    for (index, task) in tasks.into_iter().enumerate() {
        read_task(tag, None, task, &format!("{tag}.tasks[{index}]"), collector);
    }
    for index in first..collector.frames.len() {
        resolve_dependencies(tag, index, collector);
    }
}

/// Reads a task, or a subtask of the task with the number `parent`, and adds its frame and those of its subtasks.
fn read_task(tag: &str, parent: Option<&str>, task: Value, place: &str, collector: &mut Collector) {
    let Value::Object(mut task) = task else {
        collector.report(place, "is not an object; left out");
        return;
    };
    let Some(number) = task.remove("id").as_ref().and_then(number) else {
        collector.report(place, "has no `id`; left out");
        return;
    };
    let number = full_number(parent, number);
    let status = take_status(&mut task, place, collector);
    let title = take_text(&mut task, "title", place, collector).unwrap_or_else(|| {
        collector.report(place, "has no title; its number is used");
        number.clone()
    });
    let criteria = take_text(&mut task, "description", place, collector).unwrap_or_default();
    let details = take_text(&mut task, "details", place, collector).unwrap_or_default();
    let (results, details) = match status {
        FrameStatus::Completed => (details, String::new()),
        _ => (String::new(), details),
    };
    let strategy = take_text(&mut task, "testStrategy", place, collector).unwrap_or_default();
    let parts = [("", details.as_str()), ("How it is tested: ", strategy.as_str())];
    let priority = take_priority(&mut task, place, collector);
    let depends_on = take_dependencies(&mut task, place, collector);
    let subtasks = take_list(&mut task, "subtasks", place, collector);

    let above = parent.map_or_else(|| tag.to_owned(), |parent| format!("{tag}/{parent}"));
    let mut frame = task_frame(format!("{tag}/{number}"), Some(&above), status, Texts { title, criteria, results });
    if status == FrameStatus::Invalidated {
        frame.invalidation_reason = Some("cancelled".into());
    }
    frame.depends_on = depends_on;
    frame.task = task_of(parts, place, collector);
    frame.priority = priority;
    frame.extra = task;
    collector.add(frame, place);

    if parent.is_some() && !subtasks.is_empty() {
        collector.report(place, "is a subtask with subtasks; they are left out");
        return;
    }
    for (index, subtask) in subtasks.into_iter().enumerate() {
        read_task(tag, Some(&number), subtask, &format!("{place}.subtasks[{index}]"), collector);
    }
}

/// Returns the full number of a task (`3`) or subtask (`3.2`). Some versions of Task Master write the full number of a
/// subtask, others only its own (`2`).
fn full_number(parent: Option<&str>, number: String) -> String {
    match parent {
        Some(parent) if !number.starts_with(&format!("{parent}.")) => format!("{parent}.{number}"),
        _ => number,
    }
}

fn take_status(task: &mut Map<String, Value>, place: &str, collector: &mut Collector) -> FrameStatus {
    match take_text(task, "status", place, collector).as_deref() {
        Some("done" | "completed") => FrameStatus::Completed,
        Some("in-progress" | "in_progress" | "review") => FrameStatus::InProgress,
        Some("blocked") => FrameStatus::Blocked,
        Some("cancelled" | "canceled") => FrameStatus::Invalidated,
        Some("pending" | "deferred" | "todo") | None => FrameStatus::Planned,
        Some(other) => {
            collector.report(place, format!("the status `{other}` is unknown; read as planned"));
            FrameStatus::Planned
        }
    }
}

fn take_priority(task: &mut Map<String, Value>, place: &str, collector: &mut Collector) -> Option<Priority> {
    let named = take_text(task, "priority", place, collector)?;
    let number = match named.trim().to_lowercase().as_str() {
        "critical" | "urgent" => 0,
        "high" => 1,
        "medium" => 2,
        "low" => 3,
        _ => {
            collector.report(place, format!("the priority `{named}` is unknown; left out"));
            return None;
        }
    };
    Priority::new(number)
}

/// Takes the dependencies of a task out of it, as numbers of tasks.
fn take_dependencies(task: &mut Map<String, Value>, place: &str, collector: &mut Collector) -> Vec<String> {
    let read: Vec<Option<String>> = take_list(task, "dependencies", place, collector).iter().map(number).collect();
    if read.contains(&None) {
        collector.report(place, "a dependency is neither a number nor a text; left out");
    }
    read.into_iter().flatten().collect()
}

/// Replaces the task numbers in a frame's dependencies by frame IDs.
fn resolve_dependencies(tag: &str, index: usize, collector: &mut Collector) {
    let frame = &collector.frames[index];
    let id = frame.session_id.clone();
    let above = frame.parent_session_id.as_deref().unwrap_or_default();
    let mut found = Vec::new();
    let mut missing = Vec::new();
    for number in &frame.depends_on {
        let sibling = format!("{above}.{number}");
        let full = format!("{tag}/{number}");
        match [sibling, full].into_iter().find(|id| collector.places.contains_key(id)) {
            Some(id) => found.push(id),
            None => missing.push(number.clone()),
        }
    }
    collector.frames[index].depends_on = found;
    for number in missing {
        collector.report(&id, format!("it depends on task {number}, which is not in the file; left out"));
    }
}

fn number(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
