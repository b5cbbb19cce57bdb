//! The tool `activate`: begins a planned frame, resumes a frame that is blocked or in progress, retries a
//! failed one, or reopens a completed one.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Called, Conversation, ConversationTool, Refusal, ToolEffect};
use crate::frame::{FrameStatus, Handle};
use crate::text::one_line;
use crate::tools::beginning;

/// Begin a planned frame, or resume an open one, and work in it. The answer shows all that you need for it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Activate {
    /// Handle or title.
    frame: String,
    /// To the question of a blocked frame; of a completed one: what is wrong.
    answer: Option<String>,
    /// Retry a failed or blocked one.
    #[serde(default)]
    retry: bool,
    /// With retry: what to do differently.
    note: Option<String>,
    /// Despite open dependencies.
    #[serde(default)]
    anyway: bool,
    /// A subagent does the work: the answer is its prompt.
    #[serde(default)]
    hand_over: bool,
    /// Continue the work of another conversation.
    #[serde(default)]
    take_over: bool,
}

impl ConversationTool for Activate {
    const NAME: &'static str = "activate";
    const TITLE: &'static str = "Begin a planned frame";
    const EXAMPLE: &'static str = r#"{"frame": "f2"}"#;
    const EFFECT: ToolEffect = ToolEffect::AddsOnce;

    fn run(self, call: &Conversation<'_>) -> Result<Called, Refusal> {
        call.stack.refresh()?;
        let mut frame = call.resolve(&self.frame)?;
        let from = call.stack.look(|tree| tree.node(frame).status());
        self.check(call, frame, from)?;
        let begins_anew = self.retry || from == FrameStatus::Failed;
        if begins_anew {
            frame = call.stack.retry(frame, self.note)?.handle;
        }
        let stack = call.as_actor(|actor| actor.taking_over(self.take_over).handing_over(self.hand_over));
        let mut used = String::new();
        let begun = match from {
            _ if begins_anew => stack.activate(frame),
            FrameStatus::Completed => {
                let reopened = stack.reopen(frame, self.answer.unwrap_or_default());
                reopened.map(|reopened| used = beginning::used_by(&reopened))
            }
            FrameStatus::InProgress => stack.resume(frame),
            FrameStatus::Blocked => match self.answer {
                Some(answer) => stack.answer_and_resume(frame, answer),
                None => stack.resume(frame),
            },
            _ if self.anyway => stack.activate(frame),
            _ => stack.begin(frame),
        };
        begun.map_err(|error| call.refused(frame, error))?;
        if self.hand_over {
            let own = call.place_after(call.stack.look(|tree| tree.node(frame).parent()));
            return Ok(call.answer_from(own, call.handed(&[frame])));
        }
        let begun = call.begun_frame(frame, begins_anew || from == FrameStatus::Planned);
        Ok(call.answer_from(Some(frame), beginning::with_sentence(begun, &used)))
    }
}

impl Activate {
    /// Refuses what cannot be done, before anything is changed.
    fn check(&self, call: &Conversation<'_>, frame: Handle, from: FrameStatus) -> Result<(), Refusal> {
        let begins_anew = self.retry || from == FrameStatus::Failed;
        let takes_answer = matches!(from, FrameStatus::Blocked | FrameStatus::Completed) && !begins_anew;
        let why = match from {
            _ if self.note.is_some() && !begins_anew => "a note is for the retry of a failed or blocked frame",
            FrameStatus::Planned | FrameStatus::InProgress if self.retry => {
                "only a failed or blocked frame is retried; pop it as failed first"
            }
            FrameStatus::Completed if self.retry => "only a failed or blocked frame is retried",
            _ if self.answer.is_some() && !takes_answer => "an answer is for a blocked or completed frame that resumes",
            FrameStatus::Completed if self.answer.is_none() => {
                "reopen it only if it is wrong: say in answer what is wrong; or push a new frame"
            }
            FrameStatus::Invalidated => "it cannot be activated; push a new frame",
            FrameStatus::InProgress if self.hand_over => "it has begun already; push hands over a new frame",
            FrameStatus::Blocked if !begins_anew && self.answer.is_none() && !call.is_answered(frame) => {
                let waits_for = call.stack.look(|tree| one_line(tree.node(frame).record().waits_for()));
                &format!("it resumes with an answer to what it waits for: {waits_for}")
            }
            _ => {
                call.stack.look(|tree| {
                    beginning::check_ready(tree, frame, begins_anew, self.answer.is_some(), self.anyway)
                })?;
                return call.check_takes(frame, self.take_over);
            }
        };
        Err(format!("{} is {from}: {why}", call.name(frame)).into())
    }
}
