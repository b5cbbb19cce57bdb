//! The records of a Task Master file: tasks and subtasks of tags.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value as Json, json};

use super::edits::{Edits, Object, from, values};
use super::{New, Records, Written};
use crate::frame::{Frame, FrameStatus};
use crate::import::fate;
use crate::import::task_master::{ONLY_TAG, Outcome, STATUSES, full_number, number, with_outcome};
use crate::import::time;
use crate::json::Value;

/// A new task, with its ID in the plan.
type NewTask = (String, Map<String, Json>);

/// The tasks of a file.
pub(super) struct Tasks<'a> {
    text: &'a str,
    prefix: String,
    /// The records by the IDs of the plan. `None`: the file has several records with the ID.
    records: HashMap<String, Option<Value<'a>>>,
    /// The lists of tasks by the ID of the frame around them: of a tag, or of a task with subtasks.
    lists: HashMap<String, Value<'a>>,
    /// The highest number in the list of each frame.
    numbers: HashMap<String, u64>,
    /// The new tasks below each frame of the file, or below each new frame, in their order.
    new: BTreeMap<String, Vec<NewTask>>,
    /// The IDs of all new tasks.
    new_ids: HashSet<String>,
    /// How much deeper each level is indented; empty in a file on one line.
    unit: String,
}

impl<'a> Tasks<'a> {
    pub(super) fn of(text: &'a str, prefix: &str) -> Self {
        let mut tasks = Self {
            text,
            prefix: prefix.to_owned(),
            records: HashMap::new(),
            lists: HashMap::new(),
            numbers: HashMap::new(),
            new: BTreeMap::new(),
            new_ids: HashSet::new(),
            unit: unit_of(text),
        };
        let Some(top) = values(text).first().copied() else { return tasks };
        if top.text.starts_with('[') {
            tasks.read_list(ONLY_TAG, None, top);
            return tasks;
        }
        let Some(object) = Object::of(top) else { return tasks };
        let is_list = |value: &Value<'_>| value.text.starts_with('[');
        let tagged: Vec<(&str, Value<'_>)> = { object.entries.iter() }
            .filter(|(key, _)| key != "tasks")
            .filter_map(|(key, tag)| Some((key.as_str(), tag.get("tasks").filter(is_list)?)))
            .collect();
        match (tagged.is_empty(), object.get("tasks").filter(is_list)) {
            (true, Some(list)) => tasks.read_list(ONLY_TAG, None, list),
            _ => tagged.into_iter().for_each(|(tag, list)| tasks.read_list(tag, None, list)),
        }
        tasks
    }

    fn read_list(&mut self, tag: &str, above: Option<&str>, list: Value<'a>) {
        let around = match above {
            Some(above) => format!("{}{tag}/{above}", self.prefix),
            None => format!("{}{tag}", self.prefix),
        };
        self.lists.insert(around.clone(), list);
        for task in list.elements() {
            let Some(object) = Object::of(task) else { continue };
            let Some(own) = object.get("id").map(from).as_ref().and_then(number) else { continue };
            let full = full_number(above, own);
            let last = full.rsplit('.').next().and_then(|last| last.parse().ok()).unwrap_or(0);
            let highest = self.numbers.entry(around.clone()).or_default();
            *highest = last.max(*highest);
            let id = format!("{}{tag}/{full}", self.prefix);
            let is_twice = self.records.contains_key(&id);
            self.records.insert(id, Some(task).filter(|_| !is_twice));
            if let Some(subtasks) = object.get("subtasks").filter(|list| list.text.starts_with('[')) {
                self.read_list(tag, Some(&full), subtasks);
            }
        }
    }

    /// The new tasks below a frame, with the tasks below them.
    fn taken(&mut self, around: &str) -> Vec<Json> {
        let new = self.new.remove(around).unwrap_or_default();
        let nested = new.into_iter().map(|(id, mut task)| {
            let below = self.taken(&id);
            if !below.is_empty() {
                task.insert("subtasks".into(), below.into());
            }
            Json::Object(task)
        });
        nested.collect()
    }

    /// A value as it is written at an indentation, with the line ends of the file.
    fn written(&self, value: &Json, indentation: &str) -> String {
        if self.unit.is_empty() {
            return value.to_string();
        }
        let mut bytes = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(self.unit.as_bytes());
        let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
        if serde::Serialize::serialize(value, &mut serializer).is_err() {
            return value.to_string();
        }
        let line_end = if self.text.contains("\r\n") { "\r\n" } else { "\n" };
        String::from_utf8_lossy(&bytes).replace('\n', &format!("{line_end}{indentation}"))
    }

    /// The indentation of the line that contains a place.
    fn indentation(&self, at: usize) -> &'a str {
        let start = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let line = &self.text[start..at];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }
}

/// The indentation of the first line that has one.
fn unit_of(text: &str) -> String {
    let blanks = |line: &str| line[..line.len() - line.trim_start_matches([' ', '\t']).len()].to_owned();
    text.lines().map(blanks).find(|blanks| !blanks.is_empty()).unwrap_or_default()
}

impl Records for Tasks<'_> {
    fn has(&self, id: &str) -> bool {
        self.records.get(id).is_some_and(Option::is_some)
    }

    fn write(&self, id: &str, frame: &Written<'_>, edits: &mut Edits) {
        let record = self.records.get(id).copied().flatten();
        let Some(object) = record.and_then(Object::of) else { return };
        let mut values = Vec::new();
        let status = json!(fate::word_for(STATUSES, frame.record.status));
        if !object.read("status").is_some_and(|old| fate::is_same(STATUSES, &old, &status)) {
            values.push(("status", status));
        }
        let details = text_of(object.read("details"));
        let new = with_outcome(&details, outcome(frame.record), &time::rfc3339(frame.record.updated_at));
        if new != details {
            values.push(("details", json!(new)));
        }
        edits.set(&object, &values);
    }

    fn place(&mut self, new: &New<'_>) -> Option<String> {
        let around = new.parent.clone();
        let is_tag = self.lists.contains_key(&around) && !self.records.contains_key(&around);
        let is_known = is_tag || self.has(&around) || self.new_ids.contains(&around);
        if !is_known {
            return None;
        }
        let highest = self.numbers.entry(around.clone()).or_default();
        *highest += 1;
        let own = *highest;
        let id = if is_tag { format!("{around}/{own}") } else { format!("{around}.{own}") };
        let tag = around[self.prefix.len()..].split('/').next().unwrap_or_default().to_owned();
        let within = format!("{}{tag}/", self.prefix);
        let siblings = format!("{around}.");
        let depends_on = new.depends_on.iter().filter_map(|other| {
            let full = other.strip_prefix(&within)?;
            // In a subtask, a number alone names a sibling.
            let is_sibling = |number: &str| {
                !is_tag
                    && self
                        .numbers
                        .get(&around)
                        .is_some_and(|highest| number.parse::<u64>().is_ok_and(|number| number <= *highest))
            };
            match other.strip_prefix(&siblings).filter(|_| !is_tag) {
                Some(own) if own.parse::<u64>().is_ok() => Some(json!(own.parse::<u64>().unwrap_or_default())),
                _ if is_sibling(full) => None,
                _ => Some(full.parse::<u64>().map_or_else(|_| json!(full), |number| json!(number))),
            }
        });
        let record = new.record;
        let details = with_outcome(record.task.trim(), outcome(record), &time::rfc3339(record.updated_at));
        let mut task = Map::new();
        task.insert("id".into(), json!(own));
        task.insert("title".into(), json!(record.title));
        task.insert("description".into(), json!(record.success_criteria));
        task.insert("dependencies".into(), depends_on.collect::<Vec<_>>().into());
        task.insert("status".into(), json!(fate::word_for(STATUSES, record.status)));
        if !details.is_empty() {
            task.insert("details".into(), json!(details));
        }
        if let Some(priority) = record.priority.map(u8::from) {
            let name = ["critical", "high", "medium", "low"].get(usize::from(priority)).copied().unwrap_or("low");
            task.insert("priority".into(), json!(name));
        }
        self.new.entry(around).or_default().push((id.clone(), task));
        self.new_ids.insert(id.clone());
        Some(id)
    }

    fn add(&mut self, edits: &mut Edits) {
        let arounds: Vec<String> =
            self.new.keys().filter(|around| self.lists.contains_key(*around) || self.has(around)).cloned().collect();
        for around in arounds {
            let new = self.taken(&around);
            let Some(list) = self.lists.get(&around).copied() else {
                // A task without subtasks.
                let record = self.records.get(&around).copied().flatten();
                if let Some(object) = record.and_then(Object::of) {
                    let at = self.indentation(object.entries.last().map_or(0, |(_, value)| value.start)).to_owned();
                    let written = self.written(&Json::Array(new), &at);
                    edits.set_text(&object, "subtasks", written);
                }
                continue;
            };
            let elements = list.elements();
            let (before, indentation, at) = match (elements.first(), elements.last()) {
                (Some(first), Some(last)) => {
                    let before = &self.text[list.start + 1..first.start];
                    (before.to_owned(), self.indentation(first.start).to_owned(), last.range().end)
                }
                _ => {
                    let written = self.written(&Json::Array(new), self.indentation(list.start));
                    edits.replace(list.range(), written);
                    continue;
                }
            };
            let written: Vec<String> = new.iter().map(|task| self.written(task, &indentation)).collect();
            edits.insert(at, format!(",{before}{}", written.join(&format!(",{before}"))));
        }
    }
}

/// The text of a value. For a list, it is the lines of the list.
fn text_of(value: Option<Json>) -> String {
    let line = |value: Json| match value {
        Json::String(text) => text,
        Json::Null => String::new(),
        other => other.to_string(),
    };
    match value {
        Some(Json::Array(lines)) => lines.into_iter().map(line).collect::<Vec<_>>().join("\n"),
        value => value.map(line).unwrap_or_default(),
    }
}

/// What is written after the details of a task that has ended.
fn outcome(record: &Frame) -> Option<(Outcome, &str)> {
    let results = record.results.as_deref().unwrap_or_default();
    match record.status {
        FrameStatus::Completed => Some((Outcome::Results, results)),
        FrameStatus::Failed => Some((Outcome::Failed, results)),
        FrameStatus::Invalidated => {
            Some((Outcome::Cancelled, record.invalidation_reason.as_deref().unwrap_or_default()))
        }
        _ => None,
    }
}
