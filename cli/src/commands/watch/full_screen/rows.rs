//! The rows of the tree: the shown frames in their order, with their sums. They are made when the stack,
//! a fold or the filter has changed, and a redraw only reads them.

use std::collections::HashMap;

use callstack_core::frame::ModelUsage;
use callstack_core::{FrameStatus, Handle, Tree};

use super::filter::{Filter, waits_for_person};

/// The fold of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// Nothing is below it.
    Leaf,
    Open,
    /// With the number of frames that are hidden below it.
    Closed(usize),
}

/// A frame in the tree.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    pub handle: Handle,
    /// Number of frames above it.
    pub level: usize,
    /// The row of its parent.
    pub parent: Option<usize>,
    /// True if no sibling follows.
    pub is_last: bool,
    pub fold: Fold,
    /// Tokens of the requests of the frame and of everything below it.
    pub tokens: u64,
    /// False if the frame is shown only because the filter chooses one below it.
    pub is_chosen: bool,
}

/// The rows, and the numbers of the header.
#[derive(Default)]
pub struct Rows {
    pub rows: Vec<Row>,
    /// Number of frames by status, in the order of [`FrameStatus::ALL`]: of all frames.
    pub counts: [usize; FrameStatus::ALL.len()],
    /// Number of frames that wait for a person.
    pub waiting: usize,
    /// Tokens of all frames.
    pub tokens: u64,
}

/// A frame while the rows are made.
struct Entry {
    handle: Handle,
    level: usize,
    parent: Option<usize>,
    /// Number of frames below it.
    below: usize,
    tokens: u64,
    is_chosen: bool,
    is_shown: bool,
    /// True if a frame below it is shown.
    leads: bool,
}

impl Rows {
    /// `folds`: the frames that the person has folded or unfolded. For the other frames [`is_folded_first`]
    /// decides.
    pub fn of(tree: &Tree, folds: &HashMap<Handle, bool>, filter: Filter) -> Self {
        let mut made = Self::default();
        let entries = made.entries(tree, filter);
        let mut rows: Vec<Row> = Vec::new();
        // The row of each level above the current frame.
        let mut path: Vec<usize> = Vec::new();
        let mut place = 0;
        while let Some(entry) = entries.get(place) {
            if !entry.is_shown {
                place += 1 + entry.below;
                continue;
            }
            let is_folded = folds.get(&entry.handle).copied();
            let is_folded = is_folded.unwrap_or_else(|| is_folded_first(tree, entry.handle, filter));
            let fold = match entry.below {
                0 => Fold::Leaf,
                _ if !entry.leads => Fold::Leaf,
                below if is_folded => Fold::Closed(below),
                _ => Fold::Open,
            };
            path.truncate(entry.level);
            let parent = path.last().copied();
            path.push(rows.len());
            rows.push(Row {
                handle: entry.handle,
                level: entry.level,
                parent,
                is_last: false,
                fold,
                tokens: entry.tokens,
                is_chosen: entry.is_chosen,
            });
            place += if fold == Fold::Open { 1 } else { 1 + entry.below };
        }
        mark_last(&mut rows);
        made.rows = rows;
        made
    }

    /// All frames, parents before their children, with the numbers of what is below them.
    fn entries(&mut self, tree: &Tree, filter: Filter) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::with_capacity(tree.len());
        let mut path: Vec<usize> = Vec::new();
        let sums = tree.usage_sums_by_frame();
        for handle in tree.roots().iter().flat_map(|root| tree.subtree(*root)) {
            let node = tree.node(handle);
            let place = FrameStatus::ALL.iter().position(|status| *status == node.status());
            place.into_iter().for_each(|place| self.counts[place] += 1);
            self.waiting += usize::from(waits_for_person(tree, handle));
            let is_chosen = filter.chooses(tree, handle);
            path.truncate(node.depth());
            let parent = path.last().copied();
            path.push(entries.len());
            let tokens = sums.get(handle.index()).map_or(0, ModelUsage::tokens);
            if parent.is_none() {
                self.tokens = self.tokens.saturating_add(tokens);
            }
            entries.push(Entry {
                handle,
                level: node.depth(),
                parent,
                below: 0,
                tokens,
                is_chosen,
                is_shown: is_chosen,
                leads: false,
            });
        }
        for place in (0..entries.len()).rev() {
            let Entry { parent, below, is_shown, .. } = entries[place];
            if let Some(parent) = parent.and_then(|parent| entries.get_mut(parent)) {
                parent.below += 1 + below;
                parent.leads |= is_shown;
                parent.is_shown |= is_shown;
            }
        }
        entries
    }

    /// The row of a frame, if it is shown.
    pub fn place_of(&self, handle: Handle) -> Option<usize> {
        self.rows.iter().position(|row| row.handle == handle)
    }

    /// The number of frames of a status.
    pub fn count(&self, status: FrameStatus) -> usize {
        let place = FrameStatus::ALL.iter().position(|known| *known == status);
        place.map_or(0, |place| self.counts[place])
    }

    /// The number of all frames.
    pub fn frames(&self) -> usize {
        self.counts.iter().sum()
    }
}

/// True if a frame is folded until the person unfolds it: all work at and below it has ended. A filter
/// unfolds all frames.
pub fn is_folded_first(tree: &Tree, frame: Handle, filter: Filter) -> bool {
    filter.is_of_plan() && !tree.node(frame).is_unfinished_at_or_below()
}

/// Notes which rows are the last of their siblings.
fn mark_last(rows: &mut [Row]) {
    // For each level: true if a sibling was seen after the current row.
    let mut seen: Vec<bool> = Vec::new();
    for row in rows.iter_mut().rev() {
        seen.resize(row.level + 1, false);
        row.is_last = !seen[row.level];
        seen[row.level] = true;
    }
}

#[cfg(test)]
mod tests {
    use callstack_core::{NewFrame, PopStatus, Stack};

    use super::*;

    fn handles(rows: &Rows) -> Vec<String> {
        rows.rows.iter().map(|row| row.handle.to_string()).collect()
    }

    /// f1 with f2 (completed, above f3) and f4 (in_progress, above f5, which is planned).
    fn stack() -> Stack {
        let stack = Stack::in_memory();
        let root = stack.push(NewFrame::new("Shop")).unwrap();
        let cart = stack.push(NewFrame::new("Cart").below(root)).unwrap();
        let sums = stack.push(NewFrame::new("Sums").below(cart)).unwrap();
        stack.pop(sums, PopStatus::Completed, "done").unwrap();
        stack.pop(cart, PopStatus::Completed, "done").unwrap();
        let pay = stack.push(NewFrame::new("Pay").below(root)).unwrap();
        stack.plan(NewFrame::new("Cards").below(pay)).unwrap();
        stack
    }

    #[test]
    fn what_is_below_finished_frames_is_folded_until_the_user_unfolds_it() {
        let stack = stack();
        let mut folds = HashMap::new();
        let rows = stack.read(|tree| Rows::of(tree, &folds, Filter::All)).unwrap();
        assert_eq!(handles(&rows), ["f1", "f2", "f4", "f5"]);
        assert_eq!(
            rows.rows.iter().map(|row| row.fold).collect::<Vec<_>>(),
            [Fold::Open, Fold::Closed(1), Fold::Open, Fold::Leaf]
        );
        assert_eq!(rows.rows.iter().map(|row| row.is_last).collect::<Vec<_>>(), [true, false, true, true]);
        folds.extend([(rows.rows[1].handle, false), (rows.rows[2].handle, true)]);
        let rows = stack.read(|tree| Rows::of(tree, &folds, Filter::All)).unwrap();
        assert_eq!(handles(&rows), ["f1", "f2", "f3", "f4"]);
        assert_eq!((rows.frames(), rows.count(FrameStatus::Completed)), (5, 2), "folds do not change the counts");
    }

    #[test]
    fn a_filter_shows_the_chosen_frames_and_those_above_them() {
        let stack = stack();
        let chosen = |filter| stack.read(|tree| Rows::of(tree, &HashMap::new(), filter)).unwrap();
        let rows = chosen(Filter::Status(FrameStatus::Planned));
        assert_eq!(handles(&rows), ["f1", "f4", "f5"]);
        assert_eq!(rows.rows.iter().map(|row| row.is_chosen).collect::<Vec<_>>(), [false, false, true]);
        let rows = chosen(Filter::Status(FrameStatus::Completed));
        assert_eq!(handles(&rows), ["f1", "f2", "f3"], "a filter unfolds what is finished");
        assert_eq!(handles(&chosen(Filter::Waiting)), [""; 0]);
    }

    #[test]
    fn the_tokens_of_a_frame_contain_those_below_it() {
        let stack = stack();
        let request = callstack_core::frame::ModelRequest { uncached_input: 100, output: 7, ..Default::default() };
        stack.record_usage("f3", request.clone()).unwrap();
        stack.record_usage("f5", request).unwrap();
        let rows = stack.read(|tree| Rows::of(tree, &HashMap::new(), Filter::All)).unwrap();
        assert_eq!(rows.rows.iter().map(|row| row.tokens).collect::<Vec<_>>(), [214, 107, 107, 107]);
        assert_eq!(rows.tokens, 214);
    }
}
