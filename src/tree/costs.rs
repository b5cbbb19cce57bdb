//! What frames have cost, and which tools their records allow.

use super::Tree;
use crate::frame::{Frame, Handle, tools_of_all};

/// What one frame has cost, without an estimate of its newest requests.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    /// What was told, in millionths of a US dollar.
    told: u64,
    /// What was told of conversations, and the weight of their requests at that time: they give the price of a unit.
    of_conversations: u64,
    counted: u64,
    /// The weight of the requests of which no cost is known yet.
    open: u64,
}

impl Cost {
    pub(crate) fn of(frame: &Frame) -> Self {
        let of_requests: u64 = frame.usage.iter().fold(0, |sum, usage| sum.saturating_add(usage.cost_micro_usd));
        let of_conversations = frame.costs.iter().fold(0_u64, |sum, cost| sum.saturating_add(cost.cost_micro_usd));
        let weight = frame.usage.iter().fold(0_u64, |sum, usage| sum.saturating_add(usage.weight()));
        let counted = frame.costs.iter().map(|cost| cost.weight).max().unwrap_or(0);
        // A host that tells the cost of each request leaves nothing to estimate.
        let open = if of_requests > 0 { 0 } else { weight.saturating_sub(counted) };
        Self { told: of_requests.saturating_add(of_conversations), of_conversations, counted, open }
    }

    /// What was told, in millionths of a US dollar.
    pub(crate) fn told(&self) -> u64 {
        self.told
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.told = self.told.saturating_add(other.told);
        self.of_conversations = self.of_conversations.saturating_add(other.of_conversations);
        self.counted = self.counted.saturating_add(other.counted);
        self.open = self.open.saturating_add(other.open);
    }

    /// The cost with an estimate of what came since, by the prices of a whole tree. Before a cost is told there nothing is estimated.
    pub(crate) fn estimated(&self, tree: &Self) -> u64 {
        let since = u128::from(self.open) * u128::from(tree.of_conversations);
        let since = since.checked_div(u128::from(tree.counted)).unwrap_or(0);
        self.told.saturating_add(u64::try_from(since).unwrap_or(u64::MAX))
    }
}

impl Tree {
    /// The tools of a frame besides those of the stack, as far as its record and those above say. `None`: they are not limited.
    pub(super) fn tools_of(&self, handle: Handle) -> Option<Vec<String>> {
        let limits = self.lineage(handle).filter_map(|frame| self.node(frame).record().limits.as_deref());
        tools_of_all(limits.filter_map(|limits| limits.tools.as_deref()))
    }

    /// The costs of a frame and all frames below it.
    pub(crate) fn costs(&self, handle: Handle) -> Cost {
        let mut sum = Cost::default();
        self.subtree(handle).for_each(|frame| sum.add(&Cost::of(self.node(frame).record())));
        sum
    }
}
