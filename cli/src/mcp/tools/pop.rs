//! The tool `pop`: finishes a frame with results, or blocks it with a question.

use callstack_core::{FrameStatus, PopStatus, Results};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Effect, McpTool};
use crate::mcp::call::{Answer, Call, Reply, listed};

/// Finish your frame. The frame above it goes on and sees resultsCompacted, so that must contain all that it needs.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Pop {
    /// completed: the criteria are met; failed: they cannot be; blocked: the work waits for somebody.
    status: Ended,
    /// The results in full: what exists now, where, and how it is used; or what was tried, and why it failed.
    results: String,
    /// The same in a few short sentences.
    #[serde(default)]
    results_compacted: String,
    /// With blocked: what the work needs, and from whom.
    question: Option<String>,
    /// Although frames below it are open or planned.
    #[serde(default)]
    anyway: bool,
    /// Default: the frame of this conversation.
    frame: Option<String>,
}

#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Ended {
    Completed,
    Failed,
    Blocked,
}

impl From<Ended> for PopStatus {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Completed => Self::Completed,
            Ended::Failed => Self::Failed,
            Ended::Blocked => Self::Blocked,
        }
    }
}

impl McpTool for Pop {
    const NAME: &'static str = "pop";
    const TITLE: &'static str = "Finish a frame";
    const EXAMPLE: &'static str = r#"{"status": "completed", "results": "The parser in src/options.rs reads all flags; 12 tests", "resultsCompacted": "src/options.rs: Options::parse(args)"}"#;
    const EFFECT: Effect = Effect::Adds;

    fn run(self, call: &Call<'_>) -> Answer {
        let frame = call.own(self.frame.as_deref())?;
        call.check_free(frame)?;
        let results = Results::new(self.results).compacted(self.results_compacted);
        let asks = self.question.as_deref().is_some_and(|question| !question.trim().is_empty());
        if self.status == Ended::Blocked && !asks {
            return Err("question is missing: say what the work needs, and from whom".into());
        }
        if !asks && results.dense().trim().is_empty() {
            return Err("results is empty: say what exists now, where, and how it is used; or what was tried, and why it failed".into());
        }
        let left = call.unfinished_below(frame);
        if self.status == Ended::Completed && !self.anyway && !left.is_empty() {
            return Err(format!(
                "{} is not done: below it are {}; finish them, or invalidate what is not needed; or pop it anyway",
                call.name(frame),
                listed(&left)
            )
            .into());
        }
        let popped = match (self.question, self.status) {
            (None, status) => call.stack.pop(frame, status.into(), results)?,
            (Some(question), Ended::Blocked) => call.stack.block(frame, question, Some(results))?,
            (Some(_), _) => return Err("question is only for the status blocked".into()),
        };
        let is_over = call.leave(frame);
        let own = if is_over { None } else { call.place_after(popped.parent) };
        let status = call.stack.read(|tree| tree.node(frame).status());
        let mut text = format!("{} is {status}.", call.name(frame));
        if !popped.still_open.is_empty() {
            text.push_str(&format!(" Still open below it: {}.", listed(&popped.still_open)));
        }
        if !popped.still_planned.is_empty() {
            text.push_str(&format!(" Planned below it and not begun: {}.", listed(&popped.still_planned)));
        }
        match popped.parent {
            _ if status == FrameStatus::Blocked => text.push_str(&format!(
                " Ask for the answer; activate {{\"frame\": \"{frame}\", \"answer\": \"…\"}} goes on with it."
            )),
            _ if is_over => text.push_str(" End your turn with these results."),
            // What is left there is for those who work there.
            Some(parent) if call.check_free(parent).is_err() => {}
            Some(parent) => match call.next_ready(parent) {
                Some(next) => text.push_str(&format!(" Next of the plan: activate {}.", call.name(next))),
                None if call.unfinished_below(parent).is_empty() => {
                    text.push_str(&format!(" Nothing is left below {parent}: check its criteria, then pop it."));
                }
                None => {}
            },
            None => text.push_str(" The task is over."),
        }
        let reply = call.answer_from(own, text)?;
        Ok(Reply { asks: (status == FrameStatus::Blocked).then_some(frame), ..reply })
    }
}
