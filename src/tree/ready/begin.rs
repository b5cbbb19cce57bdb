//! Which planned frames can begin, and what the other planned frames wait for. The same rule applies to
//! contexts, tools, the program and workers.

use std::collections::HashSet;
use std::iter;

use crate::error::{Error, Result};
use crate::frame::{FrameStatus, Handle, shown};
use crate::steps::step;
use crate::text::one_line;
use crate::tree::{LISTED, Tree};

/// The end of a refusal if the caller may begin the frame nevertheless.
const OR_ANYWAY: &str = ", or begin it `anyway`";

/// What prevents a frame from beginning, or a worker from getting a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Obstacle {
    /// The frame, or a planned frame above it, depends on a frame that is not completed.
    Dependency {
        /// The frame that depends on the other one.
        frame: Handle,
        /// The other frame, in its newest attempt.
        dependency: Handle,
    },
    /// This part of the frame is neither completed nor invalidated.
    Child(Handle),
    /// This frame above the frame has ended.
    Above(Handle),
    /// This frame above the frame waits to begin: for an answer, or for a time.
    Waiting(Handle),
    /// The frame is not work: it is a record of another tool, or a frame that holds others together.
    NoWork,
    /// The frame is in progress. For a worker: and it is not a worker's frame.
    Begun,
    /// The frame is blocked. For a worker: and it has no answer with which a worker could resume it.
    Blocked,
    /// The frame has ended.
    Ended,
    /// A worker holds the frame.
    Held,
    /// A worker has put the frame back until a later time.
    Later,
    /// The frame is not below this frame, which the worker has named.
    NotBelow(Handle),
}

/// What happens to the parts of a frame that begins. The parts are the frames below it that are neither
/// completed nor invalidated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parts {
    /// They are done before the frame. This is what an actor needs that takes the next work: a worker, or a
    /// person who asks what is ready.
    First,
    /// They can be left: an agent works on them inside the frame.
    Within,
}

impl Tree {
    /// Whether a planned frame can begin, or what prevents it. A frame with another status has begun, or has
    /// ended.
    ///
    /// ```
    /// use callstack_core::tree::{Obstacle, Parts};
    /// use callstack_core::{NewFrame, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// let shop = stack.plan(NewFrame::new("Shop"))?;
    /// let cart = stack.plan(NewFrame::new("Cart").below(shop))?;
    /// let tests = stack.plan(NewFrame::new("Tests").below(shop).depends_on(cart))?;
    /// stack.read(|tree| {
    ///     assert_eq!(tree.can_begin(cart, Parts::First), Ok(()));
    ///     let waits = Obstacle::Dependency { frame: tests, dependency: cart };
    ///     assert_eq!(tree.can_begin(tests, Parts::First), Err(waits));
    ///     assert_eq!(tree.can_begin(shop, Parts::First), Err(Obstacle::Child(tests)), "the part that is done last");
    ///     assert_eq!(tree.can_begin(shop, Parts::Within), Ok(()));
    /// })?;
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    pub fn can_begin(&self, handle: Handle, parts: Parts) -> std::result::Result<(), Obstacle> {
        self.can_begin_after(handle, parts, None)
    }

    /// Same as [`Tree::can_begin`], for the time when the frame `completed` is completed.
    pub(crate) fn can_begin_after(
        &self,
        handle: Handle,
        parts: Parts,
        completed: Option<Handle>,
    ) -> std::result::Result<(), Obstacle> {
        match self.status(handle) {
            FrameStatus::Planned => {}
            FrameStatus::InProgress => return Err(Obstacle::Begun),
            FrameStatus::Blocked => return Err(Obstacle::Blocked),
            _ => return Err(Obstacle::Ended),
        }
        self.lacks_nothing(handle, completed)?;
        match self.part_left(handle).filter(|_| parts == Parts::First) {
            Some(part) => Err(Obstacle::Child(part)),
            None => Ok(()),
        }
    }

    /// Whether a frame has what it needs to begin, no matter what its own status and its parts are.
    /// `completed`: this frame counts as completed.
    fn lacks_nothing(&self, handle: Handle, completed: Option<Handle>) -> std::result::Result<(), Obstacle> {
        if self.is_group(handle) {
            return Err(Obstacle::NoWork);
        }
        if let Some(above) = self.waiting_above(handle) {
            return Err(Obstacle::Waiting(above));
        }
        let is_clear = self.is_clear_above(handle);
        if is_clear && !self.has_open_needs(handle) {
            return Ok(());
        }
        let dependency = self.needed(handle).find(|(_, dependency)| Some(*dependency) != completed);
        if let Some((frame, dependency)) = dependency {
            return Err(Obstacle::Dependency { frame, dependency });
        }
        if is_clear { Ok(()) } else { self.is_wanted(handle) }
    }

    /// The frames that a planned frame waits for: its dependencies that are not completed, and such
    /// dependencies of the planned frames above it.
    pub fn waits_for(&self, handle: Handle) -> impl Iterator<Item = Handle> + '_ {
        self.needed(handle).map(|(_, dependency)| dependency)
    }

    /// The frames that a planned frame waits for, each with the frame that needs it.
    fn needed(&self, handle: Handle) -> impl Iterator<Item = (Handle, Handle)> + '_ {
        let comes_first = move |(frame, dependency): &(Handle, Handle)| {
            *frame != handle && self.comes_before(handle, *dependency, *frame)
        };
        self.needs(handle).filter(move |needed| !comes_first(needed))
    }

    /// The dependencies that are not completed, of a frame and of the planned frames above it, each with the
    /// frame that has the dependency. Contexts show these dependencies, because they change only with the
    /// frames of the frame's lineage.
    pub(crate) fn needs(&self, handle: Handle) -> impl Iterator<Item = (Handle, Handle)> + '_ {
        let is_planned = |above: &Handle| {
            step();
            self.status(*above) == FrameStatus::Planned
        };
        let frames = iter::once(handle).chain(self.ancestors(handle).take_while(is_planned));
        frames.flat_map(|frame| self.unfinished_dependencies(frame).map(move |dependency| (frame, dependency)))
    }

    /// The dependencies of the frame that are not completed, each in its newest attempt.
    pub fn unfinished_dependencies(&self, handle: Handle) -> impl Iterator<Item = Handle> + '_ {
        let dependencies = self.newest_dependencies(handle);
        dependencies.filter(|dependency| self.status(*dependency) != FrameStatus::Completed)
    }

    /// True if a frame waits for a part of another frame: the other frame depends on it.
    fn comes_before(&self, part: Handle, dependency: Handle, whole: Handle) -> bool {
        let mut seen = HashSet::from([part]);
        let mut pending = vec![part];
        while let Some(frame) = pending.pop() {
            step();
            if frame == dependency {
                return true;
            }
            // A frame that depends on this frame waits with its planned parts, and the open frames above this
            // frame come after it. A part that has begun does not wait for what is needed above it.
            let mut waiting: Vec<Handle> = self.dependents(frame).to_vec();
            while let Some(other) = waiting.pop() {
                step();
                if self.status(other) == FrameStatus::Planned && seen.insert(other) {
                    pending.push(other);
                    waiting.extend(self.children(other));
                }
            }
            let comes_after = |above: &Handle| {
                self.status(*above).is_unfinished() && *above != whole && !self.is_ancestor(*above, whole)
            };
            let above = self.ancestors(frame).take_while(comes_after);
            // What is above a frame that was seen was seen too, or is still to come.
            pending.extend(above.take_while(|above| seen.insert(*above)));
        }
        false
    }

    /// Checks that the first frame above that is not planned has not ended.
    pub(super) fn is_wanted(&self, handle: Handle) -> std::result::Result<(), Obstacle> {
        let begun = self.ancestors(handle).find(|above| self.status(*above) != FrameStatus::Planned);
        match begun.filter(|above| !self.status(*above).is_open()) {
            Some(above) => Err(Obstacle::Above(above)),
            None => Ok(()),
        }
    }

    /// Checks that a frame has what it needs to begin. Same as [`Tree::can_begin`] no matter what its parts
    /// are, also for a frame that is to be retried.
    ///
    /// # Errors
    /// [`Error::NotReady`], with the dependencies that are not completed, or with the frame above that waits
    /// to begin or has ended. Also if the frame itself waits, or is not work.
    pub fn check_ready(&self, handle: Handle) -> Result<()> {
        let record = self.node(handle).record();
        if record.waits_to_begin() {
            let reason = one_line(record.waits_for());
            let message =
                format!("{handle} waits to begin: {}; answer it first{OR_ANYWAY}", shown(reason.trim_end_matches('.')));
            return Err(Error::NotReady { handle, dependencies: Vec::new(), message });
        }
        self.check_answered(handle)
    }

    /// Same as [`Tree::check_ready`], for a frame that is answered if it waits to begin.
    ///
    /// # Errors
    /// As [`Tree::check_ready`].
    pub fn check_answered(&self, handle: Handle) -> Result<()> {
        self.lacks_nothing(handle, None).map_err(|obstacle| self.not_ready(handle, obstacle))
    }

    /// Checks that a frame is work: that it does not only hold others together, or keep a record of another
    /// tool.
    ///
    /// # Errors
    /// [`Error::NotReady`].
    pub fn check_is_work(&self, handle: Handle) -> Result<()> {
        match self.node(handle).record().no_work {
            Some(_) => Err(self.not_ready(handle, Obstacle::NoWork)),
            None => Ok(()),
        }
    }

    /// The error that says what prevents a frame from beginning, and what to do.
    fn not_ready(&self, handle: Handle, obstacle: Obstacle) -> Error {
        let named = |other: Handle| format!("{other} ({}) above it", shown(&one_line(self.node(other).title())));
        let (dependencies, message) = match obstacle {
            Obstacle::Waiting(above) => {
                let reason = one_line(self.node(above).record().waits_for());
                let reason = shown(reason.trim_end_matches('.'));
                (vec![above], format!("{} waits: {reason}; answer {above} first{OR_ANYWAY}", named(above)))
            }
            Obstacle::Above(above) => {
                let status = self.node(above).status();
                let reopen = if status == FrameStatus::Completed { "reopen that, " } else { "" };
                let move_it = format!("{reopen}move {handle} below another frame{OR_ANYWAY}");
                (vec![above], format!("{} is {status}, so nothing waits for it; {move_it}", named(above)))
            }
            Obstacle::NoWork => {
                let word = self.node(handle).record().no_work.as_deref().unwrap_or_default();
                let word = one_line(word);
                let message = format!(
                    "{handle} is not work, but a {}: it is not begun; it is completed with what it holds together, or by an answer if it \
                     waits for one",
                    shown(&word)
                );
                (Vec::new(), message)
            }
            // The other obstacles come from the parts and the status of the frame itself, which are not
            // looked at.
            _ => {
                let needed: Vec<(Handle, Handle)> = self.needed(handle).collect();
                let message = format!("{}; {}{OR_ANYWAY}", self.listed_needs(handle, &needed), self.advice_on(&needed));
                (needed.into_iter().map(|(_, dependency)| dependency).collect(), message)
            }
        };
        Error::NotReady { handle, dependencies, message }
    }

    fn listed_needs(&self, handle: Handle, needed: &[(Handle, Handle)]) -> String {
        let say = |(frame, dependency): &(Handle, Handle)| {
            let node = self.node(*dependency);
            let reason =
                node.record().lost_because().map_or(String::new(), |reason| format!(": {}", shown(&one_line(reason))));
            let whose = if *frame == handle { String::new() } else { format!(", which {frame} above it needs") };
            format!("{dependency} ({}) is {}{whose}{reason}", shown(&one_line(node.title())), node.status())
        };
        let listed = needed.iter().take(LISTED).map(say).collect::<Vec<_>>().join("; ");
        match needed.len().saturating_sub(LISTED) {
            0 => listed,
            more => format!("{listed}; and {more} more"),
        }
    }

    fn advice_on(&self, needed: &[(Handle, Handle)]) -> String {
        let status = |handle: Handle| self.node(handle).status();
        let lost = needed.iter().find(|(_, dependency)| !status(*dependency).is_unfinished());
        let Some((frame, lost)) = lost else { return format!("run {} first", needed[0].1) };
        let has_failed = status(*lost) == FrameStatus::Failed;
        let can_be_edited = status(*frame) == FrameStatus::Planned;
        match (has_failed, can_be_edited) {
            (true, true) => format!("retry {lost}, or give {frame} other dependencies"),
            (true, false) => format!("retry {lost}"),
            (false, true) => format!("give {frame} other dependencies"),
            (false, false) => "plan a new frame".to_owned(),
        }
    }
}
