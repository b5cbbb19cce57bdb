//! Import of Beads' `issues.jsonl`: one issue per line, with typed dependencies.

use serde_json::{Map, Value};

use super::{Collector, Imported, Texts, take_text, task_frame, time};
use crate::frame::{Frame, FrameStatus};

/// ID of the root frame, the parent of all issues without a parent.
const ROOT: &str = "beads";

/// Reads Beads issues, one JSON object per line.
///
/// One root frame, `beads`, is the parent of all issues without a parent. The fields of an issue become:
///
/// | Beads | frame |
/// |---|---|
/// | dependency of type `parent-child` | parent |
/// | dependencies of type `blocks` | dependencies |
/// | `acceptance_criteria`, or else `description` | success criteria |
/// | `close_reason`, if the issue is closed | results |
/// | `closed_at`, or else `updated_at` | time of the last change |
///
/// All other keys, and also `closed_at` and `updated_at`, are kept unchanged in [`Frame::extra`]. Siblings keep the
/// order of the file; [`read`](super::read) assigns handles by `created_at`.
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
    collector.add(Frame { session_id: ROOT.into(), title: "Issues".into(), ..Frame::default() }, ROOT);
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
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

fn read_issue(mut issue: Map<String, Value>, place: &str, collector: &mut Collector) {
    let Some(id) = take_text(&mut issue, "id", place, collector).filter(|id| !id.is_empty()) else {
        collector.report(place, "has no `id`; left out");
        return;
    };
    let mut text = |key: &str| take_text(&mut issue, key, place, collector);
    let status = text("status");
    let title = text("title").filter(|title| !title.is_empty());
    let acceptance = text("acceptance_criteria").filter(|criteria| !criteria.trim().is_empty());
    let criteria = match acceptance {
        Some(criteria) => criteria,
        None => text("description").unwrap_or_default(),
    };
    let results = text("close_reason").unwrap_or_default();
    let created_at = text("created_at");
    let [closed_at, updated_at] = ["closed_at", "updated_at"].map(&mut text);
    // Kept in `extra` too, because a frame has only one time for both.
    for (key, text) in [("closed_at", &closed_at), ("updated_at", &updated_at)] {
        if let Some(text) = text {
            issue.insert(key.into(), text.as_str().into());
        }
    }
    let status = match status.as_deref() {
        Some("closed") => FrameStatus::Completed,
        Some("in_progress" | "in-progress" | "hooked") => FrameStatus::InProgress,
        Some("blocked") => FrameStatus::Blocked,
        Some("tombstone") => FrameStatus::Invalidated,
        Some("open" | "deferred" | "pinned" | "draft") | None => FrameStatus::Planned,
        Some(other) => {
            collector.report(place, format!("the status `{other}` is unknown; read as planned"));
            FrameStatus::Planned
        }
    };
    let title = title.unwrap_or_else(|| {
        collector.report(place, "has no title; its ID is used");
        id.clone()
    });
    let mut time = |name: &str, text: Option<String>| {
        let text = text?;
        let read = time::milliseconds(&text);
        if read.is_none() {
            collector.report(place, format!("`{name}` is `{text}`, which is not an RFC 3339 time; ignored"));
        }
        read
    };
    let created_at = time("created_at", created_at).unwrap_or_default();
    let closed_at = time("closed_at", closed_at);
    let updated_at = time("updated_at", updated_at);
    let links = match issue.remove("dependencies") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(links)) => links,
        Some(_) => {
            collector.report(place, "`dependencies` is not a list; left out");
            Vec::new()
        }
    };
    let mut parent = None;
    let mut depends_on = Vec::new();
    let mut related = Vec::new();
    for link in links {
        let part = |key: &str| link.get(key).and_then(Value::as_str);
        match (part("type"), part("depends_on_id")) {
            (Some("parent-child" | "parent_child"), Some(other)) if parent.is_none() => parent = Some(other.to_owned()),
            (Some("parent-child" | "parent_child"), Some(other)) => {
                collector.report(place, format!("has a second parent, `{other}`; the first one is used"));
            }
            (Some("blocks"), Some(other)) if depends_on.iter().any(|known| known == other) => {}
            (Some("blocks"), Some(other)) => depends_on.push(other.to_owned()),
            (Some(_), Some(_)) => related.push(link),
            _ => collector.report(place, "a dependency lacks `type` or `depends_on_id`; left out"),
        }
    }
    if !related.is_empty() {
        issue.insert("dependencies".into(), related.into());
    }
    let mut frame = task_frame(id, Some(parent.as_deref().unwrap_or(ROOT)), status, Texts { title, criteria, results });
    frame.created_at = created_at;
    frame.updated_at = closed_at.or(updated_at).unwrap_or(created_at);
    if status == FrameStatus::Invalidated {
        frame.invalidated_at = Some(frame.updated_at);
        let reason = issue.get("delete_reason").and_then(Value::as_str).unwrap_or("deleted");
        frame.invalidation_reason = Some(reason.to_owned());
    }
    frame.depends_on = depends_on;
    frame.extra = issue;
    collector.add(frame, place);
}
