//! The order of the entries below each parent: in the file, before, and in the stack.

use std::collections::{HashMap, HashSet};

use crate::frame::Handle;
use crate::import::Imported;
use crate::tree::Tree;

/// The entries of a file below each parent, in their order.
pub(super) struct Orders<'a> {
    levels: Vec<(Option<&'a str>, Vec<&'a str>)>,
    after: HashMap<&'a str, &'a str>,
}

impl<'a> Orders<'a> {
    /// The entry before one, with the same parent.
    pub(super) fn after(&self, id: &str) -> Option<&'a str> {
        self.after.get(id).copied()
    }

    /// The entries below each parent; those at the top have none.
    pub(super) fn levels(&self) -> &[(Option<&'a str>, Vec<&'a str>)] {
        &self.levels
    }
}

/// The order in a file.
pub(super) fn in_file(plan: &Imported) -> Orders<'_> {
    let ids: HashSet<&str> = plan.frames.iter().map(|frame| frame.session_id.as_str()).collect();
    let mut levels: Vec<(Option<&str>, Vec<&str>)> = Vec::new();
    let mut places: HashMap<Option<&str>, usize> = HashMap::new();
    for frame in &plan.frames {
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
pub(super) struct Reordered {
    /// Those whose frames get it.
    pub(super) parents: HashSet<String>,
    /// Those whose frames were put into another order here too.
    pub(super) conflicts: Vec<String>,
}

/// Compares the order of the entries that were there before.
pub(super) fn reordered(tree: &Tree, handles: &HashMap<String, Handle>, orders: &Orders<'_>) -> Reordered {
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
            reordered.parents.insert(parent.unwrap_or_default().to_owned());
        } else if here != new {
            reordered.conflicts.push(parent.unwrap_or_default().to_owned());
        }
    }
    reordered
}

/// How many entries came before each one in the file of the last import.
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
