//! Spending of tokens in a fixed order, up to a limit.

/// The number of tokens spent, and the limit. After the first item that does not fit, all later items are refused, even
/// smaller ones. Otherwise a larger limit could accept the refused item and then have no room for a later one.
#[derive(Debug)]
pub(super) struct Spending {
    pub(super) spent: usize,
    pub(super) limit: usize,
    pub(super) is_closed: bool,
}

impl Spending {
    pub(super) fn new(spent: usize, limit: usize) -> Self {
        Self { spent, limit, is_closed: false }
    }

    /// Spends the tokens and returns true if they fit and no earlier item was refused.
    pub(super) fn spend(&mut self, tokens: usize) -> bool {
        self.is_closed |= self.spent + tokens > self.limit;
        if !self.is_closed {
            self.spent += tokens;
        }
        !self.is_closed
    }
}
