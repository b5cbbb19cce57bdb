//! Chat Completions: `messages`. A message of the model has a content and a list of calls; each outcome is a
//! message.

use std::ops::Range;

use super::{messages, words_or_note};
use crate::fold::conversation::{Author, Call, Conversation, Kind, List, Order, Outcome, Removal};
use crate::json::{Reader, Value};
use crate::vocabulary::calls::CallNames;

pub(super) fn read<'a>(reader: &mut Reader<'a>, names: &CallNames<'_>) -> Option<Conversation<'a>> {
    let mut conversation = Conversation::new(Order::NextMessages);
    conversation.has_strict_turns = true;
    messages(reader, "messages", |reader| message(reader, names, &mut conversation))?;
    Some(conversation)
}

fn message<'a>(reader: &mut Reader<'a>, names: &CallNames<'_>, conversation: &mut Conversation<'a>) -> Option<()> {
    let (mut role, mut id, mut content) = (None, None, None);
    let (mut calls, mut has_function) = (Vec::new(), false);
    let bytes = reader.spanned(|reader| {
        reader.object(|reader, key| {
            match key {
                "role" => role = Some(reader.value()?),
                "content" => content = Some(reader.value()?),
                "tool_call_id" => id = reader.value()?.raw(),
                "tool_calls" if reader.peek()? == b'[' => {
                    calls = reader.array_of(|reader| call(reader, names))?;
                }
                // A call in the older form, when a message could have only one.
                "function_call" => has_function |= reader.value()?.text != "null",
                _ => drop(reader.value()?),
            }
            Some(())
        })
    })?;
    let author = match role?.raw()? {
        _ if has_function => return None,
        "assistant" => {
            // What the model has said in addition to its calls.
            if let Some(content) = content.filter(|content| content.text != "null") {
                let removal = if calls.is_empty() { Removal::Message } else { Removal::Null };
                // A message that has nothing else goes as a whole.
                let bytes = if calls.is_empty() { bytes.clone() } else { content.range() };
                let text = Some(content).filter(|content| content.raw().is_some());
                conversation.add(Kind::Answer(text), bytes, removal, None);
            } else if calls.is_empty() {
                conversation.add(Kind::Answer(None), bytes.clone(), Removal::Message, None);
            }
            for (call, bytes) in calls {
                conversation.add(Kind::Call(call), bytes, Removal::Element(List::Calls), None);
            }
            Author::Model
        }
        "tool" => {
            let (mark, part) = marked_part(content);
            let outcome = Outcome { id, content, ..Outcome::default() };
            conversation.add(Kind::Outcome(outcome), bytes.clone(), Removal::Message, mark);
            if let Some(part) = part {
                conversation.can_be_marked(&part);
            }
            Author::Other
        }
        "user" => {
            match content.filter(|content| content.text.starts_with('[')) {
                None => conversation.add(words_or_note(content), bytes.clone(), Removal::Message, None),
                Some(content) => {
                    for part in content.elements() {
                        let kind = words_or_note(part.get("text"));
                        let mark = part.get("cache_control").filter(|mark| mark.text != "null");
                        conversation.add(kind, part.range(), Removal::Element(List::Content), mark);
                        if part.get("type").is_some() && part.get("cache_control").is_none() {
                            conversation.can_be_marked(&part.range());
                        }
                    }
                }
            }
            Author::Other
        }
        "system" | "developer" => {
            conversation.add(Kind::Fixed, bytes.clone(), Removal::Message, None);
            Author::System
        }
        _ => return None,
    };
    conversation.end_message(bytes, author);
    Some(())
}

/// A call, and its bytes.
fn call<'a>(reader: &mut Reader<'a>, names: &CallNames<'_>) -> Option<(Call<'a>, Range<usize>)> {
    let mut call = Call::default();
    let bytes = reader.spanned(|reader| {
        reader.object(|reader, key| {
            match key {
                "id" => call.id = reader.value()?.raw(),
                // This is set if Gemini is behind the wire.
                "extra_content" => call.is_signed = reader.value()?.text.contains("\"thought_signature\""),
                "function" | "custom" => reader.object(|reader, key| {
                    let value = reader.value()?;
                    match key {
                        "name" => call.name = value.raw()?,
                        "arguments" | "input" => call.arguments = Some(value),
                        _ => {}
                    }
                    Some(())
                })?,
                _ => drop(reader.value()?),
            }
            Some(())
        })
    })?;
    call.role = names.role("", call.name);
    Some((call, bytes))
}

/// The mark of the last part of a content, and the place of that part if it can have a mark.
fn marked_part(content: Option<Value<'_>>) -> (Option<Value<'_>>, Option<Range<usize>>) {
    let part = content.map(Value::elements).unwrap_or_default().pop();
    let mark = part.and_then(|part| part.get("cache_control"));
    let can_be_marked = part.filter(|part| mark.is_none_or(|mark| mark.text != "null") && part.get("type").is_some());
    (mark.filter(|mark| mark.text != "null"), can_be_marked.map(Value::range))
}
