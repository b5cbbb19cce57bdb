//! Tokens being spent in a fixed order, up to a limit.

/// What has been spent. Once something does not fit, nothing does: if a smaller thing behind it
/// were let in, a larger limit could take the one and lack the room for the other.
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

    /// Spends the tokens if they and all before them fit.
    pub(super) fn spend(&mut self, tokens: usize) -> bool {
        self.is_closed |= self.spent + tokens > self.limit;
        if !self.is_closed {
            self.spent += tokens;
        }
        !self.is_closed
    }
}
