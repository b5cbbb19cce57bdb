//! Moments at which something is due, in their order, so that the next one is found without a look at all
//! others.

use std::collections::{BTreeMap, BTreeSet};

use crate::steps::step;

/// One moment for each key, in milliseconds on the clock of the sessions.
#[derive(Debug, Clone)]
pub(super) struct Timers<K> {
    moments: BTreeMap<K, u64>,
    order: BTreeSet<(u64, K)>,
}

impl<K> Default for Timers<K> {
    fn default() -> Self {
        Self { moments: BTreeMap::new(), order: BTreeSet::new() }
    }
}

impl<K: Ord + Clone> Timers<K> {
    /// Sets the moment of a key. An earlier moment of the key is replaced.
    pub(super) fn set(&mut self, key: K, moment: u64) {
        self.cancel(&key);
        self.moments.insert(key.clone(), moment);
        self.order.insert((moment, key));
    }

    pub(super) fn cancel(&mut self, key: &K) {
        if let Some((key, moment)) = self.moments.remove_entry(key) {
            self.order.remove(&(moment, key));
        }
    }

    /// The earliest moment.
    pub(super) fn next(&self) -> Option<u64> {
        self.order.first().map(|(moment, _)| *moment)
    }

    /// Removes and returns the keys whose moments have come, the earliest first.
    pub(super) fn due(&mut self, now: u64) -> Vec<K> {
        let mut due = Vec::new();
        while self.next().is_some_and(|moment| moment <= now) {
            step();
            let Some((_, key)) = self.order.pop_first() else { break };
            self.moments.remove(&key);
            due.push(key);
        }
        due
    }

    /// The keys whose moments have not come, the earliest first.
    pub(super) fn pending(&self, now: u64) -> impl Iterator<Item = &K> {
        self.order
            .iter()
            .map(|(moment, key)| (*moment, key))
            .skip_while(move |(moment, _)| *moment <= now)
            .map(|(_, key)| key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_come_in_their_order() {
        let mut timers = Timers::default();
        for (key, moment) in [("b", 20), ("a", 20), ("c", 10), ("d", u64::MAX), ("e", 5)] {
            timers.set(key, moment);
        }
        timers.set("c", 30);
        timers.cancel(&"e");
        timers.cancel(&"unknown");
        assert_eq!(timers.next(), Some(20));
        assert_eq!(timers.due(19), [""; 0]);
        assert_eq!(timers.pending(20).copied().collect::<Vec<_>>(), ["c", "d"]);
        assert_eq!(timers.due(20), ["a", "b"]);
        assert_eq!(timers.due(30), ["c"]);
        assert_eq!(timers.next(), Some(u64::MAX));
        assert_eq!(timers.due(u64::MAX), ["d"]);
        assert_eq!(timers.next(), None);
    }
}
