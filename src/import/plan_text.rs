//! A plan as a text that a person edits, and the commands that make the plan what the edited text says.

use std::collections::{HashMap, HashSet};
use std::fmt;

use crate::frame::{FrameEdit, FrameRef, FrameStatus, Handle, NewFrame, Parent};
use crate::text::one_line;
use crate::tree::{Command, Tree};

/// The reason of frames whose lines were removed.
const REMOVED: &str = "Left out of the edited plan";
/// The blanks of a level.
const LEVEL: usize = 2;
/// The most lines of a text.
const MOST_LINES: usize = 10_000;

/// Why an edited plan cannot be followed. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanTextError {
    /// The number of the line, counted from 1; 0 for a line that is missing.
    pub line: usize,
    /// What is wrong, and what to do.
    pub message: String,
}

impl PlanTextError {
    /// The plan is not the one that was edited any more.
    pub(crate) fn changed() -> Self {
        Self { line: 0, message: "the plan has changed meanwhile; edit it as it is now".to_owned() }
    }
}

impl fmt::Display for PlanTextError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => formatter.write_str(&self.message),
            line => write!(formatter, "line {line}: {}", self.message),
        }
    }
}

impl std::error::Error for PlanTextError {}

/// A line of a plan.
#[derive(Debug, Clone)]
struct Entry {
    number: usize,
    level: usize,
    mark: Option<String>,
    title: String,
    handle: Option<Handle>,
    depends_on: Vec<Handle>,
}

/// The plan below a frame, that frame not included, or all unfinished trees, as a check list: `- [ ] Routes (f3) after f2`. Frames that are out of
/// the plan are left out, and what is below frames that have ended.
pub fn plan_text(tree: &Tree, below: Option<Handle>) -> String {
    let tops = below.map_or_else(|| tree.unfinished_roots(), |below| tree.children(below).to_vec());
    let mut text = String::new();
    let mut pending: Vec<(Handle, usize)> = tops.into_iter().rev().map(|top| (top, 0)).collect();
    while let Some((handle, level)) = pending.pop() {
        let node = tree.node(handle);
        if tree.is_out_of_sight(handle) || node.retried_as().is_some() {
            continue;
        }
        let mark = node.status().mark();
        text.push_str(&format!("{}- {mark} {} ({handle})", " ".repeat(level * LEVEL), one_line(node.title())));
        let needed: Vec<String> = tree.newest_dependencies(handle).map(|other| other.to_string()).collect();
        if node.status() == FrameStatus::Planned && !needed.is_empty() {
            text.push_str(&format!(" after {}", needed.join(", ")));
        }
        text.push('\n');
        if node.status().is_unfinished() || node.has_unfinished_below() {
            pending.extend(tree.children(handle).iter().rev().map(|child| (*child, level + 1)));
        }
    }
    text
}

/// The commands that make the plan what an edited text says. `before` is the text of [`plan_text`] for the same frame, `after` the text as it is
/// now. Lines that begin with `#` say nothing. A line without a handle is a new frame; one that is gone takes its frame out of the plan.
///
/// # Errors
/// If a line cannot be read, names an unknown frame, or one twice; if a frame that has begun or ended is moved, marked or removed.
pub fn plan_commands(
    tree: &Tree,
    below: Option<Handle>,
    before: &str,
    after: &str,
) -> Result<Vec<Command>, PlanTextError> {
    let (before, mut after) = (entries(before)?, entries(after)?);
    let known: HashMap<Handle, &Entry> = before.iter().filter_map(|entry| Some((entry.handle?, entry))).collect();
    let mut seen = HashSet::new();
    let mut commands = Vec::new();
    for entry in &after {
        let Some(handle) = entry.handle else { continue };
        let Some(was) = known.get(&handle) else {
            return Err(at(entry, format!("{handle} is no frame of this plan; a new frame has no handle")));
        };
        if !seen.insert(handle) {
            return Err(at(entry, format!("{handle} is there twice")));
        }
        if entry.mark != was.mark {
            return Err(at(
                entry,
                format!(
                    "marks are not edited: `callstack done {handle} RESULTS` completes {handle}, `callstack activate {handle}` begins it"
                ),
            ));
        }
    }
    let is_planned = |handle: Handle| tree.node(handle).status() == FrameStatus::Planned;
    let is_unbegun = |handle: Handle| is_planned(handle) || tree.node(handle).record().waits_to_begin();
    let removed: Vec<Handle> =
        before.iter().filter_map(|entry| entry.handle).filter(|handle| !seen.contains(handle)).collect();
    if let Some(begun) = removed.iter().find(|handle| !is_unbegun(**handle)) {
        let message = format!(
            "the line of {begun} is gone, but it has begun: put it back; `callstack invalidate {begun} REASON` takes it out of the plan"
        );
        return Err(PlanTextError { line: 0, message });
    }
    // New frames first, so that others can stand below them and depend on them.
    let mut next = tree.len();
    let parents = parents(&mut after, below, |_| {
        next += 1;
        Handle::from_index(next - 1)
    })?;
    for (entry, parent) in after.iter().zip(&parents).filter(|(entry, _)| !entry.is_known(&known)) {
        if entry.title.is_empty() {
            return Err(at(entry, "a new frame needs a title".to_owned()));
        }
        let mut frame = NewFrame::new(entry.title.clone());
        frame.parent = parent.map_or(Parent::Root, |parent| Parent::Frame(parent.into()));
        commands.push((entry.number, Command::Plan(frame)));
    }
    for entry in &after {
        let Some(handle) = entry.handle else { continue };
        let was = known.get(&handle);
        let mut edit = FrameEdit::default();
        if let Some(was) = was
            && was.title != entry.title
        {
            edit.title = Some(entry.title.clone());
        }
        let needed_before = was.map_or(&[][..], |was| &was.depends_on);
        if entry.depends_on != needed_before {
            if was.is_some() && !is_planned(handle) {
                return Err(at(entry, format!("{handle} has begun: what it needs stays as it was")));
            }
            edit.depends_on = Some(entry.depends_on.iter().map(|other| (*other).into()).collect());
        }
        if edit != FrameEdit::default() {
            commands.push((entry.number, Command::Edit { frame: handle.into(), edit }));
        }
    }
    moves(tree, below, (&before, &after), &parents, &mut commands)?;
    let mut commands: Vec<Command> = commands.into_iter().map(|(_, command)| command).collect();
    if !removed.is_empty() {
        let frames = removed.into_iter().map(FrameRef::from).collect();
        commands.push(Command::InvalidateAll { frames, reason: REMOVED.to_owned(), open_too: false });
    }
    Ok(commands)
}

impl Entry {
    fn is_known(&self, known: &HashMap<Handle, &Entry>) -> bool {
        self.handle.is_some_and(|handle| known.contains_key(&handle))
    }
}

/// The parent of each entry. Entries without a handle get one from `name`.
fn parents(
    entries: &mut [Entry],
    below: Option<Handle>,
    mut name: impl FnMut(&Entry) -> Option<Handle>,
) -> Result<Vec<Option<Handle>>, PlanTextError> {
    let mut above: Vec<Handle> = Vec::new();
    let mut parents = Vec::new();
    for entry in entries {
        if entry.level > above.len() {
            return Err(at(entry, "it is indented by more than one level; a level has two blanks".to_owned()));
        }
        above.truncate(entry.level);
        parents.push(above.last().copied().or(below));
        if entry.handle.is_none() {
            entry.handle = name(entry);
        }
        above.extend(entry.handle);
    }
    Ok(parents)
}

/// Adds the moves: to other parents, and to other places among siblings.
fn moves(
    tree: &Tree,
    below: Option<Handle>,
    (before, after): (&[Entry], &[Entry]),
    parents: &[Option<Handle>],
    commands: &mut Vec<(usize, Command)>,
) -> Result<(), PlanTextError> {
    let is_movable =
        |handle: Handle| handle.index() >= tree.len() || tree.node(handle).status() == FrameStatus::Planned;
    // The visible children of each frame as they are when the commands so far are carried out.
    let mut children: HashMap<Option<Handle>, Vec<Handle>> = HashMap::new();
    let mut was_below = HashMap::new();
    let mut copy = before.to_vec();
    for (entry, parent) in before.iter().zip(self::parents(&mut copy, below, |entry| entry.handle)?) {
        if let Some(handle) = entry.handle {
            children.entry(parent).or_default().push(handle);
            was_below.insert(handle, parent);
        }
    }
    let mut wanted: HashMap<Option<Handle>, Vec<&Entry>> = HashMap::new();
    let mut order = Vec::new();
    for (entry, parent) in after.iter().zip(parents) {
        if !wanted.contains_key(parent) {
            order.push(*parent);
        }
        wanted.entry(*parent).or_default().push(entry);
        if let Some(handle) = entry.handle.filter(|handle| !was_below.contains_key(handle)) {
            children.entry(*parent).or_default().push(handle);
            was_below.insert(handle, *parent);
        }
    }
    for parent in order {
        let entries = &wanted[&parent];
        for (index, entry) in entries.iter().enumerate().rev() {
            let Some(handle) = entry.handle else { continue };
            let next = entries.get(index + 1).and_then(|next| next.handle);
            let old = was_below.get(&handle).copied().flatten();
            let siblings = children.entry(old).or_default();
            let place = siblings.iter().position(|sibling| *sibling == handle);
            let is_there = old == parent && place.is_some_and(|place| siblings.get(place + 1).copied() == next);
            if is_there {
                continue;
            }
            if !is_movable(handle) {
                if old == parent {
                    // Those that can move are put around it.
                    continue;
                }
                return Err(at(entry, format!("{handle} has begun, and stays where it is")));
            }
            if let Some(place) = place {
                siblings.remove(place);
            }
            let siblings = children.entry(parent).or_default();
            let at =
                next.and_then(|next| siblings.iter().position(|sibling| *sibling == next)).unwrap_or(siblings.len());
            siblings.insert(at, handle);
            was_below.insert(handle, parent);
            let mut edit = FrameEdit { before: Some(next.map(FrameRef::from)), ..FrameEdit::default() };
            edit.parent = (old != parent).then(|| parent.map(FrameRef::from));
            commands.push((entry.number, Command::Edit { frame: handle.into(), edit }));
        }
        let is: Vec<Handle> = children.get(&parent).into_iter().flatten().copied().collect();
        let listed: Vec<Handle> = entries.iter().filter_map(|entry| entry.handle).collect();
        let is: Vec<Handle> = is.into_iter().filter(|handle| listed.contains(handle)).collect();
        if let Some((entry, _)) = entries.iter().zip(&is).find(|(entry, is)| entry.handle != Some(**is)) {
            return Err(at(entry, "frames that have begun stay in their order".to_owned()));
        }
    }
    Ok(())
}

/// Reads the lines of a plan.
fn entries(text: &str) -> Result<Vec<Entry>, PlanTextError> {
    let mut entries = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let (number, body) = (index + 1, line.trim_start());
        if body.trim().is_empty() || body.starts_with('#') {
            continue;
        }
        if entries.len() == MOST_LINES {
            return Err(PlanTextError { line: number, message: format!("a plan has at most {MOST_LINES} lines") });
        }
        let blanks =
            line[..line.len() - body.len()].chars().map(|blank| if blank == '\t' { LEVEL } else { 1 }).sum::<usize>();
        let Some(item) = body.strip_prefix("- ").or_else(|| body.strip_prefix("* ")) else {
            let message = "a line is `- [ ] Title`, with (fN) behind the title of a frame that is there".to_owned();
            return Err(PlanTextError { line: number, message });
        };
        let (mark, rest) = mark_of(item.trim());
        let (title, handle, depends_on) = parts_of(rest);
        let level = blanks / LEVEL;
        entries.push(Entry { number, level, mark, title: title.to_owned(), handle, depends_on });
    }
    // A new frame has no mark, or that of a planned one.
    if let Some(entry) = entries.iter().find(|entry| {
        entry.handle.is_none() && entry.mark.as_deref().is_some_and(|mark| mark != FrameStatus::Planned.mark())
    }) {
        return Err(at(entry, "a new frame is planned: `- [ ] Title`".to_owned()));
    }
    Ok(entries)
}

/// The mark before a title, if there is one.
fn mark_of(item: &str) -> (Option<String>, &str) {
    for status in FrameStatus::ALL {
        if let Some(rest) = item.strip_prefix(status.mark()) {
            return (Some(status.mark().to_owned()), rest.trim());
        }
    }
    (None, item)
}

/// The title, the handle behind it, and the handles that it needs: `Routes (f3) after f2, f4`.
fn parts_of(text: &str) -> (&str, Option<Handle>, Vec<Handle>) {
    let needed = text.rsplit_once(" after ").and_then(|(before, names)| {
        let handles: Option<Vec<Handle>> = names.split(',').map(|name| name.trim().parse().ok()).collect();
        Some((before.trim(), handles?))
    });
    let (text, depends_on) = needed.unwrap_or((text, Vec::new()));
    let named = text.strip_suffix(')').and_then(|text| text.rsplit_once('('));
    match named.and_then(|(title, name)| Some((title.trim(), name.parse().ok()?))) {
        Some((title, handle)) => (title, Some(handle), depends_on),
        None => (text, None, depends_on),
    }
}

fn at(entry: &Entry, message: String) -> PlanTextError {
    PlanTextError { line: entry.number, message }
}
