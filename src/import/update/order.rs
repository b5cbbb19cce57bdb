//! The order of the entries below each parent: in the file, before, and in the stack.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Map;

use super::updater::{Updater, named};
use super::{Becomes, PlanChange, PlanConflict, PlanField};
use crate::error::Result;
use crate::frame::{Change, Frame, FrameEdit, Handle};
use crate::tree::Tree;

/// The entries of a file below each parent, in their order.
pub(in crate::import) struct Orders<'a> {
    levels: Vec<(Option<&'a str>, Vec<&'a str>)>,
    after: HashMap<&'a str, &'a str>,
}

impl<'a> Orders<'a> {
    /// The entry before an entry, with the same parent.
    pub(in crate::import) fn after(&self, id: &str) -> Option<&'a str> {
        self.after.get(id).copied()
    }

    /// The entries below each parent; the entries at the top have none.
    pub(super) fn levels(&self) -> &[(Option<&'a str>, Vec<&'a str>)] {
        &self.levels
    }
}

/// The order in a file.
pub(in crate::import) fn in_file(frames: &[Frame]) -> Orders<'_> {
    let ids: HashSet<&str> = frames.iter().map(|frame| frame.session_id.as_str()).collect();
    let mut levels: Vec<(Option<&str>, Vec<&str>)> = Vec::new();
    let mut places: HashMap<Option<&str>, usize> = HashMap::new();
    for frame in frames {
        let parent = frame.parent_session_id.as_deref().filter(|parent| ids.contains(parent));
        let place = *places.entry(parent).or_insert_with(|| {
            levels.push((parent, Vec::new()));
            levels.len() - 1
        });
        levels[place].1.push(&frame.session_id);
    }
    let pairs = levels.iter().flat_map(|(_, children)| children.windows(2));
    let after = pairs.map(|pair| (pair[1], pair[0])).collect();
    Orders { levels, after }
}

/// The parents below which the file has another order than before; an empty ID stands for the top.
#[derive(Default)]
pub(super) struct Reordered<'a> {
    /// The parents whose frames get the new order.
    pub(super) parents: HashSet<&'a str>,
    /// The parents whose frames were put into another order here too.
    pub(super) conflicts: BTreeSet<&'a str>,
}

/// Compares the order of the entries that were there before.
pub(super) fn reordered<'a>(tree: &Tree, handles: &HashMap<String, Handle>, orders: &Orders<'a>) -> Reordered<'a> {
    let ranks = ranks(tree, handles);
    let mut reordered = Reordered::default();
    for (parent, children) in orders.levels() {
        let above = parent.and_then(|parent| handles.get(parent)).copied();
        if parent.is_some() && above.is_none() {
            continue;
        }
        let is_there = |id: &&&str| {
            let handle = handles.get(**id);
            handle.is_some_and(|handle| parent.is_none() || tree.node(*handle).parent() == above)
        };
        let new: Vec<&str> = children.iter().filter(is_there).copied().filter(|id| ranks.contains_key(id)).collect();
        let mut old = new.clone();
        old.sort_by_key(|id| ranks[id]);
        if old == new {
            continue;
        }
        let mut here = new.clone();
        here.sort_by_cached_key(|id| tree.place(handles[*id]));
        if here == old {
            reordered.parents.insert(parent.unwrap_or_default());
        } else if here != new {
            reordered.conflicts.insert(parent.unwrap_or_default());
        }
    }
    reordered
}

/// How many entries came before each entry in the file of the last import.
fn ranks<'a>(tree: &Tree, handles: &'a HashMap<String, Handle>) -> HashMap<&'a str, usize> {
    let after = |id: &str| {
        let origin = handles.get(id).and_then(|handle| tree.node(*handle).record().origin.as_ref());
        origin.and_then(|origin| origin.after.as_deref()).and_then(|after| handles.get_key_value(after))
    };
    let mut ranks: HashMap<&str, usize> = HashMap::new();
    for (id, handle) in handles {
        if tree.node(*handle).record().origin.is_none() {
            continue;
        }
        let mut way = Vec::new();
        let mut seen = HashSet::new();
        let mut at = Some(id.as_str());
        while let Some(here) = at.filter(|here| !ranks.contains_key(here) && seen.insert(*here)) {
            way.push(here);
            at = after(here).map(|(id, _)| id.as_str());
        }
        let first: usize = at.and_then(|at| ranks.get(at)).map_or(0, |rank| rank + 1);
        ranks.extend(way.into_iter().rev().zip(first..));
    }
    ranks
}

impl Updater<'_, '_> {
    /// Puts the frames below each parent into the order of the file.
    pub(super) fn put_in_order(
        &mut self,
        added: &[Handle],
        orders: &Orders<'_>,
        reordered: &Reordered<'_>,
    ) -> Result<()> {
        let added: HashSet<Handle> = added.iter().copied().collect();
        let mut changed: Vec<Handle> = Vec::new();
        for (parent, children) in orders.levels() {
            let handles: Vec<Handle> = children.iter().filter_map(|id| self.known.handles.get(*id)).copied().collect();
            let above = parent.and_then(|parent| self.known.handles.get(parent)).copied();
            let level = parent.unwrap_or_default();
            if reordered.conflicts.contains(level) {
                let first = handles.iter().find(|handle| !added.contains(handle)).copied();
                self.outcome
                    .conflicts
                    .extend(above.or(first).map(|frame| self.conflict_of_order(frame, parent.is_none())));
            }
            let is_reordered = reordered.parents.contains(level);
            let all_new = handles.iter().all(|handle| added.contains(handle));
            if all_new || !(is_reordered || handles.iter().any(|handle| added.contains(handle))) {
                continue;
            }
            let mut first_moved = None;
            for (place, handle) in handles.iter().copied().enumerate() {
                let is_new = added.contains(&handle);
                if !(is_reordered || is_new) {
                    continue;
                }
                let is_moved = self.move_behind(&handles, place)?;
                first_moved = first_moved.or(Some(handle).filter(|_| is_moved && !is_new));
            }
            changed.extend(first_moved.map(|moved| above.unwrap_or(moved)).filter(|frame| !added.contains(frame)));
        }
        self.note_order(&changed);
        Ok(())
    }

    /// Moves a frame to the place after the frame before it in the file, if it is not there. Returns true if
    /// it was moved.
    fn move_behind(&mut self, handles: &[Handle], place: usize) -> Result<bool> {
        let handle = handles[place];
        let above = self.tree.node(handle).parent();
        let beside = |other: &&Handle| self.tree.node(**other).parent() == above;
        let before = match handles[..place].iter().rev().find(beside) {
            Some(previous) => self.tree.next(*previous),
            None => match handles[place + 1..].iter().find(beside) {
                Some(next) => Some(*next),
                None => return Ok(false),
            },
        };
        if before == Some(handle) || self.tree.next(handle) == before {
            return Ok(false);
        }
        let edit = FrameEdit { before: Some(before.map(named)), ..FrameEdit::default() };
        self.push(handle, Change::Reimported { values: Map::new(), edit: Some(Box::new(edit)) })?;
        Ok(true)
    }

    /// The order was changed on both sides: the order below a frame, or, with the first frame there, the
    /// order of the top.
    fn conflict_of_order(&self, frame: Handle, is_top: bool) -> PlanConflict {
        let what = if is_top { "at the top" } else { "below it" };
        PlanConflict {
            frame,
            id: self.ids.get(&frame).cloned().unwrap_or_default(),
            title: self.tree.node(frame).title().to_owned(),
            field: PlanField::Order,
            file: format!("another order of what is {what}"),
            stack: "an order that was changed here".to_owned(),
            advice: format!("put the frames {what}, or the entries of the file, into the other order"),
        }
    }

    /// Notes frames below which the order has changed, or the first moved frame at the top.
    fn note_order(&mut self, frames: &[Handle]) {
        let places: HashMap<Handle, usize> =
            self.outcome.changes.iter().enumerate().map(|(place, change)| (change.frame, place)).collect();
        for frame in frames {
            if let Some(place) = places.get(frame) {
                self.outcome.changes[*place].fields.push(PlanField::Order);
                continue;
            }
            self.outcome.unchanged = self.outcome.unchanged.saturating_sub(1);
            self.outcome.changes.push(PlanChange {
                frame: *frame,
                id: self.ids.get(frame).cloned().unwrap_or_default(),
                title: self.tree.node(*frame).title().to_owned(),
                becomes: Becomes::Edited,
                fields: vec![PlanField::Order],
            });
        }
    }
}
