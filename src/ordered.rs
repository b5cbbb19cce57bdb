//! A sorted list in small parts, so that an insertion or a removal moves few entries. The caller gives the
//! order with each call, because the order of frames can depend on a tree.

use std::cmp::Ordering;

use crate::steps::step;

/// The number of entries from which on a part is split.
const LARGE_PART: usize = 512;

/// Sorted entries. The function that a method takes compares an entry of the list with the wanted one.
#[derive(Debug, Clone)]
pub(crate) struct Ordered<T> {
    /// No part is empty.
    parts: Vec<Vec<T>>,
    len: usize,
}

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Self { parts: Vec::new(), len: 0 }
    }
}

impl<T> Ordered<T> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Inserts an entry, unless the list has it.
    pub(crate) fn insert(&mut self, entry: T, order: impl Fn(&T) -> Ordering) {
        // Many lists are made in their order.
        let is_last = self.parts.last().and_then(|part| part.last()).is_none_or(|last| order(last).is_lt());
        let number = if is_last { self.parts.len().saturating_sub(1) } else { self.part(&order) };
        if self.parts.is_empty() {
            self.parts.push(Vec::new());
        }
        let part = &mut self.parts[number];
        let place = if is_last { part.len() } else { part.partition_point(|other| order(other).is_lt()) };
        if part.get(place).is_some_and(|other| order(other).is_eq()) {
            return;
        }
        part.insert(place, entry);
        self.len += 1;
        if part.len() >= LARGE_PART {
            let upper = part.split_off(LARGE_PART / 2);
            self.parts.insert(number + 1, upper);
        }
    }

    pub(crate) fn remove(&mut self, order: impl Fn(&T) -> Ordering) {
        let number = self.part(&order);
        let Some(part) = self.parts.get_mut(number) else { return };
        if let Ok(found) = part.binary_search_by(&order) {
            part.remove(found);
            self.len -= 1;
        }
        if part.is_empty() {
            self.parts.remove(number);
        }
    }

    /// The number of entries before the wanted place.
    pub(crate) fn rank(&self, order: impl Fn(&T) -> Ordering) -> usize {
        let number = self.part(&order);
        let before: usize = self.parts[..number].iter().inspect(|_| step()).map(Vec::len).sum();
        before + self.parts.get(number).map_or(0, |part| part.partition_point(|other| order(other).is_lt()))
    }

    /// The entries, in order.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + Clone {
        self.parts.iter().flatten()
    }

    /// The entries that are not before the wanted place, in order.
    pub(crate) fn from<'a, F: Fn(&T) -> Ordering>(
        &'a self,
        order: F,
    ) -> impl Iterator<Item = &'a T> + Clone + use<'a, T, F> {
        let number = self.part(&order);
        let (first, others) = match self.parts.get(number..) {
            Some([first, others @ ..]) => (&first[first.partition_point(|other| order(other).is_lt())..], others),
            _ => (&[][..], &[][..]),
        };
        first.iter().chain(others.iter().flatten())
    }

    /// The number of the part that has the wanted place: the last one that begins at it or before it.
    fn part(&self, order: &impl Fn(&T) -> Ordering) -> usize {
        self.parts.partition_point(|part| order(&part[0]).is_le()).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_those_of_a_sorted_list() {
        let mut ordered = Ordered::default();
        let mut sorted: Vec<usize> = Vec::new();
        // All numbers below 4,099, in an order without a pattern: 4,099 is a prime.
        for number in (1..4_099).map(|number| number * 1_234 % 4_099) {
            for _ in 0..2 {
                ordered.insert(number, |other| other.cmp(&number));
            }
            sorted.insert(sorted.partition_point(|other| *other < number), number);
            if number % 3 == 0 {
                ordered.remove(|other| other.cmp(&number));
                sorted.retain(|other| *other != number);
            }
            let probe = number / 2;
            let rank = sorted.partition_point(|other| *other < probe);
            assert_eq!(ordered.rank(|other| other.cmp(&probe)), rank);
            assert!(ordered.from(|other| other.cmp(&probe)).take(3).eq(sorted[rank..].iter().take(3)));
            assert_eq!(ordered.len(), sorted.len());
        }
        assert!(ordered.parts.len() > 2, "{}", ordered.parts.len());
        assert!(ordered.iter().eq(&sorted) && ordered.iter().rev().eq(sorted.iter().rev()));
        sorted.iter().for_each(|number| ordered.remove(|other| other.cmp(number)));
        assert!(ordered.parts.is_empty());
    }
}
