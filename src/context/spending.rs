//! Spending of tokens and bytes in a fixed order, up to a limit.

use super::cost::Cost;

/// The cost spent, and the limit. After the first item that does not fit, all later items are refused, even
/// smaller ones. Otherwise a larger limit could accept the refused item and then have no room for a later
/// one.
#[derive(Debug)]
pub(super) struct Spending {
    pub(super) spent: Cost,
    pub(super) limit: Cost,
    pub(super) is_closed: bool,
}

impl Spending {
    pub(super) fn new(spent: Cost, limit: Cost) -> Self {
        Self { spent, limit, is_closed: false }
    }

    /// What is left.
    pub(super) fn left(&self) -> Cost {
        self.limit.saturating_sub(self.spent)
    }

    /// Spends the cost and returns true if it fits and no earlier item was refused.
    pub(super) fn spend(&mut self, cost: Cost) -> bool {
        self.is_closed |= !(self.spent + cost).fits(self.limit);
        if !self.is_closed {
            self.spent += cost;
        }
        !self.is_closed
    }
}
