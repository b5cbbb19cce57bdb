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
    let scored = contexts.sibling_scores(tree, handle).into_iter().inspect(|_| step());
    siblings.extend(scored.filter(|scored| !known.contains(&scored.handle)).map(|scored| Sibling {
        handle: scored.handle,
        score: scored.score,
        is_dependency: false,
    }));
    Considered { handle, ancestors: tree.ancestors(handle).collect(), dependencies, siblings, waiting_for }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{Approx, Settings};
    use crate::frame::{Frame, FrameStatus, StackState};
    use crate::steps::{assert_grows, steps_of};

    /// A root with finished children, and one that depends on all of them, each named twice.
    fn dependent(size: usize) -> (Tree, Handle) {
        let child = |id: String, status, depends_on| Frame {
            title: id.clone(),
            session_id: id,
            parent_session_id: Some("root".into()),
            status,
            depends_on,
            ..Frame::default()
        };
        let ids: Vec<String> = (0..size).map(|index| format!("ses_{index}")).collect();
        let root = Frame { session_id: "root".into(), status: FrameStatus::InProgress, ..Frame::default() };
        let mut frames = vec![root];
        frames.extend(ids.iter().map(|id| child(id.clone(), FrameStatus::Completed, Vec::new())));
        let depends_on = ids.iter().rev().chain(&ids).cloned().collect();
        frames.push(child("me".into(), FrameStatus::InProgress, depends_on));
        let (tree, _) = Tree::from_state(StackState { frames, revision: 1, ..StackState::default() });
        let me = tree.by_id("me").unwrap();
        (tree, me)
    }

    fn contexts() -> Contexts {
        Contexts::new(std::sync::Arc::new(Approx), std::path::PathBuf::new())
    }

    #[test]
    fn sibling_dependencies_take_a_step_each() {
        assert_grows(2.2, 300, |size| {
            let (tree, me) = dependent(size);
            steps_of(|| consider(&contexts(), &tree, me)).1
        });
    }

    #[test]
    fn sibling_dependencies_are_shown_once_in_the_order_of_their_finish() {
        let (tree, me) = dependent(50);
        let considered = consider(&contexts(), &tree, me);
        let finished: Vec<Handle> = tree.node(tree.roots()[0]).finished_children().collect();
        assert!(considered.siblings.iter().all(|sibling| sibling.is_dependency && sibling.score == 100.0));
        assert!(considered.siblings.iter().map(|sibling| sibling.handle).eq(finished));
        let entries = contexts().assemble(&tree, me, &Settings::default(), "").unwrap().report.entries;
        assert_eq!(entries.len(), 52, "the frame, its root, and each sibling once");
    }
}
