//! The places of an index with one word or name. Most words of large texts are in one document only, so a
//! single place needs no memory of its own.

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

/// A list that is sorted by places, which are different.
#[derive(Debug)]
pub(super) enum Postings<T> {
    One([T; 1]),
    More(Vec<T>),
}

impl<T: Placed> Postings<T> {
    pub(super) fn as_slice(&self) -> &[T] {
        match self {
            Self::One(one) => one,
            Self::More(more) => more,
        }
    }

    /// Puts an entry into the list, instead of the one with the same place.
    pub(super) fn put(&mut self, entry: T) {
        let place = entry.place();
        match self {
            Self::One([one]) if one.place() == place => *one = entry,
            Self::One(_) => {
                let Self::One([one]) = std::mem::replace(self, Self::More(Vec::new())) else { return };
                let is_sorted = one.place() < place;
                *self = Self::More(if is_sorted { vec![one, entry] } else { vec![entry, one] });
            }
            Self::More(more) if more.last().is_none_or(|last| last.place() < place) => more.push(entry),
            Self::More(more) => match more.binary_search_by_key(&place, T::place) {
                Ok(found) => more[found] = entry,
                Err(found) => more.insert(found, entry),
            },
        }
    }

    /// Removes the entry with this place. Returns true if none is left.
    pub(super) fn remove(&mut self, place: usize) -> bool {
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
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&mut T) -> bool) -> bool {
        match self {
            Self::One([one]) => keep(one),
            Self::More(more) => {
                more.retain_mut(keep);
                !more.is_empty()
            }
        }
    }
}
