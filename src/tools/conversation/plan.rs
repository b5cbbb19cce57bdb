//! The tool `plan`: plans frames below a frame.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Conversation, ConversationTool, Refusal, Reply, ToolEffect};
use crate::frame::{FrameRef, NewFrame};
use crate::tools::beginning;

/// Plan the steps of your frame in order, to be begun later with activate.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Plan {
    /// The steps, in order.
    frames: Vec<PlannedFrame>,
    /// Your frame. Default: the frame of this conversation.
    frame: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PlannedFrame {
    /// Two to five words.
    title: String,
    /// Conditions that can be checked.
    success_criteria: String,
    /// The same in one short line.
    #[serde(default)]
    success_criteria_compacted: String,
    /// In full: what to do, what is known, what to return.
    #[serde(default)]
    task: String,
    /// Handles or titles of frames whose results it needs, also of this list.
    #[serde(default)]
    depends_on: Vec<String>,
}

impl ConversationTool for Plan {
    const NAME: &'static str = "plan";
    const TITLE: &'static str = "Plan frames";
    const EXAMPLE: &'static str = r#"{"frames": [{"title": "Cart", "successCriteria": "Totals are right"}, {"title": "Checkout", "successCriteria": "Orders are stored", "dependsOn": ["Cart"]}]}"#;
    const EFFECT: ToolEffect = ToolEffect::Adds;

    fn run(self, call: &Conversation<'_>) -> Result<Reply, Refusal> {
        if self.frames.is_empty() {
            return Err("frames is empty: name the steps".into());
        }
        let own = call.own(self.frame.as_deref())?;
        let new = |planned: PlannedFrame| NewFrame {
            depends_on: planned.depends_on.into_iter().map(FrameRef::from).collect(),
            task: planned.task,
            ..NewFrame::new(planned.title)
                .criteria(planned.success_criteria)
                .criteria_compacted(planned.success_criteria_compacted)
        };
        let planned = call.stack.plan_children(own, self.frames.into_iter().map(new).collect())?;
        let mut lines: Vec<String> = planned.iter().map(|frame| format!("{} is planned.", call.name(*frame))).collect();
        let first = call.stack.read(|tree| beginning::first(tree, &planned));
        lines.extend(first.map(|first| beginning::begin_with(first, &call.settings.tools)));
        call.answer_from(Some(own), lines.join("\n"))
    }
}
