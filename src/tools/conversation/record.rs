//! The tool `record`: keeps what a frame has made and decided, and its results so far.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Called, Conversation, ConversationTool, Refusal, ToolEffect};
use crate::frame::Results;
use crate::tree::Records;

/// Record at once what later work depends on. It outlives the conversation.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Record {
    /// Paths, URLs or names of what you have made.
    #[serde(default)]
    artifacts: Vec<String>,
    /// Each with its reason.
    #[serde(default)]
    decisions: Vec<String>,
    /// In place of those before.
    #[serde(default)]
    results_so_far: String,
    /// Default: that of this conversation.
    frame: Option<String>,
}

impl ConversationTool for Record {
    const NAME: &'static str = "record";
    const TITLE: &'static str = "Record decisions and files";
    const EXAMPLE: &'static str =
        r#"{"decisions": ["Unknown keys are refused, so that typos are reported"], "artifacts": ["src/options.rs"]}"#;
    const EFFECT: ToolEffect = ToolEffect::Adds;

    fn run(self, call: &Conversation<'_>) -> Result<Called, Refusal> {
        let Self { artifacts, decisions, results_so_far, frame } = self;
        let has_results = !results_so_far.trim().is_empty();
        if artifacts.is_empty() && decisions.is_empty() && !has_results {
            return Err("nothing to record: give artifacts, decisions or resultsSoFar".into());
        }
        if artifacts.iter().chain(&decisions).any(|text| text.trim().is_empty()) {
            return Err("an entry is empty; nothing was recorded".into());
        }
        let frame = call.own(frame.as_deref())?;
        call.check_free(frame)?;
        let status = call.stack.look(|tree| tree.node(frame).status());
        if !status.is_open() {
            return Err(
                format!("{} is {status}: only an open frame records; nothing was recorded", call.name(frame)).into()
            );
        }
        let results = has_results.then(|| Results::new(results_so_far));
        call.stack.record(frame, Records { artifacts, decisions, results })?;
        Ok(call.answer_from(Some(frame), format!("{}: recorded.", call.name(frame))))
    }
}
