//! The state of a served stack: its newest snapshot, and the readers that wait for changes.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::snapshot::Snapshot;

/// The newest snapshot, for any number of readers, each in its own thread.
pub struct Live {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    snapshot: Arc<Snapshot>,
    /// The newest change, made once for all readers.
    update: Option<Update>,
    /// True if the stack has changed since the snapshot. Readers wait for the next one.
    is_outdated: bool,
    is_over: bool,
}

#[derive(Clone)]
struct Update {
    since: u64,
    json: Arc<str>,
}

/// The answer to a reader that waits.
#[derive(Debug, PartialEq)]
pub enum News {
    /// A revision, and the change that leads to it, or everything.
    Changed(u64, Arc<str>),
    /// Nothing has happened for some time.
    Nothing,
    /// The server ends.
    Over,
}

impl Live {
    pub fn new(snapshot: Snapshot) -> Self {
        let state = State { snapshot: Arc::new(snapshot), update: None, is_outdated: false, is_over: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The newest snapshot. Waits for it if the stack has changed since the last one.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        let is_waiting = |state: &mut State| state.is_outdated && !state.is_over;
        let state = self.changed.wait_while(self.lock(), is_waiting).unwrap_or_else(PoisonError::into_inner);
        state.snapshot.clone()
    }

    /// Says that the stack has changed: readers have to wait for the next snapshot.
    pub fn outdate(&self) {
        self.lock().is_outdated = true;
    }

    /// Shows a newer snapshot to all readers.
    pub fn change(&self, snapshot: Snapshot) {
        let earlier = self.lock().snapshot.clone();
        let update = Update { since: earlier.revision, json: snapshot.since(&earlier) };
        let mut state = self.lock();
        state.snapshot = Arc::new(snapshot);
        state.update = Some(update);
        state.is_outdated = false;
        self.changed.notify_all();
    }

    /// Tells all readers that the server ends.
    pub fn end(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    /// Waits until there is news for a reader that knows a revision; `None` if the reader knows nothing.
    pub fn news(&self, known: Option<u64>, patience: Duration) -> News {
        let is_known =
            |state: &mut State| !state.is_over && (state.is_outdated || Some(state.snapshot.revision) == known);
        let waited = self.changed.wait_timeout_while(self.lock(), patience, is_known);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let revision = state.snapshot.revision;
        if state.is_over {
            return News::Over;
        }
        if state.is_outdated || Some(revision) == known {
            return News::Nothing;
        }
        let update = state.update.as_ref().filter(|update| Some(update.since) == known);
        if let Some(update) = update {
            return News::Changed(revision, update.json.clone());
        }
        let snapshot = state.snapshot.clone();
        drop(state);
        News::Changed(revision, snapshot.whole())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that changes the state can panic, so the state is whole even after a panic elsewhere.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use callstack_core::frame::Timeline;
    use callstack_core::{MemoryStore, NewFrame, Stack, StackOptions};

    use super::*;

    #[test]
    fn readers_get_the_newest_change_or_everything() {
        let stack = Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap();
        let mut timeline = Timeline::default();
        let mut snapshot = || {
            stack.push(NewFrame::new("Frame").root()).unwrap();
            stack.history().update_timeline(&mut timeline).unwrap();
            Snapshot::of(&stack, &timeline, None).unwrap()
        };
        let first = snapshot();
        let live = Live::new(snapshot());
        let second = live.snapshot().revision;
        let is_whole = |news: News| match news {
            News::Changed(revision, json) => (revision, json.contains("\"isWhole\":true")),
            other => panic!("{other:?}"),
        };
        assert_eq!(live.news(Some(second), Duration::ZERO), News::Nothing);
        assert_eq!(is_whole(live.news(None, Duration::ZERO)), (second, true));
        live.change(snapshot());
        let third = live.snapshot().revision;
        assert_eq!(is_whole(live.news(Some(second), Duration::ZERO)), (third, false));
        assert_eq!(is_whole(live.news(Some(first.revision), Duration::ZERO)), (third, true), "it has missed a change");
        live.outdate();
        assert_eq!(live.news(None, Duration::ZERO), News::Nothing, "the snapshot is outdated");
        live.change(snapshot());
        let fourth = live.snapshot().revision;
        assert_eq!(is_whole(live.news(Some(third), Duration::ZERO)), (fourth, false));
        let whole = || match live.news(None, Duration::ZERO) {
            News::Changed(_, json) => json,
            other => panic!("{other:?}"),
        };
        assert!(Arc::ptr_eq(&whole(), &whole()), "everything is made once for all readers");
        live.outdate();
        live.end();
        assert_eq!(live.snapshot().revision, fourth, "no page waits for a server that ends");
        assert_eq!(live.news(Some(third), Duration::MAX), News::Over);
    }
}
