//! The tool `activate`: begins a planned frame, or goes on with one that is blocked, failed or in progress.

use callstack_core::FrameStatus;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Effect, McpTool};
use crate::mcp::call::{Answer, Call};

/// Begin a planned frame, or go on with an open one, and work in it from now on. The answer shows all that you need for it.
/// For a blocked frame give the answer to its question; a failed one is begun anew.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Activate {
    /// Handle or title of the frame.
    frame: String,
    /// The answer to the question of a blocked frame.
    answer: Option<String>,
    /// What the next attempt of a failed frame does differently.
    note: Option<String>,
    /// A subagent does the work: the answer is the prompt for it.
    #[serde(default)]
    hand_over: bool,
}

impl McpTool for Activate {
    const NAME: &'static str = "activate";
    const TITLE: &'static str = "Begin a planned frame";
    const EXAMPLE: &'static str = r#"{"frame": "f2"}"#;
    const EFFECT: Effect = Effect::AddsOnce;

    fn run(self, call: &Call<'_>) -> Answer {
        let mut frame = call.resolve(&self.frame)?;
        let status = |frame| call.stack.read(|tree| tree.node(frame).status());
        let from = status(frame);
        let refused = |why: &str| Err(format!("{} is {from}: {why}", call.name(frame)).into());
        match (from, &self.answer, &self.note) {
            (FrameStatus::Completed | FrameStatus::Invalidated, ..) => {
                return refused("it cannot be activated; push a new frame");
            }
            (FrameStatus::Blocked, None, _) if !call.is_answered(frame) => {
                let waits_for = call.stack.read(|tree| tree.node(frame).record().waits_for().to_owned());
                return refused(&format!("it goes on with an answer to what it waits for: {waits_for}"));
            }
            (FrameStatus::Blocked, ..) | (_, None, _) => {}
            (_, Some(_), _) => return refused("an answer is for a blocked frame"),
        }
        match (from, &self.note) {
            (FrameStatus::Failed, _) | (_, None) => {}
            (_, Some(_)) => return refused("a note is for the next attempt of a failed frame"),
        }
        if self.hand_over && !matches!(from, FrameStatus::Planned | FrameStatus::Failed) {
            return refused("only a planned or failed frame is handed over");
        }
        if matches!(from, FrameStatus::Planned | FrameStatus::Failed) {
            call.stack.read(|tree| tree.check_ready(frame))?;
        }
        if from == FrameStatus::Failed {
            frame = call.stack.retry(frame, self.note)?.handle;
        }
        if self.hand_over {
            call.hand_over(frame);
            return call.answer_from(call.bound(), call.prompt(frame));
        }
        if let Some(answer) = self.answer {
            call.stack.answer(frame, answer)?;
        }
        match from {
            FrameStatus::InProgress => call.stack.set_active(frame)?,
            FrameStatus::Blocked => call.stack.set_status(frame, FrameStatus::InProgress, None)?,
            _ => call.stack.activate(frame)?,
        }
        call.enter(frame);
        let context = call.context(frame)?;
        let text = format!("{} is in progress: work in it now, then pop it.\n{context}", call.name(frame));
        call.answer_from(Some(frame), text)
    }
}
