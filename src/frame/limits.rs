//! What a frame may do and spend, and what its conversations have cost.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ModelUsage;

/// Limits of a frame. If a frame has no limit of its own for its model, its tools or its turns, the limit of
/// the nearest frame above applies. The limits of tokens and costs apply to the frame and all frames below it
/// together.
///
/// In JSON, with every key optional; unknown keys are rejected. Numbers are at least 1.
///
/// ```json
/// {"model": "claude-sonnet-5", "tools": ["Read", "mcp__shop"], "maxTurns": 40, "maxTokens": 2000000, "maxCostMicroUsd": 5000000}
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct FrameLimits {
    /// The host's name of the model of the frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The host's names of the tools in addition to those of the stack: at most the tools of the frames
    /// above. The name of a server, `mcp__shop`, stands for all tools of this server, `mcp__shop__…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Turns of the model in one prompt of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u64>,
    /// Tokens of all requests, of prompts and answers together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The cost that is allowed, in millionths of a US dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_micro_usd: Option<u64>,
}

impl FrameLimits {
    setters! {
        model: Option<String>,
        tools: Option<Vec<String>>,
        max_turns: Option<u64>,
        max_tokens: Option<u64>,
        max_cost_micro_usd: Option<u64>,
    }

    /// These limits. Where they have no limit, the limit of the others is used.
    #[must_use]
    pub fn or(&self, others: &Self) -> Self {
        Self {
            model: self.model.clone().or_else(|| others.model.clone()),
            tools: self.tools.clone().or_else(|| others.tools.clone()),
            max_turns: self.max_turns.or(others.max_turns),
            max_tokens: self.max_tokens.or(others.max_tokens),
            max_cost_micro_usd: self.max_cost_micro_usd.or(others.max_cost_micro_usd),
        }
    }

    /// The name of a limit that is 0.
    pub(crate) fn zero(&self) -> Option<&'static str> {
        let numbers = [
            ("maxTurns", self.max_turns),
            ("maxTokens", self.max_tokens),
            ("maxCostMicroUsd", self.max_cost_micro_usd),
        ];
        numbers.into_iter().find(|(_, number)| *number == Some(0)).map(|(name, _)| name)
    }
}

/// The limits in words, such as `40 turns, 120000 tokens, 5 US dollars, model small, tools Read, Edit`; empty
/// if there are none.
impl fmt::Display for FrameLimits {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools = self.tools.as_ref().map(|tools| match &tools[..] {
            [] => "no tools but those of the stack".to_owned(),
            tools => format!("tools {}", tools.join(", ")),
        });
        let parts = [
            self.max_turns.map(|turns| format!("{turns} turns")),
            self.max_tokens.map(|tokens| format!("{tokens} tokens")),
            self.max_cost_micro_usd.map(|cost| format!("{} US dollars", exact_dollars(cost))),
            self.model.as_ref().map(|model| format!("model {model}")),
            tools,
        ];
        formatter.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

/// An amount of money in US dollars, with all its decimals.
pub(crate) fn exact_dollars(micro: u64) -> String {
    let all = format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000);
    all.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// True if one of the tools is this one, or the server that has it.
pub(crate) fn covers(tools: &[String], tool: &str) -> bool {
    tools
        .iter()
        .any(|name| tool.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with("__")))
}

/// The tools that two lists allow.
pub(crate) fn common_tools(own: &[String], above: &[String]) -> Vec<String> {
    let mut common: Vec<String> = own.iter().filter(|tool| covers(above, tool)).cloned().collect();
    let more = above.iter().filter(|tool| covers(own, tool) && !own.contains(tool)).cloned();
    common.extend(more);
    common
}

/// The tools that all lists allow, the nearest list first. `None`: there is no list.
pub(crate) fn tools_of_all<'a>(lists: impl Iterator<Item = &'a [String]>) -> Option<Vec<String>> {
    lists.map(<[String]>::to_vec).reduce(|own, above| common_tools(&own, &above))
}

/// The cost of a conversation of a frame so far.
///
/// In JSON: `{"conversation": "ses_1", "costMicroUsd": 120000, "weight": 4200}`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ConversationCost {
    /// The ID of the conversation: the conversation of the frame's session, or another one in which the host
    /// has requested a summary.
    pub conversation: String,
    /// The cost of all its requests so far, in millionths of a US dollar.
    pub cost_micro_usd: u64,
    /// The weight of the frame's requests at that time: [`ModelUsage::weight`] of all models. The cost of
    /// later requests is estimated.
    pub weight: u64,
}

impl ModelUsage {
    /// The tokens of requests, each weighted by its usual price in relation to the others: 20 for an uncached
    /// token of a prompt, 2 for a token that was read from a cache, 25 for a token that was written to it,
    /// 100 for a token of an answer.
    pub fn weight(&self) -> u64 {
        let weights = [(self.uncached_input, 20), (self.cache_read, 2), (self.cache_write, 25), (self.answer(), 100)];
        weights.into_iter().fold(0, |sum, (tokens, weight)| tokens.saturating_mul(weight).saturating_add(sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_stands_for_its_tools() {
        let tools = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
        assert_eq!(
            common_tools(&tools(&["Read", "mcp__shop", "Bash"]), &tools(&["Read", "mcp__shop__buy", "mcp__shops"])),
            tools(&["Read", "mcp__shop__buy"])
        );
        assert_eq!(common_tools(&tools(&["mcp__shop__buy"]), &tools(&["mcp__shop"])), tools(&["mcp__shop__buy"]));
        assert_eq!(common_tools(&tools(&["Read"]), &[]), tools(&[]));
    }

    #[test]
    fn limits_of_their_own_come_first() {
        let own = FrameLimits::default().max_tokens(Some(5));
        let others = FrameLimits::default().max_tokens(Some(9)).max_turns(Some(3));
        assert_eq!(own.or(&others), FrameLimits::default().max_tokens(Some(5)).max_turns(Some(3)));
        assert_eq!((own.max_turns(Some(0)).zero(), others.zero()), (Some("maxTurns"), None));
    }
}
