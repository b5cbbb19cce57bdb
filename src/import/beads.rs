//! Import of Beads' `issues.jsonl`: one issue per line, with typed dependencies.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Collector, Imported, Texts, take_list, take_text, task_frame, task_of, time};
use crate::frame::{Frame, FrameStatus, Priority};
use crate::text::readable_json;

/// ID of the root frame, the parent of all issues without a parent.
const ROOT: &str = "beads";

/// Reads Beads issues, one JSON object per line.
///
/// One root frame, `beads`, is the parent of all issues without a parent, if there are any. The fields of an issue become:
///
/// | Beads | frame |
/// |---|---|
/// | dependency of type `parent-child` | parent |
/// | dependencies of type `blocks` | dependencies |
/// | `acceptance_criteria`, or else `description` | success criteria |
/// | `description` beside acceptance criteria, `design`, `notes` | task |
/// | `priority` | priority |
/// | `close_reason`, if the issue is closed | results |
/// | `closed_at`, or else `updated_at` | time of the last change |
///
/// All other keys, and also `closed_at` and `updated_at`, are kept unchanged in [`Frame::extra`]. Siblings keep the
/// order of the file; [`read`](super::read) assigns handles by `created_at`.
///
/// An issue's ID can have the form of a handle, such as `f2`. It is kept, and a note in [`Imported::problems`] says how
/// to name the frame: by its handle, or as `id:f2`.
///
/// ```
/// let issue = r#"{"id": "app-1", "title": "Set up", "status": "closed", "close_reason": "cargo new"}"#;
/// let plan = callstack_core::import::beads(issue);
/// assert!(plan.problems.is_empty());
/// assert_eq!(plan.frames[1].results.as_deref(), Some("cargo new"));
/// ```
///
/// Lines that do not contain an issue are reported as problems and left out, so this function cannot fail.
pub fn beads(text: &str) -> Imported {
    let mut collector = Collector::default();
    collector.add_made(Frame { session_id: ROOT.into(), title: "Issues".into(), ..Frame::default() }, ROOT);
    for (index, line) in readable_json(text).lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = format!("line {}", index + 1);
        match serde_json::from_str(line) {
            Ok(Value::Object(issue)) => read_issue(issue, &place, &mut collector),
            Ok(_) => collector.report(place, "is not an object; left out"),
            Err(error) => collector.report(place, format!("is not JSON ({error}); left out")),
        }
    }
    for index in 0..collector.frames.len() {
        let frame = &collector.frames[index];
        let (known, unknown): (Vec<String>, Vec<String>) =
            frame.depends_on.iter().cloned().partition(|id| collector.places.contains_key(id));
        let id = frame.session_id.clone();
        collector.frames[index].depends_on = known;
        for other in unknown {
            collector.report(&id, format!("it depends on `{other}`, which is not in the file; left out"));
        }
        let lost = collector.frames[index].parent_session_id.take_if(|parent| !collector.places.contains_key(parent));
        if let Some(parent) = lost {
            collector.report(&id, format!("its parent `{parent}` is not in the file; moved below the root"));
            collector.frames[index].parent_session_id = Some(ROOT.into());
        }
    }
    collector.finish()
}

/// Reads an issue and adds its frame.
fn read_issue(mut issue: Map<String, Value>, place: &str, collector: &mut Collector) {
    let Some(id) = take_text(&mut issue, "id", place, collector).filter(|id| !id.is_empty()) else {
        collector.report(place, "has no `id`; left out");
        return;
    };
    let status = take_text(&mut issue, "status", place, collector);
    let title = take_text(&mut issue, "title", place, collector).filter(|title| !title.is_empty());
    let (criteria, description) = take_criteria(&mut issue, place, collector);
    let [design, notes] =
        ["design", "notes"].map(|key| take_text(&mut issue, key, place, collector).unwrap_or_default());
    let parts = [("", description.as_str()), ("Design: ", design.as_str()), ("Notes: ", notes.as_str())];
    let priority = take_priority(&mut issue, place, collector);
    let results = take_text(&mut issue, "close_reason", place, collector).unwrap_or_default();
    let times = take_times(&mut issue, place, collector);

    let status = read_status(status.as_deref(), place, collector);
    let title = title.unwrap_or_else(|| {
        collector.report(place, "has no title; its ID is used");
        id.clone()
    });
    let [created_at, closed_at, updated_at] = times.map(|(key, text)| read_time(key, text, place, collector));
    let Links { parent, depends_on } = take_links(&mut issue, place, collector);

    let mut frame = task_frame(id, Some(parent.as_deref().unwrap_or(ROOT)), status, Texts { title, criteria, results });
    frame.created_at = created_at.unwrap_or_default();
    frame.updated_at = closed_at.or(updated_at).unwrap_or(frame.created_at);
    if status == FrameStatus::Invalidated {
        frame.invalidated_at = Some(frame.updated_at);
        let reason = issue.get("delete_reason").and_then(Value::as_str).unwrap_or("deleted");
        frame.invalidation_reason = Some(reason.to_owned());
    }
    frame.depends_on = depends_on;
    frame.task = task_of(parts, place, collector);
    frame.priority = priority;
    frame.extra = issue;
    collector.add(frame, place);
}

/// Takes the acceptance criteria and the description out of an issue. Without criteria the description stands for them.
fn take_criteria(issue: &mut Map<String, Value>, place: &str, collector: &mut Collector) -> (String, String) {
    let [criteria, description] =
        ["acceptance_criteria", "description"].map(|key| take_text(issue, key, place, collector).unwrap_or_default());
    if criteria.trim().is_empty() { (description, String::new()) } else { (criteria, description) }
}

fn take_priority(issue: &mut Map<String, Value>, place: &str, collector: &mut Collector) -> Option<Priority> {
    let value = issue.remove("priority").filter(|value| !value.is_null())?;
    let number = value.as_u64().or_else(|| value.as_str()?.trim_start_matches(['P', 'p']).parse().ok());
    let priority = number.and_then(Priority::new);
    if priority.is_none() {
        collector.report(place, format!("the priority `{value}` is no number from 0 to 4; left out"));
    }
    priority
}

/// Takes the texts of the times out of an issue, each with its key. `closed_at` and `updated_at` are also kept in the
/// issue, because a frame has only one time for both.
fn take_times(
    issue: &mut Map<String, Value>,
    place: &str,
    collector: &mut Collector,
) -> [(&'static str, Option<String>); 3] {
    let times = ["created_at", "closed_at", "updated_at"].map(|key| (key, take_text(issue, key, place, collector)));
    for (key, text) in &times[1..] {
        if let Some(text) = text {
            issue.insert((*key).into(), text.as_str().into());
        }
    }
    times
}

fn read_status(status: Option<&str>, place: &str, collector: &mut Collector) -> FrameStatus {
    match status {
        Some("closed") => FrameStatus::Completed,
        Some("in_progress" | "in-progress" | "hooked") => FrameStatus::InProgress,
        Some("blocked") => FrameStatus::Blocked,
        Some("tombstone") => FrameStatus::Invalidated,
        Some("open" | "deferred" | "pinned" | "draft") | None => FrameStatus::Planned,
        Some(other) => {
            collector.report(place, format!("the status `{other}` is unknown; read as planned"));
            FrameStatus::Planned
        }
    }
}

/// Reads a time as milliseconds since the Unix epoch.
fn read_time(key: &str, text: Option<String>, place: &str, collector: &mut Collector) -> Option<u64> {
    let text = text?;
    let read = time::milliseconds(&text);
    if read.is_none() {
        collector.report(place, format!("`{key}` is `{text}`, which is not an RFC 3339 time; ignored"));
    }
    read
}

/// The links of an issue to others.
#[derive(Default)]
struct Links {
    parent: Option<String>,
    depends_on: Vec<String>,
}

/// Takes the links out of an issue. Links of other types stay in it.
fn take_links(issue: &mut Map<String, Value>, place: &str, collector: &mut Collector) -> Links {
    let mut links = Links::default();
    let mut blocking = HashSet::new();
    let mut related = Vec::new();
    for link in take_list(issue, "dependencies", place, collector) {
        let part = |key: &str| link.get(key).and_then(Value::as_str);
        match (part("type"), part("depends_on_id")) {
            (Some("parent-child" | "parent_child"), Some(other)) if links.parent.is_none() => {
                links.parent = Some(other.to_owned());
            }
            (Some("parent-child" | "parent_child"), Some(other)) => {
                collector.report(place, format!("has a second parent, `{other}`; the first one is used"));
            }
            (Some("blocks"), Some(other)) if blocking.contains(other) => {}
            (Some("blocks"), Some(other)) => {
                blocking.insert(other.to_owned());
                links.depends_on.push(other.to_owned());
            }
            (Some(_), Some(_)) => related.push(link),
            _ => collector.report(place, "a dependency lacks `type` or `depends_on_id`; left out"),
        }
    }
    if !related.is_empty() {
        issue.insert("dependencies".into(), related.into());
    }
    links
}
