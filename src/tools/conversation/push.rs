//! The tool `push`: begins a sub-task in a frame of its own, or plans it for a subagent.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Called, Conversation, ConversationTool, Refusal, ToolEffect};
use crate::context::initial_planning;
use crate::frame::{FrameStatus, Handle};
use crate::tools::{acting, beginning};

/// Begin a sub-task in a child frame of your frame, and work in it until you pop it. The first push begins
/// your task.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Push {
    /// Two to five words.
    title: String,
    /// Conditions that can be checked.
    success_criteria: String,
    /// The same in one short line. Contexts can do without, so it does not stand in the schema.
    #[serde(default)]
    #[schemars(skip)]
    success_criteria_compacted: String,
    /// With handOver: what to do, what is known, what to return.
    #[serde(default)]
    task: String,
    /// Frames whose results it needs.
    #[serde(default)]
    depends_on: Vec<String>,
    /// A subagent does the work: the answer is its prompt.
    #[serde(default)]
    hand_over: bool,
    /// Your frame; "new": another task. Default: that of this conversation.
    frame: Option<String>,
}

impl ConversationTool for Push {
    const NAME: &'static str = "push";
    const TITLE: &'static str = "Begin a sub-task";
    const EXAMPLE: &'static str = r#"{"title": "Parse the options", "successCriteria": "All flags of the README are read; errors name the flag; tests pass"}"#;
    const EFFECT: ToolEffect = ToolEffect::Adds;

    fn run(self, call: &Conversation<'_>) -> Result<Called, Refusal> {
        let own = call.begins_from(self.frame.as_deref())?;
        let words = [self.title, self.success_criteria, self.success_criteria_compacted, self.task];
        let (new, depends_on) = acting::new_frame(&call, words, &self.depends_on, own)?;
        let is_ready = call.stack.look(|tree| {
            let is_completed =
                |frame: &Handle| tree.node(tree.newest_attempt(*frame)).status() == FrameStatus::Completed;
            depends_on.iter().all(is_completed)
        });
        if !is_ready {
            let frame = call.stack.plan(new)?;
            let tools = &call.settings.tools;
            let mut text = call.stack.look(|tree| beginning::in_the_plan(tree, frame, "planned", tools));
            if self.hand_over {
                text.push_str(&format!(" Then activate {{\"frame\": \"{frame}\", \"handOver\": true}} hands it over."));
            }
            return Ok(call.answer_from(own, text));
        }
        let frame = call.as_actor(|actor| actor.handing_over(self.hand_over)).push(new)?;
        if self.hand_over {
            return Ok(call.answer_from(own, call.handed(&[frame])));
        }
        let mut text = call.stack.look(|tree| beginning::told(tree, frame, true, &call.settings.tools));
        if own.is_none() {
            text.push_str(&format!("\n{}", initial_planning(&call.settings.tools)));
        }
        Ok(call.answer_from(Some(frame), text))
    }
}
