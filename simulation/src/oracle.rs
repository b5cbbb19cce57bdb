//! What must hold in every world, checked by a model of its own that reads only the events: it knows nothing of
//! the library's trees.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use callstack_core::frame::{Holder, Release};
use callstack_core::tree::Node;
use callstack_core::{Change, Event, Frame, FrameEdit, FrameRef, FrameStatus, Handle, Hold, HolderKind, Stack};
use serde_json::{Map, Value};

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
    /// From when on the frame is free, if its holder has let it go. Milliseconds since the Unix epoch.
    free_at: Option<u64>,
    pub(crate) retried_as: Option<Handle>,
    pub(crate) children: Vec<Handle>,
    /// True if it was begun after it was planned.
    was_planned: bool,
    /// False: it only holds others together, as a heading does.
    is_work: bool,
}

impl Plain {
    /// True if a frame of a tree is the same.
    fn is(&self, node: &Node) -> bool {
        let record = node.record();
        let of = |holder: &Holder| (holder.generation, holder.until);
        let is_held_alike = match (record.holder.as_deref(), &self.holder) {
            (None, None) => true,
            (Some(here), Some(said)) => of(here) == of(said) && here.name == said.name,
            _ => false,
        };
        let sorted = |handles: &[Handle]| handles.iter().copied().collect::<BTreeSet<Handle>>();
        let needs = node.dependencies();
        let is_needing_alike = needs == self.depends_on || sorted(needs) == sorted(&self.depends_on);
        let is_linked_alike = node.parent() == self.parent && node.children() == self.children;
        let is_told_alike = record.title == self.title && record.results == self.results;
        let is_named_alike = node.session_id() == self.id && node.retried_as() == self.retried_as;
        node.status() == self.status
            && (is_held_alike && is_needing_alike && is_linked_alike)
            && (is_told_alike && is_named_alike && record.decisions == self.decisions)
    }

    fn take_status(&mut self, status: FrameStatus) {
        self.was_planned |= self.status == FrameStatus::Planned && status.is_open();
        self.status = status;
    }

    /// Its holder lets it go.
    fn let_go(&mut self, at: u64, release: &Release) {
        self.free_at = Some(match release {
            Release::PutBack { until } => *until,
            // Its lease may have ended before.
            _ => self.holder.as_ref().and_then(|holder| holder.until).map_or(at, |until| until.min(at)),
        });
    }

    /// When its holder has it no more: when it has let it go, or at the end of the lease. Milliseconds since the Unix
    /// epoch. `None`: there is no such time.
    fn held_until(&self) -> Option<u64> {
        self.free_at.or_else(|| self.holder.as_ref()?.until)
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

    /// What is missing of what was said about a frame, unless it is so.
    pub(crate) fn unless(&self, handle: Handle, said: &str, is_so: impl FnOnce(&Plain) -> bool) -> Option<String> {
        let is_so = self.frames.get(&handle).is_some_and(is_so);
        (!is_so).then(|| format!("{handle} was said to be {said}, and is not: {:?}", self.frames.get(&handle)))
    }

    /// As [`Oracle::unless`], of the status of a frame.
    pub(crate) fn unless_status(&self, handle: Handle, status: FrameStatus) -> Option<String> {
        self.unless(handle, status.as_str(), |plain| plain.status == status)
    }

    /// As [`Oracle::unless`], of the place of a frame: directly before a sibling.
    pub(crate) fn unless_before(&self, handle: Handle, sibling: Handle) -> Option<String> {
        let parent = |handle: Handle| self.frames.get(&handle).and_then(|plain| plain.parent);
        // Roots have no list of children.
        let siblings = parent(sibling).and_then(|parent| self.frames.get(&parent)).map(|plain| &plain.children[..]);
        let is_before = siblings.is_none_or(|siblings| siblings.windows(2).any(|pair| pair == [handle, sibling]));
        let is_beside = parent(handle) == parent(sibling);
        self.unless(handle, &format!("before {sibling}"), |_| is_beside && is_before)
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

    /// What a hold breaks: a frame has one holder, and nothing begins or goes on before what it needs.
    fn broken_by_hold(&self, event: &Event, holder: &Holder, together: &[Arc<Event>]) -> Option<Violation> {
        let (handle, revision) = (event.handle, event.revision);
        let plain = self.frames.get(&handle)?;
        let last = plain.holder.as_ref();
        if let Some(last) = last.filter(|last| last.generation == holder.generation) {
            // It is renewed.
            let what = || format!("{handle} has {} and {} in generation {}", last.name, holder.name, last.generation);
            return (last.name != holder.name).then(|| Violation::new("a frame has one holder", what()));
        }
        let begins = |what: String| {
            let what = format!("{handle} has begun at event {revision}, but {what}");
            Violation::new("nothing begins before what it needs", what)
        };
        let goes_on = |what: String| {
            let what = format!("{handle} goes on at event {revision}, but {what}");
            Violation::new("nothing goes on before what it needs", what)
        };
        let broken = match (holder.kind, plain.status) {
            // A conversation and a host can begin a frame before its parts, and work on them in it.
            (HolderKind::Conversation | HolderKind::Host, FrameStatus::Planned) => {
                self.needs_in_the_way(handle).map(begins)
            }
            (HolderKind::Worker, FrameStatus::Planned) => self.in_the_way(handle).map(begins),
            (HolderKind::Worker, FrameStatus::InProgress) => self.in_the_way_of_more(handle).map(goes_on),
            _ => None,
        };
        // Nobody takes a frame that a worker has.
        let is_released_now =
            |other: &Arc<Event>| other.handle == handle && matches!(other.change, Change::Released { .. });
        let has_it = |last: &&Holder| {
            let is_held = plain.status == FrameStatus::InProgress && plain.free_at.is_none();
            is_held && last.kind == HolderKind::Worker && !has_ended(last, event.time)
        };
        let taken = last.filter(has_it).filter(|_| !together.iter().any(is_released_now)).map(|last| {
            let what = format!(
                "{handle} went from {} to {} at {}, before the end of the lease at {:?}",
                last.name, holder.name, event.time, last.until
            );
            Violation::new("a frame has one holder", what)
        });
        broken.or(taken)
    }

    /// What is unfair in a hold. Among the frames that workers have begun, the one that has waited longest is next; if
    /// there is none, it is the first planned one, in the order of the plan. So no frame waits for ever beside others.
    fn passed_over(&self, event: &Event, holder: &Holder, together: &[Arc<Event>]) -> Option<Violation> {
        let (handle, now) = (event.handle, event.time);
        let plain = self.frames.get(&handle)?;
        let is_renewed = plain.holder.as_ref().is_some_and(|last| last.generation == holder.generation);
        // Among many frames only some holds are looked at: each looks at all frames.
        let is_looked_at = self.revision.is_multiple_of(1 + self.frames.len() as u64 / 256);
        if holder.kind != HolderKind::Worker || is_renewed || !is_looked_at {
            return None;
        }
        let unfair = |earlier: Handle| {
            let what = format!("{} got {handle} at event {}, but {earlier} is before it", holder.name, event.revision);
            Violation::new("a free frame is not passed over", what)
        };
        // A planned frame comes after all that has begun.
        let waited = match plain.status {
            FrameStatus::Planned => (u64::MAX, handle),
            _ => (plain.free_since().unwrap_or_default(), handle),
        };
        let is_before = |(other, begun): &(&Handle, &Plain)| {
            let is_longer = |since: u64| !lasts(since, now) && (since, **other) < waited;
            let is_begun = begun.status == FrameStatus::InProgress && begun.free_since().is_some_and(is_longer);
            // What this command itself has released was not free before.
            let is_free = is_begun && !together.iter().any(|event| event.handle == **other);
            is_free && self.in_the_way_of_more(**other).is_none()
        };
        let begun = self.frames.iter().find(is_before).map(|(other, _)| *other);
        let planned = || (plain.status == FrameStatus::Planned).then(|| self.planned_before(handle)).flatten();
        begun.or_else(planned).map(unfair)
    }

    /// A planned frame that is free, and comes before another one of the same tree.
    fn planned_before(&self, handle: Handle) -> Option<Handle> {
        let mut top = handle;
        while let Some(parent) = self.frames.get(&top)?.parent {
            top = parent;
        }
        let mut next = vec![top];
        while let Some(frame) = next.pop().filter(|frame| *frame != handle) {
            let plain = self.frames.get(&frame)?;
            if self.is_free_to_begin(frame, plain) {
                return Some(frame);
            }
            next.extend(plain.children.iter().rev());
        }
        None
    }

    /// How a frame stands, in words.
    pub(crate) fn stands(&self, handle: Handle) -> String {
        let Some(plain) = self.frames.get(&handle) else { return format!("{handle} is unknown") };
        let parent = plain.parent.map(|parent| format!(" below {parent}")).unwrap_or_default();
        let needs: Vec<String> = plain.depends_on.iter().map(Handle::to_string).collect();
        let needs = if needs.is_empty() { String::new() } else { format!(" needs {}", needs.join(", ")) };
        format!("{handle}{parent} is {}{needs}", plain.status)
    }

    /// What an interruption breaks: the lease of a holder that was silent must be over.
    fn broken_by_interruption(&self, event: &Event) -> Option<Violation> {
        let holder = self.frames.get(&event.handle)?.holder.as_ref()?;
        let what =
            || format!("{} of {} ends at {:?}, and not at {}", event.handle, holder.name, holder.until, event.time);
        (!has_ended(holder, event.time)).then(|| Violation::new("a lease lasts until its end", what()))
    }

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

    fn is_free_to_begin(&self, handle: Handle, plain: &Plain) -> bool {
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

    /// When the last lease, or the last wait of a frame that was put back, is over, as far as they count at this time.
    /// Milliseconds since the Unix epoch.
    pub(crate) fn last_end(&self, now: u64) -> u64 {
        let holders = self.frames.values().filter(|plain| plain.status.is_unfinished());
        let ends = holders.filter_map(Plain::held_until).filter(|until| lasts(*until, now));
        ends.max().unwrap_or(now)
    }

    /// True if the holder of this generation has the frame.
    pub(crate) fn has_it(&self, hold: &Hold) -> bool {
        self.frames.get(&hold.handle).is_some_and(|plain| {
            let is_newest = plain.holder.as_ref().is_some_and(|holder| holder.generation == hold.generation);
            is_newest && plain.free_at.is_none() && plain.status == FrameStatus::InProgress
        })
    }

    /// True if a worker was the last to hold a frame.
    pub(crate) fn is_of_worker(&self, handle: Handle) -> bool {
        self.frames.get(&handle).is_some_and(Plain::is_of_worker)
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

    /// How a stack differs from the events up to the same revision. `None`: it does not, or it is at another one.
    pub(crate) fn difference(&self, stack: &Stack) -> Option<String> {
        let found = stack.read(|tree| {
            if tree.revision() != self.revision {
                return None;
            }
            if tree.len() != self.frames.len() {
                return Some(format!("it has {} frames, and its events say {}", tree.len(), self.frames.len()));
            }
            let is_different = |(handle, plain): &(&Handle, &Plain)| !plain.is(&tree.node(**handle));
            let (handle, plain) = self.frames.iter().find(is_different)?;
            let node = tree.node(*handle);
            let here = (node.status(), node.session_id(), node.parent(), node.children(), node.retried_as());
            Some(format!("{handle} is {here:?}, {:?}, and its events say {plain:?}", node.record()))
        });
        found.unwrap_or_else(|error| (error.code() != "replaced").then(|| error.to_string()))
    }

    /// What prevents a planned frame from beginning for a worker.
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

    /// What a planned frame needs and has not got, no matter what its parts are.
    fn needs_in_the_way(&self, handle: Handle) -> Option<String> {
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

    /// What prevents a worker from going on with a frame that has begun.
    fn in_the_way_of_more(&self, handle: Handle) -> Option<String> {
        if let Some(part) = self.part_left(handle) {
            return Some(format!("its part {part} is {}", self.frames[&part].status));
        }
        let plain = self.frames.get(&handle)?;
        self.end_above(plain.parent?)
    }

    /// The end of the first frame that is not planned: this one, or one above it. `None`: it has not ended.
    fn end_above(&self, handle: Handle) -> Option<String> {
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

    fn apply(&mut self, event: &Event) {
        let handle = event.handle;
        match &event.change {
            Change::Added { frame } => return self.add(handle, frame),
            Change::DecisionAdded { decision } => {
                *self.marks.entry(decision.clone()).or_default() += 1;
                self.change(handle, |plain| plain.decisions.push(decision.clone()));
            }
            Change::StatusChanged { results: Some(results), .. } | Change::Summarized { results, .. } => {
                *self.marks.entry(results.clone()).or_default() += 1;
                self.change(handle, |plain| plain.results = Some(results.clone()));
            }
            _ => {}
        }
        match &event.change {
            Change::DependenciesAdded { depends_on } => {
                let more: Vec<Handle> = depends_on.iter().filter_map(|id| self.ids.get(id).copied()).collect();
                self.change(handle, |plain| plain.depends_on.extend(more));
            }
            Change::StatusChanged { status, .. } => self.change_status(event, *status),
            Change::Invalidated { .. } => self.change(handle, |plain| plain.status = FrameStatus::Invalidated),
            Change::Reopened { .. } => self.change(handle, |plain| plain.take_status(FrameStatus::InProgress)),
            Change::Answered { becomes: Some(status), .. } => self.change(handle, |plain| plain.take_status(*status)),
            Change::Identified { identity, .. } => self.change(handle, |plain| plain.title.clone_from(&identity.title)),
            Change::Held { holder } => self.change(handle, |plain| {
                plain.holder = Some((**holder).clone());
                plain.free_at = None;
            }),
            Change::Released { release } => self.change(handle, |plain| plain.let_go(event.time, release)),
            Change::IdReplaced { session_id } => {
                if let Some(plain) = self.frames.get(&handle) {
                    self.ids.remove(&plain.id);
                }
                self.ids.insert(session_id.clone(), handle);
                self.change(handle, |plain| plain.id.clone_from(session_id));
            }
            Change::Edited { edit, .. } => self.edit(handle, edit),
            Change::Restored { values, edit } | Change::Reimported { values, edit } => {
                self.set(handle, values);
                edit.iter().for_each(|edit| self.edit(handle, edit));
            }
            _ => {}
        }
    }

    fn change(&mut self, handle: Handle, change: impl FnOnce(&mut Plain)) {
        if let Some(plain) = self.frames.get_mut(&handle) {
            change(plain);
        }
    }

    fn add(&mut self, handle: Handle, frame: &Frame) {
        let named = |id: &String| self.ids.get(id).copied();
        let parent = frame.parent_session_id.as_ref().and_then(named);
        let depends_on = frame.depends_on.iter().filter_map(named).collect();
        let earlier = frame.retry_of.as_ref().and_then(named);
        if let Some(other) = self.ids.insert(frame.session_id.clone(), handle) {
            let what = format!("{other} and {handle} have the ID {}", frame.session_id);
            self.violations.push(Violation::new("an ID means one frame", what));
        }
        parent.into_iter().for_each(|parent| {
            self.change(parent, |plain| {
                // A new attempt comes directly after the one before it.
                let before = plain.children.iter().position(|child| Some(*child) == earlier);
                plain.children.insert(before.map_or(plain.children.len(), |place| place + 1), handle);
            });
        });
        earlier.into_iter().for_each(|earlier| self.change(earlier, |plain| plain.retried_as = Some(handle)));
        frame.decisions.iter().chain(&frame.results).for_each(|mark| *self.marks.entry(mark.clone()).or_default() += 1);
        let plain = Plain {
            id: frame.session_id.clone(),
            parent,
            status: frame.status,
            depends_on,
            results: frame.results.clone(),
            title: frame.title.clone(),
            decisions: frame.decisions.clone(),
            holder: frame.holder.as_deref().cloned(),
            free_at: None,
            retried_as: None,
            children: Vec::new(),
            was_planned: frame.begun_at.is_some(),
            is_work: frame.no_work.is_none(),
        };
        self.frames.insert(handle, plain);
    }

    fn change_status(&mut self, event: &Event, status: FrameStatus) {
        let handle = event.handle;
        let before = self.status_of(handle);
        if status == FrameStatus::Completed && before == Some(FrameStatus::Completed) {
            let what = format!("{handle} is completed a second time, at event {}", event.revision);
            self.violations.push(Violation::new("each result comes once", what));
        }
        self.change(handle, |plain| plain.take_status(status));
    }

    fn edit(&mut self, handle: Handle, edit: &FrameEdit) {
        edit.title.iter().for_each(|title| self.change(handle, |plain| plain.title.clone_from(title)));
        let named = |reference: &FrameRef| match reference {
            FrameRef::Handle(handle) => Some(*handle),
            FrameRef::Id(text) | FrameRef::Text(text) => text.parse().ok().or_else(|| self.ids.get(text).copied()),
            _ => None,
        };
        let depends_on = edit.depends_on.as_ref().map(|others| others.iter().filter_map(named).collect::<Vec<_>>());
        let old = self.frames.get(&handle).and_then(|plain| plain.parent);
        let parent = edit.parent.as_ref().map_or(old, |parent| parent.as_ref().and_then(named));
        let before = edit.before.iter().flatten().find_map(named);
        if let Some(depends_on) = depends_on {
            self.change(handle, |plain| plain.depends_on = depends_on);
        }
        if edit.parent.is_some() || edit.before.is_some() {
            self.place(handle, old, parent, before);
        }
    }

    /// Moves a frame, before a sibling or to the end.
    fn place(&mut self, handle: Handle, old: Option<Handle>, parent: Option<Handle>, before: Option<Handle>) {
        old.into_iter().for_each(|old| self.change(old, |plain| plain.children.retain(|child| *child != handle)));
        parent.into_iter().for_each(|parent| {
            self.change(parent, |plain| {
                let place = plain.children.iter().position(|child| Some(*child) == before);
                plain.children.insert(place.unwrap_or(plain.children.len()), handle);
            });
        });
        self.change(handle, |plain| plain.parent = parent);
    }

    /// Sets keys of a record, as a command that was taken back and an import do.
    fn set(&mut self, handle: Handle, values: &Map<String, Value>) {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        for (key, value) in values {
            match key.as_str() {
                "status" => {
                    let status = text(value).and_then(|status| status.parse().ok());
                    status.into_iter().for_each(|status| self.change(handle, |plain| plain.take_status(status)));
                }
                "begunAt" => self.change(handle, |plain| plain.was_planned = !value.is_null()),
                "title" => text(value).into_iter().for_each(|title| self.change(handle, |plain| plain.title = title)),
                // A list that has only grown is cut to its former length.
                "decisions" => self.change(handle, |plain| match value.as_u64() {
                    Some(length) => plain.decisions.truncate(length as usize),
                    None => plain.decisions = serde_json::from_value(value.clone()).unwrap_or_default(),
                }),
                "results" => {
                    text(value).into_iter().for_each(|mark| *self.marks.entry(mark).or_default() += 1);
                    self.change(handle, |plain| plain.results = text(value));
                }
                "holder" => {
                    let holder: Option<Holder> = serde_json::from_value(value.clone()).ok();
                    self.change(handle, |plain| {
                        let released = holder.as_ref().and_then(|holder| holder.released.clone());
                        plain.free_at = None;
                        plain.holder = holder;
                        released.iter().for_each(|released| plain.let_go(released.at, &released.how));
                    });
                }
                _ => {}
            }
        }
    }
}

/// True if the lease of a holder is over at a time.
fn has_ended(holder: &Holder, now: u64) -> bool {
    holder.until.is_some_and(|until| !lasts(until, now))
}

/// False for a time that is over, and for one that is later than the end of any lease that could begin now.
fn lasts(until: u64, now: u64) -> bool {
    until > now && until - now <= Holder::LONGEST_LEASE + Holder::CLOCK_DIFFERENCE
}
