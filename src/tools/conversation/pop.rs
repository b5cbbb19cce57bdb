//! The tool `pop`: finishes a frame with results, or blocks it with a question.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Called, Conversation, ConversationTool, Question, Refusal, ToolEffect};
use crate::frame::{FrameStatus, Results};
use crate::session::calls::{self, listed};
use crate::tools::acting;
use crate::tools::popping::{self, Ended, Next};

/// Finish your frame. Of your work, the frame above gets the results; later frames see resultsCompacted, or
/// what says most of them. The next push or activate can be in the same message.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Pop {
    /// completed: the criteria are met; failed: they cannot be; blocked: it waits for an answer.
    status: Ended,
    /// What exists now, where, and how it is used; or what was tried, and why it failed.
    #[serde(default)]
    #[schemars(!default)]
    results: String,
    /// If that is long: the same in a few short sentences.
    #[serde(default)]
    results_compacted: String,
    /// blocked: what it needs, who has it.
    question: Option<String>,
    /// Begin this planned frame in the same call; "true": the first that can begin.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    next: Next,
    /// Despite unfinished frames below it.
    #[serde(default)]
    anyway: bool,
    /// Default: that of this conversation.
    frame: Option<String>,
}

impl ConversationTool for Pop {
    const NAME: &'static str = "pop";
    const TITLE: &'static str = "Finish a frame";
    const EXAMPLE: &'static str = r#"{"status": "completed", "results": "The parser in src/options.rs reads all flags; 12 tests", "resultsCompacted": "src/options.rs: Options::parse(args)"}"#;
    const EFFECT: ToolEffect = ToolEffect::Adds;
    const ASKS: bool = true;

    fn run(self, call: &Conversation<'_>) -> Result<Called, Refusal> {
        if self.next.asked().is_some() {
            call.stack.refresh()?;
        }
        if self.status == Ended::Blocked && self.question.is_none() {
            return Err("question is missing: say what it needs, and who can give it".into());
        }
        let asked = acting::Pop {
            frame: self.frame,
            status: self.status,
            results: Results::new(self.results).compacted(self.results_compacted),
            question: self.question,
            next: self.next,
            anyway: self.anyway,
        };
        let popped = acting::pop(&mut &*call, asked)?;
        let frame = popped.handle;
        let is_over = call.is_over(frame);
        let status = call.stack.look(|tree| tree.node(frame).status());
        let (mut text, title) = call.stack.look(|tree| (popping::told(tree, &popped), popping::title(tree, &popped)));
        if let Some(next) = popped.next {
            text.push_str(&format!("\n{}", call.begun_frame(next, true)));
            return Ok(call.answer_from(Some(next), text).about(title, frame));
        }
        let own = if is_over { None } else { call.place_after(popped.parent) };
        text.push_str(&match popped.parent {
            _ if status == FrameStatus::Blocked => {
                format!(" Ask for the answer; activate {{\"frame\": \"{frame}\", \"answer\": \"…\"}} resumes it.")
            }
            _ if is_over => " End your turn with these results.".to_owned(),
            None => " The task is over.".to_owned(),
            // What is left there is the work of other actors.
            Some(parent) if call.check_free(parent).is_err() => String::new(),
            Some(parent) => match call.stack.look(|tree| calls::next(tree, frame, &call.settings.tools)) {
                Some(next) => format!(" {next}"),
                None => match call.unfinished_below(parent) {
                    left if left.is_empty() => {
                        format!(" Nothing is left below {parent}: check its criteria, then pop it.")
                    }
                    left => format!(" Left below {parent}, and none of it can begin now: {}.", listed(&left)),
                },
            },
        });
        let called = call.answer_from(own, text).about(title, frame);
        Ok(Called { question: Question::of(call.stack, frame), ..called })
    }
}
