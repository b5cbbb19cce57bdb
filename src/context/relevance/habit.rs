//! The habit of a plan: at which distance in the plan the finished siblings depend on each other.

use super::near;
use crate::keys::KeyMap;

/// Counts the declared dependencies between the children of one parent. The places are those of the index:
/// the order in which the children finished.
#[derive(Debug, Default)]
pub(super) struct Habit {
    /// The places of the children that depend on at least one of the others, in ascending order.
    declaring: Vec<u32>,
    /// The places of the children that depend on the one planned this number of places before them, in
    /// ascending order.
    by_distance: KeyMap<u64, Vec<u32>>,
}

impl Habit {
    /// Adds the child at the next place. `distances` says how many places before it its dependencies were
    /// planned.
    pub(super) fn push(&mut self, place: u32, distances: impl Iterator<Item = i64>) {
        for distance in distances {
            if self.declaring.last() != Some(&place) {
                self.declaring.push(place);
            }
            self.by_distance.entry(key(distance)).or_default().push(place);
        }
    }

    /// Removes the child at the last place. `distances` are those with which it was added.
    pub(super) fn pop(&mut self, place: u32, distances: impl Iterator<Item = i64>) {
        self.declaring.pop_if(|last| *last == place);
        for distance in distances {
            if let Some(places) = self.by_distance.get_mut(&key(distance)) {
                places.pop_if(|last| *last == place);
            }
        }
    }

    /// Returns the habit at the places before `base`.
    pub(super) fn before(&self, base: usize) -> HabitBefore<'_> {
        HabitBefore { habit: self, base, declaring: count_before(&self.declaring, base) }
    }
}

/// The habit of those children that had finished at some time.
pub(super) struct HabitBefore<'a> {
    habit: &'a Habit,
    base: usize,
    declaring: usize,
}

impl HabitBefore<'_> {
    /// The share of the children with dependencies that depend on the one planned this number of places
    /// before them. One more child is assumed, which depends on the ones planned shortly before it.
    pub(super) fn share(&self, distance: i64) -> f32 {
        let usual = usize::try_from(distance).map_or(0.0, near);
        if self.declaring == 0 {
            return usual;
        }
        let places = self.habit.by_distance.get(&key(distance));
        let count = places.map_or(0, |places| count_before(places, self.base));
        (count as f32 + usual) / (self.declaring as f32 + 1.0)
    }
}

fn key(distance: i64) -> u64 {
    distance.cast_unsigned()
}

/// The number of places before `base` in an ascending list.
pub(super) fn count_before(places: &[u32], base: usize) -> usize {
    places.partition_point(|place| (*place as usize) < base)
}
