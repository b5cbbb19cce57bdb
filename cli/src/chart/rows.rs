//! The rows of the bars in a flame chart: a frame is below its parent, and no two bars of the same time share
//! a row.

use super::ChartFrame;

/// The room of a frame and of everything below it.
#[derive(Clone, Copy)]
struct Block {
    from: u64,
    /// The time at which its rows are free again.
    to: u64,
    /// Number of rows.
    height: usize,
    /// The number of rows between the parent and the block.
    offset: usize,
}

/// Gives each bar its row. Returns the number of rows.
pub fn place(frames: &mut [ChartFrame]) -> usize {
    let mut blocks: Vec<Option<Block>> = vec![None; frames.len()];
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); frames.len()];
    let mut roots: Vec<usize> = Vec::new();
    // Children come before their parents, which are as large as their children need.
    for place in (0..frames.len()).rev() {
        let Some(bar) = &frames[place].bar else { continue };
        let children = std::mem::take(&mut below[place]);
        let height = 1 + pack(&children, &mut blocks);
        let room = children.iter().filter_map(|child| blocks[*child]);
        // A bar that ends when the next one begins leaves its row to that one. A bar without length keeps its
        // row for a moment.
        let own = (bar.from, bar.to.max(bar.from.saturating_add(1)));
        let (from, to) = room.fold(own, |(from, to), child| (from.min(child.from), to.max(child.to)));
        blocks[place] = Some(Block { from, to, height, offset: 0 });
        match bar.parent {
            Some(parent) => below[parent].push(place),
            None => roots.push(place),
        }
    }
    let rows = pack(&roots, &mut blocks);
    for place in 0..frames.len() {
        let above = frames[place].bar.as_ref().and_then(|bar| bar.parent);
        let first = above.and_then(|above| frames[above].bar.as_ref()).map_or(0, |above| above.row + 1);
        if let (Some(bar), Some(block)) = (&mut frames[place].bar, blocks[place]) {
            bar.row = first + block.offset;
        }
    }
    rows
}

/// Gives blocks their offsets, each the lowest where it meets no earlier block. Returns the number of rows.
fn pack(places: &[usize], blocks: &mut [Option<Block>]) -> usize {
    let mut order: Vec<usize> = places.to_vec();
    order.sort_by_key(|place| (blocks[*place].map(|block| block.from), *place));
    // The blocks that have not ended at the beginning of the current one, by their offsets.
    let mut met: Vec<Block> = Vec::new();
    let mut rows = 0;
    for place in order {
        let Some(block) = &mut blocks[place] else { continue };
        met.retain(|earlier| earlier.to > block.from);
        let is_free = |offset: &usize, earlier: &Block| offset + block.height <= earlier.offset;
        let mut offset = 0;
        let mut index = 0;
        while let Some(earlier) = met.get(index).filter(|earlier| !is_free(&offset, earlier)) {
            offset = offset.max(earlier.offset + earlier.height);
            index += 1;
        }
        block.offset = offset;
        met.insert(index, *block);
        rows = rows.max(offset + block.height);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Drawn, frames};
    use super::*;

    fn rows(drawn: &[Drawn]) -> (usize, Vec<usize>) {
        let mut frames = frames(drawn);
        let count = place(&mut frames);
        (count, frames.iter().map(|frame| frame.bar.as_ref().unwrap().row).collect())
    }

    #[test]
    fn frames_one_after_the_other_share_a_row_below_their_parent() {
        let drawn = [(0, 0, 100), (1, 0, 40), (2, 10, 20), (1, 40, 90), (2, 50, 60)];
        assert_eq!(rows(&drawn), (3, vec![0, 1, 2, 1, 2]));
    }

    #[test]
    fn frames_of_the_same_time_get_rows_of_their_own_below_all_of_the_earlier_one() {
        let drawn = [(0, 0, 100), (1, 0, 50), (2, 10, 20), (1, 30, 70), (1, 55, 60), (1, 72, 80)];
        assert_eq!(rows(&drawn), (4, vec![0, 1, 2, 3, 1, 1]));
    }

    #[test]
    fn a_child_that_outlives_its_parent_keeps_its_room() {
        // The next root begins when the first one has ended, but not its child.
        assert_eq!(rows(&[(0, 0, 10), (1, 5, 30), (0, 20, 40)]), (3, vec![0, 1, 2]));
    }

    #[test]
    fn frames_without_length_at_the_same_time_are_all_seen() {
        assert_eq!(rows(&[(0, 7, 7), (1, 7, 7), (1, 7, 7)]), (3, vec![0, 1, 2]));
        assert_eq!(rows(&[]), (0, vec![]));
    }
}
