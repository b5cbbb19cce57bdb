//! The roots of a tree in their order. Each has a key for its place, as all siblings have; see
//! [`places`](super::places).

use std::collections::HashSet;
use std::sync::OnceLock;

use super::archive::Shelf;
use super::nodes::Nodes;
use crate::archive::{ArchiveQuery, ArchivedPlace};
use crate::frame::Handle;

/// The roots of a tree. With an archive they are listed when they are first needed, because most commands
/// only add a root.
#[derive(Debug, Clone)]
pub(super) struct Roots {
    listed: OnceLock<List>,
    /// The roots that were added while the others were not listed.
    added: List,
    /// The highest key.
    last: Option<u64>,
}

#[derive(Debug, Clone, Default)]
struct List {
    handles: Vec<Handle>,
    /// The keys of their places, ascending.
    keys: Vec<u64>,
}

impl Default for Roots {
    fn default() -> Self {
        Self { listed: OnceLock::from(List::default()), added: List::default(), last: None }
    }
}

impl List {
    fn push(&mut self, key: u64, root: Handle) {
        self.handles.push(root);
        self.keys.push(key);
    }
}

impl Roots {
    /// The roots of an archive; `last` is the highest key of their places.
    pub(super) fn archived(last: Option<u64>) -> Self {
        Self { listed: OnceLock::new(), added: List::default(), last }
    }

    /// The roots in their order. The roots in the archive are left out if the archive fails.
    pub(super) fn list(&self, nodes: &Nodes) -> &[Handle] {
        &self.listed(nodes).handles
    }

    fn listed(&self, nodes: &Nodes) -> &List {
        if let Some(listed) = self.listed.get() {
            return listed;
        }
        let failures = nodes.shelf().map_or(0, Shelf::failures);
        let found = self.found(nodes);
        match nodes.shelf().is_some_and(|shelf| shelf.failures() > failures) {
            // This list is not kept: the next call asks the archive again.
            true => &self.added,
            false => self.listed.get_or_init(|| found),
        }
    }

    /// The roots that the archive has, and those that were added.
    fn found(&self, nodes: &Nodes) -> List {
        let place = |found: &ArchivedPlace| match nodes.in_memory(found.handle.index()) {
            Some(node) => node.parent.is_none().then_some(node.order),
            None if nodes.is_outdated(found) => {
                let node = &nodes[found.handle.index()];
                node.parent.is_none().then_some(node.order)
            }
            None => found.place,
        };
        // A newer archive can already have the added roots.
        let added: HashSet<Handle> = self.added.handles.iter().copied().collect();
        let archived = nodes.ask_archive(ArchiveQuery::Roots).into_iter();
        let archived = archived.filter(|found| !added.contains(&found.handle));
        let mut archived: Vec<(u64, Handle)> =
            archived.filter_map(|found| Some((place(&found)?, found.handle))).collect();
        archived.sort_unstable();
        let added = self.added.keys.iter().copied().zip(self.added.handles.iter().copied());
        let mut listed = List::default();
        archived.into_iter().chain(added).for_each(|(key, root)| listed.push(key, root));
        listed
    }

    fn listed_mut(&mut self, nodes: &Nodes) -> &mut List {
        self.listed(nodes);
        let Self { listed, added, .. } = self;
        listed.get_mut().unwrap_or(added)
    }

    /// The highest key.
    pub(super) fn last(&self) -> Option<u64> {
        self.last
    }

    /// The number of roots with a lower key.
    pub(super) fn place(&self, key: u64, nodes: &Nodes) -> usize {
        self.listed(nodes).keys.partition_point(|other| *other < key)
    }

    /// The key of the root at a place.
    pub(super) fn key(&self, place: usize, nodes: &Nodes) -> Option<u64> {
        self.listed(nodes).keys.get(place).copied()
    }

    /// Adds a root after all others.
    pub(super) fn push(&mut self, key: u64, root: Handle) {
        self.listed.get_mut().unwrap_or(&mut self.added).push(key, root);
        self.last = Some(key);
    }

    /// Adds a root at a place.
    pub(super) fn insert(&mut self, place: usize, key: u64, root: Handle, nodes: &Nodes) {
        let list = self.listed_mut(nodes);
        list.handles.insert(place, root);
        list.keys.insert(place, key);
        self.last = self.listed_mut(nodes).keys.last().copied();
    }

    /// Removes the root at a place.
    pub(super) fn remove(&mut self, place: usize, nodes: &Nodes) {
        let list = self.listed_mut(nodes);
        list.handles.remove(place);
        list.keys.remove(place);
        self.last = self.listed_mut(nodes).keys.last().copied();
    }

    /// Replaces the order and the keys of the roots.
    pub(super) fn set(&mut self, handles: Vec<Handle>, keys: Vec<u64>) {
        self.last = keys.last().copied();
        self.listed = OnceLock::from(List { handles, keys });
        self.added = List::default();
    }
}
