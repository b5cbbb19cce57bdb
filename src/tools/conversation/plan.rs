//! The tool `plan`: plans frames below a frame.

use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde_json::Value;

use super::{Called, Conversation, ConversationTool, Refusal, ToolEffect};
use crate::frame::Handle;
use crate::tools::beginning;
use crate::tools::planning::Child;
use crate::tree::Parts;

const SHORT: &str = "successCriteriaCompacted";

/// Plan the steps of your frame, to be begun later with activate.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Plan {
    /// The steps, in order.
    #[schemars(transform = with_criteria_alone)]
    frames: Vec<Child>,
    /// Subagents do those that can begin: the answer has the prompts.
    #[serde(default)]
    hand_over: bool,
    /// Your frame. Default: that of this conversation.
    frame: Option<String>,
}

/// Leaves the short criteria out of the schema: contexts do not need them.
fn with_criteria_alone(frames: &mut Schema) {
    let frame = frames.get_mut("items").and_then(Value::as_object_mut);
    let Some(frame) = frame else { return };
    if let Some(properties) = frame.get_mut("properties").and_then(Value::as_object_mut) {
        properties.remove(SHORT);
    }
    if let Some(required) = frame.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| name != SHORT);
    }
}

impl ConversationTool for Plan {
    const NAME: &'static str = "plan";
    const TITLE: &'static str = "Plan frames";
    const EXAMPLE: &'static str = r#"{"frames": [{"title": "Cart", "successCriteria": "Totals are right"}, {"title": "Checkout", "successCriteria": "Orders are stored", "dependsOn": ["Cart"]}]}"#;
    const EFFECT: ToolEffect = ToolEffect::Adds;

    fn run(self, call: &Conversation<'_>) -> Result<Called, Refusal> {
        if self.frames.is_empty() {
            return Err("frames is empty: name the steps".into());
        }
        let own = call.own(self.frame.as_deref())?;
        let planned = call.stack.plan_children(own, self.frames.into_iter().map(Child::new_frame).collect())?;
        let can_begin = |frame: &Handle| call.stack.look(|tree| tree.can_begin(*frame, Parts::Within).is_ok());
        let (begun, waiting): (Vec<Handle>, Vec<Handle>) =
            planned.iter().partition(|frame| self.hand_over && can_begin(frame));
        let stack = call.as_actor(|actor| actor.handing_over(true));
        begun.iter().try_for_each(|frame| stack.begin(*frame))?;
        let mut lines = if begun.is_empty() { Vec::new() } else { vec![call.handed(&begun)] };
        lines.extend(waiting.iter().map(|frame| format!("{} is planned.", call.name(*frame))));
        if begun.is_empty() {
            let first = call.stack.look(|tree| beginning::first(tree, &waiting));
            lines.extend(first.map(|first| beginning::begin_with(first, &call.settings.tools)));
        }
        Ok(call.answer_from(Some(own), lines.join("\n")))
    }
}
