//! Links between frames that are added together (a plan, an import, a file): finds invalid parents, attempts
//! and dependencies, and an order in which the frames can be added.

use std::collections::HashMap;
use std::ops::Range;

use super::Tree;
use crate::error::Error;
use crate::frame::{Frame, FrameStatus, Handle, PLANNED_PREFIX, reference_to_id};
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
    UnknownAttempt,
    AttemptElsewhere,
    AttemptNotFailed,
    AttemptTaken,
    AttemptCircle,
}

impl Fault {
    pub(super) fn reason(self) -> &'static str {
        match self {
            Fault::UnknownParent => "there is no such parent",
            Fault::ParentCircle => "they would be above each other; give one of them another parent",
            Fault::UnknownDependency => "there is no such frame; name one by handle, ID or title",
            Fault::DependsOnKin => "a frame cannot depend on itself or on one above or below it",
            Fault::DependencyCircle => "each would wait for the other; leave one of the two out",
            Fault::UnknownAttempt => "there is no such frame beside it; retry a frame of the tree instead",
            Fault::AttemptElsewhere => "they have different parents; give them the same one",
            Fault::AttemptNotFailed => "that one has not failed; only a failed frame can be retried",
            Fault::AttemptTaken => "that one has a next attempt; name the newest attempt",
            Fault::AttemptCircle => "each would be the next attempt of the other; leave one of the two out",
        }
    }
}

impl BadLink {
    pub(super) fn into_error(self, tree: &Tree, frames: &[Frame]) -> Error {
        // A generated ID has no meaning for the caller.
        let name = |id: &str| match frames.iter().find(|frame| frame.session_id == id) {
            Some(frame) if id.starts_with(PLANNED_PREFIX) => frame.title.clone(),
            _ => tree.by_id(id).map_or_else(|| reference_to_id(id).into_owned(), |handle| reference(tree, handle)),
        };
        let frame = name(&frames[self.index].session_id);
        match self.fault {
            Fault::UnknownParent | Fault::UnknownDependency => Error::UnknownFrame {
                reference: reference_to_id(&self.target).into_owned(),
                handle: None,
                similar: Vec::new(),
            },
            Fault::ParentCircle => Error::ParentCircle { frame, parent: name(&self.target) },
            Fault::DependsOnKin | Fault::DependencyCircle => {
                Error::Dependency { frame, dependency: name(&self.target), reason: self.fault.reason() }
            }
            Fault::UnknownAttempt
            | Fault::AttemptElsewhere
            | Fault::AttemptNotFailed
            | Fault::AttemptTaken
            | Fault::AttemptCircle => {
                Error::RetryLink { frame, attempt: name(&self.target), reason: self.fault.reason() }
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

/// New frames and the tree that they will be added to. The IDs of the new frames are unique and not in the
/// tree.
pub(super) struct Links<'a> {
    tree: &'a Tree,
    frames: &'a [Frame],
    places: HashMap<&'a str, usize>,
    /// For each new frame, the newest attempt at its work. Empty if no new frame is a retry.
    newest: Vec<usize>,
}

impl<'a> Links<'a> {
    pub(super) fn new(tree: &'a Tree, frames: &'a [Frame]) -> Self {
        let places = frames.iter().enumerate().map(|(index, frame)| (frame.session_id.as_str(), index)).collect();
        let mut links = Self { tree, frames, places, newest: Vec::new() };
        links.newest = links.newest_attempts();
        links
    }

    /// For each new frame, the newest attempt at its work. An invalid link ends a chain of attempts.
    fn newest_attempts(&self) -> Vec<usize> {
        if self.frames.iter().all(|frame| frame.retry_of.is_none()) {
            return Vec::new();
        }
        let mut newest: Vec<usize> = (0..self.frames.len()).collect();
        let mut is_retried = vec![false; self.frames.len()];
        (0..self.frames.len()).filter_map(|index| self.earlier(index)).for_each(|earlier| is_retried[earlier] = true);
        for last in (0..self.frames.len()).filter(|index| !is_retried[*index]) {
            let mut index = last;
            while let Some(earlier) = self.earlier(index).filter(|earlier| newest[*earlier] == *earlier) {
                step();
                newest[earlier] = last;
                index = earlier;
            }
        }
        newest
    }

    /// The new frame that this frame retries.
    fn earlier(&self, index: usize) -> Option<usize> {
        self.frames[index].retry_of.as_deref().and_then(|id| self.places.get(id)).copied()
    }

    /// True if each attempt comes after the one before it.
    pub(super) fn attempts_are_in_order(&self) -> bool {
        (0..self.frames.len()).all(|index| self.earlier(index).is_none_or(|earlier| earlier < index))
    }

    /// The newest attempt at the work of a frame.
    fn newest(&self, place: Place) -> Place {
        match place {
            Place::Old(handle) => Place::Old(self.tree.newest_attempt(handle)),
            Place::New(index) => Place::New(self.newest.get(index).copied().unwrap_or(index)),
        }
    }

    fn place(&self, id: &str) -> Option<Place> {
        self.places.get(id).map(|index| Place::New(*index)).or_else(|| self.tree.by_id(id).map(Place::Old))
    }

    fn parent(&self, index: usize) -> Option<Place> {
        self.frames[index].parent_session_id.as_deref().and_then(|id| self.place(id))
    }

    /// The links to parents that do not exist, or that form a circle.
    pub(super) fn bad_parents(&self) -> Vec<BadLink> {
        let unknown = |id: &str| (!self.is_known(id)).then_some(Fault::UnknownParent);
        self.walk(|frame| frame.parent_session_id.as_deref(), |_, id| unknown(id), Fault::ParentCircle)
    }

    /// The links to earlier attempts that are not possible. The links to parents must be valid. Only new
    /// frames can be retried by new frames.
    pub(super) fn bad_attempts(&self) -> Vec<BadLink> {
        if self.frames.iter().all(|frame| frame.retry_of.is_none()) {
            return Vec::new();
        }
        let mut is_taken = vec![false; self.frames.len()];
        let fault = |frame: &Frame, id: &str| {
            let Some(earlier) = self.places.get(id) else { return Some(Fault::UnknownAttempt) };
            let other = &self.frames[*earlier];
            let has_failed = matches!(other.status, FrameStatus::Failed | FrameStatus::Invalidated);
            if frame.session_id == other.session_id {
                Some(Fault::AttemptCircle)
            } else if frame.parent_session_id != other.parent_session_id {
                Some(Fault::AttemptElsewhere)
            } else if !has_failed {
                Some(Fault::AttemptNotFailed)
            } else {
                std::mem::replace(&mut is_taken[*earlier], true).then_some(Fault::AttemptTaken)
            }
        };
        self.walk(|frame| frame.retry_of.as_deref(), fault, Fault::AttemptCircle)
    }

    fn is_known(&self, id: &str) -> bool {
        self.place(id).is_some()
    }

    /// Follows the links from each new frame, one link for each frame. Returns the links that have a fault
    /// and the links that close a circle. Each link is looked at once.
    fn walk(
        &self,
        link: impl Fn(&'a Frame) -> Option<&'a str>,
        mut fault: impl FnMut(&Frame, &str) -> Option<Fault>,
        circle: Fault,
    ) -> Vec<BadLink> {
        let mut bad = Vec::new();
        // 0: not visited; n: visited by the walk that began at frame n - 1. A walk that reaches its own mark
        // has found a circle; a walk that reaches the mark of another walk has not.
        let mut walk = vec![0; self.frames.len()];
        for start in 0..self.frames.len() {
            let mut index = start;
            while walk[index] == 0 {
                walk[index] = start + 1;
                let Some(id) = link(&self.frames[index]) else { break };
                let mut report = |fault| bad.push(BadLink { index, target: id.to_owned(), fault });
                match (fault(&self.frames[index], id), self.places.get(id)) {
                    (Some(fault), _) => report(fault),
                    (None, Some(next)) if walk[*next] == start + 1 => report(circle),
                    (None, Some(next)) => {
                        index = *next;
                        continue;
                    }
                    (None, None) => {}
                }
                break;
            }
        }
        bad
    }

    /// The invalid dependencies. The links to parents and to earlier attempts must be valid.
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
                    // A frame that depends on another one waits for the newest attempt of that frame.
                    Some(place) if self.is_kin(&branches, index, self.newest(place)) => Fault::DependsOnKin,
                    Some(place) if self.newest(place) == self.newest(Place::New(index)) => Fault::DependsOnKin,
                    Some(_) => continue,
                };
                bad.push(BadLink { index, target: target.clone(), fault });
            }
        }
        bad.extend(self.dependency_circles());
        bad
    }

    /// True if a new frame and another frame are the same frame, or one of them is above the other.
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
        // Each frame is in `pending` twice: it is entered, and it is left after all frames below it were
        // left.
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
                let place = self.places.get(target.as_str()).map(|place| self.newest(Place::New(*place)));
                match place {
                    // A dependency of a frame on itself is reported as `DependsOnKin`.
                    Some(Place::New(place)) if place == index => {}
                    Some(Place::New(place)) if marks[place] == Mark::Open => {
                        circles.push(BadLink { index, target: target.clone(), fault: Fault::DependencyCircle })
                    }
                    Some(Place::New(place)) if marks[place] == Mark::New => path.push((place, 0)),
                    _ => {}
                }
            }
        }
        circles
    }

    /// The indices of the new frames: every parent before its children and every attempt before the next one,
    /// otherwise in the given order. The links to parents and to earlier attempts must be valid.
    pub(super) fn parents_first(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.frames.len());
        let mut added = vec![false; self.frames.len()];
        let mut waiting: HashMap<usize, Vec<usize>> = HashMap::new();
        let parent = |index: usize| match self.parent(index) {
            Some(Place::New(parent)) => Some(parent),
            _ => None,
        };
        for index in 0..self.frames.len() {
            let mut next = vec![index];
            while let Some(index) = next.pop() {
                let before = parent(index).into_iter().chain(self.earlier(index)).find(|before| !added[*before]);
                if let Some(before) = before {
                    waiting.entry(before).or_default().push(index);
                    continue;
                }
                added[index] = true;
                order.push(index);
                next.extend(waiting.remove(&index).unwrap_or_default().into_iter().rev());
            }
        }
        order
    }
}
