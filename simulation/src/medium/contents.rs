//! What a medium keeps of a stack: its events, its newest snapshot, the base of a compacted history, and logs.
//! A copy costs little, because large parts are shared until they change.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use callstack_core::archive::ArchivedFrame;
use callstack_core::store::{CompactedEvents, CompactionLimits, Snapshot, StoredLog};
use callstack_core::{Error, Event, EventQuery, Handle, Result};

/// Number of events in a full part.
const PART: usize = 16;

/// A list that only grows at its end, whose copies share its full parts.
#[derive(Debug, Clone, Default)]
pub(super) struct Events {
    full: Arc<Vec<Arc<Vec<Arc<Event>>>>>,
    last: Arc<Vec<Arc<Event>>>,
}

impl Events {
    fn of(events: Vec<Arc<Event>>) -> Self {
        let mut all = Self::default();
        events.into_iter().for_each(|event| all.push(event));
        all
    }

    fn push(&mut self, event: Arc<Event>) {
        if self.last.len() >= PART {
            Arc::make_mut(&mut self.full).push(std::mem::take(&mut self.last));
        }
        Arc::make_mut(&mut self.last).push(event);
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<Event>> {
        self.full.iter().flat_map(|part| part.iter()).chain(self.last.iter())
    }

    /// The events with a higher revision.
    fn since(&self, revision: u64) -> impl Iterator<Item = &Arc<Event>> {
        let first = self.full.partition_point(|part| part.last().is_none_or(|event| event.revision <= revision));
        let parts = self.full[first..].iter().flat_map(|part| part.iter()).chain(self.last.iter());
        parts.skip_while(move |event| event.revision <= revision)
    }

    fn newest(&self) -> Option<&Arc<Event>> {
        self.last.last().or_else(|| self.full.last().and_then(|part| part.last()))
    }
}

/// The frames of a snapshot.
pub(super) type Frames = BTreeMap<Handle, Arc<ArchivedFrame>>;

/// A snapshot with its frames.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) snapshot: Snapshot,
    pub(super) frames: Frames,
    index: OnceLock<Index>,
}

/// Where frames are found, as the indexes of a database say it.
#[derive(Debug)]
struct Index {
    ids: BTreeMap<String, Handle>,
    /// The frames in the order of their last changes.
    changes: Vec<(u64, Handle)>,
}

impl Kept {
    fn new(snapshot: Snapshot, frames: Frames) -> Self {
        Self { snapshot, frames, index: OnceLock::new() }
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            let ids = self.frames.values().map(|frame| (frame.session_id.clone(), frame.handle)).collect();
            let mut changes: Vec<_> = self.frames.values().map(|frame| (frame.changed, frame.handle)).collect();
            changes.sort_unstable();
            Index { ids, changes }
        })
    }

    /// The frame with this ID.
    pub(super) fn by_id(&self, id: &str) -> Option<Handle> {
        self.index().ids.get(id).copied()
    }

    /// The frames whose IDs begin with a text: the first ones in the order of their IDs.
    pub(super) fn beginning(&self, text: &str, most: usize) -> Vec<Handle> {
        let from = self.index().ids.range::<str, _>((Bound::Included(text), Bound::Unbounded));
        from.take_while(|(id, _)| id.starts_with(text)).take(most).map(|(_, handle)| *handle).collect()
    }

    /// The frames that have changed after a revision.
    pub(super) fn changed_since(&self, revision: u64) -> impl Iterator<Item = Handle> {
        let changes = &self.index().changes;
        let first = changes.partition_point(|(changed, _)| *changed <= revision);
        changes[first..].iter().map(|(_, handle)| *handle)
    }
}

/// The lines of a log.
#[derive(Debug, Clone, Default)]
pub(super) struct Log(pub(super) Arc<Vec<String>>);

#[derive(Debug, Clone, Default)]
pub(super) struct Contents {
    pub(super) events: Events,
    pub(super) newest: Option<Arc<Kept>>,
    /// The snapshot that the events of a compacted history follow.
    pub(super) base: Option<Arc<Kept>>,
    pub(super) logs: Arc<BTreeMap<Handle, Log>>,
}

impl Contents {
    /// The revision of the newest event.
    pub(super) fn newest(&self) -> u64 {
        self.events.newest().map_or_else(|| self.base_revision(), |event| event.revision)
    }

    pub(super) fn base_revision(&self) -> u64 {
        self.base.as_ref().map_or(0, |base| base.snapshot.revision)
    }

    /// The events with a higher revision.
    pub(super) fn after(&self, revision: u64) -> Vec<Arc<Event>> {
        self.events.since(revision).cloned().collect()
    }

    pub(super) fn read(&self, query: &EventQuery, each: &mut dyn FnMut(Event) -> Result<()>) -> Result<()> {
        let is_wanted = |event: &&Arc<Event>| {
            query.until.is_none_or(|until| event.revision <= until)
                && query.frame.is_none_or(|frame| frame == event.handle)
                && query.kind.as_ref().is_none_or(|kind| kind == event.change.kind())
        };
        let wanted = self.events.since(query.since).filter(is_wanted).take(query.limit.unwrap_or(usize::MAX));
        wanted.map(|event| (**event).clone()).try_for_each(each)
    }

    pub(super) fn append(&mut self, events: &[Event]) -> Result<()> {
        for event in events {
            let (next, base) = (self.newest() + 1, self.base_revision());
            // The events of a compacted history have gaps up to the base.
            let is_within_base =
                event.revision <= base && self.events.newest().is_none_or(|last| last.revision < event.revision);
            if event.revision != next && !is_within_base {
                return Err(Error::History { revision: event.revision, message: format!("event {next} is next") });
            }
            self.events.push(Arc::new(event.clone()));
        }
        Ok(())
    }

    /// The newest snapshot, if it belongs to the events.
    pub(super) fn snapshot(&self) -> Option<Snapshot> {
        let kept = self.newest.as_ref()?;
        let revision = kept.snapshot.revision;
        let is_there = self.events.since(revision - 1).next().is_some_and(|event| event.revision == revision);
        (is_there || self.base_revision() == revision).then(|| kept.snapshot.clone())
    }

    pub(super) fn write_snapshot(&mut self, snapshot: &Snapshot, frames: &mut dyn Iterator<Item = ArchivedFrame>) {
        let old = self.newest.take().filter(|_| !snapshot.is_whole);
        let mut all = old.map(|kept| kept.frames.clone()).unwrap_or_default();
        all.extend(frames.map(|frame| (frame.handle, Arc::new(frame))));
        self.newest = Some(Arc::new(Kept::new(snapshot.clone(), all)));
    }

    pub(super) fn make_base(&mut self) {
        self.base.clone_from(&self.newest);
    }

    /// Replaces the newest snapshot by the base, or removes it.
    pub(super) fn restore_base(&mut self) {
        self.newest = self.base.as_ref().map(|base| {
            let snapshot = Snapshot { unfinished: Vec::new(), ..base.snapshot.clone() };
            Arc::new(Kept::new(snapshot, base.frames.clone()))
        });
    }

    pub(super) fn compact(&mut self, limits: &CompactionLimits<'_>) -> CompactedEvents {
        let mut compacted = CompactedEvents::default();
        let Some(kept) = self.newest.clone() else { return compacted };
        let base = self.base_revision();
        let mut trees: BTreeMap<Handle, (u64, bool)> = BTreeMap::new();
        for frame in kept.frames.values() {
            let (changed, is_finished) = trees.entry(frame.root).or_insert((0, true));
            *changed = frame.changed.max(*changed);
            *is_finished &= !frame.status.is_unfinished();
        }
        let time_of = |revision: u64| {
            self.events.since(revision - 1).next().filter(|event| event.revision == revision).map(|event| event.time)
        };
        let is_removed = |root: &Handle, (changed, is_finished): &(u64, bool)| {
            *is_finished
                && time_of(*changed).is_none_or(|time| time < limits.before)
                && (*changed <= base || (limits.is_verified)(*root))
        };
        trees.retain(|root, found| is_removed(root, found));
        let revision = kept.snapshot.revision;
        let goes = |event: &Event| {
            let root = kept.frames.get(&event.handle).map(|frame| frame.root);
            event.revision < revision && root.is_some_and(|root| trees.contains_key(&root))
        };
        let mut emptied: BTreeMap<Handle, u64> = BTreeMap::new();
        let mut left = Vec::new();
        for event in self.events.iter() {
            match goes(event) {
                true => *emptied.entry(kept.frames[&event.handle].root).or_default() += 1,
                false => left.push(event.clone()),
            }
        }
        compacted.trees = emptied.len();
        compacted.events = emptied.values().sum();
        if compacted.events > 0 {
            self.events = Events::of(left);
            self.make_base();
        }
        compacted
    }

    pub(super) fn append_log(&mut self, frame: Handle, lines: Vec<String>) -> bool {
        let log = Arc::make_mut(&mut self.logs).entry(frame).or_default();
        let is_first = log.0.is_empty();
        Arc::make_mut(&mut log.0).extend(lines);
        is_first
    }

    pub(super) fn remove_logs(&mut self, frames: &[Handle]) {
        let logs = Arc::make_mut(&mut self.logs);
        frames.iter().for_each(|frame| drop(logs.remove(frame)));
    }

    /// The logs with their sizes.
    pub(super) fn list_logs(&self) -> Vec<StoredLog> {
        let stored = |(frame, log): (&Handle, &Log)| StoredLog {
            frame: *frame,
            bytes: log.0.iter().map(|line| line.len() as u64 + 1).sum(),
            written: 0,
        };
        self.logs.iter().map(stored).collect()
    }
}
