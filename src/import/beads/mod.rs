//! Import of Beads' `issues.jsonl`: one issue per line, with typed dependencies.

mod links;
mod tables;
mod versions;

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use self::links::{Link, take_links};
pub(super) use self::tables::STATUSES;
use self::tables::{FLAGS, LinkKind, TYPES};
use self::versions::{Record, newest_versions};
use super::collector::Group;
use super::fate::{self, CANCELLED, FAILED, Fate};
use super::{Collector, Imported, Texts, take_assignee, take_labels, take_text, task_frame, task_of, time};
use crate::error::{Error, Result};
use crate::frame::{Frame, FrameStatus, Priority};
use crate::text::{has_half_characters, readable_json};

/// ID of the root frame, the parent of all issues without a parent.
const ROOT: &str = "beads";

/// An issue has at least one of these keys. Other records with an `id` are lines of a log.
const OF_ISSUES: [&str; 6] = ["title", "status", "issue_type", "priority", "description", "dependencies"];

/// The keys of more than one word that decide what happens to an issue.
const KEYS: [&str; 12] = [
    "acceptance_criteria",
    "close_reason",
    "closed_at",
    "created_at",
    "defer_until",
    "delete_reason",
    "deleted_at",
    "is_template",
    "issue_type",
    "no_history",
    "updated_at",
    "wisp_type",
];

/// Reads Beads issues, one JSON object per line, or a JSON list of them.
///
/// One root frame, `beads`, is the parent of all issues without a parent, if there are any. The fields of an
/// issue become:
///
/// | Beads | frame |
/// |---|---|
/// | dependency of type `parent-child`, `parent`, or else a dotted ID (`x.1` is below `x`) | parent |
/// | dependencies of the types `blocks` and `waits-for` | dependencies |
/// | `acceptance_criteria`, or else `description` | success criteria |
/// | `description` (if there are also acceptance criteria), `design`, `notes` | task |
/// | `priority` | priority |
/// | `labels`, `assignee` | labels, assignee |
/// | `close_reason`, if the issue is closed | results |
/// | `closed_at`, or else `updated_at` | time of the last change |
///
/// Statuses, types, flags and times decide what an issue becomes: work, work that waits until a person
/// answers or until `defer_until`, a record that is not work, or a frame that is finished or out of the plan.
/// What is unknown waits, and is reported. A link that cannot be met, to another project or to an issue that
/// is not in the file, makes its issue wait. If there are several versions of an issue, the newest one
/// counts. The page `docs/import.md` has the tables.
///
/// All other keys, and also `closed_at` and `updated_at`, are kept unchanged in [`Frame::extra`]. Siblings
/// keep the order of the file; [`read`](super::read) assigns handles by `created_at`.
///
/// An issue's ID can have the form of a handle, such as `f2`. It is kept, and a note in
/// [`Imported::problems`] says how to name the frame: by its handle, or as `id:f2`.
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
    collector.is_strict = true;
    collector.add_made(
        Frame { session_id: ROOT.into(), title: "Issues".into(), ..Frame::default() },
        Group::Plan,
        ROOT,
    );
    let records = newest_versions(read_records(text, &mut collector), &mut collector);
    let mut plan = Plan::default();
    for record in records {
        plan.read(record, &mut collector);
    }
    plan.link(&mut collector);
    collector.finish()
}

/// Like [`beads`], but returns an error if no line is an issue.
pub(super) fn issues(text: &str) -> Result<Imported> {
    let imported = beads(text);
    match (&imported.frames[..], imported.problems.first()) {
        ([], Some(problem)) => Err(Error::json("the Beads file", format!("no line is an issue ({problem})"))),
        _ => Ok(imported),
    }
}

/// True if an object has the keys of an issue.
pub(super) fn is_issue(object: &Map<String, Value>) -> bool {
    object.contains_key("id") && OF_ISSUES.iter().any(|key| object.contains_key(*key))
        || object.get("_type").is_some_and(Value::is_string)
}

/// The records of a file that is a JSON list, one object on several lines, or lines.
fn read_records(text: &str, collector: &mut Collector) -> Vec<Record> {
    let readable = readable_json(text);
    let listed = match serde_json::from_str(&readable) {
        Ok(Value::Array(list)) => Some(list),
        Ok(Value::Object(mut object)) => match object.remove("issues") {
            Some(Value::Array(list)) => Some(list),
            Some(other) => {
                object.insert("issues".into(), other);
                Some(vec![object.into()])
            }
            None => Some(vec![object.into()]),
        },
        _ => None,
    };
    if let Some(listed) = listed {
        if has_half_characters(text) {
            let is_one_line = text.trim().lines().count() == 1;
            report_half_character(if is_one_line { "line 1" } else { "the file" }, collector);
        }
        let is_alone = listed.len() == 1;
        let place = |index: usize| if is_alone { "line 1".to_owned() } else { format!("issue {}", index + 1) };
        return { listed.into_iter().enumerate() }
            .filter_map(|(index, value)| read_record(value, place(index), None, collector))
            .collect();
    }
    let mut records = Vec::new();
    let mut conflict = None;
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let place = format!("line {number}");
        if let Some(mark) = conflict_mark(line) {
            collector
                .lose(&place, format!("is a mark of a merge conflict (`{}`), which is not settled", &line[..mark]));
            conflict = (!line.starts_with('>')).then(|| conflict.unwrap_or(number));
            continue;
        }
        match serde_json::from_str(&readable_json(line)) {
            Ok(value) => {
                if has_half_characters(line) {
                    report_half_character(&place, collector);
                }
                records.extend(read_record(value, place, conflict, collector));
            }
            Err(error) => {
                let reason = error.to_string();
                let reason = reason.split(" at line ").next().unwrap_or_default();
                collector.lose(place, format!("is not JSON ({reason} at column {}); left out", error.column()));
            }
        }
    }
    records
}

fn report_half_character(place: &str, collector: &mut Collector) {
    collector.report(place, "has one half of a character as an escape; read as U+FFFD");
}

/// True if an issue is closed or deleted, no matter for what reason.
fn is_over(issue: &Map<String, Value>) -> bool {
    let status = issue.get("status").and_then(Value::as_str).and_then(|status| fate::of(STATUSES, status));
    let is_deleted = issue.get("deleted_at").is_some_and(|time| !time.is_null());
    is_deleted || matches!(status, Some(Fate::Finished | Fate::Removed))
}

/// Gives the keys of an issue the names that Beads writes, because other programs write `deferUntil` or
/// `type`.
fn with_names_of_beads(issue: Map<String, Value>) -> Map<String, Value> {
    let names: HashSet<String> = issue.keys().cloned().collect();
    let renamed = |key: String| {
        let snake = fate::snake_case(&key);
        match key.as_str() {
            "type" if !names.contains("issue_type") => "issue_type".to_owned(),
            _ if KEYS.contains(&snake.as_str()) && !names.contains(&snake) => snake,
            _ => key,
        }
    };
    issue.into_iter().map(|(key, value)| (renamed(key), value)).collect()
}

/// The length of the mark of a merge conflict with which a line begins.
pub(super) fn conflict_mark(line: &str) -> Option<usize> {
    let is_mark = |mark: &str| {
        let rest = line.strip_prefix(mark);
        rest.is_some_and(|rest| rest.trim_end().is_empty() || rest.starts_with(' '))
    };
    ["<<<<<<<", "|||||||", "=======", ">>>>>>>"].into_iter().find(|mark| is_mark(mark)).map(str::len)
}

fn read_record(value: Value, place: String, conflict: Option<usize>, collector: &mut Collector) -> Option<Record> {
    let Value::Object(issue) = value else {
        collector.lose(place, "is not an object; left out");
        return None;
    };
    let mut issue = with_names_of_beads(issue);
    let kind = issue.get("_type").and_then(Value::as_str).unwrap_or("issue").to_owned();
    if kind == "memory" && !issue.contains_key("id") {
        let key = issue.get("key").and_then(Value::as_str).unwrap_or_default().to_owned();
        let id = if key.is_empty() { format!("memory/{place}") } else { format!("memory/{key}") };
        issue.insert("id".into(), id.into());
        issue.entry("title").or_insert(key.into());
        let value = issue.get("value").and_then(Value::as_str).unwrap_or_default().to_owned();
        issue.entry("description").or_insert(value.into());
    }
    let id = match issue.remove("id") {
        Some(Value::String(id)) if !id.trim().is_empty() => id,
        Some(Value::Number(id)) => id.to_string(),
        _ => {
            collector.lose(place, "has no `id`; left out");
            return None;
        }
    };
    if kind != "memory" && !OF_ISSUES.iter().any(|key| issue.contains_key(*key)) {
        collector.report(place, "is not an issue: it has no title, no status and no type; left out");
        return None;
    }
    let number = |key: &str| issue.get(key).and_then(Value::as_str).and_then(time::lenient_milliseconds);
    let updated_at = number("updated_at").or_else(|| number("closed_at"));
    Some(Record { id, issue, place, updated_at, conflict, is_undecided: None })
}

/// The issues of a file, as far as they are read.
#[derive(Default)]
struct Plan {
    links: Vec<Link>,
    /// The dependencies of issues so far.
    linked: HashSet<(usize, String)>,
    /// The issues with a parent.
    parents: HashMap<usize, String>,
    /// Further parents of issues: a frame has only one parent.
    second_parents: Vec<(usize, String)>,
    /// The issues that do not block others: pinned and deleted ones.
    no_blockers: HashSet<String>,
    /// Why conditional links are met, by the ID of the issue that had to fail.
    closed: HashMap<String, String>,
    /// The issues below which nothing is work, each with the word for that.
    no_work_below: Vec<(usize, &'static str)>,
}

impl Plan {
    /// Reads an issue and adds its frame.
    fn read(&mut self, record: Record, collector: &mut Collector) {
        let Record { id, mut issue, place, is_undecided, .. } = record;
        let place = place.as_str();
        let title = take_text(&mut issue, "title", place, collector).filter(|title| !title.trim().is_empty());
        let title = title.unwrap_or_else(|| {
            collector.report(place, "has no title; its ID is used");
            id.clone()
        });
        let (criteria, description) = take_criteria(&mut issue, place, collector);
        let [design, notes] =
            ["design", "notes"].map(|key| take_text(&mut issue, key, place, collector).unwrap_or_default());
        let parts = [("", description.as_str()), ("Design: ", design.as_str()), ("Notes: ", notes.as_str())];
        let priority = take_priority(&mut issue, place, collector);
        let labels = take_labels(&mut issue, place, collector);
        let assignee = take_assignee(&mut issue, place, collector);
        let reason = take_text(&mut issue, "close_reason", place, collector).unwrap_or_default();
        let times = take_times(&mut issue, place, collector);
        let [created_at, closed_at, updated_at] = times.map(|(key, text)| read_time(key, text, place, collector));
        let links = take_links(&id, &mut issue, place, collector);
        let Reading { fates, unknown } = read_fates(&mut issue, place, collector);

        let (failed, cancelled) = (fate::behind(FAILED, &reason), fate::behind(CANCELLED, &reason));
        let (status, results) = match status_of(&fates) {
            // It is not known whether the issue is closed.
            status if is_undecided.is_some() && !status.is_unfinished() => (FrameStatus::Planned, String::new()),
            FrameStatus::Completed if failed.is_some() => (FrameStatus::Failed, failed.unwrap_or_default().to_owned()),
            FrameStatus::Completed if cancelled.is_some() => (FrameStatus::Invalidated, String::new()),
            status => (status, reason.clone()),
        };
        let mut frame = task_frame(id.clone(), Some(ROOT), status, Texts { title, criteria, results });
        frame.created_at = created_at.unwrap_or_default();
        frame.updated_at = closed_at.or(updated_at).unwrap_or(frame.created_at);
        if status == FrameStatus::Invalidated {
            frame.invalidated_at = Some(frame.updated_at);
            let said = match cancelled {
                Some(rest) => rest,
                None => issue.get("delete_reason").and_then(Value::as_str).unwrap_or("deleted"),
            };
            frame.invalidation_reason = Some(said.to_owned());
        }
        frame.task = task_of(&parts, place, collector);
        frame.priority = priority;
        frame.labels = labels;
        frame.assignee = assignee;
        frame.no_work = fates.iter().find_map(|fate| match fate {
            Fate::NoWork(word) | Fate::NoWorkBelow(word) => Some((*word).to_owned()),
            _ => None,
        });
        let is_pinned = fates.contains(&Fate::NoWork(tables::PINNED));
        if fates.contains(&Fate::Removed) && is_undecided.is_none() || is_pinned {
            self.no_blockers.insert(id.clone());
        }
        if status_of(&fates) == FrameStatus::Completed && is_undecided.is_none() {
            self.closed.insert(id, reason);
        }
        let until = issue.get("defer_until").filter(|value| !value.is_null()).cloned();
        frame.extra = issue;
        let index = collector.add(frame, place);

        self.no_work_below.extend(fates.iter().find_map(|fate| match fate {
            Fate::NoWorkBelow(word) => Some((index, *word)),
            _ => None,
        }));
        self.wait(index, &fates, unknown, until, place, collector);
        let word = fates.iter().find_map(|fate| if let Fate::NoWork(word) = fate { Some(*word) } else { None });
        if let Some(word) = word.filter(|word| !tables::HOLDERS.contains(word)) {
            collector.told_when_over.insert(index);
            if tables::GATES.contains(&word) && !is_pinned {
                collector.wait(index, format!("It is a {word}: answer when it is open."));
            }
        }
        if let Some(reason) = is_undecided {
            collector.wait(index, reason);
        }
        self.links.extend(links);
    }

    /// Notes why the issue at a place must not begin.
    fn wait(
        &self,
        index: usize,
        fates: &[Fate],
        unknown: Vec<String>,
        until: Option<Value>,
        place: &str,
        collector: &mut Collector,
    ) {
        unknown.into_iter().for_each(|reason| collector.wait(index, reason));
        let reasons: Vec<&str> = { fates.iter() }
            .filter_map(|fate| if let Fate::Waits(reason) = fate { Some(*reason) } else { None })
            .collect();
        let Some(until) = until else {
            reasons.into_iter().for_each(|reason| collector.wait(index, reason));
            return;
        };
        let said = until.as_str().map_or_else(|| until.to_string(), str::to_owned);
        match time::of_value(&until) {
            // The agent or person that has begun it elsewhere continues, and no worker gets it.
            Some(time) if fates.contains(&Fate::Begun) => {
                let reason = format!("It is in progress elsewhere, and deferred in Beads until {said}.");
                collector.goes_on_at(index, time, reason);
            }
            Some(time) => {
                collector.wait_until(index, time, format!("It is deferred in Beads until {said}."));
                let others = reasons.into_iter().filter(|reason| *reason != tables::DEFERRED);
                others.for_each(|reason| collector.wait(index, reason));
            }
            None => {
                collector.report(
                    place,
                    format!("`defer_until` is `{said}`, which is not an RFC 3339 time; it waits for a person"),
                );
                collector.wait(index, format!("It is deferred in Beads until `{said}`, which is not a time."));
            }
        }
    }

    /// Connects the issues, which have all been read.
    fn link(mut self, collector: &mut Collector) {
        for link in std::mem::take(&mut self.links) {
            self.follow(link, collector);
        }
        for index in 0..collector.frames.len() {
            let id = &collector.frames[index].session_id;
            if self.parents.contains_key(&index) || id == ROOT {
                continue;
            }
            // The nearest one of the issues whose ID this ID continues.
            let dots = id.char_indices().rev().filter(|(_, character)| *character == '.');
            let above = dots.map(|(at, _)| &id[..at]).find(|above| collector.places.contains_key(*above));
            if let Some(above) = above.map(str::to_owned) {
                collector.frames[index].parent_session_id = Some(above.clone());
                self.parents.insert(index, above);
            }
        }
        self.mark_below(collector);
        let mut seen = HashSet::new();
        for (index, parent) in std::mem::take(&mut self.second_parents) {
            self.follow_second_parent(index, &parent, &mut seen, collector);
        }
    }

    /// An issue waits for what its second parent waits for, and for what the parents of that parent wait for.
    /// `seen`: the pairs of an issue and a parent above it that are done.
    fn follow_second_parent(
        &mut self,
        index: usize,
        parent: &str,
        seen: &mut HashSet<(usize, usize)>,
        collector: &mut Collector,
    ) {
        let mut above = collector.places.get(parent).copied();
        while let Some(place) = above.filter(|place| seen.insert((index, *place))) {
            let parent = &collector.frames[place];
            if parent.status.is_unfinished() {
                let (id, needs) = (parent.session_id.clone(), parent.depends_on.clone());
                if collector.waits_at(place) {
                    collector.wait(index, format!("It is also below `{id}`, which waits."));
                }
                let new = needs.into_iter().filter(|other| self.linked.insert((index, other.clone())));
                collector.frames[index].depends_on.extend(new);
            }
            above = self.parents.get(&place).and_then(|above| collector.places.get(above)).copied();
        }
    }

    /// What is below a template or a wisp is not work either.
    fn mark_below(&self, collector: &mut Collector) {
        let mut children: HashMap<&str, Vec<usize>> = HashMap::new();
        let second = self.second_parents.iter().map(|(index, parent)| (index, parent));
        for (index, parent) in self.parents.iter().chain(second) {
            children.entry(parent).or_default().push(*index);
        }
        let mut marked = HashSet::new();
        let mut pending = self.no_work_below.clone();
        while let Some((index, word)) = pending.pop() {
            if marked.insert(index) {
                collector.records.insert(index);
                collector.frames[index].no_work.get_or_insert_with(|| word.to_owned());
                let below = children.get(collector.frames[index].session_id.as_str());
                pending.extend(below.into_iter().flatten().map(|child| (*child, word)));
            }
        }
    }

    /// Makes a link a parent, a dependency, or a reason to wait.
    fn follow(&mut self, link: Link, collector: &mut Collector) {
        let Link { from, to, kind, place } = link;
        let Some(index) = collector.places.get(&from).copied() else {
            collector.report(place, format!("has a dependency of `{from}`, which is not in the file; left out"));
            return;
        };
        let is_over = !collector.frames[index].status.is_unfinished();
        let to = to.map(|to| self.without_type(to, &place, collector));
        let is_known = to.as_ref().is_ok_and(|to| collector.places.contains_key(to) && to != ROOT);
        match (to, kind) {
            (_, LinkKind::Loose) => {}
            (Ok(to), LinkKind::Parent) if is_known => match self.parents.get(&index) {
                Some(parent) if *parent == to => {}
                Some(_) => {
                    collector.report(&from, format!("has a second parent, `{to}`; the first one is used"));
                    self.second_parents.push((index, to));
                }
                None => {
                    collector.frames[index].parent_session_id = Some(to.clone());
                    self.parents.insert(index, to);
                }
            },
            (Ok(to), LinkKind::OnlyIfFailed) => self.follow_condition(index, &from, &to, collector),
            (Ok(to), _) if self.no_blockers.contains(&to) => {
                let is_removed = collector.frames[collector.places[&to]].status == FrameStatus::Invalidated;
                let what = if is_removed { "deleted" } else { "pinned" };
                collector
                    .report(&from, format!("depends on `{to}`, which is {what} and blocks nothing in Beads; left out"));
            }
            (Ok(to), _) if is_known => {
                let target = collector.frames[collector.places[&to]].status;
                let has_ended_otherwise = matches!(target, FrameStatus::Failed | FrameStatus::Invalidated);
                // The reason does not matter: a closed issue blocks nothing in Beads.
                if has_ended_otherwise && !is_over && self.closed.contains_key(&to) {
                    let word = if target == FrameStatus::Failed { "failed" } else { "cancelled" };
                    collector.report(
                        &from,
                        format!("depends on `{to}`, which is closed as {word} and blocks nothing in Beads; left out"),
                    );
                } else if self.linked.insert((index, to.clone())) {
                    collector.frames[index].depends_on.push(to);
                }
            }
            (to, kind) => {
                let said = match (&to, kind) {
                    (Err(unreadable), _) => format!("a dependency that cannot be read, {unreadable}"),
                    (Ok(to), LinkKind::Parent) => format!("its parent `{to}`, which is not in the file"),
                    (Ok(to), _) if to.starts_with("external:") => format!("`{to}`, which is in another project"),
                    (Ok(to), _) => format!("`{to}`, which is not in the file"),
                };
                if is_over {
                    collector.report(&from, format!("depends on {said}; left out, because it is finished"));
                } else {
                    collector.report(&from, format!("depends on {said}; it waits until a person answers"));
                    collector.wait(index, format!("It depends on {said}."));
                }
            }
        }
    }

    /// The ID in a link such as `after:ex-1`, whose type is not known.
    fn without_type(&self, to: String, place: &str, collector: &mut Collector) -> String {
        let Some((word, id)) = to.split_once(':').map(|(word, id)| (word, id.trim())) else { return to };
        if collector.places.contains_key(&to) || !collector.places.contains_key(id) {
            return to;
        }
        collector
            .report(place, format!("the type of dependency `{word}` is unknown; it waits for the issue that it names"));
        id.to_owned()
    }

    /// A link to an issue that must have failed before this one begins.
    fn follow_condition(&self, index: usize, from: &str, to: &str, collector: &mut Collector) {
        if !collector.frames[index].status.is_unfinished() {
            return;
        }
        let title = collector.places.get(to).map(|place| collector.frames[*place].title.clone());
        let named = title.map_or_else(|| format!("`{to}`"), |title| format!("`{to}` ({title})"));
        match self.closed.get(to) {
            Some(reason) if tables::is_failure(reason) => {}
            Some(reason) => {
                let said = if reason.trim().is_empty() {
                    "without a reason".into()
                } else {
                    format!("as `{}`", reason.trim())
                };
                collector.wait(index, format!("It begins only if {named} fails, and that was closed {said}."));
            }
            None => {
                if !collector.places.contains_key(to) {
                    collector.report(
                        from,
                        format!(
                            "begins only if `{to}` fails, which is not in the file; it waits until a person answers"
                        ),
                    );
                }
                collector.wait(index, format!("It begins only if {named} fails."));
            }
        }
    }
}

/// What an issue says about itself.
struct Reading {
    fates: Vec<Fate>,
    /// Words that Beads does not know, as reasons why the issue waits.
    unknown: Vec<String>,
}

/// Reads the status, the type and the flags of an issue. The type and the flags stay in it, and the status
/// does not.
fn read_fates(issue: &mut Map<String, Value>, place: &str, collector: &mut Collector) -> Reading {
    let mut reading = Reading { fates: Vec::new(), unknown: Vec::new() };
    let said = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let status = issue.remove("status").filter(|value| !value.is_null()).map(|value| said(&value));
    let kind = issue.get("issue_type").filter(|value| !value.is_null()).map(said);
    for (what, table, word) in [("status", STATUSES, status), ("type", TYPES, kind)] {
        let Some(word) = word.filter(|word| !word.trim().is_empty()) else { continue };
        match fate::of(table, &word) {
            Some(fate) => reading.fates.push(fate),
            None => {
                collector.report(place, format!("the {what} `{word}` is unknown; it waits until a person answers"));
                reading.unknown.push(format!("Its {what} in Beads is `{word}`."));
            }
        }
    }
    for (key, fate) in FLAGS {
        let is_set = |value: &Value| {
            !matches!(value, Value::Null | Value::Bool(false)) && *value != "" && *value != "false" && *value != 0
        };
        if issue.get(*key).is_some_and(is_set) {
            reading.fates.push(*fate);
        }
    }
    if issue.get("_type").is_some_and(|kind| kind == "memory") {
        reading.fates.push(Fate::NoWork("memory"));
    } else if let Some(kind) = issue.get("_type").filter(|kind| **kind != "issue") {
        reading.unknown.push(format!("It is a record of the kind `{}`.", said(kind)));
        collector.report(
            place,
            format!("is a record of the unknown kind `{}`; it waits until a person answers", said(kind)),
        );
    }
    reading
}

/// The status of a frame, before it is known what it waits for. An issue that has ended stays ended.
fn status_of(fates: &[Fate]) -> FrameStatus {
    if fates.contains(&Fate::Removed) {
        FrameStatus::Invalidated
    } else if fates.contains(&Fate::Finished) {
        FrameStatus::Completed
    } else if fates.contains(&Fate::Begun) {
        FrameStatus::InProgress
    } else {
        FrameStatus::Planned
    }
}

/// Takes the acceptance criteria and the description out of an issue. If there are no criteria, the
/// description takes their place.
fn take_criteria(issue: &mut Map<String, Value>, place: &str, collector: &mut Collector) -> (String, String) {
    let [criteria, description] =
        ["acceptance_criteria", "description"].map(|key| take_text(issue, key, place, collector).unwrap_or_default());
    if criteria.trim().is_empty() { (description, String::new()) } else { (criteria, description) }
}

fn take_priority(issue: &mut Map<String, Value>, place: &str, collector: &mut Collector) -> Option<Priority> {
    let value = issue.remove("priority").filter(|value| !value.is_null())?;
    let number = value.as_u64().or_else(|| value.as_str()?.trim().trim_start_matches(['P', 'p']).parse().ok());
    let priority = number.and_then(Priority::new);
    if priority.is_none() {
        collector.report(place, format!("the priority `{value}` is not a number from 0 to 4; left out"));
    }
    priority
}

/// Takes the texts of the times out of an issue, each with its key. `closed_at` and `updated_at` are also
/// kept in the issue, because a frame has only one time for both.
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

/// Reads a time as milliseconds since the Unix epoch.
fn read_time(key: &str, text: Option<String>, place: &str, collector: &mut Collector) -> Option<u64> {
    let text = text?;
    let read = time::lenient_milliseconds(&text);
    if read.is_none() {
        collector.report(place, format!("`{key}` is `{text}`, which is not an RFC 3339 time; ignored"));
    }
    read
}
