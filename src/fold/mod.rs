//! A conversation without what its finished frames have said.
//!
//! In a host whose agent works on all its frames in one conversation, the conversation grows with each frame.
//! Yet a pushed and popped frame is a call and its return: [`fold`] makes a request look like that. The
//! answer of the push becomes what the frame has returned, and everything from there to the answer of the pop
//! is gone. What is not folded keeps its bytes. So signatures stay valid, and a prompt cache loses only what
//! is after the push, once.
//!
//! ```
//! use callstack_core::fold::{FoldSettings, Wire, fold};
//!
//! let request = r#"{"model": "m", "messages": [
//!   {"role": "user", "content": "Build the shop."},
//!   {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "mcp__callstack__push", "input": {"title": "Cart"}}]},
//!   {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "f1 (Cart) has begun.\nYou are in f1 (Cart)."}]},
//!   {"role": "assistant", "content": [{"type": "tool_use", "id": "2", "name": "Bash", "input": {"command": "cat cart.rs"}}]},
//!   {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "2", "content": "a long file"}]},
//!   {"role": "assistant", "content": [{"type": "tool_use", "id": "3", "name": "mcp__callstack__pop",
//!     "input": {"status": "completed", "results": "cart.rs: Cart::total()"}}]},
//!   {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "3", "content": "f1 (Cart) is completed.\nYou are in no frame."}]}
//! ]}"#;
//! let folded = fold(Wire::Anthropic, request, &FoldSettings::default());
//! assert!(!folded.text.contains("a long file"));
//! assert!(folded.text.contains(r"f1 (Cart) is completed.\nResults: cart.rs: Cart::total()"));
//! assert_eq!(folded.report.stretches[0].items, 4);
//! ```
//!
//! The result is a function of the request and the settings alone: no clock, no randomness, no memory of
//! earlier requests. A request that cannot be understood comes back as it was.
//!
//! See `docs/fold.md` for the rule, with a conversation before and after.

pub(crate) mod conversation;
mod keep;
mod plan;
mod returned;
mod sent;
mod splice;
mod stretches;
mod tokens;
pub(crate) mod transcript;
mod turns;
pub(crate) mod walk;
pub(crate) mod wire;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::frame::Handle;
use crate::vocabulary::ToolNames;
use crate::vocabulary::calls::{CallNames, SERVER};

use self::conversation::{Conversation, Removal};
use self::plan::{Plan, What};
pub use self::transcript::{
    AnswerPart, CallOutcome, Seen, Transcript, TranscriptItem, answered_transcript, beginning, opening, outcome_of,
    transcript,
};

/// The form in which a conversation is written.
///
/// In JSON and for [`FromStr`] the names are those of the variants in small letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Wire {
    /// A request of Anthropic's Messages.
    Anthropic,
    /// A request of OpenAI's Responses.
    Responses,
    /// A request of OpenAI's Chat Completions, which many providers accept.
    Chat,
    /// A request of Gemini's `generateContent`.
    Gemini,
    /// The messages of OpenCode's hook `experimental.chat.messages.transform`: a list of `{"info": …,
    /// "parts": […]}`.
    Opencode,
    /// The messages of pi's event `context`: a list of its agent messages.
    Pi,
}

impl Wire {
    /// All wires.
    pub const ALL: &[Self] = &[Self::Anthropic, Self::Responses, Self::Chat, Self::Gemini, Self::Opencode, Self::Pi];

    /// The name, such as `anthropic`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Responses => "responses",
            Self::Chat => "chat",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Pi => "pi",
        }
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Wire {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let expected = "anthropic, responses, chat, gemini, opencode or pi";
        let unknown = || Error::Setting { name: "wire".into(), value: name.to_owned(), expected };
        Self::ALL.iter().copied().find(|wire| wire.as_str() == name).ok_or_else(unknown)
    }
}

/// What [`fold`] may assume and do.
///
/// In JSON: `{"tools": {"push": "begin_task"}, "server": "callstack", "pointer": "callstack log {frame}",
/// "turns": {"floor": 40000}}`. Every key is optional; unknown keys are rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct FoldSettings {
    /// The host's names of the tools, if they are neither the library's own names nor those of the MCP
    /// server.
    pub tools: ToolNames,
    /// The name under which the host knows the MCP server. Default: `callstack`. Hosts write it into the
    /// names of tools, as in `mcp__callstack__push`.
    pub server: String,
    /// How an agent reads all of a finished frame; `{frame}` stands for its handle. Default (`null`): a call
    /// of the tool that shows a frame. With an empty text, nothing is said.
    pub pointer: Option<String>,
    /// Also fold the turns of a conversation before its first frame. Default (`null`): no.
    pub turns: Option<TurnSettings>,
}

impl Default for FoldSettings {
    fn default() -> Self {
        Self { tools: ToolNames::default(), server: SERVER.to_owned(), pointer: None, turns: None }
    }
}

/// When the turns of a conversation without frames, or before the first frame, are folded. A turn runs from
/// the person's words to the agent's last answer before the next words.
///
/// In JSON: `{"floor": 40000, "pointer": "The whole conversation is in log.jsonl."}`. `floor` is required;
/// unknown keys are rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct TurnSettings {
    /// In tokens, estimated by [`Approx`](crate::context::Approx) from samples. When the person writes, and
    /// the turns that are finished and not folded have more than this together, these turns are all folded.
    /// 40,000 to 60,000 cost least in windows of 200,000 tokens; see `docs/fold.md`.
    pub floor: usize,
    /// How an agent reads what was folded. Default: nothing is said.
    #[serde(default)]
    pub pointer: String,
}

impl TurnSettings {
    /// Folds when the finished turns have more than this number of tokens.
    pub fn new(floor: usize) -> Self {
        Self { floor, pointer: String::new() }
    }

    setters! {
        pointer: String,
    }
}

impl FoldSettings {
    setters! {
        tools: ToolNames,
        server: String,
        pointer: Option<String>,
        turns: Option<TurnSettings>,
    }
}

/// A request, and what was folded in it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Folded<'a> {
    /// The request as it is to be sent. Borrowed if nothing was folded.
    pub text: Cow<'a, str>,
    /// What was folded.
    pub report: FoldReport,
}

/// What was folded in a request.
///
/// In JSON: `{"stretches": [{"frame": "f2", "status": "completed", "items": 21, "bytes": 31054, "tokens":
/// 8120, "returned": 310}], "turns": [{"turns": 3, "items": 60, "bytes": 90120, "tokens": 31044}]}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FoldReport {
    /// The stretches that are gone, in the order of their beginnings. What was pushed and popped within a
    /// stretch is not listed.
    pub stretches: Vec<FoldedStretch>,
    /// The turns that are folded. Turns that were folded at once are one element.
    pub turns: Vec<FoldedTurns>,
}

impl FoldReport {
    /// True if nothing was folded.
    pub fn is_empty(&self) -> bool {
        self.stretches.is_empty() && self.turns.is_empty()
    }
}

/// Turns of a conversation that were folded at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FoldedTurns {
    /// Number of turns.
    pub turns: usize,
    /// Number of items that are gone: texts, thoughts, calls and outcomes.
    pub items: usize,
    /// Their length, in bytes.
    pub bytes: usize,
    /// Their length in tokens, estimated by [`Approx`](crate::context::Approx) from samples.
    pub tokens: usize,
}

/// A stretch of a conversation that is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FoldedStretch {
    /// The frame.
    pub frame: Handle,
    /// How the frame has ended.
    pub status: FoldedStatus,
    /// Number of items that are gone: texts, thoughts, calls and outcomes.
    pub items: usize,
    /// Their length, in bytes.
    pub bytes: usize,
    /// Their length in tokens, estimated by [`Approx`](crate::context::Approx) from samples.
    pub tokens: usize,
    /// Length of the text that stands for them, in bytes.
    pub returned: usize,
}

/// How a frame ended whose stretch is folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FoldedStatus {
    /// With results.
    Completed,
    /// Without the results that it was to reach.
    Failed,
    /// It waits for an answer, and another frame has begun since.
    Blocked,
    /// It was taken out of the plan.
    Invalidated,
}

impl FoldedStatus {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Invalidated => "invalidated",
        }
    }
}

/// Returns a request without what its finished frames have said. See the [module](self).
///
/// Some texts come back borrowed: a request without a finished frame, a request that breaks a rule of its
/// wire, and a text that is not a request.
pub fn fold<'a>(wire: Wire, request: &'a str, settings: &FoldSettings) -> Folded<'a> {
    let unchanged = || Folded { text: Cow::Borrowed(request), report: FoldReport::default() };
    folded(wire, request, settings).unwrap_or_else(unchanged)
}

fn folded<'a>(wire: Wire, request: &'a str, settings: &FoldSettings) -> Option<Folded<'a>> {
    let names = CallNames::new(&settings.tools, &settings.server);
    // Most requests have no tool of ours: then nothing is built from them.
    if settings.turns.is_none() && !names.may_be_in(request) {
        return None;
    }
    let conversation = wire::read(wire, request, &names)?;
    if settings.turns.is_none() && !conversation.has_ended_frames() {
        return None;
    }
    let pairs = conversation.pairs()?;
    let turns = settings.turns.as_ref().and_then(|turns| turns::plan(request, &conversation, turns));
    let plan = match (turns, stretches::plan(&conversation, &pairs, settings)) {
        (Some(turns), Some(stretches)) => turns.and(stretches),
        (turns, stretches) => turns.or(stretches)?,
    };
    let text = splice::write(request, &conversation, &plan)?;
    let report = report(request, &conversation, &plan);
    Some(Folded { text: Cow::Owned(text), report })
}

fn report(request: &str, conversation: &Conversation<'_>, plan: &Plan<'_>) -> FoldReport {
    // Items, bytes and tokens of each fold.
    let mut sums = vec![(0, 0, 0); plan.folds.len()];
    for (item, gone) in conversation.items.iter().zip(&plan.gone) {
        if let Some(fold) = gone {
            let (items, bytes, length) = &mut sums[*fold];
            *items += 1;
            if item.removal != Removal::WithCall {
                *bytes += item.bytes.len();
                *length += tokens::estimated(&request[item.bytes.clone()]);
            }
        }
    }
    let mut report = FoldReport::default();
    for (fold, (items, bytes, tokens)) in plan.folds.iter().zip(sums) {
        let returned = fold.replaced.as_ref().map_or(0, |(_, text)| text.len());
        match fold.what {
            What::Stretch(frame, status) => {
                report.stretches.push(FoldedStretch { frame, status, items, bytes, tokens, returned });
            }
            What::Thoughts | What::Answer => {}
            What::Turns(turns) => report.turns.push(FoldedTurns { turns, items, bytes, tokens }),
        }
    }
    report
}
