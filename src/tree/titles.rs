//! The frames by their titles.

use std::collections::{BTreeSet, HashMap};
use std::sync::OnceLock;

use super::nodes::Nodes;
use crate::archive::ArchiveQuery;
use crate::frame::Handle;
use crate::steps::step;
use crate::text::fnv;

/// The frames by their titles, without regard to upper and lower case and to blanks around them.
///
/// The index is made by the first search, because most trees are never searched for a title. It keeps hashes,
/// so a long title is not kept a second time. When frames are found, the titles themselves are compared.
#[derive(Debug, Clone, Default)]
pub(super) struct Titles(OnceLock<HashMap<u64, BTreeSet<Handle>>>);

impl Titles {
    /// The frames with this title, in creation order.
    pub(super) fn find(&self, title: &str, nodes: &Nodes) -> Vec<Handle> {
        let index = self.0.get_or_init(|| {
            let mut index: HashMap<u64, BTreeSet<Handle>> = HashMap::new();
            for handle in nodes.all_in_memory() {
                step();
                index.entry(hash(nodes[handle.index()].title())).or_default().insert(handle);
            }
            index
        });
        let hash = hash(title);
        let archived = nodes.archived_with(ArchiveQuery::Title(hash), |_| true);
        let found: BTreeSet<Handle> = index.get(&hash).into_iter().flatten().copied().chain(archived).collect();
        let has_title = |handle: &Handle| {
            step();
            folded(nodes[handle.index()].title()).eq(folded(title))
        };
        found.into_iter().filter(has_title).collect()
    }

    /// Notes the title of a new frame, or the new title of a frame.
    pub(super) fn insert(&mut self, title: &str, handle: Handle) {
        if let Some(index) = self.0.get_mut() {
            index.entry(hash(title)).or_default().insert(handle);
        }
    }

    /// Forgets the old title of a frame.
    pub(super) fn remove(&mut self, title: &str, handle: Handle) {
        if let Some(index) = self.0.get_mut()
            && let Some(frames) = index.get_mut(&hash(title))
        {
            frames.remove(&handle);
        }
    }
}

/// The characters by which titles are compared.
pub(super) fn folded(title: &str) -> impl Iterator<Item = char> + '_ {
    title.trim().chars().flat_map(char::to_lowercase)
}

/// The hash of a title. Archives keep it.
pub(super) fn hash(title: &str) -> u64 {
    fnv(folded(title).map(|character| u64::from(u32::from(character))))
}
