//! The frames that a context may show, with their scores.

use super::Contexts;
use crate::frame::Handle;
use crate::tree::Tree;

/// The frames considered for the context of one frame.
pub(super) struct Considered {
    pub(super) handle: Handle,
    /// The parent first, the root last.
    pub(super) ancestors: Vec<Handle>,
    /// Finished dependencies that are not siblings, in the order of `dependsOn`.
    pub(super) dependencies: Vec<Handle>,
    /// Finished siblings: first the dependencies, then the others, each group in the order in which they finished.
    pub(super) siblings: Vec<Sibling>,
    /// Dependencies that are not finished, in the order of `dependsOn`.
    pub(super) waiting_for: Vec<Handle>,
}

pub(super) struct Sibling {
    pub(super) handle: Handle,
    pub(super) score: f32,
    pub(super) is_dependency: bool,
}

/// Finds and scores the frames that may be relevant to a frame.
pub(super) fn consider(contexts: &Contexts, tree: &Tree, handle: Handle) -> Considered {
    let node = tree.node(handle);
    let (finished, waiting_for): (Vec<Handle>, Vec<Handle>) =
        node.dependencies().iter().partition(|dependency| tree.node(**dependency).status().is_finished());
    let is_sibling = |other: &Handle| node.parent().is_some() && tree.node(*other).parent() == node.parent();
    let mut siblings: Vec<Sibling> = contexts
        .sibling_scores(tree, handle)
        .into_iter()
        .map(|scored| Sibling { handle: scored.handle, score: scored.score, is_dependency: false })
        .collect();
    let mut place = 0;
    // A dependency has the full score, and is included even if it failed without results.
    for dependency in finished.iter().filter(|dependency| is_sibling(dependency)) {
        siblings.retain(|sibling| sibling.handle != *dependency);
        siblings.insert(place, Sibling { handle: *dependency, score: 100.0, is_dependency: true });
        place += 1;
    }
    siblings[..place].sort_by_key(|sibling| tree.node(sibling.handle).finished());
    Considered {
        handle,
        ancestors: tree.ancestors(handle).collect(),
        dependencies: finished.into_iter().filter(|dependency| !is_sibling(dependency)).collect(),
        siblings,
        waiting_for,
    }
}
