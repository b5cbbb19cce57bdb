//! The transcript of a conversation, and a model of its own of what has to be left of it when it is folded.

use std::collections::BTreeSet;

use callstack_core::{FrameStatus, Handle};
use serde_json::{Value, json};
use support::Random;

/// A part of a transcript.
enum Turn {
    /// A person has said this.
    Words(String),
    /// The agent has read a file, and this was in it.
    File(String),
    /// The agent has called a tool of the stack.
    Call(Call),
}

/// A request to a tool of the stack.
#[derive(Clone)]
pub(super) struct Request {
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
    /// The results, or the decision.
    pub(super) mark: Option<String>,
}

impl Request {
    pub(super) fn new(tool: &'static str, arguments: Value) -> Self {
        Self { tool, arguments, mark: None }
    }

    /// A request that records a marked text.
    pub(super) fn marked(tool: &'static str, arguments: Value, mark: String) -> Self {
        Self { mark: Some(mark), ..Self::new(tool, arguments) }
    }
}

/// A request with its answer.
pub(super) struct Call {
    pub(super) request: Request,
    pub(super) answer: String,
    /// False: the request was refused, or its outcome is not known.
    pub(super) is_done: bool,
}

impl Call {
    /// The frame in which the conversation is afterwards, as the last line says. `None`: the call was not done.
    fn place(&self) -> Option<Option<Handle>> {
        let last = self.answer.lines().last().filter(|_| self.is_done)?.strip_prefix("You are in ")?;
        Some(last.split(' ').next().and_then(|frame| frame.parse().ok()))
    }

    /// The frame in which the conversation works from now on, as the answer says.
    pub(super) fn begun(&self) -> Option<Handle> {
        let begins = matches!(self.request.tool, "push" | "activate");
        self.place().flatten().filter(|place| begins && self.subject() == Some(*place))
    }

    /// The frame to which the call has given a status, as the answer says.
    pub(super) fn effect(&self) -> Option<(Handle, FrameStatus)> {
        let begun = self.begun().map(|frame| (frame, FrameStatus::InProgress));
        let is_pop = self.is_done && self.request.tool == "pop";
        let status = || self.request.arguments["status"].as_str()?.parse().ok();
        begun.or_else(|| Some((self.subject().filter(|_| is_pop)?, status()?)))
    }

    /// The frame that the call was about: the first one of the answer.
    fn subject(&self) -> Option<Handle> {
        self.answer.split(' ').next().and_then(|frame| frame.parse().ok())
    }
}

/// A transcript.
#[derive(Default)]
pub(super) struct Transcript(Vec<Turn>);

/// Where a part comes from.
#[derive(PartialEq)]
enum From {
    Person,
    File,
    /// It is what a frame has returned.
    Frame(Handle),
}

/// A part that has to be in the folded transcript: its text, and the frames in which it was said, the innermost last.
struct Needed<'a> {
    text: &'a str,
    within: Vec<Handle>,
    /// Where it comes from.
    from: From,
    /// How often the conversation had been in no frame before.
    task: usize,
}

impl Transcript {
    pub(super) fn say(&mut self, text: String) {
        self.0.push(Turn::Words(text));
    }

    pub(super) fn read_file(&mut self, text: String) {
        self.0.push(Turn::File(text));
    }

    pub(super) fn call(&mut self, call: Call) {
        self.0.push(Turn::Call(call));
    }

    /// Number of its parts.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The person goes back to an earlier point, at most ten parts before the end.
    pub(super) fn rewind(&mut self, random: &mut Random) {
        self.0.truncate(self.0.len().saturating_sub(random.below(10)));
    }

    /// The frame in which the conversation is, as the newest answer says.
    pub(super) fn place(&self) -> Option<Handle> {
        self.calls().rev().find_map(Call::place).flatten()
    }

    /// The frames in which the conversation has been.
    pub(super) fn frames(&self) -> impl Iterator<Item = Handle> + '_ {
        self.calls().filter_map(|call| call.place().flatten())
    }

    /// True if it has the beginning of each frame before the conversation was in it, and the conversation has gone back
    /// to no frame from another one.
    pub(super) fn is_whole(&self) -> bool {
        let mut begun = BTreeSet::new();
        self.calls().all(|call| {
            let is_new = call.begun().is_none_or(|frame| begun.insert(frame));
            is_new && call.place().flatten().is_none_or(|place| begun.contains(&place))
        })
    }

    fn calls(&self) -> impl DoubleEndedIterator<Item = &Call> {
        self.0.iter().filter_map(|turn| if let Turn::Call(call) = turn { Some(call) } else { None })
    }

    /// The transcript as a request of Anthropic's Messages.
    pub(super) fn request(&self) -> String {
        let exchange = |number: usize, name: &str, input: &Value, answer: &str, is_error: bool| {
            let call = json!({"type": "tool_use", "id": number.to_string(), "name": name, "input": input});
            let outcome = json!({
                "type": "tool_result", "tool_use_id": number.to_string(), "content": answer, "is_error": is_error,
            });
            vec![json!({"role": "assistant", "content": [call]}), json!({"role": "user", "content": [outcome]})]
        };
        let written = |(number, turn): (usize, &Turn)| match turn {
            Turn::Words(text) => vec![json!({"role": "user", "content": text})],
            Turn::File(text) => exchange(number, "Read", &json!({"file_path": "a.rs"}), text, false),
            Turn::Call(Call { request: Request { tool, arguments, .. }, answer, is_done }) => {
                exchange(number, &format!("mcp__callstack__{tool}"), arguments, answer, !is_done)
            }
        };
        let begin = json!({"role": "user", "content": "Build it."});
        let messages: Vec<Value> = std::iter::once(begin).chain(self.0.iter().enumerate().flat_map(written)).collect();
        json!({"model": "m", "messages": messages}).to_string()
    }

    /// What is wrong in the folded transcript. `None`: nothing. `is_clear`: each handle in it means one frame; else only
    /// the words of persons, calls and outcomes are looked at.
    pub(super) fn wrong_in(&self, folded: &str, is_clear: bool) -> Option<String> {
        let is_looked_at = |needed: &Needed<'_>| is_clear || needed.from == From::Person;
        let missing = self.needed().into_iter().find(|needed| is_looked_at(needed) && !folded.contains(needed.text));
        if let Some(Needed { text, within, .. }) = missing {
            return Some(format!("`{text}` is not there, which was said in {within:?}"));
        }
        let request: Value = serde_json::from_str(folded).ok()?;
        let parts = |kind: &str, key: &str| -> Vec<String> {
            let messages = request["messages"].as_array().into_iter().flatten();
            let parts = messages.filter_map(|message| message["content"].as_array()).flatten();
            parts.filter(|part| part["type"] == kind).map(|part| part[key].to_string()).collect()
        };
        let (calls, outcomes) = (parts("tool_use", "id"), parts("tool_result", "tool_use_id"));
        (calls != outcomes).then(|| format!("the calls {calls:?} have the outcomes {outcomes:?}"))
    }

    /// What has to be left: what a person has said, what was read in a frame that has not ended, and the results of
    /// frames that have ended.
    fn needed(&self) -> Vec<Needed<'_>> {
        let mut needed: Vec<Needed<'_>> = Vec::new();
        // The frames in which the conversation is, the innermost last.
        let mut within: Vec<Handle> = Vec::new();
        let mut task = 0;
        let mut begun = BTreeSet::new();
        for turn in &self.0 {
            match turn {
                Turn::Words(text) => needed.push(Needed { text, within: Vec::new(), from: From::Person, task }),
                Turn::File(text) => needed.push(Needed { text, within: within.clone(), from: From::File, task }),
                Turn::Call(call) => {
                    let Some(place) = call.place() else { continue };
                    begun.extend(call.begun());
                    if let Some(ended) = call.subject().filter(|_| call.request.tool == "pop") {
                        // What was in it, or in a frame that was begun within it, may go.
                        let depth = within.iter().position(|frame| *frame == ended).unwrap_or(within.len());
                        let gone: Vec<Handle> = within.drain(depth..).chain([ended]).collect();
                        needed.retain(|needed| !needed.within.iter().any(|frame| gone.contains(frame)));
                        // A frame that was open again returns what is newest.
                        needed.retain(|needed| needed.from != From::Frame(ended));
                        // A task that no call has begun takes all with it that was said since the task before it.
                        if place.is_none() && !begun.contains(&ended) {
                            needed.retain(|needed| needed.task < task || needed.from == From::Person);
                        }
                        let text = call.request.mark.as_deref().unwrap_or_default();
                        needed.push(Needed { text, within: within.clone(), from: From::Frame(ended), task });
                    }
                    match place.map(|place| (place, within.iter().position(|frame| *frame == place))) {
                        Some((_, Some(depth))) => within.truncate(depth + 1),
                        Some((place, None)) => {
                            // A task that no call has begun has all that was said since the task before it.
                            if within.is_empty() && !matches!(call.request.tool, "push" | "activate") {
                                let is_of_task =
                                    |needed: &&mut Needed<'_>| needed.task == task && needed.from != From::Person;
                                let said = needed.iter_mut().filter(is_of_task);
                                said.for_each(|needed| needed.within.insert(0, place));
                            }
                            within.push(place);
                        }
                        None => {
                            within.clear();
                            task += 1;
                        }
                    }
                }
            }
        }
        needed
    }
}
