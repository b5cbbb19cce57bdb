//! OpenAI Responses: `input`, a list of items. Here each item is a message.

use super::words_or_note;
use crate::fold::conversation::{Author, Call, Conversation, Kind, Order, Outcome, Removal};
use crate::json::{Reader, Value};
use crate::vocabulary::calls::CallNames;

pub(super) fn read<'a>(reader: &mut Reader<'a>, names: &CallNames<'_>) -> Option<Conversation<'a>> {
    let mut conversation = Conversation::new(Order::Behind);
    conversation.has_loose_reasoning = true;
    let mut is_whole = true;
    let mut inputs = 0;
    reader.object(|reader, key| {
        match key {
            "input" if reader.peek()? == b'[' => {
                inputs += 1;
                reader.array(|reader| item(reader, names, &mut conversation))?;
            }
            // The server keeps what came before, and it is not known here.
            "previous_response_id" | "conversation" => is_whole &= reader.value()?.text == "null",
            _ => drop(reader.value()?),
        }
        Some(())
    })?;
    (is_whole && inputs == 1).then_some(conversation)
}

fn item<'a>(reader: &mut Reader<'a>, names: &CallNames<'_>, conversation: &mut Conversation<'a>) -> Option<()> {
    let mut kind = "message";
    let (mut role, mut id, mut namespace, mut name) = ("", None, "", "");
    let (mut arguments, mut output, mut content) = (None, None, None);
    let bytes = reader.spanned(|reader| {
        reader.object(|reader, key| {
            let value = reader.value()?;
            match key {
                "type" => kind = value.raw()?,
                "role" => role = value.raw()?,
                "call_id" => id = value.raw(),
                "namespace" => namespace = value.raw().unwrap_or_default(),
                "name" => name = value.raw().unwrap_or_default(),
                "arguments" | "input" => arguments = Some(value),
                "output" => output = Some(value),
                "content" => content = Some(value),
                _ => {}
            }
            Some(())
        })
    })?;
    let (kind, author) = match (kind, role) {
        ("message", "assistant") => (Kind::Answer(only_text(content)), Author::Model),
        ("message", "user") => (words_or_note(only_text(content)), Author::Other),
        // A reference can have no type.
        ("message", "") => return None,
        // What the host says about its state, such as what is allowed.
        ("message", _) => (Kind::Fixed, Author::System),
        ("reasoning", _) => (Kind::Reasoning, Author::Model),
        (kind, _) if kind.ends_with("_output") && id.is_some() => {
            let loads_tools = kind == "tool_search_output";
            (Kind::Outcome(Outcome { id, content: output, loads_tools, ..Outcome::default() }), Author::Other)
        }
        // It stands for an item that the provider keeps.
        ("item_reference", _) => return None,
        (kind, _) if kind.ends_with("_call") && id.is_some() => {
            let role = names.role(namespace, name);
            let call = Call { id, name, role, arguments, is_signed: false };
            (Kind::Call(call), Author::Model)
        }
        // The provider has run the search itself: the call and its output belong together without an ID.
        ("tool_search_call", _) => (Kind::Fixed, Author::Model),
        // Tools that the provider runs: the item contains its outcome.
        (kind, _) if kind.ends_with("_call") => (Kind::Answer(None), Author::Model),
        ("compaction" | "compaction_summary", _) => (Kind::Summary, Author::Model),
        _ => (Kind::Fixed, Author::Model),
    };
    conversation.add(kind, bytes.clone(), Removal::Message, None);
    conversation.end_message(bytes, author);
    Some(())
}

/// The text of a content that has one text, and nothing else.
fn only_text(content: Option<Value<'_>>) -> Option<Value<'_>> {
    let content = content?;
    if content.raw().is_some() {
        return Some(content);
    }
    match &content.elements()[..] {
        [only] => only.get("text"),
        _ => None,
    }
}
