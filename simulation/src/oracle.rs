//! What must hold in every world, checked by a model of its own that reads only the events: it knows nothing of
//! the library's trees.

mod following;
mod holding;
mod waiting;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use callstack_core::frame::{Holder, Release};
use callstack_core::tree::Node;
use callstack_core::{Change, Event, FrameStatus, Handle, HolderKind, Stack};

/// A rule that was broken, and what broke it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule. Two failures with the same rule count as the same.
    pub rule: &'static str,
    /// What has happened.
    pub what: String,
}

impl Violation {
    /// A broken rule.
    pub fn new(rule: &'static str, what: impl Into<String>) -> Self {
        Self { rule, what: what.into() }
    }
}

/// A frame, as its events say.
#[derive(Debug, Clone)]
pub(crate) struct Plain {
    pub(crate) id: String,
    pub(crate) parent: Option<Handle>,
    pub(crate) status: FrameStatus,
    pub(crate) depends_on: Vec<Handle>,
    pub(crate) results: Option<String>,
    pub(crate) title: String,
    decisions: Vec<String>,
    pub(crate) holder: Option<Holder>,
    /// How its holder has let it go, if it has.
    let_go: Option<LetGo>,
    pub(crate) retried_as: Option<Handle>,
    pub(crate) children: Vec<Handle>,
    /// True if it was begun after it was planned.
    was_planned: bool,
    /// False: it only holds others together, as a heading does.
    is_work: bool,
}

/// How a holder has let a frame go.
#[derive(Debug, Clone, Copy)]
struct LetGo {
    /// From when on the frame is free. Milliseconds since the Unix epoch.
    free_at: u64,
    /// True: the holder was only silent for too long.
    is_interrupted: bool,
}

impl Plain {
    /// True if a frame of a tree is the same.
    fn matches(&self, node: &Node) -> bool {
        let record = node.record();
        let of = |holder: &Holder| (holder.generation, holder.until);
        let has_same_holder = match (record.holder.as_deref(), &self.holder) {
            (None, None) => true,
            (Some(here), Some(said)) => of(here) == of(said) && here.name == said.name,
            _ => false,
        };
        // Most lists are equal as they are.
        let sorted = |handles: &[Handle]| handles.iter().copied().collect::<BTreeSet<Handle>>();
        let needs = node.dependencies();
        let has_same_needs = needs == self.depends_on || sorted(needs) == sorted(&self.depends_on);
        let has_same_place = node.parent() == self.parent && node.children() == self.children;
        let has_same_texts = record.title == self.title && record.results == self.results;
        let has_same_names = node.session_id() == self.id && node.retried_as() == self.retried_as;
        node.status() == self.status
            && (has_same_holder && has_same_needs && has_same_place)
            && (has_same_texts && has_same_names && record.decisions == self.decisions)
    }

    fn take_status(&mut self, status: FrameStatus) {
        self.was_planned |= self.status == FrameStatus::Planned && status.is_open();
        self.status = status;
    }

    /// It has another holder, who may have let it go.
    fn take_holder(&mut self, holder: Option<Holder>) {
        let released = holder.as_ref().and_then(|holder| holder.released.clone());
        self.let_go = None;
        self.holder = holder;
        released.iter().for_each(|released| self.release(released.at, &released.how));
    }

    /// Its holder lets it go.
    fn release(&mut self, at: u64, release: &Release) {
        let free_at = match release {
            Release::PutBack { until } => *until,
            // Its lease may have ended before.
            _ => self.holder.as_ref().and_then(|holder| holder.until).map_or(at, |until| until.min(at)),
        };
        self.let_go = Some(LetGo { free_at, is_interrupted: matches!(release, Release::Interrupted {}) });
    }

    /// When its holder has it no more: when it has let it go, or at the end of the lease. Milliseconds since the Unix
    /// epoch. `None`: there is no such time.
    fn held_until(&self) -> Option<u64> {
        self.let_go.map(|let_go| let_go.free_at).or_else(|| self.holder.as_ref()?.until)
    }

    /// Since when no worker has the frame, if a worker has begun it. Milliseconds since the Unix epoch.
    fn free_since(&self) -> Option<u64> {
        self.is_of_worker().then(|| self.held_until().unwrap_or(u64::MAX))
    }

    /// True if a worker was the last to hold it.
    fn is_of_worker(&self) -> bool {
        self.holder.as_ref().is_some_and(|holder| holder.kind == HolderKind::Worker)
    }
}

/// The model.
#[derive(Debug, Default)]
pub struct Oracle {
    frames: BTreeMap<Handle, Plain>,
    ids: HashMap<String, Handle>,
    /// How often each text that an actor has marked was recorded: decisions and results.
    marks: HashMap<String, usize>,
    revision: u64,
    violations: Vec<Violation>,
}

impl Oracle {
    /// A model of a history.
    pub fn of(events: &[Arc<Event>]) -> Self {
        let mut oracle = Self::default();
        oracle.follow(events);
        oracle
    }

    /// Follows events that were committed together.
    pub fn follow(&mut self, events: &[Arc<Event>]) {
        for event in events {
            let broken = match &event.change {
                Change::Held { holder } => {
                    self.broken_by_hold(event, holder, events).or_else(|| self.passed_over(event, holder, events))
                }
                Change::Released { release: Release::Interrupted {} } => self.broken_by_interruption(event),
                Change::Added { frame } if frame.status == FrameStatus::InProgress => self.broken_by_push(event, frame),
                _ => None,
            };
            self.violations.extend(broken);
        }
        for event in events {
            if event.revision != self.revision + 1 {
                let what = format!("event {} follows event {}", event.revision, self.revision);
                self.violations.push(Violation::new("the history has no gap", what));
            }
            self.revision = event.revision;
            self.apply(event);
        }
    }

    /// The rules that were broken since the last call.
    pub fn take_violations(&mut self) -> Vec<Violation> {
        std::mem::take(&mut self.violations)
    }

    /// The revision of the newest event.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// How often a marked text was recorded.
    pub fn count(&self, mark: &str) -> usize {
        self.marks.get(mark).copied().unwrap_or_default()
    }

    pub(crate) fn frame(&self, handle: Handle) -> Option<&Plain> {
        self.frames.get(&handle)
    }

    /// How the model contradicts an answer about a frame. `None`: it does not.
    pub(crate) fn contradiction(
        &self,
        handle: Handle,
        said: &str,
        is_so: impl FnOnce(&Plain) -> bool,
    ) -> Option<String> {
        let is_so = self.frames.get(&handle).is_some_and(is_so);
        (!is_so).then(|| format!("{handle} was said to be {said}, and is not: {:?}", self.frames.get(&handle)))
    }

    /// As [`Oracle::contradiction`], of the status of a frame.
    pub(crate) fn contradicts_status(&self, handle: Handle, status: FrameStatus) -> Option<String> {
        self.contradiction(handle, status.as_str(), |plain| plain.status == status)
    }

    /// As [`Oracle::contradiction`], of the place of a frame: directly before a sibling.
    pub(crate) fn contradicts_place(&self, handle: Handle, sibling: Handle) -> Option<String> {
        let parent = |handle: Handle| self.frames.get(&handle).and_then(|plain| plain.parent);
        // Roots have no list of children.
        let siblings = parent(sibling).and_then(|parent| self.frames.get(&parent)).map(|plain| &plain.children[..]);
        let is_before = siblings.is_none_or(|siblings| siblings.windows(2).any(|pair| pair == [handle, sibling]));
        let is_beside = parent(handle) == parent(sibling);
        self.contradiction(handle, &format!("before {sibling}"), |_| is_beside && is_before)
    }

    /// The newest attempt at the work of a frame.
    pub(crate) fn newest(&self, handle: Handle) -> Handle {
        let mut newest = handle;
        while let Some(next) = self.frames.get(&newest).and_then(|plain| plain.retried_as) {
            newest = next;
        }
        newest
    }

    fn status_of(&self, handle: Handle) -> Option<FrameStatus> {
        self.frames.get(&handle).map(|plain| plain.status)
    }

    /// How a frame stands, in words.
    pub(crate) fn stands(&self, handle: Handle) -> String {
        let Some(plain) = self.frames.get(&handle) else { return format!("{handle} is unknown") };
        let parent = plain.parent.map(|parent| format!(" below {parent}")).unwrap_or_default();
        let needs: Vec<String> = plain.depends_on.iter().map(Handle::to_string).collect();
        let needs = if needs.is_empty() { String::new() } else { format!(" needs {}", needs.join(", ")) };
        format!("{handle}{parent} is {}{needs}", plain.status)
    }

    /// How a stack differs from the events up to the same revision. `None`: it does not, or it is at another one.
    pub(crate) fn difference(&self, stack: &Stack) -> Option<String> {
        let found = stack.read(|tree| {
            if tree.revision() != self.revision {
                return None;
            }
            if tree.len() != self.frames.len() {
                return Some(format!("it has {} frames, and its events say {}", tree.len(), self.frames.len()));
            }
            let is_different = |(handle, plain): &(&Handle, &Plain)| !plain.matches(tree.node(**handle));
            let (handle, plain) = self.frames.iter().find(is_different)?;
            let node = tree.node(*handle);
            let here = (node.status(), node.session_id(), node.parent(), node.children(), node.retried_as());
            Some(format!("{handle} is {here:?}, {:?}, and its events say {plain:?}", node.record()))
        });
        found.unwrap_or_else(|error| (error.code() != "replaced").then(|| error.to_string()))
    }
}
