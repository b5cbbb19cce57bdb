//! The frames that a context may show, with their scores.

use std::collections::HashSet;

use super::Contexts;
use crate::frame::Handle;
use crate::steps::step;
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
    let (mut depended_on, dependencies): (Vec<Handle>, Vec<Handle>) = finished.into_iter().partition(is_sibling);
    depended_on.sort_by_key(|sibling| tree.node(*sibling).finished());
    let known: HashSet<Handle> = depended_on.iter().copied().collect();
    // A dependency has the full score, and is included even if it failed without results.
    let mut siblings: Vec<Sibling> =
        depended_on.into_iter().map(|handle| Sibling { handle, score: 100.0, is_dependency: true }).collect();
    let others = contexts.sibling_scores(tree, handle).into_iter().filter(|scored| !known.contains(&scored.handle));
    siblings.extend(others.inspect(|_| step()).map(|scored| Sibling {
        handle: scored.handle,
        score: scored.score,
        is_dependency: false,
    }));
    Considered { handle, ancestors: tree.ancestors(handle).collect(), dependencies, siblings, waiting_for }
}
