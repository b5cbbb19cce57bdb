//! The tool `invalidate`: takes a frame out of the plan.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Called, Conversation, ConversationTool, Refusal, ToolEffect};
use crate::tools::planning::out_of_the_plan;

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
        let frame = call.resolve(&self.frame)?;
        let parent = call.stack.read(|tree| tree.node(frame).parent());
        call.check_free(frame)?;
        let gone = call.stack.invalidate(frame, self.reason)?;
        let tools = &call.settings.tools;
        let text = call.stack.read(|tree| out_of_the_plan(tree, frame, &gone, tools));
        let own = call.place_after(call.stack.read(|tree| tree.nearest_open(parent?)));
        Ok(call.answer_from(own, text))
    }
}
