//! The plan of a stack as a file for people and for version control, `plan.md`: its text, and how a changed
//! file is read.
//!
//! Stacks on several machines exchange it, and their handles differ. So a line has an ID that every stack
//! keeps: the ID from the stack in which the frame was made. What a stack has written last is the common
//! version of a three-way merge ([`super::update`]).

use std::collections::{HashMap, HashSet};

use super::collector::Collector;
use super::update::{in_file, said_by};
use super::{Imported, Texts, in_conflict, task_frame};
use crate::error::{Error, Result};
use crate::frame::{Checksums, Frame, FrameStatus, Handle, Origin, Priority, marks};
use crate::text::{one_line, without_mark};
use crate::tree::Tree;

/// The name of the file in the folder of a stack, and of its plan in [`Origin::plan`].
pub const PLAN_FILE: &str = "plan.md";
/// The first line begins with this text.
const BEGINNING: &str = "<!-- callstack plan";
/// The first line.
const FIRST_LINE: &str = "<!-- callstack plan: [ ] planned, [>] in progress, [?] waits, [x] completed, [!] failed, [-] out of the plan. \
                          `callstack import` reads changes. Lines keep the notes at their ends. -->\n";
/// The name of the file in errors.
const WHAT: &str = "the plan file";
/// The largest number of frames in a file with finished trees. If there are more, the finished trees that
/// come first are left out.
pub const PLAN_FILE_FRAMES: usize = 10_000;
/// The number of blanks for a level.
const LEVEL: usize = 2;

/// The plan of a stack as the text of its plan file: all trees except those that are out of the plan, with
/// criteria, tasks and results.
///
/// ```
/// use callstack_core::{NewFrame, Stack, import};
///
/// let stack = Stack::in_memory();
/// let shop = stack.push(NewFrame::new("Shop"))?;
/// stack.plan(NewFrame::new("Cart").criteria("Totals are right").below(shop))?;
/// let text = stack.read(|tree| import::plan_file(tree))?;
/// let lines: Vec<&str> = text.lines().skip(2).map(|line| line.split(" <!-- ").next().unwrap()).collect();
/// assert_eq!(lines, ["- [>] Shop", "  - [ ] Cart", "    Criteria: Totals are right"]);
/// # Ok::<(), callstack_core::Error>(())
/// ```
pub fn plan_file(tree: &Tree) -> String {
    let mut text = format!("{FIRST_LINE}\n");
    for root in shown_roots(tree) {
        let mut pending = vec![(root, 0)];
        while let Some((handle, level)) = pending.pop() {
            if is_left_out(tree, handle) {
                continue;
            }
            write_frame(tree, handle, level, &mut text);
            pending.extend(tree.children(handle).iter().rev().map(|child| (*child, level + 1)));
        }
    }
    text
}

/// The roots whose trees are in the file: all unfinished roots, and the newest finished roots, as far as
/// there is room.
fn shown_roots(tree: &Tree) -> Vec<Handle> {
    let roots: Vec<Handle> = tree.roots().iter().copied().filter(|root| !is_left_out(tree, *root)).collect();
    if tree.len() <= PLAN_FILE_FRAMES {
        return roots;
    }
    let is_unfinished =
        |root: &&Handle| tree.node(**root).status().is_unfinished() || tree.node(**root).has_unfinished_below();
    let (unfinished, finished): (Vec<Handle>, Vec<Handle>) = roots.iter().partition(is_unfinished);
    let frames = |root: &Handle| tree.subtree(*root).count();
    let mut room = PLAN_FILE_FRAMES.saturating_sub(unfinished.iter().map(frames).sum());
    let fits = |root: &Handle| {
        let left = room.checked_sub(frames(root));
        room = left.unwrap_or(0);
        left.is_some()
    };
    let shown: HashSet<Handle> =
        finished.into_iter().rev().take_while(fits).chain(unfinished.iter().copied()).collect();
    roots.into_iter().filter(|root| shown.contains(root)).collect()
}

/// True for a frame that is out of the plan, and for an attempt that another one replaces.
fn is_left_out(tree: &Tree, handle: Handle) -> bool {
    tree.is_out_of_sight(handle) || tree.node(handle).retried_as().is_some()
}

fn write_frame(tree: &Tree, handle: Handle, level: usize, text: &mut String) {
    let record = tree.node(handle).record();
    let indent = " ".repeat(level * LEVEL);
    let mut notes = vec![id_of(tree, handle)];
    let after: Vec<String> = tree.newest_dependencies(handle).map(|other| id_of(tree, other)).collect();
    let labels: Vec<String> = record.labels.iter().map(|label| encoded(label)).collect();
    let lists = [("after", after), ("labels", labels)];
    let single = [
        ("priority", record.priority.map(|priority| u8::from(priority).to_string())),
        ("assignee", record.assignee.as_deref().map(encoded)),
    ];
    notes.extend(
        lists.into_iter().filter(|(_, list)| !list.is_empty()).map(|(key, list)| format!("{key}={}", list.join(","))),
    );
    notes.extend(single.into_iter().filter_map(|(key, value)| Some(format!("{key}={}", value?))));
    let mark = record.status.mark();
    text.push_str(&format!("{indent}- {mark} {} <!-- {} -->\n", one_line(&record.title), notes.join(" ")));
    let waits = match record.status {
        FrameStatus::Blocked => record.waits_for(),
        _ => "",
    };
    let results = if record.status.is_finished() { record.dense_results() } else { "" };
    for (name, value) in
        [("Criteria", &*record.success_criteria), ("Task", &*record.task), ("Waits", waits), ("Results", results)]
    {
        let lines: Vec<&str> = value.trim_end().lines().collect();
        match lines[..] {
            [] => {}
            [line] => text.push_str(&format!("{indent}  {name}: {line}\n")),
            _ => {
                text.push_str(&format!("{indent}  {name}:\n"));
                for line in lines {
                    text.push_str(format!("{indent}  > {line}").trim_end());
                    text.push('\n');
                }
            }
        }
    }
}

/// The ID of a frame in plan files.
fn id_of(tree: &Tree, handle: Handle) -> String {
    let record = tree.node(handle).record();
    match record.origin.as_deref() {
        Some(origin) if origin.plan == PLAN_FILE => encoded(&origin.id),
        // Other stacks that have imported the same file have this frame too.
        Some(origin) => encoded(&format!("{}/{}", origin.plan, origin.id)),
        None => format!("{handle}.{:x}", record.created_at),
    }
}

/// True if a frame has come to its stack from a plan file.
pub(super) fn has_come_from_one(record: &Frame) -> bool {
    record.origin.as_ref().is_some_and(|origin| origin.plan == PLAN_FILE)
}

/// A text as a word of the notes.
fn encoded(text: &str) -> String {
    let mut word = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b':' | b'/' | b'@' => word.push(byte.into()),
            // Two hyphens would end a comment.
            b'-' if !word.ends_with('-') => word.push('-'),
            _ => word.push_str(&format!("%{byte:02x}")),
        }
    }
    word
}

/// The text of a word of the notes.
fn decoded(word: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = word.as_bytes();
    while let [first, behind @ ..] = rest {
        let hex = behind.get(..2).filter(|_| *first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What a plan file has said last in a stack.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LastPlanFile {
    Unknown,
    Said(Vec<Frame>),
}

/// True if a text is a plan file.
pub(super) fn is_plan_file(text: &str) -> bool {
    without_mark(text).trim_start().starts_with(BEGINNING)
}

/// Reads a plan file.
///
/// # Errors
/// [`Error::Json`] for a mark of a merge conflict, and for an ID that two lines have.
pub(crate) fn read(text: &str) -> Result<Imported> {
    let text = without_mark(text);
    if let Some(error) = in_conflict(WHAT, text) {
        return Err(error);
    }
    let mut reader = Reader::default();
    for (number, line) in (1..).zip(text.lines()) {
        reader.line(number, line);
        if let Some(id) = reader.twice.take() {
            let message =
                format!("line {number} has the ID `{id}` of an earlier line; of both sides of a merge keep one line");
            return Err(Error::json(WHAT, message));
        }
    }
    let mut imported = reader.finish();
    imported.is_same_plan = true;
    imported.plan_file = Some(LastPlanFile::Unknown);
    Ok(imported)
}

/// An item of the list so far.
struct Item {
    indent: usize,
    line: usize,
    id: String,
    frame: Frame,
    results: String,
    waits: String,
    /// The text to which further lines belong.
    field: Option<Field>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Criteria,
    Task,
    Waits,
    Results,
}

const FIELDS: [(&str, Field); 4] =
    [("Criteria:", Field::Criteria), ("Task:", Field::Task), ("Waits:", Field::Waits), ("Results:", Field::Results)];

#[derive(Default)]
struct Reader {
    collector: Collector,
    items: Vec<Item>,
    /// The items around the current one, by their places.
    around: Vec<usize>,
    /// The IDs in notes.
    ids: HashSet<String>,
    /// An ID that two lines have.
    twice: Option<String>,
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) {
        let content = line.trim_start();
        let indent = line.len() - content.len();
        if let Some((status, words)) = item(content) {
            return self.item(number, indent, status, words);
        }
        let Some(last) = self.items.last_mut() else { return };
        let is_within = indent > last.indent;
        let field = FIELDS.iter().find_map(|(name, field)| Some((*field, content.strip_prefix(name)?)));
        match (field, last.field) {
            (Some((field, rest)), _) if is_within => {
                last.field = Some(field);
                last.add(field, rest.strip_prefix(' ').unwrap_or(rest), true);
            }
            (_, Some(field)) if is_within && content.starts_with('>') => {
                let rest = &content[1..];
                last.add(field, rest.strip_prefix(' ').unwrap_or(rest), false);
            }
            _ if content.trim().is_empty() || content.starts_with('#') || content.starts_with("<!--") => {}
            _ => self.collector.report(format!("line {number}"), "belongs to no entry of the plan; left out"),
        }
    }

    fn item(&mut self, line: usize, indent: usize, status: FrameStatus, words: &str) {
        self.around.retain(|place| self.items[*place].indent < indent);
        let parent = self.around.last().map(|place| self.items[*place].id.clone());
        let (title, notes) = split_notes(words);
        let mut notes = notes.split_whitespace();
        let id = notes.next().filter(|id| !id.contains('=')).map(decoded);
        self.twice = id.clone().filter(|id| !self.ids.insert(id.clone()));
        // A line that a person has added: its ID is made from its place and title.
        let id = id.unwrap_or_else(|| format!("{}/{title}", parent.as_deref().unwrap_or("plan")));
        let place = format!("line {line}");
        let title = if title.is_empty() {
            self.collector.report(&place, "has no title; its ID is used");
            id.clone()
        } else {
            title.to_owned()
        };
        let mut frame = task_frame(id.clone(), parent.as_deref(), status, Texts { title, ..Texts::default() });
        for note in notes {
            match note.split_once('=') {
                Some(("after", ids)) => frame.depends_on = ids.split(',').map(decoded).collect(),
                Some(("labels", labels)) => {
                    frame.labels = marks::labels(labels.split(',').map(decoded));
                }
                Some(("assignee", name)) => frame.assignee = marks::assignee(&decoded(name)),
                Some(("priority", number)) => frame.priority = number.parse().ok().and_then(Priority::new),
                _ => self.collector.report(&place, format!("the note `{note}` is unknown; left out")),
            }
        }
        self.around.push(self.items.len());
        self.items.push(Item { indent, line, id, frame, results: String::new(), waits: String::new(), field: None });
    }

    fn finish(mut self) -> Imported {
        for Item { line, frame, results, waits, .. } in self.items {
            let texts = Texts { title: frame.title, criteria: frame.success_criteria, results };
            let parent = frame.parent_session_id.as_deref();
            let whole = task_frame(frame.session_id, parent, frame.status, texts);
            let whole = Frame {
                task: frame.task,
                depends_on: frame.depends_on,
                labels: frame.labels,
                assignee: frame.assignee,
                priority: frame.priority,
                ..whole
            };
            let is_blocked = whole.status == FrameStatus::Blocked;
            let index = self.collector.add(whole, &format!("line {line}"));
            if is_blocked {
                let reason = if waits.trim().is_empty() { "The plan says that it waits." } else { waits.trim() };
                self.collector.wait(index, reason);
            }
        }
        self.collector.finish()
    }
}

impl Item {
    fn add(&mut self, field: Field, line: &str, is_first: bool) {
        let text = match field {
            Field::Criteria => &mut self.frame.success_criteria,
            Field::Task => &mut self.frame.task,
            Field::Waits => &mut self.waits,
            Field::Results => &mut self.results,
        };
        if is_first {
            text.clear();
        } else if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(line);
    }
}

/// The status and the words of an item.
fn item(content: &str) -> Option<(FrameStatus, &str)> {
    let rest = content.strip_prefix("- [").or_else(|| content.strip_prefix("* ["))?;
    let (mark, words) = rest.split_once(']')?;
    let status = match mark.trim() {
        "" => FrameStatus::Planned,
        "x" | "X" => FrameStatus::Completed,
        ">" | "/" => FrameStatus::InProgress,
        "?" => FrameStatus::Blocked,
        "!" => FrameStatus::Failed,
        "-" => FrameStatus::Invalidated,
        _ => return None,
    };
    Some((status, words.trim()))
}

/// The title of an item, and the notes after it.
fn split_notes(words: &str) -> (&str, &str) {
    let notes = words.strip_suffix("-->").and_then(|rest| rest.rsplit_once("<!--"));
    notes.map_or((words, ""), |(title, notes)| (title.trim(), notes.trim()))
}

/// The frames of a stack, as far as they are in a plan file or in what it said last. What it said last
/// becomes their origin.
pub(super) fn with_origins(tree: &Tree, plan: &Imported, last: &LastPlanFile) -> Tree {
    let (is_known, said) = match last {
        LastPlanFile::Unknown => (false, &[][..]),
        LastPlanFile::Said(frames) => (true, &frames[..]),
    };
    let ids: HashSet<&str> = plan.frames.iter().map(|frame| &*frame.session_id).collect();
    let order = in_file(said);
    let said: HashMap<&str, &Frame> = said.iter().map(|frame| (&*frame.session_id, frame)).collect();
    let mut with = tree.clone();
    for handle in tree.handles() {
        let id = decoded(&id_of(tree, handle));
        let origin = match said.get(&*id) {
            Some(frame) => Origin {
                status: frame.status,
                checksums: said_by(frame, frame.parent_session_id.as_deref()),
                after: order.after(&id).map(str::to_owned),
                ..Origin::default()
            },
            // The stack has left it out of the file.
            None if is_known && (ids.contains(&*id) || has_come_from_one(tree.node(handle).record())) => {
                Origin { gone: true, ..Origin::default() }
            }
            // What the file has said before is not known, so every difference is a conflict.
            None if ids.contains(&*id) => Origin { checksums: Checksums::UNKNOWN, ..Origin::default() },
            None => continue,
        };
        with.set_origin(handle, Origin { plan: PLAN_FILE.to_owned(), id, ..origin });
    }
    with
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A root with parts, all with this status.
    fn grown(root: &str, parts: usize, status: FrameStatus) -> Vec<Frame> {
        let frame = |id: String, parent: Option<&str>| Frame {
            title: id.clone(),
            session_id: id,
            parent_session_id: parent.map(str::to_owned),
            status,
            ..Frame::default()
        };
        let below = (0..parts).map(|part| frame(format!("{root} {part}"), Some(root)));
        [frame(root.to_owned(), None)].into_iter().chain(below).collect()
    }

    #[test]
    fn of_a_large_stack_the_first_finished_trees_are_left_out() {
        let trees = [("first", 4_000), ("second", 3_000), ("third", 3_500), ("open", 4_000)];
        let frames = trees.into_iter().flat_map(|(root, parts)| {
            let status = if root == "open" { FrameStatus::Planned } else { FrameStatus::Completed };
            grown(root, parts, status)
        });
        let (tree, _, _) = Tree::from_frames(&mut frames.collect::<Vec<_>>());
        let titles: Vec<String> =
            shown_roots(&tree).into_iter().map(|root| tree.node(root).title().to_owned()).collect();
        assert_eq!(titles, ["third", "open"], "and none that comes before one without room");
        let (tree, _, _) = Tree::from_frames(&mut grown("open", 12_000, FrameStatus::Planned));
        assert_eq!(shown_roots(&tree).len(), 1, "what is not finished is never left out");
    }

    #[test]
    fn words_of_the_notes_are_one_word_and_end_no_comment() {
        for text in ["f2.19a", "a b", "x--> y", "50%", "ä,=é", "--", ""] {
            let word = encoded(text);
            assert!(!word.contains(' ') && !word.contains("--") && !word.contains([',', '=']), "{word}");
            assert_eq!(decoded(&word), text);
        }
        assert_eq!(decoded("%zz%4"), "%zz%4");
    }
}
