//! OpenCode: the messages that its hook `experimental.chat.messages.transform` may change, each with `info`
//! and `parts`. The part of a tool is both the call and its outcome.

use super::words_or_note;
use crate::fold::conversation::{Author, Call, Conversation, Kind, List, Order, Outcome, Removal};
use crate::fold::sent;
use crate::json::{Reader, Value};
use crate::vocabulary::calls::CallNames;

pub(super) fn read<'a>(reader: &mut Reader<'a>, names: &CallNames<'_>) -> Option<Conversation<'a>> {
    let mut conversation = Conversation::new(Order::Any);
    reader.array(|reader| message(reader, names, &mut conversation))?;
    Some(conversation)
}

fn message<'a>(reader: &mut Reader<'a>, names: &CallNames<'_>, conversation: &mut Conversation<'a>) -> Option<()> {
    let mut role = None;
    let mut is_summary = false;
    let mut parts = Vec::new();
    let bytes = reader.spanned(|reader| {
        reader.object(|reader, key| {
            match key {
                "info" => {
                    let info = reader.value()?;
                    role = info.get("role");
                    conversation.has_thinking_turns |= is_anthropics(info);
                    is_summary = info.get("summary").is_some_and(|summary| summary.text == "true");
                }
                "parts" => parts = reader.array_of(Part::read)?,
                _ => drop(reader.value()?),
            }
            Some(())
        })
    })?;
    let author = match role?.raw()? {
        "assistant" => Author::Model,
        _ => Author::Other,
    };
    // Files that the person has named are in parts of the host, next to the words.
    let has_words = author == Author::Other && parts.iter().any(|part| part.kind == "text" && !part.is_synthetic);
    for mut part in parts {
        part.is_summary = is_summary;
        part.add(author, has_words, names, conversation);
    }
    conversation.end_message(bytes, author);
    Some(())
}

/// True if a model of Anthropic has answered, no matter which provider serves it. Models that are told how
/// much to think must begin a turn with thinking.
fn is_anthropics(info: Value<'_>) -> bool {
    let says = |key: &str, word: &str| info.get(key).and_then(Value::raw).is_some_and(|name| name.contains(word));
    says("providerID", "anthropic") || says("modelID", "claude")
}

/// What the reader needs of a part.
#[derive(Default)]
struct Part<'a> {
    bytes: std::ops::Range<usize>,
    kind: &'a str,
    text: Option<Value<'a>>,
    tool: &'a str,
    id: Option<&'a str>,
    state: State<'a>,
    is_synthetic: bool,
    is_signed: bool,
    /// The message is the summary of a compaction.
    is_summary: bool,
}

/// The state of a call.
#[derive(Default)]
struct State<'a> {
    status: &'a str,
    input: Option<Value<'a>>,
    output: Option<Value<'a>>,
}

impl<'a> Part<'a> {
    fn read(reader: &mut Reader<'a>) -> Option<Self> {
        let mut part = Self::default();
        part.bytes = reader.spanned(|reader| {
            reader.object(|reader, key| {
                if key == "state" && reader.peek()? == b'{' {
                    return part.state.read(reader);
                }
                let value = reader.value()?;
                match key {
                    "type" => part.kind = value.raw()?,
                    "text" => part.text = Some(value),
                    "tool" => part.tool = value.raw()?,
                    "callID" => part.id = value.raw(),
                    "synthetic" => part.is_synthetic = value.text == "true",
                    "metadata" => part.is_signed = value.text.contains("\"thoughtSignature\""),
                    _ => {}
                }
                Some(())
            })
        })?;
        Some(part)
    }

    fn add(self, author: Author, has_words: bool, names: &CallNames<'_>, conversation: &mut Conversation<'a>) {
        let element = Removal::Element(List::Content);
        let kind = match (self.kind, author) {
            ("tool", Author::Model) => {
                let call = Call {
                    id: self.id,
                    name: self.tool,
                    role: names.role("", self.tool),
                    arguments: self.state.input,
                    is_signed: self.is_signed,
                };
                conversation.add(Kind::Call(call), self.bytes.clone(), element, None);
                if let "completed" | "error" = self.state.status {
                    let outcome = Outcome {
                        id: self.id,
                        name: self.tool,
                        content: self.state.output,
                        is_error: self.state.status == "error",
                        loads_tools: false,
                    };
                    conversation.add(Kind::Outcome(outcome), self.bytes, Removal::WithCall, None);
                }
                return;
            }
            ("reasoning", Author::Model) => Kind::Reasoning,
            ("compaction", _) => Kind::Summary,
            ("text", Author::Model) if self.is_summary => Kind::Fixed,
            ("text", Author::Model) => Kind::Answer(self.text),
            ("step-start" | "step-finish" | "snapshot" | "patch", Author::Model) => Kind::Layout,
            (_, Author::Model) => Kind::Answer(None),
            ("text", _) if self.is_synthetic && !has_words => note(self.text),
            ("text", _) if !self.is_synthetic => words_or_note(self.text),
            _ => Kind::Words,
        };
        conversation.add(kind, self.bytes, element, None);
    }
}

/// A text that the host has written. In such a text, OpenCode passes on what the person writes while the
/// agent works.
fn note<'a>(text: Option<Value<'a>>) -> Kind<'a> {
    match text.and_then(Value::raw).is_some_and(sent::is_in) {
        true => Kind::Words,
        false => Kind::Note,
    }
}

impl<'a> State<'a> {
    fn read(&mut self, reader: &mut Reader<'a>) -> Option<()> {
        let mut is_hidden = false;
        reader.object(|reader, key| {
            let value = reader.value()?;
            match key {
                "status" => self.status = value.raw()?,
                "input" => self.input = Some(value),
                "output" => self.output = Some(value),
                "time" => is_hidden = value.get("compacted").is_some(),
                _ => {}
            }
            Some(())
        })?;
        // The model is shown a note instead of the output.
        self.output = self.output.filter(|_| !is_hidden);
        Some(())
    }
}
