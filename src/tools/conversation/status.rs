//! The tool `status`: shows the tree, or everything about one frame. It can wait for a frame to end.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Called, Conversation, ConversationTool, Refusal, ToolEffect};
use crate::error;
use crate::frame::{FrameStatus, Handle};
use crate::search::{SearchField, SearchQuery};
use crate::session::call_title;
use crate::session::calls::listed;
use crate::stack::Stack;
use crate::text::{floor_char_boundary, one_line};
use crate::tools::log::LogRange;
use crate::tree::{OutlineOptions, Tree, outline};

/// The longest wait, in seconds: shorter than the patience of every host.
const LONGEST_WAIT: u64 = 25;
/// The longest answer, in bytes, without what comes after the frames.
const LONGEST: usize = 24_000;
/// The longest line that is left out as a whole, in bytes.
const LONGEST_LINE: usize = 2_000;
/// The number of unfinished trees that are shown to a conversation without a frame.
const SHOWN_TREES: usize = 20;

/// A call waits for the end of a frame on which an actor works, or will work soon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wait {
    /// The frame.
    pub frame: Handle,
    /// The maximum time for which it waits.
    pub seconds: u64,
}

impl Wait {
    /// True if there is nothing left to wait for.
    pub fn is_over(&self, tree: &Tree) -> bool {
        !matches!(tree.node(self.frame).status(), FrameStatus::Planned | FrameStatus::InProgress)
    }
}

/// Show the frames of your task, and in which one you are; or all of one frame.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Status {
    /// Handle or title of the one frame.
    of: Option<String>,
    /// Also other tasks.
    #[serde(default)]
    all: bool,
    /// Of that frame, what was said and done in it: "true" for the newest, or words to look for.
    #[schemars(with = "Option<String>")]
    log: Option<LogWords>,
    /// Words: the frames whose titles, tasks, results or decisions have them.
    search: Option<String>,
    /// Seconds, to wait for the end of the frame `of`.
    #[serde(default)]
    #[schemars(range(min = 0, max = 25))]
    wait: i64,
    /// Your frame. Default: that of this conversation.
    frame: Option<String>,
}

/// Which part of a log is shown.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected true, or words to look for")]
enum LogWords {
    Newest(bool),
    With(String),
}

impl LogWords {
    /// Models also write texts for true and false.
    fn asks(&self) -> bool {
        match self {
            Self::Newest(is_asked) => *is_asked,
            Self::With(words) => !words.trim().is_empty() && !words.trim().eq_ignore_ascii_case("false"),
        }
    }

    fn searched(self) -> Option<String> {
        match self {
            Self::With(words) if !words.trim().eq_ignore_ascii_case("true") => Some(words),
            _ => None,
        }
    }
}

impl ConversationTool for Status {
    const NAME: &'static str = "status";
    const TITLE: &'static str = "Show the frames";
    const EXAMPLE: &'static str = r#"{"of": "f2"}"#;
    const EFFECT: ToolEffect = ToolEffect::Reads;

    fn run(self, call: &Conversation<'_>) -> Result<Called, Refusal> {
        let own = match self.frame.as_deref() {
            Some(name) => Some(call.resolve(name)?),
            None => call.place(),
        };
        if let Some(words) = self.search.filter(|words| !words.trim().is_empty()) {
            return Ok(call.answer_from(own, found(call, words)?));
        }
        let Some(name) = self.of else {
            if self.wait > 0 {
                return Err("wait needs the frame that it waits for: of".into());
            }
            if self.log.is_some_and(|words| words.asks()) {
                return Err("log needs the frame whose log it is: of".into());
            }
            return Ok(call.answer_from(own, all(call, own, self.all)?));
        };
        let frame = call.resolve(&name)?;
        if let Some(words) = self.log.filter(LogWords::asks) {
            let range = LogRange::newest(words.searched());
            let text = range.read(call.stack, frame, json!({ "handle": frame }))?;
            return Ok(call.answer_from(own, text));
        }
        let options =
            OutlineOptions::default().root(Some(frame.into())).own(own.map(Into::into)).details(true).width(0);
        let text = outlined(call.stack, &options.depth(Some(1)))?;
        let called = call.answer_from(own, shortened(text, &format!("the resource stack://frame/{frame} has all")));
        let wait = Wait { frame, seconds: self.wait.max(0).cast_unsigned().min(LONGEST_WAIT) };
        let (is_over, title) = call.stack.look(|tree| (wait.is_over(tree), call_title::of_frame(tree, frame)));
        Ok(match wait.seconds {
            0 => called,
            _ if is_over => called.about(title, frame),
            _ => Called { wait: Some(wait), ..called },
        })
    }
}

/// The tree of a stack as text.
fn outlined(stack: &Stack, options: &OutlineOptions) -> error::Result<String> {
    stack.check_working()?;
    stack.read(|tree| outline(tree, options))?
}

/// The frames of the task, or of all tasks with unfinished frames, or of all tasks.
fn all(call: &Conversation<'_>, own: Option<Handle>, all: bool) -> Result<String, Refusal> {
    let root = own.filter(|_| !all).map(|own| call.stack.look(|tree| tree.root(own)));
    // The active frame of a conversation without a frame belongs to another conversation.
    let options = OutlineOptions::default().own(own.map(Into::into)).active(own.is_some());
    let mut text = match (root, all) {
        (Some(root), _) => outlined(call.stack, &options.root(Some(root.into())))?,
        (None, true) => outlined(call.stack, &options)?,
        (None, false) => unfinished(call, &options)?,
    };
    text = shortened(text, "of shows one frame");
    let handed_over = call.handed_over(root);
    if !handed_over.is_empty() {
        text.push_str(&format!("Handed over to subagents: {}.\n", listed(&handed_over)));
    }
    let open = call.open_frames();
    if own.is_none() && !open.is_empty() {
        text.push_str(&format!("If you have worked here before, context with your frame shows all.{open}\n"));
    }
    Ok(text)
}

/// The trees with unfinished frames, and the number of the other trees.
fn unfinished(call: &Conversation<'_>, options: &OutlineOptions) -> Result<String, Refusal> {
    let (roots, finished) = call.stack.read(|tree| {
        let statuses = [FrameStatus::InProgress, FrameStatus::Blocked, FrameStatus::Planned];
        let frames = statuses.into_iter().flat_map(|status| tree.with_status(status));
        let roots: BTreeSet<Handle> = frames.map(|frame| tree.root(frame)).collect();
        let all: usize = tree.root_statuses().into_iter().sum();
        let finished = all - roots.len();
        (roots, finished)
    })?;
    if roots.is_empty() && finished == 0 {
        return Ok(outlined(call.stack, options)?);
    }
    let mut text = String::new();
    for root in roots.iter().rev().take(SHOWN_TREES) {
        text.push_str(&outlined(call.stack, &options.clone().root(Some((*root).into())))?);
        text.push('\n');
    }
    let more = roots.len().saturating_sub(SHOWN_TREES);
    if more > 0 {
        text.push_str(&format!("{more} older tasks are not shown; all shows them.\n"));
    }
    if finished > 0 {
        let tasks = if finished == 1 { "task" } else { "tasks" };
        text.push_str(&format!("{finished} finished {tasks}; all shows them.\n"));
    }
    Ok(text)
}

/// The beginning of a text, in whole lines unless the last one is long. `hint`: where the rest is.
fn shortened(text: String, hint: &str) -> String {
    if text.len() <= LONGEST {
        return text;
    }
    let most = floor_char_boundary(&text, LONGEST);
    let whole = text[..most].rfind('\n').unwrap_or_default();
    let (end, unit) = if most - whole > LONGEST_LINE { (most, "bytes") } else { (whole, "lines") };
    let left_out = if unit == "bytes" { text.len() - end } else { text[end..].trim_start().lines().count() };
    format!("{}\n… {left_out} more {unit}; {hint}\n", &text[..end])
}

/// The frames that have the words, each with the text in which the words are.
fn found(call: &Conversation<'_>, words: String) -> Result<String, Refusal> {
    let found = call.stack.search(&SearchQuery::new(words))?;
    let lines = found.frames.iter().map(|found| {
        let place = format!("{} {} ({})", found.status.mark(), found.handle, one_line(&found.title));
        match found.field {
            SearchField::Title => place,
            field => format!("{place}: {}: {}", field.name(), found.excerpt),
        }
    });
    let mut lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        lines.push("No frame has these words.".to_owned());
    }
    lines.extend((found.more > 0).then(|| format!("... and {} more; give more words", found.more)));
    Ok(lines.join("\n"))
}
