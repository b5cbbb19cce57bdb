//! The tool `invalidate`: takes a frame out of the plan.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Conversation, ConversationTool, Refusal, Reply, ToolEffect};
use crate::session::calls::listed;

/// Take a frame that is not needed any more, and the planned ones below it, out of the plan.
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

    fn run(self, call: &Conversation<'_>) -> Result<Reply, Refusal> {
        let frame = call.resolve(&self.frame)?;
        let parent = call.stack.read(|tree| tree.node(frame).parent());
        call.check_free(frame)?;
        let gone = call.stack.invalidate(frame, self.reason)?;
        let mut text = format!("{} is out of the plan.", call.name(frame));
        if gone.invalidated.len() > 1 {
            text.push_str(&format!(" So are the planned frames below it: {}.", listed(&gone.invalidated[1..])));
        }
        if !gone.still_open.is_empty() {
            text.push_str(&format!(" Still open below it: {}.", listed(&gone.still_open)));
        }
        if !gone.dependents.is_empty() {
            text.push_str(&format!(
                " These depend on it; plan them anew without it, or begin them anyway: {}.",
                listed(&gone.dependents)
            ));
        }
        let own = call.place_after(call.stack.read(|tree| tree.nearest_open(parent?)));
        call.answer_from(own, text)
    }
}
