//! What frames may do and spend, and what they have spent.

use serde::Serialize;

use crate::frame::{FrameLimits, Handle, ModelUsage, exact_dollars, tools_of_all};
use crate::tree::Tree;

/// What a frame may do and spend now, with the limits of all frames above it.
///
/// In JSON: `{"frame": "f3", "model": "claude-sonnet-5", "tools": ["Read"], "maxTurns": 40,
/// "maxTokens": 88000, "maxCostMicroUsd": 310000}`. What is not limited is left out.
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
    /// Tokens that may still be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// What may still be spent, in millionths of a US dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_micro_usd: Option<u64>,
}

/// A frame that, together with all frames below it, has spent what it may spend.
///
/// In JSON: `{"frame": "f1", "reason": "its budget of 90000 tokens is spent: 91200 with all frames below it;
/// a larger maxTokens lets it continue"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Overspent {
    /// The frame.
    pub frame: Handle,
    /// What it has spent, and what lets it continue.
    pub reason: String,
}

impl Tree {
    /// What a frame may do and spend now. `roots`: the limits of roots that have none of their own.
    pub fn allowance(&self, handle: Handle, roots: &FrameLimits) -> Allowance {
        let line = self.limits_above(handle, roots);
        let nearest = |of: fn(&FrameLimits) -> Option<u64>| line.iter().find_map(|(_, limits)| of(limits));
        let tokens_left = line
            .iter()
            .filter_map(|(frame, limits)| Some(limits.max_tokens?.saturating_sub(self.tokens_below(*frame))));
        let cost_left = line
            .iter()
            .filter_map(|(frame, limits)| Some(limits.max_cost_micro_usd?.saturating_sub(self.cost_below(*frame))));
        Allowance {
            frame: handle,
            model: line.iter().find_map(|(_, limits)| limits.model.clone()),
            tools: tools_of_all(line.iter().filter_map(|(_, limits)| limits.tools.as_deref())),
            max_turns: nearest(|limits| limits.max_turns),
            max_tokens: tokens_left.min(),
            max_cost_micro_usd: cost_left.min(),
        }
    }

    /// The first frame, from this one upwards, that has spent what it may. `roots`: as in
    /// [`Tree::allowance`].
    pub fn overspent(&self, handle: Handle, roots: &FrameLimits) -> Option<Overspent> {
        self.limits_above(handle, roots).into_iter().find_map(|(frame, limits)| {
            let tokens = limits.max_tokens.map(|most| (most, self.tokens_below(frame)));
            if let Some((most, spent)) = tokens.filter(|(most, spent)| spent >= most) {
                let reason = format!(
                    "its budget of {most} tokens is spent: {spent} with all frames below it; a larger maxTokens lets it continue"
                );
                return Some(Overspent { frame, reason });
            }
            let cost = limits.max_cost_micro_usd.map(|most| (most, self.cost_below(frame)));
            let (most, spent) = cost.filter(|(most, spent)| spent >= most)?;
            let reason = format!(
                "its budget of {} US dollars is spent: {} with all frames below it; a larger budget lets it continue",
                exact_dollars(most),
                dollars(spent)
            );
            Some(Overspent { frame, reason })
        })
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
}

/// An amount of money in US dollars, with four decimals.
fn dollars(micro: u64) -> String {
    format!("{}.{:04}", micro / 1_000_000, micro % 1_000_000 / 100)
}
