//! The records of a Beads file: lines, or the entries of a JSON list.

use std::collections::{HashMap, HashSet};

use serde_json::{Value as Json, json};

use super::edits::{Edits, Object, values};
use super::{New, Records, Written};
use crate::frame::{Frame, FrameStatus};
use crate::import::beads::STATUSES;
use crate::import::fate::{self, CANCELLED, FAILED};
use crate::import::time;
use crate::json::Value;
use crate::text::FreeNames;

/// The issues of a file.
pub(super) struct Issues<'a> {
    prefix: String,
    /// The records by the IDs of the plan. `None`: the file has several records with the ID.
    records: HashMap<String, Option<Value<'a>>>,
    /// All IDs of the file, and those of new issues.
    taken: HashSet<String>,
    /// The beginning of the IDs of new issues at the top, as in the other IDs of the file.
    project: String,
    /// Names for new issues below each issue.
    names: FreeNames,
    /// Where new records are added. If they are entries of a list, the second value is the text that
    /// separates them.
    end: usize,
    between: Option<String>,
    is_empty: bool,
    line_end: &'static str,
    /// False if the last line has no end.
    is_ended: bool,
    colon: String,
    new: Vec<String>,
}

impl<'a> Issues<'a> {
    pub(super) fn of(text: &'a str, prefix: &str) -> Self {
        let tops = values(text);
        let list = match tops[..] {
            [top] if top.text.starts_with('[') => Some(top),
            [top] => top.get("issues").filter(|list| list.text.starts_with('[')),
            _ => None,
        };
        let issues = list.map_or(tops, Value::elements);
        let mut records: HashMap<String, Option<Value<'a>>> = HashMap::new();
        let mut colon = None;
        for issue in &issues {
            let Some(object) = Object::of(*issue) else { continue };
            let id = match object.read("id") {
                Some(Json::String(id)) => id,
                Some(Json::Number(id)) => id.to_string(),
                _ => continue,
            };
            colon.get_or_insert_with(|| object.colon().to_owned());
            let id = format!("{prefix}{id}");
            let is_twice = records.contains_key(&id);
            records.insert(id, Some(*issue).filter(|_| !is_twice));
        }
        let taken = records.keys().cloned().collect();
        let first = records.keys().filter(|id| !id[prefix.len()..].contains('.')).min();
        let project = first.and_then(|id| id.rsplit_once('-')).map_or("cs", |(project, _)| project).to_owned();
        let between = list.map(|list| {
            let first = issues.first().map_or(list.start + 1, |issue| issue.start);
            text[list.start + 1..first].to_owned()
        });
        let end = match (list, issues.last()) {
            (Some(_), Some(last)) => last.range().end,
            (Some(list), None) => list.start + 1,
            (None, _) => text.len(),
        };
        Self {
            prefix: prefix.to_owned(),
            records,
            taken,
            project,
            names: FreeNames::default(),
            end,
            between,
            is_empty: issues.is_empty(),
            line_end: if text.contains("\r\n") { "\r\n" } else { "\n" },
            is_ended: text.is_empty() || text.ends_with('\n'),
            colon: colon.unwrap_or_else(|| ":".to_owned()),
            new: Vec::new(),
        }
    }

    /// An ID for a new issue: the ID of the issue above it with a number, or an ID in the form of the other
    /// IDs of the file.
    fn free_id(&mut self, new: &New<'_>) -> String {
        let is_free = |id: &str| !self.taken.contains(id);
        if self.taken.contains(&new.parent) {
            return self.names.next(&new.parent, 1, |number| format!("{}.{number}", new.parent), is_free);
        }
        let id = format!("{}-{}", self.project, new.handle);
        match is_free(&id) {
            true => id,
            false => self.names.next(&id, 1, |number| format!("{id}x{number}"), is_free),
        }
    }

    /// An ID as the file has it.
    fn in_file<'b>(&self, id: &'b str) -> &'b str {
        id.strip_prefix(&self.prefix).unwrap_or(id)
    }
}

impl Records for Issues<'_> {
    fn has(&self, id: &str) -> bool {
        self.records.get(id).is_some_and(Option::is_some)
    }

    fn write(&self, id: &str, frame: &Written<'_>, edits: &mut Edits) {
        let record = self.records.get(id).copied().flatten();
        let Some(object) = record.and_then(Object::of) else { return };
        let mut values = outcome(frame.record, object.get("close_reason").is_some());
        let has_closed = object.get("closed_at").is_some();
        if !has_closed || frame.is_result {
            values.retain(|(key, value)| *key != "closed_at" || !(value.is_null() || frame.is_result));
        }
        if frame.record.status != FrameStatus::Blocked
            && object.read("defer_until").is_some_and(|until| !until.is_null())
        {
            values.push(("defer_until", Json::Null));
        }
        let is_same = |(key, value): &(&str, Json)| match object.read(key) {
            // A difference only in times or in spelling is not a change.
            Some(old) if *key == "status" => fate::is_same(STATUSES, &old, value),
            Some(old) => old == *value,
            None => value.is_null(),
        };
        let times = ["updated_at", "closed_at"];
        if values.iter().filter(|(key, _)| !times.contains(key)).all(is_same) {
            return;
        }
        values.retain(|value| value.0 != "status" || !is_same(value));
        edits.set(&object, &values);
    }

    fn place(&mut self, new: &New<'_>) -> Option<String> {
        let id = self.free_id(new);
        self.taken.insert(id.clone());
        let record = new.record;
        let mut issue: Vec<(&str, Json)> = Vec::new();
        let own = self.in_file(&id).to_owned();
        issue.push(("id", json!(own)));
        issue.push(("title", json!(record.title)));
        let (criteria, task) = (record.success_criteria.trim(), record.task.trim());
        let (description, criteria) = if task.is_empty() { (criteria, "") } else { (task, criteria) };
        let texts = [("description", description), ("acceptance_criteria", criteria)];
        issue.extend(texts.into_iter().filter(|(_, text)| !text.is_empty()).map(|(key, text)| (key, json!(text))));
        if let Some(priority) = record.priority {
            issue.push(("priority", json!(priority)));
        }
        if !record.labels.is_empty() {
            issue.push(("labels", json!(record.labels)));
        }
        if let Some(assignee) = &record.assignee {
            issue.push(("assignee", json!(assignee)));
        }
        issue.push(("issue_type", json!("task")));
        issue.push(("created_at", json!(time::rfc3339(record.created_at))));
        issue.extend(outcome(record, false).into_iter().filter(|(_, value)| !value.is_null()));
        let link =
            |other: &str, kind: &str| json!({"issue_id": own, "depends_on_id": self.in_file(other), "type": kind});
        let parent = Some(&new.parent).filter(|parent| self.taken.contains(*parent));
        let links: Vec<Json> = { new.depends_on.iter() }
            .filter(|other| self.taken.contains(*other))
            .map(|other| link(other, "blocks"))
            .chain(parent.map(|parent| link(parent, "parent-child")))
            .collect();
        if !links.is_empty() {
            issue.push(("dependencies", links.into()));
        }
        let entries: Vec<String> =
            issue.iter().map(|(key, value)| format!("{}{}{value}", json!(key), self.colon)).collect();
        let comma = if self.colon.ends_with(' ') { ", " } else { "," };
        self.new.push(format!("{{{}}}", entries.join(comma)));
        Some(id)
    }

    fn add(&mut self, edits: &mut Edits) {
        if self.new.is_empty() {
            return;
        }
        let new = std::mem::take(&mut self.new);
        let text = match &self.between {
            Some(between) => {
                let first = if self.is_empty { "" } else { "," };
                format!("{first}{between}{}", new.join(&format!(",{between}")))
            }
            None => {
                let begin = if self.is_ended { "" } else { self.line_end };
                let lines = new.join(self.line_end);
                format!("{begin}{lines}{}", if self.is_ended { self.line_end } else { "" })
            }
        };
        edits.insert(self.end, text);
    }
}

/// The keys that tell what happened to a frame, with their values; null for values that the frame does not
/// have.
fn outcome(record: &Frame, has_reason: bool) -> Vec<(&'static str, Json)> {
    let results = record.results.as_deref().unwrap_or_default();
    // Beads has no failures, and a tombstone is a deleted issue: a reason tells about these cases.
    let status = match record.status {
        FrameStatus::Failed | FrameStatus::Invalidated => FrameStatus::Completed,
        status => status,
    };
    let status = fate::word_for(STATUSES, status).replace('-', "_");
    let reason = match record.status {
        FrameStatus::Planned | FrameStatus::InProgress | FrameStatus::Blocked => None,
        // The reason of a completed frame does not begin like the reason of a failed one.
        FrameStatus::Completed if results.starts_with(FAILED) || results.starts_with(CANCELLED) => {
            Some(format!(" {results}"))
        }
        FrameStatus::Completed => Some(results.to_owned()).filter(|results| has_reason || !results.is_empty()),
        FrameStatus::Failed => Some(format!("{FAILED} {results}").trim_end().to_owned()),
        FrameStatus::Invalidated => {
            let reason = record.invalidation_reason.as_deref().unwrap_or_default();
            Some(format!("{CANCELLED} {reason}").trim_end().to_owned())
        }
    };
    let at = json!(time::rfc3339(record.updated_at));
    let closed_at = if status == "closed" { at.clone() } else { Json::Null };
    let mut values = vec![("status", json!(status)), ("updated_at", at), ("closed_at", closed_at)];
    values.extend(reason.map(|reason| ("close_reason", json!(reason))));
    values
}
