//! Commands for what frames may do and spend.

use super::not_empty;
use crate::error::{Error, Result};
use crate::frame::{Change, FrameLimits, Handle, common_tools, covers};
use crate::tree::{Draft, Tree};

impl Draft<'_> {
    /// Sets limits of a frame. Its other limits do not change.
    pub(super) fn set_limits(&mut self, handle: Handle, limits: &FrameLimits) -> Result<()> {
        check_limits(self.tree, limits, handle, self.tree.node(handle).parent())?;
        self.limit(handle, limits);
        Ok(())
    }

    /// Records the cost of a conversation of a frame so far, unless that cost is known already.
    pub(super) fn record_cost(&mut self, handle: Handle, conversation: String, cost_micro_usd: u64) -> Result<()> {
        not_empty("conversation", &conversation)?;
        let costs = &self.tree.node(handle).record().costs;
        let known = costs.iter().find(|cost| cost.conversation == conversation).map_or(0, |cost| cost.cost_micro_usd);
        if known != cost_micro_usd {
            self.push(handle, Change::CostRecorded { conversation, cost_micro_usd });
        }
        Ok(())
    }

    /// Limits a frame that a host begins. A root gets the limits of roots where it has no limits of its own.
    /// A frame that the agent of another branch begins has at most the tools of that agent's frame, so that
    /// no agent gets more tools by a frame that it plans elsewhere.
    pub(super) fn limit_called(&mut self, handle: Handle, caller: &str, roots: &FrameLimits) {
        let tree = self.tree;
        let record = tree.node(handle).record();
        if tree.node(handle).parent().is_none() {
            let own = record.limits.as_deref().cloned().unwrap_or_default();
            return self.limit(handle, &own.or(roots));
        }
        let beginner = tree.by_id(caller).filter(|beginner| !tree.lineage(handle).any(|frame| frame == *beginner));
        let Some(most) = beginner.and_then(|beginner| tree.tools_of(beginner)) else { return };
        let common = tree.tools_of(handle).map_or_else(|| most.clone(), |own| common_tools(&own, &most));
        if tree.tools_of(handle).is_none_or(|own| own != common) {
            self.limit(handle, &FrameLimits::default().tools(Some(common)));
        }
    }

    fn limit(&mut self, handle: Handle, limits: &FrameLimits) {
        let known = self.tree.node(handle).record().limits.as_deref().cloned().unwrap_or_default();
        let limits = limits.or(&known);
        if limits != known {
            self.push(handle, Change::LimitsSet { limits: Box::new(limits) });
        }
    }
}

/// Refuses limits that are 0, and tools that the frames above do not have. `handle`: the frame, or for a new
/// frame the frame above it.
pub(super) fn check_limits(tree: &Tree, limits: &FrameLimits, handle: Handle, parent: Option<Handle>) -> Result<()> {
    if let Some(name) = limits.zero() {
        let expected = "a whole number from 1 on; a large number has the effect of no limit";
        return Err(Error::Setting { name: name.into(), value: "0".into(), expected });
    }
    let Some(tools) = &limits.tools else { return Ok(()) };
    let Some(above) = parent.and_then(|parent| tree.tools_of(parent)) else { return Ok(()) };
    let more: Vec<String> = tools.iter().filter(|tool| !covers(&above, tool)).cloned().collect();
    if more.is_empty() { Ok(()) } else { Err(Error::ToolsExceed { handle, tools: more, above }) }
}
