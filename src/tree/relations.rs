//! What follows for the frames of whole trees from their parents, their places, and how their work stands: their
//! children in order, their depths, and what they count of the frames below them.

use std::collections::BTreeMap;

use super::Node;
use crate::error::{Error, Result, SNAPSHOT};
use crate::frame::{FrameStatus, Handle};

/// The data of a frame from which its relations follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) handle: Handle,
    pub(super) parent: Option<Handle>,
    /// Key of its place among its siblings.
    pub(super) order: u64,
    /// Place of its finish in the tree's sequence.
    pub(super) finished: u64,
    pub(super) status: FrameStatus,
    pub(super) is_retried: bool,
    pub(super) delivered_at: Option<u64>,
    pub(super) forgotten_at: Option<u64>,
}

impl Member {
    pub(super) fn of(handle: Handle, node: &Node) -> Self {
        Self {
            handle,
            parent: node.parent,
            order: node.order,
            finished: node.finished,
            status: node.status(),
            is_retried: node.retried_as().is_some(),
            delivered_at: node.frame.delivered_at,
            forgotten_at: node.frame.forgotten_at,
        }
    }

    /// True if its parent lists it among its finished children.
    fn is_finished(&self) -> bool {
        self.status.is_finished() && !self.is_retried
    }
}

/// The relations of the frames of whole trees. A frame is named by its place in the order of the handles.
#[derive(Debug)]
pub(super) struct Relations {
    handles: Vec<Handle>,
    depths: Vec<u32>,
    jumps: Vec<Handle>,
    busy_children: Vec<u32>,
    held_children: Vec<u32>,
    children: Groups<Handle>,
    finished_children: Groups<(u64, Handle)>,
}

impl Relations {
    /// `members`: all frames of the trees, in the order of their handles.
    ///
    /// # Errors
    /// [`Error::Json`] if a parent is not among the frames, or if frames are above each other.
    pub(super) fn of(members: &[Member]) -> Result<Self> {
        let handles: Vec<Handle> = members.iter().map(|member| member.handle).collect();
        let mut parents = Vec::with_capacity(members.len());
        for Member { handle, parent, .. } in members {
            let place = |parent: Handle| {
                let missing = || Error::json(SNAPSHOT, format!("frame {handle}: its parent {parent} is missing"));
                place_of(&handles, parent).ok_or_else(missing)
            };
            parents.push(parent.map(place).transpose()?);
        }
        let places = Groups::of(&parents, |_| true, |place| members[place].order, |place| place);
        let finished = |place: usize| (members[place].finished, handles[place]);
        let mut relations = Self {
            depths: vec![0; members.len()],
            jumps: handles.clone(),
            busy_children: vec![0; members.len()],
            held_children: vec![0; members.len()],
            children: places.map(|place| handles[*place]),
            finished_children: Groups::of(
                &parents,
                |place| members[place].is_finished(),
                |place| members[place].finished,
                finished,
            ),
            handles,
        };
        // Parents come before children. A frame that is not reached has no root above it.
        let mut ways: Vec<usize> = (0..members.len()).filter(|place| parents[*place].is_none()).collect();
        let mut next = 0;
        while let Some(place) = ways.get(next).copied() {
            if let Some(parent) = parents[place] {
                (relations.depths[place], relations.jumps[place]) = relations.way_below(parent);
            }
            ways.extend_from_slice(places.get(place));
            next += 1;
        }
        if ways.len() < members.len() {
            return Err(Error::json(SNAPSHOT, "frames are above each other".to_owned()));
        }
        // Children come before parents, because parents count them.
        for place in ways.into_iter().rev() {
            let Some(parent) = parents[place] else { continue };
            let child = &members[place];
            let is_busy = child.status.is_unfinished() || relations.busy_children[place] > 0;
            relations.busy_children[parent] += u32::from(is_busy);
            let forgotten_at = members[parent].forgotten_at;
            let is_held = |time: u64| forgotten_at.is_none_or(|forgotten| time > forgotten);
            relations.held_children[parent] +=
                u32::from(child.is_finished() && child.delivered_at.is_some_and(is_held));
        }
        Ok(relations)
    }

    /// The depth and the jump of a child of the frame at this place.
    fn way_below(&self, parent: usize) -> (u32, Handle) {
        let place = |handle: Handle| place_of(&self.handles, handle).expect("a jump leads to one of the frames");
        let first = place(self.jumps[parent]);
        let second = place(self.jumps[first]);
        let is_even = self.depths[parent] - self.depths[first] == self.depths[first] - self.depths[second];
        (self.depths[parent] + 1, if is_even { self.jumps[first] } else { self.handles[parent] })
    }

    /// The place of a frame.
    pub(super) fn place(&self, handle: Handle) -> Option<usize> {
        place_of(&self.handles, handle)
    }

    pub(super) fn children(&self, place: usize) -> &[Handle] {
        self.children.get(place)
    }

    pub(super) fn depth(&self, place: usize) -> u32 {
        self.depths[place]
    }

    pub(super) fn jump(&self, place: usize) -> Handle {
        self.jumps[place]
    }

    /// True if a frame below this frame is unfinished.
    pub(super) fn has_unfinished_below(&self, place: usize) -> bool {
        self.busy_children[place] > 0
    }

    /// Gives its relations to the node of the frame at this place.
    pub(super) fn give_to(&self, place: usize, node: &mut Node) {
        (node.depth, node.jump) = (self.depths[place], self.jumps[place]);
        (node.busy_children, node.held_children) = (self.busy_children[place], self.held_children[place]);
        node.children = self.children(place).to_vec();
        node.finished_children = self.finished_children.get(place).iter().copied().collect::<BTreeMap<_, _>>();
    }
}

/// The place of a handle in a list of handles that is in order. Most lists have no gaps.
fn place_of(handles: &[Handle], handle: Handle) -> Option<usize> {
    let near = handle.index().checked_sub(handles.first()?.index())?;
    match handles.get(near) {
        Some(found) if *found == handle => Some(near),
        _ => handles.binary_search(&handle).ok(),
    }
}

/// Lists of values, one for each place.
#[derive(Debug)]
struct Groups<T> {
    /// Where the list of each place begins, and the end of the last list.
    starts: Vec<u32>,
    values: Vec<T>,
}

impl<T> Groups<T> {
    /// Lists the members below their parents, as far as `is_listed` is true for them, in the order of `key`.
    fn of(
        parents: &[Option<usize>],
        is_listed: impl Fn(usize) -> bool,
        key: impl Fn(usize) -> u64,
        value: impl Fn(usize) -> T,
    ) -> Self {
        let listed = |place: &usize| parents[*place].is_some() && is_listed(*place);
        let mut places: Vec<usize> = (0..parents.len()).filter(listed).collect();
        places.sort_by_key(|place| (parents[*place], key(*place)));
        let mut starts = vec![0; parents.len() + 1];
        for place in &places {
            starts[parents[*place].expect("it is listed below its parent") + 1] += 1;
        }
        for place in 0..parents.len() {
            starts[place + 1] += starts[place];
        }
        Self { starts, values: places.into_iter().map(value).collect() }
    }

    fn map<U>(&self, value: impl FnMut(&T) -> U) -> Groups<U> {
        Groups { starts: self.starts.clone(), values: self.values.iter().map(value).collect() }
    }

    fn get(&self, place: usize) -> &[T] {
        &self.values[self.starts[place] as usize..self.starts[place + 1] as usize]
    }
}
