//! The tool `plan`: plans frames below a frame.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Conversation, ConversationTool, Refusal, Reply, ToolEffect};
use crate::frame::{FrameRef, NewFrame};

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
    /// Handles or titles of frames whose results it needs, also of earlier ones of this list.
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
        let titles: Vec<String> = self.frames.iter().map(|frame| frame.title.clone()).collect();
        let ids: Vec<String> = titles.iter().map(|_| call.stack.planned_id()).collect();
        let reference = |name: &String, before: usize| match titles[..before].iter().position(|title| title == name) {
            Some(place) => Ok(FrameRef::from(ids[place].clone())),
            None => call.resolve(name).map(FrameRef::from),
        };
        let mut frames = Vec::new();
        for (place, planned) in self.frames.into_iter().enumerate() {
            let depends_on = planned.depends_on.iter().map(|name| reference(name, place)).collect::<Result<_, _>>()?;
            let mut new = NewFrame::new(planned.title).criteria(planned.success_criteria).task(planned.task);
            new.session_id = Some(ids[place].clone());
            new = new.criteria_compacted(planned.success_criteria_compacted);
            new.depends_on = depends_on;
            frames.push(new);
        }
        let planned = call.stack.plan_children(own, frames)?;
        let mut lines: Vec<String> = planned.iter().map(|frame| format!("{} is planned.", call.name(*frame))).collect();
        if let Some(next) = call.stack.read(|tree| tree.ready_children(own, None).next()) {
            lines.push(format!("The first that can begin: activate {}.", call.name(next)));
        }
        call.answer_from(Some(own), lines.join("\n"))
    }
}
