//! The tool `plan`: plans frames below a frame, and takes planned ones out.

use callstack_core::{FrameRef, NewFrame};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Effect, McpTool};
use crate::mcp::call::{Answer, Call, listed};

/// Plan the steps of your frame in order, to be begun later with activate. Or take frames out of the plan.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Plan {
    /// The steps, in order.
    #[serde(default)]
    frames: Vec<PlannedFrame>,
    /// Handles or titles of frames that are not needed any more.
    #[serde(default)]
    remove: Vec<String>,
    /// Why they are removed.
    #[serde(default)]
    reason: String,
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
    /// Handles or titles of frames whose results it needs, also of earlier ones of this list.
    #[serde(default)]
    depends_on: Vec<String>,
}

impl McpTool for Plan {
    const NAME: &'static str = "plan";
    const TITLE: &'static str = "Plan frames";
    const EXAMPLE: &'static str = r#"{"frames": [{"title": "Cart", "successCriteria": "Totals are right"}, {"title": "Checkout", "successCriteria": "Orders are stored", "dependsOn": ["Cart"]}]}"#;
    const EFFECT: Effect = Effect::Removes;

    fn run(self, call: &Call<'_>) -> Answer {
        if self.frames.is_empty() && self.remove.is_empty() {
            return Err("name frames to plan, or frames to remove".into());
        }
        let own = call.own(self.frame.as_deref())?;
        let removed = self.remove.iter().map(|name| call.resolve(name)).collect::<Result<Vec<_>, _>>()?;
        let mut lines = Vec::new();
        if !self.frames.is_empty() {
            let titles: Vec<String> = self.frames.iter().map(|frame| frame.title.clone()).collect();
            let ids: Vec<String> = titles.iter().map(|_| call.stack.planned_id()).collect();
            let reference = |name: &String, before: usize| match titles[..before].iter().position(|title| title == name)
            {
                Some(place) => Ok(FrameRef::from(ids[place].clone())),
                None => call.resolve(name).map(FrameRef::from),
            };
            let mut frames = Vec::new();
            for (place, planned) in self.frames.into_iter().enumerate() {
                let depends_on =
                    planned.depends_on.iter().map(|name| reference(name, place)).collect::<Result<_, _>>()?;
                let mut new = NewFrame::new(planned.title).criteria(planned.success_criteria).id(ids[place].clone());
                new = new.criteria_compacted(planned.success_criteria_compacted);
                new.depends_on = depends_on;
                frames.push(new);
            }
            for frame in call.stack.plan_children(own, frames)? {
                lines.push(format!("{} is planned.", call.name(frame)));
            }
        }
        for frame in removed {
            let name = call.name(frame);
            let gone = call.stack.invalidate(frame, &*self.reason)?;
            lines.push(format!("{name} is out of the plan."));
            if !gone.dependents.is_empty() {
                lines.push(format!(
                    "These depend on it, and need other dependencies or must go too: {}.",
                    listed(&gone.dependents)
                ));
            }
        }
        if let Some(next) = call.next_ready(own) {
            lines.push(format!("The first that can begin: activate {}.", call.name(next)));
        }
        call.answer_from(Some(own), lines.join("\n"))
    }
}
