//! A map that forgets what was not used for a while, so that its memory has a limit.

use std::hash::Hash;
use std::mem;

use crate::keys::KeyMap;

/// Values in two generations. When the young one is full it becomes the old one, and what was in the old one
/// is forgotten. A value of the old one that is used becomes young again, so values that are used often stay.
pub(super) struct Recent<K, V> {
    young: KeyMap<K, V>,
    old: KeyMap<K, V>,
    /// Maximum number of values in a generation.
    most: usize,
}

impl<K: Eq + Hash + Copy, V> Recent<K, V> {
    pub(super) fn new(most: usize) -> Self {
        Self { young: KeyMap::default(), old: KeyMap::default(), most }
    }

    /// The value if it is young. Looks at nothing else, so many threads can ask at the same time.
    pub(super) fn young(&self, key: K) -> Option<&V> {
        self.young.get(&key)
    }

    /// True if there is a value that is old.
    pub(super) fn has_old(&self, key: K) -> bool {
        self.old.contains_key(&key)
    }

    /// The value, or a new one. It is young then.
    pub(super) fn entry(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        if self.young.len() >= self.most && !self.young.contains_key(&key) {
            self.old = mem::take(&mut self.young);
        }
        let old = &mut self.old;
        self.young.entry(key).or_insert_with(|| old.remove(&key).unwrap_or_default())
    }

    pub(super) fn remove(&mut self, key: K) {
        self.young.remove(&key);
        self.old.remove(&key);
    }

    pub(super) fn clear(&mut self) {
        self.young.clear();
        self.old.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_used_stay_and_others_are_forgotten() {
        let mut recent: Recent<u32, u32> = Recent::new(10);
        for number in 0..100 {
            *recent.entry(number) = number;
            // This one is used often.
            assert_eq!(*recent.entry(0), 0);
            assert!(recent.young.len() <= 10 && recent.old.len() <= 10);
            assert_eq!(recent.young(number), Some(&number));
        }
        assert!(recent.has_old(88) || recent.young(88).is_some(), "it was used lately");
        assert_eq!((recent.young(50), recent.has_old(50)), (None, false));
        assert_eq!(*recent.entry(50), 0, "it is a new one");
        recent.remove(50);
        assert_eq!((recent.young(50), recent.has_old(50)), (None, false));
        recent.clear();
        assert_eq!(recent.young(0), None);
    }
}
