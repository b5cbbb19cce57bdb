//! The places of an index with each word or name.
//!
//! Most frames have few children, and a process often asks for one context only. The places of few documents
//! are therefore two sorted lists, which are made fast and take little memory. Those of many documents are a
//! map. Most words of large texts are in one document only, so a single place there needs no memory of its
//! own.

use std::collections::hash_map::Entry;

use crate::keys::KeyMap;
use crate::steps::step;

/// Number of entries from which on a map is faster than sorted lists.
const MANY: usize = 2_048;

/// What is known of a place: a number, which comes first in the order.
pub(super) trait Placed {
    fn place(&self) -> usize;
}

impl Placed for u32 {
    fn place(&self) -> usize {
        *self as usize
    }
}

impl Placed for (u32, f32) {
    fn place(&self) -> usize {
        self.0 as usize
    }
}

/// For each term the entries of the places that have it, in order.
#[derive(Debug)]
pub(super) enum Places<T> {
    Few(Few<T>),
    Many(KeyMap<u64, Postings<T>>),
}

/// The terms and their entries, sorted by terms and then by places.
#[derive(Debug)]
pub(super) struct Few<T> {
    terms: Vec<u64>,
    entries: Vec<T>,
}

impl<T> Default for Places<T> {
    fn default() -> Self {
        Self::Few(Few { terms: Vec::new(), entries: Vec::new() })
    }
}

impl<T: Placed + Copy> Places<T> {
    /// The entries of a term.
    pub(super) fn get(&self, term: u64) -> &[T] {
        match self {
            Self::Few(few) => {
                let start = few.terms.partition_point(|other| *other < term);
                let count = few.terms[start..].iter().take_while(|other| **other == term).count();
                &few.entries[start..start + count]
            }
            Self::Many(lists) => lists.get(&term).map_or(&[], Postings::as_slice),
        }
    }

    /// Adds an entry for each of these terms, which are in ascending order and do not have its place yet.
    pub(super) fn add(&mut self, new: &[(u64, T)]) {
        if let Self::Few(few) = self
            && few.terms.len() + new.len() > MANY
        {
            let mut lists = KeyMap::default();
            few.terms.drain(..).zip(few.entries.drain(..)).for_each(|(term, entry)| put(&mut lists, term, entry));
            *self = Self::Many(lists);
        }
        match self {
            Self::Few(few) => few.merge(new),
            Self::Many(lists) => new.iter().for_each(|(term, entry)| put(lists, *term, *entry)),
        }
    }

    /// Removes the entries with this place, which are those of these terms.
    pub(super) fn remove(&mut self, place: usize, terms: &[u64]) {
        match self {
            Self::Few(few) if !terms.is_empty() => few.retain(|entry| entry.place() != place),
            Self::Few(_) => {}
            Self::Many(lists) => {
                for term in terms {
                    step();
                    if lists.get_mut(term).is_some_and(|list| list.remove(place)) {
                        lists.remove(term);
                    }
                }
            }
        }
    }

    /// Changes all entries, and removes those for which `keep` is false. The order of the places stays.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&mut T) -> bool) {
        match self {
            Self::Few(few) => few.retain(keep),
            Self::Many(lists) => lists.retain(|_, postings| postings.retain(&mut keep)),
        }
    }

    /// All terms with their entries, in order.
    #[cfg(test)]
    pub(super) fn all(&self) -> Vec<(u64, T)> {
        let mut all: Vec<(u64, T)> = match self {
            Self::Few(few) => few.terms.iter().copied().zip(few.entries.iter().copied()).collect(),
            Self::Many(lists) => {
                lists.iter().flat_map(|(term, list)| list.as_slice().iter().map(|entry| (*term, *entry))).collect()
            }
        };
        all.sort_by_key(|(term, entry)| (*term, entry.place()));
        all
    }
}

impl<T: Placed + Copy> Few<T> {
    /// Merges entries in, from the end on, so that each entry is moved once.
    fn merge(&mut self, new: &[(u64, T)]) {
        let Some((term, entry)) = new.last().copied() else { return };
        let mut old = self.terms.len();
        self.terms.resize(old + new.len(), term);
        self.entries.resize(old + new.len(), entry);
        for (before, (term, entry)) in new.iter().enumerate().rev() {
            while let Some(last) = old.checked_sub(1)
                && (self.terms[last], self.entries[last].place()) > (*term, entry.place())
            {
                self.terms[old + before] = self.terms[last];
                self.entries[old + before] = self.entries[last];
                old = last;
            }
            self.terms[old + before] = *term;
            self.entries[old + before] = *entry;
        }
    }

    fn retain(&mut self, mut keep: impl FnMut(&mut T) -> bool) {
        let mut kept = 0;
        for place in 0..self.terms.len() {
            if keep(&mut self.entries[place]) {
                self.terms[kept] = self.terms[place];
                self.entries[kept] = self.entries[place];
                kept += 1;
            }
        }
        self.terms.truncate(kept);
        self.entries.truncate(kept);
    }
}

/// Puts an entry into the list of a term.
fn put<T: Placed>(lists: &mut KeyMap<u64, Postings<T>>, term: u64, entry: T) {
    match lists.entry(term) {
        Entry::Vacant(free) => drop(free.insert(Postings::One([entry]))),
        Entry::Occupied(mut list) => list.get_mut().put(entry),
    }
}

/// A list that is sorted by places, which are different.
#[derive(Debug)]
pub(super) enum Postings<T> {
    One([T; 1]),
    More(Vec<T>),
}

impl<T: Placed> Postings<T> {
    fn as_slice(&self) -> &[T] {
        match self {
            Self::One(one) => one,
            Self::More(more) => more,
        }
    }

    /// Puts an entry into the list, which does not have its place.
    fn put(&mut self, entry: T) {
        let place = entry.place();
        match self {
            Self::One(_) => {
                let Self::One([one]) = std::mem::replace(self, Self::More(Vec::new())) else { return };
                let is_sorted = one.place() < place;
                *self = Self::More(if is_sorted { vec![one, entry] } else { vec![entry, one] });
            }
            Self::More(more) if more.last().is_none_or(|last| last.place() < place) => more.push(entry),
            Self::More(more) => more.insert(more.partition_point(|other| other.place() < place), entry),
        }
    }

    /// Removes the entry with this place. Returns true if none is left.
    fn remove(&mut self, place: usize) -> bool {
        match self {
            Self::One([one]) => one.place() == place,
            Self::More(more) => {
                if let Ok(found) = more.binary_search_by_key(&place, T::place) {
                    more.remove(found);
                }
                more.is_empty()
            }
        }
    }

    /// Changes all entries, and removes those for which `keep` is false. Returns false if none is left.
    fn retain(&mut self, mut keep: impl FnMut(&mut T) -> bool) -> bool {
        match self {
            Self::One([one]) => keep(one),
            Self::More(more) => {
                more.retain_mut(keep);
                !more.is_empty()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

        #[test]
        fn few_and_many_places_are_those_that_were_added(
            documents in proptest::collection::vec(
                (0u32..40, proptest::collection::btree_set(0u64..60, 0..30), any::<bool>()),
                1..40,
            ),
        ) {
            let mut model: BTreeMap<(u64, u32), f32> = BTreeMap::new();
            let (mut few, mut many) = (Places::default(), Places::Many(KeyMap::default()));
            for (place, terms, is_moved) in documents {
                let of_place = |model: &BTreeMap<(u64, u32), f32>| -> Vec<u64> {
                    model.keys().filter(|(_, other)| *other == place).map(|(term, _)| *term).collect()
                };
                let old = of_place(&model);
                let new: Vec<(u64, (u32, f32))> = terms.iter().map(|term| (*term, (place, *term as f32))).collect();
                model.retain(|(_, other), _| *other != place);
                model.extend(new.iter().map(|(term, (place, count))| ((*term, *place), *count)));
                // The first place is removed, and the others move there.
                if is_moved {
                    let moved = model.into_iter().filter_map(|((term, place), count)| {
                        Some(((term, place.checked_sub(1)?), count))
                    });
                    model = moved.collect();
                }
                for places in [&mut few, &mut many] {
                    places.remove(place as usize, &old);
                    places.add(&new);
                    if is_moved {
                        places.retain(|(place, _)| {
                            let is_kept = *place > 0;
                            *place = place.saturating_sub(1);
                            is_kept
                        });
                    }
                }
            }
            let expected: Vec<(u64, (u32, f32))> =
                model.iter().map(|((term, place), count)| (*term, (*place, *count))).collect();
            prop_assert_eq!(&few.all(), &expected);
            prop_assert_eq!(&many.all(), &expected);
            for term in 0..60 {
                prop_assert_eq!(few.get(term), many.get(term));
            }
        }
    }

    #[test]
    fn places_become_many() {
        let mut places = Places::default();
        for place in 0..100 {
            let new: Vec<(u64, u32)> = (0..50).map(|term| (term * (1 + u64::from(place % 3)), place)).collect();
            places.add(&new);
        }
        assert!(matches!(places, Places::Many(_)));
        assert_eq!(places.get(0), (0..100).collect::<Vec<u32>>());
        assert_eq!(places.all().len(), 5_000);
    }
}
