//! Anthropic Messages: `messages`, each with a role and a text or a list of blocks.

use super::{messages, words_or_note};
use crate::fold::conversation::{Author, Call, Conversation, Kind, List, Order, Outcome, Removal};
use crate::fold::json::{Reader, Value};
use crate::vocabulary::calls::CallNames;

pub(super) fn read<'a>(reader: &mut Reader<'a>, names: &CallNames<'_>) -> Option<Conversation<'a>> {
    let mut conversation = Conversation::new(Order::NextMessage);
    let others = messages(reader, "messages", |reader| message(reader, names, &mut conversation))?;
    conversation.other_marks = others.iter().map(|other| other.text.matches("\"cache_control\"").count()).sum();
    Some(conversation)
}

fn message<'a>(reader: &mut Reader<'a>, names: &CallNames<'_>, conversation: &mut Conversation<'a>) -> Option<()> {
    let (mut role, mut text) = (None, None);
    let mut blocks = Vec::new();
    let bytes = reader.spanned(|reader| {
        reader.object(|reader, key| {
            match key {
                "role" => role = Some(reader.value()?),
                "content" if reader.peek()? == b'[' => {
                    blocks.clear();
                    reader.array(|reader| {
                        blocks.push(Block::read(reader)?);
                        Some(())
                    })?;
                }
                "content" => text = Some(reader.value()?),
                _ => drop(reader.value()?),
            }
            Some(())
        })
    })?;
    let author = match role?.raw()? {
        "assistant" => Author::Model,
        "user" => Author::Other,
        _ => Author::System,
    };
    if let Some(text) = text {
        let kind = match author {
            Author::Model => Kind::Answer(Some(text)),
            Author::Other => words_or_note(Some(text)),
            Author::System => Kind::Note,
        };
        conversation.add(kind, bytes.clone(), Removal::Message, None);
    }
    for block in blocks {
        let (bytes, mark) = (block.bytes.clone(), block.mark);
        let kind = block.kind(author, names);
        let can_be_marked = !matches!(kind, Kind::Reasoning);
        conversation.add(kind, bytes.clone(), Removal::Element(List::Content), mark);
        if can_be_marked {
            conversation.can_be_marked(&bytes);
        }
    }
    conversation.end_message(bytes, author);
    Some(())
}

/// What the reader needs of a block.
#[derive(Default)]
struct Block<'a> {
    bytes: std::ops::Range<usize>,
    kind: Option<Value<'a>>,
    text: Option<Value<'a>>,
    id: Option<Value<'a>>,
    name: Option<Value<'a>>,
    input: Option<Value<'a>>,
    tool_use_id: Option<Value<'a>>,
    content: Option<Value<'a>>,
    is_error: bool,
    mark: Option<Value<'a>>,
}

impl<'a> Block<'a> {
    fn read(reader: &mut Reader<'a>) -> Option<Self> {
        let mut block = Self::default();
        block.bytes = reader.spanned(|reader| {
            reader.object(|reader, key| {
                let value = reader.value()?;
                match key {
                    "type" => block.kind = Some(value),
                    "text" => block.text = Some(value),
                    "id" => block.id = Some(value),
                    "name" => block.name = Some(value),
                    "input" => block.input = Some(value),
                    "tool_use_id" => block.tool_use_id = Some(value),
                    "content" => block.content = Some(value),
                    "is_error" => block.is_error = value.text == "true",
                    "cache_control" => block.mark = Some(value).filter(|value| value.text != "null"),
                    _ => {}
                }
                Some(())
            })
        })?;
        Some(block)
    }

    fn kind(self, author: Author, names: &CallNames<'_>) -> Kind<'a> {
        let raw = |value: Option<Value<'a>>| value.and_then(Value::raw);
        match (raw(self.kind).unwrap_or_default(), author) {
            ("tool_use", Author::Model) => {
                let name = raw(self.name).unwrap_or_default();
                Kind::Call(Call {
                    id: raw(self.id),
                    name,
                    role: names.role("", name),
                    arguments: self.input,
                    is_signed: false,
                })
            }
            ("tool_result", Author::Other) => Kind::Outcome(Outcome {
                id: raw(self.tool_use_id),
                name: "",
                content: self.content,
                is_error: self.is_error,
            }),
            ("thinking" | "redacted_thinking", Author::Model) => Kind::Reasoning,
            // It stands for all that came before.
            ("compaction", _) => Kind::Fixed,
            (_, Author::Model) => Kind::Answer(self.text),
            ("text", Author::Other) => words_or_note(self.text),
            (_, Author::Other) => Kind::Words,
            (_, Author::System) => Kind::Note,
        }
    }
}
