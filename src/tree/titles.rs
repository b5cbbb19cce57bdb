//! The frames by their titles.

use std::collections::{BTreeSet, HashMap};

use super::Tree;
use super::derived::Derived;
use crate::archive::ArchiveQuery;
use crate::frame::{FrameStatus, Handle};
use crate::keys::{self, KeyMap};
use crate::steps::step;
use crate::text::fnv;

/// The frames by their titles, without regard to upper and lower case and to blanks around them.
///
/// The index is made by the first search, because most trees are never searched for a title. It keeps hashes,
/// so a long title is not kept a second time. When frames are found, the titles themselves are compared.
#[derive(Debug, Clone, Default)]
pub(super) struct Titles(Derived<Index>);

/// The frames in memory that are not packed. Many frames can have one title, so what distinguishes them is a
/// part of the key.
#[derive(Debug, Clone, Default)]
struct Index {
    titles: HashMap<u64, Frames>,
    known: KeyMap<Handle, Titled>,
}

/// The number of ranks.
const RANKS: u8 = 4;

/// The frames with one title.
#[derive(Debug, Clone, Default)]
struct Frames {
    /// How well the title means the frame, the title with its case, and the frame.
    everywhere: BTreeSet<(u8, u64, Handle)>,
    /// The same with the root of the frame, which comes after the first number.
    in_trees: BTreeSet<(u8, Handle, u64, Handle)>,
}

/// What is known of the title of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Titled {
    hash: u64,
    /// The hash of the title with its case.
    exact: u64,
    /// 0 for a frame in the plan, 1 if it was invalidated; 2 more if it was retried.
    rank: u8,
    root: Handle,
}

impl Titles {
    /// The frames of the index that a title means: those of the best rank, in the tree with this root if there
    /// are any, and with the same case if there are any. At most this number, in creation order.
    pub(super) fn meant(&self, tree: &Tree, title: &str, root: Option<Handle>, most: usize) -> Vec<Handle> {
        let Some(frames) = self.index(tree).titles.get(&hash(title)) else { return Vec::new() };
        let Some((rank, ..)) = frames.everywhere.first() else { return Vec::new() };
        let (rank, exact, first) = (*rank, exact(title), first_handle());
        let in_tree = |root: Handle, exact: u64| {
            let found = frames.in_trees.range((rank, root, exact, first)..);
            found
                .take_while(move |(other, tree, ..)| (*other, *tree) == (rank, root))
                .map(|(.., exact, handle)| (*exact, *handle))
        };
        let anywhere = |exact: u64| {
            let found = frames.everywhere.range((rank, exact, first)..);
            found.take_while(move |(other, ..)| *other == rank).map(|(_, exact, handle)| (*exact, *handle))
        };
        let root = root.filter(|root| in_tree(*root, 0).next().is_some());
        let choose = |from: u64| -> Vec<(u64, Handle)> {
            match root {
                Some(root) => in_tree(root, from).inspect(|_| step()).take(most).collect(),
                None => anywhere(from).inspect(|_| step()).take(most).collect(),
            }
        };
        let mut same: Vec<(u64, Handle)> = choose(exact);
        same.retain(|(other, _)| *other == exact);
        let found = if same.is_empty() { choose(0) } else { same };
        let mut found: Vec<Handle> = found.into_iter().map(|(_, handle)| handle).collect();
        found.retain(|handle| has_title(tree, *handle, title));
        found.sort_unstable();
        found
    }

    /// All frames with this title: in the tree with this root, or everywhere.
    pub(super) fn all<'a>(
        &'a self,
        tree: &'a Tree,
        title: &'a str,
        root: Option<Handle>,
    ) -> impl Iterator<Item = Handle> + 'a {
        let frames = self.index(tree).titles.get(&hash(title));
        let everywhere = frames.filter(|_| root.is_none()).into_iter().flat_map(|frames| &frames.everywhere);
        let within = frames.zip(root).into_iter().flat_map(|(frames, root)| {
            (0..RANKS).flat_map(move |rank| {
                let found = frames.in_trees.range((rank, root, 0, first_handle())..);
                found.take_while(move |(other, tree, ..)| (*other, *tree) == (rank, root))
            })
        });
        let here = everywhere.map(|(.., handle)| *handle).chain(within.map(|(.., handle)| *handle));
        let is_there = move |handle: &Handle| root.is_none_or(|root| tree.root(*handle) == root);
        let archived = self.archived(tree, title).into_iter().filter(is_there);
        here.filter(|handle| has_title(tree, *handle, title)).chain(archived)
    }

    /// The frames with this title that only the archive had when the index was made.
    pub(super) fn archived(&self, tree: &Tree, title: &str) -> Vec<Handle> {
        let index = self.index(tree);
        let found = tree.nodes.ask_archive(ArchiveQuery::Title(hash(title))).into_iter().map(|found| found.handle);
        found.filter(|handle| !index.known.contains_key(handle) && has_title(tree, *handle, title)).collect()
    }

    fn index(&self, tree: &Tree) -> &Index {
        self.0.get_or_make(|| {
            let mut index = Index::default();
            // The archive has the titles of packed frames.
            for handle in tree.nodes.all_made() {
                step();
                index.note(handle, Some(Titled::of(tree, handle)));
            }
            index
        })
    }

    /// Forgets a frame that leaves the memory.
    pub(super) fn remove(&mut self, handle: Handle) {
        if let Some(index) = self.0.made_mut() {
            index.note(handle, None);
        }
    }
}

impl Tree {
    /// Notes the title of a new frame, or that the title of a frame, its tree or its rank has changed.
    pub(super) fn note_title(&mut self, handle: Handle) {
        if self.titles.0.made().is_some() {
            let titled = Titled::of(self, handle);
            self.titles.0.made_mut().into_iter().for_each(|index| index.note(handle, Some(titled)));
        }
    }
}

impl Index {
    fn note(&mut self, handle: Handle, new: Option<Titled>) {
        let old = keys::set(&mut self.known, handle, new);
        if old == new {
            return;
        }
        if let Some(Titled { hash, exact, rank, root }) = old
            && let Some(frames) = self.titles.get_mut(&hash)
        {
            frames.everywhere.remove(&(rank, exact, handle));
            frames.in_trees.remove(&(rank, root, exact, handle));
        }
        if let Some(Titled { hash, exact, rank, root }) = new {
            let frames = self.titles.entry(hash).or_default();
            frames.everywhere.insert((rank, exact, handle));
            frames.in_trees.insert((rank, root, exact, handle));
        }
    }
}

impl Titled {
    fn of(tree: &Tree, handle: Handle) -> Self {
        let node = tree.node(handle);
        let rank = u8::from(node.status() == FrameStatus::Invalidated) + 2 * u8::from(node.retried_as().is_some());
        Self { hash: hash(node.title()), exact: exact(node.title()), rank, root: tree.root(handle) }
    }
}

fn has_title(tree: &Tree, handle: Handle, title: &str) -> bool {
    step();
    folded(tree.node(handle).title()).eq(folded(title))
}

fn first_handle() -> Handle {
    Handle::from_index(0).expect("the first handle")
}

/// The characters by which titles are compared.
pub(super) fn folded(title: &str) -> impl Iterator<Item = char> + '_ {
    title.trim().chars().flat_map(char::to_lowercase)
}

/// The hash of a title. Archives keep it.
pub(super) fn hash(title: &str) -> u64 {
    let title = title.trim();
    if title.is_ascii() {
        // The same, without a look at each character's other letters.
        return fnv(title.bytes().map(|byte| u64::from(byte.to_ascii_lowercase())));
    }
    fnv(folded(title).map(|character| u64::from(u32::from(character))))
}

/// The hash of a title with its case.
fn exact(title: &str) -> u64 {
    fnv(title.trim().chars().map(|character| u64::from(u32::from(character))))
}
