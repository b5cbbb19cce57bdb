//! Where the person is in the tree.

use std::collections::HashMap;

use callstack_core::Handle;

use super::filter::Filter;

/// The choices that a search changes.
#[derive(Debug, Clone, Default)]
pub struct Place {
    pub selected: Option<Handle>,
    pub filter: Filter,
    /// The searched text, in lower case. Empty: no search.
    pub search: String,
    /// True while the selection follows the active frame.
    pub follows: bool,
    /// The frames that the person has folded or unfolded while all are shown.
    folds: HashMap<Handle, bool>,
    /// The frames that the person has folded or unfolded in the tree of the filter.
    folds_of_filter: HashMap<Handle, bool>,
}

impl Place {
    /// Chooses a filter. The folds of the tree of all frames wait until it is shown again.
    pub fn set_filter(&mut self, filter: Filter) {
        self.filter = filter;
        self.folds_of_filter.clear();
    }

    /// The folds of what is shown.
    pub fn folds(&self) -> &HashMap<Handle, bool> {
        if self.filter.is_of_plan() { &self.folds } else { &self.folds_of_filter }
    }

    pub fn folds_mut(&mut self) -> &mut HashMap<Handle, bool> {
        if self.filter.is_of_plan() { &mut self.folds } else { &mut self.folds_of_filter }
    }
}
