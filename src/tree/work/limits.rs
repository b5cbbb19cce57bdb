//! What frames may do and spend, and what they have spent.

use serde::Serialize;

use crate::frame::{Frame, FrameLimits, Handle, ModelUsage, common_tools};
use crate::tree::Tree;

/// What a frame may do and spend now, with the limits of all frames above it.
///
/// In JSON: `{"frame": "f3", "model": "claude-sonnet-5", "tools": ["Read"], "maxTurns": 40, "maxCostMicroUsd": 310000}`. What is not limited
/// is left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Allowance {
    /// The frame.
    pub frame: Handle,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The tools besides those of the stack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Turns of the model in one prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u64>,
    /// What may still be spent, in millionths of a US dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_micro_usd: Option<u64>,
}

/// A frame that has spent what it may, together with all frames below it.
///
/// In JSON: `{"frame": "f1", "reason": "its budget of 90000 tokens is spent: 91200 with all frames below it; a larger maxTokens lets it go on"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Overspent {
    /// The frame.
    pub frame: Handle,
    /// What it has spent, and what lets it go on.
    pub reason: String,
}

/// What one frame has cost, without an estimate of its newest requests.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::tree) struct Cost {
    /// What was told, in millionths of a US dollar.
    told: u64,
    /// What was told of conversations, and the weight of their requests at that time: they give the price of a unit.
    of_conversations: u64,
    counted: u64,
    /// The weight of the requests of which no cost is known yet.
    open: u64,
}

impl Cost {
    pub(in crate::tree) fn of(frame: &Frame) -> Self {
        let of_requests: u64 = frame.usage.iter().fold(0, |sum, usage| sum.saturating_add(usage.cost_micro_usd));
        let of_conversations = frame.costs.iter().fold(0_u64, |sum, cost| sum.saturating_add(cost.cost_micro_usd));
        let weight = frame.usage.iter().fold(0_u64, |sum, usage| sum.saturating_add(usage.weight()));
        let counted = frame.costs.iter().map(|cost| cost.weight).max().unwrap_or(0);
        // A host that tells the cost of each request leaves nothing to estimate.
        let open = if of_requests > 0 { 0 } else { weight.saturating_sub(counted) };
        Self { told: of_requests.saturating_add(of_conversations), of_conversations, counted, open }
    }

    /// What was told, in millionths of a US dollar.
    pub(in crate::tree) fn told(&self) -> u64 {
        self.told
    }

    pub(in crate::tree) fn add(&mut self, other: &Self) {
        self.told = self.told.saturating_add(other.told);
        self.of_conversations = self.of_conversations.saturating_add(other.of_conversations);
        self.counted = self.counted.saturating_add(other.counted);
        self.open = self.open.saturating_add(other.open);
    }

    /// The cost with an estimate of what came since, by the prices of a whole tree. Before a cost is told there nothing is estimated.
    pub(in crate::tree) fn estimated(&self, tree: &Self) -> u64 {
        let since = u128::from(self.open) * u128::from(tree.of_conversations);
        let since = since.checked_div(u128::from(tree.counted)).unwrap_or(0);
        self.told.saturating_add(u64::try_from(since).unwrap_or(u64::MAX))
    }
}

impl Tree {
    /// What a frame may do and spend now. `roots`: the limits of roots that have none of their own.
    pub fn allowance(&self, handle: Handle, roots: &FrameLimits) -> Allowance {
        let line = self.limits_above(handle, roots);
        let nearest = |of: fn(&FrameLimits) -> Option<u64>| line.iter().find_map(|(_, limits)| of(limits));
        let left = line
            .iter()
            .filter_map(|(frame, limits)| Some(limits.max_cost_micro_usd?.saturating_sub(self.cost_below(*frame))));
        Allowance {
            frame: handle,
            model: line.iter().find_map(|(_, limits)| limits.model.clone()),
            tools: common(line.iter().filter_map(|(_, limits)| limits.tools.as_deref())),
            max_turns: nearest(|limits| limits.max_turns),
            max_cost_micro_usd: left.min(),
        }
    }

    /// The first frame, from this one upwards, that has spent what it may. `roots`: as in [`Tree::allowance`].
    pub fn overspent(&self, handle: Handle, roots: &FrameLimits) -> Option<Overspent> {
        self.limits_above(handle, roots).into_iter().find_map(|(frame, limits)| {
            let tokens = limits.max_tokens.map(|most| (most, self.tokens_below(frame)));
            if let Some((most, spent)) = tokens.filter(|(most, spent)| spent >= most) {
                let reason = format!(
                    "its budget of {most} tokens is spent: {spent} with all frames below it; a larger maxTokens lets it go on"
                );
                return Some(Overspent { frame, reason });
            }
            let cost = limits.max_cost_micro_usd.map(|most| (most, self.cost_below(frame)));
            let (most, spent) = cost.filter(|(most, spent)| spent >= most)?;
            let reason = format!(
                "its budget of {} US dollars is spent: {} with all frames below it; a larger budget lets it go on",
                dollars(most),
                dollars(spent)
            );
            Some(Overspent { frame, reason })
        })
    }

    /// The tools of a frame besides those of the stack, as far as its record and those above say. `None`: they are not limited.
    pub(in crate::tree) fn tools_of(&self, handle: Handle) -> Option<Vec<String>> {
        let limits = self.lineage(handle).filter_map(|frame| self.node(frame).record().limits.as_deref());
        common(limits.filter_map(|limits| limits.tools.as_deref()))
    }

    /// A frame and those above it, each with its limits.
    fn limits_above(&self, handle: Handle, roots: &FrameLimits) -> Vec<(Handle, FrameLimits)> {
        let limits = |frame: Handle| {
            let own = self.node(frame).record().limits.as_deref().cloned().unwrap_or_default();
            let is_root = self.node(frame).parent().is_none();
            (frame, if is_root { own.or(roots) } else { own })
        };
        self.lineage(handle).map(limits).collect()
    }

    fn tokens_below(&self, handle: Handle) -> u64 {
        let usages = self.subtree(handle).flat_map(|frame| &self.node(frame).record().usage);
        usages.sum::<ModelUsage>().tokens()
    }

    /// What a frame and all frames below it have cost.
    fn cost_below(&self, handle: Handle) -> u64 {
        self.costs(handle).estimated(&self.costs(self.root(handle)))
    }

    /// The costs of a frame and all frames below it.
    pub(in crate::tree) fn costs(&self, handle: Handle) -> Cost {
        let mut sum = Cost::default();
        self.subtree(handle).for_each(|frame| sum.add(&Cost::of(self.node(frame).record())));
        sum
    }
}

/// The tools that all lists allow, the nearest first. `None`: there is no list.
fn common<'a>(lists: impl Iterator<Item = &'a [String]>) -> Option<Vec<String>> {
    lists.map(<[String]>::to_vec).reduce(|own, above| common_tools(&own, &above))
}

/// An amount of money in US dollars.
fn dollars(micro: u64) -> String {
    format!("{}.{:04}", micro / 1_000_000, micro % 1_000_000 / 100)
}
