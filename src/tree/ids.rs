//! The IDs of a tree's frames. They are found by the whole ID, or by its beginning.

use std::collections::{BTreeMap, HashMap};
use std::iter;
use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use super::nodes::Nodes;
use crate::archive::ArchiveQuery;
use crate::frame::Handle;
use crate::steps::step;

/// The frames by their IDs. The IDs of frames that were loaded from an archive stay there, and those of packed
/// frames with them, until such a frame gets another ID.
#[derive(Debug, Clone, Default)]
pub(super) struct Ids {
    whole: Whole,
    /// The same entries, in the order of the IDs. They are made by the first search for a beginning, because
    /// many hosts never search for a beginning, and keeping them would double the cost of each push.
    ordered: OnceLock<BTreeMap<String, Handle>>,
}

/// The frames by their whole IDs. A copy of a tree shares them, and keeps only its own changes, because several
/// commands of one event are decided on a copy.
#[derive(Debug, Clone, Default)]
struct Whole {
    shared: Arc<HashMap<String, Handle>>,
    /// The changes since the map was shared; `None`: no frame has the ID any more.
    changes: HashMap<String, Option<Handle>>,
    len: usize,
}

impl Whole {
    fn len(&self) -> usize {
        self.len
    }

    fn get(&self, id: &str) -> Option<Handle> {
        self.changes.get(id).copied().unwrap_or_else(|| self.shared.get(id).copied())
    }

    fn iter(&self) -> impl Iterator<Item = (&String, Handle)> {
        let unchanged = self.shared.iter().filter(|(id, _)| !self.changes.contains_key(*id));
        let changed = self.changes.iter().filter_map(|(id, handle)| Some((id, (*handle)?)));
        unchanged.map(|(id, handle)| (id, *handle)).chain(changed)
    }

    fn set(&mut self, id: &str, handle: Option<Handle>) {
        self.len = self.len + usize::from(handle.is_some()) - usize::from(self.get(id).is_some());
        self.changes.insert(id.to_owned(), handle);
        // Changes that cannot be made in the map itself are few, unless the copy lives for long.
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            take_in(shared, &mut self.changes);
        } else if self.changes.len() > self.shared.len() / 4 + 64 {
            take_in(Arc::make_mut(&mut self.shared), &mut self.changes);
        }
    }
}

fn take_in(map: &mut HashMap<String, Handle>, changes: &mut HashMap<String, Option<Handle>>) {
    for (id, handle) in changes.drain() {
        match handle {
            Some(handle) => {
                map.insert(id, handle);
            }
            None => {
                map.remove(&id);
            }
        }
    }
}

impl Ids {
    pub(super) fn get(&self, id: &str, nodes: &Nodes) -> Option<Handle> {
        let found = self.in_memory(id, nodes);
        if found.is_some() || self.whole.len() == nodes.len() {
            return found;
        }
        nodes.archived_with(ArchiveQuery::Id(id), |handle| nodes[handle.index()].session_id() == id).first().copied()
    }

    /// The frame with this ID, without reading the archive.
    pub(super) fn in_memory(&self, id: &str, nodes: &Nodes) -> Option<Handle> {
        self.whole.get(id).or_else(|| nodes.packed_with_id(id))
    }

    /// The first frames whose IDs begin with this text, ordered by ID.
    pub(super) fn beginning_with(&self, beginning: &str, limit: usize, nodes: &Nodes) -> Vec<Handle> {
        let here = self.beginning_here(beginning).take(limit);
        if nodes.shelf().is_none() {
            return here.map(|(_, handle)| handle).collect();
        }
        let mut found: BTreeMap<String, Handle> = here.map(|(id, handle)| (id.to_owned(), handle)).collect();
        // Some frames in the archive can have another ID by now.
        let query = ArchiveQuery::Beginning(beginning, limit + nodes.changes());
        let begins = |handle: Handle| nodes[handle.index()].session_id().starts_with(beginning);
        for handle in nodes.archived_with(query, begins) {
            found.insert(nodes[handle.index()].session_id().to_owned(), handle);
        }
        found.into_values().take(limit).collect()
    }

    /// The frames whose IDs are in memory and begin with this text, ordered by ID. The archive has the IDs of the
    /// others, and of packed frames.
    fn beginning_here<'a>(&'a self, beginning: &'a str) -> impl Iterator<Item = (&'a str, Handle)> {
        let ordered = self.ordered.get_or_init(|| {
            iter::repeat_with(step).zip(self.whole.iter()).map(|((), (id, handle))| (id.clone(), handle)).collect()
        });
        let from = (Bound::Included(beginning), Bound::Unbounded);
        let found = ordered.range::<str, _>(from).take_while(move |(id, _)| id.starts_with(beginning));
        found.map(|(id, handle)| (id.as_str(), *handle)).inspect(|_| step())
    }

    pub(super) fn insert(&mut self, id: &str, handle: Handle) {
        self.whole.set(id, Some(handle));
        if let Some(ordered) = self.ordered.get_mut() {
            ordered.insert(id.to_owned(), handle);
        }
    }

    pub(super) fn remove(&mut self, id: &str) {
        self.whole.set(id, None);
        if let Some(ordered) = self.ordered.get_mut() {
            ordered.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::{assert_grows, steps_of};

    fn handle(index: usize) -> Handle {
        Handle::from_index(index).unwrap()
    }

    #[test]
    fn beginnings_are_found_before_and_after_changes() {
        let mut ids = Ids::default();
        for (index, id) in ["b", "ab", "abc", "", "ä"].into_iter().enumerate() {
            ids.insert(id, handle(index));
        }
        let nodes = Nodes::default();
        let found = |ids: &Ids, text: &str| -> Vec<usize> {
            ids.beginning_with(text, 8, &nodes).into_iter().map(Handle::index).collect()
        };
        assert_eq!(found(&ids, "a"), [1, 2]);
        ids.remove("ab");
        ids.insert("aa", handle(5));
        assert_eq!(found(&ids, "a"), [5, 2]);
        assert_eq!(found(&ids, "ä"), [4]);
        assert!(found(&ids, "c").is_empty());
        assert_eq!((ids.get("aa", &nodes), ids.get("a", &nodes)), (Some(handle(5)), None));
    }

    #[test]
    fn a_copy_and_its_original_change_apart() {
        let mut ids = Ids::default();
        (0..200).for_each(|index| ids.insert(&format!("id {index}"), handle(index)));
        let mut copy = ids.clone();
        for index in 0..150 {
            copy.remove(&format!("id {index}"));
            copy.insert(&format!("new {index}"), handle(index));
        }
        ids.insert("later", handle(200));
        let all = |ids: &Ids| ids.whole.iter().map(|(id, handle)| (id.clone(), handle)).collect::<BTreeMap<_, _>>();
        let mut expected: BTreeMap<String, Handle> =
            (0..200).map(|index| (format!("id {index}"), handle(index))).collect();
        expected.insert("later".into(), handle(200));
        assert_eq!((all(&ids), ids.whole.len()), (expected.clone(), 201));
        expected.remove("later");
        for index in 0..150 {
            expected.remove(&format!("id {index}"));
            expected.insert(format!("new {index}"), handle(index));
        }
        assert_eq!((all(&copy), copy.whole.len()), (expected, 200));
        let nodes = Nodes::default();
        assert_eq!((copy.in_memory("id 3", &nodes), copy.in_memory("new 3", &nodes)), (None, Some(handle(3))));
    }

    #[test]
    fn many_beginnings_cost_one_pass_over_the_frames() {
        assert_grows(2.1, 1_000, |size| {
            let mut ids = Ids::default();
            (0..size).for_each(|index| ids.insert(&format!("plan-{index:06}-x"), handle(index)));
            let nodes = Nodes::default();
            let search = |index| assert_eq!(ids.beginning_with(&format!("plan-{index:06}-"), 8, &nodes).len(), 1);
            steps_of(|| (0..size).for_each(search)).1
        });
    }
}
