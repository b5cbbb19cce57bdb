//! The order in which finished children were planned.

/// Number of children from which on a part of the list is split.
const LARGE_PART: usize = 1024;

/// Children in the order of the plan, by their keys ([`Node::order`](crate::tree::Node)), each with its place
/// in the index: the order in which they finished. The list consists of small parts, so that an insertion
/// moves few children.
#[derive(Debug, Default)]
pub(super) struct PlannedOrder {
    /// Ascending; no part is empty.
    parts: Vec<Vec<(u64, u32)>>,
}

impl PlannedOrder {
    pub(super) fn insert(&mut self, child: u64, place: u32) {
        let number = self.part(child);
        if number == self.parts.len() {
            self.parts.push(Vec::new());
        }
        let part = &mut self.parts[number];
        part.insert(part.partition_point(|(other, _)| *other < child), (child, place));
        if part.len() >= LARGE_PART {
            let upper = part.split_off(LARGE_PART / 2);
            self.parts.insert(number + 1, upper);
        }
    }

    pub(super) fn remove(&mut self, child: u64) {
        let number = self.part(child);
        let Some(part) = self.parts.get_mut(number) else { return };
        if let Ok(found) = part.binary_search_by_key(&child, |(other, _)| *other) {
            part.remove(found);
        }
        if part.is_empty() {
            self.parts.remove(number);
        }
    }

    /// The number of children in the list that were planned before this one.
    pub(super) fn rank(&self, child: u64) -> usize {
        let number = self.part(child);
        let before: usize = self.parts[..number].iter().map(Vec::len).sum();
        before + self.parts.get(number).map_or(0, |part| part.partition_point(|(other, _)| *other < child))
    }

    /// The children with their places, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.parts.iter().flatten().copied()
    }

    /// The number of the part to which a child belongs: the last one that begins with it or an earlier one.
    fn part(&self, child: u64) -> usize {
        self.parts.partition_point(|part| part[0].0 <= child).saturating_sub(1)
    }
}

/// How many places before a frame a child was planned, among the children that count. `own` and `rank` are
/// the numbers of these that were planned before the frame and before the child. 1 is the place just before
/// the frame; negative: the child was planned after the frame.
pub(super) fn distance(own: usize, rank: usize, is_before: bool, counts: bool) -> i64 {
    let distance = own as i64 - rank as i64;
    match is_before {
        true => distance + i64::from(!counts),
        false => distance - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_a_sorted_list() {
        let key = |index: usize| index as u64;
        let mut order = PlannedOrder::default();
        let mut sorted: Vec<usize> = Vec::new();
        // All numbers below 4,099, in an order without a pattern: 4,099 is a prime.
        for index in (1..4_099).map(|number| number * 1_234 % 4_099) {
            order.insert(key(index), index as u32);
            sorted.insert(sorted.partition_point(|other| *other < index), index);
            if index % 3 == 0 {
                order.remove(key(index));
                sorted.retain(|other| *other != index);
            }
            let probe = index / 2;
            assert_eq!(order.rank(key(probe)), sorted.partition_point(|other| *other < probe));
        }
        assert!(order.parts.len() > 2, "{}", order.parts.len());
        assert!(order.iter().map(|(_, place)| place as usize).eq(sorted.iter().copied()));
        sorted.iter().for_each(|index| order.remove(key(*index)));
        assert!(order.parts.is_empty());
    }
}
