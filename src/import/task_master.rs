//! Task Master's `tasks.json`: tags, tasks, subtasks, dependencies.

use serde_json::{Map, Value};

use super::{Collector, Imported, Texts, take_text, task_frame, time};
use crate::error::{Error, Result};
use crate::frame::{Frame, FrameStatus};

/// The tag of files from before Task Master had tags.
const ONLY_TAG: &str = "master";

/// Reads a Task Master file.
///
/// Every tag becomes a root with the tag's name as its ID; a task becomes its child `tag/3`, a
/// subtask that one's child `tag/3.2`. `description` becomes the criteria, `details` the results
/// once the task is done; all other keys are kept as they are. A dependency of a subtask names a
/// sibling by its number (`2`) or any task in full (`3.2`).
///
/// # Errors
/// [`Error::Json`] if the text is no JSON object, or none that holds tasks.
pub fn task_master(text: &str) -> Result<Imported> {
    let error = |message: String| Error::Json { what: "the Task Master file", message };
    let file: Map<String, Value> = serde_json::from_str(text).map_err(|failure| error(failure.to_string()))?;
    let mut collector = Collector::default();
    let mut found = false;
    let tags = if file.contains_key("tasks") {
        vec![(ONLY_TAG.to_owned(), Value::Object(file))]
    } else {
        file.into_iter().collect()
    };
    for (tag, content) in tags {
        let Value::Object(mut content) = content else {
            collector.report(tag, "is no object with tasks; left out");
            continue;
        };
        match content.remove("tasks") {
            Some(Value::Array(tasks)) => {
                found = true;
                read_tag(&tag, &content, tasks, &mut collector);
            }
            Some(_) => collector.report(format!("{tag}.tasks"), "is no list; left out"),
            None => collector.report(tag, "has no tasks; left out"),
        }
    }
    if !found {
        return Err(error("it holds no list of tasks".into()));
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
    collector.add(root, tag);
    let first = collector.frames.len();
    for (index, task) in tasks.into_iter().enumerate() {
        read_task(tag, None, task, &format!("{tag}.tasks[{index}]"), collector);
    }
    for index in first..collector.frames.len() {
        resolve_dependencies(tag, index, collector);
    }
}

/// Reads a task, or a subtask of the task with the number `parent`.
fn read_task(tag: &str, parent: Option<&str>, task: Value, place: &str, collector: &mut Collector) {
    let Value::Object(mut task) = task else {
        collector.report(place, "is no task object; left out");
        return;
    };
    let Some(number) = task.remove("id").as_ref().and_then(number) else {
        collector.report(place, "has no `id`; left out");
        return;
    };
    // A subtask's ID is its number, or by some versions the full one.
    let number = match parent {
        Some(parent) if !number.starts_with(&format!("{parent}.")) => format!("{parent}.{number}"),
        _ => number,
    };
    let status = match take_text(&mut task, "status", place, collector).as_deref() {
        Some("done" | "completed") => FrameStatus::Completed,
        Some("in-progress" | "in_progress" | "review") => FrameStatus::InProgress,
        Some("blocked") => FrameStatus::Blocked,
        Some("cancelled" | "canceled") => FrameStatus::Invalidated,
        Some("pending" | "deferred" | "todo") | None => FrameStatus::Planned,
        Some(other) => {
            collector.report(place, format!("the status `{other}` is unknown; taken as planned"));
            FrameStatus::Planned
        }
    };
    let title = take_text(&mut task, "title", place, collector).unwrap_or_else(|| {
        collector.report(place, "has no title; its number serves");
        number.clone()
    });
    let criteria = take_text(&mut task, "description", place, collector).unwrap_or_default();
    let results = match status {
        FrameStatus::Completed => take_text(&mut task, "details", place, collector).unwrap_or_default(),
        _ => String::new(),
    };
    let depends_on = match task.remove("dependencies") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(list)) => {
            let read: Vec<Option<String>> = list.iter().map(self::number).collect();
            if read.contains(&None) {
                collector.report(place, "a dependency is neither number nor text; left out");
            }
            read.into_iter().flatten().collect()
        }
        Some(_) => {
            collector.report(place, "`dependencies` is no list; left out");
            Vec::new()
        }
    };
    let subtasks = match task.remove("subtasks") {
        Some(Value::Array(subtasks)) => subtasks,
        None | Some(Value::Null) => Vec::new(),
        Some(_) => {
            collector.report(place, "`subtasks` is no list; left out");
            Vec::new()
        }
    };
    let above = parent.map_or_else(|| tag.to_owned(), |parent| format!("{tag}/{parent}"));
    let mut frame = task_frame(format!("{tag}/{number}"), Some(&above), status, Texts { title, criteria, results });
    if status == FrameStatus::Invalidated {
        frame.invalidation_reason = Some("cancelled".into());
    }
    frame.depends_on = depends_on;
    frame.extra = task;
    collector.add(frame, place);
    if parent.is_some() && !subtasks.is_empty() {
        collector.report(place, "a subtask with subtasks of its own; they are left out");
        return;
    }
    for (index, subtask) in subtasks.into_iter().enumerate() {
        read_task(tag, Some(&number), subtask, &format!("{place}.subtasks[{index}]"), collector);
    }
}

/// Turns the numbers that a frame depends on into IDs.
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
