//! The lanes of a chart, for formats in which bars must be nested: within a lane, frames begin and end like
//! calls on one thread. A frame that runs at the same time as its siblings, or longer than its parent, has
//! its bar on another lane.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::{Bar, ChartFrame};

/// The beginning or the end of a bar on a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// In milliseconds since the Unix epoch.
    pub time: u64,
    /// The place of the frame in [`super::Chart::frames`].
    pub frame: usize,
    /// True for a beginning.
    pub begins: bool,
}

/// The bars on a lane that have not ended, the innermost last, and all edges so far.
#[derive(Default)]
struct Lane {
    open: Vec<(usize, u64)>,
    edges: Vec<Edge>,
}

/// The lanes of these frames, each with its edges in the order of their times. Every end closes the bar that
/// was begun last.
pub fn lanes(frames: &[ChartFrame]) -> Vec<Vec<Edge>> {
    let mut bars: Vec<(usize, &Bar)> =
        frames.iter().enumerate().filter_map(|(place, frame)| Some((place, frame.bar.as_ref()?))).collect();
    // If frames begin at the same time, the parent comes first.
    bars.sort_by_key(|(place, bar)| (bar.from, *place));
    let mut lanes: Vec<Lane> = Vec::new();
    let mut free = FreeLanes::default();
    let mut lane_of: Vec<Option<usize>> = vec![None; frames.len()];
    for (place, bar) in bars {
        let lane = lane_of_parent(&mut lanes, &lane_of, bar).unwrap_or_else(|| {
            let lane = free.occupy(bar.from, bar.to);
            lanes.resize_with(lanes.len().max(lane + 1), Lane::default);
            lanes[lane].end(bar.from, None);
            lane
        });
        lane_of[place] = Some(lane);
        lanes[lane].begin(place, bar);
    }
    let close = |mut lane: Lane| {
        lane.end(u64::MAX, None);
        lane.edges
    };
    lanes.into_iter().map(close).collect()
}

/// The lane of the parent, if the bar lies within the bar of the parent, and no sibling is open there.
fn lane_of_parent(lanes: &mut [Lane], lane_of: &[Option<usize>], bar: &Bar) -> Option<usize> {
    let parent = bar.parent?;
    let lane = lane_of[parent]?;
    lanes[lane].end(bar.from, Some(parent));
    let (innermost, end) = *lanes[lane].open.last()?;
    (innermost == parent && bar.to <= end).then_some(lane)
}

/// Finds the first lane on which nothing is open, by the ends of the lanes' outermost bars.
#[derive(Default)]
pub struct FreeLanes {
    ends: BinaryHeap<Reverse<(u64, usize)>>,
    free: BTreeSet<usize>,
}

impl FreeLanes {
    /// Takes the first lane that is free at the time `from`, or a new one, until the time `to`. From call to
    /// call, `from` does not go back.
    pub fn occupy(&mut self, from: u64, to: u64) -> usize {
        while let Some(Reverse((_, lane))) = self.ends.peek().copied().filter(|Reverse((end, _))| *end <= from) {
            self.ends.pop();
            self.free.insert(lane);
        }
        let lane = self.free.pop_first().unwrap_or(self.ends.len());
        self.ends.push(Reverse((to, lane)));
        lane
    }
}

impl Lane {
    fn begin(&mut self, frame: usize, bar: &Bar) {
        self.open.push((frame, bar.to));
        self.edges.push(Edge { time: bar.from, frame, begins: true });
    }

    /// Ends the bars that are over at a time, from the innermost one, but not `kept` and the bars that
    /// enclose it.
    fn end(&mut self, time: u64, kept: Option<usize>) {
        while let Some((frame, end)) = self.open.pop_if(|(frame, end)| *end <= time && Some(*frame) != kept) {
            self.edges.push(Edge { time: end, frame, begins: false });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Drawn, frames};
    use super::*;

    /// The lanes as text: `+1@5` for the beginning of frame 1 at the time 5, `-1@9` for its end.
    fn drawn(drawn: &[Drawn]) -> Vec<String> {
        let edge = |edge: &Edge| format!("{}{}@{}", if edge.begins { '+' } else { '-' }, edge.frame, edge.time);
        lanes(&frames(drawn)).iter().map(|lane| lane.iter().map(edge).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn frames_one_after_the_other_are_nested_on_one_lane() {
        assert_eq!(drawn(&[(0, 0, 9), (1, 1, 4), (2, 2, 4), (1, 4, 8)]), ["+0@0 +1@1 +2@2 -2@4 -1@4 +3@4 -3@8 -0@9"]);
    }

    #[test]
    fn a_frame_beside_its_sibling_and_one_that_outlives_its_parent_get_other_lanes() {
        let parallel = [(0, 0, 9), (1, 1, 5), (1, 2, 4), (2, 3, 4), (1, 6, 8), (1, 7, 12)];
        assert_eq!(drawn(&parallel), ["+0@0 +1@1 -1@5 +4@6 -4@8 -0@9", "+2@2 +3@3 -3@4 -2@4 +5@7 -5@12"]);
    }

    #[test]
    fn a_frame_without_length_is_within_its_parent() {
        assert_eq!(drawn(&[(0, 7, 7), (1, 7, 7)]), ["+0@7 +1@7 -1@7 -0@7"]);
        assert_eq!(drawn(&[(0, 5, 6), (1, 4, 6)]), ["+1@4 -1@6", "+0@5 -0@6"], "a child that began before its parent");
        assert!(drawn(&[]).is_empty());
    }
}
