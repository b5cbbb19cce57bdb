//! Frames that wait before they have begun, until a person answers or a time comes, and frames that are not
//! work: plans of other tools have such frames.

use std::collections::HashMap;

use crate::frame::{FrameStatus, Handle};
use crate::steps::step;
use crate::tree::Tree;

impl Tree {
    /// The frames that wait to begin ([`Frame::waits_to_begin`](crate::Frame::waits_to_begin)), in creation
    /// order.
    pub fn waiting_to_begin(&self) -> impl Iterator<Item = Handle> + '_ {
        self.waiting.iter().copied()
    }

    /// The frames that wait to begin and whose time has come, each with that time.
    pub fn ended_waits(&self, now: u64) -> impl Iterator<Item = (Handle, u64)> + '_ {
        let until = |handle: Handle| self.node(handle).record().questions.last()?.until;
        self.waiting_to_begin()
            .filter_map(move |handle| Some((handle, until(handle)?)))
            .filter(move |(_, until)| *until <= now)
    }

    /// The status that a frame gets when it has waited to begin and is answered. `None`: the frame does not
    /// wait to begin.
    pub(in crate::tree) fn after_wait(&self, handle: Handle) -> Option<FrameStatus> {
        let frame = self.node(handle).record();
        let has_parts = || self.children(handle).iter().any(|child| self.status(*child).is_unfinished());
        frame.waits_to_begin().then(|| match frame.no_work {
            None if frame.questions.last().is_some_and(|wait| wait.begun) => FrameStatus::InProgress,
            None => FrameStatus::Planned,
            Some(_) if self.unfinished_dependencies(handle).next().is_some() => FrameStatus::Planned,
            Some(_) if has_parts() => FrameStatus::InProgress,
            Some(_) => FrameStatus::Completed,
        })
    }

    /// The nearest frame above a frame that waits to begin, and so makes all work below it wait.
    pub fn waiting_above(&self, handle: Handle) -> Option<Handle> {
        if self.waiting.is_empty() {
            return None;
        }
        self.ancestors(handle).find(|above| {
            step();
            self.waiting.contains(above)
        })
    }

    /// The revision of the last change of the frames that others hold together, if all that such a frame
    /// holds together is done and no command has ended it. A change of the plan alone does not end such a
    /// frame.
    pub(crate) fn plan_with_done_groups(&self, since: u64) -> Option<u64> {
        let is_new = !self.no_work.is_empty() && self.plan_revision != since;
        let none = HashMap::new();
        (is_new && self.groups().any(|group| self.is_group_done(group, &none))).then_some(self.plan_revision)
    }

    /// The unfinished frames that are not work.
    pub(in crate::tree) fn groups(&self) -> impl Iterator<Item = Handle> + '_ {
        self.no_work.iter().copied()
    }

    pub(in crate::tree) fn is_group(&self, handle: Handle) -> bool {
        self.no_work.contains(&handle)
    }

    /// True if there is an unfinished frame that is not work.
    pub(in crate::tree) fn has_groups(&self) -> bool {
        !self.no_work.is_empty()
    }

    /// True if a frame is not work, does not wait for a person, and everything that it holds together is
    /// done: its parts, and the frames that it depends on. `ended` has the statuses that frames get by the
    /// command.
    pub(in crate::tree) fn is_group_done(&self, handle: Handle, ended: &HashMap<Handle, FrameStatus>) -> bool {
        let status = |handle: &Handle| ended.get(handle).copied().unwrap_or(self.status(*handle));
        let can_end = matches!(status(&handle), FrameStatus::Planned | FrameStatus::InProgress);
        if !self.no_work.contains(&handle) || !can_end || self.node(handle).record().held_by().is_some() {
            return false;
        }
        let is_part_done = |part: &Handle| {
            step();
            let is_done = matches!(status(part), FrameStatus::Completed | FrameStatus::Invalidated);
            let is_left = |below: Handle| status(&below).is_unfinished();
            let has_ended =
                is_done && !(self.brief(*part).has_unfinished_below() && self.unfinished_below(*part).any(is_left));
            has_ended || self.is_retried(*part)
        };
        let mut needed = self.newest_dependencies(handle).peekable();
        let parts = self.children(handle);
        // If all parts were taken out of the plan, the work that other frames need was not done.
        let is_any_done = parts.iter().any(|part| status(part) == FrameStatus::Completed);
        let holds_something = needed.peek().is_some() || is_any_done || self.dependents(handle).is_empty();
        (needed.peek().is_some() || !parts.is_empty())
            && holds_something
            && needed.all(|dependency| status(&dependency) == FrameStatus::Completed)
            && parts.iter().all(is_part_done)
    }
}
