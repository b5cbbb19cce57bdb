//! Tools that show the context that an agent receives before a model call.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::caller::Caller;
use super::json::pretty;
use super::{AgentTool, Reply};
use crate::context::DetailLevel;
use crate::error::Error;
use crate::frame::FrameRef;
use crate::stack::SessionContext;
use crate::text::beginning;

/// Show the size of this session's context in tokens, the frames that it contains with their detail levels,
/// the budget, and the statistics of the cache.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Info {}

impl AgentTool for Info {
    const NAME: &'static str = "stack_context_info";
    const EXAMPLE: &'static str = "{}";
    const USES_PLACE: bool = false;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let settings = caller.stack.host().settings().context;
        let cache = caller.stack.upkeep().cache_statistics();
        let Some(SessionContext { handle, context }) = context(caller)? else {
            return Ok(Reply::Text(pretty(&json!({ "budget": settings.budget, "cache": cache }))));
        };
        let entries = &context.report.entries;
        let frames: Vec<_> = entries.iter().filter(|entry| entry.detail_level != DetailLevel::Omitted).collect();
        let information = json!({
            "frame": handle,
            "tokens": context.tokens,
            "stableTokens": context.report.stable_tokens,
            "volatileTokens": context.report.volatile_tokens,
            "budget": settings.budget,
            "minimumRelevance": settings.minimum_relevance,
            "frames": frames,
            "leftOut": entries.len() - frames.len(),
            "cache": cache,
        });
        Ok(Reply::Text(pretty(&information)))
    }
}

/// Show the context of this session as its next model call will receive it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Preview {
    /// Maximum number of characters to show.
    #[serde(default = "two_thousand")]
    max_length: usize,
}

fn two_thousand() -> usize {
    2_000
}

impl AgentTool for Preview {
    const NAME: &'static str = "stack_context_preview";
    const EXAMPLE: &'static str = r#"{"maxLength": 8000}"#;
    const USES_PLACE: bool = false;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let Some(SessionContext { context, .. }) = context(caller)? else {
            return Ok(Reply::Text("This session has no context: it has no frame, or the settings disable it.".into()));
        };
        let total = context.xml.chars().count();
        let shown = beginning(&context.xml, self.max_length);
        let cut = if total > self.max_length {
            format!("\n… {} of {total} characters", self.max_length)
        } else {
            String::new()
        };
        Ok(Reply::Text(format!("{shown}{cut}")))
    }
}

fn context(caller: &Caller<'_>) -> Result<Option<SessionContext>, Error> {
    caller.stack.host().context_for(caller.session_id, false)
}

/// Clear cached contexts. They are rebuilt when they are next needed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ClearCache {
    /// Clear only the contexts of this frame.
    #[serde(rename = "sessionID")]
    session_id: Option<String>,
}

impl AgentTool for ClearCache {
    const NAME: &'static str = "stack_cache_clear";
    const EXAMPLE: &'static str = r#"{"sessionID": "f2"}"#;
    const USES_PLACE: bool = false;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let before = caller.stack.upkeep().cache_statistics().entries;
        caller.stack.upkeep().clear_cache(self.session_id.map(FrameRef::from))?;
        let cleared = before.saturating_sub(caller.stack.upkeep().cache_statistics().entries);
        Ok(Reply::Text(format!("Cleared cached contexts: {cleared}.")))
    }
}
