//! The costs of frames, and the tools that their records allow.

use serde::{Deserialize, Serialize};

use super::Tree;
use crate::frame::{Frame, Handle, ModelUsage, tools_of_all};

/// The costs of frames, without an estimate of their newest requests.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    /// The cost that was told, in millionths of a US dollar.
    told: u64,
    /// The weight of the requests whose cost is not known yet.
    open: u64,
}

/// The cost of the requests of conversations: the sum of all costs that were told, and the weight of these
/// requests. The two give the price of one unit of weight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Price {
    cost: u64,
    weight: u64,
}

impl Cost {
    pub(crate) fn of(frame: &Frame) -> Self {
        let of_requests: u64 = frame.usage.iter().fold(0, |sum, usage| sum.saturating_add(usage.cost_micro_usd));
        let weight = frame.usage.iter().fold(0_u64, |sum, usage| sum.saturating_add(usage.weight()));
        let Price { cost, weight: counted } = Price::of(frame);
        // A host that tells the cost of each request leaves nothing to estimate.
        let open = if of_requests > 0 { 0 } else { weight.saturating_sub(counted) };
        Self { told: of_requests.saturating_add(cost), open }
    }

    /// The sum of both costs.
    pub(super) fn and(self, other: Self) -> Self {
        Self { told: self.told.saturating_add(other.told), open: self.open.saturating_add(other.open) }
    }
}

impl Price {
    pub(super) fn of(frame: &Frame) -> Self {
        Self {
            cost: frame.costs.iter().fold(0, |sum, cost| sum.saturating_add(cost.cost_micro_usd)),
            weight: frame.costs.iter().map(|cost| cost.weight).max().unwrap_or(0),
        }
    }

    /// Replaces the values that a frame has contributed before.
    pub(super) fn replace(&mut self, before: Self, after: Self) {
        self.cost = self.cost.saturating_sub(before.cost).saturating_add(after.cost);
        self.weight = self.weight.saturating_sub(before.weight).saturating_add(after.weight);
    }
}

impl Tree {
    /// The tools of a frame in addition to those of the stack, as its record and the records of the frames
    /// above it say. `None`: the tools are not limited.
    pub(super) fn tools_of(&self, handle: Handle) -> Option<Vec<String>> {
        let limits = self.lineage(handle).filter_map(|frame| self.node(frame).record().limits.as_deref());
        tools_of_all(limits.filter_map(|limits| limits.tools.as_deref()))
    }

    /// The cost of requests to models, in millionths of a US dollar: for each entry the cost that its host
    /// has told, or else an estimate from the costs of conversations. 0 if nothing is known.
    pub fn cost_of(&self, usage: &[ModelUsage]) -> u64 {
        let cost = |usage: &ModelUsage| match usage.cost_micro_usd {
            0 => Cost { told: 0, open: usage.weight() },
            told => Cost { told, open: 0 },
        };
        self.estimated(usage.iter().map(cost).fold(Cost::default(), Cost::and))
    }

    /// The cost of a frame and all frames below it, in millionths of a US dollar, with an estimate for the
    /// requests since the last cost was told.
    pub(crate) fn cost_below(&self, handle: Handle) -> u64 {
        let mut sum = Cost::default();
        for node in self.subtree(handle).filter_map(|frame| self.node_with(frame, |row| row.has_usage)) {
            sum = sum.and(Cost::of(node.record()));
        }
        self.estimated(sum)
    }

    /// A cost with an estimate for the requests since then. Nothing is estimated before the cost of a
    /// conversation is told.
    pub(super) fn estimated(&self, cost: Cost) -> u64 {
        let since = u128::from(cost.open) * u128::from(self.price.cost);
        let since = since.checked_div(u128::from(self.price.weight)).unwrap_or(0);
        cost.told.saturating_add(u64::try_from(since).unwrap_or(u64::MAX))
    }
}
