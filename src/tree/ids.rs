//! The IDs of a tree's frames: found whole, or by their beginning.

use std::collections::{BTreeMap, HashMap};
use std::iter;
use std::ops::Bound;
use std::sync::OnceLock;

use crate::frame::Handle;
use crate::steps::step;

/// The frames by their IDs.
#[derive(Debug, Clone, Default)]
pub(super) struct Ids {
    whole: HashMap<String, Handle>,
    /// The same, in the order of the IDs. Made by the first search for a beginning, because many hosts never search
    /// for one and it would cost every push as much again.
    ordered: OnceLock<BTreeMap<String, Handle>>,
}

impl Ids {
    pub(super) fn get(&self, id: &str) -> Option<Handle> {
        self.whole.get(id).copied()
    }

    /// The frames whose IDs begin with this text, ordered by ID.
    pub(super) fn beginning_with<'a>(&'a self, beginning: &'a str) -> impl Iterator<Item = Handle> + 'a {
        let ordered = self.ordered.get_or_init(|| {
            iter::repeat_with(step).zip(&self.whole).map(|((), (id, handle))| (id.clone(), *handle)).collect()
        });
        let from = (Bound::Included(beginning), Bound::Unbounded);
        let found = ordered.range::<str, _>(from).take_while(move |(id, _)| id.starts_with(beginning));
        found.map(|(_, handle)| *handle).inspect(|_| step())
    }

    pub(super) fn insert(&mut self, id: &str, handle: Handle) {
        self.whole.insert(id.to_owned(), handle);
        if let Some(ordered) = self.ordered.get_mut() {
            ordered.insert(id.to_owned(), handle);
        }
    }

    pub(super) fn remove(&mut self, id: &str) {
        self.whole.remove(id);
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
        let found = |ids: &Ids, text: &str| ids.beginning_with(text).map(Handle::index).collect::<Vec<_>>();
        assert_eq!(found(&ids, "a"), [1, 2]);
        ids.remove("ab");
        ids.insert("aa", handle(5));
        assert_eq!(found(&ids, "a"), [5, 2]);
        assert_eq!(found(&ids, "ä"), [4]);
        assert!(found(&ids, "c").is_empty());
        assert_eq!((ids.get("aa"), ids.get("a")), (Some(handle(5)), None));
    }

    #[test]
    fn many_beginnings_cost_one_pass_over_the_frames() {
        assert_grows(2.1, 1_000, |size| {
            let mut ids = Ids::default();
            (0..size).for_each(|index| ids.insert(&format!("plan-{index:06}-x"), handle(index)));
            let search = |index| assert_eq!(ids.beginning_with(&format!("plan-{index:06}-")).count(), 1);
            steps_of(|| (0..size).for_each(search)).1
        });
    }
}
