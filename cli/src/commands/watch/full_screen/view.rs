//! The choices of the person: the selected frame, folds, the filter, the search, the pane and its place.

use callstack_core::{Handle, Tree};

use super::details::Tab;
use super::filter::{Filter, waits_for_person};
use super::keys::Step;
use super::place::Place;
use super::prompt::Prompt;
use super::refusal::Refusal;
use super::rows::{Fold, Row, Rows, is_folded_first};
use super::sheet::Sheet;
use super::short::beginning;

/// The pane that keys move in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pane {
    #[default]
    Tree,
    Details,
}

/// A message to the person, until the next key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    Said(String),
    Refused(Refusal),
}

#[derive(Default)]
pub struct View {
    pub rows: Rows,
    pub chosen: Place,
    /// The row of the selected frame.
    pub place: Option<usize>,
    /// The first row on the screen.
    pub top: usize,
    /// Number of rows on the screen, as it was drawn last.
    pub height: usize,
    pub pane: Pane,
    pub tab: Tab,
    /// The first line of the details on the screen.
    pub scroll: usize,
    /// True while the details show the end of a text that grows.
    pub is_at_end: bool,
    pub prompt: Option<Prompt>,
    pub notice: Option<Notice>,
    /// What is shown over everything else.
    pub sheet: Option<Sheet>,
    /// True if the rows must be made again.
    pub is_stale: bool,
}

impl View {
    pub fn new() -> Self {
        let mut view = Self { is_stale: true, ..Self::default() };
        view.chosen.follows = true;
        view
    }

    /// True if the keys go to the details.
    pub fn is_in_details(&self) -> bool {
        self.pane == Pane::Details
    }

    /// Makes the rows of a tree, and selects a frame that is among them. The selection stays while a prompt
    /// is open, because the prompt concerns the selected frame.
    pub fn update(&mut self, tree: &Tree) {
        let stays = self.prompt.is_some() && self.chosen.selected.is_some();
        if let Some(active) = tree.active().filter(|_| self.chosen.follows && !stays) {
            self.reveal(tree, active);
            self.select(Some(active));
        }
        let before = self.place.unwrap_or(0);
        self.rows = Rows::of(tree, self.chosen.folds(), self.chosen.filter);
        self.is_stale = false;
        self.place = self.chosen.selected.and_then(|selected| self.rows.place_of(selected));
        if self.place.is_some() || stays {
            return;
        }
        // The nearest frame above that is shown, else the frame that is now in its place.
        let mut above = self.chosen.selected.into_iter().flat_map(|selected| tree.ancestors(selected));
        let above = above.find_map(|ancestor| self.rows.place_of(ancestor));
        let last = self.rows.rows.len().saturating_sub(1);
        self.select_row(above.unwrap_or(before.min(last)));
    }

    /// Selects the frame of a row.
    fn select_row(&mut self, place: usize) {
        let frame = self.rows.rows.get(place).map(|row| row.handle);
        self.select(frame);
        self.place = frame.map(|_| place);
    }

    /// The row of the selected frame.
    pub fn row(&self) -> Option<Row> {
        self.rows.rows.get(self.place?).copied()
    }

    fn select(&mut self, frame: Option<Handle>) {
        if self.chosen.selected != frame {
            self.chosen.selected = frame;
            self.scroll = 0;
            self.is_at_end = true;
        }
    }

    /// Selects a frame because the person goes there.
    pub fn go_to(&mut self, frame: Handle) {
        self.chosen.follows = false;
        self.select(Some(frame));
        self.place = self.rows.place_of(frame);
    }

    /// Selects a row because the person goes there.
    fn go_to_row(&mut self, place: usize) {
        self.chosen.follows = false;
        self.select_row(place);
    }

    /// Makes sure that a frame is not folded away.
    pub fn reveal(&mut self, tree: &Tree, frame: Handle) {
        for ancestor in tree.ancestors(frame) {
            let is_folded_first = is_folded_first(tree, ancestor, self.chosen.filter);
            let folds = self.chosen.folds_mut();
            if !folds.get(&ancestor).copied().unwrap_or(is_folded_first) {
                continue;
            }
            match is_folded_first {
                true => folds.insert(ancestor, false),
                false => folds.remove(&ancestor),
            };
            self.is_stale = true;
        }
    }

    /// Moves the selection, or the text of the details.
    pub fn go(&mut self, step: Step, lines: usize, page: usize) {
        match self.pane {
            Pane::Tree => {
                let last = self.rows.rows.len().saturating_sub(1);
                self.go_to_row(moved(self.place.unwrap_or(0), step, last, self.height));
            }
            Pane::Details => {
                let last = lines.saturating_sub(page);
                self.scroll = moved(self.scroll.min(last), step, last, page);
                self.is_at_end = self.scroll == last;
            }
        }
    }

    /// Selects the frame in a line of the tree. If it is the selected frame already, it is folded or
    /// unfolded, or shown in the details if nothing is below it.
    pub fn click(&mut self, line: usize) {
        let place = self.top + line;
        self.pane = Pane::Tree;
        match self.rows.rows.get(place).map(|row| row.fold) {
            None => {}
            Some(_) if self.place != Some(place) => self.go_to_row(place),
            Some(Fold::Leaf) => self.pane = Pane::Details,
            Some(_) => self.toggle_fold(),
        }
    }

    /// Folds the selected frame, or goes to its parent.
    pub fn go_left(&mut self) {
        let Some(row) = self.row() else { return };
        match (row.fold, row.parent) {
            (Fold::Open, _) => self.fold(row.handle, true),
            (_, Some(parent)) => self.go_to_row(parent),
            _ => {}
        }
    }

    /// Unfolds the selected frame, or goes to its first child.
    pub fn go_right(&mut self) {
        let Some((row, place)) = self.row().zip(self.place) else { return };
        match row.fold {
            Fold::Closed(_) => self.fold(row.handle, false),
            Fold::Open => self.go_to_row(place + 1),
            Fold::Leaf => {}
        }
    }

    /// Folds the selected frame, or unfolds it.
    pub fn toggle_fold(&mut self) {
        match self.row() {
            Some(Row { handle, fold: Fold::Open, .. }) => self.fold(handle, true),
            Some(Row { handle, fold: Fold::Closed(_), .. }) => self.fold(handle, false),
            _ => {}
        }
    }

    fn fold(&mut self, frame: Handle, is_folded: bool) {
        // A fold would be undone if the selection followed the active frame below it.
        self.chosen.follows = false;
        self.chosen.folds_mut().insert(frame, is_folded);
        self.is_stale = true;
    }

    pub fn set_filter(&mut self, filter: Filter) {
        self.chosen.set_filter(filter);
        self.is_stale = true;
    }

    /// Goes back to where the person was.
    pub fn return_to(&mut self, place: Place) {
        self.select(place.selected);
        self.chosen = place;
        self.is_stale = true;
    }

    pub fn show(&mut self, tab: Tab) {
        self.tab = tab;
        self.scroll = 0;
        self.is_at_end = true;
    }

    /// Goes to the next frame that waits for a person. Returns false if none does.
    pub fn go_to_waiting(&mut self, tree: &Tree) -> bool {
        self.go_to_next(tree, false, |frame| waits_for_person(tree, frame))
    }

    /// Goes to the next frame that matches the search, or the one before. Returns false if none does.
    pub fn go_to_match(&mut self, tree: &Tree, is_back: bool) -> bool {
        let search = self.chosen.search.clone();
        !search.is_empty() && self.go_to_next(tree, is_back, |frame| matches(tree, frame, &search))
    }

    /// Goes to the selected frame if it matches, else to the next match.
    pub fn go_to_first_match(&mut self, tree: &Tree) -> bool {
        let is_here = self.chosen.selected.is_some_and(|selected| matches(tree, selected, &self.chosen.search));
        is_here || self.go_to_match(tree, false)
    }

    /// Goes to the next frame that is wanted, in the order of the tree, and from the end to the beginning.
    /// Frames that the filter does not choose come last, and then the whole plan is shown, or all frames.
    fn go_to_next(&mut self, tree: &Tree, is_back: bool, is_wanted: impl Fn(Handle) -> bool) -> bool {
        let mut frames: Vec<Handle> = tree.roots().iter().flat_map(|root| tree.subtree(*root)).collect();
        if is_back {
            frames.reverse();
        }
        let here = self.chosen.selected.and_then(|selected| frames.iter().position(|frame| *frame == selected));
        frames.rotate_left(here.map_or(0, |here| here + 1));
        let filter = self.chosen.filter;
        let (shown, hidden): (Vec<Handle>, Vec<Handle>) =
            frames.into_iter().partition(|frame| filter.chooses(tree, *frame));
        let Some(found) = shown.into_iter().chain(hidden).find(|frame| is_wanted(*frame)) else { return false };
        if !filter.chooses(tree, found) {
            self.set_filter(Filter::with(tree, found));
        }
        self.go_to(found);
        self.reveal(tree, found);
        true
    }

    pub fn say(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice::Said(text.into()));
    }

    pub fn refuse(&mut self, refusal: Refusal) {
        self.notice = Some(Notice::Refused(refusal));
    }

    /// Places the first row so that the selected one is on the screen.
    pub fn scroll_to_selected(&mut self, height: usize) {
        if height == 0 {
            return;
        }
        self.height = height;
        let last_top = self.rows.rows.len().saturating_sub(height);
        self.top = self.top.min(last_top);
        if let Some(place) = self.place {
            self.top = self.top.max((place + 1).saturating_sub(height)).min(place);
        }
    }
}

/// True if the beginning of a frame's title contains a text, which is in lower case, or if the text is the
/// frame's handle or the beginning of its ID. A text in the form of a handle does not count as an ID:
/// generated IDs can contain such a text.
pub fn matches(tree: &Tree, frame: Handle, search: &str) -> bool {
    let node = tree.node(frame);
    let is_named = || match search.parse::<Handle>() {
        Ok(handle) => handle == frame,
        Err(_) => node.session_id().to_lowercase().starts_with(search),
    };
    beginning(node.title()).to_lowercase().contains(search) || is_named()
}

/// The place after a step in a list or a text, with its last place and the length of a page.
pub fn moved(place: usize, step: Step, last: usize, page: usize) -> usize {
    let page = page.saturating_sub(1).max(1);
    let place = match step {
        Step::Up => place.saturating_sub(1),
        Step::Down => place + 1,
        Step::PageUp => place.saturating_sub(page),
        Step::PageDown => place + page,
        Step::First => 0,
        Step::Last => last,
    };
    place.min(last)
}

#[cfg(test)]
mod tests {
    use callstack_core::{NewFrame, Stack};

    use super::*;

    #[test]
    fn a_search_finds_titles_handles_and_the_beginnings_of_ids() {
        let stack = Stack::in_memory();
        stack.push(NewFrame::new("Büro").id("ses_aaf2")).unwrap();
        stack.push(NewFrame::new("Shop").id("f2-archive")).unwrap();
        let found = |search: &str| {
            let matching =
                |tree: &Tree| tree.handles().filter(|frame| matches(tree, *frame, search)).collect::<Vec<_>>();
            stack.read(matching).unwrap().iter().map(Handle::to_string).collect::<Vec<_>>()
        };
        assert_eq!(found("büro"), ["f1"]);
        assert_eq!(found("f2"), ["f2"], "a handle is not looked for in IDs");
        assert_eq!((found("ses_"), found("aaf2")), (vec!["f1".to_owned()], Vec::new()));
        assert_eq!(found("x"), [""; 0]);
    }
}
