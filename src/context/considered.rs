//! The frames that a context may show, with their scores.

use std::collections::HashSet;

use super::Contexts;
use super::relevance::Scored;
use super::settings::FinishedChildren;
use crate::frame::{FrameStatus, Handle};
use crate::steps::step;
use crate::tree::{SHOWN_ATTEMPTS, Tree};

/// From this number of finished siblings of ancestors on, the siblings of further ancestors are only counted.
const CONSIDERED_ABOVE: usize = 96;
/// Maximum number of finished children that are considered, and of those that are examined to find them.
const SHOWN_CHILDREN: usize = 256;
const SEARCHED_CHILDREN: usize = 1_024;

/// Maximum size of a [`Considered`] that is kept, in bytes.
const KEPT_BYTES: usize = 6_144;

/// The frames considered for the context of one frame.
#[derive(Clone)]
pub(super) struct Considered {
    pub(super) handle: Handle,
    /// The parent first, the root last.
    pub(super) ancestors: Vec<Handle>,
    /// Finished dependencies that are not siblings, in the order of `dependsOn`.
    pub(super) dependencies: Vec<Handle>,
    /// Finished dependencies of the ancestors, those of the nearest ancestor first.
    pub(super) inherited: Vec<Inherited>,
    /// The failed attempts before this frame, newest first.
    pub(super) attempts: Vec<Handle>,
    /// Number of attempts before those that were looked at for `attempts`.
    pub(super) other_attempts: usize,
    /// Finished siblings of the ancestors, those of the nearest ancestor first.
    pub(super) ancestor_siblings: Vec<AncestorSiblings>,
    /// Number of finished siblings of all ancestors that are not among `ancestor_siblings`, except for
    /// dependencies.
    pub(super) other_ancestor_siblings: usize,
    /// Finished siblings: first the dependencies, then the others, each group in the order in which they
    /// finished.
    pub(super) siblings: Vec<Sibling>,
    /// Number of finished siblings that are not among `siblings`: they failed without results, or are too many.
    pub(super) other_siblings: usize,
    /// Finished children that are to be shown, in the order in which they finished.
    pub(super) children: Vec<Handle>,
    /// Number of finished children that are to be shown and are not among `children`, because they are too
    /// many.
    pub(super) other_children: usize,
    /// Dependencies that are not completed: those of the frame, then those of its ancestors.
    pub(super) waiting_for: Vec<Waiting>,
}

impl Considered {
    /// True if it is small enough to be kept for many frames.
    pub(super) fn is_small(&self) -> bool {
        let inherited = self.inherited.iter().map(|level| size_of_val(&*level.dependencies));
        let above = self.ancestor_siblings.iter().map(|level| size_of_val(&*level.siblings));
        let own = size_of_val(&*self.ancestors)
            + size_of_val(&*self.dependencies)
            + size_of_val(&*self.attempts)
            + size_of_val(&*self.siblings)
            + size_of_val(&*self.children)
            + size_of_val(&*self.waiting_for);
        own + inherited.chain(above).sum::<usize>() <= KEPT_BYTES
    }
}

/// The finished dependencies of one ancestor, in the order of its `dependsOn`.
#[derive(Clone)]
pub(super) struct Inherited {
    pub(super) ancestor: Handle,
    pub(super) dependencies: Vec<Handle>,
}

/// The considered finished siblings of one ancestor, in the order in which they finished.
#[derive(Clone)]
pub(super) struct AncestorSiblings {
    pub(super) ancestor: Handle,
    /// 1 for the parent, 2 for its parent, and so on.
    pub(super) distance: usize,
    pub(super) siblings: Vec<Scored>,
}

#[derive(Clone)]
pub(super) struct Sibling {
    pub(super) handle: Handle,
    pub(super) score: f32,
    pub(super) is_dependency: bool,
}

/// A dependency that is not completed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    /// The frame itself or the ancestor that depends on it.
    pub(super) dependent: Handle,
    pub(super) dependency: Handle,
}

/// Returns the newest revision of everything that [`consider`] reads. What an open frame records in the
/// meantime, such as artifacts, is not part of it.
pub(super) fn revision(tree: &Tree, handle: Handle) -> u64 {
    let newest = |frame: Handle| {
        let node = tree.node(frame);
        let dependencies = tree.newest_dependencies(frame).map(|dependency| tree.node(dependency).revision());
        dependencies.fold(node.settled_revision().max(node.finished_revision()), u64::max)
    };
    let attempts = tree.earlier_attempts(handle).take(SHOWN_ATTEMPTS).map(|attempt| tree.node(attempt).revision());
    tree.lineage(handle).map(newest).chain(attempts).fold(0, u64::max)
}

/// Finds and scores the frames that may be relevant to a frame.
pub(super) fn consider(
    contexts: &Contexts,
    tree: &Tree,
    handle: Handle,
    finished_children: FinishedChildren,
) -> Considered {
    let ancestors: Vec<Handle> = tree.ancestors(handle).collect();
    let mut known: HashSet<Handle> = HashSet::new();
    let mut waiting_for = Vec::new();
    let own = finished_dependencies(tree, handle, &mut known, &mut waiting_for);
    let parent = tree.node(handle).parent();
    let is_sibling = |other: &Handle| parent.is_some() && tree.node(*other).parent() == parent;
    let (mut depended_on, dependencies): (Vec<Handle>, Vec<Handle>) = own.into_iter().partition(is_sibling);
    depended_on.sort_by_key(|sibling| tree.node(*sibling).finished());
    let mut inherited = Vec::new();
    for ancestor in ancestors.iter().filter(|ancestor| !tree.node(**ancestor).dependencies().is_empty()) {
        let dependencies = finished_dependencies(tree, *ancestor, &mut known, &mut waiting_for);
        if !dependencies.is_empty() {
            inherited.push(Inherited { ancestor: *ancestor, dependencies });
        }
    }
    // A dependency has the full score, and is included even if it failed without results.
    let mut siblings: Vec<Sibling> =
        depended_on.into_iter().map(|handle| Sibling { handle, score: 100.0, is_dependency: true }).collect();
    let scored = contexts.sibling_scores(tree, handle).into_iter().inspect(|_| step());
    siblings.extend(scored.filter(|scored| !known.contains(&scored.handle)).map(|scored| Sibling {
        handle: scored.handle,
        score: scored.score,
        is_dependency: false,
    }));
    let finished = parent.map_or(0, |parent| tree.node(parent).finished_children().len());
    let itself = usize::from(tree.is_finished_child(handle));
    let other_siblings = finished - itself - siblings.len();
    let ancestor_siblings = ancestor_siblings(contexts, tree, handle, &ancestors, &known);
    let considered: usize = ancestor_siblings.iter().map(|level| level.siblings.len()).sum();
    let other_ancestor_siblings = finished_beside(tree, &ancestors, &known) - considered;
    let (children, other_children) = children(tree, handle, finished_children);
    let has_failed = |attempt: &Handle| tree.node(*attempt).status() == FrameStatus::Failed;
    Considered {
        handle,
        attempts: tree.earlier_attempts(handle).take(SHOWN_ATTEMPTS).filter(has_failed).collect(),
        other_attempts: (tree.node(handle).attempt() - 1).saturating_sub(SHOWN_ATTEMPTS),
        children,
        other_children,
        ancestors,
        dependencies,
        inherited,
        ancestor_siblings,
        other_ancestor_siblings,
        siblings,
        other_siblings,
        waiting_for,
    }
}

/// Returns the finished dependencies of a frame that are not known yet, and makes them known. Adds those that
/// are not completed to `waiting_for`; a failed one is in both lists.
fn finished_dependencies(
    tree: &Tree,
    dependent: Handle,
    known: &mut HashSet<Handle>,
    waiting_for: &mut Vec<Waiting>,
) -> Vec<Handle> {
    let mut finished = Vec::new();
    for dependency in tree.newest_dependencies(dependent) {
        if !known.insert(dependency) {
            continue;
        }
        let status = tree.node(dependency).status();
        if status.is_finished() {
            finished.push(dependency);
        }
        if status != FrameStatus::Completed {
            waiting_for.push(Waiting { dependent, dependency });
        }
    }
    finished
}

/// Returns the newest finished children that are to be shown, in the order in which they finished, and the
/// number of the older ones.
fn children(tree: &Tree, handle: Handle, finished_children: FinishedChildren) -> (Vec<Handle>, usize) {
    let node = tree.node(handle);
    let all = node.finished_children();
    let held = match finished_children {
        FinishedChildren::All => 0,
        FinishedChildren::Forgotten => node.held_children(),
        FinishedChildren::None => all.len(),
    };
    let count = all.len() - held;
    if count == 0 {
        return (Vec::new(), 0);
    }
    let newest = all.rev().take(SEARCHED_CHILDREN).filter(|child| held == 0 || !tree.is_held(*child));
    let mut children: Vec<Handle> = newest.take(SHOWN_CHILDREN).collect();
    children.reverse();
    let others = count - children.len();
    (children, others)
}

/// Scores the finished siblings of the ancestors, without those that are `known` as dependencies.
fn ancestor_siblings(
    contexts: &Contexts,
    tree: &Tree,
    handle: Handle,
    ancestors: &[Handle],
    known: &HashSet<Handle>,
) -> Vec<AncestorSiblings> {
    let mut levels = Vec::new();
    let mut considered = 0;
    for (ancestor, distance) in ancestors.iter().zip(1..) {
        if considered >= CONSIDERED_ABOVE {
            break;
        }
        let mut siblings = contexts.scores_beside(tree, handle, *ancestor);
        siblings.retain(|sibling| !known.contains(&sibling.handle));
        considered += siblings.len();
        if !siblings.is_empty() {
            levels.push(AncestorSiblings { ancestor: *ancestor, distance, siblings });
        }
    }
    levels
}

/// Returns the number of finished siblings of all ancestors, without those that are `known` as dependencies.
fn finished_beside(tree: &Tree, ancestors: &[Handle], known: &HashSet<Handle>) -> usize {
    let mut count = 0;
    for (ancestor, parent) in ancestors.iter().zip(ancestors.iter().skip(1)) {
        let itself = usize::from(tree.is_finished_child(*ancestor));
        count += tree.node(*parent).finished_children().len() - itself;
    }
    let is_above_the_parent = |frame: Handle| ancestors.first().is_some_and(|parent| tree.is_ancestor(frame, *parent));
    let is_beside = |dependency: &&Handle| {
        let node = tree.node(**dependency);
        node.status().is_finished() && node.parent().is_some_and(is_above_the_parent)
    };
    count - known.iter().filter(is_beside).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{Approx, Settings};
    use crate::frame::{Frame, StackState};
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
            steps_of(|| consider(&contexts(), &tree, me, FinishedChildren::default())).1
        });
    }

    #[test]
    fn earlier_attempts_take_a_bounded_number_of_steps() {
        let steps = |size: usize| {
            let attempt = |index: usize| Frame {
                session_id: index.to_string(),
                status: if index + 1 < size { FrameStatus::Failed } else { FrameStatus::InProgress },
                retry_of: index.checked_sub(1).map(|earlier| earlier.to_string()),
                ..Frame::default()
            };
            let frames = (0..size).map(attempt).collect();
            let (tree, _) = Tree::from_state(StackState { frames, revision: 1, ..StackState::default() });
            let newest = tree.by_id(&(size - 1).to_string()).unwrap();
            let (considered, steps) = steps_of(|| consider(&contexts(), &tree, newest, FinishedChildren::default()));
            assert_eq!(
                (considered.attempts.len(), considered.other_attempts),
                (SHOWN_ATTEMPTS, size - 1 - SHOWN_ATTEMPTS)
            );
            steps
        };
        assert_eq!(steps(100), steps(200));
    }

    #[test]
    fn sibling_dependencies_are_shown_once_in_the_order_of_their_finish() {
        let (tree, me) = dependent(50);
        let considered = consider(&contexts(), &tree, me, FinishedChildren::default());
        let finished: Vec<Handle> = tree.node(tree.roots()[0]).finished_children().collect();
        assert!(considered.siblings.iter().all(|sibling| sibling.is_dependency && sibling.score == 100.0));
        assert!(considered.siblings.iter().map(|sibling| sibling.handle).eq(finished));
        let entries = contexts().assemble(&tree, me, &Settings::default(), Default::default()).unwrap().report.entries;
        assert_eq!(entries.len(), 52, "the frame, its root, and each sibling once");
    }
}
