//! OpenCode: the messages that its hook `experimental.chat.messages.transform` may change, each with `info` and `parts`. The part of
//! a tool is call and outcome at once.

use super::words_or_note;
use crate::fold::conversation::{Author, Call, Conversation, Kind, List, Order, Outcome, Removal};
use crate::fold::json::{Reader, Value};
use crate::vocabulary::calls::CallNames;

pub(super) fn read<'a>(reader: &mut Reader<'a>, names: &CallNames<'_>) -> Option<Conversation<'a>> {
    let mut conversation = Conversation::new(Order::Any);
    reader.array(|reader| message(reader, names, &mut conversation))?;
    Some(conversation)
}

fn message<'a>(reader: &mut Reader<'a>, names: &CallNames<'_>, conversation: &mut Conversation<'a>) -> Option<()> {
    let mut role = None;
    let mut parts = Vec::new();
    let bytes = reader.spanned(|reader| {
        reader.object(|reader, key| {
            match key {
                "info" => role = reader.value()?.get("role"),
                "parts" => {
                    parts.clear();
                    reader.array(|reader| {
                        parts.push(Part::read(reader)?);
                        Some(())
                    })?;
                }
                _ => drop(reader.value()?),
            }
            Some(())
        })
    })?;
    let author = match role?.raw()? {
        "assistant" => Author::Model,
        _ => Author::Other,
    };
    for part in parts {
        part.add(author, names, conversation);
    }
    conversation.end_message(bytes, author);
    Some(())
}

/// What the reader needs of a part.
#[derive(Default)]
struct Part<'a> {
    bytes: std::ops::Range<usize>,
    kind: &'a str,
    text: Option<Value<'a>>,
    tool: &'a str,
    id: Option<&'a str>,
    state: Option<Value<'a>>,
    is_synthetic: bool,
}

impl<'a> Part<'a> {
    fn read(reader: &mut Reader<'a>) -> Option<Self> {
        let mut part = Self::default();
        part.bytes = reader.spanned(|reader| {
            reader.object(|reader, key| {
                let value = reader.value()?;
                match key {
                    "type" => part.kind = value.raw()?,
                    "text" => part.text = Some(value),
                    "tool" => part.tool = value.raw()?,
                    "callID" => part.id = value.raw(),
                    "state" => part.state = Some(value),
                    "synthetic" => part.is_synthetic = value.text == "true",
                    _ => {}
                }
                Some(())
            })
        })?;
        Some(part)
    }

    fn add(self, author: Author, names: &CallNames<'_>, conversation: &mut Conversation<'a>) {
        let element = Removal::Element(List::Content);
        let kind = match (self.kind, author) {
            ("tool", Author::Model) => {
                let role = names.role("", self.tool);
                let state = |key: &str| self.state.and_then(|state| state.get(key));
                let call = Call { id: self.id, name: self.tool, role, arguments: state("input"), is_signed: false };
                conversation.add(Kind::Call(call), self.bytes.clone(), element, None);
                let status = state("status").and_then(Value::raw).unwrap_or_default();
                if status == "completed" || status == "error" {
                    let outcome =
                        Outcome { id: self.id, name: self.tool, content: state("output"), is_error: status == "error" };
                    conversation.add(Kind::Outcome(outcome), self.bytes, Removal::WithCall, None);
                }
                return;
            }
            ("reasoning", Author::Model) => Kind::Reasoning,
            ("compaction", _) => Kind::Fixed,
            ("text", Author::Model) => Kind::Answer(self.text),
            (_, Author::Model) => Kind::Answer(None),
            ("text", _) if self.is_synthetic => Kind::Note,
            ("text", _) => words_or_note(self.text),
            _ => Kind::Words,
        };
        conversation.add(kind, self.bytes, element, None);
    }
}
