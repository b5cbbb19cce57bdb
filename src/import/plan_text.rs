//! A plan as a text that a person edits, and the commands that make the plan match the edited text.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::iter;

use crate::frame::{FrameEdit, FrameRef, FrameStatus, Handle, NewFrame, Parent};
use crate::text::one_line;
use crate::tree::{Command, Tree};

/// The reason of frames whose lines were removed.
const REMOVED: &str = "Left out of the edited plan";
/// The number of blanks for a level.
const LEVEL: usize = 2;
/// The most lines of a plan that is edited as a text.
pub const PLAN_TEXT_LINES: usize = 10_000;

/// Why an edited plan cannot be followed. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanTextError {
    /// The number of the line, counted from 1; 0 for a line that is missing.
    pub line: usize,
    /// What is wrong, and what to do.
    pub message: String,
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
    mark: Option<FrameStatus>,
    title: String,
    handle: Option<Handle>,
    depends_on: Vec<Handle>,
}

/// The plan below a frame, without that frame, or all unfinished trees, as a check list: `- [ ] Routes (f3)
/// after f2`. Frames that are out of the plan are left out, and so is what is below frames that have ended.
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

/// The commands that make the plan match an edited text. `before` is the text of [`plan_text`] that was
/// edited, `after` the text as it is now. Lines that begin with `#` say nothing. A line without a handle is a
/// new frame; a removed line takes its frame out of the plan. What other actors have changed since `before`
/// stays, if the text does not change the same frames.
///
/// # Errors
/// If a line cannot be read, names an unknown frame, or names a frame that another line names too; if a frame
/// that has begun or ended is moved, marked or removed; if a frame that the text changes has changed since
/// `before`.
pub fn plan_commands(
    tree: &Tree,
    below: Option<Handle>,
    before: &str,
    after: &str,
) -> Result<Vec<Command>, PlanTextError> {
    let (mut before, mut after) = (entries(before)?, entries(after)?);
    let known: HashMap<Handle, Entry> =
        before.iter().filter_map(|entry| Some((entry.handle?, entry.clone()))).collect();
    let listed = check_lines(&after, &known)?;
    let removed: Vec<Handle> = known.keys().copied().filter(|handle| !listed.contains(handle)).collect();
    let mut edits = Edits { tree, commands: Vec::new(), touched: HashSet::new() };
    let mut next = tree.len();
    let parents = parents(&mut after, below, || {
        next += 1;
        Handle::from_index(next - 1)
    })?;
    // New frames come first, so that others can be below them and depend on them.
    edits.plan(&after, &parents, &known)?;
    // Dependencies that are not needed any more are removed before the moves and before new dependencies are
    // added: each step alone must be possible.
    edits.words_and_fewer_dependencies(&after, &known)?;
    let before_parents = self::parents(&mut before, below, || None)?;
    edits.moves((&before, &before_parents), (&after, &parents))?;
    edits.dependencies(&after, &known)?;
    edits.remove(removed)?;
    edits.check_unchanged(below, &known)?;
    Ok(edits.commands)
}

/// Checks that the lines name frames of the plan, each once and with its mark. Returns the frames.
fn check_lines(after: &[Entry], known: &HashMap<Handle, Entry>) -> Result<HashSet<Handle>, PlanTextError> {
    let mut listed = HashSet::new();
    for entry in after {
        let Some(handle) = entry.handle else { continue };
        let Some(was) = known.get(&handle) else {
            return Err(at(entry, format!("{handle} is not a frame of this plan; a new frame has no handle")));
        };
        if !listed.insert(handle) {
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
    Ok(listed)
}

/// The commands so far, and the frames that they change.
struct Edits<'a> {
    tree: &'a Tree,
    commands: Vec<Command>,
    touched: HashSet<Handle>,
}

impl Edits<'_> {
    fn is_planned(&self, handle: Handle) -> bool {
        handle.index() >= self.tree.len() || self.tree.node(handle).status() == FrameStatus::Planned
    }

    fn edit(&mut self, handle: Handle, edit: FrameEdit) {
        if edit != FrameEdit::default() {
            self.touched.insert(handle);
            self.commands.push(Command::Edit { frame: handle.into(), edit });
        }
    }

    fn plan(
        &mut self,
        after: &[Entry],
        parents: &[Option<Handle>],
        known: &HashMap<Handle, Entry>,
    ) -> Result<(), PlanTextError> {
        for (entry, parent) in after.iter().zip(parents).filter(|(entry, _)| !entry.is_in(known)) {
            if entry.title.is_empty() {
                return Err(at(entry, "a new frame needs a title".to_owned()));
            }
            let mut frame = NewFrame::new(entry.title.clone());
            frame.parent = parent.map_or(Parent::Root, |parent| Parent::Frame(parent.into()));
            self.commands.push(Command::Plan(frame));
        }
        Ok(())
    }

    fn words_and_fewer_dependencies(
        &mut self,
        after: &[Entry],
        known: &HashMap<Handle, Entry>,
    ) -> Result<(), PlanTextError> {
        for entry in after {
            let Some((handle, was)) = entry.handle.and_then(|handle| Some((handle, known.get(&handle)?))) else {
                continue;
            };
            let mut edit = FrameEdit::default();
            if was.title != entry.title {
                if entry.title.is_empty() {
                    return Err(at(entry, format!("{handle} needs a title")));
                }
                edit.title = Some(entry.title.clone());
            }
            if was.depends_on != entry.depends_on {
                if !self.is_planned(handle) {
                    return Err(at(entry, format!("{handle} is not planned: what it needs stays as it was")));
                }
                let kept = was.depends_on.iter().filter(|needed| entry.depends_on.contains(needed));
                let kept: Vec<FrameRef> = kept.map(|needed| (*needed).into()).collect();
                edit.depends_on = (kept.len() < was.depends_on.len()).then_some(kept);
            }
            self.edit(handle, edit);
        }
        Ok(())
    }

    fn dependencies(&mut self, after: &[Entry], known: &HashMap<Handle, Entry>) -> Result<(), PlanTextError> {
        for entry in after {
            let Some(handle) = entry.handle else { continue };
            let was = known.get(&handle).map_or(&[][..], |was| &was.depends_on);
            if entry.depends_on != was {
                let depends_on = Some(entry.depends_on.iter().map(|needed| (*needed).into()).collect());
                self.edit(handle, FrameEdit { depends_on, ..FrameEdit::default() });
            }
        }
        Ok(())
    }

    /// The moves: to other parents, and to other places among siblings. Frames that others have begun stay in
    /// their order.
    fn moves(
        &mut self,
        (before, parents_before): (&[Entry], &[Option<Handle>]),
        (after, parents): (&[Entry], &[Option<Handle>]),
    ) -> Result<(), PlanTextError> {
        let handles = |entries: &[Entry], parents: &[Option<Handle>]| -> HashMap<Handle, Option<Handle>> {
            let parents = entries.iter().zip(parents);
            parents.filter_map(|(entry, parent)| Some((entry.handle?, *parent))).collect()
        };
        let (was_below, is_below) = (handles(before, parents_before), handles(after, parents));
        // Frames that go elsewhere or leave the plan have no place: the frames that stay do not move around
        // them.
        let mut order = Order::default();
        for handle in before.iter().filter_map(|entry| entry.handle) {
            if is_below.get(&handle) == was_below.get(&handle) {
                order.insert(handle, was_below[&handle], None);
            }
        }
        let mut wanted: HashMap<Option<Handle>, Vec<&Entry>> = HashMap::new();
        let mut groups = Vec::new();
        for (entry, parent) in after.iter().zip(parents) {
            if !wanted.contains_key(parent) {
                groups.push(*parent);
            }
            wanted.entry(*parent).or_default().push(entry);
        }
        for parent in groups {
            let entries = &wanted[&parent];
            // New frames come after the others, in the order of the text.
            let is_new = |handle: &Handle| !was_below.contains_key(handle);
            let last = entries.iter().rev().map_while(|entry| entry.handle.filter(is_new)).collect::<Vec<_>>();
            for handle in last.into_iter().rev() {
                order.insert(handle, parent, None);
            }
            for (index, entry) in entries.iter().enumerate().rev() {
                let Some(handle) = entry.handle else { continue };
                let next = entries.get(index + 1).and_then(|next| next.handle);
                if order.next(handle) == Some(next) {
                    continue;
                }
                let was_below = was_below.get(&handle);
                let moves = was_below.is_some_and(|old| *old != parent);
                if !self.is_planned(handle) {
                    if moves {
                        return Err(at(entry, format!("{handle} is not planned, and stays where it is")));
                    }
                    // The frames that can move are put around it.
                    continue;
                }
                let below = moves.then(|| parent.map(FrameRef::from));
                let before = Some(next.map(FrameRef::from));
                self.edit(handle, FrameEdit { parent: below, before, ..FrameEdit::default() });
                order.remove(handle);
                order.insert(handle, parent, next);
            }
            let mut placed = order.below(parent).into_iter().zip(entries);
            if let Some((_, entry)) = placed.find(|(handle, entry)| entry.handle != Some(*handle)) {
                return Err(at(entry, "frames that have begun stay in their order".to_owned()));
            }
        }
        Ok(())
    }

    fn remove(&mut self, mut removed: Vec<Handle>) -> Result<(), PlanTextError> {
        if removed.is_empty() {
            return Ok(());
        }
        removed.sort_unstable();
        let is_unbegun = |handle: &Handle| {
            let record = self.tree.node(*handle).record();
            record.status == FrameStatus::Planned || record.waits_to_begin()
        };
        if let Some(begun) = removed.iter().find(|handle| !is_unbegun(handle)) {
            let status = self.tree.node(*begun).status();
            let message = format!(
                "the line of {begun} is gone, but it is {status}: put it back; `callstack invalidate {begun} REASON` takes it out of the plan"
            );
            return Err(PlanTextError { line: 0, message });
        }
        self.touched.extend(&removed);
        let frames = removed.into_iter().map(FrameRef::from).collect();
        self.commands.push(Command::InvalidateAll { frames, reason: REMOVED.to_owned(), open_too: false });
        Ok(())
    }

    /// Checks that the frames that the text changes are still as they were when the text was made.
    fn check_unchanged(&self, below: Option<Handle>, known: &HashMap<Handle, Entry>) -> Result<(), PlanTextError> {
        let now = entries(&plan_text(self.tree, below))?;
        let now: HashMap<Handle, &Entry> = now.iter().filter_map(|entry| Some((entry.handle?, entry))).collect();
        let is_as_before = |handle: &&Handle| match (known.get(handle), now.get(handle)) {
            (Some(was), Some(is)) => was.title == is.title && was.depends_on == is.depends_on,
            (Some(_), None) => false,
            (None, _) => true,
        };
        match self.touched.iter().find(|handle| !is_as_before(handle)) {
            Some(changed) => {
                let message = format!("{changed} has changed meanwhile; edit the plan as it is now");
                Err(PlanTextError { line: 0, message })
            }
            None => Ok(()),
        }
    }
}

/// The places of frames among their siblings.
#[derive(Default)]
struct Order {
    places: HashMap<Handle, Place>,
    /// The first and the last frame below each parent.
    ends: HashMap<Option<Handle>, (Handle, Handle)>,
}

/// The place of a frame: its parent, and the siblings before and after it.
struct Place {
    parent: Option<Handle>,
    previous: Option<Handle>,
    next: Option<Handle>,
}

impl Order {
    /// The sibling after a frame, if the frame has a place.
    fn next(&self, handle: Handle) -> Option<Option<Handle>> {
        self.places.get(&handle).map(|place| place.next)
    }

    fn remove(&mut self, handle: Handle) {
        let Some(Place { parent, previous, next }) = self.places.remove(&handle) else { return };
        if let Some(place) = previous.and_then(|previous| self.places.get_mut(&previous)) {
            place.next = next;
        }
        if let Some(place) = next.and_then(|next| self.places.get_mut(&next)) {
            place.previous = previous;
        }
        match (previous, next, self.ends.get_mut(&parent)) {
            (None, None, _) => drop(self.ends.remove(&parent)),
            (None, Some(next), Some(ends)) => ends.0 = next,
            (Some(previous), None, Some(ends)) => ends.1 = previous,
            _ => {}
        }
    }

    /// Puts a frame below a parent, before a sibling or at the end.
    fn insert(&mut self, handle: Handle, parent: Option<Handle>, next: Option<Handle>) {
        let next = next.filter(|next| self.places.get(next).is_some_and(|place| place.parent == parent));
        let previous = match next {
            Some(next) => self.places.get(&next).and_then(|place| place.previous),
            None => self.ends.get(&parent).map(|ends| ends.1),
        };
        self.places.insert(handle, Place { parent, previous, next });
        if let Some(place) = previous.and_then(|previous| self.places.get_mut(&previous)) {
            place.next = Some(handle);
        }
        if let Some(place) = next.and_then(|next| self.places.get_mut(&next)) {
            place.previous = Some(handle);
        }
        let ends = self.ends.entry(parent).or_insert((handle, handle));
        if previous.is_none() {
            ends.0 = handle;
        }
        if next.is_none() {
            ends.1 = handle;
        }
    }

    /// The frames below a parent, in their order.
    fn below(&self, parent: Option<Handle>) -> Vec<Handle> {
        let first = self.ends.get(&parent).map(|ends| ends.0);
        iter::successors(first, |handle| self.places.get(handle).and_then(|place| place.next)).collect()
    }
}

impl Entry {
    fn is_in(&self, known: &HashMap<Handle, Entry>) -> bool {
        self.handle.is_some_and(|handle| known.contains_key(&handle))
    }
}

/// The parent of each entry. Entries without a handle get a handle from `name`.
fn parents(
    entries: &mut [Entry],
    below: Option<Handle>,
    mut name: impl FnMut() -> Option<Handle>,
) -> Result<Vec<Option<Handle>>, PlanTextError> {
    let mut above: Vec<Handle> = Vec::new();
    let mut parents = Vec::new();
    for entry in entries {
        if entry.level > above.len() {
            return Err(at(entry, "it is indented by more than one level; a level has two blanks".to_owned()));
        }
        above.truncate(entry.level);
        parents.push(above.last().copied().or(below));
        entry.handle = entry.handle.or_else(&mut name);
        above.extend(entry.handle);
    }
    Ok(parents)
}

/// Reads the lines of a plan.
fn entries(text: &str) -> Result<Vec<Entry>, PlanTextError> {
    let mut entries: Vec<Entry> = Vec::new();
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let (number, body) = (index + 1, line.trim_start());
        let wrong = |message: String| PlanTextError { line: number, message };
        if body.trim().is_empty() || body.starts_with('#') {
            continue;
        }
        if entries.len() == PLAN_TEXT_LINES {
            return Err(wrong(format!("a plan that is edited has at most {PLAN_TEXT_LINES} lines")));
        }
        let blanks = line[..line.len() - body.len()].chars().map(|blank| if blank == '\t' { LEVEL } else { 1 });
        let level = blanks.sum::<usize>() / LEVEL;
        let item = body.strip_prefix("- ").or_else(|| body.strip_prefix("* "));
        let item = item.ok_or_else(|| {
            wrong("a line is `- [ ] Title`, with (fN) after the title of a frame that exists".to_owned())
        })?;
        let (mark, rest) = mark_of(item.trim()).map_err(wrong)?;
        let (title, handle, depends_on) = parts_of(rest).map_err(wrong)?;
        if handle.is_none() && mark.is_some_and(|mark| mark != FrameStatus::Planned) {
            return Err(wrong("a new frame is planned: `- [ ] Title`".to_owned()));
        }
        entries.push(Entry { number, level, mark, title: title.to_owned(), handle, depends_on });
    }
    Ok(entries)
}

/// The mark before a title, if there is one, and the rest.
fn mark_of(item: &str) -> Result<(Option<FrameStatus>, &str), String> {
    let Some((inside, rest)) = item.strip_prefix('[').and_then(|item| item.split_once(']')) else {
        return Ok((None, item));
    };
    let inside = if inside.trim().is_empty() { " ".to_owned() } else { inside.trim().to_lowercase() };
    match FrameStatus::ALL.iter().find(|status| status.mark() == format!("[{inside}]")) {
        Some(status) => Ok((Some(*status), rest.trim())),
        // A title may begin with a word in brackets.
        None if inside.chars().count() > 1 => Ok((None, item)),
        None => Err(format!("[{inside}] is not a mark; a new frame is `- [ ] Title`")),
    }
}

/// The title, the handle after it, and the handles that it needs: `Routes (f3) after f2, f4`.
fn parts_of(text: &str) -> Result<(&str, Option<Handle>, Vec<Handle>), String> {
    let named = text.match_indices('(').rev().find_map(|(start, _)| {
        let (inside, rest) = text[start + 1..].split_once(')')?;
        Some((text[..start].trim(), inside.trim().to_lowercase().parse::<Handle>().ok()?, rest.trim()))
    });
    let Some((title, handle, rest)) = named else {
        // Without a handle the end of the line is a part of the title, unless it names frames.
        let needed = text.rsplit_once(" after ").and_then(|(title, names)| Some((title.trim(), needed_in(names)?)));
        let (title, depends_on) = needed.unwrap_or((text, Vec::new()));
        return Ok((title, None, depends_on));
    };
    let rest = rest.trim_start_matches(':').trim();
    if rest.is_empty() {
        return Ok((title, Some(handle), Vec::new()));
    }
    let names = rest.split_once(char::is_whitespace).filter(|(word, _)| word.eq_ignore_ascii_case("after"));
    match names.and_then(|(_, names)| needed_in(names)) {
        Some(depends_on) => Ok((title, Some(handle), depends_on)),
        None => Err(format!(
            "only the frames that it needs come after ({handle}), by handles: `after f2, f3`; its title comes before ({handle})"
        )),
    }
}

/// The handles of a list: `f2, f4 and f5`. `None`: it has something else.
fn needed_in(names: &str) -> Option<Vec<Handle>> {
    let words = names.split(|sign: char| sign == ',' || sign.is_whitespace());
    let words = words.filter(|word| !word.is_empty() && !word.eq_ignore_ascii_case("and"));
    let handles: Option<Vec<Handle>> = words.map(|word| word.to_lowercase().parse().ok()).collect();
    handles.filter(|handles| !handles.is_empty())
}

fn at(entry: &Entry, message: String) -> PlanTextError {
    PlanTextError { line: entry.number, message }
}
