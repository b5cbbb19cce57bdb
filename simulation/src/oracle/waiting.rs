//! Which frames can begin or continue, and which frames they wait for if they cannot.

use std::collections::BTreeSet;

use callstack_core::{FrameStatus, Handle};

use super::{Oracle, Plain};

impl Oracle {
    /// Why frames that are said to wait for each other do not.
    pub(crate) fn is_no_circle(&self, frames: &[Handle]) -> Option<String> {
        let next = frames.iter().skip(1).chain(frames.first());
        frames.iter().zip(next).find_map(|(frame, next)| {
            let plain = self.frames.get(frame)?;
            let needs = |other: &Handle| self.newest(*other) == *next;
            let is_waiting = plain.children.contains(next) || plain.depends_on.iter().any(needs);
            (!is_waiting).then(|| format!("{frame} is said to wait for {next}"))
        })
    }

    /// A frame, other than this one, that a worker can begin: a planned one that was never held, with nothing in its
    /// way.
    pub(crate) fn free_frame(&self, other: Option<Handle>) -> Option<Handle> {
        let is_free = |(handle, plain): &(&Handle, &Plain)| self.is_free_to_begin(**handle, plain);
        self.frames.iter().filter(|(handle, _)| Some(**handle) != other).find(is_free).map(|(handle, _)| *handle)
    }

    pub(super) fn is_free_to_begin(&self, handle: Handle, plain: &Plain) -> bool {
        let is_new = plain.status == FrameStatus::Planned && plain.holder.is_none() && plain.is_work;
        let is_left = is_new && plain.retried_as.is_none();
        is_left && self.in_the_way(handle).is_none() && !self.may_wait_above(plain)
    }

    /// True if a frame may wait for something above it: for one that waits to begin, or for what that one needs, even
    /// if it is in a circle with this frame.
    fn may_wait_above(&self, plain: &Plain) -> bool {
        let Some(above) = plain.parent.and_then(|parent| self.frames.get(&parent)) else { return false };
        let is_done = |other: &Handle| self.status_of(self.newest(*other)) == Some(FrameStatus::Completed);
        match above.status {
            FrameStatus::Blocked => true,
            FrameStatus::Planned if !above.depends_on.iter().all(is_done) => true,
            _ => self.may_wait_above(above),
        }
    }

    /// A part of a worker's frame that is not done: a frame that was planned below it, or below what was pushed there.
    pub(crate) fn part_left(&self, handle: Handle) -> Option<Handle> {
        let mut next = vec![handle];
        while let Some(frame) = next.pop() {
            for child in &self.frames.get(&frame)?.children {
                let part = &self.frames[child];
                match part.status {
                    FrameStatus::Planned => return Some(*child),
                    FrameStatus::Failed if part.was_planned && part.retried_as.is_none() => return Some(*child),
                    FrameStatus::InProgress | FrameStatus::Blocked if part.was_planned => return Some(*child),
                    FrameStatus::InProgress | FrameStatus::Blocked => next.push(*child),
                    _ => {}
                }
            }
        }
        None
    }

    /// The reason why a worker cannot begin a planned frame. `None`: it can.
    pub(crate) fn in_the_way(&self, handle: Handle) -> Option<String> {
        let plain = self.frames.get(&handle)?;
        for child in &plain.children {
            let other = &self.frames[child];
            if other.retried_as.is_none() && !matches!(other.status, FrameStatus::Completed | FrameStatus::Invalidated)
            {
                return Some(format!("its part {child} is {}", other.status));
            }
        }
        self.needs_in_the_way(handle)
    }

    /// The first dependency that a planned frame waits for, or the ended frame above it. Its parts are not looked at.
    pub(super) fn needs_in_the_way(&self, handle: Handle) -> Option<String> {
        let mut next = Some(handle);
        while let Some(current) = next {
            let plain = self.frames.get(&current)?;
            if plain.status != FrameStatus::Planned {
                return self.end_above(current);
            }
            for dependency in &plain.depends_on {
                let newest = self.newest(*dependency);
                let status = self.status_of(newest);
                // What is above does not wait for a frame that itself waits for this part of it.
                if status != Some(FrameStatus::Completed) && (current == handle || !self.waits_for(newest, handle)) {
                    return Some(format!("{current} needs {newest}, which is {status:?}"));
                }
            }
            next = plain.parent;
        }
        None
    }

    /// The reason why a worker cannot continue a frame that has begun. `None`: it can.
    pub(super) fn in_the_way_of_more(&self, handle: Handle) -> Option<String> {
        if let Some(part) = self.part_left(handle) {
            return Some(format!("its part {part} is {}", self.frames[&part].status));
        }
        let plain = self.frames.get(&handle)?;
        self.end_above(plain.parent?)
    }

    /// The reason why a session cannot begin a planned frame: the frame above it is not open. `None`: it can.
    pub(super) fn not_open_above(&self, handle: Handle) -> Option<String> {
        let above = self.frames.get(&handle)?.parent?;
        let status = self.status_of(above)?;
        (!status.is_open()).then(|| format!("{above} above it is {status}"))
    }

    /// The end of the first frame that is not planned: this one, or one above it. `None`: it has not ended.
    pub(super) fn end_above(&self, handle: Handle) -> Option<String> {
        let plain = self.frames.get(&handle)?;
        match plain.status {
            FrameStatus::Planned => self.end_above(plain.parent?),
            status => (!status.is_unfinished()).then(|| format!("{handle} above it is {status}")),
        }
    }

    /// True if a frame, what is below it, or what it needs, is the other frame.
    fn waits_for(&self, frame: Handle, other: Handle) -> bool {
        let (mut seen, mut next) = (BTreeSet::new(), vec![frame]);
        while let Some(current) = next.pop() {
            if current == other {
                return true;
            }
            // What has ended waits for nothing, and what has begun waits for its parts only.
            let plain = self.frames.get(&current).filter(|plain| plain.status.is_unfinished() && seen.insert(current));
            if let Some(plain) = plain {
                next.extend(&plain.children);
                let (mut frame, mut above) = (plain, plain.parent);
                // A planned frame waits for what it needs, and for what the planned frames above it need.
                while frame.status == FrameStatus::Planned {
                    next.extend(frame.depends_on.iter().map(|dependency| self.newest(*dependency)));
                    let Some(parent) = above.and_then(|above| self.frames.get(&above)) else { break };
                    (frame, above) = (parent, parent.parent);
                }
            }
        }
        false
    }
}
