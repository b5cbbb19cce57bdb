//! The tool `pop`: finishes a frame with results, or blocks it with a question.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Conversation, ConversationTool, Question, Refusal, Reply, ToolEffect, is_handed_over};
use crate::frame::{FrameStatus, Handle, PopStatus, Results};
use crate::session::calls::listed;

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
    /// Begin this planned frame in the same call; true: the first that can begin. The answer shows all that you need for it.
    #[serde(default)]
    next: Next,
    /// Although frames below it are open or planned.
    #[serde(default)]
    anyway: bool,
    /// Default: the frame of this conversation.
    frame: Option<String>,
}

/// Whether another frame begins, and which one.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a handle such as \"f3\", or true")]
enum Next {
    First(bool),
    Named(String),
}

impl Default for Next {
    fn default() -> Self {
        Self::First(false)
    }
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

impl ConversationTool for Pop {
    const NAME: &'static str = "pop";
    const TITLE: &'static str = "Finish a frame";
    const EXAMPLE: &'static str = r#"{"status": "completed", "results": "The parser in src/options.rs reads all flags; 12 tests", "resultsCompacted": "src/options.rs: Options::parse(args)"}"#;
    const EFFECT: ToolEffect = ToolEffect::Adds;

    fn run(self, call: &Conversation<'_>) -> Result<Reply, Refusal> {
        if self.next.is_asked() {
            call.stack.refresh()?;
        }
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
        let next = self.next.checked(call, frame, self.status)?;
        let popped = match (self.question, self.status) {
            (None, status) => match next {
                Some(next) => call.stack.pop_and_begin(frame, status.into(), results, Some(next.into()))?,
                None => call.stack.pop(frame, status.into(), results)?,
            },
            (Some(question), Ended::Blocked) => call.stack.block(frame, question, Some(results))?,
            (Some(_), _) => return Err("question is only for the status blocked".into()),
        };
        let is_over = call.is_over(frame);
        let status = call.stack.read(|tree| tree.node(frame).status());
        let mut text = format!("{} is {status}.", call.name(frame));
        if !popped.still_open.is_empty() {
            text.push_str(&format!(" Still open below it: {}.", listed(&popped.still_open)));
        }
        if !popped.still_planned.is_empty() {
            text.push_str(&format!(" Planned below it and not begun: {}.", listed(&popped.still_planned)));
        }
        if let Some(next) = popped.next {
            text.push_str(&format!("\n{}", call.begun(next)?));
            return call.answer_from(Some(next), text);
        }
        let own = if is_over { None } else { call.place_after(popped.parent) };
        match popped.parent {
            _ if status == FrameStatus::Blocked => text.push_str(&format!(
                " Ask for the answer; activate {{\"frame\": \"{frame}\", \"answer\": \"…\"}} goes on with it."
            )),
            _ if is_over => text.push_str(" End your turn with these results."),
            // What is left there is for those who work there.
            Some(parent) if call.check_free(parent).is_err() => {}
            Some(parent) => match call.stack.read(|tree| tree.ready_children(parent, None).next()) {
                Some(next) => text.push_str(&format!(" Next of the plan: activate {}.", call.name(next))),
                None => text.push_str(&match call.unfinished_below(parent) {
                    left if left.is_empty() => {
                        format!(" Nothing is left below {parent}: check its criteria, then pop it.")
                    }
                    left => format!(" Left below {parent}, and none of it can begin now: {}.", listed(&left)),
                }),
            },
            None => text.push_str(" The task is over."),
        }
        let reply = call.answer_from(own, text)?;
        Ok(Reply { question: Question::of(call.stack, frame), ..reply })
    }
}

impl Next {
    /// Models write texts for what is true or false, too.
    fn is_asked(&self) -> bool {
        !matches!(self, Self::First(false))
            && !matches!(self, Self::Named(name) if name.trim().eq_ignore_ascii_case("false"))
    }

    /// The frame that begins when another one is popped. `None`: none was asked for, or none can begin.
    ///
    /// # Errors
    /// If the conversation may not begin it.
    fn checked(&self, call: &Conversation<'_>, popped: Handle, status: Ended) -> Result<Option<Handle>, Refusal> {
        if !self.is_asked() {
            return Ok(None);
        }
        if status == Ended::Blocked {
            return Err(
                "next is for a frame that has ended: while this one is blocked, activate begins another one".into()
            );
        }
        if call.stack.read(|tree| is_handed_over(tree, popped)) {
            return Err(
                format!("{} is all of your task: pop it without next, and end your turn", call.name(popped)).into()
            );
        }
        let completed = (status == Ended::Completed).then_some(popped);
        let next = match self {
            Self::Named(name) if !name.trim().eq_ignore_ascii_case("true") => Some(call.resolve(name.trim())?),
            // What others have is theirs.
            _ => {
                let ready: Vec<Handle> = call.stack.read(|tree| {
                    let parent = tree.node(popped).parent();
                    parent.map_or_else(Vec::new, |parent| tree.ready_children(parent, completed).collect())
                });
                ready.into_iter().find(|next| call.check_free(*next).is_ok())
            }
        };
        next.map_or(Ok(()), |next| call.check_free(next))?;
        Ok(next)
    }
}
