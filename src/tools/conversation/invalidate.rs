//! The tool `invalidate`: takes a frame out of the plan.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Called, Conversation, ConversationTool, Refusal, ToolEffect};
use crate::tools::acting;

/// Take a frame that is not needed, and the planned ones below it, out of the plan.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Invalidate {
    /// Handle or title.
    frame: String,
    /// Why it is not needed.
    reason: String,
}

impl ConversationTool for Invalidate {
    const NAME: &'static str = "invalidate";
    const TITLE: &'static str = "Take a frame out of the plan";
    const EXAMPLE: &'static str = r#"{"frame": "f4", "reason": "The provider does the caching for us"}"#;
    const EFFECT: ToolEffect = ToolEffect::Removes;

    fn run(self, call: &Conversation<'_>) -> Result<Called, Refusal> {
        let (frame, _, text) = acting::invalidate(&mut &*call, Some(&self.frame), self.reason)?;
        let above = call.stack.look(|tree| tree.nearest_open(tree.node(frame).parent()?));
        let own = call.place_after(above);
        Ok(call.answer_from(own, text))
    }
}
