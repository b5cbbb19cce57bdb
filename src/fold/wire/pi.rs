//! pi: the messages that its `context` event may change. A message of the model has a list of blocks; each
//! outcome is a message.

use super::words_or_note;
use crate::fold::conversation::{Author, Call, Conversation, Kind, List, Order, Outcome, Removal};
use crate::json::{Reader, Value};
use crate::vocabulary::calls::CallNames;

/// The APIs with which pi asks models of Anthropic. Models that are told how much to think must begin a turn
/// with thinking.
const APIS_OF_ANTHROPIC: [&str; 2] = ["anthropic-messages", "bedrock-converse-stream"];

pub(super) fn read<'a>(reader: &mut Reader<'a>, names: &CallNames<'_>) -> Option<Conversation<'a>> {
    let mut conversation = Conversation::new(Order::Any);
    reader.array(|reader| message(reader, names, &mut conversation))?;
    Some(conversation)
}

fn message<'a>(reader: &mut Reader<'a>, names: &CallNames<'_>, conversation: &mut Conversation<'a>) -> Option<()> {
    let (mut role, mut content, mut id, mut name, mut is_error, mut api) = (None, None, None, "", false, None);
    let bytes = reader.spanned(|reader| {
        reader.object(|reader, key| {
            let value = reader.value()?;
            match key {
                "role" => role = value.raw(),
                "content" => content = Some(value),
                "toolCallId" => id = value.raw(),
                "toolName" => name = value.raw()?,
                "isError" => is_error = value.text == "true",
                "api" => api = value.raw(),
                _ => {}
            }
            Some(())
        })
    })?;
    let blocks = content.filter(|content| content.text.starts_with('['));
    let author = match role? {
        "assistant" => {
            let content = blocks?;
            conversation.has_thinking_turns |= api.is_some_and(|api| APIS_OF_ANTHROPIC.contains(&api));
            for block in content.elements() {
                conversation.add(of_model(block, names), block.range(), Removal::Element(List::Content), None);
            }
            Author::Model
        }
        "toolResult" => {
            let outcome = Outcome { id, name, content, is_error, loads_tools: false };
            conversation.add(Kind::Outcome(outcome), bytes.clone(), Removal::Message, None);
            Author::Other
        }
        "user" => match blocks {
            Some(content) => {
                for block in content.elements() {
                    let kind = words_or_note(block.get("text"));
                    conversation.add(kind, block.range(), Removal::Element(List::Content), None);
                }
                Author::Other
            }
            None => {
                conversation.add(words_or_note(content), bytes.clone(), Removal::Message, None);
                Author::Other
            }
        },
        "compactionSummary" => {
            conversation.add(Kind::Summary, bytes.clone(), Removal::Message, None);
            Author::System
        }
        // Commands of the person, messages of extensions, and what was said in another branch of the
        // conversation.
        _ => {
            conversation.add(Kind::Fixed, bytes.clone(), Removal::Message, None);
            Author::System
        }
    };
    conversation.end_message(bytes, author);
    Some(())
}

fn of_model<'a>(block: Value<'a>, names: &CallNames<'_>) -> Kind<'a> {
    let text = |key: &str| block.get(key).and_then(Value::raw);
    match text("type") {
        Some("toolCall") => {
            let name = text("name").unwrap_or_default();
            let arguments = block.get("arguments");
            Kind::Call(Call {
                id: text("id"),
                name,
                role: names.role("", name),
                arguments,
                is_signed: block.get("thoughtSignature").is_some(),
            })
        }
        Some("thinking") => Kind::Reasoning,
        _ => Kind::Answer(block.get("text")),
    }
}
