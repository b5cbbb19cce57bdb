//! Links between frames that are added together (a plan, an import, a file): finds invalid parents and dependencies,
//! and an order in which the frames can be added.

use std::collections::HashMap;
use std::ops::Range;

use super::Tree;
use crate::error::Error;
use crate::frame::{Frame, Handle, PLANNED_PREFIX, reference_to_id};
use crate::steps::step;

/// An invalid link of a new frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BadLink {
    /// Index of the frame in the list of new frames.
    pub(super) index: usize,
    /// The ID that the link names.
    pub(super) target: String,
    pub(super) fault: Fault,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    UnknownParent,
    ParentCircle,
    UnknownDependency,
    DependsOnKin,
    DependencyCircle,
}

impl Fault {
    pub(super) fn reason(self) -> &'static str {
        match self {
            Fault::UnknownParent => "there is no such parent",
            Fault::ParentCircle => "they would be above each other; give one of them another parent",
            Fault::UnknownDependency => "there is no such frame; name one by handle, ID or title",
            Fault::DependsOnKin => {
                "a frame cannot depend on itself or on one above or below it; the call order sees to that"
            }
            Fault::DependencyCircle => "each would wait for the other; leave one of the two out",
        }
    }
}

impl BadLink {
    pub(super) fn into_error(self, tree: &Tree, frames: &[Frame]) -> Error {
        // A generated ID means nothing to the caller.
        let name = |id: &str| match frames.iter().find(|frame| frame.session_id == id) {
            Some(frame) if id.starts_with(PLANNED_PREFIX) => frame.title.clone(),
            _ => tree.by_id(id).map_or_else(|| reference_to_id(id).into_owned(), |handle| reference(tree, handle)),
        };
        let frame = name(&frames[self.index].session_id);
        match self.fault {
            Fault::UnknownParent | Fault::UnknownDependency => {
                Error::UnknownFrame { reference: reference_to_id(&self.target).into_owned(), handle: None }
            }
            Fault::ParentCircle => Error::ParentCircle { frame, parent: name(&self.target) },
            Fault::DependsOnKin | Fault::DependencyCircle => {
                Error::Dependency { frame, dependency: name(&self.target), reason: self.fault.reason() }
            }
        }
    }
}

/// A text that names a frame of the tree for a caller: its ID, or its handle if the ID was generated.
pub(super) fn reference(tree: &Tree, handle: Handle) -> String {
    let id = tree.node(handle).session_id();
    if id.starts_with(PLANNED_PREFIX) { handle.to_string() } else { reference_to_id(id).into_owned() }
}

/// A frame of the tree, or the index of a new frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Old(Handle),
    New(usize),
}

/// The place of a new frame among the others.
#[derive(Debug, Clone, Default)]
struct Branch {
    /// The numbers of the frame and of the new frames below it in a walk from parents to children.
    visits: Range<usize>,
    /// The lowest frame of the tree above it.
    below: Option<Handle>,
}

/// New frames and the tree that they will be added to. The IDs of the new frames are unique and not in the tree.
pub(super) struct Links<'a> {
    tree: &'a Tree,
    frames: &'a [Frame],
    places: HashMap<&'a str, usize>,
}

impl<'a> Links<'a> {
    pub(super) fn new(tree: &'a Tree, frames: &'a [Frame]) -> Self {
        let places = frames.iter().enumerate().map(|(index, frame)| (frame.session_id.as_str(), index)).collect();
        Self { tree, frames, places }
    }

    fn place(&self, id: &str) -> Option<Place> {
        self.places.get(id).map(|index| Place::New(*index)).or_else(|| self.tree.by_id(id).map(Place::Old))
    }

    fn parent(&self, index: usize) -> Option<Place> {
        self.frames[index].parent_session_id.as_deref().and_then(|id| self.place(id))
    }

    /// The links to parents that do not exist, or that form a circle.
    pub(super) fn bad_parents(&self) -> Vec<BadLink> {
        let mut bad = Vec::new();
        // 0: not visited; n: visited by the walk that began at frame n - 1. A walk that reaches its own mark has found
        // a circle; a walk that reaches the mark of another walk has not.
        let mut walk = vec![0; self.frames.len()];
        for start in 0..self.frames.len() {
            let mut index = start;
            while walk[index] == 0 {
                walk[index] = start + 1;
                let Some(id) = self.frames[index].parent_session_id.as_deref() else { break };
                let report = |fault| BadLink { index, target: id.to_owned(), fault };
                match self.place(id) {
                    None => bad.push(report(Fault::UnknownParent)),
                    Some(Place::New(parent)) if walk[parent] == start + 1 => bad.push(report(Fault::ParentCircle)),
                    Some(Place::New(parent)) => {
                        index = parent;
                        continue;
                    }
                    Some(Place::Old(_)) => {}
                }
                break;
            }
        }
        bad
    }

    /// The invalid dependencies. The links to parents must be valid.
    pub(super) fn bad_dependencies(&self) -> Vec<BadLink> {
        let mut bad = Vec::new();
        if self.frames.iter().all(|frame| frame.depends_on.is_empty()) {
            return bad;
        }
        let branches = self.branches();
        for (index, frame) in self.frames.iter().enumerate() {
            for target in &frame.depends_on {
                step();
                let fault = match self.place(target) {
                    None => Fault::UnknownDependency,
                    Some(place) if self.is_kin(&branches, index, place) => Fault::DependsOnKin,
                    Some(_) => continue,
                };
                bad.push(BadLink { index, target: target.clone(), fault });
            }
        }
        bad.extend(self.dependency_circles());
        bad
    }

    /// True if a new frame and another one are the same, or one is above the other.
    fn is_kin(&self, branches: &[Branch], frame: usize, other: Place) -> bool {
        let own = &branches[frame];
        match other {
            Place::Old(other) => {
                own.below.is_some_and(|lowest| lowest == other || self.tree.is_ancestor(other, lowest))
            }
            Place::New(other) => {
                let other = &branches[other];
                own.visits.contains(&other.visits.start) || other.visits.contains(&own.visits.start)
            }
        }
    }

    /// The branch of each new frame. The links to parents must be valid.
    fn branches(&self) -> Vec<Branch> {
        let mut branches = vec![Branch::default(); self.frames.len()];
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.frames.len()];
        let mut tops = Vec::new();
        for (index, branch) in branches.iter_mut().enumerate() {
            match self.parent(index) {
                Some(Place::New(parent)) => children[parent].push(index),
                Some(Place::Old(parent)) => {
                    branch.below = Some(parent);
                    tops.push(index);
                }
                None => tops.push(index),
            }
        }
        // Each frame stands twice in `pending`: it is entered, and left when all frames below it were.
        let mut visits = 0;
        let mut pending: Vec<(usize, bool)> = tops.into_iter().map(|index| (index, true)).collect();
        while let Some((index, enters)) = pending.pop() {
            if !enters {
                branches[index].visits.end = visits;
                continue;
            }
            step();
            branches[index].visits.start = visits;
            visits += 1;
            pending.push((index, false));
            let below = branches[index].below;
            for child in std::mem::take(&mut children[index]) {
                branches[child].below = below;
                pending.push((child, true));
            }
        }
        branches
    }

    /// The dependencies that close a circle. Depth-first search without recursion.
    fn dependency_circles(&self) -> Vec<BadLink> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let mut marks = vec![Mark::New; self.frames.len()];
        let mut circles = Vec::new();
        for start in 0..self.frames.len() {
            let mut path = vec![(start, 0)];
            while let Some((index, next)) = path.last_mut() {
                let index = *index;
                marks[index] = match marks[index] {
                    Mark::Done => {
                        path.pop();
                        continue;
                    }
                    _ => Mark::Open,
                };
                let Some(target) = self.frames[index].depends_on.get(*next) else {
                    marks[index] = Mark::Done;
                    path.pop();
                    continue;
                };
                *next += 1;
                match self.places.get(target.as_str()) {
                    // A dependency on itself is reported as `DependsOnKin`.
                    Some(place) if *place == index => {}
                    Some(place) if marks[*place] == Mark::Open => {
                        circles.push(BadLink { index, target: target.clone(), fault: Fault::DependencyCircle })
                    }
                    Some(place) if marks[*place] == Mark::New => path.push((*place, 0)),
                    _ => {}
                }
            }
        }
        circles
    }

    /// The indices of the new frames: every parent before its children, otherwise in the given order. The links to
    /// parents must be valid.
    pub(super) fn parents_first(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.frames.len());
        let mut added = vec![false; self.frames.len()];
        let mut waiting: HashMap<usize, Vec<usize>> = HashMap::new();
        for (index, frame) in self.frames.iter().enumerate() {
            let parent = frame.parent_session_id.as_deref().and_then(|id| self.places.get(id));
            if let Some(parent) = parent.filter(|parent| !added[**parent]) {
                waiting.entry(*parent).or_default().push(index);
                continue;
            }
            let mut next = vec![index];
            while let Some(index) = next.pop() {
                added[index] = true;
                order.push(index);
                next.extend(waiting.remove(&index).unwrap_or_default().into_iter().rev());
            }
        }
        order
    }
}
