//! Anthropic Messages: `messages`, each with a role and a text or a list of blocks.

use super::{messages, words_or_note};
use crate::fold::conversation::{Author, Call, Conversation, Kind, List, Order, Outcome, Removal};
use crate::json::{Reader, Value};
use crate::vocabulary::calls::CallNames;

pub(super) fn read<'a>(reader: &mut Reader<'a>, names: &CallNames<'_>) -> Option<Conversation<'a>> {
    let mut conversation = Conversation::new(Order::NextMessage);
    (conversation.has_placed_system, conversation.has_strict_turns) = (true, true);
    let others = messages(reader, "messages", |reader| message(reader, names, &mut conversation))?;
    let thinking = others.iter().find(|(key, _)| *key == "thinking");
    // Models that are told how much to think must begin a turn with thinking. The newer models bind each
    // thought to what was before it.
    let is_told = thinking.is_some_and(|(_, thinking)| thinking.get("budget_tokens").is_some());
    (conversation.has_thinking_turns, conversation.has_bound_thinking) = (is_told, !is_told);
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
                    blocks = reader.array_of(Block::read)?;
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
            Author::System => Kind::Fixed,
        };
        conversation.add(kind, bytes.clone(), Removal::Message, None);
    }
    // A picture with words next to it is the person's.
    let is_text = |block: &Block<'_>| block.kind.and_then(Value::raw) == Some("text");
    let has_words = blocks.iter().any(|block| is_text(block) && matches!(words_or_note(block.text), Kind::Words));
    let mut is_behind_outcome = false;
    for block in blocks {
        let (bytes, mark, can_be_marked) = (block.bytes.clone(), block.any_mark(), block.can_be_marked());
        if let Some(id) = block.served().filter(|_| author == Author::Model) {
            conversation.served.push((conversation.items.len(), id));
        }
        let kind = block.kind(author, names, is_behind_outcome && !has_words);
        is_behind_outcome = matches!(kind, Kind::Outcome(_) | Kind::Shown);
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
    has_no_mark: bool,
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
                    "cache_control" if value.text == "null" => block.has_no_mark = true,
                    "cache_control" => block.mark = Some(value),
                    _ => {}
                }
                Some(())
            })
        })?;
        Some(block)
    }

    /// The ID of a call that the provider has run itself, or of its outcome.
    fn served(&self) -> Option<&'a str> {
        let kind = self.kind.and_then(Value::raw)?;
        let id = match kind {
            "tool_use" => None,
            _ if kind.ends_with("_tool_use") => self.id,
            _ if kind.ends_with("_tool_result") => self.tool_use_id,
            _ => None,
        };
        id.and_then(Value::raw)
    }

    /// The mark of the block, or the mark of a part inside an outcome.
    fn any_mark(&self) -> Option<Value<'a>> {
        let content = self.content.filter(|content| content.text.contains("\"cache_control\""));
        let within = || content?.elements().into_iter().rev().find_map(|part| part.get("cache_control"));
        self.mark.or_else(|| within().filter(|mark| mark.text != "null"))
    }

    /// Thinking and empty texts have no mark, and a key is not written twice.
    fn can_be_marked(&self) -> bool {
        let kind = self.kind.and_then(Value::raw).unwrap_or_default();
        let is_empty = kind == "text" && self.text.is_none_or(|text| text.text == "\"\"");
        !kind.is_empty() && !kind.ends_with("thinking") && !is_empty && !self.has_no_mark
    }

    fn kind(self, author: Author, names: &CallNames<'_>, is_behind_outcome: bool) -> Kind<'a> {
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
                loads_tools: self.content.is_some_and(|content| content.text.contains("\"tool_reference\"")),
            }),
            ("thinking" | "redacted_thinking", Author::Model) => Kind::Reasoning,
            // It stands for all that came before.
            ("compaction", _) => Kind::Summary,
            ("text", Author::Model) => Kind::Answer(self.text),
            (_, Author::Model) => Kind::Answer(None),
            ("text", Author::Other) => words_or_note(self.text),
            (_, Author::Other) if is_behind_outcome => Kind::Shown,
            (_, Author::Other) => Kind::Words,
            (_, Author::System) => Kind::Fixed,
        }
    }
}
