//! The tool `context`: what an agent in a frame needs to know.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Called, Conversation, ConversationTool, Refusal, ToolEffect};
use crate::context::Guidance;

/// Show all that your frame needs: its task and those above it, results that it builds on, its plan. Call it
/// after a compaction.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Context {
    /// Default: that of this conversation.
    frame: Option<String>,
}

impl ConversationTool for Context {
    const NAME: &'static str = "context";
    const TITLE: &'static str = "Show what a frame needs";
    const EXAMPLE: &'static str = "{}";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    fn run(self, call: &Conversation<'_>) -> Result<Called, Refusal> {
        let frame = call.shown(self.frame.as_deref())?;
        let settings = call.settings.clone().guidance(Guidance::Brief);
        let context = match call.place() == Some(frame) {
            true => call.stack.context_again(frame, &settings)?,
            false => call.stack.context(frame, &settings)?,
        };
        Ok(call.answer_from(Some(frame), context.xml.clone()))
    }
}
